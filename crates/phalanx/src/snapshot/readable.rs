//! Writes worlds in any format of serde: [`Registry::serialize`]. Readable and editable, but not fast.
//!
//! # Form
//!
//! A struct `World` of these fields, in this order, which a reader requires:
//!
//! | field | contents |
//! |---|---|
//! | `format` | 1 |
//! | `components` | a list of pairs of a name and a version |
//! | `slots` | the word of each slot: the generation, bit 30 in that of an extra row, bit 31 in that of a dead slot |
//! | `free` | the free slots, the next to be used first |
//! | `tables` | a list of `extra`, `components` (numbers), `slots`, `columns` (a list of values for each component) |
//! | `rows` | a list of slot, owner, component (its number plus one, or 0), role |
//! | `sparse` | a list of `component` (a number), `removal`, `keys` (`u32::MAX` for a hole), `words`, `values` |
//! | `groups` | a list of owned, required and excluded components, and members |
//! | `resources` | a list of `name`, `version`, `value` |
//!
//! There are no change ticks: all values of a world that is read in this form are new.

use super::column_builder::ColumnBuilder;
use super::column_rows::ColumnRows;
use super::error::SaveError;
use super::part::Part;
use super::registry::{Entry, Registered, RegisteredResource, Registry, ResourceEntry};
use super::saver::{SavedRows, SavedTable, Saver};
use super::world_seed::WorldSeed;
use crate::component::Component;
use crate::error::{NameError, StructuralError};
use crate::names::Name;
use crate::sparse::SparseStorage;
use crate::world::World;
use core::any::Any;
use phalanx_store::Entity;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Deserializer, Serialize, Serializer};

/// The version of the readable form. It is independent of the version of the binary format.
pub(super) const FORMAT: u32 = 1;

type See<'a> = dyn FnMut(&dyn erased_serde::Serialize) + 'a;
type Show = dyn Fn(ColumnRows<'_>, &mut See<'_>) + Send + Sync;
type ParseAny = fn(&mut dyn erased_serde::Deserializer<'_>) -> Result<Box<dyn Any>, erased_serde::Error>;
type Parse = dyn Fn(&mut ColumnBuilder<'_>, &mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error>
    + Send
    + Sync;

type Insert =
    dyn Fn(&mut World, Entity, &mut dyn erased_serde::Deserializer<'_>) -> Result<(), NotInserted> + Send + Sync;

/// Serializes and deserializes the values of a component.
pub(super) struct Readable {
    pub(super) show: Box<Show>,
    pub(super) parse: Box<Parse>,
    /// Inserts a value into an entity, if that is possible.
    pub(super) insert: Option<Box<Insert>>,
}

/// Why a value was not inserted.
pub(super) enum NotInserted {
    Invalid(erased_serde::Error),
    Refused(StructuralError),
    Name(NameError),
}

impl Readable {
    /// Returns a readable form of values without data: a unit for each value.
    pub(super) fn unit() -> Readable {
        Readable {
            show: Box::new(|source, see| source.values().for_each(|_| see(&()))),
            parse: Box::new(|_, deserializer| erased_serde::deserialize::<()>(deserializer)),
            insert: None,
        }
    }
}

/// Serializes and deserializes a resource.
pub(super) struct ReadableResource {
    show: fn(&World, &mut See<'_>),
    pub(super) parse: ParseAny,
}

impl<C: Component> Registered<'_, C> {
    /// Gives the component a readable form by serde, whichever codec it is saved by.
    pub fn readable(self) -> Self
    where
        C: Serialize + DeserializeOwned,
    {
        self.entry.readable = Some(Readable {
            show: Box::new(|source, see| {
                source.of_type::<C>().values().for_each(|value| value.with(|value| see(value)));
            }),
            parse: Box::new(|builder, deserializer| {
                let value: C = erased_serde::deserialize(deserializer)?;
                builder.of_type::<C>().push(value).map_err(serde::de::Error::custom)
            }),
            insert: insert_by(|deserializer| erased_serde::deserialize::<C>(deserializer)),
        });
        self
    }

    /// Gives a tag a readable form: a unit for each value.
    pub(super) fn readable_tag(self, make: impl Fn() -> C + Send + Sync + 'static) -> Self {
        let insert = insert_by(move |deserializer| {
            erased_serde::deserialize::<()>(deserializer)?;
            Ok(make())
        });
        self.entry.readable = Some(Readable { insert, ..Readable::unit() });
        self
    }
}

/// Returns the function that inserts what another one reads. Rows get hidden components by operations of their own.
fn insert_by<C: Component>(
    read: impl Fn(&mut dyn erased_serde::Deserializer<'_>) -> Result<C, erased_serde::Error> + Send + Sync + 'static,
) -> Option<Box<Insert>> {
    if C::HIDDEN {
        return None;
    }
    Some(Box::new(move |world, entity, deserializer| {
        let value = read(deserializer).map_err(NotInserted::Invalid)?;
        world.try_insert(entity, value).map_err(NotInserted::Refused)
    }))
}

/// Gives an entity a name, which is read.
pub(super) fn insert_name(
    world: &mut World,
    entity: Entity,
    deserializer: &mut dyn erased_serde::Deserializer<'_>,
) -> Result<(), NotInserted> {
    let name: Name = erased_serde::deserialize(deserializer).map_err(NotInserted::Invalid)?;
    let named =
        world.entity_mut(entity).map_err(NameError::NoSuchEntity).and_then(|mut it| it.set_name(&name).map(drop));
    named.map_err(NotInserted::Name)
}

impl<R: Send + Sync + 'static> RegisteredResource<'_, R> {
    /// Gives the resource a readable form by serde, whichever codec it is saved by.
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
        let len = self.sources.iter().map(|source| source.len() as usize).sum();
        let mut list = serializer.serialize_seq(Some(len))?;
        for source in self.sources {
            let mut done = Ok(());
            (readable.show)(*source, &mut |value| {
                if done.is_ok() {
                    done = list.serialize_element(value);
                }
            });
            done?;
        }
        list.end()
    }
}

struct TableForm<'a> {
    saving: &'a Saver<'a>,
    table: &'a SavedTable,
}

impl Serialize for TableForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Columns<'a>(&'a TableForm<'a>, &'a [SavedRows]);
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
        form.serialize_field("slots", &self.saving.slots_of(self.table, &rows).collect::<Vec<_>>())?;
        form.serialize_field("columns", &Columns(self, &rows))?;
        form.end()
    }
}

struct SparseForm<'a> {
    saving: &'a Saver<'a>,
    storage: &'a SparseStorage,
    number: u32,
}

impl Serialize for SparseForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.saving.sparse_parts(self.storage).map_err(S::Error::custom)?;
        let mut form = serializer.serialize_struct("Side", 5)?;
        form.serialize_field("component", &self.number)?;
        form.serialize_field("removal", &parts.removal)?;
        form.serialize_field("keys", &parts.keys)?;
        form.serialize_field("words", &parts.words)?;
        let components = &self.saving.world.storage.components;
        let sources = [ColumnRows::of_sparse(components, self.storage, parts.runs())];
        let entry = self.saving.components[self.number as usize].entry;
        form.serialize_field("values", &Values { entry, sources: &sources })?;
        form.end()
    }
}

struct ResourceForm<'a> {
    world: &'a World,
    entry: &'a ResourceEntry,
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

/// The fields of a world.
pub(super) const FIELDS: &[&str] =
    &["format", "components", "slots", "free", "tables", "rows", "sparse", "groups", "resources"];

impl Registry {
    /// Writes a world in any format of serde.
    ///
    /// All components and resources need a readable form. Those that are registered by serde and tags have one;
    /// [`Registered::readable`] gives one to others.
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
    /// Returns an error of the serializer. Its message is that of a [`SaveError`] if the world cannot be
    /// [saved](Registry::save), or a component or resource has no readable form.
    #[doc(alias = "scene")]
    #[doc(alias = "to_json")]
    pub fn serialize<S: Serializer>(&self, world: &World, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = Part::whole();
        let saving = Saver::new(world, self, &whole).map_err(S::Error::custom)?;
        let mut form = serializer.serialize_struct("World", FIELDS.len())?;
        form.serialize_field("format", &FORMAT)?;
        let names = saving.components.iter().map(|saved| (saved.entry.name, saved.entry.version));
        form.serialize_field("components", &names.collect::<Vec<_>>())?;
        form.serialize_field("slots", &saving.pool().each_word().collect::<Vec<_>>())?;
        form.serialize_field("free", &saving.pool().free_list().iter().rev().collect::<Vec<_>>())?;
        let tables = saving.tables().map_err(S::Error::custom)?;
        let list = tables.iter().map(|table| TableForm { saving: &saving, table });
        form.serialize_field("tables", &list.collect::<Vec<_>>())?;
        form.serialize_field("rows", &saving.names().map_err(S::Error::custom)?)?;
        let sparse = saving.sparse().map(|(number, storage)| SparseForm { saving: &saving, storage, number });
        form.serialize_field("sparse", &sparse.collect::<Vec<_>>())?;
        form.serialize_field("groups", &saving.groups().map_err(S::Error::custom)?)?;
        let resources = saving.resources().map_err(S::Error::custom)?.into_iter();
        let resources = resources.map(|entry| ResourceForm { world, entry });
        form.serialize_field("resources", &resources.collect::<Vec<_>>())?;
        form.end()
    }

    /// Reads a world that [`serialize`](Registry::serialize) wrote. [`WorldSeed`] does the same.
    ///
    /// # Errors
    ///
    /// Returns an error of the deserializer. Its message is that of a [`LoadError`](super::LoadError) if the input is not a
    /// valid world.
    #[doc(alias = "from_json")]
    pub fn deserialize<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<World, D::Error> {
        WorldSeed(self).deserialize(deserializer)
    }
}
