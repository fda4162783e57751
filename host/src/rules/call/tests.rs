//! Calls apart from flows: who may make which, and what an answer is bound to.

use super::*;
use crate::rules::caller::{Budget, Known};
use crate::rules::grant::Pattern;
use crate::rules::manifest::Risk;
use crate::words::clock::Deadline;
use crate::words::event::Surface;
use crate::words::id::{Place, RunId};
use crate::words::label::{Sort, Source};
use serde_json::json;

fn call(effect: &str, visibility: &str) -> Call {
    let manifest = json!({
        "name": "act", "description": "", "input": {}, "output": {},
        "effect": effect, "risk": "high_risk", "visibility": visibility,
    });
    Call {
        tool: ToolName::parse("box.act").unwrap(),
        component: Digest::of(b"component"),
        declared: Arc::new(serde_json::from_value(manifest).unwrap()),
        grant: Arc::default(),
        args: Args::own(json!({"a": 1})),
        held: Label::default(),
        places: Vec::new(),
        attached: Vec::new(),
        wish: None,
    }
}

fn caller() -> Caller {
    Caller {
        run: RunId::known("run"),
        parent: 0,
        place: Place::default(),
        known: Known::default(),
        surface: Surface::Cli,
        origin: Origin::Model,
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

fn box_line() -> Pattern {
    Pattern::exactly(&ToolName::parse("box.act").unwrap())
}

/// The rule that denies; nothing where it is allowed.
fn rule(call: &Call, caller: &Caller, policy: &Policy) -> Option<String> {
    call.judge(caller, policy).err().map(|denial| denial.rule)
}

#[test]
fn each_condition_alone_denies() {
    let (call, most) = (call("side-effecting", "public"), policy());
    assert_eq!(rule(&call, &caller(), &most), None);
    let mut blocking = policy();
    blocking.block.push(box_line());
    let blocked = rule(&call, &caller(), &blocking);
    assert_eq!(blocked.as_deref(), Some("blocked_tool"));
    let reach = Caller {
        reach: Arc::new([]),
        ..caller()
    };
    let unreached = rule(&call, &reach, &most);
    assert_eq!(unreached.as_deref(), Some("not_granted"));
    let deep = Caller {
        depth: CALL_DEPTH,
        ..caller()
    };
    assert_eq!(rule(&call, &deep, &most).as_deref(), Some("depth"));
    let risky = rule(&call, &caller(), &Policy::nothing("test"));
    assert_eq!(risky.as_deref(), Some("high_risk_disabled"));
}

#[test]
fn a_tool_is_seen_by_whom_it_is_for() {
    let http = Caller {
        surface: Surface::Http,
        ..caller()
    };
    let client = Caller {
        origin: Origin::Client,
        ..caller()
    };
    for (visibility, caller, seen) in [
        ("public", caller(), true),
        ("private", caller(), false),
        ("user", caller(), false),
        ("user", client, true),
        ("local", caller(), true),
        ("local", http, false),
    ] {
        let rule = rule(&call("side-effecting", visibility), &caller, &policy());
        assert_eq!(
            rule.as_deref(),
            (!seen).then_some("visibility"),
            "{visibility}"
        );
    }
}

#[test]
fn what_must_not_happen_twice_is_synced() {
    let of = |effect| call(effect, "public").durability();
    assert_eq!(of("read-only"), Durability::Batched);
    for effect in ["side-effecting", "external-stateful", "destructive"] {
        assert_eq!(of(effect), Durability::Synced, "{effect}");
    }
}

/// What is asked about a call that a line of the policy names.
fn asked(call: &Call) -> (Vec<String>, Vec<String>) {
    let mut policy = policy();
    policy.asks.tools.push(box_line());
    match call.judge(&caller(), &policy).unwrap().consent {
        Consent::Needed {
            bound_to, lines, ..
        } => (bound_to, lines),
        Consent::NotNeeded => panic!("nobody is asked"),
    }
}

#[test]
fn an_answer_is_for_one_component_and_its_arguments() {
    let one = call("side-effecting", "public");
    let component = Call {
        component: Digest::of(b"other"),
        ..one.clone()
    };
    let args = Call {
        args: Args::own(json!({"a": 2})),
        ..one.clone()
    };
    assert_eq!(asked(&one).0, asked(&one.clone()).0);
    assert_ne!(asked(&one).0, asked(&component).0);
    assert_ne!(asked(&one).0, asked(&args).0);
    // Arguments are one value, however they are written down.
    let given = |text: &str| {
        let args = Args::own(serde_json::from_str(text).unwrap());
        asked(&Call {
            args,
            ..one.clone()
        })
        .0
    };
    let said = given(r#"{"a":1,"b":[1,2]}"#);
    assert_eq!(said, given(r#"{ "b": [1, 2], "\u0061": 1 }"#));
    for other in [
        r#"{"a":1,"b":[2,1]}"#,
        r#"{"a":"1","b":[1,2]}"#,
        r#"{"a":1,"b":"[1,2]"}"#,
        r#"{"a":1,"b":[1,2],"c":null}"#,
    ] {
        assert_ne!(said, given(other), "{other}");
    }
}

#[test]
fn no_line_ends_the_questions_about_what_cannot_be_undone() {
    let (_, lines) = asked(&call("side-effecting", "public"));
    assert_eq!(lines, ["# leave out: ask = [\"box.act\"]"]);
    let (_, lines) = asked(&call("destructive", "public"));
    assert_eq!(lines, [""; 0]);
}

#[test]
fn what_was_judged_is_kept_for_a_sink_and_for_nothing_else() {
    let read = Label::of(Source::imported());
    let caller = Caller {
        label: read.clone(),
        ..caller()
    };
    let judged = |effect: &str| {
        let call = call(effect, "public");
        let within = call.judge(&caller, &policy()).unwrap().terms;
        (within.judged.clone(), within.bearing(&call.declared))
    };
    let nothing = Label::default();
    assert_eq!(judged("read-only"), (nothing.clone(), Bearing::Looks));
    let acts = Bearing::Acts {
        judged: read.clone(),
        read: nothing,
    };
    assert_eq!(judged("side-effecting"), (read, acts));
}

/// The same name, and what it holds is something else by then: a yes to the one is none to the other.
#[test]
fn an_answer_is_bound_to_what_handles_hold() {
    let classes = flow::class::Classes::default();
    let with = |text: &str| Call {
        args: Args::own(json!({"a": text, "b": 1})),
        places: vec!["/a".to_owned()],
        wish: Some(json!({"a": {"$handle": "h1"}, "b": 1})),
        ..call("side-effecting", "public")
    };
    let (one, other) = (with("prices"), with("salaries"));
    assert_eq!(one.bound_to(&classes), with("prices").bound_to(&classes));
    assert_ne!(one.bound_to(&classes), other.bound_to(&classes));
    // What stands in no record does not stand there as a digest either.
    let secret = |call: &Call| Call {
        held: Label::of(Source::new(Sort::Secret, "safe.pin")),
        ..call.clone()
    };
    let attached = |call: &Call| Call {
        attached: vec!["/a".to_owned()],
        ..call.clone()
    };
    let bound = |call: &Call| call.bound_to(&classes);
    assert_eq!(bound(&secret(&one)), bound(&secret(&other)));
    assert_eq!(bound(&attached(&one)), bound(&attached(&other)));
}
