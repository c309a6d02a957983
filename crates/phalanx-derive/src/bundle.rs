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
    let [lens, sparse, optionals, requires] = ["LEN", "SPARSE", "OPTIONAL", "REQUIRES"].map(of);
    let [ids, known, optional, present, add, writes, guard, release, read] =
        ["ids", "known_ids", "optional", "present", "add_to", "write", "guard", "release_guard", "read_guard"].map(of);
    let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: each field handles its own components. Their columns follow those of the fields before it.
        #[automatically_derived]
        #[allow(unsafe_code, unused_variables, unused_mut, unused_assignments, clippy::undocumented_unsafe_blocks)]
        unsafe impl #generics #at::Bundle for #name #arguments #bounds {
            const LEN: ::core::primitive::usize = 0 #(+ #lens)*;
            const SPARSE: ::core::primitive::usize = 0 #(+ #sparse)*;
            const OPTIONAL: ::core::primitive::usize = 0 #(+ #optionals)*;
            const REQUIRES: ::core::primitive::bool = false #(|| #requires)*;

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

            fn optional(mut first: ::core::primitive::usize, each: &mut dyn ::core::ops::FnMut(::core::primitive::usize)) {
                #(
                    #optional(first, each);
                    first += #lens;
                )*
            }

            #[inline(always)]
            fn present(&self) -> ::core::primitive::u64 {
                let (mut bits, mut shift) = (0, 0);
                #(
                    if #optionals > 0 {
                        bits |= #present(&self.#members) << shift;
                        shift += #optionals;
                    }
                )*
                bits
            }

            #[inline(always)]
            fn add_to<Add: #at::derived::AddComponent>(self, to: &mut Add) {
                let #name { #(#members: #names),* } = self;
                #(#add(#names, to);)*
            }

            #[inline(always)]
            unsafe fn write(self, mut ptr: #at::derived::BundlePtr) {
                let #name { #(#members: #names),* } = self;
                #(
                    // SAFETY: the pointer is valid for this field and those that follow, and no values are there, by the
                    // caller's contract. The guard drops the written values if a later field panics.
                    let #names = unsafe {
                        #writes(#names, ptr);
                        #guard(ptr)
                    };
                    ptr = #at::derived::BundlePtr::skip(ptr, #lens);
                )*
                #(#release(#names);)*
            }

            #[inline(always)]
            unsafe fn read(mut ptr: #at::derived::BundlePtr) -> Self {
                #(
                    // SAFETY: the pointer is valid for this field and those that follow, and their values are initialised,
                    // by the caller's contract. The guard drops them if a field before it panics.
                    let #names = unsafe { #guard(ptr) };
                    ptr = #at::derived::BundlePtr::skip(ptr, #lens);
                )*
                #(let #names = #read(#names);)*
                #name { #(#members: #names),* }
            }
        }
    })
}

/// Returns the path of the crate: that of `#[bundle(crate = "…")]`, or `::phalanx`.
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
