//! Makes a component of a core module, with its start-up already done: `lazaret-preinit MODULE COMPONENT`.
//!
//! The module's `wizer-initialize` is run, and its memory and globals as they are then become those of every guest. It is
//! run by an interpreter: a compiling engine would be built for this alone, with other features than the host's.
//! The same module gives the same bytes.

mod component;
mod instance;

use std::process::ExitCode;

/// Any error, with what was being done.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [module, component] = args.as_slice() else {
        eprintln!("usage: lazaret-preinit MODULE COMPONENT");
        return ExitCode::from(2);
    };
    match run(module, component) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("preinit: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(from: &str, to: &str) -> Result<()> {
    let module = std::fs::read(from).map_err(|error| format!("{from}: {error}"))?;
    let module = instance::initialized(&module)?;
    let component = component::of(&module)?;
    std::fs::write(to, component).map_err(|error| format!("{to}: {error}"))
}
