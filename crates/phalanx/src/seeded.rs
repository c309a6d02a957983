//! [`Seeded`]: a hash for keys of a few 32-bit numbers that cannot be chosen to collide.
//!
//! Keys of maps may come from a file: slots, generations, roles. Under a fixed hash a file can be made in which all of them
//! collide, and loading it takes quadratic time. So the hash has a seed that is drawn once for each process.
//!
//! It is the multilinear hash: for random 64-bit numbers `a`, the upper half of `a0 + a1 * x1 + a2 * x2 + …` modulo 2⁶⁴.
//! This family is strongly universal (Dietzfelbinger, 1996): any two different keys of 32-bit numbers have independent,
//! uniformly distributed hashes of 32 bits. Whatever the keys are, as long as they were chosen without the seed, the
//! expected number of collisions is that of random numbers. One multiplication for each number makes it as fast as a hash
//! without a seed; the hash of the standard library takes a third longer for each operation on extra rows.
//!
//! No result may depend on the order of such a map: it differs from process to process.

use core::hash::{BuildHasher, Hasher};
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::OnceLock;

/// A map with keys of a few 32-bit numbers. Its order is random.
pub(crate) type NumberMap<K, V> = HashMap<K, V, Seeded>;

/// The most numbers that a key can have.
const MOST: usize = 18;

/// The random numbers of the hash: the summand and the factors.
#[derive(Debug)]
struct Seed {
    start: u64,
    factors: [u64; MOST],
}

/// Builds hashers with the seed of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(&'static Seed);

impl Default for Seeded {
    fn default() -> Seeded {
        static SEED: OnceLock<Seed> = OnceLock::new();
        Seeded(SEED.get_or_init(|| {
            let random = RandomState::new();
            Seed { start: random.hash_one(0), factors: core::array::from_fn(|at| random.hash_one(at + 1)) }
        }))
    }
}

impl Seeded {
    /// Returns the summand and the factors, for keys that are not a list of numbers.
    #[inline]
    pub(crate) fn parts(self) -> (u64, &'static [u64; MOST]) {
        (self.0.start, &self.0.factors)
    }
}

impl BuildHasher for Seeded {
    type Hasher = Numbers;

    #[inline]
    fn build_hasher(&self) -> Numbers {
        Numbers { factors: &self.0.factors, sum: self.0.start }
    }
}

/// Hashes 32-bit numbers, at most [`MOST`].
pub(crate) struct Numbers {
    /// The factors of the next numbers.
    factors: &'static [u64],
    sum: u64,
}

impl Hasher for Numbers {
    #[inline]
    fn write_u32(&mut self, n: u32) {
        let Some((factor, rest)) = self.factors.split_first() else { unreachable!("a key of too many numbers") };
        self.sum = self.sum.wrapping_add(factor.wrapping_mul(u64::from(n)));
        self.factors = rest;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a key that does not consist of 32-bit numbers");
    }

    // The upper half is rotated down, where maps take the bucket from.
    #[inline]
    fn finish(&self) -> u64 {
        self.sum.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Seed, Seeded};
    use core::hash::{BuildHasher, Hash};

    /// Seeds as they may be drawn, the same in every run.
    fn seeds() -> impl Iterator<Item = Seeded> {
        let mut state = 1_u64;
        let mut draw = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        (0..100).map(move |_| Seeded(Box::leak(Box::new(Seed { start: draw(), factors: [(); MOST].map(|()| draw()) }))))
    }

    /// Of how many pairs of 1024 keys both fall into the same of 1024 buckets, on average over seeds. It is 511.5 if the
    /// hashes are random, and 523,776 if all collide.
    fn collisions<K: Hash>(keys: impl Iterator<Item = K> + Clone) -> f64 {
        let pairs = seeds().map(|seeded| {
            let mut buckets = vec![0_u64; 1024];
            keys.clone().take(1024).for_each(|key| buckets[seeded.hash_one(key) as usize % 1024] += 1);
            buckets.iter().map(|count| count * count.saturating_sub(1) / 2).sum::<u64>()
        });
        pairs.sum::<u64>() as f64 / 100.0
    }

    /// A hash without a seed.
    fn fixed(numbers: [u32; 3]) -> u64 {
        let state = numbers.into_iter().fold(0_u64, |state, n| {
            let mixed = (state ^ u64::from(n)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ mixed >> 29
        });
        state.wrapping_mul(0x94d0_49bb_1331_11eb) ^ state >> 32
    }

    #[test]
    fn keys_that_collide_without_a_seed_collide_no_more_than_random_ones() {
        let chosen = (0..).map(|role| [7, 0, role]).filter(|key| fixed(*key).is_multiple_of(1024));
        let chosen: Vec<(u32, (u32, u32))> = chosen.take(1024).map(|[a, b, c]| (a, (b, c))).collect();
        let found = collisions(chosen.into_iter());
        assert!((100.0..1000.0).contains(&found), "{found}");
    }

    #[test]
    fn numbers_in_a_row_and_multiples_collide_no_more_than_random_ones() {
        for step in [1, 2, 64, 1 << 10, 1 << 16, 1 << 22] {
            let found = collisions((0..1024_u32).map(|n| n * step));
            assert!(found < 1000.0, "{found} for a step of {step}");
            let found = collisions((0..1024_u32).map(|n| (n % 32 * step, n / 32, 5_u32)));
            assert!(found < 1000.0, "{found} for a step of {step}, in squares");
        }
    }

    #[test]
    fn every_number_of_a_key_and_the_seed_count() {
        let keys: [(u32, u32, u32); 6] = [(1, 2, 3), (1, 2, 4), (1, 3, 3), (2, 2, 3), (3, 2, 1), (0, 2, 3)];
        let hashes: Vec<u64> = seeds().take(9).flat_map(|seeded| keys.map(|key| seeded.hash_one(key))).collect();
        assert!((0..hashes.len()).all(|a| (0..a).all(|b| hashes[a] != hashes[b])), "{hashes:x?}");
        let of_the_process = || Seeded::default().hash_one(keys[0]);
        assert_eq!(of_the_process(), of_the_process());
    }
}
