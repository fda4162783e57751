//! Policy: what the operator allows, resolved and ready to be asked.
//!
//! A policy is a list of lines. Tools that only look may be called without one, unless blocked; what
//! they may look *at* needs a line always. Tools that change something need a line that is about them,
//! and high-risk tools a line that names them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bounds::Bounds;
use super::flow::lines::Flows;
use super::grant::{Access, Grant, MountGrant, Pattern};
use super::inbound::Inbound;
use super::manifest::Risk;
use super::questions::AskRules;
use super::search::SearchRules;
use super::secret::SecretGrant;
use super::wards::Wards;
use crate::words::id::ToolName;
use crate::words::label::{Sort, Source};
use crate::words::limits::{
    MOUNT_FILE_BYTES, MOUNT_RUN_BYTES, SCRIPT_CALLS, SCRIPT_CHARS, SCRIPT_CPU_MS,
};

/// What the operator allows.
///
/// ```
/// use lazaret::rules::grant::{Access, Grant};
/// use lazaret::rules::policy::{Line, Policy};
/// use lazaret::words::id::ToolName;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut policy = Policy::nothing("an example");
/// let tool = ToolName::parse("notes.put")?;
/// assert_eq!(policy.granted(&tool).notes, Access::None);
/// let grant = Grant { notes: Access::Write, ..Grant::default() };
/// policy.lines.push(Line { tools: "notes.*".to_owned().try_into()?, grant });
/// assert_eq!(policy.granted(&tool).notes, Access::Write);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where it was read: paths for people, or [`BUILT_IN`].
    pub origin: String,
    /// The folders that lines may speak of.
    pub mounts: BTreeMap<Arc<str>, Mount>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Tools that nobody may call: before everything else.
    pub block: Vec<Pattern>,
    /// What is asked, and what becomes of questions.
    pub asks: AskRules,
    /// What is put around calls.
    pub wards: Wards,
    /// Risk classes that need no line.
    pub risks: BTreeSet<Risk>,
    /// Bounds of every guest.
    pub bounds: Bounds,
    /// Bounds of every script.
    pub scripts: ScriptRules,
    /// What may flow where.
    pub flows: Flows,
    /// What is done with text that comes in.
    pub inbound: Inbound,
    /// Folders beside the file in which lines would be written; nothing where nobody has looked.
    pub folders: Option<BTreeSet<String>>,
}

/// Bounds of one script, from `[limits]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptRules {
    /// Calls of tools.
    pub calls: u32,
    /// Processor time in ticks of a millisecond; waiting is free.
    pub cpu_ms: u64,
    /// Time from its beginning to its end, waiting included; no limit where there is none.
    pub wall_ms: Option<u64>,
    /// Characters of its source.
    pub chars: usize,
    /// How it looks for tools.
    pub search: SearchRules,
}

impl Default for ScriptRules {
    fn default() -> Self {
        Self {
            calls: SCRIPT_CALLS,
            cpu_ms: SCRIPT_CPU_MS,
            wall_ms: None,
            chars: SCRIPT_CHARS,
            search: SearchRules::default(),
        }
    }
}

/// A folder that lines may speak of. Where it lies is known to the files edge only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The most that any line can grant.
    pub access: Access,
    /// Whether making a new file in it needs nobody's word.
    pub workspace: bool,
    /// How much may be written.
    pub room: Room,
    /// Mounts that lie inside it, or are the same folder: known once all are open.
    pub inside: Arc<[Inside]>,
}

/// A mount that lies inside another one. Whoever has made a mount of a folder has spoken of that folder, by whatever
/// name it is reached: it gives no more, and is no more trusted, than it is by its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The inner mount.
    pub mount: Arc<str>,
    /// The names that lead to it from the outer one, links not followed; none where both are one folder.
    pub names: Vec<String>,
    /// The most that any line can grant of it.
    pub access: Access,
    /// Whether making a new file in it needs nobody's word.
    pub workspace: bool,
}

/// How much may be written into a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// By one run, all its tools together. What is removed again counts still.
    pub run_bytes: u64,
    /// Into one file.
    pub file_bytes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            run_bytes: MOUNT_RUN_BYTES,
            file_bytes: MOUNT_FILE_BYTES,
        }
    }
}

/// One `[grants."PATTERN"]` table.
#[derive(Clone, Debug)]
pub struct Line {
    /// The tools it is about.
    pub tools: Pattern,
    /// What it grants them.
    pub grant: Grant,
}

/// Risk classes that need no line where policy does not say (S-15a).
pub const RISKS: [Risk; 3] = [
    Risk::ReadOnly,
    Risk::NetworkRead,
    Risk::DataExfiltrationRisk,
];

/// Where a policy was read that stands in no file.
pub const BUILT_IN: &str = "the built-in policy";

impl Policy {
    /// A policy that grants nothing: pure tools run, and that is all.
    #[must_use]
    pub fn nothing(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            mounts: BTreeMap::new(),
            lines: Vec::new(),
            block: Vec::new(),
            asks: AskRules::default(),
            wards: Wards::default(),
            risks: RISKS.into_iter().collect(),
            bounds: Bounds::default(),
            scripts: ScriptRules::default(),
            flows: Flows::default(),
            inbound: Inbound::default(),
            folders: None,
        }
    }

    /// The secrets that a tool's manifest declares, where that is known.
    #[must_use]
    pub fn declared(&self, tool: &str) -> Option<&[String]> {
        let tool = ToolName::parse(tool).ok()?;
        self.flows
            .written
            .declared
            .as_ref()?
            .get(&tool)
            .map(Vec::as_slice)
    }

    /// The lines about secrets, of whichever tools.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretGrant> {
        self.lines.iter().flat_map(|line| &line.grant.secrets)
    }

    /// Whether some file has this mount.
    #[must_use]
    pub fn has_mount(&self, name: &str) -> bool {
        self.origin != BUILT_IN && self.mounts.contains_key(name)
    }

    /// Everything that the lines about `tool` grant, together. What a line grants of a mount is
    /// capped by the mount.
    #[must_use]
    pub fn granted(&self, tool: &ToolName) -> Grant {
        let mut all = Grant::default();
        for line in self.lines.iter().filter(|line| line.tools.matches(tool)) {
            all.fetch.extend(line.grant.fetch.iter().cloned());
            all.calls.extend(line.grant.calls.iter().cloned());
            all.secrets.extend(line.grant.secrets.iter().cloned());
            all.notes = all.notes.max(line.grant.notes);
            all.wasi_files |= line.grant.wasi_files;
            for wish in &line.grant.mounts {
                let most = self
                    .mounts
                    .get(&wish.mount)
                    .map_or(Access::None, |mount| mount.access);
                add_mount(&mut all.mounts, &wish.mount, wish.access.min(most));
            }
        }
        all
    }

    /// The line that lets a tool of this risk be called at all, in words.
    #[must_use]
    pub fn line_for(&self, tool: &ToolName, risk: Risk) -> Option<String> {
        let about = |line: &&Line| match risk {
            Risk::HighRisk | Risk::Unclassified => {
                line.tools.is_exact() && line.tools.matches(tool)
            }
            Risk::ReadOnly
            | Risk::NetworkRead
            | Risk::DataExfiltrationRisk
            | Risk::ExternalWrite => line.tools.matches(tool),
        };
        let line = self.lines.iter().find(about)?;
        Some(format!("[grants.\"{}\"] in {}", line.tools, self.origin))
    }

    /// The line by which a person is asked before each call of this tool, in words.
    #[must_use]
    pub fn ask_line(&self, tool: &ToolName) -> Option<String> {
        let line = self.asks.tools.iter().find(|line| line.matches(tool))?;
        Some(format!("`ask = [\"{line}\"]` in {}", self.origin))
    }

    /// The line by which calls of this tool count as confirmed, in words.
    #[must_use]
    pub fn confirmed_line(&self, tool: &ToolName) -> Option<String> {
        let line = self.asks.confirmed.iter().find(|line| line.matches(tool))?;
        Some(format!("`confirmed = [\"{line}\"]` in {}", self.origin))
    }

    /// A text without the place of the policy's own file: guests and models learn no paths of the
    /// host.
    #[must_use]
    pub fn without_origin(&self, text: &str) -> String {
        text.replace(&self.origin, "the policy")
    }

    /// Whether a mount, and each that lies inside it, holds nothing but the user's own files.
    #[must_use]
    pub fn is_own(&self, mount: &str) -> bool {
        let own = &self.flows.classes.own_mounts;
        let known = self.mounts.get(mount).into_iter();
        let mut inside = known.flat_map(|mount| mount.inside.iter());
        own.contains(mount) && inside.all(|inner| own.contains(&*inner.mount))
    }

    /// The source that a file of `mount` brings into a label.
    #[must_use]
    pub fn mount_source(mount: &str) -> Source {
        Source::new(Sort::File, mount)
    }
}

fn add_mount(mounts: &mut Vec<MountGrant>, mount: &Arc<str>, access: Access) {
    if access == Access::None {
        return;
    }
    match mounts.iter_mut().find(|grant| grant.mount == *mount) {
        Some(grant) => grant.access = grant.access.max(access),
        None => mounts.push(MountGrant {
            mount: mount.clone(),
            access,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lets_whoever_it_is_about_be_called() {
        let line = |tools: &str| Line {
            tools: Pattern::try_from(tools.to_owned()).unwrap(),
            grant: Grant::default(),
        };
        let policy = Policy {
            lines: vec![line("mail.*"), line("bank.pay")],
            ..Policy::nothing("f")
        };
        let tool = |name: &str| ToolName::parse(name).unwrap();
        for (name, risk, lets) in [
            ("mail.read", Risk::ExternalWrite, Some("mail.*")),
            ("mail.read", Risk::HighRisk, None),
            ("bank.pay", Risk::HighRisk, Some("bank.pay")),
            ("bank.pay", Risk::ReadOnly, Some("bank.pay")),
            ("bank.look", Risk::Unclassified, None),
            ("bank.look", Risk::ReadOnly, None),
        ] {
            let lets = lets.map(|line| format!("[grants.\"{line}\"] in f"));
            assert_eq!(policy.line_for(&tool(name), risk), lets, "{name}");
        }
    }

    #[test]
    fn a_mount_is_granted_once_and_as_far_as_any_line_says() {
        let mut mounts = Vec::new();
        let (docs, work): (Arc<str>, Arc<str>) = ("docs".into(), "work".into());
        for (mount, access) in [
            (&docs, Access::None),
            (&docs, Access::Write),
            (&work, Access::Read),
            (&docs, Access::Read),
        ] {
            add_mount(&mut mounts, mount, access);
        }
        let granted: Vec<_> = mounts.iter().map(|one| (&*one.mount, one.access)).collect();
        assert_eq!(granted, [("docs", Access::Write), ("work", Access::Read)]);
    }
}
