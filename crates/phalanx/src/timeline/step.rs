//! One frame: what has changed since the last one, found out and taken over.
//!
//! First everything that may fail: the ways back are made, and what is new is copied. The image changes when all of it is
//! there.
#![allow(unsafe_code)]

use super::array::{Dirty, Undo};
use super::column::{BundlePtr, ColumnUndo};
use super::error::TimelineError;
use super::image::{
    ColumnImage, Image, SideState, can_copy, column_of, dirty, key_lane, keys_of, slots_of, stack_of, state_of,
    try_beyond, version, with_values, words_of,
};
use crate::alloc::try_reserve;
use crate::change_detection::Time;
use crate::component::ComponentId;
use crate::sparse::GroupImage;
use crate::storage::table::Table;
use crate::world::World;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// The way from an image back to what it was before a frame.
#[derive(Debug)]
pub(super) struct Step {
    reserved: [u32; 2],
    words: Option<Undo>,
    stack: Option<Undo>,
    tables: Vec<TableStep>,
    table_count: usize,
    sparse: Vec<SideStep>,
    side_count: usize,
    groups: Option<GroupImage>,
    time: Time,
}

#[derive(Debug)]
struct TableStep {
    table: u32,
    stamp: u64,
    slots: Option<Undo>,
    columns: Vec<ColumnStep>,
}

#[derive(Debug)]
struct ColumnStep {
    at: u32,
    values: Option<ColumnUndo>,
    tick: u64,
}

#[derive(Debug)]
struct SideStep {
    side: u32,
    keys: Option<Undo>,
    column: Option<ColumnUndo>,
    state: SideState,
    tick: u64,
}

impl Step {
    pub(super) fn memory(&self) -> usize {
        let undo = |undo: &Option<Undo>| undo.as_ref().map_or(0, Undo::memory);
        let mut sum = undo(&self.words) + undo(&self.stack) + self.groups.as_ref().map_or(0, GroupImage::bytes);
        for table in &self.tables {
            let values = table.columns.iter().filter_map(|column| column.values.as_ref());
            sum += undo(&table.slots) + values.map(ColumnUndo::memory).sum::<usize>();
            sum += table.columns.capacity() * size_of::<ColumnStep>();
        }
        for side in &self.sparse {
            sum += undo(&side.keys) + side.column.as_ref().map_or(0, ColumnUndo::memory);
        }
        sum + self.tables.capacity() * size_of::<TableStep>() + self.sparse.capacity() * size_of::<SideStep>()
    }
}

/// The lanes that say what was written: the slots of a table and the first lane of each column, the keys and the first
/// lane of the values of each side, the words and the stack of slots.
pub(super) fn each_tracked(
    world: &mut World,
    mut f: impl FnMut(&mut Lane) -> Result<(), AllocError>,
) -> Result<(), AllocError> {
    // SAFETY: lanes are tracked, untracked and have their marks removed; nothing else is done to them.
    unsafe {
        for lane in world.storage.entities.lanes_mut() {
            f(lane)?;
        }
        for table in &mut world.storage.tables {
            f(table.entities.erased())?;
            for column in table.columns.iter().filter(|column| column.lanes > 0) {
                f(&mut *table.lanes().add(column.first as usize))?;
            }
        }
        for side in world.storage.sparse.iter_mut() {
            let (keys, values) = side.lanes_mut();
            f(keys)?;
            if let Some(lane) = values.first_mut() {
                f(lane)?;
            }
        }
    }
    Ok(())
}

/// Makes the lanes of a world remember what is written from now on. Those that did so already are as they were.
pub(super) fn try_track(world: &mut World) -> Result<(), AllocError> {
    each_tracked(world, |lane| if lane.is_tracked() { Ok(()) } else { lane.try_track() })
}

/// Removes all marks.
pub(super) fn unmark(world: &mut World) {
    let cleared = each_tracked(world, |lane| {
        lane.dirty_mut().fill(0);
        Ok(())
    });
    debug_assert!(cleared.is_ok());
}

/// What may have changed in the column of a table.
fn table_dirty<'a>(table: &'a Table, seen: u64, place: BundlePtr<'a>, column_seen: u64) -> Dirty<'a> {
    match place.is_blind() {
        true => Dirty::Any,
        false => dirty(table.entities.lane(), seen, place.lanes.first().map(|lane| (lane, column_seen))),
    }
}

impl Image {
    /// Brings the image up to date with its world, and returns the way back. `marked` says whether the marks in the world's
    /// lanes are of all that was written since the image was up to date.
    ///
    /// Tables and sides have the numbers that they have in the image.
    pub(super) fn try_step(&mut self, world: &World, marked: bool) -> Result<Step, TimelineError> {
        let restructured = !marked || self.epoch != world.storage.epoch();
        if restructured {
            can_copy(world)?;
        }
        let mut step = self.try_find(world, marked, restructured)?;
        let (tables, sparse) = try_beyond(self, world)?;
        if restructured && !world.storage.sparse.has_groups(&self.groups) {
            step.groups = Some(world.storage.sparse.try_group_image()?);
        }
        self.commit(world, &mut step);
        self.tables.extend(tables);
        self.sparse.extend(sparse);
        Ok(step)
    }

    /// What differs in the arrays that there are.
    fn try_find(&mut self, world: &World, marked: bool, restructured: bool) -> Result<Step, AllocError> {
        let all = |found| if marked { found } else { Dirty::Any };
        let mut step = Step {
            reserved: world.storage.entities.reservations(),
            words: None,
            stack: None,
            tables: Vec::new(),
            table_count: self.tables.len(),
            sparse: Vec::new(),
            side_count: self.sparse.len(),
            groups: None,
            time: world.storage.sparse.clock.time(),
        };
        if restructured {
            let [words, stack] = world.storage.entities.lanes();
            step.words = self.words.try_diff(words_of(world), all(dirty(words, self.seen[0], None)))?;
            step.stack = self.stack.try_diff(stack_of(world), all(dirty(stack, self.seen[1], None)))?;
        }
        for (number, (image, table)) in (0..).zip(self.tables.iter_mut().zip(&world.storage.tables)) {
            let mut found = TableStep { table: number, stamp: table.stamp, slots: None, columns: Vec::new() };
            if restructured {
                let slots = dirty(table.entities.lane(), image.seen, None);
                found.slots = image.slots.try_diff(slots_of(table), all(slots))?;
            }
            for (at, image_column) in image.columns.iter_mut().enumerate() {
                let place = column_of(table, at, &world.storage.components);
                let written = match table.columns[at].id {
                    // The links of rows are written wherever their neighbours are.
                    ComponentId::ROW if restructured => Dirty::Any,
                    _ => table_dirty(table, image.seen, place, image_column.seen),
                };
                let values = image_column.column.try_diff(place, all(written), found.slots.is_some())?;
                let tick = place.tick();
                if values.is_some() || tick != image_column.tick {
                    try_reserve(&mut found.columns, 1)?;
                    found.columns.push(ColumnStep { at: at as u32, values, tick });
                }
            }
            if found.slots.is_some() || !found.columns.is_empty() || found.stamp != image.stamp {
                try_reserve(&mut step.tables, 1)?;
                step.tables.push(found);
            }
        }
        for (number, (image, side)) in (0..).zip(self.sparse.iter_mut().zip(world.storage.sparse.iter())) {
            let (key_lane, [keys_seen, values_seen]) = (key_lane(side), image.seen);
            let keys = match restructured {
                true => image.keys.try_diff(keys_of(side), all(dirty(key_lane, keys_seen, None)))?,
                false => None,
            };
            let values = side.values().lanes().first().map(|lane| (lane, values_seen));
            let written = match (&image.state, values) {
                // A chunk of keys is no chunk of values there; the values are marked by themselves.
                (SideState::Linear { .. }, Some((lane, seen))) if key_lane.version() == keys_seen => {
                    dirty(lane, seen, None)
                }
                _ => dirty(key_lane, keys_seen, values),
            };
            let moved = keys.is_some();
            let column = &mut image.column;
            let (column, tick) = with_values(side, &world.storage.components, |place| {
                let written = if place.is_blind() { Dirty::Any } else { all(written) };
                Ok::<_, AllocError>((column.try_diff(place, written, moved)?, place.tick()))
            })?;
            let state = state_of(side);
            if moved || column.is_some() || state != image.state || tick != image.tick {
                try_reserve(&mut step.sparse, 1)?;
                step.sparse.push(SideStep { side: number, keys, column, state, tick });
            }
        }
        Ok(step)
    }

    /// Takes over what was found.
    fn commit(&mut self, world: &World, step: &mut Step) {
        core::mem::swap(&mut self.reserved, &mut step.reserved);
        if let Some(undo) = &mut step.words {
            self.words.commit(words_of(world), undo);
        }
        if let Some(undo) = &mut step.stack {
            self.stack.commit(stack_of(world), undo);
        }
        for found in &mut step.tables {
            let (image, table) = (&mut self.tables[found.table as usize], &world.storage.tables[found.table as usize]);
            core::mem::swap(&mut image.stamp, &mut found.stamp);
            if let Some(undo) = &mut found.slots {
                image.slots.commit(slots_of(table), undo);
            }
            for ColumnStep { at, values, tick } in &mut found.columns {
                let (place, image) =
                    (column_of(table, *at as usize, &world.storage.components), &mut image.columns[*at as usize]);
                if let Some(undo) = values {
                    image.column.commit(place, undo);
                }
                core::mem::swap(&mut image.tick, tick);
            }
        }
        for found in &mut step.sparse {
            let (image, side) = (&mut self.sparse[found.side as usize], world.storage.sparse.get(found.side));
            if let Some(undo) = &mut found.keys {
                image.keys.commit(keys_of(side), undo);
            }
            if let Some(undo) = &mut found.column {
                with_values(side, &world.storage.components, |place| image.column.commit(place, undo));
            }
            core::mem::swap(&mut image.state, &mut found.state);
            core::mem::swap(&mut image.tick, &mut found.tick);
        }
        if let Some(groups) = &mut step.groups {
            core::mem::swap(&mut self.groups, groups);
        }
        core::mem::swap(&mut self.time, &mut step.time);
        self.update(world);
    }

    /// Remembers the versions of all lanes: the image is what the world is.
    pub(super) fn update(&mut self, world: &World) {
        (self.world, self.epoch, self.seen) = (world.id(), world.storage.epoch(), world.storage.entities.versions());
        for (image, table) in self.tables.iter_mut().zip(&world.storage.tables) {
            image.seen = table.entities.lane().version();
            for (at, column) in image.columns.iter_mut().enumerate() {
                column.seen = version(column_of(table, at, &world.storage.components).lanes.first());
            }
        }
        for (image, side) in self.sparse.iter_mut().zip(world.storage.sparse.iter()) {
            image.seen = [key_lane(side).version(), version(side.values().lanes().first())];
        }
    }

    /// Goes back.
    ///
    /// What ends with it ends at last, when the image is as it was.
    pub(super) fn undo(&mut self, step: &mut Step) {
        /// Cuts a list, at last.
        struct Cut<'a, T>(&'a mut Vec<T>, usize);
        impl<T> Drop for Cut<'_, T> {
            fn drop(&mut self) {
                self.0.truncate(self.1);
            }
        }
        (self.reserved, self.time) = (step.reserved, step.time);
        if let Some(undo) = &mut step.words {
            self.words.undo(undo);
        }
        if let Some(undo) = &mut step.stack {
            self.stack.undo(undo);
        }
        for found in &mut step.tables {
            let image = &mut self.tables[found.table as usize];
            image.stamp = found.stamp;
            if let Some(undo) = &mut found.slots {
                image.slots.undo(undo);
            }
            for ColumnStep { at, values, tick } in &mut found.columns {
                let image = &mut image.columns[*at as usize];
                if let Some(undo) = values {
                    image.column.undo(undo);
                }
                image.tick = *tick;
            }
        }
        for found in &mut step.sparse {
            let image = &mut self.sparse[found.side as usize];
            if let Some(undo) = &mut found.keys {
                image.keys.undo(undo);
            }
            if let Some(undo) = &mut found.column {
                image.column.undo(undo);
            }
            image.state = found.state.clone();
            image.tick = found.tick;
        }
        if let Some(groups) = &mut step.groups {
            core::mem::swap(&mut self.groups, groups);
        }
        let _tables = Cut(&mut self.tables, step.table_count);
        let _sides = Cut(&mut self.sparse, step.side_count);
    }

    /// Whether the image is what the world is: what the marks are trusted for. Clones are not compared.
    pub(super) fn is_of(&mut self, world: &World) -> Result<bool, AllocError> {
        let step = self.try_find(world, false, true)?;
        let plain = |undo: &Option<ColumnUndo>| matches!(undo, Some(ColumnUndo::Plain(_)));
        let written = |column: &ColumnStep, known: &ColumnImage| plain(&column.values) || column.tick != known.tick;
        let tables = step.tables.iter().any(|found| {
            let image = &self.tables[found.table as usize];
            let columns = || found.columns.iter().any(|column| written(column, &image.columns[column.at as usize]));
            found.slots.is_some() || found.stamp != image.stamp || columns()
        });
        let other = |side: &SideStep| side.tick != self.sparse[side.side as usize].tick;
        let sparse = step.sparse.iter().any(|side| side.keys.is_some() || plain(&side.column) || other(side));
        Ok(step.words.is_none()
            && step.stack.is_none()
            && !tables
            && !sparse
            && world.storage.sparse.has_groups(&self.groups))
    }
}
