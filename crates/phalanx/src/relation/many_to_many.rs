//! [`ManyToMany`]: relations with any number of targets for each source, and data for each link.

use super::{OnDespawn, Relation, RelationKind};
use crate::component::Component;
use core::marker::PhantomData;

/// A relation with any number of targets for each source, and with data for each link.
///
/// Use `#[derive(Component, Relation)]` with `#[relation(many_to_many)]` or `#[relation(symmetric)]` to implement it.
///
/// Each link is an entity of its own. It has the component, and two links: of the relation [`SourceOf`] to its source, and of
/// [`TargetOf`] to its target. So the data of links is queried, tracked and saved like any other component. When an end is
/// despawned, the link is despawned with it.
///
/// ```
/// use phalanx::{Component, Relation, World};
///
/// #[derive(Component, Relation)]
/// #[relation(symmetric)]
/// struct Knows {
///     since: u32,
/// }
///
/// let mut world = World::new();
/// let [ann, bob, eve] = [(); 3].map(|()| world.spawn_empty());
/// let mut knows = world.links_mut::<Knows>();
/// knows.link(ann, bob, Knows { since: 1999 })?;
/// knows.link(eve, ann, Knows { since: 2004 })?;
/// assert!(world.links::<Knows>().neighbours(ann).eq([bob, eve]));
///
/// let link = world.links::<Knows>().find(bob, ann).unwrap();
/// world.get_mut::<Knows>(link).unwrap().since = 1998;
/// world.despawn(bob).unwrap();
/// assert!(world.links::<Knows>().neighbours(ann).eq([eve]));
/// # Ok::<(), phalanx::StructuralError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a relation of many to many",
    label = "`{Self}` is not a relation of many to many",
    note = "add `#[derive(Component, Relation)]` and `#[relation(many_to_many)]` to `{Self}`"
)]
pub trait ManyToMany: Component {
    /// Whether a link from one entity to another is also one back.
    const SYMMETRIC: bool = false;

    /// Whether a target cannot be despawned while it has links.
    const REFUSES: bool = false;
}

/// The relation of the links of a [many-to-many relation](ManyToMany) to their sources.
#[derive(Debug)]
pub struct SourceOf<R>(PhantomData<fn() -> R>);

/// The relation of the links of a [many-to-many relation](ManyToMany) to their targets.
#[derive(Debug)]
pub struct TargetOf<R>(PhantomData<fn() -> R>);

impl<R: ManyToMany> Relation for SourceOf<R> {
    const KIND: RelationKind = RelationKind::OneToMany;
    const ON_DESPAWN: OnDespawn = if R::REFUSES && R::SYMMETRIC { OnDespawn::Refuse } else { OnDespawn::Despawn };
}

impl<R: ManyToMany> Relation for TargetOf<R> {
    const KIND: RelationKind = RelationKind::OneToMany;
    const ON_DESPAWN: OnDespawn = if R::REFUSES { OnDespawn::Refuse } else { OnDespawn::Despawn };
}
