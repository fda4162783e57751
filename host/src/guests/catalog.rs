//! The catalog: which tools there are, under which names, with what grants.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::crowd::Crowd;
use super::plugin::{Plugin, bundled_names};
use super::vouched::refused;
use crate::edges::mcp::Server;
use crate::rules::call::admits;
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::can_change;
use crate::rules::flow::handles::{asked, readable};
use crate::rules::flow::lines::Browse;
use crate::rules::grant::{Grant, MountGrant, Pattern};
use crate::rules::manifest::{Declared, Example, Risk, Sensitivity, SurfaceWord};
use crate::rules::plan::{Grouping, Timing};
use crate::rules::policy::Policy;
use crate::rules::schema::Schema;
use crate::rules::script;
use crate::rules::server::definition::Definition;
use crate::rules::server::naming;
use crate::rules::server::pin::Pin;
use crate::rules::signature::{Brevity, Listed};
use crate::rules::wards::Wards;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::{Digest, ToolName, shown};
use crate::words::inert::visible;
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::PLUGINS;
use crate::words::message::Card;
use crate::words::near::likeness;

/// What happens when two plugins of the user's own files have one name (G-06).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Collisions {
    /// The later one is called by its name in the configuration.
    #[default]
    AutoPrefix,
    /// The host does not start.
    Error,
}

/// A tool that may be called.
#[derive(Debug)]
pub struct Tool {
    /// Its full name here.
    pub name: ToolName,
    /// Who performs it.
    pub by: By,
    /// What it declares.
    pub declared: Arc<Declared>,
    /// What its guests may touch: policy × manifest.
    pub grant: Arc<Grant>,
    /// Its calls that are under way.
    pub crowd: Crowd,
    /// How much of it is told where tools are listed.
    pub brevity: Brevity,
    input: OnceLock<Schema>,
    output: OnceLock<Schema>,
}

/// Who performs a tool.
#[derive(Clone, Debug)]
pub enum By {
    /// A component, in the quarantine.
    Component(Arc<Plugin>),
    /// An MCP server, outside of it.
    Server(Arc<Served>),
}

/// The bundled plugin whose tools tell the time.
const CLOCK: &str = "clock";

/// A tool of an MCP server, as a person has read it.
#[derive(Debug)]
pub struct Served {
    /// Who performs it.
    pub server: Arc<Server>,
    /// What it said of itself then.
    pub definition: Definition,
    /// The same as one name.
    pub digest: Digest,
}

impl Tool {
    /// What it is pinned to: the bytes of its component, or what its server said of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.by {
            By::Component(plugin) => plugin.digest,
            By::Server(served) => served.digest,
        }
    }

    /// Where it comes from, for people.
    #[must_use]
    pub fn origin(&self) -> String {
        match &self.by {
            By::Component(plugin) => plugin.origin.shown(),
            By::Server(served) => format!("MCP server: {}", served.server.terms().place()),
        }
    }

    /// What its outcomes are under the influence of, whatever it is given.
    #[must_use]
    pub fn source(&self) -> Source {
        match &self.by {
            By::Component(_) => Source::new(Sort::Tool, self.name.as_str()),
            By::Server(served) => served.server.terms().source(),
        }
    }

    /// The source that it adds where it says of its outcomes that they are secret.
    #[must_use]
    pub fn secret(&self) -> Option<Source> {
        let is_secret = self.declared.offer.sensitivity == Sensitivity::Secret;
        is_secret.then(|| Source::new(Sort::Secret, self.name.as_str()))
    }

    /// Schema of its arguments, compiled at first use.
    ///
    /// # Errors
    /// `BadPlugin`.
    pub fn input(&self) -> Result<&Schema> {
        compiled(&self.input, &self.declared.input)
    }

    /// Schema of its outcome, compiled at first use.
    ///
    /// # Errors
    /// `BadPlugin`.
    pub fn output(&self) -> Result<&Schema> {
        compiled(&self.output, &self.declared.output)
    }

    /// The tool as discovery sees it: without its examples (G-26).
    #[must_use]
    pub fn listed(&self) -> Listed<'_> {
        Listed {
            name: self.name.as_str(),
            plugin: self.name.plugin(),
            description: &self.declared.description,
            input: &self.declared.input,
            output: &self.declared.output,
            brevity: self.brevity,
        }
    }

    /// The tool as it is shown to a model, with its examples (G-09).
    #[must_use]
    pub fn card(&self) -> Card {
        self.card_with(&self.declared.examples)
    }

    /// The same without examples: of a tool that was found by search (G-26).
    #[must_use]
    pub fn plain_card(&self) -> Card {
        self.card_with(&[])
    }

    fn card_with(&self, examples: &[Example]) -> Card {
        let mut description = self.declared.description.trim().to_owned();
        for example in examples {
            let title = if example.title.is_empty() {
                "Example"
            } else {
                &example.title
            };
            description.push_str(&format!("\n{title}: {}", example.args));
        }
        let mut input = self.declared.input.clone();
        inert_remarks(&mut input);
        Card {
            name: self.name.to_string(),
            description: visible(&description),
            input,
            output: self.declared.output.clone(),
        }
    }
}

/// What a schema says in words hides nothing either. What it demands stays as it is.
fn inert_remarks(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                if let Value::String(text) = value {
                    if key == "description" || key == "title" {
                        *text = visible(text);
                    }
                } else {
                    inert_remarks(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(inert_remarks),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn compiled<'a>(cell: &'a OnceLock<Schema>, source: &serde_json::Value) -> Result<&'a Schema> {
    if let Some(schema) = cell.get() {
        return Ok(schema);
    }
    let schema = Schema::compile(source.clone())?;
    Ok(cell.get_or_init(|| schema))
}

/// The plugins of the configuration, by their names there.
#[derive(Debug, Default)]
pub struct Configured {
    /// Those of the user's own files.
    pub own: BTreeMap<String, Plugin>,
    /// Those of a workspace's.
    pub workspace: BTreeMap<String, Plugin>,
}

/// A server, and what of it is offered.
#[derive(Debug)]
pub struct Offered {
    /// The server.
    pub server: Arc<Server>,
    /// All that a person has read of it, as one name; nothing, where nobody has.
    pub digest: Option<Digest>,
    /// How many of its tools are offered.
    pub tools: usize,
    /// Those that cannot be, and why.
    pub hidden: Vec<String>,
    /// All that it lists, by their names there, offered or not.
    pub listed: Vec<String>,
}

fn looks_like(name: &str, known: &str) -> String {
    format!("the name of the plugin `{name}` looks like `{known}`")
}

impl Offered {
    fn is(&self, name: &str) -> bool {
        self.server.terms().name.as_str() == name
    }
}

/// All tools of a host.
#[derive(Debug, Default)]
pub struct Catalog {
    plugins: Vec<Arc<Plugin>>,
    servers: Vec<Offered>,
    tools: BTreeMap<ToolName, Arc<Tool>>,
}

impl Catalog {
    /// Gathers plugins. Those of the configuration come after the bundled ones, so that none of them can take a bundled
    /// name; and those of a workspace after the user's own, whose names are the same whatever a workspace brings.
    ///
    /// # Errors
    /// `BadInput` for two of one name where policy wants an error or one is a workspace's, or too many plugins.
    pub fn gather(
        bundled: Vec<Plugin>,
        configured: Configured,
        collisions: Collisions,
        policy: &Policy,
    ) -> Result<Self> {
        let count = bundled.len() + configured.own.len() + configured.workspace.len();
        if count > PLUGINS {
            return Err(Error::too_many("the list of plugins", PLUGINS, count));
        }
        let mut catalog = Self::default();
        for plugin in bundled {
            catalog.add(plugin, policy)?;
        }
        let mut names = BTreeMap::new();
        for plugin in configured.own.values() {
            *names.entry(plugin.name.clone()).or_insert(0) += 1;
        }
        for (key, mut plugin) in configured.own {
            let taken = catalog.has_plugin(&plugin.name)
                || catalog.alike(&plugin.name).is_some()
                || names.get(&plugin.name).is_some_and(|count| *count > 1);
            if taken && collisions == Collisions::Error {
                let what = match catalog.alike(&plugin.name) {
                    Some(known) => looks_like(&plugin.name, known),
                    None => format!("two plugins are named `{}`", plugin.name),
                };
                let error = Error::bad_input(what)
                    .hint("write `collisions = \"auto-prefix\"` to call them by their names in `[plugins]`");
                return Err(refused((&key, Some(plugin.digest)), error));
            }
            if taken {
                plugin.name.clone_from(&key);
            }
            catalog.add_configured(&key, plugin, policy)?;
        }
        for (key, mut plugin) in configured.workspace {
            plugin.name.clone_from(&key);
            catalog.add_configured(&key, plugin, policy)?;
        }
        catalog.check_wards(&policy.wards)?;
        Ok(catalog)
    }

    fn add_configured(&mut self, key: &str, plugin: Plugin, policy: &Policy) -> Result<()> {
        let digest = plugin.digest;
        let added = self.add(plugin, policy);
        added.map_err(|error| refused((key, Some(digest)), error))
    }

    /// What policy puts around calls is there, and only looks.
    fn check_wards(&self, wards: &Wards) -> Result<()> {
        for (key, name) in wards.tools() {
            let Some(tool) = self.tools.get(name) else {
                let what = format!("`{key} = \"{name}\"` names no tool that is installed");
                return Err(Error::bad_input(what).hint("`lazaret tools` lists them"));
            };
            let declared = &tool.declared;
            let asks = declared.conduct.needs_approval || declared.requires_confirmation();
            if !declared.effect.leaves_no_trace() || asks {
                let effect = declared.effect.word();
                let what = format!(
                    "`{key} = \"{name}\"` may only look, and without asking; it is {effect}"
                );
                return Err(
                    Error::bad_input(what).hint("name a tool that is `pure` or `read-only`")
                );
            }
        }
        Ok(())
    }

    fn has_plugin(&self, name: &str) -> bool {
        self.plugins.iter().any(|plugin| plugin.name == name)
    }

    /// Another name of a plugin that whoever reads this one may take it for.
    fn alike(&self, name: &str) -> Option<&str> {
        let known = self.plugins.iter().map(|plugin| plugin.name.as_str());
        let mut known = known.chain([script::PLUGIN]);
        known.find(|known| naming::looks_like(known, name))
    }

    fn add(&mut self, plugin: Plugin, policy: &Policy) -> Result<()> {
        if plugin.name == script::PLUGIN {
            let what = format!("a plugin may not be named `{}`", plugin.name);
            return Err(Error::bad_input(what).hint("scripts have that name; give it another one"));
        }
        if self.has_plugin(&plugin.name) {
            let what = format!("two plugins are named `{}`", plugin.name);
            let place = plugin.origin.shown();
            return Err(Error::bad_input(what).hint(format!(
                "give that of `{place}` another name in `[plugins]`"
            )));
        }
        if let Some(known) = self.alike(&plugin.name) {
            return Err(Error::bad_input(looks_like(&plugin.name, known))
                .hint("give it another name in `[plugins]`"));
        }
        let plugin = Arc::new(plugin);
        for declared in &plugin.manifest.tools {
            let name = declared.full_name(&plugin.name)?;
            let rules = policy.bounds.tools;
            rules.check_name(&name)?;
            let grant = Arc::new(declared.narrow(&policy.granted(&name)));
            let said = declared.conduct.at_once.into_iter();
            let most = said.chain(policy.wards.at_once(&name)).min();
            let tool = Tool {
                crowd: Crowd::of(most),
                brevity: policy.scripts.search.brevity,
                name: name.clone(),
                by: By::Component(plugin.clone()),
                declared: Arc::new(rules.shown(declared)),
                grant,
                input: OnceLock::new(),
                output: OnceLock::new(),
            };
            self.tools.insert(name, Arc::new(tool));
        }
        self.plugins.push(plugin);
        Ok(())
    }

    /// Adds a server with the tools that a person has read. What cannot be offered is left out, and said.
    ///
    /// # Errors
    /// `BadInput` where its name is somebody else's, or looks like it.
    pub fn add_server(
        &mut self,
        server: Arc<Server>,
        pin: Option<&Pin>,
        policy: &Policy,
    ) -> Result<()> {
        let name = server.terms().name.clone();
        let known = self.plugins.iter().map(|plugin| plugin.name.clone());
        let mut known = known.chain([script::PLUGIN.to_owned()]);
        let taken = known.find(|known| *known == name || naming::looks_like(known, &name));
        if let Some(taken) = taken {
            let what = format!(
                "[mcp.{name}]: the plugin `{taken}` has that name, or one that looks like it"
            );
            return Err(Error::bad_input(what).hint(
                "give the server another name in `[mcp]`, or, where a workspace brings it, the plugin in its `[plugins]`",
            ));
        }
        let mut hidden = Vec::new();
        let mut tools = 0;
        for definition in pin.map_or(&[][..], |pin| &pin.tools) {
            match self.add_served(&server, definition, policy) {
                Ok(offered) => tools += usize::from(offered),
                Err(error) => hidden.push(format!(
                    "`{}`: {}",
                    shown(&definition.remote),
                    error.message()
                )),
            }
        }
        let listed = pin.map_or(&[][..], |pin| &pin.tools).iter();
        self.servers.push(Offered {
            listed: listed.map(|tool| tool.remote.clone()).collect(),
            digest: pin.map(Pin::digest),
            server,
            tools,
            hidden,
        });
        Ok(())
    }

    /// Whether one is offered that its server lists.
    fn add_served(
        &mut self,
        server: &Arc<Server>,
        definition: &Definition,
        policy: &Policy,
    ) -> Result<bool> {
        let terms = server.terms();
        if !terms.choice.offers(&definition.remote) {
            return Ok(false);
        }
        let line = terms.choice.line(&definition.remote);
        let declared = definition.declared(&line, terms.bounds.call_ms)?;
        let name = declared.full_name(&terms.name)?;
        policy.bounds.tools.check_name(&name)?;
        let most = policy.wards.at_once(&name);
        let tool = Tool {
            name: name.clone(),
            by: By::Server(Arc::new(Served {
                server: server.clone(),
                definition: definition.clone(),
                digest: definition.digest(),
            })),
            declared: Arc::new(declared),
            // It has no guest that could use any.
            grant: Arc::default(),
            crowd: Crowd::of(most),
            brevity: policy.scripts.search.brevity,
            input: OnceLock::new(),
            output: OnceLock::new(),
        };
        self.tools.insert(name, Arc::new(tool));
        Ok(true)
    }

    /// The servers in order of their names.
    #[must_use]
    pub fn servers(&self) -> &[Offered] {
        &self.servers
    }

    /// The plugins in order of arrival.
    #[must_use]
    pub fn plugins(&self) -> &[Arc<Plugin>] {
        &self.plugins
    }

    /// All tools in order of name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// The tool of that name.
    ///
    /// # Errors
    /// `UnknownTool`, with near names among those within `reach`.
    pub fn resolve(&self, name: &str, reach: &[Pattern]) -> Result<&Arc<Tool>> {
        let within = |tool: &Tool| reach.iter().any(|line| line.matches(&tool.name));
        self.found(name, || self.near(name, within))
    }

    /// The tool of that name, for somebody who is told of no tool that is withheld from them: none of those is near.
    ///
    /// # Errors
    /// As [`Catalog::resolve`].
    pub fn resolve_for(&self, name: &str, asker: (&Caller, &Policy)) -> Result<&Arc<Tool>> {
        self.found(name, || self.near(name, |tool| is_for(tool, asker)))
    }

    fn known(&self, name: &str) -> Option<&Arc<Tool>> {
        let name = ToolName::parse(name).ok()?;
        self.tools.get(&name)
    }

    fn found<'a>(
        &'a self,
        name: &str,
        near: impl FnOnce() -> Vec<&'a ToolName>,
    ) -> Result<&'a Arc<Tool>> {
        if let Some(long) = ToolName::none_of(name) {
            let what = format!("no tool has {long}");
            return Err(Error::new(Code::UnknownTool, what).hint("`lazaret tools` lists them"));
        }
        self.known(name).ok_or_else(|| {
            let error = Error::new(
                Code::UnknownTool,
                format!("there is no tool `{}`", shown(name)),
            );
            let plugin = name.split('.').next().unwrap_or_default();
            if self
                .servers
                .iter()
                .any(|one| one.is(plugin) && one.digest.is_none())
            {
                return error.hint(format!(
                    "nobody trusts the MCP server `{plugin}` yet: lazaret servers trust {plugin}"
                ));
            }
            let near = near().into_iter();
            let near: Vec<String> = near.map(|name| format!("`{name}`")).collect();
            if near.is_empty() {
                error.hint("`lazaret tools` lists them")
            } else {
                error.meaning(format!("did you mean {}?", near.join(" or ")))
            }
        })
    }

    /// Whether somebody with this reach is granted both: what anybody may have written, and a way to do harm
    /// with it.
    #[must_use]
    pub fn is_exposed(&self, reach: &[Pattern], policy: &Policy) -> bool {
        let within = self.within(reach, policy);
        let classes = &policy.flows.classes;
        let untrusted = |tool: &&&Arc<Tool>| {
            let foreign = |grant: &MountGrant| !policy.is_own(&grant.mount);
            !tool.grant.fetch.is_empty()
                || tool.declared.outside
                || policy.flows.browse == Browse::Free
                || tool.grant.mounts.iter().any(foreign)
                || !classes.trusted_plugins.contains(tool.name.plugin())
        };
        let changes = |tool: &&&Arc<Tool>| {
            let trusted = classes.trusted_plugins.contains(tool.name.plugin());
            // Whoever is outside is told what it is called with, whatever it says that it does.
            tool.declared.outside || can_change(tool.declared.effect, &tool.grant, trusted)
        };
        within.iter().any(|tool| untrusted(&tool)) && within.iter().any(|tool| changes(&tool))
    }

    /// The tools that policy lets somebody with this reach call, and those that these may call in turn.
    fn within(&self, reach: &[Pattern], policy: &Policy) -> Vec<&Arc<Tool>> {
        let mut reach: Vec<Pattern> = reach.to_vec();
        loop {
            let callable = |tool: &&Arc<Tool>| {
                reach.iter().any(|line| line.matches(&tool.name)) && is_open(tool, policy)
            };
            let found: Vec<&Arc<Tool>> = self.tools.values().filter(callable).collect();
            let calls = found.iter().flat_map(|tool| tool.grant.calls.iter());
            let more: Vec<Pattern> = calls
                .filter(|line| !reach.contains(line))
                .cloned()
                .collect();
            if more.is_empty() {
                return found;
            }
            reach.extend(more);
        }
    }

    /// All who may have a hand in a call of the tool of that name, as long as it has not ended: the tools that it may come to,
    /// those that policy puts around these, whatever they could read, and what they say is secret. Before its end nobody knows
    /// which of that it does; but the code of trusted plugins reads in files what it is asked for, and no more.
    #[must_use]
    pub fn behind(
        &self,
        (name, args): (&str, Option<&Value>),
        caller: &Caller,
        policy: &Policy,
    ) -> Label {
        let trusted = &policy.flows.classes.trusted_plugins;
        let tools = self.beside_call(name, caller, policy);
        // What it is called with by others, nobody knows.
        let once = tools
            .iter()
            .filter(|tool| tool.name.as_str() == name)
            .count()
            == 1;
        let asks = |tool: &Tool| {
            let is_plain = once && tool.grant.calls.is_empty() && tool.name.as_str() == name;
            args.filter(|_| is_plain && trusted.contains(tool.name.plugin()))
        };
        tools.iter().fold(Label::default(), |label, tool| {
            let label = label.join(&match asks(tool) {
                Some(args) => asked(&tool.name, &tool.grant, policy, args),
                None => readable(&tool.grant, &policy.mounts),
            });
            let sources = std::iter::once(tool.source()).chain(tool.secret());
            sources.fold(label, |label, one| label.with(one))
        })
    }

    /// The tools that a call of the tool of that name may come to, itself included.
    fn of_call(&self, name: &str, policy: &Policy) -> Vec<&Arc<Tool>> {
        match self.known(name) {
            // Most call no other: none is looked for.
            Some(tool) if tool.grant.calls.is_empty() => match is_open(tool, policy) {
                true => vec![tool],
                false => Vec::new(),
            },
            Some(tool) => self.within(&[Pattern::exactly(&tool.name)], policy),
            None => Vec::new(),
        }
    }

    /// The same, and those that policy puts around these.
    fn beside_call(&self, name: &str, caller: &Caller, policy: &Policy) -> Vec<&Arc<Tool>> {
        let mut tools = self.of_call(name, policy);
        let wards = tools
            .iter()
            .flat_map(|tool| policy.wards.beside(&tool.name, caller));
        let wards: Vec<&Arc<Tool>> = wards
            .flat_map(|ward| self.of_call(ward.as_str(), policy))
            .collect();
        tools.extend(wards);
        tools
    }

    /// Whether anybody outside may see when a call of the tool of that name begins: a tool that it may come to, or that policy
    /// puts around it, may send requests, is outside itself, or leaves a trace. With `browse = "free"` each of them may send some.
    #[must_use]
    pub fn is_seen(&self, name: &str, caller: &Caller, policy: &Policy) -> bool {
        let sees = |tool: &&Arc<Tool>| {
            policy.flows.browse == Browse::Free
                || !tool.grant.fetch.is_empty()
                || tool.declared.is_sink()
        };
        let tools = self.beside_call(name, caller, policy);
        tools.iter().any(sees)
    }

    /// Whether the outcome of a call of the tool of that name may say what time it is: each guest has a clock, and so has each
    /// server. Of the bundled plugins one tells of it.
    #[must_use]
    pub fn tells_time(&self, name: &str, caller: &Caller, policy: &Policy) -> bool {
        let tells = |tool: &&Arc<Tool>| {
            tool.name.plugin() == CLOCK || bundled_names().all(|own| own != tool.name.plugin())
        };
        let tools = self.beside_call(name, caller, policy);
        tools.iter().any(tells)
    }

    /// What the time of a call of the tool of that name tells that is given what has this label, as long as it has not ended.
    #[must_use]
    pub fn timing(
        &self,
        called: (&str, Option<&Value>),
        given: &Label,
        (caller, policy): (&Caller, &Policy),
    ) -> Timing {
        let read = self.behind(called, caller, policy);
        Timing {
            seen: self.is_seen(called.0, caller, policy),
            secret: policy.flows.classes.is_secret(&read.join(given)),
        }
    }

    /// How calls of the tool of that name may be grouped with others; a tool that is not known cannot run,
    /// so it is taken for one that changes something.
    #[must_use]
    pub fn grouping(&self, name: &str) -> Grouping {
        self.resolve(name, &[]).map_or(Grouping::Alone, |tool| {
            Grouping::of(tool.declared.effect, tool.declared.conduct.sequential)
        })
    }

    /// Whether a call of the tool of that name may be made again when its end is not known.
    #[must_use]
    pub fn is_repeatable(&self, name: &str) -> bool {
        self.resolve(name, &[])
            .is_ok_and(|tool| tool.declared.is_repeatable())
    }

    /// The tools whose own words a refusal may hold: that of the name, or those with names near to it.
    #[must_use]
    pub fn spoken_of(&self, name: &str, asker: (&Caller, &Policy)) -> Vec<&ToolName> {
        match self.resolve(name, &[]) {
            Ok(tool) => vec![&tool.name],
            Err(_) => self.near(name, |tool| is_for(tool, asker)),
        }
    }

    fn near(&self, name: &str, within: impl Fn(&Tool) -> bool) -> Vec<&ToolName> {
        const NEAR: f64 = 0.8;
        if ToolName::none_of(name).is_some() {
            return Vec::new();
        }
        let within = self.tools.values().filter(|tool| within(tool));
        let mut scored: Vec<(f64, &ToolName)> = within
            .map(|tool| {
                let whole = likeness(name, tool.name.as_str());
                (whole.max(likeness(name, tool.name.short())), &tool.name)
            })
            .filter(|(score, _)| *score > NEAR)
            .collect();
        scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// Tools within `reach` that a model may be told of: those that policy would let it call (S-20),
    /// and that are offered on the run's surface.
    #[must_use]
    pub fn told(&self, reach: &[Pattern], policy: &Policy, surface: Surface) -> Vec<&Arc<Tool>> {
        let told = |tool: &&Arc<Tool>| {
            use crate::rules::manifest::Visibility;
            let named = reach.iter().any(|line| line.matches(&tool.name));
            let blocked = policy.block.iter().any(|line| line.matches(&tool.name));
            let open = match tool.declared.offer.visibility {
                Visibility::Public => true,
                Visibility::Local => !surface.is_remote(),
                Visibility::Private | Visibility::User => false,
            };
            let offered = tool.declared.offer.surfaces.contains(&SurfaceWord(surface));
            named && !blocked && open && offered && allowed(policy, &tool.name, tool.declared.risk)
        };
        self.tools.values().filter(told).collect()
    }
}

impl Catalog {
    /// Tools that a client of this surface may call, in order of name (A-13b): of others it learns nothing.
    #[must_use]
    pub fn callable(&self, policy: &Policy, surface: Surface) -> Vec<&Arc<Tool>> {
        let callable = |tool: &&Arc<Tool>| {
            use crate::rules::manifest::Visibility;
            let offer = &tool.declared.offer;
            let open = match offer.visibility {
                Visibility::Public => true,
                Visibility::User => !surface.is_for_models(),
                Visibility::Local => !surface.is_remote(),
                Visibility::Private => false,
            };
            let blocked = policy.block.iter().any(|line| line.matches(&tool.name));
            let offered = offer.surfaces.contains(&SurfaceWord(surface));
            open && !blocked && offered && allowed(policy, &tool.name, tool.declared.risk)
        };
        self.tools.values().filter(callable).collect()
    }
}

/// Whether somebody may be told that there is this tool: one that is offered where they are, and that policy would let
/// them call. Whoever sits before this machine writes the policy, so that a tool without a line is told to them.
fn is_for(tool: &Tool, (caller, policy): (&Caller, &Policy)) -> bool {
    let is_at_hand = caller.origin == Origin::Client && caller.surface == Surface::Cli;
    let offered = &tool.declared.offer.surfaces;
    offered.contains(&SurfaceWord(caller.surface))
        && admits(&tool.name, &tool.declared, caller, policy).is_ok()
        && (is_at_hand || allowed(policy, &tool.name, tool.declared.risk))
}

/// Whether policy lets anybody call this tool.
fn is_open(tool: &Tool, policy: &Policy) -> bool {
    let is_blocked = policy.block.iter().any(|line| line.matches(&tool.name));
    !is_blocked && allowed(policy, &tool.name, tool.declared.risk)
}

fn allowed(policy: &Policy, tool: &ToolName, risk: Risk) -> bool {
    policy.risks.contains(&risk) || policy.line_for(tool, risk).is_some()
}
