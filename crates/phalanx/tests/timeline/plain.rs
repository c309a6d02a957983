//! Plain components of every layout, operations on a world of them that are made up, and all of the world as bytes.

use phalanx::group::{Observed, Owned};
use phalanx::timeline::{Checkpoint, delta};
use phalanx::{Added, Changed, Component, Entity, Key, Removal, Role, Row, Without, World};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Place(pub(crate) [u32; 3]);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Mark;
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Turn {
    pub(crate) axis: u8,
    pub(crate) speed: f64,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
pub(crate) struct Fire(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
pub(crate) struct Ice(pub(crate) u8);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
pub(crate) struct Dead;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
pub(crate) struct Load(pub(crate) u16);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "row", plain)]
pub(crate) struct Health(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row", plain)]
pub(crate) struct Heat(pub(crate) u16);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", track = "row", plain)]
pub(crate) struct Wound(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "column", plain)]
pub(crate) struct Speed(pub(crate) u64);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "column", plain)]
pub(crate) struct Aim(pub(crate) u8);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", track = "column", plain)]
pub(crate) struct Rank(pub(crate) u8);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "row", plain)]
pub(crate) struct Told;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", track = "column", plain)]
pub(crate) struct Known;

/// A world that knows all components, so that their ids do not depend on what comes first.
pub(crate) fn world() -> World {
    let mut world = World::new();
    world.register_component::<Place>();
    world.register_component::<Mark>();
    world.register_component::<Turn>();
    world.register_component::<Fire>();
    world.register_component::<Ice>();
    world.register_component::<Dead>();
    world.register_component::<Load>();
    world.register_component::<Health>();
    world.register_component::<Heat>();
    world.register_component::<Wound>();
    world.register_component::<Speed>();
    world.register_component::<Aim>();
    world.register_component::<Rank>();
    world.register_component::<Told>();
    world.register_component::<Known>();
    world
}

/// All of a world, as bytes: the way from a state of it in which there was nothing.
pub(crate) fn whole(world: &World, nothing: &Checkpoint) -> Vec<u8> {
    delta(nothing, &world.checkpoint().unwrap()).unwrap()
}

/// All of a world, as bytes, with the time and what is new.
pub(crate) fn everything(world: &World, nothing: &Checkpoint) -> Vec<u8> {
    let mut bytes = whole(world, nothing);
    bytes.extend(world.change_tick().number().to_le_bytes());
    macro_rules! news {
        ($($filter:ty),*) => {$(
            bytes.push(0xff);
            world.query_filtered::<Row, $filter>().for_each(|row| bytes.extend(format!("{row:?} ").as_bytes()));
        )*};
    }
    news!(Added<Health>, Added<Heat>, Added<Wound>, Added<Told>);
    news!(Changed<Health>, Changed<Heat>, Changed<Wound>, Changed<Told>);
    news!(Changed<Speed>, Changed<Aim>, Changed<Rank>, Changed<Known>);
    bytes
}

/// One operation; `pick` says which, by numbers below those it is given.
pub(crate) fn act(world: &mut World, mut pick: impl FnMut(usize) -> usize) {
    let (kind, n) = (pick(41), pick(256) as u32);
    let len = world.query::<Entity>().iter().count();
    let who = pick(len.max(1));
    let Some(e) = world.query::<Entity>().iter().nth(who) else {
        drop(world.spawn_batch((0..n % 200).map(|n| (Place([n; 3]), Fire(n)))));
        return;
    };
    let key = Key::main(e).with_role(Role(1 + n % 3));
    let key = if n % 5 == 0 { key.with_component(world.register_component::<Place>()) } else { key };
    match kind {
        0 => drop(world.spawn((Place([n; 3]), Load(n as u16)))),
        1 => drop(world.spawn((Mark, Fire(n), Ice(1), Heat(n as u16)))),
        2 => drop(world.spawn((Turn { axis: n as u8, speed: 1.0 }, Health(n)))),
        3 => drop(world.spawn((Speed(1), Aim(2), Rank(3), Wound(n)))),
        4 => drop(world.spawn_batch((0..n % 150).map(|n| (Place([n; 3]), Ice(n as u8), Wound(n))))),
        5 => world.despawn(e).unwrap(),
        6 => world.insert(e, (Fire(n), Load(1))).unwrap(),
        7 => world.insert(e, (Mark, Ice(n as u8))).unwrap(),
        8 => world.insert(e, (Health(n), Heat(1), Dead)).unwrap(),
        9 => world.insert(e, (Speed(u64::from(n)), Aim(1), Known)).unwrap(),
        10 => world.insert(e, (Wound(n), Rank(1), Told)).unwrap(),
        11 => drop(world.remove::<(Fire, Dead)>(e)),
        12 => drop(world.remove::<(Load, Mark)>(e)),
        13 => drop(world.remove::<(Health, Heat)>(e)),
        14 => drop(world.remove::<(Speed, Rank, Ice, Told, Known)>(e)),
        15 => world.get_mut::<Place>(e).into_iter().for_each(|p| p.0[0] = n),
        16 => world.get_mut::<Health>(e).into_iter().for_each(|mut h| h.0 = n),
        17 => world.get_mut::<Heat>(e).into_iter().for_each(|mut h| h.0 ^= 1),
        18 => world.get_mut::<Speed>(e).into_iter().for_each(|s| s.0 ^= 1),
        19 => world.query_mut::<(&mut Load, Option<&mut Place>)>().for_each(|(l, _)| l.0 ^= 1),
        20 => world.query_mut::<&mut Health>().for_each(|mut h| {
            if h.0 % 2 == 0 {
                h.0 += 1;
            }
        }),
        21 => world.query_mut::<(&mut Heat, Option<&mut Aim>)>().for_each(|(mut h, _)| h.0 ^= 1),
        22 => world
            .query_mut::<(&mut Wound, Option<&mut Rank>)>()
            .for_each(|(mut w, _)| w.bypass_change_detection().0 ^= 1),
        23 => world.query_mut::<(&mut Speed, Option<&mut Known>)>().for_each(|(s, _)| s.0 ^= 3),
        39 => world.query_mut::<&mut Told>().for_each(|mut told| told.set_changed()),
        24 => world.clear_trackers(),
        25 => drop(world.add_row(key, (Place([n; 3]), Fire(n), Load(3)))),
        26 => drop(world.add_row(key, (Health(n), Ice(1), Heat(1)))),
        27 => drop(world.remove_row(key)),
        28 => drop(world.row_mut(key).and_then(|mut row| row.try_insert((Fire(n), Speed(1))))),
        29 => drop(
            world.pool_mut::<Ice>().set_removal([Removal::Swap, Removal::Ordered, Removal::Deferred][n as usize % 3]),
        ),
        30 => drop(world.pool_mut::<Ice>().compact(1)),
        31 => drop(world.create_group::<(Owned<Fire>, Without<Dead>)>()),
        32 => drop(world.create_group::<(Owned<(Fire, Heat)>, Without<Dead>)>()),
        33 => drop(world.create_group::<(Observed<(Load, Wound)>, Without<Ice>)>()),
        34 => drop(world.create_group::<(Owned<Fire>, Without<Dead>)>().map(|group| world.remove_group(group))),
        35 => drop(world.create_group::<Owned<Ice>>()),
        36 => drop(world.reserve_entity()),
        37 => drop(world.compact(if n % 4 == 0 { usize::MAX } else { 0 })),
        38 => drop(world.pool_mut::<Ice>().sort_by_key(|ice| ice.0)),
        _ => drop(world.despawn_batch([e])),
    }
}
