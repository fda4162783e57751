//! A script that is killed after any record of its journal arrives where it would have arrived, and does
//! nothing twice.

use std::collections::BTreeSet;
use std::time::Duration;

use lazaret::words::event::{Answer as Say, Content, End, Event, Record, Verdict};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::rig::judged;
use lazaret_tests::verdict::check_records;

use super::kept::{Copy, changed, patient, signed};

const POLICY: &str = r#"
    block = ["text.diff"]
    [mounts.docs]
    path = "docs"
    [mounts.out]
    path = "out"
    access = "write"
    [grants."files.read"]
    mounts = { docs = "read" }
    [grants."files.write"]
    mounts = { out = "write" }
"#;

/// Everything at once: denied and failed calls, chance, the time, races, timers, calls that change something
/// alone and side by side, and numbers that are hard to write down.
const SOURCE: &str = "
    const began = Date.now();
    const dice = [Math.random(), Math.random()];
    const rest = (ms, value) => new Promise(resolve => setTimeout(resolve, ms, value));
    const write = async text => {
        try { await tools.files.write({path: 'out/log.txt', content: text + '\\n', mode: 'append'}) }
        catch (error) { if (error.code !== 'in_doubt') throw error }
    };
    const denied = await tools.text.diff({old: 'a', new: 'b'}).catch(error => error.code);
    await write('one');
    const settled = await Promise.allSettled([
        tools.text.count({text: 'a b'}), tools.text.count({txt: 1}), tools.files.read({path: 'docs/none.txt'}),
        tools.hostile.echo({text: 'é\\u0000\\u2028' + dice[0]}), tools.hostile.echo({text: 'half \\ud800'}),
        tools.hostile.call_each({tools: [], args: {dice, odd: [1e21, 5e-324, -0, 2 ** 53, 1.7976931348623157e308, 0.1 + 0.2]}}),
    ]);
    console.log('rests');
    const first = await Promise.race([rest(3000, 'short'), rest(9000, 'long')]);
    await write('two');
    const second = await Promise.race([tools.hostile.echo({text: 'tool'}), rest(36_000_000, 'timer')]);
    await Promise.all([write('three'), tools.text.count({text: 'between'}), write('four')]);
    console.log('rests');
    await rest(4000);
    await write('five ' + dice[1]);
    const told = one => one.status === 'fulfilled' ? one.value.words ?? one.value : one.reason.code;
    return {denied, settled: settled.map(told), first, second, dice, later: Date.now() - began >= 7000}";

/// What every life together wrote of the script's five lines.
fn begun(records: &[Record]) -> Vec<String> {
    let texts = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged)
            if judged.subject == "files.write"
                && matches!(judged.verdict, Verdict::Allow { .. }) =>
        {
            match &judged.content {
                Content::Inline(args) => args["content"]
                    .as_str()
                    .map(|text| text.trim_end().to_owned()),
                _ => None,
            }
        }
        _ => None,
    });
    texts.collect()
}

fn in_doubt(records: &[Record]) -> usize {
    let doubtful = records.iter().filter(|record| {
        matches!(&record.event, Event::Finished(finished)
            if matches!(finished.end, End::Failed { code: Code::InDoubt, .. }))
    });
    doubtful.count()
}

/// A run that was cancelled before it did anything, and went on to its end.
async fn whole() -> (RunId, Vec<Record>, Value, Copy) {
    let rig = Rig::of(POLICY).guest("hostile").kept().await.open().await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    tasks.cancel();
    let called = rig.script_in(run.clone(), &tasks, SOURCE).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    let marks = rig.path("state/begun");
    let marks = std::fs::read_dir(marks).expect("marks").count();
    assert_eq!(marks, 1, "it can be taken up");
    let copy = Copy::marks_of(&rig);
    let called = patient(&rig, &run).await.expect("it goes on");
    let value = rig::value(&called.outcome).clone();
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    assert_eq!(begun(&records).len(), 5, "{:?}", begun(&records));
    (run, records, value, copy.with_records_of(rig))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_is_killed_anywhere_arrives_at_the_same_place() {
    let (run, records, value, copy) = whole().await;
    assert_eq!(value["first"], "short");
    assert_eq!(value["second"], "tool");
    assert_eq!(value["denied"], "denied");
    assert_eq!(value["later"], true);
    assert_eq!(value["settled"][1], "bad_args");
    let mut doubts = 0;
    for count in 2..records.len() {
        let before = &records[..count];
        let rig = copy
            .cut(Rig::of(POLICY).guest("hostile"), &run, count)
            .await;
        let called = patient(&rig, &run).await;
        let called = called.unwrap_or_else(|error| panic!("after record {}: {error:?}", count - 1));
        assert_eq!(
            *rig::value(&called.outcome),
            value,
            "after record {}",
            count - 1
        );
        let after = rig.records(&run).await;
        assert_eq!(&after[..count], before, "what was on record stays");
        // Outside, in this life, is what the earlier ones had not begun, each once.
        let written = std::fs::read_to_string(rig.path("out/log.txt")).unwrap_or_default();
        let now: Vec<String> = written.lines().map(str::to_owned).collect();
        let earlier = begun(before);
        let all: BTreeSet<&String> = now.iter().chain(&earlier).collect();
        assert_eq!(
            now.len() + earlier.len(),
            5,
            "after record {}: {now:?} {earlier:?}",
            count - 1
        );
        assert_eq!(
            all.len(),
            5,
            "after record {}: {now:?} {earlier:?}",
            count - 1
        );
        doubts += usize::from(in_doubt(&after) > in_doubt(before));
    }
    assert!(doubts >= 5, "no call was cut off in its middle: {doubts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_which_only_the_beginning_is_known_does_not_go_on() {
    let (run, _, _, copy) = whole().await;
    let rig = copy.cut(Rig::of(POLICY).guest("hostile"), &run, 1).await;
    let error = rig.resume(&run).await.expect_err("nobody knows the script");
    assert_eq!(error.code(), Code::BadInput, "{error:?}");
    assert_eq!(rig.words(&run).await, ["started"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_goes_another_way_is_stopped_before_it_does_anything() {
    let (run, records, _, copy) = whole().await;
    let count = records.len() - 1;
    for (from, to, position) in [
        (r#""text":"a b""#, r#""text":"a c""#, 2),
        (r#""content":"two\n""#, r#""content":"too\n""#, 10),
        (r#""subject":"text.diff""#, r#""subject":"text.patch""#, 0),
    ] {
        let rig = copy.cut_and(Rig::of(POLICY).guest("hostile"), &run, count, |database| {
            changed(database, &run, "\"origin\":\"script\"", (from, to));
            signed(database);
        });
        let rig = rig.await;
        let before = rig.records(&run).await;
        let called = patient(&rig, &run).await.expect("the run is known");
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Diverged, "{from}: {error:?}");
        let says = format!("request {position} was");
        assert!(error.message().contains(&says), "{from}: {error:?}");
        let digests = error.message().matches('(').count();
        assert_eq!(digests, 2, "{error:?}");
        let after = rig.records(&run).await;
        assert_eq!(after[..count], before[..], "the record is untouched");
        let done = after[count..].iter().filter(|record| {
            matches!(&record.event, Event::Judged(judged) if judged.origin == "script" || judged.subject == "files.write")
        });
        assert_eq!(done.count(), 0, "nothing was done");
        assert!(!rig.path("out/log.txt").exists());
        rig.assert_alive().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_what_was_never_asked_is_another_way_as_well() {
    let (run, records, _, copy) = whole().await;
    // A timer's answer at the place of a call.
    let rig = copy.cut_and(Rig::of(POLICY).guest("hostile"), &run, records.len() - 1, |database| {
        let update = "UPDATE records SET event = '{\"event\":\"rested\",\"place\":[99]}' WHERE event LIKE '%\"rested\"%'";
        assert!(database.execute(update, []).expect("an update") > 0);
        signed(database);
    });
    let rig = rig.await;
    let called = patient(&rig, &run).await.expect("the run is known");
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::Diverged, "{error:?}");
    assert!(error.message().contains("99"), "{error:?}");
    assert!(!rig.path("out/log.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_whose_source_was_changed_does_not_go_on() {
    let (run, records, _, copy) = whole().await;
    let count = records.len() - 1;
    let rig = copy.cut_and(Rig::of(POLICY).guest("hostile"), &run, count, |database| {
        changed(
            database,
            &run,
            "\"subject\":\"script.run\"",
            ("'five '", "'six '"),
        );
        signed(database);
    });
    let rig = rig.await;
    let error = rig.resume(&run).await.expect_err("another script");
    assert_eq!(error.code(), Code::Denied, "{error:?}");
    assert_eq!(rig.records(&run).await.len(), count, "nothing was done");
    assert!(!rig.path("out/log.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_somebody_changed_is_named_and_nothing_goes_on() {
    let (run, records, _, copy) = whole().await;
    let count = records.len() - 1;
    for (from, to) in [
        (r#""text":"a b""#, r#""text":"a c""#),
        (r#""content":"two\n""#, r#""content":"too\n""#),
    ] {
        let seq = records.iter().position(|record| {
            let text = serde_json::to_string(record).expect("JSON");
            text.contains("\"origin\":\"script\"") && text.contains(from)
        });
        let seq = seq.expect("a record");
        let rig = copy.cut_and(Rig::of(POLICY).guest("hostile"), &run, count, |database| {
            changed(database, &run, "\"origin\":\"script\"", (from, to));
        });
        let rig = rig.await;
        let error = rig.resume(&run).await.expect_err("it was changed");
        assert_eq!(error.code(), Code::Corrupt, "{error:?}");
        let says = format!("record {seq} of run `{run}` is not as it was written");
        assert!(error.message().contains(&says), "{error:?}");
        assert!(
            error.hints().concat().contains("lazaret runs verify"),
            "{error:?}"
        );
        assert_eq!(rig.records(&run).await.len(), count, "nothing was done");
        assert!(!rig.path("out/log.txt").exists());
        // It is no more than its owner's to end.
        rig.host.abandon(&run).await.expect("it ends");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_nothing_authenticates_do_not_go_on() {
    let (run, records, _, copy) = whole().await;
    let count = records.len() - 1;
    let rig = copy.cut_and(Rig::of(POLICY).guest("hostile"), &run, count, |database| {
        let update = "UPDATE records SET chain = NULL";
        assert!(database.execute(update, []).expect("an update") > 0);
    });
    let rig = rig.await;
    let error = rig
        .resume(&run)
        .await
        .expect_err("nobody knows who wrote it");
    assert_eq!(error.code(), Code::Corrupt, "{error:?}");
    assert!(!rig.path("out/log.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_from_elsewhere_grants_nothing() {
    let (run, records, _, copy) = whole().await;
    let copy = copy.without_marks();
    let rig = copy
        .cut(Rig::of(POLICY).guest("hostile"), &run, records.len() - 1)
        .await;
    let error = rig.resume(&run).await.expect_err("not begun here");
    assert_eq!(error.code(), Code::Denied, "{error:?}");
    assert!(error.message().contains("was not begun here"), "{error:?}");
    assert_eq!(
        rig.records(&run).await.len(),
        records.len() - 1,
        "nothing was done"
    );
    assert!(!rig.path("out/log.txt").exists());
    // It is no more than its owner's to end.
    rig.host.abandon(&run).await.expect("it ends");
    let again = rig.resume(&run).await.expect_err("it has ended");
    assert_eq!(again.code(), Code::Conflict, "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_rests_for_long_has_no_guest_until_then() {
    let rig = Rig::of("").kept().await.open().await;
    let source =
        "console.log('rests'); await new Promise(resolve => setTimeout(resolve, 86_400_000));
        return (await tools.text.count({text: 'a'})).words";
    let run = rig.host.new_run();
    let mut watcher = rig.host.watch(&run);
    let clock = rig.clock.clone();
    let tasks = Tasks::new();
    let passing = async {
        loop {
            let sight = serde_json::to_value(watcher.next().await).expect("JSON");
            if sight["message"] == "rests" {
                clock.advance(Duration::from_secs(86_400));
                return;
            }
        }
    };
    let (called, ()) = tokio::join!(rig.script_in(run.clone(), &tasks, source), passing);
    assert_eq!(*rig::value(&called.outcome), 1);
    assert_eq!(
        rig.lives(&run).await,
        2,
        "one before the rest, and one after it"
    );
    let rests = rig
        .words(&run)
        .await
        .iter()
        .filter(|word| **word == "rested")
        .count();
    assert_eq!(rests, 1);
    // No time passes in a replay, and it goes the same way.
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{replayed:?}");
    assert!(replayed.same > 5);
}

/// Where a call came to an end of which nobody knows, nobody knows either what it has read: all that it could have is behind
/// what comes after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_doubt_leaves_what_it_could_have_read() {
    let policy = r#"
        ask = ["files.write"]
        [flow]
        mode = "enforce"
        [mounts.inbox]
        path = "out/inbox"
        [mounts.out]
        path = "out"
        access = "write"
        [grants."files.write"]
        mounts = { inbox = "read", out = "write" }
        [agents.agent]
        calling = "both"
        tools = ["files.write", "text.count", "hostile.echo"]
    "#;
    let source = "await tools.files.write({path: 'out/one.txt', content: 'x'}).catch(() => {});
        await tools.text.count({text: 'a'});
        return 1";
    let replies = [
        json!({"calls": [{"tool": "run_script", "args": {"source": source}}]}),
        json!({"text": "Done."}),
    ];
    let rig = || {
        let rig = Rig::of(policy).guest("hostile").replies(&replies);
        rig.file("out/inbox/letter.txt", "Dear reader")
    };
    let counted_under = |records: &[Record]| {
        let counts = judged(records, "text.count");
        assert_eq!(counts.len(), 1);
        counts[0].label.to_string()
    };
    let first = rig().kept().await.open().await;
    let (run, answer) = first.pursue("Go on.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    first.answer(Say::Allow).await;
    let copy = Copy::marks_of(&first);
    first.resume_agent(&run).await.expect("an answer");
    let records = first.records(&run).await;
    assert!(
        !counted_under(&records).contains("file:inbox"),
        "it has ended well"
    );
    let begun = |record: &Record| {
        matches!(&record.event, Event::Judged(judged)
            if judged.subject == "files.write" && matches!(judged.verdict, Verdict::Allow { .. }))
    };
    let count = records.iter().position(begun).expect("a call") + 1;
    let copy = copy.with_records_of(first);
    let again = copy.cut(rig(), &run, count).await;
    again.resume_agent(&run).await.expect("an answer");
    let records = again.records(&run).await;
    assert_eq!(in_doubt(&records), 1);
    assert!(
        counted_under(&records).contains("scalar:file:inbox"),
        "{}",
        counted_under(&records)
    );
}
