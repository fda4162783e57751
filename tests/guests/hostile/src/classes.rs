//! Every class of effect and risk, and every visibility. None of these does anything.

use lazaret_sdk::prelude::*;

/// Would take something away for good.
#[tool(effect = "destructive", risk = "high_risk")]
pub fn destroy() -> bool {
    true
}

/// Says nothing of what it does.
#[tool()]
pub fn unclassified() -> bool {
    true
}

/// Would send something to others.
#[tool(effect = "external-stateful", risk = "external_write")]
pub fn send_out() -> bool {
    true
}

/// Would change something, and says it is harmless to repeat.
#[tool(effect = "side-effecting", risk = "external_write", idempotent)]
pub fn write_here() -> bool {
    true
}

/// For people only.
#[tool(effect = "pure", visibility = "user")]
pub fn only_people() -> bool {
    true
}

/// For other tools only.
#[tool(effect = "pure", visibility = "private")]
pub fn only_tools() -> bool {
    true
}

/// Offered over HTTP only.
#[tool(effect = "pure", surfaces = ["http"])]
pub fn only_http() -> bool {
    true
}

/// Polishes spoons. Shown only once it was found.
#[tool(
    effect = "pure",
    deferred,
    example(title = "a spoon", args = r#"{"spoon": "big"}"#)
)]
pub fn polish(
    /// Which spoon.
    spoon: String,
) -> String {
    format!("{spoon} shines")
}
