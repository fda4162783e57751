//! Rolling: older turns are folded into one summary before the window is full (U-42).
//!
//! The summary is content like any other. It stands where messages stand and never among the instructions, and whoever
//! reads it is under the influence of all that it was made of: between marks, where that is not to be trusted. What is
//! secret is never summarised. The next summary takes the last one in, so that there is one at any time.

use serde::Deserialize;

use super::super::inbound::Marks;
use super::super::sanitise::visible;
use super::super::scrub::Scrub;
use super::window::Turn;
use crate::words::id::ToolName;
use crate::words::limits::{
    COMPACTION_KEEP_TURNS, COMPACTION_MIN_TURNS, COMPACTION_TARGET_PERCENT,
    COMPACTION_TRIGGER_PERCENT, SUMMARY_AFTER_CHARS, SUMMARY_ALL_CHARS, SUMMARY_ENTRIES,
    SUMMARY_ENTRY_CHARS,
};
use crate::words::message::{Message, Prompt, Reply, WishedArgs};

/// `[compaction]`: when older turns are folded, and into what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rolling {
    /// Of what may be filled of the window: beyond it older turns are folded; 0: never.
    pub trigger_percent: u32,
    /// So many tokens instead of that share (C-24); 0: the share.
    pub trigger_tokens: u64,
    /// Of what may be filled of the window: so much is left at most.
    pub target_percent: u32,
    /// With fewer turns nothing is folded.
    pub min_turns: usize,
    /// So many of the newest stay as they are.
    pub keep_turns: usize,
    /// Lines of a summary.
    pub entries: usize,
    /// Characters of one.
    pub entry_chars: usize,
    /// Characters of them all.
    pub all_chars: usize,
    /// The model that writes summaries; the host does where none is named.
    pub model: String,
    /// Tools that have something to say once turns were folded, in their order (G-70).
    pub after: Vec<ToolName>,
    /// Characters of what each of them says.
    pub after_chars: usize,
}

impl Default for Rolling {
    fn default() -> Self {
        Self {
            trigger_percent: COMPACTION_TRIGGER_PERCENT,
            trigger_tokens: 0,
            target_percent: COMPACTION_TARGET_PERCENT,
            min_turns: COMPACTION_MIN_TURNS,
            keep_turns: COMPACTION_KEEP_TURNS,
            entries: SUMMARY_ENTRIES,
            entry_chars: SUMMARY_ENTRY_CHARS,
            all_chars: SUMMARY_ALL_CHARS,
            model: String::new(),
            after: Vec::new(),
            after_chars: SUMMARY_AFTER_CHARS,
        }
    }
}

/// `[compaction]` as it is written.
#[derive(Clone, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RollingTable {
    /// When older turns are folded, in per cent of the window less its reserve; 0: never.
    pub trigger_percent: Option<u32>,
    /// The same in tokens, where that is less; then `target_percent` is less by as much.
    pub trigger_tokens: Option<u64>,
    /// How much is left.
    pub target_percent: Option<u32>,
    /// With fewer turns nothing is folded.
    pub min_turns: Option<usize>,
    /// Turns that stay as they are.
    pub keep_turns: Option<usize>,
    /// Lines of a summary.
    pub summary_entries: Option<usize>,
    /// Characters of one.
    pub entry_chars: Option<usize>,
    /// Characters of them all.
    pub summary_chars: Option<usize>,
    /// The model that writes summaries.
    pub model: Option<String>,
    /// Tools that only look, and that are called once turns were folded: what they return is told behind the summary.
    pub after: Option<Vec<String>>,
    /// Characters of what each of them returns.
    pub after_chars: Option<usize>,
}

impl Rolling {
    /// So much of a window with this room sets it off.
    pub(super) fn trigger(&self, room: u64) -> Option<u64> {
        (self.trigger_percent > 0).then(|| share(self.whole(room), self.trigger_percent))
    }

    /// What the shares are of: the room, or as much as makes the tokens that set it off the same share of it.
    pub(super) fn whole(&self, room: u64) -> u64 {
        let percent = u64::from(self.trigger_percent.max(1));
        match self.trigger_tokens {
            0 => room,
            tokens => room.min(tokens.saturating_mul(100).div_ceil(percent)),
        }
    }

    /// How many of these turns are folded, oldest first, so that no more than the target is left. `fixed` is what stays
    /// whatever is folded; `cost` is what a turn takes.
    pub(super) fn folded(
        &self,
        turns: &[Turn],
        (tokens, fixed): (u64, u64),
        cost: impl Fn(&Turn) -> u64,
    ) -> usize {
        if turns.len() < self.min_turns {
            return 0;
        }
        let target = share(tokens, self.target_percent);
        let most = turns.len().saturating_sub(self.keep_turns);
        let mut left: u64 = turns.iter().map(&cost).fold(fixed, u64::saturating_add);
        let mut folded = 0;
        for turn in turns.iter().take(most) {
            if left <= target {
                break;
            }
            left = left.saturating_sub(cost(turn));
            folded += 1;
        }
        folded
    }

    /// The host's own summary of these messages, which takes the last one in: a line each, the newest last.
    #[must_use]
    pub fn summary(&self, before: &str, messages: &[Message]) -> String {
        // What stands there may be a model's own words.
        let mut left_out = 0_usize;
        let mut lines: Vec<String> = Vec::new();
        for line in before.lines() {
            match line
                .strip_prefix(LEFT_OUT)
                .and_then(|rest| rest.split_whitespace().next())
            {
                Some(number) => {
                    left_out = left_out.saturating_add(number.parse().unwrap_or(0));
                }
                None => lines.push(cut(line, self.entry_chars)),
            }
        }
        for message in messages {
            each_line(message, |line| lines.push(cut(&line, self.entry_chars)));
        }
        let mut from = lines.len().saturating_sub(self.entries);
        let chars = |lines: &[String]| {
            lines
                .iter()
                .map(|line| line.chars().count() + 1)
                .sum::<usize>()
        };
        while chars(lines.get(from..).unwrap_or_default()) > self.all_chars {
            from += 1;
        }
        left_out = left_out.saturating_add(from);
        let kept = lines.split_off(from.min(lines.len()));
        let first = (left_out > 0).then(|| format!("{LEFT_OUT}{left_out} lines before"));
        first.into_iter().chain(kept).collect::<Vec<_>>().join("\n")
    }

    /// A model's summary, at its length. Cleaned first: half of a secret is none that anybody recognises, nor is one with
    /// what was hidden in it made visible.
    #[must_use]
    pub fn of_model(&self, said: &str, scrub: &Scrub) -> String {
        let text = visible(&scrub.clean(said.trim()));
        text.chars().take(self.all_chars).collect()
    }
}

/// Who writes summaries where no model does.
pub const HOST: &str = "host";

/// What a model is told that is to write a summary.
const INSTRUCTIONS: &str = "You write down what came before in a conversation between a user, an assistant and its tools, so \
    that the assistant can go on with the work without having read it: what is wanted, what was found out, what was done \
    and what is still to be done, with names, numbers and addresses as they stood. Answer with the summary alone.";

/// What a model is asked that is to write a summary. What it is of stands between marks, whatever it is.
#[must_use]
pub fn asking(block: &str, (rolling, marks): (&Rolling, &Marks<'_>)) -> Prompt {
    let most = rolling.all_chars;
    let text = format!("At most {most} characters.\n\n{block}");
    Prompt {
        instructions: format!("{INSTRUCTIONS}\n\n{}", marks.preamble()),
        messages: vec![Message::user(text)],
        ..Prompt::default()
    }
}

/// What is to be summarised, as one text of bounded size: the end of it, where it is longer.
#[must_use]
pub fn transcript(before: &str, messages: &[Message], bytes_max: u64) -> String {
    let mut text = before.to_owned();
    for message in messages {
        each_line(message, |line| {
            text.push('\n');
            text.push_str(&line);
        });
    }
    let most = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.split_off(from.min(text.len()))
}

const LEFT_OUT: &str = "… ";

fn share(tokens: u64, percent: u32) -> u64 {
    tokens.saturating_mul(u64::from(percent)) / 100
}

fn each_line(message: &Message, mut see: impl FnMut(String)) {
    match message {
        Message::User { text, .. } => see(format!("user: {text}")),
        Message::Assistant(reply) => lines_of_reply(reply, see),
        Message::Tool { observation, .. } => {
            let how = if observation.ok {
                "came back"
            } else {
                "failed"
            };
            see(format!("{how}: {}", observation.text));
        }
    }
}

fn lines_of_reply(reply: &Reply, mut see: impl FnMut(String)) {
    if !reply.text.trim().is_empty() {
        see(format!("assistant: {}", reply.text));
    }
    for call in &reply.calls {
        let args = match &call.args {
            WishedArgs::Json(args) => args.to_string(),
            WishedArgs::Broken(text) => text.clone(),
        };
        see(format!("called {} {args}", call.tool));
    }
}

/// The beginning of a text, in one line.
fn cut(text: &str, chars: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= chars {
                line = line.chars().take(chars.saturating_sub(1)).collect();
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(text: &str) -> Message {
        Message::user(text)
    }

    fn summary(rolling: &Rolling, before: &str, texts: &[&str]) -> String {
        let messages: Vec<Message> = texts.iter().map(|text| user(text)).collect();
        rolling.summary(before, &messages)
    }

    #[test]
    fn lines_are_cut_and_only_the_newest_are_kept() {
        let rolling = Rolling {
            entries: 2,
            entry_chars: 10,
            ..Rolling::default()
        };
        assert_eq!(summary(&rolling, "", &["a"]), "user: a");
        assert_eq!(summary(&rolling, "", &["a\n b\tc"]), "user: a b…");
        assert_eq!(summary(&rolling, "", &["abcd"]), "user: abcd");
        assert_eq!(summary(&rolling, "", &["abcde"]), "user: abc…");
        let two = summary(&rolling, "user: a", &["b", "c"]);
        assert_eq!(two, "… 1 lines before\nuser: b\nuser: c");
        let three = summary(&rolling, &two, &["d"]);
        assert_eq!(three, "… 2 lines before\nuser: c\nuser: d");
    }

    #[test]
    fn shares_are_of_what_may_be_filled_unless_tokens_are_named() {
        // C-24, as sage has it: 120,000 less 12,000.
        let rolling = Rolling::default();
        assert_eq!(rolling.trigger(108_000), Some(91_800));
        assert_eq!(
            share(rolling.whole(108_000), rolling.target_percent),
            54_000
        );
        let named = Rolling {
            trigger_tokens: 8_500,
            ..Rolling::default()
        };
        assert_eq!(named.trigger(108_000), Some(8_500));
        assert_eq!(share(named.whole(108_000), named.target_percent), 5_000);
        assert_eq!(
            named.trigger(1_000),
            Some(850),
            "no more than there is room for"
        );
        let never = Rolling {
            trigger_percent: 0,
            ..named
        };
        assert_eq!(never.trigger(108_000), None);
    }

    #[test]
    fn a_summary_is_cleaned_before_it_is_cut() {
        let scrub = Scrub::default();
        scrub.known().learn(b"canary-7f3a9c-summed");
        let rolling = Rolling {
            all_chars: 16,
            ..Rolling::default()
        };
        for said in [
            "so canary-7f3a9c-summed",
            " so canary\u{200b}-7f3a9c-summed",
        ] {
            assert_eq!(rolling.of_model(said, &scrub), "so [REDACTED]");
        }
        let long = rolling.of_model("a summary\u{200b} that is long", &scrub);
        assert_eq!(long.chars().count(), 16);
        assert!(long.starts_with("a summary") && !long.contains('\u{200b}'));
    }

    #[test]
    fn a_count_that_a_model_made_up_is_no_more_than_a_count() {
        let most = format!("{LEFT_OUT}{} lines before", usize::MAX);
        let text = summary(&Rolling::default(), &format!("{most}\n{most}"), &["a"]);
        assert_eq!(text, format!("{most}\nuser: a"));
    }

    proptest! {
        #[test]
        fn no_summary_is_longer_than_it_may_be(
            texts in proptest::collection::vec("\\PC{0,300}", 0..60),
            before in "(\\PC{0,40}\n){0,30}",
        ) {
            let rolling = Rolling::default();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let text = summary(&rolling, &before, &texts);
            prop_assert!(text.lines().count() <= rolling.entries + 1);
            prop_assert!(text.chars().count() <= rolling.all_chars + 40);
            prop_assert!(text.lines().all(|line| line.chars().count() <= rolling.entry_chars));
        }
    }
}
