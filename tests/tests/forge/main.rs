//! Must not compile: every way to get at an effect without the gate's permit (invariant 3).
//!
//! Each file of `tests/forge` is one attempt, whose first line names the error that must stop it. It is
//! given to the compiler with the library as it was built, since a second workspace, as `trybuild`
//! makes one, would compile the whole engine again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn no_permit_can_be_forged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("forge");
    let mut attempts: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    attempts.sort();
    assert!(attempts.len() > 6, "the attempts are gone");
    let failures: Vec<String> = attempts
        .iter()
        .filter_map(|attempt| check(attempt).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(attempt: &Path) -> Result<(), String> {
    let source = fs::read_to_string(attempt).unwrap();
    let expected = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//! must not compile: "));
    let expected = expected.expect("the first line names the error");
    let target = target();
    let out = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "--out-dir",
        ])
        .arg(out.path())
        .arg("-L")
        .arg(format!("dependency={}", target.join("deps").display()))
        .arg("--extern")
        .arg(format!(
            "lazaret={}",
            target.join("liblazaret.rlib").display()
        ))
        .arg(attempt)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let name = attempt.file_name().unwrap().to_string_lossy();
    if expected == "nothing" {
        return if output.status.success() {
            Ok(())
        } else {
            Err(format!("{name}: should compile:\n{said}"))
        };
    }
    if output.status.success() {
        return Err(format!("{name}: it compiles, so the seal is broken"));
    }
    if said.contains(&format!("error[{expected}]")) {
        return Ok(());
    }
    Err(format!(
        "{name}: it fails for another reason than {expected}:\n{said}"
    ))
}

/// The folder of this build: the test's own program lies in `deps` below it.
fn target() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    exe.parent().and_then(Path::parent).unwrap().to_owned()
}
