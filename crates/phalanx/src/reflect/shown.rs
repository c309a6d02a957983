//! [`Shown`]: a text of bounded length, made by code of the user.

use crate::alloc::try_reserve_text;
use core::fmt::{self, Write};
use phalanx_store::AllocError;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

/// The number of bytes that [`Value::debug`](super::Value::debug) stops at.
pub const SHOWN_LIMIT: usize = 4096;

/// How often code may go on writing after the text is full.
const PATIENCE: u32 = 64;

/// A text of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The text.
    pub text: String,
    /// Whether there was more.
    pub is_truncated: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(if self.is_truncated { "…" } else { "" })
    }
}

/// Why a value was not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShowError {
    /// The type does not implement `Debug`, or it is not known whether it does.
    NotDebug,
    /// The code of the type panicked.
    Panicked,
    /// The code of the type returned an error.
    Failed,
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for ShowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShowError::NotDebug => f.write_str("the type does not implement Debug"),
            ShowError::Panicked => f.write_str("the implementation of Debug panicked"),
            ShowError::Failed => f.write_str("the implementation of Debug failed"),
            ShowError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ShowError {}

/// What code unwinds with that goes on writing after the text is full.
struct Stopped;

/// Takes a text up to a limit.
struct BoundedWriter {
    shown: Shown,
    limit: usize,
    failed: Option<AllocError>,
    /// The number of writes after the text was full.
    ignored: u32,
}

impl Write for BoundedWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.shown.is_truncated || self.failed.is_some() {
            self.ignored += 1;
            // A destructor that writes while its code unwinds must not unwind, too. Where panics abort, nothing can be unwound.
            if self.ignored > PATIENCE && cfg!(panic = "unwind") && !panicking() {
                // Does not call the panic hook.
                resume_unwind(Box::new(Stopped));
            }
            return Err(fmt::Error);
        }
        let mut len = text.len().min(self.limit - self.shown.text.len());
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        if let Err(error) = try_reserve_text(&mut self.shown.text, len) {
            self.failed = Some(error);
            return Err(fmt::Error);
        }
        self.shown.text.push_str(&text[..len]);
        self.shown.is_truncated = len < text.len();
        if self.shown.is_truncated { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A value that is formatted by a function, which returns `None` if it cannot be.
struct By<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// Formats a value up to a limit, in bytes. The function may panic, and may go on after an error.
pub(super) fn show_within(
    limit: usize,
    show: impl Fn(&mut fmt::Formatter<'_>) -> Option<fmt::Result>,
) -> Result<Shown, ShowError> {
    let mut writer = BoundedWriter { shown: Shown::default(), limit, failed: None, ignored: 0 };
    let known = core::cell::Cell::new(true);
    let by = By(|f: &mut fmt::Formatter<'_>| match show(f) {
        Some(result) => result,
        None => {
            known.set(false);
            Ok(())
        }
    });
    // The text is valid after a panic, too. What the value does with its own state is the matter of its type.
    let result = catch_unwind(AssertUnwindSafe(|| write!(writer, "{by}")));
    if let Some(error) = writer.failed {
        return Err(ShowError::Alloc(error));
    }
    match result {
        _ if !known.get() => Err(ShowError::NotDebug),
        Ok(Ok(())) => Ok(writer.shown),
        Ok(Err(_)) if writer.shown.is_truncated => Ok(writer.shown),
        Ok(Err(_)) => Err(ShowError::Failed),
        Err(payload) if payload.is::<Stopped>() => Ok(writer.shown),
        Err(payload) => {
            // The payload is the user's, whose destructor may panic, too.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            Err(ShowError::Panicked)
        }
    }
}
