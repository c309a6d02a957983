//! [`ContinuousLoader`]: loads changing snapshots into the same entities.
//!
//! A snapshot is loaded into a world of its own. The difference to the entities of the last load becomes a segment of commands,
//! which is executed as a whole or not at all. Values are moved from the loaded world when their command is executed.
#![allow(unsafe_code)]

use super::error::LoadError;
use super::load::cannot_merge;
use super::registry::Registry;
use crate::alloc::{try_reserve, try_reserve_map, try_vec};
use crate::bundle::BundlePtr;
use crate::change_detection::Moment;
use crate::commands::{CommandBuffer, ErasedBundle};
use crate::component::ComponentId;
use crate::error::StructuralError;
use crate::layout::Kind;
use crate::links::{LinkView, NONE};
use crate::names::NameOf;
use crate::rows::{Key, Row};
use crate::seeded::NumberMap;
use crate::storage::Storage;
use crate::storage::table::ALIGNED_FOR_ALL;
use crate::world::{EntityMap, World, adopt_label, adopt_sparse};
use core::cell::Cell;
use phalanx_store::raw::{DropGuard, copy_row, row_ptr};
use phalanx_store::{AllocError, Entity};
use std::io::Read;

/// Loads snapshots that change over time into the same entities of a world.
///
/// [`load`](ContinuousLoader::load) makes the world follow a snapshot:
///
/// - An entity that is new in the snapshot is spawned. The loader remembers which entity of the world it has become.
/// - An entity that an earlier load has spawned gets the components of the snapshot. Registered components that it does not have
///   there are removed. Components that are not registered stay, so a world can add its own to the entities of a snapshot.
/// - An entity that is not in the snapshot any more is despawned. An entity that was despawned here is spawned again.
/// - [Extra rows](crate::Key), the links of registered relations and registered [names](crate::Name) follow in the same way. Rows
///   that no load has added stay.
/// - Registered resources are replaced.
/// - Entities inside values are remapped ([`Component::ENTITIES`](crate::Component::ENTITIES)).
///
/// Other entities of the world are left alone. Values come as they are: no [required
/// components](crate::Component#required-components) are inserted.
///
/// ```
/// use phalanx::snapshot::{ContinuousLoader, Registry};
/// use phalanx::{Component, World};
///
/// #[derive(Component, serde::Serialize, serde::Deserialize, Debug, PartialEq)]
/// struct Health(u32);
/// #[derive(Component)]
/// struct Sprite(&'static str); // only here, not in snapshots
///
/// let mut registry = Registry::new();
/// registry.serde::<Health>("health")?;
/// let save = |world: &World| {
///     let mut file = Vec::new();
///     registry.save(world, &mut file).map(|_| file)
/// };
///
/// let (mut server, mut client) = (World::new(), World::new());
/// let mut loader = ContinuousLoader::new();
/// let [orc, elf] = [server.spawn(Health(3)), server.spawn(Health(4))];
/// loader.load(&registry, &mut client, &*save(&server)?)?;
/// let orc_here = loader.get(orc).unwrap();
/// client.insert(orc_here, Sprite("orc.png"))?;
///
/// server.get_mut::<Health>(orc)?.0 = 1;
/// server.despawn(elf)?;
/// let summary = loader.load(&registry, &mut client, &*save(&server)?)?;
/// assert_eq!((summary.spawned, summary.updated, summary.despawned), (0, 1, 1));
/// assert_eq!((client.get::<Health>(orc_here)?, client.get::<Sprite>(orc_here)?.0), (&Health(1), "orc.png"));
/// assert_eq!((client.len(), loader.get(elf)), (1, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[doc(alias = "continuous_loader")]
pub struct ContinuousLoader {
    /// The entities of the last snapshot, and those of the world.
    map: EntityMap,
    /// The extra rows of the world that the last load has added or updated.
    rows: Vec<Key>,
    /// The world of the last load, and when it was.
    at: Option<(u64, Moment)>,
}

/// What a [`ContinuousLoader`] did to the entities of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// The number of entities that were spawned.
    pub spawned: usize,
    /// The number of entities that an earlier load had spawned.
    pub updated: usize,
    /// The number of entities that are not in the snapshot any more.
    pub despawned: usize,
}

impl ContinuousLoader {
    /// Creates a loader that has loaded nothing.
    pub fn new() -> ContinuousLoader {
        ContinuousLoader::default()
    }

    /// Returns the entity of the world that an entity of the last snapshot has become.
    ///
    /// It may have been despawned since.
    pub fn get(&self, saved: Entity) -> Option<Entity> {
        self.map.get(saved)
    }

    /// Returns the entities of the last snapshot, and those of the world that they have become.
    pub fn entities(&self) -> &EntityMap {
        &self.map
    }

    /// Forgets the entities of earlier loads, which stay in the world. The next load spawns all of its entities.
    pub fn clear(&mut self) {
        *self = ContinuousLoader::default();
    }

    /// Reads a snapshot, and makes the entities of earlier loads follow it.
    ///
    /// [Listeners and collectors](crate::signal) receive the changes, as if commands had made them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Registry::load`], and [`Problem::Merge`](super::Problem::Merge) if the world cannot follow:
    ///
    /// - [`StructuralError::AnotherWorld`] if the last load was into another world.
    /// - [`StructuralError::RolledBack`] if the last load was undone, for example by [`World::rollback`].
    /// - [`StructuralError::Relation`] if a relation refuses a despawn or a link, or if a name is taken.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the world and the loader are unchanged, and no listener is called. Reserved entities may be alive.
    pub fn load(
        &mut self,
        registry: &Registry,
        world: &mut World,
        reader: impl Read,
    ) -> Result<LoadSummary, LoadError> {
        let mut loaded = registry.load(reader)?;
        self.follow(registry, world, &mut loaded).map_err(cannot_merge)
    }

    /// Makes the entities of earlier loads follow a loaded world, whose values are moved out.
    fn follow(
        &mut self,
        registry: &Registry,
        world: &mut World,
        loaded: &mut World,
    ) -> Result<LoadSummary, StructuralError> {
        self.check(world)?;
        world.storage.flush()?;
        world.resources.try_reserve_for(&loaded.resources)?;
        let (map, summary) = self.assign(world, loaded)?;
        // Visiting the entities in values is user code: it is done before anything is recorded.
        loaded.storage.map_all_entities(&map);
        let is_moved = Cell::new(false);
        // Values that were moved are not dropped here, also if a listener or a destructor panics.
        let guard = DropGuard::new(&mut *loaded, |loaded| {
            if is_moved.get() {
                loaded.storage.forget_values();
            }
        });
        let mut plan = Plan {
            registry,
            world,
            from: &guard.state.storage,
            is_moved: &is_moved,
            commands: CommandBuffer::new(),
            rows: Vec::new(),
        };
        plan.update_entities(&self.map, &map)?;
        plan.update_rows(&self.rows, &map)?;
        plan.remove_names(&self.map)?;
        plan.update_links(&self.map, &map)?;
        plan.set_names(&map)?;
        for (_, here) in self.map.iter().filter(|(saved, _)| map.get(*saved).is_none()) {
            plan.commands.try_despawn_if_alive(here)?;
        }
        let Plan { mut commands, rows, .. } = plan;
        let outcome = commands.try_apply(world);
        drop((commands, guard));
        outcome.map_err(|error| error.error)?;
        for (_, here) in map.iter() {
            if let Some(at) = world.storage.find_location(here) {
                // Values of several lanes were copied without their ticks.
                world.storage.tables[at.table as usize].set_column_ticks(world.storage.tick());
            }
        }
        (self.map, self.rows, self.at) = (map, rows, Some((world.identity(), world.moment())));
        // The old ones are dropped with the loaded world.
        let now = world.storage.tick();
        world.resources.swap_those_of(&mut loaded.resources, now);
        Ok(summary)
    }

    /// Checks that the last load was into this world, and that its state includes the load.
    fn check(&self, world: &World) -> Result<(), StructuralError> {
        let (Some((identity, moment)), Some((_, entity))) = (self.at, self.map.iter().next()) else { return Ok(()) };
        if identity != world.identity() {
            return Err(StructuralError::AnotherWorld { entity });
        }
        match world.storage.sparse.clock.includes(moment) {
            true => Ok(()),
            false => Err(StructuralError::RolledBack { entity }),
        }
    }

    /// Returns which entity of the world each loaded entity is or becomes. New ones are those that are spawned next.
    fn assign(&self, world: &World, loaded: &World) -> Result<(EntityMap, LoadSummary), AllocError> {
        let (mut pairs, mut summary) = (try_vec(loaded.len())?, LoadSummary::default());
        for saved in loaded.iter() {
            let here = match self.map.get(saved).filter(|here| world.contains(*here)) {
                Some(here) => {
                    summary.updated += 1;
                    here
                }
                None => {
                    let number = u32::try_from(summary.spawned).map_err(|_| AllocError::CapacityOverflow)?;
                    summary.spawned += 1;
                    world.storage.entities.nth_entity(number).ok_or(AllocError::CapacityOverflow)?
                }
            };
            pairs.push((saved, here));
        }
        let map = EntityMap::of(pairs);
        let is_gone = |(saved, here): &(Entity, Entity)| map.get(*saved).is_none() && world.contains(*here);
        summary.despawned = self.map.iter().filter(is_gone).count();
        Ok((map, summary))
    }
}

/// The commands of a load, while they are recorded.
struct Plan<'a> {
    registry: &'a Registry,
    world: &'a mut World,
    /// The loaded world.
    from: &'a Storage,
    is_moved: &'a Cell<bool>,
    commands: CommandBuffer,
    /// The extra rows of the world that are added or updated.
    rows: Vec<Key>,
}

impl Plan<'_> {
    /// Records the spawns of new entities, then the updates of the others.
    fn update_entities(&mut self, old: &EntityMap, map: &EntityMap) -> Result<(), StructuralError> {
        let is_new = |world: &World, saved, here| old.get(saved) != Some(here) || !world.contains(here);
        // In the order in which their handles were predicted.
        for (saved, here) in map.iter() {
            if is_new(self.world, saved, here) {
                let row = self.loaded_row(saved)?;
                self.commands.try_spawn_predicted(here, row)?;
            }
        }
        for (saved, here) in map.iter() {
            if !is_new(self.world, saved, here) {
                self.update_row(saved, Key::main(here), here)?;
            }
        }
        Ok(())
    }

    /// Records the changes of the extra rows.
    fn update_rows(&mut self, old: &[Key], map: &EntityMap) -> Result<(), StructuralError> {
        let from = self.from;
        for (saved, here) in map.iter() {
            for (Row(slot), label) in from.extra_rows(saved.index()) {
                let label = adopt_label(from, &mut self.world.storage, label)?;
                let key = label.key(here);
                match self.world.storage.find_row(key).ok().filter(|_| self.world.contains(here)) {
                    Some(Row(row)) => self.update_row(slot, key, row)?,
                    None => {
                        let row = self.loaded_row(slot)?;
                        self.commands.try_add_row_erased(key, row)?;
                    }
                }
                try_reserve(&mut self.rows, 1)?;
                self.rows.push(key);
            }
        }
        self.rows.sort_unstable();
        for key in old.iter().filter(|key| self.rows.binary_search(key).is_err()) {
            // Those of entities that are despawned are removed with them.
            if self.world.storage.find_row(*key).is_ok() {
                self.commands.try_remove_row(*key)?;
            }
        }
        Ok(())
    }

    /// Records that a row of the world gets the components of a loaded one, and loses other registered ones.
    fn update_row(&mut self, loaded: Entity, key: Key, slot: Entity) -> Result<(), StructuralError> {
        let row = self.loaded_row(loaded)?;
        let storage = &self.world.storage;
        let Some(at) = storage.find_location(slot) else { return Ok(()) };
        let columns = storage.tables[at.table as usize].columns.iter().map(|column| column.id);
        let present = columns.chain(storage.sparse.storages_of(slot.index()).map(|storage| storage.id));
        let mut removed = Vec::new();
        for id in present.filter(|id| !storage.components.is_hidden(*id)) {
            let is_registered = self.registry.entry_of(storage.components.info(id)).is_some();
            if is_registered && row.ids.binary_search_by_key(&id, |(here, _)| *here).is_err() {
                try_reserve(&mut removed, 1)?;
                removed.push(id);
            }
        }
        if !removed.is_empty() {
            removed.sort_unstable();
            self.commands.try_remove_erased(key, RemovedIds { ids: removed })?;
        }
        if !row.ids.is_empty() {
            self.commands.try_insert_erased(key, row)?;
        }
        Ok(())
    }

    /// Returns the components of a loaded row, which the world knows from now on.
    fn loaded_row(&mut self, slot: Entity) -> Result<LoadedRow, StructuralError> {
        let table = &self.from.tables[self.from.try_location(slot)?.table as usize];
        let sparse = || self.from.sparse.storages_of(slot.index()).map(|storage| storage.id);
        let mut ids = try_vec(table.columns.len() + sparse().count())?;
        let all = table.columns.iter().map(|column| column.id).chain(sparse());
        for there in all.filter(|id| !self.from.components.is_hidden(*id)) {
            ids.push((self.world.storage.components.adopt(self.from.components.info(there))?, there));
        }
        ids.sort_unstable();
        Ok(LoadedRow { from: self.from, is_moved: self.is_moved, slot, ids })
    }

    /// Returns `true` if names are registered, so that those of the world follow.
    fn has_names(&self) -> bool {
        let id = self.world.component_id::<NameOf>();
        id.is_some_and(|id| self.registry.entry_of(self.world.storage.components.info(id)).is_some())
    }

    /// Records that the entities of earlier loads lose their names. Links are changed meanwhile, so none is in the way of another.
    fn remove_names(&mut self, old: &EntityMap) -> Result<(), AllocError> {
        let storage = &self.world.storage;
        if !self.has_names() {
            return Ok(());
        }
        let is_named = |entity: &Entity| self.world.contains(*entity) && storage.name_at(entity.index()).is_some();
        let mut named = old.iter().map(|(_, here)| here).filter(is_named);
        named.try_for_each(|entity| self.commands.try_record_name(entity, None))
    }

    /// Records that entities get the names that they have in the loaded world.
    fn set_names(&mut self, map: &EntityMap) -> Result<(), AllocError> {
        map.iter().try_for_each(|(saved, here)| match self.from.name_at(saved.index()) {
            Some(name) => self.commands.try_record_name(here, Some(*name)),
            None => Ok(()),
        })
    }

    /// Records the changes of links, by each registered relation.
    fn update_links(&mut self, old: &EntityMap, map: &EntityMap) -> Result<(), StructuralError> {
        for (relation, _) in self.from.sparse.relations() {
            adopt_sparse(self.from, &mut self.world.storage, relation)?;
        }
        let mut slots = NumberMap::default();
        try_reserve_map(&mut slots, old.len() + map.len())?;
        let gone = old.iter().filter(|(saved, _)| map.get(*saved).is_none());
        slots.extend(gone.map(|(_, here)| (here.index(), (here, false))));
        slots.extend(map.iter().map(|(_, here)| (here.index(), (here, true))));
        for at in 0..self.world.storage.sparse.relation_count() {
            let (relation, _) = self.world.storage.sparse.relation(at);
            let info = self.world.storage.components.info(self.world.storage.sparse.get(relation).id);
            if self.registry.entry_of(info).is_some() {
                let there = self.from.components.known(info).and_then(|id| self.from.sparse.storage_id(id));
                self.update_relation(map, &slots, relation, there)?;
            }
        }
        Ok(())
    }

    /// Records the changes of the links of a relation. `slots` are the entities of the world that the load is about, and whether they
    /// are in the snapshot. `there` is the relation in the loaded world.
    fn update_relation(
        &mut self,
        map: &EntityMap,
        slots: &NumberMap<u32, (Entity, bool)>,
        relation: u32,
        there: Option<u32>,
    ) -> Result<(), AllocError> {
        let Plan { world, from, commands, .. } = self;
        let (loaded, present) = (from.sparse.links(there), world.storage.sparse.links(Some(relation)));
        let (mut linked, mut wanted) = (Vec::new(), Vec::new());
        for (saved, here) in map.iter() {
            let first = wanted.len();
            let mut source = loaded.get(saved.index()).first;
            while source != NONE {
                if let Some(source) = from.slot(source).and_then(|source| map.get(source)) {
                    try_reserve(&mut wanted, 1)?;
                    wanted.push((source, here));
                }
                source = loaded.get(source).next;
            }
            let is_alive = world.contains(here);
            // Sources that the load is not about stay.
            let sources = || {
                let mut next = if is_alive { present.get(here.index()).first } else { NONE };
                let sources = core::iter::from_fn(move || {
                    let source = next;
                    next = if source == NONE { NONE } else { present.get(source).next };
                    (source != NONE).then_some(source)
                });
                sources.filter_map(|source| slots.get(&source).copied()).filter(|(source, _)| world.contains(*source))
            };
            let kept = sources().filter(|(_, is_saved)| *is_saved).map(|(source, _)| source);
            let is_same = kept.eq(wanted[first..].iter().map(|(source, _)| *source));
            if is_same {
                wanted.truncate(first);
            }
            // One that is despawned at the end is unlinked too: it may be in the way of another.
            for (source, _) in sources().filter(|(_, is_saved)| !is_same || !*is_saved) {
                try_reserve(&mut linked, 1)?;
                linked.push(source);
            }
            // A link to an entity that is not in the snapshot.
            let target = if is_alive { present.get(here.index()).target } else { NONE };
            if target != NONE && !slots.get(&target).is_some_and(|(_, is_saved)| *is_saved) {
                try_reserve(&mut linked, 1)?;
                linked.push(here);
            }
        }
        // All are unlinked first, so that no link makes a cycle with an old one.
        linked.iter().try_for_each(|source| commands.try_unlink_erased(relation, *source))?;
        wanted.iter().try_for_each(|(source, target)| commands.try_link_erased(relation, *source, *target))
    }
}

/// The components of a loaded row, which are moved when their command is executed.
struct LoadedRow {
    from: *const Storage,
    is_moved: *const Cell<bool>,
    slot: Entity,
    /// The ids of the components in the world, in ascending order, and in the loaded world.
    ids: Vec<(ComponentId, ComponentId)>,
}

// SAFETY: `write` moves a value of each of the ids that the bundle is resolved by, in their order.
unsafe impl ErasedBundle for LoadedRow {
    fn bundle_id(&mut self, world: &mut World) -> Result<usize, StructuralError> {
        let mut ids = try_vec(self.ids.len())?;
        ids.extend(self.ids.iter().map(|(here, _)| *here));
        world.bundle_id_of_exact_ids(&ids)
    }

    unsafe fn write(self, to: BundlePtr) {
        // SAFETY: the loaded world and the flag outlive the commands. Both are only read through shared references meanwhile.
        let (from, is_moved) = unsafe { (&*self.from, &*self.is_moved) };
        is_moved.set(true);
        for (at, &(_, id)) in self.ids.iter().enumerate() {
            let info = from.components.info(id);
            // SAFETY: the pointer is valid for the components, and no values are there, by the caller's contract. The loaded row
            // has the component, whose value counts as moved out. Components of two worlds that were adopted are of one type.
            unsafe {
                let (lane, row) = to.lane(at, info.kind());
                let value = match info.kind() {
                    Kind::Table => {
                        let (Some(at), values) = (from.find_location(self.slot), info.value_lanes()) else {
                            unreachable!("a loaded row is alive")
                        };
                        let table = &from.tables[at.table as usize];
                        let Some(column) = table.column(id) else { unreachable!("a loaded row has its components") };
                        let first = table.lanes().add(column.first as usize);
                        if !info.has_address {
                            for number in 0..values {
                                let (source, target) = (&*first.add(number), &*lane.add(number));
                                copy_row(row_ptr(source, at.row), row_ptr(target, row as u32), source.row_size());
                            }
                            continue;
                        }
                        match values {
                            0 => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
                            _ => row_ptr(&*first, at.row),
                        }
                    }
                    Kind::Pool | Kind::Linear => {
                        let storage = from.sparse.of(id).and_then(|one| Some((one, one.row(self.slot.index())?)));
                        let Some((storage, row)) = storage else { unreachable!("a loaded row has its components") };
                        storage.values().at(row)
                    }
                };
                (info.write)(lane, row, value, to.clock);
            }
        }
    }
}

/// The components that a row loses.
struct RemovedIds {
    ids: Vec<ComponentId>,
}

// SAFETY: nothing is inserted.
unsafe impl ErasedBundle for RemovedIds {
    fn bundle_id(&mut self, world: &mut World) -> Result<usize, StructuralError> {
        world.bundle_id_of_exact_ids(&self.ids)
    }

    unsafe fn write(self, _: BundlePtr) {
        unreachable!("components that are removed are not written")
    }
}
