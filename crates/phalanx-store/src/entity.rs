//! [`Entity`] and [`Handle`]: an index and a generation in eight bytes.
// Only for the declaration of an unsafe function, and its one call with checked arguments.
#![allow(unsafe_code)]

use crate::generation::{MAX_GENERATION, MAX_SLOTS, ROW, countable};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::num::NonZeroU32;

/// An entity of an [`EntityPool`](crate::EntityPool): an index, and the generation of its use.
///
/// It takes eight bytes, and so does `Option<Entity>`. Entities order by index, then by generation.
///
/// ```
/// use phalanx_store::{Entity, EntityPool};
///
/// let mut pool = EntityPool::new();
/// let first = pool.alloc();
/// assert_eq!(format!("{first:?}"), "0v0");
/// pool.release(first);
/// let second = pool.alloc();
/// assert_eq!((second.index(), second.generation()), (0, 1));
/// assert_eq!(Entity::from_bits(second.to_bits()), Some(second));
/// ```
#[doc(alias("handle", "id", "entt::entity"))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, align(8))]
pub struct Entity {
    /// Index plus one: the niche is the index `u32::MAX`.
    position: NonZeroU32,
    generation: u32,
}

const _: () = {
    assert!(size_of::<Entity>() == 8 && size_of::<Option<Entity>>() == 8);
    let e = Entity::new(3, 1);
    assert!(e.index() == 3 && e.generation() == 1);
    assert!(matches!(Entity::from_bits(e.to_bits()), Some(f) if f.index() == 3 && f.generation() == 1));
    assert!(Entity::from_bits(u32::MAX as u64).is_none() && Entity::from_bits(u64::MAX).is_none());
    assert!(Entity::from_bits(1 << 63).is_none() && Entity::from_bits(1 << 62).is_none());
    // What `is_valid_bytes` relies on.
    assert!(core::mem::offset_of!(Entity, position) == 0 && core::mem::offset_of!(Entity, generation) == 4);
};

impl Entity {
    /// Creates the entity of this index and generation, which the caller has checked.
    #[inline(always)]
    pub(crate) const fn new(index: u32, generation: u32) -> Entity {
        debug_assert!(index < MAX_SLOTS);
        // An index is below `u32::MAX`, so the sum does not saturate.
        Entity { position: NonZeroU32::MIN.saturating_add(index), generation }
    }

    /// Returns the index of the slot.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.position.get() - 1
    }

    /// Returns the index plus one.
    #[inline(always)]
    pub(crate) const fn position(self) -> u32 {
        self.position.get()
    }

    /// Returns the generation: how often the slot was reused before.
    #[doc(alias = "version")]
    #[inline(always)]
    pub const fn generation(self) -> u32 {
        self.generation
    }

    /// Returns `true` if this names a row that a layer above keeps in a slot of its own.
    ///
    /// Then the generation has the row bit, above those that count; see
    /// [`EntityPool::alloc_row`](crate::EntityPool::alloc_row).
    #[inline(always)]
    pub const fn is_row(self) -> bool {
        self.generation & ROW != 0
    }

    /// Returns the bits: the generation in the high half, the index in the low one.
    #[doc(alias("as_ffi", "to_integral"))]
    #[inline]
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index() as u64
    }

    /// Returns the entity with these bits, or `None` if no pool can have made it.
    ///
    /// That is the index `u32::MAX`, or a generation that is never issued. An entity made from bits is checked wherever it is
    /// used, like any other.
    #[doc(alias = "from_ffi")]
    #[inline]
    pub const fn from_bits(bits: u64) -> Option<Entity> {
        let (index, generation) = (bits as u32, (bits >> 32) as u32);
        if index < MAX_SLOTS && generation <= MAX_GENERATION { Some(Entity::new(index, generation)) } else { None }
    }

    /// Returns `true` if these bytes, read as an `Entity`, are one that [`from_bits`](Entity::from_bits) can return.
    ///
    /// All other bytes are not an `Entity`, or one that no pool has issued.
    ///
    /// ```
    /// use phalanx_store::Entity;
    ///
    /// assert!(!Entity::is_valid_bytes([0; 8])); // `None::<Entity>`
    /// assert!(!Entity::is_valid_bytes([0xff; 8]));
    /// ```
    #[inline]
    pub const fn is_valid_bytes(bytes: [u8; 8]) -> bool {
        let [a, b, c, d, e, f, g, h] = bytes;
        let (position, generation) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
        // The position is the index plus one.
        position != 0 && countable(position) && generation <= MAX_GENERATION
    }
}

impl Hash for Entity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.to_bits());
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.index(), self.generation)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The key of a value in a [`PackedStore`](crate::PackedStore) or [`SlotStore`](crate::SlotStore).
///
/// `K` is the kind of store that the handle belongs to: the type of its values by default, or another type
/// (`PackedStore<Mesh, Scenery>` issues `Handle<Scenery>`). A handle of another kind does not compile:
///
/// ```compile_fail
/// use phalanx_store::PackedStore;
///
/// let mut names: PackedStore<&str> = PackedStore::new();
/// let mut ages: PackedStore<u32> = PackedStore::new();
/// let ann = names.insert("Ann");
/// ages.get(ann);
/// ```
///
/// Two stores of the same kind cannot be told apart by their handles. A handle of one finds what the other has under the
/// same index and generation, or nothing.
#[doc(alias("Key", "DefaultKey", "Index", "slotmap"))]
#[repr(C)]
pub struct Handle<K: ?Sized> {
    /// Index plus one, as in [`Entity`].
    position: NonZeroU32,
    generation: u32,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Handle<K> {
    #[inline(always)]
    pub(crate) const fn new(index: u32, generation: u32) -> Handle<K> {
        Handle::of(Entity::new(index, generation))
    }

    /// Creates the handle with the bits of an entity.
    #[inline(always)]
    const fn of(Entity { position, generation }: Entity) -> Handle<K> {
        Handle { position, generation, kind: PhantomData }
    }

    /// Returns the entity with the same bits.
    #[inline(always)]
    const fn entity(self) -> Entity {
        Entity { position: self.position, generation: self.generation }
    }

    /// Returns the index of the slot.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.position.get() - 1
    }

    /// Returns the generation: how often the slot was reused before.
    #[inline(always)]
    pub const fn generation(self) -> u32 {
        self.generation
    }

    /// Returns the bits: the generation in the high half, the index in the low one.
    #[doc(alias("as_ffi", "to_integral"))]
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.entity().to_bits()
    }

    /// Returns the handle with these bits, or `None` if no store can have issued it. See [`Entity::from_bits`].
    #[inline]
    pub const fn from_bits(bits: u64) -> Option<Handle<K>> {
        match Entity::from_bits(bits) {
            Some(entity) => Some(Handle::of(entity)),
            None => None,
        }
    }
}

// Laid out like an `Entity`, but aligned to 4 bytes. So a handle is loaded as two numbers, and not as one to be taken apart.
const _: () = {
    type Of = Handle<str>;
    assert!(size_of::<Of>() == 8 && align_of::<Of>() == 4 && size_of::<Option<Of>>() == 8);
    assert!(core::mem::offset_of!(Of, position) == 0 && core::mem::offset_of!(Of, generation) == 4);
};

// Not derived: derives would ask for the same of `K`.
impl<K: ?Sized> Clone for Handle<K> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: ?Sized> Copy for Handle<K> {}
impl<K: ?Sized> PartialEq for Handle<K> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.entity() == other.entity()
    }
}
impl<K: ?Sized> Eq for Handle<K> {}
impl<K: ?Sized> PartialOrd for Handle<K> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K: ?Sized> Ord for Handle<K> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.entity().cmp(&other.entity())
    }
}
impl<K: ?Sized> Hash for Handle<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entity().hash(state);
    }
}
impl<K: ?Sized> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entity().fmt(f)
    }
}

/// A key of a [`SparseSet`](crate::SparseSet) or [`LinearStore`](crate::LinearStore): an [`Entity`], or a [`Handle`] of
/// another store. Sealed.
pub trait Key: Copy + Eq + Ord + Hash + fmt::Debug + sealed::Sealed {
    /// Returns the index of the slot that the key names.
    fn index(self) -> u32;
    /// Returns the generation of that slot's use.
    fn generation(self) -> u32;
}

impl Key for Entity {
    #[inline(always)]
    fn index(self) -> u32 {
        self.index()
    }
    #[inline(always)]
    fn generation(self) -> u32 {
        self.generation
    }
}

impl<K: ?Sized> Key for Handle<K> {
    #[inline(always)]
    fn index(self) -> u32 {
        self.index()
    }
    #[inline(always)]
    fn generation(self) -> u32 {
        self.generation()
    }
}

/// Returns the key of this index and generation, or `None` if there can be none.
#[cfg(feature = "serde")]
pub(crate) fn checked_key<K: Key>(index: u32, generation: u32) -> Option<K> {
    let entity = Entity::from_bits(u64::from(generation) << 32 | u64::from(index))?;
    // SAFETY: an entity made from bits has a generation that is issued.
    Some(unsafe { K::from_parts(entity.index(), entity.generation()) })
}

pub(crate) mod sealed {
    use super::{Entity, Handle};

    /// Keeps [`Key`](super::Key) closed, and the making of keys inside the crate.
    ///
    /// The private module hides only the name: generic code outside reaches these methods as those of a supertrait. So the
    /// method that must not be called there is unsafe.
    pub trait Sealed {
        /// Creates the key of this index and generation.
        ///
        /// # Safety
        ///
        /// The generation is at most the last one. Or it has the dead bit, and the key is never looked up, because it would
        /// match a dead slot.
        unsafe fn from_parts(index: u32, generation: u32) -> Self;

        /// Returns the index plus one, which is what a key stores. An address that is computed from it needs no subtraction.
        fn position(self) -> u32;
    }
    impl Sealed for Entity {
        #[inline(always)]
        unsafe fn from_parts(index: u32, generation: u32) -> Self {
            Entity::new(index, generation)
        }

        #[inline(always)]
        fn position(self) -> u32 {
            self.position()
        }
    }
    impl<K: ?Sized> Sealed for Handle<K> {
        #[inline(always)]
        unsafe fn from_parts(index: u32, generation: u32) -> Self {
            Handle::new(index, generation)
        }

        #[inline(always)]
        fn position(self) -> u32 {
            self.position.get()
        }
    }
}
