//! [`WorldSeed`]: reads worlds in any format of serde.
//!
//! What is read is first written as a snapshot, in memory, and then loaded. So it is validated like a snapshot.

use super::column_builder::ColumnBuilder;
use super::error::SaveError;
use super::format::{COMPONENTS, END, RESOURCE, ROWS, SLOTS, SPARSE, TABLE};
use super::readable::{FIELDS, FORMAT, Readable, ReadableResource};
use super::registry::{Entry, Registry};
use super::saver::{GroupParts, HOLE, put_component, put_groups};
use super::writer::Writer;
use crate::component::Components;
use crate::layout::Kind;
use crate::runs::Runs;
use crate::world::World;
use core::any::Any;
use core::fmt;
use phalanx_store::AllocError;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reads a world in any format of serde. See [`Registry::serialize`].
#[derive(Clone, Copy, Debug)]
pub struct WorldSeed<'a>(pub &'a Registry);

impl<'de> DeserializeSeed<'de> for WorldSeed<'_> {
    type Value = World;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<World, D::Error> {
        let mut file = Vec::new();
        let mut out = Writer::new(&mut file).map_err(D::Error::custom)?;
        deserializer.deserialize_struct("World", FIELDS, Reading { registry: self.0, out: &mut out })?;
        out.finish().map_err(D::Error::custom)?;
        self.0.load(&*file).map_err(D::Error::custom)
    }
}

/// Reads the fields of a world in order, and writes them as a snapshot.
struct Reading<'a, 'w> {
    registry: &'a Registry,
    out: &'a mut Writer<'w>,
}

/// Implements a visitor that reads the fields of a struct in order, from a map or a list.
macro_rules! ordered {
    ($name:literal, $fields:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "struct {} with {}, in this order", $name, $fields.join(", "))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
            self.read(&mut InSeq(access))
        }
        fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
            self.read(&mut InMap(access))
        }
    };
}

/// The fields of a struct, in order.
trait Fields<'de> {
    type Error: serde::de::Error;
    fn field<T: DeserializeSeed<'de>>(&mut self, name: &'static str, seed: T) -> Result<T::Value, Self::Error>;
    fn rest(&mut self) -> Result<(), Self::Error>;
}

struct InSeq<A>(A);
impl<'de, A: SeqAccess<'de>> Fields<'de> for InSeq<A> {
    type Error = A::Error;
    fn field<T: DeserializeSeed<'de>>(&mut self, name: &'static str, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_element_seed(seed)?.ok_or_else(|| A::Error::missing_field(name))
    }
    fn rest(&mut self) -> Result<(), A::Error> {
        Ok(())
    }
}

struct InMap<A>(A);
impl<'de, A: MapAccess<'de>> Fields<'de> for InMap<A> {
    type Error = A::Error;
    fn field<T: DeserializeSeed<'de>>(&mut self, name: &'static str, seed: T) -> Result<T::Value, A::Error> {
        match self.0.next_key::<std::borrow::Cow<'de, str>>()? {
            Some(found) if found == name => self.0.next_value_seed(seed),
            Some(found) => Err(A::Error::custom(format_args!("the field {found} where {name} was expected"))),
            None => Err(A::Error::missing_field(name)),
        }
    }
    fn rest(&mut self) -> Result<(), A::Error> {
        match self.0.next_entry::<String, IgnoredAny>()? {
            None => Ok(()),
            Some((name, _)) => Err(A::Error::custom(format_args!("the field {name}, which is not known"))),
        }
    }
}

fn plain<T>() -> core::marker::PhantomData<T> {
    core::marker::PhantomData
}

impl Reading<'_, '_> {
    fn read<'de, A: Fields<'de>>(self, fields: &mut A) -> Result<(), A::Error> {
        let Reading { registry, out } = self;
        let failed = |error: SaveError| A::Error::custom(error);
        let format: u32 = fields.field("format", plain())?;
        if format != FORMAT {
            return Err(A::Error::custom(format_args!(
                "the readable form has version {format}; this library reads version {FORMAT}"
            )));
        }
        let names: Vec<(String, u32)> = fields.field("components", plain())?;
        let mut entries = Vec::new();
        out.begin(COMPONENTS, 0).map_err(failed)?;
        out.put_u32(names.len() as u32).map_err(failed)?;
        for (name, version) in &names {
            let entry = registry.by_name(name).map(|at| &registry.entries[at]);
            let entry = entry.ok_or_else(|| A::Error::custom(format_args!("{name} is not registered")))?;
            if *version != entry.version {
                return Err(A::Error::custom(format_args!("{name} is of version {version}, not {}", entry.version)));
            }
            put_component(entry, out).map_err(failed)?;
            entries.push(entry);
        }
        out.end().map_err(failed)?;
        let slots: Vec<u32> = fields.field("slots", plain())?;
        let free: Vec<u32> = fields.field("free", plain())?;
        out.begin(SLOTS, 0).map_err(failed)?;
        put_list(out, &slots).and_then(|()| put_list(out, &free)).and_then(|()| out.end()).map_err(failed)?;
        fields.field("tables", Each(Tables { entries: &entries, out: &mut *out }))?;
        let rows: Vec<[u32; 4]> = fields.field("rows", plain())?;
        if !rows.is_empty() {
            out.begin(ROWS, 0).map_err(failed)?;
            out.put_u32(rows.len() as u32).map_err(failed)?;
            out.put_u32s(rows.iter().flatten().copied()).and_then(|()| out.end()).map_err(failed)?;
        }
        fields.field("sparse", Each(SparseSeed { entries: &entries, out: &mut *out }))?;
        let groups: Vec<GroupParts> = fields.field("groups", plain())?;
        if !groups.is_empty() {
            put_groups(&groups, out).map_err(failed)?;
        }
        fields.field("resources", Each(Resources { registry, out: &mut *out }))?;
        out.begin(END, 0).and_then(|()| out.end()).map_err(failed)?;
        fields.rest()
    }
}

fn put_list(out: &mut Writer<'_>, list: &[u32]) -> Result<(), SaveError> {
    out.put_u32(list.len() as u32)?;
    out.put_u32s(list.iter().copied())
}

impl<'de> Visitor<'de> for Reading<'_, '_> {
    type Value = ();
    ordered!("World", FIELDS);
}

/// Reads the elements of a list one after another.
trait Element {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// Reads a list of such elements.
struct Each<T>(T);

impl<'de, T: Element> DeserializeSeed<'de> for Each<T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Element> Visitor<'de> for Each<T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        struct One<'a, T>(&'a mut T);
        impl<'de, T: Element> DeserializeSeed<'de> for One<'_, T> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                self.0.one(deserializer)
            }
        }
        while list.next_element_seed(One(&mut self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads tables.
struct Tables<'a, 'w> {
    entries: &'a [&'a Entry],
    out: &'a mut Writer<'w>,
}

impl Element for Tables<'_, '_> {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let table = Tables { entries: self.entries, out: &mut *self.out };
        deserializer.deserialize_struct("Table", TABLE_FIELDS, table)
    }
}

const TABLE_FIELDS: &[&str] = &["extra", "components", "slots", "columns"];

impl<'de> Visitor<'de> for Tables<'_, '_> {
    type Value = ();
    ordered!("Table", TABLE_FIELDS);
}

impl Tables<'_, '_> {
    fn read<'de, A: Fields<'de>>(self, fields: &mut A) -> Result<(), A::Error> {
        let failed = |error: SaveError| A::Error::custom(error);
        let extra: bool = fields.field("extra", plain())?;
        let components: Vec<u32> = fields.field("components", plain())?;
        let slots: Vec<u32> = fields.field("slots", plain())?;
        let out = self.out;
        out.begin(TABLE, 0).and_then(|()| out.put_u8(u8::from(extra))).map_err(failed)?;
        put_list(out, &components).and_then(|()| put_list(out, &slots)).map_err(failed)?;
        let columns = Columns { entries: self.entries, components: &components, rows: slots.len(), out: &mut *out };
        fields.field("columns", Each(columns))?;
        out.end().map_err(failed)?;
        fields.rest()
    }
}

/// Reads the columns of a table, one after another.
struct Columns<'a, 'w> {
    entries: &'a [&'a Entry],
    components: &'a [u32],
    rows: usize,
    out: &'a mut Writer<'w>,
}

impl Element for Columns<'_, '_> {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let none = || D::Error::custom("a column of a component that there is not");
        let (number, rest) = self.components.split_first().ok_or_else(none)?;
        self.components = rest;
        let entry = self.entries.get(*number as usize).ok_or_else(none)?;
        Column { entry, count: self.rows, out: &mut *self.out }.deserialize(deserializer)
    }
}

/// Reads `count` values of a component.
struct Column<'a, 'w> {
    entry: &'a Entry,
    count: usize,
    out: &'a mut Writer<'w>,
}

impl<'de> DeserializeSeed<'de> for Column<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Column<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values of {}", self.count, self.entry.name)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        /// Reads one value into the next row.
        struct One<'a, 'b>(&'a Readable, &'a mut ColumnBuilder<'b>);
        impl<'de> DeserializeSeed<'de> for One<'_, '_> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(deserializer);
                (self.0.parse)(self.1, &mut erased).map_err(D::Error::custom)
            }
        }
        let name = self.entry.name;
        let Some(readable) = &self.entry.readable else {
            return Err(A::Error::custom(SaveError::NotReadable { name }));
        };
        let alloc = |error: AllocError| A::Error::custom(error);
        // The component, registered without a world.
        let mut components = Components::try_new(&crate::rows::LANES).map_err(alloc)?;
        let id = self.entry.register(&mut components).map_err(alloc)?;
        let info = components.info(id);
        let count = u32::try_from(self.count).map_err(A::Error::custom)?;
        let mut lanes = Vec::new();
        let mut builder = ColumnBuilder::try_of(&mut lanes, info, count).map_err(alloc)?;
        for row in 0..count {
            if list.next_element_seed(One(readable, &mut builder))?.is_none() {
                return Err(A::Error::invalid_length(row as usize, &self));
            }
        }
        if list.next_element::<IgnoredAny>()?.is_some() {
            return Err(A::Error::invalid_length(self.count + 1, &self));
        }
        self.entry.column.write(name, &[builder.rows()], self.out).map_err(A::Error::custom)
    }
}

/// Reads sparse storages.
struct SparseSeed<'a, 'w> {
    entries: &'a [&'a Entry],
    out: &'a mut Writer<'w>,
}

const SPARSE_FIELDS: &[&str] = &["component", "removal", "keys", "words", "values"];

impl Element for SparseSeed<'_, '_> {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let storage = SparseSeed { entries: self.entries, out: &mut *self.out };
        deserializer.deserialize_struct("Side", SPARSE_FIELDS, storage)
    }
}

impl<'de> Visitor<'de> for SparseSeed<'_, '_> {
    type Value = ();
    ordered!("Side", SPARSE_FIELDS);
}

impl SparseSeed<'_, '_> {
    fn read<'de, A: Fields<'de>>(self, fields: &mut A) -> Result<(), A::Error> {
        let failed = |error: SaveError| A::Error::custom(error);
        let number: u32 = fields.field("component", plain())?;
        let removal: u8 = fields.field("removal", plain())?;
        let keys: Vec<u32> = fields.field("keys", plain())?;
        let words: Vec<u64> = fields.field("words", plain())?;
        let entry = self.entries.get(number as usize);
        let entry = *entry.ok_or_else(|| A::Error::custom("values of a component that there is not"))?;
        let out = self.out;
        out.begin(SPARSE, 0).and_then(|()| out.put_u32(number)).map_err(failed)?;
        let count = match entry.kind {
            Kind::Pool => {
                out.put_u8(removal).and_then(|()| put_list(out, &keys)).map_err(failed)?;
                keys.iter().filter(|key| **key != HOLE).count()
            }
            _ => {
                out.put_u32(words.len() as u32).map_err(failed)?;
                words.iter().try_for_each(|word| out.put_u64(*word)).map_err(failed)?;
                Runs::Bits(&words).len() as usize
            }
        };
        fields.field("values", Column { entry, count, out: &mut *out })?;
        out.end().map_err(failed)?;
        fields.rest()
    }
}

/// Reads resources.
struct Resources<'a, 'w> {
    registry: &'a Registry,
    out: &'a mut Writer<'w>,
}

const RESOURCE_FIELDS: &[&str] = &["name", "version", "value"];

impl Element for Resources<'_, '_> {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let resource = Resources { registry: self.registry, out: &mut *self.out };
        deserializer.deserialize_struct("Resource", RESOURCE_FIELDS, resource)
    }
}

impl<'de> Visitor<'de> for Resources<'_, '_> {
    type Value = ();
    ordered!("Resource", RESOURCE_FIELDS);
}

impl Resources<'_, '_> {
    fn read<'de, A: Fields<'de>>(self, fields: &mut A) -> Result<(), A::Error> {
        /// Reads a value of a resource.
        struct One<'a>(&'a ReadableResource);
        impl<'de> DeserializeSeed<'de> for One<'_> {
            type Value = Box<dyn Any>;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<dyn Any>, D::Error> {
                let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(deserializer);
                (self.0.parse)(&mut erased).map_err(D::Error::custom)
            }
        }
        let name: String = fields.field("name", plain())?;
        let version: u32 = fields.field("version", plain())?;
        let entry = self.registry.resources.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| A::Error::custom(format_args!("{name} is not registered")))?;
        let name = entry.name;
        if version != entry.version {
            return Err(A::Error::custom(format_args!("{name} is of version {version}, not {}", entry.version)));
        }
        let readable = entry.readable.as_ref();
        let readable = readable.ok_or_else(|| A::Error::custom(SaveError::NotReadable { name }))?;
        let (value, mut bytes) = (fields.field("value", One(readable))?, Vec::new());
        entry.value.encode_value(&*value, &mut bytes).map_err(A::Error::custom)?;
        let (out, failed) = (self.out, |error: SaveError| A::Error::custom(error));
        out.begin(RESOURCE, 0).and_then(|()| out.put_name(name)).map_err(failed)?;
        out.put_name(entry.value.codec()).and_then(|()| out.put_u32(version)).map_err(failed)?;
        out.put(&bytes).and_then(|()| out.end()).map_err(failed)?;
        fields.rest()
    }
}
