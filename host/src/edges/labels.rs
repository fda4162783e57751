//! Labels of files: what influenced what a tool wrote, kept beside the files for whoever reads them later
//! (design §5: labels are stored with everything that is stored).
//!
//! A file is known by its path on the host and by what it is, so that another mount, a link or a move does not
//! wash its label off: not even one by a person, outside of Lazaret. The label is stored before the bytes are: a
//! crash in between leaves too much, never too little. What a person writes to a file outside of Lazaret is that
//! person's doing.

mod elsewhere;
mod gaps;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::book::Book;
use crate::rules::flow::home::{Home, Stamp};
use crate::words::error::{Code, Error, Result};
use crate::words::label::Label;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS files (
    path BLOB NOT NULL PRIMARY KEY, device INTEGER NOT NULL, number INTEGER NOT NULL, label TEXT NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS files_by_number ON files (number, device);
    CREATE TABLE IF NOT EXISTS elsewhere (
    number INTEGER NOT NULL, device INTEGER NOT NULL, label TEXT NOT NULL, was_at BLOB NOT NULL,
    PRIMARY KEY (number, device, label)) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS elsewhere_by_path ON elsewhere (was_at);
    CREATE TABLE IF NOT EXISTS gaps (path BLOB NOT NULL PRIMARY KEY, label TEXT NOT NULL) STRICT, WITHOUT ROWID";

/// All labels of files.
#[derive(Clone)]
pub(crate) struct FileLabels {
    book: Book,
    home: Arc<Home>,
}

/// A label as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    /// With what it was worth then.
    Stamped { label: Label, stamp: Stamp },
    /// As it was written once.
    Bare(Label),
}

/// One file: where it lies, and what it is; nothing of the latter where it is not there yet.
#[derive(Clone, Debug)]
pub(crate) struct KnownFile {
    pub(super) path: PathBuf,
    pub(super) identity: Option<(u64, u64)>,
}

/// What is labelled, as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// Where it lies on the host, or was last.
    pub path: PathBuf,
    /// Who had a hand in it, or in that it is not there.
    pub label: Label,
    /// Whether it was there and is no more: a person has given it another name, or has removed it.
    pub is_elsewhere: bool,
}

impl FileLabels {
    pub(crate) fn open(path: &Path, home: Home) -> Result<Self> {
        let book = Book::open(path, "files", TABLES)?;
        let home = Arc::new(home);
        Ok(Self { book, home })
    }

    pub(crate) fn in_memory() -> Result<Self> {
        let book = Book::in_memory("files", TABLES)?;
        let home = Arc::default();
        Ok(Self { book, home })
    }

    /// The stored label of a file.
    ///
    /// # Errors
    /// `DiskFailed`; `Corrupt` for a label that cannot be read: no label, no file.
    pub(crate) fn of(&self, file: &KnownFile) -> Result<Label> {
        const OF: &str = "SELECT label FROM files
            WHERE path = ?1 OR (number <> -1 AND number = ?2 AND device = ?3)
            UNION ALL SELECT label FROM elsewhere WHERE number = ?2 AND device = ?3";
        let (device, number) = numbers(file.identity);
        self.join(OF, params![bytes(&file.path), number, device])
    }

    /// The labels of what is stored at any of these paths, together.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(super) fn at<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Result<Label> {
        const AT: &str = "SELECT label FROM files WHERE path = ?1";
        let database = self.book.lock();
        let mut all = Label::default();
        for path in paths {
            let here = self.joined(&database, AT, params![bytes(path)])?;
            all = all.join(&here);
        }
        Ok(all)
    }

    /// What a person is told of a file: who had a hand in what is there, or in that it is not, and in the folders above.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(crate) fn told(&self, file: &KnownFile) -> Result<Label> {
        let gap = match file.identity {
            Some(_) => self.gap_at(&file.path)?,
            None => self.gap(&file.path)?,
        };
        let above = self.at(file.path.ancestors().skip(1))?;
        Ok(self.of(file)?.join(&above).join(&gap))
    }

    /// The first `most` of what is labelled, there, taken away or elsewhere, in order of path, and their labels.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(crate) fn list(&self, most: usize) -> Result<Vec<Labelled>> {
        const LIST: &str = "SELECT path, label, 0 AS is_elsewhere FROM files
            UNION ALL SELECT path, label, 0 FROM gaps
            UNION ALL SELECT was_at, label, 1 FROM elsewhere
            ORDER BY path, is_elsewhere LIMIT ?1";
        let failed = |error: rusqlite::Error| self.book.failed(&error);
        let database = self.book.lock();
        let mut query = database.prepare_cached(LIST).map_err(failed)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let read = |row: &Row<'_>| {
            let path = row.get::<_, Vec<u8>>(0)?;
            Ok((path, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
        };
        let rows = query.query_map([most], read).map_err(failed)?;
        let mut all: Vec<Labelled> = Vec::new();
        for row in rows {
            let (path, text, is_elsewhere) = row.map_err(failed)?;
            let (path, label) = (PathBuf::from(OsString::from_vec(path)), self.parsed(&text)?);
            match all.last_mut() {
                // It is there again.
                Some(last) if last.path == path && !last.is_elsewhere && !is_elsewhere => {
                    last.label = last.label.join(&label);
                }
                Some(_) | None => all.push(Labelled {
                    path,
                    label,
                    is_elsewhere,
                }),
            }
        }
        Ok(all)
    }

    /// The labels of all that lies in a folder, or was last seen there, together: their names are written by whoever wrote
    /// them.
    ///
    /// # Errors
    /// As [`FileLabels::of`].
    pub(super) fn below(&self, folder: &Path) -> Result<Label> {
        const BELOW: &str = "SELECT label FROM files WHERE path > ?1 AND path < ?2
            UNION ALL SELECT label FROM elsewhere WHERE was_at > ?1 AND was_at < ?2";
        let (from, to) = span(folder);
        self.join(BELOW, params![from, to])
    }

    fn join(&self, query: &str, params: impl rusqlite::Params) -> Result<Label> {
        self.joined(&self.book.lock(), query, params)
    }

    /// All labels that a query finds, together.
    fn joined(
        &self,
        database: &Connection,
        query: &str,
        params: impl rusqlite::Params,
    ) -> Result<Label> {
        let mut all = Label::default();
        for text in self.texts(database, query, params)? {
            all = all.join(&self.parsed(&text)?);
        }
        Ok(all)
    }

    /// Those of them that were stored here.
    fn joined_here(
        &self,
        database: &Connection,
        query: &str,
        params: impl rusqlite::Params,
    ) -> Result<Label> {
        let mut all = Label::default();
        for text in self.texts(database, query, params)? {
            if let Ok(Stored::Stamped { label, stamp }) = serde_json::from_str(&text)
                && self.home.made(&stamp)
            {
                all = all.join(&label);
            }
        }
        Ok(all)
    }

    fn texts(
        &self,
        database: &Connection,
        query: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<String>> {
        let failed = |error: rusqlite::Error| self.book.failed(&error);
        let mut query = database.prepare_cached(query).map_err(failed)?;
        let read = |row: &Row<'_>| row.get::<_, String>(0);
        let rows = query.query_map(params, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    fn text_of(&self, label: &Label) -> Result<String> {
        let stored = Stored::Stamped {
            label: label.clone(),
            stamp: self.home.stamp(label),
        };
        serde_json::to_string(&stored)
            .map_err(|error| Error::bug("a label is no JSON").because(error))
    }

    fn parsed(&self, text: &str) -> Result<Label> {
        match serde_json::from_str(text) {
            Ok(Stored::Stamped { label, stamp }) => Ok(self.home.seen(&label, &stamp)),
            Ok(Stored::Bare(label)) => Ok(label),
            Err(error) => {
                let what = "the label of a file cannot be read";
                Err(Error::new(Code::Corrupt, what).because(error))
            }
        }
    }

    /// Stores the label of what is about to be written, or was.
    ///
    /// # Errors
    /// `DiskFailed`: then nothing may be written.
    pub(super) fn put(&self, file: &KnownFile, label: &Label) -> Result<()> {
        const PUT: &str = "INSERT INTO files (path, device, number, label) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET device = ?2, number = ?3, label = ?4";
        // What nobody else had influence on is as if they had written it by themselves.
        if label.is_ones_own() {
            return self.forget(file);
        }
        let text = self.text_of(label)?;
        let (device, number) = numbers(file.identity);
        self.change(|work| {
            elsewhere::keep(work, file)?;
            let put = work.execute(PUT, params![bytes(&file.path), device, number, text]);
            put.map(drop)
        })
    }

    /// A file, or a folder with all that lies in it, has another name.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn moved(&self, from: &Path, to: &Path) -> Result<()> {
        const MOVED: &str =
            "UPDATE OR REPLACE files SET path = CAST(?2 || substr(path, length(?1) + 1) AS BLOB)
            WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = CAST(?1 || '/' AS BLOB)";
        self.change(|work| {
            elsewhere::moved(work, from, to)?;
            let moved = work.execute(MOVED, params![bytes(from), bytes(to)]);
            moved.map(drop)
        })
    }

    /// A person takes a file for their own, or a folder with all that lies in it or was last seen there. Says how many labels
    /// that were. What stood at the path of a file before it is not what they speak of.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(crate) fn clear(&self, file: &KnownFile) -> Result<usize> {
        const CLEAR: &str = "DELETE FROM files WHERE path = ?1
            OR (number <> -1 AND number = ?2 AND device = ?3)
            OR substr(path, 1, length(?1) + 1) = CAST(?1 || '/' AS BLOB)";
        const GAPS: &str = "DELETE FROM gaps WHERE path = ?1
            OR substr(path, 1, length(?1) + 1) = CAST(?1 || '/' AS BLOB)";
        let (device, number) = numbers(file.identity);
        self.change(|work| {
            let elsewhere = elsewhere::clear(work, file)?;
            let files = work.execute(CLEAR, params![bytes(&file.path), number, device])?;
            let gaps = work.execute(GAPS, params![bytes(&file.path)])?;
            Ok(elsewhere + files + gaps)
        })
    }

    /// A file is gone.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn forget(&self, file: &KnownFile) -> Result<()> {
        const FORGET: &str = "DELETE FROM files WHERE path = ?1";
        self.change(|work| {
            elsewhere::keep(work, file)?;
            work.execute(FORGET, params![bytes(&file.path)]).map(drop)
        })
    }

    /// One change: all of it, or nothing.
    fn change<T>(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let failed = |error: rusqlite::Error| self.book.failed(&error);
        let mut database = self.book.lock();
        let work = database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let changed = change(&work).map_err(failed)?;
        work.commit().map_err(failed)?;
        Ok(changed)
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// All paths below a folder lie between these two: `0` is what comes after `/`.
fn span(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut from = bytes(folder);
    while from.last() == Some(&b'/') {
        from.pop();
    }
    let mut to = from.clone();
    from.push(b'/');
    to.push(b'0');
    (from, to)
}

/// As the database holds them: bit for bit, since it has no unsigned numbers. -1 is no file's.
fn numbers(identity: Option<(u64, u64)>) -> (i64, i64) {
    match identity {
        Some((device, number)) => (device.cast_signed(), number.cast_signed()),
        None => (-1, -1),
    }
}

impl std::fmt::Debug for FileLabels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("FileLabels")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::class::Classes;
    use crate::words::label::{Sort, Source};

    fn known(path: &str, number: u64) -> KnownFile {
        KnownFile {
            path: path.into(),
            identity: Some((1, number)),
        }
    }

    fn web(host: &str) -> Label {
        Label::of(Source::user()).with(Source::new(Sort::Web, host))
    }

    #[test]
    fn a_label_is_worth_no_more_in_another_workspace_and_old_ones_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files.db");
        let of = |name: &str, own: &str| {
            let classes = Classes {
                own_mounts: [own.to_owned()].into(),
                ..Classes::default()
            };
            FileLabels::open(&path, Home::new(name, classes)).unwrap()
        };
        let docs = Label::of(Source::new(Sort::File, "docs"));
        let (there, gap) = (known("/a/x", 7), Path::new("/a/y"));
        let a = of("a", "other");
        a.put(&there, &docs).unwrap();
        a.leave(gap, Path::new("/a"), &docs).unwrap();
        for (name, own, expected) in [
            ("a", "docs", docs.clone()),
            ("b", "docs", docs.with(Source::of_another_workspace())),
            ("b", "other", docs.with(Source::of_another_workspace())),
        ] {
            let labels = of(name, own);
            assert_eq!(labels.of(&there).unwrap(), expected, "{name} {own}");
            assert_eq!(labels.gap(gap).unwrap(), expected, "{name} {own}");
            let listed = labels.list(9).unwrap();
            assert!(listed.iter().all(|row| row.label == expected));
        }
        // Somebody else takes away under the same names, where they are worth less.
        let gap = Path::new("/a/z");
        for (name, own) in [("b", "docs"), ("c", "other")] {
            of(name, own).leave(gap, Path::new("/a"), &docs).unwrap();
        }
        let left = of("b", "docs").gap(gap).unwrap();
        assert_eq!(left, docs.with(Source::of_another_workspace()));
        let text = serde_json::to_string(&docs).unwrap();
        let old = a.change(|work| work.execute("UPDATE files SET label = ?1", params![text]));
        assert_eq!(old.unwrap(), 1);
        assert_eq!(of("b", "docs").of(&there).unwrap(), docs);
    }

    #[test]
    fn a_label_follows_its_file() {
        let labels = FileLabels::in_memory().unwrap();
        labels.put(&known("/a/x", 7), &web("one")).unwrap();
        assert_eq!(labels.of(&known("/a/x", 8)).unwrap(), web("one"));
        assert_eq!(labels.of(&known("/b/other", 7)).unwrap(), web("one"));
        assert_eq!(labels.of(&known("/b/other", 9)).unwrap(), Label::default());
        labels.moved(Path::new("/a"), Path::new("/c")).unwrap();
        assert_eq!(labels.of(&known("/c/x", 9)).unwrap(), web("one"));
        assert_eq!(labels.of(&known("/a/x", 9)).unwrap(), Label::default());
        labels.put(&known("/c/y", 3), &web("two")).unwrap();
        assert_eq!(
            labels.below(Path::new("/c")).unwrap(),
            web("one").join(&web("two"))
        );
        assert_eq!(
            labels.below(Path::new("/")).unwrap(),
            web("one").join(&web("two"))
        );
        labels.put(&known("/cd", 5), &web("other")).unwrap();
        assert_eq!(
            labels.below(Path::new("/c")).unwrap(),
            web("one").join(&web("two"))
        );
        assert_eq!(labels.below(Path::new("/c/x")).unwrap(), Label::default());
        labels.forget(&known("/c/x", 7)).unwrap();
        assert_eq!(labels.of(&known("/c/x", 7)).unwrap(), Label::default());
    }

    #[test]
    fn a_person_is_told_of_the_folders_above_as_well() {
        let labels = FileLabels::in_memory().unwrap();
        labels.put(&known("/a/b", 7), &web("one")).unwrap();
        labels.put(&known("/a/b/c/x", 8), &web("two")).unwrap();
        let told = |path, number| labels.told(&known(path, number)).unwrap();
        assert_eq!(told("/a/b/c/x", 8), web("one").join(&web("two")));
        assert_eq!(told("/a/b/y", 9), web("one"));
        assert_eq!(told("/a", 6), Label::default());
        assert_eq!(told("/a/bc", 5), Label::default());
    }

    #[test]
    fn what_is_not_there_is_no_other_files_that_is_not_there() {
        let labels = FileLabels::in_memory().unwrap();
        let gone = |path: &str| KnownFile {
            path: path.into(),
            identity: None,
        };
        labels.put(&gone("/a/x"), &web("one")).unwrap();
        assert_eq!(labels.of(&gone("/a/x")).unwrap(), web("one"));
        assert_eq!(labels.of(&gone("/a/y")).unwrap(), Label::default());
    }

    /// No label, no file: what cannot be read is nobody's word that it is clean.
    #[test]
    fn a_label_that_cannot_be_read_is_none() {
        let labels = FileLabels::in_memory().unwrap();
        labels.put(&known("/a/x", 7), &web("one")).unwrap();
        labels.put(&known("/a/y", 8), &web("one")).unwrap();
        let spoil = "UPDATE files SET label = 'x' WHERE path = ?1";
        let path = bytes(Path::new("/a/x"));
        labels.book.lock().execute(spoil, params![path]).unwrap();
        let code = |label: Result<Label>| label.map_err(|error| error.code());
        assert_eq!(code(labels.of(&known("/a/x", 7))), Err(Code::Corrupt));
        assert_eq!(code(labels.below(Path::new("/a"))), Err(Code::Corrupt));
        assert_eq!(code(labels.of(&known("/a/y", 8))), Ok(web("one")));
    }

    #[test]
    fn what_only_the_user_wrote_needs_no_label() {
        let labels = FileLabels::in_memory().unwrap();
        let file = known("/a", 1);
        labels.put(&file, &web("one")).unwrap();
        labels.put(&file, &Label::of(Source::user())).unwrap();
        assert_eq!(labels.of(&file).unwrap(), Label::default());
    }
}
