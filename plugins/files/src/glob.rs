//! Which files a search looks at: `*` and `?` within a name, `**` across folders.

/// Whether `path`, relative to the searched folder, fits `pattern`; without a `/` the pattern is
/// about the file's name alone.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    if !pattern.contains('/') {
        let name = path.rsplit('/').next().unwrap_or(path);
        return segment_fits(pattern.as_bytes(), name.as_bytes());
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // reached[at]: whether the pattern so far fits the first `at` segments of the path.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern {
        if part == "**" {
            let first = reached
                .iter()
                .position(|reached| *reached)
                .unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        for at in (0..path.len()).rev() {
            reached[at + 1] = reached[at] && segment_fits(part.as_bytes(), path[at].as_bytes());
        }
        reached[0] = false;
    }
    reached[path.len()]
}

/// In linear steps per star: only the last star is ever tried again.
fn segment_fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                seen += 1;
                // A character of several bytes is one character.
                while seen < name.len() && name[seen] & 0xC0 == 0x80 {
                    seen += 1;
                }
            }
            Some(byte) if *byte == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    at = after + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    fn check(pattern: &str, fitting: &[&str], other: &[&str]) {
        for path in fitting {
            assert!(fits(pattern, path), "{pattern} fits {path}");
        }
        for path in other {
            assert!(!fits(pattern, path), "{pattern} does not fit {path}");
        }
    }

    #[test]
    fn patterns() {
        check("*.rs", &["a.rs", "src/a.rs", ".rs"], &["a.rst", "a"]);
        check("a?c", &["abc", "aäc"], &["ac", "abbc"]);
        check("src/*.rs", &["src/a.rs"], &["a.rs", "src/b/a.rs"]);
        check("**/*.rs", &["a.rs", "src/a.rs", "x/y/z.rs"], &["a.md"]);
        check("src/**", &["src/a", "src/a/b"], &["srcs/a"]);
        check("src/**/t.*", &["src/t.a", "src/x/y/t.b"], &["src/x/u.a"]);
        check("*a*b*", &["ab", "xaxbx", "aab"], &["ba"]);
    }

    #[test]
    fn a_nasty_pattern_ends() {
        assert!(!fits(&"*a".repeat(50), &"a".repeat(40)));
        assert!(!fits(&"**/".repeat(50), "a/b/c"));
    }
}
