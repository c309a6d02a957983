//! Collectors: the entities that something happened to, gathered until they are asked for.
//!
//! A collector is no user code: it records while an operation is carried out, in memory that was had before. So it misses
//! nothing, whatever listeners do.

use crate::alloc::unwrap_alloc;
use crate::component::{Component, ComponentId};
use crate::journal::{Collector, Condition, Event, Gathered};
use crate::seeded::NumberMap;
use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::Entity;

/// Says what a collector waits for: [`World::collector`]. An entity is collected when one of the conditions is met.
pub struct CollectorBuilder<'w> {
    world: &'w mut World,
    conditions: Vec<Condition>,
}

impl CollectorBuilder<'_> {
    fn on<C: Component>(mut self, event: Event) -> Self {
        let id = self.world.register_component::<C>();
        self.conditions.push(Condition { event, id, with: Vec::new(), without: Vec::new() });
        self
    }

    fn on_entity(mut self, event: Event) -> Self {
        self.conditions.push(Condition { event, id: ComponentId::ROW, with: Vec::new(), without: Vec::new() });
        self
    }

    /// A row got a component that it did not have.
    #[must_use]
    pub fn added<C: Component>(self) -> Self {
        self.on::<C>(Event::Added)
    }

    /// A component was replaced, or changed by [`World::patch`].
    #[must_use]
    pub fn set<C: Component>(self) -> Self {
        self.on::<C>(Event::Set)
    }

    /// A row lost a component, also by its end.
    #[must_use]
    pub fn removed<C: Component>(self) -> Self {
        self.on::<C>(Event::Removed)
    }

    /// An entity was made.
    #[must_use]
    pub fn spawned(self) -> Self {
        self.on_entity(Event::Spawned)
    }

    /// An entity has ended.
    #[must_use]
    pub fn despawned(self) -> Self {
        self.on_entity(Event::Despawned)
    }

    /// Only if the row has this component, too, when the change has been made. A row that ended has none.
    ///
    /// # Panics
    ///
    /// If it does not follow a condition.
    #[must_use]
    #[track_caller]
    pub fn with<D: Component>(mut self) -> Self {
        let id = self.world.register_component::<D>();
        self.last().with.push(id);
        self
    }

    /// Only if the row does not have this component when the change has been made.
    ///
    /// # Panics
    ///
    /// If it does not follow a condition.
    #[must_use]
    #[track_caller]
    pub fn without<D: Component>(mut self) -> Self {
        let id = self.world.register_component::<D>();
        self.last().without.push(id);
        self
    }

    #[track_caller]
    fn last(&mut self) -> &mut Condition {
        self.conditions.last_mut().expect("`with` and `without` narrow the condition before them")
    }

    /// Makes the collector, which gathers from now on.
    pub fn build(self) -> Collector {
        static COLLECTORS: AtomicU64 = AtomicU64::new(0);
        let handle = Collector(COLLECTORS.fetch_add(1, Ordering::Relaxed));
        let (recording, observers) = self.world.listening();
        for condition in &self.conditions {
            unwrap_alloc(recording.try_cover(condition.id));
        }
        let (entities, seen) = (Vec::new(), NumberMap::default());
        recording.collectors.list.push(Gathered { handle, conditions: self.conditions, entities, seen });
        observers.subscribe(recording);
        handle
    }
}

impl fmt::Debug for CollectorBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.conditions).finish()
    }
}

impl World {
    /// Starts a collector: it gathers the entities that something happens to, until they are [drained](World::drain).
    ///
    /// Changes of an extra row count for its entity, and `with` and `without` look at the row that changed. Collectors record what happens while it happens, so they miss nothing,
    /// also if a listener panics. What was recorded in a time that the world [went back over](crate::signal#back-in-time) is
    /// dropped.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32);
    /// #[derive(Component)]
    /// struct Sprite;
    ///
    /// let mut world = World::new();
    /// let redraw = world.collector().set::<Position>().with::<Sprite>().added::<Sprite>().build();
    /// let [seen, unseen] = [world.spawn((Position(0.0), Sprite)), world.spawn(Position(0.0))];
    /// assert_eq!(world.drain(redraw), [seen]);
    /// for e in [unseen, seen, seen] {
    ///     world.insert(e, Position(1.0)).unwrap();
    /// }
    /// assert_eq!(world.drain(redraw), [seen]);
    /// assert_eq!(world.drain(redraw), []);
    /// ```
    pub fn collector(&mut self) -> CollectorBuilder<'_> {
        CollectorBuilder { world: self, conditions: Vec::new() }
    }

    /// The entities that a collector has gathered, each once, in the order of what happened first to each; it starts anew.
    /// None if the world does not have the collector.
    ///
    /// Those that have ended since are among them: [`contains`](World::contains) tells.
    pub fn drain(&mut self, collector: Collector) -> Vec<Entity> {
        let Some(recording) = &mut self.storage.journal.recording else { return Vec::new() };
        match recording.collectors.list.iter_mut().find(|gathered| gathered.handle == collector) {
            Some(gathered) => {
                gathered.seen.clear();
                core::mem::take(&mut gathered.entities)
            }
            None => Vec::new(),
        }
    }

    /// Drops a collector. Whether the world had it.
    pub fn drop_collector(&mut self, collector: Collector) -> bool {
        let Some(recording) = &mut self.storage.journal.recording else { return false };
        let before = recording.collectors.list.len();
        recording.collectors.list.retain(|gathered| gathered.handle != collector);
        let found = recording.collectors.list.len() < before;
        self.observers.subscribe(recording);
        self.rest();
        found
    }
}
