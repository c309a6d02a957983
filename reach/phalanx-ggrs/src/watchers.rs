//! [`Watchers`]: the spectators of a game, who get the confirmed inputs.

use crate::Input;
use crate::channel::Channel;
use crate::message::PeerMessage;
use phalanx_rollback::Rollback;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The number of frames whose inputs are kept for spectators. One that is further behind is dropped.
const MOST_FRAMES: usize = 16_384;
/// The number of packets to a spectator that are on their way, beyond which inputs wait.
const MOST_BACKLOG: usize = 256;
/// Spectators get the sum of each frame whose number is a multiple of it.
const INTERVAL: u64 = 10;

/// The spectators, and the inputs of the last frames.
#[derive(Debug)]
pub(crate) struct Watchers<I> {
    /// The address of each spectator, and the frame whose inputs it gets next.
    list: Vec<(SocketAddr, u64)>,
    /// The number of the first frame of `inputs`.
    first: u64,
    inputs: VecDeque<Vec<Option<I>>>,
}

impl<I> Default for Watchers<I> {
    fn default() -> Self {
        Watchers { list: Vec::new(), first: 0, inputs: VecDeque::new() }
    }
}

impl<I: Input> Watchers<I> {
    /// Returns `true` if a spectator has this address.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        self.list.iter().any(|(other, _)| *other == address)
    }

    /// Adds a spectator that has the state of a frame.
    pub(crate) fn add(&mut self, address: SocketAddr, frame: u64) {
        self.list.retain(|(other, _)| *other != address);
        self.list.push((address, frame));
    }

    /// Sets the inputs of a frame, which replace those of an earlier simulation. Later ones are dropped.
    pub(crate) fn set_inputs(&mut self, frame: u64, inputs: Vec<Option<I>>) {
        if self.inputs.is_empty() || frame < self.first || frame > self.first + self.inputs.len() as u64 {
            self.inputs.clear();
            self.first = frame;
        }
        self.truncate(frame);
        self.inputs.push_back(inputs);
        if self.inputs.len() > MOST_FRAMES {
            self.inputs.pop_front();
            self.first += 1;
        }
    }

    /// Drops the inputs from a frame on.
    pub(crate) fn truncate(&mut self, frame: u64) {
        self.inputs.truncate(frame.saturating_sub(self.first) as usize);
    }

    /// Sends the inputs of the frames before `confirmed` that a spectator does not have.
    pub(crate) fn send(&mut self, channel: &mut Channel, confirmed: u64, game: &Rollback) {
        let (first, inputs) = (self.first, &self.inputs);
        // One that is too far behind cannot follow any more.
        self.list.retain(|(address, next)| {
            if *next < first {
                channel.remove_peer(*address);
            }
            *next >= first
        });
        for (address, next) in &mut self.list {
            while *next < confirmed && channel.backlog(*address) < MOST_BACKLOG {
                // A message ends with a frame whose sum is sent.
                let end = confirmed.min((*next / INTERVAL + 1) * INTERVAL);
                let frames = (*next..end).map_while(|frame| inputs.get(usize::try_from(frame - first).ok()?));
                let encoded: Vec<_> = frames.map_while(|inputs| postcard::to_allocvec(inputs).ok()).collect();
                if encoded.is_empty() {
                    break;
                }
                let last = *next + encoded.len() as u64;
                let sum = game.sums_of(last).filter(|_| last.is_multiple_of(INTERVAL)).map(|sums| sums.world());
                let message = PeerMessage::Inputs { first: *next, inputs: encoded, sum };
                channel.send(*address, &message.to_bytes());
                *next = last;
            }
        }
    }
}
