//! [`Roster`]: who plays, and from where.

use crate::message::Place;
use crate::socket::Socket;
use crate::{Input, Netcode};
use ggrs::{DesyncDetection, GgrsError, P2PSession, PlayerType, SessionBuilder};
use std::net::SocketAddr;

/// The number of frames between two checksums that players compare.
const INTERVAL: u32 = 10;

/// The players of a session, by number, and the session's own number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// The address of each player, or `None` for the local one.
    players: Vec<Option<SocketAddr>>,
    session: u32,
}

impl Roster {
    /// Creates the roster of a first session. The local player is `None`.
    ///
    /// # Panics
    ///
    /// Panics if there is not exactly one local player.
    pub fn new(players: impl IntoIterator<Item = Option<SocketAddr>>) -> Roster {
        let players: Vec<_> = players.into_iter().collect();
        assert!(players.iter().filter(|player| player.is_none()).count() == 1, "there is one local player");
        Roster { players, session: 0 }
    }

    /// Returns the number of the local player.
    pub fn local(&self) -> usize {
        self.players.iter().position(Option::is_none).unwrap_or(0)
    }

    /// Returns the number of players.
    pub fn len(&self) -> usize {
        self.players.len()
    }

    /// Returns `true` if there are no players, which is never so.
    pub fn is_empty(&self) -> bool {
        self.players.is_empty()
    }

    /// Returns the address of a player, or `None` if it is the local one or there is no such player.
    pub fn address(&self, player: usize) -> Option<SocketAddr> {
        *self.players.get(player)?
    }

    /// Starts a session of these players over a socket. Desync detection is on, every 10 frames.
    ///
    /// # Errors
    ///
    /// Returns an error of ggrs if the builder does not suit the players.
    pub fn start<I: Input>(
        &self,
        builder: SessionBuilder<Netcode<I>>,
        socket: &Socket,
    ) -> Result<P2PSession<Netcode<I>>, GgrsError> {
        socket.set_session(self.session);
        let mut builder = builder
            .with_num_players(self.players.len())?
            .with_desync_detection_mode(DesyncDetection::On { interval: INTERVAL });
        for (number, player) in self.players.iter().enumerate() {
            let player = player.map_or(PlayerType::Local, PlayerType::Remote);
            builder = builder.add_player(player, number)?;
        }
        builder.start_p2p_session(socket.clone())
    }

    /// Returns the number of the session.
    pub(crate) fn session(&self) -> u32 {
        self.session
    }

    /// Returns the number of the player with an address.
    pub(crate) fn player_at(&self, address: SocketAddr) -> Option<usize> {
        self.players.iter().position(|player| *player == Some(address))
    }

    /// Returns the addresses of the other players.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.players.iter().copied().flatten()
    }

    /// Returns the roster of the next session, to which a player may be added.
    pub(crate) fn next(&self, added: Option<SocketAddr>) -> Roster {
        let players = self.players.iter().copied().chain(added.map(Some)).collect();
        Roster { players, session: self.session + 1 }
    }

    /// Returns the players as a receiver of the message sees them.
    pub(crate) fn places_for(&self, receiver: SocketAddr) -> Vec<Place> {
        let place = |player: &Option<SocketAddr>| match player {
            None => Place::Sender,
            Some(address) if *address == receiver => Place::Receiver,
            Some(address) => Place::At(*address),
        };
        self.players.iter().map(place).collect()
    }

    /// Returns the roster that a message of `sender` describes, or `None` if it has not exactly one place for the receiver.
    pub(crate) fn from_places(places: &[Place], sender: SocketAddr, session: u32) -> Option<Roster> {
        let player = |place: &Place| match place {
            Place::Sender => Some(sender),
            Place::Receiver => None,
            Place::At(address) => Some(*address),
        };
        let players: Vec<_> = places.iter().map(player).collect();
        let mut addresses: Vec<_> = players.iter().collect();
        addresses.sort_unstable();
        addresses.dedup();
        let is_valid = players.len() <= 64 && addresses.len() == players.len() && players.contains(&None);
        is_valid.then_some(Roster { players, session })
    }
}
