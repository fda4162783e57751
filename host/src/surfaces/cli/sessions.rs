//! `lazaret sessions`: the runs that share context.

use serde_json::json;

use super::runs::{open, state, time};
use super::transcript::short;
use super::{Scene, print};
use crate::gate::journal::Journal;
use crate::runs::session::Session;
use crate::surfaces::paint::{faint, strong, table};
use crate::words::error::{Error, Result};
use crate::words::event::Event;
use crate::words::limits::{RUNS_LISTED, SESSION_RUNS};
use crate::words::session::LOCAL;

/// Look at sessions: runs of one user that share context.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret run --session work \"Which figures changed?\"
  lazaret run --session work \"And the year before?\"     is told what was said before
  lazaret sessions list
  lazaret sessions show work                            its runs, in order")]
pub(super) enum Sessions {
    /// List sessions, newest first.
    List,
    /// List the runs of a session, in its order.
    Show {
        /// The session's name.
        session: String,
        /// Whose it is.
        #[arg(long, value_name = "ID", default_value = LOCAL)]
        user: String,
    },
}

impl Sessions {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let audit = open(scene)?;
        match self {
            Self::List => list(audit.journal(), scene).await,
            Self::Show { session, user } => {
                show(audit.journal(), scene, &Session::of(&user, &session)?).await
            }
        }
    }
}

async fn list(journal: &Journal, scene: &Scene) -> Result<u8> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for begun in journal.sessions(RUNS_LISTED).await? {
        let mut user = begun.session.user().to_owned();
        let mut name = begun.session.name().to_owned();
        journal.cleaning(|with| [&mut user, &mut name].into_iter().for_each(with.text));
        if scene.json {
            all.push(json!({"session": name, "user": user, "runs": begun.runs, "at": begun.at}));
            continue;
        }
        let runs = usize::try_from(begun.runs).unwrap_or(usize::MAX);
        rows.push(vec![
            strong(name),
            faint(time(begun.at)),
            print::counted(runs, "run"),
            faint(if user == LOCAL { "" } else { &user }),
        ]);
    }
    if scene.json {
        print::list(all);
    } else if rows.is_empty() {
        if !scene.quiet {
            print::note("no sessions yet");
        }
    } else {
        print::marked_line(table(&rows).trim_end());
    }
    Ok(0)
}

async fn show(journal: &Journal, scene: &Scene, session: &Session) -> Result<u8> {
    let runs = journal.session(session).await?;
    if runs.is_empty() {
        return Err(
            Error::not_found(session.to_string()).hint("`lazaret sessions list` shows them")
        );
    }
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for run in runs.into_iter().take(SESSION_RUNS) {
        let records = journal.records(&run).await?;
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            continue;
        };
        let first = journal.shown(first.clone());
        let Event::Started(started) = &first.event else {
            continue;
        };
        let (word, painted) = state(last);
        let place = started.session.as_ref().map_or(0, |session| session.place);
        if scene.json {
            all.push(json!({"place": place, "run": run, "state": word, "started": first}));
            continue;
        }
        rows.push(vec![
            faint(place + 1),
            run.to_string(),
            painted,
            started.subject.clone(),
            short(&started.goal),
        ]);
    }
    if scene.json {
        print::list(all);
    } else if !rows.is_empty() {
        print::marked_line(table(&rows).trim_end());
    }
    Ok(0)
}
