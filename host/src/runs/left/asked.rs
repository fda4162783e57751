//! Questions that wait for a person, and their answers.

use serde_json::json;

use crate::rules::flow::handles::has_handle;
use crate::rules::flow::{Handed, Inside, handed_in};
use crate::rules::questions::{Questions, Waiting};
use crate::rules::server::asked::Filled;
use crate::runs::host::Host;
use crate::runs::known;
use crate::runs::session::Earlier;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Content, Event, Record};
use crate::words::id::{QuestionId, RunId, shown};
use crate::words::limits::ANSWER_REASON_CHARS;

/// Least characters of a question's name that stand for it: with fewer a slip of the hand would answer whatever waits.
const NAMED_CHARS: usize = 6;

impl Host {
    /// Questions that wait for an answer, newest run first. One whose time is over is among them until its run goes
    /// on.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub async fn questions(&self) -> Result<Vec<Waiting>> {
        let mut waiting = Vec::new();
        for run in self.journal().asking().await? {
            // A run that is damaged keeps nobody from answering another.
            let Ok(records) = self.journal().records(&run).await else {
                continue;
            };
            waiting.extend(Questions::of(&self.shown(records)).open().cloned());
        }
        waiting.extend(self.forms().await?);
        Ok(waiting)
    }

    /// Answers the question whose name begins so. The run goes on when [`Host::resume`] takes it up.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use lazaret::runs::host::Host;
    /// # use lazaret::words::event::Answer;
    /// # async fn example(host: Arc<Host>) -> lazaret::words::error::Result<()> {
    /// for waiting in host.questions().await? {
    ///     println!("{}", waiting.question.text);
    ///     host.answer(waiting.question.id.as_str(), Answer::Allow).await?;
    ///     println!("{:?}", host.go_on(waiting.run).end().await?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Host::question`]; `TooSlow` where its time is over: then it counts as answered with no; `Busy` where the
    /// run goes on elsewhere; `Denied` where it was not begun here, `Corrupt` where its record was changed.
    pub async fn answer(&self, start: &str, answer: Answer) -> Result<Waiting> {
        self.answer_because(start, answer, "").await
    }

    /// The same, and why: whoever wished is told the reason of a no, in at most [`ANSWER_REASON_CHARS`] characters.
    ///
    /// # Errors
    /// As [`Host::answer`]; `BadInput` for a longer reason, and for one of a yes, which tells nobody anything.
    pub async fn answer_because(
        &self,
        start: &str,
        answer: Answer,
        reason: &str,
    ) -> Result<Waiting> {
        check_reason(answer, reason)?;
        let found = self.question(start).await?;
        if let Some(form) = found.form() {
            let filled = Filled {
                answer: Some(found.counted(answer)),
                reason: reason.to_owned(),
                content: json!({}),
            };
            self.fill(&found, &form, filled).await?;
            return Ok(found);
        }
        let (run, id) = (&found.run, &found.question.id);
        // What is sealed at the next pause must be what was left at the last.
        let (hold, records) = self.take_up(run).await?;
        let questions = Questions::of(&records);
        // Another process may have answered since.
        let open = questions.open().find(|open| open.question.id == *id);
        let Some(waiting) = open.cloned() else {
            self.journal().let_go(run);
            return Err(self.settled(id.as_str()).await?);
        };
        let question = id.clone();
        let late = waiting.is_late(self.journal().clock().now_ms());
        let event = match late {
            true => Event::Expired { question },
            false => Event::Answered {
                question,
                answer: waiting.counted(answer),
                reason: reason.to_owned(),
            },
        };
        self.journal().append(run, 0, event)?;
        let left = questions.open().map(|open| open.question.id.clone());
        let left = left.filter(|open| open != id).collect();
        self.pause(&hold, run, left).await?;
        if late {
            return Err(too_late(&found));
        }
        Ok(found)
    }

    /// The question whose name begins so.
    ///
    /// # Errors
    /// `NotFound`; `BadInput` for more than one, and for a beginning that is too short to name any; `Conflict` for one
    /// that has been answered.
    pub async fn question(&self, start: &str) -> Result<Waiting> {
        check_named(start)?;
        let mut found = self.questions().await?;
        found.retain(|waiting| waiting.question.id.as_str().starts_with(start));
        let first = found.pop();
        match first {
            Some(only) if found.is_empty() => Ok(only),
            Some(_) => Err(Error::bad_input(format!(
                "more than one question begins with `{}`",
                shown(start)
            ))
            .hint("write more of its name; `lazaret ask list` shows them")),
            None => Err(self.settled(start).await?),
        }
    }

    /// What the handles hold that stand in what is asked about, each to its end: who says yes to a name says yes to that.
    ///
    /// # Errors
    /// `NotFound`, `DiskFailed`; `Corrupt`, also for a run before it in its session.
    pub async fn handed(&self, waiting: &Waiting) -> Result<Vec<Handed>> {
        let args = match &waiting.content {
            Content::Inline(args) if has_handle(args) => args,
            Content::Inline(_) | Content::Empty | Content::Stored { .. } | Content::Size { .. } => {
                return Ok(Vec::new());
            }
        };
        let records = self.journal().records(&waiting.run).await?;
        let Earlier {
            mut heard,
            mut handles,
            ..
        } = self.before(&records).await?;
        known::hold_again(&self.station, &[], (&mut heard, &mut handles), &records);
        let files = match records.first().map(|first| &first.event) {
            Some(Event::Started(started)) => started.attached.as_slice(),
            Some(_) | None => &[],
        };
        let mut handed = handed_in(args, (&handles, files), &self.policy().flows.classes);
        for one in &mut handed {
            // What has become a secret since it was held is shown to nobody.
            if let Inside::Text(text) = &mut one.inside
                && let Some(clean) = self.station.scrub.known().clean(text)
            {
                *text = clean;
            }
        }
        Ok(handed)
    }

    /// Records for a person: what has become a secret since they were kept is not in them.
    pub(super) fn shown(&self, records: Vec<Record>) -> Vec<Record> {
        let shown = records.into_iter();
        shown.map(|record| self.journal().shown(record)).collect()
    }

    /// Why a question of this name does not wait: it was answered, or there is none.
    pub(super) async fn settled(&self, start: &str) -> Result<Error> {
        let Some((run, event)) = self.journal().settled(start).await? else {
            let what = format!("open question that begins with `{}`", shown(start));
            return Ok(Error::not_found(what).hint("`lazaret ask list` shows what waits"));
        };
        let how = if let Event::Answered { answer, .. } = event {
            format!("was answered already, with {}", word(answer))
        } else {
            "was not answered in time, and counts as answered with no".to_owned()
        };
        let what = format!("the question `{}` {how}", shown(start));
        Ok(Error::new(Code::Conflict, what).hint(format!("lazaret runs show {run}")))
    }

    /// Records which questions of a run that goes on were not answered in time. From then on they have expired, also
    /// by a clock that is set back.
    pub(super) async fn expire(&self, run: &RunId, records: Vec<Record>) -> Result<Vec<Record>> {
        let now = self.journal().clock().now_ms();
        let late = Questions::of(&records).late(now);
        if late.is_empty() {
            return Ok(records);
        }
        // What was verified stays as it is: a journal that is read again may say something else by now.
        let mut records = records;
        for question in late {
            let event = Event::Expired { question };
            let stamp = self.journal().append(run, 0, event.clone())?;
            records.push(Record {
                run: run.clone(),
                seq: stamp.seq,
                at: stamp.at,
                parent: 0,
                event,
            });
        }
        self.journal().commit().await?;
        Ok(records)
    }

    /// Leaves a run: what it has is on record, and it may be taken up anywhere.
    pub(in crate::runs) async fn leave(&self, hold: &super::Hold, run: &RunId) -> Result<()> {
        self.journal().commit().await?;
        let questions = Questions::of(&self.journal().records(run).await?);
        let open: Vec<QuestionId> = questions
            .open()
            .map(|waiting| waiting.question.id.clone())
            .collect();
        self.pause(hold, run, open).await
    }
}

/// Whether so much of a name may stand for a question.
fn check_named(start: &str) -> Result<()> {
    if start.chars().count() >= NAMED_CHARS {
        return Ok(());
    }
    let what = format!(
        "a question is named by the first {NAMED_CHARS} characters of its name or more, and `{}` has fewer",
        shown(start)
    );
    Err(Error::bad_input(what)
        .hint("name the question by its first characters: `lazaret ask list` has them"))
}

fn check_reason(answer: Answer, reason: &str) -> Result<()> {
    let chars = reason.chars().count();
    if chars > ANSWER_REASON_CHARS {
        let what = format!(
            "a reason has at most {ANSWER_REASON_CHARS} characters, and this one has {chars}"
        );
        return Err(Error::bad_input(what));
    }
    if !reason.is_empty() && answer != Answer::Deny {
        return Err(Error::bad_input(
            "a reason is told with a no, and this is a yes",
        ));
    }
    Ok(())
}

fn too_late(waiting: &Waiting) -> Error {
    let what = format!(
        "the question `{}` was not answered in time, and counts as answered with no",
        waiting.question.id
    );
    Error::new(Code::Conflict, what).hint(format!("lazaret runs resume {}", waiting.run))
}

/// An answer as a word for people.
fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "yes",
        Answer::Always => "yes, always",
        Answer::Deny => "no",
    }
}
