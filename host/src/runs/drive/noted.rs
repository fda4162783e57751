//! What tools have to say once older turns were folded: each is called by the host, as a step around a call is, and what
//! it returns stands behind the summary. One that fails says nothing, and the others do.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::observe::observe;
use super::Drive;
use crate::guests::dispatch::{Request, dispatch};
use crate::rules::caller::{Bearing, Caller, Origin};
use crate::rules::grant::Pattern;
use crate::rules::manifest::Truncation;
use crate::words::error::Code;
use crate::words::event::{Compacted, Noted};
use crate::words::id::ToolName;
use crate::words::label::Label;
use crate::words::limits::WARD_TIMEOUT_MS;
use crate::words::message::WishedArgs;

impl Drive<'_> {
    /// What the tools of `[compaction] after` say of this, one after the other. In a replay: what they said.
    pub(super) async fn noted(&self, compacted: &Compacted) -> Vec<Noted> {
        if let Some(recorded) = &self.station.recorded {
            return recorded.noted();
        }
        let mut noted = Vec::new();
        for tool in &self.agent.rolling.after {
            noted.push(self.note(tool, compacted).await);
        }
        noted
    }

    async fn note(&self, tool: &ToolName, compacted: &Compacted) -> Noted {
        let policy = self.station.gate.policy();
        let caller = Caller {
            origin: Origin::Host,
            known: self.known.inside(Bearing::Looks),
            reach: Arc::new([Pattern::exactly(tool)]),
            grant: Arc::default(),
            deadline: self.deadline(WARD_TIMEOUT_MS),
            // Its summary has read all that.
            ..self.caller_of_model(compacted.label.clone())
        };
        let request = Request {
            tool: tool.to_string(),
            args: WishedArgs::Json(self.told_of(tool, compacted)),
        };
        let mut outcome = dispatch(self.station.clone(), self.tasks.clone(), caller, request).await;
        self.date(&mut outcome);
        let (observation, _) = observe(
            &outcome,
            Truncation::Head,
            (policy, &self.known, &self.agent.names),
        );
        let failed = match &outcome.result {
            Err(error) => Some(error.code()),
            // A summary is written down, and read in later runs.
            Ok(_) if policy.flows.classes.is_secret(&outcome.label) => Some(Code::Denied),
            Ok(_) => None,
        };
        let most = self.agent.rolling.after_chars;
        let (text, label) = match failed {
            Some(_) => (String::new(), Label::default()),
            None => (observation.text.chars().take(most).collect(), outcome.label),
        };
        Noted {
            tool: tool.clone(),
            text,
            label,
            failed,
        }
    }

    /// What a tool is told of a fold: of all that there is to say, what it takes by its own schema.
    fn told_of(&self, tool: &ToolName, compacted: &Compacted) -> Value {
        let all = json!({
            "turns": compacted.turns,
            "before_tokens": compacted.before_tokens,
            "after_tokens": compacted.after_tokens,
            "summary": compacted.summary,
        });
        let mut tools = self.station.catalog.tools();
        let input = tools
            .find(|known| known.name == *tool)
            .map(|known| &known.declared.input);
        let is_open =
            |input: &Value| input.get("additionalProperties") != Some(&Value::Bool(false));
        let (Some(input), Value::Object(all)) = (input, all) else {
            return Value::Object(Map::new());
        };
        let named = input.get("properties").and_then(Value::as_object);
        let takes =
            |key: &str| is_open(input) || named.is_some_and(|named| named.contains_key(key));
        Value::Object(all.into_iter().filter(|(key, _)| takes(key)).collect())
    }
}
