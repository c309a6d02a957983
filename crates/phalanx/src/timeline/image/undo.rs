//! [`ImageUndo`]: the difference between two captures, as the way back.
//!
//! An image is updated in two phases. The first finds what differs and copies what is new; it may fail. The second changes
//! the image and cannot fail.

use super::byte_array::{ByteArray, ByteUndo};
use super::column::{Column, ColumnRef, ValuesUndo};
use super::dirty::Dirty;
use super::{
    ColumnImage, ComponentImage, Image, Restored, SparseImage, SparseState, TableImage, check_clone, free_list_of,
    key_lane, keys_of, slots_of, state_of, version, words_of,
};
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::Time;
use crate::component::{ComponentId, Components};
use crate::sparse::{GroupImage, SparseStorage};
use crate::storage::Storage;
use crate::storage::table::Table;
use crate::timeline::error::TimelineError;
use crate::world::World;
use core::mem::swap;
use phalanx_store::AllocError;

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
        sum += self.time.memory();
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
pub(super) struct Scope<'a> {
    pub(super) components: &'a Components,
    /// Whether the dirty bits of the lanes cover all writes since the image was up to date.
    pub(super) marked: bool,
    /// Whether entities, rows or keys may have changed.
    pub(super) restructured: bool,
}

impl Scope<'_> {
    /// Returns what has to be compared, given what the dirty bits say.
    pub(super) fn dirty<'d>(&self, dirty: Dirty<'d>) -> Dirty<'d> {
        if self.marked { dirty } else { Dirty::Any }
    }
}

impl TableImage {
    /// Returns the chunks of slots that may differ from those of the table.
    pub(super) fn dirty_slots<'a>(&self, table: &'a Table, scope: Scope<'_>) -> Dirty<'a> {
        match scope.restructured {
            true => scope.dirty(Dirty::since(table.entities.lane(), self.seen, None)),
            false => Dirty::NONE,
        }
    }

    /// Returns the chunks of a column that may differ from those of the table.
    pub(super) fn dirty_column<'a>(&self, at: usize, table: &'a Table, scope: Scope<'a>) -> Dirty<'a> {
        let (image, column) = (&self.columns[at], ColumnRef::of_table(table, at, scope.components));
        let dirty = match image.id {
            // The links of an extra row change with its neighbours.
            ComponentId::ROW if scope.restructured => Dirty::Any,
            _ if column.lacks_dirty_bits() => Dirty::Any,
            _ => {
                let values = column.first_lane().map(|lane| (lane, image.seen));
                Dirty::since(table.entities.lane(), self.seen, values)
            }
        };
        scope.dirty(dirty)
    }

    /// Returns the way back from the present state of the table, if it differs.
    fn try_diff(&mut self, number: u32, table: &Table, scope: Scope<'_>) -> Result<Option<TableUndo>, AllocError> {
        let mut undo = TableUndo { table: number, stamp: table.stamp, slots: None, columns: Vec::new() };
        if scope.restructured {
            let dirty = self.dirty_slots(table, scope);
            undo.slots = self.slots.try_diff(slots_of(table), dirty)?;
        }
        for at in 0..self.columns.len() {
            let column = ColumnRef::of_table(table, at, scope.components);
            let dirty = self.dirty_column(at, table, scope);
            let image = &mut self.columns[at];
            let values = image.column.try_diff(column, dirty, undo.slots.is_some())?;
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
    /// Returns the chunks of keys that may differ from those of the storage.
    pub(super) fn dirty_keys<'a>(&self, storage: &'a SparseStorage, scope: Scope<'_>) -> Dirty<'a> {
        match scope.restructured {
            true => scope.dirty(Dirty::since(key_lane(storage), self.seen[0], None)),
            false => Dirty::NONE,
        }
    }

    /// Returns the chunks of values that may differ from those of the storage.
    pub(super) fn dirty_values<'a>(&self, storage: &'a SparseStorage, scope: Scope<'_>) -> Dirty<'a> {
        let (key_lane, [keys_seen, values_seen]) = (key_lane(storage), self.seen);
        let values = storage.values().lanes().first().map(|lane| (lane, values_seen));
        let dirty = match (&self.state, values) {
            // A chunk of words is not a chunk of values there; the values have dirty bits of their own.
            (SparseState::Linear { .. }, Some((lane, seen))) if key_lane.version() == keys_seen => {
                Dirty::since(lane, seen, None)
            }
            _ => Dirty::since(key_lane, keys_seen, values),
        };
        let lacks_dirty_bits = ColumnRef::with_sparse(storage, scope.components, |column| column.lacks_dirty_bits());
        if lacks_dirty_bits { Dirty::Any } else { scope.dirty(dirty) }
    }

    /// Returns the way back from the present state of the storage, if it differs.
    fn try_diff(
        &mut self,
        number: u32,
        storage: &SparseStorage,
        scope: Scope<'_>,
    ) -> Result<Option<SparseUndo>, AllocError> {
        let mut keys = None;
        if scope.restructured {
            let dirty = self.dirty_keys(storage, scope);
            keys = self.keys.try_diff(keys_of(storage), dirty)?;
        }
        let dirty = self.dirty_values(storage, scope);
        let (moved, image) = (keys.is_some(), &mut self.column);
        let (values, tick) = ColumnRef::with_sparse(storage, scope.components, |column| {
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

fn restore_bytes(array: &mut ByteArray, undo: &Option<ByteUndo>) {
    if let Some(undo) = undo {
        array.restore(undo);
    }
}

/// The tables and storages that an earlier state does not have. The caller drops them last.
#[derive(Debug, Default)]
pub(in crate::timeline) struct RemovedImages {
    tables: Vec<TableImage>,
    sparse: Vec<SparseImage>,
}

impl Image {
    /// Updates the image to the state of its world, and returns the way back.
    ///
    /// `marked` is `true` if the dirty bits of the lanes cover all writes since the image was up to date. Tables and sparse
    /// storages have the same numbers as in the image.
    pub(in crate::timeline) fn try_update(&mut self, world: &World, marked: bool) -> Result<ImageUndo, TimelineError> {
        let storage = &world.storage;
        let restructured = !marked || self.is_restructured(storage);
        if restructured {
            check_clone(storage)?;
        }
        if self.components.len() < storage.components.len() {
            self.components = ComponentImage::try_list(&storage.components)?;
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

    /// Returns `true` if entities, rows or keys may have changed since the image was up to date.
    pub(super) fn is_restructured(&self, storage: &Storage) -> bool {
        // The order of free slots changes without a structural change, too.
        self.epoch != storage.epoch() || self.seen != storage.entities.versions()
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
            time: storage.sparse.clock.try_time()?,
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

    /// Reserves what [`restore_from`](Image::restore_from) needs, for the same records.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing has changed.
    pub(in crate::timeline) fn try_prepare_restore<'a>(
        &mut self,
        undos: impl Iterator<Item = &'a ImageUndo> + Clone,
    ) -> Result<RemovedImages, AllocError> {
        self.begin_restore();
        let first = undos.clone().next();
        let counts = first.map_or((self.tables.len(), self.sparse.len()), |undo| (undo.table_count, undo.sparse_count));
        let removed = RemovedImages {
            tables: try_vec(self.tables.len() - counts.0)?,
            sparse: try_vec(self.sparse.len() - counts.1)?,
        };
        undos.into_iter().try_for_each(|undo| self.try_reserve_restore(undo))?;
        self.begin_restore();
        Ok(removed)
    }

    /// Restores an earlier state from the undo records since then, the oldest first.
    ///
    /// What that state does not have is left in the records and in `removed`, so that the caller drops it last.
    pub(in crate::timeline) fn restore_from<'a>(
        &mut self,
        undos: impl Iterator<Item = &'a mut ImageUndo>,
        removed: &mut RemovedImages,
    ) {
        let mut groups_restored = false;
        for (at, undo) in undos.enumerate() {
            if at == 0 {
                self.reserved = undo.reserved;
                swap(&mut self.time, &mut undo.time);
                removed.tables.extend(self.tables.drain(undo.table_count..));
                removed.sparse.extend(self.sparse.drain(undo.sparse_count..));
            }
            self.restore(undo, &mut groups_restored);
        }
    }

    /// Returns a copy in an earlier state, given the undo records since then, the oldest first.
    ///
    /// The chunks of its arrays that differ from those of this image are marked as restored.
    pub(in crate::timeline) fn try_clone_at<'a>(
        &self,
        undos: impl Iterator<Item = &'a ImageUndo> + Clone,
        components: &Components,
    ) -> Result<Image, AllocError> {
        let first = undos.clone().next();
        let (table_count, sparse_count) =
            first.map_or((self.tables.len(), self.sparse.len()), |undo| (undo.table_count, undo.sparse_count));
        let bytes = |own: &ByteArray, undo: &dyn Fn(&'a ImageUndo) -> Option<&'a ByteUndo>| {
            let mut copy = own.try_clone()?;
            undos.clone().filter_map(undo).try_for_each(|undo| copy.try_reserve_restore(undo))?;
            copy.begin_restore();
            undos.clone().filter_map(undo).for_each(|undo| copy.restore(undo));
            Ok::<_, AllocError>(copy)
        };
        let values = |own: &Column, id, undo: &dyn Fn(&'a ImageUndo) -> Option<&'a ValuesUndo>| match own {
            Column::Plain(arrays) => {
                let mut copies = try_vec(arrays.len())?;
                for (at, array) in arrays.iter().enumerate() {
                    copies.push(bytes(array, &|one| match undo(one)? {
                        ValuesUndo::Plain(undos) => undos.get(at)?.as_ref(),
                        ValuesUndo::Cloned(_) => None,
                    })?);
                }
                Ok::<_, AllocError>(Column::Plain(copies))
            }
            Column::Cloned(clones) => {
                let oldest = undos.clone().find_map(|one| match undo(one)? {
                    ValuesUndo::Cloned(clones) => Some(clones),
                    ValuesUndo::Plain(_) => None,
                });
                Ok(Column::Cloned(oldest.unwrap_or(clones).try_copy(components.info(id))?))
            }
        };
        let mut tables = try_vec(table_count)?;
        for (number, table) in (0..).zip(&self.tables[..table_count]) {
            let of = move |undo: &'a ImageUndo| undo.tables.iter().find(|undo| undo.table == number);
            let mut columns = try_vec(table.columns.len())?;
            for (at, image) in (0..).zip(&table.columns) {
                let of = move |undo: &'a ImageUndo| of(undo)?.columns.iter().find(|undo| undo.at == at);
                columns.push(ColumnImage {
                    restored: Restored::default(),
                    id: image.id,
                    column: values(&image.column, image.id, &|undo| of(undo)?.values.as_ref())?,
                    seen: image.seen,
                    tick: undos.clone().find_map(of).map_or(image.tick, |undo| undo.tick),
                });
            }
            tables.push(TableImage {
                is_restored: false,
                signature: table.signature.try_clone()?,
                slots: bytes(&table.slots, &|undo| of(undo)?.slots.as_ref())?,
                seen: table.seen,
                columns,
                stamp: undos.clone().find_map(of).map_or(table.stamp, |undo| undo.stamp),
            });
        }
        let mut sparse = try_vec(sparse_count)?;
        for (number, image) in (0..).zip(&self.sparse[..sparse_count]) {
            let of = move |undo: &'a ImageUndo| undo.sparse.iter().find(|undo| undo.number == number);
            let oldest = undos.clone().find_map(of);
            sparse.push(SparseImage {
                restored: Restored::default(),
                id: image.id,
                keys: bytes(&image.keys, &|undo| of(undo)?.keys.as_ref())?,
                column: values(&image.column, image.id, &|undo| of(undo)?.values.as_ref())?,
                state: oldest.map_or(&image.state, |undo| &undo.state).clone(),
                tick: oldest.map_or(image.tick, |undo| undo.tick),
                seen: image.seen,
            });
        }
        Ok(Image {
            registry_id: self.registry_id,
            world: self.world,
            epoch: self.epoch,
            words: bytes(&self.words, &|undo| undo.words.as_ref())?,
            free_list: bytes(&self.free_list, &|undo| undo.free_list.as_ref())?,
            reserved: first.map_or(self.reserved, |undo| undo.reserved),
            seen: self.seen,
            tables,
            sparse,
            groups: undos.clone().find_map(|undo| undo.groups.as_ref()).unwrap_or(&self.groups).try_clone()?,
            time: first.map_or(&self.time, |undo| &undo.time).try_clone()?,
            components: ComponentImage::try_list(components)?,
            keeps_sums: false,
        })
    }

    /// Forgets what was restored.
    pub(in crate::timeline) fn begin_restore(&mut self) {
        self.for_each_array(ByteArray::begin_restore);
        for table in &mut self.tables {
            table.is_restored = false;
            table.columns.iter_mut().for_each(|column| column.restored = Restored::default());
        }
        self.sparse.iter_mut().for_each(|sparse| sparse.restored = Restored::default());
    }

    /// Calls a function with each array.
    pub(super) fn for_each_array(&mut self, mut each: impl FnMut(&mut ByteArray)) {
        each(&mut self.words);
        each(&mut self.free_list);
        for table in &mut self.tables {
            each(&mut table.slots);
            table.columns.iter_mut().for_each(|image| image.column.arrays_mut().iter_mut().for_each(&mut each));
        }
        for sparse in &mut self.sparse {
            each(&mut sparse.keys);
            sparse.column.arrays_mut().iter_mut().for_each(&mut each);
        }
    }

    fn try_reserve_restore(&mut self, undo: &ImageUndo) -> Result<(), AllocError> {
        let reserve = |array: &mut ByteArray, undo: &Option<ByteUndo>| match undo {
            Some(undo) => array.try_reserve_restore(undo),
            None => Ok(()),
        };
        let reserve_values = |column: &mut Column, undo: &Option<ValuesUndo>| match undo {
            Some(ValuesUndo::Plain(undos)) => {
                column.arrays_mut().iter_mut().zip(undos).try_for_each(|(array, undo)| reserve(array, undo))
            }
            _ => Ok(()),
        };
        reserve(&mut self.words, &undo.words)?;
        reserve(&mut self.free_list, &undo.free_list)?;
        for undo in &undo.tables {
            let image = &mut self.tables[undo.table as usize];
            reserve(&mut image.slots, &undo.slots)?;
            for undo in &undo.columns {
                reserve_values(&mut image.columns[undo.at as usize].column, &undo.values)?;
            }
        }
        for undo in &undo.sparse {
            let image = &mut self.sparse[undo.number as usize];
            reserve(&mut image.keys, &undo.keys)?;
            reserve_values(&mut image.column, &undo.values)?;
        }
        Ok(())
    }

    /// Restores what a record has and no earlier one had.
    fn restore(&mut self, undo: &mut ImageUndo, groups_restored: &mut bool) {
        restore_bytes(&mut self.words, &undo.words);
        restore_bytes(&mut self.free_list, &undo.free_list);
        for undo in &mut undo.tables {
            // Tables that were added since are removed already.
            let Some(image) = self.tables.get_mut(undo.table as usize) else { continue };
            if !core::mem::replace(&mut image.is_restored, true) {
                image.stamp = undo.stamp;
            }
            restore_bytes(&mut image.slots, &undo.slots);
            for ColumnUndo { at, values, tick } in &mut undo.columns {
                let image = &mut image.columns[*at as usize];
                if let Some(values) = values {
                    image.column.restore(values, &mut image.restored.clones);
                }
                if !core::mem::replace(&mut image.restored.state, true) {
                    image.tick = *tick;
                }
            }
        }
        for undo in &mut undo.sparse {
            let Some(image) = self.sparse.get_mut(undo.number as usize) else { continue };
            restore_bytes(&mut image.keys, &undo.keys);
            if let Some(values) = &mut undo.values {
                image.column.restore(values, &mut image.restored.clones);
            }
            if !core::mem::replace(&mut image.restored.state, true) {
                (image.state, image.tick) = (undo.state.clone(), undo.tick);
            }
        }
        if let Some(groups) = undo.groups.as_mut().filter(|_| !*groups_restored) {
            swap(&mut self.groups, groups);
            *groups_restored = true;
        }
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
