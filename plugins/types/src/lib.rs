//! Takes the types out of a TypeScript script: what is left is JavaScript, and nothing has moved.
//!
//! A script is the body of an async function: `return` and `await` are fine at its top, `import` and
//! `export` are not. What only an engine refuses (a name declared twice, say) is left to the engine.
//!
//! **What stays.** Every character of a blanked stretch becomes one space, and every line break
//! stays. So each character that is left keeps its line, and its column counted in characters
//! (Unicode scalar values); it does not keep its byte, nor its UTF-16 column behind a blanked
//! character outside the basic plane, for no white space is as wide as those. Where types keep two
//! tokens apart that would join without them, a `;` is put onto a blanked character, and a bracket
//! may move onto one; the number of characters is never another.
//!
//! **What cannot be taken away** (an `enum`, a decorator, …) is a [`Problem`], which says what to
//! write instead. So is source that does not parse, is too big or is nested too deeply.
//!
//! **TypeScript decides.** `f(a < b, c > (d))` is two comparisons in JavaScript and one generic call
//! in TypeScript; it is read as the latter. All other JavaScript passes through byte for byte.

mod component;
mod eraser;
mod members;
mod nesting;
mod problem;
mod seams;
mod sheet;
mod statements;
mod tokens;

use oxc_allocator::Allocator;
use oxc_ast_visit::Visit as _;
use oxc_parser::config::TokensParserConfig;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::SourceType;

use crate::eraser::Eraser;
use crate::problem::Obstacle;
pub use crate::problem::Problem;
use crate::tokens::Tokens;

/// The largest source that is read, in bytes.
pub const SOURCE_BYTES_MAX: usize = 400 * 1024;

/// Blanks out all types of a script.
///
/// # Errors
///
/// The first thing in the source that does not parse or that cannot simply be taken away.
pub fn blank(source: &str) -> Result<String, Problem> {
    blank_or_obstacle(source).map_err(|obstacle| obstacle.placed_in(source))
}

fn blank_or_obstacle(source: &str) -> Result<String, Obstacle> {
    if source.len() > SOURCE_BYTES_MAX {
        let bytes = source.len();
        let message =
            format!("the source has {bytes} bytes, at most {SOURCE_BYTES_MAX} are read; split it");
        return Err(Obstacle::new(0, message));
    }
    nesting::check(source)?;
    let allocator = Allocator::default();
    let parsed = parse(&allocator, source);
    if let Some(obstacle) = first_error(&parsed) {
        return Err(obstacle);
    }
    let tokens = Tokens::new(&parsed.tokens);
    let mut eraser = Eraser::new(source, &tokens);
    eraser.visit_program(&parsed.program);
    let traces = eraser.finish()?;
    let sheet = seams::close(source, &tokens, traces)?;
    Ok(sheet.write(source))
}

fn parse<'a>(allocator: &'a Allocator, source: &'a str) -> ParserReturn<'a> {
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    // As a module, for `await` at the top; that there are no modules is said by the eraser, in clearer
    // words than those of a parser that expects none.
    Parser::new(allocator, source, SourceType::ts().with_module(true))
        .with_options(options)
        .with_config(TokensParserConfig)
        .parse()
}

fn first_error(parsed: &ParserReturn<'_>) -> Option<Obstacle> {
    let error = parsed.diagnostics.errors().next()?;
    let at = error.labels.first().map_or(0, |label| label.offset());
    let mut message = error.message.to_string();
    if let Some(help) = &error.help {
        message.push_str(" (");
        message.push_str(help);
        message.push(')');
    }
    Some(Obstacle::new(at, message))
}
