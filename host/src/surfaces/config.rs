//! Configuration: `lazaret.toml`, found upward from the working directory, over the user's own file and the system's;
//! variables and flags over them, and a profile below.
//!
//! Reading has three stages: [`file`] is exactly what was written, checked key by key; [`stack`] lays it together;
//! `resolve` makes a [`Setup`] of it. What a workspace's file grants counts only once [`trust`] has pinned it.

pub mod absent;
pub mod agent;
mod assign;
mod beside;
mod bounds;
pub mod budget;
pub mod chain;
pub mod context;
mod faults;
pub mod file;
pub mod flow;
mod guarding;
pub mod layer;
pub mod lint;
mod located;
pub mod mcp;
pub mod mcp_asks;
pub mod mcp_login;
pub mod mcp_server;
mod model;
pub mod names;
pub mod pace;
pub mod profile;
mod resolve;
mod said;
pub mod schema;
pub mod secrets;
pub mod serve;
pub mod show;
pub mod stack;
pub mod tools;
pub mod traces;
pub mod trust;
pub mod uses;
pub mod wards;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::edges::egress::Names;
use crate::edges::named;
use crate::edges::state::StateFolder;
use crate::rules::file::OWN;
use crate::rules::flow::shell_word;
use crate::runs::host::{Places, Records, Setup};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::limits::CONFIG_BYTES;

use super::mcp::desk::Serving;
use absent::Absent;
use file::ConfigFile;
use layer::Layer;
use stack::{Sources, Stack};
use trust::{Pins, Standing};

/// The file's name.
pub const NAME: &str = "lazaret.toml";

/// An agent and the model that it asks, as a file says them.
pub(super) const AGENT: &str = "[agents.helper]\ninstructions = \"…\"\ntools = [\"text.*\"]\nmodels = [\"local\"]\n\
     [models.local]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:11434/v1\"\nmodel = \"qwen3\"\nprivate = true";

/// The system's file,
const SYSTEM_FILE: &str = "/etc/lazaret/lazaret.toml";
/// except where this variable names another.
const SYSTEM_VARIABLE: &str = "LAZARET_SYSTEM_CONFIG";

/// A configuration that was read, and how it came about.
#[derive(Debug)]
pub struct Config {
    /// What a host is made of.
    pub setup: Setup,
    /// The workspace's file, if there is one.
    pub workspace: Option<(PathBuf, Standing)>,
    /// The user's own file, if there is one.
    pub user: Option<PathBuf>,
    /// The system's, if there is one.
    pub system: Option<PathBuf>,
    /// What was said, and where.
    pub stack: Stack,
    /// Folders of mounts that are not there: whoever needs one is refused, and nobody else.
    pub absent: Vec<Absent>,
    /// The files, and their bytes by digest.
    seen: Vec<Seen>,
}

/// A file as it was when it was read; one that was not there has no digest.
type Seen = (PathBuf, Option<Digest>);

/// Whether a workspace's file counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// If it is pinned. One that was and has changed is an error, as is one that the user named: what it denies must not
    /// end with a change of it.
    Pinned,
    /// If it is pinned; it is left out otherwise.
    Left,
    /// In any case.
    Everything,
}

/// Where things of this process are.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The working directory.
    pub folder: PathBuf,
    /// The user's own configuration file, whether it exists or not.
    pub user_file: PathBuf,
    /// The system's configuration file, likewise.
    pub system_file: PathBuf,
    /// Variables of the environment that are part of the configuration.
    pub variables: Vec<(OsString, OsString)>,
    /// What was said by `--set`.
    pub flags: Vec<String>,
    /// The user's home, where there is one.
    pub home: Option<PathBuf>,
    /// The user's own state folder.
    pub state: PathBuf,
    /// This program.
    pub program: PathBuf,
}

impl Surroundings {
    /// What variables and flags say, and which of them: the user's own words, as their files are.
    ///
    /// # Errors
    /// `BadInput` for a name or value that is none; `TooBig`.
    pub fn assigned(&self) -> Result<Vec<(layer::Place, toml::Table)>> {
        let layers = assign::layers(&self.variables, &self.flags, &self.folder)?;
        let said = layers.into_iter();
        Ok(said.map(|layer| (layer.place, layer.table)).collect())
    }

    /// Reads them from the environment, as the XDG base directory specification has them.
    ///
    /// # Errors
    /// `BadInput` where there is neither a home nor what stands for it.
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns the environment of the process"
    )]
    pub fn read() -> Result<Self> {
        let var = |name: &str| {
            std::env::var(name)
                .ok()
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = || {
            var("HOME").ok_or_else(|| {
                Error::bad_input("there is no home folder: `HOME` is not set")
                    .hint("set `HOME`, or `XDG_CONFIG_HOME` and `XDG_STATE_HOME`")
            })
        };
        let below_home = |name: &str, default: &str| match var(name) {
            Some(folder) => Ok(folder),
            None => home().map(|home| home.join(default)),
        };
        let folder = std::env::current_dir().map_err(|error| {
            Error::bad_input("the working directory cannot be found").because(error)
        })?;
        let program = std::env::current_exe()
            .map_err(|error| Error::bug("this program cannot find itself").because(error))?;
        let variables = std::env::vars_os().filter(|(name, _)| assign::is_ours(name));
        Ok(Self {
            folder,
            system_file: var(SYSTEM_VARIABLE).unwrap_or_else(|| PathBuf::from(SYSTEM_FILE)),
            variables: variables.collect(),
            flags: Vec::new(),
            home: var("HOME"),
            user_file: below_home("XDG_CONFIG_HOME", ".config")?
                .join("lazaret")
                .join(NAME),
            state: below_home("XDG_STATE_HOME", ".local/state")?.join("lazaret"),
            program,
        })
    }
}

impl Surroundings {
    /// The folder whose files are read where nothing is configured; nothing where that is a whole home or system: tools
    /// read a project, and no keys.
    fn readable(&self) -> Option<&Path> {
        let here = resolved(&self.folder);
        let home = [&self.state, &self.user_file].into_iter().chain(&self.home);
        let mut home = home.map(|path| resolved(path));
        let whole = here.parent().is_none() || home.any(|path| path.starts_with(&here));
        (!whole).then_some(&*self.folder)
    }
}

/// Where a path leads, links followed as far as it is there.
#[expect(clippy::disallowed_methods, reason = "a home may be a link")]
fn resolved(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) => real.join(rest),
            Err(_) => real,
        },
        None => path.to_owned(),
    }
}

impl Config {
    /// Reads the configuration that holds here. `named` is a file that the user named.
    ///
    /// # Errors
    /// `BadInput` with line and column, `NotFound` for a named file that is not there; `Denied` for one that has changed
    /// since it was trusted, and for a named one that nobody trusts.
    pub fn read(around: &Surroundings, named: Option<&Path>) -> Result<Self> {
        Self::read_as(around, named, Counting::Pinned)
    }

    /// The same for whoever looks at it and does nothing by it: a file that is not trusted as it is now is left out.
    ///
    /// # Errors
    /// As [`Config::read`], but for trust.
    pub fn look(around: &Surroundings, named: Option<&Path>) -> Result<Self> {
        Self::read_as(around, named, Counting::Left)
    }

    /// Reads what would hold if the workspace's file were trusted: to say what is wrong with it before
    /// it is. Records go nowhere.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn preview(around: &Surroundings, named: Option<&Path>) -> Result<Self> {
        let mut config = Self::read_as(around, named, Counting::Everything)?;
        config.setup.places.records = Records::InMemory;
        Ok(config)
    }

    /// What holds by now, where one of the files has changed since this was read; nothing where none has. A host goes on
    /// with what it was opened with: whoever keeps one open asks this from time to time, and says so where it fails.
    ///
    /// # Errors
    /// As [`Config::read`]: then this one is the last that was good.
    pub fn again(&self, around: &Surroundings, named: Option<&Path>) -> Result<Option<Self>> {
        if !self.has_changed(around, named) {
            return Ok(None);
        }
        Self::read(around, named).map(Some)
    }

    /// Whether a file that this was read from, or would be now, says something else; or trust was given or taken back. What
    /// a file names, a component say, is not looked at.
    #[must_use]
    pub fn has_changed(&self, around: &Surroundings, named: Option<&Path>) -> bool {
        let workspace = workspace_file(around, named);
        seen(around, workspace.as_deref()) != self.seen
    }

    fn read_as(around: &Surroundings, named: Option<&Path>, counting: Counting) -> Result<Self> {
        let workspace = workspace_file(around, named);
        // Before anything is read: what changes in between is seen as a change.
        let seen = seen(around, workspace.as_deref());
        let mut sources = Sources {
            system: Sources::read(&around.system_file)?,
            user: Sources::read(&around.user_file)?,
            workspace: None,
            assigned: assign::layers(&around.variables, &around.flags, &around.folder)?,
        };
        let state = StateFolder::open(&around.state)?;
        let pins = Pins::read(&state)?;
        if counting == Counting::Pinned && named.is_none() {
            check_nearest(&pins, &around.folder, workspace.as_deref())?;
        }
        let workspace = match workspace {
            None => None,
            Some(path) => {
                let file = ConfigFile::read(&path)?;
                let standing = pins.standing(&path, &file)?;
                if counting == Counting::Pinned {
                    check_standing(&path, &standing, named.is_some())?;
                }
                if standing == Standing::Trusted || counting == Counting::Everything {
                    sources.workspace = Some(Sources::file(&path, &file)?);
                }
                Some((path, standing))
            }
        };
        // What has changed since it was trusted is where its runs are.
        let records = match &workspace {
            Some((path, Standing::Trusted | Standing::Changed(_))) => path.with_file_name(OWN),
            Some((_, Standing::New)) | None => around.state.join("runs"),
        };
        let places = Places {
            state: around.state.clone(),
            records: Records::Folder(records),
            program: around.program.clone(),
            names: Names::System,
            clock: Clock::system(),
            collector: None,
        };
        let (setup, stack) = sources.setup(around.readable(), &places)?;
        let absent = sources.absent(&setup);
        let path = |source: Option<(PathBuf, Layer)>| source.map(|(path, _)| path);
        Ok(Self {
            setup,
            workspace,
            user: path(sources.user),
            system: path(sources.system),
            stack,
            absent,
            seen,
        })
    }

    /// How clients of MCP are served.
    ///
    /// # Errors
    /// `BadInput`, which a configuration that was read does not cause.
    pub fn mcp_server(&self) -> Result<Serving> {
        let (own, theirs) = (self.stack.own.file()?, self.stack.workspace.file()?);
        mcp_server::together(&[&own.mcp_server, &theirs.mcp_server])
    }
}

/// A policy that somebody relies on does not end because its file is gone, or because one that came with a repository lies
/// nearer.
fn check_nearest(pins: &Pins, folder: &Path, found: Option<&Path>) -> Result<()> {
    let Some(pinned) = pins.above(folder) else {
        return Ok(());
    };
    let shown = pinned.display();
    let what = match found {
        Some(found) if pins.is_pinned(found) => return Ok(()),
        Some(found) => format!(
            "`{}` is not trusted, and lies before `{shown}`, which is: nothing goes by either",
            found.display()
        ),
        None => format!("`{shown}` is gone, which was trusted, so nothing goes by it"),
    };
    Err(Error::new(Code::Denied, what)
        .hint("read what is there, then run `lazaret policy trust`; with `--revoke`, what is found first is forgotten"))
}

/// A file that nobody trusts is somebody's words; one that was trusted is a policy that somebody relies on, and so is one
/// that was named.
fn check_standing(path: &Path, standing: &Standing, named: bool) -> Result<()> {
    let trust = trust_command(path, named);
    let (what, hint) = match (standing, named) {
        (Standing::Trusted, _) | (Standing::New, false) => return Ok(()),
        (Standing::New, true) => (
            format!(
                "`{}` is not trusted, so it is no policy to go by",
                path.display()
            ),
            format!("read it, then run `{trust}`"),
        ),
        (Standing::Changed(what), _) => (
            format!("{what}, so nothing goes by it"),
            format!(
                "`lazaret policy check` shows what changed in what it gives; then run `{trust}`, or leave it out with `--revoke`"
            ),
        ),
    };
    Err(Error::new(Code::Denied, what).hint(hint))
}

/// What trusts this very file: one that was named is not found by itself.
#[must_use]
pub fn trust_command(path: &Path, named: bool) -> String {
    match named {
        true => {
            let path = shell_word(&path.display().to_string());
            format!("lazaret policy trust --config {path}")
        }
        false => "lazaret policy trust".to_owned(),
    }
}

/// The workspace's file: the one that was named, or the nearest.
fn workspace_file(around: &Surroundings, named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) => Some(around.folder.join(path)),
        None => find_upward(&around.folder),
    }
}

/// All files that a configuration is read from, as they are now.
fn seen(around: &Surroundings, workspace: Option<&Path>) -> Vec<Seen> {
    let own = [around.system_file.as_path(), &around.user_file];
    let files = own.into_iter().chain(workspace);
    let mut seen: Vec<Seen> = files.map(|path| (path.to_owned(), look(path))).collect();
    // Whom else its user trusts is of no concern here.
    let trust = around.state.join(trust::NAME);
    let pins = StateFolder::open(&around.state).and_then(|state| Pins::read(&state));
    let trusted = match pins {
        Ok(pins) => Some(pins.about(&around.folder, workspace)),
        Err(_) => look(&trust),
    };
    seen.push((trust, trusted));
    seen
}

/// Whether the environment has a variable; its value is read where it is needed, and nowhere else.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns the environment of the process"
)]
fn has_variable(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The bytes of a file by digest.
fn look(path: &Path) -> Option<Digest> {
    let bytes = named::read(path, "the configuration", CONFIG_BYTES);
    bytes.ok().map(|bytes| Digest::of(&bytes))
}

/// What one file says, trusted or not, with the outside as given: for whoever makes a host of their
/// own, such as a test.
///
/// # Errors
/// `NotFound`, `BadInput` with line and column.
pub fn setup_of(path: &Path, places: Places) -> Result<Setup> {
    let sources = Sources {
        user: Some(Sources::file(path, &ConfigFile::read(path)?)?),
        ..Sources::default()
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok(sources.setup(Some(folder), &places)?.0)
}

/// The nearest file upward from `folder`.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the configuration is looked for here"
)]
pub fn find_upward(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .map(|folder| folder.join(NAME))
        .find(|path| path.is_file())
}
