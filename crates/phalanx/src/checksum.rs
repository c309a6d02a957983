//! The checksum of snapshots and deltas: the 64-bit variant of XXH3, with a seed.
//!
//! `docs/snapshot-format.md` describes it bit by bit. It detects accidental changes. It is not a signature: two inputs
//! with the same checksum can be constructed, so everything that is read is validated as well.

mod stripes;

use core::fmt;
use stripes::{take_stripe, take_stripes};
use twox_hash::XxHash3_64;

/// The number of bytes after which the lanes are scrambled.
const BLOCK: usize = 1024;
/// The number of bytes of a stripe. The last one of an input is taken in once more.
const STRIPE: usize = 64;

/// The secret with a seed.
type Key = [u8; 192];

/// The secret of XXH3.
#[rustfmt::skip]
const SECRET: [u64; 24] = [
    0xbe4b_a423_396c_feb8, 0x1cad_21f7_2c81_017c, 0xdb97_9083_e96d_d4de, 0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb, 0x2172_ffcc_7dd0_5a82, 0x8e24_43f7_7446_08b8, 0x4c26_3a81_e690_35e0,
    0xcb00_c391_bb52_283c, 0xa32e_531b_8b65_d088, 0x4ef9_0da2_9748_6471, 0xd8ac_dea9_46ef_1938,
    0x3f34_9ce3_3f76_faa8, 0x1d4f_0bc7_c7bb_dcf9, 0x3159_b4cd_4be0_518a, 0x6473_78d9_c97e_9fc8,
    0xc3eb_d334_83ac_c5ea, 0xeb63_13fa_ffa0_81c5, 0x49da_f0b7_51dd_0d17, 0x9e68_d429_2655_16d3,
    0xfca1_477d_58be_162b, 0xce31_d07a_d1b8_f88f, 0x2804_1695_8f3a_cb45, 0x7e40_4bbb_cafb_d7af,
];

/// Computes the checksum of bytes that arrive in pieces. How they are cut into pieces makes no difference.
pub(crate) struct Sum {
    seed: u64,
    lanes: [u64; 8],
    key: Key,
    /// The last stripe of the blocks that were taken in, followed by `filled` bytes.
    ///
    /// A block is taken in when a byte after it arrives, because the last block of an input is not scrambled.
    tail: [u8; STRIPE + BLOCK],
    filled: usize,
    len: u64,
}

impl Sum {
    pub(crate) fn new(seed: u64) -> Sum {
        let mut key = [0; 192];
        for (at, (bytes, word)) in key.as_chunks_mut::<8>().0.iter_mut().zip(SECRET).enumerate() {
            let word = if at % 2 == 0 { word.wrapping_add(seed) } else { word.wrapping_sub(seed) };
            *bytes = word.to_le_bytes();
        }
        let lanes = [
            0xc2b2_ae3d,
            0x9e37_79b1_85eb_ca87,
            0xc2b2_ae3d_27d4_eb4f,
            0x1656_67b1_9e37_79f9,
            0x85eb_ca77_c2b2_ae63,
            0x85eb_ca77,
            0x27d4_eb2f_1656_67c5,
            0x9e37_79b1,
        ];
        Sum { seed, lanes, key, tail: [0; STRIPE + BLOCK], filled: 0, len: 0 }
    }

    /// Returns the number of bytes so far.
    #[cfg(feature = "snapshot")]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if bytes.len() > BLOCK - self.filled {
            if self.filled > 0 {
                let (now, rest) = bytes.split_at(BLOCK - self.filled);
                self.tail[STRIPE + self.filled..].copy_from_slice(now);
                take_stripes(&mut self.lanes, self.tail[STRIPE..].as_chunks().0, &self.key);
                self.tail.copy_within(BLOCK.., 0);
                (self.filled, bytes) = (0, rest);
            }
            let (blocks, rest) = bytes.split_at((bytes.len() - 1) / BLOCK * BLOCK);
            take_stripes(&mut self.lanes, blocks.as_chunks().0, &self.key);
            if let Some(last) = blocks.last_chunk::<STRIPE>() {
                self.tail[..STRIPE].copy_from_slice(last);
            }
            bytes = rest;
        }
        self.tail[STRIPE + self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
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
        let tail = &self.tail[STRIPE..STRIPE + self.filled];
        if self.len <= BLOCK as u64 {
            return XxHash3_64::oneshot_with_seed(self.seed, tail);
        }
        let (mut lanes, key) = (self.lanes, &self.key);
        take_stripes(&mut lanes, tail[..self.filled - 1].as_chunks().0, key);
        if let Some(last) = self.tail[..STRIPE + self.filled].last_chunk() {
            take_stripe(&mut lanes, last, key, 121);
        }
        let word = |at: usize| key[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let pairs = lanes.as_chunks::<2>().0.iter().zip((11..).step_by(16));
        let folded = pairs.map(|([a, b], at)| fold(a ^ word(at), b ^ word(at + 8)));
        let x = folded.fold(self.len.wrapping_mul(0x9e37_79b1_85eb_ca87), u64::wrapping_add);
        let x = (x ^ (x >> 37)).wrapping_mul(0x1656_6791_9e37_79f9);
        x ^ (x >> 32)
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

/// Returns the exclusive or of the two halves of a product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
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
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

#[cfg(test)]
mod tests;
