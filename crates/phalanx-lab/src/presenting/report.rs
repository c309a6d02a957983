//! Everything that a demo found out: what the terminal, the JSON and the page are made from.

use crate::measuring::{footprint, placement, removal, simulation, speed};
use serde::Serialize;

/// The results of one demo.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    pub(crate) machine: Machine,
    pub(crate) quick: bool,
    /// Whether the compiler optimised this program; if not, the times say nothing about the containers.
    pub(crate) optimised: bool,
    pub(crate) seconds: f64,
    pub(crate) speed: Section<speed::StoreSpeed>,
    pub(crate) removal: Section<removal::RemovalTime>,
    pub(crate) memory: Section<footprint::MemoryUse>,
    pub(crate) world: simulation::Simulation,
    pub(crate) placement: Section<placement::WorkTime>,
}

impl Report {
    /// What to know before reading any figure.
    pub(crate) fn caveat(&self) -> Option<&'static str> {
        match (self.optimised, self.quick) {
            (false, _) => Some("Built without optimisation: build with --release for times that mean something."),
            (true, true) => Some("A quick run: expect noise, and estimates where a row would have taken too long."),
            (true, false) => None,
        }
    }
}

/// A table, and in sentences what it shows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Section<Row> {
    pub(crate) rows: Vec<Row>,
    pub(crate) findings: Vec<String>,
}

/// What it was measured on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: Option<String>,
    pub(crate) threads: usize,
    pub(crate) architecture: &'static str,
    pub(crate) system: &'static str,
}

impl Machine {
    pub(crate) fn this() -> Machine {
        let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            processor: processor_name(&described),
            threads: std::thread::available_parallelism().map_or(1, |threads| threads.get()),
            architecture: std::env::consts::ARCH,
            system: std::env::consts::OS,
        }
    }

    /// In one line.
    pub(crate) fn describe(&self) -> String {
        let threads = if self.threads == 1 { "1 thread".to_string() } else { format!("{} threads", self.threads) };
        let processor = self.processor.as_deref().unwrap_or("unnamed processor");
        format!("{processor}, {threads}, {} {}", self.architecture, self.system)
    }
}

fn processor_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_where_the_system_tells() {
        assert_eq!(
            processor_name("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n").as_deref(),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(processor_name("BogoMIPS : 100"), None);
        assert!(Machine::this().describe().contains(std::env::consts::ARCH));
    }
}
