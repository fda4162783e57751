//! Driving a run: asks the plan what comes next, does it, and tells the plan what came of it.

use futures_util::future::join_all;
use serde_json::Value;

use super::brought::{self, goal_with};
use super::observe::observe;
use super::offer::{Offer, Way};
use super::provider::{Asking, Model, Purpose};
use super::script::{Engines, Script};
use crate::gate::{Performed, all_asked, failed, unfit};
use crate::guests::dispatch::{Outcome, Request, ask_ahead, dispatch};
use crate::guests::guest::Trail;
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::agent::Agent;
use crate::rules::call::wished;
use crate::rules::caller::{Budget, Caller, Known, Origin};
use crate::rules::context;
use crate::rules::inbound::Marks;
use crate::rules::plan::{Plan, Seen, Step};
use crate::rules::script::{Left, Recall, TOOL, in_doubt};
use crate::rules::scrub::{Scrub, Trickle};
use crate::rules::show::Show;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Brought, Content, EffectKind, End, Event, Glimpse, Record, Spent, Started, Stopped, Surface,
};
use crate::words::id::{Place, RunId, Seq, ToolName, shown};
use crate::words::label::Label;
use crate::words::limits::CALL_TIMEOUT_MS_MAX;
use crate::words::message::{Card, Delta, Reply, Thought, ToolCall, WishedArgs};

use std::sync::Arc;

/// A run under way.
pub(super) struct Drive<'a> {
    pub(super) station: &'a Arc<Station>,
    pub(super) tasks: &'a Tasks,
    pub(super) run: &'a RunId,
    pub(super) surface: Surface,
    pub(super) agent: &'a Agent,
    pub(super) models: Vec<&'a Model>,
    pub(super) engines: &'a dyn Engines,
    /// What the run knows: answers, values that may steer.
    pub(super) known: Known,
    /// What of other runs it began with.
    pub(super) brought: Vec<Brought>,
}

/// How a pursuit ends.
pub(super) enum Pursued {
    /// With the run.
    Ended(Result<String>),
    /// The run is left, for this reason.
    Left(Error),
}

/// The calls of one reply, and what is known of them.
struct Turn<'a> {
    place: Place,
    /// Of the run's earlier lives.
    records: &'a [Record],
    /// What was observed before the run was left.
    earlier: Vec<Seen>,
}

impl Drive<'_> {
    /// Pursues the goal to its end, or to where the run is left; then it goes on from its records.
    ///
    /// # Errors
    /// The journal's failure.
    pub(super) async fn pursue(&self, started: Started, records: &[Record]) -> Result<Pursued> {
        let journal = self.station.gate.journal();
        let mut offer = Offer::new(self.station, self.agent, self.surface);
        let flows = &self.station.gate.policy().flows;
        let goal = goal_with(&started.goal, &self.brought, flows);
        let mut plan = Plan::new(&goal, started.label.clone(), self.agent.turns);
        let mut earlier = self.recall(&mut plan, &mut offer, records);
        if records.is_empty() {
            journal.append(self.run, 0, Event::Started(started))?;
            for event in brought::events(&self.brought) {
                journal.append(self.run, 0, event)?;
            }
        }
        let answer = loop {
            if self.tasks.is_cancelled() {
                plan.failed(&Error::new(Code::Cancelled, "the run was cancelled"));
            }
            match plan.next(|tool| offer.grouping(self.station, tool)) {
                Step::Prompt(turn) => {
                    plan.read(offer.label());
                    self.prompt(&mut plan, &offer.cards(), turn).await?;
                }
                Step::Calls(groups) => {
                    let earlier = std::mem::take(&mut earlier);
                    let turn = Turn {
                        place: Place::of_turn(plan.spent().0),
                        records,
                        earlier,
                    };
                    let left = self.call(&mut plan, &mut offer, groups, turn).await?;
                    if let Some(why) = left {
                        self.tasks.drain().await;
                        return Ok(Pursued::Left(why));
                    }
                }
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
        Ok(Pursued::Ended(answer))
    }

    /// Brings the plan to where the records leave it. What is returned was observed of its last reply.
    fn recall(&self, plan: &mut Plan, offer: &mut Offer<'_>, records: &[Record]) -> Vec<Seen> {
        let mut seen = Vec::new();
        for record in records {
            if let Event::Replied { reply, label, .. } = &record.event {
                // The tools that it was shown may be others by now.
                plan.read(label);
                plan.replied(reply.clone());
            }
            if let Event::Observed { observation, .. } = &record.event {
                seen.push(Seen {
                    observation: observation.clone(),
                    correction: false,
                    seq: record.seq,
                });
                if seen.len() == plan.waiting().len() {
                    find_again(plan, offer);
                    plan.observed(std::mem::take(&mut seen));
                }
            }
        }
        seen
    }

    async fn prompt(&self, plan: &mut Plan, cards: &[Card], turn: u32) -> Result<()> {
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
            journal.commit().await?;
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

    /// Does the calls of one reply, group after group. Behind a call that waits for a person nothing is done, but
    /// all that they have to say in this turn is asked. What is returned is why the run is left: calls wait for a
    /// person, or a script was cut off.
    ///
    /// # Errors
    /// The journal's failure.
    async fn call(
        &self,
        plan: &mut Plan,
        offer: &mut Offer<'_>,
        groups: Vec<Vec<ToolCall>>,
        mut turn: Turn<'_>,
    ) -> Result<Option<Error>> {
        let mut all = std::mem::take(&mut turn.earlier);
        let (seen, mut before, mut over) = (all.len(), 0, false);
        let mut asked = Vec::new();
        for group in groups {
            // What ended the run ends it for the calls that were to come after.
            if over {
                break;
            }
            let places = (0..)
                .skip(before)
                .map(|position| turn.place.inside(position));
            let calls = group.iter().zip(places);
            let calls: Vec<_> = calls.skip(seen.saturating_sub(before)).collect();
            before += group.len();
            if !asked.is_empty() {
                let ahead = calls.iter().map(|(call, place)| {
                    let way = offer.way(&call.tool, &call.args);
                    self.ask_ahead(call, (place.clone(), plan.label().clone()), &way, &turn)
                });
                asked.extend(ahead.collect::<Result<Vec<_>>>()?.into_iter().flatten());
                continue;
            }
            let label = plan.label();
            let doing = calls.iter().map(|(call, place)| {
                let way = offer.way(&call.tool, &call.args);
                self.one(call, (place.clone(), label.clone()), way, &turn)
            });
            let outcomes = join_all(doing).await;
            for ((call, _), (outcome, found)) in calls.iter().zip(outcomes) {
                offer.find(found);
                match fate(&outcome, !asked.is_empty()) {
                    Fate::Seen => {}
                    Fate::Asked => {
                        asked.extend(outcome.result.err());
                        continue;
                    }
                    // It is on record, and seen when the run goes on.
                    Fate::Later => continue,
                    Fate::CutOff => return Ok(outcome.result.err()),
                    Fate::Over => {
                        if let Err(error) = &outcome.result {
                            plan.failed(error);
                        }
                        over = true;
                    }
                }
                all.push(self.observed(call, &outcome)?);
            }
        }
        if let Some(why) = all_asked("the run", asked.iter()) {
            return Ok(Some(why));
        }
        plan.observed(all);
        Ok(None)
    }

    /// What a person is asked about a call that may not be made yet. Nothing, if it was made before the run was left.
    fn ask_ahead(
        &self,
        call: &ToolCall,
        (place, label): (Place, Label),
        way: &Way,
        turn: &Turn<'_>,
    ) -> Result<Option<Error>> {
        let caller = Caller {
            place,
            ..self.caller_of_model(label)
        };
        match way {
            Way::Search(..) | Way::Nowhere(_) => Ok(None),
            Way::Script(source) => {
                let scripts = &self.station.scripts;
                let caller = scripts.caller(&caller);
                self.station.gate.ask_ahead(&caller, &scripts.call(source))
            }
            Way::Tool if self.again(call, &caller, turn).is_some() => Ok(None),
            Way::Tool => {
                let request = Request {
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                };
                ask_ahead(self.station, &caller, &request)
            }
        }
    }

    /// One call of a model, wherever it goes; and the tools that it has found.
    async fn one(
        &self,
        call: &ToolCall,
        (place, label): (Place, Label),
        way: Way,
        turn: &Turn<'_>,
    ) -> (Outcome, Vec<ToolName>) {
        let mut caller = self.caller_of_model(label);
        caller.place = place;
        let found = match &way {
            Way::Search(_, names) => names.clone(),
            Way::Tool | Way::Script(_) | Way::Nowhere(_) => Vec::new(),
        };
        let outcome = match way {
            Way::Search(text, names) => {
                let mut outcome = self.said(call, &caller, Ok(text.into()));
                let classes = &self.station.gate.policy().flows.classes;
                outcome.label = outcome.label.join(&classes.of_words(&names));
                outcome
            }
            Way::Nowhere(error) => {
                let what = (shown(&call.tool), wished(&call.args));
                let why = (unfit(&error), error);
                let gate = &self.station.gate;
                let not = gate.turn_down(&caller, EffectKind::Call, what, why);
                self.said(call, &caller, Err(not.error))
            }
            Way::Script(source) => {
                let script = Script {
                    station: self.station,
                    tasks: self.tasks,
                    caller,
                    source,
                    engines: self.engines,
                };
                script.run(turn.records.to_vec()).await
            }
            Way::Tool => match self.again(call, &caller, turn) {
                Some(outcome) => outcome,
                None => {
                    let request = Request {
                        tool: call.tool.clone(),
                        args: call.args.clone(),
                    };
                    dispatch(self.station.clone(), self.tasks.clone(), caller, request).await
                }
            },
        };
        (outcome, found)
    }

    /// The outcome of a call that was made before the run was left, or may have been.
    fn again(&self, call: &ToolCall, caller: &Caller, turn: &Turn<'_>) -> Option<Outcome> {
        if turn.records.is_empty() {
            return None;
        }
        let repeatable = |tool: &str| self.station.catalog.is_repeatable(tool);
        let recall = Recall::of(turn.records, &turn.place, repeatable);
        let position = caller.place.position_in(&turn.place)?;
        let mut settled = recall.settled.iter();
        let (answered, label) = match settled.find(|settled| settled.position == position) {
            Some(settled) => (settled.answered.clone(), settled.label.clone()),
            None => match recall.left(position) {
                Left::Begun(_) if !repeatable(&call.tool) => {
                    (in_doubt(&call.tool), caller.label.clone())
                }
                Left::Begun(_) | Left::Fresh => return None,
            },
        };
        let mut outcome = self.said(call, caller, answered.result());
        outcome.label = outcome.label.join(&label);
        Some(outcome)
    }

    /// An outcome that no guest made.
    fn said(&self, call: &ToolCall, caller: &Caller, result: Result<Value>) -> Outcome {
        Outcome {
            tool: call.tool.clone(),
            seq: caller.parent,
            at: self.station.gate.journal().clock().now_ms(),
            result,
            label: caller.label.clone(),
            trail: Trail::default(),
            spent: Spent::default(),
        }
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
            known: self.known.clone(),
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
        Caller {
            origin,
            parent,
            grant: Arc::new(model.provider.grant()),
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
        let (turns, mut usage) = plan.spent();
        usage.add(self.known.consults.usage());
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

/// What becomes of the outcome of a call in its turn.
enum Fate {
    /// The model sees it.
    Seen,
    /// It waits for a person.
    Asked,
    /// A call before it waits for a person: the model sees it when that has ended.
    Later,
    /// It is a script that was cut off.
    CutOff,
    /// It ends the run.
    Over,
}

fn fate(outcome: &Outcome, behind_asked: bool) -> Fate {
    match &outcome.result {
        Err(error) if error.code() == Code::Asked => Fate::Asked,
        Ok(_) | Err(_) if behind_asked => Fate::Later,
        Err(error) if error.code() == Code::Cancelled && outcome.tool == TOOL => Fate::CutOff,
        Err(error) if !error.code().told_to_model() => Fate::Over,
        Ok(_) | Err(_) => Fate::Seen,
    }
}

fn is_clean(scrub: &Scrub, thought: &Thought) -> bool {
    let mut opaque = thought.opaque.clone();
    scrub.clean_value(&mut opaque);
    opaque == thought.opaque && scrub.clean(&thought.text) == thought.text
}

/// What the searches of the last reply have found is shown from then on.
fn find_again(plan: &Plan, offer: &mut Offer<'_>) {
    for call in plan.waiting() {
        if let Way::Search(_, names) = offer.way(&call.tool, &call.args) {
            offer.find(names);
        }
    }
}
