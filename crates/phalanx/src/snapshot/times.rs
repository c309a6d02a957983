//! What was added and changed since a world was settled: the marks of its tracked components.
//!
//! How many queries have run since then, and when, makes no difference.
//!
//! All of it is in one section, the last before the end. So the columns are the same whether a component is tracked or not,
//! and the number for a world is that of everything before it.
#![allow(unsafe_code)]

use super::column::{Runs, Source};
use super::error::{LoadError, Problem, SaveError};
use super::frame::{In, Out, TICKS};
use super::load::Loaded;
use super::save::{OutTable, Saving};
use crate::change_detection::{Marks, RunTicks, Tick, Track, column_mark, marks};
use crate::component::{ComponentId, ComponentInfo};
use crate::sparse::Store;
use crate::world::World;
use phalanx_store::raw::Lane;

/// What a mark says: the value was added, or changed, after the world was [settled](World::clear_trackers) last.
const ADDED: u8 = 1;
const CHANGED: u8 = 2;

/// The times that a loaded world begins with: that of a mark from before it was settled, that at which it was, and the
/// present one. They are those of a world that was settled once.
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

/// The lane of the marks of a tracked component.
///
/// # Safety
///
/// The lanes are the component's, and stay.
unsafe fn mark_lane<'a>(lanes: *const Lane, info: &ComponentInfo) -> &'a Lane {
    // SAFETY: a tracked component has a lane of marks, which is the last.
    unsafe { &*lanes.add(info.lanes.len() - 1) }
}

impl Saving<'_> {
    /// Writes what was added and changed since the world was settled last. Nothing, if that is all there is: a world that was
    /// never settled is no different.
    pub(super) fn write_times(&self, tables: &[OutTable], out: &mut Out<'_>) -> Result<(), SaveError> {
        let clock = &self.world.storage.sparse.clock;
        let Some(settled) = clock.settled() else { return Ok(()) };
        let look = RunTicks { now: clock.now(), since: Some(settled), own: false };
        let track = |number: u32| self.world.storage.components.info(self.components[number as usize].id).track;
        let tracked = (0..self.components.len() as u32).filter(|number| track(*number) != Track::None);
        let (mut is_old, mut count) = (false, 0);
        for number in tracked.clone() {
            self.each_mark(number, tables, look, &mut |marks| {
                is_old |=
                    marks.iter().any(|mark| *mark & CHANGED == 0 || track(number) == Track::Row && *mark & ADDED == 0);
                Ok(())
            })?;
            count += 1;
        }
        if !is_old {
            return Ok(());
        }
        out.begin(TICKS, 0)?;
        out.put_u32(count)?;
        for number in tracked {
            let mut marks = 0;
            self.each_mark(number, tables, look, &mut |block| {
                marks += block.len() as u32;
                Ok(())
            })?;
            out.put_u32(number)?;
            out.put_u8(track_number(track(number)))?;
            out.put_u32(marks)?;
            self.each_mark(number, tables, look, &mut |block| out.put(block))?;
        }
        out.end()
    }

    /// Calls a function with the marks of a component, block by block: one for each column, or for each value.
    fn each_mark(
        &self,
        number: u32,
        tables: &[OutTable],
        look: RunTicks,
        each: &mut dyn FnMut(&[u8]) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        let id = self.components[number as usize].id;
        if let Some(side) = self.world.storage.sparse.of(id) {
            let parts = self.side_form(side)?;
            return self.marks_of(id, &[Source { lanes: side.values().lane(), runs: parts.runs() }], look, each);
        }
        for table in tables.iter().filter(|table| table.components.binary_search(&number).is_ok()) {
            let rows = self.source_rows(table)?;
            self.marks_of(id, &self.sources(number, &rows)?, look, each)?;
        }
        Ok(())
    }

    /// Calls a function with the marks of a component in one column, which may come from several.
    fn marks_of(
        &self,
        id: ComponentId,
        sources: &[Source<'_>],
        look: RunTicks,
        each: &mut dyn FnMut(&[u8]) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        let info = self.world.storage.components.info(id);
        // SAFETY: the lanes are the component's, and the world is borrowed.
        let lane = |source: &Source<'_>| unsafe { mark_lane(source.lanes, info) };
        if info.track == Track::Column {
            let is_changed = sources.iter().any(|source| look.is_new(column_mark(lane(source), look)));
            return each(&[if is_changed { CHANGED } else { 0 }]);
        }
        let mut block = [0; 1024];
        for source in sources {
            let mut rows = source.runs.rows();
            loop {
                let mut len = 0;
                // The place comes first: where there is none, no row is lost.
                for (place, row) in block.iter_mut().zip(rows.by_ref()) {
                    // SAFETY: the row is in use, and marks are there where values are; the world is borrowed.
                    let Marks { added, changed } = unsafe { marks(lane(source), row as usize).read() };
                    *place = (u8::from(look.is_new(added)) * ADDED) | (u8::from(look.is_new(changed)) * CHANGED);
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

/// The lanes of a component in all places, with the rows that are in use, in the order of the snapshot.
fn each_column(
    world: &World,
    id: ComponentId,
    mut each: impl FnMut(*const Lane, &mut dyn Iterator<Item = u32>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    if let Some(side) = world.storage.sparse.of(id) {
        let lanes = side.values().lane();
        return match &side.store {
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

/// Marks all values of a component as new.
fn renew(world: &World, id: ComponentId) -> Result<(), LoadError> {
    let (info, now) = (world.storage.components.info(id), world.change_tick());
    if info.track == Track::None {
        return Ok(());
    }
    each_column(world, id, |lanes, rows| {
        // SAFETY: the lanes are the component's, and the rows are in use; the world is being loaded, and nobody else's.
        unsafe {
            let lane = mark_lane(lanes, info);
            match info.track {
                Track::Row => rows.for_each(|row| marks(lane, row as usize).write(Marks::new(now))),
                _ => lane.set_version(u64::from(now.0)),
            }
        }
        Ok(())
    })
}

/// Reads the marks. What is tracked and has none is new.
pub(super) fn read(input: &mut In<'_>, world: &mut World, components: &[Loaded<'_>]) -> Result<(), LoadError> {
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

/// Reads the marks of a component; passes over them if it is not tracked in this way.
fn read_component(input: &mut In<'_>, world: &World, loaded: &Loaded<'_>) -> Result<(), LoadError> {
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
    if found != expected {
        return Err(input.error(Problem::Count { what, found, expected }));
    }
    let known = track == track_number(info.track);
    let time = |mark: u8, bit: u8| if mark & bit == 0 { OLD } else { NOW };
    each_column(world, id, |lanes, rows| {
        if track == 1 {
            let mark = input.u8()?;
            if mark & !CHANGED != 0 {
                return input.invalid("a column that is neither changed nor not");
            }
            if known {
                // SAFETY: the lanes are the component's.
                unsafe { mark_lane(lanes, info) }.set_version(u64::from(time(mark, CHANGED).0));
            }
            return Ok(());
        }
        let mut block = [0; 256];
        loop {
            // As many rows as a block has marks for.
            let mut of_block = [0_u32; 256];
            let mut len = 0;
            for (place, row) in of_block.iter_mut().zip(&mut *rows) {
                *place = row;
                len += 1;
            }
            if len == 0 {
                return Ok(());
            }
            input.take(&mut block[..len])?;
            if block[..len].iter().any(|mark| ![0, CHANGED, ADDED | CHANGED].contains(mark)) {
                return input.invalid("a value that was added and not changed, or neither added nor not");
            }
            if known {
                for (row, mark) in of_block[..len].iter().zip(block) {
                    let new = Marks { added: time(mark, ADDED), changed: time(mark, CHANGED) };
                    // SAFETY: the lane is the component's, the row is in use, and nobody else has the world.
                    unsafe { marks(mark_lane(lanes, info), *row as usize).write(new) };
                }
            }
        }
    })?;
    if known { Ok(()) } else { renew(world, id) }
}
