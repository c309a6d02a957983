//! [`ApplyReport`] and [`CommandError`]: which commands of a buffer were executed.

use crate::error::StructuralError;
use core::fmt;
use phalanx_store::Entity;

/// The kind of a recorded command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommandKind {
    /// [`CommandBuffer::spawn`](crate::CommandBuffer::spawn) and its variants.
    Spawn,
    /// [`CommandBuffer::insert`](crate::CommandBuffer::insert).
    Insert,
    /// [`CommandBuffer::remove`](crate::CommandBuffer::remove).
    Remove,
    /// [`CommandBuffer::despawn`](crate::CommandBuffer::despawn).
    Despawn,
    /// [`CommandBuffer::add_row`](crate::CommandBuffer::add_row).
    AddRow,
    /// [`CommandBuffer::insert_into_row`](crate::CommandBuffer::insert_into_row).
    InsertIntoRow,
    /// [`CommandBuffer::remove_from_row`](crate::CommandBuffer::remove_from_row).
    RemoveFromRow,
    /// [`CommandBuffer::remove_row`](crate::CommandBuffer::remove_row).
    RemoveRow,
    /// [`CommandBuffer::link`](crate::CommandBuffer::link) and its variants.
    Link,
    /// [`CommandBuffer::unlink`](crate::CommandBuffer::unlink).
    Unlink,
    /// [`CommandBuffer::set_name`](crate::CommandBuffer::set_name).
    SetName,
    /// [`CommandBuffer::remove_name`](crate::CommandBuffer::remove_name).
    RemoveName,
    /// [`CommandBuffer::queue`](crate::CommandBuffer::queue).
    Closure,
}

impl CommandKind {
    /// Returns `true` if the payload begins with the key of a row.
    pub(super) fn is_of_row(self) -> bool {
        use CommandKind::{AddRow, InsertIntoRow, RemoveFromRow, RemoveRow};
        matches!(self, AddRow | InsertIntoRow | RemoveFromRow | RemoveRow)
    }
}

/// Writes the name of the method that records the command.
impl fmt::Display for CommandKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CommandKind::Spawn => "spawn",
            CommandKind::Insert => "insert",
            CommandKind::Remove => "remove",
            CommandKind::Despawn => "despawn",
            CommandKind::AddRow => "add_row",
            CommandKind::InsertIntoRow => "insert_into_row",
            CommandKind::RemoveFromRow => "remove_from_row",
            CommandKind::RemoveRow => "remove_row",
            CommandKind::Link => "link",
            CommandKind::Unlink => "unlink",
            CommandKind::SetName => "set_name",
            CommandKind::RemoveName => "remove_name",
            CommandKind::Closure => "queue",
        })
    }
}

/// A command that was not executed, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandError {
    /// The position of the command in its buffer, counted from zero.
    ///
    /// If memory for a segment could not be allocated, it is the command that needed the most.
    pub position: usize,
    /// The kind of the command.
    pub command: CommandKind,
    /// The entity that the command names, if it names one.
    pub entity: Option<Entity>,
    /// The reason.
    pub error: StructuralError,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CommandError { position, command, entity, error } = self;
        match entity {
            Some(entity) => write!(f, "command {position} ({command}, {entity}): {error}"),
            None => write!(f, "command {position} ({command}): {error}"),
        }
    }
}

impl core::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The executed and skipped commands of a buffer, returned by [`CommandBuffer::apply`](crate::CommandBuffer::apply).
///
/// ```
/// use phalanx::commands::CommandKind;
/// use phalanx::{StructuralError, CommandBuffer, Component, World};
///
/// #[derive(Component)]
/// struct Shield(u32);
///
/// let mut world = World::new();
/// let [ann, bob] = [world.spawn_empty(), world.spawn_empty()];
/// world.despawn(bob)?;
/// let mut commands = CommandBuffer::new();
/// commands.insert(bob, Shield(3));
/// commands.insert(ann, Shield(3));
/// let report = commands.apply(&mut world);
/// assert_eq!(report.executed(), 1);
/// let [skipped] = report.skipped() else { panic!() };
/// assert_eq!((skipped.position, skipped.command, skipped.entity), (0, CommandKind::Insert, Some(bob)));
/// assert!(matches!(skipped.error, StructuralError::NoSuchEntity(_)));
/// println!("{report}");
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyReport {
    pub(super) executed: usize,
    pub(super) skipped: Vec<CommandError>,
}

impl ApplyReport {
    /// Returns the number of commands that were executed.
    ///
    /// A command that found nothing to do counts as executed, such as the removal of an absent component.
    pub fn executed(&self) -> usize {
        self.executed
    }

    /// Returns the commands that were skipped, by ascending position.
    pub fn skipped(&self) -> &[CommandError] {
        &self.skipped
    }

    /// Returns `true` if no command was skipped.
    pub fn is_complete(&self) -> bool {
        self.skipped.is_empty()
    }
}

/// Writes how many commands were executed, and each skipped command with its reason.
impl fmt::Display for ApplyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_counts(f, self.executed, self.skipped.len())?;
        self.skipped.iter().try_for_each(|skipped| write!(f, "\n{skipped}"))
    }
}

/// Writes how many commands were executed, and how many were skipped.
pub(super) fn write_counts(f: &mut fmt::Formatter<'_>, executed: usize, skipped: usize) -> fmt::Result {
    let s = if executed == 1 { "" } else { "s" };
    match skipped {
        0 => write!(f, "{executed} command{s} executed"),
        _ => write!(f, "{executed} command{s} executed, {skipped} skipped:"),
    }
}
