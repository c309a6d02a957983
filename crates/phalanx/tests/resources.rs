//! Resources: one of each type, taken out and put back whatever happens.

use phalanx::system::{IntoSystem, ParamSet, Res, ResMut};
use phalanx::{NoSuchResource, Plain, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, catch};

#[derive(Debug, PartialEq)]
struct Gravity(f32);
#[derive(Debug, Default, PartialEq)]
struct Score(u32);
struct Kept(Counted);
struct Other(#[expect(dead_code)] Counted);

#[test]
fn a_world_with_resources_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<World>();
}

#[test]
fn one_of_each_type() {
    let mut world = World::new();
    assert!(world.resource::<Gravity>().is_err());
    assert_eq!(world.insert_resource(Gravity(1.0)), None);
    assert_eq!(world.insert_resource(Gravity(2.0)), Some(Gravity(1.0)));
    assert_eq!(world.insert_resource(Score(7)), None);
    world.resource_mut::<Score>().unwrap().0 += 1;
    assert_eq!((world.resource(), world.resource()), (Ok(&Gravity(2.0)), Ok(&Score(8))));
    world.clear();
    assert_eq!(world.remove_resource(), Ok(Gravity(2.0)));
    let error = world.remove_resource::<Gravity>().unwrap_err();
    assert!(error.to_string().contains("Gravity") && !error.in_scope);
    assert!(world.resource_mut::<Gravity>().is_err());
    assert_eq!(world.insert_resource(Gravity(3.0)), None);
    assert_eq!(world.resource(), Ok(&Gravity(3.0)));
}

#[test]
fn what_is_missing_is_made_once() {
    let mut world = World::new();
    world.spawn_empty();
    assert_eq!(*world.resources_mut().init(|world| Score(world.len() as u32)), Score(1));
    assert_eq!(*world.resources_mut().init::<Score>(|_| unreachable!()), Score(1));
    assert!(catch(|| world.resources_mut().init::<Gravity>(|_| panic!("no gravity"))).is_err());
    assert!(world.resource::<Gravity>().is_err());
}

#[test]
fn a_scope_has_the_resource_to_itself() {
    let mut world = World::new();
    assert!(world.resource_scope(|_, _: &mut Score| unreachable!()).is_err());
    world.insert_resource(Score(1));
    let seen = world.resource_scope(|world, score: &mut Score| {
        score.0 += 1;
        let error: NoSuchResource = world.resource::<Score>().unwrap_err();
        assert!(error.in_scope && error.to_string().contains("Score"));
        assert_eq!(world.remove_resource::<Score>(), Err(error));
        assert_eq!(world.resource_scope(|_, _: &mut Score| ()), Err(error));
        assert!(catch(|| world.resources_mut().init(|_| Score(0)).0).is_err());
        world.insert_resource(Gravity(1.0));
        world.spawn_empty()
    });
    assert!(world.contains(seen.unwrap()));
    assert_eq!((world.resource(), world.resource()), (Ok(&Score(2)), Ok(&Gravity(1.0))));
}

#[test]
fn a_scope_that_panics_gives_the_resource_back() {
    let tally = Tally::new();
    let mut world = World::new();
    world.insert_resource(Kept(tally.value(1)));
    let outcome = catch(|| {
        world.resource_scope(|world, kept: &mut Kept| {
            kept.0.set_key(2);
            world.insert_resource(Kept(tally.value(9)));
            panic!("in the scope");
        })
    });
    assert_eq!(outcome.unwrap_err().message(), "in the scope");
    assert_eq!((world.resource::<Kept>().map(|kept| kept.0.key()), tally.live()), (Ok(2), 1));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn destructors_that_panic_end_each_resource_once() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| {
            let mut world = World::new();
            world.insert_resource(Kept(tally.value(1)));
            world.insert_resource(Other(tally.value(2)));
            Some(world)
        },
        |world, tally| {
            let mut world = world.take().unwrap();
            drop(world.insert_resource(Kept(tally.value(3))));
            let _ = world.resource_scope(|world, _: &mut Kept| drop(world.insert_resource(Kept(tally.value(4)))));
        },
        |_, _, _| (),
    );
    assert_eq!(points, 4);
}

#[test]
fn systems_see_the_changes_of_resources_since_their_own_last_run() {
    let mut world = World::new();
    let flags = |score: Option<Res<Score>>| score.map(|score| [score.is_added(), score.is_changed()]);
    let [mut early, mut late] = [flags.into_system(), flags.into_system()];
    assert_eq!(world.run_system(&mut early), None);
    world.insert_resource(Score(1));
    assert_eq!(world.run_system(&mut early), Some([true, true]));
    assert_eq!(world.run_system(&mut early), Some([false, false]));
    world.insert_resource(Score(2));
    assert_eq!(world.run_system(&mut early), Some([false, true]), "replaced, and not added");
    // Reading and comparing change nothing.
    let mut reads =
        (|mut score: ResMut<Score>| (score.0, score.set_if_neq(Score(2)), score.is_changed())).into_system();
    assert_eq!(world.run_system(&mut reads), (2, false, true));
    assert_eq!(world.run_system(&mut reads), (2, false, false));
    assert_eq!(world.run_system(&mut early), Some([false, false]));
    // A system does not see its own writes in its next run; others do.
    let mut writes = (|mut score: ResMut<Score>| {
        let was = score.is_changed();
        score.0 += 1;
        (was, score.is_changed())
    })
    .into_system();
    assert_eq!(world.run_system(&mut writes), (true, true), "the first run");
    assert_eq!(world.run_system(&mut writes), (false, true));
    assert_eq!(world.run_system(&mut early), Some([false, true]));
    assert_eq!(world.run_system(&mut late), Some([true, true]), "the first run");
    // By the world, in place and in a scope.
    *world.resource_mut::<Score>().unwrap() = Score(9);
    assert_eq!(world.run_system(&mut early), Some([false, true]));
    world.resource_mut::<Score>().unwrap().bypass_change_detection().0 = 10;
    assert_eq!(world.run_system(&mut early), Some([false, false]));
    world.resource_scope(|world, score: &mut Score| world.insert_resource(Score(score.0))).unwrap();
    assert_eq!(world.run_system(&mut early), Some([false, true]), "a scope is a change, and adds nothing");
    world.remove_resource::<Score>().unwrap();
    assert_eq!(world.run_system(&mut early), None);
    world.insert_resource(Score(0));
    assert_eq!(world.run_system(&mut early), Some([true, true]));
}

#[test]
fn a_member_of_a_set_sees_the_same_flags_each_time_in_a_run() {
    fn twice(mut set: ParamSet<(Res<Score>, ResMut<Score>)>) -> [bool; 3] {
        [set.p0().is_changed(), set.p1().is_changed(), set.p0().is_changed()]
    }
    let mut world = World::new();
    world.insert_resource(Score(1));
    let mut system = twice.into_system();
    assert_eq!(world.run_system(&mut system), [true; 3]);
    assert_eq!(world.run_system(&mut system), [false; 3]);
    world.resource_mut::<Score>().unwrap().0 = 2;
    assert_eq!(world.run_system(&mut system), [true; 3]);
}

#[derive(Clone, Debug, PartialEq)]
struct Fixed(u32);

#[test]
fn a_rollback_restores_when_kept_resources_have_changed() {
    let mut world = World::new();
    world.resources_mut().keep::<Fixed>();
    world.insert_resource(Fixed(1));
    world.insert_resource(Score(1));
    let flags = |fixed: Res<Fixed>, score: Res<Score>| [fixed.is_changed(), score.is_changed()];
    let [mut ran, mut undone] = [flags.into_system(), flags.into_system()];
    assert_eq!(world.run_system(&mut ran), [true; 2]);
    let before = world.checkpoint().unwrap();
    world.resource_mut::<Fixed>().unwrap().0 = 2;
    world.resource_mut::<Score>().unwrap().0 = 2;
    assert_eq!(world.run_system(&mut undone), [true; 2]);
    world.rollback(&before).unwrap();
    // The run before the checkpoint counts. What was kept is as it was; what was not kept is another value than then.
    assert_eq!(world.run_system(&mut ran), [false, true]);
    assert_eq!(world.run_system(&mut ran), [false; 2]);
    assert_eq!(world.run_system(&mut undone), [true; 2], "its run was undone");
    // A clone has the same ticks; a resource that was removed since comes back with its own.
    let copy = world.try_clone().unwrap();
    let ticks = |world: &World| {
        let fixed = world.resource_ref::<Fixed>().unwrap();
        (fixed.added(), fixed.last_changed())
    };
    assert_eq!(ticks(&copy), ticks(&world));
    let (before, then) = (world.checkpoint().unwrap(), ticks(&world));
    world.clear_trackers();
    world.remove_resource::<Fixed>().unwrap();
    world.insert_resource(Fixed(3));
    assert!(world.resource_ref::<Fixed>().unwrap().is_added());
    world.rollback(&before).unwrap();
    assert_eq!((ticks(&world), world.resource()), (then, Ok(&Fixed(1))));
}

#[test]
fn a_delta_marks_the_resources_that_it_changes() {
    #[derive(Plain, Clone, Copy, Debug, PartialEq)]
    struct Level(u32);
    #[derive(Plain, Clone, Copy, Debug, PartialEq)]
    struct Lives(u32);
    let mut here = World::new();
    here.resources_mut().keep_plain::<Level>();
    here.resources_mut().keep_plain::<Lives>();
    here.insert_resource(Level(1));
    here.insert_resource(Lives(1));
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    here.resource_mut::<Level>().unwrap().0 = 2;
    let bytes = phalanx::timeline::delta(&before, &here.checkpoint().unwrap()).unwrap();
    there.clear_trackers();
    there.apply_delta(&bytes).unwrap();
    let level = there.resource_ref::<Level>().unwrap();
    assert!(level.is_changed() && !level.is_added() && level.0 == 2);
    assert!(!there.resource_ref::<Lives>().unwrap().is_changed());
}

#[test]
fn resources_are_reached_by_id() {
    let tally = Tally::new();
    let mut world = World::new();
    assert_eq!(world.resource_id::<Score>(), None);
    let score = world.register_resource::<Score>();
    assert_eq!(world.resource_id::<Score>(), Some(score));
    assert!(!world.contains_resource::<Score>() && !world.contains_resource_by_id(score));
    assert!(world.resource_by_id(score).unwrap_err().to_string().contains("Score"));
    world.insert_resource(Kept(tally.value(1)));
    let kept = world.resource_id::<Kept>().unwrap();
    // A value of another type comes back, and so does one with an id that was not assigned.
    let value = world.insert_resource_by_id(score, Box::new(Kept(tally.value(2)))).unwrap_err();
    let unknown = phalanx::ResourceId::from_index(99);
    let value = world.insert_resource_by_id(unknown, value).unwrap_err();
    assert!(world.resource_by_id(unknown).is_err() && world.remove_resource_by_id(unknown).is_err());
    let old = world.insert_resource_by_id(kept, value).unwrap().unwrap();
    assert_eq!(old.downcast::<Kept>().unwrap().0.key(), 1);
    assert_eq!(world.resource::<Kept>().unwrap().0.key(), 2);
    world.resource_mut_by_id(kept).unwrap().downcast_mut::<Kept>().unwrap().0.set_key(7);
    assert!(world.insert_resource_by_id(score, Box::new(Score(3))).unwrap().is_none());
    let names: Vec<_> = world.resources().map(|(id, name, _)| (id, name.rsplit(':').next().unwrap())).collect();
    assert_eq!(names, [(score, "Score"), (kept, "Kept")]);
    world
        .resource_scope(|world, _: &mut Score| {
            let error = world.resource_by_id(score).unwrap_err();
            assert!(error.in_scope && world.remove_resource_by_id(score).is_err());
            assert_eq!(world.resources().count(), 1);
        })
        .unwrap();
    assert_eq!(world.remove_resource_by_id(kept).unwrap().downcast::<Kept>().unwrap().0.key(), 7);
    assert_eq!(world.resource_id_of_type(std::any::TypeId::of::<Kept>()), Some(kept));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn changes_by_id_are_recorded() {
    let mut world = World::new();
    let score = world.register_resource::<Score>();
    let flags = |world: &World| world.resource_ref::<Score>().map(|score| [score.is_added(), score.is_changed()]);
    assert!(world.insert_resource_by_id(score, Box::new(Score(1))).unwrap().is_none());
    assert_eq!(flags(&world), Ok([true, true]));
    world.clear_trackers();
    assert_eq!(flags(&world), Ok([false, false]));
    world.resource_mut_by_id(score).unwrap().downcast_mut::<Score>().unwrap().0 = 2;
    assert_eq!(flags(&world), Ok([false, true]));
    world.clear_trackers();
    assert!(world.insert_resource_by_id(score, Box::new(Score(3))).unwrap().is_some());
    assert_eq!(flags(&world), Ok([false, true]));
}
