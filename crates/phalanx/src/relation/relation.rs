//! [`Relation`]: a type of links between entities.

use crate::links::{OnDespawn, RelationKind};
use core::fmt;
use core::marker::PhantomData;

/// A type of links between entities.
///
/// Use `#[derive(Relation)]` to implement it. See the [module](super) for the kinds of relations.
///
/// ```
/// use phalanx::{Relation, World};
///
/// #[derive(Relation)]
/// #[relation(one_to_one)]
/// struct DockedAt;
///
/// let mut world = World::new();
/// let [ship, other, port] = [(); 3].map(|()| world.spawn_empty());
/// let mut docked = world.relations_mut::<DockedAt>();
/// docked.link(ship, port)?;
/// assert!(docked.link(other, port).is_err()); // occupied
/// docked.unlink(ship)?;
/// docked.link(other, port)?;
/// # Ok::<(), phalanx::RelationError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a relation",
    label = "`{Self}` is not a relation",
    note = "add `#[derive(Relation)]` and `#[relation(…)]` to `{Self}`"
)]
pub trait Relation: Sized + Send + Sync + 'static {
    /// How many sources and targets an entity can have.
    const KIND: RelationKind;

    /// What happens to the sources of a target that is despawned.
    const ON_DESPAWN: OnDespawn = OnDespawn::Unlink;

    /// Whether a clone of a source is linked to the same target.
    const CLONES: bool = true;

    /// Whether sources of the same target have different names.
    #[doc(hidden)]
    const HAS_NAMES: HasNames<Self> = HasNames::NO;
}

/// Whether sources of the same target have different names. No other crate can say so of its relations: the index of names follows one
/// relation.
#[doc(hidden)]
pub struct HasNames<R> {
    pub(super) is_so: bool,
    relation: PhantomData<fn() -> R>,
}

impl<R> HasNames<R> {
    pub(super) const NO: HasNames<R> = HasNames { is_so: false, relation: PhantomData };
    pub(super) const YES: HasNames<R> = HasNames { is_so: true, relation: PhantomData };
}

impl<R> fmt::Debug for HasNames<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HasNames").field(&self.is_so).finish()
    }
}

/// A [relation](Relation) that is a tree: parents, children, depths.
///
/// `#[derive(Relation)]` implements it for `#[relation(tree)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree",
    label = "the relation `{Self}` has no depths",
    note = "`#[relation(tree)]` makes a relation a tree"
)]
pub trait TreeRelation: Relation {}
