//! Runs that are left: scripts that wait for a person, or whose process ended, and how they go on.
//!
//! A run that is left is its records and nothing else. Whoever takes it up holds it, so that no two
//! processes go on with one run.

mod asked;
mod forms;
mod kept;

use serde_json::{Value, json};

pub(super) use self::kept::{Hold, Kept};
use super::brought::{self, Chosen};
use super::host::{Called, Goal, Host, Most, With};
use super::known::{self, typed_args, typed_in};
use super::script::{Script, Waited};
use super::written::Written;
use crate::gate::failed;
use crate::gate::journal::check_open;
use crate::guests::dispatch::{Outcome, Request, dispatch};
use crate::guests::guest::Trail;
use crate::guests::tasks::Tasks;
use crate::rules::caller::{Caller, Invocation};
use crate::rules::grant::Pattern;
use crate::rules::json as text;
pub use crate::rules::questions::{Readable, Waiting};
use crate::rules::script::{Left, Recall, TOOL, in_doubt, is_life};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Brought, Content, EffectKind, Event, Judged, Narrowed, Record, Spent, Started, Stopped, Surface,
};
use crate::words::id::{Digest, Place, QuestionId, RunId};
use crate::words::label::{Label, Source};
use crate::words::message::{Usage, WishedArgs};

/// Why a run ended that was left, and that nobody wants to go on.
pub(super) const ABANDONED: &str = "the run was cancelled while it was left";

/// What came of a run that went on.
#[derive(Debug)]
pub enum Resumed {
    /// It was one call, or a script.
    Called(Box<Called>),
    /// It was an agent's: its answer, or why there is none.
    Answer(Result<String>),
}

/// A script that is to run.
#[derive(Clone, Debug, Default)]
pub struct Program<'a> {
    /// Its source, JavaScript or TypeScript.
    pub source: String,
    /// How that came to the host. By default the user typed it, and it vouches for what it names: whatever else wrote it
    /// (a model, a file, a request) is said here.
    pub written: Written,
    /// What of other runs it begins with.
    pub with: &'a [Chosen],
}

impl Host {
    /// Runs a script on behalf of a client. Where it waits for a person, or the run is cancelled, the
    /// outcome is `Asked` or `Cancelled`, and [`Host::resume`] goes on with it.
    ///
    /// # Errors
    /// The journal's failure. What the script did is in the outcome.
    pub async fn script(
        &self,
        run: RunId,
        surface: Surface,
        source: String,
        tasks: &Tasks,
    ) -> Result<Called> {
        let program = Program {
            source,
            ..Program::default()
        };
        self.program(run, surface, program, tasks).await
    }

    /// As [`Host::script`], with how the script came to the host, and what of other runs it begins with.
    ///
    /// # Errors
    /// As [`Host::script`]; `NotFound` for what is not there.
    pub async fn program(
        &self,
        run: RunId,
        surface: Surface,
        program: Program<'_>,
        tasks: &Tasks,
    ) -> Result<Called> {
        let work = self.script_one(run.clone(), surface, program, tasks);
        self.ended_once(&run, tasks, work).await
    }

    async fn script_one(
        &self,
        run: RunId,
        surface: Surface,
        program: Program<'_>,
        tasks: &Tasks,
    ) -> Result<Called> {
        let brought = self.bring(program.with).await?;
        let wish = (program.source, program.written.label());
        self.script_with((run, surface), wish, brought, tasks).await
    }

    /// A script, under the influence of whoever wrote it, that begins with what was brought.
    pub(super) async fn script_with(
        &self,
        (run, surface): (RunId, Surface),
        (source, label): (String, Label),
        brought: Vec<Brought>,
        tasks: &Tasks,
    ) -> Result<Called> {
        let known = self.knows(&typed_in(&label, &json!({"source": source})), &[]);
        let known = known::bringing(&self.station, known, &brought)?;
        let hold = self.begin(&run, TOOL, &json!({"source": source}))?;
        self.kept.keep(&self.station.scripts.engine)?;
        let started = Started {
            surface,
            subject: TOOL.to_owned(),
            goal: String::new(),
            label: label.clone(),
            narrowed: Narrowed::default(),
            ask_expires_ms: self.policy().asks.expires_ms,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: self.traced_with(),
        };
        self.journal().append(&run, 0, Event::Started(started))?;
        for event in brought::events(&brought) {
            self.journal().append(&run, 0, event)?;
        }
        let caller = Caller {
            known,
            ..self.client(run, surface, label)
        };
        let outcome = self
            .script_of(caller.clone(), source, tasks)
            .run(Vec::new());
        let outcome = Box::pin(outcome).await;
        self.end(hold, caller, outcome, tasks).await
    }

    /// Holds a run that begins, against everybody else, and marks it as begun here.
    pub(super) fn begin(&self, run: &RunId, subject: &str, wish: &Value) -> Result<Hold> {
        self.learn_secrets()?;
        let hold = self.kept.hold(run)?;
        let (wish, engine) = self.marked(subject, wish);
        hold.begin(wish, engine)?;
        Ok(hold)
    }

    /// The same of a run that may be over before anybody else sees anything of it. Whatever [`Hold::ahead`] says goes
    /// with its first record.
    pub(super) fn begin_unseen(&self, run: &RunId, subject: &str, wish: &Value) -> Result<Hold> {
        self.learn_secrets()?;
        self.kept.hold_unseen(run, self.marked(subject, wish))
    }

    /// What the mark of a run says: what is wished for, and the engine that it may need.
    fn marked(&self, subject: &str, wish: &Value) -> (Digest, Digest) {
        // As it will stand in the record.
        let mut wish = wish.clone();
        self.station.scrub.known().clean_value(&mut wish);
        (mark_of(subject, &wish), self.station.scripts.engine.digest)
    }

    fn script_of<'a>(&'a self, caller: Caller, source: String, tasks: &'a Tasks) -> Script<'a> {
        Script {
            station: &self.station,
            tasks,
            caller,
            source,
            engines: &self.kept,
            waited: Waited::default(),
        }
    }

    /// A script without records of a run around it and without waiting for the disk, for benches and tests; see
    /// [`Host::call_batched`].
    #[doc(hidden)]
    pub async fn script_batched(&self, run: &RunId, source: &str, tasks: &Tasks) -> Outcome {
        let typed = typed_args(&json!({"source": source}));
        let caller = Caller {
            known: self.knows(&typed, &[]),
            ..self.client(run.clone(), Surface::Cli, Label::of(Source::user()))
        };
        let script = self.script_of(caller, source.to_owned(), tasks);
        script.run(Vec::new()).await
    }

    /// Goes on with a run that was left, where it was left.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a run that has ended; `BadInput` for one that cannot be left; `Busy` where it goes
    /// on elsewhere; `Denied` where it was not begun here, or its record was changed; the journal's failure.
    pub async fn resume(&self, run: &RunId, tasks: &Tasks) -> Result<Resumed> {
        self.ended_once(run, tasks, self.resume_one(run, tasks))
            .await
    }

    async fn resume_one(&self, run: &RunId, tasks: &Tasks) -> Result<Resumed> {
        let (hold, records) = self.take_up(run).await?;
        let gone_on = async {
            let records = self.expire(run, records).await?;
            let wish = wished_in(run, &records)?;
            // Each step of a run is large, and they stand one in the other: what is waited for lies apart.
            Box::pin(self.go_on_with(wish, records, hold, tasks)).await
        };
        let gone_on = gone_on.await;
        if gone_on.is_err() {
            self.journal().let_go(run);
        }
        gone_on
    }

    /// Holds a run that was left, and takes it up, once it is clear that it was begun here and that its
    /// records are those that were written, and all that were left.
    async fn take_up(&self, run: &RunId) -> Result<(Hold, Vec<Record>)> {
        let hold = self.kept.hold(run)?;
        let (records, verified) = self.journal().verified(run).await?;
        check_open(run, &records)?;
        hold.begun_here()?;
        verified.check()?;
        let wish = wished_in(run, &records)?;
        hold.check(mark_of(wish.subject(), &wish.value()), &records)?;
        self.journal().take_up(run, &records)?;
        self.station.files.take_up(run, &records);
        Ok((hold, records))
    }

    async fn go_on_with(
        &self,
        wish: Wished,
        records: Vec<Record>,
        hold: Hold,
        tasks: &Tasks,
    ) -> Result<Resumed> {
        let engine = &self.station.scripts.engine;
        hold.needs(engine.digest)?;
        self.kept.keep(engine)?;
        let (run, started) = match &wish {
            Wished::Goal(goal) => {
                let mut goal = goal.clone();
                let files = std::mem::take(&mut goal.with.files);
                goal.with.files = self.attached_to(&goal.run, files)?;
                let prepared = self.prepare(&goal)?;
                self.journal().append(&goal.run, 0, self.goes_on())?;
                let (earlier, session) = self.rejoin(&records).await?;
                let from = (Vec::new(), records, earlier);
                let pursued = self.pursue_on(goal, prepared, from, (hold, tasks));
                let answer = Box::pin(pursued).await;
                if let Some(session) = session {
                    session.end();
                }
                return answer.map(Resumed::Answer);
            }
            Wished::Call { run, started, .. } => (run.clone(), started.clone()),
        };
        let asked = Invocation::from(started.narrowed.call);
        let caller = Caller {
            known: self.knows(&wish.typed(), &records).asking(asked),
            ..self.client(run.clone(), started.surface, started.label)
        };
        self.journal().append(&run, 0, self.goes_on())?;
        let outcome = match wish.script() {
            Some(source) => {
                let script = self.script_of(caller.clone(), source, tasks);
                Box::pin(script.run(records)).await
            }
            None => Box::pin(self.call_again(&caller, &wish, &records, tasks)).await?,
        };
        let called = self.end(hold, caller, outcome, tasks).await?;
        Ok(Resumed::Called(Box::new(called)))
    }

    /// The call that a run is: made, unless an earlier life has made it, or may have.
    async fn call_again(
        &self,
        caller: &Caller,
        wish: &Wished,
        records: &[Record],
        tasks: &Tasks,
    ) -> Result<Outcome> {
        let repeatable = |tool: &str| self.station.catalog.is_repeatable(tool);
        let recall = Recall::of(records, &Place::default(), repeatable);
        let tool = wish.subject().to_owned();
        let said = |result, label: Label| Outcome {
            tool: tool.clone(),
            seq: caller.parent,
            at: 0,
            result,
            behind: label.clone(),
            label,
            trail: Trail::default(),
            spent: Spent::default(),
        };
        let mut settled = recall.settled.iter();
        if let Some(settled) = settled.find(|settled| settled.position == 0) {
            let answered = settled.answered.clone();
            return Ok(said(answered.result(), settled.label.clone()));
        }
        if let Left::Begun(of) = recall.left(0)
            && !repeatable(&tool)
        {
            self.station.gate.in_doubt(caller, of)?;
            return Ok(said(in_doubt(&tool).result(), caller.label.clone()));
        }
        let caller = Caller {
            place: Place::default().inside(0),
            ..caller.clone()
        };
        let args = WishedArgs::Json(wish.value());
        let request = Request { tool, args };
        Ok(dispatch(self.station.clone(), tasks.clone(), caller, request).await)
    }

    /// Whether a run is an agent's, and not one call or script.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `DiskFailed`.
    pub async fn is_of_agent(&self, run: &RunId) -> Result<bool> {
        let records = self.journal().records(run).await?;
        let first = records.first().map(|first| &first.event);
        Ok(matches!(first, Some(Event::Started(started)) if !started.subject.contains('.')))
    }

    /// Ends a run that was left; nothing of it goes on.
    ///
    /// # Errors
    /// As [`Host::resume`].
    pub async fn abandon(&self, run: &RunId) -> Result<()> {
        let hold = self.kept.hold(run)?;
        let records = self.journal().records(run).await?;
        self.journal().take_up(run, &records)?;
        let cancelled = Error::new(Code::Cancelled, ABANDONED);
        let stopped = Event::Stopped(Stopped {
            end: failed(&cancelled),
            turns: 0,
            usage: Usage::default(),
            limit: None,
        });
        self.journal().append(run, 0, stopped)?;
        self.journal().commit().await?;
        hold.end();
        self.kept.attached.drop_of(run);
        Ok(())
    }

    /// Whether a run is left with this outcome: it waits for a person; or it is a script that was cut off, or
    /// that the host failed to bring back to where it was.
    pub(super) fn is_left(&self, outcome: &Outcome) -> bool {
        let Err(error) = &outcome.result else {
            return false;
        };
        let cut_off = matches!(
            error.code(),
            Code::Cancelled | Code::Busy | Code::Diverged | Code::NotFound | Code::DiskFailed
        );
        error.code() == Code::Asked || (cut_off && outcome.tool == TOOL)
    }

    async fn pause(&self, hold: &Hold, run: &RunId, questions: Vec<QuestionId>) -> Result<()> {
        self.journal().append(run, 0, Event::Paused { questions })?;
        self.journal().sync().await?;
        hold.seal(&self.journal().records(run).await?)?;
        self.journal().let_go(run);
        Ok(())
    }
}

/// What the mark of a run binds: that this host was asked for this.
pub(super) fn mark_of(subject: &str, args: &Value) -> Digest {
    Digest::of(format!("{subject}\n{}", text::canonical(args)).as_bytes())
}

/// What a run that is to go on wished for.
#[derive(Clone)]
pub(super) enum Wished {
    /// An agent's goal.
    Goal(Goal),
    /// One call, or a script.
    Call {
        run: RunId,
        started: Box<Started>,
        subject: String,
        args: Value,
    },
}

impl Wished {
    fn subject(&self) -> &str {
        match self {
            Self::Goal(goal) => &goal.agent,
            Self::Call { subject, .. } => subject,
        }
    }

    /// What the mark of the run binds.
    fn value(&self) -> Value {
        match self {
            Self::Goal(goal) => goal.wish(),
            Self::Call { args, .. } => args.clone(),
        }
    }

    /// All that its user wrote with their own hands; of an agent's goal its host knows that.
    pub(super) fn typed(&self) -> Vec<String> {
        match self {
            Self::Goal(_) => Vec::new(),
            Self::Call { args, started, .. } => typed_in(&started.label, args),
        }
    }

    fn script(&self) -> Option<String> {
        let source = match self {
            Self::Call { subject, args, .. } if subject == TOOL => args.get("source"),
            Self::Call { .. } | Self::Goal(_) => None,
        };
        source.and_then(Value::as_str).map(str::to_owned)
    }
}

/// What a run wished for when it began.
pub(super) fn wished_in(run: &RunId, records: &[Record]) -> Result<Wished> {
    let Some(Event::Started(started)) = records.first().map(|first| &first.event) else {
        let what = format!("run `{run}` has no beginning");
        return Err(Error::new(Code::Corrupt, what));
    };
    if started.subject.contains('.') {
        return call_in(run, started, records);
    }
    let tools = started.narrowed.tools.iter().cloned();
    let tools: Result<Vec<Pattern>> = tools.map(Pattern::try_from).collect();
    Ok(Wished::Goal(Goal {
        run: run.clone(),
        surface: started.surface,
        agent: started.subject.clone(),
        text: started.goal.clone(),
        tools: tools?,
        models: started.narrowed.models.clone(),
        calling: started.narrowed.calling,
        answer: started.narrowed.answer.clone(),
        vouch: started.narrowed.vouch.clone(),
        most: Most {
            tokens: started.narrowed.tokens_max,
            cost_micros: started.narrowed.cost_micros_max,
        },
        with: With {
            // What it holds stands in its records.
            handles: Vec::new(),
            files: started.attached.clone(),
            // Of an imported run it says that, too.
            under: started.label.clone(),
        },
        piped: !Written::is_typed(&started.label),
    }))
}

fn call_in(run: &RunId, started: &Started, records: &[Record]) -> Result<Wished> {
    let place = Place::default();
    let mut judged = records.iter().filter_map(judged_call);
    let found = judged
        .find(|judged| is_life(judged, &place) || judged.place.position_in(&place) == Some(0));
    match found.map(|judged| &judged.content) {
        Some(Content::Inline(args)) => Ok(Wished::Call {
            run: run.clone(),
            started: Box::new(started.clone()),
            // As it was written; a judgement shows it.
            subject: started.subject.clone(),
            args: args.clone(),
        }),
        Some(_) | None => Err(Error::bad_input("this run cannot be taken up again")
            .hint("nothing of it was begun; begin anew")),
    }
}

/// The judgement of a call, if the record is one.
pub(super) fn judged_call(record: &Record) -> Option<&Judged> {
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    (judged.effect == EffectKind::Call).then_some(judged)
}
