//! Failing allocations where a world uses something for the first time: components, bundles, tables, edges.
//!
//! Each run begins with a new world, so that what the operation finds out about bundles is among what it allocates. After a
//! failure the world is as it was, and the operation, done again, leads where it leads in a world without failures.
#![allow(unsafe_code)]

use crate::kit::{A, B, Position, Spin, Tag, Velocity};
use phalanx::store::AllocError;
use phalanx::{
    BundleBuilder, CommandBuffer, Component, ComponentDescriptor, ComponentId, Entity, Key, Role, RowError,
    StructuralError, With, World,
};
use phalanx_testkit::{AllocationSweep, Tally};
use std::alloc::Layout;
use std::fmt::Write;
use std::ptr::NonNull;

#[derive(Component, Clone)]
#[component(clone)]
struct Copied(u32);

#[derive(phalanx::Bundle)]
struct Pair {
    copied: Copied,
    rest: (Velocity, Tag),
}

const SPIN: Spin = Spin { axis: 1, speed: 2.0 };
const EXTRA: Role = Role(1);

/// What the operations work on.
struct Kit {
    world: World,
    other: World,
    copy: Option<World>,
    /// An entity with an `A` and a `Position`.
    e: Entity,
    commands: CommandBuffer,
    builder: BundleBuilder,
    columns: (Vec<Velocity>, Vec<Spin>, Vec<Copied>),
    reserved: Vec<Entity>,
    ids: Vec<ComponentId>,
}

/// A name, what is made ready (the first time, or for another try), and the operation.
type Act = (&'static str, fn(&mut Kit, &Tally, bool), fn(&mut Kit, &Tally) -> Result<(), AllocError>);

fn change<T>(outcome: Result<T, StructuralError>) -> Result<(), AllocError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(StructuralError::Alloc(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn row<T>(outcome: Result<T, RowError>) -> Result<(), AllocError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(RowError::Alloc(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn nothing(_: &mut Kit, _: &Tally, _: bool) {}

fn extra_row(kit: &mut Kit, tally: &Tally, first: bool) {
    if first {
        kit.world.add_row(extra(kit.e), (A::new(tally, 5), Position(5.0))).unwrap();
    }
}

fn reserved(kit: &mut Kit, tally: &Tally, first: bool) {
    extra_row(kit, tally, first);
    reserve(kit, first);
}

fn reserve(kit: &mut Kit, first: bool) {
    if first {
        kit.reserved.extend((0..100).map(|_| kit.world.reserve_entity()));
    }
}

fn clonable(kit: &mut Kit, _: &Tally, first: bool) {
    if first {
        kit.world.clear();
        kit.e = kit.world.spawn((Copied(1), SPIN));
        kit.world.add_row(extra(kit.e), (Copied(2), SPIN)).unwrap();
        kit.world.spawn(Copied(4));
    }
}

impl Position {
    /// A component by its address.
    fn address(&mut self) -> NonNull<u8> {
        NonNull::from(self).cast()
    }
}

fn extra(e: Entity) -> Key {
    Key::main(e).with_role(EXTRA)
}

const ACTS: &[Act] = &[
    ("try_spawn", nothing, |kit, tally| change(kit.world.try_spawn((B::new(tally, 7), SPIN, Tag)))),
    ("try_spawn of a derived bundle", nothing, |kit, _| {
        change(kit.world.try_spawn(Pair { copied: Copied(1), rest: (Velocity(1.0), Tag) }))
    }),
    ("try_insert", nothing, |kit, tally| change(kit.world.try_insert(kit.e, (B::new(tally, 7), SPIN, Tag)))),
    ("try_insert, overlapping", nothing, |kit, tally| {
        change(kit.world.try_insert(kit.e, (A::new(tally, 7), Velocity(1.0))))
    }),
    ("try_insert, in place", nothing, |kit, tally| change(kit.world.try_insert(kit.e, A::new(tally, 7)))),
    ("try_insert by handle", nothing, |kit, tally| {
        let mut e = kit.world.entity_mut(kit.e).unwrap();
        change(e.try_insert((B::new(tally, 7), Tag)))
    }),
    ("try_remove", nothing, |kit, _| change(kit.world.try_remove::<(A, Velocity)>(kit.e))),
    ("take", nothing, |kit, _| change(kit.world.take::<A>(kit.e))),
    ("exchange", nothing, |kit, tally| {
        change(kit.world.exchange::<(A, Tag), _>(kit.e, (B::new(tally, 7), Velocity(2.0))))
    }),
    (
        "spawn_at",
        |kit, _, first| {
            if first {
                kit.reserved = kit.other.spawn_batch((0..40).map(|_| ()));
            }
        },
        |kit, tally| change(kit.world.spawn_at(kit.reserved[39], (B::new(tally, 7), Velocity(2.0)))),
    ),
    (
        "spawn_columns",
        |kit, _, _| {
            let numbers = 0..100_u8;
            kit.columns = (
                numbers.clone().map(|n| Velocity(n.into())).collect(),
                numbers.clone().map(|axis| Spin { axis, speed: 0.0 }).collect(),
                numbers.map(|n| Copied(n.into())).collect(),
            );
        },
        |kit, _| change(kit.world.spawn_columns(std::mem::take(&mut kit.columns))),
    ),
    ("try_insert_where", nothing, |kit, _| {
        change(kit.world.try_insert_where::<With<Position>, _>((Velocity(1.0), SPIN)))
    }),
    ("try_insert_where, in place", nothing, |kit, _| {
        change(kit.world.try_insert_where::<With<Position>, _>(Position(8.0)))
    }),
    ("try_remove_where", nothing, |kit, _| change(kit.world.try_remove_where::<With<Position>, (A, Tag)>())),
    ("insert_by_ids", nothing, |kit, _| {
        let (mut first, mut second) = (Position(7.0), Position(8.0));
        let values = [(kit.ids[0], first.address()), (kit.ids[1], second.address())];
        // SAFETY: the components of run time were registered with the layout of a `Position`, which needs no end.
        change(unsafe { kit.world.entity_mut(kit.e).unwrap().insert_by_ids(&values) })
    }),
    ("spawn_by_ids", nothing, |kit, _| {
        let mut value = Position(7.0);
        // SAFETY: as above.
        change(unsafe { kit.world.spawn_by_ids(&[(kit.ids[0], value.address())]) })
    }),
    ("try_remove_by_ids", nothing, |kit, _| {
        let position = kit.world.component_id::<Position>().unwrap();
        change(kit.world.entity_mut(kit.e).unwrap().try_remove_by_ids(&[position, kit.ids[0]]))
    }),
    ("BundleBuilder::try_spawn", build, |kit, _| change(std::mem::take(&mut kit.builder).try_spawn(&mut kit.world))),
    ("BundleBuilder::try_insert", build, |kit, _| {
        change(std::mem::take(&mut kit.builder).try_insert(&mut kit.world, kit.e))
    }),
    (
        "clone_entity",
        |kit, tally, first| {
            clonable(kit, tally, first);
            reserve(kit, first);
        },
        |kit, _| change(kit.world.entity_mut(kit.e).unwrap().clone_entity()),
    ),
    ("try_clone", clonable, |kit, _| {
        kit.copy = None;
        match kit.world.try_clone() {
            Ok(copy) => kit.copy = Some(copy),
            Err(error) => return change::<()>(Err(error)),
        }
        Ok(())
    }),
    ("transfer", nothing, |kit, _| change(kit.world.entity_mut(kit.e).unwrap().transfer(&mut kit.other))),
    (
        "transfer_all",
        |kit, tally, first| {
            if first {
                kit.world.spawn((Tag, SPIN));
                kit.world.spawn_batch((0..70).map(|n| B::new(tally, n)));
            }
        },
        |kit, _| change(kit.world.transfer_all(&mut kit.other)),
    ),
    ("spawn_keyed", nothing, |kit, tally| row(kit.world.spawn_keyed(None, EXTRA, (B::new(tally, 7), Tag, SPIN)))),
    ("try_add_row", nothing, |kit, tally| row(kit.world.try_add_row(extra(kit.e), (B::new(tally, 7), Tag, SPIN)))),
    ("RowMut::try_insert", extra_row, |kit, tally| {
        row(kit
            .world
            .row_mut(extra(kit.e))
            .and_then(|mut row| row.try_insert((A::new(tally, 7), B::new(tally, 8), Tag))))
    }),
    ("try_remove_row_components", extra_row, |kit, _| {
        row(kit.world.row_mut(extra(kit.e)).and_then(|mut row| row.try_remove::<(A, Velocity)>()))
    }),
    ("take_row_components", extra_row, |kit, _| {
        row(kit.world.row_mut(extra(kit.e)).and_then(|mut row| row.take::<A>()))
    }),
    (
        "apply",
        |kit, tally, _| {
            kit.commands.spawn((B::new(tally, 1), SPIN));
            kit.commands.insert(kit.e, (B::new(tally, 2), Velocity(3.0)));
            kit.commands.remove::<(A, Tag)>(kit.e);
            kit.commands.spawn(Pair { copied: Copied(3), rest: (Velocity(1.0), Tag) });
            kit.commands.insert(kit.e, (B::new(tally, 4), Tag));
        },
        |kit, _| change(kit.commands.try_apply(&mut kit.world).map_err(|error| error.error)),
    ),
    ("try_despawn", reserved, |kit, _| change(kit.world.try_despawn(kit.e))),
    ("try_clear", reserved, |kit, _| change(kit.world.try_clear())),
    ("remove_row", reserved, |kit, _| row(kit.world.remove_row(extra(kit.e)))),
];

fn build(kit: &mut Kit, tally: &Tally, _: bool) {
    kit.builder.add(B::new(tally, 7)).add(Velocity(3.0)).add(Tag).add(SPIN);
}

/// A component that is only there to be known.
struct Filler<const N: usize>;
impl<const N: usize> Component for Filler<N> {
    type Layout = phalanx::layout::Table;
}

/// How much a world knows beforehand: components of run time, and types with tables and plans. What is full, and grows at
/// the next first use, depends on that.
#[derive(Clone, Copy)]
struct Known {
    components: usize,
    types: usize,
}

/// A world with one entity.
fn setup(tally: &Tally, known: Known, prepare: fn(&mut Kit, &Tally, bool)) -> Kit {
    let mut world = World::new();
    let fillers: [fn(&mut World); 4] = [
        |world| drop(world.spawn(Filler::<0>)),
        |world| drop(world.spawn(Filler::<1>)),
        |world| drop(world.spawn(Filler::<2>)),
        |world| drop(world.spawn(Filler::<3>)),
    ];
    fillers[..known.types].iter().for_each(|filler| filler(&mut world));
    world.clear();
    let mut ids = Vec::new();
    for n in 0..known.components {
        let name = format!("first use {n}").into();
        let layout = Layout::new::<Position>();
        // SAFETY: a `Position` can be sent and shared, and needs no end.
        let id = unsafe {
            world.register_component_with_descriptor(ComponentDescriptor {
                name,
                layout,
                kind: phalanx::layout::Kind::Table,
                drop: None,
                clone: None,
            })
        };
        ids.push(id);
    }
    ids.reverse();
    let e = world.spawn((A::new(tally, 1), Position(2.0)));
    let mut kit = Kit {
        world,
        other: World::new(),
        copy: None,
        e,
        commands: CommandBuffer::new(),
        builder: BundleBuilder::new(),
        columns: Default::default(),
        reserved: Vec::new(),
        ids,
    };
    prepare(&mut kit, tally, true);
    kit
}

/// All rows of all worlds, in the order of queries, with what they have. Entities that are merely reserved are left out:
/// when they come alive is up to the world.
fn contents(kit: &Kit) -> String {
    let mut text = String::new();
    for world in [&kit.world, &kit.other].into_iter().chain(&kit.copy) {
        for e in world.query::<Entity>().iter() {
            let names: Vec<_> = world.entity(e).unwrap().component_names().collect();
            if names.is_empty() && kit.reserved.contains(&e) {
                continue;
            }
            writeln!(text, "{e} {names:?}").unwrap();
            for (key, row) in world.rows(e).unwrap() {
                let (a, b) =
                    (world.row(row).and_then(|row| row.get::<A>()), world.row(row).and_then(|row| row.get::<B>()));
                let keys = (a.map(|a| a.0.key()).ok(), b.map(|b| b.0.key()).ok());
                let plain = (
                    world.row(row).and_then(|row| row.get::<Position>()).ok(),
                    world.row(row).and_then(|row| row.get::<Velocity>()).ok(),
                );
                let others = (
                    world.row(row).and_then(|row| row.get::<Copied>()).ok().map(|c| c.0),
                    world.row(row).and_then(|row| row.get::<Spin>()).ok(),
                );
                writeln!(text, "  {key:?} {keys:?} {plain:?} {others:?}").unwrap();
            }
        }
    }
    text
}

/// Everything that can be told of the worlds, the next entities and the numbers of components included.
fn everything(kit: &mut Kit) -> String {
    let mut text = contents(kit);
    for world in [&mut kit.world, &mut kit.other].into_iter().chain(&mut kit.copy) {
        world.validate().unwrap();
        let names: Vec<_> = world.components().iter().map(|(_, info)| info.name()).collect();
        let next: Vec<_> = (0..3).map(|_| world.spawn_empty()).collect();
        writeln!(text, "{names:?} {next:?}").unwrap();
    }
    text
}

fn sweep(known: Known, sweep: AllocationSweep) {
    for &(name, prepare, act) in ACTS {
        let tally = Tally::new();
        let mut kit = setup(&tally, known, prepare);
        act(&mut kit, &tally).unwrap();
        let expected = everything(&mut kit);
        drop(kit);
        let points = sweep.run(
            || {
                let kit = setup(&tally, known, prepare);
                let before = contents(&kit);
                (kit, before)
            },
            |(kit, _)| act(kit, &tally),
            |(kit, before), outcome| {
                kit.world.validate().unwrap();
                kit.other.validate().unwrap();
                if outcome.is_err() {
                    assert_eq!(contents(kit), *before, "{name}: nothing happened");
                    prepare(kit, &tally, false);
                    act(kit, &tally).unwrap();
                }
                assert_eq!(everything(kit), expected, "{name}");
            },
        );
        assert!(points > 0, "{name} allocates");
        tally.assert_no_leaks();
    }
}

#[test]
fn h60_first_uses_without_memory_are_errors() {
    (0..=4).for_each(|types| sweep(Known { components: 2, types }, AllocationSweep::new()));
}

#[test]
fn h60_first_uses_in_exhausted_memory_are_errors() {
    (0..=4).for_each(|types| sweep(Known { components: 2, types }, AllocationSweep::new().persistent()));
}

#[test]
fn h60_first_uses_of_many_components_without_memory_are_errors() {
    // Beyond 256 components a signature has a block of its own.
    sweep(Known { components: 300, types: 0 }, AllocationSweep::new());
}
