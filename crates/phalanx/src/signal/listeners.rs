//! [`Listeners`]: the listeners of a world, found by event, component and entity.

use super::listener::{Listener, ListenerId};
use super::observer::Observer;
use crate::alloc::{try_reserve, try_reserve_at, try_reserve_map};
use crate::component::ComponentId;
use crate::journal::{Event, JournalEntry};
use crate::seeded::NumberMap;
use crate::sort::sort_short;
use phalanx_store::{AllocError, Entity};

/// The listeners of a world.
///
/// A listener is in a list for each of its events: in a list of all entities, or in those of its own entities. The lists are
/// in the order of connection, which is the order of the ids.
#[derive(Default)]
pub(super) struct Listeners {
    /// Each listener is at a place that the lists name. Places that are not in use are in `vacant`.
    places: Vec<Option<Listener>>,
    vacant: Vec<u32>,
    by_id: NumberMap<(u32, u32), u32>,
    spawned: Vec<ListenerRef>,
    despawned: Vec<ListenerRef>,
    /// By component: those of `added`, `set` and `removed`.
    by_component: Vec<[Vec<ListenerRef>; 3]>,
    /// By index and generation of an entity: those of this entity alone, of any event and component.
    by_entity: NumberMap<(u32, u32), Vec<EntityListener>>,
    /// By component: the number of listeners of `added`, `set` and `removed`, of all entities and of certain ones.
    counts: Vec<[u32; 3]>,
    /// The number of listeners of spawned entities, and of despawned ones.
    entity_counts: [u32; 2],
    /// The observers of queries that rows enter.
    pub(super) entered: Vec<Observer>,
    /// The observers of queries that rows leave.
    pub(super) left: Vec<Observer>,
    /// Listeners and observers that are called once, and were. They are disconnected when their operation is complete. There is
    /// capacity for all that are called once.
    pub(super) spent: Vec<ListenerId>,
    /// The number of listeners and observers that are called once.
    once: usize,
}

/// Which list the listeners of an event are in.
enum ListKind {
    Spawned,
    Despawned,
    /// One of the three of a component.
    Component(usize),
}

impl ListKind {
    #[inline]
    fn of(event: Event) -> Option<ListKind> {
        match event {
            Event::Spawned => Some(ListKind::Spawned),
            Event::Despawned => Some(ListKind::Despawned),
            // The hidden component of a relation is neither added nor removed.
            Event::Added | Event::Linked => Some(ListKind::Component(0)),
            Event::Set => Some(ListKind::Component(1)),
            Event::Removed | Event::Unlinked => Some(ListKind::Component(2)),
            Event::Row => None,
        }
    }
}

/// A listener in a list.
#[derive(Clone, Copy)]
pub(super) struct ListenerRef {
    pub(super) id: ListenerId,
    pub(super) place: u32,
}

/// A listener of one entity, in the list of the entity.
#[derive(Clone, Copy)]
struct EntityListener {
    event: Event,
    component: ComponentId,
    listener: ListenerRef,
}

/// A listener or an observer that was removed. Only its drop matters.
#[allow(dead_code)]
pub(super) enum Disconnected {
    Listener(Listener),
    Observer(Observer),
}

impl Listeners {
    /// Returns the list of an event of a component, for all entities.
    #[inline]
    fn list(&self, event: Event, id: ComponentId) -> &[ListenerRef] {
        match ListKind::of(event) {
            Some(ListKind::Spawned) => &self.spawned,
            Some(ListKind::Despawned) => &self.despawned,
            Some(ListKind::Component(at)) => self.by_component.get(id.index()).map_or(&[], |lists| &lists[at]),
            None => &[],
        }
    }

    /// Returns the list of an event of a component, for writing, and the number of its listeners. The component is covered.
    fn list_mut(&mut self, event: Event, id: ComponentId) -> Option<(&mut Vec<ListenerRef>, &mut u32)> {
        Some(match ListKind::of(event)? {
            ListKind::Spawned => (&mut self.spawned, &mut self.entity_counts[0]),
            ListKind::Despawned => (&mut self.despawned, &mut self.entity_counts[1]),
            ListKind::Component(at) => (&mut self.by_component[id.index()][at], &mut self.counts[id.index()][at]),
        })
    }

    /// Returns the place of the first listener of an entry after the one that was called last, with its id and the number of the
    /// entry. Listeners are ordered by their ids, and calls of one listener by entries.
    #[inline]
    pub(super) fn next(
        &self,
        entry: &JournalEntry,
        number: usize,
        called: Option<(ListenerId, usize)>,
    ) -> Option<(ListenerId, usize, u32)> {
        let list = self.list(entry.event, entry.id);
        let first = called.map_or(0, |last| list.partition_point(|listener| (listener.id, number) <= last));
        let found = list.get(first).copied();
        let found = if self.by_entity.is_empty() { found } else { self.with_own(found, entry, number, called) };
        found.map(|listener| (listener.id, number, listener.place))
    }

    /// Returns the earlier of a listener of all entities and the first one of the entity of an entry.
    fn with_own(
        &self,
        found: Option<ListenerRef>,
        entry: &JournalEntry,
        number: usize,
        called: Option<(ListenerId, usize)>,
    ) -> Option<ListenerRef> {
        let list = self.by_entity.get(&key(entry.entity)).map_or(&[][..], Vec::as_slice);
        let is_next = |own: &&EntityListener| {
            let is_of = own.event == entry.event && own.component == entry.id;
            is_of && called.is_none_or(|last| (own.listener.id, number) > last)
        };
        let own = list.iter().find(is_next).map(|own| own.listener);
        found.into_iter().chain(own).min_by_key(|listener| listener.id)
    }

    /// Returns `true` if there are listeners of certain entities.
    #[inline]
    pub(super) fn has_own(&self) -> bool {
        !self.by_entity.is_empty()
    }

    /// Returns the list of an event of a component for all entities, the listeners by place, and the list of those that were
    /// called once.
    #[inline]
    pub(super) fn parts(
        &mut self,
        event: Event,
        id: ComponentId,
    ) -> (&[ListenerRef], &mut [Option<Listener>], &mut Vec<ListenerId>) {
        let Listeners { spawned, despawned, by_component, places, spent, .. } = self;
        let list: &[ListenerRef] = match ListKind::of(event) {
            Some(ListKind::Spawned) => spawned,
            Some(ListKind::Despawned) => despawned,
            Some(ListKind::Component(at)) => by_component.get(id.index()).map_or(&[], |lists| &lists[at]),
            None => &[],
        };
        (list, places, spent)
    }

    /// Returns the listener at a place.
    pub(super) fn at(&mut self, place: u32) -> Option<&mut Listener> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Iterates over all observers of queries.
    pub(super) fn observers(&self) -> impl Iterator<Item = &Observer> {
        self.left.iter().chain(&self.entered)
    }

    /// Returns the events of a component that there are listeners of.
    pub(super) fn events_of(&self, id: usize) -> u8 {
        // Links have the lists of additions and removals.
        let lists = [[Event::Added, Event::Linked], [Event::Set; 2], [Event::Removed, Event::Unlinked]];
        let counts = self.counts.get(id).into_iter().flatten();
        let of_list = |(count, [first, second]): (&u32, [Event; 2])| match *count {
            0 => 0,
            _ => first.bit() | second.bit(),
        };
        counts.zip(lists).map(of_list).fold(0, |events, of_list| events | of_list)
    }

    /// Returns whether there are listeners of spawned entities, and of despawned ones.
    pub(super) fn listens_to_entities(&self) -> (bool, bool) {
        (self.entity_counts[0] > 0, self.entity_counts[1] > 0)
    }

    /// Returns `true` if there are no listeners.
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.left.is_empty() && self.entered.is_empty()
    }

    /// Returns the bytes held from the allocator, without what functions hold themselves.
    pub(super) fn bytes(&self) -> usize {
        let lists = self.by_component.iter().flatten().chain([&self.spawned, &self.despawned]);
        let own = self.by_entity.values().map(|list| list.capacity() * size_of::<EntityListener>());
        lists.map(|list| list.capacity() * size_of::<ListenerRef>()).sum::<usize>()
            + own.sum::<usize>()
            + self.by_entity.capacity() * size_of::<((u32, u32), Vec<EntityListener>)>()
            + self.by_id.capacity() * size_of::<((u32, u32), u32)>()
            + self.by_component.capacity() * size_of::<[Vec<ListenerRef>; 3]>()
            + self.vacant.capacity() * size_of::<u32>()
            + self.counts.capacity() * size_of::<[u32; 3]>()
            + self.spent.capacity() * size_of::<ListenerId>()
            + self.places.capacity() * size_of::<Option<Listener>>()
            + self.places.iter().flatten().map(Listener::bytes).sum::<usize>()
            + (self.entered.capacity() + self.left.capacity()) * size_of::<Observer>()
            + self.observers().map(Observer::bytes).sum::<usize>()
    }

    /// Creates the lists of a component.
    fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_reserve_at(&mut self.by_component, id.index())?;
        try_reserve_at(&mut self.counts, id.index())?;
        let len = self.by_component.len().max(id.index() + 1);
        self.by_component.resize_with(len, Default::default);
        self.counts.resize(len, [0; 3]);
        Ok(())
    }

    /// Reserves capacity for one more listener or observer that is called once.
    pub(super) fn try_reserve_spent(&mut self) -> Result<(), AllocError> {
        try_reserve(&mut self.spent, self.once + 1)
    }

    /// Counts a listener or observer that is called once. Capacity for it is reserved before.
    pub(super) fn count_once(&mut self) {
        self.once += 1;
    }

    /// Adds a listener. On error nothing has changed.
    pub(super) fn try_add(&mut self, listener: Listener) -> Result<(), (Listener, AllocError)> {
        match self.try_reserve_for(&listener) {
            Ok(()) => {
                self.add(listener);
                Ok(())
            }
            Err(error) => Err((listener, error)),
        }
    }

    /// Reserves capacity for a listener.
    fn try_reserve_for(&mut self, listener: &Listener) -> Result<(), AllocError> {
        try_reserve(&mut self.places, 1)?;
        // So that removing a listener does not allocate.
        let in_use = self.places.len() - self.vacant.len();
        try_reserve(&mut self.vacant, in_use + 1)?;
        try_reserve_map(&mut self.by_id, 1)?;
        if listener.is_once {
            self.try_reserve_spent()?;
        }
        for &(event, component) in &listener.events {
            self.try_cover(component)?;
            if let Some((list, _)) = self.list_mut(event, component).filter(|_| listener.entities.is_none()) {
                try_reserve(list, 1)?;
            }
        }
        let entities = listener.entities.iter().flatten();
        try_reserve_map(&mut self.by_entity, entities.clone().count())?;
        for &entity in entities {
            let list = self.by_entity.entry(key(entity)).or_default();
            if let Err(error) = try_reserve(list, listener.events.len()) {
                self.by_entity.retain(|_, list| !list.is_empty());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds a listener. Capacity for it is reserved before.
    fn add(&mut self, listener: Listener) {
        let id = listener.id;
        let place = self.vacant.pop().unwrap_or(self.places.len() as u32);
        if place as usize == self.places.len() {
            self.places.push(None);
        }
        let added = ListenerRef { id, place };
        for &(event, component) in &listener.events {
            if let Some((list, count)) = self.list_mut(event, component) {
                *count += 1;
                if listener.entities.is_none() {
                    list.push(added);
                }
            }
            for &entity in listener.entities.iter().flatten() {
                let own = EntityListener { event, component, listener: added };
                self.by_entity.entry(key(entity)).or_default().push(own);
            }
        }
        self.once += usize::from(listener.is_once);
        self.by_id.insert(id.key(), place);
        self.places[place as usize] = Some(listener);
    }

    /// Removes a listener or an observer.
    pub(super) fn remove(&mut self, id: ListenerId) -> Option<Disconnected> {
        match self.by_id.remove(&id.key()) {
            Some(place) => self.remove_at(place).map(Disconnected::Listener),
            None => {
                let observer = [&mut self.left, &mut self.entered].into_iter().find_map(|list| {
                    let at = list.binary_search_by_key(&id, |observer| observer.id).ok()?;
                    Some(list.remove(at))
                })?;
                self.once -= usize::from(observer.is_once);
                Some(Disconnected::Observer(observer))
            }
        }
    }

    fn remove_at(&mut self, place: u32) -> Option<Listener> {
        let listener = self.places[place as usize].take()?;
        self.vacant.push(place);
        self.once -= usize::from(listener.is_once);
        for &(event, component) in &listener.events {
            let Some((list, count)) = self.list_mut(event, component) else { continue };
            *count -= 1;
            if listener.entities.is_none()
                && let Ok(at) = list.binary_search_by_key(&listener.id, |listener| listener.id)
            {
                list.remove(at);
            }
        }
        for entity in listener.entities.iter().flatten() {
            if let Some(list) = self.by_entity.get_mut(&key(*entity)) {
                list.retain(|own| own.listener.id != listener.id);
                if list.is_empty() {
                    self.by_entity.remove(&key(*entity));
                }
            }
        }
        Some(listener)
    }

    /// Returns the listeners and observers of certain entities, none of which is alive, in the order of their connection.
    pub(super) fn of_despawned(&self, is_alive: impl Fn(Entity) -> bool) -> Vec<ListenerId> {
        let is_over = |entities: &Option<Vec<Entity>>| {
            entities.as_ref().is_some_and(|entities| !entities.iter().any(|entity| is_alive(*entity)))
        };
        let listeners = self.places.iter().flatten().filter(|listener| is_over(&listener.entities));
        let observers = self.observers().filter(|observer| is_over(&observer.entities));
        let mut ids: Vec<_> =
            listeners.map(|listener| listener.id).chain(observers.map(|observer| observer.id)).collect();
        sort_short(&mut ids);
        ids
    }
}

/// Returns the index and the generation of an entity.
fn key(entity: Entity) -> (u32, u32) {
    (entity.index(), entity.generation())
}
