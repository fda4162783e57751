//! A goal, and how it is pursued: by its agent, with that one's models, from where its records leave it.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::attached::{check_apart, check_attached};
use super::brought::{Chosen, brought_in};
use super::drive::models::Models;
use super::drive::{Drive, Pursued, Time, Told};
use super::host::{Host, caught};
use super::known;
use super::left::Hold;
use super::provider::Model;
use super::session::{Earlier, check_names};
use crate::guests::tasks::Tasks;
use crate::rules::agent::Agent;
use crate::rules::answer;
use crate::rules::budget::{Unpriced, without_price};
use crate::rules::caller::{Known, Led};
use crate::rules::flow::attached::name_apart;
use crate::rules::flow::handles::{PLUGIN, READ};
use crate::rules::flow::lines::Holding;
use crate::rules::grant::Pattern;
use crate::rules::manifest::Truncation;
use crate::rules::price::Priced;
use crate::rules::schema::Schema;
use crate::words::attachment::Attachment;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Brought, Narrowed, Record, Started, Surface};
use crate::words::id::RunId;
use crate::words::label::{Label, Source};
use crate::words::message::Calling;

/// Who pursues a goal, and how.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The run's name, from [`Host::new_run`].
    pub run: RunId,
    /// The way in.
    pub surface: Surface,
    /// The agent's name.
    pub agent: String,
    /// What is wished for, in the user's words.
    pub text: String,
    /// The agent's tools, or fewer.
    pub tools: Vec<Pattern>,
    /// The agent's models, or others, by name or tier.
    pub models: Vec<String>,
    /// The agent's way of calling tools, or another.
    pub calling: Option<Calling>,
    /// The JSON Schema of the agent's answer, or another.
    pub answer: Option<Value>,
    /// Values that the user vouches for, each as a whole, beside the words of the goal.
    pub vouch: Vec<String>,
    /// No more than this of its models; the agent's own budget where it says 0.
    pub most: Most,
    /// What it begins with.
    pub with: With,
    /// Whether the goal was piped, pasted or sent, and not typed: then nobody knows who wrote it, and none of its
    /// words is a witness.
    pub piped: bool,
}

/// What a run begins with, beside its goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct With {
    /// What other runs hold, unread.
    pub handles: Vec<Chosen>,
    /// Files that its model looks at ([`Host::attach`]).
    pub files: Vec<Attachment>,
    /// What influenced the goal, where its run is on record; its own label says it otherwise.
    pub under: Label,
}

/// The most that one run asks for of its models; 0 asks for no less than the agent may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Millionths of the currency of the prices.
    pub cost_micros: u64,
}

impl Goal {
    /// A goal that somebody typed, pursued as the agent's definition has it. `run` is from [`Host::new_run`].
    #[must_use]
    pub fn new(run: RunId, surface: Surface, agent: &str, text: &str) -> Self {
        Self {
            run,
            surface,
            agent: agent.to_owned(),
            text: text.to_owned(),
            tools: Vec::new(),
            models: Vec::new(),
            calling: None,
            answer: None,
            vouch: Vec::new(),
            most: Most::default(),
            with: With::default(),
            piped: false,
        }
    }

    /// What the run asks for beside its agent's definition.
    pub(super) fn narrowed(&self) -> Narrowed {
        Narrowed {
            tools: self.tools.iter().map(ToString::to_string).collect(),
            models: self.models.clone(),
            calling: self.calling,
            answer: self.answer.clone(),
            vouch: self.vouch.clone(),
            tokens_max: self.most.tokens,
            cost_micros_max: self.most.cost_micros,
            ..Narrowed::default()
        }
    }

    /// What the mark of the run binds.
    pub(super) fn wish(&self) -> Value {
        let mut wish = json!({"goal": self.text, "narrowed": self.narrowed(), "piped": self.piped});
        if !self.with.files.is_empty()
            && let Some(wish) = wish.as_object_mut()
        {
            wish.insert("attached".to_owned(), json!(self.with.files));
        }
        wish
    }

    /// What influenced the goal.
    pub(super) fn label(&self) -> Label {
        if self.with.under != Label::default() {
            return self.with.under.clone();
        }
        let label = Label::of(Source::user());
        if !self.piped {
            label
        } else if self.surface == Surface::Cli {
            label.with(Source::piped())
        } else {
            label.with(Source::client())
        }
    }

    /// What its user said with it, which later runs of its session have heard as well; what they vouched for holds in this run.
    pub(super) fn said(&self) -> Option<&str> {
        (!self.piped).then_some(self.text.as_str())
    }
}

impl Host {
    /// Pursues a goal to its end and returns the answer.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent or model, and whatever ends the run.
    pub async fn pursue(&self, goal: Goal, tasks: &Tasks) -> Result<String> {
        self.pursue_after(goal, Earlier::default(), tasks).await
    }

    pub(super) async fn pursue_after(
        &self,
        mut goal: Goal,
        earlier: Earlier,
        tasks: &Tasks,
    ) -> Result<String> {
        self.learn_secrets()?;
        // No model is told what somebody typed or piped in by mistake.
        if let Some(clean) = self.station.scrub.known().clean(&goal.text) {
            goal.text = clean;
        }
        if let Some(schema) = &mut goal.answer {
            self.station.scrub.known().clean_value(schema);
        }
        name_apart(&mut goal.with.files, &earlier.handles);
        let prepared = self.prepare(&goal)?;
        let brought = self.bring(&goal.with.handles).await?;
        check_names(&earlier, &brought)?;
        check_apart(&goal.with.files, &brought)?;
        let wish = goal.wish();
        check_attached(&goal.with.files, self.rules.attaching)?;
        let hold = self.begin(&goal.run, &goal.agent, &wish)?;
        self.kept.attach(&goal.run, &goal.with.files)?;
        let from = (brought, Vec::new(), earlier);
        self.pursue_on(goal, prepared, from, (hold, tasks)).await?
    }

    /// Who pursues a goal, and the models that are asked.
    pub(super) fn prepare(&self, goal: &Goal) -> Result<(Agent, Vec<&Model>)> {
        let agent = self.agent(goal)?;
        let (tiers, by_tools) = (&self.chains.tiers, agent.terms.tool_tiers);
        let names = tiers.of_run(&goal.models, &agent.models, by_tools);
        let mut models = Vec::new();
        for name in &names {
            models.push(self.models.get(name).ok_or_else(|| {
                Error::not_found(format!("model `{name}`"))
                    .hint(names_of("models", self.models.keys()))
            })?);
        }
        let blind = agent.caps.cost_micros > 0 && agent.caps.unpriced == Unpriced::Fail;
        let mut unpriced = models
            .iter()
            .filter(|model| model.priced == Priced::Unknown);
        match unpriced.next() {
            Some(model) if blind => Err(without_price(&agent.name, &model.name)),
            Some(_) | None => Ok((agent, models)),
        }
    }

    /// Pursues a goal from where its records leave it. What is returned inside is the run's own end, or
    /// why it is left.
    pub(super) async fn pursue_on(
        &self,
        goal: Goal,
        (mut agent, models): (Agent, Vec<&Model>),
        (brought, records, mut earlier): (Vec<Brought>, Vec<Record>, Earlier),
        (hold, tasks): (Hold, &Tasks),
    ) -> Result<Result<String>> {
        if agent.calling != Calling::Direct {
            self.kept.keep(&self.station.scripts.engine)?;
        }
        let holds = !earlier.handles.is_empty();
        let known = self.known_to(&goal, &agent, (&mut earlier, &records));
        let known = known::bringing(&self.station, known, &brought)?;
        let known = known::asking(known, (&models, agent.terms), &records);
        let brought = if records.is_empty() {
            brought
        } else {
            brought_in(&records)
        };
        let holds = holds || !brought.is_empty();
        self.equip(&mut agent.tools, &known, holds);
        let summariser = self.models.get(&agent.rolling.model);
        let until = self.until(&agent, &records);
        let shape = agent.answer.take().map(Schema::of_answer).transpose()?;
        let sent = goal.piped && goal.answer.is_some();
        let (agent, behind_goal) = answer::told(agent, shape.as_ref(), sent);
        let drive = Drive {
            station: &self.station,
            tasks,
            time: Time {
                until,
                cut_off: AtomicBool::new(false),
                turns: earlier.turns,
            },
            run: &goal.run,
            surface: goal.surface,
            agent: &agent,
            models: Models {
                all: models,
                tiers: &self.chains.tiers,
                run: goal.models.clone(),
            },
            engines: &self.kept,
            known,
            brought,
            shape,
            told: Told {
                context: tokio::sync::Mutex::new(earlier.context(&records)),
                summariser,
                behind_goal,
            },
        };
        let started = self.started(&goal, earlier);
        let pursued = match caught(drive.pursue(started, &records)).await {
            Err(error) if error.code() == Code::Bug => drive.broke(error).await?,
            pursued => pursued?,
        };
        match pursued {
            Pursued::Ended(answer) => {
                hold.end();
                self.kept.attached.drop_of(&goal.run);
                Ok(answer)
            }
            Pursued::Left(why) => {
                self.leave(&hold, &goal.run).await?;
                Ok(Err(why))
            }
        }
    }

    /// What the run knows of values: what was typed in it and in its session before, and what it has come to hold.
    fn known_to(
        &self,
        goal: &Goal,
        agent: &Agent,
        (earlier, records): (&mut Earlier, &[Record]),
    ) -> Known {
        let mut typed: Vec<String> = goal.said().map(str::to_owned).into_iter().collect();
        typed.push(agent.instructions.clone());
        typed.append(&mut earlier.typed);
        let before = known::Before {
            typed: &typed,
            vouched: &goal.vouch,
            heard: std::mem::take(&mut earlier.heard),
            handles: std::mem::take(&mut earlier.handles),
            files: &goal.with.files,
        };
        known::known_after(
            &self.station,
            (Led::ByModel, known::judging(&self.station, &agent.tools)),
            before,
            records,
        )
    }

    fn started(&self, goal: &Goal, earlier: Earlier) -> Started {
        Started {
            surface: goal.surface,
            subject: goal.agent.clone(),
            goal: goal.text.clone(),
            label: goal.label(),
            narrowed: goal.narrowed(),
            ask_expires_ms: self.policy().asks.expires_ms,
            session: earlier.place,
            forked: None,
            attached: goal.with.files.clone(),
            traced: self.traced_with(),
        }
    }

    /// What a run needs for what it holds, or may come to keep, is its agent's as well. `holds` says whether it begins with
    /// something that is held.
    pub(super) fn equip(&self, tools: &mut Vec<Pattern>, known: &Known, holds: bool) {
        if holds || known.how.hold != Holding::Never {
            tools.extend(Pattern::try_from(format!("{PLUGIN}.*")));
        } else if self.keeps(tools) {
            tools.extend(Pattern::try_from(READ.to_owned()));
        }
    }

    /// Whether a long outcome of one of its tools is kept, to be read part by part (G-29).
    fn keeps(&self, tools: &[Pattern]) -> bool {
        let caps = &self.policy().inbound.caps;
        let tools = self
            .station
            .catalog
            .told(tools, self.policy(), Surface::Cli);
        let keeps = |how: Truncation| caps.how(how) == Truncation::Spill;
        tools
            .iter()
            .any(|tool| keeps(tool.declared.conduct.truncation))
    }

    /// When the time of a run is over, by the steady time of this process: it runs from its beginning, in whichever life
    /// that was. What a wall clock shows is asked once, when the run is taken up.
    fn until(&self, agent: &Agent, records: &[Record]) -> Option<u64> {
        let begun = records.first().map(|first| first.at);
        let clock = self.journal().clock();
        let passed = begun.map_or(0, |begun| clock.now_ms().saturating_sub(begun));
        let rest_ms = agent.pace.run_timeout_ms?.saturating_sub(passed);
        Some(clock.steady_ms().saturating_add(rest_ms))
    }

    pub(super) fn agent_named(&self, name: &str) -> Result<&Agent> {
        self.agents.get(name).ok_or_else(|| {
            let unknown = Error::not_found(format!("agent `{name}`"));
            unknown.hint(names_of("agents", self.agents.keys()))
        })
    }

    pub(super) fn agent(&self, goal: &Goal) -> Result<Agent> {
        let agent = self.agent_named(&goal.agent)?;
        let mut agent = if goal.tools.is_empty() {
            agent.clone()
        } else {
            agent.narrowed(&goal.tools)?
        };
        agent.calling = goal.calling.unwrap_or(agent.calling);
        agent.caps = agent.caps.narrowed(goal.most.tokens, goal.most.cost_micros);
        agent.answer = goal.answer.clone().or(agent.answer);
        Ok(agent)
    }
}

fn names_of<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        format!("there are no {what} in the configuration")
    } else {
        format!("{what}: {}", names.join(", "))
    }
}
