//! Resources of a server: read like any outcome of it, by an address that it was told, bounded, under its influence.

use lazaret::words::label::Label;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::{error, value};

use super::{label, notes, rig};
use crate::page::observed;

const ALLOWED: &str = "[mcp.mail.tools.find]\neffect = \"read-only\"
    [mcp.mail.tools.\"resources/read\"]\neffect = \"read-only\"
    [grants.\"mail.find\"]\n[grants.\"mail.resources_list\"]\n[grants.\"mail.resources_read\"]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_outcome_links_to_can_be_read() {
    let rig = rig("shelf", ALLOWED).await.open().await;
    let found = rig.call("mail.find", json!({})).await;
    let found = value(&found.outcome).as_str().unwrap().to_owned();
    // What is embedded is there, and what is linked is an address.
    assert!(found.contains("dear reader"), "{found}");
    assert!(found.contains("\"uri\":\"shelf:/letter\""), "{found}");
    let read = rig
        .call("mail.resources_read", json!({"uri": "shelf:/letter"}))
        .await;
    assert_eq!(value(&read.outcome), &json!("a long\nletter"));
    assert!(
        read.outcome.label.covers(&label("mcp:mail")),
        "{}",
        read.outcome.label
    );
    let picture = rig
        .call("mail.resources_read", json!({"uri": "shelf:/picture"}))
        .await;
    let files = &picture.outcome.trail.artifacts;
    assert_eq!(
        (files.len(), files[0].media_type.as_str()),
        (1, "image/png")
    );
}

fn wish(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

/// What a model sees that reads a resource and then does this, each with its label; others' words are held back.
async fn seen(uri: &str, policy: &str, then: &[Value]) -> Vec<(String, Label)> {
    // Somebody has read what the server says of its tools, or the model would be under its influence from the start.
    let rig = rig("shelf", ALLOWED).await.open().await;
    let digest = rig.host.catalog().servers()[0].digest.expect("it is read");
    let notes = rig.path("notes").display().to_string();
    let mail = super::config("shelf", ALLOWED).replace("@FILE@", &notes);
    let flow =
        format!("[flow]\nhold = \"untrusted\"\nread = {{ mail = \"{digest}\" }}\n{policy}\n");
    let take = wish("mail.resources_read", json!({"uri": uri}));
    let replies = [&[take], then, &[json!({"text": "Done."})]].concat();
    let rig = rig
        .close()
        .policy(&format!("{mail}{flow}"))
        .replies(&replies);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue(&format!("Read {uri}, please.")).await;
    assert_eq!(answer.expect("an answer"), "Done.");
    observed(&rig.records(&run).await)
}

/// A model is told of a resource as of any outcome that others wrote: by a handle. Whoever reads that is under its influence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_reads_a_resource_by_its_handle() {
    let look = wish("handle.read", json!({"value": {"$handle": "h1"}}));
    let seen = seen("shelf:/letter", "", &[look]).await;
    let [(held, before), (read, after)] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert!(
        held.contains("\"$handle\":\"h1\"") && !held.contains("a long"),
        "{held}"
    );
    assert!(!before.covers(&label("mcp:mail")), "{before}");
    assert!(read.contains("a long\nletter"), "{read}");
    assert!(after.covers(&label("mcp:mail")), "{after}");
}

/// A long one is read by its range, each part says where it lies, and none is longer than the operator says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_resource_is_read_part_by_part_under_its_handle() {
    let part = |range: Value| {
        let mut args = json!({"value": {"$handle": "h1"}});
        let own = args.as_object_mut().expect("arguments");
        own.extend(range.as_object().expect("a range").clone());
        wish("handle.read", args)
    };
    let reads = [
        part(json!({"unit": "lines", "from": 9_999, "to": 10_001})),
        part(json!({"unit": "lines", "from": 19_998})),
        part(json!({})),
        part(json!({"unit": "lines", "from": 0, "to": 20_000, "most": 1_000_000})),
    ];
    let limits = "[observations]\nread_bytes = 300\nread_bytes_max = 400";
    let seen = seen("shelf:/book", limits, &reads).await;
    let [(held, _), middle, end, first, most] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert!(
        held.contains("\"$handle\":\"h1\"") && !held.contains("line 1"),
        "{held}"
    );
    for (part, has, has_not) in [
        (
            middle,
            &[
                "line 10000\\nline 10001",
                "\"total\":20000",
                "\"eof\":false",
            ][..],
            "line 10002",
        ),
        (
            end,
            &["line 19999\\nline 20000", "\"eof\":true"][..],
            "line 19998",
        ),
        (
            first,
            &["line 1\\nline 2", "\"eof\":false"][..],
            "line 50\\n",
        ),
        (
            most,
            &["line 1\\nline 2", "\"total\":20000", "\"eof\":false"][..],
            "line 60\\n",
        ),
    ] {
        let (text, under) = part;
        for words in has {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains(has_not) && text.len() < 1_200, "{text}");
        assert!(under.covers(&label("mcp:mail")), "{under}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_comes_page_by_page() {
    let rig = rig("shelf", ALLOWED).await.open().await;
    let listed = rig.call("mail.resources_list", json!({})).await;
    let listed = value(&listed.outcome).clone();
    assert_eq!(listed["resources"][0]["uri"], "shelf:/letter");
    let next = rig
        .call(
            "mail.resources_list",
            json!({"cursor": listed["nextCursor"]}),
        )
        .await;
    assert_eq!(
        value(&next.outcome),
        &json!({"resources": [{"uri": "shelf:/picture", "name": "picture"}]})
    );
}

/// Neither what is too big nor what is not there is an outcome, and no argument beside the address is handed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_said() {
    let rig = rig("shelf", ALLOWED).await.open().await;
    for (args, code) in [
        (json!({"uri": "shelf:/big"}), Code::TooBig),
        (json!({"uri": "shelf:/none"}), Code::GuestFailed),
        (json!({"uri": "shelf:/lie"}), Code::BadOutcome),
        (json!({"uri": "x".repeat(5_000)}), Code::BadArgs),
        (json!({"uri": "shelf:/letter", "as": "root"}), Code::BadArgs),
        (json!({}), Code::BadArgs),
    ] {
        let called = rig.call("mail.resources_read", args.clone()).await;
        let failed = error(&called.outcome);
        assert_eq!(failed.code(), code, "{args}: {failed}");
        assert!(!failed.message().contains('\u{202e}'), "{failed}");
    }
    // Whoever serves the next call is the same server.
    assert_eq!(notes(rig.folder()).matches("started").count(), 2);
}

/// Which servers have resources a person has read, as with any tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_resources_is_not_asked_for_any() {
    let rig = rig("good", "[grants.\"mail.resources_read\"]").await;
    let rig = rig.open().await;
    let called = rig
        .call("mail.resources_read", json!({"uri": "shelf:/letter"}))
        .await;
    assert_eq!(error(&called.outcome).code(), Code::UnknownTool);
}
