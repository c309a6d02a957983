//! Short-lived components: removed from every entity at once, in every layout.

use phalanx::group::Owned;
use phalanx::{Component, Entity, Removal, World};
use phalanx_testkit::{Counted, Site, Tally, catch};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

macro_rules! kinds {
    ($($name:ident $layout:literal)*) => {$(
        #[derive(Component)]
        #[component(layout = $layout)]
        struct $name(#[allow(dead_code)] Counted);
    )*};
}
kinds!(Stay "table" Row "table" Pooled "pool" Lined "linear");

#[derive(Component)]
#[component(layout = "pool")]
struct Mark;

fn world(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all: Vec<_> = (0..200).map(|n| world.spawn(Stay(tally.value(n)))).collect();
    for (n, e) in all.iter().enumerate() {
        if n % 2 == 0 {
            world.insert(*e, (Pooled(tally.value(0)), Row(tally.value(0)))).unwrap();
        }
        if n % 3 == 0 {
            world.insert(*e, (Lined(tally.value(0)), Mark)).unwrap();
        }
    }
    (world, all)
}

#[test]
fn all_are_gone_and_nothing_else_is() {
    let tally = Tally::new();
    let (mut world, all) = world(&tally);
    let live = tally.live();
    assert_eq!((world.component_mut::<Pooled>().clear(), tally.live()), (100, live - 100));
    world.validate().unwrap();
    assert_eq!((world.component_mut::<Lined>().clear(), tally.live()), (67, live - 167));
    world.validate().unwrap();
    assert_eq!((world.component_mut::<Row>().clear(), tally.live()), (100, live - 267));
    assert_eq!((world.component_mut::<Mark>().clear(), world.component_mut::<Mark>().clear()), (67, 0));
    world.validate().unwrap();
    assert!(all.iter().all(|e| world.has::<Stay>(*e) && !world.has::<Pooled>(*e) && !world.has::<Lined>(*e)));
    // The stores are as good as new.
    world.insert(all[7], (Pooled(tally.value(1)), Lined(tally.value(2)), Mark)).unwrap();
    assert_eq!(world.query::<(Entity, &Pooled, &Lined)>().iter().map(|(e, ..)| e).collect::<Vec<_>>(), [all[7]]);
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn holes_groups_and_listeners_are_kept_right() {
    let tally = Tally::new();
    let (mut holes, all) = world(&tally);
    holes.pool_mut::<Pooled>().set_removal(Removal::Deferred).unwrap();
    holes.remove::<Pooled>(all[4]).unwrap();
    assert_eq!(holes.component_mut::<Pooled>().clear(), 99);
    holes.validate().unwrap();

    let (mut grouped, all) = world(&tally);
    let group = grouped.create_group::<Owned<(Pooled, Mark)>>().unwrap();
    assert_eq!(group.len(&grouped), 34);
    assert_eq!(grouped.component_mut::<Mark>().clear(), 67);
    assert!(group.is_empty(&grouped));
    grouped.validate().unwrap();
    grouped.insert(all[0], Mark).unwrap();
    assert_eq!(group.len(&grouped), 1);

    let (mut heard, _) = world(&tally);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    heard.on_remove::<Lined>(move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!((heard.component_mut::<Lined>().clear(), count.load(Ordering::Relaxed)), (67, 67));
    heard.validate().unwrap();
    drop((holes, grouped, heard));
    tally.assert_no_leaks();
}

#[test]
fn a_destructor_that_panics_leaves_none_behind() {
    let tally = Tally::new();
    for n in [1, 2, 50, 67] {
        let (mut world, _) = world(&tally);
        tally.arm(Site::Drop, n);
        assert!(catch(|| world.component_mut::<Lined>().clear()).is_err());
        tally.disarm(Site::Drop);
        assert!(world.query::<&Lined>().is_empty());
        world.validate().unwrap();
        tally.arm(Site::Drop, n);
        assert!(catch(|| world.component_mut::<Pooled>().clear()).is_err());
        tally.disarm(Site::Drop);
        assert!(world.query::<&Pooled>().is_empty());
        world.validate().unwrap();
    }
    tally.assert_sound();
}
