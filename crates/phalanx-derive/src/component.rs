//! `derive(Component)`: one line.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DeriveInput, LitStr, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (mut layout, mut at) = (None, None);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("component")) {
        attribute.parse_nested_meta(|meta| {
            let value: LitStr = meta.value()?.parse()?;
            if meta.path.is_ident("layout") {
                let name = match value.value().as_str() {
                    "table" => quote!(Table),
                    "soa" => quote!(Soa),
                    _ => return Err(syn::Error::new(value.span(), "unknown layout: there are `table` and `soa`")),
                };
                if layout.replace(name).is_some() {
                    return Err(meta.error("the layout is given twice"));
                }
                Ok(())
            } else if meta.path.is_ident("crate") {
                at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
                Ok(())
            } else {
                Err(meta.error("unknown option: a component has `layout` and `crate`"))
            }
        })?;
    }
    let (layout, at) = (layout.unwrap_or_else(|| quote!(Table)), at.unwrap_or_else(|| quote!(::phalanx)));
    let (name, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    let bounds = match bounds {
        Some(bounds) => quote!(#bounds Self: Send + Sync + 'static),
        None => quote!(where Self: Send + Sync + 'static),
    };
    Ok(quote! {
        impl #generics #at::Component for #name #arguments #bounds {
            type Layout = #at::layout::#layout;
        }
    })
}
