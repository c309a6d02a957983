//! Takes stripes of 64 bytes into the lanes of a checksum, by the widest instructions that the processor has.
//!
//! # Invariants
//!
//! Vectors are read from arrays of the vector's size, and written to such arrays, with instructions that need no alignment. A
//! function with a target feature is called only after the feature was detected.
//!
//! All sums are modulo 2⁶⁴, so their order makes no difference. The stripes of a block are summed in several vectors that do not
//! depend on the lanes, so a processor takes in the next block while it still scrambles the lanes.
#![allow(unsafe_code)]

use super::Key;

/// The number of stripes after which the lanes are scrambled.
const BLOCK_STRIPES: usize = 16;
/// The lanes are multiplied by it when they are scrambled.
const PRIME: u64 = 0x9e37_79b1;

/// Returns the part of a key that is used for the stripe with this number in its block.
fn key_part(key: &Key, stripe: usize) -> &[u8; 64] {
    key[8 * stripe..].first_chunk().unwrap_or_else(|| unreachable!("a block has 16 stripes"))
}

/// Returns the part of a key that scrambles the lanes.
fn scramble_part(key: &Key) -> &[u8; 64] {
    key_part(key, BLOCK_STRIPES)
}

/// Takes in stripes, and scrambles the lanes after each 16 of them.
pub(super) fn take_stripes(lanes: &mut [u64; 8], stripes: &[[u8; 64]], key: &Key) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { avx512::take_stripes(lanes, stripes, key) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { avx2::take_stripes(lanes, stripes, key) };
        }
    }
    portable::take_stripes(lanes, stripes, key);
}

/// Takes in one stripe with the part of the key from this byte on.
pub(super) fn take_stripe(lanes: &mut [u64; 8], stripe: &[u8; 64], key: &Key, at: usize) {
    let part = key[at..].first_chunk().unwrap_or_else(|| unreachable!("a part of a key has 64 bytes"));
    portable::take_stripe(lanes, stripe, part);
}

mod portable {
    use super::{BLOCK_STRIPES, Key, PRIME, key_part, scramble_part};

    fn words(bytes: &[u8; 64]) -> [u64; 8] {
        let words = bytes.as_chunks::<8>().0;
        core::array::from_fn(|at| u64::from_le_bytes(words[at]))
    }

    #[inline(always)]
    pub(super) fn take_stripe(lanes: &mut [u64; 8], stripe: &[u8; 64], key: &[u8; 64]) {
        let (values, key) = (words(stripe), words(key));
        for at in 0..8 {
            let keyed = values[at] ^ key[at];
            let product = (keyed & 0xffff_ffff) * (keyed >> 32);
            lanes[at] = lanes[at].wrapping_add(values[at ^ 1]).wrapping_add(product);
        }
    }

    pub(super) fn take_stripes(lanes: &mut [u64; 8], stripes: &[[u8; 64]], key: &Key) {
        for block in stripes.chunks(BLOCK_STRIPES) {
            for (at, stripe) in block.iter().enumerate() {
                take_stripe(lanes, stripe, key_part(key, at));
            }
            if block.len() == BLOCK_STRIPES {
                for (lane, key) in lanes.iter_mut().zip(words(scramble_part(key))) {
                    *lane = (*lane ^ (*lane >> 47) ^ key).wrapping_mul(PRIME);
                }
            }
        }
    }
}

/// The same steps with vectors of one size.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    (
        $module:ident, $feature:literal, $vector:ident, $load:ident, $store:ident, $zero:ident, $set:ident, $xor:ident, $add:ident,
        $multiply:ident, $right:ident, $left:ident, $shuffle:ident
    ) => {
        mod $module {
            use super::{BLOCK_STRIPES, Key, PRIME, key_part, scramble_part};
            use core::arch::x86_64::*;

            const SIZE: usize = size_of::<$vector>();
            /// The number of vectors of a stripe, and of the lanes.
            const COUNT: usize = 64 / SIZE;
            /// The number of vectors in which stripes of a block are summed in turn.
            const SUMS: usize = 4;

            #[inline]
            #[target_feature(enable = $feature)]
            fn load(bytes: &[u8; 64]) -> [$vector; COUNT] {
                let mut vectors = [$zero(); COUNT];
                for (vector, bytes) in vectors.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
                    // SAFETY: the array has the size of a vector, which need not be aligned.
                    *vector = unsafe { $load(bytes.as_ptr().cast()) };
                }
                vectors
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn take_stripe(sums: &mut [$vector; COUNT], stripe: &[u8; 64], key: &[u8; 64]) {
                let (values, key) = (load(stripe), load(key));
                for at in 0..COUNT {
                    let keyed = $xor(values[at], key[at]);
                    let product = $multiply(keyed, $right::<32>(keyed));
                    // The two words of each 16 bytes are exchanged.
                    let exchanged = $shuffle::<0b01_00_11_10>(values[at]);
                    sums[at] = $add(sums[at], $add(product, exchanged));
                }
            }

            #[target_feature(enable = $feature)]
            pub(super) fn take_stripes(lanes: &mut [u64; 8], stripes: &[[u8; 64]], key: &Key) {
                let bytes: &mut [u8; 64] = crate::plain::bytes_of_mut(lanes)
                    .first_chunk_mut()
                    .unwrap_or_else(|| unreachable!("eight lanes have 64 bytes"));
                let (mut state, scramble) = (load(bytes), load(scramble_part(key)));
                let prime = $set(PRIME as i64);
                let (blocks, rest) = stripes.as_chunks::<BLOCK_STRIPES>();
                for block in blocks {
                    let mut sums = [[$zero(); COUNT]; SUMS];
                    for first in (0..BLOCK_STRIPES).step_by(SUMS) {
                        for (at, sums) in sums.iter_mut().enumerate() {
                            take_stripe(sums, &block[first + at], key_part(key, first + at));
                        }
                    }
                    for at in 0..COUNT {
                        for sums in &sums {
                            state[at] = $add(state[at], sums[at]);
                        }
                        let x = $xor($xor(state[at], $right::<47>(state[at])), scramble[at]);
                        let high = $multiply($right::<32>(x), prime);
                        state[at] = $add($multiply(x, prime), $left::<32>(high));
                    }
                }
                for (at, stripe) in rest.iter().enumerate() {
                    take_stripe(&mut state, stripe, key_part(key, at));
                }
                for (vector, bytes) in state.iter().zip(bytes.as_chunks_mut::<SIZE>().0) {
                    // SAFETY: the array has the size of a vector, which need not be aligned.
                    unsafe { $store(bytes.as_mut_ptr().cast(), *vector) };
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vectors!(
    avx512,
    "avx512f",
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_setzero_si512,
    _mm512_set1_epi64,
    _mm512_xor_si512,
    _mm512_add_epi64,
    _mm512_mul_epu32,
    _mm512_srli_epi64,
    _mm512_slli_epi64,
    _mm512_shuffle_epi32
);
#[cfg(target_arch = "x86_64")]
vectors!(
    avx2,
    "avx2",
    __m256i,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_setzero_si256,
    _mm256_set1_epi64x,
    _mm256_xor_si256,
    _mm256_add_epi64,
    _mm256_mul_epu32,
    _mm256_srli_epi64,
    _mm256_slli_epi64,
    _mm256_shuffle_epi32
);

#[cfg(test)]
mod tests {
    use super::*;

    type TakeStripes = unsafe fn(&mut [u64; 8], &[[u8; 64]], &Key);

    #[test]
    fn vectors_of_every_size_give_the_lanes_of_the_portable_steps() {
        let noise = |at: usize| ((at as u32).wrapping_mul(at as u32).wrapping_mul(0x9e37_79b9) >> 24) as u8;
        let bytes: Vec<u8> = (0..64 * 100 + 5).map(noise).collect();
        let key: Key = core::array::from_fn(|at| noise(at + 7));
        let mut kinds: Vec<TakeStripes> = vec![take_stripes];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                kinds.push(avx512::take_stripes);
            }
            if is_x86_feature_detected!("avx2") {
                kinds.push(avx2::take_stripes);
            }
        }
        for count in 0..=100 {
            let stripes = &bytes[count % 5..].as_chunks().0[..count];
            let start = core::array::from_fn(|at| u64::MAX / (at as u64 + 1));
            let mut expected = start;
            portable::take_stripes(&mut expected, stripes, &key);
            for take in &kinds {
                let mut lanes = start;
                // SAFETY: the processor has the instructions.
                unsafe { take(&mut lanes, stripes, &key) };
                assert_eq!(lanes, expected, "{count} stripes");
            }
        }
    }
}
