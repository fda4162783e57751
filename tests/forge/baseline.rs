//! must not compile: nothing
//! The shape that the attempts share compiles, so that each of them fails for its own reason.

pub fn read(permit: &lazaret::gate::Permit<lazaret::rules::show::Show>) -> u64 {
    permit.seq()
}
