//! Collectors: the entities that something happened to, gathered until they are asked for.
//!
//! A collector is no user code: it records while an operation is carried out, in memory that was had before. So it misses
//! nothing, whatever listeners do.

use super::{Event, Note};
use crate::component::{Component, ComponentId};
use crate::room::{had, try_map_room, try_room};
use crate::seeded::NumberMap;
use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::{AllocError, Entity};

/// The handle of a collector that a world has: [`World::collector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collector(u64);

/// What a collector waits for.
#[derive(Clone, Debug)]
struct Condition {
    event: Event,
    id: ComponentId,
    with: Vec<ComponentId>,
    without: Vec<ComponentId>,
}

/// The entities that something happened to.
struct Gathered {
    handle: Collector,
    conditions: Vec<Condition>,
    /// In the order of the first event.
    entities: Vec<Entity>,
    /// By index and generation: how many entities collectors had recorded before.
    seen: NumberMap<(u32, u32), u64>,
}

/// The collectors of a world.
#[derive(Default)]
pub(super) struct Collectors {
    list: Vec<Gathered>,
}

impl Collectors {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tells what is waited for.
    pub(super) fn look(&self, mut each: impl FnMut(Event, ComponentId)) {
        for condition in self.list.iter().flat_map(|gathered| &gathered.conditions) {
            each(condition.event, condition.id);
        }
    }

    /// Makes room for so many more entities in each.
    pub(super) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        for gathered in &mut self.list {
            try_room(&mut gathered.entities, count)?;
            try_map_room(&mut gathered.seen, count)?;
        }
        Ok(())
    }

    /// Records a change, and counts in `recorded` what is recorded. `has` says whether its row has a component. There is room
    /// for it.
    pub(super) fn record(&mut self, note: &Note, recorded: &mut u64, has: impl Fn(ComponentId) -> bool) {
        for gathered in &mut self.list {
            let meets = gathered.conditions.iter().any(|condition| {
                condition.event == note.event
                    && condition.id == note.id
                    && condition.with.iter().all(|id| has(*id))
                    && !condition.without.iter().any(|id| has(*id))
            });
            let name = name(note.entity);
            // Not inserted at once: a map makes room for one more before it finds that the key is there.
            if meets && !gathered.seen.contains_key(&name) {
                gathered.seen.insert(name, *recorded);
                gathered.entities.push(note.entity);
                *recorded += 1;
            }
        }
    }

    /// Removes what was recorded when so many had been, and later.
    pub(super) fn forget_since(&mut self, recorded: u64) {
        for Gathered { entities, seen, .. } in &mut self.list {
            // The later ones come last.
            while let Some(name) = entities.last().copied().map(name)
                && seen.get(&name).is_none_or(|before| *before >= recorded)
            {
                seen.remove(&name);
                entities.pop();
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let each = |gathered: &Gathered| {
            gathered.entities.capacity() * size_of::<Entity>()
                + gathered.seen.capacity() * size_of::<((u32, u32), u64)>()
        };
        self.list.capacity() * size_of::<Gathered>() + self.list.iter().map(each).sum::<usize>()
    }
}

/// Returns the index and the generation of an entity.
fn name(entity: Entity) -> (u32, u32) {
    (entity.index(), entity.generation())
}

/// Says what a collector waits for: [`World::collector`]. An entity is collected when one of the conditions is met.
pub struct CollectorBuilder<'w> {
    world: &'w mut World,
    conditions: Vec<Condition>,
}

impl CollectorBuilder<'_> {
    fn on<C: Component>(mut self, event: Event) -> Self {
        let id = self.world.register::<C>();
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
        let id = self.world.register::<D>();
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
        let id = self.world.register::<D>();
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
        let state = self.world.storage.signals.state();
        for condition in &self.conditions {
            had(state.try_cover(condition.id));
        }
        let (entities, seen) = (Vec::new(), NumberMap::default());
        state.collectors.list.push(Gathered { handle, conditions: self.conditions, entities, seen });
        state.look();
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
        let Some(state) = &mut self.storage.signals.state else { return Vec::new() };
        match state.collectors.list.iter_mut().find(|gathered| gathered.handle == collector) {
            Some(gathered) => {
                gathered.seen.clear();
                core::mem::take(&mut gathered.entities)
            }
            None => Vec::new(),
        }
    }

    /// Drops a collector. Whether the world had it.
    pub fn drop_collector(&mut self, collector: Collector) -> bool {
        let Some(state) = &mut self.storage.signals.state else { return false };
        let before = state.collectors.list.len();
        state.collectors.list.retain(|gathered| gathered.handle != collector);
        let found = state.collectors.list.len() < before;
        state.look();
        self.rest();
        found
    }
}
