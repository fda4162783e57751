//! What a run ended with, where it did not end well: read back from its records in the words of an envelope.

use serde_json::{Value, json};

use crate::surfaces::envelope::Failure;
use crate::words::error::{Code, Error};
use crate::words::event::{End, Event, Record, failed_last};
use crate::words::vocabulary::System;
use crate::words::whose::Whose;

/// The failure of a run that has ended so. Its hints were for whoever was there then.
pub(super) fn failure(records: &[Record], system: Option<System>) -> Option<Value> {
    let Event::Stopped(stopped) = &records.last()?.event else {
        return None;
    };
    let End::Failed {
        code,
        message,
        issues,
        retryable,
    } = &stopped.end
    else {
        return None;
    };
    // As it was said when it happened: other codes say by themselves what they are.
    let setback = failed_last(records).filter(|(failed, _)| *failed == Code::ProviderFailed);
    let setback = setback.map(|(_, setback)| setback);
    let word = system.map(|system| system.word(*code, stopped.limit, setback));
    let error = Error::new(*code, message.clone())
        .issues(issues.clone())
        .retry(*retryable)
        .by(Whose::of_end(*code, records))
        .called(word);
    Some(json!(Failure::of(&error)))
}
