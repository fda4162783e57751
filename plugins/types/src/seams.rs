//! Mends the places where tokens would join, or part, once the types between them are gone.
//!
//! JavaScript ends many statements at a line break, unless what follows can go on with them, and it
//! ends some at a line break that must not be there (`return`). Types keep such places apart or
//! together; without them the same has to be said by a `;` or by a bracket on an earlier line.

use std::collections::BTreeSet;

use oxc_parser::{Kind, Token};
use oxc_span::Span;

use crate::eraser::Traces;
use crate::problem::{Obstacle, is_line_break};
use crate::sheet::Sheet;
use crate::tokens::Tokens;

const LEADING_TYPE: &str = "without the `<T>` in front this would be read as a block or a declaration; write \
     `({ … } as T)`, in parentheses, instead";
const BROKEN_LINE: &str =
    "without the types, a line would end here and the value be lost; begin the value on this line";

/// A place to look at when all blanks are known.
#[derive(Debug)]
pub enum Seam {
    /// A statement or member was taken away as a whole.
    Gone(Span),
    /// A statement among others, or a member, whose beginning may be blank.
    Head(Span),
    /// A statement or member whose end may be blank. `needed`: it must then be ended in any case.
    Tail { span: Span, needed: bool },
    /// An expression that is a statement: what it begins with decides what it is.
    Statement(Span),
    /// An expression that is the body of an arrow function.
    Body(Span),
    /// The keyword that starts here wants its value on its own line.
    Restricted(u32),
    /// Type parameters of an arrow function.
    Generic(Span),
}

impl Seam {
    pub fn tail(span: Span) -> Self {
        Self::Tail {
            span,
            needed: false,
        }
    }
}

/// Looks at every seam; the sheet that comes back is complete.
pub fn close(source: &str, tokens: &Tokens<'_>, traces: Traces) -> Result<Sheet, Obstacle> {
    let Traces { mut sheet, seams } = traces;
    sheet.settle();
    let mut mender = Mender::new(source, tokens, sheet);
    // Semicolons first: where one stands, no bracket has to move.
    for seam in &seams {
        match seam {
            Seam::Gone(span) => mender.mend_gone(*span),
            Seam::Head(span) => mender.mend_head(*span),
            Seam::Tail { span, needed } => mender.mend_tail(*span, *needed),
            _ => {}
        }
    }
    for seam in &seams {
        match seam {
            Seam::Statement(span) => mender.check_start(*span, starts_other_statement)?,
            Seam::Body(span) => mender.check_start(*span, |kind, _| kind == Kind::LCurly)?,
            Seam::Restricted(keyword) => mender.mend_restricted(*keyword)?,
            _ => {}
        }
    }
    for seam in &seams {
        if let Seam::Generic(span) = seam {
            mender.mend_generic(*span);
        }
    }
    let Mender {
        mut sheet, moved, ..
    } = mender;
    for start in moved {
        sheet.blank(Span::new(start, start + 1));
    }
    sheet.settle();
    Ok(sheet)
}

struct Mender<'m> {
    source: &'m str,
    tokens: &'m Tokens<'m>,
    sheet: Sheet,
    /// For each token the index of the first one at or behind it that stays. A list, since the types
    /// of a long source would else be gone through again for each of them.
    kept_next: Vec<usize>,
    /// Where the tokens of one character start that were moved up.
    moved: BTreeSet<u32>,
}

impl<'m> Mender<'m> {
    fn new(source: &'m str, tokens: &'m Tokens<'m>, sheet: Sheet) -> Self {
        let count = tokens.len();
        let mut kept_next = vec![count; count + 1];
        for index in (0..count).rev() {
            let kept = tokens
                .get(index)
                .is_some_and(|token| !sheet.is_blank(token.start()));
            kept_next[index] = if kept { index } else { kept_next[index + 1] };
        }
        Self {
            source,
            tokens,
            sheet,
            kept_next,
            moved: BTreeSet::new(),
        }
    }

    /// Index of the first token at or behind this one that stays.
    fn kept_from(&self, index: usize) -> usize {
        self.kept_next
            .get(index)
            .copied()
            .unwrap_or(self.tokens.len())
    }

    fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(Token::kind)
    }

    /// The kind of the first token that stays at or behind `offset`.
    fn kind_after(&self, offset: u32) -> Option<Kind> {
        self.kind(self.kept_from(self.tokens.index_from(offset)))
    }

    /// Whether what stays behind `offset` could go on with what stands in front.
    fn joins_after(&self, offset: u32) -> bool {
        self.kind_after(offset).is_some_and(goes_on)
    }

    /// Whether something stands in front of `offset` that could be gone on with. Where it is blank
    /// itself, that is not known, and a semicolon too many harms nobody.
    fn open_before(&self, offset: u32) -> bool {
        self.tokens
            .last_before(offset)
            .is_some_and(|token| !matches!(token.kind(), Kind::Semicolon | Kind::LCurly))
    }

    fn mend_gone(&mut self, span: Span) {
        if self.open_before(span.start) && self.joins_after(span.end) {
            self.sheet.mark(span.start, ';');
        }
    }

    fn mend_head(&mut self, span: Span) {
        if self.sheet.is_blank(span.start)
            && self.open_before(span.start)
            && self.joins_after(span.start)
        {
            self.sheet.mark(span.start, ';');
        }
    }

    fn mend_tail(&mut self, span: Span, needed: bool) {
        let begin = self.tokens.index_from(span.start);
        let end = self.tokens.index_from(span.end);
        let kept = |index: &usize| self.kept_from(*index) == *index;
        let Some(first) = (begin..end).rev().take_while(|index| !kept(index)).last() else {
            return;
        };
        let follows = self.kind(self.kept_from(end));
        let ends_itself = matches!(follows, None | Some(Kind::Semicolon | Kind::RCurly));
        if (follows.is_some_and(goes_on) || needed && !ends_itself)
            && let Some(token) = self.tokens.get(first)
        {
            self.sheet.mark(token.start(), ';');
        }
    }

    /// An expression that begins with a blank must not become something else by what is left.
    fn check_start(
        &self,
        span: Span,
        other: fn(Kind, Option<Kind>) -> bool,
    ) -> Result<(), Obstacle> {
        if !self.sheet.is_blank(span.start) {
            return Ok(());
        }
        let index = self.kept_from(self.tokens.index_from(span.start));
        let next = self.kind(self.kept_from(index + 1));
        match self.kind(index) {
            Some(kind) if other(kind, next) => Err(Obstacle::new(span.start, LEADING_TYPE)),
            _ => Ok(()),
        }
    }

    fn mend_restricted(&mut self, keyword: u32) -> Result<(), Obstacle> {
        let first = self.tokens.index_from(keyword) + 1;
        match self.tokens.get(first) {
            Some(token) if self.kept_from(first) != first => {
                let from = token.start();
                self.pull_up(first, from)
                    .map_err(|()| Obstacle::new(from, BROKEN_LINE))
            }
            _ => Ok(()),
        }
    }

    fn mend_generic(&mut self, span: Span) {
        // What follows type parameters is a bracket, which can always move.
        let _ = self.pull_up(self.tokens.index_from(span.end), span.start);
    }

    /// Moves the first kept token up to the blank character at `to`, if it is on a later line.
    fn pull_up(&mut self, index: usize, to: u32) -> Result<(), ()> {
        let Some(token) = self.tokens.get(self.kept_from(index)) else {
            return Ok(());
        };
        let start = token.start();
        let between = &self.source[to as usize..start as usize];
        if !between.contains(is_line_break)
            || self.sheet.is_marked(to)
            || self.moved.contains(&start)
        {
            return Ok(());
        }
        let bracket = match token.kind() {
            Kind::LParen => '(',
            Kind::LBrack => '[',
            Kind::LCurly => '{',
            _ => return Err(()),
        };
        self.sheet.mark(to, bracket);
        self.moved.insert(start);
        Ok(())
    }
}

/// What can go on with an expression on the line before.
fn goes_on(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::LParen
            | Kind::LBrack
            | Kind::NoSubstitutionTemplate
            | Kind::TemplateHead
            | Kind::Plus
            | Kind::Minus
            | Kind::Star
            | Kind::Slash
            | Kind::SlashEq
            | Kind::RegExp
            | Kind::In
            | Kind::Instanceof
    )
}

/// What makes a statement another one than an expression.
fn starts_other_statement(kind: Kind, next: Option<Kind>) -> bool {
    match kind {
        Kind::LCurly | Kind::Function | Kind::Class => true,
        Kind::Async => next == Some(Kind::Function),
        Kind::Let => next == Some(Kind::LBrack),
        _ => false,
    }
}
