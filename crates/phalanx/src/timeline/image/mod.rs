//! [`Image`]: a copy of the state of a world.
//!
//! # Representation
//!
//! An image has the words and the free list of the entity allocator, the signature, slots and columns of each table, the
//! keys and values of each sparse storage, and the groups. Locations, indices, presence masks and names of extra rows follow
//! from these. They are computed when a world is restored.
//!
//! `seen` fields are the versions of lanes at the last comparison. Together with the dirty bits of the lanes they tell what may
//! have changed since, if the world's [tracker](crate::storage::Storage::tracker) is the timeline that the image belongs to.
#![allow(unsafe_code)]

mod byte_array;
mod chunk_sums;
mod column;
mod dirty;
mod restore;
mod rewind;
mod sums;
mod undo;
mod validate;

pub(super) use byte_array::ByteArray;
pub(super) use chunk_sums::{chunk_sum, scatter};
pub(super) use column::Column;
pub(super) use rewind::Rewind;
pub(super) use undo::ImageUndo;

use super::error::TimelineError;
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::{Time, Track};
use crate::checksum::Sum;
use crate::component::{ComponentId, ComponentInfo, Components};
use crate::signature::Signature;
use crate::sparse::{GroupImage, SparseSetState, SparseStorage, Store};
use crate::storage::Storage;
use crate::storage::table::{Epoch, Table};
use crate::world::World;
use byte_array::ByteSource;
use column::ColumnRef;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};

/// Set in the word of a dead slot, and in the generation of a hole of a sparse set.
pub(super) const DEAD: u32 = 1 << 31;

/// A copy of the state of a world.
#[derive(Debug)]
pub(super) struct Image {
    /// The number of the set of component ids. A world keeps it as long as it lives.
    pub(super) registry_id: u64,
    /// The id of the world. It changes when tables are renumbered.
    pub(super) world: u64,
    pub(super) epoch: Epoch,
    /// The word of each slot.
    pub(super) words: ByteArray,
    pub(super) free_list: ByteArray,
    pub(super) reserved: [u32; 2],
    pub(super) seen: [u64; 2],
    pub(super) tables: Vec<TableImage>,
    pub(super) sparse: Vec<SparseImage>,
    pub(super) groups: GroupImage,
    pub(super) time: Time,
    /// The components of the world, by id.
    pub(super) components: Vec<ComponentImage>,
    /// Whether arrays keep the sums of their chunks.
    pub(super) keeps_sums: bool,
}

/// The properties of a component that images and deltas depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComponentImage {
    /// Identifies the component in other worlds.
    pub(super) fingerprint: u64,
    pub(super) name: &'static str,
    /// Whether the values are plain. Those of extra rows are validated separately.
    pub(super) is_plain: bool,
    /// The position in the canonical order when the image was made.
    pub(super) rank: u32,
    /// The number of lanes, without those of change ticks.
    pub(super) lanes: usize,
    pub(super) track: Track,
}

impl ComponentImage {
    /// Returns the components of a world, by id.
    fn try_list(components: &Components) -> Result<Vec<ComponentImage>, AllocError> {
        let mut list = try_vec(components.len())?;
        list.extend(components.iter().map(|(id, info)| ComponentImage::new(id, info, components)));
        Ok(list)
    }

    fn new(id: ComponentId, info: &ComponentInfo, components: &Components) -> ComponentImage {
        ComponentImage {
            fingerprint: fingerprint(info),
            name: info.name(),
            is_plain: is_plain(id, info),
            rank: components.rank(id),
            lanes: info.value_lanes(),
            track: info.track,
        }
    }
}

/// Returns a number that identifies a component in other worlds.
fn fingerprint(info: &ComponentInfo) -> u64 {
    let mut sum = Sum::default();
    sum.add(info.name().as_bytes());
    sum.number(info.kind() as u64);
    for lane in info.lanes() {
        sum.number(lane.size() as u64);
        sum.number(lane.align() as u64);
    }
    sum.number(info.bytes.schema);
    sum.finish()
}

/// Returns `true` if the values of a component can be written as bytes, and read back from bytes that are validated.
pub(super) fn is_plain(id: ComponentId, info: &ComponentInfo) -> bool {
    info.bytes.is_plain() || id == ComponentId::ROW
}

/// A copy of a table.
#[derive(Debug)]
pub(super) struct TableImage {
    /// Whether an undo record has restored the stamp.
    pub(super) is_restored: bool,
    pub(super) signature: Signature,
    pub(super) slots: ByteArray,
    pub(super) seen: u64,
    pub(super) columns: Vec<ColumnImage>,
    /// Tables are visited in the order of their stamps.
    pub(super) stamp: u64,
}

/// A copy of a column of a table.
#[derive(Debug)]
pub(super) struct ColumnImage {
    /// Whether an undo record has restored the tick, and clones.
    pub(super) restored: Restored,
    pub(super) id: ComponentId,
    pub(super) column: Column,
    /// The version of the first lane.
    pub(super) seen: u64,
    /// The change tick of the column, or 0.
    pub(super) tick: u64,
}

/// What undo records have restored of a column or storage, beside arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restored {
    /// The change tick, and the state of a storage.
    state: bool,
    /// The clones.
    clones: bool,
}

/// A copy of a sparse storage.
#[derive(Debug)]
pub(super) struct SparseImage {
    pub(super) restored: Restored,
    pub(super) id: ComponentId,
    pub(super) keys: ByteArray,
    pub(super) column: Column,
    pub(super) state: SparseState,
    /// The change tick of the storage, or 0.
    pub(super) tick: u64,
    pub(super) seen: [u64; 2],
}

/// The state of a sparse storage beside its keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SparseState {
    Pool(SparseSetState),
    Linear { rows: u32 },
}

fn words_of(storage: &Storage) -> ByteSource<'_> {
    ByteSource::words(&storage.entities)
}

fn free_list_of(storage: &Storage) -> ByteSource<'_> {
    ByteSource::packed(crate::plain::bytes_of(storage.entities.free_list()), size_of::<u32>())
}

fn slots_of(table: &Table) -> ByteSource<'_> {
    ByteSource::packed(crate::plain::bytes_of(table.slots()), size_of::<Entity>())
}

fn keys_of(storage: &SparseStorage) -> ByteSource<'_> {
    let (ptr, rows, row_size) = storage.store.key_bytes();
    // SAFETY: the keys or words of the storage, which is borrowed. They are initialised and have no padding.
    ByteSource::packed(unsafe { core::slice::from_raw_parts(ptr, rows as usize * row_size) }, row_size)
}

fn state_of(storage: &SparseStorage) -> SparseState {
    match &storage.store {
        Store::Pool(pool) => SparseState::Pool(pool.state()),
        Store::Linear(linear) => SparseState::Linear { rows: linear.extra_rows },
    }
}

/// Returns the lane of the keys of a sparse set, or of the presence bits of a linear storage.
fn key_lane(storage: &SparseStorage) -> &Lane {
    match &storage.store {
        Store::Pool(pool) => pool.dense.key_lane(),
        Store::Linear(linear) => linear.bits_lane(),
    }
}

fn version(lane: Option<&Lane>) -> u64 {
    lane.map_or(0, Lane::version)
}

impl TableImage {
    fn try_new(table: &Table, components: &Components) -> Result<TableImage, AllocError> {
        let mut columns = try_vec(table.columns.len())?;
        for at in 0..table.columns.len() {
            let column = ColumnRef::of_table(table, at, components);
            columns.push(ColumnImage {
                restored: Restored::default(),
                id: table.columns[at].id,
                column: Column::try_new(column)?,
                seen: version(column.first_lane()),
                tick: column.tick(),
            });
        }
        Ok(TableImage {
            is_restored: false,
            signature: table.signature.try_clone()?,
            slots: ByteArray::try_new(slots_of(table))?,
            seen: table.entities.lane().version(),
            columns,
            stamp: table.stamp,
        })
    }

    fn memory(&self) -> usize {
        let columns = self.columns.iter().map(|image| image.column.memory()).sum::<usize>();
        self.slots.memory() + columns + self.columns.capacity() * size_of::<ColumnImage>()
    }
}

impl SparseImage {
    fn try_new(storage: &SparseStorage, components: &Components) -> Result<SparseImage, AllocError> {
        Ok(SparseImage {
            restored: Restored::default(),
            id: storage.id,
            keys: ByteArray::try_new(keys_of(storage))?,
            column: ColumnRef::with_sparse(storage, components, Column::try_new)?,
            state: state_of(storage),
            tick: ColumnRef::with_sparse(storage, components, |column| column.tick()),
            seen: [key_lane(storage).version(), version(storage.values().lanes().first())],
        })
    }

    fn memory(&self) -> usize {
        self.keys.memory() + self.column.memory()
    }
}

/// Checks that all values of a world can be copied.
///
/// # Errors
///
/// Returns [`TimelineError::NotClone`] with the first component whose values can be neither cloned nor copied.
fn check_clone(storage: &Storage) -> Result<(), TimelineError> {
    let tables = storage.tables.iter().filter(|table| table.len > 0);
    let in_tables = tables.flat_map(|table| table.columns.iter().map(|column| column.id));
    let sparse = storage.sparse.iter().filter(|storage| storage.len() > 0).map(|storage| storage.id);
    match in_tables.chain(sparse).map(|id| storage.components.info(id)).find(|info| !info.is_clone()) {
        Some(info) => Err(TimelineError::NotClone { component: info.name() }),
        None => Ok(()),
    }
}

impl Image {
    /// Copies the state of a world.
    pub(super) fn try_new(world: &World) -> Result<Image, TimelineError> {
        let storage = &world.storage;
        check_clone(storage)?;
        let components = ComponentImage::try_list(&storage.components)?;
        let mut image = Image {
            // First: ticks that are taken from now on are later than it.
            time: storage.sparse.clock.try_time()?,
            registry_id: storage.components.registry_id.number(),
            world: world.id(),
            epoch: storage.epoch(),
            words: ByteArray::try_new(words_of(storage))?,
            free_list: ByteArray::try_new(free_list_of(storage))?,
            reserved: storage.entities.reservations(),
            seen: storage.entities.versions(),
            tables: Vec::new(),
            sparse: Vec::new(),
            groups: storage.sparse.try_group_image()?,
            components,
            keeps_sums: false,
        };
        let (tables, sparse) = image.try_copy_added(storage)?;
        image.tables.extend(tables);
        image.sparse.extend(sparse);
        Ok(image)
    }

    /// Copies the tables and sparse storages that are not in the image yet, and reserves capacity for them in its lists.
    fn try_copy_added(&mut self, storage: &Storage) -> Result<(Vec<TableImage>, Vec<SparseImage>), AllocError> {
        let (tables, sparse) = (&storage.tables[self.tables.len()..], storage.sparse.iter().skip(self.sparse.len()));
        let (mut new_tables, mut new_sparse) = (try_vec(tables.len())?, try_vec(sparse.len())?);
        for table in tables {
            let mut image = TableImage::try_new(table, &storage.components)?;
            if self.keeps_sums {
                image.try_keep_sums(&storage.components)?;
            }
            new_tables.push(image);
        }
        for added in sparse {
            let mut image = SparseImage::try_new(added, &storage.components)?;
            if self.keeps_sums {
                image.try_keep_sums(&storage.components)?;
            }
            new_sparse.push(image);
        }
        try_reserve(&mut self.tables, new_tables.len())?;
        try_reserve(&mut self.sparse, new_sparse.len())?;
        Ok((new_tables, new_sparse))
    }

    /// Returns the number of bytes that are allocated, without what clones own.
    pub(super) fn memory(&self) -> usize {
        let tables = self.tables.iter().map(TableImage::memory).sum::<usize>();
        let sparse = self.sparse.iter().map(SparseImage::memory).sum::<usize>();
        let lists = self.tables.capacity() * size_of::<TableImage>()
            + self.sparse.capacity() * size_of::<SparseImage>()
            + self.components.capacity() * size_of::<ComponentImage>();
        let entities = self.words.memory() + self.free_list.memory();
        entities + tables + sparse + lists + self.groups.bytes() + self.time.memory()
    }
}
