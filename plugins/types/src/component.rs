//! The world `types`, exported: the same function, in the words of the interface.

#![allow(
    missing_docs,
    clippy::all,
    reason = "all but the last lines is generated"
)]

wit_bindgen::generate!({
    path: "../../wit/script.wit",
    world: "types",
});

struct Reader;

impl Guest for Reader {
    fn blank(source: String) -> Result<String, Problem> {
        crate::blank(&source).map_err(|problem| Problem {
            message: problem.message,
            line: problem.line,
            column: problem.column,
        })
    }
}

export!(Reader);
