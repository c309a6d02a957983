//! The checksum of frames: eight lanes of sums, and of sums of those, folded into one word at the end.
//!
//! It finds accidents, not forgeries: whoever writes a file on purpose can make it fit. A change within a block of 128 bytes
//! always leaves other lanes: two words go into the two sums of a lane, `a + u + v` and `b + 2a + 2u + v`, from which they can be
//! told, and all later steps are bijections of what there is. What the lanes are folded into at the end is the same by chance
//! only, one in 2⁶⁴. There are no products before, so that several lanes go in one register.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const LANES: usize = 8;
/// Bytes that are taken in at once: two words for each lane.
const BLOCK: usize = LANES * 16;

#[inline(always)]
fn step(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(ODD).rotate_left(29)
}

/// A checksum of bytes that come in pieces.
pub(super) struct Sum {
    seed: u64,
    len: u64,
    a: [u64; LANES],
    b: [u64; LANES],
    /// The bytes after the last whole block; those after them are old ones.
    rest: [u8; BLOCK],
}

impl Sum {
    pub(super) fn new(seed: u64) -> Sum {
        let a = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| seed.wrapping_add(i));
        Sum { seed, len: 0, a, b: a.map(|a| !a), rest: [0; BLOCK] }
    }

    /// The bytes that were taken in.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    fn rest_len(&self) -> usize {
        (self.len % BLOCK as u64) as usize
    }

    /// Takes in bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        let before = self.rest_len();
        if before > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - before));
            self.rest[before..before + now.len()].copy_from_slice(now);
            self.len += now.len() as u64;
            if self.rest_len() > 0 {
                return;
            }
            self.blocks(&[self.rest]);
            bytes = later;
        }
        let (blocks, rest) = bytes.as_chunks();
        self.blocks(blocks);
        self.rest[..rest.len()].copy_from_slice(rest);
        self.len += bytes.len() as u64;
    }

    fn blocks(&mut self, blocks: &[[u8; BLOCK]]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every machine of this kind has SSE2, and this one was asked for AVX2.
        unsafe {
            match std::arch::is_x86_feature_detected!("avx2") {
                true => four_lanes_at_a_time(&mut self.a, &mut self.b, blocks),
                false => two_lanes_at_a_time(&mut self.a, &mut self.b, blocks),
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        each_lane(&mut self.a, &mut self.b, blocks);
    }

    pub(super) fn end(mut self) -> u64 {
        let rest = self.rest_len();
        if rest > 0 {
            self.rest[rest..].fill(0);
            self.blocks(&[self.rest]);
        }
        let mut sum = step(self.seed, self.len);
        for (a, b) in self.a.into_iter().zip(self.b) {
            sum = step(step(sum, a), b);
        }
        sum ^= sum >> 32;
        sum = sum.wrapping_mul(ODD);
        sum ^ sum >> 29
    }
}

/// Takes in blocks, lane by lane.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn each_lane(sums: &mut [u64; LANES], sums_of_sums: &mut [u64; LANES], blocks: &[[u8; BLOCK]]) {
    let (mut a, mut b) = (*sums, *sums_of_sums);
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for i in 0..LANES {
            a[i] = a[i].wrapping_add(u64::from_le_bytes(words[i]));
            b[i] = b[i].wrapping_add(a[i]);
            a[i] = a[i].wrapping_add(u64::from_le_bytes(words[LANES + i]));
            b[i] = b[i].wrapping_add(a[i]);
            let turned = b[i].rotate_left(32);
            (a[i], b[i]) = (turned, a[i].wrapping_add(turned));
        }
    }
    (*sums, *sums_of_sums) = (a, b);
}

/// The same with several lanes in a register: the compiler does not find this by itself.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes_at_a_time {
    ($name:ident, $lanes:literal in $register:ty, $feature:literal, $add:ident, $shuffle:ident) => {
        #[target_feature(enable = $feature)]
        fn $name(sums: &mut [u64; LANES], sums_of_sums: &mut [u64; LANES], blocks: &[[u8; BLOCK]]) {
            const COUNT: usize = LANES / $lanes;
            let mut a: [$register; COUNT] = bytemuck::cast(*sums);
            let mut b: [$register; COUNT] = bytemuck::cast(*sums_of_sums);
            for block in blocks {
                let words: [$register; 2 * COUNT] = bytemuck::pod_read_unaligned(block);
                for i in 0..COUNT {
                    a[i] = $add(a[i], words[i]);
                    b[i] = $add(b[i], a[i]);
                    a[i] = $add(a[i], words[COUNT + i]);
                    b[i] = $add(b[i], a[i]);
                    // The halves of each word exchanged.
                    let turned = $shuffle::<0b10_11_00_01>(b[i]);
                    (a[i], b[i]) = (turned, $add(a[i], turned));
                }
            }
            (*sums, *sums_of_sums) = (bytemuck::cast(a), bytemuck::cast(b));
        }
    };
}
#[cfg(target_arch = "x86_64")]
lanes_at_a_time!(two_lanes_at_a_time, 2 in __m128i, "sse2", _mm_add_epi64, _mm_shuffle_epi32);
#[cfg(target_arch = "x86_64")]
lanes_at_a_time!(four_lanes_at_a_time, 4 in __m256i, "avx2", _mm256_add_epi64, _mm256_shuffle_epi32);

/// A number that is another one for other bytes, other counts of them, or another seed: what a
/// [snapshot](crate::snapshot) writes behind each frame.
///
/// The bytes are taken as words of 64 bits, little-endian, filled up with zeros to a multiple of sixteen words. Lane `i` of
/// eight is a pair of words, which begin as `a = seed + i` and `b = !a`. Of each sixteen words it takes in word `i` and word
/// `8 + i`, each by `a += word`, `b += a`; after both, `(a, b)` becomes `(c, a + c)`, where `c` is `b` turned by 32. At the
/// end the seed, the count of bytes and the lanes, `a` before `b`, are taken in one after another by one word: exclusive or,
/// times `0x9e3779b97f4a7c15`, turned left by 29; which is then mixed with itself.
///
/// ```
/// use phalanx::snapshot::checksum;
///
/// assert_ne!(checksum(0, b"phalanx"), checksum(0, b"phalany"));
/// assert_ne!(checksum(0, b""), checksum(0, b"\0"));
/// ```
pub fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    let mut sum = Sum::new(seed);
    sum.take(bytes);
    sum.end()
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Sum, checksum};

    #[test]
    fn every_bit_and_every_length_counts() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        let sum = checksum(7, &bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(7, &other), sum, "bit {bit}");
        }
        let mut sums: Vec<u64> = (0..bytes.len()).map(|len| checksum(7, &vec![0; len])).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), bytes.len());
        assert_ne!(checksum(8, &bytes), sum);
    }
    #[test]
    fn lanes_are_the_same_by_themselves_and_together() {
        let bytes: Vec<u8> = (0..10 * BLOCK).map(|i| (i * i * 31 / 8) as u8).collect();
        let (mut one, mut all) = (Sum::new(5), Sum::new(5));
        let (blocks, _) = bytes.as_chunks();
        all.blocks(blocks);
        super::each_lane(&mut one.a, &mut one.b, blocks);
        assert_eq!((one.a, one.b), (all.a, all.b));
        #[cfg(target_arch = "x86_64")]
        {
            let mut two = Sum::new(5);
            // SAFETY: every machine of this kind has SSE2.
            unsafe { super::two_lanes_at_a_time(&mut two.a, &mut two.b, blocks) };
            assert_eq!((one.a, one.b), (two.a, two.b));
        }
        // What the documentation says, of words that are easy to follow.
        let (mut small, mut block) = (Sum::new(0), [0; BLOCK]);
        block[0] = 1;
        small.take(&block);
        let b = (u64::MAX.wrapping_add(1 + 1)).rotate_left(32);
        assert_eq!((small.a[0], small.b[0]), (b, b + 1));
    }

    /// `docs/snapshot-format.md`, word by word.
    fn as_described(seed: u64, bytes: &[u8]) -> u64 {
        let mut filled = bytes.to_vec();
        filled.resize(bytes.len().next_multiple_of(16 * 8), 0);
        let word = |at: usize| (0..8).fold(0, |word, byte| word | u64::from(filled[at * 8 + byte]) << (8 * byte));
        let mut lanes: Vec<(u64, u64)> = (0..8).map(|i| (seed.wrapping_add(i), !seed.wrapping_add(i))).collect();
        for first in (0..filled.len() / 8).step_by(16) {
            for (i, (a, b)) in lanes.iter_mut().enumerate() {
                for word in [word(first + i), word(first + 8 + i)] {
                    *a = a.wrapping_add(word);
                    *b = b.wrapping_add(*a);
                }
                let c = b.rotate_left(32);
                (*b, *a) = (a.wrapping_add(c), c);
            }
        }
        let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let sum = lanes.iter().fold(step(seed, bytes.len() as u64), |sum, (a, b)| step(step(sum, *a), *b));
        let sum = (sum ^ (sum >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^ (sum >> 29)
    }

    #[test]
    fn every_length_at_every_address_has_the_sum_that_is_described() {
        let bytes: Vec<u8> = (0..700_u32).map(|i| (i.wrapping_mul(i).wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        for len in 0..600 {
            let (from, seed) = (len % 33, (len as u64).wrapping_mul(super::ODD));
            assert_eq!(checksum(seed, &bytes[from..from + len]), as_described(seed, &bytes[from..from + len]));
        }
        // Of the first version, on every machine.
        assert_eq!(checksum(0, b"phalanx"), 0xac63_3f9f_7707_75c8);
    }

    #[test]
    fn pieces_leave_no_trace() {
        let bytes: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
        for (one, two) in (0..300).flat_map(|one| [0, 1, 63, 127, 128, 129, 500].map(|two| (one, one + two))) {
            let mut sum = Sum::new(3);
            sum.take(&bytes[..one]);
            sum.take(&bytes[one..two]);
            sum.take(&bytes[two..]);
            assert_eq!(sum.end(), checksum(3, &bytes));
        }
    }

    #[test]
    fn two_bits_and_two_words_in_one_lane_count() {
        // Words of one lane, eight rows apart in one and the same column; and numbers as columns have them.
        for kind in 0..3 {
            let words: Vec<u64> = (0..64)
                .map(|i: u64| match kind {
                    0 => 0,
                    1 => u64::from((i as f32).to_bits()) * 0x1_0000_0001,
                    _ => i.wrapping_mul(super::ODD).rotate_left(31).wrapping_mul(super::ODD),
                })
                .collect();
            let sum = |words: &[u64]| checksum(1, bytemuck::cast_slice(words));
            let whole = sum(&words);
            for (one, two) in (0..64 * 8).flat_map(|one| (0..one).map(move |two| (one, two))) {
                let mut other = words.clone();
                other[one / 64 * 8] ^= 1 << (one % 64);
                other[two / 64 * 8] ^= 1 << (two % 64);
                assert_ne!(sum(&other), whole, "bits {one} and {two} of kind {kind}");
            }
            for (one, two) in (0..64).flat_map(|one| (0..one).map(move |two| (one, two))) {
                let mut other = words.clone();
                other.swap(one, two);
                assert_eq!(sum(&other) == whole, words[one] == words[two]);
            }
        }
    }
}
