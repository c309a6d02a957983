//! Keys and handles of rows. An entity has a main row, and may have extra rows, each under a component and a role.
//!
//! # Representation
//!
//! An extra row is a slot of the entities' index space, with a bit set in the pool, so that no entity handle leads to it. Its table
//! has the reserved component, id 0, in its signature, so it never shares a table with main rows. That component has three lanes,
//! which move with the row like those of any other: the owner, the label, and the links to the previous and next extra row of the
//! same entity. The code that moves rows needs no special case.
//!
//! `by_name` maps the owner and the label to a slot. `first` maps an entity with extra rows to the first of them. The `prev` of the
//! first is the last, and the `next` of the last is none. `owners` has a bit for each index in `first`, so that a despawn tests one
//! bit.

use crate::alloc::{try_clone_map, try_clone_slice, try_reserve_at, try_reserve_map};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// The role of a row for its entity: a number that the program gives a meaning.
///
/// ```
/// use phalanx::Role;
///
/// const LEFT_HAND: Role = Role(1);
/// const RIGHT_HAND: Role = Role(2);
/// assert_ne!(LEFT_HAND, RIGHT_HAND);
/// assert_eq!(Role::default(), Role::NONE);
/// ```
///
/// # Several values of one type
///
/// A row has one value of each component. There are three ways to store several values of one type for an entity, where other
/// libraries have several storages of one type, each with a name:
///
/// | the name is | take | iterate one name |
/// |---|---|---|
/// | known at compile time | a component that is generic over a marker | `query::<&Named<Base, Stat>>()`, as fast as any component |
/// | a number, of any count | extra rows under a role | a query of extra rows; a marker in each row divides them by table |
/// | text, known at run time | a [run-time component](crate::ComponentDescriptor) for each name | a [run-time query](crate::query::DynamicQuery) |
///
/// ```
/// use core::marker::PhantomData;
/// use phalanx::query::ExtraRows;
/// use phalanx::{Component, Key, Role, With, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Stat(u32);
///
/// // A marker for each name:
/// #[derive(Component)]
/// #[component(layout = "pool")]
/// struct Named<N: Send + Sync + 'static, C: Send + Sync + 'static>(C, PhantomData<N>);
/// struct Base;
/// struct Bonus;
///
/// let mut world = World::new();
/// let elf = world.spawn((Named::<Base, _>(Stat(3), PhantomData), Named::<Bonus, _>(Stat(1), PhantomData)));
/// let total = world.get::<Named<Base, Stat>>(elf)?.0.0 + world.get::<Named<Bonus, Stat>>(elf)?.0.0;
/// assert_eq!(total, 4);
///
/// // A role for each name. A component of the row divides the rows, so that a query visits only those of one name:
/// const STRENGTH: Role = Role(1);
/// const LUCK: Role = Role(2);
/// #[derive(Component)]
/// struct Lucky;
///
/// world.add_row(Key::main(elf).with_role(STRENGTH), Stat(7))?;
/// world.add_row(Key::main(elf).with_role(LUCK), (Stat(9), Lucky))?;
/// assert_eq!(world.row(Key::main(elf).with_role(STRENGTH))?.get::<Stat>()?, &Stat(7));
/// let mut luck = world.query_filtered::<(Key, &Stat), (ExtraRows, With<Lucky>)>();
/// assert!(luck.iter().eq([(Key::main(elf).with_role(LUCK), &Stat(9))]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A run-time component has a name, a layout and a storage of its own, but its values are reached by address:
/// [`World::register_component_with_descriptor`](crate::World::register_component_with_descriptor) shows it.
#[doc(alias = "named storage")]
#[doc(alias = "storage by name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(pub u32);

impl Role {
    /// No role, as the main row has.
    pub const NONE: Role = Role(0);
}

/// The name of a row: its entity, the component that it is about, if any, and its role.
///
/// The key without component and role is that of the main row. A key is stale when its entity is.
///
/// Queries, filters and batches visit main rows, and [extra rows](crate::query#extra-rows) only if they ask for them. As a term of
/// a query, `Key` asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The entity.
    pub entity: Entity,
    /// The component that the row is about. It is only part of the name: the row need not have it.
    pub component: Option<ComponentId>,
    /// The role.
    pub role: Role,
}

impl Key {
    /// Returns the key of an entity's main row.
    pub const fn main(entity: Entity) -> Key {
        Key { entity, component: None, role: Role::NONE }
    }

    /// Returns the key with another role.
    #[must_use]
    pub const fn with_role(self, role: Role) -> Key {
        Key { role, ..self }
    }

    /// Returns the key with another component.
    #[must_use]
    pub const fn with_component(self, component: ComponentId) -> Key {
        Key { component: Some(component), ..self }
    }

    /// Returns `true` if it is the key of the main row.
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

/// A handle of one row, main or extra. It leads to the row without a lookup, and is stale once the row is removed.
///
/// As a term of a query, `Row` asks for [extra rows](crate::query#extra-rows).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Row(pub(crate) Entity);

impl Row {
    /// Returns `true` if it is the main row of an entity.
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

/// The component and role of an extra row: the second lane of the reserved component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Label {
    /// The component's id; 0, which is reserved, for none.
    component: u32,
    role: u32,
}

impl Label {
    /// The label of a row that has no name yet.
    #[cfg(feature = "snapshot")]
    pub(crate) const UNNAMED: Label = Label { component: 0, role: 0 };

    /// Returns the label of a component, which is not the reserved one, and a role. Returns `None` for the main row.
    pub(crate) fn of(component: Option<ComponentId>, role: Role) -> Option<Label> {
        let label = Label { component: component.map_or(0, |id| id.index() as u32), role: role.0 };
        (label != Label { component: 0, role: 0 }).then_some(label)
    }

    /// Returns the component, if the label has one.
    pub(crate) fn component(self) -> Option<ComponentId> {
        Some(ComponentId::from_index(self.component)).filter(|id| *id != ComponentId::ROW)
    }

    /// Returns the label with another id, which its component has in another world.
    pub(crate) fn with_component(self, id: ComponentId) -> Label {
        Label { component: id.index() as u32, ..self }
    }

    /// Returns the key of an entity's row with this label.
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

/// The reserved component's columns in a table of extra rows, by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowColumns<'a> {
    pub(crate) owners: &'a [Entity],
    pub(crate) labels: &'a [Label],
    pub(crate) links: &'a [Link],
}

/// The reserved component's columns in a table of extra rows, for writing.
#[derive(Debug)]
pub(crate) struct RowColumnsMut<'a> {
    pub(crate) owners: &'a mut [Entity],
    pub(crate) labels: &'a mut [Label],
    pub(crate) links: &'a mut [Link],
}

/// What the reserved component says of an extra row, and its handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtraRow {
    pub(crate) row: Row,
    pub(crate) owner: Entity,
    pub(crate) label: Label,
    pub(crate) link: Link,
}

/// The key of `by_name`: the owner's index and the label. The owner's generation is checked before a lookup.
pub(crate) type Name = (u32, Label);

/// The maps that lead to the extra rows of a world.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) by_name: NumberMap<Name, u32>,
    pub(crate) first: NumberMap<u32, u32>,
    pub(crate) owners: Vec<u64>,
    /// The table of extra rows without components, once there is one.
    pub(crate) bare: Option<u32>,
}

impl Rows {
    /// Returns a copy.
    pub(crate) fn try_clone(&self) -> Result<Rows, AllocError> {
        let (by_name, first) = (try_clone_map(&self.by_name)?, try_clone_map(&self.first)?);
        Ok(Rows { by_name, first, owners: try_clone_slice(&self.owners)?, bare: self.bare })
    }

    /// Returns the number of words that say which entities have extra rows. It is zero if none ever had one.
    #[inline(always)]
    pub(crate) fn owner_words(&self) -> usize {
        self.owners.len()
    }

    /// Returns `true` if the entity at this index has extra rows.
    #[inline(always)]
    pub(crate) fn owns(&self, index: u32) -> bool {
        self.owners.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }

    /// Reserves capacity for `more` rows of at most `owners` entities among `slots` slots. Rows that are removed meanwhile do not
    /// reduce it.
    pub(crate) fn try_reserve(&mut self, more: usize, owners: usize, slots: usize) -> Result<(), AllocError> {
        try_reserve_map(&mut self.by_name, more)?;
        try_reserve_map(&mut self.first, owners)?;
        try_reserve_at(&mut self.owners, slots / 64)
    }

    /// Sets the first extra row of an entity that had none. Capacity for it is reserved.
    pub(crate) fn begin(&mut self, index: u32, slot: u32) {
        self.first.insert(index, slot);
        let word = index as usize / 64;
        if self.owners.len() <= word {
            self.owners.resize(word + 1, 0);
        }
        self.owners[word] |= 1 << (index % 64);
    }

    /// Removes an entity that has no more extra rows.
    pub(crate) fn end(&mut self, index: u32) {
        self.first.remove(&index);
        self.owners[index as usize / 64] &= !(1 << (index % 64));
    }

    /// Removes all rows. The memory stays allocated.
    pub(crate) fn clear(&mut self) {
        self.by_name.clear();
        self.first.clear();
        self.owners.clear();
    }

    /// Returns the allocated bytes, as far as maps report them.
    pub(crate) fn bytes(&self) -> usize {
        let names = self.by_name.capacity() * size_of::<(Name, u32)>();
        names + self.first.capacity() * size_of::<(u32, u32)>() + self.owners.capacity() * 8
    }
}
