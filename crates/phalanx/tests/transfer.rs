//! Entities that move to another world.

use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx::{Component, ComponentDescriptor, Entity, World};
use phalanx_testkit::{Counted, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Enemy;
#[derive(Component)]
struct Value(Counted);
#[derive(Component)]
struct Other(Counted);
#[derive(Component, Debug, PartialEq)]
#[component(entities = "Likes::each")]
struct Likes(Vec<Entity>);
impl Likes {
    fn each(&mut self, f: &mut dyn FnMut(&mut Entity)) {
        self.0.iter_mut().for_each(f);
    }
}
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", entities = "Bond::each")]
struct Bond {
    strength: f32,
    to: Entity,
}
impl Bond {
    fn each(&mut self, f: &mut dyn FnMut(&mut Entity)) {
        f(&mut self.to);
    }
}

#[test]
fn an_entity_takes_its_values_along() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    // Other ids, another order of columns.
    there.spawn((Other(tally.value(50)), Enemy));
    here.spawn((Position(0.0), Value(tally.value(0)), Other(tally.value(10))));
    let e = here.spawn((Position(1.0), Value(tally.value(1)), Other(tally.value(11))));
    let f = here.spawn((Position(2.0), Value(tally.value(2)), Other(tally.value(12))));
    let live = tally.live();
    let new = here.transfer(e, &mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((tally.live(), here.contains(e), here.len(), there.len()), (live, false, 2, 2));
    assert_eq!(there.get::<Position>(new), Ok(&Position(1.0)));
    assert_eq!((there.get::<Value>(new).unwrap().0.key(), there.get::<Other>(new).unwrap().0.key()), (1, 11));
    assert_eq!(here.get::<Value>(f).unwrap().0.key(), 2);
    assert!(here.transfer(e, &mut there).is_err());
    let back = there.transfer(new, &mut here).unwrap();
    assert_eq!((back.index(), here.get::<Other>(back).unwrap().0.key()), (e.index(), 11));
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
fn all_entities_keep_what_they_name() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    there.spawn_batch((0..5).map(|n| Position(n as f32)));
    let gone = here.spawn_empty();
    let all: Vec<_> = (0..10).map(|n| here.spawn((Value(tally.value(n)), Position(n as f32)))).collect();
    here.despawn(gone).unwrap();
    for n in 0..10 {
        here.insert(all[n], Likes(vec![all[(n + 1) % 10], gone])).unwrap();
        if n % 2 == 0 {
            here.insert(all[n], Bond { strength: 1.0, to: all[9 - n] }).unwrap();
        }
    }
    let map = here.transfer_all(&mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((here.len(), there.len(), map.len(), map.get(gone), tally.live()), (0, 15, 10, None, 10));
    for n in 0..10 {
        let new = map.get(all[n]).unwrap();
        assert_eq!(there.get::<Value>(new).unwrap().0.key(), n as u32);
        assert_eq!(there.get::<Likes>(new).unwrap().0, [map.get(all[(n + 1) % 10]).unwrap(), gone]);
        assert_eq!(there.get::<Bond>(new).ok().map(|b| b.to), (n % 2 == 0).then(|| map.get(all[9 - n]).unwrap()));
    }
    here.spawn(Enemy);
    here.validate().unwrap();
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
#[allow(unsafe_code)]
fn components_of_run_time_are_known_by_what_they_are() {
    let (mut here, mut there) = (World::new(), World::new());
    let descriptor = |name: &'static str| ComponentDescriptor {
        name: name.into(),
        kind: phalanx::layout::Kind::Table,
        layout: Layout::new::<u64>(),
        drop: None,
        clone: None,
    };
    // SAFETY: numbers can be sent and shared, and need no destructor.
    let (a, _, b_there) = unsafe {
        let b_there = there.register_component(descriptor("transfer b"));
        (here.register_component(descriptor("transfer a")), here.register_component(descriptor("transfer b")), b_there)
    };
    let e = here.spawn(Enemy);
    let mut value = 5_u64;
    // SAFETY: a number, as registered.
    unsafe { here.insert_by_id(e, a, NonNull::from(&mut value).cast()) }.unwrap();
    let new = here.transfer(e, &mut there).unwrap();
    assert!(!there.has_id(new, b_there));
    // SAFETY: numbers can be sent and shared, and need no destructor; the value is there.
    unsafe {
        let a_there = there.register_component(descriptor("transfer a"));
        assert_eq!(there.get_by_id(new, a_there).unwrap().cast::<u64>().read(), 5);
    }
    there.validate().unwrap();
}

#[test]
fn a_move_without_memory_does_not_happen() {
    let setup = |tally: &Tally| {
        let (mut here, mut there) = (World::new(), World::new());
        let all = here.spawn_batch((0..10).map(|n| (Value(tally.value(n)), Enemy)));
        there.spawn_batch((0..64).map(|n| (Enemy, Value(tally.value(n)))));
        (here, there, all)
    };
    let check = |here: &mut World, there: &mut World, moved: usize| {
        here.validate().unwrap();
        there.validate().unwrap();
        assert_eq!((here.len(), there.len()), (10 - moved, 64 + moved));
        assert_eq!(there.query_mut::<&Value>().iter().filter(|v| v.0.key() < 64).count(), 64 + moved);
    };
    let tally = Tally::new();
    let one = for_every_failing_allocation(
        || setup(&tally),
        |(here, there, all)| here.transfer(all[3], there),
        |(here, there, _), outcome| check(here, there, usize::from(outcome.is_ok())),
    );
    let all = for_every_failing_allocation(
        || setup(&tally),
        |(here, there, _)| here.transfer_all(there),
        |(here, there, _), outcome| check(here, there, if outcome.is_ok() { 10 } else { 0 }),
    );
    assert!(one > 4 && all > 4);
    tally.assert_no_leaks();
}
