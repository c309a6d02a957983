//! `derive(Plain)`: structs of plain data without padding, and enums without fields.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DataEnum, DeriveInput, Error, Fields, Generics, LitStr, Path, Result, parse_quote};

/// Returns the implementation of `Plain`, for the crate at the path `at`.
pub(crate) fn implement(input: &DeriveInput, at: &TokenStream) -> Result<TokenStream> {
    let (name, text) = (&input.ident, crate::component::fields(&input.data));
    let (generics, body) = match &input.data {
        Data::Struct(data) => (bounds(&input.generics, &data.fields, at), of_struct(input, &data.fields, at)),
        Data::Enum(data) => (input.generics.clone(), of_enum(input, data)?),
        Data::Union(data) => {
            let message = "a union is not plain: which of its bytes are initialised is not known";
            return Err(Error::new(data.union_token.span, message));
        }
    };
    let describe = match &input.data {
        Data::Struct(data) => describe_struct(input, &data.fields, at),
        _ => TokenStream::new(),
    };
    // Without parameters padding is checked here, otherwise where the type is used.
    let early = input.generics.params.is_empty().then(|| {
        quote! {
            const _: ::core::primitive::bool = <#name as #at::Plain>::ANY_BYTES;
        }
    });
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: the fields are plain, and the constant checks that there is no padding between them, or after the number of an
        // enum. The valid values of an enum are its discriminants.
        #[automatically_derived]
        #[allow(unsafe_code)]
        unsafe impl #generics #at::Plain for #name #arguments #bounds {
            #body

            fn describe(out: &mut dyn ::core::ops::FnMut(&::core::primitive::str)) {
                out(#text);
                #describe
            }
        }
        #early
    })
}

/// Returns the generics of a struct, with the bounds on fields whose types depend on them.
fn bounds(generics: &Generics, fields: &Fields, at: &TokenStream) -> Generics {
    let mut generics = generics.clone();
    if !generics.params.is_empty() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates
            .push(parse_quote!(Self: ::core::marker::Copy + ::core::marker::Send + ::core::marker::Sync + 'static));
        predicates.extend(fields.iter().map(|field| -> syn::WherePredicate {
            let kind = &field.ty;
            parse_quote!(#kind: #at::Plain)
        }));
    }
    generics
}

fn of_struct(input: &DeriveInput, fields: &Fields, at: &TokenStream) -> TokenStream {
    let (types, members) = (fields.iter().map(|field| &field.ty).collect::<Vec<_>>(), fields.members());
    let message = format!("`{}` is not plain: there is padding between its fields, or after them", input.ident);
    quote! {
        const ANY_BYTES: ::core::primitive::bool = {
            ::core::assert!(
                ::core::mem::size_of::<Self>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                #message,
            );
            true #(& <#types as #at::Plain>::ANY_BYTES)*
        };

        fn is_valid(bytes: &[::core::primitive::u8]) -> ::core::primitive::bool {
            <[::core::primitive::u8]>::len(bytes) == ::core::mem::size_of::<Self>()
                #(&& #at::derived::is_valid_field::<#types>(bytes, ::core::mem::offset_of!(Self, #members)))*
        }
    }
}

fn describe_struct(input: &DeriveInput, fields: &Fields, at: &TokenStream) -> TokenStream {
    let (types, members) = (fields.iter().map(|field| &field.ty).collect::<Vec<_>>(), fields.members());
    let describe = match input.generics.params.is_empty() {
        true => quote!(describe_field),
        false => quote!(describe_parameter),
    };
    quote! {
        #at::derived::describe_order(
            &[#((::core::mem::offset_of!(Self, #members), ::core::mem::size_of::<#types>())),*],
            out,
        );
        #(#at::derived::#describe::<#types>(out);)*
    }
}

fn of_enum(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(variant, "an enum is plain only if its variants have no fields"));
    }
    let Some(number) = number(&input.attrs)? else {
        let message = "an enum is plain only with `#[repr(u8)]`, or another integer: otherwise its size is not fixed";
        return Err(Error::new(input.ident.span(), message));
    };
    let variants = data.variants.iter().map(|variant| &variant.ident);
    let message = format!("`{}` is not plain: there is padding after its number", input.ident);
    Ok(quote! {
        const ANY_BYTES: ::core::primitive::bool = {
            ::core::assert!(
                ::core::mem::size_of::<Self>() == ::core::mem::size_of::<::core::primitive::#number>(),
                #message,
            );
            false
        };

        fn is_valid(bytes: &[::core::primitive::u8]) -> ::core::primitive::bool {
            let ::core::result::Result::Ok(bytes) = ::core::convert::TryFrom::try_from(bytes) else { return false };
            let number = ::core::primitive::#number::from_ne_bytes(bytes);
            false #(|| number == Self::#variants as ::core::primitive::#number)*
        }
    })
}

/// Returns the integer type of an enum, if its `repr` names one.
pub(crate) fn number(attributes: &[Attribute]) -> Result<Option<Ident>> {
    const INTEGERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
    let mut number = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if let Some(name) = meta.path.get_ident().filter(|name| INTEGERS.iter().any(|known| *name == known)) {
                number = Some(name.clone());
            }
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(number)
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let mut at = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("plain")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a plain type has `crate = \"path\"`"));
            }
            let path: LitStr = meta.value()?.parse()?;
            at = Some(path.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    implement(input, &at.unwrap_or_else(|| quote!(::phalanx)))
}
