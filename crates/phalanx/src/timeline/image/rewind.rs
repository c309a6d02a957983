//! [`Rewind`]: brings a world to the state of an image in place.
//!
//! Only what differs is written: chunks that undo records have restored, and those that the world has changed since the last
//! capture. Tables and storages keep their numbers. Those that the image does not have become empty.
//!
//! # Phases
//!
//! [`Rewind::try_new`] finds what is to be written, clones values and allocates. It may fail or panic, and the world is
//! unchanged then but for capacities. [`Rewind::commit`] writes. It neither allocates nor runs code of users. The displaced
//! values are in the [`Rewind`] afterwards, and are dropped with it.
#![allow(unsafe_code)]

use super::byte_array::ByteArray;
use super::column::{Clones, Column, ColumnRef};
use super::dirty::Dirty;
use super::restore::set_tick;
use super::undo::Scope;
use super::{ComponentId, DEAD, Image, SparseState, free_list_of, keys_of, slots_of, state_of, words_of};
use crate::alloc::{try_box, try_reserve, try_reserve_at, try_reserve_map, try_vec};
use crate::change_detection::{Clock, Track};
use crate::component::ComponentInfo;
use crate::names::NameIndex;
use crate::rows::Rows;
use crate::sparse::{GroupImage, KeyImage, Removal};
use crate::storage::Storage;
use crate::timeline::rollback_report::RollbackReport;
use crate::world::{Location, World, next_id};
use core::ops::Range;
use phalanx_store::raw::{Lane, row_ptr};
use phalanx_store::{AllocError, Entity};

type Runs = Vec<Range<u32>>;

/// What is to be written to bring a world to the state of an image.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Rewind {
    words: Runs,
    free_list: Runs,
    tables: Vec<TableRewind>,
    sparse: Vec<SparseRewind>,
    /// The stamps and numbers of the tables that have been visited, in their order, if it changes.
    order: Option<Vec<(u64, u32)>>,
    groups: Option<GroupImage>,
    rows: Option<Rows>,
    names: Option<Box<NameIndex>>,
    /// The clock that continues from the image. `None` after the commit.
    clock: Option<Clock>,
}

#[derive(Debug)]
struct TableRewind {
    number: u32,
    len: u32,
    slots: Runs,
    columns: Vec<(u32, ValuesRewind)>,
}

#[derive(Debug)]
struct SparseRewind {
    number: u32,
    keys: Runs,
    values: Option<ValuesRewind>,
    removal: Removal,
    extra_rows: u32,
}

/// The values of a column or storage that are to be written.
#[derive(Debug)]
enum ValuesRewind {
    /// The runs of each lane.
    Plain(Vec<Runs>),
    /// All values, and a bit for each row of the world that has a value. After the commit, the old values.
    Cloned { clones: Clones, old: Vec<u64> },
}

/// Holds the pages of sparse indices while memory is reserved, and frees those that are not used.
struct Reserving<'a>(&'a mut World);

impl Drop for Reserving<'_> {
    fn drop(&mut self) {
        self.0.storage.sparse.release_store_pages();
    }
}

impl ValuesRewind {
    /// Returns what is to be written to a column, if anything is. `moved` is `true` if other rows have values.
    ///
    /// `capacity` is that of the new lanes if the values are cloned.
    fn try_new(
        image: Option<&Column>,
        column: ColumnRef<'_>,
        info: &ComponentInfo,
        dirty: Dirty<'_>,
        (moved, restored): (bool, bool),
        capacity: u32,
    ) -> Result<Option<ValuesRewind>, AllocError> {
        match image {
            Some(Column::Plain(arrays)) => {
                let mut lanes = try_vec(arrays.len())?;
                for (array, lane) in arrays.iter().zip(column.lanes) {
                    lanes.push(array.try_rewrites(column.source(lane), dirty)?);
                }
                Ok(lanes.iter().any(|runs: &Runs| !runs.is_empty()).then_some(ValuesRewind::Plain(lanes)))
            }
            Some(image @ Column::Cloned(_)) if moved || restored || !dirty.is_clean() => {
                let mut clones = image.try_clone_values(info, capacity)?;
                track_first(clones.values_mut())?;
                Ok(Some(ValuesRewind::Cloned { clones, old: column.try_present()? }))
            }
            Some(Column::Cloned(_)) => Ok(None),
            // A storage without values: those that need a drop are exchanged for none.
            None if !moved || info.drop.is_none() => Ok(None),
            None => {
                let mut clones = Column::try_empty(info)?.try_clone_values(info, capacity)?;
                track_first(clones.values_mut())?;
                Ok(Some(ValuesRewind::Cloned { clones, old: column.try_present()? }))
            }
        }
    }
}

/// Gives dirty bits to the first lane of values.
fn track_first(values: &mut crate::sparse::Values) -> Result<(), AllocError> {
    // SAFETY: the lane gets dirty bits; it is neither replaced nor resized.
    unsafe { values.lanes_mut() }.first_mut().map_or(Ok(()), Lane::try_track)
}

impl Image {
    /// Returns the number of names in the image, of a storage that may have been added since.
    fn name_count(&self, storage: &Storage) -> usize {
        let Some(image) = storage.sparse.names().and_then(|names| self.sparse.get(names as usize)) else { return 0 };
        match image.state {
            SparseState::Pool(_) => image.keys.rows() as usize,
            SparseState::Linear { .. } => image.keys.bits().count(),
        }
    }
}

impl Rewind {
    /// Finds what is to be written, and reserves everything.
    ///
    /// `marked` is `true` if the dirty bits of the world cover all writes since the image, before it was restored from undo
    /// records, was up to date.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. The state of the world is unchanged.
    ///
    /// # Safety
    ///
    /// The image was made of `world`, whose tables and storages have the same numbers.
    pub(in crate::timeline) unsafe fn try_new(
        image: &Image,
        world: &mut World,
        marked: bool,
        report: Option<&mut RollbackReport>,
    ) -> Result<Rewind, AllocError> {
        let restructured = !marked || image.is_restructured(&world.storage);
        let reserving = Reserving(world);
        let storage = &mut reserving.0.storage;
        // Values may move even if this fails.
        storage.restructured();
        let clock = Some(Clock::try_resumed(&image.time, next_id())?);
        let mut rewind = Rewind { clock, ..Rewind::default() };
        let [words, free_list] = storage.entities.lanes();
        let scope = Scope { components: &storage.components, marked, restructured };
        let since = |lane, seen| if restructured { scope.dirty(Dirty::since(lane, seen, None)) } else { Dirty::NONE };
        rewind.words = image.words.try_rewrites(words_of(storage), since(words, image.seen[0]))?;
        rewind.free_list = image.free_list.try_rewrites(free_list_of(storage), since(free_list, image.seen[1]))?;
        if let Some(report) = report {
            *report = try_report(image, &rewind.words, storage)?;
        }
        storage.entities.try_reserve_slots(image.words.rows())?;
        for number in 0..storage.tables.len() {
            rewind.try_add_table(image, storage, number, marked, restructured)?;
        }
        let storages = storage.sparse.iter().len();
        for number in 0..storages {
            // SAFETY: the image is of this storage, by the caller's contract.
            unsafe { rewind.try_add_sparse(image, storage, number as u32, marked, restructured)? };
        }
        rewind.try_add_order(image, storage)?;
        if restructured || !rewind.sparse.is_empty() || !storage.sparse.has_groups(&image.groups) {
            if !storage.sparse.has_groups(&image.groups) {
                rewind.groups = Some(image.groups.try_clone()?);
            }
            let names = image.name_count(storage);
            if names > 0 {
                rewind.names = Some(try_box(NameIndex::try_new(names)?)?);
            }
        }
        if rewind.tables.iter().any(|table| storage.tables[table.number as usize].is_extra()) {
            let extra = image.tables.iter().filter(|table| table.signature.has(ComponentId::ROW));
            let count = extra.map(|table| table.slots.rows() as usize).sum();
            let mut rows = Rows::default();
            if count > 0 {
                try_reserve_map(&mut rows.by_name, count)?;
                try_reserve_map(&mut rows.first, count)?;
                try_reserve_at(&mut rows.owners, image.words.rows() as usize / 64)?;
            }
            rewind.rows = Some(rows);
        }
        // The pages that were prepared are held until the commit.
        core::mem::forget(reserving);
        Ok(rewind)
    }

    fn try_add_table(
        &mut self,
        image: &Image,
        storage: &mut Storage,
        number: usize,
        marked: bool,
        restructured: bool,
    ) -> Result<(), AllocError> {
        let Storage { tables, components, epoch, .. } = storage;
        let table = &mut tables[number];
        let target = image.tables.get(number);
        let len = target.map_or(0, |target| target.slots.rows());
        table.try_reserve(len.saturating_sub(table.len), epoch)?;
        let table = &*table;
        let scope = Scope { components, marked, restructured };
        let slots = match target {
            Some(target) => target.slots.try_rewrites(slots_of(table), target.dirty_slots(table, scope))?,
            None => Runs::new(),
        };
        let moved = !slots.is_empty() || len != table.len;
        let mut columns = Vec::new();
        for at in 0..table.columns.len() {
            let (column, info) = (ColumnRef::of_table(table, at, components), components.info(table.columns[at].id));
            let (values, dirty, restored) = match target {
                Some(target) => {
                    let image = &target.columns[at];
                    (Some(&image.column), target.dirty_column(at, table, scope), image.restored.clones)
                }
                None => (None, Dirty::NONE, false),
            };
            let capacity = if len == 0 { 0 } else { table.cap };
            if let Some(values) = ValuesRewind::try_new(values, column, info, dirty, (moved, restored), capacity)? {
                try_reserve(&mut columns, 1)?;
                columns.push((at as u32, values));
            }
        }
        if moved || !columns.is_empty() {
            try_reserve(&mut self.tables, 1)?;
            self.tables.push(TableRewind { number: number as u32, len, slots, columns });
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The image is of this storage.
    unsafe fn try_add_sparse(
        &mut self,
        image: &Image,
        storage: &mut Storage,
        number: u32,
        marked: bool,
        restructured: bool,
    ) -> Result<(), AllocError> {
        let Storage { sparse, components, .. } = storage;
        let scope = Scope { components, marked, restructured };
        let (target, one) = (image.sparse.get(number as usize), sparse.get(number));
        let (keys, moved, state) = match target {
            Some(target) => {
                let keys = target.keys.try_rewrites(keys_of(one), target.dirty_keys(one, scope))?;
                let moved = !keys.is_empty() || keys_of(one).rows() != target.keys.rows();
                (keys, moved, Some(&target.state))
            }
            None => (Runs::new(), one.len() > 0, None),
        };
        let (removal, extra_rows) = match state {
            Some(SparseState::Pool(state)) => (state.removal, state.extra_rows),
            Some(SparseState::Linear { rows }) => (Removal::default(), *rows),
            None => (Removal::default(), 0),
        };
        let bytes = target.map_or(&[][..], |target| target.keys.bytes());
        if moved {
            let keys = KeyImage { bytes, changed: &keys, removal, extra_rows };
            // SAFETY: the keys are those of the storage at an earlier time, by the caller's contract.
            unsafe { sparse.try_reserve_keys(number, keys, image.words.rows())? };
        }
        let one = sparse.get(number);
        // Rows for all positions, and for the spare row of a linear storage.
        let capacity = match &one.store {
            crate::sparse::Store::Pool(_) => (bytes.len() / size_of::<Entity>()) as u32,
            crate::sparse::Store::Linear(_) => one.capacity() + u32::from(one.capacity() > 0),
        };
        let (values, dirty, restored) = match target {
            Some(target) => (Some(&target.column), target.dirty_values(one, scope), target.restored.clones),
            None => (None, Dirty::NONE, false),
        };
        let info = components.info(one.id);
        let values = ColumnRef::with_sparse(one, components, |column| {
            ValuesRewind::try_new(values, column, info, dirty, (moved, restored), capacity)
        })?;
        let is_same_state = state.is_some_and(|state| *state == state_of(one));
        let is_new_state = state.is_none() && removal == state_removal(&state_of(one));
        if moved || values.is_some() || !(is_same_state || is_new_state) {
            try_reserve(&mut self.sparse, 1)?;
            self.sparse.push(SparseRewind { number, keys, values, removal, extra_rows });
        }
        Ok(())
    }

    /// Finds the order of tables, if it changes.
    fn try_add_order(&mut self, image: &Image, storage: &Storage) -> Result<(), AllocError> {
        let stamp = |number: usize| image.tables.get(number).map_or(0, |table| table.stamp);
        if storage.tables.iter().enumerate().all(|(number, table)| table.stamp == stamp(number)) {
            return Ok(());
        }
        let mut order = try_vec(image.tables.len())?;
        order.extend(image.tables.iter().zip(0..).map(|(table, number)| (table.stamp, number)));
        order.retain(|(stamp, _)| *stamp != 0);
        order.sort_unstable();
        self.order = Some(order);
        Ok(())
    }

    /// Writes what differs. The old values that need a drop are in `self` afterwards.
    ///
    /// # Safety
    ///
    /// [`try_new`](Rewind::try_new) returned it for the same image and world, and nothing has changed since.
    pub(in crate::timeline) unsafe fn commit(&mut self, image: &Image, world: &mut World) {
        let storage = &mut world.storage;
        // SAFETY: the words and the free list are those of one state, and differ in the runs only. There is capacity.
        unsafe {
            let words = image.words.bytes().as_chunks::<4>().0;
            storage.entities.rewrite_words(words, self.words.iter().cloned());
            let free = image.free_list.bytes().as_chunks::<4>().0;
            storage.entities.rewrite_free(free, self.free_list.iter().cloned(), image.reserved);
        }
        for table in &mut self.tables {
            // SAFETY: as for this method.
            unsafe { table.commit(image, storage) };
        }
        // Those that the image does not have were never changed.
        for (number, table) in storage.tables.iter().enumerate() {
            let image = image.tables.get(number);
            for (at, column) in table.columns.iter().enumerate() {
                let tick = image.map_or(0, |image| image.columns[at].tick);
                set_tick(storage.components.info(column.id), table.lanes_of(column), tick);
            }
        }
        if let Some(order) = &self.order {
            for (number, table) in storage.tables.iter_mut().enumerate() {
                table.stamp = image.tables.get(number).map_or(0, |table| table.stamp);
            }
            storage.table_order.relink(order.iter().map(|(_, number)| *number));
        }
        for sparse in &mut self.sparse {
            // SAFETY: as for this method.
            unsafe { sparse.commit(image, storage) };
        }
        for (number, one) in storage.sparse.iter().enumerate() {
            let tick = image.sparse.get(number).map_or(0, |image| image.tick);
            set_tick(storage.components.info(one.id), one.values().lanes(), tick);
        }
        if let Some(groups) = self.groups.take() {
            // SAFETY: the storages have the values of the image now.
            unsafe { storage.sparse.rewrite_groups(groups) };
        }
        if !self.sparse.is_empty() {
            storage.sparse.count_rewrite();
        }
        if let Some(rows) = self.rows.take() {
            storage.rows = rows;
            storage.find_rows();
        }
        if let Some(names) = self.names.take() {
            storage.replace_name_index(names);
        }
        storage.sparse.release_store_pages();
        storage.sparse.clock = self.clock.take().expect("a rewind is committed once");
        storage.restructured();
        storage.journal.retain_alive(|entity| storage.entities.contains(entity));
    }
}

fn state_removal(state: &SparseState) -> Removal {
    match state {
        SparseState::Pool(state) => state.removal,
        SparseState::Linear { .. } => Removal::default(),
    }
}

/// Copies runs of an array to the rows of a lane.
///
/// # Safety
///
/// The lane has rows of the size of the array's, with capacity for all runs. The array has them, and no reference to the
/// rows is in use.
unsafe fn write_runs(array: &ByteArray, runs: &[Range<u32>], lane: &Lane) {
    for run in runs {
        let bytes = array.run(run);
        // SAFETY: the lane has capacity for the run, by the caller's contract.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(row_ptr(lane, run.start), bytes.len()) };
    }
}

/// Writes the values of a column that are plain. Its version changes.
///
/// # Safety
///
/// The arrays are those of the component, and the lanes have capacity for all runs.
unsafe fn write_plain(arrays: &[ByteArray], runs: &[Runs], lanes: &[Lane], info: &ComponentInfo) {
    for ((array, runs), lane) in arrays.iter().zip(runs).zip(lanes) {
        // SAFETY: the lane is that of the array, and has the capacity, by the caller's contract.
        unsafe { write_runs(array, runs, lane) };
    }
    // The version of a lane without values is a change tick.
    if info.track != Track::Column || info.value_lanes() > 0 {
        lanes.first().into_iter().for_each(Lane::touch);
    }
}

impl TableRewind {
    /// # Safety
    ///
    /// As for [`Rewind::commit`]. The words of the entities are those of the image already.
    unsafe fn commit(&mut self, image: &Image, storage: &mut Storage) {
        let Storage { tables, components, entities, .. } = storage;
        let table = &mut tables[self.number as usize];
        let target = image.tables.get(self.number as usize);
        for (at, values) in &mut self.columns {
            let column = table.columns[*at as usize];
            match values {
                ValuesRewind::Plain(runs) => {
                    let arrays = target.map_or(&[][..], |target| target.columns[*at as usize].column.arrays());
                    let lanes = table.lanes_of(&column);
                    // SAFETY: the arrays are those of the column, and the table has capacity for all rows.
                    unsafe { write_plain(arrays, runs, lanes, components.info(column.id)) };
                }
                ValuesRewind::Cloned { clones, old } => {
                    for at in 0..column.lanes {
                        // SAFETY: the lanes are those of the column, with capacity for the new rows. The table is borrowed
                        // exclusively. The header of a lane is exchanged at its address.
                        unsafe {
                            let own = &mut *table.lanes().add((column.first + at) as usize);
                            core::mem::swap(own, &mut clones.values_mut().lanes_mut()[at as usize]);
                        }
                    }
                    // SAFETY: the lanes have the old values of the table, in the rows with a bit.
                    unsafe { clones.set_rows(core::mem::take(old)) };
                }
            }
        }
        if let Some(target) = target {
            // SAFETY: the lane of entities has the capacity, and its rows are pairs of numbers.
            unsafe { write_runs(&target.slots, &self.slots, table.entities.lane()) };
        }
        table.len = self.len;
        table.update_capacity();
        for row in self.slots.iter().cloned().flatten() {
            let location = Location { table: self.number, row };
            let known = entities.set(table.slots()[row as usize], location);
            debug_assert!(known.is_some(), "the slots of a table are alive");
        }
    }
}

impl SparseRewind {
    /// # Safety
    ///
    /// As for [`Rewind::commit`].
    unsafe fn commit(&mut self, image: &Image, storage: &mut Storage) {
        let Storage { sparse, components, .. } = storage;
        let target = image.sparse.get(self.number as usize);
        let keys = KeyImage {
            bytes: target.map_or(&[][..], |target| target.keys.bytes()),
            changed: &self.keys,
            removal: self.removal,
            extra_rows: self.extra_rows,
        };
        let values = match &mut self.values {
            Some(ValuesRewind::Cloned { clones, .. }) => Some(clones.values_mut()),
            _ => None,
        };
        // SAFETY: everything was reserved for these keys. Values that need a drop are exchanged together with them, and
        // plain ones are written next.
        unsafe { sparse.rewrite_keys(self.number, keys, values) };
        match &mut self.values {
            Some(ValuesRewind::Plain(runs)) => {
                let arrays = target.map_or(&[][..], |target| target.column.arrays());
                let one = sparse.get(self.number);
                // SAFETY: the arrays are those of the storage, which has capacity for all rows.
                unsafe { write_plain(arrays, runs, one.values().lanes(), components.info(one.id)) };
            }
            // SAFETY: the lanes have the old values of the storage, in the rows with a bit.
            Some(ValuesRewind::Cloned { clones, old }) => unsafe { clones.set_rows(core::mem::take(old)) },
            None => {}
        }
    }
}

/// Returns the entities that differ between the world and the image, in the slots that are to be written.
fn try_report(image: &Image, words: &[Range<u32>], storage: &Storage) -> Result<RollbackReport, AllocError> {
    let slots = storage.entities.slot_count() as u32;
    let beyond = image.words.rows().min(slots)..slots;
    let mut report = RollbackReport::default();
    for index in words.iter().cloned().chain([beyond]).flatten() {
        let now = storage.entities.get(index);
        let then = image.words.word(index).filter(|word| word & (DEAD | super::validate::ROW) == 0);
        let then = then.and_then(|word| Entity::from_bits(u64::from(word) << 32 | u64::from(index)));
        for (entity, other, list) in [(now, then, &mut report.removed), (then, now, &mut report.restored)] {
            if let Some(entity) = entity.filter(|entity| Some(*entity) != other) {
                try_reserve(list, 1)?;
                list.push(entity);
            }
        }
    }
    Ok(report)
}
