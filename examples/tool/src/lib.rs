//! A complete plugin: one tool that greets.

use lazaret_sdk::prelude::*;

/// Greets somebody in their language.
#[tool(effect = "pure", example(title = "Ada", args = r#"{"name": "Ada"}"#))]
fn greet(
    /// Whom to greet.
    name: String,
    /// A language code: `en`, `fr` or `de`.
    #[default("en".to_owned())]
    language: String,
) -> Result<String, Failure> {
    let greetings = [("en", "Hello"), ("fr", "Bonjour"), ("de", "Guten Tag")];
    let known = greetings.iter().find(|(code, _)| *code == language);
    let (_, greeting) = known.or_fail("there is no greeting in that language")?;
    Ok(format!("{greeting}, {name}!"))
}

plugin! { name: "greet", description: "Greets people.", tools: [greet] }
