//! [`LayoutReport`]: how components are stored and accessed, and which layout suits them.

mod advice;
mod show;

use super::World;
use super::memory::lanes_of;
use crate::alloc::{try_collect, unwrap_alloc};
use crate::component::{ComponentId, ComponentInfo};
use crate::layout::Kind;
use crate::storage::Storage;
use core::alloc::Layout;
use core::fmt;
use phalanx_store::AllocError;
use phalanx_store::memory::{Layout as Container, Model};

/// The layout of a component: what `#[component(layout = …)]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// A column in archetype tables.
    Table,
    /// A column for each field, in the same tables.
    Soa,
    /// A sparse set.
    Pool,
    /// A linear storage, at the index of the entity.
    Linear,
}

impl Placement {
    /// Returns the name of the layout in the attribute: `table`, `soa`, `pool` or `linear`.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::Table => "table",
            Placement::Soa => "soa",
            Placement::Pool => "pool",
            Placement::Linear => "linear",
        }
    }

    pub(crate) fn of(info: &ComponentInfo) -> Placement {
        match info.kind() {
            Kind::Table if info.has_address => Placement::Table,
            Kind::Table => Placement::Soa,
            Kind::Pool => Placement::Pool,
            Kind::Linear => Placement::Linear,
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How the components of a world are stored: [`World::layout_report`]. Displayed, it is a table with sentences below.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutReport {
    /// Whether accesses were counted since the last report. If not, all counts are zero.
    pub counted: bool,
    /// The number of live entities.
    pub entities: usize,
    /// The number of slots that were ever used, by entities and by extra rows. A linear storage has a position for each.
    pub slots: usize,
    /// The components, in the order of their ids.
    pub components: Vec<ComponentReport>,
}

/// How one component is stored, and its accesses since the last report.
///
/// An extra row counts like an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentReport {
    /// The id.
    pub id: ComponentId,
    /// The name of the type.
    pub name: &'static str,
    /// Its layout.
    pub placement: Placement,
    /// Bytes of a value.
    pub size: usize,
    /// The number of entities that have it.
    pub values: usize,
    /// The share of the slots that has it.
    pub utilisation: f64,
    /// How often it was added to an entity, by a spawn or an insert.
    pub adds: u64,
    /// How often it was removed from an entity, by a despawn or otherwise.
    pub removes: u64,
    /// The removes after which the entity lived on. In a table each of them is an archetype move.
    pub taken: u64,
    /// The rows that queries, groups and slices of pools were to visit.
    ///
    /// They are counted when an iteration starts, so one that stops early counts in full. An iteration over several storages
    /// counts the rows of its driver. One with an optional component counts the rows that have it and the others.
    pub visited: u64,
    /// The rows of `visited` that belong to queries with other components. Rows of groups do not count here, because the values
    /// of a group are contiguous.
    pub together: u64,
    /// How often it was looked up by entity, found or not. `None` without the feature `counters`, because a lookup is too fast for
    /// an additional test.
    pub by_entity: Option<u64>,
    /// The bytes that are allocated for it, in columns or in its sparse storage, as in [`World::memory`].
    pub bytes: usize,
    /// The bytes that as many values would take in each layout.
    pub bytes_as: LayoutBytes,
    /// The layout that suits its accesses, and the reason.
    pub advice: Advice,
}

/// The bytes of a component in each layout, at exact capacity, with values evenly spread over the slots.
///
/// They are those of [`Model::bytes`], without what a world has once for all components: generations, entities of rows, and
/// presence bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutBytes {
    /// In tables: the values.
    pub table: u64,
    /// In a column for each field: the same, or less if the value has padding.
    pub soa: u64,
    /// In a pool: the values, their keys, and an index of the slots.
    pub pool: u64,
    /// In a linear storage: a position for each slot, up to a multiple of 64, one to spare, and the presence bits.
    pub linear: u64,
}

impl LayoutBytes {
    fn new(size: u64, lanes: u64, slots: u64, values: u64) -> LayoutBytes {
        let share = if slots == 0 { 0.0 } else { (values as f64 / slots as f64).min(1.0) };
        // The world has these values, so they can be counted.
        let model = Model::new(size, slots, share).ok();
        let bytes = |container| model.map_or(u64::MAX, |model| model.bytes(container));
        // The generations are those of the entities. Positions are allocated by words of presence bits, and one is to spare.
        let linear = bytes(Container::Linear).saturating_sub(4 * slots);
        let more = if slots == 0 { 0 } else { slots.next_multiple_of(64) - slots + 1 };
        LayoutBytes {
            table: size.saturating_mul(values),
            soa: lanes.saturating_mul(values),
            pool: bytes(Container::Sparse),
            linear: linear.saturating_add(size * more),
        }
    }

    /// Returns the bytes in one of the layouts.
    pub const fn of(&self, placement: Placement) -> u64 {
        match placement {
            Placement::Table => self.table,
            Placement::Soa => self.soa,
            Placement::Pool => self.pool,
            Placement::Linear => self.linear,
        }
    }
}

/// The layout that suits a component: a rule of thumb from the counted accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The layout. It is the present one if no other is clearly better.
    pub placement: Placement,
    /// The reason, in a sentence.
    pub reason: String,
}

impl World {
    /// Starts to count accesses to components, from zero, or stops.
    ///
    /// While nothing is counted, removing table rows and starting a query test one flag. Sparse storages count removed values
    /// always. Spawning and inserting cost nothing. Lookups by entity are counted only with the feature `counters`.
    pub fn set_access_counting(&mut self, count: bool) {
        self.storage.counting = count;
        self.storage.reset_counts();
    }

    /// Returns how each component is stored, its accesses since the last report, and advice on its layout. The next report counts
    /// from here.
    ///
    /// Without [`set_access_counting`](World::set_access_counting) the report shows the present state, and has no advice.
    ///
    /// ```
    /// use phalanx::report::Placement;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Burning;
    ///
    /// let mut world = World::new();
    /// let units = world.spawn_batch((0..1000).map(Health));
    /// world.set_access_counting(true);
    /// for unit in &units {
    ///     world.insert(*unit, Burning)?;
    ///     world.remove::<Burning>(*unit)?;
    /// }
    /// let report = world.layout_report();
    /// let burning = report.of::<Burning>(&world).unwrap();
    /// assert_eq!((burning.adds, burning.removes), (1000, 1000));
    /// assert_eq!((burning.placement, burning.advice.placement), (Placement::Table, Placement::Pool));
    /// println!("{report}");
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    pub fn layout_report(&mut self) -> LayoutReport {
        let report = self.peek_layout_report();
        self.storage.reset_counts();
        report
    }

    /// Returns what [`layout_report`](World::layout_report) would return now, and goes on counting. So a tool can look at the
    /// counts of a program that makes reports of its own.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// world.set_access_counting(true);
    /// world.spawn(Health(1));
    /// assert_eq!(world.peek_layout_report().of::<Health>(&world).unwrap().adds, 1);
    /// world.spawn(Health(2));
    /// assert_eq!(world.layout_report().of::<Health>(&world).unwrap().adds, 2);
    /// assert_eq!(world.peek_layout_report().of::<Health>(&world).unwrap().adds, 0);
    /// ```
    pub fn peek_layout_report(&self) -> LayoutReport {
        unwrap_alloc(self.try_peek_layout_report())
    }

    /// Like [`peek_layout_report`](World::peek_layout_report), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_peek_layout_report(&self) -> Result<LayoutReport, AllocError> {
        let storage = &self.storage;
        let components = storage.components.in_order().skip(1).map(|id| storage.report_of(id));
        Ok(LayoutReport {
            counted: storage.counting,
            entities: storage.entities.len(),
            slots: storage.entities.slot_count(),
            components: try_collect(components)?,
        })
    }
}

impl Storage {
    /// Returns the report of a component.
    fn report_of(&self, id: ComponentId) -> Result<ComponentReport, AllocError> {
        let info = self.components.info(id);
        let (usage, slots, values) = (&info.usage, self.entities.slot_count(), self.values_of(id));
        let (bytes, [taken, ended]) = match self.sparse.of(id) {
            Some(sparse) => (sparse.bytes(), sparse.removed_counts),
            None => (self.column_bytes(id), [usage.removed, usage.despawned]),
        };
        let counted = |count: u64| if self.counting { count } else { 0 };
        let lanes = info.lanes().iter().map(Layout::size).sum::<usize>();
        let align = info.lanes().iter().map(Layout::align).max().unwrap_or(1);
        let size = lanes.next_multiple_of(align);
        let mut report = ComponentReport {
            id,
            name: info.name(),
            placement: Placement::of(info),
            size,
            values,
            utilisation: if slots == 0 { 0.0 } else { values as f64 / slots as f64 },
            adds: counted((values as u64 + taken + ended).saturating_sub(usage.before)),
            removes: counted(taken + ended),
            taken: counted(taken),
            visited: counted(usage.visited()),
            together: counted(usage.together()),
            #[cfg(feature = "counters")]
            by_entity: Some(counted(usage.found())),
            #[cfg(not(feature = "counters"))]
            by_entity: None,
            bytes,
            bytes_as: LayoutBytes::new(size as u64, lanes as u64, slots as u64, values as u64),
            advice: Advice { placement: Placement::of(info), reason: String::new() },
        };
        report.advice = advice::advise(&report, self.counting)?;
        Ok(report)
    }

    /// Returns the number of slots that have a component.
    fn values_of(&self, id: ComponentId) -> usize {
        let in_tables = || self.tables.iter().filter(|t| t.signature.has(id)).map(|t| t.len as usize).sum();
        self.sparse.of(id).map_or_else(in_tables, |sparse| sparse.len() as usize)
    }

    /// Returns the bytes of a component in all tables.
    fn column_bytes(&self, id: ComponentId) -> usize {
        let columns = self.tables.iter().filter_map(|table| Some((table, table.column(id)?)));
        columns.map(|(table, column)| lanes_of(table, column).iter().map(|lane| lane.bytes()).sum::<usize>()).sum()
    }

    /// Counts from zero.
    fn reset_counts(&mut self) {
        for id in (1..self.components.len()).map(|id| ComponentId::from_index(id as u32)) {
            let before = self.values_of(id) as u64;
            self.components.usage_mut(id).begin(before);
        }
        self.sparse.reset_removed_counts();
    }
}

impl LayoutReport {
    /// Returns the report of a component, if the world knows it.
    pub fn of<C: crate::Component>(&self, world: &World) -> Option<&ComponentReport> {
        let id = world.component_id::<C>()?;
        self.components.iter().find(|component| component.id == id)
    }
}
