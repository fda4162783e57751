//! Elsewhere: what was known by its path, and stands there no more while something else does, or nothing.
//!
//! A person has given it another name, or it has had one more from the start. The row of its path goes to whatever stands
//! there next, so its label is kept by what it is alone, and by where it was last. It stays until the host itself ends
//! what it is, or a person clears it. Whether a person has removed it nobody is told: then it says too much, of whatever
//! gets its number. There is at most one row for each number and label, and only where a path was used again.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{FileLabels, KnownFile, bytes, numbers, span};
use crate::words::error::Result;

impl FileLabels {
    /// What had this identity is no more: the host has removed its last name, or has just made what has its number now.
    ///
    /// # Errors
    /// `DiskFailed`: then labels say too much.
    pub(in crate::edges) fn ended(&self, identity: (u64, u64)) -> Result<()> {
        const GONE: &str = "DELETE FROM elsewhere WHERE number = ?1 AND device = ?2";
        const UNKNOWN: &str = "UPDATE files SET number = -1, device = -1
            WHERE number = ?1 AND device = ?2";
        let (device, number) = numbers(Some(identity));
        self.change(|work| {
            work.execute(GONE, params![number, device])?;
            work.execute(UNKNOWN, params![number, device]).map(drop)
        })
    }
}

/// The row of a path is about to be another file's: what it was of, unless it is this one, is kept by what it is.
pub(super) fn keep(work: &Connection, file: &KnownFile) -> rusqlite::Result<()> {
    const KEEP: &str = "INSERT INTO elsewhere (number, device, label, was_at)
        SELECT number, device, label, path FROM files
        WHERE path = ?1 AND number <> -1 AND NOT (number = ?2 AND device = ?3)
        ON CONFLICT DO UPDATE SET was_at = excluded.was_at";
    let (device, number) = numbers(file.identity);
    let kept = work.execute(KEEP, params![bytes(&file.path), number, device]);
    kept.map(drop)
}

/// A file or folder moves to where nothing stands: rows of what stood there, and that those of what moves will take the
/// place of, are kept by what they are of. What was last in a folder goes with it.
pub(super) fn moved(work: &Connection, from: &Path, to: &Path) -> rusqlite::Result<()> {
    const COVERED: &str = "INSERT INTO elsewhere (number, device, label, was_at)
        SELECT number, device, label, path FROM files AS there
        WHERE number <> -1
            AND (path = ?2 OR substr(path, 1, length(?2) + 1) = CAST(?2 || '/' AS BLOB))
            AND EXISTS (SELECT 1 FROM files AS here
                WHERE here.path = CAST(?1 || substr(there.path, length(?2) + 1) AS BLOB))
        ON CONFLICT DO UPDATE SET was_at = excluded.was_at";
    const LAST: &str = "UPDATE elsewhere
        SET was_at = CAST(?2 || substr(was_at, length(?1) + 1) AS BLOB)
        WHERE was_at > ?3 AND was_at < ?4";
    let (start, end) = span(from);
    let (from, to) = (bytes(from), bytes(to));
    work.execute(COVERED, params![from, to])?;
    work.execute(LAST, params![from, to, start, end]).map(drop)
}

/// A person takes for their own what this file is and what was last below it; and what was last here, where nothing is.
pub(super) fn clear(work: &Connection, file: &KnownFile) -> rusqlite::Result<usize> {
    const CLEAR: &str = "DELETE FROM elsewhere WHERE (number = ?1 AND device = ?2)
        OR (was_at > ?3 AND was_at < ?4) OR (?1 = -1 AND was_at = ?5)";
    let (device, number) = numbers(file.identity);
    if file.identity.is_some() {
        keep(work, file)?;
    }
    let (from, to) = span(&file.path);
    let row = params![number, device, from, to, bytes(&file.path)];
    work.execute(CLEAR, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::book::Book;
    use crate::edges::labels::Labelled;
    use crate::rules::flow::home::Home;
    use crate::words::label::{Label, Sort, Source};

    fn known(path: &str, number: u64) -> KnownFile {
        KnownFile {
            path: path.into(),
            identity: Some((1, number)),
        }
    }

    fn gone(path: &str) -> KnownFile {
        KnownFile {
            path: path.into(),
            identity: None,
        }
    }

    fn web(host: &str) -> Label {
        Label::of(Source::user()).with(Source::new(Sort::Web, host))
    }

    fn user() -> Label {
        Label::of(Source::user())
    }

    /// One file at `/m/a`, labelled.
    fn labels() -> FileLabels {
        let labels = FileLabels::in_memory().unwrap();
        labels.put(&known("/m/a", 7), &web("one")).unwrap();
        labels
    }

    fn of(labels: &FileLabels, path: &str, number: u64) -> Label {
        labels.of(&known(path, number)).unwrap()
    }

    #[test]
    fn whatever_comes_to_its_path_what_was_there_keeps_its_label() {
        type Change = fn(&FileLabels) -> Result<()>;
        let changes: [(&str, Change); 6] = [
            ("clean", |labels| labels.put(&known("/m/a", 8), &user())),
            ("other", |labels| labels.put(&known("/m/a", 8), &web("two"))),
            ("about to be", |labels| {
                labels.put(&gone("/m/a"), &web("two"))
            }),
            ("forgotten", |labels| labels.forget(&gone("/m/a"))),
            ("moved over", |labels| {
                labels.put(&known("/m/b", 8), &web("two"))?;
                labels.moved(Path::new("/m/b"), Path::new("/m/a"))
            }),
            ("moved over in its folder", |labels| {
                labels.put(&known("/n/a", 8), &web("two"))?;
                labels.moved(Path::new("/n"), Path::new("/m"))
            }),
        ];
        for (name, change) in changes {
            let labels = labels();
            change(&labels).unwrap();
            assert_eq!(of(&labels, "/m/c", 7), web("one"), "{name}");
            assert_eq!(of(&labels, "/m/c", 9), Label::default(), "{name}");
            assert!(!of(&labels, "/m/a", 8).covers(&web("one")), "{name}");
            // Whoever lists the folder that it was in may see its size.
            let below = labels.below(Path::new("/m")).unwrap();
            assert!(below.covers(&web("one")), "{name}: {below}");
        }
    }

    #[test]
    fn several_labels_of_what_is_elsewhere_count_together() {
        let labels = labels();
        labels.forget(&gone("/m/a")).unwrap();
        for _ in 0..2 {
            labels.put(&known("/m/c", 7), &web("two")).unwrap();
            labels.forget(&gone("/m/c")).unwrap();
        }
        assert_eq!(of(&labels, "/m/d", 7), web("one").join(&web("two")));
        assert_eq!(labels.list(9).unwrap().len(), 2);
    }

    #[test]
    fn what_the_host_has_ended_has_no_label_and_nor_has_what_gets_its_number() {
        let labels = labels();
        labels.forget(&gone("/m/a")).unwrap();
        labels.put(&known("/m/b", 8), &web("two")).unwrap();
        for number in [7, 8] {
            labels.ended((1, number)).unwrap();
            assert_eq!(of(&labels, "/m/c", number), Label::default(), "{number}");
        }
        assert_eq!(of(&labels, "/m/b", 8), web("two"));
        labels.put(&known("/m/b", 9), &user()).unwrap();
        assert!(labels.list(9).unwrap().is_empty());
    }

    #[test]
    fn a_person_is_shown_it_by_where_it_was_and_takes_it_for_their_own_by_what_it_is() {
        let left = || {
            let labels = labels();
            labels.put(&known("/m/a", 8), &web("two")).unwrap();
            labels
        };
        let row = |host: &str, is_elsewhere| Labelled {
            path: "/m/a".into(),
            label: web(host),
            is_elsewhere,
        };
        assert_eq!(
            left().list(9).unwrap(),
            [row("two", false), row("one", true)]
        );
        for (file, cleared, stays) in [
            // What stands at its path is another file.
            (known("/m/a", 8), 1, true),
            (known("/m/c", 7), 1, false),
            (gone("/m/a"), 2, false),
            (known("/m", 3), 2, false),
            (known("/n", 3), 0, true),
        ] {
            let labels = left();
            assert_eq!(labels.clear(&file).unwrap(), cleared, "{file:?}");
            let label = of(&labels, "/m/c", 7);
            assert_eq!(label.covers(&web("one")), stays, "{file:?}: {label}");
        }
        // Nor does a person speak of what was at a path before, who speaks of what is there.
        let labels = labels();
        labels.clear(&known("/m/a", 8)).unwrap();
        assert_eq!(of(&labels, "/m/c", 7), web("one"));
    }

    #[test]
    fn what_was_last_in_a_folder_goes_with_it() {
        let labels = labels();
        labels.forget(&gone("/m/a")).unwrap();
        labels.moved(Path::new("/m"), Path::new("/n")).unwrap();
        assert_eq!(labels.below(Path::new("/n")).unwrap(), web("one"));
        assert_eq!(labels.below(Path::new("/m")).unwrap(), Label::default());
    }

    #[test]
    fn labels_from_before_there_was_any_are_opened() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("files.db");
        let old = "CREATE TABLE files (path BLOB NOT NULL PRIMARY KEY, device INTEGER NOT NULL,
            number INTEGER NOT NULL, label TEXT NOT NULL) STRICT";
        drop(Book::open(&path, "files", old).unwrap());
        let labels = FileLabels::open(&path, Home::default()).unwrap();
        labels.put(&known("/m/a", 7), &web("one")).unwrap();
        labels.forget(&gone("/m/a")).unwrap();
        drop(labels);
        let labels = FileLabels::open(&path, Home::default()).unwrap();
        assert_eq!(of(&labels, "/m/c", 7), web("one"));
    }
}
