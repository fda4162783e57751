//! The parameters of a tool, as the fields of its input.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, FnArg, Ident, Pat, PatType, Result, Type};

use crate::docs;

/// One parameter.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) optional: bool,
    /// Whether an attribute for serde may have changed its name.
    pub(crate) renamed: bool,
    ty: Type,
    text: String,
    default: Option<Expr>,
    handed_on: Vec<Attribute>,
}

impl Parameter {
    /// Reads one parameter and takes the attributes away that are meant for us.
    pub(crate) fn read(argument: &mut FnArg) -> Result<Self> {
        let argument = match argument {
            FnArg::Typed(argument) => argument,
            FnArg::Receiver(receiver) => {
                let wrong =
                    "a tool is a free function: write it outside of any `impl`, without `self`";
                return Err(Error::new_spanned(receiver, wrong));
            }
        };
        let name = name_of(argument)?;
        check_type(&argument.ty)?;
        let text = docs::text_of(&argument.attrs);
        let mut default = None;
        let mut handed_on = Vec::new();
        for attribute in std::mem::take(&mut argument.attrs) {
            let path = attribute.path();
            if path.is_ident("doc") {
                continue;
            } else if path.is_ident("default") {
                default = Some(attribute.parse_args::<Expr>().map_err(|_| {
                    Error::new_spanned(
                        &attribute,
                        "write `#[default(EXPRESSION)]`, such as `#[default(10)]`",
                    )
                })?);
            } else if path.is_ident("serde") || path.is_ident("schemars") {
                handed_on.push(attribute);
            } else {
                let wrong = "a parameter takes doc comments, `#[default(…)]`, `#[serde(…)]` and \
                    `#[schemars(…)]`: remove this attribute";
                return Err(Error::new_spanned(attribute, wrong));
            }
        }
        let optional = is_option(&argument.ty) || default.is_some();
        let renamed = handed_on
            .iter()
            .any(|attribute| attribute.path().is_ident("serde"));
        let ty = (*argument.ty).clone();
        Ok(Self {
            name,
            optional,
            renamed,
            ty,
            text,
            default,
            handed_on,
        })
    }

    /// The field of the input struct and, if there is a default, the function that makes it.
    pub(crate) fn field(&self) -> (TokenStream, TokenStream) {
        let Self {
            name,
            ty,
            text,
            handed_on,
            ..
        } = self;
        let doc = (!text.is_empty()).then(|| quote!(#[doc = #text]));
        let (default, maker) = match &self.default {
            Some(expression) => {
                let maker = format_ident!("__default_{}", name);
                let path = maker.to_string();
                (
                    quote!(#[serde(default = #path)]),
                    quote!(fn #maker() -> #ty { #expression }),
                )
            }
            None if self.optional => (quote!(#[serde(default)]), TokenStream::new()),
            None => (TokenStream::new(), TokenStream::new()),
        };
        (quote!(#doc #default #(#handed_on)* #name: #ty,), maker)
    }
}

fn name_of(argument: &PatType) -> Result<Ident> {
    match &*argument.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(pattern.ident.clone())
        }
        other => {
            let wrong = "each parameter becomes a named field of the tool's input: write \
                `name: Type` and take the value apart in the body";
            Err(Error::new_spanned(other, wrong))
        }
    }
}

fn check_type(ty: &Type) -> Result<()> {
    if let Type::ImplTrait(_) = ty {
        let wrong =
            "a parameter has a concrete type, since the schema is made from it: write the type";
        return Err(Error::new_spanned(ty, wrong));
    }
    if has_reference(quote!(#ty)) {
        let wrong = "a parameter owns its value: write `String` for `&str`, `Vec<T>` for \
            `&[T]`, `T` for `&T`";
        return Err(Error::new_spanned(ty, wrong));
    }
    Ok(())
}

fn has_reference(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Punct(punct) => punct.as_char() == '&',
        proc_macro2::TokenTree::Group(group) => has_reference(group.stream()),
        _ => false,
    })
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "Option")
}
