//! Values that are vouched for, and are none: a folder, or all that is in one; and those that are vouched for anyway.

use super::Look;
use crate::rules::advice::vouches_for_nothing;
use crate::surfaces::config::file::ConfigFile;
use crate::words::id::shown;

impl Look<'_> {
    pub(super) fn vouched(&mut self) {
        for (table, values) in lists(self.file) {
            let nothing = values.iter();
            for (what, fix) in nothing.filter_map(|value| vouches_for_nothing(value)) {
                self.say(&table, format!("{table} `vouch`: {what}"), &fix);
            }
        }
        self.anyway();
    }

    /// What is vouched for in calls of one tool, and in those of all.
    fn anyway(&mut self) {
        let (file, policy) = (self.file, self.policy);
        let all = &policy.flows.named.vouched;
        for (tool, said) in &file.flow.tools {
            let table = format!("[flow.tools.\"{}\"]", shown(tool));
            for value in said.vouch.iter().filter(|value| all.contains(*value)) {
                let what = format!(
                    "{table} `vouch`: `{}` is in [flow] `vouch` already, which is for all tools",
                    shown(value)
                );
                self.say(&table, what, "leave it out");
            }
        }
    }
}

/// The values that a file vouches for, for all tools and for single ones, each list with its table.
pub(super) fn lists(file: &ConfigFile) -> Vec<(String, &[String])> {
    let mut lists = vec![("[flow]".to_owned(), file.flow.vouch.as_slice())];
    let tools = file.flow.tools.iter();
    lists.extend(tools.map(|(tool, said)| {
        let table = format!("[flow.tools.\"{}\"]", shown(tool));
        (table, said.vouch.as_slice())
    }));
    lists
}
