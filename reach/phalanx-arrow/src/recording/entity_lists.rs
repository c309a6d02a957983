//! [`EntityLists`]: the entities of the tables of a world in one frame, copied once for all components.

use crate::names;
use phalanx::reflect::{StoreRef, TableRef};
use phalanx::snapshot::Registry;
use phalanx::{ComponentId, Entity, World};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The entities of a table or a sparse storage, in the order of their rows.
pub(super) type EntityList = Arc<Vec<Entity>>;

/// A table of main rows with its entities.
pub(super) struct ListedTable<'w> {
    pub(super) table: TableRef<'w>,
    pub(super) archetype: Arc<str>,
    pub(super) entities: EntityList,
}

/// Copies the entities of tables, and knows the names of archetypes.
#[derive(Default)]
pub(super) struct EntityLists {
    /// The names of the tables of components.
    names: HashMap<ComponentId, String>,
    tables: BTreeMap<Vec<ComponentId>, (Arc<str>, Memory)>,
    stores: BTreeMap<ComponentId, Memory>,
}

impl EntityLists {
    /// Sets the names of components, after a world has learnt of more of them.
    pub(super) fn name_components(&mut self, world: &World, registry: &Registry) {
        self.names = names::tables(world, Some(registry)).into_iter().map(|(name, id)| (id, name)).collect();
        self.tables.clear();
    }

    /// Copies the entities of all tables of main rows.
    pub(super) fn tables<'w>(&mut self, world: &'w World) -> Vec<ListedTable<'w>> {
        let tables = world.tables().filter(|table| !table.is_extra());
        let listed = |table: TableRef<'w>| {
            let (names, ids) = (&self.names, table.components().collect::<Vec<_>>());
            let new = |ids: &Vec<ComponentId>| (archetype(names, ids), Memory::default());
            let (archetype, memory) = self.tables.entry(ids).or_insert_with_key(new);
            let entities = memory.list(table.entities().iter().copied());
            ListedTable { archetype: archetype.clone(), entities, table }
        };
        tables.map(listed).collect()
    }

    /// Copies the entities of a sparse storage.
    pub(super) fn store(&mut self, store: &StoreRef<'_>) -> EntityList {
        self.stores.entry(store.component()).or_default().list(store.entities())
    }
}

/// Returns components by the names of their tables.
fn archetype(names: &HashMap<ComponentId, String>, ids: &[ComponentId]) -> Arc<str> {
    let mut parts: Vec<_> = ids.iter().filter_map(|id| names.get(id)).map(String::as_str).collect();
    parts.sort_unstable();
    parts.join(", ").into()
}

/// The lists of one table in the last frames. Their memory is used again when the thread that writes has dropped its share.
#[derive(Default)]
struct Memory(Vec<EntityList>);

impl Memory {
    fn list(&mut self, entities: impl Iterator<Item = Entity>) -> EntityList {
        let free = self.0.iter_mut().position(|list| Arc::get_mut(list).is_some());
        let mut list = free.map(|at| self.0.swap_remove(at)).unwrap_or_default();
        if let Some(memory) = Arc::get_mut(&mut list) {
            memory.clear();
            memory.extend(entities);
        }
        self.0.push(list.clone());
        list
    }
}
