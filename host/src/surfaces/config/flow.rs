//! `[flow]` as it is written, and how several files' tables add up: modes only tighten, lists add, values that are vouched
//! for too, and where else two files speak of one tool or source, the first one holds.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::guarding;
use crate::rules::flow::class::{Class, Secrecy};
use crate::rules::flow::kind::Kind;
use crate::rules::flow::lines::{Browse, Flows, Guard, Holding, Mode, ToolFlow};
use crate::rules::grant::Pattern;
use crate::rules::keep::Keep;
use crate::words::error::{Error, Result};
use crate::words::id::{Digest, ToolName, is_name, shown};
use crate::words::label::{Sort, Source};
use crate::words::limits::HANDLE_BITS;

/// `[flow]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowTable {
    /// Whether flows are judged: `auto`, `off`, `shadow`, `enforce`.
    pub mode: Option<Mode>,
    /// Which plain requests may leave: `free`, `granted`, `witness`.
    pub browse: Option<Browse>,
    /// Which outcomes are held back from the model: `auto`, `untrusted`, `large`, `never`.
    pub hold: Option<Holding>,
    /// Bits that may leave the handles of one run.
    pub bits: Option<u32>,
    /// Whether text that others read is composed like a name.
    pub strict: bool,
    /// The user's own names and addresses.
    pub me: Vec<String>,
    /// Values that the operator vouches for.
    pub vouch: Vec<String>,
    /// Kinds whose typed values count only where a vouching result lists them.
    pub common: Option<Vec<Kind>>,
    /// Sinks that are judged and recorded, and never asked about.
    pub release: Vec<Pattern>,
    /// Older guards: `untrusted-to-sink`, `lethal-trifecta`.
    pub guards: Vec<Guard>,
    /// Characters of the shortest span of untrusted content that `untrusted-to-sink` finds, from 11 to 20; absent: 20.
    pub span_chars: Option<usize>,
    /// Characters of the shortest argument that it finds as a whole, from 4 to 8; absent: 8.
    pub floor_chars: Option<usize>,
    /// Characters of untrusted content that it remembers of one run, the latest, from 262144 to 1048576; absent: 262144.
    pub tracked_chars: Option<usize>,
    /// Plugins whose code is trusted not to make things up.
    pub trust: Vec<String>,
    /// Plugins of which the user has read what their tools say of themselves, and the digest of the component.
    pub read: BTreeMap<String, String>,
    /// Classes of single sources, such as `"web:https://docs.example"`.
    pub classes: BTreeMap<String, Class>,
    /// What is said of single tools.
    pub tools: BTreeMap<String, ToolFlow>,
}

impl FlowTable {
    /// Whether the table itself is there, and not those below it alone.
    fn is_written(&self) -> bool {
        let below = Self {
            read: self.read.clone(),
            classes: self.classes.clone(),
            tools: self.tools.clone(),
            ..Self::default()
        };
        *self != below
    }
}

/// Adds one file's table to what is known.
pub(super) fn add(flows: &mut Flows, table: &FlowTable) -> Result<()> {
    flows.strict |= table.strict;
    flows.written.itself |= table.is_written();
    if let Some(hold) = table.hold
        && flows.hold == Holding::Auto
    {
        flows.hold = hold;
    }
    flows.named.me.extend(table.me.iter().cloned());
    flows.named.vouched.extend(table.vouch.iter().cloned());
    flows.common.extend(table.common.iter().flatten());
    flows.release.extend(table.release.iter().cloned());
    flows.guards.on.extend(table.guards.iter().copied());
    for plugin in &table.trust {
        check_plugin("trust", plugin)?;
        flows.classes.trusted_plugins.insert(plugin.clone());
    }
    for (plugin, digest) in &table.read {
        check_plugin("read", plugin)?;
        let digest = Digest::parse(digest).map_err(|error| {
            let what = format!("[flow] read: `{plugin}`: {}", error.message());
            Error::bad_input(what)
                .hint("`lazaret plugin inspect NAME` shows it, and what its tools say")
        })?;
        let pinned = flows.classes.pinned.entry(plugin.clone());
        pinned.or_insert(digest);
    }
    for (source, class) in &table.classes {
        let source = checked(source, *class)?;
        // A note with a long key is called otherwise in labels; in those of before it is not.
        if let Some(note) = Keep::source_of(&source) {
            let said = flows.classes.said.entry(note.to_string());
            said.or_insert(*class);
        }
        flows.classes.said.entry(source).or_insert(*class);
    }
    for (tool, said) in &table.tools {
        let name = ToolName::parse(tool).map_err(|_| {
            let what = format!("[flow.tools.\"{}\"] names no tool", shown(tool));
            Error::bad_input(what)
                .hint("write `[flow.tools.\"plugin.tool\"]`; there are no wildcards here")
        })?;
        check_tool(tool, said)?;
        let known = flows.tools.entry(name);
        known
            .and_modify(|known| known.add(said))
            .or_insert_with(|| said.clone());
    }
    Ok(())
}

/// What holds where no file says otherwise. Called once, before the first file's table is added.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn nothing_said(files: &[&FlowTable]) -> Result<Flows> {
    let mode = files.iter().filter_map(|table| table.mode);
    let browse = files.iter().filter_map(|table| table.browse).max();
    let bits = files.iter().filter_map(|table| table.bits).min();
    let named = files.iter().any(|table| table.common.is_some());
    Ok(Flows {
        guards: guarding::together(files)?,
        mode: mode
            .max_by_key(|mode| strictness(*mode))
            .unwrap_or_default(),
        browse: browse.unwrap_or_default(),
        // The least that any file grants.
        bits: bits.unwrap_or(HANDLE_BITS),
        common: if named {
            BTreeSet::new()
        } else {
            BTreeSet::from([Kind::Name])
        },
        ..Flows::default()
    })
}

/// Of two files the one that judges more holds. Who says `auto` has said something: `off` and `shadow` count where nobody
/// says more.
fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Off => 0,
        Mode::Shadow => 1,
        Mode::Auto => 2,
        Mode::Enforce => 3,
    }
}

fn check_plugin(key: &str, name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    let what = format!("[flow] {key}: `{}` is no name of a plugin", shown(name));
    Err(Error::bad_input(what))
}

/// A source as it is written in labels.
fn checked(source: &str, class: Class) -> Result<String> {
    let wrong = |why: &str| {
        let what = format!("[flow.classes]: `{}` {why}", shown(source));
        Error::bad_input(what)
            .hint("write a source such as `web:https://docs.example` or `file:inbox`")
    };
    let known = Source::try_from(source.to_owned()).map_err(|_| wrong("is no source"))?;
    if known.is_many() {
        return Err(wrong("stands for many sources; each has a line of its own"));
    }
    if known.sort() == Sort::Secret && class.secrecy != Secrecy::Secret {
        let what = format!(
            "[flow.classes]: `{}` is secret, and nothing secret leaves, ever",
            shown(source)
        );
        return Err(Error::bad_input(what).hint(
            "leave the line out: the tool says of its outcomes that they are secret, and no policy says otherwise",
        ));
    }
    if known.sort() == Sort::Web {
        let url = url::Url::parse(known.name()).map_err(|_| wrong("is no origin"))?;
        if url.origin().ascii_serialization() != known.name() {
            return Err(wrong(
                "is no origin: scheme, host, and the port if it is not the usual one",
            ));
        }
    }
    Ok(known.to_string())
}

/// An argument cannot steer and be content.
fn check_tool(tool: &str, said: &ToolFlow) -> Result<()> {
    let both = said
        .steering
        .keys()
        .find(|path| said.content.contains(path));
    match both {
        Some(path) => {
            let what = format!(
                "[flow.tools.\"{tool}\"]: `{}` steers, and is content too",
                shown(path)
            );
            Err(Error::bad_input(what).hint("leave it in one of the two"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::class::Integrity;

    fn table(text: &str) -> FlowTable {
        toml::from_str(text).unwrap()
    }

    fn together(texts: &[&str]) -> Result<Flows> {
        let tables: Vec<FlowTable> = texts.iter().map(|text| table(text)).collect();
        let mut flows = nothing_said(&tables.iter().collect::<Vec<_>>())?;
        for table in &tables {
            add(&mut flows, table)?;
        }
        Ok(flows)
    }

    /// The user's file, the workspace's, and what holds of both, either way round.
    #[test]
    fn of_two_files_the_one_holds_that_judges_more() {
        for (one, other, mode) in [
            ("", "", Mode::Auto),
            ("", "mode = 'off'", Mode::Off),
            ("", "mode = 'shadow'", Mode::Shadow),
            ("mode = 'auto'", "mode = 'off'", Mode::Auto),
            ("mode = 'auto'", "mode = 'shadow'", Mode::Auto),
            ("mode = 'shadow'", "mode = 'off'", Mode::Shadow),
            ("mode = 'enforce'", "mode = 'off'", Mode::Enforce),
            ("mode = 'enforce'", "mode = 'shadow'", Mode::Enforce),
            ("mode = 'enforce'", "mode = 'auto'", Mode::Enforce),
        ] {
            for files in [[one, other], [other, one]] {
                assert_eq!(together(&files).unwrap().mode, mode, "{files:?}");
            }
        }
        let browse = |files: [&str; 2]| together(&files).unwrap().browse;
        assert_eq!(browse(["", ""]), Browse::Granted);
        assert_eq!(browse(["", "browse = 'free'"]), Browse::Free);
        let (free, granted) = ("browse = 'free'", "browse = 'granted'");
        assert_eq!(browse([free, granted]), Browse::Granted);
        assert_eq!(browse([granted, free]), Browse::Granted);
        assert_eq!(browse(["browse = 'witness'", free]), Browse::Witness);
        let bits = |files: [&str; 2]| together(&files).unwrap().bits;
        assert_eq!(bits(["", ""]), HANDLE_BITS);
        assert_eq!(bits(["bits = 9", "bits = 90"]), 9);
        assert_eq!(bits(["bits = 90", "bits = 9"]), 9);
        let strict = |files: [&str; 2]| together(&files).unwrap().strict;
        assert!(!strict(["", "strict = false"]));
        assert!(strict(["strict = true", "strict = false"]));
        assert!(strict(["", "strict = true"]));
    }

    #[test]
    fn of_two_files_lists_add_and_of_one_thing_the_first_line_holds() {
        let own = "hold = 'large'\nme = ['a@x.test']\nvouch = ['A']\ntrust = ['mail']\nrelease = ['log.*']\n\
             classes.'web:https://a.test' = { integrity = 'untrusted', secrecy = 'private' }\n\
             tools.'mail.send' = { accepts = 'private', vouch = ['C'] }\ntools.'cal.add'.vouch = ['D']";
        let theirs = "hold = 'never'\nme = ['b@x.test']\nvouch = ['B']\ntrust = ['cal']\nrelease = ['cal.add']\n\
             classes.'web:https://a.test' = { integrity = 'trusted', secrecy = 'public' }\n\
             tools.'mail.send' = { naming = 'title', vouch = ['E'] }\ntools.'cal.add'.naming = 'title'";
        let both = together(&[own, theirs]).unwrap();
        assert_eq!(both.hold, Holding::Large);
        assert_eq!(both.named.me, ["a@x.test".into(), "b@x.test".into()].into());
        assert_eq!(both.named.vouched, ["A".into(), "B".into()].into());
        let trusted = ["mail".to_owned(), "cal".to_owned()];
        assert_eq!(both.classes.trusted_plugins, trusted.into());
        assert_eq!(both.release.len(), 2);
        let class = both.classes.said["web:https://a.test"];
        let first = (Integrity::Untrusted, Secrecy::Private);
        assert_eq!((class.integrity, class.secrecy), first);
        let said = |name: &str| &both.tools[&ToolName::parse(name).unwrap()];
        let sends = said("mail.send");
        assert_eq!((sends.accepts, &*sends.naming), (Secrecy::Private, ""));
        assert_eq!(sends.vouch, ["C", "E"]);
        // Who only vouches for a value has said nothing else of the tool.
        let adds = said("cal.add");
        assert_eq!(
            (&*adds.naming, &*adds.vouch),
            ("title", &["D".to_owned()][..])
        );
        // `auto` leaves it to the next one.
        let auto = together(&["hold = 'auto'", "hold = 'never'"]).unwrap();
        assert_eq!(auto.hold, Holding::Never);
        // Whoever says it, says which kinds are common; names are where nobody does.
        let common = |files: &[&str]| together(files).unwrap().common;
        assert_eq!(common(&[""]), BTreeSet::from([Kind::Name]));
        assert_eq!(common(&["", "common = []"]), BTreeSet::new());
        let both = common(&["common = ['user']", "common = ['id']"]);
        assert_eq!(both, BTreeSet::from([Kind::User, Kind::Id]));
    }

    #[test]
    fn what_can_never_be_meant_is_refused_with_its_place() {
        for (text, says, hint) in [
            (
                "tools.'mail.send' = { steering = { to = 'mail' }, content = ['to'] }",
                "[flow.tools.\"mail.send\"]: `to` steers, and is content too",
                "one of the two",
            ),
            (
                "tools.'mail.*'.naming = 'title'",
                "[flow.tools.\"mail.*\"] names no tool",
                "no wildcards",
            ),
            (
                "classes.'somebody' = { integrity = 'trusted', secrecy = 'public' }",
                "[flow.classes]: `somebody` is no source",
                "`web:https://docs.example`",
            ),
            (
                "classes.'web:*' = { integrity = 'trusted', secrecy = 'public' }",
                "`web:*` stands for many sources",
                "write a source",
            ),
            (
                "classes.'web:docs.example' = { integrity = 'trusted', secrecy = 'public' }",
                "`web:docs.example` is no origin",
                "write a source",
            ),
            (
                "classes.'web:https://a.test/page' = { integrity = 'trusted', secrecy = 'public' }",
                "is no origin: scheme, host, and the port",
                "write a source",
            ),
            (
                "classes.'secret:safe.run' = { integrity = 'trusted', secrecy = 'private' }",
                "`secret:safe.run` is secret, and nothing secret leaves",
                "leave the line out",
            ),
            (
                "trust = ['Mail box']",
                "[flow] trust: `Mail box` is no name",
                "",
            ),
            (
                "read.'a b' = 'sha256:00'",
                "[flow] read: `a b` is no name",
                "",
            ),
            (
                "read.mail = 'sha256:00'",
                "[flow] read: `mail`: ",
                "plugin inspect",
            ),
        ] {
            let error = together(&[text]).unwrap_err();
            let hints = error.hints().join(" ");
            let said = error.message();
            assert!(said.contains(says), "{text}: {said}");
            assert!(hints.contains(hint), "{text}: {hints}");
        }
        let kept = "classes.'secret:safe.run' = { integrity = 'untrusted', secrecy = 'secret' }";
        assert!(together(&[kept]).is_ok());
    }
}
