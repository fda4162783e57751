//! The line of a model that gave no reply: why, and what is done instead.

use crate::surfaces::paint::{bad, faint, warn};
use crate::words::event::{Attempted, Onward, Tried};
use crate::words::inert::one_line;

use super::short;

pub(super) fn line(attempted: &Attempted) -> String {
    let model = one_line(&attempted.model);
    match &attempted.tried {
        Tried::Skipped { miss } => {
            format!("  {} {model} {}", warn("passed over"), faint(miss.words()))
        }
        Tried::Failed {
            message,
            then,
            wait_ms,
            restarts,
            ..
        } => {
            let next = match (then, wait_ms) {
                (Onward::Again, 0) => "; asked again".to_owned(),
                (Onward::Again, wait_ms) => format!("; asked again in {wait_ms} ms"),
                (Onward::Next, _) => "; the next one is asked".to_owned(),
                (Onward::Anew, _) => "; the turn begins anew".to_owned(),
                (Onward::Over, _) => String::new(),
            };
            let anew = if *restarts {
                ", and the step begins anew"
            } else {
                ""
            };
            let rest = faint(format!("{}{next}{anew}", short(message)));
            format!("  {} {model} {rest}", bad("no reply"))
        }
    }
}
