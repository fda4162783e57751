//! Does the jobs, and prints what came of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lazaret_example_inbox::{Given, run};

#[tokio::main]
async fn main() -> Result<()> {
    let own = std::env::current_exe()?;
    let program = own.with_file_name("lazaret");
    ensure!(
        program.is_file(),
        "`{}` is missing: run `make demo` first",
        program.display()
    );
    let plugin = plugin(&own)?;
    ensure!(
        plugin.is_file(),
        "`{}` is missing: run `plugins/build.sh` first",
        plugin.display()
    );
    let state = tempfile::tempdir()?;
    let given = Given {
        program: &program,
        state: state.path(),
        plugin: &plugin,
    };
    print!("{}", run(&given).await?);
    Ok(())
}

/// The plugin `mail`, built beside the fixtures of the tests.
fn plugin(own: &Path) -> Result<PathBuf> {
    let target = own.ancestors().find(|folder| folder.ends_with("target"));
    let target = target.context("this program lies in no target folder")?;
    Ok(target.join("guests/mail.wasm"))
}
