//! [`Datagrams`]: what sends and receives packets.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest packet that is sent or received.
pub const LARGEST_PACKET: usize = 1472;

/// Sends and receives packets, which may get lost, arrive twice, or in another order.
pub trait Datagrams: Send + Sync {
    /// Sends a packet. A packet that cannot be sent is lost.
    fn send(&mut self, to: SocketAddr, packet: &[u8]);

    /// Receives a packet into `buffer`, without waiting. Returns the sender and the number of bytes.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)>;
}

impl Datagrams for Box<dyn Datagrams> {
    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        (**self).send(to, packet);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        (**self).receive(buffer)
    }
}

impl Datagrams for UdpSocket {
    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        // A full buffer is a lost packet: everything that matters is sent again.
        let _ = self.send_to(packet, to);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        // A closed port of a peer is reported as an error of the next call. There may be packets after it.
        for _ in 0..64 {
            match self.recv_from(buffer) {
                Ok((len, from)) => return Some((from, len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => {}
            }
        }
        None
    }
}

/// A network in memory, for tests. Its [endpoints](MemoryNetwork::endpoint) exchange packets in order, without loss.
///
/// [`Conditioned`](crate::Conditioned) adds latency and loss.
///
/// ```
/// use phalanx_ggrs::{Datagrams, MemoryNetwork};
///
/// let network = MemoryNetwork::new();
/// let [a, b] = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
/// let (mut first, mut second) = (network.endpoint(a), network.endpoint(b));
/// first.send(b, b"hello");
/// let mut buffer = [0; 16];
/// assert_eq!(second.receive(&mut buffer), Some((a, 5)));
/// assert_eq!(second.receive(&mut buffer), None);
/// ```
#[derive(Clone, Default)]
pub struct MemoryNetwork(Arc<Mutex<VecDeque<MemoryPacket>>>);

/// A packet on its way.
struct MemoryPacket {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// An address of a [`MemoryNetwork`].
#[derive(Debug)]
pub struct MemoryEndpoint {
    network: MemoryNetwork,
    address: SocketAddr,
}

impl MemoryNetwork {
    /// The number of packets that wait at most. More are lost.
    const MOST: usize = 65_536;

    /// Creates a network without endpoints.
    pub fn new() -> MemoryNetwork {
        MemoryNetwork::default()
    }

    /// Returns an endpoint with an address.
    pub fn endpoint(&self, address: SocketAddr) -> MemoryEndpoint {
        MemoryEndpoint { network: self.clone(), address }
    }
}

impl fmt::Debug for MemoryNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryNetwork({} packets)", self.0.lock().unwrap_or_else(PoisonError::into_inner).len())
    }
}

impl Datagrams for MemoryEndpoint {
    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        let mut packets = self.network.0.lock().unwrap_or_else(PoisonError::into_inner);
        if packets.len() < MemoryNetwork::MOST {
            packets.push_back(MemoryPacket { from: self.address, to, bytes: packet.to_vec() });
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<(SocketAddr, usize)> {
        let mut packets = self.network.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = packets.iter().position(|packet| packet.to == self.address)?;
        let packet = packets.remove(at)?;
        let len = packet.bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&packet.bytes[..len]);
        Some((packet.from, len))
    }
}
