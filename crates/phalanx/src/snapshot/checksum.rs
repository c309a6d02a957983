//! The checksum of frames: eight lanes of words, each multiplied and turned, folded into one at the end.
//!
//! It finds accidents, not forgeries: whoever writes a file on purpose can make it fit. A change within one word is always
//! found, because every step is a bijection of the word that it takes in.

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const BLOCK: usize = 64;

#[inline(always)]
fn step(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(ODD).rotate_left(29)
}

#[inline(always)]
fn block(lanes: &mut [u64; 8], bytes: &[u8; BLOCK]) {
    let (words, _) = bytes.as_chunks::<8>();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = step(*lane, u64::from_le_bytes(*word));
    }
}

/// A number that is another one for other bytes, other counts of them, or another seed: what a
/// [snapshot](crate::snapshot) writes behind each frame.
///
/// The bytes are taken as words of 64 bits, little-endian, filled up with zeros to a multiple of eight words. Lane `i` begins
/// as `seed + i` and takes in word `i` of each eight: exclusive or, times `0x9e3779b97f4a7c15`, turned left by 29. At the end
/// the seed, the count of bytes and the eight lanes are taken in the same way by one word, which is then mixed with itself.
///
/// ```
/// use phalanx::snapshot::checksum;
///
/// assert_ne!(checksum(0, b"phalanx"), checksum(0, b"phalany"));
/// assert_ne!(checksum(0, b""), checksum(0, b"\0"));
/// ```
pub fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    let mut lanes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| seed.wrapping_add(i));
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for bytes in blocks {
        block(&mut lanes, bytes);
    }
    if !rest.is_empty() {
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        block(&mut lanes, &last);
    }
    let mut sum = step(seed, bytes.len() as u64);
    for lane in lanes {
        sum = step(sum, lane);
    }
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(ODD);
    sum ^ sum >> 29
}

#[cfg(test)]
mod tests {
    use super::checksum;

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
}
