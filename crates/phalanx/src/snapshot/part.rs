//! A part of a world: some entities, some components.

use crate::query::QueryFilter;
use crate::world::World;
use phalanx_store::Entity;

/// What part of a world is saved.
///
/// Entities that are not chosen are dead in the snapshot; their slots are used again after those that are free. Extra rows
/// go with their entity. Resources are left out unless they are asked for.
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
    /// All entities, with all components.
    pub fn all() -> Part {
        Part::default()
    }

    /// These entities. Those that are not alive are left out.
    pub fn of(entities: impl IntoIterator<Item = Entity>) -> Part {
        Part::all().entities(entities)
    }

    /// The entities that match a filter. With [`AllRows`](crate::query::AllRows) in the filter an entity also counts if one of its
    /// extra rows matches.
    pub fn matching<F: QueryFilter>(world: &World) -> Part {
        Part::of(world.query_filtered::<Entity, F>().iter())
    }

    /// These entities in the place of others.
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

    /// The components with these names only.
    #[must_use]
    pub fn components(mut self, names: impl IntoIterator<Item = &'static str>) -> Part {
        self.components = Some(names.into_iter().collect());
        self
    }

    /// The resources too.
    #[must_use]
    pub fn with_resources(mut self) -> Part {
        self.resources = true;
        self
    }

    /// Everything, resources included: what [`Registry::save`] saves.
    pub(super) fn whole() -> Part {
        Part::all().with_resources()
    }
}
