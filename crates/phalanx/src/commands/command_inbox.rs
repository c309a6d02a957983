//! [`CommandInbox`]: commands from several threads, in an order that does not depend on the threads.

use super::apply_report::write_counts;
use super::{ApplyReport, CommandBuffer, CommandError};
use crate::world::World;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Collects command buffers from several threads, and applies them by key and sequence number.
///
/// The order in which the threads submit them does not matter.
///
/// ```
/// use phalanx::{CommandInbox, CommandBuffer, Component, World};
///
/// #[derive(Component)]
/// struct Rank(u32);
///
/// let mut world = World::new();
/// let mut inbox = CommandInbox::new();
/// std::thread::scope(|scope| {
///     for rank in (0..4).rev() {
///         let inbox = &inbox;
///         scope.spawn(move || {
///             let mut commands = CommandBuffer::new();
///             commands.spawn(Rank(rank));
///             inbox.submit(rank, 0, commands).unwrap();
///         });
///     }
/// });
/// assert!(inbox.apply(&mut world).is_complete());
/// assert!(world.query::<&Rank>().iter().map(|rank| rank.0).eq(0..4));
/// ```
///
/// The entities of [`CommandBuffer::spawn_with`] depend on which thread reserves first, unless they were reserved before the
/// threads started, by [`CommandBuffer::reserve_entities`]. Those of [`CommandBuffer::spawn`] never do.
#[derive(Debug)]
#[doc(alias = "CommandQueue")]
pub struct CommandInbox<K> {
    parts: Mutex<BTreeMap<(K, u64), CommandBuffer>>,
}

impl<K> Default for CommandInbox<K> {
    fn default() -> Self {
        CommandInbox { parts: Mutex::new(BTreeMap::new()) }
    }
}

/// Commands that were refused because others have the same key and sequence number.
///
/// Their order would depend on the threads.
#[derive(Debug)]
pub struct DuplicateKey<K> {
    /// The key.
    pub key: K,
    /// The sequence number.
    pub sequence: u64,
    /// The commands that were refused.
    pub commands: Box<CommandBuffer>,
}

impl<K: fmt::Debug> fmt::Display for DuplicateKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commands were submitted already as number {} of {:?}", self.sequence, self.key)
    }
}

impl<K: fmt::Debug> core::error::Error for DuplicateKey<K> {}

/// A command of an inbox that was not executed, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxError<K> {
    /// The key of its buffer.
    pub key: K,
    /// The sequence number of its buffer.
    pub sequence: u64,
    /// The command, with its position in that buffer.
    pub error: CommandError,
}

impl<K: fmt::Debug> fmt::Display for InboxError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {} of {:?}, {}", self.sequence, self.key, self.error)
    }
}

impl<K: fmt::Debug> core::error::Error for InboxError<K> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<K: Ord> CommandInbox<K> {
    /// Creates an inbox without commands.
    pub fn new() -> CommandInbox<K> {
        CommandInbox::default()
    }

    /// Adds a buffer of commands, from any thread.
    ///
    /// # Errors
    ///
    /// Returns [`DuplicateKey`] with the commands if others were submitted under this key and sequence number.
    pub fn submit(&self, key: K, sequence: u64, commands: CommandBuffer) -> Result<(), DuplicateKey<K>> {
        // Only a comparison of keys can panic under the lock, which leaves the map consistent.
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (key, sequence);
        if parts.contains_key(&at) {
            return Err(DuplicateKey { key: at.0, sequence, commands: Box::new(commands) });
        }
        parts.insert(at, commands);
        Ok(())
    }

    /// Returns the number of buffers.
    pub fn len(&self) -> usize {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns `true` if there are no buffers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all commands as one buffer, in order, and where each of the buffers ends in it.
    fn merge(&mut self) -> (CommandBuffer, Parts<K>) {
        let parts = core::mem::take(self.parts.get_mut().unwrap_or_else(PoisonError::into_inner));
        let (mut all, mut ends) = (CommandBuffer::new(), Vec::with_capacity(parts.len()));
        for ((key, sequence), mut commands) in parts {
            all.append(&mut commands);
            ends.push((all.len(), key, sequence));
        }
        (all, Parts(ends))
    }

    /// Executes all commands by key and sequence, skips those that cannot be executed, and empties the inbox.
    ///
    /// The commands are executed like those of one buffer, in which segments reach across the ends of the submitted
    /// buffers: see [`CommandBuffer::apply`].
    ///
    /// # Panics
    ///
    /// Panics like [`CommandBuffer::apply`].
    pub fn apply(&mut self, world: &mut World) -> InboxReport<K> {
        let (mut commands, parts) = self.merge();
        InboxReport { report: commands.apply(world), parts }
    }

    /// Executes all commands by key and sequence, stops at the first segment with a command that cannot be executed, and
    /// empties the inbox.
    ///
    /// The commands are executed like those of one buffer, in which segments reach across the ends of the submitted
    /// buffers: see [`CommandBuffer::try_apply`].
    ///
    /// # Errors
    ///
    /// Returns the first command that cannot be executed, like [`CommandBuffer::try_apply`].
    ///
    /// # Panics
    ///
    /// Panics like [`CommandBuffer::apply`].
    pub fn try_apply(&mut self, world: &mut World) -> Result<(), InboxError<K>> {
        let (mut commands, mut parts) = self.merge();
        commands.try_apply(world).map_err(|error| {
            let (at, error) = parts.buffer_of(error);
            let (_, key, sequence) = parts.0.swap_remove(at);
            InboxError { key, sequence, error }
        })
    }
}

/// The buffers that were merged into one: where each ends, its key and its sequence number.
#[derive(Clone, Debug)]
struct Parts<K>(Vec<(usize, K, u64)>);

impl<K> Parts<K> {
    /// Returns the number of the buffer that a command was recorded in, and the error with the position in that buffer.
    fn buffer_of(&self, error: CommandError) -> (usize, CommandError) {
        let at = self.0.partition_point(|(end, ..)| *end <= error.position);
        let start = at.checked_sub(1).map_or(0, |before| self.0[before].0);
        (at, CommandError { position: error.position - start, ..error })
    }
}

/// The executed and skipped commands of an inbox, returned by [`CommandInbox::apply`].
#[derive(Clone, Debug)]
pub struct InboxReport<K> {
    report: ApplyReport,
    parts: Parts<K>,
}

impl<K> InboxReport<K> {
    /// Returns the number of commands that were executed.
    pub fn executed(&self) -> usize {
        self.report.executed()
    }

    /// Returns the commands that were skipped, by key, sequence and position.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = InboxError<&K>> + '_ {
        self.report.skipped().iter().map(|error| {
            let (at, error) = self.parts.buffer_of(*error);
            let (_, key, sequence) = &self.parts.0[at];
            InboxError { key, sequence: *sequence, error }
        })
    }

    /// Returns `true` if no command was skipped.
    pub fn is_complete(&self) -> bool {
        self.report.is_complete()
    }
}

/// Writes how many commands were executed, and each skipped command with its buffer and its reason.
impl<K: fmt::Debug> fmt::Display for InboxReport<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_counts(f, self.executed(), self.report.skipped().len())?;
        self.skipped().try_for_each(|skipped| write!(f, "\n{skipped}"))
    }
}
