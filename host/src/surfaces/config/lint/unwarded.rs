//! Lines about what stands around calls, where nothing stands around what they are about: the host makes it, and no guest.

use super::Look;
use crate::rules::grant::Pattern;
use crate::rules::script::TOOL;
use crate::words::id::ToolName;

/// What has no steps.
const BARE: [&str; 3] = ["handle.isolate", "handle.consult", TOOL];

impl Look<'_> {
    /// All of them.
    pub(super) fn unwarded(&mut self) {
        self.stepless();
        self.crowdless();
        self.unchecked();
    }

    fn stepless(&mut self) {
        let file = self.file;
        for step in &file.steps {
            let bare = BARE
                .into_iter()
                .filter(|name| self.is_met(&step.tools, name));
            let bare: Vec<String> = bare.map(|name| format!("`{name}`")).collect();
            if !bare.is_empty() {
                let (tools, bare) = (&step.tools, bare.join(", "));
                let what = format!(
                    "[[steps]] `{tools}` does not stand around {bare}, which the host makes itself"
                );
                self.say(
                    "[[steps]]",
                    what,
                    "name other tools, and `block` what is not to pass by them",
                );
            }
        }
    }

    fn crowdless(&mut self) {
        let script = ToolName::parse(TOOL);
        let lines = self.file.at_once.keys();
        let about = lines.filter(|tools| {
            script.as_ref().is_ok_and(|script| {
                let tools = Pattern::try_from((*tools).clone());
                tools.is_ok_and(|tools| tools != Pattern::all() && tools.matches(script))
            })
        });
        let about: Vec<String> = about.cloned().collect();
        for tools in about {
            let what = format!("[at_once] `{tools}` counts no script");
            self.say(
                "[at_once]",
                what,
                "leave it out; `[[permissions]]` say who may run scripts",
            );
        }
    }

    /// The first line about a script decides; one for some surfaces alone leaves the others to the next.
    fn unchecked(&mut self) {
        let file = self.file;
        for line in &file.permissions {
            if !self.is_met(&line.tools, TOOL) {
                continue;
            }
            if line.checker.is_some() {
                let tools = &line.tools;
                let what = format!(
                    "[[permissions]] `{tools}` with a `checker` is a no to scripts: nobody asks one about `{TOOL}`"
                );
                let fix = "write a line with `tools = \"script.run\"` and a `verdict` before it";
                self.say("[[permissions]]", what, fix);
            }
            if line.surfaces.is_empty() {
                return;
            }
        }
    }

    /// Whether a line is about a tool that is not blocked.
    fn is_met(&self, tools: &Pattern, name: &str) -> bool {
        let Ok(name) = ToolName::parse(name) else {
            return false;
        };
        let is_blocked = self.file.block.iter().any(|line| line.matches(&name));
        tools.matches(&name) && !is_blocked
    }
}
