//! Failing allocations, and destructors and clones that panic, with components of all layouts.

use super::operations::{L, Look, P, Seen, T, Tag, Wide, group, look, populated};
use phalanx::{CommandBuffer, Component, Entity, Key, Role, RowError, StructuralError, With, World};
use phalanx_testkit::{AllocationSweep, PanicSweep, Site, Tally};

type Columns = (Vec<P>, Vec<T>, Vec<L>, Vec<Seen>);

/// What the operations work on.
struct Kit {
    world: World,
    other: World,
    empty: World,
    copy: Option<World>,
    all: Vec<Entity>,
    commands: CommandBuffer,
    columns: Option<Columns>,
}

#[derive(Component)]
#[component(layout = "pool")]
struct New(#[allow(dead_code)] phalanx_testkit::Counted);
#[derive(Component)]
#[component(layout = "linear")]
struct NewToo(#[allow(dead_code)] phalanx_testkit::Counted);

fn kit(tally: &Tally) -> Kit {
    let (mut world, all) = populated(tally);
    let (mut other, _) = populated(tally);
    [&mut world, &mut other].into_iter().for_each(group);
    let mut commands = CommandBuffer::new();
    commands.insert(all[1], (P(tally.value(1)), New(tally.value(1))));
    commands.insert(all[1], (P(tally.value(2)), T(tally.value(2)), L(tally.value(2))));
    commands.despawn(all[0]);
    commands.despawn(all[9]);
    for n in 0..70 {
        commands.spawn((P(tally.value(n)), L(tally.value(n)), Tag));
    }
    commands.add_row(Key::main(all[2]).with_role(Role(1)), (NewToo(tally.value(1)), P(tally.value(3))));
    commands.insert_into_row(Key::main(all[2]).with_role(Role(1)), (P(tally.value(4)), Wide(1)));
    commands.add_row(Key::main(all[3]).with_role(Role(1)), P(tally.value(4)));
    commands.remove_row(Key::main(all[3]).with_role(Role(1)));
    commands.remove::<(P, T)>(all[4]);
    commands.remove::<L>(all[8]);
    let values = || tally.values(100);
    let columns = (values().map(P).collect(), values().map(T).collect(), values().map(L).collect(), vec![Seen; 100]);
    Kit { world, other, empty: World::new(), copy: None, all, commands, columns: Some(columns) }
}

impl Kit {
    fn look(&self) -> [Vec<Look>; 3] {
        [&self.world, &self.other, &self.empty].map(|world| look(world, 0))
    }
}

fn change<T>(outcome: Result<T, StructuralError>) -> Result<(), ()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(StructuralError::Alloc(_)) => Err(()),
        Err(error) => panic!("{error}"),
    }
}

fn row<T>(outcome: Result<T, RowError>) -> Result<(), ()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(RowError::Alloc(_)) => Err(()),
        Err(error) => panic!("{error}"),
    }
}

type Act = (&'static str, fn(&mut Kit, &Tally) -> Result<(), ()>);

const ACTS: &[Act] = &[
    ("spawn", |kit, tally| {
        change(kit.world.try_spawn((New(tally.value(1)), NewToo(tally.value(2)), T(tally.value(3)))))
    }),
    ("insert", |kit, tally| {
        change(kit.world.try_insert(kit.all[0], (New(tally.value(1)), P(tally.value(2)), L(tally.value(3)))))
    }),
    ("remove", |kit, _| change(kit.world.try_remove::<(P, T, Seen)>(kit.all[0]))),
    ("exchange", |kit, tally| {
        change(kit.world.exchange::<(P, T), _>(kit.all[0], (New(tally.value(1)), L(tally.value(1)))))
    }),
    ("spawn_keyed", |kit, tally| {
        row(kit.world.spawn_keyed(None, Role(1), (New(tally.value(1)), P(tally.value(1)), Tag)))
    }),
    ("add_row", |kit, tally| {
        row(kit
            .world
            .try_add_row(Key::main(kit.all[1]).with_role(Role(1)), (L(tally.value(1)), NewToo(tally.value(1)))))
    }),
    ("RowMut::insert", |kit, tally| {
        row(kit
            .world
            .row_mut(Key::main(kit.all[0]).with_role(Role(1)))
            .and_then(|mut row| row.try_insert((P(tally.value(1)), T(tally.value(1)), Wide(1)))))
    }),
    ("remove_row", |kit, _| row(kit.world.remove_row(Key::main(kit.all[0]).with_role(Role(1))))),
    ("despawn", |kit, _| change(kit.world.try_despawn(kit.all[0]))),
    ("commands", |kit, _| change(kit.commands.try_apply(&mut kit.world).map_err(|error| error.error))),
    ("insert_where", |kit, tally| {
        let bundle = (P(tally.value(1)), L(tally.value(2)), Wide(3));
        change(kit.world.try_insert_where::<With<T>, _>(bundle))
    }),
    ("insert_where by pool", |kit, tally| change(kit.world.try_insert_where::<With<P>, _>((T(tally.value(2)), Tag)))),
    ("insert_where into all", |kit, tally| {
        change(kit.world.try_insert_where::<(), _>((P(tally.value(1)), T(tally.value(2)))))
    }),
    ("remove_where", |kit, _| change(kit.world.try_remove_where::<(), (P, L, T)>())),
    ("spawn_columns", |kit, _| {
        let columns = kit.columns.take().unwrap();
        change(kit.world.spawn_columns(columns).map(drop))
    }),
    ("clone_entity", |kit, _| change(kit.world.entity_mut(kit.all[0]).unwrap().clone_entity())),
    ("clone_entity without rows", |kit, _| change(kit.world.entity_mut(kit.all[1]).unwrap().clone_entity())),
    ("try_clone", |kit, _| change(kit.world.try_clone().map(|copy| kit.copy = Some(copy)))),
    ("transfer", |kit, _| change(kit.world.entity_mut(kit.all[0]).unwrap().transfer(&mut kit.other))),
    ("transfer to a new world", |kit, _| change(kit.world.entity_mut(kit.all[8]).unwrap().transfer(&mut kit.empty))),
    ("transfer_all", |kit, _| change(kit.world.transfer_all(&mut kit.other))),
    ("clear", |kit, _| change(kit.world.try_clear())),
];

fn without_memory(sweep: AllocationSweep) {
    for (name, act) in ACTS {
        sweep.run(
            || {
                let tally = Tally::new();
                let kit = kit(&tally);
                let before = kit.look();
                (Some(kit), before, tally)
            },
            |(kit, _, tally)| act(kit.as_mut().unwrap(), tally),
            |(kit, before, tally), outcome| {
                let kit = kit.take().unwrap();
                assert_eq!((kit.world.validate(), kit.other.validate()), (Ok(()), Ok(())), "{name}");
                if outcome.is_err() {
                    assert_eq!(kit.look(), *before, "{name}");
                }
                if let Some(copy) = &kit.copy {
                    assert_eq!(look(copy, 0), look(&kit.world, 0));
                }
                drop(kit);
                tally.assert_no_leaks();
            },
        );
    }
}

#[test]
fn operations_without_memory_leave_components_of_all_layouts_alone() {
    without_memory(AllocationSweep::new());
}

#[test]
fn operations_in_exhausted_memory_leave_components_of_all_layouts_alone() {
    without_memory(AllocationSweep::new().persistent());
}

/// Every event at a site panics in turn. The operation stands, or has not happened.
fn with_panics(site: Site) -> u64 {
    let mut points = 0;
    for (name, act) in ACTS {
        let done = {
            let tally = Tally::new();
            let mut kit = kit(&tally);
            act(&mut kit, &tally).unwrap();
            kit.look()
        };
        points += PanicSweep::new(site).run(
            |tally| {
                let kit = kit(tally);
                let before = kit.look();
                (kit, before)
            },
            |(kit, _), tally| act(kit, tally).unwrap(),
            |(kit, before), _, _| {
                assert_eq!((kit.world.validate(), kit.other.validate()), (Ok(()), Ok(())), "{name}");
                let after = kit.look();
                assert!(after == done || (after == *before && site != Site::Drop), "{name}");
                assert!(!matches!(*name, "commands") || kit.commands.is_empty());
            },
        );
    }
    points
}

#[test]
fn destructors_that_panic_end_values_of_all_layouts_once() {
    let points = with_panics(Site::Drop);
    assert!(points > 80, "{points}");
}

#[test]
fn clones_that_panic_change_nothing_in_any_layout() {
    let points = with_panics(Site::Clone);
    assert!(points > 40, "{points}");
}
