//! Commands from several threads, and the entities that are reserved for them.

use super::model::Op;
use super::{Aligned, Flag, Row, Small, Value, Wide, populated, rows};
use phalanx::{CommandBuffer, CommandInbox, Entity, World};
use phalanx_testkit::{Rng, Tally};

/// Commands of eight keys with three buffers each, recorded by several threads in any order, with pauses.
fn by_threads(threads: usize, pauses: u64) -> (Vec<Row>, Vec<Entity>) {
    let tally = Tally::new();
    let (mut world, known) = populated(&tally);
    let mut jobs: Vec<(u32, u64, CommandBuffer)> = Vec::new();
    for key in 0..8 {
        for sequence in 0..3 {
            let mut commands = CommandBuffer::new();
            commands.reserve_entities(&world, 4);
            jobs.push((key, sequence, commands));
        }
    }
    let mut rng = Rng::new(pauses);
    rng.shuffle(&mut jobs);
    let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    jobs.into_iter().enumerate().for_each(|(at, job)| shares[at % threads].push(job));
    let mut inbox = CommandInbox::new();
    std::thread::scope(|scope| {
        for share in shares {
            let (inbox, world, tally, known, mut pause) = (&inbox, &world, &tally, &known, Rng::new(rng.next_u64()));
            scope.spawn(move || {
                for (key, sequence, mut commands) in share {
                    let mut rng = Rng::new(u64::from(key) * 3 + sequence);
                    for n in 0..rng.below(5) as u32 {
                        let Ok(e) = commands.spawn_reserved(Small(n as u8)) else { break };
                        commands.insert(e, (Value(tally.value(n)), Wide([key.into(); 5])));
                        std::thread::sleep(std::time::Duration::from_micros(pause.next_u64() % 200));
                    }
                    for op in (0..10).map(|_| Op::draw(&mut rng, known)).filter(|op| op.kind != 12) {
                        op.record(world, tally, &mut commands);
                    }
                    inbox.submit(key, sequence, commands).unwrap();
                }
            });
        }
    });
    inbox.apply(&mut world);
    assert!(inbox.is_empty());
    world.validate().unwrap();
    let seen = rows(&world);
    let next = (0..40).map(|_| world.spawn_empty()).collect();
    drop((world, inbox));
    tally.assert_no_leaks();
    (seen, next)
}

#[test]
fn threads_do_not_decide_the_order() {
    let expected = by_threads(1, 0);
    assert!(expected.0.len() > 30);
    for pauses in 1..6 {
        for threads in [1, 2, 8] {
            assert_eq!(by_threads(threads, pauses), expected, "{threads} threads");
        }
    }
}

#[test]
fn a_queue_names_the_buffer_of_an_error() {
    let mut world = World::new();
    let [e, dead] = [world.spawn_empty(), world.spawn_empty()];
    world.despawn(dead).unwrap();
    let mut inbox = CommandInbox::new();
    let buffer = |entities: &[Entity]| {
        let mut commands = CommandBuffer::new();
        entities.iter().for_each(|e| commands.insert(*e, Flag));
        commands
    };
    let fill = |inbox: &CommandInbox<&'static str>| {
        inbox.submit("b", 1, buffer(&[e, dead])).unwrap();
        inbox.submit("b", 0, buffer(&[e])).unwrap();
        inbox.submit("a", 7, buffer(&[])).unwrap();
        let taken = inbox.submit("b", 1, buffer(&[e, e, e])).unwrap_err();
        assert_eq!((taken.key, taken.sequence, taken.commands.len()), ("b", 1, 3));
    };
    fill(&inbox);
    assert_eq!(inbox.len(), 3);
    let error = inbox.try_apply(&mut world).unwrap_err();
    assert_eq!((error.key, error.sequence, error.error.position), ("b", 1, 1));
    assert!(!world.has::<Flag>(e) && inbox.is_empty());
    fill(&inbox);
    let report = inbox.apply(&mut world);
    let skipped: Vec<_> = report.skipped().map(|error| (*error.key, error.sequence, error.error.position)).collect();
    assert_eq!((skipped, report.executed(), report.is_complete()), (vec![("b", 1, 1)], 2, false));
    assert_eq!(
        report.to_string(),
        "2 commands executed, 1 skipped:\nnumber 1 of \"b\", command 1 (insert, 1v0): no such entity: 1v0"
    );
    assert!(world.has::<Flag>(e));
    assert!(inbox.try_apply(&mut world).is_ok());
    world.validate().unwrap();
}

#[test]
fn reserved_entities_that_are_not_used_end() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 3);
    let first = commands.spawn_with(&world, Small(1));
    commands.reserve_entities(&world, 2);
    let second = commands.spawn_reserved(Small(2)).unwrap();
    assert_eq!((first.index(), second.index()), (0, 1));
    let mut more = CommandBuffer::new();
    more.reserve_entities(&world, 1);
    let third = more.spawn_with(&world, Aligned(3));
    more.append(&mut commands);
    assert_eq!((more.len(), commands.len(), third.index()), (3, 0, 5));
    more.try_apply(&mut world).unwrap();
    assert!(world.iter().eq([first, second, third]));
    assert_eq!(more.spawn_reserved(Small(3)), Err(Small(3)));
    world.validate().unwrap();
}
