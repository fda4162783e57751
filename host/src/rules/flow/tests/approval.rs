//! *Questions*: what a tool's own manifest asks for is asked, whatever policy says of flows.

use super::*;

/// The rule, reasons and lines of the question about this call; nothing where there is none.
fn asked(scene: &Scene, tool: &str, needs: bool) -> Option<(String, usize, Vec<String>)> {
    let mut call = Scene::call(tool, json!({"to": "doe@x.com", "text": "t"}));
    Arc::make_mut(&mut call.declared).conduct.needs_approval = needs;
    let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
    match judged.unwrap().consent {
        Consent::Needed {
            rule, open, lines, ..
        } => Some((rule, open.len(), lines)),
        Consent::NotNeeded => None,
    }
}

const RULE: &str = "`needs_approval` of its manifest";

#[test]
fn it_is_asked_in_every_mode_and_by_whoever_calls() {
    for mode in [
        Judging::Off,
        Judging::Tainted,
        Judging::Shadow,
        Judging::Enforce,
    ] {
        for origin in [Origin::Client, Origin::Model, Origin::Script, Origin::Host] {
            for tool in ["text.count", "cal.clear", "mail.send"] {
                let mut scene = scene(&["Write to doe@x.com."], CLEAN).mode(mode);
                scene.origin = origin.clone();
                let (rule, open, lines) = asked(&scene, tool, true).expect("it asks");
                assert_eq!((rule.as_str(), open, lines), (RULE, 0, vec![]), "{tool}");
            }
        }
    }
    // The same call of a tool that does not ask.
    let plain = scene(&["Write to doe@x.com."], CLEAN);
    assert_eq!(asked(&plain, "mail.send", false), None);
}

#[test]
fn no_line_of_policy_lifts_it() {
    let mut scene = scene_of("release = [\"*\"]\ntrust = [\"other\"]", &[], CLEAN);
    assert_eq!(asked(&scene, "other.act", false), None, "it is released");
    assert_eq!(asked(&scene, "other.act", true).unwrap().0, RULE);
    // Where policy asks as well, the line to leave out would not make it the last.
    scene.policy.asks.tools = vec![Pattern::all()];
    let (rule, _, lines) = asked(&scene, "other.act", false).unwrap();
    assert_eq!(rule, "`ask = [\"*\"]` in test");
    assert_eq!(lines, ["# leave out: ask = [\"*\"]"]);
    let (rule, _, lines) = asked(&scene, "other.act", true).unwrap();
    assert_eq!((rule.as_str(), lines), (RULE, vec![]));
}

#[test]
fn what_flows_ask_about_is_asked_in_the_same_question() {
    let scene = scene(&[], WEB);
    let (rule, open, lines) = asked(&scene, "mail.send", true).unwrap();
    assert_eq!((rule.as_str(), open, lines), (RULE, 1, vec![]));
    let (_, open, lines) = asked(&scene, "mail.send", false).unwrap();
    assert_eq!((open, lines.len()), (1, 1));
}

#[test]
fn what_is_denied_is_not_asked_about() {
    let scene = scene(&[], CLEAN);
    let mut call = Scene::call("other.act", json!({}));
    Arc::make_mut(&mut call.declared).conduct.needs_approval = true;
    let mut policy = scene.policy.clone();
    policy.block = vec![Pattern::all()];
    let denied = call.judge(&scene.caller(Grant::default()), &policy);
    assert_eq!(denied.unwrap_err().rule, "blocked_tool");
}
