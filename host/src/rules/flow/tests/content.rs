//! *Sinks*, *Decision label*, *Content*, *browse* and the modes.

use super::*;
use crate::rules::file::{FileWish, WriteMode};
use crate::rules::flow::check_secret;
use crate::words::limits::STEERING_VALUES;

#[test]
fn what_only_looks_is_no_sink() {
    scene(&[], WEB)
        .check("text.count", json!({"text": "anything"}), Allow(&[]))
        .check("other.look", json!({"text": "anything"}), Allow(&[]))
        .check("files.write", json!({"path": "docs/a"}), Ask(&["`path`"]));
}

#[test]
fn a_new_file_in_a_workspace_needs_no_question_and_brings_terms() {
    for label in [CLEAN, WEB] {
        let scene = scene(&["Write docs/typed.md"], label)
            .check(
                "files.write",
                json!({"path": "work/new.md", "content": "x"}),
                Allow(&[("path", "workspace")]),
            )
            .check(
                "files.write",
                json!({"path": "docs/new.md"}),
                Ask(&["`path`"]),
            )
            .check(
                "files.write",
                json!({"path": "work/../docs/a"}),
                Deny("path"),
            )
            // Nobody is asked about what lies in no mount.
            .check(
                "files.write",
                json!({"path": "workshop/a"}),
                Deny("mount_not_granted"),
            )
            // Two places: one would be taken away.
            .check(
                "files.move",
                json!({"source": "work/a", "target": "work/b"}),
                Ask(&["`source`", "`target`"]),
            );
        let within = |args| {
            scene
                .judge("files.write", args)
                .unwrap()
                .terms
                .create_in
                .is_some()
        };
        assert!(within(json!({"path": "work/new.md"})));
        assert!(!within(json!({"path": "docs/typed.md"})));
    }
    scene(&[], WEB).check(
        "files.remove",
        json!({"path": "work/a"}),
        Ask(&["cannot be undone"]),
    );
}

#[test]
fn terms_of_a_new_file_allow_new_files_in_its_mount_and_reading_elsewhere() {
    let scene = scene(&[], WEB);
    let call = Scene::call("files.write", json!({"path": "work/new.md"}));
    let terms = call
        .judge(&scene.caller(Grant::default()), &scene.policy)
        .unwrap()
        .terms;
    let narrow = terms.narrow(&call.grant);
    for mount in &narrow.mounts {
        let most = if &*mount.mount == "work" {
            Access::Create
        } else {
            Access::Read
        };
        assert_eq!(mount.access, most, "{}", mount.mount);
    }
    let inside = scene.inside_sink("files.write", CLEAN, CLEAN);
    for (mode, expected) in [
        (WriteMode::Create, None),
        (WriteMode::Replace, Some("mount_read_only")),
        (WriteMode::Append, Some("mount_read_only")),
    ] {
        let bytes = Vec::new();
        let wish = FileWish::Write { bytes, mode };
        inside.check_file("work/new.md", wish, Grant::clone(&narrow), expected);
    }
    let wish = FileWish::Remove;
    inside.check_file(
        "work/a",
        wish,
        Grant::clone(&narrow),
        Some("mount_read_only"),
    );
}

#[test]
fn from_a_tainted_context_what_cannot_be_undone_needs_more_than_an_id_from_a_list() {
    let listed = json!({"letters": [{"id": "m1", "from": "eve@evil.test"}]});
    let seen = |label| scene(&["Delete m2"], label).saw("mail.list", json!({}), listed.clone());
    seen(CLEAN).check(
        "mail.delete",
        json!({"id": "m1"}),
        Allow(&[("id", "`mail.list`")]),
    );
    seen(OWN).check(
        "mail.delete",
        json!({"id": "m1"}),
        Allow(&[("id", "`mail.list`")]),
    );
    seen(WEB)
        .check(
            "mail.delete",
            json!({"id": "m1"}),
            Ask(&["an id from a list is none"]),
        )
        .check(
            "mail.delete",
            json!({"id": "m2"}),
            Allow(&[("id", "typed")]),
        );
}

/// The address of a record whose title the user wrote says whom they meant; who is on a letter that is answered was chosen
/// by whoever chose the letter.
#[test]
fn what_cannot_be_undone_may_be_done_to_whom_a_typed_title_names() {
    let about = "[tools.\"mail.delete\"]\nsteering = { id = \"id\"";
    let policy = POLICY.replace(about, &format!("{about}, to = \"mail\""));
    let letter = json!({"id": "m1", "from": "ada@x.com", "title": "Team offsite"});
    for (typed, expected) in [
        (
            "Forget whoever wrote 'Team offsite'",
            Allow(&[("to", "Team offsite")]),
        ),
        ("Forget whoever wrote that", Ask(&["`to`"])),
    ] {
        scene_of(&policy, &[typed], WEB)
            .saw("mail.read", json!({}), letter.clone())
            .check("mail.delete", json!({"to": "ada@x.com"}), expected);
    }
}

/// Whoever writes a letter may choose its id. Two authors of one id have written two letters.
#[test]
fn an_id_that_two_authors_have_used_is_no_witness() {
    let about = "[tools.\"mail.delete\"]\nsteering = { id = \"id\"";
    let policy = POLICY.replace(about, &format!("{about}, to = \"mail\""));
    let letter = |from: &str| json!({"id": "m1", "from": from, "title": "Team offsite"});
    let typed = &["Forget whoever wrote 'Team offsite', and answer 'm1'"];
    let read = |from: &[&str]| {
        let scene = scene_of(&policy, typed, WEB);
        let read = |scene: Scene, from: &&str| scene.saw("mail.read", json!({}), letter(from));
        from.iter().fold(scene, read)
    };
    let reply = |to: &str| json!({"to": to, "answers": "m1"});
    let ada = &["ada@x.com", "ada@x.com"];
    read(ada)
        .check(
            "mail.delete",
            json!({"to": "ada@x.com"}),
            Allow(&[("to", "Team offsite")]),
        )
        .check("mail.send", reply("eve@evil.test"), Ask(&["`to`"]));
    for from in [
        ["ada@x.com", "eve@evil.test"],
        ["eve@evil.test", "ada@x.com"],
    ] {
        for to in from {
            read(&from)
                .check("mail.delete", json!({ "to": to }), Ask(&["`to`"]))
                .check("mail.send", reply(to), Ask(&["`to`"]));
        }
    }
}

/// What goes out and says nothing of whom or what the user wants was wished by whoever was read.
#[test]
fn what_goes_out_without_anything_that_steers_or_names_is_asked_about() {
    let post = json!({"text": "Anything"});
    scene(&[], CLEAN).check("site.post", post.clone(), Allow(&[]));
    scene(&[], WEB).check(
        "site.post",
        post,
        Ask(&["nothing in a call of `site.post`"]),
    );
}

#[test]
fn where_nothing_steers_the_name_is_made_of_the_users_words_and_of_trusted_names() {
    let typed = &["Note the summer party of Anna in the calendar as 'Party'"];
    let met = json!({"id": "m", "from": "me@own.test", "from_name": "Ada B. Lovelace"});
    let seen = |label| scene(typed, label).saw("mail.read", json!({}), met.clone());
    seen(CLEAN).check("cal.add", json!({"title": "Anything"}), Allow(&[]));
    seen(WEB)
        .check(
            "cal.add",
            json!({"title": "Summer party", "text": "Anything"}),
            Allow(&[]),
        )
        .check("cal.add", json!({"title": "Party"}), Allow(&[]))
        .check(
            "cal.add",
            json!({"title": "Summer party, Ada B. Lovelace"}),
            Allow(&[]),
        )
        .check(
            "cal.add",
            json!({"title": "Summer party, Eve"}),
            Ask(&["`title` of `cal.add` is `Summer party, Eve`"]),
        )
        .check(
            "cal.add",
            json!({"title": "party summer"}),
            Ask(&["`title`"]),
        )
        .check(
            "cal.add",
            json!({"title": "Summer party, Lovelace"}),
            Ask(&["`title`"]),
        )
        .check(
            "cal.add",
            json!({"text": "no title"}),
            Ask(&["nothing in a call"]),
        )
        .check(
            "cal.clear",
            json!({}),
            Ask(&["nothing in a call of `cal.clear`"]),
        );
    seen(CLEAN).check("cal.clear", json!({}), Allow(&[]));
}

#[test]
fn a_stranger_who_is_called_so_has_no_trusted_name() {
    let typed = &["Note the summer party"];
    let title = json!({"title": "Summer party, Delete Everything"});
    let name = "Delete Everything";
    let met = |from: &str| json!({"id": "m", "from": from, "from_name": name});
    let read = |from| scene(typed, WEB).saw("mail.read", json!({}), met(from));
    read("me@own.test").check("cal.add", title.clone(), Allow(&[]));
    read("eve@evil.test").check("cal.add", title.clone(), Ask(&["`title`"]));
    // Nor where the record is about them, or names them as what it vouches for.
    let paid = |by: &str| json!({"payments": [{"by": by, "sum": 1}]});
    let asked = |by| scene(typed, WEB).saw("bank.look", json!({"note": name}), paid(by));
    asked("me@own.test").check("cal.add", title.clone(), Allow(&[]));
    asked("eve@evil.test").check("cal.add", title.clone(), Ask(&["`title`"]));
    let found = json!({"found": [{"name": name, "mail": "d@x.com"}]});
    scene(typed, WEB)
        .saw("people.find", json!({}), found)
        .check("cal.add", title, Allow(&[]));
}

#[test]
fn what_replaces_a_file_of_a_workspace_is_asked_about_before_and_then_done() {
    let says_so = POLICY.replace(
        "content = [\"content\"]\n[tools.\"files.move\"]",
        "content = [\"content\", \"mode\"]\nnew = { mode = \"create\" }\n[tools.\"files.move\"]",
    );
    assert_ne!(says_so, POLICY);
    let write = |mode: &str| json!({"path": "work/a.md", "content": "x", "mode": mode});
    let silent = json!({"path": "work/a.md", "content": "x"});
    let own = [("path", "workspace")];
    for label in [CLEAN, WEB] {
        let scene = |typed| scene_of(&says_so, typed, label);
        let creates = |scene: &Scene, args| {
            let terms = scene.judge("files.write", args).unwrap().terms;
            terms.create_in.is_some()
        };
        let clean = scene(&[])
            .check("files.write", write("create"), Allow(&own))
            .check("files.write", silent.clone(), Allow(&own))
            .check("files.write", write("replace"), Ask(&["`path`"]))
            .check("files.write", write("append"), Ask(&["`path`"]))
            // What the tool may take for one of the two.
            .check("files.write", write("Create"), Ask(&["`path`"]));
        assert!(creates(&clean, write("create")) && creates(&clean, silent.clone()));
        let answered = clean.answered("files.write", write("replace")).check(
            "files.write",
            write("replace"),
            Allow(&[("path", "a person")]),
        );
        assert!(!creates(&answered, write("replace")));
        let typed = scene(&["Replace work/a.md"]);
        assert!(!creates(&typed, write("replace")));
    }
    // A tool that does not say so can do no other: its guest may make files there, and change none.
    let silent_tool = scene(&[], WEB);
    let terms = silent_tool.judge("files.write", silent).unwrap().terms;
    assert!(terms.create_in.is_some());
}

#[test]
fn a_scalar_out_of_what_is_private_stays_private_and_steers_freely() {
    let posted = json!({"title": "Summer party", "text": "7"});
    let typed = &["Post about the summer party"];
    let under = |label| scene(typed, label);
    under("user scalar:file:mail")
        .check("site.post", posted.clone(), Ask(&["scalar:file:mail"]))
        .check("cal.add", json!({"title": "Anything"}), Allow(&[]));
    under("user scalar:web:https://evil.test").check("site.post", posted.clone(), Allow(&[]));
    under("user scalar:secret:token").check("site.post", posted, Deny("flow_secret"));
}

#[test]
fn where_nothing_is_granted_nobody_is_asked_about_what_is_refused_anyway() {
    let scene = scene(&[], WEB).mode(Judging::Tainted);
    let idle = |tool: &str, args| {
        let mut call = Scene::call(tool, args);
        call.grant = Arc::default();
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        judged.unwrap().consent == Consent::NotNeeded
    };
    assert!(idle("files.write", json!({"path": "docs/a"})));
    // What a stranger's code does nobody knows.
    assert!(!idle("other.act", json!({"to": "eve@evil.test"})));
    scene.check("files.write", json!({"path": "docs/a"}), Ask(&["`path`"]));
}

#[test]
fn strict_composes_text_that_others_read() {
    let strict = format!("strict = true\n{POLICY}");
    let typed = &["Tell bob@x.com that the party is off"];
    let sent = |text: &str| json!({"to": "bob@x.com", "text": text});
    let typed_to = &[("to", "typed")];
    scene(typed, WEB).check("mail.send", sent("Anything"), Allow(typed_to));
    scene_of(&strict, typed, CLEAN).check("mail.send", sent("Anything"), Allow(typed_to));
    scene_of(&strict, typed, WEB)
        .check("mail.send", sent("the party is off"), Allow(typed_to))
        .check(
            "mail.send",
            sent("the party is on"),
            Ask(&["`strict = true`"]),
        )
        // What only the user reads is not meant.
        .check(
            "cal.add",
            json!({"title": "the party", "text": "Anything"}),
            Allow(&[]),
        );
}

#[test]
fn nothing_secret_leaves_ever() {
    let typed = &["Tell bob@x.com about 'the party'"];
    let sent = json!({"to": "bob@x.com", "text": "x"});
    scene(typed, SECRET)
        .check("mail.send", sent.clone(), Deny("flow_secret"))
        .check(
            "site.post",
            json!({"title": "the party"}),
            Deny("flow_secret"),
        )
        // What stays here does not leave.
        .check(
            "files.write",
            json!({"path": "work/a"}),
            Allow(&[("path", "workspace")]),
        );
    let released = format!("release = [\"mail.send\"]\n{POLICY}");
    scene_of(&released, typed, SECRET).check("mail.send", sent.clone(), Deny("flow_secret"));
    // Also where it only comes along, unread.
    let clean = scene(typed, CLEAN);
    let mut call = Scene::call("mail.send", sent);
    call.held = label_of(SECRET);
    let denial = call.judge(&clean.caller(Grant::default()), &clean.policy);
    assert_eq!(denial.unwrap_err().rule, "flow_secret");
}

#[test]
fn private_content_goes_to_destinations_that_were_named() {
    let posted = json!({"title": "Summer party", "text": "x"});
    let typed = &["Post about the summer party, and tell bob@x.com"];
    scene(typed, CLEAN).check("site.post", posted.clone(), Allow(&[]));
    scene(typed, WEB).check("site.post", posted.clone(), Allow(&[]));
    scene(typed, OWN)
        .check("site.post", posted.clone(), Ask(&["file:docs"]))
        .check(
            "mail.send",
            json!({"to": "bob@x.com"}),
            Allow(&[("to", "typed")]),
        )
        .check("cal.add", json!({"title": "x"}), Allow(&[]));
    let accepts = POLICY.replace(
        "[tools.\"site.post\"]",
        "[tools.\"site.post\"]\naccepts = \"private\"",
    );
    scene_of(&accepts, typed, OWN).check("site.post", posted, Allow(&[]));
}

#[test]
fn shadow_and_release_say_what_would_have_been() {
    let eve = json!({"to": "eve@evil.test"});
    let rule = |scene: &Scene, args| scene.judge("mail.send", args).unwrap().rule;
    let shadow = scene(&["bob@x.com"], WEB).mode(Judging::Shadow);
    let said = rule(&shadow, eve.clone());
    assert!(
        said.contains("`mode = \"shadow\"` lets pass: `to`"),
        "{said}"
    );
    let said = rule(&shadow, json!({"to": "bob@x.com"}));
    assert!(!said.contains("shadow"), "{said}");
    assert!(
        shadow
            .judge("mail.send", eve.clone())
            .unwrap()
            .terms
            .create_in
            .is_none()
    );
    shadow.check("cal.clear", json!({}), Allow(&[]));
    let released = format!("release = [\"mail.*\"]\n{POLICY}");
    let released = scene_of(&released, &[], WEB);
    let said = rule(&released, eve.clone());
    assert!(
        said.contains("`release = [\"mail.*\"]` lets pass"),
        "{said}"
    );
    let (weighed, consent) = {
        let allowed = released.judge("mail.send", eve.clone()).unwrap();
        (allowed.weighed, allowed.consent)
    };
    assert_eq!(consent, Consent::NotNeeded);
    assert_eq!(weighed[0].witness, "", "nobody vouched: {weighed:?}");
    released.check("cal.clear", json!({}), Ask(&["cal.clear"]));
    let off = scene(&[], WEB).mode(Judging::Off);
    off.check("mail.send", eve, Allow(&[]));
}

#[test]
fn where_nothing_untrusted_is_granted_it_is_judged_as_soon_as_it_comes_all_the_same() {
    let eve = json!({"to": "eve@evil.test"});
    let scene = |label| scene(&[], label).mode(Judging::Tainted);
    scene(CLEAN).check("mail.send", eve.clone(), Allow(&[]));
    scene(OWN).check("mail.send", eve.clone(), Allow(&[]));
    scene(WEB).check("mail.send", eve.clone(), Ask(&["`to`"]));
    // What was let out of a handle is paid for, and yet it is no user's word.
    for told in [
        "user scalar:web:https://evil.test",
        "user tool:text.count scalar:*",
    ] {
        scene(told).check("mail.send", eve.clone(), Ask(&["`to`"]));
    }
    scene("user scalar:file:docs").check("mail.send", eve.clone(), Allow(&[]));
    // Unread in a handle it counts as well, or to hold would be weaker than to show.
    let clean = scene(CLEAN);
    let mut call = Scene::call("mail.send", eve);
    call.held = label_of(WEB);
    let judged = call.judge(&clean.caller(Grant::default()), &clean.policy);
    assert_ne!(judged.unwrap().consent, Consent::NotNeeded);
}

#[test]
fn an_empty_argument_of_what_cannot_be_undone_is_asked_about() {
    let user = || scene(&["remove docs/a"], CLEAN);
    user().check(
        "files.remove",
        json!({"path": "docs/a"}),
        Allow(&[("path", "typed")]),
    );
    user().check("files.remove", json!({"path": ""}), Ask(&["`path`"]));
    user().check("files.remove", json!({"path": null}), Ask(&["`path`"]));
    // However deep it stands.
    for (nothing, place) in [
        (json!(["docs/a", ""]), "`path/1`"),
        (json!({"docs/a": {}}), "`path/docs~1a`"),
        (json!([["docs/a", []]]), "`path/0/1`"),
        (json!([{"docs/a": null}]), "`path/0/docs~1a`"),
    ] {
        user().check("files.remove", json!({"path": nothing}), Ask(&[place]));
    }
}

#[test]
fn an_id_or_a_mere_value_is_no_destination_of_private_content() {
    let listed = json!({"letters": [{"id": "m1", "from": "me@own.test"}]});
    scene(&["Pay '12'"], OWN)
        .saw("mail.list", json!({}), listed)
        .check(
            "mail.send",
            json!({"answers": "m1", "text": "x"}),
            Ask(&["private content goes to"]),
        )
        .check(
            "bank.pay",
            json!({"amount": "12"}),
            Ask(&["private content goes to"]),
        );
    // Nor is a file, which says what and not to whom.
    let attach = "[tools.\"mail.attach\"]\nsteering = { path = \"file\" }";
    scene_of(&format!("{POLICY}{attach}"), &["Send docs/a"], OWN).check(
        "mail.attach",
        json!({"path": "docs/a"}),
        Ask(&["private content goes to"]),
    );
}

#[test]
fn more_values_than_anybody_reads_are_denied_released_or_not() {
    let many = json!({"to": vec!["ACC-1"; STEERING_VALUES + 1], "text": "x"});
    let few = json!({"to": vec!["ACC-1"; STEERING_VALUES], "text": "x"});
    let released = format!("release = [\"mail.send\"]\n{POLICY}");
    for policy in [POLICY, &released] {
        let scene = scene_of(policy, &[], WEB);
        assert!(scene.judge("mail.send", few.clone()).is_ok());
        scene.check("mail.send", many.clone(), Deny("flow_size"));
    }
}

#[test]
fn a_new_file_with_a_hidden_name_is_asked_about_and_one_without_a_grant_is_denied() {
    let scene = scene(&[], WEB).check(
        "files.write",
        json!({"path": "work/.profile"}),
        Ask(&["`path`"]),
    );
    for (mount, granted) in [("docs", false), ("work", true)] {
        let expected = if granted {
            Ok(())
        } else {
            Err("mount_not_granted".to_owned())
        };
        let line = MountGrant {
            mount: mount.into(),
            access: Access::Write,
        };
        let call = Call {
            grant: Arc::new(Grant {
                mounts: vec![line],
                ..Grant::default()
            }),
            ..Scene::call("files.write", json!({"path": "work/new.md"}))
        };
        let allowed = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let judged = allowed.map(|allowed| assert_eq!(allowed.consent, Consent::NotNeeded));
        assert_eq!(judged.map_err(|denial| denial.rule), expected, "{mount}");
    }
}

#[test]
fn no_model_is_consulted_about_a_secret() {
    let consult = Call {
        tool: name("handle.consult"),
        ..Scene::call("text.count", json!({}))
    };
    for (label, denied) in [(OWN, false), (SECRET, true)] {
        let scene = scene(&[], label);
        let checked = check_secret(&consult, &scene.caller(Grant::default()), &scene.policy);
        assert_eq!(checked.is_err(), denied, "{label}");
    }
}

/// Whoever is on a record knows what it says; not what the user has read elsewhere.
#[test]
fn who_is_on_a_record_that_is_answered_may_have_what_comes_from_it_and_nothing_else() {
    let letter = json!({"id": "m1", "from": "ada@x.com", "title": "Hi"});
    let listed = json!({"letters": [{"id": "m1", "from": "ada@x.com"}]});
    let answer = json!({"to": "ada@x.com", "answers": "m1", "text": "anything"});
    let witnesses = [("to", "answered"), ("answers", "`mail.list`")];
    for (read, label, asked) in [
        ("file:docs", OWN, false),
        ("file:docs", CLEAN, false),
        ("file:mail", CLEAN, false),
        ("file:mail", OWN, true),
        ("", OWN, true),
        ("file:docs", "user file:docs note:notes/diary", true),
        ("file:docs", "user file:docs file:work", true),
        // What a stranger has written may be from any letter.
        ("file:mail", MAIL, true),
    ] {
        let scene = scene(&[], label)
            .saw_in((read, ""), "mail.read", json!({}), letter.clone())
            .saw_in((read, ""), "mail.list", json!({}), listed.clone());
        match asked {
            true => scene.check(
                "mail.send",
                answer.clone(),
                Ask(&["private content goes to"]),
            ),
            false => scene.check("mail.send", answer.clone(), Allow(&witnesses)),
        };
    }
}

/// A call that a stranger may have had made leaves its mark on the folder that it changes: what the run knew by then is behind
/// whatever is read there next, and comes from no letter for that.
#[test]
fn what_somebody_has_left_beside_a_letter_does_not_come_from_it() {
    let letter = json!({"id": "m1", "from": "ada@x.com", "title": "Hi"});
    let answer = json!({"to": "ada@x.com", "answers": "m1", "text": "anything"});
    scene(&[], OWN)
        .left_by("file:docs")
        .saw_in(("file:mail", ""), "mail.read", json!({}), letter)
        .saw(
            "mail.list",
            json!({}),
            json!({"letters": [{"id": "m1", "from": "ada@x.com"}]}),
        )
        .check("mail.send", answer, Ask(&["private content goes to"]));
}

/// One who is told and may not be is one too many, whoever stands beside them.
#[test]
fn private_content_goes_to_nobody_else_beside_whom_the_user_named() {
    let letter = json!({"id": "m1", "from": "ada@x.com", "title": "Hi"});
    let scene = |typed| {
        let scene = scene(&[typed], OWN);
        scene.saw_in(("file:mail", ""), "mail.read", json!({}), letter.clone())
    };
    let listed = json!({"letters": [{"id": "m1", "from": "ada@x.com"}]});
    let send = |typed, args: Value, expected| {
        let scene = scene(typed).saw("mail.list", json!({}), listed.clone());
        scene.check("mail.send", args, expected);
    };
    let ask = || Ask(&["private content goes to"]);
    let both = json!({"to": ["ada@x.com", "me@own.test"], "answers": "m1"});
    let beside = json!({"to": "ada@x.com", "cc": "me@own.test", "answers": "m1"});
    let one = json!({"to": "ada@x.com", "answers": "m1"});
    for args in [both, beside, one.clone()] {
        send("Answer them", args, ask());
    }
    // Whoever is on the letter may read what answers it, whoever else it is sent to.
    let named = json!({"to": "me@own.test", "answers": "m1"});
    send("Answer them", named.clone(), ask());
    let witnesses = [("to", "policy"), ("answers", "`mail.list`")];
    send("Tell ada@x.com", named.clone(), Allow(&witnesses));
    // One of several who was named is not all of them.
    let several = json!({"id": "m1", "from": "ada@x.com", "to": ["bob@x.com"]});
    scene("Tell ada@x.com")
        .saw_in(("file:mail", ""), "mail.read", json!({}), several)
        .saw("mail.list", json!({}), listed.clone())
        .check("mail.send", named, ask());
    // Whoever names the letter names who is on it.
    let witnesses = [("to", "answered"), ("answers", "typed")];
    send("Answer m1", one, Allow(&witnesses));
}

/// What came from a server it knows already; whoever belongs to a record there that a list alone has named does not.
#[test]
fn what_a_server_keeps_is_passed_on_to_nobody_whom_a_list_alone_has_named() {
    let comment = "[tools.\"mail.comment\"]\ncontent = [\"text\"]\n\
                   steering = { doc = \"id\", priority = \"value\" }";
    let policy = format!("{POLICY}{comment}");
    let (docs, of_server) = ("file:docs", "mcp:mail");
    for (effect, typed, read, args, asked) in [
        (
            "external-stateful",
            "Read d3",
            of_server,
            json!({"doc": "d1"}),
            true,
        ),
        (
            "external-stateful",
            "Write it at d1",
            of_server,
            json!({"doc": "d1"}),
            false,
        ),
        // Nothing says to whom, so nobody else is told.
        (
            "external-stateful",
            "Read d3",
            of_server,
            json!({"text": "x"}),
            false,
        ),
        (
            "external-stateful",
            "Read d3",
            docs,
            json!({"text": "x"}),
            true,
        ),
        (
            "read-only",
            "Read d3",
            of_server,
            json!({"doc": "d1"}),
            false,
        ),
        ("read-only", "Read d3", docs, json!({"doc": "d1"}), true),
    ] {
        let mut scene = scene_of(&policy, &[typed], "user");
        scene.policy.flows.classes.servers.insert("mail".to_owned());
        let listed = json!({"letters": [{"id": "d1", "from": "eve@evil.test"}]});
        let mut scene = scene.saw_in((of_server, ""), "mail.list", json!({}), listed);
        scene.label = label_of(&format!("user {read}"));
        let mut call = Scene::call("mail.comment", args.clone());
        let declared = Arc::make_mut(&mut call.declared);
        declared.outside = true;
        declared.effect = serde_json::from_value(json!(effect)).unwrap();
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let asks = match judged.unwrap().consent {
            Consent::Needed { open, .. } => open.iter().map(|open| open.reason.clone()).collect(),
            Consent::NotNeeded => Vec::new(),
        };
        let private = |reason: &String| reason.contains("private content goes to");
        assert_eq!(
            asks.iter().any(private),
            asked,
            "{effect} {typed} {read} {args}: {asks:?}"
        );
    }
}

/// A list vouches for ids of anybody's records: what is private goes there no more for another that the user named, and not
/// behind a question about something else.
#[test]
fn private_content_goes_to_no_record_that_a_list_alone_has_named() {
    let comment = "[tools.\"mail.comment\"]\ncontent = [\"text\"]\n\
                   steering = { doc = \"id\", room = \"value\", notify = \"mail\", priority = \"value\" }";
    let policy = format!("{POLICY}{comment}");
    let listed = json!({"letters": [{"id": "d1", "from": "eve@evil.test"}]});
    let read = json!({"id": "d2", "from": "me@own.test", "room": "r1"});
    let check = |more: Value, expected| {
        let mut args = json!({"text": "salary"});
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        scene_of(&policy, &["Read d3"], OWN)
            .saw("mail.list", json!({}), listed.clone())
            .saw("mail.read", json!({}), read.clone())
            .check("mail.comment", args, expected);
    };
    const PRIVATE: &str = "private content goes to";
    check(json!({"doc": "d1"}), Ask(&[PRIVATE]));
    check(
        json!({"doc": "d1", "notify": "me@own.test"}),
        Ask(&[PRIVATE]),
    );
    check(
        json!({"room": "r1", "notify": "me@own.test"}),
        Ask(&[PRIVATE]),
    );
    check(
        json!({"doc": "d1", "priority": "high"}),
        Ask(&["`priority`", PRIVATE]),
    );
    check(json!({"priority": "high"}), Ask(&["`priority`", PRIVATE]));
    // Where it goes is what is asked.
    check(
        json!({"notify": "eve@evil.test", "priority": "high"}),
        Ask(&["`notify`", "`priority`"]),
    );
    check(json!({"doc": "d9"}), Ask(&["`doc`"]));
    check(
        json!({"doc": "d1", "notify": "eve@evil.test"}),
        Ask(&["`notify`", PRIVATE]),
    );
    let named = json!({"doc": "d3", "notify": "me@own.test"});
    check(named, Allow(&[("doc", "typed"), ("notify", "policy")]));
}
