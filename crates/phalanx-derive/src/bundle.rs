//! `derive(Bundle)`: each field is a bundle.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, LitStr, Member, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let at = path(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(input.ident.span(), "only structs can be bundles: each field is one"));
    };
    let members: Vec<Member> = data.fields.members().collect();
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let names: Vec<_> = (0..members.len()).map(|n| format_ident!("field_{n}")).collect();
    // Errors about a field that is not a bundle point at its type.
    let of = |item: &str| -> Vec<TokenStream> {
        let item = format_ident!("{item}");
        types.iter().map(|ty| quote_spanned!(ty.span()=> <#ty as #at::Bundle>::#item)).collect()
    };
    let [lens, sides, ids, known, writes, placed, leave, take] =
        ["LEN", "SPARSE", "ids", "known_ids", "write", "placed", "leave", "take"].map(of);
    let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: each field handles its own components, at the places after those of the fields before it.
        #[automatically_derived]
        #[allow(unsafe_code, unused_variables, unused_mut, unused_assignments, clippy::undocumented_unsafe_blocks)]
        unsafe impl #generics #at::Bundle for #name #arguments #bounds {
            const LEN: ::core::primitive::usize = 0 #(+ #lens)*;
            const SPARSE: ::core::primitive::usize = 0 #(+ #sides)*;

            fn ids(
                components: &mut #at::Components,
                ids: &mut ::std::vec::Vec<#at::ComponentId>,
            ) -> ::core::result::Result<(), #at::store::AllocError> {
                #(#ids(components, ids)?;)*
                ::core::result::Result::Ok(())
            }

            fn known_ids(components: &#at::Components, ids: &mut ::std::vec::Vec<#at::ComponentId>) {
                #(#known(components, ids);)*
            }

            #[inline(always)]
            unsafe fn write(self, mut place: #at::BundlePtr) {
                let #name { #(#members: #names),* } = self;
                #(
                    // SAFETY: the caller's promise, for each field in turn: its places come after those of the fields
                    // before. Its values are dropped if a later one panics.
                    let #names = unsafe {
                        #writes(#names, place);
                        #placed(place)
                    };
                    // SAFETY: the place is one for the fields that follow.
                    place = unsafe { #at::BundlePtr::skip(place, #lens) };
                )*
                #(#leave(#names);)*
            }

            #[inline(always)]
            unsafe fn read(mut place: #at::BundlePtr) -> Self {
                #(
                    // SAFETY: the caller's promise, for each field in turn: its places come after those of the fields
                    // before. Its values are dropped if one before panics.
                    let #names = unsafe { #placed(place) };
                    // SAFETY: the place is one for the fields that follow.
                    place = unsafe { #at::BundlePtr::skip(place, #lens) };
                )*
                #(let #names = #take(#names);)*
                #name { #(#members: #names),* }
            }
        }
    })
}

/// Where the crate is: what `#[bundle(crate = "…")]` says, or `::phalanx`.
fn path(input: &DeriveInput) -> Result<TokenStream> {
    let mut at = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("bundle")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a bundle has `crate = \"path\"`"));
            }
            let value: LitStr = meta.value()?.parse()?;
            at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    Ok(at.unwrap_or_else(|| quote!(::phalanx)))
}
