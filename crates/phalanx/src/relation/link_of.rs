//! [`LinkOf`]: the hidden component of a relation.
#![allow(unsafe_code)]

use super::Relation;
use crate::component::Component;
use crate::layout::{Linear, RowTracked};
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

// SAFETY: it is a struct of seven `u32`, without padding. All bytes are a value.
unsafe impl<R: Relation> Plain for LinkOf<R> {
    const ANY_BYTES: bool = true;

    fn is_valid(_: &[u8]) -> bool {
        true
    }

    fn describe(each: &mut dyn FnMut(&str)) {
        each("link");
    }
}

impl<R: Relation> Component for LinkOf<R> {
    type Layout = RowTracked<Linear>;

    const CLONE: Option<fn(&Self) -> Self> = Some(|link| *link);
    const PLAIN: Option<IsPlain<Self>> = Some(IsPlain::new());
    const RELATION: Option<RelationInfo> = Some(RelationInfo {
        name: core::any::type_name::<R>,
        kind: R::KIND,
        on_despawn: R::ON_DESPAWN,
        has_rows: false,
        clones: R::CLONES,
    });
}

#[cfg(feature = "snapshot")]
impl<R> serde::Serialize for LinkOf<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Link { target, prev, next, first, last, count, depth } = self.link;
        [target, prev, next, first, last, count, depth].serialize(serializer)
    }
}

#[cfg(feature = "snapshot")]
impl<'de, R> serde::Deserialize<'de> for LinkOf<R> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [target, prev, next, first, last, count, depth] = <[u32; 7]>::deserialize(deserializer)?;
        Ok(LinkOf { link: Link { target, prev, next, first, last, count, depth }, relation: PhantomData })
    }
}
