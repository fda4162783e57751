//! The caller: who wishes, on whose behalf, with what reach, under what influence.

mod cpu_time;
mod reserved;
mod room;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

pub use self::cpu_time::CpuTime;
pub use self::reserved::Reserved;
use self::room::Till;
pub use self::room::{Room, Taken};
use super::budget::Ahead;
use super::chain::{Chain, Terms};
use super::flow::handles::{Handles, Naming};
use super::flow::ledger::Ledger;
use super::flow::lines::{Flows, Holding};
use super::grant::{Grant, Pattern};
use super::manifest::Retry;
use super::questions::Questions;
use super::server::Sampling;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{CallAsked, Surface};
use crate::words::id::{Place, QuestionId, RunId, Seq, ToolName};
use crate::words::label::{Label, Source};
use crate::words::limits::CONSULTS;
use crate::words::lock::lock;
use crate::words::message::{Cost, Usage};

/// Who had the wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A person or program at a surface.
    Client,
    /// A model, in a turn.
    Model,
    /// The host itself, on behalf of a run: asking its model provider.
    Host,
    /// A script that a model or a person wrote.
    Script,
    /// A tool, in the middle of its own call.
    Tool(ToolName),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => out.write_str("client"),
            Self::Model => out.write_str("model"),
            Self::Host => out.write_str("host"),
            Self::Script => out.write_str("script"),
            Self::Tool(name) => name.fmt(out),
        }
    }
}

/// Who wishes, and within what bounds. Cheap to clone: one for every request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The run this belongs to.
    pub run: RunId,
    /// The record that led here.
    pub parent: Seq,
    /// Where in the run it is wished; the same when the run is taken up again.
    pub place: Place,
    /// What the run knows: answers, values that may steer.
    pub known: Known,
    /// The way in.
    pub surface: Surface,
    /// Who had the wish.
    pub origin: Origin,
    /// Tools that may be called at all; an agent's tools, or a tool's granted calls.
    pub reach: Arc<[Pattern]>,
    /// What may be touched beside tools.
    pub grant: Arc<Grant>,
    /// Everything that influenced the wish.
    pub label: Label,
    /// 0 for a call from outside.
    pub depth: usize,
    /// When it must be over.
    pub deadline: Deadline,
    /// What may still be spent.
    pub budget: Arc<Budget>,
}

impl Caller {
    /// Somebody outside of every run, of whom nothing is known: the host itself, or a person at the command line. They reach
    /// what the grant says, and call nothing.
    #[must_use]
    pub fn apart(run: RunId, origin: Origin, (grant, deadline): (Arc<Grant>, Deadline)) -> Self {
        Self {
            run,
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface: Surface::Cli,
            origin,
            reach: Arc::new([]),
            grant,
            label: Label::of(Source::user()),
            depth: 0,
            deadline,
            budget: Budget::of_calls(0),
        }
    }

    /// Whether the flows of this wish are judged.
    #[must_use]
    pub fn judging(&self, flows: &Flows) -> Judging {
        self.judging_over(flows, &Label::default())
    }

    /// The same of a wish in which handles stand: what they hold is in it, though nobody has read that.
    #[must_use]
    pub fn judging_over(&self, flows: &Flows, held: &Label) -> Judging {
        let is_tainted =
            |label| flows.classes.is_tainted(label) || flows.classes.has_strangers_scalar(label);
        match self.known.how.mode {
            Judging::Tainted if is_tainted(&self.label) || is_tainted(held) => Judging::Enforce,
            Judging::Tainted => Judging::Off,
            mode @ (Judging::Off | Judging::Shadow | Judging::Enforce) => mode,
        }
    }
}

/// Whose words a run acts upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Led {
    /// A model's: what it reads, it may obey.
    ByModel,
    /// A person's or program's own: a script of theirs does what it says, whatever it reads.
    #[default]
    ByClient,
}

/// How a run is led and judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Whose words it acts upon.
    pub led: Led,
    /// Whether flows are judged.
    pub mode: Judging,
    /// Which outcomes are held; never `auto`.
    pub hold: Holding,
}

/// What the call is for that a wish is part of: what its guest may do on its own depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bearing {
    /// Its tool says that it only looks. So it is of what is no part of a call.
    #[default]
    Looks,
    /// It acts.
    Acts {
        /// What was judged with it bears this label: what it began with, and the files that it names.
        judged: Label,
        /// What its guest has read since bears this one.
        read: Label,
    },
}

impl Bearing {
    /// The same, once its guest has read what bears this label.
    #[must_use]
    pub fn after(self, read: Label) -> Self {
        match self {
            Self::Looks => Self::Looks,
            Self::Acts { judged, .. } => Self::Acts { judged, read },
        }
    }
}

/// What a run knows when one of its wishes is judged. Cheap to clone: its ledger is one for the whole run.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What persons were asked in this run, and have answered.
    pub questions: Arc<Questions>,
    /// How long questions of this run may be answered; for ever where it says nothing.
    pub ask_expires_ms: Option<u64>,
    /// Which values may steer.
    ledger: Arc<Mutex<Ledger>>,
    /// What is held back.
    handles: Arc<Mutex<Handles>>,
    /// How the run is led and judged.
    pub how: How,
    /// What the call is for that the wish is part of.
    pub bearing: Bearing,
    /// Whom it may ask about what is held.
    pub consults: Arc<Consults>,
    /// What its guests have left of its processor time.
    pub cpu_time: CpuTime,
    /// What it has learned of its providers.
    chain: Arc<Mutex<Chain>>,
    /// What whoever calls says of this one call.
    pub asked: Invocation,
    /// Of one of several calls of a model that are made at once, the number that is kept for what it may hold. All of them
    /// are judged before one begins.
    pub beside: Naming,
}

/// What a client says of one call, beside what it is: before the manifest, and never past policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The client's own name for the call: sent again under it, it happens no second time (A-18b).
    pub key: Option<Arc<str>>,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// How often it is made again after a failure that may pass.
    pub retry: Option<Retry>,
    /// Whether it is confirmed, where the tool asks for that.
    pub confirmed: bool,
    /// Whose name for the call it is: the same one of another client is another (A-18b). Empty for the person at this
    /// machine.
    pub client: Arc<str>,
}

impl Invocation {
    /// As it is kept, for a call that goes on later.
    #[must_use]
    pub fn said(&self) -> CallAsked {
        CallAsked {
            key: self.key.as_deref().map(str::to_owned),
            timeout_ms: self.timeout_ms,
            again: self.retry.map(|retry| (retry.retries, retry.delay_ms)),
            confirmed: self.confirmed,
            client: match self.key {
                Some(_) => self.client.to_string(),
                None => String::new(),
            },
        }
    }
}

impl From<CallAsked> for Invocation {
    fn from(said: CallAsked) -> Self {
        Self {
            key: said.key.map(Arc::from),
            timeout_ms: said.timeout_ms,
            retry: said
                .again
                .map(|(retries, delay_ms)| Retry::linear(retries, delay_ms)),
            confirmed: said.confirmed,
            client: said.client.into(),
        }
    }
}

/// The models that a run may ask about what is held, and how often it has.
#[derive(Debug, Default)]
pub struct Consults {
    models: Vec<String>,
    asked: AtomicU32,
    /// What it has used of them beside the replies of its turns, and what it has room for.
    till: Mutex<Till>,
    /// Of each server that may ask a model: how often it has, and how many tokens that was.
    samples: Mutex<BTreeMap<String, (u32, u64)>>,
}

impl Consults {
    /// Of a run with these models, by name, first choice first, and what its earlier lives have asked and spent.
    #[must_use]
    pub fn of(models: Vec<String>, (asked, usage): (u32, Usage)) -> Arc<Self> {
        Arc::new(Self {
            models,
            asked: AtomicU32::new(asked),
            till: Mutex::new(Till::after(usage)),
            samples: Mutex::default(),
        })
    }

    /// Takes one wish of a server for a model, before it is asked, with as many tokens as it may come to: what it reads, and
    /// an answer that has no more than the server wants (as many as are left where it says 0). Many at once see each only
    /// what the others leave, of what the server may and of the run's own budget. `price` says what so many tokens, read and
    /// written, cost at most.
    ///
    /// # Errors
    /// `OverBudget` where it has used all that it may in this run, and where the run has no room for it.
    pub fn admit_sample(
        self: &Arc<Self>,
        server: &str,
        may: &Sampling,
        (reads, wants): (u64, u64),
        price: impl FnOnce(u64, u64) -> Cost,
    ) -> Result<Reserved> {
        let mut samples = lock(&self.samples);
        let (asked, used) = samples.entry(server.to_owned()).or_default();
        let left = may.tokens.saturating_sub(*used).saturating_sub(reads);
        if *asked >= may.requests || left == 0 {
            let what = format!(
                "the server `{server}` has used what it may of a model in this run ({} requests, {} tokens)",
                may.requests, may.tokens
            );
            return Err(Error::new(Code::OverBudget, what).hint(
                "`sampling` of `[mcp.NAME]` says how much that is: `tokens`, read and written, and `requests`",
            ));
        }
        let writes = match wants {
            0 => left,
            wants => wants.min(left),
        };
        let most = Usage {
            input_tokens: reads,
            output_tokens: writes,
            cost: price(reads, writes),
            ..Usage::default()
        };
        let taken = self.take(Ahead {
            tokens: reads.saturating_add(writes),
            micros: most.cost.micros,
            turns: 0,
        })?;
        *asked = asked.saturating_add(1);
        *used = used.saturating_add(reads).saturating_add(writes);
        Ok(Reserved::new(taken, server, most))
    }

    /// What a server has used of a model, in place of what was taken for it.
    fn settle_sample(&self, server: &str, taken: u64, used_in_fact: u64) {
        let mut samples = lock(&self.samples);
        let (_, used) = samples.entry(server.to_owned()).or_default();
        *used = used.saturating_sub(taken).saturating_add(used_in_fact);
    }

    /// Adds tokens that a server has used in an earlier life of the run.
    pub fn had_sampled(&self, server: &str, tokens: u64) {
        self.settle_sample(server, 0, tokens);
    }

    /// Adds a wish of a server that an earlier life of the run has seen to.
    pub fn has_sampled(&self, server: &str) {
        let mut samples = lock(&self.samples);
        let (asked, _) = samples.entry(server.to_owned()).or_default();
        *asked = asked.saturating_add(1);
    }

    /// The models by name.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// Takes one question; before it is asked, so that many at once cannot ask too many.
    ///
    /// # Errors
    /// `BadInput` where there is no model, `OverBudget` where all questions were asked.
    pub fn admit(&self) -> Result<()> {
        if self.models.is_empty() {
            let what = "there is no model to consult: `[scripts]` in `lazaret.toml` names none; \
                        write there `models = [\"NAME\"]`";
            return Err(Error::bad_input(what));
        }
        let more = |asked: u32| asked.checked_add(1).filter(|asked| *asked <= CONSULTS);
        let taken = self
            .asked
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.map(|_| ()).map_err(|_| {
            let what = format!("a run consults its model {CONSULTS} times, and has done so");
            Error::new(Code::OverBudget, what)
        })
    }

    /// Adds what the run has used of its models beside the replies of its turns: questions, summaries, attempts that failed.
    pub fn spend(&self, usage: Usage) {
        lock(&self.till).used.add(usage);
    }

    /// All of that.
    #[must_use]
    pub fn usage(&self) -> Usage {
        lock(&self.till).used
    }
}

/// Whether the flows of a run are judged: [`Mode`](super::flow::lines::Mode), as it is for this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judging {
    /// They are not.
    #[default]
    Off,
    /// They are as soon as somebody untrusted had influence: nothing that is granted brings that about, but a
    /// piped goal does, and so does what an earlier run has written.
    Tainted,
    /// They are, and nobody is asked.
    Shadow,
    /// They are.
    Enforce,
}

impl Known {
    /// Of a run that begins, or goes on.
    #[must_use]
    pub fn new(questions: Questions, (ledger, handles): (Ledger, Handles), how: How) -> Self {
        Self {
            questions: Arc::new(questions),
            ask_expires_ms: None,
            ledger: Arc::new(Mutex::new(ledger)),
            handles: Arc::new(Mutex::new(handles)),
            how,
            bearing: Bearing::Looks,
            consults: Arc::default(),
            cpu_time: CpuTime::default(),
            chain: Arc::default(),
            asked: Invocation::default(),
            beside: Naming::Next,
        }
    }

    /// The same, with models that are asked on these terms.
    #[must_use]
    pub fn on(self, terms: Terms) -> Self {
        Self {
            chain: Arc::new(Mutex::new(Chain::on(terms))),
            ..self
        }
    }

    /// When the time of a question is over that is asked now: if it was asked before, that was its beginning.
    #[must_use]
    pub fn until(&self, id: &QuestionId, now: u64) -> Option<u64> {
        let fresh = || self.ask_expires_ms.map(|ms| now.saturating_add(ms));
        self.questions.until(id).unwrap_or_else(fresh)
    }

    /// The ledger, for as long as one wish is weighed.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// What is held back.
    pub fn handles(&self) -> MutexGuard<'_, Handles> {
        lock(&self.handles)
    }

    /// What the run has learned of its providers, for as long as one step is decided.
    pub fn chain(&self) -> MutexGuard<'_, Chain> {
        lock(&self.chain)
    }

    /// The same of a call of which its client says this.
    #[must_use]
    pub fn asking(self, asked: Invocation) -> Self {
        Self { asked, ..self }
    }

    /// What a ward's call knows: it is a part of the call that it is put around.
    #[must_use]
    pub fn around(&self) -> Self {
        Self {
            cpu_time: self.cpu_time.overdrawn(),
            ..self.inside(Bearing::Looks)
        }
    }

    /// What a tool's own wishes know: nobody was asked about them.
    #[must_use]
    pub fn inside(&self, bearing: Bearing) -> Self {
        Self {
            questions: Arc::default(),
            bearing,
            asked: Invocation::default(),
            beside: Naming::Next,
            ..self.clone()
        }
    }
}

/// What a call and everything below it may spend together.
#[derive(Debug)]
pub struct Budget {
    calls: AtomicU32,
}

impl Budget {
    /// A budget of inner calls.
    #[must_use]
    pub fn of_calls(calls: u32) -> Arc<Self> {
        Arc::new(Self {
            calls: AtomicU32::new(calls),
        })
    }

    /// Takes one call out of the budget, and says whether there was one left. Taken before the
    /// call starts, so that many at once cannot overdraw it.
    #[must_use]
    pub fn take_call(&self) -> bool {
        self.calls
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Caps;
    use super::*;

    fn free(_: u64, _: u64) -> Cost {
        Cost::default()
    }

    #[test]
    fn a_run_consults_its_model_so_often_and_none_without_one() {
        let code = |admitted: Result<()>| admitted.unwrap_err().code();
        let none = Consults::of(Vec::new(), (0, Usage::default()));
        assert_eq!(code(none.admit()), Code::BadInput);
        let last = Consults::of(vec!["m".to_owned()], (CONSULTS - 1, Usage::default()));
        last.admit().unwrap();
        assert_eq!(code(last.admit()), Code::OverBudget);
    }

    #[test]
    fn a_server_uses_a_model_so_far_and_no_further() {
        let may = Sampling {
            model: "m".to_owned(),
            tokens: 100,
            requests: 2,
        };
        let used = |tokens| Usage {
            output_tokens: tokens,
            ..Usage::default()
        };
        let code = |admitted: Result<Reserved>| admitted.unwrap_err().code();
        let consults = Arc::<Consults>::default();
        let first = consults.admit_sample("a", &may, (0, 0), free).unwrap();
        assert_eq!(first.most(), 100);
        first.settled(used(40), true);
        let second = consults.admit_sample("a", &may, (10, 0), free).unwrap();
        assert_eq!(second.most(), 50);
        drop(second);
        assert_eq!(
            code(consults.admit_sample("a", &may, (0, 1), free)),
            Code::OverBudget
        );
        assert_eq!(
            consults
                .admit_sample("b", &may, (0, 7), free)
                .unwrap()
                .most(),
            7
        );
        consults
            .admit_sample("b", &may, (0, 0), free)
            .unwrap()
            .settled(used(100), true);
        assert_eq!(
            code(consults.admit_sample("b", &may, (0, 0), free)),
            Code::OverBudget
        );
        // Of the run's own budget there has to be as much.
        consults.within(Room {
            caps: Caps {
                cost_micros: 30,
                tokens: 200,
                ..Caps::default()
            },
            ..Room::default()
        });
        let asks = |price: u64| {
            consults.admit_sample("c", &may, (5, 20), move |reads, writes| {
                Cost::of(reads + writes * price)
            })
        };
        assert_eq!(code(asks(2)), Code::OverBudget);
        let taken = asks(1).unwrap();
        assert_eq!(taken.most(), 20);
        assert_eq!(code(asks(1)), Code::OverBudget);
        taken.settled(used(20), true);
        assert_eq!(code(asks(2)), Code::OverBudget);
        assert!(asks(1).is_ok());
        let later = Arc::<Consults>::default();
        later.has_sampled("a");
        later.has_sampled("a");
        assert_eq!(
            code(later.admit_sample("a", &may, (0, 0), free)),
            Code::OverBudget
        );
    }
}
