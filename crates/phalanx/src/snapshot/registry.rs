//! [`Registry`]: the components and resources to save, their names, and their codecs.

use super::budget::Budget;
use super::codec::{Codec, Serde, try_extend};
use super::coded::{Coded, Tag};
use super::column::{Column, Plain, value_lanes};
use super::error::{CodecError, INVALID, LONGEST_NAME, NotDecoded, RegistryError};
use super::migration::{FromCoded, FromPlain, Migration};
use super::readable::{Readable, ReadableResource};
use crate::component::{Component, ComponentId, ComponentInfo, Components};
use crate::layout::{Kind, Layout, PlainLayout};
use crate::names::NameOf;
use crate::plain;
use crate::relation::{LinkOf, Relation};
use crate::world::World;
use core::any::{Any, TypeId};
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::AllocError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The schema of a column, which must be equal when it is saved and loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// The layouts of the lanes, if values are written as they are in memory.
    pub(super) lanes: Vec<core::alloc::Layout>,
    /// A checksum of the names and types of the fields.
    pub(super) fields: u64,
}

impl Schema {
    /// Returns the schema of values that are written by a codec.
    fn of<C: Component>() -> Schema {
        Schema { lanes: Vec::new(), fields: super::checksum(0, C::FIELDS.as_bytes()) }
    }

    /// Returns the schema of values that are written as they are in memory.
    fn of_plain<C: Component>() -> Schema
    where
        C::Layout: PlainLayout<C>,
    {
        let (mut lanes, mut text) = (Vec::new(), String::new());
        // A value without size has no lane but that of its change ticks.
        if size_of::<C>() > 0 {
            C::Layout::lanes(&mut |lane| lanes.push(lane));
            lanes.truncate(value_lanes::<C>());
        }
        // The description also covers the types of fields, and their order if it is not the declared one.
        <C::Layout as PlainLayout<C>>::describe(&mut |part| text.push_str(part));
        if !text.starts_with(C::FIELDS) {
            text.insert_str(0, C::FIELDS);
        }
        let endian = u64::from(cfg!(target_endian = "big"));
        Schema { lanes, fields: super::checksum(endian, text.as_bytes()) }
    }
}

/// A migration from an older version.
pub(super) struct Older {
    pub(super) version: u32,
    /// The schema of the old columns, if they are plain.
    pub(super) schema: Option<Schema>,
    pub(super) migration: Box<dyn Migration>,
}

/// How a component is registered in a world.
pub(super) enum Origin {
    Type(TypeId, fn(&mut Components) -> Result<ComponentId, AllocError>),
    RunTime(ComponentInfo),
}

/// A registered component.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) type_name: &'static str,
    pub(super) origin: Origin,
    pub(super) kind: Kind,
    pub(super) version: u32,
    pub(super) schema: Schema,
    pub(super) column: Box<dyn Column>,
    pub(super) canonical: bool,
    pub(super) older: Vec<Older>,
    pub(super) readable: Option<Readable>,
}

impl Entry {
    /// Registers the component, if it is new, and returns its id.
    pub(super) fn register(&self, components: &mut Components) -> Result<ComponentId, AllocError> {
        match &self.origin {
            Origin::Type(_, register) => register(components),
            Origin::RunTime(info) => components.adopt(info),
        }
    }

    /// Returns `true` if a component of a world is this one.
    pub(super) fn is_of(&self, info: &ComponentInfo) -> bool {
        match &self.origin {
            Origin::Type(type_id, _) => info.type_id == Some(*type_id),
            Origin::RunTime(known) => known.is_run_time(info),
        }
    }
}

/// Writes and reads a resource.
pub(super) trait Value: Send + Sync {
    fn codec(&self) -> &'static str;
    /// Appends a value of the resource's type.
    fn encode_value(&self, value: &dyn Any, bytes: &mut Vec<u8>) -> Result<(), CodecError>;
    /// Appends the resource of a world, if it is present.
    fn encode(&self, world: &World, bytes: &mut Vec<u8>) -> Result<(), CodecError>;
    /// Decodes the resource and inserts it into a world.
    fn decode(&self, world: &mut World, bytes: &[u8], budget: &Budget) -> Result<(), NotDecoded>;
}

struct ResourceOf<R, K>(K, PhantomData<fn() -> R>);

fn decode_all<R, K: Codec<R>>(codec: &K, mut bytes: &[u8], budget: &Budget) -> Result<R, CodecError> {
    let value = codec.decode_within(&mut bytes, budget)?;
    if bytes.is_empty() { Ok(value) } else { Err(CodecError("bytes are left over after it")) }
}

impl<R: Send + Sync + 'static, K: Codec<R>> Value for ResourceOf<R, K> {
    fn codec(&self) -> &'static str {
        self.0.name()
    }
    fn encode_value(&self, value: &dyn Any, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        match value.downcast_ref() {
            Some(value) => self.0.encode(value, bytes),
            None => Err(CodecError("it is of another type")),
        }
    }
    fn encode(&self, world: &World, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        match world.resource::<R>() {
            Ok(value) => self.0.encode(value, bytes),
            Err(_) => Ok(()),
        }
    }
    fn decode(&self, world: &mut World, bytes: &[u8], budget: &Budget) -> Result<(), NotDecoded> {
        let value: R = decode_all(&self.0, bytes, budget)?;
        Ok(world.resources.try_insert(value, world.storage.tick())?)
    }
}

struct OldResource<Old, R, K, M>(K, M, PhantomData<fn(Old) -> R>);

impl<Old: 'static, R: Send + Sync + 'static, K: Codec<Old>, M: Fn(Old) -> R + Send + Sync> Value
    for OldResource<Old, R, K, M>
{
    fn codec(&self) -> &'static str {
        self.0.name()
    }
    fn encode_value(&self, _: &dyn Any, _: &mut Vec<u8>) -> Result<(), CodecError> {
        Err(CodecError("it is of an older version"))
    }
    fn encode(&self, _: &World, _: &mut Vec<u8>) -> Result<(), CodecError> {
        Err(CodecError("it is of an older version"))
    }
    fn decode(&self, world: &mut World, bytes: &[u8], budget: &Budget) -> Result<(), NotDecoded> {
        let value = (self.1)(decode_all(&self.0, bytes, budget)?);
        Ok(world.resources.try_insert(value, world.storage.tick())?)
    }
}

/// Encodes a plain value as its bytes.
struct Bytes;

impl<R: plain::Plain> Codec<R> for Bytes {
    fn name(&self) -> &'static str {
        "plain"
    }
    fn encode(&self, value: &R, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        try_extend(bytes, plain::bytes_of(core::slice::from_ref(value)))
    }
    fn decode(&self, bytes: &mut &[u8]) -> Result<R, CodecError> {
        let (value, rest) = bytes.split_at_checked(size_of::<R>()).ok_or(CodecError("the bytes end too early"))?;
        *bytes = rest;
        plain::from_bytes(value).ok_or(INVALID)
    }
}

/// A registered resource.
pub(super) struct ResourceEntry {
    pub(super) name: &'static str,
    pub(super) type_name: &'static str,
    pub(super) type_id: TypeId,
    pub(super) version: u32,
    pub(super) canonical: bool,
    pub(super) value: Box<dyn Value>,
    pub(super) readable: Option<ReadableResource>,
    pub(super) older: Vec<(u32, Box<dyn Value>)>,
}

/// The components and resources to save, their names, and how they are encoded.
///
/// A snapshot identifies types by these names. Keep a name when its type is renamed or moves to another module.
///
/// ```
/// use phalanx::snapshot::Registry;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(plain)]
/// struct Position { x: f32, y: f32 }
/// #[derive(Component, serde::Serialize, serde::Deserialize, Debug, PartialEq)]
/// struct Name(String);
/// #[derive(Component)]
/// struct Enemy;
///
/// let mut registry = Registry::new();
/// registry.plain::<Position>("position")?;
/// registry.serde::<Name>("name")?;
/// registry.tag("enemy", || Enemy)?;
///
/// let mut world = World::new();
/// let orc = world.spawn((Position { x: 1.0, y: 2.0 }, Name("Gorbag".into()), Enemy));
/// let mut file = Vec::new();
/// registry.save(&world, &mut file)?;
/// let copy = registry.load(&*file)?;
/// assert_eq!(copy.get::<Name>(orc)?, world.get::<Name>(orc)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Registry {
    pub(super) entries: Vec<Entry>,
    pub(super) resources: Vec<ResourceEntry>,
    pub(super) skips: bool,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Makes a world know all components of the registry, as [`World::register_component`] does.
    ///
    /// A world that was loaded knows the components that its entities have. A [delta](crate::timeline::delta) may name others.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(plain)]
    /// struct Health(u32);
    ///
    /// let mut registry = Registry::new();
    /// registry.plain::<Health>("health")?;
    /// let mut world = World::new();
    /// registry.register_in(&mut world)?;
    /// assert!(world.component_id::<Health>().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Some components may be registered then.
    pub fn register_in(&self, world: &mut World) -> Result<(), AllocError> {
        self.entries.iter().try_for_each(|entry| entry.register(&mut world.storage.components).map(drop))
    }

    /// Leaves out components that are not registered when a world is saved, and lists them in the
    /// [`Report`](super::Report).
    ///
    /// Without this call such components are an error. Resources that are not registered are always left out.
    pub fn skip_unregistered(&mut self) -> &mut Registry {
        self.skips = true;
        self
    }

    /// Registers a component that is saved as it is in memory. Whole columns are copied, those of soa components lane by
    /// lane.
    ///
    /// The component has `#[component(plain)]`; see [`Plain`](crate::Plain). Loading rejects bytes that are not a value. It
    /// also rejects a column that was saved with other fields, or with fields in another order.
    ///
    /// # Errors
    ///
    /// - [`RegistryError::NameTaken`] if the name is registered already.
    /// - [`RegistryError::TypeTwice`] if the type is registered already.
    /// - [`RegistryError::BadName`] if the name is empty or longer than [`LONGEST_NAME`](super::LONGEST_NAME) bytes.
    pub fn plain<C: Component>(&mut self, name: &'static str) -> Result<Registered<'_, C>, RegistryError>
    where
        C::Layout: PlainLayout<C>,
    {
        self.add::<C>(name, Schema::of_plain::<C>(), Box::new(Plain::<C>(PhantomData)))
    }

    /// Registers a [relation](crate::relation), whose links are saved.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    /// use phalanx::snapshot::Registry;
    ///
    /// let mut world = World::new();
    /// let parent = world.spawn_empty();
    /// let child = world.entity_mut(parent)?.spawn_child(());
    /// let mut registry = Registry::new();
    /// registry.relation::<ChildOf>("child of")?;
    /// let mut file = Vec::new();
    /// registry.save(&world, &mut file)?;
    /// let loaded = registry.load(&*file)?;
    /// assert_eq!(loaded.relations::<ChildOf>().parent(child), Some(parent));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain).
    pub fn relation<R: Relation>(&mut self, name: &'static str) -> Result<(), RegistryError> {
        self.plain::<LinkOf<R>>(name)?.readable();
        Ok(())
    }

    /// Registers the [names](crate::Name) of entities, which are saved.
    ///
    /// Loading rejects texts that are not a name, and two entities with the same name and the same parent. So
    /// [`ChildOf`](crate::relation::ChildOf) should be registered too.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    /// use phalanx::snapshot::Registry;
    ///
    /// let mut world = World::new();
    /// let sun = world.spawn_named("sun", ())?;
    /// let earth = world.entity_mut(sun)?.spawn_child_named("earth", ())?;
    /// let mut registry = Registry::new();
    /// registry.relation::<ChildOf>("child of")?;
    /// registry.names("name")?;
    /// let mut file = Vec::new();
    /// registry.save(&world, &mut file)?;
    /// assert_eq!(registry.load(&*file)?.find("sun/earth"), Some(earth));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain).
    pub fn names(&mut self, name: &'static str) -> Result<(), RegistryError> {
        let registered = self.plain::<NameOf>(name)?.readable();
        if let Some(readable) = &mut registered.entry.readable {
            readable.insert = Some(Box::new(super::readable::insert_name));
        }
        Ok(())
    }

    /// Registers a component that is saved by [serde](Serde).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain).
    pub fn serde<C: Component + Serialize + DeserializeOwned>(
        &mut self,
        name: &'static str,
    ) -> Result<Registered<'_, C>, RegistryError> {
        Ok(self.codec::<C>(name, Serde)?.readable())
    }

    /// Registers a component that is saved by a codec.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain).
    pub fn codec<C: Component>(
        &mut self,
        name: &'static str,
        codec: impl Codec<C>,
    ) -> Result<Registered<'_, C>, RegistryError> {
        self.add::<C>(name, Schema::of::<C>(), Box::new(Coded(codec, PhantomData)))
    }

    /// Registers a component without data. Loading calls `make` for each value.
    ///
    /// A component with data is an error of `cargo build`, but not of `cargo check`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain).
    pub fn tag<C: Component>(
        &mut self,
        name: &'static str,
        make: impl Fn() -> C + Send + Sync + 'static,
    ) -> Result<Registered<'_, C>, RegistryError> {
        const { assert!(size_of::<C>() == 0, "a tag is a component without data") };
        let (make, other) = (Arc::new(make), PhantomData);
        let shared = Arc::clone(&make);
        let entry = self.add::<C>(name, Schema::of::<C>(), Box::new(Tag(move || shared(), other)))?;
        Ok(entry.readable_tag(move || make()))
    }

    fn add<C: Component>(
        &mut self,
        name: &'static str,
        schema: Schema,
        column: Box<dyn Column>,
    ) -> Result<Registered<'_, C>, RegistryError> {
        let (type_id, type_name) = (TypeId::of::<C>(), core::any::type_name::<C>());
        let origin = Origin::Type(type_id, Components::register::<C>);
        let entry = self.add_entry(name, type_name, origin, C::Layout::KIND, schema, column)?;
        Ok(Registered { entry, component: PhantomData })
    }

    pub(super) fn add_entry(
        &mut self,
        name: &'static str,
        type_name: &'static str,
        origin: Origin,
        kind: Kind,
        schema: Schema,
        column: Box<dyn Column>,
    ) -> Result<&mut Entry, RegistryError> {
        let type_of = |origin: &Origin| match origin {
            Origin::Type(type_id, _) => Some(*type_id),
            Origin::RunTime(_) => None,
        };
        let taken = self.entries.iter().map(|entry| (entry.name, type_of(&entry.origin), entry.type_name));
        check(name, type_of(&origin), type_name, taken)?;
        check_name(column.codec())?;
        let (version, canonical, older, readable) = (0, column.is_canonical(), Vec::new(), None);
        self.entries.push(Entry { name, type_name, origin, kind, version, schema, column, canonical, older, readable });
        let at = self.entries.len() - 1;
        Ok(&mut self.entries[at])
    }

    /// Registers a resource that is saved as it is in memory: a number, an array of numbers, or a type with
    /// `#[derive(Plain)]`. See [`Plain`](crate::Plain).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain`](Registry::plain). A resource may have the same name as a component.
    pub fn plain_resource<R: plain::Plain>(
        &mut self,
        name: &'static str,
    ) -> Result<RegisteredResource<'_, R>, RegistryError> {
        self.resource_codec::<R>(name, Bytes)
    }

    /// Registers a resource that is saved by [serde](Serde).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain_resource`](Registry::plain_resource).
    pub fn serde_resource<R: Serialize + DeserializeOwned + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
    ) -> Result<RegisteredResource<'_, R>, RegistryError> {
        Ok(self.resource_codec::<R>(name, Serde)?.readable())
    }

    /// Registers a resource that is saved by a codec.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plain_resource`](Registry::plain_resource).
    pub fn resource_codec<R: Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        codec: impl Codec<R>,
    ) -> Result<RegisteredResource<'_, R>, RegistryError> {
        let (type_id, type_name) = (TypeId::of::<R>(), core::any::type_name::<R>());
        let taken = self.resources.iter().map(|entry| (entry.name, Some(entry.type_id), entry.type_name));
        check(name, Some(type_id), type_name, taken)?;
        check_name(codec.name())?;
        let (canonical, value) = (codec.is_canonical(), Box::new(ResourceOf(codec, PhantomData)));
        let older = Vec::new();
        self.resources.push(ResourceEntry {
            name,
            type_name,
            type_id,
            version: 0,
            canonical,
            value,
            older,
            readable: None,
        });
        let at = self.resources.len() - 1;
        Ok(RegisteredResource { entry: &mut self.resources[at], resource: PhantomData })
    }

    /// Returns the registration of a component of a world.
    pub(super) fn entry_of(&self, info: &ComponentInfo) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_of(info))
    }

    pub(super) fn by_name(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }
}

fn check_name(name: &'static str) -> Result<(), RegistryError> {
    if (1..=LONGEST_NAME).contains(&name.len()) { Ok(()) } else { Err(RegistryError::BadName { name }) }
}

fn check(
    name: &'static str,
    type_id: Option<TypeId>,
    type_name: &'static str,
    taken: impl Iterator<Item = (&'static str, Option<TypeId>, &'static str)>,
) -> Result<(), RegistryError> {
    check_name(name)?;
    for (other, other_type, by) in taken {
        if type_id.is_some() && other_type == type_id {
            return Err(RegistryError::TypeTwice { type_name, name: other });
        }
        if other == name {
            return Err(RegistryError::NameTaken { name, by });
        }
    }
    Ok(())
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.iter().map(|entry| entry.name)).finish()
    }
}

/// A component that was just registered, to set its options.
pub struct Registered<'r, C> {
    pub(super) entry: &'r mut Entry,
    pub(super) component: PhantomData<fn() -> C>,
}

impl<C: Component> Registered<'_, C> {
    /// Sets the version of the component, which is 0 by default. Columns of older versions are loaded by migrations only.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, serde::Serialize, serde::Deserialize)]
    /// struct HealthV1(u8);
    /// #[derive(Component, serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// struct Health { now: u32, most: u32 }
    ///
    /// let mut old = Registry::new();
    /// old.serde::<HealthV1>("health")?.version(1);
    /// let mut world = World::new();
    /// let e = world.spawn(HealthV1(80));
    /// let mut file = Vec::new();
    /// old.save(&world, &mut file)?;
    ///
    /// let mut registry = Registry::new();
    /// registry.serde::<Health>("health")?.version(2).migrate_serde(1, |HealthV1(now)| Health { now: now.into(), most: 100 });
    /// let world = registry.load(&*file)?;
    /// assert_eq!(world.get::<Health>(e)?, &Health { now: 80, most: 100 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn version(self, version: u32) -> Self {
        self.entry.version = version;
        self
    }

    /// Adds a migration from an older version that was saved by [serde](Serde), as `Old`.
    pub fn migrate_serde<Old: Serialize + DeserializeOwned + 'static>(
        self,
        version: u32,
        convert: impl Fn(Old) -> C + Send + Sync + 'static,
    ) -> Self {
        self.migrate_codec(version, Serde, convert)
    }

    /// Adds a migration from an older version that was saved by a codec.
    pub fn migrate_codec<Old: 'static>(
        self,
        version: u32,
        codec: impl Codec<Old>,
        convert: impl Fn(Old) -> C + Send + Sync + 'static,
    ) -> Self {
        let migration = Box::new(FromCoded(codec, convert, PhantomData));
        self.entry.older.push(Older { version, schema: None, migration });
        self
    }

    /// Adds a migration from an older version that was saved as it was in memory, as `Old`.
    pub fn migrate_plain<Old: Component>(self, version: u32, convert: impl Fn(Old) -> C + Send + Sync + 'static) -> Self
    where
        Old::Layout: PlainLayout<Old>,
    {
        let migration = Box::new(FromPlain(convert, PhantomData));
        self.entry.older.push(Older { version, schema: Some(Schema::of_plain::<Old>()), migration });
        self
    }

    /// Declares that equal values may have different bytes, for example because a value has a hash map. Worlds with such
    /// values have no [checksum](Registry::checksum).
    pub fn not_canonical(self) -> Self {
        self.entry.canonical = false;
        self
    }
}

impl<C> fmt::Debug for Registered<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registered({})", self.entry.name)
    }
}

/// A resource that was just registered, to set its options.
pub struct RegisteredResource<'r, R> {
    pub(super) entry: &'r mut ResourceEntry,
    resource: PhantomData<fn() -> R>,
}

impl<R: Send + Sync + 'static> RegisteredResource<'_, R> {
    /// Sets the version of the resource, which is 0 by default.
    pub fn version(self, version: u32) -> Self {
        self.entry.version = version;
        self
    }

    /// Adds a migration from an older version that was saved by a codec.
    pub fn migrate_codec<Old: 'static>(
        self,
        version: u32,
        codec: impl Codec<Old>,
        convert: impl Fn(Old) -> R + Send + Sync + 'static,
    ) -> Self {
        self.entry.older.push((version, Box::new(OldResource(codec, convert, PhantomData))));
        self
    }

    /// Declares that equal values may have different bytes.
    pub fn not_canonical(self) -> Self {
        self.entry.canonical = false;
        self
    }
}

impl<R> fmt::Debug for RegisteredResource<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredResource({})", self.entry.name)
    }
}
