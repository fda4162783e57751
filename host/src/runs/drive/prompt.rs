//! Asking the model of a turn, and keeping what it said.

use std::sync::Arc;

use super::super::chain::{Asked, Patience};
use super::super::provider::Model;
use super::Drive;
use crate::rules::agent::Agent;
use crate::rules::answer;
use crate::rules::caller::{Caller, Origin};
use crate::rules::plan::Plan;
use crate::rules::progress;
use crate::rules::scrub::{Scrub, Trickle};
use crate::words::error::{Error, Result};
use crate::words::event::{Event, Glimpse};
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::message::{Card, Delta, Reply, Thought, WishedArgs};

impl Drive<'_> {
    pub(super) async fn prompt(&self, plan: &mut Plan, cards: &[Card], turn: u32) -> Result<()> {
        let journal = self.station.gate.journal();
        let mut prompt = match self.tell(plan, cards).await? {
            Ok(prompt) => prompt,
            Err(error) => {
                plan.failed(&error);
                return Ok(());
            }
        };
        prompt.shape = self.shape.as_ref().map(|shape| shape.source().clone());
        if self.models.is_empty() {
            plan.failed(&no_model(self.agent));
            return Ok(());
        }
        let asked = Asked {
            station: self.station,
            tasks: self.tasks,
            run: self.run,
            known: &self.known,
            models: &self.models,
            label: plan.label(),
            turn,
            patience: Patience::Endless,
        };
        let prepare = |model: &Model| {
            let event = Event::Prompted {
                turn,
                turns_max: self.agent.turns,
                model: model.name.clone(),
                tools: cards.iter().map(|card| card.name.clone()).collect(),
            };
            let seq = journal.append(self.run, 0, event)?.seq;
            let turns = (turn, self.agent.turns);
            journal.glimpse(self.run, progress::asking(&model.name, turns));
            let caller = self.caller(Origin::Host, seq, plan.label().clone(), model);
            let scrub = &self.station.scrub;
            let mut trickles = (Trickle::new(scrub), Trickle::new(scrub));
            Ok((caller, move |delta| self.glimpse(delta, &mut trickles)))
        };
        match asked.reply(&prompt, prepare).await {
            Ok(reply) => self.replied(plan, turn, reply),
            Err(error) => {
                plan.failed(&error);
                Ok(())
            }
        }
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

    /// Shows a piece of a reply: of what is said, or of what is thought.
    fn glimpse(&self, delta: Delta, (said, thought): &mut (Trickle<'_>, Trickle<'_>)) {
        let (text, is_thought) = match delta {
            Delta::Text(text) => (said.add(&text), false),
            Delta::Thought(text) => (thought.add(&text), true),
            // Shown when it is judged; before that it may still turn out to be incomplete.
            Delta::Call(_) => return,
        };
        if text.is_empty() {
            return;
        }
        let glimpse = if is_thought {
            Glimpse::Thought { text }
        } else {
            Glimpse::Text { text }
        };
        self.station.gate.journal().glimpse(self.run, glimpse);
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

fn no_model(agent: &Agent) -> Error {
    let name = &agent.name;
    Error::bad_input(format!("the agent `{name}` has no model"))
        .hint(format!("write `models = [\"…\"]` in `[agents.{name}]`"))
}

fn is_clean(scrub: &Scrub, thought: &Thought) -> bool {
    let mut opaque = thought.opaque.clone();
    scrub.clean_value(&mut opaque);
    opaque == thought.opaque && scrub.clean(&thought.text) == thought.text
}
