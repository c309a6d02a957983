//! [`Link`]: a thread that carries out requests, so that drawing never waits for the program.

use crate::client::{Client, Fault};
use serde_json::Value;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The number of requests that can wait.
const ASK_LIMIT: usize = 16;

/// What the program is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    /// Routes to read, one after the other.
    Look(Vec<String>),
    /// A change: route and body.
    Change(&'static str, Value),
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// The routes with their answers, up to the first that the program could not be reached for.
    Look(Vec<(String, Result<Value, Fault>)>),
    Change(Result<Value, Fault>),
}

/// A thread that carries out requests. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    asks: SyncSender<Ask>,
    tells: Receiver<Told>,
}

impl Link {
    pub(crate) fn start(client: Client) -> std::io::Result<Link> {
        let (asks, asked) = sync_channel(ASK_LIMIT);
        let (told, tells) = sync_channel(ASK_LIMIT);
        let work = move || {
            while let Ok(ask) = asked.recv() {
                if told.send(carry_out(&client, ask)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("requests".into()).spawn(work)?;
        Ok(Link { asks, tells })
    }

    /// Asks something. Returns `false` if too much is asked already.
    pub(crate) fn ask(&self, ask: Ask) -> bool {
        self.asks.try_send(ask).is_ok()
    }

    /// Returns what came back, if something did.
    pub(crate) fn told(&self) -> Option<Told> {
        self.tells.try_recv().ok()
    }
}

/// Carries out a request.
pub(crate) fn carry_out(client: &Client, ask: Ask) -> Told {
    match ask {
        Ask::Change(route, body) => Told::Change(client.post(route, &body)),
        Ask::Look(routes) => {
            let mut answers = Vec::with_capacity(routes.len());
            for route in routes {
                let answer = client.get(&route);
                let is_lost = matches!(answer, Err(Fault::Unreachable(_) | Fault::Malformed(_)));
                answers.push((route, answer));
                if is_lost {
                    break;
                }
            }
            Told::Look(answers)
        }
    }
}
