//! `lazaret servers`: MCP servers, what they say of their tools, and a person's word on that.

use serde_json::{Map, Value, json};

use super::{Scene, login, print};
use crate::edges::egress::Egress;
use crate::edges::mcp::pins::Pins;
use crate::edges::mcp::{Around, Server, parts};
use crate::edges::state::StateFolder;
use crate::rules::scrub::KnownSecrets;
use crate::rules::server::changed::{Part, between};
use crate::rules::server::definition::{Definition, Listed};
use crate::rules::server::pin::{Difference, Parts, Pin, changed};
use crate::rules::server::{Terms, Way};
use crate::runs::host::Setup;
use crate::runs::served;
use crate::surfaces::paint::{cited, faint, foreign, good, phrase, strong, table, warn};
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, shown};
use crate::words::inert::{narrow_json, one_line};

/// Look at MCP servers, and trust what they say of their tools.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret servers list             those of `[mcp.NAME]`, and whether they are trusted; starts none
  lazaret servers check mail       start one, and show what it says of its tools now
  lazaret servers trust mail       the same, and offer its tools from now on, exactly as they are
  lazaret servers forget mail      offer none of them any more
  lazaret servers login wiki       log in to one over HTTP that wants to know who asks

A server is native code, or somebody else's: it is outside of the quarantine. What it is told, it has.")]
pub(super) enum Servers {
    /// List the servers that are configured.
    #[command(after_help = "Examples:\n  lazaret servers list --json")]
    List,
    /// Start a server, and show what it says of its tools, and how that differs from what was trusted.
    #[command(after_help = "Examples:\n  lazaret servers check mail

It is not started where a file that its command names has changed since it was trusted.")]
    Check {
        /// Its name in `[mcp.NAME]`.
        server: String,
    },
    /// Offer the tools of a server from now on, exactly as it describes them now.
    #[command(
        after_help = "Examples:\n  lazaret servers trust mail\n  lazaret servers trust mail --digest 5f2b…     only if it still says what `check` showed"
    )]
    Trust {
        /// Its name in `[mcp.NAME]`.
        server: String,
        /// Only if what it says has this digest, which `check` prints.
        #[arg(long)]
        digest: Option<String>,
    },
    /// Log in to a server over HTTP: shows where to go, opens nothing, and waits until you come back.
    #[command(
        after_help = "Examples:\n  lazaret servers login wiki\n  lazaret servers login wiki --scope 'pages:write'   where it wants more than it was let in with"
    )]
    Login {
        /// Its name in `[mcp.NAME]`.
        server: String,
        /// What is asked for beside what was granted before and what the server says.
        #[arg(long, default_value = "")]
        scope: String,
    },
    /// Forget a login. What was granted stays granted until its issuer says otherwise.
    #[command(after_help = "Examples:\n  lazaret servers logout wiki")]
    Logout {
        /// Its name in `[mcp.NAME]`.
        server: String,
    },
    /// Offer none of the tools of a server any more.
    #[command(after_help = "Examples:\n  lazaret servers forget mail")]
    Forget {
        /// Its name in `[mcp.NAME]`.
        server: String,
    },
}

impl Servers {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let setup = scene.read_config()?.setup;
        let pins = Pins::open(&StateFolder::open(&setup.places.state)?)?;
        match self {
            Self::List => list(scene, &setup, &pins),
            Self::Check { server } => check(scene, &setup, (&pins, &server)).await,
            Self::Trust { server, digest } => trust(scene, &setup, (&pins, &server, digest)).await,
            Self::Login { server, scope } => {
                let terms = named(&setup, &server)?;
                login::log_in(scene, &setup, (terms, &scope)).await
            }
            Self::Logout { server } => login::log_out(scene, &setup, named(&setup, &server)?),
            Self::Forget { server } => {
                let terms = named(&setup, &server)?;
                let was = pins.of(terms, &KnownSecrets::default())?.is_some();
                pins.forget(terms)?;
                if scene.json {
                    print::value(
                        &json!({"ok": true, "server": server, "wasTrusted": was}),
                        true,
                    );
                } else {
                    print::line(match was {
                        true => format!("the tools of `{server}` are no longer offered"),
                        false => format!("`{server}` was not trusted"),
                    });
                }
                Ok(0)
            }
        }
    }
}

fn named<'a>(setup: &'a Setup, name: &str) -> Result<&'a Terms> {
    let found = setup.servers.iter().find(|terms| terms.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = setup
            .servers
            .iter()
            .map(|terms| terms.name.as_str())
            .collect();
        let error = Error::not_found(format!("MCP server `{name}`"));
        match known.is_empty() {
            true => error.hint(format!("write `[mcp.{name}]` with its `command` or `url`")),
            false => error.hint(format!("configured: {}", known.join(", "))),
        }
    })
}

fn list(scene: &Scene, setup: &Setup, pins: &Pins) -> Result<u8> {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for terms in &setup.servers {
        // Nothing is shown of it but numbers, for which no vault is opened.
        let pin = pins.of(terms, &KnownSecrets::default())?;
        let tools = pin.as_ref().map(|pin| pin.tools.len());
        let offers = pin.as_ref().map(|pin| offered(terms, &pin.tools));
        all.push(json!({
            "name": terms.name, "kind": kind(terms), "place": terms.place(),
            "digest": pin.as_ref().map(Pin::digest), "tools": tools, "offered": offers,
        }));
        let trusted = match &pin {
            Some(pin) => good(counted(terms, &pin.tools)),
            None => warn("not trusted"),
        };
        let digest = pin.map_or_else(String::new, |pin| pin.digest().short());
        rows.push(vec![
            strong(&terms.name),
            faint(kind(terms)),
            trusted,
            faint(digest),
            phrase(&terms.place()),
        ]);
    }
    if scene.json {
        print::list(all);
    } else if rows.is_empty() {
        print::note("no MCP server is configured: write `[mcp.NAME]` with its `command` or `url`");
    } else {
        print::marked_line(table(&rows).trim_end());
    }
    Ok(0)
}

/// How many of these tools `allow` and `block` leave.
fn offered(terms: &Terms, tools: &[Definition]) -> usize {
    let offers = |tool: &&Definition| terms.choice.offers(&tool.remote);
    tools.iter().filter(offers).count()
}

/// The same in words: of all, where some are left out.
fn counted(terms: &Terms, tools: &[Definition]) -> String {
    let (some, all) = (offered(terms, tools), tools.len());
    match some == all {
        true => print::counted(all, "tool"),
        false => format!("{some} of {}", print::counted(all, "tool")),
    }
}

fn kind(terms: &Terms) -> &'static str {
    match terms.way {
        Way::Program(_) => "program",
        Way::Remote(_) => "remote",
    }
}

/// What a server is started and asked with.
pub(super) fn around(setup: &Setup) -> Result<Around> {
    let known = KnownSecrets::default();
    setup.vault.teach(&known)?;
    let egress = Egress::new(&setup.places.names, setup.vault.clone(), known.clone());
    served::around(&setup.places, (&setup.vault, &known), &egress)
}

/// What a server says now, and the files that its command names. It is ended at once; and not even started where one of
/// those is not what it was: whoever only looks has not said that it may run, with its secrets.
async fn look(
    scene: &Scene,
    (terms, around): (&Terms, Around),
    trusted: Option<&Pin>,
) -> Result<(Listed, Parts)> {
    // Before it is started, or it could say what it was that was started.
    let parts = parts(terms, &around)?;
    let server = Server::new(terms.clone(), around);
    server.as_read(trusted.map_or(&parts, |pin| &pin.parts));
    let waiting = format!("starting the server `{}`", terms.name);
    let listed = print::while_waiting(&waiting, scene.quiet, server.look()).await;
    server.end().await;
    Ok((listed?, parts))
}

async fn check(scene: &Scene, setup: &Setup, (pins, name): (&Pins, &str)) -> Result<u8> {
    let terms = named(setup, name)?;
    let around = around(setup)?;
    let pin = pins.of(terms, &around.known)?;
    if let Some(pin) = &pin {
        refuse_other_files((terms, &around), pin)?;
    }
    let (listed, parts) = look(scene, (terms, around), pin.as_ref()).await?;
    let listed = listed.keeping(read(pin.as_ref()));
    let now = Pin::of(terms, &listed, parts);
    let difference = pin.as_ref().map(|pin| pin.difference(&listed, &now.parts));
    let said = pin.as_ref().map(|pin| changes(pin, &listed));
    if scene.json {
        let differs = difference.as_ref().zip(said.as_deref());
        print::value(&told(terms, &listed, &now, differs), true);
    } else {
        describe(terms, &listed, now.digest());
        show(said.as_deref().unwrap_or_default(), &terms.name);
        match &difference {
            None => print::note(format!("it is not trusted: `lazaret servers trust {name}`")),
            Some(difference) if difference.is_none() => {
                print::line(format!("{} as it was trusted", good("ok")))
            }
            Some(difference) => {
                let hint = format!("if that is well: `lazaret servers trust {name}`");
                say(difference, name, &hint);
            }
        }
    }
    Ok(u8::from(
        difference.is_some_and(|difference| !difference.is_none()),
    ))
}

/// Whoever only looks has not said that another program may run: it is said which file it is, and how one goes on.
fn refuse_other_files((terms, around): (&Terms, &Around), pin: &Pin) -> Result<()> {
    let other = changed(&pin.parts, &parts(terms, around)?);
    if other.is_empty() {
        return Ok(());
    }
    let name = &terms.name;
    let files = other.iter().map(|file| format!("`{}`", shown(file)));
    let what = format!(
        "the server `{name}` is not started: what its `command` names is not what it was when you trusted it: {}",
        files.collect::<Vec<_>>().join(", ")
    );
    Err(Error::new(Code::Denied, what)
        .hint(format!(
            "look at what changed, then run `lazaret servers trust {name}`, which shows what its tools say otherwise"
        ))
        .hint(format!(
            "to read its tools before they are trusted, run `lazaret servers forget {name}`, then `check` it again"
        ))
        .hint(format!(
            "what is no part of the program stands in `data` of `[mcp.{name}]`"
        )))
}

async fn trust(
    scene: &Scene,
    setup: &Setup,
    (pins, name, digest): (&Pins, &str, Option<String>),
) -> Result<u8> {
    let terms = named(setup, name)?;
    let around = around(setup)?;
    let before = pins.of(terms, &around.known)?;
    let (listed, parts) = look(scene, (terms, around), None).await?;
    let listed = listed.keeping(read(before.as_ref()));
    let pin = Pin::of(terms, &listed, parts);
    let wanted = digest.as_deref().map(Digest::parse).transpose()?;
    if wanted.is_some_and(|wanted| wanted != pin.digest()) {
        let what = format!(
            "the server `{name}` says something else by now: its digest is {}",
            pin.digest()
        );
        return Err(Error::new(Code::Denied, what)
            .hint(format!("look at it: `lazaret servers check {name}`")));
    }
    pins.keep(terms, &pin)?;
    let difference = before
        .as_ref()
        .map(|before| before.difference(&listed, &pin.parts));
    let said = before.as_ref().map(|before| changes(before, &listed));
    if scene.json {
        let differs = difference.as_ref().zip(said.as_deref());
        print::value(&told(terms, &listed, &pin, differs), true);
        return Ok(0);
    }
    describe(terms, &listed, pin.digest());
    show(said.as_deref().unwrap_or_default(), &terms.name);
    if let Some(difference) = &difference {
        let hint = format!("if that is not well: `lazaret servers forget {name}`");
        say(difference, name, &hint);
    }
    print::line(format!(
        "{} {} of `{name}` may be offered from now on, exactly as above",
        good("trusted"),
        counted(terms, &listed.tools)
    ));
    Ok(0)
}

/// The tools that a person has read, if they have.
fn read(pin: Option<&Pin>) -> &[Definition] {
    pin.map_or(&[][..], |pin| pin.tools.as_slice())
}

/// A tool that says something else, by its name there and here, and what is else.
type Changed<'a> = (&'a Definition, Vec<Part>);

fn changes<'a>(pin: &Pin, listed: &'a Listed) -> Vec<Changed<'a>> {
    let was = |now: &Definition| pin.tools.iter().find(|was| was.remote == now.remote);
    let pairs = listed.tools.iter();
    let pairs = pairs.filter_map(|now| Some((now, between(was(now)?, now))));
    pairs.filter(|(_, parts)| !parts.is_empty()).collect()
}

/// What is else in the tools that say something else.
fn show(changed: &[Changed<'_>], server: &str) {
    for (tool, parts) in changed {
        for part in parts {
            let name = strong(format!("{server}.{}", tool.short));
            print::marked_line(format!("{} {name}: {}", warn("changed"), part.part));
            for line in &part.lines {
                print::marked_line(format!("  {}", phrase(line)));
            }
        }
    }
    if !changed.is_empty() {
        print::line("");
    }
}

fn told(
    terms: &Terms,
    listed: &Listed,
    pin: &Pin,
    differs: Option<(&Difference, &[Changed<'_>])>,
) -> Value {
    let tool = |tool: &Definition| {
        json!({
            "name": format!("{}.{}", terms.name, tool.short), "remote": tool.remote, "digest": tool.digest(),
            "description": tool.description, "input": tool.input, "output": tool.output, "hints": tool.hints,
        })
    };
    json!({
        "ok": true, "server": terms.name, "place": terms.place(), "digest": pin.digest(),
        "tools": listed.tools.iter().map(tool).collect::<Vec<_>>(), "hidden": listed.hidden,
        "files": pin.parts,
        "changed": differs.map(|(difference, said)| {
            let said = said.iter().map(|(tool, parts)| (tool.remote.clone(), json!(parts)));
            json!({
                "new": difference.new, "changed": difference.changed, "gone": difference.gone,
                "files": difference.parts, "taken": difference.taken, "parts": said.collect::<Map<String, Value>>(),
            })
        }),
    })
}

/// Everything that a server says of its tools: whatever it holds, a terminal only shows it.
fn describe(terms: &Terms, listed: &Listed, digest: Digest) {
    print::marked_line(format!(
        "{}  {}",
        strong(&terms.name),
        faint(phrase(&terms.place()))
    ));
    print::line(match &terms.way {
        Way::Program(_) => "a program on this machine: native code, which may do what you may",
        Way::Remote(_) => "somebody elsewhere, who has what it is told",
    });
    print::line(format!("digest {digest}"));
    for tool in &listed.tools {
        let line = terms.choice.line(&tool.remote);
        let name = format!("{}.{}", terms.name, tool.short);
        let there = match tool.remote == tool.short {
            true => String::new(),
            false => format!("  {}", faint(format!("there `{}`", phrase(&tool.remote)))),
        };
        print::marked_line(format!("\n{}{there}", strong(name)));
        if !tool.description.is_empty() {
            print::marked_line(cited(&tool.description));
        }
        let offered = match terms.choice.offers(&tool.remote) {
            true => format!(
                "{}, risk {}",
                line.effect.word(),
                line.risk.or_of(line.effect).word()
            ),
            false => "not offered, by `allow` and `block`".to_owned(),
        };
        print::line(format!("  {} {offered}", faint("here")));
        print::marked_line(format!(
            "  {} {}",
            faint("takes"),
            foreign(&narrow_json(&tool.input.to_string()))
        ));
        if let Some(output) = &tool.output {
            print::marked_line(format!(
                "  {} {}",
                faint("gives"),
                foreign(&narrow_json(&output.to_string()))
            ));
        }
        if !tool.hints.is_null() {
            print::marked_line(format!(
                "  {} {}",
                faint("claims"),
                foreign(&narrow_json(&tool.hints.to_string()))
            ));
        }
    }
    print::line("");
    for hidden in &listed.hidden {
        print::warning(
            &format!("left out: {hidden}"),
            "it is as if the server did not list it",
        );
    }
}

fn say(difference: &Difference, server: &str, hint: &str) {
    for (what, tools) in [
        ("says something else", &difference.changed),
        ("is new", &difference.new),
        ("is gone", &difference.gone),
        ("is another file", &difference.parts),
    ] {
        for tool in tools {
            print::warning(
                &format!("`{}` {what} since it was trusted", one_line(tool)),
                hint,
            );
        }
    }
    for taken in &difference.taken {
        let (was, now) = (one_line(&taken.was), one_line(&taken.now));
        let what = format!(
            "`{server}.{}` was `{was}` there and is `{now}` now: what policy says of that name is about the other tool",
            taken.name
        );
        print::warning(&what, hint);
    }
}
