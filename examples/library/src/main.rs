//! Lets the clerk work in a temporary folder, and says yes to whatever it asks.

use std::fs;

use anyhow::{Result, ensure};
use lazaret::words::event::Answer;
use lazaret_example_library::{open, stopped, talk, work};

#[tokio::main]
async fn main() -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("lazaret");
    ensure!(
        program.is_file(),
        "`{}` is missing: run `make demo` first",
        program.display()
    );
    let folder = tempfile::tempdir()?;
    for (name, text) in [
        ("lazaret.toml", include_str!("../lazaret.toml")),
        ("replies.jsonl", include_str!("../replies.jsonl")),
        ("told.jsonl", include_str!("../told.jsonl")),
    ] {
        fs::write(folder.path().join(name), text)?;
    }
    fs::create_dir(folder.path().join("out"))?;
    let host = open(folder.path(), &program, &folder.path().join("state")).await?;
    let (answer, seen) = work(&host, Answer::Allow).await?;
    for line in seen {
        println!("{line}");
    }
    println!("\n{answer}");
    println!(
        "out/figure.txt: {}",
        fs::read_to_string(folder.path().join("out/figure.txt"))?.trim()
    );
    let answer = talk(&host, &["The ship is the Ark.", "Which ship is it?"]).await?;
    println!("in a session: {answer}");
    if let Err(error) = stopped(&host).await {
        println!("another run: {error}");
    }
    Ok(())
}
