//! `derive(Event)`: a type whose values are sent and read.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DeriveInput, LitInt, LitStr, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (mut at, mut clone, mut max, mut plain) = (None, None, None, false);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("clone") {
                clone = Some(quote! {
                    const CLONE: ::core::option::Option<fn(&Self) -> Self> =
                        ::core::option::Option::Some(<Self as ::core::clone::Clone>::clone);
                });
            } else if meta.path.is_ident("plain") {
                plain = true;
            } else if meta.path.is_ident("max") {
                let value: LitInt = meta.value()?.parse()?;
                max = Some(quote!(const MAX: ::core::primitive::usize = #value;));
            } else if meta.path.is_ident("crate") {
                let value: LitStr = meta.value()?.parse()?;
                at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
            } else {
                return Err(meta.error("unknown option: an event has `clone`, `plain`, `max` and `crate`"));
            }
            Ok(())
        })?;
    }
    let at = at.unwrap_or_else(|| quote!(::phalanx));
    let plain = plain.then(|| {
        clone = Some(quote! {
            const CLONE: ::core::option::Option<fn(&Self) -> Self> =
                ::core::option::Option::Some(<Self as ::core::clone::Clone>::clone);
        });
        quote! {
            const PLAIN: ::core::option::Option<#at::derived::PlainEvents<Self>> =
                ::core::option::Option::Some(#at::derived::PlainEvents::new());
        }
    });
    let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics #at::Event for #name #arguments #bounds {
            #clone
            #plain
            #max
        }
    })
}
