//! Timers are requests.

use lazaret_script::{Reason, Wish};

use crate::rig::{returns, run};

#[test]
fn pauses_are_asked_for() {
    let cases = [
        ("await new Promise(r => setTimeout(r, 50))", 50),
        ("await new Promise(r => setTimeout(r))", 0),
        ("await new Promise(r => setTimeout(r, -5))", 0),
        ("await new Promise(r => setTimeout(r, NaN))", 0),
        ("await new Promise(r => setTimeout(r, '20'))", 20),
        ("await new Promise(r => setTimeout(r, 3e9))", 3_000_000_000),
        (
            "await new Promise(r => setTimeout(r, Infinity))",
            316_224_000_000,
        ),
    ];
    for (source, pause) in cases {
        let run = run(source);
        assert!(run.end.is_ok(), "{source}: {:?}", run.end);
        assert_eq!(run.asked[0].wish, Wish::Rest(pause), "{source}");
    }
}

#[test]
fn timers_do_as_in_node() {
    returns(&[
        (
            "return await new Promise(r => setTimeout((a, b) => r([a, b]), 1, 'x', 2))",
            r#"["x",2]"#,
        ),
        (
            "let n = 0; return await new Promise(r => { const t = setInterval(() => { if (++n === 3) { clearInterval(t); r(n) } }, 5) })",
            "3",
        ),
        (
            "const t = setTimeout(() => { throw 1 }, 1); clearTimeout(t); await new Promise(r => setTimeout(r, 2)); return typeof t",
            "\"number\"",
        ),
        (
            "clearTimeout(undefined); clearTimeout('x'); clearTimeout(99); clearTimeout({}); return 1",
            "1",
        ),
        ("setTimeout(() => { throw 1 }, 1); return 1", "1"),
        (
            "const out = []; setTimeout(() => out.push('timer'), 0); queueMicrotask(() => out.push('micro')); out.push('now'); await new Promise(r => setTimeout(r, 0)); return out",
            r#"["now","micro","timer"]"#,
        ),
        (
            "try { setTimeout('code') } catch (e) { return e.name }",
            "\"TypeError\"",
        ),
        (
            "try { for (let i = 0; i < 100; i++) setTimeout(() => {}, 1) } catch (e) { return e.name }",
            "\"RangeError\"",
        ),
        (
            "const p = performance.now(); await new Promise(r => setTimeout(r, 5)); return [p, performance.now()]",
            "[0,10]",
        ),
    ]);
}

#[test]
fn a_timer_that_throws_fails_the_script() {
    let run = run(
        "setTimeout(() => {\n throw new Error('late') }, 1)\nawait new Promise(r => setTimeout(r, 50))",
    );
    assert_eq!(run.failure().reason, Reason::Thrown);
    assert_eq!(run.failure().message, "Error: late");
    assert_eq!(run.failure().line, 2);
}

#[test]
fn an_interval_ends_with_its_budget() {
    let run = run("setInterval(() => {}, 1); await new Promise(() => {})");
    assert!(run.failure().message.contains("64 timers"), "{:?}", run.end);
}
