//! Components of run time: saved by name, and known again.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI32, Ordering};
use phalanx::layout::Kind;
use phalanx::snapshot::{CodecError, Difference, Problem, RawCodec, Registry, RegistryError, SaveError, diff, inspect};
use phalanx::{ComponentDescriptor, ComponentId, Entity, Key, Role, World};
use phalanx_testkit::AllocationSweep;

fn number(name: &'static str, kind: Kind) -> ComponentDescriptor {
    ComponentDescriptor { name: name.into(), layout: Layout::new::<u64>(), kind, drop: None, clone: None }
}

fn tag(name: &'static str) -> ComponentDescriptor {
    ComponentDescriptor { layout: Layout::new::<()>(), ..number(name, Kind::Table) }
}

fn known(world: &mut World, descriptor: ComponentDescriptor) -> ComponentId {
    // SAFETY: numbers, or nothing, or texts that are ended by the destructor.
    unsafe { world.register_component_with_descriptor(descriptor) }
}

fn give(world: &mut World, e: Entity, id: ComponentId, mut value: u64) {
    // SAFETY: a number, or of a component without data any address.
    unsafe { world.entity_mut(e).unwrap().insert_by_id(id, NonNull::from(&mut value).cast()) };
}

fn value(world: &World, e: Entity, name: &str) -> Option<u64> {
    let id = world.components().find(name)?;
    // SAFETY: a number.
    world
        .entity(e)
        .map_err(phalanx::ComponentError::from)
        .and_then(|entity| entity.get_by_id(id))
        .ok()
        .map(|found| unsafe { found.cast::<u64>().read() })
}

const KINDS: [(&str, Kind); 3] = [("mod:Fuel", Kind::Table), ("mod:Heat", Kind::Pool), ("mod:Rank", Kind::Linear)];

fn registry() -> Registry {
    let mut registry = Registry::new();
    for (name, kind) in KINDS {
        // SAFETY: numbers.
        unsafe { registry.dynamic(number(name, kind)).unwrap() };
    }
    // SAFETY: nothing.
    unsafe { registry.dynamic(tag("mod:Ready")).unwrap() };
    registry
}

fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let ids = KINDS.map(|(name, kind)| known(&mut world, number(name, kind)));
    let ready = known(&mut world, tag("mod:Ready"));
    let list: Vec<_> = (0..9).map(|_| world.spawn_empty()).collect();
    for (at, e) in list.iter().enumerate() {
        ids.iter().enumerate().filter(|(n, _)| at % (n + 2) > 0).for_each(|(n, id)| {
            give(&mut world, *e, *id, at as u64 * 10 + n as u64);
        });
        if at % 4 == 0 {
            give(&mut world, *e, ready, 0);
        }
    }
    world.despawn(list[3]).unwrap();
    world.add_row(Key::main(list[1]).with_component(ids[0]).with_role(Role(2)), ()).unwrap();
    (world, list)
}

fn saved(registry: &Registry, world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry.save(world, &mut file).unwrap();
    file
}

#[test]
fn they_come_back_under_their_names() {
    let registry = registry();
    let (world, list) = world();
    let file = saved(&registry, &world);
    let mut copy = registry.load(&*file).unwrap();
    copy.validate().unwrap();
    for e in &list {
        for (name, _) in KINDS {
            assert_eq!(value(&copy, *e, name), value(&world, *e, name), "{name} of {e}");
        }
        let ready = |world: &World| {
            let id = world.components().find("mod:Ready").unwrap();
            world.entity(*e).is_ok_and(|entity| entity.has_by_id(id))
        };
        assert_eq!(ready(&copy), ready(&world));
    }
    assert!(saved(&registry, &copy) == file);
    assert_eq!(diff(&registry, &world, &copy), Ok(None));
    // Who registers it again finds it.
    for (name, kind) in KINDS {
        let id = copy.components().find(name).unwrap();
        assert_eq!(Some(id), world.components().find(name));
        assert_eq!(known(&mut copy, number(name, kind)), id);
    }
    let fuel = copy.components().find("mod:Fuel").unwrap();
    give(&mut copy, list[1], fuel, 77);
    assert_eq!(diff(&registry, &world, &copy), Ok(Some(Difference::Value { entity: list[1], component: "mod:Fuel" })));
    assert_eq!(inspect(&*file).unwrap().components[0].name, "mod:Fuel");
}

#[test]
fn they_join_those_that_are_there() {
    let registry = registry();
    let (scene, list) = world();
    let file = saved(&registry, &scene);
    let mut target = World::new();
    known(&mut target, number("mod:Other", Kind::Table));
    let heat = known(&mut target, number("mod:Heat", Kind::Pool));
    let map = registry.merge(&mut target, &*file).unwrap();
    target.validate().unwrap();
    assert_eq!(target.components().find("mod:Heat"), Some(heat));
    for e in list.iter().filter(|e| scene.contains(**e)) {
        for (name, _) in KINDS {
            assert_eq!(value(&target, map.get(*e).unwrap(), name), value(&scene, *e, name));
        }
    }
}

#[test]
fn what_is_not_registered_or_otherwise_is_named() {
    let (world, _) = world();
    let file = saved(&registry(), &world);
    let nothing = Registry::new();
    assert_eq!(nothing.save(&world, Vec::new()), Err(SaveError::Unregistered { component: "mod:Fuel" }));
    let problem = |change: &dyn Fn(&mut Registry)| {
        let mut registry = Registry::new();
        change(&mut registry);
        registry.load(&*file).map(drop).unwrap_err().problem
    };
    assert!(matches!(problem(&|_| {}), Problem::UnknownName { name } if name.as_str() == "mod:Fuel"));
    let with = |descriptor: ComponentDescriptor, version: u32, fields: &str| {
        problem(&|registry| {
            // SAFETY: numbers.
            unsafe { registry.dynamic(descriptor.clone()).unwrap().version(version).fields(fields) };
        })
    };
    let fuel = || number("mod:Fuel", Kind::Table);
    let differs = |problem| match problem {
        Problem::Schema { name: "mod:Fuel", what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(differs(with(number("mod:Fuel", Kind::Pool), 0, "")), "layout");
    assert_eq!(differs(with(ComponentDescriptor { layout: Layout::new::<u32>(), ..fuel() }, 0, "")), "size");
    assert_eq!(differs(with(ComponentDescriptor { layout: Layout::new::<[u32; 2]>(), ..fuel() }, 0, "")), "alignment");
    assert_eq!(differs(with(fuel(), 0, "litres: f64")), "schema hash");
    assert_eq!(with(fuel(), 3, ""), Problem::OldVersion { name: "mod:Fuel", found: 0, expected: 3 });
    // SAFETY: numbers.
    let twice = unsafe { registry().dynamic(number("mod:Fuel", Kind::Pool)).map(drop) };
    assert_eq!(twice, Err(RegistryError::NameTaken { name: "mod:Fuel", by: "mod:Fuel" }));
    // SAFETY: as above.
    let empty = unsafe { Registry::new().dynamic(number("", Kind::Pool)).map(drop) };
    assert_eq!(empty, Err(RegistryError::BadName { name: "" }));
}

#[test]
fn plain_ones_are_read_as_bytes_in_formats_of_serde() {
    let registry = registry();
    let (world, _) = world();
    let mut json = Vec::new();
    registry.serialize(&world, &mut serde_json::Serializer::new(&mut json)).unwrap();
    let read = |json: &str| registry.deserialize(&mut serde_json::Deserializer::from_str(json));
    let json = String::from_utf8(json).unwrap();
    assert_eq!(registry.checksum(&read(&json).unwrap()), registry.checksum(&world));
    let error = read(&json.replacen("[10,0,0,0,0,0,0,0]", "[10,0,0]", 1)).unwrap_err();
    assert!(error.to_string().contains("3 bytes where 8 are a value"), "{error}");
}

/// How many texts live.
static LIVING: AtomicI32 = AtomicI32::new(0);

unsafe fn end_text(value: *mut u8) {
    LIVING.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: by the caller's contract, `value` points to a text that is not used again.
    unsafe { value.cast::<String>().drop_in_place() };
}

struct Texts;
impl RawCodec for Texts {
    fn name(&self) -> &'static str {
        "texts"
    }
    unsafe fn encode(&self, value: *const u8, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: by the caller's contract, `value` points to a text.
        let text = unsafe { &*value.cast::<String>() };
        bytes.push(text.len() as u8);
        bytes.extend_from_slice(text.as_bytes());
        Ok(())
    }
    unsafe fn decode(&self, place: *mut u8, bytes: &mut &[u8]) -> Result<(), CodecError> {
        let (len, rest) = bytes.split_first().ok_or(CodecError("no length"))?;
        let (text, rest) = rest.split_at_checked(usize::from(*len)).ok_or(CodecError("too short"))?;
        let text = core::str::from_utf8(text).map_err(|_| CodecError("no text"))?;
        *bytes = rest;
        LIVING.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the caller's contract, `place` is valid for writing a text.
        unsafe { place.cast::<String>().write(text.into()) };
        Ok(())
    }
}

#[test]
fn values_with_a_codec_end_once_whatever_fails() {
    for kind in [Kind::Table, Kind::Pool, Kind::Linear] {
        let layout = Layout::new::<String>();
        let text = ComponentDescriptor { name: "mod:Text".into(), layout, kind, drop: Some(end_text), clone: None };
        let mut registry = Registry::new();
        // SAFETY: texts, which the codec writes and the destructor ends.
        unsafe { registry.dynamic_codec(text.clone(), Texts).unwrap() };
        let mut world = World::new();
        let id = known(&mut world, text);
        let list: Vec<_> = (0..5).map(|_| world.spawn_empty()).collect();
        for (at, e) in list.iter().enumerate() {
            let mut value = core::mem::ManuallyDrop::new("x".repeat(at));
            LIVING.fetch_add(1, Ordering::Relaxed);
            // SAFETY: a text, which is given up.
            unsafe { world.entity_mut(*e).unwrap().insert_by_id(id, NonNull::from(&mut value).cast()) };
        }
        let file = saved(&registry, &world);
        let copy = registry.load(&*file).unwrap();
        copy.validate().unwrap();
        assert_eq!(LIVING.load(Ordering::Relaxed), 10);
        for (at, e) in list.iter().enumerate() {
            // SAFETY: a text.
            let found = unsafe { copy.entity(*e).unwrap().get_by_id(id).unwrap().cast::<String>().as_ref() };
            assert_eq!(*found, "x".repeat(at));
        }
        assert!(saved(&registry, &copy) == file);
        drop(copy);
        assert_eq!(LIVING.load(Ordering::Relaxed), 5);
        for len in 0..file.len() {
            assert!(registry.load(&file[..len]).is_err());
        }
        let mut forged = crate::forge::Forged::of(&file);
        let last = forged.sections.iter_mut().rev().find(|s| matches!(&s.kind, b"tabl" | b"side")).unwrap();
        *last.bytes.last_mut().unwrap() = 0xff;
        let problem = registry.load(&*forged.file()).map(drop).unwrap_err().problem;
        assert_eq!(problem, Problem::Value { name: "mod:Text", row: 4, error: CodecError("no text") });
        drop(world);
        assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn h60_every_failing_allocation_with_components_of_run_time_is_an_error() {
    let registry = registry();
    let (world, _) = world();
    let (file, mut place) = (saved(&registry, &world), vec![0; 1 << 16]);
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        sweep.run(|| (), |()| registry.load(&*file), |(), _| {});
        sweep.run(|| (), |()| registry.save(&world, &mut place[..]), |(), _| {});
    }
}
