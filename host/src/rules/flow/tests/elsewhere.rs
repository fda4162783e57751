//! What means something at its own service alone: what is called so at another one, a stranger may have called so.

use super::*;

/// Whoever writes at one service chooses what their record is called there, and no record of another one by it.
#[test]
fn an_id_is_a_witness_at_its_own_service_alone() {
    let other = "[tools.\"site.comment\"]\nsteering = { doc = \"id\", to = \"mail\" }\ncontent = [\"text\"]";
    let policy = format!("{POLICY}{other}");
    let letter = json!({"id": "payroll", "from": "eve@evil.test", "title": "Team offsite, June"});
    let typed = &["Answer \"Team offsite, June\""];
    let read =
        |tool: &str, outcome: Value| scene_of(&policy, typed, WEB).saw(tool, json!({}), outcome);
    read("mail.list", json!({"letters": [letter]}))
        .check(
            "mail.send",
            json!({"to": "me@own.test", "answers": "payroll"}),
            Allow(&[("to", "policy"), ("answers", "`mail.list`")]),
        )
        .check("site.comment", json!({"doc": "payroll"}), Ask(&["`doc`"]));
    read("mail.read", letter)
        .check(
            "mail.send",
            json!({"to": "me@own.test", "answers": "payroll"}),
            Allow(&[("to", "policy"), ("answers", "Team offsite")]),
        )
        .check("site.comment", json!({"doc": "payroll"}), Ask(&["`doc`"]))
        // An address is the same everywhere.
        .check(
            "site.comment",
            json!({"to": "eve@evil.test"}),
            Allow(&[("to", "Team offsite")]),
        );
}

/// Whoever registers at one service chooses what they are called there, also as somebody is whom the user knows at another.
#[test]
fn a_users_name_is_a_witness_at_its_own_service_alone() {
    let more = r#"
[tools."mail.people".records]
at = "/people/*"
own = true
id = "id"
title = "title"
people = { guest = "user" }
vouches = { handle = "user" }
[tools."mail.comment"]
steering = { notify = "user" }
[tools."site.comment"]
steering = { to = "user" }
"#;
    let people = json!({"people": [
        {"id": "p1", "title": "Team offsite, June", "guest": "ada"},
        {"id": "p2", "handle": "mkate"},
    ]});
    let typed = &["Tell \"Team offsite, June\""];
    let mut scene =
        scene_of(&format!("{POLICY}{more}"), typed, WEB).saw("mail.people", json!({}), people);
    for (name, witness) in [("mkate", "`mail.people`"), ("ada", "Team offsite")] {
        scene = scene
            .check(
                "mail.comment",
                json!({"notify": name}),
                Allow(&[("notify", witness)]),
            )
            .check("site.comment", json!({"to": name}), Ask(&["`to`"]));
    }
}
