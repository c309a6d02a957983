//! Destructors that panic, at each value in turn, in every operation that ends values and every state it can find.

use crate::cases::{Container, Driven, Scene, endings, for_each_store, states};
use phalanx_store::{Entity, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, in_child};

/// Drives the chosen operations through all states with the k-th destructor panicking, for each k. Values are dropped
/// exactly once, the container is whole and can be used.
fn sweep<S: Driven>(chosen: impl Fn(&str) -> bool) {
    for (state, setup) in states::<S>() {
        for (name, operation) in endings::<S>().into_iter().filter(|(name, _)| chosen(name)) {
            let what = format!("{}, {state}: {name}", S::NAME);
            let points = PanicSweep::new(Site::Drop).run(setup, operation, |scene, tally, _| scene.check(tally));
            assert!(points > 0 || ["entry", "extend"].contains(&name), "{what}: nothing was dropped");
        }
    }
}

#[test]
fn h11_clear_survives_panicking_drop() {
    for_each_store!(sweep::<Counted>(|name| name == "clear"));
}

#[test]
fn h12_row_removal_survives_panicking_drop() {
    // `validate`, in the check, compares keys, index and values with each other.
    for_each_store!(sweep::<Counted>(|name| name.contains("remove")));
}

#[test]
fn h13_overwrite_survives_panicking_drop() {
    let overwrites = ["replace", "entry", "values_mut", "for_each_mut", "extend", "assignment"];
    for_each_store!(sweep::<Counted>(|name| overwrites.contains(&name) || name.starts_with("insert")));
}

#[test]
fn h14_dropping_the_store_survives_panicking_drop() {
    for_each_store!(sweep::<Counted>(|name| name == "drop" || name == "assignment"));
}

#[test]
fn h15_every_dropping_operation_survives_panicking_drop() {
    for_each_store!(sweep::<Counted>(|_| true));
}

/// A value whose destructor always panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor panics");
    }
}

fn aborts_on_two_panics<S: Container<Value = Bomb>>(test: &str) {
    let output = in_child(test, || {
        let mut store = S::default();
        store.put(0, Bomb);
        store.put(1, Bomb);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
    });
    assert!(!output.status.success(), "{}: two panics went by", S::NAME);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("panic in a destructor during cleanup"), "{}: {said}", S::NAME);
}

#[test]
fn h14_second_panic_aborts() {
    aborts_on_two_panics::<PackedStore<Bomb>>("drops::h14_second_panic_aborts");
}

#[test]
fn h14_second_panic_aborts_in_a_slot_store() {
    aborts_on_two_panics::<SlotStore<Bomb>>("drops::h14_second_panic_aborts_in_a_slot_store");
}

#[test]
fn h14_second_panic_aborts_in_a_sparse_set() {
    aborts_on_two_panics::<SparseSet<Entity, Bomb>>("drops::h14_second_panic_aborts_in_a_sparse_set");
}

#[test]
fn h14_second_panic_aborts_in_a_linear_store() {
    aborts_on_two_panics::<LinearStore<Entity, Bomb>>("drops::h14_second_panic_aborts_in_a_linear_store");
}

#[test]
fn h15_one_panicking_value_among_many_is_dropped_with_the_rest() {
    fn run<S: Driven>() {
        for (_, operation) in endings::<S>() {
            let setup = |tally: &Tally| {
                let mut scene = Scene { store: Some(S::default()), keys: vec![] };
                for n in 0..200 {
                    let key = scene.store().put(n, tally.value(n as u32 % 90));
                    scene.keys.push((key, n as u32 % 90));
                }
                scene
            };
            let tally = Tally::new();
            let mut scene = setup(&tally);
            tally.arm(Site::Drop, 67);
            let _ = phalanx_testkit::catch(|| operation(&mut scene, &tally));
            tally.disarm(Site::Drop);
            scene.check(&tally);
            drop(scene);
            tally.assert_no_leaks();
        }
    }
    for_each_store!(run::<Counted>());
}
