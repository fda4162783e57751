//! The `lazaret` program: hands its arguments to the command line surface, and ends as that says.

use std::process::ExitCode;

fn main() -> ExitCode {
    lazaret::surfaces::cli::main()
}
