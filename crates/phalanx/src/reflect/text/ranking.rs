//! [`Ranking`]: the best rows of a sorted query.

use super::error::TextQueryError;
use crate::alloc::{try_text, try_vec};
use crate::reflect::place::ComponentRow;
use crate::reflect::{FieldPath, ScalarValue};
use crate::world::World;
use core::cmp::Ordering;
use phalanx_store::{AllocError, Entity};
use std::collections::BinaryHeap;

/// What rows are sorted by.
#[derive(Debug)]
pub(super) struct SortKey {
    /// The field, or the name of the entity.
    pub(super) field: Option<FieldPath>,
    pub(super) descends: bool,
}

impl SortKey {
    fn try_clone(&self) -> Result<SortKey, AllocError> {
        let field = self.field.as_ref().map(FieldPath::try_clone).transpose()?;
        Ok(SortKey { field, descends: self.descends })
    }
}

/// The value of a row by which it is sorted.
#[derive(Clone, Debug)]
enum KeyValue {
    Scalar(ScalarValue),
    Text(String),
    Missing,
}

impl KeyValue {
    fn is_last(&self) -> bool {
        match self {
            KeyValue::Missing => true,
            KeyValue::Scalar(value) => value.as_f64().is_some_and(f64::is_nan),
            KeyValue::Text(_) => false,
        }
    }
}

/// A row with the value by which it is sorted. The greatest comes last in the result.
#[derive(Debug)]
struct Ranked {
    value: KeyValue,
    descends: bool,
    /// Rows with equal values stay in their order.
    number: usize,
    entity: Entity,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        // What is missing or not a number comes last in both directions.
        let order = self.value.is_last().cmp(&other.value.is_last()).then_with(|| {
            let order = match (&self.value, &other.value) {
                (KeyValue::Scalar(a), KeyValue::Scalar(b)) => a.compare(b),
                (KeyValue::Text(a), KeyValue::Text(b)) => a.cmp(b),
                (a, b) => matches!(a, KeyValue::Missing).cmp(&matches!(b, KeyValue::Missing)),
            };
            if self.descends && !self.value.is_last() { order.reverse() } else { order }
        });
        order.then_with(|| self.number.cmp(&other.number))
    }
}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ranked {}

/// The best rows of a query, by its `sort`: [`BoundQuery::ranking`](super::BoundQuery::ranking).
///
/// It keeps a fixed number of rows, so that a scan of many rows needs little memory, and can be made in steps.
///
/// ```
/// use phalanx::reflect::TextQuery;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Score(i32);
///
/// let mut world = World::new();
/// let entities: Vec<_> = [3, 9, -2, 9, 5].map(|score| world.spawn(Score(score))).into();
/// let query = TextQuery::parse("Score sort Score desc")?.bind(&world)?;
/// let (mut cursor, mut ranking) = (query.cursor(&world)?, query.ranking(3));
/// while !cursor.is_done() {
///     query.scan(&world, &mut cursor, 2, |entity| ranking.add(&world, entity))?;
/// }
/// assert_eq!(ranking.finish()?, [entities[1], entities[3], entities[4]]);
/// # Ok::<(), phalanx::reflect::TextQueryError>(())
/// ```
#[derive(Debug)]
pub struct Ranking {
    key: Option<SortKey>,
    count: usize,
    /// The worst of the best is at the top.
    best: BinaryHeap<Ranked>,
    added: usize,
    failed: Option<AllocError>,
}

impl Ranking {
    pub(super) fn new(key: Option<&SortKey>, count: usize) -> Ranking {
        let (key, failed) = match key.map(SortKey::try_clone).transpose() {
            Ok(key) => (key, None),
            Err(error) => (None, Some(error)),
        };
        Ranking { key, count, best: BinaryHeap::new(), added: 0, failed }
    }

    /// Adds an entity that matches. The entity that is worst is dropped if there are too many.
    ///
    /// If allocation fails, [`finish`](Ranking::finish) returns the error.
    pub fn add(&mut self, world: &World, entity: Entity) {
        let number = self.added;
        self.added += 1;
        if self.count == 0 || self.failed.is_some() {
            return;
        }
        let (value, descends) = match &self.key {
            // Without an order rows stay as they are, and those after the last need not be looked at.
            None if self.best.len() == self.count => return,
            None => (KeyValue::Missing, false),
            Some(key) => match value_of(world, entity, key.field.as_ref()) {
                Ok(value) => (value, key.descends),
                Err(error) => {
                    self.failed = Some(error);
                    return;
                }
            },
        };
        let ranked = Ranked { value, descends, number, entity };
        if self.best.len() < self.count {
            match self.best.try_reserve(1) {
                Ok(()) => self.best.push(ranked),
                Err(_) => self.failed = Some(AllocError::OutOfMemory { bytes: size_of::<Ranked>(), align: 8 }),
            }
        } else if let Some(mut worst) = self.best.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// Returns the best entities in order.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if allocation failed, now or before.
    pub fn finish(self) -> Result<Vec<Entity>, TextQueryError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let mut list = try_vec(self.best.len())?;
        list.extend(self.best.into_sorted_vec().into_iter().map(|ranked| ranked.entity));
        Ok(list)
    }
}

/// Returns the value of an entity by which it is sorted.
fn value_of(world: &World, entity: Entity, field: Option<&FieldPath>) -> Result<KeyValue, AllocError> {
    let text = |text: &str| Ok(KeyValue::Text(try_text(text)?));
    let Some(path) = field else {
        return world.storage.name_at(entity.index()).map_or(Ok(KeyValue::Missing), |name| text(name));
    };
    let row = ComponentRow::of_slot(&world.storage, entity, path.component());
    let Some(place) = row.and_then(|row| path.place(row)) else { return Ok(KeyValue::Missing) };
    match (place.scalar(), place.text()) {
        (Some(value), _) => Ok(KeyValue::Scalar(value)),
        (None, Some(found)) => text(found),
        (None, None) => Ok(KeyValue::Missing),
    }
}
