//! What work costs in each layout, estimated from the memory that it touches.
//!
//! The unit is reading one cache line in passing, with the prefetcher's help. A jump to a place that nothing foretold
//! costs more the larger the array is that it goes into; two jumps of which neither waits for the other overlap. The
//! estimate ranks layouts and says why; how long they take is for a measurement to say.

use clap::ValueEnum;
use phalanx_store::memory::{Layout, Model};
use serde::Serialize;

/// How values are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Access {
    /// All of them in a row, each pass
    Iterate,
    /// Each by its handle or entity, in no order
    Random,
    /// Both: a pass over all, and as many reads at random
    Mixed,
}

impl Access {
    pub(crate) fn iterates(self) -> bool {
        self != Access::Random
    }

    pub(crate) fn reads(self) -> bool {
        self != Access::Iterate
    }

    /// As the end of a sentence: *the fastest …*.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Access::Iterate => "to iterate",
            Access::Random => "to read at random",
            Access::Mixed => "to iterate and read at random in equal parts",
        }
    }
}

/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// Going on to the next value, whatever its size.
const STEP: f64 = 0.05;
/// Comparing generations and counting, at each access by handle or entity.
const CHECK: f64 = 1.0;
/// Finding the next value by its presence bit, beside reading it.
const BIT: f64 = 0.1;
/// What the shorter of two overlapping jumps still adds.
const OVERLAP: f64 = 0.3;

/// The cost of one value in one pass, of which a share `churn` is also removed and inserted again.
pub(crate) fn cost(model: &Model, layout: Layout, access: Access, churn: f64) -> f64 {
    let mut cost = 0.0;
    if access.iterates() {
        cost += visit(model, layout);
    }
    if access.reads() {
        cost += read(model, layout);
    }
    cost + churn * replace(model, layout)
}

/// Passing by one value among all.
fn visit(model: &Model, layout: Layout) -> f64 {
    let (size, live) = (model.size() as f64, model.live().max(1) as f64);
    let lines = size / LINE;
    match layout {
        // Slots that were freed are the first to be used again, so a store that loses no values for good has no holes;
        // presence words without a hole are walked like an array.
        Layout::Packed | Layout::Sparse | Layout::Slot => STEP + lines,
        Layout::Linear => {
            let share = live / model.entities().max(1) as f64;
            let bits = if share < 1.0 { BIT + 1.0 / share / (LINE * 8.0) } else { 0.0 };
            // A line is read whole if any of its values is there, so small values bring empty places along. Larger ones
            // do not, but behind a wide gap, where the prefetcher gives up, the next is a jump away.
            let per_line = LINE / size.max(1.0);
            if per_line > 1.0 {
                STEP + bits + lines * (1.0 - (1.0 - share).powf(per_line)) / share
            } else {
                STEP + bits + lines + (1.0 - share).powi(3) * jump(size * model.entities() as f64)
            }
        }
    }
}

/// Reading one value by its handle or entity.
fn read(model: &Model, layout: Layout) -> f64 {
    let (size, live, entities) = (model.size() as f64, model.live() as f64, model.entities() as f64);
    let jumps = match layout {
        // The slot says which row: the second jump waits for the first.
        Layout::Packed => jump(8.0 * live) + jump(size * live),
        Layout::Sparse => jump(8.0 * entities) + jump(size * live),
        // The place is known from the handle; the generation is checked beside it.
        Layout::Slot => together(jump(4.0 * live), jump(size * live)),
        // Of a large array only the lines with values are ever read.
        Layout::Linear => {
            together(jump((4.0 * entities).min(LINE * live)), jump((size * entities).min((size + LINE) * live)))
        }
    };
    CHECK + jumps
}

/// Removing one value and inserting another.
fn replace(model: &Model, layout: Layout) -> f64 {
    let (size, live, entities) = (model.size() as f64, model.live() as f64, model.entities() as f64);
    let copy = size / LINE;
    let rest = match layout {
        // The last value moves into the gap, and its slot must be told.
        Layout::Packed => jump(8.0 * live) + 3.0 * copy,
        // The same, and the entry of the key that comes, which waits for nothing.
        Layout::Sparse => (1.0 + OVERLAP) * jump(8.0 * entities) + 3.0 * copy + CHECK,
        // Nothing moves. The next free slot is looked up, the place of the next key is known.
        Layout::Slot => OVERLAP * jump(size * live) + 2.0 * copy + 2.0 * CHECK,
        Layout::Linear => OVERLAP * jump((size * entities).min((size + LINE) * live)) + 2.0 * copy + CHECK,
    };
    read(model, layout) + rest + 3.0 * CHECK
}

/// The cost of a random access into an array of `bytes`: the fewer of them the near caches hold, the longer it takes, up to that of
/// going to memory each time.
fn jump(bytes: f64) -> f64 {
    const NEAR: f64 = 256.0 * 1024.0;
    const FARTHEST: f64 = 8.0;
    (bytes / NEAR).powf(0.6).min(FARTHEST)
}

fn together(one: f64, other: f64) -> f64 {
    one.max(other) + OVERLAP * one.min(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(size: u64, entities: u64, utilisation: f64, access: Access, churn: f64) -> [f64; 4] {
        let model = Model::new(size, entities, utilisation).unwrap();
        Layout::ALL.map(|layout| cost(&model, layout, access, churn))
    }

    #[test]
    fn dense_layouts_iterate_best() {
        let [packed, slot, sparse, linear] = costs(16, 100_000, 0.1, Access::Iterate, 0.0);
        assert!(packed == sparse && packed == slot && slot < linear);
        // Without gaps there is nothing to lose.
        let [packed, _, _, full] = costs(16, 100_000, 1.0, Access::Iterate, 0.0);
        assert_eq!(full, packed);
    }

    #[test]
    fn direct_layouts_read_best() {
        for entities in [1000, 100_000, 10_000_000] {
            let [packed, slot, sparse, linear] = costs(32, entities, 0.9, Access::Random, 0.0);
            assert!(slot < packed && linear < sparse, "{entities}");
        }
    }

    #[test]
    fn churn_adds() {
        let still = costs(32, 100_000, 0.5, Access::Mixed, 0.0);
        let churned = costs(32, 100_000, 0.5, Access::Mixed, 0.5);
        assert!(still.iter().zip(&churned).all(|(a, b)| b > a));
    }

    #[test]
    fn costs_are_finite_at_the_edges() {
        for (size, entities, utilisation) in [(0, 1, 0.0), (0, 1_000_000, 1.0), (1 << 20, 1000, 0.001), (1, 1, 1.0)] {
            for access in [Access::Iterate, Access::Random, Access::Mixed] {
                assert!(costs(size, entities, utilisation, access, 1.0).iter().all(|c| c.is_finite() && *c >= 0.0));
            }
        }
    }
}
