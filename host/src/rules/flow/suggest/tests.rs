//! What is proposed, for whom, and for whom not.

use serde_json::json;

use super::*;
use crate::rules::flow::ledger::{Behind, Ledger};
use crate::words::event::Read;
use crate::words::label::Label;
use crate::words::limits::STEERING_CHARS;

fn name(text: &str) -> ToolName {
    ToolName::parse(text).unwrap()
}

fn about(tool: &ToolName) -> About {
    let (effect, input) = match tool.as_str() {
        "book.search" => ("read-only", json!({"properties": {"query": {}}})),
        "mail.send" => (
            "external-stateful",
            json!({"properties": {"to": {"items": {}}, "body": {}, "tag": {}}}),
        ),
        "mail.drop" => ("destructive", json!({"properties": {"to": {}}})),
        "mail.post" => (
            "external-stateful",
            json!({"properties": {"to": {"items": {}}, "body": {}, "tag": {}}}),
        ),
        _ => return None,
    };
    let flow = match tool.as_str() {
        "mail.post" => json!({"steering": {"to": "mail"}, "content": ["body"]}),
        _ => json!({}),
    };
    let declared = json!({
        "name": tool.short(), "description": "", "output": {}, "effect": effect,
        "risk": "external_write", "input": input, "flow": flow,
    });
    Some(Arc::new(serde_json::from_value(declared).unwrap()))
}

/// A run in which an address book was read, under this label, and then something was called.
fn run(label: &[&str], tool: &str, args: Value, open: &[&str]) -> Vec<Record> {
    let weighed: Vec<Value> = open
        .iter()
        .map(|argument| json!({"argument": argument, "value": "", "kind": "value"}))
        .collect();
    let judged = |subject: &str, args: &Value, weighed: &[Value]| {
        json!({
            "event": "judged", "effect": "call", "subject": subject, "origin": "model", "weighed": weighed,
            "content": {"inline": args}, "label": label, "verdict": {"verdict": "allow", "rule": ""},
        })
    };
    let events = [
        judged("book.search", &json!({"query": "anna"}), &[]),
        json!({
            "event": "finished", "of": 0, "end": "done", "label": label, "spent": {"us": 1},
            "content": {"inline": {"hits": [{"name": "Anna", "mail": ["a@x.test", "anna@y.test"]}]}},
        }),
        judged(tool, &args, &weighed),
    ];
    let record = |(seq, event): (usize, Value)| {
        let mut event = event;
        event["run"] = json!("20260101-000000-00000000");
        event["seq"] = json!(seq);
        event["at"] = json!(0);
        event["parent"] = json!(0);
        serde_json::from_value(event).unwrap()
    };
    events.into_iter().enumerate().map(record).collect()
}

fn flows() -> Flows {
    let mut flows = Flows::default();
    flows.classes.trusted_plugins = BTreeSet::from(["book".to_owned(), "mail".to_owned()]);
    flows
}

fn proposed(records: Vec<Record>) -> Suggestion {
    suggest(&[records], &flows(), about, BTreeSet::new())
}

const SENDS: &str = "mail.send";

fn letter() -> Value {
    json!({"to": ["anna@y.test"], "body": "Hello\nAnna"})
}

/// The field that held the very address vouches from then on, once the line is fed back.
#[test]
fn a_field_that_held_the_value_vouches() {
    let records = run(&["user", "tool:book.search"], SENDS, letter(), &["to/0"]);
    // Whether a record of an address is the user's own, only they know.
    let suggestion = proposed(records.clone());
    assert_eq!(suggestion.vouched().count(), 0);
    assert_eq!(suggestion.doubtful().count(), 1);
    assert!(
        suggestion
            .to_toml(|_| false)
            .contains("if nobody but you starts such records")
    );
    let mut known = flows();
    let book = known.tools.entry(name("book.search")).or_default();
    (book.records.own, book.records.at) = (true, "/hits/*".to_owned());
    let suggestion = suggest(&[records], &known, about, BTreeSet::new());
    let text = suggestion.to_toml(|_| false);
    let table: toml::Table = toml::from_str(&text).unwrap();
    let tools: BTreeMap<String, ToolFlow> = table["flow"]["tools"].clone().try_into().unwrap();
    let sends = &tools[SENDS];
    assert_eq!(
        sends.steering,
        BTreeMap::from([("to".to_owned(), Kind::Mail)])
    );
    assert_eq!(sends.content, ["body"]);
    let mut flows = flows();
    flows.tools = tools
        .into_iter()
        .map(|(tool, said)| (name(&tool), said))
        .collect();
    let mut ledger = Ledger::default();
    let outcome = json!({"hits": [{"mail": ["b@x.test"]}]});
    let none = Label::default();
    let behind = Behind {
        read: &Read::default(),
        held: &none,
        all: &none,
        wished: &none,
        touched: &BTreeMap::new(),
    };
    let said = (&outcome, behind);
    ledger.saw(&flows, &name("book.search"), &json!({}), said);
    assert!(
        ledger.vouching((Kind::Mail, "b@x.test"), "mail").is_some(),
        "{text}"
    );
    assert_eq!(suggestion.vouched().count(), 0, "{text}");
    assert!(
        text.contains("# record 2: `to` steers (mail), by its name and value"),
        "{text}"
    );
    assert!(text.contains("held the value of record 2"), "{text}");
}

/// Who is called so at the service that acts is known by nobody of another one: a field there would end no question.
#[test]
fn a_field_of_another_service_vouches_for_no_name_of_this_one() {
    let records = run(&["user", "tool:book.search"], SENDS, letter(), &["to/0"]);
    for (kind, is_proposed) in [(Kind::Mail, true), (Kind::User, false), (Kind::Id, false)] {
        let mut known = flows();
        let book = known.tools.entry(name("book.search")).or_default();
        (book.records.own, book.records.at) = (true, "/hits/*".to_owned());
        let sends = known.tools.entry(name(SENDS)).or_default();
        sends.steering.insert("to".to_owned(), kind);
        let suggestion = suggest(
            std::slice::from_ref(&records),
            &known,
            about,
            BTreeSet::new(),
        );
        let text = suggestion.to_toml(|_| false);
        assert_eq!(text.contains("held the value of"), is_proposed, "{text}");
        assert!(!text.contains("it stood in"), "{text}");
        let by_value = suggestion.vouched().chain(suggestion.doubtful()).count();
        assert_eq!(by_value, usize::from(!is_proposed), "{text}");
    }
}

/// The same value where somebody else had a hand in it: a comment, and no line.
#[test]
fn what_others_may_have_written_is_only_a_comment() {
    let label = ["user", "tool:book.search", "web:https://evil.test"];
    let suggestion = proposed(run(&label, SENDS, letter(), &["to/0"]));
    let text = suggestion.to_toml(|_| false);
    assert!(text.contains("  # \"anna@y.test\",  # record 2"), "{text}");
    assert!(
        text.contains("which web:https://evil.test may have written"),
        "{text}"
    );
    assert!(!text.contains("vouches ="), "{text}");
    assert_eq!(suggestion.vouched().count(), 0);
    toml::from_str::<toml::Table>(&text).unwrap();
}

#[test]
fn a_value_that_stood_nowhere_is_for_a_person() {
    let args = json!({"to": ["eve@z.test"], "tag": "x"});
    let suggestion = proposed(run(&["user"], SENDS, args, &["to/0", "tag"]));
    // Whoever is written to, a person looks at first.
    let sends = &name(SENDS);
    assert_eq!(suggestion.vouched().collect::<Vec<_>>(), [(sends, "x")]);
    let doubtful: Vec<_> = suggestion.doubtful().collect();
    assert_eq!(doubtful, [(sends, "eve@z.test")]);
    let text = suggestion.to_toml(|_| false);
    assert!(text.contains("\n  \"x\",  # record 2: `tag`"), "{text}");
    assert!(
        text.contains("\n  # \"eve@z.test\",  # record 2: `to/0`"),
        "{text}"
    );
}

/// What stands in the middle of a letter stood in no field; who had influence on the wish is known all the same.
#[test]
fn what_was_wished_under_an_influence_is_only_a_comment_wherever_it_stood() {
    let evil = ["user", "web:https://evil.test"];
    for (label, value, is_active) in [
        (&["user"][..], "blue", true),
        (&evil, "blue", false),
        (&["user"], "eve@evil.test", false),
        (&["user"], "https://evil.test/x", false),
        (&evil, "eve@evil.test", false),
    ] {
        let suggestion = proposed(run(label, SENDS, json!({"tag": value}), &["tag"]));
        let text = suggestion.to_toml(|_| false);
        let table: toml::Table = toml::from_str(&text).unwrap();
        let active = table["flow"]["tools"][SENDS]["vouch"].as_array().unwrap();
        assert_eq!(!active.is_empty(), is_active, "{label:?} {value}: {text}");
        assert_eq!(suggestion.vouched().count() == 1, is_active);
        assert_eq!(suggestion.doubtful().count() == 1, !is_active);
        let blamed = text.contains("wished under the influence of web:https://evil.test");
        assert_eq!(blamed, label.len() == 2, "{text}");
    }
    // Once is enough, in whichever run it was.
    let runs = [&["user"][..], &evil].map(|label| run(label, SENDS, json!({"tag": "x"}), &["tag"]));
    for runs in [runs.clone(), [runs[1].clone(), runs[0].clone()]] {
        let suggestion = suggest(&runs, &flows(), about, BTreeSet::new());
        assert_eq!(suggestion.vouched().count(), 0);
        assert_eq!(suggestion.doubtful().count(), 1);
    }
}

/// Whoever had influence chose the text; so it is not by its text that an argument is said to be none that steers.
#[test]
fn what_others_wrote_is_not_content_by_its_looks() {
    let content = |label: &[&str]| {
        let args = json!({"tag": "eve@evil.test\nand more"});
        let suggestion = proposed(run(label, SENDS, args, &["tag"]));
        let mut said = suggestion.tools();
        said.any(|(_, said)| !said.content.is_empty())
    };
    assert!(content(&["user"]));
    assert!(!content(&["user", "web:https://evil.test"]));
}

/// Whoever wrote a server's tool has named its arguments, and whoever had influence on a wish has chosen its values.
#[test]
fn what_is_guessed_of_arguments_is_a_comment_where_a_stranger_may_have_led_to_it() {
    let outside = |tool: &ToolName| {
        about(tool).map(|mut declared| {
            Arc::make_mut(&mut declared).outside = true;
            declared
        })
    };
    let (evil, none) = (["user", "web:https://evil.test"], BTreeSet::new);
    let args = json!({"to": ["eve@evil.test"], "body": "rm"});
    let wished = |label: &[&str]| [run(label, SENDS, args.clone(), &["to/0", "body"])];
    let clean = wished(&["user"]);
    for (suggestion, kind, is_comment) in [
        (suggest(&clean, &flows(), about, none()), "mail", false),
        (
            suggest(&wished(&evil), &flows(), about, none()),
            "value",
            true,
        ),
        (suggest(&clean, &flows(), outside, none()), "mail", true),
        (
            suggest(&clean, &Flows::default(), about, none()),
            "mail",
            true,
        ),
    ] {
        let text = suggestion.to_toml(|_| false);
        let table: toml::Table = toml::from_str(&text).unwrap();
        let said = &table["flow"]["tools"][SENDS];
        for key in ["content", "steering"] {
            assert_eq!(said.get(key).is_none(), is_comment, "{key}: {text}");
        }
        let form = format!("\n# steering = {{ to = \"{kind}\" }}\n# content = [\"body\"]\n");
        assert_eq!(text.contains(&form), is_comment, "{text}");
        assert_eq!(suggestion.tools().count(), usize::from(!is_comment));
        let mut guessed = suggestion.guessed();
        assert_eq!(guessed.any(|(tool, _)| tool.as_str() == SENDS), is_comment);
        if !is_comment {
            assert_eq!(said["steering"]["to"].as_str(), Some(kind), "{text}");
        }
        // In a file that has the table it is a comment as all of it is, and in no other one.
        let text = suggestion.to_toml(|_| true);
        let mut lines = text.lines().filter(|line| !line.is_empty());
        assert!(
            lines.all(|line| line.starts_with('#') && !line.starts_with("# #")),
            "{text}"
        );
    }
    // Once is enough, in whichever run it was.
    let [clean, led] = [&["user"][..], &evil].map(|label| wished(label)[0].clone());
    for runs in [[clean.clone(), led.clone()], [led, clean]] {
        let suggestion = suggest(&runs, &flows(), about, none());
        assert_eq!(suggestion.guessed().count(), 1);
    }
}

#[test]
fn what_cannot_be_undone_gets_no_line() {
    let args = json!({"to": "anna@y.test"});
    let suggestion = proposed(run(&["user"], "mail.drop", args, &["to"]));
    assert!(suggestion.is_empty(), "{}", suggestion.to_toml(|_| false));
    assert_eq!(suggestion.left().count(), 1);
}

/// Text that would write a line of its own, or hides, writes none.
#[test]
fn values_stay_values() {
    let args = json!({"to": ["a\"] # [grants]", "x\u{202e}y"]});
    let suggestion = proposed(run(&["user"], SENDS, args, &["to/0", "to/1"]));
    let text = suggestion.to_toml(|_| false);
    let table: toml::Table = toml::from_str(&text).unwrap();
    assert!(!table.contains_key("grants"), "{text}");
    assert_eq!(suggestion.vouched().count(), 1, "{text}");
    assert!(
        suggestion
            .left()
            .any(|left| left.contains("hidden characters")),
        "{text}"
    );
}

#[test]
fn a_run_whose_values_all_had_witnesses_proposes_no_value() {
    let suggestion = proposed(run(&["user"], SENDS, letter(), &[]));
    assert_eq!(suggestion.vouched().count(), 0);
    assert!(!suggestion.to_toml(|_| false).contains("vouch"));
}

/// What a person or a mount has refused is no reason for a line that lets it pass.
#[test]
fn nothing_is_proposed_for_what_was_refused() {
    let id = QuestionId::of(&["q"]);
    let asked = json!({
        "verdict": "ask", "id": id, "wish": id, "rule": "r", "text": "", "reasons": [], "values": [], "lines": [],
    });
    let denied = |rule: &str| json!({"verdict": "deny", "rule": rule, "reason": "", "allow": []});
    let answered = |answer: &str| json!({"event": "answered", "question": id, "answer": answer});
    let failed = json!({
        "event": "finished", "of": 2, "end": "failed", "code": "denied", "message": "", "label": ["user"],
        "spent": {"us": 1},
    });
    for (verdict, more, is_proposed) in [
        (asked.clone(), answered("allow"), true),
        (asked, answered("deny"), false),
        (denied("unattended"), json!(null), true),
        (denied("answered"), json!(null), false),
        (denied("mount_not_granted"), json!(null), false),
        (json!({"verdict": "allow", "rule": ""}), failed, false),
    ] {
        let records = run(&["user", "tool:book.search"], SENDS, letter(), &["to/0"]);
        let mut records: Vec<Value> = records
            .iter()
            .map(|record| serde_json::to_value(record).unwrap())
            .collect();
        records[2]["verdict"] = verdict.clone();
        if !more.is_null() {
            let mut last = more.clone();
            for key in ["run", "at", "parent"] {
                last[key] = records[2][key].clone();
            }
            last["seq"] = json!(3);
            records.push(last);
        }
        let records = records.into_iter();
        let records = records.map(|record| serde_json::from_value(record).unwrap());
        let suggestion = proposed(records.collect());
        assert_eq!(!suggestion.is_empty(), is_proposed, "{verdict}: {more}");
        assert_eq!(
            suggestion.left().any(|why| why.contains("was refused")),
            !is_proposed
        );
    }
}

/// What a manifest proposes that counts holds already. Whatever is said beside it says all of it, or it would end.
#[test]
fn what_holds_already_is_not_proposed() {
    let post = |args: Value| proposed(run(&["user"], "mail.post", args, &[]));
    let suggestion = post(letter());
    assert!(suggestion.is_empty(), "{}", suggestion.to_toml(|_| false));
    let suggestion = post(json!({"to": ["anna@y.test"], "tag": "x"}));
    let text = suggestion.to_toml(|_| false);
    let table: toml::Table = toml::from_str(&text).unwrap();
    let said = &table["flow"]["tools"]["mail.post"];
    assert_eq!(said["steering"]["to"].as_str(), Some("mail"), "{text}");
    assert_eq!(said["content"][0].as_str(), Some("body"), "{text}");
    assert!(said.get("hold").is_none(), "{text}");
    // Of a plugin that nobody trusts, it holds once it is written.
    let records = run(&["user"], "mail.post", letter(), &[]);
    let suggestion = suggest(&[records], &Flows::default(), about, BTreeSet::new());
    assert_eq!(suggestion.tools().count(), 1);
}

/// What there is comes first, and a comment is in no other one.
#[test]
fn what_nothing_is_proposed_for_stands_at_the_end() {
    let runs = [
        run(
            &["user"],
            "mail.drop",
            json!({"to": "anna@y.test"}),
            &["to"],
        ),
        run(
            &["user"],
            SENDS,
            json!({"to": ["eve@z.test"], "tag": "x"}),
            &["to/0", "tag"],
        ),
    ];
    let suggestion = suggest(&runs, &flows(), about, BTreeSet::new());
    for is_there in [false, true] {
        let text = suggestion.to_toml(|_| is_there);
        let last = text.lines().last().unwrap();
        let left =
            "# nothing is proposed for `mail.drop`, because it takes something away for good";
        assert!(last.starts_with(left), "{text}");
        assert_eq!(text.matches("nothing is proposed").count(), 1, "{text}");
        let twice = text.lines().filter(|line| {
            let line = line.trim_start().strip_prefix('#');
            line.is_some_and(|line| line.trim_start().starts_with('#'))
        });
        assert_eq!(twice.count(), 0, "{text}");
    }
}

/// A file has each table once: written behind it, what is proposed breaks nothing.
#[test]
fn a_table_that_is_there_is_not_proposed_again() {
    let suggestion = proposed(run(&["user"], SENDS, json!({"tag": "x"}), &["tag"]));
    let text = suggestion.to_toml(|_| true);
    assert!(
        text.lines()
            .all(|line| line.is_empty() || line.starts_with('#')),
        "{text}"
    );
    for part in [
        "# to be merged with what your file has",
        "# in [flow.tools.\"mail.send\"], which is there already, add to `vouch`:\n",
        "#   \"x\",  # record 2",
        "# in [flow.tools.\"mail.send\"], which is there already, write this in its place:\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // One that is not there has the values in it, and is none for another tool.
    let text = suggestion.to_toml(|head| head == "[flow]");
    let table: toml::Table = toml::from_str(&text).unwrap();
    let tools = &table["flow"]["tools"];
    assert_eq!(tools[SENDS]["vouch"][0].as_str(), Some("x"), "{text}");
    assert_eq!(tools[SENDS]["steering"]["tag"].as_str(), Some("value"));
    assert_eq!(tools.as_table().unwrap().len(), 1, "{text}");
    assert!(table["flow"].get("vouch").is_none(), "{text}");
}

/// The guest of a tool has wished this under a letter's influence, and that became of it.
fn wished(effect: &str, subject: &str, verdict: Value) -> Suggestion {
    let record = json!({
        "run": "20260101-000000-00000000", "seq": 7, "at": 0, "parent": 0,
        "event": "judged", "effect": effect, "subject": subject, "origin": "web.get_page",
        "content": "empty", "label": ["user", "web:https://evil.test"], "verdict": verdict,
    });
    proposed(vec![serde_json::from_value(record).unwrap()])
}

/// What passed in shadow, and would have been denied by this rule.
fn shadowed(rule: &str) -> Value {
    let rule = format!("a line; `mode = \"shadow\"` lets pass: it is new ({rule})");
    json!({"verdict": "allow", "rule": rule})
}

/// What a rule of the gate denied, with these lines.
fn denied(rule: &str, allow: &[&str]) -> Value {
    json!({"verdict": "deny", "rule": rule, "reason": "", "allow": allow})
}

const GET: &str = "GET https://a.test/x";
const VOUCH: &str = "[flow.tools.\"web.get_page\"]\nvouch = [\"https://a.test/x\"]";

/// The line of a guest's wish stands in a comment, with who is blamed; what has none says why.
#[track_caller]
fn check_inner((effect, subject): (&str, &str), verdict: Value, expected: Result<&str, &str>) {
    let about = format!("{subject} {verdict}");
    let suggestion = wished(effect, subject, verdict);
    let lines: Vec<&str> = suggestion.denied().map(|(line, _)| line).collect();
    let left: Vec<&str> = suggestion.left().collect();
    let text = suggestion.to_toml(|_| false);
    match expected {
        Ok(line) => {
            assert_eq!((lines, left.len()), (vec![line], 0), "{about}");
            let blamed = "; wished under the influence of web:https://evil.test: take it out";
            assert!(text.contains(blamed), "{text}");
            assert!(text.contains("\n# so that it passes:\n#   ["), "{text}");
        }
        Err(why) => {
            assert_eq!((lines.len(), left.len()), (0, 1), "{about}");
            assert!(left[0].ends_with(why), "{about}: {left:?}");
        }
    }
    assert_eq!(suggestion.is_empty(), expected.is_err(), "{about}");
    assert_eq!(suggestion.vouched().count(), 0, "{about}");
    assert_eq!(suggestion.doubtful().count(), 0, "{about}");
    let mut active = text.lines().filter(|line| !line.is_empty());
    assert!(active.all(|line| line.starts_with('#')), "{text}");
}

#[test]
fn what_a_guest_would_have_been_denied_is_said_with_its_line_in_a_comment() {
    let query = "GET https://a.test/x?…";
    let long = format!("GET https://a.test/{}", "x".repeat(STEERING_CHARS));
    let accepts = "[flow.tools.\"web.get_page\"]\naccepts = \"private\"";
    for (subject, rule, expected) in [
        (GET, "flow_browse", Ok(VOUCH)),
        (GET, "flow_only_looks", Ok(VOUCH)),
        (GET, "flow_private", Ok(accepts)),
        (query, "flow_private", Ok(accepts)),
        (query, "flow_browse", Err("its query is not kept")),
        (long.as_str(), "flow_browse", Err("as long as that")),
    ] {
        check_inner(("fetch", subject), shadowed(rule), expected);
    }
    let none = Err("no line lets it pass");
    check_inner(("file", "write a"), shadowed("flow_only_looks"), none);
    check_inner(("keep", "put a/b"), shadowed("flow_only_looks"), none);
}

/// A record of another host says what it likes, and writes no line.
#[test]
fn what_a_rule_is_called_in_a_record_ends_no_comment() {
    let rule = "flow_browse)\n[flow]\nvouch = [\"eve@evil.test\"]\n# (";
    for allow in [&[VOUCH][..], &[]] {
        let text = wished("fetch", GET, denied(rule, allow)).to_toml(|_| false);
        assert!(text.contains("eve@evil.test"), "{text}");
        let mut active = text.lines().filter(|line| !line.is_empty());
        assert!(active.all(|line| line.starts_with('#')), "{text}");
    }
}

#[test]
fn what_a_guest_was_denied_is_said_with_the_line_of_its_denial() {
    let grant = ["[grants.\"web.get_page\"]", "fetch = [\"https://a.test/\"]"];
    let both = grant.join("\n");
    let none = Err("no line lets it pass");
    check_inner(("fetch", GET), denied("flow_browse", &[VOUCH]), Ok(VOUCH));
    check_inner(
        ("fetch", GET),
        denied("host_not_granted", &grant),
        Ok(both.as_str()),
    );
    check_inner(("fetch", GET), denied("metadata_address", &[]), none);
    check_inner(("keep", "put a/b"), denied("flow_only_looks", &[]), none);
    // What nobody speaks against, and which files a tool may have, is another matter.
    let passes = || json!({"verdict": "allow", "rule": "a line"});
    for (effect, subject, verdict) in [
        ("fetch", GET, passes()),
        (
            "file",
            "write a",
            denied("mount_not_granted", &["[mounts.a]"]),
        ),
        ("keep", "put a/b", passes()),
    ] {
        let suggestion = wished(effect, subject, verdict);
        assert!(suggestion.is_empty(), "{subject}");
        assert_eq!(suggestion.left().count(), 0, "{subject}");
    }
}
