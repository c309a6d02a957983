//! The ready set of a stage, explored by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p phalanx-schedule --test loom --release --target-dir target/loom`
#![cfg(loom)]
#![allow(unsafe_code)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use phalanx_schedule::ready_set::{Dependencies, ReadySet};

/// A graph from its edges, which lead to higher numbers, and the nodes that may wait for their turn.
fn graph(nodes: usize, edges: &[(u32, u32)], waits: &[u32]) -> Dependencies {
    Dependencies::new(edges, (0..nodes as u32).map(|node| waits.contains(&node)).collect())
}

struct Stage {
    graph: Dependencies,
    ready: ReadySet,
    /// What each node writes: how often it ran. Loom reports an access that nothing orders.
    runs: Vec<UnsafeCell<u32>>,
    edges: Vec<(u32, u32)>,
    waits: Vec<u32>,
    takes_turns: bool,
}

impl Stage {
    fn new(nodes: usize, edges: &[(u32, u32)], waits: &[u32], takes_turns: bool) -> Arc<Stage> {
        let graph = graph(nodes, edges, waits);
        let mut ready = ReadySet::new(nodes);
        ready.begin(&graph);
        let runs = (0..nodes).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Stage { graph, ready, runs, edges: edges.into(), waits: waits.into(), takes_turns })
    }

    /// Runs a node: it reads what its predecessors have written, and what those have whose turn was before.
    fn run(&self, node: u32) {
        for (from, _) in self.edges.iter().filter(|(_, to)| *to == node) {
            self.assert_ran(*from);
        }
        if self.takes_turns && self.waits.contains(&node) {
            for before in self.waits.iter().filter(|before| **before < node) {
                self.ready.wait_for(*before);
                self.assert_ran(*before);
            }
        }
        // SAFETY: loom fails if something else accesses the value at the same time.
        self.runs[node as usize].with_mut(|runs| unsafe { *runs += 1 });
    }

    /// Every node has run once, and this thread sees it.
    fn check(&self) {
        (0..self.runs.len() as u32).for_each(|node| self.assert_ran(node));
    }

    fn assert_ran(&self, node: u32) {
        // SAFETY: loom fails if something else writes the value at the same time.
        self.runs[node as usize].with(|runs| assert_eq!(unsafe { *runs }, 1));
    }
}

fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

/// Two threads drain the set. Each that returns sees what all nodes did.
fn drain(nodes: usize, edges: &'static [(u32, u32)], waits: &'static [u32]) {
    model(move || {
        let stage = Stage::new(nodes, edges, waits, true);
        let other = Arc::clone(&stage);
        let thread = loom::thread::spawn(move || {
            other.ready.drain(&other.graph, |node| other.run(node));
            other.check();
        });
        stage.ready.drain(&stage.graph, |node| stage.run(node));
        stage.check();
        thread.join().unwrap();
    });
}

#[test]
fn nodes_without_edges() {
    drain(3, &[], &[]);
}

#[test]
fn a_node_with_two_predecessors_sees_both() {
    drain(3, &[(0, 2), (1, 2)], &[]);
}

#[test]
fn a_thread_goes_on_with_the_only_successor() {
    drain(4, &[(0, 1), (1, 3)], &[]);
}

#[test]
fn a_diamond() {
    drain(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[]);
}

#[test]
fn turns_of_nodes_without_edges() {
    drain(3, &[], &[0, 1, 2]);
}

#[test]
fn turns_beside_a_path() {
    // Node 2 may wait for node 1, which becomes ready when node 0 is done.
    drain(3, &[(0, 1)], &[1, 2]);
}

#[test]
fn turns_beside_a_direct_successor() {
    drain(4, &[(0, 1), (1, 2)], &[2, 3]);
}

/// The owner drains while a helper helps, which waits for nothing.
fn help(nodes: usize, edges: &'static [(u32, u32)], waits: &'static [u32]) {
    model(move || {
        // A thread takes a node only when it is its turn.
        let stage = Stage::new(nodes, edges, waits, true);
        let mut thread = None;
        let offer = || {
            let other = Arc::clone(&stage);
            if thread.is_none() {
                thread = Some(loom::thread::spawn(move || other.ready.help(&other.graph, |node| other.run(node))));
            }
        };
        stage.ready.drain_with_help(&stage.graph, offer, |node| stage.run(node));
        stage.check();
        thread.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn help_without_edges() {
    help(3, &[], &[]);
}

#[test]
fn help_with_a_diamond() {
    help(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[]);
}

#[test]
fn help_in_turn() {
    help(3, &[], &[0, 1, 2]);
    help(3, &[(0, 1)], &[1, 2]);
}
