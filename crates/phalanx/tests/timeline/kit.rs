//! Components of every layout, operations on a world that are made up, and all that can be seen of it.

use phalanx::group::{Observed, Owned};
use phalanx::query::QueryState;
use phalanx::{Added, Changed, Component, Entity, Key, Removal, Role, Without, World};
use phalanx_testkit::{Counted, Rng, Tally};
use std::fmt::Write;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(serde::Serialize, serde::Deserialize))]
#[component(plain)]
pub(crate) struct Position(pub(crate) [u32; 3]);
#[derive(Component, Clone, Debug)]
#[component(clone)]
pub(crate) struct Value(pub(crate) Counted);
#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
pub(crate) struct Tag;
/// With padding, in lanes.
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Spin {
    pub(crate) axis: u8,
    pub(crate) speed: f64,
}
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Odd {
    pub(crate) pair: (u8, u32),
    pub(crate) flag: bool,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(serde::Serialize, serde::Deserialize))]
#[component(layout = "pool", plain)]
pub(crate) struct Burning(pub(crate) u32);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(crate) struct Pooled(pub(crate) Counted);
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "pool", clone)]
pub(crate) struct Frozen;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(serde::Serialize, serde::Deserialize))]
#[component(layout = "linear", plain)]
pub(crate) struct Mass(pub(crate) u16);
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(crate) struct Lined(pub(crate) Counted);
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "linear", clone)]
pub(crate) struct Seen;

#[derive(Component, Clone, Debug)]
#[component(track = "row", clone)]
pub(crate) struct Told(pub(crate) Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", track = "row", clone)]
pub(crate) struct Heard(pub(crate) Counted);
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "linear", track = "row", plain)]
pub(crate) struct Felt;
#[derive(Component, Clone, Debug)]
#[component(track = "column", clone)]
pub(crate) struct Noted(pub(crate) Counted);
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "pool", track = "column", clone)]
pub(crate) struct Known;

/// One operation, made up.
pub(crate) fn act(world: &mut World, rng: &mut Rng, tally: &Tally) {
    let (kind, n, who) = (rng.below(56), rng.below(1 << 16) as u32, rng.below(1 << 20));
    let alive = world.query::<Entity>().iter().count();
    let pick = |world: &World, who: usize| world.query::<Entity>().iter().nth(who % alive.max(1));
    let other = pick(world, rng.below(1 << 20));
    let Some(e) = pick(world, who) else {
        world.spawn_batch((0..20).map(|n| (Position([n; 3]), Burning(n))));
        return;
    };
    let key = Key::main(e).with_role(Role(1 + n % 3));
    match kind {
        0 => drop(world.spawn((Position([n; 3]), Value(tally.value(n)), Burning(n)))),
        1 => drop(world.spawn((Spin { axis: 1, speed: f64::from(n) }, Mass(n as u16), Pooled(tally.value(n))))),
        2 => drop(world.spawn((Tag, Lined(tally.value(n)), Seen, Frozen))),
        3 => drop(world.spawn_empty()),
        4 => drop(world.spawn_batch((0..n % 40).map(|n| (Position([n, 0, 0]), Mass(n as u16))))),
        5 => drop(world.spawn_batch((0..n % 9).map(|n| (Odd { pair: (1, n), flag: n % 2 == 0 }, Tag)))),
        6 => drop(world.spawn_columns((vec![Position([n; 3]); 5], vec![Burning(n); 5])).map(drop)),
        7..10 => world.despawn(e).unwrap(),
        10 => world.insert(e, (Position([n; 3]), Value(tally.value(n)))).unwrap(),
        11 => world.insert(e, Burning(n)).unwrap(),
        12 => world.insert(e, (Pooled(tally.value(n)), Frozen)).unwrap(),
        13 => world.insert(e, (Mass(n as u16), Lined(tally.value(n)))).unwrap(),
        14 => world.insert(e, (Spin { axis: 2, speed: f64::from(n) }, Seen)).unwrap(),
        15 => drop(world.remove::<(Position, Spin)>(e)),
        16 => drop(world.remove::<Burning>(e)),
        17 => drop(world.remove::<(Pooled, Frozen, Value)>(e)),
        18 => drop(world.remove::<(Mass, Lined, Seen)>(e)),
        19 => world.get_mut::<Position>(e).into_iter().for_each(|p| p.0[1] = n),
        20 => world.get_mut::<Burning>(e).into_iter().for_each(|b| b.0 = n),
        21 => world.get_mut::<Mass>(e).into_iter().for_each(|m| m.0 = n as u16),
        22 => world.get_mut::<Spin>(e).into_iter().for_each(|s| *s.speed = f64::from(n)),
        23 => world.get_mut::<Value>(e).into_iter().for_each(|v| v.0.set_key(n)),
        24 => world.get_mut::<Lined>(e).into_iter().for_each(|v| v.0.set_key(n)),
        25 => world.query_mut::<&mut Position>().for_each(|p| p.0[2] += 1),
        26 => world.query_mut::<(&mut Burning, Option<&mut Mass>)>().for_each(|(b, m)| {
            b.0 += 1;
            m.into_iter().for_each(|m| m.0 ^= 1);
        }),
        27 => world.query_mut::<&mut Spin>().chunks().for_each(|s| s.speed.iter_mut().for_each(|s| *s += 1.0)),
        28 => world.query_mut::<&mut Pooled>().for_each(|p| p.0.set_key(n)),
        29 => QueryState::<&mut Odd>::new().iter_mut(world).for_each(|o| o.pair.1 = n),
        30 => drop(world.add_row(key, (Position([n; 3]), Burning(n), Mass(3)))),
        31 => drop(world.row_mut(key).map(|mut row| _ = row.insert((Value(tally.value(n)), Pooled(tally.value(n)))))),
        32 => drop(world.row_mut(key).map(|mut row| row.get_mut::<Position>().map(|p| p.0[0] = n))),
        33 => world.pool_mut::<Burning>().values().iter_mut().for_each(|b| b.0 ^= 3),
        34 => drop(world.pool_mut::<Pooled>().sort_by_key(|p| p.0.key())),
        35 => drop(
            world
                .pool_mut::<Pooled>()
                .set_removal([Removal::Swap, Removal::Ordered, Removal::Deferred][n as usize % 3]),
        ),
        36 => drop(world.pool_mut::<Pooled>().compact(2)),
        37 => drop(world.create_group::<(Owned<Burning>, Without<Frozen>)>()),
        38 => drop(world.create_group::<Observed<(Burning, Mass)>>()),
        39 => {
            let group = world.create_group::<(Owned<Burning>, Without<Frozen>)>();
            group.into_iter().for_each(|g| g.slices_mut(world).iter_mut().for_each(|b| b.0 += 5));
        }
        40 => drop(world.reserve_entity()),
        41 => drop(world.entity_mut(e).map(|mut entity| entity.clone_entity())),
        42 => drop(world.compact(if n % 4 == 0 { usize::MAX } else { 0 })),
        43 => drop(world.despawn_batch(other.into_iter().chain([e]).collect::<Vec<_>>())),
        44 => world.component_mut::<Position>().get_mut(e).into_iter().for_each(|p| p.0[0] = n),
        45 => drop(world.spawn((Told(tally.value(n)), Heard(tally.value(n)), Felt))),
        46 => drop(world.spawn((Noted(tally.value(n)), Known, Position([n; 3])))),
        47 => world.insert(e, (Told(tally.value(n)), Known)).unwrap(),
        48 => world.insert(e, (Noted(tally.value(n)), Heard(tally.value(n)), Felt)).unwrap(),
        49 => drop(world.remove::<(Told, Known)>(e)),
        50 => drop(world.remove::<(Noted, Felt)>(e)),
        51 => world.query_mut::<(&mut Told, Option<&mut Heard>)>().for_each(|(mut t, h)| {
            if n % 2 == 0 {
                t.0.set_key(n);
            }
            h.into_iter().for_each(|mut h| h.0.set_key(n));
        }),
        52 => world.query_mut::<(&mut Noted, Option<&mut Felt>)>().for_each(|(t, felt)| {
            t.0.set_key(n);
            felt.into_iter().for_each(|mut felt| felt.set_changed());
        }),
        53 => world.get_mut::<Heard>(e).into_iter().for_each(|mut h| h.0.set_key(n)),
        54 => world.clear_trackers(),
        _ if n % 16 == 0 => world.clear(),
        _ => drop(world.exchange::<Tag, _>(e, Position([n; 3]))),
    }
}

/// All that can be seen of a world, in its order.
pub(crate) fn seen(world: &mut World) -> String {
    let mut out = String::new();
    let w = &mut out;
    writeln!(w, "{:?}", world.iter().collect::<Vec<_>>()).unwrap();
    macro_rules! list {
        ($($c:ty, |$v:ident| $show:expr;)*) => {$(
            let all = world.query::<(Entity, &$c)>().iter().map(|(e, $v)| (e, $show)).collect::<Vec<_>>();
            writeln!(w, "{} {all:?}", stringify!($c)).unwrap();
        )*};
    }
    list! {
        Position, |v| *v;
        Value, |v| v.0.key();
        Tag, |v| { let _ = v; };
        Spin, |v| v;
        Odd, |v| v;
        Burning, |v| *v;
        Pooled, |v| v.0.key();
        Frozen, |v| { let _ = v; };
        Mass, |v| *v;
        Lined, |v| v.0.key();
        Seen, |v| { let _ = v; };
        Told, |v| v.0.key();
        Heard, |v| v.0.key();
        Felt, |v| { let _ = v; };
        Noted, |v| v.0.key();
        Known, |v| { let _ = v; };
    }
    macro_rules! news {
        ($($filter:ty),*) => {$(
            let all = world.query_filtered::<Entity, $filter>().iter().collect::<Vec<_>>();
            writeln!(w, "{} {all:?}", stringify!($filter)).unwrap();
        )*};
    }
    news!(Added<Told>, Changed<Told>, Changed<Heard>, Added<Heard>, Changed<Felt>, Changed<Noted>, Changed<Known>);
    let removal = (world.pool::<Pooled>().removal(), world.pool::<Pooled>().holes());
    writeln!(w, "{removal:?}").unwrap();
    for e in world.iter() {
        let rows = world
            .rows(e)
            .unwrap()
            .map(|(key, row)| (key.role, world.row(row).and_then(|row| row.get::<Position>()).ok()));
        writeln!(
            w,
            "{e} {:?} {:?}",
            world.entity(e).unwrap().component_names().collect::<Vec<_>>(),
            rows.collect::<Vec<_>>()
        )
        .unwrap();
    }
    out
}

/// A world that knows all components, so that their ids do not depend on what comes first.
pub(crate) fn world() -> World {
    let mut world = World::new();
    world.register_component::<Position>();
    world.register_component::<Value>();
    world.register_component::<Tag>();
    world.register_component::<Spin>();
    world.register_component::<Odd>();
    world.register_component::<Burning>();
    world.register_component::<Pooled>();
    world.register_component::<Frozen>();
    world.register_component::<Mass>();
    world.register_component::<Lined>();
    world.register_component::<Seen>();
    world.register_component::<Told>();
    world.register_component::<Heard>();
    world.register_component::<Felt>();
    world.register_component::<Noted>();
    world.register_component::<Known>();
    world
}

/// Runs some operations, and validates the world after each.
pub(crate) fn run(world: &mut World, rng: &mut Rng, tally: &Tally, count: usize) {
    for _ in 0..count {
        act(world, rng, tally);
        world.validate().unwrap();
    }
}

/// Runs some operations.
pub(crate) fn rush(world: &mut World, rng: &mut Rng, tally: &Tally, count: usize) {
    (0..count).for_each(|_| act(world, rng, tally));
}
