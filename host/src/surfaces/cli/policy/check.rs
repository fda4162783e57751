//! `lazaret policy check`: is the configuration well-formed, and is every line about something?

use std::path::Path;

use serde_json::json;

use super::super::{Scene, print};
use super::since::Since;
use crate::edges::state::StateFolder;
use crate::runs::host::{Host, Setup};
use crate::runs::provider::Provider;
use crate::surfaces::config::absent::Absent;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::lint::Finding;
use crate::surfaces::config::show::{OVERRULED, Shown, shown};
use crate::surfaces::config::trust::{Pins, Standing};
use crate::surfaces::config::uses::{By, Unkept, unkept, uses};
use crate::surfaces::config::{Config, NAME, lint};
use crate::surfaces::paint::{good, phrase};
use crate::words::error::Result;

/// What was seen of the files as they would hold.
pub(super) struct Looked {
    host: Host,
    pub(super) findings: Vec<Finding>,
    /// Who is told of runs.
    told: Option<String>,
    /// Models whose tokens are estimated.
    estimated: Vec<String>,
}

/// Looks at the files as they would hold, so that they can be checked before they are trusted.
pub(super) async fn look(scene: &Scene) -> Result<Looked> {
    let mut preview = Config::preview(&scene.around, scene.config.as_deref())?;
    let files = files(&preview)?;
    let unkept = unkept(&uses(&preview.setup), &preview.setup.vault);
    let absent: Vec<Finding> = preview.absent.iter().map(of_absent).collect();
    let shown = shown(&preview)?;
    let overruled = shown.iter().filter_map(of_overruled);
    // Nobody is told of what is only looked at.
    let told = preview.setup.places.collector.take();
    let told = told.map(|collector| collector.place());
    let estimated = estimated(&preview.setup);
    let opening = Host::open(preview.setup);
    let host = print::while_waiting("looking at plugins", scene.quiet, opening).await?;
    let mut findings = lint::findings(&files, &host).await;
    findings.extend(unkept.into_iter().map(|one| finding(one, &files)));
    findings.extend(absent);
    findings.extend(overruled);
    Ok(Looked {
        host,
        findings,
        told,
        estimated,
    })
}

/// A secret that is not kept, and the file that names it.
fn finding(unkept: Unkept, files: &[(String, ConfigFile)]) -> Finding {
    let says = |file: &ConfigFile| match &unkept.by {
        By::Tools(tools) => file.grants.contains_key(tools),
        By::Server(name) => file.mcp.contains_key(name),
        By::Model(name) => file.models.contains_key(name),
        By::Traces => file.traces.endpoint.is_some(),
    };
    let found = files.iter().rfind(|(_, file)| says(file));
    Finding {
        file: found.map_or_else(|| NAME.to_owned(), |(path, _)| path.clone()),
        line: None,
        table: unkept.by.table(),
        what: unkept.what,
        fix: unkept.fix,
    }
}

/// A mount whose folder is not there.
fn of_absent(absent: &Absent) -> Finding {
    let said = absent.said.as_ref();
    Finding {
        file: said.map_or_else(|| NAME.to_owned(), |(file, _)| file.display().to_string()),
        line: said.map(|(_, line)| *line),
        table: absent.table.clone(),
        what: absent.what.clone(),
        fix: absent.fix.clone(),
    }
}

/// What is said for this time, and does not hold against the workspace's file.
fn of_overruled(shown: &Shown) -> Option<Finding> {
    let what = shown.against()?;
    let holds = shown.origins.first();
    Some(Finding {
        file: holds.map_or_else(|| NAME.to_owned(), |holds| holds.place.to_string()),
        line: holds.and_then(|holds| holds.line),
        table: String::new(),
        what,
        fix: OVERRULED.to_owned(),
    })
}

/// Models of servers whose tokens nobody here can count.
fn estimated(setup: &Setup) -> Vec<String> {
    let models = setup.models.values();
    let unknown = models.filter(|model| {
        matches!(model.provider, Provider::Remote(_)) && model.window.counting.is_estimate()
    });
    unknown.map(|model| model.name.clone()).collect()
}

/// Prints what is worth a word.
pub(super) fn say(findings: &[Finding]) {
    for finding in findings {
        let line = finding.line.map(|line| format!(", line {line}"));
        let line = line.unwrap_or_default();
        print::warning(
            &format!("`{}`{line}: {}", finding.file, finding.what),
            &finding.fix,
        );
    }
}

pub(super) async fn perform(scene: &Scene, strict: bool) -> Result<u8> {
    let config = Config::look(&scene.around, scene.config.as_deref())?;
    scene.say_standing(&config, "what changed in what it gives stands below");
    let workspace = config.workspace;
    let since = match &workspace {
        Some((path, Standing::Changed(_))) => since(scene, path)?,
        Some((_, Standing::Trusted | Standing::New)) | None => None,
    };
    let Looked {
        host,
        findings,
        told,
        estimated,
    } = look(scene).await?;
    let policy = host.policy();
    let status = u8::from(strict && !findings.is_empty());
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
            &json!({
                "ok": true, "origin": policy.origin, "lines": policy.lines.len(),
                "unused": unused, "findings": findings, "traces": told,
                "estimated": estimated, "since": since,
            }),
            true,
        );
        return Ok(status);
    }
    print::marked_line(format!(
        "{} {}: {}, {}{}",
        good("ok"),
        phrase(&policy.origin),
        print::counted(policy.lines.len(), "grant"),
        print::counted(policy.mounts.len(), "mount"),
        match workspace {
            Some(_) => String::new(),
            None => format!(" (no `{NAME}` here or above: `lazaret init` writes one)"),
        }
    ));
    if let Some(place) = told {
        print::marked_line(format!("traces of every run go to {}", phrase(&place)));
    }
    for model in estimated {
        print::line(format!(
            "tokens of the model {model} are estimated: `tokenizer` in [models.{model}] says what counts them"
        ));
    }
    for offered in host.catalog().servers() {
        let terms = offered.server.terms();
        print::marked_line(format!(
            "MCP server {} is outside of the quarantine: {}",
            terms.name,
            phrase(&terms.place())
        ));
    }
    since.iter().for_each(Since::say);
    say(&findings);
    Ok(status)
}

/// What a file says that it did not say when it was trusted.
fn since(scene: &Scene, path: &Path) -> Result<Option<Since>> {
    let pins = Pins::read(&StateFolder::open(&scene.around.state)?)?;
    let file = ConfigFile::read(path)?;
    Ok(pins
        .said(path)
        .map(|said| Since::between(said, (&file, path))))
}

/// The files that count, in their order.
fn files(preview: &Config) -> Result<Vec<(String, ConfigFile)>> {
    let workspace = preview.workspace.iter().map(|(path, _)| path);
    let own = preview.system.iter().chain(&preview.user);
    own.chain(workspace)
        .map(|path| Ok((path.display().to_string(), ConfigFile::read(path)?)))
        .collect()
}
