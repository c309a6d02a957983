//! `derive(Flat)`: structs that consist of scalars of one type.

use crate::attributes;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "`derive(Flat)` is for structs: no other type is an array of scalars"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "`derive(Flat)` is for structs without generics"));
    }
    if !has_layout(&input.attrs)? {
        let message = "`derive(Flat)` needs `#[repr(C)]` or `#[repr(transparent)]`, alone: without it the fields may be \
                       in any order";
        return Err(Error::new(name.span(), message));
    }
    let store = attributes::store(&input.attrs)?;
    let types = data.fields.iter().map(|field| &field.ty).collect::<Vec<_>>();
    let Some((first, others)) = types.split_first() else {
        return Err(Error::new(name.span(), "`derive(Flat)` is for structs with fields: this one has no scalars"));
    };
    Ok(quote! {
        // SAFETY: the fields are in sequence, and each is an array of `Scalar`. The constant below checks that, and the
        // absence of padding.
        #[automatically_derived]
        #[allow(unsafe_code)]
        unsafe impl #store::soa::Flat for #name {
            type Scalar = <#first as #store::soa::Flat>::Scalar;
        }
        const _: () = {
            // A name that the struct will not have: type parameters shadow it.
            const fn same<__FieldOfAFlatStruct: #store::soa::Flat<Scalar = <#name as #store::soa::Flat>::Scalar>>() {}
            #(same::<#others>();)*
            ::core::assert!(
                ::core::mem::size_of::<#name>() == ::core::mem::size_of::<#first>() #(+ ::core::mem::size_of::<#others>())*,
                "a flat struct has no padding",
            );
        };
    })
}

/// Returns `true` if `repr` is only `C` or `transparent`. An explicit alignment or packing would break the array.
fn has_layout(attributes: &[Attribute]) -> Result<bool> {
    let (mut fixed, mut other) = (false, false);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            match meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                true => fixed = true,
                false => other = true,
            }
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(fixed && !other)
}
