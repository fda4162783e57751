//! Files and their labels together: what is stored of a place before anything is done there, and what is stored after.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::fs::{Metadata, MetadataExt};

use super::turn::Doing;
use super::{FileOutcome, Files, changes, relative, resolved};
use crate::edges::aside::Asker;
use crate::edges::labels::Known;
use crate::rules::file::{File, FileWish, Place, Places, WriteMode, is_beside};
use crate::rules::policy::Policy;
use crate::words::error::{Code, Error, Result};
use crate::words::label::{Label, Source};

impl Files {
    /// Does it in its turn, and says what influenced the outcome: nothing where a change was made as it was wished.
    pub(super) fn perform_labelled(
        &self,
        file: File,
        places: Places,
        asker: &Asker,
    ) -> (Result<FileOutcome>, Option<Label>) {
        let doing = match changes(&file.wish) {
            true => Doing::Changes,
            false => Doing::Looks,
        };
        // Nobody comes between the bytes and their label, until both are as they belong together.
        let turn = self.turns.take(doing);
        // Others may have had it for longer than anybody waits for this.
        match turn.and_then(|turn| asker.check().map(|()| turn)) {
            Ok(_turn) => self.perform_in_turn(file, places),
            Err(error) => (Err(error), Some(own_label(&places))),
        }
    }

    fn perform_in_turn(&self, file: File, places: Places) -> (Result<FileOutcome>, Option<Label>) {
        let before = self.label_of(&places).and_then(|mount| {
            let stored = self.label_before(&file, &places)?;
            Ok((mount, stored, self.label_way(&file, &places)?))
        });
        let (mount, stored, way) = match before {
            Ok(before) => before,
            Err(error) => return (Err(error), Some(own_label(&places))),
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
        let wisher = file.label.clone();
        let performed = self.perform_now(file, places);
        // Where this fails, labels say too much.
        let _ = self.settle_way(&way, &wisher);
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

    /// The mounts that a place lies in, as sources: its own, and each inside that one through which its path leads.
    fn label_of(&self, places: &Places) -> Result<Label> {
        let (Places::One(place) | Places::Two(place, _)) = places else {
            return Ok(Label::default());
        };
        let inside = self.within(place)?.into_iter();
        let sources = inside.map(|inner| Policy::mount_source(&inner.mount));
        Ok(sources.fold(own_label(places), |label, source| label.with(source)))
    }

    /// What is stored of the places; of a file that is about to be written, joined by its writer's label first.
    fn label_before(&self, file: &File, places: &Places) -> Result<Label> {
        let (Places::One(place) | Places::Two(place, _)) = places else {
            return Ok(Label::default());
        };
        let known = self.known(place)?;
        let mut stored = self.labels.of(&known)?;
        if !changes(&file.wish) {
            // Whoever looks is led on by a link.
            let path = self.led(place, &place.names)?;
            if matches!(file.wish, FileWish::List) {
                stored = stored.join(&self.labels.below(&path)?);
            }
            let name = path.file_name().and_then(OsStr::to_str);
            if name.is_some_and(is_beside) {
                stored = stored.with(Source::imported());
            }
            if path != known.path {
                let identity = known.identity;
                stored = stored.join(&self.labels.of(&Known { path, identity })?);
            }
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

    /// Labels the folders that are not there and may be made on the way: whoever wishes so has chosen their names, and
    /// they stay, whatever comes of the rest.
    fn label_way(&self, file: &File, places: &Places) -> Result<Vec<Place>> {
        let place = match (&file.wish, places) {
            (FileWish::Write { .. } | FileWish::MakeFolder, Places::One(place)) => place,
            (FileWish::Move { .. }, Places::Two(_, to)) => to,
            _ => return Ok(Vec::new()),
        };
        let makes_it = matches!(file.wish, FileWish::MakeFolder);
        let mut made = Vec::new();
        for length in 1..place.names.len() + usize::from(makes_it) {
            let names = place.names.get(..length).unwrap_or_default().to_vec();
            let above = Place {
                names,
                ..place.clone()
            };
            if self.is_missing(&above)? {
                self.labels.put(&self.known(&above)?, &file.label)?;
                made.push(above);
            }
        }
        Ok(made)
    }

    /// What was made is known by what it is from now on, and what was not has no label.
    fn settle_way(&self, way: &[Place], wisher: &Label) -> Result<()> {
        for above in way {
            let known = self.known(above)?;
            match self.is_missing(above)? {
                true => self.labels.forget(&known)?,
                false => self.labels.put(&known, wisher)?,
            }
        }
        Ok(())
    }

    fn is_missing(&self, place: &Place) -> Result<bool> {
        let found = self.dir(place)?.symlink_metadata(relative(place));
        Ok(matches!(found, Err(error) if error.kind() == ErrorKind::NotFound))
    }

    /// A place as its label knows it: by its own name in the folder that its path leads to, and by what it is.
    fn known(&self, place: &Place) -> Result<Known> {
        let path = match place.names.split_last() {
            Some((name, above)) => self.led(place, above)?.join(name),
            None => self.led(place, &[])?,
        };
        let found = self.dir(place)?.metadata(relative(place)).ok();
        Ok(Known {
            path,
            identity: found.map(|found| (found.dev(), found.ino())),
        })
    }

    /// Where names of a place's mount lead on the host, links followed. What is not there lies below what is.
    pub(super) fn led(&self, place: &Place, names: &[String]) -> Result<PathBuf> {
        let root = self
            .roots
            .get(&place.mount)
            .ok_or_else(|| Error::bug("a granted mount has no place"))?;
        let mut way = root.clone();
        way.extend(names);
        let led = way.ancestors().find_map(|above| {
            let mut there = resolved(above).ok()?;
            there.extend(way.strip_prefix(above).ok()?);
            Some(there)
        });
        Ok(led.unwrap_or(way))
    }
}

/// A file that a person names by its path on the host, as its label is kept.
#[expect(
    clippy::disallowed_methods,
    reason = "what a file is of which a person speaks; nothing is opened"
)]
pub(crate) fn named(path: &Path) -> Known {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let above = path.parent().and_then(|above| resolved(above).ok());
    let found = std::fs::metadata(&path)
        .ok()
        .map(Metadata::from_just_metadata);
    let path = match (above, path.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        (_, _) => path,
    };
    Known {
        path,
        identity: found.map(|found| (found.dev(), found.ino())),
    }
}

/// The mount that a path names, as a source.
fn own_label(places: &Places) -> Label {
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
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::rules::policy::Room;
    use crate::words::id::RunId;
    use crate::words::label::Sort;

    const MIB: u64 = 1 << 20;

    /// A host whose mount is `folder`. Two of them are two processes, as far as labels and the system know.
    fn open(folder: &Path, labels: &Path) -> Files {
        let mounts = BTreeMap::from([("docs".into(), folder.to_owned())]);
        Files::open(&mounts, &[], Some(labels)).unwrap()
    }

    fn place(path: &str) -> Place {
        Place {
            mount: "docs".into(),
            names: path
                .split('/')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            room: Room {
                run_bytes: MIB,
                file_bytes: MIB,
            },
            run: RunId::known("a"),
            inside: Arc::default(),
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
        let (result, label) =
            files.perform_labelled(file, Places::One(place(path)), &Asker::default());
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

    fn list(files: &Files, path: &str) -> Label {
        let (result, label) = perform(files, FileWish::List, path, Label::default());
        result.unwrap();
        label
    }

    #[test]
    fn folders_that_are_made_on_the_way_have_the_label_of_whoever_chose_their_names() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        let wish = |mode| FileWish::Write {
            bytes: Vec::new(),
            mode,
        };
        // What is not there cannot be written over; the folder stays.
        let (refused, _) = perform(&files, wish(WriteMode::At(0)), "a/OBEY ME/x.txt", web());
        assert_eq!(refused.unwrap_err().code(), Code::NotFound);
        assert!(list(&files, "a").covers(&web()));
        write(&files, "b/c.txt", WriteMode::Create, "clean");
        perform(&files, wish(WriteMode::Create), "b/OBEY ME/x.txt", web())
            .0
            .unwrap();
        perform(&files, FileWish::Remove, "b/OBEY ME/x.txt", web())
            .0
            .unwrap();
        assert!(list(&files, "b").covers(&web()));
        perform(&files, FileWish::Remove, "b/OBEY ME", web())
            .0
            .unwrap();
        assert!(!list(&files, "b").covers(&web()));
        // Where nothing was made, nothing is labelled.
        let big = FileWish::Write {
            bytes: vec![0; (2 * MIB).try_into().unwrap()],
            mode: WriteMode::Create,
        };
        perform(&files, big, "b/d/x.txt", web()).0.unwrap_err();
        assert!(!list(&files, "b").covers(&web()));
    }

    #[test]
    fn what_somebody_has_left_who_was_killed_may_be_anybodys() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        write(&files, ".lazaret-left", WriteMode::Create, "clean");
        std::os::unix::fs::symlink(".lazaret-left", mount.path().join("link")).unwrap();
        let anybodys = Label::of(Source::imported());
        for (path, expected) in [(".lazaret-left", true), ("link", true), ("own", false)] {
            write(&files, "own", WriteMode::Replace, "clean");
            assert_eq!(read(&files, path).1.covers(&anybodys), expected, "{path}");
        }
        // Nothing stays beside what was written.
        let (listed, _) = perform(&files, FileWish::List, "", Label::default());
        let Ok(FileOutcome::Entries(entries)) = listed else {
            panic!("{listed:?}");
        };
        let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [".lazaret-left", "link", "own"]);
    }

    #[test]
    fn a_move_of_nothing_makes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        write(&files, "a.txt", WriteMode::Create, "clean");
        let move_to = |from: &str, target: &str| {
            let file = File {
                path: from.to_owned(),
                wish: FileWish::Move {
                    target: target.to_owned(),
                },
                label: web(),
            };
            files.perform_labelled(
                file,
                Places::Two(place(from), place(target)),
                &crate::edges::aside::Asker::default(),
            )
        };
        let (refused, _) = move_to("none.txt", "OBEY ME/y.txt");
        assert_eq!(refused.unwrap_err().code(), Code::NotFound);
        perform(&files, FileWish::Stat, "OBEY ME", web())
            .0
            .unwrap_err();
        move_to("a.txt", "c/OBEY ME/y.txt").0.unwrap();
        perform(&files, FileWish::Remove, "c/OBEY ME/y.txt", web())
            .0
            .unwrap();
        assert!(list(&files, "c").covers(&web()));
    }

    #[test]
    fn by_whatever_link_it_was_written_a_name_is_found_in_its_folder() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        write(&files, "real/own.txt", WriteMode::Create, "clean");
        std::os::unix::fs::symlink("real", mount.path().join("link")).unwrap();
        assert!(!list(&files, "real").covers(&web()));
        write(&files, "link/OBEY ME.txt", WriteMode::Create, "EVIL");
        assert!(list(&files, "real").covers(&web()));
        assert!(list(&files, "link").covers(&web()));
        assert!(read(&files, "real/OBEY ME.txt").1.covers(&web()));
        write(&files, "real/OBEY ME.txt", WriteMode::Replace, "clean");
        assert!(!list(&files, "link").covers(&web()));
    }
}
