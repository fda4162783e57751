//! Judging again: what another policy would have said to the effects of a recorded run. Nothing is performed.
//!
//! Each effect is judged by itself, in the state that the records before it make: a call that would now be
//! turned down might have led a model elsewhere, which nobody can know. What a record does not hold, such as
//! the text of a query, is said and never guessed. What a host asks of its own model is no matter of policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::brought::brought_in;
use super::explain::call_of;
use super::host::Host;
use super::known::{self, Fold, adjust, always};
use super::left::{Wished, wished_in};
use super::session::Earlier;
use crate::gate::journal::Journal;
use crate::gate::{Foreseen, unfit};
use crate::rules::budget::is_overspending;
use crate::rules::call::{self, Call};
use crate::rules::caller::{Bearing, Caller, Known, Led, Origin};
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::flow::handles::Given;
use crate::rules::flow::lines::Browse;
use crate::rules::grant::{Grant, Pattern};
use crate::rules::keep::{Keep, KeepWish};
use crate::rules::manifest::SurfaceWord;
use crate::rules::questions::Questions;
use crate::rules::schema::Args;
use crate::rules::secret;
use crate::rules::server::asked::is_told;
use crate::rules::{Effect, script};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, EffectKind, Event, Judged, Record, Surface, Verdict};
use crate::words::id::{Seq, ToolName};
use crate::words::label::Label;
use crate::words::limits::{FETCH_REQUEST_BYTES, FILE_WRITE_BYTES, NOTE_BYTES};

/// What another policy would have said to a run.
#[derive(Debug, Default)]
pub struct Rejudged {
    /// Judgements that would be as they were.
    pub same: usize,
    /// Those that would not.
    pub changes: Vec<Change>,
    /// Those that nobody can make again.
    pub untold: Vec<Untold>,
}

/// A judgement that would be another one.
#[derive(Debug)]
pub struct Change {
    /// Its record.
    pub seq: Seq,
    /// What it is about.
    pub subject: String,
    /// As it was.
    pub was: Verdict,
    /// As it would be.
    pub now: Verdict,
}

/// A judgement that cannot be made again.
#[derive(Debug)]
pub struct Untold {
    /// Its record.
    pub seq: Seq,
    /// What it is about.
    pub subject: String,
    /// Why not.
    pub why: String,
}

impl Rejudged {
    /// Whether something was to be judged again, and nothing could be.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.same == 0 && self.changes.is_empty() && !self.untold.is_empty()
    }

    /// Without what has become a secret since: it was judged as it was.
    fn shown(mut self, journal: &Journal) -> Self {
        journal.cleaning(|with| {
            for change in &mut self.changes {
                (with.text)(&mut change.subject);
                change.was.clean(with);
                change.now.clean(with);
            }
            for untold in &mut self.untold {
                (with.text)(&mut untold.subject);
                (with.text)(&mut untold.why);
            }
        });
        self
    }
}

impl Host {
    /// What this host's policy would have said to a run that is on record.
    ///
    /// # Errors
    /// `Corrupt` for a run without a beginning; what reading the runs before it in its session says.
    pub async fn rejudge(&self, records: &[Record]) -> Result<Rejudged> {
        let earlier = self.before(records).await?;
        self.rejudge_after(earlier, records)
    }

    /// The same of a run of which it is known what it was told of its session ([`Host::before_in`]).
    ///
    /// # Errors
    /// `Corrupt` for a run without a beginning.
    pub fn rejudge_after(&self, earlier: Earlier, records: &[Record]) -> Result<Rejudged> {
        let mut again = Again::of(self, records, earlier)?;
        let mut told = Rejudged::default();
        for (place, record) in records.iter().enumerate() {
            if let Event::Judged(judged) = &record.event
                && judged.origin != Origin::Host.to_string()
                && judged.effect != EffectKind::Show
            {
                let subject = judged.subject.clone();
                match again.judge(record, judged) {
                    Err(why) => told.untold.push(Untold {
                        seq: record.seq,
                        subject,
                        why,
                    }),
                    Ok(now) if now.word() == judged.verdict.word() => told.same += 1,
                    Ok(now) => told.changes.push(Change {
                        seq: record.seq,
                        subject,
                        was: judged.verdict.clone(),
                        now,
                    }),
                }
            }
            again.see(record, records.get(..=place).unwrap_or_default());
        }
        Ok(told.shown(self.journal()))
    }
}

/// Why a judgement cannot be made again, in words.
type Unknown = String;

/// A call that was judged again, for what its guest wished.
struct Outer {
    tool: ToolName,
    grant: Arc<Grant>,
    bearing: Bearing,
    /// What its guest has read so far.
    read: Label,
    depth: usize,
}

/// A run that is judged again, up to one of its records.
struct Again<'a> {
    host: &'a Host,
    surface: Surface,
    /// What its model or client may call; nothing where the agent is not known here.
    reach: std::result::Result<Arc<[Pattern]>, Unknown>,
    known: Known,
    fold: Fold<'a>,
    /// Nothing for a call that would not be made.
    calls: BTreeMap<Seq, Option<Outer>>,
    /// What guests of those have wished and is under way: in which call.
    inner: BTreeMap<Seq, Seq>,
}

impl<'a> Again<'a> {
    fn of(host: &'a Host, records: &[Record], earlier: Earlier) -> Result<Self> {
        let Some(first) = records.first() else {
            return Err(Error::new(Code::Corrupt, "a run without records"));
        };
        let Event::Started(started) = &first.event else {
            let what = format!("run `{}` has no beginning", first.run);
            return Err(Error::new(Code::Corrupt, what));
        };
        let surface = started.surface;
        let (mut typed, mut vouched): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let Earlier {
            typed: before,
            heard,
            handles,
            ..
        } = earlier;
        let mut led = Led::ByClient;
        let mut reach: std::result::Result<Vec<Pattern>, Unknown> = Ok(vec![Pattern::all()]);
        match wished_in(&first.run, records) {
            Ok(Wished::Goal(goal)) => {
                led = Led::ByModel;
                typed.extend(goal.said().map(str::to_owned));
                vouched.clone_from(&goal.vouch);
                match host.agent(&goal) {
                    Ok(agent) => {
                        typed.push(agent.instructions.clone());
                        reach = Ok(agent.tools);
                    }
                    Err(error) => {
                        reach = Err(format!("{}, so its reach is not known", error.message()))
                    }
                }
            }
            Ok(wish @ Wished::Call { .. }) => typed = wish.typed(),
            // A call that was turned down before anything of it began.
            Err(_) => {}
        }
        let patterns: &[Pattern] = reach.as_ref().map_or(&[], Vec::as_slice);
        let holds = !handles.is_empty() || !brought_in(records).is_empty();
        typed.extend(before);
        let before = known::Before {
            typed: &typed,
            vouched: &vouched,
            heard,
            handles,
            files: &[],
        };
        let known = known::known_after(
            &host.station,
            (led, known::judging(&host.station, patterns)),
            before,
            &[],
        );
        if let Ok(reach) = &mut reach {
            host.equip(reach, &known, holds);
        }
        Ok(Self {
            host,
            surface,
            reach: reach.map(Arc::from),
            known,
            fold: Fold::default(),
            calls: BTreeMap::new(),
            inner: BTreeMap::new(),
        })
    }

    /// What the run learns from a record.
    fn see(&mut self, record: &'a Record, so_far: &[Record]) {
        let flows = &self.host.policy().flows;
        let (mut ledger, mut handles) = (self.known.ledger(), self.known.handles());
        self.fold.see(flows, (&mut ledger, &mut handles), record);
        drop((ledger, handles));
        self.read(record);
        if let Event::Brought(_) = &record.event {
            adjust(flows, &mut self.known, true);
        }
        if matches!(record.event, Event::Resumed { .. }) {
            let questions = Questions::of(so_far);
            always(&mut self.known.ledger(), &questions);
            self.known.questions = Arc::new(questions);
        }
    }

    /// What a guest wished it has read once that has ended. What steps around its call wished they have read.
    fn read(&mut self, record: &Record) {
        if let Event::Judged(judged) = &record.event {
            let outer = self.calls.get(&record.parent).and_then(Option::as_ref);
            if outer.is_some_and(|outer| judged.origin == outer.tool.as_str()) {
                self.inner.insert(record.seq, record.parent);
            }
        }
        if let Event::Finished(finished) = &record.event {
            let call = self.inner.remove(&finished.of);
            let outer = call.and_then(|call| self.calls.get_mut(&call)?.as_mut());
            if let Some(outer) = outer {
                outer.read = outer.read.join(&finished.label);
            }
        }
    }

    fn judge(&mut self, record: &Record, judged: &Judged) -> Result<Verdict, Unknown> {
        let caller = self.caller(record, judged)?;
        match judged.effect {
            EffectKind::Call => self.judge_call(record.seq, judged, &caller),
            // What a run may spend is its agent's to say, and no policy's.
            EffectKind::Fetch if is_overspending(judged) || is_told(judged) => {
                Ok(judged.verdict.clone())
            }
            EffectKind::Fetch => self.judge_fetch(judged, &caller),
            EffectKind::File => self.judge_file(judged, &caller),
            EffectKind::Keep => self.judge_keep(judged, &caller),
            EffectKind::Show => Ok(judged.verdict.clone()),
        }
    }

    fn caller(&self, record: &Record, judged: &Judged) -> Result<Caller, Unknown> {
        let caller = Caller {
            parent: record.parent,
            place: judged.place.clone(),
            known: self.known.clone(),
            ..self
                .host
                .client(record.run.clone(), self.surface, judged.label.clone())
        };
        let origin = match judged.origin.as_str() {
            "client" => Origin::Client,
            "model" => Origin::Model,
            "script" => Origin::Script,
            _ => return self.inside(caller, record.parent),
        };
        let reach = self.reach.clone()?;
        Ok(Caller {
            origin,
            reach,
            ..caller
        })
    }

    /// The guest of a call as a caller.
    fn inside(&self, caller: Caller, parent: Seq) -> Result<Caller, Unknown> {
        let Some(outer) = self.calls.get(&parent) else {
            return Err("the call that it is part of cannot be judged again".to_owned());
        };
        let Some(outer) = outer else {
            return Err("the call that it is part of would not have been made".to_owned());
        };
        Ok(Caller {
            origin: Origin::Tool(outer.tool.clone()),
            reach: outer.grant.calls.clone().into(),
            grant: outer.grant.clone(),
            known: caller
                .known
                .inside(outer.bearing.clone().after(outer.read.clone())),
            depth: outer.depth + 1,
            ..caller
        })
    }

    fn judge_call(
        &mut self,
        seq: Seq,
        judged: &Judged,
        caller: &Caller,
    ) -> Result<Verdict, Unknown> {
        if judged.subject == script::TOOL {
            let source = match &judged.content {
                Content::Inline(args) => args.get("source").and_then(Value::as_str),
                Content::Empty | Content::Stored { .. } | Content::Size { .. } => None,
            };
            let source = source.ok_or("its source was not kept")?;
            let scripts = &self.host.station.scripts;
            let (caller, call) = (scripts.caller(caller), scripts.call(source));
            return Ok(self.host.station.gate.foresee(&caller, &call).verdict);
        }
        let was_denied = matches!(judged.verdict, Verdict::Deny(_));
        let call = match self.call(judged, caller, was_denied)? {
            Ok(call) => call,
            Err(verdict) => {
                self.calls.insert(seq, None);
                return Ok(verdict);
            }
        };
        let Foreseen { verdict, terms, .. } = self.host.station.gate.foresee(caller, &call);
        let happens = matches!(verdict, Verdict::Allow { .. });
        let within = terms.unwrap_or_default();
        let outer = Outer {
            grant: within.narrow(&call.grant),
            bearing: within.bearing(&call.declared),
            read: Label::default(),
            depth: caller.depth,
            tool: call.tool,
        };
        self.calls.insert(seq, happens.then_some(outer));
        Ok(verdict)
    }

    /// The call of a record, or the denial that comes before there is one, as in dispatch.
    fn call(
        &self,
        judged: &Judged,
        caller: &Caller,
        was_denied: bool,
    ) -> Result<Result<Call, Verdict>, Unknown> {
        let Ok(tool) = self.host.catalog().resolve(&judged.subject, &[]) else {
            return if was_denied {
                Ok(Err(judged.verdict.clone()))
            } else {
                Err(format!("there is no tool `{}` here", judged.subject))
            };
        };
        if !tool
            .declared
            .offer
            .surfaces
            .contains(&SurfaceWord(caller.surface))
        {
            let error = Error::new(
                Code::BadSurface,
                format!("`{}` is not offered on this surface", tool.name),
            );
            return Ok(Err(Verdict::Deny(unfit(&error))));
        }
        if let Err(denial) = call::admits(&tool.name, &tool.declared, caller, self.host.policy()) {
            return Ok(Err(Verdict::Deny(denial)));
        }
        let Content::Inline(args) = &judged.content else {
            return if was_denied {
                Ok(Err(judged.verdict.clone()))
            } else {
                Err("its arguments were not kept".to_owned())
            };
        };
        // Whether its client would confirm it is no matter of policy.
        if let Verdict::Deny(denial) = &judged.verdict
            && denial.rule == Code::Unconfirmed.envelope()
            && tool.declared.requires_confirmation()
        {
            return Ok(Err(judged.verdict.clone()));
        }
        let schema = tool.input().map_err(|error| error.message().to_owned())?;
        let given = match caller.origin {
            Origin::Model | Origin::Script => self.resolve(args, judged)?,
            Origin::Client | Origin::Host | Origin::Tool(_) => Ok(Given::plain(args.clone())),
        };
        let checked = given.and_then(|given| {
            let args = Args::given(&given, schema)?;
            let bounds = self.host.station.gate.policy().bounds;
            Ok((bounds.fitting(args, &given)?, given))
        });
        Ok(match checked {
            Ok((checked, given)) => Ok(Call {
                held: given.label,
                wish: (!given.places.is_empty()).then(|| args.clone()),
                places: given.places,
                attached: given.attached,
                ..call_of(tool, checked)
            }),
            Err(error) => Err(Verdict::Deny(unfit(&error))),
        })
    }

    /// Arguments with what their handles hold. A handle that was there when the call was judged, and is not now, held what
    /// stands in no record: something secret, or a file that the user has attached.
    fn resolve(&self, args: &Value, judged: &Judged) -> Result<Result<Given>, Unknown> {
        let given = Given::resolve(args, &self.known.handles());
        let is_missing = |error: &Error| error.code() == Code::NotFound;
        let was_missing = matches!(
            &judged.verdict,
            Verdict::Deny(denial) if denial.rule == Code::NotFound.envelope()
        );
        if given.as_ref().is_err_and(is_missing) && !was_missing {
            return Err(
                "what a handle in it held was secret or attached, and was not kept".to_owned(),
            );
        }
        Ok(given)
    }

    fn judge_fetch(&self, judged: &Judged, caller: &Caller) -> Result<Verdict, Unknown> {
        let (method, url) = judged
            .subject
            .split_once(' ')
            .ok_or("its URL was not kept")?;
        let (url, cut) = match url.strip_suffix("?…") {
            Some(url) => (url, true),
            None => (url, false),
        };
        if cut && self.host.policy().flows.browse != Browse::Granted {
            return Err("its query was not kept, and `browse` looks at it".to_owned());
        }
        let bytes = size(&judged.content, FETCH_REQUEST_BYTES);
        if bytes > FETCH_REQUEST_BYTES {
            return Err("its body is longer than that of any request may be".to_owned());
        }
        let fetch = Fetch::new(method, url, Vec::new(), vec![0; bytes]);
        let fetch = fetch.map_err(|_| "its URL was not kept")?;
        let now = self.verdict(&fetch, caller);
        match (&judged.verdict, &now) {
            (Verdict::Deny(denial), Verdict::Allow { .. } | Verdict::Ask(_))
                if secret::is_rule(&denial.rule)
                    || denial.rule == "flow_private" && fetch.is_plain() =>
            {
                Err("which secrets and headers it had was not kept".to_owned())
            }
            _ => Ok(now),
        }
    }

    fn judge_file(&self, judged: &Judged, caller: &Caller) -> Result<Verdict, Unknown> {
        let (word, path) = whole(&judged.subject)?
            .split_once(' ')
            .ok_or("its path was not kept")?;
        let bytes = || vec![0; size(&judged.content, FILE_WRITE_BYTES)];
        let write = |mode| FileWish::Write {
            bytes: bytes(),
            mode,
        };
        let mut path = path;
        let wishes = match word {
            "list" => vec![FileWish::List],
            "stat" => vec![FileWish::Stat],
            "read" => vec![FileWish::Read {
                offset: 0,
                length: 0,
            }],
            "remove" => vec![FileWish::Remove],
            // Whether it made a file or replaced one is not in the record.
            "write" => vec![write(WriteMode::Create), write(WriteMode::Replace)],
            "move" if path.matches(" to ").count() == 1 => {
                let (from, to) = path.split_once(" to ").unwrap_or_default();
                path = from;
                vec![FileWish::Move {
                    target: to.to_owned(),
                }]
            }
            _ => return Err("its paths cannot be told apart".to_owned()),
        };
        let verdicts = wishes.into_iter().map(|wish| {
            let (path, label) = (path.to_owned(), Label::default());
            self.verdict(&File { path, wish, label }, caller)
        });
        one_of(verdicts.collect())
    }

    fn judge_keep(&self, judged: &Judged, caller: &Caller) -> Result<Verdict, Unknown> {
        let lost = "its key was not kept";
        let (word, note) = whole(&judged.subject)?.split_once(' ').ok_or(lost)?;
        let (shelf, key) = note.split_once('/').ok_or(lost)?;
        let wish = match word {
            "put" => KeepWish::Put {
                text: " ".repeat(size(&judged.content, NOTE_BYTES)),
                label: judged.label.clone(),
            },
            "get" => KeepWish::Get,
            "list" => KeepWish::List { limit: 1 },
            "search" => KeepWish::Search { limit: 1 },
            "delete" => KeepWish::Delete {
                label: judged.label.clone(),
            },
            _ => return Err(lost.to_owned()),
        };
        let (shelf, key) = (shelf.to_owned(), key.to_owned());
        Ok(self.verdict(&Keep { shelf, key, wish }, caller))
    }

    fn verdict<E: Effect>(&self, effect: &E, caller: &Caller) -> Verdict {
        self.host.station.gate.foresee(caller, effect).verdict
    }
}

/// A subject that stands in its record as it was, neither cut nor with hidden characters shown.
fn whole(subject: &str) -> Result<&str, Unknown> {
    if subject.contains('…') || subject.contains("\\u{") {
        Err("its name was cut in the record".to_owned())
    } else {
        Ok(subject)
    }
}

/// The verdict that all of them are; where they differ nobody can say which it was.
fn one_of(mut verdicts: Vec<Verdict>) -> Result<Verdict, Unknown> {
    let last = verdicts.pop().ok_or("nothing is known of it")?;
    if verdicts.iter().all(|verdict| verdict.word() == last.word()) {
        Ok(last)
    } else {
        Err("whether it made a file or replaced one was not kept".to_owned())
    }
}

/// How long something is that is judged again. Whoever wrote a file of records wrote this as well: more than may be is
/// judged as one byte more than that.
fn size(content: &Content, most: usize) -> usize {
    let bytes = match content {
        Content::Size { bytes } | Content::Stored { bytes, .. } => *bytes,
        Content::Empty | Content::Inline(_) => 0,
    };
    bytes.min(most.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::id::Digest;

    /// A verdict on one byte too many is that on any number of them.
    #[test]
    fn what_is_longer_than_may_be_is_judged_as_one_byte_too_long() {
        for (bytes, expected) in [(0, 0), (5, 5), (6, 6), (usize::MAX, 6)] {
            assert_eq!(size(&Content::Size { bytes }, 5), expected);
            let digest = Digest::of(b"x");
            assert_eq!(size(&Content::Stored { digest, bytes }, 5), expected);
        }
        assert_eq!(size(&Content::Empty, 5), 0);
    }
}
