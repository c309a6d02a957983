//! Queries over components that are known by id at run time.
#![allow(unsafe_code)]

use super::QueryData;
use super::dynamic_row::{Asked, Conditions, Rows};
use super::terms::set_column_tick;
use crate::alloc::{try_box, try_clone_slice, try_collect, try_push};
use crate::change_detection::{RunTicks, Track};
use crate::component::{Component, ComponentId, ComponentInfo};
use crate::error::ComponentError;
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};

/// Builds a [`DynamicQuery`], term by term.
///
/// ```
/// use phalanx::query::DynamicQuery;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
///
/// let mut world = World::new();
/// let e = world.spawn((Position(1.0), Velocity(2.0)));
/// let position = world.component_id::<Position>().unwrap();
/// let velocity = world.component_id::<Velocity>().unwrap();
///
/// let query = DynamicQuery::builder().write(position).read(velocity).build(&world)?;
/// for mut table in query.tables_mut(&mut world)? {
///     let positions = table.take_mut::<Position>()?;
///     let velocities = table.get::<Velocity>()?;
///     positions.iter_mut().zip(velocities).for_each(|(p, v)| p.0 += v.0);
/// }
/// assert_eq!(world.get::<Position>(e)?.0, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct QueryBuilder {
    terms: Vec<Term>,
    with: Vec<ComponentId>,
    without: Vec<ComponentId>,
    /// Lists of alternatives. A row matches one of each list.
    any: Vec<Vec<QueryBuilder>>,
    rows: RowKinds,
}

/// The rows that a run-time query visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RowKinds {
    #[default]
    Main,
    Extra,
    All,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) id: ComponentId,
    pub(super) writes: bool,
    optional: bool,
}

impl QueryBuilder {
    fn term(mut self, id: ComponentId, writes: bool, optional: bool) -> Self {
        self.terms.push(Term { id, writes, optional });
        self
    }

    /// Requires a component, which is read.
    #[must_use]
    pub fn read(self, id: ComponentId) -> Self {
        self.term(id, false, false)
    }

    /// Requires a component, which may be written.
    #[must_use]
    pub fn write(self, id: ComponentId) -> Self {
        self.term(id, true, false)
    }

    /// Reads a component of the entities that have it.
    #[must_use]
    pub fn optional(self, id: ComponentId) -> Self {
        self.term(id, false, true)
    }

    /// Writes a component of the entities that have it.
    #[must_use]
    pub fn optional_mut(self, id: ComponentId) -> Self {
        self.term(id, true, true)
    }

    /// Requires a component, which is not touched.
    #[must_use]
    pub fn with(mut self, id: ComponentId) -> Self {
        self.with.push(id);
        self
    }

    /// Excludes entities that have the component.
    #[must_use]
    pub fn without(mut self, id: ComponentId) -> Self {
        self.without.push(id);
        self
    }

    /// Requires that a row matches one of several alternatives.
    ///
    /// The components that alternatives read or write are named by this query, as optional ones. An alternative may have
    /// alternatives of its own. Which kinds of rows are visited is not its matter: only this query says so.
    ///
    /// ```
    /// use phalanx::query::DynamicQuery;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Walks(u32);
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Swims(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn(Walks(1));
    /// world.spawn((Walks(2), Swims(3)));
    /// world.spawn(());
    /// let [walks, swims] = [world.component_id::<Walks>().unwrap(), world.component_id::<Swims>().unwrap()];
    ///
    /// let builder = DynamicQuery::builder;
    /// let query = builder().or([builder().read(walks), builder().read(swims)]).build(&world)?;
    /// let speeds = query.rows(&world)?.map(|row| {
    ///     row.get::<Walks>().map_or(0, |walks| walks.0) + row.get::<Swims>().map_or(0, |swims| swims.0)
    /// });
    /// assert!(speeds.eq([1, 5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "any_of")]
    #[doc(alias = "AnyOf")]
    #[must_use]
    pub fn or(mut self, alternatives: impl IntoIterator<Item = QueryBuilder>) -> Self {
        self.any.push(alternatives.into_iter().collect());
        self
    }

    /// Like [`with`](QueryBuilder::with), but returns an error if allocation fails.
    #[cfg(feature = "reflect")]
    pub(crate) fn try_with(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_push(&mut self.with, id)
    }

    /// Like [`without`](QueryBuilder::without), but returns an error if allocation fails.
    #[cfg(feature = "reflect")]
    pub(crate) fn try_without(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_push(&mut self.without, id)
    }

    /// Like [`or`](QueryBuilder::or), but returns an error if allocation fails.
    #[cfg(feature = "reflect")]
    pub(crate) fn try_or(&mut self, alternatives: Vec<QueryBuilder>) -> Result<(), AllocError> {
        try_push(&mut self.any, alternatives)
    }

    /// Calls a function with this builder, those of all alternatives, and those of their alternatives, until it returns an error.
    fn try_for_each<E>(&self, each: &mut dyn FnMut(&QueryBuilder) -> Result<(), E>) -> Result<(), E> {
        each(self)?;
        self.any.iter().flatten().try_for_each(|other| other.try_for_each(each))
    }

    /// Returns what is asked of a row, apart from its kind.
    fn conditions(&self, world: &World) -> Result<Conditions, AllocError> {
        let kind = |id: &ComponentId| Ok::<_, AllocError>((*id, world.storage.components.info(*id).kind));
        let required = self.terms.iter().filter(|term| !term.optional).map(|term| &term.id).chain(&self.with);
        let (required, excluded) = (try_collect(required.map(kind))?, try_collect(self.without.iter().map(kind))?);
        let of_tables = |named: &[(ComponentId, Kind)]| {
            Signature::try_of(named.iter().filter(|(_, kind)| *kind == Kind::Table).map(|(id, _)| *id))
        };
        let (with, without) = (of_tables(&required)?, of_tables(&excluded)?);
        let each = |list: &Vec<QueryBuilder>| try_collect(list.iter().map(|other| other.conditions(world)));
        Ok(Conditions { required, excluded, with, without, any: try_collect(self.any.iter().map(each))? })
    }

    /// Visits [extra rows](crate::Key) as well as main rows. Without this and [`extra_rows`](QueryBuilder::extra_rows) the
    /// query visits main rows only.
    #[must_use]
    pub fn all_rows(mut self) -> Self {
        self.rows = RowKinds::All;
        self
    }

    /// Visits [extra rows](crate::Key) only. Of this and [`all_rows`](QueryBuilder::all_rows) the last call counts.
    #[must_use]
    pub fn extra_rows(mut self) -> Self {
        self.rows = RowKinds::Extra;
        self
    }

    /// Returns the query, for the world of these ids.
    ///
    /// # Errors
    ///
    /// - [`DynamicError::Alias`] if the query writes a component that it names another time.
    /// - [`DynamicError::NoSuchComponent`] if the world has no component with one of the ids.
    /// - [`DynamicError::Alloc`] if allocation fails.
    pub fn build(self, world: &World) -> Result<DynamicQuery, DynamicError> {
        // The reserved component is not for users: its lanes hold the owners of rows.
        let components = &world.storage.components;
        let is_known = |id: &ComponentId| !components.is_hidden(*id) && id.index() < components.len();
        // Checked before a set is made of them: a set is as large as its largest id.
        self.try_for_each(&mut |builder| {
            let mut ids = builder.terms.iter().map(|term| &term.id).chain(&builder.with).chain(&builder.without);
            match ids.find(|id| !is_known(id)) {
                Some(id) => Err(DynamicError::NoSuchComponent { id: *id }),
                None => Ok(()),
            }
        })?;
        let mut terms = try_clone_slice(&self.terms)?;
        for other in self.any.iter().flatten() {
            other.try_for_each(&mut |builder| {
                builder.terms.iter().try_for_each(|term| {
                    // What is read more than once is listed once.
                    if term.writes || terms.iter().all(|other| other.id != term.id || other.writes) {
                        try_push(&mut terms, Term { optional: true, ..*term })?;
                    }
                    Ok::<_, AllocError>(())
                })
            })?;
        }
        for (at, term) in terms.iter().enumerate() {
            if terms[..at].iter().any(|other| other.id == term.id && (other.writes || term.writes)) {
                return Err(DynamicError::Alias { component: world.storage.components.info(term.id).name() });
            }
        }
        let mut conditions = self.conditions(world)?;
        // Tables of extra rows have the reserved component.
        match self.rows {
            RowKinds::Main => conditions.without.try_insert(ComponentId::ROW)?,
            RowKinds::Extra => conditions.with.try_insert(ComponentId::ROW)?,
            RowKinds::All => {}
        }
        let is_sparse = |term: &&Term| world.storage.components.info(term.id).kind != Kind::Table;
        let optional = terms.iter().find(is_sparse).map(|term| term.id);
        let asked = Asked { conditions, extra_rows: self.rows != RowKinds::Main };
        let sparse = asked.sparse().or(optional);
        Ok(DynamicQuery {
            registry_id: world.storage.components.registry_id.number(),
            terms,
            states: (Some(try_box(asked)?), ()),
            sparse,
        })
    }
}

/// A query over components that are known by id, for the world of these ids.
#[doc(alias = "QueryBuilder")]
#[derive(Debug)]
pub struct DynamicQuery {
    /// What the ids are ids of.
    registry_id: u64,
    pub(super) terms: Vec<Term>,
    /// What is asked of a row.
    pub(super) states: (<Rows as QueryData>::State, ()),
    /// A component that is not stored in tables, if one is named.
    sparse: Option<ComponentId>,
}

impl DynamicQuery {
    /// Returns a builder without terms, which matches the main rows of all entities.
    pub fn builder() -> QueryBuilder {
        QueryBuilder::default()
    }

    /// Returns the matching tables that have rows, in the [order](super#order) of queries.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::AnotherWorld`] if the query was built for another world, and [`DynamicError::NotInTables`] if it
    /// names a component outside of tables. Then use [`rows_mut`](DynamicQuery::rows_mut).
    pub fn tables_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> Result<impl Iterator<Item = DynamicTable<'w>> + use<'w, '_>, DynamicError> {
        self.borrow_mut(world)?.tables()
    }

    /// Returns the matching tables of a query that only reads.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`tables_mut`](DynamicQuery::tables_mut), and [`DynamicError::Writes`] if the query writes.
    pub fn tables<'w>(
        &self,
        world: &'w World,
    ) -> Result<impl Iterator<Item = DynamicTable<'w>> + use<'w, '_>, DynamicError> {
        self.borrow(world)?.tables()
    }

    pub(super) fn asked(&self) -> &Asked {
        match &self.states.0 {
            Some(asked) => asked,
            None => unreachable!("set when the query was built"),
        }
    }

    pub(super) fn check(&self, world: &World) -> Result<(), DynamicError> {
        if self.registry_id == world.storage.components.registry_id.number() {
            Ok(())
        } else {
            Err(DynamicError::AnotherWorld)
        }
    }

    /// Borrows a world for a query that may write.
    pub(super) fn borrow_mut<'w>(&self, world: &'w mut World) -> Result<Borrowed<'w, '_>, DynamicError> {
        self.check(world)?;
        Ok(Borrowed { world, query: self })
    }

    /// Borrows a world for a query that only reads.
    pub(super) fn borrow<'w>(&self, world: &'w World) -> Result<Borrowed<'w, '_>, DynamicError> {
        self.check(world)?;
        match self.terms.iter().find(|term| term.writes) {
            Some(term) => Err(DynamicError::Writes { component: world.storage.components.info(term.id).name() }),
            None => Ok(Borrowed { world, query: self }),
        }
    }

    /// Counts that rows are about to be visited.
    #[cold]
    pub(super) fn count_visits(&self, world: &World, rows: u64) {
        let with_others = self.terms.len() > 1;
        self.terms.iter().for_each(|term| world.storage.components.count_visit(term.id, rows, with_others));
    }
}

/// The world of a query, borrowed as the query needs it: exclusively, or shared if the query only reads.
#[derive(Debug)]
pub(super) struct Borrowed<'w, 'q> {
    world: &'w World,
    query: &'q DynamicQuery,
}

impl<'w, 'q> Borrowed<'w, 'q> {
    /// Returns the world and the query.
    pub(super) fn parts(&self) -> (&'w World, &'q DynamicQuery) {
        (self.world, self.query)
    }

    fn tables(self) -> Result<impl Iterator<Item = DynamicTable<'w>> + use<'w, 'q>, DynamicError> {
        let (world, query) = self.parts();
        if let Some(id) = query.sparse {
            return Err(DynamicError::NotInTables { component: world.storage.components.info(id).name() });
        }
        if world.storage.counting {
            let matching = world.storage.tables.iter().filter(|table| query.asked().matches(&table.signature));
            query.count_visits(world, matching.map(|table| u64::from(table.len)).sum());
        }
        let numbered = world.storage.tables_in_order();
        let matching = numbered.filter(|(_, table)| query.asked().matches(&table.signature));
        Ok(matching.map(|(number, table)| {
            let terms = query.terms.iter().filter(|term| table.signature.has(term.id));
            let columns = terms.map(|term| DynamicColumn { term: *term, taken: false }).collect();
            DynamicTable { world, number, entities: table.entities(), columns, items: PhantomData }
        }))
    }
}

#[derive(Debug)]
struct DynamicColumn {
    term: Term,
    taken: bool,
}

/// A table that matches a run-time query.
///
/// Columns that the query writes are taken out, each once. Those that it reads can be borrowed any number of times.
pub struct DynamicTable<'w> {
    world: &'w World,
    number: u32,
    entities: &'w [Entity],
    columns: Vec<DynamicColumn>,
    items: PhantomData<&'w mut World>,
}

/// The values of one lane of a column, one after another, a value to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawLane {
    /// The first value. It is aligned and not null, also where there is no data.
    pub ptr: NonNull<u8>,
    /// The layout of a value.
    pub layout: core::alloc::Layout,
    /// The number of values.
    pub len: usize,
}

impl<'w> DynamicTable<'w> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns `true` if there are no rows, which is never so.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Returns the entities by row.
    pub fn entities(&self) -> &'w [Entity] {
        self.entities
    }

    /// Returns the named components that the table has, and whether they are written, in the order of the terms.
    pub fn components(&self) -> impl Iterator<Item = (ComponentId, bool)> + '_ {
        self.columns.iter().map(|column| (column.term.id, column.term.writes))
    }

    /// Returns `true` if the query names the component and the table has it.
    pub fn has(&self, id: ComponentId) -> bool {
        self.columns.iter().any(|column| column.term.id == id)
    }

    /// Returns the column of a component that the query reads.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::NotNamed`] if the query does not name it or the table does not have it, and
    /// [`DynamicError::Writes`] if the query writes it. Then use [`take_mut`](DynamicTable::take_mut).
    pub fn get<C: Component>(&self) -> Result<<C::Layout as Layout<C>>::Slice<'w>, DynamicError> {
        let at = self.find::<C>()?;
        if self.columns[at].term.writes {
            return Err(DynamicError::Writes { component: core::any::type_name::<C>() });
        }
        // SAFETY: the table has the component, its rows are in use, and nothing writes them: this query does not, and others
        // cannot while the world is borrowed.
        unsafe { Ok(C::Layout::slice(C::Layout::ptr(self.lane::<C>(), self.ticks()), self.len())) }
    }

    /// Takes the column of a component that the query writes.
    ///
    /// # Errors
    ///
    /// Returns [`DynamicError::NotNamed`] if the query does not name it or the table does not have it,
    /// [`DynamicError::OnlyRead`] if the query only reads it, and [`DynamicError::Taken`] if it was taken before.
    pub fn take_mut<C: Component>(&mut self) -> Result<<C::Layout as Layout<C>>::SliceMut<'w>, DynamicError> {
        let at = self.find::<C>()?;
        self.take(at)?;
        // SAFETY: the table has the component, and its rows are in use. Nothing else uses them: a component that is written is
        // named once, and its column is taken once.
        unsafe { Ok(C::Layout::slice_mut(C::Layout::ptr(self.lane::<C>(), self.ticks()), self.len())) }
    }

    /// Returns the lanes of a column that the query reads: one, one for each field, or none without data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get`](DynamicTable::get), and [`DynamicError::NoSuchComponent`].
    pub fn lanes(&self, id: ComponentId) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.find_id(id)?;
        match self.columns[at].term.writes {
            true => Err(DynamicError::Writes { component: self.world.storage.components.info(id).name() }),
            false => Ok(self.raw(id)),
        }
    }

    /// Takes the lanes of a column that the query writes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`take_mut`](DynamicTable::take_mut), and [`DynamicError::NoSuchComponent`].
    pub fn take_lanes_mut(
        &mut self,
        id: ComponentId,
    ) -> Result<impl ExactSizeIterator<Item = RawLane> + use<'w>, DynamicError> {
        let at = self.find_id(id)?;
        self.take(at)?;
        let info = self.world.storage.components.info(id);
        if info.track == Track::Row {
            self.world.storage.tables[self.number as usize].set_changed_ticks(id, self.world.change_tick());
        }
        Ok(self.raw(id))
    }

    /// Takes a column for writing.
    fn take(&mut self, at: usize) -> Result<(), DynamicError> {
        let column = &mut self.columns[at];
        let (id, world) = (column.term.id, self.world);
        world.storage.touch_component(id, |_| true);
        let component = world.storage.components.info(id).name();
        match (column.term.writes, core::mem::replace(&mut column.taken, true)) {
            (false, _) => Err(DynamicError::OnlyRead { component }),
            (true, true) => Err(DynamicError::Taken { component }),
            (true, false) => {
                set_column_tick(world, id, Some(self.number), world.change_tick());
                Ok(())
            }
        }
    }

    fn find<C: Component>(&self) -> Result<usize, DynamicError> {
        // The id of a type is found by the type, so a column is never seen as another type's.
        let id = self.world.storage.components.id::<C>();
        let found = self.columns.iter().position(|column| column.term.id == id);
        found.ok_or(DynamicError::NotNamed { component: core::any::type_name::<C>() })
    }

    fn find_id(&self, id: ComponentId) -> Result<usize, DynamicError> {
        let found = self.columns.iter().position(|column| column.term.id == id);
        found.ok_or_else(|| match id.index() < self.world.storage.components.len() {
            true => DynamicError::NotNamed { component: self.world.storage.components.info(id).name() },
            false => DynamicError::NoSuchComponent { id },
        })
    }

    /// Returns the first lane of a component, or null if the table does not have it.
    fn lane<C: Component>(&self) -> *const Lane {
        self.world.storage.lane(self.world.storage.components.id::<C>(), self.number)
    }

    fn ticks(&self) -> RunTicks {
        self.world.storage.run_ticks()
    }

    /// Returns the lanes of a component that is one of the columns.
    fn raw(&self, id: ComponentId) -> impl ExactSizeIterator<Item = RawLane> + use<'w> {
        let lanes = self.world.storage.lanes_in(id, self.number).unwrap_or(&[]);
        RawLane::of(self.world.storage.components.info(id), lanes, 0, self.len())
    }
}

impl RawLane {
    /// Returns the lanes of values of a component, `len` values of each from a row on.
    ///
    /// # Panics
    ///
    /// Panics if a lane does not have as many rows.
    pub(super) fn of<'a>(
        info: &ComponentInfo,
        lanes: &'a [Lane],
        row: u32,
        len: usize,
    ) -> impl ExactSizeIterator<Item = RawLane> + use<'a> {
        lanes[..info.value_lanes()].iter().map(move |lane| {
            assert!(row as usize + len <= lane.capacity() as usize, "rows that a lane does not have");
            let Some(ptr) = NonNull::new(lane.row(row)) else { unreachable!("a lane is not at zero") };
            RawLane { ptr, layout: lane.row_layout(), len }
        })
    }
}

impl fmt::Debug for DynamicTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicTable({} rows, {} columns)", self.len(), self.columns.len())
    }
}

/// The error of a run-time query, or of a column or row of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicError {
    /// The query would alias: it writes a component and names it twice.
    Alias {
        /// The component.
        component: &'static str,
    },
    /// The world has no component with this id.
    NoSuchComponent {
        /// The id.
        id: ComponentId,
    },
    /// The query was built for another world.
    AnotherWorld,
    /// The query writes the component, and this is for reading.
    Writes {
        /// The component.
        component: &'static str,
    },
    /// The query only reads the component.
    OnlyRead {
        /// The component.
        component: &'static str,
    },
    /// The query does not name the component, or the table does not have it.
    NotNamed {
        /// The component.
        component: &'static str,
    },
    /// The column was taken before.
    Taken {
        /// The component.
        component: &'static str,
    },
    /// Tables were asked for, and the component is not stored in them.
    NotInTables {
        /// The component.
        component: &'static str,
    },
    /// The entity is not alive or does not match.
    Entity(ComponentError),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DynamicError::Alias { component } => {
                write!(f, "the query would alias: it writes {component} and names it twice")
            }
            DynamicError::NoSuchComponent { id } => write!(f, "the world has no {id:?}"),
            DynamicError::AnotherWorld => f.write_str("the query was built for another world"),
            DynamicError::Writes { component } => write!(f, "the query writes {component}"),
            DynamicError::OnlyRead { component } => write!(f, "the query only reads {component}"),
            DynamicError::NotNamed { component } => write!(f, "no column of {component} here"),
            DynamicError::Taken { component } => write!(f, "the column of {component} was taken before"),
            DynamicError::NotInTables { component } => write!(f, "{component} is not kept in tables: ask for rows"),
            DynamicError::Entity(error) => error.fmt(f),
            DynamicError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DynamicError {}

impl From<AllocError> for DynamicError {
    fn from(error: AllocError) -> Self {
        DynamicError::Alloc(error)
    }
}

impl From<ComponentError> for DynamicError {
    fn from(error: ComponentError) -> Self {
        DynamicError::Entity(error)
    }
}
