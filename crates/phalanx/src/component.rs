//! Components: what entities have.

use crate::alloc::{try_box, try_clone_map, try_clone_slice, try_reserve, try_reserve_map, try_vec};
use crate::change_detection::{Clock, Track};
use crate::layout::{Kind, Layout};
use crate::plain::{ByteInfo, Bytes, IsPlain};
use crate::signature::Signature;
use crate::usage::Usage;
use core::any::TypeId;
use core::fmt;
use core::hash::{BuildHasherDefault, Hash, Hasher};
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// A type whose values entities can have.
///
/// Derived: `#[derive(Component)]`. The layout says where the values are kept; the default, [`Table`](crate::layout::Table),
/// is the fastest to iterate.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "`{Self}` is not a component",
    note = "add `#[derive(Component)]` to `{Self}`, or to a struct of your own that holds it"
)]
pub trait Component: Sized + Send + Sync + 'static {
    /// Where the values are kept.
    type Layout: Layout<Self>;

    /// How a value is cloned, for those that can be: `#[component(clone)]` on a type that is `Clone`. Entities whose
    /// components all can be cloned can be, and so can worlds. Soa components, which are `Copy`, need not say it.
    const CLONE: Option<fn(&Self) -> Self> = None;

    /// Proof that values are [plain](crate::Plain) data, for components with `#[component(plain)]`.
    const PLAIN: Option<IsPlain<Self>> = None;

    /// How the entities in a value are visited, for those that hold any: `#[component(entities = "path")]`. Where entities
    /// get other numbers, as when they move to another world, those in components are changed along.
    const ENTITIES: Option<VisitEntities<Self>> = None;

    /// The names and types of the fields, in their order, as far as they are known: a snapshot of values of the same size
    /// with other fields is told by it.
    const FIELDS: &'static str = "";
}

/// Shows each entity in a value to a function, which may change it.
pub type VisitEntities<C> = fn(&mut C, &mut dyn FnMut(&mut Entity));

/// The number of a component in one world, in order of first use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(u32);

impl ComponentId {
    /// What a type that no entity of the world ever had is called: no signature has it.
    pub(crate) const UNKNOWN: ComponentId = ComponentId(u32::MAX);

    /// The component that marks the tables of extra rows: the first of every world, which no type has.
    pub(crate) const ROW: ComponentId = ComponentId(0);

    /// The id with this number.
    pub const fn from_index(index: u32) -> ComponentId {
        ComponentId(index)
    }

    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for ComponentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "component {}", self.0)
    }
}

/// Drops the value at a row.
pub(crate) type DropFn = unsafe fn(*mut u8);

/// Writes a clone of the first value to where the second is to be.
pub(crate) type CloneFn = unsafe fn(*const u8, *mut u8);

/// Moves a value, given by its address, into a row of the component's lanes.
pub(crate) type PutFn = unsafe fn(*mut Lane, usize, *const u8, *const Clock);

/// Shows the entities in the value at a row of the component's lanes.
pub(crate) type VisitFn = unsafe fn(*mut Lane, usize, &mut dyn FnMut(&mut Entity));

/// How values are cloned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cloning {
    /// Lane by lane, by their bytes.
    Bytes,
    /// By a function, in the first lane.
    Value(CloneFn),
}

/// What a world knows of a component.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    pub(crate) name: &'static str,
    pub(crate) type_id: Option<TypeId>,
    pub(crate) lanes: Box<[core::alloc::Layout]>,
    pub(crate) drop: Option<DropFn>,
    pub(crate) clone: Option<Cloning>,
    pub(crate) put: PutFn,
    pub(crate) visit: Option<VisitFn>,
    pub(crate) kind: Kind,
    /// Whether a value has an address: it lies in one lane, or has no size.
    pub(crate) whole: bool,
    /// What is known of the bytes of a value, in all lanes.
    pub(crate) bytes: ByteInfo,
    pub(crate) track: Track,
    /// What happened to it while that was counted.
    pub(crate) usage: Usage,
}

impl ComponentInfo {
    pub(crate) fn try_clone(&self) -> Result<ComponentInfo, AllocError> {
        let ComponentInfo { name, type_id, ref lanes, drop, clone, put, visit, kind, whole, bytes, track, .. } = *self;
        let (lanes, usage) = (try_clone_slice(lanes)?.into(), Usage::default());
        Ok(ComponentInfo { name, type_id, lanes, drop, clone, put, visit, kind, whole, bytes, track, usage })
    }

    /// Compares two components in canonical order: by name. Types of one name compare by type id, which no other run of the
    /// program changes; dynamic components of one name are equal, and keep the order of their registration.
    pub(crate) fn compare(&self, other: &ComponentInfo) -> core::cmp::Ordering {
        (self.name, self.type_id).cmp(&(other.name, other.type_id))
    }

    /// Whether another is the same component of run time: of the same name, layout and destructor.
    pub(crate) fn is_run_time(&self, other: &ComponentInfo) -> bool {
        let drops = (other.drop.map(|f| f as usize), self.drop.map(|f| f as usize));
        let same_place = other.lanes == self.lanes && other.kind == self.kind;
        other.type_id.is_none() && other.name == self.name && same_place && drops.0 == drops.1
    }

    /// The name of the type.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type, unless the component was registered at run time.
    pub fn type_id(&self) -> Option<TypeId> {
        self.type_id
    }

    /// The layouts of a row of its lanes.
    pub fn lanes(&self) -> &[core::alloc::Layout] {
        &self.lanes
    }

    /// Where its values are kept.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How its changes are tracked.
    pub fn track(&self) -> Track {
        self.track
    }

    /// The layout of a value in the first lane, if it has a size.
    pub(crate) fn value_layout(&self) -> Option<core::alloc::Layout> {
        self.lanes.first().copied().filter(|lane| lane.size() > 0)
    }

    /// The lanes beside that of the marks, which is the last.
    pub(crate) fn value_part(&self) -> &[core::alloc::Layout] {
        &self.lanes[..self.value_lanes()]
    }

    /// How many lanes there are beside that of the marks, which is the last.
    pub(crate) fn value_lanes(&self) -> usize {
        self.lanes.len() - usize::from(self.track != Track::None)
    }

    /// Whether its values can be cloned.
    pub fn is_clone(&self) -> bool {
        self.clone.is_some()
    }

    /// Whether its values carry no data.
    pub fn is_void(&self) -> bool {
        self.lanes.is_empty()
    }
}

/// Tells one set of component ids from another, for those who keep ids. A copy of the set goes its own way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Space(u64);

impl Space {
    fn new() -> Space {
        static SPACES: AtomicU64 = AtomicU64::new(0);
        Space(SPACES.fetch_add(1, Ordering::Relaxed))
    }

    /// The number, which no other set of the process has.
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Clone for Space {
    fn clone(&self) -> Self {
        Space::new()
    }
}

/// The components of a world.
#[derive(Clone, Debug)]
pub struct Components {
    pub(crate) space: Space,
    infos: Vec<ComponentInfo>,
    by_type: HashMap<TypeId, ComponentId, TypeIdHasher>,
    /// The component that was registered last under these bits of its type id: most look-ups end here.
    direct: Box<[(TypeId, ComponentId); DIRECT]>,
    void: Signature,
    /// The ids in canonical order: see [`rank`](Components::rank).
    order: Vec<ComponentId>,
    /// By id: the position in `order`.
    ranks: Vec<u32>,
}

const DIRECT: usize = 64;

/// No component: it stands where there is none.
struct Nobody;

/// Bits of a type id that choose one of 64 places. Folded to a constant where the type is known.
#[inline(always)]
pub(crate) fn direct_place(key: &TypeId) -> usize {
    let mut hasher = PassThrough::default();
    key.hash(&mut hasher);
    (hasher.finish() >> 7) as usize % DIRECT
}

impl Components {
    pub(crate) fn try_new(row_lanes: &[core::alloc::Layout]) -> Result<Components, AllocError> {
        let direct = try_box([(TypeId::of::<Nobody>(), ComponentId::UNKNOWN); DIRECT])?;
        let row = ComponentInfo {
            name: "row",
            type_id: None,
            lanes: try_clone_slice(row_lanes)?.into(),
            drop: None,
            clone: Some(Cloning::Bytes),
            put: crate::layout::put_nothing,
            visit: None,
            kind: Kind::Table,
            whole: false,
            bytes: ByteInfo::new(Bytes::Whole, ""),
            track: Track::None,
            usage: Usage::default(),
        };
        let (mut infos, mut order, mut ranks) = (try_vec(1)?, try_vec(1)?, try_vec(1)?);
        infos.push(row);
        order.push(ComponentId::ROW);
        ranks.push(0);
        let (by_type, void) = (HashMap::default(), Signature::EMPTY);
        Ok(Components { space: Space::new(), infos, by_type, direct, void, order, ranks })
    }

    /// The same components under the same ids, from where they go their own way.
    pub(crate) fn try_clone(&self) -> Result<Components, AllocError> {
        let mut infos = try_vec(self.infos.len())?;
        for info in &self.infos {
            infos.push(info.try_clone()?);
        }
        Ok(Components {
            space: self.space.clone(),
            infos,
            by_type: try_clone_map(&self.by_type)?,
            direct: try_box(*self.direct)?,
            void: self.void.try_clone()?,
            order: try_clone_slice(&self.order)?,
            ranks: try_clone_slice(&self.ranks)?,
        })
    }

    /// Returns the position of a component in the canonical order of components.
    ///
    /// Ids depend on which component was used first. Whatever a user can observe goes by this order instead: the reserved
    /// component first, then by name. Registering further components never changes how two components compare.
    #[inline]
    pub(crate) fn rank(&self, id: ComponentId) -> u32 {
        self.ranks[id.index()]
    }

    /// Returns the ids of all components in canonical order.
    pub(crate) fn in_order(&self) -> impl DoubleEndedIterator<Item = ComponentId> + '_ {
        self.order.iter().copied()
    }

    /// The id of a type, [`UNKNOWN`](ComponentId::UNKNOWN) if it was never used.
    #[inline]
    pub(crate) fn id<C: Component>(&self) -> ComponentId {
        let key = TypeId::of::<C>();
        let (found, id) = &self.direct[direct_place(&key)];
        if *found == key { *id } else { self.id_of_type(key) }
    }

    #[cold]
    pub(crate) fn id_of_type(&self, key: TypeId) -> ComponentId {
        self.by_type.get(&key).copied().unwrap_or(ComponentId::UNKNOWN)
    }

    /// The id of a type, which is given one if it has none.
    pub(crate) fn register<C: Component>(&mut self) -> Result<ComponentId, AllocError> {
        let id = self.id::<C>();
        if id != ComponentId::UNKNOWN {
            return Ok(id);
        }
        let mut lanes = try_vec(C::Layout::LANES)?;
        C::Layout::lanes(&mut |lane| lanes.push(lane));
        self.add(ComponentInfo {
            name: core::any::type_name::<C>(),
            type_id: Some(TypeId::of::<C>()),
            kind: C::Layout::KIND,
            // With marks or without: values that are not taken apart lie in the first lane.
            whole: lanes.is_empty() || !C::Layout::COPY,
            bytes: crate::layout::bytes::<C>(),
            track: C::Layout::TRACK,
            lanes: lanes.into(),
            drop: C::Layout::DROP,
            clone: crate::layout::cloning::<C>(),
            put: crate::layout::put_value::<C>,
            visit: C::ENTITIES.map(|_| crate::layout::visit_value::<C> as VisitFn),
            usage: Usage::default(),
        })
    }

    /// Gives a component its id. All of it, or nothing happens.
    pub(crate) fn add(&mut self, info: ComponentInfo) -> Result<ComponentId, AllocError> {
        let id = ComponentId(self.infos.len() as u32);
        try_reserve(&mut self.infos, 1)?;
        try_reserve_map(&mut self.by_type, usize::from(info.type_id.is_some()))?;
        try_reserve(&mut self.order, 1)?;
        try_reserve(&mut self.ranks, 1)?;
        if info.lanes.is_empty() {
            self.void.try_insert(id)?;
        }
        let at = 1 + self.order[1..].partition_point(|other| self.info(*other).compare(&info).is_le());
        self.order.insert(at, id);
        self.ranks.push(0);
        for (rank, id) in (0..).zip(&self.order).skip(at) {
            self.ranks[id.index()] = rank;
        }
        if let Some(key) = info.type_id {
            self.by_type.insert(key, id);
            self.direct[direct_place(&key)] = (key, id);
        }
        self.infos.push(info);
        Ok(id)
    }

    /// The id under which a component of another world is known here; it is given one if it has none.
    ///
    /// One with a type is known by it, one of run time by its name, layout and destructor.
    pub(crate) fn adopt(&mut self, info: &ComponentInfo) -> Result<ComponentId, AllocError> {
        match self.known(info) {
            Some(id) => Ok(id),
            None => self.add(info.try_clone()?),
        }
    }

    /// The id under which a component of another world is known here.
    pub(crate) fn known(&self, info: &ComponentInfo) -> Option<ComponentId> {
        match info.type_id {
            Some(key) => self.by_type.get(&key).copied(),
            None => self.find_run_time(info),
        }
    }

    pub(crate) fn find_run_time(&self, info: &ComponentInfo) -> Option<ComponentId> {
        self.infos.iter().position(|other| info.is_run_time(other)).map(|at| ComponentId(at as u32))
    }

    /// The first component with this name: for those of run time, which have no type that leads to them.
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
    /// assert_eq!(world.components().find("row"), None); // what the world itself uses has no name
    /// ```
    pub fn find(&self, name: &str) -> Option<ComponentId> {
        let known = self.iter().skip(1).find(|(_, info)| info.name == name);
        known.map(|(id, _)| id)
    }

    /// The components and their ids, in order of registration.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ComponentId, &ComponentInfo)> + '_ {
        self.infos.iter().enumerate().map(|(at, info)| (ComponentId(at as u32), info))
    }

    /// What is known of a component.
    ///
    /// # Panics
    ///
    /// If the id is another world's and too large for this one.
    #[track_caller]
    pub fn info(&self, id: ComponentId) -> &ComponentInfo {
        &self.infos[id.index()]
    }

    /// What is counted of a component, to be changed.
    pub(crate) fn usage_mut(&mut self, id: ComponentId) -> &mut Usage {
        &mut self.infos[id.index()].usage
    }

    /// How many there are, the reserved one that marks [extra rows](crate::Key) included.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Whether no type has an id yet.
    pub fn is_empty(&self) -> bool {
        self.by_type.is_empty()
    }

    /// Checks that ids lead to what is known of components, and types to ids.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        let typed = self.infos.iter().filter(|info| info.type_id.is_some()).count();
        let direct = self.direct.iter().filter(|(key, _)| *key != TypeId::of::<Nobody>()).map(|(key, id)| (key, id));
        let leads = |(key, id): (&TypeId, &ComponentId)| {
            self.infos.get(id.index()).is_some_and(|info| info.type_id == Some(*key))
        };
        if typed != self.by_type.len() || !self.by_type.iter().chain(direct).all(leads) {
            return Err("a type that leads to no component, or to another's");
        }
        let ranked = self.ranks.len() == self.infos.len()
            && self.order.len() == self.infos.len()
            && (0..).zip(&self.order).all(|(rank, id)| self.ranks.get(id.index()) == Some(&rank))
            && self.order[1..].is_sorted_by(|a, b| self.info(*a).compare(self.info(*b)).is_le());
        if !ranked {
            return Err("a component that is not at its place in the canonical order");
        }
        let void = self.iter().filter(|(_, info)| info.is_void()).map(|(id, _)| id);
        match self.void.iter().eq(void) {
            true => Ok(()),
            false => Err("a component without data that has some, or the other way round"),
        }
    }

    /// Those that carry no data.
    pub fn void(&self) -> &Signature {
        &self.void
    }
}

pub(crate) type TypeIdHasher = BuildHasherDefault<PassThrough>;

/// A type id is a hash already.
#[derive(Clone, Default)]
pub(crate) struct PassThrough(u64);

impl Hasher for PassThrough {
    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}
