//! The derive macros of Phalanx. Use them through `phalanx` or `phalanx_store` (feature `derive`), which re-export them.
//!
//! | derive | implements | options |
//! |---|---|---|
//! | [`Component`](macro@Component) | a component of a world | `#[component(layout, track, clone, plain, entities, requires, crate)]` |
//! | [`Bundle`](macro@Bundle) | several components, inserted together | `#[bundle(crate)]` |
//! | [`QueryData`](macro@QueryData) | a query with named fields, or of alternatives | `#[query(crate)]` |
//! | [`Relation`](macro@Relation) | links between entities | `#[relation(tree, one_to_one, one_to_many, many_to_many, symmetric, on_despawn, no_clone, crate)]` |
//! | [`Event`](macro@Event) | values that are sent and read | `#[event(clone, plain, max, crate)]` |
//! | [`SystemParam`](macro@SystemParam) | several parameters of a system | `#[system_param(crate)]` |
//! | [`MapEntities`](macro@MapEntities) | access to the entities inside of a value | `#[entities(skip, crate)]` |
//! | [`Plain`](macro@Plain) | data that is copied and compared as bytes | `#[plain(crate)]` |
//! | [`Reflect`](macro@Reflect) | the names and places of fields | `#[reflect(crate)]` |
//! | [`Soa`](macro@Soa) | a row of a struct of arrays | `#[soa(nested, crate)]` |
//! | [`Flat`](macro@Flat) | a struct of equal numbers, seen as an array | `#[soa(crate)]` |
//!
//! The option `crate = "path"` says where `phalanx` or `phalanx_store` is, if not at the root. The expansions mostly list
//! fields; the code that works with the fields is in the two crates.

mod attributes;
mod bundle;
mod component;
mod entities;
mod event;
mod flat;
mod plain;
mod query;
mod reflect;
mod relation;
mod requirement;
mod row;
mod system_param;
mod views;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `SoaRow` and `Views`, so that a struct can be a row of a `Soa`, with a lane for each field.
///
/// For `struct Velocity` it generates `VelocityRef`, `VelocityMut`, `VelocityLanes`, `VelocityLanesMut` and
/// `VelocityColumns`, with a field for each field of the struct. The structs are as visible as `Velocity`, their fields as
/// the fields of `Velocity`.
///
/// Named structs, tuple structs and unit structs can be rows, with generics and lifetimes. Enums and unions cannot, nor can
/// structs with unsized fields or with a `Drop` impl.
///
/// The expansion is safe code and compiles under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[soa(nested)]` on a field whose type is a row type too: its fields get lanes of their own, and the views contain its
///   views.
/// - `#[soa(crate = "phalanx::store")]` on the struct: the path of the store, by default `::phalanx_store`.
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

/// Implements `Flat`, so that a slice of the struct can be viewed as a slice of the numbers it consists of.
///
/// The struct must be `repr(C)` or `repr(transparent)` and have no generics, and all its fields must consist of the same
/// scalar type. This is checked at compile time. The expansion contains an `unsafe impl`, so it does not compile under
/// `#![forbid(unsafe_code)]`. Arrays such as `[f32; 3]` are flat without the derive.
///
/// # Options
///
/// - `#[soa(crate = "phalanx::store")]`: the path of the store, by default `::phalanx_store`.
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
#[proc_macro_derive(Flat, attributes(soa))]
pub fn flat(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    flat::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Component`, so that values of the type can be attached to entities.
///
/// If `phalanx` has the feature `reflect`, it also implements `Reflect`: the names and places of the fields.
///
/// ```ignore
/// #[derive(Component)]
/// #[component(layout = "pool", track = "row", clone)]
/// struct Burning(f32);
/// ```
///
/// # Options
///
/// - `#[component(layout = "table")]`, the default: a column in the table of the entity's archetype.
/// - `#[component(layout = "soa")]`: a column for each field in that table, for `Copy` structs with `derive(Soa)`.
/// - `#[component(layout = "pool")]`: a sparse set, for components that are often inserted and removed. Both move no other
///   component.
/// - `#[component(layout = "linear")]`: an array with a row for every slot, for components that nearly all entities have,
///   or that are read at random.
/// - `#[component(track = "row")]`: records when each value was added and changed, in 8 bytes. Not with `layout = "soa"`.
/// - `#[component(track = "column")]`: records when a column was changed last. Without `track` nothing is recorded.
/// - `#[component(clone)]`: values are cloned by `Clone` when an entity or a world is cloned.
/// - `#[component(plain)]`: values are copied, compared, saved and sent as bytes. Implements `Plain`, like `derive(Plain)`;
///   with `layout = "soa"` each field must be `Plain` instead.
/// - `#[component(entities)]`: the entities in a value are those in its fields. Implements `MapEntities`, like
///   `derive(MapEntities)`.
/// - `#[entities(skip)]` on a field, with `#[component(entities)]`: the field contains no entities.
/// - `#[component(entities = "path")]`: a function, `fn(&mut Self, &mut dyn FnMut(&mut Entity))`, that visits the entities
///   in a value.
/// - `#[component(requires(A, B = expression, C(path::to::function)))]`: components that are inserted with this one, unless the
///   entity has them. `A` is created by `Default`, `B` by the expression, and `C` by the function.
/// - `#[component(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Component, attributes(component, entities))]
pub fn component(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    component::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `MapEntities` for a struct or enum, by visiting the entities in its fields.
///
/// # Options
///
/// - `#[entities(skip)]` on a field: the field contains no entities and need not be `MapEntities`.
/// - `#[entities(crate = "path")]` on the type: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(MapEntities, attributes(entities))]
pub fn map_entities(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    entities::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Plain`, so that a type can be a field of a component with `#[component(plain)]`.
///
/// A struct must have plain fields and no padding. An enum must have `#[repr(u8)]` or another integer, and no fields. Both
/// must be `Copy`. Padding is a compile error; in a generic struct it is reported where the type is used as plain data.
///
/// The expansion contains an `unsafe impl`, so it does not compile under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[plain(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Plain, attributes(plain))]
pub fn plain(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    plain::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `QueryData` for a struct of terms, or for an enum of alternatives. Its items have the same names.
///
/// For `struct Movers` it defines `MoversItem<'w>`, with the data of one row, and `MoversChunk<'w>`, with the data of a table.
/// Both are as visible as `Movers`, and `Copy`, `Clone` and `Debug` if their fields are. If no term writes, the data are
/// read-only. A field can be any term, such as `&'a mut C`, `Option<&'a C>`, a tuple, or another derived struct. Lifetimes have
/// no meaning: they can be a parameter of the struct, or `'static`. Type parameters must be `'static`.
///
/// # Enums
///
/// For an enum the two types are enums with the same variants. The item of a row is the first variant whose terms all match,
/// and a row matches if one variant does. A variant without terms matches every row, so it comes last.
///
/// ```ignore
/// #[derive(QueryData)]
/// enum Target<'a> {
///     Shielded(&'a mut Shield),
///     Hull { hull: &'a mut Hull, armour: Option<&'a Armour> },
/// }
///
/// for target in world.query_mut::<Target>() {
///     match target {
///         TargetItem::Shielded(shield) => shield.0 -= 1,
///         TargetItem::Hull { hull, armour } => hull.0 -= armour.map_or(3, |armour| 3 - armour.0),
///     }
/// }
/// ```
///
/// Variants may name the same component, and write it, because one of them makes the item. The query reads and writes what
/// all variants together do. So a query of such an enum beside `&Hull` is refused.
///
/// The expansion contains an `unsafe impl`, so it does not compile under `#![forbid(unsafe_code)]`.
///
/// # Options
///
/// - `#[query(crate = "path")]`: the path of the crate `phalanx`, if it is not `::phalanx`.
#[proc_macro_derive(QueryData, attributes(query))]
pub fn query_data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    query::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Bundle` for a struct whose fields are components or bundles, which are inserted together. A field of type
/// `Option<C>` is an optional component.
///
/// The expansion contains an `unsafe impl`, so it does not compile under `#![forbid(unsafe_code)]`; use a tuple there. Enums
/// and unions cannot be bundles, nor can structs with a `Drop` impl.
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
/// - `#[bundle(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Bundle, attributes(bundle))]
pub fn bundle(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    bundle::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Event`, so that values of the type can be sent and read.
///
/// ```ignore
/// #[derive(Event, Clone)]
/// #[event(clone)]
/// struct Hit {
///     target: Entity,
///     damage: u32,
/// }
/// ```
///
/// # Options
///
/// - `#[event(clone)]`: events are cloned into checkpoints, timelines and clones of the world.
/// - `#[event(plain)]`: the same for events that are `Plain`, which are also part of deltas.
/// - `#[event(max = 1000)]`: at most as many events are kept. The oldest are discarded.
/// - `#[event(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Event, attributes(event))]
pub fn event(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    event::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Relation`: a type of links between entities.
///
/// ```ignore
/// #[derive(Relation)]
/// #[relation(tree, on_despawn = "reparent")]
/// struct ReportsTo;
/// ```
///
/// # Attributes
///
/// - `#[relation(tree)]`: a source has one target, and there are no cycles. Also implements `TreeRelation`.
/// - `#[relation(one_to_one)]`: a source has one target, and a target has one source.
/// - `#[relation(one_to_many)]` (default): a source has one target, and a target has any number of sources.
/// - `#[relation(many_to_many)]`: a source has any number of targets, and each link has the data of the type, which is also a
///   `Component`. Implements `ManyToMany` instead of `Relation`.
/// - `#[relation(symmetric)]`: the same, and a link leads both ways.
/// - `#[relation(on_despawn = "unlink")]`: what happens to the sources of a target that is despawned. Also `"despawn"`,
///   `"reparent"` and `"refuse"`.
/// - `#[relation(no_clone)]`: clones of a source are not linked.
/// - `#[relation(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Relation, attributes(relation))]
pub fn relation(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    relation::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `SystemParam` for a struct, each field of which is a parameter of a system.
///
/// The lifetimes of the struct are `'w`, of the world, and `'s`, of the system's state. It may have one of them, both, or
/// none. Components in queries are written as `&'static C`.
///
/// ```ignore
/// #[derive(SystemParam)]
/// struct Physics<'w, 's> {
///     bodies: Query<'w, 's, (&'static mut Velocity, &'static Mass)>,
///     gravity: Res<'w, Gravity>,
/// }
/// ```
///
/// The expansion contains an `unsafe impl`, so it does not compile under `#![forbid(unsafe_code)]`; use a tuple there.
///
/// # Options
///
/// - `#[system_param(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(SystemParam, attributes(system_param))]
pub fn system_param(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    system_param::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Reflect`, so that the fields of a type are known by name: for the types of fields of components.
///
/// Every `derive(Component)` implements `Reflect` too. So this derive is for types that are not components. It takes structs,
/// enums and unions, with generics. The fields of a struct and the variants of an enum without fields are known; all other types
/// are opaque. The expansion is there only if `phalanx` has the feature `reflect`.
///
/// # Options
///
/// - `#[reflect(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[proc_macro_derive(Reflect, attributes(reflect))]
pub fn reflect(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    reflect::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
