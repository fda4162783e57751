//! Wrong uses of the macros are compile errors that say what to write instead; right ones compile.
//!
//! `TRYBUILD=overwrite cargo test -p lazaret-sdk --test ui` writes the expected errors anew.

#[test]
fn wrong_uses_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass_*.rs");
    cases.compile_fail("tests/ui/fail_*.rs");
}
