//! [`Canonical`]: a state in canonical form, which deltas and their checksums are made of.
//!
//! An [`Image`] uses component ids and the numbers of tables and sparse storages, which depend on the order of first use. Two
//! worlds in the same state may have different ones. Here components are numbered in canonical order. What no entity has is
//! left out: tables without rows, components without values, the identity of a removed value behind a hole, and change
//! ticks.

use super::DeltaError;
use super::numbering::Numbering;
use crate::alloc::{try_reserve, try_vec};
use crate::checksum::Sum;
use crate::component::ComponentId;
use crate::sort::{sort_short, sort_short_by, sort_short_by_key};
use crate::sparse::Removal;
use crate::timeline::image::{ByteArray, Column, ComponentImage, DEAD, Image, SparseImage, SparseState, TableImage};
use core::cmp::Ordering;
use phalanx_store::AllocError;

impl Image {
    /// Calls a function with every component that is part of the state, some of them repeatedly.
    ///
    /// These are the components that have a value, those whose removal policy was set, those of groups, and those that the
    /// key of an extra row names.
    pub(super) fn for_each_used(&self, mut each: impl FnMut(ComponentId)) {
        for table in self.tables.iter().filter(|table| table.slots.rows() > 0) {
            table.signature.iter().filter(|id| *id != ComponentId::ROW).for_each(&mut each);
            let labels = table.labels().into_iter().flat_map(ByteArray::pairs);
            labels.filter(|[id, _]| *id != 0).for_each(|[id, _]| each(ComponentId::from_index(id)));
        }
        self.sparse.iter().filter(|sparse| sparse.has_state()).for_each(|sparse| each(sparse.id));
        self.groups.for_each_storage(|number| each(self.sparse[number as usize].id));
    }
}

impl TableImage {
    /// Returns the labels of a table of extra rows, whose first column is that of the reserved component.
    fn labels(&self) -> Option<&ByteArray> {
        let first = self.columns.first().filter(|_| self.signature.has(ComponentId::ROW))?;
        first.column.arrays().get(1)
    }
}

impl SparseImage {
    /// Returns `true` if the storage differs from one that was never used.
    fn has_state(&self) -> bool {
        let is_set = matches!(&self.state, SparseState::Pool(state) if state.removal != Removal::Swap);
        is_set || self.keys.rows() > 0
    }

    /// Copies the keys. All holes of a sparse set get the same key.
    fn try_canonical_keys(&self) -> Result<ByteArray, AllocError> {
        let mut keys = ByteArray::try_from_bytes(self.keys.bytes(), self.keys.row_size())?;
        if let SparseState::Pool(_) = self.state {
            let holes = self.keys.pairs().map(|[_, generation]| generation & DEAD != 0);
            for (key, _) in keys.bytes_mut().as_chunks_mut::<8>().0.iter_mut().zip(holes).filter(|(_, hole)| *hole) {
                key[..4].copy_from_slice(&1_u32.to_ne_bytes());
                key[4..].copy_from_slice(&DEAD.to_ne_bytes());
            }
        }
        Ok(keys)
    }
}

/// A table with rows.
#[derive(Debug)]
pub(super) struct TableForm<'a> {
    pub(super) is_extra: bool,
    /// The numbers of the components, ascending. The columns are in the same order, after that of the reserved component.
    pub(super) components: Vec<u32>,
    pub(super) image: &'a TableImage,
    /// The labels of extra rows, with numbers of components.
    labels: Option<ByteArray>,
}

impl TableForm<'_> {
    /// Returns the lanes of the reserved component of extra rows: owners, labels and links.
    pub(super) fn row_arrays(&self) -> Option<[&ByteArray; 3]> {
        match (&self.labels, self.image.columns.first()?.column.arrays()) {
            (Some(labels), [owners, _, links]) => Some([owners, labels, links]),
            _ => None,
        }
    }

    /// Compares the table with one of these components.
    fn compare(&self, is_extra: bool, components: &[u32]) -> Ordering {
        (self.is_extra, &*self.components).cmp(&(is_extra, components))
    }
}

/// The storage of a sparse component.
#[derive(Debug)]
pub(super) struct SparseForm<'a> {
    pub(super) number: u32,
    pub(super) image: &'a SparseImage,
    pub(super) keys: ByteArray,
}

/// A group.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupForm {
    /// The components that the group owns, requires and excludes, each list ascending.
    pub(super) lists: [Vec<u32>; 3],
    /// The slots of the members, in order, if the group owns nothing.
    pub(super) members: Vec<u32>,
    /// Differs from that of any other group that the world ever had.
    pub(super) serial: u64,
    /// The position in the list of groups.
    pub(super) position: u32,
}

/// A state in canonical form.
#[derive(Debug)]
pub(super) struct Canonical<'a> {
    pub(super) image: &'a Image,
    /// The tables with rows, in visiting order.
    pub(super) tables: Vec<TableForm<'a>>,
    /// The positions of the tables, sorted by their components.
    by_components: Vec<u32>,
    /// The storages, sorted by their components.
    pub(super) sparse: Vec<SparseForm<'a>>,
    /// The groups, sorted by their components.
    pub(super) groups: Vec<GroupForm>,
}

impl<'a> Canonical<'a> {
    /// Creates the canonical form of a state.
    ///
    /// # Errors
    ///
    /// Returns [`DeltaError::Damaged`] if the state has a component without a number.
    pub(super) fn try_new(image: &'a Image, numbering: &Numbering) -> Result<Canonical<'a>, DeltaError> {
        let number = |id: ComponentId| numbering.number(id).ok_or(UNNUMBERED);
        let mut tables = try_vec(image.tables.len())?;
        for table in image.tables.iter().filter(|table| table.slots.rows() > 0) {
            let mut components = try_vec(table.signature.len())?;
            for id in table.signature.iter().filter(|id| *id != ComponentId::ROW) {
                components.push(number(id)?);
            }
            sort_short(&mut components);
            let labels = match table.labels() {
                Some(labels) => Some(numbering.try_number_labels(labels)?.ok_or(UNNUMBERED)?),
                None => None,
            };
            tables.push(TableForm { is_extra: labels.is_some(), components, image: table, labels });
        }
        sort_short_by_key(&mut tables, |table| table.image.stamp);
        let mut by_components = try_vec(tables.len())?;
        by_components.extend(0..tables.len() as u32);
        sort_short_by(&mut by_components, |a, b| {
            let (a, b): (&TableForm<'_>, &TableForm<'_>) = (&tables[*a as usize], &tables[*b as usize]);
            a.compare(b.is_extra, &b.components)
        });
        let is_used = numbering.try_find_used(&[image])?;
        let mut sparse = try_vec(image.sparse.len())?;
        for image in image.sparse.iter().filter(|image| is_used[image.id.index()]) {
            sparse.push(SparseForm { number: number(image.id)?, image, keys: image.try_canonical_keys()? });
        }
        sort_short_by_key(&mut sparse, |sparse| sparse.number);
        let mut groups = Vec::new();
        for sketch in image.groups.try_saved_groups()? {
            let mut lists = [const { Vec::new() }; 3];
            for (list, sparse) in lists.iter_mut().zip(&sketch.sparse) {
                *list = try_vec(sparse.len())?;
                for storage in sparse {
                    list.push(number(image.sparse[*storage as usize].id)?);
                }
                sort_short(list);
            }
            let (members, position) = (sketch.members, sketch.number);
            try_reserve(&mut groups, 1)?;
            groups.push(GroupForm { lists, members, serial: sketch.serial.unwrap_or(0), position });
        }
        sort_short(&mut groups);
        Ok(Canonical { image, tables, by_components, sparse, groups })
    }

    /// Returns the table of these components.
    pub(super) fn table(&self, is_extra: bool, components: &[u32]) -> Option<&TableForm<'a>> {
        let compare = |at: &u32| self.tables[*at as usize].compare(is_extra, components);
        let found = self.by_components.binary_search_by(compare).ok()?;
        Some(&self.tables[self.by_components[found] as usize])
    }

    /// Returns the storage of a component.
    pub(super) fn sparse(&self, number: u32) -> Option<&SparseForm<'a>> {
        self.sparse.binary_search_by_key(&number, |sparse| sparse.number).ok().map(|at| &self.sparse[at])
    }

    /// Returns a checksum of the state, whose components are plain. Equal states have equal checksums, whatever happened
    /// before. Change ticks do not affect it.
    fn checksum(&self, numbering: &Numbering, components: &[ComponentImage]) -> u64 {
        let mut sum = Sum::default();
        sum.number(numbering.ids().len() as u64);
        numbering.ids().iter().for_each(|id| sum.number(components[id.index()].fingerprint));
        sum.add(self.image.words.bytes());
        sum.add(self.image.free_list.bytes());
        self.image.reserved.iter().for_each(|count| sum.number(u64::from(*count)));
        let column = |sum: &mut Sum, column: &Column, number: u32| {
            let lanes = numbering.id(number).map_or(0, |id| components[id.index()].lanes);
            column.arrays().iter().take(lanes).for_each(|array| sum.add(array.bytes()));
        };
        sum.number(self.tables.len() as u64);
        for table in &self.tables {
            sum.number(u64::from(table.is_extra));
            sum.numbers(&table.components);
            sum.add(table.image.slots.bytes());
            table.row_arrays().into_iter().flatten().for_each(|array| sum.add(array.bytes()));
            let columns = &table.image.columns[usize::from(table.is_extra)..];
            table.components.iter().zip(columns).for_each(|(number, image)| column(&mut sum, &image.column, *number));
        }
        sum.number(self.sparse.len() as u64);
        for sparse in &self.sparse {
            sum.number(u64::from(sparse.number));
            if let SparseState::Pool(state) = &sparse.image.state {
                sum.number(state.removal as u64);
            }
            sum.add(sparse.keys.bytes());
            column(&mut sum, &sparse.image.column, sparse.number);
        }
        sum.number(self.groups.len() as u64);
        for group in &self.groups {
            group.lists.iter().chain([&group.members]).for_each(|list| sum.numbers(list));
        }
        sum.finish()
    }
}

const UNNUMBERED: DeltaError = DeltaError::Damaged { what: "a component that the delta does not name" };

/// Returns the checksum of a state.
pub(super) fn checksum(image: &Image, components: &[ComponentImage]) -> Result<u64, DeltaError> {
    let numbering = Numbering::try_new(&[image], components)?;
    Ok(Canonical::try_new(image, &numbering)?.checksum(&numbering, components))
}
