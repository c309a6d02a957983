//! Queries over components that are known by id, row by row: wherever the components are kept.
#![allow(unsafe_code)]

use super::dynamic::{DynamicError, DynamicQuery, RawLane, Term};
use super::matched::item_of;
use super::walk::{Walk, course};
use super::{Access, Aligned, Candidate, Mismatch, Query, ReadOnlyQuery, Spot};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use crate::rows::{Key, Row};
use crate::signature::Signature;
use crate::track::Look;
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
unsafe impl Query for Rows {
    type Item<'w> = Spot;
    type Chunk<'w> = ();
    type State = Option<Arc<Asked>>;
    type Fetch = ();
    type View = NonNull<World>;
    const SIDES: bool = true;
    const LOCATED: bool = true;

    fn state(_: &Components) -> Self::State {
        None
    }

    fn access(_: &mut Access) {}

    fn matches(state: &Self::State, signature: &Signature) -> bool {
        state.as_ref().is_some_and(|asked| asked.matches(signature))
    }

    fn rows(state: &Self::State) -> bool {
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
        unreachable!("run-time queries are walked")
    }

    unsafe fn chunk<'w>((): (), _: usize) -> Self::Chunk<'w> {}

    unsafe fn aligned(_: &Self::State, _: &Aligned<'_>) -> Option<()> {
        None
    }

    unsafe fn view(_: &Self::State, world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    unsafe fn holds(state: &Self::State, view: NonNull<World>, spot: Spot) -> bool {
        // SAFETY: the world is borrowed.
        let world = unsafe { view.as_ref() };
        let beside = |(id, kind): &(ComponentId, Kind)| {
            let side = if *kind == Kind::Table { None } else { Some(world.storage.sides.of(*id)) };
            side.map(|side| side.is_some_and(|side| side.row(spot.index).is_some()))
        };
        state.as_ref().is_some_and(|asked| {
            asked.matches(&world.storage.tables[spot.location.table as usize].signature)
                && asked.required.iter().all(|named| beside(named) != Some(false))
                && asked.excluded.iter().all(|named| beside(named) != Some(true))
        })
    }

    unsafe fn at<'w>(state: &Self::State, view: NonNull<World>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        unsafe { Rows::holds(state, view, spot) }.then_some(spot)
    }
}

// SAFETY: touches nothing.
unsafe impl ReadOnlyQuery for Rows {}

impl DynamicQuery {
    /// The rows that match, one by one, wherever their components are kept: in the order of the driver, as for any
    /// [query](super).
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
    /// If it is not the world that the query was built for.
    pub fn rows_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> Result<impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_>, DynamicError> {
        self.check(world)?;
        // SAFETY: the world is borrowed exclusively.
        Ok(unsafe { self.walked(world) })
    }

    /// The rows that match, of a query that writes nothing.
    ///
    /// # Errors
    ///
    /// If it is not the world that the query was built for, or if the query writes; the error names what.
    pub fn rows<'w>(
        &self,
        world: &'w World,
    ) -> Result<impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_>, DynamicError> {
        self.check_reads(world)?;
        // SAFETY: the query writes nothing.
        Ok(unsafe { self.walked(world) })
    }

    /// The row of an entity.
    ///
    /// # Errors
    ///
    /// If it is not the world that the query was built for, or if the entity is not alive or not among those that are asked
    /// for.
    pub fn get_mut<'w>(&self, world: &'w mut World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        self.check(world)?;
        // SAFETY: the world is borrowed exclusively.
        unsafe { self.one(world, entity) }
    }

    /// The row of an entity, of a query that writes nothing.
    ///
    /// # Errors
    ///
    /// As [`get_mut`](DynamicQuery::get_mut), or if the query writes.
    pub fn get<'w>(&self, world: &'w World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        self.check_reads(world)?;
        // SAFETY: the query writes nothing.
        unsafe { self.one(world, entity) }
    }

    /// How many rows match.
    ///
    /// # Errors
    ///
    /// If it is not the world that the query was built for.
    pub fn len(&self, world: &World) -> Result<usize, DynamicError> {
        self.check(world)?;
        match self.asked().side() {
            // SAFETY: the walk was made with these ids.
            Some(_) => Ok(unsafe { self.walk(world).spots::<()>(&self.ids).count() }),
            None => {
                let matching = world.storage.tables.iter().filter(|table| self.asked().matches(&table.signature));
                Ok(matching.map(|table| table.len as usize).sum())
            }
        }
    }

    /// Whether none does.
    ///
    /// # Errors
    ///
    /// If it is not the world that the query was built for.
    pub fn is_empty(&self, world: &World) -> Result<bool, DynamicError> {
        self.check(world)?;
        // SAFETY: the walk was made with these ids.
        Ok(unsafe { self.walk(world).spots::<()>(&self.ids).next().is_none() })
    }

    fn walk<'w>(&self, world: &'w World) -> Walk<'w, 'w, Rows> {
        let matching = world.storage.tables_in_order().filter(|(_, table)| self.asked().matches(&table.signature));
        let tables: Vec<u32> = matching.map(|(number, _)| number).collect();
        // SAFETY: `Rows` finds nothing by its ids but the rows.
        let course = unsafe { course::<Rows, ()>(world, &self.ids, tables.iter().copied()) };
        // SAFETY: the course is of this world as it is, and `Rows` touches nothing.
        unsafe { Walk::new::<()>(world, &self.ids, (course.lead, course.len), tables.into()) }
    }

    /// # Safety
    ///
    /// The world is the query's, borrowed for `'w` as it needs it.
    unsafe fn walked<'w>(&self, world: &'w World) -> impl Iterator<Item = DynamicRow<'w, '_>> + use<'w, '_> {
        let mut walk = self.walk(world);
        if world.storage.counting {
            self.note_visits(world, walk.most() as u64);
        }
        core::iter::from_fn(move || {
            // SAFETY: the walk was made with these ids.
            let spot = unsafe { walk.next::<()>(&self.ids) }?;
            Some(DynamicRow { world, query: self, spot, taken: Vec::new(), items: PhantomData })
        })
    }

    /// # Safety
    ///
    /// The world is the query's, borrowed for `'w` as it needs it.
    unsafe fn one<'w>(&self, world: &'w World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        #[cfg(feature = "counters")]
        if world.storage.counting {
            self.terms().iter().for_each(|term| world.note_find(term.id));
        }
        // SAFETY: `Rows` touches nothing.
        let spot = unsafe { item_of::<Rows, ()>(world, &self.ids, entity) };
        let spot = spot.map_err(DynamicError::Entity)?;
        Ok(DynamicRow { world, query: self, spot, taken: Vec::new(), items: PhantomData })
    }
}

/// A row that a run-time query matches.
///
/// Components that the query writes are taken out, each once; those that it reads can be had any number of times.
pub struct DynamicRow<'w, 'q> {
    world: &'w World,
    query: &'q DynamicQuery,
    spot: Spot,
    /// By term, as far as any was: whether it was taken for writing.
    taken: Vec<bool>,
    items: PhantomData<&'w mut World>,
}

impl<'w> DynamicRow<'w, '_> {
    /// The entity whose row it is.
    pub fn entity(&self) -> Entity {
        self.key().entity
    }

    /// The name of the row.
    pub fn key(&self) -> Key {
        let slot = self.spot.key(self.world);
        self.world.key_of(Row(slot)).unwrap_or(Key::main(slot))
    }

    /// The components that the query names and the row has, and whether they are written, in the order of the terms.
    pub fn components(&self) -> impl Iterator<Item = (ComponentId, bool)> + '_ {
        let terms = self.query.terms().iter().filter(|term| self.lanes_of(term.id).is_some());
        terms.map(|term| (term.id, term.writes))
    }

    /// Whether the query names the component and the row has it.
    pub fn has(&self, id: ComponentId) -> bool {
        self.components().any(|(other, _)| other == id)
    }

    /// A component that the query reads.
    ///
    /// # Errors
    ///
    /// If the query does not name it or the row does not have it; or if the query writes it: then it is to be
    /// [taken](DynamicRow::take_mut).
    pub fn get<C: Component>(&self) -> Result<<C::Layout as Layout<C>>::Ref<'w>, DynamicError> {
        let (lanes, row) = self.read(self.world.storage.components.id::<C>(), core::any::type_name::<C>())?;
        // SAFETY: the lanes are the component's, whose id was found by its type; the row is in use, and nobody writes it.
        unsafe { Ok(C::Layout::get(C::Layout::ptr(lanes, Look::READ), row)) }
    }

    /// A component that the query writes. It can be had once.
    ///
    /// # Errors
    ///
    /// If the query does not name it or only reads it, if the row does not have it, or if it was taken before.
    pub fn take_mut<C: Component>(&mut self) -> Result<<C::Layout as Layout<C>>::Mut<'w>, DynamicError> {
        let (lanes, row) = self.take(self.world.storage.components.id::<C>(), core::any::type_name::<C>())?;
        // SAFETY: as in `get`; nobody else has it, since a component that is written is named once and taken once. Rows may be
        // sent to other threads, which take theirs at the same time: all of them here, as the query has the world
        // exclusively.
        unsafe { Ok(self.world.item_mut_shared::<C>(lanes, row)) }
    }

    /// The lanes of a component that the query reads, each with the one value of this row.
    ///
    /// # Errors
    ///
    /// As [`get`](DynamicRow::get).
    pub fn lanes(&self, id: ComponentId) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.read(id, self.name(id)?)?;
        // SAFETY: the row has the component there.
        Ok(unsafe { self.raw(id, at) })
    }

    /// The lanes of a component that the query writes. It can be had once.
    ///
    /// # Errors
    ///
    /// As [`take_mut`](DynamicRow::take_mut).
    pub fn take_lanes_mut(
        &mut self,
        id: ComponentId,
    ) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.take(id, self.name(id)?)?;
        self.world.open(id, |_| true);
        // SAFETY: the row is the world's, which the query has exclusively, and no other row has these marks.
        unsafe { self.world.storage.mark_written(id, Candidate::new(self.world, self.spot.index, None)) };
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
        if let Some(side) = self.world.storage.sides.of(id) {
            return side.row(self.spot.index).map(|row| (side.values().lane().cast_const(), row as usize));
        }
        let lane = self.world.storage.lane(id, self.spot.location.table);
        (!lane.is_null()).then_some((lane.cast_const(), self.spot.location.row as usize))
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
