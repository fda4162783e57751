//! What a wish comes upon, as it is stored: whoever hears how it ended hears something of all that.
//!
//! A name says more than of itself. What lies on the way to it, where a move would go and what a folder holds decide as
//! well what comes of a wish, so whoever had a hand in any of it had one in the answer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::labelled::named;
use super::{Files, canonical, changes, relative};
use crate::edges::labels::KnownFile;
use crate::rules::file::{File, FileWish, Place, Places, WriteMode, is_beside};
use crate::words::error::Result;
use crate::words::label::{Label, Source};

/// What is stored of all that a wish may come upon.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    /// Of what it names, as far as that is there.
    pub(super) stored: Label,
    /// Of all that its path leads through.
    way: Label,
    /// Who had a hand in that nothing is there, or where it would go.
    pub(super) gap: Label,
    /// Of these, who had one in a folder above.
    gap_above: Label,
    /// Of all that lies in it.
    below: Label,
    /// Who had a hand in what is missing in it.
    pub(super) lacks: Label,
    /// Of what is where a move would go, and of all on the way there.
    target: Label,
}

impl Met {
    /// What an answer tells of: that a wish failed, and what was looked at, of everything; that something was done, of
    /// what that took. What would have been done as well if nothing had been there says nothing of it.
    pub(super) fn told(&self, wish: &FileWish, is_done: bool) -> Label {
        let there = self.way.join(&self.stored);
        let all = || {
            let inside = self.below.join(&self.lacks);
            there.join(&self.gap).join(&inside).join(&self.target)
        };
        if !is_done {
            return all();
        }
        match wish {
            FileWish::List | FileWish::Stat | FileWish::Read { .. } => all(),
            FileWish::Write { mode, .. } => match mode {
                WriteMode::Create => self.gap.clone(),
                // A file above would have been in the way.
                WriteMode::Replace | WriteMode::Append => self.gap_above.clone(),
                WriteMode::At(_) => there,
            },
            FileWish::MakeFolder => self.way.join(&self.gap),
            FileWish::Move { .. } => there.join(&self.gap),
            // Only an empty folder goes.
            FileWish::Remove => there.join(&self.lacks),
        }
    }

    /// What is stored of what was made or changed; nothing of a wish that leaves nothing.
    pub(super) fn kept(&self, file: &File) -> Option<Label> {
        let label = &file.label;
        match &file.wish {
            FileWish::Write { mode, .. } => Some(match mode {
                WriteMode::Replace => label.clone(),
                // Only where nothing is.
                WriteMode::Create => label.join(&self.gap),
                WriteMode::Append | WriteMode::At(_) => label.join(&self.stored).join(&self.gap),
            }),
            // The name of a folder is written by whoever made it.
            FileWish::MakeFolder => Some(label.join(&self.gap)),
            // It comes out of the folders that it lay in.
            FileWish::Move { .. } => Some(label.join(&self.gap).join(&self.way)),
            FileWish::List | FileWish::Stat | FileWish::Read { .. } | FileWish::Remove => None,
        }
    }

    /// What is stored of folders that are made on the way, where there is room for them.
    pub(super) fn made(&self, file: &File) -> Label {
        file.label.join(&self.gap_above)
    }

    /// What stays where something was taken away: it would be there still if that could not have been done.
    pub(super) fn left(&self, file: &File) -> Label {
        match &file.wish {
            FileWish::Remove => file.label.join(&self.lacks),
            FileWish::Move { .. } => file.label.join(&self.gap),
            FileWish::List
            | FileWish::Stat
            | FileWish::Read { .. }
            | FileWish::Write { .. }
            | FileWish::MakeFolder => file.label.clone(),
        }
    }
}

impl Files {
    /// Looks up what a wish may come upon, before anything is done.
    pub(super) fn met(&self, file: &File, places: &Places) -> Result<Met> {
        let (place, to) = match places {
            Places::Root(_) => return Ok(Met::default()),
            Places::One(place) => (place, None),
            Places::Two(place, to) => (place, Some(to)),
        };
        let known = self.known(place)?;
        let mut met = Met {
            stored: self.labels.of(&known)?,
            way: self.way(place)?,
            gap: self.gap(place, &known)?,
            gap_above: self.gap_above(&known)?,
            ..Met::default()
        };
        let mut path = known.path.clone();
        if !changes(&file.wish) {
            // Whoever looks is led on by a link.
            path = self.led(place, &place.names)?;
            met.stored = met.stored.join(&self.led_to(&path)?);
        }
        if self.looks_into(&file.wish, place)? {
            met.below = self.labels.below(&path)?;
            let lacks = self.labels.gap(&path)?;
            met.lacks = lacks.join(&self.labels.gaps_below(&path)?);
        }
        if let Some(to) = to {
            let known = self.known(to)?;
            met.target = self.labels.of(&known)?.join(&self.way(to)?);
            met.gap = met.gap.join(&self.gap(to, &known)?);
            met.gap_above = self.gap_above(&known)?;
        }
        Ok(met)
    }

    /// What a person is told who reads a file by its path on the host: the same as whoever reads it by a mount.
    pub(super) fn told_by_name(&self, file: &Path) -> Result<Label> {
        const READ: FileWish = FileWish::Read {
            offset: 0,
            length: 0,
        };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let (known, led) = (named(&file), canonical(&file));
        let through: Vec<KnownFile> = file.ancestors().skip(1).map(named).collect();
        let gap = match known.identity {
            Some(_) => Label::default(),
            None => self.labels.gap(&led)?,
        };
        let met = Met {
            stored: self.labels.of(&known)?.join(&self.led_to(&led)?),
            way: self.along(&through, [&known.path, &led])?,
            gap,
            ..Met::default()
        };
        Ok(met.told(&READ, true))
    }

    /// What is stored of where whoever looks is led to by a link, or without one.
    fn led_to(&self, path: &Path) -> Result<Label> {
        let stored = self.labels.at([path])?;
        let name = path.file_name().and_then(OsStr::to_str);
        Ok(match name.is_some_and(is_beside) {
            true => stored.with(Source::imported()),
            false => stored,
        })
    }

    /// What is stored of all that a path leads through.
    fn way(&self, place: &Place) -> Result<Label> {
        let (known, led) = (self.known(place)?, self.led(place, &place.names)?);
        let lengths = 1..place.names.len();
        let through = lengths.map(|length| self.known(&first_of(place, length)));
        let through: Vec<KnownFile> = through.collect::<Result<_>>()?;
        self.along(&through, [&known.path, &led])
    }

    /// What is stored of these: each by its own name and by what it is, and the folders that they and the ends of their
    /// path lie in, wherever links lead.
    fn along(&self, through: &[KnownFile], ends: [&Path; 2]) -> Result<Label> {
        let mut way = Label::default();
        for known in through {
            way = way.join(&self.labels.of(known)?);
        }
        let ends = ends.into_iter();
        let all = ends.chain(through.iter().map(|known| known.path.as_path()));
        let above: BTreeSet<&Path> = all.flat_map(|end| end.ancestors().skip(1)).collect();
        Ok(way.join(&self.labels.at(above)?))
    }

    /// Whether a wish says something of what lies in a folder, be it by its size and time, or fails by it.
    fn looks_into(&self, wish: &FileWish, place: &Place) -> Result<bool> {
        let (dir, path) = (self.dir(place)?, relative(place));
        let found = match wish {
            FileWish::List | FileWish::Stat => dir.metadata(path),
            FileWish::Remove | FileWish::Move { .. } => dir.symlink_metadata(path),
            FileWish::Read { .. } | FileWish::Write { .. } | FileWish::MakeFolder => {
                return Ok(false);
            }
        };
        Ok(place.names.is_empty() || found.is_ok_and(|found| found.is_dir()))
    }

    /// Who had a hand in that nothing is here, where nothing is. A link that leads nowhere may lead to whatever was taken
    /// away in its mount.
    fn gap(&self, place: &Place, known: &KnownFile) -> Result<Label> {
        if known.identity.is_some() {
            return Ok(Label::default());
        }
        let gap = self.labels.gap(&known.path)?;
        match self.leads_nowhere(place)? {
            true => Ok(gap.join(&self.labels.gaps_below(self.root(place)?)?)),
            false => Ok(gap),
        }
    }

    /// Who had a hand in that nothing is in the way of what is made here, where nothing is.
    fn gap_above(&self, known: &KnownFile) -> Result<Label> {
        match (known.identity, known.path.parent()) {
            (None, Some(above)) => self.labels.gap(above),
            (Some(_), _) | (None, None) => Ok(Label::default()),
        }
    }

    /// Whether there is a link on the way to a place, or there, that leads to nothing.
    fn leads_nowhere(&self, place: &Place) -> Result<bool> {
        let dir = self.dir(place)?;
        let mut way = PathBuf::new();
        Ok(place.names.iter().any(|name| {
            way.push(name);
            let is_link = dir
                .symlink_metadata(&way)
                .is_ok_and(|found| found.is_symlink());
            is_link && dir.metadata(&way).is_err()
        }))
    }
}

/// The place that the first names of another one lead to.
pub(super) fn first_of(place: &Place, length: usize) -> Place {
    let names = place.names.get(..length).unwrap_or_default().to_vec();
    Place {
        names,
        ..place.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use super::*;
    use crate::edges::files::FileOutcome;
    use crate::edges::files::wished::{self, READ, to, write};
    use crate::rules::policy::Room;
    use crate::words::error::Code;
    use crate::words::id::RunId;
    use crate::words::label::Sort;
    use crate::words::limits::PATH_NAMES;

    /// A folder that is the mount `docs`.
    struct Scene {
        files: Files,
        folder: tempfile::TempDir,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let mounts = BTreeMap::from([(Arc::from("docs"), folder.path().to_owned())]);
        let files = Files::open(&mounts, &[], None).unwrap();
        Scene { files, folder }
    }

    fn place(path: &str) -> Place {
        Place {
            mount: "docs".into(),
            names: path.split_terminator('/').map(str::to_owned).collect(),
            room: Room::default(),
            run: RunId::known("a"),
            inside: Arc::default(),
        }
    }

    fn web() -> Label {
        Label::of(Source::new(Sort::Web, "https://evil.test"))
    }

    impl Scene {
        fn wish(&self, path: &str, wish: FileWish, label: Label) -> (Result<FileOutcome>, Label) {
            wished::perform_as((&self.files, place), path, wish, label)
        }

        /// It is done as a stranger says.
        fn stranger(&self, path: &str, wish: FileWish) {
            self.wish(path, wish, web()).0.unwrap();
        }

        fn person(&self, path: &str, wish: FileWish) {
            self.wish(path, wish, Label::of(Source::user())).0.unwrap();
        }

        /// Whether what a person wishes is done, and whether the answer tells of the stranger.
        fn told(&self, path: &str, wish: FileWish) -> (bool, bool) {
            let (result, label) = self.wish(path, wish, Label::of(Source::user()));
            (result.is_ok(), label.covers(&web()))
        }
    }

    const CREATE: WriteMode = WriteMode::Create;

    fn wishes() -> Vec<FileWish> {
        vec![
            FileWish::List,
            FileWish::Stat,
            READ,
            write(CREATE),
            write(WriteMode::Replace),
            write(WriteMode::Append),
            write(WriteMode::At(0)),
            FileWish::MakeFolder,
            FileWish::Remove,
            to("elsewhere"),
        ]
    }

    #[test]
    fn a_path_that_leads_through_somebodys_file_tells_of_it() {
        let scene = scene();
        scene.person("out/plain", write(CREATE));
        scene.person("own/b0", write(CREATE));
        scene.stranger("out/b0", write(CREATE));
        for (file, expected) in [("out/b0", true), ("own/b0", false)] {
            for below in ["x", "x/y"] {
                let path = format!("{file}/{below}");
                for wish in wishes() {
                    let told = scene.told(&path, wish.clone());
                    assert_eq!(told, (false, expected), "{wish:?} {path}");
                }
            }
            let below = format!("{file}/x");
            for target in [file, below.as_str()] {
                let told = scene.told("out/plain", to(target));
                assert_eq!(told, (false, expected), "to {target}");
            }
        }
        // What is beside it says nothing of it, and nothing was left by what failed.
        assert_eq!(scene.told("out/plain", FileWish::Stat), (true, false));
        assert_eq!(scene.told("out/none", FileWish::Stat), (false, false));
        assert_eq!(scene.told("elsewhere", FileWish::Stat), (false, false));
        // Nor is it otherwise in a folder that the stranger has made.
        scene.stranger("made/x", write(CREATE));
        assert_eq!(scene.told("made/none", FileWish::Stat), (false, true));
    }

    #[test]
    fn what_lies_in_a_folder_lies_there_because_of_whoever_moved_that() {
        let scene = scene();
        for name in ["b", "c", "d", "e"] {
            scene.person(&format!("own/a/{name}"), write(CREATE));
        }
        scene.stranger("own/a", to("own/h"));
        for (path, wish, expected) in [
            ("own/h/b", READ, (true, true)),
            ("own/h/b", FileWish::Stat, (true, true)),
            ("own/h/b", write(CREATE), (false, true)),
            // It would be made as well if the folder were not there.
            ("own/h/new", write(CREATE), (true, false)),
            ("own/h/e", write(WriteMode::Append), (true, false)),
            ("own/h/e", write(WriteMode::Replace), (true, false)),
            ("own/h/e", write(WriteMode::At(0)), (true, true)),
            ("own/h/folder", FileWish::MakeFolder, (true, true)),
            ("own/h/d", FileWish::Remove, (true, true)),
            ("own/h/c", to("own/c"), (true, true)),
            ("own/c", READ, (true, true)),
            ("own/none", READ, (false, false)),
        ] {
            let told = scene.told(path, wish.clone());
            assert_eq!(told, expected, "{wish:?} {path}");
        }
    }

    /// Whoever names a file by its path on the host is told what a tool is told that reads it.
    #[test]
    fn what_a_person_names_lies_there_because_of_whoever_moved_its_folder() {
        let scene = scene();
        for path in ["now/x", "old/x", "same/x", "gone/x", "plain/x"] {
            scene.person(path, write(CREATE));
        }
        scene.stranger("now", to("past/now"));
        scene.stranger("old", to("now"));
        scene.stranger("gone/x", FileWish::Remove);
        scene.stranger("made/theirs", write(CREATE));
        scene.person("made/x", write(CREATE));
        scene.person("same", to("own"));
        scene.person(".lazaret-left", write(CREATE));
        let outside = tempfile::tempdir().unwrap();
        let link = outside.path().join("link");
        symlink(scene.folder.path(), &link).unwrap();
        for (path, expected) in [
            ("now/x", web()),
            ("past/now/x", web()),
            ("old/x", web()),
            ("gone/x", web()),
            ("made/x", web()),
            ("own/x", Label::default()),
            ("plain/x", Label::default()),
            (".lazaret-left", Label::of(Source::imported())),
        ] {
            for root in [scene.folder.path(), link.as_path()] {
                let (mounts, label) = scene.files.about(&root.join(path)).unwrap();
                assert_eq!((mounts.len(), &label), (1, &expected), "{path}");
            }
        }
        // What lies elsewhere is of nobody here.
        let elsewhere = scene.files.about(&outside.path().join("x")).unwrap();
        assert_eq!(elsewhere, (Vec::new(), Label::default()));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn a_person_names_no_file_that_no_path_leads_to() {
        let scene = scene();
        let below = |names: usize| scene.folder.path().join(vec!["d"; names].join("/"));
        std::fs::create_dir_all(below(PATH_NAMES + 1)).unwrap();
        scene.files.about(&below(PATH_NAMES)).unwrap();
        let refused = scene.files.about(&below(PATH_NAMES + 1)).unwrap_err();
        let says = "the path is too deep: it has 65 names, and at most 64 may be";
        assert_eq!((refused.code(), refused.message()), (Code::Denied, says));
    }

    #[test]
    fn what_is_taken_away_was_there_because_of_whoever_made_it() {
        let scene = scene();
        for path in ["own/a", "own/b", "out/keep"] {
            scene.person(path, write(CREATE));
        }
        for path in ["out/a", "out/b"] {
            scene.stranger(path, write(CREATE));
        }
        for (folder, expected) in [("own", false), ("out", true)] {
            let path = |name: &str| format!("{folder}/{name}");
            let told = scene.told(&path("a"), to(&path("c")));
            assert_eq!(told, (true, expected), "{folder}");
            let told = scene.told(&path("b"), FileWish::Remove);
            assert_eq!(told, (true, expected), "{folder}");
        }
    }

    #[test]
    fn what_a_folder_holds_decides_whether_it_goes_and_how_it_looks() {
        let scene = scene();
        for path in ["box/own", "plain/own", "nest/egg", "stays/egg"] {
            scene.person(path, write(CREATE));
        }
        scene.stranger("box/theirs", write(CREATE));
        scene.stranger("nest/egg", FileWish::Remove);
        scene.person("stays/egg", FileWish::Remove);
        for (path, wish, expected) in [
            ("plain", FileWish::Stat, (true, false)),
            ("plain", FileWish::Remove, (false, false)),
            ("box", FileWish::Stat, (true, true)),
            ("box", FileWish::Remove, (false, true)),
            ("", FileWish::Stat, (true, true)),
            ("stays", FileWish::Stat, (true, false)),
            ("stays", FileWish::Remove, (true, false)),
            ("stays", READ, (false, false)),
            // It is empty because of the stranger, and so it is gone.
            ("nest", FileWish::Stat, (true, true)),
            ("nest", FileWish::Remove, (true, true)),
            ("nest", READ, (false, true)),
        ] {
            let told = scene.told(path, wish.clone());
            assert_eq!(told, expected, "{wish:?} {path}");
        }
    }

    #[test]
    fn what_is_made_where_somebody_made_room_tells_of_that() {
        let scene = scene();
        for path in ["file", "folder", "target", "moved"] {
            scene.person(path, write(CREATE));
        }
        for path in ["file", "folder", "target"] {
            scene.stranger(path, FileWish::Remove);
        }
        for (path, wish, expected) in [
            ("file/x", write(WriteMode::Replace), (true, true)),
            ("other/x", write(WriteMode::Replace), (true, false)),
            // That these are folders is said of them.
            ("file", READ, (false, true)),
            ("other", READ, (false, false)),
            ("folder", FileWish::MakeFolder, (true, true)),
            ("folder", READ, (false, true)),
            ("moved", to("target"), (true, true)),
            // It would be there still.
            ("moved", READ, (false, true)),
        ] {
            let told = scene.told(path, wish.clone());
            assert_eq!(told, expected, "{wish:?} {path}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn no_link_and_no_other_name_leads_past_a_label() {
        let scene = scene();
        let at = |path: &str| scene.folder.path().join(path);
        scene.person("own/a/deep/x", write(CREATE));
        scene.person("out/keep", write(CREATE));
        scene.stranger("own/a", to("own/h"));
        scene.stranger("out/b0", write(CREATE));
        scene.stranger("out/edited", write(CREATE));
        symlink("own/h/deep", at("link")).unwrap();
        symlink("out/b0", at("short")).unwrap();
        symlink("out/edited", at("late")).unwrap();
        symlink("out/keep", at("clean")).unwrap();
        std::fs::hard_link(at("out/b0"), at("other")).unwrap();
        // Another file by the same name.
        std::fs::write(at("new"), "new").unwrap();
        std::fs::rename(at("new"), at("out/edited")).unwrap();
        for (path, expected) in [
            ("link/x", (true, true)),
            ("short/x", (false, true)),
            ("other/x", (false, true)),
            ("late", (true, true)),
            ("clean", (true, false)),
            ("clean/x", (false, false)),
        ] {
            assert_eq!(scene.told(path, READ), expected, "{path}");
        }
    }
}
