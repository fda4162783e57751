//! What a card names of who was behind the value that is held.
//!
//! It names what whoever wished knew without it: what they were under the influence of, what the cards of the handles say
//! that they gave, the tool itself, and all that it could have read by its grant. Which of that it has read, and who had a
//! hand in what it found there, are not named: whoever lets a held value choose between two files would have as much of it
//! spelled out as they like, call by call, by who is named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::{Handles, handle_in, has_handle};
use crate::rules::call::Call;
use crate::rules::file::{granted_mount_of, is_above};
use crate::rules::grant::{Access, Destination, Grant};
use crate::rules::policy::{Mount, Policy};
use crate::rules::server;
use crate::words::id::ToolName;
use crate::words::label::{Label, Sort, Source};

/// The sources that a card names of an outcome of this call, of which whoever wished it knew those.
#[must_use]
pub fn named(call: &Call, known: &Label, label: &Label) -> Label {
    let own = [
        Source::new(Sort::Tool, call.tool.as_str()),
        server::source(call.tool.plugin()),
    ];
    // Whether a tool is of a server, and has a source, is the same for each of its calls.
    let own = own
        .into_iter()
        .filter(|one| label.covers(&Label::of(one.clone())));
    let wish = call.wish.as_ref().unwrap_or(call.args.value());
    let mut plain = Vec::new();
    texts(wish, &mut plain);
    let all = own.chain(within(&call.grant, &plain));
    all.fold(known.clone(), |all, one| all.with(one))
}

/// The arguments by which tools name files.
const PATHS: [&str; 3] = ["path", "source", "target"];
/// The tool that lists one folder, and looks into none below it.
const LIST: &str = "files.list";

/// What a guest could read by this grant that does no more than it is asked for, as those of trusted plugins do: of files those
/// of the mounts that all of its paths lead to, where there are some. Without a path it may look into each mount, and a path
/// out of a handle may be any; what else begins with the name of a mount, such as a pattern, leads nowhere. A list of the
/// mounts themselves is of what policy says, and of nothing in them.
#[must_use]
pub fn asked(tool: &ToolName, grant: &Grant, policy: &Policy, args: &Value) -> Label {
    let narrowed = match tool.as_str() == LIST && is_of_mounts(policy, args) {
        true => Some(Grant {
            mounts: Vec::new(),
            ..grant.clone()
        }),
        false => meant(grant, policy, args),
    };
    readable(narrowed.as_ref().unwrap_or(grant), &policy.mounts)
}

/// Whether the folder in these arguments is the one above all mounts, which is meant where none is named.
fn is_of_mounts(policy: &Policy, args: &Value) -> bool {
    match args.get("path") {
        Some(path) => path.as_str().is_some_and(|path| is_above(policy, path)),
        None => !policy.mounts.contains_key("."),
    }
}

/// A grant with the mounts alone that the paths in these arguments lead to; nothing where nobody knows which these are.
fn meant(grant: &Grant, policy: &Policy, args: &Value) -> Option<Grant> {
    if has_handle(args) {
        return None;
    }
    let paths = PATHS.iter().filter_map(|key| args.get(key));
    // Above the mounts there is more than one.
    let mount = |path: &Value| {
        let mount = granted_mount_of(grant, policy, path.as_str()?)?;
        (&*mount != ".").then_some(mount)
    };
    let mounts: BTreeSet<Arc<str>> = paths.map(mount).collect::<Option<_>>()?;
    if mounts.is_empty() {
        return None;
    }
    let mut narrowed = grant.clone();
    narrowed.mounts.retain(|one| mounts.contains(&one.mount));
    Some(narrowed)
}

/// All that a guest could read by this grant, where the mounts are these, whatever its arguments say: nobody knows of a call
/// of a stranger's code under way that it reads what it was asked for, and no more.
#[must_use]
pub fn readable(grant: &Grant, all: &BTreeMap<Arc<str>, Mount>) -> Label {
    let mounts = grant.mounts.iter().flat_map(|one| {
        let inside = all.get(&one.mount).into_iter();
        let inside = inside.flat_map(|mount| mount.inside.iter());
        std::iter::once(&one.mount).chain(inside.map(|inner| &inner.mount))
    });
    let mounts = mounts.map(|mount| Policy::mount_source(mount));
    let pages = grant.fetch.iter().map(pages);
    let notes = (grant.notes > Access::None).then(|| Source::new(Sort::Note, "*"));
    let sources = mounts.chain(pages).chain(notes);
    sources.fold(Label::default(), |label, one| label.with(one))
}

/// The pages of a line. One about many hosts may lead to whichever policy speaks of.
fn pages(line: &Destination) -> Source {
    match origin(&line.place()) {
        Some(one) if !one.name().contains('*') => one,
        Some(_) | None => Source::new(Sort::Web, "*"),
    }
}

/// What a card names of what a guest could read: of its mounts and addresses those alone that stand in plain arguments,
/// where some do. A card that names less shows less.
fn within(grant: &Grant, plain: &[&str]) -> Vec<Source> {
    let stands = |mount: &&str| {
        plain
            .iter()
            .any(|text| text.split('/').next() == Some(mount))
    };
    let mounts: Vec<&str> = grant.mounts.iter().map(|one| &*one.mount).collect();
    let meant: Vec<&str> = mounts.iter().copied().filter(stands).collect();
    let mounts = match meant.is_empty() {
        true => mounts,
        false => meant,
    };
    let mut all: Vec<Source> = mounts.into_iter().map(Policy::mount_source).collect();
    if !grant.fetch.is_empty() {
        let meant: Vec<Source> = plain.iter().filter_map(|text| origin(text)).collect();
        match meant.is_empty() {
            true => all.extend(grant.fetch.iter().filter_map(|line| origin(&line.place()))),
            false => all.extend(meant),
        }
    }
    if grant.notes > Access::None {
        all.push(Source::new(Sort::Note, "*"));
    }
    all
}

fn origin(text: &str) -> Option<Source> {
    let url = Url::parse(text).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https");
    is_page.then(|| Source::new(Sort::Web, &url.origin().ascii_serialization()))
}

/// The texts of arguments, beside those that handles bring.
fn texts<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(map) if handle_in(value).is_none() => {
            map.values().for_each(|item| texts(item, all));
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a handle stands in these arguments of which nothing is known, not even that it is gone: whoever wrote its name may
/// have foreseen it, since the next one is called by the next number.
#[must_use]
pub fn is_foreseen_in(args: &Value, handles: &Handles) -> bool {
    if let Some(name) = handle_in(args) {
        return !handles.knows(name);
    }
    let is_inside = |value: &Value| is_foreseen_in(value, handles);
    match args {
        Value::Array(items) => items.iter().any(is_inside),
        Value::Object(map) => map.values().any(is_inside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What a card has named.
#[must_use]
pub(super) fn on(card: &Value) -> Label {
    let said = card.get("label").and_then(Value::as_array);
    let said = said.into_iter().flatten().filter_map(Value::as_str);
    let sources = said.filter_map(|text| Source::try_from(text.to_owned()).ok());
    sources.fold(Label::default(), |label, source| label.with(source))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Naming;
    use super::*;
    use crate::rules::grant::MountGrant;
    use crate::rules::policy::{Inside, Room};

    #[test]
    fn a_name_of_which_nothing_is_known_was_foreseen() {
        let mut handles = Handles::default();
        handles.reserve("h1", &Label::default());
        let next = handles.hold(Naming::Next, &json!("x"), &Label::default());
        assert_eq!(next.unwrap(), "h2");
        for (args, is_foreseen) in [
            (json!({"of": [{"$handle": "h1"}, {"$handle": "h2"}]}), false),
            (json!({"of": [{"$handle": "h2"}, {"$handle": "h3"}]}), true),
            (json!({"$handle": "h9"}), true),
            (json!({"of": "h3"}), false),
        ] {
            assert_eq!(is_foreseen_in(&args, &handles), is_foreseen, "{args}");
        }
    }

    /// Pages, notes and two mounts, of which another one lies in the second.
    fn granted() -> (Grant, BTreeMap<Arc<str>, Mount>) {
        let to = |url: &str| Destination::parse(url, &["GET"], false).unwrap();
        let mount = |name: &str| MountGrant {
            mount: name.into(),
            access: Access::Read,
        };
        let grant = Grant {
            fetch: vec![to("https://a.test/v1/"), to("https://*.b.test/")],
            mounts: vec![mount("docs"), mount("home")],
            notes: Access::Read,
            ..Grant::default()
        };
        let inside = Inside {
            mount: "letters".into(),
            names: vec!["letters".to_owned()],
            access: Access::Read,
            workspace: false,
        };
        let home = Mount {
            access: Access::Read,
            workspace: false,
            room: Room::default(),
            inside: Arc::new([inside]),
        };
        let mounts = BTreeMap::from([("home".into(), home)]);
        (grant, mounts)
    }

    /// A pattern that begins with the name of a mount has narrowed it once.
    #[test]
    fn what_a_call_could_read_is_all_of_its_grant() {
        let (grant, mounts) = granted();
        // A line about many hosts may lead to any.
        let expected = "web:https://a.test, web:*, file:docs, file:home, file:letters, note:*";
        let all = readable(&grant, &mounts);
        for source in expected.split(", ") {
            let source = Source::try_from(source.to_owned()).unwrap();
            assert!(all.covers(&Label::of(source.clone())), "{source}: {all}");
        }
        assert_eq!(readable(&Grant::default(), &mounts), Label::default());
        // A card names what stands in the arguments.
        let named = within(&grant, &["docs/x"]);
        assert!(named.contains(&Policy::mount_source("docs")));
        assert!(!named.contains(&Policy::mount_source("home")));
    }

    #[test]
    fn what_a_call_of_a_trusted_plugin_could_read_lies_where_its_paths_lead() {
        let (grant, mounts) = granted();
        let policy = Policy {
            mounts,
            ..Policy::nothing("test")
        };
        for (args, sources) in [
            // It lies inside, and may be what the path leads to.
            (
                json!({"path": "home/x", "pattern": "docs/"}),
                "file:home file:letters",
            ),
            (json!({"path": "./home/"}), "file:home file:letters"),
            // Of these the host knows no mount, so it is all of them.
            (json!({"path": "docs/x"}), "file:docs file:home"),
            (json!({"pattern": "home/x"}), "file:docs file:home"),
            (
                json!({"path": "", "pattern": "home/"}),
                "file:docs file:home",
            ),
            (json!({"path": {"$handle": "h1"}}), "file:docs file:home"),
            (
                json!({"source": "home/x", "target": "docs/x"}),
                "file:docs file:home",
            ),
            (
                json!({"path": "home/x", "more": {"$handle": "h1"}}),
                "file:docs file:home",
            ),
            (json!({"path": ["home/x"]}), "file:docs file:home"),
        ] {
            let search = ToolName::parse("files.search").unwrap();
            let found = asked(&search, &grant, &policy, &args);
            for source in sources.split(' ').chain(["web:https://a.test", "note:*"]) {
                let source = Source::try_from(source.to_owned()).unwrap();
                assert!(found.covers(&Label::of(source)), "{args}: {found}");
            }
            let docs = Label::of(Policy::mount_source("docs"));
            assert_eq!(
                found.covers(&docs),
                sources.contains("docs"),
                "{args}: {found}"
            );
        }
    }

    /// It tells their names, as policy says them.
    #[test]
    fn a_list_of_the_mounts_reads_nothing_in_them() {
        let (grant, mounts) = granted();
        let policy = Policy {
            mounts,
            ..Policy::nothing("test")
        };
        let mut rooted = policy.clone();
        rooted
            .mounts
            .insert(".".into(), policy.mounts["home"].clone());
        for (policy, tool, args, reads) in [
            (&policy, "files.list", json!({}), false),
            (
                &policy,
                "files.list",
                json!({"path": "", "limit": 5}),
                false,
            ),
            (&policy, "files.list", json!({"path": "./"}), false),
            (&policy, "files.list", json!({"path": "docs"}), true),
            (
                &policy,
                "files.list",
                json!({"path": {"$handle": "h1"}}),
                true,
            ),
            (&policy, "files.list", json!({"path": "../docs"}), true),
            (&policy, "files.search", json!({"path": ""}), true),
            // Then it is a folder like any other.
            (&rooted, "files.list", json!({"path": "."}), true),
            (&rooted, "files.list", json!({}), true),
        ] {
            let name = ToolName::parse(tool).unwrap();
            let found = asked(&name, &grant, policy, &args);
            let docs = Label::of(Policy::mount_source("docs"));
            assert_eq!(found.covers(&docs), reads, "{tool} {args}: {found}");
            let page = Source::try_from("web:https://a.test".to_owned()).unwrap();
            assert!(found.covers(&Label::of(page)), "{tool} {args}: {found}");
        }
    }
}
