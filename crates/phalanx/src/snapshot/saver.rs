//! [`Saver`]: writes a world as a snapshot.

use super::column_rows::ColumnRows;
use super::error::SaveError;
use super::format::{COMPONENTS, END, GROUPS, RESOURCE, ROWS, SLOTS, SPARSE, TABLE};
use super::part::Part;
use super::registry::{Entry, Registry, ResourceEntry};
use super::writer::Writer;
use super::{Report, has_bit};
use crate::alloc::{try_clone_slice, try_reserve, try_reserve_map, try_vec};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::links::NONE;
use crate::names::NameKey;
use crate::runs::Runs;
use crate::seeded::NumberMap;
use crate::sparse::{GroupData, Removal, SparseStorage, Store};
use crate::world::{Location, World};
use phalanx_store::{AllocError, Entity, EntityPool};

/// The key of a hole in a sparse set.
pub(super) const HOLE: u32 = u32::MAX;

/// A component of the snapshot.
#[derive(Clone, Copy)]
pub(super) struct Saved<'a> {
    pub(super) id: ComponentId,
    pub(super) entry: &'a Entry,
}

/// The components that a group owns, requires and excludes, and the members of a group that owns nothing.
pub(super) type GroupParts = [Vec<u32>; 4];

/// Writes the section of groups.
pub(super) fn put_groups(groups: &[GroupParts], out: &mut Writer<'_>) -> Result<(), SaveError> {
    out.begin(GROUPS, 0)?;
    out.put_u32(groups.len() as u32)?;
    for group in groups {
        for list in group {
            out.put_u32(list.len() as u32)?;
            out.put_u32_slice(list)?;
        }
    }
    out.end()
}

/// Collects the items of an iterator.
pub(super) fn try_collect<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>, AllocError> {
    let mut list = try_vec(items.size_hint().0)?;
    for item in items {
        try_push(&mut list, item)?;
    }
    Ok(list)
}

pub(super) fn try_push<T>(list: &mut Vec<T>, item: T) -> Result<(), AllocError> {
    try_reserve(list, 1)?;
    list.push(item);
    Ok(())
}

/// Returns words for `count` bits, all of them clear.
fn try_bits(count: usize) -> Result<Vec<u64>, AllocError> {
    let mut words = try_vec(count.div_ceil(64))?;
    words.resize(count.div_ceil(64), 0);
    Ok(words)
}

/// A table of the snapshot. It combines the tables of the world that differ only in components that are left out.
pub(super) struct SavedTable {
    pub(super) extra: bool,
    pub(super) components: Vec<u32>,
    sources: Vec<u32>,
}

/// The rows of a table of the world that are saved.
pub(super) struct SavedRows {
    table: u32,
    len: u32,
    /// The rows that are saved, if not all are.
    bits: Option<Vec<u64>>,
}

impl SavedRows {
    pub(super) fn runs(&self) -> Runs<'_> {
        match &self.bits {
            None => Runs::All(self.len),
            Some(bits) => Runs::Bits(bits),
        }
    }
}

/// The parts of a sparse storage that are saved beside its values.
pub(super) struct SparseParts {
    pub(super) removal: u8,
    /// The keys of a sparse set. A hole is [`HOLE`].
    pub(super) keys: Vec<u32>,
    /// The presence bits of a linear storage.
    pub(super) words: Vec<u64>,
    /// The positions of a sparse set that are saved, if not all are.
    bits: Option<Vec<u64>>,
    is_pool: bool,
}

impl SparseParts {
    pub(super) fn runs(&self) -> Runs<'_> {
        match &self.bits {
            Some(bits) => Runs::Bits(bits),
            None if self.is_pool => Runs::All(self.keys.len() as u32),
            None => Runs::Bits(&self.words),
        }
    }
}

/// A world that is being saved: the chosen components and entities, and their numbers in the snapshot.
pub(super) struct Saver<'a> {
    pub(super) world: &'a World,
    part: &'a Part,
    registry: &'a Registry,
    pub(super) components: Vec<Saved<'a>>,
    /// The number of each component in the snapshot, by id.
    numbers: Vec<Option<u32>>,
    /// The entity allocator that is saved, if it is not that of the world.
    pool: Option<EntityPool<Location>>,
    /// The reserved entities, which get a row without components.
    reserved: Vec<Entity>,
    /// The slots that are saved, if not all are.
    chosen: Option<Vec<u64>>,
    /// The relations, without links of slots that are not saved.
    #[expect(clippy::vec_box, reason = "a storage is boxed wherever it is")]
    pruned: Vec<Box<SparseStorage>>,
    /// The number of links that are left out.
    pub(super) cut_links: usize,
    pub(super) skipped: Vec<&'static str>,
}

impl<'a> Saver<'a> {
    pub(super) fn new(world: &'a World, registry: &'a Registry, part: &'a Part) -> Result<Saver<'a>, SaveError> {
        if let Some(names) = &part.components
            && let Some(name) = names.iter().find(|name| registry.by_name(name).is_none())
        {
            return Err(SaveError::UnknownName { name });
        }
        let known = world.storage.components.len();
        let (mut components, mut numbers, mut skipped) =
            (try_vec::<Saved<'_>>(known)?, try_vec(known)?, try_vec(known)?);
        let named = named_by_rows(world)?;
        for id in world.storage.components.in_order().filter(|id| *id != ComponentId::ROW) {
            let info = world.storage.components.info(id);
            let Some(entry) = registry.entry_of(info) else {
                if has_values(world, id) {
                    match registry.skips || part.components.is_some() {
                        true => skipped.push(info.name()),
                        false => return Err(SaveError::Unregistered { component: info.name() }),
                    }
                }
                continue;
            };
            let is_wanted = part.components.as_ref().is_none_or(|names| names.contains(&entry.name));
            if is_wanted && (has_state(world, id) || named.binary_search(&id).is_ok()) {
                components.push(Saved { id, entry });
            }
        }
        components.sort_unstable_by_key(|saved| saved.entry.name);
        numbers.resize(known, None);
        for (number, saved) in (0..).zip(&components) {
            numbers[saved.id.index()] = Some(number);
        }
        let (pool, reserved, chosen) = (None, Vec::new(), None);
        let (pruned, cut_links) = (Vec::new(), 0);
        let mut this =
            Saver { world, part, registry, components, numbers, pool, reserved, chosen, pruned, cut_links, skipped };
        this.choose()?;
        this.prune()?;
        this.check_names()?;
        Ok(this)
    }

    /// Checks that siblings have different names in the snapshot, where links may be left out.
    fn check_names(&self) -> Result<(), SaveError> {
        let storage = &self.world.storage;
        let is_saved = |id: u32| self.number(storage.sparse.get(id).id).is_some();
        let Some(names) = storage.sparse.names().filter(|names| is_saved(*names)) else { return Ok(()) };
        let tree = storage.sparse.tree_of_names().filter(|tree| is_saved(*tree));
        if self.chosen.is_none() && tree == storage.sparse.tree_of_names() {
            return Ok(());
        }
        let mut holders = NumberMap::default();
        let slots = storage.sparse.get(names).slots_and_rows().map(|(slot, _)| slot);
        for slot in slots.filter(|slot| self.is_chosen(*slot)) {
            let (Some(&name), Some(entity)) = (storage.name_at(slot), storage.slot(slot)) else { continue };
            let parent = Some(storage.parent_at(slot)).filter(|parent| tree.is_some() && *parent != NONE);
            let parent = parent.filter(|parent| self.is_chosen(*parent)).unwrap_or(NONE);
            try_reserve_map(&mut holders, 1)?;
            if let Some(holder) = holders.insert(NameKey { parent, name }, entity) {
                return Err(SaveError::NameTaken { entity, holder });
            }
        }
        Ok(())
    }

    /// Leaves out the links of slots that are not saved.
    fn prune(&mut self) -> Result<(), SaveError> {
        if self.chosen.is_none() {
            return Ok(());
        }
        for (relation, _) in self.world.storage.sparse.relations() {
            let (storage, cut) = self.world.storage.sparse.try_prune_links(relation, |slot| self.is_chosen(slot))?;
            self.cut_links += cut;
            try_push(&mut self.pruned, storage)?;
        }
        Ok(())
    }

    /// Chooses the slots to save, and releases the others in a copy of the entity allocator.
    fn choose(&mut self) -> Result<(), SaveError> {
        let world = self.world;
        if world.storage.entities.reserved_count() == 0 && self.part.entities.is_none() {
            return Ok(());
        }
        let mut pool = world.storage.entities.try_clone()?;
        self.reserved = try_collect(pool.try_flush()?)?;
        if let Some(entities) = &self.part.entities {
            let mut chosen = try_bits(pool.slot_count())?;
            for table in &world.storage.tables {
                for (slot, owner) in table.slots().iter().zip(table.entities()) {
                    match has_bit(entities, owner.index()) {
                        true => chosen[slot.index() as usize / 64] |= 1 << (slot.index() % 64),
                        false => drop(pool.release(*slot)),
                    }
                }
            }
            self.reserved.retain(|&entity| {
                let wanted = has_bit(entities, entity.index());
                if !wanted {
                    pool.release(entity);
                }
                wanted
            });
            self.chosen = Some(chosen);
        }
        self.pool = Some(pool);
        Ok(())
    }

    pub(super) fn pool(&self) -> &EntityPool<Location> {
        self.pool.as_ref().unwrap_or(&self.world.storage.entities)
    }

    pub(super) fn is_chosen(&self, slot: u32) -> bool {
        self.chosen.as_ref().is_none_or(|bits| has_bit(bits, slot))
    }

    fn number(&self, id: ComponentId) -> Option<u32> {
        self.numbers.get(id.index()).copied().flatten()
    }

    /// Returns bits for the rows of a table that are saved, or `None` if all are.
    fn chosen_rows(&self, table: u32) -> Result<Option<Vec<u64>>, AllocError> {
        if self.chosen.is_none() {
            return Ok(None);
        }
        let slots = self.world.storage.tables[table as usize].slots();
        let mut bits = try_bits(slots.len())?;
        for (row, slot) in slots.iter().enumerate() {
            bits[row / 64] |= u64::from(self.is_chosen(slot.index())) << (row % 64);
        }
        Ok(Some(bits))
    }

    /// Returns the tables that have rows, in visiting order.
    pub(super) fn tables(&self) -> Result<Vec<SavedTable>, AllocError> {
        let mut tables: Vec<SavedTable> = try_vec(self.world.storage.tables.len() + 1)?;
        for (number, table) in self.world.storage.tables_in_order() {
            if table.slots().iter().any(|slot| self.is_chosen(slot.index())) {
                let extra = table.signature.has(ComponentId::ROW);
                let mut components = try_collect(table.columns.iter().filter_map(|column| self.number(column.id)))?;
                components.sort_unstable();
                tables.push(SavedTable { extra, components, sources: try_clone_slice(&[number])? });
            }
        }
        if !self.reserved.is_empty() {
            // A flush would append them to this table, after all other rows.
            tables.push(SavedTable { extra: false, components: Vec::new(), sources: Vec::new() });
        }
        merged(tables)
    }

    /// Writes the snapshot, with change ticks if `with_ticks` is set.
    pub(super) fn write(&self, out: &mut Writer<'_>, with_ticks: bool) -> Result<Report, SaveError> {
        let cut_links = self.cut_links;
        let mut report = Report { skipped: try_clone_slice(&self.skipped)?, cut_links, ..Report::default() };
        report.components = try_collect(self.components.iter().map(|saved| saved.entry.name))?;
        self.write_components(out)?;
        self.write_slots(out)?;
        let tables = self.tables()?;
        for table in &tables {
            self.write_table(table, out, &mut report)?;
        }
        self.write_names(out)?;
        for (number, storage) in self.sparse() {
            self.write_sparse(storage, number, out)?;
        }
        let groups = self.groups()?;
        if !groups.is_empty() {
            put_groups(&groups, out)?;
        }
        if self.part.resources {
            self.write_resources(out, &mut report)?;
        }
        report.checksum = out.chain();
        if with_ticks {
            self.write_ticks(&tables, out)?;
        }
        out.begin(END, 0)?;
        out.end()?;
        report.entities = self.pool().len();
        report.rows = self.pool().row_count();
        report.bytes = out.written();
        Ok(report)
    }

    fn write_components(&self, out: &mut Writer<'_>) -> Result<(), SaveError> {
        out.begin(COMPONENTS, 0)?;
        out.put_u32(self.components.len() as u32)?;
        for Saved { entry, .. } in &self.components {
            put_component(entry, out)?;
        }
        out.end()
    }

    fn write_slots(&self, out: &mut Writer<'_>) -> Result<(), SaveError> {
        let pool = self.pool();
        out.begin(SLOTS, 0)?;
        out.put_u32(pool.slot_count() as u32)?;
        out.put_u32s(pool.each_word())?;
        out.put_u32(pool.free_list().len() as u32)?;
        out.put_u32s(pool.free_list().iter().rev().copied())?;
        out.end()
    }

    fn write_table(&self, table: &SavedTable, out: &mut Writer<'_>, report: &mut Report) -> Result<(), SaveError> {
        let rows = self.source_rows(table)?;
        out.begin(TABLE, 0)?;
        out.put_u8(u8::from(table.extra))?;
        out.put_u32(table.components.len() as u32)?;
        out.put_u32s(table.components.iter().copied())?;
        out.put_u32(rows.iter().map(|rows| rows.runs().len()).sum::<u32>() + self.reserved_of(table).len() as u32)?;
        for source in &rows {
            let slots = self.world.storage.tables[source.table as usize].slots();
            for run in source.runs().iter() {
                out.put_each(&slots[run.start as usize..run.end as usize], |slot| slot.index())?;
            }
        }
        out.put_each(self.reserved_of(table), |slot| slot.index())?;
        for &number in &table.components {
            let entry = self.components[number as usize].entry;
            entry.column.write(entry.name, &self.sources(number, &rows)?, out)?;
        }
        report.tables += 1;
        out.end()
    }

    /// Returns the rows of a table that are saved, by table of the world.
    pub(super) fn source_rows(&self, table: &SavedTable) -> Result<Vec<SavedRows>, AllocError> {
        let mut list = try_vec(table.sources.len())?;
        for &table in &table.sources {
            let (len, bits) = (self.world.storage.tables[table as usize].len, self.chosen_rows(table)?);
            list.push(SavedRows { table, len, bits });
        }
        Ok(list)
    }

    fn reserved_of(&self, table: &SavedTable) -> &[Entity] {
        if table.components.is_empty() && !table.extra { &self.reserved } else { &[] }
    }

    /// Iterates over the slots of the rows of a table.
    pub(super) fn slots_of<'b>(&'b self, table: &SavedTable, rows: &'b [SavedRows]) -> impl Iterator<Item = u32> + 'b {
        let slots = rows.iter().flat_map(|source| {
            let slots = self.world.storage.tables[source.table as usize].slots();
            source.runs().iter().flat_map(|run| &slots[run.start as usize..run.end as usize])
        });
        slots.chain(self.reserved_of(table)).map(|slot| slot.index())
    }

    /// Returns the values of a component in a table.
    pub(super) fn sources<'b>(&'b self, number: u32, rows: &'b [SavedRows]) -> Result<Vec<ColumnRows<'b>>, AllocError> {
        let id = self.components[number as usize].id;
        let source = |rows: &'b SavedRows| ColumnRows::of_table(&self.world.storage, rows.table, id, rows.runs());
        try_collect(rows.iter().filter_map(source))
    }

    /// Returns the names of the extra rows that are saved: slot, owner, component, role.
    pub(super) fn names(&self) -> Result<Vec<[u32; 4]>, SaveError> {
        let mut names = Vec::new();
        if self.world.storage.rows.first.is_empty() {
            return Ok(names);
        }
        let owners = self.world.iter().filter(|e| self.world.storage.rows.owns(e.index()) && self.is_chosen(e.index()));
        for entity in owners {
            let Ok(rows) = self.world.rows(entity) else { continue };
            for (key, row) in rows.filter(|(_, row)| !row.is_main()) {
                let component = match key.component {
                    None => 0,
                    Some(id) => {
                        1 + self.number(id).ok_or_else(|| SaveError::Unregistered {
                            component: self.world.storage.components.info(id).name(),
                        })?
                    }
                };
                try_push(&mut names, [row.0.index(), entity.index(), component, key.role.0])?;
            }
        }
        Ok(names)
    }

    fn write_names(&self, out: &mut Writer<'_>) -> Result<(), SaveError> {
        let names = self.names()?;
        if names.is_empty() {
            return Ok(());
        }
        out.begin(ROWS, 0)?;
        out.put_u32(names.len() as u32)?;
        out.put_u32s(names.into_iter().flatten())?;
        out.end()
    }

    /// Iterates over the sparse storages that are saved, with the numbers of their components, in ascending order.
    pub(super) fn sparse(&self) -> impl Iterator<Item = (u32, &SparseStorage)> {
        (0..).zip(&self.components).filter_map(|(number, saved)| Some((number, self.sparse_storage(saved.id)?)))
    }

    /// Returns the sparse storage of a component as it is saved.
    pub(super) fn sparse_storage(&self, id: ComponentId) -> Option<&SparseStorage> {
        let pruned = self.pruned.iter().find(|storage| storage.id == id);
        pruned.map(|storage| &**storage).or_else(|| self.world.storage.sparse.of(id))
    }

    pub(super) fn sparse_parts(&self, storage: &SparseStorage) -> Result<SparseParts, AllocError> {
        Ok(match &storage.store {
            Store::Pool(pool) => {
                let (removal, dense) = (removal_number(pool.removal), &pool.dense);
                if let (Some(keys), None) = (dense.keys(), &self.chosen) {
                    let keys = try_collect(keys.iter().map(|key| key.index()))?;
                    return Ok(SparseParts { removal, keys, words: Vec::new(), bits: None, is_pool: true });
                }
                // A part has no holes.
                let mut bits = try_bits(dense.positions() as usize)?;
                let mut keys = try_vec(dense.positions() as usize)?;
                for at in 0..dense.positions() {
                    match dense.key_at(at).filter(|key| self.is_chosen(key.index())) {
                        Some(key) => {
                            bits[at as usize / 64] |= 1 << (at % 64);
                            keys.push(key.index());
                        }
                        None if self.chosen.is_none() => keys.push(HOLE),
                        None => {}
                    }
                }
                SparseParts { removal, keys, words: Vec::new(), bits: Some(bits), is_pool: true }
            }
            Store::Linear(linear) => {
                let mut words = try_clone_slice(linear.words())?;
                if let Some(chosen) = &self.chosen {
                    for (at, word) in words.iter_mut().enumerate() {
                        *word &= chosen.get(at).copied().unwrap_or(0);
                    }
                }
                words.truncate(words.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1));
                SparseParts { removal: 0, keys: Vec::new(), words, bits: None, is_pool: false }
            }
        })
    }

    fn write_sparse(&self, storage: &SparseStorage, number: u32, out: &mut Writer<'_>) -> Result<(), SaveError> {
        let (entry, parts) = (self.components[number as usize].entry, self.sparse_parts(storage)?);
        out.begin(SPARSE, 0)?;
        out.put_u32(number)?;
        if parts.is_pool {
            out.put_u8(parts.removal)?;
            out.put_u32(parts.keys.len() as u32)?;
            out.put_u32_slice(&parts.keys)?;
        } else {
            out.put_u32(parts.words.len() as u32)?;
            parts.words.iter().try_for_each(|word| out.put_u64(*word))?;
        }
        let source = ColumnRows::of_sparse(&self.world.storage.components, storage, parts.runs());
        entry.column.write(entry.name, &[source], out)?;
        out.end()
    }

    /// Returns the groups, sorted by their components. A part has none.
    pub(super) fn groups(&self) -> Result<Vec<GroupParts>, AllocError> {
        let mut list = Vec::new();
        if self.chosen.is_some() || self.part.components.is_some() {
            return Ok(list);
        }
        for group in self.world.storage.sparse.groups() {
            if let Some(lists) = self.group_lists(group)? {
                try_push(&mut list, lists)?;
            }
        }
        list.sort_unstable();
        Ok(list)
    }

    /// Returns the parts of a group, or `None` if one of its components is left out.
    fn group_lists(&self, group: &GroupData) -> Result<Option<GroupParts>, AllocError> {
        let (sparse, what) = (&self.world.storage.sparse, &group.desc);
        let mut lists = [const { Vec::new() }; 4];
        for (list, from) in lists.iter_mut().zip([&what.owned, &what.required, &what.excluded]) {
            for storage in from {
                let Some(number) = self.number(sparse.get(*storage).id) else { return Ok(None) };
                try_push(list, number)?;
            }
            list.sort_unstable();
        }
        if what.owned.is_empty() {
            lists[3] = try_collect(sparse.members(group).iter().map(|slot| slot.index()))?;
        }
        Ok(Some(lists))
    }

    fn write_resources(&self, out: &mut Writer<'_>, report: &mut Report) -> Result<(), SaveError> {
        for (type_id, type_name) in self.world.resources.types() {
            if !self.registry.resources.iter().any(|entry| entry.type_id == type_id) {
                try_push(&mut report.skipped, type_name)?;
            }
        }
        report.skipped.sort_unstable();
        for entry in self.resources()? {
            let mut bytes = Vec::new();
            let done = entry.value.encode(self.world, &mut bytes);
            done.map_err(|error| SaveError::Codec { name: entry.name, error })?;
            out.begin(RESOURCE, 0)?;
            out.put_name(entry.name)?;
            out.put_name(entry.value.codec())?;
            out.put_u32(entry.version)?;
            out.put(&bytes)?;
            out.end()?;
            try_push(&mut report.resources, entry.name)?;
        }
        Ok(())
    }

    /// Returns the resources that are saved, sorted by name.
    pub(super) fn resources(&self) -> Result<Vec<&'a ResourceEntry>, AllocError> {
        let here = |entry: &&ResourceEntry| self.world.resources.types().any(|(type_id, _)| entry.type_id == type_id);
        let mut list = try_collect(self.registry.resources.iter().filter(here))?;
        list.sort_unstable_by_key(|entry| entry.name);
        Ok(list)
    }

    /// Checks that equal values of all saved components and resources have equal bytes.
    pub(super) fn check_canonical(&self) -> Result<(), SaveError> {
        let of_components =
            self.components.iter().filter(|saved| !saved.entry.canonical && has_values(self.world, saved.id));
        let of_resources = self.resources()?.into_iter().filter(|entry| !entry.canonical);
        let mut names = of_components.map(|saved| saved.entry.name).chain(of_resources.map(|entry| entry.name));
        names.next().map_or(Ok(()), |name| Err(SaveError::NotCanonical { name }))
    }
}

/// Combines tables of the same components, at the position of the first.
fn merged(mut tables: Vec<SavedTable>) -> Result<Vec<SavedTable>, AllocError> {
    let mut order = try_collect(0..tables.len())?;
    let key = |at: &usize| (tables[*at].extra, &tables[*at].components, *at);
    order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    let (mut first, mut is_copy) = (0, try_collect(tables.iter().map(|_| false))?);
    for &at in &order {
        let (a, b) = (&tables[first], &tables[at]);
        if at == first || a.extra != b.extra || a.components != b.components {
            first = at;
            continue;
        }
        is_copy[at] = true;
        let sources = core::mem::take(&mut tables[at].sources);
        try_reserve(&mut tables[first].sources, sources.len())?;
        tables[first].sources.extend(sources);
    }
    let mut copies = is_copy.into_iter();
    tables.retain(|_| copies.next() == Some(false));
    Ok(tables)
}

/// Returns the components that keys of extra rows name, by id.
fn named_by_rows(world: &World) -> Result<Vec<ComponentId>, AllocError> {
    let labels = world.storage.tables.iter().flat_map(|table| table.labels());
    let mut named = Vec::new();
    for id in labels.filter_map(|label| label.component()) {
        // Most rows have the same component as the row before.
        if named.last() != Some(&id) {
            try_push(&mut named, id)?;
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// Returns `true` if an entity or an extra row has a component.
fn has_values(world: &World, id: ComponentId) -> bool {
    let in_tables = || {
        (world.storage.lanes_of(id).iter().zip(&world.storage.tables))
            .any(|(lane, table)| !lane.is_null() && table.len > 0)
    };
    world.storage.sparse.of(id).map_or_else(in_tables, |storage| storage.len() > 0)
}

/// Returns `true` if a component differs from one that was never used: it has values, its removal policy was set, or it is
/// part of a group.
fn has_state(world: &World, id: ComponentId) -> bool {
    let has_state = |storage: &SparseStorage| match &storage.store {
        Store::Pool(pool) => pool.removal != Removal::Swap || pool.dense.positions() > 0,
        Store::Linear(_) => false,
    };
    has_values(world, id)
        || world.storage.sparse.of(id).is_some_and(|storage| has_state(storage) || !storage.is_ungrouped())
}

pub(super) fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::Table => 0,
        Kind::Pool => 1,
        Kind::Linear => 2,
    }
}

pub(super) fn removal_number(removal: Removal) -> u8 {
    match removal {
        Removal::Swap => 0,
        Removal::Ordered => 1,
        Removal::Deferred => 2,
    }
}

/// Writes the schema of a component.
pub(super) fn put_component(entry: &Entry, out: &mut Writer<'_>) -> Result<(), SaveError> {
    out.put_name(entry.name)?;
    out.put_u8(kind_number(entry.kind))?;
    out.put_name(entry.column.codec())?;
    out.put_u32(entry.version)?;
    out.put_u64(entry.schema.fields)?;
    out.put_u32(entry.schema.lanes.len() as u32)?;
    for lane in &entry.schema.lanes {
        out.put_u32(lane.size() as u32)?;
        out.put_u32(lane.align() as u32)?;
    }
    Ok(())
}
