//! [`Loader`]: reads a world from a snapshot.
#![allow(unsafe_code)]

use super::error::{LoadError, Name, NotDecoded, Problem};
use super::format::{COMPONENTS, END, GROUPS, OPTIONAL, RESOURCE, ROWS, SLOTS, SPARSE, TABLE, TICKS};
use super::reader::{Reader, Source};
use super::registry::{Entry, Registry};
use super::saver::{HOLE, kind_number, removal_number};
use super::{restore, ticks};
use crate::alloc::try_reserve;
use crate::component::{ComponentId, Components};
use crate::runs::Runs;
use crate::signature::Signature;
use crate::sparse::{Removal, max_group_steps};
use crate::world::World;

/// A component of the snapshot: its id in the world, and its registration.
#[derive(Clone, Copy)]
pub(super) struct Loaded<'a> {
    pub(super) id: ComponentId,
    pub(super) entry: &'a Entry,
    /// The migration, if the column has an older version.
    older: Option<usize>,
}

struct Loader<'a, 'r> {
    registry: &'a Registry,
    input: Reader<'r>,
    world: World,
    components: Vec<Loaded<'a>>,
}

/// Reads a world from a snapshot.
pub(super) fn load(registry: &Registry, source: Source<'_>) -> Result<World, LoadError> {
    let input = Reader::new(source)?;
    let world = input.check(Components::try_new(&crate::rows::LANES).and_then(World::try_with))?;
    let mut loading = Loader { registry, input, world, components: Vec::new() };
    loading.run()?;
    loading.world.storage.restructured();
    Ok(loading.world)
}

impl Loader<'_, '_> {
    fn run(&mut self) -> Result<(), LoadError> {
        self.section()?;
        self.expect(COMPONENTS)?;
        self.read_components()?;
        self.section()?;
        self.expect(SLOTS)?;
        self.read_slots()?;
        self.section()?;
        while self.input.kind == TABLE {
            self.read_table()?;
            self.section()?;
        }
        self.input.check(restore::check_rows(&self.world.storage))?;
        if self.input.kind == ROWS {
            self.read_names()?;
            self.section()?;
        } else if self.world.storage.entities.row_count() > 0 {
            return self.input.invalid("the names of extra rows are missing");
        }
        let mut sparse = 0;
        while self.input.kind == SPARSE {
            self.read_sparse(sparse)?;
            sparse += 1;
            self.section()?;
        }
        if self.input.kind == GROUPS {
            self.read_groups()?;
            self.section()?;
        }
        while self.input.kind == RESOURCE {
            self.read_resource()?;
            self.section()?;
        }
        if self.input.kind == TICKS {
            ticks::read(&mut self.input, &mut self.world, &self.components)?;
            self.section()?;
        }
        self.expect(END)?;
        let storage = &mut self.world.storage;
        self.input.check(storage.try_reserve_names(0))?;
        if let Err(what) = storage.validate_links().and_then(|()| storage.validate_names()) {
            return self.input.invalid(what);
        }
        self.input.end_section()?;
        self.input.end()
    }

    /// Advances to the next known section, and skips unknown optional ones.
    fn section(&mut self) -> Result<(), LoadError> {
        loop {
            self.input.next_section()?;
            if ![COMPONENTS, SLOTS, TABLE, ROWS, SPARSE, GROUPS, RESOURCE, TICKS, END].contains(&self.input.kind) {
                if self.input.flags & OPTIONAL == 0 {
                    return Err(self.input.error(Problem::Section { found: self.input.kind }));
                }
                self.input.skip()?;
                continue;
            }
            return match self.input.flags {
                0 => Ok(()),
                _ => self.input.invalid("a section with flags that it cannot have"),
            };
        }
    }

    fn expect(&self, kind: [u8; 4]) -> Result<(), LoadError> {
        match self.input.kind == kind {
            true => Ok(()),
            false => Err(self.input.error(Problem::Section { found: self.input.kind })),
        }
    }

    fn read_components(&mut self) -> Result<(), LoadError> {
        let count = self.input.u32()?;
        for _ in 0..count {
            let mut buffer = [0; 255];
            let name = self.input.name(&mut buffer)?;
            let Some(at) = self.registry.by_name(name) else {
                return Err(self.input.error(Problem::UnknownName { name: Name::new(name) }));
            };
            let entry = &self.registry.entries[at];
            if self.components.iter().any(|other| other.entry.name == entry.name) {
                return Err(self.input.error(Problem::RepeatedName { name: Name::new(entry.name) }));
            }
            let older = self.read_schema(entry)?;
            let id = entry.register(&mut self.world.storage.components);
            let id = self.input.check(id)?;
            self.input.check(try_reserve(&mut self.components, 1))?;
            self.components.push(Loaded { id, entry, older });
        }
        self.input.end_section()
    }

    /// Checks that a component was saved as it is registered. Returns the migration of an older version.
    fn read_schema(&mut self, entry: &Entry) -> Result<Option<usize>, LoadError> {
        let name = entry.name;
        let differs = |input: &Reader<'_>, what, found: u64, expected: u64| {
            Err(input.error(Problem::Schema { name, what, found, expected }))
        };
        let kind = self.input.u8()?;
        if kind != kind_number(entry.kind) {
            return differs(&self.input, "layout", kind.into(), kind_number(entry.kind).into());
        }
        let mut buffer = [0; 255];
        let codec = self.input.name(&mut buffer)?;
        let version = self.input.u32()?;
        let (older, expected, schema) = match version == entry.version {
            true => (None, entry.column.codec(), Some(&entry.schema)),
            false => {
                let Some(at) = entry.older.iter().position(|older| older.version == version) else {
                    let expected = entry.version;
                    return Err(self.input.error(Problem::OldVersion { name, found: version, expected }));
                };
                (Some(at), entry.older[at].migration.codec(), entry.older[at].schema.as_ref())
            }
        };
        if codec != expected {
            let number = |codec: &str| super::checksum(0, codec.as_bytes());
            return differs(&self.input, "codec", number(codec), number(expected));
        }
        let (fields, lanes) = (self.input.u64()?, self.input.u32()?);
        if let Some(schema) = schema {
            if fields != schema.fields {
                return differs(&self.input, "schema hash", fields, schema.fields);
            }
            if lanes as usize != schema.lanes.len() {
                return differs(&self.input, "number of lanes", lanes.into(), schema.lanes.len() as u64);
            }
        }
        for lane in 0..lanes {
            let (size, align) = (self.input.u32()?, self.input.u32()?);
            let Some(known) = schema.and_then(|schema| schema.lanes.get(lane as usize)) else { continue };
            if size as usize != known.size() {
                return differs(&self.input, "size", size.into(), known.size() as u64);
            }
            if align as usize != known.align() {
                return differs(&self.input, "alignment", align.into(), known.align() as u64);
            }
        }
        Ok(older)
    }

    fn read_slots(&mut self) -> Result<(), LoadError> {
        let count = self.input.u32()?;
        let words = self.input.read_numbers(count)?;
        let count = self.input.u32()?;
        let free = self.input.read_numbers(count)?;
        self.input.end_section()?;
        self.input.check(restore::restore_slots(&mut self.world.storage, &words, &free))
    }

    fn read_table(&mut self) -> Result<(), LoadError> {
        let extra = match self.input.u8()? {
            0 => false,
            1 => true,
            _ => return self.input.invalid("a table that is neither of entities nor of extra rows"),
        };
        let (count, most) = (self.input.u32()?, self.components.len());
        self.input.check_at_most("components of a table", count.into(), most as u64)?;
        let list = self.input.read_numbers(count)?;
        let mut signature = Signature::EMPTY;
        if extra {
            self.input.check(signature.try_insert(ComponentId::ROW))?;
        }
        let mut last = None;
        for &component in &list {
            let Some(loaded) = self.components.get(component as usize) else {
                return self.input.invalid("a table with a component that there is not");
            };
            if last.is_some_and(|last| last >= component) {
                return self.input.invalid("a table whose components are not in their order");
            }
            if loaded.entry.kind != crate::layout::Kind::Table {
                return self.input.invalid("a table with a component that is kept elsewhere");
            }
            self.input.check(signature.try_insert(loaded.id))?;
            last = Some(component);
        }
        let number = self.input.check(restore::create_table(&mut self.world.storage, &signature))?;
        let rows = self.input.u32()?;
        if rows == 0 {
            return self.input.invalid("a table without rows");
        }
        self.input.check(restore::reserve_slots(&mut self.world.storage, number, rows))?;
        let (mut first, storage) = (0, &mut self.world.storage);
        self.input.u32s(rows, |input, slots| {
            input.check(restore::push_slots(storage, number, first, slots))?;
            first += slots.len() as u32;
            Ok(())
        })?;
        let mut all = Vec::new();
        self.input.check(try_reserve(&mut all, list.len()))?;
        for &component in &list {
            let Loaded { id, entry, older } = self.components[component as usize];
            let builder = self.input.check(restore::column_builder(&self.world.storage, number, id, rows))?;
            all.push(builder);
            let Some(builder) = all.last_mut() else { continue };
            match older {
                None => entry.column.read(entry.name, builder, &mut self.input)?,
                Some(at) => entry.older[at].migration.read(entry.name, builder, &mut self.input)?,
            }
            self.input.check(builder.try_set_ticks(self.world.change_tick()))?;
        }
        self.input.end_section()?;
        // SAFETY: all columns were read, and all slots were added. The builders own the values until this succeeds.
        let settled = unsafe { restore::finish_table(&mut self.world.storage, number, rows) };
        self.input.check(settled)?;
        all.into_iter().for_each(|builder| builder.finish());
        Ok(())
    }

    fn read_names(&mut self) -> Result<(), LoadError> {
        let (count, rows) = (self.input.u32()?, self.world.storage.entities.row_count());
        self.input.check_equal("names of extra rows", count.into(), rows as u64)?;
        let mut last = None;
        for _ in 0..count {
            let (slot, owner) = (self.input.u32()?, self.input.u32()?);
            let (component, role) = (self.input.u32()?, self.input.u32()?);
            let component = match component.checked_sub(1) {
                None => None,
                Some(component) => match self.components.get(component as usize) {
                    Some(loaded) => Some(loaded.id),
                    None => return self.input.invalid("an extra row under a component that there is not"),
                },
            };
            let named = restore::name_row(&mut self.world.storage, last, slot, owner, component, role);
            self.input.check(named)?;
            last = Some((owner, slot));
        }
        self.world.storage.rows.bare = self.world.storage.table_number(&Signature::of([ComponentId::ROW]));
        self.input.end_section()
    }

    fn read_sparse(&mut self, number: u32) -> Result<(), LoadError> {
        let component = self.input.u32()?;
        let Some(&Loaded { id, entry, older }) = self.components.get(component as usize) else {
            return self.input.invalid("values of a component that there is not");
        };
        let info = self.input.check(self.world.storage.components.info(id).try_clone())?;
        let (mut keys, mut bits) = (Vec::new(), Vec::new());
        match entry.kind {
            crate::layout::Kind::Table => return self.input.invalid("values of a component that is kept in tables"),
            crate::layout::Kind::Pool => {
                let removal = self.input.u8()?;
                let known = [Removal::Swap, Removal::Ordered, Removal::Deferred];
                let Some(removal) = known.into_iter().find(|known| removal_number(*known) == removal) else {
                    return self.input.invalid("a pool that removes in a way that is not known");
                };
                let positions = self.input.u32()?;
                keys = self.input.read_numbers(positions)?;
                if keys.last() == Some(&HOLE) || (removal != Removal::Deferred && keys.contains(&HOLE)) {
                    return self.input.invalid("a hole in a pool where there can be none");
                }
                self.input.check(restore::create_sparse(&mut self.world.storage, id, number))?;
                if keys.contains(&HOLE) {
                    self.input.check(try_reserve(&mut bits, keys.len().div_ceil(64)))?;
                    bits.resize(keys.len().div_ceil(64), 0_u64);
                    for (at, _) in keys.iter().enumerate().filter(|(_, key)| **key != HOLE) {
                        bits[at / 64] |= 1 << (at % 64);
                    }
                }
                let capacity = if bits.is_empty() { 0 } else { positions };
                let reserved = restore::reserve_pool(&mut self.world.storage, number, capacity, removal);
                self.input.check(reserved)?;
            }
            crate::layout::Kind::Linear => {
                let (words, slots) = (self.input.u32()?, self.world.storage.entities.slot_count());
                let most = slots.next_multiple_of(64) as u64;
                self.input.check_at_most("slots of a linear store", u64::from(words) * 64, most)?;
                self.input.check(try_reserve(&mut bits, words as usize))?;
                bits.resize(words as usize, 0_u64);
                self.input.take(crate::plain::bytes_of_mut(&mut bits))?;
                bits.iter_mut().for_each(|word| *word = u64::from_le(*word));
                if bits.last() == Some(&0) {
                    return self.input.invalid("a linear store with empty words at its end");
                }
                self.input.check(restore::create_sparse(&mut self.world.storage, id, number))?;
                if let Some(last) = Runs::Bits(&bits).end().checked_sub(1) {
                    let reserved = restore::reserve_linear(&mut self.world.storage, number, last);
                    self.input.check(reserved)?;
                }
            }
        }
        // The presence bits of a linear storage are checked before values are read into these rows.
        let is_pool = entry.kind == crate::layout::Kind::Pool;
        let runs = if is_pool && bits.is_empty() { Runs::All(keys.len() as u32) } else { Runs::Bits(&bits) };
        let rows = if is_pool { Ok(0) } else { restore::count_extra_rows(&self.world.storage, &bits) };
        let rows = self.input.check(rows)?;
        let mut builder = restore::sparse_builder(&mut self.world.storage, number, &info, runs);
        match older {
            None => entry.column.read(entry.name, &mut builder, &mut self.input)?,
            Some(at) => entry.older[at].migration.read(entry.name, &mut builder, &mut self.input)?,
        }
        self.input.check(builder.try_set_ticks(self.world.change_tick()))?;
        self.input.end_section()?;
        // SAFETY: the values were read, at the positions of their keys or at their slots. The builder owns them until this
        // succeeds.
        unsafe {
            match is_pool {
                true => self.input.check(restore::fill_pool(&mut self.world.storage, number, &keys))?,
                false => restore::fill_linear(&mut self.world.storage, number, &bits, rows),
            }
        }
        builder.finish();
        Ok(())
    }

    fn read_groups(&mut self) -> Result<(), LoadError> {
        let mut steps = 0;
        for _ in 0..self.input.u32()? {
            let mut lists = [const { Vec::new() }; 4];
            for list in &mut lists {
                let count = self.input.u32()?;
                *list = self.input.read_numbers(count)?;
            }
            let [owned, required, excluded, members] = lists;
            let mut sparse = [const { Vec::new() }; 3];
            for (sparse, components) in sparse.iter_mut().zip([owned, required, excluded]) {
                self.input.check(try_reserve(sparse, components.len()))?;
                for component in components {
                    let loaded = self.components.get(component as usize);
                    let Some(number) = loaded.and_then(|loaded| self.world.storage.sparse.storage_id(loaded.id)) else {
                        return self.input.invalid("a group of a component that has no store of its own");
                    };
                    sparse.push(number);
                }
                sparse.sort_unstable();
            }
            steps += self.world.storage.sparse.group_steps(&sparse[1]);
            if steps > max_group_steps(self.input.offset()) {
                return self.input.invalid("more groups than a world of this size may have");
            }
            let added = restore::create_group(&mut self.world.storage, sparse, &members);
            self.input.check(added)?;
        }
        self.input.end_section()
    }

    fn read_resource(&mut self) -> Result<(), LoadError> {
        let mut buffer = [0; 255];
        let name = self.input.name(&mut buffer)?;
        let Some(entry) = self.registry.resources.iter().find(|entry| entry.name == name) else {
            return Err(self.input.error(Problem::UnknownName { name: Name::new(name) }));
        };
        let name = entry.name;
        if self.world.resources.types().any(|(type_id, _)| type_id == entry.type_id) {
            return Err(self.input.error(Problem::RepeatedName { name: Name::new(name) }));
        }
        let mut buffer = [0; 255];
        let codec = self.input.name(&mut buffer)?;
        let version = self.input.u32()?;
        let value = match version == entry.version {
            true => &entry.value,
            false => match entry.older.iter().find(|(older, _)| *older == version) {
                Some((_, value)) => value,
                None => {
                    let expected = entry.version;
                    return Err(self.input.error(Problem::OldVersion { name, found: version, expected }));
                }
            },
        };
        if codec != value.codec() {
            let number = |codec: &str| super::checksum(0, codec.as_bytes());
            let (found, expected) = (number(codec), number(value.codec()));
            return Err(self.input.error(Problem::Schema { name, what: "codec", found, expected }));
        }
        let mut bytes = Vec::new();
        self.input.rest(&mut bytes)?;
        let done = value.decode(&mut self.world, &bytes, &self.input.budget);
        done.map_err(|error| match error {
            NotDecoded::Codec(error) => self.input.error(Problem::Value { name, row: 0, error }),
            NotDecoded::Alloc(error) => self.input.error(error),
        })
    }
}
