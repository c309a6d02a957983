//! The model: a map, and lists of entities.

use super::kinds::{KINDS, Single, part};
use phalanx::Entity;
use std::collections::BTreeMap;

pub type Values = [Option<u32>; KINDS];

#[derive(Debug, Default)]
pub struct Naive {
    pub values: BTreeMap<Entity, Values>,
    /// What a table's rows have, and the rows: in the order in which tables got their first row.
    pub tables: Vec<(u32, Vec<Entity>)>,
    pub reserved: Vec<Entity>,
    /// Everyone that was ever heard of.
    pub all: Vec<Entity>,
}

pub fn mask(numbers: &[usize]) -> u32 {
    numbers.iter().fold(0, |mask, number| mask | 1 << number)
}

impl Naive {
    pub fn new() -> Naive {
        Naive::default()
    }

    /// The table of these components. One without rows is as good as none.
    fn table(&mut self, mask: u32) -> &mut Vec<Entity> {
        self.tables.retain(|table| !table.1.is_empty());
        let at = self.tables.iter().position(|table| table.0 == mask).unwrap_or_else(|| {
            self.tables.push((mask, Vec::new()));
            self.tables.len() - 1
        });
        &mut self.tables[at].1
    }

    pub fn mask_of(&self, e: Entity) -> Option<u32> {
        let values = self.values.get(&e)?;
        Some(values.iter().enumerate().fold(0, |mask, (at, value)| mask | u32::from(value.is_some()) << at))
    }

    /// Adds a new entity. Panics if the entity existed before.
    pub fn add(&mut self, e: Entity, values: Values) {
        assert!(self.values.insert(e, values).is_none(), "{e} is alive twice");
        assert!(!self.all.contains(&e), "{e} comes a second time");
        self.all.push(e);
        let mask = self.mask_of(e).unwrap();
        self.table(mask).push(e);
    }

    /// Reserved entities become alive, without components.
    pub fn flush(&mut self) {
        for e in core::mem::take(&mut self.reserved) {
            self.values.insert(e, [None; KINDS]);
            self.table(0).push(e);
        }
    }

    /// Changes what an entity has; it moves if that is another table.
    pub fn change(&mut self, e: Entity, change: impl FnOnce(&mut Values)) {
        let before = self.mask_of(e).unwrap();
        change(self.values.get_mut(&e).unwrap());
        let after = self.mask_of(e).unwrap();
        if before != after {
            self.table(after).push(e);
            self.leave(before, e);
        }
    }

    pub fn remove(&mut self, e: Entity) {
        let mask = self.mask_of(e).unwrap();
        self.leave(mask, e);
        self.values.remove(&e);
    }

    fn leave(&mut self, mask: u32, e: Entity) {
        let rows = self.table(mask);
        let row = rows.iter().position(|other| *other == e).unwrap();
        rows.swap_remove(row);
    }

    pub fn clear(&mut self) {
        self.flush();
        self.values.clear();
        self.tables.iter_mut().for_each(|table| table.1.clear());
    }

    /// Everyone, in the order of queries.
    pub fn order(&self) -> Vec<Entity> {
        self.tables.iter().flat_map(|table| table.1.iter().copied()).collect()
    }
}

/// What a bundle's components are after it was given `key`.
pub fn given(numbers: &[usize], singles: &[Single], key: u32, values: &mut Values) {
    for &number in numbers {
        values[number] = Some((singles[number].kept)(part(key, number)));
    }
}
