//! Members of classes: modifiers and marks go, and those that are only declared go altogether.

use oxc_ast::ast::*;
use oxc_ast_visit::walk;
use oxc_parser::Kind;
use oxc_span::{GetSpan as _, Span};

use crate::eraser::Eraser;
use crate::seams::Seam;

impl Eraser<'_> {
    pub(crate) fn member<'a>(&mut self, it: &ClassElement<'a>) {
        let span = it.span();
        if is_erased(it) {
            self.blank(span);
            self.seam(Seam::Gone(span));
            return;
        }
        match it {
            ClassElement::StaticBlock(_) | ClassElement::TSIndexSignature(_) => {}
            ClassElement::MethodDefinition(it) => {
                self.modifiers(span, &it.key);
                if it.optional {
                    self.mark_behind_key(&it.key, it.computed, Kind::Question);
                }
                self.seam(Seam::Head(span));
            }
            ClassElement::PropertyDefinition(it) => {
                self.modifiers(span, &it.key);
                if it.optional {
                    self.mark_behind_key(&it.key, it.computed, Kind::Question);
                }
                if it.definite {
                    self.mark_behind_key(&it.key, it.computed, Kind::Bang);
                }
                self.seam(Seam::Head(span));
                self.seam(Seam::Tail {
                    span,
                    needed: it.value.is_none() && reads_as_modifier(&it.key),
                });
            }
            ClassElement::AccessorProperty(it) => {
                self.modifiers(span, &it.key);
                if it.definite {
                    self.mark_behind_key(&it.key, it.computed, Kind::Bang);
                }
                self.seam(Seam::Head(span));
                self.seam(Seam::tail(span));
            }
        }
        walk::walk_class_element(self, it);
    }

    /// Blanks the words in front of a member's name that JavaScript does not know.
    fn modifiers(&mut self, member: Span, key: &PropertyKey<'_>) {
        let front = Span::new(member.start, key.span().start);
        for token in self.tokens.within(front) {
            if is_modifier(token.kind()) {
                self.traces.sheet.blank(token.span());
            }
        }
    }

    fn mark_behind_key(&mut self, key: &PropertyKey<'_>, computed: bool, mark: Kind) {
        let mut end = key.span().end;
        if computed && let Some(bracket) = self.tokens.first_from(end) {
            end = bracket.end();
        }
        self.blank_mark(end, mark);
    }
}

fn is_modifier(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Public | Kind::Private | Kind::Protected | Kind::Readonly | Kind::Override
    )
}

/// Whether nothing is left of a member without types.
fn is_erased(it: &ClassElement<'_>) -> bool {
    match it {
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(it) => it.value.body.is_none(),
        ClassElement::PropertyDefinition(it) => {
            it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::AccessorProperty(it) => {
            it.r#type == AccessorPropertyType::TSAbstractAccessorProperty
        }
        ClassElement::StaticBlock(_) => false,
    }
}

/// A field of such a name becomes part of the next member if nothing ends it: `get: T` on one line and
/// `x() {}` on the next.
fn reads_as_modifier(key: &PropertyKey<'_>) -> bool {
    matches!(key, PropertyKey::StaticIdentifier(name)
        if matches!(name.name.as_str(), "get" | "set" | "static"))
}
