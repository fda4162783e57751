//! The layers of the configuration: which one holds, who may widen what, and where `config show` says it comes from.

use serde_json::Value;

use crate::station::{Ended, Station};

/// What holds of one key, and where it was said.
#[track_caller]
fn shown(station: &Station, variables: &[(&str, &str)], arguments: &[&str]) -> (Value, String) {
    let key = arguments[0];
    let all = [&["config", "show", "--json", "--quiet"], arguments].concat();
    let ended = station.run_told(variables, &all).ends(0);
    let all: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
    let one = all.iter().find(|one| one["key"] == key).unwrap();
    let origin = &one["origins"][0];
    let sort = origin["sort"].as_str().unwrap_or("default");
    let place = origin["place"].as_str().unwrap_or_default();
    let line = &origin["line"];
    let origin = match line {
        Value::Null => format!("{sort} {place}"),
        line => format!("{sort} {place}:{line}"),
    };
    (one["value"].clone(), origin.trim().to_owned())
}

const VARIABLE: (&str, &str) = ("LAZARET__CHAIN__COOLDOWN_MS", "5");

/// One key, said at all places but the last ones: each place is said over those before it.
#[test]
fn a_later_place_is_said_over_an_earlier_one() {
    let station = Station::new();
    let key = ["chain.cooldown_ms"];
    let check = |variables: &[(&str, &str)], more: &[&str], value: i64, origin: &str| {
        let (got, from) = shown(&station, variables, &[&key, more].concat());
        assert_eq!((got, from.as_str()), (value.into(), origin));
    };
    check(&[], &[], 30_000, "default");
    let profile = "profile = \"sage\"\n";
    station.write_system_file(profile);
    check(&[], &[], 60_000, "profile sage");
    station.write_system_file(&format!("{profile}[chain]\ncooldown_ms = 2\n"));
    check(&[], &[], 2, "file [ROOT]/etc/lazaret.toml:3");
    station.write_user_file("# mine\n\n[chain]\ncooldown_ms = 3\n");
    check(&[], &[], 3, "file [ROOT]/config/lazaret/lazaret.toml:4");
    station.write("lazaret.toml", "chain.cooldown_ms = 4\n");
    check(&[], &[], 3, "file [ROOT]/config/lazaret/lazaret.toml:4");
    station.trust();
    check(&[], &[], 4, "file [HERE]/lazaret.toml:1");
    check(&[VARIABLE], &[], 5, "variable LAZARET__CHAIN__COOLDOWN_MS");
    let flag = ["--set", "chain.cooldown_ms=6"];
    check(&[VARIABLE], &flag, 6, "flag chain.cooldown_ms");
    let flags = [&flag[..], &["--set", "chain.cooldown_ms=7"]].concat();
    check(&[VARIABLE], &flags, 7, "flag chain.cooldown_ms");
}

/// What only shows when all is laid together is said of the file that says it.
#[test]
fn a_wrong_number_is_said_of_its_file() {
    let station = Station::new();
    station.write_system_file("[limits]\ncpu_ms = 0\n");
    station.write_user_file("[chain]\ncooldown_ms = 3\n");
    let wrong = |file: &str| {
        let says = format!("`[ROOT]/{file}`, line 2: [limits]: `cpu_ms` is 0");
        station.run(&["config", "show"]).ends(2).says(&[&says]);
    };
    wrong("etc/lazaret.toml");
    station.write_system_file("");
    station.write_user_file("[limits]\ncpu_ms = 0\n");
    wrong("config/lazaret/lazaret.toml");
}

/// The same for a limit, which a workspace only tightens, wherever it stands.
#[test]
fn a_workspace_tightens_limits_and_never_loosens_them() {
    let station = Station::new();
    let check = |user: &str, workspace: &str, more: &[&str], value: i64, from: &str| {
        station.write_user_file(user);
        station.write("lazaret.toml", workspace);
        station.trust();
        let arguments = [&["limits.script_calls"], more].concat();
        let (got, origin) = shown(&station, &[], &arguments);
        assert_eq!(got, Value::from(value), "{user} {workspace} {more:?}");
        assert!(origin.starts_with(from), "{origin}");
    };
    let calls = |number: u32| format!("limits.script_calls = {number}\n");
    check("", "", &[], 64, "default");
    check(&calls(10), &calls(20), &[], 10, "file [ROOT]/config");
    check(&calls(20), &calls(10), &[], 10, "file [HERE]");
    let flag = ["--set", "limits.script_calls=30"];
    check(&calls(10), "", &flag, 30, "flag");
    check("", &calls(20), &flag, 20, "file [HERE]");
}

/// A workspace's file tightens what is said for one time as well; whoever says it is told, with the file and its line.
#[test]
fn what_a_flag_does_not_loosen_is_said() {
    let station = Station::with("[flow]\nmode = \"enforce\"\n[limits]\nscript_calls = 5\n");
    let check = |more: &[&str]| station.run(&[&["policy", "check"][..], more].concat());
    let holds = "`flow.mode = \"enforce\"` holds, and not what";
    let off = ["--set", "flow.mode=off"];
    check(&off).ends(0).says(&[
        &format!(
            "`[HERE]/lazaret.toml`, line 2: {holds} `--set flow.mode` says\nhint: leave it out"
        ),
        "a workspace's file tightens what you say",
    ]);
    check(&[&off[..], &["--strict"]].concat()).ends(1);
    let variable = [("LAZARET__FLOW__MODE", "shadow")];
    station
        .run_told(&variable, &["policy", "check"])
        .ends(0)
        .says(&[&format!("{holds} `LAZARET__FLOW__MODE` says")]);
    let more = ["--set", "limits.script_calls=9"];
    let says = "line 4: `limits.script_calls = 5` holds, and not what `--set limits.script_calls`";
    check(&more).ends(0).says(&[says]);
    let show = [&["config", "show", "flow.mode"][..], &off].concat();
    station
        .run(&show)
        .ends(0)
        .prints(&["flow.mode = \"enforce\""])
        .says(&[&format!(
            "`[HERE]/lazaret.toml:2`: {holds} `--set flow.mode` says"
        )]);
    let told = station.run(&[&show[..], &["--json"]].concat()).json();
    let overruled = &told[0]["overruled"][0];
    assert_eq!(overruled["sort"], "flag", "{told}");
    assert_eq!(overruled["place"], "flow.mode", "{told}");
    // What tightens holds itself, and so does what is said over the user's own words.
    for (user, workspace, flag) in [
        ("", "[limits]\nscript_calls = 5\n", "limits.script_calls=3"),
        ("[flow]\nmode = \"enforce\"\n", "", "flow.mode=off"),
    ] {
        station.write_user_file(user);
        station.write("lazaret.toml", workspace);
        station.trust();
        let told = check(&["--set", flag]).ends(0);
        told.never("holds, and not what");
    }
}

/// What a workspace says of `mode` counts where its user says nothing, and does not loosen what they say: `auto` is a word too.
#[test]
fn a_workspace_does_not_loosen_how_flows_are_judged() {
    let station = Station::new();
    let auto = ["flow.mode", "--set", "flow.mode=auto"];
    for mode in ["off", "shadow"] {
        station.write("lazaret.toml", format!("[flow]\nmode = \"{mode}\"\n"));
        station.trust();
        station.write_user_file("");
        assert_eq!(shown(&station, &[], &["flow.mode"]).0, mode);
        assert_eq!(shown(&station, &[], &auto).0, "auto", "{mode}");
        station.write_user_file("[flow]\nmode = \"auto\"\n");
        assert_eq!(shown(&station, &[], &["flow.mode"]).0, "auto", "{mode}");
    }
}

#[test]
fn a_profile_of_a_workspace_counts_once_it_is_trusted_and_widens_nothing() {
    let station = Station::new();
    station.write_user_file("[agents.mine]\nmodels = []\n[pace]\ncalls = 9\n");
    station.write(
        "lazaret.toml",
        "profile = \"relavium\"\n[agents.theirs]\n[pace]\ncalls = 5000\nfailed_turns = 1\n",
    );
    let of = |key: &str| shown(&station, &[], &[key]);
    assert_eq!(of("observations.max_bytes").0, Value::from(1 << 20));
    assert_eq!(of("agents.mine.turns").0, Value::from(8));
    station.trust();
    let tighter = (Value::from(51_200), "profile relavium".to_owned());
    assert_eq!(of("observations.max_bytes"), tighter);
    // Seventeen turns are more than the eight that the user's own agent has anyway.
    assert_eq!(of("agents.mine.turns").0, Value::from(8));
    assert_eq!(of("agents.mine.calls").0, Value::from(9));
    assert_eq!(of("agents.mine.failed_turns").0, Value::from(1));
    assert_eq!(of("agents.theirs.turns").0, Value::from(17));
    assert_eq!(of("agents.theirs.calls").0, Value::from(9));
    // The user's own choice comes before theirs.
    let own = |key| shown(&station, &[], &[key, "--set", "profile=sage"]);
    assert_eq!(own("observations.max_bytes").0, Value::from(1 << 20));
    assert_eq!(own("observations.max_chars").0, Value::from(4_000));
    assert_eq!(own("agents.mine.turns").0, Value::from(3));
    assert_eq!(own("profile").0, Value::from("sage"));
}

#[test]
fn a_flag_changes_one_key_of_a_thing_that_a_file_defines() {
    let station = Station::scripted("[\"text.*\"]", &[r#"{"text":"done"}"#], "");
    let (turns, from) = shown(
        &station,
        &[],
        &["agents.a.turns", "--set", "agents.a.turns=2"],
    );
    assert_eq!((turns, from.as_str()), (2.into(), "flag agents.a.turns"));
    station
        .run(&["run", "hi", "--set", "agents.a.turns=2"])
        .ends(0)
        .prints(&["done"]);
    let variable = [("LAZARET__MODELS__M__SCRIPT", "other.jsonl")];
    station.write("other.jsonl", r#"{"text":"other"}"#);
    station
        .run_told(&variable, &["run", "hi"])
        .ends(0)
        .prints(&["other"]);
}

#[test]
fn what_is_granted_on_the_command_line_is_granted_for_this_time() {
    let station = Station::with("");
    station.write("docs/a.txt", "text");
    let read = ["call", "files.read", r#"{"path":"docs/a.txt"}"#];
    station.run(&read).ends(3);
    let granted = [
        "--set",
        "mounts.docs.path=docs",
        "--set",
        "grants.\"files.*\".mounts.docs=read",
    ];
    station
        .run(&[&read[..], &granted].concat())
        .ends(0)
        .prints(&["text"]);
    station.run(&read).ends(3);
}

#[test]
fn nothing_takes_a_block_back() {
    let count = ["call", "text.count", r#"{"text":"a"}"#];
    let station = Station::new();
    for place in ["system", "user"] {
        let station = Station::new();
        let block = "block = [\"text.count\"]\n";
        match place {
            "system" => station.write_system_file(block),
            _ => station.write_user_file(block),
        }
        station
            .run(&[&count[..], &["--set", "block=[]"]].concat())
            .ends(3)
            .says(&["is blocked by"]);
    }
    station
        .run_told(&[("LAZARET__BLOCK", "[\"text.count\"]")], &count)
        .ends(3)
        .says(&[
            "is blocked by `block = [\"text.count\"]` in the built-in policy and the environment",
        ]);
}

/// Without a file the bundled plugins read the working directory, whatever is said beside.
#[test]
fn a_flag_alone_is_said_over_the_built_in_policy() {
    let station = Station::new();
    station.write("a.txt", "text");
    let read = ["call", "files.read", r#"{"path":"a.txt"}"#];
    station
        .run(&[&read[..], &["--set", "profile=sage"]].concat())
        .ends(0)
        .prints(&["text"]);
}

#[track_caller]
fn wrong(variables: &[(&str, &str)], flags: &[&str], says: &[&str]) -> Ended {
    let station = Station::new();
    station.write_user_file("[limits]\nfuel = 100\n[agents.a]\n");
    let flags = flags.iter().flat_map(|flag| ["--set", flag]);
    let arguments: Vec<&str> = ["config", "show"].into_iter().chain(flags).collect();
    station
        .run_told(variables, &arguments)
        .ends(2)
        .says(says)
        .never("panicked")
}

#[test]
fn a_wrong_word_names_the_variable_or_the_flag() {
    wrong(
        &[("LAZARET__LIMITS__FULE", "5")],
        &[],
        &[
            "error: `LAZARET__LIMITS__FULE`: there is no key `fule` here",
            "hint: did you mean `fuel`?",
        ],
    );
    wrong(
        &[],
        &["limits.fuel=0"],
        &["error: `--set limits.fuel`: [limits]: `fuel` is 0"],
    );
    wrong(
        &[("LAZARET__AGENTS__A__TURNS", "1001")],
        &["limits.cpu_ms=5"],
        &[
            "error: `LAZARET__AGENTS__A__TURNS`: ",
            "`turns` of agent `a` is not between 1 and 1000",
        ],
    );
    wrong(
        &[],
        &["chain.attempts=11"],
        &["error: `--set chain.attempts`: [chain] attempts is from 1 to 10"],
    );
    wrong(
        &[],
        &["limits.fuel=much"],
        &[
            "`--set limits.fuel`: a whole number, 0 or more, is expected here, and this is the text \"much\"",
        ],
    );
    wrong(
        &[],
        &["profile=safe"],
        &[
            "`--set profile`: `safe` is not one of those that may stand here",
            "did you mean `sage`?",
        ],
    );
    wrong(&[], &["limits.fuel"], &["`--set limits.fuel` has no `=`"]);
    wrong(&[], &["version=2"], &["`--set version`", "a later lazaret"]);
}

#[test]
fn hostile_variables_end_in_words() {
    let long = "x".repeat(1 << 20);
    let arguments = [long.as_str(), "1"];
    let station = Station::new();
    // The kernel takes no single argument of this size; a smaller one is still too long.
    let half = &arguments[0][..100_000];
    station
        .run_told(&[("LAZARET__BLOCK", half)], &["config", "show"])
        .ends(2)
        .says(&["the value of `LAZARET__BLOCK` is too big: 100000 bytes"]);
    wrong(
        &[("LAZARET__A__B__C__D__E__F__G__H__I", "1")],
        &[],
        &["names no key"],
    );
    wrong(
        &[("LAZARET____FUEL", "1")],
        &[],
        &["`LAZARET____FUEL` names no key"],
    );
    wrong(
        &[("LAZARET__BLOCK", &"[".repeat(10_000))],
        &[],
        &["`LAZARET__BLOCK`: "],
    );
    wrong(
        &[("LAZARET__LIMITS__FUEL", "99999999999999999999999")],
        &[],
        &["`LAZARET__LIMITS__FUEL`: "],
    );
    wrong(
        &[("LAZARET__LIMITS__FUEL", "-1")],
        &[],
        &[
            "`LAZARET__LIMITS__FUEL`: a whole number, 0 or more, is expected here, and this is the number `-1`",
        ],
    );
    wrong(
        &[("LAZARET__LIMITS__FUEL", "1\n[grants.\"*\"]")],
        &[],
        &["`LAZARET__LIMITS__FUEL`: a whole number, 0 or more, is expected here"],
    );
    wrong(
        &[("LAZARET__SECRETS__X", "canary")],
        &[],
        &["secrets are no part"],
    )
    .never("canary");
    wrong(
        &[("LAZARET__VAULT__PASSPHRASE", "canary")],
        &[],
        &["there is no key `passphrase` here"],
    )
    .never("canary");
    let many: Vec<(String, String)> = (0..300)
        .map(|number| (format!("LAZARET__AGENTS__A{number}__TURNS"), "1".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    station
        .run_told(&many, &["config", "show"])
        .ends(2)
        .says(&["the number of variables `LAZARET__…` and flags `--set` is too big: 300"]);
}

#[test]
fn variables_of_another_form_are_none_of_its_business() {
    let station = Station::new();
    let others = [
        ("LAZARET_LOG", "off"),
        ("LAZARET_SECRET_X", "canary canary"),
        ("LAZARET", "x"),
        ("LAZARET_LIMITS__FUEL", "x"),
    ];
    station
        .run_told(&others, &["config", "show", "limits.fuel", "--origin"])
        .ends(0)
        .prints(&["limits.fuel = 20000000000", "# default"]);
}

#[test]
fn a_version_that_is_not_known_says_what_to_do() {
    let station = Station::new();
    station.write_user_file("version = 1\n");
    station
        .run(&["config", "show", "version"])
        .ends(0)
        .prints(&["version = 1"]);
    station.write_user_file("version = 2\n");
    station.run(&["tools"]).ends(2).says(&[
        "error: `[ROOT]/config/lazaret/lazaret.toml`, line 1, column 11: `version = 2`",
        "it reads `version = 1`; what is written for a later one needs a later lazaret",
    ]);
}

#[test]
fn an_untrusted_workspace_shows_nothing_of_its_own() {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        "profile = \"sage\"\n[agents.evil]\n[mounts.root]\npath = \"/\"\n",
    );
    let ended = station
        .run(&["config", "show"])
        .ends(0)
        .says(&["is not trusted"]);
    for part in ["evil", "mounts.root", "\"sage\""] {
        assert!(!ended.out.contains(part), "{ended}");
    }
}

#[test]
fn what_is_handed_on_to_a_provider_is_not_shown() {
    let station = Station::with(
        "[models.m]\nprovider = \"openai\"\nurl = \"https://a.test/v1\"\nmodel = \"m\"\nkey_env = \"KEY\"\n\
         extra = { api_key = \"canary\" }\n",
    );
    station
        .run_told(&[("KEY", "canary")], &["config", "show", "--origin"])
        .ends(0)
        .prints(&[
            "models.m.key_env = \"KEY\"",
            "models.m.extra.api_key = \"(not shown)\"",
        ])
        .never("canary");
}

#[test]
fn a_key_that_is_not_there_is_not_found() {
    let station = Station::new();
    station
        .run(&["config", "show", "limit"])
        .ends(4)
        .says(&["did you mean `limits`?"]);
    station.run(&["config", "show", "agents.a"]).ends(4);
    let known = Station::with(
        "[models.local]\nprovider = \"openai\"\nurl = \"https://a.test/v1\"\nmodel = \"m\"\n",
    );
    for (key, meant) in [
        ("models.lcoal", "models.local"),
        ("models.local.ulr", "models.local.url"),
        ("limits.feul", "limits.fuel"),
        ("limts.fuel", "limits.fuel"),
    ] {
        let hint = format!("hint: did you mean `{meant}`?");
        known.run(&["config", "show", key]).ends(4).says(&[&hint]);
    }
    // What is like it in no more than its letters was not meant.
    known
        .run(&["config", "show", "models.nosuch"])
        .ends(4)
        .says(&["hint: `lazaret config show` lists all"]);
}
