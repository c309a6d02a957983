//! The options of `#[soa(…)]`, and helpers that the derives share.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Generics, LitStr, Member, Path, Result, parse_quote};

/// Returns the path of the store: that of `#[soa(crate = "…")]`, or `::phalanx_store`.
pub(crate) fn store(attributes: &[Attribute]) -> Result<TokenStream> {
    let mut store = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("soa")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a row type has `crate = \"path\"`"));
            }
            if store.is_some() {
                return Err(meta.error("the path of the store is given twice"));
            }
            let path: LitStr = meta.value()?.parse()?;
            store = Some(path.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    Ok(store.unwrap_or_else(|| quote!(::phalanx_store)))
}

/// Returns `true` if a field has the attribute `#[soa(nested)]`.
pub(crate) fn nested(attributes: &[Attribute]) -> Result<bool> {
    let mut nested = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("soa")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("nested") {
            true => {
                nested = true;
                Ok(())
            }
            false => Err(meta.error("unknown option: a field has `nested`")),
        })?;
    }
    Ok(nested)
}

/// Returns the generics of a type, with the bounds of components and bundles.
pub(crate) fn component_generics(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    generics
        .make_where_clause()
        .predicates
        .push(parse_quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static));
    generics
}

/// Returns the method of `Debug` for a struct with these fields.
pub(crate) fn debug(name: &str, members: &[&Member]) -> TokenStream {
    let bindings: Vec<Ident> =
        (0..members.len()).map(|n| format_ident!("field_{n}", span = Span::mixed_site())).collect();
    let fields: Vec<(&Member, &Ident)> = members.iter().copied().zip(&bindings).collect();
    let formatted = debug_fields(name, &fields);
    quote! {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            #(let #bindings = &self.#members;)*
            #formatted
        }
    }
}

/// Returns an expression that prints these fields of a struct or a variant, which are bound to variables, to the formatter `f`.
/// It names the methods it calls, since a trait of the user may have methods of the same name.
pub(crate) fn debug_fields(name: &str, fields: &[(&Member, &Ident)]) -> TokenStream {
    let (builder, kind) = match fields {
        [(Member::Unnamed(_), _), ..] => (quote!(debug_tuple), quote!(DebugTuple)),
        _ => (quote!(debug_struct), quote!(DebugStruct)),
    };
    let fields = fields.iter().map(|(member, binding)| match member {
        // Other code knows a raw identifier without its prefix.
        Member::Named(name) => {
            let text = name.to_string();
            let text = text.trim_start_matches("r#");
            quote!(#text, #binding)
        }
        Member::Unnamed(_) => quote!(#binding),
    });
    quote! {
        let mut fields = ::core::fmt::Formatter::#builder(f, #name);
        #(::core::fmt::#kind::field(&mut fields, #fields);)*
        ::core::fmt::#kind::finish(&mut fields)
    }
}
