//! Lines that are about something, and still do nothing: of tools that nobody may call, of mounts that no tool reaches, or
//! said twice.

use super::{Look, vouched};
use crate::rules::flow::lines::{Browse, Mode};
use crate::rules::grant::{Access, Pattern};
use crate::rules::manifest::EffectClass;
use crate::rules::policy::{Inside, Mount};
use crate::words::id::shown;

impl Look<'_> {
    /// All of it.
    pub(super) fn idle(&mut self) {
        self.blocked();
        self.repeated();
        self.twice();
        self.unneeded();
        self.unreleased();
        self.unused_mounts();
        self.unwritten();
        self.nested();
        self.unjudged();
    }

    /// Lines about tools that are all blocked.
    fn blocked(&mut self) {
        let file = self.file;
        let grants = file.grants.keys().filter_map(|tools| {
            let name = format!("[grants.\"{tools}\"]");
            Some((name.clone(), name, Pattern::try_from(tools.clone()).ok()?))
        });
        let line = |key: &str, table: &str, tools: &Pattern| {
            let line = format!("{table} `{key} = [\"{tools}\"]`");
            (
                table.to_owned(),
                line.trim_start().to_owned(),
                tools.clone(),
            )
        };
        let ask = file.ask.iter().map(|tools| line("ask", "", tools));
        let confirmed = file.confirmed.iter();
        let confirmed = confirmed.map(|tools| line("confirmed", "", tools));
        let release = file.flow.release.iter();
        let release = release.map(|tools| line("release", "[flow]", tools));
        let said: Vec<_> = grants.chain(ask).chain(confirmed).chain(release).collect();
        for (table, line, tools) in said {
            if self.is_blocked(&tools) {
                let what = format!("{line} is about nothing but tools that `block` names");
                self.say(
                    &table,
                    what,
                    "leave it out, or take the tool out of `block`",
                );
            }
        }
    }

    fn is_blocked(&self, tools: &Pattern) -> bool {
        let about = self.catalog.tools();
        let mut about = about.filter(|tool| tools.matches(&tool.name)).peekable();
        let block = &self.policy.block;
        about.peek().is_some()
            && about.all(|tool| block.iter().any(|line| line.matches(&tool.name)))
    }

    /// Entries of a list that another entry says already.
    fn repeated(&mut self) {
        let file = self.file;
        let flow = || "[flow]".to_owned();
        let mut lists = vec![
            (String::new(), "block", &file.block),
            (String::new(), "ask", &file.ask),
            (String::new(), "confirmed", &file.confirmed),
            (flow(), "release", &file.flow.release),
        ];
        let agents = file.agents.iter();
        lists.extend(
            agents.map(|(name, agent)| (format!("[agents.{name}]"), "tools", &agent.tools)),
        );
        let grants = file.grants.iter();
        lists.extend(
            grants.map(|(tools, table)| (format!("[grants.\"{tools}\"]"), "calls", &table.calls)),
        );
        for (table, key, patterns) in lists {
            for (place, pattern) in patterns.iter().enumerate() {
                let covers = |(other, wider): &(usize, &Pattern)| {
                    let again = *wider == pattern;
                    *other != place && wider.covers(pattern) && (!again || *other < place)
                };
                if let Some((_, wider)) = patterns.iter().enumerate().find(covers) {
                    let what = format!("{table} `{key}`: `{pattern}` is in `{wider}` already");
                    self.say(&table, what.trim_start().to_owned(), "leave it out");
                }
            }
        }
        for (table, values) in vouched::lists(file) {
            self.values(&table, "vouch", values);
        }
        self.values("[flow]", "me", &file.flow.me);
    }

    /// Values of a list that are nobody's, or stand in it twice.
    fn values(&mut self, table: &str, key: &str, values: &[String]) {
        for (place, value) in values.iter().enumerate() {
            if value.trim().is_empty() {
                let what = format!("{table} `{key}` has an empty value, which is nobody's");
                self.say(table, what, "leave it out");
                continue;
            }
            if values.iter().take(place).any(|before| before == value) {
                let what = format!("{table} `{key}` has `{}` twice", shown(value));
                self.say(table, what, "leave one out");
            }
        }
    }

    /// Words that one list has twice.
    fn twice(&mut self) {
        let file = self.file;
        let (flow, tiers) = (|| "[flow]".to_owned(), || "[tiers]".to_owned());
        let common = file.flow.common.iter().flatten();
        let risks = file.allow_risk.iter().flatten();
        let mut lists = vec![
            (
                String::new(),
                "allow_risk",
                risks.map(|risk| risk.word()).collect(),
            ),
            (flow(), "common", common.map(|kind| kind.word()).collect()),
            (flow(), "trust", words(&file.flow.trust)),
            (tiers(), "fast", words(&file.tiers.fast)),
            (tiers(), "balanced", words(&file.tiers.balanced)),
            (tiers(), "smart", words(&file.tiers.smart)),
            (
                "[scripts]".to_owned(),
                "models",
                words(&file.scripts.models),
            ),
        ];
        for (name, agent) in &file.agents {
            let table = format!("[agents.{name}]");
            lists.push((table, "models", words(&agent.models)));
        }
        for (name, server) in &file.mcp {
            let table = format!("[mcp.{name}]");
            lists.push((table.clone(), "allow", words(&server.allow)));
            lists.push((table, "block", words(&server.block)));
        }
        for (tool, said) in &file.flow.tools {
            let table = format!("[flow.tools.\"{}\"]", shown(tool));
            lists.push((table, "content", words(&said.content)));
        }
        for (table, key, words) in lists {
            for (place, word) in words.iter().enumerate() {
                if words.iter().take(place).any(|before| before == word) {
                    let what = format!("{table} `{key}` has `{}` twice", shown(word));
                    self.say(&table, what.trim_start().to_owned(), "leave one out");
                }
            }
        }
    }

    /// Leave to skip what nobody asks for.
    fn unneeded(&mut self) {
        let file = self.file;
        for tools in &file.confirmed {
            let about = self.catalog.tools();
            let mut about = about.filter(|tool| tools.matches(&tool.name)).peekable();
            let needed =
                about.peek().is_none() || about.any(|tool| tool.declared.requires_confirmation());
            if !needed {
                let what = format!(
                    "`confirmed = [\"{tools}\"]` is about no tool that asks to be confirmed"
                );
                self.say("", what, "leave it out");
            }
        }
    }

    /// Tools that are released, and of which nothing is judged in any case: they change nothing, and are granted no request.
    fn unreleased(&mut self) {
        let file = self.file;
        for tools in &file.flow.release {
            let about = self.catalog.tools();
            let mut about = about.filter(|tool| tools.matches(&tool.name)).peekable();
            let is_said = about.peek().is_none() || self.is_blocked(tools);
            let judged = about.any(|tool| tool.declared.is_sink() || !tool.grant.fetch.is_empty());
            if !is_said && !judged && self.policy.flows.mode != Mode::Off {
                let what = format!(
                    "[flow] `release = [\"{tools}\"]` is about no tool that changes anything or is granted a request, and no other is judged"
                );
                self.say("[flow]", what, "leave it out");
            }
        }
    }

    fn unused_mounts(&mut self) {
        let file = self.file;
        for name in file.mounts.keys() {
            let lines = self.policy.lines.iter();
            let mut granted = lines.flat_map(|line| line.grant.mounts.iter());
            let mut outer = self.policy.mounts.values();
            let is_inside = |mount: &Mount| mount.inside.iter().any(|one| &*one.mount == name);
            if !granted.any(|grant| &*grant.mount == name) && !outer.any(is_inside) {
                let table = format!("[mounts.{name}]");
                let what = format!("{table} is granted to no tool");
                let fix =
                    format!("write `mounts = {{ {name} = \"read\" }}` at a grant, or leave it out");
                self.say(&table, what, &fix);
            }
        }
    }

    /// What is said of writing into a mount, where nothing is written, or where less is said already.
    fn unwritten(&mut self) {
        let file = self.file;
        for (name, mount) in &file.mounts {
            let table = format!("[mounts.{name}]");
            let access = mount.access.word();
            let keys = [
                ("workspace", mount.workspace),
                ("quota_mib", mount.quota_mib.is_some()),
                ("max_file_mib", mount.max_file_mib.is_some()),
            ];
            if mount.access <= Access::Read {
                for (key, _) in keys.into_iter().filter(|(_, is_said)| *is_said) {
                    let what = format!(
                        "{table} `{key}` counts for nothing beside `access = \"{access}\"`: nothing is written there"
                    );
                    self.say(&table, what, "write `access = \"write\"`, or leave it out");
                }
            } else if let (Some(all), Some(one)) = (mount.quota_mib, mount.max_file_mib)
                && one > all
            {
                let what = format!(
                    "{table} `max_file_mib = {one}` counts for nothing beside `quota_mib = {all}`: no run writes that much there"
                );
                self.say(&table, what, "leave it out, or write less than `quota_mib`");
            }
        }
    }

    /// Mounts inside mounts, where that changes what the outer one gives.
    fn nested(&mut self) {
        let file = self.file;
        for name in file.mounts.keys() {
            let Some(mount) = self.policy.mounts.get(name.as_str()) else {
                continue;
            };
            for inner in mount.inside.iter() {
                let Some(what) = self.changed_by(name, mount, inner) else {
                    continue;
                };
                let table = format!("[mounts.{name}]");
                let fix = "mount folders of which none lies in another, or say the same of both";
                self.say(&table, format!("{table} {what}"), fix);
            }
        }
    }

    fn changed_by(&self, name: &str, mount: &Mount, inner: &Inside) -> Option<String> {
        let own = &self.policy.flows.classes.own_mounts;
        let other = &*inner.mount;
        if inner.names.is_empty() {
            // Said once for the two of them.
            return (name < other).then(|| {
                format!("and [mounts.{other}] are one folder: each gives the least of both, and what is read there has the labels of both")
            });
        }
        let mut less = Vec::new();
        if own.contains(name) && !own.contains(other) {
            less.push("what is read there may be anybody's".to_owned());
        }
        if inner.access < mount.access {
            less.push(format!(
                "no more than `{}` is given there",
                inner.access.word()
            ));
        }
        if mount.workspace && !inner.workspace {
            less.push("it is no workspace there".to_owned());
        }
        let less = less.join(", ");
        (!less.is_empty()).then(|| format!("holds the folder of [mounts.{other}]: {less}"))
    }

    /// Lines of `[flow]` that count where flows are judged, where none are; and sources that cannot be.
    fn unjudged(&mut self) {
        let flow = &self.file.flow;
        let off = self.policy.flows.mode == Mode::Off;
        if off && flow.browse == Some(Browse::Witness) {
            let what = "[flow] `browse = \"witness\"` counts for nothing beside `mode = \"off\"`";
            self.say("[flow]", what.to_owned(), "leave one of the two out");
        }
        // What is vouched for still says what confirms a call that has to be confirmed; so does `strict`, of texts that others
        // read.
        let confirms = self.catalog.tools().any(|tool| {
            let told = tool.declared.outside;
            let told = told || tool.declared.effect == EffectClass::ExternalStateful;
            told && tool.declared.requires_confirmation()
        });
        let judging = [
            ("guards", flow.guards.is_empty()),
            ("release", flow.release.is_empty()),
            ("strict", !flow.strict || confirms),
        ];
        for (key, _) in judging.into_iter().filter(|(_, empty)| off && !empty) {
            let what = format!("[flow] `{key}` counts for nothing beside `mode = \"off\"`");
            self.say("[flow]", what, "leave one of the two out");
        }
        for source in flow.classes.keys() {
            let Some(("mcp", server)) = source.split_once(':') else {
                continue;
            };
            let mut servers = self.catalog.servers().iter();
            if server != "*" && !servers.any(|offered| offered.server.terms().name == server) {
                let name = shown(source);
                let what = format!("[flow.classes] `{name}` is about no MCP server that there is");
                let fix = "write `[mcp.NAME]`, or leave the line out";
                self.say("[flow.classes]", what, fix);
            }
        }
    }
}

/// A list of words.
fn words(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
