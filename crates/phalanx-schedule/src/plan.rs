//! [`Plan`]: the order of the systems of a schedule, found when it is built.
//!
//! 1. Names and labels are resolved, and explicit orders become edges.
//! 2. The nodes are sorted topologically; among those that could be next, the one that was added first is.
//! 3. Each pair of nodes that conflict gets an edge in this order, unless a path connects them already. So the edges are as few
//!    as possible.
//! 4. Each node gets a stage. Commands are applied and events are delivered between stages.
//! 5. The final order is that of the stages, and within a stage that of step 2.

use crate::bit_set::BitSet;
use crate::build_error::BuildError;
use crate::label::{Key, Label};
use crate::node::{Body, Node};
use crate::set_config::SetConfig;
use crate::state::Transitions;
use crate::system_config::{Order, SystemConfig};
use core::cmp::Reverse;
use core::fmt;
use phalanx::World;
use phalanx::system::{AccessKey, Conflict, ShortName, SystemAccess, WorldAccess};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// A system or a sync point, in the order of adding.
pub(crate) enum Item {
    System(Box<SystemConfig>),
    Sync,
}

/// The systems of a schedule in their final order.
pub(crate) struct Plan {
    pub(crate) name: String,
    /// The nodes by rank.
    pub(crate) nodes: Vec<Node>,
    pub(crate) infos: Vec<NodeInfo>,
    /// The edges, by the rank of their end and then of their start.
    pub(crate) edges: Vec<Edge>,
    /// The orders that were asked for, whether or not an edge is needed for them.
    pub(crate) orders: Vec<(u32, u32)>,
    /// The number of sets with conditions.
    pub(crate) set_count: usize,
    pub(crate) transitions: Transitions,
}

/// What is known of a node.
pub(crate) struct NodeInfo {
    pub(crate) name: String,
    /// What its system and its conditions touch.
    pub(crate) access: SystemAccess,
    pub(crate) stage: u32,
    pub(crate) reservations: u32,
    /// The number of change ticks that it needs: two if its conditions filter by changes, so that they see its own writes later.
    pub(crate) ticks: u32,
    /// Whether it is a system, and not a sync point or the conditions of a set.
    pub(crate) is_system: bool,
}

/// An edge: one node has to wait for another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) reason: Reason,
}

/// Why one system waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// By `before`, `after`, `chain`, or the order of a set.
    Ordered,
    /// By a condition of its set.
    Condition,
    /// They conflict, and this one comes first in the order.
    Conflict(Conflict),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Ordered => f.write_str("ordered"),
            Reason::Condition => f.write_str("condition"),
            Reason::Conflict(conflict) => conflict.fmt(f),
        }
    }
}

/// A node while its place is found, by its number in the order of adding.
struct Draft {
    name: String,
    node: Node,
    access: SystemAccess,
    reservations: u32,
    is_system: bool,
    labels: Vec<Label>,
    orders: Vec<Order>,
}

/// An explicit edge between drafts.
#[derive(Clone, Copy)]
struct Explicit {
    from: usize,
    to: usize,
    syncs: bool,
    reason: Reason,
}

impl Plan {
    /// Finds the order of systems, and creates the states of their parameters.
    pub(crate) fn new(
        name: String,
        items: Vec<Item>,
        sets: Vec<SetConfig>,
        transitions: Transitions,
        world: &mut World,
    ) -> Result<Plan, BuildError> {
        let (mut drafts, set_count) = drafts(&name, items, sets, !transitions.is_empty(), world)?;
        let explicit = explicit_edges(&drafts)?;
        let order = sort(&drafts, &explicit)?;
        let found = Found::new(&drafts, &explicit, &order);
        // The final order: by stage, then by the order above.
        let mut ranked: Vec<usize> = (0..order.len()).collect();
        ranked.sort_by_key(|at| (found.stages[*at], *at));
        let mut rank_of = vec![0; drafts.len()];
        for (rank, at) in ranked.iter().enumerate() {
            rank_of[order[*at]] = rank as u32;
        }
        let mut edges: Vec<Edge> = found
            .edges
            .iter()
            .map(|edge| Edge { from: rank_of[edge.from], to: rank_of[edge.to], reason: edge.reason })
            .collect();
        edges.sort_by_key(|edge| (edge.to, edge.from));
        let orders = explicit.iter().map(|edge| (rank_of[edge.from], rank_of[edge.to])).collect();
        let (mut nodes, mut infos) = (Vec::new(), Vec::new());
        for at in ranked {
            let draft = &mut drafts[order[at]];
            let node = core::mem::replace(&mut draft.node, Node::new(Body::Empty, Vec::new()));
            #[cfg(feature = "tracing")]
            let node = Node { name: draft.name.clone(), ..node };
            let ticks = if node.conditions_track_changes { 2 } else { 1 };
            nodes.push(node);
            infos.push(NodeInfo {
                name: core::mem::take(&mut draft.name),
                access: core::mem::take(&mut draft.access),
                stage: found.stages[at],
                reservations: draft.reservations,
                ticks,
                is_system: draft.is_system,
            });
        }
        Ok(Plan { name, nodes, infos, edges, orders, set_count, transitions })
    }
}

/// Makes the drafts of all nodes, and returns how many sets have conditions.
fn drafts(
    schedule: &str,
    items: Vec<Item>,
    mut sets: Vec<SetConfig>,
    has_states: bool,
    world: &mut World,
) -> Result<(Vec<Draft>, usize), BuildError> {
    let mut drafts: Vec<Draft> = Vec::new();
    if has_states {
        drafts.push(sync_draft("state changes".into(), Vec::new()));
    }
    let (mut taken, mut syncs) = (Names::default(), 0);
    let mut items: Vec<(usize, Item)> = items.into_iter().enumerate().collect();
    for (_, item) in &items {
        if let Item::System(config) = item
            && let Some(name) = &config.name
            && !taken.taken.insert(name.clone())
        {
            return Err(BuildError::DuplicateName { name: name.clone() });
        }
    }
    for (number, item) in items.drain(..) {
        let item_label = Label { key: Key::Item(number) };
        match item {
            Item::System(config) => {
                drafts.push(system_draft(schedule, *config, &mut taken, item_label, world)?);
            }
            Item::Sync => {
                syncs += 1;
                let name = if syncs == 1 { "sync".into() } else { format!("sync {syncs}") };
                drafts.push(sync_draft(name, vec![item_label]));
            }
        }
    }
    // A member of a set is a member of the sets that contain it.
    for draft in &mut drafts {
        let mut at = 0;
        while at < draft.labels.len() {
            for set in sets.iter().filter(|set| set.label == draft.labels[at]).collect::<Vec<_>>() {
                let parents = set.parents.iter().filter(|parent| !draft.labels.contains(parent));
                let parents: Vec<Label> = parents.cloned().collect();
                draft.labels.extend(parents);
            }
            at += 1;
        }
    }
    let mut conditional = 0;
    let waits: Vec<Vec<Order>> = sets.iter().map(|set| waits_of(set, &sets)).collect();
    for (set, waits) in sets.iter_mut().zip(waits) {
        let members: Vec<usize> =
            (0..drafts.len()).filter(|draft| drafts[*draft].labels.contains(&set.label)).collect();
        for member in &members {
            drafts[*member].orders.extend(set.orders.iter().cloned());
        }
        let Some(first) = members.first().copied() else {
            let (system, label) = (format!("the set {}", set.label), set.label.to_string());
            return Err(BuildError::UnknownLabel { system, label });
        };
        if set.conditions.is_empty() {
            continue;
        }
        // The conditions are tested before the first member, and after what the set waits for.
        let name = format!("conditions of {}", set.label);
        let conditions = core::mem::take(&mut set.conditions);
        let mut node = Node::new(Body::SetConditions(conditional), conditions);
        // The number makes the path unique: sets of different types may be printed alike.
        let path = format!("{}/?{conditional} {}", escape(schedule), escape(&name));
        let access = initialize(&path, &name, &mut node, world)?;
        let label = Label { key: Key::Item(usize::MAX - conditional as usize) };
        for member in members {
            drafts[member].node.sets.push(conditional);
            drafts[member].orders.push(Order { is_before: false, other: label.clone(), syncs: false });
        }
        let labels = vec![label];
        drafts.insert(first, Draft { name, node, access, reservations: 0, is_system: false, labels, orders: waits });
        conditional += 1;
    }
    Ok((drafts, conditional as usize))
}

/// Returns what a set waits for: its own orders, and those of the sets that contain it.
fn waits_of(set: &SetConfig, sets: &[SetConfig]) -> Vec<Order> {
    let mut labels = vec![&set.label];
    let (mut at, mut waits) = (0, Vec::new());
    while let Some(label) = labels.get(at).copied() {
        for set in sets.iter().filter(|set| set.label == *label) {
            waits.extend(set.orders.iter().filter(|order| !order.is_before).cloned());
            for parent in &set.parents {
                if !labels.contains(&parent) {
                    labels.push(parent);
                }
            }
        }
        at += 1;
    }
    waits
}

/// The names of systems, each of which is taken once.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// How often each name of a function was asked for.
    counts: HashMap<String, usize>,
}

impl Names {
    /// Takes the name of a function, with a number if it is taken.
    fn number(&mut self, short: String) -> String {
        let count = self.counts.entry(short.clone()).or_default();
        loop {
            *count += 1;
            let name = if *count == 1 { short.clone() } else { format!("{short}#{count}") };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn sync_draft(name: String, labels: Vec<Label>) -> Draft {
    let (node, access) = (Node::new(Body::Sync, Vec::new()), SystemAccess::of_everything());
    Draft { name, node, access, reservations: 0, is_system: false, labels, orders: Vec::new() }
}

fn system_draft(
    schedule: &str,
    config: SystemConfig,
    names: &mut Names,
    item: Label,
    world: &mut World,
) -> Result<Draft, BuildError> {
    let SystemConfig { system, function, name, orders, sets, conditions, reservations } = config;
    let name = name.unwrap_or_else(|| names.number(ShortName(system.name()).to_string()));
    let mut node = Node::new(Body::System(system), conditions);
    let path = format!("{}/{}", escape(schedule), escape(&name));
    let access = initialize(&path, &name, &mut node, world)?;
    let mut labels = sets;
    labels.extend([function, item, Label { key: Key::Text(name.clone()) }]);
    Ok(Draft { name, node, access, reservations, is_system: true, labels, orders })
}

/// Returns a name as a part of a path. The path `schedule/system?condition@reader` stands for one reader only, whatever the names are.
fn escape(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '\\' | '/' | '?' | '@') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Creates the states of a node's parameters, and returns what it touches.
fn initialize(path: &str, name: &str, node: &mut Node, world: &mut World) -> Result<SystemAccess, BuildError> {
    let conflict = |conflict| BuildError::ParamConflict { system: name.into(), conflict };
    node.initialize(world, path).map_err(conflict)?;
    let mut access = match &node.body {
        Body::System(system) => system.access().clone(),
        _ => SystemAccess::default(),
    };
    for condition in &node.conditions {
        if !condition.access().is_read_only() {
            let condition = ShortName(condition.name()).to_string();
            return Err(BuildError::ConditionWrites { system: name.into(), condition });
        }
        node.conditions_track_changes |= condition.access().tracks_changes();
        access.extend(condition.access().clone());
    }
    Ok(access)
}

/// Resolves the orders of all nodes.
fn explicit_edges(drafts: &[Draft]) -> Result<Vec<Explicit>, BuildError> {
    let mut members: HashMap<&Label, Vec<usize>> = HashMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        for label in &draft.labels {
            members.entry(label).or_default().push(number);
        }
    }
    let mut edges = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        for order in &draft.orders {
            let Some(others) = members.get(&order.other) else {
                let (system, label) = (draft.name.clone(), order.other.to_string());
                return Err(BuildError::UnknownLabel { system, label });
            };
            let is_condition = |other: usize| matches!(drafts[other].node.body, Body::SetConditions(_));
            for &other in others {
                let (from, to) = if order.is_before { (number, other) } else { (other, number) };
                let reason = if is_condition(from) { Reason::Condition } else { Reason::Ordered };
                edges.push(Explicit { from, to, syncs: order.syncs, reason });
            }
        }
    }
    Ok(edges)
}

/// Sorts the nodes topologically. Among those that could be next, the one that was added first is.
fn sort(drafts: &[Draft], edges: &[Explicit]) -> Result<Vec<usize>, BuildError> {
    let mut successors = vec![Vec::new(); drafts.len()];
    let mut pending = vec![0; drafts.len()];
    for edge in edges {
        successors[edge.from].push(edge.to);
        pending[edge.to] += 1;
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..drafts.len()).filter(|node| pending[*node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(drafts.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &next in &successors[node] {
            pending[next] -= 1;
            if pending[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    match order.len() == drafts.len() {
        true => Ok(order),
        false => Err(cycle(drafts, edges, &pending)),
    }
}

/// Returns the error that names a cycle. All nodes that are left have a predecessor that is left.
fn cycle(drafts: &[Draft], edges: &[Explicit], pending: &[usize]) -> BuildError {
    let mut path: Vec<usize> = pending.iter().position(|count| *count > 0).into_iter().collect();
    let start = loop {
        let last = path[path.len() - 1];
        let before = edges.iter().find(|edge| edge.to == last && pending[edge.from] > 0).map(|edge| edge.from);
        let Some(before) = before else { break 0 };
        match path.iter().position(|node| *node == before) {
            Some(start) => {
                path.push(before);
                break start;
            }
            None => path.push(before),
        }
    };
    BuildError::Cycle { systems: path[start..].iter().rev().map(|node| drafts[*node].name.clone()).collect() }
}

/// Returns `true` if a node may conflict with one that names nothing of what it names.
fn reads_unnamed(access: &SystemAccess) -> bool {
    access.world().is_some() || access.reads_unnamed()
}

/// The nodes so far that touch a component, a resource or a type of events.
#[derive(Default)]
struct Users {
    readers: Vec<usize>,
    writers: Vec<usize>,
}

/// The nodes so far, by what they touch.
#[derive(Default)]
struct Touched {
    users: HashMap<AccessKey, Users>,
    /// The nodes that may read what they do not name.
    unnamed: Vec<usize>,
}

impl Touched {
    /// Returns the nodes so far that may conflict with a later node, from the last to the first. `at` nodes are before it.
    fn candidates(&self, access: &SystemAccess, at: usize) -> Vec<usize> {
        if reads_unnamed(access) {
            return (0..at).rev().collect();
        }
        let mut found = self.unnamed.clone();
        for (key, writes, _) in access.keys() {
            let Some(users) = self.users.get(&key) else { continue };
            match (key, writes) {
                (AccessKey::Events(_), true) => {}
                (_, false) => found.extend(&users.writers),
                (_, true) => found.extend(users.writers.iter().chain(&users.readers)),
            }
        }
        found
    }

    /// Adds the next node.
    fn add(&mut self, access: &SystemAccess, at: usize) {
        if reads_unnamed(access) {
            self.unnamed.push(at);
        }
        for (key, writes, _) in access.keys() {
            let users = self.users.entry(key).or_default();
            let list = if writes { &mut users.writers } else { &mut users.readers };
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }

    /// Returns the nodes so far that send events which a node reads.
    fn senders<'a>(&'a self, access: &'a SystemAccess) -> impl Iterator<Item = usize> + 'a {
        let read = access.keys().filter(|(key, writes, _)| matches!(key, AccessKey::Events(_)) && !writes);
        read.filter_map(|(key, ..)| self.users.get(&key)).flat_map(|users| users.writers.iter().copied())
    }
}

/// The edges between drafts, and their stages.
struct Found {
    edges: Vec<Explicit>,
    /// The stage of each node, in topological order.
    stages: Vec<u32>,
}

impl Found {
    fn new(drafts: &[Draft], explicit: &[Explicit], order: &[usize]) -> Found {
        let mut place = vec![0; drafts.len()];
        order.iter().enumerate().for_each(|(at, node)| place[*node] = at);
        let mut before: Vec<Vec<&Explicit>> = vec![Vec::new(); order.len()];
        explicit.iter().for_each(|edge| before[place[edge.to]].push(edge));

        let mut found = Found { edges: Vec::new(), stages: Vec::with_capacity(order.len()) };
        let mut touched = Touched::default();
        // The first stages after all nodes so far, after the exclusive ones, and after those that send events.
        let (mut after_all, mut after_exclusive, mut after_senders) = (0, 0, 0);
        // The nodes from which a path leads to each node.
        let mut reached: Vec<BitSet> = Vec::with_capacity(order.len());
        // The reason of the explicit edge from each node to the present one.
        let mut reasons: Vec<Option<Reason>> = vec![None; order.len()];
        for (at, &node) in order.iter().enumerate() {
            let mut reach = BitSet::with_len(at);
            let access = &drafts[node].access;
            let mut stage = if access.is_exclusive() { after_all } else { after_exclusive };
            if access.world() == Some(WorldAccess::Shared) {
                stage = stage.max(after_senders);
            }
            stage = touched.senders(access).map(|sender| found.stages[sender] + 1).fold(stage, u32::max);
            let mut candidates = touched.candidates(access, at);
            for edge in &before[at] {
                let earlier = place[edge.from];
                reasons[earlier].get_or_insert(edge.reason);
                candidates.push(earlier);
                let syncs = edge.syncs && drafts[edge.from].access.has_commands();
                stage = stage.max(found.stages[earlier] + u32::from(syncs));
            }
            // From the last to the first, so that an edge is added only if no path leads there.
            candidates.sort_unstable_by(|a, b| b.cmp(a));
            candidates.dedup();
            for earlier in candidates {
                if reach.contains(earlier) {
                    continue;
                }
                let conflict = || drafts[order[earlier]].access.conflict_with(access).map(Reason::Conflict);
                let Some(reason) = reasons[earlier].or_else(conflict) else { continue };
                found.edges.push(Explicit { from: order[earlier], to: node, syncs: false, reason });
                stage = stage.max(found.stages[earlier]);
                reach.insert(earlier);
                reach.union(&reached[earlier]);
            }
            before[at].iter().for_each(|edge| reasons[place[edge.from]] = None);
            touched.add(access, at);
            after_all = after_all.max(stage + 1);
            after_exclusive = if access.is_exclusive() { after_exclusive.max(stage + 1) } else { after_exclusive };
            after_senders = if access.sends_events() { after_senders.max(stage + 1) } else { after_senders };
            found.stages.push(stage);
            reached.push(reach);
        }
        found
    }
}
