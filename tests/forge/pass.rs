//! must not compile: E0624

pub fn perform(gate: &lazaret::gate::Gate, caller: &lazaret::rules::caller::Caller, show: lazaret::rules::show::Show) {
    let _ = gate.pass(caller, show, async |_| unreachable!());
}
