//! The checksum of snapshots and deltas: the 64-bit variant of XXH3, with a seed.
//!
//! `docs/snapshot-format.md` describes it bit by bit. It detects accidental changes. It is not a signature: two inputs
//! with the same checksum can be constructed, so everything that is read is validated as well.

use core::fmt;
use core::hash::Hasher;
use twox_hash::xxhash3_64::{DEFAULT_SECRET_LENGTH, RawHasher, SecretBuffer};

/// Computes the checksum of bytes that arrive in pieces. How they are cut into pieces makes no difference.
pub(crate) struct Sum {
    // The secret is derived from the seed. It is an array, so that nothing is allocated.
    hasher: RawHasher<[u8; DEFAULT_SECRET_LENGTH]>,
    #[cfg(feature = "snapshot")]
    len: u64,
}

impl Sum {
    pub(crate) fn new(seed: u64) -> Sum {
        match SecretBuffer::with_seed(seed, [0; DEFAULT_SECRET_LENGTH]) {
            Ok(secret) => Sum {
                hasher: RawHasher::new(secret),
                #[cfg(feature = "snapshot")]
                len: 0,
            },
            Err(_) => unreachable!("the secret has the default length"),
        }
    }

    /// Returns the number of bytes so far.
    #[cfg(feature = "snapshot")]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
        #[cfg(feature = "snapshot")]
        {
            self.len += bytes.len() as u64;
        }
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, n: u64) {
        self.update(&n.to_le_bytes());
    }

    /// Adds a list of numbers together with its length.
    pub(crate) fn numbers(&mut self, numbers: &[u32]) {
        self.number(numbers.len() as u64);
        numbers.iter().for_each(|number| self.update(&number.to_le_bytes()));
    }

    /// Adds a byte string together with its length, so that two strings in a row differ from any others in a row.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.update(bytes);
    }

    pub(crate) fn finish(self) -> u64 {
        self.hasher.finish()
    }
}

impl Default for Sum {
    fn default() -> Sum {
        Sum::new(0)
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sum").finish_non_exhaustive()
    }
}

/// Returns the checksum that a [snapshot](crate::snapshot) has after each frame: the 64-bit XXH3 of the bytes with a seed.
///
/// The result is the same on every platform, and is that of `XXH3_64bits_withSeed` in the reference implementation. It
/// detects damage. It is not a signature: inputs with equal checksums can be constructed.
///
/// ```
/// use phalanx::snapshot::checksum;
///
/// assert_ne!(checksum(0, b"phalanx"), checksum(0, b"phalany"));
/// assert_ne!(checksum(0, b"phalanx"), checksum(1, b"phalanx"));
/// assert_ne!(checksum(0, b""), checksum(0, b"\0"));
/// ```
#[cfg(feature = "snapshot")]
pub fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot_with_seed(seed, bytes)
}

#[cfg(test)]
mod tests;
