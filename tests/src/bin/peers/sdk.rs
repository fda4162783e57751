//! The process with the SDKs: a question is a line of JSON, and so is its answer (`tests/peers/peer.py`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lazaret::rules::codec::Wire;
use serde_json::{Value, json};

/// A process that is asked; it ends when it is dropped.
pub struct Sdk {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Sdk {
    /// Starts it with nothing of this machine's environment, where proxies and keys of a person may stand.
    pub fn start(python: &Path) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/peer.py");
        let mut process = Command::new(python)
            .arg("-B")
            .arg(program)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python with the SDKs: `make peers` makes one");
        let questions = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Self {
            process,
            questions,
            answers,
        }
    }

    /// What the SDK of this format says, or how it failed.
    pub fn ask(&mut self, wire: Wire, what: &str, question: Value) -> Result<Value, String> {
        let mut question = question;
        question["format"] = json!(wire.word());
        question["do"] = json!(what);
        writeln!(self.questions, "{question}").expect("it reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        let mut answer: Value = serde_json::from_str(&line).expect("it answers with JSON");
        match answer.get("failed").and_then(Value::as_str) {
            Some(failed) => Err(format!("the SDK failed: {failed}")),
            None => Ok(answer["is"].take()),
        }
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
