//! [`SystemAccess`]: what a system touches, and which systems can run at once.

use super::ShortName;
use crate::query::{Access, AliasError, Filtered, QueryData, QueryFilter};
use core::any::{TypeId, type_name};
use core::fmt;
use core::ops::Range;

/// What a system touches: the components and relations of its queries, resources, events, and whether it records commands.
///
/// Parameters declare it when a system is [initialised](super::System::initialize).
#[derive(Clone, Debug, Default)]
pub struct SystemAccess {
    queries: Vec<(Access, &'static str)>,
    resources: Vec<Touch>,
    events: Vec<Touch>,
    /// The relations whose links are read by other parameters than queries.
    relations: Vec<(TypeId, &'static str)>,
    world: Option<(WorldAccess, &'static str)>,
    commands: bool,
    tracks_changes: bool,
    /// The types of the values that belong to the system.
    locals: Vec<&'static str>,
    /// The first two parameters of which one writes what the other touches.
    conflict: Option<ParamConflict>,
    /// The other members of each [set](super::ParamSet) that the next parameter is in: their queries and their resources. The
    /// next parameter may conflict with them.
    other_members: Vec<[Range<usize>; 2]>,
}

/// Where the parameters of a [set](super::ParamSet) begin: the number of queries and of resources before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetStart([usize; 2]);

/// A resource or an event type, and the parameter that touches it.
#[derive(Clone, Copy, Debug)]
struct Touch {
    key: TypeId,
    name: &'static str,
    writes: bool,
    param: &'static str,
}

/// How a system touches the world as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldAccess {
    /// It may read everything, by a parameter `&World`.
    Shared,
    /// It may change everything, by a parameter `&mut World`.
    Exclusive,
}

/// Something that a system touches, as a key that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKey {
    /// A component.
    Component(TypeId),
    /// A resource.
    Resource(TypeId),
    /// The events of a type.
    Events(TypeId),
    /// The links of a relation. Systems only read them: links are changed by commands.
    Relation(TypeId),
}

/// The reason why two systems cannot run at once, or why one has to wait for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// One writes a component that the other touches.
    Component(&'static str),
    /// One writes a resource that the other touches.
    Resource(&'static str),
    /// One reads the events that the other sends.
    Events(&'static str),
    /// One has a parameter `&mut World`.
    Exclusive,
    /// One has a parameter `&World`, and the other writes something, or records commands.
    World,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::Component(name) | Conflict::Resource(name) => ShortName(name).fmt(f),
            Conflict::Events(name) => write!(f, "events of {}", ShortName(name)),
            Conflict::Exclusive => f.write_str("&mut World"),
            Conflict::World => f.write_str("&World"),
        }
    }
}

/// The error of a system whose parameters conflict: one writes what another touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamConflict {
    /// The type of the first parameter.
    pub first: &'static str,
    /// The type of the second parameter. For a query that names a component twice, it is the same.
    pub second: &'static str,
    /// What both touch.
    pub on: Conflict,
}

impl fmt::Display for ParamConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParamConflict { first, second, on } = self;
        let (first, second) = (ShortName(first), ShortName(second));
        write!(f, "its parameters {first} and {second} conflict: one writes {on}, which the other touches too")?;
        f.write_str("; make them disjoint by `With` and `Without`, or put them into a `ParamSet`")
    }
}

impl core::error::Error for ParamConflict {}

impl SystemAccess {
    /// Returns the access of a system that may do everything.
    pub fn of_everything() -> SystemAccess {
        SystemAccess { world: Some((WorldAccess::Exclusive, "&mut World")), ..Default::default() }
    }

    /// Adds a query.
    pub(super) fn add_query<D: QueryData, F: QueryFilter>(&mut self, param: &'static str) {
        let access = match Access::try_of_filtered::<D, F>() {
            Ok(access) => access,
            Err(AliasError { component, .. }) => {
                self.refuse(param, param, Conflict::Component(component));
                return;
            }
        };
        let others = self.queries.iter().enumerate().filter(|(at, _)| self.is_used_together(0, *at));
        let other =
            others.map(|(_, other)| other).find_map(|(other, name)| Some((*name, other.conflict_with(&access)?)));
        if let Some((first, component)) = other {
            self.refuse(first, param, Conflict::Component(component));
        }
        if let Some((WorldAccess::Shared, first)) = self.world
            && let Some(component) = access.writes().next()
        {
            self.refuse(first, param, Conflict::Component(component));
        }
        let mut written = self.resources.iter().enumerate().filter(|(at, _)| self.is_used_together(1, *at));
        if access.reads_world()
            && let Some((_, touch)) = written.find(|(_, touch)| touch.writes)
        {
            self.refuse(touch.param, param, Conflict::Resource(touch.name));
        }
        self.tracks_changes |= Filtered::<D, F>::TRACKS_CHANGES;
        self.queries.push((access, param));
    }

    /// Adds a resource.
    pub(crate) fn add_resource<R: 'static>(&mut self, writes: bool, param: &'static str) {
        let touch = Touch { key: TypeId::of::<R>(), name: type_name::<R>(), writes, param };
        let others = self.resources.iter().enumerate().filter(|(at, _)| self.is_used_together(1, *at));
        let other = others.map(|(_, other)| *other).find(|other| other.key == touch.key && (other.writes || writes));
        if let Some(other) = other {
            self.refuse(other.param, param, Conflict::Resource(touch.name));
        }
        let mut queries = self.queries.iter().enumerate().filter(|(at, _)| self.is_used_together(0, *at));
        let reader = queries.find(|(_, (access, _))| access.reads_world()).map(|(_, (_, param))| *param);
        let shared = self.world.filter(|(access, _)| *access == WorldAccess::Shared).map(|(_, param)| param);
        if let Some(first) = shared.or(reader)
            && writes
        {
            self.refuse(first, param, Conflict::Resource(touch.name));
        }
        // All resources are tracked.
        self.tracks_changes = true;
        self.resources.push(touch);
    }

    /// Adds events that are read or sent.
    pub(crate) fn add_events<E: 'static>(&mut self, writes: bool, param: &'static str) {
        self.events.push(Touch { key: TypeId::of::<E>(), name: type_name::<E>(), writes, param });
    }

    /// Adds a relation whose links are read.
    pub(crate) fn add_relation<R: 'static>(&mut self) {
        self.relations.push((TypeId::of::<R>(), type_name::<R>()));
    }

    /// Adds commands.
    pub(super) fn add_commands(&mut self) {
        self.commands = true;
    }

    /// Adds a shared world.
    pub(super) fn add_world(&mut self, param: &'static str) {
        let written = self.queries.iter().find_map(|(access, name)| {
            let component = access.writes().next()?;
            Some((*name, Conflict::Component(component)))
        });
        let resource = || self.resources.iter().find(|touch| touch.writes);
        let other = written.or_else(|| resource().map(|touch| (touch.param, Conflict::Resource(touch.name))));
        if let Some((first, on)) = other {
            self.refuse(first, param, on);
        }
        self.world = Some((WorldAccess::Shared, param));
    }

    /// Begins a [set](super::ParamSet), whose members are used one at a time.
    pub(super) fn begin_set(&mut self) -> SetStart {
        let start = [self.queries.len(), self.resources.len()];
        self.other_members.push(start.map(|start| start..start));
        SetStart(start)
    }

    /// Begins the next member of a set. What is added next may conflict with the members before.
    pub(super) fn begin_set_member(&mut self, SetStart([queries, resources]): SetStart) {
        if let Some(others) = self.other_members.last_mut() {
            *others = [queries..self.queries.len(), resources..self.resources.len()];
        }
    }

    /// Ends the innermost set.
    pub(super) fn end_set(&mut self) {
        self.other_members.pop();
    }

    /// Returns `true` if the system may use the query (0) or the resource (1) with an index together with the next parameter.
    fn is_used_together(&self, kind: usize, index: usize) -> bool {
        self.other_members.iter().all(|others| !others[kind].contains(&index))
    }

    /// Adds a value that belongs to the system.
    pub(super) fn add_local(&mut self, name: &'static str) {
        self.locals.push(name);
    }

    /// Returns the types of the values that belong to the system, which are not part of the world.
    pub fn locals(&self) -> &[&'static str] {
        &self.locals
    }

    fn refuse(&mut self, first: &'static str, second: &'static str, on: Conflict) {
        self.conflict.get_or_insert(ParamConflict { first, second, on });
    }

    /// Returns the first two parameters that conflict.
    pub(super) fn param_conflict(&self) -> Option<ParamConflict> {
        self.conflict
    }

    /// Adds what another system touches. Used for conditions, which run as a part of the system that they guard.
    pub fn extend(&mut self, other: SystemAccess) {
        self.queries.extend(other.queries);
        self.resources.extend(other.resources);
        self.events.extend(other.events);
        self.relations.extend(other.relations);
        self.commands |= other.commands;
        self.tracks_changes |= other.tracks_changes;
        self.locals.extend(other.locals);
        self.world = match (self.world, other.world) {
            (Some((WorldAccess::Exclusive, name)), _) => Some((WorldAccess::Exclusive, name)),
            (own, None) => own,
            (_, other) => other,
        };
    }

    /// Returns how the system touches the world as a whole, if it does. A query with the term
    /// [`EntityRef`](crate::EntityRef) touches it like a parameter `&World`.
    pub fn world(&self) -> Option<WorldAccess> {
        let reads = || self.queries.iter().any(|(access, _)| access.reads_world());
        self.world.map(|(access, _)| access).or_else(|| reads().then_some(WorldAccess::Shared))
    }

    /// Returns `true` if the system has a parameter `&mut World`.
    pub fn is_exclusive(&self) -> bool {
        self.world() == Some(WorldAccess::Exclusive)
    }

    /// Returns `true` if the system records commands.
    pub fn has_commands(&self) -> bool {
        self.commands
    }

    /// Returns `true` if the system sends events.
    pub fn sends_events(&self) -> bool {
        self.events.iter().any(|touch| touch.writes)
    }

    /// Returns `true` if the system writes nothing and records no commands, so that it can be a condition.
    pub fn is_read_only(&self) -> bool {
        !self.is_exclusive() && !self.commands && self.keys().all(|(_, writes, _)| !writes)
    }

    /// Returns `true` if the system may read components that it does not name: if it has a query that
    /// [reads all](crate::query::Access::reads_all), or one with a [filter of your own](QueryFilter). Such a filter may read the
    /// change ticks of any component.
    ///
    /// What the system reads is not among its [keys](SystemAccess::keys) then. Only
    /// [`conflict_with`](SystemAccess::conflict_with) tells whether it conflicts with a system that writes.
    pub fn reads_unnamed(&self) -> bool {
        self.queries.iter().any(|(access, _)| access.reads_all() || access.has_foreign_filter())
    }

    /// Returns everything that is named, with its name and whether it is written.
    ///
    /// A system that touches the [world](SystemAccess::world) or [reads more](SystemAccess::reads_unnamed) than it names may
    /// conflict with systems with other keys.
    pub fn keys(&self) -> impl Iterator<Item = (AccessKey, bool, &'static str)> + '_ {
        let components = self.queries.iter().flat_map(|(access, _)| access.keys());
        let components = components.map(|(key, writes, name)| (AccessKey::Component(key), writes, name));
        let resources = self.resources.iter().map(|touch| (AccessKey::Resource(touch.key), touch.writes, touch.name));
        let events = self.events.iter().map(|touch| (AccessKey::Events(touch.key), touch.writes, touch.name));
        let relations =
            self.queries.iter().flat_map(|(access, _)| access.relation_keys()).chain(self.relations.iter().copied());
        let relations = relations.map(|(key, name)| (AccessKey::Relation(key), false, name));
        components.chain(resources).chain(events).chain(relations)
    }

    /// Returns `true` if the system touches a resource, or writes, filters by or reads ticks of a
    /// [tracked](crate::change_detection) component.
    pub fn tracks_changes(&self) -> bool {
        self.tracks_changes
    }

    /// Returns why a system that runs later has to wait for this one, if it has to.
    ///
    /// That is so if one of them writes what the other touches. Two systems that send events of the same type do not conflict,
    /// and neither does a system that sends events with an earlier one that reads them.
    pub fn conflict_with(&self, later: &SystemAccess) -> Option<Conflict> {
        if self.is_exclusive() || later.is_exclusive() {
            return Some(Conflict::Exclusive);
        }
        // A shared world can reserve entities, so that two such systems have an order too.
        let writes = |access: &SystemAccess| access.commands || access.keys().any(|(_, writes, _)| writes);
        let [own, other] = [self.world().is_some(), later.world().is_some()];
        if own && (other || writes(later)) || other && writes(self) {
            return Some(Conflict::World);
        }
        let component =
            self.queries.iter().find_map(|(a, _)| later.queries.iter().find_map(|(b, _)| a.conflict_with(b)));
        if let Some(component) = component {
            return Some(Conflict::Component(component));
        }
        let clashes = |a: &&Touch| later.resources.iter().any(|b| a.key == b.key && (a.writes || b.writes));
        if let Some(touch) = self.resources.iter().find(clashes) {
            return Some(Conflict::Resource(touch.name));
        }
        let is_read_later = |a: &&Touch| a.writes && later.events.iter().any(|b| a.key == b.key && !b.writes);
        self.events.iter().find(is_read_later).map(|touch| Conflict::Events(touch.name))
    }
}
