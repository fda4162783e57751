//! Suggesting: lines for `[flow]`, read off runs that were only watched, or that asked a lot.
//!
//! What is proposed is for a person to read. A field vouches only if the very value stood in an outcome that
//! nobody untrusted had a hand in. A value is written as a comment where anybody untrusted had influence on the
//! wish, wherever it stood, and also where it names somebody outside: that line only a person takes out of its
//! comment. So is what is guessed of arguments, where anybody untrusted had influence on the wish, or wrote the tool.
//! What cannot be undone gets no line at all.

mod guess;
mod inner;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

pub(super) use self::guess::Guess;
use super::handles::has_handle;
use super::kind::Kind;
use super::leaves::{Leaf, leaves, lies_at};
use super::lines::{Flows, ToolFlow};
use super::records::are_known;
use super::shape::{Said, has_place, said_in, said_of};
use super::trace::{Origin, Trace, as_field};
use crate::rules::advice::{form, merged, quoted, vouching, workspace_in};
use crate::rules::manifest::{Declared, EffectClass};
use crate::words::error::Code;
use crate::words::event::{Answer, Content, EffectKind, End, Event, Judged, Record, Verdict};
use crate::words::id::{QuestionId, Seq, ToolName, is_hidden, shown};
use crate::words::inert::one_line;

/// What a tool declares, by its name.
type About = Option<Arc<Declared>>;

/// Lines that are proposed, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggestion {
    /// What is said of tools.
    tools: BTreeMap<ToolName, Proposed>,
    /// Values that only a person can answer for, by the tool that was called with them, and where they were used.
    vouch: BTreeMap<ToolName, BTreeMap<String, Used>>,
    /// Lines that would have ended questions, as these said, and which questions: only a person who knows what was asked
    /// takes one out of its comment.
    asked: BTreeMap<String, BTreeSet<String>>,
    /// Lines that would have let pass what guests wished in the middle of their calls, and what that was: all of them
    /// comments.
    denied: BTreeMap<String, BTreeSet<String>>,
    /// Mounts in which one run wanted to make several files, each asked about: how many.
    workspaces: BTreeMap<String, usize>,
    /// What nothing is proposed for, and why.
    left: BTreeSet<String>,
    /// Services of which a tool writes, and nothing says which record: once one of their records vouches, each may be what
    /// a stranger has written.
    unnamed: BTreeSet<String>,
}

/// What is said of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
struct Proposed {
    /// All of it, what holds already too.
    said: ToolFlow,
    /// Where what is new of it came from.
    why: BTreeSet<String>,
    /// The arguments of which it is only guessed what they are.
    guessed: BTreeSet<String>,
    /// Whether what is said of arguments is a comment, until somebody who knows them makes it lines of theirs.
    doubtful: bool,
}

impl Proposed {
    /// What holds already.
    fn of(said: ToolFlow) -> Self {
        Self {
            said,
            ..Self::default()
        }
    }

    /// What of it is no comment.
    fn active(&self) -> ToolFlow {
        let mut said = self.said.clone();
        if self.doubtful {
            said.steering.clear();
            said.content.clear();
        }
        said
    }

    /// Its table; what is said of arguments as a question offers it, where that is a comment.
    fn lines(&self, tool: &ToolName) -> String {
        let active = self.active();
        let lines = match active.is_nothing() {
            true => String::new(),
            false => table(tool, &active),
        };
        if !self.doubtful {
            return lines;
        }
        let head = format!("{}\n", head_of(tool));
        let rest = lines.strip_prefix(&head).unwrap_or(&lines);
        let form = form(tool, &self.said.steering, &self.said.content);
        format!("{form}\n{rest}")
    }
}

/// Where a value was used that nobody was a witness of.
#[derive(Clone, Debug, Default, PartialEq)]
struct Used {
    /// In words: the calls, where it had stood before, and who had influence.
    why: BTreeSet<String>,
    /// Whether the line is a comment, until somebody who knows the value makes it one of theirs.
    doubtful: bool,
}

/// Reads proposals off runs; `unnamed` are services of which a tool writes and does not say which record.
pub fn suggest(
    runs: &[Vec<Record>],
    flows: &Flows,
    about: impl Fn(&ToolName) -> About,
    unnamed: BTreeSet<String>,
) -> Suggestion {
    let mut suggestion = Suggestion {
        unnamed,
        ..Suggestion::default()
    };
    for records in runs {
        let mut trace = Trace::default();
        let (refused, allowed) = (refused(records), allowed(records));
        let mut made: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in records {
            if let Event::Judged(judged) = &record.event
                && judged.effect == EffectKind::Call
                && let Ok(tool) = ToolName::parse(&judged.subject)
            {
                let call = Wish {
                    seq: record.seq,
                    tool,
                    judged,
                    refused: refused.contains(&record.seq),
                };
                if suggestion.add(&call, (flows, &about), &trace) {
                    suggestion.ask(&call, &allowed, &mut made);
                }
            } else if let Event::Judged(judged) = &record.event {
                suggestion.add_inner((record.seq, judged), flows);
            }
            trace.see(record);
        }
        let several = made.into_iter().filter(|(_, calls)| calls.len() > 1);
        for (mount, calls) in several {
            let most = suggestion.workspaces.entry(mount).or_default();
            *most = calls.len().max(*most);
        }
    }
    suggestion
        .tools
        .retain(|_, proposed| !proposed.why.is_empty());
    // What is proposed for whoever vouches is not proposed again.
    let vouched = suggestion.values(|_| true);
    let vouched = vouched.map(|(tool, value)| vouching(tool, value, None));
    let vouched: Vec<String> = vouched.collect();
    let is_new = |line: &String| !vouched.iter().any(|known| line.starts_with(known));
    suggestion.asked.retain(|line, _| is_new(line));
    suggestion
}

/// Questions that a person has answered with yes.
fn allowed(records: &[Record]) -> BTreeSet<&QuestionId> {
    let mut yes = BTreeSet::new();
    for record in records {
        if let Event::Answered {
            question, answer, ..
        } = &record.event
            && *answer != Answer::Deny
        {
            yes.insert(question);
        }
    }
    yes
}

/// A call on record.
struct Wish<'a> {
    seq: u64,
    tool: ToolName,
    judged: &'a Judged,
    /// Whether a person or another line has said no, which no line of ours is to undo.
    refused: bool,
}

/// The calls of a run that were refused: by a person, by any line but that nobody was there to be asked, or in their
/// middle.
fn refused(records: &[Record]) -> BTreeSet<Seq> {
    let mut said_no: BTreeSet<&QuestionId> = BTreeSet::new();
    let mut refused = BTreeSet::new();
    // From the end: an answer stands behind its question.
    for record in records.iter().rev() {
        if let Event::Answered {
            question, answer, ..
        } = &record.event
            && *answer == Answer::Deny
        {
            said_no.insert(question);
        }
        if let Event::Finished(finished) = &record.event
            && let End::Failed { code, .. } = &finished.end
            && *code == Code::Denied
        {
            refused.insert(finished.of);
        }
        if let Event::Judged(judged) = &record.event {
            let is_refused = match &judged.verdict {
                Verdict::Ask(question) => said_no.contains(&question.id),
                Verdict::Deny(denial) => !NOBODY.contains(&denial.rule.as_str()),
                Verdict::Allow { .. } => false,
            };
            if is_refused {
                refused.insert(record.seq);
            }
        }
    }
    refused
}

/// Rules of a no that says nothing of the wish: nobody has answered.
const NOBODY: [&str; 3] = ["unattended", "expired", "ask"];

impl Suggestion {
    /// What was asked about a call, what became of that, and what would have ended the question.
    fn ask(
        &mut self,
        call: &Wish<'_>,
        allowed: &BTreeSet<&QuestionId>,
        made: &mut BTreeMap<String, BTreeSet<String>>,
    ) {
        let (lines, what) = match &call.judged.verdict {
            Verdict::Allow { .. } => return,
            Verdict::Ask(question) if allowed.contains(&question.id) => {
                (&question.lines, "and allowed")
            }
            Verdict::Ask(question) => (&question.lines, "and nobody has answered"),
            Verdict::Deny(denial) => (&denial.allow, "and nobody was there to answer"),
        };
        if lines.is_empty() {
            let what = format!(
                "the question about `{}` in record {}, because no line ends it",
                call.tool, call.seq
            );
            self.left.insert(what);
        }
        for line in lines {
            if let Some(mount) = workspace_in(line) {
                let calls = made.entry(mount.to_owned()).or_default();
                calls.insert(lines.concat());
                continue;
            }
            let used = format!(
                "record {}: `{}` was asked about, {what}",
                call.seq, call.tool
            );
            self.asked.entry(line.clone()).or_default().insert(used);
        }
    }

    /// Whether it is a call that lines are proposed for.
    fn add(
        &mut self,
        call: &Wish<'_>,
        (flows, about): (&Flows, &impl Fn(&ToolName) -> About),
        trace: &Trace<'_>,
    ) -> bool {
        let Some(declared) = about(&call.tool) else {
            if !call.judged.weighed.is_empty() {
                self.left
                    .insert(format!("`{}`, because it is no tool here", call.tool));
            }
            return false;
        };
        if !declared.is_sink() {
            return false;
        }
        if call.refused {
            let what = format!(
                "the call of `{}` in record {}, because it was refused",
                call.tool, call.seq
            );
            self.left.insert(what);
            return false;
        }
        if declared.effect == EffectClass::Destructive {
            let what = format!(
                "`{}`, because it takes something away for good: it is asked about",
                call.tool
            );
            self.left.insert(what);
            return false;
        }
        let Content::Inline(args) = &call.judged.content else {
            let what = format!(
                "the call of `{}` in record {}, because its arguments were not kept",
                call.tool, call.seq
            );
            self.left.insert(what);
            return true;
        };
        if has_handle(args) {
            let what = format!(
                "the call of `{}` in record {}, because it was given handles",
                call.tool, call.seq
            );
            self.left.insert(what);
            return true;
        }
        for leaf in leaves(args, &declared.input) {
            let place = place_of(&leaf.path);
            if !has_place(&declared.input, &place) {
                continue;
            }
            let Some(kind) = self.shape((call, flows), &declared, &place, &leaf.text) else {
                continue;
            };
            let unwitnessed = call.judged.weighed.iter();
            let mut unwitnessed = unwitnessed.filter(|value| value.witness.is_empty());
            if unwitnessed.any(|value| value.argument == leaf.path) {
                self.witness(call, flows, (&leaf, kind), &trace.of(kind, &leaf.text));
            }
        }
        true
    }

    /// What an argument is: the kind of a value that steers, or nothing for content. Said where nobody has.
    fn shape(
        &mut self,
        (call, flows): (&Wish<'_>, &Flows),
        declared: &Declared,
        place: &str,
        text: &str,
    ) -> Option<Kind> {
        let known = || Proposed::of(super::holds(flows, &call.tool, declared));
        let entry = self.tools.entry(call.tool.clone());
        let proposed = entry.or_insert_with(known);
        // Whoever had influence has chosen the value, and whoever wrote the tool has chosen the name of the argument.
        let tainted = flows.classes.is_tainted(&call.judged.label);
        let doubtful = tainted || !super::is_trusted(flows, &call.tool, declared);
        let mut guessed = proposed.guessed.iter();
        proposed.doubtful |= doubtful && guessed.any(|known| lies_at(place, known));
        match said_in(place, &proposed.said) {
            Said::Steers(kind) => return Some(kind),
            Said::Content => return None,
            Said::Nothing => {}
        }
        let (kind, source) = match said_of(place, None, declared) {
            Said::Steers(kind) => (Some(kind), "as its manifest proposes"),
            Said::Content => (None, "as its manifest proposes"),
            Said::Nothing => {
                let guess = Guess::of((place, text), declared, tainted);
                proposed.guessed.insert(place.to_owned());
                proposed.doubtful |= doubtful;
                (guess.kind, guess.by)
            }
        };
        let is = kind.map_or("is content".to_owned(), |kind| {
            format!("steers ({})", kind.word())
        });
        proposed.why.insert(format!(
            "record {}: `{}` {is}, {source}",
            call.seq,
            shown(place)
        ));
        match kind {
            Some(kind) => {
                proposed.said.steering.insert(place.to_owned(), kind);
            }
            None => proposed.said.content.push(place.to_owned()),
        }
        kind
    }

    /// Who could answer for a value that nobody was a witness of. What is decided by is who had influence on the wish:
    /// an address in the middle of a letter stood in no field of anything.
    fn witness(
        &mut self,
        call: &Wish<'_>,
        flows: &Flows,
        (leaf, kind): (&Leaf, Kind),
        origins: &[Origin],
    ) {
        let used = format!(
            "record {}: `{}` of `{}`",
            call.seq,
            shown(&leaf.path),
            call.tool
        );
        if leaf.text.chars().any(is_hidden) {
            self.left.insert(format!(
                "{used}, because it has hidden characters: {}",
                shown(&leaf.text)
            ));
            return;
        }
        let (mut stood, mut tainted) = (String::new(), false);
        for origin in origins {
            let is_tainted = flows.classes.is_tainted(&origin.label);
            tainted |= is_tainted;
            // What another service calls so vouches for nothing here.
            if kind.is_of_one_service(&leaf.text) && origin.tool.plugin() != call.tool.plugin() {
                continue;
            }
            if is_tainted {
                stood = stood_with_others(flows, origin, kind);
            } else if kind != Kind::Value && self.vouches(flows, origin, kind, &used) {
                return;
            } else if kind.is_open() && !tainted {
                stood = stood_with_the_user(origin);
            }
        }
        let blamed = flows.classes.blamed(&call.judged.label).join(", ");
        let wished = under(&blamed);
        let doubtful = tainted || !blamed.is_empty() || names_somebody(kind, &leaf.text);
        let values = self.vouch.entry(call.tool.clone()).or_default();
        let entry = values.entry(leaf.text.clone()).or_default();
        entry.doubtful |= doubtful;
        entry.why.insert(used + &stood + &wished);
    }

    /// Lets a field vouch; whether it can.
    fn vouches(&mut self, flows: &Flows, origin: &Origin, kind: Kind, used: &str) -> bool {
        let (at, field) = as_field(&origin.path);
        let unnamed = self.unnamed.contains(origin.tool.plugin());
        if unnamed && !are_known(flows, &origin.tool) {
            return false;
        }
        let known = || Proposed::of(flows.about(&origin.tool).cloned().unwrap_or_default());
        let entry = self.tools.entry(origin.tool.clone());
        let proposed = entry.or_insert_with(known);
        let records = &mut proposed.said.records;
        let other = *records != Default::default() && records.at != at;
        // A kind that anybody can make up vouches only from records that are known to be the user's.
        let open = kind.is_open() && !records.own && records.author.is_empty();
        if field.is_empty() || other || open {
            return false;
        }
        records.at = at;
        records.vouches.insert(field.clone(), kind);
        proposed.why.insert(format!(
            "record {}: `{}` of a record held the value of {used}",
            origin.seq,
            shown(&field)
        ));
        true
    }

    /// Whether nothing is proposed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let said = self.tools.is_empty() && self.vouch.is_empty();
        let passing = self.asked.is_empty() && self.denied.is_empty();
        said && passing && self.workspaces.is_empty()
    }

    /// Lines that would have ended questions, and which.
    pub fn asked(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.asked.iter().map(|(line, why)| (line.as_str(), why))
    }

    /// Lines that would have let pass what guests wished of their own, and what that was.
    pub fn denied(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.denied.iter().map(|(line, why)| (line.as_str(), why))
    }

    /// Mounts in which several files would have been made.
    pub fn workspaces(&self) -> impl Iterator<Item = &str> {
        self.workspaces.keys().map(String::as_str)
    }

    /// What is said of tools, and is no comment.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolName, ToolFlow)> {
        let tools = self.tools.iter();
        let active = tools.map(|(tool, proposed)| (tool, proposed.active()));
        active.filter(|(_, said)| !said.is_nothing())
    }

    /// What steers and what is content, of tools whose arguments only a person knows: no line is proposed that says so.
    pub fn guessed(&self) -> impl Iterator<Item = (&ToolName, &ToolFlow)> {
        let tools = self.tools.iter().filter(|(_, proposed)| proposed.doubtful);
        tools.map(|(tool, proposed)| (tool, &proposed.said))
    }

    /// Values that only a person can answer for, and that nobody untrusted had a hand in; each with its tool.
    pub fn vouched(&self) -> impl Iterator<Item = (&ToolName, &str)> {
        self.values(|used| !used.doubtful)
    }

    /// Values that only a person can answer for who knows them: no line is proposed that vouches for one.
    pub fn doubtful(&self) -> impl Iterator<Item = (&ToolName, &str)> {
        self.values(|used| used.doubtful)
    }

    fn values(&self, which: fn(&Used) -> bool) -> impl Iterator<Item = (&ToolName, &str)> {
        self.vouch.iter().flat_map(move |(tool, values)| {
            let values = values.iter().filter(move |(_, used)| which(used));
            values.map(move |(value, _)| (tool, value.as_str()))
        })
    }

    /// What nothing is proposed for, and why.
    pub fn left(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(String::as_str)
    }

    /// All that is proposed for one tool, in its table: a file has each once.
    fn lines_for(&self, tool: &ToolName, is_there: impl Fn(&str) -> bool) -> String {
        let head = head_of(tool);
        let is_there = is_there(&head);
        let (mut text, mut lines) = (String::new(), String::new());
        if let Some(proposed) = self.tools.get(tool) {
            let why = proposed.why.iter();
            why.for_each(|why| text.push_str(&remark(why)));
            lines = proposed.lines(tool);
        }
        let values = self.vouch.get(tool);
        if is_there {
            if !lines.is_empty() {
                text.push_str(&beside(&head, &lines));
            }
            text.push_str(&values.map_or_else(String::new, |values| added(&head, values)));
        } else if let Some(values) = values {
            let head = format!("{head}\n");
            let rest = lines.strip_prefix(&head).unwrap_or(&lines);
            text.push_str(&format!("{head}{}{rest}", listed(values)));
        } else {
            text.push_str(&lines);
        }
        text
    }

    /// What was asked or denied, each line in a comment: it may say more than what that was about.
    fn questions(&self) -> String {
        let mut text = String::new();
        for (mount, calls) in &self.workspaces {
            let head = format!("[mounts.{}]", quoted(mount));
            text.push_str(&format!(
                "\n# {calls} new files were asked about in one run; in {head}, which is there already, add, if new files in \
                 that folder need nobody's word:\n#   workspace = true\n"
            ));
        }
        let asked = self.asked.iter();
        let asked = asked.map(|(line, why)| (line, why, "so that it is not asked again"));
        let denied = self.denied.iter();
        let denied = denied.map(|(line, why)| (line, why, "so that it passes"));
        for (line, why, so) in asked.chain(denied) {
            text.push('\n');
            why.iter().for_each(|why| text.push_str(&remark(why)));
            text.push_str(&format!("# {so}:\n"));
            for line in merged(std::slice::from_ref(line)).lines() {
                let mark = if line.starts_with('#') { "" } else { "#   " };
                text.push_str(&format!("{mark}{line}\n"));
            }
        }
        text
    }

    /// The lines, with where each came from. A file has each table once: what goes into one that `is_there` is a comment
    /// as a whole, so that nothing breaks where it is written behind the file.
    #[must_use]
    pub fn to_toml(&self, is_there: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        if !self.is_empty() {
            text.push_str(HEAD);
        }
        let tools: BTreeSet<&ToolName> = self.tools.keys().chain(self.vouch.keys()).collect();
        for tool in tools {
            text.push('\n');
            text.push_str(&self.lines_for(tool, &is_there));
        }
        text.push_str(&self.questions());
        if !self.is_empty() && !self.left.is_empty() {
            text.push('\n');
        }
        for what in &self.left {
            text.push_str(&remark(&format!("nothing is proposed for {what}")));
        }
        text
    }
}

/// What stands before the lines.
const HEAD: &str = "# to be merged with what your file has: it has each table once\n";

/// A comment. Records may be somebody else's, and nothing in them ends its line.
fn remark(text: &str) -> String {
    format!("# {}\n", one_line(text))
}

/// Values, each behind a mark, and where it was used.
fn each(values: &BTreeMap<String, Used>, doubtful: bool, mark: &str) -> String {
    let values = values.iter();
    let values = values.filter(|(_, used)| used.doubtful == doubtful);
    let line = |(value, used): (&String, &Used)| {
        let why: Vec<&str> = used.why.iter().map(String::as_str).collect();
        format!("{mark}{},  {}", quoted(value), remark(&why.join("; ")))
    };
    values.map(line).collect()
}

/// Values of one tool, as the list of a table that is not there yet.
fn listed(values: &BTreeMap<String, Used>) -> String {
    let (active, doubtful) = (each(values, false, "  "), each(values, true, "  # "));
    format!("# only you can answer for these\nvouch = [\n{active}{doubtful}]\n")
}

/// The same, as what is added to a table that is there.
fn added(head: &str, values: &BTreeMap<String, Used>) -> String {
    let (active, doubtful) = (each(values, false, "#   "), each(values, true, "#   "));
    let mut text = format!("# in {head}, which is there already, add to `vouch`:\n");
    if !active.is_empty() {
        text.push_str(&format!("# only you can answer for these\n{active}"));
    }
    if !doubtful.is_empty() {
        text.push_str(&format!(
            "# and for these only if you know them\n{doubtful}"
        ));
    }
    text
}

/// Lines for a table that is there, each in a comment.
fn beside(head: &str, lines: &str) -> String {
    let lines = lines.lines().map(|line| match line.starts_with('#') {
        true => format!("{line}\n"),
        false => format!("# {line}\n"),
    });
    let lines: String = lines.collect();
    format!("# in {head}, which is there already, write this in its place:\n{lines}")
}

/// Who is blamed for a wish, for whoever reads a line that is a comment because of it; nothing where nobody is.
fn under(blamed: &str) -> String {
    match blamed.is_empty() {
        true => String::new(),
        false => format!(
            "; wished under the influence of {}: take it out of the comment only if you know it",
            shown(blamed)
        ),
    }
}

/// Where a value stood that others may have written.
fn stood_with_others(flows: &Flows, origin: &Origin, kind: Kind) -> String {
    let (at, field) = as_field(&origin.path);
    // A service makes its ids itself, and what cannot be undone needs more than one.
    let mine = match kind == Kind::Id {
        true => "if each id there may be meant, of strangers' records too",
        false => "if it is yours alone",
    };
    format!(
        "; it stood in `{}` of the outcome of `{}` (record {}), which {} may have written; {mine}: \
         records.at = {}, records.vouches",
        shown(&field),
        origin.tool,
        origin.seq,
        shown(&flows.classes.suspects(&origin.label).join(", ")),
        quoted(&shown(&at)),
    )
}

/// Where a value stood that nobody untrusted had a hand in.
fn stood_with_the_user(origin: &Origin) -> String {
    let (at, field) = as_field(&origin.path);
    format!(
        "; it stood in `{}` of the outcome of `{}`: if nobody but you starts such records, records.at = {}, \
         records.own = true, records.vouches",
        shown(&field),
        origin.tool,
        quoted(&shown(&at)),
    )
}

/// Whether a value leads to somebody outside, whatever its argument is said to be: what a line lets pass then, a model
/// can be told to send to.
fn names_somebody(kind: Kind, text: &str) -> bool {
    kind.is_open() || text.contains('@') || text.contains("://")
}

/// The place of a leaf in any arguments of its tool.
pub(super) fn place_of(path: &str) -> String {
    let mut names: Vec<&str> = path
        .split('/')
        .map(|name| {
            if name.parse::<usize>().is_ok() {
                "*"
            } else {
                name
            }
        })
        .collect();
    while names.len() > 1 && names.last() == Some(&"*") {
        names.pop();
    }
    names.join("/")
}

/// How the table of one tool begins.
fn head_of(tool: &ToolName) -> String {
    format!("[flow.tools.\"{tool}\"]")
}

/// The table of one tool, without what says nothing.
fn table(tool: &ToolName, said: &ToolFlow) -> String {
    let mut value = serde_json::to_value(said).unwrap_or_default();
    prune(&mut value);
    let tools = BTreeMap::from([(tool.to_string(), value)]);
    let flow = BTreeMap::from([("flow", BTreeMap::from([("tools", tools)]))]);
    toml::to_string(&flow).unwrap_or_default()
}

fn prune(value: &mut Value) {
    if let Value::Object(map) = value {
        map.values_mut().for_each(prune);
        map.retain(|key, value| match value {
            Value::Null | Value::Bool(false) => false,
            // What holds where nothing is said.
            Value::String(text) => {
                let usual = [("accepts", "public"), ("hold", "auto")];
                !text.is_empty() && !usual.contains(&(key.as_str(), text.as_str()))
            }
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        });
    }
}

#[cfg(test)]
mod tests;
