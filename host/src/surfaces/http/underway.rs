//! What is under way: runs, calls and scripts that clients have begun. They belong to the server, so a client that goes
//! away changes nothing; and each is here once, so one run is not taken up twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use crate::guests::tasks::{self, Tasks};
use crate::runs::host::Host;
use crate::words::error::{Code, Error, Result};
use crate::words::id::RunId;
use crate::words::lock::lock;

/// Everything that is under way. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Underway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    courses: Mutex<Courses>,
    most: usize,
    /// How many there are, for whoever waits for their end.
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Courses {
    all: HashMap<RunId, Course>,
    closed: bool,
}

#[derive(Debug)]
struct Course {
    host: Arc<Host>,
    tasks: Tasks,
    abort: AbortHandle,
    /// Goes with the course: whoever waits for that sees it.
    over: watch::Sender<()>,
}

/// Takes a course out when its work is over, however it ends.
struct Leaving(Underway, RunId);

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut courses = lock(&self.0.0.courses);
        let course = courses.all.remove(&self.1);
        let left = courses.all.len();
        drop(courses);
        self.0.0.count.send_replace(left);
        drop(course);
    }
}

impl Underway {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            courses: Mutex::default(),
            most,
            count: watch::Sender::new(0),
        }))
    }

    /// Begins work that is a run of this name, or goes on with one. It goes on whether anybody waits for it or not.
    ///
    /// # Errors
    /// `Busy` where there is too much, where this run goes on already, and where the server ends.
    pub(super) fn begin<T, W>(
        &self,
        host: &Arc<Host>,
        run: &RunId,
        work: impl FnOnce(Arc<Host>, Tasks) -> W,
    ) -> Result<JoinHandle<T>>
    where
        W: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut courses = lock(&self.0.courses);
        courses.admits(run, self.0.most)?;
        let tasks = host.tasks();
        let work = work(host.clone(), tasks.clone());
        let leaving = Leaving(self.clone(), run.clone());
        let work = tasks::begin(async move {
            let _leaving = leaving;
            work.await
        });
        let course = Course {
            host: host.clone(),
            tasks,
            abort: work.abort_handle(),
            over: watch::Sender::new(()),
        };
        // Under the lock, so that work which is over at once finds itself here.
        courses.all.insert(run.clone(), course);
        self.0.count.send_replace(courses.all.len());
        Ok(work)
    }

    /// Whether a run is under way here.
    pub(super) fn has(&self, run: &RunId) -> bool {
        lock(&self.0.courses).all.contains_key(run)
    }

    /// The host of a run that is under way here, and what ends when it does.
    pub(super) fn watched(&self, run: &RunId) -> Option<(Arc<Host>, watch::Receiver<()>)> {
        let courses = lock(&self.0.courses);
        let course = courses.all.get(run)?;
        Some((course.host.clone(), course.over.subscribe()))
    }

    /// Stops a run that is under way here, and returns when it has ended; whether there was one.
    pub(super) async fn stop(&self, run: &RunId) -> bool {
        let Some((_, over)) = self.watched(run) else {
            return false;
        };
        if let Some(course) = lock(&self.0.courses).all.get(run) {
            course.tasks.cancel();
        }
        is_over(over).await;
        true
    }

    /// Nothing new begins.
    pub(super) fn close(&self) {
        lock(&self.0.courses).closed = true;
    }

    /// Returns when nothing is under way.
    pub(super) async fn emptied(&self) {
        let mut count = self.0.count.subscribe();
        // The sender lives as long as this does.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Leaves what is still under way as it is: no end is written, so that it can be taken up again. What each of them
    /// has just begun outside is waited for as long as a run that is given up waits. How many there were.
    ///
    /// # Errors
    /// `DiskFailed` where their records cannot be kept.
    pub(super) async fn leave(&self) -> Result<usize> {
        let left: Vec<(Arc<Host>, Tasks, AbortHandle)> = {
            let courses = lock(&self.0.courses);
            let courses = courses.all.values();
            let parts = |course: &Course| {
                let (host, tasks) = (course.host.clone(), course.tasks.clone());
                (host, tasks, course.abort.clone())
            };
            courses.map(parts).collect()
        };
        for (_, _, abort) in &left {
            abort.abort();
        }
        self.emptied().await;
        let drained = left.iter().map(|(_, tasks, _)| {
            tasks.cancel();
            tasks.drain()
        });
        futures_util::future::join_all(drained).await;
        for (host, _, _) in &left {
            host.journal().sync().await?;
        }
        Ok(left.len())
    }
}

impl Courses {
    fn admits(&self, run: &RunId, most: usize) -> Result<()> {
        let busy = |what: &str| Err(Error::new(Code::Busy, what));
        if self.closed {
            return busy("the server ends, and begins nothing new");
        }
        if self.all.contains_key(run) {
            return busy("this run goes on already");
        }
        if self.all.len() >= most {
            let what = format!("there are {most} runs under way, and no more may be at once");
            return Err(Error::new(Code::Busy, what).hint("[serve]\nruns = …"));
        }
        Ok(())
    }
}

/// Returns when a course has ended.
pub(super) async fn is_over(mut over: watch::Receiver<()>) {
    // Nothing is ever sent: what ends it is that the sender goes.
    while over.changed().await.is_ok() {}
}
