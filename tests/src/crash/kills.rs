//! Stopping: at every operation of the disk, one after the other, and at random.

use std::path::Path;
use std::time::{Duration, Instant};

use lazaret::words::id::RunId;

use super::{Scene, Tally, Witness, check, work};
use crate::disk::Trouble;

/// How often a process that is to be killed is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// What came of many stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kills {
    /// Processes that were stopped.
    pub kills: usize,
    /// What was found of the runs that went on.
    pub tally: Tally,
}

impl std::fmt::Display for Kills {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kills, tally } = self;
        write!(
            out,
            "{kills} stops, {} runs, {} records, taken up {} times; {} effects by the witness and the files, none twice; {} calls in doubt, all told, none made again; every chain whole, every run with one end",
            tally.runs, tally.records, tally.resumed, tally.effects, tally.in_doubt
        )
    }
}

/// Where a run is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Stops {
    /// Before each operation of its disk, or some of them.
    BeforeEach {
        /// The first.
        first: usize,
        /// From one to the next.
        step: usize,
    },
    /// After each sync: what is about to be done is on the disk, and was not begun.
    AfterSyncs,
}

/// Stops a run everywhere, each time anew.
///
/// # Panics
/// Where something is not as it must be.
pub async fn every_stop(program: &Path, stops: Stops) -> Kills {
    let witness = Witness::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mut kills = Kills::default();
    let (first, step) = match stops {
        Stops::BeforeEach { first, step } => (first, step),
        Stops::AfterSyncs => (0, 1),
    };
    for at in (first..).step_by(step) {
        let trouble = match stops {
            Stops::BeforeEach { .. } => Trouble::KilledBefore(at),
            Stops::AfterSyncs => Trouble::KilledAfterSync(at),
        };
        let name = format!("s{at}");
        let scene = Scene::new(&folder.path().join(&name), &witness).await;
        scene.set(&name, &witness);
        let status = scene
            .spawn(program, trouble)
            .wait()
            .expect("the program of crashes ends");
        let ended = status.success();
        assert!(ended || status.code().is_none(), "{name}: {status}");
        kills.kills += usize::from(!ended);
        kills
            .tally
            .add(finish(&scene, &name, &witness, None).await.1);
        std::fs::remove_dir_all(folder.path().join(&name)).expect("the folder goes");
        if ended {
            break;
        }
    }
    kills
}

/// Goes on until the run after `before` has ended, and looks at it.
async fn finish(
    scene: &Scene,
    name: &str,
    witness: &Witness,
    before: Option<&RunId>,
) -> (RunId, Tally) {
    let host = scene.host().await.expect("the host opens");
    let run = Box::pin(work(&host, before)).await;
    let run = run.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    drop(host);
    let tally = check(scene, name, &run, witness).await;
    (run, tally)
}

/// Kills `count` processes at random, in one store that grows; `say` is told of each run.
///
/// # Panics
/// Where something is not as it must be.
pub async fn random_kills(
    program: &Path,
    (count, seed): (usize, u64),
    mut say: impl FnMut(&Kills),
) -> Kills {
    let witness = Witness::start();
    let folder = tempfile::tempdir().expect("a folder");
    let scene = Scene::new(folder.path(), &witness).await;
    let trusted = scene
        .lazaret(&["policy", "trust"])
        .status()
        .expect("lazaret runs");
    assert!(trusted.success(), "the configuration is trusted");
    let mut random = Random(seed | 1);
    let (first, usual) = undisturbed(&scene, program, &witness).await;
    let (mut kills, mut before) = (Kills::default(), Some(first));
    for round in 0.. {
        if kills.kills >= count {
            break;
        }
        let name = format!("r{round}");
        scene.set(&name, &witness);
        // The run begins as a person begins it.
        let mut child = scene
            .lazaret(&["run", "work", "--agent", "a"])
            .spawn()
            .expect("lazaret runs");
        let mut tries = 0;
        while is_killed(&mut child, random.within(usual)) {
            kills.kills += 1;
            tries += 1;
            if tries > 2 {
                break;
            }
            child = scene.spawn(program, Trouble::None);
        }
        let (run, tally) = finish(&scene, &name, &witness, before.as_ref()).await;
        before = Some(run);
        kills.tally.add(tally);
        say(&kills);
    }
    kills
}

/// How long a run takes that nobody disturbs.
async fn undisturbed(scene: &Scene, program: &Path, witness: &Witness) -> (RunId, Duration) {
    scene.set("first", witness);
    let began = Instant::now();
    let status = scene.spawn(program, Trouble::None).wait().expect("it ends");
    assert!(status.success(), "an undisturbed run: {status}");
    let took = began.elapsed();
    (finish(scene, "first", witness, None).await.0, took)
}

/// Kills a process after that time, unless it has ended by then.
fn is_killed(child: &mut std::process::Child, after: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < after {
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        std::thread::park_timeout(LOOK.min(after));
    }
    child.kill().expect("a child can be killed");
    let status = child.wait().expect("a child");
    status.code().is_none()
}

/// The same numbers for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn within(&mut self, most: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = u32::try_from(self.0 % 1_000).unwrap_or(0);
        most * share / 1_000
    }
}
