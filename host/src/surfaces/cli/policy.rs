//! `lazaret policy`: what is allowed, why, and which line would change it.

mod check;
mod explain;
mod flow;
mod gives;
mod reach;
mod recorded;
pub(super) mod since;
mod suggest;
mod test;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use self::since::Since;
use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::trust::Pins;
use crate::surfaces::config::{NAME, find_upward};
use crate::surfaces::paint::{good, shown_path};
use crate::words::error::{Error, Result};

/// Ask the policy.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret policy check                            is `lazaret.toml` well-formed, and is every line about something?
  lazaret policy explain files.write              which rule decides, and which line would allow it
  lazaret policy explain mail.send @args.json --as model --influence web:https://evil.test
  lazaret policy explain --run last               what steered each sink of a run, and where it came from
  lazaret policy test last --policy new.toml      what another policy would have said
  lazaret policy suggest last                     lines for `[flow]`, from a run that was watched
  lazaret policy trust                            let `lazaret.toml` count, exactly as it is now

A `*` means one thing in each place, and stands in no other:
  text.count, text.*, *                           one tool, all of a plugin or MCP server, all tools
  https://api.example.org/v1/                     one server, and that path with all below it
  https://*.example.org/                          each name of exactly one label before that, never `example.org` itself")]
pub(super) enum Policy {
    /// Read the configuration and say what is wrong with it.
    Check {
        /// End with status 1 where there is anything to say.
        #[arg(long)]
        strict: bool,
    },
    /// Say which rule decides about a call, or what has flowed in a run.
    Explain(explain::Explain),
    /// Judge recorded runs again, by another policy; nothing is performed.
    Test(test::Test),
    /// Propose lines for `[flow]`, from runs that were watched or asked.
    Suggest(suggest::Suggest),
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
            Self::Check { strict } => check::perform(scene, strict).await,
            Self::Explain(explain) => explain.perform(scene).await,
            Self::Test(test) => test.perform(scene).await,
            Self::Suggest(suggest) => suggest.perform(scene).await,
            Self::Trust { revoke } => trust(scene, revoke).await,
        }
    }
}

fn end_trust(scene: &Scene, (pins, state): (Pins, &StateFolder), path: &Path) -> Result<u8> {
    let was = pins.unpin(state, path)?;
    let shown = shown_path(path);
    if scene.json {
        print::value(&json!({"ok": true, "path": path, "wasTrusted": was}), true);
    } else {
        print::marked_line(match was {
            true => format!("`{shown}` no longer counts"),
            false => format!("`{shown}` was not trusted"),
        });
    }
    Ok(0)
}

/// All that the user says themselves, a line each: in their files, in variables, and by flags.
fn own_lines(scene: &Scene) -> Result<BTreeSet<String>> {
    let mut lines = BTreeSet::new();
    for path in [&scene.around.system_file, &scene.around.user_file] {
        if let Some(file) = ConfigFile::read_if_there(path)? {
            lines.extend(since::lines(&file, path));
        }
    }
    for (place, table) in scene.around.assigned()? {
        let mut said = BTreeSet::new();
        since::of_table("", &table, &mut said);
        lines.extend(said.into_iter().map(|line| format!("{line} ({place})")));
    }
    Ok(lines)
}

async fn trust(scene: &Scene, revoke: bool) -> Result<u8> {
    let state = StateFolder::open(&scene.around.state)?;
    let pins = Pins::read(&state)?;
    let path = match &scene.config {
        Some(path) => scene.around.folder.join(path),
        // One that is gone can still be forgotten.
        None => find_upward(&scene.around.folder)
            .or_else(|| pins.above(&scene.around.folder).filter(|_| revoke))
            .ok_or_else(|| {
                Error::not_found(format!("`{NAME}` here or above"))
                    .hint("`lazaret init` writes one")
            })?,
    };
    if revoke {
        return end_trust(scene, (pins, &state), &path);
    }
    let shown = shown_path(&path);
    let file = ConfigFile::read(&path)?;
    let digest = file.digest(&path);
    let gifts = gives::gifts(&file, &path, &own_lines(scene)?);
    let since = pins
        .said(&path)
        .map(|said| Since::between(said, (&file, &path)));
    pins.pin(&state, (&path, &file), since::lines(&file, &path))?;
    let looked = check::look(scene).await;
    // It is trusted, and whoever relies on it must learn that it cannot be used.
    let status = looked
        .as_ref()
        .map_or_else(|error| error.code().exit_status(), |_| 0);
    if scene.json {
        let (findings, unusable) = match &looked {
            Ok(looked) => (looked.findings.as_slice(), None),
            Err(error) => (&[][..], Some(error.message())),
        };
        print::value(
            &json!({
                "ok": status == 0, "path": path, "digest": digest, "gives": gifts, "since": since,
                "findings": findings, "unusable": unusable,
            }),
            true,
        );
        return Ok(status);
    }
    print::marked_line(format!(
        "{} `{shown}` counts from now on, exactly as it is ({})",
        good("trusted"),
        digest.short()
    ));
    if !scene.quiet {
        gives::say(&gifts);
        since.iter().for_each(Since::say);
    }
    match looked {
        Ok(looked) if !scene.quiet => check::say(&looked.findings),
        Ok(_) => {}
        Err(error) => {
            print::failed(&error);
            print::warning(
                "it is trusted, and cannot be used as it is",
                "mend it, then trust it once more",
            );
        }
    }
    Ok(status)
}
