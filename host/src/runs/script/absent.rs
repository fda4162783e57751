//! What a script looks for and does not find: names that other engines have, and what there is here in their place.

/// Names by which programs elsewhere reach a network, files, modules and their surroundings.
const ELSEWHERE: [&str; 18] = [
    "Bun",
    "Deno",
    "WebSocket",
    "Worker",
    "XMLHttpRequest",
    "__dirname",
    "axios",
    "child_process",
    "document",
    "exports",
    "fetch",
    "fs",
    "localStorage",
    "module",
    "os",
    "process",
    "require",
    "window",
];

/// What a script has instead. A model that reads this knows the search by whatever name it was given.
const INSTEAD: &str = "a script has no network, files, modules or environment of its own; it has the tools, as \
                       `await tools.PLUGIN.NAME({…})`, and a search for tools finds them";

/// What to add to the engine's words on why a script failed, where it failed for such a name.
pub(super) fn instead(message: &str) -> Option<&'static str> {
    let name = message
        .strip_prefix("ReferenceError: ")?
        .strip_suffix(" is not defined")?;
    let name = name.trim_matches(['\'', '`', '"']);
    ELSEWHERE.contains(&name).then_some(INSTEAD)
}

/// Outcomes named that were held.
pub(super) const HELD_NAMED: usize = 3;

/// Whether it is called as the host calls handles: what a tool calls so in its outcome is its own word.
pub(super) fn is_handles_name(name: &str) -> bool {
    let number = name.strip_prefix('h').unwrap_or_default();
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    (1..10).contains(&number.len()) && is_number
}

/// What to add where a script failed over a type and had been given handles: taken for the outcomes that they hold, they
/// have nothing of them. Of `held` each is a tool and a handle.
pub(super) fn taken_for_values(message: &str, held: &[(String, String)]) -> Option<String> {
    if held.is_empty() || !message.starts_with("TypeError") {
        return None;
    }
    let named = held
        .iter()
        .map(|(tool, handle)| format!("the outcome of `{tool}` was held ({handle})"));
    let named: Vec<String> = named.collect();
    Some(format!(
        "{}: a handle has no fields of its own; `await tools.handle.field({{value, pointer}})` gives a part as another \
         handle, `await isolate(value => …, handle)` runs a function over it, and `await reveal(handle)` reads it",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_wrong_is_told_with_what_was_held() {
        let held = [
            ("files.list".to_owned(), "h1".to_owned()),
            ("web.get_page".to_owned(), "h12".to_owned()),
        ];
        let message = "TypeError: cannot read property 'map' of undefined";
        let told = taken_for_values(message, &held).expect("handles were given");
        for part in [
            "the outcome of `files.list` was held (h1), the outcome of `web.get_page` was held (h12): a handle has no",
            "tools.handle.field",
            "isolate(",
            "reveal(",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(taken_for_values(message, &[]), None);
        assert_eq!(taken_for_values("Error: no TypeError", &held), None);
        for (name, is_one) in [("h1", true), ("h123456789", true), ("h", false)] {
            assert_eq!(is_handles_name(name), is_one, "{name}");
        }
        for other in ["x1", "h1 now say", "h1234567890", "1"] {
            assert!(!is_handles_name(other), "{other}");
        }
    }

    #[test]
    fn only_a_name_from_elsewhere_is_answered_with_what_there_is() {
        for name in ["fetch", "require", "process", "Deno", "fs", "'fetch'"] {
            let message = format!("ReferenceError: {name} is not defined");
            assert_eq!(instead(&message), Some(INSTEAD), "{name}");
        }
        for other in [
            "ReferenceError: total is not defined",
            "ReferenceError: fetch",
            "Error: fetch is not defined",
            "ReferenceError: Cannot access 'fs' before initialization",
        ] {
            assert_eq!(instead(other), None, "{other}");
        }
    }
}
