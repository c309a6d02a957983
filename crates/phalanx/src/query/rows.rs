//! The terms that name rows, and the filters that tell main rows from extra ones.
#![allow(unsafe_code)]

use super::ids_of;
use super::matched::item_of;
use super::{Access, Aligned, Filter, Query, QueryMut, QueryRef, ReadOnlyQuery, Spot};
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::rows::{Key, Label, Row, RowError, RowId};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// The owners and the labels of a table's rows.
#[derive(Clone, Copy, Debug)]
pub struct KeyFetch {
    owners: NonNull<Entity>,
    /// None in a table of main rows.
    labels: Option<NonNull<Label>>,
}

// SAFETY: reads the owners and the labels, which no query writes.
unsafe impl Query for Key {
    type Item<'w> = Key;
    type Chunk<'w> = Keys<'w>;
    type State = ();
    type Fetch = KeyFetch;
    type View = NonNull<World>;
    const SIDES: bool = false;
    const LOCATED: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn rows((): &()) -> bool {
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

    unsafe fn aligned((): &(), stores: &Aligned<'_>) -> Option<KeyFetch> {
        stores.entities().map(|owners| KeyFetch { owners, labels: None })
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn holds((): &(), _: NonNull<World>, _: Spot) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed; where the slot is that of an extra row, it has an owner and a label.
        unsafe {
            let key = spot.key(view.as_ref());
            if !key.is_row() {
                return Some(Key::main(key));
            }
            let (_, owner, label, _) = view.as_ref().storage.extra_row(spot.index);
            Some(label.key(owner))
        }
    }
}

// SAFETY: reads only.
unsafe impl ReadOnlyQuery for Key {}

/// The keys of a table's rows.
#[derive(Clone, Copy)]
pub struct Keys<'w> {
    owners: &'w [Entity],
    labels: Option<&'w [Label]>,
}

impl<'w> Keys<'w> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The key of a row.
    pub fn get(&self, row: usize) -> Option<Key> {
        let owner = *self.owners.get(row)?;
        Some(self.labels.map_or(Key::main(owner), |labels| labels[row].key(owner)))
    }

    /// The keys, in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Key> + Clone + 'w {
        (0..self.owners.len()).map(move |row| {
            let owner = self.owners[row];
            self.labels.map_or(Key::main(owner), |labels| labels[row].key(owner))
        })
    }

    /// The entities whose rows they are.
    pub fn owners(&self) -> &'w [Entity] {
        self.owners
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

// SAFETY: reads the slots, which no query writes.
unsafe impl Query for Row {
    type Item<'w> = Row;
    type Chunk<'w> = &'w [Row];
    type State = ();
    type Fetch = NonNull<Row>;
    type View = NonNull<World>;
    const SIDES: bool = false;
    const LOCATED: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn rows((): &()) -> bool {
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

    unsafe fn aligned((): &(), stores: &Aligned<'_>) -> Option<NonNull<Row>> {
        stores.keys.map(NonNull::cast)
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn holds((): &(), _: NonNull<World>, _: Spot) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed.
        Some(Row(spot.key(unsafe { view.as_ref() })))
    }
}

// SAFETY: reads only.
unsafe impl ReadOnlyQuery for Row {}

/// Matches main rows only. This is what a query does that asks for no extra rows.
///
/// It is of use where a term asks for them: `(Key, &C)` with this filter visits each entity at most once.
#[derive(Debug)]
pub enum MainRows {}

/// Matches [extra rows](crate::Key) only.
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
/// world.extend(Key::main(tank).with_role(Role(1)), Weight(12))?;
/// world.extend(Key::main(tank).with_role(Role(2)), Weight(30))?;
/// assert_eq!(world.query::<&Weight>().iter().map(|weight| weight.0).sum::<u32>(), 40_000);
/// let cargo = world.query::<(Entity, &Weight)>().filter::<ExtraRows>();
/// assert!(cargo.iter().map(|(owner, weight)| (owner, weight.0)).eq([(tank, 12), (tank, 30)]));
/// # Ok::<(), phalanx::RowError>(())
/// ```
#[derive(Debug)]
pub enum ExtraRows {}

/// Matches main rows and [extra rows](crate::Key) alike: the query visits every row that has what it asks for.
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
/// world.extend(Key::main(tank).with_role(Role(1)), Weight(12))?;
/// assert_eq!(world.query::<&Weight>().filter::<AllRows>().iter().map(|weight| weight.0).sum::<u32>(), 40_012);
/// # Ok::<(), phalanx::RowError>(())
/// ```
#[derive(Debug)]
pub enum AllRows {}

impl Filter for MainRows {
    type State = ();
    fn state(_: &Components) {}
    fn passes((): &(), signature: &Signature) -> bool {
        !signature.has(ComponentId::ROW)
    }
    fn settled((): &(), stores: &Aligned<'_>) -> bool {
        !stores.extra
    }
}

impl Filter for ExtraRows {
    type State = ();
    fn state(_: &Components) {}
    fn rows((): &()) -> bool {
        true
    }
    fn passes((): &(), signature: &Signature) -> bool {
        signature.has(ComponentId::ROW)
    }
}

impl Filter for AllRows {
    type State = ();
    fn state(_: &Components) {}
    fn rows((): &()) -> bool {
        true
    }
    fn passes((): &(), _: &Signature) -> bool {
        true
    }
    fn settled((): &(), _: &Aligned<'_>) -> bool {
        true
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> QueryRef<'w, Q, F> {
    /// The item of a row, named by its key or its handle.
    ///
    /// # Errors
    ///
    /// If the row is not there, or is not among those that the query asks for.
    pub fn get_row(&self, row: impl RowId) -> Result<Q::Item<'w>, RowError> {
        let row = row.find(self.world)?;
        let ids = ids_of::<Q, F>(self.world);
        // SAFETY: a query that writes nothing needs no more than a shared world.
        unsafe { item_of::<Q, F>(self.world, &ids, row.0) }.map_err(|error| self.world.access_error(row, error))
    }
}

impl<Q: Query, F: Filter> QueryMut<'_, Q, F> {
    /// The item of a row, named by its key or its handle.
    ///
    /// # Errors
    ///
    /// If the row is not there, or is not among those that the query asks for.
    ///
    /// # Panics
    ///
    /// If the query would alias.
    #[track_caller]
    pub fn get_row(&mut self, row: impl RowId) -> Result<Q::Item<'_>, RowError> {
        Access::of::<Q>();
        let row = row.find(self.world)?;
        let ids = ids_of::<Q, F>(self.world);
        // SAFETY: the world is borrowed exclusively, and the query does not alias.
        unsafe { item_of::<Q, F>(self.world, &ids, row.0) }.map_err(|error| self.world.access_error(row, error))
    }
}
