//! `derive(Component)`: one line, and one for each of what values can do.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Error, ExprPath, LitStr, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (mut layout, mut at, mut clone, mut entities, mut plain) = (None, None, None, None, None);
    let (mut mapped, mut track) = (false, None);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("component")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("clone") {
                clone = Some(quote! {
                    const CLONE: ::core::option::Option<fn(&Self) -> Self> =
                        ::core::option::Option::Some(<Self as ::core::clone::Clone>::clone);
                });
                return Ok(());
            }
            if meta.path.is_ident("plain") {
                plain = Some(meta.path.clone());
                return Ok(());
            }
            if meta.path.is_ident("entities") && !meta.input.peek(syn::Token![=]) {
                mapped = true;
                return Ok(());
            }
            if !["layout", "track", "entities", "crate"].iter().any(|known| meta.path.is_ident(known)) {
                return Err(meta.error(
                    "unknown option: a component has `layout`, `track`, `clone`, `plain`, `entities` and `crate`",
                ));
            }
            let value: LitStr = meta.value()?.parse()?;
            if meta.path.is_ident("layout") {
                let name = match value.value().as_str() {
                    "table" => quote!(Table),
                    "soa" => quote!(Soa),
                    "pool" => quote!(Pool),
                    "linear" => quote!(Linear),
                    _ => {
                        let known = "unknown layout: there are `table`, `soa`, `pool` and `linear`";
                        return Err(syn::Error::new(value.span(), known));
                    }
                };
                if layout.replace(name).is_some() {
                    return Err(meta.error("the layout is given twice"));
                }
                Ok(())
            } else if meta.path.is_ident("track") {
                let name = match value.value().as_str() {
                    "column" => quote!(Watched),
                    "row" => quote!(Tracked),
                    _ => return Err(syn::Error::new(value.span(), "changes are tracked by `column` or by `row`")),
                };
                match track.replace((name, value)) {
                    None => Ok(()),
                    Some(_) => Err(meta.error("the tracking is given twice")),
                }
            } else if meta.path.is_ident("entities") {
                entities = Some(value.parse::<ExprPath>()?);
                Ok(())
            } else {
                at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
                Ok(())
            }
        })?;
    }
    let (layout, at) = (layout.unwrap_or_else(|| quote!(Table)), at.unwrap_or_else(|| quote!(::phalanx)));
    let layout = match track {
        None => quote!(#at::layout::#layout),
        Some((ref track, ref value)) if track.to_string() == "Tracked" && layout.to_string() == "Soa" => {
            let message = "a soa component cannot be tracked by row, since its fields are written one by one: \
                           use `track = \"column\"`, or another layout";
            return Err(syn::Error::new(value.span(), message));
        }
        Some((track, _)) => quote!(#at::layout::#track<#at::layout::#layout>),
    };
    let implemented = if mapped { Some(crate::entities::implement(input, &at)?) } else { None };
    if mapped {
        entities = Some(syn::parse_quote!(<Self as #at::MapEntities>::map_entities));
    }
    let entities = entities.map(|visit: ExprPath| {
        quote!(const ENTITIES: ::core::option::Option<#at::VisitEntities<Self>> = ::core::option::Option::Some(#visit);)
    });
    let (plain, checked) = match plain {
        Some(option) => plain_parts(input, &option, &at)?,
        None => Default::default(),
    };
    let fields = fields(&input.data);
    let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        impl #generics #at::Component for #name #arguments #bounds {
            type Layout = #layout;
            #clone
            #plain
            #entities
            const FIELDS: &'static str = #fields;
        }
        #checked
        #implemented
    })
}

/// That a component is plain data: the constant that says so, and what checks it.
fn plain_parts(input: &DeriveInput, option: &Path, at: &TokenStream) -> Result<(TokenStream, TokenStream)> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(option, "`plain` is for structs: not all bytes are a value of another type"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(option, "`plain` is for structs without generics"));
    }
    let (name, types) = (&input.ident, data.fields.iter().map(|field| &field.ty).collect::<Vec<_>>());
    let constant = quote! {
        const PLAIN: ::core::option::Option<#at::IsPlain<Self>> = ::core::option::Option::Some(#at::IsPlain::new());
    };
    let checked = quote! {
        // SAFETY: the constant below checks that the fields are plain, and that there is no padding.
        #[automatically_derived]
        #[allow(unsafe_code)]
        unsafe impl #at::Plain for #name {}
        const _: () = {
            // A name that the struct will not have: type parameters shadow it.
            const fn plain<__FieldOfAPlainStruct: #at::Plain>() {}
            #(plain::<#types>();)*
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                "a plain component has no padding",
            );
        };
    };
    Ok((constant, checked))
}

/// The fields of a type as they are declared, attributes aside, without a blank: how tokens are printed may change.
fn fields(data: &syn::Data) -> String {
    fn list(text: &mut String, fields: &syn::Fields) {
        for field in fields {
            if let Some(name) = &field.ident {
                text.push_str(&format!("{name}:"));
            }
            text.push_str(&field.ty.to_token_stream().to_string());
            text.push(',');
        }
    }
    let mut text = String::new();
    match data {
        syn::Data::Struct(data) => list(&mut text, &data.fields),
        syn::Data::Enum(data) => {
            for variant in &data.variants {
                text.push_str(&format!("{}(", variant.ident));
                list(&mut text, &variant.fields);
                text.push(')');
                if let Some((_, value)) = &variant.discriminant {
                    text.push_str(&format!("={}", value.to_token_stream()));
                }
                text.push(';');
            }
        }
        syn::Data::Union(data) => list(&mut text, &syn::Fields::Named(data.fields.clone())),
    }
    text.retain(|c| !c.is_whitespace());
    text
}
