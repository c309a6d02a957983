//! The names of the model: looked up by a search through all entities.

use super::kit::{CHILD_OF, NAMES};
use super::model::{Model, Refusal};
use super::program::{Engine, Order, Pick};
use phalanx::store::Entity;
use phalanx::{Name, NameError, RelationError, StructuralError, World};
use std::collections::{BTreeMap, BTreeSet};

/// Returns what an error of the library means, for an entity that was to be named.
pub(crate) fn refusal(entity: Entity, error: NameError) -> Refusal {
    match error {
        NameError::NoSuchEntity(error) => Refusal::NoSuchEntity(error.entity),
        NameError::Taken { holder } => Refusal::NameTaken(entity, holder),
        error => panic!("{error}"),
    }
}

fn is_memory(error: &NameError) -> bool {
    matches!(error, NameError::Alloc(_))
}

/// Returns a name: one of a few, or one of many.
pub(crate) fn pick_name(pick: Pick<'_>) -> &'static str {
    match pick(3) {
        0 => NAMES[pick(4)],
        _ => NAMES[pick(NAMES.len())],
    }
}

impl Model {
    pub(crate) fn name(&self, entity: Entity) -> Option<&'static str> {
        self.nodes.get(&entity).and_then(|node| node.name)
    }

    fn parent(&self, entity: Entity) -> Option<Entity> {
        self.links[CHILD_OF].target.get(&entity).copied()
    }

    /// Returns the entity with a name below a parent, or without one.
    fn find(&self, parent: Option<Entity>, name: &str) -> Option<Entity> {
        self.nodes.keys().copied().find(|entity| self.name(*entity) == Some(name) && self.parent(*entity) == parent)
    }

    /// Checks that an entity can have a name below a parent.
    pub(crate) fn can_name(&self, entity: Entity, parent: Option<Entity>, name: Option<&str>) -> Result<(), Refusal> {
        match name.and_then(|name| self.find(parent, name)).filter(|holder| *holder != entity) {
            Some(holder) => Err(Refusal::NameTaken(entity, holder)),
            None => Ok(()),
        }
    }

    pub(crate) fn set_name(&mut self, entity: Entity, name: Option<&'static str>) -> Result<(), Refusal> {
        self.require(entity)?;
        self.can_name(entity, self.parent(entity), name)?;
        self.nodes.get_mut(&entity).unwrap().name = name;
        Ok(())
    }

    fn path(&self, entity: Entity) -> Option<String> {
        let name = self.name(entity)?;
        match self.parent(entity) {
            Some(parent) => Some(format!("{}/{name}", self.path(parent)?)),
            None => Some(name.to_string()),
        }
    }

    /// Returns `true` if two siblings have the same name.
    pub(crate) fn has_clash(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.nodes
            .keys()
            .any(|entity| self.name(*entity).is_some_and(|name| !seen.insert((self.parent(*entity), name))))
    }

    /// Returns `true` if two siblings would have the same name after entities were moved to another world.
    pub(crate) fn has_clash_after(&self, entities: &[Entity], other: &Model) -> bool {
        let is_moved = |entity: &Entity| entities.contains(entity);
        // An entity whose parent is not in the same world has none.
        let parent = |entity: Entity| self.parent(entity).filter(|parent| is_moved(parent) == is_moved(&entity));
        let (mut here, mut there) = (BTreeSet::new(), BTreeSet::new());
        let is_known = |entity: &Entity| other.name(*entity).is_some_and(|name| !there.insert((None, name)));
        assert!(!other.nodes.keys().filter(|entity| other.parent(**entity).is_none()).any(is_known));
        self.nodes.keys().any(|entity| {
            let Some(name) = self.name(*entity) else { return false };
            let key = (parent(*entity), name);
            if is_moved(entity) { !there.insert(key) } else { !here.insert(key) }
        })
    }

    /// Returns `true` if an error is about names that are the same, of an entity here and one here or there.
    pub(crate) fn explains(&self, error: StructuralError, other: &Model) -> bool {
        let StructuralError::Relation(RelationError::NameTaken { entity, holder }) = error else { return false };
        let name = self.name(entity);
        name.is_some() && (entity != holder && name == self.name(holder) || name == other.name(holder))
    }
}

impl Engine {
    /// An operation on names.
    pub(crate) fn name(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let (entity, name, sum) = (self.someone(at, pick), pick_name(pick), self.checksum(at));
        let nobody = Entity::from_bits(1 << 20).unwrap();
        match pick(6) {
            0 => {
                let result = self.attempt(at, pick, is_memory, |world| world.entity_mut(entity)?.remove_name());
                let old = self.models[at].name(entity).map(|name| Name::new(name).unwrap());
                let expected = self.models[at].set_name(entity, None).map(|()| old);
                self.same(at, sum, result.map_err(|error| refusal(entity, error)), expected);
            }
            1 => {
                let result = self.attempt(at, pick, is_memory, |world| world.spawn_named(name, ()));
                let result = result.map_err(|error| refusal(nobody, error));
                let expected = self.models[at].can_name(nobody, None, Some(name));
                self.same(at, sum, result.map(|_| ()), expected);
                if let Ok(new) = result {
                    self.born(at, new, Default::default());
                    self.models[at].set_name(new, Some(name)).unwrap();
                }
            }
            2 => {
                let result =
                    self.attempt(at, pick, is_memory, |world| world.entity_mut(entity)?.spawn_child_named(name, ()));
                let result = result.map_err(|error| refusal(nobody, error));
                let model = &self.models[at];
                let expected = model.require(entity).and_then(|()| model.can_name(nobody, Some(entity), Some(name)));
                self.same(at, sum, result.map(|_| ()), expected);
                if let Ok(new) = result {
                    self.born(at, new, Default::default());
                    self.models[at].link(CHILD_OF, new, entity, Default::default()).unwrap();
                    self.models[at].set_name(new, Some(name)).unwrap();
                }
            }
            _ => {
                let result =
                    self.attempt(at, pick, is_memory, |world| world.entity_mut(entity)?.set_name(name).map(|_| ()));
                let result = result.map_err(|error| refusal(entity, error));
                let expected = self.models[at].set_name(entity, Some(name));
                self.same(at, sum, result, expected);
            }
        }
        Order::Exact
    }
}

/// Compares the names of a world with its model.
#[track_caller]
pub(crate) fn compare_names(world: &World, model: &Model) {
    use phalanx::Entity as Id;
    use phalanx::relation::{ChildOf, Named};
    let tree = world.relations::<ChildOf>();
    let places = model.nodes.keys().filter_map(|entity| Some(((model.parent(*entity), model.name(*entity)?), *entity)));
    let places: BTreeMap<(Option<Entity>, &str), Entity> = places.collect();
    let mut named = 0;
    for &entity in model.nodes.keys() {
        let name = model.name(entity);
        named += usize::from(name.is_some());
        assert_eq!(tree.name(entity).map(|name| name.as_str()), name, "{entity}");
        let path = model.path(entity);
        assert_eq!(world.path(entity), path);
        if let Some(path) = path {
            assert_eq!(world.find(&path), Some(entity), "{path}");
        }
        if let (Some(parent), Some(name)) = (model.parent(entity), name) {
            assert_eq!(world.entity(parent).unwrap().find(name), Some(entity));
        }
        for other in &NAMES[..4] {
            assert_eq!(tree.find_below(entity, other), places.get(&(Some(entity), *other)).copied());
        }
    }
    for name in NAMES {
        assert_eq!(world.find(name), places.get(&(None, name)).copied(), "{name}");
    }
    let query = world.query::<(Id, Named)>();
    assert_eq!(query.len(), named);
    assert!(query.iter().all(|(entity, name)| model.name(entity) == Some(name.as_str())));
}
