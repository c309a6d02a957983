//! Run-time queries row by row, over components of any layout.
#![allow(unsafe_code)]

use super::driver::plan_driver;
use super::dynamic_query::{DynamicError, DynamicQuery, RawLane, Term};
use super::lookup::item_of;
use super::sparse_iter::SparseIter;
use super::{Access, AlignedStores, Candidate, Mismatch, QueryData, ReadOnlyQueryData, RowRef};
use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use crate::rows::{Key, Row};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;
use std::sync::Arc;

/// What a run-time query asks of a row.
#[derive(Debug)]
pub(super) struct Asked {
    /// In the order of their naming.
    pub(super) required: Vec<(ComponentId, Kind)>,
    pub(super) excluded: Vec<(ComponentId, Kind)>,
    /// Those of tables.
    pub(super) with: Signature,
    pub(super) without: Signature,
    /// Whether extra rows are asked for.
    pub(super) rows: bool,
}

impl Asked {
    pub(super) fn matches(&self, signature: &Signature) -> bool {
        signature.contains(&self.with) && !signature.intersects(&self.without)
    }

    /// A component that is not kept in tables, if one is named.
    pub(super) fn side(&self) -> Option<ComponentId> {
        let mut named = self.required.iter().chain(&self.excluded);
        named.find(|(_, kind)| *kind != Kind::Table).map(|(id, _)| *id)
    }
}

/// A run-time query as a term: it yields rows, whose components are found later.
pub(super) enum Rows {}

// SAFETY: touches nothing: its items are places.
unsafe impl QueryData for Rows {
    type Static = Rows;
    type Item<'w> = RowRef;
    type Chunk<'w> = ();
    type State = Option<Arc<Asked>>;
    type Fetch = ();
    type View = NonNull<World>;
    const IS_DENSE: bool = false;
    const NEEDS_LOCATION: bool = true;

    fn state(_: &Components) -> Self::State {
        None
    }

    fn access(_: &mut Access) {}

    fn matches(state: &Self::State, signature: &Signature) -> bool {
        state.as_ref().is_some_and(|asked| asked.matches(signature))
    }

    fn visits_extra_rows(state: &Self::State) -> bool {
        state.as_ref().is_some_and(|asked| asked.rows)
    }

    fn required(state: &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        state.iter().flat_map(|asked| &asked.required).for_each(|(id, kind)| each(*id, *kind));
    }

    fn excluded(state: &Self::State, each: &mut dyn FnMut(ComponentId)) {
        state.iter().flat_map(|asked| &asked.excluded).for_each(|(id, _)| each(*id));
    }

    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        let (asked, name) = (state.as_ref()?, |id: ComponentId| row.world().storage.components.info(id).name());
        let missing = asked.required.iter().find(|(id, _)| !row.has(*id)).map(|(id, _)| Mismatch::Missing(name(*id)));
        let excluded =
            || asked.excluded.iter().find(|(id, _)| row.has(*id)).map(|(id, _)| Mismatch::Excluded(name(*id)));
        missing.or_else(excluded)
    }

    unsafe fn fetch(_: &Self::State, _: &World, _: u32) {}

    unsafe fn row<'w>((): (), _: usize) -> Self::Item<'w> {
        unreachable!("run-time queries test each row")
    }

    unsafe fn chunk<'w>((): (), _: usize) -> Self::Chunk<'w> {}

    unsafe fn fetch_aligned(_: &Self::State, _: &AlignedStores<'_>) -> Option<()> {
        None
    }

    unsafe fn view(_: &Self::State, world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    unsafe fn matches_row(state: &Self::State, view: NonNull<World>, row: RowRef) -> bool {
        // SAFETY: the world is borrowed.
        let world = unsafe { view.as_ref() };
        let beside = |(id, kind): &(ComponentId, Kind)| {
            let side = if *kind == Kind::Table { None } else { Some(world.storage.sparse.of(*id)) };
            side.map(|side| side.is_some_and(|side| side.row(row.index).is_some()))
        };
        state.as_ref().is_some_and(|asked| {
            asked.matches(&world.storage.tables[row.location.table as usize].signature)
                && asked.required.iter().all(|named| beside(named) != Some(false))
                && asked.excluded.iter().all(|named| beside(named) != Some(true))
        })
    }

    unsafe fn at<'w>(state: &Self::State, view: NonNull<World>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        unsafe { Rows::matches_row(state, view, row) }.then_some(row)
    }
}

// SAFETY: touches nothing.
unsafe impl ReadOnlyQueryData for Rows {}

impl DynamicQuery {
    /// Returns the matching rows, whose components may have any layout, in the [order](super#order) of queries.
    ///
    /// ```
    /// use phalanx::query::DynamicQuery;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Burning(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Health(10), Burning(3)));
    /// world.spawn(Health(10));
    /// let [health, burning] = [world.component_id::<Health>().unwrap(), world.component_id::<Burning>().unwrap()];
    ///
    /// let query = DynamicQuery::builder().write(health).read(burning).build(&world)?;
    /// for mut row in query.rows_mut(&mut world)? {
    ///     row.take_mut::<Health>()?.0 -= row.get::<Burning>()?.0;
    /// }
    /// assert_eq!(world.get::<Health>(e)?.0, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world.
    pub fn rows_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> Result<impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_>, DynamicError> {
        self.check(world)?;
        // SAFETY: the world is borrowed exclusively.
        Ok(unsafe { self.all_rows(world) })
    }

    /// Returns the matching rows of a query that only reads.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world, and [`DynamicError::Writes`] if it
    /// writes.
    pub fn rows<'w>(
        &self,
        world: &'w World,
    ) -> Result<impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_>, DynamicError> {
        self.check_reads(world)?;
        // SAFETY: the query writes nothing.
        Ok(unsafe { self.all_rows(world) })
    }

    /// Returns the row of an entity.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world, and [`DynamicError::Entity`] if the
    /// entity is not alive or does not match.
    pub fn get_mut<'w>(&self, world: &'w mut World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        self.check(world)?;
        // SAFETY: the world is borrowed exclusively.
        unsafe { self.one(world, entity) }
    }

    /// Returns the row of an entity, for a query that only reads.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get_mut`](DynamicQuery::get_mut), and [`DynamicError::Writes`] if the query writes.
    pub fn get<'w>(&self, world: &'w World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        self.check_reads(world)?;
        // SAFETY: the query writes nothing.
        unsafe { self.one(world, entity) }
    }

    /// Returns the number of matching rows.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world.
    pub fn len(&self, world: &World) -> Result<usize, DynamicError> {
        self.check(world)?;
        match self.asked().side() {
            // SAFETY: the rows were found with these states.
            Some(_) => Ok(unsafe { self.sparse_rows(world).matching_rows::<()>(&self.states).count() }),
            None => {
                let matching = world.storage.tables.iter().filter(|table| self.asked().matches(&table.signature));
                Ok(matching.map(|table| table.len as usize).sum())
            }
        }
    }

    /// Returns `true` if no row matches.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world.
    pub fn is_empty(&self, world: &World) -> Result<bool, DynamicError> {
        self.check(world)?;
        // SAFETY: the rows were found with these states.
        Ok(unsafe { self.sparse_rows(world).matching_rows::<()>(&self.states).next().is_none() })
    }

    fn sparse_rows<'w>(&self, world: &'w World) -> SparseIter<'w, 'w, Rows> {
        let matching = world.storage.tables_in_order().filter(|(_, table)| self.asked().matches(&table.signature));
        // SAFETY: `Rows` uses its state for nothing but to find rows.
        let plan = unsafe { plan_driver::<Rows, ()>(world, &self.states, matching.map(|(number, _)| number)) };
        // SAFETY: the driver is of this world as it is, and `Rows` touches nothing.
        unsafe { SparseIter::new::<()>(world, &self.states, (plan.driver, plan.len), None) }
    }

    /// # Safety
    ///
    /// The world is the query's, borrowed for `'w` as it needs it.
    unsafe fn all_rows<'w>(&self, world: &'w World) -> impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_> {
        let mut rows = self.sparse_rows(world);
        if world.storage.counting {
            self.count_visits(world, rows.max_len() as u64);
        }
        core::iter::from_fn(move || {
            // SAFETY: the rows were found with these states.
            let row = unsafe { rows.next::<()>(&self.states) }?;
            Some(DynamicRow { world, query: self, row, taken: Vec::new(), items: PhantomData })
        })
    }

    /// # Safety
    ///
    /// The world is the query's, borrowed for `'w` as it needs it.
    unsafe fn one<'w>(&self, world: &'w World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        #[cfg(feature = "counters")]
        if world.storage.counting {
            self.terms().iter().for_each(|term| world.storage.count_lookup(term.id));
        }
        // SAFETY: `Rows` touches nothing.
        let row = unsafe { item_of::<Rows, ()>(world, &self.states, entity) };
        let row = row.map_err(DynamicError::Entity)?;
        Ok(DynamicRow { world, query: self, row, taken: Vec::new(), items: PhantomData })
    }
}

/// A row that matches a run-time query.
///
/// Components that the query writes are taken out, each once. Those that it reads can be borrowed any number of times.
pub struct DynamicRow<'w, 'q> {
    world: &'w World,
    query: &'q DynamicQuery,
    row: RowRef,
    /// By term, as far as any was: whether it was taken for writing.
    taken: Vec<bool>,
    items: PhantomData<&'w mut World>,
}

impl<'w> DynamicRow<'w, '_> {
    /// Returns the entity that owns the row.
    pub fn entity(&self) -> Entity {
        self.key().entity
    }

    /// Returns the key of the row.
    pub fn key(&self) -> Key {
        let slot = self.row.key(self.world);
        self.world.storage.key_of(Row(slot)).unwrap_or(Key::main(slot))
    }

    /// Returns the named components that the row has, and whether they are written, in the order of the terms.
    pub fn components(&self) -> impl Iterator<Item = (ComponentId, bool)> + '_ {
        let terms = self.query.terms().iter().filter(|term| self.lanes_of(term.id).is_some());
        terms.map(|term| (term.id, term.writes))
    }

    /// Returns `true` if the query names the component and the row has it.
    pub fn has(&self, id: ComponentId) -> bool {
        self.components().any(|(other, _)| other == id)
    }

    /// Returns a component that the query reads.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::NotNamed`] if the query does not name it or the row does not have it, and
    /// [`DynamicError::Writes`] if the query writes it. Then use [`take_mut`](DynamicRow::take_mut).
    pub fn get<C: Component>(&self) -> Result<<C::Layout as Layout<C>>::Ref<'w>, DynamicError> {
        let (lanes, row) = self.read(self.world.storage.components.id::<C>(), core::any::type_name::<C>())?;
        // SAFETY: the lanes are the component's, whose id was found by its type; the row is in use, and nobody writes it.
        unsafe { Ok(C::Layout::get(C::Layout::ptr(lanes, RunTicks::READ), row)) }
    }

    /// Takes a component that the query writes.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::NotNamed`] if the query does not name it or the row does not have it,
    /// [`DynamicError::OnlyRead`] if the query only reads it, and [`DynamicError::Taken`] if it was taken before.
    pub fn take_mut<C: Component>(&mut self) -> Result<<C::Layout as Layout<C>>::Mut<'w>, DynamicError> {
        let (lanes, row) = self.take(self.world.storage.components.id::<C>(), core::any::type_name::<C>())?;
        // SAFETY: as in `get`; nobody else has it, since a component that is written is named once and taken once. Rows may be
        // sent to other threads, which take theirs at the same time: all of them here, as the query has the world
        // exclusively.
        unsafe { Ok(self.world.storage.item_mut_shared::<C>(lanes, row)) }
    }

    /// Returns the lanes of a component that the query reads, each with the one value of this row.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get`](DynamicRow::get), and [`DynamicError::NoSuchComponent`].
    pub fn lanes(&self, id: ComponentId) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.read(id, self.name(id)?)?;
        // SAFETY: the row has the component there.
        Ok(unsafe { self.raw(id, at) })
    }

    /// Takes the lanes of a component that the query writes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`take_mut`](DynamicRow::take_mut), and [`DynamicError::NoSuchComponent`].
    pub fn take_lanes_mut(
        &mut self,
        id: ComponentId,
    ) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.take(id, self.name(id)?)?;
        self.world.open(id, |_| true);
        // SAFETY: the row is the world's, which the query has exclusively, and no other row has these marks.
        unsafe { Candidate::new(self.world, self.row.index, None).mark_written(id) };
        // SAFETY: the row has the component there.
        Ok(unsafe { self.raw(id, at) })
    }

    fn name(&self, id: ComponentId) -> Result<&'static str, DynamicError> {
        match id.index() < self.world.storage.components.len() {
            true => Ok(self.world.storage.components.info(id).name()),
            false => Err(DynamicError::NoSuchComponent { id }),
        }
    }

    /// The first lane of a component that the row has, and the row there.
    fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        if let Some(side) = self.world.storage.sparse.of(id) {
            return side.row(self.row.index).map(|row| (side.values().lane().cast_const(), row as usize));
        }
        let lane = self.world.storage.lane(id, self.row.location.table);
        (!lane.is_null()).then_some((lane.cast_const(), self.row.location.row as usize))
    }

    /// The number of the term that names a component.
    fn find(&self, id: ComponentId, component: &'static str) -> Result<(usize, Term), DynamicError> {
        let found = self.query.terms().iter().position(|term| term.id == id);
        found.map(|at| (at, self.query.terms()[at])).ok_or(DynamicError::NotNamed { component })
    }

    fn read(&self, id: ComponentId, component: &'static str) -> Result<(*const Lane, usize), DynamicError> {
        let (_, term) = self.find(id, component)?;
        if term.writes {
            return Err(DynamicError::Writes { component });
        }
        self.lanes_of(id).ok_or(DynamicError::NotNamed { component })
    }

    fn take(&mut self, id: ComponentId, component: &'static str) -> Result<(*const Lane, usize), DynamicError> {
        let (at, term) = self.find(id, component)?;
        if !term.writes {
            return Err(DynamicError::OnlyRead { component });
        }
        let lanes = self.lanes_of(id).ok_or(DynamicError::NotNamed { component })?;
        if self.taken.len() <= at {
            self.taken.resize(self.query.terms().len(), false);
        }
        match core::mem::replace(&mut self.taken[at], true) {
            true => Err(DynamicError::Taken { component }),
            false => Ok(lanes),
        }
    }

    /// Returns the lanes of a component, from the first on, at a row.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is one of theirs.
    unsafe fn raw(
        &self,
        id: ComponentId,
        (first, row): (*const Lane, usize),
    ) -> impl ExactSizeIterator<Item = RawLane> + use<'w> {
        let info = self.world.storage.components.info(id);
        let layouts = &info.lanes[..info.value_lanes()];
        layouts.iter().enumerate().map(move |(at, &layout)| {
            // SAFETY: the lanes are the component's and lie side by side; the row is one of theirs.
            let ptr = unsafe { (*first.add(at)).ptr().add(row * layout.size()) };
            RawLane { ptr, layout, len: 1 }
        })
    }
}

impl fmt::Debug for DynamicRow<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicRow({})", self.key())
    }
}
