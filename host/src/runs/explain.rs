//! Explaining: what the gate would say, without anything happening.

use serde_json::Value;

use super::host::Host;
use crate::guests::catalog::Tool;
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::grant::{Access, Pattern};
use crate::rules::manifest::Risk;
use crate::rules::policy::Policy;
use crate::rules::schema::{Args, Schema};
use crate::rules::{Consent, Effect, script};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Denial, Surface};
use crate::words::id::RunId;
use crate::words::label::{Label, Source};
use crate::words::message::WishedArgs;

/// What the gate would say to one effect.
#[derive(Debug)]
pub struct Explained {
    /// What it is about.
    pub subject: String,
    /// The rule that allows it, or the denial.
    pub verdict: Result<String, Denial>,
}

impl Host {
    /// What the gate would say to a call by a client, without making it: to the call itself, and to
    /// the addresses and paths among its arguments, if its guest asks for them.
    ///
    /// # Errors
    /// `UnknownTool`, `BadArgs`.
    pub fn explain(&self, tool: &str, args: &WishedArgs) -> Result<Vec<Explained>> {
        let tool = self.station.catalog.resolve(tool, &[Pattern::all()])?;
        let args = match args {
            WishedArgs::Json(value) => Args::check(value.clone(), tool.input()?)?,
            WishedArgs::Broken(_) => {
                return Err(Error::new(Code::BadArgs, "the arguments are not JSON"));
            }
        };
        let inner = Caller {
            origin: Origin::Tool(tool.name.clone()),
            grant: tool.grant.clone(),
            ..self.client(
                RunId::known("explain"),
                Surface::Cli,
                Label::of(Source::user()),
            )
        };
        let mut all = Vec::new();
        foresee(tool, args.value(), "", &mut |wish| {
            let (subject, verdict) = match wish {
                Foreseen::Fetch(fetch) => (fetch.subject(), rule_of(&fetch, &inner, self.policy())),
                Foreseen::File(file) => (file.subject(), rule_of(&file, &inner, self.policy())),
            };
            all.push(Explained { subject, verdict });
        });
        all.insert(0, self.judged(tool, args));
        Ok(all)
    }

    /// The same for a tool, whatever its arguments: no rule of this version looks at them.
    ///
    /// # Errors
    /// `UnknownTool`.
    pub fn explain_tool(&self, tool: &str) -> Result<Vec<Explained>> {
        if tool == script::TOOL {
            return Ok(vec![self.judged_call(&self.station.scripts.call(""))]);
        }
        let tool = self.station.catalog.resolve(tool, &[Pattern::all()])?;
        let any = Schema::compile(Value::Bool(true))?;
        Ok(vec![self.judged(tool, Args::check(Value::Null, &any)?)])
    }

    fn judged(&self, tool: &Tool, args: Args) -> Explained {
        self.judged_call(&Call {
            tool: tool.name.clone(),
            component: tool.plugin.digest,
            declared: tool.declared.clone(),
            grant: tool.grant.clone(),
            args,
            held: Label::default(),
            wish: None,
        })
    }

    fn judged_call(&self, call: &Call) -> Explained {
        let caller = self.client(
            RunId::known("explain"),
            Surface::Cli,
            Label::of(Source::user()),
        );
        Explained {
            subject: call.subject(),
            verdict: rule_of(call, &caller, self.policy()),
        }
    }
}

/// An effect that a call's arguments make likely.
enum Foreseen {
    Fetch(Fetch),
    File(File),
}

fn rule_of<E: Effect>(effect: &E, caller: &Caller, policy: &Policy) -> Result<String, Denial> {
    let allowed = effect.judge(caller, policy)?;
    Ok(match allowed.consent {
        Consent::NotNeeded => allowed.rule,
        Consent::Needed { rule, .. } => {
            format!("{}, and a person is asked first ({rule})", allowed.rule)
        }
    })
}

/// Finds addresses among the arguments, and paths where the tool wants files.
fn foresee(tool: &Tool, value: &Value, key: &str, see: &mut impl FnMut(Foreseen)) {
    let declared = &tool.declared;
    match value {
        Value::String(text)
            if declared.risk != Risk::ReadOnly
                && (text.starts_with("http://") || text.starts_with("https://")) =>
        {
            let method = if declared.effect.leaves_no_trace() {
                "GET"
            } else {
                "POST"
            };
            if let Ok(fetch) = Fetch::new(method, text, Vec::new(), Vec::new()) {
                see(Foreseen::Fetch(fetch));
            }
        }
        Value::String(text)
            if PATH_KEYS.contains(&key) && declared.wants.mounts != Access::None =>
        {
            let wish = match declared.wants.mounts {
                Access::Create | Access::Write => FileWish::Write {
                    bytes: Vec::new(),
                    mode: WriteMode::Replace,
                },
                Access::None | Access::Read => FileWish::Read {
                    offset: 0,
                    length: 0,
                },
            };
            see(Foreseen::File(File {
                path: text.clone(),
                label: Label::of(Source::user()),
                wish,
            }));
        }
        Value::Array(items) => items.iter().for_each(|item| foresee(tool, item, key, see)),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, item)| foresee(tool, item, key, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Names by which tools call their paths.
const PATH_KEYS: [&str; 7] = ["path", "paths", "file", "folder", "source", "target", "to"];
