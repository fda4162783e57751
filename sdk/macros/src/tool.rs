//! `#[tool]`: a function in, the same function and its declaration out.
//!
//! The declaration is an uninhabited type of the function's name: functions and types have name
//! spaces of their own, so `plugin! { tools: [count] }` and `use tools::count` find both with one
//! word.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{
    Error, FnArg, GenericArgument, ItemFn, LitStr, PathArguments, Result, ReturnType, Safety,
    Signature, Type,
};

use crate::docs;
use crate::options::{Options, check_tool_name};
use crate::parameters::Parameter;

const DESCRIPTION_BYTES_MAX: usize = 4096;

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(item.clone()).map_err(|error| {
        let span = item
            .into_iter()
            .next()
            .map_or(error.span(), |first| first.span());
        Error::new(span, "`#[tool]` stands above a function with a body")
    })?;
    check_signature(&function.sig)?;
    let description = description_of(&function)?;
    let parameters = function
        .sig
        .inputs
        .iter_mut()
        .map(Parameter::read)
        .collect::<Result<Vec<_>>>()?;
    check_examples(&options, &parameters)?;
    let declaration = declare(&function, &options, &description, &parameters)?;
    Ok(quote!(#function #declaration))
}

fn check_signature(signature: &Signature) -> Result<()> {
    let refuse =
        |at: &dyn ToTokens, wrong: &str| Err(Error::new_spanned(at.to_token_stream(), wrong));
    if let Some(word) = &signature.asyncness {
        return refuse(
            word,
            "a tool is not `async`: remove the word, what the host does for it is awaited there",
        );
    }
    if let Safety::Unsafe(word) = &signature.safety {
        return refuse(word, "a tool is not `unsafe`: remove the word");
    }
    if let Some(word) = &signature.abi {
        return refuse(word, "a tool is a plain Rust function: remove the `extern`");
    }
    if !signature.generics.params.is_empty() {
        let wrong =
            "a tool is not generic, since its schema is made from its types: write the types";
        return refuse(&signature.generics, wrong);
    }
    if let Some(FnArg::Receiver(receiver)) = signature.inputs.first() {
        let wrong = "a tool is a free function: write it outside of any `impl`, without `self`";
        return refuse(receiver, wrong);
    }
    if let ReturnType::Default = signature.output {
        let wrong = "a tool returns something: write `-> T` or `-> Result<T, Failure>`, with `T` \
            a type made by `#[value]`, a text, a number or a list";
        return refuse(&signature.ident, wrong);
    }
    Ok(())
}

fn description_of(function: &ItemFn) -> Result<String> {
    let text = docs::text_of(&function.attrs);
    if text.is_empty() {
        let wrong = "a tool needs a doc comment, which becomes its description: write \
            `/// What it does.` above";
        return Err(Error::new(function.sig.ident.span(), wrong));
    }
    if text.len() > DESCRIPTION_BYTES_MAX {
        let wrong = format!(
            "a tool's description has at most {DESCRIPTION_BYTES_MAX} bytes: shorten the comment"
        );
        return Err(Error::new(function.sig.ident.span(), wrong));
    }
    Ok(text)
}

fn check_examples(options: &Options, parameters: &[Parameter]) -> Result<()> {
    if parameters.iter().any(|parameter| parameter.renamed) {
        return Ok(());
    }
    let names: Vec<String> = parameters
        .iter()
        .map(|parameter| parameter.name.unraw().to_string())
        .collect();
    for example in &options.examples {
        let span = example.literal.span();
        if let Some(key) = example.args.keys().find(|key| !names.contains(key)) {
            return Err(Error::new(
                span,
                format!("there is no parameter `{key}`: remove it from the example"),
            ));
        }
        for (parameter, name) in parameters.iter().zip(&names) {
            if !parameter.optional && !example.args.contains_key(name) {
                return Err(Error::new(
                    span,
                    format!("the example lacks the parameter `{name}`: add it"),
                ));
            }
        }
    }
    Ok(())
}

/// `T` and whether it stands in a `Result`.
fn outcome_of(signature: &Signature) -> Option<(&Type, bool)> {
    let ReturnType::Type(_, ty) = &signature.output else {
        return None;
    };
    let Type::Path(path) = &**ty else {
        return Some((ty, false));
    };
    let last = path.path.segments.last()?;
    if last.ident != "Result" {
        return Some((ty, false));
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Some((ty, false));
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some((inner, true)),
        _ => Some((ty, false)),
    }
}

/// The type that a tool's arguments are read into, and that its schema is made of.
fn input_type(fields: &[TokenStream]) -> TokenStream {
    quote! {
        #[derive(
            ::lazaret_sdk::export::serde::Deserialize,
            ::lazaret_sdk::export::schemars::JsonSchema,
        )]
        #[serde(crate = "::lazaret_sdk::export::serde", deny_unknown_fields)]
        #[schemars(crate = "::lazaret_sdk::export::schemars")]
        struct __Input { #(#fields)* }
    }
}

fn declare(
    function: &ItemFn,
    options: &Options,
    description: &str,
    parameters: &[Parameter],
) -> Result<TokenStream> {
    let signature = &function.sig;
    let (ident, visibility) = (&signature.ident, &function.vis);
    let name = match &options.name {
        Some(name) => name.clone(),
        None => LitStr::new(&ident.unraw().to_string(), ident.span()),
    };
    check_tool_name(&name)?;
    let settings = serde_json::to_string(&options.settings)
        .map_err(|error| Error::new(Span::call_site(), error))?;
    let Some((output, fallible)) = outcome_of(signature) else {
        return Err(Error::new(
            ident.span(),
            "write `-> T` or `-> Result<T, Failure>`",
        ));
    };
    let (fields, makers): (Vec<_>, Vec<_>) = parameters.iter().map(Parameter::field).unzip();
    let names = parameters.iter().map(|parameter| &parameter.name);
    let call = quote!(#ident(#(__input.#names),*));
    let outcome = if fallible {
        quote!(::lazaret_sdk::export::write(&#call.map_err(::lazaret_sdk::Failure::from)?))
    } else {
        quote!(::lazaret_sdk::export::write(&#call))
    };
    let input = input_type(&fields);
    Ok(quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility enum #ident {}

        const _: () = {
            #input

            #(#makers)*

            #[automatically_derived]
            impl ::lazaret_sdk::export::Tool for #ident {
                const NAME: &'static str = #name;
                const DESCRIPTION: &'static str = #description;
                const SETTINGS: &'static str = #settings;

                fn input() -> ::lazaret_sdk::Value {
                    ::lazaret_sdk::export::input_schema::<__Input>()
                }

                fn output() -> ::lazaret_sdk::Value {
                    ::lazaret_sdk::export::output_schema::<#output>()
                }

                fn fits(__args: &str) -> ::core::result::Result<(), ::lazaret_sdk::Failure> {
                    ::lazaret_sdk::export::read::<__Input>(__args).map(|_| ())
                }

                #[allow(unused_variables)]
                fn run(
                    __args: &str,
                ) -> ::core::result::Result<::std::string::String, ::lazaret_sdk::Failure> {
                    let __input: __Input = ::lazaret_sdk::export::read(__args)?;
                    #outcome
                }
            }
        };
    })
}
