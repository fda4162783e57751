//! Laws: what holds for whatever is typed, wished and read.

use proptest::prelude::*;

use super::*;

const SOURCES: [&str; 12] = [
    "user",
    "operator",
    "tool:text.count",
    "tool:other.look",
    "web:https://a.test",
    "web:*",
    "file:docs",
    "file:mail",
    "file:*",
    "note:notes/a",
    "mcp:mail",
    "secret:token",
];

fn calls() -> impl Strategy<Value = (&'static str, Value)> {
    let to = prop::sample::select(vec!["a@x.com", "b@x.com", "c@x.com", "d@x.com", "e@x.com"]);
    let id = prop::sample::select(vec!["m1", "m2", "m3"]);
    let path = prop::sample::select(vec!["docs/a", "work/a", "docs/b"]);
    let title = prop::sample::select(vec!["the party", "the spy", ""]);
    prop_oneof![
        (prop::collection::vec(to, 0..3), id.clone())
            .prop_map(|(to, id)| ("mail.send", json!({"to": to, "answers": id, "text": "x"}))),
        id.prop_map(|id| ("mail.delete", json!({"id": id}))),
        path.clone()
            .prop_map(|path| ("files.write", json!({"path": path}))),
        path.prop_map(|path| ("files.remove", json!({"path": path}))),
        title
            .clone()
            .prop_map(|title| ("cal.add", json!({"title": title}))),
        title.prop_map(|title| ("site.post", json!({"title": title, "text": "x"}))),
        Just(("cal.clear", json!({}))),
    ]
}

fn labels() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(SOURCES.to_vec(), 0..SOURCES.len())
}

/// A run in which each kind of witness has something to say, but nobody has answered: an answer is about a value
/// under just this influence.
fn rich(strict: bool, label: &[&str]) -> Scene {
    let policy = format!("strict = {strict}\n{POLICY}");
    let letter =
        |id: &str, from: &str, title: &str| json!({"id": id, "from": from, "title": title});
    scene_of(
        &policy,
        &["a@x.com 'the plan' m1 docs/a the party"],
        &label.join(" "),
    )
    .saw(
        "people.find",
        json!({}),
        json!({"found": [{"mail": "b@x.com"}]}),
    )
    .saw("mail.list", json!({}), json!({"letters": [{"id": "m2"}]}))
    .saw("mail.read", json!({}), letter("m3", "c@x.com", "the plan"))
    .saw("mail.read", json!({}), letter("m1", "d@x.com", "other"))
}

/// How free a verdict is: denied, asked, allowed.
fn freedom(scene: &Scene, tool: &str, args: Value) -> u8 {
    match scene.judge(tool, args) {
        Err(_) => 0,
        Ok(allowed) if allowed.consent == Consent::NotNeeded => 2,
        Ok(_) => 1,
    }
}

proptest! {
    #[test]
    fn more_influence_never_allows_more((tool, args) in calls(), less in labels(), more in labels(), strict: bool) {
        let both: Vec<&str> = less.iter().chain(&more).copied().collect();
        let before = freedom(&rich(strict, &less), tool, args.clone());
        let after = freedom(&rich(strict, &both), tool, args.clone());
        prop_assert!(after <= before, "{tool} {args}: {before} under {less:?}, {after} under {both:?}");
    }

    #[test]
    fn the_order_of_sources_changes_no_witness((tool, args) in calls(), label in labels()) {
        let backwards: Vec<&str> = label.iter().rev().copied().collect();
        let (one, other) = (rich(false, &label), rich(false, &backwards));
        prop_assert_eq!(one.judge(tool, args.clone()), other.judge(tool, args));
    }

    #[test]
    fn every_witness_that_is_missing_is_asked_about((tool, args) in calls(), label in labels()) {
        if let Ok(allowed) = rich(false, &label).judge(tool, args) {
            let missing = allowed.weighed.iter().filter(|one| one.witness.is_empty()).count();
            let asked = match allowed.consent {
                Consent::Needed { open, .. } => open.len(),
                Consent::NotNeeded => 0,
            };
            prop_assert!(asked >= missing);
        }
    }

    #[test]
    fn a_value_that_stands_nowhere_in_what_was_typed_is_never_typed(text in "[a-z0-9@. '\"-]{0,40}", value in "[a-z0-9@.-]{1,8}") {
        let mut typed = crate::rules::flow::typed::Typed::default();
        typed.add(&text);
        for kind in [Kind::Mail, Kind::Account, Kind::Id, Kind::Name, Kind::Value] {
            prop_assert!(!typed.has(kind, &value) || text.contains(&value));
        }
    }

    #[test]
    fn more_typed_words_never_take_a_witness_away(text in "[a-z@. '\"]{0,40}", more in "[a-z@. '\"]{0,40}", value in "[a-z@.]{1,6}") {
        let mut typed = crate::rules::flow::typed::Typed::default();
        typed.add(&text);
        let (before, title) = (typed.has(Kind::Value, &value), typed.has_title(&text));
        typed.add(&more);
        prop_assert!(!before || typed.has(Kind::Value, &value));
        prop_assert!(!title || typed.has_title(&text));
    }
}
