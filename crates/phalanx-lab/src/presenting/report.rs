//! Everything that was measured: what the terminal, the JSON and the page are made from.

use crate::measuring::stats::Summary;
use crate::measuring::{footprint, placement, removal, simulation, speed};
use crate::presenting::figures::percent;
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The results of one measurement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    pub(crate) machine: Machine,
    pub(crate) conditions: Conditions,
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
    /// Returns what to know before reading any figure.
    pub(crate) fn caveats(&self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.optimised {
            out.push("Built without optimisation: build with --release for times that mean something.".to_string());
        } else if self.quick {
            let marked = "A quick run: rows that would have taken too long are estimated, and marked with ≈.";
            out.push(format!("{marked} With --full they are run."));
        }
        if let Some(load) = self.conditions.load_before.filter(|load| *load > 0.3 * self.machine.threads as f64) {
            out.push(format!(
                "The machine was busy: its load average was {load:.1} at the start, on {} threads. Other programs disturb the figures.",
                self.machine.threads
            ));
        }
        out
    }

    /// Returns, in a sentence, how far runs of the same work lie apart.
    pub(crate) fn noise(&self) -> Option<String> {
        let mut all: Vec<f64> = self.times().filter_map(|time| time.noise()).collect();
        all.sort_by(f64::total_cmp);
        let [middle, most] = [all.get(all.len() / 2)?, all.last()?].map(|share| percent(*share));
        Some(format!(
            "Figures are medians. Two are level if the middle halves of their runs overlap, if the quickest runs do not say the \
             same, or if they differ by less than 5 %. Ratios are noisy if a middle half is wider than half of its median. In half \
             of the {} rows the middle half spans at most {middle} of the median, in the noisiest {most}.",
            all.len()
        ))
    }

    fn times(&self) -> impl Iterator<Item = Summary> + '_ {
        let speed = self.speed.rows.iter().flat_map(speed::StoreSpeed::times);
        let removal = self.removal.rows.iter().map(|row| row.time);
        let world = self.world.rows.iter().map(|row| row.time);
        let placement = self.placement.rows.iter().flat_map(placement::WorkTime::times);
        speed.chain(removal).chain(world).chain(placement)
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

/// When it was measured, with what, and what else the machine did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Conditions {
    /// In UTC.
    pub(crate) date: String,
    /// What compiled this program, where the executable file tells.
    pub(crate) compiler: Option<String>,
    /// The commit of the source folder, if it is there and has one.
    pub(crate) commit: Option<String>,
    /// The load average of the last minute, where the system tells.
    pub(crate) load_before: Option<f64>,
    pub(crate) load_after: Option<f64>,
}

impl Conditions {
    /// Returns the conditions at the start.
    pub(crate) fn now() -> Conditions {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let path = std::env::current_exe();
        let built = path.as_ref().ok().and_then(|path| path.metadata().ok()?.modified().ok());
        let executable = path.and_then(std::fs::read).unwrap_or_default();
        Conditions {
            date: date(seconds),
            compiler: compiler(&executable),
            commit: commit(Path::new(env!("CARGO_MANIFEST_DIR")), built),
            load_before: load(),
            load_after: None,
        }
    }

    /// Takes down the load at the end.
    pub(crate) fn end(&mut self) {
        self.load_after = load();
    }

    /// In one line.
    pub(crate) fn describe(&self) -> String {
        let load = match (self.load_before, self.load_after) {
            (Some(before), Some(after)) => format!("load {before:.1} at the start, {after:.1} at the end"),
            _ => "load unknown".to_string(),
        };
        format!(
            "{}; {}; {}; {load}",
            self.date,
            self.compiler.as_deref().unwrap_or("compiler unknown"),
            self.commit.as_deref().map_or("commit unknown".to_string(), |commit| format!("commit {commit}")),
        )
    }
}

/// Returns a date of the Gregorian calendar, from the seconds since 1970.
fn date(seconds: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut days, mut year, mut month) = (seconds / 86_400, 1970, 1);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        (days, month) = (days - length, month + 1);
    }
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC", days + 1)
}

/// Finds the note that the compiler leaves in executable files: `rustc 1.95.0 (59807616e 2026-04-14)`.
fn compiler(executable: &[u8]) -> Option<String> {
    const NOTE: &[u8] = b"rustc version ";
    const LONGEST: usize = 80;
    let starts = executable.windows(NOTE.len()).enumerate().filter(|(_, window)| *window == NOTE);
    starts.map(|(at, _)| &executable[at + NOTE.len()..]).find_map(|rest| {
        let end = rest.iter().take(LONGEST).position(|byte| !(b' '..=b'~').contains(byte))?;
        let version = std::str::from_utf8(&rest[..end]).ok()?;
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("rustc {version}"))
    })
}

/// Asks git for the commit of a folder: `31a72861c0`, with `-dirty` if files have changed since. It says so if the program was built
/// before the commit, and may be of an earlier one.
fn commit(folder: &Path, built: Option<SystemTime>) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(folder).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
    };
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"])?;
    let made =
        git(&["log", "-1", "--format=%ct"])?.parse().ok().map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds))?;
    let is_older = built.is_some_and(|built| built < made);
    Some(if is_older { format!("{commit} (the program was built before it)") } else { commit })
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
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

    #[test]
    fn dates_follow_the_calendar() {
        let dates = [0, 951_782_399, 951_782_400, 1_795_017_600, 4_107_542_400].map(date);
        let expected =
            ["1970-01-01 00:00", "2000-02-28 23:59", "2000-02-29 00:00", "2026-11-18 16:00", "2100-03-01 00:00"];
        assert_eq!(dates, expected.map(|date| format!("{date} UTC")));
    }

    #[test]
    fn compilers_are_found_in_their_notes() {
        let file = b"\0rustc version \0rustc version of it\0..rustc version 1.95.0 (59807616e 2026-04-14)\0Linker";
        assert_eq!(compiler(file).as_deref(), Some("rustc 1.95.0 (59807616e 2026-04-14)"));
        assert_eq!(compiler(b"rustc version 1.95"), None);
        assert_eq!(compiler(b""), None);
    }

    #[test]
    fn folders_without_a_repository_have_no_commit() {
        assert_eq!(commit(Path::new("/no/such/folder"), None), None);
        // The tests may run from an archive, which has no commit.
        let here =
            |built: u64| commit(Path::new(env!("CARGO_MANIFEST_DIR")), Some(UNIX_EPOCH + Duration::from_secs(built)));
        if let (Some(old), Some(new)) = (here(0), here(1 << 40)) {
            assert_eq!(old, format!("{new} (the program was built before it)"));
        }
        let conditions = Conditions { compiler: None, commit: None, load_before: None, ..Conditions::now() };
        assert!(conditions.describe().ends_with("UTC; compiler unknown; commit unknown; load unknown"));
    }
}
