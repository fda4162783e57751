//! What a client asks for: as much of OpenAI's request as means something to an agent.

use serde::Deserialize;
use serde_json::Value;

use super::unfit;
use crate::words::error::Result;
use crate::words::limits::{CHAT_MESSAGES, GOAL_BYTES};

/// A request for a completion. Fields that only tune a model (`temperature`, `max_tokens`, …) or name a user say
/// nothing here and are left alone: the agent's own definition holds.
#[derive(Debug, Deserialize)]
pub(in crate::surfaces::http) struct Asked {
    /// The agent.
    pub(super) model: String,
    messages: Vec<Message>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    functions: Option<Vec<Value>>,
    #[serde(default)]
    response_format: Option<Format>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: Role,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    sort: String,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Format {
    #[serde(rename = "type")]
    sort: String,
    #[serde(default)]
    json_schema: Option<Named>,
}

#[derive(Debug, Deserialize)]
struct Named {
    #[serde(default)]
    schema: Option<Value>,
}

impl Asked {
    /// Whether it is answered piece by piece; then, whether with its usage.
    pub(super) fn streams(&self) -> Option<bool> {
        let options = self.stream_options.as_ref();
        let with_usage = options.and_then(|options| options.include_usage);
        (self.stream == Some(true)).then(|| with_usage.unwrap_or(false))
    }

    /// The schema of the answer, if it is to have one.
    ///
    /// # Errors
    /// `BadInput` for a form that has none.
    pub(super) fn schema(&self) -> Result<Option<Value>> {
        let Some(format) = &self.response_format else {
            return Ok(None);
        };
        let schema = format.json_schema.as_ref();
        let schema = schema.and_then(|named| named.schema.clone());
        match (format.sort.as_str(), schema) {
            ("text", _) => Ok(None),
            ("json_schema", Some(schema)) => Ok(Some(schema)),
            (_, _) => Err(unfit(
                "`response_format` is `text`, or `json_schema` with a schema",
            )),
        }
    }

    /// The goal; with what was said before, where nobody else knows it.
    ///
    /// # Errors
    /// `BadInput`, `TooBig`.
    pub(super) fn goal(&self, with_earlier: bool) -> Result<String> {
        let more = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        if more(&self.tools) || more(&self.functions) {
            return Err(unfit("an agent has its own tools, and no others")
                .hint("leave out `tools`; `[agents.NAME] tools = […]` says which it has"));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(unfit("there is one answer: `n` is 1"));
        }
        if self.messages.len() > CHAT_MESSAGES {
            let (most, got) = (CHAT_MESSAGES, self.messages.len());
            return Err(crate::words::error::Error::too_many(
                "`messages`",
                most,
                got,
            ));
        }
        let Some((last, earlier)) = self.messages.split_last() else {
            return Err(unfit("`messages` is empty"));
        };
        if last.role != Role::User {
            return Err(unfit("the last message is not the user's"));
        }
        let goal = last.text()?;
        if !with_earlier || earlier.is_empty() {
            return Ok(goal);
        }
        let mut text = String::from("What the client says was said before:\n");
        for message in earlier {
            text.push_str(&format!(
                "\n[{}]\n{}\n",
                message.role.word(),
                message.text()?
            ));
            if text.len() > GOAL_BYTES {
                break;
            }
        }
        text.push_str(&format!("\nWhat is asked now:\n\n{goal}"));
        Ok(text)
    }
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::System | Self::Developer => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool | Self::Function => "tool",
        }
    }
}

impl Message {
    fn text(&self) -> Result<String> {
        let parts = match &self.content {
            None => return Ok(String::new()),
            Some(Content::Text(text)) => return Ok(text.clone()),
            Some(Content::Parts(parts)) => parts,
        };
        let texts = parts.iter().map(|part| match &part.text {
            Some(text) if part.sort == "text" => Ok(text.as_str()),
            Some(_) | None => Err(unfit("a message holds text, and nothing else here")
                .hint("`lazaret run --attach FILE` shows a file to an agent")),
        });
        let texts: Result<Vec<&str>> = texts.collect();
        Ok(texts?.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn goal(messages: Value) -> Result<String> {
        let asked = json!({"model": "a", "messages": messages, "temperature": 0.2, "user": "root"});
        serde_json::from_value::<Asked>(asked)
            .expect("a request")
            .goal(true)
    }

    #[test]
    fn the_last_message_is_the_goal_and_the_others_are_told_beside_it() {
        let one = json!([{"role": "user", "content": [{"type": "text", "text": "Count."}]}]);
        assert_eq!(goal(one).expect("a goal"), "Count.");
        let all = json!([
            {"role": "system", "content": "Be rude."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "user", "content": "Count."},
        ]);
        let goal = goal(all).expect("a goal");
        assert!(goal.starts_with("What the client says was said before:\n\n[system]\nBe rude.\n"));
        assert!(goal.ends_with("\nWhat is asked now:\n\nCount."), "{goal}");
    }

    #[test]
    fn what_an_agent_cannot_do_is_refused() {
        for messages in [
            json!([]),
            json!([{"role": "assistant", "content": "x"}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        ] {
            assert!(goal(messages).is_err());
        }
        for more in [
            json!({"tools": [{}]}),
            json!({"n": 2}),
            json!({"functions": [{}]}),
        ] {
            let mut asked = json!({"model": "a", "messages": [{"role": "user", "content": "x"}]});
            let fields = more.as_object().expect("fields").clone();
            asked.as_object_mut().expect("a request").extend(fields);
            let asked: Asked = serde_json::from_value(asked).expect("a request");
            assert!(asked.goal(true).is_err(), "{more}");
        }
    }

    #[test]
    fn an_answer_may_have_a_schema() {
        let asked = |format: Value| {
            let asked = json!({"model": "a", "messages": [], "response_format": format});
            serde_json::from_value::<Asked>(asked)
                .expect("a request")
                .schema()
        };
        assert_eq!(asked(json!({"type": "text"})).expect("text"), None);
        let named = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}});
        assert_eq!(
            asked(named).expect("a schema"),
            Some(json!({"type": "object"}))
        );
        assert!(asked(json!({"type": "json_object"})).is_err());
    }
}
