//! [`Conditioned`]: packets over a network that is worse than it is.

use crate::clock::Clock;
use crate::datagrams::{Datagrams, LARGEST_PACKET};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// How bad a simulated network is. The default is a perfect one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The time that a packet takes.
    pub latency: Duration,
    /// By how much the time may be shorter or longer. So packets overtake each other.
    pub jitter: Duration,
    /// The share of packets that get lost, from 0 to 1.
    pub loss: f64,
    /// The share of packets that arrive twice, from 0 to 1.
    pub duplicates: f64,
    /// Determines which packets. Equal seeds give equal results for equal packets.
    pub seed: u64,
}

/// Delays, loses and repeats the packets that are sent.
///
/// ```
/// use phalanx_ggrs::{Clock, Conditioned, Conditions, Datagrams, MemoryNetwork};
/// use std::time::Duration;
///
/// let network = MemoryNetwork::new();
/// let [a, b] = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
/// let clock = Clock::manual();
/// let conditions = Conditions { latency: Duration::from_millis(100), ..Conditions::default() };
/// let mut first = Conditioned::new(network.endpoint(a), conditions, clock.clone());
/// let mut second = network.endpoint(b);
/// first.send(b, b"hello");
/// let mut buffer = [0; 16];
/// assert_eq!(second.receive(&mut buffer), None);
/// clock.advance(Duration::from_millis(100));
/// // What is due is sent by the next call.
/// first.receive(&mut buffer);
/// assert_eq!(second.receive(&mut buffer), Some((a, 5)));
/// ```
pub struct Conditioned<D> {
    inner: D,
    conditions: Conditions,
    clock: Clock,
    random: u64,
    /// The packets that are on their way, by the time when they are due and a number.
    delayed: BTreeMap<(Duration, u64), (SocketAddr, Vec<u8>)>,
    sent: u64,
}

impl<D: Datagrams> Conditioned<D> {
    /// The number of packets that are on their way at most. More are lost.
    const MOST: usize = 65_536;

    /// Creates a bad network over another one.
    pub fn new(inner: D, conditions: Conditions, clock: Clock) -> Conditioned<D> {
        let random = conditions.seed ^ 0x9E37_79B9_7F4A_7C15;
        Conditioned { inner, conditions, clock, random, delayed: BTreeMap::new(), sent: 0 }
    }

    /// Returns a number from 0 to 1.
    fn random(&mut self) -> f64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut n = self.random;
        n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (n ^ n >> 31) as f64 / u64::MAX as f64
    }

    /// Sends the packets that are due.
    fn send_due(&mut self) {
        let now = self.clock.now();
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, packet) = entry.remove();
            self.inner.send(to, &packet);
        }
    }
}

impl<D: Datagrams> Datagrams for Conditioned<D> {
    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        let now = self.clock.now();
        let copies = if self.random() < self.conditions.duplicates { 2 } else { 1 };
        for _ in 0..copies {
            if self.random() < self.conditions.loss || self.delayed.len() >= Self::MOST {
                continue;
            }
            let jitter = self.conditions.jitter.mul_f64(2.0 * self.random());
            let due = (now + self.conditions.latency + jitter).saturating_sub(self.conditions.jitter);
            self.sent += 1;
            self.delayed.insert((due.max(now), self.sent), (to, packet[..packet.len().min(LARGEST_PACKET)].to_vec()));
        }
        self.send_due();
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        self.send_due();
        self.inner.receive(buffer)
    }
}

impl<D> fmt::Debug for Conditioned<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conditioned({:?}, {} packets on their way)", self.conditions, self.delayed.len())
    }
}
