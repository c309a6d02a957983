//! The rows of one signature.
//!
//! # Representation
//!
//! Rows `0..len` are in use: in the entity lane and in every data lane they are initialised. `cap` rows fit into every
//! lane; it is raised when all lanes have been grown, so that a failure in the middle leaves the table as it was.
//!
//! The lanes live in a block that never moves while the table exists: the directory of columns and the runs of queries
//! point at them.
//!
//! # What must never leak
//!
//! A row that was retired lies at index `len`, owned by nobody, until the next row is pushed. Whoever retires it ends it.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::change_detection::{ComponentTicks, Tick, Track, set_column_tick, ticks_at};
use crate::component::{ComponentId, Components, DropFn};
use crate::rows::{Label, RowLanes};
use crate::signature::Signature;
use crate::storage::table_order::TableOrder;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use phalanx_store::raw::{Lane, LaneOf};
use phalanx_store::{AllocError, Entity};

/// A number that is different after every change of structure: a row came or went, a lane moved, a table or a component
/// was added. Query states trust their pointers while it is the same, so everything that can move a lane asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// Announces a change.
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
    /// The number of its last lane, which has the marks of one that is tracked.
    #[inline(always)]
    fn marks(&self) -> usize {
        (self.first + self.lanes - 1) as usize
    }
}

/// The rows of one signature.
pub(crate) struct Table {
    pub(crate) signature: Signature,
    /// The slots, by row: the entities themselves, but in a table of extra rows, where the owners are in a lane of the
    /// reserved component. What locations are fixed by, in either.
    pub(crate) entities: LaneOf<Entity>,
    lanes: NonNull<[Lane]>,
    /// All components, with data and without, in [canonical order](Components::rank).
    pub(crate) columns: Box<[Column]>,
    pub(crate) len: u32,
    pub(crate) cap: u32,
    /// Bytes of a row in all lanes.
    row_bytes: usize,
    needs_drop: bool,
    /// Whether a component is tracked.
    pub(crate) tracked: bool,
    /// The number of the table in its world.
    pub(crate) number: u32,
    /// When the table got its first row last, see [`TableOrder`]; zero if it never had one.
    pub(crate) stamp: u64,
}

// SAFETY: a table owns its lanes, whose values are components, which are `Send` and `Sync`.
unsafe impl Send for Table {}
// SAFETY: as above; behind a shared reference nothing changes.
unsafe impl Sync for Table {}

impl Table {
    pub(crate) fn try_new(signature: Signature, components: &Components, number: u32) -> Result<Table, AllocError> {
        let lane_count = signature.iter().map(|id| components.info(id).lanes.len()).sum();
        if lane_count > usize::from(u16::MAX) {
            return Err(AllocError::CapacityOverflow);
        }
        let (mut lanes, mut columns) = (try_vec(lane_count)?, try_vec(signature.len())?);
        let mut ids = try_vec(signature.len())?;
        ids.extend(signature.iter());
        ids.sort_unstable_by_key(|id| components.rank(*id));
        for id in ids {
            let info = components.info(id);
            let first = lanes.len() as u16;
            lanes.extend(info.lanes.iter().map(|row| Lane::new(*row)));
            columns.push(Column { id, first, lanes: info.lanes.len() as u16, drop: info.drop, track: info.track });
        }
        Ok(Table {
            signature,
            entities: LaneOf::new(),
            row_bytes: lanes.iter().map(Lane::row_size).sum::<usize>() + size_of::<Entity>(),
            needs_drop: columns.iter().any(|c| c.drop.is_some()),
            tracked: columns.iter().any(|c| c.track != Track::None),
            lanes: NonNull::from(Box::leak(lanes.into_boxed_slice())),
            columns: columns.into(),
            len: 0,
            cap: 0,
            number,
            stamp: 0,
        })
    }

    /// The first lane.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> *mut Lane {
        self.lanes.as_ptr().cast()
    }

    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// The column of a component.
    pub(crate) fn column(&self, id: ComponentId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// The entities whose rows these are, by row: what users see. See [`slots`](Table::slots).
    pub(crate) fn entities(&self) -> &[Entity] {
        match self.row_lanes() {
            None => self.slots(),
            // SAFETY: the rows in use are initialised.
            Some(lanes) => unsafe { core::slice::from_raw_parts(lanes.owners, self.len as usize) },
        }
    }

    /// The slots, by row: what structure code goes by.
    pub(crate) fn slots(&self) -> &[Entity] {
        // SAFETY: the rows in use are initialised.
        unsafe { self.entities.slice(self.len) }
    }

    /// The lanes of the reserved component, in a table of extra rows.
    pub(crate) fn row_lanes(&self) -> Option<RowLanes> {
        if !self.signature.has(ComponentId::ROW) {
            return None;
        }
        // SAFETY: the component has the lowest id, so its lanes are the first three.
        let [owners, labels, links] = [0, 1, 2].map(|lane| unsafe { (*self.lanes().add(lane)).ptr().as_ptr() });
        Some(RowLanes { owners: owners.cast(), labels: labels.cast(), links: links.cast() })
    }

    /// The labels, by row; none in a table of main rows.
    pub(crate) fn labels(&self) -> &[Label] {
        match self.row_lanes() {
            None => &[],
            // SAFETY: the rows in use are initialised.
            Some(lanes) => unsafe { core::slice::from_raw_parts(lanes.labels, self.len as usize) },
        }
    }

    /// The lanes, to be looked at.
    pub(crate) fn lane_list(&self) -> &[Lane] {
        // SAFETY: the lanes exist while the table does, and nobody writes a lane's header through a shared table.
        unsafe { self.lanes.as_ref() }
    }

    /// The rows for which there is room beyond those in use, in the lane with the most.
    pub(crate) fn slack(&self) -> u32 {
        let lanes = self.lane_list().iter().filter(|lane| lane.row_size() > 0);
        lanes.map(Lane::capacity).fold(self.entities.capacity(), u32::max) - self.len
    }

    /// Makes room for `additional` more rows. Lanes may move, even if it fails.
    #[inline]
    pub(crate) fn try_reserve(&mut self, additional: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        if additional <= self.cap - self.len { Ok(()) } else { self.try_grow(additional, epoch) }
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, additional: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        let needed = self.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        let first = (4096 / self.row_bytes).clamp(4, 64) as u32;
        let cap = self.cap.saturating_mul(2).max(needed).max(first);
        self.try_resize(cap, epoch)
    }

    /// Gives a table without rows room for exactly so many.
    pub(crate) fn try_reserve_exact(&mut self, rows: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        if rows <= self.cap { Ok(()) } else { self.try_resize(rows, epoch) }
    }

    /// Gives every lane room for `cap` rows, which are not fewer than those in use.
    pub(crate) fn try_resize(&mut self, cap: u32, epoch: &mut Epoch) -> Result<(), AllocError> {
        debug_assert!(cap >= self.len);
        // Also if it fails half-way: some lanes have moved then.
        epoch.advance();
        self.cap = self.cap.min(cap);
        // SAFETY: no row at or above `cap` is in use. A lane that was resized before another failed has a capacity of its
        // own, which it knows.
        unsafe {
            self.entities.try_resize(cap)?;
            for lane in self.lanes.as_mut() {
                lane.try_resize(cap)?;
            }
        }
        self.cap = cap;
        Ok(())
    }

    /// Counts the room anew after lanes were given other blocks: that of the lane with the least.
    pub(crate) fn settle_capacity(&mut self) {
        // SAFETY: the lanes exist while the table does.
        let lanes = unsafe { self.lanes.as_ref() };
        self.cap = lanes.iter().map(Lane::capacity).fold(self.entities.capacity(), u32::min);
    }

    /// Takes the row after the last, whose lanes the caller writes before anything else happens.
    ///
    /// # Safety
    ///
    /// There is room for it.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, entity: Entity, order: &mut TableOrder) -> u32 {
        let row = self.len;
        if row == 0 {
            self.activate(order);
        }
        debug_assert!(row < self.cap);
        // SAFETY: there is room.
        unsafe {
            self.entities.at(row).write(entity);
            self.entities.mark(row);
        }
        self.len = row + 1;
        row
    }

    /// Takes rows after the last, so that there are `len`.
    ///
    /// # Safety
    ///
    /// There is room for so many, and the new ones are written in all lanes.
    pub(crate) unsafe fn set_len(&mut self, len: u32, order: &mut TableOrder) {
        debug_assert!(self.len <= len && len <= self.cap);
        if self.len == 0 && len > 0 {
            self.activate(order);
        }
        self.len = len;
    }

    /// Makes the table the last that is visited: it gets its first row.
    fn activate(&mut self, order: &mut TableOrder) {
        self.stamp = order.activate(self.number, self.stamp != 0);
    }

    /// Notes, where it is asked for, that these columns of a row were written.
    ///
    /// # Safety
    ///
    /// The row is within the capacity.
    #[inline(always)]
    pub(crate) unsafe fn mark(&self, row: u32, columns: &[Column]) {
        if self.entities.lane().is_tracked() {
            for column in columns.iter().filter(|column| column.lanes > 0) {
                // SAFETY: one of the table's lanes, and the caller's promise; the world is borrowed exclusively.
                unsafe { (*self.lanes().add(column.first as usize)).mark(row) };
            }
        }
    }

    /// Removes a row by moving the last one to its place. In lanes where `keep` returns `true`, the removed value is moved
    /// beyond the last row and stays initialised; in the others it counts as moved out. Returns the entity that was moved to
    /// `row`, if one was.
    ///
    /// # Safety
    ///
    /// The row is in use.
    #[inline]
    pub(crate) unsafe fn swap_remove(&mut self, row: u32, keep: impl Fn(usize) -> bool) -> Option<Entity> {
        debug_assert!(row < self.len);
        let last = self.len - 1;
        self.len = last;
        if row == last {
            return None;
        }
        // SAFETY: both rows are within the capacity of every lane, and differ.
        unsafe {
            for at in 0..self.lane_count() {
                let lane = &*self.lanes().add(at);
                let (size, from, to) = (lane.row_size(), row_ptr(lane, last), row_ptr(lane, row));
                if keep(at) { swap_row(from, to, size) } else { copy_row(from, to, size) }
            }
            let moved = *self.entities.at(last);
            self.entities.at(row).write(moved);
            self.entities.mark(row);
            Some(moved)
        }
    }

    /// The lanes whose values need an end: what is kept for its drop when a row is removed as a whole.
    pub(crate) fn lanes_with_drop(&self) -> Result<Box<[bool]>, AllocError> {
        let mut keep = try_vec(self.lane_count())?;
        keep.resize(self.lane_count(), false);
        for column in self.columns.iter().filter(|c| c.drop.is_some()) {
            keep[column.first as usize..][..column.lanes as usize].fill(true);
        }
        Ok(keep.into())
    }

    /// Ends the values of a row in these columns; all of them, even if one panics (then the panic goes on; a second
    /// aborts).
    ///
    /// # Safety
    ///
    /// The values are initialised, and nobody else owns them.
    #[inline]
    pub(crate) unsafe fn drop_row(&self, row: u32, columns: &[Column]) {
        if !self.needs_drop {
            return;
        }
        struct Rest<'a> {
            table: &'a Table,
            row: u32,
            columns: &'a [Column],
        }
        impl Rest<'_> {
            fn run(&mut self) {
                while let Some((column, rest)) = self.columns.split_first() {
                    self.columns = rest;
                    let Some(drop) = column.drop else { continue };
                    // SAFETY: the value is initialised and ends here; one without a size has no place, and any that
                    // is aligned will do: the lanes' block is not, so a dangling one is made for it.
                    unsafe {
                        match column.lanes {
                            0 => drop(core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get())),
                            _ => drop(row_ptr(&*self.table.lanes().add(column.first as usize), self.row)),
                        }
                    }
                }
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Rest { table: self, row, columns }.run();
    }

    /// Marks the columns that are tracked as wholes: a row has come or gone.
    pub(crate) fn mark_columns(&self, now: Tick) {
        for column in self.columns.iter().filter(|column| column.track == Track::Column) {
            set_column_tick(&self.lane_list()[column.marks()], now);
        }
    }

    /// Marks the columns as those of another table of the same signature are marked.
    pub(crate) fn copy_column_marks(&self, from: &Table) {
        for column in self.columns.iter().filter(|column| column.track == Track::Column) {
            self.lane_list()[column.marks()].set_version(from.lane_list()[column.marks()].version());
        }
    }

    /// Marks rows as new.
    ///
    /// # Safety
    ///
    /// They are within the capacity, and nobody else uses them.
    pub(crate) unsafe fn mark_new(&self, rows: core::ops::Range<u32>, now: Tick) {
        self.mark_columns(now);
        for column in self.columns.iter().filter(|column| column.track == Track::Row) {
            for row in rows.clone() {
                // SAFETY: the lane is that of the column's marks, and the row the caller's promise.
                unsafe {
                    let lane = &*self.lanes().add(column.marks());
                    ticks_at(lane, row as usize).write(ComponentTicks::new(now));
                }
            }
        }
    }

    /// Gives a row of these columns, whose values replace those of another, the marks of the others' coming: of a row of the
    /// same table or of another, which has them in its own columns.
    ///
    /// # Safety
    ///
    /// The marks of both rows are initialised, and nobody else uses them.
    pub(crate) unsafe fn keep_added(&self, row: u32, columns: &[Column], (old, old_row): (&Table, u32)) {
        for column in columns.iter().filter(|column| column.track == Track::Row) {
            let Some(here) = self.column(column.id) else { continue };
            // SAFETY: the lanes are those of the columns' marks, and the rows the caller's promise.
            unsafe {
                let added = (*ticks_at(&*old.lanes().add(column.marks()), old_row as usize)).added;
                (*ticks_at(&*self.lanes().add(here.marks()), row as usize)).added = added;
            }
        }
    }

    /// Checks lengths and capacities.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        // SAFETY: the lanes exist while the table does.
        let lanes = unsafe { self.lanes.as_ref() };
        if self.len > self.cap || self.cap > self.entities.capacity() || lanes.iter().any(|l| l.capacity() < self.cap) {
            return Err("a table with more rows than room");
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
        /// Frees the lanes when all rows have ended, or a panic passes through.
        struct Free(NonNull<[Lane]>);
        impl Drop for Free {
            fn drop(&mut self) {
                // SAFETY: made by `Box::leak` in `try_new`, and freed once.
                drop(unsafe { Box::from_raw(self.0.as_ptr()) });
            }
        }
        let _free = Free(self.lanes);
        if self.needs_drop {
            let len = core::mem::replace(&mut self.len, 0);
            struct Rows<'a>(&'a Table, core::ops::Range<u32>);
            impl Drop for Rows<'_> {
                fn drop(&mut self) {
                    for row in self.1.by_ref() {
                        // SAFETY: the table has given up its rows; each ends once.
                        unsafe { self.0.drop_row(row, &self.0.columns) };
                    }
                }
            }
            let mut rows = Rows(self, 0..len);
            for row in rows.1.by_ref() {
                // SAFETY: as above.
                unsafe { self.drop_row(row, &self.columns) };
            }
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({:?}, {} rows)", self.signature, self.len)
    }
}

/// A row of a lane.
///
/// # Safety
///
/// The row is not above the lane's capacity.
#[inline(always)]
pub(crate) unsafe fn row_ptr(lane: &Lane, row: u32) -> *mut u8 {
    // SAFETY: within the block, or one past its end.
    unsafe { lane.ptr().as_ptr().add(row as usize * lane.row_size()) }
}

/// Copies a row; the usual sizes without a call.
///
/// # Safety
///
/// Both are `size` bytes, of different rows.
#[inline(always)]
pub(crate) unsafe fn copy_row(from: *const u8, to: *mut u8, size: usize) {
    /// Copies `N` bytes, initialised or not.
    unsafe fn exactly<const N: usize>(from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise; arrays of bytes have no alignment.
        unsafe { core::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<[u8; N]>>(), to.cast(), 1) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            4 => exactly::<4>(from, to),
            8 => exactly::<8>(from, to),
            12 => exactly::<12>(from, to),
            16 => exactly::<16>(from, to),
            64 => exactly::<64>(from, to),
            _ => core::ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Exchanges two rows.
///
/// # Safety
///
/// Both are `size` bytes, of different rows.
#[inline(always)]
pub(crate) unsafe fn swap_row(a: *mut u8, b: *mut u8, size: usize) {
    /// Exchanges `N` bytes, initialised or not.
    #[inline(always)]
    unsafe fn exactly<const N: usize>(a: *mut u8, b: *mut u8) {
        let (a, b) = (a.cast::<MaybeUninit<[u8; N]>>(), b.cast::<MaybeUninit<[u8; N]>>());
        // SAFETY: the caller's promise; arrays of bytes have no alignment.
        unsafe {
            let value = a.read();
            a.copy_from_nonoverlapping(b, 1);
            b.write(value);
        }
    }
    // SAFETY: the caller's promise; as maybe-uninitialised bytes, whatever they are.
    unsafe {
        match size {
            4 => exactly::<4>(a, b),
            8 => exactly::<8>(a, b),
            12 => exactly::<12>(a, b),
            16 => exactly::<16>(a, b),
            64 => exactly::<64>(a, b),
            _ => core::ptr::swap_nonoverlapping(a.cast::<MaybeUninit<u8>>(), b.cast::<MaybeUninit<u8>>(), size),
        }
    }
}
