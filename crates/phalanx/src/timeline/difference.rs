//! [`Difference`]: what differs between two states of a world, entity by entity.

use super::Checkpoint;
use super::image::{ByteArray, DEAD, Image, SparseState};
use crate::component::ComponentId;
use core::fmt;
use phalanx_store::Entity;
use std::collections::BTreeMap;

/// A difference between two states of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// An entity is alive in one state only: in the first, if `in_first` is set.
    Alive {
        /// The entity.
        entity: Entity,
        /// Whether it is alive in the first state.
        in_first: bool,
    },
    /// An entity has a component in one state only: in the first, if `in_first` is set.
    Component {
        /// The entity.
        entity: Entity,
        /// The component.
        component: ComponentId,
        /// The type name of the component.
        name: &'static str,
        /// Whether the entity has it in the first state.
        in_first: bool,
    },
    /// A value differs. Values that are not plain are not compared.
    Value {
        /// The entity.
        entity: Entity,
        /// The component.
        component: ComponentId,
        /// The type name of the component.
        name: &'static str,
        /// The lane that differs: 0, or the number of a field of a soa component.
        lane: usize,
        /// The first byte of the lane that differs.
        offset: usize,
        /// The bytes of the lane in both states.
        bytes: [Vec<u8>; 2],
    },
    /// A plain kept resource differs. `None` says that it is absent.
    Resource {
        /// The type name of the resource.
        name: &'static str,
        /// The bytes of the resource in both states.
        bytes: [Option<Vec<u8>>; 2],
    },
    /// Entities have the same values, but rows, free slots, groups or extra rows differ.
    Order,
}

impl Difference {
    /// Returns the entity, if the difference is one of an entity.
    pub fn entity(&self) -> Option<Entity> {
        match self {
            Difference::Alive { entity, .. }
            | Difference::Component { entity, .. }
            | Difference::Value { entity, .. } => Some(*entity),
            Difference::Resource { .. } | Difference::Order => None,
        }
    }

    /// Returns the type name of the component or resource, if the difference is one of such.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Difference::Component { name, .. } | Difference::Value { name, .. } | Difference::Resource { name, .. } => {
                Some(name)
            }
            Difference::Alive { .. } | Difference::Order => None,
        }
    }

    /// Returns the component, if the difference is one of a component.
    pub fn component(&self) -> Option<ComponentId> {
        match self {
            Difference::Component { component, .. } | Difference::Value { component, .. } => Some(*component),
            _ => None,
        }
    }
}

/// Writes bytes as hexadecimal numbers, the first byte first.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if at > 0 && at % 4 == 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |in_first: &bool| if *in_first { "first" } else { "second" };
        match self {
            Difference::Alive { entity, in_first } => {
                write!(f, "entity {entity} is alive in the {} only", side(in_first))
            }
            Difference::Component { entity, name, in_first, .. } => {
                write!(f, "entity {entity} has {name} in the {} only", side(in_first))
            }
            Difference::Value { entity, name, lane, offset, bytes: [first, second], .. } => {
                write!(f, "entity {entity} {name}")?;
                if *lane > 0 {
                    write!(f, " lane {lane}")?;
                }
                write!(f, " byte {offset}: {} / {}", Hex(first), Hex(second))
            }
            Difference::Resource { name, bytes } => {
                write!(f, "resource {name}: ")?;
                for (at, bytes) in bytes.iter().enumerate() {
                    match bytes {
                        Some(bytes) => write!(f, "{}", Hex(bytes))?,
                        None => write!(f, "absent")?,
                    }
                    f.write_str(if at == 0 { " / " } else { "" })?;
                }
                Ok(())
            }
            Difference::Order => write!(f, "the order of rows, free slots, groups or extra rows differs"),
        }
    }
}

/// The value of a component: the lanes that have a size, or `None` if it is not plain.
type Value<'a> = Option<Vec<&'a [u8]>>;

/// The components of each entity of an image, by slot.
type Entities<'a> = BTreeMap<u32, (Entity, BTreeMap<ComponentId, Value<'a>>)>;

/// Returns the lanes of a row.
fn lanes(arrays: &[ByteArray], count: usize, row: u32) -> Value<'_> {
    if arrays.is_empty() && count > 0 {
        return None;
    }
    Some(arrays.iter().take(count).map(|array| array.run(&(row..row + 1))).collect())
}

/// Returns the components of all entities of an image, without extra rows.
fn entities(image: &Image) -> Entities<'_> {
    let mut all = Entities::new();
    let entity = |index: u32| {
        let word = image.words.word(index).filter(|word| word & DEAD == 0)?;
        Entity::from_bits(u64::from(word) << 32 | u64::from(index))
    };
    for table in image.tables.iter().filter(|table| !table.signature.has(ComponentId::ROW)) {
        for (row, [position, _]) in (0..).zip(table.slots.pairs()) {
            let Some(entity) = entity(position - 1) else { continue };
            let values = table.columns.iter().map(|column| {
                let count = image.components[column.id.index()].lanes;
                let arrays = column.column.arrays();
                let sized = arrays.iter().all(|array| array.row_size() > 0);
                (column.id, if sized { lanes(arrays, count, row) } else { Some(Vec::new()) })
            });
            all.insert(position - 1, (entity, values.collect()));
        }
    }
    for sparse in &image.sparse {
        let info = &image.components[sparse.id.index()];
        let arrays = sparse.column.arrays();
        let sized = arrays.iter().all(|array| array.row_size() > 0);
        let mut add = |slot: u32, row: u32| {
            if let Some((_, values)) = all.get_mut(&slot) {
                values.insert(sparse.id, if sized { lanes(arrays, info.lanes, row) } else { Some(Vec::new()) });
            }
        };
        match &sparse.state {
            SparseState::Pool(_) => {
                let keys = (0..).zip(sparse.keys.pairs()).filter(|(_, key)| key[1] & DEAD == 0);
                keys.for_each(|(row, [position, _])| add(position - 1, row));
            }
            SparseState::Linear { .. } => sparse.keys.bits().for_each(|slot| add(slot, slot)),
        }
    }
    all
}

/// Returns what differs between two states of a world, at most `limit` differences, by entity. Change ticks are not compared.
///
/// The values of entities are compared if they are plain. Resources are compared if they are
/// [plain and kept](crate::ResourcesMut::keep_plain). The states are those of one world: both may be
/// [pinned](super::Timeline::pin) frames.
///
/// ```
/// use phalanx::timeline::{Difference, differences};
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Height(i32);
///
/// let mut world = World::new();
/// let stone = world.spawn(Height(1));
/// let before = world.checkpoint()?;
/// world.get_mut::<Height>(stone).unwrap().0 = 3;
/// let found = differences(&before, &world.checkpoint()?, 10);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].entity(), Some(stone));
/// assert!(found[0].name().unwrap().ends_with("Height"));
/// # Ok::<(), phalanx::timeline::TimelineError>(())
/// ```
///
/// # Panics
///
/// Panics if the states are of different worlds.
pub fn differences(first: &Checkpoint, second: &Checkpoint, limit: usize) -> Vec<Difference> {
    assert!(first.image.registry_id == second.image.registry_id, "the states are of different worlds");
    let (images, mut found) = ([&first.image, &second.image], Vec::new());
    // The later state has the components of both.
    let components = if images[0].components.len() > images[1].components.len() { images[0] } else { images[1] };
    let components = &components.components;
    let [ours, theirs] = images.map(entities);
    let mut slots: Vec<u32> = ours.keys().chain(theirs.keys()).copied().collect();
    slots.sort_unstable();
    slots.dedup();
    for slot in slots {
        let (a, b) = match (ours.get(&slot), theirs.get(&slot)) {
            (Some(a), Some(b)) if a.0 == b.0 => (a, b),
            (a, b) => {
                found.extend(a.map(|(entity, _)| Difference::Alive { entity: *entity, in_first: true }));
                found.extend(b.map(|(entity, _)| Difference::Alive { entity: *entity, in_first: false }));
                continue;
            }
        };
        let entity = a.0;
        let mut ids: Vec<ComponentId> = a.1.keys().chain(b.1.keys()).copied().collect();
        ids.sort_unstable_by_key(|id| (components[id.index()].rank, *id));
        ids.dedup();
        for component in ids {
            let name = components[component.index()].name;
            match (a.1.get(&component), b.1.get(&component)) {
                (Some(Some(first)), Some(Some(second))) => {
                    let differing = (0..).zip(first.iter().zip(second)).find(|(_, (first, second))| first != second);
                    if let Some((lane, (first, second))) = differing {
                        let offset = first.iter().zip(*second).position(|(a, b)| a != b).unwrap_or(0);
                        let bytes = [first.to_vec(), second.to_vec()];
                        found.push(Difference::Value { entity, component, name, lane, offset, bytes });
                    }
                }
                (Some(_), Some(_)) | (None, None) => {}
                (in_first, _) => {
                    let in_first = in_first.is_some();
                    found.push(Difference::Component { entity, component, name, in_first });
                }
            }
        }
        if found.len() >= limit {
            break;
        }
    }
    first.kept.resources.for_each_difference(&second.kept.resources, |name, bytes| {
        found.push(Difference::Resource { name, bytes });
    });
    if found.is_empty() && !has_same_order(images) {
        found.push(Difference::Order);
    }
    found.truncate(limit);
    found
}

/// Returns `true` if rows, free slots and keys are in the same order.
fn has_same_order([a, b]: [&Image; 2]) -> bool {
    let tables = |image: &Image| {
        let mut list: Vec<_> = image.tables.iter().filter(|table| table.slots.rows() > 0).collect();
        list.sort_unstable_by_key(|table| table.stamp);
        list.iter()
            .map(|table| (table.signature.iter().collect(), table.slots.bytes().to_vec()))
            .collect::<Vec<(Vec<_>, _)>>()
    };
    let keys = |image: &Image| {
        let used = image.sparse.iter().filter(|sparse| sparse.keys.rows() > 0);
        used.map(|sparse| (sparse.id, sparse.keys.bytes().to_vec())).collect::<Vec<_>>()
    };
    a.words.bytes() == b.words.bytes()
        && a.free_list.bytes() == b.free_list.bytes()
        && a.reserved == b.reserved
        && tables(a) == tables(b)
        && keys(a) == keys(b)
}
