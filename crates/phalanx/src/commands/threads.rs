//! Commands from several threads, in an order that no thread decides.

use super::{CommandBuffer, CommandError};
use crate::world::World;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Collects command buffers from several threads, to be carried out by key and sequence, whoever came first.
///
/// ```
/// use phalanx::{CommandQueue, CommandBuffer, Component, World};
///
/// #[derive(Component)]
/// struct Rank(u32);
///
/// let mut world = World::new();
/// let mut queue = CommandQueue::new();
/// std::thread::scope(|scope| {
///     for rank in (0..4).rev() {
///         let queue = &queue;
///         scope.spawn(move || {
///             let mut commands = CommandBuffer::new();
///             commands.spawn_later(Rank(rank));
///             queue.submit(rank, 0, commands).unwrap();
///         });
///     }
/// });
/// queue.apply(&mut world)?;
/// assert!(world.query::<&Rank>().iter().map(|rank| rank.0).eq(0..4));
/// # Ok::<(), phalanx::QueueError<u32>>(())
/// ```
///
/// The entities of [`CommandBuffer::spawn`] depend on who reserved first, unless they were put aside before the threads
/// started ([`CommandBuffer::reserve_entities`]); those of [`CommandBuffer::spawn_later`] never do.
#[derive(Debug)]
pub struct CommandQueue<K> {
    parts: Mutex<BTreeMap<(K, u64), CommandBuffer>>,
}

impl<K> Default for CommandQueue<K> {
    fn default() -> Self {
        CommandQueue { parts: Mutex::new(BTreeMap::new()) }
    }
}

/// Commands that were refused because others have the same key and sequence: their order would depend on the threads.
#[derive(Debug)]
pub struct TakenKey<K> {
    /// The key.
    pub key: K,
    /// The number in the sequence.
    pub sequence: u64,
    /// The commands that were refused.
    pub commands: Box<CommandBuffer>,
}

impl<K: fmt::Debug> fmt::Display for TakenKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commands were submitted already as number {} of {:?}", self.sequence, self.key)
    }
}

impl<K: fmt::Debug> core::error::Error for TakenKey<K> {}

/// A command of a queue that could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueError<K> {
    /// The key of its buffer.
    pub key: K,
    /// The number of its buffer.
    pub sequence: u64,
    /// Its position in the buffer, and why.
    pub error: CommandError,
}

impl<K: fmt::Debug> fmt::Display for QueueError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {} of {:?}, {}", self.sequence, self.key, self.error)
    }
}

impl<K: fmt::Debug> core::error::Error for QueueError<K> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<K: Ord> CommandQueue<K> {
    /// A queue without commands.
    pub fn new() -> CommandQueue<K> {
        CommandQueue::default()
    }

    /// Adds commands, from any thread.
    ///
    /// # Errors
    ///
    /// The commands, if others were submitted under this key and number.
    pub fn submit(&self, key: K, sequence: u64, commands: CommandBuffer) -> Result<(), TakenKey<K>> {
        // Whoever panicked under the lock did so in a comparison of keys, which leaves the map whole.
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (key, sequence);
        if parts.contains_key(&place) {
            return Err(TakenKey { key: place.0, sequence, commands: Box::new(commands) });
        }
        parts.insert(place, commands);
        Ok(())
    }

    /// How many buffers there are.
    pub fn len(&self) -> usize {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All commands as one buffer, in order, and where each of the buffers ends in it.
    fn merge(&mut self) -> (CommandBuffer, Vec<(usize, K, u64)>) {
        let parts = core::mem::take(self.parts.get_mut().unwrap_or_else(PoisonError::into_inner));
        let (mut all, mut ends) = (CommandBuffer::new(), Vec::with_capacity(parts.len()));
        for ((key, sequence), mut commands) in parts {
            all.append(&mut commands);
            ends.push((all.len(), key, sequence));
        }
        (all, ends)
    }

    /// Carries out all commands, by key and sequence, as if they had been recorded in one buffer: segments reach across
    /// the buffers' ends. The queue is empty then.
    ///
    /// # Errors
    ///
    /// The first command that could not be carried out, as in [`CommandBuffer::apply`].
    ///
    /// # Panics
    ///
    /// As [`CommandBuffer::apply`].
    pub fn apply(&mut self, world: &mut World) -> Result<(), QueueError<K>> {
        let (mut commands, mut ends) = self.merge();
        commands.apply(world).map_err(|error| {
            let (at, start) = part_of(&ends, error.position);
            let (_, key, sequence) = ends.swap_remove(at);
            QueueError { key, sequence, error: CommandError { position: error.position - start, ..error } }
        })
    }

    /// Carries out all commands that can be, by key and sequence; the others are skipped and reported with the key and the
    /// number of their buffer, as in [`CommandBuffer::apply_lossy`]. The queue is empty then.
    ///
    /// # Panics
    ///
    /// As [`CommandBuffer::apply_lossy`].
    pub fn apply_lossy(&mut self, world: &mut World, mut report: impl FnMut(QueueError<&K>)) {
        let (mut commands, ends) = self.merge();
        commands.apply_lossy(world, |error| {
            let (at, start) = part_of(&ends, error.position);
            let (_, key, sequence) = &ends[at];
            let error = CommandError { position: error.position - start, ..error };
            report(QueueError { key, sequence: *sequence, error });
        });
    }
}

/// The buffer that a position lies in, and where it starts.
fn part_of<K>(ends: &[(usize, K, u64)], position: usize) -> (usize, usize) {
    let at = ends.partition_point(|(end, ..)| *end <= position);
    (at, at.checked_sub(1).map_or(0, |before| ends[before].0))
}
