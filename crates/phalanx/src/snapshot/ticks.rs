//! Saves and loads change ticks: which values were added and changed since the last [`World::clear_trackers`].
//!
//! The number of queries that ran since then does not affect the result.
//!
//! The ticks are in one section, the last before the end. So columns do not depend on tracking, and the checksum of a world
//! is that of everything before this section.
#![allow(unsafe_code)]

use super::column::ColumnRows;
use super::error::{LoadError, SaveError};
use super::format::TICKS;
use super::loader::Loaded;
use super::reader::Reader;
use super::runs::Runs;
use super::saver::{SavedTable, Saver};
use super::writer::Writer;
use crate::change_detection::{ComponentTicks, RunTicks, Tick, Track, column_tick, ticks_at};
use crate::component::{ComponentId, ComponentInfo};
use crate::sparse::Store;
use crate::world::World;
use phalanx_store::raw::Lane;

/// The bits of a change: the value was added, or changed, after the last [`World::clear_trackers`].
const ADDED: u8 = 1;
const CHANGED: u8 = 2;

/// The ticks of a loaded world: that of older changes, that of `clear_trackers`, and the present one. They are those of a
/// world that was settled once.
const OLD: Tick = Tick(1);
const SETTLED: Tick = Tick(2);
const NOW: Tick = Tick(3);

fn track_number(track: Track) -> u8 {
    match track {
        Track::None => 0,
        Track::Column => 1,
        Track::Row => 2,
    }
}

/// Returns the lane of the change ticks of a tracked component.
///
/// # Safety
///
/// The lanes are those of the component, and outlive `'a`.
unsafe fn tick_lane<'a>(lanes: *const Lane, info: &ComponentInfo) -> &'a Lane {
    // SAFETY: the last lane of a tracked component is that of its ticks, by the caller's contract.
    unsafe { &*lanes.add(info.lanes.len() - 1) }
}

impl Saver<'_> {
    /// Writes the changes since the last [`World::clear_trackers`]. Writes nothing if all values were changed since then,
    /// as in a world that was never settled.
    pub(super) fn write_ticks(&self, tables: &[SavedTable], out: &mut Writer<'_>) -> Result<(), SaveError> {
        let clock = &self.world.storage.sparse.clock;
        let Some(settled) = clock.cleared() else { return Ok(()) };
        let ticks = RunTicks { now: clock.now(), since: Some(settled), own: false };
        let track = |number: u32| self.world.storage.components.info(self.components[number as usize].id).track;
        let tracked = (0..self.components.len() as u32).filter(|number| track(*number) != Track::None);
        let (mut is_old, mut components) = (false, 0);
        for number in tracked.clone() {
            self.for_each_change(number, tables, ticks, &mut |changes| {
                is_old |= changes
                    .iter()
                    .any(|change| *change & CHANGED == 0 || track(number) == Track::Row && *change & ADDED == 0);
                Ok(())
            })?;
            components += 1;
        }
        if !is_old {
            return Ok(());
        }
        out.begin(TICKS, 0)?;
        out.put_u32(components)?;
        for number in tracked {
            let mut count = 0;
            self.for_each_change(number, tables, ticks, &mut |block| {
                count += block.len() as u32;
                Ok(())
            })?;
            out.put_u32(number)?;
            out.put_u8(track_number(track(number)))?;
            out.put_u32(count)?;
            self.for_each_change(number, tables, ticks, &mut |block| out.put(block))?;
        }
        out.end()
    }

    /// Calls a function with the changes of a component, in blocks: one for each column, or for each value.
    fn for_each_change(
        &self,
        number: u32,
        tables: &[SavedTable],
        ticks: RunTicks,
        each: &mut dyn FnMut(&[u8]) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        let id = self.components[number as usize].id;
        if let Some(storage) = self.world.storage.sparse.of(id) {
            let parts = self.sparse_parts(storage)?;
            return self.changes_of(
                id,
                &[ColumnRows { lanes: storage.values().lane(), runs: parts.runs() }],
                ticks,
                each,
            );
        }
        for table in tables.iter().filter(|table| table.components.binary_search(&number).is_ok()) {
            let rows = self.source_rows(table)?;
            self.changes_of(id, &self.sources(number, &rows)?, ticks, each)?;
        }
        Ok(())
    }

    /// Calls a function with the changes of a component in one column of the snapshot.
    fn changes_of(
        &self,
        id: ComponentId,
        sources: &[ColumnRows<'_>],
        ticks: RunTicks,
        each: &mut dyn FnMut(&[u8]) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        let info = self.world.storage.components.info(id);
        // SAFETY: the lanes are those of the component, and the world is borrowed.
        let lane = |source: &ColumnRows<'_>| unsafe { tick_lane(source.lanes, info) };
        if info.track == Track::Column {
            let is_changed = sources.iter().any(|source| ticks.is_new(column_tick(lane(source), ticks)));
            return each(&[if is_changed { CHANGED } else { 0 }]);
        }
        let mut block = [0; 1024];
        for source in sources {
            let mut rows = source.runs.rows();
            loop {
                let mut len = 0;
                // The block comes first in the zip: when it is full, no row is lost.
                for (item, row) in block.iter_mut().zip(rows.by_ref()) {
                    // SAFETY: the row is in use, so that its ticks are initialised. The world is borrowed.
                    let ComponentTicks { added, changed } = unsafe { ticks_at(lane(source), row as usize).read() };
                    *item = (u8::from(ticks.is_new(added)) * ADDED) | (u8::from(ticks.is_new(changed)) * CHANGED);
                    len += 1;
                }
                each(&block[..len])?;
                if len < block.len() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Calls a function with the lanes of a component and the rows in use, for each table or storage, in the order of the
/// snapshot.
fn each_column(
    world: &World,
    id: ComponentId,
    mut each: impl FnMut(*const Lane, &mut dyn Iterator<Item = u32>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    if let Some(storage) = world.storage.sparse.of(id) {
        let lanes = storage.values().lane();
        return match &storage.store {
            Store::Pool(pool) => {
                let dense = &pool.dense;
                each(lanes, &mut (0..dense.positions()).filter(|at| dense.key_at(*at).is_some()))
            }
            Store::Linear(linear) => each(lanes, &mut Runs::Bits(linear.words()).rows()),
        };
    }
    for (lanes, table) in world.storage.lanes_of(id).iter().zip(&world.storage.tables) {
        if !lanes.is_null() {
            each(*lanes, &mut (0..table.len))?;
        }
    }
    Ok(())
}

/// Sets the ticks of all values of a component to now.
fn renew(world: &World, id: ComponentId) -> Result<(), LoadError> {
    let (info, now) = (world.storage.components.info(id), world.change_tick());
    if info.track == Track::None {
        return Ok(());
    }
    each_column(world, id, |lanes, rows| {
        // SAFETY: the lanes are those of the component, and the rows are in use. The world is being loaded and not shared.
        unsafe {
            let lane = tick_lane(lanes, info);
            match info.track {
                Track::Row => rows.for_each(|row| ticks_at(lane, row as usize).write(ComponentTicks::new(now))),
                _ => lane.set_version(u64::from(now.0)),
            }
        }
        Ok(())
    })
}

/// Reads the section of ticks. Tracked components without ticks count as changed now.
pub(super) fn read(input: &mut Reader<'_>, world: &mut World, components: &[Loaded<'_>]) -> Result<(), LoadError> {
    world.storage.sparse.clock.restore(NOW, Some(SETTLED));
    let (count, mut next) = (input.u32()?, 0);
    for _ in 0..count {
        let number = input.u32()? as usize;
        let Some(loaded) = components.get(number) else {
            return input.invalid("ticks of a component that there is not");
        };
        if number < next {
            return input.invalid("ticks of components that are not in their order");
        }
        components[next..number].iter().try_for_each(|other| renew(world, other.id))?;
        read_component(input, world, loaded)?;
        next = number + 1;
    }
    components[next..].iter().try_for_each(|other| renew(world, other.id))?;
    input.end_section()
}

/// Reads the changes of a component. Ignores them if the component is tracked in another way.
fn read_component(input: &mut Reader<'_>, world: &World, loaded: &Loaded<'_>) -> Result<(), LoadError> {
    let id = loaded.id;
    let info = world.storage.components.info(id);
    let (mut columns, mut values) = (0, 0);
    each_column(world, id, |_, rows| {
        (columns, values) = (columns + 1, values + rows.count() as u64);
        Ok(())
    })?;
    let (track, found) = (input.u8()?, u64::from(input.u32()?));
    let (what, expected) = match track {
        1 => ("columns with ticks", columns),
        2 => ("values with ticks", values),
        _ => return input.invalid("ticks that are neither of columns nor of rows"),
    };
    input.check_equal(what, found, expected)?;
    let known = track == track_number(info.track);
    let time = |change: u8, bit: u8| if change & bit == 0 { OLD } else { NOW };
    each_column(world, id, |lanes, rows| {
        if track == 1 {
            let change = input.u8()?;
            if change & !CHANGED != 0 {
                return input.invalid("a column that is neither changed nor not");
            }
            if known {
                // SAFETY: the lanes are those of the component.
                unsafe { tick_lane(lanes, info) }.set_version(u64::from(time(change, CHANGED).0));
            }
            return Ok(());
        }
        let mut block = [0; 256];
        loop {
            // The rows of the next block.
            let mut of_block = [0_u32; 256];
            let mut len = 0;
            for (item, row) in of_block.iter_mut().zip(&mut *rows) {
                *item = row;
                len += 1;
            }
            if len == 0 {
                return Ok(());
            }
            input.take(&mut block[..len])?;
            if block[..len].iter().any(|change| ![0, CHANGED, ADDED | CHANGED].contains(change)) {
                return input.invalid("a value that was added and not changed, or neither added nor not");
            }
            if known {
                for (row, change) in of_block[..len].iter().zip(block) {
                    let new = ComponentTicks { added: time(change, ADDED), changed: time(change, CHANGED) };
                    // SAFETY: the lanes are those of the component, and the row is in use. The world is not shared.
                    unsafe { ticks_at(tick_lane(lanes, info), *row as usize).write(new) };
                }
            }
        }
    })?;
    if known { Ok(()) } else { renew(world, id) }
}
