//! Copies of sides, and giving their memory back.
#![allow(unsafe_code)]

use super::{Linear, Pool, SparseStorage, SparseStorages, Store, Values};
use crate::alloc::{try_box, try_clone_slice, try_vec};
use crate::component::{Cloning, Components};
use phalanx_store::AllocError;
use phalanx_store::raw::{Dense, LaneOf, Rows};

/// Writes clones of the values in some rows to the same rows of other lanes. If a clone panics, those that were made end.
///
/// # Safety
///
/// There are values in those rows, of a component that is cloned so, and room there, where nothing lives.
unsafe fn clone_rows(from: &Values, to: &Values, cloning: Cloning, rows: impl Iterator<Item = u32> + Clone) {
    struct Made<'a, I: Iterator<Item = u32>> {
        values: &'a Values,
        rows: I,
        done: usize,
    }
    impl<I: Iterator<Item = u32>> Drop for Made<'_, I> {
        fn drop(&mut self) {
            for row in self.rows.by_ref().take(self.done) {
                // SAFETY: the clone was written, and nobody counts it.
                unsafe { self.values.end(row) };
            }
        }
    }
    let mut made = Made { values: to, rows: rows.clone(), done: 0 };
    for row in rows {
        // SAFETY: the caller's promise.
        unsafe { clone_value(from, row, to, row, cloning) };
        made.done += 1;
    }
    core::mem::forget(made);
}

/// Writes a clone of a value, with its marks.
///
/// # Safety
///
/// There is a value in that row, of a component that is cloned so, and room there, where nothing lives.
pub(crate) unsafe fn clone_value(from: &Values, row: u32, to: &Values, at: u32, cloning: Cloning) {
    // SAFETY: the caller's promise.
    unsafe {
        match cloning {
            Cloning::Value(clone) => clone(from.at(row), to.at(at)),
            Cloning::Bytes => {
                let size = from.layout().map_or(0, |layout| layout.size());
                core::ptr::copy_nonoverlapping(from.at(row), to.at(at), size);
            }
        }
        to.copy_marks(at, from, row);
    }
}

impl Pool {
    fn try_clone(&self, values: Values, cloning: Cloning) -> Result<Pool, AllocError> {
        let mut values = values;
        let positions = self.dense.positions();
        // SAFETY: nothing is in use. The rows that are no holes are cloned before anybody asks for them: until then nothing
        // ends them.
        let dense: Dense<_, Values> = unsafe {
            values.try_resize(positions)?;
            self.dense.try_clone_over(values)?
        };
        let rows = (0..positions).filter(|at| self.dense.key_at(*at).is_some());
        // SAFETY: there are values in these rows, and room in the others.
        unsafe { clone_rows(self.values(), dense.rows(), cloning, rows) };
        Ok(Pool { dense, removal: self.removal, rows: self.rows })
    }
}

impl Linear {
    fn try_clone(&self, values: Values, cloning: Cloning) -> Result<Linear, AllocError> {
        let (mut values, mut bits) = (values, LaneOf::<u64>::new());
        let words = self.words().iter().rposition(|word| *word != 0).map_or(0, |at| at as u32 + 1);
        let slots = words * 64;
        // SAFETY: nothing is in use; so many words are initialised there, and there is room for them here. Clones are made of
        // the values that there are, which lie below the last word.
        unsafe {
            bits.try_resize(words)?;
            values.try_resize(if words == 0 { 0 } else { slots + 1 })?;
            core::ptr::copy_nonoverlapping(self.words().as_ptr(), bits.ptr(), words as usize);
            clone_rows(self.values(), &values, cloning, self.iter());
        }
        Ok(Linear::of(values, bits, slots, (self.len(), self.rows)))
    }
}

impl SparseStorages {
    /// The component of a side that has values which cannot be cloned, if there is one.
    pub(crate) fn not_clone(&self, components: &Components) -> Option<&'static str> {
        let held = self.in_order().filter(|side| side.len() > 0).map(|side| components.info(side.id));
        held.filter(|info| !info.is_clone()).map(|info| info.name()).next()
    }

    /// The same sides with clones of their values, at the same positions. All that have values can be cloned.
    pub(crate) fn try_clone(&self, components: &Components) -> Result<SparseStorages, AllocError> {
        let mut copy = SparseStorages::new();
        copy.by_component = try_clone_slice(&self.by_component)?;
        copy.direct = self.direct;
        copy.by_bit = try_clone_slice(&self.by_bit)?;
        copy.linear = try_clone_slice(&self.linear)?;
        copy.list = try_vec(self.list.len())?;
        copy.order = try_clone_slice(&self.order)?;
        copy.places = try_vec(self.list.len())?;
        copy.displaced_values = try_vec(self.list.len())?;
        copy.stride = self.stride;
        let slots = (0..self.covered).rev().find(|slot| self.mask(*slot).iter().any(|word| *word != 0));
        let words = slots.map_or(0, |last| last + 1) * self.stride;
        // SAFETY: nothing is in use; so many words are initialised there, and there is room for them here.
        unsafe {
            copy.masks.try_resize(words)?;
            core::ptr::copy_nonoverlapping(self.masks.ptr(), copy.masks.ptr(), words as usize);
        }
        copy.covered = words / self.stride;
        for side in self.in_order() {
            let info = components.info(side.id);
            // One without values is as good as copied.
            let cloning = info.clone.unwrap_or(Cloning::Bytes);
            let values = Values::try_new(info)?;
            let store = match &side.store {
                Store::Pool(pool) => Store::Pool(pool.try_clone(values, cloning)?),
                Store::Linear(linear) => Store::Linear(linear.try_clone(values, cloning)?),
            };
            let (required_by, excluded_by) = (try_clone_slice(&side.required_by)?, try_clone_slice(&side.excluded_by)?);
            copy.list.push(try_box(SparseStorage {
                id: side.id,
                store,
                bit: side.bit,
                flag: side.flag,
                watched: side.watched,
                plain: side.plain,
                required_by,
                excluded_by,
                gone: [0; 2],
                rank: side.rank,
            })?);
        }
        // Values are cloned in canonical order, and sides keep their numbers.
        copy.list.sort_unstable_by_key(|side| self.number(side.id));
        copy.groups = self.groups.try_clone()?;
        copy.clock = self.clock.copy(0);
        Ok(copy)
    }

    /// Gives memory back that is not needed, with at most so many moves of a value. How many values were moved, or lie where
    /// room was given back.
    pub(crate) fn compact(&mut self, budget: usize) -> usize {
        let mut done = 0;
        for side in &mut self.list {
            if done >= budget {
                return done;
            }
            let before = side.bytes();
            match &mut side.store {
                Store::Pool(pool) => {
                    // An operation that panicked may have left empty pages.
                    pool.dense.hold_pages(false);
                    let moves = u32::try_from(budget - done).unwrap_or(u32::MAX);
                    done += pool.dense.compact(moves) as usize;
                    if pool.dense.holes() == 0 && pool.dense.is_loose() {
                        pool.dense.shrink_to_fit();
                    }
                }
                // What cannot be had smaller stays as it was.
                Store::Linear(linear) => drop(linear.try_shrink()),
            }
            if side.bytes() < before {
                done += side.len() as usize + 1;
            }
        }
        if done < budget {
            done += self.groups.shrink();
        }
        if done < budget {
            let last = (0..self.covered).rev().find(|slot| self.mask(*slot).iter().any(|word| *word != 0));
            let (before, covered) = (self.masks.bytes(), last.map_or(0, |last| last + 1));
            // SAFETY: no slot above these has a bit. What cannot be had smaller stays as it was.
            if unsafe { self.masks.try_resize(covered * self.stride) }.is_ok() {
                self.covered = covered;
            }
            done += usize::from(self.masks.bytes() < before);
        }
        done
    }
}

#[cfg(all(test, feature = "derive"))]
mod tests {
    use super::super::{Removal, Store};
    use crate::Component;
    use crate::world::World;

    #[derive(Component, Clone)]
    #[component(layout = "pool", clone)]
    struct Name(String);

    fn keys(world: &World) -> Vec<Option<u32>> {
        let Store::Pool(pool) = &world.storage.sparse.get(0).store else { unreachable!() };
        (0..pool.dense.positions()).map(|at| pool.dense.key_at(at).map(|key| key.index())).collect()
    }

    #[test]
    fn a_copy_has_the_same_holes_and_closes_them_in_order() {
        let mut world = World::new();
        let all: Vec<_> = (0..8).map(|n| world.spawn(Name(n.to_string()))).collect();
        world.storage.sparse.set_removal(0, Removal::Deferred);
        for at in [1, 4, 5] {
            world.despawn(all[at]).unwrap();
        }
        let mut copy = world.try_clone().unwrap();
        assert_eq!(keys(&copy), [Some(0), None, Some(2), Some(3), None, None, Some(6), Some(7)]);
        for world in [&mut world, &mut copy] {
            world.spawn(Name("late".into()));
            world.remove::<Name>(all[7]).unwrap();
            world.validate().unwrap();
            assert_eq!(keys(world)[6..], [Some(6), None, Some(5)]);
            while world.compact(1) > 0 {
                world.validate().unwrap();
            }
            assert_eq!(keys(world), [0, 2, 3, 6, 5].map(Some));
            assert_eq!(world.get::<Name>(all[6]).unwrap().0, "6");
        }
        let mut there = World::new();
        world.despawn(all[3]).unwrap();
        copy.transfer_all(&mut there).unwrap();
        world.transfer_all(&mut there).unwrap();
        there.validate().unwrap();
        assert_eq!(keys(&there).len(), 9);
    }
}
