//! The extra rows of a [`Storage`]: how they are found from their names and their owners.
#![allow(unsafe_code)]

use super::{Location, Storage};
use crate::component::ComponentId;
use crate::rows::{Label, Link, NONE, Name, Row, RowLanes};
use crate::signature::Signature;
use crate::storage::table::Table;
use phalanx_store::Entity;

impl Storage {
    /// Removes an extra row from the maps and links that lead to it.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(crate) unsafe fn unlink(&mut self, slot: u32) {
        // SAFETY: the slot is an extra row, by the caller's contract.
        let (_, owner, label, link) = unsafe { self.extra_row(slot) };
        let owner = owner.index();
        self.rows.by_name.remove(&(owner, label));
        let first = self.rows.first[&owner];
        if first == slot {
            if link.next == NONE {
                return self.rows.end(owner);
            }
            // Not `insert`: it may allocate before it finds the key.
            if let Some(first) = self.rows.first.get_mut(&owner) {
                *first = link.next;
            }
        }
        // The link before the first row leads to the last.
        let after = if link.next == NONE { first } else { link.next };
        // SAFETY: the links of an extra row lead to extra rows of the same owner.
        unsafe {
            if first != slot {
                (*self.link(link.prev)).next = link.next;
            }
            (*self.link(after)).prev = link.prev;
        }
    }

    /// Checks that names and owners lead to every extra row, and to nothing else.
    pub(crate) fn validate_rows(&self) -> Result<(), &'static str> {
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
                if self.try_location(*slot) != Ok(expected) {
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
                let is_there = |at: Location| {
                    let table = self.tables.get(at.table as usize);
                    table.is_some_and(|t| {
                        t.signature.has(ComponentId::ROW)
                            && t.slots().get(at.row as usize).is_some_and(|s| s.index() == slot)
                    })
                };
                if !self.entities.payload_at(slot).is_some_and(is_there) {
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

impl Storage {
    /// Returns the table of an extra row, the lanes of the reserved component there, and its row.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(crate) unsafe fn row_at(&self, slot: u32) -> (&Table, RowLanes, usize) {
        // SAFETY: the location of an extra row is in a table of extra rows.
        unsafe {
            let location = self.entities.payload_unchecked(slot);
            let table = &self.tables[location.table as usize];
            (table, table.row_lanes().unwrap_unchecked(), location.row as usize)
        }
    }

    /// Returns a pointer to the links of an extra row.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(crate) unsafe fn link(&self, slot: u32) -> *mut Link {
        // SAFETY: the row is in use.
        unsafe {
            let (_, lanes, row) = self.row_at(slot);
            lanes.links.add(row)
        }
    }

    /// Returns the handle, the owner, the label and the links of an extra row.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(crate) unsafe fn extra_row(&self, slot: u32) -> (Row, Entity, Label, Link) {
        // SAFETY: the row is in use.
        unsafe {
            let (table, lanes, row) = self.row_at(slot);
            let name = (*lanes.owners.add(row), *lanes.labels.add(row));
            (Row(table.slots()[row]), name.0, name.1, *lanes.links.add(row))
        }
    }

    /// Returns the entity that a slot is or belongs to.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    #[inline]
    pub(crate) unsafe fn owner_of(&self, slot: Entity) -> Entity {
        // SAFETY: the slot is an extra row, and is alive by the caller's contract.
        if slot.is_row() { unsafe { self.extra_row(slot.index()).1 } } else { slot }
    }

    /// Returns the slot and the table of the extra row with a name, if there is one.
    pub(crate) fn row_of_name(&self, name: Name) -> Option<(Entity, u32)> {
        let slot = *self.rows.by_name.get(&name)?;
        let location = self.entities.payload_at(slot)?;
        // SAFETY: names lead to extra rows.
        Some((unsafe { self.extra_row(slot) }.0.0, location.table))
    }

    /// Returns the extra rows of the entity at an index, in the order of their creation.
    pub(crate) fn extra_rows(&self, owner: u32) -> impl Iterator<Item = (Row, Label)> + Clone + '_ {
        let mut next = match self.rows.owns(owner) {
            true => self.rows.first[&owner],
            false => NONE,
        };
        core::iter::from_fn(move || {
            (next != NONE).then(|| {
                // SAFETY: the first row of an entity, and what links lead to, are extra rows.
                let (row, _, label, link) = unsafe { self.extra_row(next) };
                next = link.next;
                (row, label)
            })
        })
    }
}
