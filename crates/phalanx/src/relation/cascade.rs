//! [`Cascade`]: computes a value of each entity from that of its parent.
//!
//! # Representation
//!
//! A [`CascadePlan`] lists the entities by depth, with the position of each parent. So one forward loop visits parents
//! before their children. The plan is made again when links or members have changed.
//!
//! # Aligned rows
//!
//! If both components are in sparse sets that a group owns, the group is sorted by depth. Then the rows of both sets are the
//! positions of the plan, and the loop runs over two slices.
#![allow(unsafe_code)]

use super::cascade_plan::CascadePlan;
use super::{LinkOf, TreeRelation};
use crate::alloc::{try_vec, unwrap_alloc};
use crate::change_detection::{RunHistory, RunTicks, TracksChanges};
use crate::component::{Component, ComponentId};
use crate::executor::{Executor, Pace, run_batches};
use crate::group::{GroupError, Owned};
use crate::layout::{Kind, Layout, set_row_dirty};
use crate::links::NONE;
use crate::query::{ReadItem, WriteItem};
use crate::storage::{Location, Storage};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};

/// The types of a cascade, none of which it has.
type Types<R, L, G> = PhantomData<fn() -> (R, L, G)>;

/// The number of nodes of a batch in a parallel loop.
const BATCH: usize = 256;

/// Computes a value of each entity from that of its parent, parents before their children.
///
/// `L` is what an entity has of its own, such as its position relative to its parent. `G` is what is computed, such as its
/// position in the world. All entities that have both components take part. An entity whose parent does not take part is
/// treated like a root.
///
/// ```
/// use phalanx::relation::{Cascade, ChildOf};
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Offset(f32);
/// #[derive(Component, Debug, PartialEq)]
/// struct Position(f32);
///
/// let mut world = World::new();
/// let ship = world.spawn((Offset(10.0), Position(0.0)));
/// let turret = world.entity_mut(ship)?.spawn_child((Offset(2.0), Position(0.0)));
/// let gun = world.entity_mut(turret)?.spawn_child((Offset(0.5), Position(0.0)));
///
/// let mut positions = Cascade::<ChildOf, Offset, Position>::new();
/// positions.propagate(&mut world, |parent, offset, position| {
///     position.0 = parent.map_or(0.0, |parent| parent.0) + offset.0;
/// });
/// assert_eq!(world.get::<Position>(gun)?, &Position(12.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Speed
///
/// All layouts work. Sparse sets that are [grouped](Cascade::group) are the fastest: the values are in the order of the loop.
///
/// # Order
///
/// Entities are visited by depth. Within a depth, the order depends only on the operations before.
pub struct Cascade<R, L, G> {
    plan: CascadePlan,
    /// The clock and the tick of the last run.
    runs: RunHistory,
    /// Whether the last run has ended.
    has_ended: bool,
    types: Types<R, L, G>,
}

impl<R, L, G> Default for Cascade<R, L, G> {
    fn default() -> Self {
        Cascade { plan: CascadePlan::default(), runs: RunHistory::new(), has_ended: false, types: PhantomData }
    }
}

impl<R, L, G> fmt::Debug for Cascade<R, L, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cascade").field("nodes", &self.plan.len()).finish_non_exhaustive()
    }
}

/// Where the values of a node are.
struct Node<L: Component, G: Component> {
    local: (<L::Layout as Layout<L>>::Ptr, usize),
    own: (<G::Layout as Layout<G>>::Ptr, usize),
    /// The lanes of `L`, for change ticks.
    lanes: *const Lane,
}

impl<L: Component, G: Component> Clone for Node<L, G> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Component, G: Component> Copy for Node<L, G> {}

/// The rows of the nodes of a plan.
///
/// # Invariants
///
/// The rows of nodes with different numbers differ. They are in use as long as the world is borrowed.
enum Rows<L: Component, G: Component> {
    /// The rows of both sparse sets are the numbers of the nodes.
    Aligned(Node<L, G>),
    /// `None` for an entity that does not have both components.
    Found(Vec<Option<Node<L, G>>>),
}

// SAFETY: the pointers lead to components, which are `Send` and `Sync`. Functions that use them from several threads say for
// which nodes.
unsafe impl<L: Component, G: Component> Sync for Rows<L, G> {}

impl<L: Component, G: Component> Rows<L, G> {
    #[inline(always)]
    fn get(&self, node: usize) -> Option<Node<L, G>> {
        match self {
            Rows::Aligned(first) => {
                Some(Node { local: (first.local.0, node), own: (first.own.0, node), lanes: first.lanes })
            }
            Rows::Found(rows) => rows[node],
        }
    }
}

impl<R: TreeRelation, L: Component, G: Component> Cascade<R, L, G> {
    /// Creates a cascade. It has not run yet.
    pub fn new() -> Cascade<R, L, G> {
        Cascade::default()
    }

    /// Computes the value of each entity. `each` gets the value of the parent, if there is one, what the entity has of its own,
    /// and the value to write.
    ///
    /// # Panics
    ///
    /// Panics if `each` does. Entities after the one that panicked keep their values. Panics if both components are the same.
    pub fn propagate(
        &mut self,
        world: &mut World,
        mut each: impl FnMut(Option<ReadItem<'_, G>>, ReadItem<'_, L>, WriteItem<'_, G>),
    ) {
        let (rows, ticks) = self.begin(world);
        let parents = self.plan.parents();
        match &rows {
            // The common case by itself, so that the loop is one over slices.
            Rows::Aligned(_) => {
                for (node, &parent) in parents.iter().enumerate() {
                    // SAFETY: the world is borrowed exclusively, and each node is visited once.
                    unsafe { visit(&rows, node, parent, &mut each) };
                }
            }
            Rows::Found(_) => {
                for (node, &parent) in parents.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { visit(&rows, node, parent, &mut each) };
                }
            }
        }
        self.end(world, ticks);
    }

    /// Computes the values of entities that may have changed: those whose `L` has changed since the last run, those that have
    /// another parent, and all below them. Returns how many these were. The first run visits all entities.
    ///
    /// Values that other code has written, or another cascade, count as computed.
    ///
    /// ```
    /// use phalanx::relation::{Cascade, ChildOf};
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(track = "row")]
    /// struct Offset(f32);
    /// #[derive(Component)]
    /// struct Position(f32);
    ///
    /// let mut world = World::new();
    /// let a = world.spawn((Offset(1.0), Position(0.0)));
    /// let b = world.entity_mut(a)?.spawn_child((Offset(1.0), Position(0.0)));
    /// let c = world.spawn((Offset(1.0), Position(0.0)));
    /// let mut positions = Cascade::<ChildOf, Offset, Position>::new();
    /// let mut run = |world: &mut World| {
    ///     positions.propagate_changed(world, |parent, offset, position| {
    ///         position.0 = parent.map_or(0.0, |parent| parent.0) + offset.0;
    ///     })
    /// };
    /// assert_eq!(run(&mut world), 3);
    /// assert_eq!(run(&mut world), 0);
    /// world.get_mut::<Offset>(a)?.0 = 5.0;
    /// assert_eq!(run(&mut world), 2); // `a` and its child
    /// world.relations_mut::<ChildOf>().link(c, b)?;
    /// assert_eq!(run(&mut world), 1);
    /// assert_eq!(world.get::<Position>(c)?.0, 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics like [`propagate`](Cascade::propagate). The next run visits all entities.
    pub fn propagate_changed(
        &mut self,
        world: &mut World,
        mut each: impl FnMut(Option<ReadItem<'_, G>>, ReadItem<'_, L>, WriteItem<'_, G>),
    ) -> usize
    where
        L::Layout: TracksChanges<L>,
    {
        let (rows, ticks) = self.begin(world);
        self.plan.mark(|nodes| changed_nodes(&rows, ticks, nodes));
        // SAFETY: the world is borrowed exclusively, and each node is visited once.
        let count = self.plan.visit_marked(|node, parent| unsafe { visit(&rows, node, parent, &mut each) });
        self.end(world, ticks);
        count
    }

    /// Computes the value of each entity like [`propagate`](Cascade::propagate), on the threads of an executor: one depth after
    /// another.
    ///
    /// # Panics
    ///
    /// Panics if `each` does. Entities of the same depth may have new values, and those below keep theirs.
    pub fn par_propagate<E>(
        &mut self,
        executor: &E,
        world: &mut World,
        each: impl Fn(Option<ReadItem<'_, G>>, ReadItem<'_, L>, WriteItem<'_, G>) + Sync,
    ) where
        E: Executor + ?Sized,
    {
        let (rows, ticks) = self.begin(world);
        let parents = self.plan.parents();
        for depth in self.plan.depths() {
            let batches = depth.len().div_ceil(BATCH);
            run_batches(executor, batches, Pace::Measured, |batch: Range<usize>| {
                let first = depth.start + batch.start * BATCH;
                let end = depth.end.min(depth.start + batch.end * BATCH);
                for (node, parent) in (first..end).zip(&parents[first..end]) {
                    // SAFETY: the world is borrowed exclusively. Each node of the depth is in one batch, and each batch is visited
                    // once. Parents are of a lower depth, which no thread writes any more.
                    unsafe { visit(&rows, node, *parent, &mut |parent, local, own| each(parent, local, own)) };
                }
            });
        }
        self.end(world, ticks);
    }

    /// Records that all values are computed.
    fn end(&mut self, world: &World, ticks: RunTicks) {
        self.plan.set_propagated();
        self.runs.record(&world.storage.sparse.clock, ticks.now);
        self.has_ended = true;
    }

    /// Updates the plan, and finds the rows of its nodes. If the run does not [end](Cascade::end), the next one is like the first.
    fn begin(&mut self, world: &mut World) -> (Rows<L, G>, RunTicks) {
        unwrap_alloc(world.storage.flush());
        let ids = (world.register_component::<L>(), world.register_component::<G>());
        assert!(ids.0 != ids.1, "a cascade from {} to itself", core::any::type_name::<L>());
        let relation = world.storage.sparse.storage_id_of::<LinkOf<R>>(&world.storage.components);
        let clock = &world.storage.sparse.clock;
        let since = if core::mem::take(&mut self.has_ended) { self.runs.since(clock) } else { None };
        let ticks = RunTicks { now: clock.take(), since, own: true };
        unwrap_alloc(self.plan.try_update(world, relation, [ids.0, ids.1]));
        let rows = match self.plan.group() {
            Some(group) => {
                world.storage.touch_group(group);
                Rows::Aligned(aligned::<L, G>(&world.storage, ids, ticks, self.plan.len()))
            }
            None => {
                // SAFETY: the world is borrowed exclusively.
                let rows = unsafe { find_rows::<L, G>(&world.storage, ids, ticks, self.plan.entities()) };
                Rows::Found(unwrap_alloc(rows))
            }
        };
        (rows, ticks)
    }
}

impl<R: TreeRelation, L, G> Cascade<R, L, G>
where
    L: Component,
    G: Component,
    Owned<(L, G)>: crate::group::GroupSpec,
{
    /// Creates a [group](crate::group) of both components, whose members are sorted by depth when a cascade runs.
    ///
    /// It is found by all cascades of these components. [`World::remove_group`] removes it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`World::create_group`].
    pub fn group(world: &mut World) -> Result<crate::Group<Owned<(L, G)>>, GroupError> {
        world.create_group::<Owned<(L, G)>>()
    }
}

/// Returns a bit for each node of a range: whether its `L` has changed since the last run. The range has 1 to 64 nodes. Nothing else
/// runs meanwhile, so that this is one loop over ticks.
#[inline(always)]
fn changed_nodes<L: Component, G: Component>(rows: &Rows<L, G>, ticks: RunTicks, nodes: Range<usize>) -> u64
where
    L::Layout: TracksChanges<L>,
{
    let Some(since) = ticks.since else { return u64::MAX >> (64 - nodes.len()) };
    let ticks = RunTicks { since: Some(since), ..ticks };
    let is_changed = |node: usize| {
        // SAFETY: the lanes are those of `L`, and the row is in use.
        rows.get(node).is_some_and(|found| unsafe {
            ticks.is_new(<L::Layout as TracksChanges<L>>::changed(found.lanes, found.local.1, ticks))
        })
    };
    // From the last to the first, so that all bits are shifted by one.
    nodes.rev().fold(0, |bits, node| bits << 1 | u64::from(is_changed(node)))
}

/// Calls a function with the values of a node, if it has both components.
///
/// # Safety
///
/// The world of the rows is borrowed exclusively. During the call no other code uses the row of the node, or writes that of its
/// parent, which is another node.
#[inline(always)]
unsafe fn visit<L: Component, G: Component>(
    rows: &Rows<L, G>,
    node: usize,
    parent: u32,
    each: &mut impl FnMut(Option<ReadItem<'_, G>>, ReadItem<'_, L>, WriteItem<'_, G>),
) {
    let Some(Node { local, own, .. }) = rows.get(node) else { return };
    let parent = if parent == NONE { None } else { rows.get(parent as usize) };
    // SAFETY: the rows are in use. That of the node is used by nothing else, and that of its parent is another, which nothing writes:
    // by the caller's contract. `L` and `G` are different components.
    unsafe {
        let parent = parent.map(|parent| G::Layout::get(parent.own.0, parent.own.1));
        each(parent, L::Layout::get(local.0, local.1), G::Layout::get_mut(own.0, own.1));
    }
}

/// Returns the first node of a plan whose nodes are the members of a group that owns both components.
///
/// # Panics
///
/// Panics if the sparse sets have fewer values than the plan has nodes.
fn aligned<L: Component, G: Component>(
    storage: &Storage,
    (local, own): (ComponentId, ComponentId),
    ticks: RunTicks,
    len: usize,
) -> Node<L, G> {
    let lanes = [local, own].map(|id| match storage.sparse.of(id) {
        Some(sparse) if sparse.len() as usize >= len => sparse.values().lane().cast_const(),
        _ => unreachable!("the members of a group have its components"),
    });
    // SAFETY: the lanes are those of the components.
    unsafe {
        G::Layout::touch(lanes[1], ticks.now);
        let (local, own) = (L::Layout::ptr(lanes[0], ticks), G::Layout::ptr(lanes[1], ticks));
        Node { local: (local, 0), own: (own, 0), lanes: lanes[0] }
    }
}

/// Finds the rows of entities that differ, in a world that is borrowed exclusively.
///
/// # Safety
///
/// Nothing else uses the dirty bits of `G` during the call.
unsafe fn find_rows<L: Component, G: Component>(
    storage: &Storage,
    (local, own): (ComponentId, ComponentId),
    ticks: RunTicks,
    entities: &[Entity],
) -> Result<Vec<Option<Node<L, G>>>, AllocError> {
    let mut rows = try_vec(entities.len())?;
    let mut locals = Finder::<L, false>::new(storage, local, ticks);
    let mut owns = Finder::<G, true>::new(storage, own, ticks);
    rows.extend(entities.iter().map(|&entity| {
        let at = storage.find_location(entity)?;
        let (local, own) = (locals.find(entity.index(), at)?, owns.find(entity.index(), at)?);
        // SAFETY: the lanes are those of `G`, and the row is in use. The world is borrowed exclusively.
        unsafe { set_row_dirty::<G, false>(owns.lanes, own.1) };
        Some(Node { local, own, lanes: locals.lanes })
    }));
    Ok(rows)
}

/// Finds the rows of one component. With `WRITES`, its columns count as changed.
struct Finder<'a, C: Component, const WRITES: bool> {
    storage: &'a Storage,
    id: ComponentId,
    ticks: RunTicks,
    /// The lanes that were found last, and their table.
    lanes: *const Lane,
    table: u32,
    ptr: Option<<C::Layout as Layout<C>>::Ptr>,
}

impl<'a, C: Component, const WRITES: bool> Finder<'a, C, WRITES> {
    fn new(storage: &'a Storage, id: ComponentId, ticks: RunTicks) -> Finder<'a, C, WRITES> {
        let mut finder = Finder { storage, id, ticks, lanes: core::ptr::null(), table: NONE, ptr: None };
        if let Some(sparse) = storage.sparse.of(id) {
            finder.set_lanes(sparse.values().lane());
        }
        finder
    }

    fn set_lanes(&mut self, lanes: *const Lane) {
        self.lanes = lanes;
        self.ptr = (!lanes.is_null()).then(|| {
            // SAFETY: the lanes are those of the component.
            unsafe {
                if WRITES {
                    C::Layout::touch(lanes, self.ticks.now);
                }
                C::Layout::ptr(lanes, self.ticks)
            }
        });
    }

    /// Returns the row of an entity that is at `at`, if it has the component.
    #[inline]
    fn find(&mut self, slot: u32, at: Location) -> Option<(<C::Layout as Layout<C>>::Ptr, usize)> {
        if !matches!(C::Layout::KIND, Kind::Table) {
            return Some((self.ptr?, self.storage.sparse.of(self.id)?.row(slot)? as usize));
        }
        if at.table != self.table {
            self.table = at.table;
            self.set_lanes(self.storage.lane(self.id, at.table));
        }
        Some((self.ptr?, at.row as usize))
    }
}
