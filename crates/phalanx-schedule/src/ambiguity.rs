//! [`Ambiguity`] and [`Explanation`]: what the order of two systems depends on.

use crate::bit_set::BitSet;
use crate::plan::{Edge, Reason};
use crate::schedule::Schedule;
use core::fmt;
use phalanx::system::Conflict;

/// Two systems that conflict and have no order but that of adding. See [`Schedule::ambiguities`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The system that runs first, because it was added first.
    pub first: String,
    /// The other system.
    pub second: String,
    /// What both touch.
    pub on: Conflict,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ambiguity { first, second, on } = self;
        write!(f, "{first} and {second} share {on}; only the order of adding decides which runs first")
    }
}

/// Why two systems run at the same time, or do not. See [`Schedule::explain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// They can run at the same time.
    Parallel,
    /// One waits for the other: the names on a path from one to the other, and the reason of each step.
    Waits {
        /// The names of the systems, in order.
        systems: Vec<String>,
        /// Why each waits for the one before it.
        reasons: Vec<Reason>,
    },
    /// They are in different stages, because commands are applied or events are delivered between them.
    Stages {
        /// The system in the earlier stage.
        first: String,
        /// The system in the later stage.
        second: String,
    },
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Explanation::Parallel => f.write_str("they can run at the same time"),
            Explanation::Waits { systems, reasons } => {
                f.write_str(&systems[0])?;
                systems[1..].iter().zip(reasons).try_for_each(|(name, reason)| write!(f, " before {name} ({reason})"))
            }
            Explanation::Stages { first, second } => {
                write!(f, "{first} is in an earlier stage than {second}: commands or events are passed on between them")
            }
        }
    }
}

impl Schedule {
    /// Returns the pairs of systems that conflict and have no order but that of adding.
    ///
    /// Their order is fixed. But a change to the order in which systems are added may change the result.
    ///
    /// ```
    /// use phalanx::{Component, Query, World};
    /// use phalanx_schedule::Schedule;
    ///
    /// #[derive(Component)]
    /// struct Velocity(f32);
    /// fn gravity(_: Query<&mut Velocity>) {}
    /// fn wind(_: Query<&mut Velocity>) {}
    ///
    /// let frame = Schedule::builder("frame").add((gravity, wind)).build(&mut World::new())?;
    /// let found: Vec<String> = frame.ambiguities().iter().map(ToString::to_string).collect();
    /// assert_eq!(found, ["gravity and wind share Velocity; only the order of adding decides which runs first"]);
    /// # Ok::<(), phalanx_schedule::BuildError>(())
    /// ```
    pub fn ambiguities(&self) -> Vec<Ambiguity> {
        let mut reached: Vec<BitSet> = Vec::with_capacity(self.infos.len());
        let mut found = Vec::new();
        for (rank, info) in self.infos.iter().enumerate() {
            let mut reach = BitSet::with_len(self.infos.len());
            for from in self.orders.iter().filter(|(_, to)| *to as usize == rank).map(|(from, _)| *from as usize) {
                reach.insert(from);
                reach.union(&reached[from]);
            }
            // A sync point is ordered with everything, by its place.
            let is_sync = |info: &crate::plan::NodeInfo| !info.is_system && info.access.is_exclusive();
            if is_sync(info) {
                (0..rank).for_each(|earlier| reach.insert(earlier));
            }
            for (earlier, other) in self.infos[..rank].iter().enumerate() {
                if is_sync(other) {
                    reach.insert(earlier);
                    reach.union(&reached[earlier]);
                }
                if reach.contains(earlier) {
                    continue;
                }
                if let Some(on) = other.access.conflict_with(&info.access) {
                    found.push(Ambiguity { first: other.name.clone(), second: info.name.clone(), on });
                }
            }
            reached.push(reach);
        }
        found
    }

    /// Returns why two systems cannot run at the same time, or that they can. Returns `None` if a name is unknown.
    ///
    /// ```
    /// use phalanx::{Component, Query, World};
    /// use phalanx_schedule::Schedule;
    ///
    /// #[derive(Component)]
    /// struct Velocity(f32);
    /// fn gravity(_: Query<&mut Velocity>) {}
    /// fn draw(_: Query<&Velocity>) {}
    ///
    /// let frame = Schedule::builder("frame").add((gravity, draw)).build(&mut World::new())?;
    /// assert_eq!(frame.explain("draw", "gravity").unwrap().to_string(), "gravity before draw (Velocity)");
    /// # Ok::<(), phalanx_schedule::BuildError>(())
    /// ```
    pub fn explain(&self, a: &str, b: &str) -> Option<Explanation> {
        let rank = |name: &str| self.infos.iter().position(|info| info.name == name);
        let (a, b) = (rank(a)?, rank(b)?);
        let (first, second) = (a.min(b), a.max(b));
        let mut before: Vec<Option<&Edge>> = vec![None; self.infos.len()];
        // Edges are sorted by their end, and lead to higher ranks. So a path is found in one pass.
        for edge in &self.edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            if (from == first || from > first && before[from].is_some()) && before[to].is_none() {
                before[to] = Some(edge);
            }
        }
        let mut path = Vec::new();
        let mut at = second;
        while let Some(edge) = before[at].filter(|_| at != first) {
            path.push(edge);
            at = edge.from as usize;
        }
        if !path.is_empty() {
            let name = |rank: u32| self.infos[rank as usize].name.clone();
            let systems = path.iter().rev().map(|edge| name(edge.from)).chain([name(second as u32)]).collect();
            return Some(Explanation::Waits { systems, reasons: path.iter().rev().map(|edge| edge.reason).collect() });
        }
        let name = |rank: usize| self.infos[rank].name.clone();
        Some(match self.infos[first].stage == self.infos[second].stage {
            true => Explanation::Parallel,
            false => Explanation::Stages { first: name(first), second: name(second) },
        })
    }
}
