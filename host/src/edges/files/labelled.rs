//! Files and their labels together: what is stored of a place before anything is done there, and what is stored after.

use cap_std::fs::MetadataExt;

use super::turn::Doing;
use super::{FileOutcome, Files, changes, relative};
use crate::edges::labels::Known;
use crate::rules::file::{File, FileWish, Place, Places, WriteMode};
use crate::rules::policy::Policy;
use crate::words::error::{Code, Error, Result};
use crate::words::label::Label;

impl Files {
    /// Does it in its turn, and says what influenced the outcome: nothing where a change was made as it was wished.
    pub(super) fn perform_labelled(
        &self,
        file: File,
        places: Places,
    ) -> (Result<FileOutcome>, Option<Label>) {
        let doing = match changes(&file.wish) {
            true => Doing::Changes,
            false => Doing::Looks,
        };
        // Nobody comes between the bytes and their label, until both are as they belong together.
        match self.turns.take(doing) {
            Ok(_turn) => self.perform_in_turn(file, places),
            Err(error) => (Err(error), Some(label_of(&places))),
        }
    }

    fn perform_in_turn(&self, file: File, places: Places) -> (Result<FileOutcome>, Option<Label>) {
        let mount = label_of(&places);
        let stored = match self.label_before(&file, &places) {
            Ok(stored) => stored,
            Err(error) => return (Err(error), Some(mount)),
        };
        let after = match (&file.wish, &places) {
            (FileWish::Write { mode, .. }, Places::One(place)) => {
                let label = match mode {
                    WriteMode::Create | WriteMode::Replace => file.label.clone(),
                    WriteMode::Append | WriteMode::At(_) => file.label.join(&stored),
                };
                Some((place.clone(), label))
            }
            (FileWish::Move { .. }, Places::Two(from, _)) => {
                Some((from.clone(), file.label.clone()))
            }
            // The name of a folder is written by whoever made it.
            (FileWish::MakeFolder, Places::One(place)) => Some((place.clone(), file.label.clone())),
            _ => None,
        };
        let (relabel, writes) = (places.clone(), matches!(file.wish, FileWish::Write { .. }));
        let performed = self.perform_now(file, places);
        if writes && matches!(&performed, Err(error) if is_plain_refusal(error)) {
            // Nothing was written, so nothing is labelled. Where this fails, the label says too much.
            let _ = self.restore(&relabel, &stored);
        }
        let result = performed.and_then(|outcome| {
            self.label_after(&relabel, after, &outcome)?;
            Ok(outcome)
        });
        match result {
            Ok(FileOutcome::Done) => (result, None),
            Ok(_) | Err(_) => (result, Some(mount.join(&stored))),
        }
    }

    /// What is stored of the places; of a file that is about to be written, joined by its writer's label first.
    fn label_before(&self, file: &File, places: &Places) -> Result<Label> {
        let (Places::One(place) | Places::Two(place, _)) = places else {
            return Ok(Label::default());
        };
        let known = self.known(place)?;
        let mut stored = self.labels.of(&known)?;
        if matches!(file.wish, FileWish::List) {
            stored = stored.join(&self.labels.below(&known.path)?);
        }
        if matches!(file.wish, FileWish::Write { .. }) {
            self.labels.put(&known, &stored.join(&file.label))?;
        }
        Ok(stored)
    }

    fn label_after(
        &self,
        places: &Places,
        written: Option<(Place, Label)>,
        outcome: &FileOutcome,
    ) -> Result<()> {
        match (places, written, outcome) {
            (Places::One(_), Some((place, label)), _) => {
                self.labels.put(&self.known(&place)?, &label)
            }
            (Places::Two(from, to), Some((_, mover)), FileOutcome::Done) => {
                let to = self.known(to)?;
                self.labels.moved(&self.known(from)?.path, &to.path)?;
                // The new name was chosen by whoever moved it.
                let label = self.labels.of(&to)?.join(&mover);
                self.labels.put(&to, &label)
            }
            (Places::One(place), None, FileOutcome::Done) => {
                self.labels.forget(&self.known(place)?)
            }
            (Places::Root(_) | Places::One(_) | Places::Two(..), _, _) => Ok(()),
        }
    }

    fn restore(&self, places: &Places, stored: &Label) -> Result<()> {
        match places {
            Places::One(place) => self.labels.put(&self.known(place)?, stored),
            Places::Root(_) | Places::Two(..) => Ok(()),
        }
    }

    /// A place as its label knows it.
    fn known(&self, place: &Place) -> Result<Known> {
        let root = self
            .roots
            .get(&place.mount)
            .ok_or_else(|| Error::bug("a granted mount has no place"))?;
        let found = self.dir(place)?.metadata(relative(place)).ok();
        let mut path = root.clone();
        path.extend(&place.names);
        Ok(Known {
            path,
            identity: found.map(|found| (found.dev(), found.ino())),
        })
    }
}

fn label_of(places: &Places) -> Label {
    match places {
        Places::Root(_) => Label::default(),
        Places::One(place) | Places::Two(place, _) => Label::of(Policy::mount_source(&place.mount)),
    }
}

/// Whether a failure says that nothing was touched. A disk that failed may have taken half of the bytes.
fn is_plain_refusal(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::BadInput | Code::NotFound | Code::Denied | Code::TooBig
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::thread;

    use super::*;
    use crate::rules::policy::Room;
    use crate::words::id::RunId;
    use crate::words::label::{Sort, Source};

    const MIB: u64 = 1 << 20;

    /// A host whose mount is `folder`. Two of them are two processes, as far as labels and the system know.
    fn open(folder: &Path, labels: &Path) -> Files {
        let mounts = BTreeMap::from([("docs".into(), folder.to_owned())]);
        Files::open(&mounts, &[], Some(labels)).unwrap()
    }

    fn place(path: &str) -> Place {
        Place {
            mount: "docs".into(),
            names: path.split('/').map(str::to_owned).collect(),
            room: Room {
                run_bytes: MIB,
                file_bytes: MIB,
            },
            run: RunId::known("a"),
        }
    }

    fn web() -> Label {
        Label::of(Source::new(Sort::Web, "https://evil.test"))
    }

    fn perform(
        files: &Files,
        wish: FileWish,
        path: &str,
        label: Label,
    ) -> (Result<FileOutcome>, Label) {
        let file = File {
            path: path.to_owned(),
            wish,
            label,
        };
        let (result, label) = files.perform_labelled(file, Places::One(place(path)));
        (result, label.unwrap_or_default())
    }

    fn write(files: &Files, path: &str, mode: WriteMode, text: &str) {
        let label = match text {
            "EVIL" => web(),
            _ => Label::of(Source::user()),
        };
        let bytes = text.as_bytes().to_vec();
        let (result, _) = perform(files, FileWish::Write { bytes, mode }, path, label);
        result.unwrap();
    }

    fn read(files: &Files, path: &str) -> (String, Label) {
        let wish = FileWish::Read {
            offset: 0,
            length: 1_024,
        };
        let (result, label) = perform(files, wish, path, Label::default());
        let Ok(FileOutcome::Bytes(bytes)) = result else {
            panic!("{result:?}");
        };
        (String::from_utf8(bytes).unwrap(), label)
    }

    #[test]
    fn who_reads_between_two_writers_is_told_of_the_one_who_wrote_it() {
        let temp = tempfile::tempdir().unwrap();
        let labels = temp.path().join("files.db");
        let mount = tempfile::tempdir().unwrap();
        let (one, other) = (open(mount.path(), &labels), open(mount.path(), &labels));
        write(&one, "a.txt", WriteMode::Create, "clean");
        thread::scope(|scope| {
            let rounds = |files, text| {
                move || (0..40).for_each(|_| write(files, "a.txt", WriteMode::Replace, text))
            };
            let evil = scope.spawn(rounds(&one, "EVIL"));
            scope.spawn(rounds(&other, "clean"));
            while !evil.is_finished() {
                let (text, label) = read(&other, "a.txt");
                assert!(text != "EVIL" || label.covers(&web()), "{label}");
            }
        });
    }

    #[test]
    fn of_two_who_add_to_a_file_at_once_neither_is_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let labels = temp.path().join("files.db");
        let mount = tempfile::tempdir().unwrap();
        let (one, other) = (open(mount.path(), &labels), open(mount.path(), &labels));
        for round in 0..20 {
            let path = &*format!("log{round}.txt");
            thread::scope(|scope| {
                let add = |files, text, times| {
                    move || (0..times).for_each(|_| write(files, path, WriteMode::Append, text))
                };
                scope.spawn(add(&one, "clean", 3));
                scope.spawn(add(&other, "EVIL", 1));
            });
            let (text, label) = read(&one, path);
            assert!(text.contains("EVIL") && label.covers(&web()), "{label}");
        }
    }
}
