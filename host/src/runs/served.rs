//! Servers of a host: what a person has read of each, and what follows from that.

use crate::edges::egress::Egress;
use crate::edges::mcp::pins::{FOLDER, Pins};
use crate::edges::mcp::{Around, servers};
use crate::edges::state::StateFolder;
use crate::edges::vault::Vault;
use crate::guests::catalog::{By, Catalog};
use crate::rules::flow::class::Classes;
use crate::rules::policy::Policy;
use crate::rules::scrub::KnownSecrets;
use crate::rules::server::{Terms, definition};
use crate::words::error::{Error, Result};
use crate::words::key::HostKey;

use super::host::Places;

/// What servers are started and asked with.
///
/// # Errors
/// As [`StateFolder::open`].
pub fn around(
    places: &Places,
    (vault, known): (&Vault, &KnownSecrets),
    egress: &Egress,
) -> Result<Around> {
    let state = StateFolder::open(&places.state)?;
    Ok(Around {
        program: places.program.clone(),
        folder: state.below(FOLDER)?,
        vault: vault.clone(),
        known: known.clone(),
        egress: egress.clone(),
        key: HostKey::new(&state.key()?),
    })
}

/// Adds the servers to a catalog, with the tools that a person has read; none of them is started for that.
///
/// # Errors
/// `BadInput` for a name that is taken, and for a server that policy trusts; `Corrupt` for what was read.
pub(super) fn add(
    catalog: &mut Catalog,
    terms: Vec<Terms>,
    policy: &mut Policy,
    around: Around,
) -> Result<()> {
    // The folder is made where there are any, and nowhere else.
    let pins = Pins::at(around.folder.clone());
    for (name, server) in servers(terms, &around) {
        let pin = pins.of(server.terms(), &around.known)?;
        if let Some(pin) = &pin {
            server.as_read(&pin.parts);
        }
        catalog.add_server(server, pin.as_ref(), policy)?;
        if policy.flows.classes.trusted_plugins.contains(&name) {
            let what = format!(
                "[flow] `trust` names the MCP server `{name}`, and none is trusted not to make things up"
            );
            return Err(Error::bad_input(what).hint(format!(
                "if its outcomes are yours: [flow.classes] \"mcp:{name}\" = {{ integrity = \"trusted\", secrecy = \"private\" }}"
            )));
        }
        policy.flows.classes.servers.insert(name);
    }
    for tool in catalog.tools() {
        if let By::Server(served) = &tool.by {
            let line = served.server.terms().choice.line(&served.definition.remote);
            let flows = &mut policy.flows;
            let said = flows.about(&tool.name).cloned();
            if said.is_none() {
                flows.written.served.insert(tool.name.clone());
            }
            let all = definition::flow(&said.unwrap_or_default(), &line, &tool.declared.input);
            if !all.is_nothing() {
                flows.tools.insert(tool.name.clone(), all);
            }
        }
    }
    Ok(())
}

/// Servers of which the user has read what they say of themselves, as that is now.
pub(super) fn read(catalog: &Catalog, classes: &mut Classes) {
    for offered in catalog.servers() {
        let name = &offered.server.terms().name;
        if offered.digest.is_some() && classes.pinned.get(name) == offered.digest.as_ref() {
            classes.read.insert(name.clone());
        }
    }
}
