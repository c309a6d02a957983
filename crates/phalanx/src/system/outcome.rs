//! [`Outcome`]: what became of the commands of systems.

use crate::commands::{ApplyReport, CommandError};

/// What became of the commands of one or more systems: how many were executed, and which were skipped.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    executed: usize,
    skipped: Vec<CommandError>,
}

impl Outcome {
    /// Adds the commands of a buffer.
    pub(super) fn add(&mut self, report: ApplyReport) {
        self.executed += report.executed();
        self.skipped.extend_from_slice(report.skipped());
    }

    /// Returns the number of commands that were executed.
    pub fn executed(&self) -> usize {
        self.executed
    }

    /// Returns the commands that were skipped, in their order, each with its reason.
    pub fn skipped(&self) -> &[CommandError] {
        &self.skipped
    }
}
