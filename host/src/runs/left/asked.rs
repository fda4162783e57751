//! Questions that wait for a person, and their answers.

use serde_json::json;

use crate::rules::questions::{Questions, Waiting};
use crate::rules::server::asked::Filled;
use crate::runs::host::Host;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Event, Record};
use crate::words::id::{QuestionId, RunId, shown};
use crate::words::limits::ANSWER_REASON_CHARS;

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
                answer: Some(answer),
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
                answer,
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
    /// `NotFound`; `BadInput` for more than one; `Conflict` for one that has been answered.
    pub async fn question(&self, start: &str) -> Result<Waiting> {
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

    /// Records for a person: what has become a secret since they were kept is not in them.
    pub(super) fn shown(&self, records: Vec<Record>) -> Vec<Record> {
        let shown = records.into_iter();
        shown.map(|record| self.journal().shown(record)).collect()
    }

    /// Why a question of this name does not wait: it was answered, or there is none.
    async fn settled(&self, start: &str) -> Result<Error> {
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
