//! [`ValueCollector`]: a collector of values that were replaced, patched or removed.

use super::deferred::stop_if_unused;
use super::observers::subscribe;
use super::{CollectorBuilder, PastValue};
use crate::component::Component;
use crate::journal::{Event, ValueCollectorState, Values};
use crate::layout::Layout;
use crate::world::World;
use core::any::type_name;
use core::borrow::Borrow;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

/// The handle of a collector that keeps the past values of a component, created by [`CollectorBuilder::keep_values`].
pub struct ValueCollector<C> {
    id: u64,
    component: PhantomData<fn() -> C>,
}

impl CollectorBuilder<'_> {
    /// Creates a collector that keeps the values that its conditions are about: the old value of each `set` and of each
    /// `removed`.
    ///
    /// The values are clones, because an operation may return the old value to its caller, or move it to another world. They are
    /// cloned when the operation has made all of its changes and before listeners are called, in the
    /// [order](crate::signal#order) of the events. A value that [`patch`](World::patch) changes in place is cloned before that.
    /// Nothing is cloned without such a collector. There is one value for each event, until it is
    /// [drained](ValueCollector::drain).
    ///
    /// If a clone panics, that value is not kept and no listener is called, as if a listener had panicked. All other
    /// values are kept.
    ///
    /// ```
    /// use phalanx::signal::Change;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Shield(u32);
    ///
    /// let mut world = World::new();
    /// let past = world.collector().set::<Shield>().removed::<Shield>().keep_values::<Shield>();
    /// let [ann, bob] = [world.spawn(Shield(1)), world.spawn(Shield(2))];
    /// world.insert(ann, Shield(5))?;
    /// world.patch::<Shield, _>(ann, |shield| shield.0 += 1)?;
    /// world.despawn(bob)?;
    /// let values = past.drain(&mut world);
    /// let seen = values.iter().map(|past| (past.entity, past.change, past.value.0));
    /// assert!(seen.eq([(ann, Change::Set, 1), (ann, Change::Set, 5), (bob, Change::Removed, 2)]));
    /// assert!(past.drain(&mut world).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Components that cannot be cloned have no such collector:
    ///
    /// ```compile_fail,E0277
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Handle(u32);
    ///
    /// World::new().collector().removed::<Handle>().keep_values::<Handle>();
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if there are no conditions, or if one of them is not `set::<C>()` or `removed::<C>()`.
    #[doc(alias = "track_all")]
    #[doc(alias = "removed_and_deleted")]
    #[doc(alias = "RemovedComponents")]
    #[doc(alias = "previous value")]
    #[track_caller]
    pub fn keep_values<C: Component + Clone>(self) -> ValueCollector<C>
    where
        for<'a> <C::Layout as Layout<C>>::Ref<'a>: Borrow<C>,
    {
        static COLLECTORS: AtomicU64 = AtomicU64::new(0);
        let component = self.component_id::<C>();
        let has_value = |event| matches!(event, Event::Set | Event::Removed);
        let mut conditions = self.conditions().iter();
        assert!(
            conditions.len() > 0 && conditions.all(|condition| condition.id == component && has_value(condition.event)),
            "a collector keeps values of {0} by `set::<{0}>()` and `removed::<{0}>()`",
            type_name::<C>()
        );
        let id = COLLECTORS.fetch_add(1, Ordering::Relaxed);
        self.connect(|collectors, conditions| collectors.values.push(ValueCollectorState::new::<C>(id, conditions)));
        ValueCollector { id, component: PhantomData }
    }
}

impl<C: Component> ValueCollector<C> {
    /// Returns the values that were kept, in order, and empties the collector.
    ///
    /// The list is empty if the world does not have the collector.
    pub fn drain(self, world: &mut World) -> Vec<PastValue<C>> {
        let recording = world.storage.journal.recording.as_deref_mut();
        let state = recording.and_then(|recording| recording.collectors.values_mut(self.id));
        state.and_then(|state| state.values.as_any_mut().downcast_mut::<Values<C>>()).map_or(Vec::new(), Values::take)
    }

    /// Removes the collector from its world, and drops its values. Returns `true` if the world had it.
    pub fn remove(self, world: &mut World) -> bool {
        let Some(recording) = &mut world.storage.journal.recording else { return false };
        let list = &mut recording.collectors.values;
        let removed = list.iter().position(|state| state.id == self.id).map(|at| list.remove(at));
        subscribe(recording, world.observers.as_deref());
        stop_if_unused(world);
        // Its values are dropped last: a destructor is user code.
        removed.is_some()
    }
}

impl<C> Clone for ValueCollector<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for ValueCollector<C> {}

impl<C> PartialEq for ValueCollector<C> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl<C> Eq for ValueCollector<C> {}

impl<C> fmt::Debug for ValueCollector<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValueCollector({}, {})", type_name::<C>(), self.id)
    }
}
