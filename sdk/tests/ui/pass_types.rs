use lazaret_sdk::prelude::*;

#[value]
#[serde(rename_all = "UPPERCASE")]
enum Colour {
    Red,
}

#[value]
struct Pair(u8, String);

mod inner {
    use lazaret_sdk::prelude::*;

    /// In a module, returning a plain value.
    #[tool]
    pub fn pair(mut number: u8, colour: super::Colour) -> super::Pair {
        number += 1;
        super::Pair(number, format!("{colour:?}"))
    }
}

/// A keyword for a name.
#[tool(effect = "destructive", example(title = "it", args = r#"{"type": "x"}"#))]
fn r#move(r#type: String) -> Result<String, std::fmt::Error> {
    Ok(r#type)
}

plugin! {
    name: "types",
    description: "Types of all sorts.",
    tools: [inner::pair, r#move],
}

fn main() {
    let answer = Plugin::call("pair", json!({ "number": 1, "colour": "RED" })).unwrap();
    assert_eq!(answer, json!([2, "Red"]));
    assert_eq!(Plugin::call("move", json!({ "type": "x" })).unwrap(), json!("x"));
}
