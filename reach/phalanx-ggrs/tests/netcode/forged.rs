//! Packets that are not what they seem to be.

use crate::game;
use crate::kit::{Net, Peer, address, bad, run_to, tick};
use phalanx_ggrs::{Conditions, Datagrams, Driver, HISTORY, Roster, Socket};
use phalanx_rollback::Rollback;
use std::net::SocketAddr;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

/// Bytes that begin as those of a packet do.
fn forge(random: &mut Random) -> Vec<u8> {
    let len = random.next() % 60;
    let mut packet: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
    if let Some(tag) = packet.first_mut() {
        *tag = [1, 0x40, 0x41, 0, 0xFF][random.next() as usize % 5];
    }
    packet
}

#[test]
fn packets_of_strangers_do_no_harm() {
    let net = Net::new(bad(1));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 1));
    let mut random = Random(7);
    let mut strangers: Vec<_> = (40..60).map(|port| net.memory.endpoint(address(port))).collect();
    let mut to = 50;
    while to <= 200 {
        for _ in 0..500 {
            let at = random.next() as usize % strangers.len();
            strangers[at].send(address(random.next() as usize % 2), &forge(&mut random));
        }
        run_to(&net, &mut peers, to);
        to += 50;
    }
    assert!(peers.iter().all(|peer| peer.reports.is_empty() && peer.restarts == 0));
    assert!(peers[0].socket.rejected() > 100);
}

#[test]
fn packets_in_the_name_of_a_player_do_no_harm() {
    // The messages of ggrs have a number of 16 bits that a forger does not know. Those of the channel are answered with a new
    // stream at most.
    let net = Net::new(bad(2));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 2));
    run_to(&net, &mut peers, 20);
    let mut random = Random(3);
    let mut forger = net.memory.endpoint(address(1));
    for to in [60, 100, 140] {
        for _ in 0..2000 {
            forger.send(address(0), &forge(&mut random));
        }
        run_to(&net, &mut peers, to);
    }
    assert!(peers.iter().all(|peer| peer.reports.is_empty() && peer.restarts == 0));
    assert!(peers[0].socket.rejected() > 100);
}

/// Changes a bit in one of twenty messages of ggrs, behind the number that identifies the sender.
struct Corrupt<D>(D, Random);

impl<D: Datagrams> Datagrams for Corrupt<D> {
    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        let mut packet = packet.to_vec();
        if packet[0] >= 0x40 && packet.len() > 4 && self.1.next().is_multiple_of(20) {
            let at = 4 + self.1.next() as usize % (packet.len() - 4);
            packet[at] ^= 1 << (self.1.next() % 8);
        }
        self.0.send(to, &packet);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        self.0.receive(buffer)
    }
}

#[test]
fn messages_of_a_player_that_are_changed_do_not_panic() {
    let mut rejected = 0;
    for seed in 0..16 {
        let net = Net::new(Conditions::default());
        let mut peers = [0, 1].map(|player| {
            let datagrams = Corrupt(net.memory.endpoint(address(player)), Random(seed * 2 + player as u64));
            let socket = Socket::over(datagrams, net.clock.clone());
            let roster = Roster::new((0..2).map(|other| (other != player).then(|| address(other))));
            let game = Rollback::new(game::new_world(seed), HISTORY).unwrap();
            let driver = Driver::new(&socket, roster.clone(), &game);
            Peer::with(socket, roster, driver, game, seed)
        });
        // An input or a checksum that was changed may make the worlds differ, or end the session.
        (0..300).for_each(|_| tick(&net, &mut peers));
        rejected += peers.iter().map(|peer| peer.socket.rejected()).sum::<u64>();
    }
    assert!(rejected > 100, "{rejected}");
}
