//! The loop of turns: its bounds, its order, and what is done about what a model writes wrong.

use lazaret::runs::host::Goal;
use lazaret::words::event::{Event, Limit, Record, Sight, Stopped, Surface};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::judged;
use lazaret_tests::verdict::check_records;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn calls(calls: Value) -> Value {
    json!({ "calls": calls })
}

fn count(text: &str) -> Value {
    json!({"tool": "text.count", "args": {"text": text}})
}

/// The words of a run that an agent pursued to its end, with an agent's keys `keys`.
async fn pursued(keys: &str, replies: &[Value]) -> (Vec<Record>, Result<String, (Code, String)>) {
    let policy = format!(
        "[grants.\"hostile.destroy\"]\n[flow]\nmode = \"off\"\nhold = \"never\"\n[agents.agent]\n{keys}"
    );
    let rig = Rig::of(&policy).guest("hostile").replies(replies);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    let answer = answer.map_err(|error| (error.code(), error.message().to_owned()));
    (records, answer)
}

fn stopped(records: &[Record]) -> &Stopped {
    match records.last().map(|record| &record.event) {
        Some(Event::Stopped(stopped)) => stopped,
        other => panic!("no end: {other:?}"),
    }
}

fn prompts(records: &[Record]) -> usize {
    let prompted = records
        .iter()
        .filter(|record| matches!(record.event, Event::Prompted { .. }));
    prompted.count()
}

fn observed(records: &[Record]) -> Vec<(&str, &str)> {
    let observed = records.iter().filter_map(|record| match &record.event {
        Event::Observed {
            call, observation, ..
        } => Some((call.as_str(), observation.text.as_str())),
        _ => None,
    });
    observed.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_five_calls_three_are_made_and_two_are_told_of() {
    let five: Vec<Value> = (0..5).map(|at| count(&format!("{at}"))).collect();
    let after = json!({"when": "at most 3 calls of one turn are made", "text": "Three."});
    let (records, answer) = pursued("calls_per_turn = 3", &[calls(json!(five)), after]).await;
    assert_eq!(answer.expect("an answer"), "Three.");
    let told: Vec<bool> = observed(&records)
        .iter()
        .map(|(_, text)| text.contains("this one was not"))
        .collect();
    assert_eq!(told, [false, false, false, true, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_bound_keeps_what_was_said_and_asks_nobody_again() {
    let same = || calls(json!([count("a")]));
    let other = |at: usize| calls(json!([count(&"a ".repeat(at + 1))]));
    let broken = || calls(json!([{"tool": "hostile.panics", "args": {"message": "x"}}]));
    let fails = |at: usize| {
        calls(json!([{"tool": "hostile.panics", "args": {"message": format!("{at}")}}]))
    };
    for (keys, replies, turns, limit) in [
        (
            "turns = 2",
            vec![other(0), other(1), other(2)],
            2,
            Limit::TurnLimit,
        ),
        (
            "calls = 2",
            vec![other(0), other(1), other(2), other(3)],
            3,
            Limit::CallLimit,
        ),
        (
            "",
            vec![same(), same(), same(), same(), same()],
            4,
            Limit::LoopGuard,
        ),
        (
            "identical_batches = 2",
            vec![broken(), broken(), broken()],
            2,
            Limit::LoopGuard,
        ),
        (
            "failed_turns = 1",
            (0..4).map(fails).collect(),
            2,
            Limit::FailureLimit,
        ),
    ] {
        let (records, answer) = pursued(keys, &replies).await;
        let (code, why) = answer.expect_err("a bound");
        assert_eq!(code, Code::OverBudget, "{keys}: {why}");
        assert!(why.starts_with(limit.word()), "{keys}: {why}");
        let end = stopped(&records);
        assert_eq!(
            (end.limit, end.turns),
            (Some(limit), turns),
            "{keys}: {why}"
        );
        assert_eq!(prompts(&records), usize::try_from(turns).unwrap(), "{keys}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_or_denial_may_end_the_run() {
    let fails = calls(json!([{"tool": "hostile.panics", "args": {"message": "x"}}]));
    let keys = "recover_tool_failures = false";
    let (records, answer) = pursued(keys, &[fails, json!({"text": "On."})]).await;
    assert_eq!(answer.expect_err("a failure").0, Code::Trapped);
    assert_eq!(stopped(&records).limit, None);
    let denied = || calls(json!([{"tool": "hostile.send_out"}]));
    let replies = [denied(), json!({"text": "On."})];
    let (_, answer) = pursued("on_denied = \"fail\"", &replies).await;
    let (code, why) = answer.expect_err("a denial");
    assert_eq!(code, Code::Denied, "{why}");
    let (_, answer) = pursued("", &replies).await;
    assert_eq!(answer.expect("told, and on"), "On.");
    let (records, answer) = pursued("", &[denied(), denied(), denied(), denied()]).await;
    assert_eq!(answer.expect_err("the third time").0, Code::Denied);
    assert_eq!(prompts(&records), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_nearly_right_is_done() {
    let ways = [
        json!({"tool": "text.count", "args": "{\"text\":\"a b\"}"}),
        json!({"tool": "text.count", "args": "```json\n{\"text\":\"a b\",}\n```"}),
        json!({"tool": "text.count", "args": {"name": "text.count", "arguments": {"text": "a b"}}}),
    ];
    let leaked = "```json\n{\"name\": \"text_count\", \"arguments\": {\"text\": \"a b\"}}\n```";
    let mut replies: Vec<Value> = ways.iter().map(|way| calls(json!([way]))).collect();
    replies.push(json!({ "text": leaked }));
    replies.push(json!({"when": "\"words\":2", "text": "Done."}));
    let (records, answer) = pursued("", &replies).await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert_eq!(judged(&records, "text.count").len(), 4);
    for (_, text) in observed(&records) {
        assert!(text.contains("\"words\":2"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_repaired_is_told_and_counts() {
    let broken = |text: &str| calls(json!([{"tool": "text.count", "args": text}]));
    let replies = [
        broken("{\"text\":\"a\",\"text\":\"b\"}"),
        broken("{\"text\":"),
        broken("text=a"),
        broken("<a/>"),
    ];
    let (records, answer) = pursued("", &replies).await;
    let (_, why) = answer.expect_err("too often");
    assert_eq!(
        stopped(&records).limit,
        Some(Limit::CorrectionLimit),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_calls_only_what_is_not_there_answers_in_plain_text() {
    let nowhere = || calls(json!([{"tool": "weather.today"}, {"tool": "zzz"}]));
    let plain = json!({"when": "answer in plain text", "text": "I cannot look."});
    let (records, answer) = pursued("", &[nowhere(), plain]).await;
    assert_eq!(answer.expect("an answer"), "I cannot look.");
    assert_eq!(prompts(&records), 2);
    let again = calls(json!([count("a")]));
    let (records, answer) = pursued("", &[nowhere(), again]).await;
    assert_eq!(answer.expect_err("nothing is called").0, Code::UnknownTool);
    assert_eq!(stopped(&records).limit, Some(Limit::NoSuchTools));
    assert_eq!(judged(&records, "text.count").len(), 0);
    // A name that is nearly one is mended, and not given up.
    let near = calls(json!([{"tool": "text.cuont", "args": {"text": "a"}}]));
    let mended = calls(json!([count("a b")]));
    let done = json!({"when": "\"words\":2", "text": "Two."});
    let (_, answer) = pursued("", &[near, mended, done]).await;
    assert_eq!(answer.expect("an answer"), "Two.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_counts_what_was_before() {
    let wrong = |at: usize| json!({"tool": "text.count", "args": {"txt": at}});
    let replies = [
        calls(json!([wrong(0), wrong(1), wrong(2)])),
        calls(json!([{"tool": "text.diff", "args": {"old": "a", "new": "b"}}])),
        calls(json!([wrong(3)])),
        json!({"text": "Too late."}),
    ];
    let rig = Rig::of("ask = [\"text.diff\"]")
        .replies(&replies)
        .kept()
        .await;
    let rig = rig.open().await;
    let (run, asked) = rig.pursue("Go on.").await;
    assert_eq!(asked.expect_err("a question").code(), Code::Asked);
    let rig = rig.restart().await;
    rig.answer(lazaret::words::event::Answer::Deny).await;
    let error = rig.resume_agent(&run).await.expect_err("the fourth");
    assert!(error.message().starts_with("correction_limit"), "{error:?}");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
}

/// Pursues a goal in a run that is named beforehand.
fn goal(rig: &Rigged) -> Goal {
    Goal::new(rig.host.new_run(), Surface::Cli, "agent", "Go on.")
}

/// Accepts a request for each place; they are answered in this order, each once the one before has ended in the run's
/// records.
async fn answer_in_order(listener: &TcpListener, order: &[usize], (rig, run): (&Rigged, &RunId)) {
    let many = order.len();
    let mut watcher = rig.host.watch(run);
    let mut open: Vec<(String, TcpStream)> = Vec::new();
    while open.len() < many {
        let (mut stream, _) = listener.accept().await.expect("a request");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head"));
        }
        open.push((String::from_utf8_lossy(&head).into_owned(), stream));
    }
    open.sort_by(|one, other| one.0.cmp(&other.0));
    let mut open: Vec<Option<TcpStream>> =
        open.into_iter().map(|(_, stream)| Some(stream)).collect();
    for at in order {
        let mut stream = open[*at].take().expect("each is answered once");
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.expect("it listens");
        let mut ends = 0;
        // Of the request, and of the call that sent it.
        while ends < 2 {
            let sight = watcher.next().await;
            ends += usize::from(matches!(sight, Sight::Record(record)
                if matches!(record.event, Event::Finished(_))));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_begin_and_end_in_their_order_however_they_finish() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("a port").port();
    let policy = format!(
        "[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"http://127.0.0.1:{port}/\", private = true }}]\n\
         [flow]\nhold = \"never\""
    );
    let names = ["a", "b", "c", "d"];
    let fetch = |name: &&str| {
        let url = format!("http://127.0.0.1:{port}/{name}");
        json!({"id": name, "tool": "hostile.fetch_each", "args": {"urls": [url]}})
    };
    let reply = calls(names.iter().map(fetch).collect());
    let rig = Rig::of(&policy)
        .guest("hostile")
        .replies(&[reply, json!({"text": "Done."})]);
    let rig = rig.open().await;
    for order in orders(names.len()) {
        finished_in_order((&rig, &listener), &names, &order).await;
    }
}

/// All orders of so many things.
fn orders(many: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..many {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            let rest = (0..many)
                .filter(|at| !order.contains(at))
                .collect::<Vec<_>>();
            rest.into_iter()
                .map(move |at| [order.clone(), vec![at]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Calls that finish in this order begin in their own, and are told of in their own.
async fn finished_in_order(
    (rig, listener): (&Rigged, &TcpListener),
    names: &[&str],
    order: &[usize],
) {
    let goal = goal(rig);
    let run = goal.run.clone();
    let tasks = Tasks::new();
    let (answer, ()) = tokio::join!(
        rig.host.pursue(goal, &tasks),
        answer_in_order(listener, order, (rig, &run))
    );
    answer.expect("an answer");
    let records = rig.records(&run).await;
    let begun: Vec<(u64, String)> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Judged(judged) if judged.subject == "hostile.fetch_each" => {
                Some((record.seq, judged.place.to_string()))
            }
            _ => None,
        })
        .collect();
    let mut places: Vec<&String> = begun.iter().map(|(_, place)| place).collect();
    assert!(places.is_sorted(), "{places:?}");
    places.dedup();
    assert_eq!(places.len(), names.len());
    let finished: Vec<u64> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Finished(finished) if begun.iter().any(|(seq, _)| *seq == finished.of) => {
                Some(finished.of)
            }
            _ => None,
        })
        .collect();
    let expected: Vec<u64> = order.iter().map(|at| begun[*at].0).collect();
    assert_eq!(finished, expected, "{order:?}");
    let told: Vec<&str> = observed(&records).iter().map(|(call, _)| *call).collect();
    assert_eq!(told, names);
    // All begin before any ends, and all are told of after all have ended.
    let place = |word: &str, last: bool| {
        let mut of = records.iter().filter(|record| {
            record.event.word() == word
                && match &record.event {
                    Event::Judged(judged) => judged.subject == "hostile.fetch_each",
                    Event::Finished(finished) => begun.iter().any(|(seq, _)| *seq == finished.of),
                    _ => true,
                }
        });
        let found = if last { of.next_back() } else { of.next() };
        found.expect("one").seq
    };
    assert!(place("judged", true) < place("finished", false));
    assert!(place("finished", true) < place("observed", false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_may_make_all_its_calls_one_by_one() {
    let three = calls(json!([count("a"), count("b"), count("c")]));
    let (records, answer) = pursued("parallel = 1", &[three, json!({"text": "Done."})]).await;
    answer.expect("an answer");
    let mut open = 0_i32;
    for record in &records {
        open += match &record.event {
            Event::Judged(_) => 1,
            Event::Finished(_) => -1,
            _ => 0,
        };
        assert!((0..=1).contains(&open), "record {}", record.seq);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_has_its_own_time_and_the_run_goes_on() {
    let sleeps = calls(json!([{"tool": "hostile.sleep"}]));
    let after = json!({"when": "did not end within its", "text": "Too slow."});
    let (records, answer) = pursued("call_timeout_ms = 50", &[sleeps, after]).await;
    assert_eq!(answer.expect("an answer"), "Too slow.");
    let failed = records.iter().find_map(|record| match &record.event {
        Event::Observed { failed, .. } => *failed,
        _ => None,
    });
    assert_eq!(failed, Some(Code::TooSlow));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_time_is_over_ends_in_the_middle_of_its_step() {
    let policy = "[agents.agent]\nrun_timeout_ms = 5_000";
    let reply = calls(json!([{"tool": "hostile.sleep"}]));
    let rig = Rig::of(policy).guest("hostile").replies(&[reply]);
    let rig = rig.open().await;
    let goal = goal(&rig);
    let run = goal.run.clone();
    let mut watcher = rig.host.watch(&run);
    let clock = rig.clock.clone();
    let time = async {
        loop {
            let sight = watcher.next().await;
            if matches!(&sight, Sight::Record(record) if matches!(&record.event,
                Event::Judged(judged) if judged.subject == "hostile.sleep"))
            {
                break;
            }
        }
        clock.advance(std::time::Duration::from_secs(6));
    };
    let tasks = Tasks::new();
    let (answer, ()) = tokio::join!(rig.host.pursue(goal, &tasks), time);
    let error = answer.expect_err("no time is left");
    assert_eq!(error.code(), Code::TooSlow, "{error:?}");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    assert_eq!(stopped(&records).limit, Some(Limit::RunTimeout));
}

/// What stands in the records of a run, without which run it is and when.
fn bodies(records: &[Record]) -> Vec<String> {
    let body = |record: &Record| {
        let mut body = serde_json::to_value(&record.event).unwrap();
        for key in ["spent", "digest", "session"] {
            body.as_object_mut().unwrap().remove(key);
        }
        format!("{} <{} {body}", record.seq, record.parent)
    };
    records.iter().map(body).collect()
}

/// O-01 and R-01: the same script leads to the same events, alone or in a session, a hundred times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_script_leads_to_the_same_events() {
    let count = json!({"calls": [{"tool": "text.count", "args": {"text": "a b"}}, {"tool": "text.count", "args": {}}]});
    let rig =
        Rig::of("[agents.agent]\ntools = [\"text.*\"]").replies(&[count, json!({"text": "Two."})]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("an answer"), "Two.");
    let first = bodies(&rig.records(&run).await);
    assert!(first.len() > 8, "{first:#?}");
    for number in 1..100 {
        let (again, _) = match number % 2 {
            0 => rig.pursue("Count.").await,
            _ => rig.pursue_in_session(&format!("s{number}"), "Count.").await,
        };
        let records = rig.records(&again).await;
        let bodies = bodies(&records);
        assert_eq!(bodies, first, "run {number}");
        let all = bodies.concat();
        assert!(!all.contains(again.as_str()) && !all.contains(&format!("\"s{number}\"")));
    }
}
