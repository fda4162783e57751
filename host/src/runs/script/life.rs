//! One life of a script: from its start in a fresh guest to its end, or to where it has to be left.

mod timing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value};

use super::Script;
use super::absent::{HELD_NAMED, instead, is_handles_name, taken_for_values};
use crate::gate::all_asked;
use crate::guests::dispatch::{Outcome, Request, ask_ahead, dispatch, named};
use crate::guests::guest::{LogLine, Trail};
use crate::guests::script::{Progress, ScriptEngine, ScriptGuest, Step};
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::handles::{handle_in, is_foreseen_in};
use crate::rules::json;
use crate::rules::script::{
    Answered, Left, Queue, Recall, Settled, TOOL, Wish, diverged, in_doubt,
};
use crate::runs::rest;
use crate::words::bound::{Bound, FIXED};
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Glimpse, Record, Scripted, Spent};
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::limits::{
    CALL_TIMEOUT_MS_MAX, QUESTIONS_TOGETHER, SCRIPT_FUEL_PER_MS, SCRIPT_HEAP_BYTES, SCRIPT_IDLE_MS,
    SCRIPT_IDLE_PER_WORK, SCRIPT_JSON_BYTES,
};
use crate::words::message::WishedArgs;

/// How a life ended.
pub(super) enum Ended {
    /// With the script: this is its value.
    Value(Value),
    /// The script has nothing to do until then.
    Resting {
        /// Milliseconds since 1970.
        until: u64,
        /// The same by the steady time of the clock, which nobody sets.
        steady: u64,
    },
}

/// Calls named where a script returned without awaiting them.
const OPEN_NAMED: usize = 4;

/// A call under way, and its position.
type Running = Pin<Box<dyn Future<Output = (u32, Outcome)> + Send>>;

/// The calls that a script waits for, and what is to be said of some that it waited for.
#[derive(Default)]
struct Calling {
    queue: Queue,
    running: FuturesUnordered<Running>,
    /// Calls that may or may not have happened, and the records of their beginning.
    doubtful: VecDeque<(u32, Seq)>,
    /// What persons are asked, by position.
    asked: BTreeMap<u32, Error>,
    /// What some failed with that somebody may mend: the words, and how. At most one for each call.
    failed: Vec<(String, Vec<String>)>,
    /// The first tools whose outcomes were held, and the handles that were given for these.
    held: Vec<(String, String)>,
}

/// What the script waits for.
struct Open {
    wish: Wish,
    /// What had influenced the script when it wished for that, and, where somebody outside sees when it begins, what it then
    /// tells of those wished before it in its step. What was read since is no part of it: another life knows more by the time
    /// that a call's turn comes, and wishes the same.
    under: Label,
    /// What the script is shown something of, as long as it sees that a call has not ended.
    shown: Label,
    /// What the handles hold that a call is given.
    holds: Label,
}

impl Open {
    /// What its end leaves with the script, beside the label of that, which has all that the call was let read. Of one whose end
    /// nobody saw that stands nowhere: it may have read whatever it could.
    fn leaves(&self, answered: &Answered) -> Label {
        match answered {
            Answered::Failed {
                code: Code::InDoubt | Code::Cancelled,
                ..
            } => self.under.join(&self.shown),
            Answered::Value(_) | Answered::Failed { .. } => self.under.clone(),
            Answered::Rested => Label::default(),
        }
    }
}

/// One life of a script.
pub(super) struct Life<'a> {
    script: &'a Script<'a>,
    /// The script, as whoever wishes its calls; below the record of the judgement that let it begin.
    wisher: Caller,
    begun: Scripted,
    recall: Recall,
    /// What the script waits for, by position.
    wishes: BTreeMap<u32, Open>,
    /// The rests among them: when each is over, and its position.
    rests: BTreeSet<(u64, u32)>,
    /// Positions that it has used; the next request has this one.
    next: u32,
    calls: u32,
    calling: Calling,
    /// What it was told is under the influence of all this.
    label: Label,
    trail: &'a mut Trail,
    /// By its guest, and on the way to it.
    spent: Spent,
}

impl<'a> Life<'a> {
    /// A life that knows what the records say of earlier ones.
    pub(super) fn new(
        script: &'a Script<'a>,
        records: &[Record],
        seq: Seq,
        trail: &'a mut Trail,
    ) -> Self {
        let repeatable = |tool: &str| script.station.catalog.is_repeatable(tool);
        let recall = Recall::of(records, &script.caller.place, repeatable);
        let begun = recall.scripted.clone().unwrap_or_else(|| script.begin());
        let wisher = Caller {
            parent: seq,
            origin: Origin::Script,
            ..script.caller.clone()
        };
        Self {
            script,
            wisher,
            begun,
            recall,
            wishes: BTreeMap::new(),
            rests: BTreeSet::new(),
            next: 0,
            calls: 0,
            calling: Calling::default(),
            label: script.caller.label.clone(),
            trail,
            spent: Spent::default(),
        }
    }

    /// Lives.
    ///
    /// # Errors
    /// Whatever ends the script; `Asked` where it waits for a person and for nothing else.
    pub(super) async fn live(&mut self) -> Result<Ended> {
        let kept;
        let scripts = &self.script.station.scripts;
        let engine = if self.begun.engine == scripts.engine.digest {
            &scripts.engine
        } else {
            kept = self.script.engines.kept(self.begun.engine)?;
            &kept
        };
        let journal = self.script.station.gate.journal();
        let event = Event::Scripted(self.begun.clone());
        journal.append(&self.script.caller.run, self.wisher.parent, event)?;
        self.script.load(engine, self.wisher.parent).await?;
        self.check_time()?;
        let (mut guest, mut said) = self.start(engine).await?;
        let before_ms = self.spent.cpu_ms;
        loop {
            self.spent = guest.spent();
            self.spent.cpu_ms = self.spent.cpu_ms.saturating_add(before_ms);
            let step = said?;
            self.hear(step.logs);
            match step.progress {
                Progress::Done(text) => {
                    self.say_what_is_left();
                    return value_of(&text).map(Ended::Value);
                }
                Progress::Failed(mut broken) => {
                    let held = taken_for_values(&broken.message, &self.calling.held);
                    let instead = instead(&broken.message).map(str::to_owned);
                    if let Some(more) = instead.or(held) {
                        broken.message.push_str(&format!("; {more}"));
                    }
                    return Err(self.mendable(self.bounded(broken.error())));
                }
                Progress::Waiting(requests) => self.wish(requests)?,
            }
            let settled = match self.settle().await? {
                Next::Settled(settled) => settled,
                Next::Rest { until, steady } => return Ok(Ended::Resting { until, steady }),
            };
            self.label = self.label.join(&settled.label);
            self.check_time()?;
            let resumed = self.script.tasks.unless_cancelled(guest.resume(&settled));
            said = resumed.await;
        }
    }

    /// Nothing in a replay goes on where it was ended.
    fn check_time(&self) -> Result<()> {
        let recorded = self.script.station.recorded.as_ref();
        let spent = recorded.and_then(|recorded| recorded.spent());
        spent.map_or(Ok(()), Err)
    }

    /// What the engine stopped by itself was stopped by a bound of ours, before the harder one.
    fn bounded(&self, error: Error) -> Error {
        let cpu_ms = self.script.station.gate.policy().scripts.cpu_ms;
        let (bound, limit) = if error.code() == Code::OutOfFuel {
            (Bound::ScriptCpu, cpu_ms)
        } else if error.code() == Code::OutOfMemory {
            (Bound::ScriptMemory, u64::from(SCRIPT_HEAP_BYTES))
        } else {
            return error;
        };
        let passed = bound.passed("the script", limit);
        let what = format!("{}: {}", passed.message(), error.message());
        Error::new(error.code(), what).hint(bound.hint(limit))
    }

    /// A call that failed and that nobody caught is mended as where it is made directly.
    fn mendable(&self, error: Error) -> Error {
        let words = error.message();
        let mut failed = self.calling.failed.iter().rev();
        let failed = failed.find(|(what, _)| words.contains(what));
        let hints = failed.map(|(_, hints)| hints.clone()).unwrap_or_default();
        hints.into_iter().fold(error, Error::hint)
    }

    /// What the script is under the influence of: what it was told, and what it sees that has not ended yet.
    fn under(&self) -> Label {
        let open = self.wishes.values();
        open.fold(self.label.clone(), |label, open| label.join(&open.shown))
    }

    /// What its end is under the influence of: it may say what persons are asked, and so what stood behind those wishes.
    pub(super) fn ends_under(&self) -> Label {
        let asked = self.calling.asked.keys();
        let asked = asked.filter_map(|position| self.wishes.get(position));
        asked.fold(self.under(), |label, open| label.join(&open.under))
    }

    /// What the life took, its time apart.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            calls: u64::from(self.calls),
            ..self.spent
        }
    }

    /// A script that returns before its calls have ended is often a mistake, so it is said.
    fn say_what_is_left(&mut self) {
        let open = self.wishes.values().filter_map(|open| match &open.wish {
            Wish::Call { tool, .. } => Some(tool.as_str()),
            Wish::Rest { .. } => None,
        });
        let open: Vec<&str> = open.take(OPEN_NAMED).collect();
        if !open.is_empty() {
            let what = format!(
                "the script returned without awaiting {}: what had not begun was not done, and what had was cut off",
                open.join(", ")
            );
            self.hear(vec![("warn", what)]);
        }
    }

    /// Keeps what the script has written to its console; a watcher has seen what earlier lives wrote.
    fn hear(&mut self, logs: Vec<(&'static str, String)>) {
        let station = self.script.station;
        let time = station.gate.journal().clock().now_ms();
        for (level, line) in logs {
            let message = station.scrub.clean(&line);
            if self.recall.settled.is_empty() {
                let glimpse = Glimpse::Said {
                    of: self.wisher.parent,
                    tool: TOOL.to_owned(),
                    level,
                    message: message.clone(),
                    fields: Map::new(),
                    label: self.under(),
                };
                let run = &self.script.caller.run;
                station.gate.glimpse(run, glimpse);
            }
            self.trail.keep_line(LogLine {
                level,
                message,
                fields: serde_json::json!({}),
                time,
            });
        }
    }

    /// Takes up new requests. Nothing begins here. From the next step on a script sees that a call has not ended yet; in this
    /// one, whoever is outside sees it, since what is wished later may begin later for that.
    /// It is wished for under the influence of no less than in an earlier life.
    fn wish(&mut self, requests: Vec<(u32, Wish)>) -> Result<()> {
        let (before, mut given) = (self.under(), Label::default());
        let mut told = Label::default();
        for (position, wish) in requests {
            if position != self.next {
                let what = "the engine of scripts counts its requests wrongly";
                return Err(Error::new(Code::Trapped, what));
            }
            self.next += 1;
            let most = self
                .begun
                .bounds
                .calls
                .saturating_add(self.begun.bounds.timers);
            if self.next > most {
                let what = format!("a script may wait for {most} calls and timers");
                return Err(Error::new(Code::OverBudget, what));
            }
            if matches!(wish, Wish::Rest { .. }) && self.recall.is_call(position) {
                let what = format!("request {position} was a call, and is a rest now");
                return Err(diverged(&what));
            }
            let (mut under, mut shown) = (before.clone(), Label::default());
            let mut holds = Label::default();
            if let Wish::Call { tool, args } = &wish {
                self.calls += 1;
                if self.calls > self.begun.bounds.calls {
                    let most = u64::from(self.begun.bounds.calls);
                    return Err(Bound::ScriptCalls.passed("a script", most));
                }
                let called = named(self.script.station, tool);
                self.recall.compare(position, (tool, &called), args)?;
                self.line_up(position, tool);
                holds = self.holds(args);
                if self.is_strangers(&holds) {
                    self.calling.queue.guard();
                }
                under = under.join(&self.recall.under(position));
                if !told.is_empty() && self.is_seen(tool) {
                    under = under.join(&told);
                }
                let (held, read) = self.shown_by(tool, args);
                let held = held.join(&self.foreseen(args));
                told = told.join(&held).join(&read);
                (given, shown) = (given.join(&held), read);
            }
            if let Wish::Rest { due } = &wish {
                self.rests.insert((*due, position));
                let clock = self.script.station.gate.journal().clock();
                self.script.waited.rests(clock, (position, *due));
            }
            let open = Open {
                wish,
                under,
                shown,
                holds,
            };
            self.wishes.insert(position, open);
        }
        self.label = self.label.join(&given);
        Ok(())
    }

    /// Who may read what the time of a call tells something of: what the handles hold that it is given, and, as long as it has
    /// not ended, whatever it could read that is kept from others. What it has read by its end is in the label of that.
    fn shown_by(&self, tool: &str, args: &WishedArgs) -> (Label, Label) {
        let (station, known) = (self.script.station, &self.script.caller.known);
        let policy = station.gate.policy();
        let classes = &policy.flows.classes;
        let Some(args) = args.json() else {
            return (Label::default(), Label::default());
        };
        let called = (tool, Some(args));
        let read = station.catalog.behind(called, &self.wisher, policy);
        let kept = classes.told_of(&read.without(&self.label));
        let held = known.handles().worst_in(args).of_scalar();
        let counting = |told: Label| classes.counting(told, &self.label);
        (counting(held), counting(kept))
    }

    /// Whether anybody outside may see when a call of this tool begins.
    fn is_seen(&self, tool: &str) -> bool {
        let station = self.script.station;
        station
            .catalog
            .is_seen(tool, &self.wisher, station.gate.policy())
    }

    /// Who may read what a handle will hold that is not there yet, where its name was foreseen: whatever the calls bring that
    /// have not ended.
    fn foreseen(&self, args: &WishedArgs) -> Label {
        let (station, known) = (self.script.station, &self.script.caller.known);
        let policy = station.gate.policy();
        let is_foreseen = |args| is_foreseen_in(args, &known.handles());
        if !args.json().is_some_and(is_foreseen) {
            return Label::default();
        }
        let open = self.wishes.values().filter_map(|open| match &open.wish {
            Wish::Call { tool, args } => Some((tool.as_str(), args.json())),
            Wish::Rest { .. } => None,
        });
        let behind = open.map(|called| station.catalog.behind(called, &self.wisher, policy));
        let behind = behind.fold(Label::default(), |all, label| all.join(&label.of_scalar()));
        policy.flows.classes.counting(behind, &self.label)
    }

    /// Where a call stands that earlier lives may have begun.
    fn line_up(&mut self, position: u32, tool: &str) {
        if self.recall.answers(position) {
            return;
        }
        let catalog = &self.script.station.catalog;
        match self.recall.left(position) {
            Left::Begun(seq) if !catalog.is_repeatable(tool) => {
                self.calling.doubtful.push_back((position, seq));
            }
            Left::Fresh | Left::Begun(_) => {
                self.calling.queue.add(position, catalog.grouping(tool));
            }
        }
    }

    /// The next answer: of an earlier life as long as there is one, then anew.
    async fn settle(&mut self) -> Result<Next> {
        if let Some(settled) = self.recall.settled.pop_front() {
            return self.again(settled).map(Next::Settled);
        }
        if let Some((position, seq)) = self.calling.doubtful.pop_front() {
            return self.give_up(position, seq).map(Next::Settled);
        }
        loop {
            self.check_wall()?;
            self.begin_what_may()?;
            let due = self.due();
            if self.is_rested(due) {
                return self.rested(due).map(Next::Settled);
            }
            if self.calling.running.is_empty()
                && let Some(next) = self.idle(due)?
            {
                return Ok(next);
            }
            let clock = self.script.station.gate.journal().clock().clone();
            let rested = async {
                match due {
                    Some(due) => self.script.rest_over(&clock, due).await,
                    None => std::future::pending().await,
                }
            };
            let end = self.wall();
            let wall = async {
                match end {
                    Some(end) => rest::until_steady(&clock, end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.script.tasks.cancelled() => {
                    return Err(Error::new(Code::Cancelled, "the run was cancelled"));
                }
                Some((position, outcome)) = self.calling.running.next() => {
                    if let Some(settled) = self.ended(position, outcome)? {
                        return Ok(Next::Settled(settled));
                    }
                }
                () = rested => return self.rested(due).map(Next::Settled),
                () = wall => {}
            }
        }
    }

    /// An answer of an earlier life, to what must have been asked by now.
    fn again(&mut self, mut settled: Settled) -> Result<Settled> {
        let rests = settled.answered == Answered::Rested;
        let open = self.wishes.remove(&settled.position);
        let fits = match open.as_ref().map(|open| &open.wish) {
            Some(Wish::Call { tool, .. }) => {
                self.note_held(tool, &settled.answered);
                !rests
            }
            Some(Wish::Rest { due }) => {
                self.rests.remove(&(*due, settled.position));
                rests
            }
            None => false,
        };
        let (Some(open), true) = (open, fits) else {
            let what = format!(
                "the script has not asked for what was answered at position {}",
                settled.position
            );
            return Err(diverged(&what));
        };
        settled.label = settled.label.join(&open.leaves(&settled.answered));
        Ok(settled)
    }

    /// Records that nobody knows how a call of an earlier life ended; that is its answer.
    fn give_up(&mut self, position: u32, of: Seq) -> Result<Settled> {
        let open = self.wishes.remove(&position);
        let answered = in_doubt(match open.as_ref().map(|open| &open.wish) {
            Some(Wish::Call { tool, .. }) => tool.as_str(),
            Some(Wish::Rest { .. }) | None => "",
        });
        let left = open.map_or_else(Label::default, |open| open.leaves(&answered));
        let label = self.label.join(&left);
        let caller = Caller {
            label: label.clone(),
            ..self.script.caller.clone()
        };
        let at = self.script.station.gate.in_doubt(&caller, of)?;
        Ok(Settled {
            position,
            seq: of,
            at,
            answered,
            label,
        })
    }

    /// Begins what may begin. What may not since a person is asked about a call before it is asked about as well.
    fn begin_what_may(&mut self) -> Result<()> {
        if self.is_strangers(&self.label) {
            self.calling.queue.guard();
        }
        // It asks the life about its calls, and changes meanwhile.
        let mut queue = std::mem::take(&mut self.calling.queue);
        while let Some(position) = queue.begin(|next| self.timing(next)) {
            if let Some((caller, request)) = self.call_at(position) {
                let (station, tasks) = (self.script.station.clone(), self.script.tasks.clone());
                self.calling.running.push(Box::pin(async move {
                    (position, dispatch(station, tasks, caller, request).await)
                }));
            }
        }
        self.calling.queue = queue;
        while let Some(position) = self.calling.queue.ahead() {
            let room = self.calling.asked.len() < QUESTIONS_TOGETHER;
            if let Some((caller, request)) = self.call_at(position)
                && room
                && let Some(asked) = ask_ahead(self.script.station, &caller, &request)?
            {
                self.calling.asked.insert(position, asked);
            }
        }
        Ok(())
    }

    /// The call that the script wishes for at this position, and as whom.
    fn call_at(&self, position: u32) -> Option<(Caller, Request)> {
        let Open { wish, under, .. } = self.wishes.get(&position)?;
        let Wish::Call { tool, args } = wish else {
            return None;
        };
        let caller = Caller {
            place: self.script.caller.place.inside(position),
            label: under.clone(),
            deadline: Deadline::after_ms(CALL_TIMEOUT_MS_MAX),
            ..self.wisher.clone()
        };
        let request = Request {
            tool: tool.clone(),
            args: args.clone(),
        };
        Some((caller, request))
    }

    /// What to tell the script of a call that has ended; nothing where a person has to say first.
    fn ended(&mut self, position: u32, outcome: Outcome) -> Result<Option<Settled>> {
        match &outcome.result {
            Err(error) if error.code() == Code::Asked => self.calling.queue.ask(position),
            Ok(_) | Err(_) => self.calling.queue.end(position),
        }
        let answered = match outcome.result {
            Ok(value) => Answered::Value(value),
            Err(error) if error.code() == Code::Asked => {
                self.calling.asked.insert(position, error);
                return Ok(None);
            }
            // Without a record there is no answer that could be given again.
            Err(error) if outcome.at == 0 => return Err(error),
            Err(error) if error.code() == Code::InDoubt || error.code().told_to_model() => {
                let message = error.message();
                if !error.hints().is_empty() {
                    let hints = error.hints().to_vec();
                    self.calling.failed.push((message.to_owned(), hints));
                }
                Answered::failed(
                    error.code(),
                    message,
                    error.issue_list(),
                    error.is_retryable(),
                )
            }
            Err(error) => return Err(error),
        };
        let open = self.wishes.remove(&position);
        let left = open.map_or_else(Label::default, |open| open.leaves(&answered));
        self.note_held(&outcome.tool, &answered);
        Ok(Some(Settled {
            position,
            seq: outcome.seq,
            at: outcome.at,
            answered,
            label: outcome.label.join(&left),
        }))
    }

    /// Remembers what the script was given a handle of, in place of the outcome.
    fn note_held(&mut self, tool: &str, answered: &Answered) {
        if let Answered::Value(value) = answered
            && let Some(handle) = handle_in(value)
            && is_handles_name(handle)
            && self.calling.held.len() < HELD_NAMED
        {
            let held = (tool.to_owned(), handle.to_owned());
            self.calling.held.push(held);
        }
    }

    /// The rest that is over first.
    fn due(&self) -> Option<(u32, u64)> {
        self.rests.first().map(|(due, position)| (*position, *due))
    }

    fn rested(&mut self, due: Option<(u32, u64)>) -> Result<Settled> {
        let (position, due) = due.unwrap_or_default();
        self.wishes.remove(&position);
        self.rests.remove(&(due, position));
        // A script that only rests fills the journal as well.
        self.script.station.gate.check_run(&self.script.caller)?;
        let place = self.script.caller.place.inside(position);
        let journal = self.script.station.gate.journal();
        let run = &self.script.caller.run;
        let stamp = journal.append(run, self.wisher.parent, Event::Rested { place })?;
        Ok(Settled {
            position,
            seq: 0,
            at: stamp.at,
            answered: Answered::Rested,
            label: self.label.clone(),
        })
    }

    /// What happens while no call runs: a short rest is sat out, a long one needs no guest, and for an
    /// answer by a person the run is left.
    fn idle(&self, due: Option<(u32, u64)>) -> Result<Option<Next>> {
        let clock = self.script.station.gate.journal().clock();
        let (now, steady_now) = (clock.now_ms(), clock.steady_ms());
        let end = self.wall().unwrap_or(u64::MAX);
        let rest = due.map(|(position, due)| {
            let steady = self.script.waited.over(position);
            let rest_ms = steady.saturating_sub(steady_now);
            (due, rest_ms.min(due.saturating_sub(now)))
        });
        let wall_ms = end.saturating_sub(steady_now);
        match rest {
            Some((_, rest_ms)) if self.is_sat_out(rest_ms.min(wall_ms)) => Ok(None),
            _ if !self.calling.asked.is_empty() => Err(self.waits()),
            Some((until, rest_ms)) if rest_ms <= wall_ms => Ok(Some(Next::Rest {
                until,
                steady: steady_now.saturating_add(rest_ms),
            })),
            Some(_) => Ok(Some(Next::Rest {
                until: now.saturating_add(wall_ms),
                steady: end,
            })),
            None => Err(Error::new(
                Code::Stalled,
                "the script waits, and nothing that it waits for is under way",
            )),
        }
    }

    /// Whether the guest stays meanwhile. When it is replayed, it stays where it did: no time passes then.
    fn is_sat_out(&self, rest_ms: u64) -> bool {
        let station = self.script.station;
        if let Some(recorded) = &station.recorded {
            return recorded.rested();
        }
        // Running it again costs what it has cost so far, so a busy script keeps its guest for longer.
        let again_ms = self.spent.fuel / SCRIPT_FUEL_PER_MS;
        let sat_out_ms = SCRIPT_IDLE_MS.max(again_ms.saturating_mul(SCRIPT_IDLE_PER_WORK));
        rest_ms <= sat_out_ms
    }

    /// Whether that rest was waited for without a guest, and is over whatever a clock that was set back shows.
    fn is_rested(&self, due: Option<(u32, u64)>) -> bool {
        let rested = self.script.waited.rested.load(Ordering::Acquire);
        due.is_some_and(|(_, due)| due == rested)
    }

    /// When the script must be over, by the steady time of the clock: what a wall clock shows is asked once in a process.
    fn wall(&self) -> Option<u64> {
        let wall_ms = self.script.station.gate.policy().scripts.wall_ms?;
        let clock = self.script.station.gate.journal().clock();
        let wall = self.script.waited.wall.get_or_init(|| {
            let passed = clock.now_ms().saturating_sub(self.begun.now);
            let rest_ms = wall_ms.saturating_sub(passed);
            clock.steady_ms().saturating_add(rest_ms)
        });
        Some(*wall)
    }

    fn check_wall(&self) -> Result<()> {
        let now = self.script.station.gate.journal().clock().steady_ms();
        if self.wall().is_none_or(|end| now < end) {
            return Ok(());
        }
        let wall_ms = self.script.station.gate.policy().scripts.wall_ms;
        Err(Bound::ScriptWall.passed("the script", wall_ms.unwrap_or_default()))
    }

    /// All questions of the script, as one error.
    fn waits(&self) -> Error {
        all_asked("the script", self.calling.asked.values())
            .unwrap_or_else(|| Error::bug("a script waits for nobody"))
    }
}

/// What a script is told next, or that there is nothing to tell for a while.
enum Next {
    Settled(Settled),
    Rest { until: u64, steady: u64 },
}

/// The script's value: JSON of bounded size.
fn value_of(text: &str) -> Result<Value> {
    let limit = usize::try_from(SCRIPT_JSON_BYTES).unwrap_or(usize::MAX);
    if text.len() > limit {
        return Err(Error::too_big("the script's value", limit, text.len()).hint(FIXED));
    }
    json::parse(text).map_err(|why| {
        let what = format!("the script's value is no JSON that is taken: {why}");
        Error::new(Code::NotJson, what)
    })
}

impl Life<'_> {
    /// Starts the script in a fresh guest. What is no JavaScript may be TypeScript, and whoever reads that
    /// says best what is wrong with it.
    async fn start(&mut self, engine: &ScriptEngine) -> Result<(ScriptGuest, Result<Step>)> {
        let source = self.script.source.as_str();
        let (guest, said) = self.script.start_with(engine, &self.begun, source).await?;
        let error = match said {
            Ok(Step {
                progress: Progress::Failed(broken),
                ..
            }) if broken.code == Code::BadInput => broken.error(),
            said @ (Ok(_) | Err(_)) => return Ok((guest, said)),
        };
        self.spent = guest.spent();
        // Its slot is needed for reading.
        drop(guest);
        let (station, typed) = (
            self.script.station,
            (source, &self.script.caller.known.cpu_time),
        );
        let blanking = station.scripts.blank(&station.quarantine, typed);
        let read = self
            .script
            .tasks
            .unless_cancelled(async { Ok(blanking.await) });
        let (blanked, cpu_ms) = read.await?;
        self.spent.cpu_ms = self.spent.cpu_ms.saturating_add(cpu_ms);
        match blanked {
            Ok(blanked) if blanked != source => {
                self.script.start_with(engine, &self.begun, &blanked).await
            }
            Err(better)
                if matches!(
                    better.code(),
                    Code::BadInput
                        | Code::Cancelled
                        | Code::Busy
                        | Code::DiskFailed
                        | Code::OverBudget
                ) =>
            {
                Err(better)
            }
            Ok(_) | Err(_) => Err(error),
        }
    }
}
