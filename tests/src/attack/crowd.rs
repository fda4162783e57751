//! Many calls at once, all of them in one run: what one of them leaves is its own.

use futures_util::future::join_all;
use lazaret::guests::dispatch::Outcome;
use lazaret::words::event::Event;
use lazaret::words::id::RunId;
use serde::Deserialize;

use crate::attack::meanwhile::{BESIDE, others};
use crate::attack::strike::{check_logs, lines};
use crate::attack::{Expect, Wish};
use crate::rig::Rigged;
use crate::verdict::{check_answer, said};

/// Calls that are made at once.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crowd {
    /// Each of these, whose log holds lines with what its argument `line` says and no others,
    pub wishes: Vec<Wish>,
    /// so many times.
    pub each: usize,
}

/// Makes the calls, beside which others are answered, and says everything that is not as it must be.
pub(super) async fn press(crowd: &Crowd, expect: &Expect, host: &Rigged) -> Vec<String> {
    let run = host.host.new_run();
    let wishes = crowd.wishes.iter();
    let wishes = wishes.flat_map(|wish| std::iter::repeat_n(wish, crowd.each));
    let wishes: Vec<&Wish> = wishes.collect();
    let mut calls = Vec::new();
    for wish in &wishes {
        calls.push(Box::pin(host.batched(&run, &wish.tool, wish.args.clone())));
    }
    let (outcomes, mut wrong) = tokio::join!(join_all(calls), Box::pin(others(host, BESIDE)));
    for (wish, outcome) in wishes.iter().zip(&outcomes) {
        let found = check_one(wish, outcome, expect).into_iter();
        wrong.extend(found.map(|text| format!("{}: {text}", wish.tool)));
    }
    wrong.extend(check_run(host, &run, wishes.len()).await);
    wrong
}

fn check_one(wish: &Wish, outcome: &Outcome, expect: &Expect) -> Vec<String> {
    let (code, answer) = match &outcome.result {
        Ok(value) => (None, value.to_string()),
        Err(error) => (Some(error.code()), said(error)),
    };
    let logs = lines(outcome);
    let mut wrong = check_answer(expect, code, &answer);
    wrong.extend(check_logs(expect, &logs));
    let own = wish.args["line"].as_str().unwrap_or_default();
    // One more says how many there is no room for.
    let strange = logs.iter().filter(|line| !line.contains(own)).count();
    if strange > 1 {
        wrong.push(format!("its log holds {strange} lines of others"));
    }
    wrong
}

/// Each call has its judgement and its end on record, and every record is as it was written.
async fn check_run(host: &Rigged, run: &RunId, calls: usize) -> Vec<String> {
    let journal = host.host.journal();
    journal.commit().await.expect("the journal is well");
    let verified = journal.verify(run).await.expect("the run is there");
    let mut wrong = Vec::new();
    if let Some((seq, why)) = verified.broken {
        wrong.push(format!("record {seq} is not as it was written: {why}"));
    }
    let (mut judged, mut finished) = (0, 0);
    for record in host.records(run).await {
        match record.event {
            Event::Judged(_) => judged += 1,
            Event::Finished(_) => finished += 1,
            other => wrong.push(format!("a record is of no call: {other:?}")),
        }
    }
    if (judged, finished) != (calls, calls) {
        wrong.push(format!(
            "of {calls} calls, {judged} were judged and {finished} have an end"
        ));
    }
    wrong
}
