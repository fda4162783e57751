//! One job done twice: with every outcome in the model's context, and in a script that returns the summary alone.
//!
//! The models are scripted; everything else is real: components, files, requests to a server on loopback, the journal.

pub mod api;
pub mod orders;
pub mod replies;
pub mod tokens;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use lazaret::edges::egress::Names;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::{Goal, Host, Places, Records};
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::Surface;
use tokio::net::TcpListener;

use orders::{Owing, Shop};
use tokens::Cost;

const CONFIG: &str = include_str!("../lazaret.toml");
const SCRIPT: &str = include_str!("../script.ts");
/// Where the files above say that the API is.
const API: &str = "http://127.0.0.1:8378";

/// What came of it.
pub struct Report {
    /// What there is to find, computed from the shop itself.
    pub expected: Vec<Owing>,
    /// In direct mode.
    pub direct: Done,
    /// In code mode.
    pub code: Done,
}

/// What one agent found, and what that took.
pub struct Done {
    /// Its answer.
    pub found: Vec<Owing>,
    /// Its cost.
    pub cost: Cost,
}

/// Does the job twice, in a temporary folder. `program` is `lazaret`, which compiles the plugins; `state` is where it
/// keeps the compiled ones.
///
/// # Errors
/// Whatever goes wrong.
pub async fn run(program: &Path, state: &Path) -> Result<Report> {
    let shop = Arc::new(Shop::new());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let api = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let folder = tempfile::tempdir()?;
    lay_out(folder.path(), &shop, &api)?;
    let places = Places {
        state: state.to_owned(),
        records: Records::InMemory,
        program: program.to_owned(),
        names: Names::System,
        clock: Clock::system(),
        collector: None,
    };
    let host = Host::open(config::setup_of(&folder.path().join(config::NAME), places)?).await?;
    let job = async {
        Ok(Report {
            expected: shop.owing(),
            direct: pursue(&host, "direct").await?,
            code: pursue(&host, "code").await?,
        })
    };
    tokio::select! {
        report = job => report,
        () = api::serve(listener, shop.clone()) => anyhow::bail!("the server has ended"),
    }
}

/// Writes what the agents work with: policy, orders, and what their models will say.
fn lay_out(folder: &Path, shop: &Shop, api: &str) -> Result<()> {
    let write = |path: &str, text: &str| std::fs::write(folder.join(path), text);
    let lines = |replies: Vec<serde_json::Value>| {
        replies
            .iter()
            .map(|reply| format!("{reply}\n"))
            .collect::<String>()
    };
    std::fs::create_dir(folder.join("orders"))?;
    for (path, text) in shop.files() {
        write(&path, &text)?;
    }
    write(config::NAME, &CONFIG.replace(API, api))?;
    write("direct.jsonl", &lines(replies::direct(shop, api)))?;
    write(
        "code.jsonl",
        &lines(replies::code(&SCRIPT.replace(API, api))),
    )?;
    Ok(())
}

async fn pursue(host: &Host, name: &str) -> Result<Done> {
    let goal = Goal::new(host.new_run(), Surface::Cli, name, &replies::goal());
    let run = goal.run.clone();
    let answer = host.pursue(goal, &Tasks::new()).await;
    let answer = answer.with_context(|| format!("the agent `{name}`"))?;
    let records = host.journal().records(&run).await?;
    let agent = host.agents().get(name).context("the agent is configured")?;
    Ok(Done {
        found: serde_json::from_str(&answer)
            .with_context(|| format!("`{name}` answered {answer}"))?,
        cost: tokens::cost(host, agent, &replies::goal(), &records)?,
    })
}
