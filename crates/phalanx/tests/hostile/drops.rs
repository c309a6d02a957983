//! Destructors that panic, at each value in turn.
//!
//! After each: the operation stands, every entity is wholly in one table, and each value was dropped once.

use crate::kit::{A, B, C, Position, Tag, Velocity};
use phalanx::{Component, Entity, World};
use phalanx_testkit::{Align64, PanicSweep, Site, Tally, Zst, in_child, measure_zst};

struct Scene {
    world: World,
    entities: Vec<Entity>,
}

/// Six entities in three tables, the middle one between two neighbours in each.
fn scene(tally: &Tally) -> Scene {
    let mut world = World::new();
    let mut entities = Vec::new();
    for n in 0..3 {
        entities.push(world.spawn((A::new(tally, n), Position(n as f32), B::new(tally, n), Tag)));
        entities.push(world.spawn((A::new(tally, n), C::new(tally, n))));
    }
    world.spawn_empty();
    Scene { world, entities }
}

/// That what entities have agrees with itself: keys are alike in all columns of a row, and everyone else is where it was.
fn check(scene: &mut Scene, touched: &[Entity]) {
    scene.world.validate().unwrap();
    for (e, a, b, c, p) in scene.world.query::<(Entity, Option<&A>, Option<&B>, Option<&C>, Option<&Position>)>().iter()
    {
        if touched.contains(&e) {
            continue;
        }
        let Some(n) = scene.entities.iter().position(|other| *other == e) else { continue };
        let key = n as u32 / 2;
        assert_eq!(a.unwrap().0.key(), key);
        assert_eq!((b.is_some(), c.is_some(), p.is_some()), (n % 2 == 0, n % 2 == 1, n % 2 == 0));
        assert!(b.is_none_or(|b| b.0.key() == key) && c.is_none_or(|c| c.0.key() == key));
    }
    // Usable: a row of every kind comes and goes.
    let e = scene.world.spawn(Velocity(0.0));
    scene.world.insert(e, Position(0.0)).unwrap();
    scene.world.despawn(e).unwrap();
    scene.world.validate().unwrap();
}

#[test]
fn h11_clearing_a_world_survives_panicking_drop() {
    let points = PanicSweep::new(Site::Drop).run(
        scene,
        |scene, _| scene.world.clear(),
        |scene, tally, _| {
            assert_eq!((scene.world.len(), tally.live()), (0, 0), "all ended");
            assert!(scene.entities.iter().all(|e| !scene.world.contains(*e)));
            check(scene, &[]);
        },
    );
    assert_eq!(points, 12);
}

#[test]
fn h12_row_removal_survives_panicking_drop() {
    for at in 0..6 {
        let points = PanicSweep::new(Site::Drop).run(
            scene,
            |scene, _| scene.world.despawn(scene.entities[at]).unwrap(),
            |scene, tally, _| {
                let gone = scene.entities[at];
                assert!(!scene.world.contains(gone) && scene.world.get::<A>(gone).is_err());
                assert_eq!(tally.live(), 10, "both of its values ended");
                check(scene, &[gone]);
            },
        );
        assert_eq!(points, 2);
    }
    // A batch stops where the destructor panicked. The entities after it stay alive.
    PanicSweep::new(Site::Drop).run(
        scene,
        |scene, _| drop(scene.world.despawn_batch(scene.entities.clone())),
        |scene, tally, _| {
            assert_eq!(scene.world.query::<&A>().len() * 2, tally.live() as usize);
            check(scene, &[]);
        },
    );
}

#[test]
fn h13_overwrite_survives_panicking_drop() {
    for at in 0..6 {
        // In place, and on the way to another table.
        let acts: [fn(&mut World, Entity, &Tally); 3] = [
            |world, e, tally| world.insert(e, A::new(tally, 50)).unwrap(),
            |world, e, tally| world.insert(e, (Velocity(1.0), A::new(tally, 50))).unwrap(),
            |world, e, tally| drop(world.replace(e, A::new(tally, 50)).unwrap()),
        ];
        for act in acts {
            let points = PanicSweep::new(Site::Drop).run(
                scene,
                |scene, tally| act(&mut scene.world, scene.entities[at], tally),
                |scene, tally, _| {
                    let e = scene.entities[at];
                    assert_eq!(scene.world.get::<A>(e).unwrap().0.key(), 50, "the new value is there");
                    assert_eq!(tally.live(), 12, "and the old one ended");
                    check(scene, &[e]);
                },
            );
            assert_eq!(points, 1);
        }
    }
}

#[test]
fn h14_dropping_a_world_survives_panicking_drop() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| Some(scene(tally).world),
        |world, _| drop(world.take()),
        |_, tally, _| assert_eq!(tally.live(), 0, "the rest is dropped all the same"),
    );
    assert_eq!(points, 12);
}

/// Panics in every drop, as no `Counted` does.
#[derive(Component)]
struct Bomb;
#[derive(Component)]
struct Other(u64);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("first, and again");
    }
}
impl Drop for Other {
    fn drop(&mut self) {
        panic!("second, of {}", self.0);
    }
}

#[test]
fn h14_a_second_panic_aborts() {
    let output = in_child("drops::h14_a_second_panic_aborts", || {
        let mut world = World::new();
        let e = world.spawn((Bomb, Other(1)));
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.despawn(e)));
    });
    assert!(!output.status.success(), "two destructors that panic in one row end the process");
}

#[test]
fn h16_moving_between_tables_survives_panicking_drop() {
    for at in [0, 2, 4] {
        let acts: [(fn(&mut World, Entity, &Tally), u32); 5] = [
            (|world, e, _| assert!(world.remove::<A>(e).unwrap()), 1),
            (|world, e, _| assert!(world.remove::<(B, Position, A)>(e).unwrap()), 2),
            (|world, e, _| drop(world.take::<(B, A)>(e).unwrap()), 2),
            (|world, e, tally| world.insert(e, (B::new(tally, 9), C::new(tally, 9))).unwrap(), 1),
            (|world, e, tally| world.insert(e, (A::new(tally, 9), Velocity(1.0), B::new(tally, 9))).unwrap(), 2),
        ];
        for (number, (act, ends)) in acts.into_iter().enumerate() {
            let points = PanicSweep::new(Site::Drop).run(
                scene,
                |scene, tally| act(&mut scene.world, scene.entities[at], tally),
                |scene, tally, _| {
                    let e = scene.entities[at];
                    // The move stands, whole.
                    let has = (scene.world.has::<A>(e), scene.world.has::<B>(e), scene.world.has::<C>(e));
                    let wanted = match number {
                        0 => (false, true, false),
                        1 | 2 => (false, false, false),
                        3 => (true, true, true),
                        _ => (true, true, false),
                    };
                    assert_eq!((number, has), (number, wanted));
                    assert_eq!(tally.live(), tally.made() - ends);
                    let rows = scene.world.query::<Entity>().iter().filter(|other| *other == e).count();
                    assert_eq!(rows, 1, "in one table");
                    check(scene, &[e]);
                },
            );
            assert_eq!(points, u64::from(ends));
        }
    }
}

#[derive(Component)]
struct Mark(
    #[allow(dead_code)] // Held for its end.
    Zst<Align64>,
);

#[test]
fn h15_values_without_size_end_with_the_rest_when_another_panics() {
    let acts: [fn(&mut World, Entity); 4] = [
        |world, e| world.despawn(e).unwrap(),
        |world, e| assert!(world.remove::<(A, Mark)>(e).unwrap()),
        |world, _| world.clear(),
        |world, _| drop(core::mem::take(world)),
    ];
    for act in acts {
        let (_, usage) = measure_zst(|| {
            PanicSweep::new(Site::Drop).run(
                |tally| {
                    let mut world = World::new();
                    let mut spawn = |n| world.spawn((A::new(tally, n), Mark(Zst::new()), B::new(tally, n)));
                    let e = [spawn(0), spawn(1), spawn(2)][1];
                    (world, e)
                },
                |(world, e), _| act(world, *e),
                |(world, _), _, _| world.validate().unwrap(),
            )
        });
        assert_eq!((usage.dropped, usage.misaligned), (usage.made, 0));
        assert!(usage.made > 3);
    }
}
