//! `#[value]`: the derives that a type needs to be taken or returned by a tool.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Item, Result};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !options.is_empty() {
        let wrong = "`#[value]` takes nothing: use `#[serde(…)]` and `#[schemars(…)]` below it";
        return Err(Error::new_spanned(options, wrong));
    }
    let item: Item = syn::parse2(item)?;
    let (attributes, spelling) = match &item {
        Item::Struct(item) => (&item.attrs, TokenStream::new()),
        Item::Enum(item) => (&item.attrs, quote!(#[serde(rename_all = "snake_case")])),
        other => {
            return Err(Error::new_spanned(
                other,
                "`#[value]` stands above a struct or an enum",
            ));
        }
    };
    let spelt = attributes.iter().any(|attribute| {
        attribute.path().is_ident("serde")
            && attribute
                .to_token_stream()
                .to_string()
                .contains("rename_all")
    });
    let spelling = (!spelt).then_some(spelling);
    Ok(quote! {
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            ::lazaret_sdk::export::serde::Serialize,
            ::lazaret_sdk::export::serde::Deserialize,
            ::lazaret_sdk::export::schemars::JsonSchema,
        )]
        #[serde(crate = "::lazaret_sdk::export::serde")]
        #[schemars(crate = "::lazaret_sdk::export::schemars")]
        #spelling
        #item
    })
}
