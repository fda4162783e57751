//! *Witness*: every value that steers needs one, each element and key alone, in trusted contexts too.

use super::*;
use crate::rules::flow::class::{Class, Integrity, Secrecy};
use crate::words::label::Sort;

const TYPED: &[(&str, &str)] = &[("to", "typed")];

pub(super) fn letter(id: &str, from: &str, title: &str) -> Value {
    json!({"id": id, "from": from, "to": ["me@own.test", "team@own.test"], "title": title, "from_name": "Ada B. Lovelace",
        "link": format!("https://{id}.test/"), "account": format!("ACC-{id}"), "room": "Blue"})
}

#[test]
fn a_typed_value_steers_and_one_that_nobody_typed_is_asked_about_in_every_context() {
    for label in [CLEAN, WEB, OWN] {
        scene(&["Write to doe@x.com."], label)
            .check("mail.send", json!({"to": "doe@x.com"}), Allow(TYPED))
            .check("mail.send", json!({"to": "DOE@X.COM"}), Allow(TYPED))
            .check(
                "mail.send",
                json!({"to": "oe@x.com"}),
                Ask(&["`to` of `mail.send` is the mail `oe@x.com`"]),
            )
            .check("mail.send", json!({"to": "doe@x.com "}), Ask(&["`to`"]))
            .check("mail.send", json!({"to": "dое@x.com"}), Ask(&["`to`"]));
    }
    scene(&["Write to john.doe@x.com"], CLEAN).check(
        "mail.send",
        json!({"to": "doe@x.com"}),
        Ask(&["doe@x.com"]),
    );
    scene(&[], CLEAN).check("mail.send", json!({"to": "doe@x.com"}), Ask(&["user"]));
}

#[test]
fn a_question_names_argument_value_source_and_rule() {
    let scene = scene(&["Write to Ada"], WEB);
    let consent = scene
        .judge("mail.send", json!({"to": "eve@evil.test"}))
        .unwrap()
        .consent;
    let Consent::Needed { rule, open, .. } = consent else {
        panic!("nothing is asked");
    };
    assert_eq!(rule, "`[flow] mode = \"auto\"`, which is the default");
    assert_eq!(
        open[0].reason,
        "`to` of `mail.send` is the mail `eve@evil.test`, chosen under the influence of web:https://evil.test: a \
         value that steers needs the user's own words, or somebody who vouches for it"
    );
    assert_eq!(
        open[0].line,
        "[flow.tools.\"mail.send\"]\nvouch = [\"eve@evil.test\"]\n# or, for one run: --vouch eve@evil.test"
    );
}

#[test]
fn each_element_and_each_key_is_weighed_alone() {
    scene(&["a@x.com, b@x.com"], CLEAN)
        .check(
            "mail.send",
            json!({"to": ["a@x.com", "b@x.com"]}),
            Allow(&[("to/0", "typed"), ("to/1", "typed")]),
        )
        .check(
            "mail.send",
            json!({"to": ["a@x.com", "c@x.com"]}),
            Ask(&["`to/1`"]),
        )
        .check(
            "mail.send",
            json!({"to": ["a@x.com b@x.com"]}),
            Ask(&["`to/0`"]),
        )
        .check(
            "mail.send",
            json!({"to": {"c@x.com": "a@x.com"}}),
            Ask(&["is the mail `c@x.com`"]),
        )
        .check(
            "mail.send",
            json!({"to": {"b@x.com": "a@x.com"}}),
            Allow(&[("to/b@x.com", "typed"), ("to/b@x.com", "typed")]),
        )
        .check(
            "mail.send",
            json!({"to": "a@x.com", "bcc": "c@x.com"}),
            Ask(&["`bcc`", "`bcc` of `mail.send` is the value `c@x.com`"]),
        );
}

#[test]
fn what_nobody_has_named_steers() {
    scene(&["Act on 'x' for a@x.com"], CLEAN)
        .check(
            "other.act",
            json!({"to": "a@x.com", "text": "x", "flag": null}),
            Allow(&[("to", "typed"), ("text", "typed")]),
        )
        // What a manifest proposes is nothing where policy does not trust its plugin.
        .check(
            "other.act",
            json!({"to": "a@x.com", "text": "anything", "flag": true}),
            Ask(&["`flag`", "`text`"]),
        );
    let trusted = POLICY.replace("\"site\"]", "\"site\", \"other\"]");
    scene_of(&trusted, &["Act for a@x.com"], CLEAN).check(
        "other.act",
        json!({"to": "a@x.com", "text": "anything"}),
        Allow(TYPED),
    );
}

#[test]
fn digits_alone_and_phrases_stand_in_quotes() {
    let typed = &["Pay 12 to “ACC-7” for 'Anna Ode', and \"99\" to B. Ode"];
    scene(typed, CLEAN)
        .check(
            "bank.pay",
            json!({"account": "ACC-7", "amount": 99}),
            Allow(&[("account", "typed"), ("amount", "typed")]),
        )
        .check(
            "bank.pay",
            json!({"account": "ACC-7", "amount": 12}),
            Ask(&["`amount`"]),
        )
        .check("bank.pay", json!({"account": "7"}), Ask(&["`account`"]))
        .check(
            "bank.pay",
            json!({"amount": "Anna Ode"}),
            Allow(&[("amount", "typed")]),
        )
        .check("bank.pay", json!({"amount": "B. Ode"}), Ask(&["`amount`"]))
        .check("bank.pay", json!({"amount": "99\""}), Ask(&["`amount`"]));
}

#[test]
fn common_kinds_count_where_a_result_lists_them() {
    let found = json!({"found": [{"name": "Anna", "mail": "anna@x.com"}]});
    scene(&["Pay Anna and Bob"], CLEAN)
        .check("bank.pay", json!({"whom": "Anna"}), Ask(&["`whom`"]))
        .saw("people.find", json!({}), found)
        .check(
            "bank.pay",
            json!({"whom": "Anna"}),
            Allow(&[("whom", "typed")]),
        )
        .check("bank.pay", json!({"whom": "Bob"}), Ask(&["`whom`"]));
}

#[test]
fn policy_and_the_user_vouch_beforehand() {
    scene(&["\"eve@x.com\""], WEB)
        .check(
            "bank.pay",
            json!({"account": "ACC-1"}),
            Allow(&[("account", "policy")]),
        )
        .check(
            "mail.send",
            json!({"to": "ME@own.test"}),
            Allow(&[("to", "policy")]),
        )
        .check("mail.send", json!({"to": "eve@x.com"}), Allow(TYPED))
        .check("bank.pay", json!({"account": "acc-1"}), Ask(&["`account`"]));
}

/// What the user vouches for in a run counts as it stands, and where a first name counts only if a list has it, too.
#[test]
fn the_user_vouches_for_whole_values() {
    let mut scene = scene(&[], WEB);
    let path = "docs/notes for eve@evil.test";
    for value in [path, "Bob"] {
        scene.ledger.named(value);
    }
    scene.policy.flows.common.insert(Kind::Name);
    scene
        .check(
            "files.write",
            json!({"path": path}),
            Allow(&[("path", "typed")]),
        )
        .check(
            "files.remove",
            json!({"path": path}),
            Allow(&[("path", "typed")]),
        )
        .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["`to`"]))
        .check(
            "files.remove",
            json!({"path": "docs/notes"}),
            Ask(&["`path`"]),
        )
        .check(
            "bank.pay",
            json!({"whom": "Bob"}),
            Allow(&[("whom", "typed")]),
        )
        .check("bank.pay", json!({"whom": "Anna"}), Ask(&["`whom`"]));
}

#[test]
fn a_whole_leaf_of_the_same_kind_from_a_vouching_field_is_a_witness() {
    let found = json!({"found": [{"name": "Anna", "mail": "anna@x.com", "note": "eve@evil.test"}]});
    for label in [CLEAN, WEB] {
        scene(&[], label)
            .saw("people.find", json!({}), found.clone())
            .check(
                "mail.send",
                json!({"to": "Anna@x.com"}),
                Allow(&[("to", "`people.find`")]),
            )
            .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["`to`"]))
            .check("mail.send", json!({"to": "nna@x.com"}), Ask(&["`to`"]))
            // Another kind.
            .check(
                "bank.pay",
                json!({"account": "anna@x.com"}),
                Ask(&["`account`"]),
            );
    }
    // Another tool's outcome, about which policy says nothing.
    scene(&[], CLEAN)
        .saw("people.guess", json!({}), found)
        .check("mail.send", json!({"to": "anna@x.com"}), Ask(&["`to`"]));
}

#[test]
fn what_anybody_can_write_and_everybody_can_read_vouches_for_nothing() {
    let found = json!({"found": [{"name": "Anna", "mail": "anna@x.com"}]});
    let letter = letter("m1", "ada@x.com", "Team offsite, June");
    let typed = &["Answer 'Team offsite, June'", "Pay Anna", "answer m1"];
    let page = "web:https://evil.test";
    for (read, held, asked) in [
        ("file:mail", "", false),
        ("file:docs", "", false),
        // Its own code, of which policy knows the records, is no page.
        ("file:mail tool:people.find tool:mail.read", "", false),
        (page, "", true),
        ("web:*", "", true),
        // A page that was put into a file, and one that was handed over.
        ("file:mail web:https://evil.test", "", true),
        ("file:mail", page, true),
        ("file:mail tool:other.look", "", true),
        // What reads nothing makes it of what it is told.
        ("", page, true),
        ("", "", false),
    ] {
        let scene = scene(typed, CLEAN)
            .saw_in((read, held), "people.find", json!({}), found.clone())
            .saw_in((read, held), "mail.read", json!({}), letter.clone());
        let mail = json!({"to": ["anna@x.com", "ada@x.com"]});
        let reply = json!({"to": "ada@x.com", "answers": "m1"});
        let whom = json!({"whom": "Anna"});
        match asked {
            true => scene
                .check("mail.send", mail, Ask(&["`to/0`", "`to/1`"]))
                .check("mail.send", reply, Ask(&["`to`"]))
                .check("bank.pay", whom, Ask(&["`whom`"])),
            false => scene
                .check(
                    "mail.send",
                    mail,
                    Allow(&[("to/0", "`people.find`"), ("to/1", "typed")]),
                )
                .check(
                    "mail.send",
                    reply,
                    Allow(&[("to", "typed"), ("answers", "typed")]),
                )
                .check("bank.pay", whom, Allow(&[("whom", "typed")])),
        };
    }
    // Who asks for one's own records may be under anybody's influence; who makes up an outcome may not.
    for (read, asked) in [("file:mail", false), ("", true)] {
        let scene = scene(typed, WEB).saw_in((read, ""), "people.find", json!({}), found.clone());
        let mail = json!({"to": "anna@x.com"});
        match asked {
            true => scene.check("mail.send", mail, Ask(&["`to`"])),
            false => scene.check("mail.send", mail, Allow(&[("to", "`people.find`")])),
        };
    }
}

/// However many have had influence, whoever was named before is still named, and nobody else is.
#[test]
fn a_witness_counts_under_a_label_that_has_collapsed() {
    let page = |number| Source::new(Sort::Web, &format!("https://{number}.test"));
    let many = (0..1_000).map(page);
    let label = many.fold(label_of("user"), |label, source| label.with(source));
    let text: Vec<String> = label.sources().map(ToString::to_string).collect();
    assert!(text.contains(&"web:*".to_owned()), "{text:?}");
    let found = json!({"found": [{"mail": "anna@x.com"}]});
    scene(&["Write to doe@x.com"], &text.join(" "))
        .saw("people.find", json!({}), found)
        .check("mail.send", json!({"to": "doe@x.com"}), Allow(TYPED))
        .check(
            "mail.send",
            json!({"to": "anna@x.com"}),
            Allow(&[("to", "`people.find`")]),
        )
        .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["web:"]));
}

/// One's own service is on the web, too.
#[test]
fn a_page_of_ones_own_vouches_where_policy_says_so() {
    let found = json!({"found": [{"mail": "anna@x.com"}]});
    let mut scene = scene(&[], CLEAN);
    let class = Class {
        integrity: Integrity::Untrusted,
        secrecy: Secrecy::Private,
    };
    let said = &mut scene.policy.flows.classes.said;
    said.insert("web:https://crm.test".to_owned(), class);
    scene
        .saw_in(
            ("web:https://crm.test", ""),
            "people.find",
            json!({}),
            found,
        )
        .check(
            "mail.send",
            json!({"to": "anna@x.com"}),
            Allow(&[("to", "`people.find`")]),
        );
}

#[test]
fn a_strangers_own_letter_does_not_vouch_for_the_stranger() {
    let policy = POLICY.replace("room = \"value\"", "room = \"value\", from = \"mail\"");
    let policy = policy.replace("asks = { account", "asks = { who = \"mail\", account");
    let paid = |by: &str| json!({"payments": [{"by": by, "cents": 1}]});
    for (from, asked) in [("eve@evil.test", true), ("me@own.test", false)] {
        let to = json!({"to": "eve@evil.test"});
        let read =
            scene_of(&policy, &[], MAIL).saw("mail.read", json!({}), letter("m1", from, "x"));
        let known = read.ledger.vouching((Kind::Mail, from), "mail").is_some();
        assert_eq!(known, !asked, "{from}");
        let looked = scene_of(&policy, &[], MAIL).saw(
            "bank.look",
            json!({"who": "eve@evil.test"}),
            paid(from),
        );
        match asked {
            true => looked.check("mail.send", to, Ask(&["`to`"])),
            false => looked.check("mail.send", to, Allow(&[("to", "`bank.look`")])),
        };
    }
}

#[test]
fn one_answer_to_several_questions_vouches_for_those_that_it_names() {
    let policy = POLICY.replace("asks = { account", "asks = { who = \"mail\", account");
    let paid = json!({"payments": [{"by": "me@own.test", "whom": "Anna@x.com"}]});
    let who = json!({"who": ["anna@x.com", "eve@evil.test"]});
    scene_of(&policy, &[], MAIL)
        .saw("bank.look", who, paid)
        .check(
            "mail.send",
            json!({"to": "anna@x.com"}),
            Allow(&[("to", "`bank.look`")]),
        )
        .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["`to`"]));
}

#[test]
fn a_value_about_which_a_tool_had_something_to_say_is_a_witness() {
    let paid = |by: &str| json!({"payments": [{"by": by, "cents": 1}]});
    let (account, note) = (json!({"account": "ACC-9"}), json!({"note": "Rent"}));
    let asked = |scene: Scene, found: &Value| {
        let scene = scene.saw("bank.look", account.clone(), found.clone());
        scene.saw("bank.look", note.clone(), found.clone())
    };
    asked(scene(&[], CLEAN), &paid("me@own.test")).check(
        "bank.pay",
        json!({"account": "ACC-9", "whom": "Rent"}),
        Allow(&[("account", "`bank.look`"), ("whom", "`bank.look`")]),
    );
    for none in [json!({"payments": []}), json!({"payments": [], "count": 0})] {
        asked(scene(&[], CLEAN), &none).check(
            "bank.pay",
            json!({"account": "ACC-9", "whom": "Rent"}),
            Ask(&["`account`", "`whom`"]),
        );
    }
    // A stranger's cent vouches for no account, since accounts are an open kind.
    asked(scene(&[], CLEAN), &paid("eve@evil.test")).check(
        "bank.pay",
        json!({"account": "ACC-9", "whom": "Rent"}),
        Ask(&["`account`"]),
    );
}

#[test]
fn open_kinds_do_not_vouch_from_a_record_that_somebody_else_started() {
    let iban = "GB82WEST12345698765432";
    let kept = json!({"account": iban});
    let letter = |from: &str| {
        let mut letter = letter("m1", from, "x");
        letter["account"] = json!(iban);
        letter
    };
    scene(&[], MAIL)
        .saw("mail.read", json!({}), letter("me@own.test"))
        .check(
            "bank.pay",
            kept.clone(),
            Allow(&[("account", "`mail.read`")]),
        );
    for from in ["eve@evil.test", "me@own.test.evil.test", ""] {
        scene(&[], MAIL)
            .saw("mail.read", json!({}), letter(from))
            .check("bank.pay", kept.clone(), Ask(&["`account`"]))
            // A closed kind does, where its record is.
            .check(
                "mail.comment",
                json!({"room": "Blue"}),
                Ask(&["private content goes to"]),
            )
            .check("other.act", json!({"flag": "Blue"}), Ask(&["`flag`"]));
    }
}

/// Of the open ones anybody makes up one that leads to themselves; what a file is called at a service, says nothing of one here.
#[test]
fn a_stranger_vouches_for_no_value_at_another_service() {
    for (kind, value) in [
        ("mail", "bo@x.com"),
        ("account", "GB82WEST12345698765432"),
        ("address", "1 High Street"),
        ("url", "https://a.test/x"),
        ("file", "docs/a.md"),
    ] {
        let policy = POLICY.replace("room = \"value\"", &format!("room = \"{kind}\""));
        let policy = policy.replace("whom = \"name\"", &format!("whom = \"{kind}\""));
        let letter = |from: &str| json!({"id": "m1", "from": from, "room": value});
        // A file says what and not whither, so that what is private is asked about beside it.
        let label = if kind == "file" { WEB } else { MAIL };
        let after =
            |from: &str| scene_of(&policy, &[], label).saw("mail.read", json!({}), letter(from));
        let pay = || json!({ "whom": value });
        let vouched: &[_] = &[("whom", "`mail.read`")];
        after("me@own.test").check("bank.pay", pay(), Allow(vouched));
        after("eve@evil.test").check("bank.pay", pay(), Ask(&["`whom`"]));
    }
}

#[test]
fn a_trusted_field_is_true_and_not_wanted() {
    scene(&["Answer all letters"], MAIL)
        .saw(
            "mail.read",
            json!({}),
            letter("m1", "eve@evil.test", "Hi there"),
        )
        .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["`to`"]));
}

#[test]
fn addresses_of_a_record_whose_whole_title_was_typed_are_witnesses() {
    let scene = scene(
        &["Answer 'Team offsite, June', and summarise my mail"],
        MAIL,
    )
    .saw(
        "mail.read",
        json!({}),
        letter("m1", "ada@x.com", "Team offsite, June"),
    )
    .saw(
        "mail.read",
        json!({}),
        letter("m2", "eve@evil.test", "my mail"),
    )
    .saw(
        "mail.read",
        json!({}),
        letter("m3", "mallory@evil.test", "June"),
    );
    scene
        .check(
            "mail.send",
            json!({"to": ["ada@x.com", "team@own.test"]}),
            Allow(&[("to/0", "Team offsite, June"), ("to/1", "was typed")]),
        )
        .check(
            "mail.send",
            json!({"to": "ada@x.com", "answers": "m1"}),
            Allow(&[("to", "was typed"), ("answers", "was typed")]),
        )
        // To name a letter is not to say that it may go.
        .check("mail.delete", json!({"id": "m1"}), Ask(&["`id`"]))
        // Words that merely stand in the goal are nobody's title.
        .check("mail.send", json!({"to": "eve@evil.test"}), Ask(&["`to`"]))
        // One word is no title.
        .check(
            "mail.send",
            json!({"to": "mallory@evil.test"}),
            Ask(&["`to`"]),
        )
        .check("mail.delete", json!({"id": "m2"}), Ask(&["`id`"]));
}

/// Whoever reads a stranger's letter first has the one record read that is theirs, and never the other.
#[test]
fn a_title_that_a_stranger_had_somebody_look_for_is_no_witness() {
    let title = "Team offsite, June";
    let goal = &["Answer 'Team offsite, June'"];
    let theirs = || letter("m2", "eve@evil.test", title);
    let to_eve = || json!({"to": "eve@evil.test"});
    let titled = [("to", "was typed")];
    let led = |by| scene(goal, MAIL).led(by);
    for (by, expected) in [
        ("user", Allow(&titled)),
        // What is on the service's tools is behind each call of them.
        ("user tool:mail.*", Allow(&titled)),
        ("user tool:cal.*", Allow(&titled)),
        ("user tool:other.*", Ask(&["`to`"])),
        (WEB, Ask(&["`to`"])),
        (MAIL, Ask(&["`to`"])),
    ] {
        let read = led(by).saw("mail.read", json!({}), theirs());
        read.check("mail.send", to_eve(), expected);
    }
    // However often it is read; and by whatever handle.
    let twice = led(WEB).saw("mail.read", json!({}), theirs());
    let twice = twice.saw("mail.read", json!({}), theirs());
    twice.check("mail.send", to_eve(), Ask(&["`to`"]));
    scene(goal, MAIL)
        .saw_in(("file:mail", "file:mail"), "mail.read", json!({}), theirs())
        .check("mail.send", to_eve(), Ask(&["`to`"]));
    // What was found before stays what it was found as.
    scene(goal, MAIL)
        .saw("mail.read", json!({}), theirs())
        .led(MAIL)
        .saw("mail.read", json!({}), theirs())
        .check("mail.send", to_eve(), Allow(&titled));
    // And the user's own letter of that title is no witness either, once a second one is there.
    let ada = || json!({"to": ["ada@x.com", "team@own.test"]});
    let both = scene(goal, MAIL).saw("mail.read", json!({}), letter("m1", "ada@x.com", title));
    let both = both.led(MAIL).saw("mail.read", json!({}), theirs());
    both.check("mail.send", ada(), Ask(&["`to/0`", "`to/1`"]));
}

#[test]
fn a_title_that_two_have_used_is_no_witness_any_more() {
    let title = "Team offsite, June";
    let goal = &["Answer 'Team offsite, June'"];
    let ada = || json!({"to": ["ada@x.com", "team@own.test"]});
    let one = || scene(goal, MAIL).saw("mail.read", json!({}), letter("m1", "ada@x.com", title));
    let asked = &["`to/0`", "`to/1`"];
    let allowed = &[("to/0", "typed"), ("to/1", "typed")];
    // Another record of the same author, and the same record once more, by whatever tool.
    for (id, from) in [("m2", "ADA@x.com"), ("m1", "ada@x.com"), ("m1", "")] {
        one()
            .saw("mail.read", json!({}), letter(id, from, title))
            .check("mail.send", ada(), Allow(allowed));
    }
    for (id, from, said) in [
        ("m2", "eve@evil.test", title),
        ("m2", "eve@evil.test", "team  offsite JUNE"),
        ("m2", "me@own.test", title),
        ("m2", "", title),
    ] {
        let both = one().saw("mail.read", json!({}), letter(id, from, said));
        let both = both.check("mail.send", ada(), Ask(asked));
        let other = json!({"to": from, "answers": id});
        match from {
            "eve@evil.test" => both.check("mail.send", other, Ask(&["`answers`"])),
            _ => both,
        };
    }
    // In whatever order they are seen, and how often.
    scene(goal, MAIL)
        .saw("mail.read", json!({}), letter("m2", "eve@evil.test", title))
        .saw("mail.read", json!({}), letter("m1", "ada@x.com", title))
        .saw("mail.read", json!({}), letter("m1", "ada@x.com", title))
        .check("mail.send", ada(), Ask(asked));
}

#[test]
fn who_fills_the_ledger_gains_nothing_by_it() {
    let title = "Team offsite, June";
    let crowd = |id: &str, from: &str, people: usize| {
        let people = (0..people).map(|n| format!("{n}@evil.test"));
        json!({"id": id, "from": from, "title": title, "to": people.collect::<Vec<_>>()})
    };
    let scene = || scene(&["Answer 'Team offsite, June', letter m2"], MAIL);
    let to_eve = || json!({"to": "eve@evil.test"});
    let read = |scene: Scene, letter| scene.saw("mail.read", json!({}), letter);
    // One letter that fits stands for its title, until another one of that title is read for which there is no room.
    let fitting = read(scene(), crowd("m1", "eve@evil.test", 9_900));
    let fitting = fitting.check("mail.send", to_eve(), Allow(&[("to", "typed")]));
    read(fitting, crowd("m2", "ada@x.com", 500))
        .check("mail.send", to_eve(), Ask(&["`to`"]))
        .check(
            "mail.send",
            json!({"to": "ada@x.com", "answers": "m2"}),
            Ask(&["`to`"]),
        );
    // What does not fit is left out whole.
    read(scene(), crowd("m1", "eve@evil.test", 20_000)).check(
        "mail.send",
        to_eve(),
        Ask(&["`to`"]),
    );
}

#[test]
fn the_record_that_is_answered_is_a_witness_for_its_own_addresses() {
    let scene = scene(&["Answer letter m1, or \"44\""], MAIL)
        .saw("mail.read", json!({}), letter("m1", "ada@x.com", "Hi"))
        .saw("mail.read", json!({}), letter("m2", "eve@evil.test", "Hi"))
        .saw(
            "people.find",
            json!({}),
            json!({"found": [{"mail": "bob@x.com"}]}),
        );
    scene
        .check(
            "mail.send",
            json!({"to": "ada@x.com", "answers": "m1"}),
            Allow(&[("to", "answered"), ("answers", "typed")]),
        )
        .check(
            "mail.send",
            json!({"to": "eve@evil.test", "answers": "m1"}),
            Ask(&["`to`"]),
        )
        // Which record is answered steers as well.
        .check(
            "mail.send",
            json!({"to": "eve@evil.test", "answers": "m2"}),
            Ask(&["`answers` of `mail.send` is the id `m2`"]),
        )
        .check("mail.send", json!({"to": "ada@x.com"}), Ask(&["`to`"]));
}

#[test]
fn records_of_two_services_are_two_records_whatever_they_are_called() {
    let policy = format!(
        "{POLICY}[tools.\"cal.read\".records]\nid = \"id\"\npeople = {{ guest = \"mail\" }}\n"
    );
    scene_of(&policy, &["Answer m1"], MAIL)
        .saw("mail.read", json!({}), letter("m1", "ada@x.com", "Hi"))
        .saw(
            "cal.read",
            json!({}),
            json!({"id": "m1", "guest": "eve@evil.test"}),
        )
        .check(
            "mail.send",
            json!({"to": "eve@evil.test", "answers": "m1"}),
            Ask(&["`to`"]),
        );
}

#[test]
fn an_answer_is_a_witness_for_its_value_kind_sources_and_run() {
    let eve = json!({"to": "eve@evil.test"});
    let mut scene = scene(&[], WEB)
        .answered("mail.send", eve.clone())
        .check("mail.send", eve.clone(), Allow(&[("to", "answered for")]))
        .check("mail.send", json!({"to": "eva@evil.test"}), Ask(&["`to`"]))
        .check(
            "other.act",
            json!({"to": "eve@evil.test"}),
            Ask(&["the value"]),
        );
    // Trusted sources come with every call, and are no reason to ask again.
    scene.label = label_of("user file:docs web:https://evil.test");
    let mut scene = scene.check("mail.send", eve.clone(), Allow(&[("to", "answered for")]));
    scene.label = label_of("user web:https://worse.test");
    let scene = scene.check("mail.send", eve.clone(), Ask(&["web:https://worse.test"]));
    let call = Scene::call("mail.send", eve);
    let mut elsewhere = scene.caller(Grant::default());
    elsewhere.label = label_of(WEB);
    elsewhere.run = RunId::known("another");
    let allowed = call.judge(&elsewhere, &scene.policy).unwrap();
    assert_ne!(allowed.consent, Consent::NotNeeded);
}

/// Rows that may be shown are no money that may be paid. What says by its kind what it is for is the same everywhere.
#[test]
fn an_answer_covers_a_plain_value_in_its_argument_alone_and_an_id_or_user_at_its_service() {
    let more = "[tools.\"mail.comment\"]\nsteering = { doc = \"id\", notify = \"user\", room = \"user\" }\n[tools.\"site.comment\"]\nsteering = { doc = \"id\", to = \"user\" }";
    let scene = scene_of(&format!("{POLICY}{more}"), &[], WEB);
    let plain = ("other.act", json!({"flag": "500"}));
    let mail = ("mail.send", json!({"to": "eve@evil.test"}));
    let file = ("files.write", json!({"path": "docs/a.md"}));
    let id = ("mail.send", json!({"answers": "m1"}));
    let user = ("mail.comment", json!({"notify": "kate"}));
    for (answered, tool, args, covered) in [
        (&plain, "other.act", json!({"flag": 500}), true),
        (&plain, "other.act", json!({"flag": ["500"]}), true),
        (&plain, "other.act", json!({"flag": "501"}), false),
        (&plain, "other.act", json!({"to": "500"}), false),
        (&plain, "bank.pay", json!({"amount": 500}), false),
        (&plain, "third.act", json!({"flag": 500}), false),
        // Somebody else may be called so.
        (&mail, "site.comment", json!({"to": "eve@evil.test"}), false),
        (&mail, "mail.send", json!({"cc": "eve@evil.test"}), true),
        (&file, "files.move", json!({"source": "docs/a.md"}), true),
        (&id, "mail.comment", json!({"doc": "m1"}), true),
        // Of one service, and of another kind.
        (&id, "mail.comment", json!({"notify": "m1"}), false),
        (&id, "site.comment", json!({"doc": "m1"}), false),
        (&user, "mail.comment", json!({"room": "kate"}), true),
        (&user, "site.comment", json!({"to": "kate"}), false),
    ] {
        let said = scene.asked(answered.0, answered.1.clone());
        let asked = scene.asked(tool, args.clone());
        assert_eq!((said.len(), asked.len()), (1, 1), "{tool} {args}");
        assert_eq!(said == asked, covered, "{answered:?}: {tool} {args}");
    }
}

#[test]
fn for_what_cannot_be_undone_nobody_answers_for_all_times() {
    let scene = scene(&[], WEB);
    assert!(scene.asked("mail.delete", json!({"id": "m1"})).is_empty());
    assert_eq!(scene.asked("mail.send", json!({"to": "a@x.com"})).len(), 1);
}

#[test]
fn who_has_answered_for_a_value_for_good_has_not_said_that_it_may_go() {
    let write = json!({"path": "docs/a.md", "content": "x", "mode": "replace"});
    scene(&[], WEB)
        .answered("files.write", write.clone())
        .check(
            "files.write",
            write,
            Allow(&[
                ("mode", "answered for"),
                ("mode", "answered for"),
                ("path", "answered for"),
            ]),
        )
        .check(
            "files.remove",
            json!({"path": "docs/a.md"}),
            Ask(&["what cannot be undone needs the user's own words"]),
        );
}
