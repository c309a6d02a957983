//! Cloning sparse storages, and freeing memory that they do not need.
#![allow(unsafe_code)]

use super::linear_storage::rows_for;
use super::{LinearStorage, SparseSet, SparseStorages, Store, Values};
use crate::alloc::{try_clone_slice, try_vec};
use crate::component::{Cloning, Components};
use crate::runs::Runs;
use crate::sort::sort_short_by_key;
use core::iter::once;
use core::ops::Range;
use phalanx_store::AllocError;
use phalanx_store::raw::{Dense, DropGuard, Words};

/// Clones the values in some rows to the same rows of other values. If a clone panics, those that were made are
/// dropped.
///
/// `runs` cover the rows. Values that are copied as bytes are copied run by run, with what lies between them.
///
/// # Safety
///
/// - The rows are initialised in `from`, and differ. They are below the capacity of `to`, and not in use there.
/// - Rows of `runs` that are not among `rows` are below the capacity of both, and hold no values in `to`.
/// - Both are of the same component, which is cloned in this way.
unsafe fn clone_rows(
    from: &Values,
    to: &Values,
    cloning: Cloning,
    rows: impl Iterator<Item = u32> + Clone,
    runs: impl Iterator<Item = Range<u32>>,
) {
    to.copy_column_tick(from);
    if let Cloning::Bytes = cloning {
        // SAFETY: all rows of a run are below the capacity of both, by the caller's contract.
        return runs.for_each(|run| unsafe { to.copy_rows(run, from) });
    }
    let mut made = DropGuard::new((rows.clone(), 0), |(rows, made)| {
        // SAFETY: the first `made` rows were cloned, and have no owner yet.
        rows.by_ref().take(*made).for_each(|row| unsafe { to.drop_value(row) });
    });
    for row in rows {
        // SAFETY: the row is initialised in the one and not in use in the other, by the caller's contract.
        unsafe { clone_value(from, row, to, row, cloning) };
        made.state.1 += 1;
    }
    made.dismiss();
}

/// Clones a value from a row of `from` to row `at` of `to`, with its change ticks.
///
/// # Safety
///
/// - `row` is initialised in `from`, and `at` is below the capacity of `to` and not in use.
/// - Both are of the same component, which is cloned in this way. Bytes can be copied of any, if the original counts as
///   moved out.
pub(super) unsafe fn clone_value(from: &Values, row: u32, to: &Values, at: u32, cloning: Cloning) {
    // SAFETY: the one row is initialised, and the other below the capacity and not in use, by the caller's contract.
    unsafe {
        match cloning {
            Cloning::Value(clone) => clone(from.at(row), to.at(at)),
            Cloning::Bytes => {
                let size = from.layout().map_or(0, |layout| layout.size());
                core::ptr::copy_nonoverlapping(from.at(row), to.at(at), size);
            }
        }
        to.copy_ticks(at, from, row);
    }
}

/// Returns the way to clone a component.
///
/// # Panics
///
/// Panics if it cannot be cloned, and `len` values have to be.
fn cloning_of(values: &Values, len: u32) -> Cloning {
    assert!(len == 0 || values.cloning().is_some(), "values that cannot be cloned");
    values.cloning().unwrap_or(Cloning::Bytes)
}

impl SparseSet {
    /// Clones keys and values, at the same positions.
    pub(super) fn try_clone(&self) -> Result<SparseSet, AllocError> {
        let (positions, cloning) = (self.dense.positions(), cloning_of(self.values(), self.len()));
        let mut values = self.values().try_new_like()?;
        values.try_reserve_exact(positions)?;
        // SAFETY: no row is in use. Those that are not holes are cloned next; if that panics, `Dense` drops no rows.
        let dense: Dense<_, Values> = unsafe { self.dense.try_clone_over(values)? };
        let rows = (0..positions).filter(|at| self.dense.key_at(*at).is_some());
        // SAFETY: the positions that are not holes are initialised here, and not in use in the clone. Both have capacity for
        // all positions.
        unsafe { clone_rows(self.values(), dense.rows(), cloning, rows, once(0..positions)) };
        Ok(SparseSet { dense, removal: self.removal, extra_rows: self.extra_rows })
    }
}

impl LinearStorage {
    /// Clones presence bits and values, at the same slots.
    pub(super) fn try_clone(&self) -> Result<LinearStorage, AllocError> {
        let (words, cloning) = (&self.words()[..self.used_words() as usize], cloning_of(self.values(), self.len()));
        let (bits, mut values) = (Words::try_from_words(words.iter().copied())?, self.values().try_new_like()?);
        values.try_reserve_exact(rows_for(bits.len()))?;
        // SAFETY: nothing is in use in the clone, which has capacity for all slots below the last word. The slots with a bit
        // are initialised here.
        unsafe {
            clone_rows(self.values(), &values, cloning, self.iter(), Runs::Bits(words).iter());
            Ok(LinearStorage::from_parts(values, bits, self.extra_rows))
        }
    }
}

impl SparseStorages {
    /// Returns the name of a component that has values and cannot be cloned, if there is one.
    pub(crate) fn not_clone(&self, components: &Components) -> Option<&'static str> {
        let held = self.in_order().filter(|storage| storage.len() > 0).map(|storage| components.info(storage.id));
        held.filter(|info| !info.is_clone()).map(|info| info.name()).next()
    }

    /// Clones all storages with their values, at the same positions.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    ///
    /// # Panics
    ///
    /// Panics if a storage has values that [cannot be cloned](SparseStorages::not_clone).
    pub(crate) fn try_clone(&self) -> Result<SparseStorages, AllocError> {
        let mut copy = SparseStorages::new(0);
        copy.by_component = try_clone_slice(&self.by_component)?;
        copy.by_type = self.by_type;
        copy.by_bit = try_clone_slice(&self.by_bit)?;
        copy.linear = try_clone_slice(&self.linear)?;
        copy.relations = try_clone_slice(&self.relations)?;
        (copy.names, copy.tree_of_names) = (self.names, self.tree_of_names);
        copy.has_components = self.has_components;
        copy.storages = try_vec(self.storages.len())?;
        copy.order = try_clone_slice(&self.order)?;
        copy.insert_ptrs = try_vec(self.storages.len())?;
        copy.displaced_values = try_vec(self.storages.len())?;
        copy.masks = self.masks.try_clone()?;
        for storage in self.in_order() {
            copy.storages.push(storage.try_clone()?);
        }
        // Values are cloned in canonical order, and storages keep their ids.
        sort_short_by_key(&mut copy.storages, |storage| self.storage_id(storage.id));
        copy.groups = self.groups.try_clone()?;
        copy.clock = self.clock.copy(0);
        Ok(copy)
    }

    /// Frees memory that is not needed, with at most `budget` moves of a value. Returns the number of values that were
    /// moved, or are in memory that shrank.
    pub(crate) fn compact(&mut self, budget: usize) -> usize {
        let mut done = 0;
        for storage in &mut self.storages {
            if done >= budget {
                return done;
            }
            let before = storage.bytes();
            match &mut storage.store {
                Store::Pool(set) => {
                    // An operation that panicked may have left empty pages.
                    set.dense.hold_pages(false);
                    let moves = u32::try_from(budget - done).unwrap_or(u32::MAX);
                    done += set.dense.compact(moves) as usize;
                    if set.dense.holes() == 0 && set.dense.is_loose() {
                        set.dense.shrink_to_fit();
                    }
                }
                // If allocation fails, the larger block is kept.
                Store::Linear(linear) => drop(linear.try_shrink()),
            }
            if storage.bytes() < before {
                done += storage.len() as usize + 1;
            }
        }
        if done < budget {
            done += self.groups.shrink();
        }
        if done < budget {
            done += usize::from(self.masks.shrink());
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
        let Store::Pool(set) = &world.storage.sparse.get(0).store else { unreachable!() };
        (0..set.dense.positions()).map(|at| set.dense.key_at(at).map(|key| key.index())).collect()
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
