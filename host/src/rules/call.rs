//! Rule for calls: may this tool run, for this caller, with these arguments?

use std::sync::Arc;

use super::caller::{Caller, Origin};
use super::grant::{Grant, Pattern};
use super::manifest::{Declared, EffectClass, Visibility};
use super::policy::Policy;
use super::schema::Args;
use super::{Allowed, Durability, Effect, deny, deny_unless};
use crate::words::event::{Content, Denial, EffectKind, Surface};
use crate::words::id::{Digest, ToolName};
use crate::words::limits::CALL_DEPTH;

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
}

impl Effect for Call {
    const KIND: EffectKind = EffectKind::Call;
    type Terms = ();

    fn subject(&self) -> String {
        self.tool.to_string()
    }

    fn content(&self) -> Content {
        Content::Inline(self.args.value().clone())
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<()>, Denial> {
        admits(&self.tool, &self.declared, caller, policy)?;
        if caller.depth >= CALL_DEPTH {
            return Err(deny(
                "depth",
                format!("tools may call tools {CALL_DEPTH} deep, and this would be deeper"),
            ));
        }
        let rule = self.check_risk(policy)?;
        Ok(Allowed { rule, terms: () })
    }

    fn durability(&self) -> Durability {
        match self.declared.effect {
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
    fn check_risk(&self, policy: &Policy) -> Result<String, Denial> {
        let risk = self.declared.risk;
        if policy.risks.contains(&risk) {
            return Ok(format!("tools of class {} need no line", risk.word()));
        }
        policy.line_for(&self.tool, risk).ok_or_else(|| {
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
                &[&format!("[grants.\"{}\"]", Pattern::exactly(&self.tool))],
            )
        })
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
        Origin::Client | Origin::Model | Origin::Host => deny_unless(
            "not_granted",
            reason,
            &[&format!("tools = [\"{}\"]   # of the agent", tool)],
        ),
    })
}

fn check_visibility(tool: &ToolName, declared: &Declared, caller: &Caller) -> Result<(), Denial> {
    let remote = matches!(
        caller.surface,
        Surface::Http | Surface::Mcp | Surface::AiSdk
    );
    let (open, why) = match (declared.offer.visibility, &caller.origin) {
        (Visibility::Public, _) | (Visibility::Private, Origin::Tool(_)) => (true, ""),
        (Visibility::Local, _) => (!remote, "is only for this machine, not for HTTP or MCP"),
        (Visibility::Private, Origin::Client | Origin::Model | Origin::Host) => {
            (false, "is only for other tools to call")
        }
        (Visibility::User, Origin::Client) => (true, ""),
        (Visibility::User, Origin::Model | Origin::Host | Origin::Tool(_)) => {
            (false, "is only for a person to call, never for a model")
        }
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
        Origin::Tool(by) => format!("tool (`{by}`)"),
    }
}
