//! Stops runs at random for as long as one likes: `make crash N=10000`. What must be true afterwards is in the
//! package's `crash` module; the tests do the same with fewer.
//!
//! With `--work FOLDER TROUBLE` it is one of the processes that are stopped.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lazaret_tests::crash::{Kills, Stops, every_stop, random_kills, scene_at, work};
use lazaret_tests::disk::{Disk, Trouble};

/// Stops between two lines of progress.
const SAY_EVERY: usize = 100;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--work", folder, trouble] => worked(folder, trouble).await,
        [count] => match count.parse() {
            Ok(count) => {
                many(count).await;
                ExitCode::SUCCESS
            }
            Err(_) => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("crash: how many processes are to be killed? For example: make crash N=10000");
    ExitCode::from(2)
}

async fn worked(folder: &str, trouble: &str) -> ExitCode {
    let disk = Disk::of_this_process();
    disk.trouble(trouble_of(trouble));
    let host = scene_at(Path::new(folder)).host().await;
    let worked = match &host {
        Ok(host) => work(host, None).await.map(|_| ()),
        Err(error) => {
            eprintln!("crash: {error:?}");
            return ExitCode::FAILURE;
        }
    };
    // Closing the journal is work as well.
    drop(host);
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crash: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn trouble_of(text: &str) -> Trouble {
    let (word, at) = text.split_once(':').unwrap_or((text, "0"));
    let at = at.parse().unwrap_or(0);
    match word {
        "before" => Trouble::KilledBefore(at),
        "after" => Trouble::KilledAfterSync(at),
        _ => Trouble::None,
    }
}

/// Every stop of one run, then so many at random. Panics, with the seed said before, where anything is wrong.
async fn many(count: usize) {
    let program = std::env::current_exe().expect("this program has a path");
    let began = Instant::now();
    let took = |began: Instant| began.elapsed().as_secs();
    for (stops, what) in [
        (
            Stops::BeforeEach { first: 0, step: 1 },
            "before each operation of the disk",
        ),
        (Stops::AfterSyncs, "after each sync"),
    ] {
        let kills = every_stop(&program, stops).await;
        println!("{:>6} s one run, stopped {what}: {kills}", took(began));
    }
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| since.as_secs());
    println!("{count} stops at random, seed {seed}");
    let mut said = 0;
    let say = |kills: &Kills| {
        bar(kills.kills, count);
        if kills.kills / SAY_EVERY > said {
            said = kills.kills / SAY_EVERY;
            println!("{:>6} s {kills}", took(began));
        }
    };
    let kills = random_kills(&program, (count, seed), say).await;
    bar(count, count);
    println!("crash: {} s, {kills}", took(began));
}

/// How far it is, where somebody looks.
fn bar(done: usize, all: usize) {
    const CHARS: usize = 30;
    if !std::io::stderr().is_terminal() {
        return;
    }
    let full = (done * CHARS).checked_div(all).unwrap_or(CHARS).min(CHARS);
    let end = if done < all { "" } else { "\n" };
    let (full, rest) = ("#".repeat(full), "-".repeat(CHARS - full));
    eprint!("\r[{full}{rest}] {done} of {all}{end}");
}
