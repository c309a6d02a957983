//! [`Step`]: what one command of a segment does, and its commit.
#![allow(unsafe_code)]

use super::apply_report::CommandKind;
use super::command_buffer::Entry;
use super::resolver::RelatedCommands;
use crate::bundle::BundlePtr;
use crate::mutation::stash::Stash;
use crate::mutation::{Made, Reserved};
use crate::rows::{Key, Label};
use crate::storage::Location;
use crate::world::World;
use phalanx_store::Entity;

/// What a command does, resolved before anything changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The command is skipped. The flag says whether the entity that was reserved for it is despawned.
    Skip(bool),
    /// Spawns an entity with a bundle.
    Spawn(usize),
    /// Spawns an extra row in the target of a bundle's edge from the table `source`.
    AddRow { bundle_id: usize, source: u32, label: Label },
    /// Removes an extra row.
    RemoveRow,
    /// Inserts a bundle.
    Insert(usize),
    /// Removes a bundle.
    Remove(usize),
    /// Does nothing.
    Nothing,
    /// Despawns an entity.
    Despawn,
    /// Despawns entities, of which the resolver has a list.
    DespawnAll { first: usize, count: usize },
    /// Links the entity to the target at a slot, before a source of that target, or as the last.
    Link { relation: u32, target: u32, before: Option<u32> },
    /// Unlinks the entity.
    Unlink { relation: u32 },
}

impl Step {
    /// Executes the command: phase 3.
    ///
    /// # Safety
    ///
    /// - The step was resolved for this command, and the token is that of its segment.
    /// - The steps before it were committed, in order.
    /// - The payload is initialised. The command gives it up.
    /// - `related` is that of the resolver, and `made` are the required values that it expected.
    pub(super) unsafe fn commit(
        &self,
        world: &mut World,
        entry: &Entry,
        payload: *mut u8,
        related: Option<&mut RelatedCommands>,
        (reserved, made, stash): (Reserved, &mut Made<'_>, &mut Stash),
    ) {
        let World { bundles, storage, .. } = world;
        // SAFETY: the payload is that of the entry, by the caller's contract.
        let key = || unsafe { entry.key(payload) };
        let named = || entry.entity.expect("only a spawn names no entity");
        match *self {
            // SAFETY: the payload is given up, by the caller's contract. Commands that may do nothing have payloads without user
            // code.
            Step::Nothing => unsafe { (entry.vtable.drop)(payload) },
            Step::Skip(despawns) => {
                if despawns {
                    storage.remove_empty(named());
                }
                // SAFETY: the payload is given up, by the caller's contract, and was expected when the command was skipped.
                unsafe { stash.take_payload(entry.vtable.drop, payload) };
            }
            Step::Spawn(bundle_id) => {
                let info = bundles.get(bundle_id);
                storage.sparse.find_insert_ptrs(storage.entities.next_index(), &info.sparse);
                let tail = storage.tables[info.table as usize].len;
                let to = storage.bundle_ptr(info.table, info.columns.as_ptr(), tail);
                // SAFETY: the row, the slot and its sparse values are reserved. `to` is where the bundle goes in its table, with
                // what it requires. Splitting a bundle may be user code, so it is written before anything is committed.
                unsafe {
                    let payload = Payload::new(entry, payload);
                    made.write_with(&info.required, info.columns.len(), to, |to| payload.write(to));
                    storage.spawn_row::<true>(reserved, info.table, &info.sparse);
                }
            }
            Step::AddRow { bundle_id, source, label } => {
                let edge = bundles.edge(bundle_id, source, true);
                storage.sparse.find_insert_ptrs(storage.entities.next_index(), &edge.sparse_inserts);
                let tail = storage.tables[edge.target as usize].len;
                let to = storage.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
                // SAFETY: the row, the slot, its name and its sparse values are reserved. `to` is where the bundle goes in the
                // edge's target, a table of extra rows, with what it requires. The owner is alive and has no row with this
                // label.
                unsafe {
                    let payload = Payload::new(entry, payload);
                    made.write_with(&edge.required, edge.columns.len(), to, |to| payload.write(to));
                    storage.spawn_extra_row::<true>(reserved, named(), label, edge.target, &edge.sparse_inserts);
                }
            }
            Step::RemoveRow => {
                let (slot, at) = find_row(world, named(), key());
                // SAFETY: the row was found in use, and the stash has capacity for its values.
                unsafe { world.storage.remove_row(reserved, slot, at, stash) };
            }
            Step::Insert(bundle_id) => {
                let (slot, from) = find_row(world, named(), key());
                let edge = world.bundles.edge(bundle_id, from.table, true);
                // SAFETY: the payload is given up, by the caller's contract. It is the bundle that the edge inserts, and goes where
                // the edge says. The row was found at `from`, and what the edge needs is reserved, in the stash too.
                unsafe {
                    let payload = Payload::new(entry, payload);
                    world.storage.move_row_with(reserved, (slot, from), edge, |to| payload.write(to), made, stash);
                }
                if entry.vtable.kind == CommandKind::SetName {
                    world.storage.index_name(slot.index());
                }
            }
            Step::Remove(bundle_id) => {
                let (slot, from) = find_row(world, named(), key());
                let edge = world.bundles.edge(bundle_id, from.table, false);
                // SAFETY: the row was found at `from`, the edge inserts nothing, and what it needs is reserved, in the stash too. The
                // payload, which may be a list of components, is given up, by the caller's contract.
                unsafe {
                    let _payload = Payload::new(entry, payload);
                    world.storage.move_row(reserved, slot, from, edge, stash);
                }
            }
            // SAFETY: the entity is alive, and the stash has capacity for the values of all its rows.
            Step::Despawn => unsafe { storage.remove_entity(reserved, named(), stash) },
            Step::DespawnAll { first, count } => {
                let Some(RelatedCommands { despawned, doomed, .. }) = related else {
                    unreachable!("the resolver has the list")
                };
                let despawned = &despawned[first..first + count];
                storage.doom(despawned, doomed);
                for &entity in despawned {
                    // SAFETY: the entity is alive, and the stash has capacity for the values of all its rows.
                    unsafe { storage.remove_entity(reserved, entity, stash) };
                }
            }
            Step::Link { relation, target, before } => {
                storage.link(reserved, relation, named(), target, before);
                storage.index_name(named().index());
            }
            Step::Unlink { relation } => {
                storage.unlink(relation, named());
                storage.index_name(named().index());
            }
        }
    }
}

/// The payload of a command that is executed. It is dropped with this, unless it is written: splitting the value of a required
/// component may panic before.
struct Payload<'a> {
    entry: &'a Entry,
    payload: *mut u8,
}

impl<'a> Payload<'a> {
    /// Takes ownership of a payload.
    ///
    /// # Safety
    ///
    /// The payload is that of the entry, is initialised, and is given up.
    #[inline(always)]
    unsafe fn new(entry: &'a Entry, payload: *mut u8) -> Payload<'a> {
        Payload { entry, payload }
    }

    /// Moves the bundle to its destination.
    ///
    /// # Safety
    ///
    /// As for [`Bundle::write`](crate::Bundle::write).
    #[inline(always)]
    unsafe fn write(self, to: BundlePtr) {
        let (write, payload) = (self.entry.vtable.write, self.payload);
        core::mem::forget(self);
        // SAFETY: the payload is that of the entry, by the contract of `new`, and `to` is where it goes, by the caller's contract.
        unsafe { write(payload, to) };
    }
}

impl Drop for Payload<'_> {
    fn drop(&mut self) {
        // SAFETY: the payload is owned, by the contract of `new`.
        unsafe { (self.entry.vtable.drop)(self.payload) };
    }
}

/// Returns the slot and the location of an entity's row: the main row if there is no key. It exists, as resolving found.
fn find_row(world: &World, entity: Entity, key: Option<Key>) -> (Entity, Location) {
    let slot = key.map_or(entity, |key| world.storage.find_row(key).expect("a resolved row exists").0);
    (slot, world.storage.try_location(slot).expect("a resolved entity is alive"))
}
