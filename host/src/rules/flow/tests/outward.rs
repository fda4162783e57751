//! *Fetch*, *Content* and *Sinks*, of what a tool wishes in the middle of its call.

use super::*;
use crate::rules::call::Within;
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::flow::Leads;
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
    for (label, bearing, denied) in [
        (CLEAN, Bearing::Looks, None),
        (WEB, Bearing::Acts(label_of(CLEAN)), None),
        (WEB, Bearing::Looks, Some("flow_only_looks")),
    ] {
        let scene = scene(&[], label).inside("other.look", bearing);
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
        assert_eq!(keep(KeepWish::Delete).as_deref(), denied);
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

/// Why a guest of `site.post` may not send that, if it may not.
fn sent_by_a_sink(
    policy: &str,
    label: &str,
    bearing: Bearing,
    (method, url): (&str, &str),
) -> Option<Denial> {
    let grant = reaching("https://a.test/", &["GET", "POST"]);
    let scene = scene_of(policy, &["Read https://a.test/mine"], label);
    let scene = scene.inside("site.post", bearing);
    let fetch = Fetch::new(method, url, Vec::new(), Vec::new()).unwrap();
    fetch.judge(&scene.caller(grant), &scene.policy).err()
}

/// What the guest of a sink reads on its own nobody knew of when its call was judged.
#[test]
fn what_the_guest_of_a_sink_reads_goes_where_its_call_leads() {
    let other = "https://a.test/other";
    let acts = |label| Bearing::Acts(label_of(label));
    let wish = ("POST", other);
    let denial = sent_by_a_sink(POLICY, OWN, acts(CLEAN), wish).unwrap();
    assert_eq!(denial.rule, "flow_private");
    let says = [
        "site.post",
        "without saying for whom",
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
fn what_a_guest_began_with_was_judged_with_its_call() {
    let other = "https://a.test/other";
    let acts = |label| Bearing::Acts(label_of(label));
    let accepts = POLICY.replace(
        "[tools.\"site.post\"]",
        "[tools.\"site.post\"]\naccepts = \"private\"",
    );
    let both = "user file:docs file:mail";
    for (policy, label, bearing, wish, denied) in [
        (&*accepts, OWN, acts(CLEAN), ("POST", other), false),
        (POLICY, CLEAN, acts(CLEAN), ("POST", other), false),
        (POLICY, WEB, acts(CLEAN), ("POST", other), false),
        (POLICY, OWN, Bearing::ActsForNamed, ("POST", other), false),
        (POLICY, OWN, acts(CLEAN), ("GET", other), false),
        (
            POLICY,
            OWN,
            acts(CLEAN),
            ("POST", "https://a.test/mine"),
            false,
        ),
        // What it began with was judged with it, and nothing else was.
        (POLICY, OWN, acts(OWN), ("POST", other), false),
        (POLICY, both, acts(OWN), ("POST", other), true),
        (POLICY, both, acts(both), ("POST", other), false),
        // A source that stands for many may be any of them.
        (
            POLICY,
            "user file:*",
            acts("user file:*"),
            ("POST", other),
            true,
        ),
        // Whatever stands in its own notes has a label beside.
        (
            POLICY,
            "user note:site/last",
            acts(CLEAN),
            ("POST", other),
            false,
        ),
        (
            POLICY,
            "user note:site2/last",
            acts(CLEAN),
            ("POST", other),
            true,
        ),
        (
            POLICY,
            "user file:docs note:site/last",
            acts(CLEAN),
            ("POST", other),
            true,
        ),
    ] {
        let about = format!("{label} {bearing:?} {wish:?}");
        let denial = sent_by_a_sink(policy, label, bearing, wish);
        assert_eq!(denial.is_some(), denied, "{about}");
    }
}

/// Whom a call is for is found when it is judged: from named values, or from what a person is asked.
#[test]
fn a_call_leads_to_whom_the_user_named_or_a_person_answers_for() {
    let (enforce, tainted) = (Judging::Enforce, Judging::Tainted);
    let send = |args| ("mail.send", args);
    let named = || send(json!({"to": "bob@x.com"}));
    let stranger = || send(json!({"to": "eve@evil.test"}));
    let posted = || ("site.post", json!({"title": "Summer party", "text": "x"}));
    for (how, (tool, args), expected) in [
        ((CLEAN, enforce), named(), Leads::Named),
        // Asked about; whoever says yes has named it.
        ((CLEAN, enforce), stranger(), Leads::Named),
        // What is private of it is asked about, and whoever says yes has named nobody.
        ((OWN, enforce), posted(), Leads::Nowhere),
        ((CLEAN, enforce), posted(), Leads::Nowhere),
        // An id of a list leads to whoever its record belongs to, and a mere value or a file to nobody.
        (
            (CLEAN, enforce),
            send(json!({"answers": "m1"})),
            Leads::Listed,
        ),
        (
            (CLEAN, enforce),
            ("bank.pay", json!({"amount": "1"})),
            Leads::Nowhere,
        ),
        (
            (CLEAN, enforce),
            ("files.write", json!({"path": "docs/typed.md"})),
            Leads::Nowhere,
        ),
        (
            (CLEAN, enforce),
            ("files.read", json!({"path": "docs/a"})),
            Leads::Nowhere,
        ),
        // Nobody is asked so far, and so nobody has answered.
        ((CLEAN, tainted), named(), Leads::Named),
        ((CLEAN, tainted), stranger(), Leads::Nowhere),
        ((CLEAN, tainted), posted(), Leads::Nowhere),
    ] {
        let about = format!("{tool} {args} {how:?}");
        let within = terms(how, tool, args);
        assert_eq!(within.leads, expected, "{about}");
        let bearing = within.bearing(&declared(tool), label_of(OWN));
        let expected = match (tool, expected) {
            ("files.read", _) => Bearing::Looks,
            (_, Leads::Named) => Bearing::ActsForNamed,
            (_, Leads::Nowhere | Leads::Back | Leads::Listed) => Bearing::Acts(label_of(OWN)),
        };
        assert_eq!(bearing, expected, "{about}");
    }
    // A tool that is released is asked about nothing, so nobody has named a stranger.
    let mut released = scene(&[], CLEAN);
    released.policy.flows.release = vec![Pattern::try_from("mail.*".to_owned()).unwrap()];
    let sent = released.judge("mail.send", json!({"to": "eve@evil.test"}));
    assert_eq!(sent.unwrap().terms.leads, Leads::Nowhere);
}

/// Within what a call would be made that may send something.
fn terms((label, mode): (&str, Judging), tool: &str, args: Value) -> Within {
    let listed = json!({"letters": [{"id": "m1", "from": "me@own.test"}]});
    let typed = "Tell bob@x.com, post about the summer party, and keep docs/typed.md";
    let scene = scene(&[typed], label)
        .saw("mail.list", json!({}), listed)
        .mode(mode);
    let mut call = Scene::call(tool, args);
    call.grant = Arc::new(reaching("https://a.test/", &["POST"]));
    let judged = call.judge(&scene.caller(Grant::default()), &scene.policy);
    judged.unwrap().terms
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
        "[flow]\nvouch = [\"{url}\"]\n# or, for one run: --vouch 'https://a.test/page?q=1'"
    );
    let vouched = policy.replace("vouch = [", &format!("vouch = [\"{url}\", "));
    for (method, rule) in [("GET", "flow_browse"), ("POST", "flow_only_looks")] {
        let denied = denial(&policy, method, url).unwrap();
        assert_eq!(
            (denied.rule.as_str(), denied.allow),
            (rule, vec![line.clone()])
        );
        assert_eq!(denial(&vouched, method, url), None);
        // One that is as long as a text is offered to nobody.
        let long = format!("{url}{}", "a".repeat(STEERING_CHARS));
        assert!(denial(&policy, method, &long).unwrap().allow.is_empty());
    }
}
