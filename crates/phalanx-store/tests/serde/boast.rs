//! A format whose lists declare `usize::MAX` elements and end when they end. (Postcard and JSON declare no more than
//! their input could hold.)

use super::*;
use phalanx_testkit::measure;
use serde::de::value::Error;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::Value;

struct Boast<'a>(&'a Value);
struct Elements<'a>(core::slice::Iter<'a, Value>);

impl<'de> Deserializer<'de> for Boast<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(elements) => visitor.visit_seq(Elements(elements.iter())),
            number => visitor.visit_u64(number.as_u64().expect("lists and numbers")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|element| seed.deserialize(Boast(element))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

/// Loads a container and asserts that no list reserved more than 4 KiB because of what it declared.
fn load<S: DeserializeOwned>(json: &str) -> S {
    let value = from_json(json);
    let (loaded, usage) = measure(|| S::deserialize(Boast(&value)));
    assert!(usage.largest <= 4 << 10 && usage.peak_bytes <= 20 << 10, "{json}: {usage:?}");
    loaded.unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn a_declared_length_is_not_believed() {
    type Large = [u64; 4];
    assert_eq!(load::<EntityPool>("[[0,3],[1]]").len(), 1);
    assert_eq!(load::<PackedStore<Large>>("[[0,3],[0,1],[[1,2,3,4]]]").len(), 1);
    assert_eq!(load::<SlotStore<Large>>("[[0,3],[[1,2,3,4]]]").len(), 1);
    assert_eq!(load::<SparseSet<Entity, Large>>("[[3,[1,2,3,4]]]").len(), 1);
    assert_eq!(load::<LinearStore<Entity, Large>>("[[4],[0],[[1,2,3,4]]]").len(), 1);
    // Values without size reserve nothing, however many.
    assert_eq!(load::<PackedStore<[u64; 0]>>("[[0,3],[0,1],[[]]]").len(), 1);
}
