//! Saving a frame, and going back by eight frames: Phalanx and bevy_ggrs, one after the other in the same run.
//!
//! The worlds are those of the benchmark of bevy_ggrs: entities that have one component each, of one or of three types, all of
//! which change in each frame. Both save every component. Phalanx also computes the checksums of the frame. Each figure is the
//! least of all rounds.

mod bevy_side;
mod phalanx_side;

use std::time::{Duration, Instant};

/// By how many frames a load goes back.
const BACK: usize = 8;
const ROUNDS: usize = 200;

/// The least times of a side.
struct Figures {
    save: Duration,
    load: Duration,
}

/// A game that can save and load.
trait Side {
    /// Simulates a frame.
    fn advance(&mut self);
    /// Saves the present frame.
    fn save(&mut self);
    /// Goes back by [`BACK`] frames.
    fn load(&mut self);
    /// Returns the sum of all values.
    fn total(&mut self) -> i64;
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn measure(side: &mut dyn Side) -> Figures {
    let mut figures = Figures { save: Duration::MAX, load: Duration::MAX };
    side.save();
    let total = side.total();
    for _ in 0..ROUNDS {
        for _ in 0..BACK {
            side.advance();
            figures.save = figures.save.min(time(|| side.save()));
        }
        figures.load = figures.load.min(time(|| side.load()));
        assert_eq!(side.total(), total, "a load restores the values");
    }
    figures
}

fn main() {
    println!("{:<34} {:>12} {:>12} {:>8}", "", "bevy_ggrs", "Phalanx", "ratio");
    for (types, entities) in [(1, 1_000), (3, 1_000), (1, 10_000), (3, 10_000)] {
        let theirs = measure(&mut bevy_side::Game::new(types, entities));
        let ours = measure(&mut phalanx_side::Game::new(types, entities));
        for (what, theirs, ours) in [("save", theirs.save, ours.save), ("load 8 back", theirs.load, ours.load)] {
            let name = format!("{what}, {types} x {entities} entities");
            let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
            let micros = |time: Duration| format!("{:.1} us", time.as_secs_f64() * 1e6);
            println!("{name:<34} {:>12} {:>12} {ratio:>7.1}x", micros(theirs), micros(ours));
        }
    }
}
