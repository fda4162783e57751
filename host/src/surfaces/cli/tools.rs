//! `lazaret tools`: what can be called.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Scene, print};
use crate::guests::catalog::Tool;
use crate::rules::flow::handles::PLUGIN;
use crate::rules::grant::Pattern;
use crate::rules::manifest::Risk;
use crate::rules::signature;
use crate::runs::host::Host;
use crate::surfaces::paint::{faint, foreign, strong};
use crate::words::error::Result;
use crate::words::event::Surface;

/// List the tools, or those whose name or description has every word of QUERY.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret tools                     all of them
  lazaret tools page links          those that speak of both words
  lazaret tools --format openai     as a model is told of them
  lazaret tools web --format ts     as a script calls them")]
pub(super) struct Tools {
    /// Words to look for.
    query: Vec<String>,
    /// As what.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each tool.
    Text,
    /// Names, schemas and declarations.
    Json,
    /// As OpenAI's `tools`.
    Openai,
    /// As declarations of TypeScript.
    Ts,
}

impl Tools {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let host = scene.open_host().await?;
        let words: Vec<String> = self.query.iter().map(|word| word.to_lowercase()).collect();
        let found = |tool: &Tool| {
            let text = format!("{} {}", tool.name, tool.declared.description).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let tools: Vec<_> = host.catalog().tools().filter(|tool| found(tool)).collect();
        let format = if scene.json {
            Format::Json
        } else {
            self.format
        };
        match format {
            Format::Text => {
                let rows: Vec<Vec<String>> = tools.iter().map(|tool| row(tool)).collect();
                print::line(crate::surfaces::paint::table(&rows).trim_end());
            }
            Format::Json => print::value(
                &tools.iter().map(|tool| described(tool)).collect(),
                scene.json,
            ),
            Format::Openai => print::value(&tools.iter().map(|tool| openai(tool)).collect(), false),
            Format::Ts => {
                let listed: Vec<_> = tools.iter().map(|tool| tool.listed()).collect();
                let mut text = signature::module(&listed);
                if may_hold(&host) {
                    text.push('\n');
                    text.push_str(signature::HANDLES);
                }
                print::line(text.trim_end());
            }
        }
        let is_data = matches!(format, Format::Json | Format::Openai);
        if tools.is_empty() && !is_data && !scene.quiet {
            print::note("no tool has all these words");
        }
        Ok(0)
    }
}

/// Whether a script may meet a handle: `never` is about outcomes, and a run can still be begun with one.
fn may_hold(host: &Host) -> bool {
    let every = [Pattern::all()];
    let told = host.catalog().told(&every, host.policy(), Surface::Cli);
    told.iter().any(|tool| tool.name.plugin() == PLUGIN)
}

fn row(tool: &Tool) -> Vec<String> {
    let first = tool.declared.description.lines().next().unwrap_or_default();
    let risk = match tool.declared.risk {
        Risk::ReadOnly => faint("looks"),
        Risk::NetworkRead => faint("looks outside"),
        Risk::DataExfiltrationRisk => faint("may carry out"),
        Risk::ExternalWrite => faint("changes"),
        Risk::HighRisk | Risk::Unclassified => faint("high risk"),
    };
    let asks = match tool.declared.conduct.needs_approval {
        true => format!("{risk}{}", faint(", asks first")),
        false => risk,
    };
    vec![strong(&tool.name), asks, foreign(first)]
}

fn described(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "plugin": tool.origin(),
        "digest": tool.digest(),
        "declared": *tool.declared,
    })
}

fn openai(tool: &Tool) -> Value {
    let card = tool.card();
    json!({"type": "function", "function": {
        "name": card.name.replace('.', "__"), "description": card.description, "parameters": card.input,
    }})
}
