//! Names of rows: an entity has its main row, and may have extra ones, each under a component and a role.
//!
//! # Representation
//!
//! An extra row is a slot of the entities' index space, marked in the pool, so that no handle of an entity leads to it.
//! It lies in a table whose signature has the reserved component, id 0: with main rows it never shares a table. That
//! component has three lanes, which move with the row like those of any other: the owner, the label that
//! with the owner makes the name, and the links to the extra rows of the same entity made before and after. Structure
//! code knows nothing of this: it moves slots.
//!
//! `by_name` leads from a name to a slot, `first` from an entity that has extra rows to the first of them; the `prev` of the
//! first is the last, the `next` of the last is none. `owners` has a bit for each index in `first`: despawning an entity
//! without extra rows asks nothing else.

use crate::alloc::{try_clone_map, try_clone_slice, try_reserve_at, try_reserve_map};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// What a row is to its entity: a number that the program gives meaning to.
///
/// ```
/// use phalanx::Role;
///
/// const LEFT_HAND: Role = Role(1);
/// const RIGHT_HAND: Role = Role(2);
/// assert_ne!(LEFT_HAND, RIGHT_HAND);
/// assert_eq!(Role::default(), Role::NONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(pub u32);

impl Role {
    /// No role: that of the main row.
    pub const NONE: Role = Role(0);
}

/// The name of a row: whose it is, what component it is about, if one, and in what role.
///
/// The key without component and role is that of the main row. A key is stale when its entity is.
///
/// Queries, filters and batches are about main rows; [extra rows](crate::query#extra-rows) are visited if they are asked for. As a
/// term of a query, `Key` asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Whose row it is.
    pub entity: Entity,
    /// The component that the row is about. It is part of the name only: the row may have it or not.
    pub component: Option<ComponentId>,
    /// The role.
    pub role: Role,
}

impl Key {
    /// The key of an entity's main row.
    pub const fn main(entity: Entity) -> Key {
        Key { entity, component: None, role: Role::NONE }
    }

    /// The key with another role.
    #[must_use]
    pub const fn with_role(self, role: Role) -> Key {
        Key { role, ..self }
    }

    /// The key with another component.
    #[must_use]
    pub const fn with_component(self, component: ComponentId) -> Key {
        Key { component: Some(component), ..self }
    }

    /// Whether it is that of the main row.
    pub const fn is_main(&self) -> bool {
        self.component.is_none() && self.role.0 == 0
    }
}

impl From<Entity> for Key {
    fn from(entity: Entity) -> Key {
        Key::main(entity)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entity)?;
        if let Some(component) = self.component {
            write!(f, " {component:?}")?;
        }
        match self.role {
            Role::NONE => Ok(()),
            Role(role) => write!(f, " role {role}"),
        }
    }
}

/// A handle of one row, main or extra: found without a search, and stale from the end of the row on, whoever takes its place.
///
/// As a term of a query, `Row` asks for [extra rows](crate::query#extra-rows).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Row(pub(crate) Entity);

impl Row {
    /// Whether it is an entity's main row.
    pub const fn is_main(self) -> bool {
        !self.0.is_row()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_main() { "main row" } else { "row" };
        write!(f, "{kind} {}v{}", self.0.index(), self.0.generation() & ((1 << 30) - 1))
    }
}

/// What an extra row is to its owner: the second lane of the reserved component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Label {
    /// The component's id; 0, which is reserved, for none.
    component: u32,
    role: u32,
}

impl Label {
    /// The label of a component, which is not the reserved one, and a role; none for the main row.
    pub(crate) fn of(component: Option<ComponentId>, role: Role) -> Option<Label> {
        let label = Label { component: component.map_or(0, |id| id.index() as u32), role: role.0 };
        (label != Label { component: 0, role: 0 }).then_some(label)
    }

    /// The component, if the label has one.
    pub(crate) fn component(self) -> Option<ComponentId> {
        Some(ComponentId::from_index(self.component)).filter(|id| *id != ComponentId::ROW)
    }

    /// The label with the id that its component has in another world.
    pub(crate) fn with_component(self, id: ComponentId) -> Label {
        Label { component: id.index() as u32, ..self }
    }

    /// The key of an entity's row with this label.
    #[inline]
    pub(crate) fn key(self, entity: Entity) -> Key {
        Key { entity, component: self.component(), role: Role(self.role) }
    }
}

/// The neighbours of an extra row among those of its entity: the third lane of the reserved component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Link {
    pub(crate) prev: u32,
    pub(crate) next: u32,
}

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The reserved component's lanes: the owner, the label, the links.
pub(crate) const LANES: [core::alloc::Layout; 3] =
    [core::alloc::Layout::new::<Entity>(), core::alloc::Layout::new::<Label>(), core::alloc::Layout::new::<Link>()];

/// Where the reserved component's lanes of a table begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLanes {
    pub(crate) owners: *mut Entity,
    pub(crate) labels: *mut Label,
    pub(crate) links: *mut Link,
}

/// The owner's index and the label: what `by_name` is keyed by. The owner's generation is settled before it is asked.
pub(crate) type Name = (u32, Label);

/// Finds the extra rows of a world.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) by_name: NumberMap<Name, u32>,
    pub(crate) first: NumberMap<u32, u32>,
    pub(crate) owners: Vec<u64>,
    /// The table of extra rows without components, once there is one.
    pub(crate) bare: Option<u32>,
}

impl Rows {
    /// A copy that finds the same.
    pub(crate) fn try_clone(&self) -> Result<Rows, AllocError> {
        let (by_name, first) = (try_clone_map(&self.by_name)?, try_clone_map(&self.first)?);
        Ok(Rows { by_name, first, owners: try_clone_slice(&self.owners)?, bare: self.bare })
    }

    /// Whether the entity at this index has extra rows.
    #[inline(always)]
    pub(crate) fn owns(&self, index: u32) -> bool {
        self.owners.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }

    /// Makes room for so many more rows of at most so many entities among so many slots. Rows that end in between take
    /// none of it away.
    pub(crate) fn try_reserve(&mut self, more: usize, owners: usize, slots: usize) -> Result<(), AllocError> {
        try_reserve_map(&mut self.by_name, more)?;
        try_reserve_map(&mut self.first, owners)?;
        try_reserve_at(&mut self.owners, slots / 64)
    }

    /// Notes which is the first extra row of an entity that had none. There is room for it.
    pub(crate) fn begin(&mut self, index: u32, slot: u32) {
        self.first.insert(index, slot);
        let word = index as usize / 64;
        if self.owners.len() <= word {
            self.owners.resize(word + 1, 0);
        }
        self.owners[word] |= 1 << (index % 64);
    }

    /// Notes that an entity has no more extra rows.
    pub(crate) fn end(&mut self, index: u32) {
        self.first.remove(&index);
        self.owners[index as usize / 64] &= !(1 << (index % 64));
    }

    /// Forgets all rows. The memory stays.
    pub(crate) fn clear(&mut self) {
        self.by_name.clear();
        self.first.clear();
        self.owners.clear();
    }

    /// Bytes held from the allocator, as far as maps let that be known.
    pub(crate) fn bytes(&self) -> usize {
        let names = self.by_name.capacity() * size_of::<(Name, u32)>();
        names + self.first.capacity() * size_of::<(u32, u32)>() + self.owners.capacity() * 8
    }
}
