//! What cannot have been saved is refused, and says why.

use super::*;
use phalanx_store::Handle;

/// Asserts that the JSON is refused with this sentence in the message.
#[track_caller]
fn refused<S: DeserializeOwned>(json: &str, why: &str) {
    match serde_json::from_str::<S>(json) {
        Ok(_) => panic!("{json} was loaded"),
        Err(error) => assert!(error.to_string().contains(why), "{json}: {error}"),
    }
}

type Pool = EntityPool;
type Packed = PackedStore<u32>;
type Slot = SlotStore<u32>;
type Sparse = SparseSet<Entity, u32>;
type Linear = LinearStore<Entity, u32>;

const NEVER: &str = "has a generation that is never issued";

#[test]
fn bits_of_no_handle() {
    for bits in [u64::MAX, u64::from(u32::MAX), 1 << 62, 1 << 63] {
        let why = format!("invalid value: integer `{bits}`, expected the bits of a handle");
        refused::<Entity>(&bits.to_string(), &why);
        refused::<Handle<str>>(&bits.to_string(), &why);
        refused::<Sparse>(&format!("[[0,1],[{bits},2]]"), &why);
    }
    refused::<Entity>("-1", "invalid value");
    refused::<Entity>(r#""3v1""#, "invalid type");
}

#[test]
fn words_that_no_slot_has() {
    // A live generation past the last, the same of a free slot, and nearly the word of a retired one.
    for word in [LAST + 2, LAST + 3, u32::MAX - 1, u32::MAX - 2] {
        refused::<Pool>(&format!(r#"{{"words":[0,{word}],"free":[1]}}"#), &format!("slot 1 {NEVER}"));
        refused::<Packed>(&format!(r#"{{"words":[{word}],"order":[0],"values":[]}}"#), &format!("slot 0 {NEVER}"));
        refused::<Packed>(&format!(r#"{{"order":[0],"values":[1],"words":[{word}]}}"#), &format!("slot 0 {NEVER}"));
        refused::<Slot>(&format!(r#"{{"words":[0,0,{word}],"values":[1,2]}}"#), &format!("slot 2 {NEVER}"));
    }
    refused::<Pool>(r#"{"words":[4294967296],"free":[]}"#, "invalid value");
}

#[test]
fn free_lists_that_are_none() {
    refused::<Pool>(r#"{"words":[3,3],"free":[1]}"#, "free slots: 1 instead of 2");
    refused::<Pool>(r#"{"words":[3,3],"free":[1,0,1]}"#, "free slots: 3 instead of 2");
    refused::<Pool>(r#"{"words":[3,3],"free":[1,1]}"#, "slot 1 is among the free ones twice");
    refused::<Pool>(r#"{"words":[3,3],"free":[1,2]}"#, "slot 2 is among the free ones and does not exist");
    refused::<Pool>(r#"{"words":[3],"free":[4294967295]}"#, "slot 4294967295 is among the free ones and does not");
    refused::<Pool>(r#"{"words":[3,0],"free":[1]}"#, "slot 1 is among the free ones and is not free");
    refused::<Pool>(r#"{"words":[3,4294967295],"free":[1]}"#, "slot 1 is among the free ones and is not free");
    // The last generation of a free slot, where a mark would make it look retired.
    refused::<Pool>(&format!(r#"{{"words":[{0},{0}],"free":[1,1]}}"#, LAST + 1), "slot 1 is among the free ones");
}

#[test]
fn orders_that_are_none() {
    let order = |order: &str, why: &str| {
        // Live, free, retired, live, free.
        refused::<Packed>(&format!(r#"{{"words":[0,3,4294967295,2,5],"order":{order},"values":[1,2]}}"#), why);
    };
    order("[0,3,1,4]", "slots in the order: 4 instead of 5");
    order("[0,3,1,4,2,2]", "slots in the order: 6 instead of 5");
    order("[0,0,1,4,2]", "slot 0 is in the order twice");
    order("[0,3,4,4,2]", "slot 4 is in the order twice");
    order("[0,3,1,4,5]", "slot 5 is in the order and does not exist");
    order("[0,3,1,4,2147483650]", "slot 2147483650 is in the order and does not exist");
    order("[0,1,3,4,2]", "slot 1 is among the live ones in the order and is not alive");
    order("[0,3,1,2,4]", "slot 2 is among the free ones in the order and is not free");
    order("[3,0,1,3,2]", "slot 3 is among the free ones in the order and is not free");
    order("[3,0,1,4,1]", "slot 1 is among the retired ones in the order and is not retired");
    let good: Packed = from_json(r#"{"words":[0,3,4294967295,2,5],"order":[3,0,4,1,2],"values":[1,2]}"#);
    good.validate().unwrap();
}

#[test]
fn values_that_do_not_fit_their_slots() {
    refused::<Packed>(r#"{"words":[0,0],"order":[0,1],"values":[1]}"#, "values of live slots: 1 instead of 2");
    refused::<Packed>(r#"{"words":[0,3],"order":[0,1],"values":[1,2]}"#, "more values than live slots");
    refused::<Packed>(r#"{"values":[1,2],"words":[0,3],"order":[0,1]}"#, "values of live slots: 2 instead of 1");
    refused::<Slot>(r#"{"words":[0,0],"values":[1]}"#, "values of live slots: 1 instead of 2");
    refused::<Slot>(r#"{"words":[0,4294967295],"values":[1,2]}"#, "more values than live slots");
    refused::<Slot>(r#"{"values":[1,2],"words":[0,3]}"#, "values of live slots: 2 instead of 1");
}

#[test]
fn keys_that_come_twice() {
    refused::<Sparse>("[[3,1],[3,2]]", "slot 3 comes twice");
    // The same index, in an older and in a later generation.
    refused::<Sparse>("[[4294967299,1],[3,2]]", "slot 3 comes twice");
    refused::<Sparse>("[[3,1],[4294967299,2]]", "slot 3 comes twice");
    refused::<Sparse>("[[4000000000,1],[4000000000,2]]", "slot 4000000000 comes twice");
}

#[test]
fn presence_that_contradicts_itself() {
    refused::<Linear>(r#"{"present":[1,0],"generations":[0],"values":[1]}"#, "ends with a word that has no bit set");
    refused::<Linear>(r#"{"present":[0],"generations":[],"values":[]}"#, "ends with a word that has no bit set");
    refused::<Linear>(r#"{"present":[3],"generations":[0],"values":[1]}"#, "present indices: 1 instead of 2");
    refused::<Linear>(
        r#"{"present":[3],"generations":[0,0],"values":[1]}"#,
        "values of present indices: 1 instead of 2",
    );
    refused::<Linear>(r#"{"present":[1],"generations":[0,0],"values":[1]}"#, "more generations than present");
    refused::<Linear>(r#"{"present":[1],"generations":[0],"values":[1,2]}"#, "more values than present");
    refused::<Linear>(r#"{"values":[1,2],"generations":[0],"present":[1]}"#, "values of present indices: 2 instead");
    for generation in [1 << 30, 1 << 31, u32::MAX] {
        let json = format!(r#"{{"present":[0,4],"generations":[{generation}],"values":[1]}}"#);
        refused::<Linear>(&json, &format!("slot 66 {NEVER}"));
    }
}

#[test]
fn fields_as_a_derive_would_have_them() {
    let sorted: Packed = from_json(r#"{"values":[7],"extra":{"deep":[1,{}]},"order":[0],"words":[0],"more":null}"#);
    assert_eq!(sorted.as_slice(), [7]);
    let bare: Packed = from_json("[[0],[0],[7]]");
    assert_eq!(bare.as_slice(), [7]);
    refused::<Packed>(r#"{"words":[0],"words":[0],"order":[0],"values":[7]}"#, "duplicate field `words`");
    refused::<Packed>(r#"{"words":[0],"order":[0]}"#, "missing field `values`");
    refused::<Slot>(r#"{"values":[]}"#, "missing field `words`");
    refused::<Pool>(r#"{"words":[]}"#, "missing field `free`");
    refused::<Linear>(r#"{"present":[],"values":[]}"#, "missing field `generations`");
    refused::<Packed>("[[0],[0]]", "invalid length 2, expected struct PackedStore with words order values");
    refused::<Packed>("[[0],[0],[7],[8]]", "trailing characters");
    refused::<Packed>("7", "invalid type: integer `7`, expected struct PackedStore");
    refused::<Sparse>("7", "expected a list of pairs of a key and a value");
    refused::<Sparse>("[[1]]", "invalid length 1");
    refused::<Slot>(r#"{"words":7,"values":[]}"#, "invalid type: integer `7`, expected a list");
}

#[test]
#[allow(unsafe_code)]
fn a_pool_with_rows_is_not_written() {
    let mut pool = EntityPool::new();
    // SAFETY: no other layer sees what this test makes.
    let row = unsafe { pool.alloc_row() };
    assert!(serde_json::to_string(&pool).unwrap_err().to_string().contains("rows"));
    assert!(pool.release(row));
    let copy: Pool = serde_json::from_str(&serde_json::to_string(&pool).unwrap()).unwrap();
    assert!(!copy.contains(row));
}
