//! [`ColumnRows`]: values of a component, to be written.
//!
//! # Invariants
//!
//! The lanes of a [`ColumnRows`] or a [`ValueRef`] are those of its component. Its rows have a value, and are not written while
//! it lives. With a type as its parameter, it is of that component.
#![allow(unsafe_code)]

use super::column::value_lanes;
use crate::change_detection::{RunTicks, TicksRef, Track, ticks_at};
use crate::component::{Component, ComponentId, ComponentInfo, Components, DropFn};
use crate::layout::{Layout, PlainLayout};
use crate::runs::Runs;
use crate::sparse::{SparseStorage, Store};
use crate::storage::Storage;
use crate::storage::table::ALIGNED_FOR_ALL;
use core::any::TypeId;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use phalanx_store::raw::Lane;

/// What tells components apart, beside their lanes.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    name: &'static str,
    type_id: Option<TypeId>,
    pub(super) drop: Option<DropFn>,
    pub(super) track: Track,
}

impl Identity {
    /// Returns the identity of a component.
    pub(super) fn of(info: &ComponentInfo) -> Identity {
        Identity { name: info.name, type_id: info.type_id, drop: info.drop, track: info.track }
    }

    /// Returns the identity of a component's type.
    pub(super) fn of_type<C: Component>() -> Identity {
        let (drop, track) = (C::Layout::DROP, C::Layout::TRACK);
        Identity { name: core::any::type_name::<C>(), type_id: Some(TypeId::of::<C>()), drop, track }
    }

    /// Returns the identity of values whose change ticks are not written.
    pub(super) fn untracked(self) -> Identity {
        Identity { track: Track::None, ..self }
    }

    /// Checks that it is the component of a type.
    ///
    /// # Panics
    ///
    /// Panics if it is not.
    pub(super) fn check_type<C: Component>(self) {
        assert!(self.type_id == Some(TypeId::of::<C>()), "values of {} as another component", self.name);
    }

    /// Checks that it is a run-time component with these lanes and properties.
    ///
    /// # Panics
    ///
    /// Panics if it is not.
    pub(super) fn check_run_time(self, lanes: &[Lane], info: &ComponentInfo) {
        let address = |drop: Option<DropFn>| drop.map(|drop| drop as usize);
        let same = self.type_id.is_none() && self.name == info.name && address(self.drop) == address(info.drop);
        let same_lanes = lanes.iter().map(Lane::row_layout).eq(info.lanes.iter().copied());
        assert!(same && same_lanes, "values of {} as another component", self.name);
    }
}

/// The component is known at run time only.
pub(super) enum AnyComponent {}

/// Rows of a column that are written one after another.
pub(super) struct ColumnRows<'a, C = AnyComponent> {
    lanes: &'a [Lane],
    component: Identity,
    runs: Runs<'a>,
    values: PhantomData<&'a C>,
}

impl<C> Clone for ColumnRows<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for ColumnRows<'_, C> {}

/// A value of a column.
pub(super) struct ValueRef<'a, C = AnyComponent> {
    lanes: &'a [Lane],
    component: Identity,
    row: u32,
    value: PhantomData<&'a C>,
}

impl<C> Clone for ValueRef<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for ValueRef<'_, C> {}

impl<'a> ColumnRows<'a> {
    /// Returns rows of a table. Returns `None` if the table does not have the component.
    ///
    /// # Panics
    ///
    /// Panics if a row is not in use.
    pub(super) fn of_table(storage: &'a Storage, number: u32, id: ComponentId, runs: Runs<'a>) -> Option<Self> {
        let table = &storage.tables[number as usize];
        let column = table.column(id)?;
        assert!(runs.end() <= table.len, "a row that is not in use");
        let lanes = table.lanes_of(column);
        Some(ColumnRows { lanes, component: Identity::of(storage.components.info(id)), runs, values: PhantomData })
    }

    /// Returns rows of a sparse storage of these components.
    ///
    /// # Panics
    ///
    /// Panics if a row has no value.
    pub(super) fn of_sparse(components: &Components, sparse: &'a SparseStorage, runs: Runs<'a>) -> Self {
        let has_values = match (&sparse.store, runs) {
            (Store::Pool(set), _) => {
                let has_key = |row| set.dense.key_at(row).is_some();
                runs.end() <= set.dense.positions() && (set.dense.holes() == 0 || runs.rows().all(has_key))
            }
            (Store::Linear(linear), Runs::Bits(words)) => {
                let mut present = linear.words().iter().copied().chain(core::iter::repeat(0));
                words.iter().all(|word| present.next().is_some_and(|present| word & !present == 0))
            }
            (Store::Linear(linear), _) => runs.rows().all(|slot| linear.has(slot)),
        };
        assert!(has_values, "a row without a value");
        let component = Identity::of(components.info(sparse.id));
        ColumnRows { lanes: sparse.values().lanes(), component, runs, values: PhantomData }
    }

    /// Returns rows of lanes.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The rows have a value, with change ticks unless the component is
    /// [untracked](Identity::untracked), and are not written for `'a`.
    pub(super) unsafe fn new(lanes: &'a [Lane], component: Identity, runs: Runs<'a>) -> Self {
        ColumnRows { lanes, component, runs, values: PhantomData }
    }

    /// Returns the rows as values of a type.
    ///
    /// # Panics
    ///
    /// Panics if they are of another component.
    pub(super) fn of_type<C: Component>(self) -> ColumnRows<'a, C> {
        self.component.check_type::<C>();
        ColumnRows { lanes: self.lanes, component: self.component, runs: self.runs, values: PhantomData }
    }

    /// Checks that they are values of a run-time component.
    ///
    /// # Panics
    ///
    /// Panics if they are of another component.
    pub(super) fn check_run_time(self, info: &ComponentInfo) {
        self.component.check_run_time(self.lanes, info);
    }

    /// Returns the lane of the change tick of the column, or of the change ticks of rows, if the component is tracked.
    pub(super) fn tick_lane(self) -> Option<&'a Lane> {
        self.lanes.last().filter(|_| self.component.track != Track::None)
    }

    /// Returns the change ticks of the values. There are none if the component is not tracked by row.
    pub(super) fn row_ticks(self) -> impl Iterator<Item = TicksRef<'a>> {
        let lanes = Some(self.lanes).filter(|_| self.component.track == Track::Row);
        lanes.into_iter().flat_map(move |lanes| {
            self.runs.rows().map(move |row| {
                // SAFETY: they are the lanes of the component, and the row is in use. No query writes while a world is saved or
                // loaded.
                unsafe { ticks_at(lanes, row as usize) }
            })
        })
    }
}

impl<'a, C> ColumnRows<'a, C> {
    /// Returns the number of values.
    pub(super) fn len(self) -> u32 {
        self.runs.len()
    }

    /// Iterates over the values.
    pub(super) fn values(self) -> impl Iterator<Item = ValueRef<'a, C>> {
        let (lanes, component) = (self.lanes, self.component);
        self.runs.rows().map(move |row| ValueRef { lanes, component, row, value: PhantomData })
    }

    /// Iterates over the bytes of the values in a lane, by run of rows.
    ///
    /// # Safety
    ///
    /// No byte of the lane's rows is padding.
    pub(super) unsafe fn lane_bytes(self, lane: usize) -> impl Iterator<Item = &'a [u8]> {
        let lane = &self.lanes[lane];
        self.runs.iter().map(move |run| {
            // SAFETY: the rows are contiguous, have values and are not written. They have no padding, by the caller's contract.
            unsafe { core::slice::from_raw_parts(lane.row(run.start), run.len() * lane.row_size()) }
        })
    }
}

impl<'a, C: Component> ColumnRows<'a, C>
where
    C::Layout: PlainLayout<C>,
{
    /// Iterates over the bytes of the values in a lane, by run of rows.
    ///
    /// # Panics
    ///
    /// Panics if it is not a lane of values.
    pub(super) fn bytes(self, lane: usize) -> impl Iterator<Item = &'a [u8]> {
        assert!(lane < value_lanes::<C>(), "a lane without values");
        // SAFETY: the values of a plain component have no padding.
        unsafe { self.lane_bytes(lane) }
    }
}

impl ValueRef<'_> {
    /// Returns the address of the value of a run-time component.
    ///
    /// # Panics
    ///
    /// Panics if it is of another component.
    pub(super) fn address(self, info: &ComponentInfo) -> *const u8 {
        self.component.check_run_time(self.lanes, info);
        let dangling = core::ptr::without_provenance(ALIGNED_FOR_ALL.get());
        self.lanes.first().map_or(dangling, |lane| lane.row(self.row).cast_const())
    }
}

impl<C: Component> ValueRef<'_, C> {
    /// Calls a function with the value.
    pub(super) fn with<T>(self, see: impl FnOnce(&C) -> T) -> T {
        let (lanes, row) = (self.lanes.as_ptr(), self.row as usize);
        // SAFETY: the lanes are those of `C`, and the row has a value that is not written. A value in several lanes is `Copy`,
        // so that it can be read without being moved out. Any other value is in the first lane, or has no size.
        unsafe {
            if C::Layout::COPY {
                let value = ManuallyDrop::new(C::Layout::read(C::Layout::ptr(lanes, RunTicks::READ), row));
                return see(&value);
            }
            match size_of::<C>() {
                0 => see(core::ptr::NonNull::<C>::dangling().as_ref()),
                _ => see(&*(*lanes).ptr().as_ptr().cast::<C>().add(row)),
            }
        }
    }
}

impl<C: Component> ValueRef<'_, C>
where
    C::Layout: PlainLayout<C>,
{
    /// Returns a copy of the value.
    pub(super) fn copied(self) -> C {
        // SAFETY: the lanes are those of `C`, and the row has a value that is not written. Plain values are `Copy`: reading one
        // moves nothing out.
        unsafe { C::Layout::read(C::Layout::ptr(self.lanes.as_ptr(), RunTicks::READ), self.row as usize) }
    }
}
