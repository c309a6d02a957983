//! The bytes that real containers hold, beside what the model says.

use crate::measuring::layouts::{Container, Task, Value, population, with_size};
use phalanx_store::memory::{Layout, Model, Usage};
use phalanx_store::{Entity, LinearStore, PackedStore, SlotStore, SparseSet};
use serde::{Serialize, Serializer};

/// The table of `measure`: values of these sizes, this many entities, these utilisations.
pub(crate) const SIZES: [u64; 2] = [8, 64];
pub(crate) const ENTITIES: u64 = 100_000;
pub(crate) const UTILISATIONS: [f64; 9] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];

/// Bytes in one layout.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Footprint {
    #[serde(serialize_with = "layout_name")]
    pub(crate) layout: Layout,
    pub(crate) model: u64,
    pub(crate) measured: u64,
    /// Of the measured bytes, those for values.
    pub(crate) values: u64,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct MemoryUse {
    pub(crate) size: u64,
    pub(crate) entities: u64,
    pub(crate) utilisation: f64,
    /// In the order of [`Layout::ALL`].
    pub(crate) layouts: [Footprint; 4],
}

impl MemoryUse {
    pub(crate) fn of(&self, layout: Layout) -> Footprint {
        self.layouts[layout as usize]
    }

    /// The layout that holds the fewest bytes, among all or among those keyed from elsewhere.
    pub(crate) fn cheapest(&self, among: &[Layout]) -> Option<Layout> {
        among.iter().copied().min_by_key(|&layout| self.of(layout).measured)
    }
}

/// Layouts go into JSON by name.
pub(crate) fn layout_name<S: Serializer>(layout: &Layout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(layout.name())
}

/// Builds the four containers for `model` and asks each what it holds. The size must be a compiled one.
pub(crate) fn measure(model: &Model) -> MemoryUse {
    let (with, _) = population(model);
    let usages = with_size(model.size(), Build { entities: &with });
    MemoryUse {
        size: model.size(),
        entities: model.entities(),
        utilisation: model.utilisation(),
        layouts: Layout::ALL.map(|layout| {
            let usage: Usage = usages[layout as usize];
            Footprint {
                layout,
                model: model.bytes(layout),
                measured: usage.total() as u64,
                values: usage.values as u64,
            }
        }),
    }
}

struct Build<'a> {
    entities: &'a [Entity],
}

impl Task for Build<'_> {
    type Output = [Usage; 4];

    fn run<const WORDS: usize>(self) -> [Usage; 4] {
        [
            usage::<PackedStore<_>, WORDS>(self.entities),
            usage::<SlotStore<_>, WORDS>(self.entities),
            usage::<SparseSet<_, _>, WORDS>(self.entities),
            usage::<LinearStore<_, _>, WORDS>(self.entities),
        ]
    }
}

/// Fills a container with a value for each entity, shrinks it, and returns what it holds.
pub(crate) fn usage<C: Container<Value<WORDS>>, const WORDS: usize>(entities: &[Entity]) -> Usage {
    let mut container = C::with_room(entities.len());
    for (number, &entity) in entities.iter().enumerate() {
        container.put(entity, Value::new(number));
    }
    container.fit();
    container.usage()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_hold_at_least_their_values() {
        for size in [0, 8, 64] {
            let model = Model::new(size, 5000, 0.5).unwrap();
            let row = measure(&model);
            for layout in Layout::ALL {
                assert!(row.of(layout).values >= size * model.live(), "{layout}");
                assert!(row.of(layout).measured >= row.of(layout).values, "{layout}");
                assert_eq!(row.of(layout).layout, layout);
            }
        }
    }
}
