//! `lazaret man`: the manual, made of the same words as `--help`.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use super::print;
use crate::edges::named;
use crate::words::error::{Error, Result};

/// Prints the page of the program, or writes those of all commands into a folder.
pub(super) fn perform(program: &Command, folder: Option<&Path>) -> Result<u8> {
    let mut program = program.clone();
    program.build();
    let Some(folder) = folder else {
        let text = page(&program)?;
        print::line(String::from_utf8_lossy(&text).trim_end());
        return Ok(0);
    };
    named::make_folder(folder)?;
    write(&program, "lazaret", folder)?;
    Ok(0)
}

/// A page for a command, and one for each below it.
fn write(command: &Command, name: &str, folder: &Path) -> Result<()> {
    named::write(&folder.join(format!("{name}.1")), &page(command)?)?;
    let below = command.get_subcommands();
    let shown = below.filter(|one| !one.is_hide_set() && one.get_name() != "help");
    for one in shown {
        write(one, &format!("{name}-{}", one.get_name()), folder)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut text);
    rendered.map_err(|error| Error::bug("a manual page cannot be made").because(error))?;
    Ok(text)
}
