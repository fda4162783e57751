//! What is allowed where. To extend a rule, add a line here; every line has its reason.

/// The layers of `host/src`, lowest first.
pub const LAYERS: [&str; 7] = [
    "words", "rules", "gate", "edges", "guests", "runs", "surfaces",
];

/// Layers without `async`.
pub const PURE_LAYERS: [&str; 2] = ["words", "rules"];

/// Files of `host/src` that belong to no layer.
pub const NO_LAYER: [&str; 2] = ["lib.rs", "main.rs"];

pub const FILE_LINES_MAX: usize = 800;
pub const FUNCTION_LINES_MAX: usize = 70;
pub const PARAMETERS_MAX: usize = 6;
pub const FIELDS_MAX: usize = 12;

pub const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE"];

/// One way to the outside, and who may take it.
pub struct Door {
    /// A path and all below it (`std::fs`), a macro (`println!`), a struct literal (`Permit {`), or
    /// `unsafe`. A path that begins with `*::` may begin with anything.
    pub what: &'static [&'static str],
    /// Below `host/src`: a file (`gate.rs`), or a module with its folder (`edges/egress`).
    pub owners: &'static [&'static str],
    pub reason: &'static str,
    /// Closed in `#[cfg(test)]` as well.
    pub in_tests: bool,
}

const fn door(
    what: &'static [&'static str],
    owners: &'static [&'static str],
    reason: &'static str,
) -> Door {
    Door {
        what,
        owners,
        reason,
        in_tests: false,
    }
}

const fn sealed(
    what: &'static [&'static str],
    owners: &'static [&'static str],
    reason: &'static str,
) -> Door {
    Door {
        what,
        owners,
        reason,
        in_tests: true,
    }
}

/// The doors of the host. `host/clippy.toml` holds the same by resolved type; this list cannot be
/// silenced by an attribute. Tests may use most of them.
pub const DOORS: &[Door] = &[
    sealed(
        &["Permit {"],
        &["gate.rs", "gate/gate.rs"],
        "only the gate makes a permit",
    ),
    sealed(
        &[
            "unsafe",
            "*::Component::deserialize",
            "*::Component::deserialize_file",
            "*::Component::deserialize_raw",
        ],
        &["guests/cache.rs"],
        "the one unsafe step is loading an artifact whose MAC was verified",
    ),
    door(
        &["std::fs", "tokio::fs"],
        &["edges/state", "edges/files", "edges/named"],
        "files are the host's own state, a granted mount, or named by the operator",
    ),
    door(
        &[
            "std::env::var",
            "std::env::var_os",
            "std::env::vars",
            "std::env::vars_os",
            "std::env::home_dir",
        ],
        &["surfaces/config", "edges/vault"],
        "what the environment says enters as configuration, and its secrets through the vault",
    ),
    sealed(
        &[
            "std::env::set_var",
            "std::env::remove_var",
            "std::env::set_current_dir",
        ],
        &[],
        "the process has one environment and many runs",
    ),
    door(
        &["std::process::Command", "tokio::process"],
        &["guests/compile", "edges/mcp", "edges/vault/desktop.rs"],
        "children are the compiler that limits itself, MCP servers that the operator configured, and the keyring's own program",
    ),
    door(
        &["std::process::exit", "std::process::abort"],
        &["main.rs"],
        "a run must be able to end without ending the host",
    ),
    door(
        &[
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "tokio::time::Instant::now",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
        ],
        &["words/clock.rs"],
        "tests set the clock, and replay repeats it",
    ),
    door(
        &[
            "tokio::time::sleep",
            "tokio::time::sleep_until",
            "tokio::time::interval",
            "std::thread::sleep",
        ],
        &["runs/rest.rs", "guests/ticker.rs", "edges/egress/names.rs"],
        "waiting for a time is told to `rest`; the ticker's thread does nothing else; refused look-ups of names wait, so \
         that their time says nothing",
    ),
    door(
        &["tokio::spawn", "tokio::task::spawn"],
        &["guests/tasks", "edges/mcp"],
        "a task belongs to the task set of its run, so that no effect outlives its record; what ends an MCP server's group \
         belongs to that server, which outlives runs",
    ),
    door(
        &[
            "tokio::sync::mpsc::unbounded_channel",
            "std::sync::mpsc::channel",
        ],
        &[],
        "every queue has a limit",
    ),
    door(
        &["reqwest"],
        &["edges/egress"],
        "no byte leaves except through egress",
    ),
    door(
        &[
            "std::net::TcpStream",
            "std::net::UdpSocket",
            "tokio::net::TcpStream",
            "tokio::net::UdpSocket",
            "tokio::net::lookup_host",
            "std::net::ToSocketAddrs",
        ],
        &["edges/egress", "surfaces/cli/demo"],
        "no byte leaves except through egress; the demo's page server answers on loopback",
    ),
    door(
        &["std::net::TcpListener", "tokio::net::TcpListener"],
        &["surfaces"],
        "the host listens only where a surface says so",
    ),
    door(
        &["rusqlite"],
        &[
            "gate/journal",
            "edges/notes",
            "edges/book",
            "edges/labels",
            "edges/records",
        ],
        "the journal is the only truth; notes and the labels of files and records are the only other databases",
    ),
    door(
        &[
            "wasmtime::component::Component::new",
            "wasmtime::component::Component::from_file",
        ],
        &[],
        "they accept text as well: use `from_binary`",
    ),
    door(
        &["println!", "eprintln!", "print!", "eprint!", "dbg!"],
        &["surfaces", "main.rs"],
        "what a person reads comes from a surface",
    ),
];

/// A word that no type, module or file is called by, and what to say instead.
pub const BANNED_WORDS: &[(&str, &str)] = &[
    ("manager", "say what it does to what"),
    ("handler", "say what it does to what"),
    ("helper", "say what it is"),
    ("util", "say what it is"),
    ("utility", "say what it is"),
    ("common", "say what it is"),
    ("misc", "say what it is"),
    ("base", "say what it is"),
    ("service", "say what it is"),
    ("controller", "say what it decides"),
    ("coordinator", "say what it decides"),
    ("orchestrator", "say what it decides"),
    ("processor", "say what it makes of what"),
    ("factory", "say what it makes"),
    ("registry", "catalog"),
    ("wrapper", "say what it adds"),
    ("data", "say which"),
    ("info", "say which"),
    ("thread", "run or session"),
    ("conversation", "session"),
    ("permission", "grant"),
    ("capability", "grant"),
    (
        "response",
        "outcome (of a tool), reply (of a model) or answer (of a person)",
    ),
    ("result", "outcome"),
    ("sandbox", "guest"),
    ("history", "journal"),
    ("callback", "event"),
    ("hook", "event"),
];

/// A file, or all files below a folder (ends with `/`), that one rule leaves alone.
pub struct Exempt {
    pub path: &'static str,
    /// The type or word it is about; empty: everything in the file.
    pub name: &'static str,
    /// For the reader; an exemption without one is not reviewed.
    pub reason: &'static str,
}

/// Files that are longer than [`FILE_LINES_MAX`].
pub const LONG_FILES: &[Exempt] = &[];

/// Files of the pure layers that wait.
pub const WAITING_FILES: &[Exempt] = &[];

/// Structs of the host that have more than [`FIELDS_MAX`] fields.
pub const WIDE_STRUCTS: &[Exempt] = &[
    Exempt {
        path: "host/src/runs/host.rs",
        name: "Setup",
        reason: "a whole configuration, resolved: a field for each thing that a host is made of",
    },
    Exempt {
        path: "host/src/surfaces/config/file.rs",
        name: "ConfigFile",
        reason: "one field for each top-level key of lazaret.toml, all of which are looked up here",
    },
    Exempt {
        path: "host/src/surfaces/config/file.rs",
        name: "AgentTable",
        reason: "one field for each key of [agents.NAME], as a person writes it",
    },
    Exempt {
        path: "host/src/surfaces/config/mcp.rs",
        name: "McpTable",
        reason: "one field for each key of [mcp.NAME], as a person writes it",
    },
    Exempt {
        path: "host/src/surfaces/config/file.rs",
        name: "LimitTable",
        reason: "one field for each key of [limits], as a person writes it",
    },
    Exempt {
        path: "host/src/words/event/session.rs",
        name: "Compacted",
        reason: "a record: one field for each thing that it says, and readers know them by name",
    },
    Exempt {
        path: "host/src/rules/pace.rs",
        name: "Pace",
        reason: "what [pace] says, resolved: a field for each of its keys",
    },
    Exempt {
        path: "host/src/surfaces/config/pace.rs",
        name: "PaceTable",
        reason: "one field for each key of [pace], as a person writes it",
    },
    Exempt {
        path: "host/src/surfaces/config/flow.rs",
        name: "FlowTable",
        reason: "one field for each key of [flow], as a person writes it",
    },
    Exempt {
        path: "host/src/surfaces/config/serve.rs",
        name: "ServeTable",
        reason: "one field for each key of [serve], as a person writes it",
    },
    Exempt {
        path: "host/src/surfaces/config/serve.rs",
        name: "ServeRules",
        reason: "what [serve] says, resolved: a field for each of its keys",
    },
];

/// Names that somebody else's format dictates.
pub const FOREIGN_NAMES: &[Exempt] = &[
    Exempt {
        path: "sdk/src/fetch.rs",
        name: "Response",
        reason: "HTTP's own word, as in wit/plugin.wit: what a fetch brings back",
    },
    Exempt {
        path: "host/src/rules/codec.rs",
        name: "responses",
        reason: "OpenAI calls this wire format so, and the configuration with it",
    },
    Exempt {
        path: "host/src/rules/codec/responses.rs",
        name: "responses",
        reason: "as above: the request",
    },
    Exempt {
        path: "host/src/rules/codec/responses/",
        name: "responses",
        reason: "as above: the answer's side",
    },
];

/// Files that must be able to say the words that mark unfinished work.
pub const LEFTOVER_FILES: &[Exempt] = &[];

/// All of the above, to see whether they are still needed.
pub const EXEMPTIONS: [&[Exempt]; 5] = [
    LONG_FILES,
    WAITING_FILES,
    WIDE_STRUCTS,
    FOREIGN_NAMES,
    LEFTOVER_FILES,
];

impl Exempt {
    pub fn covers(&self, path: &str) -> bool {
        self.path == path || (self.path.ends_with('/') && path.starts_with(self.path))
    }
}

/// Whether a table names this file, for this name.
pub fn is_exempt(table: &[Exempt], path: &str, name: &str) -> bool {
    let named = |exempt: &Exempt| exempt.name.is_empty() || exempt.name == name;
    table
        .iter()
        .any(|exempt| exempt.covers(path) && named(exempt))
}

/// Words that mark unfinished work, written so that this file does not contain them.
pub const LEFTOVERS: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
];

/// Beginnings of paths on the machines where this was written, written likewise.
pub const MACHINE_PATHS: [&str; 7] = [
    concat!("/wo", "rk/main"),
    concat!("/wo", "rk/shared"),
    concat!("/wo", "rk/."),
    concat!("/ro", "ot/.car", "go"),
    concat!("/ro", "ot/.rust", "up"),
    concat!("/tmp/ba", "sh_"),
    concat!("index.crates.io", "-"),
];
