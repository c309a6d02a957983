//! Groups without memory, and with destructors that panic.

use crate::kit::{A, C, D, L};
use phalanx::group::{Observed, Owned};
use phalanx::{CommandBuffer, Component, Entity, Group, Removal, StructuralError, Without, World};
use phalanx_testkit::{AllocationSweep, Counted, PanicSweep, Site, Tally, for_every_failing_allocation};

type Inner = (Owned<(A, C)>, Without<D>);
type Listed = (Observed<(A, L)>, Without<D>);

struct Scene {
    world: World,
    entities: Vec<Entity>,
    outer: Group<Owned<(A, C)>>,
    inner: Group<Inner>,
    listed: Group<Listed>,
}

impl Scene {
    /// Creates a scene with `count` members. The next insertion may have to grow the list, the pools or the index.
    fn new(count: u64) -> Scene {
        let mut world = World::new();
        let outer = world.create_group().unwrap();
        let (inner, listed) = (world.create_group().unwrap(), world.create_group().unwrap());
        // Everything was done once.
        let e = world.spawn_empty();
        world.insert(e, A(0)).unwrap();
        world.insert(e, (C(0), D)).unwrap();
        world.remove::<D>(e).unwrap();
        world.remove::<A>(e).unwrap();
        world.exchange::<D, _>(e, A(9)).unwrap();
        world.despawn(e).unwrap();
        let mut entities: Vec<_> = (0..count).map(|n| world.spawn((A(n), C(n as u8), L(0)))).collect();
        // One that belongs to the list, and the inner group, but for what it has; one for what it lacks.
        entities.push(world.spawn((A(100), C(1), L(0), D)));
        entities.push(world.spawn(L(7)));
        Scene { world, entities, outer, inner, listed }
    }

    fn look(&self) -> (Vec<Entity>, Vec<Entity>, Vec<Entity>) {
        self.world.validate().unwrap();
        let Scene { world, outer, inner, listed, .. } = self;
        (outer.entities(world).collect(), inner.entities(world).collect(), listed.entities(world).collect())
    }
}

type Act = fn(&mut Scene) -> Result<(), StructuralError>;

#[test]
fn h60_a_group_without_memory_is_as_it_was() {
    let acts: [(&str, Act); 6] = [
        ("spawn", |scene| scene.world.try_spawn((A(1), C(1), L(1))).map(drop)),
        ("insert that lets in", |scene| scene.world.try_insert(scene.entities[scene.entities.len() - 1], A(1))),
        ("remove that lets in", |scene| {
            scene.world.try_remove::<D>(scene.entities[scene.entities.len() - 2]).map(drop)
        }),
        ("take that lets in", |scene| scene.world.take::<D>(scene.entities[scene.entities.len() - 2]).map(drop)),
        ("remove that puts out", |scene| scene.world.try_remove::<A>(scene.entities[0]).map(drop)),
        ("insert that puts out", |scene| scene.world.try_insert(scene.entities[0], D)),
    ];
    let mut points = 0;
    for (name, act) in acts {
        for count in 1..66 {
            for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
                points += sweep.run(
                    || {
                        let scene = Scene::new(count);
                        let before = scene.look();
                        (scene, before)
                    },
                    |(scene, _)| act(scene),
                    |(scene, before), result| {
                        let after = scene.look();
                        assert_eq!(after != *before, result.is_ok(), "{name} among {count}");
                    },
                );
            }
        }
    }
    assert!(points > 50, "{points}");
}

#[test]
fn a_member_whose_removal_lacks_memory_stays_a_member() {
    type Scene = (World, Entity, Group<Observed<(A, L)>>);
    let make = |far: bool| {
        let mut world = World::new();
        let group = world.create_group().unwrap();
        if !far {
            world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
        }
        // The last is beyond the window of an index with few keys.
        let last = (0..if far { 5000 } else { 3 }).map(|_| world.spawn(L(1))).last().unwrap();
        world.insert(last, A(1)).unwrap();
        (world, last, group)
    };
    type Act = fn(&mut Scene) -> Result<(), StructuralError>;
    let acts: [Act; 2] = [
        |(world, entity, _)| world.try_remove::<A>(*entity).map(drop),
        |(world, entity, _)| world.component_mut::<A>().try_remove(*entity).map(drop),
    ];
    for (act, far) in acts.into_iter().flat_map(|act| [(act, false), (act, true)]) {
        let points = AllocationSweep::new().run(
            || make(far),
            act,
            |(world, entity, group), result| {
                world.validate().unwrap();
                assert_eq!((world.has::<A>(*entity), group.len(world)), (result.is_err(), result.is_err().into()));
            },
        );
        assert!(points > 0);
    }
}

#[test]
fn h60_making_and_sorting_groups_without_memory_changes_nothing() {
    let scene = || {
        let mut world = World::new();
        world.spawn_batch((0..40).map(|n| (A(n * 7 % 40), L(n as u16))));
        world.spawn_batch((0..40).map(|n| (A(n), C(n as u8), L(0))));
        let order: Vec<A> = world.pool_mut::<A>().values().to_vec();
        (world, order)
    };
    let points = AllocationSweep::new().run(
        scene,
        |(world, _)| world.create_group::<(Owned<(A, C)>, Observed<L>, Without<D>)>(),
        |(world, order), result| {
            world.validate().unwrap();
            assert_eq!(world.pool_mut::<A>().values() == *order, result.is_err());
        },
    );
    assert!(points >= 5);
    AllocationSweep::new().run(
        scene,
        |(world, _)| world.create_group::<(Observed<(L, A)>, Without<D>)>(),
        |(world, order), result| {
            world.validate().unwrap();
            assert_eq!(world.pool_mut::<A>().values(), order);
            assert!(result.is_err() || result.unwrap().len(world) == 80);
        },
    );
    let sorts = AllocationSweep::new().run(
        || {
            let (mut world, _) = scene();
            let outer = world.create_group::<Owned<A>>().unwrap();
            world.create_group::<Owned<(A, C)>>().unwrap();
            let order: Vec<A> = world.pool_mut::<A>().values().to_vec();
            (world, outer, order)
        },
        |(world, outer, _)| outer.try_sort_by(world, |a, b| b.0.cmp(&a.0)),
        |(world, _, order), result| {
            world.validate().unwrap();
            assert_eq!(world.pool_mut::<A>().values() == *order, result.is_err());
        },
    );
    assert_eq!(sorts, 2, "the order, and a copy for the second pool");
    AllocationSweep::new().run(
        scene,
        |(world, _)| world.pool_mut::<A>().sort_by_index(),
        |(world, _), _| world.validate().unwrap(),
    );
    AllocationSweep::new().run(
        World::new,
        |world| world.pool_mut::<A>().set_removal(phalanx::Removal::Deferred),
        |world, _| world.validate().unwrap(),
    );
}

#[test]
fn h15_leaving_a_group_survives_panicking_drop() {
    #[derive(Component)]
    #[component(layout = "pool")]
    struct P(Counted);
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Q(Counted);
    type Scene = (World, Vec<Entity>, Group<Owned<(P, Q)>>, Group<Observed<(P, Q)>>);
    let scene = |tally: &Tally| {
        let mut world = World::new();
        let (owning, listed) = (world.create_group().unwrap(), world.create_group().unwrap());
        let entities = (0..6).map(|n| world.spawn((P(tally.value(n)), Q(tally.value(n))))).collect();
        (world, entities, owning, listed)
    };
    type Case = (fn(&mut Scene, &Tally), usize, u32);
    let acts: [Case; 7] = [
        (|(world, e, ..), _| world.despawn(e[2]).unwrap(), 5, 10),
        (|(world, e, ..), _| assert!(world.remove::<(Q, P)>(e[2]).unwrap()), 5, 10),
        (|(world, e, ..), _| assert!(world.remove::<P>(e[2]).unwrap()), 5, 11),
        (|(world, e, ..), tally| world.insert(e[2], (P(tally.value(2)), Q(tally.value(2)))).unwrap(), 6, 12),
        (|(world, e, ..), tally| world.insert(e[2], Q(tally.value(2))).unwrap(), 6, 12),
        (|(world, e, ..), _| drop(world.component_mut::<Q>().remove(e[2]).unwrap()), 5, 11),
        (|(world, ..), _| world.clear(), 0, 0),
    ];
    for (act, members, live) in acts {
        let points = PanicSweep::new(Site::Drop).run(scene, act, |(world, entities, owning, listed), tally, _| {
            world.validate().unwrap();
            assert_eq!((owning.len(world), listed.len(world)), (members, members), "the operation stands");
            assert_eq!(tally.live(), live, "and each value that went has ended");
            for ((e, p), q) in owning.entities(world).zip(owning.slices(world).0).zip(owning.slices(world).1) {
                assert_eq!((p.0.key(), q.0.key()), (e.index(), e.index()));
                assert!(entities.contains(&e));
            }
        });
        assert!(points > 0);
    }
}

/// The list of a group decides between its window and a page when capacity is reserved, and not again when members enter.
#[test]
fn h60_members_that_enter_in_another_order_than_reserved_do_not_allocate() {
    #[derive(Component, Clone)]
    #[component(layout = "pool")]
    struct Listed(#[allow(dead_code)] u32);
    #[derive(Component, Clone)]
    #[component(layout = "pool")]
    struct Excluded;
    #[derive(Component, Clone)]
    #[component(layout = "pool")]
    struct Text(#[allow(dead_code)] String);

    let setup = || {
        let mut world = World::new();
        let group = world.create_group::<(Observed<Listed>, Without<Excluded>)>().unwrap();
        world.spawn_batch((0..2000).map(Listed));
        let enters = world.spawn((Listed(0), Excluded));
        let rest = world.spawn_batch((0..6010).map(|_| Text("old".to_owned())));
        let far = *rest.iter().find(|entity| entity.index() == 8005).unwrap();
        let mut commands = CommandBuffer::new();
        commands.remove::<Excluded>(enters);
        commands.insert(far, (Listed(1), Text("new".to_owned())));
        (world, commands, group)
    };
    for_every_failing_allocation(
        setup,
        |(world, commands, _)| commands.try_apply(world),
        |(world, _, group), outcome| {
            world.validate().unwrap();
            let members = if outcome.is_ok() { 2002 } else { 2000 };
            assert_eq!(group.len(world), members);
            world.clear();
            world.validate().unwrap();
        },
    );
}
