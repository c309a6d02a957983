//! The state of a world, copied: what cannot be found out from the rest, and nothing else.
//!
//! # Representation
//!
//! The words and the stack of slots; by table the signature, the slots and the columns; by side who has a value, and the
//! values; the groups. Locations, indices, masks and names of rows follow from these, and are made when a world is made of
//! the image.
//!
//! `seen` are the versions of the lanes when they were looked at last. They, and the marks in the lanes, say what may have
//! changed since, if the world's [tracker](World::tracker) is the one that the image belongs to.
#![allow(unsafe_code)]

use super::array::{Array, Dirty, From, Source};
use super::column::{BundlePtr, Column};
use super::error::TimelineError;
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::{Time, Track};
use crate::checksum::Sum;
use crate::component::{ComponentId, Components};
use crate::signature::Signature;
use crate::sparse::{GroupImage, SparseSetState, SparseStorage, Store};
use crate::storage::table::{Epoch, Table};
use crate::world::World;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};

/// The state of a world.
#[derive(Debug)]
pub(super) struct Image {
    /// The set of component ids, which is the world's as long as it lives.
    pub(super) space: u64,
    /// The world's number for what it remembers by number: tables have other numbers under another.
    pub(super) world: u64,
    pub(super) epoch: Epoch,
    pub(super) words: Array,
    pub(super) stack: Array,
    pub(super) reserved: [u32; 2],
    pub(super) seen: [u64; 2],
    pub(super) tables: Vec<TableImage>,
    pub(super) sparse: Vec<SideImage>,
    pub(super) groups: GroupImage,
    pub(super) time: Time,
    /// By component id.
    pub(super) components: Vec<Known>,
}

/// What is known of a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// What it must be to be the same in another world.
    pub(super) print: u64,
    pub(super) name: &'static str,
    /// Whether its values are plain. Those of extra rows are checked apart.
    pub(super) is_plain: bool,
    /// The position in the canonical order when the image was made.
    pub(super) rank: u32,
    /// The number of lanes, without that of marks.
    pub(super) lanes: usize,
    pub(super) track: Track,
}

/// What a component must be to be the same in another world, in one number.
pub(super) fn fingerprint(info: &crate::component::ComponentInfo) -> u64 {
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

#[derive(Debug)]
pub(super) struct TableImage {
    pub(super) signature: Signature,
    pub(super) slots: Array,
    pub(super) seen: u64,
    pub(super) columns: Vec<ColumnImage>,
    /// The order in which tables are visited is that of their stamps.
    pub(super) stamp: u64,
}

#[derive(Debug)]
pub(super) struct ColumnImage {
    pub(super) id: ComponentId,
    pub(super) column: Column,
    /// The version of the first lane.
    pub(super) seen: u64,
    /// See [`BundlePtr::tick`].
    pub(super) tick: u64,
}

#[derive(Debug)]
pub(super) struct SideImage {
    pub(super) id: ComponentId,
    pub(super) keys: Array,
    pub(super) column: Column,
    pub(super) state: SideState,
    pub(super) tick: u64,
    pub(super) seen: [u64; 2],
}

/// What a side is, beside who has values and the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SideState {
    Pool(SparseSetState),
    Linear { rows: u32 },
}

pub(super) fn words_of(world: &World) -> Source<'_> {
    Source { rows: world.storage.entities.slot_count() as u32, row: 4, from: From::Words(&world.storage.entities) }
}

pub(super) fn stack_of(world: &World) -> Source<'_> {
    let stack = world.storage.entities.free_list();
    Source { rows: stack.len() as u32, row: 4, from: From::Flat(stack.as_ptr().cast()) }
}

pub(super) fn slots_of(table: &Table) -> Source<'_> {
    Source { rows: table.len, row: size_of::<Entity>(), from: From::Flat(table.slots().as_ptr().cast()) }
}

pub(super) fn keys_of(side: &SparseStorage) -> Source<'_> {
    let (ptr, rows, row) = side.store.key_bytes();
    Source { rows, row, from: From::Flat(ptr) }
}

/// The values of a column of a table.
pub(super) fn column_of<'a>(table: &'a Table, at: usize, components: &'a Components) -> BundlePtr<'a> {
    let column = &table.columns[at];
    let lanes = &table.lane_list()[column.first as usize..][..column.lanes as usize];
    BundlePtr { info: components.info(column.id), lanes, rows: table.len, has: None }
}

/// Calls a function with the values of a side.
pub(super) fn with_values<R>(side: &SparseStorage, components: &Components, f: impl FnOnce(BundlePtr<'_>) -> R) -> R {
    let place = BundlePtr { info: components.info(side.id), lanes: side.values().lanes(), rows: 0, has: None };
    match &side.store {
        Store::Pool(pool) => {
            let has = |at: u32| pool.dense.key_at(at).is_some();
            let has: Option<&dyn Fn(u32) -> bool> = if pool.dense.holes() > 0 { Some(&has) } else { None };
            f(BundlePtr { rows: pool.dense.positions(), has, ..place })
        }
        Store::Linear(linear) => {
            let has = |slot: u32| linear.has(slot);
            f(BundlePtr { rows: linear.used_words() * 64, has: Some(&has), ..place })
        }
    }
}

pub(super) fn state_of(side: &SparseStorage) -> SideState {
    match &side.store {
        Store::Pool(pool) => SideState::Pool(pool.state()),
        Store::Linear(linear) => SideState::Linear { rows: linear.extra_rows },
    }
}

/// The lane that says who has a value in a side.
pub(super) fn key_lane(side: &SparseStorage) -> &Lane {
    match &side.store {
        Store::Pool(pool) => pool.dense.key_lane(),
        Store::Linear(linear) => linear.bits_lane(),
    }
}

pub(super) fn version(lane: Option<&Lane>) -> u64 {
    lane.map_or(0, Lane::version)
}

impl TableImage {
    pub(super) fn try_new(table: &Table, components: &Components) -> Result<TableImage, AllocError> {
        let mut columns = try_vec(table.columns.len())?;
        for at in 0..table.columns.len() {
            let place = column_of(table, at, components);
            columns.push(ColumnImage {
                id: table.columns[at].id,
                column: Column::try_new(place)?,
                seen: version(place.lanes.first()),
                tick: place.tick(),
            });
        }
        let slots = Array::try_new(slots_of(table))?;
        Ok(TableImage {
            signature: table.signature.try_clone()?,
            slots,
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

impl SideImage {
    pub(super) fn try_new(side: &SparseStorage, components: &Components) -> Result<SideImage, AllocError> {
        Ok(SideImage {
            id: side.id,
            keys: Array::try_new(keys_of(side))?,
            column: with_values(side, components, Column::try_new)?,
            state: state_of(side),
            tick: with_values(side, components, |place| place.tick()),
            seen: [key_lane(side).version(), version(side.values().lanes().first())],
        })
    }

    fn memory(&self) -> usize {
        self.keys.memory() + self.column.memory()
    }
}

/// That all values of a world can be copied.
pub(super) fn can_copy(world: &World) -> Result<(), TimelineError> {
    let tables =
        world.storage.tables.iter().filter(|table| table.len > 0).flat_map(|table| table.columns.iter().map(|c| c.id));
    let sparse = world.storage.sparse.iter().filter(|side| side.len() > 0).map(|side| side.id);
    for info in tables.chain(sparse).map(|id| world.storage.components.info(id)) {
        if !info.is_clone() {
            return Err(TimelineError::NotClone { component: info.name() });
        }
    }
    Ok(())
}

impl Image {
    /// The state of a world as it is.
    pub(super) fn try_new(world: &World) -> Result<Image, TimelineError> {
        can_copy(world)?;
        let mut image = Image {
            // First: what is reserved from now on is after it.
            time: world.storage.sparse.clock.time(),
            space: world.storage.components.space.number(),
            world: world.id(),
            epoch: world.storage.epoch(),
            words: Array::try_new(words_of(world))?,
            stack: Array::try_new(stack_of(world))?,
            reserved: world.storage.entities.reservations(),
            seen: world.storage.entities.versions(),
            tables: try_vec(world.storage.tables.len())?,
            sparse: try_vec(world.storage.sparse.iter().len())?,
            groups: world.storage.sparse.try_group_image()?,
            components: try_components(&world.storage.components)?,
        };
        image.try_follow(world)?;
        Ok(image)
    }

    /// Adds the tables and sides that the world has beyond those of the image.
    fn try_follow(&mut self, world: &World) -> Result<(), AllocError> {
        for table in &world.storage.tables[self.tables.len()..] {
            self.tables.push(TableImage::try_new(table, &world.storage.components)?);
        }
        for side in world.storage.sparse.iter().skip(self.sparse.len()) {
            self.sparse.push(SideImage::try_new(side, &world.storage.components)?);
        }
        Ok(())
    }

    /// Bytes held from the allocator.
    pub(super) fn memory(&self) -> usize {
        let tables = self.tables.iter().map(TableImage::memory).sum::<usize>();
        let sparse = self.sparse.iter().map(SideImage::memory).sum::<usize>();
        let lists = self.tables.capacity() * size_of::<TableImage>() + self.sparse.capacity() * size_of::<SideImage>();
        self.words.memory() + self.stack.memory() + tables + sparse + lists + self.groups.bytes()
    }
}

/// Whether the values of a component can be written as bytes and read back from bytes that are checked.
pub(super) fn is_plain(id: ComponentId, info: &crate::component::ComponentInfo) -> bool {
    info.bytes.is_plain() || id == ComponentId::ROW
}

/// What the components of a world are, by id.
fn try_components(components: &Components) -> Result<Vec<Known>, AllocError> {
    let mut list = try_vec(components.len())?;
    list.extend(components.iter().map(|(id, info)| Known {
        print: fingerprint(info),
        name: info.name(),
        is_plain: is_plain(id, info),
        rank: components.rank(id),
        lanes: info.value_lanes(),
        track: info.track,
    }));
    Ok(list)
}

/// The tables and sides that a world has beyond those of an image.
pub(super) fn try_beyond(image: &mut Image, world: &World) -> Result<(Vec<TableImage>, Vec<SideImage>), AllocError> {
    let (tables, sparse) =
        (&world.storage.tables[image.tables.len()..], world.storage.sparse.iter().skip(image.sparse.len()));
    let (mut new_tables, mut new_sparse) = (try_vec(tables.len())?, try_vec(sparse.len())?);
    for table in tables {
        new_tables.push(TableImage::try_new(table, &world.storage.components)?);
    }
    for side in sparse {
        new_sparse.push(SideImage::try_new(side, &world.storage.components)?);
    }
    try_reserve(&mut image.tables, new_tables.len())?;
    try_reserve(&mut image.sparse, new_sparse.len())?;
    Ok((new_tables, new_sparse))
}

/// What may have changed in a lane since a version.
pub(super) fn dirty<'a>(keys: &'a Lane, seen: u64, values: Option<(&'a Lane, u64)>) -> Dirty<'a> {
    if keys.version() != seen || values.is_some_and(|(lane, seen)| lane.version() != seen) {
        return Dirty::Any;
    }
    Dirty::Marked(keys.dirty(), values.map_or(&[], |(lane, _)| lane.dirty()))
}
