//! What the time of a script's calls tells, and whether a stranger has influence on it.

use super::{Life, Open};
use crate::rules::plan::Timing;
use crate::rules::script::Wish;
use crate::words::label::Label;
use crate::words::message::WishedArgs;

impl Life<'_> {
    /// What the handles hold, at the worst, that a call is given, or will hold by the time that it begins.
    pub(super) fn holds(&self, args: &WishedArgs) -> Label {
        let held = match args {
            WishedArgs::Json(args) => self.script.caller.known.handles().worst_in(args),
            WishedArgs::Broken(_) => Label::default(),
        };
        held.join(&self.foreseen(args))
    }

    /// Whether a stranger had influence on this, and so has some on how long calls take.
    pub(super) fn is_strangers(&self, label: &Label) -> bool {
        let policy = self.script.station.gate.policy();
        policy.flows.classes.is_tainted(label)
    }

    /// What the time of the call at this position tells.
    pub(super) fn timing(&self, position: u32) -> Timing {
        let Some(Open { wish, holds, .. }) = self.wishes.get(&position) else {
            return Timing::default();
        };
        match wish {
            Wish::Call { tool, args, .. } => {
                let station = self.script.station;
                let asker = (&self.wisher, &**station.gate.policy());
                let called = (tool.as_str(), args.json());
                station.catalog.timing(called, holds, asker)
            }
            Wish::Rest { .. } => Timing::default(),
        }
    }
}
