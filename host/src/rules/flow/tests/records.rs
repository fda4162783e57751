//! Records that were written under a stranger's influence: they look like the user's own, and are not.

use super::super::records::named;
use super::witness::letter;
use super::*;

/// Address books: one of which policy knows the ids, and one of which it does not.
const BOOK: &str = r#"
[tools."book.find".records]
at = "/found/*"
id = "id"
title = "title"
own = true
people = { guest = "mail" }
vouches = { mail = "mail", name = "name" }
asks = { who = "mail" }
[tools."plain.find".records]
at = "/found/*"
own = true
vouches = { mail = "mail" }
"#;

const EVE: (&str, &str) = ("e7", WEB);

fn book(typed: &[&str]) -> Scene {
    scene_of(&format!("{POLICY}{BOOK}"), typed, CLEAN)
}

fn found() -> Value {
    json!({"found": [
        {"id": "e7", "mail": "eve@evil.test", "name": "Eve", "title": "Team offsite, June", "guest": "e@evil.test"},
        {"id": "e8", "mail": "bob@own.test", "name": "Bob"},
    ]})
}

#[test]
fn a_record_that_a_stranger_had_a_hand_in_vouches_for_nothing_and_others_do() {
    let (eve, bob) = (
        json!({"to": "eve@evil.test"}),
        json!({"to": "bob@own.test"}),
    );
    let by_book = || Allow(&[("to", "`book.find`")]);
    for (touched, eves, bobs) in [
        (&[][..], true, true),
        // Whoever wrote it was the user, or somebody whom policy trusts.
        (&[("e7", OWN)][..], true, true),
        (&[EVE][..], false, true),
        (&[("e8", CLEAN), EVE][..], false, true),
        (&[("another", WEB)][..], true, true),
        // Which one it is that was written, nobody knows.
        (&[("", WEB)][..], false, false),
    ] {
        let seen = ("", "", touched);
        let scene = book(&[]).saw_touched(seen, "book.find", json!({}), found());
        let expected = |vouched| match vouched {
            true => by_book(),
            false => Ask(&["`to`"]),
        };
        scene.check("mail.send", eve.clone(), expected(eves)).check(
            "mail.send",
            bob.clone(),
            expected(bobs),
        );
    }
}

#[test]
fn where_no_id_is_known_any_record_of_the_outcome_may_be_it() {
    let to = |to: &str| json!({ "to": to });
    book(&[])
        .saw_touched(("", "", &[EVE]), "plain.find", json!({}), found())
        .check("mail.send", to("eve@evil.test"), Ask(&["`to`"]))
        .check("mail.send", to("bob@own.test"), Ask(&["`to`"]));
    // An answer without an id is no record, and what is asked for is not known by being repeated.
    for (found, vouches) in [
        (json!({"who": "eve@evil.test"}), false),
        (json!({"who": "eve@evil.test", "name": "Eve"}), false),
        (json!({"id": "e9", "who": "eve@evil.test"}), true),
    ] {
        let asked = json!({"who": "eve@evil.test"});
        let looked = book(&[]).saw("book.find", asked, json!({ "found": [found] }));
        let expected = match vouches {
            true => Allow(&[("to", "`book.find`")]),
            false => Ask(&["`to`"]),
        };
        looked.check("mail.send", to("eve@evil.test"), expected);
    }
    // Of one that has none where it should have one, likewise.
    let nameless = json!({"found": [{"mail": "eve@evil.test"}]});
    book(&[])
        .saw_touched(("", "", &[EVE]), "book.find", json!({}), nameless)
        .check("mail.send", to("eve@evil.test"), Ask(&["`to`"]));
}

#[test]
fn a_title_of_such_a_record_is_nobodys() {
    let typed = &["Answer 'Team offsite, June'"];
    let to = |to: &str| json!({ "to": to });
    let seen =
        |touched| book(typed).saw_touched(("", "", touched), "book.find", json!({}), found());
    seen(&[]).check("mail.send", to("e@evil.test"), Allow(&[("to", "typed")]));
    seen(&[EVE]).check("mail.send", to("e@evil.test"), Ask(&["`to`"]));
    // And somebody else's of the same title is none any more, in whatever order they are seen.
    let ada = || letter("m1", "ada@x.com", "Team offsite, June");
    seen(&[EVE]).saw("mail.read", json!({}), ada()).check(
        "mail.send",
        to("ada@x.com"),
        Ask(&["`to`"]),
    );
    book(typed)
        .saw("mail.read", json!({}), ada())
        .check("mail.send", to("ada@x.com"), Allow(&[("to", "typed")]))
        .saw_touched(("", "", &[EVE]), "book.find", json!({}), found())
        .check("mail.send", to("ada@x.com"), Ask(&["`to`"]));
}

#[test]
fn such_a_record_names_nobody_is_no_answer_and_has_nobody_on_it() {
    let eve = json!({"found": [found()["found"][0]]});
    let asked = json!({"who": "who@x.com"});
    let seen = |touched| {
        book(&["answer e7"]).saw_touched(("", "", touched), "book.find", asked.clone(), eve.clone())
    };
    for (touched, expected) in [(&[][..], true), (&[EVE][..], false)] {
        let scene = seen(touched);
        assert_eq!(scene.ledger.is_name("eve"), expected);
        let who = scene.ledger.vouching((Kind::Mail, "who@x.com"), "mail");
        assert_eq!(who.is_some(), expected);
        let eve = (Kind::Mail, "e@evil.test".to_owned());
        let met = scene.ledger.met("book", "e7");
        assert_eq!(
            met.is_some_and(|(people, _)| people.contains(&eve)),
            expected
        );
    }
}

/// What is a stranger's anyway is no worse for it: a letter that was filed away under another stranger's influence.
#[test]
fn a_strangers_record_stays_the_strangers() {
    let ada = letter("m1", "ada@x.com", "Team offsite, June");
    scene(&["Answer 'Team offsite, June'"], MAIL)
        .saw_touched(
            ("file:mail", "", &[("m1", WEB)]),
            "mail.read",
            json!({}),
            ada,
        )
        .check(
            "mail.send",
            json!({"to": "ada@x.com"}),
            Allow(&[("to", "typed")]),
        );
}

#[test]
fn a_call_names_the_records_that_it_acts_on_by_whatever_may_be_an_id() {
    let policy = format!(
        "{}[tools.\"other.act\"]\nreply = \"flag\"\ncontent = [\"text\"]\n\
         [tools.\"bank.find\".records]\nid = \"account\"\npeople = {{ account = \"account\" }}\n",
        POLICY.replace(
            "steering = { id = \"id\" }",
            "steering = { id = \"id\" }\nrecords = { changes = \"id\" }"
        )
    );
    for (tool, args, ids, sure) in [
        // What it changes, policy says.
        ("mail.delete", json!({"id": "m1"}), &["m1"][..], true),
        (
            "mail.delete",
            json!({"id": "m1", "other": "m2"}),
            &["m1", "m2", "other"],
            true,
        ),
        (
            "mail.delete",
            json!({"other": "m2"}),
            &["m2", "other"],
            false,
        ),
        (
            "mail.send",
            json!({"to": "a@x.com", "title": "t", "text": "x", "answers": "m2"}),
            &["m2"],
            false,
        ),
        // Its name may be its id.
        (
            "cal.add",
            json!({"title": "m3", "text": "m4"}),
            &["m3"],
            false,
        ),
        (
            "files.move",
            json!({"source": "docs/a", "target": "docs/b"}),
            &["docs/a", "docs/b"],
            false,
        ),
        // A service may know its records by what is no id elsewhere.
        (
            "bank.pay",
            json!({"account": "ACC-7", "note": "x"}),
            &["ACC-7"],
            false,
        ),
        // Of what nobody has spoken, anything may be one; a truth is none.
        (
            "other.act",
            json!({"flag": "e7", "to": 8, "text": "no"}),
            &["8", "e7"],
            false,
        ),
        ("cal.clear", json!({"all": true}), &["all"], false),
    ] {
        let scene = scene_of(&policy, &[], CLEAN);
        let call = Scene::call(tool, args);
        let found = named(&call, &scene.caller(Grant::default()), &scene.policy);
        let all: Vec<&str> = found.all.iter().map(String::as_str).collect();
        assert_eq!((all.as_slice(), found.sure), (ids, sure), "{tool}");
    }
}
