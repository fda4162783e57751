//! Answers that are left for whoever waits in the middle of a call, in this process or another: in the user's own state
//! folder, where nobody else can leave any. The journal says what was asked and answered; this only carries it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::edges::state::StateFolder;
use crate::words::error::Result;
use crate::words::id::{QuestionId, RunId};
use crate::words::lock::lock;

/// Where answers are left. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Answers(Place);

#[derive(Clone, Debug)]
enum Place {
    /// Nobody else answers.
    Memory(Arc<Mutex<BTreeMap<String, String>>>),
    Folder(StateFolder),
}

/// Somebody who waits for an answer, until this is dropped.
#[derive(Debug)]
pub struct Awaited {
    answers: Answers,
    question: QuestionId,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Whoever waits has not looked yet.
    Left,
    /// Whoever waited has it.
    Taken,
    /// Whoever waited has gone without it.
    Unwanted,
}

/// Who waits, and what was left for them.
const WHO: &str = "who";
const SAID: &str = "said";

impl Answers {
    /// Answers within this process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self(Place::Memory(Arc::default()))
    }

    /// Answers of every process of this user.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn below(folder: &StateFolder) -> Result<Self> {
        Ok(Self(Place::Folder(folder.below("answers")?)))
    }

    /// Waits for an answer from now on.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn await_one(&self, question: &QuestionId, run: &RunId) -> Result<Awaited> {
        self.write(&name(question, WHO), run.as_str())?;
        Ok(Awaited {
            answers: self.clone(),
            question: question.clone(),
        })
    }

    /// Runs in which somebody waits.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn runs(&self) -> Result<Vec<RunId>> {
        let names = match &self.0 {
            Place::Memory(held) => lock(held).keys().cloned().collect(),
            Place::Folder(folder) => folder.names()?,
        };
        let mut runs = Vec::new();
        for name in names.iter().filter(|name| name.ends_with(WHO)) {
            let run = self.read(name)?.map(|run| RunId::known(&run));
            runs.extend(run.filter(|run| !runs.contains(run)));
        }
        Ok(runs)
    }

    /// Leaves an answer; whether somebody waits for one.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn leave(&self, question: &QuestionId, answer: &str) -> Result<bool> {
        if self.read(&name(question, WHO))?.is_none() {
            return Ok(false);
        }
        self.write(&name(question, SAID), answer)?;
        Ok(true)
    }

    /// What became of the answer that was left. Whoever leaves one takes back what nobody takes.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn became(&self, question: &QuestionId) -> Result<Became> {
        // First: once nobody waits, nobody takes it any more.
        let is_awaited = self.read(&name(question, WHO))?.is_some();
        let is_left = self.read(&name(question, SAID))?.is_some();
        Ok(match (is_left, is_awaited) {
            (false, _) => Became::Taken,
            (true, true) => Became::Left,
            (true, false) => Became::Unwanted,
        })
    }

    /// Takes an answer back.
    pub fn take_back(&self, question: &QuestionId) {
        self.remove(&name(question, SAID));
    }

    /// Forgets a question that nobody waits for any more: whoever did has ended without a word.
    pub fn forget(&self, question: &QuestionId) {
        self.remove(&name(question, WHO));
        self.remove(&name(question, SAID));
    }

    fn read(&self, name: &str) -> Result<Option<String>> {
        Ok(match &self.0 {
            Place::Memory(held) => lock(held).get(name).cloned(),
            Place::Folder(folder) => {
                let bytes = folder.read(name)?;
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
        })
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        match &self.0 {
            Place::Memory(held) => {
                lock(held).insert(name.to_owned(), text.to_owned());
                Ok(())
            }
            Place::Folder(folder) => folder.write(name, text.as_bytes()),
        }
    }

    fn remove(&self, name: &str) {
        match &self.0 {
            Place::Memory(held) => {
                lock(held).remove(name);
            }
            // What is left over is for a question that nobody waits for.
            Place::Folder(folder) => {
                let _ = folder.remove(name);
            }
        }
    }
}

impl Awaited {
    /// The answer, if one was left.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn take(&self) -> Result<Option<String>> {
        let name = name(&self.question, SAID);
        let answer = self.answers.read(&name)?;
        if answer.is_some() {
            self.answers.remove(&name);
        }
        Ok(answer)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // What was left meanwhile stays for whoever left it: that it is there says that nobody took it.
        self.answers.remove(&name(&self.question, WHO));
    }
}

/// The name of a question is of hexadecimal digits.
fn name(question: &QuestionId, what: &str) -> String {
    format!("{}.{what}", question.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_and_only_by_whoever_waits() {
        let (answers, run) = (Answers::in_memory(), RunId::known("r"));
        let question = QuestionId::of(&["q"]);
        assert!(!answers.leave(&question, "yes").unwrap());
        let awaited = answers.await_one(&question, &run).unwrap();
        assert_eq!(answers.runs().unwrap(), [run]);
        assert_eq!(awaited.take().unwrap(), None);
        assert!(answers.leave(&question, "yes").unwrap());
        assert_eq!(answers.became(&question).unwrap(), Became::Left);
        assert_eq!(awaited.take().unwrap().as_deref(), Some("yes"));
        assert_eq!(answers.became(&question).unwrap(), Became::Taken);
        assert_eq!(awaited.take().unwrap(), None);
        assert!(answers.leave(&question, "late").unwrap());
        drop(awaited);
        assert!(answers.runs().unwrap().is_empty());
        assert_eq!(answers.became(&question).unwrap(), Became::Unwanted);
        answers.take_back(&question);
        assert!(!answers.leave(&question, "later").unwrap());
    }

    #[test]
    fn an_answer_that_was_taken_stays_so_when_nobody_waits_any_more() {
        let (answers, question) = (Answers::in_memory(), QuestionId::of(&["q"]));
        let awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
        assert!(answers.leave(&question, "yes").unwrap());
        awaited.take().unwrap();
        drop(awaited);
        assert_eq!(answers.became(&question).unwrap(), Became::Taken);
    }
}
