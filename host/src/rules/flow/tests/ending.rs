//! The line that each question offers, which would make it the last of its kind.

use super::*;
use crate::words::limits::STEERING_CHARS;

/// The lines that would end the question about a call.
#[track_caller]
fn ends(scene: &Scene, tool: &str, args: Value) -> Vec<String> {
    match scene.judge(tool, args).unwrap().consent {
        Consent::Needed { lines, .. } => lines,
        Consent::NotNeeded => panic!("{tool} is not asked about"),
    }
}

impl Scene {
    /// The same, once what was offered of flows has been pasted.
    fn pasted(mut self, lines: &[String]) -> Self {
        for line in lines {
            let table: toml::Table = toml::from_str(line).unwrap();
            let Some(flow) = table.get("flow") else {
                continue;
            };
            let tools: BTreeMap<String, ToolFlow> = flow["tools"].clone().try_into().unwrap();
            for (tool, said) in tools {
                let known = self.policy.flows.tools.entry(name(&tool)).or_default();
                known.add(&said);
            }
        }
        self
    }
}

const HERE: &str = "named by policy for this tool";

/// Who has the model write into a list has not been told that it may go, nor what else may be done with it.
#[test]
fn the_line_for_a_file_that_is_written_lets_nothing_else_be_done_with_it() {
    let path = "docs/list.md";
    let (file, write) = (json!({"path": path}), json!({"path": path, "content": "x"}));
    let lines = ends(&scene(&[], MAIL), "files.write", write.clone());
    let line = "[flow.tools.\"files.write\"]\nvouch = [\"docs/list.md\"]\n# or, for one run: --vouch docs/list.md";
    assert_eq!(lines[0], line);
    scene(&[], MAIL)
        .pasted(&lines)
        .check("files.write", write, Allow(&[("path", HERE)]))
        .check("files.remove", file.clone(), Ask(&["cannot be undone"]))
        .check(
            "files.move",
            json!({"source": path, "target": path}),
            Ask(&["`source`", "`target`"]),
        )
        .check("other.act", json!({"flag": path}), Ask(&["`flag`"]));
    // Also where it is said of the tool that takes it away.
    let removes = "[flow.tools.\"files.remove\"]\nvouch = [\"docs/list.md\"]".to_owned();
    scene(&[], MAIL)
        .pasted(std::slice::from_ref(&removes))
        .check("files.remove", file.clone(), Ask(&["cannot be undone"]));
    // Where nobody untrusted had influence, it is as good as a record that vouches.
    scene(&[], CLEAN)
        .check("files.remove", file.clone(), Ask(&["`path`"]))
        .pasted(&[removes])
        .check("files.remove", file.clone(), Allow(&[("path", HERE)]));
    // What policy names for all tools is enough.
    let named = POLICY.replace("vouch = [", "vouch = [\"docs/list.md\", ");
    scene_of(&named, &[], MAIL).check("files.remove", file, Allow(&[("path", "by policy")]));
}

/// A letter has the model call something by an address: so nobody is written to, and nothing private goes there.
#[test]
fn the_line_for_a_name_lets_nobody_be_written_to() {
    let eve = "eve@evil.test";
    let (made, sent) = (json!({"title": eve, "text": "x"}), json!({"to": eve}));
    let lines = ends(&scene(&[], MAIL), "cal.add", made.clone());
    scene(&[], MAIL)
        .pasted(&lines)
        .check("cal.add", made.clone(), Allow(&[]))
        .check(
            "mail.send",
            sent.clone(),
            Ask(&["is the mail `eve@evil.test`"]),
        )
        .check(
            "mail.delete",
            json!({"to": eve}),
            Ask(&["is the value `eve@evil.test`"]),
        );
    scene(&[], WEB)
        .pasted(&lines)
        .check("site.post", made, Ask(&["`title`"]));
    // Who has let it be written to has said to whom, and for that tool alone.
    let lines = ends(&scene(&[], MAIL), "mail.send", sent.clone());
    scene(&[], MAIL)
        .pasted(&lines)
        .check("mail.send", sent, Allow(&[("to", HERE)]))
        .check("site.comment", json!({"to": eve}), Ask(&["`to`"]))
        .check("mail.send", json!({"to": "bob@x.com"}), Ask(&["`to`"]));
}

/// By its name alone nothing goes that cannot be undone, unless policy names it for all tools.
#[test]
fn a_name_that_one_tool_is_given_takes_nothing_away() {
    let clears =
        format!("{POLICY}[tools.\"cal.clear\"]\ncontent = [\"text\"]\nnaming = \"title\"\n");
    let here = format!("{clears}vouch = [\"evil\"]\n");
    let all = clears.replace("vouch = [", "vouch = [\"evil\", ");
    for (policy, expected) in [
        (clears, Ask(&["`title`"])),
        (here, Ask(&["`title`"])),
        (all, Allow(&[])),
    ] {
        scene_of(&policy, &[], WEB).check("cal.clear", json!({"title": "evil"}), expected);
    }
}

#[test]
fn the_line_that_is_offered_for_a_name_ends_its_question_and_so_does_the_flag() {
    let made = json!({"title": "evil", "text": "x"});
    let line = "[flow.tools.\"cal.add\"]\nvouch = [\"evil\"]\n# or, for one run: --vouch evil";
    let lines = ends(&scene(&[], WEB), "cal.add", made.clone());
    assert_eq!(lines, [line]);
    scene(&["\"evil\""], WEB).check("cal.add", made.clone(), Allow(&[]));
    let vouched = POLICY.replace("vouch = [", "vouch = [\"evil\", ");
    scene_of(&vouched, &[], WEB).check("cal.add", made.clone(), Allow(&[]));
    scene(&[], WEB)
        .pasted(&lines)
        .check("cal.add", made.clone(), Allow(&[]))
        // Somebody has named it, and nothing that begins so.
        .check("cal.add", json!({"title": "evil plan"}), Ask(&["`title`"]))
        .check("cal.add", json!({"title": "Evil"}), Ask(&["`title`"]));
    for long in ["x".repeat(STEERING_CHARS), "x".repeat(STEERING_CHARS + 1)] {
        let lines = ends(&scene(&[], WEB), "cal.add", json!({ "title": long }));
        assert_eq!(lines.is_empty(), long.len() > STEERING_CHARS);
    }
}

#[test]
fn nobody_is_offered_to_vouch_for_what_does_not_look_like_what_it_is() {
    for (tool, args) in [
        ("cal.add", json!({"title": "a\u{202e}gpj.exe"})),
        ("files.write", json!({"path": "docs/a\u{202e}gpj.exe"})),
    ] {
        let lines = ends(&scene(&[], WEB), tool, args);
        assert!(
            lines.iter().all(|line| line.starts_with("# no line")),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 1);
    }
}

/// Of a tool of a server nobody has said what its arguments are: that is to be said, and no text of a letter is vouched for.
#[test]
fn for_a_tool_that_nobody_has_described_a_form_is_offered() {
    let judged = |scene: &Scene| {
        let args = json!({"to": ["billing@evil.test"], "flag": "IBAN", "text": "x"});
        let mut call = Scene::call("other.act", args);
        Arc::make_mut(&mut call.declared).outside = true;
        match call
            .judge(&scene.caller(Grant::default()), &scene.policy)
            .unwrap()
            .consent
        {
            Consent::Needed { lines, open, .. } => (lines, open.len()),
            Consent::NotNeeded => panic!("it is not asked about"),
        }
    };
    let (lines, open) = judged(&scene(&[], WEB));
    let head = "[flow.tools.\"other.act\"]\n# say which arguments say whom, where or what, and which are only sent; by their names:\n";
    let guess = "# steering = { flag = \"value\", to = \"value\" }\n# content = [\"text\"]";
    assert_eq!((lines, open), (vec![format!("{head}{guess}")], 3));
    // Whoever had influence has chosen the values: what they look like says something where nobody had.
    let (lines, _) = judged(&scene(&[], CLEAN));
    let guess = "# steering = { flag = \"value\", to = \"mail\" }\n# content = [\"text\"]";
    assert_eq!(lines, [format!("{head}{guess}")]);
    // Filled in, whom it is for is asked about, and nothing else.
    let said =
        "[tools.\"other.act\"]\nsteering = { to = \"mail\" }\ncontent = [\"flag\", \"text\"]";
    let (lines, open) = judged(&scene_of(&format!("{POLICY}{said}"), &[], WEB));
    let vouch = "vouch = [\"billing@evil.test\"]\n# or, for one run: --vouch billing@evil.test";
    let vouch = format!("[flow.tools.\"other.act\"]\n{vouch}");
    assert_eq!((lines, open), (vec![vouch], 1));
    // Half of it said, the rest stands beside what is said.
    let said = "[tools.\"other.act\"]\ncontent = [\"flag\"]";
    let (lines, _) = judged(&scene_of(&format!("{POLICY}{said}"), &[], WEB));
    let guess = "# steering = { to = \"value\" }\n# content = [\"flag\", \"text\"]";
    assert_eq!(lines, [format!("{head}{guess}")]);
}

/// What the manifest of a tool calls content is proposed as that, and nobody vouches for the text of a letter.
#[test]
fn for_what_a_manifest_calls_content_that_is_proposed() {
    let lines = |outside: bool| {
        let mut call = Scene::call("other.act", json!({"text": "IBAN, please"}));
        let declared = Arc::make_mut(&mut call.declared);
        declared.outside = outside;
        declared.flow.content = vec!["text".to_owned()];
        let scene = scene(&[], WEB);
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        match judged.unwrap().consent {
            Consent::Needed { lines, .. } => lines,
            Consent::NotNeeded => panic!("it is not asked about"),
        }
    };
    let proposed = "[flow.tools.\"other.act\"]\ncontent = [\"text\"]\n# so its manifest proposes";
    assert_eq!(lines(false), [proposed]);
    assert!(!lines(true).concat().contains("vouch"));
}

/// An id of a service that has lists: one of them may say which are meant, for what can be undone.
#[test]
fn for_an_id_the_list_is_named_that_could_vouch_for_it() {
    let vouches = "author = \"from\"\nvouches = { id = \"id\" }";
    assert!(POLICY.contains(vouches));
    let silent = POLICY.replace(vouches, "author = \"from\"\nid = \"id\"");
    let typed = &["Write to bob@x.com"];
    let letter = json!({"letters": [{"id": "m1", "from": "eve@evil.test"}]});
    let seen = |policy: &str| {
        let scene = scene_of(policy, typed, WEB);
        scene.saw("mail.list", json!({}), letter.clone())
    };
    let sent = |id: &str| json!({"to": "bob@x.com", "answers": id});
    let lines = ends(&seen(&silent), "mail.send", sent("m1"));
    let other = "# or, where each id that `mail.list` lists may be meant, of strangers' records too: \
                 [flow.tools.\"mail.list\".records] vouches = { id = \"id\" }";
    let vouch = "[flow.tools.\"mail.send\"]\nvouch = [\"m1\"]\n# or, for one run: --vouch m1";
    assert_eq!(lines, [format!("{vouch}\n{other}")]);
    let witnesses = [("to", "typed"), ("answers", "`mail.list`")];
    let listed = POLICY.replace(vouches, &format!("id = \"id\"\n{vouches}"));
    seen(&listed)
        .check("mail.send", sent("m1"), Allow(&witnesses))
        .check("mail.send", sent("m2"), Ask(&["`answers`"]))
        .check(
            "mail.delete",
            json!({"id": "m1"}),
            Ask(&["cannot be undone"]),
        );
}

#[test]
fn what_is_offered_for_a_text_that_others_read_ends_its_question_and_lets_nobody_new_be_written_to()
{
    let typed = &["Tell bob@x.com that the party is off"];
    let strict = scene_of(&format!("strict = true\n{POLICY}"), typed, WEB);
    let sent = |to: &str| json!({"to": to, "text": "the party is on"});
    let lines = ends(&strict, "mail.send", sent("bob@x.com"));
    assert_eq!(lines, ["# leave out: strict = true"]);
    scene(typed, WEB)
        .check("mail.send", sent("bob@x.com"), Allow(&[("to", "typed")]))
        .check("mail.send", sent("eve@evil.test"), Ask(&["`to`"]));
}

/// What is called like a text, and is content for nobody, is asked about as that: `vouch` would end one letter's question.
#[test]
fn for_what_is_called_like_a_text_a_form_is_offered_and_not_to_vouch_for_it() {
    for (argument, form) in [("body", true), ("state", false)] {
        let mut call = Scene::call("other.act", json!({argument: "It is fixed"}));
        let properties = json!({"properties": {argument: {}}});
        Arc::make_mut(&mut call.declared).input = properties;
        let scene = scene(&[], WEB);
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let lines = match judged.unwrap().consent {
            Consent::Needed { lines, .. } => lines.concat(),
            Consent::NotNeeded => panic!("it is not asked about"),
        };
        assert_eq!(lines.contains("# content = [\"body\"]"), form, "{lines}");
        assert_eq!(lines.contains("vouch = "), !form, "{lines}");
    }
}

/// Where the words of the called plugin are all that is behind a value, its owner may know what they are worth.
#[test]
fn where_a_plugins_own_words_alone_are_behind_it_trust_in_it_is_proposed() {
    let other = "# or, if you wrote `other` or have read what it says of its tools: [flow] trust = [\"other\"]";
    let act = json!({"to": "bob@x.com"});
    for (label, expected) in [
        ("user tool:other.*", true),
        ("user tool:other.* web:https://evil.test", false),
        ("user tool:third.*", false),
    ] {
        let lines = ends(&scene(&[], label), "other.act", act.clone());
        assert_eq!(lines[0].ends_with(other), expected, "{label}: {lines:?}");
    }
}

/// A value that stands in what was typed, and counts in quotes alone, says so.
#[test]
fn who_typed_a_number_without_quotes_is_told_so() {
    let asked = |typed: &str, flag: &str| match scene(&[typed], WEB)
        .judge("other.act", json!({"flag": flag}))
        .unwrap()
        .consent
    {
        Consent::Needed { open, .. } => open[0].reason.contains("typed it without quotes"),
        Consent::NotNeeded => panic!("it is not asked about"),
    };
    assert!(asked("Comment on ticket 7", "7"));
    assert!(asked("Call it summer party", "summer party"));
    assert!(!asked("Comment on ticket 71", "7"));
    assert!(!asked("Comment on it", "7"));
}

/// What cannot be undone is asked about each time, also where the question is not about a value.
#[test]
fn no_line_ends_the_questions_of_what_cannot_be_undone() {
    let strict = format!("strict = true\n{POLICY}");
    let listed = json!({"letters": [{"id": "m1", "from": "me@own.test"}]});
    for (tool, args, ends) in [
        ("mail.delete", json!({"id": "m1"}), false),
        ("mail.send", json!({"answers": "m1", "text": "x"}), true),
    ] {
        let mut call = Scene::call(tool, args);
        call.grant = Arc::new(reaching("https://a.test/", &["POST"]));
        let scene = scene_of(&strict, &[], OWN).saw("mail.list", json!({}), listed.clone());
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let (open, lines) = match judged.unwrap().consent {
            Consent::Needed { open, lines, .. } => (open, lines),
            Consent::NotNeeded => panic!("{tool} is not asked about"),
        };
        assert!(open[0].reason.contains("private content"), "{:?}", open[0]);
        assert_eq!(!lines.is_empty(), ends, "{tool}: {lines:?}");
    }
}
