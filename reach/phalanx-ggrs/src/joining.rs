//! [`Joining`]: takes part in a game that runs already.

use crate::Input;
use crate::channel::Channel;
use crate::driver::{Driver, HISTORY};
use crate::error::NetcodeError;
use crate::message::PeerMessage;
use crate::roster::Roster;
use crate::socket::Socket;
use crate::spectator::Spectator;
use phalanx::World;
use phalanx::snapshot::LoadError;
use phalanx_rollback::Rollback;
use std::fmt;
use std::net::SocketAddr;

/// Takes part in a game that runs already. [`poll`](Joining::poll) it until it is done.
pub struct Joining {
    socket: Socket,
    channel: Option<Channel>,
    host: SocketAddr,
    as_spectator: bool,
    game: Option<Rollback>,
}

/// A game that a program takes part in.
#[derive(Debug)]
pub enum Joined<I: Input> {
    /// As a player. [Start](Roster::start) the session of the roster.
    Player {
        /// The game, at the frame where the session begins.
        game: Box<Rollback>,
        /// The driver of the session.
        driver: Box<Driver<I>>,
        /// The players.
        roster: Roster,
    },
    /// As a spectator.
    Spectator {
        /// The game, at a confirmed frame.
        game: Box<Rollback>,
        /// Follows the game.
        spectator: Box<Spectator<I>>,
    },
}

impl Joining {
    /// Asks the player at `host`, which has the number 0, to take part as a player.
    pub fn player(socket: &Socket, host: SocketAddr) -> Joining {
        Joining::new(socket, host, false)
    }

    /// Asks a player to watch.
    pub fn spectator(socket: &Socket, host: SocketAddr) -> Joining {
        Joining::new(socket, host, true)
    }

    fn new(socket: &Socket, host: SocketAddr, as_spectator: bool) -> Joining {
        let mut channel = Channel::new(socket);
        channel.add_peer(host);
        channel.send(host, &PeerMessage::Join { as_spectator }.to_bytes());
        Joining { socket: socket.clone(), channel: Some(channel), host, as_spectator, game: None }
    }

    /// Receives and sends messages. Returns the game once it has begun, and `None` before.
    ///
    /// `load` makes the world of the bytes of a snapshot. It registers the same components, keeps the same resources and adds the
    /// same listeners as the program of the host.
    ///
    /// # Errors
    ///
    /// - [`NetcodeError::Refused`] if the host does not admit the program.
    /// - [`NetcodeError::Load`] if the snapshot cannot be loaded.
    /// - [`NetcodeError::OtherSum`] if the loaded world is not the one of the host.
    /// - [`NetcodeError::Rollback`] if the world cannot be captured.
    /// - [`NetcodeError::Message`] if the players of the game are not valid.
    pub fn poll<I: Input>(
        &mut self,
        mut load: impl FnMut(&[u8]) -> Result<World, LoadError>,
    ) -> Result<Option<Joined<I>>, NetcodeError> {
        let Some(channel) = &mut self.channel else { return Ok(None) };
        let (mut start, mut early) = (None, Vec::new());
        for (from, bytes) in channel.poll() {
            if from != self.host {
                continue;
            }
            match PeerMessage::from_bytes(&bytes) {
                Some(PeerMessage::Refused) => return Err(NetcodeError::Refused),
                Some(PeerMessage::Snapshot { frame, sum, bytes }) if self.game.is_none() => {
                    let game = Rollback::new(load(&bytes)?, HISTORY)?.at_frame(frame)?;
                    let loaded = game.sums().world();
                    channel.send(self.host, &PeerMessage::Loaded { frame, sum: loaded }.to_bytes());
                    if loaded != sum {
                        channel.poll();
                        return Err(NetcodeError::OtherSum { frame, told: sum, loaded });
                    }
                    self.game = Some(game);
                }
                Some(PeerMessage::Start { frame, session, players }) => start = Some((frame, session, players)),
                // The first inputs may arrive together with the snapshot.
                Some(message) => early.push(message),
                None => {}
            }
        }
        if self.as_spectator {
            let Some(game) = self.game.take() else { return Ok(None) };
            let Some(channel) = self.channel.take() else { return Ok(None) };
            let spectator = Spectator::new(channel, self.host, game.frame(), &self.socket, early);
            return Ok(Some(Joined::Spectator { game: Box::new(game), spectator: Box::new(spectator) }));
        }
        let Some((frame, session, players)) = start else { return Ok(None) };
        let Some(game) = self.game.take_if(|game| game.frame() == frame) else {
            return Err(NetcodeError::Message { what: "the game starts at another frame than that of the snapshot" });
        };
        let roster = Roster::from_places(&players, self.host, session);
        let roster = roster.ok_or(NetcodeError::Message { what: "a list of players that is not valid" })?;
        let Some(channel) = self.channel.take() else { return Ok(None) };
        let driver = Driver::with_channel(channel, &self.socket, roster.clone(), frame);
        Ok(Some(Joined::Player { game: Box::new(game), driver: Box::new(driver), roster }))
    }
}

impl fmt::Debug for Joining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Joining({}, {})", self.host, if self.as_spectator { "as a spectator" } else { "as a player" })
    }
}
