//! What is said of the records of services, and does not do what it seems to: fields that vouch for nothing, arguments
//! that any outcome vouches for, and writing tools of which nobody knows what they have written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::Look;
use crate::guests::catalog::Tool;
use crate::rules::flow::class::{Integrity, Secrecy};
use crate::rules::flow::lines::{Mode, Records, ToolFlow};
use crate::rules::flow::records::{are_known, tells_which};
use crate::rules::grant::{Access, Destination};
use crate::words::id::shown;
use crate::words::label::{Sort, Source};

impl Look<'_> {
    /// All of it.
    pub(super) fn records(&mut self) {
        self.vouching();
        self.unnamed();
    }

    /// Fields that are said to vouch, and do not.
    fn vouching(&mut self) {
        for (tool, said) in &self.file.flow.tools {
            let Ok(known) = self.catalog.resolve(tool, &[]).cloned() else {
                continue;
            };
            let table = format!("[flow.tools.\"{}\"]", shown(tool));
            self.open_kinds(&table, said);
            self.any_outcome(&table, &known, &said.records);
            if let Some(origin) = self.public_page(&known, said) {
                let what = format!(
                    "{table} records: what it fetches from `{origin}` anybody may have written and everybody may read, so it vouches for nothing"
                );
                let fix = format!(
                    "if none but you and yours read there: [flow.classes] \"web:{origin}\" = {{ integrity = \"untrusted\", secrecy = \"private\" }}; what a \
                     tool's code reads there it then sends only where its call names it, or with `accepts = \"private\"`"
                );
                self.say(&table, what, &fix);
            }
        }
    }

    fn open_kinds(&mut self, table: &str, said: &ToolFlow) {
        let records = &said.records;
        if records.own {
            return;
        }
        let mut fields = records.vouches.iter().chain(&records.asks);
        let Some((field, kind)) = fields.find(|(_, kind)| kind.is_open()) else {
            return;
        };
        let (kind, field) = (kind.word(), shown(field));
        let what = format!(
            "{table} records: `{field}` is of kind `{kind}`, which vouches where the user has started the record"
        );
        if records.author.is_empty() {
            let fix =
                "write `own = true` if nobody else can start one, or the field of its `author`";
            self.say(table, format!("{what}, and nothing says who has"), fix);
        } else if self.policy.flows.named.me.is_empty() {
            let fix = "write `[flow] me = [\"you@example.org\"]`";
            self.say(table, format!("{what}, and nothing says who that is"), fix);
        }
    }

    /// A public origin that a tool fetches its records from, if it has nowhere else to have them from.
    fn public_page(&self, tool: &Tool, said: &ToolFlow) -> Option<String> {
        let records = &said.records;
        let vouches = [&records.vouches, &records.asks, &records.people];
        let elsewhere = !tool.grant.mounts.is_empty() || tool.grant.notes != Access::None;
        if elsewhere || vouches.iter().all(|fields| fields.is_empty()) {
            return None;
        }
        let origin = |line: &Destination| {
            let origin = Url::parse(&line.place()).ok()?.origin();
            Some(origin.ascii_serialization())
        };
        let mut origins = tool.grant.fetch.iter().filter_map(origin);
        origins.find(|origin| {
            let class = self
                .policy
                .flows
                .classes
                .of(&Source::new(Sort::Web, origin));
            class.integrity == Integrity::Untrusted && class.secrecy == Secrecy::Public
        })
    }

    /// Arguments about which a list vouches that has nothing in it.
    fn any_outcome(&mut self, table: &str, tool: &Tool, records: &Records) {
        let Some((argument, _)) = records.asks.first_key_value() else {
            return;
        };
        let Some(list) = list_in(&tool.declared.output) else {
            return;
        };
        if records.at.is_empty() {
            let what = format!(
                "{table} records: `asks` has `{}`, and its whole outcome counts as one record, also where the list in it is empty",
                shown(argument)
            );
            self.say(table, what, &format!("write `at = \"{list}\"`"));
        }
    }

    /// Tools that write where records are known, and say nowhere which: together for each service that this file is about.
    fn unnamed(&mut self) {
        let flows = &self.policy.flows;
        if flows.mode == Mode::Off {
            return;
        }
        let said = self.file.flow.tools.iter();
        let said = said.filter(|(_, said)| said.records != Records::default());
        let about: BTreeSet<&str> = said
            .filter_map(|(tool, _)| Some(tool.split_once('.')?.0))
            .collect();
        let open = |tool: &&Arc<Tool>| {
            about.contains(tool.name.plugin())
                && are_known(flows, &tool.name)
                && !tells_which(flows, &tool.name, &tool.declared)
        };
        let mut services: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for tool in self.catalog.tools().filter(open) {
            let service = tool.name.plugin().to_owned();
            services
                .entry(service)
                .or_default()
                .push(format!("`{}`", tool.name));
        }
        for (service, tools) in services {
            let tools = tools.join(", ");
            let what = format!(
                "nothing says which record of `{service}` a call of {tools} has written: after one that somebody untrusted had a hand in, every record of `{service}` counts as theirs"
            );
            let fix = "say of each in its [flow.tools] where its outcome has the id of what it made, `records = { id = \"id\" }`, or which \
                       argument names what it changes, `records = { changes = \"id\" }`";
            self.say("[flow.tools]", what, fix);
        }
    }
}

/// Where an outcome has a list, if its schema says so.
fn list_in(schema: &Value) -> Option<String> {
    let is_list = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("array");
    if is_list(schema) {
        return Some("/*".to_owned());
    }
    let fields = schema.get("properties")?.as_object()?;
    let list = fields.iter().find(|(_, schema)| is_list(schema));
    list.map(|(name, _)| format!("/{}/*", shown(name)))
}
