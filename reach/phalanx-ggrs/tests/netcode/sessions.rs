//! Two and three players over networks in memory.

use crate::game::Score;
use crate::kit::{Net, Peer, bad, run_to};
use phalanx_ggrs::Conditions;
use std::time::Duration;

#[test]
fn two_players_stay_equal_over_bad_networks() {
    for seed in 0..4 {
        let net = Net::new(bad(seed));
        let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, seed));
        run_to(&net, &mut peers, 600);
        for peer in &peers {
            assert!(peer.reports.is_empty(), "seed {seed}: {}", peer.reports[0]);
            assert!(peer.simulated > peer.game.frame(), "there were rollbacks");
            assert!(peer.sounds > 0 && peer.socket.rejected() == 0);
        }
        assert!(peers[0].game.world().resource::<Score>().unwrap().frame >= 600);
    }
}

#[test]
fn a_perfect_network_needs_no_rollback_within_the_delay() {
    let net = Net::new(Conditions::default());
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 3));
    run_to(&net, &mut peers, 300);
    for peer in &peers {
        assert!(peer.simulated - peer.game.frame() < 30, "{} of {}", peer.simulated, peer.game.frame());
        assert!(peer.reports.is_empty());
    }
}

#[test]
fn three_players_stay_equal() {
    let net = Net::new(Conditions { loss: 0.2, ..bad(9) });
    let mut peers = [0, 1, 2].map(|player| Peer::new(&net, player, 3, 9));
    run_to(&net, &mut peers, 200);
    assert!(peers.iter().all(|peer| peer.reports.is_empty()));
}

#[test]
fn packets_that_overtake_each_other_do_no_harm() {
    let conditions = Conditions {
        latency: Duration::from_millis(80),
        jitter: Duration::from_millis(80),
        duplicates: 0.5,
        ..Conditions::default()
    };
    let net = Net::new(conditions);
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 5));
    run_to(&net, &mut peers, 300);
    assert!(peers.iter().all(|peer| peer.reports.is_empty()));
}
