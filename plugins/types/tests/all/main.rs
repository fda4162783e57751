//! What is left of TypeScript, seen from outside.

mod constructs;
mod hazards;
mod mixtures;
mod problems;

use lazaret_types::blank;

/// Sources, each with what is left of it. In the latter `~` stands for a blank, so that the widths are
/// seen, and an empty text for the source as it is.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (source, left) in cases {
        let expected = match *left {
            "" => (*source).to_owned(),
            left => left.replace('~', " "),
        };
        match blank(source) {
            Ok(text) => assert_eq!(text, expected, "from {source:?}"),
            Err(problem) => panic!("{source:?}: {problem:?}"),
        }
        assert!(keeps_places(source, &expected), "{source:?}");
        assert_eq!(blank(&expected).as_ref(), Ok(&expected), "again");
    }
}

/// Whether both texts have the same lines of the same lengths, in characters.
fn keeps_places(source: &str, text: &str) -> bool {
    let shape = |text: &str| -> Vec<usize> {
        text.split(['\n', '\r', '\u{2028}', '\u{2029}'])
            .map(|line| line.chars().count())
            .collect()
    };
    shape(source) == shape(text)
}
