//! Walks the tree and notes what to blank: types, and the marks that only types give a meaning.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Kind;
use oxc_span::{GetSpan as _, Span};
use oxc_syntax::precedence::{GetPrecedence as _, Precedence};

use crate::problem::{Obstacle, is_line_break};
use crate::seams::Seam;
use crate::sheet::Sheet;
use crate::tokens::Tokens;

const DECORATOR: &str = "a decorator is not known; call the function yourself, on the class or on what it should change";
const PARAMETER_PROPERTY: &str = "a parameter cannot declare a field by `public`, `private`, `protected`, `readonly` or \
     `override`; declare the field in the class and assign it in the constructor";
const LOOSE_AS: &str =
    "without its `as` or `satisfies` this would group differently; put parentheses around it";

/// What one walk leaves behind.
#[derive(Debug, Default)]
pub struct Traces {
    pub sheet: Sheet,
    pub seams: Vec<Seam>,
}

pub struct Eraser<'s> {
    pub(crate) source: &'s str,
    pub(crate) tokens: &'s Tokens<'s>,
    pub(crate) traces: Traces,
    /// The obstacle that comes first in the source.
    obstacle: Option<Obstacle>,
}

impl<'s> Eraser<'s> {
    pub fn new(source: &'s str, tokens: &'s Tokens<'s>) -> Self {
        Self {
            source,
            tokens,
            traces: Traces::default(),
            obstacle: None,
        }
    }

    pub fn finish(self) -> Result<Traces, Obstacle> {
        match self.obstacle {
            Some(obstacle) => Err(obstacle),
            None => Ok(self.traces),
        }
    }

    pub(crate) fn refuse(&mut self, span: Span, message: &str) {
        if self
            .obstacle
            .as_ref()
            .is_none_or(|known| span.start < known.at)
        {
            self.obstacle = Some(Obstacle::new(span.start, message));
        }
    }

    pub(crate) fn blank(&mut self, span: Span) {
        self.traces.sheet.blank(span);
    }

    pub(crate) fn seam(&mut self, seam: Seam) {
        self.traces.seams.push(seam);
    }

    /// Blanks the token at or after `offset` if it is of this kind.
    pub(crate) fn blank_mark(&mut self, offset: u32, kind: Kind) {
        if let Some(token) = self.tokens.first_from(offset)
            && token.kind() == kind
        {
            self.blank(token.span());
        }
    }

    pub(crate) fn breaks_line(&self, start: u32, end: u32) -> bool {
        self.source[start as usize..end as usize].contains(is_line_break)
    }

    /// `as T` or `satisfies T` behind an expression.
    fn blank_behind(&mut self, expression: &Expression<'_>, whole: Span) {
        if let Some(token) = self.tokens.first_from(expression.span().end) {
            self.blank(Span::new(token.start(), whole.end));
        }
    }

    /// Everything of an arrow function must stand on the line of its `=>`, so a bracket moves to where
    /// the return type ends if that is on another line.
    fn close_arrow_late(&mut self, return_type: &TSTypeAnnotation<'_>) {
        let Some(bracket) = self.tokens.last_before(return_type.span.start) else {
            return;
        };
        let span = return_type.span;
        if bracket.kind() != Kind::RParen || !self.breaks_line(bracket.start(), span.end) {
            return;
        }
        let last = self.source[..span.end as usize].char_indices().next_back();
        if let Some((at, _)) = last {
            self.blank(bracket.span());
            self.traces.sheet.mark(at as u32, ')');
        }
    }

    /// `a ** b as T ** c` means `(a ** b) ** c`, and `a ** b ** c` does not: a type ends an operand that
    /// nothing ends without it.
    fn check_grouping(&mut self, left: &Expression<'_>, outer: Precedence) {
        let mut inner = left;
        loop {
            inner = match inner {
                Expression::TSAsExpression(it) => &it.expression,
                Expression::TSSatisfiesExpression(it) => &it.expression,
                _ => break,
            };
        }
        let bare = std::ptr::eq(inner, left);
        let loose = match inner {
            Expression::BinaryExpression(it) => it.operator.precedence() < outer || is_power(outer),
            Expression::PrivateInExpression(_) => outer > Precedence::Compare,
            Expression::UnaryExpression(_) | Expression::AwaitExpression(_) => is_power(outer),
            _ => false,
        };
        if !bare && loose {
            self.refuse(left.span(), LOOSE_AS);
        }
    }
}

fn is_power(precedence: Precedence) -> bool {
    precedence == Precedence::Exponentiation
}

impl<'a> Visit<'a> for Eraser<'_> {
    // Statements and members: see `statements` and `members`.

    fn visit_statements(&mut self, list: &oxc_allocator::Vec<'a, Statement<'a>>) {
        for statement in list {
            self.listed_statement(statement);
        }
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        self.lone_statement(it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.class_head(it);
        walk::walk_class(self, it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        self.member(it);
    }

    // What is blank as a whole.

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_class_implements_list(
        &mut self,
        list: &oxc_allocator::Vec<'a, TSClassImplements<'a>>,
    ) {
        let (Some(first), Some(last)) = (list.first(), list.last()) else {
            return;
        };
        if let Some(keyword) = self.tokens.last_before(first.span.start) {
            self.blank(Span::new(keyword.start(), last.span.end));
        }
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span);
        self.blank_mark(it.span.end, Kind::Comma);
    }

    // What leaves an expression.

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_behind(&it.expression, it.span);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_behind(&it.expression, it.span);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_mark(it.expression.span().end, Kind::Bang);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        if let Some(close) = self.tokens.last_before(it.expression.span().start) {
            self.blank(Span::new(it.span.start, close.end()));
        }
        self.visit_expression(&it.expression);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        self.check_grouping(&it.left, it.operator.precedence());
        walk::walk_binary_expression(self, it);
    }

    // What loses a part.

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(it.id.span().end, Kind::Bang);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(it.span, PARAMETER_PROPERTY);
        }
        if it.optional {
            self.blank_mark(it.pattern.span().end, Kind::Question);
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(parameters) = &it.type_parameters {
            self.seam(Seam::Generic(parameters.span));
        }
        if let Some(return_type) = &it.return_type {
            self.close_arrow_late(return_type);
        }
        if let Some(body) = it.body.as_expression() {
            self.seam(Seam::Body(body.span()));
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_yield_expression(&mut self, it: &YieldExpression<'a>) {
        // `yield *` may be followed by a line break; `yield` may not.
        if !it.delegate && it.argument.is_some() {
            self.seam(Seam::Restricted(it.span.start));
        }
        walk::walk_yield_expression(self, it);
    }

    // What stays in the way.

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, DECORATOR);
    }
}
