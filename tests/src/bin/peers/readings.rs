//! What an SDK and our codec read in the same bytes.

use lazaret::rules::codec::Wire;
use lazaret::words::message::{Reply, WishedArgs};
use serde_json::{Value, json};

use crate::Bench;
use crate::answers::{Answers, base, names};
use crate::rules::{About, difference};

/// Compares every recorded answer.
pub fn compare(bench: &mut Bench, wire: Wire, answers: &Answers) {
    for answer in &answers.all {
        let place = format!("/read/{}/{}", answer.name, answer.streams);
        let path = format!("{place}{}{}", base(wire), wire.path("m", answer.streams));
        bench.server.say(vec![answer.at(wire, path)]);
        let url = format!("http://127.0.0.1:{}{place}", bench.server.port());
        let question = json!({"place": url, "streams": answer.streams});
        let theirs = bench.sdk.ask(wire, "read", question);
        let told = match (answer.reply(wire), theirs) {
            (Ok(ours), Ok(theirs)) => {
                let (mut ours, mut theirs) = (reading(&ours), parsed(theirs));
                bench
                    .rules
                    .apply(wire, About::Reading, &mut ours, &mut theirs);
                difference(&ours, &theirs)
            }
            (Err(failed), _) | (_, Err(failed)) => Some(failed),
        };
        let what = if answer.streams {
            "streams read"
        } else {
            "whole answers read"
        };
        bench.count(wire, what, &answer.place(), told);
    }
}

/// A reply of ours in the words of `tests/peers/reading.py`.
fn reading(reply: &Reply) -> Value {
    let names = names();
    let calls = reply.calls.iter().map(|call| {
        let args = match &call.args {
            WishedArgs::Json(value) => value.clone(),
            WishedArgs::Broken(text) => json!(text),
        };
        json!({"id": call.id, "name": names.wire(&call.tool), "args": args})
    });
    let calls: Vec<Value> = calls.collect();
    let thoughts = reply.thoughts.iter();
    let thought: String = thoughts
        .clone()
        .map(|thought| thought.text.as_str())
        .collect();
    let sealed: Vec<&Value> = thoughts
        .filter_map(|thought| {
            let keys = ["signature", "data", "encrypted_content", "thoughtSignature"];
            keys.iter().find_map(|key| thought.opaque.get(key))
        })
        .collect();
    let usage = &reply.usage;
    json!({
        "text": reply.text,
        "thought": thought,
        "sealed": sealed,
        "calls": calls,
        "stop": reply.stop,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
            "kept_tokens": usage.kept_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
    })
}

/// Arguments that an SDK leaves as text, read as what they are.
fn parsed(mut theirs: Value) -> Value {
    for call in theirs["calls"].as_array_mut().into_iter().flatten() {
        if let Some(text) = call["args"].as_str()
            && let Ok(value) = serde_json::from_str(text)
        {
            call["args"] = value;
        }
    }
    theirs
}
