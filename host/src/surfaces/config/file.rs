//! `lazaret.toml` as it is written: every key that there is, and an error with line and nearest key
//! for every other.

use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::budget::{BudgetTable, PriceTable};
use super::chain::{ChainTable, TierTable};
use super::context::ContextTable;
use super::faults::explain;
use super::flow::FlowTable;
use super::mcp::McpTable;
use super::mcp_server::McpServerTable;
use super::names::NamesTable;
use super::pace::PaceTable;
use super::profile::{Profile, Version};
use super::secrets::{self, ScrubTable, SecretTable, VaultTable};
use super::serve::ServeTable;
use super::tools::ToolsTable;
use super::traces::TracesTable;
use super::wards::{StepTable, WardTable};
use crate::edges::named;
use crate::guests::catalog::Collisions;
use crate::rules::candidate::{Accepts, Can};
use crate::rules::context::rolling::RollingTable;
use crate::rules::context::tokens::Tokenizer;
use crate::rules::grant::{Access, Pattern};
use crate::rules::inbound::Treatment;
use crate::rules::manifest::Risk;
use crate::rules::pace::OnDenied;
use crate::rules::questions::Unattended;
use crate::rules::running::Pending;
use crate::rules::sanitise::CapTable;
use crate::rules::signed::Signer;
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::limits::CONFIG_BYTES;
use crate::words::message::Calling;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// Which form of this file it is: 1.
    pub version: Version,
    /// Numbers and names to begin with, which everything else is said over: `relavium`, `graphorin`, `sage`,
    /// `ageniti` or `oxydra`.
    pub profile: Option<Profile>,
    /// Tools that nobody may call.
    pub block: Vec<Pattern>,
    /// Tools that a person is asked about before every call.
    pub ask: Vec<Pattern>,
    /// Tools whose calls by models, scripts and tools count as confirmed, where their manifests want that; each is named
    /// alone. A client confirms by itself.
    pub confirmed: Vec<Pattern>,
    /// Who may call what, beside what is granted.
    pub permissions: Vec<WardTable>,
    /// What is done around calls.
    pub steps: Vec<StepTable>,
    /// How many calls of one tool are made at once, by tools; a manifest may say less.
    pub at_once: BTreeMap<String, u32>,
    /// What becomes of a question where nobody is there to be asked; absent: the run waits.
    pub unattended: Option<Unattended>,
    /// How long questions may be answered; absent: for ever.
    pub ask_expires_s: Option<u64>,
    /// Risk classes that need no line; absent: the classes that only look.
    pub allow_risk: Option<Vec<Risk>>,
    /// What happens when two plugins of your own files have one name. One of a workspace's file is called by its name in
    /// `[plugins]` there.
    pub collisions: Collisions,
    /// Components beside the bundled ones, by name. In a workspace's file that is what their tools are called by; in your
    /// own it is where the name of their manifest is taken.
    pub plugins: BTreeMap<String, PluginEntry>,
    /// MCP servers, whose tools are called as others are: programs on this machine, or elsewhere.
    pub mcp: BTreeMap<String, McpTable>,
    /// Folders that grants may speak of.
    pub mounts: BTreeMap<String, MountTable>,
    /// Who may what.
    pub grants: BTreeMap<String, GrantTable>,
    /// How far runs of agents go, where `[agents.NAME]` does not say.
    pub pace: PaceTable,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentTable>,
    /// Models by name.
    pub models: BTreeMap<String, ModelTable>,
    /// How patient runs are with their models.
    pub chain: ChainTable,
    /// Names for how good a model has to be.
    pub tiers: TierTable,
    /// What a client's own scripts may ask.
    pub scripts: ScriptTable,
    /// Bounds of every guest.
    pub limits: LimitTable,
    /// How runs are given up.
    pub abort: AbortTable,
    /// Which outcomes are given again.
    pub cache: CacheTable,
    /// What may flow where.
    pub flow: FlowTable,
    /// What is done with text that comes in.
    pub inbound: InboundTable,
    /// Who keeps secrets.
    pub vault: VaultTable,
    /// What is guessed to be one.
    pub scrub: ScrubTable,
    /// How much of an outcome a model reads.
    pub observations: CapTable,
    /// What models know the host's own tools by.
    pub names: NamesTable,
    /// What tools may be called, and how much of them is shown.
    pub tools: ToolsTable,
    /// What a search for tools finds.
    pub search: SearchTable,
    /// How models are put in order, where `order = "health"`.
    pub health: HealthTable,
    /// What models take at once.
    pub context: ContextTable,
    /// When older turns are folded into a summary.
    pub compaction: RollingTable,
    /// Whom spans of runs are told to.
    pub traces: TracesTable,
    /// What `lazaret serve` allows.
    pub serve: ServeTable,
    /// How clients of MCP are served.
    pub mcp_server: McpServerTable,
    /// The bytes that were read.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// `NAME = …` in `[plugins]`: a file alone is whoever's it is.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "a plugin is a path, or a table with `path` and `signed_by`, a key as `lazaret plugin keygen` prints it"
)]
pub enum PluginEntry {
    /// A component, relative to the file.
    Path(PathBuf),
    /// One that somebody has to have signed.
    Signed(SignedTable),
}

/// `{ path = …, signed_by = … }`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedTable {
    /// A component, relative to the file; its signature lies beside it.
    pub path: PathBuf,
    /// The public key of whoever signs it: `ed25519:…`.
    pub signed_by: Signer,
}

impl PluginEntry {
    /// Its file, as it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Path(path) | Self::Signed(SignedTable { path, .. }) => path,
        }
    }

    /// Who has to have signed it.
    #[must_use]
    pub fn signed_by(&self) -> Option<Signer> {
        match self {
            Self::Path(_) => None,
            Self::Signed(table) => Some(table.signed_by),
        }
    }
}

/// `[mounts.NAME]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MountTable {
    /// The folder, relative to the file.
    pub path: PathBuf,
    /// The most that a grant can give.
    #[serde(default = "read")]
    pub access: Access,
    /// Whether what lies in it is the user's own, and trusted as their word is not but their records are.
    #[serde(default)]
    pub own: bool,
    /// Whether making a new file in it needs nobody's word.
    #[serde(default)]
    pub workspace: bool,
    /// What one run may write into it; absent: what the host allows at all, and likewise below.
    #[serde(default)]
    pub quota_mib: Option<u64>,
    /// The biggest file that may be written.
    #[serde(default)]
    pub max_file_mib: Option<u64>,
}

fn read() -> Access {
    Access::Read
}

/// `[grants."TOOLS"]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GrantTable {
    /// Where requests may go: `https://api.example.org/v1/` is one server, and the beginning of a path that ends at a `/`;
    /// `https://*.example.org/` is each name of exactly one label before that, and never `example.org` itself. A `*` stands
    /// nowhere else.
    pub fetch: Vec<FetchEntry>,
    /// Which mounts, and how far.
    pub mounts: BTreeMap<String, Access>,
    /// The plugin's own notes.
    pub notes: Access,
    /// Tools that it may call.
    pub calls: Vec<Pattern>,
    /// Secrets that it may place in its requests.
    pub secrets: Vec<SecretTable>,
    /// Whether it sees its mounts through `wasi:filesystem` as well.
    pub wasi_files: bool,
}

/// A destination: a URL alone means `GET` and `HEAD` to public addresses.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "a destination is a URL, or a table with `url` and, if wanted, `methods`, `private`, \
                 `max_request_bytes`, `max_answer_bytes` and `per_minute`"
)]
pub enum FetchEntry {
    /// A URL.
    Url(String),
    /// With methods, private addresses, or bounds.
    Table(FetchTable),
}

/// `{ url = …, methods = […], private = …, max_request_bytes = …, max_answer_bytes = …, per_minute = … }`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchTable {
    /// Scheme, host, port and the beginning of the path, which ends at a `/`; `https://*.example.org/` is each name of
    /// exactly one label before that.
    pub url: String,
    /// Methods in capitals.
    #[serde(default = "looking")]
    pub methods: Vec<String>,
    /// Whether the name may lead to an address that is not public.
    #[serde(default)]
    pub private: bool,
    /// Body of one request; absent: what the host allows at all, and likewise below.
    #[serde(default)]
    pub max_request_bytes: Option<usize>,
    /// Body of one answer, decoded.
    #[serde(default)]
    pub max_answer_bytes: Option<usize>,
    /// Requests of each tool by this line in any minute, counted in each process anew: commands that run beside each other
    /// have as many each.
    #[serde(default)]
    pub per_minute: Option<u32>,
}

/// Methods that only look.
#[must_use]
pub fn looking() -> Vec<String> {
    vec!["GET".to_owned(), "HEAD".to_owned()]
}

/// `[agents.NAME]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentTable {
    /// What it is told first, literally.
    pub instructions: String,
    /// Tools that it may call: one by its full name, `PLUGIN.*` for all of a plugin or MCP server, or `*` for all.
    pub tools: Vec<Pattern>,
    /// Models or tiers, first choice first.
    pub models: Vec<String>,
    /// Provider calls of one run.
    pub turns: Option<u32>,
    /// Provider calls of all runs of a session together; absent: each run has its own turns.
    pub session_turns: Option<u32>,
    /// How its model calls tools: `direct`, `code` or `both`.
    pub calling: Calling,
    /// How much of its models one run may use.
    pub budget: BudgetTable,
    /// How patient its runs are with their models.
    pub chain: ChainTable,
    /// The JSON Schema of its answers.
    pub answer: Option<serde_json::Value>,
    /// A file with that schema, relative to this one.
    pub answer_schema: Option<PathBuf>,
    /// Calls of one turn that are made.
    pub calls_per_turn: Option<usize>,
    /// Calls of its model, all turns together.
    pub calls: Option<u32>,
    /// Malformed calls that are told to the model.
    pub corrections: Option<u32>,
    /// Turns in a row in which every call failed, that are told to the model.
    pub failed_turns: Option<u32>,
    /// So many turns in a row that are the same end the run.
    pub identical_batches: Option<u32>,
    /// Calls that only look and run at once.
    pub parallel: Option<usize>,
    /// Whether the run goes on when a tool has failed.
    pub recover_tool_failures: Option<bool>,
    /// What becomes of a run when a call is denied: `tell` or `fail`.
    pub on_denied: Option<OnDenied>,
    /// How often a call that was denied may be wished for again.
    pub denied_repeats: Option<u32>,
    /// Whether the model is asked once more when its turns are over, and may only answer then.
    pub final_answer_turn: Option<bool>,
    /// One question to a model.
    pub turn_timeout_ms: Option<u64>,
    /// One call.
    pub call_timeout_ms: Option<u64>,
    /// The whole run, from its beginning; absent: no limit.
    pub run_timeout_ms: Option<u64>,
}

/// `[scripts]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptTable {
    /// Models that `consult` asks in a script or call of a person's own, first choice first.
    pub models: Vec<String>,
}

/// `[models.NAME]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(tag = "provider", rename_all = "lowercase", deny_unknown_fields)]
pub enum ModelTable {
    /// Replies from a file.
    Scripted(ScriptedTable),
    /// A server that speaks chat completions.
    OpenAi(RemoteTable),
    /// OpenAI's responses.
    Responses(RemoteTable),
    /// Anthropic's messages.
    Anthropic(RemoteTable),
    /// Google's Gemini.
    Gemini(RemoteTable),
    /// Ollama's own chat.
    Ollama(RemoteTable),
}

/// A model that is a file of replies.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedTable {
    /// The file, relative to this one.
    pub script: PathBuf,
    /// What it can do.
    #[serde(default)]
    pub can: Can,
    /// What it may be told.
    #[serde(default)]
    pub accepts: Accepts,
    /// What its tokens would cost; absent: nothing.
    #[serde(default)]
    pub price: Option<PriceTable>,
    /// As of a server's model.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// Likewise.
    #[serde(default)]
    pub tokenizer: Option<Tokenizer>,
}

/// A model that a server has.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteTable {
    /// The base, such as `https://api.openai.com/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The environment variable that holds the key; absent: none is sent.
    #[serde(default, deserialize_with = "secrets::key_env")]
    pub key_env: String,
    /// Whether the server may be at an address that is not public, such as `localhost`.
    #[serde(default)]
    pub private: bool,
    /// What its tokens cost; absent: nobody knows.
    #[serde(default)]
    pub price: Option<PriceTable>,
    /// What the model takes at once, its answer apart; absent: 128 000.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// What counts its tokens: `cl100k`, `o200k` or `estimate`; absent: as the model's name tells.
    #[serde(default)]
    pub tokenizer: Option<Tokenizer>,
    /// Keys of the request's body as the provider documents them, such as `temperature`.
    #[serde(default)]
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// Whether it is asked for streams; absent: it is.
    #[serde(default = "yes")]
    pub stream: bool,
    /// What it can do; where nothing is said, whatever it takes.
    #[serde(default)]
    pub can: Can,
    /// What it may be told: `public`, or `private` too.
    #[serde(default)]
    pub accepts: Accepts,
}

fn yes() -> bool {
    true
}

/// `[limits]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitTable {
    /// Units of work of one call.
    pub fuel: Option<u64>,
    /// Processor time of one call.
    pub cpu_ms: Option<u64>,
    /// Memory of one guest, in MiB.
    pub memory_mib: Option<usize>,
    /// Deadline that caps what manifests name.
    pub timeout_ms: Option<u64>,
    /// Inner calls of one outer call.
    pub calls: Option<u32>,
    /// Calls of tools by one script.
    pub script_calls: Option<u32>,
    /// Processor time of one script; waiting is free.
    pub script_cpu_ms: Option<u64>,
    /// Characters of a script.
    pub script_chars: Option<usize>,
    /// Arguments of one call, as JSON text.
    pub argument_bytes: Option<usize>,
    /// Time from the beginning of a script to its end; absent: no limit.
    pub script_wall_ms: Option<u64>,
    /// Attempts after the first of a call that failed and may succeed later; caps what manifests name.
    pub retries: Option<u32>,
    /// The wait before the first of them, where the manifest says nothing.
    pub retry_delay_ms: Option<u64>,
    /// Whether what changes something is made again as well, and may so be done twice. Your own files alone say so.
    pub retry_writes: Option<bool>,
    /// How many there are then, of what changes nothing.
    pub silent_retries: Option<u32>,
    /// Deadline of a tool whose manifest names none.
    pub silent_timeout_ms: Option<u64>,
    /// Outcome of one call, as JSON text.
    pub outcome_bytes: Option<usize>,
    /// Body of one answer from a destination whose line does not say less, decoded.
    pub answer_bytes: Option<usize>,
    /// Files that one run may be given to look at.
    pub attachments: Option<usize>,
    /// Bytes of all of them together.
    pub attachment_bytes: Option<usize>,
    /// Native stack of a guest in MiB, from 1 to 16; absent: 16, which the engine of scripts needs to say of a script that
    /// goes too deep where it did.
    pub stack_mib: Option<usize>,
    /// Outcomes that one run holds at once under handles, from 16 to 4096; absent: 4096. Their names follow from it: `h4096`
    /// is the longest.
    pub handles: Option<usize>,
    /// Processor time of all guests of one run together, scripts included, up to a week; absent: an hour. Waiting is free.
    pub run_cpu_ms: Option<u64>,
    /// MiB that the records of one run, and what they hold, take in the journal, up to 1048576; absent: 1024. A run that has
    /// filled them begins nothing more.
    pub run_journal_mib: Option<u64>,
    /// Events of a run that wait for one watcher, from 1 to 1024; absent: 256. Of what comes then, pieces of replies and
    /// progress are dropped, and it is told how many; records are not.
    pub watch_events: Option<usize>,
}

/// `[search]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchTable {
    /// Tools that `search_tools` returns where the model does not say how many.
    pub results: Option<usize>,
    /// The most that it may ask for.
    pub results_max: Option<usize>,
    /// Characters of a query.
    pub query_chars: Option<usize>,
    /// Characters of a tool's line where tools are listed for models, from 40 to 120; absent: 120.
    pub line_chars: Option<usize>,
    /// How deep the types of a signature go, from 1 to 4; absent: 4. What lies deeper is told as `unknown`.
    pub type_depth: Option<usize>,
}

/// `[health]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthTable {
    /// How much of a model's average its latest attempt is.
    pub alpha_percent: Option<u32>,
    /// What is thought of a model that nobody has asked.
    pub start_percent: Option<u32>,
    /// How much of the order is health; the rest is the order in which models are named.
    pub weight_percent: Option<u32>,
}

/// `[abort]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AbortTable {
    /// Whether the step under way ends first.
    pub drain: Option<bool>,
    /// Time that what is under way has to end.
    pub grace_ms: Option<u64>,
    /// What becomes of questions that wait: `deny`, `hold` or `fail`.
    pub pending: Option<Pending>,
}

/// `[cache]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CacheTable {
    /// Outcomes of one turn's calls that only look; 0 keeps none.
    pub entries: Option<usize>,
    /// How long each is kept.
    pub ttl_ms: Option<u64>,
    /// Outcomes of writes that came with a key; 0 keeps none.
    pub keyed_entries: Option<usize>,
    /// How long each is kept.
    pub keyed_ttl_ms: Option<u64>,
}

/// `[inbound]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InboundTable {
    /// With text that an untrusted source had influence on: `none`, `flag`, `strip`, `wrap` or
    /// `strip-and-wrap`.
    pub untrusted: Option<Treatment>,
    /// With everything else.
    pub trusted: Option<Treatment>,
    /// Whether text that is too long to be looked through is withheld.
    pub fail_closed: Option<bool>,
}

impl ConfigFile {
    /// Reads a file that must be there.
    ///
    /// # Errors
    /// `NotFound`, `BadInput` with line and column.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_if_there(path)?
            .ok_or_else(|| Error::not_found(format!("configuration `{}`", path.display())))
    }

    /// Reads a file that may be there.
    ///
    /// # Errors
    /// `BadInput` with line and column.
    pub fn read_if_there(path: &Path) -> Result<Option<Self>> {
        let shown = path.display();
        let bytes = match named::read(path, "the configuration", CONFIG_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            Err(error) => return Err(Error::bad_input(error.message())),
        };
        let text = String::from_utf8(bytes.clone())
            .map_err(|_| Error::bad_input(format!("`{shown}` is no UTF-8 text")))?;
        let file: Self = toml::from_str(&text).map_err(|error| explain(path, &text, &error))?;
        Ok(Some(Self { bytes, ..file }))
    }

    /// Digest of the file, and of every component, schema and program that it names: what trust is pinned to.
    ///
    /// # Errors
    /// Never for a component that cannot be read: that one has a digest of its own, so trust ends
    /// when it appears.
    #[must_use]
    pub fn digest(&self, path: &Path) -> Digest {
        Self::digest_of(&self.parts(path))
    }

    /// Of all parts together.
    pub(super) fn digest_of(parts: &[Part]) -> Digest {
        let all: String = parts.iter().map(|part| part.digest.as_str()).collect();
        Digest::of(all.as_bytes())
    }

    /// The file itself, and everything that it names and that is trusted with it.
    pub(in crate::surfaces) fn parts(&self, path: &Path) -> Vec<Part> {
        let plugins = self.plugins.iter();
        let plugins = plugins.map(|(name, plugin)| {
            let file = plugin.path().to_owned();
            (format!("the component `{name}`"), file)
        });
        // What an agent is told of its answer is part of what is trusted.
        let schemas = self.agents.iter().filter_map(|(name, agent)| {
            let file = agent.answer_schema.clone()?;
            Some((format!("the schema of the answers of agent `{name}`"), file))
        });
        // So is a server's program that comes with the file; one that is looked for in `PATH` is the machine's.
        let programs = self.mcp.iter().filter_map(|(name, server)| {
            let program = server.command.first().filter(|name| name.contains('/'))?;
            let what = format!("the program of MCP server `{name}`");
            Some((what, PathBuf::from(program)))
        });
        let named = plugins.chain(schemas).chain(programs).map(|(what, file)| {
            let shown = file.display().to_string();
            let place = path.with_file_name("").join(file);
            let digest = crate::guests::plugin::PluginBytes::File(place).digest();
            Part {
                what: format!("{what} (`{shown}`)"),
                digest: digest.map_or_else(|_| "absent".to_owned(), |digest| digest.to_string()),
            }
        });
        // Of fixed length, so that no bytes of the file can stand for a component's digest.
        let own = Part {
            what: String::new(),
            digest: Digest::of(&self.bytes).to_string(),
        };
        iter::once(own).chain(named).collect()
    }
}

/// Something that is trusted with a file.
#[derive(Clone, Debug)]
pub(in crate::surfaces) struct Part {
    /// What it is, for people; empty for the file itself.
    pub what: String,
    /// Of its bytes, or that it is not there.
    pub digest: String,
}
