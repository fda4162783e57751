//! Which calls of a script run together, how many there may be, and what becomes of those it leaves.

use lazaret::words::event::{End, Event, Record};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

/// `judged` and `finished` of a script's calls, in the order of the records.
fn steps(records: &[Record]) -> Vec<String> {
    let call = |seq: u64| {
        records.iter().find_map(|record| match &record.event {
            Event::Judged(judged) if record.seq == seq && judged.origin == "script" => {
                Some(judged.subject.clone())
            }
            _ => None,
        })
    };
    let step = |record: &Record| match &record.event {
        Event::Judged(judged) if judged.origin == "script" => {
            Some(format!("judged {}", judged.subject))
        }
        Event::Finished(finished) => Some(format!("finished {}", call(finished.of)?)),
        _ => None,
    };
    records.iter().filter_map(step).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_calls_that_look_run_together_and_the_ninth_waits() {
    let server = Server::start().await;
    let stall = |n: usize| Answer {
        path: format!("/{n}"),
        stall: true,
        ..Answer::default()
    };
    server.say((0..9).map(stall).collect());
    let url = format!("http://127.0.0.1:{}/", server.port());
    let policy =
        format!("[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{url}\", private = true }}]");
    let rig = Rig::of(&policy).guest("hostile").open().await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let source = format!(
        "await Promise.all([...Array(9).keys()].map(n => tools.hostile.fetch_each({{urls: ['{url}' + n]}})))"
    );
    let looking = async {
        // Eight are never answered: the ninth does not begin while they run.
        server.arrived(8).await;
        rig.host
            .journal()
            .commit()
            .await
            .expect("the journal is well");
        let begun = steps(&rig.records(&run).await);
        tasks.cancel();
        begun
    };
    let (called, begun) = tokio::join!(rig.script_in(run.clone(), &tasks, &source), looking);
    assert_eq!(begun, vec!["judged hostile.fetch_each"; 8]);
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    assert_eq!(server.seen().len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_changes_something_is_alone_and_in_its_place() {
    let policy = "confirmed = [\"hostile.destroy\"]\n[flow]\nmode = \"off\"\n[grants.\"hostile.write_here\"]\n[grants.\"hostile.destroy\"]";
    let rig = Rig::of(policy).guest("hostile").open().await;
    let source = "
        await Promise.all([
            tools.hostile.destroy({}), tools.hostile.echo({text: 'a'}), tools.hostile.write_here({}),
            tools.text.count({text: 'a'}), tools.hostile.destroy({}),
        ])";
    let called = rig.script(source).await;
    assert!(called.outcome.result.is_ok());
    let order = [
        "hostile.destroy",
        "hostile.echo",
        "hostile.write_here",
        "text.count",
        "hostile.destroy",
    ];
    let expected: Vec<_> = order
        .iter()
        .flat_map(|tool| [format!("judged {tool}"), format!("finished {tool}")])
        .collect();
    assert_eq!(steps(&rig.records(&called.run).await), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_call_after_the_last_is_rejected_and_the_script_goes_on() {
    for (policy, most) in [("", 64), ("limits.script_calls = 3", 3)] {
        let rig = Rig::of(policy).open().await;
        let source = "
            let done = 0;
            for (;;) {
                try { await tools.text.count({text: 'a'}); done += 1 }
                catch (error) { return [done, error.name, error.code, error.retryable] }
            }";
        let called = rig.script(source).await;
        assert_eq!(
            *rig::value(&called.outcome),
            json!([most, "ToolError", "over_budget", false])
        );
        assert_eq!(called.outcome.spent.calls, most);
        let calls = steps(&rig.records(&called.run).await);
        assert_eq!(calls.len(), 2 * usize::try_from(most).expect("a number"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_calls_at_once_are_as_many_as_a_script_may_make() {
    let rig = Rig::of("").open().await;
    let source = "
        const first = Array.from({length: 64}, () => tools.text.count({text: 'a'}));
        let refused = 0;
        for (let i = 64; i < 100000; i++) {
            tools.text.count({text: 'a'}).catch(error => { refused += error.code === 'over_budget' });
        }
        return [(await Promise.all(first)).length, refused]";
    let called = rig.script(source).await;
    assert_eq!(*rig::value(&called.outcome), json!([64, 99_936]));
    assert_eq!(steps(&rig.records(&called.run).await).len(), 128);
    rig.assert_alive().await;
}

/// Eight of the ten thousand are under way, and are held there: whoever calls meanwhile, in another run, waits for none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_run_is_served_before_ten_thousand_calls_of_a_script_are_through() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        stall: true,
        ..Answer::default()
    }]);
    let url = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        "limits.script_calls = 10000\n[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{url}\", private = true }}]"
    );
    let rig = Rig::of(&policy).guest("hostile").open().await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let source = format!(
        "await Promise.all(Array.from({{length: 10000}}, () => tools.hostile.fetch_each({{urls: ['{url}']}})))"
    );
    let other = async {
        server.arrived(8).await;
        // A call, and a script with calls of its own.
        rig.assert_alive().await;
        let script =
            "return (await Promise.all([1, 2].map(() => tools.text.count({text: 'a'})))).length";
        assert_eq!(*rig::value(&rig.script(script).await.outcome), 2);
        let waiting = steps(&rig.records(&run).await);
        tasks.cancel();
        waiting
    };
    let (called, waiting) = tokio::join!(rig.script_in(run.clone(), &tasks, &source), other);
    assert_eq!(waiting, vec!["judged hostile.fetch_each"; 8]);
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    assert_eq!(server.seen().len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_calls_as_policy_says_can_be_made_in_one_step() {
    let rig = Rig::of("limits.script_calls = 2000").open().await;
    let source = "
        const all = await Promise.all(Array.from({length: 2000}, () => tools.text.count({text: 'a'})));
        return all.length";
    let called = rig.script(source).await;
    assert_eq!(*rig::value(&called.outcome), 2000);
    assert_eq!(
        check_records(&rig.records(&called.run).await),
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_a_script_does_not_wait_for_have_an_end_on_record() {
    let rig = Rig::of("").guest("hostile").open().await;
    let source = "
        const open = tools.hostile.sleep({});
        return await Promise.race([open, tools.text.count({text: 'a b'})])";
    let called = rig.script(source).await;
    assert_eq!(rig::value(&called.outcome)["words"], 2);
    let records = rig.records(&called.run).await;
    assert_eq!(
        check_records(&records),
        Vec::<String>::new(),
        "{}",
        lazaret_tests::golden::render(&records)
    );
    let cut_off = records.iter().any(|record| {
        matches!(&record.event, Event::Finished(finished)
            if matches!(finished.end, End::Failed { code: Code::InDoubt | Code::Cancelled, .. }))
    });
    assert!(cut_off, "{}", lazaret_tests::golden::render(&records));
    let last = records
        .iter()
        .rposition(|record| matches!(record.event, Event::Finished(_)));
    assert!(
        last < Some(records.len() - 1),
        "nothing comes after the end"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_nobody_awaits_is_not_made_once_the_script_is_done() {
    let policy = "[mounts.out]\npath = \"out\"\naccess = \"write\"\n[grants.\"files.write\"]\nmounts = { out = \"write\" }";
    let rig = Rig::of(policy).open().await;
    let called = rig
        .script("tools.files.write({path: 'out/a.txt', content: 'x'}); return 'done'")
        .await;
    assert_eq!(*rig::value(&called.outcome), "done");
    assert!(!rig.path("out/a.txt").exists());
    let records = rig.records(&called.run).await;
    assert_eq!(steps(&records), Vec::<String>::new());
    assert_eq!(check_records(&records), Vec::<String>::new());
}
