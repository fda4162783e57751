//! `[compaction]`, and what a line of `[models.NAME]` says of the model's window.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::within;
use super::file::{ConfigFile, ModelTable};
use crate::rules::context::counting::Counting;
use crate::rules::context::rolling::{Rolling, RollingTable};
use crate::rules::context::tokens::Tokenizer;
use crate::rules::context::window::Window;
use crate::rules::sanitise::{CapTable, Caps};
use crate::runs::host::Setup;
use crate::words::error::{Error, Result};
use crate::words::id::{ToolName, shown};
use crate::words::limits::tuned::{CHARS_PER_TOKEN_MAX, CONTEXT_MESSAGE_TOKENS_MAX};
use crate::words::limits::{
    COMPACTION_COUNT_MAX, CONTEXT_WINDOW_TOKENS_MAX, CONTEXT_WINDOW_TOKENS_MIN,
    OBSERVATION_CAP_MAX, READ_BYTES_MAX, SUMMARY_AFTER_TOOLS,
};

/// `[context]`: what holds of all models.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContextTable {
    /// What a model takes at once, where `[models.NAME]` does not say.
    pub window_tokens: Option<u64>,
    /// What of that stays empty: nobody counts exactly as the provider does.
    pub reserve_tokens: Option<u64>,
    /// Whether the latest words of the user are cut where they do not fit; absent: the run fails.
    pub cut_latest: Option<bool>,
    /// Characters that are taken for one token where nothing is known that counts, and for what a model reads of an outcome,
    /// from 1 to 8; absent: 4. Of fewer, prompts are taken to be longer.
    pub chars_per_token: Option<usize>,
    /// Tokens that are taken to frame one message, from 0 to 1000; absent: 4.
    pub message_tokens: Option<u64>,
}

/// What the files say together: the smallest window, the most that stays empty, and the most cautious count.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn together(tables: &[ContextTable]) -> Result<ContextTable> {
    let common = ContextTable {
        window_tokens: tables.iter().filter_map(|table| table.window_tokens).min(),
        reserve_tokens: tables.iter().filter_map(|table| table.reserve_tokens).max(),
        cut_latest: tables.iter().find_map(|table| table.cut_latest),
        chars_per_token: tables
            .iter()
            .filter_map(|table| table.chars_per_token)
            .min(),
        message_tokens: tables.iter().filter_map(|table| table.message_tokens).max(),
    };
    if let Some(chars) = common.chars_per_token {
        within("[context] chars_per_token", chars, (1, CHARS_PER_TOKEN_MAX))?;
    }
    if let Some(tokens) = common.message_tokens {
        let all = (0, CONTEXT_MESSAGE_TOKENS_MAX);
        within("[context] message_tokens", tokens, all)?;
    }
    let (least, most) = (CONTEXT_WINDOW_TOKENS_MIN, CONTEXT_WINDOW_TOKENS_MAX);
    let window = common.window_tokens.unwrap_or(least);
    if !(least..=most).contains(&window) {
        let what = format!("[context] window_tokens is from {least} to {most}");
        return Err(Error::bad_input(what));
    }
    if common.reserve_tokens.is_some_and(|reserve| reserve > most) {
        let what = format!("[context] reserve_tokens is from 0 to {most}");
        return Err(Error::bad_input(what));
    }
    Ok(common)
}

/// What a model takes at once, and what counts it.
pub(super) fn window(name: &str, table: &ModelTable, common: ContextTable) -> Result<Window> {
    let (model, tokens, tokenizer) = match table {
        ModelTable::Scripted(table) => ("", table.window_tokens, table.tokenizer),
        ModelTable::OpenAi(table)
        | ModelTable::Responses(table)
        | ModelTable::Anthropic(table)
        | ModelTable::Gemini(table)
        | ModelTable::Ollama(table) => (table.model.as_str(), table.window_tokens, table.tokenizer),
    };
    let mut window = Window::of(name);
    window.counting = Counting::by(tokenizer.unwrap_or_else(|| Tokenizer::of_model(model)));
    window.counting = counting(window.counting, common);
    window.tokens = tokens.or(common.window_tokens).unwrap_or(window.tokens);
    window.reserve_tokens = common.reserve_tokens.unwrap_or(window.reserve_tokens);
    window.cut_latest = common.cut_latest.unwrap_or(window.cut_latest);
    let (least, most) = (CONTEXT_WINDOW_TOKENS_MIN, CONTEXT_WINDOW_TOKENS_MAX);
    if !(least..=most).contains(&window.tokens) {
        let what = format!("`window_tokens` is from {least} to {most}");
        return Err(Error::bad_input(what)
            .hint("it is what the model takes at once; its provider says how much"));
    }
    if window.room() == 0 {
        let what = format!(
            "`window_tokens` is {}, and `[context] reserve_tokens` keeps {} of them: nothing is left",
            window.tokens, window.reserve_tokens
        );
        return Err(Error::bad_input(what).hint("keep less: `[context] reserve_tokens = 1024`"));
    }
    Ok(window)
}

/// How tokens are counted, with what the operator says of it.
pub(super) fn counting(usual: Counting, common: ContextTable) -> Counting {
    Counting {
        chars_per_token: common.chars_per_token.unwrap_or(usual.chars_per_token),
        message_tokens: common.message_tokens.unwrap_or(usual.message_tokens),
        ..usual
    }
}

/// Tells every agent when its older turns are folded: the first file that says something of it is followed.
pub(super) fn roll(setup: &mut Setup, files: &[(&Path, &ConfigFile)]) -> Result<()> {
    let tables: Vec<&RollingTable> = files.iter().map(|(_, file)| &file.compaction).collect();
    let rolling = rolling(&tables)?;
    if !rolling.model.is_empty() && !setup.models.contains_key(&rolling.model) {
        let name = shown(&rolling.model);
        let what = format!("[compaction] speaks of the model `{name}`, which is not there");
        return Err(Error::bad_input(what).hint(format!("write `[models.{name}]`")));
    }
    setup.policy.wards.folded.clone_from(&rolling.after);
    for agent in setup.agents.values_mut() {
        agent.rolling.clone_from(&rolling);
    }
    Ok(())
}

/// The tools that have something to say: those of the first file that names any.
fn after(tables: &[&RollingTable]) -> Result<Vec<ToolName>> {
    let Some(names) = tables.iter().find_map(|table| table.after.as_ref()) else {
        return Ok(Vec::new());
    };
    if names.len() > SUMMARY_AFTER_TOOLS {
        let what = format!("[compaction] after names at most {SUMMARY_AFTER_TOOLS} tools");
        return Err(Error::bad_input(what));
    }
    names.iter().map(|name| ToolName::parse(name)).collect()
}

/// What two files say together.
pub(super) fn rolling(tables: &[&RollingTable]) -> Result<Rolling> {
    let of = Rolling::default();
    let percent = |said: fn(&RollingTable) -> Option<u32>, key: &str, least: u32, or: u32| {
        let value = tables.iter().find_map(|table| said(table)).unwrap_or(or);
        if (least..=100).contains(&value) {
            return Ok(value);
        }
        Err(Error::bad_input(format!(
            "[compaction] {key} is from {least} to 100"
        )))
    };
    let count = |said: fn(&RollingTable) -> Option<usize>, key: &str, or: usize| {
        let value = tables.iter().find_map(|table| said(table)).unwrap_or(or);
        if (1..=COMPACTION_COUNT_MAX).contains(&value) {
            return Ok(value);
        }
        Err(Error::bad_input(format!(
            "[compaction] {key} is from 1 to {COMPACTION_COUNT_MAX}"
        )))
    };
    let model = tables.iter().find_map(|table| table.model.clone());
    let rolling = Rolling {
        trigger_tokens: tables
            .iter()
            .find_map(|table| table.trigger_tokens)
            .unwrap_or(of.trigger_tokens),
        trigger_percent: percent(
            |t| t.trigger_percent,
            "trigger_percent",
            0,
            of.trigger_percent,
        )?,
        target_percent: percent(|t| t.target_percent, "target_percent", 1, of.target_percent)?,
        min_turns: count(|t| t.min_turns, "min_turns", of.min_turns)?,
        keep_turns: count(|t| t.keep_turns, "keep_turns", of.keep_turns)?,
        entries: count(|t| t.summary_entries, "summary_entries", of.entries)?,
        entry_chars: count(|t| t.entry_chars, "entry_chars", of.entry_chars)?,
        all_chars: count(|t| t.summary_chars, "summary_chars", of.all_chars)?,
        model: model.unwrap_or_default(),
        after: after(tables)?,
        after_chars: count(|t| t.after_chars, "after_chars", of.after_chars)?,
    };
    if rolling.trigger_percent > 0 && rolling.target_percent >= rolling.trigger_percent {
        return Err(
            Error::bad_input("[compaction] target_percent is not below trigger_percent")
                .hint("what is folded at 85 percent leaves 50, say"),
        );
    }
    Ok(rolling)
}

/// How much of an outcome a model reads: the least that one of the files asks for.
pub(super) fn caps(files: &[(&Path, &ConfigFile)]) -> Result<Caps> {
    let of = Caps::default();
    let contexts: Vec<_> = files.iter().map(|(_, file)| file.context).collect();
    let common = together(&contexts)?;
    let most = |key: &str| match key.starts_with("read_") {
        true => READ_BYTES_MAX,
        false => OBSERVATION_CAP_MAX,
    };
    let least = |said: fn(&CapTable) -> Option<usize>, key: &str| {
        let asked = files
            .iter()
            .filter_map(|(_, file)| said(&file.observations));
        match asked.min() {
            Some(value) if !(1..=most(key)).contains(&value) => Err(Error::bad_input(format!(
                "[observations] {key} is from 1 to {}",
                most(key)
            ))),
            asked => Ok(asked),
        }
    };
    let read_bytes_max =
        least(|t| t.read_bytes_max, "read_bytes_max")?.unwrap_or(of.read_bytes_max);
    let read_bytes = least(|t| t.read_bytes, "read_bytes")?;
    let percent = |said: fn(&CapTable) -> Option<usize>, or: usize| {
        let said = files.iter().find_map(|(_, file)| said(&file.observations));
        said.unwrap_or(or)
    };
    let head_percent = percent(|t| t.head_percent, of.head_percent);
    let tail_percent = percent(|t| t.tail_percent, 100_usize.saturating_sub(head_percent));
    if head_percent.saturating_add(tail_percent) > 100 {
        let what = format!(
            "[observations] head_percent and tail_percent are {head_percent} and {tail_percent}: that is more than 100"
        );
        return Err(
            Error::bad_input(what).hint("leave one of them out: it is what the other leaves")
        );
    }
    let truncation = files
        .iter()
        .find_map(|(_, file)| file.observations.truncation);
    Ok(Caps {
        tokens: least(|t| t.max_tokens, "max_tokens")?.unwrap_or(of.tokens),
        bytes: least(|t| t.max_bytes, "max_bytes")?.unwrap_or(of.bytes),
        lines: least(|t| t.max_lines, "max_lines")?,
        chars: least(|t| t.max_chars, "max_chars")?,
        preview_tokens: least(|t| t.preview_tokens, "preview_tokens")?.unwrap_or(of.preview_tokens),
        read_bytes: read_bytes.unwrap_or(of.read_bytes).min(read_bytes_max),
        read_bytes_max,
        truncation: truncation.unwrap_or(of.truncation),
        head_percent,
        tail_percent,
        chars_per_token: common.chars_per_token.unwrap_or(of.chars_per_token),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, says: &str) {
        let table: RollingTable = toml::from_str(text).unwrap();
        let error = rolling(&[&table]).unwrap_err();
        assert!(error.message().contains(says), "{error}");
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        check("trigger_percent = 101", "trigger_percent is from 0 to 100");
        check("target_percent = 0", "target_percent is from 1 to 100");
        check("target_percent = 90", "not below");
        check("keep_turns = 0", "keep_turns is from 1");
        let off: RollingTable = toml::from_str("trigger_percent = 0").unwrap();
        assert_eq!(rolling(&[&off]).unwrap().trigger_percent, 0);
    }

    #[test]
    fn the_most_cautious_count_holds() {
        let table = |text: &str| -> ContextTable { toml::from_str(text).unwrap() };
        let own = table("chars_per_token = 2\nmessage_tokens = 0");
        let both = together(&[own, table("chars_per_token = 3\nmessage_tokens = 9")]).unwrap();
        let counting = counting(Counting::by(Tokenizer::Estimate), both);
        assert_eq!((counting.chars_per_token, counting.message_tokens), (2, 9));
        for (said, says) in [
            (
                "chars_per_token = 0",
                "[context] chars_per_token is from 1 to 8",
            ),
            (
                "chars_per_token = 9",
                "[context] chars_per_token is from 1 to 8",
            ),
            (
                "message_tokens = 1001",
                "[context] message_tokens is from 0 to 1000",
            ),
        ] {
            let error = together(&[table(said)]).unwrap_err();
            assert_eq!(error.message(), says);
        }
    }

    #[test]
    fn eight_tools_have_something_to_say_and_no_more() {
        let table = |count: usize| -> RollingTable {
            toml::from_str(&format!("after = {:?}", vec!["notes.list"; count])).unwrap()
        };
        assert_eq!(rolling(&[&table(8)]).unwrap().after.len(), 8);
        let error = rolling(&[&table(9)]).unwrap_err();
        assert!(error.message().contains("at most 8 tools"), "{error}");
        let table: RollingTable = toml::from_str("after = [\"notes\"]").unwrap();
        assert!(rolling(&[&table]).is_err());
    }

    #[test]
    fn the_first_file_that_says_something_is_followed() {
        let own: RollingTable = toml::from_str("keep_turns = 3").unwrap();
        let theirs: RollingTable = toml::from_str("keep_turns = 4\nmin_turns = 9").unwrap();
        let both = rolling(&[&own, &theirs]).unwrap();
        assert_eq!((both.keep_turns, both.min_turns), (3, 9));
    }
}
