//! What a plugin's manifest proposes of its arguments, and does not count: then each argument of its tools steers, also
//! the text of a letter, and a person is asked about it.

use super::Look;
use crate::rules::flow::is_sink;
use crate::rules::flow::lines::Mode;
use crate::rules::manifest::Declared;
use crate::words::id::ToolName;

impl Look<'_> {
    /// Plugins that this file brings, and that nobody has decided about.
    pub(super) fn proposed(&mut self) {
        if self.policy.flows.mode == Mode::Off {
            return;
        }
        let catalog = self.catalog;
        for name in self.file.plugins.keys() {
            let classes = &self.policy.flows.classes;
            let decided =
                classes.trusted_plugins.contains(name) || classes.pinned.contains_key(name);
            let of_it = catalog.tools().filter(|tool| tool.name.plugin() == name);
            let mut unsaid =
                of_it.filter(|tool| proposes(&tool.declared) && !self.says(&tool.name));
            let Some(first) = unsaid.next().filter(|_| !decided) else {
                continue;
            };
            let what = format!(
                "[plugins] `{name}`: what its manifest says of its arguments does not count, so each of them steers"
            );
            let fix = format!(
                "read `lazaret plugin inspect {name}`; then write `trust = [\"{name}\"]` in [flow], or say it yourself, as \
                 `steering` and `content` in [flow.tools.\"{}\"]",
                first.name
            );
            self.say("[plugins]", what, &fix);
        }
    }

    /// Whether policy itself says which arguments of a tool steer.
    fn says(&self, tool: &ToolName) -> bool {
        let said = self.policy.flows.about(tool);
        said.is_some_and(|said| !said.steering.is_empty() || !said.content.is_empty())
    }
}

fn proposes(declared: &Declared) -> bool {
    let flow = &declared.flow;
    is_sink(declared.effect) && (!flow.steering.is_empty() || !flow.content.is_empty())
}
