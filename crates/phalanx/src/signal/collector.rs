//! [`CollectorBuilder`], and the methods of [`Collector`].

use super::ChangeReader;
use super::deferred::stop_if_unused;
use super::dispatch::set_dispatcher;
use super::observers::subscribe;
use crate::alloc::unwrap_alloc;
use crate::component::{Component, ComponentId};
use crate::journal::{ChangeLog, Collector, CollectorState, Collectors, Condition, Event};
use crate::seeded::NumberMap;
use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::Entity;

/// Builds a [`Collector`], a [`ChangeReader`] or a [`ValueCollector`](super::ValueCollector), created by [`World::collector`]. An entity is collected when one of the
/// conditions is met.
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

    /// Collects entities to which a component is added.
    #[must_use]
    pub fn added<C: Component>(self) -> Self {
        self.on::<C>(Event::Added)
    }

    /// Collects entities whose component is replaced, or changed by [`World::patch`].
    #[must_use]
    pub fn set<C: Component>(self) -> Self {
        self.on::<C>(Event::Set)
    }

    /// Collects entities that lose a component, also when they are despawned.
    #[must_use]
    pub fn removed<C: Component>(self) -> Self {
        self.on::<C>(Event::Removed)
    }

    /// Collects entities that are spawned.
    #[must_use]
    pub fn spawned(self) -> Self {
        self.on_entity(Event::Spawned)
    }

    /// Collects entities that are despawned.
    #[must_use]
    pub fn despawned(self) -> Self {
        self.on_entity(Event::Despawned)
    }

    /// Narrows the last condition to rows that have this component after the change. A despawned row has none.
    ///
    /// # Panics
    ///
    /// Panics if there is no condition before it.
    #[must_use]
    #[track_caller]
    pub fn with<D: Component>(mut self) -> Self {
        let id = self.world.register_component::<D>();
        self.last().with.push(id);
        self
    }

    /// Narrows the last condition to rows that do not have this component after the change.
    ///
    /// # Panics
    ///
    /// Panics if there is no condition before it.
    #[must_use]
    #[track_caller]
    pub fn without<D: Component>(mut self) -> Self {
        let id = self.world.register_component::<D>();
        self.last().without.push(id);
        self
    }

    /// Returns the conditions so far.
    pub(super) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Returns the id of a component in the world.
    pub(super) fn component_id<C: Component>(&self) -> ComponentId {
        self.world.storage.components.id::<C>()
    }

    #[track_caller]
    fn last(&mut self) -> &mut Condition {
        self.conditions.last_mut().expect("`with` and `without` narrow the condition before them")
    }

    /// Creates the collector, which collects from now on.
    pub fn build(self) -> Collector {
        static COLLECTORS: AtomicU64 = AtomicU64::new(0);
        let handle = Collector(COLLECTORS.fetch_add(1, Ordering::Relaxed));
        self.connect(|collectors, conditions| {
            let (entities, seen) = (Vec::new(), NumberMap::default());
            collectors.list.push(CollectorState { handle, conditions, entities, seen });
        });
        handle
    }

    /// Creates a reader instead of a collector. It reads every event that meets a condition, from now on.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// let mut world = World::new();
    /// let mut lost = world.collector().removed::<Shield>().build_reader();
    /// let mut lost_too = world.collector().removed::<Shield>().build_reader();
    /// let [ann, bob] = [world.spawn(Shield), world.spawn(Shield)];
    /// world.remove::<Shield>(bob)?;
    /// assert_eq!(lost.read(&world), [bob]);
    /// world.despawn(ann)?;
    /// assert_eq!(lost.read(&world), [ann]);
    /// assert_eq!(lost_too.read(&world), [bob, ann]);
    /// assert_eq!(lost_too.read(&world), []);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "RemovedComponents")]
    pub fn build_reader(self) -> ChangeReader {
        let reader = ChangeReader::new();
        let read = reader.read_count().clone();
        self.connect(|collectors, conditions| collectors.logs.push(ChangeLog::new(conditions, read)));
        reader
    }

    /// Adds a collector or a reader with these conditions to the world.
    pub(super) fn connect(self, add: impl FnOnce(&mut Collectors, Vec<Condition>)) {
        set_dispatcher(self.world);
        let World { storage, observers, .. } = self.world;
        let recording = storage.journal.recording.get_or_insert_default();
        for condition in &self.conditions {
            unwrap_alloc(recording.try_cover(condition.id));
        }
        add(&mut recording.collectors, self.conditions);
        subscribe(recording, observers.as_deref());
    }
}

impl fmt::Debug for CollectorBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.conditions).finish()
    }
}

impl World {
    /// Returns a builder for a collector, which lists entities that were changed until they are [drained](Collector::drain).
    ///
    /// A change of an extra row counts for its entity; `with` and `without` are about the row that changed. Collectors run while
    /// an operation is committed, so a panic of a listener loses nothing. What was collected in a time that the world [went
    /// back over](crate::signal#back-in-time) is dropped.
    ///
    /// A collector lists each entity once, and draining it needs an exclusive world. A [reader](CollectorBuilder::build_reader)
    /// lists every event, and needs a shared world only. [`keep_values`](CollectorBuilder::keep_values) keeps the old values of
    /// components, too.
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
    /// assert_eq!(redraw.drain(&mut world), [seen]);
    /// for e in [unseen, seen, seen] {
    ///     world.insert(e, Position(1.0)).unwrap();
    /// }
    /// assert_eq!(redraw.drain(&mut world), [seen]);
    /// assert_eq!(redraw.drain(&mut world), []);
    /// ```
    pub fn collector(&mut self) -> CollectorBuilder<'_> {
        CollectorBuilder { world: self, conditions: Vec::new() }
    }
}

impl Collector {
    /// Returns the collected entities, and empties the collector.
    ///
    /// Each entity is listed once, in the order of its first event. Entities that were despawned since are among them; see
    /// [`World::contains`]. The list is empty if the world does not have the collector.
    pub fn drain(self, world: &mut World) -> Vec<Entity> {
        let recording = world.storage.journal.recording.as_deref_mut();
        let Some(state) = recording.and_then(|recording| recording.collectors.get_mut(self)) else { return Vec::new() };
        state.seen.clear();
        core::mem::take(&mut state.entities)
    }

    /// Removes the collector from its world. Returns `true` if the world had it.
    pub fn remove(self, world: &mut World) -> bool {
        let Some(recording) = &mut world.storage.journal.recording else { return false };
        let before = recording.collectors.list.len();
        recording.collectors.list.retain(|state| state.handle != self);
        let found = recording.collectors.list.len() < before;
        subscribe(recording, world.observers.as_deref());
        stop_if_unused(world);
        found
    }
}
