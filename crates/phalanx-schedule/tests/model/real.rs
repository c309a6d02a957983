//! The systems of a random schedule.

use super::kinds::*;
use super::spec::{Condition, Kind, Spec, SystemSpec, mix};
use phalanx::event::{EventReader, EventWriter};
use phalanx::query::Has;
use phalanx::system::{Commands, ParamSet, Res, ResMut};
use phalanx::{Added, Changed, Entity, Query, With, Without, World};
use phalanx_schedule::{IntoSystemConfig, Schedule, SystemConfig};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether systems wait for a while.
pub static DELAYS: AtomicBool = AtomicBool::new(false);

/// Waits for a time that differs from system to system and from call to call.
fn delay(id: u32) {
    if DELAYS.load(Ordering::Relaxed) {
        let noise = std::time::Instant::now().elapsed().subsec_nanos();
        (0..mix(id, noise) % 4 * 300).for_each(|_| std::hint::spin_loop());
        if noise % 16 == 0 {
            std::thread::yield_now();
        }
    }
}

pub fn start(spec: &Spec, world: &mut World) -> Vec<Entity> {
    world.insert_resource(Seed(spec.seed as u32));
    world.insert_resource(Log1::default());
    world.insert_resource(Log2::default());
    world.insert_resource(Column::default());
    let entities: Vec<Entity> = (0..spec.entities)
        .map(|n| {
            let entity = world.spawn((A(n), R(n), C(n)));
            if n % 2 == 0 {
                world.insert(entity, (P(n), L(n))).unwrap();
            }
            if n % 3 == 0 {
                world.insert(entity, (Tag, S(n))).unwrap();
            }
            if n % 5 == 0 {
                world.insert(entity, (Loose,)).unwrap();
            }
            entity
        })
        .collect();
    entities.iter().skip(3).step_by(4).for_each(|entity| world.despawn(*entity).unwrap());
    entities
}

pub fn build(spec: &Spec) -> (World, Schedule) {
    let mut world = World::new();
    start(spec, &mut world);
    let mut builder = Schedule::builder("model");
    for system in &spec.systems {
        if system.kind == Kind::Sync {
            builder = builder.sync();
            continue;
        }
        let mut config = config(system).named(format!("n{}", system.id));
        for (other, syncs) in &system.after {
            let other: &'static str = NAMES[*other as usize];
            config = if *syncs { config.after(other) } else { config.after_unsynced(other) };
        }
        for other in &system.before {
            config = config.before(NAMES[*other as usize]);
        }
        for set in &system.sets {
            config = config.in_set(["s0", "s1"][*set]);
        }
        for condition in &system.conditions {
            config = match *condition {
                Condition::Seed(n) => config.run_if(move |seed: Res<Seed>| seed.0 % n != 0),
                Condition::EvenA => config.run_if(even_a),
                Condition::ChangedR => config.run_if(changed_r),
                Condition::HasPing => config.run_if(has_ping),
                Condition::World => config.run_if(world_is_odd),
            };
        }
        if let Some(reserve) = system.reserve {
            config = config.reserve_spawns(reserve);
        }
        builder = builder.add(config);
    }
    for (set, conditions) in spec.sets.iter().enumerate() {
        let has_members = spec.systems.iter().any(|system| system.sets.contains(&set)) || set == 0 && spec.is_nested;
        if !has_members {
            continue;
        }
        builder = builder.set(["s0", "s1"][set], |mut config| {
            for condition in conditions {
                config = match *condition {
                    Condition::Seed(n) => config.run_if(move |seed: Res<Seed>| seed.0 % n != 0),
                    Condition::EvenA => config.run_if(even_a),
                    Condition::ChangedR => config.run_if(changed_r),
                    Condition::HasPing => config.run_if(has_ping),
                    Condition::World => config.run_if(world_is_odd),
                };
            }
            if set == 1 && spec.is_nested { config.in_set("s0") } else { config }
        });
    }
    let schedule = builder.build(&mut world).unwrap();
    (world, schedule)
}

const NAMES: [&str; 24] = [
    "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12", "n13", "n14", "n15", "n16", "n17",
    "n18", "n19", "n20", "n21", "n22", "n23",
];

fn even_a(a: Query<&A>) -> bool {
    a.iter().count() % 2 == 0
}

fn changed_r(r: Query<Entity, Changed<R>>) -> bool {
    r.iter().count() > 0
}

fn has_ping(mut pings: EventReader<Ping>) -> bool {
    !pings.read().is_empty()
}

fn world_is_odd(world: &World) -> bool {
    world.len() % 2 == 1
}

/// The sum of values, whatever their order is.
fn sum(values: impl Iterator<Item = u32>) -> u32 {
    values.fold(0, |sum, value| sum.wrapping_add(mix(value, 1)))
}

fn config(system: &SystemSpec) -> SystemConfig {
    let id = system.id;
    match system.kind {
        Kind::WriteA => (move |mut a: Query<&mut A>| {
            delay(id);
            a.iter_mut().for_each(|a| a.0 = mix(a.0, id));
        })
        .into_config(),
        Kind::CopyAToP => (move |mut rows: Query<(&A, &mut P)>| {
            delay(id);
            rows.iter_mut().for_each(|(a, p)| p.0 = mix(p.0, a.0));
        })
        .into_config(),
        Kind::CopyPToL => (move |mut rows: Query<(&P, &mut L)>| {
            delay(id);
            rows.iter_mut().for_each(|(p, l)| l.0 = mix(l.0, p.0));
        })
        .into_config(),
        Kind::WriteR(true) => (move |mut rows: Query<&mut R, With<Tag>>| {
            delay(id);
            rows.iter_mut().filter(|r| (r.0 ^ id) & 1 == 0).for_each(|mut r| r.0 = mix(r.0, id));
        })
        .into_config(),
        Kind::WriteR(false) => (move |mut rows: Query<&mut R, Without<Tag>>| {
            delay(id);
            rows.iter_mut().filter(|r| (r.0 ^ id) & 1 == 0).for_each(|mut r| r.0 = mix(r.0, id));
        })
        .into_config(),
        Kind::WriteS(true) => (move |mut rows: Query<&mut S, With<Loose>>| {
            delay(id);
            rows.iter_mut().filter(|s| (s.0 ^ id) & 1 == 0).for_each(|mut s| s.0 = mix(s.0, id));
        })
        .into_config(),
        Kind::WriteS(false) => (move |mut rows: Query<&mut S, Without<Loose>>| {
            delay(id);
            rows.iter_mut().filter(|s| (s.0 ^ id) & 1 == 0).for_each(|mut s| s.0 = mix(s.0, id));
        })
        .into_config(),
        Kind::WriteC(true) => (move |mut rows: Query<&mut C, With<Loose>>| {
            delay(id);
            rows.iter_mut().for_each(|c| c.0 = mix(c.0, id));
        })
        .into_config(),
        Kind::WriteC(false) => (move |mut rows: Query<&mut C, Without<Loose>>| {
            delay(id);
            rows.iter_mut().for_each(|c| c.0 = mix(c.0, id));
        })
        .into_config(),
        Kind::ChangedR => (move |rows: Query<(Entity, &R), Changed<R>>, mut log: ResMut<Log1>| {
            delay(id);
            log.0.extend([id, sum(rows.iter().map(|(entity, r)| mix(entity.index(), r.0)))]);
        })
        .into_config(),
        Kind::AddedR => (move |rows: Query<(Entity, &R), Added<R>>, mut log: ResMut<Log2>| {
            delay(id);
            log.0.extend([id, sum(rows.iter().map(|(entity, r)| mix(entity.index(), r.0)))]);
        })
        .into_config(),
        Kind::ChangedS => (move |rows: Query<(Entity, &S), Changed<S>>, mut log: ResMut<Log2>| {
            delay(id);
            log.0.extend([id, sum(rows.iter().map(|(entity, s)| mix(entity.index(), s.0)))]);
        })
        .into_config(),
        Kind::ChangedC => (move |rows: Query<(Entity, &C), Changed<C>>, mut log: ResMut<Column>| {
            delay(id);
            log.0.extend([id, sum(rows.iter().map(|(entity, c)| mix(entity.index(), c.0)))]);
        })
        .into_config(),
        Kind::WriteChangedR => (move |mut rows: Query<(&mut R, &A), Changed<R>>| {
            delay(id);
            rows.iter_mut().filter(|(_, a)| a.0 % 3 != 0).for_each(|(mut r, a)| r.0 = mix(r.0, a.0));
        })
        .into_config(),
        Kind::Spawn => (move |mut commands: Commands, seed: Res<Seed>, mut pings: EventWriter<Ping>| {
            delay(id);
            for n in 0..spawn_count(seed.0, id) {
                let entity = commands.spawn((A(n), R(mix(n, id))));
                match n % 4 {
                    0 => commands.insert(entity, (P(id), Tag)),
                    1 => commands.insert(entity, (S(id), C(id))),
                    2 if n % 8 == 2 => commands.despawn(entity),
                    _ => {}
                }
                if n % 16 == 0 {
                    pings.send(Ping(entity.index()));
                }
            }
        })
        .into_config(),
        Kind::SpawnLater => (move |mut commands: Commands| {
            delay(id);
            (0..id % 5).for_each(|n| commands.spawn_later((A(n), R(n), S(n), L(id))));
        })
        .into_config(),
        Kind::Despawn => (move |rows: Query<(Entity, &A)>, mut commands: Commands| {
            delay(id);
            let mut entities: Vec<Entity> =
                rows.iter().filter(|(_, a)| mix(a.0, id) % 5 == 0).map(|(entity, _)| entity).collect();
            entities.sort_unstable_by_key(|entity| entity.index());
            entities.into_iter().for_each(|entity| commands.despawn(entity));
        })
        .into_config(),
        Kind::Insert => (move |rows: Query<(Entity, &A, Has<Tag>)>, mut commands: Commands| {
            delay(id);
            let mut rows: Vec<_> = rows.iter().map(|(entity, a, has)| (entity, mix(a.0, id), has)).collect();
            rows.sort_unstable_by_key(|(entity, ..)| entity.index());
            for (entity, value, has_tag) in rows {
                match value % 9 {
                    0 if has_tag => commands.remove::<(Tag,)>(entity),
                    0 => commands.insert(entity, (Tag, Loose)),
                    1 => commands.insert(entity, (R(value), P(value))),
                    2 => commands.remove::<(R,)>(entity),
                    3 => commands.remove::<(Loose,)>(entity),
                    4 => commands.insert(entity, (S(value), C(value))),
                    5 => commands.queue(move |world| world.resource_mut::<Seed>().unwrap().0 ^= value),
                    _ => {}
                }
            }
        })
        .into_config(),
        Kind::Send => (move |mut pings: EventWriter<Ping>, seed: Res<Seed>| {
            delay(id);
            (0..mix(seed.0, id) % 4).for_each(|n| pings.send(Ping(mix(n, id))));
        })
        .into_config(),
        Kind::ReadPing => (move |mut pings: EventReader<Ping>, mut log: ResMut<Log1>| {
            delay(id);
            log.0.push(id);
            log.0.extend(pings.read().iter().map(|ping| ping.0));
        })
        .into_config(),
        Kind::Relay => (move |mut pings: EventReader<Ping>, mut pongs: EventWriter<Pong>| {
            delay(id);
            pongs.send_batch(pings.read().iter().map(|ping| Pong(mix(ping.0, id))));
        })
        .into_config(),
        Kind::ReadPong => (move |mut pongs: EventReader<Pong>, mut log: ResMut<Log2>| {
            delay(id);
            log.0.push(id);
            log.0.extend(pongs.read().iter().map(|pong| pong.0));
        })
        .into_config(),
        Kind::WriteSeed => (move |mut seed: ResMut<Seed>| {
            delay(id);
            seed.0 = mix(seed.0, id);
        })
        .into_config(),
        Kind::ReadWorld => (move |world: &World, mut pongs: EventWriter<Pong>| {
            delay(id);
            let values = world.query::<(Entity, &A)>();
            pongs.send(Pong(sum(values.iter().map(|(entity, a)| mix(entity.index(), a.0)))));
        })
        .into_config(),
        Kind::Set => (move |mut set: ParamSet<(Query<&A>, Query<&mut A>, ResMut<Log1>)>| {
            delay(id);
            let sum = sum(set.p0().iter().map(|a| a.0));
            set.p1().iter_mut().filter(|a| a.0 % 4 == 0).for_each(|a| a.0 = mix(a.0, sum));
            set.p2().0.push(sum);
        })
        .into_config(),
        Kind::Exclusive => (move |world: &mut World| {
            let seed = &mut world.resource_mut::<Seed>().unwrap().0;
            *seed = mix(*seed, id);
            world.spawn((A(id), R(id), Loose));
            let rows = world.query_mut::<&mut R>();
            rows.into_iter().filter(|r| (r.0 ^ id) & 3 == 0).for_each(|mut r| r.0 = mix(r.0, id));
            world.send(Ping(id));
        })
        .into_config(),
        Kind::Sync => unreachable!("a sync point is no system"),
    }
}

/// How many entities a system spawns. Some spawn more than are reserved.
pub fn spawn_count(seed: u32, id: u32) -> u32 {
    match mix(seed, id) % 8 {
        0 => 70,
        n => n * 2,
    }
}
