//! Lines: what policy says of flows. `[flow]` of `lazaret.toml`, and `[flow.tools."TOOL"]` for each tool.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::class::{Classes, Secrecy};
use super::guarding::Guarding;
use super::kind::Kind;
use crate::rules::caller::Judging;
use crate::rules::grant::Pattern;
use crate::words::event::{Denial, Verdict};
use crate::words::id::ToolName;

/// Whether flows are judged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// As `enforce` where a run is granted both an untrusted source and a sink, or somebody untrusted had
    /// influence all the same; else as `off`.
    #[default]
    Auto,
    /// They are not.
    Off,
    /// They are, and what would be asked is recorded; nothing is.
    Shadow,
    /// They are.
    Enforce,
}

/// What the record says of what would have been asked about, or denied, where flows are enforced (G-85).
pub const SHADOWED: &str = "`mode = \"shadow\"` lets pass";

/// What stands before that.
const LETS_PASS: &str = " lets pass: ";

/// How the rules are called by which flows deny.
const RULES: &str = "flow_";

/// By which rule of flows something was denied, or let pass that would have been.
#[must_use]
pub fn against(verdict: &Verdict) -> Option<&str> {
    let rule = match verdict {
        Verdict::Deny(denial) => denial.rule.as_str(),
        Verdict::Allow { rule } => {
            let (_, found) = rule.split_once(LETS_PASS)?;
            return rule_of(found);
        }
        Verdict::Ask(_) => return None,
    };
    rule.starts_with(RULES).then_some(rule)
}

/// The rule of flows by which something was found. It stands last, where no name of anything can.
fn rule_of(found: &str) -> Option<&str> {
    let (_, rule) = found.strip_suffix(')')?.rsplit_once(" (")?;
    rule.starts_with(RULES).then_some(rule)
}

/// The rule of an allowance with these words in place of what was found against it, which may quote what was wished.
#[must_use]
pub fn unsaid(rule: &str, instead: &str) -> String {
    let Some((said, found)) = rule.split_once(LETS_PASS) else {
        return rule.to_owned();
    };
    let by = rule_of(found).map(|by| format!(" ({by})"));
    format!("{said}{LETS_PASS}{instead}{}", by.unwrap_or_default())
}

/// Which plain requests (`GET`, `HEAD`) may leave.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Browse {
    /// Any to a public address, as long as nothing private is behind the wish; then as `granted`, or to
    /// witnessed URLs.
    Free,
    /// Those to granted destinations.
    #[default]
    Granted,
    /// Those to granted destinations whose URL is witnessed, as soon as the wish is tainted.
    Witness,
}

/// Which outcomes are held back from the model and handed over as handles.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// As `untrusted` where flows are judged, else as `never`.
    #[default]
    Auto,
    /// Those that somebody untrusted had influence on.
    Untrusted,
    /// Those, and whatever would be cut for its length.
    Large,
    /// None.
    Never,
}

/// An older guard, beside labels, by the name under which it is known (G-82…G-90).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// No verbatim span of untrusted content in the arguments of a sink.
    UntrustedToSink,
    /// No sink once untrusted content and secret-class content have both entered a run.
    LethalTrifecta,
}

/// All that policy says of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Whether they are judged.
    pub mode: Mode,
    /// Which plain requests may leave.
    pub browse: Browse,
    /// Which outcomes are held.
    pub hold: Holding,
    /// Bits that may leave the handles of one run.
    pub bits: u32,
    /// Whether text that others read is composed like a name.
    pub strict: bool,
    /// Values that policy names.
    pub named: Named,
    /// Kinds whose typed values count only where a vouching result lists them: first names.
    pub common: BTreeSet<Kind>,
    /// Sinks that are declassified: judged, recorded, and never asked about (G-87).
    pub release: Vec<Pattern>,
    /// Older guards.
    pub guards: Guarding,
    /// Classes of sources.
    pub classes: Classes,
    /// What is said of single tools.
    pub tools: BTreeMap<ToolName, ToolFlow>,
    /// What is known for whoever is told which lines would help.
    pub written: Written,
}

/// What stands in files and manifests, as far as it says which lines would help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Whether some file has the table `[flow]` itself.
    pub itself: bool,
    /// Tools that a server's own table alone speaks of: no file has a table `[flow.tools]` for them.
    pub served: BTreeSet<ToolName>,
    /// The secrets that the manifest of each tool declares; nothing where the tools are not known.
    pub declared: Option<BTreeMap<ToolName, Vec<String>>>,
}

/// Values that policy names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Those that the operator vouches for.
    pub vouched: BTreeSet<String>,
    /// The user's own names and addresses; records that they started are the user's.
    pub me: BTreeSet<String>,
}

/// What is said of one tool: which of its arguments steer, and which fields of its outcomes vouch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolFlow {
    /// Arguments that say where, whom, or what to act on, by path (`to`, `message/to`, `items/*/id`), and
    /// the kind of their values.
    pub steering: BTreeMap<String, Kind>,
    /// Arguments that are content: what is sent, not where to.
    pub content: Vec<String>,
    /// The argument that names what is made: a title, a file name. Empty where there is none.
    pub naming: String,
    /// The values of arguments with which it only makes what is not there (`mode = "create"`); left out, they say
    /// the same. With another value it is no new file that its path names.
    pub new: BTreeMap<String, String>,
    /// The argument by which a `reply`-like tool names the record that it answers. Empty where there is none.
    pub reply: String,
    /// How private the content may be that goes there without a named destination.
    pub accepts: Secrecy,
    /// Whether its outcomes are held; `auto` where the run's own line says so.
    pub hold: Holding,
    /// Values that may steer its calls, and name what they make. They are none for another tool, and not enough for what
    /// cannot be undone.
    pub vouch: Vec<String>,
    /// The records of its outcomes.
    pub records: Records,
}

/// Records in a tool's outcomes, and what their fields are good for. Only policy says so, never a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Records {
    /// Where they are, as a pointer with `*`: `/messages/*`; empty for the whole outcome.
    pub at: String,
    /// The field of a record's title. Paths of fields are relative to their record.
    pub title: String,
    /// The field that says who started it.
    pub author: String,
    /// Whether nobody but the user can start one, as in an address book; then no author is needed.
    pub own: bool,
    /// The field of its own name at its service.
    pub id: String,
    /// The argument with the name of the one record that a call changes. It makes none, so that nobody need be told another.
    pub changes: String,
    /// Fields of addresses that the service itself keeps: sender, recipients, members.
    pub people: BTreeMap<String, Kind>,
    /// Fields that are true, though not wanted: shown beside a handle.
    pub trusted: BTreeMap<String, Kind>,
    /// Fields that vouch for a value.
    pub vouches: BTreeMap<String, Kind>,
    /// Arguments about which a non-empty outcome vouches.
    pub asks: BTreeMap<String, Kind>,
}

impl ToolFlow {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What is said here, and key by key what another place says where nothing is said here: a line about one key takes
    /// nothing away of the others. What is called content or a name here steers for nobody.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut all = Self {
            steering: said(&self.steering, &other.steering),
            content: said(&self.content, &other.content),
            naming: said(&self.naming, &other.naming),
            new: said(&self.new, &other.new),
            reply: said(&self.reply, &other.reply),
            accepts: said(&self.accepts, &other.accepts),
            hold: said(&self.hold, &other.hold),
            vouch: said(&self.vouch, &other.vouch),
            records: said(&self.records, &other.records),
        };
        let is_text = |place: &String| self.content.contains(place) || self.naming == *place;
        all.steering.retain(|place, _| !is_text(place));
        all
    }

    /// Adds what a later file says of the same tool. Values that are vouched for add up; of all else the first file holds
    /// that says more than that.
    pub fn add(&mut self, other: &Self) {
        let alone = Self {
            vouch: self.vouch.clone(),
            ..Self::default()
        };
        let vouch = [self.vouch.as_slice(), other.vouch.as_slice()].concat();
        if !self.vouch.is_empty() && *self == alone {
            self.clone_from(other);
        }
        self.vouch = vouch;
    }
}

/// One key of two places: the first that says something.
fn said<T: Clone + Default + PartialEq>(first: &T, other: &T) -> T {
    match *first == T::default() {
        true => other.clone(),
        false => first.clone(),
    }
}

impl Flows {
    /// Whether a value is one that policy names.
    #[must_use]
    pub fn names(&self, kind: Kind, value: &str) -> bool {
        let normal = kind.normal(value);
        let mut vouched = self.named.vouched.iter();
        vouched.any(|known| kind.normal(known) == normal) || self.is_me(kind, value)
    }

    /// Whether it is an address of the user's own. What a channel, a record or a file is called is none, though it be called so.
    #[must_use]
    pub fn is_me(&self, kind: Kind, value: &str) -> bool {
        let value = kind.normal(value);
        let mut own = self.named.me.iter();
        let is_address = match kind {
            Kind::Mail | Kind::Account | Kind::Address | Kind::Url | Kind::User => true,
            Kind::File | Kind::Name | Kind::Id | Kind::Value => false,
        };
        is_address && own.any(|known| kind.normal(known) == value)
    }

    /// The same, or one that it names for calls of this tool alone.
    #[must_use]
    pub fn names_for(&self, tool: &ToolName, kind: Kind, value: &str) -> bool {
        let normal = kind.normal(value);
        let said = self.about(tool).into_iter();
        let mut vouched = said.flat_map(|said| &said.vouch);
        self.names(kind, value) || vouched.any(|known| kind.normal(known) == normal)
    }

    /// How the notice begins of what passes though flows speak against it: in shadow, and of a tool that is released, if
    /// that counts for what is judged. Nothing where they decide.
    #[must_use]
    pub fn silent(&self, mode: Judging, tool: Option<&ToolName>) -> Option<String> {
        let mut lines = self.release.iter();
        let released = lines.find(|line| tool.is_some_and(|tool| line.matches(tool)));
        match (mode, released) {
            (Judging::Shadow, _) => Some(format!("; {SHADOWED}")),
            (_, Some(line)) => Some(format!("; `release = [\"{line}\"]` lets pass")),
            (Judging::Off | Judging::Tainted | Judging::Enforce, None) => None,
        }
    }

    /// The notice of what a guest wishes that flows speak against, with the rule that would have denied it: nobody can be asked
    /// in the middle of a call.
    ///
    /// # Errors
    /// The denial, where they decide.
    pub fn noticed(
        &self,
        (mode, tool): (Judging, Option<&ToolName>),
        denial: Denial,
    ) -> Result<String, Denial> {
        match self.silent(mode, tool) {
            Some(silent) => Ok(format!("{silent}: {} ({})", denial.reason, denial.rule)),
            None => Err(denial),
        }
    }

    /// What is said of a tool.
    #[must_use]
    pub fn about(&self, tool: &ToolName) -> Option<&ToolFlow> {
        self.tools.get(tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_which_nothing_is_said_is_told_from_others() {
        assert!(ToolFlow::default().is_nothing());
        let said = ToolFlow {
            naming: "title".to_owned(),
            ..ToolFlow::default()
        };
        assert!(!said.is_nothing());
    }

    #[test]
    fn the_rule_against_something_stands_in_its_denial_and_last_in_its_notice() {
        let allow = |rule: &str| Verdict::Allow {
            rule: rule.to_owned(),
        };
        let deny = |rule: &str| Verdict::Deny(crate::rules::deny(rule, "no"));
        for (verdict, rule) in [
            (deny("flow_browse"), Some("flow_browse")),
            (deny("host_not_granted"), None),
            (allow("a line"), None),
            (allow("a line (flow_browse)"), None),
            // What is let pass of a call is what would have been asked.
            (
                allow("a line; `mode = \"shadow\"` lets pass: `to` is new"),
                None,
            ),
            (
                allow("a line; `mode = \"shadow\"` lets pass: (flow_private) is new (flow_browse)"),
                Some("flow_browse"),
            ),
            (
                allow("a line; `release = [\"a.b\"]` lets pass: it is new (flow_private)"),
                Some("flow_private"),
            ),
        ] {
            assert_eq!(against(&verdict), rule, "{verdict:?}");
        }
    }

    #[test]
    fn of_what_was_found_against_something_the_rule_can_stand_without_its_words() {
        for (rule, kept) in [
            ("a line", "a line"),
            (
                "a line; `mode = \"shadow\"` lets pass: `to` is new; confirmed",
                "a line; `mode = \"shadow\"` lets pass: …",
            ),
            (
                "a line; `release = [\"a.b\"]` lets pass: `to` is new (flow_private)",
                "a line; `release = [\"a.b\"]` lets pass: … (flow_private)",
            ),
        ] {
            assert_eq!(unsaid(rule, "…"), kept);
        }
    }

    #[test]
    fn a_line_about_one_key_takes_nothing_away_of_the_others() {
        let parse = |text: &str| -> ToolFlow { toml::from_str(text).unwrap() };
        let there = parse(
            "steering = { to = \"mail\" }\ncontent = [\"title\"]\nrecords = { at = \"/a\", id = \"id\" }",
        );
        let reply = parse("reply = \"answers\"");
        let both = ToolFlow {
            reply: "answers".to_owned(),
            ..there.clone()
        };
        assert_eq!(reply.or(&there), both);
        assert_eq!(there.or(&reply), both);
        // Where both say something, the first does; its fields of records are not mixed with those of other records.
        let first = parse("content = [\"to\"]\nrecords = { vouches = { from = \"mail\" } }");
        let all = first.or(&there);
        assert_eq!(all.records, first.records);
        assert_eq!(all.content, ["to"]);
        assert!(all.steering.is_empty(), "{all:?}");
    }

    /// A line that was pasted into one file takes nothing away of what another one says.
    #[test]
    fn of_two_files_values_add_up_and_the_first_holds_that_says_anything_else() {
        let parse = |text: &str| -> ToolFlow { toml::from_str(text).unwrap() };
        let added = |first: &str, then: &str| {
            let mut all = parse(first);
            all.add(&parse(then));
            all
        };
        let (one, two) = ("vouch = ['a']", "vouch = ['b']");
        assert_eq!(added(one, two), parse("vouch = ['a', 'b']"));
        let (said, other) = ("naming = 'title'", "naming = 'name'\nvouch = ['b']");
        assert_eq!(added(said, other), parse("naming = 'title'\nvouch = ['b']"));
        let both = parse("naming = 'name'\nvouch = ['a', 'b']");
        assert_eq!(added(one, other), both);
        // To say nothing is to say that nothing holds.
        assert!(added("", said).is_nothing());
    }

    #[test]
    fn a_value_that_one_tool_is_given_is_none_for_another() {
        let tool = |name: &str| ToolName::parse(name).unwrap();
        let said = ToolFlow {
            vouch: vec!["Ada@X.test".to_owned()],
            ..ToolFlow::default()
        };
        let mut flows = Flows::default();
        flows.tools.insert(tool("mail.send"), said);
        let names = |flows: &Flows, of: &str| flows.names_for(&tool(of), Kind::Mail, "ada@x.test");
        assert!(names(&flows, "mail.send"));
        assert!(!names(&flows, "mail.drop") && !flows.names(Kind::Mail, "ada@x.test"));
        flows.named.vouched.insert("ada@x.test".to_owned());
        assert!(names(&flows, "mail.drop"));
    }
}
