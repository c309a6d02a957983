//! [`Columns`]: whole columns of components, which are moved into a table.
//!
//! # Invariants
//!
//! A lane takes over a vector's block only while its table has no rows. Lanes of one table may then have different
//! capacities; the table's capacity is the least of them.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::{Bundle, BundlePtr, Required, all_tuples};
use crate::change_detection::RunTicks;
use crate::component::{Component, Components};
use crate::error::{StructuralError, UnequalColumns};
use crate::layout::{Kind, Layout};
use crate::mutation::Reserved;
use crate::sparse::SpawnedValues;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use phalanx_store::raw::{Lane, drop_all};
use phalanx_store::{AllocError, Entity};

/// Columns of components: a `Vec` of one, or a tuple of up to 12 columns.
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
    /// The components of an entity.
    type Bundle: Bundle;

    /// Calls a function with the component and the length of each column.
    fn lengths(&self, each: &mut dyn FnMut(&'static str, usize));

    /// Reserves capacity in those lanes of an empty table that will not take over a vector's block.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails.
    ///
    /// # Safety
    ///
    /// The columns are those of the components, and no row of the table is in use.
    unsafe fn reserve(&self, to: ColumnPtrs<'_>, rows: u32) -> Result<(), AllocError>;

    /// Moves the values in. If blocks are to be taken over, lanes of a table take over the blocks of vectors where possible.
    ///
    /// # Safety
    ///
    /// - The columns are those of the components.
    /// - If blocks are to be taken over, no row of the table is in use, and [`reserve`](Columns::reserve) was called.
    /// - Otherwise the rows are within the lanes' capacity, and have no values.
    unsafe fn write(self, to: ColumnPtrs<'_>);
}

/// The destination of the values of columns: consecutive rows of a table, consecutive positions in each pool, and the slots of
/// the entities in each linear storage.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPtrs<'a> {
    /// The first row, and the first position in each pool.
    first: BundlePtr,
    /// The slots of the entities, in order; empty if no component is sparse.
    slots: &'a [u32],
    /// Whether lanes of the table take over the blocks of vectors.
    adopt: bool,
}

impl ColumnPtrs<'_> {
    /// Returns the destination without that of the first `count` components. It is valid for those that are left.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        ColumnPtrs { first: self.first.skip(count), ..self }
    }
}

/// Returns `true` if a lane takes over this vector's block.
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
            // SAFETY: the columns are those of the component and no row is in use, by the caller's contract.
            unsafe { (*to.first.lane(0, Kind::Table).0.add(lane)).try_grow(rows)? };
        }
        Ok(())
    }

    unsafe fn write(self, to: ColumnPtrs<'_>) {
        let adopt = C::Layout::KIND == Kind::Table && to.adopt && adopts(&self);
        let mut values = self;
        // SAFETY: the columns are those of the component, and the rows have no values, by the caller's contract. A vector's
        // block was allocated for its capacity in rows of `C`, as that of the one lane is. Values that are copied count as
        // moved out of the vector, whose block is freed at the end, also if splitting one panics.
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
        // SAFETY: each member handles its own components, in the columns after those of the members before it.
        #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case)]
        unsafe impl<$($name: Columns),*> Columns for ($($name,)*) {
            type Bundle = ($($name::Bundle,)*);

            fn lengths(&self, each: &mut dyn FnMut(&'static str, usize)) {
                let ($($name,)*) = self;
                $($name.lengths(each);)*
            }

            unsafe fn reserve(&self, mut to: ColumnPtrs<'_>, rows: u32) -> Result<(), AllocError> {
                let ($($name,)*) = self;
                // SAFETY: the columns are those of all members in turn, by the caller's contract.
                $(unsafe {
                    $name.reserve(to, rows)?;
                    to = to.skip(<$name::Bundle as Bundle>::LEN);
                })*
                Ok(())
            }

            unsafe fn write(self, mut to: ColumnPtrs<'_>) {
                let ($($name,)*) = self;
                // SAFETY: the columns are those of all members in turn, by the caller's contract.
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
    /// Spawns an entity for each row of some columns, and returns the entities in the order of the rows. It is the fastest way to
    /// spawn many.
    ///
    /// If the table of these components has no rows yet, it takes over the memory of the vectors. Otherwise the columns are
    /// copied.
    ///
    /// ```
    /// use phalanx::{StructuralError, Component, World};
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
    /// assert!(matches!(world.spawn_columns(uneven), Err(StructuralError::UnequalColumns(_))));
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::UnequalColumns`] if the columns are not of equal length.
    /// - [`StructuralError::Duplicate`] if a component occurs twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the columns are dropped, and nothing else changes.
    pub fn spawn_columns<C: Columns>(&mut self, columns: C) -> Result<&[Entity], StructuralError> {
        let bundle_id = self.full_bundle_id::<C::Bundle>()?;
        let len = common_length(&columns)?;
        let count = u32::try_from(len).map_err(|_| AllocError::CapacityOverflow)?;
        self.storage.flush()?;
        self.storage.reserve_entities(count)?;
        self.storage.reserve_spawned_rows(self.bundles.get(bundle_id).table, len)?;
        let mut values = SpawnedValues::default();
        if !self.bundles.get(bundle_id).sparse.is_empty() {
            self.storage.reserve_spawned_values(&self.bundles.get(bundle_id).sparse, count, &mut values)?;
        }
        let info = self.bundles.get(bundle_id);
        let (table, columns_of_bundle) = (info.table, info.columns.as_ptr());
        let goal = &self.storage.tables[table as usize];
        // A lane with a bitmap keeps its block.
        let adopt = goal.len == 0 && goal.cap < count && !goal.entities.lane().is_tracked();
        self.storage.restructured();
        let clock = &raw const self.storage.sparse.clock;
        let table_ref = &mut self.storage.tables[table as usize];
        let first = table_ref.len;
        let place = BundlePtr {
            lanes: table_ref.lanes(),
            row: first as usize,
            columns: columns_of_bundle,
            sparse: values.ptrs(),
            clock,
        };
        let to = ColumnPtrs { first: place, slots: values.slots(), adopt };
        let reserved = if adopt {
            // SAFETY: the columns are those of the bundle in its table, which has no rows, then those of required components.
            table_ref.entities.try_grow(count).and_then(|()| unsafe {
                columns.reserve(to, count)?;
                reserve_required(&info.required, to.skip(C::Bundle::LEN), count, &self.storage.components)
            })
        } else {
            table_ref.try_reserve(count, &mut self.storage.epoch)
        };
        if let Err(error) = reserved {
            self.storage.sparse.release_pages();
            return Err(error.into());
        }
        // Splitting a soa value and creating a required one may be user code: it is done before anything is committed.
        // SAFETY: capacity for the rows from `first` on is reserved, or comes with the vectors' blocks. So is that for sparse
        // values: in pools beyond the last one, and in linear storages at the slots.
        unsafe {
            let required = WrittenColumns::write(&info.required, to.skip(C::Bundle::LEN), len);
            columns.write(to);
            core::mem::forget(required);
        }
        if adopt {
            table_ref.update_capacity();
        }
        debug_assert!(table_ref.cap - first >= count);
        // SAFETY: capacity for these rows and slots is reserved, and the rows are written.
        unsafe { self.storage.spawn_rows(Reserved::new(), table, first + count) };
        let table_ref = &self.storage.tables[table as usize];
        if !info.sparse.is_empty() {
            // SAFETY: capacity is reserved for these slots, which had no values. The values are written in their order.
            unsafe { self.storage.sparse.commit_spawns(&info.sparse, &table_ref.slots()[first as usize..]) };
            self.storage.sparse.release_pages();
        }
        self.storage.record_spawned_rows(table, first..first + count);
        // Commands of listeners may spawn columns too, and change the entities of these.
        let spawned = core::mem::take(&mut self.storage.journal.spawned);
        self.dispatch();
        self.storage.journal.spawned = spawned;
        match self.storage.journal.spawned.len() == len {
            true => Ok(&self.storage.journal.spawned),
            // Not listed, because nothing is recorded.
            false => Ok(&self.storage.tables[table as usize].entities()[first as usize..]),
        }
    }
}

/// Reserves capacity in the lanes of required components of an empty table.
///
/// # Safety
///
/// The columns are those of the components, and no row of the table is in use.
unsafe fn reserve_required(
    required: &[Required],
    to: ColumnPtrs<'_>,
    rows: u32,
    components: &Components,
) -> Result<(), AllocError> {
    for (at, required) in required.iter().enumerate().filter(|(_, one)| one.requirement.kind() == Kind::Table) {
        for lane in 0..components.info(required.id).lanes().len() {
            // SAFETY: the columns are those of the components and no row is in use, by the caller's contract.
            unsafe { (*to.first.lane(at, Kind::Table).0.add(lane)).try_grow(rows)? };
        }
    }
    Ok(())
}

/// Values of required components for rows of columns. They are dropped with this.
struct WrittenColumns<'a> {
    required: &'a [Required],
    to: ColumnPtrs<'a>,
    /// The number of rows with all values, and the number of values of the next row.
    written: (usize, usize),
}

impl<'a> WrittenColumns<'a> {
    /// Creates the values, row by row.
    ///
    /// # Safety
    ///
    /// - The columns are those of the components.
    /// - The rows are within the lanes' capacity, and have no values.
    unsafe fn write(required: &'a [Required], to: ColumnPtrs<'a>, rows: usize) -> WrittenColumns<'a> {
        let mut all = WrittenColumns { required, to, written: (0, 0) };
        for row in 0..if required.is_empty() { 0 } else { rows } {
            for (at, required) in required.iter().enumerate() {
                // SAFETY: the columns are those of the components, and the row has no value, by the caller's contract.
                unsafe {
                    let (lane, row) = all.lane(at, row);
                    required.requirement.write(lane, row, to.first.clock);
                }
                all.written.1 += 1;
            }
            all.written = (row + 1, 0);
        }
        all
    }

    /// Returns the first lane and the row of a value.
    ///
    /// # Safety
    ///
    /// The columns are those of the components, and the row is less than the number of rows.
    unsafe fn lane(&self, at: usize, row: usize) -> (*mut Lane, usize) {
        let kind = self.required[at].requirement.kind();
        // SAFETY: the columns are those of the components, by the caller's contract.
        let (lane, first) = unsafe { self.to.first.lane(at, kind) };
        match kind {
            Kind::Table | Kind::Pool => (lane, first + row),
            Kind::Linear => (lane, self.to.slots[row] as usize),
        }
    }
}

impl Drop for WrittenColumns<'_> {
    fn drop(&mut self) {
        let (rows, next) = self.written;
        let width = self.required.len();
        drop_all(0..rows * width + next, |value| {
            // SAFETY: the value was written, by the contract of `write`, and is dropped once.
            unsafe {
                let (lane, row) = self.lane(value % width, value / width);
                self.required[value % width].requirement.drop(lane, row);
            }
        });
    }
}

/// Returns the length that all columns have.
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
