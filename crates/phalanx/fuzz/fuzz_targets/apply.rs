//! Deltas made by a fuzzer: those of operations, as they are and with changed bytes, and bytes that were never one. Checksums
//! are not looked at in builds for fuzzing.
#![no_main]

#[path = "../../tests/timeline/plain.rs"]
#[allow(dead_code)]
mod plain;

use libfuzzer_sys::fuzz_target;
use phalanx::timeline::delta;
use phalanx::World;

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn below(&mut self, bound: usize) -> usize {
        let high = if bound > 256 { self.byte() << 8 } else { 0 };
        (high | self.byte()) % bound
    }

    fn act(&mut self, world: &mut World, most: usize) {
        for _ in 0..self.below(most) {
            plain::act(world, |bound| self.below(bound));
        }
    }
}

/// Returns what comes before the arrays: the mark, the checksum of the first state, the components.
fn head(delta: &[u8]) -> &[u8] {
    let count = u32::from_le_bytes([delta[16], delta[17], delta[18], delta[19]]);
    &delta[..20 + count as usize * 8]
}

fuzz_target!(|bytes: &[u8]| {
    let (mut input, mut world) = (Input(bytes), plain::world());
    let nothing = world.checkpoint().unwrap();
    let is_made_up = input.byte() % 2 == 1;
    input.act(&mut world, 24);
    let before = world.checkpoint().unwrap();
    let then = delta(&nothing, &before).unwrap();
    let mut bytes = if is_made_up {
        [head(&then), input.0].concat()
    } else {
        input.act(&mut world, 8);
        let after = world.checkpoint().unwrap();
        let bytes = delta(&before, &after).unwrap();
        world.rollback(&before).unwrap();
        assert!(plain::whole(&world, &nothing) == then);
        if input.0.is_empty() {
            world.apply_delta(&bytes).unwrap();
            world.validate().unwrap();
            assert!(plain::whole(&world, &nothing) == delta(&nothing, &after).unwrap());
            return;
        }
        bytes
    };
    if !is_made_up {
        let start = head(&bytes).len();
        while !input.0.is_empty() {
            let at = start + input.below(bytes.len().saturating_sub(start).max(257));
            match (bytes.get_mut(at), input.byte()) {
                (Some(byte), value @ 0..128) => *byte = value as u8,
                (Some(byte), value) => *byte ^= 1 << (value % 8),
                (None, _) => drop(bytes.pop()),
            }
        }
    }
    match world.apply_delta(&bytes) {
        Ok(()) => {
            world.validate().unwrap();
            // Good for all that can be done with a world.
            let after = world.checkpoint().unwrap();
            world.despawn_batch(world.iter().step_by(2).collect::<Vec<_>>());
            world.spawn((plain::Place([1; 3]), plain::Fire(1), plain::Load(1)));
            world.query_mut::<(&mut plain::Place, Option<&mut plain::Fire>)>().for_each(|(p, _)| p.0[0] += 1);
            world.validate().unwrap();
            for n in 0..20 {
                plain::act(&mut world, |bound| (n * 7 + 3) % bound);
            }
            world.validate().unwrap();
            world.clear();
            world.validate().unwrap();
            world.rollback(&after).unwrap();
            world.validate().unwrap();
        }
        Err(_) => {
            world.validate().unwrap();
            assert!(plain::whole(&world, &nothing) == then);
        }
    }
});
