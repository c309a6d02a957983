//! [`ComponentTable`]: the values of a component as record batches.

use crate::error::TableError;
use crate::lanes::{BLOCK, Gather, Scope};
use crate::names::{self, ENTITY, VALUE};
use crate::shapes::has_data;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use phalanx::reflect::{FieldColumn, FieldPath, Kind, Shape, StoreRef, TableRef};
use phalanx::snapshot::Registry;
use phalanx::{ComponentId, Entity, World};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The key of the metadata of a column that has the path of its field, as text queries name it.
pub const PATH_KEY: &str = "phalanx.path";
/// The key of the metadata of a schema that has the name of the component.
pub const COMPONENT_KEY: &str = "phalanx.component";
/// The key of the metadata of a schema that lists the fields without a column, because nothing is known about their types.
pub const OPAQUE_KEY: &str = "phalanx.opaque";
/// The key of the metadata of a column of texts which are JSON.
pub const JSON_KEY: &str = "phalanx.json";

/// How the values of a component become columns.
#[derive(Clone, Debug)]
pub(crate) struct ComponentColumns {
    pub(crate) id: ComponentId,
    /// The column of entities and those of the fields.
    pub(crate) schema: SchemaRef,
    /// Where the columns after that of entities come from.
    pub(crate) sources: Vec<Source>,
    /// The name that the component is registered under.
    registered: Option<&'static str>,
}

/// Where a column comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A field in one piece.
    Field(FieldPath),
    /// A struct whose fields are in lanes of their own.
    Split(Vec<(FieldRef, Source)>),
    /// A field of the readable form, by the names on the way to it.
    Json(Vec<&'static str>),
}

impl ComponentColumns {
    /// Finds the columns of a component.
    pub(crate) fn new(world: &World, registry: Option<&Registry>, id: ComponentId) -> Result<Self, TableError> {
        let unknown = || TableError::NoSuchComponent { component: format!("{id:?}") };
        let info = world.components().iter().skip(1).nth(id.index().wrapping_sub(1)).map(|(_, info)| info);
        let info = info.filter(|info| !info.is_internal()).ok_or_else(unknown)?;
        let registered = registry.and_then(|registry| registry.name_of(info));
        let mut builder = Builder { world, id, is_registered: registered.is_some(), opaque: Vec::new() };
        let mut columns = vec![(Arc::new(Field::new(ENTITY, DataType::UInt64, false)), None)];
        let fields = match FieldPath::new(world.components(), id, "") {
            Ok(path) => builder.top(path),
            Err(_) => builder.opaque(VALUE.into(), Vec::new()).into_iter().collect(),
        };
        columns.extend(fields.into_iter().map(|(field, source)| (field, Some(source))));
        let mut metadata = HashMap::from([(COMPONENT_KEY.to_owned(), info.name().to_owned())]);
        if !builder.opaque.is_empty() {
            metadata.insert(OPAQUE_KEY.to_owned(), builder.opaque.join(", "));
        }
        let (fields, sources): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let schema = Arc::new(Schema::new_with_metadata(unique(fields), metadata));
        Ok(ComponentColumns { id, schema, sources: sources.into_iter().flatten().collect(), registered })
    }

    /// Returns the array of each source for some rows of a part.
    fn arrays<'w>(
        &self,
        part: &Part<'w>,
        rows: Range<usize>,
        wanted: &[usize],
        from: &Origin<'w, '_>,
        entities: &dyn Fn() -> UInt64Array,
    ) -> Result<Vec<ArrayRef>, TableError> {
        let mut pieces = Vec::new();
        for at in wanted {
            self.sources[*at].pieces(part, &mut pieces);
        }
        let arrays = from.arrays(pieces, rows.clone())?;
        let mut arrays = arrays.into_iter();
        let mut done = Vec::with_capacity(wanted.len());
        for at in wanted {
            let column = self.schema.field(*at + 1).name();
            done.push(match &self.sources[*at] {
                Source::Json(path) => self.json_array(&entities(), path, from, column)?,
                source => source.assemble(&mut arrays).ok_or_else(|| too_long(column))?,
            });
        }
        Ok(done)
    }

    fn json_array(
        &self,
        entities: &UInt64Array,
        path: &[&str],
        from: &Origin<'_, '_>,
        column: &str,
    ) -> Result<ArrayRef, TableError> {
        let mut texts = StringBuilder::new();
        for entity in entities.values().iter().filter_map(|bits| Entity::from_bits(*bits)) {
            push_text(&mut texts, self.json(from, entity, path)?.as_deref(), column)?;
        }
        Ok(Arc::new(texts.finish()))
    }

    /// Returns a field of the readable form of a value, as JSON.
    pub(crate) fn json(
        &self,
        from: &Origin<'_, '_>,
        entity: Entity,
        path: &[&str],
    ) -> Result<Option<String>, TableError> {
        let (Some(registry), Some(name)) = (from.registry, self.registered) else { return Ok(None) };
        let failed = |error: String| TableError::Value { component: name.to_owned(), entity, error };
        let value = registry.value(from.world, entity, name).map_err(|error| failed(error.to_string()))?;
        if path.is_empty() {
            return serde_json::to_string(&value).map(Some).map_err(|error| failed(error.to_string()));
        }
        let value = serde_json::to_value(&value).map_err(|error| failed(error.to_string()))?;
        let found = path.iter().try_fold(&value, |value, name| match (value, name.parse::<usize>()) {
            (serde_json::Value::Array(list), Ok(at)) => list.get(at),
            // The readable form of a newtype is that of what it has.
            (value, Ok(_)) => Some(value),
            (value, Err(_)) => value.get(name),
        });
        Ok(found.map(ToString::to_string))
    }
}

/// Adds a text to a column.
pub(crate) fn push_text(texts: &mut StringBuilder, text: Option<&str>, column: &str) -> Result<(), TableError> {
    if texts.values_slice().len() + text.map_or(0, str::len) > i32::MAX as usize {
        return Err(too_long(column));
    }
    texts.append_option(text);
    Ok(())
}

pub(crate) fn too_long(column: &str) -> TableError {
    TableError::TooLong { column: column.to_owned() }
}

/// Gives columns that would have the same name another one.
pub(crate) fn unique(fields: Vec<FieldRef>) -> Fields {
    let mut names = HashSet::new();
    let rename = |field: FieldRef| {
        let mut name = field.name().clone();
        while !names.insert(name.clone()) {
            name.push('_');
        }
        if &name == field.name() { field } else { Arc::new(field.as_ref().clone().with_name(name)) }
    };
    fields.into_iter().map(rename).collect()
}

/// Finds the columns of one component.
struct Builder<'a> {
    world: &'a World,
    id: ComponentId,
    is_registered: bool,
    /// The fields without a column.
    opaque: Vec<String>,
}

impl Builder<'_> {
    /// Returns the columns of a component: one for each field of a struct, or one for all of it.
    fn top(&mut self, path: FieldPath) -> Vec<(FieldRef, Source)> {
        let prefix = newtype_path(self.world, self.id);
        let Kind::Struct(fields) = path.shape().kind else {
            // The only field has its name, if it has one.
            let named = prefix.iter().copied().find(|name| name.parse::<usize>().is_err());
            let (name, names) = named.map_or((VALUE.to_owned(), Vec::new()), |name| (names::column(name), prefix));
            return self.column(name, path, names).into_iter().collect();
        };
        let named = fields.iter().filter(|field| has_data(field.shape));
        named.filter_map(|field| self.field(names::column(field.name), &prefix, field.name)).collect()
    }

    /// Returns the column of a field by its name and that of the struct it is in.
    fn field(&mut self, column: String, prefix: &[&'static str], name: &'static str) -> Option<(FieldRef, Source)> {
        let names: Vec<_> = prefix.iter().copied().chain([name]).collect();
        match FieldPath::new(self.world.components(), self.id, &names.join(".")) {
            Ok(path) => self.column(column, path, names),
            Err(_) => self.opaque(column, names),
        }
    }

    fn column(&mut self, column: String, path: FieldPath, names: Vec<&'static str>) -> Option<(FieldRef, Source)> {
        let text = names.join(".");
        if path.is_split() {
            let fields = path.shape().fields().iter().filter(|field| has_data(field.shape));
            let parts: Vec<_> =
                fields.filter_map(|field| self.field(names::column(field.name), &names, field.name)).collect();
            let types: Fields = parts.iter().map(|(field, _)| field.clone()).collect();
            let field = Field::new(column, DataType::Struct(types), false).with_metadata(path_metadata(&text));
            return (!parts.is_empty()).then(|| (Arc::new(field), Source::Split(parts)));
        }
        let Some(data_type) = crate::lanes::data_type(path.shape()) else { return self.opaque(column, names) };
        let field = Field::new(column, data_type, false).with_metadata(path_metadata(&text));
        Some((Arc::new(field), Source::Field(path)))
    }

    /// Returns the column of a field of which nothing is known: its JSON, if there is any.
    fn opaque(&mut self, column: String, names: Vec<&'static str>) -> Option<(FieldRef, Source)> {
        let text = names.join(".");
        if !self.is_registered {
            self.opaque.push(if text.is_empty() { column } else { text });
            return None;
        }
        let mut metadata = path_metadata(&text);
        metadata.insert(JSON_KEY.to_owned(), "true".to_owned());
        Some((Arc::new(Field::new(column, DataType::Utf8, true).with_metadata(metadata)), Source::Json(names)))
    }
}

fn path_metadata(path: &str) -> HashMap<String, String> {
    HashMap::from([(PATH_KEY.to_owned(), path.to_owned())])
}

/// Returns the names on the way through the newtypes of a component.
fn newtype_path(world: &World, id: ComponentId) -> Vec<&'static str> {
    let (mut names, mut shape) = (Vec::new(), world.components().info(id).shape());
    while let Some(Shape { kind: Kind::Struct([field]), .. }) = shape {
        names.push(field.name);
        shape = Some(field.shape);
    }
    names
}

/// A table, or a sparse set or linear storage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'w> {
    Table(TableRef<'w>),
    Store(StoreRef<'w>),
}

impl<'w> Part<'w> {
    /// Returns the sparse set or linear storage of a component, if it has one.
    pub(crate) fn store(world: &'w World, id: ComponentId) -> Option<Part<'w>> {
        world.sparse_stores().find(|store| store.component() == id).map(Part::Store)
    }

    /// Returns a field in all rows, in pieces.
    pub(crate) fn columns(&self, path: &FieldPath) -> Vec<FieldColumn<'w>> {
        match self {
            Part::Table(table) => path.column(table).into_iter().collect(),
            Part::Store(store) => path.store_columns(store).collect(),
        }
    }
}

/// A field of all rows of a part, in pieces.
pub(crate) struct Pieces<'w> {
    shape: &'static Shape,
    columns: Vec<FieldColumn<'w>>,
}

impl Source {
    /// Finds the fields of which the column consists.
    fn pieces<'w>(&self, part: &Part<'w>, pieces: &mut Vec<Pieces<'w>>) {
        match self {
            Source::Field(path) => pieces.push(Pieces { shape: path.shape(), columns: part.columns(path) }),
            Source::Split(fields) => fields.iter().for_each(|(_, source)| source.pieces(part, pieces)),
            Source::Json(_) => {}
        }
    }

    /// Makes the column of the arrays of its fields. Returns `None` if there is none for one of them.
    pub(crate) fn assemble(&self, arrays: &mut impl Iterator<Item = Option<ArrayRef>>) -> Option<ArrayRef> {
        match self {
            Source::Field(_) => arrays.next()?,
            Source::Split(fields) => {
                let types: Fields = fields.iter().map(|(field, _)| field.clone()).collect();
                let parts: Option<Vec<_>> = fields.iter().map(|(_, source)| source.assemble(arrays)).collect();
                Some(Arc::new(StructArray::new(types, parts?, None)))
            }
            Source::Json(_) => None,
        }
    }
}

/// The world that columns come from.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'w, 'r> {
    pub(crate) world: &'w World,
    pub(crate) registry: Option<&'r Registry>,
    /// What lends memory, if the world is frozen.
    pub(crate) frozen: Option<Scope<'w>>,
}

impl<'w> Origin<'w, '_> {
    /// Returns an array of some rows for each field: over the memory of the world where that can be lent, and otherwise copied.
    /// A field whose texts are too long has none.
    fn arrays(&self, pieces: Vec<Pieces<'w>>, rows: Range<usize>) -> Result<Vec<Option<ArrayRef>>, TableError> {
        let mut arrays: Vec<Option<ArrayRef>> = Vec::with_capacity(pieces.len());
        let mut gathers = Vec::new();
        for Pieces { shape, columns } in &pieces {
            let lent = match (self.frozen, &columns[..]) {
                (Some(frozen), [column]) => frozen.lend(column, rows.clone()),
                _ => None,
            };
            if lent.is_none() {
                let mut gather = Gather::new(shape).ok_or(TableError::OutOfRange { what: "value", at: 0, len: 0 })?;
                gather.reserve(rows.len());
                gathers.push((arrays.len(), gather, columns));
            }
            arrays.push(lent);
        }
        // All fields have the same pieces. A block of them is in the cache until all fields are copied.
        let count = gathers.first().map_or(0, |(_, _, columns)| columns.len());
        let mut first = 0;
        for piece in 0..count {
            let len = gathers[0].2[piece].len();
            let wanted = rows.start.clamp(first, first + len) - first..rows.end.clamp(first, first + len) - first;
            for from in wanted.clone().step_by(BLOCK) {
                for (_, gather, columns) in &mut gathers {
                    gather.push(&columns[piece], from..wanted.end.min(from + BLOCK));
                }
            }
            first += len;
        }
        for (at, gather, _) in gathers {
            arrays[at] = gather.finish();
        }
        Ok(arrays)
    }

    /// Returns some columns and rows of a part of a component as a record batch. Columns are numbers of the schema.
    pub(crate) fn batch(
        &self,
        columns: &ComponentColumns,
        part: &Part<'w>,
        rows: Range<usize>,
        projection: Option<&[usize]>,
        entities: &dyn Fn() -> UInt64Array,
    ) -> Result<RecordBatch, TableError> {
        let all: Vec<usize>;
        let (wanted, schema) = match projection {
            Some(wanted) => (wanted, Arc::new(columns.schema.project(wanted)?)),
            None => {
                all = (0..columns.schema.fields().len()).collect();
                (&all[..], columns.schema.clone())
            }
        };
        let fields: Vec<usize> = wanted.iter().filter(|at| **at > 0).map(|at| at - 1).collect();
        let mut arrays = columns.arrays(part, rows.clone(), &fields, self, entities)?.into_iter();
        let arrays = wanted.iter().filter_map(|at| match at {
            0 => Some(Arc::new(entities()) as ArrayRef),
            _ => arrays.next(),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(schema, arrays.collect(), &options)?)
    }
}

/// Returns entities as numbers.
pub(crate) fn entity_array(entities: impl Iterator<Item = Entity>) -> UInt64Array {
    UInt64Array::new(entities.map(Entity::to_bits).collect::<Vec<_>>().into(), None)
}
