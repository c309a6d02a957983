//! [`Differences`]: what [`diff_all`](super::diff_all) finds, with the fields of values.

use super::diff::Difference;
use crate::component::ComponentId;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

/// The differences between two worlds: [`diff_all`](super::diff_all).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences {
    /// The differences: by entity, then by component in the order of registration, then by resource.
    pub list: Vec<FoundDifference>,
    /// Whether the list has all differences. If not, it is as long as the limit.
    pub is_complete: bool,
}

/// A difference between two worlds, with the fields of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDifference {
    /// What differs.
    pub difference: Difference,
    /// The fields in which two values of a component differ, if they are known. Without the feature `reflect`, none is.
    pub fields: Vec<FieldDifference>,
}

/// A field that has different values in two worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The path of the field, such as `at.x`. It is empty for the value of a newtype.
    pub path: String,
    /// The value in the first world.
    pub first: String,
    /// The value in the second world.
    pub second: String,
}

impl fmt::Display for FoundDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.difference.fmt(f)?;
        for (at, field) in self.fields.iter().enumerate() {
            f.write_str(if at == 0 { ": " } else { "; " })?;
            field.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "it" } else { &self.path };
        write!(f, "{path} is {} in the first and {} in the second", self.first, self.second)
    }
}

impl FieldDifference {
    /// Returns the fields in which the values of a component differ.
    #[cfg(not(feature = "reflect"))]
    pub(super) fn list(
        _: (&World, Entity, Option<ComponentId>),
        _: (&World, Entity, Option<ComponentId>),
    ) -> Vec<FieldDifference> {
        Vec::new()
    }

    /// Returns the fields in which the values of a component differ.
    #[cfg(feature = "reflect")]
    pub(super) fn list(
        a: (&World, Entity, Option<ComponentId>),
        b: (&World, Entity, Option<ComponentId>),
    ) -> Vec<FieldDifference> {
        let value = |(world, slot, id): (_, _, Option<ComponentId>)| Value::of_slot(world, slot, id?);
        let mut list = Vec::new();
        if let (Some(a), Some(b)) = (value(a), value(b)) {
            compare(&mut list, &mut String::new(), a, b);
        }
        list
    }
}

#[cfg(feature = "reflect")]
use crate::reflect::{ScalarValue, Value};

/// The number of fields of one value that are listed.
#[cfg(feature = "reflect")]
const MOST_FIELDS: usize = 64;

/// The number of bytes of a value that are shown.
#[cfg(feature = "reflect")]
const MOST_BYTES: usize = 256;

/// Lists the fields in which two values of one type differ. What is opaque is compared by the text that `Debug` makes of it.
#[cfg(feature = "reflect")]
fn compare(list: &mut Vec<FieldDifference>, path: &mut String, a: Value<'_>, b: Value<'_>) {
    // Values without bytes are equal, and an array can have any number of them.
    if list.len() == MOST_FIELDS || a.shape().is_some_and(|shape| shape.size == 0) {
        return;
    }
    let mut add = |first: String, second: String| list.push(FieldDifference { path: path.clone(), first, second });
    match ((a.scalar(), b.scalar()), (a.text(), b.text())) {
        ((Some(a), Some(b)), _) if a.is_same(&b) => {}
        ((Some(a), Some(b)), _) => {
            let is_shown = a.to_string() != b.to_string();
            let show =
                |value: ScalarValue| if is_shown { value.to_string() } else { format!("{value} ({:#x})", bits(value)) };
            add(show(a), show(b));
        }
        (_, (Some(a), Some(b))) if a == b => {}
        (_, (Some(_), Some(_))) => add(shown(a.fields_within(MOST_BYTES)), shown(b.fields_within(MOST_BYTES))),
        _ if a.fields().len() > 0 => {
            let is_newtype = a.fields().len() == 1;
            for ((name, a), (_, b)) in a.fields().zip(b.fields()) {
                below(list, path, if is_newtype { "" } else { name }, a, b);
            }
        }
        _ => {
            let mut is_array = false;
            for (at, (a, b)) in a.elements().zip(b.elements()).enumerate() {
                is_array = true;
                below(list, path, &at.to_string(), a, b);
            }
            if !is_array {
                let (a, b) = (shown(a.debug_within(MOST_BYTES)), shown(b.debug_within(MOST_BYTES)));
                if a != b {
                    list.push(FieldDifference { path: path.clone(), first: a, second: b });
                }
            }
        }
    }
}

/// Compares two values that are parts of others.
#[cfg(feature = "reflect")]
fn below(list: &mut Vec<FieldDifference>, path: &mut String, name: &str, a: Value<'_>, b: Value<'_>) {
    let len = path.len();
    path.push_str(if path.is_empty() || name.is_empty() { "" } else { "." });
    path.push_str(name);
    compare(list, path, a, b);
    path.truncate(len);
}

#[cfg(feature = "reflect")]
fn shown(result: Result<crate::reflect::Shown, crate::reflect::ShowError>) -> String {
    result.map_or_else(|_| "_".into(), |shown| shown.to_string())
}

/// Returns the bits of a float. Other values have a text of their own.
#[cfg(feature = "reflect")]
fn bits(value: ScalarValue) -> u64 {
    match value {
        ScalarValue::F32(number) => number.to_bits().into(),
        ScalarValue::F64(number) => number.to_bits(),
        _ => 0,
    }
}
