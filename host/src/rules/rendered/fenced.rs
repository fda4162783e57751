//! A text that is shown letter by letter, whatever it spells: a block of code that it cannot end.

/// The text as a block of code.
#[must_use]
pub fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rendered::rendered;

    #[test]
    fn nothing_in_a_block_ends_it() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        for text in [
            "![x](http://evil.test/)",
            "```\n![x](http://evil.test/)",
            "``````\n![x](http://evil.test/)\n```\n",
            "~~~\n![x](http://evil.test/)\n`````` `\n",
        ] {
            let block = format!("before\n{}\nafter", fenced(text));
            assert_eq!(rendered(&block), block, "{text:?}");
        }
    }
}
