//! [`NameOf`]: the hidden component of names.
#![allow(unsafe_code)]

use super::Name;
use crate::component::Component;
use crate::layout::Pool;
use crate::plain::{IsPlain, Plain};

/// The component whose values are the names of entities. It is hidden, so that only names that are free are given.
///
/// It is aligned so that a name is within one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct NameOf(pub(crate) Name);

const _: () = assert!(size_of::<NameOf>() == size_of::<Name>());

impl NameOf {
    /// Returns values as names.
    pub(crate) fn names(values: &[NameOf]) -> &[Name] {
        // SAFETY: a value is a name and nothing else, as its representation and its size say.
        unsafe { core::slice::from_raw_parts(values.as_ptr().cast::<Name>(), values.len()) }
    }
}

// SAFETY: it is a name, which is plain, and has no padding.
unsafe impl Plain for NameOf {
    const ANY_BYTES: bool = Name::ANY_BYTES;

    fn is_valid(bytes: &[u8]) -> bool {
        Name::is_valid(bytes)
    }

    fn describe(each: &mut dyn FnMut(&str)) {
        Name::describe(each);
    }
}

impl Component for NameOf {
    type Layout = Pool;

    const CLONE: Option<fn(&Self) -> Self> = Some(|name| *name);
    const PLAIN: Option<IsPlain<Self>> = Some(IsPlain::new());
    const HIDDEN: bool = true;
}

#[cfg(feature = "snapshot")]
impl serde::Serialize for NameOf {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(feature = "snapshot")]
impl<'de> serde::Deserialize<'de> for NameOf {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Name::deserialize(deserializer).map(NameOf)
    }
}
