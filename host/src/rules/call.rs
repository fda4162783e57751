//! Rule for calls: may this tool run, for this caller, with these arguments?

pub mod confirm;
pub(crate) mod foreseen;

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use self::confirm::Standing;
use super::caller::{Bearing, Caller, Judging, Origin};
use super::flow::handles::ADOPT;
use super::flow::lines::Mode;
use super::flow::{self, Point, Weighing, verbatim};
use super::grant::{Access, Grant};
use super::manifest::{Declared, EffectClass, Visibility};
use super::policy::Policy;
use super::schema::Args;
use super::{Allowed, Consent, Durability, Effect, deny, deny_unless, file};
use crate::words::event::{Classes, Content, Denial, EffectKind};
use crate::words::id::{Digest, ToolName};
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::limits::{ARGS_BYTES, CALL_DEPTH};
use crate::words::message::WishedArgs;

/// A tool runs.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which tool.
    pub tool: ToolName,
    /// Of which component, by digest: a replaced component is another call.
    pub component: Digest,
    /// What it declared.
    pub declared: Arc<Declared>,
    /// What its guest may touch: policy × manifest.
    pub grant: Arc<Grant>,
    /// With what.
    pub args: Args,
    /// What the arguments bring along that the caller has not read: labels of handles.
    pub held: Label,
    /// Where handles stood in the arguments, as pointers.
    pub places: Vec<String>,
    /// Those of them where a file stood that the user has attached: of what it holds only what steers stands on record.
    pub attached: Vec<String>,
    /// The arguments as they were wished, with handles in them; nothing where there were none.
    pub wish: Option<Value>,
}

/// What an allowance of a call entails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Its guest may make files in this mount alone, and change none.
    pub create_in: Option<Arc<str>>,
    /// What was judged with it bears this label: what it began with, and the files that it names. Nothing where it only
    /// looks: nobody asks there.
    pub judged: Label,
}

impl Within {
    /// What the call is for, to its guest.
    #[must_use]
    pub fn bearing(&self, declared: &Declared) -> Bearing {
        match declared.is_sink() {
            false => Bearing::Looks,
            true => Bearing::Acts {
                judged: self.judged.clone(),
                read: Label::default(),
            },
        }
    }

    /// What a guest may touch under these terms.
    #[must_use]
    pub fn narrow(&self, grant: &Arc<Grant>) -> Arc<Grant> {
        let Some(only) = &self.create_in else {
            return grant.clone();
        };
        let mut narrow = Grant::clone(grant);
        narrow.plain_names = true;
        for mount in &mut narrow.mounts {
            let most = if mount.mount == *only {
                Access::Create
            } else {
                Access::Read
            };
            mount.access = mount.access.min(most);
        }
        Arc::new(narrow)
    }
}

impl Effect for Call {
    const KIND: EffectKind = EffectKind::Call;
    type Terms = Within;

    fn subject(&self) -> String {
        self.tool.to_string()
    }

    fn component(&self) -> Option<Digest> {
        Some(self.component)
    }

    fn content(&self) -> Content {
        Content::Inline(self.wish.as_ref().unwrap_or(self.args.value()).clone())
    }

    fn given(&self, caller: &Caller, policy: &Policy) -> BTreeMap<String, String> {
        flow::attached::steering(self, caller, policy)
    }

    fn passes_on(&self) -> bool {
        true
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<Within>, Denial> {
        admits(&self.tool, &self.declared, caller, policy)?;
        if caller.depth >= CALL_DEPTH {
            return Err(deny(
                "depth",
                format!("tools may call tools {CALL_DEPTH} deep, and this would be deeper"),
            ));
        }
        policy.wards.permit(&self.tool, caller)?;
        let rule = self.check_risk(caller, policy)?;
        flow::check_secret(self, caller, policy)?;
        let flagged = verbatim::guard(self, caller, policy)?;
        let (mut weighing, notice) = self.weigh(caller, policy)?;
        let mut open = mem::take(&mut weighing.open);
        let standing = Standing::of(self, caller, policy);
        let lines = self.last_lines((caller, policy), &open, &standing);
        let asked_by = self.asked_by(policy, &open, &standing);
        if asked_by.is_some() {
            self.check_files(caller, policy)?;
        }
        if asked_by.is_some() && self.tool.as_str() != ADOPT {
            flow::check_handed(self)?;
            open.extend(flow::handed(self, caller, &policy.flows.classes));
        }
        let consent = match asked_by {
            None => Consent::NotNeeded,
            Some(line) => Consent::Needed {
                rule: line,
                bound_to: self.bound_to(&policy.flows.classes),
                open,
                lines,
            },
        };
        let terms = Within {
            create_in: weighing.create_in,
            judged: match self.declared.is_sink() {
                true => flow::judged_with(self, caller, policy),
                false => Label::default(),
            },
        };
        Ok(Allowed {
            rule: format!("{rule}{notice}{flagged}{standing}"),
            terms,
            consent,
            weighed: weighing.weighed,
        })
    }

    fn records(&self, caller: &Caller, policy: &Policy) -> Vec<String> {
        flow::headings(self, caller, policy)
    }

    fn classes(&self) -> Option<Classes> {
        Some(Classes {
            effect: self.declared.effect.word().to_owned(),
            risk: self.declared.risk.word().to_owned(),
        })
    }

    fn durability(&self) -> Durability {
        match self.declared.effect {
            // What somebody outside was told stands on record before.
            EffectClass::Pure | EffectClass::ReadOnly if self.declared.outside => {
                Durability::Committed
            }
            EffectClass::Pure | EffectClass::ReadOnly => Durability::Batched,
            EffectClass::SideEffecting
            | EffectClass::ExternalStateful
            | EffectClass::Destructive
                if self.declared.conduct.idempotent =>
            {
                Durability::Committed
            }
            EffectClass::SideEffecting
            | EffectClass::ExternalStateful
            | EffectClass::Destructive => Durability::Synced,
        }
    }
}

impl Call {
    /// Weighs a sink where the run's flows are judged. In shadow, and for a sink that is released, nothing is
    /// asked; what would have been stands in the notice.
    fn weigh(&self, caller: &Caller, policy: &Policy) -> Result<(Weighing, String), Denial> {
        let mode = caller.judging_over(&policy.flows, &self.held);
        if self.tool.as_str() == ADOPT {
            let open = vec![flow::adopting(self, caller, &policy.flows.classes)?];
            let weighing = Weighing {
                open,
                ..Weighing::default()
            };
            return Ok((weighing, String::new()));
        }
        // Where nothing is granted to do harm with, a person is not asked about what will be refused anyway.
        let idle = caller.known.how.mode == Judging::Tainted && flow::is_idle(self, &policy.flows);
        if mode == Judging::Off || idle || !self.declared.is_sink() {
            return Ok((Weighing::default(), String::new()));
        }
        let weighed = flow::weigh(self, caller, policy);
        let Some(silent) = policy.flows.silent(mode, Some(&self.tool)) else {
            return weighed.map(|weighing| (weighing, String::new()));
        };
        let mut weighing = match weighed {
            Ok(weighing) => weighing,
            Err(denial) if mode == Judging::Shadow => {
                return Ok((Weighing::default(), format!("{silent}: {}", denial.reason)));
            }
            // A sink is released from questions, and from nothing else.
            Err(denial) => return Err(denial),
        };
        let open = mem::take(&mut weighing.open);
        let reasons: Vec<String> = open.into_iter().map(|open| open.reason).collect();
        if reasons.is_empty() {
            return Ok((weighing, String::new()));
        }
        // What would have been asked about could have been answered with yes.
        weighing.create_in = None;
        Ok((weighing, format!("{silent}: {}", reasons.join("; "))))
    }

    /// Whose wish it is that a person says so as well. The tool's own comes first: it stands whatever becomes of
    /// the others.
    fn asked_by(&self, policy: &Policy, open: &[Point], standing: &Standing) -> Option<String> {
        if self.declared.conduct.needs_approval {
            return Some("`needs_approval` of its manifest".to_owned());
        }
        match (policy.ask_line(&self.tool), open.is_empty()) {
            (Some(line), _) => Some(line),
            // No file need say so.
            (None, false) if policy.flows.mode == Mode::Auto => {
                Some("`[flow] mode = \"auto\"`, which is the default".to_owned())
            }
            (None, false) => Some(format!("`[flow]` in {}", policy.origin)),
            (None, true) if *standing == Standing::Open => {
                Some(confirm::rule(&self.declared).to_owned())
            }
            (None, true) => None,
        }
    }

    /// Lines that would make a question the last of its kind. What cannot be undone and somebody untrusted may have
    /// wished is asked about each time, so none is offered for it; and no line is an answer to what the tool itself asks
    /// for.
    fn last_lines(
        &self,
        (caller, policy): (&Caller, &Policy),
        open: &[Point],
        standing: &Standing,
    ) -> Vec<String> {
        if self.declared.conduct.needs_approval {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if self.declared.effect != EffectClass::Destructive {
            lines.extend(open.iter().map(|open| open.line.clone()));
            let asked = policy
                .asks
                .tools
                .iter()
                .find(|line| line.matches(&self.tool));
            lines.extend(asked.map(|line| format!("# leave out: ask = [\"{line}\"]")));
            if !open.is_empty() {
                lines.extend(flow::new_files_line(self, caller, policy));
            }
        }
        // Of what takes something away, the line is an answer where nothing else asks.
        let alone = open.is_empty() && policy.ask_line(&self.tool).is_none();
        let confirming = alone || self.declared.effect != EffectClass::Destructive;
        if *standing == Standing::Open && confirming {
            lines.push(format!("confirmed = [\"{}\"]", self.tool));
        }
        lines.retain(|line| !line.is_empty());
        lines.dedup();
        lines
    }

    /// Nobody is asked about what could do nothing after a yes: a file that lies in no mount of the tool. A tool that also
    /// reaches out may mean a file elsewhere, and so does one that has no mounts and wants none; of these nothing is known,
    /// nor which arguments are files where nobody has said.
    fn check_files(&self, caller: &Caller, policy: &Policy) -> Result<(), Denial> {
        if self.grant.mounts.is_empty() && self.declared.wants.mounts == Access::None {
            return Ok(());
        }
        let paths = flow::files(self, caller, policy);
        paths
            .iter()
            .try_for_each(|path| file::check_mount((&self.tool, &self.grant), policy, path))
    }

    /// All that an answer is bound to, beside the run and the place in it.
    fn bound_to(&self, classes: &flow::class::Classes) -> Vec<String> {
        let args = self.wish.as_ref().unwrap_or(self.args.value());
        let mut bound = vec![
            self.tool.to_string(),
            self.component.to_string(),
            super::json::canonical(args),
        ];
        // No digest of what is secret stands in a record, and of a file that was given to the run a replay has no bytes.
        let is_secret = classes.is_secret(&self.held);
        let places = self.places.iter().filter(|_| !is_secret);
        for place in places.filter(|place| !self.attached.contains(place)) {
            let held = self.args.value().pointer(place).map(super::json::canonical);
            bound.push(place.clone());
            bound.push(held.unwrap_or_default());
        }
        bound
    }

    fn check_risk(&self, caller: &Caller, policy: &Policy) -> Result<String, Denial> {
        let risk = self.declared.risk;
        if policy.risks.contains(&risk) {
            return Ok(format!("tools of class {} need no line", risk.word()));
        }
        policy.line_for(&self.tool, risk).ok_or_else(|| {
            let lines = foreseen::granting(self, caller, policy);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            deny_unless(
                &format!("{}_disabled", risk.word()),
                format!(
                    "`{}` is of class {}, and no line of {} is about {}",
                    self.tool,
                    risk.word(),
                    policy.origin,
                    if risk.word() == "high_risk" {
                        "it alone"
                    } else {
                        "it"
                    }
                ),
                &lines,
            )
        })
    }
}

/// What the record of a wish keeps of its arguments before they have fitted a schema: in full what
/// could fit one.
#[must_use]
pub fn wished(args: &WishedArgs) -> Content {
    let bytes = match args {
        WishedArgs::Json(value) => json_bytes(value),
        WishedArgs::Broken(text) => text.len(),
    };
    match args {
        WishedArgs::Json(value) if bytes <= ARGS_BYTES => Content::Inline(value.clone()),
        WishedArgs::Json(_) | WishedArgs::Broken(_) => Content::Size { bytes },
    }
}

/// Whether a tool is for this caller at all, whatever the arguments: the blocklist before everything,
/// then the caller's reach, then who may see the tool.
///
/// # Errors
/// The denial.
pub fn admits(
    tool: &ToolName,
    declared: &Declared,
    caller: &Caller,
    policy: &Policy,
) -> Result<(), Denial> {
    check_block(tool, policy)?;
    check_reach(tool, caller)?;
    check_visibility(tool, declared, caller)
}

fn check_block(tool: &ToolName, policy: &Policy) -> Result<(), Denial> {
    match policy.block.iter().find(|line| line.matches(tool)) {
        None => Ok(()),
        Some(line) => Err(deny(
            "blocked_tool",
            format!(
                "`{}` is blocked by `block = [\"{line}\"]` in {}",
                tool, policy.origin
            ),
        )),
    }
}

fn check_reach(tool: &ToolName, caller: &Caller) -> Result<(), Denial> {
    if caller.reach.iter().any(|line| line.matches(tool)) {
        return Ok(());
    }
    let reason = format!(
        "`{}` is not among the tools that this {} may call",
        tool,
        caller_word(caller)
    );
    Err(match &caller.origin {
        Origin::Tool(by) => deny_unless(
            "not_granted",
            reason,
            &[
                &format!("[grants.\"{by}\"]"),
                &format!("calls = [\"{}\"]", tool),
            ],
        ),
        Origin::Client | Origin::Model | Origin::Host | Origin::Script => deny_unless(
            "not_granted",
            reason,
            &[&format!("tools = [\"{}\"]   # of the agent", tool)],
        ),
    })
}

fn check_visibility(tool: &ToolName, declared: &Declared, caller: &Caller) -> Result<(), Denial> {
    let remote = caller.surface.is_remote();
    let (open, why) = match (declared.offer.visibility, &caller.origin) {
        // The host itself calls the tools that policy puts around calls.
        (Visibility::Public, _) | (Visibility::Private, Origin::Tool(_) | Origin::Host) => {
            (true, "")
        }
        (Visibility::Local, _) => (!remote, "is only for this machine, not for HTTP or MCP"),
        // A script speaks for whoever wrote it: a model, or a person.
        (Visibility::Private, Origin::Client | Origin::Model | Origin::Script) => {
            (false, "is only for other tools to call")
        }
        (Visibility::User, Origin::Client) if !caller.surface.is_for_models() => (true, ""),
        (Visibility::User, _) => (
            false,
            "is only for a person to call, never for a model or a script",
        ),
    };
    if open {
        Ok(())
    } else {
        Err(deny("visibility", format!("`{}` {why}", tool)))
    }
}

fn caller_word(caller: &Caller) -> String {
    match &caller.origin {
        Origin::Client => "client".to_owned(),
        Origin::Model => "agent".to_owned(),
        Origin::Host => "host".to_owned(),
        Origin::Script => "script".to_owned(),
        Origin::Tool(by) => format!("tool (`{by}`)"),
    }
}

#[cfg(test)]
mod tests;
