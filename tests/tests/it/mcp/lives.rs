//! Lives of servers: how they start, what ends them, and that nothing of them is left. Row 111 of the attacks.

use lazaret::guests::dispatch::Outcome;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::{error, value};
use lazaret_tests::wait::comes;
use rustix::process::{Pid, test_kill_process};

use super::{ALLOWED, config, notes, rig};

/// What a server that cannot be used says of itself.
async fn refused(manner: &str, limits: &str) -> String {
    let rig = Rig::of("").kept().await;
    let good = format!("{}\n{ALLOWED}", config("good", ""));
    // It was another's when it was read: its file says how it behaves by now.
    let rig = rig.policy(&good).trusting("mail").await;
    let rig = rig.policy(&format!("{}\n{ALLOWED}", config(manner, limits)));
    lend(&rig, "mail");
    let rig = rig.open().await;
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    error(&called.outcome).message().to_owned()
}

/// The one pin that there is counts for the server of this name as it is configured by now.
pub(super) fn lend(rig: &Rig, server: &str) {
    let (identity, pins) = (rig.identity(server), rig.path("state/servers"));
    let entries = std::fs::read_dir(&pins).unwrap();
    let mut files = entries.map(|entry| entry.unwrap().path());
    let pin = files.find(|path| path.extension().is_some_and(|end| end == "json"));
    let text = std::fs::read_to_string(pin.unwrap()).unwrap();
    let mut pin: Value = serde_json::from_str(&text).unwrap();
    pin["identity"] = identity.clone().into();
    std::fs::write(pins.join(format!("{identity}.json")), pin.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_used_says_why() {
    for (manner, limit, says) in [
        (
            "garbage",
            "",
            "what is no message on its standard output: Starting the server",
        ),
        ("doubled", "", "(a key comes twice in one object"),
        ("dies", "", "last wrote: out of cheese"),
        ("silent", "start_timeout_ms = 500", "did not end within"),
        ("huge", "", "`message_bytes`"),
    ] {
        let limits = format!("[mcp.mail.limits]\nrestarts = 0\n{limit}");
        let said = refused(manner, &limits).await;
        assert!(said.contains(says), "{manner}: {said}");
    }
}

/// A list without an end is read no further than its bound, and offers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_an_end_is_not_read_for_ever() {
    let said = refused("endless", "").await;
    assert!(said.contains("its list has more than 64 pages"), "{said}");
}

/// A script that `command` names is a part of the server: with another one there it is not even started, until a person
/// has trusted it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_not_started_with_another_script_than_was_read() {
    let rig = Rig::of("").kept().await;
    let notes_file = rig.path("notes");
    let script = |more: &str| {
        format!(
            "{more}exec {:?} good {:?}\n",
            env!("CARGO_BIN_EXE_stranger"),
            notes_file
        )
    };
    let rig = rig.file("bin/server.sh", &script(""));
    let path = rig.path("bin/server.sh");
    let policy = format!("[mcp.mail]\ncommand = [\"sh\", {path:?}]\n{ALLOWED}");
    let rig = rig.policy(&policy).trusting("mail").await.open().await;
    let call = async |rig: &Rigged| {
        let called = rig.call("mail.echo", json!({"text": "a"})).await;
        called.outcome.result.map_err(|error| error.to_string())
    };
    let began = || notes(rig.folder()).matches("started").count();
    assert_eq!(began(), 1);
    std::fs::write(&path, script("echo evil >&2\n")).unwrap();
    let refused = call(&rig).await.unwrap_err();
    assert!(
        refused.contains("is not what it was when you trusted it"),
        "{refused}"
    );
    assert_eq!(began(), 1, "nothing was started");
    // As it was it is what was read.
    std::fs::write(&path, script("")).unwrap();
    assert_eq!(call(&rig).await, Ok(json!("a")));
    assert_eq!(began(), 2);
    rig.host.end_servers().await;
    // One that was read again is trusted as it is now.
    std::fs::write(&path, script("# later\n")).unwrap();
    let rig = rig.close().trusting("mail").await.open().await;
    assert_eq!(call(&rig).await, Ok(json!("a")));
    rig.host.end_servers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_in_a_call_is_started_again_and_not_for_ever() {
    let rig = rig("good", "[mcp.mail.limits]\nrestarts = 2")
        .await
        .open()
        .await;
    let died = async || {
        error(&rig.call("mail.die", json!({})).await.outcome)
            .message()
            .to_owned()
    };
    for _ in 0..3 {
        let said = died().await;
        assert!(
            said.contains("went away") && said.contains("exit status: 7"),
            "{said}"
        );
    }
    let called = rig.call("mail.echo", json!({"text": "a"})).await;
    let failed = error(&called.outcome);
    assert_eq!(failed.code(), Code::FetchFailed);
    assert!(
        failed.is_retryable() && failed.message().contains("started again 2 times"),
        "{failed}"
    );
    // Once to read what it says, once at first, and twice again.
    assert_eq!(notes(rig.folder()).matches("started").count(), 4);
}

/// A call that may have happened is not made again by itself; one that only looks may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_may_have_happened_is_not_repeated() {
    let looks = "[mcp.mail.tools.hang]\neffect = \"read-only\"\n[mcp.mail.limits]\nrestarts = 9";
    let rig = rig("good", looks).await.open().await;
    let died = rig.call("mail.die", json!({})).await;
    assert!(!error(&died.outcome).is_retryable());
    assert_eq!(notes(rig.folder()).matches("called die").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_in_the_middle_ends_the_server() {
    let rig = rig("good", "").await.open().await;
    let called = rig.call("mail.garble", json!({})).await;
    let said = error(&called.outcome).message();
    assert!(said.contains("what is no message"), "{said}");
    assert_eq!(
        value(&rig.call("mail.echo", json!({"text": "a"})).await.outcome),
        &json!("a")
    );
}

/// Whoever gives up a call tells the server, which goes on living.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_takes_too_long_is_cancelled_there() {
    let rig = rig("good", "[mcp.mail.tools.hang]\ntimeout_ms = 1500")
        .await
        .open()
        .await;
    let echoes = async || {
        let called = rig.call("mail.echo", json!({"text": "a"})).await;
        assert_eq!(value(&called.outcome), &json!("a"));
    };
    // It is up before the call that is too slow: its start counts as time of the call that starts it.
    echoes().await;
    let called = rig.call("mail.hang", json!({})).await;
    is_not_answered(&called.outcome);
    // It is told beside whatever is asked of it next.
    until(|| notes(rig.folder()).contains("cancelled")).await;
    echoes().await;
    let noted = notes(rig.folder());
    assert!(noted.contains("called hang\ncancelled\n"), "{noted}");
    assert_eq!(noted.matches("started").count(), 2);
}

/// A run that is given up does not wait for the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_cancelled_leaves_the_server_behind() {
    let rig = rig("good", "").await.open().await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let call = rig.call_in(run, &tasks, ("mail.hang", "{}"));
    let cancel = async {
        until(|| notes(rig.folder()).contains("called hang")).await;
        tasks.cancel();
    };
    let (called, ()) = tokio::join!(call, cancel);
    assert_eq!(error(&called.outcome).code(), Code::Cancelled);
    until(|| notes(rig.folder()).contains("cancelled")).await;
}

/// One that reads no further is no reason to wait longer than the call may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_reads_holds_nobody_up() {
    let rig = rig(
        "good",
        "[mcp.mail.tools.echo]\ncontent = [\"text\"]\ntimeout_ms = 1000\n[mcp.mail.tools.deafen]\ntimeout_ms = 1000\n\
         [mcp.mail.limits]\nstop_ms = 100",
    )
    .await
    .open()
    .await;
    // Its start takes as long as it takes.
    let added = rig.call("mail.add", json!({"a": 1, "b": 1})).await;
    assert_eq!(value(&added.outcome), &json!({"sum": 2}));
    let called = rig.call("mail.deafen", json!({})).await;
    is_not_answered(&called.outcome);
    until(|| notes(rig.folder()).contains("called deafen")).await;
    // More than a pipe holds: to write it would wait for ever.
    let long = "x".repeat(60_000);
    for _ in 0..3 {
        let called = rig.call("mail.echo", json!({"text": long})).await;
        is_not_answered(&called.outcome);
    }
    rig.host.end_servers().await;
}

/// Whatever it has started, and however deaf it is to being told: when it is ended, all of its group is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_server_is_left() {
    let stubborn = "[mcp.mail.limits]\nstop_ms = 200";
    let rig = Rig::of("").kept().await;
    let notes_file = rig.path("notes").display().to_string();
    let shell = format!(
        "[mcp.mail]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; exec \\\"$0\\\" \\\"$@\\\"\", {:?}, \"forks\", {notes_file:?}]\ndata = [{notes_file:?}]\n{stubborn}\n{ALLOWED}",
        env!("CARGO_BIN_EXE_stranger")
    );
    let rig = rig.policy(&shell).trusting("mail").await.open().await;
    let called = rig.call("mail.self", json!({})).await;
    let server = value(&called.outcome)["pid"].as_i64().unwrap();
    let children: Vec<i64> = notes(rig.folder())
        .lines()
        .filter_map(|line| line.strip_prefix("child ")?.parse().ok())
        .collect();
    assert_eq!(children.len(), 2, "one of each start");
    assert!(is_there(server) && is_there(children[1]));
    rig.host.end_servers().await;
    for pid in children.into_iter().chain([server]) {
        until(|| !is_there(pid)).await;
    }
}

/// The same when the host is simply dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_goes_away_takes_its_servers_along() {
    let rig = rig("forks", "[mcp.mail.limits]\nstop_ms = 100")
        .await
        .open()
        .await;
    let called = rig.call("mail.self", json!({})).await;
    let server = value(&called.outcome)["pid"].as_i64().unwrap();
    let rig = rig.close();
    until(|| !is_there(server)).await;
    drop(rig);
}

fn is_there(pid: i64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // A zombie whose parent is somebody else's is over.
    let state =
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let over = state
        .rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('Z'));
    test_kill_process(pid).is_ok() && !over
}

/// The server, which is up, took too long.
fn is_not_answered(outcome: &Outcome) {
    let failed = error(outcome);
    assert_eq!(failed.code(), Code::TooSlow);
    assert!(
        failed.message().contains("did not answer in time"),
        "{failed}"
    );
}

/// Waits until something is so; not for ever.
async fn until(is_so: impl Fn() -> bool) {
    assert!(comes(async || is_so()).await, "it is not so");
}
