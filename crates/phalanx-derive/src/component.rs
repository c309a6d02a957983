//! `derive(Component)`: the layout of a component, and a constant for each of its capabilities.

use crate::requirement::Requirement;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parse;
use syn::{Data, DeriveInput, ExprPath, LitStr, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (mut layout, mut at, mut clone, mut entities) = (None, None, None, None);
    let (mut mapped, mut track, mut plain, mut requires) = (false, None, false, Vec::new());
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
                plain = true;
                return Ok(());
            }
            if meta.path.is_ident("requires") {
                let list;
                syn::parenthesized!(list in meta.input);
                for requirement in list.parse_terminated(Requirement::parse, syn::Token![,])? {
                    requirement.check(&input.ident, &requires)?;
                    requires.push(requirement);
                }
                return Ok(());
            }
            if meta.path.is_ident("entities") && !meta.input.peek(syn::Token![=]) {
                mapped = true;
                return Ok(());
            }
            if !["layout", "track", "entities", "crate"].iter().any(|known| meta.path.is_ident(known)) {
                return Err(meta.error(
                    "unknown option: a component has `layout`, `track`, `clone`, `plain`, `entities`, `requires` and `crate`",
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
                    "column" => quote!(ColumnTracked),
                    "row" => quote!(RowTracked),
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
    let of_lanes = layout.as_ref().is_some_and(|layout: &TokenStream| layout.to_string() == "Soa");
    let (layout, at) = (layout.unwrap_or_else(|| quote!(Table)), at.unwrap_or_else(|| quote!(::phalanx)));
    let layout = match track {
        None => quote!(#at::layout::#layout),
        Some((ref track, ref value)) if track.to_string() == "RowTracked" && layout.to_string() == "Soa" => {
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
        quote!(const ENTITIES: ::core::option::Option<#at::derived::VisitEntities<Self>> = ::core::option::Option::Some(#visit);)
    });
    let (proof, checked) = match plain {
        true => plain_parts(input, of_lanes, &at)?,
        false => Default::default(),
    };
    let requirements = requires.iter().map(|requirement| requirement.construct(&at));
    let required =
        (!requires.is_empty()).then(|| quote!(const REQUIRES: &'static [#at::Requirement] = &[#(#requirements),*];));
    // Finds cycles where the component is declared. Those of generic components are found where they are used.
    let acyclic = (!requires.is_empty() && input.generics.params.is_empty()).then(|| {
        let name = &input.ident;
        quote!(const _: &[#at::Requirement] = <#name as #at::Component>::REQUIRES;)
    });
    let (shape, reflected) = (crate::reflect::component_shape(&at), crate::reflect::implement(input, of_lanes, &at));
    let fields = fields(&input.data);
    let (name, mut generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    if plain && !of_lanes && !input.generics.params.is_empty() {
        generics.make_where_clause().predicates.push(syn::parse_quote!(Self: #at::Plain));
    }
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        impl #generics #at::Component for #name #arguments #bounds {
            type Layout = #layout;
            #clone
            #proof
            #entities
            #required
            const FIELDS: &'static ::core::primitive::str = #fields;
            #shape
        }
        #reflected
        #acyclic
        #checked
        #implemented
    })
}

/// Returns the proof that a component is plain data, and the implementation that checks it.
fn plain_parts(input: &DeriveInput, of_lanes: bool, at: &TokenStream) -> Result<(TokenStream, TokenStream)> {
    let (proof, checked) = match of_lanes {
        true => (quote!(of_lanes), TokenStream::new()),
        false => (quote!(new), crate::plain::implement(input, at)?),
    };
    let constant = quote! {
        const PLAIN: ::core::option::Option<#at::derived::IsPlain<Self>> = ::core::option::Option::Some(#at::derived::IsPlain::#proof());
    };
    Ok((constant, checked))
}

/// Returns the declared fields of a type, without attributes. Blanks are removed, because the printing of tokens may change.
pub(crate) fn fields(data: &Data) -> String {
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
        Data::Struct(data) => list(&mut text, &data.fields),
        Data::Enum(data) => {
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
        Data::Union(data) => list(&mut text, &syn::Fields::Named(data.fields.clone())),
    }
    text.retain(|c| !c.is_whitespace());
    text
}
