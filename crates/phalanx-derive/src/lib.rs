//! Derive macros of Phalanx. Use them through `phalanx_store` (feature `derive`), which re-exports them.
//!
//! The macros print lists of fields and nothing else: what is done with the fields is written once, in the store.

mod attributes;
mod bundle;
mod component;
mod entities;
mod flat;
mod plain;
mod query;
mod row;
mod views;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a row type, so that it can be kept in a `Soa`: one lane per field.
///
/// For `struct Velocity` it prints `VelocityRef`, `VelocityMut`, `VelocityLanes`, `VelocityLanesMut` and
/// `VelocityColumns`, with a field for each field of the struct, and implements `SoaRow` and `Views`. The structs are as
/// visible as `Velocity`, their fields as the fields of `Velocity`. Named structs, tuple structs and unit structs can be
/// rows, with generics and lifetimes; enums and unions cannot, nor can structs with fields of no fixed size or with a
/// `Drop` of their own.
///
/// What is printed is safe code and may stand under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[soa(nested)]` on a field whose type is a row type too: its fields get lanes of their own, and the views have its
///   views in their place.
/// - `#[soa(crate = "phalanx::store")]` on the struct: where the store is to be found, if not at `::phalanx_store`.
///
/// ```
/// use phalanx_store::Soa;
///
/// #[derive(Soa)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// #[derive(Soa)]
/// struct Body {
///     #[soa(nested)]
///     at: Point,
///     mass: f32,
/// }
///
/// let mut bodies: Soa<Body> = Soa::new();
/// bodies.push(Body { at: Point { x: 1.0, y: 2.0 }, mass: 3.0 });
/// assert_eq!(bodies.lanes().at.y, [2.0]);
/// ```
#[proc_macro_derive(Soa, attributes(soa))]
pub fn soa(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    row::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Lets a lane of this struct be seen as a lane of the numbers it is made of.
///
/// For `repr(C)` or `repr(transparent)` structs whose fields are all made of the same scalar type, without generics. That
/// they are is checked at compile time; the layout is what `repr` promises. The expansion contains an `unsafe impl`, so
/// it cannot stand under `#![forbid(unsafe_code)]`; arrays such as `[f32; 3]` are flat without it.
///
/// ```
/// use phalanx_store::{Flat, soa::flat};
///
/// #[derive(Flat, Clone, Copy)]
/// #[repr(C)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// let lane = [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
/// assert_eq!(flat(&lane), [1.0, 2.0, 3.0, 4.0]);
/// ```
///
/// `#[soa(crate = "phalanx::store")]` says where the store is, as for `derive(Soa)`.
#[proc_macro_derive(Flat, attributes(soa))]
pub fn flat(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    flat::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a type a component.
///
/// # Options
///
/// - `#[component(layout = "table")]`, the default: one lane of values in the table of the entity's signature.
/// - `#[component(layout = "soa")]`: a lane for each field, for `Copy` structs with `derive(Soa)`.
/// - `#[component(layout = "pool")]`: a sparse set of the component's own, for what comes and goes often: adding and
///   removing it moves nothing else.
/// - `#[component(layout = "linear")]`: an array of the component's own, with a place for every entity, for what nearly all
///   have or what is read at random.
/// - `#[component(clone)]`: values are cloned by their `Clone` when an entity or a world is.
/// - `#[component(plain)]`: values are nothing but their bytes, and are copied, compared, saved and sent as such. Implements
///   `Plain`, as `derive(Plain)` does; with `layout = "soa"` each field must be `Plain` instead.
/// - `#[component(entities)]`: the entities in a value are those in its fields, as for `derive(MapEntities)`, which is
///   implemented too; fields marked `#[entities(skip)]` have none.
/// - `#[component(track = "row")]`: it is kept when each value was added and changed, in 8 bytes; not with `layout = "soa"`.
/// - `#[component(track = "column")]`: it is kept when a column was changed last. Without either, nothing is.
/// - `#[component(entities = "path")]`: a function, `fn(&mut Self, &mut dyn FnMut(&mut Entity))`, that shows the entities in
///   a value.
/// - `#[component(crate = "path")]`: where the crate `phalanx` is to be found, if not at `::phalanx`.
#[proc_macro_derive(Component, attributes(component, entities))]
pub fn component(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    component::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct or enum say where its entities are: in its fields, those marked `#[entities(skip)]` aside.
///
/// # Options
///
/// - `#[entities(crate = "path")]`: where the crate `phalanx` is to be found, if not at `::phalanx`.
#[proc_macro_derive(MapEntities, attributes(entities))]
pub fn map_entities(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    entities::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a type plain data, so that it can be a field of a component with `#[component(plain)]`.
///
/// A struct must have plain fields and no padding; an enum must have a `#[repr(u8)]` or another integer, and no fields. Both
/// must be `Copy`. Padding is a compile error; in a generic struct it is found where the type is used as plain data.
///
/// The expansion contains an `unsafe impl`, so it cannot stand under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[plain(crate = "path")]`: where the crate `phalanx` is to be found, if not at `::phalanx`.
#[proc_macro_derive(Plain, attributes(plain))]
pub fn plain(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    plain::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `QueryData` for a struct of terms. Its items are structs with the same field names.
///
/// For `struct Movers` it defines `MoversItem<'w>`, with the data of one row, and `MoversChunk<'w>`, with the data of a table.
/// Both are as visible as `Movers`, and `Copy`, `Clone` and `Debug` if their fields are. If no term writes, the data are
/// read-only. A field can be any term, such as `&'a mut C`, `Option<&'a C>`, a tuple, or another derived struct. Lifetimes have
/// no meaning: they can be a parameter of the struct, or `'static`. Type parameters must be `'static`.
///
/// The expansion contains an `unsafe impl`, so it cannot stand under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[query(crate = "path")]`: the path of the crate `phalanx`, if it is not `::phalanx`.
#[proc_macro_derive(QueryData, attributes(query))]
pub fn query_data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    query::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a bundle: its fields are components or bundles, which are given to an entity together.
///
/// The expansion contains an `unsafe impl`, so it cannot stand under `#![forbid(unsafe_code)]`; a tuple can. Enums and
/// unions cannot be bundles, nor can structs with a `Drop` of their own.
///
/// ```ignore
/// #[derive(Bundle)]
/// struct Ship {
///     position: Position,
///     hull: Hull, // a bundle of its own
/// }
/// ```
///
/// # Options
///
/// - `#[bundle(crate = "path")]`: where the crate `phalanx` is to be found, if not at `::phalanx`.
#[proc_macro_derive(Bundle, attributes(bundle))]
pub fn bundle(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    bundle::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
