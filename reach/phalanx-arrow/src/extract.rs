//! [`extract`]: the rows that a text query selects, copied from a living world.

use crate::component_table::{
    ComponentColumns, Origin, PATH_KEY, Part, Source, entity_array, push_text, too_long, unique,
};
use crate::error::TableError;
use crate::lanes::{BLOCK, Gather};
use crate::names::{self, ENTITY, VALUE};
use arrow_array::builder::{BooleanBufferBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use phalanx::reflect::{BoundQuery, FieldPath, ShownColumn, TextQuery, Value};
use phalanx::snapshot::Registry;
use phalanx::{ComponentId, Entity, World};
use std::collections::HashMap;
use std::sync::Arc;

/// Copies the rows that a [text query](TextQuery) selects into a record batch.
///
/// The first column is `entity`. Then come the components and fields that the query shows, in its order. A column is named after
/// the component and the field, such as `position_x`, or after the component alone if that is one value. A component that an entity
/// need not have, such as `?Burning`, is null where it does not.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position { x: f32, y: f32 }
/// #[derive(Component)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(|n| (Position { x: n as f32, y: 0.0 }, Health(n))));
/// let batch = phalanx_arrow::extract(&world, "Position, Health >= 7 sort Health desc")?;
/// let names: Vec<_> = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
/// assert_eq!(names, ["entity", "position_x", "position_y", "health"]);
/// assert_eq!(batch.num_rows(), 3);
/// # Ok::<(), phalanx_arrow::TableError>(())
/// ```
///
/// # Errors
///
/// - [`TableError::Query`] if the text is not a query for this world.
/// - [`TableError::TooLong`] if a column has more than 2 GiB of text.
pub fn extract(world: &World, query: &str) -> Result<RecordBatch, TableError> {
    Extract::new(world, None, query)?.batch(world)
}

/// Like [`extract`], with the names of a registry. Fields of which nothing else is known are JSON.
///
/// # Errors
///
/// Returns the errors of [`extract`], and [`TableError::Value`] if the code of a type fails to serialize a value.
pub fn extract_with(world: &World, registry: &Registry, query: &str) -> Result<RecordBatch, TableError> {
    Extract::new(world, Some(registry), query)?.batch(world)
}

/// A text query whose rows become record batches, bound to one world.
///
/// ```
/// use phalanx::{Component, World};
/// use phalanx_arrow::Extract;
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// let wounded = { world.register_component::<Health>(); Extract::new(&world, None, "Health < 10")? };
/// assert_eq!(wounded.schema().field(1).name(), "health");
/// world.spawn(Health(3)); // a frame later
/// assert_eq!(wounded.batch(&world)?.num_rows(), 1);
/// # Ok::<(), phalanx_arrow::TableError>(())
/// ```
#[derive(Debug)]
pub struct Extract<'r> {
    query: BoundQuery,
    registry: Option<&'r Registry>,
    schema: SchemaRef,
    columns: Vec<Shown>,
}

/// Where a shown column comes from.
#[derive(Debug)]
enum Shown {
    Name,
    /// A column of a component: its number among the sources.
    Of(Arc<ComponentColumns>, usize),
    Field(FieldPath),
}

impl<'r> Extract<'r> {
    /// Finds the columns of a text query.
    ///
    /// # Errors
    ///
    /// [`TableError::Query`] if the text is not a query for this world.
    pub fn new(world: &World, registry: Option<&'r Registry>, query: &str) -> Result<Extract<'r>, TableError> {
        let registered = registry.map_or_else(Vec::new, |registry| registry.names_in(world));
        let query = TextQuery::parse(query)?.bind_with(world, &registered)?;
        let names: HashMap<ComponentId, String> =
            names::tables(world, registry).into_iter().map(|(name, id)| (id, name)).collect();
        let name_of = |id: ComponentId| names.get(&id).map_or("_", |name| name.as_str());
        let is_whole = |column: &ShownColumn| matches!(column, ShownColumn::Component(_));
        let whole: Vec<_> =
            query.columns().iter().filter(|column| is_whole(column)).flat_map(ShownColumn::component).collect();
        let (mut fields, mut columns) = (vec![Arc::new(Field::new(ENTITY, DataType::UInt64, false))], Vec::new());
        for column in query.columns() {
            match column {
                ShownColumn::Component(id) => {
                    let of = Arc::new(ComponentColumns::new(world, registry, *id)?);
                    for (at, field) in of.schema.fields().iter().skip(1).enumerate() {
                        fields.push(renamed(field, name_of(*id)));
                        columns.push(Shown::Of(of.clone(), at));
                    }
                }
                ShownColumn::Field(path) if whole.contains(&path.component()) => {}
                ShownColumn::Field(path) => {
                    let Some(data_type) = crate::lanes::data_type(path.shape()).filter(|_| !path.is_split()) else {
                        continue;
                    };
                    let last = path.as_str().split('.').filter(|part| !part.is_empty()).map(names::column);
                    let name = last.fold(String::new(), |name, part| join(&name, &part));
                    let metadata = HashMap::from([(PATH_KEY.to_owned(), path.as_str().to_owned())]);
                    let field = Field::new(if name.is_empty() { VALUE } else { &name }, data_type, true);
                    fields.push(renamed(&Arc::new(field.with_metadata(metadata)), name_of(path.component())));
                    columns.push(Shown::Field(path.clone()));
                }
                _ => {
                    fields.push(Arc::new(Field::new("name", DataType::Utf8, true)));
                    columns.push(Shown::Name);
                }
            }
        }
        Ok(Extract { query, registry, schema: Arc::new(Schema::new(unique(fields))), columns })
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Copies the rows that the query selects now.
    ///
    /// # Errors
    ///
    /// - [`TableError::Query`] if the world is not the one that the query is bound to.
    /// - [`TableError::Value`] if the code of a type fails to serialize a value.
    /// - [`TableError::TooLong`] if a column has more than 2 GiB of text.
    pub fn batch(&self, world: &World) -> Result<RecordBatch, TableError> {
        self.batch_of(world, None)
    }

    /// Copies some columns of the rows that the query selects now. The columns are numbers of the schema.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`batch`](Extract::batch), and [`TableError::Arrow`] if there is no such column.
    pub fn batch_of(&self, world: &World, projection: Option<&[usize]>) -> Result<RecordBatch, TableError> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let wanted = projection.unwrap_or(&all);
        let schema = Arc::new(self.schema.project(wanted)?);
        let mut columns: Vec<_> = wanted.iter().filter(|at| **at > 0).map(|at| self.column(*at - 1)).collect();
        let origin = Origin { world, registry: self.registry, frozen: None };
        let entities = match self.query.is_by_table(world) && !self.query.is_sorted() && self.query.limit().is_none() {
            true => self.push_tables(&origin, &mut columns)?,
            false => self.push_entities(&origin, &mut columns)?,
        };
        let mut columns = columns.into_iter();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(wanted.len());
        for at in wanted {
            arrays.push(match at {
                0 => Arc::new(entity_array(entities.iter().copied())),
                _ => {
                    let array = columns.next().and_then(ColumnBuilder::finish);
                    array.ok_or_else(|| too_long(self.schema.field(*at).name()))?
                }
            });
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(entities.len()));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    fn column(&self, at: usize) -> ColumnBuilder<'_> {
        match &self.columns[at] {
            Shown::Name => ColumnBuilder { id: None, values: Values::Name(StringBuilder::new()) },
            Shown::Field(path) => ColumnBuilder::new(path.component(), path_values(path)),
            Shown::Of(of, at) => ColumnBuilder::new(of.id, source_values(of, &of.sources[*at])),
        }
    }

    /// Copies all rows of the tables that match, column by column.
    fn push_tables(
        &self,
        origin: &Origin<'_, '_>,
        columns: &mut [ColumnBuilder<'_>],
    ) -> Result<Vec<Entity>, TableError> {
        let mut entities = Vec::new();
        for table in origin.world.tables().filter(|table| !table.is_extra()) {
            let Some(first) = table.entities().first() else { continue };
            if !self.query.matches(origin.world, *first)? {
                continue;
            }
            entities.extend_from_slice(table.entities());
            let part = Part::Table(table);
            columns.iter_mut().for_each(|column| column.values.reserve(table.len()));
            for from in (0..table.len()).step_by(BLOCK) {
                let rows = from..table.len().min(from + BLOCK);
                for column in &mut *columns {
                    if !column.values.push_rows(&part, rows.clone()) {
                        for entity in &table.entities()[rows.clone()] {
                            column.push(origin, *entity)?;
                        }
                    }
                }
            }
        }
        Ok(entities)
    }

    /// Copies the rows one by one.
    fn push_entities(
        &self,
        origin: &Origin<'_, '_>,
        columns: &mut [ColumnBuilder<'_>],
    ) -> Result<Vec<Entity>, TableError> {
        let entities: Vec<Entity> = self.query.iter(origin.world)?.collect();
        columns.iter_mut().for_each(|column| column.values.reserve(entities.len()));
        for block in entities.chunks(BLOCK) {
            for column in &mut *columns {
                block.iter().try_for_each(|entity| column.push(origin, *entity))?;
            }
        }
        Ok(entities)
    }
}

/// Puts the name of a table before that of a column.
fn join(table: &str, column: &str) -> String {
    match column.strip_prefix('_') {
        _ if table.is_empty() => column.to_owned(),
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => format!("{table}_{number}"),
        _ => format!("{table}_{column}"),
    }
}

/// Returns the name of a column of a component with that of its table before it.
pub(crate) fn column_name(field: &Field, table: &str) -> String {
    let is_value = field.name() == VALUE && field.metadata().get(PATH_KEY).is_none_or(|path| path.is_empty());
    if is_value { table.to_owned() } else { join(table, field.name()) }
}

fn renamed(field: &FieldRef, table: &str) -> FieldRef {
    Arc::new(field.as_ref().clone().with_name(column_name(field, table)).with_nullable(true))
}

/// A column that rows are copied to.
struct ColumnBuilder<'a> {
    /// The component, unless it is the column of names.
    id: Option<ComponentId>,
    values: Values<'a>,
}

/// The values of a column, copied one by one or by rows of a table.
pub(crate) enum Values<'a> {
    Name(StringBuilder),
    Field(&'a FieldPath, Gather),
    Split(Vec<(FieldRef, Values<'a>)>, BooleanBufferBuilder),
    Json(&'a ComponentColumns, &'a [&'static str], StringBuilder),
}

fn path_values(path: &FieldPath) -> Values<'_> {
    match Gather::new(path.shape()) {
        Some(gather) => Values::Field(path, gather),
        None => unreachable!("a column of a field has a type"),
    }
}

pub(crate) fn source_values<'a>(of: &'a ComponentColumns, source: &'a Source) -> Values<'a> {
    match source {
        Source::Field(path) => path_values(path),
        Source::Split(fields) => {
            let fields = fields.iter().map(|(field, source)| (field.clone(), source_values(of, source)));
            Values::Split(fields.collect(), BooleanBufferBuilder::new(0))
        }
        Source::Json(path) => Values::Json(of, path, StringBuilder::new()),
    }
}

impl<'a> ColumnBuilder<'a> {
    fn new(id: ComponentId, values: Values<'a>) -> ColumnBuilder<'a> {
        ColumnBuilder { id: Some(id), values }
    }

    /// Adds the value of an entity, or a null if it has none.
    fn push(&mut self, origin: &Origin<'_, '_>, entity: Entity) -> Result<(), TableError> {
        let row = origin.world.entity(entity).ok();
        if let Values::Name(names) = &mut self.values {
            return push_text(names, row.and_then(|row| row.name().map(|name| name.as_str())), "name");
        }
        let value = row.zip(self.id).and_then(|(row, id)| row.value(id).ok());
        self.values.push(origin, entity, value)
    }

    /// Returns the array, or `None` if its texts are too long.
    fn finish(self) -> Option<ArrayRef> {
        self.values.finish()
    }
}

impl Values<'_> {
    fn reserve(&mut self, rows: usize) {
        match self {
            Values::Field(_, gather) => gather.reserve(rows),
            Values::Split(fields, _) => fields.iter_mut().for_each(|(_, values)| values.reserve(rows)),
            Values::Name(_) | Values::Json(..) => {}
        }
    }

    /// Adds rows of a table. Returns `false` without adding any if the table does not have the column.
    fn push_rows(&mut self, part: &Part<'_>, rows: std::ops::Range<usize>) -> bool {
        match self {
            Values::Field(path, gather) => match &part.columns(path)[..] {
                [column] => {
                    gather.push(column, rows);
                    true
                }
                _ => false,
            },
            // The lanes of a component are all there, or none is.
            Values::Split(fields, valid) => {
                let is_there = fields.iter_mut().all(|(_, values)| values.push_rows(part, rows.clone()));
                if is_there {
                    valid.append_n(rows.len(), true);
                }
                is_there
            }
            Values::Name(_) | Values::Json(..) => false,
        }
    }

    /// Adds a value of the component, or a null.
    pub(crate) fn push(
        &mut self,
        origin: &Origin<'_, '_>,
        entity: Entity,
        value: Option<Value<'_>>,
    ) -> Result<(), TableError> {
        match self {
            Values::Field(path, gather) => match value.and_then(|value| value.at(path)?.column()) {
                Some(column) => gather.push(&column, 0..1),
                None => gather.push_null(),
            },
            Values::Split(fields, valid) => {
                valid.append(value.is_some());
                fields.iter_mut().try_for_each(|(_, values)| values.push(origin, entity, value))?;
            }
            Values::Json(of, path, texts) => match value {
                Some(_) => push_text(texts, of.json(origin, entity, path)?.as_deref(), &path.join("."))?,
                None => texts.append_null(),
            },
            Values::Name(_) => {}
        }
        Ok(())
    }

    /// Returns the array, or `None` if its texts are too long.
    pub(crate) fn finish(self) -> Option<ArrayRef> {
        match self {
            Values::Field(_, gather) => gather.finish(),
            Values::Split(fields, mut valid) => {
                let nulls = NullBuffer::new(valid.finish());
                let types: Fields = fields.iter().map(|(field, _)| field.clone()).collect();
                let arrays: Option<Vec<_>> = fields.into_iter().map(|(_, values)| values.finish()).collect();
                Some(Arc::new(StructArray::new(types, arrays?, Some(nulls).filter(|nulls| nulls.null_count() > 0))))
            }
            Values::Name(mut texts) | Values::Json(_, _, mut texts) => Some(Arc::new(texts.finish())),
        }
    }
}
