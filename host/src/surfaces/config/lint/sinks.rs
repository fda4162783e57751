//! What is said of a tool that is no sink, and counts only for one that is.

use super::Look;
use crate::guests::catalog::Tool;
use crate::rules::flow::class::Secrecy;
use crate::rules::flow::lines::{Browse, ToolFlow};

impl Look<'_> {
    /// Keys of a tool that only looks, and that say how a call is judged which does more.
    pub(super) fn no_sink(&mut self, table: &str, tool: &Tool, said: &ToolFlow) {
        if tool.declared.is_sink() {
            return;
        }
        // What a guest has read, it may send where it may send anything: that is judged of a tool that only looks as well.
        let sends = !tool.grant.fetch.is_empty() || self.policy.flows.browse == Browse::Free;
        let keys = [
            ("naming", !said.naming.is_empty()),
            ("new", !said.new.is_empty()),
            ("reply", !said.reply.is_empty()),
            ("vouch", !said.vouch.is_empty() && !sends),
            ("accepts", said.accepts != Secrecy::Public && !sends),
        ];
        for (key, _) in keys.into_iter().filter(|(_, is_said)| *is_said) {
            let what = format!(
                "{table} `{key}` counts for nothing: `{}` changes and sends nothing, so its calls are not judged by it",
                tool.name
            );
            self.say(table, what, "leave it out");
        }
    }
}
