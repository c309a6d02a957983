//! [`Table`]: the rows of all entities of one archetype.
//!
//! # Representation
//!
//! Rows `0..len` are initialised in the entity lane and in every data lane. Every lane has capacity for `cap` rows. `cap` is
//! raised after all lanes have grown, so that a failure in between leaves the table as it was.
//!
//! The lanes are in a block that does not move while the table exists: the directory of columns and the runs of queries
//! point into it.
//!
//! # Displaced rows
//!
//! A removed row is at index `len` until the next row is pushed, and the table does not own its values any more. The code
//! that removes a row drops or moves these values.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::change_detection::{Tick, Track, set_all_ticks, set_column_tick, tick_lanes, ticks_at, ticks_of};
use crate::component::{ComponentId, Components, DropFn};
use crate::rows::{Label, Link, RowColumns, RowColumnsMut};
use crate::signature::Signature;
use crate::sort::sort_short_by_key;
use crate::storage::table_order::TableOrder;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use phalanx_store::raw::{DropGuard, Lane, LaneOf, copy_row, drop_all, row_ptr, swap_row};
use phalanx_store::{AllocError, Entity};

/// A number that changes with every structural change: a row is added or removed, a lane moves, or a table or a component
/// is added. Query states keep pointers while it is the same, so every function that can move a lane takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// Changes the number.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.0 += 1;
    }
}

/// The lanes of one component in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) id: ComponentId,
    pub(crate) first: u16,
    pub(crate) lanes: u16,
    pub(crate) drop: Option<DropFn>,
    pub(crate) track: Track,
}

impl Column {
    /// Returns the number of its last lane, which has the change tick if the component is tracked by column.
    #[inline(always)]
    fn tick_lane(&self) -> usize {
        (self.first + self.lanes - 1) as usize
    }
}

/// Which values of a removed row stay initialised beyond the last row, for the caller to drop or move.
pub(crate) enum Keep<'a> {
    /// The values of all lanes.
    All,
    /// The values of lanes that need a drop.
    NeedsDrop,
    /// The values of the lanes with a `true` here.
    Lanes(&'a [bool]),
    /// None: all of them were moved out.
    None,
}

/// The rows of all entities of one archetype.
pub(crate) struct Table {
    pub(crate) signature: Signature,
    /// The slots by row. In a table of main rows these are the entities. In a table of extra rows, the entities that own the
    /// rows are in a lane of the reserved component.
    pub(crate) entities: LaneOf<Entity>,
    lanes: NonNull<[Lane]>,
    /// All components, with data and without, in [canonical order](Components::rank).
    pub(crate) columns: Box<[Column]>,
    pub(crate) len: u32,
    pub(crate) cap: u32,
    /// Bytes of a row in all lanes.
    row_bytes: usize,
    needs_drop: bool,
    /// By lane: whether its values need a drop. Empty if none does.
    drop_lanes: Box<[bool]>,
    /// Whether a component is tracked.
    pub(crate) tracked: bool,
    /// The number of the table in its storage.
    pub(crate) number: u32,
    /// The position in the [`TableOrder`], or zero if the table never had a row.
    pub(crate) stamp: u64,
}

// SAFETY: a table owns its lanes, whose values are components, which are `Send` and `Sync`.
unsafe impl Send for Table {}
// SAFETY: as above; behind a shared reference nothing changes.
unsafe impl Sync for Table {}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn try_new(signature: Signature, components: &Components, number: u32) -> Result<Table, AllocError> {
        let mut columns = try_vec(signature.len())?;
        let mut lane_count = 0;
        for id in signature.iter() {
            let info = components.info(id);
            lane_count += info.lanes.len();
            let (lanes, drop, track) = (info.lanes.len() as u16, info.drop, info.track);
            columns.push(Column { id, first: 0, lanes, drop, track });
        }
        if lane_count > usize::from(u16::MAX) {
            return Err(AllocError::CapacityOverflow);
        }
        let mut lanes = try_vec(lane_count)?;
        sort_short_by_key(&mut columns, |column: &Column| components.rank(column.id));
        let needs_drop = columns.iter().any(|column| column.drop.is_some());
        let mut drop_lanes = try_vec(if needs_drop { lane_count } else { 0 })?;
        for column in &mut columns {
            column.first = lanes.len() as u16;
            let rows = &components.info(column.id).lanes;
            drop_lanes.extend(rows.iter().filter(|_| needs_drop).map(|_| column.drop.is_some()));
            lanes.extend(rows.iter().map(|row| Lane::new(*row)));
        }
        Ok(Table {
            signature,
            entities: LaneOf::new(),
            row_bytes: lanes.iter().map(Lane::row_size).sum::<usize>() + size_of::<Entity>(),
            needs_drop,
            drop_lanes: drop_lanes.into(),
            tracked: columns.iter().any(|c| c.track != Track::None),
            lanes: NonNull::from(Box::leak(lanes.into_boxed_slice())),
            columns: columns.into(),
            len: 0,
            cap: 0,
            number,
            stamp: 0,
        })
    }

    /// Returns a pointer to the first lane.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> *mut Lane {
        self.lanes.as_ptr().cast()
    }

    /// Returns the number of lanes.
    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the column of a component, if the table has it.
    pub(crate) fn column(&self, id: ComponentId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the entities that own the rows, by row. Users see these.
    pub(crate) fn entities(&self) -> &[Entity] {
        self.row_columns().map_or(self.slots(), |columns| columns.owners)
    }

    /// Returns the slots by row. Structural changes use these.
    pub(crate) fn slots(&self) -> &[Entity] {
        // SAFETY: the rows in use are initialised.
        unsafe { self.entities.slice(self.len) }
    }

    /// Returns the columns of the reserved component if this is a table of extra rows.
    pub(crate) fn row_columns(&self) -> Option<RowColumns<'_>> {
        let ([owners, labels, links, ..], true) = (self.lane_list(), self.is_extra()) else { return None };
        let len = self.len as usize;
        // SAFETY: the reserved component has the lowest rank, so its lanes are the first three. The rows in use are
        // initialised.
        Some(unsafe { RowColumns { owners: rows(owners, len), labels: rows(labels, len), links: rows(links, len) } })
    }

    /// Returns the columns of the reserved component for writing, if this is a table of extra rows.
    pub(crate) fn row_columns_mut(&mut self) -> Option<RowColumnsMut<'_>> {
        let ([owners, labels, links, ..], true) = (self.lane_list(), self.is_extra()) else { return None };
        let [owners, labels, links] = [owners, labels, links].map(|lane| lane.ptr().as_ptr());
        let len = self.len as usize;
        // SAFETY: the reserved component has the lowest rank, so its lanes are the first three. The rows in use are
        // initialised, and the table is borrowed exclusively.
        Some(unsafe {
            RowColumnsMut {
                owners: core::slice::from_raw_parts_mut(owners.cast(), len),
                labels: core::slice::from_raw_parts_mut(labels.cast(), len),
                links: core::slice::from_raw_parts_mut(links.cast(), len),
            }
        })
    }

    /// Writes the reserved component of the row beyond the last, or of one after it.
    ///
    /// # Panics
    ///
    /// Panics if this is not a table of extra rows, or the row is in use or not within the capacity.
    pub(crate) fn write_name(&mut self, row: u32, owner: Entity, label: Label, link: Link) {
        let ([owners, labels, links, ..], true) = (self.lane_list(), self.is_extra()) else {
            panic!("a table of main rows has no names")
        };
        assert!(self.len <= row && [owners, labels, links].iter().all(|lane| row < lane.capacity()));
        // SAFETY: the reserved component has the lowest rank, so its lanes are the first three. The row is within their
        // capacity, and not in use.
        unsafe {
            row_ptr(owners, row).cast::<Entity>().write(owner);
            row_ptr(labels, row).cast::<Label>().write(label);
            row_ptr(links, row).cast::<Link>().write(link);
        }
    }

    /// Returns `true` if this is a table of extra rows.
    pub(crate) fn is_extra(&self) -> bool {
        self.signature.has(ComponentId::ROW)
    }

    /// Returns `true` if values of the table need a drop.
    #[inline(always)]
    pub(crate) fn needs_drop(&self) -> bool {
        self.needs_drop
    }

    /// Returns the labels by row, or an empty slice if this is a table of main rows.
    pub(crate) fn labels(&self) -> &[Label] {
        self.row_columns().map_or(&[], |columns| columns.labels)
    }

    /// Returns the lanes.
    pub(crate) fn lane_list(&self) -> &[Lane] {
        // SAFETY: the lanes exist as long as the table, and the header of a lane changes only through an exclusive reference.
        unsafe { self.lanes.as_ref() }
    }

    /// Returns the lanes of a column of this table.
    ///
    /// # Panics
    ///
    /// Panics if there are no such lanes.
    pub(crate) fn lanes_of(&self, column: &Column) -> &[Lane] {
        &self.lane_list()[column.first as usize..][..column.lanes as usize]
    }

    /// Returns the lanes, to resize them.
    fn lanes_mut(&mut self) -> &mut [Lane] {
        // SAFETY: the lanes exist as long as the table, which is borrowed exclusively.
        unsafe { self.lanes.as_mut() }
    }

    /// Grows the lanes that have too little capacity for `rows` rows, and sets the capacity to that of the smallest lane.
    #[cfg(feature = "snapshot")]
    pub(crate) fn try_cover(&mut self, rows: u32) -> Result<(), AllocError> {
        self.lanes_mut().iter_mut().try_for_each(|lane| lane.try_reserve_exact(rows))?;
        self.update_capacity();
        Ok(())
    }

    /// Returns the spare capacity in rows of the lane that has the most.
    pub(crate) fn slack(&self) -> u32 {
        let lanes = self.lane_list().iter().filter(|lane| lane.row_size() > 0);
        lanes.map(Lane::capacity).fold(self.entities.capacity(), u32::max) - self.len
    }

    /// Reserves capacity for `additional` more rows. Lanes may move even if this fails.
    #[inline]
    pub(crate) fn try_reserve(&mut self, additional: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        if additional <= self.cap - self.len { Ok(()) } else { self.try_grow(additional, epoch) }
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, additional: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        let needed = self.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        let first = (1024 / self.row_bytes).clamp(4, 16) as u32;
        let cap = self.cap.saturating_mul(2).max(needed).max(first);
        self.try_resize(cap, epoch)
    }

    /// Reserves capacity for exactly this many rows in a table without rows.
    pub(crate) fn try_reserve_exact(&mut self, rows: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        if rows <= self.cap { Ok(()) } else { self.try_resize(rows, epoch) }
    }

    /// Resizes every lane to `cap` rows, which are not fewer than those in use.
    pub(crate) fn try_resize(&mut self, cap: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        debug_assert!(cap >= self.len);
        // Lanes may have moved even if this fails.
        epoch.advance();
        self.cap = self.cap.min(cap);
        // SAFETY: no row at or above `cap` is in use. A lane that was resized before another failed has a capacity of its
        // own, which it knows.
        unsafe {
            self.entities.try_resize(cap)?;
            self.lanes_mut().iter_mut().try_for_each(|lane| lane.try_resize(cap))?;
        }
        self.cap = cap;
        Ok(())
    }

    /// Sets the capacity to that of the smallest lane, after lanes were resized one by one.
    pub(crate) fn update_capacity(&mut self) {
        self.cap = self.lane_list().iter().map(Lane::capacity).fold(self.entities.capacity(), u32::min);
    }

    /// Adds the row beyond the last. The caller has written its lanes, or writes them before anything else happens.
    ///
    /// # Safety
    ///
    /// The table has capacity for one more row.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, entity: Entity, order: &mut TableOrder) -> u32 {
        let row = self.len;
        if row == 0 {
            self.activate(order);
        }
        debug_assert!(row < self.cap);
        // SAFETY: the row is within the capacity, by the caller's contract.
        unsafe {
            self.entities.at(row).write(entity);
            self.entities.set_dirty(row);
        }
        self.len = row + 1;
        row
    }

    /// Adds rows of these slots beyond the last.
    ///
    /// # Safety
    ///
    /// The table has capacity for the rows, and they are written in all lanes.
    pub(crate) unsafe fn push_all(&mut self, slots: &[Entity], order: &mut TableOrder) {
        let (first, len) = (self.len, self.len + slots.len() as u32);
        debug_assert!(len <= self.cap);
        // SAFETY: there is capacity for the rows, by the caller's contract. The slots are borrowed, so they are not in this lane,
        // which is borrowed exclusively.
        unsafe {
            core::ptr::copy_nonoverlapping(slots.as_ptr(), self.entities.at(first), slots.len());
            self.entities.set_dirty_rows(first..len);
            self.set_len(len, order);
        }
    }

    /// Adds rows beyond the last, so that there are `len`.
    ///
    /// # Safety
    ///
    /// The table has capacity for `len` rows, and the new ones are written in all lanes.
    pub(crate) unsafe fn set_len(&mut self, len: u32, order: &mut TableOrder) {
        debug_assert!(self.len <= len && len <= self.cap);
        if self.len == 0 && len > 0 {
            self.activate(order);
        }
        self.len = len;
    }

    /// Makes the table the last in the order of tables, when it gets its first row.
    fn activate(&mut self, order: &mut TableOrder) {
        self.stamp = order.activate(self.number, self.stamp != 0);
    }

    /// Sets the dirty bits of a row in these columns, if a timeline needs them.
    ///
    /// # Safety
    ///
    /// The row is within the capacity.
    #[inline(always)]
    pub(crate) unsafe fn set_dirty(&self, row: u32, columns: &[Column]) {
        if self.entities.lane().is_tracked() {
            for column in columns.iter().filter(|column| column.lanes > 0) {
                // SAFETY: the lane is one of the table, and the row is within its capacity.
                unsafe { (*self.lanes().add(column.first as usize)).set_dirty(row) };
            }
        }
    }

    /// Swap-removes a row. The values to `keep` are moved beyond the last row and stay initialised. The others count as moved
    /// out. Returns the slot that was moved to `row`, if there is one.
    ///
    /// # Safety
    ///
    /// The row is in use.
    #[inline(always)]
    pub(crate) unsafe fn swap_remove(&mut self, row: u32, keep: Keep<'_>) -> Option<Entity> {
        debug_assert!(row < self.len);
        let last = self.len - 1;
        self.len = last;
        if row == last {
            return None;
        }
        // SAFETY: both rows were in use, and differ. There is a flag for each lane.
        unsafe {
            match keep {
                Keep::All => self.relocate(last, row, core::iter::repeat(true)),
                Keep::None => self.relocate(last, row, core::iter::repeat(false)),
                Keep::NeedsDrop if self.needs_drop => self.relocate(last, row, self.drop_lanes.iter().copied()),
                Keep::NeedsDrop => self.relocate(last, row, core::iter::repeat(false)),
                Keep::Lanes(flags) => self.relocate(last, row, flags.iter().copied()),
            }
            let moved = *self.entities.at(last);
            self.entities.at(row).write(moved);
            self.entities.set_dirty(row);
            Some(moved)
        }
    }

    /// Moves the values of a row to another row. Where `keep` is `true` the two are exchanged, otherwise the old value is
    /// overwritten.
    ///
    /// # Safety
    ///
    /// Both rows are within the capacity, and differ. There is a flag for each lane.
    #[inline(always)]
    unsafe fn relocate(&self, from: u32, to: u32, keep: impl Iterator<Item = bool>) {
        for (lane, keep) in self.lane_list().iter().zip(keep) {
            // SAFETY: both rows are within the capacity of the lane and differ, by the caller's contract.
            unsafe {
                let (size, from, to) = (lane.row_size(), row_ptr(lane, from), row_ptr(lane, to));
                if keep { swap_row(from, to, size) } else { copy_row(from, to, size) }
            }
        }
    }

    /// Drops the values of a row in these columns. Goes on after a panic; a second panic aborts.
    ///
    /// # Safety
    ///
    /// The values are initialised, and are not used again.
    #[inline]
    pub(crate) unsafe fn drop_row(&self, row: u32, columns: &[Column]) {
        if self.needs_drop {
            let dropped = columns.iter().filter_map(|column| Some((column, column.drop?)));
            drop_all(dropped, |(column, drop)| {
                let value = match column.lanes {
                    // A zero-sized value has no lane and no location: any aligned address is valid for it.
                    0 => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
                    _ => self.lane_list()[column.first as usize].row(row),
                };
                // SAFETY: the value is initialised and is dropped once, by the caller's contract.
                unsafe { drop(value) };
            });
        }
    }

    /// Sets the change tick of the columns that are tracked as a whole, when a row is added or removed.
    pub(crate) fn set_column_ticks(&self, now: Tick) {
        for column in self.columns.iter().filter(|column| column.track == Track::Column) {
            set_column_tick(&self.lane_list()[column.tick_lane()], now);
        }
    }

    /// Copies the change ticks of columns from a table with the same signature.
    pub(crate) fn copy_column_ticks(&self, from: &Table) {
        for column in self.columns.iter().filter(|column| column.track == Track::Column) {
            self.lane_list()[column.tick_lane()].set_version(from.lane_list()[column.tick_lane()].version());
        }
    }

    /// Sets the change ticks of rows that are added.
    ///
    /// # Panics
    ///
    /// Panics if a row is not in use.
    pub(crate) fn set_added_ticks(&self, rows: core::ops::Range<u32>, now: Tick) {
        self.set_column_ticks(now);
        for column in self.columns.iter().filter(|column| column.track == Track::Row) {
            for ticks in self.row_ticks(column) {
                set_all_ticks(&ticks[rows.start as usize..rows.end as usize], now);
            }
        }
    }

    /// Returns the ticks of the rows in use: of *added* and of *changed*. There are none if it is not a column of this table that
    /// is tracked by row.
    fn row_ticks(&self, column: &Column) -> [&[AtomicU32]; 2] {
        if column.track != Track::Row || !self.columns.iter().any(|own| core::ptr::eq(own, column)) {
            return [&[]; 2];
        }
        // SAFETY: the lanes have the ticks of the column, and the rows in use are initialised.
        tick_lanes(self.lanes_of(column)).map(|lane| unsafe { ticks_of(lane, self.len as usize) })
    }

    /// Sets the change ticks of all rows of a component that is tracked by row.
    pub(crate) fn set_changed_ticks(&self, id: ComponentId, now: Tick) {
        for column in self.columns.iter().filter(|column| column.id == id && column.track == Track::Row) {
            set_all_ticks(self.row_ticks(column)[1], now);
        }
    }

    /// Copies the ticks at which values were added from an old row, whose values those of `row` replace. The old row may be
    /// in another table, which has the components in columns of its own.
    ///
    /// # Safety
    ///
    /// The ticks of both rows are initialised, and no other reference to them is in use.
    pub(crate) unsafe fn keep_added(&self, row: u32, columns: &[Column], (old, old_row): (&Table, u32)) {
        for column in columns.iter().filter(|column| column.track == Track::Row) {
            let Some(here) = self.column(column.id) else { continue };
            // SAFETY: the lanes have the ticks of the columns, and both rows are initialised there.
            unsafe {
                let old = ticks_at(old.lanes_of(column), old_row as usize);
                ticks_at(self.lanes_of(here), row as usize).set_added(old.added());
            }
        }
    }

    /// Checks lengths and capacities.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        let lanes = self.lane_list();
        if self.len > self.cap || self.cap > self.entities.capacity() || lanes.iter().any(|l| l.capacity() < self.cap) {
            return Err("a table with more rows than capacity");
        }
        if self.columns.len() != self.signature.len() || !self.columns.iter().all(|c| self.signature.has(c.id)) {
            return Err("a table with other columns than its signature has");
        }
        Ok(())
    }
}

/// An address that is aligned for values of any type that the language allows.
pub(crate) const ALIGNED_FOR_ALL: core::num::NonZeroUsize = core::num::NonZeroUsize::new(1 << 29).unwrap();

impl Drop for Table {
    fn drop(&mut self) {
        // Frees the lanes after all rows are dropped, also if one panics.
        let _lanes = DropGuard::new(self.lanes, |lanes| {
            // SAFETY: the block was made by `Box::leak` in `try_new`, and is freed once.
            drop(unsafe { Box::from_raw(lanes.as_ptr()) });
        });
        if self.needs_drop {
            let len = core::mem::replace(&mut self.len, 0);
            // SAFETY: the rows were in use, and the table does not own them any more. Each is dropped once.
            drop_all(0..len, |row| unsafe { self.drop_row(row, &self.columns) });
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({:?}, {} rows)", self.signature, self.len)
    }
}

/// Returns the first rows of a lane.
///
/// # Safety
///
/// The lane has rows of type `T`, and the first `len` are initialised and not written while the slice lives.
unsafe fn rows<T>(lane: &Lane, len: usize) -> &[T] {
    // SAFETY: the rows are initialised values of `T`, and not written, by the caller's contract.
    unsafe { core::slice::from_raw_parts(lane.ptr().as_ptr().cast(), len) }
}
