//! [`Events`]: the events of one type, and the positions of their readers.
//!
//! # Representation
//!
//! The event with number `n` is at `log[n - first]`. Events before `log[start]` are discarded, and are dropped when memory is
//! needed. A reader has read all events with a number below its cursor.

use super::{Event, HeldReader};
use crate::alloc::{try_reserve, try_vec};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::AllocError;
use std::sync::{Arc, Weak};

/// The events of one type that readers have still to read. It is a resource of the world.
///
/// [`World::events_mut`](crate::World::events_mut) returns it, and so does `ResMut<Events<E>>` in a system.
///
/// With the feature `snapshot`, it can be registered as a resource, so that events are saved with the world, and with them
/// the positions of the readers of schedules:
///
#[cfg_attr(feature = "snapshot", doc = "```")]
#[cfg_attr(not(feature = "snapshot"), doc = "```ignore")]
/// use phalanx::event::Events;
/// use phalanx::snapshot::Registry;
/// use phalanx::Event;
///
/// #[derive(Event, serde::Serialize, serde::Deserialize)]
/// struct Hit(u32);
///
/// let mut registry = Registry::new();
/// registry.serde_resource::<Events<Hit>>("hits")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Messages")]
#[doc(alias = "dispatcher")]
pub struct Events<E> {
    log: Vec<E>,
    start: usize,
    first: u64,
    readers: Vec<Reader>,
}

/// A reader: its key, and the number of the next event that it reads.
struct Reader {
    key: ReaderKey,
    cursor: AtomicU64,
    missed: AtomicU64,
}

/// The key of a reader.
#[derive(Clone)]
pub(super) enum ReaderKey {
    /// A reader of a system in a schedule, by its path.
    System(Arc<str>),
    /// A reader that exists as long as its [`HeldReader`].
    Held(Weak<()>),
}

impl ReaderKey {
    fn is_same(&self, other: &ReaderKey) -> bool {
        match (self, other) {
            (ReaderKey::System(a), ReaderKey::System(b)) => a == b,
            (ReaderKey::Held(a), ReaderKey::Held(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    fn is_in_use(&self) -> bool {
        match self {
            ReaderKey::System(_) => true,
            ReaderKey::Held(held) => held.strong_count() > 0,
        }
    }
}

/// A reader of events, and how many events it has still to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderInfo<'a> {
    /// The schedule, system and parameter that reads, or `None` for a [`HeldReader`].
    pub system: Option<&'a str>,
    /// The number of events that it has still to read.
    pub unread: usize,
}

/// A reader of a system, as it is saved.
pub(super) struct SavedReader<'a> {
    pub(super) path: &'a str,
    pub(super) cursor: u64,
    pub(super) missed: u64,
}

impl<E> Events<E> {
    /// Creates a channel with events, of which the first has this number.
    pub(super) fn with_log(first: u64, log: Vec<E>) -> Events<E> {
        Events { log, start: 0, first, readers: Vec::new() }
    }

    /// Returns the position in the log of the first event that is kept: that a reader has still to read, and was not discarded.
    ///
    /// Events before it are dropped when memory is needed, which depends on the capacity of the log. So they are not part of the
    /// state: they are neither shown nor saved.
    fn kept_from(&self) -> usize {
        let in_use = self.readers.iter().filter(|reader| reader.key.is_in_use());
        let read = in_use.map(|reader| reader.cursor.load(Ordering::Relaxed)).min();
        let read = read.map_or(self.log.len(), |read| read.saturating_sub(self.first) as usize);
        read.max(self.start).min(self.log.len())
    }

    /// Returns the number of the first event that is kept.
    pub(super) fn first_number(&self) -> u64 {
        self.first + self.kept_from() as u64
    }

    /// Returns `true` if no number overflows later, and no reader has read events that were not sent.
    pub(super) fn has_valid_numbers(&self) -> bool {
        let end = self.first.checked_add(self.log.len() as u64).filter(|end| *end <= u64::MAX / 2);
        end.is_some_and(|end| self.readers.iter().all(|reader| reader.cursor.load(Ordering::Relaxed) <= end))
    }

    /// Returns the readers that are saved: those of systems.
    pub(super) fn saved_readers(&self) -> impl Iterator<Item = SavedReader<'_>> {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        self.readers.iter().filter_map(move |reader| match &reader.key {
            ReaderKey::System(path) => {
                Some(SavedReader { path, cursor: read(&reader.cursor), missed: read(&reader.missed) })
            }
            ReaderKey::Held(_) => None,
        })
    }

    /// Adds the readers that another channel has, and this one has not.
    pub(super) fn try_carry_readers(&mut self, other: &Events<E>) -> Result<(), AllocError> {
        let end = self.first + self.log.len() as u64;
        for reader in other.readers.iter().filter(|reader| reader.key.is_in_use()) {
            if self.readers.iter().any(|own| own.key.is_same(&reader.key)) {
                continue;
            }
            // Numbers beyond the end are given to other events.
            let cursor = AtomicU64::new(reader.cursor.load(Ordering::Relaxed).min(end));
            let missed = AtomicU64::new(reader.missed.load(Ordering::Relaxed));
            try_reserve(&mut self.readers, 1)?;
            self.readers.push(Reader { key: reader.key.clone(), cursor, missed });
        }
        Ok(())
    }

    /// Adds a reader that was saved.
    pub(super) fn try_add_reader(&mut self, saved: SavedReader<'_>) -> Result<(), AllocError> {
        try_reserve(&mut self.readers, 1)?;
        let (key, missed) = (ReaderKey::System(saved.path.into()), AtomicU64::new(saved.missed));
        self.readers.push(Reader { key, cursor: AtomicU64::new(saved.cursor), missed });
        Ok(())
    }
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Events { log: Vec::new(), start: 0, first: 0, readers: Vec::new() }
    }
}

impl<E: Event> Events<E> {
    /// Sends an event. It is dropped at once if there are no readers.
    #[inline]
    pub fn send(&mut self, event: E) {
        if self.log.len() < self.log.capacity() && !self.readers.is_empty() {
            self.log.push(event);
            self.limit();
        } else {
            self.send_slow(event);
        }
    }

    /// Sends an event if memory is needed or there are no readers.
    #[cold]
    #[inline(never)]
    fn send_slow(&mut self, event: E) {
        self.drop_read();
        if !self.readers.is_empty() {
            self.log.push(event);
            self.limit();
        }
    }

    /// Sends all events of a list, which is emptied.
    pub fn send_all(&mut self, events: &mut Vec<E>) {
        if events.is_empty() {
            return;
        }
        if self.log.capacity() - self.log.len() < events.len() {
            self.drop_read();
        }
        match self.readers.is_empty() {
            true => events.clear(),
            false if self.log.is_empty() => core::mem::swap(&mut self.log, events),
            false => self.log.append(events),
        }
        self.limit();
    }

    /// Discards events beyond the largest number that is kept.
    fn limit(&mut self) {
        self.start = self.start.max(self.log.len().saturating_sub(E::MAX));
    }

    /// Drops the events that are discarded, and those that all readers have read.
    #[cold]
    fn drop_read(&mut self) {
        self.readers.retain(|reader| reader.key.is_in_use());
        let count = self.kept_from();
        self.first += count as u64;
        self.start = 0;
        // Destructors may panic. By now the events are not counted.
        self.log.drain(..count);
    }

    /// Discards all events. Their destructors run later, when memory is needed.
    pub(super) fn discard(&mut self) {
        self.start = self.log.len();
    }

    /// Drops all events that readers have not read yet.
    pub fn clear(&mut self) {
        self.discard();
        self.drop_read();
    }

    /// Returns the number of the next event.
    fn end(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// Returns the events that at least one reader has still to read, oldest first.
    pub fn as_slice(&self) -> &[E] {
        &self.log[self.kept_from()..]
    }

    /// Returns the readers, in the order of their creation.
    ///
    /// ```
    /// use phalanx::{Event, World};
    ///
    /// #[derive(Event)]
    /// struct Hit(u32);
    ///
    /// let mut world = World::new();
    /// let _reader = world.event_reader::<Hit>();
    /// world.send(Hit(1));
    /// assert_eq!(world.events_mut::<Hit>().readers().next().map(|reader| reader.unread), Some(1));
    /// ```
    pub fn readers(&self) -> impl Iterator<Item = ReaderInfo<'_>> {
        self.readers.iter().filter(|reader| reader.key.is_in_use()).map(|reader| ReaderInfo {
            system: match &reader.key {
                ReaderKey::System(path) => Some(path),
                ReaderKey::Held(_) => None,
            },
            unread: self.unread(reader).len(),
        })
    }

    fn unread(&self, reader: &Reader) -> &[E] {
        let read = reader.cursor.load(Ordering::Relaxed).saturating_sub(self.first) as usize;
        &self.log[read.max(self.start).min(self.log.len())..]
    }

    /// Returns the number of the reader with a key. It is created if there is none.
    pub(super) fn reader(&mut self, key: &ReaderKey) -> usize {
        self.readers.iter().position(|reader| reader.key.is_same(key)).unwrap_or_else(|| {
            self.readers.retain(|reader| reader.key.is_in_use());
            let (cursor, missed) = (AtomicU64::new(self.end()), AtomicU64::new(0));
            self.readers.push(Reader { key: key.clone(), cursor, missed });
            self.readers.len() - 1
        })
    }

    /// Returns the number of the reader with a key, which was `hint` before.
    pub(super) fn find_reader(&self, key: &ReaderKey, hint: usize) -> Option<usize> {
        match self.readers.get(hint) {
            Some(reader) if reader.key.is_same(key) => Some(hint),
            _ => self.readers.iter().position(|reader| reader.key.is_same(key)),
        }
    }

    /// Returns the events that a reader has still to read, and marks them as read.
    pub(super) fn read(&self, reader: usize) -> &[E] {
        let reader = &self.readers[reader];
        let unread = self.unread(reader);
        let oldest = self.end() - unread.len() as u64;
        let missed = oldest.saturating_sub(reader.cursor.load(Ordering::Relaxed));
        if missed > 0 {
            reader.missed.fetch_add(missed, Ordering::Relaxed);
        }
        reader.cursor.store(self.end(), Ordering::Relaxed);
        unread
    }

    /// Returns the number of events that a reader has still to read.
    pub(super) fn unread_count(&self, reader: usize) -> usize {
        self.unread(&self.readers[reader]).len()
    }

    /// Returns the number of events that were discarded before a reader has read them.
    pub(super) fn missed(&self, reader: usize) -> u64 {
        self.readers[reader].missed.load(Ordering::Relaxed)
    }

    pub(super) fn hold_reader(&mut self) -> HeldReader<E> {
        let held = Arc::new(());
        let key = ReaderKey::Held(Arc::downgrade(&held));
        let hint = self.reader(&key);
        HeldReader::new(held, key, hint)
    }

    /// Returns a copy, with clones of the events.
    pub(super) fn try_clone_with(&self, clone: fn(&E) -> E) -> Result<Events<E>, AllocError> {
        let kept = self.as_slice();
        let (mut log, mut readers) = (try_vec(kept.len())?, Vec::new());
        try_reserve(&mut readers, self.readers.len())?;
        log.extend(kept.iter().map(clone));
        readers.extend(self.readers.iter().filter(|reader| reader.key.is_in_use()).map(|reader| {
            let copy = |value: &AtomicU64| AtomicU64::new(value.load(Ordering::Relaxed));
            Reader { key: reader.key.clone(), cursor: copy(&reader.cursor), missed: copy(&reader.missed) }
        }));
        Ok(Events { log, start: 0, first: self.first_number(), readers })
    }
}

impl<E> fmt::Debug for Events<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (events, readers) = (self.log.len() - self.kept_from(), self.readers.len());
        write!(f, "Events<{}>({events} kept, {readers} readers)", core::any::type_name::<E>())
    }
}

#[cfg(feature = "snapshot")]
mod serial {
    //! The serde form: the number of the first event, the events, and the path and position of each reader of a schedule.

    use super::{Events, SavedReader};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl<E: Serialize> Serialize for Events<E> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let readers: Vec<(&str, u64, u64)> =
                self.saved_readers().map(|reader| (reader.path, reader.cursor, reader.missed)).collect();
            (self.first_number(), &self.log[self.kept_from()..], readers).serialize(serializer)
        }
    }

    impl<'de, E: Deserialize<'de>> Deserialize<'de> for Events<E> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (first, log, list) = <(u64, Vec<E>, Vec<(String, u64, u64)>)>::deserialize(deserializer)?;
            let mut events = Events::with_log(first, log);
            for (path, cursor, missed) in &list {
                let (cursor, missed) = (*cursor, *missed);
                events.try_add_reader(SavedReader { path, cursor, missed }).map_err(D::Error::custom)?;
            }
            match events.has_valid_numbers() {
                true => Ok(events),
                false => Err(D::Error::custom("a reader that has read events which were not sent, or too many events")),
            }
        }
    }
}
