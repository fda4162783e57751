//! must not compile: E0624

pub fn send(
    egress: &lazaret::edges::egress::Egress,
    permit: lazaret::gate::Permit<lazaret::rules::fetch::Fetch>,
    deadline: lazaret::words::clock::Deadline,
) {
    let _ = egress.send(permit, deadline);
}
