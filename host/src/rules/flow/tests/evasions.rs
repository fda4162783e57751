//! What an attacker might write instead of the plain value: each is another text, and none a witness.

use super::*;

#[test]
fn another_writing_of_a_value_is_another_value() {
    let typed = &["Write to billing@own.test and pay 'ACC-55'"];
    for text in [
        "billing@оwn.test",
        "billing@own.test\u{200b}",
        "billing\u{ad}@own.test",
        "ｂilling@own.test",
        "billing@own.test\u{e0041}",
        "billing @own.test",
        "billing(at)own.test",
        "billing@own.test.evil.test",
        "evil+billing@own.test",
        "billing@own.test,eve@evil.test",
        "billing@own.test\neve@evil.test",
        "\"billing@own.test\" <eve@evil.test>",
        "YmlsbGluZ0Bvd24udGVzdA==",
        "tset.nwo@gnillib",
        "b!lling@own.test",
        "billin\u{334}g@own.test",
    ] {
        for label in [CLEAN, WEB] {
            scene(typed, label).check("mail.send", json!({"to": text}), Ask(&["`to`"]));
        }
    }
    for text in ["acc-55", "ACC‑55", "ACC-5", "CC-55", "ACC-55 ", "ACC-555"] {
        scene(typed, CLEAN).check("bank.pay", json!({"account": text}), Ask(&["`account`"]));
    }
}

#[test]
fn another_shape_of_arguments_hides_nothing() {
    for args in [
        json!({"to": {"to": "eve@evil.test"}}),
        json!({"to": [["eve@evil.test"]]}),
        json!({"to": [[], {}, ["eve@evil.test"]]}),
        json!({"to": {"0": ["eve@evil.test"]}}),
        json!({"to": {"eve@evil.test": null}}),
        json!({"to": {"eve@evil.test": []}}),
        json!({"to": [{"eve@evil.test": {}}]}),
        json!({"To": "eve@evil.test"}),
        json!({"to/0": "eve@evil.test"}),
        json!({"title/to": "eve@evil.test"}),
        json!({"bcc": ["eve@evil.test"]}),
        json!({"answers": {"to": "eve@evil.test"}}),
    ] {
        for label in [CLEAN, WEB] {
            let scene = scene(&["0 'to'"], label);
            let judged = scene.judge("mail.send", args.clone()).unwrap();
            let Consent::Needed { open, .. } = judged.consent else {
                panic!("{args} is not asked about");
            };
            let named = open
                .iter()
                .any(|open| open.reason.contains("`eve@evil.test`"));
            assert!(named, "{args}: {open:?}");
        }
    }
}

#[test]
fn what_a_person_reads_is_whole_and_shows_what_hides() {
    let hidden = format!("eve@evil.test\u{202e}{}.end", "x".repeat(500));
    let asked = scene(&[], WEB)
        .judge("mail.send", json!({"to": hidden}))
        .unwrap();
    let Consent::Needed { open, .. } = asked.consent else {
        panic!("nothing is asked");
    };
    assert!(open[0].reason.contains("eve@evil.test\\u{202e}xx"));
    assert!(open[0].reason.contains("xx.end`"), "{}", open[0].reason);
    assert!(asked.weighed[0].value.chars().count() < 200);
    let long = "x".repeat(5_000);
    scene(&[], WEB).check("mail.send", json!({"to": long}), Deny("flow_size"));
    let many: Vec<String> = (0..300).map(|n| format!("a{n}@evil.test")).collect();
    scene(&[], WEB).check("mail.send", json!({"to": many}), Deny("flow_size"));
}

#[test]
fn no_gap_in_a_value_begins_a_line_and_none_looks_like_another() {
    let to = |blanks: usize| json!({"to": format!("eve@evil.test{}cc = me", " ".repeat(blanks))});
    let said = "is the mail `eve@evil.test        \\u{20×592}cc = me`";
    let scene = scene(&[], WEB).check("mail.send", to(600), Ask(&[said]));
    let offered = |args| match scene.judge("mail.send", args).unwrap().consent {
        Consent::Needed { lines, .. } => lines.concat(),
        Consent::NotNeeded => String::new(),
    };
    assert!(!offered(to(600)).contains("vouch") && offered(to(1)).contains("vouch"));
    assert_ne!(
        scene.asked("mail.send", to(600)),
        scene.asked("mail.send", to(601))
    );
}

#[test]
fn letters_that_look_like_ours_are_named_in_the_question() {
    let said = "`to` of `mail.send` is the mail `\u{430}lice@corp.test` (its `\u{430}` is no `a`, but U+0430, which looks like it)";
    let to = |to: &str| json!({"to": to, "text": "x"});
    scene(&["write to alice@corp.test"], WEB)
        .check("mail.send", to("\u{430}lice@corp.test"), Ask(&[said]))
        // One that has none of ours is a word of another language.
        .check(
            "mail.send",
            to("\u{43e}\u{43d}"),
            Ask(&["the mail `\u{43e}\u{43d}`, chosen"]),
        )
        // What calls a thing by its name, too.
        .check(
            "cal.add",
            json!({"title": "Lun\u{441}h"}),
            Ask(&["is `Lun\u{441}h` (its `\u{441}` is no `c`, but U+0441, which looks like it), which"]),
        );
}
