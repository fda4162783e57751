//! must not compile: E0624

pub fn perform(permit: lazaret::gate::Permit<lazaret::rules::file::File>) {
    let _ = permit.redeem();
}
