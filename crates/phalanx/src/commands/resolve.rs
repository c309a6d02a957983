//! What a segment will do, and what it needs: found out before anything changes.
//!
//! # What must stay true
//!
//! The steps of a segment hold for the world as it was when they were found: nobody follows their edges once anything
//! else has changed it. Edges are boxed, and a world does not give one up while it resolves.
#![allow(unsafe_code)]

use super::buffer::Kind;
use super::slots::Slots;
use super::stash::Stash;
use super::{CommandError, Entry};
use crate::component::TypeIdHasher;
use crate::error::{ChangeError, NoSuchEntity};
use crate::plan::Edge;
use crate::room::{try_map_room, try_room};
use crate::side::Puts;
use crate::world::World;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// What a command will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It cannot be carried out. Whether the entity ends that it would have made.
    Skip(ChangeError, bool),
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
    /// Whether it was given components that are not kept in tables.
    has_sides: bool,
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
    /// The values that come to lie beside tables.
    puts: Puts,
    places: Slots,
    /// The most that is noted for listeners and collectors.
    notes: usize,
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
            + self.puts.bytes()
            + self.places.bytes()
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
        self.puts.clear();
        self.places.begin();
        self.slots = 0;
        self.notes = 0;
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
            // Its extra rows end with it, before its main row.
            for row in world.rows(entity).into_iter().flatten().skip(1) {
                let table = world.locate(row.1.0)?.table;
                self.end(world, row.1.0, table)?;
            }
            self.end(world, entity, table)?;
            self.note(world, position, table, -1)?;
            self.put(entity, None, false);
            return Ok(Step::Despawn);
        }
        let plan = (entry.verb.plan)(world)?;
        let Some(entity) = entry.entity else {
            self.note(world, position, world.plans.get(plan).table, 1)?;
            if self.slots == 0 {
                self.slots_position = position;
            }
            self.slots = self.slots.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
            self.notes += world.notes_of(world.plans.get(plan).table);
            self.make(world, &world.plans.get(plan).sides)?;
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
        let edge_ref = unsafe { &*edge };
        let target = edge_ref.target;
        if target == table && !insert && edge_ref.takes.is_empty() {
            return Ok(Step::Nothing);
        }
        world.expect_step(entity.index(), edge_ref, &mut self.puts, &mut self.stash)?;
        self.notes += world.edge_notes(edge_ref);
        if target != table || !edge_ref.puts.is_empty() {
            self.put(entity, Some(target), !edge_ref.puts.is_empty());
        }
        if target != table {
            self.note(world, position, target, 1)?;
            self.note(world, position, table, -1)?;
        } else {
            // The new values lie beyond the last row until they take the place of the old ones.
            self.note(world, position, table, 1)?;
            self.note(world, position, table, -1)?;
        }
        Ok(if insert { Step::Insert(edge) } else { Step::Remove(edge) })
    }

    /// Notes that a command is skipped: its payload ends, and with it the entity that it would have made, unless others have
    /// given that something. Whether it does.
    pub(super) fn forsake(&mut self, world: &World, entry: &Entry, position: usize) -> Result<bool, AllocError> {
        self.stash.expect(None)?;
        let (Kind::Spawn, Some(entity), true) = (entry.verb.kind, entry.entity, self.at_home) else { return Ok(false) };
        let has_sides = self.overlaid(entity).is_some_and(|found| found.has_sides);
        let is_bare = self.find(world, entity) == Ok(0) && !has_sides && !world.has_more(entity);
        if is_bare {
            self.notes += 1;
            self.places.try_free(entity)?;
            self.note(world, position, 0, -1)?;
            self.put(entity, None, false);
        }
        Ok(is_bare)
    }

    /// Notes that an entity or an extra row ends in a table.
    fn end(&mut self, world: &World, slot: Entity, table: u32) -> Result<(), AllocError> {
        self.stash.expect_row(world, &world.tables[table as usize].columns)?;
        self.stash.expect_all(world, slot.index())?;
        self.notes += world.notes_of(table) + 1;
        self.places.try_free(slot)
    }

    /// Notes that a slot is taken, with values in these sides.
    fn make(&mut self, world: &World, sides: &[u32]) -> Result<(), AllocError> {
        let slot = self.places.take(&world.entities);
        self.stash.expect_puts(world, sides)?;
        self.puts.try_add(sides, slot)
    }

    /// The table in which an entity would be.
    fn find(&self, world: &World, entity: Entity) -> Result<u32, NoSuchEntity> {
        match self.overlaid(entity) {
            None => world.locate(entity).map(|location| location.table),
            Some(found) if found.generation == entity.generation() => found.table.ok_or(NoSuchEntity { entity }),
            Some(_) => Err(NoSuchEntity { entity }),
        }
    }

    /// What the segment says of an entity's slot.
    fn overlaid(&self, entity: Entity) -> Option<&Whereabouts> {
        self.overlay.get(&entity.index()).filter(|found| found.segment == self.segment)
    }

    /// Says where an entity would be from here on, and whether it is given components beside tables. There is room for it.
    fn put(&mut self, entity: Entity, table: Option<u32>, gets_sides: bool) {
        let has_sides = gets_sides || self.overlaid(entity).is_some_and(|found| found.has_sides);
        let found = Whereabouts { segment: self.segment, generation: entity.generation(), table, has_sides };
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
        // Values may move, even if one of several stores cannot grow.
        world.restructured();
        world.sides.try_reserve_all(&self.puts).map_err(at(first))?;
        if world.signals.is_active() {
            world.reserve_linked_notes(self.notes).map_err(at(first))?;
        }
        self.stash.try_reserve(world.signals.is_active()).map_err(at(first))
    }
}
