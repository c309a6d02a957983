//! [`Request`]: what a client can ask for.

use core::fmt;
use core::str::FromStr;
use phalanx::Entity;

/// What a client can ask for: [`Inspector::answer`](crate::Inspector::answer).
///
/// Components are named as in [text queries], by any unique ending of the name of their type.
///
/// [text queries]: https://docs.rs/phalanx/latest/phalanx/reflect/struct.TextQuery.html
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// Names, counts, and what the inspector can do.
    World,
    /// A page of the entities that match a query.
    Entities(EntitiesRequest),
    /// The number of entities that match a query.
    Count {
        /// The query.
        query: String,
        /// When.
        at: Moment,
    },
    /// All values of an entity.
    Entity {
        /// The entity.
        entity: Entity,
        /// When.
        at: Moment,
    },
    /// The tables and sparse stores, with their bytes.
    Tables {
        /// When.
        at: Moment,
    },
    /// The components, their fields, and the layout report.
    Components,
    /// The resources.
    Resources,
    /// The groups.
    Groups,
    /// The systems and the last run.
    Systems,
    /// The samples of all plots from a frame on.
    Plots {
        /// The first frame.
        since: u64,
    },
    /// What differs between two moments.
    Compare {
        /// The first moment.
        before: Moment,
        /// The second moment.
        after: Moment,
        /// The number of differences to list.
        limit: usize,
    },
    /// A snapshot, as a file.
    Snapshot,
    /// Sets a field of a component.
    Edit {
        /// The entity.
        entity: Entity,
        /// The component.
        component: String,
        /// The path of the field, such as `at.x`. If it is empty, the value is the whole component in JSON.
        field: String,
        /// The new value.
        value: String,
    },
    /// Inserts a component.
    Insert {
        /// The entity.
        entity: Entity,
        /// The component.
        component: String,
        /// The value in JSON. Without one, all bytes of the value are zero.
        value: Option<String>,
    },
    /// Removes a component.
    Remove {
        /// The entity.
        entity: Entity,
        /// The component.
        component: String,
    },
    /// Despawns entities.
    Despawn {
        /// The entities.
        entities: Vec<Entity>,
    },
    /// Sets or removes the name of an entity.
    Rename {
        /// The entity.
        entity: Entity,
        /// The new name.
        name: Option<String>,
    },
    /// Takes the last edit back.
    Undo,
    /// Pauses the program.
    Pause,
    /// Lets the program go on.
    Resume,
    /// Lets the program make some frames, and pauses it.
    Step {
        /// The number of frames.
        frames: u32,
    },
    /// Returns the world to an earlier frame. Later frames are lost.
    Rewind {
        /// The frame.
        frame: u64,
    },
    /// Keeps a copy of the world, to be compared later.
    Keep,
    /// Loads a snapshot by the registry, and keeps it as a copy. The world is unchanged.
    Load {
        /// The name of the file, to be shown.
        name: String,
        /// The snapshot.
        bytes: Vec<u8>,
    },
    /// Drops a copy.
    Forget {
        /// Its number.
        copy: u32,
    },
    /// Runs an action of the program.
    Act {
        /// The name of the action.
        name: String,
    },
}

/// A page of entities: [`Request::Entities`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntitiesRequest {
    /// The query.
    pub query: String,
    /// The number of the first row.
    pub from: usize,
    /// The number of rows, at most 1,000.
    pub count: usize,
    /// The columns, as components or fields (`Health.hp`). If there are none, they are those of the query.
    pub columns: Vec<String>,
    /// Whether the scan is made in one go, so that it cannot be torn. It ends after 100 ms in any case.
    pub exact: bool,
    /// When.
    pub at: Moment,
}

/// A state of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Moment {
    /// The world as it is.
    #[default]
    Now,
    /// A frame of the timeline.
    Frame(u64),
    /// A frame of the timeline, by the number of frames between it and the last one when the request is answered.
    Back(u64),
    /// A copy that was kept.
    Copy(u32),
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Now => f.write_str("now"),
            Moment::Frame(frame) => write!(f, "frame-{frame}"),
            Moment::Back(frames) => write!(f, "back-{frames}"),
            Moment::Copy(copy) => write!(f, "copy-{copy}"),
        }
    }
}

/// A text is not a [`Moment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MomentError;

impl fmt::Display for MomentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a moment is `now`, `frame-12`, `back-60` or `copy-1`")
    }
}

impl core::error::Error for MomentError {}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Moment, MomentError> {
        if let Some(frame) = text.strip_prefix("frame-") {
            return frame.parse().map(Moment::Frame).map_err(|_| MomentError);
        }
        if let Some(frames) = text.strip_prefix("back-") {
            return frames.parse().map(Moment::Back).map_err(|_| MomentError);
        }
        if let Some(copy) = text.strip_prefix("copy-") {
            return copy.parse().map(Moment::Copy).map_err(|_| MomentError);
        }
        if text == "now" { Ok(Moment::Now) } else { Err(MomentError) }
    }
}

impl Request {
    /// Calls a function with each moment that the request is about.
    #[cfg(feature = "answer")]
    pub(crate) fn moments_mut(&mut self, mut each: impl FnMut(&mut Moment)) {
        match self {
            Request::Entities(EntitiesRequest { at, .. })
            | Request::Count { at, .. }
            | Request::Entity { at, .. }
            | Request::Tables { at } => each(at),
            Request::Compare { before, after, .. } => {
                each(before);
                each(after);
            }
            _ => {}
        }
    }

    /// Returns `true` if the request changes the world.
    pub fn is_edit(&self) -> bool {
        use Request::{Act, Despawn, Edit, Insert, Remove, Rename, Rewind, Undo};
        matches!(
            self,
            Edit { .. }
                | Insert { .. }
                | Remove { .. }
                | Despawn { .. }
                | Rename { .. }
                | Undo
                | Rewind { .. }
                | Act { .. }
        )
    }
}
