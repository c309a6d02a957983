//! Frames that are loaded and simulated again, and effects that are delivered once.
#![allow(missing_docs)]

use phalanx::{Component, World};
use phalanx_rollback::{Effect, Effects, Rollback, RollbackError};
use phalanx_testkit::Rng;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Count(u32);

#[derive(Clone, Debug, PartialEq)]
struct Sound(u32);

/// Adds the input to all, spawns one, and sounds by the result.
fn simulate(world: &mut World, input: &u32) {
    world.query_mut::<&mut Count>().for_each(|count| count.0 = count.0.wrapping_add(*input));
    world.spawn(Count(*input));
    let loud = world.query::<&Count>().iter().filter(|count| count.0.is_multiple_of(5)).count();
    for at in 0..loud.min(3) as u32 {
        world.resource_mut::<Effects<Sound>>().unwrap().send(Sound(at + input % 2));
    }
}

#[test]
fn frames_outside_of_the_window_cannot_be_loaded() {
    let mut game = Rollback::new(World::new(), 3).unwrap();
    for _ in 0..10 {
        game.advance(&(), |world, ()| _ = world.spawn(Count(1))).unwrap();
    }
    assert_eq!((game.frame(), game.oldest(), game.world().len()), (10, 7, 10));
    for frame in [0, 6, 11] {
        let error = RollbackError::NoSuchFrame { frame, oldest: 7, present: 10 };
        assert_eq!(game.load(frame), Err(error));
        assert_eq!(game.world().len(), 10);
    }
    game.load(8).unwrap();
    assert_eq!((game.frame(), game.oldest(), game.world().len()), (8, 7, 8));
    assert_eq!(game.sums_of(9), None);
    assert_eq!(game.sums_of(8), Some(game.sums()));
}

#[test]
fn a_resource_that_is_kept_later_is_restored() {
    let mut game = Rollback::new(World::new(), 4).unwrap();
    game.world_mut().insert_resource(3u32);
    assert_eq!(game.unrestored(), ["u32"]);
    game.advance(&(), |_, ()| {}).unwrap();
    let mut game = game.keep::<u32>().unwrap();
    assert_eq!((game.frame(), game.oldest(), game.unrestored().len()), (1, 1, 0));
    game.advance(&(), |world, ()| *world.resource_mut::<u32>().unwrap() = 4).unwrap();
    game.load(1).unwrap();
    assert_eq!(game.world().resource::<u32>(), Ok(&3));
}

#[test]
fn what_was_heard_is_what_the_last_simulation_of_each_frame_has_sent() {
    for seed in 0..20 {
        let (window, mut rng) = (6, Rng::new(seed));
        let mut game = Rollback::new(World::new(), window).unwrap().with_effects::<Sound>();
        // The inputs that turned out to be right, and what is heard, by frame.
        let (mut inputs, mut heard): (Vec<u32>, Vec<Vec<Sound>>) = (Vec::new(), Vec::new());
        for _ in 0..80 {
            if rng.chance(1, 3) && !inputs.is_empty() {
                let back = 1 + rng.below(window.min(inputs.len()));
                let frame = inputs.len() - back;
                game.load(frame as u64).unwrap();
                inputs[frame] = rng.below(9) as u32;
                for input in &inputs[frame..] {
                    game.advance(input, simulate).unwrap();
                }
            } else {
                inputs.push(rng.below(9) as u32);
                game.advance(inputs.last().unwrap(), simulate).unwrap();
            }
            for change in game.drain::<Sound>() {
                match change {
                    Effect::Play { frame, effect } => {
                        heard.resize(heard.len().max(frame as usize + 1), Vec::new());
                        heard[frame as usize].push(effect);
                    }
                    Effect::Retract { frame, effect } => {
                        let list = &mut heard[frame as usize];
                        list.remove(list.iter().position(|other| *other == effect).expect("it was heard"));
                    }
                }
            }
            // Played through without a mistake.
            let mut alone = Rollback::new(World::new(), 0).unwrap().with_effects::<Sound>();
            let mut expected = vec![Vec::new(); heard.len()];
            for input in &inputs {
                alone.advance(input, simulate).unwrap();
            }
            for change in alone.drain::<Sound>() {
                let Effect::Play { frame, effect } = change else { panic!("nothing is retracted") };
                expected.resize(expected.len().max(frame as usize + 1), Vec::new());
                expected[frame as usize].push(effect);
            }
            heard.resize(expected.len(), Vec::new());
            for (heard, expected) in heard.iter().zip(&expected) {
                let sorted = |list: &[Sound]| {
                    let mut list: Vec<u32> = list.iter().map(|sound| sound.0).collect();
                    list.sort_unstable();
                    list
                };
                assert_eq!(sorted(heard), sorted(expected), "seed {seed}");
            }
            assert_eq!(game.sums(), alone.sums(), "seed {seed}");
        }
    }
}

#[test]
fn a_replica_follows_by_steps() {
    let mut game = Rollback::new(World::new(), 2).unwrap().with_effects::<Sound>();
    let mut there = World::new();
    there.register_component::<Count>();
    for input in 0..20 {
        game.advance(&input, simulate).unwrap();
        there.apply_delta(&game.step().unwrap().unwrap()).unwrap();
    }
    assert!(there.query::<&Count>().iter().eq(game.world().query::<&Count>().iter()));
}

#[test]
fn a_frame_whose_simulation_panicked_can_be_loaded() {
    let mut game = Rollback::new(World::new(), 2).unwrap();
    game.advance(&(), |world, ()| _ = world.spawn(Count(1))).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        game.advance(&(), |world, ()| {
            world.clear();
            panic!("in the middle of a frame");
        })
    }));
    assert!(panicked.is_err());
    game.load(1).unwrap();
    assert_eq!((game.frame(), game.world().len()), (1, 1));
}

#[test]
fn a_game_goes_on_with_the_frame_numbers_of_another() {
    let mut game = Rollback::new(World::new(), 4).unwrap().at_frame(1000).unwrap();
    assert_eq!((game.frame(), game.oldest()), (1000, 1000));
    assert!(matches!(game.load(999), Err(RollbackError::NoSuchFrame { frame: 999, oldest: 1000, present: 1000 })));
    for n in 0..6 {
        game.advance(&n, |world, n| _ = world.spawn(Count(*n))).unwrap();
    }
    assert_eq!((game.frame(), game.oldest()), (1006, 1002));
    // A look does not go back.
    assert_eq!(game.at(1003).unwrap().len(), 3);
    assert_eq!((game.frame(), game.world().len()), (1006, 6));
    assert!(game.at(1001).is_err() && game.at(1007).is_err());
    game.load(1002).unwrap();
    assert_eq!((game.frame(), game.world().len()), (1002, 2));
}
