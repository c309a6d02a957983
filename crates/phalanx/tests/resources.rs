//! Resources: one of each type, taken out and put back whatever happens.

use phalanx::{NoSuchResource, World};
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
    assert_eq!(world.resources_mut().init(|world| Score(world.len() as u32)), &mut Score(1));
    assert_eq!(world.resources_mut().init::<Score>(|_| unreachable!()), &mut Score(1));
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
