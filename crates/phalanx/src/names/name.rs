//! [`Name`]: the name of an entity.
#![allow(unsafe_code)]

use crate::error::NameError;
use crate::plain::Plain;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// The name of an entity: a text of at most [63 bytes](Name::MAX_LEN) without `/`.
///
/// Entities with the same parent have different names, and so have entities without a parent. Names are given by
/// [`EntityMut::set_name`](crate::EntityMut::set_name), and found by [`World::find`](crate::World::find).
///
/// ```
/// use phalanx::relation::Named;
/// use phalanx::{Entity, World};
///
/// let mut world = World::new();
/// let fleet = world.spawn_empty();
/// world.entity_mut(fleet)?.set_name("fleet")?;
/// let ship = world.entity_mut(fleet)?.spawn_child(());
/// world.entity_mut(ship)?.set_name("flagship")?;
///
/// assert_eq!(world.find("fleet/flagship"), Some(ship));
/// assert_eq!(world.path(ship).as_deref(), Some("fleet/flagship"));
/// let names: Vec<&str> = world.query::<Named>().iter().map(|name| name.as_str()).collect();
/// assert_eq!(names, ["fleet", "flagship"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A name holds its text itself. So it is [plain](Plain) data, and can be copied. It is not a component, because a bundle could give
/// it to two siblings:
///
/// ```compile_fail
/// phalanx::World::new().spawn(phalanx::Name::new("sun").unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Name {
    /// The text, and zeros behind it.
    text: [u8; Name::MAX_LEN],
    len: u8,
}

impl Name {
    /// The most bytes that a name can have.
    pub const MAX_LEN: usize = 63;

    /// Creates a name.
    ///
    /// # Errors
    ///
    /// - [`NameError::Empty`] if the text is empty.
    /// - [`NameError::Slash`] if it contains `/`, which separates the names of a path.
    /// - [`NameError::TooLong`] if it has more than [`MAX_LEN`](Name::MAX_LEN) bytes.
    pub fn new(text: &str) -> Result<Name, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.contains('/') {
            return Err(NameError::Slash);
        }
        if text.len() > Name::MAX_LEN {
            return Err(NameError::TooLong { len: text.len() });
        }
        let mut bytes = [0; Name::MAX_LEN];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Name { text: bytes, len: text.len() as u8 })
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: the first `len` bytes are a text: `new` copies one, and `is_valid` checks it.
        unsafe { core::str::from_utf8_unchecked(self.text.get_unchecked(..usize::from(self.len))) }
    }
}

// SAFETY: it is a struct of bytes, without padding. `is_valid` returns `true` for the bytes of a text and its length.
unsafe impl Plain for Name {
    const ANY_BYTES: bool = false;

    fn is_valid(bytes: &[u8]) -> bool {
        let Some((&len, text)) = bytes.split_last().filter(|_| bytes.len() == size_of::<Name>()) else { return false };
        let Some((text, rest)) = text.split_at_checked(usize::from(len)) else { return false };
        let is_name = |text: &str| Name::new(text).is_ok();
        core::str::from_utf8(text).is_ok_and(is_name) && rest.iter().all(|byte| *byte == 0)
    }

    fn describe(each: &mut dyn FnMut(&str)) {
        each("name");
    }
}

// SAFETY: the function is for names.
#[cfg(feature = "reflect")]
unsafe impl crate::shape::Reflect for Name {
    const SHAPE: &'static crate::shape::Shape = &crate::shape::text_shape::<Name>();
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}
impl core::hash::Hash for Name {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Name) -> core::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}
impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}
impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Name, NameError> {
        Name::new(text)
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(feature = "snapshot")]
impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(feature = "snapshot")]
impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an entity")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Name, E> {
                Name::new(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Name;
    use crate::error::NameError;
    use crate::plain::Plain;

    #[test]
    fn only_texts_that_can_be_part_of_a_path_are_names() {
        let longest = "ü".repeat(31) + "x";
        assert_eq!(Name::new(&longest).map(|name| name.as_str() == longest), Ok(true));
        assert_eq!(Name::new(""), Err(NameError::Empty));
        assert_eq!(Name::new("a/b"), Err(NameError::Slash));
        assert_eq!(Name::new(&"x".repeat(64)), Err(NameError::TooLong { len: 64 }));
        assert_eq!("gun".parse::<Name>().map(|name| name.to_string()), Ok("gun".to_string()));
    }

    #[test]
    fn bytes_are_a_name_only_if_the_text_is_one_with_zeros_behind_it() {
        let bytes = |text: &[u8], len: u8| {
            let mut bytes = [0; 64];
            bytes[..text.len()].copy_from_slice(text);
            bytes[63] = len;
            bytes
        };
        assert!(Name::is_valid(&bytes(b"gun", 3)));
        for (text, len) in [(&b"gun"[..], 2), (b"gun", 64), (b"gun", 0), (b"g/n", 3), (b"\xff", 1), (b"", 1)] {
            // A text of zeros is a name, if its length says so.
            assert_eq!(Name::is_valid(&bytes(text, len)), text.is_empty(), "{text:?} {len}");
        }
        assert!(!Name::is_valid(&[0; 3]));
    }
}
