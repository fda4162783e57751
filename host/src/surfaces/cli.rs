//! The command line: data to standard output, everything else to standard error, and an exit status
//! that says what kind of end it was.

mod ask;
mod audit;
mod back;
mod call;
mod config;
mod demo;
mod doctor;
mod examples;
mod form;
mod going;
mod init;
mod inline;
mod json;
mod labels;
mod login;
mod logs;
mod looking;
mod man;
mod mcp;
mod plugin;
mod policy;
mod print;
mod replay;
mod run;
mod runs;
mod script;
mod secret;
mod serve;
mod servers;
mod sessions;
mod tools;
mod transcript;
mod usage;
mod watch;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::examples::taught;
use super::config::trust::Standing;
use super::config::{Config, Surroundings, trust_command};
use crate::edges::mcp::process;
use crate::edges::memory;
use crate::gate::journal::Journal;
use crate::guests::compile;
use crate::rules::questions::Unattended;
use crate::rules::scrub::KnownSecrets;
use crate::runs::host::{Host, Records, Setup};
use crate::surfaces::again;
use crate::words::error::{Code, Error, Result};
use crate::words::id::RunId;
use crate::words::limits::ASK_EXPIRES_S_MAX;

/// Runs agents, tools and scripts in WebAssembly quarantine: no network, no files, no secrets by default.
#[derive(Debug, Parser)]
#[command(name = "lazaret", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// Use this configuration instead of the nearest `lazaret.toml`.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say a line of `lazaret.toml` for this time; also `LAZARET__TABLE__KEY=VALUE` in the environment.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing but the outcome, and ask nothing.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Leave a run that needs an answer, also where somebody could be asked at the terminal.
    #[arg(long, global = true)]
    no_ask: bool,
    /// Where nobody can be asked: leave the run, or take it for a no and go on.
    #[arg(long, global = true, value_name = "pause|deny", value_parser = parse_unattended)]
    unattended: Option<Unattended>,
    /// How long the questions of a run that begins may be answered; the shorter of this and `ask_expires_s`.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=ASK_EXPIRES_S_MAX))]
    ask_expires: Option<u64>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lazaret demo                                     see everything at work: no key, no network
  lazaret init                                     write a policy to begin with
  lazaret tools                                    what can be called
  lazaret call text.count '{\"text\":\"a b\"}'         call a tool
  lazaret call files.read '{\"path\":\"README.md\"}'   read below the working directory
  lazaret json < requests.jsonl                     call tools for a program
  lazaret script -e 'return 1+1'                    run a script against the tools
  lazaret policy explain web.get_page              which rule decides, and which line would allow it
  lazaret run \"Summarise docs/\" --agent writer     let an agent work

Exit status: 0 done, 2 wrong input, 3 not allowed, 4 not found, 5 the outside failed,
75 waits for an answer, 124 too slow, 130 cancelled, 1 anything else.";

fn parse_unattended(text: &str) -> std::result::Result<Unattended, String> {
    [Unattended::Pause, Unattended::Deny]
        .into_iter()
        .find(|said| said.word() == text)
        .ok_or_else(|| "pause or deny".to_owned())
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the bundled run: a scripted model, real components, real files, no key, no network.
    Demo(demo::Demo),
    /// Write a `lazaret.toml` to begin with.
    Init(init::Init),
    /// Let an agent pursue a goal.
    Run(run::Run),
    /// Call one tool.
    Call(call::Call),
    /// Call tools for a program: a request a line in, an envelope a line out.
    Json(json::Json),
    /// Run a script against the configured tools.
    Script(script::Script),
    /// List the tools, or look for some.
    Tools(tools::Tools),
    /// Look at plugins.
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Look at MCP servers, and trust what they say of their tools.
    #[command(subcommand)]
    Servers(servers::Servers),
    /// Look at what has happened.
    #[command(subcommand)]
    Runs(runs::Runs),
    /// Look at sessions: runs that share context.
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Look at what influenced files and records of services, and take them for your own.
    #[command(subcommand)]
    Labels(labels::Labels),
    /// Answer the questions that runs wait for.
    #[command(subcommand)]
    Ask(ask::Ask),
    /// Keep values that tools may use and never see.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Serve tools, runs, questions and a console over HTTP, to whoever has the token.
    Serve(serve::Serve),
    /// Serve the tools to a client of MCP.
    Mcp(mcp::Mcp),
    /// Ask the policy.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Look at the configuration: what holds, where it was said, and what may be said.
    #[command(subcommand)]
    Config(config::Config),
    /// Say what works here, what does not, and how to mend it.
    #[command(after_help = "Examples:
  lazaret doctor
  lazaret doctor --json     for programs; exit status 1 if something is broken")]
    Doctor,
    /// Print completions for a shell.
    #[command(after_help = "Examples:
  lazaret completions bash > ~/.local/share/bash-completion/completions/lazaret
  lazaret completions fish > ~/.config/fish/completions/lazaret.fish")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder.
    Man {
        /// Where to.
        folder: Option<PathBuf>,
    },
    /// Compile a component from standard input to standard output (for the host itself).
    #[command(name = compile::COMMAND, hide = true)]
    CompileComponent {
        /// Most bytes of its memory.
        memory_bytes: u64,
        /// Most seconds of its processor time.
        cpu_seconds: u64,
    },
    /// Become an MCP server's program (for the host itself).
    #[command(name = process::COMMAND, hide = true)]
    BecomeServer {
        /// The program and its arguments.
        #[arg(last = true)]
        command: Vec<String>,
    },
}

/// What every command may look at.
#[derive(Clone)]
struct Scene {
    around: Surroundings,
    config: Option<PathBuf>,
    json: bool,
    quiet: bool,
    ask: bool,
    unattended: Option<Unattended>,
    ask_expires_s: Option<u64>,
}

/// The program. Never panics for what it is given; a mistake of ours becomes a message.
#[must_use]
pub fn main() -> ExitCode {
    memory::no_dumps();
    let parsed = taught(Arguments::command()).try_get_matches();
    let arguments = match parsed.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => return usage::told(&error),
    };
    if let Command::CompileComponent {
        memory_bytes,
        cpu_seconds,
    } = arguments.command
    {
        return ExitCode::from(compile::child(
            (memory_bytes, cpu_seconds),
            &mut io::stdin(),
            &mut io::stdout(),
            &mut io::stderr(),
        ));
    }
    if let Command::BecomeServer { command } = &arguments.command {
        return ExitCode::from(process::become_server(command, &mut io::stderr()));
    }
    logs::begin(arguments.quiet);
    let json = arguments.json;
    match start(arguments).and_then(|status| print::lost().map_or(Ok(status), Err)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            print::failure(&error, json);
            ExitCode::from(error.code().exit_status())
        }
    }
}

fn start(arguments: Arguments) -> Result<u8> {
    /// Calls of tools by tools stand one in the other; what is not used takes no memory.
    const THREAD_STACK: usize = 8 << 20;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(THREAD_STACK)
        .enable_all()
        .build()
        .map_err(|error| Error::bug("no runtime could be made").because(error))?;
    let Arguments {
        config,
        set,
        json,
        quiet,
        no_ask,
        unattended,
        ask_expires,
        command,
    } = arguments;
    if let Command::Completions { shell } = command {
        check_text(json, "a script of a shell")?;
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "lazaret", &mut script);
        print::line(String::from_utf8_lossy(&script).trim_end());
        return Ok(0);
    }
    if let Command::Man { folder } = &command {
        check_text(json, "a manual")?;
        return man::perform(&taught(Arguments::command()), folder.as_deref());
    }
    let around = Surroundings {
        flags: set,
        ..Surroundings::read()?
    };
    let models = matches!(command, Command::Mcp(_) | Command::Serve(_));
    again::remember(&around.folder, (config.as_deref(), &around.flags), models);
    let scene = Scene {
        around,
        config,
        json,
        quiet,
        ask: !no_ask,
        unattended,
        ask_expires_s: ask_expires,
    };
    let status = runtime.block_on(perform(&scene, command));
    // Work that outlived its call has its own deadline; a process that is done does not wait for it.
    runtime.shutdown_timeout(std::time::Duration::from_millis(
        crate::words::limits::CANCEL_GRACE_MS,
    ));
    status
}

/// What is text for somebody else's program has no form of JSON.
fn check_text(json: bool, what: &str) -> Result<()> {
    if !json {
        return Ok(());
    }
    let what = format!("`--json` asks for JSON, and {what} is none");
    Err(Error::bad_input(what).hint("leave `--json` out"))
}

async fn perform(scene: &Scene, command: Command) -> Result<u8> {
    match command {
        Command::Demo(demo) => demo.perform(scene).await,
        Command::Init(init) => init.perform(scene),
        Command::Run(run) => run.perform(scene).await,
        Command::Call(call) => call.perform(scene).await,
        Command::Json(json) => json.perform(scene).await,
        Command::Script(script) => script.perform(scene).await,
        Command::Ask(ask) => ask.perform(scene).await,
        Command::Tools(tools) => tools.perform(scene).await,
        Command::Plugin(plugin) => plugin.perform(scene).await,
        Command::Runs(runs) => runs.perform(scene).await,
        Command::Sessions(sessions) => sessions.perform(scene).await,
        Command::Labels(labels) => labels.perform(scene).await,
        Command::Servers(servers) => servers.perform(scene).await,
        Command::Secret(secret) => secret.perform(scene).await,
        Command::Mcp(mcp) => mcp.perform(scene).await,
        Command::Policy(policy) => policy.perform(scene).await,
        Command::Config(config) => config.perform(scene),
        Command::Serve(serve) => serve.perform(scene).await,
        Command::Doctor => doctor::perform(scene).await,
        Command::Completions { .. }
        | Command::Man { .. }
        | Command::CompileComponent { .. }
        | Command::BecomeServer { .. } => Err(Error::bug("this command is done elsewhere")),
    }
}

impl Scene {
    /// Reads the configuration, and says so if a workspace's file does not count.
    fn read_config(&self) -> Result<Config> {
        Config::read(&self.around, self.config.as_deref()).inspect(|config| self.say_of(config))
    }

    /// The same for what only looks at it.
    fn look_at_config(&self) -> Result<Config> {
        Config::look(&self.around, self.config.as_deref()).inspect(|config| self.say_of(config))
    }

    /// The run whose name begins so, or `last`; where there is none, that is said with where it was looked for.
    async fn find(&self, journal: &Journal, start: &str) -> Result<RunId> {
        let found = journal.find(start).await;
        found.map_err(|error| self.looked_in(error))
    }

    /// To an error of looking up a run or a question: where that was, if there is none of that name.
    fn looked_in(&self, error: Error) -> Error {
        if error.code() != Code::NotFound {
            return error;
        }
        let config = Config::look(&self.around, self.config.as_deref());
        match config.map(|config| config.setup.places.records) {
            Ok(Records::Folder(folder)) => error.hint(format!(
                "looked in `{}`: what another folder holds is found from there, or with `--config FILE`",
                folder.display()
            )),
            Ok(Records::InMemory) | Err(_) => error,
        }
    }

    /// What does not count of a configuration, and what it lacks.
    fn say_of(&self, config: &Config) {
        self.say_standing(
            config,
            "`lazaret policy check` shows what changed in what it gives",
        );
        for absent in config.absent.iter().filter(|_| !self.quiet) {
            print::warning(&absent.to_string(), &absent.fix);
        }
    }

    /// Whether a workspace's file counts; `seen` says where it is seen what has changed in it.
    fn say_standing(&self, config: &Config, seen: &str) {
        if let (Some((path, standing)), false) = (&config.workspace, self.quiet) {
            let trust = trust_command(path, self.config.is_some());
            match standing {
                Standing::Trusted => {}
                Standing::New => print::warning(
                    &format!(
                        "`{}` is not trusted, so nothing in it counts",
                        path.display()
                    ),
                    &format!("read it, then run `{trust}`"),
                ),
                Standing::Changed(what) => print::warning(
                    &format!("{what}, so nothing in it counts"),
                    &format!("{seen}; then run `{trust}`"),
                ),
            }
        }
    }

    /// Opens the host. Compiling takes a while the first time, and says so.
    async fn open_host(&self) -> Result<Host> {
        self.open(self.read_config()?.setup).await
    }

    /// The same of a configuration that was read.
    async fn open(&self, mut setup: Setup) -> Result<Host> {
        let asks = &mut setup.policy.asks;
        asks.unattended = inline::unattended(self, asks.unattended);
        self.host_of(setup, KnownSecrets::default()).await
    }

    /// The same where questions are put to clients, and to nobody at this terminal, in a process that knows these secrets.
    async fn host_of(&self, mut setup: Setup, known: KnownSecrets) -> Result<Host> {
        let asks = &mut setup.policy.asks;
        let wanted = self
            .ask_expires_s
            .map(|seconds| seconds.saturating_mul(1_000));
        asks.expires_ms = wanted.into_iter().chain(asks.expires_ms).min();
        let host = print::while_waiting(
            "preparing plugins (compiled once, then cached)",
            self.quiet,
            Host::open_knowing(setup, known),
        )
        .await;
        memory::hide();
        host
    }
}
