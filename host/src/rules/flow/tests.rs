//! Design §5, sentence by sentence: each with what must pass and what must be refused.

mod anybody;
mod approval;
mod content;
mod elsewhere;
mod ending;
mod evasions;
mod headings;
mod held;
mod laws;
mod outward;
mod records;
mod witness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::handles::Handles;
use super::kind::Kind;
use super::ledger::{Behind, Ledger};
use super::lines::{Browse, Flows, Holding, Named, ToolFlow};
use crate::rules::call::Call;
use crate::rules::caller::{Bearing, Budget, Caller, How, Judging, Known, Led, Origin};
use crate::rules::grant::{Access, Destination, Grant, MountGrant, Pattern};
use crate::rules::manifest::{Declared, Risk};
use crate::rules::policy::{Mount, Policy, Room};
use crate::rules::questions::Questions;
use crate::rules::schema::Args;
use crate::rules::{Allowed, Consent, Effect};
use crate::words::clock::Deadline;
use crate::words::event::{Denial, Read, Surface};
use crate::words::id::{Digest, Place, QuestionId, RunId, ToolName};
use crate::words::label::{Label, Source};

/// What a policy says, as far as flows go; the file's own reader is a layer above.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    me: BTreeSet<String>,
    vouch: BTreeSet<String>,
    common: BTreeSet<Kind>,
    release: Vec<Pattern>,
    strict: bool,
    browse: Browse,
    own: BTreeSet<String>,
    trust: BTreeSet<String>,
    tools: BTreeMap<String, ToolFlow>,
}

/// What the tables below speak of.
const POLICY: &str = r#"
me = ["me@own.test"]
vouch = ["ACC-1"]
common = ["name"]
own = ["docs", "work"]
trust = ["mail", "files", "text", "bank", "people", "cal", "site"]

[tools."mail.read".records]
title = "title"
author = "from"
id = "id"
people = { from = "mail", to = "mail" }
trusted = { from_name = "name" }
vouches = { link = "url", account = "account", room = "value" }
[tools."mail.send"]
steering = { to = "mail", cc = "mail" }
content = ["title", "text"]
reply = "answers"
[tools."mail.delete"]
steering = { id = "id" }
[tools."mail.list".records]
at = "/letters/*"
author = "from"
vouches = { id = "id" }
[tools."people.find".records]
at = "/found/*"
own = true
vouches = { mail = "mail", name = "name", site = "url" }
[tools."bank.look".records]
at = "/payments/*"
author = "by"
asks = { account = "account", note = "name" }
[tools."bank.pay"]
steering = { account = "account", whom = "name" }
content = ["note"]
[tools."files.write"]
steering = { path = "file" }
content = ["content"]
[tools."files.move"]
steering = { source = "file", target = "file" }
[tools."files.remove"]
steering = { path = "file" }
[tools."files.read"]
steering = { path = "file" }
content = ["text"]
[tools."cal.add"]
content = ["text"]
naming = "title"
[tools."site.post"]
content = ["text"]
naming = "title"
"#;

/// One wish, and all that is known when it is judged.
struct Scene {
    policy: Policy,
    ledger: Ledger,
    label: Label,
    /// Under whose influence tools were called that have looked.
    led: Label,
    /// Who has had a hand in what they have read.
    hands: Label,
    mode: Judging,
    bearing: Bearing,
    origin: Origin,
}

/// What must come of a wish.
enum Expected<'a> {
    /// It is allowed; each steering argument, and words of its witness.
    Allow(&'a [(&'a str, &'a str)]),
    /// A person is asked; words of each reason, in order.
    Ask(&'a [&'a str]),
    /// It is denied by this rule.
    Deny(&'a str),
}
use Expected::{Allow, Ask, Deny};

/// Under whose influence: nobody's but the user's; a stranger's; the user's own files'; a stranger's who
/// wrote into a private place; a secret's.
const CLEAN: &str = "user";
const WEB: &str = "user web:https://evil.test";
const OWN: &str = "user file:docs";
const MAIL: &str = "user file:mail";
const SECRET: &str = "user secret:token";

fn scene(typed: &[&str], label: &str) -> Scene {
    scene_of(POLICY, typed, label)
}

fn scene_of(policy: &str, typed: &[&str], label: &str) -> Scene {
    let written: Written = toml::from_str(policy).unwrap();
    let mut ledger = Ledger::default();
    typed.iter().for_each(|text| ledger.typed(text));
    Scene {
        policy: policy_of(written),
        ledger,
        label: label_of(label),
        led: label_of(CLEAN),
        hands: Label::default(),
        mode: Judging::Enforce,
        bearing: Bearing::Looks,
        origin: Origin::Model,
    }
}

fn policy_of(written: Written) -> Policy {
    let mut flows = Flows {
        browse: written.browse,
        strict: written.strict,
        named: Named {
            vouched: written.vouch,
            me: written.me,
        },
        common: written.common,
        release: written.release,
        ..Flows::default()
    };
    flows.classes.own_mounts = written.own;
    flows.classes.trusted_plugins = written.trust;
    for (tool, said) in written.tools {
        flows.tools.insert(name(&tool), said);
    }
    let mut policy = Policy::nothing("test");
    policy.flows = flows;
    policy.risks.insert(Risk::HighRisk);
    for (mount, workspace) in [("docs", false), ("mail", false), ("work", true)] {
        let access = Access::Write;
        let marked = Mount {
            access,
            workspace,
            room: Room::default(),
            inside: Arc::default(),
        };
        policy.mounts.insert(mount.into(), marked);
    }
    policy
}

fn name(tool: &str) -> ToolName {
    ToolName::parse(tool).unwrap()
}

fn label_of(text: &str) -> Label {
    text.split_whitespace()
        .map(|word| Source::try_from(word.to_owned()).unwrap())
        .fold(Label::default(), |label, source| label.with(source))
}

/// The sinks of the tables: what they do, and the names of their own properties.
fn declared(tool: &str) -> Declared {
    let (effect, properties) = match tool {
        "mail.send" => ("external-stateful", "to cc title text answers"),
        "mail.delete" => ("destructive", "id to"),
        "mail.comment" => ("external-stateful", "doc room notify priority text"),
        "site.comment" => ("external-stateful", "doc to text"),
        "files.write" => ("side-effecting", "path content"),
        "files.read" => ("read-only", "path text"),
        "mail.attach" => ("external-stateful", "path"),
        "files.move" => ("side-effecting", "source target"),
        "files.remove" => ("destructive", "path"),
        "bank.pay" => ("external-stateful", "account whom note amount"),
        "cal.add" => ("side-effecting", "title text"),
        "cal.clear" => ("destructive", ""),
        "site.post" => ("external-stateful", "title text"),
        "other.act" | "third.act" => ("side-effecting", "to text flag"),
        "text.count" | "other.look" => ("read-only", "text"),
        other => panic!("{other} is in no table"),
    };
    let properties: serde_json::Map<String, Value> = properties
        .split_whitespace()
        .map(|name| (name.to_owned(), json!({})))
        .collect();
    let manifest = json!({
        "name": tool, "description": "", "input": {"properties": properties}, "output": {},
        "effect": effect, "risk": "high_risk", "flow": {"content": ["text"], "steering": {"to": "mail"}},
        // What its manifest asks for is another matter than flows; see `rules/call/confirm`.
        "requires_confirmation": false,
    });
    serde_json::from_value(manifest).unwrap()
}

impl Scene {
    /// A tool of which policy knows the records has been called, and has read them among the letters.
    fn saw(self, tool: &str, args: Value, outcome: Value) -> Self {
        self.saw_in(("file:mail", ""), tool, args, outcome)
    }

    /// The same of one that has read what has this label, and was given handles of that one.
    fn saw_in(self, (read, held): (&str, &str), tool: &str, args: Value, outcome: Value) -> Self {
        self.saw_touched((read, held, &[]), tool, args, outcome)
    }

    /// The same of an outcome with records that somebody had a hand in: each by its id, and who.
    fn saw_touched(
        mut self,
        (read, held, touched): (&str, &str, &[(&str, &str)]),
        tool: &str,
        args: Value,
        outcome: Value,
    ) -> Self {
        let (mut read, held) = (Read::at(label_of(read)), label_of(held));
        read.learn(&self.hands);
        let touched = touched.iter();
        let touched = touched.map(|(id, label)| ((*id).to_owned(), label_of(label)));
        let all = self.label.join(&read.label).join(&held);
        let behind = Behind {
            read: &read,
            held: &held,
            all: &all,
            wished: &self.led,
            touched: &touched.collect(),
        };
        let said = (&outcome, behind);
        self.ledger
            .saw(&self.policy.flows, &name(tool), &args, said);
        self
    }

    /// From here on, these have had a hand in whatever is read.
    fn left_by(mut self, hands: &str) -> Self {
        self.hands = label_of(hands);
        self
    }

    /// From here on, a stranger may have said what to look for.
    fn led(mut self, by: &str) -> Self {
        self.led = label_of(by);
        self
    }

    fn mode(mut self, mode: Judging) -> Self {
        self.mode = mode;
        self
    }

    /// The wish comes out of a call of this tool, which is for that.
    fn inside(mut self, tool: &str, bearing: Bearing) -> Self {
        self.origin = Origin::Tool(name(tool));
        self.bearing = bearing;
        self
    }

    /// The wish comes out of a call of this sink, with which that was judged, and whose guest has read this.
    fn inside_sink(self, tool: &str, judged: &str, read: &str) -> Self {
        let (judged, read) = (label_of(judged), label_of(read));
        self.inside(tool, Bearing::Acts { judged, read })
    }

    fn caller(&self, granted: Grant) -> Caller {
        let known = (self.ledger.clone(), Handles::default());
        let how = How {
            led: Led::ByModel,
            mode: self.mode,
            hold: Holding::Never,
        };
        let known = Known::new(Questions::default(), known, how);
        Caller {
            run: RunId::known("run"),
            parent: 0,
            place: Place::default(),
            known: known.inside(self.bearing.clone()),
            surface: Surface::Cli,
            origin: self.origin.clone(),
            reach: Arc::new([Pattern::all()]),
            grant: Arc::new(granted),
            label: self.label.clone(),
            depth: 0,
            deadline: Deadline::after_ms(1_000),
            budget: Budget::of_calls(1),
        }
    }

    fn call(tool: &str, args: Value) -> Call {
        let mount = |mount: &str| MountGrant {
            mount: mount.into(),
            access: Access::Write,
        };
        Call {
            tool: name(tool),
            component: Digest::of(b"component"),
            declared: Arc::new(declared(tool)),
            grant: Arc::new(Grant {
                mounts: vec![mount("docs"), mount("work")],
                ..Grant::default()
            }),
            args: Args::own(args),
            places: Vec::new(),
            attached: Vec::new(),
            wish: None,
            held: Label::default(),
        }
    }

    fn judge(
        &self,
        tool: &str,
        args: Value,
    ) -> Result<Allowed<crate::rules::call::Within>, Denial> {
        Self::call(tool, args).judge(&self.caller(Grant::default()), &self.policy)
    }

    /// Judges one call, and compares.
    #[track_caller]
    fn check(self, tool: &str, args: Value, expected: Expected<'_>) -> Self {
        let about = format!("{tool} {args} under {}", self.label);
        match (self.judge(tool, args), expected) {
            (Err(denial), Deny(rule)) => assert_eq!(denial.rule, rule, "{about}"),
            (Ok(allowed), Allow(witnesses)) => {
                assert_eq!(allowed.consent, Consent::NotNeeded, "{about}");
                let found: Vec<(&str, &str)> = allowed
                    .weighed
                    .iter()
                    .map(|one| (one.argument.as_str(), one.witness.as_str()))
                    .collect();
                assert_eq!(found.len(), witnesses.len(), "{about}: {found:?}");
                for (argument, words) in witnesses {
                    let among = |(path, witness): &(&str, &str)| {
                        path == argument && !words.is_empty() && witness.contains(words)
                    };
                    assert!(found.iter().any(among), "{about}: {argument} in {found:?}");
                }
            }
            (Ok(allowed), Ask(reasons)) => {
                let Consent::Needed { open, .. } = &allowed.consent else {
                    panic!("{about} is not asked about: {:?}", allowed.weighed);
                };
                let said: Vec<&str> = open.iter().map(|open| open.reason.as_str()).collect();
                assert_eq!(said.len(), reasons.len(), "{about}: {said:?}");
                for (reason, words) in said.iter().zip(reasons) {
                    assert!(reason.contains(words), "{about}: {words} in {reason}");
                }
            }
            (got, _) => panic!("{about}: {got:?}"),
        }
        self
    }

    /// A person has said `always` to what this call asks.
    fn answered(mut self, tool: &str, args: Value) -> Self {
        let values = self.asked(tool, args);
        assert!(!values.is_empty());
        values
            .into_iter()
            .for_each(|value| self.ledger.answered(value));
        self
    }

    /// The values that an answer to this call would be about.
    fn asked(&self, tool: &str, args: Value) -> Vec<QuestionId> {
        match self.judge(tool, args).unwrap().consent {
            Consent::Needed { open, .. } => {
                open.into_iter().filter_map(|open| open.value).collect()
            }
            Consent::NotNeeded => Vec::new(),
        }
    }
}

/// A grant of requests to one place.
fn reaching(url: &str, methods: &[&str]) -> Grant {
    Grant {
        fetch: vec![Destination::parse(url, methods, false).unwrap()],
        ..Grant::default()
    }
}
