//! Bounds of destinations and mounts, as they are written: what is wrong with them, and where they show.

use crate::station::{Station, hostile};

/// The file as it would hold, checked.
fn check(config: &str) -> crate::station::Ended {
    let station = Station::new();
    station.write("lazaret.toml", config);
    std::fs::create_dir(station.workspace().join("docs")).unwrap();
    station.run(&["policy", "check"])
}

fn destination(more: &str) -> String {
    format!("[grants.\"web.get_page\"]\nfetch = [{{ url = \"https://a.test/\", {more} }}]\n")
}

fn mount(more: &str) -> String {
    format!("[mounts.docs]\npath = \"docs\"\n{more}\n")
}

#[test]
fn bounds_that_hold_are_taken() {
    for config in [
        destination("max_request_bytes = 0, max_answer_bytes = 1, per_minute = 1"),
        destination("max_request_bytes = 1048576, max_answer_bytes = 5242880, per_minute = 6000"),
        mount("quota_mib = 1\nmax_file_mib = 1048576"),
    ] {
        check(&config).ends(0);
    }
}

#[test]
fn bounds_that_could_not_hold_are_mistakes() {
    for (more, says) in [
        (
            "max_request_bytes = 1048577",
            "`max_request_bytes` of the destination `https://a.test/` is not between 0 and 1048576",
        ),
        (
            "max_answer_bytes = 0",
            "`max_answer_bytes` of the destination `https://a.test/` is not between 1 and 5242880",
        ),
        ("max_answer_bytes = 5242881", "is not between 1 and 5242880"),
        (
            "per_minute = 0",
            "`per_minute` of the destination `https://a.test/` is not between 1 and 6000",
        ),
        ("per_minute = 6001", "is not between 1 and 6000"),
        ("per_minute = -1", "a destination is a URL, or a table with"),
        (
            "per_hour = 1",
            "`max_request_bytes`, `max_answer_bytes` and `per_minute`",
        ),
    ] {
        check(&destination(more)).ends(2).says(&[says]);
    }
    for (more, says) in [
        (
            "quota_mib = 0",
            "[mounts.docs]: `quota_mib` is not between 1 and 1048576",
        ),
        (
            "max_file_mib = 1048577",
            "[mounts.docs]: `max_file_mib` is not between 1 and 1048576",
        ),
        ("quota_gib = 1", "there is no key `quota_gib` here"),
    ] {
        check(&mount(more)).ends(2).says(&[says]);
    }
}

/// How much it was, in its unit, and the key that says so.
#[test]
fn a_bound_that_is_passed_names_its_number_and_its_key() {
    let under = |policy: &str, arguments: &[&str]| {
        let plugin = format!("[plugins]\nhostile = {:?}\n", hostile());
        Station::with(&format!("{policy}{plugin}")).run(arguments)
    };
    let hint = |key: &str| format!("`[limits] {key}` of `lazaret.toml` says how much");
    for (limits, arguments, number, key) in [
        (
            "cpu_ms = 100",
            vec!["call", "hostile.spin"],
            "its 100 ms of processor time",
            "cpu_ms",
        ),
        (
            "fuel = 1000000",
            vec!["call", "hostile.spin"],
            "its 1000000 units of work",
            "fuel",
        ),
        (
            "memory_mib = 16",
            vec!["call", "hostile.hoard"],
            "which is 16 MiB",
            "memory_mib",
        ),
        (
            "argument_bytes = 20",
            vec!["call", "text.count", r#"{"text":"aaaaaaaaaaaaaaaaaaaa"}"#],
            "31 bytes, and at most 20 may be",
            "argument_bytes",
        ),
        (
            "script_chars = 8",
            vec!["script", "-e", "return 10"],
            "9 characters, and at most 8 may be",
            "script_chars",
        ),
        (
            "script_cpu_ms = 30",
            vec!["script", "-e", "for (;;) {}"],
            "its 30 ms of processor time",
            "script_cpu_ms",
        ),
    ] {
        let ended = under(&format!("[limits]\n{limits}\n"), &arguments);
        ended.says(&[number, &hint(key)]);
    }
    // What is as large as it may be is not to be made larger.
    under(
        "[limits]\ncpu_ms = 10000\nfuel = 20000000000\n",
        &["call", "hostile.spin"],
    )
    .says(&[
        "that is the most that `[limits] ",
        "what helps is to do less at once",
    ]);
    let late = ["call", "hostile.sleep", "--timeout-ms", "50"];
    under("", &late).says(&["its client asked for this deadline of each attempt (`--timeout-ms`)"]);
    under("[limits]\ntimeout_ms = 50\n", &late[..2]).says(&[&hint("timeout_ms")]);
}

#[test]
fn a_destination_is_shown_with_its_bounds() {
    let station = Station::with(&destination("max_answer_bytes = 9, per_minute = 6"));
    station
        .run(&["policy", "explain", "web.get_page"])
        .prints(&[
            "fetch GET|HEAD https://a.test/ (answers of 9 bytes at most) (6 a minute at most)",
        ]);
}
