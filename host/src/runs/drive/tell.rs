//! Telling: what the model of a turn is told. Where the window is filling, older turns are folded first.

use super::super::chain::{About, Asked, Patience};
use super::super::provider::Model;
use super::Drive;
use crate::rules::budget::Purse;
use crate::rules::caller::Origin;
use crate::rules::context::rolling::{HOST, asking, transcript};
use crate::rules::context::told::{Context, Due, Telling};
use crate::rules::context::window::Window;
use crate::rules::inbound::Marks;
use crate::rules::plan::Plan;
use crate::rules::progress;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Compacted, Event, Spent};
use crate::words::message::{Card, Message, Prompt, Usage};

/// What stands for turns that are folded.
struct Summed {
    text: String,
    /// The model that made it, or the host.
    by: String,
    /// Why no model made it, where one was to.
    instead: String,
    usage: Usage,
}

impl Drive<'_> {
    /// The prompt of a turn, and its tokens where there are budgets; or, inside, why there is none: what must be told
    /// does not fit.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn tell(
        &self,
        plan: &mut Plan,
        (cards, named): (&[Card], &[String]),
        purse: &Purse,
    ) -> Result<Result<(Prompt, u64)>> {
        let mut context = self.told.context.lock().await;
        plan.read(context.label());
        let policy = self.station.gate.policy();
        let treatment = (policy.inbound, &policy.flows.classes);
        let marks = Marks::of_run(treatment, self.station.gate.journal().key(), self.run);
        let telling = Telling {
            agent: self.agent,
            cards,
            named,
            own: plan.messages(),
            marks: &marks,
        };
        // Whoever answers in the end, they can take it.
        let windows = self.models.all.iter().map(|model| &model.window);
        let Some(window) = windows.min_by_key(|window| window.tokens) else {
            return Ok(Ok((context.whole(telling), 0)));
        };
        // Of what is secret nothing is written down anew.
        if !policy.flows.classes.is_secret(plan.label()) {
            self.fold(&mut context, telling, (plan, window, purse))
                .await?;
        }
        let tokens = match self.agent.caps.is_nothing() {
            true => 0,
            false => context.tokens(telling, window.counting).0,
        };
        // More than fits is not told.
        let tokens = tokens.min(window.room());
        let prompt = context.prompt(telling, window);
        // What tools had to say of a fold is read as well.
        plan.read(context.label());
        Ok(prompt.map(|prompt| (prompt, tokens)))
    }

    async fn fold(
        &self,
        context: &mut Context,
        telling: Telling<'_>,
        (plan, window, purse): (&Plan, &Window, &Purse),
    ) -> Result<()> {
        let rolling = &self.agent.rolling;
        let Some(due) = context.due(telling, (rolling, window)) else {
            return Ok(());
        };
        // The turn that is about to begin.
        let turns = (plan.spent().0.saturating_add(1), self.agent.turns);
        let journal = self.station.gate.journal();
        journal.glimpse(self.run, progress::summarising(turns));
        let began = Clock::instant();
        let Summed {
            text: summary,
            by,
            instead,
            usage,
        } = self.summed(&due, (telling, plan, purse)).await;
        // It would make the matter worse.
        if window.counting.count(&summary) >= due.folds {
            return Ok(());
        }
        let mut compacted = Compacted {
            through: due.through,
            turns: due.turns,
            summary,
            // The replies in it were made under the influence of all that their model had read.
            label: plan.label().clone(),
            by,
            cause: due.cause,
            before_tokens: due.tokens,
            after_tokens: 0,
            summary_tokens: 0,
            estimated: window.counting.is_estimate(),
            instead,
            after: Vec::new(),
            spent: Spent::default(),
        };
        context.folded(&compacted);
        let after = context.tokens(telling, window.counting);
        (compacted.after_tokens, compacted.summary_tokens) = after;
        compacted.after = self.noted(&compacted).await;
        if !compacted.after.is_empty() {
            let labels = compacted.after.iter().map(|noted| &noted.label);
            compacted.label = labels.fold(compacted.label.clone(), |all, one| all.join(one));
            context.folded(&compacted);
            let after = context.tokens(telling, window.counting);
            (compacted.after_tokens, compacted.summary_tokens) = after;
        }
        compacted.spent = Spent {
            usage,
            ..Spent::since(began)
        };
        let event = Event::Compacted(Box::new(compacted));
        self.station.gate.journal().append(self.run, 0, event)?;
        Ok(())
    }

    /// What stands for the turns that are folded, by a model where one is to make it.
    async fn summed(
        &self,
        due: &Due,
        (telling, plan, purse): (Telling<'_>, &Plan, &Purse),
    ) -> Summed {
        let mut summed = Summed {
            text: self.agent.rolling.summary(&due.before, &due.messages),
            by: HOST.to_owned(),
            instead: String::new(),
            usage: Usage::default(),
        };
        if let Some(model) = self.told.summariser {
            let said = match &self.station.recorded {
                Some(recorded) => recorded.summary(),
                None => self.summarised(model, due, (telling, plan, purse)).await,
            };
            match said {
                Ok((text, usage)) => {
                    (summed.text, summed.usage) = (text, usage);
                    summed.by.clone_from(&model.name);
                }
                // It is worth a try and no more.
                Err(error) => {
                    summed.instead = self.station.scrub.clean(error.message());
                    summed.usage = error.spent().unwrap_or_default();
                }
            }
        }
        self.known.consults.spend(summed.usage);
        summed.text = self.station.scrub.clean(&summed.text);
        summed
    }

    /// What a model makes of what is folded.
    async fn summarised(
        &self,
        model: &Model,
        due: &Due,
        (telling, plan, purse): (Telling<'_>, &Plan, &Purse),
    ) -> Result<(String, Usage)> {
        let rolling = &self.agent.rolling;
        let said = transcript(&due.before, &due.messages, model.window.room());
        let prompt = asking(
            &telling.marks.block(&said, plan.label()),
            (rolling, telling.marks),
        );
        // Nobody is asked for a summary: what a budget has no room for the host writes itself.
        let count = |text: &str| model.window.counting.count(text);
        let tokens = prompt.messages.iter().map(|message| match message {
            Message::User { text, .. } => count(text),
            Message::Assistant(_) | Message::Tool { .. } => 0,
        });
        let tokens = count(&prompt.instructions).saturating_add(tokens.sum());
        if !self.is_within(plan, self.ahead_of(&[model], tokens), purse) {
            let what = "what the run may use of its models has no room for it";
            return Err(Error::new(Code::OverBudget, what));
        }
        let asked = Asked {
            station: self.station,
            tasks: self.tasks,
            run: self.run,
            known: &self.known,
            models: &[model],
            label: plan.label(),
            turn: 0,
            patience: Patience::None,
            anew: &|_| false,
        };
        let prepare = |(model, _): About<'_>| {
            let caller = self.caller(Origin::Host, 0, plan.label().clone(), model);
            Ok((caller, |_| {}))
        };
        let reply = asked.reply(&prompt, prepare).await?;
        let text = rolling.of_model(&reply.text, &self.station.scrub);
        if text.is_empty() {
            return Err(Error::new(
                Code::ProviderFailed,
                "the model wrote no summary",
            ));
        }
        Ok((text, reply.usage))
    }
}
