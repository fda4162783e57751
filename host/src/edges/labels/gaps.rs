//! Gaps: where something was taken away under somebody's influence. That nothing is there tells of whoever took it away, so
//! their label stays in its place, for whoever looks there, or lists the folder in which it stood.
//!
//! A gap of a folder is one of all that would lie below it. Where there are too many in a mount, those of a folder become
//! one of the folder itself; none is ever dropped for being one too many.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::{FileLabels, bytes, span};
use crate::words::error::Result;
use crate::words::label::Label;
use crate::words::limits::records::GAPS;

const AT: &str = "SELECT label FROM gaps WHERE path = ?1";
const BELOW: &str = "SELECT label FROM gaps WHERE path > ?1 AND path < ?2";

/// The gaps, at work.
struct Gaps<'a> {
    labels: &'a FileLabels,
    database: &'a Connection,
}

impl FileLabels {
    /// Who had a hand in that there is nothing here: here itself, or in a folder above.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(in crate::edges) fn gap(&self, path: &Path) -> Result<Label> {
        let database = self.book.lock();
        self.gaps(&database).above(path)
    }

    /// What was left at this very place.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(in crate::edges) fn gap_at(&self, path: &Path) -> Result<Label> {
        let database = self.book.lock();
        self.gaps(&database).at(path)
    }

    /// What was left anywhere in a folder, and not in a folder above.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(in crate::edges) fn gaps_below(&self, folder: &Path) -> Result<Label> {
        let database = self.book.lock();
        self.gaps(&database).below(folder)
    }

    /// Something is about to be taken away from here by whoever has this label, in a mount that lies at `root`.
    ///
    /// # Errors
    /// `DiskFailed`: then nothing may be taken away. `Corrupt` for a label that cannot be read.
    pub(in crate::edges) fn leave(&self, path: &Path, root: &Path, label: &Label) -> Result<()> {
        // As of what is written: what nobody else had influence on a person might have done by themselves.
        if label.is_ones_own() {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| self.book.failed(&error);
        let mut database = self.book.lock();
        let work = database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        self.gaps(&work).leave(path, root, label)?;
        work.commit().map_err(failed)
    }

    /// What is left at this very place from now on, whatever was left before: nothing, where that is a person's own.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::edges) fn put_gap(&self, path: &Path, label: &Label) -> Result<()> {
        let database = self.book.lock();
        self.gaps(&database).put(path, label)
    }

    fn gaps<'a>(&'a self, database: &'a Connection) -> Gaps<'a> {
        Gaps {
            labels: self,
            database,
        }
    }
}

impl Gaps<'_> {
    fn at(&self, path: &Path) -> Result<Label> {
        self.labels.joined(self.database, AT, params![bytes(path)])
    }

    fn above(&self, path: &Path) -> Result<Label> {
        let mut label = Label::default();
        for above in path.ancestors() {
            label = label.join(&self.at(above)?);
        }
        Ok(label)
    }

    /// The same, of what was left from here: what these names are worth elsewhere says nothing of what they are worth here.
    fn above_here(&self, path: &Path) -> Result<Label> {
        let mut label = Label::default();
        for above in path.ancestors() {
            let here = params![bytes(above)];
            label = label.join(&self.labels.joined_here(self.database, AT, here)?);
        }
        Ok(label)
    }

    fn below(&self, folder: &Path) -> Result<Label> {
        let (from, to) = span(folder);
        self.labels.joined(self.database, BELOW, params![from, to])
    }

    fn leave(&self, path: &Path, root: &Path, label: &Label) -> Result<()> {
        if self.above_here(path)?.covers(label) {
            return Ok(());
        }
        let here = self.at(path)?;
        if !here.is_empty() || self.count(root)? < GAPS {
            return self.put(path, &here.join(label));
        }
        let folders = path.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(root)) {
            if self.count(folder)? > 0 {
                return self.gather(folder, label);
            }
        }
        self.gather(root, label)
    }

    /// From now on they are one of the folder itself.
    fn gather(&self, folder: &Path, label: &Label) -> Result<()> {
        const GONE: &str = "DELETE FROM gaps WHERE path > ?1 AND path < ?2";
        let all = self.at(folder)?.join(&self.below(folder)?).join(label);
        let (from, to) = span(folder);
        self.change(GONE, params![from, to])?;
        self.put(folder, &all)
    }

    fn put(&self, path: &Path, label: &Label) -> Result<()> {
        const GONE: &str = "DELETE FROM gaps WHERE path = ?1";
        const PUT: &str = "INSERT INTO gaps (path, label) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET label = ?2";
        if label.is_ones_own() {
            return self.change(GONE, params![bytes(path)]);
        }
        let text = self.labels.text_of(label)?;
        self.change(PUT, params![bytes(path), text])
    }

    /// How many there are of a folder, and in it.
    fn count(&self, folder: &Path) -> Result<usize> {
        const COUNT: &str =
            "SELECT count(*) FROM gaps WHERE path = ?1 OR (path > ?2 AND path < ?3)";
        let (from, to) = span(folder);
        let count = self
            .database
            .query_row(COUNT, params![bytes(folder), from, to], |row| {
                row.get::<_, i64>(0)
            });
        let count = count.map_err(|error| self.labels.book.failed(&error))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn change(&self, query: &str, params: impl rusqlite::Params) -> Result<()> {
        let changed = self.database.execute(query, params);
        changed
            .map(drop)
            .map_err(|error| self.labels.book.failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::edges::book::Book;
    use crate::edges::labels::KnownFile;
    use crate::rules::flow::home::Home;
    use crate::words::label::{Sort, Source};

    const ROOT: &str = "/m";

    fn web(host: &str) -> Label {
        Label::of(Source::user()).with(Source::new(Sort::Web, host))
    }

    fn leave(labels: &FileLabels, path: &str, label: &Label) {
        labels
            .leave(Path::new(path), Path::new(ROOT), label)
            .unwrap();
    }

    fn gap(labels: &FileLabels, path: &str) -> Label {
        labels.gap(Path::new(path)).unwrap()
    }

    #[test]
    fn what_was_taken_away_is_told_of_its_place_of_all_below_and_of_its_folder() {
        let labels = FileLabels::in_memory().unwrap();
        leave(&labels, "/m/a/x", &web("one"));
        leave(&labels, "/m/ab", &web("two"));
        for (path, expected) in [
            ("/m/a/x", web("one")),
            ("/m/a/x/below/it", web("one")),
            ("/m/a/xy", Label::default()),
            ("/m/a", Label::default()),
            ("/m/ab", web("two")),
        ] {
            assert_eq!(gap(&labels, path), expected, "{path}");
        }
        for (folder, expected) in [
            ("/m/a", web("one")),
            ("/m/a/x", Label::default()),
            ("/m", web("one").join(&web("two"))),
            ("/", web("one").join(&web("two"))),
            ("/n", Label::default()),
        ] {
            let below = labels.gaps_below(Path::new(folder)).unwrap();
            assert_eq!(below, expected, "{folder}");
        }
        // More hands than one.
        leave(&labels, "/m/a/x", &web("two"));
        assert_eq!(gap(&labels, "/m/a/x"), web("one").join(&web("two")));
    }

    #[test]
    fn what_a_person_takes_away_leaves_nothing() {
        let labels = FileLabels::in_memory().unwrap();
        leave(&labels, "/m/x", &Label::of(Source::user()));
        assert!(labels.list(9).unwrap().is_empty());
        // Nor does it take away what others have left.
        leave(&labels, "/m/x", &web("one"));
        leave(&labels, "/m/x", &Label::of(Source::user()));
        assert_eq!(gap(&labels, "/m/x"), web("one"));
        labels
            .put_gap(Path::new("/m/x"), &Label::of(Source::user()))
            .unwrap();
        assert_eq!(gap(&labels, "/m/x"), Label::default());
    }

    #[test]
    fn too_many_of_them_become_one_of_their_folder_and_none_is_lost() {
        let labels = FileLabels::in_memory().unwrap();
        leave(&labels, "/n/other", &web("other"));
        for number in 0..GAPS - 1 {
            leave(&labels, &format!("/m/a/{number}"), &web("many"));
        }
        leave(&labels, "/m/b/one", &web("first"));
        let count = |labels: &FileLabels| labels.list(2 * GAPS).unwrap().len();
        assert_eq!(count(&labels), GAPS + 1);
        leave(&labels, "/m/b/two", &web("second"));
        assert_eq!(count(&labels), GAPS + 1);
        let both = web("first").join(&web("second"));
        assert_eq!(gap(&labels, "/m/b/one"), both);
        assert_eq!(gap(&labels, "/m/b/anything"), both);
        assert_eq!(gap(&labels, "/m/a/7"), web("many"));
        assert_eq!(gap(&labels, "/m/a/none"), Label::default());
        // No folder of its own has any: it is of the whole mount, and nothing more of the kind is needed.
        leave(&labels, "/m/c/d/e", &web("third"));
        assert_eq!(count(&labels), 2);
        for path in ["/m", "/m/a/7", "/m/b/one", "/m/c/d/e"] {
            let gap = gap(&labels, path);
            assert!(gap.covers(&both.join(&web("third"))), "{path}: {gap}");
        }
        leave(&labels, "/m/a/7", &web("third"));
        assert_eq!(count(&labels), 2);
        assert_eq!(gap(&labels, "/n/other"), web("other"));
        assert_eq!(gap(&labels, "/n/none"), Label::default());
    }

    #[test]
    fn a_person_is_shown_them_and_takes_them_for_their_own() {
        let labels = FileLabels::in_memory().unwrap();
        let file = |path: &str, identity| KnownFile {
            path: path.into(),
            identity,
        };
        leave(&labels, "/m/a/x", &web("one"));
        leave(&labels, "/m/b", &web("two"));
        labels
            .put(&file("/m/b", Some((1, 7))), &web("three"))
            .unwrap();
        let listed = labels.list(9).unwrap().into_iter();
        let listed: Vec<(PathBuf, Label)> = listed.map(|row| (row.path, row.label)).collect();
        let all = web("two").join(&web("three"));
        assert_eq!(
            listed,
            [
                (PathBuf::from("/m/a/x"), web("one")),
                (PathBuf::from("/m/b"), all.clone())
            ]
        );
        assert_eq!(labels.told(&file("/m/b", Some((1, 7)))).unwrap(), all);
        assert_eq!(labels.told(&file("/m/a/x/y", None)).unwrap(), web("one"));
        // What is read of what is there is its own label.
        assert_eq!(
            labels.of(&file("/m/b", Some((1, 7)))).unwrap(),
            web("three")
        );
        assert_eq!(labels.clear(&file("/m/a", None)).unwrap(), 1);
        assert_eq!(gap(&labels, "/m/a/x"), Label::default());
        assert_eq!(labels.clear(&file("/m/b", Some((1, 7)))).unwrap(), 2);
        assert!(labels.list(9).unwrap().is_empty());
    }

    #[test]
    fn labels_from_before_there_were_any_are_opened() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("files.db");
        let old = "CREATE TABLE files (path BLOB NOT NULL PRIMARY KEY, device INTEGER NOT NULL,
            number INTEGER NOT NULL, label TEXT NOT NULL) STRICT";
        let book = Book::open(&path, "files", old).unwrap();
        drop(book);
        let labels = FileLabels::open(&path, Home::default()).unwrap();
        leave(&labels, "/m/x", &web("one"));
        drop(labels);
        let labels = FileLabels::open(&path, Home::default()).unwrap();
        assert_eq!(gap(&labels, "/m/x"), web("one"));
    }
}
