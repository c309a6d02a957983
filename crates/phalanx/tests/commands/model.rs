//! Buffers against the operations of the world, one by one.

use super::{Aligned, Flag, Other, Small, Value, Wide, populated, rows};
use phalanx::commands::CommandKind;
use phalanx::{CommandBuffer, Entity, StructuralError, World};
use phalanx_testkit::{Rng, Tally};

/// A change drawn at random.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) kind: usize,
    entity: Entity,
    key: u32,
}

impl Op {
    pub(crate) fn draw(rng: &mut Rng, known: &[Entity]) -> Op {
        let kind = match rng.below(16) {
            8 if rng.chance(1, 2) => 8,
            11 if rng.chance(3, 4) => 7,
            kind => kind,
        };
        Op { kind, entity: *rng.pick(known).unwrap(), key: rng.below(1000) as u32 }
    }

    pub(crate) fn record(self, world: &World, tally: &Tally, commands: &mut CommandBuffer) {
        let Op { kind, entity: e, key } = self;
        match kind {
            0 => commands.insert(e, Small(key as u8)),
            1 => commands.insert(e, (Value(tally.value(key)), Flag)),
            2 => commands.insert(e, (Aligned(key), Wide([key.into(); 5]))),
            3 => commands.insert(e, (Other(tally.value(key)), Value(tally.value(key + 1)))),
            4 => commands.remove::<Value>(e),
            5 => commands.remove::<(Small, Other, Aligned)>(e),
            6 => commands.remove::<(Flag, Wide)>(e),
            7 => commands.insert(e, ()),
            8 => commands.despawn(e),
            9 => commands.spawn((Value(tally.value(key)), Small(1))),
            10 => commands.spawn(()),
            11 => commands.queue(move |world| {
                let _ = world.insert(e, Small(key as u8));
            }),
            12 => drop(commands.spawn_with(world, (Aligned(key), Value(tally.value(key))))),
            13 => commands.insert(e, (Flag, Flag)),
            _ => commands.insert(e, (Small(key as u8), Other(tally.value(key)))),
        }
    }

    /// What a report says of it.
    fn named(self, reserved: Option<Entity>) -> (CommandKind, Option<Entity>) {
        match self.kind {
            4..=6 => (CommandKind::Remove, Some(self.entity)),
            8 => (CommandKind::Despawn, Some(self.entity)),
            9 | 10 | 12 => (CommandKind::Spawn, reserved),
            11 => (CommandKind::Closure, None),
            _ => (CommandKind::Insert, Some(self.entity)),
        }
    }

    /// The same at once, through the world; `reserved` is what was reserved for it.
    fn execute(self, world: &mut World, tally: &Tally, reserved: Option<Entity>) -> Result<(), StructuralError> {
        let Op { kind, entity: e, key } = self;
        match kind {
            0 => world.try_insert(e, Small(key as u8)),
            1 => world.try_insert(e, (Value(tally.value(key)), Flag)),
            2 => world.try_insert(e, (Aligned(key), Wide([key.into(); 5]))),
            3 => world.try_insert(e, (Other(tally.value(key)), Value(tally.value(key + 1)))),
            4 => world.try_remove::<Value>(e).map(drop),
            5 => world.try_remove::<(Small, Other, Aligned)>(e).map(drop),
            6 => world.try_remove::<(Flag, Wide)>(e).map(drop),
            7 => world.try_insert(e, ()),
            8 => {
                // An entity that is not alive is despawned already.
                let _ = world.despawn(e);
                Ok(())
            }
            9 => world.try_spawn((Value(tally.value(key)), Small(1))).map(drop),
            10 => world.try_spawn(()).map(drop),
            11 => world.try_insert(e, Small(key as u8)).or(Ok(())),
            12 => world.try_insert(reserved.unwrap(), (Aligned(key), Value(tally.value(key)))),
            13 => world.try_insert(e, (Flag, Flag)),
            _ => world.try_insert(e, (Small(key as u8), Other(tally.value(key)))),
        }
    }
}

#[test]
fn a_buffer_does_what_its_commands_do_one_by_one_without_those_that_fail() {
    for seed in 0..600 {
        let tally = Tally::new();
        let (mut whole, known) = populated(&tally);
        let (mut single, _) = populated(&tally);
        let mut rng = Rng::new(seed);
        let ops: Vec<Op> = (0..1 + seed as usize % 50).map(|_| Op::draw(&mut rng, &known)).collect();
        let reserved: Vec<_> = ops.iter().map(|op| (op.kind == 12).then(|| single.reserve_entity())).collect();
        let mut commands = CommandBuffer::new();
        ops.iter().for_each(|op| op.record(&whole, &tally, &mut commands));
        let report = commands.apply(&mut whole);
        let skipped = report.skipped().iter().map(|skipped| {
            let named = (skipped.command, skipped.entity);
            (skipped.position, named, skipped.error)
        });
        let mut expected = Vec::new();
        for (position, op) in ops.iter().enumerate() {
            if let Err(error) = op.execute(&mut single, &tally, reserved[position]) {
                expected.push((position, op.named(reserved[position]), error));
            }
        }
        assert_eq!(skipped.collect::<Vec<_>>(), expected, "seed {seed}");
        assert_eq!(report.executed(), ops.len() - expected.len());
        assert_eq!(rows(&whole), rows(&single), "seed {seed}");
        whole.validate().unwrap();
        let next = |world: &mut World| [(); 4].map(|()| world.spawn_empty());
        assert_eq!(next(&mut whole), next(&mut single), "seed {seed}");
        drop((whole, single, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn the_strict_form_stands_up_to_the_segment_of_the_first_failure() {
    for seed in 0..300 {
        let tally = Tally::new();
        let (mut world, known) = populated(&tally);
        let (mut model, _) = populated(&tally);
        let mut rng = Rng::new(seed);
        let ops: Vec<Op> = (0..12).map(|_| Op::draw(&mut rng, &known)).filter(|op| op.kind != 12).collect();
        let (mut commands, mut prefix) = (CommandBuffer::new(), CommandBuffer::new());
        ops.iter().for_each(|op| op.record(&world, &tally, &mut commands));
        let outcome = commands.try_apply(&mut world);
        // What stands is everything up to the last closure before the refused command.
        let stands = match outcome {
            Ok(()) => ops.len(),
            Err(error) => ops[..error.position].iter().rposition(|op| op.kind == 11).map_or(0, |at| at + 1),
        };
        ops[..stands].iter().for_each(|op| op.record(&model, &tally, &mut prefix));
        prefix.try_apply(&mut model).unwrap();
        assert_eq!(rows(&world), rows(&model), "seed {seed}");
        world.validate().unwrap();
        drop((world, model, commands, prefix));
        tally.assert_no_leaks();
    }
}
