//! What is under way: runs, calls and scripts that clients have begun. They belong to the server, so a client that goes
//! away changes nothing; and each is here once, so one run is not taken up twice.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, abortable};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

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
    /// How many there may be,
    most: usize,
    /// and how many of one user.
    of_one: usize,
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
    /// Whose it is.
    user: String,
    tasks: Tasks,
    abort: AbortHandle,
    /// Goes with the course: whoever waits for that sees it.
    over: watch::Sender<()>,
}

/// Work that goes on where its client waits for it, and by itself once nobody does. What comes of it is nothing where it
/// was left, or has panicked.
pub(super) struct Work<T: Send + 'static> {
    /// Nothing once it is over.
    work: Option<Pin<Box<dyn Future<Output = Option<T>> + Send>>>,
    runtime: Handle,
}

impl<T: Send + 'static> Work<T> {
    /// Goes on by itself from now on, however slow its client is.
    pub(super) fn apart(mut self) -> JoinHandle<Option<T>> {
        let work = self.work.take();
        let work = async move { work?.await };
        tasks::begin_in(&self.runtime, work)
    }
}

impl<T: Send + 'static> Future for Work<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(work) = &mut self.work else {
            return Poll::Ready(None);
        };
        let done = work.as_mut().poll(context);
        if done.is_ready() {
            self.work = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for Work<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            tasks::begin_in(&self.runtime, work);
        }
    }
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
    pub(super) fn new(most: usize, of_one: usize) -> Self {
        Self(Arc::new(Inner {
            courses: Mutex::default(),
            most,
            of_one,
            count: watch::Sender::new(0),
        }))
    }

    /// Begins work that is a run of this name and user, or goes on with one. It goes on whether anybody waits for it or
    /// not.
    ///
    /// # Errors
    /// `Busy` where there is too much, also of this user's; where this run goes on already; and where the server ends.
    pub(super) fn begin<T, W>(
        &self,
        host: &Arc<Host>,
        (run, user): (&RunId, &str),
        work: impl FnOnce(Arc<Host>, Tasks) -> W,
    ) -> Result<Work<T>>
    where
        W: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut courses = lock(&self.0.courses);
        courses.admits((run, user), (self.0.most, self.0.of_one))?;
        let tasks = host.tasks();
        let work = work(host.clone(), tasks.clone());
        let leaving = Leaving(self.clone(), run.clone());
        let (work, abort) = abortable(async move {
            let _leaving = leaving;
            work.await
        });
        let course = Course {
            host: host.clone(),
            user: user.to_owned(),
            tasks,
            abort,
            over: watch::Sender::new(()),
        };
        courses.all.insert(run.clone(), course);
        self.0.count.send_replace(courses.all.len());
        let work = AssertUnwindSafe(work).catch_unwind();
        Ok(Work {
            work: Some(Box::pin(work.map(|over| over.ok()?.ok()))),
            runtime: Handle::current(),
        })
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
    fn admits(&self, (run, user): (&RunId, &str), (most, of_one): (usize, usize)) -> Result<()> {
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
        let own = self.all.values().filter(|course| course.user == user);
        if own.count() >= of_one {
            let what = format!("user `{user}` has {of_one} of {of_one} runs under way");
            return Err(Error::new(Code::Busy, what).hint("[serve]\nruns_per_user = …"));
        }
        Ok(())
    }
}

/// Returns when a course has ended.
pub(super) async fn is_over(mut over: watch::Receiver<()>) {
    // Nothing is ever sent: what ends it is that the sender goes.
    while over.changed().await.is_ok() {}
}
