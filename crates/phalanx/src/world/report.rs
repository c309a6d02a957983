//! How components are kept, what happens to them, and how they would be kept better.

mod advice;
mod show;

use super::World;
use crate::component::{ComponentId, ComponentInfo};
use crate::layout::Kind;
use core::alloc::Layout;
use core::fmt;
use phalanx_store::memory::{Layout as Container, Model};

/// Where a component is kept: what `#[component(layout = …)]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// A lane in the tables of the entities' components.
    Table,
    /// A lane for each field, in the same tables.
    Soa,
    /// SparseStorage by side in a sparse set.
    Pool,
    /// At the entity's index.
    Linear,
}

impl Placement {
    /// As it is written in the attribute: `table`, `soa`, `pool`, `linear`.
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
            Kind::Table if info.whole => Placement::Table,
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

/// How the components of a world are kept: [`World::layout_report`]. Displayed, it is a table with sentences below.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutReport {
    /// Whether accesses were counted since the last report. If not, all counts are zero.
    pub counted: bool,
    /// How many entities are alive.
    pub entities: usize,
    /// How many slots were ever used, by entities and by extra rows: the places of a linear store.
    pub slots: usize,
    /// The components, in the order of their ids.
    pub components: Vec<ComponentReport>,
}

/// How one component is kept, and what happened to it since the last report.
///
/// An extra row counts like an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentReport {
    /// The id.
    pub id: ComponentId,
    /// The name of the type.
    pub name: &'static str,
    /// Where it is kept.
    pub placement: Placement,
    /// Bytes of a value.
    pub size: usize,
    /// How many entities have it.
    pub values: usize,
    /// The share of the slots that has it.
    pub utilisation: f64,
    /// How often an entity got it and had none, by being made or given it.
    pub adds: u64,
    /// How often an entity lost it, by ending or otherwise.
    pub removes: u64,
    /// Those of the removes after which the entity lived on: what costs a table a move of the row.
    pub taken: u64,
    /// Rows that queries, groups and slices of pools which name it set out to visit.
    ///
    /// Counted when a walk begins: one that is broken off counts in full, one over several stores counts the rows of the
    /// store that it follows, and one with an optional component the rows that have it and the others.
    pub visited: u64,
    /// Those of the rows visited by queries that name other components, too. (The values of a group lie side by side: its
    /// rows do not count here.)
    pub together: u64,
    /// How often it was looked up by entity, found or not. `None` without the feature `counters`: there a look-up costs
    /// too little for a test beside it.
    pub by_entity: Option<u64>,
    /// Bytes that it holds from the allocator: what [`World::memory`] says of its columns, or of its store.
    pub bytes: usize,
    /// What as many values would take in each layout.
    pub bytes_as: LayoutBytes,
    /// Where it should be kept, and why.
    pub advice: Advice,
}

/// The bytes of a component in each layout, at exact capacity, with values evenly spread over the slots: those of
/// [`Model::bytes`], but for what a world has once for all its components (generations, entities of rows, masks of pools).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutBytes {
    /// In tables: the values.
    pub table: u64,
    /// In lanes of a field each: the same, or less if the value has padding that is not known of here.
    pub soa: u64,
    /// In a pool: the values, their keys, and an index of the slots.
    pub pool: u64,
    /// In a linear store: a place for each slot, up to a multiple of 64, and one to spare, and the bits that say which are in
    /// use.
    pub linear: u64,
}

impl LayoutBytes {
    fn new(size: u64, lanes: u64, slots: u64, values: u64) -> LayoutBytes {
        let share = if slots == 0 { 0.0 } else { (values as f64 / slots as f64).min(1.0) };
        // The world has these values, so they can be counted.
        let model = Model::new(size, slots, share).ok();
        let bytes = |container| model.map_or(u64::MAX, |model| model.bytes(container));
        // The generations are those of the entities; places come by the words of bits, and one is to spare.
        let linear = bytes(Container::Linear).saturating_sub(4 * slots);
        let more = if slots == 0 { 0 } else { slots.next_multiple_of(64) - slots + 1 };
        LayoutBytes {
            table: size.saturating_mul(values),
            soa: lanes.saturating_mul(values),
            pool: bytes(Container::Sparse),
            linear: linear.saturating_add(size * more),
        }
    }

    /// The bytes in one of the layouts.
    pub const fn of(&self, placement: Placement) -> u64 {
        match placement {
            Placement::Table => self.table,
            Placement::Soa => self.soa,
            Placement::Pool => self.pool,
            Placement::Linear => self.linear,
        }
    }
}

/// Where a component should be kept: a rule of thumb over what was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Where; where it is, if nothing speaks for another place.
    pub placement: Placement,
    /// Why, in a sentence.
    pub reason: String,
}

impl World {
    /// Begins to count what happens to components, from zero, or stops counting.
    ///
    /// While nobody counts, what takes rows out of tables and what begins a query makes one test more, and pools and linear
    /// stores raise a number for each value that goes; making entities and giving components costs nothing.
    /// Reads by entity are only counted with the feature `counters`.
    pub fn count_accesses(&mut self, count: bool) {
        self.storage.counting = count;
        self.begin_counts();
    }

    /// How each component is kept, what happened to it since the last report, and where it should rather be kept. The next
    /// report counts from here.
    ///
    /// Without [`count_accesses`](World::count_accesses) it says what is there, and advises nothing.
    ///
    /// ```
    /// use phalanx::{Component, Placement, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Burning;
    ///
    /// let mut world = World::new();
    /// let units = world.spawn_batch((0..1000).map(Health));
    /// world.count_accesses(true);
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
        let components = self.storage.components.in_order().skip(1).map(|id| self.report_of(id)).collect();
        let report = LayoutReport {
            counted: self.storage.counting,
            entities: self.len(),
            slots: self.storage.entities.slot_count(),
            components,
        };
        self.begin_counts();
        report
    }

    fn report_of(&self, id: ComponentId) -> ComponentReport {
        let info = self.storage.components.info(id);
        let (usage, slots, values) = (&info.usage, self.storage.entities.slot_count(), self.values_of(id));
        let (bytes, [taken, ended]) = match self.storage.sparse.of(id) {
            Some(side) => (side.bytes(), side.removed_counts),
            None => (self.column_bytes(id), [usage.taken, usage.ended]),
        };
        let counted = |count: u64| if self.storage.counting { count } else { 0 };
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
        report.advice = advice::advise(&report, self.storage.counting);
        report
    }

    /// How many slots have a component.
    fn values_of(&self, id: ComponentId) -> usize {
        let in_tables = || self.storage.tables.iter().filter(|t| t.signature.has(id)).map(|t| t.len as usize).sum();
        self.storage.sparse.of(id).map_or_else(in_tables, |side| side.len() as usize)
    }

    /// The bytes of a component in all tables.
    fn column_bytes(&self, id: ComponentId) -> usize {
        let columns = self.storage.tables.iter().filter_map(|table| Some((table, table.column(id)?)));
        columns.map(|(table, column)| self.column_memory(table, column).total()).sum()
    }

    /// Counts from here on.
    fn begin_counts(&mut self) {
        for id in (1..self.storage.components.len()).map(|id| ComponentId::from_index(id as u32)) {
            let before = self.values_of(id) as u64;
            self.storage.components.usage_mut(id).begin(before);
        }
        self.storage.sparse.reset_removed_counts();
    }
}

impl LayoutReport {
    /// The report of a component, if the world that it is of knows it.
    pub fn of<C: crate::Component>(&self, world: &World) -> Option<&ComponentReport> {
        let id = world.component_id::<C>()?;
        self.components.iter().find(|component| component.id == id)
    }
}
