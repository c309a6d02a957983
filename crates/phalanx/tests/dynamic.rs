//! Components of run time, bundles put together at run time, and derived bundles.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx::layout::Kind;
use phalanx::{
    Bundle, BundleBuilder, Component, ComponentDescriptor, ComponentError, ComponentId, StructuralError, World,
};
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
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f64,
}

fn number(world: &mut World, name: String) -> ComponentId {
    let descriptor = ComponentDescriptor {
        name: name.into(),
        layout: Layout::new::<u32>(),
        kind: Kind::Table,
        drop: None,
        clone: None,
    };
    // SAFETY: numbers can be sent and shared, and need no destructor.
    unsafe { world.register_component_with_descriptor(descriptor) }
}

fn counted(world: &mut World) -> ComponentId {
    unsafe fn end(value: *mut u8) {
        // SAFETY: called with a value of the component.
        unsafe { value.cast::<Counted>().drop_in_place() };
    }
    let layout = Layout::new::<Counted>();
    let descriptor =
        ComponentDescriptor { name: "counted".into(), layout, kind: Kind::Table, drop: Some(end), clone: None };
    // SAFETY: the values are `Send` and `Sync`, and that is their destructor.
    unsafe { world.register_component_with_descriptor(descriptor) }
}

fn address<T>(value: &mut T) -> NonNull<u8> {
    NonNull::from(value).cast()
}

#[test]
fn two_thousand_components_in_one_world() {
    let mut world = World::new();
    world.spawn(Position(0.0));
    let ids: Vec<_> = (0..2000).map(|n| number(&mut world, format!("number {n}"))).collect();
    // One is reserved, and one is that of the entity.
    assert_eq!((world.components().len(), ids[1999].index()), (2002, 2001));
    assert_eq!(number(&mut world, "number 77".into()), ids[77]);
    let e = world.spawn(Enemy);
    for (n, id) in ids.iter().enumerate().step_by(97) {
        let mut value = n as u32;
        // SAFETY: a number, as registered.
        unsafe { world.entity_mut(e).map(|mut entity| _ = entity.insert_by_id(*id, address(&mut value))) }.unwrap();
    }
    world.validate().unwrap();
    for (n, id) in ids.iter().enumerate() {
        match world.entity(e).map_err(ComponentError::from).and_then(|entity| entity.get_by_id(*id)) {
            // SAFETY: the value is there.
            Ok(found) => assert_eq!((n % 97, unsafe { found.cast::<u32>().read() }), (0, n as u32)),
            Err(error) => assert!(n % 97 != 0 && error.to_string().contains(&format!("number {n}"))),
        }
        assert_eq!(world.entity(e).unwrap().has_by_id(*id), n % 97 == 0);
    }
    let mut all: Vec<u32> = (0..2000).collect();
    let values: Vec<_> = ids.iter().copied().zip(all.iter_mut().map(address)).collect();
    // SAFETY: numbers, as registered.
    let full = unsafe { world.spawn_by_ids(&values) }.unwrap();
    assert_eq!(world.entity(full).unwrap().component_names().count(), 2000);
    world.insert(full, Position(3.0)).unwrap();
    world.validate().unwrap();
    assert_eq!(world.entity_mut(full).map(|mut entity| entity.remove_by_ids(&ids)), Ok(true));
    assert_eq!(world.entity(full).unwrap().component_names().count(), 1);
    assert_eq!(world.get::<Position>(full), Ok(&Position(3.0)));
    world.validate().unwrap();
}

#[test]
fn values_by_address_end_once() {
    let tally = Tally::new();
    let mut world = World::new();
    let id = counted(&mut world);
    let e = world.spawn(Position(1.0));
    for key in 0..3 {
        let mut value = core::mem::ManuallyDrop::new(tally.value(key));
        // SAFETY: a value as registered, which is given up.
        unsafe { world.entity_mut(e).map(|mut entity| _ = entity.insert_by_id(id, address(&mut value))) }.unwrap();
        assert_eq!(tally.live(), 1);
        let found = world.entity_mut(e).unwrap().get_mut_by_id(id).unwrap().cast::<Counted>();
        // SAFETY: the value is there.
        assert_eq!(unsafe { found.as_ref() }.key(), key);
    }
    world.insert(e, Enemy).unwrap();
    world.entity_mut(e).unwrap().remove_by_ids(&[id]);
    assert_eq!(tally.live(), 0);
    let mut value = tally.value(9);
    world.despawn(e).unwrap();
    // SAFETY: a value as registered; it is not given up, as the entity is not alive.
    assert!(unsafe { world.entity_mut(e).map(|mut entity| _ = entity.insert_by_id(id, address(&mut value))) }.is_err());
    assert_eq!(value.key(), 9);
    // SAFETY: as above: the id comes twice.
    let twice = unsafe { world.spawn_by_ids(&[(id, address(&mut value)), (id, address(&mut value))]) };
    assert!(matches!(twice, Err(StructuralError::Duplicate(twice)) if twice.component == "counted"));
    let spin = world.spawn(Spin { axis: 1.0, speed: 2.0 });
    let spin_id = world.component_id::<Spin>().unwrap();
    assert!(matches!(
        world.entity(spin).map_err(ComponentError::from).and_then(|entity| entity.get_by_id(spin_id)),
        Err(ComponentError::NoAddress { .. })
    ));
    let mut another = Spin { axis: 5.0, speed: 6.0 };
    // SAFETY: a value of the component.
    unsafe { world.entity_mut(spin).map(|mut entity| _ = entity.insert_by_id(spin_id, address(&mut another))) }
        .unwrap();
    assert_eq!(world.get::<Spin>(spin), Ok(another));
    drop((value, world));
    tally.assert_no_leaks();
}

#[test]
fn a_builder_gives_or_drops_what_it_has() {
    let tally = Tally::new();
    let mut world = World::new();
    let build = |n| {
        let mut bundle = BundleBuilder::new();
        bundle.add(Value(tally.value(n))).add(Position(n as f32)).add(Enemy).add(Value(tally.value(n + 1)));
        bundle.add(Spin { axis: 0.5, speed: 1.5 });
        assert!(bundle.has::<Value>() && !bundle.has::<Other>() && bundle.len() == 4);
        bundle
    };
    let e = build(1).spawn(&mut world);
    assert_eq!(world.get::<Value>(e).unwrap().0.key(), 2);
    assert_eq!(world.get::<Spin>(e), Ok(Spin { axis: 0.5, speed: 1.5 }));
    drop(build(5));
    assert_eq!(tally.live(), 1);
    let f = world.spawn((Other(tally.value(0)), Value(tally.value(7))));
    build(20).insert(&mut world, f).unwrap();
    world.validate().unwrap();
    assert_eq!((world.get::<Value>(f).unwrap().0.key(), tally.live()), (21, 3));
    world.despawn(f).unwrap();
    assert!(build(30).insert(&mut world, f).is_err());
    assert!(format!("{:?}", build(1)).contains("Position"));
    drop(world);
    tally.assert_no_leaks();
}

#[derive(Bundle)]
struct Body<T: Component> {
    position: Position,
    extra: T,
}
#[derive(Bundle)]
struct Monster {
    body: Body<Value>,
    tags: (Enemy, Spin),
    other: Other,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Of<T>(T)
where
    T: Copy;
#[derive(Bundle)]
struct Bounded<T>
where
    T: Copy + Send + Sync + 'static,
{
    of: Of<T>,
}
#[derive(Bundle)]
struct Pair(Position, Enemy);
#[derive(Bundle)]
struct Nothing {}

#[test]
fn derived_bundles_nest() {
    let tally = Tally::new();
    let mut world = World::new();
    let monster = |n| Monster {
        body: Body { position: Position(1.0), extra: Value(tally.value(n)) },
        tags: (Enemy, Spin { axis: 1.0, speed: 2.0 }),
        other: Other(tally.value(n + 100)),
    };
    let e = world.spawn(monster(1));
    assert_eq!(<Monster as Bundle>::LEN, 5);
    world.insert(e, monster(2)).unwrap();
    let found = world.take::<Monster>(e).unwrap();
    assert_eq!((found.body.position, found.body.extra.0.key(), found.other.0.key()), (Position(1.0), 2, 102));
    assert_eq!(found.tags, (Enemy, Spin { axis: 1.0, speed: 2.0 }));
    world.insert(e, Pair(Position(4.0), Enemy)).unwrap();
    world.insert(e, Nothing {}).unwrap();
    world.insert(e, Bounded { of: Of(3_u8) }).unwrap();
    assert_eq!(world.take::<Bounded<u8>>(e).unwrap().of, Of(3));
    let Pair(position, _) = world.take::<Pair>(e).unwrap();
    assert_eq!(position, Position(4.0));
    world.validate().unwrap();
    drop((world, found));
    tally.assert_no_leaks();
}

#[test]
fn a_replacement_without_memory_keeps_the_old_value() {
    let tally = Tally::new();
    for_every_failing_allocation(
        || {
            let mut world = World::new();
            // A table that is exactly full, in a world that knows the way.
            let all = world.spawn_batch((0..63).map(|n| Value(tally.value(n))));
            world.insert(all[5], Value(tally.value(5))).unwrap();
            world.spawn(Value(tally.value(63)));
            (world, all[5], Some(Value(tally.value(99))))
        },
        |(world, e, value)| world.try_insert(*e, value.take().unwrap()),
        |(world, e, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.get::<Value>(*e).unwrap().0.key(), if outcome.is_ok() { 99 } else { 5 });
            assert_eq!(world.query_mut::<&Value>().iter().map(|v| u64::from(v.0.key() > 0)).sum::<u64>(), 63);
        },
    );
    tally.assert_no_leaks();
}

/// Registers counted values that are kept so, and can be cloned.
fn counted_in(world: &mut World, kind: Kind) -> ComponentId {
    unsafe fn end(value: *mut u8) {
        // SAFETY: called with a value of the component.
        unsafe { value.cast::<Counted>().drop_in_place() };
    }
    unsafe fn clone(value: *const u8, to: *mut u8) {
        // SAFETY: called with a value of the component, and a place for one.
        unsafe { to.cast::<Counted>().write((*value.cast::<Counted>()).clone()) };
    }
    let (layout, name) = (Layout::new::<Counted>(), format!("counted {kind:?}").into());
    let descriptor = ComponentDescriptor { name, layout, kind, drop: Some(end), clone: Some(clone) };
    // SAFETY: the values are `Send` and `Sync`, those are their destructor and their clone.
    unsafe { world.register_component_with_descriptor(descriptor) }
}

fn key(world: &World, e: phalanx::Entity, id: ComponentId) -> Option<u32> {
    // SAFETY: a counted value, as registered.
    world
        .entity(e)
        .map_err(ComponentError::from)
        .and_then(|entity| entity.get_by_id(id))
        .ok()
        .map(|value| unsafe { value.cast::<Counted>().as_ref() }.key())
}

#[test]
fn components_of_run_time_are_kept_where_their_descriptors_say() {
    let tally = Tally::new();
    let mut world = World::new();
    let kinds = [Kind::Table, Kind::Pool, Kind::Linear];
    let ids = kinds.map(|kind| counted_in(&mut world, kind));
    assert_eq!(kinds.map(|kind| counted_in(&mut world, kind)), ids);
    let put = |world: &mut World, e, keys: [u32; 3]| {
        let mut values = keys.map(|key| core::mem::ManuallyDrop::new(tally.value(key)));
        let mut at = values.iter_mut();
        let values = ids.map(|id| (id, address(at.next().unwrap())));
        // SAFETY: counted values, which are given up.
        unsafe {
            world.entity_mut(e).map_err(StructuralError::from).and_then(|mut entity| entity.insert_by_ids(&values))
        }
        .unwrap();
    };
    let e = world.spawn_empty();
    put(&mut world, e, [1, 2, 3]);
    put(&mut world, e, [4, 5, 6]);
    world.validate().unwrap();
    assert_eq!(ids.map(|id| key(&world, e, id)), [Some(4), Some(5), Some(6)]);
    let tables = world.memory().tables.len();
    assert_eq!(
        world.memory().sparse.iter().map(|side| (side.kind, side.len)).collect::<Vec<_>>(),
        [(Kind::Pool, 1), (Kind::Linear, 1)]
    );
    assert_eq!(world.entity_mut(e).map(|mut entity| entity.remove_by_ids(&ids[1..])), Ok(true));
    assert_eq!(
        (world.memory().tables.len(), world.entity_mut(e).map(|mut entity| entity.remove_by_ids(&ids[1..]))),
        (tables, Ok(false))
    );
    put(&mut world, e, [7, 8, 9]);
    let twin = world.entity_mut(e).unwrap().clone_entity().unwrap();
    let copy = world.try_clone().unwrap();
    let mut there = World::new();
    let moved = world.entity_mut(e).unwrap().transfer(&mut there).unwrap();
    let ids_there = kinds.map(|kind| counted_in(&mut there, kind));
    for (world, e, ids) in [(&world, twin, ids), (&copy, e, ids), (&there, moved, ids_there)] {
        world.validate().unwrap();
        assert_eq!(ids.map(|id| key(world, e, id)), [Some(7), Some(8), Some(9)]);
    }
    let names: Vec<_> = world.entity(twin).unwrap().component_names().collect();
    assert_eq!(names, ["counted Linear", "counted Pool", "counted Table"]);
    assert_eq!(format!("{:?}", world.entity(twin).unwrap()).matches("counted").count(), 3);
    drop((world, copy, there));
    tally.assert_no_leaks();
}

#[test]
fn builders_take_components_of_all_layouts() {
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Pooled(Counted);
    #[derive(Component)]
    #[component(layout = "linear")]
    struct Placed(Counted);
    let tally = Tally::new();
    let mut world = World::new();
    let built = |key: u32| {
        let mut bundle = BundleBuilder::new();
        bundle.add(Placed(tally.value(key))).add(Value(tally.value(key + 1))).add(Pooled(tally.value(key + 2)));
        bundle
    };
    let e = built(1).spawn(&mut world);
    built(10).insert(&mut world, e).unwrap();
    world.validate().unwrap();
    let keys = (world.get::<Placed>(e).unwrap().0.key(), world.get::<Pooled>(e).unwrap().0.key());
    assert_eq!((keys, world.get::<Value>(e).unwrap().0.key()), ((10, 12), 11));
    drop(world);
    tally.assert_no_leaks();
}
