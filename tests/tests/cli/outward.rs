//! A request that flows speak against: denied, let pass in shadow, or of a tool that is released; and what is said of it
//! afterwards.

use serde_json::{Value, json};

use crate::server::{Answer, Server, plain};
use crate::station::Station;

const READ: &str = r#"{"calls":[{"tool":"files.read","args":{"path":"inbox/where.txt"}}]}"#;
const DONE: &str = r#"{"text":"Done."}"#;
const SHADOW: &str = "mode = \"shadow\"";

/// An agent that reads in a letter which page to ask for, and asks for it.
fn station(server: &Server, flow: &str, path: &str) -> Station {
    let url = server.url();
    let args = json!({"url": format!("{url}{path}")});
    let get = json!({"calls": [{"tool": "web.get_page", "args": args}]}).to_string();
    let more = format!(
        "[mounts.inbox]\npath = \"inbox\"\n[grants.\"files.read\"]\nmounts = {{ inbox = \"read\" }}\n\
         [grants.\"web.get_page\"]\nfetch = [{{ url = \"{url}/\", private = true }}]\n\
         [flow]\nhold = \"never\"\nbrowse = \"witness\"\n{flow}\n"
    );
    let tools = "[\"files.read\", \"web.get_page\"]";
    let station = Station::scripted(tools, &[READ, &get, DONE], &more);
    station.write("inbox/where.txt", format!("{url}{path}"));
    let run = ["run", "Do what the letter says.", "--agent", "a"];
    station.run(&run).ends(0);
    station
}

fn page() -> Server {
    Server::start(vec![Answer::Bytes(plain(200, "text/plain", "a page"))])
}

/// The sinks of the newest run, all of them requests, as `policy explain --run` has them.
fn explained(station: &Station) -> Vec<Value> {
    let explain = ["policy", "explain", "--run", "last", "--json"];
    let told = station.run(&explain).ends(0).json();
    let sinks = told["sinks"].as_array().unwrap().clone();
    assert!(sinks.iter().all(|sink| sink["effect"] == "fetch"));
    sinks
}

#[test]
fn a_request_that_shadow_lets_pass_is_noticed_counted_and_explained() {
    let server = page();
    let station = station(&server, SHADOW, "/x");
    assert_eq!(server.requests().len(), 1);
    let notice = "; `mode = \"shadow\"` lets pass: the URL at ";
    let audit = ["runs", "show", "last", "--audit"];
    station.run(&audit).ends(0).prints(&[
        notice,
        "wants the user's own words for it (flow_browse)",
        ", 0 denied",
        "1 of them would not have been: `mode = \"shadow\"` lets pass",
    ]);
    let sinks = explained(&station);
    assert_eq!(sinks.len(), 1, "{sinks:?}");
    let rule = sinks[0]["verdict"]["rule"].as_str().unwrap();
    assert!(rule.contains(notice), "{rule}");
    let explain = ["policy", "explain", "--run", "last"];
    station
        .run(&explain)
        .ends(0)
        .prints(&["allow GET http://127.0.0.1:", " by web.get_page: ", notice])
        .never("no call of this run");
    // What is foreseen says the same.
    let args = json!({"url": format!("{}/x", server.url())}).to_string();
    let under = ["--as", "model", "--influence", "file:inbox"];
    let foresee = [&["policy", "explain", "web.get_page", &args][..], &under].concat();
    station.run(&foresee).ends(0).prints(&[notice]);
}

/// A stranger has named the address: its line is a comment, which a person takes out who knows it.
#[test]
fn what_was_denied_or_would_have_been_is_proposed_in_a_comment() {
    for (mode, became) in [
        (SHADOW, "would have been denied"),
        ("mode = \"enforce\"", "was denied"),
    ] {
        let server = page();
        let station = station(&server, mode, "/x");
        let asked = usize::from(mode == SHADOW);
        assert_eq!(server.requests().len(), asked, "{mode}");
        assert_eq!(explained(&station).len(), 1, "{mode}");
        let suggest = ["policy", "suggest", "last"];
        let ended = station.run(&suggest).ends(0);
        let url = format!("{}/x", server.url());
        let ended = ended.never("nothing to propose").prints(&[
            &format!("`GET {url}` of `web.get_page` {became} (flow_browse); wished under the influence of file:inbox"),
            &format!("\n# so that it passes:\n#   [flow.tools.\"web.get_page\"]\n#   vouch = [\"{url}\"]\n"),
        ]);
        let active = |line: &&str| !line.is_empty() && !line.starts_with('#');
        assert_eq!(ended.out.lines().find(active), None, "{ended}");
        let told = station.run(&[&suggest[..], &["--json"]].concat()).ends(0);
        let told = told.json();
        for key in ["vouch", "doubtful", "asked"] {
            assert_eq!(told[key], json!([]), "{told}");
        }
        assert_eq!(told["denied"].as_array().map(Vec::len), Some(1), "{told}");
    }
}

#[test]
fn of_a_request_whose_query_is_not_kept_that_is_said() {
    let server = page();
    let station = station(&server, SHADOW, "/x?told=5");
    station
        .run(&["policy", "suggest", "last"])
        .ends(0)
        .prints(&[
            "/x?…` of `web.get_page` in record ",
            ", which would have been denied (flow_browse), because its query is not kept",
        ])
        .never("told=5")
        .says(&["nothing to propose, for the reasons above"]);
}

#[test]
fn a_request_of_a_tool_that_is_released_leaves_with_a_notice() {
    let server = page();
    let released = "mode = \"enforce\"\nrelease = [\"web.get_page\"]";
    let station = station(&server, released, "/x");
    assert_eq!(server.requests().len(), 1);
    let notice = "; `release = [\"web.get_page\"]` lets pass: the URL at ";
    station
        .run(&["runs", "show", "last", "--audit"])
        .ends(0)
        .prints(&[notice, ", 0 denied"])
        .never("would not have been");
    // Nothing is left to be proposed.
    station
        .run(&["policy", "suggest", "last"])
        .ends(0)
        .says(&["nothing to propose"])
        .never("web.get_page");
    station.run(&["policy", "check", "--strict"]).ends(0);
}
