//! `lazaret servers login` and `logout`: who a server over HTTP lets in.

use serde_json::json;

use super::back::Back;
use super::servers::around;
use super::{Scene, print};
use crate::edges::mcp::Server;
use crate::edges::mcp::login::Logins;
use crate::rules::server::login::Challenge;
use crate::rules::server::{Remote, Terms, Way};
use crate::runs::host::Setup;
use crate::surfaces::paint::{faint, foreign, strong};
use crate::words::error::{Error, Result};

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
    let challenge = match (server.challenge(), looked) {
        (Some(challenge), _) => challenge,
        (None, Ok(_)) if scope.is_empty() => return Ok(in_already(scene, terms)),
        (None, Ok(_)) => Challenge::default(),
        (None, Err(error)) => return Err(error),
    };
    let logins = Logins::of(&around);
    let show = |place: &str| {
        if scene.json {
            print::compact(&json!({"server": terms.name, "url": place}));
        } else {
            print::line(format!(
                "{} {}\n  {}\n{}",
                strong("log in to"),
                strong(&terms.name),
                foreign(place),
                faint("open it in a browser on this machine; this waits until you come back"),
            ));
        }
    };
    let back = Back::open().await?;
    let asked = (&challenge, scope);
    let begun = logins.begin((terms, remote), asked, back.place()).await?;
    show(&begun.place());
    let code = back.heard(|target| begun.code(target)).await?;
    let issuer = logins.finish((&terms.name, remote), begun, &code).await?;
    let granted = logins.scope(&terms.name, remote)?;
    if scene.json {
        print::compact(&json!({
            "ok": true, "server": terms.name, "issuer": issuer, "scope": granted,
        }));
    } else {
        let granted = match granted.is_empty() {
            true => String::new(),
            false => format!(" ({})", foreign(&granted)),
        };
        print::line(format!(
            "logged in to `{}` at {}{granted}",
            terms.name,
            foreign(&issuer)
        ));
    }
    Ok(0)
}

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
    remote(terms)?;
    let was = Logins::of(&around(setup)?).forget(&terms.name)?;
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
