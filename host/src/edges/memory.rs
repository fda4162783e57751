//! What others on this machine can read of this process: no core dump is written of it, and no other
//! process of the same user can look into its memory or environment.
//!
//! What this cannot do: the superuser can read everything; memory may reach a swap device; and what a
//! parent process put into the environment is still in that parent.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// No core dumps, of this process or of those that it starts.
pub fn no_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // A system that does not let us lower our own limit has a stricter one.
    let _ = setrlimit(Resource::Core, none);
}

/// No other process of this user reads this one's memory or environment, and no crash report gets it,
/// even where one is piped to a program. For when the engine is there, which maps its own memory by way
/// of files that this closes.
pub fn hide() {
    // Where this is forbidden there is nothing to do but to go on.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the test is a process of its own, which is told so"
)]
mod tests {
    use std::process::Command;

    use rustix::process::{dumpable_behavior, getrlimit};

    use super::*;

    /// Says to a process of this test that it is the one to hide.
    const HIDES: &str = "LAZARET_TEST_HIDES";

    /// In a process of its own, since it cannot be taken back.
    #[test]
    fn whoever_hides_is_dumped_for_nobody() {
        if std::env::var_os(HIDES).is_some() {
            assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
            no_dumps();
            hide();
            assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
            assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
            return;
        }
        let name = "edges::memory::tests::whoever_hides_is_dumped_for_nobody";
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(HIDES, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}
