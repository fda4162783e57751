//! A run under way, as whoever embeds the host holds it: seen, stopped, waited for.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::host::{Goal, Host};
use super::left::{Resumed, Waiting};
use super::session::Joining;
use crate::gate::journal::Watcher;
use crate::guests::tasks::{self, Tasks};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Sight;
use crate::words::id::RunId;

/// A run under way. It goes on by itself, watched or not; one that is dropped before its end is cancelled.
#[derive(Debug)]
pub struct Running {
    run: RunId,
    host: Arc<Host>,
    tasks: Tasks,
    watcher: Watcher,
    work: JoinHandle<Result<String>>,
    done: Option<Result<String>>,
}

/// Where a run has come to.
#[derive(Debug)]
pub enum Reached {
    /// Its end, with this answer.
    Answer(String),
    /// Questions that a person has to answer ([`Host::answer`]); then [`Host::go_on`] takes it up, here or in any other
    /// process that has the same folders, now or in a week.
    Waits(Vec<Waiting>),
}

impl Host {
    /// Starts a run of an agent. It begins at once, on the runtime that this is called from.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use lazaret::runs::host::{Goal, Host};
    /// # use lazaret::words::event::Surface;
    /// # async fn example(host: Arc<Host>) -> lazaret::words::error::Result<()> {
    /// let mut running = host.start(Goal::new(host.new_run(), Surface::Dev, "clerk", "Count the words."));
    /// while let Some(sight) = running.next().await {
    ///     println!("{sight:?}");
    /// }
    /// let reached = running.end().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a runtime of `tokio`.
    #[must_use]
    pub fn start(self: &Arc<Self>, goal: Goal) -> Running {
        let (host, run) = (self.clone(), goal.run.clone());
        self.under_way(run, |tasks| async move { host.pursue(goal, &tasks).await })
    }

    /// Says something in a session: starts a run that is told of those before it.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use lazaret::runs::host::{Goal, Host};
    /// # use lazaret::runs::session::{Joining, Session};
    /// # use lazaret::words::event::Surface;
    /// # async fn example(host: Arc<Host>) -> lazaret::words::error::Result<()> {
    /// let joining = Joining::now(Session::of("ada", "ships")?);
    /// for words in ["My ship is the Argo.", "Which one is mine?"] {
    ///     let goal = Goal::new(host.new_run(), Surface::Dev, "talker", words);
    ///     println!("{:?}", host.say(joining.clone(), goal).end().await?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`Host::start`].
    #[must_use]
    pub fn say(self: &Arc<Self>, joining: Joining, goal: Goal) -> Running {
        let (host, run) = (self.clone(), goal.run.clone());
        self.under_way(run, |tasks| async move {
            host.pursue_in(&joining, goal, &tasks).await
        })
    }

    /// Goes on with a run of an agent that was left, where it was left.
    ///
    /// # Panics
    /// As [`Host::start`].
    #[must_use]
    pub fn go_on(self: &Arc<Self>, run: RunId) -> Running {
        let (host, left) = (self.clone(), run.clone());
        self.under_way(run, |tasks| async move {
            match host.resume(&left, &tasks).await? {
                Resumed::Answer(answer) => answer,
                Resumed::Called(_) => Err(not_an_agents(&left)),
            }
        })
    }

    fn under_way<W>(self: &Arc<Self>, run: RunId, work: impl FnOnce(Tasks) -> W) -> Running
    where
        W: Future<Output = Result<String>> + Send + 'static,
    {
        let tasks = self.tasks();
        Running {
            // Before the work, so that nothing of it is missed.
            watcher: self.watch(&run),
            work: tasks::begin(work(tasks.clone())),
            host: self.clone(),
            tasks,
            run,
            done: None,
        }
    }
}

fn not_an_agents(run: &RunId) -> Error {
    let what = format!("the run `{run}` is one call or script, and no agent's");
    Error::bad_input(what).hint("`Host::resume` goes on with it, and gives its outcome")
}

impl Running {
    /// The run's name.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The next thing that happens: a record, or a glimpse between two. Nothing more once the run has ended or is left.
    pub async fn next(&mut self) -> Option<Sight> {
        if self.done.is_none() {
            tokio::select! {
                biased;
                sight = self.watcher.next() => return Some(sight),
                done = &mut self.work => self.done = Some(done.unwrap_or_else(|_| Err(Error::bug("the run panicked")))),
            }
        }
        self.watcher.seen().await
    }

    /// Stops the run: nothing new begins, guests are dropped, and what it was is on record.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use lazaret::runs::host::{Goal, Host};
    /// # use lazaret::words::error::Code;
    /// # use lazaret::words::event::Surface;
    /// # async fn example(host: Arc<Host>) -> lazaret::words::error::Result<()> {
    /// let running = host.start(Goal::new(host.new_run(), Surface::Dev, "clerk", "Count for ever."));
    /// running.stop();
    /// let error = running.end().await.expect_err("it was stopped");
    /// assert_eq!(error.code(), Code::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop(&self) {
        self.tasks.cancel();
    }

    /// Waits until the run has ended, or is left.
    ///
    /// # Errors
    /// How the run failed; `Cancelled` where it was stopped.
    pub async fn end(mut self) -> Result<Reached> {
        while self.next().await.is_some() {}
        match self.done.take() {
            Some(Ok(answer)) => Ok(Reached::Answer(answer)),
            Some(Err(error)) if error.code() == Code::Asked => {
                let mut waiting = self.host.questions().await?;
                waiting.retain(|waiting| waiting.run == self.run);
                Ok(Reached::Waits(waiting))
            }
            Some(Err(error)) => Err(error),
            None => Err(Error::bug("the run has no end")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.cancel();
    }
}
