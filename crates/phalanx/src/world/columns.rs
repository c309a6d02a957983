//! Whole columns moved in.
//!
//! # Invariants
//!
//! A lane takes over a vector's block only while its table has no rows. Lanes of one table may then have room for
//! different numbers of rows; the table's capacity is the least of them.
#![allow(unsafe_code)]

use super::spawn::raise;
use super::{Location, World};
use crate::bundle::{Bundle, all_tuples};
use crate::component::Component;
use crate::error::{ChangeError, UnequalColumns};
use crate::layout::Layout;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use phalanx_store::raw::Lane;
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
    /// For each component, `places` has the number of its first lane among `lanes`; no row of them is in use.
    unsafe fn reserve(&self, lanes: *mut Lane, places: *const u16, rows: u32) -> Result<(), AllocError>;

    /// Moves the values into rows from `row` on; with `adopt`, in whole blocks where that can be.
    ///
    /// # Safety
    ///
    /// As for [`reserve`](Columns::reserve), which was called before if `adopt` is set; otherwise the rows are within the
    /// lanes' capacity, and nothing lives there.
    unsafe fn write(self, lanes: *mut Lane, places: *const u16, row: usize, adopt: bool);
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

    unsafe fn reserve(&self, lanes: *mut Lane, places: *const u16, rows: u32) -> Result<(), AllocError> {
        if adopts(self) {
            return Ok(());
        }
        for lane in 0..C::Layout::LANES {
            // SAFETY: the caller's promise; no row is in use.
            unsafe { (*lanes.add(*places as usize + lane)).try_grow(rows)? };
        }
        Ok(())
    }

    unsafe fn write(self, lanes: *mut Lane, places: *const u16, row: usize, adopt: bool) {
        let adopt = adopt && adopts(&self);
        let mut values = ManuallyDrop::new(self);
        // SAFETY: the caller's promise. A vector's block was allocated for its capacity in rows of `C`, as those of the
        // one lane are. After a copy the vector's values count as moved out, and its block is freed.
        unsafe {
            let lane = lanes.add(*places as usize);
            if adopt {
                (*lane).adopt(NonNull::new_unchecked(values.as_mut_ptr()).cast(), values.capacity() as u32);
                return;
            }
            let len = values.len();
            C::Layout::write_many(C::Layout::ptr(lane), row, values.as_ptr(), len);
            values.set_len(0);
            ManuallyDrop::drop(&mut values);
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

            unsafe fn reserve(&self, lanes: *mut Lane, mut places: *const u16, rows: u32) -> Result<(), AllocError> {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise, for each member in turn.
                $(unsafe {
                    $name.reserve(lanes, places, rows)?;
                    places = places.add(<$name::Bundle as Bundle>::LEN);
                })*
                Ok(())
            }

            unsafe fn write(self, lanes: *mut Lane, mut places: *const u16, row: usize, adopt: bool) {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise, for each member in turn.
                $(unsafe {
                    $name.write(lanes, places, row, adopt);
                    places = places.add(<$name::Bundle as Bundle>::LEN);
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
            Err(error @ (ChangeError::Duplicate(_) | ChangeError::Alloc(_))) => raise(error),
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
        let plan = self.plan::<C::Bundle>()?;
        let len = common_length(&columns)?;
        let count = u32::try_from(len).map_err(|_| AllocError::CapacityOverflow)?;
        self.flush()?;
        self.reserve_entities(count)?;
        let (table, places) = (self.plans.get(plan).table, self.plans.get(plan).places.as_ptr());
        let adopt = self.tables[table as usize].len == 0 && self.tables[table as usize].cap < count;
        self.restructured();
        let table_ref = &mut self.tables[table as usize];
        if adopt {
            table_ref.entities.try_grow(count)?;
            // SAFETY: the places are those of the bundle in its table, which has no rows.
            unsafe { columns.reserve(table_ref.lanes(), places, count)? };
        } else {
            table_ref.try_reserve(count, &mut self.epoch)?;
        }
        let first = table_ref.len;
        // Taking a soa value apart may be user code: it is done before anything is committed.
        // SAFETY: there is room for so many rows from `first` on, or will be with the vectors' blocks.
        unsafe { columns.write(table_ref.lanes(), places, first as usize, adopt) };
        let places = self.entities.places();
        let made = self.entities.alloc_many(len);
        if adopt {
            table_ref.settle_capacity();
        }
        debug_assert!(table_ref.cap - first >= count);
        // SAFETY: there is room for so many rows and locations.
        let entities = unsafe { table_ref.entities.at(first) };
        made.fold(0, |at, entity| {
            // SAFETY: as above; a slot that is alive is below the room of the locations.
            unsafe {
                entities.add(at as usize).write(entity);
                places.at(entity.index()).write(Location { table, row: first + at });
            }
            at + 1
        });
        // The lanes of these rows were written above.
        table_ref.len = first + count;
        Ok(&self.tables[table as usize].entities()[first as usize..])
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
