//! When values came and were changed: the clock of a world, and the marks of its tracked components.
//!
//! All of it is in one section, the last before the end. So the columns are the same whether a component is tracked or not,
//! and the number for a world is that of everything before it.
#![allow(unsafe_code)]

use super::column::{Runs, Source};
use super::error::{LoadError, Problem, SaveError};
use super::frame::{In, Out, TICKS};
use super::load::Loaded;
use super::save::{OutTable, Saving};
use crate::component::{ComponentId, ComponentInfo};
use crate::layout::Kind;
use crate::side::Store;
use crate::track::{Marks, Tick, Track, marks};
use crate::world::World;
use phalanx_store::raw::Lane;

/// The age of the oldest mark that is written as it is: what is older is as old as this. A mark that seems to be older was
/// not made yet by then.
const OLDEST: u32 = u32::MAX / 2;

/// A tick that is not older than the oldest.
fn bounded(now: Tick, tick: Tick) -> u32 {
    if now.0.wrapping_sub(tick.0) > OLDEST { now.0.wrapping_sub(OLDEST) } else { tick.0 }
}

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

/// The marks of a column: the last, and the one before it, or 0.
#[derive(Clone, Copy, Default)]
struct ColumnMarks {
    last: u32,
    before: u32,
}

impl ColumnMarks {
    fn of(lane: &Lane) -> ColumnMarks {
        ColumnMarks { last: lane.version() as u32, before: (lane.version() >> 32) as u32 }
    }

    fn put(self, lane: &Lane) {
        lane.set_version(u64::from(self.before) << 32 | u64::from(self.last));
    }

    fn bounded(self, now: Tick) -> ColumnMarks {
        let bound = |tick| if tick == 0 { 0 } else { bounded(now, Tick(tick)) };
        ColumnMarks { last: bound(self.last), before: bound(self.before) }
    }

    /// The marks of two columns that become one.
    fn join(self, other: ColumnMarks, now: Tick) -> ColumnMarks {
        let age = |tick: u32| if tick == 0 { u32::MAX } else { now.0.wrapping_sub(tick) };
        let younger = |a: u32, b: u32| if age(b) < age(a) { b } else { a };
        let last = younger(self.last, other.last);
        let before = |marks: ColumnMarks| if marks.last == last { marks.before } else { marks.last };
        ColumnMarks { last, before: younger(before(self), before(other)) }
    }
}

impl Saving<'_> {
    /// Writes the clock and all marks. Nothing, if no component is tracked and the clock stands where it began.
    pub(super) fn write_times(&self, tables: &[OutTable], out: &mut Out<'_>) -> Result<(), SaveError> {
        let clock = &self.world.sides.clock;
        let (now, info) = (clock.now(), |number: u32| self.world.components.info(self.components[number as usize].id));
        let tracked = (0..self.components.len() as u32).filter(|number| info(*number).track != Track::None);
        let count = tracked.clone().count();
        if count == 0 && clock.is_fresh() {
            return Ok(());
        }
        out.begin(TICKS, 0)?;
        out.put_u32(now.0)?;
        out.put_u8(u8::from(clock.settled().is_some()))?;
        out.put_u32(clock.settled().map_or(0, |settled| bounded(now, settled)))?;
        out.put_u32(count as u32)?;
        for number in tracked {
            out.put_u32(number)?;
            out.put_u8(track_number(info(number).track))?;
            match info(number).kind {
                Kind::Table => self.write_table_times(number, tables, out)?,
                Kind::Pool | Kind::Linear => self.write_side_times(number, out)?,
            }
        }
        out.end()
    }

    fn write_table_times(&self, number: u32, tables: &[OutTable], out: &mut Out<'_>) -> Result<(), SaveError> {
        let info = self.world.components.info(self.components[number as usize].id);
        let having = tables.iter().filter(|table| table.components.contains(&number));
        if info.track == Track::Column {
            let now = self.world.tick();
            out.put_u32(having.clone().count() as u32)?;
            for table in having {
                let rows = self.source_rows(table)?;
                let sources = self.sources(number, &rows)?;
                // SAFETY: the lanes are the component's, and the world is borrowed.
                let each = sources.iter().map(|source| ColumnMarks::of(unsafe { mark_lane(source.lanes, info) }));
                put_column(each.reduce(|a, b| a.join(b, now)).unwrap_or_default(), now, out)?;
            }
            return Ok(());
        }
        let mut values = 0;
        for table in having.clone() {
            values += self.source_rows(table)?.iter().map(|rows| rows.runs().len()).sum::<u32>();
        }
        out.put_u32(values)?;
        for table in having {
            let rows = self.source_rows(table)?;
            for source in self.sources(number, &rows)? {
                // SAFETY: the lanes are the component's, whose rows are in use, and the world is borrowed.
                unsafe { self.put_rows(source, info, out)? };
            }
        }
        Ok(())
    }

    fn write_side_times(&self, number: u32, out: &mut Out<'_>) -> Result<(), SaveError> {
        let id = self.components[number as usize].id;
        let info = self.world.components.info(id);
        let Some(side) = self.world.sides.of(id) else { return out.put_u32(0) };
        if info.track == Track::Column {
            out.put_u32(1)?;
            // SAFETY: the lanes are the component's, and the world is borrowed.
            let marks = ColumnMarks::of(unsafe { mark_lane(side.values().lane(), info) });
            return put_column(marks, self.world.tick(), out);
        }
        let parts = self.side_form(side)?;
        out.put_u32(parts.runs().len())?;
        // SAFETY: the lanes are the component's, whose rows are in use, and the world is borrowed.
        unsafe { self.put_rows(Source { lanes: side.values().lane(), runs: parts.runs() }, info, out) }
    }

    /// Writes the marks of rows.
    ///
    /// # Safety
    ///
    /// The lanes are those of a component that is tracked row by row; the rows are in use, and not written meanwhile.
    unsafe fn put_rows(&self, source: Source<'_>, info: &ComponentInfo, out: &mut Out<'_>) -> Result<(), SaveError> {
        let now = self.world.tick();
        // SAFETY: the caller's promise.
        let lane = unsafe { mark_lane(source.lanes, info) };
        out.put_u32s(source.runs.rows().flat_map(|row| {
            // SAFETY: as above; marks are there where values are.
            let Marks { added, changed } = unsafe { marks(lane, row as usize).read() };
            [bounded(now, added), bounded(now, changed)]
        }))
    }
}

fn put_column(marks: ColumnMarks, now: Tick, out: &mut Out<'_>) -> Result<(), SaveError> {
    let ColumnMarks { last, before } = marks.bounded(now);
    out.put_u32(last)?;
    out.put_u32(before)
}

/// The lanes of a component in all places, with the rows that are in use, in the order of the snapshot.
fn each_column(
    world: &World,
    id: ComponentId,
    mut each: impl FnMut(*const Lane, &mut dyn Iterator<Item = u32>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    if let Some(side) = world.sides.of(id) {
        let lanes = side.values().lane();
        return match &side.store {
            Store::Pool(pool) => {
                let dense = &pool.dense;
                each(lanes, &mut (0..dense.positions()).filter(|at| dense.key_at(*at).is_some()))
            }
            Store::Linear(linear) => each(lanes, &mut Runs::Bits(linear.words()).rows()),
        };
    }
    for (lanes, table) in world.lanes_of(id).iter().zip(&world.tables) {
        if !lanes.is_null() {
            each(*lanes, &mut (0..table.len))?;
        }
    }
    Ok(())
}

/// Marks all values of a component as new.
fn renew(world: &World, id: ComponentId) -> Result<(), LoadError> {
    let (info, now) = (world.components.info(id), world.tick());
    if info.track == Track::None {
        return Ok(());
    }
    each_column(world, id, |lanes, rows| {
        // SAFETY: the lanes are the component's, and the rows are in use; the world is being loaded, and nobody else's.
        unsafe {
            let lane = mark_lane(lanes, info);
            match info.track {
                Track::Row => rows.for_each(|row| marks(lane, row as usize).write(Marks::new(now))),
                _ => ColumnMarks { last: now.0, before: 0 }.put(lane),
            }
        }
        Ok(())
    })
}

/// Reads the clock and the marks. What is tracked and has none is new.
pub(super) fn read(input: &mut In<'_>, world: &mut World, components: &[Loaded<'_>]) -> Result<(), LoadError> {
    let now = Tick(input.u32()?);
    let (is_settled, settled) = (input.u8()?, Tick(input.u32()?));
    let settled = match (is_settled, settled) {
        (0, Tick(0)) => None,
        (1, tick) if now.0.wrapping_sub(tick.0) <= OLDEST => Some(tick),
        (1, tick) => return Err(input.error(Problem::Future { name: "the world", tick: tick.0, now: now.0 })),
        _ => return input.invalid("a clock that is neither settled nor not"),
    };
    world.sides.clock.restore(now, settled);
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
    let (id, name, now) = (loaded.id, loaded.entry.name, world.tick());
    let info = world.components.info(id);
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
    let future = |tick: u32| now.0.wrapping_sub(tick) > OLDEST;
    each_column(world, id, |lanes, rows| {
        if track == 1 {
            let marks = ColumnMarks { last: input.u32()?, before: input.u32()? };
            if let Some(tick) = [marks.last, marks.before].into_iter().find(|tick| *tick != 0 && future(*tick)) {
                return Err(input.error(Problem::Future { name, tick, now: now.0 }));
            }
            if known {
                // SAFETY: the lanes are the component's.
                marks.put(unsafe { mark_lane(lanes, info) });
            }
            return Ok(());
        }
        let mut block = [0; 512];
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
            input.numbers(&mut block[..2 * len])?;
            if let Some(&tick) = block[..2 * len].iter().find(|tick| future(**tick)) {
                return Err(input.error(Problem::Future { name, tick, now: now.0 }));
            }
            if known {
                for (row, pair) in of_block[..len].iter().zip(block.chunks_exact(2)) {
                    let new = Marks { added: Tick(pair[0]), changed: Tick(pair[1]) };
                    // SAFETY: the lane is the component's, the row is in use, and nobody else has the world.
                    unsafe { marks(mark_lane(lanes, info), *row as usize).write(new) };
                }
            }
        }
    })?;
    if known { Ok(()) } else { renew(world, id) }
}
