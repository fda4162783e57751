//! What a verdict costs with a lot behind it: labels and ledgers, and the search for copies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lazaret::rules::Effect;
use lazaret::rules::call::Call;
use lazaret::rules::caller::{Budget, Caller, How, Judging, Known, Led, Origin};
use lazaret::rules::flow::handles::Handles;
use lazaret::rules::flow::kind::Kind;
use lazaret::rules::flow::ledger::{Behind, Ledger};
use lazaret::rules::flow::lines::{Guard, Holding, Records, ToolFlow};
use lazaret::rules::grant::{Grant, Pattern};
use lazaret::rules::policy::Policy;
use lazaret::rules::questions::Questions;
use lazaret::rules::schema::Args;
use lazaret::rules::scrub;
use lazaret::words::clock::Deadline;
use lazaret::words::event::{Read, Surface};
use lazaret::words::id::{Digest, Place, RunId, ToolName};
use lazaret::words::label::{Label, Sort, Source};
use lazaret::words::limits::VERBATIM_CHARS;
use serde_json::{Value, json};

use crate::rows::{goal, quantile, row};

const SAMPLES: usize = 2_000;
const SOURCES: usize = 10_000;
const ARGUMENT_BYTES: usize = 4 << 10;
const SECRETS: usize = 10;

pub(crate) fn all() {
    let judged = judged();
    row(
        "one verdict with 10,000 sources behind it",
        &judged,
        &format!(
            "p99 {}",
            goal(quantile(&judged, 99), Duration::from_micros(20))
        ),
    );
    let copied = copied();
    row(
        "a 4 KB argument against 256 KB of untrusted history",
        &copied,
        &goal(quantile(&copied, 50), Duration::from_micros(200)),
    );
    row("256 KB of text without any of 10 secrets", &scrubbed(), "");
}

/// A text that somebody returned, in which no secret stands.
fn scrubbed() -> Vec<Duration> {
    let known = scrub::KnownSecrets::default();
    for number in 0..SECRETS {
        known.learn(format!("ghp_x7Kq29LmTb4ZrW8sVn3cQ5d{number}").as_bytes());
    }
    let text = prose(7, VERBATIM_CHARS);
    let look = || {
        let began = Instant::now();
        assert_eq!(known.clean(&text), None);
        began.elapsed()
    };
    (0..SAMPLES / 10).map(|_| look()).collect()
}

/// A mail to somebody whom the 10,000th record lists, wished under the influence of 10,000 origins.
fn judged() -> Vec<Duration> {
    let (mail, book) = (name("mail.send"), name("book.search"));
    let mut policy = policy();
    let steering = BTreeMap::from([("to".to_owned(), Kind::Mail)]);
    let content = vec!["text".to_owned()];
    let sends = ToolFlow {
        steering,
        content,
        ..ToolFlow::default()
    };
    let vouches = BTreeMap::from([("mail".to_owned(), Kind::Mail)]);
    let records = Records {
        at: "/*".to_owned(),
        vouches,
        own: true,
        ..Records::default()
    };
    let lists = ToolFlow {
        records,
        ..ToolFlow::default()
    };
    policy.flows.tools = BTreeMap::from([(mail, sends), (book.clone(), lists)]);
    let mut ledger = Ledger::default();
    let mut label = Label::of(Source::user());
    let own = Label::of(Source::new(Sort::File, "contacts"));
    let read = Read::at(own.clone());
    for number in 0..SOURCES {
        let outcome = json!([{"mail": format!("p{number}@people.test")}]);
        let behind = Behind {
            read: &read,
            held: &own,
            all: &label,
            wished: &own,
            touched: &BTreeMap::new(),
        };
        ledger.saw(&policy.flows, &book, &json!({}), (&outcome, behind));
        let origin = format!("https://h{number}.test");
        label = label.join(&Label::of(Source::new(Sort::Web, &origin)));
    }
    let to = format!("p{}@people.test", SOURCES - 1);
    let call = call(json!({"to": to, "text": "hello"}));
    samples(&call, &caller(ledger, label), &policy)
}

/// A text of nobody's, against a full ledger of what somebody else wrote.
fn copied() -> Vec<Duration> {
    let mut policy = policy();
    policy.flows.guards = [Guard::UntrustedToSink].into();
    policy.flows.tools = BTreeMap::from([(
        name("mail.send"),
        ToolFlow {
            content: vec!["to".to_owned(), "text".to_owned()],
            ..ToolFlow::default()
        },
    )]);
    let web = Label::of(Source::new(Sort::Web, "https://a.test"));
    let mut ledger = Ledger::default();
    let mut number = 0;
    let mut heard = 0;
    while heard < VERBATIM_CHARS {
        let text = prose(number, 8 << 10);
        heard += text.len();
        ledger.heard(&policy.flows, &web, &json!(text));
        number += 1;
    }
    let call = call(json!({"to": "a@b.test", "text": prose(1_000_000, ARGUMENT_BYTES)}));
    samples(&call, &caller(ledger, Label::of(Source::user())), &policy)
}

/// Words that follow each other as they do nowhere else.
fn prose(seed: usize, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "salt", "harbour", "letter", "figures", "summer", "ledger", "quarter", "forward", "people",
        "station", "goods", "shore", "invoice", "weather", "captain", "morning",
    ];
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut text = String::new();
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 20) % 100_000_000;
        text.push_str(&format!("{}{number} ", WORDS[(state >> 48) % WORDS.len()]));
    }
    text
}

fn samples(call: &Call, caller: &Caller, policy: &Policy) -> Vec<Duration> {
    let judge = || {
        let began = Instant::now();
        let judged = call.judge(caller, policy);
        let took = began.elapsed();
        assert!(judged.is_ok(), "{judged:?}");
        took
    };
    (0..SAMPLES / 10).for_each(|_| assert!(!judge().is_zero()));
    (0..SAMPLES).map(|_| judge()).collect()
}

fn name(text: &str) -> ToolName {
    ToolName::parse(text).unwrap()
}

fn policy() -> Policy {
    let mut policy = Policy::nothing("bench");
    policy
        .risks
        .insert(lazaret::rules::manifest::Risk::ExternalWrite);
    policy
}

fn call(args: Value) -> Call {
    let declared = json!({
        "name": "send", "description": "", "output": {}, "effect": "side-effecting", "risk": "external_write",
        "input": {"properties": {"to": {"type": "string"}, "text": {"type": "string"}}},
    });
    Call {
        tool: name("mail.send"),
        component: Digest::of(b""),
        declared: Arc::new(serde_json::from_value(declared).unwrap()),
        grant: Arc::new(Grant::default()),
        args: Args::own(args),
        held: Label::default(),
        places: Vec::new(),
        attached: Vec::new(),
        wish: None,
    }
}

fn caller(ledger: Ledger, label: Label) -> Caller {
    Caller {
        run: RunId::known("bench"),
        parent: 0,
        place: Place::default(),
        known: Known::new(
            Questions::default(),
            (ledger, Handles::default()),
            How {
                led: Led::ByModel,
                mode: Judging::Enforce,
                hold: Holding::Never,
            },
        ),
        surface: Surface::Cli,
        origin: Origin::Model,
        reach: [Pattern::all()].into(),
        grant: Arc::default(),
        label,
        depth: 0,
        deadline: Deadline::after_ms(60_000),
        budget: Budget::of_calls(1),
    }
}
