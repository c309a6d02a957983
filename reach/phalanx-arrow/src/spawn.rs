//! [`spawn`]: entities from record batches.

use crate::component_table::{ComponentColumns, Source};
use crate::datum::Datum;
use crate::extract::column_name;
use crate::lanes::{data_type, entity_bytes};
use crate::shapes::{fixed, has_data, inner};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeListArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType};
use phalanx::reflect::{Choice, EditError, Kind, Scalar, Shape};
use phalanx::snapshot::Registry;
use phalanx::{Component, ComponentId, Entity, World};
use std::fmt;

/// Which columns of a record batch become which components: [`spawn`].
#[derive(Clone, Default)]
pub struct Mapping<'r> {
    components: Vec<Mapped>,
    registry: Option<&'r Registry>,
}

#[derive(Clone)]
struct Mapped {
    register: Register,
    /// What the names of the columns begin with.
    table: Option<String>,
}

#[derive(Clone, Copy)]
enum Register {
    Type(fn(&mut World) -> ComponentId),
    Id(ComponentId),
}

impl<'r> Mapping<'r> {
    /// Creates a mapping without components.
    pub fn new() -> Mapping<'r> {
        Mapping::default()
    }

    /// Adds a component. Its columns have the names that [`FrozenWorld::component`](crate::FrozenWorld::component) gives them: those
    /// of the fields, or `value`.
    #[must_use]
    pub fn component<C: Component>(self) -> Mapping<'r> {
        self.add(Register::Type(World::register_component::<C>))
    }

    /// Adds a component by its id in the world that entities are spawned in.
    #[must_use]
    pub fn component_id(self, id: ComponentId) -> Mapping<'r> {
        self.add(Register::Id(id))
    }

    /// Says that the columns of the last component have a name before those of the fields, as [`extract`](crate::extract()) gives
    /// them: `position_x`.
    ///
    /// # Panics
    ///
    /// Panics if there is no component.
    #[must_use]
    pub fn named(mut self, table: &str) -> Mapping<'r> {
        match self.components.last_mut() {
            Some(last) => last.table = Some(table.to_owned()),
            None => panic!("a name is that of the component before it"),
        }
        self
    }

    /// Reads components that are not plain data by the readable form of a registry.
    #[must_use]
    pub fn registry(mut self, registry: &'r Registry) -> Mapping<'r> {
        self.registry = Some(registry);
        self
    }

    fn add(mut self, register: Register) -> Mapping<'r> {
        self.components.push(Mapped { register, table: None });
        self
    }
}

impl fmt::Debug for Mapping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} components)", self.components.len())
    }
}

/// Why the rows of a record batch do not become entities.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The component is unknown, or it is neither plain data nor registered.
    NotImportable {
        /// The name of the component.
        component: String,
    },
    /// There is no such column.
    MissingColumn {
        /// The name of the component.
        component: String,
        /// The name of the column.
        column: String,
    },
    /// The column is of another type.
    WrongType {
        /// The name of the column.
        column: String,
        /// The type that the field has.
        expected: DataType,
        /// The type of the column.
        found: DataType,
    },
    /// A row has no value, or one that the component cannot have.
    WrongValue {
        /// The name of the component or of the column.
        column: String,
        /// The row.
        row: usize,
        /// What is wrong.
        problem: String,
    },
    /// The world refused an entity, because allocation failed or a component occurs twice.
    Refused(String),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::NotImportable { component } => {
                write!(f, "{component} is neither plain data of a known shape nor registered with a readable form")
            }
            ImportError::MissingColumn { component, column } => write!(f, "no column {column:?} for {component}"),
            ImportError::WrongType { column, expected, found } => {
                write!(f, "column {column:?} has the type {found}, and not {expected}")
            }
            ImportError::WrongValue { column, row, problem } => write!(f, "row {row} of {column}: {problem}"),
            ImportError::Refused(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for ImportError {}

/// Spawns an entity for each row of a record batch, and returns the entities in the order of the rows.
///
/// Each column must be there, of the type that a [`FrozenWorld`](crate::FrozenWorld) gives it, and without nulls. Texts may be of all
/// three types that Arrow has. Other columns, also `entity`, are ignored. Fields that are entities are taken as they are: they name
/// entities of this world.
///
/// ```
/// use phalanx::{Component, World};
/// use phalanx_arrow::{FrozenWorld, Mapping};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(plain)]
/// struct Position { x: f32, y: f32 }
///
/// let mut world = World::new();
/// world.spawn(Position { x: 1.0, y: 2.0 });
/// let batches = FrozenWorld::new(world).component::<Position>()?;
///
/// let mut other = World::new();
/// let mapping = Mapping::new().component::<Position>();
/// let made = phalanx_arrow::spawn(&mut other, &batches[0], &mapping)?;
/// assert_eq!(other.get::<Position>(made[0])?, &Position { x: 1.0, y: 2.0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`ImportError::NotImportable`] if a component is neither plain data nor registered.
/// - [`ImportError::MissingColumn`] and [`ImportError::WrongType`] if the columns are not those of the components.
/// - [`ImportError::WrongValue`] if a row has a null, or a value that the component cannot have.
/// - [`ImportError::Refused`] if a component occurs twice, or allocation fails.
///
/// All rows are checked before the first entity is spawned. On error there are no entities more than before; components may have
/// been registered.
pub fn spawn(world: &mut World, batch: &RecordBatch, mapping: &Mapping<'_>) -> Result<Vec<Entity>, ImportError> {
    let (mut plain, mut readable) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for mapped in &mapping.components {
        let id = match mapped.register {
            Register::Type(register) => register(world),
            Register::Id(id) => id,
        };
        let columns = ComponentColumns::new(world, mapping.registry, id)
            .map_err(|error| ImportError::Refused(error.to_string()))?;
        let component = world.components().info(id).name().to_owned();
        if seen.contains(&id) {
            return Err(ImportError::Refused(format!("{component} occurs twice")));
        }
        seen.push(id);
        let arrays = arrays_of(batch, &columns, mapped.table.as_deref(), &component)?;
        match is_plain(world, id) {
            true => plain.push(PlainRows::read(world, id, &arrays, batch.num_rows())?),
            false => readable.push(ReadableRows::read(mapping.registry, world, &columns, arrays, component)?),
        }
    }
    check_readable(&readable, batch.num_rows())?;
    let mut made = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let result = spawn_row(world, row, &plain, &readable, &mut made);
        if let Err(error) = result {
            for entity in made {
                let _ = world.despawn(entity);
            }
            return Err(error);
        }
    }
    Ok(made)
}

fn spawn_row(
    world: &mut World,
    row: usize,
    plain: &[PlainRows],
    readable: &[ReadableRows<'_>],
    made: &mut Vec<Entity>,
) -> Result<(), ImportError> {
    let values: Vec<_> = plain.iter().map(|rows| (rows.id, rows.row(row))).collect();
    let entity = world.spawn_bytes(&values).map_err(|error| ImportError::Refused(error.to_string()))?;
    made.push(entity);
    readable.iter().try_for_each(|rows| rows.insert(world, entity, row))
}

/// Returns `true` if values can be made of bytes.
fn is_plain(world: &World, id: ComponentId) -> bool {
    let info = world.components().info(id);
    info.is_plain() && info.shape().is_some_and(|shape| !has_data(shape) || data_type(shape).is_some())
}

/// Finds the columns of a component, and checks their types.
fn arrays_of(
    batch: &RecordBatch,
    columns: &ComponentColumns,
    table: Option<&str>,
    component: &str,
) -> Result<Vec<ArrayRef>, ImportError> {
    let mut arrays = Vec::new();
    for field in columns.schema.fields().iter().skip(1) {
        let column = table.map_or_else(|| field.name().clone(), |table| column_name(field, table));
        let Some(array) = batch.column_by_name(&column) else {
            return Err(ImportError::MissingColumn { component: component.to_owned(), column });
        };
        let found = array.data_type().clone();
        let Ok(array) = unify(array, field.data_type()) else {
            return Err(ImportError::WrongType { column, expected: field.data_type().clone(), found });
        };
        if let Some(row) = (0..array.len()).find(|row| array.is_null(*row) && !field.is_nullable()) {
            return Err(ImportError::WrongValue { column, row, problem: "there is no value".into() });
        }
        arrays.push(array);
    }
    Ok(arrays)
}

/// Returns an array as one of the expected type, if it differs in nothing but names, nulls and the type of texts.
fn unify(array: &ArrayRef, expected: &DataType) -> Result<ArrayRef, ArrowError> {
    let other = || ArrowError::CastError("another type".into());
    let found = array.data_type();
    Ok(match (expected, found) {
        (DataType::Utf8, DataType::LargeUtf8) => {
            std::sync::Arc::new(array.as_string::<i64>().iter().collect::<StringArray>())
        }
        (DataType::Utf8, DataType::Utf8View) => {
            std::sync::Arc::new(array.as_string_view().iter().collect::<StringArray>())
        }
        (DataType::Dictionary(_, value), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            let texts = unify(array, value)?;
            let keys: arrow_array::DictionaryArray<Int32Type> = texts.as_string::<i32>().iter().collect();
            std::sync::Arc::new(keys)
        }
        (DataType::Dictionary(..), DataType::Dictionary(_, value)) if value.is_string() => {
            let texts = array.as_any_dictionary();
            let values = unify(texts.values(), &DataType::Utf8)?;
            let values = values.as_string::<i32>();
            let keys = texts.normalized_keys();
            let text = |row: usize| array.is_valid(row).then(|| values.value(keys[row]));
            let keys: arrow_array::DictionaryArray<Int32Type> = (0..array.len()).map(text).collect();
            std::sync::Arc::new(keys)
        }
        (DataType::FixedSizeList(field, len), DataType::FixedSizeList(_, other_len)) if len == other_len => {
            let list = array.as_fixed_size_list();
            let values = unify(list.values(), field.data_type())?;
            no_nulls(&values, list.nulls())?;
            std::sync::Arc::new(FixedSizeListArray::try_new(field.clone(), *len, values, list.nulls().cloned())?)
        }
        (DataType::Struct(fields), DataType::Struct(_)) => {
            let of = array.as_struct();
            let mut parts = Vec::new();
            for field in fields {
                let part = unify(of.column_by_name(field.name()).ok_or_else(other)?, field.data_type())?;
                no_nulls(&part, of.nulls())?;
                parts.push(part);
            }
            std::sync::Arc::new(arrow_array::StructArray::try_new(fields.clone(), parts, of.nulls().cloned())?)
        }
        (expected, found) if expected == found => array.clone(),
        _ => return Err(other()),
    })
}

/// Refuses nulls within lists and structs that are not null themselves.
fn no_nulls(array: &ArrayRef, outer: Option<&arrow_buffer::NullBuffer>) -> Result<(), ArrowError> {
    match array.null_count() > 0 && outer.is_none_or(|outer| outer.null_count() == 0) {
        true => Err(ArrowError::CastError("a null within a value".into())),
        false => Ok(()),
    }
}

/// The values of a plain component, as bytes.
struct PlainRows {
    id: ComponentId,
    size: usize,
    bytes: Vec<u8>,
}

impl PlainRows {
    fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.size..(row + 1) * self.size]
    }

    /// Reads all rows, and checks them.
    fn read(world: &World, id: ComponentId, arrays: &[ArrayRef], rows: usize) -> Result<PlainRows, ImportError> {
        let info = world.components().info(id);
        let Some(shape) = info.shape() else {
            return Err(ImportError::NotImportable { component: info.name().to_owned() });
        };
        let (offset, value) = inner(shape);
        let mut writers = Vec::new();
        match (value.kind, arrays) {
            (Kind::Struct(fields), _) => {
                let fields = fields.iter().filter(|field| has_data(field.shape));
                for (field, array) in fields.zip(arrays) {
                    let (within, part) = inner(field.shape);
                    writers.push(Writer::new(part, offset + field.offset + within, array.as_ref()));
                }
            }
            (_, [array]) => writers.push(Writer::new(value, offset, array.as_ref())),
            _ => {}
        }
        let mut bytes = vec![0; rows * shape.size];
        for row in 0..rows {
            let value = &mut bytes[row * shape.size..(row + 1) * shape.size];
            let wrong = |problem: String| ImportError::WrongValue { column: info.name().to_owned(), row, problem };
            for writer in &writers {
                writer
                    .as_ref()
                    .map_or(Err("of another type".into()), |writer| writer.write(row, value))
                    .map_err(wrong)?;
            }
            match info.check_bytes(value) {
                Ok(()) => {}
                Err(EditError::NotAValue) => return Err(wrong("it is not a value of the component".into())),
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        Ok(PlainRows { id, size: shape.size, bytes })
    }
}

/// Writes a field of each row at its offset.
enum Writer<'a> {
    Fixed(usize, usize, arrow_buffer::Buffer, Option<Scalar>),
    Bool(usize, &'a BooleanArray),
    Entity(usize, &'a UInt64Array),
    Choice(usize, usize, Choice, Vec<&'a str>, &'a [i32]),
    Struct(Vec<Writer<'a>>),
    /// The elements: the size of each, how many there are, and the writer of the first.
    List(usize, usize, Box<Writer<'a>>),
}

impl<'a> Writer<'a> {
    /// Returns `None` if the array is not one of the shape.
    fn new(shape: &'static Shape, offset: usize, array: &'a dyn Array) -> Option<Writer<'a>> {
        if let Some(of) = fixed(shape) {
            let mut leaf = array;
            while let Some(list) = leaf.as_fixed_size_list_opt() {
                leaf = list.values().as_ref();
            }
            let data = leaf.to_data();
            let width = of.bytes * array.len() / leaf.len().max(1);
            let bytes = data.buffers().first()?.slice(data.offset() * width);
            let checked = matches!(of.scalar, Scalar::Char).then_some(of.scalar);
            return Some(Writer::Fixed(offset, of.bytes, bytes, checked));
        }
        Some(match shape.kind {
            Kind::Scalar(Scalar::Bool) => Writer::Bool(offset, array.as_boolean_opt()?),
            Kind::Scalar(Scalar::Entity) => Writer::Entity(offset, array.as_primitive_opt::<UInt64Type>()?),
            Kind::Choice(choice) => {
                let keys = array.as_dictionary_opt::<Int32Type>()?;
                let names = keys.values().as_string_opt::<i32>()?;
                let names = (0..names.len()).map(|at| names.value(at)).collect();
                Writer::Choice(offset, shape.size, choice, names, keys.keys().values())
            }
            Kind::Struct(fields) => {
                let (parts, mut writers) = (array.as_struct_opt()?.columns(), Vec::new());
                for (field, part) in fields.iter().filter(|field| has_data(field.shape)).zip(parts) {
                    let (within, shape) = inner(field.shape);
                    writers.push(Writer::new(shape, offset + field.offset + within, part.as_ref())?);
                }
                Writer::Struct(writers)
            }
            Kind::Array(element, len) => {
                let (within, shape) = inner(element);
                let values = array.as_fixed_size_list_opt()?.values();
                Writer::List(element.size, len, Box::new(Writer::new(shape, offset + within, values.as_ref())?))
            }
            _ => return None,
        })
    }

    fn write(&self, row: usize, value: &mut [u8]) -> Result<(), String> {
        match self {
            Writer::Fixed(offset, width, bytes, checked) => {
                let bytes = bytes.get(row * width..(row + 1) * width).ok_or("there is no value")?;
                if checked.is_some() {
                    let is_char = |word: &[u8]| {
                        word.try_into().is_ok_and(|word| char::from_u32(u32::from_ne_bytes(word)).is_some())
                    };
                    if !bytes.chunks(4).all(is_char) {
                        return Err("it is not a character".into());
                    }
                }
                value[*offset..offset + width].copy_from_slice(bytes);
            }
            Writer::Bool(offset, array) => value[*offset] = u8::from(array.value(row)),
            Writer::Entity(offset, array) => {
                let bits = array.value(row);
                let entity = Entity::from_bits(bits).ok_or_else(|| format!("{bits} is not an entity"))?;
                let bytes = entity_bytes(entity);
                value[*offset..offset + bytes.len()].copy_from_slice(&bytes);
            }
            Writer::Choice(offset, size, choice, names, keys) => {
                let name = names.get(keys[row] as usize).copied().unwrap_or("");
                let number = choice.number(name).ok_or_else(|| format!("{name:?} is not a variant"))?;
                let bytes = number.to_ne_bytes();
                let bytes = if cfg!(target_endian = "big") { &bytes[8 - size..] } else { &bytes[..*size] };
                value[*offset..offset + size].copy_from_slice(bytes);
            }
            Writer::Struct(fields) => fields.iter().try_for_each(|field| field.write(row, value))?,
            Writer::List(size, len, element) => {
                // The offset of the writer is that of the first element: the others are as far behind in what follows it.
                for at in 0..*len {
                    element.write(row * len + at, &mut value[at * size..])?;
                }
            }
        }
        Ok(())
    }
}

/// The values of a component that is read by a registry.
struct ReadableRows<'a> {
    registry: &'a Registry,
    name: &'static str,
    component: String,
    shape: Option<&'static Shape>,
    sources: Vec<(Source, ArrayRef)>,
}

impl<'a> ReadableRows<'a> {
    fn read(
        registry: Option<&'a Registry>,
        world: &World,
        columns: &ComponentColumns,
        arrays: Vec<ArrayRef>,
        component: String,
    ) -> Result<ReadableRows<'a>, ImportError> {
        let info = world.components().info(columns.id);
        let found = registry.and_then(|registry| Some((registry, registry.name_of(info)?)));
        let Some((registry, name)) = found else { return Err(ImportError::NotImportable { component }) };
        let sources = columns.sources.iter().cloned().zip(arrays).collect();
        Ok(ReadableRows { registry, name, component, shape: info.shape(), sources })
    }

    fn insert(&self, world: &mut World, entity: Entity, row: usize) -> Result<(), ImportError> {
        let wrong = |problem| ImportError::WrongValue { column: self.component.clone(), row, problem };
        let datum = Datum::of_component(self.shape, &self.sources, row).map_err(wrong)?;
        self.registry.insert_value(world, entity, self.name, datum).map_err(|error| wrong(error.to_string()))
    }
}

/// Reads all rows once, into a world that is thrown away.
fn check_readable(readable: &[ReadableRows<'_>], rows: usize) -> Result<(), ImportError> {
    let mut scratch = World::new();
    for rows_of in readable {
        let entity = scratch.spawn(());
        (0..rows).try_for_each(|row| rows_of.insert(&mut scratch, entity, row))?;
    }
    Ok(())
}
