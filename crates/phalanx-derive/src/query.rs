//! `derive(QueryData)`: query data whose terms have names.
//!
//! The implementation delegates to a tuple of the fields, nested so that any number fits, and gives its items names. For an enum
//! it delegates to alternatives, one for each variant.

use crate::attributes;
use proc_macro2::{Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Generics, Index, Lifetime, LitStr, Member,
    Path, Result, Visibility,
};

/// A field of a query.
struct Term {
    member: Member,
    /// The variable that the field is bound to.
    binding: Ident,
    vis: Visibility,
    /// The type as it is written.
    own: TokenStream,
    /// The type, with lifetimes of the struct made `'static`.
    ty: TokenStream,
    span: Span,
    docs: Vec<Attribute>,
}

/// The terms of a struct, or of a variant of an enum.
struct Variant {
    /// The name of the variant, and its documentation.
    of_enum: Option<(Ident, Vec<Attribute>)>,
    is_tuple: bool,
    terms: Vec<Term>,
}

impl Variant {
    /// Returns the path of the struct or variant, in the type `name`.
    fn path(&self, name: &Ident) -> TokenStream {
        match &self.of_enum {
            Some((variant, _)) => quote!(#name::#variant),
            None => quote!(#name),
        }
    }

    /// Returns the fields with their variables, as a pattern or an expression of the type `name`.
    fn literal(&self, name: &Ident) -> TokenStream {
        let path = self.path(name);
        let fields = self.terms.iter().map(|Term { member, binding, .. }| quote!(#member: #binding));
        quote!(#path { #(#fields),* })
    }

    /// Returns the terms as a nested tuple.
    fn nested(&self) -> TokenStream {
        self.terms.iter().rev().fold(quote!(()), |rest, Term { ty, .. }| quote!((#ty, #rest)))
    }

    /// Returns the variables of the terms as a nested tuple.
    fn pattern(&self) -> TokenStream {
        self.terms.iter().rev().fold(quote!(()), |rest, Term { binding, .. }| quote!((#binding, #rest)))
    }
}

/// Returns all variants as one term: alternatives, of which the first that matches is taken.
fn alternatives(variants: &[Variant], at: &TokenStream) -> TokenStream {
    let (last, others) = variants.split_last().expect("a query has a variant");
    others.iter().rev().fold(last.nested(), |rest, variant| {
        let nested = variant.nested();
        quote!(#at::query::FirstOf<#nested, #rest>)
    })
}

/// Returns an expression that gives names to what the term of all variants yields.
fn named(variants: &[Variant], name: &Ident, at: &TokenStream, yielded: &TokenStream) -> TokenStream {
    let last = variants.len() - 1;
    let arms = variants.iter().enumerate().map(|(number, variant)| {
        let (pattern, literal) = (variant.pattern(), variant.literal(name));
        let first = if number < last { quote!(#at::query::Either::First(#pattern)) } else { pattern };
        let whole = (0..number).fold(first, |inner, _| quote!(#at::query::Either::Second(#inner)));
        quote!(#whole => #literal)
    });
    quote!(match #yielded { #(#arms,)* })
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let variants = variants(input)?;
    let at = crate_path(&input.attrs)?;
    let (name, vis) = (&input.ident, &input.vis);
    let (item, chunk) = (format_ident!("{name}Item"), format_ident!("{name}Chunk"));

    // Lifetimes of query data have no meaning: the states, fetches and items are those of the form with `'static`.
    let mut own = input.generics.clone();
    // The states are generic over the type parameters, and they are `'static`.
    for parameter in input.generics.type_params() {
        let ident = &parameter.ident;
        // Where the other bounds are: clippy warns of bounds in two places.
        if parameter.bounds.is_empty() {
            own.make_where_clause().predicates.push(syn::parse_quote!(#ident: 'static));
        }
    }
    for parameter in own.type_params_mut().filter(|parameter| !parameter.bounds.is_empty()) {
        parameter.bounds.push(syn::parse_quote!('static));
    }
    // Further bounds are printed after those of the struct.
    own.where_clause = own.where_clause.filter(|bounds| !bounds.predicates.is_empty());
    if let Some(bounds) = &mut own.where_clause
        && !bounds.predicates.trailing_punct()
    {
        bounds.predicates.push_punct(Default::default());
    }
    let mut generics = own.clone();
    generics.params =
        generics.params.into_iter().filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_))).collect();
    let statics = input.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote!('static),
        GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
        GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
    });
    let static_query = quote!(#name<#(#statics),*>);
    let (own_generics, own_arguments, own_bounds) = own.split_for_impl();
    let query = quote!(#name #own_arguments);
    let (_, arguments, bounds) = generics.split_for_impl();
    let bounds = bounds.map(|bounds| with_static(bounds.to_token_stream(), &input.generics));

    let w = Lifetime::new("'w", Span::mixed_site());
    let mut borrowed = generics.clone();
    borrowed.params.insert(0, syn::parse_quote!(#w));
    let (_, borrowed_arguments, _) = borrowed.split_for_impl();

    let nested = alternatives(&variants, &at);
    let yielded = Ident::new("yielded", Span::mixed_site()).into_token_stream();
    let named_item = named(&variants, &item, &at, &yielded);
    let named_chunk = named(&variants, &chunk, &at, &yielded);

    let item_struct = Printed { name: &item, kind: "Item", about: format!("What [`{name}`] yields for a row.") };
    let chunk_struct = Printed { name: &chunk, kind: "Chunk", about: format!("What [`{name}`] yields for a table.") };
    let structs = [item_struct, chunk_struct].map(|printed| printed.print(vis, &variants, &borrowed, &bounds, &at, &w));
    // The fields exist for their types only, and values are never made. This keeps the compiler from warning of it.
    let uses = variants.iter().enumerate().map(|(number, variant)| {
        let (function, literal) = (format_ident!("terms_{number}"), variant.literal(name));
        let (bindings, types): (Vec<_>, Vec<_>) = variant.terms.iter().map(|term| (&term.binding, &term.own)).unzip();
        quote! {
            #[allow(unreachable_patterns, clippy::too_many_arguments)]
            fn #function #own_generics (#(#bindings: #types),*) -> #query #own_bounds {
                let query = #literal;
                match &query {
                    #literal => { #(let _ = #bindings;)* }
                    _ => {}
                }
                query
            }
        }
    });
    let hidden = hidden(&nested, &generics, &bounds, &at);
    // `for<'all>` keeps a bound that does not hold from being an error by itself.
    let bounded = |path: TokenStream| match &own_bounds {
        Some(bounds) => quote!(#bounds for<'all> #nested: #path),
        None => quote!(where for<'all> #nested: #path),
    };
    let (read_only, chunked) =
        (bounded(quote!(#at::query::ReadOnlyQueryData)), bounded(quote!(#at::query::ChunkQueryData)));

    Ok(quote! {
        #(#structs)*

        #[allow(dead_code)]
        const _: () = {
            #hidden

            // SAFETY: everything is left to a tuple of the terms, or to alternatives of them, whose items are given names.
            #[automatically_derived]
            #[allow(unsafe_code)]
            unsafe impl #own_generics #at::QueryData for #query #own_bounds {
                type Static = #static_query;
                type Item<#w> = #item #borrowed_arguments;
                type Chunk<#w> = #chunk #borrowed_arguments;
                type State = __QueryState #arguments;
                type Fetch = __QueryFetch #arguments;
                type View = __QueryView #arguments;
                const IS_DENSE: ::core::primitive::bool = <#nested as #at::QueryData>::IS_DENSE;
                const NEEDS_LOCATION: ::core::primitive::bool = <#nested as #at::QueryData>::NEEDS_LOCATION;
                const TRACKS_CHANGES: ::core::primitive::bool = <#nested as #at::QueryData>::TRACKS_CHANGES;

                fn state(components: &#at::Components) -> Self::State {
                    __QueryState(<#nested as #at::QueryData>::state(components))
                }

                fn access(access: &mut #at::query::Access) {
                    <#nested as #at::QueryData>::access(access);
                }

                unsafe fn conditions(rows: &mut #at::query::RowConditions) {
                    // SAFETY: the caller's contract, which is that of the terms.
                    unsafe { <#nested as #at::QueryData>::conditions(rows) };
                }

                fn matches(state: &Self::State, signature: &#at::Signature) -> ::core::primitive::bool {
                    <#nested as #at::QueryData>::matches(&state.0, signature)
                }

                fn visits_extra_rows(state: &Self::State) -> ::core::primitive::bool {
                    <#nested as #at::QueryData>::visits_extra_rows(&state.0)
                }

                fn required(
                    state: &Self::State,
                    each: &mut dyn ::core::ops::FnMut(#at::ComponentId, #at::layout::Kind),
                ) {
                    <#nested as #at::QueryData>::required(&state.0, each);
                }

                fn set_ticks(state: &mut Self::State, ticks: #at::layout::RunTicks) {
                    <#nested as #at::QueryData>::set_ticks(&mut state.0, ticks);
                }

                fn column_matches(state: &Self::State, table: #at::query::TableRef<'_>) -> ::core::primitive::bool {
                    <#nested as #at::QueryData>::column_matches(&state.0, table)
                }

                fn set_column_ticks(
                    state: &Self::State,
                    world: &#at::World,
                    table: ::core::option::Option<::core::primitive::u32>,
                ) {
                    <#nested as #at::QueryData>::set_column_ticks(&state.0, world, table);
                }

                fn excluded(state: &Self::State, each: &mut dyn ::core::ops::FnMut(#at::ComponentId)) {
                    <#nested as #at::QueryData>::excluded(&state.0, each);
                }

                fn mismatch(
                    state: &Self::State,
                    row: &#at::query::Candidate<'_>,
                ) -> ::core::option::Option<#at::query::Mismatch> {
                    <#nested as #at::QueryData>::mismatch(&state.0, row)
                }

                fn sides(
                    state: &Self::State,
                    each: &mut dyn ::core::ops::FnMut(#at::ComponentId),
                ) -> ::core::primitive::bool {
                    <#nested as #at::QueryData>::sides(&state.0, each)
                }

                unsafe fn fetch_rows(
                    state: &Self::State,
                    at: #at::query::TableRef<'_>,
                    row: ::core::option::Option<#at::query::VisitedRow>,
                ) -> ::core::option::Option<Self::Fetch> {
                    // SAFETY: the caller's contract, which is that of the terms.
                    ::core::option::Option::map(unsafe { <#nested as #at::QueryData>::fetch_rows(&state.0, at, row) }, __QueryFetch)
                }

                unsafe fn fetch_aligned(
                    state: &Self::State,
                    stores: &#at::query::AlignedStores<'_>,
                ) -> ::core::option::Option<Self::Fetch> {
                    // SAFETY: the caller's contract, which is that of the terms.
                    ::core::option::Option::map(unsafe { <#nested as #at::QueryData>::fetch_aligned(&state.0, stores) }, __QueryFetch)
                }

                #[inline(always)]
                unsafe fn view(
                    state: &Self::State,
                    world: &#at::World,
                    driver: ::core::option::Option<#at::ComponentId>,
                ) -> Self::View {
                    // SAFETY: the caller's contract, which is that of the terms.
                    __QueryView(unsafe { <#nested as #at::QueryData>::view(&state.0, world, driver) })
                }

                #[inline(always)]
                fn settle(view: Self::View, table: ::core::primitive::u32) -> Self::View {
                    __QueryView(<#nested as #at::QueryData>::settle(view.0, table))
                }

                #[inline(always)]
                fn matches_row(state: &Self::State, view: Self::View, row: #at::query::VisitedRow) -> ::core::primitive::bool {
                    <#nested as #at::QueryData>::matches_row(&state.0, view.0, row)
                }

                #[inline(always)]
                fn at<#w>(
                    state: &Self::State,
                    view: Self::View,
                    row: #at::query::ItemRef<#w>,
                ) -> ::core::option::Option<Self::Item<#w>> {
                    let #yielded = <#nested as #at::QueryData>::at(&state.0, view.0, row)?;
                    ::core::option::Option::Some(#named_item)
                }

                fn watch(watched: &mut #at::query::Watched) {
                    <#nested as #at::QueryData>::watch(watched);
                }

                unsafe fn past<#w>(
                    state: &Self::State,
                    row: #at::query::PastRow<#w>,
                ) -> ::core::option::Option<Self::Item<#w>> {
                    // SAFETY: the caller's contract, which is that of the terms.
                    let #yielded = unsafe { <#nested as #at::QueryData>::past(&state.0, row) }?;
                    ::core::option::Option::Some(#named_item)
                }

                #[inline(always)]
                fn prefetch(view: Self::View, row: #at::query::VisitedRow) {
                    <#nested as #at::QueryData>::prefetch(view.0, row);
                }

                #[inline]
                unsafe fn fetch(state: &Self::State, world: &#at::World, table: ::core::primitive::u32) -> Self::Fetch {
                    // SAFETY: the caller's contract, which is that of the terms.
                    __QueryFetch(unsafe { <#nested as #at::QueryData>::fetch(&state.0, world, table) })
                }

                #[inline(always)]
                fn row<#w>(fetch: Self::Fetch, row: #at::query::ItemRow<#w>) -> Self::Item<#w> {
                    let #yielded = <#nested as #at::QueryData>::row(fetch.0, row);
                    #named_item
                }

                #[inline(always)]
                fn chunk<#w>(fetch: Self::Fetch, rows: #at::query::ItemRows<#w>) -> Self::Chunk<#w> {
                    let #yielded = <#nested as #at::QueryData>::chunk(fetch.0, rows);
                    #named_chunk
                }
            }

            // SAFETY: no term writes.
            #[automatically_derived]
            #[allow(unsafe_code)]
            unsafe impl #own_generics #at::query::ReadOnlyQueryData for #query #read_only {}

            #[automatically_derived]
            impl #own_generics #at::query::ChunkQueryData for #query #chunked {}

            #(#uses)*
        };
    })
}

/// The state, the fetch and the view: those of the terms, wrapped, so that a public query can have terms that are not.
fn hidden(nested: &TokenStream, generics: &Generics, bounds: &Option<TokenStream>, at: &TokenStream) -> TokenStream {
    let (impl_generics, arguments, _) = generics.split_for_impl();
    let list = &generics.params;
    let wrapped = |name: Ident, kind: Ident, clone: TokenStream| {
        quote! {
            pub struct #name<#list>(<#nested as #at::QueryData>::#kind) #bounds;

            #[automatically_derived]
            impl #impl_generics ::core::clone::Clone for #name #arguments #bounds {
                #[inline(always)]
                fn clone(&self) -> Self {
                    #clone
                }
            }

            #[automatically_derived]
            impl #impl_generics ::core::fmt::Debug for #name #arguments #bounds {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Formatter::write_str(f, ::core::stringify!(#kind))
                }
            }
        }
    };
    let [state, fetch, view] = ["State", "Fetch", "View"].map(|kind| Ident::new(kind, Span::call_site()));
    let state = wrapped(format_ident!("__QueryState"), state, quote!(Self(::core::clone::Clone::clone(&self.0))));
    let fetch = wrapped(format_ident!("__QueryFetch"), fetch, quote!(*self));
    let view = wrapped(format_ident!("__QueryView"), view, quote!(*self));
    quote! {
        #state
        #fetch
        #view
        #[automatically_derived]
        impl #impl_generics ::core::marker::Copy for __QueryView #arguments #bounds {}
        #[automatically_derived]
        impl #impl_generics ::core::marker::Copy for __QueryFetch #arguments #bounds {}
    }
}

/// A struct or an enum with the names of the terms.
struct Printed<'a> {
    name: &'a Ident,
    kind: &'static str,
    about: String,
}

impl Printed<'_> {
    fn print(
        self,
        vis: &Visibility,
        variants: &[Variant],
        generics: &Generics,
        bounds: &Option<TokenStream>,
        at: &TokenStream,
        w: &Lifetime,
    ) -> TokenStream {
        let Printed { name, kind, about } = self;
        let kind = Ident::new(kind, Span::call_site());
        let item = |Term { ty, span, .. }: &Term| quote_spanned!(*span=> <#ty as #at::QueryData>::#kind<#w>);
        let types: Vec<TokenStream> = variants.iter().flat_map(|variant| &variant.terms).map(item).collect();
        let fields = |variant: &Variant| {
            let fields = variant.terms.iter().map(|term| {
                let (Term { member, vis, docs, .. }, ty) = (term, item(term));
                let docs = if docs.is_empty() { quote!(#[allow(missing_docs)]) } else { quote!(#(#docs)*) };
                match member {
                    Member::Named(name) => quote!(#docs #vis #name: #ty),
                    Member::Unnamed(_) => quote!(#docs #vis #ty),
                }
            });
            match (variant.is_tuple, variant.terms.is_empty()) {
                (true, _) => quote!((#(#fields),*)),
                (false, true) => TokenStream::new(),
                (false, false) => quote!({ #(#fields),* }),
            }
        };
        let (impl_generics, arguments, _) = generics.split_for_impl();
        let given = bounds.clone().unwrap_or_else(|| quote!(where));
        // `for<'all>` keeps a bound that does not hold from being an error by itself.
        let bounded = |path: TokenStream| quote!(#given #(for<'all> #types: #path,)*);
        let [debug, clone, copy] =
            [quote!(::core::fmt::Debug), quote!(::core::clone::Clone), quote!(::core::marker::Copy)].map(bounded);
        let list = &generics.params;
        let declaration = match variants {
            [variant @ Variant { of_enum: None, .. }] => {
                let fields = fields(variant);
                quote!(#vis struct #name<#list> #bounds #fields)
            }
            _ => {
                let variants = variants.iter().map(|variant| {
                    let (ident, docs) = variant.of_enum.as_ref().expect("a variant of an enum");
                    let docs = if docs.is_empty() { quote!(#[allow(missing_docs)]) } else { quote!(#(#docs)*) };
                    let fields = fields(variant);
                    quote!(#docs #ident #fields)
                });
                quote!(#[allow(clippy::large_enum_variant)] #vis enum #name<#list> #bounds { #(#variants,)* })
            }
        };
        let format = variants.iter().map(|variant| {
            let pattern = variant.literal(name);
            let text = variant.of_enum.as_ref().map_or(name, |(ident, _)| ident).to_string();
            let members: Vec<(&Member, &Ident)> =
                variant.terms.iter().map(|term| (&term.member, &term.binding)).collect();
            let formatted = attributes::debug_fields(&text, &members);
            quote!(#pattern => { #formatted })
        });
        let cloned = variants.iter().map(|variant| {
            let (pattern, path) = (variant.literal(name), variant.path(name));
            let fields = variant
                .terms
                .iter()
                .map(|Term { member, binding, .. }| quote!(#member: ::core::clone::Clone::clone(#binding)));
            quote!(#pattern => #path { #(#fields),* })
        });
        quote! {
            #[doc = #about]
            #[allow(dead_code)]
            #declaration
            #[automatically_derived]
            impl #impl_generics ::core::fmt::Debug for #name #arguments #debug {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    match self { #(#format)* }
                }
            }
            #[automatically_derived]
            impl #impl_generics ::core::clone::Clone for #name #arguments #clone {
                #[inline(always)]
                fn clone(&self) -> Self {
                    match self { #(#cloned,)* }
                }
            }
            #[automatically_derived]
            impl #impl_generics ::core::marker::Copy for #name #arguments #copy {}
        }
    }
}

/// The struct as one variant, or the variants of the enum.
fn variants(input: &DeriveInput) -> Result<Vec<Variant>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![of_struct(input, &data.fields)?]),
        Data::Enum(data) => of_enum(input, data),
        Data::Union(data) => Err(Error::new(data.union_token.span, "`derive(QueryData)` is for structs and enums")),
    }
}

fn of_struct(input: &DeriveInput, fields: &Fields) -> Result<Variant> {
    let Fields::Named(named) = fields else {
        let message = "`derive(QueryData)` is for structs with named fields: a tuple of terms is a query already";
        return Err(match fields {
            Fields::Unnamed(fields) => Error::new_spanned(fields, message),
            _ => Error::new(input.ident.span(), message),
        });
    };
    if named.named.is_empty() {
        return Err(Error::new(input.ident.span(), "`derive(QueryData)` needs a field: this query asks for nothing"));
    }
    Ok(Variant { of_enum: None, is_tuple: false, terms: terms(fields, &input.generics)? })
}

fn of_enum(input: &DeriveInput, data: &DataEnum) -> Result<Vec<Variant>> {
    if data.variants.is_empty() {
        let message = "`derive(QueryData)` needs a variant: this query matches nothing";
        return Err(Error::new(input.ident.span(), message));
    }
    let mut variants: Vec<Variant> = Vec::new();
    let mut errors: Option<Error> = None;
    let mut note = |error: Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };
    for variant in &data.variants {
        let is_last = |earlier: &&Variant| earlier.terms.is_empty();
        if let Some((earlier, _)) = variants.iter().find(is_last).and_then(|earlier| earlier.of_enum.as_ref()) {
            let message = format!(
                "this variant is never yielded: `{earlier}`, before it, asks for nothing and matches every row"
            );
            note(Error::new(variant.ident.span(), message));
        }
        if let Some(attribute) = variant.attrs.iter().find(|attribute| attribute.path().is_ident("query")) {
            note(Error::new_spanned(attribute, "unknown option: the variants of a query have none"));
        }
        match terms(&variant.fields, &input.generics) {
            Ok(terms) => variants.push(Variant {
                of_enum: Some((variant.ident.clone(), docs(&variant.attrs))),
                is_tuple: matches!(variant.fields, Fields::Unnamed(_)),
                terms,
            }),
            Err(error) => note(error),
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None if variants.iter().all(|variant| variant.terms.is_empty()) => {
            Err(Error::new(input.ident.span(), "`derive(QueryData)` needs a field: this query asks for nothing"))
        }
        None => Ok(variants),
    }
}

fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}

fn terms(fields: &Fields, generics: &Generics) -> Result<Vec<Term>> {
    let term = |(number, field): (usize, &syn::Field)| {
        if let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("query")) {
            return Err(Error::new_spanned(attribute, "unknown option: the fields of a query have none"));
        }
        Ok(Term {
            member: match &field.ident {
                Some(name) => Member::Named(name.clone()),
                None => Member::Unnamed(Index::from(number)),
            },
            binding: format_ident!("term_{number}", span = Span::mixed_site()),
            vis: field.vis.clone(),
            span: field.ty.span(),
            own: field.ty.to_token_stream(),
            ty: with_static(field.ty.to_token_stream(), generics),
            docs: docs(&field.attrs),
        })
    };
    fields.iter().enumerate().map(term).collect()
}

/// The tokens with `'static` in place of the struct's lifetimes.
fn with_static(tokens: TokenStream, generics: &Generics) -> TokenStream {
    let mut after_quote = false;
    let token = |token: TokenTree| {
        let lifetime = core::mem::take(&mut after_quote);
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), with_static(group.stream(), generics));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            TokenTree::Punct(punct) => {
                after_quote = punct.as_char() == '\'' && punct.spacing() == Spacing::Joint;
                TokenTree::Punct(punct)
            }
            TokenTree::Ident(ident) if lifetime && generics.lifetimes().any(|l| l.lifetime.ident == ident) => {
                TokenTree::Ident(Ident::new("static", ident.span()))
            }
            other => other,
        }
    };
    tokens.into_iter().map(token).collect()
}

/// Where the crate `phalanx` is: what `#[query(crate = "…")]` says, or `::phalanx`.
fn crate_path(attributes: &[Attribute]) -> Result<TokenStream> {
    let mut path = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("query")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown option: a query has `crate = \"path\"`"));
            }
            let value: LitStr = meta.value()?.parse()?;
            match path.replace(value.parse_with(Path::parse_mod_style)?.into_token_stream()) {
                None => Ok(()),
                Some(_) => Err(meta.error("the path is given twice")),
            }
        })?;
    }
    Ok(path.unwrap_or_else(|| quote!(::phalanx)))
}
