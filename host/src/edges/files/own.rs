//! Lazaret's own folders: the state folder, the one where records lie, and whatever is called `.lazaret`, of whichever
//! project. No tool sees into them, by whatever name, link or mount, and none takes one away with the folder it lies in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata, MetadataExt};

use super::kernel::check_way;
use super::{Files, Identity, canonical, explain, identity};
use crate::edges::state::DEMO;
use crate::rules::file::{Place, is_own, own};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;

/// The folders that are the host's own by what they are, whatever they are called: all that lies below is, too.
#[derive(Clone, Debug)]
pub(super) struct Own(Arc<[Identity]>);

impl Own {
    /// Those of these folders that there are.
    pub(super) fn of(folders: &[PathBuf]) -> Self {
        let found = folders.iter().filter_map(|folder| identity(folder));
        Self(found.collect())
    }

    /// Whether this is one of them.
    pub(super) fn is(&self, found: &Metadata) -> bool {
        self.0.contains(&(found.dev(), found.ino()))
    }

    /// Whether a mount is one of them, or lies in one. The demo's folder is a workspace like any other, and lies in the
    /// state folder.
    pub(super) fn has(&self, mount: &Path) -> bool {
        let mount = canonical(mount);
        let mut names = mount
            .components()
            .filter_map(|part| part.as_os_str().to_str());
        if names.any(is_own) {
            return true;
        }
        mount.ancestors().any(|above| {
            let below = mount.strip_prefix(above);
            let is_demo = below.is_ok_and(|below| below.starts_with(DEMO));
            !is_demo && identity(above).is_some_and(|found| self.0.contains(&found))
        })
    }
}

impl Files {
    /// Refuses a path that leads into one of lazaret's own folders, or into what is the kernel's. A link goes past the
    /// folders that what it leads to lies in, so these are looked at, and not only the names of the path.
    pub(super) fn check_own(&self, dir: &Dir, path: &str, place: &Place) -> Result<()> {
        let root = dir.dir_metadata().map_err(|error| explain(path, &error))?;
        let mut device = root.dev();
        let led = led(dir, place);
        check_depth(path, place, &led)?;
        let mut way = PathBuf::new();
        for name in &led {
            way.push(name);
            if name.to_str().is_some_and(is_own) {
                return Err(Error::new(Code::Denied, own(path)));
            }
            let Ok(found) = dir.metadata(&way) else {
                continue;
            };
            if self.own.is(&found) {
                return Err(Error::new(Code::Denied, own(path)));
            }
            check_way((dir, path), (&way, &found), &mut device)?;
        }
        Ok(())
    }
}

/// Where links lead deeper than a path may, each step would be as much work as by that.
fn check_depth(path: &str, place: &Place, led: &Path) -> Result<()> {
    let (names, most) = (led.components().count(), place.most_names());
    if names > most {
        let what = format!(
            "`{}` leads too deep: {names} names below its mount, and at most {most} may be",
            shown(path)
        );
        return Err(Error::new(Code::Denied, what));
    }
    Ok(())
}

/// How many more names what lies in a place may have.
pub(super) fn names_left(dir: &Dir, place: &Place) -> usize {
    let names = led(dir, place).components().count();
    place.most_names().saturating_sub(names)
}

/// Where a place is below its mount, links followed by handle. What is not there lies below what is.
fn led(dir: &Dir, place: &Place) -> PathBuf {
    let way: PathBuf = place.names.iter().collect();
    let led = way.ancestors().find_map(|above| {
        let there = dir.canonicalize(above).ok()?;
        Some(there.join(way.strip_prefix(above).ok()?))
    });
    led.unwrap_or(way)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::edges::files::wished::{self, READ, to, write};
    use crate::rules::file::{FileWish, WriteMode};
    use crate::rules::policy::Room;
    use crate::words::id::RunId;
    use crate::words::limits::PATH_NAMES;

    /// A folder that is the mount `all`, may be written, and holds the host's own folder `home/state/own`, another
    /// project's `b/.lazaret`, and links to what lies in both.
    struct Scene {
        files: Files,
        folder: tempfile::TempDir,
    }

    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for own in ["home/state/own/answers", "b/.lazaret", "plain"] {
            std::fs::create_dir_all(root.join(own)).unwrap();
            std::fs::write(root.join(own).join("a.txt"), "own").unwrap();
        }
        std::fs::write(root.join("home/state/own/key"), "own").unwrap();
        for (to, link) in [
            ("home/state/own", "folder"),
            ("home/state/own/key", "file"),
            ("home/state/own/answers", "below"),
            ("home/state/own/answers/a.txt", "deep"),
            ("b/.lazaret", "others"),
            ("b/.lazaret/a.txt", "other"),
            ("below", "again"),
            ("home/state", "above"),
            ("plain/a.txt", "nothing"),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        symlink("../others", root.join("plain/out")).unwrap();
        let mounts = BTreeMap::from([(Arc::from("all"), root.to_owned())]);
        let files = Files::open(&mounts, &[root.join("home/state/own")], None).unwrap();
        Scene { files, folder }
    }

    fn place(path: &str) -> Place {
        Place {
            mount: "all".into(),
            names: path.split('/').map(str::to_owned).collect(),
            room: Room::default(),
            run: RunId::known("a"),
            inside: Arc::default(),
        }
    }

    impl Scene {
        /// What is said of a wish that is refused; nothing where it is done.
        fn refused(&self, path: &str, wish: FileWish) -> String {
            let (result, _) = wished::perform((&self.files, place), path, wish);
            wished::refused(path, result)
        }
    }

    #[test]
    fn no_link_leads_past_an_own_folder_into_it() {
        let scene = scene();
        for path in [
            "folder/key",
            "file",
            "below/a.txt",
            "deep",
            "again/a.txt",
            "above/own/key",
            "others/a.txt",
            "other",
            "plain/out/a.txt",
            "home/state/own/key",
            "b/.LAZARET/a.txt",
        ] {
            for wish in [
                READ,
                FileWish::Stat,
                FileWish::Remove,
                write(WriteMode::Append),
                write(WriteMode::Replace),
                to("plain/b.txt"),
            ] {
                let said = scene.refused(path, wish);
                assert!(
                    said.contains("lies in lazaret's own folder"),
                    "{path}: {said}"
                );
            }
        }
        for path in [
            "folder",
            "below",
            "again",
            "others",
            "plain/out",
            "above/own",
        ] {
            let said = scene.refused(path, FileWish::List);
            assert!(said.contains("own folder"), "{path}: {said}");
            for (path, wish) in [
                (format!("{path}/new"), write(WriteMode::Create)),
                (format!("{path}/new"), FileWish::MakeFolder),
                ("plain/a.txt".to_owned(), to(&format!("{path}/deep/new"))),
            ] {
                let said = scene.refused(&path, wish);
                assert!(said.contains("own folder"), "{path}: {said}");
            }
        }
        // What only lies beside them is anybody's.
        assert_eq!(scene.refused("nothing", READ), "");
        assert_eq!(scene.refused("above", FileWish::List), "");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn no_link_leads_deeper_than_a_path_may() {
        let scene = scene();
        let root = scene.folder.path();
        // A path would begin with the name of the mount.
        let most = PATH_NAMES - 1;
        for (link, names) in [("last", most), ("past", most + 1)] {
            let far = vec!["d"; names].join("/");
            std::fs::create_dir_all(root.join(&far)).unwrap();
            symlink(far, root.join(link)).unwrap();
        }
        assert_eq!(scene.refused("last", FileWish::List), "");
        for (path, wish) in [
            ("past", FileWish::List),
            ("past", FileWish::Stat),
            ("last/new", write(WriteMode::Create)),
            ("last/new", FileWish::MakeFolder),
            ("last/new", READ),
            ("plain/a.txt", to("last/new")),
        ] {
            let said = scene.refused(path, wish);
            let says = "leads too deep: 64 names below its mount, and at most 63 may be";
            assert!(said.contains(says), "{path}: {said}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn no_own_folder_goes_with_the_folder_that_it_lies_in() {
        let scene = scene();
        for path in ["home/state", "home", "b"] {
            let said = scene.refused(path, to("plain/x"));
            assert!(
                said.contains("holds lazaret's own folder"),
                "{path}: {said}"
            );
        }
        // Nor once a person has given it another name.
        let root = scene.folder.path();
        std::fs::rename(root.join("home/state/own"), root.join("home/state/other")).unwrap();
        let said = scene.refused("home/state", to("plain/x"));
        assert!(said.contains("holds lazaret's own folder"), "{said}");
        let said = scene.refused("home/state/other/answers/a.txt", READ);
        assert!(said.contains("lies in lazaret's own folder"), "{said}");
        assert_eq!(scene.refused("plain", to("elsewhere")), "");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn no_mount_lies_in_an_own_folder_but_the_demo() {
        let scene = scene();
        let root = scene.folder.path();
        let state = root.join("home/state/own");
        std::fs::create_dir_all(state.join("demo/docs")).unwrap();
        std::fs::create_dir_all(state.join("demo/.lazaret")).unwrap();
        let own = Own::of(&[state.clone(), root.join("missing")]);
        for (mount, expected) in [
            (state.clone(), true),
            (state.join("answers"), true),
            (root.join("below"), true),
            (root.join("others"), true),
            (root.join("b/.lazaret"), true),
            (state.join("demo/.lazaret"), true),
            (state.join("demo"), false),
            (state.join("demo/docs"), false),
            (root.join("home/state"), false),
            (root.join("plain"), false),
        ] {
            assert_eq!(own.has(&mount), expected, "{}", mount.display());
        }
        let mounts = BTreeMap::from([(Arc::from("a"), state.join("answers"))]);
        let refused = Files::open(&mounts, &[state], None).unwrap_err();
        assert_eq!(refused.code(), Code::Denied);
        assert!(
            refused.message().contains("lazaret's own folder"),
            "{refused}"
        );
    }
}
