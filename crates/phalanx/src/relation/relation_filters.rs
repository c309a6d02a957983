//! The filters by links: [`HasRelation`], [`IsRoot`], [`IsLeaf`], [`WithUp`] and [`WithoutUp`].
#![allow(unsafe_code)]

use super::visited_links::{links_of, relation_id, require_links, slots_above, target_of};
use super::{Relation, TreeRelation};
use crate::component::{Component, ComponentId, Components};
use crate::layout::Kind;
use crate::links::{LinkView, NONE};
use crate::query::{Access, Candidate, Mismatch, QueryFilter, RowConditions};
use crate::signature::Signature;
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

/// A filter that passes entities that have a target in a relation.
///
/// ```
/// use phalanx::relation::{ChildOf, HasRelation, IsLeaf, IsRoot};
/// use phalanx::{Entity, World};
///
/// let mut world = World::new();
/// let root = world.spawn_empty();
/// let child = world.entity_mut(root)?.spawn_child(());
/// let leaf = world.entity_mut(child)?.spawn_child(());
/// assert!(world.query_filtered::<Entity, HasRelation<ChildOf>>().iter().eq([child, leaf]));
/// assert!(world.query_filtered::<Entity, IsRoot<ChildOf>>().iter().eq([root]));
/// assert!(world.query_filtered::<Entity, IsLeaf<ChildOf>>().iter().eq([leaf]));
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
///
/// All filters by links test each row, so that a query with one has no [chunks](crate::Query::chunks). It cannot be
/// [observed](crate::World::observe) either.
pub struct HasRelation<R>(PhantomData<fn() -> R>);

/// A filter that passes entities that have no target in a relation: in a tree, the roots and entities outside of it.
///
/// See [`HasRelation`] for an example.
#[doc(alias = "Without<ChildOf>")]
pub struct IsRoot<R>(PhantomData<fn() -> R>);

/// A filter that passes entities that no other entity is linked to: in a tree, those without children.
///
/// See [`HasRelation`] for an example.
#[doc(alias = "Without<Children>")]
pub struct IsLeaf<R>(PhantomData<fn() -> R>);

/// A filter that passes entities of a [tree](TreeRelation) that have an ancestor with the component `C`.
///
/// The entity itself does not count.
///
/// ```
/// use phalanx::relation::{ChildOf, WithUp, WithoutUp};
/// use phalanx::{Component, Entity, World};
///
/// #[derive(Component)]
/// struct Hidden;
///
/// let mut world = World::new();
/// let window = world.spawn(Hidden);
/// let panel = world.entity_mut(window)?.spawn_child(());
/// let button = world.entity_mut(panel)?.spawn_child(());
/// assert!(world.query_filtered::<Entity, WithUp<ChildOf, Hidden>>().iter().eq([panel, button]));
/// assert!(world.query_filtered::<Entity, WithoutUp<ChildOf, Hidden>>().iter().eq([window]));
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
///
/// The cost of a row grows with the number of entities up to the first one that has `C`.
#[doc(alias = "up")]
pub struct WithUp<R, C>(PhantomData<fn() -> (R, C)>);

/// A filter that passes entities that have no ancestor with the component `C` in a [tree](TreeRelation).
///
/// The entity itself does not count. See [`WithUp`] for an example.
pub struct WithoutUp<R, C>(PhantomData<fn() -> (R, C)>);

macro_rules! relation_filters {
    ($(
        $name:ident<$($parameter:ident: $bound:ident),*>, state $state:ty, |$components:ident| $new:expr,
        passes |$row:ident, $pattern:pat_param| $passes:expr, requires $required:expr, mismatch $mismatch:expr;
    )*) => {$(
        impl<$($parameter),*> fmt::Debug for $name<$($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl<$($parameter: $bound),*> QueryFilter for $name<$($parameter),*> {
            type State = $state;
            const IS_ARCHETYPAL: bool = false;

            fn state($components: &Components) -> $state {
                $new
            }

            fn passes(_: &$state, _: &Signature) -> bool {
                true
            }

            #[inline(always)]
            fn passes_row(&$pattern: &$state, $row: &Candidate<'_>) -> bool {
                $passes
            }

            fn access(access: &mut Access) {
                access.read_links::<R>();
            }

            unsafe fn conditions(rows: &mut RowConditions) {
                rows.know_nothing_more();
            }

            #[allow(unused_variables)]
            fn required(&$pattern: &$state, each: &mut dyn FnMut(ComponentId, Kind)) {
                Option::into_iter($required).for_each(|id| require_links(id, each));
            }

            fn mismatch(state: &$state, row: &Candidate<'_>) -> Option<Mismatch> {
                (!Self::passes_row(state, row)).then(|| $mismatch)
            }
        }
    )*};
}
relation_filters! {
    HasRelation<R: Relation>, state ComponentId, |components| relation_id::<R>(components),
    passes |row, id| target_of(links_of(id, row), row.slot()).is_some(), requires Some(id),
    mismatch Mismatch::Missing(type_name::<R>());

    IsRoot<R: Relation>, state ComponentId, |components| relation_id::<R>(components),
    passes |row, id| target_of(links_of(id, row), row.slot()).is_none(), requires None,
    mismatch Mismatch::Excluded(type_name::<R>());

    IsLeaf<R: Relation>, state ComponentId, |components| relation_id::<R>(components),
    passes |row, id| links_of(id, row).get(row.slot()).first == NONE, requires None,
    mismatch Mismatch::Missing(type_name::<Self>());

    WithUp<R: TreeRelation, C: Component>, state [ComponentId; 2],
    |components| [relation_id::<R>(components), components.id::<C>()],
    passes |row, [id, component]| is_below::<C>(id, component, row), requires Some(id),
    mismatch Mismatch::Missing(type_name::<Self>());

    WithoutUp<R: TreeRelation, C: Component>, state [ComponentId; 2],
    |components| [relation_id::<R>(components), components.id::<C>()],
    passes |row, [id, component]| !is_below::<C>(id, component, row), requires None,
    mismatch Mismatch::Excluded(type_name::<WithUp<R, C>>());
}

/// Returns `true` if a row is below an entity that has a component.
#[inline(always)]
fn is_below<C: Component>(id: ComponentId, component: ComponentId, row: &Candidate<'_>) -> bool {
    let has = |slot| row.entity_at(slot).is_some_and(|above| above.has_type::<C>(component));
    slots_above(links_of(id, row), row.slot()).any(has)
}
