//! Each rule fires on a bad sample and is silent on a good one, or it would be no rule.

use crate::rule::{Finding, Rule};
use crate::sources::Source;
use crate::{check, missing_documents, stale_exemptions, tables};

/// Whether one file, with its opening documentation added, breaks exactly these rules.
#[track_caller]
fn expect(path: &str, text: &str, rules: &[Rule]) {
    let source = Source {
        path: path.to_owned(),
        text: format!("//! A sample.\n{text}"),
    };
    let mut found: Vec<Rule> = check(&source).iter().map(|finding| finding.rule).collect();
    found.dedup();
    assert_eq!(found, rules, "{path}: {text}");
}

fn lines(count: usize, line: &str) -> String {
    format!("{line}\n").repeat(count)
}

#[test]
fn a_layer_is_not_used_from_below() {
    let bad = |path, text| expect(path, text, &[Rule::Layer]);
    bad("host/src/rules/a.rs", "use crate::runs::turn;");
    bad("host/src/rules.rs", "use super::gate::Gate;");
    bad("host/src/rules/a.rs", "use super::super::gate::Gate;");
    bad(
        "host/src/rules/a.rs",
        "mod b { use super::super::super::gate::Gate; }",
    );
    bad(
        "host/src/words/a.rs",
        "use crate::{words::id::Id, edges::{egress, files}};",
    );
    bad(
        "host/src/words/a.rs",
        "fn f() -> crate::guests::Guest { loop {} }",
    );
    bad(
        "host/src/words/a.rs",
        "fn f() { assert!(crate::guests::ready()); }",
    );
    bad(
        "host/src/words/a.rs",
        "#[cfg(test)] mod tests { use crate::runs::Run; }",
    );
    bad("host/src/words/a.rs", "use crate::Host;");
    bad("host/src/other.rs", "use crate::words::Id;");
    let good = |path, text| expect(path, text, &[]);
    good(
        "host/src/surfaces/http.rs",
        "use crate::runs::Host; use crate::words::Id;",
    );
    good(
        "host/src/rules/a.rs",
        "use super::b::B; use self::c::C; use crate::words::{Id, label};",
    );
    good(
        "host/src/lib.rs",
        "//! ```\npub use crate::surfaces::cli; mod words;",
    );
    good("tests/src/rig.rs", "use crate::surfaces::a;");
}

#[test]
fn pure_layers_do_not_wait() {
    let bad = |text| expect("host/src/rules/a.rs", text, &[Rule::PureLayer]);
    bad("async fn f() {}");
    bad("trait T { async fn f(); }");
    bad("fn f() { g(async { 1 }) }");
    bad("fn f() { g(async || 1) }");
    bad("fn f() { select!(x => y.await) }");
    expect("host/src/edges/a.rs", "async fn f() { g().await }", &[]);
}

#[test]
fn doors_have_owners() {
    let bad = |path: &str, text| expect(&format!("host/src/{path}"), text, &[Rule::Door]);
    bad("gate/a.rs", "fn f() -> Permit { Permit { effect: 1 } }");
    bad(
        "gate/a.rs",
        "#[cfg(test)] mod tests { fn f() { g(Permit { effect: 1 }) } }",
    );
    bad("gate/a.rs", "fn f() { g!(Permit { effect: 1 }) }");
    bad("guests/a.rs", "fn f() { unsafe { g() } }");
    bad("guests/a.rs", "unsafe fn f() {}");
    bad("guests/a.rs", "unsafe impl Send for A {}");
    bad("guests/a.rs", "fn f() { g!(unsafe { 1 }) }");
    bad(
        "guests/a.rs",
        "use wasmtime::component::Component; fn f() { Component::deserialize(e, b) }",
    );
    bad("runs/a.rs", "use std::fs;");
    bad("runs/a.rs", "use std::{fs::File, io};");
    bad("runs/a.rs", "fn f() { std::fs::read(\"a\") }");
    bad("runs/a.rs", "fn f() { assert!(std::fs::exists(\"a\")) }");
    bad(
        "runs/a.rs",
        "use std::time::Instant; fn f() -> Instant { Instant::now() }",
    );
    bad(
        "runs/a.rs",
        "use std::time as t; fn f() { t::Instant::now() }",
    );
    bad("runs/a.rs", "use std::env; fn f() { env::var(\"A\") }");
    bad("runs/a.rs", "fn f() { reqwest::get(\"a\") }");
    bad("runs/a.rs", "fn f(c: &rusqlite::Connection) {}");
    bad("runs/a.rs", "fn f() { println!(\"a\") }");
    bad("runs/a.rs", "fn f() { g!(h, println!(\"a\")) }");
    bad("edges/notes.rs", "fn f() { tokio::spawn(g()) }");
    bad(
        "surfaces/http.rs",
        "#[cfg(not(test))] mod a { use std::fs; }",
    );
    let good = |path: &str, text| expect(&format!("host/src/{path}"), text, &[]);
    good("gate.rs", "fn f() -> Permit { Permit { effect: 1 } }");
    good("guests/cache.rs", "fn f() { unsafe { g() } }");
    good("edges/state.rs", "use std::fs;");
    good("edges/files/open.rs", "use std::fs;");
    good("surfaces/http.rs", "fn f() { println!(\"a\") }");
    good(
        "runs/a.rs",
        "use std::time::Instant; fn f(now: Instant) { now.elapsed() }",
    );
    good(
        "runs/a.rs",
        "#[cfg(test)] mod tests { fn f() { std::fs::read(\"a\") } }",
    );
    good("runs/tests.rs", "fn f() { std::fs::read(\"a\") }");
    expect(
        "sdk/src/a.rs",
        "fn f() { unsafe { std::fs::read(\"a\") } }",
        &[],
    );
}

/// A door that nothing can run into would be a door that is not there.
#[test]
fn every_door_is_closed() {
    for what in tables::DOORS.iter().flat_map(|door| door.what) {
        let text = match *what {
            "unsafe" => "fn f() { unsafe {} }".to_owned(),
            what if what.ends_with('!') => format!("fn f() {{ {what}(1) }}"),
            what if what.ends_with('{') => format!("fn f() {{ g({what} a: 1 }}) }}"),
            what => format!("fn f() {{ {}(1) }}", what.replace("*::", "a::b::")),
        };
        expect("host/src/runs/sample.rs", &text, &[Rule::Door]);
    }
}

#[test]
fn sizes_have_limits() {
    let long = lines(tables::FILE_LINES_MAX, "// A line.");
    expect("sdk/src/a.rs", &long, &[Rule::FileLength]);
    expect(
        "sdk/src/a.rs",
        &lines(tables::FILE_LINES_MAX - 1, "// A line."),
        &[],
    );
    let function = |count| format!("fn f() {{\n{}}}", lines(count - 2, "g();"));
    expect(
        "sdk/src/a.rs",
        &function(tables::FUNCTION_LINES_MAX + 1),
        &[Rule::FunctionLength],
    );
    expect("sdk/src/a.rs", &function(tables::FUNCTION_LINES_MAX), &[]);
    let method = |count| format!("impl A {{ {} }}", function(count));
    expect(
        "sdk/src/a.rs",
        &method(tables::FUNCTION_LINES_MAX + 1),
        &[Rule::FunctionLength],
    );
    let told = format!(
        "fn f() {{\n{}}}",
        lines(tables::FUNCTION_LINES_MAX, "// Why.\n")
    );
    expect("sdk/src/a.rs", &told, &[]);
    expect(
        "sdk/src/a.rs",
        "fn f(a: A, b: B, c: C, d: D, e: E, g: G, h: H) {}",
        &[Rule::Parameters],
    );
    expect(
        "sdk/src/a.rs",
        "trait T { fn f(&self, b: B, c: C, d: D, e: E, g: G, h: H); }",
        &[Rule::Parameters],
    );
    expect(
        "sdk/src/a.rs",
        "fn f(a: A, b: B, c: C, d: D, e: E, g: G) {}",
        &[],
    );
    let fields = |count| {
        format!(
            "struct A {{ {} }}",
            (0..count).map(|i| format!("a{i}: A,")).collect::<String>()
        )
    };
    expect(
        "host/src/words/a.rs",
        &fields(tables::FIELDS_MAX + 1),
        &[Rule::Fields],
    );
    expect("host/src/words/a.rs", &fields(tables::FIELDS_MAX), &[]);
    expect("sdk/src/a.rs", &fields(tables::FIELDS_MAX + 1), &[]);
}

#[test]
fn names_are_words_of_the_glossary() {
    let bad = |text: &str| expect("host/src/words/a.rs", text, &[Rule::Name]);
    for (banned, _) in tables::BANNED_WORDS {
        let camel = format!("{}{}", banned[..1].to_uppercase(), &banned[1..]);
        bad(&format!("struct {camel};"));
        bad(&format!("enum Run{camel} {{}}"));
        bad(&format!("mod {banned}s {{}}"));
        expect(&format!("sdk/src/{banned}.rs"), "", &[Rule::Name]);
        expect(&format!("plugins/my-{banned}/src/a.rs"), "", &[Rule::Name]);
    }
    bad("trait HTTPHandler {}");
    bad("type Capabilities = ();");
    bad("union Data { a: u8 }");
    expect(
        "host/src/words/a.rs",
        "struct Database; struct Metadata; type Result = (); mod hooked {}",
        &[],
    );
}

#[test]
fn leftovers_are_found() {
    for leftover in tables::LEFTOVERS {
        expect(
            "host/src/words/a.rs",
            &format!("// {leftover} later"),
            &[Rule::Leftover],
        );
        expect("plugins/setup.sh", leftover, &[Rule::Leftover]);
    }
    expect(
        "host/src/words/a.rs",
        &format!("// {}S_MAX", tables::LEFTOVERS[0]),
        &[],
    );
    expect("README.md", tables::LEFTOVERS[0], &[]);
}

#[test]
fn paths_of_machines_are_found() {
    for path in tables::MACHINE_PATHS {
        expect("README.md", &format!("see {path}/a"), &[Rule::MachinePath]);
        expect(
            "host/src/words/a.rs",
            &format!("const A: &str = \"{path}/a\";"),
            &[Rule::MachinePath],
        );
    }
    expect("README.md", "mounts go to /work, /home/user and /tmp", &[]);
}

#[test]
fn a_file_opens_with_its_documentation() {
    let opens = |path: &str, text: &str| {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&source)
            .iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(opens("sdk/src/a.rs", "use a;\n"), [Rule::FileDoc]);
    assert_eq!(opens("sdk/src/a.rs", "// About.\n"), [Rule::FileDoc]);
    assert_eq!(opens("sdk/src/a.rs", ""), [Rule::FileDoc]);
    assert_eq!(opens("sdk/src/a.rs", "//! About.\n"), []);
    assert_eq!(opens("host/build.rs", "// About.\n"), []);
    assert_eq!(opens("host/build.rs", "fn main() {}\n"), [Rule::FileDoc]);
}

#[test]
fn the_page_of_a_crate_has_a_block_of_code() {
    expect("host/src/lib.rs", "//! About.", &[Rule::CratePage]);
    expect("sdk/src/lib.rs", "//! ```\n//! let a = 1;\n//! ```", &[]);
    expect("sdk/src/a.rs", "pub mod words;", &[]);
}

#[test]
fn what_does_not_parse_is_told() {
    expect("sdk/src/a.rs", "fn fn", &[Rule::Syntax]);
}

#[test]
fn documents_must_exist() {
    let rules = |paths: &[&str]| -> Vec<Rule> {
        missing_documents(paths)
            .iter()
            .map(|finding| finding.rule)
            .collect()
    };
    assert_eq!(rules(&tables::DOCUMENTS), []);
    assert_eq!(rules(&tables::DOCUMENTS[1..]), [Rule::Document]);
}

#[test]
fn exemptions_name_what_exists() {
    let exempt = |path| tables::Exempt {
        path,
        name: "",
        reason: "a sample",
    };
    let table = [exempt("sdk/src/a.rs"), exempt("plugins/web/")];
    let rules = |paths: &[&str]| -> Vec<Rule> {
        stale_exemptions(&[&table], paths)
            .iter()
            .map(|finding| finding.rule)
            .collect()
    };
    assert_eq!(rules(&["sdk/src/a.rs", "plugins/web/src/lib.rs"]), []);
    assert_eq!(rules(&["sdk/src/a.rs"]), [Rule::Exemption]);
    assert_eq!(
        rules(&["sdk/src/a.rs.more"]),
        [Rule::Exemption, Rule::Exemption]
    );
}

#[test]
fn every_line_of_the_tables_has_its_reason() {
    let doors = tables::DOORS.iter().map(|door| door.reason);
    let mut reasons = doors.chain(
        tables::EXEMPTIONS
            .iter()
            .copied()
            .flatten()
            .map(|e| e.reason),
    );
    assert!(reasons.all(|reason| reason.len() > 10));
}

#[test]
fn exemptions_hold_for_what_they_name() {
    let table = [
        tables::Exempt {
            path: "sdk/",
            name: "Response",
            reason: "a sample",
        },
        tables::Exempt {
            path: "host/src/a.rs",
            name: "",
            reason: "a sample",
        },
    ];
    assert!(tables::is_exempt(&table, "sdk/src/a.rs", "Response"));
    assert!(!tables::is_exempt(&table, "sdk/src/a.rs", "Info"));
    assert!(!tables::is_exempt(&table, "host/src/b.rs", "Response"));
    assert!(tables::is_exempt(&table, "host/src/a.rs", "Info"));
    assert!(!tables::is_exempt(&table, "host/src/a.rs.more", "Info"));
}

#[test]
fn a_report_names_place_rule_and_fix() {
    let finding = |rule, line| Finding::new(rule, "host/src/a.rs", line, "is bad");
    let page = crate::rule::report(vec![
        finding(Rule::Name, 9),
        finding(Rule::Layer, 7),
        finding(Rule::Name, 3),
        finding(Rule::Name, 3),
    ]);
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(lines.len(), 3, "{page}");
    assert_eq!(lines[0], "  host/src/a.rs:7: is bad");
    assert_eq!(lines[1], "  host/src/a.rs:3: is bad");
    assert_eq!(page.matches("rule: ").count(), 2, "{page}");
    assert_eq!(page.matches("fix:  ").count(), 2, "{page}");
}
