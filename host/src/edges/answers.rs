//! Answers that are left for whoever waits in the middle of a call, in this process or another: in the user's own state
//! folder, where nobody else can leave any. The journal says what was asked and answered; this only carries it.
//!
//! Of several answers to one question, one counts: the first that is left, which nobody overwrites. It is taken and taken
//! back each in one step, so that whoever left it knows which of the two has happened; and it has a mark, so that nobody takes
//! what became of another one for what became of theirs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::edges::state::{StateFolder, random};
use crate::words::error::Result;
use crate::words::id::{Digest, QuestionId, RunId};
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
    /// Whether an answer was taken: there is no second one.
    has: bool,
}

/// An answer that was left. What nobody has taken when this is dropped is taken back.
#[derive(Debug)]
pub struct Left {
    answers: Answers,
    question: QuestionId,
    /// What tells it from every other answer.
    mark: String,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Whoever waits has not looked yet, or is about to read it.
    Left,
    /// Another one was left first, and whoever waits is not done with that.
    Another,
    /// Whoever waited has it.
    Taken,
    /// Whoever waited has gone without it.
    Unwanted,
}

/// Who waits, what was left for them, and of that what they have taken: first all of it, then, once they have read it, its mark.
const WHO: &str = "who";
const SAID: &str = "said";
const TAKEN: &str = "taken";
/// Behind the mark of an answer, which has none in it.
const END: char = ' ';

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
            has: false,
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

    /// Leaves an answer, unless another one is there already: [`Left::became`] says. Nothing where nobody waits for one.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn leave(&self, question: &QuestionId, answer: &str) -> Result<Option<Left>> {
        if self.read(&name(question, WHO))?.is_none() {
            return Ok(None);
        }
        let left = Left {
            answers: self.clone(),
            question: question.clone(),
            mark: Digest::from(random::<32>()?).to_string(),
        };
        let said = format!("{}{END}{answer}", left.mark);
        self.write_new(&name(question, SAID), &said)?;
        Ok(Some(left))
    }

    /// Forgets a question that nobody waits for any more: whoever did has ended without a word.
    pub fn forget(&self, question: &QuestionId) {
        for what in [WHO, SAID, TAKEN] {
            // What is left over is for a question that nobody waits for.
            let _ = self.remove(&name(question, what));
        }
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

    /// Writes what is not there yet.
    fn write_new(&self, name: &str, text: &str) -> Result<()> {
        match &self.0 {
            Place::Memory(held) => {
                let mut held = lock(held);
                held.entry(name.to_owned())
                    .or_insert_with(|| text.to_owned());
                Ok(())
            }
            Place::Folder(folder) => folder.write_new(name, text.as_bytes()).map(|_| ()),
        }
    }

    /// Gives what is there another name, in one step.
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        match &self.0 {
            Place::Memory(held) => {
                let mut held = lock(held);
                if let Some(text) = held.remove(from) {
                    held.insert(to.to_owned(), text);
                }
                Ok(())
            }
            Place::Folder(folder) => folder.rename(from, to),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        match &self.0 {
            Place::Memory(held) => {
                lock(held).remove(name);
                Ok(())
            }
            Place::Folder(folder) => folder.remove(name),
        }
    }
}

impl Awaited {
    /// The answer, if one was left; no other one after it.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn take(&mut self) -> Result<Option<String>> {
        if self.has {
            return Ok(None);
        }
        let taken = name(&self.question, TAKEN);
        // From here on it can be neither taken back nor taken for another one, and nobody else removes it before it is read.
        self.answers.rename(&name(&self.question, SAID), &taken)?;
        let Some(said) = self.answers.read(&taken)? else {
            return Ok(None);
        };
        self.has = true;
        let (mark, answer) = said.split_once(END).unwrap_or_default();
        // That it was this one is all that anybody has to know of it. Where this fails, the mark is there as well.
        let _ = self.answers.write(&taken, mark);
        Ok(Some(answer.to_owned()))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // What was left, or taken, stays for whoever left it. And what is left over is for a question that nobody waits for.
        let _ = self.answers.remove(&name(&self.question, WHO));
    }
}

impl Left {
    /// What became of it.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn became(&self) -> Result<Became> {
        // First: once nobody waits, nobody takes it any more.
        let awaited = self.answers.read(&name(&self.question, WHO))?;
        let is_left = self.is_at(SAID)?;
        // Last: what is no longer where it was left has come here.
        let taken = self.answers.read(&name(&self.question, TAKEN))?;
        Ok(match (taken, awaited) {
            (Some(taken), awaited) if self.is_read(&taken, awaited.is_some()) => Became::Taken,
            (_, None) => Became::Unwanted,
            (Some(taken), Some(_)) if self.is_mine(&taken) => Became::Left,
            (None, Some(_)) if is_left => Became::Left,
            (Some(_) | None, Some(_)) => Became::Another,
        })
    }

    /// Takes it back, unless it was taken; whether it was.
    ///
    /// # Errors
    /// `DiskFailed`: then it may be taken still.
    pub fn take_back(self) -> Result<bool> {
        if self.is_at(SAID)? {
            self.answers.remove(&name(&self.question, SAID))?;
        }
        self.is_at(TAKEN)
    }

    fn is_at(&self, what: &str) -> Result<bool> {
        let there = self.answers.read(&name(&self.question, what))?;
        Ok(there.is_some_and(|there| self.is_mine(&there)))
    }

    fn is_mine(&self, said: &str) -> bool {
        said.starts_with(&self.mark)
    }

    /// Whether what was taken is this one, and was read: they have said so, or are through with it without having said so.
    fn is_read(&self, taken: &str, is_awaited: bool) -> bool {
        taken == self.mark || (!is_awaited && self.is_mine(taken))
    }

    /// Whether whoever waited has this one, and nobody needs it any more.
    fn is_over(&self) -> Result<bool> {
        let awaited = self.answers.read(&name(&self.question, WHO))?;
        let taken = self.answers.read(&name(&self.question, TAKEN))?;
        Ok(taken.is_some_and(|taken| self.is_read(&taken, awaited.is_some())))
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let (left, over) = (self.is_at(SAID), self.is_over());
        for (what, is_mine) in [(SAID, left), (TAKEN, over)] {
            if matches!(is_mine, Ok(true)) {
                // It is for a question that somebody still waits for, or for nobody.
                let _ = self.answers.remove(&name(&self.question, what));
            }
        }
    }
}

/// The name of a question is of hexadecimal digits.
fn name(question: &QuestionId, what: &str) -> String {
    format!("{}.{what}", question.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers within a process, and those of several; and their folder, for as long as they are there.
    fn places() -> (tempfile::TempDir, [Answers; 2]) {
        let place = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(place.path()).unwrap();
        let shared = Answers::below(&folder).unwrap();
        (place, [Answers::in_memory(), shared])
    }

    /// Everything that is there.
    fn all(answers: &Answers) -> Vec<String> {
        match &answers.0 {
            Place::Memory(held) => lock(held).keys().cloned().collect(),
            Place::Folder(folder) => folder.names().unwrap(),
        }
    }

    #[test]
    fn an_answer_is_taken_once_and_only_by_whoever_waits() {
        let (_place, both) = places();
        for answers in both {
            let (run, question) = (RunId::known("r"), QuestionId::of(&["q"]));
            assert!(answers.leave(&question, "yes").unwrap().is_none());
            let mut awaited = answers.await_one(&question, &run).unwrap();
            assert_eq!(answers.runs().unwrap(), [run]);
            assert_eq!(awaited.take().unwrap(), None);
            let left = answers.leave(&question, "yes, and more").unwrap().unwrap();
            assert_eq!(left.became().unwrap(), Became::Left);
            assert_eq!(awaited.take().unwrap().as_deref(), Some("yes, and more"));
            assert_eq!(left.became().unwrap(), Became::Taken);
            assert_eq!(awaited.take().unwrap(), None);
            assert!(left.take_back().unwrap(), "it was taken");
            // Also once whoever left the first one knows, and has gone.
            let late = answers.leave(&question, "late").unwrap().unwrap();
            assert_eq!(awaited.take().unwrap(), None);
            drop(awaited);
            assert!(answers.runs().unwrap().is_empty());
            assert_eq!(late.became().unwrap(), Became::Unwanted);
            assert!(!late.take_back().unwrap());
            assert!(answers.leave(&question, "later").unwrap().is_none());
            assert_eq!(all(&answers), [""; 0]);
        }
    }

    #[test]
    fn an_answer_that_was_taken_stays_so_when_nobody_waits_any_more() {
        let (_place, both) = places();
        for answers in both {
            let question = QuestionId::of(&["q"]);
            let mut awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
            let left = answers.leave(&question, "yes").unwrap().unwrap();
            awaited.take().unwrap();
            drop(awaited);
            assert_eq!(left.became().unwrap(), Became::Taken);
            // What was said is nobody's any more, also where whoever said it never looks.
            let taken = answers.read(&name(&question, TAKEN)).unwrap();
            assert_eq!(taken, Some(left.mark.clone()));
        }
    }

    /// Whoever is second may come before the first answer is taken, or after it, and before anybody has seen that it was.
    #[test]
    fn of_two_who_answer_at_once_the_first_counts_and_the_second_knows() {
        let (_place, both) = places();
        for (answers, is_taken_first) in both.iter().flat_map(|one| [(one, false), (one, true)]) {
            for (first, second) in [("no", "yes"), ("yes", "no"), ("yes", "yes")] {
                let question = QuestionId::of(&[first, second]);
                let mut awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
                let mut taken = None;
                let one = answers.leave(&question, first).unwrap().unwrap();
                if is_taken_first {
                    taken = awaited.take().unwrap();
                }
                let other = answers.leave(&question, second).unwrap().unwrap();
                assert_eq!(other.became().unwrap(), Became::Another);
                if !is_taken_first {
                    assert_eq!(one.became().unwrap(), Became::Left);
                    taken = awaited.take().unwrap();
                }
                assert_eq!(taken.as_deref(), Some(first));
                assert_eq!(awaited.take().unwrap(), None);
                assert_eq!(one.became().unwrap(), Became::Taken);
                assert_eq!(other.became().unwrap(), Became::Another);
                drop(awaited);
                assert_eq!(one.became().unwrap(), Became::Taken);
                assert_eq!(other.became().unwrap(), Became::Unwanted);
                assert!(!other.take_back().unwrap());
                assert!(one.take_back().unwrap());
                assert_eq!(all(answers), [""; 0]);
            }
        }
    }

    /// Whoever waits has taken it, and has not read it yet. That it was taken is said once they have: until then it is not taken
    /// away from under them.
    #[test]
    fn an_answer_that_is_about_to_be_read_stays_until_it_was() {
        let (_place, both) = places();
        for answers in both {
            let question = QuestionId::of(&["q"]);
            let (said, taken) = (name(&question, SAID), name(&question, TAKEN));
            let awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
            let left = answers.leave(&question, "yes").unwrap().unwrap();
            answers.rename(&said, &taken).unwrap();
            assert_eq!(left.became().unwrap(), Became::Left);
            let other = answers.leave(&question, "no").unwrap().unwrap();
            assert_eq!(other.became().unwrap(), Became::Another);
            assert!(!other.take_back().unwrap());
            let whole = format!("{} yes", left.mark);
            assert!(left.take_back().unwrap(), "it cannot be taken back");
            assert_eq!(answers.read(&taken).unwrap(), Some(whole));
            drop(awaited);
            answers.forget(&question);
            // Where they could not say that they have read it, that they have gone says so.
            let awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
            let left = answers.leave(&question, "yes").unwrap().unwrap();
            answers.rename(&said, &taken).unwrap();
            drop(awaited);
            assert_eq!(left.became().unwrap(), Became::Taken);
            drop(left);
            assert_eq!(all(&answers), [""; 0]);
        }
    }

    /// Neither by whoever came second, nor by whoever gives up.
    #[test]
    fn nobody_takes_back_what_another_one_has_left() {
        let (_place, both) = places();
        for answers in both {
            let question = QuestionId::of(&["q"]);
            let mut awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
            let one = answers.leave(&question, "no").unwrap().unwrap();
            drop(answers.leave(&question, "yes").unwrap());
            assert_eq!(one.became().unwrap(), Became::Left);
            assert!(!one.take_back().unwrap());
            assert_eq!(awaited.take().unwrap(), None);
            // Then the next one is the first.
            let next = answers.leave(&question, "maybe").unwrap().unwrap();
            assert_eq!(awaited.take().unwrap().as_deref(), Some("maybe"));
            assert_eq!(next.became().unwrap(), Became::Taken);
        }
    }

    /// Whoever waited was killed: what was left for them, or taken by them, counts for nothing.
    #[test]
    fn what_is_forgotten_was_not_taken() {
        let (_place, both) = places();
        for (answers, is_taken) in both.iter().flat_map(|one| [(one, false), (one, true)]) {
            let question = QuestionId::of(&["q"]);
            let mut awaited = answers.await_one(&question, &RunId::known("r")).unwrap();
            let left = answers.leave(&question, "yes").unwrap().unwrap();
            if is_taken {
                awaited.take().unwrap();
            }
            answers.forget(&question);
            assert_eq!(left.became().unwrap(), Became::Unwanted);
            assert!(!left.take_back().unwrap());
            assert_eq!(all(answers), [""; 0]);
        }
    }
}
