//! Truncated, flipped and random bytes: an error or a whole container, and memory in proportion to the input.

use super::*;
use phalanx_testkit::measure;

/// Whether a container is loaded from these bytes; then it is whole. Takes at most `each` bytes of memory for one of
/// input, beside [`BASE`], and keeps none after an error.
fn load<S: DeserializeOwned>(bytes: &[u8], each: usize, validate: impl Fn(&S) -> Result<(), &'static str>) -> bool {
    let (loaded, usage) = measure(|| postcard::from_bytes::<S>(bytes));
    let bound = each * bytes.len() + BASE;
    assert!(usage.peak_bytes <= bound as u64, "{} bytes from {}: {bytes:?}", usage.peak_bytes, bytes.len());
    match &loaded {
        Ok(store) => validate(store).unwrap_or_else(|error| panic!("{error}, from {bytes:?}")),
        Err(_) => assert_eq!(usage.bytes_live_delta, 0),
    }
    loaded.is_ok()
}

/// The reservations that declared lengths can bring about, the smallest lanes, and the root of a sparse set.
const BASE: usize = (4 << 12) + (16 << 10);

/// Damages the bytes of a container in every small way.
fn damage<S: DeserializeOwned>(bytes: &[u8], each: usize, validate: impl Fn(&S) -> Result<(), &'static str> + Copy) {
    assert!(load(bytes, each, validate));
    for len in 0..bytes.len() {
        assert!(!load(&bytes[..len], each, validate), "loaded {len} of {} bytes", bytes.len());
    }
    let mut flipped = bytes.to_vec();
    for bit in 0..bytes.len() * 8 {
        flipped[bit / 8] ^= 1 << (bit % 8);
        load(&flipped, each, validate);
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
    let mut rng = Rng::new(bytes.len() as u64);
    for _ in 0..400 {
        let mut random = bytes.to_vec();
        for _ in 0..=rng.below(4) {
            let at = rng.below(random.len());
            random[at] = rng.below(256) as u8;
        }
        load(&random, each, validate);
        let noise: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
        load(&noise, each, validate);
    }
}

#[test]
fn damaged_pools() {
    for steps in [0, 12, 60] {
        damage(&bytes_of(&churned_pool(4, steps).0), 24, EntityPool::validate);
    }
}

#[test]
fn damaged_packed_stores() {
    for steps in [0, 12, 60] {
        damage(&bytes_of(&churned_packed(4, steps).0), 40, PackedStore::<u32>::validate);
    }
}

#[test]
fn damaged_slot_stores() {
    for steps in [0, 12, 60] {
        damage(&bytes_of(&churned_slot(4, steps).0), 40, SlotStore::<u32>::validate);
    }
}

#[test]
fn damaged_sparse_sets() {
    for steps in [1, 12] {
        damage(&bytes_of(&churned_sparse(4, steps)), 40 << 10, SparseSet::<Entity, u32>::validate);
    }
}

#[test]
fn damaged_linear_stores() {
    for steps in [2, 12, 60] {
        damage(&bytes_of(&churned_linear(4, steps)), 64 * 9 + 40, LinearStore::<Entity, u32>::validate);
    }
}

/// The bytes that postcard writes for a number.
fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Whether a container of `S` is loaded from these numbers, and the most memory that took.
fn forged<S: DeserializeOwned>(numbers: &[u64]) -> (bool, u64) {
    let mut bytes = Vec::new();
    numbers.iter().for_each(|number| varint(*number, &mut bytes));
    let (loaded, usage) = measure(|| postcard::from_bytes::<S>(&bytes).is_ok());
    (loaded, usage.peak_bytes)
}

#[test]
fn absurd_counts_are_not_believed() {
    const MANY: [u64; 4] = [u32::MAX as u64, 1 << 32, 1 << 40, u64::MAX];
    type Large = [u64; 32];
    for many in MANY {
        let attempts = [
            forged::<EntityPool>(&[many, 0, 0]),
            forged::<EntityPool>(&[1, 3, many, 0]),
            forged::<PackedStore<Large>>(&[many, 0, 0]),
            forged::<PackedStore<Large>>(&[1, 0, many, 0]),
            forged::<PackedStore<Large>>(&[1, 0, 1, 0, many, 0]),
            forged::<SlotStore<Large>>(&[many, 0, 0]),
            forged::<SlotStore<Large>>(&[1, 0, many, 0]),
            forged::<SparseSet<Entity, Large>>(&[many, 0, 0]),
            forged::<LinearStore<Entity, Large>>(&[many, 0, 0]),
            forged::<LinearStore<Entity, Large>>(&[1, 1, many, 0]),
            forged::<LinearStore<Entity, Large>>(&[1, 1, 1, 0, many, 0]),
        ];
        for (at, (loaded, peak)) in attempts.into_iter().enumerate() {
            assert!(!loaded && peak <= BASE as u64, "attempt {at} with {many}: {loaded}, {peak} bytes");
        }
        // Elements that take no bytes never run out: the number of slots must stop them.
        assert!(!forged::<PackedStore<()>>(&[1, 0, 1, 0, many]).0);
        assert!(!forged::<SlotStore<()>>(&[1, 0, many]).0);
        assert!(!forged::<LinearStore<Entity, ()>>(&[1, 1, 1, 0, many]).0);
    }
}

#[test]
fn a_far_key_costs_its_pages_and_no_more() {
    let far: Vec<u64> = (0..20).map(|n| u64::from(u32::MAX - 1) - n * (1 << 21)).collect();
    let pairs: Vec<u64> = [20].into_iter().chain(far.iter().flat_map(|key| [*key, 0])).collect();
    let (loaded, peak) = forged::<SparseSet<Entity, u8>>(&pairs);
    assert!(loaded);
    // Each key has a page and a branch of its own.
    assert!(peak > 20 * (32 << 10) && peak <= 20 * (40 << 10) + BASE as u64, "{peak}");
}

#[test]
fn an_absent_index_costs_its_room_and_no_more() {
    // 100 words, of which the last has a value: 6,400 indices in 105 bytes.
    let numbers: Vec<u64> = [100].into_iter().chain([0; 99]).chain([1 << 63, 1, 0, 1, 9]).collect();
    let (loaded, peak) = forged::<LinearStore<Entity, u64>>(&numbers);
    assert!(loaded);
    assert!(peak >= 6400 * 12 && peak <= 6400 * 13 + BASE as u64, "{peak}");
}

#[test]
fn the_last_index_there_is() {
    let set: SparseSet<Entity, u8> = from_json("[[4294967294,1]]");
    assert!(set.validate().is_ok() && set.len() == 1);
}
