//! Events: readers, lifetime, limits, time, and saved worlds.

use phalanx::event::{EventReader, EventWriter, Events};
use phalanx::system::IntoSystem;
use phalanx::timeline::Timeline;
use phalanx::{Event, World};
use std::sync::Arc;

#[derive(Event, Clone, Debug, PartialEq)]
#[event(clone)]
struct Kept(u32);
#[derive(Event)]
struct Lost(#[allow(dead_code)] Arc<()>);
#[derive(Event)]
#[event(max = 3)]
struct Few(u32);

#[test]
fn every_reader_reads_every_event_once_and_in_order() {
    let mut world = World::new();
    world.send(Kept(0));
    let mut early = world.event_reader::<Kept>();
    world.send(Kept(1));
    let mut late = world.event_reader::<Kept>();
    world.send(Kept(2));
    assert_eq!(early.read(&world), [Kept(1), Kept(2)]);
    assert_eq!(late.read(&world), [Kept(2)]);
    assert!(early.read(&world).is_empty() && late.read(&world).is_empty());
}

#[test]
fn readers_at_all_rates_agree_with_a_model() {
    let mut random = 1u64;
    let mut next = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    for _ in 0..50 {
        let mut world = World::new();
        let mut readers: Vec<(phalanx::event::HeldReader<Kept>, Vec<u32>)> = Vec::new();
        for n in 0..300 {
            match next(8) {
                0 => readers.push((world.event_reader(), Vec::new())),
                1 if !readers.is_empty() => drop(readers.swap_remove(next(readers.len() as u64) as usize)),
                2..4 if !readers.is_empty() => {
                    let at = next(readers.len() as u64) as usize;
                    let (reader, expected) = &mut readers[at];
                    let read: Vec<u32> = reader.read(&world).iter().map(|event| event.0).collect();
                    assert_eq!(read, core::mem::take(expected));
                }
                _ => {
                    world.send(Kept(n));
                    readers.iter_mut().for_each(|(_, expected)| expected.push(n));
                }
            }
            let most = readers.iter().map(|(_, expected)| expected.len()).max().unwrap_or(0);
            assert!(world.events_mut::<Kept>().as_slice().len() >= most);
        }
    }
}

#[test]
fn events_are_dropped_when_all_have_read_them() {
    let mut world = World::new();
    let value = Arc::new(());
    world.send(Lost(value.clone()));
    assert_eq!(Arc::strong_count(&value), 1, "without a reader an event is dropped at once");
    let mut reader = world.event_reader::<Lost>();
    for _ in 0..1000 {
        world.send(Lost(value.clone()));
        assert_eq!(reader.read(&world).len(), 1);
    }
    assert!(Arc::strong_count(&value) < 20, "memory does not grow with events that were read");
    drop(reader);
    world.events_mut::<Lost>().clear();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_limit_discards_the_oldest_and_counts_them() {
    let mut world = World::new();
    let mut reader = world.event_reader::<Few>();
    (0..10).for_each(|n| world.send(Few(n)));
    assert!(reader.read(&world).iter().map(|event| event.0).eq(7..10));
    assert_eq!(reader.missed(&world), 7);
    world.send(Few(10));
    assert!(reader.read(&world).iter().map(|event| event.0).eq([10]));
    assert_eq!(reader.missed(&world), 7);
}

#[test]
fn a_rollback_restores_events_and_positions() {
    let mut world = World::new();
    let mut reader = world.event_reader::<Kept>();
    world.send(Kept(1));
    let before = world.checkpoint().unwrap();
    assert_eq!(reader.read(&world), [Kept(1)]);
    world.send(Kept(2));
    world.rollback(&before).unwrap();
    assert_eq!(reader.read(&world), [Kept(1)]);
    assert!(reader.read(&world).is_empty());
}

#[test]
fn a_rollback_discards_events_that_cannot_be_cloned() {
    let mut world = World::new();
    let mut reader = world.event_reader::<Lost>();
    let before = world.checkpoint().unwrap();
    let value = Arc::new(());
    world.send(Lost(value.clone()));
    world.rollback(&before).unwrap();
    assert!(reader.read(&world).is_empty(), "an event of the discarded time must not be read");
    world.send(Lost(value));
    assert_eq!(reader.read(&world).len(), 1);
}

#[test]
fn timelines_and_clones_have_events() {
    let mut world = World::new();
    let mut reader = world.event_reader::<Kept>();
    let mut timeline = Timeline::new(8);
    for n in 0..4 {
        timeline.capture(&mut world).unwrap();
        world.send(Kept(n));
    }
    let copy = world.try_clone().unwrap();
    assert_eq!(reader.read(&copy), [Kept(0), Kept(1), Kept(2), Kept(3)]);
    timeline.rewind(&mut world, 1).unwrap();
    assert_eq!(reader.read(&world).len(), 2);
}

#[test]
fn systems_send_and_read_in_order() {
    fn send(mut writer: EventWriter<Kept>) {
        writer.send(Kept(1));
        writer.send_batch([Kept(2), Kept(3)]);
    }
    fn read(reader: EventReader<Kept>) -> Vec<u32> {
        reader.into_iter().map(|event| event.0).collect()
    }
    let mut world = World::new();
    let (mut send, mut first, mut second) = (send.into_system(), read.into_system(), read.into_system());
    assert_eq!((world.run_system(&mut first), world.run_system(&mut second)), (vec![], vec![]));
    world.run_system(&mut send);
    world.send(Kept(4));
    assert_eq!(world.run_system(&mut first), [1, 2, 3, 4]);
    assert_eq!(world.run_system(&mut first), []);
    assert_eq!(world.run_system(&mut second), [1, 2, 3, 4], "each instance of a function is a reader of its own");
    let before = world.checkpoint().unwrap();
    world.send(Kept(5));
    world.rollback(&before).unwrap();
    world.send(Kept(6));
    assert_eq!(world.run_system(&mut first), [6]);
}

#[test]
fn the_channel_is_a_resource_that_lists_its_readers() {
    let mut world = World::new();
    let reader = world.event_reader::<Few>();
    world.send(Few(1));
    let events = world.resource::<Events<Few>>().unwrap();
    assert_eq!(events.readers().map(|reader| reader.unread).collect::<Vec<_>>(), [1]);
    drop(reader);
    assert_eq!(world.resource::<Events<Few>>().unwrap().readers().count(), 0);
}

#[derive(Event, phalanx::Plain, Clone, Copy, Debug, PartialEq)]
#[event(plain)]
struct Sent(u32);
#[derive(Event, phalanx::Plain, Clone, Copy, Debug, PartialEq)]
#[event(plain)]
struct Signal;

#[test]
fn deltas_have_plain_events_and_positions() {
    let mut here = World::new();
    let mut reader = here.event_reader::<Sent>();
    here.event_reader::<Signal>();
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    here.send(Sent(1));
    here.send(Sent(2));
    here.send(Signal);
    let delta = phalanx::timeline::delta(&before, &here.checkpoint().unwrap()).unwrap();
    there.apply_delta(&delta).unwrap();
    assert_eq!(there.events_mut::<Sent>().as_slice(), [Sent(1), Sent(2)]);
    assert_eq!(reader.read(&here), [Sent(1), Sent(2)]);
    // Unchanged channels stay as they are.
    let after = here.checkpoint().unwrap();
    let mut copy = here.try_clone().unwrap();
    here.spawn_empty();
    copy.apply_delta(&phalanx::timeline::delta(&after, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!(copy.events_mut::<Sent>().as_slice().len(), here.events_mut::<Sent>().as_slice().len());
}

#[test]
fn deltas_of_resources_are_refused_by_worlds_that_do_not_keep_them() {
    let mut here = World::new();
    let mut there = here.try_clone().unwrap();
    here.resources_mut().keep_plain::<u64>();
    let before = here.checkpoint().unwrap();
    here.insert_resource(5u64);
    let delta = phalanx::timeline::delta(&before, &here.checkpoint().unwrap()).unwrap();
    assert_eq!(there.apply_delta(&delta), Err(phalanx::timeline::DeltaError::OtherResources));
    there.resources_mut().keep_plain::<u64>();
    there.apply_delta(&delta).unwrap();
    assert_eq!(there.resource::<u64>(), Ok(&5));
}

#[test]
fn damaged_events_in_deltas_are_refused() {
    let mut here = World::new();
    let _reader = here.event_reader::<Sent>();
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    (0..20).for_each(|n| here.send(Sent(n)));
    let delta = phalanx::timeline::delta(&before, &here.checkpoint().unwrap()).unwrap();
    for at in 0..delta.len() {
        let mut damaged = delta.clone();
        damaged[at] ^= 0x41;
        assert!(there.apply_delta(&damaged).is_err());
        assert!(there.apply_delta(&delta[..at]).is_err());
    }
    assert!(there.events_mut::<Sent>().as_slice().is_empty());
}

#[test]
fn readers_stay_when_the_world_goes_to_another_state() {
    let mut world = World::new();
    world.send(Kept(0));
    let mut early = world.event_reader::<Kept>();
    world.send(Kept(1));
    let before = world.checkpoint().unwrap();
    let mut late = world.event_reader::<Kept>();
    world.send(Kept(2));
    world.rollback(&before).unwrap();
    world.send(Kept(3));
    assert_eq!(early.read(&world), [Kept(1), Kept(3)]);
    assert_eq!(late.read(&world), [Kept(3)]);

    let mut here = World::new();
    let _held = here.event_reader::<Sent>();
    let mut there = here.try_clone().unwrap();
    let mut reader = there.event_reader::<Sent>();
    let before = here.checkpoint().unwrap();
    here.send(Sent(7));
    there.apply_delta(&phalanx::timeline::delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!(reader.read(&there), [Sent(7)]);
}

#[cfg(feature = "snapshot")]
#[test]
fn saved_worlds_have_events_and_positions_of_systems() {
    #[derive(Event, serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Saved(u32);
    let mut registry = phalanx::snapshot::Registry::new();
    registry.serde_resource::<Events<Saved>>("saved").unwrap();
    let read = |reader: EventReader<Saved>| reader.into_iter().map(|event| event.0).collect::<Vec<_>>();
    let run = |system: &mut dyn phalanx::system::System<Out = Vec<u32>>, world: &mut World| {
        phalanx::system::System::initialize(system, world, Some("frame/read")).unwrap();
        world.run_system(system)
    };
    let mut world = World::new();
    let mut system = read.into_system();
    assert!(run(&mut system, &mut world).is_empty());
    (0..3).for_each(|n| world.send(Saved(n)));
    let mut bytes = Vec::new();
    registry.save(&world, &mut bytes).unwrap();
    let mut loaded = registry.load(&bytes[..]).unwrap();
    assert_eq!(run(&mut read.into_system(), &mut loaded), [0, 1, 2]);
    assert_eq!(run(&mut system, &mut world), [0, 1, 2]);
}
