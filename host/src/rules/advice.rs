//! Advice: lines that would let something pass, put together as one file would have them.
//!
//! A file has each table once, and each key of it. So what several points ask for stands in one table, what a table has
//! already is not written again, and no line that is proposed takes away what is granted.

use std::collections::BTreeMap;

use super::flow::kind::Kind;
use super::flow::lines::Flows;
use super::grant::{Access, Grant, MountGrant};
use super::policy::{BUILT_IN, Policy};
use super::secret::UNDECLARED;
use crate::words::event::{Denial, Verdict};
use crate::words::id::{ToolName, is_hidden, shown};

/// How a line begins that names the flag which does the same for one run.
const ONE_RUN: &str = "# or, for one run:";

/// By which rule something is denied to which a person has said no.
pub const ANSWERED: &str = "answered";

/// What helps where no line does.
const ELSEWHERE: &str = "the manifest of this tool declares no such secret, so no line gives it one: call a tool of a plugin \
                         whose manifest does (`lazaret plugin inspect NAME` shows what one declares)";

/// A text as it is written in TOML, on one line whatever it holds, and with all of it to be seen.
#[must_use]
pub fn quoted(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    // What JSON escapes, TOML escapes alike; the rest of what is hidden, JSON leaves as it is.
    let mut written = String::with_capacity(text.len());
    for c in serde_json::Value::from(text).to_string().chars() {
        match u32::from(c) {
            _ if !is_hidden(c) => written.push(c),
            code if code <= 0xFFFF => written.push_str(&format!("\\u{code:04X}")),
            code => written.push_str(&format!("\\U{code:08X}")),
        }
    }
    written
}

/// A value as it is written in TOML. As it comes, unless there is something hidden in it.
#[must_use]
pub fn written(value: &toml::Value) -> String {
    let plain = value.to_string();
    match value {
        _ if !plain.chars().any(is_hidden) => plain,
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        toml::Value::Table(table) => {
            let pairs = table.iter();
            let pairs = pairs.map(|(key, value)| format!("{} = {}", key_of(key), written(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => plain,
    }
}

/// The line by which the operator vouches for a value in calls of one tool, and the flag that does so for one run of a model:
/// who is asked about one tool says nothing for others.
#[must_use]
pub fn vouching(tool: &ToolName, value: &str, flag: Option<&str>) -> String {
    let line = format!("[flow.tools.\"{tool}\"]\nvouch = [{}]", quoted(value));
    match flag {
        Some(value) => format!("{line}\n{ONE_RUN} --vouch {value}"),
        None => line,
    }
}

/// What lets that which cannot be undone pass in one run, where no line does.
#[must_use]
pub fn one_run(flags: &str) -> String {
    format!("# no line lets pass what cannot be undone; a run does that begins with:{flags}")
}

/// The line by which a tool is told what only the user may read, wherever that goes.
#[must_use]
pub fn accepting(tool: &ToolName) -> String {
    format!("[flow.tools.\"{tool}\"]\naccepts = \"private\"")
}

/// The line by which an argument is content, as the tool's manifest proposes, which counts for nothing by itself.
#[must_use]
pub fn content(tool: &ToolName, place: &str) -> String {
    let place = quoted(place);
    format!("[flow.tools.\"{tool}\"]\ncontent = [{place}]\n# so its manifest proposes")
}

/// What ends all questions of a plugin that are asked for its own words alone, for whoever has written or read it.
#[must_use]
pub fn trusting(plugin: &str) -> String {
    format!(
        "# or, if you wrote `{plugin}` or have read what it says of its tools: [flow] trust = [\"{plugin}\"]"
    )
}

/// What is to be said of the arguments of a tool of which nobody has said anything, as a guess that counts for nothing.
#[must_use]
pub fn form(tool: &ToolName, steering: &BTreeMap<String, Kind>, content: &[String]) -> String {
    let steering = steering.iter();
    let steering = steering.map(|(place, kind)| format!("{} = \"{}\"", key_of(place), kind.word()));
    let steering: Vec<String> = steering.collect();
    let content: Vec<String> = content.iter().map(|place| quoted(place)).collect();
    let lines = [
        format!("[flow.tools.\"{tool}\"]"),
        "# say which arguments say whom, where or what, and which are only sent; by their names:"
            .to_owned(),
        format!("# steering = {{ {} }}", steering.join(", ")),
        format!("# content = [{}]", content.join(", ")),
    ];
    lines.join("\n")
}

/// What makes a list of a service vouch for its ids, in words.
#[must_use]
pub fn listing(tool: &ToolName, id: &str) -> String {
    format!(
        "# or, where each id that `{tool}` lists may be meant, of strangers' records too: [flow.tools.\"{tool}\".records] \
         vouches = {{ {} = \"id\" }}",
        key_of(id)
    )
}

/// The line by which new files in a mount need nobody's word.
#[must_use]
pub fn workspace(mount: &str) -> String {
    let mount = quoted(mount);
    format!(
        "[mounts.{mount}]\n{WORKSPACE}\n# or this alone: new files in that folder then need nobody's word"
    )
}

/// The mount of such a line.
#[must_use]
pub fn workspace_in(line: &str) -> Option<&str> {
    let (head, rest) = line.split_once('\n')?;
    let (table, mount) = named(head)?;
    (table == "mounts" && rest.starts_with(WORKSPACE)).then_some(mount)
}

/// What makes a mount a workspace.
const WORKSPACE: &str = "workspace = true";

/// Why nobody is vouched for by a value, and what is meant perhaps: a folder, or all that is in one, is no value of any
/// argument.
#[must_use]
pub fn vouches_for_nothing(value: &str) -> Option<(String, String)> {
    let (folder, last) = value.rsplit_once('/')?;
    let is_many = last.contains('*') && !last.contains(char::is_whitespace);
    if value.contains("://") || !(last.is_empty() || is_many) {
        return None;
    }
    let what = format!(
        "`{}` is no single value, and a folder is not vouched for",
        shown(value)
    );
    let mount = folder.split('/').next().unwrap_or(folder);
    let fix = format!(
        "for new files in a folder, write `{WORKSPACE}` in the table of its mount, such as [mounts.{}]",
        quoted(mount)
    );
    Some((what, fix))
}

/// What is offered to whoever reads of a denial: nothing to a person who has just said no.
#[must_use]
pub fn offered(denial: &Denial) -> &[String] {
    match denial.rule.as_str() {
        ANSWERED => &[],
        _ => &denial.allow,
    }
}

/// The lines of several points, each table once.
#[must_use]
pub fn merged(lines: &[String]) -> String {
    let blocks = blocks(&[lines]);
    let said: Vec<String> = blocks.iter().map(Block::said).collect();
    said.join("\n")
}

impl Policy {
    /// Lines that would allow something, for whoever writes them: a table that is there already is not written again,
    /// since a file has each once, and what it grants stays granted.
    #[must_use]
    pub fn advice(&self, lines: &[String]) -> String {
        self.advice_of(&[lines])
    }

    /// The same of several points that are told together, each with lines of its own.
    fn advice_of(&self, points: &[&[String]]) -> String {
        let blocks = blocks(points);
        let said = blocks
            .iter()
            .map(|block| match self.has_table(&block.head) {
                true => self.beside(block),
                false => block.said(),
            });
        said.collect::<Vec<_>>().join("\n")
    }

    /// What whoever may write policy is told of a denial: the lines that would allow it, or that none would, since the
    /// folder is not there. Who was denied is told neither: they would learn which folders there are.
    #[must_use]
    pub fn hint(&self, denial: &Denial) -> Option<String> {
        let instead = || self.to_allow(&[offered(denial)]);
        self.without_lines(denial).or_else(instead)
    }

    /// The same of several decisions that are told together, each thing once: what is pasted has each table once.
    #[must_use]
    pub fn hints<'a>(&self, verdicts: impl IntoIterator<Item = &'a Verdict>) -> Vec<String> {
        let (mut said, mut points): (Vec<String>, Vec<&[String]>) = (Vec::new(), Vec::new());
        for verdict in verdicts {
            match verdict {
                Verdict::Allow { .. } => {}
                Verdict::Ask(question) => points.push(&question.lines),
                Verdict::Deny(denial) => match self.without_lines(denial) {
                    Some(text) if said.contains(&text) => {}
                    Some(text) => said.push(text),
                    None => points.push(offered(denial)),
                },
            }
        }
        said.extend(self.to_allow(&points));
        said
    }

    /// What is said of a denial where no line helps, and something else may.
    fn without_lines(&self, denial: &Denial) -> Option<String> {
        if denial.rule == UNDECLARED {
            return Some(ELSEWHERE.to_owned());
        }
        let folder = self.missing(offered(denial))?;
        Some(format!("there is no folder `{}` here", shown(folder)))
    }

    fn to_allow(&self, points: &[&[String]]) -> Option<String> {
        let lines = self.advice_of(points);
        (!lines.is_empty()).then(|| format!("to allow it, write in `lazaret.toml`:\n{lines}"))
    }

    /// The folder that a mount is proposed for, if it is not there: that mount could not be opened.
    fn missing<'a>(&self, lines: &'a [String]) -> Option<&'a str> {
        let folders = self.folders.as_ref()?;
        let mut heads = lines.iter().filter_map(|line| named(line));
        let (_, folder) = heads.find(|(table, _)| *table == "mounts")?;
        let is_there = folder == "." || self.has_mount(folder) || folders.contains(folder);
        (!is_there).then_some(folder)
    }

    /// Whether this is the head of a table that some file has. What holds without any file stands in none.
    #[must_use]
    pub fn has_table(&self, head: &str) -> bool {
        let has = match named(head) {
            Some(("mounts", name)) => self.mounts.contains_key(name),
            Some(("grants", name)) => self.lines.iter().any(|line| line.tools.to_string() == name),
            Some(("flow.tools", name)) => ToolName::parse(name).is_ok_and(|name| {
                self.flows.about(&name).is_some() && !self.flows.written.served.contains(&name)
            }),
            Some(_) => false,
            None => head == "[flow]" && self.flows.written.itself,
        };
        self.origin != BUILT_IN && has
    }

    /// What is added to a table that is there: to its lists, or in the place of a line.
    fn beside(&self, block: &Block) -> String {
        let head = &block.head;
        let mut said = Vec::new();
        let mut changed = Vec::new();
        for (key, value) in &block.keys {
            match items(value).filter(|_| self.has_list(head, key)) {
                Some(items) => said.push(format!(
                    "in {head}, which is there already, add to `{key}`:\n{items}"
                )),
                None => changed.push(format!("{key} = {}", self.with_known(head, key, value))),
            }
        }
        if !changed.is_empty() || said.is_empty() {
            changed.insert(
                0,
                format!("in {head}, which is there already, add or change:"),
            );
        }
        changed.extend(said);
        changed.extend(block.notes.iter().cloned());
        changed.join("\n")
    }

    /// Whether a table has such a list, to which something can be added. How each of them is written, policy does not
    /// know any more.
    fn has_list(&self, head: &str, key: &str) -> bool {
        let mut grants = self.grants(head);
        match (named(head), key) {
            (None, "vouch") => !self.flows.named.vouched.is_empty(),
            (Some(("flow.tools", name)), "content") => {
                tool(&self.flows, name).is_some_and(|said| !said.content.is_empty())
            }
            (Some(("flow.tools", name)), "vouch") => {
                tool(&self.flows, name).is_some_and(|said| !said.vouch.is_empty())
            }
            (Some(_), "fetch") => grants.any(|grant| !grant.fetch.is_empty()),
            (Some(_), "calls") => grants.any(|grant| !grant.calls.is_empty()),
            (Some(_), "secrets") => grants.any(|grant| !grant.secrets.is_empty()),
            (Some(_) | None, _) => false,
        }
    }

    /// The value of a line with what stands there already: the mounts that are granted.
    fn with_known(&self, head: &str, key: &str, value: &str) -> String {
        let known = self.grants(head).flat_map(|grant| &grant.mounts);
        let known: Vec<&MountGrant> = known.collect();
        if key != "mounts" || known.is_empty() {
            return value.to_owned();
        }
        let Some(wished) = accesses(value) else {
            return value.to_owned();
        };
        let known = known.iter().map(|one| (one.mount.to_string(), one.access));
        furthest(known.chain(wished))
    }

    /// What the table of this head grants, in whichever files it is.
    fn grants<'a>(&'a self, head: &'a str) -> impl Iterator<Item = &'a Grant> {
        let name = named(head).filter(|(table, _)| *table == "grants");
        let lines = self.lines.iter();
        let lines =
            lines.filter(move |line| name.is_some_and(|(_, name)| line.tools.to_string() == name));
        lines.map(|line| &line.grant)
    }
}

/// The lines of one table.
#[derive(Debug, Default)]
struct Block {
    /// `[flow]`; empty for what stands before all tables.
    head: String,
    /// Its keys and values, as they are written.
    keys: Vec<(String, String)>,
    /// What is no key.
    notes: Vec<String>,
}

impl Block {
    fn add(&mut self, line: &str) {
        if let Some(flags) = line.strip_prefix(ONE_RUN) {
            let mut notes = self.notes.iter_mut();
            match notes.find(|note| note.starts_with(ONE_RUN)) {
                Some(note) if format!("{note} ").contains(&format!("{flags} ")) => {}
                Some(note) => note.push_str(flags),
                None => self.notes.push(line.to_owned()),
            }
            return;
        }
        let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) else {
            if !self.notes.iter().any(|note| note == line) {
                self.notes.push(line.to_owned());
            }
            return;
        };
        let known = self.keys.iter_mut().find(|(known, _)| known == key);
        match known {
            Some((_, known)) => match together(key, known, value) {
                Some(both) => *known = both,
                None => self.keys.push((key.to_owned(), value.to_owned())),
            },
            None => self.keys.push((key.to_owned(), value.to_owned())),
        }
    }

    fn said(&self) -> String {
        let keys = self.keys.iter();
        let head = Some(self.head.clone()).filter(|head| !head.is_empty());
        let lines = head.into_iter();
        let lines = lines.chain(keys.map(|(key, value)| format!("{key} = {value}")));
        let lines: Vec<String> = lines.chain(self.notes.iter().cloned()).collect();
        lines.join("\n")
    }
}

/// Each table once, in order; what stands in none comes first, or it would stand in the one before it.
fn blocks(points: &[&[String]]) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    for lines in points {
        add(&mut blocks, lines);
    }
    blocks.retain(|block| !block.said().is_empty());
    blocks
}

/// The lines of one point. A head by itself is that of the lines behind it; one with lines of its own is whole.
fn add(blocks: &mut Vec<Block>, lines: &[String]) {
    let mut open = String::new();
    for item in lines {
        let mut rest = item.lines().peekable();
        let head = match rest.next_if(|line| line.starts_with('[')) {
            Some(head) => head.to_owned(),
            None => open.clone(),
        };
        if item.starts_with('[') {
            open = match rest.peek() {
                Some(_) => String::new(),
                None => head.clone(),
            };
        }
        let at = blocks.iter().position(|block| block.head == head);
        let at = at.unwrap_or_else(|| {
            blocks.push(Block {
                head,
                ..Block::default()
            });
            blocks.len().saturating_sub(1)
        });
        if let Some(block) = blocks.get_mut(at) {
            rest.for_each(|line| block.add(line));
        }
    }
}

/// What stands in a list, as it is written.
fn items(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.trim())
}

/// Two values of one key: the same one, what goes further of two accesses, or the items of two lists.
fn together(key: &str, one: &str, other: &str) -> Option<String> {
    if one == other {
        return Some(one.to_owned());
    }
    if key == "mounts"
        && let (Some(mounts), Some(more)) = (accesses(one), accesses(other))
    {
        return Some(furthest(mounts.into_iter().chain(more)));
    }
    if let (Some(access), Some(more)) = (access(one), access(other)) {
        let further = if more > access { other } else { one };
        return Some(further.to_owned());
    }
    let (items, more) = (items(one)?, items(other)?);
    let is_there = format!(", {items}, ").contains(&format!(", {more}, "));
    Some(match is_there {
        true => one.to_owned(),
        false => format!("[{items}, {more}]"),
    })
}

/// The table and the name of a head such as `[grants."files.read"]`.
fn named(head: &str) -> Option<(&str, &str)> {
    let (table, name) = head
        .strip_prefix('[')?
        .strip_suffix("\"]")?
        .split_once(".\"")?;
    Some((table, name))
}

fn tool<'a>(flows: &'a Flows, name: &str) -> Option<&'a super::flow::lines::ToolFlow> {
    flows.about(&ToolName::parse(name).ok()?)
}

/// The access that a value says, as it is written.
fn access(value: &str) -> Option<Access> {
    let word = value.strip_prefix('"')?.strip_suffix('"')?;
    let all = [Access::None, Access::Read, Access::Create, Access::Write];
    all.into_iter().find(|access| access.word() == word)
}

/// Mounts as they are written, each once and as far as anything says.
fn furthest(all: impl Iterator<Item = (String, Access)>) -> String {
    let mut mounts: Vec<(String, Access)> = Vec::new();
    for (name, access) in all {
        match mounts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = access.max(*known),
            None => mounts.push((name, access)),
        }
    }
    let pairs = mounts.iter();
    let pairs = pairs.map(|(name, access)| format!("{} = \"{}\"", key_of(name), access.word()));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

/// The mounts of a line, as it is written.
fn accesses(value: &str) -> Option<BTreeMap<String, Access>> {
    let mut table: BTreeMap<String, BTreeMap<String, Access>> =
        toml::from_str(&format!("mounts = {value}")).ok()?;
    table.remove("mounts")
}

/// A key as it is written in TOML.
#[must_use]
pub fn key_of(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::lines::ToolFlow;
    use crate::rules::grant::{Destination, Pattern};
    use crate::rules::policy::Line;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    fn vouching(value: &str, flag: Option<&str>) -> String {
        super::vouching(&ToolName::parse("mail.send").unwrap(), value, flag)
    }

    #[test]
    fn points_of_one_question_stand_in_one_table() {
        let points = lines(&[
            &vouching("m1", Some("m1")),
            &vouching("a, b", Some("'a, b'")),
            "[flow.tools.\"mail.send\"]\naccepts = \"private\"",
            &vouching("m1", Some("m1")),
            "[flow.tools.\"cal.add\"]\nvouch = [\"m1\"]",
            "confirmed = [\"mail.drop\"]",
            "# leave out: ask = [\"mail.*\"]",
        ]);
        assert_eq!(
            merged(&points),
            "confirmed = [\"mail.drop\"]\n# leave out: ask = [\"mail.*\"]\n[flow.tools.\"mail.send\"]\n\
             vouch = [\"m1\", \"a, b\"]\naccepts = \"private\"\n# or, for one run: --vouch m1 --vouch 'a, b'\n\
             [flow.tools.\"cal.add\"]\nvouch = [\"m1\"]"
        );
        let denied = lines(&[
            "[mounts.\"a\"]",
            "path = \"a\"\naccess = \"read\"",
            "[grants.\"t.x\"]",
        ]);
        assert_eq!(merged(&denied), denied.join("\n"));
    }

    /// What is written over a line is gone.
    #[test]
    fn what_is_granted_stays_granted() {
        let grant = Grant {
            fetch: vec![Destination::parse("https://docs.rs/", &["GET"], false).unwrap()],
            mounts: vec![MountGrant {
                mount: "out".into(),
                access: Access::Write,
            }],
            ..Grant::default()
        };
        let tools = Pattern::try_from("web.x".to_owned()).unwrap();
        let mut policy = Policy {
            lines: vec![Line { tools, grant }],
            ..Policy::nothing("lazaret.toml")
        };
        let there = "in [grants.\"web.x\"], which is there already, add";
        for (line, said) in [
            (
                "mounts = { \".\" = \"create\" }",
                " or change:\nmounts = { out = \"write\", \".\" = \"create\" }",
            ),
            (
                "mounts = { \"out\" = \"read\" }",
                " or change:\nmounts = { out = \"write\" }",
            ),
            (
                "fetch = [\"https://a.test/\"]",
                " to `fetch`:\n\"https://a.test/\"",
            ),
            (
                "calls = [\"text.count\"]",
                " or change:\ncalls = [\"text.count\"]",
            ),
            ("notes = \"read\"", " or change:\nnotes = \"read\""),
        ] {
            let wished = lines(&["[grants.\"web.x\"]", line]);
            assert_eq!(policy.advice(&wished), format!("{there}{said}"));
        }
        let vouch = lines(&[&vouching("m1", Some("m1")), &vouching("m2", None)]);
        let values = "vouch = [\"m1\", \"m2\"]\n# or, for one run: --vouch m1";
        let head = "[flow.tools.\"mail.send\"]";
        assert_eq!(policy.advice(&vouch), format!("{head}\n{values}"));
        let tool = ToolName::parse("mail.send").unwrap();
        policy.flows.tools.insert(tool.clone(), ToolFlow::default());
        let there = format!("in {head}, which is there already, add");
        assert_eq!(
            policy.advice(&vouch),
            format!("{there} or change:\n{values}")
        );
        let said = ToolFlow {
            vouch: vec!["m0".to_owned()],
            ..ToolFlow::default()
        };
        policy.flows.tools.insert(tool, said);
        let values = values.replace("vouch = [", "").replace(']', "");
        assert_eq!(
            policy.advice(&vouch),
            format!("{there} to `vouch`:\n{values}")
        );
        BUILT_IN.clone_into(&mut policy.origin);
        assert!(policy.advice(&vouch).starts_with(head));
    }

    /// What several decisions ask for is one file: each table once, each key of it, and as far as any of them needs.
    #[test]
    fn what_is_told_together_is_pasted_as_it_stands() {
        let denied = |allow: &[&str]| {
            Verdict::Deny(Denial {
                rule: "mount_not_granted".to_owned(),
                reason: String::new(),
                allow: lines(allow),
            })
        };
        let head = "[grants.\"t.x\"]";
        let verdicts = [
            denied(&[head]),
            denied(&["[mounts.\"a\"]", "path = \"a\"\naccess = \"create\""]),
            denied(&[head, "mounts = { \"a\" = \"create\" }"]),
            denied(&["[mounts.\"a\"]", "path = \"a\"\naccess = \"write\""]),
            denied(&[head, "mounts = { \"a\" = \"write\" }"]),
            denied(&[head, "mounts = { \"b\" = \"read\" }"]),
            denied(&["# leave out: ask = [\"t.x\"]"]),
        ];
        let mut policy = Policy::nothing("lazaret.toml");
        let said = policy.hints(&verdicts);
        let pasted = "# leave out: ask = [\"t.x\"]\n[grants.\"t.x\"]\nmounts = { a = \"write\", b = \"read\" }\n\
                      [mounts.\"a\"]\npath = \"a\"\naccess = \"write\"";
        let whole = format!("to allow it, write in `lazaret.toml`:\n{pasted}");
        assert_eq!(said, [whole]);
        toml::from_str::<toml::Table>(pasted).unwrap();
        // What no line helps is said once, beside the lines.
        policy.folders = Some([].into());
        let said = policy.hints(&verdicts);
        assert_eq!(said.first().unwrap(), "there is no folder `a` here");
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(policy.hints(&[]), [""; 0]);
    }

    #[test]
    fn a_folder_is_no_value() {
        for (value, is_one) in [
            ("out/", true),
            ("out/*", true),
            ("out/b/**", true),
            ("out/a.md", false),
            ("https://a.test/", false),
            ("milk / eggs * 2", false),
            ("*", false),
            ("a@b.test", false),
        ] {
            assert_eq!(vouches_for_nothing(value).is_some(), is_one, "{value}");
        }
        assert_eq!(workspace_in(&workspace("out")), Some("out"));
        assert_eq!(workspace_in(&vouching("out/a.md", None)), None);
    }

    /// A mount of what is not there could not be opened, whatever else is called.
    #[test]
    fn no_mount_is_proposed_for_what_is_not_there() {
        let mut policy = Policy::nothing("lazaret.toml");
        let allow = |mount: &str| Denial {
            rule: "mount_not_granted".to_owned(),
            reason: String::new(),
            allow: lines(&[
                &format!("[mounts.\"{mount}\"]"),
                &format!("path = \"{mount}\""),
            ]),
        };
        let begins = |policy: &Policy, mount: &str| {
            let hint = policy.hint(&allow(mount)).unwrap();
            hint.split(':').next().unwrap().to_owned()
        };
        let write = "to allow it, write in `lazaret.toml`";
        assert_eq!(begins(&policy, "dcos"), write);
        policy.folders = Some(["docs".to_owned()].into());
        assert_eq!(begins(&policy, "dcos"), "there is no folder `dcos` here");
        assert_eq!(begins(&policy, "docs"), write);
        assert_eq!(begins(&policy, "."), write);
        let no = Denial {
            rule: ANSWERED.to_owned(),
            ..allow("docs")
        };
        assert_eq!(policy.hint(&no), None);
    }

    #[test]
    fn a_value_stays_on_its_line() {
        let spoof = "out/a\u{202e}gpj.exe";
        assert_eq!(quoted(spoof), "\"out/a\\u202Egpj.exe\"");
        for text in [
            "a\nb",
            "a\r\n\u{7f}\"\\",
            "x",
            "'\"",
            spoof,
            "\u{e0041}\u{85}",
        ] {
            let written = quoted(text);
            assert!(!written.contains(is_hidden), "{written}");
            let table: toml::Table = toml::from_str(&format!("a = {written}")).unwrap();
            assert_eq!(table["a"].as_str(), Some(text));
        }
        let all: toml::Table = toml::from_str(
            "a = [\"x\\u202ey\", 7]\nb = { \"\\u202e\" = '''\n1\n\n2''' }\nc = [\"d\"]",
        )
        .unwrap();
        let lines = all.iter();
        let lines = lines.map(|(key, value)| format!("{key} = {}", written(value)));
        let lines: Vec<String> = lines.collect();
        assert!(
            lines.iter().all(|line| !line.contains(is_hidden)),
            "{lines:?}"
        );
        assert_eq!(
            toml::from_str::<toml::Table>(&lines.join("\n")).unwrap(),
            all
        );
    }
}
