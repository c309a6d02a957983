//! The ends of rows: one alone, or all of an entity. And the check of what finds them.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::component::ComponentId;
use crate::room::try_list;
use crate::rows::{NONE, Row, RowError, RowId};
use crate::side::Sides;
use crate::signal::{Notified, RowName};
use crate::signature::Signature;
use crate::table::Table;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Ends one extra row, named by its key or its handle, and drops its components. Its entity and the other rows stay.
    ///
    /// # Errors
    ///
    /// If the row is not there, or is the main row of its entity, which ends with [`despawn`](World::despawn); or memory
    /// for entities that were reserved cannot be had. Nothing happens then.
    pub fn delete_row(&mut self, row: impl RowId) -> Result<(), RowError> {
        self.flush()?;
        let Row(slot) = row.find(self)?;
        if !slot.is_row() {
            return Err(RowError::MainRow { entity: slot });
        }
        let active = self.signals.is_active();
        if active {
            self.reserve_notes(self.notes_of(self.locate(slot)?.table))?;
        }
        let name = self.row_name(slot);
        // SAFETY: the row is there, and an extra one.
        let tail = unsafe { self.retire_row(slot) };
        let mut notified = Notified::NOBODY;
        if active {
            self.note_end(name, tail, 0);
            notified = self.notify();
        }
        {
            let _ends = self.sides.ends();
            let table = &self.tables[tail.table as usize];
            // SAFETY: what needs an end lies at the tail of the table, nobody's, and ends.
            unsafe { table.drop_row(tail.row, &table.columns) };
        }
        if active {
            self.complete(notified);
        }
        Ok(())
    }

    /// Takes an extra row out of what finds it.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(super) unsafe fn unlink(&mut self, slot: u32) {
        // SAFETY: the slot, and what the maps and links name, are extra rows; and all are of the same owner.
        unsafe {
            let (_, owner, label, link) = self.extra_row(slot);
            self.rows.by_name.remove(&(owner.index(), label));
            let first = self.rows.first[&owner.index()];
            match (first == slot, link.next) {
                (true, NONE) => self.rows.end(owner.index()),
                (true, next) => {
                    (*self.link(next)).prev = link.prev;
                    // Not inserted: a map makes room for one more before it finds that the key is there.
                    if let Some(first) = self.rows.first.get_mut(&owner.index()) {
                        *first = next;
                    }
                }
                (false, NONE) => {
                    (*self.link(link.prev)).next = NONE;
                    (*self.link(first)).prev = link.prev;
                }
                (false, next) => {
                    (*self.link(link.prev)).next = next;
                    (*self.link(next)).prev = link.prev;
                }
            }
        }
    }

    /// Releases a slot and closes its row. Returns where the values lie that need an end: at the tail of the table, nobody's,
    /// until the next row is pushed there. A second row that is retired from the same table comes to lie below the first.
    /// Its values beside tables are retired, too, for which there is room if the slot is the first.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    unsafe fn retire(&mut self, slot: Entity) -> Location {
        self.entities.release(slot);
        if !self.sides.is_empty() {
            self.sides.take_all(slot);
        }
        self.restructured();
        // SAFETY: a slot that was alive has a location, where its row is in use.
        unsafe {
            let at = *self.entities.places().at(slot.index());
            self.close_row(at);
            Location { row: self.tables[at.table as usize].len, ..at }
        }
    }

    /// Closes a row. What needs an end lies at the tail of its table then; all that the row had, if listeners are to see it.
    ///
    /// # Safety
    ///
    /// The row is in use, and its slot was released.
    #[inline(always)]
    pub(crate) unsafe fn close_row(&mut self, at: Location) {
        if self.counting {
            self.note_ended(at.table, 1);
        }
        let table = &mut self.tables[at.table as usize];
        // SAFETY: the caller's promise; the flags are those of the table's lanes.
        unsafe {
            let moved = match self.signals.is_active() {
                false => table.close(at.row, &self.ends[at.table as usize]),
                true => table.close_whole(at.row),
            };
            if let Some(moved) = moved {
                self.entities.places().at(moved.index()).write(at);
            }
            self.mark_gone(at.table);
        }
    }

    /// Takes an extra row out of what finds it, and retires it.
    ///
    /// # Safety
    ///
    /// It is one, and there. Whoever calls ends the values before a row is pushed to their table.
    pub(crate) unsafe fn retire_row(&mut self, slot: Entity) -> Location {
        // SAFETY: the caller's promise.
        unsafe {
            self.unlink(slot.index());
            self.retire(slot)
        }
    }

    /// Takes the first extra row of the entity at an index out of what finds it, and retires it: what ends an entity calls
    /// this until there is none, and retires the main row last.
    ///
    /// # Safety
    ///
    /// Whoever calls ends the values before a row is pushed to their table.
    pub(crate) unsafe fn retire_first_row(&mut self, owner: u32) -> Option<(RowName, Location)> {
        if !self.rows.owns(owner) {
            return None;
        }
        // SAFETY: the first row of an entity is an extra row, which is alive.
        unsafe {
            let (row, ..) = self.extra_row(self.rows.first[&owner]);
            let name = self.row_name(row.0);
            Some((name, self.retire_row(row.0)))
        }
    }

    /// Ends entities that are alive: of each its extra rows in the order of their making, then the main row. All are gone
    /// before the first value is dropped; the values are dropped in that order too. How many there were: one that comes
    /// twice counts once. With `all`, they are all that there are, and slots are used again as in a new world.
    #[cold]
    #[inline(never)]
    pub(super) fn end_entities(&mut self, entities: &[Entity], all: bool) -> Result<usize, AllocError> {
        let active = self.signals.is_active();
        let (mut count, mut notes) = (0, 0);
        for (_, row) in entities.iter().flat_map(|entity| self.rows(*entity)).flatten() {
            count += 1;
            // SAFETY: a row that is alive has a location.
            notes += self.notes_of(unsafe { *self.entities.places().at(row.0.index()) }.table);
        }
        let mut retired = try_list(count)?;
        self.sides.try_reserve_ends(count)?;
        if active {
            self.reserve_notes(notes)?;
        }
        let (mut ended, mut beside) = (0, 0);
        for &entity in entities.iter() {
            if !self.contains(entity) {
                continue;
            }
            ended += 1;
            loop {
                // SAFETY: the entity is alive until its main row is retired, and there is room for all of its rows.
                let (name, tail) = match unsafe { self.retire_first_row(entity.index()) } {
                    Some(row) => row,
                    // SAFETY: as above.
                    None => (RowName::main(entity), unsafe { self.retire(entity) }),
                };
                retired.push((tail, self.sides.retired.len()));
                if active {
                    self.note_end(name, tail, beside);
                }
                beside = self.sides.retired.len();
                if name.slot == entity {
                    break;
                }
            }
        }
        if all {
            self.entities.clear();
        }
        let notified = if active { self.notify() } else { Notified::NOBODY };
        self.end_rows(&retired);
        if active {
            self.complete(notified);
        }
        Ok(ended)
    }

    /// Ends the values of retired rows, all of them, even if one panics: each row's tail, and how many values beside tables were
    /// retired by then.
    fn end_rows(&mut self, retired: &[(Location, usize)]) {
        /// Ends the values of retired rows, all of them, even if one panics: of each row those of its table, then those beside
        /// it, which are retired up to the number that is noted with it.
        struct Ends<'a> {
            tables: &'a [Table],
            rows: core::slice::Iter<'a, (Location, usize)>,
            sides: &'a mut Sides,
            next: usize,
            until: usize,
        }
        impl Ends<'_> {
            fn run(&mut self) {
                loop {
                    while self.next < self.until {
                        self.next += 1;
                        // SAFETY: the value is retired, and ends once.
                        unsafe { self.sides.end_one(self.next - 1) };
                    }
                    let Some(&(tail, until)) = self.rows.next() else { break };
                    self.until = until;
                    let table = &self.tables[tail.table as usize];
                    // SAFETY: the row was retired, and nothing was pushed since; it ends once.
                    unsafe { table.drop_row(tail.row, &table.columns) };
                }
                self.sides.retired.clear();
            }
        }
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Ends { tables: &self.tables, rows: retired.iter(), sides: &mut self.sides, next: 0, until: 0 }.run();
    }

    /// Checks that extra rows are found by name and from their owners, and nothing else is.
    pub(super) fn validate_rows(&self) -> Result<(), &'static str> {
        let bare = Signature::of([ComponentId::ROW]);
        if self.rows.bare.is_some_and(|table| self.by_signature.get(&bare) != Some(&table)) {
            return Err("a table of bare extra rows that is another");
        }
        for (number, table) in self.tables.iter().enumerate() {
            let Some(lanes) = table.row_lanes() else {
                if table.slots().iter().any(|slot| slot.is_row()) {
                    return Err("an extra row in a table of main rows");
                }
                continue;
            };
            for (row, slot) in table.slots().iter().enumerate() {
                // SAFETY: the row is in use.
                let (owner, label) = unsafe { (*lanes.owners.add(row), *lanes.labels.add(row)) };
                if !slot.is_row() {
                    return Err("a main row in a table of extra rows");
                }
                if owner.is_row() || !self.contains(owner) {
                    return Err("an extra row whose owner is not alive");
                }
                let key = label.key(owner);
                if key.is_main() || key.component.is_some_and(|id| id.index() >= self.components.len()) {
                    return Err("an extra row under a name that none can have");
                }
                if self.rows.by_name.get(&(owner.index(), label)) != Some(&slot.index()) {
                    return Err("an extra row that its name does not lead to");
                }
                let expected = Location { table: number as u32, row: row as u32 };
                if self.locate(*slot) != Ok(expected) {
                    return Err("an extra row that is not where its location says");
                }
            }
        }
        let extra = self.entities.row_count();
        if self.rows.by_name.len() != extra {
            return Err("names that lead to no extra row");
        }
        let owners: usize = self.rows.owners.iter().map(|word| word.count_ones() as usize).sum();
        if owners != self.rows.first.len() {
            return Err("owners of extra rows miscounted");
        }
        let mut linked = 0;
        let indices = (0..self.rows.owners.len() as u32 * 64).filter(|index| self.rows.owns(*index));
        for owner in indices {
            let Some(&first) = self.rows.first.get(&owner) else {
                return Err("an owner of extra rows without a first one");
            };
            let (mut slot, mut prev) = (first, NONE);
            while slot != NONE {
                linked += 1;
                if linked > extra || self.entities.get(slot).is_some() || slot as usize >= self.entities.slot_count() {
                    return Err("links that lead astray");
                }
                // SAFETY: every slot below the count has a location once it was used; that it is an extra row in use is
                // tested before the lanes are read.
                let at = unsafe { *self.entities.places().at(slot) };
                let table = self.tables.get(at.table as usize);
                let is_there = table.is_some_and(|t| {
                    t.signature.has(ComponentId::ROW)
                        && t.slots().get(at.row as usize).is_some_and(|s| s.index() == slot)
                });
                if !is_there {
                    return Err("a link to what is no extra row");
                }
                // SAFETY: tested just now.
                let (_, whose, _, link) = unsafe { self.extra_row(slot) };
                if whose.index() != owner || (prev != NONE && link.prev != prev) {
                    return Err("extra rows linked across owners, or one way only");
                }
                (prev, slot) = (slot, link.next);
            }
            // SAFETY: the first of the chain was tested above.
            if unsafe { (*self.link(first)).prev } != prev {
                return Err("a first extra row that does not lead to the last");
            }
        }
        if linked == extra { Ok(()) } else { Err("extra rows that their owners do not lead to") }
    }
}
