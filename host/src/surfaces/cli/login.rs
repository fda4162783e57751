//! `lazaret servers login` and `logout`: who a server over HTTP lets in.

use serde_json::{Map, Value, json};

use super::back::Back;
use super::servers::around;
use super::{Scene, print};
use crate::edges::mcp::Server;
use crate::edges::mcp::login::{Begun, LetIn, Logins};
use crate::rules::server::login::Challenge;
use crate::rules::server::{Remote, Terms, Way};
use crate::runs::host::Setup;
use crate::surfaces::paint::{faint, strong};
use crate::words::error::{Error, Result};
use crate::words::inert::one_line;

/// Logs in, where the server wants to know who asks, or more is asked for.
pub(super) async fn log_in(
    scene: &Scene,
    setup: &Setup,
    (terms, scope): (&Terms, &str),
) -> Result<u8> {
    let remote = remote(terms)?;
    let around = around(setup)?;
    let server = Server::new(terms.clone(), around.clone());
    let waiting = format!("asking the server `{}`", terms.name);
    let looked = print::while_waiting(&waiting, scene.quiet, server.look()).await;
    server.end().await;
    let logins = Logins::of(&around);
    let challenge = match (server.challenge(), looked) {
        (Some(challenge), _) => challenge,
        (None, Err(error)) => return Err(error),
        (None, Ok(_)) => match logins.wanted((terms, remote))? {
            Some(wanted) => wanted,
            None if scope.is_empty() => return Ok(in_already(scene, terms)),
            None => Challenge::default(),
        },
    };
    let back = Back::open().await?;
    let asked = (&challenge, scope);
    let begun = logins.begin((terms, remote), asked, back.place()).await?;
    show(scene, terms, &begun);
    let code = back.heard(|target| begun.code(target)).await?;
    let LetIn {
        issuer,
        is_redacted,
    } = logins.finish((terms, remote), begun, &code).await?;
    let granted = logins.scope((terms, remote))?;
    if scene.json {
        print::compact(&json!({
            "ok": true, "server": terms.name, "issuer": issuer, "scope": granted, "redacted": is_redacted,
        }));
    } else {
        let granted = match granted.is_empty() {
            true => String::new(),
            false => format!(" ({})", one_line(&granted)),
        };
        print::line(format!(
            "logged in to `{}` at {}{granted}",
            terms.name,
            one_line(&issuer)
        ));
        if !is_redacted {
            print::line(faint(
                "its token could be ordinary text, so it is not taken out of what is said and recorded here",
            ));
        }
    }
    Ok(0)
}

/// Where the person goes, and before that who hears of it: whether that is well they can still say.
fn show(scene: &Scene, terms: &Terms, begun: &Begun) {
    let place = begun.place();
    let parties = begun.parties();
    if scene.json {
        let own = [("server", terms.name.clone()), ("url", place)];
        let all = own.into_iter().chain(parties);
        let said: Map<String, Value> = all
            .map(|(what, who)| (what.to_owned(), who.into()))
            .collect();
        print::compact(&said);
        return;
    }
    print::line(format!("{} {}", strong("log in to"), strong(&terms.name)));
    for ((_, who), what) in parties.iter().zip(PARTIES) {
        print::line(format!("  {} {}", faint(what), one_line(who)));
    }
    print::line(format!(
        "  {}\n{}",
        one_line(&place),
        faint("open it in a browser on this machine; this waits until you come back"),
    ));
}

/// What somebody has to do with a login, for people.
const PARTIES: [&str; 4] = [
    "who lets you in",
    "gets the code and our secret",
    "the token is for",
    "asks for",
];

fn in_already(scene: &Scene, terms: &Terms) -> u8 {
    if scene.json {
        print::compact(&json!({"ok": true, "server": terms.name, "issuer": null, "scope": null}));
    } else {
        print::line(format!("`{}` lets us in as it is", terms.name));
    }
    0
}

/// Forgets a login.
pub(super) fn log_out(scene: &Scene, setup: &Setup, terms: &Terms) -> Result<u8> {
    let remote = remote(terms)?;
    let was = Logins::of(&around(setup)?).forget((terms, remote))?;
    if scene.json {
        print::compact(&json!({"ok": true, "server": terms.name, "wasIn": was}));
    } else {
        print::line(match was {
            true => format!("the login to `{}` is forgotten", terms.name),
            false => format!("nobody was logged in to `{}`", terms.name),
        });
    }
    Ok(0)
}

fn remote(terms: &Terms) -> Result<&Remote> {
    match &terms.way {
        Way::Remote(remote) => Ok(remote),
        Way::Program(_) => {
            let what = format!(
                "the server `{}` is a program, and one logs in only to a `url`",
                terms.name
            );
            Err(Error::bad_input(what).hint(format!(
                "give it what it needs in its environment: `env` of `[mcp.{}]`",
                terms.name
            )))
        }
    }
}
