//! [`ReadableValue`]: one value of one entity, in readable form.

use super::column_rows::ColumnRows;
use super::diff::value_of;
use super::readable::{NotInserted, Readable};
use super::registry::{Entry, Registry};
use crate::component::{ComponentId, ComponentInfo};
use crate::error::{ComponentError, NameError, NoSuchEntity, StructuralError};
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;
use serde::{Deserializer, Serialize, Serializer};

/// One value of one entity, to be serialized: [`Registry::value`].
pub struct ReadableValue<'a> {
    readable: &'a Readable,
    source: ColumnRows<'a>,
    name: &'static str,
}

impl Serialize for ReadableValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut serializer, mut result) = (Some(serializer), None);
        (self.readable.show)(self.source, &mut |value| {
            if let Some(serializer) = serializer.take() {
                result = Some(erased_serde::serialize(value, serializer));
            }
        });
        result.unwrap_or_else(|| Err(serde::ser::Error::custom("there is no value")))
    }
}

impl fmt::Debug for ReadableValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadableValue({})", self.name)
    }
}

/// Why a value has no readable form, or was not inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// No component is registered under the name.
    NotRegistered {
        /// The name.
        name: String,
    },
    /// The component has no readable form, or its values cannot be inserted one by one.
    NotReadable {
        /// The name.
        name: &'static str,
    },
    /// The entity is not alive, or does not have the component.
    Entity(ComponentError),
    /// What was read is not a value of the component.
    Invalid {
        /// The name.
        name: &'static str,
        /// The error of the deserializer.
        error: String,
    },
    /// The world does not take the value.
    Refused(StructuralError),
    /// The entity cannot have the name.
    Name(NameError),
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::NotRegistered { name } => write!(f, "no component is registered as {name:?}"),
            ValueError::NotReadable { name } => write!(f, "{name} has no readable form"),
            ValueError::Entity(error) => error.fmt(f),
            ValueError::Invalid { name, error } => write!(f, "it is not a value of {name}: {error}"),
            ValueError::Refused(error) => error.fmt(f),
            ValueError::Name(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ValueError {}

impl Registry {
    /// Returns the name that a component of a world is registered under.
    pub fn name_of(&self, info: &ComponentInfo) -> Option<&'static str> {
        self.entry_of(info).map(|entry| entry.name)
    }

    /// Returns the components of a world that are registered, by name, in the order of registration.
    ///
    /// A text query can be bound with these names.
    pub fn names_in(&self, world: &World) -> Vec<(&'static str, ComponentId)> {
        self.entries.iter().filter_map(|entry| Some((entry.name, id_of(world, entry)?))).collect()
    }

    fn entry_named(&self, name: &str) -> Result<&Entry, ValueError> {
        let found = self.by_name(name).map(|at| &self.entries[at]);
        found.ok_or_else(|| ValueError::NotRegistered { name: name.into() })
    }

    /// Returns a component of an entity in readable form, by the name that it is registered under.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, serde::Serialize, serde::Deserialize)]
    /// struct Health { now: u32, most: u32 }
    ///
    /// let mut registry = Registry::new();
    /// registry.serde::<Health>("health")?;
    /// let mut world = World::new();
    /// let e = world.spawn(Health { now: 3, most: 9 });
    /// assert_eq!(serde_json::to_string(&registry.value(&world, e, "health")?)?, r#"{"now":3,"most":9}"#);
    ///
    /// let json = r#"{"now":7,"most":9}"#;
    /// registry.insert_value(&mut world, e, "health", &mut serde_json::Deserializer::from_str(json))?;
    /// assert_eq!(world.get::<Health>(e)?.now, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ValueError::NotRegistered`] if no component has the name.
    /// - [`ValueError::NotReadable`] if the component has no readable form.
    /// - [`ValueError::Entity`] if the entity is not alive, or does not have the component.
    pub fn value<'a>(&'a self, world: &'a World, entity: Entity, name: &str) -> Result<ReadableValue<'a>, ValueError> {
        let entry = self.entry_named(name)?;
        let readable = entry.readable.as_ref().ok_or(ValueError::NotReadable { name: entry.name })?;
        if !world.contains(entity) {
            return Err(ValueError::Entity(NoSuchEntity { entity }.into()));
        }
        let missing = ComponentError::MissingComponent { entity, component: entry.type_name };
        let source = value_of(world, entity, id_of(world, entry), entry).ok_or(ValueError::Entity(missing))?;
        Ok(ReadableValue { readable, source, name: entry.name })
    }

    /// Reads a component in readable form and inserts it into an entity, by the name that it is registered under.
    ///
    /// The value is inserted like any other, so that listeners, change ticks and groups see it. The deserializer and the code of
    /// the type run before anything changes.
    ///
    /// # Errors
    ///
    /// - [`ValueError::NotRegistered`] if no component has the name.
    /// - [`ValueError::NotReadable`] if the component has no readable form, or is that of a relation or a run-time component.
    /// - [`ValueError::Invalid`] if what is read is not a value.
    /// - [`ValueError::Entity`] if the entity is not alive.
    /// - [`ValueError::Refused`] if allocation fails.
    /// - [`ValueError::Name`] if the entity cannot have the name, for the component of names.
    ///
    /// On error nothing has changed.
    pub fn insert_value<'de>(
        &self,
        world: &mut World,
        entity: Entity,
        name: &str,
        deserializer: impl Deserializer<'de>,
    ) -> Result<(), ValueError> {
        let entry = self.entry_named(name)?;
        let insert = entry.readable.as_ref().and_then(|readable| readable.insert.as_ref());
        let insert = insert.ok_or(ValueError::NotReadable { name: entry.name })?;
        if !world.contains(entity) {
            return Err(ValueError::Entity(NoSuchEntity { entity }.into()));
        }
        insert(world, entity, &mut <dyn erased_serde::Deserializer<'_>>::erase(deserializer)).map_err(|error| {
            match error {
                NotInserted::Invalid(error) => ValueError::Invalid { name: entry.name, error: error.to_string() },
                NotInserted::Refused(error) => ValueError::Refused(error),
                NotInserted::Name(error) => ValueError::Name(error),
            }
        })
    }
}

/// Returns the id of a registered component in a world, if the world knows it.
fn id_of(world: &World, entry: &Entry) -> Option<ComponentId> {
    world.storage.components.iter().skip(1).find(|(_, info)| entry.is_of(info)).map(|(id, _)| id)
}
