//! Runs that are left: scripts that wait for a person, or whose process ended, and how they go on.
//!
//! A run that is left is its records and nothing else. Whoever takes it up holds it, so that no two
//! processes go on with one run.

mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

pub(super) use self::kept::{Hold, Kept};
use super::host::{Called, Goal, Host, caught};
use super::script::Script;
use crate::guests::dispatch::{Outcome, Request, dispatch};
use crate::guests::tasks::Tasks;
use crate::rules::caller::Caller;
use crate::rules::grant::Pattern;
use crate::rules::json as text;
use crate::rules::script::{TOOL, is_life};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Answer, Content, EffectKind, Event, Judged, Narrowed, Question, Record, Started, Stopped,
    Surface, Verdict,
};
use crate::words::id::{Digest, Place, QuestionId, RunId};
use crate::words::label::{Label, Source};
use crate::words::limits::QUESTIONS;
use crate::words::message::{Usage, WishedArgs};

/// What came of a run that went on.
#[derive(Debug)]
pub enum Resumed {
    /// It was one call, or a script.
    Called(Box<Called>),
    /// It was an agent's: its answer, or why there is none.
    Answer(Result<String>),
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The run that waits.
    pub run: RunId,
    /// Since when, in milliseconds since 1970.
    pub at: u64,
    /// What would be called.
    pub subject: String,
    /// With what.
    pub content: Content,
    /// The question.
    pub question: Question,
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
        caught(self.script_one(run, surface, source, tasks)).await
    }

    async fn script_one(
        &self,
        run: RunId,
        surface: Surface,
        source: String,
        tasks: &Tasks,
    ) -> Result<Called> {
        let hold = self.kept.hold(&run)?;
        let engine = &self.station.scripts.engine;
        hold.begin(mark_of(TOOL, &json!({"source": source})), engine.digest)?;
        self.kept.keep(engine)?;
        let label = Label::of(Source::user());
        let started = Started {
            surface,
            subject: TOOL.to_owned(),
            goal: String::new(),
            label: label.clone(),
            narrowed: Narrowed::default(),
        };
        self.journal().append(&run, 0, Event::Started(started))?;
        let caller = self.client(run, surface, label);
        let outcome = self
            .script_of(caller.clone(), source, tasks)
            .run(Vec::new());
        let outcome = outcome.await;
        self.end_held(hold, caller, outcome, tasks).await
    }

    async fn end_held(
        &self,
        hold: Hold,
        caller: Caller,
        outcome: Outcome,
        tasks: &Tasks,
    ) -> Result<Called> {
        let called = self.end(caller, outcome, tasks).await?;
        if !self.is_left(&called.outcome) {
            hold.end();
        }
        Ok(called)
    }

    fn script_of<'a>(&'a self, caller: Caller, source: String, tasks: &'a Tasks) -> Script<'a> {
        Script {
            station: &self.station,
            tasks,
            caller,
            source,
            engines: &self.kept,
        }
    }

    /// A script without records of a run around it and without waiting for the disk; see
    /// [`Host::call_batched`].
    pub async fn script_batched(&self, run: &RunId, source: &str, tasks: &Tasks) -> Outcome {
        let caller = self.client(run.clone(), Surface::Cli, Label::of(Source::user()));
        let script = self.script_of(caller, source.to_owned(), tasks);
        script.run(Vec::new()).await
    }

    /// Goes on with a run that was left, where it was left.
    ///
    /// # Errors
    /// `NotFound`; `BadInput` for a run that has ended or is none that can be left; `Busy` where it goes
    /// on elsewhere; the journal's failure.
    pub async fn resume(&self, run: &RunId, tasks: &Tasks) -> Result<Resumed> {
        caught(self.resume_one(run, tasks)).await
    }

    async fn resume_one(&self, run: &RunId, tasks: &Tasks) -> Result<Resumed> {
        let hold = self.kept.hold(run)?;
        let records = self.journal().take_up(run).await?;
        let gone_on = self.go_on(run, records, (hold, tasks)).await;
        if gone_on.is_err() {
            self.journal().let_go(run);
        }
        gone_on
    }

    async fn go_on(
        &self,
        run: &RunId,
        records: Vec<Record>,
        (hold, tasks): (Hold, &Tasks),
    ) -> Result<Resumed> {
        let Some(Event::Started(started)) = records.first().map(|first| &first.event) else {
            let what = format!("run `{run}` has no beginning");
            return Err(Error::new(Code::Corrupt, what));
        };
        if !started.subject.contains('.') {
            return self
                .pursue_again(run, started, &records, (hold, tasks))
                .await;
        }
        let (subject, args) = wish_of(&records, &started.subject)?;
        hold.check(mark_of(&subject, &args))?;
        let caller = Caller {
            answers: Arc::new(answers_in(&records)),
            ..self.client(run.clone(), started.surface, started.label.clone())
        };
        self.journal().append(run, 0, Event::Resumed)?;
        let outcome = if subject == TOOL {
            self.kept.keep(&self.station.scripts.engine)?;
            let source = args.get("source").and_then(Value::as_str);
            let source = source.unwrap_or_default().to_owned();
            let script = self.script_of(caller.clone(), source, tasks);
            script.run(records).await
        } else {
            let args = WishedArgs::Json(args);
            let request = Request {
                tool: subject,
                args,
            };
            dispatch(self.station.clone(), tasks.clone(), caller.clone(), request).await
        };
        let called = self.end_held(hold, caller, outcome, tasks).await?;
        Ok(Resumed::Called(Box::new(called)))
    }

    /// Goes on with the run of an agent.
    async fn pursue_again(
        &self,
        run: &RunId,
        started: &Started,
        records: &[Record],
        (hold, tasks): (Hold, &Tasks),
    ) -> Result<Resumed> {
        hold.check(mark_of(&started.subject, &goal_of(started)))?;
        let tools = started.narrowed.tools.iter().cloned();
        let tools: Result<Vec<Pattern>> = tools.map(Pattern::try_from).collect();
        let goal = Goal {
            run: run.clone(),
            surface: started.surface,
            agent: started.subject.clone(),
            text: started.goal.clone(),
            tools: tools?,
            models: started.narrowed.models.clone(),
            calling: started.narrowed.calling,
        };
        self.journal().append(run, 0, Event::Resumed)?;
        let answer = self.pursue_from(goal, records.to_vec(), tasks).await;
        match &answer {
            Err(error) if error.code() == Code::Asked => {}
            Ok(_) | Err(_) => hold.end(),
        }
        Ok(Resumed::Answer(answer))
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
        self.journal().take_up(run).await?;
        let cancelled = Error::new(Code::Cancelled, "the run was cancelled while it was left");
        let stopped = Event::Stopped(Stopped {
            end: crate::gate::failed(&cancelled),
            turns: 0,
            usage: Usage::default(),
        });
        self.journal().append(run, 0, stopped)?;
        self.journal().commit().await?;
        hold.end();
        Ok(())
    }

    /// Questions that wait for an answer, newest run first.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub async fn questions(&self) -> Result<Vec<Waiting>> {
        let mut waiting = Vec::new();
        for (_, last) in self.journal().runs(QUESTIONS).await? {
            let Event::Paused { questions } = &last.event else {
                continue;
            };
            if questions.is_empty() {
                continue;
            }
            let records = self.journal().records(&last.run).await?;
            let open = records.iter().filter_map(asked_in);
            let open = open.filter(|waiting| questions.contains(&waiting.question.id));
            // A run that was taken up more than once has asked more than once.
            let mut seen = BTreeSet::new();
            waiting.extend(open.filter(|waiting| seen.insert(waiting.question.id.clone())));
        }
        Ok(waiting)
    }

    /// Answers the question whose name begins so. The run goes on when [`Host::resume`] takes it up.
    ///
    /// # Errors
    /// `NotFound`; `BadInput` for more than one; `Busy` where the run goes on elsewhere.
    pub async fn answer(&self, start: &str, answer: Answer) -> Result<Waiting> {
        let waiting = self.question(start).await?;
        let (run, id) = (&waiting.run, &waiting.question.id);
        let _hold = self.kept.hold(run)?;
        let records = self.journal().take_up(run).await?;
        let answered = Event::Answered {
            question: id.clone(),
            answer,
        };
        self.journal().append(run, 0, answered)?;
        let mut questions = Vec::new();
        for record in &records {
            if let Event::Paused { questions: open } = &record.event {
                questions.clone_from(open);
            }
        }
        questions.retain(|question| question != id);
        self.pause(run, questions).await?;
        Ok(waiting)
    }

    /// The question whose name begins so.
    ///
    /// # Errors
    /// `NotFound`; `BadInput` for more than one.
    pub async fn question(&self, start: &str) -> Result<Waiting> {
        let mut found = self.questions().await?;
        found.retain(|waiting| waiting.question.id.as_str().starts_with(start));
        let first = found.pop();
        match first {
            Some(only) if found.is_empty() => Ok(only),
            Some(_) => Err(Error::bad_input(format!(
                "more than one question begins with `{start}`"
            ))
            .hint("write more of its name; `lazaret ask list` shows them")),
            None => Err(
                Error::not_found(format!("open question that begins with `{start}`"))
                    .hint("`lazaret ask list` shows what waits"),
            ),
        }
    }

    /// Whether a run is left with this outcome: it waits for a person, or it is a script that was cut off.
    pub(super) fn is_left(&self, outcome: &Outcome) -> bool {
        match &outcome.result {
            Err(error) if error.code() == Code::Asked => true,
            Err(error) => error.code() == Code::Cancelled && outcome.tool == TOOL,
            Ok(_) => false,
        }
    }

    /// Marks the run of one tool's call that is about to be left.
    pub(super) fn mark(&self, run: &RunId, tool: &str, args: &Value) -> Result<()> {
        let engine = self.station.scripts.engine.digest;
        self.kept.hold(run)?.begin(mark_of(tool, args), engine)
    }

    /// Leaves a run: what it has is on record, and it may be taken up anywhere.
    pub(super) async fn leave(&self, run: &RunId) -> Result<()> {
        self.journal().commit().await?;
        let records = self.journal().records(run).await?;
        let answered = answers_in(&records);
        let asked = records.iter().filter_map(asked_in);
        let mut open: Vec<QuestionId> = asked.map(|waiting| waiting.question.id).collect();
        open.sort_unstable();
        open.dedup();
        open.retain(|question| !answered.contains_key(question));
        self.pause(run, open).await
    }

    async fn pause(&self, run: &RunId, questions: Vec<QuestionId>) -> Result<()> {
        self.journal().append(run, 0, Event::Paused { questions })?;
        self.journal().sync().await?;
        self.journal().let_go(run);
        Ok(())
    }
}

/// What the mark of a run binds: that this host was asked for this.
fn mark_of(subject: &str, args: &Value) -> Digest {
    Digest::of(format!("{subject}\n{}", text::canonical(args)).as_bytes())
}

/// What an agent's run wished for, and with what of its agent's.
pub(super) fn goal_of(started: &Started) -> Value {
    json!({"goal": started.goal, "narrowed": started.narrowed})
}

/// What a run of one call wished for: tool and arguments.
fn wish_of(records: &[Record], subject: &str) -> Result<(String, Value)> {
    let place = Place::default();
    let mut judged = records.iter().filter_map(judged_call);
    let found = judged.find(|judged| {
        is_life(judged, &place) || (judged.subject == subject && judged.origin == "client")
    });
    match found.map(|judged| (&judged.content, &judged.subject)) {
        Some((Content::Inline(args), subject)) => Ok((subject.clone(), args.clone())),
        Some(_) | None => Err(Error::bad_input("this run cannot be taken up again")
            .hint("a script can, and a call that waits for an answer")),
    }
}

/// The judgement of a call, if the record is one.
fn judged_call(record: &Record) -> Option<&Judged> {
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    (judged.effect == EffectKind::Call).then_some(judged)
}

/// What persons have answered in a run.
pub(super) fn answers_in(records: &[Record]) -> BTreeMap<QuestionId, Answer> {
    let mut answers = BTreeMap::new();
    for record in records {
        if let Event::Answered { question, answer } = &record.event {
            answers.insert(question.clone(), *answer);
        }
    }
    answers
}

/// The question that a record asks.
fn asked_in(record: &Record) -> Option<Waiting> {
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    let Verdict::Ask(question) = &judged.verdict else {
        return None;
    };
    Some(Waiting {
        run: record.run.clone(),
        at: record.at,
        subject: judged.subject.clone(),
        content: judged.content.clone(),
        question: question.clone(),
    })
}
