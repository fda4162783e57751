//! `lazaret demo`: the bundled run. A scripted model, real components, real files, one request to a
//! server that the demo starts on loopback; no key and no network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::policy::since;
use super::run::pursue;
use super::{Scene, print};
use crate::edges::named;
use crate::edges::state::{DEMO, StateFolder};
use crate::rules::flow::shell_word;
use crate::runs::host::{Goal, Host};
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::config::trust::Pins;
use crate::surfaces::config::{Config, NAME};
use crate::surfaces::paint::{faint, foreign, shown_path, strong};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::limits::{CONFIG_BYTES, FILE_WRITE_BYTES};

/// Show the bundled run: a scripted model, real components, real files, no key, no network.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret demo
  lazaret demo --folder station     lay the example out in ./station, to change it and run it again
  lazaret demo --json               one event a line")]
pub(super) struct Demo {
    /// Work in this folder instead of one in the state folder; what the demo needs is written into it.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The example `examples/quickstart`, file by file.
const FILES: [(&str, &str); 5] = [
    (
        "docs/rules.md",
        include_str!("../../../../examples/quickstart/docs/rules.md"),
    ),
    (
        "docs/log.md",
        include_str!("../../../../examples/quickstart/docs/log.md"),
    ),
    (
        "data/cargo.csv",
        include_str!("../../../../examples/quickstart/data/cargo.csv"),
    ),
    (
        NAME,
        include_str!("../../../../examples/quickstart/lazaret.toml"),
    ),
    (
        "rehearsal.jsonl",
        include_str!("../../../../examples/quickstart/rehearsal.jsonl"),
    ),
];
const PAGE: &str = include_str!("../../../../examples/quickstart/pages/tides.html");
const GOAL: &str =
    "Write a report on the holding fees of the spring quarter, with the tide for release days.";
/// The port that the example's policy names.
const PORT: u16 = 8377;
/// Bytes of a request that the page's server reads.
const REQUEST_BYTES: usize = 8_192;
/// How long a visitor of the page's server may take: visitors are served one after the other.
const VISIT: Duration = Duration::from_secs(1);

impl Demo {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let folder = match self.folder {
            Some(folder) => scene.around.folder.join(folder),
            None => StateFolder::open(&scene.around.state)?
                .below(DEMO)?
                .path()
                .to_owned(),
        };
        let (server, port) = listen().await?;
        write_example(&folder, port)?;
        let config = trusted_config(scene, &folder)?;
        let talk = |text: String| {
            if !scene.quiet && !scene.json {
                print::note(text);
            }
        };
        talk(format!("{} {}", strong("folder"), shown_path(&folder)));
        talk(format!(
            "{} {}",
            strong("policy"),
            shown_path(&folder.join(NAME))
        ));
        talk(format!(
            "{} http://127.0.0.1:{port}/ (started here, ends with the demo)",
            strong("server")
        ));
        let host = print::while_waiting(
            "preparing plugins (compiled once, then cached)",
            scene.quiet,
            Host::open(config.setup),
        );
        let host = host.await?;
        let goal = Goal::new(host.new_run(), Surface::Cli, "clerk", GOAL);
        let status = tokio::select! {
            status = pursue(&host, goal, scene) => status?,
            () = serve(server) => 1,
        };
        if status == 0 {
            show_report(&folder, scene)?;
        }
        talk(format!(
            "\n{}",
            faint("Look at every record, and at what decided:")
        ));
        let there = foreign(&shell_word(&folder.display().to_string()));
        talk(format!("  cd {there} && lazaret runs show last"));
        talk(format!(
            "  cd {there} && lazaret policy explain web.get_page"
        ));
        Ok(status)
    }
}

/// The example's own port, or a free one, which is then written into the copy of its policy.
async fn listen() -> Result<(TcpListener, u16)> {
    let failed = |error: std::io::Error| {
        Error::new(Code::Busy, "no port on loopback can be had").because(error)
    };
    let listener = match TcpListener::bind(("127.0.0.1", PORT)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?,
    };
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

async fn serve(listener: TcpListener) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // A visitor that goes away early, or says nothing, is none of our business.
            let _ = timeout(VISIT, answer(stream)).await;
        }
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1_024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(());
        }
        request.extend(piece.iter().take(read));
    }
    let found = request.starts_with(b"GET /tides.html ");
    let (status, body) = if found {
        ("200 OK", PAGE)
    } else {
        ("404 Not Found", "no such page")
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

fn write_example(folder: &Path, port: u16) -> Result<()> {
    refuse_others(folder)?;
    for name in ["docs", "data", "out"] {
        named::make_folder(&folder.join(name))?;
    }
    for (name, text) in FILES {
        let text = text.replace(&format!("127.0.0.1:{PORT}"), &format!("127.0.0.1:{port}"));
        named::write(&folder.join(name), text.as_bytes())?;
    }
    // So that what is shown at the end is this run's.
    named::remove(&folder.join("out/report.md"))
}

/// Refuses a folder with files of the demo's names that the demo did not write.
fn refuse_others(folder: &Path) -> Result<()> {
    let read = |name: &str| named::read(&folder.join(name), "the file", CONFIG_BYTES);
    let mark = FILES
        .iter()
        .find(|(name, _)| *name == NAME)
        .and_then(|(_, text)| text.lines().next());
    let ours = read(NAME).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).lines().next() == mark);
    let there = |name: &str| !matches!(read(name), Err(error) if matches!(error.code(), Code::NotFound | Code::DiskFailed));
    match FILES.iter().find(|(name, _)| !ours && there(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let what = format!(
                "`{}` is there already, and is not the demo's",
                folder.join(name).display()
            );
            Err(Error::bad_input(what).hint("name an empty folder, or one that does not exist"))
        }
    }
}

/// The demo wrote this policy itself a moment ago, so it may trust it.
fn trusted_config(scene: &Scene, folder: &Path) -> Result<Config> {
    let path = folder.join(NAME);
    let state = StateFolder::open(&scene.around.state)?;
    let file = ConfigFile::read(&path)?;
    let said = since::lines(&file, &path);
    Pins::read(&state)?.pin(&state, (&path, &file), said)?;
    Config::read(&scene.around, Some(&path))
}

fn show_report(folder: &Path, scene: &Scene) -> Result<()> {
    let path = folder.join("out/report.md");
    let report = named::read(&path, "the report", FILE_WRITE_BYTES)?;
    if !scene.json && !scene.quiet {
        print::note(format!("\n{}", strong(shown_path(&path))));
        for line in String::from_utf8_lossy(&report).lines() {
            print::note(format!("  {}", foreign(line)));
        }
    }
    Ok(())
}
