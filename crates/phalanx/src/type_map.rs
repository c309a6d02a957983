//! [`TypeMap`]: finds the elements of a list by their types.

use crate::alloc::try_reserve_map;
use core::any::TypeId;
use core::hash::{BuildHasherDefault, Hash, Hasher};
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The number of slots in caches by type.
pub(crate) const TYPE_SLOTS: usize = 64;

/// Returns the slot of a type in caches of [`TYPE_SLOTS`] slots. It is a constant where the type is known.
#[inline(always)]
pub(crate) fn type_slot(key: &TypeId) -> usize {
    let mut hasher = PassThrough::default();
    key.hash(&mut hasher);
    (hasher.finish() >> 7) as usize % TYPE_SLOTS
}

/// In [`TypeMap::slots`]: no element. No list has as many.
const NONE: u32 = u32::MAX;

/// Finds the elements of a list by their types. The list knows the type of each element, so the map stores numbers only.
///
/// Most look-ups end in a slot. Only types that share one are also in a hash map.
#[derive(Debug)]
pub(crate) struct TypeMap {
    /// By bits of the type id: the element that was found or added last, or [`NONE`].
    slots: [u32; TYPE_SLOTS],
    /// A bit for each slot that several types share.
    crowded: u64,
    /// The types that share a slot with others.
    shared: HashMap<TypeId, u32, TypeIdHasher>,
}

impl TypeMap {
    /// Creates an empty map.
    #[inline(always)]
    pub(crate) fn new() -> TypeMap {
        TypeMap { slots: [NONE; TYPE_SLOTS], crowded: 0, shared: HashMap::default() }
    }

    /// Returns the number of a type, if it was added. `is_of` says whether the list has an element with a number, of that type.
    #[inline(always)]
    pub(crate) fn find(&self, key: TypeId, is_of: impl FnOnce(u32) -> bool) -> Option<u32> {
        let number = self.slots[type_slot(&key)];
        if is_of(number) { Some(number) } else { self.find_shared(key) }
    }

    /// Like [`find`](TypeMap::find), but the next search for the type ends in its slot.
    #[inline(always)]
    pub(crate) fn find_mut(&mut self, key: TypeId, is_of: impl FnOnce(u32) -> bool) -> Option<u32> {
        let number = self.slots[type_slot(&key)];
        if is_of(number) { Some(number) } else { self.find_shared_mut(key) }
    }

    #[cold]
    fn find_shared(&self, key: TypeId) -> Option<u32> {
        self.shared.get(&key).copied()
    }

    #[cold]
    fn find_shared_mut(&mut self, key: TypeId) -> Option<u32> {
        let number = self.find_shared(key)?;
        self.slots[type_slot(&key)] = number;
        Some(number)
    }

    /// Adds a type that is not in the map. `key_of` returns the type of another element. Nothing changes if allocation fails.
    pub(crate) fn try_add(
        &mut self,
        key: TypeId,
        number: u32,
        key_of: impl FnOnce(u32) -> TypeId,
    ) -> Result<(), AllocError> {
        let (slot, bit) = (&mut self.slots[type_slot(&key)], 1 << type_slot(&key));
        if *slot != NONE {
            try_reserve_map(&mut self.shared, 2)?;
            if self.crowded & bit == 0 {
                self.shared.insert(key_of(*slot), *slot);
                self.crowded |= bit;
            }
            self.shared.insert(key, number);
        }
        *slot = number;
        Ok(())
    }
}

/// Hashes a type id to itself.
pub(crate) type TypeIdHasher = BuildHasherDefault<PassThrough>;

/// A hasher that returns its input, because a type id is a hash already.
#[derive(Clone, Default)]
pub(crate) struct PassThrough(u64);

impl Hasher for PassThrough {
    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}
