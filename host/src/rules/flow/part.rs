//! Part: how much of what is held is read at once (G-30a).
//!
//! The plugin cuts, and the operator says how much: no manifest can, and whoever reads can say less.

use serde_json::Value;

use super::super::sanitise::Caps;
use super::handles::READ;
use crate::words::id::ToolName;
use crate::words::message::WishedArgs;

/// The argument that says how many bytes are read.
const MOST: &str = "most";

/// The arguments of a call that reads a part, with how much of it there may be; others as they are. What is no number
/// stays, so that its schema says so. A model that says nothing reads a beginning; a script or a program means all of it.
#[must_use]
pub fn bounded(tool: &ToolName, mut args: Value, (caps, by_model): (&Caps, bool)) -> Value {
    if tool.as_str() != READ {
        return args;
    }
    if let Some(args) = args.as_object_mut() {
        let said = args.get(MOST).filter(|said| !said.is_null());
        let most = match said.map(Value::as_u64) {
            None if by_model => caps.read_bytes.min(caps.read_bytes_max),
            None => caps.read_bytes_max,
            Some(Some(said)) => usize::try_from(said)
                .unwrap_or(usize::MAX)
                .min(caps.read_bytes_max),
            Some(None) => return Value::Object(std::mem::take(args)),
        };
        args.insert(MOST.to_owned(), most.into());
    }
    args
}

/// The arguments as they were wished, where handles stood in them, or the host has bounded them.
#[must_use]
pub fn wish(tool: &ToolName, args: &WishedArgs, places: &[String]) -> Option<Value> {
    let is_other = !places.is_empty() || tool.as_str() == READ;
    match args {
        WishedArgs::Json(value) if is_other => Some(value.clone()),
        WishedArgs::Json(_) | WishedArgs::Broken(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whoever_reads_says_less_and_the_operator_how_much_at_most() {
        let caps = Caps {
            read_bytes: 100,
            read_bytes_max: 1_000,
            ..Caps::default()
        };
        let read = ToolName::parse(READ).unwrap();
        for (said, most) in [
            (json!({}), json!(100)),
            (json!({"most": null}), json!(100)),
            (json!({"most": 1}), json!(1)),
            (json!({"most": 1_000}), json!(1_000)),
            (json!({"most": 1_001}), json!(1_000)),
            (json!({"most": u64::MAX}), json!(1_000)),
            (json!({"most": "much"}), json!("much")),
            (json!({"most": -1}), json!(-1)),
        ] {
            let args = bounded(&read, said.clone(), (&caps, true));
            assert_eq!(args["most"], most, "{said}");
        }
        let whole = bounded(&read, json!({}), (&caps, false));
        assert_eq!(whole["most"], json!(1_000), "of a script");
        let less = Caps {
            read_bytes_max: 10,
            ..caps
        };
        assert_eq!(bounded(&read, json!({}), (&less, true))["most"], json!(10));
        let slice = ToolName::parse("handle.slice").unwrap();
        assert_eq!(bounded(&slice, json!({}), (&caps, true)), json!({}));
        assert_eq!(bounded(&read, json!(1), (&caps, true)), json!(1));
    }

    #[test]
    fn what_the_host_has_bounded_stands_on_record_as_it_was_wished() {
        let wished = |tool: &str, places: &[String]| {
            let tool = ToolName::parse(tool).unwrap();
            wish(&tool, &WishedArgs::Json(json!({"value": "a"})), places).is_some()
        };
        let places = ["/value".to_owned()];
        assert!(wished(READ, &[]) && wished(READ, &places));
        assert!(wished("handle.slice", &places) && !wished("handle.slice", &[]));
    }
}
