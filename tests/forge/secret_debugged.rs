//! must not compile: E0277

pub fn debug(secret: &lazaret::edges::vault::Secret) -> String {
    format!("{secret:?}")
}
