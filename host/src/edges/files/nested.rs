//! Mounts inside mounts: what is done through the outer one is done in the inner one as well, and gets no more than that
//! gives. A path may lead there by a link, so what counts is where it leads, and not how it is written.
//!
//! Nothing is looked up for a mount that holds no other. A mount that stands in two places of the file system
//! (a bind mount) is known by one of them only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Files, canonical};
use crate::rules::file::{Place, gives_no_more};
use crate::rules::grant::Access;
use crate::rules::policy::{Inside, Mount};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;

/// Tells each mount which others lie inside it.
pub(crate) fn nest(mounts: &mut BTreeMap<Arc<str>, Mount>, paths: &BTreeMap<Arc<str>, PathBuf>) {
    let roots: Vec<(&Arc<str>, PathBuf)> = paths
        .iter()
        .map(|(name, path)| (name, canonical(path)))
        .collect();
    let inside = |outer: &Arc<str>, root: &Path, mounts: &BTreeMap<Arc<str>, Mount>| {
        let others = roots.iter().filter(|(name, _)| *name != outer);
        let inside = others.filter_map(|(name, path)| {
            let way = path.strip_prefix(root).ok()?;
            let mount = mounts.get(*name)?;
            Some(Inside {
                mount: (*name).clone(),
                names: way
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy().into_owned())
                    .collect(),
                access: mount.access,
                workspace: mount.workspace,
            })
        });
        inside.collect::<Arc<[Inside]>>()
    };
    for (name, root) in &roots {
        let inside = inside(name, root, mounts);
        if let Some(mount) = mounts.get_mut(*name) {
            mount.inside = inside;
        }
    }
}

impl Files {
    /// The mounts inside a place's own through which its path leads, and in which it ends. A link that leads out of one
    /// of them was made by whoever writes there.
    pub(super) fn within<'a>(&self, place: &'a Place) -> Result<Vec<&'a Inside>> {
        if place.inside.is_empty() {
            return Ok(Vec::new());
        }
        let lengths = 0..=place.names.len();
        let ways = lengths.map(|length| {
            let names = place.names.get(..length).unwrap_or_default();
            self.led(place, names)
        });
        let ways: Vec<PathBuf> = ways.collect::<Result<_>>()?;
        let through = |inner: &&Inside| {
            let root = self.roots.get(&inner.mount);
            root.is_some_and(|root| ways.iter().any(|way| way.starts_with(root)))
        };
        Ok(place.inside.iter().filter(through).collect())
    }

    /// Refuses what an inner mount does not give, where a link leads there as well.
    pub(super) fn check_inside(&self, path: &str, place: &Place, needed: Access) -> Result<()> {
        let within = self.within(place)?;
        match within.iter().find(|inner| inner.access < needed) {
            None => Ok(()),
            Some(inner) => {
                let error = Error::new(Code::Denied, gives_no_more(path, inner));
                let (mount, access) = (&inner.mount, needed.word());
                Err(error.hint(format!("[mounts.\"{mount}\"] access = \"{access}\"")))
            }
        }
    }

    /// Refuses to take away a folder that holds a mount: that is known by where it lies.
    pub(super) fn check_holds_none(&self, path: &str, place: &Place) -> Result<()> {
        let Some((name, above)) = place.names.split_last() else {
            return Ok(());
        };
        if place.inside.is_empty() {
            return Ok(());
        }
        let way = self.led(place, above)?.join(name);
        let lies_in = |inner: &&Inside| {
            let root = self.roots.get(&inner.mount);
            root.is_some_and(|root| root.starts_with(&way))
        };
        match place.inside.iter().find(lies_in) {
            None => Ok(()),
            Some(inner) => {
                let what = format!(
                    "`{}` is or holds the folder of the mount `{}`, and stays where it is",
                    shown(path),
                    shown(&inner.mount)
                );
                Err(Error::new(Code::Denied, what))
            }
        }
    }

    /// Refuses a move by which a file would leave a mount, or a mount its place.
    pub(super) fn check_stays(&self, path: &str, (from, to): (&Place, &Place)) -> Result<()> {
        self.check_holds_none(path, from)?;
        self.check_inside(path, from, Access::Write)?;
        self.check_inside(path, to, Access::Write)?;
        if self.within(from)? == self.within(to)? {
            return Ok(());
        }
        let what = format!(
            "`{}` and where it would go lie in two mounts; read and write instead",
            shown(path)
        );
        Err(Error::new(Code::Denied, what))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::edges::files::wished::{self, READ, to};
    use crate::edges::files::{FileOutcome, is_missing};
    use crate::rules::file::{FileWish, WriteMode};
    use crate::rules::policy::{Policy, Room};
    use crate::words::id::RunId;
    use crate::words::label::Label;

    /// A folder that is the mount `all`, may be written, and holds three more: `mail`, which is only read, under another
    /// name and with two links, `made`, which may be written too, and `same`, which is one folder with `twin`.
    struct Scene {
        files: Files,
        mounts: BTreeMap<Arc<str>, Mount>,
        folder: tempfile::TempDir,
    }

    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        for name in ["deep/post", "made/below", "same", "plain"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("a.txt"), name).unwrap();
        }
        symlink("deep/post", folder.path().join("link")).unwrap();
        symlink("post", folder.path().join("deep/again")).unwrap();
        symlink("../../plain", folder.path().join("deep/post/out")).unwrap();
        let given = [
            ("all", "", Access::Write),
            ("mail", "link", Access::Read),
            ("made", "made", Access::Write),
            ("same", "same", Access::Write),
            ("twin", "same", Access::Write),
        ];
        let mount = |access| Mount {
            access,
            workspace: false,
            room: Room::default(),
            inside: Arc::default(),
        };
        let paths = given.map(|(name, path, _)| (Arc::from(name), folder.path().join(path)));
        let mounts = given.map(|(name, _, access)| (Arc::from(name), mount(access)));
        let (paths, mut mounts) = (BTreeMap::from(paths), BTreeMap::from(mounts));
        nest(&mut mounts, &paths);
        Scene {
            files: Files::open(&paths, &[], None).unwrap(),
            mounts,
            folder,
        }
    }

    impl Scene {
        fn place(&self, path: &str) -> Place {
            let (mount, below) = path.split_once('/').unwrap_or((path, ""));
            Place {
                mount: mount.into(),
                names: below.split_terminator('/').map(str::to_owned).collect(),
                room: Room::default(),
                run: RunId::known("a"),
                inside: self.mounts[mount].inside.clone(),
            }
        }

        fn perform(&self, path: &str, wish: FileWish) -> (Result<FileOutcome>, Label) {
            let place = |path: &str| self.place(path);
            wished::perform((&self.files, place), path, wish)
        }

        /// Whether it is refused, and what says so.
        fn refused(&self, path: &str, wish: FileWish) -> String {
            let (result, _) = self.perform(path, wish);
            wished::refused(path, result)
        }
    }

    fn write() -> FileWish {
        wished::write(WriteMode::Append)
    }

    #[test]
    fn what_is_read_is_of_each_mount_that_its_path_leads_through() {
        let scene = scene();
        for (path, expected) in [
            ("mail/a.txt", "mail"),
            ("all/plain/a.txt", "all"),
            ("all/deep/post/a.txt", "all mail"),
            ("all/link/a.txt", "all mail"),
            ("all/deep/again/a.txt", "all mail"),
            // Whoever writes the letters has made this link.
            ("all/deep/post/out/a.txt", "all mail"),
            ("all/made/below/a.txt", "all made"),
            ("all/same/a.txt", "all same twin"),
            ("same/a.txt", "same twin"),
            ("twin/a.txt", "same twin"),
        ] {
            let (result, label) = scene.perform(path, READ);
            result.unwrap();
            let sources = expected.split(' ').map(Policy::mount_source);
            let expected = sources.fold(Label::default(), |label, source| label.with(source));
            assert_eq!(label, expected, "{path}");
        }
        let (listed, label) = scene.perform("all/link", FileWish::List);
        listed.unwrap();
        assert!(label.covers(&Label::of(Policy::mount_source("mail"))));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn through_the_outer_one_an_inner_one_gives_no_more() {
        let scene = scene();
        let mail =
            "lies in the mount `mail` as well, and what lies there may be read and not changed";
        for path in [
            "all/deep/post/a.txt",
            "all/link/a.txt",
            "all/deep/again/new.txt",
        ] {
            assert!(scene.refused(path, write()).contains(mail), "{path}");
        }
        assert!(
            scene
                .refused("all/link/a.txt", FileWish::Remove)
                .contains(mail)
        );
        assert!(
            scene
                .refused("all/link/new", FileWish::MakeFolder)
                .contains(mail)
        );
        assert_eq!(scene.refused("all/made/below/a.txt", write()), "");
        assert_eq!(scene.refused("all/plain/a.txt", write()), "");
        let letter = scene.folder.path().join("deep/post/a.txt");
        assert_eq!(std::fs::read(letter).unwrap(), b"deep/post");
    }

    #[test]
    fn no_file_leaves_an_inner_mount_and_no_inner_mount_its_place() {
        let scene = scene();
        for (path, wish, says) in [
            (
                "all/deep/post/a.txt",
                to("all/plain/b.txt"),
                "the mount `mail`",
            ),
            ("all/plain/a.txt", to("all/link/b.txt"), "the mount `mail`"),
            ("all/made/below/a.txt", to("all/plain/b.txt"), "two mounts"),
            ("all/plain/a.txt", to("all/made/b.txt"), "two mounts"),
            (
                "all/made",
                to("all/elsewhere"),
                "holds the folder of the mount `made`",
            ),
            (
                "all/deep",
                to("all/elsewhere"),
                "holds the folder of the mount `mail`",
            ),
            (
                "all/same",
                FileWish::Remove,
                "holds the folder of the mount `same`",
            ),
        ] {
            let said = scene.refused(path, wish);
            assert!(said.contains(says), "{path}: {said}");
        }
        assert_eq!(
            scene.refused("all/made/below/a.txt", to("all/made/b.txt")),
            ""
        );
        assert_eq!(scene.refused("all/plain/a.txt", to("all/deep/b.txt")), "");
    }

    /// Whoever makes its folder later, through the mount around it, gets no more there than it gives.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn a_mount_whose_folder_is_not_there_lies_inside_the_one_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("real")).unwrap();
        symlink("real", root.join("led")).unwrap();
        symlink("later", root.join("real/link")).unwrap();
        let paths: BTreeMap<Arc<str>, PathBuf> = BTreeMap::from([
            (Arc::from("all"), root.join("real")),
            (Arc::from("none"), root.join("led/none/below")),
        ]);
        let mount = || Mount {
            access: Access::Read,
            workspace: false,
            room: Room::default(),
            inside: Arc::default(),
        };
        let mut mounts = paths.keys().map(|name| (name.clone(), mount())).collect();
        nest(&mut mounts, &paths);
        let inside: Vec<&[String]> = mounts["all"]
            .inside
            .iter()
            .map(|inner| &*inner.names)
            .collect();
        assert_eq!(inside, [["none", "below"]]);
        assert!(is_missing(&root.join("led/none/below")));
        // What these will lead to is known to nobody.
        for link in ["real/link", "led/link/below"] {
            assert!(!is_missing(&root.join(link)), "{link}");
            let paths = BTreeMap::from([(Arc::from("a"), root.join(link))]);
            assert!(Files::open(&paths, &[], None).is_err(), "{link}");
        }
    }
}
