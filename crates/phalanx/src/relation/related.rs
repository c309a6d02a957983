//! [`Related`]: data of the target, as a term of queries.
#![allow(unsafe_code)]

use super::visited_links::{links_of, relation_id, require_links, target_of};
use super::{Relation, VisitedLinks};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::query::{
    Access, AlignedStores, Candidate, ItemRef, ItemRow, ItemRows, Mismatch, OtherRows, QueryData, ReadOnlyQueryData,
    VisitedRow,
};
use crate::signature::Signature;
use crate::world::World;
use core::any::type_name;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

/// A term that yields data of the entity's target in a relation.
///
/// It matches entities that have a target that matches `D`. `D` are any data that only read: `Related<R, Entity>` is the target
/// itself, and `Related<R, Related<R, &C>>` finds the component of the target's target.
///
/// ```
/// use phalanx::relation::{ChildOf, Related};
/// use phalanx::{Component, Entity, World};
///
/// #[derive(Component)]
/// struct Speed(u32);
/// #[derive(Component)]
/// struct Turret(u32);
///
/// let mut world = World::new();
/// let ship = world.spawn(Speed(7));
/// let turret = world.entity_mut(ship)?.spawn_child(Turret(1));
/// world.spawn(Turret(2)); // on no ship
///
/// let turrets = world.query::<(Entity, &Turret, Related<ChildOf, (Entity, &Speed)>)>();
/// let (entity, _, (on, speed)) = turrets.single().unwrap();
/// assert_eq!((entity, on, speed.0), (turret, ship, 7));
///
/// // An option matches every entity.
/// assert_eq!(world.query::<(&Turret, Option<Related<ChildOf, &Speed>>)>().len(), 2);
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
///
/// Several entities may have the same target, so `Related<R, &mut C>` does not compile. A query that reads a component of
/// targets and writes it of its own entities [would alias](crate::query::AliasError), and is refused:
///
/// ```should_panic
/// use phalanx::relation::{ChildOf, Related};
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Speed(u32);
///
/// World::new().query_mut::<(&mut Speed, Related<ChildOf, &Speed>)>();
/// ```
///
/// Each row is tested by itself, so that a query with this term has no [chunks](crate::Query::chunks). It cannot be
/// [observed](World::observe) either.
#[doc(alias = "parent")]
#[doc(alias = "traverse")]
#[doc(alias = "RelationshipTarget")]
pub struct Related<R, D>(PhantomData<fn() -> (R, D)>);

impl<R, D> fmt::Debug for Related<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Related")
    }
}

// SAFETY: it reads links, which no query writes, and what `D` reads of other rows, which its access names as such. It touches
// nothing of its own row. It is not dense, so that no fetch is made.
unsafe impl<R: Relation, D: ReadOnlyQueryData> QueryData for Related<R, D> {
    type Static = Related<R, D::Static>;
    type Item<'w> = D::Item<'w>;
    type Chunk<'w> = Infallible;
    type State = (ComponentId, D::State);
    type Fetch = Infallible;
    type View = (VisitedLinks, OtherRows<D::Static, D::View>);
    const IS_DENSE: bool = false;
    const NEEDS_LOCATION: bool = false;
    const TRACKS_CHANGES: bool = D::TRACKS_CHANGES;

    fn state(components: &Components) -> Self::State {
        (relation_id::<R>(components), D::state(components))
    }

    fn access(access: &mut Access) {
        access.read_links::<R>();
        access.read_elsewhere::<D>();
    }

    fn matches(_: &Self::State, _: &Signature) -> bool {
        true
    }

    fn required((id, _): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        require_links(*id, each);
    }

    fn set_ticks((_, data): &mut Self::State, ticks: RunTicks) {
        D::set_ticks(data, ticks);
    }

    fn mismatch((id, data): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        let matches = |slot| row.entity_at(slot).is_some_and(|row| D::mismatch(data, &row).is_none());
        (!target_of(links_of(*id, row), row.slot()).is_some_and(matches))
            .then(|| Mismatch::Missing(type_name::<Self>()))
    }

    unsafe fn fetch(_: &Self::State, _: &World, _: u32) -> Infallible {
        unreachable!("the term is not dense")
    }

    unsafe fn fetch_aligned(_: &Self::State, _: &AlignedStores<'_>) -> Option<Infallible> {
        None
    }

    #[inline(always)]
    unsafe fn view((id, data): &Self::State, world: &World, _: Option<ComponentId>) -> Self::View {
        // SAFETY: the state is the world's, and the view is used in time, by the caller's contract. The access names the data.
        (VisitedLinks::new(*id, world), unsafe { OtherRows::new::<D>(data, world) })
    }

    #[inline(always)]
    fn matches_row((_, data): &Self::State, (links, rows): Self::View, row: VisitedRow) -> bool {
        target_of(links.of(&row), row.index()).is_some_and(|target| rows.matches::<D>(data, row, target))
    }

    #[inline(always)]
    fn at<'w>((_, data): &Self::State, (links, rows): Self::View, row: ItemRef<'w>) -> Option<D::Item<'w>> {
        let visited = row.row();
        rows.item::<D>(data, row, target_of(links.of(&visited), visited.index())?)
    }

    #[inline(always)]
    fn row<'w>(fetch: Infallible, _: ItemRow<'w>) -> D::Item<'w> {
        match fetch {}
    }

    #[inline(always)]
    fn chunk<'w>(fetch: Infallible, _: ItemRows<'w>) -> Infallible {
        fetch
    }
}

// SAFETY: `D` only reads, and so does the term.
unsafe impl<R: Relation, D: ReadOnlyQueryData> ReadOnlyQueryData for Related<R, D> {}
