//! `derive(Reflect)`: the names, offsets and shapes of fields.
//!
//! The expansion is within `phalanx::__reflect!`, which is empty without the feature `reflect`. It has unsafe code, but without
//! an attribute that allows it: the lint does not look into derives of other crates. So it compiles under
//! `#![forbid(unsafe_code)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DataEnum, DeriveInput, Fields, LitStr, Member, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut at = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("reflect")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a reflected type has `crate = \"path\"`"));
            }
            let path: LitStr = meta.value()?.parse()?;
            at = Some(path.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    Ok(implement(input, true, &at.unwrap_or_else(|| quote!(::phalanx))))
}

/// Returns the implementation of `Reflect`, for the crate at the path `at`.
///
/// `may_be_row` says that the type may be a row of a struct of arrays.
pub(crate) fn implement(input: &DeriveInput, may_be_row: bool, at: &TokenStream) -> TokenStream {
    let lanes = may_be_row.then(|| lanes(&input.data, at));
    let kind = match &input.data {
        Data::Struct(data) if !is_packed(&input.attrs) => of_fields(&data.fields, at),
        Data::Enum(data) if input.generics.params.is_empty() => of_variants(data, &input.attrs, at),
        _ => quote!(#at::reflect::Kind::Opaque),
    };
    let (name, mut generics) = (&input.ident, input.generics.clone());
    if !generics.params.is_empty() {
        generics.make_where_clause().predicates.push(syn::parse_quote!(Self: 'static));
    }
    let (generics, arguments, bounds) = generics.split_for_impl();
    quote! {
        #at::__reflect! {
            // SAFETY: the fields are at their offsets, with the shapes of their types.
            #[automatically_derived]
            unsafe impl #generics #at::reflect::Reflect for #name #arguments #bounds {
                const SHAPE: &'static #at::reflect::Shape = {
                    use #at::derived::Unprobed as _;
                    &#at::reflect::Shape {
                        kind: #kind,
                        size: ::core::mem::size_of::<Self>(),
                        align: ::core::mem::align_of::<Self>(),
                        show: #at::derived::Probe::<Self>::__SHOW,
                    }
                };
                #lanes
            }
        }
    }
}

/// Returns the constant of `Component` with the shape.
pub(crate) fn component_shape(at: &TokenStream) -> TokenStream {
    quote! {
        #at::__reflect! {
            const REFLECTED: ::core::option::Option<#at::derived::ShapeOf<Self>> =
                ::core::option::Option::Some(#at::derived::ShapeOf::<Self>::new());
        }
    }
}

/// Returns the function that finds out whether the lanes of a row are its fields.
fn lanes(data: &Data, at: &TokenStream) -> TokenStream {
    let Data::Struct(data) = data else { return TokenStream::new() };
    let leaves = data.fields.iter().map(|field| {
        let ty = &field.ty;
        if is_nested(field) { quote!(#at::store::soa::Nested<#ty>) } else { quote!(#at::store::soa::Leaf<#ty>) }
    });
    let leaves = crate::row::pairs(&leaves.collect::<Vec<_>>());
    let nested = data.fields.iter().filter(|field| is_nested(field)).map(|field| &field.ty);
    quote! {
        fn __has_lanes() -> ::core::primitive::bool {
            use #at::derived::Unprobed as _;
            #at::derived::Probe::<Self>::__is_row::<#leaves>() #(&& #at::derived::Probe::<#nested>::__has_lanes())*
        }
    }
}

/// Returns `true` if a field has `#[soa(nested)]`. Mistakes in the attribute are the matter of `derive(Soa)`.
fn is_nested(field: &syn::Field) -> bool {
    crate::attributes::nested(&field.attrs).unwrap_or(false)
}

fn of_fields(fields: &Fields, at: &TokenStream) -> TokenStream {
    let fields = fields.iter().zip(fields.members()).map(|(field, member)| {
        let (ty, is_nested) = (&field.ty, is_nested(field));
        let name = match &member {
            // Other code knows a raw identifier without its prefix.
            Member::Named(name) => name.to_string().trim_start_matches("r#").to_owned(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        quote! {
            #at::reflect::Field {
                name: #name,
                offset: ::core::mem::offset_of!(Self, #member),
                shape: #at::derived::or_opaque(
                    #at::derived::Probe::<#ty>::__SHAPE,
                    const { &#at::derived::Probe::<#ty>::__opaque(#at::derived::Probe::<#ty>::__SHOW) },
                ),
                is_nested: #is_nested,
            }
        }
    });
    quote!(#at::reflect::Kind::Struct(&[#(#fields),*]))
}

fn of_variants(data: &DataEnum, attributes: &[Attribute], at: &TokenStream) -> TokenStream {
    let has_fields = |variant: &syn::Variant| !matches!(variant.fields, Fields::Unit);
    // Mistakes in the attribute are the compiler's matter.
    let number = crate::plain::number(attributes).ok().flatten();
    // The numbers of variants have 64 bits.
    let is_wide = number.as_ref().is_some_and(|number| number == "i128" || number == "u128");
    if data.variants.is_empty() || data.variants.iter().any(has_fields) || is_wide {
        return quote!(#at::reflect::Kind::Opaque);
    }
    let number = number.map_or_else(|| quote!(isize), ToTokens::into_token_stream);
    // A type with a destructor cannot be cast. So the numbers are those that are written, or one more than those before.
    let (mut first, mut after) = (quote!(0), 0_i64);
    let numbers = data.variants.iter().map(|variant| {
        if let Some((_, value)) = &variant.discriminant {
            (first, after) = (quote!(::core::convert::identity::<::core::primitive::#number>(#value)), 0);
        }
        let number = quote!(::core::primitive::i64::wrapping_add(#first as ::core::primitive::i64, #after));
        after += 1;
        number
    });
    let numbers = numbers.collect::<Vec<_>>();
    let variants = data.variants.iter().map(|variant| &variant.ident).collect::<Vec<_>>();
    let names = variants.iter().map(|name| name.to_string().trim_start_matches("r#").to_owned());
    quote! {
        #at::reflect::Kind::Choice(#at::reflect::Choice {
            variants: &[#((#names, #numbers)),*],
            // SAFETY: a value of the type is at the address, by the contract of the function.
            read: |value| match unsafe { &*<*const ::core::primitive::u8>::cast::<Self>(value) } {
                #(Self::#variants => #numbers,)*
            },
        })
    }
}

/// Returns `true` if fields may not be aligned.
fn is_packed(attributes: &[Attribute]) -> bool {
    let mut is_packed = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // Mistakes in the attribute are the compiler's matter.
        let _ = attribute.parse_nested_meta(|meta| {
            is_packed |= meta.path.is_ident("packed");
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        });
    }
    is_packed
}
