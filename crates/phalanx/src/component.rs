//! [`Component`] and [`Components`]: the types whose values are attached to entities, and their registry.

mod requirement;

pub use requirement::Requirement;

use crate::alloc::{try_box, try_clone_map, try_clone_slice, try_reserve, try_reserve_map, try_vec};
use crate::change_detection::{Clock, Track};
use crate::few::Few;
use crate::layout::{Kind, Layout};
use crate::links::RelationInfo;
use crate::plain::{ByteInfo, Bytes, IsPlain};
use crate::rank;
#[cfg(feature = "reflect")]
use crate::shape::{Shape, ShapeOf};
use crate::signature::Signature;
use crate::type_map::{TYPE_SLOTS, TypeIdHasher, type_slot};
use crate::usage::Usage;
use core::any::TypeId;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// A type whose values can be attached to entities.
///
/// Use `#[derive(Component)]` to implement it. The layout decides where the values are stored. The default,
/// [`Table`](crate::layout::Table), is the fastest to iterate.
///
/// ```
/// use phalanx::Component;
///
/// #[derive(Component)]
/// struct Position {
///     x: f32,
///     y: f32,
/// }
///
/// #[derive(Component)]
/// struct Enemy; // no data: a bit in the signature
/// # let _ = (Position { x: 0.0, y: 0.0 }.x, Position { x: 0.0, y: 0.0 }.y, Enemy);
/// ```
///
/// # Generic code
///
/// Code that is generic over a component needs only the bound `C: Component`. The types of references depend on the layout:
/// [`ReadItem<'_, C>`](crate::query::ReadItem) is the item of `&C`, and [`WriteItem<'_, C>`](crate::query::WriteItem) the item of `&mut C`.
///
/// ```
/// use phalanx::layout::Table;
/// use phalanx::query::{ReadItem, WriteItem};
/// use phalanx::{Component, ComponentError, Entity, World};
///
/// // For all layouts:
/// fn read<C: Component>(world: &World, entity: Entity) -> Result<ReadItem<'_, C>, ComponentError> {
///     world.get::<C>(entity)
/// }
/// fn visit<C: Component>(world: &mut World, mut f: impl FnMut(WriteItem<'_, C>)) {
///     world.query_mut::<&mut C>().for_each(|value| f(value));
/// }
///
/// // For one layout, whose references are plain references:
/// fn total<C: Component<Layout = Table> + Copy + Into<u64>>(world: &World) -> u64 {
///     world.query::<&C>().iter().map(|value| (*value).into()).sum()
/// }
///
/// #[derive(Component, Clone, Copy)]
/// struct Gold(u32);
///
/// impl From<Gold> for u64 {
///     fn from(gold: Gold) -> u64 {
///         gold.0.into()
///     }
/// }
///
/// let mut world = World::new();
/// let chest = world.spawn(Gold(3));
/// visit::<Gold>(&mut world, |gold| gold.0 += 1);
/// assert_eq!(read::<Gold>(&world, chest).unwrap().0, 4);
/// assert_eq!(total::<Gold>(&world), 4);
/// ```
///
/// # Required components
///
/// A component can require others: `#[component(requires(A, B = expression, C(path::to::function)))]`. Whenever the component
/// is inserted, those that it requires are inserted with it, in the same archetype move, unless the entity has them or the
/// bundle contains them. `A` is created by [`Default`], `B` by the expression, and `C` by the function.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component, Default, Debug, PartialEq)]
/// struct Position(f32, f32);
/// #[derive(Component)]
/// struct Health(u32);
///
/// #[derive(Component)]
/// #[component(requires(Position, Health = Health(3)))]
/// struct Body;
/// #[derive(Component)]
/// #[component(requires(Body = Body, Health(Fighter::health)))]
/// struct Fighter;
///
/// impl Fighter {
///     fn health() -> Health {
///         Health(20)
///     }
/// }
///
/// let mut world = World::new();
/// let ann = world.spawn((Fighter, Position(1.0, 2.0)));
/// assert_eq!(world.get::<Position>(ann)?, &Position(1.0, 2.0)); // that of the bundle
/// assert_eq!(world.get::<Health>(ann)?.0, 20); // that of the fighter, which is nearer than that of its body
/// assert!(world.has::<Body>(ann));
/// # Ok::<(), phalanx::ComponentError>(())
/// ```
///
/// - Requirements are transitive. If several components require the same one, the nearest requirement counts, then the first
///   in the order of the bundle. A [run-time bundle](crate::BundleBuilder) has the order of component ids.
/// - They hold for every operation that inserts a bundle: spawns, insertions, batches, columns, [extra rows](crate::Key),
///   commands, and values by id. They have no effect where values come as they are: clones, transfers, snapshots, rollbacks,
///   deltas.
/// - They have no effect on removals. A required component may be removed, and is inserted again with the next insertion.
/// - The functions that create values run before the operation changes anything. If one panics, nothing has changed. In a
///   [command buffer](crate::CommandBuffer) they run when their command is executed.
/// - Components that require each other in a cycle do not compile.
/// - A component without requirements costs nothing: whether a bundle has any is known at compile time.
#[doc(alias = "require")]
#[doc(alias = "required components")]
#[doc(alias = "dependencies")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "`{Self}` is not a component",
    note = "add `#[derive(Component)]` to `{Self}`, or to a struct of your own that holds it"
)]
pub trait Component: Sized + Send + Sync + 'static {
    /// The storage of the values.
    type Layout: Layout<Self>;

    /// The function that clones a value, if there is one: `#[component(clone)]` on a type that is `Clone`.
    ///
    /// An entity can be cloned if all its components can, and so can a world. Soa components are `Copy` and need no function.
    const CLONE: Option<fn(&Self) -> Self> = None;

    /// Proof that values are [plain](crate::Plain) data, for components with `#[component(plain)]`.
    const PLAIN: Option<IsPlain<Self>> = None;

    /// The function that visits the entities in a value, if it contains any: `#[component(entities)]`.
    ///
    /// When entities get other handles, as when they move to another world, the handles in components are updated with it.
    const ENTITIES: Option<VisitEntities<Self>> = None;

    /// The names and types of the fields in order, or an empty string if they are not known.
    ///
    /// It is part of the schema of a snapshot, so values of the same size with other fields are refused.
    const FIELDS: &'static str = "";

    /// The components that are inserted with this one: `#[component(requires(…))]`. See [required
    /// components](Component#required-components).
    const REQUIRES: &'static [Requirement] = &[];

    /// The names and places of the fields, if they are known.
    #[cfg(feature = "reflect")]
    #[doc(hidden)]
    const REFLECTED: Option<ShapeOf<Self>> = None;

    /// The relation whose records the values are, for the hidden component of a relation.
    #[doc(hidden)]
    const RELATION: Option<RelationInfo> = None;

    /// Whether rows get the component only by operations of their own.
    #[doc(hidden)]
    const HIDDEN: bool = Self::RELATION.is_some();
}

/// A function that passes each entity in a value to another function, which may change it.
#[doc(hidden)]
pub type VisitEntities<C> = fn(&mut C, &mut dyn FnMut(&mut Entity));

/// The number of a component in one world, in order of registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(u32);

impl ComponentId {
    /// The id of a type that is not registered. No signature contains it.
    pub(crate) const UNKNOWN: ComponentId = ComponentId(u32::MAX);

    /// The reserved component of tables with extra rows. It is the first of every world and has no type.
    pub(crate) const ROW: ComponentId = ComponentId(0);

    /// Returns the id with the number `index`.
    pub const fn from_index(index: u32) -> ComponentId {
        ComponentId(index)
    }

    /// Returns the number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for ComponentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "component {}", self.0)
    }
}

/// Drops the value at an address.
pub(crate) type DropFn = unsafe fn(*mut u8);

/// Writes a clone of the value at the first address to the second address.
pub(crate) type CloneFn = unsafe fn(*const u8, *mut u8);

/// Moves the value at an address into a row of the component's lanes.
pub(crate) type WriteFn = unsafe fn(*mut Lane, usize, *const u8, *const Clock);

/// Visits the entities in the value at a row of the component's lanes.
pub(crate) type VisitFn = unsafe fn(*mut Lane, usize, &mut dyn FnMut(&mut Entity));

/// The ways to clone values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cloning {
    /// The bytes of each lane are copied.
    Bytes,
    /// A function clones the value in the first lane.
    Value(CloneFn),
}

/// Calls a function with the address of a whole value, given the component's lanes and a row.
#[cfg(feature = "reflect")]
pub(crate) type WithFn = unsafe fn(*const Lane, usize, &mut dyn FnMut(*const u8));

/// The fields of a component.
#[cfg(feature = "reflect")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReflectedInfo {
    pub(crate) shape: &'static Shape,
    /// Returns `true` if the lanes are the fields of the shape, for a component that is split into lanes.
    pub(crate) has_lanes: fn() -> bool,
    pub(crate) with: WithFn,
}

/// The constant with the fields of a component.
#[cfg(feature = "reflect")]
struct ReflectedOf<C>(core::marker::PhantomData<C>);

#[cfg(feature = "reflect")]
impl<C: Component> ReflectedOf<C> {
    const KNOWN: Option<ReflectedInfo> = match C::REFLECTED {
        Some(of) => {
            let (shape, has_lanes) = of.parts();
            Some(ReflectedInfo { shape, has_lanes, with: crate::layout::with_value::<C> })
        }
        None => None,
    };
    const INFO: Option<&'static ReflectedInfo> = const { &Self::KNOWN }.as_ref();
}

/// The properties of a component in one world.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    pub(crate) name: &'static str,
    pub(crate) type_id: Option<TypeId>,
    pub(crate) lanes: Few<core::alloc::Layout>,
    pub(crate) drop: Option<DropFn>,
    pub(crate) clone: Option<Cloning>,
    pub(crate) write: WriteFn,
    pub(crate) visit: Option<VisitFn>,
    pub(crate) kind: Kind,
    /// Whether a value has an address: it is in one lane, or has no size.
    pub(crate) has_address: bool,
    /// The known properties of the bytes of a value, in all lanes.
    pub(crate) bytes: ByteInfo,
    pub(crate) track: Track,
    pub(crate) requires: &'static [Requirement],
    /// The relation whose records the values are.
    pub(crate) relation: Option<RelationInfo>,
    /// Whether rows get the component only by operations of their own.
    pub(crate) is_hidden: bool,
    /// The fields, if they are known.
    #[cfg(feature = "reflect")]
    pub(crate) reflected: Option<&'static ReflectedInfo>,
    /// A number that is in the canonical order: see [`Components::rank`].
    pub(crate) rank: u32,
    /// The accesses that were counted.
    pub(crate) usage: Usage,
}

impl ComponentInfo {
    /// Clones the properties, without the counts.
    pub(crate) fn try_clone(&self) -> Result<ComponentInfo, AllocError> {
        Ok(ComponentInfo { lanes: Few::try_copy(&self.lanes)?, usage: Usage::default(), ..*self })
    }

    /// Compares two components in canonical order, by name.
    ///
    /// Types of the same name compare by type id, which is the same in each run of the program. Run-time components of the
    /// same name are equal, and keep the order of their registration.
    pub(crate) fn compare(&self, other: &ComponentInfo) -> core::cmp::Ordering {
        (self.name, self.type_id).cmp(&(other.name, other.type_id))
    }

    /// Returns `true` if `other` is a run-time component of the same name, layout and destructor.
    pub(crate) fn is_run_time(&self, other: &ComponentInfo) -> bool {
        let address = |drop: Option<DropFn>| drop.map(|f| f as usize);
        let same_layout = other.lanes == self.lanes && other.kind == self.kind;
        other.type_id.is_none() && other.name == self.name && same_layout && address(other.drop) == address(self.drop)
    }

    /// Returns the name of the type, or of the run-time component.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the type, or `None` for a run-time component.
    pub fn type_id(&self) -> Option<TypeId> {
        self.type_id
    }

    /// Returns the layout of a row of each lane, change ticks included.
    pub fn lanes(&self) -> &[core::alloc::Layout] {
        &self.lanes
    }

    /// Returns the kind of storage.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns how changes are tracked.
    pub fn track(&self) -> Track {
        self.track
    }

    /// Returns the layout of a value in the first lane, if it has a size.
    pub(crate) fn value_layout(&self) -> Option<core::alloc::Layout> {
        self.lanes.first().copied().filter(|lane| lane.size() > 0)
    }

    /// Returns the layouts of the lanes without those of change ticks, which are the last.
    pub(crate) fn value_layouts(&self) -> &[core::alloc::Layout] {
        &self.lanes[..self.value_lanes()]
    }

    /// Returns the number of lanes without those of change ticks.
    pub(crate) fn value_lanes(&self) -> usize {
        self.lanes.len() - self.track.lanes()
    }

    /// Returns the components that this one [requires](Component#required-components), without those that they require.
    pub fn requires(&self) -> &'static [Requirement] {
        self.requires
    }

    /// Returns `true` if values can be cloned.
    pub fn is_clone(&self) -> bool {
        self.clone.is_some()
    }

    /// Returns the names and places of the fields, if they are known. Those of components with `derive(Component)` are.
    ///
    /// The fields of a component with `layout = "soa"` are in lanes of their own. [`Value`](crate::reflect::Value) finds them.
    #[cfg(feature = "reflect")]
    pub fn shape(&self) -> Option<&'static Shape> {
        self.reflected.map(|reflected| reflected.shape)
    }

    /// Returns `true` if the component stores a relation or names. Such a component is changed by operations of its own.
    #[cfg(feature = "reflect")]
    pub fn is_internal(&self) -> bool {
        self.is_hidden
    }

    /// Returns `true` if values can be formatted by `Debug`, with [`Value::debug`](crate::reflect::Value::debug).
    #[cfg(feature = "reflect")]
    pub fn is_debug(&self) -> bool {
        self.shape().is_some_and(|shape| shape.show.is_some())
    }

    /// Returns `true` if values are [plain](crate::Plain) data: nothing but their bytes.
    pub fn is_plain(&self) -> bool {
        self.bytes.is_plain()
    }

    /// Returns `true` if values have neither data nor change ticks, so that the component has no column.
    #[doc(alias = "is_tag")]
    pub fn is_zero_sized(&self) -> bool {
        self.lanes.is_empty()
    }
}

/// Identifies a registry of components, for code that stores ids. A clone of the registry has another identity.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RegistryId(u64);

impl RegistryId {
    fn new() -> RegistryId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        RegistryId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the number, which no other registry of the process has.
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Clone for RegistryId {
    fn clone(&self) -> Self {
        RegistryId::new()
    }
}

/// The registry of components of a world.
#[derive(Clone, Debug)]
pub struct Components {
    pub(crate) registry_id: RegistryId,
    infos: Vec<ComponentInfo>,
    /// By bits of the type id: the type that was registered first. Most look-ups end here.
    cache: Box<[(TypeId, ComponentId); TYPE_SLOTS]>,
    /// The types that are not in `cache`, because another one was there.
    others: HashMap<TypeId, ComponentId, TypeIdHasher>,
    /// The components without a column.
    zero_sized: Signature,
    /// The ids in canonical order: see [`rank`](Components::rank).
    order: Vec<ComponentId>,
}

/// The key of an empty cache slot.
struct Vacant;

impl Components {
    /// Creates a registry with the reserved component, which has the given lanes.
    pub(crate) fn try_new(row_lanes: &'static [core::alloc::Layout]) -> Result<Components, AllocError> {
        let row = ComponentInfo {
            name: "row",
            type_id: None,
            lanes: Few::Fixed(row_lanes),
            drop: None,
            clone: Some(Cloning::Bytes),
            write: crate::layout::write_nothing,
            visit: None,
            kind: Kind::Table,
            has_address: false,
            bytes: ByteInfo::new(Bytes::Whole, ""),
            track: Track::None,
            requires: &[],
            relation: None,
            is_hidden: true,
            #[cfg(feature = "reflect")]
            reflected: None,
            rank: 0,
            usage: Usage::default(),
        };
        // A few more are registered in every world.
        let (mut infos, mut order, mut cache) = (try_vec(4)?, try_vec(8)?, try_vec(TYPE_SLOTS)?);
        infos.push(row);
        order.push(ComponentId::ROW);
        // Filled in its place.
        cache.resize(TYPE_SLOTS, (TypeId::of::<Vacant>(), ComponentId::UNKNOWN));
        let Ok(cache) = cache.into_boxed_slice().try_into() else { unreachable!("as long as it was made") };
        let (registry_id, others, zero_sized) = (RegistryId::new(), HashMap::default(), Signature::EMPTY);
        Ok(Components { registry_id, infos, cache, others, zero_sized, order })
    }

    /// Clones the registry: the same components under the same ids, with another identity.
    pub(crate) fn try_clone(&self) -> Result<Components, AllocError> {
        let mut infos = try_vec(self.infos.len())?;
        for info in &self.infos {
            infos.push(info.try_clone()?);
        }
        Ok(Components {
            registry_id: self.registry_id.clone(),
            infos,
            cache: try_box(*self.cache)?,
            others: try_clone_map(&self.others)?,
            zero_sized: self.zero_sized.try_clone()?,
            order: try_clone_slice(&self.order)?,
        })
    }

    /// Returns a number that is in the canonical order of components. Registering a component may change the numbers.
    ///
    /// Ids depend on which component was registered first. Everything that a user can observe has this order instead: the
    /// reserved component first, then by name. Registering more components never changes how two components compare.
    #[inline]
    pub(crate) fn rank(&self, id: ComponentId) -> u32 {
        self.info(id).rank
    }

    /// Returns the ids of all components in canonical order.
    pub(crate) fn in_order(&self) -> impl DoubleEndedIterator<Item = ComponentId> + '_ {
        self.order.iter().copied()
    }

    /// Returns the id of a type, or [`UNKNOWN`](ComponentId::UNKNOWN) if it is not registered.
    #[inline]
    pub(crate) fn id<C: Component>(&self) -> ComponentId {
        let key = TypeId::of::<C>();
        let (found, id) = &self.cache[type_slot(&key)];
        if *found == key { *id } else { self.id_of_type(key) }
    }

    /// Returns the id of a type, or [`UNKNOWN`](ComponentId::UNKNOWN) if it is not registered.
    #[cold]
    pub(crate) fn id_of_type(&self, key: TypeId) -> ComponentId {
        match self.cache[type_slot(&key)] {
            (found, id) if found == key => id,
            _ => self.others.get(&key).copied().unwrap_or(ComponentId::UNKNOWN),
        }
    }

    /// Returns `true` if rows cannot be given the component: it is the reserved one, that of a relation, or that of names.
    pub(crate) fn is_hidden(&self, id: ComponentId) -> bool {
        self.infos.get(id.index()).is_some_and(|info| info.is_hidden)
    }

    /// Returns the id of a type, and registers the type if it has none.
    pub(crate) fn register<C: Component>(&mut self) -> Result<ComponentId, AllocError> {
        let id = self.id::<C>();
        if id != ComponentId::UNKNOWN {
            return Ok(id);
        }
        let lanes = Few::try_new(C::Layout::LANES, |push| C::Layout::lanes(push))?;
        self.add(ComponentInfo {
            name: C::RELATION.map_or_else(core::any::type_name::<C>, |relation| relation.name()),
            type_id: Some(TypeId::of::<C>()),
            kind: C::Layout::KIND,
            // With or without change ticks, values that are not split into fields are in the first lane.
            has_address: lanes.is_empty() || !C::Layout::COPY,
            bytes: crate::layout::bytes::<C>(),
            track: C::Layout::TRACK,
            lanes,
            drop: C::Layout::DROP,
            clone: crate::layout::cloning::<C>(),
            write: crate::layout::write_value::<C>,
            visit: C::ENTITIES.map(|_| crate::layout::visit_value::<C> as VisitFn),
            requires: C::REQUIRES,
            relation: C::RELATION,
            is_hidden: C::HIDDEN,
            #[cfg(feature = "reflect")]
            reflected: ReflectedOf::<C>::INFO,
            rank: 0,
            usage: Usage::default(),
        })
    }

    /// Adds a component and returns its id. Nothing changes if allocation fails.
    pub(crate) fn add(&mut self, mut info: ComponentInfo) -> Result<ComponentId, AllocError> {
        let id = ComponentId(self.infos.len() as u32);
        try_reserve(&mut self.infos, 1)?;
        let is_first = |key: &TypeId| self.cache[type_slot(key)].1 == ComponentId::UNKNOWN;
        let other = info.type_id.filter(|key| !is_first(key));
        try_reserve_map(&mut self.others, usize::from(other.is_some()))?;
        try_reserve(&mut self.order, 1)?;
        if info.lanes.is_empty() {
            self.zero_sized.try_insert(id)?;
        }
        let at = 1 + self.order[1..].partition_point(|other| self.info(*other).compare(&info).is_le());
        let rank = rank::between(self.rank(self.order[at - 1]), self.order.get(at).map(|after| self.rank(*after)));
        self.order.insert(at, id);
        match (info.type_id, other) {
            (_, Some(key)) => _ = self.others.insert(key, id),
            (Some(key), None) => self.cache[type_slot(&key)] = (key, id),
            (None, None) => {}
        }
        info.rank = rank.unwrap_or(0);
        self.infos.push(info);
        if rank.is_none() {
            // The first one is the reserved component.
            for (id, rank) in self.order[1..].iter().zip(rank::even(self.order.len())) {
                self.infos[id.index()].rank = rank;
            }
        }
        Ok(id)
    }

    /// Returns the id of a component of another world, and adds the component if it has none here.
    ///
    /// Components are found by type, run-time components by name, layout and destructor.
    pub(crate) fn adopt(&mut self, info: &ComponentInfo) -> Result<ComponentId, AllocError> {
        match self.known(info) {
            Some(id) => Ok(id),
            None => self.add(info.try_clone()?),
        }
    }

    /// Returns the id of a component of another world, if it has one here.
    pub(crate) fn known(&self, info: &ComponentInfo) -> Option<ComponentId> {
        match info.type_id {
            Some(key) => Some(self.id_of_type(key)).filter(|id| *id != ComponentId::UNKNOWN),
            None => self.find_run_time(info),
        }
    }

    /// Returns the id of a run-time component with the same name, layout and destructor.
    pub(crate) fn find_run_time(&self, info: &ComponentInfo) -> Option<ComponentId> {
        self.infos.iter().position(|other| info.is_run_time(other)).map(|at| ComponentId(at as u32))
    }

    /// Returns the first component with this name. Run-time components, which have no type, are found by it.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use phalanx::layout::Kind;
    /// use phalanx::{ComponentDescriptor, World};
    ///
    /// let mut world = World::new();
    /// let layout = Layout::new::<u64>();
    /// let descriptor = ComponentDescriptor { name: "score".into(), layout, kind: Kind::Table, drop: None, clone: None };
    /// // SAFETY: numbers can be sent and shared, and need no destructor.
    /// let score = unsafe { world.register_component_with_descriptor(descriptor) };
    /// assert_eq!(world.components().find("score"), Some(score));
    /// assert_eq!(world.components().find("row"), None); // the reserved component is not found
    /// ```
    pub fn find(&self, name: &str) -> Option<ComponentId> {
        let known = self.iter().skip(1).find(|(_, info)| info.name == name);
        known.map(|(id, _)| id)
    }

    /// Returns an iterator over the components with their ids, in order of registration.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ComponentId, &ComponentInfo)> + '_ {
        self.infos.iter().enumerate().map(|(at, info)| (ComponentId(at as u32), info))
    }

    /// Returns the properties of a component.
    ///
    /// # Panics
    ///
    /// Panics if no component of this world has the id.
    #[track_caller]
    pub fn info(&self, id: ComponentId) -> &ComponentInfo {
        &self.infos[id.index()]
    }

    /// Returns the access counts of a component.
    pub(crate) fn usage_mut(&mut self, id: ComponentId) -> &mut Usage {
        &mut self.infos[id.index()].usage
    }

    /// Returns the number of components, including the reserved component of [extra rows](crate::Key).
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Returns `true` if no type is registered.
    pub fn is_empty(&self) -> bool {
        self.infos.iter().all(|info| info.type_id.is_none())
    }

    /// Checks that types, ids and the canonical order agree.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        let cached = self.cache.iter().filter(|(key, _)| *key != TypeId::of::<Vacant>()).map(|(key, id)| (key, id));
        let is_right = |(key, id): (&TypeId, &ComponentId)| {
            self.infos.get(id.index()).is_some_and(|info| info.type_id == Some(*key))
        };
        let is_found =
            |(id, info): (ComponentId, &ComponentInfo)| info.type_id.is_none_or(|key| self.id_of_type(key) == id);
        if !self.iter().all(is_found) || !self.others.iter().chain(cached).all(is_right) {
            return Err("a type without a component, or with the component of another type");
        }
        let ranked = self.order.len() == self.infos.len()
            && self
                .order
                .iter()
                .map(|id| Some(self.infos.get(id.index())?.rank))
                .is_sorted_by(|a, b| a.is_some() && a < b)
            && self.order[1..].is_sorted_by(|a, b| self.info(*a).compare(self.info(*b)).is_le());
        if !ranked {
            return Err("a component that is not at its position in the canonical order");
        }
        let zero_sized = self.iter().filter(|(_, info)| info.is_zero_sized()).map(|(id, _)| id);
        match self.zero_sized.iter().eq(zero_sized) {
            true => Ok(()),
            false => Err("the set of components without columns is wrong"),
        }
    }

    /// Returns the set of components without a column: those for which [`ComponentInfo::is_zero_sized`] is true.
    pub fn zero_sized(&self) -> &Signature {
        &self.zero_sized
    }
}
