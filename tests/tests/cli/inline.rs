//! A question at a terminal: asked there, answered there, and the run goes on in the same process.

use std::ffi::CStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::station::Station;

const POLICY: &str = r#"
ask = ["files.write"]
[mounts.here]
path = "."
access = "write"
[grants."files.write"]
mounts = { here = "write" }
"#;

const CALL: [&str; 3] = [
    "call",
    "files.write",
    r#"{"path":"here/a.txt","content":"one"}"#,
];

/// Both ends of a pseudo terminal: ours, and the program's. A process that another test starts at this moment gets
/// neither: who has the program's end keeps the terminal open.
pub(crate) fn terminal() -> (File, OwnedFd) {
    // Files are opened so that no child inherits them; `openpty` has no word for that.
    let open = |path: &str| {
        let mut options = File::options();
        let options = options.read(true).write(true);
        options.custom_flags(libc::O_NOCTTY).open(path).unwrap()
    };
    let ours = open("/dev/ptmx");
    let mut name = [0; 64];
    // SAFETY: the file is open, and the place for its name is as long as is said.
    let is_named = unsafe {
        libc::unlockpt(ours.as_raw_fd()) == 0
            && libc::ptsname_r(ours.as_raw_fd(), name.as_mut_ptr(), name.len()) == 0
    };
    assert!(is_named, "a pseudo terminal has another end");
    let name = name.map(|byte| byte.to_ne_bytes()[0]);
    let name = CStr::from_bytes_until_nul(&name).unwrap();
    let theirs = open(name.to_str().unwrap());
    (ours, theirs.into())
}

/// How a command ended that was answered at a terminal: status, output, and what the terminal showed.
pub(crate) fn at_terminal(
    station: &Station,
    arguments: &[&str],
    answers: &[&str],
) -> (i32, String, String) {
    typed_at_terminal(station, arguments, ("", LEAVE, answers), || {})
}

/// The end of the prompt of a question.
const LEAVE: &str = "q (leave it) > ";

/// The same, with an answer for each field of a form.
pub(crate) fn filled_at_terminal(
    station: &Station,
    arguments: &[&str],
    answers: &[&str],
) -> (i32, String, String) {
    typed_at_terminal(station, arguments, ("", " > ", answers), || {})
}

/// The same, where something was typed before the command began, and something happens before the first answer.
fn typed_at_terminal(
    station: &Station,
    arguments: &[&str],
    typed: (&str, &str, &[&str]),
    meanwhile: impl FnMut(),
) -> (i32, String, String) {
    typed_at(terminal(), station, arguments, typed, meanwhile)
}

/// A pseudo terminal of so many columns.
fn terminal_of(columns: u16) -> (File, OwnedFd) {
    let (ours, theirs) = terminal();
    let size = libc::winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the file is open, and the size is one.
    let is_set = unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) == 0 };
    assert!(is_set, "a pseudo terminal has a size");
    (ours, theirs)
}

fn typed_at(
    (mut ours, theirs): (File, OwnedFd),
    station: &Station,
    arguments: &[&str],
    (ahead, prompt, answers): (&str, &str, &[&str]),
    mut meanwhile: impl FnMut(),
) -> (i32, String, String) {
    ours.write_all(ahead.as_bytes()).unwrap();
    let mut command = station.command(arguments);
    command.env("NO_COLOR", "1").env("TERM", "dumb");
    command.stdin(Stdio::from(theirs.try_clone().unwrap()));
    command.stdout(Stdio::piped()).stderr(Stdio::from(theirs));
    let mut child = station.spawn(&mut command);
    // The program alone holds the other end now: when it ends, so does what we read.
    drop(command);
    let mut screen = BufReader::new(ours.try_clone().unwrap());
    let mut shown = Vec::new();
    for answer in answers {
        // Up to the prompt, which is no whole line.
        while !shown.ends_with(prompt.as_bytes()) {
            let before = shown.len();
            if screen.read_until(b' ', &mut shown).unwrap_or(0) == 0 || shown.len() == before {
                break;
            }
        }
        meanwhile();
        writeln!(ours, "{answer}").unwrap();
        shown.push(b'\n');
    }
    // The end of a terminal is an error to whoever reads it.
    let _ = screen.read_to_end(&mut shown);
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let status = child.wait().unwrap().code().unwrap_or(-1);
    (
        status,
        out,
        String::from_utf8_lossy(&shown).replace("\r\n", "\n"),
    )
}

fn content(station: &Station) -> Option<String> {
    std::fs::read_to_string(station.workspace().join("a.txt")).ok()
}

#[test]
fn a_yes_goes_on_in_the_same_process() {
    let station = Station::with(POLICY);
    let (status, out, shown) = at_terminal(&station, &CALL, &["what?", "show", "y"]);
    assert_eq!(status, 0, "{out} {shown}");
    assert_eq!(content(&station).as_deref(), Some("one"), "{shown}");
    for part in [
        "? may `files.write` be called? (asked by `ask = [\"files.write\"]` in ",
        "path = here/a.txt",
        "the tool is side-effecting, risk ",
        "\"path\": \"here/a.txt\"",
        "so that it is not asked again, write in `lazaret.toml`:",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("lazaret runs resume"), "{shown}");
}

/// A terminal begins the rest of a long line at its edge, where it would pass for a line of ours.
#[test]
fn no_row_of_a_question_begins_without_a_mark() {
    let station = Station::with(POLICY);
    let path = format!("here/{}.txt", "x".repeat(100));
    let args = json!({"path": path, "content": "one"}).to_string();
    let call = ["call", "files.write", &args];
    let typed = ("", LEAVE, &["n"][..]);
    let (status, _, shown) = typed_at(terminal_of(60), &station, &call, typed, || {});
    assert_eq!(status, 3, "{shown}");
    let (_, question) = shown.split_once("? may ").unwrap();
    let (question, _) = question.split_once("y / n").unwrap();
    for row in question.lines() {
        assert!(row.chars().count() <= 60, "{row}: {shown}");
    }
    assert!(question.contains("\n  | xxx"), "{shown}");
    assert!(question.replace("\n  | ", "").contains(&path), "{shown}");
}

#[test]
fn what_was_typed_before_a_question_was_shown_answers_nothing() {
    let station = Station::with(POLICY);
    let (status, _, shown) = typed_at_terminal(&station, &CALL, ("y\ny\n", LEAVE, &["n"]), || {});
    assert_eq!(status, 3, "{shown}");
    assert_eq!(content(&station), None);
}

#[test]
fn who_answers_after_somebody_else_goes_on_with_what_was_said_first() {
    let station = Station::with(POLICY);
    let elsewhere = || {
        let asked = station.run(&["ask", "list", "--json"]).listed();
        let question = asked[0]["question"].as_str().unwrap();
        station.run(&["ask", "deny", question]).ends(0);
    };
    let (status, _, shown) = typed_at_terminal(&station, &CALL, ("", LEAVE, &["y"]), elsewhere);
    assert_eq!(status, 3, "{shown}");
    assert!(shown.contains("was answered already"), "{shown}");
    assert_eq!(content(&station), None);
}

#[test]
fn a_no_is_told_to_the_tools_caller() {
    let station = Station::with(POLICY);
    let (status, _, shown) = at_terminal(&station, &CALL, &["n"]);
    assert_eq!(status, 3, "{shown}");
    assert!(shown.contains("and said no"), "{shown}");
    assert_eq!(content(&station), None);
}

#[test]
fn a_run_that_is_left_at_the_prompt_waits() {
    let station = Station::with(POLICY);
    let (status, _, shown) = at_terminal(&station, &CALL, &["q"]);
    assert_eq!(status, 75, "{shown}");
    assert!(shown.contains("lazaret runs resume"), "{shown}");
    let (status, _, shown) = at_terminal(&station, &["runs", "resume"], &["yes"]);
    assert_eq!(status, 0, "{shown}");
    assert_eq!(content(&station).as_deref(), Some("one"));
}

#[test]
fn a_script_asks_one_question_after_the_other() {
    let station = Station::with(POLICY);
    let source = "await Promise.all(['a', 'b'].map(n => \
        tools.files.write({path: `here/${n}.txt`, content: n}))); return 'both'";
    let (status, out, shown) = at_terminal(&station, &["script", "-e", source], &["y", "y"]);
    assert_eq!((status, out.trim()), (0, "both"), "{shown}");
    assert_eq!(shown.matches("? may `files.write`").count(), 2, "{shown}");
}

#[test]
fn whoever_does_not_want_to_be_asked_is_not() {
    let station = Station::with(POLICY);
    for flag in ["--no-ask", "--json", "--quiet"] {
        let (status, _, shown) = at_terminal(&station, &[&CALL[..], &[flag]].concat(), &[]);
        assert_eq!(status, 75, "{shown}");
        assert!(!shown.contains("(leave it)"), "{flag}: {shown}");
    }
    // Without a terminal nobody is there.
    station.run(&CALL).ends(75).never("(leave it)");
}
