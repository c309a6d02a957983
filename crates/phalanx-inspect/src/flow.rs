//! [`Flow`]: whether the program goes on.

/// Whether the program goes on with its next frame: what `Inspector::update` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flow {
    /// The next frame is due.
    #[default]
    Run,
    /// A user has paused the program: skip this frame, and call `update` again.
    Hold,
}
