//! What a file would give: all that its owner says yes to when they trust it.
//!
//! Whatever starts, asks, reads, sends or loosens is said, and in the words of the file where those say it best.

use std::path::Path;

use serde::Serialize;
use toml::{Table, Value};

use super::super::print;
use crate::guests::plugin::PluginBytes;
use crate::rules::advice::written;
use crate::rules::grant::Access;
use crate::surfaces::config::file::{
    ConfigFile, FetchEntry, GrantTable, ModelTable, MountTable, looking,
};
use crate::surfaces::config::mcp::{McpTable, VariableTable};
use crate::surfaces::config::mcp_asks::{ElicitationWord, SamplingTable};
use crate::surfaces::config::mcp_login::LoginTable;
use crate::surfaces::config::secrets::SecretTable;
use crate::surfaces::config::traces::HeaderTable;
use crate::surfaces::paint::strong;
use crate::words::inert::one_line;

/// One thing, and what the file gives it.
#[derive(Debug, Serialize)]
pub(in crate::surfaces::cli) struct Gift {
    what: String,
    gives: String,
    /// More of it, a line each.
    with: Vec<String>,
}

impl Gift {
    fn new(what: String, gives: impl Into<String>) -> Self {
        Self {
            what,
            gives: gives.into(),
            with: Vec::new(),
        }
    }
}

/// Keys that are said as they are written, and the tables that they stand in; `*` is every key of a table.
const AS_WRITTEN: [(&str, &str); 18] = [
    ("", "profile"),
    ("", "ask"),
    ("", "block"),
    ("", "permissions"),
    ("", "confirmed"),
    ("", "allow_risk"),
    ("", "unattended"),
    ("", "steps"),
    ("flow", "*"),
    ("inbound", "*"),
    ("scrub", "*"),
    ("vault", "*"),
    ("scripts", "*"),
    ("serve", "*"),
    ("mcp_server", "*"),
    ("compaction", "model"),
    ("compaction", "after"),
    ("names", "*"),
];

/// All that the file at `path` gives, the widest first.
pub(in crate::surfaces::cli) fn gifts(file: &ConfigFile, path: &Path) -> Vec<Gift> {
    let mut all: Vec<Gift> = Vec::new();
    all.extend(
        file.mcp
            .iter()
            .map(|(name, server)| of_server(name, server)),
    );
    all.extend(of_plugins(file, path));
    all.extend(of_traces(file));
    all.extend(
        file.models
            .iter()
            .map(|(name, model)| of_model(name, model)),
    );
    all.extend(
        file.mounts
            .iter()
            .map(|(name, mount)| of_mount(name, mount)),
    );
    all.extend(
        file.grants
            .iter()
            .map(|(tools, grant)| of_grant(tools, grant)),
    );
    for (name, agent) in &file.agents {
        let tools: Vec<String> = agent.tools.iter().map(ToString::to_string).collect();
        let gives = format!("tools {}, models {}", listed(&tools), listed(&agent.models));
        all.push(Gift::new(format!("agent {name}"), gives));
    }
    all.extend(as_written(file));
    all
}

/// Prints them, a line each.
pub(super) fn say(gifts: &[Gift]) {
    for gift in gifts {
        print::line(format!(
            "  {} {}",
            strong(one_line(&gift.what)),
            one_line(&gift.gives)
        ));
        for more in &gift.with {
            print::line(format!("    {}", one_line(more)));
        }
    }
}

/// A server that the file starts or asks: that is outside of the quarantine.
fn of_server(name: &str, server: &McpTable) -> Gift {
    let gives = match &server.url {
        Some(url) => format!("asks {url}{}", at_private(server.private)),
        None => format!(
            "starts `{}`, native code outside of the quarantine",
            server.command.join(" ")
        ),
    };
    let variables = server.env.iter().map(|(variable, said)| match said {
        VariableTable::Plain(value) => format!("{variable}={value} in its environment"),
        VariableTable::Kept(kept) => {
            let kept = kept_in(kept.env.as_deref(), kept.secret.as_deref());
            format!("{kept} in its variable {variable}")
        }
    });
    let folder = server.folder.iter();
    let folder = folder.map(|folder| format!("in the folder {}", folder.display()));
    let headers = server.headers.iter().map(in_header);
    let asks = of_login(&server.login).into_iter().chain(asked(server));
    // The most restrictive where nothing is said.
    let tools = server.tools.iter();
    let tools = tools.filter_map(|(name, tool)| Some((name, tool.effect?)));
    let tools = tools.filter(|(_, effect)| effect.leaves_no_trace());
    let tools = tools.map(|(name, effect)| format!("its tool {name} is {}", effect.word()));
    Gift {
        with: folder
            .chain(variables)
            .chain(headers)
            .chain(asks)
            .chain(tools)
            .collect(),
        ..Gift::new(format!("MCP server {name}"), gives)
    }
}

/// Whom a login tells what: a secret goes to whoever the file names.
fn of_login(login: &LoginTable) -> Vec<String> {
    let mut said = Vec::new();
    let issuer = login.issuer.as_deref();
    if *login != LoginTable::default() {
        let client = match login.client.as_str() {
            "" => "as a new client",
            client => client,
        };
        let secret = match (&login.env, &login.secret) {
            (None, None) => String::new(),
            (env, secret) => format!(" with {}", kept_in(env.as_deref(), secret.as_deref())),
        };
        let issuer = issuer.unwrap_or("whoever it names");
        said.push(format!("login: {client}{secret}, told to {issuer}"));
    }
    let token = login.token.iter();
    said.extend(token.map(|token| format!("login: code and secret go to {token}")));
    if !login.scope.is_empty() {
        said.push(format!("login: asks for {}", login.scope));
    }
    said
}

/// What the server may ask for in the middle of a call.
fn asked(server: &McpTable) -> Vec<String> {
    let form = (server.elicitation == ElicitationWord::Ask)
        .then(|| "asks you questions in the middle of its calls (elicitation)".to_owned());
    let sampling = server.sampling.as_ref();
    let model = sampling.map(
        |SamplingTable {
             model,
             tokens,
             requests,
         }| {
            format!(
                "asks the model {model}: {tokens} tokens, {requests} requests in a run (sampling)"
            )
        },
    );
    form.into_iter().chain(model).collect()
}

/// Components, by what they are by now: another one of the same name shows.
fn of_plugins(file: &ConfigFile, path: &Path) -> Vec<Gift> {
    let plugins = file.plugins.iter().map(|(name, component)| {
        let bytes = PluginBytes::File(path.with_file_name("").join(component.path()));
        let digest = bytes.digest();
        let digest = digest.map_or_else(|_| "not there".to_owned(), |digest| digest.short());
        let signed = component
            .signed_by()
            .map_or(String::new(), |by| format!(", signed by {by}"));
        let shown = component.path().display();
        let gives = format!("is the component `{shown}` ({digest}){signed}");
        Gift::new(format!("plugin {name}"), gives)
    });
    plugins.collect()
}

/// Whom the file tells of runs, and with which secrets.
fn of_traces(file: &ConfigFile) -> Option<Gift> {
    let endpoint = file.traces.endpoint.as_ref()?;
    let gives = format!(
        "of every run go to {endpoint}{}",
        at_private(file.traces.private)
    );
    Some(Gift {
        with: file.traces.headers.iter().map(in_header).collect(),
        ..Gift::new("traces".to_owned(), gives)
    })
}

/// Whom the file tells what runs read, and with whose key.
fn of_model(name: &str, model: &ModelTable) -> Gift {
    let gives = match model {
        ModelTable::Scripted(scripted) => {
            format!("replies from the file `{}`", scripted.script.display())
        }
        ModelTable::OpenAi(remote)
        | ModelTable::Responses(remote)
        | ModelTable::Anthropic(remote)
        | ModelTable::Gemini(remote)
        | ModelTable::Ollama(remote) => {
            let key = match remote.key_env.as_str() {
                "" => String::new(),
                variable => format!(", with variable {variable} as its key"),
            };
            format!(
                "is asked at {}{}{key}",
                remote.url,
                at_private(remote.private)
            )
        }
    };
    Gift::new(format!("model {name}"), gives)
}

fn of_mount(name: &str, mount: &MountTable) -> Gift {
    let own = match mount.own {
        true => ", trusted as the user's own (own)",
        false => "",
    };
    let workspace = match mount.workspace {
        true => ", new files need nobody's word (workspace)",
        false => "",
    };
    let folder = mount.path.display();
    let gives = format!("{} {folder}{own}{workspace}", mount.access.word());
    Gift::new(format!("mount {name}"), gives)
}

fn of_grant(tools: &str, grant: &GrantTable) -> Gift {
    let parts = [
        (grant.fetch.len(), "destination"),
        (grant.mounts.len(), "mount"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = parts
        .map(|(count, what)| print::counted(count, what))
        .collect();
    if grant.notes != Access::None {
        parts.push(format!("notes {}", grant.notes.word()));
    }
    let gives = match parts.as_slice() {
        [] => "may be called".to_owned(),
        parts => parts.join(", "),
    };
    let mut with: Vec<String> = grant.fetch.iter().map(destination).collect();
    let mounts = grant.mounts.iter();
    with.extend(mounts.map(|(mount, access)| format!("{} in mount {mount}", access.word())));
    with.extend(grant.calls.iter().map(|tools| format!("calls {tools}")));
    let secrets = grant.secrets.iter();
    with.extend(
        secrets.map(|secret| format!("secret {} to {}{}", secret.name, secret.to, placed(secret))),
    );
    if grant.wasi_files {
        with.push("its mounts through wasi:filesystem (wasi_files)".to_owned());
    }
    Gift {
        with,
        ..Gift::new(tools.to_owned(), gives)
    }
}

/// Where a secret stands in the request.
fn placed(secret: &SecretTable) -> String {
    let places = [
        ("header", &secret.header),
        ("query parameter", &secret.query),
        ("JSON field", &secret.json),
        ("password of", &secret.basic),
    ];
    let places = places.into_iter();
    let places = places.filter_map(|(what, place)| Some(format!(", {what} {}", place.as_ref()?)));
    places.collect()
}

fn destination(entry: &FetchEntry) -> String {
    let (url, methods, private) = match entry {
        FetchEntry::Url(url) => (url, looking(), false),
        FetchEntry::Table(table) => (&table.url, table.methods.clone(), table.private),
    };
    format!("{} {url}{}", methods.join("|"), at_private(private))
}

fn at_private(private: bool) -> &'static str {
    if private {
        " (private addresses too)"
    } else {
        ""
    }
}

fn in_header((header, said): (&String, &HeaderTable)) -> String {
    let kept = kept_in(said.env.as_deref(), said.secret.as_deref());
    format!("{kept} in header {header}")
}

fn kept_in(variable: Option<&str>, secret: Option<&str>) -> String {
    match variable {
        Some(variable) => format!("variable {variable}"),
        None => format!("secret {}", secret.unwrap_or_default()),
    }
}

fn listed(all: &[String]) -> String {
    match all {
        [] => "none".to_owned(),
        all => all.join(", "),
    }
}

/// What is said as it is written, whatever keys these tables come to have.
fn as_written(file: &ConfigFile) -> Vec<Gift> {
    let text = String::from_utf8_lossy(&file.bytes);
    let Ok(tables) = toml::from_str::<Table>(&text) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (table, key) in AS_WRITTEN {
        let place = match table {
            "" => Some(&tables),
            table => tables.get(table).and_then(Value::as_table),
        };
        let lines = place.into_iter().flatten();
        let lines = lines.filter(|(name, _)| key == "*" || key == name.as_str());
        let said = match table {
            "" => String::new(),
            table => format!("[{table}] "),
        };
        all.extend(lines.map(|(name, value)| Gift {
            with: loosened((table, name.as_str()), value),
            ..Gift::new(format!("{said}{name}"), format!("= {}", written(value)))
        }));
    }
    all
}

/// What a line lets pass that is judged where no file says anything.
fn loosened(key: (&str, &str), value: &Value) -> Vec<String> {
    let said = value.as_str().filter(|_| key == ("flow", "mode"));
    let what = match said.unwrap_or_default() {
        "off" => "flows are not judged",
        "shadow" => "what flows would be asked about, or denied, passes",
        _ => return Vec::new(),
    };
    vec![format!("loosens: {what}, unless you say a `mode` yourself")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_table_that_loosens_is_said_as_it_is_written() {
        let text = "confirmed = [\"a.b\"]\nask = [\"c.d\"]\nblock = [\"e.f\"]\n[flow]\nmode = \"off\"\nvouch = [\"x\", \"\\u202ey\"]\n[flow.tools.\"a.b\"]\n\
                    accepts = \"private\"\n[serve]\nlisten = \"0.0.0.0:1\"\n";
        let file: ConfigFile = toml::from_str(text).unwrap();
        let file = ConfigFile {
            bytes: text.as_bytes().to_vec(),
            ..file
        };
        let said: Vec<String> = as_written(&file)
            .iter()
            .map(|gift| format!("{} {} {}", gift.what, gift.gives, gift.with.join(" ")))
            .collect();
        for part in [
            "confirmed = [\"a.b\"]",
            "ask = [\"c.d\"]",
            "block = [\"e.f\"]",
            "[flow] mode = \"off\" loosens: flows are not judged",
            "[flow] vouch = [\"x\", \"\\u202Ey\"]",
            "accepts = \"private\"",
            "[serve] listen = \"0.0.0.0:1\"",
        ] {
            assert!(
                said.iter().any(|line| line.contains(part)),
                "{part}: {said:?}"
            );
        }
        let loose = |mode: &str| loosened(("flow", "mode"), &Value::from(mode)).len();
        assert_eq!(
            ["auto", "off", "shadow", "enforce"].map(loose),
            [0, 1, 1, 0]
        );
        assert!(loosened(("flow", "hold"), &Value::from("off")).is_empty());
    }
}
