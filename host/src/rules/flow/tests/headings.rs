//! What a person who is asked about an id is told of the record that it names.

use super::*;
use crate::rules::flow::headings;
use crate::words::limits::LEDGER_HEADINGS;

/// What is said of a call, once a letter was read.
fn said(label: &str, letter: Value, tool: &str, args: Value) -> Vec<String> {
    let scene = scene(&[], label).saw("mail.read", json!({}), letter);
    let caller = scene.caller(Grant::default());
    headings(&Scene::call(tool, args), &caller, &scene.policy)
}

#[test]
fn an_id_is_shown_with_what_its_record_is_called_and_whose_it_is() {
    let letter = json!({"id": "m3", "title": "Rent\nfor May", "from": "eve@evil.test"});
    let delete = |id: &str| said(WEB, letter.clone(), "mail.delete", json!({ "id": id }));

    let shown = delete("m3");
    assert_eq!(shown.len(), 1);
    assert!(shown[0].starts_with("`id` is `m3`, "), "{shown:?}");
    assert!(
        shown[0].contains("\" by \"eve@evil.test\"") && !shown[0].contains('\n'),
        "{shown:?}"
    );
    // A title that says whose it is says so within its quotes.
    let forged = json!({"id": "m3", "title": "Rent\" by \"me@own.test", "from": "eve@evil.test"});
    let forged = said(WEB, forged, "mail.delete", json!({"id": "m3"}));
    let quoted = "as \"Rent\\\" by \\\"me@own.test\" by \"eve@evil.test\"";
    assert!(forged[0].ends_with(quoted), "{forged:?}");
    // As the service may take it, and no other.
    assert_eq!(delete("#M3").len(), 1);
    assert!(delete("m4").is_empty());
    // Of another service nobody has said anything, and what is only sent names no record.
    let elsewhere = said(WEB, letter.clone(), "other.act", json!({"flag": "m3"}));
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let sent = json!({"to": "bob@x.com", "text": "m3", "answers": "m3"});
    let sent = said(WEB, letter.clone(), "mail.send", sent);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].starts_with("`answers` is `m3`"), "{sent:?}");
}

/// Whoever writes a letter may choose its id, and have it look like another one.
#[test]
fn of_ids_that_look_alike_each_is_shown_with_what_it_is_called() {
    let letter = |id: &str, title: &str| json!({"id": id, "title": title, "from": "eve@evil.test"});
    let mut scene = scene(&[], WEB);
    for (id, title) in [("m3", "Contract"), ("M3", "Offers"), ("m3", "Contract")] {
        scene = scene.saw("mail.read", json!({}), letter(id, title));
    }
    let told = |scene: &Scene, id: &str| {
        let caller = scene.caller(Grant::default());
        let call = Scene::call("mail.delete", json!({ "id": id }));
        headings(&call, &caller, &scene.policy)
    };
    for (id, titles) in [
        ("m3", &["Contract"][..]),
        ("M3", &["Offers"]),
        ("#m3", &["Contract", "Offers"]),
    ] {
        let told = told(&scene, id);
        assert_eq!(told.len(), titles.len(), "{told:?}");
        for (told, title) in told.iter().zip(titles) {
            assert!(told.contains(title), "{told}");
        }
    }
    let twice = scene.saw("mail.read", json!({}), letter("m3", "Rent"));
    assert_eq!(told(&twice, "m3").len(), 2);
}

#[test]
fn nothing_is_said_of_what_is_secret_or_has_no_title_or_is_one_too_many() {
    let letter = json!({"id": "m3", "title": "Rent", "from": "eve@evil.test"});
    let delete = json!({"id": "m3"});
    assert!(said(SECRET, letter, "mail.delete", delete.clone()).is_empty());
    let plain = json!({"id": "m3", "text": "Rent"});
    assert!(said(WEB, plain, "mail.delete", delete.clone()).is_empty());
    let mut scene = scene(&[], WEB);
    for number in 0..=LEDGER_HEADINGS {
        let letter = json!({"id": number.to_string(), "title": "Rent"});
        scene = scene.saw("mail.read", json!({}), letter);
    }
    let caller = scene.caller(Grant::default());
    let told = |id: usize| {
        let call = Scene::call("mail.delete", json!({"id": id.to_string()}));
        headings(&call, &caller, &scene.policy).len()
    };
    assert_eq!((told(0), told(LEDGER_HEADINGS)), (1, 0));
}
