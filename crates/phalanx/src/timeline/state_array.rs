//! [`StateArray`]: an array of a state, with the checksums of its chunks. Two worlds compare states by them.

use super::Checkpoint;
use super::image::{ByteArray, Column, ComponentImage, DEAD, Image, SparseImage, SparseState, chunk_sum, scatter};
use crate::component::ComponentId;
use core::fmt;
use core::ops::Range;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;
use std::borrow::Cow;

/// What an array of a state has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ArrayPart {
    /// The generation of each slot, and whether it is alive. The row is the index of the entity.
    Entities,
    /// The free slots, in the order in which they are used again.
    FreeSlots,
    /// The entity of each row of a table.
    Rows,
    /// The entity of each row of a sparse set, or the presence bits of a linear storage.
    Keys,
    /// A lane of the values of a component, in a table or a sparse storage.
    Values,
    /// A plain kept resource: one row, or none if the resource is absent.
    Resource,
}

/// Identifies an array. Worlds in the same state have the same keys, whatever happened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrayKey {
    /// What the array has in it.
    pub part: ArrayPart,
    /// The fingerprint of the component or resource, or 0.
    pub owner: u64,
    /// Identifies the components of the table, or 0 if there is no table.
    pub table: u64,
    /// The lane: 0, or the number of a field of a soa component.
    pub lane: u32,
}

/// An array of a state: rows of bytes, in chunks of 128 rows. See [`Checkpoint::arrays`].
pub struct StateArray<'a> {
    image: &'a Image,
    key: ArrayKey,
    component: Option<ComponentId>,
    name: &'static str,
    /// The components of the table, if there is one.
    table: Vec<&'static str>,
    bytes: Cow<'a, [u8]>,
    row_size: usize,
    entities: Owners<'a>,
}

/// How the entity of a row is found.
enum Owners<'a> {
    None,
    /// The row is the index of the entity.
    Slot,
    /// Pairs of the index and the generation.
    Pairs(&'a ByteArray),
}

/// Returns the entity of a slot, if it is alive.
fn entity_at(image: &Image, index: u32) -> Option<Entity> {
    let word = image.words.word(index).filter(|word| word & DEAD == 0)?;
    Entity::from_bits(u64::from(word) << 32 | u64::from(index))
}

impl StateArray<'_> {
    /// The number of rows of a chunk.
    pub const CHUNK: u32 = Lane::CHUNK;

    /// Returns what identifies the array in another world.
    pub fn key(&self) -> ArrayKey {
        self.key
    }

    /// Returns the component, if the array has keys or values of one.
    pub fn component(&self) -> Option<ComponentId> {
        self.component
    }

    /// Returns the type name of the component or resource, or an empty string.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the type names of the components of the table, or an empty list if the array is not one of a table.
    pub fn table(&self) -> &[&'static str] {
        &self.table
    }

    /// Returns the number of bytes of a row.
    pub fn row_size(&self) -> usize {
        self.row_size
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.bytes.len().checked_div(self.row_size).map_or(0, |rows| rows as u32)
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> u32 {
        self.rows().div_ceil(Self::CHUNK)
    }

    /// Returns the rows of a chunk, or an empty range if there is no such chunk.
    pub fn rows_of(&self, chunk: u32) -> Range<u32> {
        let rows = self.rows();
        let start = chunk.saturating_mul(Self::CHUNK).min(rows);
        start..start.saturating_add(Self::CHUNK).min(rows)
    }

    /// Returns the bytes of a row, or `None` if there is no such row.
    pub fn row(&self, row: u32) -> Option<&[u8]> {
        let start = (row as usize).checked_mul(self.row_size)?;
        self.bytes.get(start..start.checked_add(self.row_size)?).filter(|_| row < self.rows())
    }

    /// Returns the checksum of a chunk. It depends on the bytes, the key of the array and the number of the chunk.
    pub fn chunk_sum(&self, chunk: u32) -> u64 {
        let rows = self.rows_of(chunk);
        let bytes = &self.bytes[rows.start as usize * self.row_size..rows.end as usize * self.row_size];
        let ArrayKey { part, owner, table, lane } = self.key;
        let key = [part as u64 + 1, owner, table, u64::from(lane)].iter().fold(0, |key, n| scatter(key ^ n));
        chunk_sum(key, part == ArrayPart::Keys && self.row_size == size_of::<Entity>(), chunk, bytes)
    }

    /// Returns the wrapping sum of the checksums of all chunks.
    pub fn sum(&self) -> u64 {
        (0..self.chunks()).fold(0, |sum, chunk| sum.wrapping_add(self.chunk_sum(chunk)))
    }

    /// Returns the entity that a row belongs to, if it is alive.
    pub fn entity(&self, row: u32) -> Option<Entity> {
        match self.entities {
            Owners::None => None,
            Owners::Slot => entity_at(self.image, row),
            Owners::Pairs(pairs) => {
                let [position, _] = pairs.pair(row).filter(|[_, generation]| generation & DEAD == 0)?;
                entity_at(self.image, position.checked_sub(1)?)
            }
        }
    }
}

impl fmt::Debug for StateArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateArray({:?} {}, {} rows)", self.key.part, self.name, self.rows())
    }
}

impl Checkpoint {
    /// Returns the arrays that the state is made of, sorted by their [keys](StateArray::key).
    ///
    /// States of two worlds are compared by the sums of their arrays, then by those of the chunks of one array, then row by
    /// row. So two machines find what differs without sending whole states.
    ///
    /// Change ticks, groups, the order of tables and the labels of extra rows are not part of it. Values that are not plain are
    /// not part of it either; [`FrameSums::uncovered`](super::FrameSums::uncovered) lists them. Tables without rows are left out.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(plain)]
    /// struct Height(i32);
    ///
    /// let mut world = World::new();
    /// let stones = world.spawn_batch((0..1000).map(Height));
    /// let before = world.checkpoint()?;
    /// world.get_mut::<Height>(stones[300]).unwrap().0 = -1;
    /// let after = world.checkpoint()?;
    ///
    /// let (before, after) = (before.arrays(), after.arrays());
    /// let (a, b) = before.iter().zip(&after).find(|(a, b)| a.sum() != b.sum()).unwrap();
    /// let chunk = (0..a.chunks()).find(|chunk| a.chunk_sum(*chunk) != b.chunk_sum(*chunk)).unwrap();
    /// let row = a.rows_of(chunk).find(|row| a.row(*row) != b.row(*row)).unwrap();
    /// assert!(a.name().ends_with("Height"));
    /// assert_eq!((chunk, row, a.entity(row)), (2, 300, Some(stones[300])));
    /// # Ok::<(), phalanx::timeline::TimelineError>(())
    /// ```
    pub fn arrays(&self) -> Vec<StateArray<'_>> {
        let image = &self.image;
        let mut list = vec![
            part(image, ArrayPart::Entities, &image.words, Owners::Slot),
            part(image, ArrayPart::FreeSlots, &image.free_list, Owners::None),
        ];
        for table in image.tables.iter().filter(|table| table.slots.rows() > 0) {
            let infos = || table.signature.iter().map(|id| &image.components[id.index()]);
            let key = scatter(infos().fold(1, |key, info| key.wrapping_add(scatter(info.fingerprint))));
            let mut names: Vec<_> = infos().map(|info| info.name).collect();
            names.sort_unstable();
            let rows = part(image, ArrayPart::Rows, &table.slots, Owners::Pairs(&table.slots));
            list.push(StateArray { key: ArrayKey { table: key, ..rows.key }, table: names.clone(), ..rows });
            for column in table.columns.iter().filter(|column| column.id != ComponentId::ROW) {
                let owners = || Owners::Pairs(&table.slots);
                values(image, column.id, &column.column, key, owners, &mut list, &names);
            }
        }
        for sparse in image.sparse.iter().filter(|sparse| sparse.keys.rows() > 0) {
            list.push(keys(image, sparse));
            let owners = || match sparse.state {
                SparseState::Pool(_) => Owners::Pairs(&sparse.keys),
                SparseState::Linear { .. } => Owners::Slot,
            };
            values(image, sparse.id, &sparse.column, 0, owners, &mut list, &[]);
        }
        self.kept.resources.for_each_plain(|name, fingerprint, bytes| {
            let bytes = bytes.unwrap_or_default();
            list.push(StateArray {
                image,
                key: ArrayKey { part: ArrayPart::Resource, owner: fingerprint, table: 0, lane: 0 },
                component: None,
                name,
                table: Vec::new(),
                row_size: bytes.len(),
                bytes: Cow::Owned(bytes),
                entities: Owners::None,
            });
        });
        list.sort_by_key(StateArray::key);
        list
    }
}

/// Returns an array that is not one of a component.
fn part<'a>(image: &'a Image, part: ArrayPart, array: &'a ByteArray, entities: Owners<'a>) -> StateArray<'a> {
    StateArray {
        image,
        key: ArrayKey { part, owner: 0, table: 0, lane: 0 },
        component: None,
        name: "",
        table: Vec::new(),
        bytes: Cow::Borrowed(array.bytes()),
        row_size: array.row_size(),
        entities,
    }
}

/// Returns the keys of a sparse storage.
fn keys<'a>(image: &'a Image, sparse: &'a SparseImage) -> StateArray<'a> {
    let info = &image.components[sparse.id.index()];
    let entities = match sparse.state {
        SparseState::Pool(_) => Owners::Pairs(&sparse.keys),
        SparseState::Linear { .. } => Owners::None,
    };
    let array = part(image, ArrayPart::Keys, &sparse.keys, entities);
    StateArray {
        key: ArrayKey { owner: info.fingerprint, ..array.key },
        component: Some(sparse.id),
        name: info.name,
        ..array
    }
}

/// Adds the lanes of a component that have a size.
fn values<'a>(
    image: &'a Image,
    id: ComponentId,
    column: &'a Column,
    table: u64,
    owners: impl Fn() -> Owners<'a>,
    list: &mut Vec<StateArray<'a>>,
    names: &[&'static str],
) {
    let info: &ComponentImage = &image.components[id.index()];
    for (lane, array) in (0..).zip(column.arrays().iter().take(info.lanes)) {
        let values = part(image, ArrayPart::Values, array, owners());
        list.push(StateArray {
            key: ArrayKey { owner: info.fingerprint, table, lane, ..values.key },
            component: Some(id),
            name: info.name,
            table: names.to_vec(),
            ..values
        });
    }
}
