//! Code mode: the two tools that a model is shown in place of all others, and what the second of
//! them answers.
//!
//! `run_script` and `search_tools` are the host's own: no plugin declares them, so their cards are
//! written here, beside each other, since each speaks of the other.

use serde_json::{Value, json};

use super::flow::handles::{PLUGIN, READ};
use super::json;
use super::schema::Schema;
use super::search::{Candidate, Query, SearchRules, search};
use super::signature::{HANDLES, Listed, catalogue, catalogue_line, declaration, signature};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;
use crate::words::limits::{CATALOGUE_LINES, SCRIPT_CHARS, SEARCH_ANSWER_BYTES};
use crate::words::message::{Card, WishedArgs};

/// The tool that runs a script.
pub const RUN_SCRIPT: &str = "run_script";
/// The tool that finds tools.
pub const SEARCH_TOOLS: &str = "search_tools";

/// What a model knows the two by, and the tool that shows what is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Instead of [`RUN_SCRIPT`].
    pub run_script: String,
    /// Instead of [`SEARCH_TOOLS`].
    pub search_tools: String,
    /// Instead of [`READ`], where it is called one by one.
    pub read_result: String,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            run_script: RUN_SCRIPT.to_owned(),
            search_tools: SEARCH_TOOLS.to_owned(),
            read_result: READ.to_owned(),
        }
    }
}

impl Names {
    /// The card of a tool, under the name that a model knows it by.
    #[must_use]
    pub fn of_tool(&self, mut card: Card) -> Card {
        if card.name == READ {
            card.name.clone_from(&self.read_result);
        }
        card
    }

    /// The tool that a model means by a name.
    #[must_use]
    pub fn meant<'t>(&self, tool: &'t str) -> &'t str {
        if tool == self.read_result { READ } else { tool }
    }

    /// What is said of the tool that shows what is held, in the name that a model knows it by.
    #[must_use]
    pub fn told(&self, text: &str) -> String {
        text.replace(READ, &self.read_result)
    }

    /// A card of one of the two, as a model is shown it: each speaks of the other.
    #[must_use]
    pub fn on(&self, card: Card) -> Card {
        let told = |text: &str| {
            text.replace(RUN_SCRIPT, &self.run_script)
                .replace(SEARCH_TOOLS, &self.search_tools)
        };
        Card {
            name: told(&card.name),
            description: told(&card.description),
            ..card
        }
    }
}

/// What a model learns of scripts, in at most 1,200 characters.
const TEACHING: &str = "\
Runs JavaScript that calls tools, and returns what it returns. `source` is the body of an async function.
- Call a tool: `const file = await tools.files.read({ path: \"a.txt\" })`. Arguments are one object; the result is JSON. \
Names that are no identifiers go by string: `tools[\"mcp.server\"][\"odd name\"]({})`.
- Independent calls belong together: `await Promise.all(paths.map(path => tools.files.read({ path })))`.
- Filter, join and count here, and `return` the small value you need: nothing else comes back to you.
- A failed call throws ToolError with `code`, `message` and `retryable`; catch it where you can go on without.
- There is no network, no file, no `import`, no `require`: everything outside is a tool. `setTimeout` works; \
`console.log` is for the person who watches, you do not see it. Each script starts anew and remembers nothing.
- Ask search_tools for the exact signature of a tool before you first call it.";

/// The card of `run_script`: how scripts are written, and the catalogue of these tools, cut to
/// [`CATALOGUE_LINES`] lines (G-39a).
#[must_use]
pub fn run_script_card(tools: &[Listed<'_>]) -> Card {
    let listed = if tools.is_empty() {
        "There are no tools to call.".to_owned()
    } else {
        format!(
            "Tools, each behind `tools`:\n{}",
            catalogue(tools, CATALOGUE_LINES)
        )
    };
    Card {
        name: RUN_SCRIPT.to_owned(),
        description: format!("{TEACHING}\n\n{listed}"),
        input: json!({
            "type": "object",
            "properties": {"source": {
                "type": "string",
                "maxLength": SCRIPT_CHARS,
                "description": "JavaScript: the body of an async function.",
            }},
            "required": ["source"],
            "additionalProperties": false,
        }),
        output: json!({}),
    }
}

/// The card of `search_tools`.
#[must_use]
pub fn search_tools_card(rules: SearchRules) -> Card {
    Card {
        name: SEARCH_TOOLS.to_owned(),
        description: "Finds tools by words of what they do, and returns their exact signatures in \
            TypeScript, the best first. An empty query lists tools in order of name."
            .to_owned(),
        input: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "maxLength": rules.query_chars,
                    "description": "Words to look for in names, descriptions and arguments.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": rules.results_max,
                    "default": rules.results.min(rules.results_max),
                    "description": "How many tools to return.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        output: json!({"type": "string"}),
    }
}

/// What `search_tools` answers: the declaration of the tools found, the best first in each plugin
/// and plugins in order of their best, and a line that says how many more matched. Text, since a
/// model reads it as it is, and signatures inside JSON would be escaped. Signatures past
/// [`SEARCH_ANSWER_BYTES`] give way to lines of the catalogue. With tools for handles come the functions for them.
///
/// # Errors
/// `BadArgs`, as [`search`] says.
pub fn answer(tools: &[Listed<'_>], query: Query<'_>, rules: SearchRules) -> Result<String> {
    let candidates = tools.iter().map(|tool| Candidate {
        name: tool.name,
        description: tool.description,
        arguments: tool.arguments(),
    });
    let hits = search(candidates, query, rules)?;
    if hits.names.is_empty() {
        return Ok(format!(
            "No tool matches. Try other words; an empty query lists all {} in order of name.",
            tools.len()
        ));
    }
    let found = hits
        .names
        .iter()
        .filter_map(|name| tools.iter().find(|tool| tool.name == *name));
    let (mut shown, mut named) = (Vec::new(), Vec::new());
    let mut bytes: usize = 0;
    for tool in found {
        bytes = bytes.saturating_add(signature(tool).len());
        if bytes <= SEARCH_ANSWER_BYTES {
            shown.push(*tool);
        } else {
            named.push(*tool);
        }
    }
    let mut answer = declaration(&shown);
    // Whoever looks for these learns of what a script has in their place as well.
    if shown.iter().any(|tool| tool.plugin == PLUGIN) {
        answer.push_str(HANDLES);
    }
    if !named.is_empty() {
        answer.push_str("// Too long to be shown together; search for each by its name:\n");
        for tool in &named {
            answer.push_str(&format!("// {}\n", catalogue_line(tool)));
        }
    }
    if hits.more > 0 {
        let (tools, they) = if hits.more == 1 {
            ("tool matches", "it")
        } else {
            ("tools match", "them")
        };
        answer.push_str(&format!(
            "// {} more {tools}: other words or a higher `limit` (at most {}) find {they}.\n",
            hits.more, rules.results_max
        ));
    }
    Ok(answer)
}

/// Arguments of `search_tools` that fit its card, taken apart for [`answer`].
#[must_use]
pub fn search_args(args: &Value) -> Query<'_> {
    let words = args.get("query").and_then(Value::as_str);
    Query {
        words: words.unwrap_or_default(),
        limit: args.get("limit").and_then(whole),
    }
}

/// A schema takes `3.0` for an integer, so it is one.
fn whole(value: &Value) -> Option<u64> {
    let written = || value.to_string();
    value.as_u64().or_else(|| {
        written()
            .strip_suffix(".0")
            .and_then(|text| text.parse().ok())
    })
}

/// Arguments of one of the host's own tools, which fit its card.
///
/// # Errors
/// `BadArgs` for others.
pub fn fitting(args: &WishedArgs, card: &Card) -> Result<Value> {
    let value = match args {
        WishedArgs::Json(value) => value,
        WishedArgs::Broken(text) => {
            let why = json::parse(text).err().unwrap_or_default();
            let what = format!(
                "Invalid action input: the arguments are not JSON: {}",
                shown(&why)
            );
            return Err(Error::new(Code::BadArgs, what));
        }
    };
    let issues = Schema::compile(card.input.clone())?.issues(value);
    if issues.is_empty() {
        return Ok(value.clone());
    }
    Err(Error::new(Code::BadArgs, "Invalid action input.").issues(issues))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::signature::Brevity;
    use crate::words::limits::{CATALOGUE_LINE_CHARS, CHARS_PER_TOKEN, OBSERVATION_TOKENS};

    fn listed<'a>(names: &'a [String], input: &'a Value) -> Vec<Listed<'a>> {
        let listed = |name: &'a String| Listed {
            name,
            plugin: name.split_once('.').map_or("", |(plugin, _)| plugin),
            description: "Reads a word.",
            input,
            output: &Value::Bool(true),
            brevity: Brevity::default(),
        };
        names.iter().map(listed).collect()
    }

    fn told(tools: &[Listed<'_>], words: &str, limit: Option<u64>) -> Result<String> {
        answer(tools, Query { words, limit }, SearchRules::default())
    }

    fn names(count: usize) -> Vec<String> {
        (0..count)
            .map(|index| format!("p{}.t{index:03}", index % 3))
            .collect()
    }

    #[test]
    fn the_cards_bound_their_arguments() {
        let search = Schema::compile(search_tools_card(SearchRules::default()).input).unwrap();
        for fits in [
            json!({"query": ""}),
            json!({"query": "é".repeat(512), "limit": 25}),
            json!({"query": "x", "limit": 1.0}),
        ] {
            assert_eq!(search.issues(&fits), [], "{fits}");
        }
        for wrong in [
            json!({}),
            json!({"query": "é".repeat(513)}),
            json!({"query": "x", "limit": 0}),
            json!({"query": "x", "limit": 26}),
            json!({"query": "x", "more": 1}),
        ] {
            assert!(!search.issues(&wrong).is_empty(), "{wrong}");
        }
        let run = Schema::compile(run_script_card(&[]).input).unwrap();
        assert_eq!(run.issues(&json!({"source": "é".repeat(100_000)})), []);
        assert!(
            !run.issues(&json!({"source": "x".repeat(100_001)}))
                .is_empty()
        );
        assert!(!run.issues(&json!({})).is_empty());
    }

    #[test]
    fn the_card_of_scripts_is_short() {
        assert!(
            TEACHING.chars().count() <= 1_200,
            "{}",
            TEACHING.chars().count()
        );
        let names = names(500);
        let input = json!({"type": "object"});
        let card = run_script_card(&listed(&names, &input));
        let lines: Vec<_> = card.description.lines().collect();
        assert_eq!(
            lines.last(),
            Some(&"… and 440 more: search_tools finds them")
        );
        let tools: Vec<_> = lines.iter().filter(|line| line.contains(" — ")).collect();
        assert_eq!(tools.len(), CATALOGUE_LINES);
        assert!(
            tools
                .iter()
                .all(|line| line.chars().count() <= CATALOGUE_LINE_CHARS)
        );
        assert!(
            run_script_card(&[])
                .description
                .ends_with("no tools to call.")
        );
    }

    #[test]
    fn an_answer_declares_what_was_found() {
        let names = names(10);
        let input = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let tools = listed(&names, &input);
        let text = told(&tools, "t004", None).unwrap();
        assert!(
            text.starts_with("interface Tools {\n  p1: {\n    /**\n     * Reads a word.\n"),
            "{text}"
        );
        assert!(
            text.contains("\n    t004(args: { n?: number }): Promise<unknown>;\n"),
            "{text}"
        );
        let text = told(&tools, "word", None).unwrap();
        assert!(text.ends_with(
            "\n// 2 more tools match: other words or a higher `limit` (at most 25) find them.\n"
        ));
        assert!(
            told(&tools, "word", Some(9))
                .unwrap()
                .contains("// 1 more tool matches: ")
        );
        let none = told(&tools, "zebra", None).unwrap();
        assert_eq!(
            none,
            "No tool matches. Try other words; an empty query lists all 10 in order of name."
        );
        assert_eq!(told(&tools, "", Some(0)).unwrap_err().code(), Code::BadArgs);
    }

    #[test]
    fn with_tools_for_handles_come_the_functions_for_them() {
        let input = json!({"type": "object"});
        let names = ["handle.read".to_owned(), "p.read".to_owned()];
        let tools = listed(&names, &input);
        let text = told(&tools, "read", None).unwrap();
        assert!(text.ends_with(HANDLES), "{text}");
        let text = told(&tools[1..], "read", None).unwrap();
        assert!(!text.contains("Handle"), "{text}");
    }

    #[test]
    fn an_answer_fits_an_observation() {
        let fields = (0..60).map(|index| {
            (
                format!("field_number_{index}"),
                json!({"type": "string", "description": "é".repeat(50)}),
            )
        });
        let input =
            json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()});
        let names = names(40);
        let tools = listed(&names, &input);
        let text = told(&tools, "", Some(25)).unwrap();
        assert!(
            text.len() <= OBSERVATION_TOKENS * CHARS_PER_TOKEN,
            "{}",
            text.len()
        );
        assert!(
            text.contains("\n// Too long to be shown together"),
            "{text}"
        );
        assert!(
            text.contains("\n// p0.t039 — Reads a word.\n")
                || text.contains("\n// p0.t036 — Reads a word.\n"),
            "{text}"
        );
    }

    #[test]
    fn arguments_are_taken_apart() {
        let three = Query {
            words: "a",
            limit: Some(3),
        };
        assert_eq!(search_args(&json!({"query": "a", "limit": 3})), three);
        assert_eq!(search_args(&json!({"query": "a", "limit": 3.0})), three);
        assert_eq!(
            search_args(&json!({"query": "a"})),
            Query {
                limit: None,
                ..three
            }
        );
    }
}
