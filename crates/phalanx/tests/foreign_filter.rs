//! Filters of users that hold on to the state of another world.

use phalanx::query::{Candidate, Filter};
use phalanx::{Changed, Component, Components, Signature, World};
use std::sync::Mutex;

#[derive(Component)]
#[component(track = "row")]
struct There(u32);
#[derive(Component)]
struct Here(u32);
#[derive(Component)]
#[component(track = "column")]
struct Void;

type Watching = <Changed<There> as Filter>::State;
static STATE: Mutex<Option<Watching>> = Mutex::new(None);

/// Keeps the state of the first world that it is asked for.
struct Keeper;

impl Filter for Keeper {
    type State = Watching;
    const SIDES: bool = true;
    fn state(components: &Components) -> Watching {
        *STATE.lock().unwrap().get_or_insert_with(|| <Changed<There> as Filter>::state(components))
    }
    fn passes(_: &Watching, _: &Signature) -> bool {
        true
    }
    fn passes_row(state: &Watching, row: &Candidate<'_>) -> bool {
        <Changed<There> as Filter>::passes_row(state, row)
    }
}

#[test]
fn the_state_of_another_world_finds_nothing() {
    let mut there = World::new();
    there.spawn(There(1));
    assert_eq!(there.query::<&There>().filter::<Keeper>().iter().map(|c| c.0).sum::<u32>(), 1);
    let mut here = World::new();
    here.spawn((Here(7), Void)); // has the number here that the other component has there
    assert_eq!(here.query::<&Here>().filter::<Keeper>().iter().map(|d| d.0).sum::<u32>(), 0);
}
