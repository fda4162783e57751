//! Who has to confirm what: origins, surfaces, manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::rules::caller::{Budget, Invocation, Known};
use crate::rules::flow::kind::Kind;
use crate::rules::flow::ledger::Behind;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::grant::Pattern;
use crate::rules::manifest::Risk;
use crate::rules::schema::Args;
use crate::rules::{Consent, Effect};
use crate::words::clock::Deadline;
use crate::words::event::Read;
use crate::words::id::{Digest, Place, RunId};
use crate::words::label::Label;

/// A call of a tool of this effect, whose manifest says this about confirmation.
fn call(effect: &str, said: Value) -> Call {
    let manifest = json!({
        "name": "act", "description": "", "effect": effect, "risk": "high_risk", "output": {},
        "input": {"type": "object", "properties": {"path": {"type": "string"}}},
        "requires_confirmation": said,
    });
    Call {
        tool: ToolName::parse("box.act").unwrap(),
        component: Digest::of(b"component"),
        declared: Arc::new(serde_json::from_value(manifest).unwrap()),
        grant: Arc::default(),
        args: Args::own(json!({"path": "old.txt"})),
        held: Label::default(),
        places: Vec::new(),
        attached: Vec::new(),
        wish: None,
    }
}

fn caller(origin: Origin, surface: Surface) -> Caller {
    Caller {
        run: RunId::known("run"),
        parent: 0,
        place: Place::default(),
        known: Known::default(),
        surface,
        origin,
        reach: Arc::new([Pattern::all()]),
        grant: Arc::default(),
        label: Label::default(),
        depth: 0,
        deadline: Deadline::after_ms(1_000),
        budget: Budget::of_calls(1),
    }
}

fn policy() -> Policy {
    let mut policy = Policy::nothing("test");
    policy.risks.insert(Risk::HighRisk);
    policy
}

/// Whether a client is turned away that has not confirmed this.
fn turned_away(call: &Call, surface: Surface, confirmed: bool) -> bool {
    let known = Known::default().asking(Invocation {
        confirmed,
        ..Invocation::default()
    });
    let caller = Caller {
        known,
        ..caller(Origin::Client, surface)
    };
    let error = unconfirmed(&call.tool, &call.declared, &caller);
    error.is_some_and(|error| error.code() == Code::Unconfirmed)
}

/// The rule that allows or asks.
fn judged(call: &Call, caller: &Caller, policy: &Policy) -> (String, bool) {
    let allowed = call.judge(caller, policy).unwrap();
    match allowed.consent {
        Consent::NotNeeded => (allowed.rule, false),
        Consent::Needed { rule, .. } => (rule, true),
    }
}

#[test]
fn a_client_confirms_where_nobody_else_asks() {
    let destructive = call("destructive", Value::Null);
    for surface in Surface::ALL {
        let exempt = [Surface::React, Surface::Dev].contains(&surface);
        assert_eq!(turned_away(&destructive, surface, false), !exempt);
        assert!(!turned_away(&destructive, surface, true));
    }
}

#[test]
fn what_is_destructive_inherits_it_unless_its_manifest_says_otherwise() {
    for (effect, said, asks) in [
        ("destructive", Value::Null, true),
        ("destructive", json!(false), false),
        ("destructive", json!(true), true),
        ("external-stateful", Value::Null, false),
        ("read-only", json!(true), true),
        ("pure", json!(false), false),
    ] {
        let call = call(effect, said.clone());
        assert_eq!(
            turned_away(&call, Surface::Json, false),
            asks,
            "{effect} {said}"
        );
    }
}

#[test]
fn the_record_says_who_has_confirmed() {
    let call = call("destructive", Value::Null);
    let rule = |origin, surface| judged(&call, &caller(origin, surface), &policy());
    let (text, asked) = rule(Origin::Client, Surface::Http);
    assert!(
        text.ends_with("; confirmed by the client") && !asked,
        "{text}"
    );
    for surface in [Surface::React, Surface::Dev] {
        let (text, asked) = rule(Origin::Client, surface);
        let by = format!("; confirmed by the surface `{}`", surface.word());
        assert!(text.ends_with(&by) && !asked, "{text}");
    }
    // Nobody asks there about what is called in a run.
    let tool = || Origin::Tool(ToolName::parse("other.act").unwrap());
    for surface in Surface::ALL {
        for origin in [Origin::Model, Origin::Script, tool(), Origin::Host] {
            let judged = rule(origin, surface);
            assert_eq!(judged, (asked_by(&call), true), "{}", surface.word());
        }
    }
    let plain = super::tests::call("destructive", json!(false));
    let (text, _) = judged(&plain, &caller(Origin::Model, Surface::Cli), &policy());
    assert!(!text.contains("confirmed"), "{text}");
}

fn asked_by(call: &Call) -> String {
    rule(&call.declared).to_owned()
}

/// By a key of its manifest where it has that, and else by what it does.
#[test]
fn who_asks_is_what_stands_in_the_manifest() {
    let said = call("destructive", Value::Bool(true));
    assert_eq!(asked_by(&said), "`requires_confirmation` of its manifest");
    let is = call("destructive", Value::Null);
    assert_eq!(
        asked_by(&is),
        "its manifest, which says that it is `destructive`"
    );
}

#[test]
fn what_nobody_has_confirmed_is_asked_and_a_line_lifts_that() {
    let call = call("destructive", Value::Null);
    let tool = Origin::Tool(ToolName::parse("other.act").unwrap());
    for origin in [Origin::Model, Origin::Script, tool, Origin::Host] {
        let caller = caller(origin, Surface::Cli);
        assert_eq!(judged(&call, &caller, &policy()), (asked_by(&call), true));
        let mut lifted = policy();
        lifted.asks.confirmed = vec![Pattern::exactly(&call.tool)];
        let (rule, asked) = judged(&call, &caller, &lifted);
        assert!(
            !asked && rule.ends_with("by `confirmed = [\"box.act\"]` in test"),
            "{rule}"
        );
        // Another tool's line is none for this one.
        lifted.asks.confirmed = vec![Pattern::exactly(&ToolName::parse("box.add").unwrap())];
        assert!(judged(&call, &caller, &lifted).1);
    }
}

#[test]
fn the_words_of_the_user_confirm_what_they_name() {
    let call = call("destructive", Value::Null);
    for (typed, asked) in [("Remove \"old.txt\".", false), ("Tidy up.", true)] {
        let caller = caller(Origin::Model, Surface::Cli);
        caller.known.ledger().typed(typed);
        let (rule, was_asked) = judged(&call, &caller, &policy());
        assert_eq!(was_asked, asked, "{typed}: {rule}");
    }
    // Without a value there is nothing that they could have named.
    let empty = Call {
        args: Args::own(json!({})),
        ..call
    };
    let caller = caller(Origin::Model, Surface::Cli);
    caller.known.ledger().typed("Remove everything.");
    assert!(judged(&empty, &caller, &policy()).1);
}

#[test]
fn that_a_value_stands_in_a_list_confirms_nothing() {
    let call = call("destructive", Value::Null);
    let list = ToolName::parse("box.list").unwrap();
    let path = || BTreeMap::from([("path".to_owned(), Kind::File)]);
    let mut vouching = ToolFlow::default();
    vouching.records.own = true;
    vouching.records.vouches = path();
    let steering = ToolFlow {
        steering: path(),
        ..ToolFlow::default()
    };
    let mut policy = policy();
    policy.flows.tools = [(list.clone(), vouching), (call.tool.clone(), steering)].into();
    let caller = caller(Origin::Model, Surface::Cli);
    let listed = json!({"path": "old.txt"});
    let none = Label::default();
    let behind = Behind {
        read: &Read::default(),
        held: &none,
        all: &none,
        wished: &none,
        touched: &BTreeMap::new(),
    };
    caller
        .known
        .ledger()
        .saw(&policy.flows, &list, &json!({}), (&listed, behind));
    let weighing = flow::weigh(&call, &caller, &policy).unwrap();
    assert_eq!(weighing.weighed[0].witness, "vouched for by `box.list`");
    assert_eq!(judged(&call, &caller, &policy), (asked_by(&call), true));
    caller.known.ledger().typed("Remove \"old.txt\".");
    assert!(!judged(&call, &caller, &policy).1);
}

/// A value that one tool is given is not enough for what cannot be undone; one that policy names for all tools is.
#[test]
fn that_policy_names_a_value_for_one_tool_confirms_nothing() {
    let call = call("destructive", Value::Null);
    let said = ToolFlow {
        steering: BTreeMap::from([("path".to_owned(), Kind::File)]),
        vouch: vec!["old.txt".to_owned()],
        ..ToolFlow::default()
    };
    let mut policy = policy();
    policy.flows.tools.insert(call.tool.clone(), said);
    let caller = caller(Origin::Model, Surface::Cli);
    let weighing = flow::weigh(&call, &caller, &policy).unwrap();
    assert_eq!(weighing.weighed[0].witness, "named by policy for this tool");
    assert_eq!(judged(&call, &caller, &policy), (asked_by(&call), true));
    policy.flows.named.vouched.insert("old.txt".to_owned());
    assert!(!judged(&call, &caller, &policy).1);
}

#[test]
fn no_flag_answers_what_needs_approval() {
    let mut call = call("destructive", Value::Null);
    Arc::make_mut(&mut call.declared).conduct.needs_approval = true;
    let mut lifted = policy();
    lifted.asks.confirmed = vec![Pattern::exactly(&call.tool)];
    for surface in [Surface::Cli, Surface::React] {
        let caller = caller(Origin::Client, surface);
        let (rule, asked) = judged(&call, &caller, &lifted);
        assert!(asked && rule.contains("needs_approval"), "{rule}");
    }
}

/// What would be asked is ended by one line, where nothing else asks.
#[test]
fn a_confirmation_says_the_line_that_ends_it() {
    let call = call("destructive", Value::Null);
    let lines = |policy: &Policy| {
        let judged = call.judge(&caller(Origin::Model, Surface::Cli), policy);
        match judged.unwrap().consent {
            Consent::Needed { lines, .. } => lines,
            Consent::NotNeeded => panic!("nobody is asked"),
        }
    };
    assert_eq!(
        lines(&policy()),
        [format!("confirmed = [\"{}\"]", call.tool)]
    );
    let mut asking = policy();
    asking.asks.tools = vec![Pattern::exactly(&call.tool)];
    assert_eq!(lines(&asking), [""; 0]);
}
