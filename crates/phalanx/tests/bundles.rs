//! Required components, optional members of bundles, and bundles that are composed at run time.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::NonNull;
use phalanx::query::AllRows;
use phalanx::{
    Bundle, BundleBuilder, CommandBuffer, Component, Entity, Key, Role, StructuralError, With, Without, World,
};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, catch, fail_nth, for_every_failing_allocation, measure};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

std::thread_local! {
    /// The values that are alive.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    /// The constructor call that panics; none, if it is zero.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

/// A value that is counted, and whose constructor panics on order.
#[derive(Debug, PartialEq)]
struct Live(u32);

impl Live {
    fn new(n: u32) -> Live {
        let left = FUSE.get();
        FUSE.set(left.saturating_sub(1));
        assert_ne!(left, 1, "ordered");
        LIVE.set(LIVE.get() + 1);
        Live(n)
    }
}

impl Clone for Live {
    fn clone(&self) -> Live {
        Live::new(self.0)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
    }
}

/// Calls a function whose n-th constructor panics. Returns whether it did.
fn with_panic_at(n: u32, run: impl FnOnce()) -> bool {
    FUSE.set(n);
    let caught = catch(run).is_err();
    FUSE.set(0);
    caught
}

macro_rules! live {
    ($($(#[$option:meta])* $name:ident $n:literal)*) => {$(
        #[derive(Component, Debug, PartialEq)]
        $(#[$option])*
        struct $name(Live);
        impl Default for $name {
            fn default() -> Self {
                $name(Live::new($n))
            }
        }
    )*};
}

live! {
    Row 1
    #[component(layout = "pool")] Pooled 2
    #[component(layout = "linear")] Placed 3
    #[component(track = "row")] Tracked 4
    #[component(requires(Row, Pooled, Placed, Tracked))] Ship 5
    #[component(layout = "pool", requires(Ship))] Fleet 6
    #[component(requires(Pooled = Pooled(Live::new(20)), Row(other_row)))] Other 7
}

fn other_row() -> Row {
    Row(Live::new(21))
}

fn keys(world: &World, e: Entity) -> [Option<u32>; 4] {
    [
        world.get::<Row>(e).ok().map(|v| v.0.0),
        world.get::<Pooled>(e).ok().map(|v| v.0.0),
        world.get::<Placed>(e).ok().map(|v| v.0.0),
        world.get::<Tracked>(e).ok().map(|v| v.0.0),
    ]
}

const ALL: [Option<u32>; 4] = [Some(1), Some(2), Some(3), Some(4)];

/// The name of a way in which a ship gets into a world, the way, and whether the entity has a pooled value of 9 already.
type Way = (&'static str, fn(&mut World) -> Entity, bool);

/// Every way in which a ship gets into a world.
fn ways() -> Vec<Way> {
    fn fresh(world: &mut World) -> Entity {
        world.spawn(Pooled(Live::new(9)))
    }
    vec![
        ("spawn", |world| world.spawn(Ship::default()), false),
        ("spawn with one of them", |world| world.spawn((Pooled(Live::new(9)), Ship::default())), true),
        ("spawn transitively", |world| world.spawn(Fleet::default()), false),
        ("spawner", |world| world.spawner::<Ship>().spawn(Ship::default()), false),
        ("batch", |world| world.spawn_batch([Ship::default()])[0], false),
        ("columns", |world| world.spawn_columns((vec![Ship::default()],)).unwrap()[0], false),
        (
            "spawn_at",
            |world| {
                let e = world.spawn_empty();
                world.spawn_at(e, Ship::default()).unwrap();
                e
            },
            false,
        ),
        (
            "insert",
            |world| {
                let e = fresh(world);
                world.insert(e, Ship::default()).unwrap();
                e
            },
            true,
        ),
        (
            "insert twice, with a removal between",
            |world| {
                let e = fresh(world);
                world.insert(e, Ship::default()).unwrap();
                world.remove::<(Row, Placed)>(e).unwrap();
                world.insert(e, Ship::default()).unwrap();
                e
            },
            true,
        ),
        (
            "insert by a view",
            |world| {
                let e = fresh(world);
                assert!(world.component_mut::<Ship>().insert(e, Ship::default()).unwrap().is_none());
                world.remove::<(Row, Placed)>(e).unwrap();
                assert_eq!(world.component_mut::<Ship>().insert(e, Ship::default()).unwrap(), Some(Ship(Live::new(5))));
                e
            },
            true,
        ),
        (
            "insert a pooled one by a view",
            |world| {
                let e = fresh(world);
                assert!(world.component_mut::<Fleet>().insert(e, Fleet::default()).unwrap().is_none());
                world.remove::<(Row, Placed)>(e).unwrap();
                let old = world.component_mut::<Fleet>().insert(e, Fleet::default()).unwrap();
                assert_eq!(old, Some(Fleet(Live::new(6))));
                e
            },
            true,
        ),
        (
            "insert_where",
            |world| {
                let e = fresh(world);
                #[derive(Bundle, Clone)]
                struct Ships(CloneShip);
                assert_eq!(world.insert_where::<With<Pooled>, _>(Ships(CloneShip)), 1);
                e
            },
            true,
        ),
        (
            "exchange",
            |world| {
                let e = fresh(world);
                world.exchange::<Tracked, _>(e, Ship::default()).unwrap();
                e
            },
            true,
        ),
        (
            "exchange of a required one",
            |world| {
                let e = fresh(world);
                world.exchange::<(Pooled, Row), _>(e, Ship::default()).unwrap();
                e
            },
            false,
        ),
        (
            "by id",
            |world| {
                let e = fresh(world);
                let id = world.register_component::<Ship>();
                let mut value = core::mem::ManuallyDrop::new(Ship::default());
                // SAFETY: the value is one of the component, and is given up.
                unsafe { world.entity_mut(e).unwrap().insert_by_id(id, NonNull::from(&mut *value).cast()) };
                e
            },
            true,
        ),
        (
            "spawn by ids",
            |world| {
                let id = world.register_component::<Ship>();
                let mut value = core::mem::ManuallyDrop::new(Ship::default());
                // SAFETY: the value is one of the component, and is given up.
                unsafe { world.spawn_by_ids(&[(id, NonNull::from(&mut *value).cast())]) }.unwrap()
            },
            false,
        ),
        (
            "builder",
            |world| {
                let mut builder = BundleBuilder::new();
                builder.add(Ship::default()).spawn(world)
            },
            false,
        ),
        (
            "builder into an entity",
            |world| {
                let e = fresh(world);
                let mut builder = BundleBuilder::new();
                builder.add(Ship::default()).insert(world, e).unwrap();
                e
            },
            true,
        ),
        (
            "commands",
            |world| {
                let e = fresh(world);
                let mut commands = CommandBuffer::new();
                commands.insert(e, Ship::default());
                commands.apply(world);
                e
            },
            true,
        ),
        (
            "commands that spawn",
            |world| {
                let mut commands = CommandBuffer::new();
                let e = commands.spawn_with(world, Ship::default());
                commands.apply(world);
                e
            },
            false,
        ),
        (
            "commands that remove and insert",
            |world| {
                let e = fresh(world);
                let mut commands = CommandBuffer::new();
                commands.remove::<Pooled>(e);
                commands.insert(e, Ship::default());
                commands.insert(e, Pooled(Live::new(9)));
                commands.remove::<Placed>(e);
                commands.insert(e, Fleet::default());
                commands.apply(world);
                e
            },
            true,
        ),
        (
            "commands with a builder",
            |world| {
                let mut commands = CommandBuffer::new();
                let mut builder = BundleBuilder::new();
                builder.add(Ship::default());
                commands.spawn_dynamic(builder);
                commands.apply(world);
                world.query_filtered::<Entity, With<Ship>>().single().unwrap()
            },
            false,
        ),
    ]
}

/// A ship that can be cloned.
#[derive(Component, Clone)]
#[component(requires(Ship))]
struct CloneShip;

#[test]
fn required_components_are_inserted_by_every_way_unless_they_are_there() {
    for (name, way, has_pooled) in ways() {
        let mut world = World::new();
        let e = way(&mut world);
        world.validate().unwrap();
        let expected = [ALL[0], if has_pooled { Some(9) } else { ALL[1] }, ALL[2], ALL[3]];
        assert_eq!(keys(&world, e), expected, "{name}");
        assert_eq!(world.query_filtered::<Entity, (With<Ship>, With<Tracked>)>().iter().count(), 1, "{name}");
        drop(world);
        assert_eq!(LIVE.get(), 0, "{name}");
    }
}

#[test]
fn constructors_that_panic_change_nothing() {
    for (name, way, _) in ways().into_iter().filter(|(name, ..)| !name.contains("commands")) {
        let mut panicked = 0;
        for n in 1.. {
            let mut world = World::new();
            // Everything is resolved and has capacity.
            let first = way(&mut world);
            world.despawn(first).unwrap();
            let bystander = world.spawn((Row(Live::new(30)), Placed(Live::new(31))));
            let is_last = !with_panic_at(n, || _ = way(&mut world));
            world.validate().unwrap();
            assert_eq!(world.get::<Row>(bystander).unwrap().0.0, 30);
            // At most the pooled value of the entity was inserted, or a whole ship that came first.
            let partial = world.query_filtered::<Entity, (With<Ship>, Without<Tracked>)>().iter().count();
            assert_eq!(partial, 0, "{name}, call {n}");
            drop(world);
            // A value by id is given up only if the operation succeeds.
            let left = LIVE.replace(0);
            assert!(left == 0 || left == 1 && name.contains("by id") && !is_last, "{name}, call {n}");
            panicked += u32::from(!is_last);
            if is_last {
                break;
            }
        }
        assert!(panicked >= 4, "{name}");
    }
}

#[test]
fn constructors_that_panic_in_commands_change_nothing() {
    for n in 1..=8 {
        let mut world = World::new();
        let [a, b] = [world.spawn_empty(), world.spawn(Row(Live::new(50)))];
        let mut commands = CommandBuffer::new();
        commands.insert(a, Row(Live::new(40)));
        commands.remove::<Row>(b);
        commands.insert(b, Ship::default());
        commands.insert(a, Pooled(Live::new(41)));
        let made = commands.spawn_with(&world, Ship::default());
        assert!(with_panic_at(n, || _ = commands.apply(&mut world)));
        world.validate().unwrap();
        assert_eq!(keys(&world, a), [None; 4]);
        assert_eq!(keys(&world, b), [Some(50), None, None, None]);
        assert!(world.len() == 2 && !world.contains(made) && commands.is_empty());
        // The buffer can be used again.
        commands.insert(a, Ship::default());
        assert!(commands.try_apply(&mut world).is_ok());
        assert_eq!(keys(&world, a), ALL);
        drop((world, commands));
        assert_eq!(LIVE.get(), 0);
    }
}

#[test]
fn required_values_of_a_segment_are_those_of_the_state_at_their_command() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let mut commands = CommandBuffer::new();
    commands.insert(e, Row(Live::new(60)));
    commands.insert(e, Ship::default());
    commands.remove::<(Row, Placed)>(e);
    commands.insert(e, Other::default());
    commands.insert(e, Fleet::default());
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    commands.insert(dead, Ship::default());
    commands.spawn(Ship::default());
    assert_eq!(commands.apply(&mut world).skipped().len(), 1);
    world.validate().unwrap();
    // The fleet requires what its ship requires, also if the ship is there.
    assert_eq!(keys(&world, e), [Some(21), Some(2), Some(3), Some(4)]);
    let made = world.query_filtered::<Entity, (With<Ship>, Without<Fleet>)>().single().unwrap();
    assert_eq!(keys(&world, made), ALL);
    drop((world, commands));
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn the_nearest_requirement_counts_then_the_first() {
    let mut world = World::new();
    // That of the ship comes first in the bundle.
    let e = world.spawn((Ship::default(), Other::default()));
    assert_eq!(keys(&world, e), ALL);
    let e = world.spawn((Other::default(), Ship::default()));
    assert_eq!(keys(&world, e), [Some(21), Some(20), Some(3), Some(4)]);
    // That of the fleet's ship is farther away.
    let e = world.spawn((Fleet::default(), Other::default()));
    assert_eq!(keys(&world, e), [Some(21), Some(20), Some(3), Some(4)]);
    // A run-time bundle has the order of ids, whatever the order of its components.
    for swap in [false, true] {
        let mut builder = BundleBuilder::new();
        if swap {
            builder.add(Other::default()).add(Ship::default());
        } else {
            builder.add(Ship::default()).add(Other::default());
        }
        let e = builder.spawn(&mut world);
        assert_eq!(keys(&world, e), ALL);
    }
    world.validate().unwrap();
}

#[test]
fn required_components_hold_for_extra_rows() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let [one, two] = [1, 2].map(|role| Key::main(e).with_role(Role(role)));
    world.add_row(one, Ship::default()).unwrap();
    world.add_row(two, Pooled(Live::new(9))).unwrap();
    world.row_mut(two).unwrap().insert(Ship::default());
    let mut commands = CommandBuffer::new();
    let three = Key::main(e).with_role(Role(3));
    commands.add_row(three, Pooled(Live::new(8)));
    commands.insert_into_row(three, Fleet::default());
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    for (key, pooled) in [(one, 2), (two, 9), (three, 8)] {
        let row = world.row(key).unwrap();
        assert_eq!((row.get::<Row>().unwrap().0.0, row.get::<Pooled>().unwrap().0.0), (1, pooled));
        assert_eq!((row.get::<Placed>().unwrap().0.0, row.get::<Tracked>().unwrap().0.0), (3, 4));
    }
    assert_eq!(world.query_filtered::<Entity, (AllRows, With<Ship>)>().iter().count(), 3);
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn clones_and_transfers_insert_no_required_components() {
    #[derive(Component, Clone, Default)]
    #[component(clone)]
    struct Base;
    #[derive(Component, Clone)]
    #[component(clone, requires(Base))]
    struct Top;
    let mut world = World::new();
    let e = world.spawn(Top);
    world.remove::<Base>(e).unwrap();
    let twin = world.entity_mut(e).unwrap().clone_entity().unwrap();
    let copy = world.try_clone().unwrap();
    let mut other = World::new();
    let moved = world.entity_mut(e).unwrap().transfer(&mut other).unwrap();
    assert!(!world.has::<Base>(twin) && !copy.has::<Base>(e) && !other.has::<Base>(moved));
    other.insert(moved, Top).unwrap();
    assert!(other.has::<Base>(moved));
    other.validate().unwrap();
}

#[test]
fn listeners_hear_required_components_with_the_others() {
    let mut world = World::new();
    let list = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (rows, pooled) = (list.clone(), list.clone());
    world.on_add::<Row>(move |added, _, _| rows.lock().unwrap().push(("row", added.entity)));
    world.on_add::<Pooled>(move |added, _, _| pooled.lock().unwrap().push(("pooled", added.entity)));
    let e = world.spawn(Ship::default());
    let f = world.spawn(Row(Live::new(1)));
    world.insert(f, Fleet::default()).unwrap();
    let heard = list.lock().unwrap().clone();
    let mut sorted = heard;
    sorted.sort();
    assert_eq!(sorted, [("pooled", e), ("pooled", f), ("row", e), ("row", f)]);
}

#[test]
fn columns_with_required_components_in_an_empty_and_a_full_table() {
    let mut world = World::new();
    for count in [3, 5] {
        let ships: Vec<_> = (0..count).map(|n| Ship(Live::new(100 + n))).collect();
        let all = world.spawn_columns((ships,)).unwrap().to_vec();
        assert!(all.iter().all(|e| keys(&world, *e) == ALL));
    }
    world.validate().unwrap();
    for n in 1.. {
        let before = world.len();
        let ships = vec![Ship(Live(1)), Ship(Live(2))];
        let panicked = with_panic_at(n, || assert_eq!(world.spawn_columns((ships,)).unwrap().len(), 2));
        world.validate().unwrap();
        assert_eq!(world.len(), before + if panicked { 0 } else { 2 });
        if !panicked {
            break;
        }
        // Their constructor was not called.
        LIVE.set(LIVE.get() + 2);
    }
    LIVE.set(LIVE.get() + 2);
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn a_lack_of_memory_changes_nothing_and_drops_what_was_required() {
    #[derive(Component, Default, Debug, PartialEq)]
    #[component(layout = "pool")]
    struct Small(u32);
    #[derive(Component, Default)]
    #[component(layout = "linear")]
    struct Line;
    #[derive(Component, Default)]
    struct Column(u32);
    #[derive(Component, Default)]
    #[component(requires(Small, Line, Column))]
    struct Needs;
    type Run = fn(&mut World, Entity) -> Result<(), StructuralError>;
    let runs: [Run; 6] = [
        |world, _| world.try_spawn(Needs).map(drop),
        |world, e| world.try_insert(e, Needs),
        |world, e| world.exchange::<Column, _>(e, Needs),
        |world, _| world.spawn_columns((vec![Needs, Needs],)).map(drop),
        |world, _| world.try_insert_where::<With<Small>, _>((None::<Column>, Clonable)).map(drop),
        |world, e| {
            let mut commands = CommandBuffer::new();
            commands.try_reserve(1, 64)?;
            commands.insert(e, Needs);
            commands.try_apply(world).map_err(|error| error.error)
        },
    ];
    #[derive(Component, Clone)]
    #[component(requires(Needs))]
    struct Clonable;
    impl Clone for Column {
        fn clone(&self) -> Self {
            Column(self.0)
        }
    }
    for run in runs {
        for_every_failing_allocation(
            || {
                let mut world = World::new();
                let e = world.spawn(Small(7));
                (world, e)
            },
            |(world, e)| run(world, *e),
            |(world, e), outcome| {
                world.validate().unwrap();
                assert_eq!(world.get::<Small>(*e), Ok(&Small(7)));
                let whole = world.query_filtered::<Entity, (With<Needs>, With<Line>, With<Column>, With<Small>)>();
                assert_eq!(whole.iter().count(), world.query_filtered::<Entity, With<Needs>>().iter().count());
                assert_eq!(whole.iter().count() > 0, outcome.is_ok());
            },
        );
    }
}

#[test]
fn generic_components_require_generic_ones() {
    #[derive(Component, Default)]
    struct Value<T: Default + Send + Sync + 'static>(T);
    #[derive(Component)]
    #[component(requires(Value<T>, core::marker::PhantomPinnedLike = core::marker::PhantomPinnedLike))]
    struct Needs<T: Default + Send + Sync + 'static>(core::marker::PhantomData<T>);
    mod core {
        pub(crate) mod marker {
            pub(crate) use ::core::marker::PhantomData;
            #[derive(phalanx::Component)]
            pub(crate) struct PhantomPinnedLike;
        }
    }
    let mut world = World::new();
    let e = world.spawn(Needs::<u8>(core::marker::PhantomData));
    let f = world.spawn(Needs::<u16>(core::marker::PhantomData));
    assert!(world.has::<Value<u8>>(e) && world.has::<Value<u16>>(f) && !world.has::<Value<u16>>(e));
    assert_eq!(world.get::<Value<u8>>(e).map(|value| value.0), Ok(0));
    assert!(world.has::<core::marker::PhantomPinnedLike>(e));
}

#[test]
fn many_required_sparse_components_are_inserted_where_they_are_absent() {
    macro_rules! many {
        ($($name:ident)*) => {
            $(#[derive(Component, Default)] #[component(layout = "pool")] struct $name(u8);)*
            #[derive(Component)]
            #[component(requires($($name),*))]
            struct Many;
            const COUNT: usize = [$(stringify!($name)),*].len();
            fn count(world: &World, e: Entity) -> (usize, usize) {
                let values = [$(world.get::<$name>(e).ok().map(|value| value.0)),*];
                (values.iter().flatten().count(), values.iter().flatten().filter(|value| **value == 7).count())
            }
            fn give(world: &mut World, e: Entity, bits: u64) {
                let mut bit = 0;
                $(
                    if bits & 1 << bit != 0 {
                        world.insert(e, $name(7)).unwrap();
                    }
                    bit += 1;
                )*
                assert_eq!(bit, COUNT);
            }
        };
    }
    many! {
        A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 B1 B2 B3 B4 B5 B6 B7 B8 B9 C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 D0 D1 D2 D3 D4 D5 D6 D7 D8 D9
    }
    let mut world = World::new();
    for bits in [0, 1, 1 << 31, 1 << 32, 1 << 39, 0x0000_00ff_ffff_ffff, 0x0000_00aa_5555_aaaa] {
        let e = world.spawn_empty();
        give(&mut world, e, bits);
        world.insert(e, Many).unwrap();
        assert_eq!(count(&world, e), (COUNT, bits.count_ones() as usize));
    }
    world.validate().unwrap();
}

#[derive(Component, Debug, PartialEq, Clone)]
struct Name(&'static str);
#[derive(Component)]
struct Held(Counted);
#[derive(Component)]
#[component(layout = "pool")]
struct Loose(Counted);

#[derive(Bundle)]
struct Person {
    name: Option<Name>,
    held: Option<Held>,
    loose: (Option<Loose>, Option<Row>),
}

#[test]
fn optional_members_are_inserted_if_they_are_there() {
    let tally = Tally::new();
    let mut world = World::new();
    let person = |bits: u32, n: u32| Person {
        name: (bits & 1 != 0).then_some(Name("Ann")),
        held: (bits & 2 != 0).then(|| Held(tally.value(n))),
        loose: ((bits & 4 != 0).then(|| Loose(tally.value(n + 100))), (bits & 8 != 0).then(Row::default)),
    };
    let has = |world: &World, e| {
        let bits = [world.has::<Name>(e), world.has::<Held>(e), world.has::<Loose>(e), world.has::<Row>(e)];
        bits.iter().rev().fold(0, |all, bit| all << 1 | u32::from(*bit))
    };
    for first in 0..16 {
        let spawned = [world.spawn(person(first, 1)), world.spawner::<Person>().spawn(person(first, 1))];
        assert!(spawned.iter().all(|e| has(&world, *e) == first));
        for second in 0..16 {
            let e = world.spawn_batch([person(first, 1)])[0];
            world.insert(e, person(second, 2)).unwrap();
            assert_eq!(has(&world, e), first | second);
            if let Ok(held) = world.get::<Held>(e) {
                assert_eq!(held.0.key(), if second & 2 != 0 { 2 } else { 1 });
            }
            let taken = world.take::<Person>(e).unwrap();
            assert_eq!(taken.present(), u64::from(first | second));
            assert_eq!(taken.loose.0.map(|loose| loose.0.key()).is_some(), (first | second) & 4 != 0);
            assert_eq!(has(&world, e), 0);
            let mut commands = CommandBuffer::new();
            commands.insert(e, person(second, 3));
            commands.add_row(Key::main(e).with_role(Role(1)), person(first, 4));
            commands.apply(&mut world);
            assert_eq!(has(&world, e), second);
            assert_eq!(world.remove::<Person>(e), Ok(second != 0));
            assert_eq!(has(&world, e), 0);
        }
    }
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn optional_members_make_no_archetypes_that_are_not_used() {
    let mut world = World::new();
    let before = world.memory().tables.len();
    for _ in 0..3 {
        world.spawn((Name("Ann"), None::<Held>, None::<Row>));
        world.spawn((Name("Bob"), None::<Held>, Some(Row::default())));
    }
    assert_eq!(world.memory().tables.len() - before, 2);
}

#[test]
fn an_absent_member_requires_nothing_and_may_be_required() {
    let mut world = World::new();
    let e = world.spawn((None::<Ship>, Some(Other::default())));
    assert_eq!(keys(&world, e), [Some(21), Some(20), None, None]);
    let e = world.spawn((Some(Other::default()), None::<Pooled>));
    assert_eq!(keys(&world, e), [Some(21), Some(20), None, None]);
    let e = world.spawn((Some(Other::default()), Some(Pooled(Live::new(50)))));
    assert_eq!(keys(&world, e), [Some(21), Some(50), None, None]);
    world.exchange::<Other, _>(e, (None::<Name>, Some(Ship::default()))).unwrap();
    assert_eq!(keys(&world, e), [Some(21), Some(50), Some(3), Some(4)]);
    world.validate().unwrap();
}

#[test]
fn an_optional_member_that_occurs_twice_is_refused() {
    let mut world = World::new();
    let twice = world.try_spawn((Some(Name("Ann")), Name("Bob")));
    assert!(matches!(twice, Err(StructuralError::Duplicate(_))));
    assert!(world.try_spawn((None::<Name>, Name("Bob"))).is_ok());
    assert_eq!(world.len(), 1);
}

/// A bundle whose clones lack the component.
#[derive(Bundle)]
struct Fickle(Option<Row>, Name);

impl Clone for Fickle {
    fn clone(&self) -> Self {
        Fickle(None, self.1.clone())
    }
}

#[test]
fn clones_of_a_batch_may_have_other_optional_members() {
    let mut world = World::new();
    let all = world.spawn_batch((0..4).map(|_| Tracked::default()));
    assert_eq!(world.insert_where::<With<Tracked>, _>(Fickle(Some(Row::default()), Name("Ann"))), 4);
    world.validate().unwrap();
    assert_eq!(all.iter().filter(|e| world.has::<Row>(**e)).count(), 1);
    assert!(all.iter().all(|e| world.has::<Name>(*e)));
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[derive(Component, Clone)]
#[component(clone)]
struct Cloned(Counted);
#[derive(Component, Clone)]
#[component(clone, layout = "pool")]
struct ClonedToo(Counted);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f64,
}

#[test]
fn builders_that_are_used_again_do_not_allocate() {
    let mut world = World::new();
    let mut builder = BundleBuilder::new();
    let fill = |builder: &mut BundleBuilder, n: u32| {
        builder.add(Spin { axis: 1.0, speed: f64::from(n) }).add(Name("Ann")).add(Pooled(Live::new(n)));
    };
    let mut all = Vec::with_capacity(64);
    for n in 0..40 {
        let (e, used) = measure(|| {
            fill(&mut builder, n);
            builder.spawn(&mut world)
        });
        all.push(e);
        // The world grows by doubling: there is capacity for the last ones.
        assert!(n < 33 || used.allocations == 0, "{n}: {used:?}");
    }
    for (n, e) in (0..).zip(&all) {
        assert_eq!(world.get::<Spin>(*e).map(|spin| spin.speed), Ok(f64::from(n)));
        assert_eq!(world.get::<Pooled>(*e).unwrap().0.0, n);
    }
    // The same components in another order, and others.
    builder.add(Name("Bob")).add(Spin { axis: 2.0, speed: 0.0 });
    let e = builder.spawn(&mut world);
    assert_eq!((world.get::<Name>(e).unwrap().0, world.has::<Pooled>(e)), ("Bob", false));
    // In another world, and in one whose tables have other numbers.
    let mut other = World::new();
    builder.add(Name("Cid")).add(Spin { axis: 2.0, speed: 0.0 });
    let e = builder.spawn(&mut other);
    assert_eq!(other.get::<Name>(e).unwrap().0, "Cid");
    world.compact(usize::MAX);
    builder.add(Name("Dan")).add(Spin { axis: 2.0, speed: 0.0 });
    let e = builder.spawn(&mut world);
    assert_eq!(world.get::<Name>(e).unwrap().0, "Dan");
    world.validate().unwrap();
    other.validate().unwrap();
}

#[derive(Component)]
struct Numbered<const N: usize>(u32);

#[test]
fn a_builder_that_finds_no_memory_forgets_what_it_has_resolved() {
    for n in 1.. {
        let mut world = World::new();
        let mut builder = BundleBuilder::new();
        builder.add(Name("Ann"));
        builder.spawn(&mut world);
        builder.add(Numbered::<0>(0)).add(Numbered::<1>(1)).add(Numbered::<2>(2)).add(Numbered::<3>(3));
        builder.add(Numbered::<4>(4)).add(Numbered::<5>(5));
        let refused = fail_nth(n, || builder.try_spawn(&mut world)).0.is_err();
        builder.clear();
        let e = builder.spawn(&mut world);
        assert!(!world.has::<Name>(e), "{n}");
        assert_eq!(world.entity(e).unwrap().component_names().count(), 0, "{n}");
        world.validate().unwrap();
        if !refused {
            assert!(n > 4);
            break;
        }
    }
}

#[test]
fn a_builder_uses_the_memory_of_removed_components_again() {
    let tally = Tally::new();
    let mut builder = BundleBuilder::new();
    builder.add(Held(tally.value(1))).add(Numbered::<0>(7)).add(Name("Ann")).add(Loose(tally.value(2)));
    let (_, used) = measure(|| {
        for n in 0..1000 {
            assert_eq!(builder.remove::<Numbered<0>>().unwrap().0, if n == 0 { 7 } else { n - 1 });
            builder.add(Numbered::<0>(n));
            let name = builder.remove::<Name>().unwrap();
            builder.add(name);
        }
    });
    assert_eq!(used.allocations, 0);
    assert_eq!((builder.get::<Held>().unwrap().0.key(), builder.get::<Loose>().unwrap().0.key()), (1, 2));
    assert_eq!((builder.get::<Name>(), builder.len()), (Some(&Name("Ann")), 4));
    drop(builder);
    tally.assert_no_leaks();
}

#[test]
fn builders_are_inspected_and_combined() {
    let tally = Tally::new();
    let mut a = BundleBuilder::new();
    a.add(Held(tally.value(1))).add(Name("a"));
    a.add(Held(tally.value(2)));
    assert_eq!((a.len(), a.get::<Held>().unwrap().0.key(), tally.live()), (2, 2, 1));
    let mut b = BundleBuilder::new();
    b.add_bundle((Name("b"), Loose(tally.value(3)), Some(Spin { axis: 0.0, speed: 1.0 }), None::<Row>));
    b.add(Held(tally.value(4)));
    a.append(&mut b);
    assert!(b.is_empty());
    assert_eq!((a.len(), a.get::<Held>().unwrap().0.key(), a.get::<Name>()), (4, 4, Some(&Name("b"))));
    assert_eq!(tally.live(), 2);
    assert_eq!(a.remove::<Loose>().map(|loose| loose.0.key()), Some(3));
    assert!(a.remove::<Loose>().is_none() && !a.has::<Loose>());
    a.get_mut::<Name>().unwrap().0 = "c";
    let mut world = World::new();
    assert_eq!(a.ids(&mut world).len(), a.component_types().len());
    let e = a.spawn(&mut world);
    assert_eq!((world.get::<Name>(e).unwrap().0, world.get::<Held>(e).unwrap().0.key()), ("c", 4));
    b.add(Held(tally.value(9)));
    b.clear();
    b.append(&mut a);
    assert!(a.is_empty() && b.is_empty());
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_builder_spawns_clones_and_keeps_its_components() {
    let tally = Tally::new();
    let mut world = World::new();
    let mut prefab = BundleBuilder::new();
    prefab.add(ClonedToo(tally.value(1))).add(Cloned(tally.value(2))).add(Spin { axis: 1.0, speed: 2.0 });
    let mut copy = prefab.try_clone().unwrap();
    let all = [prefab.spawn_clone(&mut world).unwrap(), prefab.spawn_clone(&mut world).unwrap()];
    let e = world.spawn_empty();
    prefab.insert_clone(&mut world, e).unwrap();
    let last = copy.spawn(&mut world);
    world.validate().unwrap();
    for e in [all[0], all[1], e, last] {
        assert_eq!((world.get::<Cloned>(e).unwrap().0.key(), world.get::<ClonedToo>(e).unwrap().0.key()), (2, 1));
        assert_eq!(world.get::<Spin>(e), Ok(Spin { axis: 1.0, speed: 2.0 }));
    }
    assert_eq!((prefab.len(), tally.live()), (3, 10));
    prefab.add(Held(tally.value(5)));
    assert!(matches!(prefab.try_clone(), Err(StructuralError::NotClone { component }) if component.contains("Held")));
    assert!(matches!(prefab.spawn_clone(&mut world), Err(StructuralError::NotClone { .. })));
    world.despawn(e).unwrap();
    drop(prefab.remove::<Held>());
    assert!(matches!(prefab.insert_clone(&mut world, e), Err(StructuralError::NoSuchEntity(_))));
    drop((world, prefab, copy));
    tally.assert_no_leaks();
}

#[test]
fn clones_of_a_builder_that_panic_or_find_no_memory_change_nothing() {
    let prefab = |tally: &Tally| {
        let mut prefab = BundleBuilder::new();
        prefab.add(ClonedToo(tally.value(1))).add(Cloned(tally.value(2))).add(Spin { axis: 1.0, speed: 2.0 });
        prefab
    };
    let count = PanicSweep::new(Site::Clone).run(
        |tally| (World::new(), prefab(tally)),
        |(world, prefab), _| _ = prefab.spawn_clone(world).unwrap(),
        |(world, prefab), _, panicked| {
            world.validate().unwrap();
            assert_eq!((prefab.len(), world.len()), (3, usize::from(!panicked)));
        },
    );
    assert_eq!(count, 2);
    let count = PanicSweep::new(Site::Drop).run(
        |tally| {
            let mut other = prefab(tally);
            other.add(Held(tally.value(7)));
            (prefab(tally), other)
        },
        |(prefab, other), _| prefab.append(other),
        |(prefab, other), _, _| {
            assert!(other.is_empty());
            assert_eq!((prefab.len(), prefab.get::<Held>().unwrap().0.key()), (4, 7));
        },
    );
    assert_eq!(count, 2);
    let tally = Tally::new();
    for_every_failing_allocation(
        || (World::new(), prefab(&tally)),
        |(world, prefab)| prefab.spawn_clone(world),
        |(world, prefab), outcome| {
            world.validate().unwrap();
            assert_eq!((prefab.len(), world.len()), (3, usize::from(outcome.is_ok())));
        },
    );
    for_every_failing_allocation(
        || (World::new(), prefab(&tally)),
        |(world, prefab)| prefab.try_spawn(world),
        |(world, prefab), outcome| {
            world.validate().unwrap();
            assert_eq!((prefab.is_empty(), world.len()), (outcome.is_ok(), usize::from(outcome.is_ok())));
        },
    );
    tally.assert_no_leaks();
}

#[test]
fn recorded_builders_are_dropped_if_they_are_not_executed() {
    let tally = Tally::new();
    let mut world = World::new();
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    let mut commands = CommandBuffer::new();
    let built = |n| {
        let mut builder = BundleBuilder::new();
        builder.add(Held(tally.value(n)));
        builder
    };
    commands.insert_dynamic(dead, built(1));
    commands.spawn_dynamic(built(2));
    assert!(commands.try_apply(&mut world).is_err());
    assert_eq!((world.len(), tally.live()), (0, 0));
    commands.insert_dynamic(dead, built(1));
    commands.spawn_dynamic(built(2));
    assert_eq!(commands.apply(&mut world).skipped().len(), 1);
    assert_eq!((world.len(), tally.live()), (1, 1));
    commands.spawn_dynamic(built(3));
    drop((commands, world));
    tally.assert_no_leaks();
}

#[derive(Bundle)]
struct Crew {
    ship: Option<Ship>,
    other: Option<Apart>,
}

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct Apart(u32);

#[test]
fn batches_insert_what_each_bundle_has_and_each_entity_lacks() {
    let mut world = World::new();
    let [bare, pooled, last] = [world.spawn(()), world.spawn(Pooled(Live::new(50))), world.spawn(Apart(1))];
    let crew = |ship: bool, other: Option<u32>| Crew { ship: ship.then(Ship::default), other: other.map(Apart) };
    world.insert_batch([(bare, crew(true, None)), (pooled, crew(true, Some(2))), (last, crew(false, None))]).unwrap();
    world.validate().unwrap();
    assert_eq!(world.get::<Pooled>(bare).unwrap().0.0, 2, "required, and created");
    assert_eq!(world.get::<Pooled>(pooled).unwrap().0.0, 50, "there already");
    assert_eq!([bare, pooled, last].map(|e| world.has::<Row>(e)), [true, true, false]);
    assert_eq!([bare, pooled, last].map(|e| world.get::<Apart>(e).ok().map(|a| a.0)), [None, Some(2), Some(1)]);
    for n in 1.. {
        let es = [world.spawn(()), world.spawn(()), bare];
        let ships = es.map(|e| (e, Ship(Live::new(70))));
        let has_panicked = with_panic_at(n, || world.insert_batch(ships).unwrap());
        world.validate().unwrap();
        // Of all entities, or of none.
        assert_eq!(es.map(|e| world.get::<Ship>(e).is_ok_and(|ship| ship.0.0 == 70)), [!has_panicked; 3], "{n}");
        if !has_panicked {
            assert_eq!(n, 9);
            break;
        }
    }
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn components_that_are_new_come_with_what_they_require() {
    let mut world = World::new();
    let e = world.spawn((Apart(1), Row(Live::new(30))));
    world.entity_mut(e).unwrap().insert_if_new((Apart(2), Ship::default()));
    world.validate().unwrap();
    assert_eq!((world.get::<Apart>(e).unwrap().0, world.get::<Row>(e).unwrap().0.0), (1, 30));
    assert!(world.has::<Ship>(e) && world.has::<Placed>(e) && world.has::<Tracked>(e));
    // Optional ones that are not there are no matter, and nothing is required for what is there already.
    let other = world.spawn(Ship::default());
    world.remove::<Row>(other).unwrap();
    world.entity_mut(other).unwrap().insert_if_new(Crew { ship: Some(Ship(Live::new(9))), other: None });
    assert_eq!((world.get::<Ship>(other).unwrap().0.0, world.has::<Row>(other)), (5, false));
    world.entity_mut(other).unwrap().insert_if_new(Crew { ship: None, other: Some(Apart(3)) });
    assert_eq!(world.get::<Apart>(other).unwrap().0, 3);
    world.validate().unwrap();
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn components_that_move_bring_what_they_require_and_optional_ones_move_if_they_are_there() {
    let mut world = World::new();
    let [from, to] = [world.spawn((Ship::default(), Apart(7))), world.spawn(Pooled(Live::new(40)))];
    world.entity_mut(from).unwrap().move_components::<Crew>(to).unwrap();
    world.validate().unwrap();
    assert!(world.has::<Ship>(to) && world.has::<Row>(to) && world.get::<Apart>(to).unwrap().0 == 7);
    assert_eq!(world.get::<Pooled>(to).unwrap().0.0, 40);
    assert!(!world.has::<Ship>(from) && !world.has::<Apart>(from) && world.has::<Row>(from));
    // There is no ship any more, so only what is there moves.
    world.insert(from, Apart(8)).unwrap();
    world.entity_mut(from).unwrap().move_components::<Crew>(to).unwrap();
    assert_eq!((world.get::<Apart>(to).unwrap().0, world.has::<Ship>(to)), (8, true));
    let copy = world.spawn(());
    world.entity_mut(to).unwrap().clone_components::<Option<Apart>>(copy).unwrap();
    world.entity_mut(from).unwrap().clone_components::<Option<Apart>>(copy).unwrap();
    assert_eq!(world.get::<Apart>(copy).unwrap().0, 8);
    // A constructor that panics changes nothing.
    let [from, to] = [world.spawn(Ship::default()), world.spawn(())];
    for n in 1..=4 {
        assert!(with_panic_at(n, || world.entity_mut(from).unwrap().move_components::<Ship>(to).unwrap()));
        world.validate().unwrap();
        assert!(world.has::<Ship>(from) && !world.has::<Ship>(to) && !world.has::<Row>(to), "{n}");
    }
    drop(world);
    assert_eq!(LIVE.get(), 0);
}
