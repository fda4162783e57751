//! must not compile: E0277

pub fn twice(permit: lazaret::gate::Permit<lazaret::rules::call::Call>) {
    let _ = lazaret::gate::Permit::<lazaret::rules::call::Call>::clone(&permit);
}
