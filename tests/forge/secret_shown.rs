//! must not compile: E0277

pub fn show(secret: &lazaret::edges::vault::Secret) -> String {
    format!("{secret}")
}
