//! Arrays through serde.

use phalanx_store::Soa;
use serde_json::{from_str, from_value, json, to_string};

#[derive(Soa, Clone, Debug, PartialEq)]
struct Body {
    x: f32,
    name: String,
}

impl serde::Serialize for Body {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.x, &self.name).serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Body {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (x, name): (f32, String) = serde::Deserialize::deserialize(deserializer)?;
        match name.is_empty() {
            true => Err(serde::de::Error::custom("a body has a name")),
            false => Ok(Body { x, name }),
        }
    }
}

#[test]
fn an_array_is_written_as_a_vec_is() {
    let rows = vec![Body { x: 1.5, name: "a".into() }, Body { x: 2.5, name: "b".into() }];
    let soa: Soa<Body> = rows.iter().cloned().collect();
    let text = to_string(&soa).unwrap();
    assert_eq!(text, to_string(&rows).unwrap());
    assert_eq!(from_str::<Soa<Body>>(&text).unwrap(), soa);
    assert_eq!(from_str::<Soa<Body>>("[]").unwrap(), Soa::new());
}

#[test]
fn what_a_row_refuses_is_refused() {
    let error = from_value::<Soa<Body>>(json!([[1.0, "a"], [2.0, ""]])).unwrap_err();
    assert!(error.to_string().contains("a body has a name"));
    assert!(from_value::<Soa<Body>>(json!({"x": []})).unwrap_err().to_string().contains("a sequence of Body"));
}

/// A format that promises more rows than there can be.
struct Boaster(u32);

impl<'de> serde::de::SeqAccess<'de> for Boaster {
    type Error = serde::de::value::Error;
    fn next_element_seed<S: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        use serde::de::IntoDeserializer;
        self.0 = match self.0.checked_sub(1) {
            Some(left) => left,
            None => return Ok(None),
        };
        seed.deserialize(self.0.into_deserializer()).map(Some)
    }
    fn size_hint(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

#[derive(Soa)]
struct Number {
    n: u32,
}

impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|n| Number { n })
    }
}

#[test]
fn a_promised_length_reserves_little() {
    let input = serde::de::value::SeqAccessDeserializer::new(Boaster(3));
    let soa: Soa<Number> = serde::Deserialize::deserialize(input).unwrap();
    assert_eq!(soa.lanes().n, [2, 1, 0]);
    assert!(soa.memory() <= 64 * 1024 + 64);
}

#[derive(Soa)]
struct Nothing;

impl<'de> serde::Deserialize<'de> for Nothing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|_| Nothing)
    }
}

#[test]
fn rows_without_data_are_not_loaded_without_end() {
    let load = |count| {
        let input = serde::de::value::SeqAccessDeserializer::new(Boaster(count));
        <Soa<Nothing> as serde::Deserialize>::deserialize(input)
    };
    assert_eq!(load(1000).unwrap().len(), 1000);
    assert!(load(u32::MAX).unwrap_err().to_string().contains("more rows without data"));
}
