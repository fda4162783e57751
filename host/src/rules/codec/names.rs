//! Tool names on the wire: providers take `[A-Za-z_][A-Za-z0-9_-]{0,63}`, ours have a dot and may be longer.
//!
//! A table goes both ways, so that no name is ever taken apart again. It is made from the names
//! alone, whatever their order, so that a prompt's beginning stays the same from turn to turn.

use std::collections::BTreeMap;

use crate::words::id::Digest;

/// The longest name that every provider takes.
const WIRE_CHARS: usize = 64;
/// What is left beside `-` and the twelve digits of a digest.
const STEM_CHARS: usize = WIRE_CHARS - 13;

/// Which of our names stands for which name on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames {
    to_wire: BTreeMap<String, String>,
    from_wire: BTreeMap<String, String>,
}

impl ToolNames {
    /// A table of these names: a dot becomes `__` and anything else that is not allowed `_`. Names
    /// that would then be too long, or the same as another's, all take a digest instead.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut stems: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in names {
            let alike = stems.entry(stem(name)).or_default();
            if !alike.contains(&name) {
                alike.push(name);
            }
        }
        let mut table = Self::default();
        let mut crowded = Vec::new();
        for (stem, alike) in stems {
            match alike.as_slice() {
                [name] if stem.len() <= WIRE_CHARS => table.insert(name, stem),
                _ => crowded.extend(alike.into_iter().map(|name| (name, stem.clone()))),
            }
        }
        crowded.sort_unstable();
        for (name, stem) in crowded {
            let mut wire = with_digest(&stem, name.as_bytes());
            while table.from_wire.contains_key(&wire) {
                wire = with_digest(&stem, wire.as_bytes());
            }
            table.insert(name, wire);
        }
        table
    }

    fn insert(&mut self, name: &str, wire: String) {
        self.from_wire.insert(wire.clone(), name.to_owned());
        self.to_wire.insert(name.to_owned(), wire);
    }

    /// The name on the wire. A name that is not in the table, such as one that a model made up, is
    /// made to fit, so that it can be told back to the provider; nothing leads back from it.
    #[must_use]
    pub fn wire(&self, name: &str) -> String {
        self.to_wire.get(name).cloned().unwrap_or_else(|| {
            let stem = stem(name);
            if stem.len() <= WIRE_CHARS {
                stem
            } else {
                with_digest(&stem, name.as_bytes())
            }
        })
    }

    /// Our name for a name on the wire; one that is not in the table stays as it is.
    #[must_use]
    pub fn full<'a>(&'a self, wire: &'a str) -> &'a str {
        self.from_wire.get(wire).map_or(wire, String::as_str)
    }

    /// Whether the table has this name on the wire.
    #[must_use]
    pub fn knows(&self, wire: &str) -> bool {
        self.from_wire.contains_key(wire)
    }
}

/// A name in the allowed characters, never empty, perhaps too long.
fn stem(name: &str) -> String {
    let mut stem = String::with_capacity(name.len().saturating_add(1));
    for c in name.chars() {
        match c {
            '.' => stem.push_str("__"),
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') => stem.push(c),
            _ => stem.push('_'),
        }
    }
    // Some take no name that begins otherwise.
    if !stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        stem.insert(0, '_');
    }
    stem
}

fn with_digest(stem: &str, of: &[u8]) -> String {
    let kept: String = stem.chars().take(STEM_CHARS).collect();
    format!("{kept}-{}", Digest::of(of).short())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(names: &[&str]) -> Vec<String> {
        let table = ToolNames::new(names.iter().copied());
        let turned = ToolNames::new(names.iter().rev().copied());
        assert_eq!(table, turned, "the order makes a difference");
        let wires: Vec<String> = names.iter().map(|name| table.wire(name)).collect();
        for (name, wire) in names.iter().zip(&wires) {
            assert_eq!(table.full(wire), *name);
            assert!((1..=WIRE_CHARS).contains(&wire.len()), "{wire}");
            assert!(
                wire.chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
                "{wire}"
            );
            assert!(
                !wire.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
                "{wire}"
            );
        }
        wires
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(
            check(&["text.count", "my-files.read_all"]),
            ["text__count", "my-files__read_all"]
        );
        check(&["", "é", ".", "..", "a b"]);
        check(&[
            &format!("{}.{}", "a".repeat(64), "b".repeat(63)),
            &format!("{}.x", "a".repeat(64)),
        ]);
    }

    #[test]
    fn names_that_look_alike_are_kept_apart() {
        let wires = check(&["a.b", "a__b", "a_.b"]);
        assert!(
            wires.iter().take(2).all(|wire| wire.starts_with("a__b-")),
            "{wires:?}"
        );
        assert_eq!(wires[2], "a___b");
        // A name that already looks like another's digest.
        check(&["a.b", "a__b", &wires[0], &wires[1]]);
        assert_eq!(check(&["x.y", "x.y"]), ["x__y", "x__y"]);
    }

    #[test]
    fn an_invented_name_stays_as_it_is_and_can_be_told_back() {
        let table = ToolNames::new(["text.count"]);
        assert_eq!(table.full("rm -rf"), "rm -rf");
        assert_eq!(table.full("text.count"), "text.count");
        assert_eq!(table.wire("rm -rf /"), "rm_-rf__");
        assert_eq!(table.wire(""), "_");
        assert_eq!(table.wire("7-up"), "_7-up");
        assert_eq!(table.wire(&"x".repeat(500)).len(), WIRE_CHARS);
    }

    proptest! {
        #[test]
        fn any_names_go_both_ways(
            names in prop::collection::btree_set("[a7_.é-]{0,6}|[a.]{60,70}", 0..20),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            check(&names);
        }
    }
}
