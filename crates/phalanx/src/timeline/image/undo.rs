//! [`ImageUndo`]: the difference between two captures, as the way back.
//!
//! An image is updated in two phases. The first finds what differs and copies what is new; it may fail. The second changes
//! the image and cannot fail.

use super::byte_array::{ByteArray, ByteUndo};
use super::column::{ColumnRef, ValuesUndo};
use super::dirty::Dirty;
use super::{
    ColumnImage, Image, SparseImage, SparseState, TableImage, check_clone, free_list_of, key_lane, keys_of, slots_of,
    state_of, version, words_of,
};
use crate::alloc::try_reserve;
use crate::change_detection::Time;
use crate::component::{ComponentId, Components};
use crate::sparse::{GroupImage, SparseStorage};
use crate::storage::Storage;
use crate::storage::table::Table;
use crate::timeline::error::TimelineError;
use crate::world::World;
use core::mem::swap;
use phalanx_store::AllocError;
use phalanx_store::raw::DropGuard;

/// The way from an image back to the capture before it.
#[derive(Debug)]
pub(in crate::timeline) struct ImageUndo {
    reserved: [u32; 2],
    words: Option<ByteUndo>,
    free_list: Option<ByteUndo>,
    tables: Vec<TableUndo>,
    table_count: usize,
    sparse: Vec<SparseUndo>,
    sparse_count: usize,
    groups: Option<GroupImage>,
    time: Time,
}

#[derive(Debug)]
struct TableUndo {
    table: u32,
    stamp: u64,
    slots: Option<ByteUndo>,
    columns: Vec<ColumnUndo>,
}

#[derive(Debug)]
struct ColumnUndo {
    at: u32,
    values: Option<ValuesUndo>,
    tick: u64,
}

#[derive(Debug)]
struct SparseUndo {
    number: u32,
    keys: Option<ByteUndo>,
    values: Option<ValuesUndo>,
    state: SparseState,
    tick: u64,
}

impl ImageUndo {
    /// Returns the number of bytes that are allocated, without what clones own.
    pub(in crate::timeline) fn memory(&self) -> usize {
        let bytes = |undo: &Option<ByteUndo>| undo.as_ref().map_or(0, ByteUndo::memory);
        let values = |undo: &Option<ValuesUndo>| undo.as_ref().map_or(0, ValuesUndo::memory);
        let mut sum = bytes(&self.words) + bytes(&self.free_list) + self.groups.as_ref().map_or(0, GroupImage::bytes);
        for table in &self.tables {
            sum += bytes(&table.slots) + table.columns.iter().map(|column| values(&column.values)).sum::<usize>();
            sum += table.columns.capacity() * size_of::<ColumnUndo>();
        }
        sum += self.sparse.iter().map(|sparse| bytes(&sparse.keys) + values(&sparse.values)).sum::<usize>();
        sum + self.tables.capacity() * size_of::<TableUndo>() + self.sparse.capacity() * size_of::<SparseUndo>()
    }
}

/// What a comparison may rely on.
#[derive(Clone, Copy)]
struct Scope<'a> {
    components: &'a Components,
    /// Whether the dirty bits of the lanes cover all writes since the image was up to date.
    marked: bool,
    /// Whether entities, rows or keys may have changed.
    restructured: bool,
}

impl Scope<'_> {
    /// Returns what has to be compared, given what the dirty bits say.
    fn dirty<'d>(&self, dirty: Dirty<'d>) -> Dirty<'d> {
        if self.marked { dirty } else { Dirty::Any }
    }
}

impl TableImage {
    /// Returns the way back from the present state of the table, if it differs.
    fn try_diff(&mut self, number: u32, table: &Table, scope: Scope<'_>) -> Result<Option<TableUndo>, AllocError> {
        let entities = table.entities.lane();
        let mut undo = TableUndo { table: number, stamp: table.stamp, slots: None, columns: Vec::new() };
        if scope.restructured {
            let dirty = scope.dirty(Dirty::since(entities, self.seen, None));
            undo.slots = self.slots.try_diff(slots_of(table), dirty)?;
        }
        for (at, image) in self.columns.iter_mut().enumerate() {
            let column = ColumnRef::of_table(table, at, scope.components);
            let dirty = match image.id {
                // The links of an extra row change with its neighbours.
                ComponentId::ROW if scope.restructured => Dirty::Any,
                _ if column.lacks_dirty_bits() => Dirty::Any,
                _ => Dirty::since(entities, self.seen, column.first_lane().map(|lane| (lane, image.seen))),
            };
            let values = image.column.try_diff(column, scope.dirty(dirty), undo.slots.is_some())?;
            let tick = column.tick();
            if values.is_some() || tick != image.tick {
                try_reserve(&mut undo.columns, 1)?;
                undo.columns.push(ColumnUndo { at: at as u32, values, tick });
            }
        }
        let differs = undo.slots.is_some() || !undo.columns.is_empty() || undo.stamp != self.stamp;
        Ok(differs.then_some(undo))
    }
}

impl SparseImage {
    /// Returns the way back from the present state of the storage, if it differs.
    fn try_diff(
        &mut self,
        number: u32,
        storage: &SparseStorage,
        scope: Scope<'_>,
    ) -> Result<Option<SparseUndo>, AllocError> {
        let (key_lane, [keys_seen, values_seen]) = (key_lane(storage), self.seen);
        let mut keys = None;
        if scope.restructured {
            keys = self.keys.try_diff(keys_of(storage), scope.dirty(Dirty::since(key_lane, keys_seen, None)))?;
        }
        let values = storage.values().lanes().first().map(|lane| (lane, values_seen));
        let dirty = match (&self.state, values) {
            // A chunk of words is not a chunk of values there; the values have dirty bits of their own.
            (SparseState::Linear { .. }, Some((lane, seen))) if key_lane.version() == keys_seen => {
                Dirty::since(lane, seen, None)
            }
            _ => Dirty::since(key_lane, keys_seen, values),
        };
        let (moved, image) = (keys.is_some(), &mut self.column);
        let (values, tick) = ColumnRef::with_sparse(storage, scope.components, |column| {
            let dirty = if column.lacks_dirty_bits() { Dirty::Any } else { scope.dirty(dirty) };
            Ok::<_, AllocError>((image.try_diff(column, dirty, moved)?, column.tick()))
        })?;
        let state = state_of(storage);
        let differs = moved || values.is_some() || state != self.state || tick != self.tick;
        Ok(differs.then_some(SparseUndo { number, keys, values, state, tick }))
    }
}

fn commit_bytes<'a>(
    array: &mut ByteArray,
    source: impl FnOnce() -> super::ByteSource<'a>,
    undo: &mut Option<ByteUndo>,
) {
    if let Some(undo) = undo {
        array.commit(source(), undo);
    }
}

fn undo_bytes(array: &mut ByteArray, undo: &mut Option<ByteUndo>) {
    if let Some(undo) = undo {
        array.undo(undo);
    }
}

impl Image {
    /// Updates the image to the state of its world, and returns the way back.
    ///
    /// `marked` is `true` if the dirty bits of the lanes cover all writes since the image was up to date. Tables and sparse
    /// storages have the same numbers as in the image.
    pub(in crate::timeline) fn try_update(&mut self, world: &World, marked: bool) -> Result<ImageUndo, TimelineError> {
        let storage = &world.storage;
        let restructured = !marked || self.epoch != storage.epoch();
        if restructured {
            check_clone(storage)?;
        }
        let mut undo = self.try_diff(storage, marked, restructured)?;
        let (tables, sparse) = self.try_copy_added(storage)?;
        if restructured && !storage.sparse.has_groups(&self.groups) {
            undo.groups = Some(storage.sparse.try_group_image()?);
        }
        self.commit(storage, &mut undo);
        self.set_seen(world);
        self.tables.extend(tables);
        self.sparse.extend(sparse);
        Ok(undo)
    }

    /// Returns the way back from the present state of the tables and storages that are in the image.
    fn try_diff(&mut self, storage: &Storage, marked: bool, restructured: bool) -> Result<ImageUndo, AllocError> {
        let scope = Scope { components: &storage.components, marked, restructured };
        let mut undo = ImageUndo {
            reserved: storage.entities.reservations(),
            words: None,
            free_list: None,
            tables: Vec::new(),
            table_count: self.tables.len(),
            sparse: Vec::new(),
            sparse_count: self.sparse.len(),
            groups: None,
            time: storage.sparse.clock.time(),
        };
        if restructured {
            let [words, free_list] = storage.entities.lanes();
            let dirty = scope.dirty(Dirty::since(words, self.seen[0], None));
            undo.words = self.words.try_diff(words_of(storage), dirty)?;
            let dirty = scope.dirty(Dirty::since(free_list, self.seen[1], None));
            undo.free_list = self.free_list.try_diff(free_list_of(storage), dirty)?;
        }
        for (number, (image, table)) in (0..).zip(self.tables.iter_mut().zip(&storage.tables)) {
            if let Some(differing) = image.try_diff(number, table, scope)? {
                try_reserve(&mut undo.tables, 1)?;
                undo.tables.push(differing);
            }
        }
        for (number, (image, sparse)) in (0..).zip(self.sparse.iter_mut().zip(storage.sparse.iter())) {
            if let Some(differing) = image.try_diff(number, sparse, scope)? {
                try_reserve(&mut undo.sparse, 1)?;
                undo.sparse.push(differing);
            }
        }
        Ok(undo)
    }

    /// Copies what differs.
    fn commit(&mut self, storage: &Storage, undo: &mut ImageUndo) {
        swap(&mut self.reserved, &mut undo.reserved);
        commit_bytes(&mut self.words, || words_of(storage), &mut undo.words);
        commit_bytes(&mut self.free_list, || free_list_of(storage), &mut undo.free_list);
        for undo in &mut undo.tables {
            let (image, table) = (&mut self.tables[undo.table as usize], &storage.tables[undo.table as usize]);
            swap(&mut image.stamp, &mut undo.stamp);
            commit_bytes(&mut image.slots, || slots_of(table), &mut undo.slots);
            for ColumnUndo { at, values, tick } in &mut undo.columns {
                let image = &mut image.columns[*at as usize];
                if let Some(values) = values {
                    image.column.commit(ColumnRef::of_table(table, *at as usize, &storage.components), values);
                }
                swap(&mut image.tick, tick);
            }
        }
        for undo in &mut undo.sparse {
            let (image, from) = (&mut self.sparse[undo.number as usize], storage.sparse.get(undo.number));
            commit_bytes(&mut image.keys, || keys_of(from), &mut undo.keys);
            if let Some(values) = &mut undo.values {
                ColumnRef::with_sparse(from, &storage.components, |column| image.column.commit(column, values));
            }
            swap(&mut image.state, &mut undo.state);
            swap(&mut image.tick, &mut undo.tick);
        }
        if let Some(groups) = &mut undo.groups {
            swap(&mut self.groups, groups);
        }
        swap(&mut self.time, &mut undo.time);
    }

    /// Stores the versions of all lanes: the image equals the world.
    pub(in crate::timeline) fn set_seen(&mut self, world: &World) {
        let storage = &world.storage;
        (self.world, self.epoch, self.seen) = (world.id(), storage.epoch(), storage.entities.versions());
        for (image, table) in self.tables.iter_mut().zip(&storage.tables) {
            image.seen = table.entities.lane().version();
            for (at, column) in image.columns.iter_mut().enumerate() {
                column.seen = version(ColumnRef::of_table(table, at, &storage.components).first_lane());
            }
        }
        for (image, sparse) in self.sparse.iter_mut().zip(storage.sparse.iter()) {
            image.seen = [key_lane(sparse).version(), version(sparse.values().lanes().first())];
        }
    }

    /// Returns to the earlier state. Values are dropped last, after the image is restored.
    pub(in crate::timeline) fn undo(&mut self, undo: &mut ImageUndo) {
        (self.reserved, self.time) = (undo.reserved, undo.time);
        undo_bytes(&mut self.words, &mut undo.words);
        undo_bytes(&mut self.free_list, &mut undo.free_list);
        for undo in &mut undo.tables {
            let image = &mut self.tables[undo.table as usize];
            image.stamp = undo.stamp;
            undo_bytes(&mut image.slots, &mut undo.slots);
            for ColumnUndo { at, values, tick } in &mut undo.columns {
                let image = &mut image.columns[*at as usize];
                if let Some(values) = values {
                    image.column.undo(values);
                }
                image.tick = *tick;
            }
        }
        for undo in &mut undo.sparse {
            let image = &mut self.sparse[undo.number as usize];
            undo_bytes(&mut image.keys, &mut undo.keys);
            if let Some(values) = &mut undo.values {
                image.column.undo(values);
            }
            image.state = undo.state.clone();
            image.tick = undo.tick;
        }
        if let Some(groups) = &mut undo.groups {
            swap(&mut self.groups, groups);
        }
        // Both lists are cut, also if a destructor panics.
        let _tables = DropGuard::new(&mut self.tables, |tables| tables.truncate(undo.table_count));
        self.sparse.truncate(undo.sparse_count);
    }

    /// Returns `true` if the image equals the world. Clones are not compared.
    pub(in crate::timeline) fn try_equals(&mut self, storage: &Storage) -> Result<bool, AllocError> {
        let undo = self.try_diff(storage, false, true)?;
        let is_plain = |values: &Option<ValuesUndo>| matches!(values, Some(ValuesUndo::Plain(_)));
        let differs = |column: &ColumnUndo, image: &ColumnImage| is_plain(&column.values) || column.tick != image.tick;
        let tables = undo.tables.iter().any(|undo| {
            let image = &self.tables[undo.table as usize];
            let columns = || undo.columns.iter().any(|column| differs(column, &image.columns[column.at as usize]));
            undo.slots.is_some() || undo.stamp != image.stamp || columns()
        });
        let sparse = undo.sparse.iter().any(|undo| {
            undo.keys.is_some() || is_plain(&undo.values) || undo.tick != self.sparse[undo.number as usize].tick
        });
        Ok(undo.words.is_none()
            && undo.free_list.is_none()
            && !tables
            && !sparse
            && storage.sparse.has_groups(&self.groups))
    }
}
