//! Errors of the world, as answers.

use crate::response::Response;
use core::fmt::Display;
use phalanx::reflect::{EditError, FieldError};
use phalanx::timeline::TimelineError;
use phalanx::{NameError, NoSuchEntity, StructuralError};

/// An error of the world, which may be that allocation failed.
pub(crate) trait WorldError: Display {
    /// Returns `true` if allocation failed.
    fn is_alloc(&self) -> bool;
}

macro_rules! world_errors {
    ($($error:ty: $alloc:pat,)*) => { $(
        impl WorldError for $error {
            fn is_alloc(&self) -> bool {
                matches!(self, $alloc)
            }
        }
    )* };
}

world_errors! {
    EditError: EditError::Refused(StructuralError::Alloc(_)),
    FieldError: FieldError::Alloc(_),
    NameError: NameError::Alloc(_),
    StructuralError: StructuralError::Alloc(_),
    TimelineError: TimelineError::Alloc(_),
}

#[cfg(feature = "snapshot")]
mod of_snapshots {
    use super::WorldError;
    use phalanx::snapshot::{CodecError, LoadError, Problem, SaveError, ValueError};
    use phalanx::{ComponentError, NameError, StructuralError};
    use std::io::ErrorKind;

    world_errors! {
        LoadError: LoadError { problem: Problem::Alloc(_), .. },
        SaveError: SaveError::Alloc(_)
            | SaveError::Io(ErrorKind::OutOfMemory)
            | SaveError::Codec { error: CodecError::ALLOC, .. },
        ValueError: ValueError::Refused(StructuralError::Alloc(_))
            | ValueError::Entity(ComponentError::Alloc(_))
            | ValueError::Name(NameError::Alloc(_)),
    }
}

impl WorldError for NoSuchEntity {
    fn is_alloc(&self) -> bool {
        false
    }
}

impl Response {
    /// Answers with an error of the world: 507 if allocation failed, otherwise the status.
    pub(crate) fn refusal(status: u16, error: impl WorldError) -> Response {
        if error.is_alloc() { Response::out_of_memory() } else { Response::error(status, error) }
    }
}

/// Returns the answer that the world is in another state than the request needs.
pub(crate) fn conflict(error: impl WorldError) -> Response {
    Response::refusal(409, error)
}
