//! The tools that the conformance suite of MCP wants of a server: one for each kind of content, and for what a call says
//! while it is under way.

use lazaret_sdk::prelude::*;

/// The smallest picture there is: one red point.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53,
    0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
    0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A sound of no length.
const WAV: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00";

/// Says a line.
#[tool(effect = "pure")]
fn simple_text() -> String {
    "This is a simple text response for testing.".to_owned()
}

/// Shows a picture.
#[tool(effect = "pure")]
fn image_content() -> Result<String, Failure> {
    artifacts::add("point.png", "image/png", PNG)?;
    Ok("a point".to_owned())
}

/// Plays a sound.
#[tool(effect = "pure")]
fn audio_content() -> Result<String, Failure> {
    artifacts::add("silence.wav", "audio/wav", WAV)?;
    Ok("silence".to_owned())
}

/// Hands over a text.
#[tool(effect = "pure")]
fn embedded_resource() -> Result<String, Failure> {
    artifacts::add(
        "text.txt",
        "text/plain",
        "This is an embedded resource content.",
    )?;
    Ok("a text".to_owned())
}

/// Shows a picture and hands over JSON.
#[tool(effect = "pure")]
fn multiple_content_types() -> Result<String, Failure> {
    artifacts::add("point.png", "image/png", PNG)?;
    artifacts::add(
        "test.json",
        "application/json",
        r#"{"test":"data","value":123}"#,
    )?;
    Ok("Multiple content types test:".to_owned())
}

/// Says how it goes.
#[tool(effect = "pure")]
fn tool_with_logging() -> String {
    log::info("Tool execution started");
    log::info("Tool processing data");
    log::info("Tool execution completed");
    "done".to_owned()
}

/// Says how far it is.
#[tool(effect = "pure")]
fn tool_with_progress() -> String {
    for percent in [0.0, 50.0, 100.0] {
        log::progress(format!("{percent} of 100"), percent);
    }
    "done".to_owned()
}

/// Fails.
#[tool(effect = "pure")]
fn error_handling() -> Result<String, Failure> {
    fail!("This tool intentionally returns an error for testing")
}

/// Says all that a tool can say beside its outcome, and fails if it shall.
#[tool(effect = "pure")]
fn everything(
    /// Whether it fails at the end.
    #[default(false)]
    fails: bool,
) -> Result<String, Failure> {
    for level in [
        log::Level::Debug,
        log::Level::Info,
        log::Level::Warn,
        log::Level::Error,
    ] {
        log::write(level, "a line", &json!({"rows": 3}));
    }
    log::progress("half", 50.0);
    log::progress("on", None);
    log::progress_with("three of four", 75.0, &json!({"step": 3}));
    log::write(
        log::Level::Warn,
        "far",
        &json!({"type": "progress", "percent": 1000, "of": "it"}),
    );
    for metadata in [json!(null), json!([1]), json!({"type": "chart", "rows": 3})] {
        artifacts::add_with("rows.bin", "application/x-rows", &metadata, b"\xff\x00")?;
    }
    match fails {
        true => fail!("it failed after all that"),
        false => Ok("done".to_owned()),
    }
}

/// Waits for a person's word.
#[tool(effect = "pure", needs_approval)]
fn elicitation(
    /// What it is about.
    #[default(String::new())]
    message: String,
) -> String {
    format!("approved: {message}")
}

/// Says how it goes, where nobody has asked.
#[tool(effect = "pure")]
fn logging_tool() -> String {
    tool_with_logging()
}

/// Waits for a person's word, in the middle of a stream.
#[tool(effect = "pure", needs_approval)]
fn streaming_elicitation() -> String {
    "approved".to_owned()
}

/// Waits for a person's word; the call is made again with it.
#[tool(effect = "pure", needs_approval)]
fn input_required_result_elicitation() -> String {
    "approved".to_owned()
}

/// The same, with what the server wants to have back.
#[tool(effect = "pure", needs_approval)]
fn input_required_result_request_state() -> String {
    "approved: state-ok".to_owned()
}

/// The same, where that is not what the server sent.
#[tool(effect = "pure", needs_approval)]
fn input_required_result_tampered_state() -> String {
    "approved".to_owned()
}

plugin! {
    name: "conformance",
    description: "What the conformance suite of MCP wants of a server.",
    tools: [
        simple_text, image_content, audio_content, embedded_resource, multiple_content_types, tool_with_logging,
        tool_with_progress, error_handling, everything, elicitation, logging_tool, streaming_elicitation,
        input_required_result_elicitation, input_required_result_request_state, input_required_result_tampered_state,
    ],
}
