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

#[cfg(test)]
mod tests {
    use super::*;

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
