//! `lazaret policy`: what is allowed, why, and which line would change it.

use serde_json::{Value, json};

use super::call::read_args;
use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::rules::grant::Access;
use crate::rules::script;
use crate::runs::explain::Explained;
use crate::runs::host::Host;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::trust::Pins;
use crate::surfaces::config::{Config, NAME, find_upward};
use crate::surfaces::paint::{bad, faint, foreign, good, strong};
use crate::words::error::{Code, Error, Result};

/// Ask the policy.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret policy check                            is `lazaret.toml` well-formed, and is every line about something?
  lazaret policy explain files.write              which rule decides, and which line would allow it
  lazaret policy trust                            let `lazaret.toml` count, exactly as it is now")]
pub(super) enum Policy {
    /// Read the configuration and say what is wrong with it.
    Check,
    /// Say which rule decides about a call, and which line would allow it.
    Explain {
        /// The tool's full name.
        tool: String,
        /// Its arguments, as for `call`; without them only the tool itself is judged.
        #[arg(value_name = "JSON|@FILE|-")]
        args: Option<String>,
    },
    /// Let this workspace's `lazaret.toml` count, exactly as it is now.
    Trust {
        /// End the trust instead.
        #[arg(long)]
        revoke: bool,
    },
}

impl Policy {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        match self {
            Self::Check => check(scene).await,
            Self::Explain { tool, args } => explain(scene, &tool, args.as_deref()).await,
            Self::Trust { revoke } => trust(scene, revoke),
        }
    }
}

/// Looks at the file as it would hold, so that it can be checked before it is trusted.
async fn check(scene: &Scene) -> Result<u8> {
    scene.read_config()?;
    let preview = Config::preview(&scene.around, scene.config.as_deref())?;
    let opening = Host::open(preview.setup);
    let host = print::while_waiting("looking at plugins", scene.quiet, opening).await?;
    let policy = host.policy();
    let unused: Vec<String> = policy
        .lines
        .iter()
        .filter(|line| {
            !host
                .catalog()
                .tools()
                .any(|tool| line.tools.matches(&tool.name))
        })
        .map(|line| line.tools.to_string())
        .collect();
    if scene.json {
        print::value(
            &json!({"ok": true, "origin": policy.origin, "lines": policy.lines.len(), "unused": unused}),
            true,
        );
        return Ok(0);
    }
    print::line(format!(
        "{} {}: {}, {}",
        good("ok"),
        policy.origin,
        print::counted(policy.lines.len(), "grant"),
        print::counted(policy.mounts.len(), "mount")
    ));
    for tools in unused {
        print::warning(
            &format!("[grants.\"{tools}\"] is about no tool that is installed"),
            "`lazaret tools` lists them",
        );
    }
    for line in policy.lines.iter().filter(|line| {
        line.grant.mounts.iter().any(|wish| {
            policy
                .mounts
                .get(&wish.mount)
                .is_some_and(|mount| mount.access < wish.access)
        })
    }) {
        print::warning(
            &format!(
                "[grants.\"{}\"] asks more of a mount than the mount itself allows",
                line.tools
            ),
            "write `access = \"write\"` at the mount, or less at the grant",
        );
    }
    warn_of_secrets(&host);
    Ok(0)
}

/// A tool gets no secret that it does not declare, whatever a line says; and one that is sent without
/// encryption is read by whoever is on the way.
fn warn_of_secrets(host: &Host) {
    for line in &host.policy().lines {
        for secret in &line.grant.secrets {
            let which = format!("[grants.\"{}\"] secrets: `{}`", line.tools, secret.name);
            let mut tools = host.catalog().tools();
            let declared = tools.any(|tool| {
                let wants = &tool.declared.wants.secrets;
                line.tools.matches(&tool.name) && wants.contains(&secret.name)
            });
            if !declared {
                print::warning(
                    &format!("{which} is declared by no such tool, so none gets it"),
                    "`lazaret plugin inspect` says what a plugin declares",
                );
            }
            let to = secret.to.place();
            let here = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
            if to.starts_with("http:") && !here.iter().any(|here| to.starts_with(here)) {
                print::warning(
                    &format!("{which} is sent to `{to}` without encryption"),
                    "write `https://` if the server speaks it",
                );
            }
        }
    }
}

async fn explain(scene: &Scene, tool: &str, args: Option<&str>) -> Result<u8> {
    let args = args.map(read_args).transpose()?;
    let host = scene.open_host().await?;
    let explained = match &args {
        Some(args) => host.explain(tool, args)?,
        None => host.explain_tool(tool)?,
    };
    let denied = explained.iter().any(|one| one.verdict.is_err());
    let status = if denied {
        Code::Denied.exit_status()
    } else {
        0
    };
    // A script touches nothing: what it calls is judged call by call.
    let touches = if tool == script::TOOL {
        Vec::new()
    } else {
        touches(&host, tool)?
    };
    if scene.json {
        let verdicts: Vec<Value> = explained.iter().map(as_json).collect();
        let policy = &host.policy().origin;
        print::value(
            &json!({"verdicts": verdicts, "mayTouch": touches, "policy": policy}),
            true,
        );
        return Ok(status);
    }
    for one in &explained {
        describe(one);
    }
    print::line("its guest may touch:");
    if touches.is_empty() {
        print::line("  nothing but its arguments");
    }
    for line in touches {
        print::line(format!("  {}", foreign(&line)));
    }
    Ok(status)
}

fn as_json(explained: &Explained) -> Value {
    match &explained.verdict {
        Ok(rule) => json!({"subject": explained.subject, "verdict": "allow", "rule": rule}),
        Err(denial) => json!({"subject": explained.subject, "verdict": "deny", "denial": denial}),
    }
}

fn describe(explained: &Explained) {
    let subject = strong(foreign(&explained.subject));
    match &explained.verdict {
        Ok(rule) => print::line(format!("{} {subject}: {}", good("allow"), foreign(rule))),
        Err(denial) => {
            let (reason, rule) = (foreign(&denial.reason), faint(format!("({})", denial.rule)));
            print::line(format!("{} {subject}: {reason} {rule}", bad("deny")));
            if !denial.allow.is_empty() {
                let lines = foreign(&denial.allow.join("\n")).replace('\n', "\n  ");
                print::line(format!("to allow it, write in `{NAME}`:\n  {lines}"));
            }
        }
    }
}

/// What the tool's guest may touch, line by line: policy × manifest.
fn touches(host: &Host, tool: &str) -> Result<Vec<String>> {
    let tool = host.catalog().resolve(tool, &[])?;
    let grant = &tool.grant;
    let mut lines: Vec<String> = grant
        .fetch
        .iter()
        .map(|line| format!("fetch {line}"))
        .collect();
    lines.extend(
        grant
            .mounts
            .iter()
            .map(|line| format!("{} files in `{}`", line.access.word(), line.mount)),
    );
    if grant.wasi_files && !grant.mounts.is_empty() {
        lines.push("these files through `wasi:filesystem` too".to_owned());
    }
    if grant.notes != Access::None {
        lines.push(format!("{} notes", grant.notes.word()));
    }
    lines.extend(grant.calls.iter().map(|line| format!("call {line}")));
    lines.extend(grant.secrets.iter().map(ToString::to_string));
    Ok(lines)
}

fn trust(scene: &Scene, revoke: bool) -> Result<u8> {
    let path = match &scene.config {
        Some(path) => scene.around.folder.join(path),
        None => find_upward(&scene.around.folder).ok_or_else(|| {
            Error::not_found(format!("`{NAME}` here or above"))
                .hint("write one; `lazaret demo` shows an example")
        })?,
    };
    let file = ConfigFile::read(&path)?;
    let state = StateFolder::open(&scene.around.state)?;
    let pins = Pins::read(&state)?;
    let shown = path.display();
    if revoke {
        let was = pins.unpin(&state, &path)?;
        if scene.json {
            print::value(&json!({"ok": true, "path": path, "wasTrusted": was}), true);
            return Ok(0);
        }
        print::line(if was {
            format!("`{shown}` no longer counts")
        } else {
            format!("`{shown}` was not trusted")
        });
        return Ok(0);
    }
    let digest = file.digest(&path).short();
    pins.pin(&state, &path, &file)?;
    if scene.json {
        print::value(
            &json!({"ok": true, "path": path, "digest": file.digest(&path)}),
            true,
        );
        return Ok(0);
    }
    print::line(format!(
        "{} `{shown}` counts from now on, exactly as it is ({digest})",
        good("trusted")
    ));
    for (name, mount) in &file.mounts {
        let access = mount.access.word();
        print::line(format!(
            "  mount {} {access} {}",
            strong(name),
            mount.path.display()
        ));
    }
    for (tools, grant) in &file.grants {
        print::line(format!(
            "  {} {}, {}, notes {}",
            strong(tools),
            print::counted(grant.fetch.len(), "destination"),
            print::counted(grant.mounts.len(), "mount"),
            grant.notes.word()
        ));
        for secret in &grant.secrets {
            let to = foreign(&secret.to);
            print::line(format!(
                "    secret {} to {to}",
                strong(foreign(&secret.name))
            ));
        }
    }
    Ok(0)
}
