//! *Fetch*, *Content* and *Sinks*, of what a tool wishes in the middle of its call.

use super::*;
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::flow::class::{Class, Integrity, Secrecy};
use crate::rules::flow::judged_with;
use crate::rules::keep::{Keep, KeepWish};
use crate::words::limits::STEERING_CHARS;

impl Scene {
    pub(super) fn check_file(
        &self,
        path: &str,
        wish: FileWish,
        granted: Grant,
        expected: Option<&str>,
    ) {
        let (path, label) = (path.to_owned(), self.label.clone());
        let about = format!("{path} {wish:?}");
        let judged = File { path, wish, label }.judge(&self.caller(granted), &self.policy);
        let rule = judged.err().map(|denial| denial.rule);
        assert_eq!(rule.as_deref(), expected, "{about}");
    }

    pub(super) fn check_fetch(
        self,
        (method, url): (&str, &str),
        granted: Grant,
        denied: Option<&str>,
    ) -> Self {
        let body = if method == "POST" {
            b"x".to_vec()
        } else {
            Vec::new()
        };
        let fetch = Fetch::new(method, url, Vec::new(), body).unwrap();
        let rule = fetch.judge(&self.caller(granted), &self.policy).err();
        let about = format!("{method} {url} under {}", self.label);
        assert_eq!(rule.map(|denial| denial.rule).as_deref(), denied, "{about}");
        self
    }
}

#[test]
fn what_says_of_itself_that_it_only_looks_does_nothing_else_under_a_strangers_influence() {
    let all = || Grant {
        notes: Access::Write,
        mounts: vec![MountGrant {
            mount: "docs".into(),
            access: Access::Write,
        }],
        ..reaching("https://a.test/", &["GET", "POST"])
    };
    for (label, looks, denied) in [
        (CLEAN, true, None),
        (WEB, false, None),
        (WEB, true, Some("flow_only_looks")),
    ] {
        let scene = match looks {
            true => scene(&[], label).inside("other.look", Bearing::Looks),
            false => scene(&[], label).inside_sink("other.look", CLEAN, WEB),
        };
        let bytes = Vec::new();
        let mode = WriteMode::Create;
        scene.check_file("docs/a", FileWish::Write { bytes, mode }, all(), denied);
        scene.check_file("docs/a", FileWish::Remove, all(), denied);
        scene.check_file("docs/a", FileWish::Stat, all(), None);
        let keep = |wish| {
            let (shelf, key) = ("other".to_owned(), "k".to_owned());
            let kept = Keep { shelf, key, wish }.judge(&scene.caller(all()), &scene.policy);
            kept.err().map(|denial| denial.rule)
        };
        let (text, label) = (String::new(), Label::default());
        assert_eq!(keep(KeepWish::Put { text, label }).as_deref(), denied);
        let label = Label::default();
        assert_eq!(keep(KeepWish::Delete { label }).as_deref(), denied);
        assert_eq!(keep(KeepWish::Get), None);
        scene
            .check_fetch(("POST", "https://a.test/"), all(), denied)
            .check_fetch(("GET", "https://a.test/"), all(), None);
    }
}

/// Under nobody's influence it may send, and not what only the user may read.
#[test]
fn what_says_of_itself_that_it_only_looks_sends_nothing_private() {
    let send = |label, (method, url), denied| {
        let grant = reaching("https://a.test/", &["GET", "POST"]);
        let scene = scene(&["Read https://a.test/mine"], label);
        let scene = scene.inside("other.look", Bearing::Looks);
        scene.check_fetch((method, url), grant, denied);
    };
    let other = "https://a.test/other";
    send(CLEAN, ("POST", other), None);
    send(OWN, ("POST", other), Some("flow_private"));
    send(OWN, ("GET", other), None);
    send(OWN, ("POST", "https://a.test/mine"), None);
    let said = format!("{POLICY}\n[tools.\"other.look\"]\naccepts = \"private\"");
    let grant = reaching("https://a.test/", &["POST"]);
    let scene = scene_of(&said, &[], OWN).inside("other.look", Bearing::Looks);
    scene.check_fetch(("POST", other), grant, None);
}

/// What a header says is sent as a body is; and a header alone makes a request neither act nor chosen by a stranger.
#[test]
fn what_a_header_of_a_request_says_is_sent_too() {
    let sent = |label, header: (&str, &str)| {
        let scene = scene(&[], label).inside("other.look", Bearing::Looks);
        let headers = vec![(header.0.to_owned(), header.1.to_owned())];
        let fetch = Fetch::new("GET", "https://a.test/other", headers, Vec::new()).unwrap();
        let grant = reaching("https://a.test/", &["GET"]);
        let denial = fetch.judge(&scene.caller(grant), &scene.policy).err();
        denial.map(|denial| (denial.rule, denial.reason))
    };
    let (rule, reason) = sent(OWN, ("x-note", "salaries of all")).unwrap();
    assert_eq!(rule, "flow_private");
    assert!(reason.contains("in headers that say more"), "{reason}");
    assert!(!reason.contains("x-note"), "{reason}");
    assert_eq!(sent(OWN, ("accept", "application/json")), None);
    assert_eq!(sent(CLEAN, ("x-api-version", "3")), None);
    assert_eq!(sent(WEB, ("x-api-version", "3")), None);
}

/// Why a guest of `site.post` may not send that, with whose call this was judged, and that has read this since.
fn sent_by_a_sink(
    policy: &str,
    (judged, read): (&str, &str),
    (method, url): (&str, &str),
) -> Option<Denial> {
    let grant = reaching("https://a.test/", &["GET", "POST"]);
    let label = label_of(judged).join(&label_of(read)).told();
    let scene = scene_of(
        policy,
        &["Read https://a.test/mine"],
        &label.replace(", ", " "),
    );
    let scene = scene.inside_sink("site.post", judged, read);
    let fetch = Fetch::new(method, url, Vec::new(), Vec::new()).unwrap();
    fetch.judge(&scene.caller(grant), &scene.policy).err()
}

/// What the guest of a sink reads on its own nobody knew of when its call was judged.
#[test]
fn what_the_guest_of_a_sink_reads_on_its_own_stays() {
    let wish = ("POST", "https://a.test/other");
    let denial = sent_by_a_sink(POLICY, (CLEAN, OWN), wish).unwrap();
    assert_eq!(denial.rule, "flow_private");
    let says = [
        "site.post",
        "no argument names it",
        "what comes from file:docs to https",
        "https://a.test",
    ];
    for word in says {
        assert!(denial.reason.contains(word), "{word} in {}", denial.reason);
    }
    let line = "[flow.tools.\"site.post\"]\naccepts = \"private\"";
    assert_eq!(denial.allow, [line]);
}

/// So do lines and labels decide, each by itself.
#[test]
fn what_was_judged_with_a_call_its_guest_may_send() {
    let (post, get) = (
        ("POST", "https://a.test/other"),
        ("GET", "https://a.test/other"),
    );
    let accepts = POLICY.replace(
        "[tools.\"site.post\"]",
        "[tools.\"site.post\"]\naccepts = \"private\"",
    );
    let both = "file:docs file:mail";
    let many = "user file:*";
    for (policy, judged, read, wish, denied) in [
        (&*accepts, CLEAN, OWN, post, false),
        (POLICY, CLEAN, CLEAN, post, false),
        (POLICY, CLEAN, WEB, post, false),
        (POLICY, CLEAN, OWN, get, false),
        (POLICY, CLEAN, OWN, ("POST", "https://a.test/mine"), false),
        // What it began with was judged with it, and nothing else was.
        (POLICY, OWN, CLEAN, post, false),
        (POLICY, OWN, OWN, post, false),
        (POLICY, OWN, both, post, true),
        (POLICY, both, both, post, false),
        // A source that stands for many may be any of them; of what was not read it says nothing.
        (POLICY, many, CLEAN, post, false),
        (POLICY, many, many, post, true),
        (POLICY, many, OWN, post, true),
        // Whatever stands in its own notes has a label beside.
        (POLICY, CLEAN, "note:site/last", post, false),
        (POLICY, CLEAN, "note:site2/last", post, true),
        (POLICY, CLEAN, "file:docs note:site/last", post, true),
    ] {
        let about = format!("{judged} {read} {wish:?}");
        let denial = sent_by_a_sink(policy, (judged, read), wish);
        assert_eq!(denial.is_some(), denied, "{about}");
    }
    // Of what class a note is policy may say, whoever keeps it.
    let mut scene = scene(&[], CLEAN).inside_sink("site.post", CLEAN, "note:site/last");
    let private = Class {
        integrity: Integrity::Trusted,
        secrecy: Secrecy::Private,
    };
    let said = &mut scene.policy.flows.classes.said;
    said.insert("note:site/last".to_owned(), private);
    let grant = reaching("https://a.test/", &["POST"]);
    scene.check_fetch(post, grant, Some("flow_private"));
}

/// Which files its guest may send is found when a call is judged: those that its values name.
#[test]
fn a_call_is_judged_with_the_files_that_it_names() {
    let docs = |args| ("files.write", args);
    let posted = || ("site.post", json!({"title": "docs/a", "text": "docs/b"}));
    let post = || reaching("https://a.test/", &["GET", "POST"]);
    let get = || reaching("https://a.test/", &["GET"]);
    for ((tool, args), reach, expected) in [
        (docs(json!({"path": "docs/typed.md"})), post(), OWN),
        // What it may not send is not its to send.
        (docs(json!({"path": "docs/typed.md"})), get(), CLEAN),
        (
            docs(json!({"path": "docs/typed.md"})),
            Grant::default(),
            CLEAN,
        ),
        // A path that leads into no mount of its grant, or nowhere.
        (docs(json!({"path": "elsewhere/a"})), post(), CLEAN),
        (docs(json!({"path": "docs/../x"})), post(), CLEAN),
        // A text that others read names no file.
        (posted(), post(), CLEAN),
        (("bank.pay", json!({"whom": "docs/a"})), post(), CLEAN),
        (("bank.pay", json!({"amount": "docs/a"})), post(), OWN),
        (("bank.pay", json!({"amount": "a"})), post(), CLEAN),
    ] {
        let about = format!("{tool} {args} {:?}", reach.fetch);
        let scene = scene(&["Keep docs/typed.md"], CLEAN);
        let mut call = Scene::call(tool, args);
        let mounts = call.grant.mounts.clone();
        call.grant = Arc::new(Grant { mounts, ..reach });
        let judged = judged_with(&call, &scene.caller(Grant::default()), &scene.policy);
        assert_eq!(judged, label_of(expected), "{about}");
    }
    // What its handles hold was judged with it as well.
    let scene = scene(&[], CLEAN);
    let mut call = Scene::call("site.post", json!({"text": "x"}));
    call.held = label_of(OWN);
    let judged = judged_with(&call, &scene.caller(Grant::default()), &scene.policy);
    assert_eq!(judged, label_of(OWN));
}

/// A person is asked about the files that a call names as about all that is private, and knows of them then.
#[test]
fn files_that_a_call_may_send_are_asked_about() {
    for (reach, asked) in [
        (reaching("https://a.test/", &["POST"]), true),
        (reaching("https://a.test/", &["GET"]), false),
    ] {
        let mut call = Scene::call("bank.pay", json!({"amount": "docs/a"}));
        let mounts = call.grant.mounts.clone();
        call.grant = Arc::new(Grant { mounts, ..reach });
        let scene = scene(&["Pay \"docs/a\""], CLEAN);
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let reasons: Vec<String> = match judged.unwrap().consent {
            Consent::Needed { open, .. } => open.into_iter().map(|point| point.reason).collect(),
            Consent::NotNeeded => Vec::new(),
        };
        let named = reasons.iter().any(|why| why.contains("file:docs"));
        assert_eq!(named, asked, "{reasons:?}");
    }
}

/// A file brings its whole mount along: to whom it goes is the word of the code that sends it.
#[test]
fn whom_a_call_names_frees_files_of_trusted_code_alone() {
    const STEERING: &str =
        "\n[tools.\"other.act\"]\nsteering = { to = \"mail\" }\ncontent = [\"text\"]";
    let trusted = POLICY.replace("\"site\"]", "\"site\", \"other\"]");
    for (policy, flag, asked) in [
        (POLICY, "docs/a", true),
        (&*trusted, "docs/a", false),
        (POLICY, "a", false),
    ] {
        let to = "bob@x.com";
        let mut call = Scene::call("other.act", json!({"to": to, "flag": flag}));
        let mounts = call.grant.mounts.clone();
        let reach = reaching("https://a.test/", &["POST"]);
        call.grant = Arc::new(Grant { mounts, ..reach });
        let typed = format!("Send \"{flag}\" to {to}");
        let scene = scene_of(&format!("{policy}{STEERING}"), &[&typed], CLEAN);
        let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
        let open = match judged.unwrap().consent {
            Consent::Needed { open, .. } => open,
            Consent::NotNeeded => Vec::new(),
        };
        let named = open
            .iter()
            .any(|point| point.reason.contains("nobody trusts its code"));
        assert_eq!(named, asked, "{flag} {open:?}");
    }
}

#[test]
fn browse_says_which_plain_requests_leave() {
    let typed = &["Read https://b.test/page and https://a.test/page"];
    let (a, b, c) = (
        "https://a.test/page",
        "https://b.test/page",
        "https://c.test/page",
    );
    let no = Some("host_not_granted");
    let secret = Some("flow_secret");
    // browse, label, and what becomes of: granted and typed, granted, typed, neither.
    for (browse, label, expected) in [
        ("free", CLEAN, [None, None, None, None]),
        ("free", WEB, [None, None, None, None]),
        ("free", OWN, [None, None, None, no]),
        ("free", MAIL, [None, None, None, no]),
        ("free", SECRET, [secret, secret, no, no]),
        ("granted", CLEAN, [None, None, no, no]),
        ("granted", WEB, [None, None, no, no]),
        ("granted", OWN, [None, None, no, no]),
        ("granted", MAIL, [None, None, no, no]),
        ("granted", SECRET, [secret, secret, no, no]),
        ("witness", CLEAN, [None, None, no, no]),
        ("witness", OWN, [None, None, no, no]),
        ("witness", WEB, [None, Some("flow_browse"), no, no]),
        ("witness", MAIL, [None, Some("flow_browse"), no, no]),
        ("witness", SECRET, [secret, secret, no, no]),
    ] {
        let policy = format!("browse = \"{browse}\"\n{POLICY}");
        let granted = || reaching("https://a.test/", &["GET"]);
        scene_of(&policy, typed, label)
            .inside("other.look", Bearing::Looks)
            .check_fetch(("GET", a), granted(), expected[0])
            .check_fetch(("GET", "https://a.test/other"), granted(), expected[1])
            .check_fetch(("GET", b), granted(), expected[2])
            .check_fetch(("GET", c), granted(), expected[3])
            .check_fetch(("POST", c), granted(), no)
            .check_fetch(("GET", "http://127.0.0.1/"), granted(), no);
    }
}

#[test]
fn a_url_of_ones_own_record_is_witnessed_and_a_strangers_is_not() {
    let policy = format!("browse = \"witness\"\n{POLICY}");
    let found = json!({"found": [{"site": "https://a.test/own"}]});
    let letter = json!({"id": "m", "from": "eve@evil.test", "link": "https://a.test/eve"});
    scene_of(&policy, &[], WEB)
        .saw("people.find", json!({}), found)
        .saw("mail.read", json!({}), letter)
        .inside("other.look", Bearing::Looks)
        .check_fetch(
            ("GET", "https://a.test/own"),
            reaching("https://a.test/", &["GET"]),
            None,
        )
        .check_fetch(
            ("GET", "https://a.test/eve"),
            reaching("https://a.test/", &["GET"]),
            Some("flow_browse"),
        );
}

/// A request that is refused for want of a witness says which line would be one.
#[test]
fn a_url_that_nobody_has_named_is_denied_with_the_line_that_vouches_for_it() {
    let policy = format!("browse = \"witness\"\n{POLICY}");
    let url = "https://a.test/page?q=1";
    let denial = |policy: &str, method: &str, url: &str| {
        let scene = scene_of(policy, &[], WEB).inside("other.look", Bearing::Looks);
        let caller = scene.caller(reaching("https://a.test/", &["GET", "POST"]));
        let fetch = Fetch::new(method, url, Vec::new(), Vec::new()).unwrap();
        fetch.judge(&caller, &scene.policy).err()
    };
    let line = format!(
        "[flow.tools.\"other.look\"]\nvouch = [\"{url}\"]\n# or, for one run: --vouch 'https://a.test/page?q=1'"
    );
    let vouched = policy.replace("vouch = [", &format!("vouch = [\"{url}\", "));
    let of = |tool: &str| format!("{policy}[tools.\"{tool}\"]\nvouch = [\"{url}\"]\n");
    let (here, elsewhere) = (of("other.look"), of("other.act"));
    for (method, rule) in [("GET", "flow_browse"), ("POST", "flow_only_looks")] {
        let denied = denial(&policy, method, url).unwrap();
        assert_eq!(
            (denied.rule.as_str(), denied.allow),
            (rule, vec![line.clone()])
        );
        assert_eq!(denial(&vouched, method, url), None);
        assert_eq!(denial(&here, method, url), None);
        assert!(denial(&elsewhere, method, url).is_some());
        // One that is as long as a text is offered to nobody.
        let long = format!("{url}{}", "a".repeat(STEERING_CHARS));
        assert!(denial(&policy, method, &long).unwrap().allow.is_empty());
    }
}

/// The rule by which a request is allowed, or denied.
fn ruled(scene: &Scene, (method, url): (&str, &str)) -> Result<String, String> {
    let caller = scene.caller(reaching("https://a.test/", &["GET", "POST"]));
    let fetch = Fetch::new(method, url, Vec::new(), Vec::new()).unwrap();
    let judged = fetch.judge(&caller, &scene.policy);
    judged
        .map(|allowed| allowed.rule)
        .map_err(|denial| denial.rule)
}

const SHADOW: &str = "; `mode = \"shadow\"` lets pass: ";

/// What would be denied where flows are enforced passes with a notice, and what would not, without.
#[test]
fn in_shadow_a_request_passes_with_what_speaks_against_it_on_record() {
    let policy = format!("browse = \"witness\"\n{POLICY}");
    let (get, post) = (("GET", "https://a.test/x"), ("POST", "https://a.test/x"));
    for (label, wish, rule) in [
        (CLEAN, get, None),
        (WEB, get, Some("flow_browse")),
        (WEB, post, Some("flow_only_looks")),
        (OWN, post, Some("flow_private")),
        (SECRET, get, Some("flow_secret")),
    ] {
        let scene = |mode| {
            let scene = scene_of(&policy, &[], label).inside("other.look", Bearing::Looks);
            ruled(&scene.mode(mode), wish)
        };
        let about = format!("{label} {wish:?}");
        assert_eq!(scene(Judging::Enforce).err().as_deref(), rule, "{about}");
        let shadowed = scene(Judging::Shadow);
        match rule {
            Some("flow_secret") => assert_eq!(shadowed, Err("flow_secret".to_owned())),
            Some(rule) => {
                let said = shadowed.unwrap();
                let ends = format!(" ({rule})");
                assert!(said.contains(SHADOW) && said.ends_with(&ends), "{said}");
            }
            None => assert!(!shadowed.unwrap().contains("lets pass"), "{about}"),
        }
        let off = scene(Judging::Off);
        match rule {
            Some("flow_secret") => assert_eq!(off, Err("flow_secret".to_owned())),
            Some(_) | None => assert!(!off.unwrap().contains("lets pass"), "{about}"),
        }
    }
}

#[test]
fn in_shadow_files_and_notes_of_what_only_looks_pass_with_a_notice() {
    for (label, noticed) in [(CLEAN, false), (WEB, true)] {
        let scene = scene(&[], label).inside("other.look", Bearing::Looks);
        let scene = scene.mode(Judging::Shadow);
        let caller = scene.caller(Grant {
            notes: Access::Write,
            mounts: vec![MountGrant {
                mount: "docs".into(),
                access: Access::Write,
            }],
            ..Grant::default()
        });
        let file = |wish| {
            let (path, label) = ("docs/a".to_owned(), scene.label.clone());
            let judged = File { path, wish, label }.judge(&caller, &scene.policy);
            judged.unwrap().rule
        };
        let keep = |wish| {
            let (shelf, key) = ("other".to_owned(), "k".to_owned());
            let judged = Keep { shelf, key, wish }.judge(&caller, &scene.policy);
            judged.unwrap().rule
        };
        let target = "docs/b".to_owned();
        let label = Label::default();
        let changes = [
            file(FileWish::Remove),
            file(FileWish::Move { target }),
            keep(KeepWish::Delete { label }),
        ];
        for said in changes {
            assert_eq!(said.contains(SHADOW), noticed, "{said}");
            assert_eq!(said.ends_with(" (flow_only_looks)"), noticed, "{said}");
        }
        for said in [file(FileWish::Stat), keep(KeepWish::Get)] {
            assert!(!said.contains("lets pass"), "{said}");
        }
    }
}

/// A line that releases a tool is about its own requests, and about nothing secret.
#[test]
fn a_request_of_a_tool_that_is_released_passes_with_a_notice() {
    let (get, post) = (("GET", "https://a.test/x"), ("POST", "https://a.test/x"));
    for (line, label, wish, denied) in [
        ("other.look", WEB, get, None),
        ("other.*", WEB, post, None),
        ("other.look", OWN, post, None),
        ("other.act", WEB, get, Some("flow_browse")),
        ("other.look", SECRET, get, Some("flow_secret")),
        ("*", SECRET, post, Some("flow_secret")),
    ] {
        let policy = format!("browse = \"witness\"\nrelease = [\"{line}\"]\n{POLICY}");
        let scene = scene_of(&policy, &[], label).inside("other.look", Bearing::Looks);
        let judged = ruled(&scene, wish);
        let about = format!("{line} {label} {wish:?}: {judged:?}");
        assert_eq!(judged.as_ref().err().map(String::as_str), denied, "{about}");
        if let Ok(said) = judged {
            let notice = format!("; `release = [\"{line}\"]` lets pass: ");
            assert!(said.contains(&notice), "{about}");
        }
        // It frees a sink, and not what says that it only looks from that.
        let write = FileWish::Remove;
        let grant = Grant {
            mounts: vec![MountGrant {
                mount: "docs".into(),
                access: Access::Write,
            }],
            ..Grant::default()
        };
        let tainted = label == WEB;
        scene.check_file("docs/a", write, grant, tainted.then_some("flow_only_looks"));
    }
}
