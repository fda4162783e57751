//! A server that runs: `lazaret serve` on a port of its own.

use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::process::{Child, ChildStdout, Command};
use std::sync::Arc;

use lazaret_tests::client::{Client, Heard};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::station::{Ended, Station};

pub struct Serving<'a> {
    station: &'a Station,
    child: Option<Child>,
    _out: BufReader<ChildStdout>,
    client: Client,
    /// What it said when it was ready.
    pub ready: Value,
    /// What it says of itself.
    pub document: Value,
}

impl<'a> Serving<'a> {
    pub fn start(station: &'a Station) -> Self {
        Self::start_with(station, &[])
    }

    /// With these arguments as well.
    #[track_caller]
    pub fn start_with(station: &'a Station, more: &[&str]) -> Self {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--json"];
        Self::begun(station, &mut station.command(&[&arguments, more].concat()))
    }

    /// One that says on standard error what such a filter lets pass.
    #[track_caller]
    pub fn logging(station: &'a Station, filter: &str) -> Self {
        let mut command = station.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        Self::begun(station, command.env("LAZARET_LOG", filter))
    }

    #[track_caller]
    fn begun(station: &'a Station, command: &mut Command) -> Self {
        let token = station.run(&["serve", "--show-token"]).ends(0).out;
        let mut child = station.spawn(command);
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            panic!("it is not ready: {line}{}", station.wait(child));
        };
        let client = Client {
            address: ready["address"].as_str().expect("an address").to_owned(),
            token: token.trim().to_owned(),
            heard: Arc::default(),
        };
        let document = client.get("/openapi.json").is(200);
        Self {
            station,
            child: Some(child),
            _out: out,
            client,
            ready,
            document,
        }
    }

    pub fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("a signal");
    }

    /// Ends it as a system does.
    pub fn end(mut self) -> Ended {
        self.signal(Signal::TERM);
        self.station.wait(self.child.take().expect("it runs"))
    }

    /// Ends it as nobody should.
    pub fn kill(mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
    }
}

impl Deref for Serving<'_> {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            for heard in self.client.heard.lock().expect("a list").iter() {
                fits(&self.document, heard);
            }
        }
    }
}

/// An answer is one of those that the document of the API tells of.
#[track_caller]
fn fits(document: &Value, heard: &Heard) {
    let paths = document["paths"].as_object().expect("paths");
    let found = paths
        .iter()
        .find(|(path, methods)| is_of(&heard.path, path) && methods.get(&heard.method).is_some());
    let status = heard.told.status.to_string();
    let kind = heard.told.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let schema = match found {
        // Another method, or no address of ours: a failure like any other.
        None => &json!({"$ref": "#/components/schemas/Failure"}),
        Some(_) if kind != "application/json" => return,
        Some((_, methods)) => {
            let answers = &methods[&heard.method]["responses"];
            let answer = answers.get(&status).unwrap_or(&answers["default"]);
            &answer["content"][kind]["schema"]
        }
    };
    let whole = json!({"components": document["components"], "allOf": [schema]});
    let validator = jsonschema::draft202012::new(&whole).expect("a schema");
    let told = heard.told.json();
    let wrong: Vec<String> = validator
        .iter_errors(&told)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?} in {heard:?}");
}

/// Whether a path is one of those that a template stands for.
fn is_of(path: &str, template: &str) -> bool {
    let (own, named) = (path.split('/'), template.split('/'));
    own.clone().count() == named.clone().count()
        && own
            .zip(named)
            .all(|(own, named)| named.starts_with('{') || own == named)
}
