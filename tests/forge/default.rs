//! must not compile: E0277

fn made<T: Default>() -> T {
    T::default()
}

pub fn forge() -> lazaret::gate::Permit<lazaret::rules::fetch::Fetch> {
    made()
}
