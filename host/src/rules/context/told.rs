//! Told: the context of a run as it grows — what came before it, the summary, and what everything takes of the window.
//!
//! It is a fold: of the earlier runs of the session, of the run's own messages, and of the records of what was folded
//! into the summary. The same records make the same prompt, byte for byte.

use std::collections::BTreeMap;

use super::super::agent::Agent;
use super::super::flow::attached::told;
use super::super::inbound::Marks;
use super::super::sanitise::visible;
use super::counting::Counting;
use super::rolling::Rolling;
use super::window::{
    Kept, Turn, Window, bytes_of, cut_message, each_fixed, keep, latest, length, over, tokens_of,
    turns,
};
use crate::words::attachment::Attachment;
use crate::words::error::Result;
use crate::words::event::{Cause, Compacted, Event, Record};
use crate::words::label::Label;
use crate::words::limits::CONTEXT_NOTICE_TOKENS;
use crate::words::message::{Card, Message, Observation, Prompt};

/// What a model reads where messages were left out.
const NOTICE: &str = "[Earlier messages are left out here: they no longer fit.]";
/// What it reads before a summary.
const SUMMARY: &str = "Summary of what came before, written down when it no longer fitted:";

/// The context of a run.
#[derive(Clone, Debug, Default)]
pub struct Context {
    earlier: Vec<Message>,
    label: Label,
    summary: Option<Summary>,
    counts: BTreeMap<Counting, Vec<u64>>,
    fixed: BTreeMap<Counting, Fixed>,
    /// Why whatever can be folded is to be, before the next prompt.
    asked: Option<Cause>,
    /// Whether it was folded for this turn, since its prompt was too long for a model.
    refused: bool,
}

/// What stands for the messages that came before.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    text: String,
    /// The same, and what tools had to say behind it.
    told: String,
    label: Label,
    /// So many messages it stands for.
    through: usize,
}

/// What the parts beside the messages take, for as long as they stay the same.
#[derive(Clone, Debug)]
struct Fixed {
    instructions: String,
    cards: Vec<Card>,
    tokens: u64,
}

/// What a model is to be told.
#[derive(Clone, Copy, Debug)]
pub struct Telling<'a> {
    /// Who it is.
    pub agent: &'a Agent,
    /// Its tools.
    pub cards: &'a [Card],
    /// Those of them that the system position names: the host's own, and ones whose words nobody untrusted wrote, as they
    /// were offered when the run began.
    pub named: &'a [String],
    /// What was said in this run.
    pub own: &'a [Message],
    /// What stands around untrusted text.
    pub marks: &'a Marks<'a>,
}

/// What is to be folded into the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// So many messages the new summary stands for.
    pub through: u64,
    /// Turns that are folded.
    pub turns: u64,
    /// What all of it takes before.
    pub tokens: u64,
    /// What of that is folded.
    pub folds: u64,
    /// Why.
    pub cause: Cause,
    /// The summary so far, and after it the messages that are folded.
    pub before: String,
    /// Likewise.
    pub messages: Vec<Message>,
}

impl Context {
    /// Of a run that comes after these messages of its session, which were under this influence.
    #[must_use]
    pub fn after(earlier: Vec<Message>, label: Label) -> Self {
        Self {
            earlier,
            label,
            ..Self::default()
        }
    }

    /// As the records of the run leave it.
    #[must_use]
    pub fn recall(mut self, records: &[Record]) -> Self {
        for record in records {
            if let Event::Compacted(compacted) = &record.event {
                self.folded(compacted);
            }
            if let Event::Replied { .. } = &record.event {
                self.replied();
            }
        }
        self
    }

    /// What came before is under the influence of this.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The messages of the session before this run.
    #[must_use]
    pub fn earlier(&self) -> &[Message] {
        &self.earlier
    }

    /// Somebody has asked for a summary: whatever can be folded is, before the next prompt.
    pub fn ask(&mut self) {
        self.asked = Some(Cause::Asked);
    }

    /// A model has said that the prompt was too long: likewise, once in a turn.
    pub fn refuse(&mut self) {
        self.asked = Some(Cause::Refused);
        self.refused = true;
    }

    /// A turn was answered.
    pub fn replied(&mut self) {
        self.refused = false;
    }

    /// Whether anything can be folded, where a prompt was too long, with these messages of the run.
    #[must_use]
    pub fn may_fold(&self, own: &[Message], rolling: &Rolling) -> bool {
        let messages: Vec<&Message> = self.earlier.iter().chain(own).collect();
        let start = self.summary.as_ref().map_or(0, |summary| summary.through);
        let latest = latest(&messages);
        let mut turns = turns(&messages, start.min(messages.len()));
        turns.retain(|turn| Some(turn.from) != latest);
        !self.refused && rolling.folded(&turns, (0, 0), |_| 1) > 0
    }

    /// What was folded, by its record.
    pub fn folded(&mut self, compacted: &Compacted) {
        self.label = self.label.join(&compacted.label);
        self.refused |= compacted.cause == Cause::Refused;
        self.summary = Some(Summary {
            text: compacted.summary.clone(),
            told: compacted.told(),
            label: compacted.label.clone(),
            through: usize::try_from(compacted.through).unwrap_or(usize::MAX),
        });
        self.fixed.clear();
    }

    /// The prompt: what of all this fits into the window.
    ///
    /// # Errors
    /// `OverBudget` where what must be told does not fit.
    pub fn prompt(&mut self, telling: Telling<'_>, window: &Window) -> Result<Prompt> {
        let all = Parts::of(self, telling);
        let kept = self.kept(&all, window)?;
        Ok(all.prompt(telling, kept))
    }

    /// The prompt, all of it, whether it fits or not.
    #[must_use]
    pub fn whole(&self, telling: Telling<'_>) -> Prompt {
        let all = Parts::of(self, telling);
        let kept = all.whole();
        all.prompt(telling, kept)
    }

    fn kept(&mut self, all: &Parts, window: &Window) -> Result<Kept> {
        let whole = all.whole();
        if all.bytes(whole, window.counting) <= window.room() {
            return Ok(whole);
        }
        let fixed = self.count_fixed(all, window.counting);
        let counts = self.count(all, window.counting);
        let cost = |at: usize| counts.get(at).copied().unwrap_or_default();
        let of_messages = (0..counts.len()).filter(|at| whole.has(*at)).map(cost);
        if of_messages.fold(fixed, u64::saturating_add) <= window.room() {
            return Ok(whole);
        }
        let needed = fixed.saturating_add(CONTEXT_NOTICE_TOKENS);
        let Some(room) = window.room().checked_sub(needed) else {
            let what = "what it is told before anything is said, its tools above all,";
            return Err(over(what, needed, window.room(), window));
        };
        keep((&all.messages(), all.start), (room, window), &cost)
    }

    /// What is to be folded before the next prompt, if anything is.
    #[must_use]
    pub fn due(
        &mut self,
        telling: Telling<'_>,
        (rolling, window): (&Rolling, &Window),
    ) -> Option<Due> {
        let cause = std::mem::take(&mut self.asked);
        let asked = cause.is_some();
        let all = Parts::of(self, telling);
        let messages = all.messages();
        let whole = all.whole();
        let trigger = rolling.trigger(window.room());
        let is_full = |tokens: u64| trigger.is_some_and(|trigger| tokens > trigger);
        if !asked && !is_full(all.bytes(whole, window.counting)) {
            return None;
        }
        let fixed = self.count_fixed(&all, window.counting);
        let counts = self.count(&all, window.counting);
        let cost = |at: usize| counts.get(at).copied().unwrap_or_default();
        let of_messages = (0..messages.len()).filter(|at| whole.has(*at)).map(cost);
        let tokens = of_messages.fold(fixed, u64::saturating_add);
        if !asked && !is_full(tokens) {
            return None;
        }
        let stays = whole.latest.map_or(0, cost).saturating_add(fixed);
        let mut turns = turns(&messages, all.start);
        turns.retain(|turn| Some(turn.from) != whole.latest);
        let target = if asked {
            0
        } else {
            rolling.whole(window.room())
        };
        let of_turn = |turn: &Turn| (turn.from..turn.to).map(cost).fold(0, u64::saturating_add);
        let folded = rolling.folded(&turns, (target, stays), of_turn);
        let through = turns.get(folded.checked_sub(1)?)?.to;
        let of_folded = turns.iter().take(folded).map(of_turn);
        let lead = all
            .lead
            .as_ref()
            .map_or(0, |lead| tokens_of(window.counting, lead));
        let folds = of_folded.fold(lead, u64::saturating_add);
        // As they were said: marks belong to a prompt.
        let said = self.earlier.iter().chain(telling.own);
        let folding = said.take(through).skip(all.start);
        Some(Due {
            through: number(through),
            turns: number(folded),
            tokens,
            folds,
            cause: cause.unwrap_or(Cause::Window),
            before: self
                .summary
                .as_ref()
                .map_or_else(String::new, |summary| summary.text.clone()),
            messages: folding.cloned().collect(),
        })
    }

    /// What the prompt would take now, and how much of it the summary.
    #[must_use]
    pub fn tokens(&mut self, telling: Telling<'_>, counting: Counting) -> (u64, u64) {
        let all = Parts::of(self, telling);
        let fixed = self.count_fixed(&all, counting);
        let counts = self.count(&all, counting);
        let whole = all.whole();
        let of_messages = (0..counts.len()).filter(|at| whole.has(*at));
        let of_messages = of_messages.filter_map(|at| counts.get(at).copied());
        let summary = all
            .lead
            .as_ref()
            .map_or(0, |lead| tokens_of(counting, lead));
        (of_messages.fold(fixed, u64::saturating_add), summary)
    }

    /// The tokens of each message; what was counted once is not counted again.
    fn count(&mut self, all: &Parts, counting: Counting) -> &[u64] {
        let counts = self.counts.entry(counting).or_default();
        for message in all.messages.iter().skip(counts.len()) {
            counts.push(tokens_of(counting, message));
        }
        counts
    }

    fn count_fixed(&mut self, all: &Parts, counting: Counting) -> u64 {
        if let Some(fixed) = self.fixed.get(&counting)
            && fixed.instructions == all.instructions
            && fixed.cards == all.cards
        {
            return fixed.tokens;
        }
        let mut tokens = all
            .lead
            .as_ref()
            .map_or(0, |lead| tokens_of(counting, lead));
        each_fixed(&all.instructions, &all.cards, |text| {
            tokens = tokens.saturating_add(counting.count(text));
        });
        let fixed = Fixed {
            instructions: all.instructions.clone(),
            cards: all.cards.clone(),
            tokens,
        };
        self.fixed.insert(counting, fixed);
        tokens
    }
}

/// Says of each attachment that it is there, or was; one that is text is told, between marks where they are asked for.
/// What is left of them is for the codecs. Whether anything was marked.
fn tell_attached(
    (marks, has_tools): (&Marks<'_>, bool),
    text: &mut String,
    attached: &mut Vec<Attachment>,
) -> bool {
    let mut marked = false;
    for one in attached.iter() {
        if one.content.bytes().is_none() {
            text.push_str(&format!("\n\n[Shown before, and no more: {one}]"));
            continue;
        }
        let given = told(one).filter(|_| has_tools);
        let given = given.map_or(String::new(), |given| format!("; {given}"));
        text.push_str(&format!("\n\n[Attached: {one}{given}]"));
        if let Some(said) = one.text() {
            let observation = Observation {
                text: marks.treated(visible(said), &one.label),
                ok: true,
                label: one.label.clone(),
                flags: Vec::new(),
            };
            let block = marks.around(&observation);
            marked |= block.is_some();
            text.push('\n');
            text.push_str(block.as_ref().unwrap_or(&observation.text));
        }
    }
    attached.retain(|one| one.content.bytes().is_some());
    marked
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// All parts of a prompt, before any is left out.
struct Parts {
    instructions: String,
    steady: usize,
    cards: Vec<Card>,
    lead: Option<Message>,
    messages: Vec<Message>,
    /// The first message that the summary does not stand for.
    start: usize,
}

impl Parts {
    fn of(context: &Context, telling: Telling<'_>) -> Self {
        let mut marked = false;
        let mut show = |message: &Message| {
            let mut message = message.clone();
            match &mut message {
                Message::Tool { observation, .. } => {
                    if let Some(text) = telling.marks.around(observation) {
                        observation.text = text;
                        marked = true;
                    }
                }
                Message::User { text, attached } => {
                    marked |=
                        tell_attached((telling.marks, !telling.cards.is_empty()), text, attached);
                }
                Message::Assistant(_) => {}
            }
            message
        };
        let messages = context.earlier.iter().chain(telling.own);
        let messages: Vec<Message> = messages.map(&mut show).collect();
        let lead = context.summary.as_ref().map(|summary| {
            let observation = Observation {
                text: summary.told.clone(),
                ok: true,
                label: summary.label.clone(),
                flags: Vec::new(),
            };
            let text = telling.marks.around(&observation);
            marked |= text.is_some();
            let text = text.unwrap_or(observation.text);
            Message::user(format!("{SUMMARY}\n{text}"))
        });
        let mut instructions = super::instructions(telling);
        // What the marks mean comes with the first of them, behind what was told before.
        let steady = if marked { instructions.len() } else { 0 };
        if marked {
            instructions.push_str("\n\n");
            instructions.push_str(&telling.marks.preamble());
        }
        let start = context
            .summary
            .as_ref()
            .map_or(0, |summary| summary.through);
        Self {
            instructions,
            steady,
            cards: telling.cards.to_vec(),
            lead,
            start: start.min(messages.len()),
            messages,
        }
    }

    fn messages(&self) -> Vec<&Message> {
        self.messages.iter().collect()
    }

    /// All that the summary does not stand for, and the latest words of the user.
    fn whole(&self) -> Kept {
        Kept {
            from: self.start,
            latest: latest(&self.messages()),
            cut: None,
        }
    }

    /// Never less than the tokens.
    fn bytes(&self, kept: Kept, counting: Counting) -> u64 {
        let mut bytes = self
            .lead
            .as_ref()
            .map_or(0, |lead| bytes_of(counting, lead));
        each_fixed(&self.instructions, &self.cards, |text| {
            bytes = bytes.saturating_add(length(text));
        });
        let messages = self.messages.iter().enumerate();
        let told = messages.filter(|(at, _)| kept.has(*at));
        told.map(|(_, message)| bytes_of(counting, message))
            .fold(bytes, u64::saturating_add)
    }

    fn prompt(self, telling: Telling<'_>, kept: Kept) -> Prompt {
        let cut = kept.from > self.start;
        let notice = cut.then(|| Message::user(NOTICE));
        let mut messages: Vec<Message> = self.lead.into_iter().chain(notice).collect();
        let mut replies_before = 0;
        for (at, mut message) in self.messages.into_iter().enumerate() {
            if kept.has(at) {
                if let (Some(most), Some(true)) = (kept.cut, kept.latest.map(|latest| latest == at))
                {
                    cut_message(&mut message, most);
                }
                messages.push(message);
            } else if matches!(message, Message::Assistant(_)) {
                replies_before += 1;
            }
        }
        Prompt {
            instructions: self.instructions,
            steady: self.steady,
            cards: telling.cards.to_vec(),
            messages,
            replies_before,
            shape: None,
            answer_only: false,
            most: 0,
        }
    }
}
