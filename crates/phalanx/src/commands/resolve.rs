//! What a segment will do, and what it needs: found out before anything changes.
//!
//! # What must stay true
//!
//! The steps of a segment hold for the world as it was when they were found: nobody follows their edges once anything
//! else has changed it. Edges are boxed, and a world does not give one up while it resolves.
#![allow(unsafe_code)]

use super::Entry;
use super::apply::moment_of;
use super::report::CommandKind;
use super::row_overlay::RowOverlay;
use super::slots::Slots;
use crate::alloc::{try_reserve, try_reserve_map};
use crate::change_detection::Moment;
use crate::error::RowError;
use crate::error::{ChangeError, NoSuchEntity};
use crate::mutation::stash::Stash;
use crate::rows::{Key, Label, Name};
use crate::seeded::NumberMap;
use crate::sparse::SparseInserts;
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// What a command will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It cannot be carried out. Whether the entity ends that it would have made.
    Skip(ChangeError, bool),
    /// Makes an entity by a plan.
    Make(usize),
    /// Spawns an extra row in the target of a plan's edge from a table.
    Extend {
        bundle_id: usize,
        bare: u32,
        label: Label,
    },
    /// Ends an extra row.
    Delete,
    /// Inserts the components of a plan.
    Insert(usize),
    /// Removes the components of a plan.
    Remove(usize),
    /// There is nothing to be done.
    Nothing,
    Despawn,
}

/// What a row is known by while it has no place.
#[derive(Clone, Copy, Debug)]
enum BundlePtr {
    Main(Entity),
    Extra(Name, Entity),
}

/// Where an entity would be.
#[derive(Clone, Copy, Debug)]
struct Whereabouts {
    /// The segment that it is of: what earlier ones said is past.
    segment: u32,
    generation: u32,
    /// `None` when it would have ended.
    table: Option<u32>,
    /// Whether it was given components that are not kept in tables.
    has_sparse: bool,
}

/// How many rows a table would have beyond those it has.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    now: i64,
    most: i64,
    /// The command that needs the most.
    position: usize,
}

/// What is needed only while commands are carried out. Kept for the next time.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) steps: Vec<Step>,
    /// By slot. Emptied when commands begin to be applied; segments may be many, and are told apart by number.
    overlay: NumberMap<u32, Whereabouts>,
    segment: u32,
    rows: RowOverlay,
    /// The slots and tables of an entity's extra rows, while it is looked at.
    extra: Vec<(Entity, u32)>,
    needs: Vec<Need>,
    /// The values that come to lie beside tables.
    sparse_inserts: SparseInserts,
    /// The most that is noted for listeners and collectors.
    notes: usize,
    /// What slots are free.
    free: Slots,
    /// Entities and extra rows to be made, and the first command that makes one.
    slots: u32,
    slots_position: usize,
    /// Extra rows among them.
    names: usize,
    /// The spawns of entities that were reserved, by entity and position, each with the reason why it cannot be executed in
    /// this world, if there is one. Empty if there is none for any.
    lost: Vec<(Entity, usize, Option<ChangeError>)>,
    /// The world for which that was found out, and the number of its clock.
    lost_in: Option<(u64, [u64; 2])>,
    /// Whether commands that cannot be executed are skipped.
    is_lenient: bool,
    pub(super) stash: Stash,
}

impl Scratch {
    pub(super) fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.overlay.capacity() * size_of::<(u32, Whereabouts)>()
            + self.rows.bytes()
            + self.extra.capacity() * size_of::<(Entity, u32)>()
            + self.needs.capacity() * size_of::<Need>()
            + self.sparse_inserts.bytes()
            + self.lost.capacity() * size_of::<(Entity, usize, Option<ChangeError>)>()
            + self.free.bytes()
            + self.stash.held()
    }

    /// Forgets the last application.
    pub(super) fn start(&mut self) {
        self.overlay.clear();
        self.rows.start();
        self.segment = 0;
        self.lost_in = None;
    }

    /// Begins a segment, with room for so many commands.
    pub(super) fn begin(&mut self, count: usize, is_lenient: bool) -> Result<(), AllocError> {
        if self.segment == u32::MAX {
            self.start();
        }
        self.segment += 1;
        self.steps.clear();
        self.needs.clear();
        self.rows.begin(self.segment);
        self.sparse_inserts.clear();
        self.free.begin();
        (self.slots, self.names, self.notes) = (0, 0, 0);
        self.is_lenient = is_lenient;
        self.stash.begin();
        try_reserve(&mut self.steps, count)?;
        try_reserve_map(&mut self.overlay, count)
    }

    /// Finds out which entities that the buffer has reserved are not reserved in this world.
    pub(super) fn find_lost(
        &mut self,
        world: &World,
        entries: &[Entry],
        moments: &[(usize, Moment)],
        home: Option<u64>,
    ) -> Result<(), AllocError> {
        let clock = &world.storage.sparse.clock;
        let now = Some((world.identity(), clock.state()));
        if self.lost_in == now {
            return Ok(());
        }
        self.lost_in = None;
        self.lost.clear();
        let is_home = home.is_none_or(|home| home == world.identity());
        if !is_home || !moments.iter().all(|(_, moment)| clock.includes(*moment)) {
            for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.is_promise()) {
                let Some(entity) = entry.entity else { continue };
                let reason = match is_home {
                    false => Some(ChangeError::AnotherWorld { entity }),
                    true if clock.includes(moment_of(moments, position)) => None,
                    true => Some(ChangeError::RolledBack { entity }),
                };
                try_reserve(&mut self.lost, 1)?;
                self.lost.push((entity, position, reason));
            }
            self.lost.sort_unstable_by_key(|(entity, position, _)| (*entity, *position));
        }
        self.lost_in = now;
        Ok(())
    }

    /// Returns why an entity that a command names is not the one that the buffer has reserved, if it has reserved it and that
    /// is so.
    ///
    /// If it was reserved more than once, the last spawn up to the command counts, or else the first after it.
    fn why_lost(&self, entity: Entity, position: usize) -> Option<ChangeError> {
        let next = self.lost.partition_point(|(other, at, _)| (*other, *at) <= (entity, position));
        let of_entity = |found: &&(Entity, usize, Option<ChangeError>)| found.0 == entity;
        let last = next.checked_sub(1).map(|at| &self.lost[at]).filter(of_entity);
        last.or_else(|| self.lost.get(next).filter(of_entity)).and_then(|(_, _, reason)| *reason)
    }

    /// Phase 1, for one command. The key is that of the row that it is about, if it is about one.
    pub(super) fn resolve(
        &mut self,
        world: &mut World,
        entry: &Entry,
        key: Option<Key>,
        position: usize,
    ) -> Result<Step, ChangeError> {
        let kind = entry.verb.kind;
        if let Some(reason) = entry.entity.and_then(|entity| self.why_lost(entity, position)) {
            return Err(reason);
        }
        if let Some(key) = key {
            return self.resolve_row(world, entry, key, position);
        }
        if kind == CommandKind::Despawn {
            let entity = entry.entity.expect("a despawn names its entity");
            let table = match self.find(world, entity) {
                Err(_) if self.is_lenient => return Ok(Step::Nothing),
                found => found?,
            };
            // Its extra rows end with it, before its main row.
            self.list_extra_rows(world, entity.index())?;
            self.extra.push((entity, table));
            for at in 0..self.extra.len() {
                let (slot, table) = self.extra[at];
                self.end(world, slot, table, position)?;
            }
            self.put(entity, None, false);
            return Ok(Step::Despawn);
        }
        let bundle_id = (entry.verb.bundle_id)(world)?;
        let Some(entity) = entry.entity else {
            self.note(world, position, world.bundles.get(bundle_id).table, 1)?;
            self.notes += world.storage.entries_of(world.bundles.get(bundle_id).table);
            self.take_slot(world, &world.bundles.get(bundle_id).sparse, position)?;
            return Ok(Step::Make(bundle_id));
        };
        let table = self.find(world, entity)?;
        self.change(world, BundlePtr::Main(entity), table, bundle_id, kind != CommandKind::Remove, position)
    }

    /// Phase 1, for a command about a row.
    fn resolve_row(
        &mut self,
        world: &mut World,
        entry: &Entry,
        key: Key,
        position: usize,
    ) -> Result<Step, ChangeError> {
        match entry.verb.kind {
            CommandKind::Extend => {
                let bundle_id = (entry.verb.bundle_id)(world)?;
                let bare = world.row_edge(bundle_id)?;
                let edge = world.bundles.edge(bundle_id, bare, true);
                let (target, sparse_inserts) = (edge.target, &edge.sparse_inserts);
                self.find(world, key.entity)?;
                let free = |label: &Label| self.find_name(world, (key.entity.index(), *label)).is_none();
                let Some(label) = world.storage.label(key.component, key.role)?.filter(free) else {
                    return Err(RowError::Exists { key }.into());
                };
                let slot = self.take_slot(world, sparse_inserts, position)?;
                self.rows.make((key.entity.index(), label), slot, target)?;
                self.note(world, position, target, 1)?;
                self.names += 1;
                self.notes += world.storage.entries_of(target);
                Ok(Step::Extend { bundle_id, bare, label })
            }
            CommandKind::DeleteRow => match self.find_row(world, key)? {
                (BundlePtr::Main(entity), _) => Err(RowError::MainRow { entity }.into()),
                (BundlePtr::Extra(name, slot), table) => {
                    self.end(world, slot, table, position)?;
                    self.rows.put(name, slot, None)?;
                    Ok(Step::Delete)
                }
            },
            kind => {
                let (place, table) = self.find_row(world, key)?;
                let bundle_id = (entry.verb.bundle_id)(world)?;
                self.change(world, place, table, bundle_id, kind == CommandKind::Update, position)
            }
        }
    }

    /// What becomes of a row in a table that gets a plan's components, or loses them.
    fn change(
        &mut self,
        world: &mut World,
        place: BundlePtr,
        table: u32,
        bundle_id: usize,
        insert: bool,
        position: usize,
    ) -> Result<Step, ChangeError> {
        world.edge(bundle_id, table, insert)?;
        let followed = world.bundles.edge(bundle_id, table, insert);
        let (target, gets_sparse) = (followed.target, !followed.sparse_inserts.is_empty());
        if target == table && !insert && followed.sparse_removes.is_empty() {
            return Ok(Step::Nothing);
        }
        let slot = match place {
            BundlePtr::Main(entity) => {
                if target != table || gets_sparse {
                    self.put(entity, Some(target), gets_sparse);
                }
                entity
            }
            BundlePtr::Extra(name, slot) => {
                if target != table {
                    self.rows.put(name, slot, Some(target))?;
                }
                slot
            }
        };
        world.storage.expect_move(slot.index(), followed, &mut self.sparse_inserts, &mut self.stash)?;
        self.notes += world.storage.edge_notes(followed);
        if target != table {
            self.note(world, position, target, 1)?;
            self.note(world, position, table, -1)?;
        } else {
            // The new values lie beyond the last row until they take the place of the old ones.
            self.note(world, position, table, 1)?;
            self.note(world, position, table, -1)?;
        }
        Ok(if insert { Step::Insert(bundle_id) } else { Step::Remove(bundle_id) })
    }

    /// Notes that a slot is taken, with values in these sides. Which it is.
    fn take_slot(&mut self, world: &World, sparse: &[u32], position: usize) -> Result<Entity, AllocError> {
        if self.slots == 0 {
            self.slots_position = position;
        }
        self.slots = self.slots.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
        let slot = self.free.try_take(&world.storage.entities)?;
        self.stash.expect_puts(&world.storage, sparse)?;
        self.sparse_inserts.try_add(sparse, slot.index())?;
        Ok(slot)
    }

    /// Notes that an entity or an extra row ends in a table.
    fn end(&mut self, world: &World, slot: Entity, table: u32, position: usize) -> Result<(), AllocError> {
        self.stash.expect_row(&world.storage, &world.storage.tables[table as usize].columns)?;
        self.stash.expect_all(&world.storage, slot.index())?;
        self.notes += world.storage.entries_of(table);
        self.note(world, position, table, -1)?;
        self.free.try_free(slot)
    }

    /// The row under a key, and the table in which it would be.
    fn find_row(&self, world: &World, key: Key) -> Result<(BundlePtr, u32), ChangeError> {
        let main = self.find(world, key.entity)?;
        if key.is_main() {
            return Ok((BundlePtr::Main(key.entity), main));
        }
        let name = world.storage.label(key.component, key.role).ok().flatten().map(|label| (key.entity.index(), label));
        let found = name.and_then(|name| {
            let (slot, table) = self.find_name(world, name)?;
            Some((BundlePtr::Extra(name, slot), table))
        });
        found.ok_or(RowError::NoSuchRow { key }.into())
    }

    /// The slot and the table in which an extra row would be, if there is one under the name by then.
    fn find_name(&self, world: &World, name: Name) -> Option<(Entity, u32)> {
        match self.rows.get(name) {
            Some(state) => state.table.map(|table| (state.slot, table)),
            None => world.storage.row_of_name(name),
        }
    }

    /// Lists the slots and tables of the extra rows that an entity would have, in the order of their making, with room for one more.
    fn list_extra_rows(&mut self, world: &World, owner: u32) -> Result<(), AllocError> {
        let Scratch { rows, extra, .. } = self;
        extra.clear();
        // A row that ended is not there, nor is one whose name is another's by then, which comes below.
        let kept = world.storage.extra_rows(owner).filter_map(|(_, label)| match rows.get((owner, label)) {
            Some(state) => state.table.filter(|_| !state.is_made).map(|table| (state.slot, table)),
            None => world.storage.row_of_name((owner, label)),
        });
        for row in kept.chain(rows.made_for(owner)) {
            try_reserve(extra, 1)?;
            extra.push(row);
        }
        try_reserve(extra, 1)
    }

    /// Notes that a command is skipped: its payload ends, and with it the entity that it would have made, unless others have
    /// given that something. Whether it does.
    pub(super) fn forsake(&mut self, world: &World, entry: &Entry, position: usize) -> Result<bool, AllocError> {
        self.stash.expect(None)?;
        let Some(entity) = entry.entity.filter(|_| entry.is_promise()) else { return Ok(false) };
        if self.why_lost(entity, position).is_some() {
            return Ok(false);
        }
        if self.find(world, entity) != Ok(0) {
            return Ok(false);
        }
        self.list_extra_rows(world, entity.index())?;
        let has_sparse = self.overlaid(entity).is_some_and(|found| found.has_sparse) || world.has_sparse(entity);
        let is_bare = self.extra.is_empty() && !has_sparse;
        if is_bare {
            self.end(world, entity, 0, position)?;
            self.put(entity, None, false);
        }
        Ok(is_bare)
    }

    /// The table in which an entity would be.
    fn find(&self, world: &World, entity: Entity) -> Result<u32, NoSuchEntity> {
        match self.overlaid(entity) {
            None => world.storage.try_location(entity).map(|location| location.table),
            Some(found) if found.generation == entity.generation() => found.table.ok_or(NoSuchEntity { entity }),
            Some(_) => Err(NoSuchEntity { entity }),
        }
    }

    /// What the segment says of an entity's slot.
    fn overlaid(&self, entity: Entity) -> Option<&Whereabouts> {
        self.overlay.get(&entity.index()).filter(|found| found.segment == self.segment)
    }

    /// Says where an entity would be from here on, and whether it is given components beside tables. There is room for it.
    fn put(&mut self, entity: Entity, table: Option<u32>, gets_sparse: bool) {
        let has_sparse = gets_sparse || self.overlaid(entity).is_some_and(|found| found.has_sparse);
        let found = Whereabouts { segment: self.segment, generation: entity.generation(), table, has_sparse };
        self.overlay.insert(entity.index(), found);
    }

    /// Notes that a row comes or goes.
    fn note(&mut self, world: &World, position: usize, table: u32, change: i64) -> Result<(), AllocError> {
        if self.needs.len() <= table as usize {
            let more = world.storage.tables.len() - self.needs.len();
            try_reserve(&mut self.needs, more)?;
            self.needs.resize(world.storage.tables.len(), Need::default());
        }
        let need = &mut self.needs[table as usize];
        need.now += change;
        if need.now > need.most {
            (need.most, need.position) = (need.now, position);
        }
        Ok(())
    }

    /// Phase 2. On error, returns the position of the command that needed the most.
    pub(super) fn reserve(&mut self, world: &mut World, first: usize) -> Result<(), (usize, AllocError)> {
        let at = |position| move |error: AllocError| (position, error);
        if self.slots > 0 {
            world.storage.reserve_entities(self.slots).map_err(at(self.slots_position))?;
        }
        if self.names > 0 {
            let slots = world.storage.entities.capacity();
            world.storage.rows.try_reserve(self.names, self.names, slots).map_err(at(self.slots_position))?;
        }
        for (table, need) in (0..).zip(&self.needs).filter(|(_, need)| need.most > 0) {
            let rows = u32::try_from(need.most).map_err(|_| AllocError::CapacityOverflow);
            rows.and_then(|rows| world.storage.reserve_table(table, rows)).map_err(at(need.position))?;
        }
        // Values may move, even if one of several stores cannot grow.
        world.storage.restructured();
        world.storage.sparse.try_reserve_all(&self.sparse_inserts).map_err(at(first))?;
        world.storage.reserve_linked_notes(self.notes).map_err(at(first))?;
        self.stash.try_reserve(world.storage.journal.is_active()).map_err(at(first))
    }
}
