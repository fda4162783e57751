//! Events: the closed set of facts that a run leaves behind, in the past tense.
//!
//! Every surface streams them, the journal stores them, and state is folded from them. Content that
//! is large stands in an event by its digest. There is never a secret in one.

pub mod asked;
pub mod attempted;
mod labels;
mod remade;
pub mod session;
mod sight;
mod step;
mod surface;
pub mod texts;
mod weight;

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::asked::CallAsked;
pub use self::attempted::{Attempted, Onward, Tried, failed_last};
pub use self::remade::Remade;
pub use self::session::{Cause, Compacted, InSession, Noted};
pub use self::sight::{Glimpse, Sight};
pub use self::step::{Doing, Step};
pub use self::surface::Surface;
use super::attachment::Attachment;
use super::budget::Over;
use super::error::{Code, Issue};
use super::id::{Digest, Place, QuestionId, RunId, Seq, ToolName, shown};
use super::label::Label;
use super::message::{Calling, Observation, Reply, Usage};

/// A fact with its place and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The run it belongs to.
    pub run: RunId,
    /// Its place in the run, from 0 without gaps.
    pub seq: Seq,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The record that caused it; its own place where nothing did.
    pub parent: Seq,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    Started(Started),
    /// A run that began took over what another one holds.
    Brought(Brought),
    /// A provider was asked.
    Prompted {
        /// From 1.
        turn: u32,
        /// Most turns that the run may take.
        turns_max: u32,
        /// The model that was asked.
        model: String,
        /// Names of the tools it was told of.
        tools: Vec<String>,
        /// Of what was sent (`rules/prompted.rs`); none in records from before it was kept, and in those of another host,
        /// whose prompts would be others here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
        /// The tier that the tools of the turn before asked for; empty where they did not decide.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tier: String,
    },
    /// A model of the run gave no reply, or was not asked.
    Attempted(Attempted),
    /// A provider answered.
    Replied {
        /// From 1.
        turn: u32,
        /// The whole answer.
        reply: Reply,
        /// What influenced it: everything in its context.
        label: Label,
    },
    /// The gate judged an effect.
    Judged(Judged),
    /// An effect has ended, well or badly. A script's call that was turned down has an end as well:
    /// the order of these records is the order of the script's answers.
    Finished(Finished),
    /// A script has begun in a guest of its own.
    Scripted(Scripted),
    /// The time that a script wanted to wait is over.
    Rested {
        /// The wait, by its number among the script's requests.
        place: Place,
    },
    /// The run is left until somebody answers; nothing of it is in memory.
    Paused {
        /// What is asked.
        questions: Vec<QuestionId>,
    },
    /// Somebody has answered a question.
    Answered {
        /// Which.
        question: QuestionId,
        /// What they said.
        answer: Answer,
        /// Why not, in their words: whoever wished is told so.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Nobody has answered a question in time. It counts as answered with no, whatever the clock says later.
    Expired {
        /// Which.
        question: QuestionId,
    },
    /// A run that was left goes on.
    Resumed {
        /// With which secrets a collector is told of it from here on, as [`Started::traced`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        traced: Vec<TracedWith>,
    },
    /// A budget of the run is used up, and the run goes on; said once of each.
    Overspent(Over),
    /// A model was given the observation of one of its calls.
    Observed {
        /// The model's id of the call.
        call: String,
        /// The tool as the model named it.
        tool: String,
        /// What it reads.
        observation: Observation,
        /// Why the call failed, where it did: what a run that goes on counts by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<Code>,
        /// The handle under which the whole outcome is kept, where only a part of it is read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// Older turns were folded into a summary.
    Compacted(Box<Compacted>),
    /// A run ended; the last event of every run.
    Stopped(Stopped),
}

impl Event {
    /// The event's word, as in its JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Brought(_) => "brought",
            Self::Prompted { .. } => "prompted",
            Self::Attempted(_) => "attempted",
            Self::Replied { .. } => "replied",
            Self::Judged(_) => "judged",
            Self::Finished(_) => "finished",
            Self::Scripted(_) => "scripted",
            Self::Rested { .. } => "rested",
            Self::Paused { .. } => "paused",
            Self::Answered { .. } => "answered",
            Self::Expired { .. } => "expired",
            Self::Resumed { .. } => "resumed",
            Self::Overspent(_) => "overspent",
            Self::Observed { .. } => "observed",
            Self::Compacted(_) => "compacted",
            Self::Stopped(_) => "stopped",
        }
    }

    /// The content that the event carries, where it may be large.
    pub fn content_mut(&mut self) -> Option<&mut Content> {
        let end = match self {
            Self::Judged(judged) => return Some(&mut judged.content),
            Self::Brought(brought) => return Some(&mut brought.content),
            Self::Finished(finished) => &mut finished.end,
            Self::Stopped(stopped) => &mut stopped.end,
            Self::Started(_)
            | Self::Prompted { .. }
            | Self::Attempted(_)
            | Self::Replied { .. }
            | Self::Scripted(_)
            | Self::Rested { .. }
            | Self::Paused { .. }
            | Self::Answered { .. }
            | Self::Expired { .. }
            | Self::Resumed { .. }
            | Self::Overspent(_)
            | Self::Compacted(_)
            | Self::Observed { .. } => return None,
        };
        match end {
            End::Done { content } => Some(content),
            End::Failed { .. } => None,
        }
    }
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The way in: `cli`, `http`, …
    pub surface: Surface,
    /// The agent's name, or the tool's for a single call.
    pub subject: String,
    /// What was wished for, in the user's words; empty for a single call.
    pub goal: String,
    /// What influenced the goal.
    pub label: Label,
    /// What this run alone asked for; the agent's own where it says nothing.
    #[serde(default, skip_serializing_if = "Narrowed::is_nothing")]
    pub narrowed: Narrowed,
    /// How long its questions may be answered, in milliseconds; for ever where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_expires_ms: Option<u64>,
    /// The session that it belongs to, and its place in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<InSession>>,
    /// The run that it began as a copy of; none where it began anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
    /// What its user gave it to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attachment>,
    /// The secrets with which a collector is told of it. Whoever goes on with a run may tell another one, and says so there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<TracedWith>,
}

/// A secret that stands in each request that tells a collector of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedWith {
    /// Where the request goes.
    pub to: String,
    /// The header in which it stands.
    pub header: String,
    /// Its name.
    pub secret: String,
}

impl Started {
    /// What influences whoever is told of all this.
    #[must_use]
    pub fn influence(&self) -> Label {
        let labels = self.attached.iter().map(|one| &one.label);
        labels.fold(self.label.clone(), |all, label| all.join(label))
    }
}

/// Where a run comes from that began as a copy of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The other run.
    pub run: RunId,
    /// The last of its turns that was copied.
    pub turn: u32,
}

/// What a run that began took over from another: it stands here in full, so that this run needs no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brought {
    /// The handle's name in this run.
    pub name: String,
    /// The other run.
    pub from: RunId,
    /// The handle's name there.
    pub handle: String,
    /// The tool whose outcome it is.
    pub tool: ToolName,
    /// What it holds.
    pub content: Content,
    /// What influenced it.
    pub label: Label,
}

/// What a run asks for beside its agent's definition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Narrowed {
    /// Only these of the agent's tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// These models instead of the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// This way of calling tools instead of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling: Option<Calling>,
    /// This JSON Schema of the answer instead of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Values that the user vouches for, beside the words of the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vouch: Vec<String>,
    /// No more tokens than this; 0 where it asks for no less than the agent may have.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_max: u64,
    /// No more millionths of the currency than this; likewise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros_max: u64,
    /// What the client of one call has said of it.
    #[serde(default, skip_serializing_if = "CallAsked::is_nothing")]
    pub call: CallAsked,
}

impl Narrowed {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The five effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A tool runs.
    Call,
    /// A request leaves.
    Fetch,
    /// A file is read or written.
    File,
    /// Something outlives the run.
    Keep,
    /// Text reaches a person or client.
    Show,
}

/// A judgement of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Which of the five effects.
    pub effect: EffectKind,
    /// What it is about: a tool, URL, path, key.
    pub subject: String,
    /// Of a call: the component that it is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Digest>,
    /// Who wished: `model`, `script`, `client`, `schedule`, or a tool's name.
    pub origin: String,
    /// Where in the run it was wished; empty for what cannot be left and taken up again.
    #[serde(default, skip_serializing_if = "Place::is_empty")]
    pub place: Place,
    /// What is judged, in full or by digest.
    pub content: Content,
    /// What influenced the wish.
    pub label: Label,
    /// Of a sink: each value that steers, and why it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<Weighed>,
    /// Of a call: the texts of attached files that steer it, by their names. Nothing else of a file is kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// The decision.
    pub verdict: Verdict,
}

/// One value that steers a sink.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// The argument, by its path.
    pub argument: String,
    /// The value, cut, with hidden characters shown.
    pub value: String,
    /// Its kind.
    pub kind: String,
    /// Why it may steer; empty where nobody is a witness.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub witness: String,
}

/// The gate's decision, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It may happen.
    Allow {
        /// The rule, and the policy line if one made it.
        rule: String,
    },
    /// It may not.
    Deny(Denial),
    /// A person has to say.
    Ask(Question),
}

impl Verdict {
    /// The verdict's word, as in its JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Deny(_) => "deny",
            Self::Ask(_) => "ask",
        }
    }

    /// Why, in one sentence.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow { rule } => rule,
            Self::Deny(denial) => &denial.reason,
            Self::Ask(question) => &question.text,
        }
    }
}

/// What a person is asked. It is bound to one wish in one run — tool, component, arguments and place — and to why
/// it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// The wish alone, whatever is asked about it.
    #[serde(default = "no_wish")]
    pub wish: QuestionId,
    /// What its name was made with beside what is asked: whoever has only the name cannot try what that might be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<Digest>,
    /// The rule, and the policy line that made it.
    pub rule: String,
    /// One sentence by the host, hidden characters shown.
    pub text: String,
    /// Why it is asked, a sentence for each value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What is known of the records whose ids it is about, for persons: a model may not have been told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
    /// The values that `always` answers for, for the rest of the run; none where only this call is asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<QuestionId>,
    /// Lines that would make it the last of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// When its time is over, in milliseconds since 1970; never where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// What the tool says that it does (G-47); nothing for what is no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Box<Classes>>,
}

/// What a tool says that it does, in the words of its manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// To the world.
    pub effect: String,
    /// How risky that is.
    pub risk: String,
}

/// Of questions that were recorded without it: no wish has this name.
fn no_wish() -> QuestionId {
    QuestionId::of(&[])
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may happen, this once.
    Allow,
    /// It may happen, and its values may steer for the rest of the run.
    Always,
    /// It may not.
    Deny,
}

/// Why not, in words fit for the model, and what would change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The rule's short name.
    pub rule: String,
    /// One sentence: what, and why not.
    pub reason: String,
    /// The policy lines that would allow it, for the operator; empty where none would.
    pub allow: Vec<String>,
}

/// How an allowed effect ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The judgement it belongs to.
    pub of: Seq,
    /// Success, or the failure.
    #[serde(flatten)]
    pub end: End,
    /// What influenced the outcome.
    pub label: Label,
    /// What whoever wished was told in place of the content, under no influence but its own: a handle, or a scalar
    /// that left one. Nothing where it was told the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Value>,
    /// Of a call that steps of policy have changed: what they have made of it, as it was judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remade: Option<Box<Remade>>,
    /// Records of a service in it that somebody had a hand in, by their ids there: what influenced them when they were
    /// written, beside what this call has read itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub touched: BTreeMap<String, Label>,
    /// Of a call that was made: what its tool has read for it. Records from before have none, and nobody knows what stands
    /// behind what they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
    /// Of an effect that may have filled a mount: how much of its quota the run had used by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrote: Option<Wrote>,
    /// What it took.
    pub spent: Spent,
}

/// What a tool has read for a call, beside what it was told with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Everything: the places that were read, whoever had a hand in what is there, and what was waited for in vain.
    pub label: Label,
    /// The places alone: mounts, hosts, shelves of notes, the server that performs the call.
    pub at: Label,
}

impl Read {
    /// A place, and nobody who had a hand in what is there.
    #[must_use]
    pub fn at(place: Label) -> Self {
        Self {
            label: place.clone(),
            at: place,
        }
    }

    /// What has this label, read at those of these places that stand in it: where nothing was read is no place.
    #[must_use]
    pub fn of(label: Label, places: &Label) -> Self {
        let at = places.without(&places.without(&label));
        Self { label, at }
    }

    /// Of both: a label never shrinks.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            label: self.label.join(&other.label),
            at: self.at.join(&other.at),
        }
    }

    /// Whoever had a hand in what it has read, beside the places themselves.
    #[must_use]
    pub fn hands(&self) -> Label {
        self.label.without(&self.at)
    }

    /// And all this, wherever it was read.
    pub fn learn(&mut self, label: &Label) {
        self.label = self.label.join(label);
    }
}

/// What a run has written into a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote {
    /// The mount.
    pub mount: String,
    /// Bytes, as its quota counts them.
    pub bytes: u64,
}

/// Success with its content, or a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// It worked.
    Done {
        /// What came of it.
        content: Content,
    },
    /// It did not.
    Failed {
        /// Closed code.
        code: Code,
        /// One sentence.
        message: String,
        /// Place by place, where arguments were wrong.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        issues: Vec<Issue>,
        /// Whether the same may succeed later.
        #[serde(default, skip_serializing_if = "is_false")]
        retryable: bool,
    },
}

/// How a script began: all that its guest was given beside its source. The same again, with the same
/// answers, leads to the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scripted {
    /// The engine's component.
    pub engine: Digest,
    /// What its random numbers come from.
    pub seed: u64,
    /// What `Date` said first, in milliseconds since 1970.
    pub now: u64,
    /// What the engine bounds by itself.
    pub bounds: ScriptBounds,
}

/// Bounds that a script's engine keeps by itself, so that it can say what was passed and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptBounds {
    /// Calls of tools.
    pub calls: u32,
    /// Timers.
    pub timers: u32,
    /// Polls of the interpreter, one for some ten thousand steps.
    pub polls: u64,
    /// Heap of the interpreter.
    pub heap_bytes: u32,
    /// The script's value, or the arguments of one call, as JSON text.
    pub json_bytes: u32,
    /// Log lines of one step.
    pub log_bytes: u32,
}

/// Content of an event: small values stand in full, large ones by digest, bytes as their size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Nothing to keep.
    Empty,
    /// The value itself.
    Inline(Value),
    /// JSON text that is stored once under its digest.
    Stored {
        /// Name of the stored text.
        digest: Digest,
        /// Its length.
        bytes: usize,
    },
    /// Bytes that are not kept, such as a file's.
    Size {
        /// How many there were.
        bytes: usize,
    },
}

impl Content {
    /// For a person: cut, with hidden characters shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Inline(value) => shown(&value.to_string()),
            Self::Empty => "nothing".to_owned(),
            Self::Stored { bytes, .. } | Self::Size { bytes } => format!("{bytes} bytes"),
        }
    }
}

/// What a guest took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Wall time in microseconds.
    pub us: u64,
    /// Units of fuel.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fuel: u64,
    /// Processor time of its own guest in ticks of a millisecond; whatever is shorter than a tick is often none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_ms: u64,
    /// Highest sum of its memories, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_bytes: u64,
    /// How often its guest called the host, whatever for: clock, log, random numbers, more memory, every part of an effect.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub host_calls: u64,
    /// Inner calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Tokens of a model that was asked about what is held.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// Whether nothing was done: the same had been done before, and this is what came of it (U-18).
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeated: bool,
    /// Whether a step of policy had a hand in it: then it is not the tool's own outcome for its arguments, and vouches for
    /// nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub altered: bool,
}

impl Spent {
    /// The time since `began`, and nothing else.
    #[must_use]
    pub fn since(began: Instant) -> Self {
        let us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        Self {
            us,
            ..Self::default()
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// Success, or why not.
    #[serde(flatten)]
    pub end: End,
    /// Turns taken.
    pub turns: u32,
    /// Tokens of all turns.
    pub usage: Usage,
    /// The bound that ended it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// A bound of a run that can end it (U-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The model was asked too often.
    TurnLimit,
    /// It wished for too many calls.
    CallLimit,
    /// It made too many malformed calls.
    CorrectionLimit,
    /// Nothing that it called worked, turn after turn.
    FailureLimit,
    /// It did the same again and again, and the same came of it.
    LoopGuard,
    /// It called nothing but what is not there, also when it was told to answer in plain text.
    NoSuchTools,
    /// The run took too long.
    RunTimeout,
    /// Its models used, or would have used, too many tokens.
    TokenBudget,
    /// They cost too much, or nobody knows how much.
    CostBudget,
}

impl Limit {
    /// Its word, as in its JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::TurnLimit => "turn_limit",
            Self::CallLimit => "call_limit",
            Self::CorrectionLimit => "correction_limit",
            Self::FailureLimit => "failure_limit",
            Self::LoopGuard => "loop_guard",
            Self::NoSuchTools => "no_such_tools",
            Self::RunTimeout => "run_timeout",
            Self::TokenBudget => "token_budget",
            Self::CostBudget => "cost_budget",
        }
    }
}

#[cfg(test)]
mod tests;
