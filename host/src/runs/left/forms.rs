//! Forms that servers put in the middle of their calls: whoever fills one leaves its answer for the call that waits.
//!
//! A call that is under way cannot be taken up by another process: where the one that made it has ended, its server is gone as
//! well, and an answer reaches nobody. That is said, and stands on record; the call is not made again.

use std::time::Duration;

use serde_json::{Value, json};

use crate::edges::answers::Became;
use crate::gate::journal::Watcher;
use crate::rules::questions::{Questions, Waiting};
use crate::rules::server::asked::{Filled, is_form};
use crate::rules::server::form::Form;
use crate::runs::host::Host;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Event, Sight, Verdict};
use crate::words::id::QuestionId;
use crate::words::limits::servers::{ANSWER_LOOK_MS, ANSWER_TAKEN_MS};

impl Host {
    /// Forms that servers wait for in the middle of a call, in this process or another.
    pub(super) async fn forms(&self) -> Result<Vec<Waiting>> {
        let now = self.journal().clock().now_ms();
        let mut forms = Vec::new();
        for run in self.kept.answers.runs()? {
            // One whose journal is another.
            let Ok(records) = self.journal().records(&run).await else {
                continue;
            };
            let questions = Questions::of(&self.shown(records));
            let open = questions.open().filter(|one| one.form().is_some());
            let (late, open): (Vec<&Waiting>, Vec<&Waiting>) =
                open.partition(|one| one.is_late(now));
            // Whoever has waited for one does no longer, also where nobody was left to say so.
            for one in late {
                self.kept.answers.forget(&one.question.id);
            }
            forms.extend(open.into_iter().cloned());
        }
        Ok(forms)
    }

    /// The next form that a call of this run puts, once it can be answered; from a watcher of before the run began, or went on.
    pub async fn next_form(&self, watcher: &mut Watcher) -> Waiting {
        loop {
            let Some(id) = put_by(&watcher.next().await) else {
                continue;
            };
            // It is on record first, and whoever waits for it says so right after.
            let until = Deadline::after_ms(ANSWER_TAKEN_MS);
            while !until.rest().is_zero() {
                let found = self.forms().await.unwrap_or_default();
                if let Some(one) = found.into_iter().find(|one| one.question.id == id) {
                    return one;
                }
                look_again().await;
            }
        }
    }

    /// Answers a form of a server whose question's name begins so, with these values. The call goes on where it is under
    /// way.
    ///
    /// # Errors
    /// As [`Host::question`]; `BadInput` for a question that is no form, for what does not fit it, and for what is known to
    /// be secret; `Conflict` where another answer came first; `TooSlow` where nobody waits for it any more.
    pub async fn answer_form(&self, start: &str, content: Value) -> Result<Waiting> {
        let found = self.question(start).await?;
        let Some(form) = found.form() else {
            let what = "this question is answered with yes or no, and takes no values";
            return Err(Error::bad_input(what));
        };
        let filled = Filled {
            answer: Some(Answer::Allow),
            reason: String::new(),
            content,
        };
        self.fill(&found, &form, filled).await?;
        Ok(found)
    }

    /// Leaves a form whose question's name begins so, without a decision: its server is told that nobody gave one.
    ///
    /// # Errors
    /// As [`Host::answer_form`].
    pub async fn dismiss_form(&self, start: &str) -> Result<Waiting> {
        let found = self.question(start).await?;
        let Some(form) = found.form() else {
            let what = "this question is answered with yes or no, or waits";
            return Err(Error::bad_input(what));
        };
        let filled = Filled {
            answer: None,
            reason: String::new(),
            content: json!({}),
        };
        self.fill(&found, &form, filled).await?;
        Ok(found)
    }

    /// Leaves what was said for whoever waits, and waits until it was taken, or until it is clear that it was not.
    pub(super) async fn fill(
        &self,
        waiting: &Waiting,
        form: &Form,
        mut filled: Filled,
    ) -> Result<()> {
        let question = &waiting.question.id;
        if filled.answer.is_some_and(|answer| answer != Answer::Deny) {
            filled.content = self.fitting(waiting, form, &filled.content)?;
        }
        if self.is_over(waiting).await? {
            return Err(gone(waiting));
        }
        let text = serde_json::to_string(&filled)
            .map_err(|error| Error::bug("an answer cannot be written").because(error))?;
        let Some(left) = self.kept.answers.leave(question, &text)? else {
            return Err(self.untaken(waiting, Became::Unwanted).await?);
        };
        let until = Deadline::after_ms(ANSWER_TAKEN_MS);
        let became = loop {
            let became = left.became()?;
            match became {
                Became::Taken => return Ok(()),
                Became::Left | Became::Another if !until.rest().is_zero() => look_again().await,
                Became::Left | Became::Another | Became::Unwanted => break became,
            }
        };
        // Whoever waits may have looked in this very moment.
        match left.take_back()? {
            true => Ok(()),
            false => Err(self.untaken(waiting, became).await?),
        }
    }

    /// Why an answer was not taken: another one was, or nobody waited any more.
    async fn untaken(&self, waiting: &Waiting, became: Became) -> Result<Error> {
        let id = waiting.question.id.as_str();
        let settled = self.journal().settled(id).await?;
        if let Some((_, Event::Answered { .. })) = settled {
            return self.settled(id).await;
        }
        Ok(match became {
            Became::Another => came_second(waiting),
            Became::Left | Became::Taken | Became::Unwanted => nobody_waits(waiting),
        })
    }

    /// What a server is told for these values.
    fn fitting(&self, waiting: &Waiting, form: &Form, given: &Value) -> Result<Value> {
        let content = form.answer(given).map_err(|error| how(waiting, error))?;
        let mut clean = content.clone();
        self.station.scrub.known().clean_value(&mut clean);
        if clean != content {
            let what = "the answer holds a secret, and no server is told one";
            return Err(Error::bad_input(what));
        }
        Ok(content)
    }

    /// Whether the process that made the call has ended: then nobody holds its run. The question is settled with that, and
    /// the run is left as one that was cut off.
    async fn is_over(&self, waiting: &Waiting) -> Result<bool> {
        let (run, question) = (&waiting.run, waiting.question.id.clone());
        match self.kept.hold(run) {
            // Its lock is given back, and taken again with all that goes with it.
            Ok(hold) => drop(hold),
            Err(error) if error.code() == Code::Busy => return Ok(false),
            Err(error) => return Err(error),
        }
        // Or its call has ended since, and its answer stands.
        if self.journal().settled(question.as_str()).await?.is_some() {
            return Err(self.settled(question.as_str()).await?);
        }
        self.kept.answers.forget(&question);
        let (hold, _) = self.take_up(run).await?;
        self.journal().append(run, 0, Event::Expired { question })?;
        self.leave(&hold, run).await?;
        Ok(true)
    }
}

async fn look_again() {
    let look = Duration::from_millis(ANSWER_LOOK_MS);
    // Running out is what this is for.
    let _ = tokio::time::timeout(look, std::future::pending::<()>()).await;
}

/// The question of a form, if that is what was seen.
fn put_by(sight: &Sight) -> Option<QuestionId> {
    let Sight::Record(record) = sight else {
        return None;
    };
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    let Verdict::Ask(question) = &judged.verdict else {
        return None;
    };
    is_form(judged).then(|| question.id.clone())
}

/// What a form wants, for whoever has not said it.
fn how(waiting: &Waiting, error: Error) -> Error {
    let id = &waiting.question.id;
    error.hint(format!("lazaret ask show {id}")).hint(format!(
        "lazaret ask allow {id} --with '{{\"FIELD\": \"VALUE\"}}'"
    ))
}

/// Another answer was there, and it is not on record what became of that.
fn came_second(waiting: &Waiting) -> Error {
    let (id, run) = (&waiting.question.id, &waiting.run);
    let what = format!("another answer to `{id}` came first, and this one counts for nothing");
    Error::new(Code::Conflict, what).hint(format!(
        "lazaret runs show {run}   says which one stands, once it is taken"
    ))
}

fn nobody_waits(waiting: &Waiting) -> Error {
    let what = format!(
        "nobody waits for an answer to `{}` any more: the call that it belongs to went on without it",
        waiting.question.id
    );
    Error::new(Code::TooSlow, what)
        .retry(false)
        .hint("`call_timeout_ms` of `[mcp.NAME.limits]` says how long a call may take; three quarters of it are for answers")
}

fn gone(waiting: &Waiting) -> Error {
    let (id, run) = (&waiting.question.id, &waiting.run);
    let what = format!(
        "the answer to `{id}` reaches nobody: the process that made the call has ended, and the server's session with it"
    );
    Error::new(Code::Conflict, what).hint(format!(
        "lazaret runs resume {run}   goes on without it: a call that may have happened is not made again"
    ))
}
