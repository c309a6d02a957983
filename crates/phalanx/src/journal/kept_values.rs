//! [`ValueCollectorState`]: a collector that keeps clones of the values that events have displaced.
//!
//! What meets a condition is decided while an operation is committed, like in other collectors. The values are cloned when its
//! events are dispatched, before listeners are called: a clone is user code, and the displaced values are still there.
#![allow(unsafe_code)]

use super::collectors::Condition;
use super::{Event, JournalEntry, ValuePtr};
use crate::alloc::{try_box, try_reserve, try_vec};
use crate::component::Component;
use crate::layout::Layout;
use crate::rows::Key;
use core::any::Any;
use core::borrow::Borrow;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// What has happened to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It was added to a row that did not have it.
    Added,
    /// It was replaced, or changed by [`World::patch`](crate::World::patch).
    Set,
    /// It was removed from a row.
    Removed,
}

impl Change {
    /// Returns the change of an event of a component.
    pub(crate) fn of(event: Event) -> Change {
        match event {
            Event::Added => Change::Added,
            Event::Set => Change::Set,
            _ => Change::Removed,
        }
    }
}

/// A clone of a value that was replaced, patched or removed: what a [`ValueCollector`](crate::signal::ValueCollector) keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastValue<C> {
    /// The entity that the row belongs to. It may have been despawned.
    pub entity: Entity,
    /// What has happened: [`Set`](Change::Set) or [`Removed`](Change::Removed).
    pub change: Change,
    /// The value before that.
    pub value: C,
    key: Key,
}

impl<C> PastValue<C> {
    /// Returns the key of the row, which is the main row or an extra row.
    pub fn key(&self) -> Key {
        self.key
    }
}

/// A collector of values.
pub(crate) struct ValueCollectorState {
    pub(crate) id: u64,
    pub(crate) conditions: Vec<Condition>,
    /// The entries of the present operation whose displaced values are to be cloned. With each, how many entities all collectors
    /// had collected before.
    pub(super) wanted: Vec<(u32, u64)>,
    pub(crate) values: Box<dyn KeptValues>,
}

impl ValueCollectorState {
    /// Returns a collector of values of `C`, whose conditions are all about `C`.
    pub(crate) fn new<C: Component + Clone>(id: u64, conditions: Vec<Condition>) -> ValueCollectorState
    where
        for<'a> <C::Layout as Layout<C>>::Ref<'a>: Borrow<C>,
    {
        ValueCollectorState { id, conditions, wanted: Vec::new(), values: Box::new(Values::<C>::default()) }
    }

    /// Returns `true` if the collector keeps values that are set.
    pub(super) fn keeps_set(&self, id: crate::component::ComponentId) -> bool {
        self.conditions.iter().any(|condition| condition.event == Event::Set && condition.id == id)
    }

    /// Reserves capacity for more values.
    pub(super) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        try_reserve(&mut self.wanted, count)?;
        self.values.try_reserve(count)
    }

    /// Clones the values of the wanted entries. Goes on after a panic, and returns the first one.
    ///
    /// # Safety
    ///
    /// The entries are those of the present operation, whose displaced values are not dropped yet.
    pub(crate) unsafe fn keep(&mut self, entries: &[JournalEntry]) -> std::thread::Result<()> {
        let mut outcome = Ok(());
        for (at, number) in self.wanted.drain(..) {
            let values = &mut self.values;
            // SAFETY: the entry met a condition, so it is of the component. Its displaced value is there, by the caller's
            // contract.
            let keep = || unsafe { values.keep(&entries[at as usize], number) };
            // A clone that panics changes nothing.
            let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(keep));
            match (&outcome, kept) {
                (Ok(()), kept) => outcome = kept,
                // The destructor of the payload may panic.
                (Err(_), Err(panic)) => core::mem::forget(panic),
                (Err(_), Ok(())) => {}
            }
        }
        outcome
    }
}

/// The values of one component that a collector has kept, in order.
pub(crate) trait KeptValues: Send + Sync {
    /// Reserves capacity for more values.
    fn try_reserve(&mut self, count: usize) -> Result<(), AllocError>;

    /// Clones the displaced value of an entry. For a value that was changed in place, takes the staged one. `number` is the count
    /// of collected entities before it. Capacity is reserved before.
    ///
    /// # Safety
    ///
    /// The entry is of the component, and its displaced value is there.
    unsafe fn keep(&mut self, entry: &JournalEntry, number: u64);

    /// Clones a value that is about to be changed in place.
    ///
    /// # Safety
    ///
    /// There is a value of the component, which is not written during the call.
    unsafe fn stage(&mut self, value: ValuePtr);

    /// Returns an empty list with capacity for the values that were kept since the count of collected entities was `collected`.
    fn try_list_since(&self, collected: u64) -> Result<Box<dyn KeptValues>, AllocError>;

    /// Moves the values that were kept since the count of collected entities was `collected` to another list of the same
    /// component. Capacity is reserved there.
    fn move_since(&mut self, collected: u64, to: &mut dyn KeptValues);

    /// Returns the bytes held from the allocator, without what values hold themselves.
    fn bytes(&self) -> usize;

    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl fmt::Debug for dyn KeptValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptValues({} bytes)", self.bytes())
    }
}

/// The kept values of `C`.
pub(crate) struct Values<C> {
    list: Vec<PastValue<C>>,
    /// For each value, how many entities all collectors had collected before.
    numbers: Vec<u64>,
    /// A clone of a value that is being changed in place.
    staged: Option<C>,
}

impl<C> Default for Values<C> {
    fn default() -> Self {
        Values { list: Vec::new(), numbers: Vec::new(), staged: None }
    }
}

impl<C> Values<C> {
    /// Returns all values, and empties the list.
    pub(crate) fn take(&mut self) -> Vec<PastValue<C>> {
        self.numbers.clear();
        core::mem::take(&mut self.list)
    }

    /// Returns the position of the first value that was kept since the count of collected entities was `collected`.
    fn first_since(&self, collected: u64) -> usize {
        self.numbers.partition_point(|number| *number < collected)
    }
}

impl<C: Component + Clone> KeptValues for Values<C>
where
    for<'a> <C::Layout as Layout<C>>::Ref<'a>: Borrow<C>,
{
    fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        try_reserve(&mut self.list, count)?;
        try_reserve(&mut self.numbers, count)
    }

    unsafe fn keep(&mut self, entry: &JournalEntry, number: u64) {
        let value = match entry.old {
            ValuePtr::None => self.staged.take(),
            // SAFETY: there is a value of `C`, by the caller's contract.
            old => unsafe { old.get::<C>() }.map(|value| value.borrow().clone()),
        };
        if let Some(value) = value {
            let (entity, key, change) = (entry.entity, entry.key(), Change::of(entry.event));
            debug_assert!(self.list.len() < self.list.capacity(), "values are reserved");
            self.list.push(PastValue { entity, change, value, key });
            self.numbers.push(number);
        }
    }

    unsafe fn stage(&mut self, value: ValuePtr) {
        // SAFETY: there is a value of `C`, by the caller's contract.
        let value = unsafe { value.get::<C>() }.map(|value| value.borrow().clone());
        // One that is still there is of a change that has panicked.
        drop(core::mem::replace(&mut self.staged, value));
    }

    fn try_list_since(&self, collected: u64) -> Result<Box<dyn KeptValues>, AllocError> {
        let list: Vec<PastValue<C>> = try_vec(self.list.len() - self.first_since(collected))?;
        Ok(try_box(Values { list, numbers: Vec::new(), staged: None })?)
    }

    fn move_since(&mut self, collected: u64, to: &mut dyn KeptValues) {
        let first = self.first_since(collected);
        self.numbers.truncate(first);
        match to.as_any_mut().downcast_mut::<Values<C>>() {
            Some(to) => to.list.extend(self.list.drain(first..)),
            None => unreachable!("a list of the same component"),
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.list.capacity() * size_of::<PastValue<C>>()
            + self.numbers.capacity() * size_of::<u64>()
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
