//! Driving a run: asks the plan what comes next, does it, and tells the plan what came of it.

use futures_util::future::join_all;

use super::observe::observe;
use super::provider::{Asking, Model};
use crate::gate::{Performed, failed};
use crate::guests::dispatch::{Outcome, Request, dispatch};
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::agent::Agent;
use crate::rules::caller::{Budget, Caller, Origin};
use crate::rules::context;
use crate::rules::grant::Grant;
use crate::rules::plan::{Grouping, Plan, Seen, Step};
use crate::rules::sanitise::Trickle;
use crate::rules::show::Show;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, End, Event, Glimpse, Spent, Started, Stopped, Surface};
use crate::words::id::{Place, RunId, Seq};
use crate::words::label::Label;
use crate::words::limits::CALL_TIMEOUT_MS_MAX;
use crate::words::message::{Card, Delta, Reply, ToolCall, WishedArgs};

use std::sync::Arc;

/// A run under way.
pub(super) struct Drive<'a> {
    pub(super) station: &'a Arc<Station>,
    pub(super) tasks: &'a Tasks,
    pub(super) run: &'a RunId,
    pub(super) surface: Surface,
    pub(super) agent: &'a Agent,
    pub(super) models: Vec<&'a Model>,
}

impl Drive<'_> {
    /// Pursues the goal to its end; the answer, or why there is none.
    pub(super) async fn pursue(&self, goal: &str, label: Label) -> Result<String> {
        let journal = self.station.gate.journal();
        let started = Started {
            surface: self.surface,
            subject: self.agent.name.clone(),
            goal: goal.to_owned(),
            label: label.clone(),
        };
        journal.append(self.run, 0, Event::Started(started))?;
        let cards =
            self.station
                .catalog
                .cards(&self.agent.tools, self.station.gate.policy(), self.surface);
        let mut plan = Plan::new(goal, label, self.agent.turns);
        let answer = loop {
            if self.tasks.is_cancelled() {
                plan.failed(&Error::new(Code::Cancelled, "the run was cancelled"));
            }
            match plan.next(|tool| self.grouping(tool)) {
                Step::Prompt(turn) => self.prompt(&mut plan, &cards, turn).await?,
                Step::Calls(groups) => self.call(&mut plan, groups).await?,
                Step::Answer(text) => break Ok(text),
                Step::Fail(code, why) => {
                    let hints = plan.hints().iter().cloned();
                    break Err(hints.fold(Error::new(code, why), Error::hint));
                }
            }
        };
        self.tasks.drain().await;
        let answer = self.show(&plan, answer).await;
        self.stop(&plan, &answer)?;
        journal.commit().await?;
        answer
    }

    fn grouping(&self, tool: &str) -> Grouping {
        self.station.catalog.grouping(tool)
    }

    async fn prompt(&self, plan: &mut Plan, cards: &[Card], turn: u32) -> Result<()> {
        let prompt = context::prompt(self.agent, cards, plan.messages());
        let journal = self.station.gate.journal();
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
            journal.commit().await?;
            let caller = self.caller(Origin::Host, seq, plan.label().clone(), model);
            let mut said = false;
            let mut trickle = Trickle::new(&self.station.scrub);
            let see = |delta| {
                said = true;
                self.glimpse(delta, &mut trickle);
            };
            let asking = Asking {
                caller: &caller,
                tasks: self.tasks,
                prompt: &prompt,
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
                plan.failed(&error);
                Ok(())
            }
        }
    }

    fn replied(&self, plan: &mut Plan, turn: u32, mut reply: Reply) -> Result<()> {
        // A server that echoes what authenticated us must not put it into the journal.
        let scrub = &self.station.scrub;
        reply.text = scrub.clean(&reply.text);
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

    fn glimpse(&self, delta: Delta, trickle: &mut Trickle<'_>) {
        match delta {
            Delta::Text(text) => {
                let text = trickle.add(&text);
                if !text.is_empty() {
                    let glimpse = Glimpse::Text { text };
                    self.station.gate.journal().glimpse(self.run, glimpse);
                }
            }
            // Shown when it is judged; before that it may still turn out to be incomplete.
            Delta::Call(_) => {}
        }
    }

    async fn call(&self, plan: &mut Plan, groups: Vec<Vec<ToolCall>>) -> Result<()> {
        let mut all = Vec::new();
        let mut over = false;
        for group in groups {
            // What ended the run ends it for the calls that were to come after.
            if over {
                break;
            }
            let label = plan.label();
            let calls = group.iter().map(|call| {
                let caller = self.caller_of_model(label.clone());
                let request = Request {
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                };
                dispatch(self.station.clone(), self.tasks.clone(), caller, request)
            });
            let outcomes = join_all(calls).await;
            for (call, outcome) in group.iter().zip(outcomes) {
                if let Some(error) = outcome
                    .result
                    .as_ref()
                    .err()
                    .filter(|error| !error.code().told_to_model())
                {
                    plan.failed(error);
                    over = true;
                }
                all.push(self.observed(call, &outcome)?);
            }
        }
        plan.observed(all);
        Ok(())
    }

    fn observed(&self, call: &ToolCall, outcome: &Outcome) -> Result<Seen> {
        let tool = self.station.catalog.resolve(&call.tool, &[]);
        let how = tool.map_or_else(
            |_| Default::default(),
            |tool| tool.declared.conduct.truncation,
        );
        let observation = observe(outcome, how, self.station.gate.policy());
        let correction = matches!(&outcome.result, Err(error)
            if matches!(error.code(), Code::UnknownTool | Code::BadArgs));
        let event = Event::Observed {
            call: call.id.clone(),
            tool: call.tool.clone(),
            observation: observation.clone(),
        };
        let seq = self
            .station
            .gate
            .journal()
            .append(self.run, outcome.seq, event)?
            .seq;
        Ok(Seen {
            observation,
            correction,
            seq,
        })
    }

    fn caller_of_model(&self, label: Label) -> Caller {
        Caller {
            run: self.run.clone(),
            parent: 0,
            place: Place::default(),
            answers: Arc::default(),
            surface: self.surface,
            origin: Origin::Model,
            reach: self.agent.tools.clone().into(),
            grant: Arc::default(),
            label,
            depth: 0,
            deadline: Deadline::after_ms(CALL_TIMEOUT_MS_MAX),
            budget: Budget::of_calls(self.station.gate.policy().bounds.calls),
        }
    }

    /// The host as a caller: it may reach the model's own server, and nothing else.
    fn caller(&self, origin: Origin, parent: Seq, label: Label, model: &Model) -> Caller {
        let fetch = match &model.provider {
            super::provider::Provider::Scripted { .. } => Vec::new(),
            super::provider::Provider::OpenAi { destination, .. } => vec![destination.clone()],
        };
        Caller {
            origin,
            parent,
            grant: Arc::new(Grant {
                fetch,
                ..Grant::default()
            }),
            reach: Arc::new([]),
            ..self.caller_of_model(label)
        }
    }

    /// Everything that an answer rests on is committed before it is shown.
    async fn show(&self, plan: &Plan, answer: Result<String>) -> Result<String> {
        let text = answer?;
        let caller = self.caller_of_model(plan.label().clone());
        let show = Show {
            what: "answer",
            bytes: text.len(),
        };
        let label = plan.label().clone();
        let passed = self.station.gate.pass(&caller, show, async move |permit| {
            let _shown = permit.redeem();
            Performed::of(Ok(text), label, Spent::default())
        });
        passed.await?.performed.result
    }

    fn stop(&self, plan: &Plan, answer: &Result<String>) -> Result<()> {
        let (turns, usage) = plan.spent();
        let end = match answer {
            Ok(text) => End::Done {
                content: Content::Inline(text.as_str().into()),
            },
            Err(error) => failed(error),
        };
        let stopped = Event::Stopped(Stopped { end, turns, usage });
        self.station
            .gate
            .journal()
            .append(self.run, 0, stopped)
            .map(|_| ())
    }
}
