//! Players in memory, over a network that delays and loses packets.

use crate::game::{self, Buttons, Sound};
use ggrs::{P2PSession, SessionBuilder};
use phalanx::World;
use phalanx_ggrs::{
    Clock, Conditioned, Conditions, DesyncReport, Driver, Event, HISTORY, MemoryNetwork, Netcode, Progress, Roster,
    Socket,
};
use phalanx_rollback::{Effects, Rollback};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time of a frame.
const FRAME: Duration = Duration::from_micros(16_667);

pub(crate) fn address(player: usize) -> SocketAddr {
    ([127, 0, 0, 1], 5000 + player as u16).into()
}

/// What a test changes in the simulation of a player.
pub(crate) type Bug = Box<dyn FnMut(&mut World)>;

/// A network, and a clock that all go by.
pub(crate) struct Net {
    pub(crate) memory: MemoryNetwork,
    pub(crate) clock: Clock,
    pub(crate) conditions: Conditions,
}

impl Net {
    pub(crate) fn new(conditions: Conditions) -> Net {
        Net { memory: MemoryNetwork::new(), clock: Clock::manual(), conditions }
    }

    pub(crate) fn socket(&self, player: usize) -> Socket {
        let conditions = Conditions { seed: self.conditions.seed.wrapping_mul(64) + player as u64, ..self.conditions };
        let datagrams = Conditioned::new(self.memory.endpoint(address(player)), conditions, self.clock.clone());
        Socket::over(datagrams, self.clock.clone())
    }
}

/// Returns the conditions of a bad network.
pub(crate) fn bad(seed: u64) -> Conditions {
    Conditions {
        latency: Duration::from_millis(60),
        jitter: Duration::from_millis(30),
        loss: 0.05,
        duplicates: 0.05,
        seed,
    }
}

pub(crate) fn builder() -> SessionBuilder<Netcode<Buttons>> {
    SessionBuilder::new().with_max_prediction_window(12).with_input_delay(2)
}

/// A player.
pub(crate) struct Peer {
    pub(crate) socket: Socket,
    pub(crate) session: P2PSession<Netcode<Buttons>>,
    pub(crate) driver: Driver<Buttons>,
    pub(crate) game: Rollback,
    pub(crate) bug: Bug,
    pub(crate) seed: u64,
    pub(crate) simulated: u64,
    pub(crate) reports: Vec<DesyncReport>,
    /// The requests of programs that want to join.
    pub(crate) requests: Vec<(SocketAddr, bool)>,
    pub(crate) restarts: usize,
    pub(crate) failed: usize,
    pub(crate) sounds: usize,
}

impl Peer {
    pub(crate) fn new(net: &Net, player: usize, players: usize, seed: u64) -> Peer {
        Peer::of_world(net, player, players, seed, game::new_world(seed))
    }

    pub(crate) fn of_world(net: &Net, player: usize, players: usize, seed: u64, world: World) -> Peer {
        let socket = net.socket(player);
        let roster = Roster::new((0..players).map(|other| (other != player).then(|| address(other))));
        let game = Rollback::new(world, HISTORY).unwrap().with_effects::<Sound>();
        let driver = Driver::new(&socket, roster.clone(), &game);
        Peer::with(socket, roster, driver, game, seed)
    }

    pub(crate) fn with(socket: Socket, roster: Roster, driver: Driver<Buttons>, game: Rollback, seed: u64) -> Peer {
        let session = roster.start(builder(), &socket).unwrap();
        let driver = driver.with_registry(Arc::new(game::registry().unwrap()));
        Peer {
            socket,
            session,
            driver,
            game,
            bug: Box::new(|_| {}),
            seed,
            simulated: 0,
            reports: Vec::new(),
            requests: Vec::new(),
            restarts: 0,
            failed: 0,
            sounds: 0,
        }
    }

    /// Advances by a frame, and takes the events.
    pub(crate) fn tick(&mut self) -> Progress {
        let player = self.driver.roster().local();
        let input = Buttons::of(self.seed, player, self.session.current_frame() as u64);
        let (bug, simulated) = (&mut self.bug, &mut self.simulated);
        let progress = self.driver.advance(&mut self.session, &mut self.game, input, |world, inputs| {
            *simulated += 1;
            simulate(world, inputs);
            bug(world);
        });
        let progress = progress.unwrap();
        self.sounds += self.game.drain::<Sound>().len();
        for event in self.driver.events() {
            match event {
                Event::Desync(report) => self.reports.push(*report),
                Event::JoinRequest { address, as_spectator } => self.requests.push((address, as_spectator)),
                Event::Restart(roster) => {
                    self.restarts += 1;
                    self.session = roster.start(builder(), &self.socket).unwrap();
                    self.driver.restart(roster, &self.game);
                }
                Event::JoinFailed { .. } => self.failed += 1,
                _ => {}
            }
        }
        progress
    }
}

pub(crate) fn simulate(world: &mut World, inputs: &[Option<Buttons>]) {
    game::simulate(world, inputs, |world, sound| {
        if let Ok(mut sounds) = world.resource_mut::<Effects<Sound>>() {
            sounds.send(sound);
        }
    });
}

/// Advances all by a frame, and the clock by its time.
pub(crate) fn tick(net: &Net, peers: &mut [Peer]) {
    let before = peers.iter().map(|peer| peer.game.frame()).sum::<u64>();
    for peer in peers.iter_mut() {
        peer.tick();
    }
    if before != peers.iter().map(|peer| peer.game.frame()).sum::<u64>() {
        net.clock.advance(FRAME);
    } else {
        // ggrs goes by the clock of the machine: it sends again what was lost after 200 ms. So time passes as it does there.
        std::thread::sleep(Duration::from_millis(2));
        net.clock.advance(Duration::from_millis(2));
    }
}

/// Runs until a condition holds. Fails after a minute.
pub(crate) fn run(net: &Net, peers: &mut [Peer], mut until: impl FnMut(&mut [Peer]) -> bool) {
    let start = Instant::now();
    while !until(peers) {
        tick(net, peers);
        let drivers = || peers.iter().map(|peer| &peer.driver).collect::<Vec<_>>();
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", drivers());
    }
}

/// Runs until all have confirmed a frame, and checks that all have the same.
pub(crate) fn run_to(net: &Net, peers: &mut [Peer], frame: u64) {
    let mut sums = vec![None; peers.len()];
    run(net, peers, |peers| {
        for (peer, sum) in peers.iter().zip(&mut sums) {
            if sum.is_none() && peer.driver.confirmed() >= frame {
                *sum = peer.game.sums_of(frame).map(|sums| sums.world());
            }
        }
        sums.iter().all(Option::is_some)
    });
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]), "{sums:x?}");
}
