//! What differs between two states of a world, as bytes.
//!
//! # Format
//!
//! Numbers are little-endian. A mark; the checksums of both states; the fingerprints of the components, by id; the times of
//! both; then the arrays of the second state, in the order of the image, each as the rows it has, and the runs in which it
//! differs from the array of the first state that has its place. A table or side that is another in the first state, or is not
//! there, differs from an empty one. At last the groups, in the order of their making: the place of each, whether it was
//! there, its sides, and the members of one that owns nothing.
//!
//! # Hostile bytes
//!
//! An array cannot grow by more rows than there are bytes for. What was read is checked as a state, see `check`, before a
//! world is made of it; groups are made anew, of what their members have. The checksums are no protection against forgery, and nothing relies on them.
#![allow(unsafe_code)]

use super::Checkpoint;
use super::array::Array;
use super::bytes::{Reader, SHORT, Writer};
use super::check::{check, count_rows};
use super::error::DeltaError;
use super::image::{ColumnImage, Image, SideImage, SideState, TableImage, fingerprint};
use super::values::check_values;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::room::{try_list, try_room};
use crate::side::{PoolState, Removal, Sides, Sketch};
use crate::signature::Signature;
use crate::track::Tick;
use crate::world::World;
use phalanx_store::Entity;

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
/// which is named; if it has more than 65,536 places for groups, or more entities reserved than it has slots, and 65,536; or
/// if memory cannot be had.
pub fn delta(base: &Checkpoint, target: &Checkpoint) -> Result<Vec<u8>, DeltaError> {
    let (base, target) = (&base.image, &target.image);
    if base.space != target.space {
        return Err(DeltaError::Foreign);
    }
    for image in [base, target] {
        can_write(image)?;
    }
    let (old_groups, groups) = (base.groups.try_sketches()?, target.groups.try_sketches()?);
    let mut out = Writer(Vec::new());
    out.bytes(&MARK)?;
    out.long(base.checksum(&old_groups))?;
    out.long(target.checksum_then(&groups))?;
    out.number(target.components.len() as u32)?;
    target.components.iter().try_for_each(|(print, ..)| out.long(*print))?;
    let settled = target.time.settled;
    for number in [base.time.tick, target.time.tick, settled.unwrap_or_default()].map(Tick::number) {
        out.number(number)?;
    }
    out.number(u32::from(settled.is_some()))?;
    out.array(&base.words, &target.words)?;
    out.array(&base.stack, &target.stack)?;
    target.reserved.iter().try_for_each(|count| out.number(*count))?;
    out.number(target.tables.len() as u32)?;
    for (at, table) in target.tables.iter().enumerate() {
        out.number(table.signature.len() as u32)?;
        table.signature.iter().try_for_each(|id| out.number(id.index() as u32))?;
        let old = base.tables.get(at).filter(|old| old.signature == table.signature);
        out.array(old.map_or(&Array::empty(8), |old| &old.slots), &table.slots)?;
        for (at, (image, id)) in table.columns.iter().zip(table.signature.iter()).enumerate() {
            out.long(image.tick)?;
            out.column(target.components[id.index()].2, old.map(|old| &old.columns[at].column), &image.column)?;
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
        out.long(side.tick)?;
        out.column(target.components[side.id.index()].2, old.map(|old| &old.column), &side.column)?;
    }
    out.number(groups.len() as u32)?;
    for group in &groups {
        let was = old_groups.iter().any(|old| (old.place, old.serial) == (group.place, group.serial));
        out.number(group.place)?;
        out.number(u32::from(was))?;
        group.sides.iter().try_for_each(|sides| out.numbers(sides))?;
        out.numbers(&group.members)?;
    }
    Ok(out.0)
}

/// What is believed of places for groups, and of entities reserved beside as many as there are slots.
const MOST: u32 = 1 << 16;

/// That a state can be written as bytes and read from any.
fn can_write(image: &Image) -> Result<(), DeltaError> {
    let tables = image.tables.iter().filter(|table| table.slots.rows() > 0).flat_map(|table| table.signature.iter());
    let sides = image.sides.iter().filter(|side| side.keys.rows() > 0).map(|side| side.id);
    if let Some((_, component, _)) = tables.chain(sides).map(|id| image.components[id.index()]).find(|known| !known.2) {
        return Err(DeltaError::NotPlain { component });
    }
    if image.groups.places() > MOST {
        return Err(DeltaError::TooMany { what: "groups" });
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
    /// See the [module](crate::timeline) for what that means. The world must know the same components under the same ids, as
    /// a copy of the other world does, or one in which they were registered in the same order.
    ///
    /// Looking at changes is no change: a world in which somebody did since is in the first state all the same. To him
    /// everything is new afterwards.
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
        can_write(&base)?;
        let old_groups = base.groups.try_sketches()?;
        let mut input = Reader(bytes);
        if input.bytes(8)? != MARK {
            return Err(DeltaError::Damaged { what: "no delta, or one of another version or machine" });
        }
        let start = input.long()?;
        if summed && start != base.checksum(&old_groups) {
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
        let groups = try_groups(&old_groups, &mut input)?;
        if !input.0.is_empty() {
            return Err(DeltaError::Damaged { what: "bytes after the end" });
        }
        if summed && image.checksum_then(&groups) != goal {
            return Err(DeltaError::Damaged { what: "the checksum is another" });
        }
        can_reserve(&image)?;
        check(&image, self.components.len())?;
        check_values(&image, &self.components)?;
        // SAFETY: the state was checked: it is one that a world with these components can be in.
        let mut fresh = unsafe { image.try_restore(self)? };
        let (entities, tables) = (&fresh.entities, &fresh.tables);
        let slot = |index| World::slot_at(entities, tables, index);
        fresh.sides.try_regroup(groups, &self.sides, &self.components, slot)?;
        drop(self.become_state(fresh));
        Ok(())
    }

    /// The second state, as the bytes have it. Nothing in it is checked but lengths.
    fn try_read(&self, base: &Image, input: &mut Reader<'_>) -> Result<Image, DeltaError> {
        let [same, tick, settled] = [Tick(input.number()?), Tick(input.number()?), Tick(input.number()?)];
        let settled = (input.flag()?).then_some(settled);
        let mut image = Image {
            time: base.time.followed_by(tick, settled, same),
            words: input.array(&base.words)?,
            stack: input.array(&base.stack)?,
            reserved: [input.number()?, input.number()?],
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
                let tick = input.long()?;
                let column = input.column(old.map(|old| &old.columns[at].column), self, id, slots.rows())?;
                columns.push(ColumnImage { column, seen: 0, tick });
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
            let tick = input.long()?;
            let column = input.column(old.map(|old| &old.column), self, id, rows)?;
            try_room(&mut image.sides, 1)?;
            let mut side = SideImage { id, keys, column, state, tick, seen: [0, 0] };
            count_rows(&mut side, &image.words);
            image.sides.push(side);
        }
        Ok(image)
    }
}

/// The groups, as the bytes have them.
fn try_groups(old: &[Sketch], input: &mut Reader<'_>) -> Result<Vec<Sketch>, DeltaError> {
    let count = input.count(24)?;
    let mut groups = try_list(count)?;
    for _ in 0..count {
        let (place, was) = (input.number()?, input.flag()?);
        let sides = [input.numbers()?, input.numbers()?, input.numbers()?];
        let known = old.iter().find(|old| old.place == place && old.sides == sides);
        let serial = known.filter(|_| was).and_then(|known| known.serial);
        if place >= MOST || was && serial.is_none() {
            return Err(DeltaError::Damaged { what: "a group in a place that there is not, or that was not there" });
        }
        groups.push(Sketch { place, serial, sides, members: input.numbers()? });
    }
    Ok(groups)
}

#[cfg(all(test, feature = "derive"))]
mod tests {
    use super::delta;
    use crate::group::{Observed, Owned};
    use crate::timeline::DeltaError;
    use crate::{Component, Entity, Key, Plain as _, Removal, Role, World};

    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(plain)]
    struct Row(u32);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "pool", plain)]
    struct Side(u16);
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
                match world.try_apply(&forged, false) {
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
        world.try_apply(&bytes, true).unwrap();
        world.validate().unwrap();
        assert!(!world.has::<Pooled>(all[0]) && world.get::<Target>(all[2]).is_ok_and(|target| target.0 == all[3]));
    }

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
        try_forged(&mut world, &before, &bytes);
    }

    /// The same with groups, extra rows, marks and reservations.
    #[test]
    fn no_bytes_make_groups_rows_or_reservations_that_cannot_be() {
        let mut world = World::new();
        let all: Vec<Entity> = (0..6).map(|n| world.spawn((Owner(n), Line(n as u8)))).collect();
        world.make_group::<Owned<Owner>>().unwrap();
        let row = |n: usize, role| Key::main(all[n]).with_role(Role(role));
        world.extend(row(1, 1), (Row(1), Line(2))).unwrap();
        world.extend(row(1, 2), Owner(7)).unwrap();
        world.despawn(all[5]).unwrap();
        let before = world.checkpoint().unwrap();
        world.settle_changes();
        world.make_group::<Observed<(Owner, Line)>>().unwrap();
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
            match world.try_apply(&forged, false) {
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
        world.try_apply(bytes, true).unwrap();
        world.validate().unwrap();
    }
}
