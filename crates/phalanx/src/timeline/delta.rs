//! What differs between two states of a world, as bytes.
//!
//! # Format
//!
//! Numbers are little-endian. A head; the checksum of the first state; the fingerprints of the components that are part of either,
//! in [canonical](super::canonical) order, by whose positions they are named from there on. Then the arrays of the second state in
//! canonical form, its tables in the order in which they are visited, each as the rows it has, and the runs in which it differs from the array of the first state that has its place. A table
//! or side that is not part of the first state differs from an empty one. At last the groups: whether each was there, its
//! components, and the members of one that owns nothing. The last 8 bytes are a checksum of all before.
//!
//! Of a component that is tracked there is also what has happened to its values: which were added, and which were changed. When
//! that was is not told. To the world that the delta is applied to, it happens then.
//!
//! # Hostile bytes
//!
//! An array cannot grow by more rows than there are bytes for. What was read is checked as a state, see `check`, before a
//! world is made of it; groups are made anew, of what their members have. The checksums are no protection against forgery, and nothing relies on them.
#![allow(unsafe_code)]

use super::Checkpoint;
use super::array::Array;
use super::bytes::{Reader, SHORT, Writer};
use super::canonical::{Canonical, GroupForm, Numbering, Past, TableForm, checksum, marked, touched};
use super::check::{check, count_rows};
use super::column::Column;
use super::context::Context;
use super::error::DeltaError;
use super::image::{ColumnImage, Image, Known, SideImage, SideState, TableImage};
use super::rollback_report::RollbackReport;
use super::values::check_values;
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::{Marks, Track};
use crate::checksum::Sum;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::sparse::{Removal, SavedGroup, SparseSetState, SparseStorages, max_group_steps};
use crate::world::World;
use phalanx_store::Entity;

/// The head of all deltas: what they are, and the order of bytes in values.
const HEAD: [u8; 8] = if cfg!(target_endian = "little") { *b"PHXDLT2L" } else { *b"PHXDLT2B" };

fn damaged<T>(what: &'static str) -> Result<T, DeltaError> {
    Err(DeltaError::Damaged { what })
}

/// Returns what leads from one state of a world to another, as bytes, for a world that is in the first.
///
/// Resources are not part of it, also if they are [kept](World::keep_resource).
///
/// ```
/// use phalanx::timeline::delta;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(plain)]
/// struct Health(u32);
///
/// let mut here = World::new();
/// let hero = here.spawn(Health(10));
/// let mut there = here.clone_world();
///
/// let before = here.checkpoint()?;
/// here.get_mut::<Health>(hero)?.0 = 9;
/// let bytes = delta(&before, &here.checkpoint()?)?;
///
/// there.apply_delta(&bytes)?;
/// assert_eq!(there.get::<Health>(hero)?, &Health(9));
/// // Not a second time: it is not in the first state any more.
/// assert!(there.apply_delta(&bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`DeltaError::Foreign`] if the two are of different worlds.
/// - [`DeltaError::NotPlain`] if a component that has values is not plain data.
/// - [`DeltaError::TooMany`] if more entities are reserved than there are slots, and 65,536.
/// - [`DeltaError::OtherComponents`] if two components of the world cannot be told apart by name and layout.
/// - [`DeltaError::Alloc`] if allocation fails.
pub fn delta(base: &Checkpoint, target: &Checkpoint) -> Result<Vec<u8>, DeltaError> {
    let (base, target) = (&base.image, &target.image);
    if base.space != target.space {
        return Err(DeltaError::Foreign);
    }
    // Components keep their ids: the later of the two states knows those of both.
    let known = if base.components.len() > target.components.len() { &base.components } else { &target.components };
    for image in [base, target] {
        can_write(image, known)?;
    }
    let numbering = Numbering::try_of(&[base, target], known)?;
    let prints = || numbering.ids().iter().map(|id| known[id.index()].print);
    let mut sorted = try_vec(numbering.ids().len())?;
    sorted.extend(prints());
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(DeltaError::OtherComponents);
    }
    let (old, new) = (Canonical::try_new(base, &numbering)?, Canonical::try_new(target, &numbering)?);
    let past = Past::try_new(&old)?;
    let mut out = Writer(Vec::new());
    out.bytes(&HEAD)?;
    out.long(checksum(base, known)?)?;
    out.number(numbering.ids().len() as u32)?;
    prints().try_for_each(|print| out.long(print))?;
    out.array(&base.words, &target.words)?;
    out.array(&base.stack, &target.stack)?;
    target.reserved.iter().try_for_each(|count| out.number(*count))?;
    let info = |number: u32| &known[numbering.ids()[number as usize].index()];
    out.number(new.tables.len() as u32)?;
    for table in &new.tables {
        out.table(table, old.table(table.is_extra, &table.components), &past, info)?;
    }
    out.number(new.sparse.len() as u32)?;
    for side in &new.sparse {
        let was = old.side(side.number);
        out.number(side.number)?;
        if let SideState::Pool(state) = &side.image.state {
            out.number(state.removal as u32)?;
        }
        out.array(was.map_or(&Array::empty(side.keys.row_size()), |was| &was.keys), &side.keys)?;
        let (column, known, marks) = (&side.image.column, info(side.number), past.try_of_side(side.number)?);
        let rows = side_rows(&side.image.state, &side.keys);
        match known.track {
            Track::None => {}
            Track::Column => {
                let is_touched = was.is_none_or(|was| was.image.tick != side.image.tick);
                out.number(u32::from(is_touched))?;
            }
            Track::Row => {
                let mut list = Array::try_zeros(rows.unwrap_or(0), 1)?;
                each_value(&side.image.state, &side.keys, |row, key| {
                    let before = key.map_or_else(|| marks.of_slot(row), |key| marks.of_key(key));
                    if let (Some(now), Some(byte)) = (column.marks(row), list.bytes_mut().get_mut(row as usize)) {
                        *byte = touched(before, now);
                    }
                });
                out.array(&Array::try_zeros(list.rows(), 1)?, &list)?;
            }
        }
        out.column(known, was.map(|was| &was.image.column), column)?;
    }
    out.number(new.groups.len() as u32)?;
    for group in &new.groups {
        let was = old.groups.iter().any(|old| old.serial == group.serial);
        out.number(u32::from(was))?;
        group.lists.iter().chain([&group.members]).try_for_each(|list| out.numbers(list))?;
    }
    let sum = sum_of(&out.0);
    out.long(sum)?;
    Ok(out.0)
}

/// Returns the checksum of bytes: it stands at their end.
fn sum_of(bytes: &[u8]) -> u64 {
    let mut sum = Sum::default();
    sum.update(bytes);
    sum.finish()
}

impl Writer {
    fn table<'a>(
        &mut self,
        table: &TableForm<'_>,
        old: Option<&TableForm<'_>>,
        past: &Past<'_>,
        info: impl Fn(u32) -> &'a Known,
    ) -> Result<(), DeltaError> {
        self.number(u32::from(table.is_extra))?;
        self.numbers(&table.components)?;
        self.array(old.map_or(&Array::empty(8), |old| &old.image.slots), &table.image.slots)?;
        let first = usize::from(table.is_extra);
        if let Some(labels) = &table.labels {
            let old = old.and_then(|old| Some((old.labels.as_ref()?, old.image.columns.first()?.column.arrays())));
            for (at, array) in table.image.columns[0].column.arrays().iter().enumerate() {
                let array = if at == 1 { labels } else { array };
                match old {
                    None => self.array(&Array::empty(8), array)?,
                    Some((labels, _)) if at == 1 => self.array(labels, array)?,
                    Some((_, arrays)) => self.array(&arrays[at], array)?,
                }
            }
        }
        for (at, (&number, image)) in table.components.iter().zip(&table.image.columns[first..]).enumerate() {
            let (known, was) = (info(number), old.map(|old| &old.image.columns[first + at]));
            match known.track {
                Track::None => {}
                Track::Column => {
                    self.number(u32::from(was.is_none_or(|was| was.tick != image.tick)))?;
                }
                Track::Row => {
                    let mut list = Array::try_zeros(table.image.slots.rows(), 1)?;
                    for ((row, slot), byte) in (0..).zip(table.image.slots.pairs()).zip(list.bytes_mut()) {
                        if let Some(now) = image.column.marks(row) {
                            *byte = touched(past.of_table(slot, number), now);
                        }
                    }
                    self.array(&Array::try_zeros(list.rows(), 1)?, &list)?;
                }
            }
            self.column(known, was.map(|was| &was.column), &image.column)?;
        }
        Ok(())
    }
}

/// Returns how many rows the values of a side lie in.
fn side_rows(state: &SideState, keys: &Array) -> Option<u32> {
    match state {
        SideState::Pool(_) => Some(keys.rows()),
        SideState::Linear { .. } => keys.rows().checked_mul(64),
    }
}

/// Calls a function with the row of each value of a side, and its key if it is a pool.
fn each_value(state: &SideState, keys: &Array, mut each: impl FnMut(u32, Option<[u32; 2]>)) {
    match state {
        SideState::Pool(_) => {
            let keys = (0..).zip(keys.pairs()).filter(|(_, key)| key[1] >> 31 == 0);
            keys.for_each(|(row, key)| each(row, Some(key)));
        }
        SideState::Linear { .. } => super::check::bits(keys.bytes()).for_each(|slot| each(slot as u32, None)),
    }
}

/// How many entities are believed to be reserved, beside as many as there are slots.
const MOST: u32 = 1 << 16;

/// That a state can be written as bytes and read from any.
fn can_write(image: &Image, known: &[Known]) -> Result<(), DeltaError> {
    let tables = image.tables.iter().filter(|table| table.slots.rows() > 0).flat_map(|table| table.signature.iter());
    let sparse = image.sparse.iter().filter(|side| side.keys.rows() > 0).map(|side| side.id);
    let blamed = tables.chain(sparse).map(|id| &known[id.index()]).filter(|known| !known.is_plain);
    if let Some(known) = blamed.min_by_key(|known| known.rank) {
        return Err(DeltaError::NotPlain { component: known.name });
    }
    can_reserve(image)
}

/// That what is reserved is believed.
fn can_reserve(image: &Image) -> Result<(), DeltaError> {
    let [reserved, pending] = image.reserved.map(u64::from);
    match reserved + pending > u64::from(image.words.rows()) + u64::from(MOST) {
        true => Err(DeltaError::TooMany { what: "reserved entities" }),
        false => Ok(()),
    }
}

impl World {
    /// Brings the world from the first state of a [`delta`] to the second.
    ///
    /// The world need not be a copy of the other: it must be in the same state, and know the components that the delta names,
    /// in any order of registration. [`register`](World::register) makes a component known that no entity has had yet.
    ///
    /// Afterwards entities, rows, stores, groups and their orders are exactly those of the second state. Values that the delta
    /// adds or changes count as added and changed now, where they are [tracked](crate::change_detection). All others stay as they were
    /// marked.
    ///
    /// Not part of it are resources, listeners and component ids: they stay. The delta itself is no signal. It may lead to a
    /// state that is older, and does not say so. So it empties all [collectors](crate::signal#back-in-time): drain them before.
    ///
    /// # Errors
    ///
    /// - [`DeltaError::OtherBase`] if the world is not in the first state.
    /// - [`DeltaError::OtherComponents`] if it does not know a component of the delta.
    /// - [`DeltaError::NotPlain`] if a component is not plain data.
    /// - [`DeltaError::Damaged`] if the bytes are no delta of this version and machine, or are damaged.
    /// - [`DeltaError::TooMany`] if they reserve more entities than there are slots, and 65,536.
    /// - [`DeltaError::Alloc`] if allocation fails.
    ///
    /// On error the world is unchanged.
    pub fn apply_delta(&mut self, bytes: &[u8]) -> Result<(), DeltaError> {
        // A fuzzer does not find checksums.
        self.try_apply(bytes, !cfg!(fuzzing), None)
    }

    /// Applies a delta as [`apply_delta`](World::apply_delta) does, and reports which entities it removed and restored.
    ///
    /// # Errors
    ///
    /// As [`apply_delta`](World::apply_delta).
    pub fn apply_delta_with_report(&mut self, bytes: &[u8]) -> Result<RollbackReport, DeltaError> {
        let mut report = RollbackReport::default();
        self.try_apply(bytes, !cfg!(fuzzing), Some(&mut report))?;
        Ok(report)
    }

    /// Does what [`apply_delta`](World::apply_delta) does; checksums count only if they are asked for.
    fn try_apply(&mut self, bytes: &[u8], summed: bool, report: Option<&mut RollbackReport>) -> Result<(), DeltaError> {
        let base = Image::try_new(self)?;
        can_write(&base, &base.components)?;
        let delta_len = bytes.len();
        let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or(SHORT)?;
        let mut input = Reader(bytes);
        if input.bytes(8)? != HEAD {
            return damaged("no delta, or one of another version or machine");
        }
        if summed && sum_of(bytes) != u64::from_le_bytes(*sum) {
            return damaged("the checksum is another");
        }
        let start = input.long()?;
        if summed && start != checksum(&base, &base.components)? {
            return Err(DeltaError::OtherBase);
        }
        let numbering = self.try_numbering(&base, &mut input)?;
        let old = Canonical::try_new(&base, &numbering)?;
        let image = self.try_read(&old, &numbering, &mut input)?;
        let groups = try_groups(&old.groups, &mut input)?;
        if !input.0.is_empty() {
            return damaged("bytes after the end");
        }
        can_reserve(&image)?;
        check(&image, self.storage.components.len())?;
        check_values(&image, &self.storage.components)?;
        // SAFETY: the state was checked: it is one that a world with these components can be in.
        let mut fresh = unsafe { image.try_restore(self)? };
        fresh.storage.sparse.clock = self.storage.sparse.clock.carry();
        let sketches = try_sketches(groups, &numbering, &fresh.storage.sparse)?;
        let (entities, tables) = (&fresh.storage.entities, &fresh.storage.tables);
        // SAFETY: both are those of the restored state, which has a location for every slot.
        let slot = |index| unsafe { crate::storage::Storage::slot_at(entities, tables, index) };
        // A slot takes about so many bytes of a state.
        let most = max_group_steps(delta_len as u64 + 16 * entities.slot_count() as u64);
        fresh.storage.sparse.try_regroup(sketches, &self.storage.sparse, &self.storage.components, most, slot)?;
        drop(self.try_take_over(fresh, Context::default(), report)?);
        Ok(())
    }

    /// Returns the components that the bytes name.
    fn try_numbering(&self, base: &Image, input: &mut Reader<'_>) -> Result<Numbering, DeltaError> {
        let mut known = try_vec(base.components.len())?;
        known.extend((0..).zip(&base.components).skip(1).map(|(id, known)| (known.print, id)));
        known.sort_unstable();
        let count = input.count(8)?;
        let mut ids: Vec<ComponentId> = try_vec(count)?;
        for _ in 0..count {
            let print = input.long()?;
            let first = known.partition_point(|(other, _)| *other < print);
            let mut same = known[first..].iter().take_while(|(other, _)| *other == print);
            let (Some(&(_, id)), None) = (same.next(), same.next()) else { return Err(DeltaError::OtherComponents) };
            let id = ComponentId::from_index(id);
            if ids.last().is_some_and(|last| self.storage.components.rank(*last) >= self.storage.components.rank(id)) {
                return damaged("components that are not in their order");
            }
            ids.push(id);
        }
        Ok(Numbering::try_from_ids(ids, base.components.len())?)
    }

    /// Returns the second state without its groups, as the bytes have it. Nothing in it is checked but lengths and orders.
    fn try_read(
        &self,
        old: &Canonical<'_>,
        numbering: &Numbering,
        input: &mut Reader<'_>,
    ) -> Result<Image, DeltaError> {
        let base = old.image;
        let mut image = Image {
            words: input.array(&base.words)?,
            stack: input.array(&base.stack)?,
            reserved: [input.number()?, input.number()?],
            tables: Vec::new(),
            sparse: Vec::new(),
            groups: SparseStorages::new().try_group_image()?,
            components: Vec::new(),
            ..*base
        };
        let past = Past::try_new(old)?;
        let count = input.count(12)?;
        let mut seen = try_vec(count)?;
        for stamp in 0..count as u64 {
            let (is_extra, components) = (input.flag()?, input.numbers()?);
            let table = self.try_read_table(old, (is_extra, &components), (numbering, &past), input)?;
            seen.push((is_extra, components));
            try_reserve(&mut image.tables, 1)?;
            image.tables.push(TableImage { stamp: stamp + 1, ..table });
        }
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return damaged("two tables of the same components");
        }
        let mut last = None;
        for _ in 0..input.count(12)? {
            let number = input.number()?;
            let Some(id) = numbering.id(number) else { return damaged("a store of a component that there is not") };
            if last.is_some_and(|last| last >= number) {
                return damaged("stores that are not in their order");
            }
            last = Some(number);
            let side = self.try_read_side(old, (number, id), &past, input)?;
            try_reserve(&mut image.sparse, 1)?;
            image.sparse.push(side);
            if let Some(side) = image.sparse.last_mut() {
                count_rows(side, &image.words);
            }
        }
        Ok(image)
    }

    fn try_read_table(
        &self,
        old: &Canonical<'_>,
        (is_extra, components): (bool, &[u32]),
        (numbering, past): (&Numbering, &Past<'_>),
        input: &mut Reader<'_>,
    ) -> Result<TableImage, DeltaError> {
        let mut signature = Signature::EMPTY;
        if is_extra {
            signature.try_insert(ComponentId::ROW)?;
        }
        for pair in components.windows(2) {
            if pair[0] >= pair[1] {
                return damaged("components of a table that are not in their order");
            }
        }
        let mut ids = try_vec(components.len())?;
        for &number in components {
            let Some(id) = numbering.id(number) else { return damaged("a table with a component that there is not") };
            if self.storage.components.info(id).kind() != Kind::Table {
                return damaged("a table with a component that is kept beside tables");
            }
            signature.try_insert(id)?;
            ids.push(id);
        }
        let was = old.table(is_extra, components);
        let slots = input.array(was.map_or(&Array::empty(8), |was| &was.image.slots))?;
        if slots.rows() == 0 {
            return damaged("a table without rows");
        }
        let mut columns = try_vec(signature.len())?;
        if is_extra {
            let was = was.and_then(|was| Some((was.labels.as_ref()?, was.image.columns.first()?.column.arrays())));
            let empty = Array::empty(8);
            let owners = input.array(was.map_or(&empty, |(_, arrays)| &arrays[0]))?;
            let labels = input.array(was.map_or(&empty, |(labels, _)| labels))?;
            let links = input.array(was.map_or(&empty, |(_, arrays)| &arrays[2]))?;
            if [&owners, &labels, &links].into_iter().any(|array| array.rows() != slots.rows()) {
                return damaged("columns of different lengths");
            }
            let Some(labels) = numbering.try_named(&labels)? else {
                return damaged("an extra row under a component that there is not");
            };
            let mut arrays = try_vec(3)?;
            arrays.extend([owners, labels, links]);
            columns.push(ColumnImage { id: ComponentId::ROW, column: Column::Plain(arrays), seen: 0, tick: 0 });
        }
        let first = usize::from(is_extra);
        for (at, (&number, &id)) in components.iter().zip(&ids).enumerate() {
            let was = was.map(|was| &was.image.columns[first + at]);
            let (mut tick, mut happened) = (0, None);
            match self.storage.components.info(id).track {
                Track::None => {}
                Track::Column => tick = self.tick_of(was.map(|was| was.tick), input.flag()?),
                Track::Row => happened = Some(input.array(&Array::try_zeros(slots.rows(), 1)?)?),
            }
            let mut column = input.column(was.map(|was| &was.column), self, id, slots.rows())?;
            if let Some(happened) = happened {
                let each = slots.pairs().map(|slot| past.of_table(slot, number));
                let marks = each.zip(happened.bytes()).map(|(before, what)| marked(before, *what, self.tick()));
                column.try_push_marks(id, self, slots.rows(), (0..).zip(marks))?;
            }
            columns.push(ColumnImage { id, column, seen: 0, tick });
        }
        Ok(TableImage { signature, slots, seen: 0, columns, stamp: 0 })
    }

    fn try_read_side(
        &self,
        old: &Canonical<'_>,
        (number, id): (u32, ComponentId),
        past: &Past<'_>,
        input: &mut Reader<'_>,
    ) -> Result<SideImage, DeltaError> {
        let was = old.side(number);
        let (state, row) = match self.storage.components.info(id).kind() {
            Kind::Table => return damaged("a store for a component of tables"),
            Kind::Linear => (SideState::Linear { rows: 0 }, size_of::<u64>()),
            Kind::Pool => {
                let removal = match input.number()? {
                    0 => Removal::Swap,
                    1 => Removal::Ordered,
                    2 => Removal::Deferred,
                    _ => return damaged("no way to remove values"),
                };
                (SideState::Pool(SparseSetState { removal, extra_rows: 0 }), size_of::<Entity>())
            }
        };
        let keys = input.array(was.map_or(&Array::empty(row), |was| &was.keys))?;
        let rows = side_rows(&state, &keys).ok_or(SHORT)?;
        let (mut tick, mut happened) = (0, None);
        match self.storage.components.info(id).track {
            Track::None => {}
            Track::Column => tick = self.tick_of(was.map(|was| was.image.tick), input.flag()?),
            Track::Row => happened = Some(input.array(&Array::try_zeros(rows, 1)?)?),
        }
        let mut column = input.column(was.map(|was| &was.image.column), self, id, rows)?;
        if let Some(happened) = happened {
            let marks = past.try_of_side(number)?;
            let mut list: Vec<(u32, Marks)> = try_vec(rows as usize)?;
            each_value(&state, &keys, |row, key| {
                let before = key.map_or_else(|| marks.of_slot(row), |key| marks.of_key(key));
                let what = happened.bytes().get(row as usize).copied().unwrap_or(0);
                list.push((row, marked(before, what, self.tick())));
            });
            column.try_push_marks(id, self, rows, list.into_iter())?;
        }
        Ok(SideImage { id, keys, column, state, tick, seen: [0, 0] })
    }

    /// Returns the tick of a column that had another before, if it was there, and may have been changed.
    fn tick_of(&self, before: Option<u64>, is_touched: bool) -> u64 {
        match before.filter(|_| !is_touched) {
            Some(before) => before,
            None => before.unwrap_or(0) << 32 | u64::from(self.tick().number()),
        }
    }
}

impl Column {
    /// Adds the lane of marks to those of the values of a component, if it is not there: so many rows, of which these have
    /// marks.
    fn try_push_marks(
        &mut self,
        id: ComponentId,
        world: &World,
        rows: u32,
        marks: impl Iterator<Item = (u32, Marks)>,
    ) -> Result<(), DeltaError> {
        let Column::Plain(arrays) = self else { return Ok(()) };
        if arrays.len() == world.storage.components.info(id).lanes.len() {
            return Ok(());
        }
        let mut lane = Array::try_zeros(rows, size_of::<Marks>())?;
        for (row, marks) in marks {
            if let Some(bytes) = lane.bytes_mut().chunks_exact_mut(size_of::<Marks>()).nth(row as usize) {
                bytes[..4].copy_from_slice(&marks.added.number().to_ne_bytes());
                bytes[4..].copy_from_slice(&marks.changed.number().to_ne_bytes());
            }
        }
        try_reserve(arrays, 1)?;
        arrays.push(lane);
        Ok(())
    }
}

/// A group of a delta, with the serial number and the place that it has if it was there before.
type DeltaGroup = (Option<(u64, u32)>, GroupForm);

/// Returns the groups of a delta: their components and members.
fn try_groups(old: &[GroupForm], input: &mut Reader<'_>) -> Result<Vec<DeltaGroup>, DeltaError> {
    let count = input.count(20)?;
    let mut groups = try_vec(count)?;
    for _ in 0..count {
        let was = input.flag()?;
        let lists = [input.numbers()?, input.numbers()?, input.numbers()?];
        let known = old.binary_search_by(|old| old.lists.cmp(&lists)).ok().map(|at| &old[at]).filter(|_| was);
        if was && known.is_none() {
            return damaged("a group that was not there");
        }
        let known = known.map(|known| (known.serial, known.place));
        groups.push((known, GroupForm { lists, members: input.numbers()?, serial: 0, place: 0 }));
    }
    Ok(groups)
}

/// Returns the groups in terms of sides. One that was there keeps its place, others get those that are free.
fn try_sketches(
    groups: Vec<DeltaGroup>,
    numbering: &Numbering,
    sparse: &SparseStorages,
) -> Result<Vec<SavedGroup>, DeltaError> {
    let mut taken = try_vec(groups.len())?;
    taken.extend(groups.iter().filter_map(|(known, _)| known.map(|(_, place)| place)));
    taken.sort_unstable();
    let mut free = (0..).filter(|place| taken.binary_search(place).is_err());
    let mut sketches = try_vec(groups.len())?;
    for (known, group) in groups {
        let mut lists = [const { Vec::new() }; 3];
        for (list, numbers) in lists.iter_mut().zip(&group.lists) {
            *list = try_vec(numbers.len())?;
            for number in numbers {
                let Some(side) = numbering.id(*number).and_then(|id| sparse.storage_id(id)) else {
                    return damaged("a group of stores that there are not");
                };
                list.push(side);
            }
            list.sort_unstable();
        }
        let place = known.map(|(_, place)| place).or_else(|| free.next()).unwrap_or(u32::MAX);
        let serial = known.map(|(serial, _)| serial);
        sketches.push(SavedGroup {
            name: "a group of a delta",
            number: place,
            serial,
            sparse: lists,
            members: group.members,
        });
    }
    Ok(sketches)
}

#[cfg(all(test, feature = "derive"))]
mod tests {
    use super::delta;
    use crate::group::{Observed, Owned};
    use crate::layout::Kind;
    use crate::signature::compared;
    use crate::timeline::DeltaError;
    use crate::{Component, ComponentDescriptor, Entity, Key, Plain as _, Removal, Role, Signature, World};
    use core::alloc::Layout;

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(plain)]
    struct Row(u32);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "pool", plain)]
    struct SparseStorage(u16);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "linear", plain)]
    struct Line(u8);

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "pool", track = "row", plain)]
    struct Owner(u32);

    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    struct Target(Entity);
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool", plain)]
    struct Pooled([Entity; 2]);
    #[derive(Component, Clone, Copy)]
    #[component(layout = "linear", track = "row", plain)]
    struct Lined(Entity, [bool; 4], char);
    #[derive(phalanx_store::Soa, Component, Clone, Copy)]
    #[component(layout = "soa", plain)]
    struct Lanes {
        on: bool,
        at: Entity,
    }

    /// The bytes of a value, which may be no value.
    fn bytes_of<T: crate::Plain>(value: &T) -> &[u8] {
        // SAFETY: plain data has no padding. The value is not looked at but by its bytes.
        unsafe { core::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }
    }

    /// Entities of extra rows, of no index, flags that are neither true nor false: no bytes make them.
    #[test]
    fn no_bytes_make_a_value_that_cannot_be() {
        let mut world = World::new();
        world.set_removal::<Pooled>(Removal::Deferred).unwrap();
        let all: Vec<Entity> = (0..4).map(|_| world.spawn_empty()).collect();
        let pooled = |n: usize| Pooled([all[n], all[3 - n]]);
        let lined = |n: usize| Lined(all[n], [true, false, true, n == 0], 'z');
        world.insert(all[0], (Target(all[1]), lined(0), pooled(1))).unwrap();
        world.insert(all[2], (pooled(2), Lanes { on: false, at: all[2] })).unwrap();
        let before = world.checkpoint().unwrap();
        world.insert(all[1], (Target(all[0]), lined(1))).unwrap();
        world.insert(all[2], (Target(all[3]), lined(2), Lanes { on: true, at: all[0] })).unwrap();
        world.insert(all[3], (Lanes { on: true, at: all[1] }, pooled(3))).unwrap();
        // A hole, whose bytes are zeros.
        world.remove::<Pooled>(all[0]).unwrap();
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        let (mut refused, mut applied) = (0, 0);
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 3, 0x10, 0x11, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xd7, 0xd8, 0xff] {
                let mut forged = bytes.clone();
                forged[at] = value;
                world.rollback(&before).unwrap();
                match world.try_apply(&forged, false, None) {
                    Ok(()) => applied += 1,
                    Err(DeltaError::InvalidValue { .. }) => refused += 1,
                    Err(_) => {}
                }
                world.validate().unwrap();
                world.query::<&Target>().for_each(|target| assert!(Target::is_valid(bytes_of(target))));
                world.query::<&Pooled>().for_each(|pooled| assert!(Pooled::is_valid(bytes_of(pooled))));
                world.query::<&Lined>().for_each(|lined| assert!(Lined::is_valid(bytes_of(lined))));
                for lanes in world.query::<&Lanes>().chunks() {
                    lanes.on.iter().for_each(|on| assert!(bool::is_valid(bytes_of(on))));
                    lanes.at.iter().for_each(|at| assert!(Entity::is_valid(bytes_of(at))));
                }
            }
        }
        assert!(refused > 300 && applied > 1000, "{refused} {applied}");
        world.rollback(&before).unwrap();
        world.try_apply(&bytes, true, None).unwrap();
        world.validate().unwrap();
        assert!(!world.has::<Pooled>(all[0]) && world.get::<Target>(all[2]).is_ok_and(|target| target.0 == all[3]));
    }

    /// Bytes that were changed and whose checksums were put right again are told by what they say.
    #[test]
    fn no_bytes_make_a_world_that_cannot_be() {
        let mut world = World::new();
        world.set_removal::<SparseStorage>(Removal::Deferred).unwrap();
        let all: Vec<_> = (0..20).map(|n| world.spawn((Row(n), SparseStorage(n as u16), Line(n as u8)))).collect();
        world.despawn(all[3]).unwrap();
        let before = world.checkpoint().unwrap();
        for n in [1, 5, 6, 19] {
            world.despawn(all[n]).unwrap();
        }
        world.spawn(Row(7));
        world.remove::<Line>(all[8]).unwrap();
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        try_forged(&mut world, &before, &bytes);
    }

    /// The same with groups, extra rows, marks and reservations.
    #[test]
    fn no_bytes_make_groups_rows_or_reservations_that_cannot_be() {
        let mut world = World::new();
        let all: Vec<Entity> = (0..6).map(|n| world.spawn((Owner(n), Line(n as u8)))).collect();
        world.create_group::<Owned<Owner>>().unwrap();
        let row = |n: usize, role| Key::main(all[n]).with_role(Role(role));
        world.extend(row(1, 1), (Row(1), Line(2))).unwrap();
        world.extend(row(1, 2), Owner(7)).unwrap();
        world.despawn(all[5]).unwrap();
        let before = world.checkpoint().unwrap();
        world.settle_changes();
        world.create_group::<Observed<(Owner, Line)>>().unwrap();
        world.extend(row(1, 3), Row(3)).unwrap();
        world.extend(row(2, 1), (Owner(1), Line(3))).unwrap();
        world.get_mut::<Owner>(all[2]).unwrap().0 = 9;
        let _reserved = [(); 3].map(|()| world.reserve_entity());
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        try_forged(&mut world, &before, &bytes);
    }

    fn try_forged(world: &mut World, before: &super::Checkpoint, bytes: &[u8]) {
        let (mut random, mut refused) = (1u64, 0);
        for at in 0..bytes.len() * 12 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut forged = bytes.to_vec();
            let value = [0, 1, 2, 0x7f, 0x80, 0xff, 0x40, (random >> 33) as u8];
            forged[at / 12] = value[(random >> 50) as usize % 8];
            if at % 3 == 0 {
                let other = (random >> 20) as usize % bytes.len();
                forged[other] = forged[other].wrapping_add(1);
            }
            world.rollback(before).unwrap();
            match world.try_apply(&forged, false, None) {
                Ok(()) => {
                    world.spawn((Row(1), Owner(1), Line(1)));
                    world.despawn_batch(world.iter().collect::<Vec<_>>().into_iter().take(5))
                }
                Err(_) => {
                    refused += 1;
                    0
                }
            };
            world.validate().unwrap();
        }
        assert!(refused > bytes.len(), "{refused} were refused");
        world.rollback(before).unwrap();
        world.try_apply(bytes, true, None).unwrap();
        world.validate().unwrap();
    }

    /// A world with so many tables, two of which have rows.
    fn of_tables(count: u32) -> World {
        let mut world = World::new();
        world.spawn(Row(1));
        let ids = [(); 16].map(|()| {
            let (name, layout) = (format!("number {}", world.components().len()).into(), Layout::new::<u32>());
            let descriptor = ComponentDescriptor { name, layout, kind: Kind::Table, drop: None, clone: None };
            // SAFETY: values are numbers, which need no end.
            unsafe { world.register_component(descriptor) }
        });
        for n in 1..=count - 2 {
            let chosen = ids.iter().enumerate().filter(|(bit, _)| n >> bit & 1 != 0).map(|(_, id)| *id);
            world.storage.table_of(&Signature::of(chosen)).unwrap();
        }
        assert_eq!(world.storage.tables.len(), count as usize);
        world
    }

    #[test]
    fn signatures_are_compared_a_few_times_for_each_table() {
        for count in [500, 4000] {
            let mut world = of_tables(count);
            let before = world.checkpoint().unwrap();
            world.spawn(Row(2));
            let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
            world.rollback(&before).unwrap();
            let compared = compared::during(|| world.apply_delta(&bytes).unwrap());
            assert!(compared < 8 * u64::from(count), "{compared} comparisons for {count} tables");
            world.validate().unwrap();
        }
    }
}
