//! Does the job twice, checks both answers, and prints what each has cost.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use lazaret_example_code_mode::{Report, run};

#[tokio::main]
async fn main() -> Result<()> {
    let state = tempfile::tempdir()?;
    println!("compiling the plugins, then two runs of one job …");
    let report = run(&program()?, state.path()).await?;
    print(&report);
    ensure!(
        report.direct.found == report.expected,
        "direct mode has other figures"
    );
    ensure!(
        report.code.found == report.expected,
        "code mode has other figures"
    );
    Ok(())
}

/// `lazaret`, built beside this program.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("lazaret");
    ensure!(
        beside.is_file(),
        "`{}` is missing: run `make demo` first",
        beside.display()
    );
    Ok(beside)
}

fn print(report: &Report) {
    println!("\n{:<18} {:>6} {:>6}", "customer", "orders", "EUR");
    for owing in &report.expected {
        println!(
            "{:<18} {:>6} {:>6}.{:02}",
            owing.customer,
            owing.orders,
            owing.cents / 100,
            owing.cents % 100
        );
    }
    let (direct, code) = (&report.direct.cost, &report.code.cost);
    let row = |what: &str, direct: usize, code: usize| println!("{what:<46} {direct:>8} {code:>8}");
    println!("\n{:<46} {:>8} {:>8}", "", "direct", "code");
    row("turns of the model", direct.turns, code.turns);
    row(
        "calls of tools, those of the script included",
        direct.calls,
        code.calls,
    );
    row("tokens read, all prompts together", direct.read, code.read);
    row(
        "tokens in the context at the end",
        direct.context,
        code.context,
    );
    row("tokens written by the model", direct.wrote, code.wrote);
}
