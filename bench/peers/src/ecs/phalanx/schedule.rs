//! Swaps through a schedule, for components in tables.

use super::table::{A, B, C, D, E};
use super::{Ecs, Table};
use crate::data::Digest;
use crate::ecs::schedules::Game;
use crate::harness::{Case, Ways};
use ::phalanx::{Query, World};
use phalanx_schedule::Schedule;

/// Swaps A and B, C and D, C and E, on one thread and where threads are faster on several.
pub fn swaps() -> Vec<Case> {
    let make = || {
        let mut world = World::new();
        let (a, b, c, d, e) = (A { v: 0.0 }, B { v: 1.0 }, C { v: 2.0 }, D { v: 3.0 }, E { v: 4.0 });
        for _ in 0..10_000 {
            world.spawn((a, b));
            world.spawn((a, b, c));
            world.spawn((a, b, c, d));
            world.spawn((a, b, c, e));
        }
        macro_rules! swap {
            ($x:ident $y:ident) => {
                |query: Query<(&mut $x, &mut $y)>| query.for_each(|(x, y)| std::mem::swap(&mut x.v, &mut y.v))
            };
        }
        Game::new(world, Schedule::builder("swaps").add((swap!(A B), swap!(C D), swap!(C E))))
    };
    let mut ways = Ways::held(Table::NAME, make, 1, digest).warm();
    ways.add("one thread", Game::run);
    ways.add("auto", Game::run_on_threads);
    ways.add("always threads", Game::run_on_threads_always);
    ways.cases
}

fn digest(game: &mut Game) -> u64 {
    let mut d = Digest::default();
    macro_rules! add {
        ($($t:ident)*) => { $( game.world.query::<&$t>().iter().for_each(|x| d.scalar(x.v)); )* };
    }
    add!(A C D E);
    d.0
}
