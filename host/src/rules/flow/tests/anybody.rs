//! *Records of anybody's*: what stands in a record that somebody else may have started is known at its own service, and says
//! of nobody that the user meant them.

use super::super::records::{EACH, Seen};
use super::witness::letter;
use super::*;

/// A chat whose rooms and files others name, too.
const CHAT: &str = r#"
[tools."mail.rooms".records]
at = "/rooms/*"
vouches = { name = "name", path = "file", room = "value" }
[tools."mail.comment"]
steering = { room = "name", doc = "file", priority = "value" }
content = ["text"]
[tools."site.comment"]
steering = { to = "name", doc = "value" }
content = ["text"]
"#;

const PRIVATE: &str = "private content goes to";

fn chat(label: &str) -> Scene {
    let room = json!({"name": "guests", "path": "docs/plan.md", "room": "r1"});
    scene_of(&format!("{POLICY}{CHAT}"), &[], label).saw(
        "mail.rooms",
        json!({}),
        json!({"rooms": [room]}),
    )
}

#[test]
fn it_is_a_witness_at_its_own_service_alone() {
    let here = json!({"room": "guests", "doc": "docs/plan.md", "priority": "r1", "text": "x"});
    let listed = [
        ("room", "`mail.rooms`"),
        ("doc", "`mail.rooms`"),
        ("priority", "`mail.rooms`"),
    ];
    chat(WEB)
        .check("mail.comment", here, Allow(&listed))
        .check("site.comment", json!({"to": "guests"}), Ask(&["`to`"]))
        .check("site.comment", json!({"doc": "r1"}), Ask(&["`doc`"]));
    // A file of the user's own is no less theirs for what somebody calls their own elsewhere.
    let write = json!({"path": "docs/plan.md", "content": "x"});
    chat(MAIL).check("files.write", write, Ask(&["`path`"]));
}

#[test]
fn nothing_private_goes_where_it_leads() {
    for args in [
        json!({"room": "guests", "text": "salary"}),
        json!({"doc": "docs/plan.md", "text": "salary"}),
        json!({"priority": "r1", "text": "salary"}),
    ] {
        for label in [OWN, MAIL] {
            chat(label).check("mail.comment", args.clone(), Ask(&[PRIVATE]));
        }
    }
    let typed = json!({"room": "guests", "text": "salary"});
    let mut scene = chat(OWN);
    scene.ledger.typed("Tell \"guests\" what it is.");
    scene.check("mail.comment", typed, Allow(&[("room", "typed")]));
}

/// A name of the user's own is an address, and not whatever is called so.
#[test]
fn what_is_called_as_the_user_is_none_of_theirs() {
    let policy = format!("{POLICY}{CHAT}");
    let policy = policy.replace("me = [\"me@own.test\"]", "me = [\"ada\", \"me@own.test\"]");
    let scene = || scene_of(&policy, &[], WEB);
    scene().check(
        "mail.send",
        json!({"to": "me@own.test"}),
        Allow(&[("to", "policy")]),
    );
    scene().check("site.comment", json!({"to": "ada"}), Ask(&["`to`"]));
    scene().check("site.comment", json!({"doc": "ada"}), Ask(&["`doc`"]));
}

/// Who has written a letter to others is on it, and the others are, too.
#[test]
fn of_a_letter_of_which_the_user_alone_is_known_nobody_knows_who_may_be_told() {
    let listed = json!({"letters": [{"id": "m3", "from": "me@own.test"}]});
    let answer = json!({"cc": "me@own.test", "answers": "m3", "text": "salary"});
    let sent = json!({"id": "m3", "from": "me@own.test", "title": "Hi"});
    scene(&[], MAIL)
        .saw("mail.read", json!({}), sent)
        .saw("mail.list", json!({}), listed)
        .check("mail.send", answer, Ask(&[PRIVATE]));
}

/// It says who may be told, also where its tool only passes it on.
#[test]
fn what_names_the_letter_that_is_answered_steers_though_it_is_called_content() {
    let policy = POLICY.replace(
        "content = [\"title\", \"text\"]\nreply",
        "content = [\"title\", \"text\", \"answers\"]\nreply",
    );
    assert_ne!(policy, POLICY);
    let letter = letter("m1", "eve@evil.test", "Hi");
    let answer = json!({"to": "eve@evil.test", "answers": "m1", "text": "salary"});
    scene_of(&policy, &[], MAIL)
        .saw("mail.read", json!({}), letter)
        .check("mail.send", answer, Ask(&["`answers`"]));
}

/// Who looks for one by the name of another has the record of that one.
#[test]
fn an_answer_to_two_questions_is_one_to_what_it_names() {
    let asks = "[tools.\"book.look\".records]\nat = \"/found/*\"\nown = true\nasks = { mail = \"mail\", name = \"name\" }";
    let found = json!({"found": [{"name": "Linus", "phone": "7"}]});
    let to = json!({"to": "eve@evil.test"});
    let scene = || scene_of(&format!("{POLICY}{asks}"), &[], WEB);
    scene()
        .saw("book.look", json!({"mail": "eve@evil.test"}), found.clone())
        .check("mail.send", to.clone(), Allow(&[("to", "`book.look`")]));
    let both = json!({"mail": "eve@evil.test", "name": "Linus"});
    scene()
        .saw("book.look", both, found)
        .check("mail.send", to, Ask(&["`to`"]));
}

/// A file that somebody untrusted has written is read as their word, whoever owns the folder.
#[test]
fn who_had_a_hand_in_what_was_read_may_have_had_one_in_each_record() {
    let classes = scene(&[], CLEAN).policy.flows.classes;
    let touched = |label: &str, at: &str| {
        let mut seen = Seen::default();
        let mut read = Read::at(label_of(at));
        read.learn(&label_of(label));
        seen.handled(&classes, &read);
        seen.touched
    };
    let mail = label_of("file:mail");
    assert_eq!(
        touched("file:mail", "file:docs"),
        [(EACH.to_owned(), mail)].into()
    );
    assert!(
        touched("", "file:mail").is_empty(),
        "it is read for what it is"
    );
    assert!(
        touched("user file:docs", "file:work").is_empty(),
        "nobody else had a hand in it"
    );
}

/// Whoever has typed a title has meant one of its letters, whichever run of the session reads the other.
#[test]
fn a_title_of_two_letters_is_one_of_two_in_the_next_run_too() {
    let typed = ["Who writes about \"Team offsite, June\"?"];
    let grace = letter("m1", "grace@x.com", "Team offsite, June");
    let eve = letter("m2", "eve@evil.test", "Team offsite, June");
    let to = json!({"to": "eve@evil.test"});
    scene(&typed, MAIL)
        .saw("mail.read", json!({}), eve.clone())
        .check("mail.send", to.clone(), Allow(&[("to", "which was typed")]));
    let mut scene = scene(&typed, MAIL).saw("mail.read", json!({}), grace);
    scene.ledger = std::mem::take(&mut scene.ledger).heard_before();
    typed.iter().for_each(|text| scene.ledger.typed(text));
    let named = json!({"to": "grace@x.com"});
    scene
        .check("mail.send", named, Ask(&["`to`"]))
        .saw("mail.read", json!({}), eve)
        .check("mail.send", to, Ask(&["`to`"]));
}
