//! Lines that say nothing, say something twice, or give more than anybody wants: what is worth a word about a
//! configuration that is well-formed. Nothing here changes what is allowed.

mod classes;
mod idle;
mod lacks;
pub mod outside;
mod proposed;
mod records;
mod servers;
mod sinks;
mod twice;
mod unwarded;
mod vouched;
mod witnesses;

use std::path::Path;

use serde::Serialize;

use self::lacks::Lacks;
use super::file::ConfigFile;
use super::resolve;
use crate::guests::catalog::{By, Catalog, Tool};
use crate::guests::plugin::PluginBytes;
use crate::rules::fetch::is_open_on_the_way;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::flow::shape::has_place;
use crate::rules::grant::{Access, Destination, Grant, Pattern};
use crate::rules::policy::Policy;
use crate::rules::script;
use crate::runs::host::Host;
use crate::words::id::shown;
use crate::words::near::misspelt;

/// Something about a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file that it stands in.
    pub file: String,
    /// The line of it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The table, as it is written.
    pub table: String,
    /// What is the matter.
    pub what: String,
    /// What to write instead.
    pub fix: String,
}

/// One file, and what it is looked at with.
struct Look<'a> {
    path: &'a str,
    file: &'a ConfigFile,
    catalog: &'a Catalog,
    policy: &'a Policy,
    lacks: &'a Lacks,
    /// Whether no file comes behind it: of one thing the first line holds.
    is_last: bool,
    found: Vec<Finding>,
}

/// What is worth a word about these files, in their order.
pub async fn findings(files: &[(String, ConfigFile)], host: &Host) -> Vec<Finding> {
    let (catalog, policy) = (host.catalog(), host.policy());
    let lacks = Lacks::of(files, host).await;
    let last = files.last().map(|(path, _)| path);
    let mut all = Vec::new();
    for (path, file) in files {
        let mut look = Look {
            path,
            file,
            catalog,
            policy,
            lacks: &lacks,
            is_last: last == Some(path),
            found: Vec::new(),
        };
        look.patterns();
        look.plugins();
        look.servers();
        look.agents();
        look.wards();
        look.grants();
        look.flow();
        look.idle();
        look.records();
        look.vouched();
        look.witnesses();
        look.proposed();
        look.outside();
        all.append(&mut look.found);
    }
    all.extend(twice::findings(files, catalog));
    all
}

const LISTED: &str = "`lazaret tools` lists them";

impl Look<'_> {
    fn say(&mut self, table: &str, what: String, fix: &str) {
        self.found.push(Finding {
            file: self.path.to_owned(),
            line: None,
            table: table.to_owned(),
            what,
            fix: fix.to_owned(),
        });
    }

    fn has_tool(&self, pattern: &Pattern) -> bool {
        let script = Pattern::try_from(script::TOOL.to_owned());
        self.catalog.tools().any(|tool| pattern.matches(&tool.name))
            || script.is_ok_and(|script| pattern.covers(&script))
    }

    /// Lists of tools that name none.
    fn patterns(&mut self) {
        let file = self.file;
        let lists = [
            ("block", String::new(), &file.block),
            ("ask", String::new(), &file.ask),
            ("confirmed", String::new(), &file.confirmed),
            ("release", "[flow]".to_owned(), &file.flow.release),
        ];
        let agents = file.agents.iter();
        let agents =
            agents.map(|(name, agent)| ("tools", format!("[agents.{name}]"), &agent.tools));
        for (key, table, patterns) in lists.into_iter().chain(agents) {
            let place = if table.is_empty() {
                String::new()
            } else {
                format!("{table} ")
            };
            for pattern in patterns {
                let line = format!("{place}`{key} = [\"{pattern}\"]`");
                self.about_nothing(&table, &line, pattern);
            }
        }
    }

    /// Names of components that count for nothing: of the user's own files tools are called as their component calls
    /// itself, unless somebody else has that name.
    fn plugins(&mut self) {
        let file = self.file;
        let folder = Path::new(self.path).with_file_name("");
        for (key, component) in &file.plugins {
            let place = PluginBytes::File(resolve::absolute(&folder, component.path())).shown();
            let plugins = self.catalog.plugins().iter();
            let mut of_it = plugins
                .filter(|plugin| plugin.origin.shown() == place)
                .peekable();
            let Some(first) = of_it.peek() else { continue };
            let name = first.name.clone();
            if of_it.any(|plugin| plugin.name == *key) {
                continue;
            }
            let (key, name) = (shown(key), shown(&name));
            let what = format!(
                "[plugins] `{key}` names nothing: the component calls itself `{name}`, and its tools are `{name}.…`"
            );
            let fix = format!(
                "write `{name} = {:?}`",
                component.path().display().to_string()
            );
            self.say("[plugins]", what, &fix);
        }
    }

    /// What policy puts around calls of tools that are not there.
    fn wards(&mut self) {
        let file = self.file;
        let permissions = file.permissions.iter().map(|line| &line.tools);
        let permissions = permissions.map(|tools| ("[[permissions]]", tools.clone()));
        let steps = file.steps.iter().map(|line| &line.tools);
        let steps = steps.map(|tools| ("[[steps]]", tools.clone()));
        let at_once = file.at_once.keys().cloned().map(Pattern::try_from);
        let at_once = at_once.flatten().map(|tools| ("[at_once]", tools));
        for (table, tools) in permissions.chain(steps).chain(at_once) {
            self.about_nothing(table, &format!("{table} `{tools}`"), &tools);
        }
        self.unwarded();
    }

    /// Says so where a line is about no tool.
    fn about_nothing(&mut self, table: &str, line: &str, tools: &Pattern) {
        if self.has_tool(tools) {
            return;
        }
        let unknown = self
            .catalog
            .resolve(&tools.to_string(), &[Pattern::all()])
            .err();
        let near = unknown.as_ref().and_then(|error| error.hints().first());
        let of_plugin = tools.to_string();
        let of_plugin = of_plugin.strip_suffix(".*").and_then(|plugin| {
            let plugins = self
                .catalog
                .plugins()
                .iter()
                .map(|known| known.name.as_str());
            misspelt(plugin, plugins)
        });
        let of_plugin = of_plugin.map(|plugin| format!("did you mean `{plugin}.*`?"));
        let fix = of_plugin.as_ref().or(near).map_or(LISTED, String::as_str);
        let fix = fix.to_owned();
        let fix = fix.as_str();
        let what = format!("{line} is about no tool that is installed");
        self.say(table, what, fix);
    }

    fn grants(&mut self) {
        let file = self.file;
        for (tools, table) in &file.grants {
            let name = format!("[grants.\"{tools}\"]");
            let Ok(pattern) = Pattern::try_from(tools.clone()) else {
                continue;
            };
            let about: Vec<_> = self
                .catalog
                .tools()
                .filter(|tool| pattern.matches(&tool.name))
                .map(|tool| &**tool)
                .collect();
            if about.is_empty() {
                self.about_nothing(&name, &name, &pattern);
                continue;
            }
            let Ok(grant) = resolve::grant(table) else {
                continue;
            };
            self.beyond_mounts(&name, &grant);
            self.beyond_wants(&name, &about, &grant);
            self.secrets(&name, &about, &grant);
            self.fileless(&name, &about, &grant);
        }
    }

    fn beyond_mounts(&mut self, name: &str, grant: &Grant) {
        for wish in &grant.mounts {
            let mount = self.policy.mounts.get(&wish.mount);
            let Some(mount) = mount.filter(|mount| mount.access < wish.access) else {
                continue;
            };
            let (mount_name, wanted) = (shown(&wish.mount), wish.access.word());
            let what = format!(
                "{name} asks \"{wanted}\" of the mount `{mount_name}`, which allows \"{}\"",
                mount.access.word()
            );
            let fix = format!(
                "write `access = \"{wanted}\"` in [mounts.\"{mount_name}\"], or less in the grant"
            );
            self.say(name, what, &fix);
        }
    }

    /// What is granted and no tool of the line has asked for: it counts for nothing.
    fn beyond_wants(&mut self, name: &str, about: &[&Tool], grant: &Grant) {
        let is_mute = |tool: &&Tool| match &tool.by {
            By::Component(plugin) => self.lacks.requests.contains(&plugin.name),
            By::Server(_) => false,
        };
        let all_mute = about.iter().all(is_mute);
        for line in &grant.fetch {
            if all_mute {
                let what = format!("{name} grants `{line}`, and no tool of it can send a request");
                self.say(name, what, "leave it out");
            } else if !about.iter().any(|tool| wants_all(tool, line)) {
                let what = format!("{name} grants `{line}`, and no tool of it wants that much");
                self.say(name, what, &hosts_of(about));
            }
        }
        let most = |wish: fn(&Tool) -> Access| about.iter().map(|tool| wish(tool)).max();
        let files = most(|tool| tool.declared.wants.mounts).unwrap_or_default();
        for mount in grant.mounts.iter().filter(|mount| mount.access > files) {
            let what = format!(
                "{name} grants `{}` in mount `{}`, and no tool of it wants more than `{}`",
                mount.access.word(),
                shown(&mount.mount),
                files.word()
            );
            self.say(
                name,
                what,
                &fewer(files, &format!("mounts = {{ \"{}\" = ", mount.mount), " }"),
            );
        }
        let notes = most(|tool| tool.declared.wants.notes).unwrap_or_default();
        if grant.notes > notes {
            let what = format!(
                "{name} grants `{}` of notes, and no tool of it wants more than `{}`",
                grant.notes.word(),
                notes.word()
            );
            self.say(name, what, &fewer(notes, "notes = ", ""));
        }
        for line in &grant.calls {
            let one = Grant {
                calls: vec![line.clone()],
                ..Grant::default()
            };
            if about
                .iter()
                .all(|tool| tool.declared.narrow(&one).calls.is_empty())
            {
                let what = format!("{name} grants calls of `{line}`, which no tool of it wants");
                self.say(name, what, "leave it out");
            }
        }
    }

    /// A tool gets no secret that it does not declare, whatever a line says; and one that is sent without
    /// encryption is read by whoever is on the way.
    fn secrets(&mut self, name: &str, about: &[&Tool], grant: &Grant) {
        for secret in &grant.secrets {
            let which = format!("{name} secrets: `{}`", secret.name);
            let wants = |tool: &&Tool| tool.declared.wants.secrets.contains(&secret.name);
            if !about.iter().any(wants) {
                self.say(
                    name,
                    format!("{which} is declared by no such tool, so none gets it"),
                    "`lazaret plugin inspect` says what a plugin declares; no bundled tool does, so a server that wants a \
                     secret needs another plugin, or a server of MCP",
                );
            }
            let to = secret.to.place();
            if is_open_on_the_way(&to) {
                self.say(
                    name,
                    format!("{which} is sent to `{to}` without encryption"),
                    "write `https://` if the server speaks it",
                );
            }
        }
    }

    fn flow(&mut self) {
        let flow = &self.file.flow;
        for (tool, said) in &flow.tools {
            let table = format!("[flow.tools.\"{}\"]", shown(tool));
            let known = self.catalog.resolve(tool, &[]).ok().cloned();
            match known {
                None => match Pattern::try_from(tool.to_string()) {
                    Ok(pattern) => self.about_nothing(&table, &table, &pattern),
                    Err(_) => self.say(
                        &table,
                        format!("{table} is about no tool that is installed"),
                        LISTED,
                    ),
                },
                Some(known) => {
                    self.places(&table, &known, said);
                    self.overruled(&table, &known, said);
                    self.no_sink(&table, &known, said);
                }
            }
        }
        for plugin in &flow.trust {
            if !self
                .catalog
                .plugins()
                .iter()
                .any(|known| known.name == *plugin)
            {
                let what =
                    format!("[flow] `trust = [\"{plugin}\"]` is about no plugin that is installed");
                let plugins = self
                    .catalog
                    .plugins()
                    .iter()
                    .map(|known| known.name.as_str());
                let near = misspelt(plugin, plugins);
                let near = near.map(|near| format!("did you mean `{near}`?"));
                let listed = || "`lazaret plugin list` lists them".to_owned();
                self.say("[flow]", what, &near.unwrap_or_else(listed));
            }
        }
        self.read();
        self.classes();
    }

    /// What the words of a plugin's tools, or a server's, are pinned to.
    fn words_of(&self, name: &str) -> Option<String> {
        let mut plugins = self.catalog.plugins().iter();
        let plugin = plugins.find(|known| known.name == *name);
        let mut servers = self.catalog.servers().iter();
        let mut server = || servers.find(|offered| offered.server.terms().name == *name);
        let digest = plugin.map(|plugin| plugin.digest);
        let digest = digest.or_else(|| server().and_then(|offered| offered.digest));
        digest.map(|digest| digest.to_string())
    }

    /// What was read may be another component's by now.
    fn read(&mut self) {
        for (name, digest) in &self.file.flow.read {
            let Some(now) = self.words_of(name) else {
                let what = format!("[flow.read] `{name}` is about no plugin that is installed");
                self.say("[flow.read]", what, "`lazaret plugin list` lists them");
                continue;
            };
            if now != *digest {
                let what = format!(
                    "[flow.read] `{name}` was read in another component, and counts for nothing"
                );
                let fix = format!("`lazaret plugin inspect {name}`, then `{name} = \"{now}\"`");
                self.say("[flow.read]", what, &fix);
            }
        }
    }

    /// What the table of a server says of a tool, and this one says otherwise.
    fn overruled(&mut self, table: &str, tool: &Tool, said: &ToolFlow) {
        let By::Server(served) = &tool.by else { return };
        let remote = &served.definition.remote;
        let line = served.server.terms().choice.line(remote).flow;
        let all = said.or(&line);
        for (key, is_said, holds) in [
            (
                "steering",
                !line.steering.is_empty(),
                all.steering == line.steering,
            ),
            (
                "content",
                !line.content.is_empty(),
                all.content == line.content,
            ),
            ("naming", !line.naming.is_empty(), all.naming == line.naming),
        ] {
            if is_said && !holds {
                let other = format!("[mcp.{}.tools.{}]", tool.name.plugin(), shown(remote));
                let what =
                    format!("{table} says otherwise than {other}, whose `{key}` does not count");
                self.say(table, what, "say it in one of the two");
            }
        }
    }

    /// Paths that no arguments, or no outcome, of the tool can have.
    fn places(&mut self, table: &str, tool: &Tool, said: &ToolFlow) {
        let (input, output) = (&tool.declared.input, &tool.declared.output);
        let single = [
            ("naming", &said.naming),
            ("reply", &said.reply),
            ("records.changes", &said.records.changes),
        ];
        let arguments = said
            .steering
            .keys()
            .map(|path| ("steering", path))
            .chain(said.content.iter().map(|path| ("content", path)))
            .chain(said.new.keys().map(|path| ("new", path)))
            .chain(single)
            .chain(said.records.asks.keys().map(|path| ("records.asks", path)))
            .filter(|(_, path)| !path.is_empty() && !has_place(input, path));
        for (key, path) in arguments {
            let what = format!(
                "{table} {key}: `{}` has no argument `{}`",
                tool.name,
                shown(path)
            );
            self.say(table, what, &properties(input));
        }
        let records = &said.records;
        let single = [
            ("records.title", &records.title),
            ("records.author", &records.author),
            ("records.id", &records.id),
        ];
        let tables = [
            ("records.people", &records.people),
            ("records.trusted", &records.trusted),
            ("records.vouches", &records.vouches),
        ];
        let fields = tables
            .into_iter()
            .flat_map(|(key, fields)| fields.keys().map(move |path| (key, path)));
        for (key, path) in fields.chain(single).filter(|(_, path)| !path.is_empty()) {
            let place = format!("{}/{}", records.at, path);
            if !has_place(output, &place) {
                let what = format!(
                    "{table} {key}: an outcome of `{}` has no `{}`",
                    tool.name,
                    shown(&place)
                );
                self.say(table, what, &properties(output));
            }
        }
    }
}

/// Whether a tool wants all that a line grants. One that names no hosts may want any; whoever wants `GET` may
/// have `HEAD`.
fn wants_all(tool: &Tool, line: &Destination) -> bool {
    let one = Grant {
        fetch: vec![line.clone()],
        ..Grant::default()
    };
    let within: Vec<String> = tool
        .declared
        .narrow(&one)
        .fetch
        .iter()
        .map(ToString::to_string)
        .collect();
    let line = line.to_string();
    let Some((methods, place)) = line.split_once(' ') else {
        return false;
    };
    methods.split('|').all(|method| {
        within
            .iter()
            .filter_map(|one| one.split_once(' '))
            .any(|(wanted, where_to)| {
                let has = |method: &str| wanted.split('|').any(|wanted| wanted == method);
                where_to == place && (has(method) || method == "HEAD" && has("GET"))
            })
    })
}

fn hosts_of(about: &[&Tool]) -> String {
    let mut hosts: Vec<&str> = about
        .iter()
        .flat_map(|tool| tool.declared.wants.hosts.iter().map(String::as_str))
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    format!("their manifests want: {}", shown(&hosts.join(", ")))
}

fn fewer(most: Access, before: &str, after: &str) -> String {
    if most == Access::None {
        "leave it out".to_owned()
    } else {
        format!("write `{before}\"{}\"{after}`", most.word())
    }
}

fn properties(schema: &serde_json::Value) -> String {
    let known = schema
        .get("properties")
        .and_then(serde_json::Value::as_object);
    let names: Vec<&str> = known
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .map(String::as_str)
        .collect();
    format!("it has: {}", shown(&names.join(", ")))
}
