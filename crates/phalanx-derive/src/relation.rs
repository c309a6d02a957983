//! `derive(Relation)`: a type of links between entities.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Error, LitStr, Path, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (mut at, mut kind, mut on_despawn, mut clones) = (None, None, None, None);
    let (mut is_tree, mut many) = (false, None);
    let mut refuses = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("relation")) {
        attribute.parse_nested_meta(|meta| {
            let named = match () {
                () if meta.path.is_ident("tree") => Some(quote!(Tree)),
                () if meta.path.is_ident("one_to_one") => Some(quote!(OneToOne)),
                () if meta.path.is_ident("one_to_many") => Some(quote!(OneToMany)),
                () => None,
            };
            if meta.path.is_ident("many_to_many") || meta.path.is_ident("symmetric") {
                many = Some(meta.path.is_ident("symmetric"));
            } else if let Some(named) = named {
                is_tree = meta.path.is_ident("tree");
                if kind.replace(named).is_some() {
                    return Err(meta.error("a relation has one kind"));
                }
            } else if meta.path.is_ident("on_despawn") {
                let value: LitStr = meta.value()?.parse()?;
                refuses = value.value() == "refuse";
                let policy = match &*value.value() {
                    "despawn" => quote!(Despawn),
                    "unlink" => quote!(Unlink),
                    "reparent" => quote!(Reparent),
                    "refuse" => quote!(Refuse),
                    _ => {
                        let message = "`on_despawn` is \"despawn\", \"unlink\", \"reparent\" or \"refuse\"";
                        return Err(Error::new(value.span(), message));
                    }
                };
                on_despawn = Some(policy);
            } else if meta.path.is_ident("no_clone") {
                clones = Some(quote!(
                    const CLONES: ::core::primitive::bool = false;
                ));
            } else if meta.path.is_ident("crate") {
                let value: LitStr = meta.value()?.parse()?;
                at = Some(value.parse_with(Path::parse_mod_style)?.into_token_stream());
            } else {
                let message = "unknown option: a relation has `tree`, `one_to_one`, `one_to_many`, `many_to_many`, \
                               `symmetric`, `on_despawn`, `no_clone` and `crate`";
                return Err(meta.error(message));
            }
            Ok(())
        })?;
    }
    let has_data = match &input.data {
        Data::Struct(data) => !data.fields.is_empty(),
        Data::Enum(data) => !data.variants.is_empty(),
        Data::Union(_) => true,
    };
    let at = at.unwrap_or_else(|| quote!(::phalanx));
    if let Some(is_symmetric) = many {
        if kind.is_some() || clones.is_some() {
            let message = "a relation of many to many has no other kind, and no `no_clone`";
            return Err(Error::new_spanned(&input.ident, message));
        }
        if on_despawn.is_some() && !refuses {
            let message = "links of many to many are despawned with their ends: `on_despawn` can only be \"refuse\"";
            return Err(Error::new_spanned(&input.ident, message));
        }
        let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
        let (generics, arguments, bounds) = generics.split_for_impl();
        return Ok(quote! {
            #[automatically_derived]
            impl #generics #at::relation::ManyToMany for #name #arguments #bounds {
                const SYMMETRIC: ::core::primitive::bool = #is_symmetric;
                const REFUSES: ::core::primitive::bool = #refuses;
            }
        });
    }
    if has_data {
        let message = "a relation with one target for each source has no data: give the source a component, or use `many_to_many`";
        return Err(Error::new_spanned(&input.ident, message));
    }
    let kind = kind.unwrap_or_else(|| quote!(OneToMany));
    let on_despawn = on_despawn
        .map(|policy| quote!(const ON_DESPAWN: #at::relation::OnDespawn = #at::relation::OnDespawn::#policy;));
    let (name, generics) = (&input.ident, crate::attributes::component_generics(&input.generics));
    let (generics, arguments, bounds) = generics.split_for_impl();
    let tree = is_tree.then(|| {
        quote! {
            #[automatically_derived]
            impl #generics #at::relation::TreeRelation for #name #arguments #bounds {}
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #generics #at::Relation for #name #arguments #bounds {
            const KIND: #at::relation::RelationKind = #at::relation::RelationKind::#kind;
            #on_despawn
            #clones
        }
        #tree
    })
}
