//! [`Driver`]: does what ggrs requests, and talks with the other players.

use crate::admission::{Admission, Step};
use crate::channel::Channel;
use crate::error::NetcodeError;
use crate::message::{Answer, Finding, PeerMessage};
use crate::report::DesyncReport;
use crate::roster::Roster;
use crate::socket::Socket;
use crate::walk::{Next, Walk};
use crate::watchers::Watchers;
use crate::{Input, Netcode};
use ggrs::{GgrsError, GgrsEvent, GgrsRequest, InputStatus, P2PSession};
use phalanx::World;
use phalanx::snapshot::Registry;
use phalanx_rollback::Rollback;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of earlier frames that a [`Rollback`] should keep, so that a desync can be looked into: more than two seconds.
pub const HISTORY: usize = 128;

/// Does what a session of ggrs requests, and talks with the other players over the same socket. See the [crate](crate).
pub struct Driver<I: Input> {
    pub(crate) channel: Channel,
    roster: Roster,
    /// The frame of the game at which the session has begun.
    base: u64,
    /// The last frame that does not change any more.
    confirmed: u64,
    walk: Walk,
    /// The frame of the last report. Later frames differ, too.
    reported: bool,
    /// The frame that a peer asks about, saved for the report.
    saved: Option<(u64, PathBuf)>,
    registry: Option<Arc<Registry>>,
    reports: Option<PathBuf>,
    admission: Admission,
    /// Whether the session has ended, and the next one has not begun.
    is_over: bool,
    watchers: Watchers<I>,
    events: Vec<Event<I>>,
}

/// What a [`Driver`] tells.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<I: Input> {
    /// The world of a player differs. There is one report in a session.
    Desync(Box<DesyncReport>),
    /// A program asks to take part. [`Driver::admit`] or [`Driver::refuse`] answers.
    JoinRequest {
        /// Its address.
        address: SocketAddr,
        /// Whether it only wants to watch.
        as_spectator: bool,
    },
    /// The session has ended. [Start](Roster::start) another one, which continues at the present frame, and call
    /// [`Driver::restart`].
    Restart(Roster),
    /// A player could not join. The game goes on with a new session without it.
    JoinFailed {
        /// Its address.
        address: SocketAddr,
    },
    /// An event of ggrs. Desyncs are reported by [`Event::Desync`] instead.
    Session(GgrsEvent<Netcode<I>>),
}

/// What [`Driver::advance`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A frame was simulated.
    Advanced,
    /// The session waits for the other players. Try again with the same input.
    Waiting,
    /// The players stop, so that another one can join. Try again.
    Paused,
}

impl<I: Input> Driver<I> {
    /// Creates a driver for the session of a roster, which begins at the present frame of the game.
    pub fn new(socket: &Socket, roster: Roster, game: &Rollback) -> Driver<I> {
        Driver::with_channel(Channel::new(socket), socket, roster, game.frame())
    }

    pub(crate) fn with_channel(mut channel: Channel, socket: &Socket, roster: Roster, frame: u64) -> Driver<I> {
        roster.addresses().for_each(|address| channel.add_peer(address));
        let clock = socket.clock();
        Driver {
            channel,
            roster,
            base: frame,
            confirmed: frame,
            walk: Walk::new(clock.clone()),
            reported: false,
            saved: None,
            registry: None,
            reports: None,
            admission: Admission::new(clock),
            is_over: false,
            watchers: Watchers::default(),
            events: Vec::new(),
        }
    }

    /// Sets the registry that worlds are saved with, for players who join later and for files of reports.
    pub fn with_registry(self, registry: Arc<Registry>) -> Driver<I> {
        Driver { registry: Some(registry), ..self }
    }

    /// Writes the world of a desync to a folder: `desync-<frame>-player-<number>.phx`, a snapshot, and a text beside it.
    pub fn with_reports(self, folder: impl AsRef<Path>) -> Driver<I> {
        Driver { reports: Some(folder.as_ref().into()), ..self }
    }

    /// Returns the last frame that does not change any more: all inputs before it have arrived.
    pub fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Returns the players.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Begins the next session, at the present frame of the game. See [`Event::Restart`].
    pub fn restart(&mut self, roster: Roster, game: &Rollback) {
        roster.addresses().for_each(|address| self.channel.add_peer(address));
        self.roster = roster;
        self.base = game.frame();
        self.confirmed = self.base;
        self.reported = false;
        self.is_over = false;
        self.admission.end();
    }

    /// Does what a session requests, in order: saves, loads and simulates frames.
    ///
    /// [`advance`](Driver::advance) calls it. Call it for other sessions, such as those of a sync test. The inputs of a player who
    /// has left are `None`. Whether an input is predicted is not told, since a simulation must not depend on it.
    ///
    /// # Errors
    ///
    /// Returns [`NetcodeError::Rollback`] if a frame cannot be captured or restored, or [`NetcodeError::OtherFrame`] if the
    /// game is not in the frame of the session.
    pub fn handle(
        &mut self,
        requests: Vec<GgrsRequest<Netcode<I>>>,
        game: &mut Rollback,
        mut simulate: impl FnMut(&mut World, &[Option<I>]),
    ) -> Result<(), NetcodeError> {
        for request in requests {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => {
                    let asked = self.base + frame as u64;
                    if asked != game.frame() {
                        return Err(NetcodeError::OtherFrame { asked, present: game.frame() });
                    }
                    // The timeline has the state. The cell has the sum only.
                    cell.save(frame, None, Some(u128::from(game.sums().world())));
                }
                GgrsRequest::LoadGameState { frame, .. } => game.load(self.base + frame as u64)?,
                GgrsRequest::AdvanceFrame { inputs } => {
                    let connected = |(input, status): &(I, InputStatus)| match status {
                        InputStatus::Disconnected => None,
                        InputStatus::Confirmed | InputStatus::Predicted => Some(*input),
                    };
                    let inputs: Vec<_> = inputs.iter().map(connected).collect();
                    let frame = game.frame();
                    game.advance(inputs.as_slice(), &mut simulate)?;
                    self.watchers.set_inputs(frame, inputs);
                }
            }
        }
        Ok(())
    }

    /// Advances the session and the game by a frame, with the input of the local player.
    ///
    /// Also receives and sends the messages of this crate. Call it once for each frame, also while the session waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`handle`](Driver::handle), and [`NetcodeError::Ggrs`] if ggrs refuses a call.
    pub fn advance(
        &mut self,
        session: &mut P2PSession<Netcode<I>>,
        game: &mut Rollback,
        input: I,
        simulate: impl FnMut(&mut World, &[Option<I>]),
    ) -> Result<Progress, NetcodeError> {
        self.receive(session, game)?;
        let present = self.base + session.current_frame() as u64;
        let progress = match self.admission.pause() {
            _ if self.is_over => Progress::Paused,
            Some(frame) if present >= frame => {
                self.settle(frame, session, game, input, simulate)?;
                Progress::Paused
            }
            _ => self.step(session, game, input, simulate)?,
        };
        self.take_session_events(session, game);
        self.watchers.send(&mut self.channel, self.confirmed, game);
        if let Some((peer, finding)) = self.walk.give_up() {
            self.report(peer, finding, game, true);
        }
        Ok(progress)
    }

    /// Removes and returns what has happened.
    pub fn events(&mut self) -> Vec<Event<I>> {
        std::mem::take(&mut self.events)
    }

    /// Lets a program take part that has sent an [`Event::JoinRequest`].
    ///
    /// A spectator gets the last confirmed frame, and the inputs from then on. For a player, all stop at the present frame. Then
    /// the new one gets a snapshot, and all start a new session: see [`Event::Restart`].
    ///
    /// # Errors
    ///
    /// Returns [`NetcodeError::NoRegistry`] if the driver has none, [`NetcodeError::NotNow`] if another player than the first
    /// one is joining or this is not the player with the number 0, and [`NetcodeError::Save`] if the world cannot be saved.
    pub fn admit(
        &mut self,
        address: SocketAddr,
        as_spectator: bool,
        session: &P2PSession<Netcode<I>>,
        game: &Rollback,
    ) -> Result<(), NetcodeError> {
        let Some(registry) = &self.registry else { return Err(NetcodeError::NoRegistry) };
        if as_spectator {
            let world = game.at(self.confirmed)?;
            let bytes = save(registry, &world)?;
            let sum = game.sums_of(self.confirmed).map_or(0, |sums| sums.world());
            self.channel.add_peer(address);
            self.send(address, &PeerMessage::Snapshot { frame: self.confirmed, sum, bytes });
            self.watchers.add(address, self.confirmed);
            return Ok(());
        }
        if self.roster.local() != 0 || self.admission.pause().is_some() || self.roster.player_at(address).is_some() {
            return Err(NetcodeError::NotNow);
        }
        let frame = self.base + session.current_frame() as u64;
        self.admission.host(address, frame, self.roster.next(Some(address)));
        let message = PeerMessage::Pause { frame, session: self.roster.session() + 1 };
        self.broadcast(&message);
        Ok(())
    }

    /// Tells a program that it cannot take part.
    pub fn refuse(&mut self, address: SocketAddr) {
        self.send(address, &PeerMessage::Refused);
    }

    /// Advances the session and does what it requests.
    fn step(
        &mut self,
        session: &mut P2PSession<Netcode<I>>,
        game: &mut Rollback,
        input: I,
        simulate: impl FnMut(&mut World, &[Option<I>]),
    ) -> Result<Progress, NetcodeError> {
        session.add_local_input(self.roster.local(), input)?;
        let before = session.current_frame();
        let requests = match session.advance_frame() {
            Ok(requests) => requests,
            Err(GgrsError::NotSynchronized | GgrsError::PredictionThreshold) => return Ok(Progress::Waiting),
            Err(error) => return Err(error.into()),
        };
        self.handle(requests, game, simulate)?;
        // All wrong predictions up to this frame are corrected now. The next inputs may show that later ones are wrong.
        let confirmed = (session.confirmed_frame() + 1).clamp(0, session.current_frame()) as u64;
        self.confirmed = self.confirmed.max(self.base + confirmed);
        Ok(if session.current_frame() > before { Progress::Advanced } else { Progress::Waiting })
    }

    /// Stops at a frame once it is confirmed, and tells the others.
    fn settle(
        &mut self,
        frame: u64,
        session: &mut P2PSession<Netcode<I>>,
        game: &mut Rollback,
        input: I,
        simulate: impl FnMut(&mut World, &[Option<I>]),
    ) -> Result<(), NetcodeError> {
        if !self.admission.is_settled() && self.confirmed < frame {
            // Late inputs of the frames before are still corrected. What is simulated beyond the frame is undone.
            self.step(session, game, input, simulate)?;
        }
        // The others need what was sent to them, and may need it again.
        session.poll_remote_clients();
        if !self.admission.is_settled() && self.confirmed >= frame {
            game.load(frame)?;
            self.watchers.truncate(frame);
            self.confirmed = frame;
            let sum = game.sums().world();
            self.admission.settle(sum);
            self.broadcast(&PeerMessage::Paused { frame, sum });
        }
        let addresses: Vec<_> = self.roster.addresses().collect();
        match self.admission.next(&addresses) {
            Step::Wait => {}
            Step::SendSnapshot { to, frame, sum } => {
                let Some(registry) = &self.registry else { return Err(NetcodeError::NoRegistry) };
                let bytes = save(registry, game.world())?;
                self.channel.add_peer(to);
                self.send(to, &PeerMessage::Snapshot { frame, sum, bytes });
            }
            Step::Start { roster, frame } => self.start(roster, frame),
            Step::Cancel { address } => {
                self.send(address, &PeerMessage::Refused);
                self.events.push(Event::JoinFailed { address });
                self.start(self.roster.next(None), frame);
            }
        }
        Ok(())
    }

    /// Tells all players of a roster to start a session.
    fn start(&mut self, roster: Roster, frame: u64) {
        for address in roster.addresses().collect::<Vec<_>>() {
            let players = roster.places_for(address);
            self.send(address, &PeerMessage::Start { frame, session: roster.session(), players });
        }
        self.end(roster);
    }

    /// Ends the session, after which that of a roster begins.
    fn end(&mut self, roster: Roster) {
        self.admission.end();
        self.is_over = true;
        self.events.push(Event::Restart(roster));
    }

    /// Receives the messages of other players.
    fn receive(&mut self, session: &P2PSession<Netcode<I>>, game: &mut Rollback) -> Result<(), NetcodeError> {
        for (from, bytes) in self.channel.poll() {
            let Some(message) = PeerMessage::from_bytes(&bytes) else { continue };
            match (message, self.roster.player_at(from)) {
                (PeerMessage::Join { as_spectator }, None) => {
                    self.events.push(Event::JoinRequest { address: from, as_spectator });
                }
                (PeerMessage::Loaded { frame, sum }, None) => self.admission.loaded(from, frame, sum),
                (message, player) if player.is_some() || self.watchers.has(from) => {
                    self.take_message(from, player, message, session, game)?;
                }
                // Nothing else is taken from a stranger.
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes a message of a player or a spectator.
    fn take_message(
        &mut self,
        from: SocketAddr,
        player: Option<usize>,
        message: PeerMessage,
        session: &P2PSession<Netcode<I>>,
        game: &mut Rollback,
    ) -> Result<(), NetcodeError> {
        match message {
            PeerMessage::Suspect { frame } => self.suspect(from, frame, game),
            PeerMessage::Ask(question) => {
                if let Some(answer) = self.walk.answer(&question, game, self.confirmed) {
                    self.save_pinned(game);
                    self.send(from, &PeerMessage::Answer(answer));
                }
            }
            PeerMessage::Answer(answer) => self.take_answer(from, answer, game),
            PeerMessage::Found(finding) => self.report(from, finding.cleaned(), game, false),
            PeerMessage::Pause { frame, session: number } if player == Some(0) => {
                // The frame is one that this player can still reach, or go back to.
                let present = self.base + session.current_frame() as u64;
                let is_near = frame >= game.oldest() && frame <= present + HISTORY as u64;
                if number == self.roster.session() + 1 && is_near && self.admission.pause().is_none() {
                    self.admission.follow(frame);
                }
            }
            PeerMessage::Paused { frame, sum } => self.admission.paused(from, frame, sum),
            PeerMessage::Start { frame, session: number, players } if player == Some(0) => {
                let is_next = number == self.roster.session() + 1 && self.admission.pause() == Some(frame);
                let roster = Roster::from_places(&players, from, number).filter(|_| is_next && game.frame() == frame);
                if let Some(roster) = roster {
                    self.end(roster);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes events of ggrs on. A desync begins a walk.
    fn take_session_events(&mut self, session: &mut P2PSession<Netcode<I>>, game: &Rollback) {
        let events: Vec<_> = session.events().collect();
        for event in events {
            match event {
                GgrsEvent::DesyncDetected { frame, addr, .. } => {
                    let frame = self.base + frame.max(0) as u64;
                    let leads = self.roster.player_at(addr).is_some_and(|player| self.roster.local() < player);
                    match leads {
                        true => self.suspect(addr, frame, game),
                        false if !self.reported => self.send(addr, &PeerMessage::Suspect { frame }),
                        false => {}
                    }
                }
                event => {
                    if let GgrsEvent::Disconnected { addr } = &event {
                        if self.roster.player_at(*addr) == Some(0) {
                            // No other player ends the pause.
                            self.admission.end();
                        }
                        self.channel.remove_peer(*addr);
                    }
                    self.events.push(Event::Session(event));
                }
            }
        }
    }

    /// Begins to find out what differs, unless it was reported.
    fn suspect(&mut self, peer: SocketAddr, frame: u64, game: &Rollback) {
        if self.reported {
            return;
        }
        if let Some(question) = self.walk.begin(peer, frame, game, self.confirmed) {
            self.send(peer, &PeerMessage::Ask(question));
        }
    }

    fn take_answer(&mut self, from: SocketAddr, answer: Answer, game: &Rollback) {
        match self.walk.take_answer(from, answer, game, self.confirmed) {
            Next::Ask(question) => {
                self.send(from, &PeerMessage::Ask(question));
                if let Some(frame) = self.walk.asked_frame() {
                    self.save_frame(frame, game);
                }
            }
            Next::Found(finding) => self.report(from, finding.cleaned(), game, true),
            Next::Nothing => {}
        }
    }

    /// Reports what was found, and tells the peer if this side has found it.
    fn report(&mut self, peer: SocketAddr, mut finding: Finding, game: &Rollback, is_leader: bool) {
        if std::mem::replace(&mut self.reported, true) {
            return;
        }
        if is_leader {
            let them = self.roster.player_at(peer).unwrap_or(self.roster.len());
            finding.players = [self.roster.local() as u32, them as u32];
            self.send(peer, &PeerMessage::Found(finding.clone()));
        }
        let file = self.saved.take().filter(|(frame, _)| *frame == finding.frame).map(|(_, path)| path);
        let report = DesyncReport::new(finding, game.world(), file);
        if let Some(file) = &report.file {
            // The text is for people. The report is delivered without it, too.
            let _ = std::fs::write(file.with_extension("txt"), report.to_string());
        }
        self.events.push(Event::Desync(Box::new(report)));
    }

    /// Saves the frame that a peer asks about, while it is kept.
    fn save_pinned(&mut self, game: &Rollback) {
        if let Some(frame) = self.walk.pinned_frame() {
            self.save_frame(frame, game);
        }
    }

    fn save_frame(&mut self, frame: u64, game: &Rollback) {
        let (Some(folder), Some(registry)) = (&self.reports, &self.registry) else { return };
        if self.saved.as_ref().is_some_and(|(saved, _)| *saved == frame) {
            return;
        }
        let path = folder.join(format!("desync-{frame}-player-{}.phx", self.roster.local()));
        let Ok(world) = game.at(frame) else { return };
        if registry.save_to(&world, &path).is_ok() {
            self.saved = Some((frame, path));
        }
    }

    fn broadcast(&mut self, message: &PeerMessage) {
        for address in self.roster.addresses().collect::<Vec<_>>() {
            self.send(address, message);
        }
    }

    fn send(&mut self, to: SocketAddr, message: &PeerMessage) {
        self.channel.send(to, &message.to_bytes());
    }
}

/// Returns a world as bytes.
fn save(registry: &Registry, world: &World) -> Result<Vec<u8>, NetcodeError> {
    let mut bytes = Vec::new();
    registry.save(world, &mut bytes)?;
    Ok(bytes)
}

impl<I: Input> fmt::Debug for Driver<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Driver(player {} of {}, frame {} confirmed)", self.roster.local(), self.roster.len(), self.confirmed)
    }
}
