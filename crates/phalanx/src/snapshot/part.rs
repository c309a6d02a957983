//! [`Part`]: the part of a world to save.

use crate::query::QueryFilter;
use crate::world::World;
use phalanx_store::Entity;

/// The part of a world that [`Registry::save_part`](super::Registry::save_part) saves.
///
/// Entities that are not chosen are dead in the snapshot. Their slots are reused after the free ones. An extra row is saved
/// with its entity. Resources are left out unless [`with_resources`](Part::with_resources) is called.
///
/// ```
/// use phalanx::snapshot::{Part, Registry};
/// use phalanx::{Component, With, World};
///
/// #[derive(Component, serde::Serialize, serde::Deserialize)]
/// struct Name(String);
/// #[derive(Component)]
/// struct Hero;
///
/// let mut registry = Registry::new();
/// registry.serde::<Name>("name")?;
/// registry.tag("hero", || Hero)?;
/// let mut world = World::new();
/// let ann = world.spawn((Name("Ann".into()), Hero));
/// let bob = world.spawn(Name("Bob".into()));
/// let mut file = Vec::new();
/// registry.save_part(&world, &Part::matching::<With<Hero>>(&world), &mut file)?;
/// let copy = registry.load(&*file)?;
/// assert!(copy.contains(ann) && !copy.contains(bob));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub(super) entities: Option<Vec<u64>>,
    pub(super) components: Option<Vec<&'static str>>,
    pub(super) resources: bool,
}

impl Part {
    /// Returns all entities with all components.
    pub fn all() -> Part {
        Part::default()
    }

    /// Returns some entities with all components. Dead entities are ignored.
    pub fn of(entities: impl IntoIterator<Item = Entity>) -> Part {
        Part::all().entities(entities)
    }

    /// Returns the entities of a world that match a filter, with all components.
    ///
    /// With [`AllRows`](crate::query::AllRows) in the filter, an entity also matches by one of its extra rows.
    pub fn matching<F: QueryFilter>(world: &World) -> Part {
        Part::of(world.query_filtered::<Entity, F>().iter())
    }

    /// Replaces the chosen entities.
    #[must_use]
    pub fn entities(mut self, entities: impl IntoIterator<Item = Entity>) -> Part {
        let mut bits = Vec::new();
        for entity in entities {
            let word = entity.index() as usize / 64;
            if bits.len() <= word {
                bits.resize(word + 1, 0_u64);
            }
            bits[word] |= 1 << (entity.index() % 64);
        }
        self.entities = Some(bits);
        self
    }

    /// Restricts the part to the components with these names.
    #[must_use]
    pub fn components(mut self, names: impl IntoIterator<Item = &'static str>) -> Part {
        self.components = Some(names.into_iter().collect());
        self
    }

    /// Includes the registered resources.
    #[must_use]
    pub fn with_resources(mut self) -> Part {
        self.resources = true;
        self
    }

    /// Returns everything with resources: what [`Registry::save`](super::Registry::save) saves.
    pub(super) fn whole() -> Part {
        Part::all().with_resources()
    }
}
