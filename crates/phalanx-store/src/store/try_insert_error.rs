//! [`TryInsertError`], and the reasons for it.

use crate::AllocError;
#[cfg(feature = "serde")]
use crate::restore::Refused;
use core::fmt;

/// The error of `try_` methods that take a value: the value, and why it was not stored.
///
/// `?` converts it to the reason, if the value is not needed:
///
/// ```
/// use phalanx_store::{PackedStore, Rejection};
///
/// fn add(names: &mut PackedStore<String>, name: &str) -> Result<(), Rejection> {
///     names.try_insert(name.to_owned())?;
///     Ok(())
/// }
///
/// let mut names = PackedStore::new();
/// add(&mut names, "Ann")?;
/// if let Err(error) = names.try_insert("Bob".to_owned()) {
///     println!("{error}");
///     println!("{} is still there", error.into_inner());
/// }
/// # Ok::<(), Rejection>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TryInsertError<T, R = Rejection> {
    /// The value that was not stored.
    pub value: T,
    /// The reason.
    pub reason: R,
}

impl<T, R> TryInsertError<T, R> {
    /// Returns the value that was not stored.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// The reason why a value was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// An allocation failed, or all indices are used up.
    Alloc(AllocError),
    /// The key is stale.
    Stale(StaleKey),
}

/// The error for a key whose index has a value under a later generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleKey {
    /// The index of the key.
    pub index: u32,
    /// The generation of the key.
    pub generation: u32,
    /// The later generation, which has a value.
    pub present: u32,
}

impl fmt::Display for StaleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleKey { index, generation, present } = self;
        write!(f, "the key {index}v{generation} is stale: {index}v{present} has a value here")
    }
}

impl core::error::Error for StaleKey {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Alloc(error) => error.fmt(f),
            Rejection::Stale(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Rejection {}

impl From<AllocError> for Rejection {
    fn from(error: AllocError) -> Self {
        Rejection::Alloc(error)
    }
}

impl From<StaleKey> for Rejection {
    fn from(error: StaleKey) -> Self {
        Rejection::Stale(error)
    }
}

impl Rejection {
    /// Panics with the reason, or aborts if an allocation failed.
    #[cold]
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        match self {
            Rejection::Alloc(error) => error.raise(),
            Rejection::Stale(error) => panic!("{error}"),
        }
    }
}

impl<T> From<TryInsertError<T>> for Rejection {
    fn from(error: TryInsertError<T>) -> Self {
        error.reason
    }
}

impl<T> From<TryInsertError<T, AllocError>> for AllocError {
    fn from(error: TryInsertError<T, AllocError>) -> Self {
        error.reason
    }
}

impl<T, R: fmt::Debug> fmt::Debug for TryInsertError<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryInsertError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T, R: fmt::Display> fmt::Display for TryInsertError<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T, R: fmt::Debug + fmt::Display> core::error::Error for TryInsertError<T, R> {}

#[cfg(feature = "serde")]
impl From<Rejection> for Refused {
    fn from(reason: Rejection) -> Refused {
        match reason {
            Rejection::Alloc(error) => Refused::Alloc(error),
            Rejection::Stale(key) => Refused::Slot { slot: key.index, what: "comes twice" },
        }
    }
}
