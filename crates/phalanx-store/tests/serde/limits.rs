//! The most slots and the last generation, in the build in which both can be reached.

use super::*;

const SLOTS: usize = 1 << 10;

fn list(number: u32, len: usize) -> String {
    serde_json::to_string(&vec![number; len]).expect("memory for the text")
}

#[track_caller]
fn refused<S: DeserializeOwned>(json: &str, why: &str) {
    let error = serde_json::from_str::<S>(json).err().unwrap_or_else(|| panic!("{json} was loaded"));
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn as_many_slots_as_there_can_be() {
    for (slots, fits) in [(SLOTS, true), (SLOTS + 1, false)] {
        let (words, order) = (list(0, slots), serde_json::to_string(&(0..slots).collect::<Vec<_>>()).unwrap());
        let pool = format!(r#"{{"words":{words},"free":[]}}"#);
        let packed = format!(r#"{{"words":{words},"order":{order},"values":{words}}}"#);
        let slot = format!(r#"{{"words":{words},"values":{words}}}"#);
        if fits {
            assert!(from_json::<EntityPool>(&pool).try_alloc().is_err());
            assert!(from_json::<PackedStore<u32>>(&packed).try_insert(1).is_err());
            assert!(from_json::<SlotStore<u32>>(&slot).try_insert(1).is_err());
        } else {
            refused::<EntityPool>(&pool, "more slots than there can be");
            refused::<PackedStore<u32>>(&packed, "more slots than there can be");
            refused::<SlotStore<u32>>(&slot, "more slots than there can be");
        }
    }
}

#[test]
fn as_many_indices_as_there_can_be() {
    let present = |words: usize, last: u64| {
        let words: Vec<u64> = (1..words).map(|_| 0).chain([last]).collect();
        format!(r#"{{"present":{},"generations":[255],"values":[1]}}"#, serde_json::to_string(&words).unwrap())
    };
    let store: LinearStore<Entity, u32> = from_json(&present(SLOTS / 64, 1 << 63));
    assert!(store.validate().is_ok() && store.contains(entity(SLOTS as u32 - 1, 255)));
    refused::<LinearStore<Entity, u32>>(&present(SLOTS / 64 + 1, 1), "more indices than there can be");
    refused::<SparseSet<Entity, u32>>(&format!("[[{SLOTS},1]]"), "expected the bits of a handle");
}

#[test]
fn a_slot_that_has_used_all_generations_stays_retired() {
    let mut packed: PackedStore<u32> = PackedStore::new();
    let mut slot: SlotStore<u32> = SlotStore::new();
    let mut pool = EntityPool::new();
    for generation in 0..256 {
        let handles = (packed.insert(1), slot.insert(1), pool.alloc());
        assert_eq!((handles.0.index(), handles.0.generation()), (0, generation));
        packed.remove(handles.0);
        slot.remove(handles.1);
        pool.release(handles.2);
    }
    let mut packed: PackedStore<u32> = postcard::from_bytes(&bytes_of(&packed)).unwrap();
    let mut slot: SlotStore<u32> = postcard::from_bytes(&bytes_of(&slot)).unwrap();
    let mut pool: EntityPool = postcard::from_bytes(&bytes_of(&pool)).unwrap();
    assert_eq!((packed.insert(1).index(), slot.insert(1).index(), pool.alloc().index()), (1, 1, 1));
}

#[test]
fn a_slot_that_is_retired_in_a_hole_is_saved_as_retired() {
    let mut store: PackedStore<u32> = PackedStore::new();
    for _ in 0..255 {
        let worn = store.insert(0);
        store.remove(worn);
    }
    let [worn, _kept, free] = [1, 2, 3].map(|value| store.insert(value));
    assert_eq!((worn.index(), worn.generation()), (0, 255));
    store.remove(free);
    assert!(store.remove_in_place(worn));
    assert_eq!(store.holes(), 1);
    let bytes = bytes_of(&store);
    let mut loaded: PackedStore<u32> = postcard::from_bytes(&bytes).unwrap();
    loaded.validate().unwrap();
    assert_eq!([4, 5].map(|value| loaded.insert(value).index()), [2, 3]);
    store.compact();
    assert_eq!(bytes_of(&store), bytes);
}
