//! What a segment will do, and what it needs: found out before anything changes.
//!
//! # What must stay true
//!
//! The steps of a segment hold for the world as it was when they were found: nobody follows their edges once anything
//! else has changed it. Edges are boxed, and a world does not give one up while it resolves.
#![allow(unsafe_code)]

use super::buffer::Kind;
use super::row_overlay::RowOverlay;
use super::stash::Stash;
use super::{CommandError, Entry};
use crate::component::TypeIdHasher;
use crate::error::{ChangeError, NoSuchEntity};
use crate::plan::Edge;
use crate::room::{try_map_room, try_room};
use crate::rows::{Key, Label, Name, RowError};
use crate::table::Column;
use crate::world::World;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// What a command will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It cannot be carried out.
    Skip(ChangeError),
    /// Makes an entity by a plan.
    Make(usize),
    /// Makes an extra row in the target of an edge.
    Extend(*const Edge, Label),
    /// Ends an extra row.
    Delete,
    /// Gives components.
    Insert(*const Edge),
    /// Takes components.
    Remove(*const Edge),
    /// There is nothing to take.
    Nothing,
    Despawn,
}

/// What a row is known by while it has no place.
#[derive(Clone, Copy, Debug)]
enum Place {
    Main(Entity),
    Extra(Name),
}

/// Where an entity would be.
#[derive(Clone, Copy, Debug)]
struct Whereabouts {
    /// The segment that it is of: what earlier ones said is past.
    segment: u32,
    generation: u32,
    /// `None` when it would have ended.
    table: Option<u32>,
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
    overlay: HashMap<u32, Whereabouts, TypeIdHasher>,
    segment: u32,
    rows: RowOverlay,
    /// The tables of an entity's extra rows, while it is looked at.
    extra: Vec<u32>,
    needs: Vec<Need>,
    /// Entities and extra rows to be made, and the first command that makes one.
    slots: u32,
    slots_position: usize,
    /// Extra rows among them.
    names: usize,
    /// Whether the world is the one in which the buffer has reserved entities.
    at_home: bool,
    pub(super) stash: Stash,
}

// SAFETY: the edges of steps are pointers into a world that are read only while that world is being changed by `apply`;
// in between they are leftovers that nobody follows.
unsafe impl Send for Scratch {}
// SAFETY: as above; behind a shared reference nothing is reached.
unsafe impl Sync for Scratch {}

impl Scratch {
    pub(super) fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.overlay.capacity() * size_of::<(u32, Whereabouts)>()
            + self.rows.bytes()
            + self.extra.capacity() * size_of::<u32>()
            + self.needs.capacity() * size_of::<Need>()
            + self.stash.held()
    }

    /// Forgets the last application.
    pub(super) fn start(&mut self) {
        self.overlay.clear();
        self.rows.start();
        self.segment = 0;
    }

    /// Begins a segment, with room for so many commands.
    pub(super) fn begin(&mut self, count: usize, at_home: bool) -> Result<(), AllocError> {
        if self.segment == u32::MAX {
            self.start();
        }
        self.segment += 1;
        self.steps.clear();
        self.needs.clear();
        self.rows.begin(self.segment);
        (self.slots, self.names) = (0, 0);
        self.at_home = at_home;
        self.stash.begin();
        try_room(&mut self.steps, count)?;
        try_map_room(&mut self.overlay, count)
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
        if let Some(key) = key {
            return self.resolve_row(world, entry, key, position);
        }
        if kind == Kind::Despawn {
            let entity = entry.entity.expect("a despawn names its entity");
            let table = self.find(world, entity)?;
            // Its extra rows end with it, before its main row: the stash gets their values in this order.
            self.list_extra_rows(world, entity.index())?;
            self.extra.push(table);
            for at in 0..self.extra.len() {
                let table = self.extra[at];
                self.displace(world, &world.tables[table as usize].columns)?;
                self.note(world, position, table, -1)?;
            }
            self.put(entity, None);
            return Ok(Step::Despawn);
        }
        let plan = (entry.verb.plan)(world)?;
        let Some(entity) = entry.entity else {
            self.note(world, position, world.plans.get(plan).table, 1)?;
            self.need_slot(position)?;
            return Ok(Step::Make(plan));
        };
        if kind == Kind::Spawn && !self.at_home {
            return Err(NoSuchEntity { entity }.into());
        }
        let table = self.find(world, entity)?;
        self.change(world, Place::Main(entity), table, plan, kind != Kind::Remove, position)
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
            Kind::Extend => {
                let plan = (entry.verb.plan)(world)?;
                let edge = world.row_edge(plan)?;
                // SAFETY: edges are boxed, and stay until a world forgets its plans.
                let target = unsafe { (*edge).target };
                self.find(world, key.entity)?;
                let free = |label: &Label| self.find_name(world, (key.entity.index(), *label)).is_none();
                let Some(label) = world.label(key.component, key.role)?.filter(free) else {
                    return Err(RowError::Exists { key }.into());
                };
                self.rows.make((key.entity.index(), label), target)?;
                self.note(world, position, target, 1)?;
                self.need_slot(position)?;
                self.names += 1;
                Ok(Step::Extend(edge, label))
            }
            Kind::DeleteRow => match self.find_row(world, key)? {
                (Place::Main(entity), _) => Err(RowError::MainRow { entity }.into()),
                (Place::Extra(name), table) => {
                    self.displace(world, &world.tables[table as usize].columns)?;
                    self.note(world, position, table, -1)?;
                    self.rows.put(name, None)?;
                    Ok(Step::Delete)
                }
            },
            kind => {
                let (place, table) = self.find_row(world, key)?;
                let plan = (entry.verb.plan)(world)?;
                self.change(world, place, table, plan, kind == Kind::Update, position)
            }
        }
    }

    /// What becomes of a row in a table that gets a plan's components, or loses them.
    fn change(
        &mut self,
        world: &mut World,
        place: Place,
        table: u32,
        plan: usize,
        insert: bool,
        position: usize,
    ) -> Result<Step, ChangeError> {
        world.edge(plan, table, insert)?;
        let edge = world.edge_of(plan, table, insert);
        // SAFETY: edges are boxed, and stay until a world forgets its plans.
        let (target, left) = unsafe { ((*edge).target, &(*edge).left) };
        if target == table && !insert {
            return Ok(Step::Nothing);
        }
        self.displace(world, left)?;
        if target != table {
            self.note(world, position, target, 1)?;
            self.note(world, position, table, -1)?;
            match place {
                Place::Main(entity) => self.put(entity, Some(target)),
                Place::Extra(name) => self.rows.put(name, Some(target))?,
            }
        } else {
            // The new values lie beyond the last row until they take the place of the old ones.
            self.note(world, position, table, 1)?;
            self.note(world, position, table, -1)?;
        }
        Ok(if insert { Step::Insert(edge) } else { Step::Remove(edge) })
    }

    /// Notes that a slot is taken.
    fn need_slot(&mut self, position: usize) -> Result<(), AllocError> {
        if self.slots == 0 {
            self.slots_position = position;
        }
        self.slots = self.slots.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
        Ok(())
    }

    /// The row under a key, and the table in which it would be.
    fn find_row(&self, world: &World, key: Key) -> Result<(Place, u32), ChangeError> {
        let main = self.find(world, key.entity)?;
        if key.is_main() {
            return Ok((Place::Main(key.entity), main));
        }
        let name = world.label(key.component, key.role).ok().flatten().map(|label| (key.entity.index(), label));
        let found = name.and_then(|name| Some((Place::Extra(name), self.find_name(world, name)?)));
        found.ok_or(RowError::NoSuchRow { key }.into())
    }

    /// The table in which an extra row would be, if there is one under the name by then.
    fn find_name(&self, world: &World, name: Name) -> Option<u32> {
        match self.rows.get(name) {
            Some(state) => state.table,
            None => world.table_of_name(name),
        }
    }

    /// Lists the tables of the extra rows that an entity would have, in the order of their making, with room for one more.
    fn list_extra_rows(&mut self, world: &World, owner: u32) -> Result<(), AllocError> {
        let Scratch { rows, extra, .. } = self;
        extra.clear();
        // A row that ended is not there, nor is one whose name is another's by then, which comes below.
        let kept = world.extra_rows(owner).filter_map(|(_, label)| match rows.get((owner, label)) {
            Some(state) => state.table.filter(|_| !state.is_made),
            None => world.table_of_name((owner, label)),
        });
        for table in kept.chain(rows.made_for(owner)) {
            try_room(extra, 1)?;
            extra.push(table);
        }
        try_room(extra, 1)
    }

    /// Notes that a command is skipped: its payload ends, and with it the entity that it would have made.
    pub(super) fn forsake(&mut self, world: &World, entry: &Entry, position: usize) -> Result<(), AllocError> {
        if let (Kind::Spawn, Some(entity)) = (entry.verb.kind, entry.entity)
            && self.at_home
            && self.find(world, entity) == Ok(0)
        {
            // With extra rows of others' making it stays, as it does with components.
            self.list_extra_rows(world, entity.index())?;
            if self.extra.is_empty() {
                self.note(world, position, 0, -1)?;
                self.put(entity, None);
            }
        }
        self.stash.expect(None)
    }

    /// The table in which an entity would be.
    fn find(&self, world: &World, entity: Entity) -> Result<u32, NoSuchEntity> {
        match self.overlay.get(&entity.index()).filter(|found| found.segment == self.segment) {
            None => world.locate(entity).map(|location| location.table),
            Some(found) if found.generation == entity.generation() => found.table.ok_or(NoSuchEntity { entity }),
            Some(_) => Err(NoSuchEntity { entity }),
        }
    }

    /// Says where an entity would be from here on. There is room for it.
    fn put(&mut self, entity: Entity, table: Option<u32>) {
        let found = Whereabouts { segment: self.segment, generation: entity.generation(), table };
        self.overlay.insert(entity.index(), found);
    }

    /// Notes that a row comes or goes.
    fn note(&mut self, world: &World, position: usize, table: u32, change: i64) -> Result<(), AllocError> {
        if self.needs.len() <= table as usize {
            let more = world.tables.len() - self.needs.len();
            try_room(&mut self.needs, more)?;
            self.needs.resize(world.tables.len(), Need::default());
        }
        let need = &mut self.needs[table as usize];
        need.now += change;
        if need.now > need.most {
            (need.most, need.position) = (need.now, position);
        }
        Ok(())
    }

    fn displace(&mut self, world: &World, columns: &[Column]) -> Result<(), AllocError> {
        columns
            .iter()
            .filter(|column| column.drop.is_some())
            .try_for_each(|column| self.stash.expect(world.components.info(column.id).lanes.first().copied()))
    }

    /// Phase 2.
    pub(super) fn reserve(&mut self, world: &mut World, first: usize) -> Result<(), CommandError> {
        let at = |position| move |error: AllocError| CommandError { position, error: error.into() };
        if self.slots > 0 {
            world.reserve_entities(self.slots).map_err(at(self.slots_position))?;
        }
        if self.names > 0 {
            let slots = world.entities.capacity();
            world.rows.try_reserve(self.names, self.names, slots).map_err(at(self.slots_position))?;
        }
        for (table, need) in (0..).zip(&self.needs).filter(|(_, need)| need.most > 0) {
            let rows = u32::try_from(need.most).map_err(|_| AllocError::CapacityOverflow);
            rows.and_then(|rows| world.reserve_table(table, rows)).map_err(at(need.position))?;
        }
        self.stash.try_reserve().map_err(at(first))
    }
}
