//! The same inputs give the same steps; mistakes of the host's are told from those of the script.

use lazaret_script::{Answer, Engine, Mistake, Outcome, Progress};

use crate::rig::{BOUNDS, NOW, run, run_with, usual};

#[test]
fn chance_comes_from_the_seed() {
    let source = "return Array.from({ length: 4 }, () => Math.random())";
    let draw = |seed| run_with(source, BOUNDS, seed, usual).end;
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    let run = run(
        "let n = 0; for (let i = 0; i < 10000; i++) n += Math.random(); return n > 4800 && n < 5200",
    );
    assert_eq!(run.value(), "true");
}

#[test]
fn a_script_arrives_at_the_same_place() {
    let source = "const order = [];
        const slow = i => tools.x({ i, r: Math.random() }).then(() => order.push(i));
        await Promise.race([slow(1), slow(2), new Promise(r => setTimeout(r, 5))]);
        await Promise.allSettled([tools.fail.y(), slow(3)]);
        console.log(order, new Map([[{}, 1]]));
        return { order, r: Math.random() }";
    let one = run(source);
    let other = run(source);
    assert_eq!(one.end, other.end);
    assert_eq!(one.asked, other.asked);
    assert_eq!(one.logs, other.logs);
}

#[test]
fn the_order_of_answers_decides() {
    let source = "return await Promise.race([tools.a(), tools.b()])";
    for (first, expected) in [(0, "\"0\""), (1, "\"1\"")] {
        let mut engine = Engine::new().unwrap();
        engine.start(source, BOUNDS, 1, NOW).unwrap();
        let outcome = Outcome::Value(format!("\"{first}\""));
        let answer = Answer {
            position: first,
            outcome,
        };
        let step = engine.resume(answer, NOW).unwrap();
        assert_eq!(step.progress, Progress::Done(expected.into()));
    }
}

#[test]
fn mistakes_of_the_host_change_nothing() {
    let value = |position, text: &str| Answer {
        position,
        outcome: Outcome::Value(text.into()),
    };
    let mut engine = Engine::new().unwrap();
    assert_eq!(
        engine.resume(value(0, "1"), NOW).unwrap_err(),
        Mistake::NotRunning
    );
    engine
        .start(
            "const a = await tools.x(); setTimeout(() => {}, 1); return a + await tools.y()",
            BOUNDS,
            1,
            NOW,
        )
        .unwrap();
    assert_eq!(
        engine.start("1", BOUNDS, 1, NOW).unwrap_err(),
        Mistake::Started
    );
    assert_eq!(
        engine.resume(value(5, "1"), NOW).unwrap_err(),
        Mistake::NotOpen(5)
    );
    assert_eq!(
        engine.resume(value(0, "{nope"), NOW).unwrap_err(),
        Mistake::NotJson(0)
    );
    let rested = Answer {
        position: 0,
        outcome: Outcome::Rested,
    };
    assert_eq!(
        engine.resume(rested, NOW).unwrap_err(),
        Mistake::OtherKind(0)
    );
    engine.resume(value(0, "1"), NOW).unwrap();
    assert_eq!(
        engine.resume(value(0, "1"), NOW).unwrap_err(),
        Mistake::NotOpen(0)
    );
    let end = engine.resume(value(2, "2"), NOW).unwrap();
    assert_eq!(end.progress, Progress::Done("3".into()));
    assert_eq!(
        engine.resume(value(1, "2"), NOW).unwrap_err(),
        Mistake::NotRunning
    );
}
