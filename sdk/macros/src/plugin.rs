//! `plugin!`: the list of tools in, the component's export out.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Path, Result, Token, bracketed};

const SHAPE: &str = "write `plugin! { name: \"…\", description: \"…\", tools: [one, two] }`";
const TOOLS_MAX: usize = 128;

struct Declaration {
    name: LitStr,
    description: LitStr,
    tools: Punctuated<Path, Token![,]>,
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut name, mut description, mut tools) = (None, None, None);
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            match key.to_string().as_str() {
                "name" => name = Some(input.parse::<LitStr>()?),
                "description" => description = Some(input.parse::<LitStr>()?),
                "tools" => {
                    let content;
                    bracketed!(content in input);
                    tools = Some(Punctuated::parse_terminated(&content)?);
                }
                "version" => {
                    let wrong =
                        "a plugin's version is its crate's: remove this, and set it in Cargo.toml";
                    return Err(Error::new(key.span(), wrong));
                }
                _ => return Err(Error::new(key.span(), SHAPE)),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        match (name, description, tools) {
            (Some(name), Some(description), Some(tools)) => Ok(Self {
                name,
                description,
                tools,
            }),
            _ => Err(input.error(SHAPE)),
        }
    }
}

fn check(declaration: &Declaration) -> Result<()> {
    let name = declaration.name.value();
    let sound = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !sound {
        let wrong = "a plugin's name is 1 to 64 of `a-z`, `0-9` and `-`";
        return Err(Error::new(declaration.name.span(), wrong));
    }
    if declaration.description.value().trim().is_empty() {
        let wrong = "say in one paragraph what the plugin is for";
        return Err(Error::new(declaration.description.span(), wrong));
    }
    if declaration.tools.is_empty() || declaration.tools.len() > TOOLS_MAX {
        let wrong = format!("a plugin has 1 to {TOOLS_MAX} tools");
        return Err(Error::new(declaration.name.span(), wrong));
    }
    Ok(())
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let declaration: Declaration = syn::parse2(input)?;
    check(&declaration)?;
    let Declaration {
        name,
        description,
        tools,
    } = declaration;
    let tools = tools.iter();
    Ok(quote! {
        /// This crate's plugin: what the host finds in the component, reachable from tests too.
        pub struct Plugin;

        impl ::lazaret_sdk::export::Plugin for Plugin {
            const NAME: &'static str = #name;
            const VERSION: &'static str = ::core::env!("CARGO_PKG_VERSION");
            const DESCRIPTION: &'static str = #description;
            const TOOLS: &'static [::lazaret_sdk::export::Entry] =
                &[#(<#tools as ::lazaret_sdk::export::Tool>::ENTRY),*];
        }

        const _: () = ::lazaret_sdk::export::assert_distinct(
            <Plugin as ::lazaret_sdk::export::Plugin>::TOOLS
        );

        impl Plugin {
            /// The manifest as the host reads it.
            pub fn manifest() -> ::lazaret_sdk::Value {
                ::lazaret_sdk::export::manifest::<Self>()
            }

            /// Calls a tool with the plugin's own code, without a host.
            pub fn call(
                tool: &str,
                args: ::lazaret_sdk::Value,
            ) -> ::core::result::Result<::lazaret_sdk::Value, ::lazaret_sdk::Failure> {
                ::lazaret_sdk::export::call::<Self>(tool, args)
            }
        }

        #[cfg(target_family = "wasm")]
        ::lazaret_sdk::bindings::export_plugin!(Plugin with_types_in ::lazaret_sdk::bindings);

        #[cfg(test)]
        #[test]
        fn the_manifest_is_sound() {
            ::lazaret_sdk::export::check::<Plugin>();
        }
    })
}
