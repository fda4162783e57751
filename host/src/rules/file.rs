//! Rule for files: which mount does a path belong to, and may it be read or changed there?
//!
//! Paths are names under the mounts' common root: `docs/a.md` is `a.md` of the mount `docs`, if there
//! is one, and else `docs/a.md` of the mount `.`. One path never has two readings: the mount with a
//! name of its own always wins.

use std::sync::Arc;

use super::caller::{Bearing, Caller, Judging, Origin};
use super::grant::{Access, Grant};
use super::policy::{Inside, Mount, Policy, Room};
use super::{Allowed, Consent, Durability, Effect, deny, deny_unless};
use crate::words::event::{Content, Denial, EffectKind};
use crate::words::id::{RunId, ToolName, shown};
use crate::words::label::Label;
use crate::words::limits::{PATH_BYTES, PATH_NAME_BYTES, PATH_NAMES};
use crate::words::near::nearest;

/// A file is looked at or changed.
#[derive(Clone, Debug)]
pub struct File {
    /// The path as the wisher wrote it.
    pub path: String,
    /// What is to be done with it.
    pub wish: FileWish,
    /// What influenced the wish, kept with what is written.
    pub label: Label,
}

/// What is to be done with a path.
#[derive(Clone, Debug)]
pub enum FileWish {
    /// List a folder.
    List,
    /// Say what is there.
    Stat,
    /// Read bytes.
    Read {
        /// From here on.
        offset: u64,
        /// At most this many.
        length: usize,
    },
    /// Write bytes.
    Write {
        /// What to write.
        bytes: Vec<u8>,
        /// How.
        mode: WriteMode,
    },
    /// Give it another name.
    Move {
        /// The new path.
        target: String,
    },
    /// Remove a file or an empty folder.
    Remove,
    /// Make a folder where nothing is.
    MakeFolder,
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// A new file, or nothing.
    Create,
    /// In place of what is there.
    Replace,
    /// After what is there.
    Append,
    /// Over what is there, from this byte on.
    At(u64),
}

impl FileWish {
    fn word(&self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Stat => "stat",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Move { .. } => "move",
            Self::Remove => "remove",
            Self::MakeFolder => "make folder",
        }
    }

    /// What it takes of a mount.
    #[must_use]
    pub fn access(&self) -> Access {
        match self {
            Self::List | Self::Stat | Self::Read { .. } => Access::Read,
            Self::Write {
                mode: WriteMode::Create,
                ..
            }
            | Self::MakeFolder => Access::Create,
            Self::Write {
                mode: WriteMode::Replace | WriteMode::Append | WriteMode::At { .. },
                ..
            }
            | Self::Move { .. }
            | Self::Remove => Access::Write,
        }
    }
}

/// A place below a mount: what the files edge opens, name by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The mount.
    pub mount: Arc<str>,
    /// Names from there on; none for the mount itself.
    pub names: Vec<String>,
    /// How much may be written there.
    pub room: Room,
    /// By whom, all its tools together.
    pub run: RunId,
    /// Mounts that lie inside its own: where it leads there, it is a place of theirs as well.
    pub inside: Arc<[Inside]>,
}

impl Place {
    /// Names that may lead on from its mount: a path begins with the mount's own, unless that is all there is.
    #[must_use]
    pub fn most_names(&self) -> usize {
        PATH_NAMES - usize::from(&*self.mount != ".")
    }
}

/// What an allowance of a file entails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// The root above the mounts: only its list may be seen.
    Root(Vec<Arc<str>>),
    /// One place.
    One(Place),
    /// From and to, in one mount.
    Two(Place, Place),
}

impl Effect for File {
    const KIND: EffectKind = EffectKind::File;
    type Terms = Places;

    fn subject(&self) -> String {
        match &self.wish {
            FileWish::Move { target } => format!("move {} to {}", shown(&self.path), shown(target)),
            FileWish::List
            | FileWish::Stat
            | FileWish::Read { .. }
            | FileWish::Write { .. }
            | FileWish::Remove
            | FileWish::MakeFolder => {
                format!("{} {}", self.wish.word(), shown(&self.path))
            }
        }
    }

    fn content(&self) -> Content {
        match &self.wish {
            FileWish::Write { bytes, .. } => Content::Size { bytes: bytes.len() },
            FileWish::List
            | FileWish::Stat
            | FileWish::Read { .. }
            | FileWish::Move { .. }
            | FileWish::Remove
            | FileWish::MakeFolder => Content::Empty,
        }
    }

    fn passes_on(&self) -> bool {
        self.wish.access() > Access::Read
    }

    fn awaited(&self, _: &Caller, policy: &Policy) -> Label {
        let names = split(&self.path).unwrap_or_default();
        let mount = mount_in(policy, &names);
        // The names of mounts are nobody's but the operator's.
        match policy.mounts.contains_key(&mount) {
            true => Label::of(Policy::mount_source(&mount)),
            false => Label::default(),
        }
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<Places>, Denial> {
        let names = split(&self.path)?;
        if names.is_empty() && !has_root_mount(caller) {
            return self.judge_root(caller, policy);
        }
        let (place, rule) = self.judge_place(caller, policy, &self.path, names)?;
        let FileWish::Move { target } = &self.wish else {
            return Ok(Allowed {
                rule,
                terms: Places::One(place),
                consent: Consent::NotNeeded,
                weighed: Vec::new(),
            });
        };
        let (to, _) = self.judge_place(caller, policy, target, split(target)?)?;
        if place.mount != to.mount {
            let reason = format!(
                "`{}` and `{}` lie in two mounts; read and write instead",
                shown(&self.path),
                shown(target)
            );
            return Err(deny("two_mounts", reason));
        }
        Ok(Allowed {
            rule,
            terms: Places::Two(place, to),
            consent: Consent::NotNeeded,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        match &self.wish {
            FileWish::List | FileWish::Stat | FileWish::Read { .. } => Durability::Batched,
            FileWish::Write {
                mode: WriteMode::Append,
                ..
            }
            | FileWish::Move { .. }
            | FileWish::Remove => Durability::Synced,
            FileWish::MakeFolder
            | FileWish::Write {
                mode: WriteMode::Create | WriteMode::Replace | WriteMode::At(_),
                ..
            } => Durability::Committed,
        }
    }
}

impl File {
    /// No path of it is longer or deeper than may be: asked for before one is looked through.
    ///
    /// # Errors
    /// The denial.
    pub fn check_size(&self) -> Result<(), Denial> {
        check_length(&self.path)?;
        match &self.wish {
            FileWish::Move { target } => check_length(target),
            FileWish::List
            | FileWish::Stat
            | FileWish::Read { .. }
            | FileWish::Write { .. }
            | FileWish::Remove
            | FileWish::MakeFolder => Ok(()),
        }
    }

    fn judge_root(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<Places>, Denial> {
        let names: Vec<_> = caller
            .grant
            .mounts
            .iter()
            .map(|grant| grant.mount.clone())
            .collect();
        match self.wish {
            _ if names.is_empty() => Err(in_a_home(policy, &self.path)
                .unwrap_or_else(|| self.nothing_granted(caller, policy, "."))),
            FileWish::List | FileWish::Stat => Ok(Allowed {
                rule: "the names of granted mounts may be seen".to_owned(),
                terms: Places::Root(names),
                consent: Consent::NotNeeded,
                weighed: Vec::new(),
            }),
            FileWish::Read { .. }
            | FileWish::Write { .. }
            | FileWish::Move { .. }
            | FileWish::Remove
            | FileWish::MakeFolder => Err(deny("root", "the root above the mounts is no file")),
        }
    }

    fn judge_place(
        &self,
        caller: &Caller,
        policy: &Policy,
        path: &str,
        names: Vec<String>,
    ) -> Result<(Place, String), Denial> {
        let place = locate(caller, policy, names);
        let Some(grant) = caller
            .grant
            .mounts
            .iter()
            .find(|grant| grant.mount == place.mount)
        else {
            return Err(in_a_home(policy, &self.path)
                .unwrap_or_else(|| self.nothing_granted(caller, policy, &place.mount)));
        };
        if grant.access < self.wish.access() {
            let granted = grant.access;
            return Err(self.only_reading((caller, policy), path, &place.mount, granted));
        }
        check_inside(path, &place, self.wish.access())?;
        let mut notice = String::new();
        if self.wish.access() > Access::Read {
            check_kept(path, &place.names)?;
            check_plain(caller, path, &place.names)?;
            notice = check_looking(caller, policy)?;
        }
        let rule = format!(
            "mounts = {{ \"{}\" = \"{}\" }} in {}{notice}",
            place.mount,
            grant.access.word(),
            policy.origin
        );
        Ok((place, rule))
    }

    fn nothing_granted(&self, caller: &Caller, policy: &Policy, mount: &str) -> Denial {
        let wished = (self.path.as_str(), mount, self.wish.access());
        nothing_granted((&caller.origin, &caller.grant), policy, wished)
    }

    fn only_reading(
        &self,
        (caller, policy): (&Caller, &Policy),
        path: &str,
        mount: &str,
        granted: Access,
    ) -> Denial {
        let most = policy
            .mounts
            .get(mount)
            .map_or(Access::None, |mount| mount.access);
        let mut lines = Vec::new();
        let needed = self.wish.access();
        let names = split(path).unwrap_or_default();
        let mount = proposed(policy, mount, &names);
        if most < needed {
            lines.push(format!("[mounts.\"{mount}\"]"));
            let mut all = "";
            if !policy.has_mount(mount) {
                lines.push(format!("path = \"{mount}\""));
                all = all_of_it(mount);
            }
            lines.push(format!("access = \"{}\"{all}", needed.word()));
        }
        if let Origin::Tool(tool) = &caller.origin {
            lines.push(format!("[grants.\"{tool}\"]"));
            let word = needed.word();
            lines.push(format!("mounts = {{ \"{mount}\" = \"{word}\" }}"));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let reason = match granted {
            Access::Create => format!(
                "`{}` may be made anew and not changed: nobody has said so",
                shown(path)
            ),
            Access::None | Access::Read | Access::Write => {
                format!("`{}` may be read and not changed", shown(path))
            }
        };
        deny_unless("mount_read_only", reason, &lines)
    }
}

/// A mount that lies inside another one gives no more through that than by its own name. Where links lead there, the
/// files edge finds out.
fn check_inside(path: &str, place: &Place, needed: Access) -> Result<(), Denial> {
    let too_little =
        |inner: &&Inside| inner.access < needed && place.names.starts_with(&inner.names);
    match place.inside.iter().find(too_little) {
        None => Ok(()),
        Some(inner) => {
            let table = format!("[mounts.\"{}\"]", inner.mount);
            let access = format!("access = \"{}\"", needed.word());
            let reason = gives_no_more(path, inner);
            Err(deny_unless("mount_read_only", reason, &[&table, &access]))
        }
    }
}

/// What is said of a place that an inner mount gives less of.
#[must_use]
pub fn gives_no_more(path: &str, inner: &Inside) -> String {
    let most = match inner.access {
        Access::None => "may not be reached",
        Access::Read => "may be read and not changed",
        Access::Create => "may be made anew and not changed",
        Access::Write => "may be changed",
    };
    format!(
        "`{}` lies in the mount `{}` as well, and what lies there {most}",
        shown(path),
        shown(&inner.mount)
    )
}

/// That a path lies in no mount of whoever wished it, and the lines that would change that.
fn nothing_granted(
    (origin, grant): (&Origin, &Grant),
    policy: &Policy,
    (path, mount, access): (&str, &str, Access),
) -> Denial {
    let needed = access.word();
    let names = split(path).unwrap_or_default();
    let mount = proposed(policy, mount, &names);
    let mut lines = Vec::new();
    if !policy.has_mount(mount) {
        lines.push(format!("[mounts.\"{mount}\"]"));
        let all = all_of_it(mount);
        lines.push(format!("path = \"{mount}\"\naccess = \"{needed}\"{all}"));
    } else if policy
        .mounts
        .get(mount)
        .is_some_and(|mount| mount.access < access)
    {
        lines.push(format!("[mounts.\"{mount}\"]"));
        lines.push(format!("access = \"{needed}\""));
    }
    if let Origin::Tool(tool) = origin {
        lines.push(format!("[grants.\"{tool}\"]"));
        lines.push(format!("mounts = {{ \"{mount}\" = \"{needed}\" }}"));
    }
    let begins = begins(grant);
    // All of the folder is the last resort, for whoever is granted nothing.
    if mount == "." && !policy.has_mount(mount) && !begins.is_empty() {
        lines.clear();
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let reason = format!(
        "`{}` lies in no mount that is granted to `{origin}`{begins}{}",
        shown(path),
        meant(grant, &names)
    );
    deny_unless("mount_not_granted", reason, &lines)
}

/// What a mount of everything is, for whoever writes it.
fn all_of_it(mount: &str) -> &'static str {
    match mount {
        "." => "\n# this is all of the folder",
        _ => "",
    }
}

/// The path that may have been meant, by the names of what is granted alone: a guest learns of no other.
fn meant(grant: &Grant, names: &[String]) -> String {
    let granted = grant.mounts.iter().map(|grant| &*grant.mount);
    let granted: Vec<&str> = granted.filter(|mount| *mount != ".").collect();
    let Some((first, rest)) = names.split_first() else {
        return String::new();
    };
    let near = nearest(first, granted.iter().copied()).filter(|near| near != first);
    let path = match (near, granted.as_slice()) {
        (Some(near), _) => [&[near], &texts(rest)[..]].concat(),
        (None, [only]) if rest.is_empty() => vec![*only, first],
        (None, _) => return String::new(),
    };
    format!("; did you mean `{}`?", shown(&path.join("/")))
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The mount that a line is proposed for: no more than the folder that the path begins with, if it lies in one. Where
/// somebody has made a mount of everything, another one would take its folder away from all that may reach that.
fn proposed<'a>(policy: &Policy, mount: &'a str, names: &'a [String]) -> &'a str {
    match names {
        [first, _, ..] if mount == "." && !policy.has_mount(mount) => first,
        _ => mount,
    }
}

/// How paths begin that are granted, for whoever has left that out.
fn begins(grant: &Grant) -> String {
    let mounts = grant.mounts.iter();
    let mounts = mounts.filter(|grant| &*grant.mount != ".");
    let below: Vec<String> = mounts.map(|grant| format!("`{}/`", grant.mount)).collect();
    match below.is_empty() {
        true => String::new(),
        false => format!("; granted paths begin with {}", below.join(" or ")),
    }
}

/// Whoever changes these changes what others run, or what tools may do: no mount is for that.
fn check_kept(path: &str, names: &[String]) -> Result<(), Denial> {
    if names.iter().any(|name| is_beside(name)) {
        let what = format!(
            "`{}`: names that begin with `{BESIDE}` are lazaret's own",
            shown(path)
        );
        return Err(deny("kept", what));
    }
    match names.iter().any(|name| is_kept(name)) {
        true => Err(deny("kept", kept(path))),
        false => Ok(()),
    }
}

/// Whoever has leave for new files alone makes none that other programs look for by its name.
fn check_plain(caller: &Caller, path: &str, names: &[String]) -> Result<(), Denial> {
    let hidden = names.iter().any(|name| name.starts_with('.'));
    if !caller.grant.plain_names || !hidden {
        return Ok(());
    }
    let what = format!(
        "`{}`: this call may make new files in a workspace, and none whose name begins with a dot",
        shown(path)
    );
    Err(deny("flow_hidden", what))
}

/// How the name of a file begins that is written beside another one, whose place it takes.
pub const BESIDE: &str = ".lazaret-";

/// Whether something of this name was left by whoever was killed before it took that place: nobody knows whose it is.
#[must_use]
pub fn is_beside(name: &str) -> bool {
    let start = name.get(..BESIDE.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(BESIDE))
}

/// The folder of a project in which lazaret keeps what it has done there.
pub const OWN: &str = ".lazaret";

/// Whether a folder of this name is lazaret's own: no tool sees into it, whichever project's it is.
#[must_use]
pub fn is_own(name: &str) -> bool {
    name.eq_ignore_ascii_case(OWN)
}

/// What is said of what lies in one.
#[must_use]
pub fn own(path: &str) -> String {
    format!(
        "`{}` lies in lazaret's own folder, which is no tool's",
        shown(path)
    )
}

/// What no tool changes, and the names by which it is known: also where a link leads there.
pub const KEPT: [&str; 2] = [".git", "lazaret.toml"];

/// Whether something of this name is changed by no tool.
#[must_use]
pub fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept))
}

/// Whether Git takes a folder for a repository that has these entries, whatever its name is: it would run what the
/// folder's `config` and `hooks` say, for whoever calls it in there.
#[must_use]
pub fn is_repository(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// What is said of that.
#[must_use]
pub fn repository(path: &str) -> String {
    format!(
        "`{}` lies in what Git takes for a repository (`HEAD` beside `objects` and `refs`), or would make one: it may be read and is \
         changed by no tool, since what stands there decides what is run",
        shown(path)
    )
}

/// What is said of what is kept.
#[must_use]
pub fn kept(path: &str) -> String {
    format!(
        "`{}` may be read and is changed by no tool: what stands there decides what is run, or what tools may do",
        shown(path)
    )
}

/// Where a policy was read that stands in no file, and holds where a person is at home.
pub const AT_HOME: &str = "the built-in policy, which reads no whole home folder";

/// That nothing is read here on purpose: no line is proposed that would give a whole home away.
fn in_a_home(policy: &Policy, path: &str) -> Option<Denial> {
    let here = policy.origin == AT_HOME && policy.mounts.is_empty();
    here.then(|| {
        let what = format!(
            "`{}` lies in no mount: this folder is a home, or holds one, and is not read as a whole where nothing is \
             configured; go into the folder of a project, or write `[mounts]` for the one that is meant",
            shown(path)
        );
        deny("mount_not_granted", what)
    })
}

/// A tool that says that it only looks was not weighed when it was called; under somebody's influence it must
/// not do more, whichever line releases it: that frees a sink. The notice of what it does in shadow; empty where nothing
/// speaks against it.
pub(super) fn check_looking(caller: &Caller, policy: &Policy) -> Result<String, Denial> {
    let mode = caller.judging(&policy.flows);
    let judged = mode != Judging::Off && caller.known.bearing == Bearing::Looks;
    if judged && policy.flows.classes.is_tainted(&caller.label) {
        let reason = format!(
            "`{}` says of itself that it only looks, and has read what comes from {}",
            caller.origin,
            policy.flows.classes.suspects(&caller.label).join(", ")
        );
        let denial = deny("flow_only_looks", reason);
        return policy.flows.noticed((mode, None), denial);
    }
    Ok(String::new())
}

fn has_root_mount(caller: &Caller) -> bool {
    caller.grant.mounts.iter().any(|grant| &*grant.mount == ".")
}

/// The mount that a path leads to, where making a new file there needs nobody's word; nothing for what is no path. A
/// mount inside it that says nothing of the kind is none by this name either.
#[must_use]
pub fn workspace_of(policy: &Policy, path: &str) -> Option<Arc<str>> {
    let (name, mount, marked) = marked_mount(policy, path)?;
    (mount.workspace && marked).then_some(name)
}

/// The mount that a path leads to, where to say that it is a workspace would make it one for this path.
#[must_use]
pub fn no_workspace_yet(policy: &Policy, path: &str) -> Option<Arc<str>> {
    let (name, mount, marked) = marked_mount(policy, path)?;
    (!mount.workspace && marked).then_some(name)
}

/// The mount of a path, and whether no mount inside it speaks against new files there.
fn marked_mount<'a>(policy: &'a Policy, path: &str) -> Option<(Arc<str>, &'a Mount, bool)> {
    let names = split(path).ok()?;
    let name = mount_in(policy, &names);
    let below = names.get(usize::from(&*name != ".")..).unwrap_or_default();
    let mount = policy.mounts.get(&name)?;
    let mut inside = mount.inside.iter();
    let marked = inside.all(|inner| inner.workspace || !below.starts_with(&inner.names));
    Some((name, mount, marked))
}

/// Whether a path lies in a mount that a tool is granted, however far: where it does not, nothing can be done with it.
///
/// # Errors
/// The denial that the tool's own request would get.
pub(super) fn check_mount(
    (tool, grant): (&ToolName, &Grant),
    policy: &Policy,
    path: &str,
) -> Result<(), Denial> {
    let mount = mount_in(policy, &split(path)?);
    if reaches(grant, &mount) {
        return Ok(());
    }
    Err(nothing_granted(
        (&Origin::Tool(tool.clone()), grant),
        policy,
        (path, &mount, Access::Create),
    ))
}

/// The mount that a path leads to, of those of a grant; nothing for what is no path, and leads to none of them.
#[must_use]
pub fn granted_mount_of(grant: &Grant, policy: &Policy, path: &str) -> Option<Arc<str>> {
    let mount = mount_in(policy, &split(path).ok()?);
    reaches(grant, &mount).then_some(mount)
}

/// Whether a path leads above all mounts, where nothing lies but their names.
#[must_use]
pub fn is_above(policy: &Policy, path: &str) -> bool {
    split(path).is_ok_and(|names| names.is_empty()) && !policy.mounts.contains_key(".")
}

fn reaches(grant: &Grant, mount: &Arc<str>) -> bool {
    grant.mounts.iter().any(|granted| granted.mount == *mount)
}

/// The mount of a path, by policy alone, so that it is the same for everybody.
fn mount_in(policy: &Policy, names: &[String]) -> Arc<str> {
    let named = names
        .first()
        .and_then(|first| policy.mounts.get_key_value(first.as_str()));
    named.map_or_else(|| ".".into(), |(mount, _)| mount.clone())
}

fn locate(caller: &Caller, policy: &Policy, mut names: Vec<String>) -> Place {
    let mount = mount_in(policy, &names);
    if &*mount != "." {
        names.remove(0);
    }
    let known = policy.mounts.get(&mount);
    Place {
        room: known.map(|mount| mount.room).unwrap_or_default(),
        inside: known.map(|mount| mount.inside.clone()).unwrap_or_default(),
        run: caller.run.clone(),
        mount,
        names,
    }
}

/// Nothing of a path that is too long or too deep is said again: cut, it may hold half of what is a secret.
fn check_length(path: &str) -> Result<(), Denial> {
    if path.len() > PATH_BYTES {
        let what = format!("the path is too long: at most {PATH_BYTES} bytes may be");
        return Err(deny("path", what));
    }
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    let names = names.count();
    if names > PATH_NAMES {
        return Err(deny("path", too_deep(names)));
    }
    Ok(())
}

/// What is said of a path of so many names.
#[must_use]
pub fn too_deep(names: usize) -> String {
    format!("the path is too deep: it has {names} names, and at most {PATH_NAMES} may be")
}

/// Splits a path into names, and refuses every way to leave, hide or repeat.
fn split(path: &str) -> Result<Vec<String>, Denial> {
    let wrong = |why: &str| Err(deny("path", format!("the path `{}` {why}", shown(path))));
    check_length(path)?;
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return wrong("has control characters or backslashes");
    }
    if path.starts_with('/') {
        return wrong("is absolute; paths are relative to the mounts");
    }
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    if matches!(trimmed, "" | ".") {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for name in trimmed.split('/') {
        match name {
            ".." => return wrong("leads out of the mounts with `..`"),
            "" => return wrong("has an empty name in it"),
            "." if names.is_empty() => {}
            "." => return wrong("has a `.` in it"),
            _ if is_own(name) => {
                return wrong("lies in lazaret's own folder, which is no tool's");
            }
            _ if name.len() > PATH_NAME_BYTES => return wrong("has a name of more than 255 bytes"),
            _ => names.push(name.to_owned()),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
