//! Packets that are not what they seem to be.

use crate::kit::{Net, Peer, address, bad, run_to};
use phalanx_ggrs::Datagrams;

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
