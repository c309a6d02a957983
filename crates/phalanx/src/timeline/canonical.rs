//! A state in canonical form: what a delta is made of, and what its checksums are of.
//!
//! An [`Image`] is in terms of the ids of components and the numbers of tables and sides, which depend on what was used
//! first. Two worlds in the same state may have different ones. Here components are numbered by their canonical order, and
//! what nobody has is left out: tables without rows, components without values, the identity of a removed value behind a
//! hole, and when values were changed.

use super::array::Array;
use super::column::Column;
use super::error::DeltaError;
use super::image::{Image, Known, SideImage, SideState, TableImage};
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::{Marks, Tick};
use crate::checksum::Sum;
use crate::component::ComponentId;
use crate::sparse::Removal;
use core::cmp::Ordering;
use phalanx_store::AllocError;
use std::borrow::Cow;

/// Set in the generation of a hole.
const HOLE: u32 = 1 << 31;

/// No number, or no position.
const NONE: u32 = u32::MAX;

/// Components, numbered in canonical order. The reserved one is none of them.
#[derive(Debug)]
pub(super) struct Numbering {
    ids: Vec<ComponentId>,
    /// By id: the number, or none.
    numbers: Vec<u32>,
}

impl Numbering {
    /// Numbers the components that are part of some states. `known` are the components of all of them.
    pub(super) fn try_of(images: &[&Image], known: &[Known]) -> Result<Numbering, AllocError> {
        let mut is_used = try_vec(known.len())?;
        is_used.resize(known.len(), false);
        for image in images {
            image.each_used(|id| is_used[id.index()] = true);
        }
        let mut ids = try_vec(is_used.iter().filter(|is_used| **is_used).count())?;
        let used = (0..).map(ComponentId::from_index).zip(is_used).filter(|(_, is_used)| *is_used);
        ids.extend(used.map(|(id, _)| id));
        ids.sort_unstable_by_key(|id| known[id.index()].rank);
        Numbering::try_from_ids(ids, known.len())
    }

    /// Numbers these components, which are in canonical order and below `count`.
    pub(super) fn try_from_ids(ids: Vec<ComponentId>, count: usize) -> Result<Numbering, AllocError> {
        let mut numbers = try_vec(count)?;
        numbers.resize(count, NONE);
        for (number, id) in (0..).zip(&ids) {
            numbers[id.index()] = number;
        }
        Ok(Numbering { ids, numbers })
    }

    /// Returns the components, by number.
    pub(super) fn ids(&self) -> &[ComponentId] {
        &self.ids
    }

    fn number(&self, id: ComponentId) -> Option<u32> {
        self.numbers.get(id.index()).copied().filter(|number| *number != NONE)
    }

    pub(super) fn id(&self, number: u32) -> Option<ComponentId> {
        self.ids.get(number as usize).copied()
    }

    /// Returns labels of extra rows with the numbers of their components, counted from one, instead of the ids.
    fn try_numbered(&self, labels: &Array) -> Result<Option<Array>, AllocError> {
        labels.try_mapped(|id| match id {
            0 => Some(0),
            id => self.number(ComponentId::from_index(id)).map(|number| number + 1),
        })
    }

    /// Returns labels of extra rows with the ids of their components instead of the numbers, if all of them are known.
    pub(super) fn try_named(&self, labels: &Array) -> Result<Option<Array>, AllocError> {
        labels.try_mapped(|number| match number {
            0 => Some(0),
            number => self.id(number - 1).map(|id| id.index() as u32),
        })
    }
}

impl Image {
    /// Calls a function with every component that is part of the state: that has a value, whose pool removes in another way
    /// than pools do from the start, that a group names, or that the key of an extra row names. Some come more than once.
    fn each_used(&self, mut each: impl FnMut(ComponentId)) {
        for table in self.tables.iter().filter(|table| table.slots.rows() > 0) {
            table.signature.iter().filter(|id| *id != ComponentId::ROW).for_each(&mut each);
            let labels = table.labels().into_iter().flat_map(Array::pairs);
            labels.filter(|[id, _]| *id != 0).for_each(|[id, _]| each(ComponentId::from_index(id)));
        }
        self.sparse.iter().filter(|side| side.has_state()).for_each(|side| each(side.id));
        self.groups.for_each_storage(|side| each(self.sparse[side as usize].id));
    }
}

impl TableImage {
    /// Returns the labels of a table of extra rows. Its reserved component is the first.
    pub(super) fn labels(&self) -> Option<&Array> {
        if !self.signature.has(ComponentId::ROW) {
            return None;
        }
        match &self.columns.first()?.column {
            Column::Plain(arrays) => arrays.get(1),
            Column::Cloned(_) => None,
        }
    }
}

impl SideImage {
    fn has_state(&self) -> bool {
        let is_set = matches!(&self.state, SideState::Pool(state) if state.removal != Removal::Swap);
        is_set || self.keys.rows() > 0
    }

    /// Returns who has a value, with all holes alike.
    fn try_keys(&self) -> Result<Cow<'_, [u8]>, AllocError> {
        let is_hole = |pair: &[u8]| pair.len() == 8 && word(&pair[4..]) & HOLE != 0;
        let is_pool = matches!(self.state, SideState::Pool(_));
        if !is_pool || !self.keys.bytes().chunks_exact(8).any(is_hole) {
            return Ok(Cow::Borrowed(self.keys.bytes()));
        }
        let mut bytes = try_vec(self.keys.bytes().len())?;
        for pair in self.keys.bytes().chunks_exact(8) {
            match is_hole(pair) {
                true => {
                    bytes.extend_from_slice(&1_u32.to_ne_bytes());
                    bytes.extend_from_slice(&HOLE.to_ne_bytes());
                }
                false => bytes.extend_from_slice(pair),
            }
        }
        Ok(Cow::Owned(bytes))
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// A table with rows.
#[derive(Debug)]
pub(super) struct TableForm<'a> {
    pub(super) is_extra: bool,
    /// The numbers of its components, ascending: its columns are in the same order, after that of the reserved one.
    pub(super) components: Vec<u32>,
    pub(super) image: &'a TableImage,
    /// The labels of extra rows, in terms of numbers.
    pub(super) labels: Option<Array>,
}

impl TableForm<'_> {
    /// Compares with a table of these components.
    pub(super) fn compare(&self, is_extra: bool, components: &[u32]) -> Ordering {
        (self.is_extra, &*self.components).cmp(&(is_extra, components))
    }
}

/// A component that is not kept in tables.
#[derive(Debug)]
pub(super) struct SideForm<'a> {
    pub(super) number: u32,
    pub(super) image: &'a SideImage,
    pub(super) keys: Array,
}

/// A group.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupForm {
    /// The components that it owns, requires and excludes, each list ascending.
    pub(super) lists: [Vec<u32>; 3],
    /// The slots of the members of one that owns nothing, in their order.
    pub(super) members: Vec<u32>,
    /// Tells it from any other group that the world ever had.
    pub(super) serial: u64,
    pub(super) place: u32,
}

/// A state in canonical form.
#[derive(Debug)]
pub(super) struct Canonical<'a> {
    pub(super) image: &'a Image,
    /// In the order in which they are visited.
    pub(super) tables: Vec<TableForm<'a>>,
    /// The positions of the tables, by their components.
    by_components: Vec<u32>,
    /// By their components.
    pub(super) sparse: Vec<SideForm<'a>>,
    /// By their components.
    pub(super) groups: Vec<GroupForm>,
}

impl<'a> Canonical<'a> {
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
            components.sort_unstable();
            let labels = match table.labels() {
                Some(labels) => Some(numbering.try_numbered(labels)?.ok_or(UNNUMBERED)?),
                None => None,
            };
            tables.push(TableForm { is_extra: labels.is_some(), components, image: table, labels });
        }
        tables.sort_unstable_by_key(|table| table.image.stamp);
        let mut by_components = try_vec(tables.len())?;
        by_components.extend(0..tables.len() as u32);
        by_components.sort_unstable_by(|a, b| {
            let (a, b): (&TableForm<'_>, &TableForm<'_>) = (&tables[*a as usize], &tables[*b as usize]);
            a.compare(b.is_extra, &b.components)
        });
        let mut is_used = try_vec(numbering.numbers.len())?;
        is_used.resize(numbering.numbers.len(), false);
        image.each_used(|id| is_used[id.index()] = true);
        let mut sparse = try_vec(image.sparse.len())?;
        for side in &image.sparse {
            if is_used[side.id.index()] {
                let number = number(side.id)?;
                let keys = Array::try_of(&side.try_keys()?, side.keys.row_size())?;
                sparse.push(SideForm { number, image: side, keys });
            }
        }
        sparse.sort_unstable_by_key(|side| side.number);
        let mut groups = Vec::new();
        for sketch in image.groups.try_saved_groups()? {
            let mut lists = [const { Vec::new() }; 3];
            for (list, sparse) in lists.iter_mut().zip(&sketch.sparse) {
                *list = try_vec(sparse.len())?;
                for side in sparse {
                    list.push(number(image.sparse[*side as usize].id)?);
                }
                list.sort_unstable();
            }
            let (members, place) = (sketch.members, sketch.number);
            try_reserve(&mut groups, 1)?;
            groups.push(GroupForm { lists, members, serial: sketch.serial.unwrap_or(0), place });
        }
        groups.sort_unstable();
        Ok(Canonical { image, tables, by_components, sparse, groups })
    }

    /// Returns the table of these components.
    pub(super) fn table(&self, is_extra: bool, components: &[u32]) -> Option<&TableForm<'a>> {
        let compare = |at: &u32| self.tables[*at as usize].compare(is_extra, components);
        let found = self.by_components.binary_search_by(compare).ok()?;
        Some(&self.tables[self.by_components[found] as usize])
    }

    /// Returns the side of a component.
    pub(super) fn side(&self, number: u32) -> Option<&SideForm<'a>> {
        self.sparse.binary_search_by_key(&number, |side| side.number).ok().map(|at| &self.sparse[at])
    }

    /// Returns a number that depends on all of the state, of a world whose components are plain, but for when values were
    /// changed. It is the same for equal states, whatever happened before.
    fn checksum(&self, numbering: &Numbering, known: &[Known]) -> u64 {
        let mut sum = Sum::default();
        sum.number(numbering.ids.len() as u64);
        numbering.ids.iter().for_each(|id| sum.number(known[id.index()].print));
        sum.add(self.image.words.bytes());
        sum.add(self.image.stack.bytes());
        self.image.reserved.iter().for_each(|count| sum.number(u64::from(*count)));
        let column = |sum: &mut Sum, column: &Column, number: u32| {
            let lanes = numbering.id(number).map_or(0, |id| known[id.index()].lanes);
            column.arrays().iter().take(lanes).for_each(|array| sum.add(array.bytes()));
        };
        sum.number(self.tables.len() as u64);
        for table in &self.tables {
            sum.number(u64::from(table.is_extra));
            sum.numbers(&table.components);
            sum.add(table.image.slots.bytes());
            let mut columns = table.image.columns.iter();
            if let (Some(labels), Some(row)) =
                (&table.labels, columns.by_ref().take(usize::from(table.is_extra)).last())
            {
                for (at, array) in row.column.arrays().iter().enumerate() {
                    sum.add(if at == 1 { labels.bytes() } else { array.bytes() });
                }
            }
            table.components.iter().zip(columns).for_each(|(number, image)| column(&mut sum, &image.column, *number));
        }
        sum.number(self.sparse.len() as u64);
        for side in &self.sparse {
            sum.number(u64::from(side.number));
            if let SideState::Pool(state) = &side.image.state {
                sum.number(state.removal as u64);
            }
            sum.add(side.keys.bytes());
            column(&mut sum, &side.image.column, side.number);
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
pub(super) fn checksum(image: &Image, known: &[Known]) -> Result<u64, DeltaError> {
    let numbering = Numbering::try_of(&[image], known)?;
    Ok(Canonical::try_new(image, &numbering)?.checksum(&numbering, known))
}

/// Finds the marks that values of tracked components had in a state, by the slot of their row.
pub(super) struct Past<'a> {
    state: &'a Canonical<'a>,
    /// By slot: the position of its table among those of the state, and the row.
    rows: Vec<(u32, u32)>,
}

impl<'a> Past<'a> {
    pub(super) fn try_new(state: &'a Canonical<'a>) -> Result<Past<'a>, AllocError> {
        let slots = state.image.words.rows() as usize;
        let mut rows = try_vec(slots)?;
        rows.resize(slots, (NONE, NONE));
        for (at, table) in (0..).zip(&state.tables) {
            for (row, pair) in (0..).zip(table.image.slots.pairs()) {
                if let Some(place) = rows.get_mut(pair[0].wrapping_sub(1) as usize) {
                    *place = (at, row);
                }
            }
        }
        Ok(Past { state, rows })
    }

    /// Returns the marks of a table component of a slot, as it is in the array of slots, if it had the component.
    pub(super) fn of_table(&self, slot: [u32; 2], number: u32) -> Option<Marks> {
        let (table, row) = *self.rows.get(slot[0].wrapping_sub(1) as usize)?;
        let table = self.state.tables.get(table as usize)?;
        if table.image.slots.pair(row)? != slot {
            return None;
        }
        let at = table.components.binary_search(&number).ok()? + usize::from(table.is_extra);
        table.image.columns[at].column.marks(row)
    }

    /// Returns what finds the marks of a component that is not kept in tables, by the slot or by the key of a pool.
    pub(super) fn try_of_side(&self, number: u32) -> Result<PastSide<'a>, AllocError> {
        let Some(side) = self.state.side(number) else { return Ok(PastSide { side: None, positions: Vec::new() }) };
        let mut positions = Vec::new();
        if let SideState::Pool(_) = side.image.state {
            positions = try_vec(self.rows.len())?;
            positions.resize(self.rows.len(), NONE);
            for (at, pair) in (0..).zip(side.keys.pairs()).filter(|(_, pair)| pair[1] & HOLE == 0) {
                if let Some(position) = positions.get_mut(pair[0].wrapping_sub(1) as usize) {
                    *position = at;
                }
            }
        }
        Ok(PastSide { side: Some(side), positions })
    }
}

/// Finds the marks that the values of one component had.
pub(super) struct PastSide<'a> {
    side: Option<&'a SideForm<'a>>,
    /// By slot: the position of its value in a pool.
    positions: Vec<u32>,
}

impl PastSide<'_> {
    /// Returns the marks of the value of a key in a pool.
    pub(super) fn of_key(&self, key: [u32; 2]) -> Option<Marks> {
        let side = self.side?;
        let at = *self.positions.get(key[0].wrapping_sub(1) as usize)?;
        if side.keys.pair(at)? == key { side.image.column.marks(at) } else { None }
    }

    /// Returns the marks of the value of a slot in a linear store.
    pub(super) fn of_slot(&self, slot: u32) -> Option<Marks> {
        let side = self.side?;
        let word = side.keys.bytes().chunks_exact(8).nth(slot as usize / 64)?;
        let word = u64::from_ne_bytes(word.try_into().ok()?);
        if word & 1 << (slot % 64) != 0 { side.image.column.marks(slot) } else { None }
    }
}

/// What has happened to a value from one state to another, as far as it is tracked.
const ADDED: u8 = 1;
const CHANGED: u8 = 2;

/// Returns what has happened to a value that had some marks, and has others now.
pub(super) fn touched(before: Option<Marks>, now: Marks) -> u8 {
    match before {
        None => ADDED | CHANGED,
        Some(before) => {
            (u8::from(before.added != now.added) * ADDED) | (u8::from(before.changed != now.changed) * CHANGED)
        }
    }
}

/// Returns the marks of a value to which that happens now. A value that was not there is added.
pub(super) fn marked(before: Option<Marks>, touched: u8, now: Tick) -> Marks {
    let mut marks = before.unwrap_or(Marks::new(now));
    if touched & ADDED != 0 {
        marks.added = now;
    }
    if touched & CHANGED != 0 {
        marks.changed = now;
    }
    marks
}
