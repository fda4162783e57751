//! must not compile: E0277

fn copy<T: Clone>(value: &T) -> T {
    value.clone()
}

pub fn twice(secret: &lazaret::edges::vault::Secret) -> lazaret::edges::vault::Secret {
    copy(secret)
}
