//! The command line.

use crate::battle;
use crate::measuring::cost::Access;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Runs a small world with the inspector, measures the layouts of Phalanx on this machine, and advises which to pick.
///
/// Without a command, it runs a battle at sea and prints the address of the inspector. Ctrl-C stops it. If standard output is not a
/// terminal, it stops after 120 frames.
#[derive(Debug, Parser)]
#[command(name = "phalanx", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure speed, removal and memory here, print tables and write a report
    ///
    /// It takes up to ten seconds, and estimates rows that would take longer. Estimates are marked.
    Measure(MeasureArgs),
    /// Say which layout suits values of a size, at a utilisation, under an access pattern
    Advise(AdviseArgs),
    /// Parse programs of the language Ori, and show their trees or figures
    ///
    /// A folder or file that cannot be read is reported on standard error, and the others are parsed all the same. The exit code is
    /// 1 if anything could not be read, or a program has errors.
    Parse(ParseArgs),
    /// Look into snapshots of worlds, and compare them
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// About how many entities there are
    #[arg(long, value_name = "N", value_parser = battle_size, default_value = "5000")]
    pub(crate) entities: u64,
    /// Stop after this many frames
    #[arg(long, value_name = "N", value_parser = frames)]
    pub(crate) frames: Option<u64>,
    /// The most frames in a second; 0 for no pause between frames
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) fps: u32,
    /// The last frames that the inspector can look at and return to; 0 for none [default: 600, fewer in large worlds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) timeline: Option<u64>,
    /// Where the inspector listens, such as 127.0.0.1:0 for any free port [default: 127.0.0.1:7171 or one of the next nine]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Do not start the inspector
    #[arg(long, conflicts_with_all = ["address", "timeline"])]
    pub(crate) no_inspector: bool,
    /// Print the summary at the end as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Print JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to write the HTML report
    #[arg(long, value_name = "PATH", default_value = "phalanx-report.html")]
    pub(crate) out: PathBuf,
    /// Measure every row, and longer: takes some minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// Save the world of structs as it is at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Go on with a world that was saved
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Print what is in a snapshot: components, tables, sections
    Info {
        /// The snapshot
        file: PathBuf,
    },
    /// Print where two snapshots differ; the exit code is 1 if they do
    Diff {
        /// The first snapshot
        a: PathBuf,
        /// The second snapshot
        b: PathBuf,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Bytes of one value
    #[arg(long, value_name = "C", value_parser = size, required_unless_present_any = ["table", "demo"])]
    pub(crate) size: Option<u64>,
    /// How many entities there are, with the value or without it
    #[arg(long, value_name = "N", value_parser = entities, required_unless_present_any = ["table", "demo"])]
    pub(crate) entities: Option<u64>,
    /// The share of the entities that has the value, from 0 to 1
    #[arg(long, value_name = "U", value_parser = utilisation, required_unless_present_any = ["table", "demo"], allow_negative_numbers = true)]
    pub(crate) utilisation: Option<f64>,
    /// The share of the values that is replaced in each pass, from 0 to 1
    #[arg(long, value_name = "R", value_parser = churn, default_value = "0", allow_negative_numbers = true)]
    pub(crate) churn: f64,
    /// How the values are reached
    #[arg(long, value_enum, default_value_t = Access::Mixed)]
    pub(crate) access: Access,
    /// Also run the layouts on this machine, and say where the advice is wrong
    #[arg(long)]
    pub(crate) measure: bool,
    /// Print the bytes of a sparse set and a linear store for 1,000 entities, and which is cheaper
    #[arg(long, conflicts_with_all = ["size", "entities", "utilisation", "measure"])]
    pub(crate) table: bool,
    /// Run a small world with components in right and in wrong places, and print its layout report
    #[arg(long, conflicts_with_all = ["size", "entities", "utilisation", "churn", "access", "measure", "table"])]
    pub(crate) demo: bool,
    /// Print JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ParseArgs {
    /// Programs, directories of them (*.ori), or - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the columns: every node in the order it was made
    #[arg(long, group = "what")]
    pub(crate) dump: bool,
    /// Print the tree as an outline
    #[arg(long, group = "what")]
    pub(crate) tree: bool,
    /// Print bytes, tokens, nodes and time
    #[arg(long, group = "what")]
    pub(crate) stats: bool,
    /// Print JSON, and nothing else, on standard output: errors, figures and nodes, with --stats no nodes
    #[arg(long, conflicts_with_all = ["dump", "tree"])]
    pub(crate) json: bool,
}

/// The largest value that can be asked about: a mebibyte.
pub(crate) const MOST_SIZE: u64 = 1 << 20;
/// The most entities that can be asked about.
pub(crate) const MOST_ENTITIES: u64 = 1_000_000_000;

fn battle_size(text: &str) -> Result<u64, String> {
    whole(text, battle::FEWEST_ENTITIES, battle::MOST_ENTITIES, "a number of entities", "5_000")
}

fn frames(text: &str) -> Result<u64, String> {
    whole(text, 1, u64::MAX, "a number of frames", "600")
}

fn size(text: &str) -> Result<u64, String> {
    whole(text, 0, MOST_SIZE, "a size in bytes", "24")
}

fn entities(text: &str) -> Result<u64, String> {
    whole(text, 1, MOST_ENTITIES, "a number of entities", "100_000")
}

fn utilisation(text: &str) -> Result<f64, String> {
    share(text, "the share of the entities that has the value")
}

fn churn(text: &str) -> Result<f64, String> {
    share(text, "the share of the values that is replaced in each pass")
}

fn whole(text: &str, least: u64, most: u64, what: &str, example: &str) -> Result<u64, String> {
    let number = text.replace('_', "").parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("expected {what} from {least} to {most}, such as {example}"))
}

fn share(text: &str, what: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("expected {what}, from 0 to 1, such as 0.3"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(entities("1_000_000"), Ok(1_000_000));
        assert_eq!(
            entities("0"),
            Err("expected a number of entities from 1 to 1000000000, such as 100_000".to_string())
        );
        assert_eq!(utilisation("1"), Ok(1.0));
        for wrong in ["1.01", "-0.1", "NaN", "inf", "half", ""] {
            assert!(utilisation(wrong).unwrap_err().ends_with("from 0 to 1, such as 0.3"), "{wrong}");
        }
        for wrong in ["-1", "1e3", "big", "1048577"] {
            assert!(size(wrong).unwrap_err().starts_with("expected a size in bytes"), "{wrong}");
        }
    }

    #[test]
    fn running_needs_no_command() {
        let cli = Cli::try_parse_from(["phalanx", "--frames", "10", "--entities", "1_000"]).unwrap();
        assert!(cli.command.is_none() && cli.run.frames == Some(10) && cli.run.entities == 1000 && !cli.run.json);
        assert!(Cli::try_parse_from(["phalanx", "advise", "--size", "8"]).is_err());
        assert!(Cli::try_parse_from(["phalanx", "advise", "--table"]).is_ok());
        assert!(Cli::try_parse_from(["phalanx", "--frames", "10", "measure"]).is_err());
    }
}
