//! What differs between two states of a world, as bytes.
//!
//! # Format
//!
//! Numbers are little-endian. A mark; the checksums of both states; the fingerprints of the components, by id; then the
//! arrays of the second state, in the order of the image, each as the rows it has, and the runs in which it differs from the
//! array of the first state that has its place. A table or side that is another in the first state, or is not there, differs
//! from an empty one.
//!
//! # Hostile bytes
//!
//! An array cannot grow by more rows than there are bytes for. What was read is checked as a state, see `check`, before a
//! world is made of it. The checksums are no protection against forgery, and nothing relies on them.
#![allow(unsafe_code)]

use super::Checkpoint;
use super::array::Array;
use super::check::check;
use super::column::Column;
use super::error::DeltaError;
use super::image::{Image, SideImage, SideState, TableImage, fingerprint};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::room::{try_list, try_room};
use crate::side::{PoolState, Removal, Sides};
use crate::signature::Signature;
use crate::track::Track;
use crate::world::World;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// The head of all deltas: what they are, and the order of bytes in values.
const MARK: [u8; 8] = if cfg!(target_endian = "little") { *b"PHXDLT1L" } else { *b"PHXDLT1B" };

/// What leads from one state of a world to another, as bytes, for a world that is in the first.
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
/// If the two are of different worlds; if one has a component that is not plain data, or of lanes that are not numbers,
/// which is named; if it has groups, entities that are reserved or extra rows; or if memory cannot be had.
pub fn delta(base: &Checkpoint, target: &Checkpoint) -> Result<Vec<u8>, DeltaError> {
    let (base, target) = (&base.image, &target.image);
    if base.space != target.space {
        return Err(DeltaError::Foreign);
    }
    for image in [base, target] {
        is_plain(image)?;
    }
    let mut out = Writer(Vec::new());
    out.bytes(&MARK)?;
    out.long(base.checksum())?;
    out.long(target.checksum())?;
    out.number(target.components.len() as u32)?;
    target.components.iter().try_for_each(|(print, ..)| out.long(*print))?;
    out.array(&base.words, &target.words)?;
    out.array(&base.stack, &target.stack)?;
    out.number(target.tables.len() as u32)?;
    for (at, table) in target.tables.iter().enumerate() {
        out.number(table.signature.len() as u32)?;
        table.signature.iter().try_for_each(|id| out.number(id.index() as u32))?;
        let old = base.tables.get(at).filter(|old| old.signature == table.signature);
        out.array(old.map_or(&Array::empty(8), |old| &old.slots), &table.slots)?;
        for (at, ((column, _), id)) in table.columns.iter().zip(table.signature.iter()).enumerate() {
            out.column(target.components[id.index()].2, old.map(|old| &old.columns[at].0), column)?;
        }
    }
    out.number(target.sides.len() as u32)?;
    for (at, side) in target.sides.iter().enumerate() {
        let old = base.sides.get(at).filter(|old| old.id == side.id);
        out.number(side.id.index() as u32)?;
        if let SideState::Pool(PoolState { removal, compaction: (gap, low), .. }) = &side.state {
            for number in [*removal as u32, gap.start, gap.end, *low] {
                out.number(number)?;
            }
        }
        out.array(old.map_or(&Array::empty(side.keys.row_size()), |old| &old.keys), &side.keys)?;
        out.column(target.components[side.id.index()].2, old.map(|old| &old.column), &side.column)?;
    }
    Ok(out.0)
}

/// That a state can be written as bytes and read from any.
fn is_plain(image: &Image) -> Result<(), DeltaError> {
    let tables = image.tables.iter().filter(|table| table.slots.rows() > 0).flat_map(|table| table.signature.iter());
    let sides = image.sides.iter().filter(|side| side.keys.rows() > 0).map(|side| side.id);
    if let Some((_, component, _)) = tables.chain(sides).map(|id| image.components[id.index()]).find(|known| !known.2) {
        return Err(DeltaError::NotPlain { component });
    }
    match (image.groups.is_empty(), image.reserved == [0, 0]) {
        (false, _) => Err(DeltaError::Groups),
        (_, false) => Err(DeltaError::Reserved),
        _ => Ok(()),
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), AllocError> {
        try_room(&mut self.0, bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn number(&mut self, number: u32) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    fn long(&mut self, number: u64) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    fn array(&mut self, old: &Array, new: &Array) -> Result<(), AllocError> {
        let runs = old.try_differing(new)?;
        self.number(new.rows())?;
        self.number(runs.len() as u32)?;
        for run in &runs {
            self.number(run.start)?;
            self.number(run.end)?;
            self.bytes(new.run(run))?;
        }
        Ok(())
    }

    /// Those of components that are not plain have no rows.
    fn column(&mut self, plain: bool, old: Option<&Column>, new: &Column) -> Result<(), AllocError> {
        let (Column::Plain(arrays), true) = (new, plain) else { return Ok(()) };
        for (at, array) in arrays.iter().enumerate() {
            match old {
                Some(Column::Plain(old)) => self.array(&old[at], array)?,
                _ => self.array(&Array::empty(array.row_size()), array)?,
            }
        }
        Ok(())
    }
}

struct Reader<'a>(&'a [u8]);

const SHORT: DeltaError = DeltaError::Damaged { what: "the bytes end too early" };

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], DeltaError> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(now)
    }

    fn number(&mut self) -> Result<u32, DeltaError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn long(&mut self) -> Result<u64, DeltaError> {
        Ok(u64::from(self.number()?) | u64::from(self.number()?) << 32)
    }

    /// How many things follow, of at least so many bytes each.
    fn count(&mut self, size: usize) -> Result<usize, DeltaError> {
        let count = self.number()? as usize;
        if count > self.0.len() / size { Err(SHORT) } else { Ok(count) }
    }

    fn array(&mut self, old: &Array) -> Result<Array, DeltaError> {
        let (rows, row) = (self.number()?, old.row_size());
        let count = self.count(8)?;
        let mut runs: Vec<(Range<u32>, &[u8])> = try_list(count)?;
        // Rows up to here are known.
        let (mut known, mut last) = (old.rows(), 0);
        for _ in 0..count {
            let run = self.number()?..self.number()?;
            if run.start < last || run.start >= run.end || run.end > rows {
                return Err(DeltaError::Damaged { what: "runs of rows that are no runs, or out of order" });
            }
            let bytes = self.bytes(run.len().checked_mul(row).ok_or(SHORT)?)?;
            last = run.end;
            if run.start <= known {
                known = known.max(run.end);
            }
            runs.push((run, bytes));
        }
        if rows > known {
            return Err(DeltaError::Damaged { what: "rows without bytes" });
        }
        Ok(old.try_patched(rows, &runs)?)
    }

    /// The arrays of a column: as many as the component has lanes, of so many rows.
    fn column(
        &mut self,
        old: Option<&Column>,
        world: &World,
        id: ComponentId,
        rows: u32,
    ) -> Result<Column, DeltaError> {
        let info = world.components.info(id);
        if info.bytes != crate::plain::Bytes::Any {
            return match (rows, old) {
                (0, _) => empty_column(world, id),
                _ if info.track != Track::None => Err(DeltaError::Tracked { component: info.name() }),
                _ => Err(DeltaError::NotPlain { component: info.name() }),
            };
        }
        let mut arrays = try_list(info.lanes.len())?;
        for (at, lane) in info.lanes.iter().enumerate() {
            let array = match old {
                Some(Column::Plain(old)) => self.array(&old[at])?,
                _ => self.array(&Array::empty(lane.size()))?,
            };
            if array.rows() != rows {
                return Err(DeltaError::Damaged { what: "columns of different lengths" });
            }
            arrays.push(array);
        }
        Ok(Column::Plain(arrays))
    }
}

/// The column of a component without values.
fn empty_column(world: &World, id: ComponentId) -> Result<Column, DeltaError> {
    let info = world.components.info(id);
    let mut lanes = try_list(info.lanes.len())?;
    lanes.extend(info.lanes.iter().map(|row| phalanx_store::raw::Lane::new(*row)));
    Ok(Column::try_new(super::column::Place { info, lanes: &lanes, rows: 0, has: None })?)
}

impl World {
    /// Brings the world from the first state of a [`delta`] to the second.
    ///
    /// See the [module](crate::timeline) for what that means. The world must know the same components under the same ids, as
    /// a copy of the other world does, or one in which they were registered in the same order.
    ///
    /// # Errors
    ///
    /// If the world is not in the first state, the bytes are no delta of this version and machine, or are damaged, or memory
    /// cannot be had. The world is as it was then.
    pub fn apply_delta(&mut self, bytes: &[u8]) -> Result<(), DeltaError> {
        // A fuzzer does not find checksums.
        self.try_apply(bytes, !cfg!(fuzzing))
    }

    /// As [`apply_delta`](World::apply_delta); checksums count only if they are asked for.
    fn try_apply(&mut self, bytes: &[u8], summed: bool) -> Result<(), DeltaError> {
        let base = Image::try_new(self)?;
        is_plain(&base)?;
        let mut input = Reader(bytes);
        if input.bytes(8)? != MARK {
            return Err(DeltaError::Damaged { what: "no delta, or one of another version or machine" });
        }
        let start = input.long()?;
        if summed && start != base.checksum() {
            return Err(DeltaError::OtherBase);
        }
        let goal = input.long()?;
        let components = input.count(8)?;
        if components > self.components.len() {
            return Err(DeltaError::OtherComponents);
        }
        for id in 0..components {
            if input.long()? != fingerprint(self.components.info(ComponentId::from_index(id as u32))) {
                return Err(DeltaError::OtherComponents);
            }
        }
        let image = self.try_read(&base, &mut input)?;
        if !input.0.is_empty() {
            return Err(DeltaError::Damaged { what: "bytes after the end" });
        }
        if summed && image.checksum() != goal {
            return Err(DeltaError::Damaged { what: "the checksum is another" });
        }
        check(&image)?;
        // SAFETY: the state was checked: it is one that a world with these components can be in.
        let fresh = unsafe { image.try_restore(self)? };
        drop(self.become_state(fresh));
        Ok(())
    }

    /// The second state, as the bytes have it. Nothing in it is checked but lengths.
    fn try_read(&self, base: &Image, input: &mut Reader<'_>) -> Result<Image, DeltaError> {
        let mut image = Image {
            words: input.array(&base.words)?,
            stack: input.array(&base.stack)?,
            reserved: [0, 0],
            tables: Vec::new(),
            sides: Vec::new(),
            groups: Sides::new().try_group_image()?,
            components: Vec::new(),
            ..*base
        };
        let known = |id: u32| match (id as usize) < self.components.len() {
            true => Ok(ComponentId::from_index(id)),
            false => Err(DeltaError::OtherComponents),
        };
        for at in 0..input.count(12)? {
            let mut signature = Signature::EMPTY;
            for _ in 0..input.count(4)? {
                let id = known(input.number()?)?;
                if self.components.info(id).kind() != Kind::Table {
                    return Err(DeltaError::Damaged { what: "a table with a component that is kept beside tables" });
                }
                signature.try_insert(id)?;
            }
            let old = base.tables.get(at).filter(|old| old.signature == signature);
            let slots = input.array(old.map_or(&Array::empty(8), |old| &old.slots))?;
            let mut columns = try_list(signature.len())?;
            for (at, id) in signature.iter().enumerate() {
                let column = input.column(old.map(|old| &old.columns[at].0), self, id, slots.rows())?;
                columns.push((column, 0));
            }
            try_room(&mut image.tables, 1)?;
            image.tables.push(TableImage { signature, slots, seen: 0, columns });
        }
        for at in 0..input.count(12)? {
            let id = known(input.number()?)?;
            let old = base.sides.get(at).filter(|old| old.id == id);
            let (state, row, of_keys) = match self.components.info(id).kind() {
                Kind::Table => return Err(DeltaError::Damaged { what: "a store for a component of tables" }),
                Kind::Linear => (SideState::Linear { rows: 0 }, size_of::<u64>(), 64),
                Kind::Pool => {
                    let removal = match input.number()? {
                        0 => Removal::Swap,
                        1 => Removal::Ordered,
                        2 => Removal::Deferred,
                        _ => return Err(DeltaError::Damaged { what: "no way to remove values" }),
                    };
                    let compaction = (input.number()?..input.number()?, input.number()?);
                    (SideState::Pool(PoolState { removal, compaction, rows: 0 }), size_of::<Entity>(), 1)
                }
            };
            let keys = input.array(old.map_or(&Array::empty(row), |old| &old.keys))?;
            let rows = keys.rows().checked_mul(of_keys).ok_or(SHORT)?;
            let column = input.column(old.map(|old| &old.column), self, id, rows)?;
            try_room(&mut image.sides, 1)?;
            image.sides.push(SideImage { id, keys, column, state, seen: [0, 0] });
        }
        Ok(image)
    }
}

#[cfg(all(test, feature = "derive"))]
mod tests {
    use super::delta;
    use crate::{Component, Removal, World};

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(plain)]
    struct Row(u32);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "pool", plain)]
    struct Side(u16);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "linear", plain)]
    struct Line(u8);

    /// Bytes that were changed and whose checksums were put right again are told by what they say.
    #[test]
    fn no_bytes_make_a_world_that_cannot_be() {
        let mut world = World::new();
        world.set_removal::<Side>(Removal::Deferred).unwrap();
        let all: Vec<_> = (0..20).map(|n| world.spawn((Row(n), Side(n as u16), Line(n as u8)))).collect();
        world.despawn(all[3]).unwrap();
        let before = world.checkpoint().unwrap();
        for n in [1, 5, 6, 19] {
            world.despawn(all[n]).unwrap();
        }
        world.spawn(Row(7));
        world.remove::<Line>(all[8]).unwrap();
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        let (mut random, mut refused) = (1u64, 0);
        for at in 0..bytes.len() * 12 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut forged = bytes.clone();
            let value = [0, 1, 2, 0x7f, 0x80, 0xff, 0x40, (random >> 33) as u8];
            forged[at / 12] = value[(random >> 50) as usize % 8];
            if at % 3 == 0 {
                let other = (random >> 20) as usize % bytes.len();
                forged[other] = forged[other].wrapping_add(1);
            }
            world.rollback(&before).unwrap();
            match world.try_apply(&forged, false) {
                Ok(()) => world.despawn_batch(world.iter().collect::<Vec<_>>().into_iter().take(5)),
                Err(_) => {
                    refused += 1;
                    0
                }
            };
            world.validate().unwrap();
        }
        assert!(refused > bytes.len(), "{refused} were refused");
        world.rollback(&before).unwrap();
        world.try_apply(&bytes, true).unwrap();
        world.validate().unwrap();
    }
}
