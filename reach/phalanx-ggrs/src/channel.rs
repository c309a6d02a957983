//! [`Channel`]: messages that arrive once, whole and in order, over packets that may not.
//!
//! # Packets
//!
//! Numbers are little-endian. A data packet has the kind [`DATA`], the number of the stream (8 bytes), the number of the fragment
//! (4), whether it is the last one of its message (1), and at most [`FRAGMENT`] bytes. An acknowledgement has the kind
//! [`ACKNOWLEDGE`], the number of the stream, the number of the first fragment that is missing, and a bit for each of the 64
//! fragments after it.
//!
//! The number of a stream is the time of its creation. A later stream of a peer replaces the earlier one, so that a program
//! can be started again.
//!
//! # Bounds
//!
//! A sender has at most [`WINDOW`] fragments on their way. A receiver keeps as many, and a message of at most
//! [`LARGEST_MESSAGE`] bytes. A stranger, who is not one of the peers that were named, may send messages of one fragment only. There are at most
//! [`MOST_STRANGERS`] of them. One that was silent for [`SILENCE`] is forgotten.

use crate::clock::Clock;
use crate::socket::Socket;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

const DATA: u8 = 0;
const ACKNOWLEDGE: u8 = 1;
/// The number of bytes of a fragment, at most.
const FRAGMENT: usize = 1200;
/// The number of fragments that are on their way, at most.
const WINDOW: u32 = 128;
/// The number of bytes of a message, at most.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 20;
const MOST_STRANGERS: usize = 16;
const SILENCE: Duration = Duration::from_secs(10);
/// The time until a fragment is sent again, before the round trip is known.
const FIRST_TIMEOUT: Duration = Duration::from_millis(250);

/// Messages from and to several peers.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: Socket,
    clock: Clock,
    /// The number of the last stream to a peer.
    stream: u64,
    peers: HashMap<SocketAddr, Peer>,
}

#[derive(Debug)]
struct Peer {
    is_stranger: bool,
    last_heard: Duration,
    sender: Sender,
    receiver: Receiver,
}

/// The fragments that were not acknowledged yet.
#[derive(Debug, Default)]
struct Sender {
    /// The number of the stream.
    stream: u64,
    /// The number of the first fragment of the queue.
    first: u32,
    queue: VecDeque<Fragment>,
    /// The smoothed time of a round trip.
    round_trip: Option<Duration>,
}

#[derive(Debug)]
struct Fragment {
    bytes: Vec<u8>,
    is_last: bool,
    is_acknowledged: bool,
    /// When it was sent last, and how often.
    sent: Option<(Duration, u32)>,
}

/// The fragments that arrived.
#[derive(Debug, Default)]
struct Receiver {
    /// The number of the stream of the peer.
    stream: u64,
    /// The number of the first fragment that is missing.
    next: u32,
    /// Later fragments.
    early: BTreeMap<u32, (bool, Vec<u8>)>,
    message: Vec<u8>,
}

impl Peer {
    fn new(is_stranger: bool, now: Duration, stream: u64) -> Peer {
        let sender = Sender { stream, ..Sender::default() };
        Peer { is_stranger, last_heard: now, sender, receiver: Receiver::default() }
    }
}

impl Channel {
    pub(crate) fn new(socket: &Socket) -> Channel {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Channel { socket: socket.clone(), clock: socket.clock(), stream: now.as_nanos() as u64, peers: HashMap::new() }
    }

    /// Names a peer, which may send messages of any size.
    pub(crate) fn add_peer(&mut self, address: SocketAddr) {
        self.peer(address, false).is_stranger = false;
    }

    /// Returns a peer, which is new if it is not known yet.
    fn peer(&mut self, address: SocketAddr, is_stranger: bool) -> &mut Peer {
        let (now, stream) = (self.clock.now(), &mut self.stream);
        self.peers.entry(address).or_insert_with(|| {
            // One that was forgotten gets another stream.
            *stream += 1;
            Peer::new(is_stranger, now, *stream)
        })
    }

    /// Returns the number of fragments to a peer that have not arrived yet.
    pub(crate) fn backlog(&self, address: SocketAddr) -> usize {
        self.peers.get(&address).map_or(0, |peer| peer.sender.queue.len())
    }

    /// Forgets a peer.
    pub(crate) fn remove_peer(&mut self, address: SocketAddr) {
        self.peers.remove(&address);
    }

    /// Sends a message. It goes out with the next [`poll`](Channel::poll).
    pub(crate) fn send(&mut self, to: SocketAddr, message: &[u8]) {
        let peer = self.peer(to, false);
        let count = message.len().div_ceil(FRAGMENT).max(1);
        for at in 0..count {
            let bytes = message[at * FRAGMENT..message.len().min((at + 1) * FRAGMENT)].to_vec();
            let is_last = at + 1 == count;
            peer.sender.queue.push_back(Fragment { bytes, is_last, is_acknowledged: false, sent: None });
        }
    }

    /// Receives packets and sends what is due. Returns the messages that are complete, each with its sender.
    pub(crate) fn poll(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let now = self.clock.now();
        self.peers.retain(|_, peer| !peer.is_stranger || peer.last_heard + SILENCE > now);
        let (mut messages, mut heard) = (Vec::new(), Vec::new());
        for (from, packet) in self.socket.receive_packets() {
            if self.take_packet(from, &packet, now, &mut messages) && !heard.contains(&from) {
                heard.push(from);
            }
        }
        for address in heard {
            if let Some(peer) = self.peers.get(&address) {
                self.socket.send_packet(address, &peer.receiver.acknowledgement());
            }
        }
        for (address, peer) in &mut self.peers {
            let stream = peer.sender.stream;
            peer.sender.send_due(now, |number, fragment| {
                let mut packet = Vec::with_capacity(14 + fragment.bytes.len());
                packet.push(DATA);
                packet.extend_from_slice(&stream.to_le_bytes());
                packet.extend_from_slice(&number.to_le_bytes());
                packet.push(u8::from(fragment.is_last));
                packet.extend_from_slice(&fragment.bytes);
                self.socket.send_packet(*address, &packet);
            });
        }
        messages
    }

    /// Takes a packet. Returns `true` if it is to be acknowledged.
    fn take_packet(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        now: Duration,
        messages: &mut Vec<(SocketAddr, Vec<u8>)>,
    ) -> bool {
        let Some((kind, rest)) = packet.split_first() else { return false };
        let Some((stream, rest)) = rest.split_first_chunk::<8>() else { return false };
        let Some((number, rest)) = rest.split_first_chunk::<4>() else { return false };
        let (stream, number) = (u64::from_le_bytes(*stream), u32::from_le_bytes(*number));
        match *kind {
            DATA => {
                let Some((is_last, bytes)) = rest.split_first().filter(|(is_last, _)| **is_last < 2) else {
                    return false;
                };
                if bytes.len() > FRAGMENT {
                    return false;
                }
                if !self.peers.contains_key(&from) {
                    let strangers = self.peers.values().filter(|peer| peer.is_stranger).count();
                    if strangers >= MOST_STRANGERS || number != 0 {
                        return false;
                    }
                }
                let peer = self.peer(from, true);
                // A stranger has no message that does not fit.
                if peer.is_stranger && *is_last == 0 {
                    return false;
                }
                peer.last_heard = now;
                if peer.receiver.stream != 0 && stream > peer.receiver.stream {
                    // The peer has started again, and knows nothing of what it was sent.
                    peer.sender = Sender { stream: peer.sender.stream + 1, ..Sender::default() };
                }
                peer.receiver.take(stream, number, *is_last == 1, bytes, |message| messages.push((from, message)))
            }
            ACKNOWLEDGE => {
                let Some(peer) = self.peers.get_mut(&from).filter(|peer| stream == peer.sender.stream) else {
                    return false;
                };
                let Ok(bits) = <[u8; 8]>::try_from(rest) else { return false };
                peer.last_heard = now;
                peer.sender.acknowledge(number, u64::from_le_bytes(bits), now);
                false
            }
            _ => false,
        }
    }
}

impl Sender {
    /// Returns the time after which a fragment is sent again.
    fn timeout(&self) -> Duration {
        match self.round_trip {
            Some(round_trip) => (round_trip * 3 / 2).clamp(Duration::from_millis(10), Duration::from_secs(1)),
            None => FIRST_TIMEOUT,
        }
    }

    fn send_due(&mut self, now: Duration, mut send: impl FnMut(u32, &Fragment)) {
        let timeout = self.timeout();
        for (number, fragment) in (self.first..).zip(self.queue.iter_mut().take(WINDOW as usize)) {
            let is_due = fragment.sent.is_none_or(|(last, _)| last + timeout <= now);
            if is_due && !fragment.is_acknowledged {
                fragment.sent = Some((now, fragment.sent.map_or(1, |(_, times)| times.saturating_add(1))));
                send(number, fragment);
            }
        }
    }

    /// Removes the fragments before `next`, and those after it whose bits are set.
    fn acknowledge(&mut self, next: u32, bits: u64, now: Duration) {
        let mut measure = |fragment: &Fragment| {
            // The time of a fragment that was sent twice does not tell which one arrived.
            if let Some((sent, 1)) = fragment.sent.filter(|_| !fragment.is_acknowledged) {
                let sample = now.saturating_sub(sent);
                self.round_trip = Some(self.round_trip.map_or(sample, |old| (old * 7 + sample) / 8));
            }
        };
        let count = next.wrapping_sub(self.first) as usize;
        if count > self.queue.len() {
            return;
        }
        self.queue.drain(..count).for_each(|fragment| measure(&fragment));
        self.first = next;
        for (at, fragment) in self.queue.iter_mut().enumerate().skip(1).take(64) {
            if bits & 1 << (at - 1) != 0 {
                measure(fragment);
                fragment.is_acknowledged = true;
            }
        }
    }
}

impl Receiver {
    /// Takes a fragment. Returns `true` if the fragment is to be acknowledged.
    fn take(
        &mut self,
        stream: u64,
        number: u32,
        is_last: bool,
        bytes: &[u8],
        mut complete: impl FnMut(Vec<u8>),
    ) -> bool {
        if stream > self.stream {
            *self = Receiver { stream, ..Receiver::default() };
        }
        if stream < self.stream {
            return false;
        }
        let ahead = number.wrapping_sub(self.next);
        if ahead < WINDOW {
            self.early.entry(number).or_insert_with(|| (is_last, bytes.to_vec()));
        }
        while let Some((is_last, bytes)) = self.early.remove(&self.next) {
            if self.message.len() + bytes.len() > LARGEST_MESSAGE {
                // The stream cannot go on: nothing of it is acknowledged any more.
                self.early.insert(self.next, (is_last, bytes));
                return false;
            }
            self.next = self.next.wrapping_add(1);
            self.message.extend_from_slice(&bytes);
            if is_last {
                complete(std::mem::take(&mut self.message));
            }
        }
        true
    }

    fn acknowledgement(&self) -> Vec<u8> {
        let bits = (0..64).filter(|bit| self.early.contains_key(&self.next.wrapping_add(bit + 1)));
        let bits = bits.fold(0_u64, |bits, bit| bits | 1 << bit);
        let mut packet = vec![ACKNOWLEDGE];
        packet.extend_from_slice(&self.stream.to_le_bytes());
        packet.extend_from_slice(&self.next.to_le_bytes());
        packet.extend_from_slice(&bits.to_le_bytes());
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditioned::{Conditioned, Conditions};
    use crate::datagrams::{Datagrams, MemoryNetwork};

    fn addresses() -> [SocketAddr; 2] {
        ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap())
    }

    #[test]
    fn messages_arrive_once_whole_and_in_order() {
        for seed in 0..20 {
            let (network, clock) = (MemoryNetwork::new(), Clock::manual());
            let conditions = Conditions {
                latency: Duration::from_millis(50),
                jitter: Duration::from_millis(40),
                loss: 0.2,
                duplicates: 0.1,
                seed,
            };
            let mut channels = addresses().map(|address| {
                let datagrams = Conditioned::new(network.endpoint(address), conditions, clock.clone());
                Channel::new(&Socket::over(datagrams, clock.clone()))
            });
            let [a, b] = addresses();
            channels[0].add_peer(b);
            channels[1].add_peer(a);
            let mut sent = [Vec::new(), Vec::new()];
            let mut received = [Vec::new(), Vec::new()];
            for step in 0..3000 {
                if step < 40 {
                    for (at, to) in [(0, b), (1, a)] {
                        let len = (step * 977 + at * 13 + seed as usize) % 20_000;
                        let message: Vec<u8> = (0..len).map(|n| (n * 31 + step) as u8).collect();
                        channels[at].send(to, &message);
                        sent[at].push(message);
                    }
                }
                for at in 0..2 {
                    let messages = channels[at].poll();
                    received[1 - at].extend(messages.into_iter().map(|(_, message)| message));
                }
                clock.advance(Duration::from_millis(10));
            }
            assert!(received == sent, "seed {seed}");
            assert!(channels.iter().all(|channel| channel.peers.values().all(|peer| peer.sender.queue.is_empty())));
        }
    }

    #[test]
    fn a_stranger_sends_short_messages_only() {
        let (network, clock) = (MemoryNetwork::new(), Clock::manual());
        let [a, b] = addresses();
        let mut ours = Channel::new(&Socket::over(network.endpoint(a), clock.clone()));
        let mut theirs = Channel::new(&Socket::over(network.endpoint(b), clock.clone()));
        theirs.send(a, b"may I join?");
        theirs.send(a, &[7; 100_000]);
        let mut received = Vec::new();
        for _ in 0..100 {
            theirs.poll();
            received.extend(ours.poll());
            clock.advance(Duration::from_millis(50));
        }
        assert_eq!(received, [(b, b"may I join?".to_vec())]);
        // One who is a peer may send more.
        ours.add_peer(b);
        for _ in 0..100 {
            theirs.poll();
            received.extend(ours.poll());
            clock.advance(Duration::from_millis(50));
        }
        assert_eq!(received[1].1, [7; 100_000]);
    }

    #[test]
    fn strangers_are_bounded_and_forgotten() {
        let (network, clock) = (MemoryNetwork::new(), Clock::manual());
        let [a, _] = addresses();
        let mut ours = Channel::new(&Socket::over(network.endpoint(a), clock.clone()));
        for port in 100..1100 {
            let address: SocketAddr = ([127, 0, 0, 1], port).into();
            let mut channel = Channel::new(&Socket::over(network.endpoint(address), clock.clone()));
            channel.send(a, b"hello");
            channel.poll();
        }
        assert_eq!(ours.poll().len(), MOST_STRANGERS);
        assert_eq!(ours.peers.len(), MOST_STRANGERS);
        clock.advance(SILENCE);
        ours.poll();
        assert!(ours.peers.is_empty());
    }

    #[test]
    fn forged_packets_are_ignored() {
        let (network, clock) = (MemoryNetwork::new(), Clock::manual());
        let [a, b] = addresses();
        let mut ours = Channel::new(&Socket::over(network.endpoint(a), clock.clone()));
        ours.add_peer(b);
        ours.send(b, &[5; 5000]);
        let mut forger = network.endpoint(b);
        let mut random = 1_u64;
        for round in 0..20_000_u64 {
            let mut packet = vec![1, (round % 3) as u8];
            packet.extend_from_slice(&if round % 2 == 0 { ours.peers[&b].sender.stream } else { round }.to_le_bytes());
            for _ in 0..round % 20 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                packet.push((random >> 40) as u8);
            }
            forger.send(a, &packet);
            ours.poll();
            let peer = &ours.peers[&b];
            assert!(peer.receiver.early.len() <= WINDOW as usize && peer.sender.queue.len() <= 5);
        }
    }

    #[test]
    fn a_program_that_starts_again_is_heard() {
        let (network, clock) = (MemoryNetwork::new(), Clock::manual());
        let [a, b] = addresses();
        let mut ours = Channel::new(&Socket::over(network.endpoint(a), clock.clone()));
        ours.add_peer(b);
        for round in 0..3_u8 {
            let mut theirs = Channel::new(&Socket::over(network.endpoint(b), clock.clone()));
            theirs.stream = u64::from(round) * 10 + 1;
            theirs.send(a, &[round]);
            theirs.poll();
            assert_eq!(ours.poll(), [(b, vec![round])]);
            ours.send(b, &[round; 3]);
            ours.poll();
            assert_eq!(theirs.poll(), [(a, vec![round; 3])]);
            ours.poll();
        }
    }
}
