//! `derive(Soa)`: the fields, the shape they make, and the implementation of `SoaRow`.

use crate::{attributes, views};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Generics, Index, Lifetime, Member, Result, Type, Visibility};

/// A row type, as the derive was given it.
pub(crate) struct Row {
    pub(crate) name: Ident,
    pub(crate) vis: Visibility,
    pub(crate) generics: Generics,
    pub(crate) fields: Vec<Field>,
    /// Whether the fields have numbers for names; never true without fields.
    pub(crate) is_tuple: bool,
    /// The path of the store.
    pub(crate) store: TokenStream,
    /// The lifetime of the views, distinct from the lifetimes of the struct.
    pub(crate) lifetime: Lifetime,
}

/// One field of a row type.
pub(crate) struct Field {
    pub(crate) member: Member,
    /// The variable that the field is bound to while a row is split.
    pub(crate) binding: Ident,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    pub(crate) nested: bool,
    pub(crate) docs: Vec<Attribute>,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let row = Row::parse(input)?;
    let (views, implementation) = (views::print(&row), row.implementation());
    Ok(quote!(#views #implementation))
}

impl Row {
    fn parse(input: &DeriveInput) -> Result<Row> {
        let fields = match &input.data {
            Data::Struct(data) => &data.fields,
            Data::Enum(data) => {
                let message = "`derive(Soa)` is for structs: the variants of an enum have no lanes of their own";
                return Err(Error::new(data.enum_token.span, message));
            }
            Data::Union(data) => {
                let message = "`derive(Soa)` is for structs: which field of a union is there is not known";
                return Err(Error::new(data.union_token.span, message));
            }
        };
        let mut errors: Option<Error> = None;
        let mut note = |error: Error| match &mut errors {
            Some(errors) => errors.combine(error),
            None => errors = Some(error),
        };
        let mut parsed = Vec::new();
        for (number, field) in fields.iter().enumerate() {
            if is_unsized(&field.ty) {
                note(Error::new(field.ty.span(), "a field of a row must have a fixed size: put this one in a `Box`"));
            }
            let nested = attributes::nested(&field.attrs).unwrap_or_else(|error| {
                note(error);
                false
            });
            parsed.push(Field {
                member: match &field.ident {
                    Some(name) => Member::Named(name.clone()),
                    None => Member::Unnamed(Index::from(number)),
                },
                binding: format_ident!("field_{number}", span = Span::mixed_site()),
                vis: field.vis.clone(),
                ty: field.ty.clone(),
                nested,
                docs: field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect(),
            });
        }
        let store = attributes::store(&input.attrs).unwrap_or_else(|error| {
            note(error);
            TokenStream::new()
        });
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Row {
                name: input.ident.clone(),
                vis: input.vis.clone(),
                generics: input.generics.clone(),
                is_tuple: matches!(fields, Fields::Unnamed(_)) && !parsed.is_empty(),
                fields: parsed,
                store,
                lifetime: unused_lifetime(&input.generics),
            }),
        }
    }

    /// Returns the implementation of `SoaRow`, which splits and joins a struct.
    fn implementation(&self) -> TokenStream {
        let Row { name, store, lifetime: a, .. } = self;
        let soa = quote!(#store::soa);
        let (impl_generics, ty_generics, where_clause) = self.generics.split_for_impl();
        let text = name.to_string();
        let names = self.fields.iter().map(|field| match &field.member {
            // Other code knows a raw identifier without its prefix.
            Member::Named(name) => name.to_string().trim_start_matches("r#").to_owned(),
            Member::Unnamed(index) => index.index.to_string(),
        });
        let shape = self.tree(|field| {
            let ty = &field.ty;
            if field.nested { quote!(#soa::Nested<#ty>) } else { quote!(#soa::Leaf<#ty>) }
        });
        let columns = format_ident!("{name}Columns");
        let bindings = self.tree(|Field { binding, .. }| quote!(#binding));
        let pattern = self.literal(|Field { binding, .. }| quote!(#binding));
        let empty = self.fields.is_empty().then(|| quote!(rows: ::core::marker::PhantomData));
        // A nested row is split and joined by its own implementation.
        let parts = |function: &str| {
            let function = Ident::new(function, Span::call_site());
            self.tree(|Field { binding, ty, nested, .. }| match nested {
                true => quote!(<#ty as #soa::SoaRow>::#function(#binding)),
                false => quote!(#binding),
            })
        };
        let whole = |function: &str| {
            let function = Ident::new(function, Span::call_site());
            self.literal(|Field { binding, ty, nested, .. }| match nested {
                true => quote!(<#ty as #soa::SoaRow>::#function(#binding)),
                false => quote!(#binding),
            })
        };
        let (split, split_row) = (parts("split"), parts("split_row"));
        let (split_lanes, split_columns) = (parts("split_lanes"), parts("split_columns"));
        // A row is borrowed field by field.
        let borrowed = |function: &str, reference: TokenStream| {
            let function = Ident::new(function, Span::call_site());
            self.literal(|Field { member, ty, nested, .. }| match nested {
                true => quote!(<#ty as #soa::SoaRow>::#function(#reference self.#member)),
                false => quote!(#reference self.#member),
            })
        };
        let (as_row, as_row_mut) = (borrowed("as_row", quote!(&)), borrowed("as_row_mut", quote!(&mut)));
        let views = views::KINDS[..4].iter().zip(["row", "row_mut", "lanes", "lanes_mut"]).map(|(kind, function)| {
            let (view, literal) = (format_ident!("{name}{}", kind.suffix), whole(function));
            let (function, alias) =
                (Ident::new(function, Span::call_site()), Ident::new(kind.suffix, Span::call_site()));
            quote! {
                #[inline(always)]
                fn #function<#a>(#bindings: <Self::Shape as #soa::Shape>::#alias<#a>) -> #soa::#alias<#a, Self>
                where
                    Self: #a,
                {
                    #view { #literal #empty }
                }
            }
        });
        let (join, join_columns) = (whole("join"), whole("join_columns"));
        let [row_ref, row_mut, lanes] = ["Ref", "Mut", "Lanes"].map(|suffix| format_ident!("{name}{suffix}"));
        let guard = self.drop_guard();
        let ignore = self.fields.is_empty().then(|| quote!(..));
        quote! {
            #guard
            #[automatically_derived]
            #[allow(clippy::unused_unit)]
            impl #impl_generics #soa::SoaRow for #name #ty_generics #where_clause {
                type Shape = #shape;
                type Columns = #columns #ty_generics;
                const NAME: &'static ::core::primitive::str = #text;
                const FIELDS: &'static [&'static ::core::primitive::str] = &[#(#names),*];

                #[inline(always)]
                fn split(self) -> <Self::Shape as #soa::Shape>::Values {
                    let Self { #pattern } = self;
                    #split
                }
                #[inline(always)]
                fn join(#bindings: <Self::Shape as #soa::Shape>::Values) -> Self {
                    Self { #join }
                }
                #[inline(always)]
                fn as_row(&self) -> #soa::Ref<'_, Self> {
                    #row_ref { #as_row #empty }
                }
                #[inline(always)]
                fn as_row_mut(&mut self) -> #soa::Mut<'_, Self> {
                    #row_mut { #as_row_mut #empty }
                }
                #(#views)*
                #[inline(always)]
                fn split_row<#a>(row: #soa::Ref<#a, Self>) -> <Self::Shape as #soa::Shape>::Ref<#a>
                where
                    Self: #a,
                {
                    let #row_ref { #pattern #ignore } = row;
                    #split_row
                }
                #[inline(always)]
                fn split_lanes<#a>(lanes: #soa::Lanes<#a, Self>) -> <Self::Shape as #soa::Shape>::Lanes<#a>
                where
                    Self: #a,
                {
                    let #lanes { #pattern #ignore } = lanes;
                    #split_lanes
                }
                #[inline(always)]
                fn split_columns(columns: Self::Columns) -> <Self::Shape as #soa::Shape>::Columns {
                    let #columns { #pattern } = columns;
                    #split_columns
                }
                #[inline(always)]
                fn join_columns(#bindings: <Self::Shape as #soa::Shape>::Columns) -> Self::Columns {
                    #columns { #join_columns }
                }
            }
        }
    }

    /// Returns two implementations that conflict if the struct has a `Drop` impl. Rows are dropped field by field, so it
    /// would not be called.
    fn drop_guard(&self) -> TokenStream {
        let name = &self.name;
        let (impl_generics, ty_generics, where_clause) = self.generics.split_for_impl();
        quote! {
            const _: () = {
                trait RowsHaveNoDropOfTheirOwn {}
                #[allow(drop_bounds)]
                impl<T: ::core::ops::Drop> RowsHaveNoDropOfTheirOwn for T {}
                #[automatically_derived]
                impl #impl_generics RowsHaveNoDropOfTheirOwn for #name #ty_generics #where_clause {}
            };
        }
    }

    /// Returns the fields as a struct literal or pattern, without the braces.
    fn literal(&self, each: impl Fn(&Field) -> TokenStream) -> TokenStream {
        let fields = self.fields.iter().map(|field| {
            let (member, value) = (&field.member, each(field));
            quote!(#member: #value)
        });
        quote!(#(#fields),*)
    }

    /// Returns the fields as a balanced tree of pairs, for types, patterns and expressions.
    fn tree(&self, each: impl Fn(&Field) -> TokenStream) -> TokenStream {
        pairs(&self.fields.iter().map(each).collect::<Vec<_>>())
    }
}

/// Returns leaves as a balanced tree of pairs.
pub(crate) fn pairs(leaves: &[TokenStream]) -> TokenStream {
    match leaves {
        [] => quote!(()),
        [leaf] => leaf.clone(),
        _ => {
            let (left, right) = leaves.split_at(leaves.len() / 2);
            let (left, right) = (pairs(left), pairs(right));
            quote!((#left, #right))
        }
    }
}

/// Returns `true` if the syntax of a type shows that it is unsized. The compiler finds other unsized types.
fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.qself.is_none() && path.path.is_ident("str"),
        Type::Paren(inner) => is_unsized(&inner.elem),
        Type::Group(inner) => is_unsized(&inner.elem),
        _ => false,
    }
}

/// Returns `'a`, or another lifetime if the struct has an `'a`.
fn unused_lifetime(generics: &Generics) -> Lifetime {
    let taken = |name: &str| generics.lifetimes().any(|lifetime| lifetime.lifetime.ident == name);
    let mut name = "a".to_owned();
    while taken(&name) {
        name.push('a');
    }
    Lifetime::new(&format!("'{name}"), Span::mixed_site())
}
