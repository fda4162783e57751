//! Values that are vouched for, and are none: a folder, or all that is in one.

use super::Look;
use crate::rules::advice::vouches_for_nothing;

impl Look<'_> {
    pub(super) fn vouched(&mut self) {
        let file = self.file;
        let nothing = file.flow.vouch.iter();
        for (what, fix) in nothing.filter_map(|value| vouches_for_nothing(value)) {
            self.say("[flow]", format!("[flow] `vouch`: {what}"), &fix);
        }
    }
}
