//! [`Spectator`]: follows a game by the confirmed inputs of its players.

use crate::Input;
use crate::channel::Channel;
use crate::error::NetcodeError;
use crate::message::PeerMessage;
use crate::report::DesyncReport;
use crate::socket::Socket;
use crate::walk::Walk;
use phalanx::World;
use phalanx_rollback::Rollback;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

/// The number of frames that wait to be simulated, at most.
const MOST_WAITING: usize = 65_536;

/// Follows a game by the confirmed inputs of its players. See [`Joining::spectator`](crate::Joining::spectator).
pub struct Spectator<I> {
    channel: Channel,
    host: SocketAddr,
    /// Messages that have arrived before.
    early: Vec<PeerMessage>,
    /// The frame of the first of `inputs`.
    next: u64,
    inputs: VecDeque<Vec<Option<I>>>,
    /// The sums that the host has told, by frame.
    sums: VecDeque<(u64, u64)>,
    walk: Walk,
    has_suspected: bool,
    report: Option<Box<DesyncReport>>,
}

impl<I: Input> Spectator<I> {
    pub(crate) fn new(
        mut channel: Channel,
        host: SocketAddr,
        frame: u64,
        socket: &Socket,
        early: Vec<PeerMessage>,
    ) -> Spectator<I> {
        channel.add_peer(host);
        Spectator {
            channel,
            host,
            early,
            next: frame,
            inputs: VecDeque::new(),
            sums: VecDeque::new(),
            walk: Walk::new(socket.clock()),
            has_suspected: false,
            report: None,
        }
    }

    /// Returns the number of frames whose inputs have arrived and which are not simulated yet.
    pub fn behind(&self) -> usize {
        self.inputs.len()
    }

    /// Receives inputs, and simulates at most `frames` frames. Returns how many were simulated.
    ///
    /// # Errors
    ///
    /// Returns [`NetcodeError::Rollback`] if a frame cannot be captured, or [`NetcodeError::Message`] if the inputs of the
    /// host do not make sense.
    pub fn advance(
        &mut self,
        game: &mut Rollback,
        frames: usize,
        mut simulate: impl FnMut(&mut World, &[Option<I>]),
    ) -> Result<usize, NetcodeError> {
        for message in std::mem::take(&mut self.early) {
            self.take_message(message, game)?;
        }
        for (from, bytes) in self.channel.poll() {
            if from == self.host
                && let Some(message) = PeerMessage::from_bytes(&bytes)
            {
                self.take_message(message, game)?;
            }
        }
        let mut count = 0;
        while count < frames
            && let Some(inputs) = self.inputs.pop_front()
        {
            game.advance(inputs.as_slice(), &mut simulate)?;
            self.next += 1;
            count += 1;
            while let Some((frame, sum)) = self.sums.pop_front_if(|(frame, _)| *frame <= self.next) {
                let differs = game.sums_of(frame).is_some_and(|sums| sums.world() != sum);
                if differs && !std::mem::replace(&mut self.has_suspected, true) {
                    self.channel.send(self.host, &PeerMessage::Suspect { frame }.to_bytes());
                }
            }
        }
        Ok(count)
    }

    /// Removes and returns the report of a desync, if there was one.
    pub fn desync(&mut self) -> Option<Box<DesyncReport>> {
        self.report.take()
    }

    fn take_message(&mut self, message: PeerMessage, game: &Rollback) -> Result<(), NetcodeError> {
        match message {
            PeerMessage::Inputs { first, inputs, sum } => {
                let end = self.next + self.inputs.len() as u64;
                if first != end || self.inputs.len() + inputs.len() > MOST_WAITING {
                    return Err(NetcodeError::Message { what: "inputs of other frames than the next ones" });
                }
                for bytes in &inputs {
                    match postcard::from_bytes::<Vec<Option<I>>>(bytes) {
                        Ok(inputs) => self.inputs.push_back(inputs),
                        Err(_) => return Err(NetcodeError::Message { what: "inputs that cannot be read" }),
                    }
                }
                self.sums.extend(sum.map(|sum| (first + inputs.len() as u64, sum)));
            }
            PeerMessage::Ask(question) => {
                // All frames of a spectator are confirmed.
                if let Some(answer) = self.walk.answer(&question, game, game.frame()) {
                    self.channel.send(self.host, &PeerMessage::Answer(answer).to_bytes());
                }
            }
            PeerMessage::Found(finding) => {
                let report = DesyncReport::new(finding.cleaned(), game.world(), None);
                self.report = Some(Box::new(report));
            }
            _ => {}
        }
        Ok(())
    }
}

impl<I> fmt::Debug for Spectator<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spectator(frame {}, {} behind)", self.next, self.inputs.len())
    }
}
