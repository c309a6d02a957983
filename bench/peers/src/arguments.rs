//! The command line.

/// How to call the program.
pub const USAGE: &str =
    "usage: phalanx-peers [--only WORKLOAD]... [--quick] [--seconds S] [--json] [--html FILE] [--markdown FILE]
       phalanx-peers --list
       phalanx-peers builds
       phalanx-peers scaling [--quick] [--seconds S] [--svg FILE]

--only WORKLOAD  only workloads whose name contains this; may be given several times
--quick          about a minute for everything: fewer rounds, one pass
--seconds S      so long for each workload, without making its states (6)
--json           a line of JSON for each workload, and nothing else
--html FILE      write a page with plots
--markdown FILE  write the tables of docs/benchmarks.md
--list           the workloads
builds           how long each library takes to compile from nothing, and how many crates that is
scaling          spawn, iterate, get, despawn and bytes for a thousand to ten million entities
--svg FILE       draw that";

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Measure(Measure),
    Scaling(Measure),
    List,
    Builds,
    Help,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measure {
    pub only: Vec<String>,
    pub quick: bool,
    pub seconds: Option<f64>,
    pub json: bool,
    pub html: Option<String>,
    pub markdown: Option<String>,
    pub svg: Option<String>,
}

/// What is asked for, or a sentence that says why it makes no sense.
pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut measure = Measure::default();
    let (mut command, mut scaling, mut first) = (None, false, true);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--only" => measure.only.push(value()?),
            "--html" => measure.html = Some(value()?),
            "--markdown" => measure.markdown = Some(value()?),
            "--svg" => measure.svg = Some(value()?),
            "--quick" => measure.quick = true,
            "--json" => measure.json = true,
            "--seconds" => {
                let text = value()?;
                let seconds = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 3600.0);
                measure.seconds = Some(seconds.ok_or_else(|| format!("{text} is no number of seconds up to 3600"))?);
            }
            "--help" | "-h" => return Ok(Command::Help),
            "--list" if first => command = Some(Command::List),
            "builds" if first => command = Some(Command::Builds),
            "scaling" if first => scaling = true,
            _ => return Err(format!("{arg:?} is not understood here; --help says what is")),
        }
        first = false;
    }
    match command {
        Some(_) if measure != Measure::default() => Err("--list and builds stand by themselves".to_owned()),
        Some(command) => Ok(command),
        None if scaling
            && (measure.json || measure.html.is_some() || measure.markdown.is_some() || !measure.only.is_empty()) =>
        {
            Err("scaling takes --quick, --seconds and --svg".to_owned())
        }
        None if scaling => Ok(Command::Scaling(measure)),
        None if measure.svg.is_some() => Err("--svg belongs to scaling".to_owned()),
        None => Ok(Command::Measure(measure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_makes_sense_is_taken() {
        assert_eq!(parsed(""), Ok(Command::Measure(Measure::default())));
        assert_eq!(parsed("builds"), Ok(Command::Builds));
        let scaling = Measure { quick: true, svg: Some("x".to_owned()), ..Measure::default() };
        assert_eq!(parsed("scaling --quick --svg x"), Ok(Command::Scaling(scaling)));
        let Ok(Command::Measure(measure)) = parsed("--only a --only b --quick --seconds 2 --html x") else { panic!() };
        assert_eq!((measure.only.len(), measure.quick, measure.seconds), (2, true, Some(2.0)));
    }

    #[test]
    fn what_makes_none_is_refused_in_one_sentence() {
        for line in [
            "--only",
            "--seconds x",
            "--seconds -1",
            "--seconds NaN",
            "what",
            "--quick builds",
            "--list --json",
            "--svg x",
            "scaling --json",
        ] {
            let error = parsed(line).unwrap_err();
            assert!(!error.contains('\n'), "{line}: {error}");
        }
    }
}
