//! [`ChildOf`]: the relation of children to their parents.

use super::relation::HasNames;
use super::{OnDespawn, Relation, RelationKind, TreeRelation};

/// The relation of children to their parents: a tree. Children are despawned with their parent.
///
/// Children of the same parent have different [names](crate::Name), if they have any.
///
/// ```
/// use phalanx::World;
/// use phalanx::relation::ChildOf;
///
/// let mut world = World::new();
/// let parent = world.spawn_empty();
/// let children = [(); 3].map(|()| world.entity_mut(parent).unwrap().spawn_child(()));
/// assert!(world.relations::<ChildOf>().children(parent).eq(children));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ChildOf {}

impl Relation for ChildOf {
    const KIND: RelationKind = RelationKind::Tree;
    const ON_DESPAWN: OnDespawn = OnDespawn::Despawn;
    const HAS_NAMES: HasNames<Self> = HasNames::YES;
}

impl TreeRelation for ChildOf {}
