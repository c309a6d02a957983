//! The terms that name rows, and the filters of main and extra rows.
#![allow(unsafe_code)]

use super::access::RowConditions;
use super::visited_row::ColumnPtr;
use super::{
    Access, AlignedStores, Candidate, ItemRef, ItemRow, ItemRows, QueryData, QueryFilter, ReadOnlyQueryData, TableRef,
    VisitedRow, Watched, WorldView,
};
use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::rows::{Key, Label, Row};
use crate::signature::Signature;
use crate::storage::table::Table;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

macro_rules! row_terms {
    ($($term:ident $fetch:ty, $chunk:ty, extra rows $extra:literal, $at:expr, $past:ident;)*) => {$(
        // SAFETY: it reads names of rows, which no query writes.
        unsafe impl QueryData for $term {
            type Static = $term;
            type Item<'w> = $term;
            type Chunk<'w> = $chunk;
            type State = ();
            type Fetch = $fetch;
            type View = WorldView;
            const IS_DENSE: bool = true;
            const NEEDS_LOCATION: bool = false;

            fn state(_: &Components) {}

            fn access(_: &mut Access) {}

            fn matches((): &(), _: &Signature) -> bool {
                true
            }

            fn visits_extra_rows((): &()) -> bool {
                $extra
            }

            fn watch(_: &mut Watched) {}

            unsafe fn past<'w>((): &(), row: PastRow<'w>) -> Option<$term> {
                Some(row.$past())
            }

            unsafe fn fetch((): &(), world: &World, table: u32) -> Self::Fetch {
                <$fetch>::of_table(TableRef { world, table }.table())
            }

            unsafe fn fetch_aligned((): &(), stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                <$fetch>::of_stores(stores)
            }

            #[inline(always)]
            unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> WorldView {
                WorldView::new(world)
            }

            #[inline(always)]
            fn matches_row((): &(), _: WorldView, _: VisitedRow) -> bool {
                true
            }

            #[inline(always)]
            fn at<'w>((): &(), view: WorldView, row: ItemRef<'w>) -> Option<$term> {
                Some($at(view.of(&row.row()), row.row()))
            }

            #[inline(always)]
            fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> $term {
                fetch.get(row)
            }

            #[inline(always)]
            fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
                fetch.slice(rows)
            }
        }

        // SAFETY: it only reads.
        unsafe impl ReadOnlyQueryData for $term {}
    )*};
}
row_terms! {
    Entity ColumnPtr<Entity>, &'w [Entity], extra rows false, owner_at, entity;
    Row ColumnPtr<Row>, &'w [Row], extra rows true, row_at, row;
    Key KeyFetch, Keys<'w>, extra rows true, key_at, key;
}

#[inline(always)]
pub(super) fn owner_at(world: &World, row: VisitedRow) -> Entity {
    world.storage.owner_of(row.key(world))
}

#[inline(always)]
fn row_at(world: &World, row: VisitedRow) -> Row {
    Row(row.key(world))
}

#[inline(always)]
fn key_at(world: &World, row: VisitedRow) -> Key {
    let key = row.key(world);
    if !key.is_row() {
        return Key::main(key);
    }
    let Some(found) = world.storage.find_extra_row(row.index()) else { unreachable!("visited rows are in use") };
    found.label.key(found.owner)
}

impl ColumnPtr<Entity> {
    pub(super) fn of_table(table: &Table) -> Self {
        ColumnPtr::new(table.entities())
    }

    pub(super) fn of_stores(stores: &AlignedStores<'_>) -> Option<Self> {
        stores.keys.filter(|_| !stores.extra)
    }
}

impl ColumnPtr<Row> {
    fn of_table(table: &Table) -> Self {
        ColumnPtr::new(table.slots()).rows()
    }

    fn of_stores(stores: &AlignedStores<'_>) -> Option<Self> {
        stores.keys.map(ColumnPtr::rows)
    }
}

/// The owners and the labels of a table's rows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct KeyFetch {
    owners: ColumnPtr<Entity>,
    /// None in a table of main rows.
    labels: Option<ColumnPtr<Label>>,
}

impl KeyFetch {
    fn of_table(table: &Table) -> Self {
        let labels = table.row_columns().map(|columns| ColumnPtr::new(columns.labels));
        KeyFetch { owners: ColumnPtr::<Entity>::of_table(table), labels }
    }

    fn of_stores(stores: &AlignedStores<'_>) -> Option<Self> {
        ColumnPtr::<Entity>::of_stores(stores).map(|owners| KeyFetch { owners, labels: None })
    }

    #[inline(always)]
    fn get(self, row: ItemRow<'_>) -> Key {
        let owner = self.owners.get(row);
        self.labels.map_or(Key::main(owner), |labels| labels.get(row).key(owner))
    }

    #[inline(always)]
    fn slice(self, rows: ItemRows<'_>) -> Keys<'_> {
        Keys { owners: self.owners.slice(rows), labels: self.labels.map(|labels| labels.slice(rows)) }
    }
}

/// The keys of a table's rows: a chunk of the term [`Key`].
#[derive(Clone, Copy)]
pub struct Keys<'w> {
    owners: &'w [Entity],
    labels: Option<&'w [Label]>,
}

impl<'w> Keys<'w> {
    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns `true` if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Returns the key of a row.
    pub fn get(&self, row: usize) -> Option<Key> {
        (row < self.owners.len()).then(|| self.key(row))
    }

    fn key(&self, row: usize) -> Key {
        let owner = self.owners[row];
        self.labels.map_or(Key::main(owner), |labels| labels[row].key(owner))
    }

    /// Returns an iterator over the keys, in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Key> + Clone + 'w {
        (0..self.owners.len()).map(move |row| self.key(row))
    }

    /// Returns the entities that own the rows.
    pub fn owners(&self) -> &'w [Entity] {
        self.owners
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A filter that passes main rows only.
///
/// It is of use with a term that asks for extra rows: `(Key, &C)` with this filter visits each entity at most once.
#[derive(Debug)]
pub enum MainRows {}

/// A filter that passes [extra rows](crate::Key) only.
///
/// ```
/// use phalanx::query::ExtraRows;
/// use phalanx::{Component, Entity, Key, Role, World};
///
/// #[derive(Component)]
/// struct Weight(u32);
///
/// let mut world = World::new();
/// let tank = world.spawn(Weight(40_000));
/// world.add_row(Key::main(tank).with_role(Role(1)), Weight(12))?;
/// world.add_row(Key::main(tank).with_role(Role(2)), Weight(30))?;
/// assert_eq!(world.query::<&Weight>().iter().map(|weight| weight.0).sum::<u32>(), 40_000);
/// let cargo = world.query_filtered::<(Entity, &Weight), ExtraRows>();
/// assert!(cargo.iter().map(|(owner, weight)| (owner, weight.0)).eq([(tank, 12), (tank, 30)]));
/// # Ok::<(), phalanx::RowError>(())
/// ```
#[derive(Debug)]
pub enum ExtraRows {}

/// A filter that passes main rows and [extra rows](crate::Key), so that the query visits every row that matches.
///
/// ```
/// use phalanx::query::AllRows;
/// use phalanx::{Component, Key, Role, World};
///
/// #[derive(Component)]
/// struct Weight(u32);
///
/// let mut world = World::new();
/// let tank = world.spawn(Weight(40_000));
/// world.add_row(Key::main(tank).with_role(Role(1)), Weight(12))?;
/// assert_eq!(world.query_filtered::<&Weight, AllRows>().iter().map(|weight| weight.0).sum::<u32>(), 40_012);
/// # Ok::<(), phalanx::RowError>(())
/// ```
#[derive(Debug)]
pub enum AllRows {}

macro_rules! row_filters {
    ($($name:ident visits $visits:literal, passes $passes:expr, passes all $all:expr;)*) => {$(
        impl QueryFilter for $name {
            type State = ();
            fn state(_: &Components) {}
            unsafe fn conditions(rows: &mut RowConditions) {
                rows.know_nothing_more();
            }
            fn visits_extra_rows((): &()) -> bool {
                $visits
            }
            fn passes((): &(), signature: &Signature) -> bool {
                ($passes)(signature.has(ComponentId::ROW))
            }
            fn watch(_: &mut Watched) {}
            fn passed((): &(), row: PastRow<'_>) -> bool {
                ($passes)(row.is_extra())
            }
            fn passes_all((): &(), stores: &AlignedStores<'_>) -> bool {
                ($all)(stores.extra)
            }
        }
    )*};
}
row_filters! {
    MainRows visits false, passes |extra: bool| !extra, passes all |extra: bool| !extra;
    ExtraRows visits true, passes |extra| extra, passes all |_| false;
    AllRows visits true, passes |_| true, passes all |_| true;
}

/// A filter that passes rows without components.
///
/// Links and extra rows of an entity do not count: they are not components of its main row. [`World::orphans`] iterates over the
/// entities that pass.
///
/// ```
/// use phalanx::query::IsEmpty;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// #[component(layout = "pool")]
/// struct Health(u32);
///
/// let mut world = World::new();
/// let [ann, bob] = [world.spawn(Health(3)), world.spawn_empty()];
/// assert_eq!(world.query_filtered::<phalanx::Entity, IsEmpty>().single(), Ok(bob));
/// world.remove::<Health>(ann)?;
/// assert!(world.orphans().eq([ann, bob]));
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
#[doc(alias = "orphan")]
#[derive(Debug)]
pub enum IsEmpty {}

impl QueryFilter for IsEmpty {
    type State = ();
    fn state(_: &Components) {}
    const IS_ARCHETYPAL: bool = false;
    fn passes((): &(), signature: &Signature) -> bool {
        signature.iter().all(|id| id == ComponentId::ROW)
    }
    fn passes_row(state: &(), row: &Candidate<'_>) -> bool {
        Self::passes(state, row.signature()) && row.world().storage.sparse.has_none(row.slot())
    }
    unsafe fn conditions(rows: &mut RowConditions) {
        rows.know_nothing_more();
    }
}

impl World {
    /// Returns an iterator over the entities that have no component. Their links and extra rows do not count.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn(Health(3));
    /// let [ann, bob] = [world.spawn_empty(), world.spawn_empty()];
    /// let orphans: Vec<_> = world.orphans().collect();
    /// assert_eq!(orphans, [ann, bob]);
    /// world.despawn_batch(orphans);
    /// assert_eq!(world.len(), 1);
    /// ```
    #[doc(alias = "orphan")]
    pub fn orphans(&self) -> impl DoubleEndedIterator<Item = Entity> {
        self.query_filtered::<Entity, IsEmpty>().into_iter()
    }
}
