//! [`FrozenWorld`]: a world that lends its memory to record batches.

use crate::component_table::{ComponentColumns, Origin, Part, entity_array};
use crate::error::TableError;
use crate::lanes::Lender;
use crate::names;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use phalanx::snapshot::Registry;
use phalanx::{Component, ComponentId, World};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A world that is not changed any more, so that record batches can use its memory.
///
/// A clone is another share of the same world. Batches are shares, too: the world lives until the last of them is dropped.
///
/// ```
/// use phalanx::{Component, World};
/// use phalanx_arrow::FrozenWorld;
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(Health));
///
/// let frozen = FrozenWorld::new(world);
/// let batches = frozen.component::<Health>()?;
/// assert_eq!(batches[0].num_rows(), 1000);
/// assert_eq!(batches[0].schema().field(1).name(), "value");
///
/// let frozen = frozen.thaw().unwrap_err().into_inner(); // the batches still use it
/// drop(batches);
/// let mut world = frozen.thaw()?;
/// world.spawn(Health(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FrozenWorld {
    lender: Lender,
    extra: Arc<Extra>,
}

/// What is known beside the world.
struct Extra {
    registry: Option<Arc<Registry>>,
    /// The entities of each table as numbers, made when they are first asked for.
    entities: Box<[OnceLock<UInt64Array>]>,
    /// Likewise those of each sparse storage.
    stores: HashMap<ComponentId, OnceLock<UInt64Array>>,
}

impl FrozenWorld {
    /// Freezes a world. Nothing is copied.
    pub fn new(world: World) -> FrozenWorld {
        FrozenWorld::build(world, None)
    }

    /// Freezes a world. Components have the names of the registry, and fields of which nothing else is known are JSON.
    pub fn with_registry(world: World, registry: Arc<Registry>) -> FrozenWorld {
        FrozenWorld::build(world, Some(registry))
    }

    fn build(world: World, registry: Option<Arc<Registry>>) -> FrozenWorld {
        let entities = world.tables().map(|_| OnceLock::new()).collect();
        let stores = world.sparse_stores().map(|store| (store.component(), OnceLock::new())).collect();
        FrozenWorld { lender: Lender::new(world), extra: Arc::new(Extra { registry, entities, stores }) }
    }

    /// Returns the world.
    pub fn world(&self) -> &World {
        self.lender.world()
    }

    /// Returns the registry, if there is one.
    pub fn registry(&self) -> Option<&Registry> {
        self.extra.registry.as_deref()
    }

    /// Returns the components with the names of their tables, in alphabetical order.
    ///
    /// The name is that of the registry, or else that of the type without modules, in lower case with underscores. If several
    /// types would have the same name, they have those of their modules before it.
    pub fn components(&self) -> Vec<(String, ComponentId)> {
        names::tables(self.world(), self.registry())
    }

    /// Returns the table of a component.
    ///
    /// # Errors
    ///
    /// [`TableError::NoSuchComponent`] if the world does not know the component, or it is that of a relation or of names.
    pub fn table(&self, id: ComponentId) -> Result<ComponentTable, TableError> {
        let columns = ComponentColumns::new(self.world(), self.registry(), id)?;
        let mut parts = Vec::new();
        match self.entities_of_store(id).map(|entities| entities.len()) {
            Some(len) => parts.extend((len > 0).then_some((None, len))),
            None => {
                let tables = self.world().tables().enumerate();
                let of_main_rows = tables.filter(|(_, table)| !table.is_extra() && table.signature().has(id));
                parts.extend(of_main_rows.map(|(at, table)| (Some(at), table.len())));
            }
        }
        Ok(ComponentTable { frozen: self.clone(), columns, parts })
    }

    /// Returns a record batch for each table, or for the sparse set or linear storage, that has values of a component.
    ///
    /// The first column is `entity`, and the others are the fields. The memory of the world is used where its layout is that of
    /// Arrow; see the [crate](crate#columns). A component that the world does not know has no batches.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ComponentTable::batch`].
    pub fn component<C: Component>(&self) -> Result<Vec<RecordBatch>, TableError> {
        match self.world().component_id::<C>() {
            Some(id) => self.component_by_id(id),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the record batches of a component by its id, as [`component`](FrozenWorld::component) does.
    ///
    /// # Errors
    ///
    /// [`TableError::NoSuchComponent`] if the world does not know the component, and the errors of [`ComponentTable::batch`].
    pub fn component_by_id(&self, id: ComponentId) -> Result<Vec<RecordBatch>, TableError> {
        let table = self.table(id)?;
        (0..table.parts()).map(|part| table.batch(part, None, 0..table.part_len(part)?)).collect()
    }

    /// Returns the schema of [`entities`](FrozenWorld::entities).
    pub fn entities_schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new(names::ENTITY, DataType::UInt64, false),
            Field::new("name", DataType::Utf8, true),
        ]))
    }

    /// Returns a record batch for each table that has entities, with their names.
    ///
    /// # Errors
    ///
    /// [`TableError::TooLong`] if the names of a table have more than 2 GiB.
    pub fn entities(&self) -> Result<Vec<RecordBatch>, TableError> {
        let world = self.world();
        let tables = world.tables().enumerate().filter(|(_, table)| !table.is_extra());
        let batch = |(at, table): (usize, phalanx::reflect::TableRef<'_>)| {
            let names: Vec<Option<&str>> = table
                .entities()
                .iter()
                .map(|entity| world.entity(*entity).ok()?.name().map(|name| name.as_str()))
                .collect();
            if names.iter().flatten().map(|name| name.len()).sum::<usize>() > i32::MAX as usize {
                return Err(TableError::TooLong { column: "name".into() });
            }
            let entities: ArrayRef = Arc::new(self.entities_of_table(at));
            Ok(RecordBatch::try_new(Self::entities_schema(), vec![entities, Arc::new(StringArray::from(names))])?)
        };
        tables.map(batch).collect()
    }

    /// Returns the entities of a table by its number, which are converted once.
    fn entities_of_table(&self, at: usize) -> UInt64Array {
        let make = || {
            let table = self.world().tables().nth(at);
            entity_array(table.map_or(&[][..], |table| table.entities()).iter().copied())
        };
        self.extra.entities[at].get_or_init(make).clone()
    }

    /// Returns the entities of the sparse storage of a component, if it has one. They are converted once.
    fn entities_of_store(&self, id: ComponentId) -> Option<UInt64Array> {
        let made = self.extra.stores.get(&id)?;
        if let Some(entities) = made.get() {
            return Some(entities.clone());
        }
        let store = self.world().sparse_stores().find(|store| store.component() == id)?;
        Some(made.get_or_init(|| entity_array(store.entities())).clone())
    }

    /// Returns the world, if there are no other shares and no batches.
    ///
    /// # Errors
    ///
    /// [`StillInUse`] if there are. It has the frozen world.
    pub fn thaw(self) -> Result<World, StillInUse> {
        let FrozenWorld { lender, extra } = self;
        lender.into_world().map_err(|lender| StillInUse(FrozenWorld { lender, extra }))
    }
}

impl fmt::Debug for FrozenWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrozenWorld({} entities, {} shares)", self.world().len(), self.lender.shares())
    }
}

/// A world that batches or other shares still use: the error of [`FrozenWorld::thaw`].
#[derive(Debug)]
pub struct StillInUse(FrozenWorld);

impl StillInUse {
    /// Returns the frozen world.
    pub fn into_inner(self) -> FrozenWorld {
        self.0
    }
}

impl fmt::Display for StillInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the frozen world is still used by {} batches or clones", self.0.lender.shares().saturating_sub(1))
    }
}

impl std::error::Error for StillInUse {}

/// The values of a component in a frozen world, in parts: [`FrozenWorld::table`].
///
/// A part is an archetype table, or a whole sparse set or linear storage. [Extra rows](crate::extra_rows()) are not among them.
///
/// ```
/// use phalanx::{Component, World};
/// use phalanx_arrow::FrozenWorld;
///
/// #[derive(Component)]
/// struct Position { x: f32, y: f32 }
///
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(|n| Position { x: n as f32, y: 0.0 }));
/// let frozen = FrozenWorld::new(world);
/// let table = frozen.table(frozen.world().component_id::<Position>().unwrap())?;
/// assert_eq!((table.parts(), table.len(), table.schema().fields().len()), (1, 10, 3));
/// let batch = table.batch(0, Some(&[1]), 2..5)?; // three rows of the column `x`
/// assert_eq!((batch.num_rows(), batch.num_columns()), (3, 1));
/// # Ok::<(), phalanx_arrow::TableError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ComponentTable {
    frozen: FrozenWorld,
    columns: ComponentColumns,
    /// The number of the table, unless it is a sparse store, and the number of rows.
    parts: Vec<(Option<usize>, usize)>,
}

impl ComponentTable {
    /// Returns the component.
    pub fn component(&self) -> ComponentId {
        self.columns.id
    }

    /// Returns the schema: the column of entities, and those of the fields.
    pub fn schema(&self) -> SchemaRef {
        self.columns.schema.clone()
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of rows in all parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(_, len)| len).sum()
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of rows of a part.
    ///
    /// # Errors
    ///
    /// [`TableError::OutOfRange`] if there is no such part.
    pub fn part_len(&self, part: usize) -> Result<usize, TableError> {
        let none = TableError::OutOfRange { what: "part", at: part, len: self.parts.len() };
        self.parts.get(part).map(|(_, len)| *len).ok_or(none)
    }

    /// Returns some rows and columns of a part. Without a projection these are all columns.
    ///
    /// # Errors
    ///
    /// - [`TableError::OutOfRange`] if there is no such part or row.
    /// - [`TableError::Arrow`] if there is no such column.
    /// - [`TableError::Value`] if the code of a type fails to serialize a value.
    /// - [`TableError::TooLong`] if a column has more than 2 GiB of text.
    pub fn batch(
        &self,
        part: usize,
        projection: Option<&[usize]>,
        rows: Range<usize>,
    ) -> Result<RecordBatch, TableError> {
        let len = self.part_len(part)?;
        if rows.start > rows.end || rows.end > len {
            return Err(TableError::OutOfRange { what: "row", at: rows.end.max(rows.start), len });
        }
        let table = self.parts[part].0;
        self.frozen.lender.scope(|scope| {
            let origin = Origin { world: scope.world(), registry: self.frozen.registry(), frozen: Some(scope) };
            let found = match table {
                Some(at) => scope.world().tables().nth(at).map(Part::Table),
                None => Part::store(scope.world(), self.columns.id),
            };
            let Some(found) = found else { return Err(TableError::OutOfRange { what: "part", at: part, len: 0 }) };
            let entities = || {
                let all = match table {
                    Some(at) => Some(self.frozen.entities_of_table(at)),
                    None => self.frozen.entities_of_store(self.columns.id),
                };
                all.map_or_else(|| entity_array([].into_iter()), |all| all.slice(rows.start, rows.len()))
            };
            origin.batch(&self.columns, &found, rows.clone(), projection, &entities)
        })
    }
}
