//! What is done apart: the two tools that the host performs itself, one in a guest of the engine of scripts, one by
//! asking a model. Their calls take the path of any other call; see `dispatch.rs`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::catalog::Tool;
use super::crowd::Among;
use super::guest::{LogLine, Trail};
use super::script::{Broken, Progress, ScriptGuest, Step};
use super::station::Station;
use super::tasks::Tasks;
use crate::rules::caller::Caller;
use crate::rules::flow::apart::Apart;
use crate::rules::json;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Glimpse, Remade, ScriptBounds, Spent};
use crate::words::id::Digest;
use crate::words::label::Label;
use crate::words::limits::{
    SCRIPT_HEAP_BYTES, SCRIPT_JSON_BYTES, SCRIPT_LOG_BYTES, SCRIPT_POLLS_PER_MS,
};
use crate::words::message::{Cost, Prompt, Reply};

/// What came of it.
#[derive(Debug)]
pub struct Done {
    /// The value, or why there is none.
    pub result: Result<Value>,
    /// What of a failure may be told to whom.
    pub telling: Telling,
    /// Lines that it has written.
    pub trail: Trail,
    /// What steps had made of the call.
    pub remade: Option<Box<Remade>>,
    /// What it took.
    pub spent: Spent,
}

/// What of a failure may be told to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Its words are made of what it was given: who is told them has read that.
    Whole,
    /// Likewise; but this sentence holds none of them.
    Sentence(String),
    /// Nothing of what it was given has come into it.
    Free,
}

impl Done {
    /// A failure before anything that was given was touched.
    #[must_use]
    pub fn free(error: Error) -> Self {
        Self {
            result: Err(error),
            telling: Telling::Free,
            trail: Trail::default(),
            remade: None,
            spent: Spent::default(),
        }
    }
}

/// One call that is done apart.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Everything that it takes.
    pub station: &'a Arc<Station>,
    /// The run's tasks.
    pub tasks: &'a Tasks,
    /// On whose behalf, after the judgement: its record is the parent of what is wished next.
    pub caller: &'a Caller,
    /// The arguments, with what handles hold in their places.
    pub args: &'a Value,
    /// What influenced the arguments, its wisher included.
    pub label: &'a Label,
}

/// Whoever asks the models of a run: they are known to the layer above.
pub trait Counsel: fmt::Debug + Send + Sync {
    /// Asks the question of a wish that was allowed.
    fn consult<'a>(&'a self, wish: Wish<'a>) -> Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

    /// Asks one model what a server wants to know, once that was allowed.
    fn sample<'a>(
        &'a self,
        wish: Sampling<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>>;

    /// The most that a model takes for so many tokens, read and written.
    fn price(&self, model: &str, tokens: (u64, u64)) -> Cost;
}

/// What a server wants of a model, in the middle of its call.
#[derive(Clone, Copy, Debug)]
pub struct Sampling<'a> {
    /// Everything that it takes.
    pub station: &'a Arc<Station>,
    /// The run's tasks.
    pub tasks: &'a Tasks,
    /// The call as a caller, under all that came into the prompt.
    pub caller: &'a Caller,
    /// The model, by name.
    pub model: &'a str,
    /// What it is told.
    pub prompt: &'a Prompt,
}

/// Does it.
pub(super) async fn perform(way: Apart, wish: Wish<'_>) -> Done {
    if let Some(recorded) = &wish.station.recorded {
        let done = recorded.done(&wish.caller.place).await;
        wish.caller.known.consults.spend(done.spent.usage);
        return done;
    }
    match way {
        Apart::Isolate => isolate(wish).await,
        Apart::Consult => wish.station.counsel.models.consult(wish).await,
    }
}

/// Whether there is room for one more of it at once, and the wisher of a call has a model to ask; taken once for each question.
///
/// # Errors
/// `BadInput` where there is no model, `OverBudget` where it has asked too often.
pub(super) fn admit<'a>(
    call: Apart,
    (station, caller, tool): (&Station, &Caller, &'a Tool),
) -> Result<Option<Among<'a>>> {
    let among = match station.recorded {
        None => Some(tool.crowd.join(&tool.name)?),
        Some(_) => None,
    };
    match call {
        Apart::Isolate => {}
        Apart::Consult => caller.known.consults.admit()?,
    }
    Ok(among)
}

/// Runs a function in a guest of its own that may call nothing.
async fn isolate(wish: Wish<'_>) -> Done {
    let began = Clock::instant();
    let text = |key: &str| wish.args.get(key).cloned().unwrap_or_default();
    let code = text("code");
    let code = code.as_str().unwrap_or_default();
    let isolated = Isolated {
        wish,
        given: text("of").to_string(),
    };
    let running = isolated.run(code);
    let ran = wish.tasks.unless_cancelled(async { Ok(running.await) });
    let mut done = ran.await.unwrap_or_else(Done::free);
    done.spent.us = Spent::since(began).us;
    done
}

struct Isolated<'a> {
    wish: Wish<'a>,
    /// The function's arguments, as the JSON text of a list.
    given: String,
}

impl Isolated<'_> {
    /// What is no JavaScript may be TypeScript.
    async fn run(&self, code: &str) -> Done {
        let (mut done, is_program) = self.run_as(code).await;
        if is_program {
            return done;
        }
        let station = self.wish.station;
        let source = format!("(\n{code}\n)");
        let typed = (source.as_str(), &self.wish.caller.known.cpu_time);
        let blanking = station.scripts.blank_apart(&station.quarantine, typed);
        let (read, cpu_ms) = blanking.await;
        let before_ms = done.spent.cpu_ms.saturating_add(cpu_ms);
        let blanked = match read {
            Err(error) if error.code() == Code::Busy => {
                done = Done::free(error);
                None
            }
            read => read.ok().filter(|blanked| *blanked != source),
        };
        let blanked = blanked.as_deref().and_then(|blanked| {
            let inside = blanked.strip_prefix("(\n")?;
            inside.strip_suffix("\n)")
        });
        done.spent.cpu_ms = 0;
        if let Some(code) = blanked {
            done = self.run_as(code).await.0;
        }
        done.spent.cpu_ms = done.spent.cpu_ms.saturating_add(before_ms);
        done
    }

    /// Runs it; and whether it was a program at all.
    async fn run_as(&self, code: &str) -> (Done, bool) {
        let mut guest = match self.guest().await {
            Ok(guest) => guest,
            Err(error) => return (Done::free(error), true),
        };
        let clock = self.wish.station.gate.journal().clock();
        // The same function over the same values takes the same course.
        let seed = Digest::of(code.as_bytes()).seed();
        let source = source_of(code, &self.given);
        let bounds = self.bounds();
        let step = guest.start(&source, &bounds, (seed, clock.now_ms())).await;
        let mut trail = Trail::default();
        let (result, telling, is_program) = match step {
            Ok(step) => {
                let progress = self.hear(step, &mut trail);
                self.read(progress, code)
            }
            Err(error) => {
                let telling = stopped(error.code(), None);
                (Err(error), telling, true)
            }
        };
        let spent = guest.spent();
        let done = Done {
            result,
            telling,
            trail,
            remade: None,
            spent,
        };
        (done, is_program)
    }

    async fn guest(&self) -> Result<ScriptGuest> {
        let (station, caller) = (self.wish.station, self.wish.caller);
        let engine = &station.scripts.engine;
        if !engine.is_compiled(&station.quarantine) {
            let glimpse = Glimpse::Progress {
                of: caller.parent,
                tool: "handle.isolate".to_owned(),
                message: "preparing the engine of scripts (compiled once, then cached)".to_owned(),
                percent: None,
                label: caller.label.clone(),
            };
            station.gate.journal().glimpse(&caller.run, glimpse);
        }
        let cpu_ms = station.gate.policy().scripts.cpu_ms;
        let time = (cpu_ms, &self.wish.caller.known.cpu_time);
        engine.guest_apart(&station.quarantine, time).await
    }

    /// Those of a script, without calls and timers: it only computes.
    fn bounds(&self) -> ScriptBounds {
        let cpu_ms = self.wish.station.gate.policy().scripts.cpu_ms;
        ScriptBounds {
            calls: 0,
            timers: 0,
            polls: cpu_ms.saturating_mul(SCRIPT_POLLS_PER_MS),
            heap_bytes: SCRIPT_HEAP_BYTES,
            json_bytes: SCRIPT_JSON_BYTES,
            log_bytes: SCRIPT_LOG_BYTES,
        }
    }

    fn hear(&self, step: Step, trail: &mut Trail) -> Progress {
        let station = self.wish.station;
        let time = station.gate.journal().clock().now_ms();
        for (level, line) in step.logs {
            trail.keep_line(LogLine {
                level,
                message: station.scrub.clean(&line),
                fields: serde_json::json!({}),
                time,
            });
        }
        step.progress
    }

    fn read(&self, progress: Progress, code: &str) -> (Result<Value>, Telling, bool) {
        match progress {
            Progress::Done(text) => {
                let value = value_of(&text);
                let code = value.as_ref().err().map_or(Code::GuestFailed, Error::code);
                (value, stopped(code, None), true)
            }
            Progress::Failed(broken) if broken.code == Code::BadInput => {
                // It has not run: what is wrong with it has nothing to do with what it was given.
                (Err(unread(&broken, code)), Telling::Free, false)
            }
            Progress::Failed(broken) if broken.message.ends_with(NO_FUNCTION) => {
                let hint = "write one such as `(letter) => letter.text`";
                let what = format!("{NO_FUNCTION}: {hint}");
                let error = Error::new(broken.code, what.clone());
                (Err(error), Telling::Sentence(what), true)
            }
            Progress::Failed(broken) => {
                let place = place_in(&broken, code);
                let telling = stopped(broken.code, place);
                (Err(whole(&broken, place)), telling, true)
            }
            Progress::Waiting(_) => {
                let error = Error::new(
                    Code::Trapped,
                    "the engine of scripts asks for what it has not",
                );
                (Err(error), stopped(Code::Trapped, None), true)
            }
        }
    }
}

/// The script that runs the function. What it is given stands before it, so that no quote or comment that the function
/// leaves open swallows any of it, and the function begins on the second line. It has no brace in it: where braces are
/// is looked at before a source is read, and whether the function is a program must not depend on what it is given.
fn source_of(code: &str, given: &str) -> String {
    let (given, none) = (Value::from(given).to_string(), Value::from(NO_FUNCTION));
    let given = given.replace('{', "\\u007b").replace('}', "\\u007d");
    format!(
        "const given = JSON.parse({given}); const run = (\n{code}\n); \
         if (typeof run !== \"function\") throw new TypeError({none}); return await run(...given)"
    )
}

/// What stands in the way of code that is something else.
const NO_FUNCTION: &str = "the code is no function";

/// The sentence of a failure: what its code says already, in words, and where.
fn stopped(code: Code, place: Option<(u32, u32)>) -> Telling {
    let is = |codes: &[Code]| codes.contains(&code);
    let what = if is(&[Code::OutOfFuel, Code::TooSlow]) {
        "the function works too long"
    } else if is(&[Code::OutOfMemory]) {
        "the function needs more memory than it may use"
    } else if is(&[Code::Stalled]) {
        "the function waits for what never comes"
    } else if is(&[Code::TooBig]) {
        "the function failed: its value is too large"
    } else {
        "the function failed"
    };
    Telling::Sentence(match place {
        Some((line, column)) => format!("{what} at line {line}, column {column} of its source"),
        None => what.to_owned(),
    })
}

/// Where in the function: the line before it is the host's, and what is behind it is its end. A function can write
/// the stack of its error, so a place counts only where there is one: there are no more than it has characters.
fn place_in(broken: &Broken, code: &str) -> Option<(u32, u32)> {
    let (line, column) = broken.place?;
    let line = line.checked_sub(1).filter(|line| *line > 0)?;
    let text = code
        .lines()
        .nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    let most = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    (1..=most.saturating_add(1))
        .contains(&column)
        .then_some((line, column))
}

fn whole(broken: &Broken, place: Option<(u32, u32)>) -> Error {
    let message = match place {
        Some((line, column)) => format!("{} (line {line}, column {column})", broken.message),
        None => broken.message.clone(),
    };
    Error::new(broken.code, message)
}

/// What is wrong with a function that is none.
fn unread(broken: &Broken, code: &str) -> Error {
    let why = broken
        .message
        .replace("the script is no program", "the function is none");
    let message = match place_in(broken, code) {
        Some((line, column)) => format!("{why} (line {line}, column {column})"),
        None => format!("{why} (at its end)"),
    };
    Error::new(Code::BadArgs, message)
}

/// The value of the function: JSON of bounded size.
fn value_of(text: &str) -> Result<Value> {
    let limit = usize::try_from(SCRIPT_JSON_BYTES).unwrap_or(usize::MAX);
    if text.len() > limit {
        return Err(Error::too_big("the function's value", limit, text.len()));
    }
    json::parse(text).map_err(|why| {
        let what = format!("the function's value is no JSON that is taken: {why}");
        Error::new(Code::NotJson, what)
    })
}
