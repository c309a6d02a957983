//! Whole columns moved in.
//!
//! # Invariants
//!
//! A lane takes over a vector's block only while its table has no rows. Lanes of one table may then have room for
//! different numbers of rows; the table's capacity is the least of them.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::{try_reserve, try_vec};
use crate::bundle::{Bundle, BundlePtr, all_tuples};
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::panic_change;
use crate::error::{ChangeError, UnequalColumns};
use crate::layout::{Kind, Layout};
use crate::sparse::SparseInserts;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use phalanx_store::{AllocError, Entity};

/// Columns of components: a `Vec` of one, or a tuple of columns of up to 15.
///
/// # Safety
///
/// The functions handle the components of [`Bundle`](Columns::Bundle), in its order, and
/// [`lengths`](Columns::lengths) calls back for each column.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle of columns",
    label = "neither a `Vec` of components nor a tuple of such",
    note = "`spawn_columns` takes `(Vec<A>, Vec<B>, …)`"
)]
pub unsafe trait Columns: Sized {
    /// What an entity gets.
    type Bundle: Bundle;

    /// Tells the component and the length of each column.
    fn lengths(&self, each: &mut dyn FnMut(&'static str, usize));

    /// Makes room in those lanes of an empty table that will not take over a vector's block.
    ///
    /// # Errors
    ///
    /// If memory cannot be had.
    ///
    /// # Safety
    ///
    /// The places are those of the components; no row of the table is in use.
    unsafe fn reserve(&self, to: ColumnPtrs<'_>, rows: u32) -> Result<(), AllocError>;

    /// Moves the values in: those of a table in whole blocks where that can be, if it is told to.
    ///
    /// # Safety
    ///
    /// As for [`reserve`](Columns::reserve), which was called before if blocks are to be taken over; otherwise the rows are
    /// within the lanes' capacity, and nothing lives there.
    unsafe fn write(self, to: ColumnPtrs<'_>);
}

/// Where the values of columns go to: rows of a table from one on, and for each component that is not kept in tables rows of
/// its own, from one on in a pool, at the slots of the entities in a linear store.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPtrs<'a> {
    /// The first row, and that beside it in each pool.
    first: BundlePtr,
    /// The slots of the entities, in order; empty if no component is kept by slot.
    slots: &'a [u32],
    /// Whether lanes of the table take over the blocks of vectors.
    adopt: bool,
}

impl ColumnPtrs<'_> {
    /// The places without those of the first `count` components.
    ///
    /// # Safety
    ///
    /// They are those of so many components at least.
    #[must_use]
    pub unsafe fn skip(self, count: usize) -> Self {
        // SAFETY: the caller's promise.
        ColumnPtrs { first: unsafe { self.first.skip(count) }, ..self }
    }
}

/// Whether a lane takes over this vector's block: where a copy would have to allocate.
fn adopts<C: Component>(values: &Vec<C>) -> bool {
    C::Layout::WHOLE && u32::try_from(values.capacity()).is_ok()
}

// SAFETY: one component.
unsafe impl<C: Component> Columns for Vec<C> {
    type Bundle = C;

    fn lengths(&self, each: &mut dyn FnMut(&'static str, usize)) {
        each(core::any::type_name::<C>(), self.len());
    }

    unsafe fn reserve(&self, to: ColumnPtrs<'_>, rows: u32) -> Result<(), AllocError> {
        if C::Layout::KIND != Kind::Table || adopts(self) {
            return Ok(());
        }
        for lane in 0..C::Layout::LANES {
            // SAFETY: the caller's promise; no row is in use.
            unsafe { (*to.first.lane(0, Kind::Table).0.add(lane)).try_grow(rows)? };
        }
        Ok(())
    }

    unsafe fn write(self, to: ColumnPtrs<'_>) {
        let adopt = C::Layout::KIND == Kind::Table && to.adopt && adopts(&self);
        let mut values = self;
        // SAFETY: the caller's promise. A vector's block was allocated for its capacity in rows of `C`, as those of the
        // one lane are. Values that are copied count as moved out of the vector, whose block is freed at the end, also if
        // taking one apart panics.
        unsafe {
            let (lane, row) = to.first.lane(0, C::Layout::KIND);
            if adopt {
                let mut values = ManuallyDrop::new(values);
                (*lane).adopt(NonNull::new_unchecked(values.as_mut_ptr()).cast(), values.capacity() as u32);
                return;
            }
            let (ptr, len) = (C::Layout::ptr(lane, RunTicks::of::<C>(to.first.clock)), values.len());
            values.set_len(0);
            match C::Layout::KIND {
                Kind::Table | Kind::Pool => C::Layout::write_many(ptr, row, values.as_ptr(), len),
                Kind::Linear => {
                    for (at, slot) in to.slots.iter().enumerate() {
                        C::Layout::write(ptr, *slot as usize, values.as_ptr().add(at).read());
                    }
                }
            }
        }
    }
}

macro_rules! tuple_columns {
    ($($name:ident)*) => {
        // SAFETY: each member handles its own components, at the places after those of the members before it.
        #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case)]
        unsafe impl<$($name: Columns),*> Columns for ($($name,)*) {
            type Bundle = ($($name::Bundle,)*);

            fn lengths(&self, each: &mut dyn FnMut(&'static str, usize)) {
                let ($($name,)*) = self;
                $($name.lengths(each);)*
            }

            unsafe fn reserve(&self, mut to: ColumnPtrs<'_>, rows: u32) -> Result<(), AllocError> {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise, for each member in turn.
                $(unsafe {
                    $name.reserve(to, rows)?;
                    to = to.skip(<$name::Bundle as Bundle>::LEN);
                })*
                Ok(())
            }

            unsafe fn write(self, mut to: ColumnPtrs<'_>) {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise, for each member in turn.
                $(unsafe {
                    $name.write(to);
                    to = to.skip(<$name::Bundle as Bundle>::LEN);
                })*
            }
        }
    };
}
all_tuples!(tuple_columns);

impl World {
    /// Makes an entity of each row of some columns, which are moved in whole: the fastest way to make many.
    ///
    /// If the world has no entities with just these components yet, their table takes over the vectors' memory (for
    /// table components); otherwise the columns are copied. The entities are made in order of the rows.
    ///
    /// ```
    /// use phalanx::{ChangeError, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32);
    /// #[derive(Component)]
    /// struct Mass(f32);
    ///
    /// let mut world = World::new();
    /// let positions: Vec<_> = (0..1000).map(|n| Position(n as f32)).collect();
    /// let masses = positions.iter().map(|p| Mass(p.0 * 2.0)).collect();
    /// let last = *world.spawn_columns::<(Vec<Position>, Vec<Mass>)>((positions, masses))?.last().unwrap();
    /// assert_eq!(world.get::<Mass>(last).unwrap().0, 1998.0);
    ///
    /// let uneven = (vec![Position(0.0)], vec![Mass(0.0), Mass(1.0)]);
    /// assert!(matches!(world.spawn_columns(uneven), Err(ChangeError::UnequalColumns(_))));
    /// # Ok::<(), ChangeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the columns are not of equal length. They are dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If a component comes twice.
    #[track_caller]
    pub fn spawn_columns<C: Columns>(&mut self, columns: C) -> Result<&[Entity], ChangeError> {
        match self.try_spawn_columns(columns) {
            Err(error @ (ChangeError::Duplicate(_) | ChangeError::Alloc(_))) => panic_change(error),
            outcome => outcome,
        }
    }

    /// As [`spawn_columns`](World::spawn_columns).
    ///
    /// # Errors
    ///
    /// If the columns are not of equal length, a component comes twice, or memory cannot be had. The columns are dropped,
    /// and nothing else happens.
    pub fn try_spawn_columns<C: Columns>(&mut self, columns: C) -> Result<&[Entity], ChangeError> {
        let bundle_id = self.bundle_id::<C::Bundle>()?;
        let len = common_length(&columns)?;
        let count = u32::try_from(len).map_err(|_| AllocError::CapacityOverflow)?;
        self.storage.flush()?;
        self.storage.reserve_entities(count)?;
        self.storage.reserve_row_entries(self.bundles.get(bundle_id).table, len)?;
        if self.storage.journal.is_active() {
            self.storage.journal.made.clear();
            try_reserve(&mut self.storage.journal.made, len)?;
        }
        let mut slots = Vec::new();
        let sparse = &raw const *self.bundles.get(bundle_id).sparse;
        if C::Bundle::SPARSE > 0 {
            slots = try_vec(len)?;
            for n in 0..count {
                slots.push(self.storage.entities.nth_index(n).ok_or(AllocError::CapacityOverflow)?);
            }
            // SAFETY: plans are forgotten only by compaction.
            self.reserve_column_sparse(unsafe { &*sparse }, &slots)?;
        }
        let (table, places) = (self.bundles.get(bundle_id).table, self.bundles.get(bundle_id).places.as_ptr());
        let goal = &self.storage.tables[table as usize];
        // A lane with a bitmap keeps its block.
        let adopt = goal.len == 0 && goal.cap < count && !goal.entities.lane().is_tracked();
        self.storage.restructured();
        let clock = &raw const self.storage.sparse.clock;
        let table_ref = &mut self.storage.tables[table as usize];
        let (first, beside) = (table_ref.len, self.storage.sparse.insert_ptrs());
        let place = BundlePtr { lanes: table_ref.lanes(), row: first as usize, places, sparse: beside, clock };
        let to = ColumnPtrs { first: place, slots: &slots, adopt };
        let reserved = if adopt {
            // SAFETY: the places are those of the bundle in its table, which has no rows.
            table_ref.entities.try_grow(count).and_then(|()| unsafe { columns.reserve(to, count) })
        } else {
            table_ref.try_reserve(count, &mut self.storage.epoch)
        };
        if let Err(error) = reserved {
            self.storage.sparse.release_pages();
            return Err(error.into());
        }
        // Taking a soa value apart may be user code: it is done before anything is committed.
        // SAFETY: there is room for so many rows from `first` on, or will be with the vectors' blocks; and beside the table, in
        // pools from the first row beyond the last on, and in linear stores at the slots.
        unsafe { columns.write(to) };
        if adopt {
            table_ref.settle_capacity();
        }
        debug_assert!(table_ref.cap - first >= count);
        // SAFETY: there is room for so many rows and slots, and the rows are written.
        unsafe { self.storage.spawn_rows(table, first + count) };
        let table_ref = &self.storage.tables[table as usize];
        if C::Bundle::SPARSE > 0 {
            for &entity in &table_ref.slots()[first as usize..] {
                // SAFETY: reserved for these slots, which had nothing; and the values are written where each in turn counts
                // them.
                unsafe { self.storage.sparse.commit::<true>(entity, &*sparse, &[]) };
            }
            self.storage.sparse.release_pages();
        }
        if self.storage.journal.is_active() {
            return Ok(self.columns_arrived(table, first..first + count));
        }
        Ok(&self.storage.tables[table as usize].entities()[first as usize..])
    }

    /// Tells listeners of new rows. The entities are the ones that were made, whatever listeners have done to them.
    #[cold]
    fn columns_arrived(&mut self, table: u32, rows: core::ops::Range<u32>) -> &[Entity] {
        for row in rows {
            let entity = self.storage.tables[table as usize].slots()[row as usize];
            self.storage.journal.made.push(entity);
            self.storage.record_spawn(entity);
        }
        // Listeners may have recorded that more columns are to come, which are listed here too.
        let made = core::mem::take(&mut self.storage.journal.made);
        self.dispatch();
        self.storage.journal.made = made;
        &self.storage.journal.made
    }

    /// Makes room for a value of each of these sides for each of these slots, which have none, and finds the first places.
    fn reserve_column_sparse(&mut self, sparse: &[u32], slots: &[u32]) -> Result<(), AllocError> {
        // Values may move, even if one of several stores cannot grow.
        self.storage.restructured();
        let mut sparse_inserts = SparseInserts::new();
        slots.iter().try_for_each(|slot| sparse_inserts.try_add(sparse, *slot))?;
        let reserved = self.storage.sparse.try_reserve_all(&sparse_inserts);
        if reserved.is_err() {
            self.storage.sparse.release_pages();
        }
        reserved?;
        self.storage.sparse.find_insert_ptrs(slots.first().copied().unwrap_or(0), sparse);
        Ok(())
    }
}

/// The length that all columns have.
fn common_length<C: Columns>(columns: &C) -> Result<usize, UnequalColumns> {
    let (mut first, mut unequal) = (None, None);
    columns.lengths(&mut |component, len| {
        let first = *first.get_or_insert((component, len));
        if first.1 != len {
            unequal.get_or_insert(UnequalColumns { first, other: (component, len) });
        }
    });
    match unequal {
        Some(unequal) => Err(unequal),
        None => Ok(first.map_or(0, |(_, len)| len)),
    }
}
