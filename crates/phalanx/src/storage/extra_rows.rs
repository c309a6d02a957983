//! The extra rows of a [`Storage`]: how they are found from their names and their owners.
#![allow(unsafe_code)]

use super::{Location, Storage};
use crate::component::ComponentId;
use crate::rows::{ExtraRow, Label, Link, NONE, Name, Row};
use crate::signature::Signature;
use phalanx_store::Entity;

impl Storage {
    /// Removes an extra row from the maps and links that lead to it.
    pub(crate) fn forget_row(&mut self, slot: u32) {
        let Some(ExtraRow { owner, label, link, .. }) = self.find_extra_row(slot) else { return };
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
        if first != slot {
            self.update_link(link.prev, |before| before.next = link.next);
        }
        self.update_link(after, |after| after.prev = link.prev);
    }

    /// Checks that names and owners lead to every extra row, and to nothing else.
    pub(crate) fn validate_rows(&self) -> Result<(), &'static str> {
        let bare = Signature::of([ComponentId::ROW]);
        if self.rows.bare.is_some_and(|table| self.by_signature.find(&self.tables, &bare) != Some(table)) {
            return Err("a table of bare extra rows that is another");
        }
        for (number, table) in self.tables.iter().enumerate() {
            let Some(columns) = table.row_columns() else {
                if table.slots().iter().any(|slot| slot.is_row()) {
                    return Err("an extra row in a table of main rows");
                }
                continue;
            };
            for (row, slot) in table.slots().iter().enumerate() {
                let (owner, label) = (columns.owners[row], columns.labels[row]);
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
                let Some(ExtraRow { owner: whose, link, .. }) = self.find_extra_row(slot) else {
                    return Err("a link to what is no extra row");
                };
                if whose.index() != owner || (prev != NONE && link.prev != prev) {
                    return Err("extra rows linked across owners, or one way only");
                }
                (prev, slot) = (slot, link.next);
            }
            if self.find_extra_row(first).is_none_or(|first| first.link.prev != prev) {
                return Err("a first extra row that does not lead to the last");
            }
        }
        if linked == extra { Ok(()) } else { Err("extra rows that their owners do not lead to") }
    }
}

impl Storage {
    /// Returns the extra row at a slot, or `None` if there is none.
    pub(crate) fn find_extra_row(&self, slot: u32) -> Option<ExtraRow> {
        let at = self.entities.payload_at(slot)?;
        let table = self.tables.get(at.table as usize)?;
        let (columns, row) = (table.row_columns()?, at.row as usize);
        // The location of a slot that is not alive is that of its last row: whether the row is there is checked.
        let handle = *table.slots().get(row).filter(|handle| handle.index() == slot)?;
        let (owner, label, link) = (columns.owners[row], columns.labels[row], columns.links[row]);
        Some(ExtraRow { row: Row(handle), owner, label, link })
    }

    /// Changes the links of an extra row. Does nothing if there is no such row.
    pub(crate) fn update_link(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        let Some(at) = self.entities.payload_at(slot) else { return };
        let columns = self.tables.get_mut(at.table as usize).and_then(|table| table.row_columns_mut());
        if let Some(link) = columns.and_then(|columns| columns.links.get_mut(at.row as usize)) {
            change(link);
        }
    }

    /// Returns the handle, the owner, the label and the links of an extra row.
    ///
    /// # Safety
    ///
    /// The slot is an extra row.
    pub(crate) unsafe fn extra_row(&self, slot: u32) -> (Row, Entity, Label, Link) {
        // SAFETY: the slot is an extra row, by the caller's contract, and so it is found.
        let ExtraRow { row, owner, label, link } = unsafe { self.find_extra_row(slot).unwrap_unchecked() };
        (row, owner, label, link)
    }

    /// Returns the entity that a slot is or belongs to.
    #[inline]
    pub(crate) fn owner_of(&self, slot: Entity) -> Entity {
        if slot.is_row() { self.find_extra_row(slot.index()).map_or(slot, |row| row.owner) } else { slot }
    }

    /// Returns the slot and the table of the extra row with a name, if there is one.
    pub(crate) fn row_of_name(&self, name: Name) -> Option<(Entity, u32)> {
        let slot = *self.rows.by_name.get(&name)?;
        let location = self.entities.payload_at(slot)?;
        Some((self.find_extra_row(slot)?.row.0, location.table))
    }

    /// Returns the extra rows of the entity at an index, in the order of their creation.
    pub(crate) fn extra_rows(&self, owner: u32) -> impl Iterator<Item = (Row, Label)> + Clone + '_ {
        let mut next = match self.rows.owns(owner) {
            true => self.rows.first[&owner],
            false => NONE,
        };
        core::iter::from_fn(move || {
            let ExtraRow { row, label, link, .. } = self.find_extra_row(next)?;
            next = link.next;
            Some((row, label))
        })
    }
}
