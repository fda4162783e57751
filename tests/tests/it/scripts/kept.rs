//! Runs that are left, from outside of the process that left them: copies of a journal, cut short or changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lazaret::runs::host::Called;
use lazaret::words::error::Result;
use lazaret::words::event::Sight;
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::signed::sign;

/// How long a test waits for what must happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// The records and marks that a host has left.
pub struct Copy {
    folder: TempDir,
}

fn copied(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}

/// As they were before the first pause, since a kill may come before that.
fn unseal(marks: &Path) {
    for entry in std::fs::read_dir(marks).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a mark");
        let seal = text.find("seal ").expect("a mark has a seal");
        std::fs::write(&path, &text[..seal]).expect("a mark");
    }
}

fn made(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&path).expect("the folder of a test can be written");
    path
}

impl Copy {
    /// The marks of runs that may go on.
    pub fn marks_of(rig: &Rigged) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let marks = made(folder.path().join("begun"));
        made(folder.path().join("records"));
        copied(&rig.path("state/begun"), &marks);
        unseal(&marks);
        Self { folder }
    }

    /// And the records, once their host is gone.
    pub fn with_records_of(self, rig: Rigged) -> Self {
        let rig = rig.close();
        copied(&rig.path("records"), &self.folder.path().join("records"));
        self
    }

    /// Without the marks.
    pub fn without_marks(&self) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        made(folder.path().join("begun"));
        let records = made(folder.path().join("records"));
        copied(&self.folder.path().join("records"), &records);
        Self { folder }
    }

    /// A host that finds the first `count` records of a run, as after a kill.
    pub async fn cut(&self, rig: Rig, run: &RunId, count: usize) -> Rigged {
        self.cut_and(rig, run, count, |_| {}).await
    }

    /// And whose journal was changed so.
    pub async fn cut_and(
        &self,
        rig: Rig,
        run: &RunId,
        count: usize,
        change: impl FnOnce(&Connection),
    ) -> Rigged {
        let rig = rig.kept().await;
        let (records, marks) = (made(rig.path("records")), made(rig.path("state/begun")));
        copied(&self.folder.path().join("records"), &records);
        copied(&self.folder.path().join("begun"), &marks);
        let database = Connection::open(records.join("journal.db")).expect("a journal");
        let gone = params![run.as_str(), i64::try_from(count).expect("a number")];
        let cut = database.execute("DELETE FROM records WHERE run = ?1 AND seq >= ?2", gone);
        assert!(cut.expect("a cut") > 0, "nothing was cut off");
        change(&database);
        drop(database);
        let rig = rig.open().await;
        // Whatever the records say of the time, it is later now.
        rig.clock.advance(Duration::from_secs(7_200));
        rig
    }
}

/// Authenticates what was changed, as if its host had written it so.
pub fn signed(database: &Connection) {
    sign(database, &target().join("test-state"));
}

/// Changes records of a run in which `mark` stands.
pub fn changed(database: &Connection, run: &RunId, mark: &str, (from, to): (&str, &str)) {
    let update = "UPDATE records SET event = replace(event, ?1, ?2)
        WHERE run = ?3 AND instr(event, ?4) > 0 AND instr(event, ?1) > 0";
    let done = database.execute(update, params![from, to, run.as_str(), mark]);
    assert!(done.expect("an update") > 0, "no record holds {from}");
}

/// Goes on with a run, and lets time pass whenever its script says that it rests.
pub async fn patient(rig: &Rigged, run: &RunId) -> Result<Called> {
    let mut watcher = rig.host.watch(run);
    let passing = async {
        loop {
            let sight = watcher.next().await;
            if matches!(&sight, Sight::Glimpse { .. }) {
                let told = serde_json::to_value(&sight).expect("JSON");
                if told["message"] == "rests" {
                    rig.clock.advance(Duration::from_secs(5));
                }
            }
        }
    };
    let resumed = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            resumed = rig.resume(run) => resumed,
            () = passing => unreachable!("it watches for ever"),
        }
    });
    resumed.await.expect("the run goes on")
}
