//! What a process that serves for long looks at from time to time: the configuration, and the token. `lazaret serve` and
//! `lazaret mcp` follow both in the same way.

use std::convert::Infallible;
use std::sync::Arc;

use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::rules::questions::Unattended;
use crate::rules::scrub::KnownSecrets;
use crate::runs::host::Host;
use crate::runs::rest;
use crate::surfaces::config::Config;
use crate::surfaces::http::{Site, Token};
use crate::surfaces::paint::faint;
use crate::words::error::Result;
use crate::words::limits::SERVE_LOOK_MS;

/// Looks whether the configuration or the token has changed. Runs under way go on with what they began with.
pub(super) struct Looking {
    config: Config,
    state: StateFolder,
    site: Site,
}

impl Looking {
    /// From this configuration on, for whoever comes to this site.
    pub(super) fn new(config: Config, (state, site): (StateFolder, Site)) -> Self {
        Self {
            config,
            state,
            site,
        }
    }

    pub(super) async fn look(mut self, scene: &Scene) -> Infallible {
        let clock = self.site.host().journal().clock().clone();
        let mut said = String::new();
        loop {
            let due = clock.now_ms().saturating_add(SERVE_LOOK_MS);
            rest::until(&clock, due).await;
            if let Ok(token) = Token::of(&self.state) {
                self.site.renew_token(&token);
            }
            // Where they cannot be read, nothing is called, and whoever calls is told why.
            let _ = self.site.host().learn_secrets();
            let again = match self.config.again(&scene.around, scene.config.as_deref()) {
                Ok(None) => continue,
                Ok(Some(config)) => self.renew(config, scene).await,
                Err(error) => Err(error),
            };
            match again {
                Ok(()) => said.clear(),
                // What is wrong is said once, and not every time it is looked at.
                Err(error) => {
                    let words = print::described(&error);
                    if words != said {
                        print::warning(
                            "the configuration has changed and cannot be used; the one before still holds",
                            "mend it; it is looked at again by itself",
                        );
                        print::failed(&error);
                        said = words;
                    }
                }
            }
        }
    }

    async fn renew(&mut self, config: Config, scene: &Scene) -> Result<()> {
        let known = self.site.host().known_secrets().clone();
        let host = open(&config, scene, known).await?;
        self.site.renew_host(Arc::new(host));
        self.config = config;
        if !scene.quiet {
            print::note(faint(
                "the configuration has changed; runs that begin now go by it",
            ));
        }
        Ok(())
    }
}

/// Opens the host of a configuration. Whether somebody sits at this terminal says nothing of who is there to answer.
pub(super) async fn open(config: &Config, scene: &Scene, known: KnownSecrets) -> Result<Host> {
    let mut setup = config.setup.clone();
    let asks = &mut setup.policy.asks;
    asks.unattended = match (scene.unattended, scene.ask) {
        (Some(said), _) => said,
        (None, false) => Unattended::Pause,
        (None, true) => asks.unattended,
    };
    scene.host_of(setup, known).await
}
