//! Both modes find what there is to find, and code mode reads a fraction of the tokens.

use std::path::{Path, PathBuf};

use lazaret_example_code_mode::run;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_modes_agree_and_one_is_cheap() {
    let target = target();
    let program = target.join("debug/lazaret");
    assert!(
        program.is_file(),
        "{} is missing: `cargo build -p lazaret`",
        program.display()
    );
    let report = run(&program, &target.join("test-state"))
        .await
        .expect("the example runs");
    assert!(
        report.expected.len() >= 3,
        "too little to find: {:?}",
        report.expected
    );
    assert_eq!(report.direct.found, report.expected);
    assert_eq!(report.code.found, report.expected);
    let (direct, code) = (report.direct.cost, report.code.cost);
    assert_eq!((direct.turns, code.turns), (5, 3));
    assert!(code.read * 5 < direct.read, "{code:?} {direct:?}");
    assert!(code.context * 5 < direct.context, "{code:?} {direct:?}");
}

fn target() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let folder = own.ancestors().find(|folder| folder.ends_with("target"));
    folder
        .map(Path::to_owned)
        .expect("tests run from the target folder")
}
