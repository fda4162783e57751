//! Usual work with pages, files and letters, by a model that does as it was told: how often somebody is asked where
//! nobody does any harm, and what comes of it where nobody is there.

use lazaret::words::event::{Answer as Say, End, Event, Verdict};
use lazaret_tests::prelude::*;

/// Whose folders are whose; nothing in it speaks of attacks.
const POLICY: &str = r#"
    [mounts.inbox]
    path = "inbox"
    [mounts.docs]
    path = "docs"
    access = "write"
    own = true
    [grants."files.*"]
    mounts = { inbox = "read", docs = "write" }
    [grants."notes.*"]
    notes = "write"
    [grants."web.*"]
    fetch = [{ url = "http://127.0.0.1:PORT/", private = true }]
    [flow]
    hold = "HOLD"
"#;

/// How outcomes reach the model: as they are, or each as a handle that it then reads, which is how it is by itself.
#[derive(Clone, Copy, PartialEq)]
enum Hold {
    Never,
    Untrusted,
}

/// A job, in a few words; what is typed; and what the model says, turn by turn.
struct Job {
    about: &'static str,
    goal: &'static str,
    calls: &'static [(&'static str, &'static str)],
}

const PAGE: (&str, &str) = ("web.get_page", r#"{"url": "http://127.0.0.1:PORT/news"}"#);
const LETTER: (&str, &str) = ("files.read", r#"{"path": "inbox/letter.txt"}"#);

const JOBS: &[Job] = &[
    Job {
        about: "sum up a page",
        goal: "What does http://127.0.0.1:PORT/news say?",
        calls: &[PAGE],
    },
    Job {
        about: "sum up a page in a file that was named",
        goal: "Sum up http://127.0.0.1:PORT/news in docs/news.md.",
        calls: &[
            PAGE,
            (
                "files.write",
                r#"{"path": "docs/news.md", "content": "Rain."}"#,
            ),
        ],
    },
    Job {
        about: "sum up a page in a file that the model names",
        goal: "Sum up http://127.0.0.1:PORT/news in a file of its own.",
        calls: &[
            PAGE,
            (
                "files.write",
                r#"{"path": "docs/rain.md", "content": "Rain."}"#,
            ),
        ],
    },
    Job {
        about: "read on where a page leads to",
        goal: "Read http://127.0.0.1:PORT/news, and what it is about.",
        calls: &[
            PAGE,
            ("web.get_page", r#"{"url": "http://127.0.0.1:PORT/rain"}"#),
        ],
    },
    Job {
        about: "keep a page as a note that was named",
        goal: "Keep what http://127.0.0.1:PORT/news says as the note \"weather\".",
        calls: &[
            PAGE,
            ("notes.put", r#"{"key": "weather", "text": "Rain."}"#),
        ],
    },
    Job {
        about: "sum up a stranger's file",
        goal: "What is in inbox/letter.txt?",
        calls: &[LETTER],
    },
    Job {
        about: "copy a stranger's file to one that was named",
        goal: "Copy inbox/letter.txt to docs/letter.md.",
        calls: &[
            LETTER,
            (
                "files.write",
                r#"{"path": "docs/letter.md", "content": "Dear Ada"}"#,
            ),
        ],
    },
    Job {
        about: "change a file of one's own",
        goal: "Add milk to docs/list.md.",
        calls: &[
            ("files.read", r#"{"path": "docs/list.md"}"#),
            (
                "files.write",
                r#"{"path": "docs/list.md", "content": "eggs\nmilk\n", "mode": "replace"}"#,
            ),
        ],
    },
    Job {
        about: "look through a folder of one's own, and sum it up",
        goal: "Sum up my documents in one file.",
        calls: &[
            ("files.list", r#"{"path": "docs"}"#),
            ("files.read", r#"{"path": "docs/list.md"}"#),
            (
                "files.write",
                r#"{"path": "docs/all.md", "content": "eggs"}"#,
            ),
        ],
    },
];

/// Whether what a call brings is a stranger's.
fn is_foreign(tool: &str, args: &Value) -> bool {
    let path = args["path"].as_str().unwrap_or_default();
    tool == "web.get_page" || (tool == "files.read" && path.starts_with("inbox/"))
}

impl Job {
    /// A host in which it can be done.
    async fn begin(&self, server: &Server, unattended: &str, hold: Hold) -> Rigged {
        let port = server.port().to_string();
        let word = match hold {
            Hold::Never => "never",
            Hold::Untrusted => "auto",
        };
        let policy = POLICY.replace("PORT", &port).replace("HOLD", word);
        let policy = format!("{unattended}\n{policy}");
        let mut replies = Vec::new();
        let mut held = 0;
        for (tool, args) in self.calls {
            let args: Value = serde_json::from_str(&args.replace("PORT", &port)).expect("JSON");
            replies.push(json!({"calls": [{"tool": tool, "args": args}]}));
            if hold == Hold::Untrusted && is_foreign(tool, &args) {
                held += 1;
                let args = json!({"value": {"$handle": format!("h{held}")}});
                replies.push(json!({"calls": [{"tool": "handle.read", "args": args}]}));
            }
        }
        replies.push(json!({"text": "Done."}));
        let rig = Rig::of(&policy).file("inbox/letter.txt", "Dear Ada, it rains. Eve");
        let rig = rig.file("docs/list.md", "eggs\n").replies(&replies);
        rig.kept().await.open().await
    }

    fn typed(&self, server: &Server) -> String {
        self.goal.replace("PORT", &server.port().to_string())
    }

    /// How often whoever is there is asked until all is done; they say yes.
    async fn attended(&self, server: &Server, hold: Hold) -> usize {
        let rig = self.begin(server, "", hold).await;
        let (run, mut answer) = rig.pursue(&self.typed(server)).await;
        let mut questions = 0;
        while matches!(&answer, Err(error) if error.code() == Code::Asked) {
            for waiting in rig.host.questions().await.expect("the journal is well") {
                questions += 1;
                let question = waiting.question.id.as_str();
                let answered = rig.host.answer(question, Say::Allow).await;
                answered.expect("the question is open");
            }
            answer = rig.resume_agent(&run).await;
        }
        assert_eq!(answer.expect(self.about), "Done.", "{}", self.about);
        // Whatever it wanted was there for it: with a handle of another name, it would have worked on nothing.
        let records = rig.records(&run).await;
        let failed = records.iter().filter(|record| {
            matches!(&record.event, Event::Finished(finished) if matches!(finished.end, End::Failed { .. }))
        });
        assert_eq!(failed.count(), 0, "{}", self.about);
        questions
    }

    /// What comes of it where nobody is there: how many calls are refused, and how it ends.
    async fn alone(&self, server: &Server, unattended: &str) -> (usize, &'static str) {
        let rig = self.begin(server, unattended, Hold::Never).await;
        let (run, answer) = rig.pursue(&self.typed(server)).await;
        let records = rig.records(&run).await;
        let refused = records.iter().filter(|record| {
            matches!(&record.event, Event::Judged(judged) if matches!(judged.verdict, Verdict::Deny(_)))
        });
        let end = match answer.map_err(|error| error.code()) {
            Ok(_) => "done",
            Err(Code::Asked) => "waits",
            Err(code) => panic!("{}: {code:?}", self.about),
        };
        (refused.count(), end)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_often_somebody_is_asked_where_nobody_does_any_harm() {
    let server = Server::start().await;
    let page = |path: &str, body: &str| Answer {
        path: path.to_owned(),
        headers: [("content-type".to_owned(), "text/html".to_owned())].into(),
        body: body.to_owned(),
        ..Answer::default()
    };
    server.say(vec![
        page("/news", "<p>It rains. <a href=\"/rain\">Why?</a></p>"),
        page("/rain", "<p>It is autumn.</p>"),
    ]);
    let mut table = format!("{:<52} asked  held  denied  waits\n", "job");
    for job in JOBS {
        let questions = job.attended(&server, Hold::Never).await;
        let held = job.attended(&server, Hold::Untrusted).await;
        let (denied, end) = job.alone(&server, "unattended = \"deny\"").await;
        assert_eq!(
            end, "done",
            "{}: what is denied does not end a run",
            job.about
        );
        let (_, paused) = job.alone(&server, "unattended = \"pause\"").await;
        let waits = if paused == "waits" { "yes" } else { "no" };
        assert_eq!(waits == "yes", questions > 0, "{}", job.about);
        table.push_str(&format!(
            "{:<52} {questions:<6} {held:<5} {denied:<7} {waits}\n",
            job.about
        ));
    }
    assert_golden("usual", &table);
}
