//! Resources that are kept: they go back in time with their world.

use crate::kit::{Position, Tag};
use phalanx::timeline::{Timeline, TimelineError, delta};
use phalanx::{StructuralError, World};
use phalanx_testkit::{AllocationSweep, Counted, PanicSweep, Site, Tally};

#[derive(Clone, Debug, PartialEq)]
struct Score(u32);
#[derive(Clone, Debug, PartialEq)]
struct Names(Vec<String>);
#[derive(Debug, PartialEq)]
struct Window(u32);
#[derive(Clone)]
struct Value(Counted);
#[derive(Clone)]
struct Other(Counted);

fn seen(world: &World) -> [Option<u32>; 4] {
    let names = world.resource::<Names>().ok().map(|names| names.0.len() as u32);
    let (score, window) = (world.resource::<Score>().ok(), world.resource::<Window>().ok());
    [score.map(|score| score.0), names, window.map(|window| window.0), Some(world.len() as u32)]
}

#[test]
fn what_is_kept_comes_back_and_the_rest_is_left_alone() {
    let mut world = World::new();
    world.resources_mut().keep::<Score>();
    world.resources_mut().keep::<Names>();
    world.insert_resource(Score(1));
    world.insert_resource(Window(1));
    let (before, mut timeline) = (world.checkpoint().unwrap(), Timeline::new(3));
    timeline.capture(&mut world).unwrap();
    for round in 0..3 {
        // One is changed, one comes, and then one goes.
        world.resource_mut::<Score>().unwrap().0 = 2;
        world.insert_resource(Names(vec!["Ann".into()]));
        world.resource_mut::<Window>().unwrap().0 = round;
        let later = world.checkpoint().unwrap();
        timeline.capture(&mut world).unwrap();
        world.remove_resource::<Score>().unwrap();
        world.spawn(Tag);
        world.rollback(&later).unwrap();
        assert_eq!(seen(&world), [Some(2), Some(1), Some(round), Some(0)]);
        match round {
            0 => world.rollback(&before).unwrap(),
            _ => timeline.rewind(&mut world, 1).unwrap(),
        }
        assert_eq!(seen(&world), [Some(1), None, Some(round), Some(0)]);
        if round == 0 {
            timeline.rewind(&mut world, 0).unwrap();
            assert_eq!(seen(&world), [Some(2), Some(1), Some(round), Some(0)]);
            timeline.rewind(&mut world, 1).unwrap();
        }
    }
    world.rollback(&before).unwrap();
    world.validate().unwrap();
}

#[test]
fn what_is_not_covered_is_listed_by_name() {
    let mut world = World::new();
    let mut timeline = Timeline::new(1);
    world.insert_resource(Window(1));
    world.insert_resource(Score(1));
    world.insert_resource(Names(Vec::new()));
    world.resources_mut().keep::<Names>();
    let short = |names: &mut dyn Iterator<Item = &'static str>| {
        names.map(|name| name.rsplit("::").next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(short(&mut timeline.uncovered_resources(&world)), ["Score", "Window"]);
    timeline.capture(&mut world).unwrap();
    let before = world.checkpoint().unwrap();
    world.resources_mut().keep::<Score>();
    // Kept too late for either; so it is left alone.
    assert_eq!(short(&mut before.uncovered_resources(&world)), ["Score", "Window"]);
    timeline.capture(&mut world).unwrap();
    assert_eq!(short(&mut timeline.uncovered_resources(&world)), ["Score", "Window"]);
    world.resource_mut::<Score>().unwrap().0 = 9;
    world.rollback(&before).unwrap();
    assert_eq!(world.resource(), Ok(&Score(9)));
    timeline.rewind(&mut world, 0).unwrap();
    assert_eq!(world.resource(), Ok(&Score(1)));
    // The frame that does not cover it is forgotten.
    timeline.capture(&mut world).unwrap();
    timeline.capture(&mut world).unwrap();
    assert_eq!(short(&mut timeline.uncovered_resources(&world)), ["Window"]);
    world
        .resource_scope(|world, _: &mut Window| {
            assert_eq!(short(&mut timeline.uncovered_resources(world)), ["Window"]);
        })
        .unwrap();
    world.remove_resource::<Window>().unwrap();
    assert_eq!(short(&mut world.checkpoint().unwrap().uncovered_resources(&world)), [""; 0]);
}

#[test]
fn a_kept_resource_in_a_scope_is_an_error_and_nothing_happens() {
    let mut world = World::new();
    world.resources_mut().keep::<Score>();
    world.insert_resource(Score(1));
    let (before, mut timeline) = (world.checkpoint().unwrap(), Timeline::new(2));
    timeline.capture(&mut world).unwrap();
    timeline.capture(&mut world).unwrap();
    world.spawn(Tag);
    let scope = |world: &mut World, score: &mut Score| {
        score.0 = 2;
        let error = world.checkpoint().unwrap_err();
        assert!(matches!(error, TimelineError::Resource(error) if error.in_scope), "{error}");
        assert_eq!(timeline.capture(world), Err(error));
        assert_eq!(world.rollback(&before), Err(error));
        assert_eq!(timeline.rewind(world, 1), Err(error));
        assert_eq!(timeline.len(), 1);
        assert!(matches!(world.try_clone(), Err(StructuralError::Resource(error)) if error.in_scope));
    };
    world.resource_scope(scope).unwrap();
    assert_eq!((world.resource(), world.len()), (Ok(&Score(2)), 1));
    // One that is not kept does not matter.
    world.insert_resource(Window(1));
    world.resource_scope(|world, _: &mut Window| world.rollback(&before).unwrap()).unwrap();
    assert_eq!((world.resource(), world.resource(), world.len()), (Ok(&Score(1)), Ok(&Window(1)), 0));
}

#[test]
fn a_clone_has_what_is_kept_and_keeps_it() {
    let mut world = World::new();
    world.resources_mut().keep::<Names>();
    world.resources_mut().keep::<Score>();
    world.insert_resource(Score(1));
    world.insert_resource(Window(1));
    let mut copy = world.try_clone().unwrap();
    assert_eq!(seen(&copy), [Some(1), None, None, Some(0)]);
    let before = copy.checkpoint().unwrap();
    copy.resource_mut::<Score>().unwrap().0 = 2;
    copy.insert_resource(Names(Vec::new()));
    copy.rollback(&before).unwrap();
    assert_eq!(seen(&copy), [Some(1), None, None, Some(0)]);
    assert_eq!(seen(&world), [Some(1), None, Some(1), Some(0)]);
}

#[test]
fn a_delta_leaves_resources_alone() {
    let mut here = World::new();
    here.resources_mut().keep::<Score>();
    here.insert_resource(Score(1));
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    here.resource_mut::<Score>().unwrap().0 = 2;
    here.spawn(Position([1; 3]));
    there.register_component::<Position>();
    there.resource_mut::<Score>().unwrap().0 = 3;
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!((there.resource(), there.len()), (Ok(&Score(3)), 1));
}

/// A world with kept resources, one of which is there now and one was there at the checkpoint and at the first frame.
fn prepared(tally: &Tally) -> (World, phalanx::timeline::Checkpoint, Timeline) {
    let mut world = World::new();
    world.resources_mut().keep::<Value>();
    world.resources_mut().keep::<Other>();
    world.insert_resource(Value(tally.value(1)));
    world.spawn(Tag);
    let (before, mut timeline) = (world.checkpoint().unwrap(), Timeline::new(4));
    timeline.capture(&mut world).unwrap();
    world.resource_mut::<Value>().unwrap().0.set_key(2);
    world.insert_resource(Other(tally.value(3)));
    world.spawn(Tag);
    timeline.capture(&mut world).unwrap();
    (world, before, timeline)
}

fn keys(world: &World) -> (Option<u32>, Option<u32>, usize) {
    let (value, other) = (world.resource::<Value>().ok(), world.resource::<Other>().ok());
    (value.map(|value| value.0.key()), other.map(|other| other.0.key()), world.len())
}

const NOW: (Option<u32>, Option<u32>, usize) = (Some(2), Some(3), 2);
const THEN: (Option<u32>, Option<u32>, usize) = (Some(1), None, 1);

#[test]
fn h60_without_memory_nothing_is_kept_copied_or_put_back() {
    let tally = Tally::new();
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let points = sweep.run(
            World::new,
            |world| world.resources_mut().try_keep::<Score>().map_err(TimelineError::from),
            |world, outcome| {
                world.insert_resource(Score(1));
                let before = world.checkpoint().unwrap();
                world.resource_mut::<Score>().unwrap().0 = 2;
                world.rollback(&before).unwrap();
                assert_eq!(world.resource(), Ok(&Score(if outcome.is_ok() { 1 } else { 2 })));
            },
        );
        assert!(points >= 2, "{points} allocations failed");
        let points = sweep.run(
            || prepared(&tally),
            |(world, before, timeline)| {
                drop(world.checkpoint()?);
                timeline.capture(world)?;
                drop(world.try_clone().map_err(|_| TimelineError::Foreign)?);
                world.rollback_with_report(before).map(drop)
            },
            |(world, before, timeline), outcome| {
                world.validate().unwrap();
                assert_eq!(keys(world), if outcome.is_ok() { THEN } else { NOW });
                timeline.rewind(world, 0).unwrap();
                assert_eq!(keys(world), NOW);
                world.rollback(before).unwrap();
                assert_eq!(keys(world), THEN);
            },
        );
        assert!(points > 40, "{points} allocations failed");
        let points = sweep.run(
            || prepared(&tally),
            |(world, _, timeline)| timeline.rewind_with_report(world, 1).map(drop),
            |(world, _, timeline), outcome| {
                world.validate().unwrap();
                assert_eq!(keys(world), if outcome.is_ok() { THEN } else { NOW });
                let back = timeline.len();
                timeline.rewind(world, back).unwrap();
                assert_eq!(keys(world), THEN);
            },
        );
        assert!(points > 7, "{points} allocations failed");
    }
    tally.assert_no_leaks();
}

type Way = fn(&mut World, &phalanx::timeline::Checkpoint, &mut Timeline);

#[test]
fn a_clone_that_panics_changes_nothing_and_a_destructor_that_panics_comes_last() {
    let ways: [(Way, bool); 5] = [
        (|world, _, _| drop(world.checkpoint().unwrap()), false),
        (|world, _, timeline| timeline.capture(world).unwrap(), false),
        (|world, _, _| drop(world.try_clone().unwrap()), false),
        (|world, before, _| world.rollback(before).unwrap(), true),
        (|world, _, timeline| timeline.rewind(world, 1).unwrap(), true),
    ];
    for (site, (at, (way, is_back))) in
        [Site::Clone, Site::Drop].into_iter().flat_map(|site| ways.into_iter().enumerate().map(move |way| (site, way)))
    {
        let points = PanicSweep::new(site).run(
            prepared,
            |(world, before, timeline), _| way(world, before, timeline),
            |(world, before, timeline), _, panicked| {
                world.validate().unwrap();
                // A rewind drops the frames that it forgets before it goes back.
                let is_done = !panicked || (site == Site::Drop && (at == 3 || keys(world) == THEN));
                assert_eq!(keys(world), if is_back && is_done { THEN } else { NOW }, "way {at}");
                if site == Site::Clone && panicked {
                    assert_eq!(timeline.len(), 1, "way {at}");
                }
                world.rollback(before).unwrap();
                assert_eq!(keys(world), THEN);
                let back = timeline.len();
                timeline.rewind(world, back).unwrap();
                assert_eq!(keys(world), THEN);
            },
        );
        assert!(points > 0 || (site == Site::Drop && !is_back), "{site:?} {at}: {points} panics");
    }
}
