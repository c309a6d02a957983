//! Carrying commands out, segment by segment.
//!
//! A segment goes through the phases of every change. *Resolve* walks the commands and follows each entity that they touch
//! through the tables, without moving it: the overlay says where it would be. What each command will do is noted as a step,
//! and how many rows, slots and bytes all of them need is counted. *Reserve* gets exactly that. *Commit* carries the steps
//! out: it copies and stores, runs no user code, and cannot fail. Displaced values go to a stash, and *drop* ends them.
//!
//! # What must stay true
//!
//! - Between resolving and committing a segment nobody else changes the world, so that the entity of a step is in the
//!   table that the overlay said, and the edge of a step is one of that table.
//! - The stash has room for every value that the steps displace, in their order, before the first is carried out; it does
//!   not move while it holds values.
//! - The payloads of skipped commands end with the stash, where they lie in the arena.
#![allow(unsafe_code)]

use super::buffer::{Arena, Kind, place_after};
use super::{CommandError, Commands, Entry};
use crate::component::{DropFn, TypeIdHasher};
use crate::error::{ChangeError, NoSuchEntity};
use crate::plan::Edge;
use crate::table::{Column, Table, copy_row, row_ptr};
use crate::world::{Location, World};
use core::alloc::Layout;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// What a command will do.
#[derive(Clone, Copy, Debug)]
enum Step {
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
    steps: Vec<Step>,
    overlay: HashMap<u32, Whereabouts, TypeIdHasher>,
    needs: Vec<Need>,
    /// Entities to be made, and the first command that makes one.
    slots: u32,
    slots_position: usize,
    stash: Stash,
}

// SAFETY: the edges of steps are pointers into a world that are read only while that world is being changed by `apply`;
// in between they are leftovers that nobody follows.
unsafe impl Send for Scratch {}
// SAFETY: as above; behind a shared reference nothing is reached.
unsafe impl Sync for Scratch {}

/// Values that were displaced and have not ended yet.
#[derive(Debug, Default)]
struct Stash {
    values: Vec<(DropFn, *mut u8)>,
    arena: Arena,
    /// Counted while resolving: values, bytes, the greatest alignment.
    count: usize,
    bytes: usize,
    align: usize,
}

impl Stash {
    fn expect(&mut self, layout: Option<Layout>) -> Result<(), AllocError> {
        self.count += 1;
        if let Some(layout) = layout {
            self.bytes = place_after(self.bytes, layout)?.1;
            self.align = self.align.max(layout.align());
        }
        Ok(())
    }

    /// Takes over the values of a row in these columns, which count as moved out.
    ///
    /// # Safety
    ///
    /// The row is initialised there, and the values were [expected](Stash::expect), in this order.
    unsafe fn take(&mut self, world: &World, table: &Table, row: u32, columns: &[Column]) {
        for column in columns {
            let Some(drop) = column.drop else { continue };
            debug_assert!(self.values.len() < self.values.capacity());
            let layout = world.components.info(column.id).lanes.first().copied();
            let to = match layout {
                // A value without a size is anywhere.
                None => core::ptr::without_provenance_mut(crate::table::ALIGNED_FOR_ALL),
                Some(layout) => {
                    let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
                    // SAFETY: the place was made just now. A column that needs an end has one lane, whose rows have this
                    // layout; the row is initialised.
                    unsafe {
                        let to = self.arena.at(offset, layout);
                        let lane = &*table.lanes().add(column.first as usize);
                        copy_row(row_ptr(lane, row), to, layout.size());
                        to
                    }
                }
            };
            self.values.push((drop, to));
        }
    }
}

/// Ends what is in a stash, in order, all of it, even if one panics; a second panic aborts.
struct Ending<'a> {
    stash: &'a mut Stash,
    next: usize,
}

impl Ending<'_> {
    fn run(&mut self) {
        while let Some(&(drop, value)) = self.stash.values.get(self.next) {
            self.next += 1;
            // SAFETY: the stash owned the value, which ends here, once.
            unsafe { drop(value) };
        }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.run();
        self.stash.values.clear();
        self.stash.arena.clear();
    }
}

/// Makes room for so many more in a list.
pub(super) fn try_room<T>(list: &mut Vec<T>, additional: usize) -> Result<(), AllocError> {
    list.try_reserve(additional).map_err(|_| no_room::<T>(additional))
}

fn no_room<T>(count: usize) -> AllocError {
    match Layout::array::<T>(count) {
        Ok(layout) => AllocError::OutOfMemory { bytes: layout.size(), align: layout.align() },
        Err(_) => AllocError::CapacityOverflow,
    }
}

impl Scratch {
    pub(super) fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.overlay.capacity() * size_of::<(u32, Whereabouts)>()
            + self.needs.capacity() * size_of::<Need>()
            + self.stash.values.capacity() * size_of::<(DropFn, *mut u8)>()
            + self.stash.arena.bytes()
    }

    /// Starts over, with room for so many commands.
    fn begin(&mut self, count: usize) -> Result<(), AllocError> {
        self.steps.clear();
        self.overlay.clear();
        self.needs.clear();
        self.slots = 0;
        (self.stash.count, self.stash.bytes, self.stash.align) = (0, 0, 1);
        try_room(&mut self.steps, count)?;
        self.overlay.try_reserve(count).map_err(|_| no_room::<(u32, Whereabouts)>(count))
    }

    /// Phase 1, for one command.
    fn resolve(&mut self, world: &mut World, entry: &Entry, position: usize) -> Result<Step, ChangeError> {
        let kind = entry.verb.kind;
        if kind == Kind::Despawn {
            let entity = entry.entity.expect("a despawn names its entity");
            let table = self.find(world, entity)?;
            self.displace(world, &world.tables[table as usize].columns)?;
            self.note(world, position, table, -1)?;
            self.overlay.insert(entity.index(), Whereabouts { generation: entity.generation(), table: None });
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
        let table = self.find(world, entity)?;
        let insert = kind != Kind::Remove;
        world.edge(plan, table, insert);
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
            self.overlay.insert(entity.index(), Whereabouts { generation: entity.generation(), table: Some(target) });
        }
        Ok(if insert { Step::Insert(edge) } else { Step::Remove(edge) })
    }

    /// Notes that a command is skipped: its payload ends, and with it the entity that it would have made.
    fn forsake(&mut self, world: &World, entry: &Entry, position: usize) -> Result<(), AllocError> {
        if let (Kind::Spawn, Some(entity)) = (entry.verb.kind, entry.entity)
            && self.find(world, entity) == Ok(0)
        {
            self.note(world, position, 0, -1)?;
            self.overlay.insert(entity.index(), Whereabouts { generation: entity.generation(), table: None });
        }
        self.stash.expect(None)
    }

    /// The table in which an entity would be.
    fn find(&self, world: &World, entity: Entity) -> Result<u32, NoSuchEntity> {
        match self.overlay.get(&entity.index()) {
            None => world.locate(entity).map(|location| location.table),
            Some(found) if found.generation == entity.generation() => found.table.ok_or(NoSuchEntity { entity }),
            Some(_) => Err(NoSuchEntity { entity }),
        }
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
    fn reserve(&mut self, world: &mut World, first: usize) -> Result<(), CommandError> {
        // Lanes may move, even if a later one cannot.
        world.restructured();
        let at = |position| move |error: AllocError| CommandError { position, error: error.into() };
        if self.slots > 0 {
            world.reserve_entities(self.slots).map_err(at(self.slots_position))?;
        }
        for (table, need) in world.tables.iter_mut().zip(&self.needs).filter(|(_, need)| need.most > 0) {
            let rows = u32::try_from(need.most).map_err(|_| AllocError::CapacityOverflow);
            rows.and_then(|rows| table.try_reserve(rows)).map_err(at(need.position))?;
        }
        try_room(&mut self.stash.values, self.stash.count).map_err(at(first))?;
        self.stash.arena.try_reserve(self.stash.bytes, self.stash.align).map_err(at(first))
    }
}

impl Commands {
    /// Carries out all commands, in order, and empties the buffer.
    ///
    /// ```
    /// use phalanx::{ChangeError, Commands, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let [alice, bob] = [world.spawn(Purse(3)), world.spawn_empty()];
    /// let mut commands = Commands::new();
    /// commands.remove::<Purse>(alice);
    /// commands.insert(bob, Purse(3));
    /// world.despawn(bob)?;
    /// let error = commands.apply(&mut world).unwrap_err();
    /// assert_eq!(error.position, 1);
    /// assert!(matches!(error.error, ChangeError::NoSuchEntity(e) if e.entity == bob));
    /// assert_eq!(world.get::<Purse>(alice)?.0, 3); // nothing happened, and nothing is recorded any more
    /// assert!(commands.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first command that could not be carried out: its entity is not alive by then, its bundle names a component
    /// twice, or memory cannot be had. Nothing of its segment happened, segments before it stand, and no command after it
    /// is carried out; all payloads end.
    ///
    /// # Panics
    ///
    /// If a closure or the destructor of a displaced value does. The segments before a closure that panics stand, and a
    /// segment whose displaced value panics stands, too. The commands after it are dropped.
    pub fn apply(&mut self, world: &mut World) -> Result<(), CommandError> {
        let run = Run { commands: self, world };
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            run.commands.segment(run.world, end, None)?;
            run.commands.call(run.world);
        }
        Ok(())
    }

    /// Carries out all commands that can be, in order, and empties the buffer. Those that cannot be are skipped and
    /// reported, segment by segment, each segment after it has been carried out.
    ///
    /// If there is not enough memory for a segment as a whole, its commands are carried out one by one.
    ///
    /// ```
    /// use phalanx::{Commands, World};
    ///
    /// let mut world = World::new();
    /// let [a, b] = [world.spawn_empty(), world.spawn_empty()];
    /// let mut commands = Commands::new();
    /// for e in [a, b, a] {
    ///     commands.despawn(e);
    /// }
    /// let mut refused = Vec::new();
    /// commands.apply_lossy(&mut world, |error| refused.push(error.position));
    /// assert_eq!((world.len(), refused), (0, vec![2]));
    /// ```
    ///
    /// # Panics
    ///
    /// As [`apply`](Commands::apply), and if `report` does.
    pub fn apply_lossy(&mut self, world: &mut World, mut report: impl FnMut(CommandError)) {
        let run = Run { commands: self, world };
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            if run.commands.segment(run.world, end, Some(&mut report)).is_err() {
                while run.commands.done < end {
                    let next = run.commands.done + 1;
                    if let Err(error) = run.commands.segment(run.world, next, Some(&mut report)) {
                        run.commands.skip(run.world);
                        report(error);
                    }
                }
            }
            run.commands.call(run.world);
        }
    }

    /// The end of the segment that is next.
    fn segment_end(&self) -> usize {
        let rest = &self.entries[self.done..];
        self.done + rest.iter().position(|entry| entry.verb.kind == Kind::Call).unwrap_or(rest.len())
    }

    /// Calls the closure that is next, if one is.
    fn call(&mut self, world: &mut World) {
        if let Some(&entry) = self.entries.get(self.done).filter(|entry| entry.verb.kind == Kind::Call) {
            self.done += 1;
            // SAFETY: the entry owned its closure, which moves out.
            unsafe { (entry.verb.call)(self.arena.at(entry.offset, entry.verb.layout), world) };
        }
    }

    /// Drops the command that is next.
    fn skip(&mut self, world: &mut World) {
        let entry = self.entries[self.done];
        self.done += 1;
        world.end_promise(&entry);
        // SAFETY: the entry owned its payload, which ends here.
        unsafe { (entry.verb.drop)(self.arena.at(entry.offset, entry.verb.layout)) };
    }

    /// Carries out the commands up to `end`, none of which is a closure; or none of them. With a report, commands that
    /// cannot be resolved are skipped.
    fn segment(
        &mut self,
        world: &mut World,
        end: usize,
        report: Option<&mut dyn FnMut(CommandError)>,
    ) -> Result<(), CommandError> {
        let first = self.done;
        if first == end {
            return Ok(());
        }
        let Commands { entries, arena, scratch, done, .. } = self;
        let at = |position| move |error: AllocError| CommandError { position, error: error.into() };
        scratch.begin(end - first).map_err(at(first))?;
        world.flush().map_err(at(first))?;
        for (position, entry) in (first..end).zip(&entries[first..end]) {
            let step = match scratch.resolve(world, entry, position) {
                Ok(step) => step,
                Err(error) if report.is_none() || matches!(error, ChangeError::Alloc(_)) => {
                    return Err(CommandError { position, error });
                }
                Err(error) => {
                    scratch.forsake(world, entry, position).map_err(at(position))?;
                    Step::Skip(error)
                }
            };
            scratch.steps.push(step);
        }
        scratch.reserve(world, first)?;
        for (entry, step) in entries[first..end].iter().zip(&scratch.steps) {
            // SAFETY: the entry owns its payload, and does not once the step is carried out. The segment is resolved and
            // reserved, and its steps are carried out in order.
            unsafe {
                let payload = arena.at(entry.offset, entry.verb.layout);
                world.carry_out(entry, *step, payload, &mut scratch.stash);
            }
        }
        *done = end;
        let mut ending = Ending { stash: &mut scratch.stash, next: 0 };
        if let Some(report) = report {
            for (at, step) in scratch.steps.iter().enumerate() {
                if let Step::Skip(error) = *step {
                    report(CommandError { position: first + at, error });
                }
            }
        }
        ending.run();
        Ok(())
    }
}

/// Ends what is left of a buffer, however its application ends.
struct Run<'a> {
    commands: &'a mut Commands,
    world: &'a mut World,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let Commands { entries, done, reserved, .. } = &mut *self.commands;
        // Without memory to flush them, entities stay reserved, and are alive later, without components.
        let promised = entries[*done..].iter().any(|entry| entry.verb.kind == Kind::Spawn);
        if (promised || !reserved.is_empty()) && self.world.flush().is_ok() {
            entries[*done..].iter().for_each(|entry| self.world.end_promise(entry));
            reserved.iter().rev().for_each(|entity| self.world.end_empty(*entity));
        }
        reserved.clear();
        self.commands.clear();
    }
}

impl World {
    /// Phase 3, for one command.
    ///
    /// # Safety
    ///
    /// The step was resolved for this entry, all steps before it were carried out, and what they need is reserved. The
    /// payload is initialised and counts as moved out.
    unsafe fn carry_out(&mut self, entry: &Entry, step: Step, payload: *mut u8, stash: &mut Stash) {
        let entity = entry.entity;
        let known = || entity.expect("only a spawn has no entity");
        match step {
            Step::Nothing => {}
            Step::Skip(_) => {
                self.end_promise(entry);
                stash.values.push((entry.verb.drop, payload));
            }
            Step::Make(plan) => {
                let plan = self.plans.get(plan);
                let table = &mut self.tables[plan.table as usize];
                let entity = self.entities.alloc();
                // SAFETY: the row, the slot and its location are reserved; the places are those of the bundle in this
                // table.
                unsafe {
                    let row = table.push(entity);
                    (entry.verb.write)(payload, table.lanes(), plan.places.as_ptr(), row as usize);
                    self.locations.at(entity.index()).write(Location { table: plan.table, row });
                }
                self.restructured();
            }
            Step::Insert(edge) => {
                let (entity, from) = self.whereabouts(known());
                // SAFETY: the edge is one of the entity's table, and there is room in its target. The values that stay
                // behind are at the tail of the source, or in the row itself; the stash takes them over before anything
                // is written there.
                unsafe {
                    let (target, left, places) = ((*edge).target, &(*edge).left, (*edge).places.as_ptr());
                    let mut row = from.row;
                    let mut old = from.row;
                    if target != from.table {
                        row = self.cross(entity, from, edge);
                        old = self.tables[from.table as usize].len;
                    }
                    stash.take(self, &self.tables[from.table as usize], old, left);
                    (entry.verb.write)(payload, self.tables[target as usize].lanes(), places, row as usize);
                }
            }
            Step::Remove(edge) => {
                let (entity, from) = self.whereabouts(known());
                // SAFETY: as above; the target has no lanes but those that went along.
                unsafe {
                    self.cross(entity, from, edge);
                    let source = &self.tables[from.table as usize];
                    stash.take(self, source, source.len, &(*edge).left);
                }
            }
            Step::Despawn => {
                let (entity, from) = self.whereabouts(known());
                // SAFETY: the entity is there; what needs an end is at the tail then, and goes to the stash.
                unsafe {
                    self.end_row(entity, from);
                    let table = &self.tables[from.table as usize];
                    stash.take(self, table, table.len, &table.columns);
                }
            }
        }
    }

    /// Where an entity is that was found alive while resolving.
    fn whereabouts(&self, entity: Entity) -> (Entity, Location) {
        (entity, self.locate(entity).expect("found alive while resolving"))
    }

    /// Ends an entity. What needs an end in its row comes to lie at the table's tail, nobody's.
    ///
    /// # Safety
    ///
    /// It is alive, and there.
    unsafe fn end_row(&mut self, entity: Entity, at: Location) {
        self.entities.release(entity);
        // SAFETY: the row is in use, and the flags are those of its lanes.
        unsafe {
            if let Some(moved) = self.tables[at.table as usize].close(at.row, &self.ends[at.table as usize]) {
                self.locations.at(moved.index()).write(at);
            }
        }
        self.restructured();
    }

    /// Ends the entity that a spawn has promised and will not make.
    fn end_promise(&mut self, entry: &Entry) {
        if let (Kind::Spawn, Some(entity)) = (entry.verb.kind, entry.entity) {
            self.end_empty(entity);
        }
    }

    /// Ends an entity that has no components; otherwise nothing happens.
    fn end_empty(&mut self, entity: Entity) {
        if let Ok(at @ Location { table: 0, .. }) = self.locate(entity) {
            // SAFETY: it is there, and a row of table 0 has no values.
            unsafe { self.end_row(entity, at) };
        }
    }
}
