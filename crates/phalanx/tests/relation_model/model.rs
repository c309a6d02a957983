//! A naive model of entities and their links: a map of targets and a vector of sources for each relation.

use super::kit::{CHILD_OF, Event, Methods, RELATIONS};
use phalanx::relation::{OnDespawn, Position, RelationKind};
use phalanx::store::Entity;
use phalanx::{RelationError, StructuralError};
use std::collections::{BTreeMap, BTreeSet};

/// Why an operation changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NoSuchEntity(Entity),
    Cycle(usize, Entity, Entity),
    Occupied(usize, Entity, Entity),
    NotSource(usize, Entity, Entity),
    Refused(usize, Entity, usize),
    NameTaken(Entity, Entity),
}

impl Refusal {
    /// Returns what an error of the library means.
    pub(crate) fn of(error: RelationError) -> Refusal {
        let number = |name: &str| RELATIONS.iter().position(|methods| (methods.name)() == name).unwrap();
        match error {
            RelationError::NoSuchEntity(error) => Refusal::NoSuchEntity(error.entity),
            RelationError::Cycle { relation, source, target } => Refusal::Cycle(number(relation), source, target),
            RelationError::Occupied { relation, target, by } => Refusal::Occupied(number(relation), target, by),
            RelationError::NotSource { relation, entity, target } => {
                Refusal::NotSource(number(relation), entity, target)
            }
            RelationError::Refused { relation, entity, count } => Refusal::Refused(number(relation), entity, count),
            RelationError::NameTaken { entity, holder } => Refusal::NameTaken(entity, holder),
            error => panic!("{error}"),
        }
    }

    /// Returns what an error of the library means.
    pub(crate) fn of_change(error: StructuralError) -> Refusal {
        match error {
            StructuralError::NoSuchEntity(error) => Refusal::NoSuchEntity(error.entity),
            StructuralError::Relation(error) => Refusal::of(error),
            error => panic!("{error}"),
        }
    }
}

/// An entity. Entities that were spawned without components have no number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: Option<u32>,
    pub(crate) fire: Option<u32>,
    pub(crate) mass: Option<u32>,
    pub(crate) spin: Option<u32>,
    pub(crate) name: Option<&'static str>,
    /// The roles of the extra rows, in the order of their creation.
    pub(crate) rows: Vec<u32>,
}

/// The links of one relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) target: BTreeMap<Entity, Entity>,
    pub(crate) sources: BTreeMap<Entity, Vec<Entity>>,
}

impl Links {
    pub(crate) fn sources(&self, target: Entity) -> &[Entity] {
        self.sources.get(&target).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn ancestors(&self, entity: Entity) -> Vec<Entity> {
        core::iter::successors(self.target.get(&entity), |above| self.target.get(above)).copied().collect()
    }

    /// Lists the entities below another one, each before its own sources, or each after them.
    pub(crate) fn descendants(&self, entity: Entity, leaves_first: bool, out: &mut Vec<Entity>) {
        for &source in self.sources(entity) {
            if !leaves_first {
                out.push(source);
            }
            self.descendants(source, leaves_first, out);
            if leaves_first {
                out.push(source);
            }
        }
    }

    fn attach(&mut self, source: Entity, target: Entity, at: usize) {
        self.target.insert(source, target);
        self.sources.entry(target).or_default().insert(at, source);
    }

    /// Removes a link. Returns its target, and the position that the source had.
    fn detach(&mut self, source: Entity) -> Option<(Entity, usize)> {
        let target = self.target.remove(&source)?;
        let list = self.sources.get_mut(&target).unwrap();
        let at = list.iter().position(|other| *other == source).unwrap();
        list.remove(at);
        if list.is_empty() {
            self.sources.remove(&target);
        }
        Some((target, at))
    }
}

/// A world as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) nodes: BTreeMap<Entity, Node>,
    pub(crate) links: [Links; RELATIONS.len()],
    /// The links that were made and cut since the last operation.
    pub(crate) events: Vec<Event>,
}

impl Model {
    pub(crate) fn contains(&self, entity: Entity) -> bool {
        self.nodes.contains_key(&entity)
    }

    pub(crate) fn require(&self, entity: Entity) -> Result<(), Refusal> {
        if self.contains(entity) { Ok(()) } else { Err(Refusal::NoSuchEntity(entity)) }
    }

    fn event(&mut self, is_link: bool, relation: usize, source: Entity, target: Entity) {
        self.events.push(Event { relation, is_link, source, target });
    }

    pub(crate) fn link(
        &mut self,
        relation: usize,
        source: Entity,
        target: Entity,
        position: Position,
    ) -> Result<(), Refusal> {
        self.require(source)?;
        self.require(target)?;
        let Methods { kind, .. } = RELATIONS[relation];
        let links = &mut self.links[relation];
        if source == target || kind == RelationKind::Tree && links.ancestors(target).contains(&source) {
            return Err(Refusal::Cycle(relation, source, target));
        }
        if let (RelationKind::OneToOne, Some(&by)) = (kind, links.sources(target).first().filter(|by| **by != source)) {
            return Err(Refusal::Occupied(relation, target, by));
        }
        let old = links.target.get(&source).copied();
        if let Position::Before(other) | Position::After(other) = position {
            if links.target.get(&other) != Some(&target) {
                return Err(Refusal::NotSource(relation, other, target));
            }
            if other == source {
                return Ok(());
            }
        }
        if position == Position::Last && old == Some(target) {
            return Ok(());
        }
        if relation == CHILD_OF {
            self.can_name(source, Some(target), self.name(source))?;
        }
        let links = &mut self.links[relation];
        links.detach(source);
        let place = |other: Entity| links.sources(target).iter().position(|source| *source == other).unwrap();
        let at = match position {
            Position::First => 0,
            Position::Last => links.sources(target).len(),
            Position::Before(other) => place(other),
            Position::After(other) => place(other) + 1,
        };
        links.attach(source, target, at);
        if old != Some(target) {
            if let Some(old) = old {
                self.event(false, relation, source, old);
            }
            self.event(true, relation, source, target);
        }
        Ok(())
    }

    pub(crate) fn unlink(&mut self, relation: usize, source: Entity) -> Result<Option<Entity>, Refusal> {
        self.require(source)?;
        if relation == CHILD_OF && self.links[relation].target.contains_key(&source) {
            self.can_name(source, None, self.name(source))?;
        }
        let old = self.links[relation].detach(source).map(|(target, _)| target);
        if let Some(target) = old {
            self.event(false, relation, source, target);
        }
        Ok(old)
    }

    /// Spawns an entity that is linked to a target. The world has returned it.
    pub(crate) fn can_spawn(&self, relation: usize, target: Entity) -> Result<(), Refusal> {
        self.require(target)?;
        match self.links[relation].sources(target).first() {
            Some(&by) if RELATIONS[relation].kind == RelationKind::OneToOne => {
                Err(Refusal::Occupied(relation, target, by))
            }
            _ => Ok(()),
        }
    }

    /// Sorts the sources of a target by their fire. Those without it come last.
    pub(crate) fn sort(&mut self, relation: usize, target: Entity) -> Result<(), Refusal> {
        self.require(target)?;
        let nodes = &self.nodes;
        let key = |source: &Entity| nodes[source].fire.map_or((1, 0), |fire| (0, fire));
        self.links[relation].sources.get_mut(&target).into_iter().for_each(|list| list.sort_by_key(key));
        Ok(())
    }

    /// Adds an entity and those that are despawned because of it to a list: each after those.
    fn doom(&self, entity: Entity, seen: &mut BTreeSet<Entity>, list: &mut Vec<Entity>) {
        if !seen.insert(entity) {
            return;
        }
        for (links, methods) in self.links.iter().zip(&RELATIONS) {
            if methods.on_despawn == OnDespawn::Despawn {
                links.sources(entity).iter().for_each(|source| self.doom(*source, seen, list));
            }
        }
        list.push(entity);
    }

    /// Returns what is despawned with an entity, beside those that are despawned anyway.
    fn doomed(&self, entity: Entity, seen: &mut BTreeSet<Entity>) -> Result<Vec<Entity>, Refusal> {
        self.require(entity)?;
        let (mut list, mut with) = (Vec::new(), seen.clone());
        self.doom(entity, &mut with, &mut list);
        for &entity in list.iter().rev() {
            for (relation, links) in self.links.iter().enumerate() {
                let others = links.sources(entity).iter().filter(|source| !with.contains(source)).count();
                if RELATIONS[relation].on_despawn == OnDespawn::Refuse && others > 0 {
                    return Err(Refusal::Refused(relation, entity, others));
                }
            }
        }
        *seen = with;
        Ok(list)
    }

    fn remove(&mut self, entity: Entity) {
        for (relation, methods) in RELATIONS.iter().enumerate() {
            let target = self.links[relation].target.get(&entity).copied();
            for source in self.links[relation].sources(entity).to_vec() {
                self.links[relation].detach(source);
                self.event(false, relation, source, entity);
                if let (Some(target), OnDespawn::Reparent) = (target, methods.on_despawn) {
                    let list = self.links[relation].sources(target);
                    let at = list.iter().position(|other| *other == entity).unwrap();
                    self.links[relation].attach(source, target, at);
                    self.event(true, relation, source, target);
                }
            }
            if let Some((target, _)) = self.links[relation].detach(entity) {
                self.event(false, relation, entity, target);
            }
        }
        self.nodes.remove(&entity);
    }

    pub(crate) fn despawn(&mut self, entity: Entity) -> Result<(), Refusal> {
        let list = self.doomed(entity, &mut BTreeSet::new())?;
        list.into_iter().for_each(|entity| self.remove(entity));
        Ok(())
    }

    /// Despawns entities, and returns the number of those that were alive by then.
    pub(crate) fn despawn_batch(&mut self, entities: &[Entity]) -> usize {
        entities.iter().filter(|entity| self.despawn(**entity).is_ok()).count()
    }

    pub(crate) fn clear(&mut self) {
        for relation in 0..RELATIONS.len() {
            for (source, target) in core::mem::take(&mut self.links[relation].target) {
                self.event(false, relation, source, target);
            }
        }
        let events = core::mem::take(&mut self.events);
        *self = Model { events, ..Model::default() };
    }

    /// Returns an entity and all below it.
    pub(crate) fn tree(&self, relation: usize, root: Entity) -> Vec<Entity> {
        let mut list = vec![root];
        self.links[relation].descendants(root, false, &mut list);
        list
    }

    /// Adds clones, the last of which have no numbers of their own yet.
    pub(crate) fn clone_all(&mut self, map: &[(Entity, Entity)]) {
        let twin = |entity: Entity| map.iter().find(|(old, _)| *old == entity).map(|(_, new)| *new);
        for (old, new) in map {
            let mut node = self.nodes[old].clone();
            // The others would have the same siblings.
            let parent = self.links[CHILD_OF].target.get(old);
            node.name = node.name.filter(|_| parent.is_some_and(|parent| twin(*parent).is_some()));
            self.nodes.insert(*new, node);
        }
        for (relation, methods) in RELATIONS.iter().enumerate() {
            let before = self.links[relation].clone();
            // Links between the clones are in the order of the originals.
            for (target, list) in before.sources.iter().filter(|_| methods.clones) {
                for &source in list {
                    if let (Some(source), Some(target)) = (twin(source), twin(*target)) {
                        let at = self.links[relation].sources(target).len();
                        self.links[relation].attach(source, target, at);
                        self.event(true, relation, source, target);
                    }
                }
            }
            // Links to others come last, in the order in which the entities were cloned.
            for (old, new) in map.iter().filter(|_| methods.clones && methods.kind != RelationKind::OneToOne) {
                if let Some(&target) = before.target.get(old).filter(|target| twin(**target).is_none()) {
                    let at = self.links[relation].sources(target).len();
                    self.links[relation].attach(*new, target, at);
                    self.event(true, relation, *new, target);
                }
            }
        }
    }

    /// Moves entities to another world. Returns the links that were cut.
    pub(crate) fn transfer(
        &mut self,
        other: &mut Model,
        map: &[(Entity, Entity)],
    ) -> Vec<(&'static str, Entity, Entity)> {
        let new = |entity: Entity| map.iter().find(|(old, _)| *old == entity).map(|(_, new)| *new);
        let mut cut = Vec::new();
        for (old, new) in map {
            other.nodes.insert(*new, self.nodes.remove(old).unwrap());
        }
        for (relation, methods) in RELATIONS.iter().enumerate() {
            let before = self.links[relation].clone();
            for (&target, list) in &before.sources {
                for &source in list {
                    match (new(source), new(target)) {
                        (None, None) => continue,
                        (Some(source), Some(target)) => {
                            let at = other.links[relation].sources(target).len();
                            other.links[relation].attach(source, target, at);
                            other.event(true, relation, source, target);
                        }
                        _ => cut.push(((methods.name)(), source, target)),
                    }
                    self.links[relation].detach(source);
                    self.event(false, relation, source, target);
                }
            }
        }
        cut
    }

    /// Returns the part with some entities, and the number of links that lead out of it.
    pub(crate) fn part(&self, keeps: impl Fn(Entity) -> bool) -> (Model, usize) {
        let (mut part, mut cut) = (self.clone(), 0);
        part.nodes.retain(|entity, _| keeps(*entity));
        for links in &mut part.links {
            for (source, target) in links.target.clone() {
                cut += usize::from(keeps(source) != keeps(target));
                if !(keeps(source) && keeps(target)) {
                    links.detach(source);
                }
            }
        }
        (part, cut)
    }
}
