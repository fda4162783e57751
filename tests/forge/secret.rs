//! must not compile: E0624

pub fn steal(vault: &lazaret::edges::vault::Vault) {
    let _ = vault.reveal("key");
}
