//! [`Admission`]: how all players stop at a frame, so that another one can join.
//!
//! The player with the number 0 is the host. It names its present frame, and stops there. No other player can confirm a later
//! one, since the inputs of the host end. Each player that has confirmed the frame goes back to it and tells its sum. If all sums are
//! equal, the host sends a snapshot. When the new player has loaded it, and has got the same sum, the host lets all start.

use crate::clock::Clock;
use crate::roster::Roster;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The time after which a host gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// A pause of all players, if there is one.
#[derive(Debug)]
pub(crate) struct Admission {
    clock: Clock,
    pause: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    frame: u64,
    /// The sum of the frame, once this player has stopped.
    sum: Option<u64>,
    host: Option<Host>,
}

#[derive(Debug)]
struct Host {
    joining: SocketAddr,
    roster: Roster,
    since: Duration,
    /// The sums of the other players that have stopped.
    sums: BTreeMap<SocketAddr, u64>,
    is_sent: bool,
    /// The sum that the new player has got.
    loaded: Option<u64>,
}

/// What a host does next.
#[derive(Debug)]
pub(crate) enum Step {
    Wait,
    SendSnapshot { to: SocketAddr, frame: u64, sum: u64 },
    Start { roster: Roster, frame: u64 },
    Cancel { address: SocketAddr },
}

impl Admission {
    pub(crate) fn new(clock: Clock) -> Admission {
        Admission { clock, pause: None }
    }

    /// Returns the frame at which all stop.
    pub(crate) fn pause(&self) -> Option<u64> {
        self.pause.as_ref().map(|pause| pause.frame)
    }

    /// Returns `true` if this player has stopped.
    pub(crate) fn is_settled(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.sum.is_some())
    }

    /// Begins a pause as the host.
    pub(crate) fn host(&mut self, joining: SocketAddr, frame: u64, roster: Roster) {
        let since = self.clock.now();
        let host = Host { joining, roster, since, sums: BTreeMap::new(), is_sent: false, loaded: None };
        self.pause = Some(Pause { frame, sum: None, host: Some(host) });
    }

    /// Begins a pause that the host has asked for.
    pub(crate) fn follow(&mut self, frame: u64) {
        self.pause = Some(Pause { frame, sum: None, host: None });
    }

    /// This player has stopped.
    pub(crate) fn settle(&mut self, sum: u64) {
        if let Some(pause) = &mut self.pause {
            pause.sum = Some(sum);
        }
    }

    /// Notes that another player has stopped.
    pub(crate) fn paused(&mut self, from: SocketAddr, frame: u64, sum: u64) {
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.frame == frame)
            && let Some(host) = &mut pause.host
        {
            host.sums.insert(from, sum);
        }
    }

    /// Notes that the new player has loaded the snapshot.
    pub(crate) fn loaded(&mut self, from: SocketAddr, frame: u64, sum: u64) {
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.frame == frame)
            && let Some(host) = pause.host.as_mut().filter(|host| host.joining == from && host.is_sent)
        {
            host.loaded = Some(sum);
        }
    }

    /// Returns what a host does next. `others` are the other players.
    pub(crate) fn next(&mut self, others: &[SocketAddr]) -> Step {
        let now = self.clock.now();
        let Some(Pause { frame, sum, host: Some(host) }) = &mut self.pause else { return Step::Wait };
        if host.since + PATIENCE < now {
            return Step::Cancel { address: host.joining };
        }
        let Some(sum) = *sum else { return Step::Wait };
        let sums = || others.iter().map(|other| host.sums.get(other));
        if sums().any(|other| other.is_some_and(|other| *other != sum))
            || host.loaded.is_some_and(|loaded| loaded != sum)
        {
            return Step::Cancel { address: host.joining };
        }
        match host.loaded {
            Some(_) => Step::Start { roster: host.roster.clone(), frame: *frame },
            None if !host.is_sent && sums().all(|other| other.is_some()) => {
                host.is_sent = true;
                Step::SendSnapshot { to: host.joining, frame: *frame, sum }
            }
            None => Step::Wait,
        }
    }

    /// Ends the pause.
    pub(crate) fn end(&mut self) {
        self.pause = None;
    }
}
