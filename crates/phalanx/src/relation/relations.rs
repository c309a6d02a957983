//! [`Relations`]: the links of a relation in a shared world.

use super::{Ancestors, Descendants, LinkOf, Relation, Sources, TreeRelation};
use crate::change_detection::Tick;
use crate::links::{LinkView, NONE, RelationKind};
use crate::sparse::LinkRecords;
use crate::storage::Storage;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// The links of a relation in a shared world: [`World::relations`]. It is also a parameter of systems.
///
/// To the methods, an entity that is not alive has no links.
///
/// ```
/// use phalanx::relation::{ChildOf, Relations};
/// use phalanx::system::IntoSystem;
/// use phalanx::{Component, Entity, Query, World};
///
/// #[derive(Component)]
/// struct Mass(u32);
/// #[derive(Component)]
/// struct Total(u32);
///
/// fn weigh(masses: Query<&Mass>, mut totals: Query<(Entity, &mut Total)>, tree: Relations<ChildOf>) {
///     for (entity, total) in &mut totals {
///         total.0 = masses.iter_many(tree.descendants(entity)).flatten().map(|mass| mass.0).sum();
///     }
/// }
///
/// let mut world = World::new();
/// let ship = world.spawn(Total(0));
/// let hold = world.entity_mut(ship)?.spawn_child(Mass(40));
/// world.entity_mut(hold)?.spawn_child(Mass(2));
/// world.run_system(&mut weigh.into_system());
/// assert_eq!(world.get::<Total>(ship).unwrap().0, 42);
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
pub struct Relations<'w, R> {
    pub(super) storage: &'w Storage,
    links: LinkRecords<'w>,
    relation: PhantomData<fn() -> R>,
}

impl<R> Clone for Relations<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Relations<'_, R> {}

impl World {
    /// Returns the links of a [relation](crate::relation).
    #[doc(alias = "parent")]
    #[doc(alias = "children")]
    pub fn relations<R: Relation>(&self) -> Relations<'_, R> {
        Relations::new(&self.storage)
    }
}

impl<'w, R: Relation> Relations<'w, R> {
    pub(super) fn new(storage: &'w Storage) -> Relations<'w, R> {
        let storage_id = storage.sparse.storage_id_of::<LinkOf<R>>(&storage.components);
        Relations { storage, links: storage.sparse.links(storage_id), relation: PhantomData }
    }

    /// Returns the slot of an entity, or none if it is not alive.
    fn slot(self, entity: Entity) -> u32 {
        if self.storage.contains(entity) { entity.index() } else { NONE }
    }

    /// Returns the entity at a slot.
    fn entity(self, slot: u32) -> Option<Entity> {
        self.storage.slot(slot).filter(|_| slot != NONE)
    }

    /// Returns the target that an entity is linked to.
    pub fn target(self, source: Entity) -> Option<Entity> {
        self.entity(self.links.get(self.slot(source)).target)
    }

    /// Returns the entities that are linked to a target, in order.
    pub fn sources(self, target: Entity) -> Sources<'w> {
        match self.slot(target) {
            NONE => Sources::none(self.storage, self.links),
            slot => Sources::new(self.storage, self.links, slot),
        }
    }

    /// Returns `true` if the entity is linked to the target.
    pub fn is_linked(self, source: Entity, target: Entity) -> bool {
        self.target(source) == Some(target)
    }

    /// Returns the [change tick](crate::change_detection) at which a link of the relation changed last, or `None` if there was never
    /// one.
    pub fn last_changed(self) -> Option<Tick> {
        self.links.changed()
    }

    /// Returns all links, as pairs of source and target: by slot of the source.
    pub fn iter(self) -> impl Iterator<Item = (Entity, Entity)> + use<'w, R> {
        self.links.slots().filter_map(move |slot| Some((self.entity(slot)?, self.entity(self.links.get(slot).target)?)))
    }
}

impl<'w, R: TreeRelation> Relations<'w, R> {
    /// Returns the parent of an entity: the [target](Relations::target) of its link.
    pub fn parent(self, child: Entity) -> Option<Entity> {
        self.target(child)
    }

    /// Returns the children of an entity, in order: the [sources](Relations::sources) of its links.
    pub fn children(self, parent: Entity) -> Sources<'w> {
        self.sources(parent)
    }

    /// Returns the entities above another one: its parent, the parent of that, and so on.
    pub fn ancestors(self, entity: Entity) -> Ancestors<'w> {
        const { assert!(matches!(R::KIND, RelationKind::Tree), "a tree has `RelationKind::Tree`") };
        Ancestors { storage: self.storage, links: self.links, slot: self.slot(entity) }
    }

    /// Returns the entities below another one, depth first.
    pub fn descendants(self, entity: Entity) -> Descendants<'w> {
        const { assert!(matches!(R::KIND, RelationKind::Tree), "a tree has `RelationKind::Tree`") };
        let root = self.slot(entity);
        Descendants { storage: self.storage, links: self.links, root, next: self.links.get(root).first }
    }

    /// Returns the entity above all others that are above an entity, or the entity if it has no parent.
    pub fn root(self, entity: Entity) -> Entity {
        self.ancestors(entity).last().unwrap_or(entity)
    }

    /// Returns the number of entities above another one. It takes constant time.
    pub fn depth(self, entity: Entity) -> u32 {
        self.links.get(self.slot(entity)).depth
    }

    /// Returns `true` if an entity is above another one.
    pub fn is_ancestor(self, ancestor: Entity, entity: Entity) -> bool {
        let slots = (self.slot(ancestor), self.slot(entity));
        ancestor != entity && slots.0 != NONE && slots.1 != NONE && self.links.is_above(slots.0, slots.1)
    }
}

impl<R> fmt::Debug for Relations<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Relations").field(&core::any::type_name::<R>()).finish()
    }
}
