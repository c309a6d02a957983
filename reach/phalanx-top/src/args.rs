//! [`Args`]: what the command line asks for.

use crate::view::View;

/// The text of `--help`.
pub(crate) const HELP: &str = "\
Looks inside a running program that has phalanx-inspect.

Usage: phalanx-top [ADDRESS | PROCESS] [OPTIONS]

Without an address, the programs that are running are listed. In a terminal, a
program that is the only one is shown at once.

Arguments:
  ADDRESS          127.0.0.1:7171, or the whole address that the program printed
  PROCESS          the number of the process

The key of a program is read from its file in $XDG_RUNTIME_DIR/phalanx, or from
the variable PHALANX_KEY, or from the end of the address (#key=…).

Options:
  --view NAME      entities, tables, components, resources, groups, systems,
                   time, compare or charts
  --query TEXT     the query of the entities, such as 'Health.hp < 10'
  --entity ENTITY  one entity, such as 42v7
  --once           print the view once, and exit
  --json           print JSON, for scripts; implies --once
  --help           print this text
  --version        print the version

Keys: / query, 1 to 9 views, arrows, Enter open, e edit, p pause, n next frame,
[ ] earlier and later frames, u undo, ? all keys, q quit.
Colours are off if NO_COLOR is set.
";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Args {
    /// An address or the number of a process.
    pub(crate) target: Option<String>,
    pub(crate) view: Option<View>,
    pub(crate) query: String,
    pub(crate) entity: Option<String>,
    pub(crate) is_once: bool,
    pub(crate) is_json: bool,
    pub(crate) wants_help: bool,
    pub(crate) wants_version: bool,
}

/// Returns `true` if a text is an entity, such as `42v7`.
pub(crate) fn is_entity(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('v').is_some_and(|(index, generation)| is_number(index) && is_number(generation))
}

impl Args {
    /// Reads the arguments after the name of the program.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the argument that is wrong.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Args, String> {
        let (mut args, mut rest) = (Args::default(), arguments.into_iter());
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--view" => {
                    let name = value()?;
                    args.view = Some(View::by_name(&name).ok_or_else(|| format!("there is no view `{name}`"))?);
                }
                "--query" => args.query = value()?,
                "--entity" => {
                    let entity = value()?;
                    if !is_entity(&entity) {
                        return Err(format!("`{entity}` is not an entity, such as 42v7"));
                    }
                    args.entity = Some(entity);
                }
                "--once" => args.is_once = true,
                "--json" => args.is_json = true,
                "--help" | "-h" => args.wants_help = true,
                "--version" | "-V" => args.wants_version = true,
                other if other.starts_with('-') => return Err(format!("there is no option `{other}`: see --help")),
                _ if args.target.is_some() => return Err("there is more than one address".into()),
                _ => args.target = Some(argument),
            }
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Args, String> {
        Args::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read() {
        let args = parse("1234 --view tables --once --json --query Health").unwrap();
        assert_eq!(
            (args.target.as_deref(), args.view, args.query.as_str()),
            (Some("1234"), Some(View::Tables), "Health")
        );
        assert!(args.is_once && args.is_json);
        assert_eq!(parse("").unwrap(), Args::default());
    }

    #[test]
    fn an_error_names_what_is_wrong() {
        for (text, part) in [
            ("--view", "needs a value"),
            ("--view none", "`none`"),
            ("--all", "`--all`"),
            ("1 2", "more than one"),
            ("--entity 4", "`4`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
