//! Sessions: runs of one user that share context. A session is its runs and nothing else; it begins with its first
//! run, and each run that joins it is told what was said in those before, under all their influence.
//!
//! One run of a session goes on at a time. What was said in a run that was cancelled stays in the journal, and no later
//! run is told it (O-22).

use std::collections::VecDeque;

use super::adopted;
use super::brought::{brought_in, goal_with};
use super::host::{Goal, Host};
use super::known;
use super::lanes::Held;
use super::left::{Wished, wished_in};
use super::rest;
use crate::gate::journal::{Journal, Provenance};
use crate::guests::tasks::Tasks;
use crate::rules::context::told::Context;
use crate::rules::flow::given::Cards;
use crate::rules::flow::handles::Handles;
use crate::rules::flow::ledger::Ledger;
use crate::rules::flow::lines::Flows;
use crate::rules::pace::Pace;
use crate::rules::plan::{Fared, Plan, Seen};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Brought, Cause, Compacted, EffectKind, End, Event, InSession, Record, Verdict,
};
use crate::words::id::{Digest, Place, RunId};
use crate::words::label::Label;
use crate::words::limits::SESSION_RUNS;
use crate::words::message::{Message, Observation};
use crate::words::session::LOCAL;
pub use crate::words::session::Session;

/// How a run joins a session.
#[derive(Clone, Debug)]
pub struct Joining {
    /// The session; it begins with this run, where there is none yet.
    pub session: Session,
    /// Whether it waits while another run of the session goes on; it is refused otherwise.
    pub queue: bool,
    /// Whether older turns are folded into a summary first, however few they are.
    pub compact: bool,
}

/// What a run is told of those before it in its session.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// Its place.
    pub(super) place: Option<Box<InSession>>,
    /// What its user typed before.
    pub(super) typed: Vec<String>,
    /// What has entered the runs before.
    pub(super) heard: Ledger,
    /// What is held of it.
    pub(super) handles: Handles,
    /// Turns that were taken before.
    pub(super) turns: u32,
    messages: Vec<Message>,
    /// What was behind all that was said.
    label: Label,
    /// What of that later runs are told.
    told: Label,
    folded: Option<Compacted>,
    compact: bool,
}

impl Joining {
    /// Joins it at once, or not at all.
    #[must_use]
    pub fn now(session: Session) -> Self {
        Self {
            session,
            queue: false,
            compact: false,
        }
    }
}

impl Earlier {
    /// The context that a run with these records goes on with.
    pub(super) fn context(&mut self, records: &[Record]) -> Context {
        let messages = std::mem::take(&mut self.messages);
        let mut context = Context::after(messages, self.told.clone());
        if let Some(folded) = &self.folded {
            context.folded(folded);
        }
        if self.compact {
            context.ask();
        }
        context.recall(records)
    }

    /// As the run with these records began with it.
    pub(super) fn begun_with(mut self, records: &[Record]) -> Self {
        self.compact = records.iter().any(was_asked_for);
        self
    }

    /// The next run that was ended. One that was cancelled leaves nothing.
    fn take(&mut self, flows: &Flows, run: &RunId, records: &[Record]) -> Result<()> {
        if is_cancelled(records) {
            return Ok(());
        }
        self.messages.extend(messages_of(flows, records));
        if let Wished::Goal(goal) = wished_in(run, records)? {
            self.typed.extend(goal.said().map(str::to_owned));
        }
        let withheld = |observation: &Observation| is_withheld(flows, observation);
        for record in records {
            self.label = under(&self.label, &record.event, |_| false);
            self.told = under(&self.told, &record.event, withheld);
            if let Event::Compacted(compacted) = &record.event {
                self.folded = Some(Compacted::clone(compacted));
            }
        }
        if let Some(left) = cut_off(flows, records) {
            self.label = self.label.join(&left);
            self.told = self.told.join(&left);
        }
        Ok(())
    }

    /// Without what no model may read. No model has: the run that was to be told of it ended with that, and so would each one
    /// after it.
    fn withhold(&mut self, flows: &Flows) {
        for message in &mut self.messages {
            if let Message::Tool { observation, .. } = message
                && is_withheld(flows, observation)
            {
                WITHHELD.clone_into(&mut observation.text);
                observation.ok = false;
                observation.label = Label::default();
                observation.flags.clear();
            }
        }
    }

    /// All that was said in the runs before, in one digest. What of it is withheld is for the policy of now to say.
    fn digest(&self) -> Digest {
        let summary = self.folded.as_ref();
        let summary = summary.map(|folded| (&folded.summary, folded.through));
        let all = serde_json::json!([self.messages, self.label, summary]);
        Digest::of(all.to_string().as_bytes())
    }
}

impl Host {
    /// Pursues a goal in a session.
    ///
    /// # Errors
    /// `Busy` where another run of the session goes on or is left; `OverBudget` where the session has too many;
    /// `BadInput` for a session that is named by a secret, or whose user is; `Corrupt` where one of them is not as it was written; and as [`Host::pursue`].
    pub async fn pursue_in(&self, joining: &Joining, goal: Goal, tasks: &Tasks) -> Result<String> {
        let hold = self.hold_session(joining, tasks).await?;
        let answer = async {
            let mut earlier = self.earlier(self.journal(), &joining.session, None).await?;
            earlier.compact = joining.compact;
            self.pursue_after(goal, earlier, tasks).await
        };
        let answer = answer.await;
        hold.end();
        answer
    }

    async fn hold_session(&self, joining: &Joining, tasks: &Tasks) -> Result<Held> {
        let Joining { session, .. } = joining;
        // It is looked up by these names, which are kept as they are.
        for (what, name) in [("a session", session.name()), ("a user", session.user())] {
            if self.station.scrub.known().finds_in(name.as_bytes()) {
                let what = format!("the name of {what} holds a secret of the vault");
                return Err(Error::bad_input(what).hint("name it in words of its own"));
            }
        }
        let goes_on = || {
            busy(&joining.session, "another run of it goes on")
                .hint("wait for its end, or say `--queue`, over HTTP `\"queue\": true`")
        };
        let turn = match self.kept.lanes.try_take(&joining.session) {
            Some(turn) => turn,
            None if joining.queue => tokio::select! {
                biased;
                () = tasks.given_up() => return Err(before_it_began()),
                turn = self.kept.lanes.take(&joining.session) => turn,
            },
            None => return Err(goes_on()),
        };
        loop {
            if let Some(hold) = self.kept.hold_session(&joining.session)? {
                return Ok(Held::new(hold, turn));
            }
            if !joining.queue {
                return Err(goes_on());
            }
            if tasks.is_given_up() {
                return Err(before_it_began());
            }
            // Another process has it, and wakes nobody here.
            rest::a_moment().await;
        }
    }

    /// What a run that goes on is told of those before it, and its hold on their session; nothing for one that is in
    /// no session.
    ///
    /// # Errors
    /// As [`Host::pursue_in`].
    pub(super) async fn rejoin(&self, records: &[Record]) -> Result<(Earlier, Option<Held>)> {
        let Some(place) = place_in(records) else {
            return Ok((Earlier::default(), None));
        };
        let session = Session::of(&place.user, &place.name)?;
        let turn = self.kept.lanes.try_take(&session);
        let hold = match &turn {
            Some(_) => self.kept.hold_session(&session)?,
            None => None,
        };
        let (Some(hold), Some(turn)) = (hold, turn) else {
            return Err(busy(&session, "another run of it goes on"));
        };
        let hold = Held::new(hold, turn);
        match self.before(records).await {
            Ok(earlier) => Ok((earlier, Some(hold))),
            Err(error) => {
                hold.end();
                Err(error)
            }
        }
    }

    /// What a run that is on record was told of those before it in its session; nothing for one that is in none.
    ///
    /// # Errors
    /// As [`Host::pursue_in`].
    pub async fn before(&self, records: &[Record]) -> Result<Earlier> {
        let Some(place) = place_in(records) else {
            return Ok(Earlier::default());
        };
        if let Some(retold) = &self.retold {
            return Ok(retold.clone());
        }
        let session = Session::of(&place.user, &place.name)?;
        let earlier = self
            .earlier(self.journal(), &session, Some(place.place))
            .await?;
        if earlier.place.as_deref() != Some(place) {
            let what = format!(
                "the runs of {session} before this one are not what they were when it began"
            );
            return Err(Error::new(Code::Corrupt, what).hint("lazaret runs verify --all"));
        }
        Ok(earlier)
    }

    /// The same by the policy of this host, of a run and a session that another journal has. What is held may have other
    /// cards by another policy, so that it was told something else: a run that stands at its place comes after those before.
    ///
    /// # Errors
    /// `NotFound` where its session is not there; `Corrupt` where one of those runs is not as it was written.
    pub async fn before_in(&self, journal: &Journal, records: &[Record]) -> Result<Earlier> {
        let (Some(place), Some(first)) = (place_in(records), records.first()) else {
            return Ok(Earlier::default());
        };
        let session = Session::of(&place.user, &place.name)?;
        let earlier = self.earlier(journal, &session, Some(place.place)).await;
        let runs = journal.session(&session).await?;
        let at = usize::try_from(place.place).ok();
        if at.and_then(|at| runs.get(at)) == Some(&first.run) {
            return earlier;
        }
        // One that was exported is a copy, and may be of a session that goes by the same name elsewhere.
        match earlier {
            Ok(earlier) if earlier.place.as_deref() == Some(place) => Ok(earlier),
            Ok(_) | Err(_) => {
                let what = format!(
                    "it was told what was said in {session} before it, whose runs are not among those that began here"
                );
                Err(Error::new(Code::NotFound, what)
                    .hint("judge it where its session is, by its name"))
            }
        }
    }

    /// What the runs of a session leave in a journal: all of them, or those before a place.
    async fn earlier(
        &self,
        journal: &Journal,
        session: &Session,
        before: Option<u64>,
    ) -> Result<Earlier> {
        let mut runs: VecDeque<RunId> = journal.session(session).await?.into();
        let most = before.map_or(usize::MAX, |place| {
            usize::try_from(place).unwrap_or(usize::MAX)
        });
        runs.truncate(most);
        if runs.len() >= SESSION_RUNS {
            let what = format!("{session} has {SESSION_RUNS} runs, and takes no more");
            return Err(Error::new(Code::OverBudget, what).hint("begin another session"));
        }
        let flows = &self.policy().flows;
        let mut earlier = Earlier::default();
        let mut place = 0;
        for run in runs {
            let records = run_of(journal, session, (&run, place)).await?;
            earlier.turns = earlier.turns.saturating_add(turns_in(&records));
            earlier.take(flows, &run, &records)?;
            if !is_cancelled(&records) {
                let Earlier {
                    typed,
                    heard,
                    handles,
                    ..
                } = &mut earlier;
                known::hold_again(&self.station, typed, (heard, handles), &records);
            }
            place += 1;
        }
        earlier.handles.shed();
        earlier.place = Some(Box::new(InSession {
            name: session.name().to_owned(),
            user: session.user().to_owned(),
            place,
            earlier: earlier.digest(),
        }));
        earlier.withhold(flows);
        Ok(earlier)
    }
}

/// The cards of what a run that is on record may have held from the runs before it in its session; none of one that is in no
/// session. What stands in a run that is not as it was written counts for nothing.
///
/// # Errors
/// `DiskFailed`.
pub async fn cards_before(journal: &Journal, records: &[Record]) -> Result<Cards> {
    let mut cards = Cards::default();
    let Some(place) = place_in(records) else {
        return Ok(cards);
    };
    let (Ok(session), Ok(at)) = (
        Session::of(&place.user, &place.name),
        usize::try_from(place.place),
    ) else {
        return Ok(cards);
    };
    let runs = journal.session(&session).await?;
    // A copy from elsewhere may be of another session that goes by the same name.
    if !runs
        .get(at)
        .is_some_and(|run| is_or_comes_from(records, run))
    {
        return Ok(cards);
    }
    for (place, run) in (0..).zip(runs.iter().take(at)) {
        match run_of(journal, &session, (run, place)).await {
            Ok(records) if is_cancelled(&records) => {}
            Ok(records) => records
                .into_iter()
                .for_each(|record| cards.see(&journal.shown(record))),
            Err(error) if matches!(error.code(), Code::Corrupt | Code::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cards)
}

/// Whether these are the records of a run, or of one that began as a copy of it.
fn is_or_comes_from(records: &[Record], run: &RunId) -> bool {
    let Some(first) = records.first() else {
        return false;
    };
    let is_copy = matches!(&first.event, Event::Started(started)
        if started.forked.as_ref().is_some_and(|from| from.run == *run));
    first.run == *run || is_copy
}

/// The records of a run that has ended, at its place in the session, as a run after it takes them.
async fn run_of(
    journal: &Journal,
    session: &Session,
    (run, place): (&RunId, u64),
) -> Result<Vec<Record>> {
    let (mut records, verified) = journal.verified(run).await?;
    let corrupt = |why: &str| {
        let what = format!("run `{run}` of {session} {why}");
        Err(Error::new(Code::Corrupt, what).hint(format!("lazaret runs verify {run}")))
    };
    if let Some((seq, why)) = verified.broken {
        return corrupt(&format!("is not as it was written: record {seq} {why}"));
    }
    if verified.provenance != Provenance::Here || verified.unchained > 0 {
        return corrupt("was not written here");
    }
    // That the journal found it there says nothing: whoever can write its file can mend its index.
    let is_of = |at: &InSession| at.user == session.user() && at.name == session.name();
    if !place_in(&records).is_some_and(|at| is_of(at) && at.place == place) {
        return corrupt(&format!(
            "stands where run number {place} belongs, which is missing"
        ));
    }
    if !verified.stopped {
        return Err(busy(session, &format!("its run `{run}` has not ended"))
            .hint(format!("go on with it: lazaret runs resume {run}"))
            .hint(format!("or end it: lazaret runs cancel {run}")));
    }
    adopted::afterwards(&mut records);
    Ok(records)
}

/// What a new run brings along must not be called as something that its session holds.
///
/// # Errors
/// `BadInput`.
pub(super) fn check_names(earlier: &Earlier, brought: &[Brought]) -> Result<()> {
    let held = |one: &&Brought| earlier.handles.knows(&one.name);
    match brought.iter().find(held) {
        None => Ok(()),
        Some(one) => {
            let what = format!("the session has called something `{}` already", one.name);
            let hint = format!("give it another name: {}:{}=NAME", one.from, one.handle);
            Err(Error::bad_input(what).hint(hint))
        }
    }
}

fn before_it_began() -> Error {
    Error::new(Code::Cancelled, "the run was cancelled before it began")
}

fn busy(session: &Session, why: &str) -> Error {
    Error::new(Code::Busy, format!("{session} is busy: {why}"))
}

/// Whether somebody has asked for a summary.
fn was_asked_for(record: &Record) -> bool {
    matches!(&record.event, Event::Compacted(compacted) if compacted.cause == Cause::Asked)
}

/// The place of a run in its session, if it is in one.
fn place_in(records: &[Record]) -> Option<&InSession> {
    match records.first().map(|first| &first.event) {
        Some(Event::Started(started)) => started.session.as_deref(),
        Some(_) | None => None,
    }
}

/// Turns of a run that has ended, however it did: its models were asked.
fn turns_in(records: &[Record]) -> u32 {
    match records.last().map(|last| &last.event) {
        Some(Event::Stopped(stopped)) => stopped.turns,
        Some(_) | None => 0,
    }
}

/// Whose run it is that has these records.
#[must_use]
pub fn user_in(records: &[Record]) -> &str {
    place_in(records).map_or(LOCAL, |place| place.user.as_str())
}

fn is_cancelled(records: &[Record]) -> bool {
    let Some(Event::Stopped(stopped)) = records.last().map(|last| &last.event) else {
        return false;
    };
    matches!(stopped.end, End::Failed { code, .. } if code == Code::Cancelled)
}

/// What was said in a run that has ended, as its plan had it: that is what a summary counts by. Calls that nothing came of
/// are left out with the reply that wished for them.
fn messages_of(flows: &Flows, records: &[Record]) -> Vec<Message> {
    let (goal, attached) = match records.first().map(|first| &first.event) {
        Some(Event::Started(started)) => (
            goal_with(&started.goal, &brought_in(records), flows),
            started.attached.as_slice(),
        ),
        Some(_) | None => Default::default(),
    };
    // Their bytes are on no record, so that no later run is shown them (O-29).
    let plan = Plan::new(&goal, Label::default(), u32::MAX, Pace::default());
    let mut plan = plan.with(attached);
    let mut seen = Vec::new();
    for record in records {
        if let Event::Prompted { tools, .. } = &record.event {
            // Whoever is asked again had an answer that did not stand.
            if plan.answer().is_some() {
                plan.again(AGAIN.to_owned());
            }
            plan.offer(tools);
        }
        if let Event::Replied { reply, .. } = &record.event {
            plan.replied(reply.clone());
        }
        if let Event::Observed { observation, .. } = &record.event {
            seen.push(Seen {
                observation: observation.clone(),
                fared: Fared::Well,
                seq: record.seq,
            });
            if seen.len() == plan.waiting().len() {
                plan.observed(std::mem::take(&mut seen));
            }
        }
    }
    let mut messages = plan.messages().to_vec();
    if !plan.waiting().is_empty() {
        messages.pop();
    }
    messages
}

/// What a model was told of an answer that did not stand, as a later run is told.
const AGAIN: &str = "That did not fit the JSON Schema of the answer.";

/// Said in a later run in place of what no model may read.
const WITHHELD: &str = "This was withheld: it is secret, and goes to no model.";

/// Whether a later run is told nothing of what came of a call.
fn is_withheld(flows: &Flows, observation: &Observation) -> bool {
    flows.classes.holds_secret(&observation.label)
}

/// What is told of the calls of a last reply that were cut off before their model was told of them: how many handles they have
/// made and which bits they have spent is taken over by the next run, and a script chooses both by what it has read.
pub(super) fn cut_off(flows: &Flows, records: &[Record]) -> Option<Label> {
    let mut latest = records.iter().enumerate().rev();
    let (at, turn, calls) = latest.find_map(|(at, record)| {
        let Event::Replied { turn, reply, .. } = &record.event else {
            return None;
        };
        Some((at, Place::of_turn(*turn), &reply.calls))
    })?;
    let after = || records.iter().skip(at);
    let told = || {
        after().filter_map(|record| {
            let Event::Observed { call, .. } = &record.event else {
                return None;
            };
            Some(call)
        })
    };
    // A model may give several calls one name.
    let is_told = |position: usize| {
        calls.get(position).is_some_and(|call| {
            let before = calls.iter().take(position);
            let before = before.filter(|other| other.id == call.id).count();
            told().filter(|told| **told == call.id).count() > before
        })
    };
    let is_cut = |record: &Record| {
        let Event::Judged(judged) = &record.event else {
            return false;
        };
        let position = judged.place.position_in(&turn);
        judged.effect == EffectKind::Call
            && matches!(judged.verdict, Verdict::Allow { .. })
            && position.is_some_and(|position| !usize::try_from(position).is_ok_and(is_told))
    };
    if !after().any(is_cut) {
        return None;
    }
    let told = after().filter_map(|record| {
        let Event::Finished(finished) = &record.event else {
            return None;
        };
        Some(flows.classes.told_of(&finished.label))
    });
    Some(told.fold(Label::default(), |all, told| all.join(&told)))
}

/// What a session is under the influence of once this has happened in a run of it: a run may have ended before any answer
/// that bears the label of what it has read. What is withheld has none.
fn under(label: &Label, event: &Event, is_withheld: impl Fn(&Observation) -> bool) -> Label {
    match event {
        Event::Started(started) => label.join(&started.influence()),
        Event::Replied { label: reply, .. } => label.join(reply),
        Event::Observed { observation, .. } if is_withheld(observation) => label.clone(),
        Event::Observed { observation, .. } => label.join(&observation.label),
        Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Attempted(_)
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Stopped(_) => label.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::{Content, Narrowed, Started, Surface};
    use crate::words::id::ToolName;
    use crate::words::label::{Sort, Source};
    use crate::words::message::Reply;

    /// Each alone: of a run that failed in between there is nothing else.
    #[test]
    fn a_session_is_under_the_influence_of_whatever_its_runs_have_read() {
        let page = Label::of(Source::new(Sort::Web, "https://a.test"));
        let started = Started {
            surface: Surface::Cli,
            subject: "agent".to_owned(),
            goal: "go".to_owned(),
            label: page.clone(),
            narrowed: Narrowed::default(),
            ask_expires_ms: None,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: Vec::new(),
        };
        let replied = Event::Replied {
            turn: 1,
            reply: Reply::default(),
            label: page.clone(),
        };
        let observed = Event::Observed {
            call: "c1".to_owned(),
            tool: "web.get_page".to_owned(),
            observation: Observation {
                text: "said".to_owned(),
                ok: true,
                label: page.clone(),
                flags: Vec::new(),
            },
            failed: None,
            kept: None,
        };
        let user = Label::of(Source::user());
        for event in [Event::Started(started), replied, observed] {
            assert_eq!(
                under(&user, &event, |_| false),
                user.join(&page),
                "{event:?}"
            );
            let is_observed = matches!(event, Event::Observed { .. });
            let withheld = under(&user, &event, |_| true);
            assert_eq!(withheld == user, is_observed, "{event:?}");
        }
        let resumed = Event::Resumed { traced: Vec::new() };
        assert_eq!(under(&user, &resumed, |_| false), user);
    }

    /// Nor the name of what it has let go of, which stands in what was said.
    #[test]
    fn what_is_brought_takes_no_name_that_the_session_has_given() {
        let mut earlier = Earlier::default();
        earlier.handles.reserve("h1", &Label::default());
        let brought = |name: &str| Brought {
            name: name.to_owned(),
            from: RunId::known("run"),
            handle: "h3".to_owned(),
            tool: ToolName::parse("a.b").unwrap(),
            content: Content::Empty,
            label: Label::default(),
        };
        assert!(check_names(&earlier, &[brought("letter")]).is_ok());
        let error = check_names(&earlier, &[brought("letter"), brought("h1")]).unwrap_err();
        assert_eq!(error.code(), Code::BadInput);
        assert!(error.message().contains("`h1`"), "{error:?}");
    }

    /// The next run takes over how many handles a script has made, of which nobody was told before its run ended.
    #[test]
    fn what_was_cut_off_before_its_model_was_told_of_it_tells_something_still() {
        let records = |events: &[serde_json::Value]| -> Vec<Record> {
            let run = "20261127-050451-5c2432432b65";
            let record = |(seq, event): (usize, &serde_json::Value)| {
                let mut record = event.clone();
                record["run"] = run.into();
                record["seq"] = seq.into();
                record["at"] = 1.into();
                serde_json::from_value(record).unwrap()
            };
            events.iter().enumerate().map(record).collect()
        };
        let judged = |parent: u64, place: &[u32], verdict: &str| {
            serde_json::json!({"parent": parent, "event": "judged", "effect": "call", "subject": "a.b", "origin": "model",
                "place": place, "content": "empty", "label": ["user"],
                "verdict": {"verdict": verdict, "rule": "so", "reason": "so", "allow": []}})
        };
        let call = || serde_json::json!({"id": "c", "tool": "script.run", "args": {"json": {}}});
        let reply = serde_json::json!({"parent": 0, "event": "replied", "turn": 2, "label": ["user"],
            "reply": {"calls": [call(), call()], "stop": "calls",
                "usage": {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}}});
        let read = serde_json::json!({"parent": 2, "event": "finished", "of": 2, "end": "done", "content": "empty",
            "label": ["user", "file:inbox"], "spent": {"us": 1}});
        // Of a call that ended in an earlier life no judgement is the parent.
        let observed = serde_json::json!({"parent": 0, "event": "observed", "call": "c", "tool": "script.run",
            "observation": {"text": "3", "ok": true, "label": ["user"]}});
        let (first, inner, second) = (
            judged(0, &[2, 0], "allow"),
            judged(1, &[2, 0, 0], "allow"),
            judged(0, &[2, 1], "allow"),
        );
        let refused = judged(0, &[2, 1], "deny");
        let flows = Flows::default();
        for (after, cut) in [
            (vec![&first, &inner, &read], true),
            (vec![&first, &inner, &read, &observed], false),
            // Two calls of one name, of which one was told.
            (vec![&first, &inner, &read, &second, &observed], true),
            (
                vec![&first, &inner, &read, &second, &observed, &observed],
                false,
            ),
            (vec![&first, &inner, &read, &observed, &refused], false),
        ] {
            let events: Vec<_> = [&reply].into_iter().chain(after).cloned().collect();
            let told = cut_off(&flows, &records(&events)).map(|label| label.to_string());
            assert_eq!(
                told.as_deref(),
                cut.then_some("scalar:file:inbox"),
                "{events:?}"
            );
        }
    }
}
