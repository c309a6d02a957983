//! [`Graph`]: the systems of a schedule and what they wait for, for drawing.

use crate::plan::Reason;
use crate::schedule::Schedule;
use crate::svg::{Svg, escape};
use core::fmt::Write;

/// The systems of a schedule and what they wait for. [`Schedule::graph`] returns it.
///
/// It has the fewest edges that give the order: one that follows from others is left out.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The name of the schedule.
    pub name: String,
    /// The nodes, in the order of the schedule.
    pub nodes: Vec<GraphNode>,
    /// The edges, by the index of their end.
    pub edges: Vec<GraphEdge>,
}

/// A node of a [`Graph`].
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// The name of the system, sync point or set of conditions.
    pub name: String,
    /// The number of its stage.
    pub stage: usize,
    /// Whether it is a system.
    pub is_system: bool,
}

/// An edge of a [`Graph`].
#[derive(Clone, Copy, Debug)]
pub struct GraphEdge {
    /// The index of the node that runs first.
    pub from: usize,
    /// The index of the node that waits for it.
    pub to: usize,
    /// Why it waits.
    pub reason: Reason,
}

impl Schedule {
    /// Returns the systems and what they wait for.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx_schedule::{IntoSystemConfig, Schedule};
    ///
    /// fn input() {}
    /// fn walk() {}
    ///
    /// let frame = Schedule::builder("frame").add(input).add(walk.after(input)).build(&mut World::new())?;
    /// assert!(frame.graph().to_mermaid().contains("s0 -->|ordered| s1"));
    /// # Ok::<(), phalanx_schedule::BuildError>(())
    /// ```
    pub fn graph(&self) -> Graph {
        let nodes = self.infos.iter().map(|info| GraphNode {
            name: info.name.clone(),
            stage: info.stage as usize,
            is_system: info.is_system,
        });
        let edges = self.edges.iter();
        let edges = edges.map(|edge| GraphEdge { from: edge.from as usize, to: edge.to as usize, reason: edge.reason });
        Graph { name: self.name.clone(), nodes: nodes.collect(), edges: edges.collect() }
    }
}

impl Graph {
    /// Returns the nodes of each stage, with their indices.
    fn stages(&self) -> impl Iterator<Item = (usize, Vec<(usize, &GraphNode)>)> {
        let nodes: Vec<_> = self.nodes.iter().enumerate().collect();
        let stages: Vec<_> = nodes.chunk_by(|a, b| a.1.stage == b.1.stage).map(<[_]>::to_vec).collect();
        stages.into_iter().enumerate()
    }

    /// Returns the graph as a Mermaid flow chart.
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        for (stage, nodes) in self.stages() {
            let _ = writeln!(text, "  subgraph stage{stage} [\"stage {stage}\"]");
            for (index, node) in nodes {
                let [open, close] = if node.is_system { ["[", "]"] } else { ["([", "])"] };
                let name = node.name.replace('"', "#quot;");
                let _ = writeln!(text, "    s{index}{open}\"{name}\"{close}");
            }
            text.push_str("  end\n");
        }
        for GraphEdge { from, to, reason } in &self.edges {
            let reason = reason.to_string().replace(['|', '"'], "'");
            let _ = writeln!(text, "  s{from} -->|{reason}| s{to}");
        }
        text
    }

    /// Returns the graph in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = format!("digraph \"{}\" {{\n  node [shape=box];\n", quoted(&self.name));
        for (stage, nodes) in self.stages() {
            let _ = writeln!(text, "  subgraph cluster_{stage} {{\n    label=\"stage {stage}\";");
            for (index, node) in nodes {
                let shape = if node.is_system { "" } else { ", shape=oval" };
                let _ = writeln!(text, "    s{index} [label=\"{}\"{shape}];", quoted(&node.name));
            }
            text.push_str("  }\n");
        }
        for GraphEdge { from, to, reason } in &self.edges {
            let _ = writeln!(text, "  s{from} -> s{to} [label=\"{}\"];", quoted(&reason.to_string()));
        }
        text.push_str("}\n");
        text
    }

    /// Draws the graph as SVG, from the top to the bottom. Conflicts are dashed.
    pub fn to_svg(&self) -> String {
        // The row of a node is below those of all nodes that it waits for, and below the stage before.
        let mut rows = vec![0; self.nodes.len()];
        let (mut stage_row, mut next_row) = (0, 0);
        for (_, nodes) in self.stages() {
            for (index, _) in nodes {
                let before = self.edges.iter().filter(|edge| edge.to == index).map(|edge| rows[edge.from] + 1);
                rows[index] = before.max().unwrap_or(0).max(stage_row);
                next_row = next_row.max(rows[index] + 1);
            }
            stage_row = next_row;
        }
        let widths = self.nodes.iter().map(|node| 7.5 * node.name.chars().count() as f64 + 20.0);
        let widths: Vec<f64> = widths.collect();
        let mut ends = vec![90.0; next_row];
        let mut places = vec![[0.0, 0.0]; self.nodes.len()];
        for (index, row) in rows.iter().enumerate() {
            places[index] = [ends[*row], *row as f64 * 70.0 + 20.0];
            ends[*row] += widths[index] + 20.0;
        }
        let width = ends.iter().copied().fold(200.0, f64::max);
        let mut svg = Svg::new(width, next_row as f64 * 70.0 + 10.0);
        for (stage, nodes) in self.stages() {
            let top = nodes.iter().map(|(index, _)| places[*index][1]).fold(f64::MAX, f64::min);
            svg.text(10.0, top + 20.0, &format!("stage {stage}"), "start");
        }
        for GraphEdge { from, to, reason } in &self.edges {
            let middle = |index: usize| places[index][0] + widths[index] / 2.0;
            let title = format!("{} before {}: {reason}", self.nodes[*from].name, self.nodes[*to].name);
            let is_dashed = matches!(reason, Reason::Conflict(_));
            svg.arrow([middle(*from), places[*from][1] + 30.0], [middle(*to), places[*to][1] - 2.0], is_dashed, &title);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let [x, y] = places[index];
            svg.bar([x, y, widths[index], 30.0], node.stage, !node.is_system, &escape(&node.name));
            svg.text(x + widths[index] / 2.0, y + 19.0, &node.name, "middle");
        }
        svg.finish()
    }
}
