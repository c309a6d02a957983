//! [`Socket`]: one port for the packets of ggrs and those of this crate.
//!
//! # Packets
//!
//! The first byte is the tag. [`CHANNEL`] says that a packet is one of the [channel](crate::channel). A byte from [`SESSION`] on
//! says that it is a message of ggrs, and has the number of the session modulo 64. So messages that a former session has sent
//! do not reach the next one, which would take their inputs for its own.

use crate::clock::Clock;
use crate::conditioned::{Conditioned, Conditions};
use crate::datagrams::{Datagrams, LARGEST_PACKET};
use crate::guard::Guard;
use ggrs::{Message, NonBlockingSocket};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tag of the packets of the channel.
const CHANNEL: u8 = 1;
/// The tag of the messages of the first session.
const SESSION: u8 = 0x40;
/// The number of packets that are received at once, at most.
const MOST_AT_ONCE: usize = 1024;
/// The number of packets of the channel that wait, at most.
const MOST_WAITING: usize = 4096;
/// The number of addresses that are remembered, at most.
const MOST_PEERS: usize = 256;

/// A socket that ggrs and the [`Driver`](crate::Driver) share. Clones are the same socket.
///
/// Give a clone to each session. Packets that are too large, that cannot be read, or that would make ggrs allocate or compute
/// without bounds are dropped, and [counted](Socket::rejected).
///
/// ```
/// use phalanx_ggrs::Socket;
///
/// let socket = Socket::bind("127.0.0.1:0")?;
/// assert!(socket.address().unwrap().port() > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Socket(Arc<Mutex<Inner>>);

struct Inner {
    datagrams: Box<dyn Datagrams>,
    address: Option<SocketAddr>,
    clock: Clock,
    /// The number of the session.
    session: u32,
    messages: Vec<(SocketAddr, Message)>,
    packets: VecDeque<(SocketAddr, Vec<u8>)>,
    guards: HashMap<SocketAddr, Guard>,
    rejected: u64,
}

impl Socket {
    /// Binds a UDP socket to an address.
    ///
    /// # Errors
    ///
    /// Returns an error of the operating system, for example that the port is taken.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Socket> {
        Socket::bind_conditioned(address, None)
    }

    /// Binds a UDP socket that delays and loses packets, to try a game under bad conditions.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`bind`](Socket::bind).
    pub fn bind_conditioned(
        address: impl ToSocketAddrs,
        conditions: impl Into<Option<Conditions>>,
    ) -> io::Result<Socket> {
        let udp = UdpSocket::bind(address)?;
        udp.set_nonblocking(true)?;
        let (address, clock) = (udp.local_addr()?, Clock::machine());
        let datagrams: Box<dyn Datagrams> = match conditions.into() {
            Some(conditions) => Box::new(Conditioned::new(udp, conditions, clock.clone())),
            None => Box::new(udp),
        };
        Ok(Socket::with(datagrams, Some(address), clock))
    }

    /// Creates a socket over any network. The clock tells when packets are sent again.
    pub fn over(datagrams: impl Datagrams + 'static, clock: Clock) -> Socket {
        Socket::with(Box::new(datagrams), None, clock)
    }

    fn with(datagrams: Box<dyn Datagrams>, address: Option<SocketAddr>, clock: Clock) -> Socket {
        Socket(Arc::new(Mutex::new(Inner {
            datagrams,
            address,
            clock,
            session: 0,
            messages: Vec::new(),
            packets: VecDeque::new(),
            guards: HashMap::new(),
            rejected: 0,
        })))
    }

    /// Returns the address that the socket is bound to, if it is one of UDP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.lock().address
    }

    /// Returns the number of packets that were dropped because they are not valid.
    pub fn rejected(&self) -> u64 {
        self.lock().rejected
    }

    /// Returns the clock.
    pub(crate) fn clock(&self) -> Clock {
        self.lock().clock.clone()
    }

    /// Sets the number of the session. Messages of other sessions are dropped from now on.
    pub(crate) fn set_session(&self, number: u32) {
        let mut inner = self.lock();
        inner.session = number;
        inner.messages.clear();
        inner.guards.clear();
    }

    /// Sends a packet of the channel.
    pub(crate) fn send_packet(&self, to: SocketAddr, packet: &[u8]) {
        let mut bytes = Vec::with_capacity(packet.len() + 1);
        bytes.push(CHANNEL);
        bytes.extend_from_slice(packet);
        self.lock().datagrams.send(to, &bytes);
    }

    /// Receives the packets of the channel.
    pub(crate) fn receive_packets(&self) -> VecDeque<(SocketAddr, Vec<u8>)> {
        let mut inner = self.lock();
        inner.receive();
        std::mem::take(&mut inner.packets)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Receives what has arrived, and sorts it by tag.
    fn receive(&mut self) {
        // One byte more than is allowed, to see what is too large.
        let mut buffer = [0; LARGEST_PACKET + 1];
        for _ in 0..MOST_AT_ONCE {
            let Some((from, len)) = self.datagrams.receive(&mut buffer) else { return };
            if !self.sort(from, &buffer[..len]) {
                self.rejected += 1;
            }
        }
    }

    /// Takes a packet. Returns `false` if it is not valid.
    fn sort(&mut self, from: SocketAddr, packet: &[u8]) -> bool {
        match packet.split_first() {
            Some(_) if packet.len() > LARGEST_PACKET => false,
            Some((&CHANNEL, rest)) if self.packets.len() < MOST_WAITING => {
                self.packets.push_back((from, rest.to_vec()));
                true
            }
            Some((tag, rest)) if *tag == session_tag(self.session) => {
                let is_known = self.guards.contains_key(&from);
                if (!is_known && self.guards.len() >= MOST_PEERS) || self.messages.len() >= MOST_WAITING {
                    return false;
                }
                match self.guards.entry(from).or_default().read(rest) {
                    Some(message) => self.messages.push((from, message)),
                    None => return false,
                }
                true
            }
            // A message of another session is late, which is not an error.
            Some((tag, _)) => *tag >= SESSION && *tag < SESSION + 64,
            None => false,
        }
    }
}

/// Returns the tag of the messages of a session.
fn session_tag(number: u32) -> u8 {
    SESSION + (number % 64) as u8
}

impl NonBlockingSocket<SocketAddr> for Socket {
    fn send_to(&mut self, message: &Message, to: &SocketAddr) {
        let mut inner = self.lock();
        let tag = session_tag(inner.session);
        let Ok(bytes) = postcard::to_extend(message, vec![tag]) else { return };
        if bytes.len() > LARGEST_PACKET {
            return;
        }
        if inner.guards.len() < MOST_PEERS || inner.guards.contains_key(to) {
            inner.guards.entry(*to).or_default().sent(&bytes[1..]);
        }
        inner.datagrams.send(*to, &bytes);
    }

    fn receive_all_messages(&mut self) -> Vec<(SocketAddr, Message)> {
        let mut inner = self.lock();
        inner.receive();
        std::mem::take(&mut inner.messages)
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        match inner.address {
            Some(address) => write!(f, "Socket({address}, session {})", inner.session),
            None => write!(f, "Socket(session {})", inner.session),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagrams::MemoryNetwork;

    #[test]
    fn only_packets_of_the_session_and_the_channel_are_taken() {
        let network = MemoryNetwork::new();
        let [ours, theirs]: [SocketAddr; 2] = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        let mut socket = Socket::over(network.endpoint(ours), Clock::manual());
        let mut peer = network.endpoint(theirs);
        // A keep-alive message: its header, and the number of the variant.
        let keep_alive = [5, 7];
        peer.send(ours, &[[SESSION].as_slice(), &keep_alive].concat());
        peer.send(ours, &[[SESSION + 1].as_slice(), &keep_alive].concat());
        peer.send(ours, &[CHANNEL, 9, 9]);
        assert_eq!((socket.receive_all_messages().len(), socket.receive_packets().len()), (1, 1));
        assert_eq!(socket.rejected(), 0);
        for forged in [&[][..], &[0], &[2, 1], &[SESSION], &[SESSION, 5, 8], &[SESSION, 5, 7, 0], &[0xFF; 1473]] {
            peer.send(ours, forged);
        }
        assert_eq!((socket.receive_all_messages().len(), socket.receive_packets().len()), (0, 0));
        assert_eq!(socket.rejected(), 7);
        // The next session takes other messages.
        socket.set_session(1);
        peer.send(ours, &[[SESSION].as_slice(), &keep_alive].concat());
        peer.send(ours, &[[SESSION + 1].as_slice(), &keep_alive].concat());
        assert_eq!(socket.receive_all_messages().len(), 1);
    }
}
