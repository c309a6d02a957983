//! Two processes over UDP on the loopback interface. The program of the tests is started again, as a player.

use crate::game::{self, Buttons};
use crate::kit::{builder, simulate};
use phalanx_ggrs::{Conditions, Driver, Event, HISTORY, Roster, Socket};
use phalanx_rollback::Rollback;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names the player that a process is, and the ports of both.
const ROLE: &str = "PHALANX_GGRS_PLAYER";
const FRAMES: u64 = 600;

/// Plays, if the process is one of a player.
#[test]
fn a_player_of_two_processes() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let numbers: Vec<u16> = role.split(',').map(|number| number.parse().unwrap()).collect();
    let (player, flip) = (usize::from(numbers[0]), numbers[3] == 1);
    let mut players = [numbers[1], numbers[2]].map(|port| Some(SocketAddr::from(([127, 0, 0, 1], port))));
    let own = players[player].take().unwrap();
    let conditions = Conditions {
        latency: Duration::from_millis(20),
        jitter: Duration::from_millis(6),
        loss: 0.05,
        duplicates: 0.01,
        seed: player as u64,
    };
    let socket = Socket::bind_conditioned(own, conditions).unwrap();
    let roster = Roster::new(players);
    let mut session = roster.start(builder(), &socket).unwrap();
    let mut game = Rollback::new(game::new_world(1), HISTORY).unwrap();
    let mut driver = Driver::<Buttons>::new(&socket, roster, &game);
    let (start, mut sum, mut end) = (Instant::now(), None, None::<Instant>);
    while end.is_none_or(|end| end.elapsed() < Duration::from_millis(700)) {
        assert!(start.elapsed() < Duration::from_secs(40), "player {player} at {driver:?}");
        let input = Buttons::of(1, player, session.current_frame() as u64);
        let progress = driver.advance(&mut session, &mut game, input, |world, inputs| {
            simulate(world, inputs);
            if flip && player == 1 && world.resource::<game::Score>().unwrap().frame == 100 {
                world.query_mut::<&mut game::Player>().for_each(|player| player.deaths ^= 1);
            }
        });
        progress.unwrap();
        for event in driver.events() {
            if let Event::Desync(report) = event {
                println!("report: {}", report.to_string().replace('\n', ";"));
            }
        }
        if sum.is_none() && driver.confirmed() >= FRAMES {
            sum = game.sums_of(FRAMES).map(|sums| sums.world());
            end = Some(Instant::now());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    println!("sum: {:016x}", sum.unwrap());
}

/// Starts two processes. Returns what each has printed.
fn play(flip: bool) -> [String; 2] {
    let sockets = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = sockets.each_ref().map(|socket| socket.local_addr().unwrap().port());
    drop(sockets);
    let children = [0, 1].map(|player| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::a_player_of_two_processes", "--nocapture"]);
        command.env(ROLE, format!("{player},{},{},{}", ports[0], ports[1], u8::from(flip)));
        command.stdout(Stdio::piped()).spawn().unwrap()
    });
    children.map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    })
}

/// Returns what follows a word, on each line that has it.
fn lines<'a>(text: &'a str, word: &'a str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.split_once(word)).map(|(_, rest)| rest).collect()
}

#[test]
fn two_processes_end_with_equal_sums() {
    let texts = play(false);
    let sums = texts.each_ref().map(|text| lines(text, "sum: "));
    assert!(sums[0].len() == 1 && sums[0] == sums[1], "{texts:?}");
    assert!(texts.iter().all(|text| lines(text, "report: ").is_empty()), "{texts:?}");
}

#[test]
fn a_bit_that_differs_is_named_by_two_processes() {
    let texts = play(true);
    let reports = texts.each_ref().map(|text| lines(text, "report: "));
    assert!(reports[0].len() == 1 && reports[0] == reports[1], "{texts:?}");
    assert!(reports[0][0].contains("Player.deaths") && reports[0][0].contains("frame 100"), "{texts:?}");
}
