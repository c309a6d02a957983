//! Run-time queries row by row, over components of any layout.
#![allow(unsafe_code)]

use super::driver::plan_driver;
use super::dynamic_query::{Borrowed, DynamicError, DynamicQuery, RawLane, Term};
use super::fetch::lanes_at;
use super::lookup::item_of;
use super::many::{find_repeated, try_array};
use super::sparse_iter::SparseIter;
use super::{
    Access, AlignedStores, Candidate, ItemRef, ItemRow, ItemRows, Mismatch, QueryData, ReadOnlyQueryData, VisitedRow,
    WorldView,
};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{ComponentRef, Kind, Layout};
use crate::rows::{Key, Row};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// What a run-time query asks of a row.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) conditions: Conditions,
    /// Whether extra rows are visited.
    pub(super) extra_rows: bool,
}

/// The components that a row must have or lack.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// The required components, in the order of their naming.
    pub(super) required: Vec<(ComponentId, Kind)>,
    pub(super) excluded: Vec<(ComponentId, Kind)>,
    /// Those of the required and of the excluded components that are stored in tables.
    pub(super) with: Signature,
    pub(super) without: Signature,
    /// Lists of alternatives. A row matches one of each list.
    pub(super) any: Vec<Vec<Conditions>>,
}

impl Asked {
    /// Returns `true` if rows of a table may match. They do if no component outside of tables is named.
    pub(super) fn matches(&self, signature: &Signature) -> bool {
        self.conditions.matches(signature, &|_| None)
    }

    /// Returns a component that is not stored in tables, if the conditions name one.
    pub(super) fn sparse(&self) -> Option<ComponentId> {
        self.conditions.sparse()
    }
}

impl Conditions {
    /// Returns `true` if a row of a table matches. `has_sparse` returns whether it has a component that is not stored in tables,
    /// or `None` if that is not known. Then the row may match.
    pub(super) fn matches(&self, signature: &Signature, has_sparse: &dyn Fn(ComponentId) -> Option<bool>) -> bool {
        let is_not = |(id, kind): &(ComponentId, Kind), has| *kind == Kind::Table || has_sparse(*id) != Some(has);
        signature.contains(&self.with)
            && !signature.intersects(&self.without)
            && self.required.iter().all(|named| is_not(named, false))
            && self.excluded.iter().all(|named| is_not(named, true))
            && self.any.iter().all(|list| list.iter().any(|other| other.matches(signature, has_sparse)))
    }

    fn sparse(&self) -> Option<ComponentId> {
        let mut named = self.required.iter().chain(&self.excluded);
        let own = named.find(|(_, kind)| *kind != Kind::Table).map(|(id, _)| *id);
        own.or_else(|| self.any.iter().flatten().find_map(Conditions::sparse))
    }

    /// Returns why a row does not match, if it does not. If no alternative of a list matches, it is the reason of the first.
    fn mismatch(&self, row: &Candidate<'_>) -> Option<Mismatch> {
        let name = |id: ComponentId| row.world().storage.components.info(id).name();
        let missing = self.required.iter().find(|(id, _)| !row.has(*id)).map(|(id, _)| Mismatch::Missing(name(*id)));
        let excluded =
            || self.excluded.iter().find(|(id, _)| row.has(*id)).map(|(id, _)| Mismatch::Excluded(name(*id)));
        let of_list = |list: &Vec<Conditions>| {
            let mut reasons = list.iter().map(|other| other.mismatch(row));
            let first = reasons.next().unwrap_or(Some(Mismatch::Missing("any of no alternatives")));
            first.filter(|_| reasons.all(|reason| reason.is_some()))
        };
        missing.or_else(excluded).or_else(|| self.any.iter().find_map(of_list))
    }
}

/// A run-time query as a term: it yields rows, whose components are found later.
pub(super) enum Rows {}

// SAFETY: it touches nothing: its items are rows.
unsafe impl QueryData for Rows {
    type Static = Rows;
    type Item<'w> = VisitedRow;
    type Chunk<'w> = ();
    type State = Option<Box<Asked>>;
    type Fetch = ();
    type View = WorldView;
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
        state.as_ref().is_some_and(|asked| asked.extra_rows)
    }

    fn required(state: &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        state.iter().flat_map(|asked| &asked.conditions.required).for_each(|(id, kind)| each(*id, *kind));
    }

    fn excluded(state: &Self::State, each: &mut dyn FnMut(ComponentId)) {
        state.iter().flat_map(|asked| &asked.conditions.excluded).for_each(|(id, _)| each(*id));
    }

    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        state.as_ref()?.conditions.mismatch(row)
    }

    unsafe fn fetch(_: &Self::State, _: &World, _: u32) {}

    unsafe fn fetch_aligned(_: &Self::State, _: &AlignedStores<'_>) -> Option<()> {
        None
    }

    unsafe fn view(_: &Self::State, world: &World, _: Option<ComponentId>) -> WorldView {
        WorldView::new(world)
    }

    fn matches_row(state: &Self::State, view: WorldView, row: VisitedRow) -> bool {
        let storage = &view.of(&row).storage;
        let has_sparse = |id| Some(storage.sparse.of(id).is_some_and(|sparse| sparse.row(row.index()).is_some()));
        let signature = &storage.tables[row.location().table as usize].signature;
        state.as_ref().is_some_and(|asked| asked.conditions.matches(signature, &has_sparse))
    }

    fn at<'w>(state: &Self::State, view: WorldView, row: ItemRef<'w>) -> Option<VisitedRow> {
        Rows::matches_row(state, view, row.row()).then_some(row.row())
    }

    fn row<'w>((): (), _: ItemRow<'w>) -> VisitedRow {
        unreachable!("run-time queries test each row")
    }

    fn chunk<'w>((): (), _: ItemRows<'w>) {}
}

// SAFETY: it touches nothing.
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
        Ok(self.borrow_mut(world)?.rows())
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
        Ok(self.borrow(world)?.rows())
    }

    /// Returns the row of an entity.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world, and [`DynamicError::Entity`] if the
    /// entity is not alive or does not match.
    pub fn get_mut<'w>(&self, world: &'w mut World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        // SAFETY: the world is borrowed exclusively.
        unsafe { self.borrow_mut(world)?.row(entity) }
    }

    /// Returns the row of an entity, for a query that only reads.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get_mut`](DynamicQuery::get_mut), and [`DynamicError::Writes`] if the query writes.
    pub fn get<'w>(&self, world: &'w World, entity: Entity) -> Result<DynamicRow<'w, '_>, DynamicError> {
        // SAFETY: a query that writes is refused.
        unsafe { self.borrow(world)?.row(entity) }
    }

    /// Returns the rows of several different entities.
    ///
    /// ```
    /// use phalanx::query::DynamicQuery;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let [thief, victim] = [world.spawn(Purse(0)), world.spawn(Purse(9))];
    /// let query = DynamicQuery::builder().write(world.component_id::<Purse>().unwrap()).build(&world)?;
    /// let [mut to, mut from] = query.get_many_mut(&mut world, [thief, victim])?;
    /// std::mem::swap(to.take_mut::<Purse>()?, from.take_mut::<Purse>()?);
    /// assert_eq!(world.get::<Purse>(thief)?.0, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first error in the order of the entities: that of [`get_mut`](DynamicQuery::get_mut), or
    /// [`ComponentError::DuplicateEntity`](crate::ComponentError::DuplicateEntity) if an entity occurs twice.
    #[doc(alias = "get_disjoint_mut")]
    pub fn get_many_mut<'w, const N: usize>(
        &self,
        world: &'w mut World,
        entities: [Entity; N],
    ) -> Result<[DynamicRow<'w, '_>; N], DynamicError> {
        let borrowed = self.borrow_mut(world)?;
        // SAFETY: the rows are of different entities.
        try_array(entities, find_repeated(&entities), |entity| unsafe { borrowed.row(entity) })
    }

    /// Returns the number of matching rows.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world.
    pub fn len(&self, world: &World) -> Result<usize, DynamicError> {
        self.check(world)?;
        if self.asked().sparse().is_some() {
            return Ok(self.sparse_rows(world).matching_rows(&self.states.0).count());
        }
        let matching = world.storage.tables.iter().filter(|table| self.asked().matches(&table.signature));
        Ok(matching.map(|table| table.len as usize).sum())
    }

    /// Returns `true` if no row matches.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world.
    pub fn is_empty(&self, world: &World) -> Result<bool, DynamicError> {
        self.check(world)?;
        Ok(self.sparse_rows(world).matching_rows(&self.states.0).next().is_none())
    }

    fn sparse_rows<'w>(&self, world: &'w World) -> SparseIter<'w, 'w, Rows> {
        let matching = world.storage.tables_in_order().filter(|(_, table)| self.asked().matches(&table.signature));
        // SAFETY: `Rows` takes states of any world: it uses them to find rows, and touches nothing. The driver is that of this
        // world as it is.
        unsafe {
            let plan = plan_driver::<Rows>(world, &self.states.0, matching.map(|(number, _)| number));
            SparseIter::new(world, &self.states.0, (plan.driver, plan.len), None)
        }
    }
}

impl<'w, 'q> Borrowed<'w, 'q> {
    fn rows(self) -> impl Iterator<Item = DynamicRow<'w, 'q>> + use<'w, 'q> {
        let (world, query) = self.parts();
        let mut rows = query.sparse_rows(world);
        if world.storage.counting {
            query.count_visits(world, rows.max_len() as u64);
        }
        core::iter::from_fn(move || {
            let row = rows.next(&query.states.0)?;
            Some(DynamicRow { world, query, row, taken: Vec::new(), items: PhantomData })
        })
    }

    /// Returns the row of an entity.
    ///
    /// # Safety
    ///
    /// No other row of the entity is in use during `'w`, if the query writes.
    unsafe fn row(&self, entity: Entity) -> Result<DynamicRow<'w, 'q>, DynamicError> {
        let (world, query) = self.parts();
        #[cfg(feature = "counters")]
        if world.storage.counting {
            query.terms.iter().for_each(|term| world.storage.components.count_lookup(term.id));
        }
        // SAFETY: `Rows` takes states of any world, and touches nothing.
        let row = unsafe { item_of::<Rows, (), true>(world, &query.states, entity) }.map_err(DynamicError::Entity)?;
        Ok(DynamicRow { world, query, row, taken: Vec::new(), items: PhantomData })
    }
}

/// A row that matches a run-time query.
///
/// Components that the query writes are taken out, each once. Those that it reads can be borrowed any number of times.
pub struct DynamicRow<'w, 'q> {
    world: &'w World,
    query: &'q DynamicQuery,
    row: VisitedRow,
    /// Whether the component of each term was taken for writing. It is empty until one was.
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
        let row = self.row();
        self.world.storage.key_of(row).unwrap_or(Key::main(row.0))
    }

    /// Returns the row.
    pub(crate) fn row(&self) -> Row {
        Row(self.row.key(self.world))
    }

    /// Returns the named components that the row has, and whether they are written, in the order of the terms.
    pub fn components(&self) -> impl Iterator<Item = (ComponentId, bool)> + '_ {
        let terms = self.query.terms.iter().filter(|term| self.lanes_of(term.id).is_some());
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
        // SAFETY: the lanes are the component's, whose id was found by its type. The row is in use, and nothing writes it: this
        // query does not, and others cannot while the world is borrowed.
        unsafe { Ok(ComponentRef::<C>::new(lanes, row).get()) }
    }

    /// Takes a component that the query writes.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::NotNamed`] if the query does not name it or the row does not have it,
    /// [`DynamicError::OnlyRead`] if the query only reads it, and [`DynamicError::Taken`] if it was taken before.
    pub fn take_mut<C: Component>(&mut self) -> Result<<C::Layout as Layout<C>>::Mut<'w>, DynamicError> {
        let (lanes, row) = self.take(self.world.storage.components.id::<C>(), core::any::type_name::<C>())?;
        // SAFETY: the lanes are the component's, whose id was found by its type, and the row is in use. Nothing else uses the
        // value: a component that is written is named once and taken once. Rows may be sent to other threads, which take
        // theirs at the same time: all of them here, as the query has the world exclusively.
        unsafe { Ok(ComponentRef::<C>::new(lanes, row).get_mut::<true>(&self.world.storage.sparse.clock)) }
    }

    /// Returns the lanes of a component that the query reads, each with the one value of this row.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get`](DynamicRow::get), and [`DynamicError::NoSuchComponent`].
    pub fn lanes(&self, id: ComponentId) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        self.read(id, self.name(id)?)?;
        Ok(self.raw(id))
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
        self.take(id, self.name(id)?)?;
        self.world.storage.touch_component(id, |_| true);
        Candidate::of_row(self.world, self.row, None).mark_written(id);
        Ok(self.raw(id))
    }

    /// Returns the lanes of a component, each with the one value of this row. There are none if the row does not have it.
    fn raw(&self, id: ComponentId) -> impl ExactSizeIterator<Item = RawLane> + use<'w> {
        let found = Candidate::of_row(self.world, self.row, None).value_lanes(id);
        let (info, (lanes, row)) = (self.world.storage.components.info(id), found.unwrap_or((&[], 0)));
        RawLane::of(info, lanes, row, 1)
    }

    fn name(&self, id: ComponentId) -> Result<&'static str, DynamicError> {
        match id.index() < self.world.storage.components.len() {
            true => Ok(self.world.storage.components.info(id).name()),
            false => Err(DynamicError::NoSuchComponent { id }),
        }
    }

    /// Returns the first lane of a component and the row's position there, if the row has it.
    fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        lanes_at(self.world, id, self.row.index(), || self.row.location())
    }

    /// Returns the term that names a component, and its number.
    fn find(&self, id: ComponentId, component: &'static str) -> Result<(usize, Term), DynamicError> {
        let found = self.query.terms.iter().position(|term| term.id == id);
        found.map(|at| (at, self.query.terms[at])).ok_or(DynamicError::NotNamed { component })
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
            self.taken.resize(self.query.terms.len(), false);
        }
        match core::mem::replace(&mut self.taken[at], true) {
            true => Err(DynamicError::Taken { component }),
            false => Ok(lanes),
        }
    }
}

impl fmt::Debug for DynamicRow<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicRow({})", self.key())
    }
}
