//! Sequences of operations on a world, against a model that is too simple to be wrong.
//!
//! The model is a map from entities to values, and a list of tables in the order of their first rows, each a list of
//! entities that appending and swap-removal alone change. After each step every invariant is validated, every value looked
//! up, every entity that ever was tried again, and the world asked by every query, as often in a state that was held since
//! the beginning as in a fresh one; items must come in the model's order. A failure prints its seed and the smallest
//! sequence that still fails; `PHALANX_SEED=n` runs only that seed, and `PHALANX_CASES=n` runs `n` of them.
#![allow(unreachable_pub)] // The modules of a test binary are not visible outside it.
#![allow(clippy::type_complexity)] // Lists of functions are what the tests are made of.

mod model {
    pub mod kinds;
    pub mod naive;
    pub mod op;
    pub mod queries;
}

use model::op::explore;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[test]
fn a_world_does_what_the_model_does() {
    explore(40, 120, 0);
}

/// Long enough for tables to grow several times.
#[test]
fn a_large_world_does_what_the_model_does() {
    explore(3, 450, 1 << 32);
}

/// Short sequences in fresh worlds: first uses of everything.
#[test]
fn many_young_worlds_do_what_the_model_does() {
    explore(300, 12, 2 << 32);
}

/// The same operations give the same order, whatever else the process does.
#[test]
fn order_is_a_function_of_the_operations() {
    for seed in 0..10 {
        assert_eq!(model::op::order_after(seed), model::op::order_after(seed));
    }
}
