//! Files and their labels together: what is stored of a place before anything is done there, and what is stored after.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::fs::{Metadata, MetadataExt};

use super::came::Came;
use super::met::{Met, first_of};
use super::turn::Doing;
use super::written::filled;
use super::{FileOutcome, Files, Identity, changes, relative, resolved};
use crate::edges::aside::Asker;
use crate::edges::labels::KnownFile;
use crate::rules::file::{File, FileWish, Place, Places, WriteMode};
use crate::rules::policy::Policy;
use crate::words::error::{Code, Error, Result};
use crate::words::label::Label;

/// What a wish ends and makes: what an identity says is true of one file at a time, and the system uses numbers again.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// What is no more once it is done.
    ended: Option<Identity>,
    /// Whether what stands there then is new.
    makes: bool,
}

impl Files {
    /// Does it in its turn, and says what influenced the outcome: of a change that was made, only what it took.
    pub(super) fn perform_labelled(&self, file: File, places: Places, asker: &Asker) -> Came {
        let doing = match changes(&file.wish) {
            true => Doing::Changes,
            false => Doing::Looks,
        };
        // Nobody comes between the bytes and their label, until both are as they belong together.
        let turn = self.turns.take(doing);
        // Others may have had it for longer than anybody waits for this.
        match turn.and_then(|turn| asker.check().map(|()| turn)) {
            Ok(_turn) => {
                let filled = filled(&file.wish, &places).cloned();
                let (result, label) = self.perform_in_turn(file, places);
                Came {
                    result,
                    label,
                    wrote: filled.and_then(|place| self.written.so_far(&place)),
                }
            }
            Err(error) => Came {
                label: Some(own_label(&places)),
                ..Err(error).into()
            },
        }
    }

    fn perform_in_turn(&self, file: File, places: Places) -> (Result<FileOutcome>, Option<Label>) {
        let before = self.label_of(&places).and_then(|mount| {
            let met = self.met(&file, &places)?;
            self.label_first(&file, &places, &met)?;
            let maker = met.made(&file);
            let way = self.label_way(&file, &places, &maker)?;
            let gaps = self.leave_gaps(&file, &places, &met)?;
            let numbers = self.numbers(&file, &places)?;
            Ok((mount, met, (way, maker), (gaps, numbers)))
        });
        let (mount, met, (way, maker), (gaps, numbers)) = match before {
            Ok(before) => before,
            Err(error) => return (Err(error), Some(own_label(&places))),
        };
        let kept = met.kept(&file);
        let (done, all) = (met.told(&file.wish, true), met.told(&file.wish, false));
        let (relabel, writes) = (places.clone(), matches!(file.wish, FileWish::Write { .. }));
        let whole = WriteMode::Replace;
        let fills = matches!(&file.wish, FileWish::Write { mode, .. } if *mode == whole);
        let performed = self.perform_now(file, places);
        // Where this fails, labels say too much.
        let _ = self.settle_way(&way, &maker);
        if writes && matches!(&performed, Err(error) if is_plain_refusal(error)) {
            // Nothing was written, so nothing is labelled. Where this fails, the label says too much.
            let _ = self.restore(&relabel, &met.stored);
        }
        if matches!(&performed, Err(error) if is_plain_refusal(error)) {
            // Nor was anything taken away.
            let _ = self.restore_gaps(&gaps);
        }
        let result = performed.and_then(|outcome| {
            self.settle_numbers(&relabel, numbers)?;
            self.label_after(&relabel, kept.as_ref(), &outcome)?;
            if fills {
                self.fill_gap(&relabel)?;
            }
            Ok(outcome)
        });
        match result {
            Ok(FileOutcome::Done) => (result, Some(done)),
            Ok(_) | Err(_) => (result, Some(mount.join(&all))),
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

    /// What is stored of a file that is about to be written is joined by its writer's label first.
    fn label_first(&self, file: &File, places: &Places, met: &Met) -> Result<()> {
        match (&file.wish, places) {
            (FileWish::Write { .. }, Places::One(place)) => {
                let label = met.stored.join(&met.gap).join(&file.label);
                self.labels.put(&self.known(place)?, &label)
            }
            (_, Places::Root(_) | Places::One(_) | Places::Two(..)) => Ok(()),
        }
    }

    /// Leaves the label of whoever takes something away in its place, before it goes; and what a folder lacks, it lacks
    /// wherever it goes. Says what was left in those places before.
    fn leave_gaps(&self, file: &File, places: &Places, met: &Met) -> Result<Vec<(PathBuf, Label)>> {
        let (from, to) = match (&file.wish, places) {
            (FileWish::Remove, Places::One(from)) => (from, None),
            (FileWish::Move { .. }, Places::Two(from, to)) => (from, Some(to)),
            _ => return Ok(Vec::new()),
        };
        let found = self.dir(from)?.symlink_metadata(relative(from));
        if found.is_err() {
            return Ok(Vec::new());
        }
        let root = self.root(from)?;
        let mut left = vec![(self.known(from)?.path, met.left(file))];
        if let Some(to) = to {
            left.push((self.known(to)?.path, met.lacks.clone()));
        }
        let mut before = Vec::new();
        for (path, label) in left {
            let here = self.labels.gap_at(&path)?;
            self.labels.leave(&path, root, &label)?;
            before.push((path, here));
        }
        Ok(before)
    }

    fn restore_gaps(&self, before: &[(PathBuf, Label)]) -> Result<()> {
        for (path, label) in before {
            self.labels.put_gap(path, label)?;
        }
        Ok(())
    }

    /// What is written as a whole is there whatever was taken away.
    fn fill_gap(&self, places: &Places) -> Result<()> {
        match places {
            Places::One(place) => {
                let path = self.known(place)?.path;
                self.labels.put_gap(&path, &Label::default())
            }
            Places::Root(_) | Places::Two(..) => Ok(()),
        }
    }

    pub(super) fn root(&self, place: &Place) -> Result<&Path> {
        self.roots
            .get(&place.mount)
            .map(PathBuf::as_path)
            .ok_or_else(|| Error::bug("a granted mount has no place"))
    }

    fn label_after(
        &self,
        places: &Places,
        kept: Option<&Label>,
        outcome: &FileOutcome,
    ) -> Result<()> {
        match (places, kept, outcome) {
            (Places::One(place), Some(label), _) => self.labels.put(&self.known(place)?, label),
            (Places::Two(from, to), Some(mover), FileOutcome::Done) => {
                let to = self.known(to)?;
                self.labels.moved(&self.known(from)?.path, &to.path)?;
                // The new name was chosen by whoever moved it.
                let label = self.labels.of(&to)?.join(mover);
                self.labels.put(&to, &label)
            }
            (Places::One(place), None, FileOutcome::Done) => {
                self.labels.forget(&self.known(place)?)
            }
            (Places::Root(_) | Places::One(_) | Places::Two(..), _, _) => Ok(()),
        }
    }

    /// What a wish ends and makes, as far as its label is known by that.
    fn numbers(&self, file: &File, places: &Places) -> Result<Numbers> {
        let Places::One(place) = places else {
            return Ok(Numbers::default());
        };
        let (ends, makes) = match &file.wish {
            FileWish::Remove => (true, false),
            FileWish::Write { mode, .. } => match mode {
                WriteMode::Replace => (true, true),
                WriteMode::Create => (false, true),
                WriteMode::Append | WriteMode::At(_) => (false, false),
            },
            // What is made of folders is known as those on the way are.
            FileWish::MakeFolder
            | FileWish::Move { .. }
            | FileWish::List
            | FileWish::Stat
            | FileWish::Read { .. } => (false, false),
        };
        let ended = match ends {
            true => self.only(place)?,
            false => None,
        };
        Ok(Numbers { ended, makes })
    }

    /// What stands here and nowhere else, so that it goes with its name. A link is not what it leads to.
    fn only(&self, place: &Place) -> Result<Option<Identity>> {
        let found = self.dir(place)?.symlink_metadata(relative(place)).ok();
        let only = found.filter(|found| found.is_dir() || found.nlink() == 1);
        Ok(only.map(|found| (found.dev(), found.ino())))
    }

    /// What a wish has ended is no more, and nor is what had the number of what it has made.
    fn settle_numbers(&self, places: &Places, numbers: Numbers) -> Result<()> {
        if let Some(ended) = numbers.ended {
            self.labels.ended(ended)?;
        }
        match places {
            Places::One(place) if numbers.makes => self.made_anew(&self.known(place)?),
            Places::Root(_) | Places::One(_) | Places::Two(..) => Ok(()),
        }
    }

    fn made_anew(&self, known: &KnownFile) -> Result<()> {
        known
            .identity
            .map_or(Ok(()), |made| self.labels.ended(made))
    }

    fn restore(&self, places: &Places, stored: &Label) -> Result<()> {
        match places {
            Places::One(place) => self.labels.put(&self.known(place)?, stored),
            Places::Root(_) | Places::Two(..) => Ok(()),
        }
    }

    /// Labels the folders that are not there and may be made on the way: whoever wishes so has chosen their names, and
    /// they stay, whatever comes of the rest.
    fn label_way(&self, file: &File, places: &Places, maker: &Label) -> Result<Vec<Place>> {
        let place = match (&file.wish, places) {
            (FileWish::Write { .. } | FileWish::MakeFolder, Places::One(place)) => place,
            (FileWish::Move { .. }, Places::Two(_, to)) => to,
            _ => return Ok(Vec::new()),
        };
        let makes_it = matches!(file.wish, FileWish::MakeFolder);
        let mut made = Vec::new();
        for length in 1..place.names.len() + usize::from(makes_it) {
            let above = first_of(place, length);
            // Nothing lies in what is missing.
            if !made.is_empty() || self.is_missing(&above)? {
                self.labels.put(&self.known(&above)?, maker)?;
                made.push(above);
            }
        }
        Ok(made)
    }

    /// What was made is known by what it is from now on, and what was not has no label.
    fn settle_way(&self, way: &[Place], maker: &Label) -> Result<()> {
        for above in way {
            let known = self.known(above)?;
            match self.is_missing(above)? {
                true => self.labels.forget(&known)?,
                false => {
                    self.made_anew(&known)?;
                    self.labels.put(&known, maker)?;
                }
            }
        }
        Ok(())
    }

    fn is_missing(&self, place: &Place) -> Result<bool> {
        let found = self.dir(place)?.symlink_metadata(relative(place));
        Ok(matches!(found, Err(error) if error.kind() == ErrorKind::NotFound))
    }

    /// A place as its label knows it: by its own name in the folder that its path leads to, and by what it is.
    pub(super) fn known(&self, place: &Place) -> Result<KnownFile> {
        let path = match place.names.split_last() {
            Some((name, above)) => self.led(place, above)?.join(name),
            None => self.led(place, &[])?,
        };
        let found = self.dir(place)?.metadata(relative(place)).ok();
        Ok(KnownFile {
            path,
            identity: found.map(|found| (found.dev(), found.ino())),
        })
    }

    /// Where names of a place's mount lead on the host, links followed. What is not there lies below what is.
    pub(super) fn led(&self, place: &Place, names: &[String]) -> Result<PathBuf> {
        let mut way = self.root(place)?.to_owned();
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
pub(crate) fn named(path: &Path) -> KnownFile {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let above = path.parent().and_then(|above| resolved(above).ok());
    let found = std::fs::metadata(&path)
        .ok()
        .map(Metadata::from_just_metadata);
    let path = match (above, path.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        (_, _) => path,
    };
    KnownFile {
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
    use crate::rules::flow::home::Home;
    use crate::rules::policy::Room;
    use crate::words::id::RunId;
    use crate::words::label::{Sort, Source};

    const MIB: u64 = 1 << 20;

    /// A host whose mount is `folder`. Two of them are two processes, as far as labels and the system know.
    fn open(folder: &Path, labels: &Path) -> Files {
        let mounts = BTreeMap::from([("docs".into(), folder.to_owned())]);
        Files::open(&mounts, &[], Some((labels, Home::default()))).unwrap()
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
        let places = Places::One(place(path));
        let Came { result, label, .. } = files.perform_labelled(file, places, &Asker::default());
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

    /// A disk may fail in the middle, and leave something of each.
    #[test]
    fn a_file_that_is_about_to_be_written_has_the_labels_of_all_who_may_have_a_hand_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        let user = Label::of(Source::user());
        write(&files, "theirs", WriteMode::Create, "EVIL");
        write(&files, "gone", WriteMode::Create, "clean");
        perform(&files, FileWish::Remove, "gone", web()).0.unwrap();
        for path in ["theirs", "gone"] {
            let file = File {
                path: path.to_owned(),
                wish: FileWish::Write {
                    bytes: Vec::new(),
                    mode: WriteMode::Replace,
                },
                label: user.clone(),
            };
            let places = Places::One(place(path));
            let met = files.met(&file, &places).unwrap();
            files.label_first(&file, &places, &met).unwrap();
            let known = files.known(&place(path)).unwrap();
            assert_eq!(
                files.labels.of(&known).unwrap(),
                user.join(&web()),
                "{path}"
            );
        }
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
        // That it is gone is told of in its place.
        assert!(list(&files, "b").covers(&web()));
        write(&files, "e/c.txt", WriteMode::Create, "clean");
        // Where nothing was made, nothing is labelled.
        let big = FileWish::Write {
            bytes: vec![0; (2 * MIB).try_into().unwrap()],
            mode: WriteMode::Create,
        };
        perform(&files, big, "e/d/x.txt", web()).0.unwrap_err();
        assert!(!list(&files, "e").covers(&web()));
    }

    fn user() -> Label {
        Label::of(Source::user())
    }

    fn remove(files: &Files, path: &str, label: Label) {
        perform(files, FileWish::Remove, path, label).0.unwrap();
    }

    fn move_to(
        files: &Files,
        (from, target): (&str, &str),
        label: Label,
    ) -> (Result<FileOutcome>, Label) {
        let file = File {
            path: from.to_owned(),
            wish: FileWish::Move {
                target: target.to_owned(),
            },
            label,
        };
        let places = Places::Two(place(from), place(target));
        let Came { result, label, .. } = files.perform_labelled(file, places, &Asker::default());
        (result, label.unwrap_or_default())
    }

    /// What influenced that nothing is there.
    fn missing(files: &Files, path: &str) -> Label {
        let (result, label) = perform(files, FileWish::Stat, path, Label::default());
        assert_eq!(result.unwrap_err().code(), Code::NotFound, "{path}");
        label
    }

    #[test]
    fn what_was_taken_away_leaves_the_label_of_whoever_took_it() {
        let temp = tempfile::tempdir().unwrap();
        let labels = temp.path().join("files.db");
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &labels);
        for path in [
            "a/gone.txt",
            "a/moved.txt",
            "own/gone.txt",
            "own/moved.txt",
            "f/x/y.txt",
        ] {
            write(&files, path, WriteMode::Create, "clean");
        }
        remove(&files, "a/gone.txt", web());
        let (moved, _) = move_to(&files, ("a/moved.txt", "t/moved.txt"), web());
        moved.unwrap();
        move_to(&files, ("f/x", "t/x"), web()).0.unwrap();
        remove(&files, "own/gone.txt", user());
        let (moved, _) = move_to(&files, ("own/moved.txt", "own/there.txt"), user());
        moved.unwrap();
        drop(files);
        let files = open(mount.path(), &labels);
        for (path, expected) in [
            ("a/gone.txt", true),
            ("a/moved.txt", true),
            ("a/never.txt", false),
            ("f/x", true),
            ("f/x/y.txt", true),
            ("f/x/never.txt", true),
            ("f/never.txt", false),
            ("own/gone.txt", false),
            ("own/moved.txt", false),
        ] {
            assert_eq!(missing(&files, path).covers(&web()), expected, "{path}");
        }
        for (folder, expected) in [("a", true), ("f", true), ("", true), ("own", false)] {
            assert_eq!(list(&files, folder).covers(&web()), expected, "{folder}");
        }
        assert!(!read(&files, "own/there.txt").1.covers(&web()));
    }

    #[test]
    fn what_is_made_anew_only_because_there_was_room_for_it_has_the_label_too() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        for path in ["created", "replaced", "grown", "folder", "target", "clean"] {
            write(&files, path, WriteMode::Create, "clean");
        }
        for path in ["created", "replaced", "grown", "folder", "target"] {
            remove(&files, path, web());
        }
        let wish = |mode| FileWish::Write {
            bytes: b"clean".to_vec(),
            mode,
        };
        for (path, wish, told, kept) in [
            ("created", wish(WriteMode::Create), true, true),
            ("grown", wish(WriteMode::Append), false, true),
            ("replaced", wish(WriteMode::Replace), false, false),
            ("folder", FileWish::MakeFolder, true, true),
        ] {
            let (result, label) = perform(&files, wish, path, user());
            result.unwrap();
            assert_eq!(label.covers(&web()), told, "{path}");
            let (_, label) = perform(&files, FileWish::Stat, path, user());
            assert_eq!(label.covers(&web()), kept, "{path}");
        }
        // Nor does it matter who else writes all of it.
        let page = Label::of(Source::new(Sort::Web, "https://other.test"));
        write(&files, "over", WriteMode::Create, "clean");
        remove(&files, "over", web());
        perform(&files, wish(WriteMode::Replace), "over", page)
            .0
            .unwrap();
        remove(&files, "over", user());
        assert!(!missing(&files, "over").covers(&web()));
        let (moved, label) = move_to(&files, ("clean", "target"), user());
        moved.unwrap();
        assert!(label.covers(&web()));
        assert!(read(&files, "target").1.covers(&web()));
        // What stands there whatever was taken away says nothing of that, and nor does its removal.
        remove(&files, "replaced", user());
        assert!(!missing(&files, "replaced").covers(&web()));
        // What would lie in a folder of that name is missing still.
        assert!(missing(&files, "folder/x").covers(&web()));
        assert!(list(&files, "folder").covers(&web()));
    }

    #[test]
    fn what_a_folder_lacks_it_lacks_wherever_it_goes() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        write(&files, "a/x.txt", WriteMode::Create, "clean");
        write(&files, "a/y.txt", WriteMode::Create, "clean");
        remove(&files, "a/x.txt", web());
        move_to(&files, ("a", "b"), user()).0.unwrap();
        assert!(missing(&files, "b/x.txt").covers(&web()));
        assert!(list(&files, "b").covers(&web()));
        assert!(!read(&files, "b/y.txt").1.covers(&web()));
        // Nor does a link to what is gone say less.
        std::os::unix::fs::symlink("a/x.txt", mount.path().join("link")).unwrap();
        let (result, label) = perform(
            &files,
            FileWish::Read {
                offset: 0,
                length: 9,
            },
            "link",
            user(),
        );
        assert_eq!(result.unwrap_err().code(), Code::NotFound);
        assert!(label.covers(&web()));
    }

    #[test]
    fn what_could_not_be_taken_away_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let mount = tempfile::tempdir().unwrap();
        let files = open(mount.path(), &temp.path().join("files.db"));
        write(&files, "a/x.txt", WriteMode::Create, "clean");
        write(&files, "b.txt", WriteMode::Create, "clean");
        // There is something in it; there is nothing; there is something already.
        for path in ["a", "none.txt"] {
            let (refused, _) = perform(&files, FileWish::Remove, path, web());
            refused.unwrap_err();
        }
        let (refused, _) = move_to(&files, ("b.txt", "a/x.txt"), web());
        refused.unwrap_err();
        for path in ["none.txt", "a/none.txt"] {
            assert!(!missing(&files, path).covers(&web()), "{path}");
        }
        for folder in ["", "a"] {
            assert!(!list(&files, folder).covers(&web()), "{folder}");
        }
        // What somebody else had left there stays.
        remove(&files, "a/x.txt", web());
        let (refused, _) = perform(&files, FileWish::Remove, "a/x.txt", user());
        refused.unwrap_err();
        assert!(missing(&files, "a/x.txt").covers(&web()));
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
        let (refused, _) = move_to(&files, ("none.txt", "OBEY ME/y.txt"), web());
        assert_eq!(refused.unwrap_err().code(), Code::NotFound);
        perform(&files, FileWish::Stat, "OBEY ME", web())
            .0
            .unwrap_err();
        move_to(&files, ("a.txt", "c/OBEY ME/y.txt"), web())
            .0
            .unwrap();
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
