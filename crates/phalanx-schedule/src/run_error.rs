//! [`RunError`]: a system that failed.

use crate::boxed_system::BoxError;
use core::any::Any;
use core::fmt;

/// A system that failed in a run of a schedule.
///
/// If several systems fail in a run, it is the first of them in the [order](crate::Schedule::systems) of the schedule, whatever
/// threads were used.
pub struct RunError {
    /// The name of the system.
    pub system: String,
    /// What happened.
    pub cause: Cause,
}

/// What made a system fail.
pub enum Cause {
    /// It panicked, or one of its conditions or commands did.
    Panic(Box<dyn Any + Send>),
    /// It returned an error.
    Error(BoxError),
}

impl RunError {
    /// Returns the text of the panic or of the error.
    pub fn message(&self) -> String {
        match &self.cause {
            Cause::Error(error) => error.to_string(),
            Cause::Panic(payload) => match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
                (Some(text), _) => (*text).into(),
                (_, Some(text)) => text.clone(),
                _ => "a panic without a text".into(),
            },
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.cause {
            Cause::Panic(_) => "panicked",
            Cause::Error(_) => "failed",
        };
        write!(f, "the system {} {verb}: {}", self.system, self.message())
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Panic(_) => f.write_str("Panic"),
            Cause::Error(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RunError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.cause {
            Cause::Error(error) => Some(&**error),
            Cause::Panic(_) => None,
        }
    }
}
