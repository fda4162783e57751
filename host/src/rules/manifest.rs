//! Manifests: what a plugin declares about itself. It proposes; policy decides; nothing in it grants.
//!
//! The fields are described in `wit/README.md`, for those who write plugins without the SDK.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::agent::refuse_secrets;
use super::flow::kind::Kind;
use super::grant::{Access, Destination, Grant, Pattern};
use super::json;
pub use super::retry::Retry;
use super::schema::Schema;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::{ToolName, is_name, shown};
use crate::words::limits::{
    CALL_RETRIES, CALL_RETRIES_MAX, CALL_RETRY_DELAY_MS_MAX, CALL_TIMEOUT_MS_MAX,
    DESCRIPTION_BYTES, MANIFEST_BYTES, MANIFEST_EXAMPLES, MANIFEST_TOOLS,
};

/// What a plugin declares.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The plugin's name.
    pub plugin: String,
    /// Its version, for people.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its tools.
    pub tools: Vec<Declared>,
}

/// What a plugin declares about one tool (U-10).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Declared {
    /// Name within the plugin.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input: Value,
    /// JSON Schema of the outcome.
    pub output: Value,
    /// What it does to the world; the most restrictive where it does not say.
    #[serde(default)]
    pub effect: EffectClass,
    /// Risk class; follows from `effect` where it does not say.
    #[serde(default)]
    pub risk: Risk,
    /// What it wants of the world.
    #[serde(flatten)]
    pub wants: Wants,
    /// Who may see it, and where.
    #[serde(flatten)]
    pub offer: Offer,
    /// How a call of it goes.
    #[serde(flatten)]
    pub conduct: Conduct,
    /// Which of its arguments steer, as it proposes.
    #[serde(default)]
    pub flow: Proposal,
    /// Worked examples, each fitting `input`.
    #[serde(default)]
    pub examples: Vec<Example>,
    /// Performed outside of the quarantine, by an MCP server: whatever else it does, it is told its arguments. No
    /// manifest says so.
    #[serde(skip)]
    pub outside: bool,
}

/// What a tool wants of the world: wishes, each of which policy may grant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Wants {
    /// `METHOD url-prefix`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Files.
    #[serde(default)]
    pub mounts: Access,
    /// Its plugin's notes.
    #[serde(default)]
    pub notes: Access,
    /// Other tools.
    #[serde(default)]
    pub calls: Vec<Pattern>,
    /// Secrets that the host places in its requests.
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// Which arguments say where, whom or what to act on, and which are content. Policy decides; what a manifest
/// proposes holds only for plugins that policy trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Proposal {
    /// Arguments that steer, by path, and the kind of their values.
    pub steering: BTreeMap<String, Kind>,
    /// Arguments that are content.
    pub content: Vec<String>,
    /// The argument that names what is made; empty where there is none.
    pub naming: String,
    /// The values of arguments with which it only makes what is not there.
    pub new: BTreeMap<String, String>,
}

/// Who may see a tool, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// Surfaces that offer it.
    #[serde(default = "all_surfaces")]
    pub surfaces: BTreeSet<SurfaceWord>,
    /// Who may call it.
    #[serde(default)]
    pub visibility: Visibility,
    /// Found by search instead of shown at once.
    #[serde(default)]
    pub deferred: bool,
    /// How confidential its outcomes are.
    #[serde(default)]
    pub sensitivity: Sensitivity,
    /// Model tier that suits its outcomes.
    #[serde(default)]
    pub tier: Tier,
}

/// How a call goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conduct {
    /// Deadline of one call; policy says one where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Repetition after a failure that may pass; policy says where it does not.
    #[serde(default, deserialize_with = "retry_or_flag")]
    pub retry: Option<Retry>,
    /// The same call twice does no more than once.
    #[serde(default)]
    pub idempotent: bool,
    /// Never beside another call of the same turn.
    #[serde(default)]
    pub sequential: bool,
    /// A person is asked before every call, whatever policy says: a manifest may make stricter (G-15).
    #[serde(default)]
    pub needs_approval: bool,
    /// Whoever calls has to confirm each call (A-07); where it says nothing, only what is destructive (A-08).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_confirmation: Option<bool>,
    /// Calls of it that are made at once; as many as come where it says nothing (A-18c).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// What to use instead; empty for a tool that is not on its way out (A-13a).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deprecated: String,
    /// What to keep of an outcome that is too long for a model.
    #[serde(default)]
    pub truncation: Truncation,
}

/// What a tool does to the world (G-17a).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EffectClass {
    /// Its outcome depends on its arguments alone.
    Pure,
    /// It looks at the world and leaves it as it is.
    ReadOnly,
    /// It changes something.
    #[default]
    SideEffecting,
    /// It changes something that others hold.
    ExternalStateful,
    /// It takes something away for good.
    Destructive,
}

impl EffectClass {
    /// The class as it stands in a manifest.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::ReadOnly => "read-only",
            Self::SideEffecting => "side-effecting",
            Self::ExternalStateful => "external-stateful",
            Self::Destructive => "destructive",
        }
    }

    /// Whether the world is as before after a call.
    #[must_use]
    pub fn leaves_no_trace(self) -> bool {
        match self {
            Self::Pure | Self::ReadOnly => true,
            Self::SideEffecting | Self::ExternalStateful | Self::Destructive => false,
        }
    }
}

/// Policy class of a tool (S-15, S-15a).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Looks at what is here.
    ReadOnly,
    /// Looks at what is elsewhere.
    NetworkRead,
    /// Could carry something out while it looks.
    DataExfiltrationRisk,
    /// Changes something elsewhere or for others.
    ExternalWrite,
    /// Everything that nobody classified.
    HighRisk,
    /// Not declared: resolved when the manifest is read, never seen afterwards.
    #[default]
    Unclassified,
}

impl Risk {
    /// The class as it stands in policy.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::NetworkRead => "network_read",
            Self::DataExfiltrationRisk => "data_exfiltration_risk",
            Self::ExternalWrite => "external_write",
            Self::HighRisk | Self::Unclassified => "high_risk",
        }
    }

    /// This class, or the one that follows from an effect where nothing was declared.
    #[must_use]
    pub fn or_of(self, effect: EffectClass) -> Self {
        match self {
            Self::Unclassified if effect.leaves_no_trace() => Self::ReadOnly,
            Self::Unclassified => Self::HighRisk,
            Self::ReadOnly
            | Self::NetworkRead
            | Self::DataExfiltrationRisk
            | Self::ExternalWrite
            | Self::HighRisk => self,
        }
    }
}

/// Who may call a tool (A-13b, S-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// Everybody whom policy lets.
    #[default]
    Public,
    /// Not over HTTP or MCP.
    Local,
    /// Only other tools.
    Private,
    /// Only a person; never a model.
    User,
}

/// How confidential an outcome is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sensitivity {
    /// May be shown to anybody.
    Public,
    /// May be shown to the run's own user and model.
    #[default]
    Internal,
    /// Never spilled, summarised or sent on.
    Secret,
}

/// Model tier (G-76).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Quick and cheap.
    Fast,
    /// In between.
    #[default]
    Balanced,
    /// Thorough.
    Smart,
}

/// What to keep of an outcome that is too long.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// Beginning and end.
    #[default]
    Middle,
    /// The end.
    Tail,
    /// The beginning.
    Head,
    /// More of the beginning than of the end.
    HeadTail,
    /// Likewise; and the whole is kept under a handle, to be read part by part.
    Spill,
    /// The beginning of every line.
    Summarise,
}

/// `true` means as often as everybody (A-17), `false` never.
fn retry_or_flag<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Retry>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "`retry` is true, false, or `retries` and `delay_ms`"
    )]
    enum Said {
        Flag(bool),
        Retry(Retry),
    }
    let none = Retry::default();
    Ok(Option::<Said>::deserialize(reader)?.map(|said| match said {
        Said::Flag(true) => Retry {
            retries: CALL_RETRIES,
            ..none
        },
        Said::Flag(false) => none,
        Said::Retry(retry) => retry,
    }))
}

/// A worked example.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What it shows.
    #[serde(default)]
    pub title: String,
    /// Arguments that fit the tool's schema.
    pub args: Value,
}

/// A surface's word, ordered so that it can stand in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SurfaceWord(pub Surface);

impl Ord for SurfaceWord {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for SurfaceWord {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl SurfaceWord {
    fn place(self) -> usize {
        Surface::ALL
            .iter()
            .position(|surface| *surface == self.0)
            .unwrap_or(usize::MAX)
    }
}

fn all_surfaces() -> BTreeSet<SurfaceWord> {
    Surface::ALL.into_iter().map(SurfaceWord).collect()
}

impl Manifest {
    /// Reads and checks a manifest as a guest gave it.
    ///
    /// # Errors
    /// `BadPlugin` with the tool and field that is wrong.
    pub fn read(text: &str) -> Result<Self> {
        if text.len() > MANIFEST_BYTES {
            return Err(Error::too_big("the manifest", MANIFEST_BYTES, text.len()));
        }
        let wrong =
            |why: String| Error::bad_plugin(format!("the plugin's manifest is wrong: {why}"));
        refuse_secrets("the manifest", text).map_err(|error| wrong(error.message().to_owned()))?;
        let value = json::parse(text).map_err(&wrong)?;
        refuse_unknown_fields(&value).map_err(&wrong)?;
        let mut manifest: Self =
            serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        for tool in &mut manifest.tools {
            tool.risk = tool.classified();
        }
        manifest.check().map_err(|error| error.retry(false))?;
        Ok(manifest)
    }

    /// Reads a manifest that [`Manifest::read`] accepted before, without checking it again.
    ///
    /// # Errors
    /// `Corrupt` for text that is no manifest.
    pub fn stored(text: &str) -> Result<Self> {
        let mut manifest: Self = serde_json::from_str(text).map_err(|error| {
            Error::new(Code::Corrupt, "a stored manifest cannot be read").because(error)
        })?;
        for tool in &mut manifest.tools {
            tool.risk = tool.classified();
        }
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        let wrong = |why: String| {
            Err(Error::bad_plugin(format!(
                "the plugin's manifest is wrong: {why}"
            )))
        };
        if !is_name(&self.plugin) {
            return wrong(format!("`{}` is no name of a plugin", shown(&self.plugin)));
        }
        if self.tools.is_empty() || self.tools.len() > MANIFEST_TOOLS {
            return wrong(format!(
                "it has {} tools and needs 1 to {MANIFEST_TOOLS}",
                self.tools.len()
            ));
        }
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            if !names.insert(&tool.name) {
                return wrong(format!("two tools are named `{}`", shown(&tool.name)));
            }
            tool.check().map_err(|error| {
                Error::new(
                    Code::BadPlugin,
                    format!("tool `{}`: {}", shown(&tool.name), error.message()),
                )
                .issues(error.issue_list().to_vec())
            })?;
        }
        Ok(())
    }
}

impl Declared {
    /// Its class, whatever it says: what wants to reach a server, or a secret for one, does not look at what is here
    /// alone.
    fn classified(&self) -> Risk {
        let risk = self.risk.or_of(self.effect);
        let reaches = !self.wants.hosts.is_empty() || !self.wants.secrets.is_empty();
        if risk == Risk::ReadOnly && reaches {
            return Risk::NetworkRead;
        }
        risk
    }

    /// Whether it may be offered at all.
    ///
    /// # Errors
    /// `BadPlugin` with the field that is wrong.
    pub fn check(&self) -> Result<()> {
        let wrong = |why: &str| Err(Error::bad_plugin(why));
        if !is_name(&self.name) || self.name.contains('-') {
            return wrong("its name has more than lower-case letters, digits and `_`");
        }
        if self.description.trim().is_empty() || self.description.len() > DESCRIPTION_BYTES {
            return wrong("its description is empty or too long");
        }
        let fits = |ms: u64| (1..=CALL_TIMEOUT_MS_MAX).contains(&ms);
        if !self.conduct.timeout_ms.is_none_or(fits) {
            return wrong("`timeout_ms` is not between 1 and 600000");
        }
        let retry = self.conduct.retry.unwrap_or_default();
        if retry.retries > CALL_RETRIES_MAX || retry.delay_ms > CALL_RETRY_DELAY_MS_MAX {
            return wrong("`retry` asks for more than 5 retries or 60000 ms");
        }
        if self.conduct.at_once == Some(0) {
            return wrong("`at_once` is 0, so it could never be called");
        }
        if self.conduct.deprecated.len() > DESCRIPTION_BYTES {
            return wrong("`deprecated` is too long");
        }
        if self.examples.len() > MANIFEST_EXAMPLES {
            return wrong("it has more than 5 examples");
        }
        for host in &self.wants.hosts {
            let (method, url) = host.split_once(' ').unwrap_or(("", host));
            Destination::parse(url, &[method], false)?;
        }
        if self.input.get("type").and_then(Value::as_str) != Some("object") {
            return wrong("its `input` does not describe an object");
        }
        let input = Schema::compile(self.input.clone())?;
        Schema::compile(self.output.clone())?;
        for example in &self.examples {
            let issues = input.issues(&example.args);
            if !issues.is_empty() {
                return Err(
                    Error::bad_plugin("an example does not fit its own schema").issues(issues)
                );
            }
        }
        Ok(())
    }

    /// Whether it says nothing of what it does: it then counts as the most restrictive.
    #[must_use]
    pub fn is_unclassified(&self) -> bool {
        self.effect == EffectClass::SideEffecting && self.risk == Risk::HighRisk
    }

    /// Whether a call of it is a sink: it does more than look, or somebody outside is told what it is called with.
    #[must_use]
    pub fn is_sink(&self) -> bool {
        self.outside || !self.effect.leaves_no_trace()
    }

    /// Whether whoever calls it has to confirm each call.
    #[must_use]
    pub fn requires_confirmation(&self) -> bool {
        let said = self.conduct.requires_confirmation;
        said.unwrap_or(self.effect == EffectClass::Destructive)
    }

    /// The tool's full name.
    ///
    /// # Errors
    /// `BadInput` where the two together are no name.
    pub fn full_name(&self, plugin: &str) -> Result<ToolName> {
        ToolName::parse(&format!("{plugin}.{}", self.name))
    }

    /// Each granted destination within each that it names; all of them where it names none.
    fn narrow_fetch(&self, granted: &[Destination]) -> Vec<Destination> {
        if self.wants.hosts.is_empty() {
            return granted.to_vec();
        }
        let wishes = self.wants.hosts.iter().filter_map(|host| {
            let (method, url) = host.split_once(' ')?;
            Destination::parse(url, &[method], false).ok()
        });
        let wishes: Vec<Destination> = wishes.collect();
        let within =
            |line: &Destination| wishes.iter().filter_map(|wish| line.within(wish)).collect();
        granted
            .iter()
            .flat_map(|line| -> Vec<Destination> { within(line) })
            .collect()
    }

    /// What of a grant the tool has asked for: policy × manifest. A tool that never asked for files
    /// gets none, whatever a line with `*` says. Hosts are narrowed only where it names any.
    #[must_use]
    pub fn narrow(&self, granted: &Grant) -> Grant {
        let wants = &self.wants;
        let mounts = granted
            .mounts
            .iter()
            .filter(|_| wants.mounts != Access::None);
        Grant {
            fetch: self.narrow_fetch(&granted.fetch),
            mounts: mounts
                .map(|grant| super::grant::MountGrant {
                    mount: grant.mount.clone(),
                    access: grant.access.min(wants.mounts),
                })
                .collect(),
            notes: granted.notes.min(wants.notes),
            wasi_files: granted.wasi_files,
            plain_names: granted.plain_names,
            calls: granted
                .calls
                .iter()
                .flat_map(|line| {
                    wants
                        .calls
                        .iter()
                        .filter_map(move |want| narrower(line, want))
                })
                .collect(),
            secrets: super::secret::narrowed(&granted.secrets, &wants.secrets),
        }
    }
}

fn narrower(one: &Pattern, other: &Pattern) -> Option<Pattern> {
    if one.covers(other) {
        Some(other.clone())
    } else if other.covers(one) {
        Some(one.clone())
    } else {
        None
    }
}

/// `deny_unknown_fields` has no effect beside `flatten`, so the names are checked here.
fn refuse_unknown_fields(manifest: &Value) -> std::result::Result<(), String> {
    const FIELDS: [&str; 28] = [
        "flow",
        "name",
        "description",
        "input",
        "output",
        "effect",
        "risk",
        "hosts",
        "mounts",
        "notes",
        "calls",
        "secrets",
        "surfaces",
        "visibility",
        "deferred",
        "sensitivity",
        "tier",
        "timeout_ms",
        "retry",
        "idempotent",
        "sequential",
        "needs_approval",
        "requires_confirmation",
        "at_once",
        "deprecated",
        "truncation",
        "examples",
        "version",
    ];
    let tools = manifest
        .get("tools")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for field in tools
        .iter()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
    {
        if !FIELDS.contains(&field.as_str()) {
            return Err(format!("a tool has no field `{}`", shown(field)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> Value {
        json!({"name": "t", "description": "d", "input": {"type": "object"}, "output": {}})
    }

    fn read(tools: &[Value]) -> Result<Manifest> {
        Manifest::read(
            &json!({"plugin": "p", "version": "1", "description": "d", "tools": tools}).to_string(),
        )
    }

    fn with(field: &str, value: Value) -> Value {
        let mut tool = tool();
        tool[field] = value;
        tool
    }

    #[test]
    fn what_is_not_declared_is_the_most_restrictive() {
        let manifest = read(&[tool()]).unwrap();
        assert_eq!(manifest.tools[0].effect, EffectClass::SideEffecting);
        assert_eq!(manifest.tools[0].risk, Risk::HighRisk);
        let pure = read(&[with("effect", json!("pure"))]).unwrap();
        assert_eq!(pure.tools[0].risk, Risk::ReadOnly);
        // Whatever it says: it wants to reach a server.
        for (key, wants) in [
            ("hosts", json!(["GET https://a.test/"])),
            ("secrets", json!(["token"])),
        ] {
            for risk in ["read_only", "network_read"] {
                let mut tool = with("effect", json!("read-only"));
                (tool[key], tool["risk"]) = (wants.clone(), risk.into());
                let manifest = read(&[tool]).unwrap();
                assert_eq!(manifest.tools[0].risk, Risk::NetworkRead, "{key} {risk}");
            }
        }
    }

    #[test]
    fn a_tool_may_ask_to_be_asked_about() {
        let asks = read(&[
            with("needs_approval", json!(true)),
            with("name", json!("u")),
        ])
        .unwrap();
        let asks = asks.tools.iter().map(|tool| tool.conduct.needs_approval);
        assert_eq!(asks.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn wrong_manifests_name_what_is_wrong() {
        for (tools, says) in [
            (vec![], "needs 1 to"),
            (vec![tool(), tool()], "two tools are named `t`"),
            (vec![with("name", json!("a b"))], "its name"),
            (vec![with("nam", json!("x"))], "no field `nam`"),
            (vec![with("effect", json!("harmless"))], "unknown variant"),
            (
                vec![with("input", json!({"type": "string"}))],
                "does not describe an object",
            ),
            (vec![with("timeout_ms", json!(0))], "timeout_ms"),
            (
                vec![with("hosts", json!(["GET https://*/"]))],
                "no destination",
            ),
            (vec![with("hosts", json!(["https://a.test/"]))], "no method"),
            (
                vec![with("examples", json!([{"args": {}}, {"args": 1}]))],
                "an example does not fit",
            ),
            (
                vec![with("examples", json!(vec![json!({"args": {}}); 6]))],
                "more than 5 examples",
            ),
            (
                vec![with("surfaces", json!(["telepathy"]))],
                "unknown variant",
            ),
        ] {
            let error = read(&tools).unwrap_err();
            assert!(error.message().contains(says), "{says}: {error}");
        }
        assert!(Manifest::read("{").unwrap_err().message().contains("EOF"));
        assert!(
            Manifest::read(r#"{"plugin":"p","plugin":"q"}"#)
                .unwrap_err()
                .message()
                .contains("twice")
        );
    }

    #[test]
    fn a_manifest_only_narrows() {
        let policy = Grant {
            fetch: vec![],
            mounts: vec![super::super::grant::MountGrant {
                mount: "docs".into(),
                access: Access::Write,
            }],
            notes: Access::Write,
            calls: vec![Pattern::try_from("*".to_owned()).unwrap()],
            secrets: vec![],
            wasi_files: true,
            plain_names: false,
        };
        let modest = read(&[with("mounts", json!("read"))]).unwrap();
        let grant = modest.tools[0].narrow(&policy);
        assert_eq!(grant.mounts[0].access, Access::Read);
        assert_eq!(grant.notes, Access::None);
        assert_eq!(grant.calls, []);
    }
}
