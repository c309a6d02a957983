//! [`Entities`]: the entities that a pool has just made.
#![allow(unsafe_code)]

use super::EntityPool;
use crate::Entity;
use core::iter::FusedIterator;
use core::ops::Range;

/// An iterator over entities that were just made, in the order of their making.
#[derive(Clone, Debug)]
pub struct Entities<'a, P: Copy = ()> {
    pub(super) pool: &'a EntityPool<P>,
    /// Where the recycled slots still lie above the free list, the first at the end.
    pub(super) recycled: Range<u32>,
    pub(super) fresh: Range<u32>,
}

impl<P: Copy> Iterator for Entities<'_, P> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        if let Some(at) = self.recycled.next_back() {
            // SAFETY: the slots that were just taken from the free list still lie above it, and they exist.
            return Some(unsafe {
                let index = *self.pool.free.at(at);
                Entity::new(index, *self.pool.word(index))
            });
        }
        self.fresh.next().map(|index| Entity::new(index, 0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.recycled.len() + self.fresh.len();
        (len, Some(len))
    }

    /// Runs two plain loops.
    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(mut self, init: B, mut f: F) -> B {
        let fresh = core::mem::replace(&mut self.fresh, 0..0);
        let mut state = init;
        for entity in self {
            state = f(state, entity);
        }
        fresh.fold(state, |state, index| f(state, Entity::new(index, 0)))
    }
}

impl<P: Copy> ExactSizeIterator for Entities<'_, P> {}
impl<P: Copy> FusedIterator for Entities<'_, P> {}
