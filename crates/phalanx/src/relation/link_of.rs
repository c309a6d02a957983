//! [`LinkOf`]: the hidden component of a relation.
#![allow(unsafe_code)]

use super::Relation;
use crate::component::Component;
use crate::layout::{ColumnTracked, Linear};
use crate::links::{Link, RelationInfo};
use crate::plain::{IsPlain, Plain};
use core::marker::PhantomData;

/// The component whose values are the records of a relation. No row has it: only links change its values.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct LinkOf<R> {
    link: Link,
    relation: PhantomData<fn() -> R>,
}

impl<R> Clone for LinkOf<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for LinkOf<R> {}

impl RelationInfo {
    /// Returns the properties of a relation.
    #[inline(always)]
    pub(super) const fn of<R: Relation>() -> RelationInfo {
        RelationInfo {
            name: core::any::type_name::<R>,
            kind: R::KIND,
            on_despawn: R::ON_DESPAWN,
            clones: R::CLONES,
            has_names: R::HAS_NAMES.is_so,
        }
    }
}

// SAFETY: it is a struct of eight `u32`, without padding.
unsafe impl<R: Relation> Plain for LinkOf<R> {
    const ANY_BYTES: bool = false;

    fn is_valid(bytes: &[u8]) -> bool {
        // The unused field.
        bytes.get(28..32) == Some(&[0; 4])
    }

    fn describe(each: &mut dyn FnMut(&str)) {
        each("link");
    }
}

impl<R: Relation> Component for LinkOf<R> {
    type Layout = ColumnTracked<Linear>;

    const CLONE: Option<fn(&Self) -> Self> = Some(|link| *link);
    const PLAIN: Option<IsPlain<Self>> = Some(IsPlain::new());
    const RELATION: Option<RelationInfo> = Some(RelationInfo::of::<R>());
}

#[cfg(feature = "snapshot")]
impl<R> serde::Serialize for LinkOf<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Link { target, prev, next, first, last, count, depth, .. } = self.link;
        [target, prev, next, first, last, count, depth].serialize(serializer)
    }
}

#[cfg(feature = "snapshot")]
impl<'de, R> serde::Deserialize<'de> for LinkOf<R> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [target, prev, next, first, last, count, depth] = <[u32; 7]>::deserialize(deserializer)?;
        Ok(LinkOf { link: Link { target, prev, next, first, last, count, depth, unused: 0 }, relation: PhantomData })
    }
}
