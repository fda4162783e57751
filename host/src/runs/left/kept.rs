//! What is kept for runs that are left, in the user's own state folder: the engines of their scripts, and
//! a mark of each run that this host has begun.
//!
//! A journal that came with somebody's files has no mark, and nothing in it goes on (invariant 14).

mod unseen;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use self::unseen::Unseen;
use crate::edges::answers::Answers;
use crate::edges::state::{Held, StateFolder, said};
use crate::gate::journal::Ahead;
use crate::guests::plugin::PluginBytes;
use crate::guests::script::ScriptEngine;
use crate::runs::attached::Attached;
use crate::runs::host::{Places, Records};
use crate::runs::lanes::Lanes;
use crate::runs::script::Engines;
use crate::words::attachment::Attachment;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Record};
use crate::words::id::{Digest, RunId};
use crate::words::lock::lock;
use crate::words::session::Session;

/// Engines by digest, and marks of runs.
#[derive(Debug)]
pub(in crate::runs) struct Kept {
    place: Place,
    /// What is attached to runs.
    pub(in crate::runs) attached: Attached,
    /// Who waits for whom in this process.
    pub(in crate::runs) lanes: Lanes,
    /// Answers for whoever waits in the middle of a call.
    pub(in crate::runs) answers: Answers,
}

#[derive(Debug)]
enum Place {
    /// Runs end with the process: no engine outlives them, and no journal comes from elsewhere.
    Memory(Arc<Mutex<BTreeSet<RunId>>>),
    Folder {
        engines: StateFolder,
        runs: StateFolder,
        /// Runs of this process of which nobody else has seen anything when they began.
        unseen: Arc<Mutex<BTreeSet<RunId>>>,
    },
}

/// A run that is held: nobody else goes on with it. Its mark stays until the run has ended.
#[derive(Debug)]
pub(in crate::runs) enum Hold {
    /// Against the rest of this process.
    Memory(#[expect(dead_code, reason = "held for its drop")] Taken),
    /// Against the rest of this machine.
    File(Held),
    /// The same as soon as anybody there may see anything of it.
    Unseen(Unseen),
}

#[derive(Debug)]
pub(in crate::runs) struct Taken(Arc<Mutex<BTreeSet<RunId>>>, RunId);

impl Taken {
    /// Takes it, where nobody has.
    fn of(runs: &Arc<Mutex<BTreeSet<RunId>>>, run: &RunId) -> Option<Self> {
        let taken = lock(runs).insert(run.clone());
        taken.then(|| Self(runs.clone(), run.clone()))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.0).remove(&self.1);
    }
}

/// What is known of a run apart from its journal, which lies where others may write.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mark {
    /// Digest of what was asked for.
    wish: String,
    /// Engines that its scripts may need.
    engines: BTreeSet<String>,
    /// Digest of the records up to the last pause; empty before the first.
    seal: String,
}

impl Mark {
    /// Of a run that begins.
    fn of(wish: Digest, engine: Digest) -> Self {
        Self {
            wish: wish.to_string(),
            engines: BTreeSet::from([engine.to_string()]),
            seal: String::new(),
        }
    }

    fn read(text: &str) -> Self {
        let mut mark = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("wish", digest)) => digest.clone_into(&mut mark.wish),
                Some(("engine", digest)) => {
                    mark.engines.insert(digest.to_owned());
                }
                Some(("seal", digest)) => digest.clone_into(&mut mark.seal),
                Some(_) | None => {}
            }
        }
        mark
    }

    fn text(&self) -> String {
        let engines = self
            .engines
            .iter()
            .map(|engine| format!("engine {engine}\n"));
        let engines: String = engines.collect();
        format!("wish {}\n{engines}seal {}\n", self.wish, self.seal)
    }
}

impl Hold {
    /// Marks a run that begins: this is what was asked for, and the engine that it may need.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn begin(&self, wish: Digest, engine: Digest) -> Result<()> {
        self.write(&Mark::of(wish, engine))
    }

    /// Remembers what the records say at a pause.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn seal(&self, records: &[Record]) -> Result<()> {
        self.change(|mark| mark.seal = seal_of(records))
    }

    /// Remembers that a run that goes on may need this engine as well.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn needs(&self, engine: Digest) -> Result<()> {
        self.change(|mark| {
            mark.engines.insert(engine.to_string());
        })
    }

    /// Whether a run that is to go on was begun by this host.
    ///
    /// # Errors
    /// `Denied` where it was not.
    pub(in crate::runs) fn begun_here(&self) -> Result<()> {
        match self.mark()? {
            Some(mark) if mark.wish.is_empty() => Err(not_here("this run was not begun here")),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether it was asked for the same, and says the same of all that happened up to its last pause.
    ///
    /// # Errors
    /// `Denied` where it does not.
    pub(in crate::runs) fn check(&self, wish: Digest, records: &[Record]) -> Result<()> {
        let Some(mark) = self.mark()? else {
            return Ok(());
        };
        if mark.wish != wish.to_string() {
            return Err(not_here("this run was begun here with another wish"));
        }
        if is_sealed(&mark.seal, records) {
            return Ok(());
        }
        Err(not_here(
            "the records of this run are not those that were left: the last ones are missing, or older ones stand there",
        ))
    }

    fn mark(&self) -> Result<Option<Mark>> {
        match self {
            Self::Memory(_) => Ok(None),
            Self::File(held) => Ok(Some(Mark::read(&held.read()?))),
            Self::Unseen(unseen) => unseen.held(|held| Ok(Some(Mark::read(&held.read()?)))),
        }
    }

    /// The run has ended, or there is none.
    pub(in crate::runs) fn end(self) {
        match self {
            Self::Memory(_) => {}
            Self::File(held) => held.remove(),
            Self::Unseen(unseen) => unseen.end(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Mark)) -> Result<()> {
        let changed = |held: &Held| {
            let mut mark = Mark::read(&held.read()?);
            change(&mut mark);
            held.write(&mark.text())
        };
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(held) => changed(held),
            Self::Unseen(unseen) => unseen.held(changed),
        }
    }

    fn write(&self, mark: &Mark) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(held) => held.write(&mark.text()),
            Self::Unseen(unseen) => unseen.held(|held| held.write(&mark.text())),
        }
    }

    /// What is to be done before anybody else may see anything of the run.
    pub(in crate::runs) fn ahead(&self) -> Option<Ahead> {
        match self {
            Self::Memory(_) | Self::File(_) => None,
            Self::Unseen(unseen) => Some(unseen.ahead()),
        }
    }
}

/// The file of a run's mark. By digest: a name out of a foreign journal must not lead out of the folder.
fn file_of(run: &RunId) -> String {
    Digest::of(run.as_str().as_bytes()).to_string()
}

fn elsewhere(run: &RunId) -> Error {
    Error::new(Code::Busy, format!("the run `{run}` goes on elsewhere"))
        .hint("wait until it ends or pauses")
}

fn not_here(why: &str) -> Error {
    Error::new(Code::Denied, format!("{why}, so nothing in it goes on"))
        .hint("a journal that came with somebody's files grants nothing; begin anew")
}

/// Digest of the records up to the last pause.
fn seal_of(records: &[Record]) -> String {
    seals(records).last().unwrap_or_default()
}

/// Whether the records hold all that was sealed. Whoever was killed between a pause and its seal has left more than
/// that: the records themselves authenticate what stands behind it, and the seal that nothing before it is gone.
fn is_sealed(seal: &str, records: &[Record]) -> bool {
    seal.is_empty() || seals(records).any(|of| of == seal)
}

/// Of each pause the digest of the records up to it.
fn seals(records: &[Record]) -> impl Iterator<Item = String> {
    let mut all = String::new();
    records.iter().filter_map(move |record| {
        // Each by its own digest, so that no record can reach into the next.
        let text = serde_json::to_string(record).unwrap_or_default();
        all.push_str(&Digest::of(text.as_bytes()).to_string());
        let paused = matches!(record.event, Event::Paused { .. });
        paused.then(|| Digest::of(all.as_bytes()).to_string())
    })
}

impl Kept {
    /// Opens what is kept.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub(in crate::runs) fn open(places: &Places) -> Result<Self> {
        let folder = match &places.records {
            Records::InMemory => {
                return Ok(Self {
                    place: Place::Memory(Arc::default()),
                    attached: Attached::Memory(Mutex::default()),
                    lanes: Lanes::default(),
                    answers: Answers::in_memory(),
                });
            }
            Records::Folder(_) => StateFolder::open(&places.state)?,
        };
        Self::below(&folder)
    }

    fn below(folder: &StateFolder) -> Result<Self> {
        Ok(Self {
            place: Place::Folder {
                engines: folder.below("engines")?,
                runs: folder.below("begun")?,
                unseen: Arc::default(),
            },
            attached: Attached::Folder(folder.below("attached")?),
            lanes: Lanes::default(),
            answers: Answers::below(folder)?,
        })
    }

    /// Holds a run.
    ///
    /// # Errors
    /// `Busy` where somebody else does.
    pub(in crate::runs) fn hold(&self, run: &RunId) -> Result<Hold> {
        self.take(run)?.ok_or_else(|| elsewhere(run))
    }

    /// Holds and marks a run that begins and may end before anybody else sees anything of it: then no file is made.
    ///
    /// # Errors
    /// `Busy` where somebody else holds it.
    pub(in crate::runs) fn hold_unseen(
        &self,
        run: &RunId,
        (wish, engine): (Digest, Digest),
    ) -> Result<Hold> {
        let Place::Folder { runs, unseen, .. } = &self.place else {
            return self.hold(run);
        };
        let taken = Taken::of(unseen, run).ok_or_else(|| elsewhere(run))?;
        let mark = Mark::of(wish, engine);
        Ok(Hold::Unseen(Unseen::new(runs.clone(), taken, mark)))
    }

    /// Holds a session; nothing where somebody else does. No run has such a name.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn hold_session(&self, session: &Session) -> Result<Option<Hold>> {
        let (user, name) = (session.user(), session.name());
        self.take(&RunId::known(&format!("session {user} {name}")))
    }

    fn take(&self, run: &RunId) -> Result<Option<Hold>> {
        Ok(match &self.place {
            Place::Memory(runs) => Taken::of(runs, run).map(Hold::Memory),
            Place::Folder { unseen, .. } if lock(unseen).contains(run) => None,
            Place::Folder { runs, .. } => runs.hold(&file_of(run))?.map(Hold::File),
        })
    }

    /// Whether a run that has not ended is known here with these records: it is under way, or was left with
    /// all of them up to its last pause.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn knows(&self, run: &RunId, records: &[Record]) -> Result<bool> {
        let mark = match &self.place {
            Place::Memory(runs) => return Ok(lock(runs).contains(run)),
            Place::Folder { runs, .. } => runs.read(&file_of(run))?.unwrap_or_default(),
        };
        let seal = Mark::read(&said(&mark)).seal;
        Ok(!mark.is_empty() && is_sealed(&seal, records))
    }

    /// Keeps what is attached to a run that begins. What was left over by runs that are gone is dropped.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn attach(&self, run: &RunId, files: &[Attachment]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        if let Place::Folder { runs, .. } = &self.place {
            self.attached.drop_but(&runs.names()?)?;
        }
        let kept = self.attached.keep(run, files);
        if kept.is_err() {
            self.attached.drop_of(run);
        }
        kept
    }

    /// Keeps the newest engine. Where it is new, those that no run needs any more are dropped.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn keep(&self, engine: &ScriptEngine) -> Result<()> {
        let Place::Folder { engines, runs, .. } = &self.place else {
            return Ok(());
        };
        let name = engine.digest.to_string();
        if !engines.has(&name) {
            engines.write(&name, &engine.origin.read(engine.digest)?)?;
            drop_unneeded(engines, runs, name)?;
        }
        Ok(())
    }
}

/// Drops the engines that no mark names, except `newest`.
fn drop_unneeded(engines: &StateFolder, runs: &StateFolder, newest: String) -> Result<()> {
    let mut needed = BTreeSet::from([newest]);
    for name in runs.names()? {
        let mark = runs.read(&name)?.unwrap_or_default();
        needed.extend(Mark::read(&said(&mark)).engines);
    }
    for name in engines.names()? {
        if !needed.contains(&name) {
            engines.remove(&name)?;
        }
    }
    Ok(())
}

impl Engines for Kept {
    fn kept(&self, digest: Digest) -> Result<ScriptEngine> {
        let gone = || {
            let what = format!("engine {} of this script", digest.short());
            Error::not_found(what).hint("it was not kept, so the script cannot go on; run it anew")
        };
        let Place::Folder { engines, .. } = &self.place else {
            return Err(gone());
        };
        let origin = PluginBytes::File(engines.path().join(digest.to_string()));
        // Compared with the digest here, and again when it is loaded.
        origin.read(digest).map_err(|_| gone())?;
        ScriptEngine::new(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::id::{QuestionId, Seq};

    /// Records that end with a pause, which says what was asked about.
    fn left(asked: &[&str]) -> Vec<Record> {
        let questions = asked.iter().map(|asked| QuestionId::of(&[asked]));
        let questions = questions.collect();
        (0..)
            .zip([
                Event::Resumed { traced: Vec::new() },
                Event::Paused { questions },
            ])
            .map(|(seq, event): (Seq, Event)| Record {
                run: RunId::known("r"),
                seq,
                at: 0,
                parent: 0,
                event,
            })
            .collect()
    }

    fn wish(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    struct Station(tempfile::TempDir);

    impl Station {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn kept(&self) -> Kept {
            let folder = StateFolder::open(&self.0.path().join("state")).unwrap();
            Kept::below(&folder).unwrap()
        }

        fn hold(&self) -> Hold {
            self.kept().hold(&RunId::known("r")).unwrap()
        }
    }

    fn why(result: Result<()>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Code::Denied);
        error.message().to_owned()
    }

    #[test]
    fn only_what_was_begun_here_goes_on() {
        let station = Station::new();
        let hold = station.hold();
        assert!(why(hold.begun_here()).contains("was not begun here"));
        hold.begin(wish("this"), wish("engine")).unwrap();
        hold.begun_here().unwrap();
        hold.check(wish("this"), &left(&[])).unwrap();
        let other = hold.check(wish("that"), &left(&[]));
        assert!(why(other).contains("with another wish"));
    }

    #[test]
    fn what_was_left_is_sealed() {
        let station = Station::new();
        let hold = station.hold();
        hold.begin(wish("this"), wish("engine")).unwrap();
        let (run, sealed, other) = (RunId::known("r"), left(&["a"]), left(&["b"]));
        let knows = |records: &[Record]| station.kept().knows(&run, records).unwrap();
        assert!(knows(&other), "nothing is sealed yet");
        hold.seal(&sealed).unwrap();
        hold.check(wish("this"), &sealed).unwrap();
        assert!(why(hold.check(wish("this"), &other)).contains("not those that were left"));
        assert!(why(hold.check(wish("this"), &sealed[..1])).contains("are missing"));
        assert!(knows(&sealed) && !knows(&other));
        // Killed behind the next pause and before its seal.
        let mut more = sealed.clone();
        more.extend(left(&["c"]));
        hold.check(wish("this"), &more).unwrap();
        hold.end();
        assert!(!knows(&sealed), "it has ended");
    }

    #[test]
    fn a_run_that_nobody_else_has_seen_leaves_no_file() {
        let station = Station::new();
        let kept = station.kept();
        let (run, wish) = (RunId::known("r"), (wish("this"), wish("engine")));
        let hold = kept.hold_unseen(&run, wish).unwrap();
        assert_eq!(kept.hold(&run).unwrap_err().code(), Code::Busy);
        assert!(kept.hold_unseen(&run, wish).is_err());
        let ahead = hold.ahead().unwrap();
        hold.end();
        ahead().unwrap();
        let folder = StateFolder::open(&station.0.path().join("state/begun")).unwrap();
        assert!(folder.names().unwrap().is_empty(), "it is over");
        kept.hold(&run).unwrap();
    }

    #[test]
    fn a_run_that_others_may_see_is_held_against_them() {
        let station = Station::new();
        let kept = station.kept();
        let (run, made) = (RunId::known("r"), (wish("this"), wish("engine")));
        let hold = kept.hold_unseen(&run, made).unwrap();
        let (first, again) = (hold.ahead().unwrap(), hold.ahead().unwrap());
        first().unwrap();
        again().unwrap();
        let other = station.kept().hold(&run).unwrap_err();
        assert_eq!(other.code(), Code::Busy);
        let sealed = left(&["a"]);
        hold.seal(&sealed).unwrap();
        // Whoever leaves it lets go of it, and its mark stays.
        drop(hold);
        let hold = station.hold();
        hold.check(wish("this"), &sealed).unwrap();
        hold.end();
    }

    #[test]
    fn a_run_that_is_given_up_before_it_is_seen_has_its_mark() {
        let station = Station::new();
        let (run, made) = (RunId::known("r"), (wish("this"), wish("engine")));
        let kept = station.kept();
        let hold = kept.hold_unseen(&run, made).unwrap();
        let ahead = hold.ahead().unwrap();
        drop(hold);
        let hold = kept.hold(&run).unwrap();
        hold.begun_here().unwrap();
        ahead().unwrap();
        hold.end();
    }
}
