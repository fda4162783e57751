//! Grants that say what another one says already, or says more widely; and permissions about which an earlier line has
//! decided.

use super::{Finding, resolve};
use crate::guests::catalog::{Catalog, Tool};
use crate::rules::grant::{Access, Grant, Pattern};
use crate::rules::manifest::Risk;
use crate::rules::secret::SecretGrant;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::wards::WardTable;
use crate::words::id::shown;

/// One table of grants, and where it stands.
struct Table {
    file: String,
    name: String,
    tools: Pattern,
    grant: Grant,
}

impl Table {
    fn say(&self, what: String, fix: &str) -> Finding {
        let name = &self.name;
        Finding {
            file: self.file.clone(),
            line: None,
            table: name.clone(),
            what: format!("{name} grants {what}"),
            fix: fix.to_owned(),
        }
    }

    fn place(&self) -> String {
        format!("{} in {}", self.name, self.file)
    }
}

const ENOUGH: &str = "one of the two is enough";
const WIDER: &str = "leave the narrower one out, or make the wider one narrower";

/// What is worth a word about the grants of all files together.
pub(super) fn findings(files: &[(String, ConfigFile)], catalog: &Catalog) -> Vec<Finding> {
    let tables = files.iter().flat_map(|(path, file)| {
        file.grants.iter().filter_map(|(tools, table)| {
            Some(Table {
                file: path.clone(),
                name: format!("[grants.\"{tools}\"]"),
                tools: Pattern::try_from(tools.clone()).ok()?,
                grant: resolve::grant(table).ok()?,
            })
        })
    });
    let tables: Vec<Table> = tables.collect();
    let mut found = Vec::new();
    for (place, table) in tables.iter().enumerate() {
        within(table, &mut found);
        secrets_within(table, &mut found);
        for before in tables.iter().take(place) {
            same((before, table), catalog, &mut found);
            wider((before, table), catalog, &mut found);
            wider((table, before), catalog, &mut found);
        }
    }
    decided(files, &mut found);
    found
}

/// Lines of permission that no call reaches: the first line about one decides.
fn decided(files: &[(String, ConfigFile)], found: &mut Vec<Finding>) {
    let lines = files
        .iter()
        .flat_map(|(path, file)| file.permissions.iter().map(move |line| (path, line)));
    let lines: Vec<(&String, &WardTable)> = lines.collect();
    for (place, (path, line)) in lines.iter().enumerate() {
        let mut before = lines.iter().take(place);
        if let Some((other, first)) = before.find(|(_, first)| first.covers(line)) {
            found.push(Finding {
                file: (*path).clone(),
                line: None,
                table: "[[permissions]]".to_owned(),
                what: format!(
                    "[[permissions]] about `{}` counts for nothing behind the one about `{}` in {other}: the first line about a \
                     call decides",
                    line.tools, first.tools
                ),
                fix: "put the narrower line before the wider one, or leave one of the two out".to_owned(),
            });
        }
    }
}

/// Destinations of one list.
fn within(table: &Table, found: &mut Vec<Finding>) {
    let lines = &table.grant.fetch;
    for (place, line) in lines.iter().enumerate() {
        let mut others = lines.iter().enumerate();
        let own = "its own line before does";
        if lines.iter().take(place).any(|before| before == line) {
            found.push(table.say(format!("`{line}` twice, as {own}"), ENOUGH));
        } else if let Some((_, wider)) =
            others.find(|(other, wider)| *other != place && *wider != line && wider.covers(line))
        {
            let what = format!("`{line}`, which its own line `{wider}` covers");
            found.push(table.say(what, WIDER));
        }
    }
}

/// Secrets of one list.
fn secrets_within(table: &Table, found: &mut Vec<Finding>) {
    let lines = &table.grant.secrets;
    for (place, line) in lines.iter().enumerate() {
        let secret = secret(line);
        if lines.iter().take(place).any(|before| before == line) {
            let what = format!("{secret} twice, as its own line before does");
            found.push(table.say(what, ENOUGH));
        } else if let Some(wider) = lines.iter().find(|wider| is_wider(wider, line)) {
            let what = format!(
                "{secret}, which its own line for `{}` covers",
                wider.to.place()
            );
            found.push(table.say(what, WIDER));
        }
    }
}

fn secret(line: &SecretGrant) -> String {
    format!("the secret `{}` for `{}`", line.name, line.to.place())
}

/// Whether a line gives a secret wherever another one does, in the same place of a request, and elsewhere too.
fn is_wider(wide: &SecretGrant, line: &SecretGrant) -> bool {
    wide.name == line.name
        && wide.place == line.place
        && wide.to != line.to
        && wide.to.covers(&line.to)
}

/// Whether a tool is about by both lines. A high-risk tool needs the line that names it alone, whatever a wider one
/// grants.
fn is_about(tool: &Tool, (one, other): (&Pattern, &Pattern)) -> bool {
    let alone = tool.declared.risk == Risk::HighRisk && one.is_exact() != other.is_exact();
    one.matches(&tool.name) && other.matches(&tool.name) && !alone
}

/// What both tables say.
fn same((before, table): (&Table, &Table), catalog: &Catalog, found: &mut Vec<Finding>) {
    let patterns = (&before.tools, &table.tools);
    if !catalog.tools().any(|tool| is_about(tool, patterns)) {
        return;
    }
    let place = before.place();
    let lines = table.grant.fetch.iter();
    for line in lines.filter(|line| before.grant.fetch.contains(line)) {
        found.push(table.say(format!("`{line}`, as {place} does"), ENOUGH));
    }
    let mounts = table.grant.mounts.iter();
    for mount in mounts.filter(|mount| before.grant.mounts.contains(mount)) {
        let (access, name) = (mount.access.word(), shown(&mount.mount));
        let what = format!("`{access}` in mount `{name}`, as {place} does");
        found.push(table.say(what, ENOUGH));
    }
    if table.grant.notes != Access::None && table.grant.notes == before.grant.notes {
        let access = table.grant.notes.word();
        found.push(table.say(format!("`{access}` of notes, as {place} does"), ENOUGH));
    }
    let calls = table.grant.calls.iter();
    for line in calls.filter(|line| before.grant.calls.contains(line)) {
        found.push(table.say(format!("calls of `{line}`, as {place} does"), ENOUGH));
    }
    let secrets = table.grant.secrets.iter();
    for line in secrets.filter(|line| before.grant.secrets.contains(line)) {
        found.push(table.say(format!("{}, as {place} does", secret(line)), ENOUGH));
    }
}

/// What one table says of tools of which the wide one says more, of all of them.
fn wider((wide, table): (&Table, &Table), catalog: &Catalog, found: &mut Vec<Finding>) {
    let mut about = catalog
        .tools()
        .filter(|tool| table.tools.matches(&tool.name))
        .peekable();
    let patterns = (&wide.tools, &table.tools);
    if about.peek().is_none() || !about.all(|tool| is_about(tool, patterns)) {
        return;
    }
    let place = wide.place();
    for line in &table.grant.fetch {
        let covers = wide.grant.fetch.iter();
        let mut covers = covers.filter(|wider| *wider != line && wider.covers(line));
        if let Some(wider) = covers.next() {
            let what = format!("`{line}`, which `{wider}` of {place} covers");
            found.push(table.say(what, WIDER));
        }
    }
    for mount in &table.grant.mounts {
        let more = |wider: &&crate::rules::grant::MountGrant| {
            wider.mount == mount.mount && wider.access > mount.access
        };
        if let Some(wider) = wide.grant.mounts.iter().find(more) {
            let (access, name) = (mount.access.word(), shown(&mount.mount));
            let more = wider.access.word();
            let what = format!("`{access}` in mount `{name}`, where {place} grants `{more}`");
            found.push(table.say(what, WIDER));
        }
    }
    if table.grant.notes != Access::None && wide.grant.notes > table.grant.notes {
        let (access, more) = (table.grant.notes.word(), wide.grant.notes.word());
        let what = format!("`{access}` of notes, where {place} grants `{more}`");
        found.push(table.say(what, WIDER));
    }
    for line in &table.grant.calls {
        let mut calls = wide.grant.calls.iter();
        if let Some(wider) = calls.find(|wider| *wider != line && wider.covers(line)) {
            let what = format!("calls of `{line}`, which `{wider}` of {place} covers");
            found.push(table.say(what, WIDER));
        }
    }
    for line in &table.grant.secrets {
        let mut secrets = wide.grant.secrets.iter();
        if let Some(wider) = secrets.find(|wider| is_wider(wider, line)) {
            let to = wider.to.place();
            let what = format!(
                "{}, which the line for `{to}` of {place} covers",
                secret(line)
            );
            found.push(table.say(what, WIDER));
        }
    }
}
