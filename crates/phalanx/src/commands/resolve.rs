//! What a segment will do, and what it needs: found out before anything changes.
//!
//! # What must stay true
//!
//! The steps of a segment hold for the world as it was when they were found: nobody follows their edges once anything
//! else has changed it. Edges are boxed, and a world does not give one up while it resolves.
#![allow(unsafe_code)]

use super::buffer::Kind;
use super::stash::Stash;
use super::{CommandError, Entry};
use crate::component::TypeIdHasher;
use crate::error::{ChangeError, NoSuchEntity};
use crate::plan::Edge;
use crate::room::{try_map_room, try_room};
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
    /// Gives components.
    Insert(*const Edge),
    /// Takes components.
    Remove(*const Edge),
    /// There is nothing to take.
    Nothing,
    Despawn,
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
    needs: Vec<Need>,
    /// Entities to be made, and the first command that makes one.
    slots: u32,
    slots_position: usize,
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
            + self.needs.capacity() * size_of::<Need>()
            + self.stash.held()
    }

    /// Forgets the last application.
    pub(super) fn start(&mut self) {
        self.overlay.clear();
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
        self.slots = 0;
        self.at_home = at_home;
        self.stash.begin();
        try_room(&mut self.steps, count)?;
        try_map_room(&mut self.overlay, count)
    }

    /// Phase 1, for one command.
    pub(super) fn resolve(&mut self, world: &mut World, entry: &Entry, position: usize) -> Result<Step, ChangeError> {
        let kind = entry.verb.kind;
        if kind == Kind::Despawn {
            let entity = entry.entity.expect("a despawn names its entity");
            let table = self.find(world, entity)?;
            self.displace(world, &world.tables[table as usize].columns)?;
            // Its extra rows end with it.
            for row in world.rows(entity).into_iter().flatten().skip(1) {
                let table = world.locate(row.1.0)?.table;
                self.displace(world, &world.tables[table as usize].columns)?;
            }
            self.note(world, position, table, -1)?;
            self.put(entity, None);
            return Ok(Step::Despawn);
        }
        let plan = (entry.verb.plan)(world)?;
        let Some(entity) = entry.entity else {
            self.note(world, position, world.plans.get(plan).table, 1)?;
            if self.slots == 0 {
                self.slots_position = position;
            }
            self.slots = self.slots.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
            return Ok(Step::Make(plan));
        };
        if kind == Kind::Spawn && !self.at_home {
            return Err(NoSuchEntity { entity }.into());
        }
        let table = self.find(world, entity)?;
        let insert = kind != Kind::Remove;
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
            self.put(entity, Some(target));
        } else {
            // The new values lie beyond the last row until they take the place of the old ones.
            self.note(world, position, table, 1)?;
            self.note(world, position, table, -1)?;
        }
        Ok(if insert { Step::Insert(edge) } else { Step::Remove(edge) })
    }

    /// Notes that a command is skipped: its payload ends, and with it the entity that it would have made.
    pub(super) fn forsake(&mut self, world: &World, entry: &Entry, position: usize) -> Result<(), AllocError> {
        if let (Kind::Spawn, Some(entity)) = (entry.verb.kind, entry.entity)
            && self.at_home
            && self.find(world, entity) == Ok(0)
        {
            self.note(world, position, 0, -1)?;
            self.put(entity, None);
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
        for (table, need) in (0..).zip(&self.needs).filter(|(_, need)| need.most > 0) {
            let rows = u32::try_from(need.most).map_err(|_| AllocError::CapacityOverflow);
            rows.and_then(|rows| world.reserve_table(table, rows)).map_err(at(need.position))?;
        }
        self.stash.try_reserve().map_err(at(first))
    }
}
