//! [`TableIndex`]: finds tables by their signatures.

use super::table::Table;
use crate::alloc::{try_reserve_map, try_vec};
use crate::signature::Signature;
use phalanx_store::AllocError;
use std::collections::HashMap;

/// Up to this number of tables, they are searched one by one.
const FEW: usize = 12;

/// Finds tables by their signatures. A world with few tables needs no map.
#[derive(Debug, Default)]
pub(crate) struct TableIndex {
    /// All tables, if there are more than [`FEW`]. Otherwise it is empty.
    ///
    /// Signatures may come from a file, so that the hash has a seed. No result depends on its order.
    map: Option<HashMap<Signature, u32>>,
}

/// The entries that another table needs: see [`TableIndex::try_reserve`].
pub(super) struct NewEntries {
    entries: Vec<(Signature, u32)>,
    /// The map, if this is the first table that needs one.
    new_map: Option<HashMap<Signature, u32>>,
}

impl TableIndex {
    /// Returns the table of a signature, if there is one.
    pub(crate) fn find(&self, tables: &[Table], signature: &Signature) -> Option<u32> {
        match &self.map {
            Some(map) => map.get(signature).copied(),
            None => tables.iter().position(|table| table.signature == *signature).map(|number| number as u32),
        }
    }

    /// Reserves capacity for another table, and returns the entries that it needs. Nothing changes.
    pub(super) fn try_reserve(
        &mut self,
        tables: &[Table],
        signature: &Signature,
    ) -> Result<Option<NewEntries>, AllocError> {
        if tables.len() < FEW {
            return Ok(None);
        }
        let first = if self.map.is_some() { tables.len() } else { 0 };
        let mut entries = try_vec(tables.len() + 1 - first)?;
        for (number, table) in (first as u32..).zip(&tables[first..]) {
            entries.push((table.signature.try_clone()?, number));
        }
        entries.push((signature.try_clone()?, tables.len() as u32));
        let mut new_map = None;
        match &mut self.map {
            Some(map) => try_reserve_map(map, 1)?,
            None => {
                let mut map = HashMap::default();
                try_reserve_map(&mut map, entries.len())?;
                new_map = Some(map);
            }
        }
        Ok(Some(NewEntries { entries, new_map }))
    }

    /// Adds another table.
    pub(super) fn add(&mut self, NewEntries { entries, new_map }: NewEntries) {
        if new_map.is_some() {
            self.map = new_map;
        }
        if let Some(map) = &mut self.map {
            map.extend(entries);
        }
    }

    /// Replaces all tables.
    pub(crate) fn reset(&mut self, tables: &[Table]) {
        let entries = (0..).zip(tables).map(|(number, table)| (table.signature.clone(), number));
        self.map = (tables.len() > FEW).then(|| entries.collect());
    }

    /// Returns `true` if it finds each of these tables.
    pub(crate) fn is_valid(&self, tables: &[Table]) -> bool {
        let is_found = |(number, table): (u32, &Table)| self.find(tables, &table.signature) == Some(number);
        self.map.as_ref().is_none_or(|map| map.len() == tables.len()) && (0..).zip(tables).all(is_found)
    }
}
