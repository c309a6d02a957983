//! A load that fails drops what it had, once, whatever it failed of.

use super::*;
use phalanx_testkit::{Counted, Site, Tally, catch, for_every_failing_allocation};
use serde::{Deserialize, Deserializer};
use std::cell::RefCell;

thread_local! {
    static TALLY: RefCell<Option<Tally>> = const { RefCell::new(None) };
}

/// A counted value, made by loading; loading one counts as a callback.
struct Loaded(Counted);

impl<'de> Deserialize<'de> for Loaded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = u32::deserialize(deserializer)?;
        TALLY.with_borrow(|tally| {
            let tally = tally.as_ref().expect("a tally");
            tally.callback();
            Ok(Loaded(tally.value(key)))
        })
    }
}

/// Runs `f` with a fresh tally and asserts that every value was dropped once.
fn counted<R>(f: impl FnOnce() -> R) -> R {
    TALLY.set(Some(Tally::new()));
    let result = f();
    TALLY.take().expect("the tally").assert_no_leaks();
    result
}

fn made() -> u32 {
    TALLY.with_borrow(|tally| tally.as_ref().map_or(0, Tally::made))
}

/// Loads a container of counted values, cut at every byte and with a panic at every value.
fn fail_everywhere<S: DeserializeOwned>(bytes: &[u8], values: u32) {
    counted(|| {
        assert!(postcard::from_bytes::<S>(bytes).is_ok());
        assert_eq!(made(), values);
    });
    for len in 0..bytes.len() {
        counted(|| assert!(postcard::from_bytes::<S>(&bytes[..len]).is_err()));
    }
    for n in 1..=u64::from(values) {
        counted(|| {
            TALLY.with_borrow(|tally| tally.as_ref().unwrap().arm(Site::Callback, n));
            assert!(catch(|| postcard::from_bytes::<S>(bytes).is_ok()).is_err());
        });
    }
    let points = for_every_failing_allocation(
        || TALLY.set(Some(Tally::new())),
        |()| postcard::from_bytes::<S>(bytes),
        |(), outcome| {
            if outcome.is_err() {
                TALLY.with_borrow(|tally| tally.as_ref().unwrap().assert_no_leaks());
            }
        },
    );
    assert!(points > 3, "{points}");
    TALLY.take();
}

#[test]
fn values_are_dropped_once_when_the_input_ends() {
    let (packed, _) = churned_packed(6, 40);
    fail_everywhere::<PackedStore<Loaded>>(&bytes_of(&packed), packed.len() as u32);
    let (slot, _) = churned_slot(6, 40);
    fail_everywhere::<SlotStore<Loaded>>(&bytes_of(&slot), slot.len() as u32);
    let sparse = churned_sparse(6, 40);
    fail_everywhere::<SparseSet<Entity, Loaded>>(&bytes_of(&sparse), sparse.len() as u32);
    let linear = churned_linear(6, 40);
    fail_everywhere::<LinearStore<Entity, Loaded>>(&bytes_of(&linear), linear.len() as u32);
}

#[test]
fn values_are_dropped_once_when_the_input_is_refused() {
    fn refuse<S: DeserializeOwned>(json: &str, values: u32) {
        counted(|| {
            assert!(serde_json::from_str::<S>(json).is_err());
            assert_eq!(made(), values);
        });
    }
    refuse::<PackedStore<Loaded>>(r#"{"words":[0,0],"order":[0,0],"values":[1,2]}"#, 2);
    refuse::<PackedStore<Loaded>>(r#"{"words":[0,0],"order":[0,1],"values":[1]}"#, 1);
    refuse::<PackedStore<Loaded>>(r#"{"words":[0],"order":[0],"values":[1,2]}"#, 2);
    refuse::<PackedStore<Loaded>>(r#"{"values":[1,2],"words":[0]}"#, 2);
    refuse::<PackedStore<Loaded>>(r#"{"values":[1,2],"values":[3]}"#, 2);
    refuse::<SlotStore<Loaded>>(r#"{"words":[0,0],"values":[1,2],"words":[]}"#, 2);
    refuse::<SlotStore<Loaded>>(r#"{"words":[0,0],"values":[1]}"#, 1);
    refuse::<SparseSet<Entity, Loaded>>("[[1,1],[2,2],[1,3]]", 3);
    refuse::<LinearStore<Entity, Loaded>>(r#"{"present":[3],"generations":[0,1073741824],"values":[1,2]}"#, 2);
}

#[test]
fn a_pool_that_cannot_be_allocated_is_an_error() {
    let bytes = bytes_of(&churned_pool(6, 40).0);
    let load = |(): &mut ()| postcard::from_bytes::<EntityPool>(&bytes);
    // Two lists, two lanes.
    assert_eq!(for_every_failing_allocation(|| (), load, |(), _| ()), 4);
}

#[test]
fn saving_that_needs_memory_and_has_none_is_an_error() {
    let (mut pool, _) = churned_pool(6, 40);
    let someone = pool.iter().next().unwrap();
    pool.release(someone);
    assert_eq!([(); 9].map(|()| pool.reserve_entity()).len(), pool.reserved_count());
    let (mut packed, handles) = churned_packed(6, 40);
    assert!(packed.remove_in_place(*handles.iter().find(|h| packed.position(**h) == Some(1)).unwrap()));
    let mut buffer = [0; 1024];
    let points = for_every_failing_allocation(
        || (),
        |()| postcard::to_slice(&(&pool, &packed), &mut buffer).map(|_| ()),
        |(), _| (),
    );
    assert!(points >= 4, "{points}");
}

#[test]
fn a_failed_load_in_place_changes_nothing() {
    let mut store: PackedStore<u32> = [1, 2].into_iter().collect();
    let mut input = serde_json::Deserializer::from_str(r#"{"words":[0],"order":[1],"values":[7]}"#);
    assert!(Deserialize::deserialize_in_place(&mut input, &mut store).is_err());
    assert_eq!(store.as_slice(), [1, 2]);
}

#[test]
fn loaded_values_are_the_saved_ones() {
    counted(|| {
        let store: SlotStore<Loaded> = from_json(r#"{"words":[0,3,0],"values":[5,6]}"#);
        assert!(store.values().map(|value| value.0.key()).eq([5, 6]));
    });
}
