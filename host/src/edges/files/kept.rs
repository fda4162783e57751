//! What no tool changes or sees into, where it lies deeper than its name shows: below a folder that is moved.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::explain;
use super::own::Own;
use crate::rules::file::{is_kept, is_own, is_repository, kept, repository};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;
use crate::words::limits::{MOVED_ENTRIES, PATH_NAMES};

/// Refuses to move a folder in which something lies that no tool changes, or one of lazaret's own folders, or that is too
/// large to be looked through, or has more in each other than there are names left where it would go. No link is followed:
/// what it leads to stays where it is.
pub(super) fn check_moved(
    (dir, own): (&Dir, &Own),
    path: &str,
    from: &Path,
    names_left: usize,
) -> Result<()> {
    let explain = |error: std::io::Error| explain(path, &error);
    let found = dir.symlink_metadata(from).map_err(explain)?;
    let mut left = MOVED_ENTRIES;
    let mut folders: Vec<(PathBuf, usize)> = Vec::new();
    if found.is_dir() {
        folders.push((from.to_owned(), 1));
    }
    while let Some((folder, depth)) = folders.pop() {
        // Each folder is opened name by name, so what lies deep costs more.
        left = left.checked_sub(depth).ok_or_else(|| too_many(path))?;
        let mut names: Vec<String> = Vec::new();
        let mut holds_own = false;
        for entry in dir.read_dir(&folder).map_err(explain)? {
            let entry = entry.map_err(explain)?;
            left = left.checked_sub(1).ok_or_else(|| too_many(path))?;
            if depth > names_left {
                return Err(Error::new(Code::Denied, lies_too_deep(path)));
            }
            if entry.file_type().map_err(explain)?.is_dir() {
                holds_own |= own.is(&entry.metadata().map_err(explain)?);
                let below = folder.join(entry.file_name());
                folders.push((below, depth.saturating_add(1)));
            }
            // A name that is no text is none of these.
            names.extend(entry.file_name().into_string());
        }
        if holds_own || names.iter().any(|name| is_own(name)) {
            return Err(Error::new(Code::Denied, takes_own(path)));
        }
        if names.iter().any(|name| is_kept(name)) {
            return Err(Error::new(Code::Denied, kept(path)));
        }
        if is_repository(|mark| names.iter().any(|name| name.eq_ignore_ascii_case(mark))) {
            return Err(Error::new(Code::Denied, repository(path)));
        }
    }
    Ok(())
}

fn takes_own(path: &str) -> String {
    format!(
        "`{}` holds lazaret's own folder, and stays where it is; move its other parts",
        shown(path)
    )
}

fn lies_too_deep(path: &str) -> String {
    format!(
        "`{}` holds what would lie too deep there: no path has more than {PATH_NAMES} names; move its parts to where they are \
         fewer",
        shown(path)
    )
}

fn too_many(path: &str) -> Error {
    let what = format!(
        "`{}` holds more than {MOVED_ENTRIES} files and folders, too many to see whether one of them is changed by no tool; \
         move its parts",
        shown(path)
    );
    Error::new(Code::Denied, what)
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn a_folder_that_is_too_large_or_too_deep_is_not_moved() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let own = Own::of(&[]);
        let check = |path: &str, names_left: usize| {
            check_moved((&dir, &own), path, Path::new(path), names_left)
        };
        // Three folders in each other, below the one that is moved.
        dir.create_dir_all("deep/a/b/c").unwrap();
        assert!(check("deep", 3).is_ok());
        let refused = check("deep", 2).unwrap_err();
        assert!(refused.message().contains("lie too deep"), "{refused:?}");
        // One with nothing in it has none.
        assert!(check("deep/a/b/c", 0).is_ok());
        // 200 folders, one in the other: to look into the last of them takes 200 steps.
        let chain: PathBuf = (0..200).map(|_| "d").collect();
        dir.create_dir_all(Path::new("deep").join(chain)).unwrap();
        let refused = check("deep", usize::MAX).unwrap_err();
        assert!(refused.message().contains("too many to see"), "{refused:?}");
        assert!(check("gone", 3).is_err());
    }
}
