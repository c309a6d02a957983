//! The terms that name rows, and the filters of main and extra rows.
#![allow(unsafe_code)]

use super::access::RowConditions;
use super::{Access, AlignedStores, QueryData, QueryFilter, ReadOnlyQueryData, RowRef};
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::rows::{Key, Label, Row};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// The owners and the labels of a table's rows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct KeyFetch {
    owners: NonNull<Entity>,
    /// None in a table of main rows.
    labels: Option<NonNull<Label>>,
}

// SAFETY: it reads the owners and the labels, which no query writes.
unsafe impl QueryData for Key {
    type Static = Key;
    type Item<'w> = Key;
    type Chunk<'w> = Keys<'w>;
    type State = ();
    type Fetch = KeyFetch;
    type View = NonNull<World>;
    const IS_DENSE: bool = true;
    const NEEDS_LOCATION: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn visits_extra_rows((): &()) -> bool {
        true
    }

    fn required((): &(), _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch((): &(), world: &World, table: u32) -> KeyFetch {
        let table = &world.storage.tables[table as usize];
        let labels = table.row_lanes().and_then(|lanes| NonNull::new(lanes.labels));
        KeyFetch { owners: NonNull::from(table.entities()).cast(), labels }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: KeyFetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the row is in use.
        unsafe {
            let owner = fetch.owners.add(row).read();
            fetch.labels.map_or(Key::main(owner), |labels| labels.add(row).read().key(owner))
        }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: KeyFetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the rows are in use.
        unsafe {
            Keys {
                owners: core::slice::from_raw_parts(fetch.owners.as_ptr(), len),
                labels: fetch.labels.map(|labels| core::slice::from_raw_parts(labels.as_ptr(), len)),
            }
        }
    }

    unsafe fn fetch_aligned((): &(), stores: &AlignedStores<'_>) -> Option<KeyFetch> {
        stores.entities().map(|owners| KeyFetch { owners, labels: None })
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn matches_row((): &(), _: NonNull<World>, _: RowRef) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed; where the slot is that of an extra row, it has an owner and a label.
        unsafe {
            let key = row.key(view.as_ref());
            if !key.is_row() {
                return Some(Key::main(key));
            }
            let (_, owner, label, _) = view.as_ref().storage.extra_row(row.index);
            Some(label.key(owner))
        }
    }
}

// SAFETY: it only reads.
unsafe impl ReadOnlyQueryData for Key {}

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
        let owner = *self.owners.get(row)?;
        Some(self.labels.map_or(Key::main(owner), |labels| labels[row].key(owner)))
    }

    /// Returns an iterator over the keys, in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Key> + Clone + 'w {
        (0..self.owners.len()).map(move |row| {
            let owner = self.owners[row];
            self.labels.map_or(Key::main(owner), |labels| labels[row].key(owner))
        })
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

// SAFETY: it reads the slots, which no query writes.
unsafe impl QueryData for Row {
    type Static = Row;
    type Item<'w> = Row;
    type Chunk<'w> = &'w [Row];
    type State = ();
    type Fetch = NonNull<Row>;
    type View = NonNull<World>;
    const IS_DENSE: bool = true;
    const NEEDS_LOCATION: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn visits_extra_rows((): &()) -> bool {
        true
    }

    fn required((): &(), _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch((): &(), world: &World, table: u32) -> NonNull<Row> {
        // A row is a slot, and nothing else.
        NonNull::from(world.storage.tables[table as usize].slots()).cast()
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: NonNull<Row>, row: usize) -> Self::Item<'w> {
        // SAFETY: the row is in use.
        unsafe { fetch.add(row).read() }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: NonNull<Row>, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the rows are in use.
        unsafe { core::slice::from_raw_parts(fetch.as_ptr(), len) }
    }

    unsafe fn fetch_aligned((): &(), stores: &AlignedStores<'_>) -> Option<NonNull<Row>> {
        stores.keys.map(NonNull::cast)
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn matches_row((): &(), _: NonNull<World>, _: RowRef) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed.
        Some(Row(row.key(unsafe { view.as_ref() })))
    }
}

// SAFETY: it only reads.
unsafe impl ReadOnlyQueryData for Row {}

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

impl QueryFilter for MainRows {
    type State = ();
    fn state(_: &Components) {}
    unsafe fn conditions(rows: &mut RowConditions) {
        rows.know_nothing_more();
    }
    fn passes((): &(), signature: &Signature) -> bool {
        !signature.has(ComponentId::ROW)
    }
    fn passes_all((): &(), stores: &AlignedStores<'_>) -> bool {
        !stores.extra
    }
}

impl QueryFilter for ExtraRows {
    type State = ();
    fn state(_: &Components) {}
    unsafe fn conditions(rows: &mut RowConditions) {
        rows.know_nothing_more();
    }
    fn visits_extra_rows((): &()) -> bool {
        true
    }
    fn passes((): &(), signature: &Signature) -> bool {
        signature.has(ComponentId::ROW)
    }
}

impl QueryFilter for AllRows {
    type State = ();
    fn state(_: &Components) {}
    unsafe fn conditions(rows: &mut RowConditions) {
        rows.know_nothing_more();
    }
    fn visits_extra_rows((): &()) -> bool {
        true
    }
    fn passes((): &(), _: &Signature) -> bool {
        true
    }
    fn passes_all((): &(), _: &AlignedStores<'_>) -> bool {
        true
    }
}
