//! *Witness*: every value that steers needs one, each element and key alone, in trusted contexts too.

use super::*;

const TYPED: &[(&str, &str)] = &[("to", "typed")];

fn letter(id: &str, from: &str, title: &str) -> Value {
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
    assert_eq!(open[0].line, "[flow]\nvouch = [\"eve@evil.test\"]");
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
fn a_value_about_which_a_tool_had_something_to_say_is_a_witness() {
    let paid = |by: &str| json!({"payments": [{"by": by, "cents": 1}]});
    let asked = json!({"account": "ACC-9", "note": "Rent"});
    scene(&[], CLEAN)
        .saw("bank.look", asked.clone(), paid("me@own.test"))
        .check(
            "bank.pay",
            json!({"account": "ACC-9", "whom": "Rent"}),
            Allow(&[("account", "`bank.look`"), ("whom", "`bank.look`")]),
        );
    for none in [json!({"payments": []}), json!({"payments": [], "count": 0})] {
        scene(&[], CLEAN)
            .saw("bank.look", asked.clone(), none)
            .check(
                "bank.pay",
                json!({"account": "ACC-9", "whom": "Rent"}),
                Ask(&["`account`", "`whom`"]),
            );
    }
    // A stranger's cent vouches for no account, since accounts are an open kind.
    scene(&[], CLEAN)
        .saw("bank.look", asked, paid("eve@evil.test"))
        .check(
            "bank.pay",
            json!({"account": "ACC-9", "whom": "Rent"}),
            Ask(&["`account`"]),
        );
}

#[test]
fn open_kinds_do_not_vouch_from_a_record_that_somebody_else_started() {
    let kept = json!({"account": "ACC-m1"});
    scene(&[], MAIL)
        .saw("mail.read", json!({}), letter("m1", "me@own.test", "x"))
        .check(
            "bank.pay",
            kept.clone(),
            Allow(&[("account", "`mail.read`")]),
        );
    for from in ["eve@evil.test", "me@own.test.evil.test", ""] {
        scene(&[], MAIL)
            .saw("mail.read", json!({}), letter("m1", from, "x"))
            .check("bank.pay", kept.clone(), Ask(&["`account`"]))
            // A closed kind does.
            .check(
                "other.act",
                json!({"flag": "Blue"}),
                Allow(&[("flag", "`mail.read`")]),
            );
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
