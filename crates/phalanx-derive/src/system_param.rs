//! `derive(SystemParam)`: each field is a parameter of a system.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, GenericParam, Lifetime, LitStr, Member, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let at = path(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(input.ident.span(), "only structs can be parameters: each field is one"));
    };
    let members: Vec<Member> = data.fields.members().collect();
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    // Pairs within pairs, so that there is no largest number of fields.
    let nested = |items: &[TokenStream]| items.iter().rev().fold(quote!(()), |rest, item| quote!((#item, #rest)));
    let tuple = nested(&types.iter().map(ToTokens::to_token_stream).collect::<Vec<_>>());
    let names: Vec<_> = (0..members.len()).map(|n| quote::format_ident!("field_{n}").to_token_stream()).collect();
    let pattern = nested(&names);
    let item = item_arguments(input)?;
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        // SAFETY: each field declares what it touches.
        #[automatically_derived]
        #[allow(unsafe_code, clippy::undocumented_unsafe_blocks)]
        unsafe impl #generics #at::system::SystemParam for #name #arguments #bounds {
            type State = <#tuple as #at::system::SystemParam>::State;
            type Item<'__w, '__s> = #name #item;

            fn init(world: &mut #at::World, setup: &mut #at::system::ParamSetup<'_>) -> Self::State {
                <#tuple as #at::system::SystemParam>::init(world, setup)
            }

            fn update(state: &mut Self::State, world: &mut #at::World) {
                <#tuple as #at::system::SystemParam>::update(state, world);
            }

            #[inline(always)]
            unsafe fn get<'__w, '__s>(
                state: &'__s mut Self::State,
                world: &'__w #at::World,
                context: &#at::system::RunContext<'__w>,
            ) -> Self::Item<'__w, '__s> {
                // SAFETY: the contract is that of the tuple of all fields.
                let #pattern = unsafe { <#tuple as #at::system::SystemParam>::get(state, world, context) };
                #name { #(#members: #names),* }
            }

            fn apply(state: &mut Self::State, world: &mut #at::World, outcome: &mut #at::system::Outcome) {
                <#tuple as #at::system::SystemParam>::apply(state, world, outcome);
            }

            fn discard(state: &mut Self::State, world: &mut #at::World) {
                <#tuple as #at::system::SystemParam>::discard(state, world);
            }
        }
    })
}

/// Returns the arguments of the struct with other names for the lifetimes `'w` and `'s`.
fn item_arguments(input: &DeriveInput) -> Result<TokenStream> {
    let mut arguments = Vec::new();
    for parameter in &input.generics.params {
        arguments.push(match parameter {
            GenericParam::Lifetime(lifetime) => match lifetime.lifetime.ident.to_string().as_str() {
                "w" => quote!('__w),
                "s" => quote!('__s),
                _ => return Err(unknown(&lifetime.lifetime)),
            },
            GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
            GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
        });
    }
    Ok(if arguments.is_empty() { TokenStream::new() } else { quote!(<#(#arguments),*>) })
}

fn unknown(lifetime: &Lifetime) -> syn::Error {
    let message = "the lifetimes of a parameter are `'w`, of the world, and `'s`, of the system's state";
    syn::Error::new(lifetime.span(), message)
}

/// Returns the path of the crate: that of `#[system_param(crate = "…")]`, or `::phalanx`.
fn path(input: &DeriveInput) -> Result<TokenStream> {
    let mut at = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("system_param")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a parameter has `crate = \"path\"`"));
            }
            let value: LitStr = meta.value()?.parse()?;
            at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
            Ok(())
        })?;
    }
    Ok(at.unwrap_or_else(|| quote!(::phalanx)))
}
