//! A game server's list of players, with the containers and nothing else:
//! `cargo run -p phalanx-store --example leaderboard`.
//!
//! Players have handles that stay valid when others leave, and are found to be stale when their player has left. What all
//! players have is in a linear store, what a few have in a sparse set, and the samples of the graph are lanes.

use phalanx_store::{Handle, LinearStore, PackedStore, Soa, SparseSet};

struct Player {
    name: String,
    /// A player who may leave at any time: handles are checked, so this cannot dangle.
    rival: Option<Handle<Player>>,
}

/// A measurement of the server: each field is an array of its own.
#[derive(Soa, Clone, Copy)]
struct Sample {
    players: u32,
    load: f32,
}

#[derive(Default)]
struct Server {
    /// The players, contiguous and sorted by score.
    players: PackedStore<Player>,
    /// What every player has: at the index of the handle.
    scores: LinearStore<Handle<Player>, u32>,
    /// What a few have: a sparse set.
    muted: SparseSet<Handle<Player>, &'static str>,
    samples: Soa<Sample>,
}

impl Server {
    fn join(&mut self, name: &str, rival: Option<Handle<Player>>) -> Handle<Player> {
        let player = self.players.insert(Player { name: name.to_string(), rival });
        self.scores.insert(player, 0);
        player
    }

    fn leave(&mut self, player: Handle<Player>) -> Option<Player> {
        self.scores.remove(player);
        self.muted.remove(player);
        // The order of the others stays.
        self.players.shift_remove(player)
    }

    fn add_points(&mut self, player: Handle<Player>, points: u32) {
        // Nothing happens for a player who has left.
        if let Some(score) = self.scores.get_mut(player) {
            *score += points;
        }
    }

    /// Sorts the players, best first. Handles do not notice.
    fn rank(&mut self) {
        let mut places: Vec<(Handle<Player>, u32)> = self.scores.iter().map(|(key, score)| (key, *score)).collect();
        places.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        let order: SparseSet<Handle<Player>, ()> = places.into_iter().map(|(key, _)| (key, ())).collect();
        self.players.sort_like(&order);
    }

    fn print(&self) {
        for (place, (key, player)) in self.players.iter().enumerate() {
            let rival = match player.rival.map(|rival| self.players.get(rival)) {
                Some(Some(rival)) => format!(", rival of {}", rival.name),
                Some(None) => ", whose rival has left".to_string(),
                None => String::new(),
            };
            let muted = self.muted.get(key).map_or(String::new(), |reason| format!(", muted for {reason}"));
            println!("{}. {:<6}{:>4}{rival}{muted}", place + 1, player.name, self.scores[key]);
        }
    }
}

fn main() {
    let mut server = Server::default();
    let ann = server.join("Ann", None);
    let bob = server.join("Bob", Some(ann));
    let eve = server.join("Eve", Some(ann));
    for (player, points) in [(bob, 30), (ann, 20), (eve, 50), (ann, 25)] {
        server.add_points(player, points);
    }
    server.muted.insert(bob, "shouting");
    server.rank();
    server.print();
    assert_eq!(server.players.position(eve), Some(0));

    let gone = server.leave(ann).expect("she was there");
    server.add_points(ann, 1000);
    println!("\n{} leaves.", gone.name);
    let tom = server.join("Tom", Some(eve));
    assert_eq!(tom.index(), ann.index(), "the slot is used again");
    assert_ne!(tom, ann, "the handle is another one");
    server.add_points(tom, 40);
    server.rank();
    server.print();

    // Lanes: a loop over one field reads nothing else.
    for minute in 0..60u32 {
        server.samples.push(Sample { players: 3 + minute % 5, load: minute as f32 / 60.0 });
    }
    let lanes = server.samples.lanes();
    let most = lanes.players.iter().max().copied().unwrap_or_default();
    let mean = lanes.load.iter().sum::<f32>() / lanes.load.len() as f32;
    println!("\nat most {most} players, mean load {mean:.2}");
    println!(
        "{} bytes for the players, {} for the scores",
        server.players.memory().total(),
        server.scores.memory().total()
    );
}
