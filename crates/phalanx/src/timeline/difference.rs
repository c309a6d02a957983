//! [`Difference`]: what differs between two states of a world, entity by entity.

use super::Checkpoint;
use super::image::{ByteArray, Column, DEAD, Image, SparseState};
use crate::component::ComponentId;
use crate::sparse::Removal;
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

/// The value of a component by lanes, without its change ticks. `None` if it is not plain.
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
                (column.id, lanes(column.column.arrays(), count, row))
            });
            all.insert(position - 1, (entity, values.collect()));
        }
    }
    for sparse in &image.sparse {
        let info = &image.components[sparse.id.index()];
        let mut add = |slot: u32, row: u32| {
            if let Some((_, values)) = all.get_mut(&slot) {
                values.insert(sparse.id, lanes(sparse.column.arrays(), info.lanes, row));
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
    if found.is_empty() && Order::of(images[0]) != Order::of(images[1]) {
        found.push(Difference::Order);
    }
    found.truncate(limit);
    found
}

/// The lanes of a column, without change ticks.
type Lanes<'a> = Vec<&'a [u8]>;

/// What is part of a state beside entities and their values.
#[derive(PartialEq)]
struct Order<'a> {
    words: &'a [u8],
    free_list: &'a [u8],
    reserved: [u32; 2],
    /// The components, the slots, and the values if they are of extra rows, of each table in order.
    tables: Vec<(Vec<ComponentId>, &'a [u8], Lanes<'a>)>,
    /// The state of each sparse storage, and its keys and values.
    sparse: Vec<(ComponentId, Option<Removal>, Vec<u64>, Lanes<'a>)>,
    /// What each group owns, requires and excludes, and its members if they have an order of their own.
    groups: Vec<([Vec<ComponentId>; 3], Vec<u32>)>,
}

impl Order<'_> {
    fn of(image: &Image) -> Order<'_> {
        let values = |id: ComponentId, column| {
            let arrays = Column::arrays(column).iter().take(image.components[id.index()].lanes);
            arrays.map(ByteArray::bytes).collect::<Vec<_>>()
        };
        let mut tables: Vec<_> = image.tables.iter().filter(|table| table.slots.rows() > 0).collect();
        tables.sort_unstable_by_key(|table| table.stamp);
        let tables = tables.into_iter().map(|table| {
            let columns = table.columns.iter().filter(|_| table.signature.has(ComponentId::ROW));
            let values = columns.flat_map(|column| values(column.id, &column.column));
            (table.signature.iter().collect(), table.slots.bytes(), values.collect())
        });
        let sparse = image.sparse.iter().filter(|sparse| sparse.keys.rows() > 0).map(|sparse| {
            let removal = match &sparse.state {
                SparseState::Pool(state) => Some(state.removal),
                SparseState::Linear { .. } => None,
            };
            // What was at a hole is not part of the state.
            let is_hole = |generation: u32| removal.is_some() && generation & DEAD != 0;
            let key = |[low, high]: [u32; 2]| if is_hole(high) { 0 } else { u64::from(high) << 32 | u64::from(low) };
            (sparse.id, removal, sparse.keys.pairs().map(key).collect(), values(sparse.id, &sparse.column))
        });
        let groups = image.groups.try_saved_groups().unwrap_or_default().into_iter().map(|group| {
            let components = group.sparse.map(|list| {
                let mut ids: Vec<_> = list.iter().map(|number| image.sparse[*number as usize].id).collect();
                ids.sort_unstable();
                ids
            });
            (components, group.members)
        });
        let (mut sparse, mut groups): (Vec<_>, Vec<_>) = (sparse.collect(), groups.collect());
        // Storages and groups are numbered as they come.
        sparse.sort_unstable_by_key(|(id, ..)| *id);
        groups.sort_unstable();
        Order {
            words: image.words.bytes(),
            free_list: image.free_list.bytes(),
            reserved: image.reserved,
            tables: tables.collect(),
            sparse,
            groups,
        }
    }
}
