//! `lazaret tools`: what can be called.

use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Scene, print};
use crate::guests::catalog::Tool;
use crate::rules::flow::handles::PLUGIN;
use crate::rules::grant::Pattern;
use crate::rules::manifest::Risk;
use crate::rules::signature;
use crate::runs::host::Host;
use crate::surfaces::catalogue::{Shape, exposed, list, names};
use crate::surfaces::paint::{faint, foreign, strong};
use crate::words::error::{Error, Result};
use crate::words::event::Surface;

/// List the tools, or those whose name or description has every word of QUERY.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret tools                     all of them
  lazaret tools page links          those that speak of both words
  lazaret tools --format anthropic  as a model of Anthropic's is told of them
  lazaret tools --format mcp        as an MCP server lists them
  lazaret tools web --format ts     as a script calls them")]
pub(super) struct Tools {
    /// Words to look for.
    query: Vec<String>,
    /// As what: lines, unless `--json` asks for JSON.
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each tool.
    Text,
    /// Names, schemas and declarations.
    Json,
    /// As OpenAI's `tools`: those that a model may be told of, as in all that follow.
    Openai,
    /// As Anthropic's `tools`.
    Anthropic,
    /// As MCP's `tools/list` answers.
    Mcp,
    /// As the AI SDK's `tools`, by name.
    AiSdk,
    /// As declarations of TypeScript.
    Ts,
}

impl Tools {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let format = match (self.format, scene.json) {
            (Some(Format::Text | Format::Ts), true) => {
                let what = "`--json` asks for JSON, and this `--format` is none";
                return Err(Error::bad_input(what).hint("leave one of the two out"));
            }
            (Some(format), _) => format,
            (None, true) => Format::Json,
            (None, false) => Format::Text,
        };
        let host = scene.open_host().await?;
        let words: Vec<String> = self.query.iter().map(|word| word.to_lowercase()).collect();
        let found = |tool: &Tool| {
            let text = format!("{} {}", tool.name, tool.declared.description).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let tools: Vec<_> = host.catalog().tools().filter(|tool| found(tool)).collect();
        match format {
            Format::Text => {
                let rows: Vec<Vec<String>> = tools.iter().map(|tool| row(tool)).collect();
                if rows.is_empty() {
                    return Ok(none(&host, &words, scene));
                }
                print::marked_line(crate::surfaces::paint::table(&rows).trim_end());
            }
            Format::Json => print::value(
                &tools.iter().map(|tool| described(tool)).collect(),
                scene.json,
            ),
            Format::Openai => told(&host, &tools, (Shape::OpenAi, scene)),
            Format::Anthropic => told(&host, &tools, (Shape::Anthropic, scene)),
            Format::Mcp => told(&host, &tools, (Shape::Mcp, scene)),
            Format::AiSdk => told(&host, &tools, (Shape::AiSdk, scene)),
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
        if tools.is_empty() && matches!(format, Format::Ts) {
            none(&host, &words, scene);
        }
        Ok(0)
    }
}

/// Says that nothing was found, and so of a server whose tools are offered to nobody yet.
fn none(host: &Host, words: &[String], scene: &Scene) -> u8 {
    if scene.quiet {
        return 0;
    }
    print::note("no tool has all these words");
    for offered in host.catalog().servers() {
        let name = &offered.server.terms().name;
        let is_meant = words.iter().any(|word| name.contains(word.as_str()));
        if offered.digest.is_none() && is_meant {
            let what =
                format!("the MCP server `{name}` is not trusted yet, so its tools are not offered");
            print::warning(&what, &format!("lazaret servers trust {name}"));
        }
    }
    0
}

/// Whether a script may meet a handle: `never` is about outcomes, and a run can still be begun with one.
fn may_hold(host: &Host) -> bool {
    let every = [Pattern::all()];
    let told = host.catalog().told(&every, host.policy(), Surface::Cli);
    told.iter().any(|tool| tool.name.plugin() == PLUGIN)
}

/// How much is told of what a tool does.
const FIRST_CHARS: usize = 120;

/// The first sentence of a description where that fits, and otherwise what does. A sentence goes on over the ends of lines.
fn first(description: &str) -> String {
    let paragraph = description.trim_start().split("\n\n").next();
    let mut words = paragraph.unwrap_or_default().split_whitespace().peekable();
    let mut line = String::new();
    while let Some(word) = words.next() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Not after `e.g.`.
        let begins = |next: &&str| next.starts_with(char::is_uppercase);
        if word.ends_with('.') && words.peek().is_some_and(begins) {
            break;
        }
    }
    if line.chars().count() <= FIRST_CHARS {
        return foreign(&line);
    }
    let cut: String = line.chars().take(FIRST_CHARS).collect();
    foreign(&format!("{}…", cut.trim_end()))
}

fn row(tool: &Tool) -> Vec<String> {
    let risk = match tool.declared.risk {
        Risk::ReadOnly => faint("looks"),
        Risk::NetworkRead => faint("looks outside"),
        Risk::DataExfiltrationRisk => faint("may carry out"),
        Risk::ExternalWrite => faint("changes"),
        Risk::HighRisk | Risk::Unclassified => faint("high risk"),
    };
    let declared = &tool.declared;
    let asks = match (
        declared.conduct.needs_approval,
        declared.requires_confirmation(),
    ) {
        (true, _) => format!("{risk}{}", faint(", asks first")),
        (false, true) => format!("{risk}{}", faint(", to be confirmed")),
        (false, false) => risk,
    };
    vec![strong(&tool.name), asks, first(&declared.description)]
}

fn described(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "plugin": tool.origin(),
        "digest": tool.digest(),
        "declared": *tool.declared,
        "requiresConfirmation": tool.declared.requires_confirmation(),
    })
}

/// Prints those of these tools that a model may be told of, and says which ones are left out.
fn told(host: &Host, tools: &[&Arc<Tool>], (shape, scene): (Shape, &Scene)) {
    let exposed = exposed(host, shape.surface());
    let is_told = |tool: &&Arc<Tool>| exposed.iter().any(|one| one.name == tool.name);
    let (told, left): (Vec<&Arc<Tool>>, Vec<&Arc<Tool>>) = tools.iter().copied().partition(is_told);
    let told: Vec<&Tool> = told.into_iter().map(AsRef::as_ref).collect();
    print::value(&list(&told, &names(&exposed), shape), scene.json);
    if !left.is_empty() && !scene.quiet {
        let left: Vec<&str> = left.iter().map(|tool| tool.name.as_str()).collect();
        print::note(format!(
            "{}: {}",
            faint("left out, since a model may not call them here"),
            foreign(&left.join(", "))
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_told_of_by_the_first_sentence_of_its_description() {
        for (description, told) in [
            (
                "Reads by lines (`first`,\n`lines`).\n\nAll of it.",
                "Reads by lines (`first`, `lines`).",
            ),
            ("\n  Counts lines.  It is\nshown.", "Counts lines."),
            ("Counts, e.g. lines. Shows it.", "Counts, e.g. lines."),
            ("Without a full stop\n\nNext", "Without a full stop"),
            ("Hides \u{202e}.", "Hides \\u{202e}."),
            ("", ""),
        ] {
            assert_eq!(first(description), told);
        }
        let fits = "é".repeat(FIRST_CHARS);
        assert_eq!(first(&fits), fits);
        assert_eq!(first(&format!("{fits}é.")), format!("{fits}…"));
    }
}
