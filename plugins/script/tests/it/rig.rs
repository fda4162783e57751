//! Drives one script to its end, and keeps everything that it asked and said.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::collections::VecDeque;

use lazaret_script::{
    Answer, Bounds, Engine, Failure, Line, Outcome, Progress, Request, ToolError, Wish,
};

pub const NOW: u64 = 1_700_000_000_000;
pub const BOUNDS: Bounds = Bounds {
    calls: 64,
    timers: 64,
    polls: 500,
    heap_bytes: 32 << 20,
    json_bytes: 64 * 1024,
    log_bytes: 16 * 1024,
};

/// What became of a script.
#[derive(Debug)]
pub struct Run {
    pub asked: Vec<Request>,
    pub logs: Vec<Line>,
    pub end: Result<String, Failure>,
}

impl Run {
    /// Tools and arguments, in order.
    pub fn calls(&self) -> Vec<String> {
        let calls = self.asked.iter().filter_map(|request| match &request.wish {
            Wish::Call(call) => Some(format!("{} {}", call.tool, call.args)),
            Wish::Rest(_) => None,
        });
        calls.collect()
    }

    pub fn value(&self) -> &str {
        match &self.end {
            Ok(value) => value,
            Err(failure) => panic!("the script failed: {failure:?}"),
        }
    }

    pub fn failure(&self) -> &Failure {
        match &self.end {
            Err(failure) => failure,
            Ok(value) => panic!("the script returned {value}"),
        }
    }

    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.logs.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}

/// What the host would say: tools whose name has `fail` in it fail, others return their name and arguments.
pub fn usual(wish: &Wish) -> Outcome {
    match wish {
        Wish::Rest(_) => Outcome::Rested,
        Wish::Call(call) if call.tool.contains("fail") => Outcome::Failed(ToolError {
            code: "denied".into(),
            message: "not allowed".into(),
            retryable: false,
        }),
        Wish::Call(call) => Outcome::Value(format!(
            "{{\"tool\":{},\"args\":{}}}",
            serde_json::to_string(&call.tool).unwrap(),
            call.args
        )),
    }
}

pub fn run(source: &str) -> Run {
    run_with(source, BOUNDS, 7, usual)
}

pub fn run_with(source: &str, bounds: Bounds, seed: u64, say: impl Fn(&Wish) -> Outcome) -> Run {
    let mut engine = Engine::new().unwrap();
    let mut now = NOW;
    let mut step = engine.start(source, bounds, seed, now).unwrap();
    let (mut asked, mut logs, mut open) = (Vec::new(), Vec::new(), VecDeque::new());
    let end = loop {
        logs.append(&mut step.logs);
        match step.progress {
            Progress::Done(value) => break Ok(value),
            Progress::Failed(failure) => break Err(failure),
            Progress::Waiting(new) => {
                open.extend(new.iter().cloned());
                asked.extend(new);
            }
        }
        let request: Request = open
            .pop_front()
            .expect("a script that waits waits for something");
        now += 10;
        let answer = Answer {
            position: request.position,
            outcome: say(&request.wish),
        };
        step = engine.resume(answer, now).unwrap();
    };
    for (index, request) in asked.iter().enumerate() {
        assert_eq!(request.position as usize, index, "positions have no gaps");
    }
    Run { asked, logs, end }
}

/// The script returns this.
pub fn returns(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let run = run(source);
        match &run.end {
            Ok(value) => assert_eq!(value, expected, "{source}"),
            Err(failure) => panic!("{source}\n{failure:?}"),
        }
    }
}
