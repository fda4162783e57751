//! The offer: which tools a model is shown in a turn, and which of its calls go where.

use std::sync::Arc;

use serde_json::Value;

use crate::guests::catalog::Tool;
use crate::guests::station::Station;
use crate::rules::agent::Agent;
use crate::rules::code_mode::{
    Names, RUN_SCRIPT, SEARCH_TOOLS, answer, fitting, run_script_card, search_args,
    search_tools_card,
};
use crate::rules::flow::class::Classes;
use crate::rules::plan::Grouping;
use crate::rules::search::{Candidate, SearchRules, search};
use crate::rules::signature::Listed;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::ToolName;
use crate::words::label::Label;
use crate::words::message::{Calling, Card, WishedArgs};

/// What a model of one run is shown. Grows by what it finds, and never shrinks (U-12).
pub(super) struct Offer<'a> {
    tools: Vec<&'a Arc<Tool>>,
    calling: Calling,
    /// How a search for tools goes.
    search: SearchRules,
    /// What its model knows the host's own tools by.
    names: &'a Names,
    /// What the system position says of the tools that it began with.
    named: Vec<String>,
    found: Vec<ToolName>,
    classes: &'a Classes,
    label: Label,
}

/// Where a model's call goes.
#[derive(Debug)]
pub(super) enum Way {
    /// To the tool of that name.
    Tool,
    /// Into a guest of its own: this is a script.
    Script(String),
    /// To the catalogue: this is its answer, and these are the tools in it.
    Search(String, Vec<ToolName>),
    /// Nowhere.
    Nowhere(Error),
}

impl<'a> Offer<'a> {
    pub(super) fn new(station: &'a Station, agent: &'a Agent, surface: Surface) -> Self {
        let policy = station.gate.policy();
        let mut offer = Self {
            tools: station.catalog.told(&agent.tools, policy, surface),
            calling: agent.calling,
            search: policy.scripts.search,
            names: &agent.names,
            named: Vec::new(),
            found: Vec::new(),
            classes: &policy.flows.classes,
            label: Label::default(),
        };
        let shown = offer.tools.iter().filter(|tool| offer.is_shown(tool));
        offer.label = offer.classes.of_words(shown.map(|tool| &tool.name));
        offer.named = offer.authored();
        offer
    }

    /// Who is behind what a model reads of tools: names, descriptions and schemas are the words of whoever wrote
    /// a plugin.
    pub(super) fn label(&self) -> &Label {
        &self.label
    }

    /// The catalogue of a script's tools is cut by its length, and each of them counts.
    fn is_shown(&self, tool: &Tool) -> bool {
        self.has_scripts() || !is_deferred(tool)
    }

    /// Names that may stand in the system position, the same in every turn: no stranger's, and none that was found.
    pub(super) fn named(&self) -> &[String] {
        &self.named
    }

    /// The names of the host's own tools, and of those whose words nobody untrusted wrote.
    fn authored(&self) -> Vec<String> {
        let is_trusted =
            |tool: &&Arc<Tool>| self.classes.of_words([&tool.name]) == Label::default();
        let trusted = self.eager().filter(is_trusted);
        let names = trusted.map(|tool| self.names.of_tool(tool.plain_card()).name);
        let mut names: Vec<String> = names.collect();
        if self.has_scripts() {
            names.push(self.names.run_script.clone());
        }
        if self.has_search() {
            names.push(self.names.search_tools.clone());
        }
        names
    }

    /// Tools that are shown one by one from the beginning.
    fn eager(&self) -> impl Iterator<Item = &'a Arc<Tool>> {
        let tools = self.tools.iter().copied();
        tools.filter(move |tool| self.is_direct() && !is_deferred(tool))
    }

    /// The cards of a turn. What was found comes last, and nowhere but here: all that is told before it stays the same.
    pub(super) fn cards(&self) -> Vec<Card> {
        let eager = self.eager().map(|tool| tool.card());
        let mut cards: Vec<Card> = eager.map(|card| self.names.of_tool(card)).collect();
        if self.has_scripts() {
            cards.push(self.names.on(run_script_card(&self.listed())));
        }
        if self.has_search() {
            cards.push(self.names.on(search_tools_card(self.search)));
        }
        let found = self.found.iter().filter_map(|name| self.tool(name));
        if self.is_direct() {
            cards.extend(found.map(|tool| self.names.of_tool(tool.plain_card())));
        }
        cards
    }

    /// Where a call goes. A tool that the model was not shown does not run, whatever policy says of it.
    pub(super) fn way(&self, tool: &str, args: &WishedArgs) -> Way {
        let own = if self.is_script(tool) {
            script(args)
        } else if self.is_search(tool) {
            self.search(args)
        } else {
            self.check(tool).map(|()| Way::Tool)
        };
        own.unwrap_or_else(Way::Nowhere)
    }

    /// Whether these arguments are of the shape that a tool takes; of a tool that is not known, whether they could be.
    pub(super) fn fits(&self, tool: &str, args: &Value) -> bool {
        let known = ToolName::parse(tool).ok();
        let schema = known.and_then(|name| self.tool(&name)?.input().ok());
        match schema {
            Some(schema) => schema.issues(args).is_empty(),
            None => args.is_object(),
        }
    }

    /// How a call may be grouped with others of its turn.
    pub(super) fn grouping(&self, station: &Station, tool: &str) -> Grouping {
        if self.is_script(tool) {
            Grouping::Alone
        } else if self.is_search(tool) {
            Grouping::Together
        } else {
            station.catalog.grouping(self.meant(tool))
        }
    }

    /// The tool that its model means by a name.
    pub(super) fn meant<'t>(&self, tool: &'t str) -> &'t str {
        self.names.meant(tool)
    }

    fn is_script(&self, tool: &str) -> bool {
        // A run that was left may have been begun when it was called as usual; no plugin's tool is called so.
        self.has_scripts() && [self.names.run_script.as_str(), RUN_SCRIPT].contains(&tool)
    }

    fn is_search(&self, tool: &str) -> bool {
        self.has_search() && [self.names.search_tools.as_str(), SEARCH_TOOLS].contains(&tool)
    }

    /// From the next turn on these are shown as well.
    pub(super) fn find(&mut self, names: Vec<ToolName>) {
        for name in names {
            let deferred = self.tool(&name).is_some_and(|tool| is_deferred(tool));
            if deferred && !self.found.contains(&name) {
                self.label = self.label.join(&self.classes.of_words([&name]));
                self.found.push(name);
            }
        }
    }

    fn check(&self, tool: &str) -> Result<()> {
        let known = ToolName::parse(tool).ok();
        let Some(known) = known.and_then(|name| self.tool(&name)) else {
            // The gate says what is wrong with it.
            return Ok(());
        };
        let name = &known.name;
        if !self.is_direct() {
            let script = &self.names.run_script;
            let what = format!("`{name}` is called from scripts alone: use `{script}`");
            return Err(Error::new(Code::UnknownTool, what));
        }
        if is_deferred(known) && !self.found.contains(name) {
            let search = &self.names.search_tools;
            let what = format!(
                "`{name}` is not shown yet: find it with `{search}`, and call it in the turn after"
            );
            return Err(Error::new(Code::UnknownTool, what));
        }
        Ok(())
    }

    fn search(&self, args: &WishedArgs) -> Result<Way> {
        let args = fitting(args, &search_tools_card(self.search))?;
        let query = search_args(&args);
        let listed = self.listed();
        let text = answer(&listed, query, self.search)?;
        let candidates = listed.iter().map(|tool| Candidate {
            name: tool.name,
            description: tool.description,
            arguments: tool.arguments(),
        });
        let names = search(candidates, query, self.search)?.names.into_iter();
        let names = names.filter_map(|name| ToolName::parse(name).ok());
        Ok(Way::Search(text, names.collect()))
    }

    fn listed(&self) -> Vec<Listed<'_>> {
        self.tools.iter().map(|tool| tool.listed()).collect()
    }

    fn tool(&self, name: &ToolName) -> Option<&Arc<Tool>> {
        self.tools.iter().copied().find(|tool| tool.name == *name)
    }

    fn is_direct(&self) -> bool {
        self.calling != Calling::Code
    }

    fn has_scripts(&self) -> bool {
        self.calling != Calling::Direct
    }

    /// There is a search where there is something to find (G-24).
    fn has_search(&self) -> bool {
        self.has_scripts() || self.tools.iter().any(|tool| is_deferred(tool))
    }
}

fn is_deferred(tool: &Tool) -> bool {
    tool.declared.offer.deferred
}

fn script(args: &WishedArgs) -> Result<Way> {
    let args = fitting(args, &run_script_card(&[]))?;
    let source = args.get("source").and_then(Value::as_str);
    Ok(Way::Script(source.unwrap_or_default().to_owned()))
}
