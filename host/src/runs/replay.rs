//! Replaying: a run is run again, offline, and compared with its records one by one.
//!
//! Plan, context, verdicts, labels and scripts are computed anew, with the policy and the components of this host.
//! What came from outside comes from the records: replies, outcomes, answers, the time of each record, and where the
//! run was cut off. No guest runs but that of a script, no request leaves, no secret is needed. What guests wished in
//! turn is judged again by itself ([`Host::rejudge`]). The journal of the replay is in memory.

mod compare;
mod ends;
mod fork;
mod outside;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use self::compare::{plain, same, same_cut_off, top};
use self::outside::Outside;
use super::brought::brought_in;
use super::host::{Host, Records, Setup};
use super::left::{ABANDONED, Wished, wished_in};
use super::session::Earlier;
use crate::edges::vault::Vault;
use crate::gate::journal::Watcher;
use crate::guests::dispatch::Request;
use crate::guests::recorded::Recorded;
use crate::guests::tasks::Tasks;
use crate::rules::caller::Invocation;
use crate::rules::questions::{AskRules, Unattended};
use crate::rules::script::TOOL;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, End, Event, Question, Record, Sight, Verdict};
use crate::words::id::{RunId, Seq};
use crate::words::limits::REPLAY_IDLE_MS;
use crate::words::message::WishedArgs;

/// What came of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The run.
    pub run: RunId,
    /// Records that came as they stand in the journal.
    pub same: usize,
    /// Records inside of calls, which are judged again and do not come again.
    pub inner: usize,
    /// Judgements inside of calls that nobody can make again, since not all of them was kept.
    pub untold: usize,
    /// Where it went another way.
    pub diverged: Option<Diverged>,
}

/// Where a replay went another way.
#[derive(Debug)]
pub struct Diverged {
    /// The record of the run at which it did.
    pub seq: Seq,
    /// What stands there; nothing where the run has ended.
    pub expected: Option<Event>,
    /// What came; nothing where the replay has ended.
    pub came: Option<Event>,
    /// Why nothing came, or something else, where that is known.
    pub why: String,
}

impl Host {
    /// Replays a run of these records up to the end of a turn, or to its end. `earlier` is what it was told of its session
    /// ([`Host::before`]).
    ///
    /// # Errors
    /// `BadInput` for a run of which not all that it takes was kept; what opening a host says.
    pub async fn replay(
        mut setup: Setup,
        (records, earlier): (&[Record], Earlier),
        until: Option<u32>,
    ) -> Result<Replayed> {
        let all = records;
        let records = match until {
            Some(turn) => up_to(records, turn)?,
            None => records,
        };
        let Some(run) = records.first().map(|first| first.run.clone()) else {
            return Err(Error::bad_input("a run without records"));
        };
        // What was wished may stand behind that turn.
        let wish = wished_in(&run, all)?;
        let (expected, own) = top(records);
        let outside = Arc::new(Outside::of(&expected, (records, &own))?);
        attended(&mut setup.policy.asks, records);
        // How much it takes is another each time, so what it may is not measured again: it ends where it did.
        (
            setup.policy.bounds.run.cpu_ms,
            setup.policy.bounds.run.journal_bytes,
        ) = (u64::MAX, u64::MAX);
        setup.vault = Vault::default();
        setup.places.records = Records::InMemory;
        // It was told when it happened.
        setup.places.collector = None;
        setup.places.clock = Clock::recorded(expected.iter().map(|record| record.at).collect());
        let mut host = Self::open(setup).await?.told_by(outside.clone())?;
        host.retold = Some(earlier);
        outside.recorded_in(host.journal(), &run);
        if let Some(asked) = records.iter().find_map(asked_in) {
            host.journal().name_with(asked.salt);
        }
        if let Some((from, why)) = ends::begun_last(&expected) {
            host.journal().spend(&run, (from, &why));
        }
        let again = Again {
            host: &host,
            watcher: host.watch(&run),
            run: run.clone(),
            wish,
            expected: &expected,
            own: &own,
            came: 0,
        };
        let (same, diverged) = again.all().await;
        let inner = records.len() - expected.len();
        let mut replayed = Replayed {
            run,
            same,
            inner,
            untold: 0,
            diverged,
        };
        if replayed.diverged.is_none() {
            host.judge_inner(records, &mut replayed).await?;
        }
        Ok(replayed)
    }

    /// With what came from outside as it was.
    fn told_by(mut self, recorded: Arc<dyn Recorded>) -> Result<Self> {
        let station = Arc::get_mut(&mut self.station);
        let station = station.ok_or_else(|| Error::bug("a host that was just opened is in use"))?;
        station.recorded = Some(recorded);
        Ok(self)
    }

    /// Judges again what guests have wished.
    async fn judge_inner(&self, records: &[Record], replayed: &mut Replayed) -> Result<()> {
        let is_inner = |seq: Seq| {
            let record = records.iter().find(|record| record.seq == seq);
            matches!(record.map(|record| &record.event), Some(Event::Judged(judged)) if !outside::is_top(judged))
        };
        let rejudged = self.rejudge(records).await?;
        let untold = rejudged.untold.iter().filter(|untold| is_inner(untold.seq));
        replayed.untold = untold.count();
        let change = rejudged
            .changes
            .into_iter()
            .find(|change| is_inner(change.seq));
        replayed.diverged = change.and_then(|change| {
            let record = records.iter().find(|record| record.seq == change.seq)?;
            let mut now = record.event.clone();
            if let Event::Judged(judged) = &mut now {
                judged.verdict = change.now;
            }
            Some(Diverged {
                seq: change.seq,
                expected: Some(record.event.clone()),
                came: Some(now),
                why: String::new(),
            })
        });
        Ok(())
    }
}

/// Whether somebody was there to answer, and how long that was waited for, was so of the process that began the run.
fn attended(asks: &mut AskRules, records: &[Record]) {
    if let Some(Event::Started(started)) = records.first().map(|first| &first.event) {
        asks.expires_ms = started.ask_expires_ms;
    }
    let nobody = |record: &Record| {
        matches!(&record.event, Event::Judged(judged)
            if matches!(&judged.verdict, Verdict::Deny(denial) if denial.rule == "unattended"))
    };
    asks.unattended = match records.iter().any(nobody) {
        true => Unattended::Deny,
        false => Unattended::Pause,
    };
}

/// The question that was asked there.
fn asked_in(record: &Record) -> Option<&Question> {
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    match &judged.verdict {
        Verdict::Ask(question) => Some(question),
        Verdict::Allow { .. } | Verdict::Deny(_) => None,
    }
}

/// The records up to the end of that turn.
///
/// # Errors
/// `BadInput` where there were not so many.
pub(super) fn up_to(records: &[Record], turn: u32) -> Result<&[Record]> {
    let mut turns = 0;
    for (place, record) in records.iter().enumerate() {
        if let Event::Prompted { turn: at, .. } = &record.event {
            if *at > turn {
                return Ok(records.get(..place).unwrap_or_default());
            }
            turns = *at;
        }
    }
    if turns < turn {
        let what = format!("the run has {turns} turns, so it cannot be followed to turn {turn}");
        return Err(Error::bad_input(what).hint("`lazaret runs show` shows them"));
    }
    Ok(records)
}

/// A run under way for the second time.
struct Again<'a> {
    host: &'a Host,
    watcher: Watcher,
    run: RunId,
    wish: Wished,
    /// What must come.
    expected: &'a [Record],
    /// The places of these in the run.
    own: &'a [Seq],
    /// How much of it has come.
    came: usize,
}

/// Why a replay does not go on.
enum Over {
    /// It went another way.
    Diverged(Box<Diverged>),
    /// Everything has come.
    Complete,
}

impl Again<'_> {
    /// Life after life, until everything has come or something else has.
    async fn all(mut self) -> (usize, Option<Diverged>) {
        loop {
            match self.life().await {
                Ok(()) => {}
                Err(Over::Complete) => return (self.came, None),
                Err(Over::Diverged(diverged)) => return (self.came, Some(*diverged)),
            }
        }
    }

    /// What happens next, up to where the run was left.
    async fn life(&mut self) -> Result<(), Over> {
        let Some(next) = self.expected.get(self.came) else {
            return Err(Over::Complete);
        };
        let end = self.end_of_life();
        self.host.journal().cut(&self.run, end);
        let (tasks, run, host) = (Tasks::new(), self.run.clone(), self.host);
        match &next.event {
            Event::Started(_) => {
                let wish = self.wish.clone();
                self.follow(
                    Box::pin(begin(host, wish, self.expected, &tasks)),
                    (end, &tasks),
                )
                .await
            }
            Event::Answered {
                question,
                answer,
                reason,
            } => {
                let (question, answer, reason) = (question.clone(), *answer, reason.clone());
                let work = async move {
                    let answered = host.answer_because(question.as_str(), answer, &reason);
                    answered.await.map(|_| ())
                };
                self.follow(Box::pin(work), (end, &tasks)).await
            }
            // Somebody has answered, and it was too late.
            Event::Expired { question } if self.is_paused_behind() => {
                let question = question.clone();
                let work = async move {
                    host.answer(question.as_str(), Answer::Deny)
                        .await
                        .map(|_| ())
                };
                self.follow(Box::pin(work), (end, &tasks)).await
            }
            Event::Stopped(_) => {
                let work = async move { host.abandon(&run).await };
                self.follow(Box::pin(work), (end, &tasks)).await
            }
            Event::Expired { .. } | Event::Resumed { .. } => {
                let work = async { host.resume(&run, &tasks).await.map(|_| ()) };
                self.follow(Box::pin(work), (end, &tasks)).await
            }
            Event::Brought(_)
            | Event::Prompted { .. }
            | Event::Replied { .. }
            | Event::Judged(_)
            | Event::Finished(_)
            | Event::Scripted(_)
            | Event::Rested { .. }
            | Event::Paused { .. }
            | Event::Attempted(_)
            | Event::Overspent(_)
            | Event::Compacted(_)
            | Event::Observed { .. } => Err(self.nothing_came(None)),
        }
    }

    fn is_paused_behind(&self) -> bool {
        let behind = self.expected.get(self.came + 1).map(|next| &next.event);
        matches!(behind, Some(Event::Paused { .. }))
    }

    /// How many records there are when the life that begins now is over: the next ones are somebody's answer, or a
    /// life after it.
    fn end_of_life(&self) -> usize {
        let from = self.came + 1;
        let later = self.expected.iter().enumerate().skip(from);
        let mut begins = later.filter(|(_, record)| match &record.event {
            Event::Answered { .. } | Event::Expired { .. } | Event::Resumed { .. } => true,
            Event::Stopped(stopped) => {
                matches!(&stopped.end, End::Failed { message, .. } if message == ABANDONED)
            }
            Event::Started(_)
            | Event::Brought(_)
            | Event::Prompted { .. }
            | Event::Replied { .. }
            | Event::Judged(_)
            | Event::Finished(_)
            | Event::Scripted(_)
            | Event::Rested { .. }
            | Event::Paused { .. }
            | Event::Attempted(_)
            | Event::Overspent(_)
            | Event::Compacted(_)
            | Event::Observed { .. } => false,
        });
        // Several expire together, and then the run goes on.
        let expires = matches!(
            self.expected.get(self.came).map(|next| &next.event),
            Some(Event::Expired { .. })
        );
        let first = match expires && !self.is_paused_behind() {
            true => {
                let resumed = self
                    .expected
                    .iter()
                    .skip(from)
                    .position(|record| matches!(record.event, Event::Resumed { .. }));
                let resumed = resumed.map_or(from, |at| from + at);
                begins.find(|(at, _)| *at > resumed)
            }
            false => begins.next(),
        };
        first.map_or(self.expected.len(), |(at, _)| at)
    }

    /// Works, and compares what comes, until so many records have come.
    async fn follow(
        &mut self,
        mut work: Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>,
        (end, tasks): (usize, &Tasks),
    ) -> Result<(), Over> {
        let mut ended = None;
        while self.came < end {
            self.cancel_if_it_was(tasks);
            let next = self.watcher.next().now_or_never();
            let sight = match (next, &ended) {
                (Some(sight), _) => sight,
                (None, Some(ended)) => return Err(self.nothing_came(Option::as_ref(ended))),
                (None, None) => {
                    let idle = Duration::from_millis(REPLAY_IDLE_MS);
                    tokio::select! {
                        biased;
                        done = &mut work => {
                            ended = Some(done.err());
                            continue;
                        }
                        sight = tokio::time::timeout(idle, self.watcher.next()) => match sight {
                            Ok(sight) => sight,
                            Err(_) => return Err(self.nothing_came(None)),
                        },
                    }
                }
            };
            if let Sight::Record(record) = sight {
                self.compare(record)?;
            }
        }
        // A life that was cut off is cut off again; one that has left the run lets go of it.
        if ended.is_none() && self.left_by_itself() {
            let _ = work.await;
        }
        Ok(())
    }

    /// Whether the last record says that the run was left in order, or has ended.
    fn left_by_itself(&self) -> bool {
        let last = self
            .came
            .checked_sub(1)
            .and_then(|last| self.expected.get(last));
        matches!(
            last.map(|last| &last.event),
            Some(Event::Paused { .. } | Event::Stopped(_))
        )
    }

    /// A run that was cancelled is cancelled at the same place: what was under way is cut off with it.
    fn cancel_if_it_was(&self, tasks: &Tasks) {
        let mut next = self.expected.iter().skip(self.came);
        let next = next.find(
            |record| !matches!(&record.event, Event::Finished(finished) if ends::is_open(finished)),
        );
        let end = match next.map(|next| &next.event) {
            Some(Event::Finished(finished)) => &finished.end,
            Some(Event::Stopped(stopped)) => &stopped.end,
            Some(_) | None => return,
        };
        if matches!(
            end,
            End::Failed {
                code: Code::Cancelled,
                ..
            }
        ) {
            tasks.cancel();
        }
    }

    fn compare(&mut self, record: Record) -> Result<(), Over> {
        let expected = self.expected.get(self.came);
        if let Some(expected) = expected
            && (same(expected, &record) || same_cut_off(self.expected, self.came, &record))
        {
            self.came += 1;
            return Ok(());
        }
        Err(Over::Diverged(Box::new(Diverged {
            seq: self.seq(),
            expected: expected.map(plain),
            came: Some(plain(&record)),
            why: expected.map_or(String::new(), |expected| compare::why(expected, &record)),
        })))
    }

    fn nothing_came(&self, error: Option<&Error>) -> Over {
        Over::Diverged(Box::new(Diverged {
            seq: self.seq(),
            expected: self.expected.get(self.came).map(plain),
            came: None,
            why: error.map_or(String::new(), |error| error.message().to_owned()),
        }))
    }
}

impl Again<'_> {
    /// The record of the run at which it is.
    fn seq(&self) -> Seq {
        let here = self.own.get(self.came).or(self.own.last());
        here.copied().unwrap_or_default()
    }
}

/// Begins the run anew.
async fn begin(host: &Host, wish: Wished, records: &[Record], tasks: &Tasks) -> Result<()> {
    let brought = brought_in(records);
    match wish {
        Wished::Goal(mut goal) => {
            let files = std::mem::take(&mut goal.with.files);
            goal.with.files = host.attached_to(&goal.run, files)?;
            let prepared = host.prepare(&goal)?;
            let hold = host.begin(&goal.run, &goal.agent, &goal.wish())?;
            let earlier = host.before(records).await?.begun_with(records);
            let from = (brought, Vec::new(), earlier);
            let pursued = host.pursue_on(goal, prepared, from, (hold, tasks));
            pursued.await.map(|_| ())
        }
        Wished::Call {
            run,
            started,
            subject,
            args,
        } if subject == TOOL => {
            let source = args
                .get("source")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let wish = (source.to_owned(), started.label);
            let begun = (run, started.surface);
            host.script_with(begun, wish, brought, tasks)
                .await
                .map(|_| ())
        }
        Wished::Call {
            run,
            started,
            subject,
            args,
        } => {
            let request = Request {
                tool: subject,
                args: WishedArgs::Json(args),
            };
            let begun = (run, started.label);
            let request = (request, Invocation::from(started.narrowed.call));
            let called = host.call_one(begun, started.surface, request, tasks);
            called.await.map(|_| ())
        }
    }
}
