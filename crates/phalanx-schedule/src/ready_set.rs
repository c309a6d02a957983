//! [`ReadySet`]: which systems of a stage can run, and which have.
//!
//! # Invariants
//!
//! - The bit of a node is set once a run: when all its predecessors are done. The thread that clears it runs the node. A thread
//!   may also go on with the only successor of a node that has no other predecessor, without setting its bit.
//! - `pending` counts the predecessors of a node that are not done.
//! - Edges lead from lower to higher numbers.
//!
//! # Why waiting for a turn ends
//!
//! A node that [waits for its turn](ReadySet::wait_for) waits for nodes with lower numbers. Let `n` be the lowest node that is
//! not done. All its predecessors are done, because they have lower numbers. So it is ready or taken. If it is taken, it runs,
//! waits for no other node, and ends. If it is ready, the thread that finished the last of its predecessors (or any thread, if it
//! has none) takes the lowest ready node next, which is `n`, unless another thread takes it. A thread that goes on with a
//! successor directly does so only if that node cannot wait. Such a node ends, and the thread then takes the lowest ready node.
//! So the lowest node always ends, and by induction every node does.
//!
//! # Executors that nest
//!
//! Some executors run another task while a thread waits inside of a task, as rayon does. Then a call of [`ReadySet::drain`] can be on
//! the stack of a thread above a node that is not done, and wait for it for ever. Such executors call [`ReadySet::help`], which
//! never waits: it returns when no node can be taken, and it takes a node that may wait for its turn only when it is its turn. The
//! owner offers help again whenever several nodes are ready.

// Public for the tests that loom explores.
#![cfg_attr(not(loom), allow(unreachable_pub))]

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, relax};

/// The dependencies of the nodes of a stage, by number.
#[derive(Debug)]
pub struct Dependencies {
    /// The number of predecessors of each node.
    predecessors: Vec<u32>,
    /// The successors of node `n` are `successors[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    successors: Vec<u32>,
    /// Whether a node may wait for its turn.
    waits: Vec<bool>,
    /// The nodes without predecessors.
    roots: Vec<u32>,
    /// The nodes that have several predecessors or may wait. Only these have a state of their own.
    exceptions: Vec<u32>,
}

impl Dependencies {
    /// Creates dependencies from edges, and from which nodes may wait for their turn.
    pub fn new(edges: &[(u32, u32)], waits: Vec<bool>) -> Dependencies {
        let len = waits.len();
        let mut predecessors = vec![0; len];
        let mut lists = vec![Vec::new(); len];
        for &(from, to) in edges {
            predecessors[to as usize] += 1;
            lists[from as usize].push(to);
        }
        let (mut starts, mut successors) = (vec![0], Vec::new());
        for list in lists {
            successors.extend(list);
            starts.push(successors.len() as u32);
        }
        let nodes = || 0..len as u32;
        let roots = nodes().filter(|node| predecessors[*node as usize] == 0).collect();
        let is_exception = |node: &u32| predecessors[*node as usize] > 1 || waits[*node as usize];
        let exceptions = nodes().filter(is_exception).collect();
        Dependencies { predecessors, starts, successors, waits, roots, exceptions }
    }

    /// Returns whether two nodes may run at the same time.
    pub fn may_overlap(&self) -> bool {
        // If each node is a predecessor of the next, their order is total.
        (1..self.len() as u32).any(|node| !self.successors_of(node - 1).contains(&node))
    }

    /// Returns the nodes that wait for a node.
    pub fn successors_of(&self, node: u32) -> &[u32] {
        &self.successors[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// Returns the nodes in an order that the dependencies allow, chosen by a seed. Nodes that may wait keep their order.
    pub fn shuffled(&self, mut seed: u64) -> Vec<u32> {
        let mut pending = self.predecessors.clone();
        let mut ready: Vec<u32> = (0..self.len() as u32).filter(|node| pending[*node as usize] == 0).collect();
        let mut waiting = (0..self.len() as u32).filter(|node| self.waits[*node as usize]).peekable();
        let mut order = Vec::with_capacity(self.len());
        while !ready.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The lowest node can always run, so that there is one among those that are ready.
            let mut may_run = |node: &u32| !self.waits[*node as usize] || waiting.peek() == Some(node);
            let allowed: Vec<usize> = (0..ready.len()).filter(|at| may_run(&ready[*at])).collect();
            let node = ready.swap_remove(allowed[(seed >> 33) as usize % allowed.len()]);
            waiting.next_if_eq(&node);
            order.push(node);
            for &successor in self.successors_of(node) {
                pending[successor as usize] -= 1;
                if pending[successor as usize] == 0 {
                    ready.push(successor);
                }
            }
        }
        order
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.predecessors.len()
    }
}

/// Which nodes of a stage can run, and which have.
#[derive(Debug)]
pub struct ReadySet {
    ready: Box<[AtomicU64]>,
    pending: Box<[AtomicU32]>,
    /// Whether a node that may wait is done.
    done: Box<[AtomicBool]>,
    done_count: AtomicU32,
}

/// How far a thread is with its share of a run.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The node that the thread has taken last, until it counts as done.
    pub(crate) running: Option<u32>,
    /// The nodes that the thread has done and that are not in the common count yet.
    count: u32,
}

impl ReadySet {
    /// Creates a set for as many nodes.
    pub fn new(nodes: usize) -> ReadySet {
        ReadySet {
            ready: (0..nodes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            pending: (0..nodes).map(|_| AtomicU32::new(0)).collect(),
            done: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            done_count: AtomicU32::new(0),
        }
    }

    /// Begins a run: the nodes without predecessors are ready.
    pub fn begin(&mut self, graph: &Dependencies) {
        // Relaxed is enough: the set is borrowed exclusively, and sharing it with other threads orders these stores.
        for &node in &graph.exceptions {
            self.pending[node as usize].store(graph.predecessors[node as usize], Ordering::Relaxed);
            self.done[node as usize].store(false, Ordering::Relaxed);
        }
        self.ready.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        for &node in &graph.roots {
            let word = &self.ready[node as usize / 64];
            word.store(word.load(Ordering::Relaxed) | 1 << (node % 64), Ordering::Relaxed);
        }
        self.done_count.store(0, Ordering::Relaxed);
    }

    /// Takes the lowest node that is ready.
    fn take(&self) -> Option<u32> {
        for (number, word) in self.ready.iter().enumerate() {
            // The acquire of `fetch_and` orders what the predecessors did before what the node does.
            while let Some(bit) = 1u64.checked_shl(word.load(Ordering::Relaxed).trailing_zeros()) {
                if word.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                    return Some(number as u32 * 64 + bit.trailing_zeros());
                }
            }
        }
        None
    }

    /// Runs nodes until all are done. Several threads may call it at once, and each node runs once.
    #[cfg_attr(not(loom), allow(dead_code))]
    pub fn drain(&self, graph: &Dependencies, run: impl FnMut(u32)) {
        self.resume(graph, &mut Progress::default(), run);
    }

    /// Runs nodes until all are done, as a thread with this progress.
    ///
    /// If `run` panics, the thread must go on with the same progress. Then the node counts as done.
    #[inline]
    pub(crate) fn resume(&self, graph: &Dependencies, progress: &mut Progress, mut run: impl FnMut(u32)) {
        let mut tries = 0;
        loop {
            let next = match progress.running.take() {
                Some(node) => {
                    progress.count += 1;
                    self.finish(graph, node).or_else(|| self.take())
                }
                None => self.take(),
            };
            let Some(node) = next else {
                if progress.count > 0 {
                    // Releases what the nodes did to the thread that sees that all are done.
                    self.done_count.fetch_add(core::mem::take(&mut progress.count), Ordering::AcqRel);
                }
                if self.done_count.load(Ordering::Acquire) as usize == graph.len() {
                    return;
                }
                relax(&mut tries);
                continue;
            };
            tries = 0;
            progress.running = Some(node);
            run(node);
        }
    }

    /// Runs nodes until none can be taken. Waits for nothing.
    pub fn help(&self, graph: &Dependencies, mut run: impl FnMut(u32)) {
        let mut turn = 0;
        while let Some(node) = self.take_in_turn(graph, &mut turn) {
            self.run_path(graph, node, &mut run);
        }
    }

    /// Runs nodes until all are done. `offer` is called when several nodes are ready, and may make threads call
    /// [`help`](ReadySet::help).
    pub fn drain_with_help(&self, graph: &Dependencies, mut offer: impl FnMut(), mut run: impl FnMut(u32)) {
        let (mut tries, mut turn) = (0, 0);
        while self.done_count.load(Ordering::Acquire) as usize != graph.len() {
            let ready = || self.ready.iter().map(|word| word.load(Ordering::Relaxed).count_ones());
            if ready().sum::<u32>() > 1 {
                offer();
            }
            match self.take_in_turn(graph, &mut turn) {
                Some(node) => self.run_path(graph, node, &mut run),
                None => relax(&mut tries),
            }
        }
    }

    /// Runs a node, and the nodes that the thread goes on with.
    fn run_path(&self, graph: &Dependencies, node: u32, run: &mut impl FnMut(u32)) {
        let mut next = Some(node);
        while let Some(node) = next {
            run(node);
            next = self.finish(graph, node);
            self.done_count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes the lowest node that is ready and need not wait. All nodes below `turn` that may wait are done.
    fn take_in_turn(&self, graph: &Dependencies, turn: &mut usize) -> Option<u32> {
        let is_over = |node: usize| !graph.waits[node] || self.done[node].load(Ordering::Acquire);
        while *turn < graph.len() && is_over(*turn) {
            *turn += 1;
        }
        for (number, word) in self.ready.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let (node, bit) = (number * 64 + bits.trailing_zeros() as usize, bits & bits.wrapping_neg());
                bits &= !bit;
                if (!graph.waits[node] || node == *turn) && word.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                    return Some(node as u32);
                }
            }
        }
        None
    }

    /// Counts a node as done. Returns a node that the thread goes on with.
    fn finish(&self, graph: &Dependencies, node: u32) -> Option<u32> {
        if graph.waits[node as usize] {
            self.done[node as usize].store(true, Ordering::Release);
        }
        let successors = graph.successors_of(node);
        if let [only] = successors
            && graph.predecessors[*only as usize] == 1
            && !graph.waits[*only as usize]
        {
            return Some(*only);
        }
        for &successor in successors {
            // Acquire and release: the last to arrive has seen what all predecessors did, and passes it on with the bit.
            let is_last = graph.predecessors[successor as usize] == 1
                || self.pending[successor as usize].fetch_sub(1, Ordering::AcqRel) == 1;
            if is_last {
                self.ready[successor as usize / 64].fetch_or(1 << (successor % 64), Ordering::Release);
            }
        }
        None
    }

    /// Counts a node as done that was not taken from the set.
    pub fn set_done(&self, node: u32) {
        self.done[node as usize].store(true, Ordering::Release);
    }

    /// Waits until a node is done that may wait itself.
    pub fn wait_for(&self, node: u32) {
        let mut tries = 0;
        while !self.done[node as usize].load(Ordering::Acquire) {
            relax(&mut tries);
        }
    }
}
