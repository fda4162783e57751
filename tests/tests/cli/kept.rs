//! `lazaret secret` knows whoever gets one, and who is to get one that nobody keeps.

use serde_json::json;

use crate::station::Station;

const USES: &str = r#"
[mcp.ferry]
command = ["/bin/true"]
env = { TOKEN = { secret = "ferry-token" }, PORT = "Kiel" }
[mcp.wiki]
url = "https://wiki.example/mcp"
headers = { authorization = { secret = "wiki-token", before = "Bearer " } }
[mcp.forum]
url = "https://forum.example/mcp"
login = { client = "me", secret = "forum-login", issuer = "https://id.example" }
[traces]
endpoint = "https://collector.example"
headers = { x-key = { secret = "otlp-key" } }
[models.paid]
provider = "openai"
url = "https://api.example/v1"
model = "m"
key_env = "MY_KEY"
[grants."web.get_page"]
fetch = ["https://api.example/"]
secrets = [{ name = "web-token", to = "https://api.example/", header = "x-token" }]
"#;

fn set(station: &Station, name: &str) {
    let value = format!("value-of-{name}-7c1e\n");
    let set = station.run_with_input(&["secret", "set", name], value.as_bytes());
    set.ends(0).never("nobody may use it");
}

#[test]
fn every_use_of_a_secret_is_listed() {
    let station = Station::with(USES);
    for name in [
        "ferry-token",
        "wiki-token",
        "forum-login",
        "otlp-key",
        "web-token",
    ] {
        set(&station, name);
    }
    let listed = station.run(&["secret", "list"]).ends(0);
    for (name, what) in [
        ("ferry-token", "MCP server ferry: variable TOKEN"),
        (
            "wiki-token",
            "MCP server wiki: header authorization to https://wiki.example",
        ),
        ("forum-login", "MCP server forum: login"),
        (
            "otlp-key",
            "traces: header `x-key` to https://collector.example",
        ),
        (
            "web-token",
            "web.get_page: header `x-token` to https://api.example",
        ),
        ("models.paid", "model paid, from the variable MY_KEY"),
    ] {
        let line = listed.out.lines().find(|line| line.starts_with(name));
        assert!(
            line.is_some_and(|line| line.contains(what)),
            "{name}: {listed}"
        );
    }
    let told = station.run(&["secret", "list", "--json"]).json();
    assert_eq!(
        told[0]["uses"],
        json!([{"by": "MCP server ferry", "place": "variable TOKEN"}])
    );
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("is not kept");
}

#[test]
fn a_secret_that_is_named_and_not_kept_is_worth_a_warning() {
    let station = Station::with(USES);
    let kept = station.run_with_input(&["secret", "set", "fery-token"], b"value-7c1e-9f\n");
    kept.ends(0).says(&["hint: nobody may use it yet"]);
    let checked = station.run(&["policy", "check"]).ends(0);
    for (what, fix) in [
        (
            "[mcp.ferry] variable TOKEN: the secret `ferry-token` is not kept",
            "did you mean `fery-token`, which is kept? Or: lazaret secret set ferry-token",
        ),
        (
            "[mcp.forum] login: the secret `forum-login` is not kept",
            "lazaret secret set forum-login",
        ),
        (
            "the secret `wiki-token` is not kept",
            "lazaret secret set wiki-token",
        ),
        (
            "the secret `otlp-key` is not kept",
            "lazaret secret set otlp-key",
        ),
        (
            "the secret `web-token` is not kept",
            "lazaret secret set web-token",
        ),
    ] {
        assert!(checked.err.contains(what), "{what}: {checked}");
        assert!(checked.err.contains(fix), "{fix}: {checked}");
    }
    station.run(&["policy", "check", "--strict"]).ends(1);
    station.run(&["doctor"]).prints(&[
        "careful secrets        [mcp.ferry] variable TOKEN: the secret `ferry-token` is not kept",
    ]);
}

#[test]
fn a_file_that_cannot_be_used_keeps_nobody_from_their_secrets() {
    let station = Station::new();
    let kept = station.run_with_input(&["secret", "set", "github"], b"value-7c1e-9f\n");
    kept.ends(0);
    station.write("lazaret.toml", "[agents.a]\nmodels = [\"none\"]\n");
    station.trust();
    station
        .run(&["secret", "list"])
        .ends(0)
        .prints(&["github", "nobody"])
        .says(&[
            "warning: ",
            "so who may use them is not known here",
            "hint: lazaret policy check",
        ]);
    station
        .run(&["secret", "remove", "github"])
        .ends(0)
        .prints(&["removed `github`"]);
}

#[test]
fn nothing_on_standard_input_is_no_secret() {
    let station = Station::new();
    station
        .run(&["secret", "set", "github"])
        .ends(2)
        .says_only("error: nothing was given on standard input\nhint: pass show github | lazaret secret set github");
}
