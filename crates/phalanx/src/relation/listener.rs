//! [`Linked`] and [`Unlinked`]: the events of links.

use phalanx_store::Entity;

/// An entity was linked to a target: the event of [`RelationsMut::on_link`](super::RelationsMut::on_link).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The source of the link.
    pub source: Entity,
    /// The target of the link.
    pub target: Entity,
}

/// An entity was unlinked from a target: the event of [`RelationsMut::on_unlink`](super::RelationsMut::on_unlink).
///
/// Either may have been despawned since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlinked {
    /// The source of the link.
    pub source: Entity,
    /// The target of the link.
    pub target: Entity,
}
