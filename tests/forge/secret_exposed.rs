//! must not compile: E0624

pub fn read(secret: &lazaret::edges::vault::Secret) -> &str {
    secret.expose()
}
