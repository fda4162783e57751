//! What leaves a handle: its bits are taken out of the run's, and whoever watches the run is shown that.

use serde_json::Map;

use crate::guests::station::Station;
use crate::rules::caller::Caller;
use crate::rules::flow::handles::Handles;
use crate::words::error::Result;
use crate::words::event::Glimpse;

/// Takes bits out of what may leave handles in this run.
///
/// # Errors
/// `OverBudget` where there are not so many.
pub(super) fn leave(
    station: &Station,
    caller: &Caller,
    held: &mut Handles,
    bits: u32,
) -> Result<()> {
    let most = station.gate.policy().flows.bits;
    let left = held.charge(bits, most)?;
    let said = Glimpse::Said {
        of: caller.parent,
        tool: caller.origin.to_string(),
        level: "info",
        message: format!("{bits} bits left a handle; {left} of {most} may still"),
        fields: Map::new(),
        label: caller.label.clone(),
    };
    station.gate.journal().glimpse(&caller.run, said);
    Ok(())
}
