//! Worlds in any format of serde: to be read and edited, not to be fast.
//!
//! # Form
//!
//! A struct `World` of these fields, in this order, which must be kept:
//!
//! | field | what |
//! |---|---|
//! | `format` | 1 |
//! | `components` | a list of pairs of a name and a version |
//! | `slots` | the word of each slot: the generation, bit 30 in that of an extra row, bit 31 in that of a dead slot |
//! | `free` | the free slots, the next to be used first |
//! | `tables` | a list of `extra`, `components` (numbers), `slots`, `columns` (a list of values for each component) |
//! | `rows` | a list of slot, owner, component (its number plus one, or 0), role |
//! | `sparse` | a list of `component` (a number), `removal`, `keys` (`u32::MAX` for a hole), `words`, `values` |
//! | `groups` | the number of places, and a list of place, owned, required and excluded components, members |
//! | `resources` | a list of `name`, `version`, `value` |
//!
//! There are no times of changes in it: to a world that was read so, everything is new.
//!
//! What is read is first written as a snapshot, in memory, and then loaded as one: all its checks hold.
#![allow(unsafe_code)]

use super::column::{ColumnRows, with_value};
use super::column_builder::ColumnBuilder;
use super::error::SaveError;
use super::format::{COMPONENTS, END, RESOURCE, ROWS, SIDE, SLOTS, TABLE};
use super::part::Part;
use super::registry::{Entry, Registered, RegisteredResource, Registry};
use super::runs::Runs;
use super::saver::{GroupParts, Saver, put_component, put_groups};
use super::writer::Writer;
use crate::component::{Component, Components};
use crate::layout::Kind;
use crate::world::World;
use core::any::Any;
use core::cell::RefCell;
use core::fmt;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Deserializer, Serialize, Serializer};

/// The version of the readable form. It has no checksums, so it does not change with those of the binary format.
const FORMAT: u32 = 1;

type See<'a> = dyn FnMut(&dyn erased_serde::Serialize) + 'a;
type Show = unsafe fn(*const Lane, u32, &mut See<'_>);
type ParseAny = fn(&mut dyn erased_serde::Deserializer<'_>) -> Result<Box<dyn Any>, erased_serde::Error>;
type Parse =
    unsafe fn(&mut ColumnBuilder<'_>, &mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error>;

/// How a component is shown and read in readable form.
pub(super) struct Readable {
    pub(super) show: Show,
    pub(super) parse: Parse,
}

/// How a resource is.
pub(super) struct ReadableResource {
    show: fn(&World, &mut See<'_>),
    parse: ParseAny,
}

impl<C: Component> Registered<'_, C> {
    /// Gives the component a readable form, by serde, whatever codec it is saved by.
    pub fn readable(self) -> Self
    where
        C: Serialize + DeserializeOwned,
    {
        self.entry.readable = Some(Readable {
            // SAFETY: the lanes are those of the component, and the row is in use, by the caller's contract.
            show: |lanes, row, see| unsafe { with_value(lanes, row, |value: &C| see(value)) },
            parse: |builder, deserializer| {
                let value: C = erased_serde::deserialize(deserializer)?;
                // SAFETY: the builder is of the component, by the caller's contract.
                unsafe { builder.push(value) }.map_err(serde::de::Error::custom)
            },
        });
        self
    }

    /// Tags are shown as nothing.
    pub(super) fn readable_tag(self) -> Self {
        self.entry.readable = Some(Readable {
            show: |_, _, see| see(&()),
            parse: |_, deserializer| erased_serde::deserialize::<()>(deserializer),
        });
        self
    }
}

impl<R: Send + Sync + 'static> RegisteredResource<'_, R> {
    /// Gives the resource a readable form, by serde, whatever codec it is saved by.
    pub fn readable(self) -> Self
    where
        R: Serialize + DeserializeOwned,
    {
        self.entry.readable = Some(ReadableResource {
            show: |world, see| {
                if let Ok(value) = world.resource::<R>() {
                    see(value);
                }
            },
            parse: |deserializer| Ok(Box::new(erased_serde::deserialize::<R>(deserializer)?)),
        });
        self
    }
}

/// A list that is builder as it is written.
struct List<I>(RefCell<Option<I>>);

impl<I: Iterator<Item: Serialize>> List<I> {
    fn new(items: I) -> Self {
        List(RefCell::new(Some(items)))
    }
}

impl<I: Iterator<Item: Serialize>> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items: Vec<_> = self.0.borrow_mut().take().into_iter().flatten().collect();
        serializer.collect_seq(items)
    }
}

/// The values of a component in some rows.
struct Values<'a> {
    entry: &'a Entry,
    sources: &'a [ColumnRows<'a>],
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.entry.name;
        let Some(readable) = &self.entry.readable else {
            return Err(S::Error::custom(SaveError::NotReadable { name }));
        };
        let len = self.sources.iter().map(|source| source.runs.len() as usize).sum();
        let mut list = serializer.serialize_seq(Some(len))?;
        for (lanes, row) in self.sources.iter().flat_map(|source| source.runs.rows().map(|row| (source.lanes, row))) {
            let mut done = Ok(());
            // SAFETY: the rows are in use in the component's lanes, and the world is borrowed.
            unsafe { (readable.show)(lanes, row, &mut |value| done = list.serialize_element(value)) };
            done?;
        }
        list.end()
    }
}

struct TableForm<'a> {
    saving: &'a Saver<'a>,
    table: &'a super::saver::SavedTable,
}

impl Serialize for TableForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Columns<'a>(&'a TableForm<'a>, &'a [super::saver::SavedRows]);
        impl Serialize for Columns<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let components = &self.0.table.components;
                let mut list = serializer.serialize_seq(Some(components.len()))?;
                for &number in components {
                    let sources = self.0.saving.sources(number, self.1).map_err(S::Error::custom)?;
                    let entry = self.0.saving.components[number as usize].entry;
                    list.serialize_element(&Values { entry, sources: &sources })?;
                }
                list.end()
            }
        }
        let rows = self.saving.source_rows(self.table).map_err(S::Error::custom)?;
        let mut form = serializer.serialize_struct("Table", 4)?;
        form.serialize_field("extra", &self.table.extra)?;
        form.serialize_field("components", &self.table.components)?;
        form.serialize_field("slots", &List::new(self.saving.slots_of(self.table, &rows)))?;
        form.serialize_field("columns", &Columns(self, &rows))?;
        form.end()
    }
}

struct SideForm<'a> {
    saving: &'a Saver<'a>,
    side: &'a crate::sparse::SparseStorage,
    number: u32,
}

impl Serialize for SideForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form_of = self.saving.side_form(self.side).map_err(S::Error::custom)?;
        let mut form = serializer.serialize_struct("Side", 5)?;
        form.serialize_field("component", &self.number)?;
        form.serialize_field("removal", &form_of.removal)?;
        form.serialize_field("keys", &form_of.keys)?;
        form.serialize_field("words", &form_of.words)?;
        let sources = [ColumnRows { lanes: self.side.values().lane(), runs: form_of.runs() }];
        let entry = self.saving.components[self.number as usize].entry;
        form.serialize_field("values", &Values { entry, sources: &sources })?;
        form.end()
    }
}

struct ResourceForm<'a> {
    world: &'a World,
    entry: &'a super::registry::ResourceEntry,
}

impl Serialize for ResourceForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.entry.name;
        let Some(readable) = &self.entry.readable else {
            return Err(S::Error::custom(SaveError::NotReadable { name }));
        };
        let mut form = serializer.serialize_struct("Resource", 3)?;
        form.serialize_field("name", name)?;
        form.serialize_field("version", &self.entry.version)?;
        let mut done = Ok(());
        (readable.show)(self.world, &mut |value| done = form.serialize_field("value", value));
        done?;
        form.end()
    }
}

const FIELDS: &[&str] = &["format", "components", "slots", "free", "tables", "rows", "sides", "groups", "resources"];

impl Registry {
    /// Writes the world in any format of serde. Components and resources that are registered by serde have a readable form,
    /// tags too, and those that were [given one](Registered::readable).
    ///
    /// ```
    /// use phalanx::snapshot::{Registry, WorldSeed};
    /// use phalanx::{Component, World};
    /// use serde::de::DeserializeSeed;
    ///
    /// #[derive(Component, serde::Serialize, serde::Deserialize)]
    /// struct Name(String);
    ///
    /// let mut registry = Registry::new();
    /// registry.serde::<Name>("name")?;
    /// let mut world = World::new();
    /// let ann = world.spawn(Name("Ann".into()));
    /// let mut json = Vec::new();
    /// registry.serialize(&world, &mut serde_json::Serializer::new(&mut json))?;
    /// let mut reader = serde_json::Deserializer::from_slice(&json);
    /// let copy = WorldSeed(&registry).deserialize(&mut reader)?;
    /// assert_eq!(copy.get::<Name>(ann)?.0, "Ann");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`save`](Registry::save), if a component or resource has no readable form, or the serializer fails.
    pub fn serialize<S: Serializer>(&self, world: &World, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = Part::whole();
        let saving = Saver::new(world, self, &whole).map_err(S::Error::custom)?;
        let mut form = serializer.serialize_struct("World", FIELDS.len())?;
        form.serialize_field("format", &FORMAT)?;
        let names = saving.components.iter().map(|saved| (saved.entry.name, saved.entry.version));
        form.serialize_field("components", &List::new(names))?;
        form.serialize_field("slots", &List::new(saving.pool().each_word()))?;
        form.serialize_field("free", &List::new(saving.pool().free_list().iter().rev()))?;
        let tables = saving.tables().map_err(S::Error::custom)?;
        let list = tables.iter().map(|table| TableForm { saving: &saving, table });
        form.serialize_field("tables", &List::new(list))?;
        form.serialize_field("rows", &saving.names().map_err(S::Error::custom)?)?;
        let sparse = saving.sparse().map(|(number, side)| SideForm { saving: &saving, side, number });
        form.serialize_field("sides", &List::new(sparse))?;
        form.serialize_field("groups", &saving.groups().map_err(S::Error::custom)?)?;
        let resources = saving.resources().map_err(S::Error::custom)?.into_iter();
        form.serialize_field("resources", &List::new(resources.map(|entry| ResourceForm { world, entry })))?;
        form.end()
    }

    /// Reads a world that [`serialize`](Registry::serialize) wrote. The same as [`WorldSeed`].
    ///
    /// # Errors
    ///
    /// If the deserializer fails, or what it reads is no world.
    pub fn deserialize<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<World, D::Error> {
        WorldSeed(self).deserialize(deserializer)
    }
}

/// Reads a world in any format of serde: see [`Registry::serialize`].
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

/// Reads the fields in order, and writes them as a snapshot.
struct Reading<'a, 'w> {
    registry: &'a Registry,
    out: &'a mut Writer<'w>,
}

/// Takes the fields of a struct in their order, from a map or a list.
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

/// The fields of a struct, one by one.
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
        fields.field("sides", Each(SparseStorages { entries: &entries, out: &mut *out }))?;
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

/// What the elements of a list are read with, one after another.
trait Element {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// A list of such elements.
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

/// Reads so many values of a component.
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
                // SAFETY: the builder is of the component whose form this is.
                unsafe { (self.0.parse)(self.1, &mut erased) }.map_err(D::Error::custom)
            }
        }
        let name = self.entry.name;
        let Some(readable) = &self.entry.readable else {
            return Err(A::Error::custom(SaveError::NotReadable { name }));
        };
        let alloc = |error: AllocError| A::Error::custom(error);
        // What the component is, apart from any world.
        let mut components = Components::try_new(&crate::rows::LANES).map_err(alloc)?;
        let id = self.entry.register(&mut components).map_err(alloc)?;
        let info = components.info(id);
        let mut lanes: Box<[Lane]> = info.lanes.iter().map(|row| Lane::new(*row)).collect();
        let count = u32::try_from(self.count).map_err(A::Error::custom)?;
        // SAFETY: lanes of the component, which are nobody else's, and outlive the values.
        let mut builder = unsafe { ColumnBuilder::new(lanes.as_mut_ptr(), info, Runs::All(count)) };
        for row in 0..count {
            if list.next_element_seed(One(readable, &mut builder))?.is_none() {
                return Err(A::Error::invalid_length(row as usize, &self));
            }
        }
        if list.next_element::<IgnoredAny>()?.is_some() {
            return Err(A::Error::invalid_length(self.count + 1, &self));
        }
        let source = ColumnRows { lanes: builder.lane(), runs: Runs::All(count) };
        // SAFETY: so many values were read.
        unsafe { self.entry.column.write(name, &[source], self.out) }.map_err(A::Error::custom)
    }
}

/// Reads sides.
struct SparseStorages<'a, 'w> {
    entries: &'a [&'a Entry],
    out: &'a mut Writer<'w>,
}

const SIDE_FIELDS: &[&str] = &["component", "removal", "keys", "words", "values"];

impl Element for SparseStorages<'_, '_> {
    fn one<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let side = SparseStorages { entries: self.entries, out: &mut *self.out };
        deserializer.deserialize_struct("Side", SIDE_FIELDS, side)
    }
}

impl<'de> Visitor<'de> for SparseStorages<'_, '_> {
    type Value = ();
    ordered!("Side", SIDE_FIELDS);
}

impl SparseStorages<'_, '_> {
    fn read<'de, A: Fields<'de>>(self, fields: &mut A) -> Result<(), A::Error> {
        let failed = |error: SaveError| A::Error::custom(error);
        let number: u32 = fields.field("component", plain())?;
        let removal: u8 = fields.field("removal", plain())?;
        let keys: Vec<u32> = fields.field("keys", plain())?;
        let words: Vec<u64> = fields.field("words", plain())?;
        let entry = self.entries.get(number as usize);
        let entry = *entry.ok_or_else(|| A::Error::custom("values of a component that there is not"))?;
        let out = self.out;
        out.begin(SIDE, 0).and_then(|()| out.put_u32(number)).map_err(failed)?;
        let count = match entry.kind {
            Kind::Pool => {
                out.put_u8(removal).and_then(|()| put_list(out, &keys)).map_err(failed)?;
                keys.iter().filter(|key| **key != super::saver::HOLE).count()
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
