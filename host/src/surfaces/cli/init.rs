//! `lazaret init`: a policy to begin with.

use std::path::PathBuf;

use serde_json::json;

use super::{Scene, print};
use crate::edges::named;
use crate::surfaces::config::NAME;
use crate::surfaces::paint::{faint, good, shown_path};
use crate::words::error::Result;

/// It grants what the built-in policy grants, and shows the rest in comments.
const TEXT: &str = include_str!("init.toml");

/// Write a `lazaret.toml` to begin with; one that is there stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret init
  lazaret init station     into ./station, which is made if it is not there")]
pub(super) struct Init {
    /// Into this folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

impl Init {
    pub(super) fn perform(self, scene: &Scene) -> Result<u8> {
        let folder = scene.around.folder.join(&self.folder);
        let folder: PathBuf = folder.components().collect();
        let path = folder.join(NAME);
        if !named::is_folder(&folder) {
            named::make_folder(&folder)?;
        }
        let written = named::write_new(&path, TEXT.as_bytes());
        written.map_err(|error| error.hint("what is there stays as it is"))?;
        if scene.json {
            print::compact(&json!({"ok": true, "path": path}));
            return Ok(0);
        }
        print::line(format!("{} `{}`", good("made"), shown_path(&path)));
        if !scene.quiet {
            print::note(faint(
                "change it, then: lazaret policy check && lazaret policy trust",
            ));
        }
        Ok(0)
    }
}
