//! `lazaret policy suggest`: lines for `[flow]`, from runs that were watched or asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::runs::open;
use super::super::{Scene, print};
use super::recorded::{self, Recorded};
use crate::rules::exported;
use crate::rules::flow::lines::ToolFlow;
use crate::surfaces::paint::foreign;
use crate::words::error::Result;
use crate::words::event::Record;
use crate::words::id::ToolName;

/// Propose lines for `[flow]`, from runs that were watched or asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret policy suggest last > flow.toml        from a run under `[flow] mode = \"shadow\"`

Read the lines before you use them: each says what it came from. They are to be merged with your file, which has each
table once; what goes into a table that it has is a comment.")]
pub(in super::super) struct Suggest {
    /// Runs by name or beginning, `last`, or files as `runs show --json` prints them.
    #[arg(default_value = "last", value_name = "RUN")]
    runs: Vec<String>,
}

impl Suggest {
    pub(in super::super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let runs = recorded::read(scene, &open(scene)?, &self.runs).await?;
        let host = scene.open_host().await?;
        // What has become a secret since is in no line; and who had influence, none but this host says.
        let journal = host.journal();
        let shown = |mut run: Recorded| {
            if !run.is_vouched {
                run.records.iter_mut().for_each(exported::mark);
            }
            let records = run.records.into_iter();
            records.map(|record| journal.shown(record)).collect()
        };
        let runs: Vec<Vec<Record>> = runs.into_iter().map(shown).collect();
        let suggestion = host.suggest(&runs);
        if scene.json {
            let tools = suggestion.tools();
            let tools: Map<String, Value> = tools
                .map(|(tool, said)| (tool.to_string(), json!(said)))
                .collect();
            let guessed = suggestion.guessed();
            let guessed: Map<String, Value> = guessed
                .map(|(tool, said)| (tool.to_string(), arguments(said)))
                .collect();
            let vouch: Vec<Value> = suggestion.vouched().map(told).collect();
            let left: Vec<&str> = suggestion.left().collect();
            let doubtful: Vec<Value> = suggestion.doubtful().map(told).collect();
            let asked: Vec<Value> = suggestion.asked().map(as_json).collect();
            let denied: Vec<Value> = suggestion.denied().map(as_json).collect();
            let workspaces: Vec<&str> = suggestion.workspaces().collect();
            let all = json!({
                "tools": tools, "guessed": guessed, "vouch": vouch, "doubtful": doubtful,
                "asked": asked, "denied": denied, "workspaces": workspaces, "left": left,
            });
            print::value(&all, true);
            return Ok(0);
        }
        let lines = suggestion.to_toml(|head| host.policy().has_table(head));
        print::line(foreign(lines.trim_end()));
        if suggestion.is_empty() && !scene.quiet {
            print::note(match suggestion.left().next() {
                Some(_) => "nothing to propose, for the reasons above",
                None => {
                    "nothing to propose: every value that steered had a witness, or nothing was weighed"
                }
            });
        }
        Ok(0)
    }
}

/// What is said of the arguments of a tool.
fn arguments(said: &ToolFlow) -> Value {
    json!({"steering": said.steering, "content": said.content})
}

/// A line, and what it is about.
fn as_json((line, why): (&str, &BTreeSet<String>)) -> Value {
    json!({"line": line, "why": why})
}

/// A value that would steer calls of a tool.
fn told((tool, value): (&ToolName, &str)) -> Value {
    json!({"tool": tool.as_str(), "value": value})
}
