//! Asking the model of a turn, and keeping what it said.

use std::sync::{Arc, Mutex};

use super::super::chain::{About, Asked, Patience, Said};
use super::super::offer::Offer;
use super::super::provider::Model;
use super::Drive;
use super::afford::Afford;
use crate::rules::agent::Agent;
use crate::rules::answer;
use crate::rules::budget::{Ahead, Purse};
use crate::rules::caller::{Caller, Origin};
use crate::rules::plan::Plan;
use crate::rules::progress;
use crate::rules::scrub::{Scrub, Trickle};
use crate::rules::tier::Tier;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Glimpse};
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::lock::lock;
use crate::words::message::{Delta, Prompt, Reply, Thought, WishedArgs};
use crate::words::setback::Setback;

/// One turn, as its models are asked.
struct OfTurn<'a> {
    number: u32,
    /// What they are told of, by name.
    tools: Vec<String>,
    /// Who is, and the tier that said so.
    asks: (Vec<&'a Model>, Option<Tier>),
}

impl Drive<'_> {
    /// One turn's prompt, in the order of U-02: what no longer fits is folded, the prompt is put together, weighed, and
    /// sent. What is returned is why the run is left, if it is.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn turn(
        &self,
        plan: &mut Plan,
        offer: &Offer<'_>,
        (turn, purse): (u32, &mut Purse),
    ) -> Result<Option<Error>> {
        plan.read(offer.label());
        let cards = offer.cards();
        // At the end nothing may be called any more.
        let callable = cards.iter().filter(|_| !plan.is_final());
        let names: Vec<String> = callable.map(|card| card.name.clone()).collect();
        plan.offer(&names);
        let offered = (cards.as_slice(), offer.named());
        let told = self.in_time(self.tell(plan, offered, purse)).await?;
        let (prompt, tokens) = match told {
            Ok(told) => told,
            Err(error) => {
                plan.failed(&error);
                return Ok(None);
            }
        };
        let ahead = self.ahead(tokens);
        match self.afford(plan, ahead, purse).await? {
            Afford::Yes => {}
            Afford::No(budget, why) => {
                plan.spent_up(budget, &why);
                return Ok(None);
            }
            Afford::Asked(why) => return Ok(self.is_left(plan, &why).await?.then_some(why)),
        }
        let turn = OfTurn {
            number: turn,
            tools: names,
            asks: self.models_of(plan, offer),
        };
        let weighed = (ahead, &*purse);
        self.in_time(self.prompt(plan, prompt, turn, weighed))
            .await?;
        self.spent(plan);
        Ok(None)
    }

    /// Asks. Where that comes to nothing that is final, the turn is the plan's next step again.
    async fn prompt(
        &self,
        plan: &mut Plan,
        mut prompt: Prompt,
        turn: OfTurn<'_>,
        (ahead, purse): (Ahead, &Purse),
    ) -> Result<()> {
        let journal = self.station.gate.journal();
        let OfTurn {
            number: turn,
            tools,
            asks: (models, tier),
        } = turn;
        prompt.shape = self.shape.as_ref().map(|shape| shape.source().clone());
        prompt.answer_only = plan.is_final();
        if models.is_empty() {
            plan.failed(&no_model(self.agent));
            return Ok(());
        }
        let asked = Asked {
            station: self.station,
            tasks: self.tasks,
            run: self.run,
            known: &self.known,
            models: &models,
            label: plan.label(),
            turn,
            patience: Patience::Endless,
            anew: &|error| self.may_fold(plan, error) || !self.is_within(plan, ahead, purse),
        };
        let coming = Mutex::new(Coming::of(&self.station.scrub));
        let prepare = |(model, (told, sent, streams)): About<'_>| {
            let event = Event::Prompted {
                turn,
                turns_max: self.agent.turns.max(turn),
                model: model.name.clone(),
                tools: tools.clone(),
                digest: Some(model.digest(told, (sent, streams))),
                tier: tier.map_or(String::new(), |tier| tier.word().to_owned()),
            };
            let seq = journal.append(self.run, 0, event)?.seq;
            let turns = (turn, self.agent.turns.max(turn));
            journal.glimpse(self.run, progress::asking(&model.name, turns));
            let caller = self.caller(Origin::Host, seq, plan.label().clone(), model);
            *lock(&coming) = Coming::of(&self.station.scrub);
            Ok((caller, |delta| self.glimpse(lock(&coming).add(delta))))
        };
        match asked.ask(&prompt, prepare).await {
            Ok(Said::Reply(reply)) => {
                self.glimpse(lock(&coming).end());
                self.told.context.lock().await.replied();
                self.replied(plan, turn, reply)
            }
            Ok(Said::Anew(error)) => {
                if self.may_fold(plan, &error) {
                    self.told.context.lock().await.refuse();
                }
                Ok(())
            }
            Err(error) => {
                plan.failed(&self.too_long(error));
                Ok(())
            }
        }
    }

    /// Whether a prompt was too long for a model, and can be made shorter: that is tried once in a turn, before another
    /// model is asked (C-18).
    fn may_fold(&self, plan: &Plan, error: &Error) -> bool {
        let rolling = &self.agent.rolling;
        let classes = &self.station.gate.policy().flows.classes;
        error.as_setback() == Setback::TooLong
            && rolling.trigger_percent > 0
            && !classes.is_secret(plan.label())
            // Whoever asks holds it no more.
            && self.told.context.try_lock().is_ok_and(|context| context.may_fold(plan.messages(), rolling))
    }

    /// A prompt that stayed too long has a failure of its own, with what can be done about it.
    fn too_long(&self, error: Error) -> Error {
        let windows = self.models.all.iter().map(|model| &model.window);
        let window = windows.min_by_key(|window| window.tokens);
        let Some(window) = window.filter(|_| error.as_setback() == Setback::TooLong) else {
            return error;
        };
        let model = &window.model;
        let what = format!("the prompt is too long for the model: {}", error.message());
        Error::new(Code::TooBig, what)
            .hint(format!(
                "it is taken to have {} tokens; say how many it has:\n[models.{model}]\nwindow_tokens = …",
                window.tokens
            ))
            .hint("or shorten what the run is told: fewer tools, or `[compaction]`")
    }

    fn replied(&self, plan: &mut Plan, turn: u32, mut reply: Reply) -> Result<()> {
        // A server that echoes what authenticated us must not put it into the journal.
        let scrub = &self.station.scrub;
        reply.text = scrub.clean(&reply.text);
        // What is signed cannot be cleaned, so it goes as a whole.
        reply.thoughts.retain(|thought| is_clean(scrub, thought));
        for call in &mut reply.calls {
            call.tool = scrub.clean(&call.tool);
            call.id = scrub.clean(&call.id);
            match &mut call.args {
                WishedArgs::Json(args) => scrub.clean_value(args),
                WishedArgs::Broken(text) => *text = scrub.clean(text),
            }
        }
        let event = Event::Replied {
            turn,
            reply: reply.clone(),
            label: plan.label().clone(),
        };
        self.station.gate.journal().append(self.run, 0, event)?;
        plan.replied(reply);
        answer::settle(plan, self.shape.as_ref());
        Ok(())
    }

    /// Shows pieces of a reply.
    fn glimpse(&self, pieces: [Glimpse; 2]) {
        for glimpse in pieces {
            if let Glimpse::Thought { text } | Glimpse::Text { text } = &glimpse
                && !text.is_empty()
            {
                self.station.gate.journal().glimpse(self.run, glimpse);
            }
        }
    }

    /// The host as a caller: it may reach the model's own server, and nothing else.
    pub(super) fn caller(
        &self,
        origin: Origin,
        parent: Seq,
        label: Label,
        model: &Model,
    ) -> Caller {
        Caller {
            origin,
            parent,
            grant: Arc::new(model.provider.grant()),
            reach: Arc::new([]),
            deadline: self.deadline(self.agent.pace.turn_timeout_ms),
            ..self.caller_of_model(label)
        }
    }
}

/// A reply as it comes: what is said, and what is thought.
struct Coming<'a> {
    said: Trickle<'a>,
    thought: Trickle<'a>,
}

impl<'a> Coming<'a> {
    fn of(scrub: &'a Scrub) -> Self {
        Self {
            said: Trickle::new(scrub),
            thought: Trickle::new(scrub),
        }
    }

    /// A piece of it. A thought is over when something else begins.
    fn add(&mut self, delta: Delta) -> [Glimpse; 2] {
        let (text, thought) = match delta {
            Delta::Text(text) => (self.said.add(&text), self.thought.end()),
            Delta::Thought(text) => (String::new(), self.thought.add(&text)),
            // Shown when it is judged; before that it may still turn out to be incomplete.
            Delta::Call(_) => (String::new(), self.thought.end()),
        };
        [Glimpse::Thought { text: thought }, Glimpse::Text { text }]
    }

    /// What was held back of it.
    fn end(&mut self) -> [Glimpse; 2] {
        let (text, thought) = (self.said.end(), self.thought.end());
        [Glimpse::Thought { text: thought }, Glimpse::Text { text }]
    }
}

fn no_model(agent: &Agent) -> Error {
    let name = &agent.name;
    Error::bad_input(format!("the agent `{name}` has no model"))
        .hint(format!("write `models = [\"…\"]` in `[agents.{name}]`"))
}

fn is_clean(scrub: &Scrub, thought: &Thought) -> bool {
    let mut opaque = thought.opaque.clone();
    scrub.clean_value(&mut opaque);
    let mut texts = thought.call.iter().chain([&thought.text]);
    opaque == thought.opaque && texts.all(|text| scrub.clean(text) == *text)
}
