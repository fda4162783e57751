//! Files that the command of a server names: scripts that its program runs, and that program itself where it is named by
//! its path. Another one there is another server, whatever it says of its tools.
//!
//! What a file brings along in turn, a folder that is named, and a program that is looked for are not seen.

use std::path::{Path, PathBuf};

use super::Around;
use crate::edges::named;
use crate::rules::server::pin::Parts;
use crate::rules::server::{Program, Terms, Way};
use crate::words::error::Result;
use crate::words::id::shown;
use crate::words::limits::SERVER_PART_BYTES;

/// What each file holds now that a server's command names. There are none of a server that is asked over HTTP.
///
/// # Errors
/// `TooBig`, `DiskFailed`.
pub fn parts(terms: &Terms, around: &Around) -> Result<Parts> {
    let Way::Program(program) = &terms.way else {
        return Ok(Parts::default());
    };
    let folder = folder(terms, program, around);
    let mut parts = Parts::default();
    for part in program.parts() {
        let path = folder.join(part);
        if named::is_file(&path) {
            let what = format!("the file that `command` of `[mcp.{}]` names,", terms.name);
            let digest = named::digest(&path, &what, SERVER_PART_BYTES).map_err(|error| {
                error.hint(format!("if it is no program: `data = [\"{part}\"]`"))
            })?;
            parts.insert(part.to_owned(), digest);
        }
    }
    Ok(parts)
}

/// An argument of a server's command that names a file beside the one that has the line, and none where it runs: there the
/// server looks for it.
pub(super) fn astray(terms: &Terms, around: &Around) -> Option<String> {
    let Way::Program(program) = &terms.way else {
        return None;
    };
    let folder = folder(terms, program, around);
    let mut parts = program.parts().into_iter();
    let part = parts.find(|part| {
        let is_there = |folder: &Path| named::is_file(&folder.join(part));
        Path::new(part).is_relative() && is_there(&program.beside) && !is_there(&folder)
    });
    part.map(shown)
}

/// Where a server runs.
fn folder(terms: &Terms, program: &Program, around: &Around) -> PathBuf {
    let own = || around.folder.path().join(own_folder(terms));
    program.folder.clone().unwrap_or_else(own)
}

/// The name of the folder that a server has for itself.
pub(super) fn own_folder(terms: &Terms) -> String {
    format!("{}-{}", terms.name, terms.identity().short())
}
