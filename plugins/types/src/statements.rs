//! Statements: those that are types altogether go; what is none of either language's is refused.

use oxc_ast::ast::*;
use oxc_ast_visit::walk;
use oxc_span::{GetSpan as _, Span};

use crate::eraser::Eraser;
use crate::seams::Seam;

const MODULES: &str = "a script has no modules; use `tools`";
const ENUM: &str =
    "an `enum` is more than a type; write `const Name = { A: 0, B: 1 } as const` instead";
const NAMESPACE: &str =
    "a namespace with content is more than a type; write an object or plain functions instead";
const IMPORT_EQUALS: &str =
    "`import … =` is not known: a script has no modules; use `tools`, or `const` for a short name";

impl Eraser<'_> {
    /// A statement among others, where an empty one may stand.
    pub(crate) fn listed_statement<'a>(&mut self, it: &Statement<'a>) {
        if is_erased(it) {
            self.blank(it.span());
            self.seam(Seam::Gone(it.span()));
            return;
        }
        if let Statement::ExpressionStatement(_) = it {
            self.seam(Seam::Head(it.span()));
        }
        self.lone_statement(it);
    }

    /// The one statement that `if`, a loop or a label asks for, or the rest of a listed one.
    pub(crate) fn lone_statement<'a>(&mut self, it: &Statement<'a>) {
        let span = it.span();
        if is_erased(it) {
            self.blank(span);
            self.traces.sheet.mark(span.start, ';');
            return;
        }
        match it {
            Statement::VariableDeclaration(_) => self.seam(Seam::tail(span)),
            Statement::ExpressionStatement(statement) => {
                self.seam(Seam::tail(span));
                self.seam(Seam::Statement(statement.expression.span()));
            }
            Statement::ReturnStatement(statement) if statement.argument.is_some() => {
                self.seam(Seam::Restricted(span.start));
                self.seam(Seam::tail(span));
            }
            Statement::ThrowStatement(_) => {
                self.seam(Seam::Restricted(span.start));
                self.seam(Seam::tail(span));
            }
            _ => {}
        }
        match obstacle_in(it) {
            Some(message) => self.refuse(span, message),
            None => walk::walk_statement(self, it),
        }
    }

    /// The parts of a class in front of its body, but for those that are blank wherever they stand.
    pub(crate) fn class_head(&mut self, it: &Class<'_>) {
        if !it.r#abstract {
            return;
        }
        let head = Span::new(it.span.start, it.body.span.start);
        let keyword = self
            .tokens
            .within(head)
            .iter()
            .find(|token| token.kind() == oxc_parser::Kind::Abstract);
        if let Some(keyword) = keyword {
            self.blank(keyword.span());
        }
    }
}

/// Whether nothing is left of a statement without types.
fn is_erased(it: &Statement<'_>) -> bool {
    match it {
        Statement::TSTypeAliasDeclaration(_) | Statement::TSInterfaceDeclaration(_) => true,
        // Without a body it is one of the signatures of the function that follows.
        Statement::FunctionDeclaration(it) => it.declare || it.body.is_none(),
        Statement::ClassDeclaration(it) => it.declare,
        Statement::VariableDeclaration(it) => it.declare,
        Statement::TSEnumDeclaration(it) => it.declare,
        Statement::TSExternalModuleDeclaration(it) => it.declare,
        Statement::TSGlobalDeclaration(it) => it.declare,
        Statement::TSNamespaceDeclaration(it) => it.declare || holds_types_only(it),
        _ => false,
    }
}

/// A namespace that holds nothing but types is none at run time.
fn holds_types_only(it: &TSNamespaceDeclaration<'_>) -> bool {
    match &it.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => holds_types_only(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.directives.is_empty() && block.body.iter().all(is_type_in_namespace)
        }
    }
}

fn is_type_in_namespace(it: &Statement<'_>) -> bool {
    match it {
        Statement::ExportDeclaration(it) => match &it.declaration {
            Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => true,
            Declaration::TSNamespaceDeclaration(it) => it.declare || holds_types_only(it),
            _ => false,
        },
        _ => is_erased(it),
    }
}

fn obstacle_in(it: &Statement<'_>) -> Option<&'static str> {
    match it {
        Statement::TSEnumDeclaration(_) => Some(ENUM),
        Statement::TSNamespaceDeclaration(_)
        | Statement::TSExternalModuleDeclaration(_)
        | Statement::TSGlobalDeclaration(_) => Some(NAMESPACE),
        Statement::TSImportEqualsDeclaration(_) => Some(IMPORT_EQUALS),
        _ if it.is_module_declaration() => Some(MODULES),
        _ => None,
    }
}
