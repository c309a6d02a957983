//! The arguments of the program.

use phalanx_sql::{Broken, Format};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
SQL over recordings of Phalanx worlds

    phalanx-sql [options] FOLDER QUERY     answer a query
    phalanx-sql [options] FOLDER -         read the query from standard input
    phalanx-sql [options] FOLDER --tables  list the tables and their columns
    phalanx-sql scheduler [options]        run the scheduler of a cluster
    phalanx-sql executor [options]         run an executor of a cluster

FOLDER is a recording (it has a run.json), or a folder of recordings. There is a table for each component, with the
columns run, frame, entity and the fields, and those of the parameters; the table runs has a row for each recording,
entities has what happened to entities, and keyframes and files have the checksums of worlds and files.

    phalanx-sql runs/ \"select run, frame, avg(hp) from health group by run, frame order by run, frame\"

Options:
    --format FORMAT    table, csv, json, jsonl or parquet (default: by the name of --out; else a table on a terminal,
                       and csv for files and pipes)
    --out FILE         write to a file, which appears when it is whole
    --rows N           show at most N rows of a table (default 1000; 0 for all)
    --threads N        use N threads (default: all cores)
    --timeout SECONDS  give up after this time
    --verify           compare the checksums of files before they are read
    --skip-broken      leave out files that cannot be read, instead of an error
    --quiet            no notes about recordings that are left out or not finished
    --cluster ADDRESS  send the query to a cluster: df://host:port, or local:N for N cores of this process
    --partitions N     split tables into N parts on a cluster (default 16)

Options of scheduler and executor:
    --listen ADDRESS   the address to listen on (default 127.0.0.1:50050, for executors 127.0.0.1 and a free port)
    --expose           allow an address that other machines reach; there is no authentication
    --host NAME        the name of this machine for the others (default: the address)
    --scheduler ADDRESS           executor: the address of the scheduler, as host:port
    --cores N                     executor: run N tasks at a time (default: all cores)
    --memory MIB                  executor: memory for sorts and groups, before they use files
    --work-dir FOLDER             executor: folder for intermediate results (default: a temporary one)
    --executor-timeout SECONDS    scheduler: queries of an executor that is silent for this time fail
                                  (default 20)

Exit codes: 0 done, 1 the query or its data are wrong, 2 the arguments are wrong.
";

/// What is wrong with the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Query(QueryOptions),
    #[cfg(feature = "cluster")]
    Scheduler(ServeOptions),
    #[cfg(feature = "cluster")]
    Executor(ServeOptions),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryOptions {
    pub(crate) folder: PathBuf,
    pub(crate) ask: Ask,
    pub(crate) format: Option<Format>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) rows: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) broken: Broken,
    pub(crate) verify: bool,
    pub(crate) quiet: bool,
    pub(crate) cluster: Option<String>,
    pub(crate) partitions: Option<usize>,
}

/// What is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Ask {
    #[default]
    Tables,
    Sql(String),
    StandardInput,
}

#[cfg(feature = "cluster")]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServeOptions {
    pub(crate) listen: Option<std::net::SocketAddr>,
    pub(crate) expose: bool,
    pub(crate) host: Option<String>,
    pub(crate) scheduler: Option<String>,
    pub(crate) cores: Option<usize>,
    pub(crate) memory: Option<usize>,
    pub(crate) work_dir: Option<PathBuf>,
    pub(crate) executor_timeout: Option<Duration>,
}

/// Arguments, one after another.
struct Arguments<I> {
    rest: I,
    /// What follows the `=` of an option.
    value: Option<OsString>,
}

enum Argument {
    Option(String),
    Word(OsString),
}

impl<I: Iterator<Item = OsString>> Arguments<I> {
    fn next(&mut self) -> Result<Option<Argument>, Usage> {
        if let Some(value) = self.value.take() {
            return Err(Usage(format!("unexpected value `{}`", value.display())));
        }
        let Some(argument) = self.rest.next() else { return Ok(None) };
        let Some(text) = argument.to_str().filter(|text| text.len() > 1 && text.starts_with('-')) else {
            return Ok(Some(Argument::Word(argument)));
        };
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if text.starts_with("--") => (name, Some(value.into())),
            _ => (text, None),
        };
        self.value = value;
        Ok(Some(Argument::Option(name.to_owned())))
    }

    fn value(&mut self, option: &str) -> Result<OsString, Usage> {
        self.value.take().or_else(|| self.rest.next()).ok_or_else(|| Usage(format!("{option} needs a value")))
    }

    fn text(&mut self, option: &str) -> Result<String, Usage> {
        let value = self.value(option)?;
        value.into_string().map_err(|value| Usage(format!("{option}: `{}` is not UTF-8", value.display())))
    }

    fn parsed<T: std::str::FromStr>(&mut self, option: &str) -> Result<T, Usage>
    where
        T::Err: fmt::Display,
    {
        let text = self.text(option)?;
        text.parse().map_err(|error| Usage(format!("{option}: `{text}`: {error}")))
    }

    fn seconds(&mut self, option: &str) -> Result<Duration, Usage> {
        let seconds: f64 = self.parsed(option)?;
        Duration::try_from_secs_f64(seconds).map_err(|error| Usage(format!("{option}: `{seconds}`: {error}")))
    }
}

pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Usage> {
    let mut arguments = Arguments { rest: arguments.into_iter().peekable(), value: None };
    match arguments.rest.peek().and_then(|first| first.to_str()) {
        None => Err(Usage("a folder and a query are expected".into())),
        #[cfg(feature = "cluster")]
        Some("scheduler") => parse_role(arguments, false),
        #[cfg(feature = "cluster")]
        Some("executor") => parse_role(arguments, true),
        #[cfg(not(feature = "cluster"))]
        Some(role @ ("scheduler" | "executor")) => {
            Err(Usage(format!("`{role}` needs a program that is built with the feature `cluster`")))
        }
        Some(_) => parse_query(arguments),
    }
}

fn parse_query<I: Iterator<Item = OsString>>(mut arguments: Arguments<I>) -> Result<Command, Usage> {
    let mut options = QueryOptions::default();
    let (mut words, mut tables) = (Vec::new(), false);
    while let Some(argument) = arguments.next()? {
        let option = match argument {
            Argument::Word(word) => {
                words.push(word);
                continue;
            }
            Argument::Option(option) => option,
        };
        match option.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "--format" => options.format = Some(arguments.parsed(&option)?),
            "--out" => options.out = Some(arguments.value(&option)?.into()),
            "--rows" => options.rows = Some(arguments.parsed(&option)?),
            "--threads" => options.threads = Some(arguments.parsed(&option)?),
            "--timeout" => options.timeout = Some(arguments.seconds(&option)?),
            "--skip-broken" => options.broken = Broken::Skip,
            "--verify" => options.verify = true,
            "--quiet" => options.quiet = true,
            "--tables" => tables = true,
            #[cfg(feature = "cluster")]
            "--cluster" => options.cluster = Some(arguments.text(&option)?),
            #[cfg(feature = "cluster")]
            "--partitions" => options.partitions = Some(arguments.parsed(&option)?),
            #[cfg(not(feature = "cluster"))]
            "--cluster" | "--partitions" => {
                return Err(Usage(format!("{option} needs a program that is built with the feature `cluster`")));
            }
            _ => return Err(Usage(format!("unknown option {option}"))),
        }
    }
    let mut words = words.into_iter();
    options.folder = words.next().ok_or_else(|| Usage("a folder is expected".into()))?.into();
    options.ask = match (words.next(), tables) {
        (None, true) => Ask::Tables,
        (None, false) => return Err(Usage("a query is expected; --tables lists the tables".into())),
        (Some(_), true) => return Err(Usage("--tables takes no query".into())),
        (Some(word), false) if word == "-" => Ask::StandardInput,
        (Some(word), false) => Ask::Sql(word.into_string().map_err(|_| Usage("the query is not UTF-8".into()))?),
    };
    match words.next() {
        Some(word) => Err(Usage(format!("unexpected `{}`: a query is one argument, in quotes", word.display()))),
        None => Ok(Command::Query(options)),
    }
}

#[cfg(feature = "cluster")]
fn parse_role<I: Iterator<Item = OsString>>(mut arguments: Arguments<I>, is_executor: bool) -> Result<Command, Usage> {
    let mut options = ServeOptions::default();
    // The role itself.
    arguments.next()?;
    while let Some(argument) = arguments.next()? {
        let option = match argument {
            Argument::Word(word) => return Err(Usage(format!("unexpected `{}`", word.display()))),
            Argument::Option(option) => option,
        };
        match (option.as_str(), is_executor) {
            ("-h" | "--help", _) => return Ok(Command::Help),
            ("--listen", _) => options.listen = Some(arguments.parsed(&option)?),
            ("--expose", _) => options.expose = true,
            ("--host", _) => options.host = Some(arguments.text(&option)?),
            ("--scheduler", true) => options.scheduler = Some(arguments.text(&option)?),
            ("--cores", true) => options.cores = Some(arguments.parsed(&option)?),
            ("--memory", true) => {
                let mib: usize = arguments.parsed(&option)?;
                options.memory = Some(mib.saturating_mul(1 << 20));
            }
            ("--work-dir", true) => options.work_dir = Some(arguments.value(&option)?.into()),
            ("--executor-timeout", false) => options.executor_timeout = Some(arguments.seconds(&option)?),
            _ => return Err(Usage(format!("unknown option {option}"))),
        }
    }
    match is_executor {
        true if options.scheduler.is_none() => Err(Usage("an executor needs --scheduler host:port".into())),
        true => Ok(Command::Executor(options)),
        false => Ok(Command::Scheduler(options)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Command, Usage> {
        parse(text.split('|').filter(|word| !word.is_empty()).map(OsString::from))
    }

    #[test]
    fn options_may_stand_anywhere() {
        let expected = QueryOptions {
            folder: "runs".into(),
            ask: Ask::Sql("select 1".into()),
            format: Some(Format::Csv),
            rows: Some(5),
            quiet: true,
            timeout: Some(Duration::from_millis(1500)),
            ..QueryOptions::default()
        };
        assert_eq!(parsed("--format|csv|runs|--rows=5|select 1|--quiet|--timeout|1.5"), Ok(Command::Query(expected)));
        assert!(matches!(parsed("runs|-"), Ok(Command::Query(QueryOptions { ask: Ask::StandardInput, .. }))));
        assert!(matches!(parsed("runs|--tables"), Ok(Command::Query(QueryOptions { ask: Ask::Tables, .. }))));
        assert_eq!(parsed("runs|--help"), Ok(Command::Help));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (text, named) in [
            ("", "folder"),
            ("runs", "query"),
            ("runs|select|1", "quotes"),
            ("runs|--tables|select 1", "--tables"),
            ("runs|select 1|--format|xml", "xml"),
            ("runs|select 1|--rows|many", "many"),
            ("runs|select 1|--rows", "--rows"),
            ("runs|select 1|--timeout|-1", "-1"),
            ("runs|select 1|--quiet=yes", "yes"),
            ("runs|select 1|--fromat|csv", "--fromat"),
        ] {
            let Usage(reason) = parsed(text).unwrap_err();
            assert!(reason.contains(named), "{text}: {reason}");
        }
    }
}
