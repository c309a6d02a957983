//! The structs that `derive(Soa)` generates: the fields as references, slices and columns.

use crate::attributes;
use crate::row::{Field, Row};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{GenericParam, Lifetime, LifetimeParam, Type};

/// One of the generated structs.
pub(crate) struct Kind {
    /// The suffix of the name. The alias or associated type in the store has the same name.
    pub(crate) suffix: &'static str,
    /// Returns the type of a field of type `V`.
    field: fn(&TokenStream, &Lifetime, &Type) -> TokenStream,
    about: &'static str,
    traits: &'static [Trait],
}

#[derive(Clone, Copy, PartialEq)]
enum Trait {
    Copy,
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
}

pub(crate) const KINDS: [Kind; 5] = [
    Kind {
        suffix: "Ref",
        field: |_, a, ty| quote!(&#a #ty),
        about: "A row of [`{}`], borrowed: a reference per field.",
        traits: &[Trait::Copy, Trait::Debug, Trait::PartialEq, Trait::Eq, Trait::PartialOrd, Trait::Ord, Trait::Hash],
    },
    Kind {
        suffix: "Mut",
        field: |_, a, ty| quote!(&#a mut #ty),
        about: "A row of [`{}`], mutably borrowed: a mutable reference per field.",
        traits: &[Trait::Debug],
    },
    Kind {
        suffix: "Lanes",
        field: |_, a, ty| quote!(&#a [#ty]),
        about: "Rows of [`{}`], borrowed: a slice per field.",
        traits: &[Trait::Copy, Trait::Debug, Trait::PartialEq, Trait::Eq],
    },
    Kind {
        suffix: "LanesMut",
        field: |_, a, ty| quote!(&#a mut [#ty]),
        about: "Rows of [`{}`], mutably borrowed: a mutable slice per field.",
        traits: &[Trait::Debug],
    },
    Kind {
        suffix: "Columns",
        field: |store, _, ty| quote!(#store::soa::private::Vec<#ty>),
        about: "Columns of [`{}`]: a `Vec` per field, all of one length.",
        traits: &[Trait::Clone, Trait::Debug, Trait::PartialEq, Trait::Eq, Trait::Default],
    },
];

/// Returns all generated structs, with their traits.
pub(crate) fn print(row: &Row) -> TokenStream {
    let structs = KINDS.iter().map(|kind| kind.print(row));
    let views = row.views();
    quote!(#(#structs)* #views)
}

impl Row {
    /// Returns the implementation of `Views`.
    fn views(&self) -> TokenStream {
        let Row { name, store, lifetime: a, .. } = self;
        let with_a = self.generics_with_lifetime();
        let (impl_generics, view_generics, where_clause) = with_a.split_for_impl();
        let (_, ty_generics, _) = self.generics.split_for_impl();
        let types = KINDS[..4].iter().map(|kind| {
            let (alias, view) = (Ident::new(kind.suffix, Span::call_site()), format_ident!("{name}{}", kind.suffix));
            quote!(type #alias = #view #view_generics;)
        });
        quote! {
            #[automatically_derived]
            impl #impl_generics #store::soa::Views<#a> for #name #ty_generics #where_clause {
                #(#types)*
            }
        }
    }

    /// Returns the generics of the struct, after the lifetime of the views.
    fn generics_with_lifetime(&self) -> syn::Generics {
        let mut generics = self.generics.clone();
        generics.params.insert(0, GenericParam::Lifetime(LifetimeParam::new(self.lifetime.clone())));
        generics
    }
}

impl Kind {
    fn is_view(&self) -> bool {
        self.suffix != "Columns"
    }

    /// Returns the type of a field.
    fn field(&self, row: &Row, field: &Field) -> TokenStream {
        let (Row { store, lifetime: a, .. }, ty) = (row, &field.ty);
        let alias = Ident::new(self.suffix, Span::call_site());
        match (field.nested, self.is_view()) {
            (true, true) => quote!(#store::soa::#alias<#a, #ty>),
            (true, false) => quote!(<#ty as #store::soa::SoaRow>::#alias),
            (false, _) => (self.field)(store, a, ty),
        }
    }

    fn print(&self, row: &Row) -> TokenStream {
        let (vis, name) = (&row.vis, format_ident!("{}{}", row.name, self.suffix));
        let generics = if self.is_view() { row.generics_with_lifetime() } else { row.generics.clone() };
        let where_clause = &generics.where_clause;
        let about = self.about.replace("{}", &row.name.to_string());
        let fields = row.fields.iter().map(|field| {
            let (docs, vis, ty) = (&field.docs, &field.vis, self.field(row, field));
            let docs = if docs.is_empty() { quote!(#[allow(missing_docs)]) } else { quote!(#(#docs)*) };
            match &field.member {
                syn::Member::Named(name) => quote!(#docs #vis #name: #ty),
                syn::Member::Unnamed(_) => quote!(#docs #vis #ty),
            }
        });
        let a = &row.lifetime;
        let body = match (row.is_tuple, row.fields.is_empty() && self.is_view()) {
            (true, _) => quote!((#(#fields),*) #where_clause;),
            (false, true) => {
                quote!(#where_clause { #[doc(hidden)] #vis rows: ::core::marker::PhantomData<&#a ()> })
            }
            (false, false) => quote!(#where_clause { #(#fields),* }),
        };
        let traits = self.traits.iter().map(|item| self.implementation(*item, row, &name, &generics));
        quote! {
            #[doc = #about]
            #[allow(dead_code)]
            #vis struct #name #generics #body
            #(#traits)*
        }
    }

    /// Returns the implementation of a trait, if all fields have it. The bounds are on the types of the fields. `for<'all>`
    /// keeps bounds that do not hold from being errors.
    fn implementation(&self, item: Trait, row: &Row, name: &Ident, generics: &syn::Generics) -> TokenStream {
        let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
        let types = row.fields.iter().map(|field| self.field(row, field));
        let bounded = |path: TokenStream| {
            let given = where_clause.map(|clause| clause.predicates.iter()).into_iter().flatten();
            quote!(where #(#given,)* #(for<'all> #types: #path,)*)
        };
        let members = row.fields.iter().map(|field| &field.member).collect::<Vec<_>>();
        let empty = (members.is_empty() && self.is_view()).then(|| quote!(rows: ::core::marker::PhantomData));
        let (path, bounds, body) = match item {
            Trait::Copy => {
                let clone = quote! {
                    #[automatically_derived]
                    impl #impl_generics ::core::clone::Clone for #name #ty_generics #where_clause {
                        #[inline(always)]
                        fn clone(&self) -> Self {
                            *self
                        }
                    }
                };
                return quote! {
                    #clone
                    #[automatically_derived]
                    impl #impl_generics ::core::marker::Copy for #name #ty_generics #where_clause {}
                };
            }
            Trait::Clone => {
                let path = quote!(::core::clone::Clone);
                let bounds = bounded(path.clone());
                let body = quote! {
                    fn clone(&self) -> Self {
                        Self { #(#members: ::core::clone::Clone::clone(&self.#members),)* #empty }
                    }
                };
                (path, bounds, body)
            }
            Trait::Default => {
                // Empty columns need nothing of their elements.
                let body = quote! {
                    fn default() -> Self {
                        Self { #(#members: ::core::default::Default::default(),)* #empty }
                    }
                };
                (quote!(::core::default::Default), bounded(quote!(::core::default::Default)), body)
            }
            Trait::Debug => {
                let text = row.name.to_string();
                let body = attributes::debug(&text, &members);
                (quote!(::core::fmt::Debug), bounded(quote!(::core::fmt::Debug)), body)
            }
            Trait::PartialEq => {
                let body = quote! {
                    fn eq(&self, other: &Self) -> ::core::primitive::bool {
                        let _ = other;
                        true #(&& ::core::cmp::PartialEq::eq(&self.#members, &other.#members))*
                    }
                };
                (quote!(::core::cmp::PartialEq), bounded(quote!(::core::cmp::PartialEq)), body)
            }
            Trait::Eq => (quote!(::core::cmp::Eq), bounded(quote!(::core::cmp::Eq)), TokenStream::new()),
            // Field by field, in their order, as the derives of these traits do it.
            Trait::PartialOrd => {
                let body = quote! {
                    fn partial_cmp(&self, other: &Self) -> ::core::option::Option<::core::cmp::Ordering> {
                        let _ = other;
                        #(
                            let order = ::core::cmp::PartialOrd::partial_cmp(&self.#members, &other.#members);
                            if !::core::matches!(order, ::core::option::Option::Some(::core::cmp::Ordering::Equal)) {
                                return order;
                            }
                        )*
                        ::core::option::Option::Some(::core::cmp::Ordering::Equal)
                    }
                };
                (quote!(::core::cmp::PartialOrd), bounded(quote!(::core::cmp::PartialOrd)), body)
            }
            Trait::Ord => {
                let body = quote! {
                    fn cmp(&self, other: &Self) -> ::core::cmp::Ordering {
                        let _ = other;
                        #(
                            let order = ::core::cmp::Ord::cmp(&self.#members, &other.#members);
                            if !::core::matches!(order, ::core::cmp::Ordering::Equal) {
                                return order;
                            }
                        )*
                        ::core::cmp::Ordering::Equal
                    }
                };
                (quote!(::core::cmp::Ord), bounded(quote!(::core::cmp::Ord)), body)
            }
            Trait::Hash => {
                let body = quote! {
                    fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                        let _ = &state;
                        #(::core::hash::Hash::hash(&self.#members, state);)*
                    }
                };
                (quote!(::core::hash::Hash), bounded(quote!(::core::hash::Hash)), body)
            }
        };
        quote! {
            #[automatically_derived]
            impl #impl_generics #path for #name #ty_generics #bounds {
                #body
            }
        }
    }
}
