//! Explaining: what the gate would say, without anything happening.

use serde_json::Value;

use super::host::Host;
use super::known::typed_in;
use super::offer::Offer;
use super::written::Written;
use crate::guests::catalog::Tool;
use crate::rules::agent::Agent;
use crate::rules::call::foreseen::{Wish, foresee_all};
use crate::rules::call::{Call, Within};
use crate::rules::caller::{Caller, Judging, Led, Origin};
use crate::rules::fetch::reason::Reason;
use crate::rules::file::File;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::flow::shape;
use crate::rules::grant::Pattern;
use crate::rules::manifest::SurfaceWord;
use crate::rules::schema::{Args, Schema};
use crate::rules::{Effect, script};
use crate::words::error::{Code, Error, Result};
use crate::words::event::texts::Cleaning;
use crate::words::event::{Denial, Surface, Verdict, Weighed};
use crate::words::id::RunId;
use crate::words::label::{Label, Source};
use crate::words::message::WishedArgs;

/// What the gate would say to one effect.
#[derive(Debug)]
pub struct Explained {
    /// What it is about.
    pub subject: String,
    /// The decision.
    pub verdict: Verdict,
    /// Of a sink whose flows are judged: each value that steers, and why it may.
    pub weighed: Vec<Weighed>,
    /// Of the same: the arguments that are content.
    pub content: Vec<String>,
    /// The argument whose name alone speaks for it: whether its guest will ask for this is not known.
    pub guessed: Option<String>,
}

impl Explained {
    fn of(subject: String, verdict: Verdict) -> Self {
        Self {
            subject,
            verdict,
            weighed: Vec::new(),
            content: Vec::new(),
            guessed: None,
        }
    }

    /// Whether it is refused, as far as is known.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.guessed.is_none() && matches!(self.verdict, Verdict::Deny(_))
    }

    /// Without what a record of it would not hold.
    pub fn clean(&mut self, with: &Cleaning<'_>) {
        (with.text)(&mut self.subject);
        self.verdict.clean(with);
        self.weighed.iter_mut().for_each(|one| one.clean(with));
        self.content.iter_mut().for_each(with.text);
    }
}

/// Who would wish, and under which influence.
#[derive(Clone, Debug)]
pub struct Influence {
    /// By which way in.
    pub surface: Surface,
    /// Whether a model would, and not a person at the command line, who types arguments with their own hands.
    pub by_model: bool,
    /// Whose model, by the name of its agent; any of the configuration where it says nothing.
    pub agent: Option<String>,
    /// What has had influence, beside the user.
    pub sources: Vec<Source>,
    /// What the user typed before.
    pub goal: String,
    /// Values that the user vouches for, each as a whole.
    pub vouch: Vec<String>,
    /// How a person's arguments came.
    pub written: Written,
}

impl Influence {
    fn typed(&self, args: &Value) -> Vec<String> {
        let mut typed = vec![self.goal.clone()];
        if !self.by_model {
            typed.extend(typed_in(&self.written.label(), args));
        }
        typed
    }

    fn label(&self) -> Label {
        let own = self.written.label();
        let sources = self.sources.iter().cloned();
        sources.fold(own, |label, source| label.with(source))
    }
}

impl Host {
    /// What the gate would say to a call, without making it: to the call itself, and to the addresses and
    /// paths among its arguments, if its guest asks for them.
    ///
    /// # Errors
    /// `UnknownTool`, `BadArgs`.
    pub fn explain(
        &self,
        tool: &str,
        args: &WishedArgs,
        under: &Influence,
    ) -> Result<Vec<Explained>> {
        let tool = self.station.catalog.resolve(tool, &[Pattern::all()])?;
        let args = match args {
            WishedArgs::Json(value) => Args::check(value.clone(), tool.input()?)?,
            WishedArgs::Broken(_) => {
                return Err(Error::new(Code::BadArgs, "the arguments are not JSON"));
            }
        };
        let caller = self.wisher(under, args.value())?;
        let call = call_of(tool, args);
        if !tool
            .declared
            .offer
            .surfaces
            .contains(&SurfaceWord(under.surface))
        {
            let reason = format!(
                "it is not offered on the surface `{}`",
                under.surface.word()
            );
            let denial = Denial {
                rule: Code::BadSurface.envelope().to_owned(),
                reason,
                allow: Vec::new(),
            };
            return Ok(vec![Explained::of(call.subject(), Verdict::Deny(denial))]);
        }
        Ok(self.judged_with_more(&call, caller))
    }

    /// A call, and what its guest is likely to ask for.
    fn judged_with_more(&self, call: &Call, caller: Caller) -> Vec<Explained> {
        let (judged, within) = self.judged_call(call, &caller);
        let mut all = vec![judged];
        let inner = Caller {
            origin: Origin::Tool(call.tool.clone()),
            grant: call.grant.clone(),
            known: caller.known.inside(within.bearing(&call.declared)),
            ..caller
        };
        for foreseen in foresee_all(call, &self.policy().flows) {
            let explained = match foreseen.wish {
                Wish::Fetch(fetch) => {
                    let verdict = self.verdict(&fetch, &inner);
                    Some(Explained::of(fetch.subject(), verdict))
                }
                Wish::File(files) => self.verdict_of_any(&files, &inner),
                // Which note it will be is for its guest to say.
                Wish::Keep(keep) => {
                    let verdict = self.verdict(&keep, &inner);
                    let word = if keep.passes_on() { "write" } else { "read" };
                    Some(Explained::of(format!("{word} notes"), verdict))
                }
                Wish::Unfit(text, error) => {
                    Some(Explained::of(text, Verdict::Deny(Reason::unfit(&error))))
                }
            };
            all.extend(explained.map(|explained| Explained {
                guessed: foreseen.guessed,
                ..explained
            }));
        }
        all
    }

    /// The same for a tool, whatever its arguments: what looks at them is left out.
    ///
    /// # Errors
    /// `UnknownTool`.
    pub fn explain_tool(&self, tool: &str) -> Result<Vec<Explained>> {
        let caller = self.client(
            RunId::known("explain"),
            Surface::Cli,
            Label::of(Source::user()),
        );
        if tool == script::TOOL {
            return Ok(vec![
                self.judged_call(&self.station.scripts.call(""), &caller).0,
            ]);
        }
        let tool = self.station.catalog.resolve(tool, &[Pattern::all()])?;
        let any = Schema::compile(Value::Bool(true))?;
        let call = call_of(tool, Args::check(Value::Null, &any)?);
        Ok(self.judged_with_more(&call, caller))
    }

    /// Which arguments of a tool steer, which are content, and what its outcomes are good for.
    ///
    /// # Errors
    /// `UnknownTool`.
    pub fn flow_of(&self, tool: &str) -> Result<ToolFlow> {
        let tool = self.station.catalog.resolve(tool, &[Pattern::all()])?;
        let any = Schema::compile(Value::Bool(true))?;
        let call = call_of(tool, Args::check(Value::Null, &any)?);
        Ok(shape::about(&call, &self.policy().flows))
    }

    fn wisher(&self, under: &Influence, args: &Value) -> Result<Caller> {
        let run = RunId::known("explain");
        let mut label = under.label();
        if under.by_model {
            label = label.join(&self.words_of_tools(under.agent.as_deref())?);
        }
        let caller = self.client(run, under.surface, label);
        let (origin, led) = match under.by_model {
            true => (Origin::Model, Led::ByModel),
            false => (Origin::Client, Led::ByClient),
        };
        let mut known = self.knows(&under.typed(args), &[]);
        known.how.led = led;
        let vouched = under.vouch.iter();
        vouched.for_each(|value| known.ledger().named(value));
        Ok(Caller {
            origin,
            known,
            ..caller
        })
    }

    /// Who is behind what a model is shown of tools before it wishes anything: its run is under their influence
    /// from the first turn on. Where it is not said whose model, that of each agent.
    fn words_of_tools(&self, agent: Option<&str>) -> Result<Label> {
        let agents: Vec<&Agent> = match agent {
            Some(name) => vec![self.agent_named(name)?],
            None => self.agents().values().collect(),
        };
        let every = [Pattern::all()];
        if agents.is_empty() {
            let told = self
                .station
                .catalog
                .told(&every, self.policy(), Surface::Cli);
            let classes = &self.policy().flows.classes;
            return Ok(classes.of_words(told.iter().map(|tool| &tool.name)));
        }
        let offers = agents
            .into_iter()
            .map(|agent| Offer::new(&self.station, agent, Surface::Cli));
        Ok(offers.fold(Label::default(), |label, offer| label.join(offer.label())))
    }

    /// The first of several ways that is allowed; where none is, what is said of the first.
    fn verdict_of_any(&self, files: &[File], caller: &Caller) -> Option<Explained> {
        let mut judged = files
            .iter()
            .map(|file| Explained::of(file.subject(), self.verdict(file, caller)));
        let first = judged.next();
        let is_denied = |one: &Explained| matches!(one.verdict, Verdict::Deny(_));
        let allowed = match &first {
            Some(first) if is_denied(first) => judged.find(|one| !is_denied(one)),
            Some(_) | None => None,
        };
        allowed.or(first)
    }

    fn verdict<E: Effect>(&self, effect: &E, caller: &Caller) -> Verdict {
        self.station.gate.foresee(caller, effect).verdict
    }

    /// What is said of a call, and within what it would be made.
    fn judged_call(&self, call: &Call, caller: &Caller) -> (Explained, Within) {
        let foreseen = self.station.gate.foresee(caller, call);
        let mode = caller.judging(&self.policy().flows);
        let weighs = mode != Judging::Off && call.declared.is_sink();
        let judged = !matches!(foreseen.verdict, Verdict::Deny(_));
        // Also of a call that somebody is asked about: as it would be once they say yes.
        let within = call.judge(caller, self.policy());
        let within = within.map_or_else(|_| Within::default(), |allowed| allowed.terms);
        let explained = Explained {
            subject: call.subject(),
            content: if weighs && judged {
                shape::content(call, &foreseen.weighed)
            } else {
                Vec::new()
            },
            verdict: foreseen.verdict,
            weighed: foreseen.weighed,
            guessed: None,
        };
        (explained, within)
    }
}

/// A call of a tool of the catalog.
pub(super) fn call_of(tool: &Tool, args: Args) -> Call {
    Call {
        tool: tool.name.clone(),
        component: tool.digest(),
        declared: tool.declared.clone(),
        grant: tool.grant.clone(),
        args,
        held: Label::default(),
        places: Vec::new(),
        attached: Vec::new(),
        wish: None,
    }
}
