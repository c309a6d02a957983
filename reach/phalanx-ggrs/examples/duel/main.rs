//! A duel of two players in two processes, over a bad network.
//!
//! ```text
//! cargo run -p phalanx-ggrs --example duel -- --latency 100 --loss 5 --frames 3000
//! ```
//!
//! This starts both processes, and compares what they end with. In two terminals:
//!
//! ```text
//! cargo run -p phalanx-ggrs --example duel -- --player 0 --latency 100 --loss 5
//! cargo run -p phalanx-ggrs --example duel -- --player 1 --latency 100 --loss 5
//! ```
//!
//! And to watch them, in a third one:
//!
//! ```text
//! cargo run -p phalanx-ggrs --example duel -- --watch yes
//! ```
//!
//! `--speed 4` divides the time of a frame, the latency and the jitter by four. `--plant N` plants a bug from frame 200 on: 1 to
//! 11, and 0 for none. `--help` lists all options.

mod arguments;
mod game;
mod plants;

use arguments::Arguments;
use game::{Buttons, Sound};
use ggrs::{GgrsEvent, SessionBuilder};
use phalanx_ggrs::{Conditions, Driver, Event, HISTORY, Joined, Joining, Progress, Roster, Socket};
use phalanx_rollback::{Effects, Rollback};
use plants::Plant;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a process waits for the other one.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let result = match (arguments.player, arguments.is_watching) {
        (Some(player), _) => play(&arguments, player),
        (None, true) => watch(&arguments),
        (None, false) => run_both(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts a process for each player, and compares the checksums that they print.
fn run_both(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // Two ports that are free. They are released before the processes bind them.
    let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    let ports = [sockets[0].local_addr()?.port(), sockets[1].local_addr()?.port()];
    drop(sockets);
    let start = |player: usize| -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args().skip(1)).args(["--player", &player.to_string()]);
        command.args(["--ports", &format!("{},{}", ports[0], ports[1])]).stdout(Stdio::piped()).spawn()
    };
    let mut children = [start(0)?, start(1)?];
    let readers =
        children.each_mut().map(|child| child.stdout.take()).into_iter().enumerate().map(|(player, output)| {
            std::thread::spawn(move || {
                let mut checksum = None;
                for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok) {
                    println!("[{player}] {line}");
                    checksum = line.strip_prefix("checksum ").map(String::from).or(checksum);
                }
                checksum
            })
        });
    let checksums: Vec<_> =
        readers.collect::<Vec<_>>().into_iter().map(|reader| reader.join().ok().flatten()).collect();
    let mut is_done = true;
    for child in &mut children {
        is_done &= child.wait()?.success();
    }
    match &checksums[..] {
        [Some(first), Some(second)] if first == second && is_done => {
            println!("equal checksums: {first}");
            Ok(())
        }
        [Some(first), Some(second)] if is_done => {
            println!("different checksums: {first} and {second}");
            // With a bug that differs, this is what was asked for.
            if matches!(arguments.plant, 0 | 4) { Err("the players differ".into()) } else { Ok(()) }
        }
        _ => Err("a player did not reach the end".into()),
    }
}

/// Counts what a session does.
#[derive(Default)]
struct Counts {
    simulated: u64,
    sounds: usize,
    waits: u64,
}

/// Follows the game of two other processes to its end.
fn watch(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let registry = game::registry()?;
    let socket = Socket::bind("127.0.0.1:0")?;
    let mut joining = Joining::spectator(&socket, SocketAddr::from(([127, 0, 0, 1], arguments.ports[0])));
    let start = Instant::now();
    let (mut game, mut spectator) = loop {
        if let Some(Joined::Spectator { game, spectator }) =
            joining.poll::<Buttons>(|bytes| game::load(&registry, bytes))?
        {
            break (*game, *spectator);
        }
        if start.elapsed() > PATIENCE {
            return Err("the players do not answer".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    println!("watching from frame {} on", game.frame());
    let mut last_progress = Instant::now();
    while game.frame() < arguments.frames && last_progress.elapsed() < PATIENCE {
        // One frame at a time, so that the last one is the present one in the end.
        if spectator.advance(&mut game, 1, |world, inputs| game::simulate(world, inputs, |_, _| {}))? > 0 {
            last_progress = Instant::now();
        } else {
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(report) = spectator.desync() {
            report.to_string().lines().for_each(|line| println!("{line}"));
        }
    }
    println!("checksum {:016x} of frame {}", game.sums().world(), game.frame());
    Ok(())
}

fn play(arguments: &Arguments, player: usize) -> Result<(), Box<dyn Error>> {
    let addresses = arguments.ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let speed = arguments.speed;
    let conditions = Conditions {
        latency: arguments.latency.div_f64(speed),
        jitter: arguments.jitter.div_f64(speed),
        loss: arguments.loss,
        duplicates: arguments.duplicates,
        seed: arguments.seed.wrapping_mul(2).wrapping_add(player as u64),
    };
    let socket = Socket::bind_conditioned(addresses[player], conditions)?;
    let mut players = addresses.map(Some);
    players[player] = None;
    let roster = Roster::new(players);
    let builder = SessionBuilder::new()
        .with_max_prediction_window(arguments.window)
        .with_input_delay(2)
        .with_fps((60.0 * speed) as usize)?
        .with_disconnect_timeout(Duration::from_secs(5));
    let mut session = roster.start(builder, &socket)?;
    let mut world = game::new_world(arguments.seed);
    let mut plant = Plant::new(arguments.plant, player, &mut world);
    if arguments.plant > 0 {
        println!("planted from frame {} on: {}", plants::FROM, plants::NAMES[arguments.plant - 1]);
    }
    let mut game = Rollback::new(world, HISTORY)?.with_effects::<Sound>();
    let mut driver = Driver::<Buttons>::new(&socket, roster, &game).with_registry(Arc::new(game::registry()?));
    if let Some(folder) = &arguments.reports {
        std::fs::create_dir_all(folder)?;
        driver = driver.with_reports(folder);
    }
    let (frame_time, start) = (Duration::from_secs_f64(1.0 / 60.0 / speed), Instant::now());
    let (mut counts, mut last_progress, mut next) = (Counts::default(), Instant::now(), Instant::now());
    let (mut end, mut is_peer_gone) = (None::<Instant>, false);
    // After its end a player goes on for a while, since the other one may still need its inputs.
    while end.is_none_or(|end| end.elapsed() < Duration::from_secs(1)) && !(is_peer_gone && end.is_some()) {
        let input = Buttons::of(arguments.seed, player, session.current_frame() as u64);
        let progress = driver.advance(&mut session, &mut game, input, |world, inputs| {
            counts.simulated += 1;
            game::simulate(world, inputs, |world, sound| {
                if let Ok(mut sounds) = world.resource_mut::<Effects<Sound>>() {
                    sounds.send(sound);
                }
            });
            plant.grow(world);
        })?;
        match progress {
            Progress::Advanced => last_progress = Instant::now(),
            Progress::Waiting | Progress::Paused => counts.waits += 1,
        }
        counts.sounds += game.drain::<Sound>().len();
        for event in driver.events() {
            match event {
                Event::Desync(report) => {
                    if let Some(first) = plant.first {
                        println!("reported {} ms after the bug first had an effect here", first.elapsed().as_millis());
                    }
                    report.to_string().lines().for_each(|line| println!("{line}"));
                }
                Event::JoinRequest { address, as_spectator: true } => driver.admit(address, true, &session, &game)?,
                Event::JoinRequest { address, .. } => driver.refuse(address),
                Event::Session(GgrsEvent::WaitRecommendation { skip_frames }) => next += frame_time * skip_frames,
                Event::Session(GgrsEvent::Disconnected { .. }) => is_peer_gone = true,
                _ => {}
            }
        }
        if end.is_none() && driver.confirmed() >= arguments.frames {
            end = Some(Instant::now());
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{} frames in {seconds:.1} s, {} simulated, {} waits",
                arguments.frames, counts.simulated, counts.waits
            );
            println!("{} sounds, {} packets rejected", counts.sounds, socket.rejected());
            let sums = game.sums_of(arguments.frames).ok_or("the last frame is not kept any more")?;
            if !sums.uncovered().is_empty() {
                println!("not compared: {}", sums.uncovered().join(", "));
            }
            println!("checksum {:016x}", sums.world());
        }
        if (is_peer_gone && end.is_none()) || last_progress.elapsed() > PATIENCE {
            return if end.is_some() {
                Ok(())
            } else {
                Err(format!("player {player}: the other player is gone").into())
            };
        }
        next += frame_time;
        match next.checked_duration_since(Instant::now()) {
            Some(rest) => std::thread::sleep(rest),
            // Too late: what was missed is not made up for.
            None => next = Instant::now(),
        }
    }
    Ok(())
}
