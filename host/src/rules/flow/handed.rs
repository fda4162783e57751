//! What a person reads of what a handle holds: in a call that they are asked about, or before it becomes their own words.

use serde_json::Value;

use super::Point;
use super::class::Classes;
use super::handles::handle_in;
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::deny;
use crate::rules::sanitise::visible;
use crate::words::event::Denial;
use crate::words::id::shown;
use crate::words::limits::{ADOPTED_CHARS, HANDED, HANDED_CHARS};

/// What a person reads who is to make a text their own words.
///
/// # Errors
/// The denial, for a text that is too long to be read in a question, or secret.
pub fn adopting(call: &Call, caller: &Caller, classes: &Classes) -> Result<Point, Denial> {
    if classes.is_secret(&call.held) {
        let reason = format!(
            "what comes from {} stands in no question, and who has not read it cannot make it their own words",
            classes.suspects(&call.held).join(", ")
        );
        return Err(deny("flow_secret", reason));
    }
    let text = call.args.value().get("value").and_then(Value::as_str);
    let Some(text) = text.filter(|_| call.places == ["/value"]) else {
        let reason = "only what a handle holds can be made somebody's own words, and only a text";
        return Err(deny("flow_adopt", reason));
    };
    if text.chars().count() > ADOPTED_CHARS {
        let reason = format!(
            "nobody reads more than {ADOPTED_CHARS} characters in a question: take the part that matters with \
             `handle.slice`"
        );
        return Err(deny("flow_adopt", reason));
    }
    Ok(Point {
        reason: format!(
            "this text comes from {}, and would count as your own words in this run: “{}”",
            caller.label.join(&call.held),
            quoted(text)
        ),
        value: None,
        line: String::new(),
    })
}

/// Refuses a question about more handles than a person is shown.
///
/// # Errors
/// The denial.
pub fn check_handed(call: &Call) -> Result<(), Denial> {
    if call.places.len() <= HANDED {
        return Ok(());
    }
    let reason = format!(
        "a call of `{}` would ask a person about what more than {HANDED} handles hold",
        call.tool
    );
    Err(deny("flow_size", reason))
}

/// What a person reads of what handles bring into a call that they are asked about: to say yes to a name is to say
/// yes to anything. Of what is secret they read where it comes from: a question stands on record.
#[must_use]
pub fn handed(call: &Call, caller: &Caller, classes: &Classes) -> Vec<Point> {
    let points = call.places.iter().filter_map(|place| {
        let value = call.args.value().pointer(place)?;
        let from = caller.label.join(&call.held);
        let what = match held(call, place, value) {
            _ if classes.is_secret(&call.held) => {
                format!("what a handle holds, from {from}, and is not shown, since it is secret")
            }
            Shown::File { name, bytes } => {
                format!("the attached `{}`, {bytes} bytes, from {from}", shown(name))
            }
            Shown::Text(text) => format!("what a handle holds, from {from}: {text}"),
        };
        Some(Point {
            reason: format!("`{}` is {what}", visible(&named(place))),
            value: None,
            line: String::new(),
        })
    });
    points.collect()
}

/// What is shown of what a handle holds.
enum Shown<'a> {
    /// A file that the user has attached themselves: its bytes stand in no record, and questions do.
    File { name: &'a str, bytes: usize },
    /// The beginning of anything else, and how much more there is.
    Text(String),
}

fn held<'a>(call: &'a Call, place: &str, value: &Value) -> Shown<'a> {
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let name = call.wish.as_ref().and_then(|wish| wish.pointer(place));
    let name = name.and_then(handle_in);
    if let (Some(name), true) = (name, call.attached.iter().any(|one| one == place)) {
        let bytes = text.len();
        return Shown::File { name, bytes };
    }
    let begins: String = text.chars().take(HANDED_CHARS).collect();
    let more = match text.chars().count().saturating_sub(HANDED_CHARS) {
        0 => String::new(),
        more => format!(" and {more} characters more"),
    };
    Shown::Text(format!("“{}”{more}", quoted(&begins)))
}

/// A text on one line, in which nothing ends it, and no gap is wide enough to begin another line behind it: what follows in the
/// question are our words.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    let mut gap = 0;
    for c in visible(text).chars() {
        gap = if c.is_whitespace() { gap + 1 } else { 0 };
        match c {
            _ if gap > GAP => {}
            '\n' => quoted.push('↵'),
            '“' | '”' => quoted.push('"'),
            c => quoted.push(c),
        }
    }
    quoted
}

/// Blanks and line ends in a row that are shown of what a handle holds.
const GAP: usize = 2;

/// The place of an argument, for people.
pub(super) fn named(place: &str) -> String {
    match place.trim_start_matches('/') {
        "" => "all arguments".to_owned(),
        place => place.replace('/', "."),
    }
}
