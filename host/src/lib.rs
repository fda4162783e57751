//! Lazaret: a native host that runs agents, tools and model-written scripts in WebAssembly
//! quarantine.
//!
//! A tool is a component without files, network, environment or secrets. Whatever crosses its boundary is an effect,
//! judged at one gate and recorded before it happens, so a run can be watched, left, taken up again and replayed. What the
//! command line does is a few calls of [`Host`](runs::host::Host):
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use lazaret::edges::egress::Names;
//! use lazaret::runs::host::{Goal, Host, Places, Records};
//! use lazaret::runs::running::Reached;
//! use lazaret::surfaces::config;
//! use lazaret::words::clock::Clock;
//! use lazaret::words::event::Surface;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let places = Places {
//!     state: "state".into(),                       // compiled plugins, keys, marks of runs
//!     records: Records::Folder(".lazaret".into()), // the journal
//!     program: "bin/lazaret".into(),               // compiles plugins in a process of its own
//!     names: Names::System,
//!     clock: Clock::system(),
//!     collector: None,
//! };
//! let setup = config::setup_of(Path::new("lazaret.toml"), places)?;
//! let host = Arc::new(Host::open(setup).await?);
//! let goal = Goal::new(host.new_run(), Surface::Dev, "clerk", "Count the words in notes.txt.");
//! match host.start(goal).end().await? {
//!     Reached::Answer(answer) => println!("{answer}"),
//!     Reached::Waits(questions) => println!("{} questions", questions.len()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What decides is pure, and needs no host. A run is a fold of what has happened in it:
//!
//! ```
//! use lazaret::rules::pace::Pace;
//! use lazaret::rules::plan::{Grouping, Plan, Step};
//! use lazaret::words::label::Label;
//! use lazaret::words::message::Reply;
//!
//! let mut plan = Plan::new("How many words?", Label::default(), 8, Pace::default());
//! let alone = |_: &str| Grouping::Alone;
//! assert_eq!(plan.next(alone), Step::Prompt(1));
//! plan.replied(Reply { text: "Three.".to_owned(), ..Reply::default() });
//! assert_eq!(plan.next(alone), Step::Answer("Three.".to_owned()));
//! ```
//!
//! Layers, lowest first; a file may use its own layer or a lower one: [`words`] ← [`rules`] ←
//! [`gate`] ← [`edges`] ← [`guests`] ← [`runs`] ← [`surfaces`]. `ARCHITECTURE.md` has the picture, and `examples/library` a
//! program.

pub mod edges;
pub mod gate;
pub mod guests;
pub mod rules;
pub mod runs;
pub mod surfaces;
pub mod words;
