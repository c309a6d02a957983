//! [`Resolver`]: determines the steps of a segment and the memory they need, before anything changes.
//!
//! The steps of a segment are valid for the world as it was when they were resolved. They are committed before anything else
//! changes it.
#![allow(unsafe_code)]

use super::apply_report::CommandKind;
use super::command_buffer::{Entry, moment_of};
use super::name_overlay::NameOverlay;
use super::row_overlay::RowOverlay;
use super::slot_predictor::SlotPredictor;
use super::step::Step;
use super::vtable::LinkPayload;
use crate::alloc::{try_box, try_reserve, try_reserve_map};
use crate::bundle::Required;
use crate::change_detection::Moment;
use crate::error::{NoSuchEntity, RowError, StructuralError};
use crate::links::{LinkStore, LinkView, NONE};
use crate::mutation::despawn_set::{DespawnSet, LinkGraph};
use crate::mutation::link_overlay::{LinkOverlay, PendingLinks};
use crate::mutation::stash::Stash;
use crate::mutation::{DoomedList, LinkPlan, MadeRequired};
use crate::names::NameOf;
use crate::rows::{Key, Label, Name};
use crate::seeded::NumberMap;
use crate::sort::sort_short_by_key;
use crate::sparse::SparseInserts;
use crate::world::World;
use phalanx_store::{AllocError, Entity};
use std::collections::hash_map::Entry as MapEntry;

/// A row that a command changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum TargetRow {
    Main(Entity),
    Extra(Name, Entity),
}

/// Where an entity would be after the commands so far.
#[derive(Clone, Copy, Debug)]
struct PendingLocation {
    /// The segment that set it. It counts in that segment only.
    segment: u32,
    generation: u32,
    /// `None` if it would be despawned.
    table: Option<u32>,
    /// Whether the segment inserts sparse components.
    has_sparse: bool,
}

/// By slot and storage: the segment that set it, and whether the slot would have a value.
type SparseOverlay = NumberMap<(u32, u32), (u32, bool)>;

/// The rows that a table would have beyond those it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowDemand {
    /// After the commands so far.
    now: i64,
    /// The maximum so far.
    pub(super) max: i64,
    /// The command that reached the maximum.
    pub(super) position: usize,
}

/// The part of a resolver for commands about links, and about entities with links.
#[derive(Debug, Default)]
pub(super) struct RelatedCommands {
    pub(super) links: LinkOverlay,
    /// The highest slot that each relation links, by storage id, and the command that does.
    linked: Vec<(u32, u32, usize)>,
    despawn_set: DespawnSet,
    /// The entities that despawns of related entities remove.
    pub(super) despawned: Vec<Entity>,
    /// Capacity for the entities that one of them removes.
    pub(super) doomed: DoomedList,
}

impl RelatedCommands {
    /// Returns the bytes held from the allocator.
    fn bytes(&self) -> usize {
        size_of::<RelatedCommands>()
            + self.links.bytes()
            + self.linked.capacity() * size_of::<(u32, u32, usize)>()
            + self.despawn_set.bytes()
            + self.despawned.capacity() * size_of::<Entity>()
            + self.doomed.bytes()
    }

    /// Counts that a relation links a slot.
    fn try_count(&mut self, relation: u32, slot: u32, position: usize) -> Result<(), AllocError> {
        match self.linked.iter_mut().find(|(other, ..)| *other == relation) {
            Some((_, highest, at)) if *highest < slot => (*highest, *at) = (slot, position),
            Some(_) => {}
            None => {
                try_reserve(&mut self.linked, 1)?;
                self.linked.push((relation, slot, position));
            }
        }
        Ok(())
    }
}

/// Resolves the commands of a segment. A buffer keeps its memory for the next application.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    pub(super) steps: Vec<Step>,
    /// The commands that are skipped, and why.
    pub(super) skipped: Vec<(usize, StructuralError)>,
    /// By slot. Cleared when an application begins. Each entry has the number of the segment that set it.
    overlay: NumberMap<u32, PendingLocation>,
    pub(super) segment: u32,
    rows: RowOverlay,
    /// By slot and storage: whether the slot would have a value of a sparse component that a bundle requires. Each entry has the
    /// number of the segment that set it.
    sparse: Option<Box<SparseOverlay>>,
    /// The number of sparse components that bundles were known to require when the segment began.
    pub(super) required_sparse: u32,
    /// The values of required components that the segment inserts. `None` until there is one.
    pub(super) made: Option<Box<MadeRequired>>,
    /// What commands about links need. `None` until there is one, so that buffers are small: each dispatch moves one.
    pub(super) related: Option<Box<RelatedCommands>>,
    /// `None` while no command is about an entity with a name.
    pub(super) names: Option<Box<NameOverlay>>,
    /// The greatest number of names that are added.
    pub(super) named: usize,
    /// The slots and tables of the extra rows of one entity.
    extra: Vec<(Entity, u32)>,
    pub(super) demands: Vec<RowDemand>,
    /// The sparse values that are inserted.
    pub(super) sparse_inserts: SparseInserts,
    /// The greatest number of events.
    pub(super) entries: usize,
    predictor: SlotPredictor,
    /// The number of entities and extra rows to spawn.
    pub(super) slots: u32,
    /// The first command that spawns one.
    pub(super) slots_position: usize,
    /// The number of extra rows among them.
    pub(super) extra_rows: usize,
    /// The spawns of reserved entities, by entity and position, each with the reason why it cannot be executed in this world,
    /// if there is one. Empty if all can be executed.
    lost: Vec<(Entity, usize, Option<StructuralError>)>,
    /// The world for which `lost` was determined, and the state of its clock.
    lost_in: Option<(u64, [u64; 2])>,
    /// Whether commands that cannot be executed are skipped.
    is_lenient: bool,
    pub(super) stash: Stash,
}

impl Resolver {
    /// Returns the bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.skipped.capacity() * size_of::<(usize, StructuralError)>()
            + self.overlay.capacity() * size_of::<(u32, PendingLocation)>()
            + self.rows.bytes()
            + self.sparse.as_ref().map_or(0, |sparse| sparse.capacity() * size_of::<((u32, u32), (u32, bool))>())
            + self.made.as_deref().map_or(0, |made| size_of::<MadeRequired>() + made.held())
            + self.related.as_deref().map_or(0, RelatedCommands::bytes)
            + self.names.as_ref().map_or(0, |names| names.bytes())
            + self.extra.capacity() * size_of::<(Entity, u32)>()
            + self.demands.capacity() * size_of::<RowDemand>()
            + self.sparse_inserts.bytes()
            + self.lost.capacity() * size_of::<(Entity, usize, Option<StructuralError>)>()
            + self.predictor.bytes()
            + self.stash.held()
    }

    /// Begins an application.
    pub(super) fn start(&mut self) {
        self.overlay.clear();
        if let Some(sparse) = &mut self.sparse {
            sparse.clear();
        }
        self.rows.start();
        if let Some(related) = &mut self.related {
            related.links.start();
        }
        if let Some(names) = &mut self.names {
            names.start();
        }
        self.segment = 0;
        self.lost_in = None;
    }

    /// Begins a segment of `count` commands. `required_sparse` is the number of sparse components that bundles require.
    ///
    /// Whether a slot has them is predicted from the first command on. If a command turns out to require more, the segment is
    /// begun again.
    pub(super) fn begin(&mut self, count: usize, is_lenient: bool, required_sparse: u32) -> Result<(), AllocError> {
        if self.segment == u32::MAX {
            self.start();
        }
        self.segment += 1;
        self.steps.clear();
        self.skipped.clear();
        self.demands.clear();
        self.rows.begin(self.segment);
        if let Some(related) = &mut self.related {
            related.links.begin(self.segment);
            related.linked.clear();
            related.despawned.clear();
        }
        if let Some(made) = &mut self.made {
            made.begin();
        }
        self.sparse_inserts.clear();
        self.predictor.begin();
        (self.slots, self.extra_rows, self.entries, self.named) = (0, 0, 0, 0);
        (self.is_lenient, self.required_sparse) = (is_lenient, required_sparse);
        self.stash.begin();
        try_reserve(&mut self.steps, count)?;
        try_reserve_map(&mut self.overlay, count)
    }

    /// Determines which entities that the buffer has reserved are not reserved in this world.
    pub(super) fn find_lost(
        &mut self,
        world: &World,
        entries: &[Entry],
        moments: &[(usize, Moment)],
        world_id: Option<u64>,
    ) -> Result<(), AllocError> {
        let clock = &world.storage.sparse.clock;
        let now = Some((world.identity(), clock.state()));
        if self.lost_in == now {
            return Ok(());
        }
        self.lost_in = None;
        self.lost.clear();
        let same_world = world_id.is_none_or(|id| id == world.identity());
        if !same_world || !moments.iter().all(|(_, moment)| clock.includes(*moment)) {
            for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.is_reserved_spawn()) {
                let Some(entity) = entry.entity else { continue };
                let reason = match same_world {
                    false => Some(StructuralError::AnotherWorld { entity }),
                    true if clock.includes(moment_of(moments, position)) => None,
                    true => Some(StructuralError::RolledBack { entity }),
                };
                try_reserve(&mut self.lost, 1)?;
                self.lost.push((entity, position, reason));
            }
            sort_short_by_key(&mut self.lost, |(entity, position, _)| (*entity, *position));
        }
        self.lost_in = now;
        Ok(())
    }

    /// Returns why an entity that the buffer has reserved is not reserved in this world, if that is so.
    ///
    /// If it was reserved more than once, the last spawn up to the command counts, or else the first after it.
    fn why_lost(&self, entity: Entity, position: usize) -> Option<StructuralError> {
        if self.lost.is_empty() {
            return None;
        }
        let next = self.lost.partition_point(|(other, at, _)| (*other, *at) <= (entity, position));
        let of_entity = |found: &&(Entity, usize, Option<StructuralError>)| found.0 == entity;
        let last = next.checked_sub(1).map(|at| &self.lost[at]).filter(of_entity);
        last.or_else(|| self.lost.get(next).filter(of_entity)).and_then(|(_, _, reason)| *reason)
    }

    /// Resolves one command: phase 1.
    ///
    /// # Safety
    ///
    /// The payload is that of the entry, and is initialised.
    pub(super) unsafe fn resolve(
        &mut self,
        world: &mut World,
        entry: &Entry,
        payload: *mut u8,
        position: usize,
    ) -> Result<Step, StructuralError> {
        // SAFETY: the payload is that of the entry, by the caller's contract.
        let id = |world: &mut World| unsafe { (entry.vtable.id)(payload, world) };
        if let Some(reason) = entry.entity.and_then(|entity| self.why_lost(entity, position)) {
            return Err(reason);
        }
        // SAFETY: the payload is that of the entry, by the caller's contract. Its type is that of the kind of command.
        unsafe {
            match entry.vtable.kind {
                CommandKind::Despawn => return self.resolve_despawn(world, entry, position),
                CommandKind::Link => {
                    let link = payload.cast::<LinkPayload>().read();
                    return self.resolve_link(world, entry, Some(link), id, position);
                }
                CommandKind::Unlink => return self.resolve_link(world, entry, None, id, position),
                CommandKind::SetName => {
                    let NameOf(name) = &*payload.cast::<NameOf>();
                    return self.resolve_name(world, entry, Some(name), id, position);
                }
                CommandKind::RemoveName => return self.resolve_name(world, entry, None, id, position),
                CommandKind::Spawn | CommandKind::Insert | CommandKind::Remove => {}
                _ => {
                    let key = entry.key(payload).expect("the other commands are about rows");
                    return self.resolve_row(world, entry, key, id, position);
                }
            }
        }
        let bundle_id = id(world)?;
        let Some(entity) = entry.entity.filter(|_| !entry.vtable.is_predicted) else {
            let info = world.bundles.get(bundle_id);
            self.add_rows(world, position, info.table, 1)?;
            self.entries += world.storage.entries_of(info.table);
            let slot = self.take_slot(world, &info.sparse, position)?;
            if let Some(entity) = entry.entity {
                if slot != entity {
                    return Err(NoSuchEntity { entity }.into());
                }
                // Later commands can name it.
                self.set(entity, Some(info.table), !info.sparse.is_empty());
            }
            self.expect_required(&info.required)?;
            return Ok(Step::Spawn(bundle_id));
        };
        let table = self.find(world, entity)?;
        let inserts = entry.vtable.kind != CommandKind::Remove;
        self.change(world, TargetRow::Main(entity), table, bundle_id, inserts, position)
    }

    /// Resolves the despawn of an entity.
    fn resolve_despawn(&mut self, world: &World, entry: &Entry, position: usize) -> Result<Step, StructuralError> {
        let entity = entry.entity.expect("a despawn names its entity");
        let table = match self.find(world, entity) {
            Err(_) if self.is_lenient || entry.vtable.is_lenient => return Ok(Step::Nothing),
            found => found?,
        };
        if world.storage.sparse.has_relations() && self.has_links(world, entity) {
            return self.despawn_related(world, entity, position);
        }
        self.despawn(world, entity, table, position)?;
        Ok(Step::Despawn)
    }

    /// Counts the removal of an entity that is in a table: its extra rows are removed before its main row.
    fn despawn(&mut self, world: &World, entity: Entity, table: u32, position: usize) -> Result<(), AllocError> {
        if world.storage.rows.owner_words() > 0 || self.extra_rows > 0 {
            self.list_extra_rows(world, entity.index())?;
            for at in 0..self.extra.len() {
                let (slot, table) = self.extra[at];
                self.remove_row(world, slot, table, position)?;
            }
        }
        self.remove_row(world, entity, table, position)?;
        self.set(entity, None, false);
        Ok(())
    }

    /// Resolves the despawn of an entity with links.
    fn despawn_related(&mut self, world: &World, root: Entity, position: usize) -> Result<Step, StructuralError> {
        let RelatedCommands { links, despawn_set, despawned, doomed, .. } = self.related_mut()?;
        despawn_set.clear();
        despawn_set.try_add(&world.storage, &links.over(&world.storage), root, true)?;
        let (first, count) = (despawned.len(), despawn_set.entities().len());
        try_reserve(despawned, count)?;
        despawned.extend(despawn_set.entities());
        links.try_doom(&world.storage, despawn_set.entities(), doomed)?;
        // The commands after this one still need an entry each.
        let rest = self.steps.capacity() - self.steps.len();
        try_reserve_map(&mut self.overlay, count + rest)?;
        for at in first..first + count {
            let RelatedCommands { links, despawned, .. } = self.related_mut()?;
            let entity = despawned[at];
            self.entries += links.try_cut(&world.storage, entity.index())?;
            let table = self.find(world, entity)?;
            self.despawn(world, entity, table, position)?;
        }
        Ok(Step::DespawnAll { first, count })
    }

    /// Returns what commands about links need.
    fn related_mut(&mut self) -> Result<&mut RelatedCommands, AllocError> {
        let related = match self.related.take() {
            Some(related) => related,
            None => {
                let mut related = try_box(RelatedCommands::default())?;
                related.links.begin(self.segment);
                related
            }
        };
        Ok(self.related.insert(related))
    }

    /// Returns the highest slot that each relation links, by storage id, and the command that does.
    pub(super) fn linked(&self) -> &[(u32, u32, usize)] {
        self.related.as_deref().map_or(&[], |related| &related.linked)
    }

    /// Returns `true` if an entity would have links.
    fn has_links(&self, world: &World, entity: Entity) -> bool {
        let Some(related) = &self.related else { return world.storage.sparse.has_links(entity.index()) };
        let links = related.links.over(&world.storage);
        world.storage.sparse.relations().any(|(relation, _)| !links.of(relation).get(entity.index()).is_empty())
    }

    /// Resolves a command that links an entity, or unlinks it.
    fn resolve_link(
        &mut self,
        world: &mut World,
        entry: &Entry,
        link: Option<LinkPayload>,
        id: impl FnOnce(&mut World) -> Result<usize, StructuralError>,
        position: usize,
    ) -> Result<Step, StructuralError> {
        let source = entry.entity.expect("a link names its source");
        let relation = id(world)? as u32;
        self.find(world, source)?;
        let Some(LinkPayload { target, position: place }) = link else {
            let links = &mut self.related_mut()?.links;
            if links.of(&world.storage, relation).get(source.index()).target != NONE {
                self.move_name(world, relation, source, NONE)?;
            }
            let links = &mut self.related_mut()?.links;
            links.change(&world.storage, relation, |links| links.unlink(source.index()))?;
            self.entries += 1;
            return Ok(Step::Unlink { relation });
        };
        if let Some(reason) = self.why_lost(target, position) {
            return Err(reason);
        }
        self.find(world, target)?;
        let Some(info) = &world.storage.sparse.get(relation).relation else {
            unreachable!("the storage of a relation")
        };
        self.related_mut()?;
        let plan = {
            let alive = |slot| world.storage.slot(slot).filter(|entity| self.find(world, *entity).is_ok());
            let Some(related) = &self.related else { unreachable!("made above") };
            let links = related.links.of(&world.storage, relation);
            LinkPlan::new(&links, info, source, target, place, alive)?
        };
        let LinkPlan::Before(before) = plan else { return Ok(Step::Nothing) };
        self.move_name(world, relation, source, target.index())?;
        let link =
            |links: &mut PendingLinks<'_>| links.link::<false>(source.index(), target.index(), before, info.is_tree());
        let related = self.related_mut()?;
        related.links.change(&world.storage, relation, link)?;
        related.try_count(relation, source.index().max(target.index()), position)?;
        self.entries += 2;
        Ok(Step::Link { relation, target: target.index(), before })
    }

    /// Resolves a command about a row.
    fn resolve_row(
        &mut self,
        world: &mut World,
        entry: &Entry,
        key: Key,
        id: impl FnOnce(&mut World) -> Result<usize, StructuralError>,
        position: usize,
    ) -> Result<Step, StructuralError> {
        match entry.vtable.kind {
            CommandKind::AddRow => {
                let bundle_id = id(world)?;
                let source = world.row_edge(bundle_id)?;
                let edge = world.bundles.edge(bundle_id, source, true);
                let (target, sparse_inserts) = (edge.target, &edge.sparse_inserts);
                self.find(world, key.entity)?;
                let free = |label: &Label| self.find_name(world, (key.entity.index(), *label)).is_none();
                let Some(label) = world.storage.label(key.component, key.role)?.filter(free) else {
                    return Err(RowError::Exists { key }.into());
                };
                let slot = self.take_slot(world, sparse_inserts, position)?;
                self.expect_required(&edge.required)?;
                self.rows.spawn((key.entity.index(), label), slot, target)?;
                self.add_rows(world, position, target, 1)?;
                self.extra_rows += 1;
                self.entries += world.storage.entries_of(target);
                Ok(Step::AddRow { bundle_id, source, label })
            }
            CommandKind::RemoveRow => match self.find_row(world, key)? {
                (TargetRow::Main(entity), _) => Err(RowError::MainRow { entity }.into()),
                (TargetRow::Extra(name, slot), table) => {
                    self.remove_row(world, slot, table, position)?;
                    self.rows.set(name, slot, None)?;
                    Ok(Step::RemoveRow)
                }
            },
            kind => {
                let (row, table) = self.find_row(world, key)?;
                let bundle_id = id(world)?;
                self.change(world, row, table, bundle_id, kind == CommandKind::InsertIntoRow, position)
            }
        }
    }

    /// Resolves the insertion or the removal of a bundle, for a row that is in a table.
    pub(super) fn change(
        &mut self,
        world: &mut World,
        row: TargetRow,
        table: u32,
        bundle_id: usize,
        insert: bool,
        position: usize,
    ) -> Result<Step, StructuralError> {
        let mut bundle_id = bundle_id;
        if insert && self.required_sparse > 0 {
            let (TargetRow::Main(slot) | TargetRow::Extra(_, slot)) = row;
            bundle_id = world.bundle_without(bundle_id, |world, storage| self.has_sparse(world, slot, storage))?;
        }
        world.edge(bundle_id, table, insert)?;
        let edge = world.bundles.edge(bundle_id, table, insert);
        let (target, gets_sparse) = (edge.target, !edge.sparse_inserts.is_empty());
        if target == table && !insert && edge.sparse_removes.is_empty() {
            return Ok(Step::Nothing);
        }
        let slot = match row {
            TargetRow::Main(entity) => {
                if target != table || gets_sparse {
                    self.set(entity, Some(target), gets_sparse);
                }
                entity
            }
            TargetRow::Extra(name, slot) => {
                if target != table {
                    self.rows.set(name, slot, Some(target))?;
                }
                slot
            }
        };
        self.set_sparse(world, slot, &edge.sparse_removes, false)?;
        self.set_sparse(world, slot, &edge.sparse_inserts, true)?;
        world.storage.expect_move(slot.index(), edge, &mut self.sparse_inserts, &mut self.stash)?;
        self.expect_required(&edge.required)?;
        self.entries += world.storage.entries_of_edge(edge);
        if target != table {
            self.add_rows(world, position, target, 1)?;
            self.add_rows(world, position, table, -1)?;
        } else {
            // The new values are beyond the last row until they are exchanged with the old ones.
            self.add_rows(world, position, table, 1)?;
            self.add_rows(world, position, table, -1)?;
        }
        Ok(if insert { Step::Insert(bundle_id) } else { Step::Remove(bundle_id) })
    }

    /// Counts values of required components that a command inserts.
    #[inline(always)]
    fn expect_required(&mut self, list: &[Required]) -> Result<(), AllocError> {
        if list.is_empty() { Ok(()) } else { self.expect_some_required(list) }
    }

    #[cold]
    #[inline(never)]
    fn expect_some_required(&mut self, list: &[Required]) -> Result<(), AllocError> {
        let made = match &mut self.made {
            Some(made) => made,
            none => none.insert(try_box(MadeRequired::default())?),
        };
        made.try_expect(list)
    }

    /// Predicts the next slot that is allocated, which gets these sparse values.
    fn take_slot(&mut self, world: &World, sparse: &[u32], position: usize) -> Result<Entity, AllocError> {
        if self.slots == 0 {
            self.slots_position = position;
        }
        self.slots = self.slots.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
        let slot = self.predictor.try_take(&world.storage.entities)?;
        self.stash.expect_inserts(&world.storage, sparse)?;
        self.sparse_inserts.try_add(sparse, slot.index())?;
        self.set_sparse(world, slot, sparse, true)?;
        Ok(slot)
    }

    /// Counts the removal of a row that is in a table.
    fn remove_row(&mut self, world: &World, slot: Entity, table: u32, position: usize) -> Result<(), AllocError> {
        self.stash.expect_removal(&world.storage, slot.index(), table)?;
        self.entries += world.storage.entries_of(table);
        self.add_rows(world, position, table, -1)?;
        self.set_sparse(world, slot, world.bundles.required_sparse(), false)?;
        self.predictor.try_free(slot)
    }

    /// Returns `true` if a slot would have a value of a sparse component that a bundle requires.
    fn has_sparse(&self, world: &World, slot: Entity, storage_id: u32) -> bool {
        match self.sparse.as_ref().and_then(|sparse| sparse.get(&(slot.index(), storage_id))) {
            Some((segment, has)) if *segment == self.segment => *has,
            _ => world.storage.sparse.get(storage_id).row(slot.index()).is_some(),
        }
    }

    /// Sets whether a slot would have values in sparse storages, as far as bundles require their components.
    #[inline(always)]
    fn set_sparse(&mut self, world: &World, slot: Entity, storages: &[u32], has: bool) -> Result<(), AllocError> {
        if self.required_sparse == 0 { Ok(()) } else { self.set_required_sparse(world, slot, storages, has) }
    }

    #[cold]
    #[inline(never)]
    fn set_required_sparse(
        &mut self,
        world: &World,
        slot: Entity,
        storages: &[u32],
        has: bool,
    ) -> Result<(), AllocError> {
        for &storage_id in storages.iter().filter(|storage_id| world.bundles.required_sparse().contains(storage_id)) {
            let sparse = match &mut self.sparse {
                Some(sparse) => sparse,
                none => none.insert(try_box(SparseOverlay::default())?),
            };
            try_reserve_map(sparse, 1)?;
            sparse.insert((slot.index(), storage_id), (self.segment, has));
        }
        Ok(())
    }

    /// Returns the row under a key, and the table in which it would be.
    fn find_row(&self, world: &World, key: Key) -> Result<(TargetRow, u32), StructuralError> {
        let main = self.find(world, key.entity)?;
        if key.is_main() {
            return Ok((TargetRow::Main(key.entity), main));
        }
        let name = world.storage.label(key.component, key.role).ok().flatten().map(|label| (key.entity.index(), label));
        let found = name.and_then(|name| {
            let (slot, table) = self.find_name(world, name)?;
            Some((TargetRow::Extra(name, slot), table))
        });
        found.ok_or(RowError::NoSuchRow { key }.into())
    }

    /// Returns the slot and the table that an extra row would have, if there is one under the name by then.
    fn find_name(&self, world: &World, name: Name) -> Option<(Entity, u32)> {
        match self.rows.get(name) {
            Some(state) => state.table.map(|table| (state.slot, table)),
            None => world.storage.row_of_name(name),
        }
    }

    /// Lists the slots and tables of the extra rows that an entity would have, in the order of their creation.
    fn list_extra_rows(&mut self, world: &World, owner: u32) -> Result<(), AllocError> {
        let Resolver { rows, extra, .. } = self;
        extra.clear();
        // Without removed rows. A new row under the name of a removed one follows below.
        let kept = world.storage.extra_rows(owner).filter_map(|(_, label)| match rows.get((owner, label)) {
            Some(state) => state.table.filter(|_| !state.is_new).map(|table| (state.slot, table)),
            None => world.storage.row_of_name((owner, label)),
        });
        for row in kept.chain(rows.new_rows(owner)) {
            try_reserve(extra, 1)?;
            extra.push(row);
        }
        Ok(())
    }

    /// Resolves a command that is skipped for this reason.
    #[cold]
    pub(super) fn skip(
        &mut self,
        world: &World,
        entry: &Entry,
        position: usize,
        error: StructuralError,
    ) -> Result<Step, AllocError> {
        try_reserve(&mut self.skipped, 1)?;
        self.skipped.push((position, error));
        self.skip_spawn(world, entry, position).map(Step::Skip)
    }

    /// Counts what skipping a command needs. Returns `true` if the entity that was reserved for it is despawned: other commands have
    /// given it no components or rows.
    fn skip_spawn(&mut self, world: &World, entry: &Entry, position: usize) -> Result<bool, AllocError> {
        self.stash.expect(None)?;
        let Some(entity) = entry.entity.filter(|_| entry.is_reserved_spawn()) else { return Ok(false) };
        if self.why_lost(entity, position).is_some() {
            return Ok(false);
        }
        if self.find(world, entity) != Ok(0) {
            return Ok(false);
        }
        self.list_extra_rows(world, entity.index())?;
        let has_sparse = self.pending(entity).is_some_and(|found| found.has_sparse)
            || world.storage.sparse.storages_of(entity.index()).next().is_some();
        let is_empty = self.extra.is_empty() && !has_sparse && !self.has_links(world, entity);
        if is_empty {
            self.remove_row(world, entity, 0, position)?;
            self.set(entity, None, false);
        }
        Ok(is_empty)
    }

    /// Returns the table in which an entity would be.
    pub(super) fn find(&self, world: &World, entity: Entity) -> Result<u32, NoSuchEntity> {
        match self.pending(entity) {
            None => world.storage.try_location(entity).map(|location| location.table),
            Some(found) if found.generation == entity.generation() => found.table.ok_or(NoSuchEntity { entity }),
            Some(_) => Err(NoSuchEntity { entity }),
        }
    }

    /// Returns where an entity would be, if the segment has moved the entity of its slot.
    fn pending(&self, entity: Entity) -> Option<&PendingLocation> {
        self.overlay.get(&entity.index()).filter(|found| found.segment == self.segment)
    }

    /// Sets where an entity would be, and whether sparse components are inserted. Capacity for this is reserved before.
    fn set(&mut self, entity: Entity, table: Option<u32>, gets_sparse: bool) {
        let found = |has_sparse| PendingLocation {
            segment: self.segment,
            generation: entity.generation(),
            table,
            has_sparse: gets_sparse || has_sparse,
        };
        match self.overlay.entry(entity.index()) {
            MapEntry::Occupied(mut at) => {
                let before = at.get();
                let has_sparse = before.segment == self.segment && before.has_sparse;
                at.insert(found(has_sparse));
            }
            MapEntry::Vacant(at) => drop(at.insert(found(false))),
        }
    }

    /// Counts rows that a table gets, or loses.
    #[inline]
    fn add_rows(&mut self, world: &World, position: usize, table: u32, change: i64) -> Result<(), AllocError> {
        if self.demands.len() <= table as usize {
            self.add_demands(world)?;
        }
        let demand = &mut self.demands[table as usize];
        demand.now += change;
        if demand.now > demand.max {
            (demand.max, demand.position) = (demand.now, position);
        }
        Ok(())
    }

    /// Adds the demands of tables that are new.
    #[cold]
    fn add_demands(&mut self, world: &World) -> Result<(), AllocError> {
        let more = world.storage.tables.len() - self.demands.len();
        try_reserve(&mut self.demands, more)?;
        self.demands.resize(world.storage.tables.len(), RowDemand::default());
        Ok(())
    }
}
