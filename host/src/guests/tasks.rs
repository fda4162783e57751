//! The task set of a run: where judging and performing happen, apart from the guest that asked.
//!
//! A guest may vanish at any moment — a trap, a deadline, a cancelled run — while its request is
//! under way. The request goes on here, under its own deadline, to its `Finished` record.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::repeats::Repeats;
use crate::rules::running::{Abort, RunRules};
use crate::words::error::{Code, Error, Result};
use crate::words::limits::EFFECT_TIMEOUT_MS;
use crate::words::lock::lock;
use crate::words::vocabulary::System;

/// A run's tasks, and whether it was cancelled. Cheap to clone.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    /// Nothing once the run has ended: what began later would leave records after its last.
    set: Mutex<Option<JoinSet<()>>>,
    course: watch::Sender<Course>,
    rules: RunRules,
    repeats: Repeats,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Course {
    Going,
    /// Its step ends, and nothing comes after it.
    Ending,
    Cancelled,
}

impl Tasks {
    /// A task set of a run that begins.
    #[must_use]
    pub fn new() -> Self {
        Self::of(RunRules::default())
    }

    /// The same of a run that goes by these rules.
    #[must_use]
    pub fn of(rules: RunRules) -> Self {
        let caching = rules.caching;
        Self(Arc::new(Inner {
            set: Mutex::new(Some(JoinSet::new())),
            course: watch::Sender::new(Course::Going),
            rules,
            repeats: Repeats::new((caching.entries, caching.ttl_ms)),
        }))
    }

    /// How the run is given up.
    #[must_use]
    pub fn abort(&self) -> Abort {
        self.0.rules.abort
    }

    /// Whose words for failures are said beside ours.
    #[must_use]
    pub fn system(&self) -> Option<System> {
        self.0.rules.system
    }

    /// What came of calls of the turn that is under way.
    #[must_use]
    pub fn repeats(&self) -> &Repeats {
        &self.0.repeats
    }

    /// Starts work and waits for it. If the waiting is given up, the work goes on.
    ///
    /// # Errors
    /// What the work says; `Cancelled` where the run has ended, `Bug` where the work panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (done, outcome) = oneshot::channel();
        {
            let mut open = lock(&self.0.set);
            let Some(set) = open.as_mut() else {
                return Err(Error::new(Code::Cancelled, "the run has ended"));
            };
            while set.try_join_next().is_some() {}
            set.spawn(async move {
                // Nobody may be waiting any more.
                let _ = done.send(work.await);
            });
        }
        outcome
            .await
            .unwrap_or_else(|_| Err(Error::bug("work of the run panicked")))
    }

    /// Gives the run up as it is configured: at once, or after the step under way; then the second time is at
    /// once.
    pub fn give_up(&self) {
        if self.0.rules.abort.drain && !self.is_given_up() {
            self.0.course.send_replace(Course::Ending);
        } else {
            self.cancel();
        }
    }

    /// Cancels the run: nothing new begins, guests are dropped.
    pub fn cancel(&self) {
        self.0.course.send_replace(Course::Cancelled);
    }

    /// Whether the run was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.course.borrow() == Course::Cancelled
    }

    /// Whether the run was given up, at once or after its step.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        *self.0.course.borrow() > Course::Going
    }

    /// Returns when the run is cancelled, and never if it is not.
    pub async fn cancelled(&self) {
        let mut news = self.0.course.subscribe();
        if news
            .wait_for(|course| *course == Course::Cancelled)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Returns when the run is given up, and never if it is not.
    pub async fn given_up(&self) {
        let mut news = self.0.course.subscribe();
        if news
            .wait_for(|course| *course > Course::Going)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Lets so much time pass; a run that is cancelled meanwhile waits no longer.
    ///
    /// # Errors
    /// `Cancelled`.
    pub async fn pass(&self, time: Duration) -> Result<()> {
        // Running out is what this is for.
        match tokio::time::timeout(time, self.cancelled()).await {
            Ok(()) => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            Err(_) => Ok(()),
        }
    }

    /// Waits until all work has ended. Work has a deadline of its own; a cancelled run waits for a
    /// grace only, and what is left is dropped (G-54).
    pub async fn drain(&self) {
        let grace = Duration::from_millis(self.0.rules.abort.grace_ms);
        let never = std::future::pending::<()>();
        // Running out is what a grace is for.
        self.drain_within(async {
            let _ = tokio::time::timeout(grace, never).await;
        })
        .await;
    }

    /// Likewise, with this grace for a run that is cancelled: what has not ended when it has is dropped.
    async fn drain_within(&self, grace: impl Future<Output = ()>) {
        let Some(mut set) = lock(&self.0.set).take() else {
            return;
        };
        let limit = async {
            let cancelled =
                tokio::time::timeout(Duration::from_millis(EFFECT_TIMEOUT_MS), self.cancelled());
            if cancelled.await.is_ok() {
                grace.await;
            }
        };
        tokio::select! {
            biased;
            () = async { while set.join_next().await.is_some() {} } => return,
            () = limit => {}
        }
        // Returns when all are dropped, each with the record of its end.
        set.shutdown().await;
    }

    /// Runs `work` unless the run is cancelled before it ends.
    ///
    /// # Errors
    /// `Cancelled`, or what the work says. Cancelling wins over any other end (U-06).
    pub async fn unless_cancelled<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.cancelled() => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            outcome = work => outcome,
        }
    }
}

/// Begins a whole run, which goes on by itself: what happens in it belongs to its own task set.
///
/// # Panics
/// Outside of a runtime of `tokio`.
#[expect(clippy::disallowed_methods, reason = "this file owns tasks")]
pub fn begin<T: Send + 'static>(run: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(run)
}

/// The same, in this runtime, from wherever it is called; a runtime that has ended drops it.
pub fn begin_in<T: Send + 'static>(
    runtime: &Handle,
    run: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    runtime.spawn(run)
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Tasks")
    }
}

#[cfg(test)]
mod tests {
    use crate::words::clock::Clock;
    use futures_util::FutureExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::rules::running::Abort;

    fn with(grace_ms: u64) -> Tasks {
        let abort = Abort {
            grace_ms,
            ..Abort::default()
        };
        Tasks::of(RunRules {
            abort,
            ..RunRules::default()
        })
    }

    /// Says that it is gone.
    struct Gone(Arc<AtomicBool>);

    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// A cancelled run's work that never ends: how long its end was waited for.
    async fn waited(grace_ms: u64) -> Duration {
        let tasks = with(grace_ms);
        let gone = Arc::new(AtomicBool::new(false));
        let guard = Gone(gone.clone());
        let work = async move {
            let _guard = guard;
            std::future::pending::<Result<()>>().await
        };
        let ends = async {
            // The work was polled first, so it is in the set.
            tokio::task::yield_now().await;
            tasks.cancel();
            let began = Clock::instant();
            tasks.drain().await;
            began.elapsed()
        };
        let (dropped, waited) = tokio::join!(tasks.run(work), ends);
        assert!(dropped.is_err() && gone.load(Ordering::SeqCst));
        waited
    }

    #[tokio::test]
    async fn work_that_does_not_end_has_its_grace_and_is_dropped() {
        // No timer fires early; that it fires at all is what ends this.
        assert!(waited(50).await >= Duration::from_millis(50));
        assert!(waited(120).await >= Duration::from_millis(120));
        waited(0).await;
    }

    /// G-54: with the end of its grace, and no later, a cancelled run is over, whatever its work does. No clock moves here.
    #[tokio::test]
    async fn work_that_does_not_end_is_dropped_as_soon_as_its_grace_is_over() {
        let tasks = with(600_000);
        let gone = Arc::new(AtomicBool::new(false));
        let guard = Gone(gone.clone());
        let work = async move {
            let _guard = guard;
            std::future::pending::<Result<()>>().await
        };
        let (over, is_over) = oneshot::channel::<()>();
        let ends = async {
            tokio::task::yield_now().await;
            tasks.cancel();
            let mut drain = Box::pin(tasks.drain_within(async {
                let _ = is_over.await;
            }));
            for _ in 0..100 {
                assert!(drain.as_mut().now_or_never().is_none(), "it has its grace");
                tokio::task::yield_now().await;
            }
            assert!(!gone.load(Ordering::SeqCst));
            over.send(()).unwrap();
            drain.await;
        };
        let (dropped, ()) = tokio::join!(tasks.run(work), ends);
        assert!(dropped.is_err() && gone.load(Ordering::SeqCst));
    }

    /// O-22: what is waited for under a run is given up at once when it is cancelled.
    #[tokio::test]
    async fn a_wait_is_over_as_soon_as_its_run_is_cancelled() {
        let tasks = with(600_000);
        let mut wait = Box::pin(tasks.unless_cancelled(std::future::pending::<Result<()>>()));
        assert!(wait.as_mut().now_or_never().is_none());
        tasks.cancel();
        let ended = wait.now_or_never().expect("no time passes");
        assert_eq!(ended.unwrap_err().code(), Code::Cancelled);
    }

    #[tokio::test]
    async fn work_that_ends_within_its_grace_ends_by_itself() {
        let tasks = with(600_000);
        let (last, word) = oneshot::channel::<&str>();
        let work = async move { Ok(word.await.unwrap()) };
        let ends = async {
            tokio::task::yield_now().await;
            tasks.cancel();
            let says = async {
                tokio::task::yield_now().await;
                last.send("done").unwrap();
            };
            tokio::join!(tasks.drain(), says);
        };
        let (said, ()) = tokio::join!(tasks.run(work), ends);
        assert_eq!(said.unwrap(), "done");
    }
}
