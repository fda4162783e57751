//! An attack at work in a host that is open, and all that is looked at afterwards.

use lazaret::guests::dispatch::Outcome;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::Called;
use lazaret::words::error::{Code, Result};
use lazaret::words::id::RunId;
use serde_json::Value;

use crate::attack::meanwhile::{Under, beside, others};
use crate::attack::{Attack, Expect, Wish};
use crate::rig::Rigged;
use crate::server::Server;
use crate::verdict::{
    check_answer, check_every, check_journal, check_nowhere, check_outside, check_records,
    check_rendered, check_shown, check_system, check_wire, observed, said,
};

/// What came of it.
struct Struck {
    run: RunId,
    result: Result<Value>,
    /// Its log, if it has one of its own.
    logs: Vec<String>,
    /// All that it leaves for whoever made it.
    left: String,
    /// What was not as it must be beside it.
    wrong: Vec<String>,
}

impl Struck {
    fn of(called: Called, wrong: Vec<String>) -> Self {
        let left = everything(&called);
        Self {
            run: called.run,
            logs: lines(&called.outcome),
            result: called.outcome.result,
            left,
            wrong,
        }
    }

    /// Its code, and all that it says.
    fn answer(&self) -> (Option<Code>, String) {
        match &self.result {
            Ok(value) => (None, value.to_string()),
            Err(error) => (Some(error.code()), said(error)),
        }
    }
}

/// All that a call leaves for whoever made it.
fn everything(called: &Called) -> String {
    let mut all = format!("{:?}", called.outcome);
    for artifact in &called.outcome.trail.artifacts {
        all.push_str(&String::from_utf8_lossy(&artifact.bytes));
    }
    all
}

/// The log of a call, as it is looked at.
pub(super) fn lines(outcome: &Outcome) -> Vec<String> {
    let logs = outcome.trail.logs.iter();
    logs.map(|line| format!("{} {}", line.level, line.message))
        .collect()
}

pub(super) fn check_logs(expect: &Expect, logs: &[String]) -> Vec<String> {
    let missing = |text: &&String| !logs.iter().any(|line| line.contains(*text));
    let missing = expect.logs.iter().filter(missing);
    let mut wrong: Vec<String> = missing
        .map(|text| format!("no log line says `{text}`: {:?}", logs.last()))
        .collect();
    if expect.log_lines.is_some_and(|most| logs.len() > most) {
        wrong.push(format!("the log has {} lines", logs.len()));
    }
    wrong
}

/// Pursues the goal, answers what it asks, and goes on, as long as there is something to say.
async fn pursue(
    attack: &Attack,
    (mut host, with): (Rigged, &[String]),
    server: &Server,
) -> (Rigged, Struck) {
    for goal in &attack.earlier {
        let (run, answer) = Box::pin(host.pursue_in_session("earlier", goal)).await;
        answer.unwrap_or_else(|error| panic!("the earlier run {run} fails: {error:?}"));
        if attack.restart {
            host = Box::pin(host.restart()).await;
        }
    }
    let (tasks, files) = (Tasks::new(), attack.attached.as_slice());
    let goal = match attack.earlier.is_empty() {
        true => host.goal_beginning(&attack.goal, (with, files)),
        false => host.goal(&attack.goal),
    };
    let run = goal.run.clone();
    let under = Under {
        host: &host,
        server,
        run: &run,
        tasks: &tasks,
    };
    let work = Box::pin(async {
        match attack.earlier.is_empty() {
            true => Box::pin(host.host.pursue(goal, &tasks)).await,
            false => Box::pin(host.pursue_on("earlier", goal, &tasks)).await,
        }
    });
    let (mut answer, wrong) = beside(attack.meanwhile.as_ref(), under, work).await;
    for say in &attack.answers {
        let waiting = host.host.questions().await.expect("the journal is well");
        for one in waiting.iter().filter(|one| one.run == run) {
            let answered = host.host.answer(one.question.id.as_str(), *say).await;
            answered.expect("the question is open");
        }
        if !matches!(&answer, Err(error) if error.code() == Code::Asked) {
            break;
        }
        host = Box::pin(host.restart()).await;
        answer = Box::pin(host.resume_agent(&run)).await;
    }
    let struck = Struck {
        run,
        result: answer.map(Value::from),
        logs: Vec::new(),
        left: String::new(),
        wrong,
    };
    (host, struck)
}

/// Makes the call, or runs the script.
async fn call(attack: &Attack, host: &Rigged, server: &Server) -> Struck {
    let (run, tasks) = (host.host.new_run(), Tasks::new());
    let under = Under {
        host,
        server,
        run: &run,
        tasks: &tasks,
    };
    let work = Box::pin(async {
        match (&attack.call, &attack.script) {
            (Some(wish), _) => {
                let text = wish.text();
                Box::pin(host.call_in(run.clone(), &tasks, (&wish.tool, &text))).await
            }
            (None, Some(source)) => Box::pin(host.script_in(run.clone(), &tasks, source)).await,
            (None, None) => panic!("an attack calls, runs a script, or has a goal"),
        }
    });
    let (called, wrong) = beside(attack.meanwhile.as_ref(), under, work).await;
    Struck::of(called, wrong)
}

/// Goes on with a run whose records were taken in.
async fn go_on(host: &Rigged, run: RunId) -> Struck {
    match Box::pin(host.resume(&run)).await {
        Ok(called) => Struck::of(called, Vec::new()),
        Err(error) => Struck {
            run,
            result: Err(error),
            logs: Vec::new(),
            left: String::new(),
            wrong: Vec::new(),
        },
    }
}

/// Strikes once. What is awaited here is boxed: unoptimised, one in the other takes more stack than a thread has.
async fn once(
    attack: &Attack,
    (host, with): (Rigged, &[String]),
    server: &Server,
    imported: Option<&RunId>,
) -> (Rigged, Struck) {
    if let Some(run) = imported {
        let struck = Box::pin(go_on(&host, run.clone())).await;
        return (host, struck);
    }
    if attack.call.is_some() || attack.script.is_some() {
        let struck = Box::pin(call(attack, &host, server)).await;
        return (host, struck);
    }
    Box::pin(pursue(attack, (host, with), server)).await
}

/// Strikes as often as it says, and says everything that is not as it must be.
pub(super) async fn strike(
    attack: &Attack,
    (mut host, with): (Rigged, &[String]),
    server: &Server,
    imported: Option<&RunId>,
) -> Vec<String> {
    let expect = &attack.expect;
    let mut wrong = Vec::new();
    for _ in 1..attack.times {
        let (again, struck) = Box::pin(once(attack, (host, with), server, imported)).await;
        host = again;
        let (code, answer) = struck.answer();
        wrong.extend(check_answer(expect, code, &answer));
        wrong.extend(struck.wrong);
    }
    let (host, struck) = Box::pin(once(attack, (host, with), server, imported)).await;
    wrong.extend(Box::pin(check(attack, &host, struck)).await);
    if let Some(after) = &attack.after {
        wrong.extend(Box::pin(call_after(after, expect, &host)).await);
    }
    wrong.extend(check_wire(expect, server));
    wrong.extend(check_system(expect, server));
    wrong.extend(check_outside(expect, &host, server));
    wrong.extend(Box::pin(well(&host)).await);
    wrong
}

/// What is called once it is over, and succeeds.
async fn call_after(after: &Wish, expect: &Expect, host: &Rigged) -> Option<String> {
    let tool = &after.tool;
    match host.call_text(tool, &after.text()).await.outcome.result {
        Err(error) => Some(format!("`{tool}` fails afterwards: {error:?}")),
        Ok(value) => match &expect.afterwards {
            Some(expected) if *expected != value => {
                Some(format!("`{tool}` comes to {value} afterwards"))
            }
            Some(_) | None => None,
        },
    }
}

/// A host that still does what it is there for.
pub(super) async fn well(host: &Rigged) -> Vec<String> {
    others(host, 1).await
}

/// What comes of the run when its records are run again.
async fn again(expect: &Expect, host: &Rigged, run: &RunId) -> Vec<String> {
    let other = match host.try_replay(run).await {
        Ok(replayed) => replayed.diverged.map(|diverged| {
            let text = format!("{diverged:?}");
            text.chars().take(1_000).collect()
        }),
        Err(error) => Some(error.to_string()),
    };
    match (other, expect.not_again.as_str()) {
        (Some(other), "") => vec![format!("a replay comes to something else: {other}")],
        (Some(_), _) | (None, "") => Vec::new(),
        (None, why) => vec![format!("a replay comes to the same, though {why}")],
    }
}

/// What it said, and what is on record of it.
async fn check(attack: &Attack, host: &Rigged, struck: Struck) -> Vec<String> {
    let expect = &attack.expect;
    let (code, answer) = struck.answer();
    let records = host.records(&struck.run).await;
    let seen = observed(&records);
    let mut wrong = struck.wrong;
    if seen.contains(host.folder()) {
        wrong.push(format!("a model reads a path of the host:\n{seen}"));
    }
    wrong.extend(check_answer(expect, code, &answer));
    wrong.extend(check_every(expect, &struck.result));
    wrong.extend(check_rendered(expect, &struck.result));
    wrong.extend(check_logs(expect, &struck.logs));
    let journal = crate::golden::render(&records);
    let shown = format!("{answer}\n{}\n{seen}", struck.logs.join("\n"));
    wrong.extend(check_shown(expect, &shown, host));
    let kept = serde_json::to_string(&records).expect("records are JSON");
    let all = format!("{}\n{shown}\n{kept}\n{journal}", struck.left);
    wrong.extend(check_nowhere(expect, &all, host));
    wrong.extend(check_journal(expect, &journal));
    wrong.extend(Box::pin(again(expect, host, &struck.run)).await);
    // A run that waits for a person has not ended, nor has a script that was given up: it can go on.
    let left = code == Some(Code::Cancelled) && attack.script.is_some();
    if code != Some(Code::Asked) && !left {
        wrong.extend(check_records(&records));
    }
    wrong
}
