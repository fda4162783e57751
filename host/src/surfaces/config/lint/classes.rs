//! Classes of sources that there are not, and classes that a source has without a line.

use url::Url;

use super::{LISTED, Look};
use crate::rules::flow::class::Class;
use crate::rules::flow::lines::Browse;
use crate::rules::manifest::Sensitivity;
use crate::words::id::shown;
use crate::words::label::{Sort, Source};

impl Look<'_> {
    /// All of it, but for servers.
    pub(super) fn classes(&mut self) {
        let file = self.file;
        for (source, class) in &file.flow.classes {
            let missing = match source.split_once(':') {
                Some(("file", mount)) if !self.policy.mounts.contains_key(mount) => {
                    Some(("mount", "write `[mounts.NAME]`, or leave the line out"))
                }
                Some(("tool", tool)) if !self.has_source(tool) => Some(("tool", LISTED)),
                Some(("note", note)) if !self.has_shelf(note) => Some((
                    "plugin's note",
                    "`lazaret plugin list` lists the plugins: write `note:PLUGIN/KEY`",
                )),
                Some(("secret", tool)) if !self.keeps_secret(tool) => Some((
                    "tool whose outcomes are secret",
                    "write the name of such a tool, or leave the line out: a secret that is kept is in no label",
                )),
                _ => None,
            };
            let Some((sort, fix)) = missing else {
                if !self.usual(source, *class) {
                    self.ungranted(source);
                }
                continue;
            };
            let what = format!(
                "[flow.classes] `{}` is about no {sort} that there is",
                shown(source)
            );
            self.say("[flow.classes]", what, fix);
        }
    }

    /// A line that says what holds without it. In a file that another one follows it keeps that from saying otherwise; and
    /// what is said of a note, of what is secret, or of the words of a server counts for more than its class.
    fn usual(&mut self, source: &str, class: Class) -> bool {
        let Ok(known) = Source::try_from(source.to_owned()) else {
            return false;
        };
        let counts = match known.sort() {
            Sort::Note | Sort::Secret | Sort::Scalar => true,
            Sort::Mcp => known.name().ends_with(".*"),
            Sort::Operator | Sort::User | Sort::Tool | Sort::Web | Sort::File => false,
        };
        let classes = &self.policy.flows.classes;
        let holds = classes.said.get(&known.to_string()) == Some(&class);
        let is_usual = self.is_last && holds && !counts && classes.usual(&known) == class;
        if is_usual {
            let what = format!(
                "[flow.classes] `{}` says what holds without it",
                shown(source)
            );
            self.say("[flow.classes]", what, "leave it out");
        }
        is_usual
    }

    /// An origin to which no request of a tool may go, so that nothing new comes from it.
    fn ungranted(&mut self, source: &str) {
        let origin = source.strip_prefix("web:");
        let Some(origin) = origin.and_then(|origin| Url::parse(origin).ok()) else {
            return;
        };
        let lines = self.policy.lines.iter();
        let mut lines = lines.flat_map(|line| line.grant.fetch.iter());
        if self.policy.flows.browse == Browse::Free
            || lines.any(|line| line.matches_origin(&origin))
        {
            return;
        }
        let what = format!(
            "[flow.classes] `{}` is about no origin that a line grants",
            shown(source)
        );
        let fix = format!(
            "write `fetch = [\"{origin}\"]` at a grant; or leave the line out, unless files or notes that were kept come from there"
        );
        self.say("[flow.classes]", what, &fix);
    }

    /// Whether a tool, or the words of a plugin's tools, can be in a label.
    fn has_source(&self, name: &str) -> bool {
        let plugin = name.strip_suffix(".*");
        let mut plugins = self.catalog.plugins().iter();
        self.catalog.resolve(name, &[]).is_ok()
            || plugins.any(|known| Some(known.name.as_str()) == plugin)
    }

    /// Whether there is the plugin on whose shelf a note would lie.
    fn has_shelf(&self, note: &str) -> bool {
        let shelf = note.split_once('/').map_or(note, |(shelf, _)| shelf);
        let mut plugins = self.catalog.plugins().iter();
        plugins.any(|known| known.name == shelf)
    }

    /// Whether a tool says of its outcomes that they are secret, which is what a label has as `secret:TOOL`.
    fn keeps_secret(&self, name: &str) -> bool {
        let tool = self.catalog.resolve(name, &[]);
        tool.is_ok_and(|tool| tool.declared.offer.sensitivity == Sensitivity::Secret)
    }
}
