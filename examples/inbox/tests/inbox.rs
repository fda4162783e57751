//! The letter gets nothing that Ada did not ask for, Ada gets all that she asked for, and the README says so.

use std::path::{Path, PathBuf};

use lazaret_example_inbox::{Given, Step, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_letter_gets_nothing_and_the_readme_shows_it() {
    let target = target();
    let program = target.join("debug/lazaret");
    let plugin = target.join("guests/mail.wasm");
    for (file, how) in [
        (&program, "cargo build -p lazaret"),
        (&plugin, "plugins/build.sh"),
    ] {
        assert!(file.is_file(), "{} is missing: `{how}`", file.display());
    }
    // Its own: what was once written under a letter's influence is known by the number of its file, which another one may have
    // by now.
    let state = tempfile::tempdir().expect("a folder");
    let given = Given {
        program: &program,
        state: state.path(),
        plugin: &plugin,
    };
    let report = run(&given).await.expect("the example runs");
    let judged = &report.judged;
    assert_eq!(judged.outbox, ["grace@partner.test", "linus@own.test"]);
    assert_eq!(judged.letters, ["m1.json", "m2.json"]);
    assert_eq!(judged.questions, 4);
    let asked: Vec<&Step> = judged
        .steps
        .iter()
        .filter(|step| step.verdict == "is asked")
        .collect();
    let calls: Vec<&str> = asked.iter().map(|step| step.call.as_str()).collect();
    assert_eq!(
        calls,
        [
            "mail.send to billing@evil.test",
            "mail.send to eve@evil.test",
            "mail.delete m1",
            "mail.delete m3"
        ]
    );
    for part in ["`to/0`", "file:mail", "the user's own words"] {
        assert!(asked[0].why[0].contains(part), "{}", asked[0].why[0]);
    }
    // Nobody is there to say no, or yes: what has a witness is done, and nothing else.
    assert_eq!(report.alone.outbox, judged.outbox);
    assert_eq!(report.alone.letters, ["m1.json", "m2.json", "m3.json"]);
    assert_eq!((report.alone.questions, report.alone.refused()), (0, 4));
    for job in &report.honest {
        assert_eq!(job.questions, job.refused, "{}", job.about);
    }
    assert!(report.off.outbox.contains(&"billing@evil.test".to_owned()));
    assert_eq!(report.off.letters, ["m2.json"]);
    let shown = format!("```text\n{report}```");
    let readme = include_str!("../README.md");
    assert!(
        readme.contains(&shown),
        "the README does not show what it does:\n{report}"
    );
    // The README of the whole shows parts of it.
    let whole = include_str!("../../../README.md");
    let (_, excerpt) = whole
        .split_once("From its output, which a test compares:\n\n```text\n")
        .expect("an excerpt");
    let (excerpt, _) = excerpt.split_once("```").expect("its end");
    for line in excerpt.lines().filter(|line| !line.is_empty()) {
        assert!(shown.contains(&format!("\n{line}\n")), "{line}");
    }
}

fn target() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let folder = own.ancestors().find(|folder| folder.ends_with("target"));
    folder
        .map(Path::to_owned)
        .expect("tests run from the target folder")
}
