//! The options of the program.

use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "options:
  --player 0|1       plays as one player; without it, two processes are started
  --watch yes        watches the two players
  --ports A,B        the ports of the players on 127.0.0.1 (7000,7001)
  --frames N         ends after as many frames (3000)
  --latency MS       the time that a packet takes (0)
  --jitter MS        by how much it varies (0)
  --loss PERCENT     the share of packets that get lost (0)
  --duplicates PERCENT  the share of packets that arrive twice (0)
  --window N         the number of frames that are predicted at most (12)
  --seed N           of the game and the network (1)
  --speed X          divides frame time, latency and jitter (1)
  --plant N          plants a bug: 1 to 11 (0)
  --reports FOLDER   where the worlds of a desync are written";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) player: Option<usize>,
    pub(crate) is_watching: bool,
    pub(crate) ports: [u16; 2],
    pub(crate) frames: u64,
    pub(crate) latency: Duration,
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    pub(crate) duplicates: f64,
    pub(crate) window: usize,
    pub(crate) seed: u64,
    pub(crate) speed: f64,
    pub(crate) plant: usize,
    pub(crate) reports: Option<PathBuf>,
}

impl Arguments {
    /// Reads the options, or returns what is wrong.
    pub(crate) fn parse(mut options: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            player: None,
            is_watching: false,
            ports: [7000, 7001],
            frames: 3000,
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicates: 0.0,
            window: 12,
            seed: 1,
            speed: 1.0,
            plant: 0,
            reports: None,
        };
        while let Some(option) = options.next() {
            if option == "--help" {
                return Err(HELP.into());
            }
            let value = options.next().ok_or_else(|| format!("{option} needs a value\n{HELP}"))?;
            let wrong = || format!("{option} {value} is not valid\n{HELP}");
            let number = || value.parse::<u64>().map_err(|_| wrong());
            let real = || value.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).ok_or_else(wrong);
            match option.as_str() {
                "--player" => arguments.player = Some(number()?.try_into().ok().filter(|n| *n < 2).ok_or_else(wrong)?),
                "--watch" => arguments.is_watching = value == "yes",
                "--ports" => {
                    let (first, second) = value.split_once(',').ok_or_else(wrong)?;
                    let port = |text: &str| text.parse().map_err(|_| wrong());
                    arguments.ports = [port(first)?, port(second)?];
                }
                "--frames" => arguments.frames = number()?,
                "--latency" => arguments.latency = Duration::from_secs_f64(real()?.min(1e6) / 1e3),
                "--jitter" => arguments.jitter = Duration::from_secs_f64(real()?.min(1e6) / 1e3),
                "--loss" => arguments.loss = real()? / 100.0,
                "--duplicates" => arguments.duplicates = real()? / 100.0,
                "--window" => {
                    arguments.window = number()?.try_into().ok().filter(|n| (1..=60).contains(n)).ok_or_else(wrong)?
                }
                "--seed" => arguments.seed = number()?,
                "--speed" => arguments.speed = Some(real()?).filter(|n| *n >= 0.1 && *n <= 100.0).ok_or_else(wrong)?,
                "--plant" => arguments.plant = number()?.try_into().ok().filter(|n| *n <= 11).ok_or_else(wrong)?,
                "--reports" => arguments.reports = Some(value.into()),
                _ => return Err(format!("no option {option}\n{HELP}")),
            }
        }
        Ok(arguments)
    }
}
