//! Forms at the terminal: what a server wants to know in the middle of a call is asked here, while its call waits.

use std::future::Future;
use std::pin::pin;

use serde_json::{Map, Value};

use super::inline::{line, may_ask, prompt};
use super::{Scene, print};
use crate::rules::json;
use crate::rules::questions::Waiting;
use crate::rules::server::form::Form;
use crate::runs::host::Host;
use crate::surfaces::again;
use crate::surfaces::paint::{bad, faint, foreign, marked, phrase, sentence, strong, warn};
use crate::words::error::{Code, Result};
use crate::words::event::Answer;
use crate::words::id::RunId;

/// Does the work, and meanwhile asks whoever is at the terminal what servers want to know.
pub(super) async fn beside<T>(
    host: &Host,
    run: &RunId,
    scene: &Scene,
    work: impl Future<Output = T>,
) -> T {
    let mut watcher = host.watch(run);
    let is_there = may_ask(scene);
    let asking = async {
        loop {
            let waiting = host.next_form(&mut watcher).await;
            // Whatever is wrong with an answer is said there, and the call does not wait for ever.
            if let Err(error) = put(host, &waiting, is_there, scene).await {
                print::failed(&error);
            }
        }
    };
    let (mut work, mut asking) = (pin!(work), pin!(asking));
    tokio::select! {
        biased;
        done = work.as_mut() => done,
        () = asking.as_mut() => work.await,
    }
}

/// Puts a form that waits.
async fn put(host: &Host, waiting: &Waiting, is_there: bool, scene: &Scene) -> Result<()> {
    let Some(form) = waiting.form() else {
        return Ok(());
    };
    if !is_there {
        if !scene.json && !scene.quiet {
            print::note(elsewhere(waiting));
        }
        return Ok(());
    }
    let _quiet = print::quietly();
    print::marked_note(shown(waiting));
    let id = waiting.question.id.as_str();
    loop {
        let Some(content) = filled(&form).await? else {
            return host.answer(id, Answer::Deny).await.map(drop);
        };
        match host.answer_form(id, content).await {
            // What does not fit is said, and filled once more.
            Err(misfit) if misfit.code() == Code::BadInput => {
                print::marked_note(format!("{}: {}", bad("error"), marked(misfit.message())));
            }
            answered => return answered.map(drop),
        }
    }
}

/// How a form is answered from elsewhere.
fn elsewhere(waiting: &Waiting) -> String {
    let id = &waiting.question.id;
    format!(
        "{} {}\n  {} {}",
        warn("?"),
        sentence(&waiting.question.text),
        faint("answer it while the call waits:"),
        again::hint(&format!(
            "lazaret ask show {id}, lazaret ask allow {id} --with JSON"
        ))
    )
}

/// What is asked, as words of the server.
fn shown(waiting: &Waiting) -> String {
    let mut text = format!(
        "{} {} asks you {}",
        warn("?"),
        strong(phrase(&waiting.subject)),
        faint(format!("(by {})", foreign(&waiting.question.rule)))
    );
    for reason in &waiting.question.reasons {
        text.push_str(&format!("\n  {}", sentence(reason)));
    }
    text.push_str(&format!(
        "\n  {}",
        faint("an empty line leaves a field as it is; a line with a dot alone tells the server nothing at all")
    ));
    text
}

/// What stands before what is typed for a field: its name, which the server chose, with its mark on each row.
fn asked(name: &str) -> String {
    print::on_rows(
        &format!("  | {} {}", phrase(name), faint(">")),
        std::io::stderr(),
    )
}

/// What is typed for each field; nothing where the server is told nothing.
async fn filled(form: &Form) -> Result<Option<Value>> {
    let mut content = Map::new();
    for (name, field) in form.fields() {
        prompt(&asked(name));
        let Some(typed) = line().await? else {
            return Ok(None);
        };
        match typed.trim() {
            "." => return Ok(None),
            "" => {}
            typed => {
                content.insert(name.clone(), read(typed, field));
            }
        }
    }
    Ok(Some(Value::Object(content)))
}

/// What was typed, as a value of its field's kind; as it was typed where it is none.
fn read(typed: &str, field: &Value) -> Value {
    let kind = field
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = || Value::from(typed);
    match kind {
        "number" | "integer" => json::parse(typed).unwrap_or_else(|_| text()),
        "boolean" => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => Value::from(true),
            "n" | "no" | "false" => Value::from(false),
            _ => text(),
        },
        "array" => typed
            .split(',')
            .map(|one| Value::from(one.trim()))
            .collect(),
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_typed_is_a_value_of_its_kind() {
        for (typed, kind, expected) in [
            ("7", "string", json!("7")),
            ("7", "integer", json!(7)),
            ("seven", "integer", json!("seven")),
            ("Yes", "boolean", json!(true)),
            ("false", "boolean", json!(false)),
            ("maybe", "boolean", json!("maybe")),
            ("a, b", "array", json!(["a", "b"])),
        ] {
            assert_eq!(
                read(typed, &json!({"type": kind})),
                expected,
                "{typed} {kind}"
            );
        }
    }
}
