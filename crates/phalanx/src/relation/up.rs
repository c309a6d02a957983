//! [`Up`]: data of the nearest ancestor that matches, as a term of queries.
#![allow(unsafe_code)]

use super::visited_links::{links_of, relation_id, require_links, slots_above};
use super::{TreeRelation, VisitedLinks};
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

/// A term that yields data of the nearest entity above that matches.
///
/// It matches entities of a [tree](TreeRelation) that have an ancestor that matches `D`: the parent, its parent, and so on. The
/// entity itself does not count. `D` are any data that only read.
///
/// ```
/// use phalanx::relation::{ChildOf, Up};
/// use phalanx::{Component, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Faction(&'static str);
/// #[derive(Component)]
/// struct Gun(u32);
///
/// let mut world = World::new();
/// let ship = world.spawn(Faction("red"));
/// let turret = world.entity_mut(ship)?.spawn_child(());
/// world.entity_mut(turret)?.spawn_child(Gun(1));
/// world.spawn(Gun(2)); // below nothing
///
/// let (gun, faction) = world.query::<(&Gun, Up<ChildOf, &Faction>)>().single().unwrap();
/// assert_eq!((gun.0, faction), (1, &Faction("red")));
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
///
/// The cost of a row grows with the number of entities up to the one that matches. What is said of [`Related`](super::Related)
/// holds for this term too.
#[doc(alias = "cascade")]
#[doc(alias = "ancestor")]
#[doc(alias = "inherit")]
pub struct Up<R, D>(PhantomData<fn() -> (R, D)>);

impl<R, D> fmt::Debug for Up<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Up")
    }
}

// SAFETY: it reads links, which no query writes, and what `D` reads of other rows, which its access names as such. It touches
// nothing of its own row. It is not dense, so that no fetch is made.
unsafe impl<R: TreeRelation, D: ReadOnlyQueryData> QueryData for Up<R, D> {
    type Static = Up<R, D::Static>;
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
        (!slots_above(links_of(*id, row), row.slot()).any(matches)).then(|| Mismatch::Missing(type_name::<Self>()))
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
        slots_above(links.of(&row), row.index()).any(|slot| rows.matches::<D>(data, row, slot))
    }

    #[inline(always)]
    fn at<'w>((_, data): &Self::State, (links, rows): Self::View, row: ItemRef<'w>) -> Option<D::Item<'w>> {
        let visited = row.row();
        slots_above(links.of(&visited), visited.index()).find_map(|slot| rows.item::<D>(data, row, slot))
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
unsafe impl<R: TreeRelation, D: ReadOnlyQueryData> ReadOnlyQueryData for Up<R, D> {}
