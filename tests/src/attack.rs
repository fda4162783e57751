//! Attacks as data: `tests/attack/NAME.toml` says what is given and what must come of it.
//!
//! In the whole file `{port}` is the test's server, `{folder}` its folder on the host, `{stranger}` an MCP server that
//! behaves as its first argument says (`tests/src/bin/stranger`). A file with `variants` is as
//! many attacks, which differ in the text that stands for `{variant}`: what comes of them is the same.

mod crowd;
mod laid;
mod meanwhile;
mod offered;
mod strike;

use std::path::{Path, PathBuf};

use lazaret::words::error::{Code, Error};
use lazaret::words::event::Answer as Say;
use lazaret::words::id::Digest;
use serde::Deserialize;
use serde_json::Value;

use crate::attack::crowd::Crowd;
use crate::attack::laid::{Damage, Laid};
use crate::attack::meanwhile::Meanwhile;
use crate::attack::offered::{Offered, Signing};
use crate::authority::Certified;
use crate::forge;
use crate::heard;
use crate::rig::{Rig, Rigged};
use crate::server::{Answer, Server};
use crate::verdict::{check_answer, check_nowhere, check_outside, check_shown, check_wire, said};

/// What a tool or answer must never hold: stands in files outside of every mount.
pub const CANARY: &str = "canary-7f3a9c";

/// One attack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// What it is, in a sentence.
    pub about: String,
    /// Rows of the list of attacks that it stands for.
    #[serde(default)]
    pub rows: Vec<u32>,
    /// `lazaret.toml`.
    #[serde(default)]
    pub policy: String,
    /// Texts that stand for `{variant}`, one attack each.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Components of `target/guests`.
    #[serde(default)]
    pub guests: Vec<String>,
    /// Fields of a forged core module, see [`forge::plugin`].
    #[serde(default)]
    pub forged: Option<String>,
    /// Its manifest, if it is not the usual one.
    #[serde(default)]
    pub manifest: Option<String>,
    /// What stands beside that module in its component.
    #[serde(default)]
    pub beside: String,
    /// Instead of a forged module: a whole component in the text format.
    #[serde(default)]
    pub component: Option<String>,
    /// What is made of the forged component, or of a guest, before it is offered.
    #[serde(default)]
    pub offered: Option<Offered>,
    /// The forged component has to be signed, and is like this.
    #[serde(default)]
    pub signed: Option<Signing>,
    /// Secrets by name.
    #[serde(default)]
    pub secrets: std::collections::BTreeMap<String, String>,
    /// What lies in the folder.
    #[serde(default)]
    pub files: Vec<Laid>,
    /// What the server says.
    #[serde(default)]
    pub server: Vec<Answer>,
    /// What the server shows of itself, on a port of its own: `{tls}`.
    #[serde(default)]
    pub tls: Option<Certified>,
    /// MCP servers of the policy that a person has read and trusted before.
    #[serde(default)]
    pub trusting: Vec<String>,
    /// Instead of a call: that MCP server is looked at, as `lazaret servers check` does.
    #[serde(default)]
    pub look: Option<String>,
    /// Where names lead.
    #[serde(default)]
    pub names: std::collections::BTreeMap<String, Vec<String>>,
    /// Where names lead, each look-up getting the next answer.
    #[serde(default)]
    pub names_in_turn: std::collections::BTreeMap<String, Vec<Vec<String>>>,
    /// The call,
    #[serde(default)]
    pub call: Option<Wish>,
    /// many at once,
    #[serde(default)]
    pub crowd: Option<Crowd>,
    /// a script that a person runs,
    #[serde(default)]
    pub script: Option<String>,
    /// one that waits in another host, whose records are taken in here and gone on with, or
    #[serde(default)]
    pub imported: Option<String>,
    /// what a model says, turn by turn,
    #[serde(default)]
    pub replies: Vec<Value>,
    /// to what a user typed;
    #[serde(default = "goal")]
    pub goal: String,
    /// before that, in the same session, what the user typed run after run,
    #[serde(default)]
    pub earlier: Vec<String>,
    /// before that, scripts that a person ran, each to its end,
    #[serde(default)]
    pub before: Vec<String>,
    /// of which the last one held these, as `h2=letter`, with which the run begins,
    #[serde(default)]
    pub with: Vec<String>,
    /// and then the host was started anew;
    #[serde(default)]
    pub restart: bool,
    /// and with these files of the folder to look at.
    #[serde(default)]
    pub attached: Vec<String>,
    /// Records and state are on disk, as they are wherever an attack needs them there.
    #[serde(default)]
    pub kept: bool,
    /// What is damaged while the host is closed, once what was before is done.
    #[serde(default)]
    pub damage: Vec<Damage>,
    /// How often all of it is done, one after the other, if more than once: what comes of it is the same each time.
    #[serde(default)]
    pub times: usize,
    /// What happens while it is under way, beside the calls of others.
    #[serde(default)]
    pub meanwhile: Option<Meanwhile>,
    /// What is called once it is over, and succeeds.
    #[serde(default)]
    pub after: Option<Wish>,
    /// What a person says when the run waits, time after time; it goes on in a host that is started anew.
    #[serde(default)]
    pub answers: Vec<Say>,
    /// What must come of it.
    pub expect: Expect,
}

/// A call as it is typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Value,
    /// Its arguments, if they are no JSON.
    #[serde(default)]
    pub text: Option<String>,
}

impl Wish {
    /// The arguments as they are typed.
    fn text(&self) -> String {
        match (&self.text, &self.args) {
            (Some(text), _) => text.clone(),
            (None, Value::Null) => "{}".to_owned(),
            (None, args) => args.to_string(),
        }
    }
}

/// What must come of an attack.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// `ok`, or the code of the failure; with ` or ` between them where a machine that is busy may see another one.
    pub code: String,
    /// The host does not even open; where it may, nothing is called.
    pub install: bool,
    /// Texts in the answer: the outcome as JSON, or message, issues and hints.
    pub says: Vec<String>,
    /// The whole answer as the command line shows it to a person.
    pub shown: Option<String>,
    /// Each line of the outcome holds one of these.
    pub every: Vec<String>,
    /// Texts that stand nowhere: not in the answer, its logs, or what a model reads.
    pub not: Vec<String>,
    /// Secrets that stand nowhere, however they are spelled: in the outcome with its logs and artifacts, in
    /// what a model reads, in the journal, in the test's folder.
    pub nowhere: Vec<String>,
    /// Texts in the requests as they reached the server.
    pub wire: Vec<String>,
    /// Texts that no model is told in the system position, in any request that reached the server; and each says what the
    /// one before it said there, from the beginning on.
    pub not_system: Vec<String>,
    /// Texts in the call's log.
    pub logs: Vec<String>,
    /// Most lines of the call's log.
    pub log_lines: Option<usize>,
    /// Texts in the journal, in this order.
    pub journal: Vec<String>,
    /// Why a replay of the run does not come to the same: not all that it takes was kept, or the policy is not the one
    /// that it had. It comes to the same where nothing is said.
    pub not_again: String,
    /// Requests that reached the server; nothing else did.
    pub requests: usize,
    /// The whole outcome of what is called once it is over, as JSON; nothing is looked at where nothing is said.
    pub afterwards: Option<Value>,
    /// Files that hold this afterwards; empty for one that must not be there.
    pub files: std::collections::BTreeMap<String, String>,
}

/// All attacks, by the name of their file.
///
/// # Panics
/// Where a file is none.
#[must_use]
pub fn all() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("attack");
    let entries = std::fs::read_dir(folder).expect("the folder of attacks");
    let mut all: Vec<_> = entries
        .map(|entry| entry.expect("an attack").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            (
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                path,
            )
        })
        .collect();
    all.sort();
    all
}

/// Whether it needs a process that trusts the authorities of tests.
#[must_use]
pub fn is_encrypted(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| line.starts_with("tls = "))
}

fn goal() -> String {
    "Do what you are told.".to_owned()
}

/// Makes an attack, and says everything that is not as it must be.
pub async fn run(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("an attack can be read");
    // Only to count them: a port may stand where a number does.
    let table: toml::Table = match toml::from_str(&text.replace("{port}", "1")) {
        Ok(table) => table,
        Err(error) => return vec![error.to_string()],
    };
    let variants = table.get("variants").and_then(toml::Value::as_array);
    let mut wrong = Vec::new();
    for place in 0..variants.map_or(1, Vec::len) {
        wrong.extend(Box::pin(run_one(&text, place)).await);
    }
    wrong
}

/// Puts a variant where it belongs, in whatever text it stands.
fn vary(value: &mut toml::Value, variant: &str) {
    match value {
        toml::Value::String(text) => *text = text.replace("{variant}", variant),
        toml::Value::Array(items) => items.iter_mut().for_each(|item| vary(item, variant)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, item)| vary(item, variant)),
        _ => {}
    }
}

/// Makes the attack with the variant at that place, if there are any.
async fn run_one(text: &str, place: usize) -> Vec<String> {
    let (rig, server) = (Rig::of(""), Server::start().await);
    let text = text.replace("{port}", &server.port().to_string());
    let text = text.replace("{folder}", &rig.folder().display().to_string());
    let text = text.replace("{stranger}", &stranger());
    let mut table = match toml::from_str(&text) {
        Ok(table) => toml::Value::Table(table),
        Err(error) => return vec![error.to_string()],
    };
    let variants = table.get("variants").and_then(toml::Value::as_array);
    let variant = variants.and_then(|all| all.get(place)?.as_str());
    let variant = variant.unwrap_or_default().to_owned();
    vary(&mut table, &variant);
    let attack: Attack = match table.try_into() {
        Ok(attack) => attack,
        Err(error) => return vec![error.to_string()],
    };
    server.say(attack.server.clone());
    let rig = rig.file("outside/secret.txt", CANARY);
    let mut wrong = Box::pin(make(attack, rig, &server)).await;
    if !variant.is_empty() {
        wrong
            .iter_mut()
            .for_each(|text| text.insert_str(0, &format!("{variant:?}: ")));
    }
    wrong
}

/// Makes the attack, whatever it is.
async fn make(mut attack: Attack, rig: Rig, server: &Server) -> Vec<String> {
    let encrypted = attack.tls.map(Certified::start);
    if let Some(encrypted) = &encrypted {
        attack.reach(encrypted.port());
    }
    heard::begin();
    let (mut rig, mut wrong) = prepare(rig, &attack);
    if attack.is_kept() {
        rig = rig.kept().await;
    }
    rig = offered::offer(rig, &attack).await;
    for name in &attack.trusting {
        rig = rig.trusting(name).await;
    }
    let looked = match &attack.look {
        Some(name) => Some((rig.identity(name), rig.look(name).await)),
        None => None,
    };
    let component = forged(&rig);
    match (rig.try_open().await, looked) {
        (Ok(host), Some((identity, looked))) => {
            let end = looked.err();
            let end = end.as_ref().map(|error| (error, identity.as_str()));
            let checked = check_look(&attack.expect, end, (&host, server));
            wrong.extend(Box::pin(checked).await);
        }
        (Ok(host), None) => wrong.extend(Box::pin(open(&attack, host, server)).await),
        (Err(error), _) => wrong.extend(refused(&attack, &error, component)),
    }
    let inside = encrypted.map_or(0, |encrypted| encrypted.requests());
    if inside != usize::from(attack.tls == Some(Certified::Right)) {
        wrong.push(format!("{inside} requests arrived inside the encryption"));
    }
    wrong
}

/// Does what was before, and then strikes.
async fn open(attack: &Attack, mut host: Rigged, server: &Server) -> Vec<String> {
    let (mut wrong, mut with) = (Vec::new(), Vec::new());
    for source in &attack.before {
        let called = host.script(source).await;
        if let Err(error) = called.outcome.result {
            wrong.push(format!("what was before fails: {error:?}"));
        }
        let run = called.run;
        let held = attack.with.iter();
        with = held.map(|held| format!("{run}:{held}")).collect();
    }
    if attack.restart || !attack.damage.is_empty() {
        let rig = host.close();
        for damage in &attack.damage {
            if let Err(error) = laid::damage(rig.folder(), damage) {
                wrong.push(format!("{} cannot be damaged: {error}", damage.path));
            }
        }
        host = match rig.try_open().await {
            Ok(host) => host,
            Err(error) => {
                wrong.extend(refused(attack, &error, None));
                return wrong;
            }
        };
    }
    if attack.expect.install {
        match attack.expect.may_be(None) {
            true => wrong.extend(strike::well(&host).await),
            false => wrong.push("the host opens, and must not".to_owned()),
        }
        return wrong;
    }
    if let Some(crowd) = &attack.crowd {
        wrong.extend(Box::pin(crowd::press(crowd, &attack.expect, &host)).await);
        wrong.extend(check_outside(&attack.expect, &host, server));
        wrong.extend(Box::pin(strike::well(&host)).await);
        return wrong;
    }
    let imported = match &attack.imported {
        Some(source) => Some(offered::import(&host, (&attack.policy, source)).await),
        None => None,
    };
    let struck = strike::strike(attack, (host, &with), server, imported.as_ref());
    wrong.extend(Box::pin(struck).await);
    wrong
}

/// The component that is offered here, if there is one.
fn forged(rig: &Rig) -> Option<Digest> {
    let bytes = std::fs::read(rig.path("forged.wasm")).ok()?;
    Some(Digest::of(&bytes))
}

/// What a host says that does not open. Of a component that it refuses it says so in its log as well.
fn refused(attack: &Attack, error: &Error, component: Option<Digest>) -> Vec<String> {
    if !attack.expect.install {
        return vec![format!("the host does not open: {error:?}")];
    }
    let mut wrong = check_answer(&attack.expect, Some(error.code()), &said(error));
    if component.is_some_and(|component| !heard::refused(error.code(), component)) {
        wrong.push(format!("no event says so: {error:?}"));
    }
    wrong
}

impl Expect {
    /// Whether it may end so.
    pub(crate) fn may_be(&self, code: Option<Code>) -> bool {
        let code = code.map_or_else(
            || "ok".into(),
            |code| serde_json::to_value(code).expect("a word"),
        );
        self.code.split(" or ").any(|word| code == word)
    }
}

impl Attack {
    /// Whether its records and its state are on disk.
    fn is_kept(&self) -> bool {
        let goes_on = self.restart || !self.answers.is_empty() || !self.damage.is_empty();
        let has_servers = self.look.is_some() || !self.trusting.is_empty();
        self.kept || goes_on || has_servers
    }

    /// With the port of the server that shows who it is.
    fn reach(&mut self, port: u16) {
        let port = port.to_string();
        self.policy = self.policy.replace("{tls}", &port);
        if let Some(wish) = &mut self.call {
            let text = wish.args.to_string().replace("{tls}", &port);
            wish.args = serde_json::from_str(&text).expect("it was JSON");
        }
    }
}

/// The program of that name, beside the tests.
fn stranger() -> String {
    let program = std::env::current_exe().expect("this program has a path");
    let above = program.ancestors().nth(2).expect("it is in a folder");
    above.join("stranger").display().to_string()
}

/// What came of looking at an MCP server: nothing of a run is on record then, so one that is refused stands in the log.
async fn check_look(
    expect: &Expect,
    end: Option<(&Error, &str)>,
    (host, server): (&Rigged, &Server),
) -> Vec<String> {
    let said = end.map(|(error, _)| said(error)).unwrap_or_default();
    let mut wrong = check_answer(expect, end.map(|(error, _)| error.code()), &said);
    if let Some((error, identity)) = end {
        let identity = Digest::parse(identity).expect("a server's identity is a digest");
        if !heard::refused(error.code(), identity) {
            wrong.push(format!("no event says so: {error:?}"));
        }
    }
    wrong.extend(check_shown(expect, &said, host));
    wrong.extend(check_nowhere(expect, &said, host));
    wrong.extend(check_wire(expect, server));
    wrong.extend(check_outside(expect, host, server));
    wrong.extend(strike::well(host).await);
    wrong
}

fn prepare(rig: Rig, attack: &Attack) -> (Rig, Vec<String>) {
    let mut wrong = Vec::new();
    let mut rig = rig.policy(&attack.policy);
    for guest in &attack.guests {
        rig = rig.guest(guest);
    }
    let manifest = attack.manifest.as_deref().unwrap_or(forge::MANIFEST);
    if let Some(fields) = &attack.forged {
        let bytes = forge::plugin_with(manifest, fields, &attack.beside);
        rig = rig.component("forged", &bytes);
    }
    if let Some(text) = &attack.component {
        rig = rig.component("forged", &forge::component(text));
    }
    for (name, addresses) in &attack.names {
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        rig = rig.name(name, &addresses);
    }
    for (name, value) in &attack.secrets {
        rig = rig.secret(name, value);
    }
    for (name, answers) in &attack.names_in_turn {
        rig = rig.name_in_turn(name, answers);
    }
    if !attack.replies.is_empty() {
        rig = rig.replies(&attack.replies);
    }
    for laid in &attack.files {
        if let Err(error) = laid::lay(rig.folder(), laid) {
            wrong.push(format!("{} cannot be laid out: {error}", laid.path));
        }
    }
    (rig, wrong)
}
