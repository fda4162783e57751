//! What the configuration says of MCP servers: `[mcp.NAME]`, whose tools are offered and how far it may go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::mcp_asks::{self, ElicitationWord, SamplingTable};
use super::mcp_login::{self, LoginTable};
use super::resolve::{check_name, in_table};
use super::secrets;
use super::traces::HeaderTable;
use crate::edges::vault::Vault;
use crate::rules::agent::refuse_secrets;
use crate::rules::flow::kind::Kind;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::grant::{Destination, FetchBounds};
use crate::rules::manifest::{EffectClass, Risk, Sensitivity};
use crate::rules::server::{Bounds, Choice, Header, Line, Program, Remote, Terms, Variable, Way};
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::servers::SERVER_BYTES_PER_S_MAX;
use crate::words::limits::{
    CALL_TIMEOUT_MS_MAX, SERVER_CALLS_AT_ONCE_MAX, SERVER_MESSAGE_BYTES_MAX,
    SERVER_MESSAGES_PER_S_MAX, SERVER_MS_MAX, SERVER_RESTARTS_MAX, SERVER_WORDS, SERVERS,
    TRACES_HEADERS,
};

/// `[mcp.NAME]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpTable {
    /// A program that is the server, and its arguments: native code, outside of the quarantine.
    pub command: Vec<String>,
    /// Variables of its environment, which has no others but `PATH`, `HOME` and `TMPDIR`.
    pub env: BTreeMap<String, VariableTable>,
    /// Where it is run, relative to this file; absent: in a folder of its own.
    pub folder: Option<PathBuf>,
    /// Files that the command names and that are no part of the program: they may change without being trusted again.
    pub data: Vec<String>,
    /// In place of a program: where the server is asked over HTTP.
    pub url: Option<String>,
    /// Whether that may be at an address that is not public, such as `localhost`.
    pub private: bool,
    /// Headers, each with a secret.
    pub headers: BTreeMap<String, HeaderTable>,
    /// Its tools that are offered, by their names there; absent: all that were trusted.
    pub allow: Vec<String>,
    /// Its tools that are not.
    pub block: Vec<String>,
    /// Whether you are asked what it wants to know of you in the middle of a call: `off` or `ask`.
    pub elicitation: ElicitationWord,
    /// The model that answers it in the middle of a call, and how far; absent: none does.
    pub sampling: Option<SamplingTable>,
    /// How one logs in to it (`lazaret servers login NAME`), where more has to be known than it says.
    pub login: LoginTable,
    /// What is said of single tools, by their names there.
    pub tools: BTreeMap<String, McpToolTable>,
    /// How far it may go.
    pub limits: McpLimitTable,
}

/// A text, or `{ env = … }` or `{ secret = … }`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "a variable is a text, or `{ env = \"VARIABLE\" }` or `{ secret = \"NAME\" }` for what is secret"
)]
pub enum VariableTable {
    /// This text.
    Plain(String),
    /// What is not written here.
    Kept(KeptTable),
}

/// `{ env = … }` or `{ secret = … }`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeptTable {
    /// The environment variable that holds it.
    #[serde(deserialize_with = "secrets::env")]
    pub env: Option<String>,
    /// The secret of the vault that it is.
    pub secret: Option<String>,
}

/// `[mcp.NAME.tools."TOOL"]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpToolTable {
    /// What it does to the world; absent: the most restrictive that a manifest can say.
    pub effect: Option<EffectClass>,
    /// Its risk class; absent: it follows from the effect.
    pub risk: Option<Risk>,
    /// Whether the same call twice does no more than once.
    pub idempotent: bool,
    /// Whether a person is asked before every call.
    pub needs_approval: bool,
    /// How confidential its outcomes are: `public`, `internal` or `secret`.
    pub sensitivity: Option<Sensitivity>,
    /// Deadline of one call; absent: that of the server.
    pub timeout_ms: Option<u64>,
    /// Arguments that say where, whom, or what to act on, and the kind of their values.
    pub steering: BTreeMap<String, Kind>,
    /// Arguments that are content.
    pub content: Vec<String>,
    /// The argument that names what is made.
    pub naming: String,
}

/// `[mcp.NAME.limits]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpLimitTable {
    /// To start, and to list its tools.
    pub start_timeout_ms: Option<u64>,
    /// One call.
    pub call_timeout_ms: Option<u64>,
    /// To end by itself, before it is killed.
    pub stop_ms: Option<u64>,
    /// One message.
    pub message_bytes: Option<usize>,
    /// Messages in any second.
    pub messages_per_s: Option<u32>,
    /// Bytes in any second; absent: 64 MiB, and no less than two messages.
    pub bytes_per_s: Option<usize>,
    /// Times that it is started again after it ended.
    pub restarts: Option<u32>,
    /// Calls that are under way at once.
    pub calls_at_once: Option<usize>,
}

/// Adds the servers of one file; of two of one name, the first holds.
pub(super) fn add(
    servers: &mut Vec<Terms>,
    vault: &mut Vault,
    (folder, tables): (&Path, &BTreeMap<String, McpTable>),
) -> Result<()> {
    for (name, table) in tables {
        let place = format!("mcp.{name}");
        check_name("an MCP server", name)?;
        if servers.iter().any(|known| known.name == *name) {
            continue;
        }
        let terms = terms(vault, (folder, name), table);
        servers.push(terms.map_err(|error| in_table(&place, &error))?);
    }
    if servers.len() > SERVERS {
        return Err(Error::too_many(
            "the list of MCP servers",
            SERVERS,
            servers.len(),
        ));
    }
    Ok(())
}

fn terms(vault: &mut Vault, (folder, name): (&Path, &str), table: &McpTable) -> Result<Terms> {
    let way = match (table.command.as_slice(), &table.url) {
        ([_, ..], None) => Way::Program(program(vault, (folder, name), table)?),
        ([], Some(url)) => Way::Remote(remote(vault, (name, url), table)?),
        ([_, ..], Some(_)) | ([], None) => {
            return Err(
                Error::bad_input("it has either `command` or `url`").hint(format!(
                    "[mcp.{name}]\ncommand = [\"npx\", \"-y\", \"@example/server\"]"
                )),
            );
        }
    };
    let tools = table.tools.iter();
    let tools = tools.map(|(tool, said)| Ok((tool.clone(), line(tool, said)?)));
    Ok(Terms {
        name: name.to_owned(),
        way,
        choice: Choice {
            allow: table.allow.clone(),
            block: table.block.clone(),
            tools: tools.collect::<Result<_>>()?,
        },
        bounds: bounds(table.limits)?,
        login: mcp_login::login(vault, name, table)?,
        asks: mcp_asks::asks(table.elicitation, table.sampling.as_ref())?,
    })
}

fn program(vault: &mut Vault, (folder, name): (&Path, &str), table: &McpTable) -> Result<Program> {
    if table.private || !table.headers.is_empty() {
        return Err(Error::bad_input(
            "`private` and `headers` are about a `url`, and it has a `command`",
        ));
    }
    let words = table.command.len() + table.env.len();
    if words > SERVER_WORDS {
        return Err(Error::too_many(
            "its command line and environment",
            SERVER_WORDS,
            words,
        ));
    }
    let is_wrong = |word: &&String| word.contains('\0');
    if table.command.iter().any(|word| is_wrong(&word))
        || table.command.first().is_some_and(String::is_empty)
    {
        return Err(Error::bad_input("`command` is no command line"));
    }
    refuse_secrets("`command`", &table.command.join(" "))?;
    let mut env = BTreeMap::new();
    for (variable, said) in &table.env {
        env.insert(
            variable.clone(),
            self::variable(vault, (name, variable), said)?,
        );
    }
    let first = table
        .command
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let mut command = table.command.clone();
    // A path counts from the file that says it; a name is looked for.
    if let Some(program) = command.first_mut().filter(|_| first.contains('/')) {
        *program = folder.join(first).display().to_string();
    }
    Ok(Program {
        command,
        env,
        path: path_variable(),
        folder: table.folder.as_ref().map(|path| folder.join(path)),
        beside: folder.to_owned(),
        data: table.data.clone(),
    })
}

/// Where programs are looked for: the one variable that every server needs.
#[expect(
    clippy::disallowed_methods,
    reason = "what the environment says enters as configuration"
)]
pub(super) fn path_variable() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned())
}

fn variable(
    vault: &mut Vault,
    (server, name): (&str, &str),
    said: &VariableTable,
) -> Result<Variable> {
    if !secrets::is_variable(name) {
        return Err(Error::bad_input(format!(
            "`env` has `{}`, which is no name of a variable",
            shown(name)
        )));
    }
    match said {
        VariableTable::Plain(text) if text.contains('\0') => Err(Error::bad_input(format!(
            "`env.{name}` is no text of a variable"
        ))),
        VariableTable::Plain(text) => {
            refuse_secrets(&format!("`env.{name}`"), text)?;
            Ok(Variable::Plain(text.clone()))
        }
        VariableTable::Kept(kept) => {
            let own = format!("mcp.{server}.env.{}", name.to_ascii_lowercase());
            secret(vault, own, (&kept.env, &kept.secret))
                .map(Variable::Secret)
                .ok_or_else(|| {
                    Error::bad_input(format!("`env.{name}` has either `env` or `secret`"))
                })
        }
    }
}

/// The name of a secret that is in the environment or in the vault, if it is said which.
pub(super) fn secret(
    vault: &mut Vault,
    own: String,
    said: (&Option<String>, &Option<String>),
) -> Option<String> {
    match said {
        (Some(variable), None) => {
            *vault = vault.clone().with_variable(&own, variable);
            Some(own)
        }
        (None, Some(secret)) => Some(secret.clone()),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

fn remote(vault: &mut Vault, (name, url): (&str, &str), table: &McpTable) -> Result<Remote> {
    if !table.env.is_empty() || table.folder.is_some() || !table.data.is_empty() {
        return Err(Error::bad_input(
            "`env`, `folder` and `data` are about a `command`, and it has a `url`",
        ));
    }
    if table.headers.len() > TRACES_HEADERS {
        return Err(Error::too_many(
            "the list of `headers`",
            TRACES_HEADERS,
            table.headers.len(),
        ));
    }
    let mut headers = Vec::new();
    for (header, said) in &table.headers {
        let own = format!("mcp.{name}.headers.{}", header.to_ascii_lowercase());
        let secret = secret(vault, own, (&said.env, &said.secret)).ok_or_else(|| {
            Error::bad_input(format!(
                "`headers.{}` has either `env` or `secret`",
                shown(header)
            ))
            .hint("headers = { authorization = { secret = \"mail-token\", before = \"Bearer \" } }")
        })?;
        headers.push(Header {
            name: header.clone(),
            before: said.before.clone(),
            secret,
        });
    }
    let to = Destination::parse(url, &["POST", "GET", "DELETE"], table.private)?;
    let remote = Remote {
        url: url.to_owned(),
        to: to.bounded(FetchBounds::default()),
        headers,
    };
    // What can never be sent is better said before anything is.
    remote.request("POST", Vec::new(), Vec::new())?;
    Ok(remote)
}

fn line(tool: &str, said: &McpToolTable) -> Result<Line> {
    let both = said
        .steering
        .keys()
        .find(|path| said.content.contains(path));
    if let Some(path) = both {
        let what = format!(
            "`{}` of `{}` steers, and is content too",
            shown(path),
            shown(tool)
        );
        return Err(Error::bad_input(what).hint("leave it in one of the two"));
    }
    if said
        .timeout_ms
        .is_some_and(|ms| !(1..=CALL_TIMEOUT_MS_MAX).contains(&ms))
    {
        let what = format!(
            "`timeout_ms` of `{}` is from 1 to {CALL_TIMEOUT_MS_MAX}",
            shown(tool)
        );
        return Err(Error::bad_input(what));
    }
    Ok(Line {
        effect: said.effect.unwrap_or_default(),
        risk: said.risk.unwrap_or_default(),
        idempotent: said.idempotent,
        needs_approval: said.needs_approval,
        sensitivity: said.sensitivity.unwrap_or_default(),
        timeout_ms: said.timeout_ms,
        flow: ToolFlow {
            steering: said.steering.clone(),
            content: said.content.clone(),
            naming: said.naming.clone(),
            ..ToolFlow::default()
        },
    })
}

fn bounds(table: McpLimitTable) -> Result<Bounds> {
    let usual = Bounds::default();
    let message_bytes = table.message_bytes.unwrap_or(usual.message_bytes);
    // Whoever lets one be so long does not mean that it ends its server.
    let two = message_bytes.saturating_mul(2);
    let bounds = Bounds {
        start_ms: table.start_timeout_ms.unwrap_or(usual.start_ms),
        call_ms: table.call_timeout_ms.unwrap_or(usual.call_ms),
        stop_ms: table.stop_ms.unwrap_or(usual.stop_ms),
        message_bytes,
        messages_per_s: table.messages_per_s.unwrap_or(usual.messages_per_s),
        bytes_per_s: table.bytes_per_s.unwrap_or(usual.bytes_per_s.max(two)),
        restarts: table.restarts.unwrap_or(usual.restarts),
        calls_at_once: table.calls_at_once.unwrap_or(usual.calls_at_once),
    };
    let wrong = |key: &str, least: u64, most: u64| {
        Err(Error::bad_input(format!(
            "`limits.{key}` is from {least} to {most}"
        )))
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    for (key, value, least, most) in [
        ("start_timeout_ms", bounds.start_ms, 1, SERVER_MS_MAX),
        ("call_timeout_ms", bounds.call_ms, 1, CALL_TIMEOUT_MS_MAX),
        ("stop_ms", bounds.stop_ms, 0, SERVER_MS_MAX),
        (
            "message_bytes",
            number(bounds.message_bytes),
            1_024,
            number(SERVER_MESSAGE_BYTES_MAX),
        ),
        (
            "messages_per_s",
            bounds.messages_per_s.into(),
            1,
            SERVER_MESSAGES_PER_S_MAX.into(),
        ),
        (
            "bytes_per_s",
            number(bounds.bytes_per_s),
            1_024,
            number(SERVER_BYTES_PER_S_MAX),
        ),
        (
            "restarts",
            bounds.restarts.into(),
            0,
            SERVER_RESTARTS_MAX.into(),
        ),
        (
            "calls_at_once",
            number(bounds.calls_at_once),
            1,
            number(SERVER_CALLS_AT_ONCE_MAX),
        ),
    ] {
        if !(least..=most).contains(&value) {
            return wrong(key, least, most);
        }
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::vault::Backend;

    fn read(text: &str) -> Result<Vec<Terms>> {
        let tables: BTreeMap<String, McpTable> =
            toml::from_str(text).map_err(|error| Error::bad_input(error.message()))?;
        let (mut servers, folder) = (Vec::new(), Path::new("/nowhere"));
        let mut vault = Vault::new(Backend::default(), folder);
        add(&mut servers, &mut vault, (folder, &tables))?;
        Ok(servers)
    }

    #[test]
    fn a_server_may_ask_for_what_its_table_says_and_for_nothing_else() {
        let asks = |more: &str| {
            let read = read(&format!("[a]\ncommand = [\"x\"]\n{more}"))?;
            Ok::<_, Error>(read.into_iter().next().unwrap().asks)
        };
        assert_eq!(asks("").unwrap(), crate::rules::server::Asks::default());
        assert!(asks("elicitation = \"ask\"").unwrap().elicitation);
        assert!(!asks("elicitation = \"off\"").unwrap().elicitation);
        assert!(asks("elicitation = \"yes\"").is_err());
        let sampling = |tokens: &str, requests: &str| {
            asks(&format!(
                "sampling = {{ model = \"m\", tokens = {tokens}, requests = {requests} }}"
            ))
        };
        assert_eq!(sampling("9", "2").unwrap().sampling.unwrap().requests, 2);
        for (tokens, requests) in [("0", "2"), ("9", "0"), ("99999999999", "2"), ("9", "99999")] {
            assert!(sampling(tokens, requests).is_err(), "{tokens} {requests}");
        }
        assert!(asks("sampling = { model = \"m\" }").is_err());
        assert!(asks("login = { client = \"me\" }").is_err());
        let login = |more: &str| {
            read(&format!(
                "[a]\nurl = \"https://a.test/\"\nlogin = {{ {more} }}"
            ))
        };
        assert!(login("client = \"me\", scope = \"a b\"").is_ok());
        assert!(login("env = \"ME\"").is_err());
        assert!(login("client = \"me\", env = \"ME\", secret = \"me\"").is_err());
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let program = read("[mail]\ncommand = [\"./server\", \"./data\"]").unwrap();
        assert_eq!(program[0].place(), "/nowhere/./server ./data");
        assert_eq!(program[0].bounds, Bounds::default());
        let remote = read("[mail]\nurl = \"https://mcp.example/mcp\"").unwrap();
        assert_eq!(remote[0].place(), "https://mcp.example/mcp");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let of = |rest: &str| format!("[mail]\ncommand = [\"x\"]\n{rest}");
        for (text, says) in [
            ("[mail]".to_owned(), "either `command` or `url`"),
            (
                "[Mail]\ncommand = [\"x\"]".to_owned(),
                "no name for an MCP server",
            ),
            ("[mail]\ncommand = [\"\"]".to_owned(), "no command line"),
            ("[mail]\nurl = \"ftp://a\"".to_owned(), "[mcp.mail]"),
            (
                of("url = \"https://a.example\""),
                "either `command` or `url`",
            ),
            (of("private = true"), "about a `url`"),
            (of("env = { \"A=B\" = \"x\" }"), "no name of a variable"),
            (of("env = { A = {} }"), "either `env` or `secret`"),
            (of("limits.restarts = 1000"), "limits.restarts"),
            (of("limits.message_bytes = 3"), "limits.message_bytes"),
            (of("limits.bytes_per_s = 3"), "limits.bytes_per_s"),
            (of("limits.bytes_per_s = 2000000000"), "limits.bytes_per_s"),
            (of("[mail.tools.t]\ntimeout_ms = 0"), "timeout_ms"),
            (
                of("[mail.tools.t]\nsteering = { a = \"mail\" }\ncontent = [\"a\"]"),
                "content too",
            ),
            (
                of("[mail.tools.t]\neffect = \"harmless\""),
                "unknown variant",
            ),
            (of("trusted = true"), "unknown field"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.message().contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn a_server_may_send_two_messages_in_a_second_however_long_they_may_be() {
        let most = |limits: &str| {
            let read = read(&format!("[a]\ncommand = [\"x\"]\nlimits = {{ {limits} }}"));
            read.unwrap()[0].bounds.bytes_per_s
        };
        let usual = Bounds::default().bytes_per_s;
        for (limits, expected) in [
            ("", usual),
            ("message_bytes = 1024", usual),
            ("message_bytes = 67108864", 134_217_728),
            ("message_bytes = 67108864, bytes_per_s = 2048", 2_048),
        ] {
            assert_eq!(most(limits), expected, "{limits}");
        }
    }

    #[test]
    fn what_nobody_says_is_the_most_restrictive() {
        let line = line("t", &McpToolTable::default()).unwrap();
        assert_eq!(line, Line::default());
        assert_eq!(line.effect, EffectClass::SideEffecting);
    }
}
