//! The targets, each with the figure that decides it.

use phalanx_store::{Entity, EntityPool, PackedStore, SlotStore, SparseSet};

use phalanx_testkit::bench::Bound::{self, Times, Within};
use phalanx_testkit::bench::{Target, target};

const LEVEL: Bound = Within(1.05);
/// What counts as level at a million and in churn, where runs do not tell closer apart.
const LEVEL_LARGE: Bound = Within(1.15);
const VEC: &[&str] = &["hand-packed"];
const DENSE: &[&str] = &["DenseSlotMap"];
const SLOTS: &[&str] = &["SlotMap", "thunderdome"];
const HAND: &[&str] = &["by hand"];
const MAP: &[&str] = &["HashMap"];

pub const TARGETS: &[Target] = &[
    target("iterate 10k", "PackedStore", VEC, LEVEL),
    target("iterate 10k", "PackedStore values", VEC, LEVEL),
    target("iterate 10k", "SparseSet", VEC, LEVEL),
    target("iterate 10k", "SparseSet values", VEC, LEVEL),
    target("iterate 10k", "LinearStore", VEC, Within(1.1)),
    target("iterate 10k", "SlotStore", VEC, Within(1.1)),
    target("iterate 100k", "PackedStore", VEC, LEVEL),
    target("iterate 100k", "PackedStore values", VEC, LEVEL),
    target("iterate 100k", "SparseSet", VEC, LEVEL),
    target("iterate 100k", "SparseSet values", VEC, LEVEL),
    target("iterate 100k", "LinearStore", VEC, Within(1.1)),
    target("iterate 100k", "SlotStore", VEC, Within(1.1)),
    target("iterate 1M", "PackedStore", VEC, LEVEL_LARGE),
    target("iterate 1M", "PackedStore values", VEC, LEVEL_LARGE),
    target("iterate 1M", "SparseSet", VEC, LEVEL_LARGE),
    target("iterate 1M", "LinearStore", VEC, LEVEL_LARGE),
    target("iterate 1M", "SlotStore", VEC, LEVEL_LARGE),
    target("iterate half of 200k", "PackedStore", VEC, LEVEL),
    target("iterate half of 200k", "SparseSet", VEC, LEVEL),
    target("iterate half of 200k", "SlotStore", &["SlotMap"], Times(4.0)),
    target("iterate half of 200k", "LinearStore", &["SlotMap"], Times(4.0)),
    target("get 10k", "PackedStore", DENSE, LEVEL),
    target("get 100k", "PackedStore", DENSE, LEVEL),
    target("get 1M", "PackedStore", DENSE, LEVEL_LARGE),
    target("insert 10k", "PackedStore", DENSE, Times(1.8)),
    target("insert 100k", "PackedStore", DENSE, Times(1.8)),
    target("churn 100k", "PackedStore", DENSE, Times(1.8)),
    target("remove 100k", "PackedStore", DENSE, LEVEL_LARGE),
    target("get 10k", "SlotStore", SLOTS, LEVEL),
    target("get 100k", "SlotStore", SLOTS, LEVEL),
    target("get 1M", "SlotStore", SLOTS, LEVEL_LARGE),
    target("insert 10k", "SlotStore", SLOTS, LEVEL),
    target("insert 100k", "SlotStore", SLOTS, LEVEL),
    target("churn 100k", "SlotStore", SLOTS, LEVEL_LARGE),
    target("instructions of a removal", "SlotStore", SLOTS, LEVEL),
    target("instructions of a removal", "PackedStore", DENSE, LEVEL),
    target("mixed 50k", "SlotStore", &["SlotMap", "DenseSlotMap", "thunderdome", "HashMap"], Times(1.05)),
    target("iterate 10k", "PackedStore", MAP, Times(1.64)),
    target("iterate 100k", "PackedStore", MAP, Times(1.15)),
    target("mixed 50k", "PackedStore", MAP, Times(1.69)),
    target("churn 100k", "PackedStore", MAP, Times(1.0)),
    target("get 10k", "PackedStore", MAP, Times(1.0)),
    target("get 100k", "PackedStore", MAP, Times(1.0)),
    target("soa: one field 1M", "Soa", HAND, LEVEL_LARGE),
    target("soa: push with room 1M", "Soa", &["Vec<struct>"], LEVEL_LARGE),
    target("soa: push growing 1M", "Soa", &["Vec<struct>"], Within(1.25)),
    target("soa: extend by columns 1M", "Soa", HAND, Within(1.1)),
    target("soa: sort by one field 1M", "Soa", HAND, Within(1.2)),
];

/// Prints what an element takes beyond its value, at exact capacity.
pub fn print_memory() {
    const N: usize = 100_000;
    let mut packed: PackedStore<u64> = (0..N as u64).collect();
    packed.shrink_to_fit();
    let mut slots: SlotStore<u64> = (0..N as u64).collect();
    slots.shrink_to_fit();
    let mut pool = EntityPool::new();
    let entities: Vec<Entity> = pool.alloc_many(N).collect();
    pool.shrink_to_fit();
    let mut sparse: SparseSet<Entity, u64> = entities.iter().map(|e| (*e, 0)).collect();
    sparse.shrink_to_fit();
    println!("\nBytes an element beyond the value, 100,000 of them");
    for (name, bytes, most) in [
        ("PackedStore", packed.memory().total() - 8 * N, 12.0),
        ("SlotStore", slots.memory().total() - 8 * N, 8.0),
        ("EntityPool", pool.memory().total(), 8.0),
        ("SparseSet", sparse.memory().total() - 8 * N, 16.0),
    ] {
        let each = bytes as f64 / N as f64;
        println!("  {:<6} {name:<20} {each:.2}, at most {most}", if each <= most { "met" } else { "MISSED" });
    }
}
