//! [`RelationInfo`]: the properties of a relation, without its type.

/// How many sources and targets an entity can have in a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// A source has one target, a target has any number of sources, in order, and there are no cycles.
    Tree,
    /// A source has one target, and a target has one source.
    OneToOne,
    /// A source has one target, and a target has any number of sources, in order.
    OneToMany,
}

/// What happens to the sources of a target that is despawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDespawn {
    /// They are despawned, and so are their own sources.
    Despawn,
    /// They are unlinked.
    Unlink,
    /// They are linked to the target of the despawned entity, in its place. Without one they are unlinked.
    Reparent,
    /// The target is not despawned while it has sources.
    Refuse,
}

/// The properties of a relation, without its type.
#[derive(Clone, Copy, Debug)]
pub struct RelationInfo {
    pub(crate) name: fn() -> &'static str,
    pub(crate) kind: RelationKind,
    pub(crate) on_despawn: OnDespawn,
    /// Whether a clone of a source is linked to the same target.
    pub(crate) clones: bool,
    /// Whether sources of the same target have different names.
    pub(crate) has_names: bool,
}

impl RelationInfo {
    /// Returns the name of the relation, for messages.
    pub(crate) fn name(&self) -> &'static str {
        (self.name)()
    }

    /// Returns `true` if the relation is a tree, whose depths are known.
    pub(crate) fn is_tree(&self) -> bool {
        self.kind == RelationKind::Tree
    }
}
