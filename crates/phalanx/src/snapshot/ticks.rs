//! Saves and loads change ticks: which values were added and changed since the last [`World::clear_trackers`].
//!
//! The number of queries that ran since then does not affect the result.
//!
//! The ticks are in one section, the last before the end. So columns do not depend on tracking, and the checksum of a world
//! is that of everything before this section.

use super::column_rows::ColumnRows;
use super::error::{LoadError, SaveError};
use super::format::TICKS;
use super::loader::Loaded;
use super::reader::Reader;
use super::saver::{SavedTable, Saver};
use super::writer::Writer;
use crate::alloc::try_vec;
use crate::change_detection::{ComponentTicks, RunTicks, Tick, Track, column_tick};
use crate::component::ComponentId;
use crate::runs::Runs;
use crate::sparse::Store;
use crate::world::World;

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
        if let Some(storage) = self.sparse_storage(id) {
            let parts = self.sparse_parts(storage)?;
            let source = ColumnRows::of_sparse(&self.world.storage.components, storage, parts.runs());
            return self.changes_of(id, &[source], ticks, each);
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
        if info.track == Track::Column {
            let is_changed = sources
                .iter()
                .filter_map(|source| source.tick_lane())
                .any(|lane| ticks.is_new(column_tick(lane, ticks)));
            return each(&[if is_changed { CHANGED } else { 0 }]);
        }
        let mut block = [0; 1024];
        for source in sources {
            let mut rows = source.row_ticks();
            loop {
                let mut len = 0;
                // The block comes first in the zip: when it is full, no row is lost.
                for (item, row) in block.iter_mut().zip(rows.by_ref()) {
                    let (added, changed) = (ticks.is_new(row.added()), ticks.is_new(row.changed()));
                    *item = (u8::from(added) * ADDED) | (u8::from(changed) * CHANGED);
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

/// Calls a function with the values of a component, for each table or storage, in the order of the snapshot. `bits` has
/// capacity for a bit for each position of a sparse set.
fn each_column(
    world: &World,
    id: ComponentId,
    bits: &mut Vec<u64>,
    mut each: impl FnMut(ColumnRows<'_>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let storage = &world.storage;
    let Some(sparse) = storage.sparse.of(id) else {
        let columns = (0..).zip(&storage.tables);
        let mut columns =
            columns.filter_map(|(number, table)| ColumnRows::of_table(storage, number, id, Runs::All(table.len)));
        return columns.try_for_each(each);
    };
    let runs = match &sparse.store {
        Store::Pool(pool) if pool.dense.holes() == 0 => Runs::All(pool.dense.positions()),
        Store::Pool(pool) => {
            bits.clear();
            bits.resize(pool.dense.positions().div_ceil(64) as usize, 0_u64);
            for at in (0..pool.dense.positions()).filter(|at| pool.dense.key_at(*at).is_some()) {
                bits[at as usize / 64] |= 1 << (at % 64);
            }
            Runs::Bits(bits)
        }
        Store::Linear(linear) => Runs::Bits(linear.words()),
    };
    each(ColumnRows::of_sparse(&storage.components, sparse, runs))
}

/// Sets the ticks of all values of a component to now.
fn renew(world: &World, id: ComponentId, bits: &mut Vec<u64>) -> Result<(), LoadError> {
    let (info, now) = (world.storage.components.info(id), world.change_tick());
    if info.track == Track::None {
        return Ok(());
    }
    each_column(world, id, bits, |column| {
        match info.track {
            Track::Row => column.row_ticks().for_each(|ticks| ticks.set(ComponentTicks::new(now))),
            _ => column.tick_lane().into_iter().for_each(|lane| lane.set_version(u64::from(now.0))),
        }
        Ok(())
    })
}

/// Reads the section of ticks. Tracked components without ticks count as changed now, and so do resources.
pub(super) fn read(input: &mut Reader<'_>, world: &mut World, components: &[Loaded<'_>]) -> Result<(), LoadError> {
    world.storage.sparse.clock.restore(NOW, Some(SETTLED));
    world.resources.renew(NOW);
    let sets = world.storage.sparse.iter().filter_map(|storage| match &storage.store {
        Store::Pool(pool) => Some(pool.dense.positions().div_ceil(64)),
        Store::Linear(_) => None,
    });
    let mut bits = input.check(try_vec(sets.max().unwrap_or(0) as usize))?;
    let (count, mut next) = (input.u32()?, 0);
    for _ in 0..count {
        let number = input.u32()? as usize;
        let Some(loaded) = components.get(number) else {
            return input.invalid("ticks of a component that there is not");
        };
        if number < next {
            return input.invalid("ticks of components that are not in their order");
        }
        components[next..number].iter().try_for_each(|other| renew(world, other.id, &mut bits))?;
        read_component(input, world, loaded, &mut bits)?;
        next = number + 1;
    }
    components[next..].iter().try_for_each(|other| renew(world, other.id, &mut bits))?;
    input.end_section()
}

/// Reads the changes of a component. Ignores them if the component is tracked in another way.
fn read_component(
    input: &mut Reader<'_>,
    world: &World,
    loaded: &Loaded<'_>,
    bits: &mut Vec<u64>,
) -> Result<(), LoadError> {
    let id = loaded.id;
    let info = world.storage.components.info(id);
    let (mut columns, mut values) = (0, 0);
    each_column(world, id, bits, |column| {
        (columns, values) = (columns + 1, values + u64::from(column.len()));
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
    each_column(world, id, bits, |column| {
        if track == 1 {
            let change = input.u8()?;
            if change & !CHANGED != 0 {
                return input.invalid("a column that is neither changed nor not");
            }
            if let (true, Some(lane)) = (known, column.tick_lane()) {
                lane.set_version(u64::from(time(change, CHANGED).0));
            }
            return Ok(());
        }
        let (mut block, mut left) = ([0; 256], column.len() as usize);
        let mut ticks = column.row_ticks();
        while left > 0 {
            let block = &mut block[..left.min(256)];
            left -= block.len();
            input.take(block)?;
            if block.iter().any(|change| ![0, CHANGED, ADDED | CHANGED].contains(change)) {
                return input.invalid("a value that was added and not changed, or neither added nor not");
            }
            if known {
                for (&change, ticks) in block.iter().zip(&mut ticks) {
                    ticks.set(ComponentTicks { added: time(change, ADDED), changed: time(change, CHANGED) });
                }
            }
        }
        Ok(())
    })?;
    if known { Ok(()) } else { renew(world, id, bits) }
}
