//! Which tests come by which mutants, so that one is shown to nobody who could not see it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::suite::{Suite, Test, Visit};

/// Tests at once: most of them wait.
const AT_ONCE: usize = 3;
/// Between two lines that tell how far it is.
const TOLD: usize = 100;

/// All tests of a program, and what each comes by with all mutants asleep.
#[derive(Serialize, Deserialize)]
pub struct Reach {
    /// What the program was when this was seen.
    program: String,
    visits: BTreeMap<Test, Visit>,
}

impl Reach {
    /// Runs each test by itself; or reads what was seen last time, where the program is the same.
    ///
    /// # Errors
    /// Where the program cannot be run.
    pub fn of(suite: &Suite, kept: &Path) -> Result<Self, String> {
        let program = suite.print()?;
        let known = fs::read(kept).ok();
        let known = known.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        if let Some(known) = known.filter(|known| known.program == program) {
            return Ok(known);
        }
        let visits = visits(suite, &suite.tests()?)?;
        let reach = Self { program, visits };
        let text = serde_json::to_vec(&reach).map_err(|why| why.to_string())?;
        fs::write(kept, text).map_err(|why| format!("{}: {why}", kept.display()))?;
        Ok(reach)
    }

    /// Tests that fail with all mutants asleep: they see nothing.
    pub fn failing(&self) -> impl Iterator<Item = &Test> {
        let failing = self.visits.iter().filter(|(_, visit)| !visit.passes);
        failing.map(|(test, _)| test)
    }

    /// Who comes by it and may see it: first whoever comes by the least, and so is about little else.
    pub fn watchers(&self, number: usize) -> Vec<&Test> {
        let comes_by =
            |(_, visit): &(&Test, &Visit)| visit.passes && visit.reached.contains(&number);
        let mut watchers: Vec<_> = self.visits.iter().filter(comes_by).collect();
        watchers.sort_by_key(|(_, visit)| visit.reached.len());
        watchers.into_iter().map(|(test, _)| test).collect()
    }

    /// As long as these took, one after the other.
    pub fn took(&self, tests: &[&Test]) -> Duration {
        let took = tests.iter().filter_map(|test| self.visits.get(test));
        took.map(|visit| Duration::from_millis(visit.millis)).sum()
    }
}

fn visits(suite: &Suite, tests: &[Test]) -> Result<BTreeMap<Test, Visit>, String> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((BTreeMap::new(), Vec::new()));
    let work = || {
        while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let visit = suite.visit(test);
            let Ok(mut done) = done.lock() else { return };
            match visit {
                Ok(visit) => drop(done.0.insert(test.clone(), visit)),
                Err(why) => done.1.push(why),
            }
            if done.0.len() % TOLD == 0 {
                println!(
                    "seen what {} of {} tests come by",
                    done.0.len(),
                    tests.len()
                );
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let (visits, wrong) = done.into_inner().map_err(|why| why.to_string())?;
    wrong.into_iter().next().map_or(Ok(visits), Err)
}
