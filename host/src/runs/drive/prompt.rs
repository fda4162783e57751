//! Asking the model of a turn, and keeping what it said.

use std::sync::Arc;

use super::super::provider::{Asking, Model, Purpose};
use super::Drive;
use crate::rules::caller::{Caller, Origin};
use crate::rules::context;
use crate::rules::inbound::Marks;
use crate::rules::plan::Plan;
use crate::rules::scrub::{Scrub, Trickle};
use crate::words::error::{Error, Result};
use crate::words::event::{Event, Glimpse};
use crate::words::id::Seq;
use crate::words::label::Label;
use crate::words::message::{Card, Delta, Reply, Thought, WishedArgs};

impl Drive<'_> {
    pub(super) async fn prompt(&self, plan: &mut Plan, cards: &[Card], turn: u32) -> Result<()> {
        let journal = self.station.gate.journal();
        let policy = self.station.gate.policy();
        let treatment = (policy.inbound, &policy.flows.classes);
        let marks = Marks::of_run(treatment, journal.key(), self.run);
        let prompt = context::prompt(self.agent, cards, plan.messages(), &marks);
        let mut reply =
            Err(
                Error::bad_input(format!("the agent `{}` has no model", self.agent.name)).hint(
                    format!("write `models = [\"…\"]` in `[agents.{}]`", self.agent.name),
                ),
            );
        for model in &self.models {
            let event = Event::Prompted {
                turn,
                turns_max: self.agent.turns,
                model: model.name.clone(),
                tools: cards.iter().map(|card| card.name.clone()).collect(),
            };
            let seq = journal.append(self.run, 0, event)?.seq;
            // What the model is about to see must not be lost after it has acted on it.
            journal.sync().await?;
            let caller = self.caller(Origin::Host, seq, plan.label().clone(), model);
            let mut said = false;
            let scrub = &self.station.scrub;
            let mut trickles = (Trickle::new(scrub), Trickle::new(scrub));
            let see = |delta| {
                said = true;
                self.glimpse(delta, &mut trickles);
            };
            let asking = Asking {
                caller: &caller,
                tasks: self.tasks,
                prompt: &prompt,
                purpose: Purpose::Turn,
            };
            reply = model.ask(self.station, asking, see).await;
            // After the first content another model would say it twice (R-12d).
            if !matches!(&reply, Err(error) if error.is_retryable() && !said) {
                break;
            }
        }
        match reply {
            Ok(reply) => self.replied(plan, turn, reply),
            Err(error) => {
                // What kind of error it was is the server's word, and may be an echo as well.
                let clean = |text: &str| self.station.scrub.clean(text);
                plan.failed(&error.with_words(clean, clean));
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
    fn caller(&self, origin: Origin, parent: Seq, label: Label, model: &Model) -> Caller {
        Caller {
            origin,
            parent,
            grant: Arc::new(model.provider.grant()),
            reach: Arc::new([]),
            ..self.caller_of_model(label)
        }
    }
}

fn is_clean(scrub: &Scrub, thought: &Thought) -> bool {
    let mut opaque = thought.opaque.clone();
    scrub.clean_value(&mut opaque);
    opaque == thought.opaque && scrub.clean(&thought.text) == thought.text
}
