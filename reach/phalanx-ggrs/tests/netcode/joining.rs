//! Players who join later, and spectators.

use crate::game::{self, Buttons, Position, Sound};
use crate::kit::{Net, Peer, address, bad, run, run_to, simulate, tick};
use phalanx_ggrs::{Conditions, Joined, Joining, NetcodeError};
use phalanx_rollback::Rollback;
use std::time::{Duration, Instant};

/// Lets a program join while players go on. Returns what it got.
fn join(net: &Net, peers: &mut [Peer], joining: &mut Joining) -> Result<Joined<Buttons>, NetcodeError> {
    let registry = game::registry().unwrap();
    let mut joined = None;
    run(net, peers, |peers| {
        for (address, as_spectator) in std::mem::take(&mut peers[0].requests) {
            let Peer { driver, session, game, .. } = &mut peers[0];
            driver.admit(address, as_spectator, session, game).unwrap();
        }
        joined = joining.poll(|bytes| game::load(&registry, bytes)).transpose();
        joined.is_some()
    });
    joined.unwrap()
}

#[test]
fn a_player_joins_later() {
    for seed in 0..3 {
        let net = Net::new(bad(seed));
        let mut peers = Vec::from([0, 1].map(|player| Peer::new(&net, player, 2, seed)));
        run_to(&net, &mut peers, 100);
        let socket = net.socket(2);
        let mut joining = Joining::player(&socket, address(0));
        let Joined::Player { game, driver, roster } = join(&net, &mut peers, &mut joining).unwrap() else {
            panic!("joined as a spectator");
        };
        let start = game.frame();
        assert!(start >= 100 && roster.local() == 2 && roster.len() == 3, "{start}");
        assert_eq!(game.world().query::<&game::Player>().iter().count(), 2);
        peers.push(Peer::with(socket, roster, *driver, game.with_effects::<Sound>(), seed));
        run_to(&net, &mut peers, start + 200);
        for peer in &peers {
            assert!(peer.reports.is_empty(), "{}", peer.reports[0]);
            assert_eq!((peer.driver.roster().len(), peer.failed), (3, 0));
            assert_eq!(peer.game.world().query::<&game::Player>().iter().count(), 3);
        }
        assert_eq!([peers[0].restarts, peers[1].restarts], [1, 1]);
        // And another one, after that.
        let socket = net.socket(3);
        let mut joining = Joining::player(&socket, address(0));
        let Joined::Player { game, driver, roster } = join(&net, &mut peers, &mut joining).unwrap() else {
            panic!("joined as a spectator");
        };
        let start = game.frame();
        peers.push(Peer::with(socket, roster, *driver, game.with_effects::<Sound>(), seed));
        run_to(&net, &mut peers, start + 100);
        assert!(peers.iter().all(|peer| peer.reports.is_empty() && peer.driver.roster().len() == 4));
    }
}

#[test]
fn a_late_join_of_ten_thousand_entities_takes_less_than_three_seconds() {
    let conditions = Conditions { latency: Duration::from_millis(100), ..Conditions::default() };
    let net = Net::new(conditions);
    let world = || {
        let mut world = game::new_world(1);
        for n in 0..10_000 {
            let n = n as f32 * 0.01;
            world.spawn((Position { x: n, y: -n }, game::Velocity { x: 0.1, y: n }));
        }
        world
    };
    let mut peers = Vec::from([0, 1].map(|player| Peer::of_world(&net, player, 2, 1, world())));
    run_to(&net, &mut peers, 30);
    let socket = net.socket(2);
    let mut joining = Joining::player(&socket, address(0));
    let registry = game::registry().unwrap();
    let (mut joined, mut begin, mut loaded) = (None, None, None);
    run(&net, &mut peers, |peers| {
        for (address, as_spectator) in std::mem::take(&mut peers[0].requests) {
            let Peer { driver, session, game, .. } = &mut peers[0];
            driver.admit(address, as_spectator, session, game).unwrap();
            begin = Some(net.clock.now());
        }
        joined = joining
            .poll(|bytes| {
                loaded = Some((net.clock.now(), bytes.len()));
                game::load(&registry, bytes)
            })
            .unwrap();
        joined.is_some()
    });
    let Some(Joined::Player { game, driver, roster }) = joined else { panic!("joined as a spectator") };
    let (start, frame) = (net.clock.now(), game.frame());
    peers.push(Peer::with(socket, roster, *driver, game.with_effects::<Sound>(), 1));
    run(&net, &mut peers, |peers| peers.iter().all(|peer| peer.game.frame() > frame));
    let (begin, (loaded, bytes)) = (begin.unwrap(), loaded.unwrap());
    let pause = net.clock.now() - begin;
    println!(
        "a pause of {pause:?}: {:?} until {bytes} bytes arrived, {:?} until the start, {:?} until the next frame",
        loaded - begin,
        start - loaded,
        net.clock.now() - start
    );
    assert!(pause < Duration::from_secs(3), "{pause:?}");
}

#[test]
fn a_player_who_does_not_answer_does_not_stop_the_game() {
    let net = Net::new(bad(1));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 1));
    run_to(&net, &mut peers, 50);
    let socket = net.socket(2);
    let mut joining = Joining::player(&socket, address(0));
    run(&net, &mut peers, |peers| {
        let _ = joining.poll::<Buttons>(|_| panic!("nothing was sent yet"));
        !peers[0].requests.is_empty()
    });
    // The program is gone before the snapshot arrives.
    let (address, _) = peers[0].requests.remove(0);
    let Peer { driver, session, game, .. } = &mut peers[0];
    driver.admit(address, false, session, game).unwrap();
    assert!(matches!(driver.admit(address, false, session, game), Err(NetcodeError::NotNow)));
    run(&net, &mut peers, |peers| peers.iter().all(|peer| peer.restarts == 1));
    assert_eq!([peers[0].failed, peers[1].failed], [1, 0]);
    let frame = peers[0].game.frame();
    run_to(&net, &mut peers, frame + 100);
    assert!(peers.iter().all(|peer| peer.driver.roster().len() == 2 && peer.reports.is_empty()));
}

#[test]
fn a_world_that_differs_is_not_admitted() {
    let net = Net::new(bad(2));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 2));
    run_to(&net, &mut peers, 50);
    let socket = net.socket(2);
    let mut joining = Joining::player(&socket, address(0));
    let registry = game::registry().unwrap();
    let mut error = None;
    run(&net, &mut peers, |peers| {
        for (address, as_spectator) in std::mem::take(&mut peers[0].requests) {
            let Peer { driver, session, game, .. } = &mut peers[0];
            driver.admit(address, as_spectator, session, game).unwrap();
        }
        // The program loads the world and changes it.
        let polled = joining.poll::<Buttons>(|bytes| {
            let mut world = game::load(&registry, bytes)?;
            world.query_mut::<&mut Position>().for_each(|position| position.x += 1.0);
            Ok(world)
        });
        error = error.take().or(polled.err());
        peers.iter().all(|peer| peer.restarts == 1)
    });
    assert!(matches!(error, Some(NetcodeError::OtherSum { .. })), "{error:?}");
    assert_eq!(peers[0].failed, 1);
    let frame = peers[0].game.frame();
    run_to(&net, &mut peers, frame + 50);
}

#[test]
fn one_can_be_refused_and_only_the_first_player_admits() {
    let net = Net::new(bad(3));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 3));
    run_to(&net, &mut peers, 20);
    let socket = net.socket(2);
    let mut joining = Joining::player(&socket, address(1));
    let mut result = None;
    run(&net, &mut peers, |peers| {
        if let Some((address, _)) = peers[1].requests.pop() {
            let Peer { driver, session, game, .. } = &mut peers[1];
            assert!(matches!(driver.admit(address, false, session, game), Err(NetcodeError::NotNow)));
            driver.refuse(address);
        }
        result = joining.poll::<Buttons>(|_| panic!("nothing is sent")).err();
        result.is_some()
    });
    assert!(matches!(result, Some(NetcodeError::Refused)));
}

#[test]
fn a_spectator_follows_without_a_pause() {
    let net = Net::new(bad(4));
    let mut peers = Vec::from([0, 1].map(|player| Peer::new(&net, player, 2, 4)));
    run_to(&net, &mut peers, 100);
    let socket = net.socket(9);
    let mut joining = Joining::spectator(&socket, address(0));
    let Joined::Spectator { mut game, mut spectator } = join(&net, &mut peers, &mut joining).unwrap() else {
        panic!("joined as a player");
    };
    let start = game.frame();
    assert!(start >= 90);
    let follow =
        |peers: &mut Vec<Peer>, game: &mut Rollback, spectator: &mut phalanx_ggrs::Spectator<Buttons>, to: u64| {
            run(&net, peers, |peers| {
                spectator.advance(game, 8, simulate).unwrap();
                assert!(spectator.desync().is_none());
                game.frame() >= to && peers[0].driver.confirmed() >= to
            });
            assert_eq!(game.sums_of(to), peers[0].game.sums_of(to));
        };
    follow(&mut peers, &mut game, &mut spectator, start + 100);
    assert_eq!(peers[0].restarts, 0, "nobody stops for a spectator");
    // It follows beyond a pause, in which a player joins.
    let other = net.socket(2);
    let mut joining = Joining::player(&other, address(0));
    let registry = game::registry().unwrap();
    let mut joined = None;
    run(&net, &mut peers, |peers| {
        spectator.advance(&mut game, 8, simulate).unwrap();
        for (address, as_spectator) in std::mem::take(&mut peers[0].requests) {
            let Peer { driver, session, game, .. } = &mut peers[0];
            driver.admit(address, as_spectator, session, game).unwrap();
        }
        joined = joining.poll(|bytes| game::load(&registry, bytes)).unwrap();
        joined.is_some()
    });
    let Some(Joined::Player { game: third, driver, roster }) = joined else { panic!("joined as a spectator") };
    peers.push(Peer::with(other, roster, *driver, third.with_effects::<Sound>(), 4));
    let to = game.frame() + 100;
    follow(&mut peers, &mut game, &mut spectator, to);
    // A spectator whose simulation is another one gets a report.
    let begin = Instant::now();
    let report = loop {
        tick(&net, &mut peers);
        let wrong = |world: &mut phalanx::World, inputs: &[Option<Buttons>]| {
            simulate(world, inputs);
            world.query_mut::<&mut game::Inventory>().for_each(|inventory| inventory.water |= 0x400);
        };
        spectator.advance(&mut game, 8, wrong).unwrap();
        if let Some(report) = spectator.desync() {
            break report;
        }
        assert!(begin.elapsed() < Duration::from_secs(30));
    };
    assert!(report.first.as_ref().is_some_and(|first| first.name.ends_with("Inventory")), "{report}");
    assert_eq!(report.players, [0, 3]);
    run(&net, &mut peers, |peers| !peers[0].reports.is_empty());
    assert_eq!(peers[0].reports[0], *report);
}

#[test]
fn damaged_snapshots_are_errors() {
    // A host that sends bytes that are not a snapshot.
    let registry = game::registry().unwrap();
    let mut bytes = Vec::new();
    registry.save(&game::new_world(1), &mut bytes).unwrap();
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(game::load(&registry, &damaged).is_err(), "byte {at}");
        assert!(game::load(&registry, &bytes[..at]).is_err());
    }
}

#[test]
fn a_loaded_world_has_the_sums_of_the_saved_one() {
    let registry = game::registry().unwrap();
    let mut game = Rollback::new(game::new_world(8), 16).unwrap();
    for frame in 0..300 {
        let inputs = [0, 1].map(|player| Some(Buttons::of(8, player, frame)));
        game.advance(&inputs[..], |world, inputs| game::simulate(world, inputs, |_, _| {})).unwrap();
    }
    let mut bytes = Vec::new();
    registry.save(game.world(), &mut bytes).unwrap();
    let mut loaded = Rollback::new(game::load(&registry, &bytes).unwrap(), 16).unwrap().at_frame(300).unwrap();
    assert_eq!(loaded.sums(), game.sums());
    for frame in 300..400 {
        let inputs = [0, 1].map(|player| Some(Buttons::of(8, player, frame)));
        for game in [&mut game, &mut loaded] {
            game.advance(&inputs[..], |world, inputs| game::simulate(world, inputs, |_, _| {})).unwrap();
        }
        assert_eq!(loaded.sums(), game.sums(), "frame {frame}");
    }
}
