//! Reference figures: the same work in other languages on other machines.
//!
//! They compare a packed store in TypeScript with `Map`, and ways to remove from a sparse set in C#. Directions and
//! orders of magnitude can be compared with this machine, nanoseconds cannot.

use crate::measuring::removal::{Order, Way};

/// Packed store against map: how many times as fast, in the order of the rows of [`crate::measuring::speed`].
pub(crate) const SPEED: [f64; 5] = [1.64, 1.15, 1.0 / 1.33, 1.0, 1.69];

/// A row of the removal table: mean, error, standard deviation, median in microseconds.
pub(crate) type Removal = (Way, Order, usize, [f64; 4]);

/// Removing every element, by way and order. There are no figures for deferred removal.
pub(crate) const REMOVAL: [Removal; 18] = [
    (Way::Swap, Order::Reverse, 10_000, [41.68, 0.825, 1.209, 41.79]),
    (Way::Swap, Order::Linear, 10_000, [42.82, 0.851, 1.399, 42.83]),
    (Way::Swap, Order::Random, 10_000, [45.59, 0.903, 1.075, 45.50]),
    (Way::Shift, Order::Reverse, 10_000, [61.86, 1.353, 3.725, 61.48]),
    (Way::Swap, Order::Reverse, 100_000, [290.98, 5.730, 8.217, 286.89]),
    (Way::Swap, Order::Linear, 100_000, [295.25, 5.882, 7.002, 295.54]),
    (Way::Swap, Order::Random, 100_000, [409.35, 7.702, 7.565, 405.67]),
    (Way::Shift, Order::Reverse, 100_000, [440.00, 8.429, 7.472, 437.75]),
    (Way::Swap, Order::Reverse, 250_000, [687.89, 3.690, 3.081, 687.25]),
    (Way::Swap, Order::Linear, 250_000, [691.51, 3.748, 3.322, 691.50]),
    (Way::Shift, Order::Reverse, 250_000, [1_059.04, 16.636, 15.561, 1_057.12]),
    (Way::Swap, Order::Random, 250_000, [1_064.65, 19.698, 36.512, 1_048.54]),
    (Way::Shift, Order::Random, 10_000, [28_061.13, 490.183, 434.534, 27_916.44]),
    (Way::Shift, Order::Linear, 10_000, [57_214.52, 686.687, 642.328, 57_218.58]),
    (Way::Shift, Order::Random, 100_000, [2_898_043.15, 57_450.454, 72_656.430, 2_859_386.54]),
    (Way::Shift, Order::Linear, 100_000, [5_824_036.29, 73_614.984, 61_471.846, 5_812_698.46]),
    (Way::Shift, Order::Random, 250_000, [17_908_060.10, 249_017.326, 232_930.961, 17_889_613.81]),
    (Way::Shift, Order::Linear, 250_000, [36_972_363.97, 472_965.859, 442_412.558, 36_850_371.92]),
];

/// Returns the reference mean in nanoseconds, if there is one.
pub(crate) fn removal_mean(way: Way, order: Order, count: usize) -> Option<f64> {
    REMOVAL.iter().find(|row| (row.0, row.1, row.2) == (way, order, count)).map(|row| row.3[0] * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ordered_by_mean() {
        assert!(REMOVAL.is_sorted_by(|a, b| a.3[0] < b.3[0]));
    }

    #[test]
    fn every_way_but_the_deferred_has_a_reference() {
        for order in Order::ALL {
            for count in crate::measuring::removal::COUNTS {
                assert!(removal_mean(Way::Swap, order, count).is_some());
                assert!(removal_mean(Way::Shift, order, count).is_some());
                assert!(removal_mean(Way::Deferred, order, count).is_none());
            }
        }
    }
}
