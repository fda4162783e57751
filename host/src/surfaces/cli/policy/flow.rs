//! `lazaret policy explain --run`: what steered each sink of a run, what it was given, and where that came from.

use serde_json::{Value, json};

use super::super::audit::warn_of;
use super::super::runs::open;
use super::super::{Scene, print};
use super::explain::steers;
use crate::rules::flow::class::{Class, Integrity};
use crate::runs::flowed::{Flowed, Holds, Steered};
use crate::surfaces::paint::{bad, faint, good, phrase, sentence, strong, warn};
use crate::words::error::Result;
use crate::words::event::Verdict;
use crate::words::label::Source;

pub(super) async fn perform(scene: &Scene, run: &str) -> Result<u8> {
    let audit = open(scene)?;
    let journal = audit.journal();
    let run = journal.find(run).await?;
    let host = scene.open_host().await?;
    let flowed = host.flows_in(journal, &run).await?;
    if scene.json {
        let sinks: Vec<Value> = flowed.iter().map(as_json).collect();
        print::value(&json!({"run": run, "sinks": sinks}), true);
        return warn_of(&audit, &run).await;
    }
    print::line(strong(&run));
    if flowed.is_empty() {
        print::line("no call of this run did more than look, and no tool of it sent a request");
    }
    flowed.iter().for_each(describe);
    warn_of(&audit, &run).await
}

fn describe(flowed: &Flowed) {
    let word = match &flowed.verdict {
        Verdict::Allow { .. } => good("allow"),
        Verdict::Ask(_) => warn("ask"),
        Verdict::Deny(_) => bad("deny"),
    };
    let seq = faint(format!("{:>4}", flowed.seq));
    let subject = strong(phrase(&flowed.subject));
    let by = faint(format!("by {}", phrase(&flowed.origin)));
    print::marked_line(format!(
        "{seq} {word} {subject} {by}: {}",
        sentence(flowed.verdict.reason())
    ));
    for value in &flowed.values {
        print::marked_line(format!("     {}", steers(&value.weighed)));
        for from in &value.origins {
            let path = if from.path.is_empty() {
                "/"
            } else {
                &from.path
            };
            print::marked_line(format!(
                "       {} record {}, `{}` {}, under {}",
                faint("from"),
                from.seq,
                from.tool,
                phrase(path),
                phrase(&from.label.to_string())
            ));
        }
    }
    for holds in &flowed.holds {
        print::marked_line(format!("     {}", held(holds)));
    }
    for (source, class) in &flowed.sources {
        let (source, class) = (phrase(&source.to_string()), classed(*class));
        print::marked_line(format!("     {} {source}: {class}", faint("label  ")));
    }
}

/// A handle that a call was given, and what had influence on what it holds.
fn held(holds: &Holds) -> String {
    let argument = match holds.taken.argument.as_str() {
        "" => "/".to_owned(),
        argument => phrase(argument),
    };
    let handle = strong(phrase(&holds.taken.handle));
    let said = holds.said(classed);
    format!("{} {argument} = {handle}: {said}", faint("holds  "))
}

fn classed(class: Class) -> String {
    let word = class.integrity.word();
    let integrity = match class.integrity {
        Integrity::Trusted => good(word),
        Integrity::Untrusted => bad(word),
    };
    format!("{integrity}, {}", class.secrecy.word())
}

fn as_json(flowed: &Flowed) -> Value {
    let holds = flowed.holds.iter().map(|holds| {
        let sources = holds.sources.as_deref();
        json!({
            "argument": holds.taken.argument,
            "handle": holds.taken.handle,
            "label": sources.map(sources_as_json),
        })
    });
    json!({
        "seq": flowed.seq,
        "effect": flowed.effect,
        "tool": flowed.subject,
        "origin": flowed.origin,
        "verdict": flowed.verdict,
        "steers": flowed.values.iter().map(value_as_json).collect::<Vec<_>>(),
        "holds": holds.collect::<Vec<_>>(),
        "label": sources_as_json(&flowed.sources),
    })
}

fn sources_as_json(sources: &[(Source, Class)]) -> Vec<Value> {
    let sources = sources.iter().map(|(source, class)| {
        json!({"source": source, "integrity": class.integrity, "secrecy": class.secrecy})
    });
    sources.collect()
}

fn value_as_json(value: &Steered) -> Value {
    let from = value.origins.iter().map(
        |from| json!({"seq": from.seq, "tool": from.tool, "path": from.path, "label": from.label}),
    );
    json!({
        "argument": value.weighed.argument,
        "value": value.weighed.value,
        "kind": value.weighed.kind,
        "witness": value.weighed.witness,
        "from": from.collect::<Vec<_>>(),
    })
}
