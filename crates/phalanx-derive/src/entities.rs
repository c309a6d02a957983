//! `derive(MapEntities)`: visits each field of a struct, or of the variant of an enum.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Data, DeriveInput, Fields, LitStr, Path, Result, parse_quote};

/// Returns `true` if a field has the attribute `#[entities(skip)]`.
fn skipped(field: &syn::Field) -> Result<bool> {
    let mut skip = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("entities")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("skip") {
            true => {
                skip = true;
                Ok(())
            }
            false => Err(meta.error("unknown option: a field has `skip`")),
        })?;
    }
    Ok(skip)
}

/// Returns a pattern for the fields, and calls with the fields that are not skipped.
fn each(fields: &Fields, at: &TokenStream) -> Result<(TokenStream, TokenStream)> {
    let (mut pattern, mut calls) = (TokenStream::new(), TokenStream::new());
    for (number, field) in fields.iter().enumerate() {
        let binding = format_ident!("field_{number}");
        let binding = if skipped(field)? { quote!(_) } else { binding.into_token_stream() };
        match &field.ident {
            Some(name) => pattern.extend(quote!(#name: #binding,)),
            None => pattern.extend(quote!(#binding,)),
        }
        if !skipped(field)? {
            calls.extend(quote!(#at::MapEntities::map_entities(#binding, each);));
        }
    }
    let pattern = match fields {
        Fields::Named(_) => quote!({ #pattern }),
        Fields::Unnamed(_) => quote!((#pattern)),
        Fields::Unit => quote!(),
    };
    Ok((pattern, calls))
}

/// Returns the implementation of `MapEntities`, for the crate at the path `at`.
pub(crate) fn implement(input: &DeriveInput, at: &TokenStream) -> Result<TokenStream> {
    let arms = match &input.data {
        Data::Struct(data) => {
            let (pattern, calls) = each(&data.fields, at)?;
            quote!(Self #pattern => { #calls })
        }
        Data::Enum(data) => {
            let mut arms = TokenStream::new();
            for variant in &data.variants {
                let (name, (pattern, calls)) = (&variant.ident, each(&variant.fields, at)?);
                arms.extend(quote!(Self::#name #pattern => { #calls }));
            }
            arms
        }
        Data::Union(data) => {
            let message = "which field of a union holds an entity is not known";
            return Err(syn::Error::new(data.union_token.span, message));
        }
    };
    let mut generics = input.generics.clone();
    for parameter in input.generics.type_params() {
        let name = &parameter.ident;
        generics.make_where_clause().predicates.push(parse_quote!(#name: #at::MapEntities));
    }
    let (name, (generics, arguments, bounds)) = (&input.ident, generics.split_for_impl());
    let body = match &input.data {
        Data::Enum(data) if data.variants.is_empty() => quote!(match *self {}),
        _ => quote!(match self { #arms }),
    };
    Ok(quote! {
        impl #generics #at::MapEntities for #name #arguments #bounds {
            #[allow(unused_variables)]
            fn map_entities(&mut self, each: &mut dyn ::core::ops::FnMut(&mut #at::Entity)) {
                #body
            }
        }
    })
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut at = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("entities")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a type has `crate = \"path\"`"));
            }
            let path: LitStr = meta.value()?.parse()?;
            at = Some(path.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    implement(input, &at.unwrap_or_else(|| quote!(::phalanx)))
}
