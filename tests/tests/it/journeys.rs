//! A law of labels over paths: whatever way a value goes, step by step, whoever reads what has come of it is under the
//! influence of where it began. The ways are made at random, and always the same ones;
//! `make journeys` goes others.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use lazaret::runs::brought::{Chosen, held_in};
use lazaret::runs::left::Program;
use lazaret::runs::session::{Joining, Session};
use lazaret::words::event::{Answer as Say, Event, Surface};
use lazaret::words::id::RunId;
use lazaret::words::label::{Label, Sort, Source};
use lazaret::words::session::LOCAL;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::page::{page, url, web};

const WAYS: u32 = 16;
const SEED: u64 = 41;
const STEPS_OF_A_WAY: usize = 6;

/// Letters and pages, which others write; documents and notes of one's own.
fn policy(server: &Server, notes: &Path) -> String {
    let notes = notes.display();
    format!(
        "ask = [\"text.count\"]
        confirmed = [\"files.remove\", \"notes.delete\"]
        [flow]
        mode = \"enforce\"
        hold = \"untrusted\"
        bits = 0
        release = [\"mail.echo\"]
        [compaction]
        keep_turns = 1
        min_turns = 1
        [mounts.inbox]
        path = \"inbox\"
        [mounts.docs]
        path = \"docs\"
        access = \"write\"
        own = true
        [grants.\"files.*\"]
        mounts = {{ inbox = \"read\", docs = \"write\" }}
        [grants.\"files.remove\"]
        mounts = {{ docs = \"write\" }}
        [grants.\"notes.*\"]
        notes = \"write\"
        [grants.\"notes.delete\"]
        notes = \"write\"
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"{}\", private = true }}]
        [grants.\"hostile.file_each\"]
        mounts = {{ inbox = \"read\", docs = \"write\" }}
        [grants.\"disk.each\"]
        mounts = {{ inbox = \"read\", docs = \"write\" }}
        wasi_files = true
        [grants.\"hostile.call_each\"]
        calls = [\"*\"]
        [mcp.mail]
        command = [{:?}, \"good\", \"{notes}\"]
        data = [\"{notes}\"]
        [grants.\"mail.echo\"]
        [flow.tools.\"mail.echo\"]
        content = [\"text\"]",
        url(server, "/"),
        env!("CARGO_BIN_EXE_stranger"),
    )
}

/// How a value goes on from where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A script reads it, and writes something of its own.
    Written,
    /// A script reads it, and adds to a file that was clean.
    Appended,
    /// Somebody who knows nothing adds to the file where it lies.
    Outgrown,
    Moved,
    /// A script reads it, and takes something away; whether that is there decides what somebody writes who knows nothing.
    Removed,
    /// A script reads it, and makes a file; whether there can be one below that decides what somebody writes who knows nothing.
    Probed,
    Noted,
    Field,
    Joined,
    Template,
    Slice,
    Isolated,
    /// A guest reads it, and writes something of its own.
    InAGuest,
    /// A guest has another tool read it, and says what that said.
    InnerCall,
    /// What is said of a call that it does not fit, where no bits are left to pay for that.
    FailureText,
    /// A guest that knows files from its standard library alone reads it, and writes something of its own.
    InALibrary,
    /// A run of a session reads it; a later one writes.
    Session,
    /// A run of a session reads it; a later one is told a summary of that, and writes.
    Compacted,
    /// Another run begins with it.
    Brought,
    /// A copy is made of the run that held it, and another run begins with what the copy holds.
    Copied,
    /// A user attaches it to a goal, and whoever looks at it writes something of their own.
    Attached,
    /// A server that the host knows nothing of is told it, and says it again.
    Echoed,
    /// Another host takes in the run that held it, and begins a run with it.
    Imported,
    /// The host ends, and another one begins.
    Restarted,
    /// A script reads it, is left with a question, goes on in another host, and then writes.
    Resumed,
}

const STEPS: [Step; 25] = [
    Step::Written,
    Step::Appended,
    Step::Outgrown,
    Step::Moved,
    Step::Removed,
    Step::Probed,
    Step::Noted,
    Step::Field,
    Step::Joined,
    Step::Template,
    Step::Slice,
    Step::Isolated,
    Step::InAGuest,
    Step::InnerCall,
    Step::FailureText,
    Step::InALibrary,
    Step::Session,
    Step::Compacted,
    Step::Brought,
    Step::Copied,
    Step::Attached,
    Step::Echoed,
    Step::Imported,
    Step::Restarted,
    Step::Resumed,
];

/// Where a value lies.
#[derive(Clone, Debug)]
enum Place {
    File(String),
    Note(String),
}

impl Place {
    fn tool(&self) -> &'static str {
        match self {
            Self::File(_) => "files.read",
            Self::Note(_) => "notes.get",
        }
    }

    fn args(&self) -> Value {
        match self {
            Self::File(path) => json!({ "path": path }),
            Self::Note(key) => json!({ "key": key }),
        }
    }

    fn pointer(&self) -> &'static str {
        match self {
            Self::File(_) => "/content",
            Self::Note(_) => "/text",
        }
    }

    /// A script that holds it as `it`, and its words as `words`.
    fn held(&self, then: &str) -> String {
        format!(
            "const it = await tools.{}({});
            const words = await tools.handle.field({{value: it, pointer: '{}'}});
            {then}
            return 'done'",
            self.tool(),
            self.args(),
            self.pointer()
        )
    }
}

/// A host, and where the value has come so far.
struct Way {
    rig: Rigged,
    place: Place,
    /// What it began with.
    source: Label,
    /// How many names were given.
    names: usize,
}

impl Way {
    async fn begun(server: &Server, at_a_page: bool) -> Self {
        let rig = Rig::of("").kept().await;
        let notes = rig.path("notes");
        let rig = rig
            .policy(&policy(server, &notes))
            .guest("hostile")
            .guest("disk")
            .file("inbox/letter.txt", "Dear reader")
            .file("docs/clean.txt", "clean")
            .replies(&[]);
        let mut way = Self {
            rig: rig.trusting("mail").await.open().await,
            place: Place::File("inbox/letter.txt".to_owned()),
            source: Label::of(Source::new(Sort::File, "inbox")),
            names: 0,
        };
        if at_a_page {
            let (get, to) = (url(server, "/page"), way.file());
            let source = format!(
                "const page = await tools.web.get_page({{url: '{get}'}});
                const text = await tools.handle.field({{value: page, pointer: '/markdown'}});
                await tools.files.write({{path: '{to}', content: text}})"
            );
            way.run(&source).await;
            (way.place, way.source) = (Place::File(to), web(server));
        }
        way
    }

    /// A file that is not there yet.
    fn file(&mut self) -> String {
        self.names += 1;
        format!("docs/f{}.txt", self.names)
    }

    /// Runs a person's own script; it must succeed.
    async fn run(&self, source: &str) -> RunId {
        let called = Box::pin(self.rig.script(source)).await;
        let _ = rig::value(&called.outcome);
        called.run
    }

    /// A script that reads the value and writes this, which is JavaScript, to a new file.
    async fn write(&mut self, made: &str) {
        let to = self.file();
        let then = format!("await tools.files.write({{path: '{to}', content: {made}}});");
        self.run(&self.place.held(&then)).await;
        self.place = Place::File(to);
    }

    /// With an agent that answers so from now on.
    async fn replying(self, replies: &[Value]) -> Self {
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        let rig = self.rig.close().file("replies.jsonl", &lines.join("\n"));
        Self {
            rig: rig.open().await,
            ..self
        }
    }

    async fn take(mut self, step: Step) -> Self {
        match (step, self.place.clone()) {
            (Step::Written, _) => {
                self.write("(await reveal(words)).length > 3 ? 'a' : 'b'")
                    .await;
            }
            (Step::Field, _) => self.write("words").await,
            (Step::Joined, _) => {
                self.write("await tools.handle.join({values: ['a', words]})")
                    .await;
            }
            (Step::Template, _) => {
                let made = "await tools.handle.template({template: '{x}', values: {x: words}})";
                self.write(made).await;
            }
            (Step::Slice, _) => {
                self.write("await tools.handle.slice({value: words, unit: 'chars', to: 2})")
                    .await;
            }
            (Step::Isolated, _) => self.write("await isolate(x => typeof x, words)").await,
            (Step::FailureText, _) => {
                let made =
                    "await tools.text.count({text: it}).then(() => 'fits', error => error.message)";
                self.write(made).await;
            }
            (Step::Appended, _) => self.appended().await,
            (Step::Removed, place) => Box::pin(self.removed(&place)).await,
            (Step::Probed, _) => Box::pin(self.probed()).await,
            (Step::Outgrown, Place::File(path)) => self.outgrown(path).await,
            (Step::Moved, Place::File(path)) => self.moved(&path).await,
            (Step::Attached, Place::File(path)) => return self.attached(path).await,
            (Step::Noted | Step::Outgrown | Step::Moved | Step::Attached, _) => {
                self.noted().await;
            }
            (Step::Echoed, _) => self.write("await tools.mail.echo({text: words})").await,
            (Step::InAGuest, place) => self.in_a_guest(place, "hostile.file_each").await,
            (Step::InALibrary, place) => self.in_a_guest(place, "disk.each").await,
            (Step::InnerCall, place) => self.inner_call(&place).await,
            (Step::Session, _) => return self.in_a_session(false).await,
            (Step::Compacted, _) => return self.in_a_session(true).await,
            (Step::Brought, _) => return self.brought().await,
            (Step::Copied, _) => return self.copied().await,
            (Step::Imported, _) => return self.imported().await,
            (Step::Restarted, _) => self.rig = self.rig.restart().await,
            (Step::Resumed, _) => return self.resumed().await,
        }
        self
    }

    async fn appended(&mut self) {
        let to = self.file();
        self.run(&format!(
            "await tools.files.write({{path: '{to}', content: 'clean'}})"
        ))
        .await;
        let then = format!(
            "if ((await reveal(words)).length > 3)
                await tools.files.write({{path: '{to}', content: 'x', mode: 'append'}});
            else await tools.files.write({{path: '{to}', content: 'y', mode: 'append'}});"
        );
        self.run(&self.place.held(&then)).await;
        self.place = Place::File(to);
    }

    /// What lies in a mount that is only read is copied, in place of being changed.
    async fn outgrown(&mut self, path: String) {
        if path.starts_with("inbox") {
            return self.write("words").await;
        }
        let write =
            format!("await tools.files.write({{path: '{path}', content: 'z', mode: 'append'}})");
        self.run(&write).await;
    }

    async fn moved(&mut self, path: &str) {
        if path.starts_with("inbox") {
            return self.write("words").await;
        }
        let to = self.file();
        self.run(&format!(
            "await tools.files.move({{source: '{path}', target: '{to}'}})"
        ))
        .await;
        self.place = Place::File(to);
    }

    /// Of the kind that it lies in itself.
    async fn removed(&mut self, place: &Place) {
        let (gone, to) = (self.file(), self.file());
        let (put, remove, look) = match place {
            Place::File(_) => (
                format!("files.write({{path: '{gone}', content: 'clean'}})"),
                format!("files.remove({{path: '{gone}'}})"),
                format!("files.stat({{path: '{gone}'}})"),
            ),
            Place::Note(_) => (
                format!("notes.put({{key: '{gone}', text: 'clean'}})"),
                format!("notes.delete({{key: '{gone}'}})"),
                format!("notes.get({{key: '{gone}'}})"),
            ),
        };
        self.run(&format!("await tools.{put}")).await;
        let then = format!("await reveal(words); await tools.{remove};");
        self.run(&place.held(&then)).await;
        self.run(&format!(
            "const seen = await tools.{look}.then(() => 'there', () => 'gone');
            await tools.files.write({{path: '{to}', content: seen}})"
        ))
        .await;
        self.place = Place::File(to);
    }

    async fn probed(&mut self) {
        let (made, to) = (self.file(), self.file());
        let make = format!("tools.files.write({{path: '{made}', content: 'x'}})");
        let then = format!("await reveal(words); await {make};");
        self.run(&self.place.held(&then)).await;
        self.run(&format!(
            "const seen = await tools.files.write({{path: '{made}/below', content: 'clean'}})
                .then(() => 'free', () => 'taken');
            await tools.files.write({{path: '{to}', content: seen}})"
        ))
        .await;
        self.place = Place::File(to);
    }

    async fn noted(&mut self) {
        self.names += 1;
        let key = format!("n{}", self.names);
        let then = format!("await tools.notes.put({{key: '{key}', text: words}});");
        self.run(&self.place.held(&then)).await;
        self.place = Place::Note(key);
    }

    async fn in_a_guest(&mut self, place: Place, tool: &str) {
        let Place::File(from) = place else {
            return self.noted().await;
        };
        let to = self.file();
        let wishes = json!([
            {"op": "read", "path": from},
            {"op": "write", "path": to, "with": "of my own"},
        ]);
        let called = self.rig.call(tool, json!({ "wishes": wishes })).await;
        let said = rig::value(&called.outcome).to_string().to_lowercase();
        assert!(!said.contains("denied"), "{said}");
        self.place = Place::File(to);
    }

    async fn inner_call(&mut self, place: &Place) {
        let to = self.file();
        let args = json!({"tools": [place.tool()], "args": place.args()});
        let source = format!(
            "const said = await tools.hostile.call_each({args});
            const text = await tools.handle.join({{values: [said]}});
            const whole = await tools.handle.template({{template: '{{x}}', values: {{x: text}}}});
            await tools.files.write({{path: '{to}', content: whole}});"
        );
        self.run(&source).await;
        self.place = Place::File(to);
    }

    /// Replies of an agent that takes the value as `h1`, and its words as `h2`.
    fn taking(&self) -> [Value; 2] {
        let field = json!({"value": {"$handle": "h1"}, "pointer": self.place.pointer()});
        [
            json!({"calls": [{"tool": self.place.tool(), "args": self.place.args()}]}),
            json!({"calls": [{"tool": "handle.field", "args": field}]}),
        ]
    }

    async fn in_a_session(mut self, compact: bool) -> Self {
        let to = self.file();
        let name = format!("s{}", self.names);
        let [read, _] = self.taking();
        let look = json!({"value": {"$handle": "h1"}});
        let look = json!({"calls": [{"tool": "handle.read", "args": look}]});
        let write = json!({"path": to, "content": "of my own"});
        let write = json!({"calls": [{"tool": "files.write", "args": write}]});
        // Turns are counted through a session.
        let (read_it, done) = (json!({"text": "I have read it."}), json!({"text": "Done."}));
        let mut way = self.replying(&[read, look, read_it, write, done]).await;
        let (_, read) = way.rig.pursue_in_session(&name, "Read it.").await;
        read.expect("it is read");
        let goal = format!("Write {to}, please.");
        let joining = Joining {
            session: Session::of(LOCAL, &name).expect("a name"),
            queue: false,
            compact,
        };
        let (run, written) = way.rig.join(&joining, &goal).await;
        written.expect("it is written");
        let words = way.rig.words(&run).await;
        assert_eq!(words.contains(&"compacted"), compact, "{words:?}");
        way.place = Place::File(to);
        way
    }

    /// A run of an agent that holds the words as `h2`.
    async fn held(self) -> (Self, RunId) {
        let [read, field] = self.taking();
        let way = self
            .replying(&[read, field, json!({"text": "Done."})])
            .await;
        let (run, answer) = way.rig.pursue("Take it.").await;
        answer.expect("it is held");
        (way, run)
    }

    async fn brought(self) -> Self {
        let (mut way, run) = self.held().await;
        let to = way.file();
        begun_with(&way.rig, &run, &to).await;
        way.place = Place::File(to);
        way
    }

    async fn copied(self) -> Self {
        let (mut way, run) = self.held().await;
        // What it holds came by two turns.
        let copy = way.rig.host.fork(&run, 2).await.expect("a copy");
        let to = way.file();
        begun_with(&way.rig, &copy, &to).await;
        way.place = Place::File(to);
        way
    }

    async fn attached(mut self, path: String) -> Self {
        let to = self.file();
        let write = json!({"path": to, "content": "of my own"});
        let write = json!({"calls": [{"tool": "files.write", "args": write}]});
        let mut way = self.replying(&[write, json!({"text": "Done."})]).await;
        let goal = format!("Write {to}, please.");
        let (_, written) = way.rig.pursue_beginning(&goal, (&[], &[path])).await;
        written.expect("it is written");
        way.place = Place::File(to);
        way
    }

    /// Only the run goes to the other host: what lies here goes on.
    async fn imported(self) -> Self {
        let (way, run) = self.held().await;
        let exported = way.rig.close();
        let text = exported
            .audit()
            .export(&run, false)
            .await
            .expect("it is exported");
        let other = Rig::of("").kept().await.open().await.close();
        let found = other.audit().import(text.as_bytes()).await;
        assert_eq!(found.expect("it is taken in").run, run);
        let other = other.policy(
            "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\nown = true\n[grants.\"files.*\"]\nmounts = { docs = \"write\" }",
        );
        let other = other.open().await;
        let held = held_in(&other.records(&run).await);
        assert!(held.iter().any(|one| one.name == "h2"), "{held:?}");
        for one in held {
            assert!(one.label.covers(&way.source), "{one:?}");
        }
        begun_with(&other, &run, "docs/there.txt").await;
        let read = other
            .call("files.read", json!({"path": "docs/there.txt"}))
            .await;
        let label = read.outcome.label;
        assert!(label.covers(&way.source), "elsewhere: {label}");
        Self {
            rig: exported.open().await,
            ..way
        }
    }

    async fn resumed(mut self) -> Self {
        let to = self.file();
        let then = format!(
            "const length = (await reveal(words)).length;
            await tools.text.count({{text: 'a'}});
            await tools.files.write({{path: '{to}', content: length > 3 ? 'a' : 'b'}});"
        );
        let called = self.rig.script(&self.place.held(&then)).await;
        assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
        let rig = self.rig.restart().await;
        rig.answer(Say::Allow).await;
        let rig = rig.restart().await;
        let done = rig.resume(&called.run).await.expect("it goes on");
        assert!(done.outcome.label.covers(&self.source));
        Self {
            rig,
            place: Place::File(to),
            ..self
        }
    }

    /// What somebody is under the influence of who reads this now.
    async fn read(&self, place: &Place) -> Label {
        let called = self.rig.call(place.tool(), place.args()).await;
        let _ = rig::value(&called.outcome);
        // What is on record says the same as whoever called was told.
        let records = self.rig.records(&called.run).await;
        let ends = records.iter().filter_map(|record| match &record.event {
            Event::Finished(finished) => Some(&finished.label),
            _ => None,
        });
        let kept = ends.fold(Label::default(), |all, label| all.join(label));
        assert!(kept.covers(&called.outcome.label), "{kept}");
        called.outcome.label
    }
}

/// A script that begins with what a run held as `h2`, and writes it there.
async fn begun_with(rig: &Rigged, run: &RunId, to: &str) {
    let with = [Chosen::parse(&format!("{run}:h2=words")).expect("a choice")];
    let program = Program {
        source: format!(
            "await tools.files.write({{path: '{to}', content: handle('words')}}); return 'done'"
        ),
        with: &with,
        ..Program::default()
    };
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let called = rig.host.program(run, Surface::Cli, program, &tasks).await;
    let _ = rig::value(&called.expect("it runs").outcome);
}

async fn go(at_a_page: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let server = page().await;
    let mut way = Way::begun(&server, at_a_page).await;
    for (at, step) in steps.iter().enumerate() {
        // All that a step may be is too large for the stack of a test.
        way = Box::pin(way.take(*step)).await;
        let label = way.read(&way.place).await;
        prop_assert!(
            label.covers(&way.source),
            "after {:?} `{:?}` is read under {label}",
            &steps[..=at],
            way.place
        );
    }
    // Nothing of it is on what it never touched.
    let clean = Place::File("docs/clean.txt".to_owned());
    let label = way.read(&clean).await;
    prop_assert!(!label.covers(&way.source), "{label}");
    Ok(())
}

/// How many ways are gone, and which: the same few for everybody, or as many others as `make journeys` asks for, of which each
/// can be gone again.
fn chosen() -> (u32, u64) {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let ways: Option<u32> = number("WAYS").and_then(|ways: u64| ways.try_into().ok());
    let Some(ways) = ways else {
        return (WAYS, SEED);
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(SEED, |now| now.as_secs());
    let seed = number("SEED").unwrap_or(now);
    println!("{ways} ways of SEED={seed}");
    (ways, seed)
}

#[test]
fn a_label_never_shrinks_on_any_way() {
    let (ways_gone, seed) = chosen();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let config = ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        // A way says itself after which of its steps it failed.
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(ways_gone)
    };
    let taken = std::sync::Mutex::new(BTreeSet::new());
    let ways = (any::<bool>(), vec(select(&STEPS[..]), STEPS_OF_A_WAY));
    let held = TestRunner::new(config).run(&ways, |(at_a_page, steps)| {
        taken
            .lock()
            .expect("no way has failed")
            .extend(steps.clone());
        runtime.block_on(Box::pin(go(at_a_page, &steps)))
    });
    if let Err(failure) = held {
        panic!("{failure}");
    }
    let taken = taken.into_inner().expect("no way has failed");
    // What chance has left out is a way of its own.
    let left: Vec<Step> = STEPS
        .into_iter()
        .filter(|step| !taken.contains(step))
        .collect();
    if let Err(failure) = runtime.block_on(Box::pin(go(false, &left))) {
        panic!("{failure}");
    }
}
