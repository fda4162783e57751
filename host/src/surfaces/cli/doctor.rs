//! `lazaret doctor`: what works here, what does not, and how to mend it.

use serde_json::json;

use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::guests::catalog::Offered;
use crate::guests::dispatch::Request;
use crate::guests::engine::Allocation;
use crate::guests::tasks::Tasks;
use crate::runs::audit::Audit;
use crate::runs::host::{Host, JOURNAL_ELSEWHERE, Records, Setup};
use crate::surfaces::config::absent::Absent;
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::lint::outside;
use crate::surfaces::config::trust::Standing;
use crate::surfaces::config::uses::{unkept, uses};
use crate::surfaces::config::{Config, NAME, trust_command};
use crate::surfaces::paint::{bad, faint, foreign, good, marked, warn};
use crate::words::error::{Error, Result};
use crate::words::event::Surface;

/// What was found about one thing.
struct Finding {
    what: &'static str,
    mark: Mark,
    text: String,
    hint: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Good,
    Careful,
    Bad,
}

pub(super) async fn perform(scene: &Scene) -> Result<u8> {
    let findings = examine(scene).await;
    let sick = findings.iter().any(|finding| finding.mark == Mark::Bad);
    if scene.json {
        let all: Vec<_> = findings
            .iter()
            .map(|finding| {
                let state = match finding.mark {
                    Mark::Good => "ok",
                    Mark::Careful => "warning",
                    Mark::Bad => "error",
                };
                json!({"what": finding.what, "state": state, "text": finding.text, "hint": finding.hint})
            })
            .collect();
        print::value(&json!({"ok": !sick, "findings": all}), true);
        return Ok(u8::from(sick));
    }
    for finding in &findings {
        let mark = match finding.mark {
            Mark::Good => good("ok     "),
            Mark::Careful => warn("careful"),
            Mark::Bad => bad("broken "),
        };
        print::marked_line(format!(
            "{mark} {:14} {}",
            finding.what,
            marked(&finding.text)
        ));
        if !finding.hint.is_empty() {
            print::line(format!(
                "        {:14} {} {}",
                "",
                faint("hint:"),
                foreign(&finding.hint)
            ));
        }
    }
    Ok(u8::from(sick))
}

async fn examine(scene: &Scene) -> Vec<Finding> {
    let mut findings = vec![program()];
    match StateFolder::open(&scene.around.state).and_then(|state| state.key().map(|_| state)) {
        Ok(state) => findings.push(fine("state", state.path().display().to_string())),
        Err(error) => findings.push(broken("state", &error)),
    }
    let mut config = match Config::look(&scene.around, scene.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            findings.push(broken("configuration", &error));
            return findings;
        }
    };
    findings.push(configuration(&config, scene.config.is_some()));
    findings.extend(config.absent.iter().map(mount));
    if let Records::Folder(path) = &config.setup.places.records {
        let shown = path.join("journal.db").display().to_string();
        match look_at_journal(&config).await {
            Ok(()) => findings.push(fine("journal", shown)),
            Err(error) => {
                findings.push(broken("journal", &error));
                // Everything else is looked at all the same.
                config.setup.places.records = Records::InMemory;
            }
        }
    }
    let models = config.setup.models.len();
    let mut missing = of_models(&config);
    missing.extend(of_secrets(&config));
    // Of what is tried here nobody is told.
    let told = config.setup.places.collector.take();
    let told = told.map(|collector| fine("traces", format!("go to {}", collector.place())));
    findings.extend(told);
    let mut aside = config.setup.clone();
    aside.places.records = Records::InMemory;
    let opening = Host::open(config.setup);
    let host = match print::while_waiting(
        "preparing plugins (compiled once, then cached)",
        scene.quiet,
        opening,
    )
    .await
    {
        Ok(host) => host,
        Err(error) => {
            findings.push(broken("host", &error));
            return findings;
        }
    };
    findings.push(engine(&host));
    let (plugins, tools) = (
        host.catalog().plugins().len(),
        host.catalog().tools().count(),
    );
    findings.push(fine(
        "plugins",
        format!(
            "{} with {}",
            print::counted(plugins, "plugin"),
            print::counted(tools, "tool")
        ),
    ));
    for offered in host.catalog().servers() {
        findings.push(server(offered).await);
    }
    findings.extend(trials(scene, aside).await);
    findings.push(agents(&host, models));
    findings.extend(missing);
    findings
}

/// What is tried is no run of the user's, so it leaves none: `last` stays what it was.
async fn trials(scene: &Scene, aside: Setup) -> [Finding; 2] {
    let host = match Host::open(aside).await {
        Ok(host) => host,
        Err(error) => return [broken("a call", &error), broken("a script", &error)],
    };
    let script = a_script(&host);
    let preparing = "preparing the engine of scripts (compiled once, then cached)";
    [
        a_call(&host).await,
        print::while_waiting(preparing, scene.quiet, script).await,
    ]
}

fn program() -> Finding {
    fine(
        "program",
        format!(
            "lazaret {} with wasmtime 48 for {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH
        ),
    )
}

/// Whether the journal opens and is read, and its folder takes another file; that each record is as it was written is for `lazaret runs verify`.
async fn look_at_journal(config: &Config) -> Result<()> {
    let audit = Audit::of(&config.setup)?;
    audit.journal().listed(1).await?;
    match &config.setup.places.records {
        Records::Folder(path) => probe(&StateFolder::open(path)?),
        Records::InMemory => Ok(()),
    }
}

/// Writes a file, as long as a few records are, and removes it: a full disk shows nowhere else.
fn probe(folder: &StateFolder) -> Result<()> {
    folder
        .write(PROBE, &vec![0; PROBE_BYTES])
        .map_err(|error| error.hint(JOURNAL_ELSEWHERE))?;
    folder.remove(PROBE)
}

/// What is written to see whether something can be.
const PROBE: &str = "probe";
const PROBE_BYTES: usize = 64 << 10;

fn configuration(config: &Config, named: bool) -> Finding {
    match &config.workspace {
        None => {
            let own = config.user.as_ref().or(config.system.as_ref());
            let user = own.map_or("built-in policy".to_owned(), |path| {
                path.display().to_string()
            });
            fine(
                "configuration",
                format!("no `{NAME}` here or above; {user} holds"),
            )
        }
        Some((path, Standing::Trusted)) => {
            fine("configuration", format!("{} (trusted)", path.display()))
        }
        Some((path, standing)) => {
            let text = match standing {
                Standing::Changed(what) => what.clone(),
                Standing::New | Standing::Trusted => format!("{} is not trusted", path.display()),
            };
            Finding {
                what: "configuration",
                mark: Mark::Careful,
                text: format!("{text}, so nothing in it counts"),
                hint: format!("read it, then run `{}`", trust_command(path, named)),
            }
        }
    }
}

fn engine(host: &Host) -> Finding {
    match host.quarantine().allocation() {
        Allocation::Pooled => fine("engine", "guests from a pool: the fast path".to_owned()),
        Allocation::OnDemand => Finding {
            what: "engine",
            mark: Mark::Careful,
            text: "this machine refuses the pool of guests, so each takes longer to start"
                .to_owned(),
            hint: "raise the limit of address space (`ulimit -v unlimited`)".to_owned(),
        },
    }
}

/// A server, which is not started for this.
async fn server(offered: &Offered) -> Finding {
    if offered.digest.is_some()
        && let Err(error) = offered.server.check_parts().await
    {
        return broken("MCP server", &error);
    }
    let terms = offered.server.terms();
    let outside = "outside of the quarantine";
    let (mark, text, hint) = match offered.digest {
        None => (
            Mark::Careful,
            format!(
                "{} is not trusted, so none of its tools are offered",
                terms.name
            ),
            format!("lazaret servers trust {}", terms.name),
        ),
        Some(_) if !offered.hidden.is_empty() => (
            Mark::Careful,
            format!(
                "{}, {outside}: left out {}",
                terms.name,
                offered.hidden.join("; ")
            ),
            format!("lazaret servers check {}", terms.name),
        ),
        Some(_) => (
            Mark::Good,
            format!(
                "{}, {outside}: {}",
                terms.name,
                print::counted(offered.tools, "tool")
            ),
            String::new(),
        ),
    };
    Finding {
        what: "MCP server",
        mark,
        text,
        hint,
    }
}

/// How long something took, in a unit that can be read.
fn took(us: u64) -> String {
    match us {
        0..10_000 => format!("{us} µs"),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000.. => format!("{}.{} s", us / 1_000_000, us / 100_000 % 10),
    }
}

/// The whole path once: gate, guest, journal.
async fn a_call(host: &Host) -> Finding {
    let request = Request {
        tool: "text.count".to_owned(),
        args: crate::rules::json::wished(r#"{"text":"a b"}"#),
    };
    let called = host
        .call(host.new_run(), Surface::Cli, request, &Tasks::new())
        .await;
    match called.and_then(|called| called.outcome.result.map(|_| called.outcome.spent)) {
        Ok(spent) => fine(
            "a call",
            format!("text.count answered after {} in its guest", took(spent.us)),
        ),
        Err(error) => broken("a call", &error),
    }
}

/// A script, with types: the engine of scripts, and the reader of TypeScript.
async fn a_script(host: &Host) -> Finding {
    let source = "const one: number = 1; return one + 1".to_owned();
    let tasks = Tasks::new();
    let called = host.script(host.new_run(), Surface::Cli, source, &tasks);
    match called
        .await
        .and_then(|called| called.outcome.result.map(|_| called.outcome.spent))
    {
        Ok(spent) => fine(
            "a script",
            format!("TypeScript ran after {}", took(spent.us)),
        ),
        Err(error) => broken("a script", &error),
    }
}

/// What models need outside of their files, and do not find.
fn of_models(config: &Config) -> Vec<Finding> {
    let workspace = config.workspace.iter();
    let workspace = workspace.filter(|(_, standing)| *standing == Standing::Trusted);
    let own = config.system.iter().chain(&config.user);
    let files = own.chain(workspace.map(|(path, _)| path));
    let missing = files.flat_map(|path| match ConfigFile::read(path) {
        Ok(file) => outside::models((&path.display().to_string(), &file)),
        Err(_) => Vec::new(),
    });
    let missing = missing.map(|found| Finding {
        what: "models",
        mark: Mark::Careful,
        text: found.what,
        hint: found.fix,
    });
    missing.collect()
}

/// Secrets that somebody is to get, and that nobody keeps.
fn of_secrets(config: &Config) -> Vec<Finding> {
    let unkept = unkept(&uses(&config.setup), &config.setup.vault);
    let found = unkept.into_iter().map(|one| Finding {
        what: "secrets",
        mark: Mark::Careful,
        text: one.what,
        hint: one.fix,
    });
    found.collect()
}

fn agents(host: &Host, models: usize) -> Finding {
    let agents = host.agents().len();
    let both = format!(
        "{}, {}",
        print::counted(agents, "agent"),
        print::counted(models, "model")
    );
    if agents == 0 || models == 0 {
        return Finding {
            what: "agents",
            mark: Mark::Careful,
            text: format!("{both}: `lazaret run` needs one of each"),
            hint: "`lazaret demo` shows a configuration with both".to_owned(),
        };
    }
    fine("agents", both)
}

fn fine(what: &'static str, text: String) -> Finding {
    Finding {
        what,
        mark: Mark::Good,
        text,
        hint: String::new(),
    }
}

fn mount(absent: &Absent) -> Finding {
    Finding {
        what: "mount",
        mark: Mark::Bad,
        text: absent.to_string(),
        hint: absent.fix.clone(),
    }
}

fn broken(what: &'static str, error: &Error) -> Finding {
    Finding {
        what,
        mark: Mark::Bad,
        text: error.message().to_owned(),
        hint: error.hints().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_see_whether_it_can_be_is_gone() {
        let around = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(&around.path().join("own")).unwrap();
        probe(&folder).unwrap();
        assert_eq!(folder.names().unwrap(), Vec::<String>::new());
        // Where it cannot be written, that is found.
        drop(around);
        let error = probe(&folder).unwrap_err();
        assert!(error.message().contains("cannot be written"), "{error}");
        assert!(error.hints().iter().any(|hint| hint == JOURNAL_ELSEWHERE));
    }
}
