//! Operations on a world, noise that must not matter to it, and all that can be seen of it.

use phalanx::group::{Observed, Owned};
use phalanx::query::QueryState;
use phalanx::snapshot::{Registry, diff};
use phalanx::timeline::Timeline;
use phalanx::{Added, Changed, Component, Entity, Key, Removal, Role, With, Without, World};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

macro_rules! components {
    ($($(#[$attribute:meta])* $name:ident($value:ty);)*) => {$(
        #[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
        $(#[$attribute])*
        pub(crate) struct $name(pub(crate) $value);
    )*};
}

components! {
    #[component(clone)]
    Name(String);
    #[component(clone)]
    Place([u32; 3]);
    #[component(layout = "pool", clone)]
    Fire(u32);
    #[component(layout = "pool", clone)]
    Ice(String);
    #[component(layout = "pool", clone)]
    Water(u8);
    #[component(layout = "linear", clone)]
    Mass(u16);
    #[component(layout = "linear", clone)]
    Likes(Vec<u8>);
    #[component(track = "row", clone)]
    Armor(u32);
    #[component(track = "column", clone)]
    Mana(String);
    #[component(layout = "pool", track = "row", clone)]
    Rage(u32);
    #[component(layout = "pool", track = "column", clone)]
    Aim(u32);
    #[component(layout = "linear", track = "row", clone)]
    Wound(u32);
    #[component(layout = "linear", track = "column", clone)]
    Breath(u16);
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
pub(crate) struct Enemy;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", clone)]
pub(crate) struct Marked;

/// Calls a macro with all components, in an order that is neither that of their names nor that of their first use.
macro_rules! each_component {
    ($each:ident) => {
        $each!(Wound Fire Name Aim Enemy Mass Rage Ice Place Breath Marked Armor Water Likes Mana)
    };
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Score(u32);
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Level(u32);

/// Everything, under names that are in another order than those of the types.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.serde::<Name>("z name").unwrap();
    registry.serde::<Place>("a place").unwrap();
    registry.serde::<Fire>("y fire").unwrap();
    registry.serde::<Ice>("b ice").unwrap();
    registry.serde::<Water>("x water").unwrap();
    registry.serde::<Mass>("c mass").unwrap();
    registry.serde::<Likes>("w likes").unwrap();
    registry.serde::<Armor>("d armor").unwrap();
    registry.serde::<Mana>("v mana").unwrap();
    registry.serde::<Rage>("e rage").unwrap();
    registry.serde::<Aim>("u aim").unwrap();
    registry.serde::<Wound>("f wound").unwrap();
    registry.serde::<Breath>("t breath").unwrap();
    registry.tag("g enemy", || Enemy).unwrap();
    registry.tag("s marked", || Marked).unwrap();
    registry.serde_resource::<Score>("score").unwrap();
    registry.serde_resource::<Level>("level").unwrap();
    registry
}

/// What decides: a number below a bound.
pub(crate) type Pick<'a> = &'a mut dyn FnMut(usize) -> usize;

/// Runs one operation. Returns the entity that it reserved, if it did.
pub(crate) fn act(world: &mut World, pick: Pick<'_>) -> Option<Entity> {
    let (kind, n) = (pick(46), pick(256) as u32);
    let alive = world.len();
    let someone = |pick: Pick<'_>| world.iter().nth(pick(alive.max(1)));
    let (Some(e), Some(other)) = (someone(pick), someone(pick)) else {
        drop(world.spawn_batch((0..1 + n % 30).map(|n| (Place([n; 3]), Fire(n), Mass(n as u16)))));
        return None;
    };
    let key = Key::main(e).with_role(Role(1 + n % 3));
    let key = if n.is_multiple_of(5) { key.with_component(world.register_component::<Place>()) } else { key };
    let text = || "x".repeat(n as usize % 4);
    match kind {
        0 => drop(world.spawn((Place([n; 3]), Mass(n as u16), Name(text())))),
        1 => drop(world.spawn((Enemy, Fire(n), Ice(text()), Rage(n)))),
        2 => drop(world.spawn((Armor(n), Mana(text()), Aim(n), Marked))),
        3 => drop(world.spawn((Wound(n), Breath(n as u16), Likes(vec![1; n as usize % 3])))),
        4 => drop(world.spawn_empty()),
        5 => drop(world.spawn_batch((0..n % 20).map(|n| (Place([n; 3]), Ice(text()), Wound(n))))),
        6 | 7 => world.despawn(e).unwrap(),
        8 => world.insert(e, (Fire(n), Mass(1))).unwrap(),
        9 => world.insert(e, (Enemy, Ice(text()))).unwrap(),
        10 => world.insert(e, (Armor(n), Rage(1), Marked)).unwrap(),
        11 => world.insert(e, (Mana(text()), Aim(1), Name(text()))).unwrap(),
        12 => world.insert(e, (Wound(n), Breath(1), Water(n as u8))).unwrap(),
        13 => world.insert(e, Place([n; 3])).unwrap(),
        14 => drop(world.remove::<(Fire, Marked)>(e)),
        15 => drop(world.remove::<(Mass, Enemy)>(e)),
        16 => drop(world.remove::<(Armor, Rage)>(e)),
        17 => drop(world.remove::<(Mana, Breath, Ice)>(e)),
        18 => drop(world.remove::<Place>(e)),
        19 => world.get_mut::<Armor>(e).into_iter().for_each(|mut a| a.0 = n),
        20 => world.get_mut::<Rage>(e).into_iter().for_each(|mut a| a.0 = n),
        21 => world.get_mut::<Mana>(e).into_iter().for_each(|mana| mana.0.push('!')),
        22 => world.query_mut::<(&mut Mass, Option<&mut Place>)>().for_each(|(mass, _)| mass.0 ^= 1),
        23 => world.query_mut::<&mut Wound>().for_each(|mut wound| wound.0 += 1),
        24 => world.query_mut::<(&mut Breath, Option<&mut Aim>)>().for_each(|(breath, _)| breath.0 ^= 3),
        25 => world.clear_trackers(),
        26 => drop(world.add_row(key, (Place([n; 3]), Fire(n), Mass(3)))),
        27 => drop(world.add_row(key, (Armor(n), Ice(text()), Rage(1)))),
        28 => drop(world.remove_row(key)),
        29 => drop(world.row_mut(key).and_then(|mut row| row.try_insert((Fire(n), Mana(text()))))),
        30 => drop(
            world.pool_mut::<Ice>().set_removal([Removal::Swap, Removal::Ordered, Removal::Deferred][n as usize % 3]),
        ),
        31 => drop(world.pool_mut::<Ice>().compact(n as usize % 3)),
        32 => drop(world.create_group::<(Owned<Fire>, Without<Marked>)>()),
        33 => drop(world.create_group::<(Owned<(Fire, Rage)>, Without<Marked>)>()),
        34 => drop(world.create_group::<(Observed<(Mass, Wound)>, Without<Water>)>()),
        35 => drop(world.create_group::<Observed<(Fire, Mass)>>()),
        36 => drop(world.create_group::<(Owned<Fire>, Without<Marked>)>().map(|group| world.remove_group(group))),
        37 => drop(world.create_group::<Observed<(Fire, Mass)>>().map(|group| world.remove_group(group))),
        38 => return Some(world.reserve_entity()),
        39 => drop(world.pool_mut::<Ice>().sort_by_key(|ice| ice.0.len())),
        40 => drop(world.entity_mut(e).map(|mut entity| entity.clone_entity())),
        41 => drop(world.insert_where::<With<Enemy>, _>((Water(1), Name(text())))),
        42 => drop(world.remove_where::<With<Water>, (Water, Place)>()),
        43 => drop(world.insert_resource(Score(n))),
        44 => drop(world.insert_resource(Level(n))),
        _ => drop(world.despawn_batch([e, other])),
    }
    None
}

/// The resources of a world, which a rollback leaves alone and a clone does not have.
struct Resources(Option<Score>, Option<Level>);

impl Resources {
    fn of(world: &World) -> Resources {
        Resources(world.resource::<Score>().ok().cloned(), world.resource::<Level>().ok().cloned())
    }

    fn put_back(self, world: &mut World) {
        drop((world.remove_resource::<Score>(), world.remove_resource::<Level>()));
        self.0.into_iter().for_each(|score| drop(world.insert_resource(score)));
        self.1.into_iter().for_each(|level| drop(world.insert_resource(level)));
    }
}

/// A disturbance that is not an operation: it must leave no trace. `log` is what listeners have written.
///
/// Every operation makes reserved entities come alive, one that removes nothing too: while some are `reserved`, there is none.
pub(crate) fn disturb(world: &mut World, pick: Pick<'_>, log: &Log, reserved: bool) {
    let resources = Resources::of(world);
    match pick(14) {
        1 | 2 if reserved => {}
        0 => {
            macro_rules! register {
                ($($component:ident)*) => {{
                    let all: &[fn(&mut World)] = &[$(|world| drop(world.register_component::<$component>())),*];
                    all[pick(all.len())](world);
                }};
            }
            each_component!(register);
        }
        1 => {
            // Removals of what is not there.
            let Some(e) = world.iter().nth(pick(world.len().max(1))) else { return };
            macro_rules! remove {
                ($($component:ident)*) => {$(
                    if pick(3) == 0 && !world.has::<$component>(e) {
                        assert_eq!(world.remove::<$component>(e), Ok(false));
                    }
                )*};
            }
            each_component!(remove);
        }
        2 => {
            macro_rules! access {
                ($($component:ident)*) => {{
                    let all: &[fn(&mut World)] = &[$(|world| drop(world.component_mut::<$component>())),*];
                    all[pick(all.len())](world);
                }};
            }
            each_component!(access);
        }
        3 => {
            macro_rules! listen {
                ($($component:ident)*) => {{
                    let all: &[fn(&mut World)] = &[$(|world| {
                        let listener = world.on_add::<$component>(|_, _, _| {});
                        let collector = world.collector().removed::<$component>().with::<Water>().build();
                        assert!(world.disconnect(listener) && collector.remove(world));
                    }),*];
                    all[pick(all.len())](world);
                }};
            }
            each_component!(listen);
        }
        4 => {
            // A future that is discarded, and in which components may come first.
            let (before, len) = (world.checkpoint().unwrap(), log.len());
            (0..pick(12)).for_each(|_| drop(act(world, pick)));
            world.rollback(&before).unwrap();
            resources.put_back(world);
            log.truncate(len);
        }
        5 => {
            let (mut timeline, len) = (Timeline::new(3), log.len());
            timeline.capture(world).unwrap();
            for _ in 0..1 + pick(3) {
                (0..pick(5)).for_each(|_| drop(act(world, pick)));
                timeline.capture(world).unwrap();
            }
            timeline.rewind(world, timeline.len()).unwrap();
            timeline.detach(world);
            resources.put_back(world);
            log.truncate(len);
        }
        6 => {
            let mut state = QueryState::<(Entity, &Armor, Option<&Rage>), Changed<Armor>>::new();
            (0..pick(3)).for_each(|_| state.iter(world).for_each(drop));
            world.query_filtered::<(Entity, Option<&Aim>), Added<Wound>>().for_each(drop);
        }
        7 => drop(world.query_mut::<(&Fire, &Mass, Option<&Water>)>().explain()),
        // It closes holes, which can be seen.
        8 if world.pool::<Ice>().holes() == 0 => drop(world.compact(usize::MAX)),
        8 => {}
        9 => drop(world.layout_report()),
        10 => drop(registry().save(world, std::io::sink()).unwrap()),
        11 => drop(world.try_clone().unwrap()),
        12 => {
            let here = world.checkpoint().unwrap();
            drop(world.remove_resource::<String>());
            world.rollback(&here).unwrap();
        }
        _ => drop(world.pool::<Water>().len()),
    }
}

/// What listeners have written.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn truncate(&self, len: usize) {
        self.0.lock().unwrap().truncate(len);
    }

    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    /// Asserts that two have the same lines, and prints the last ones before the first difference.
    fn assert_same(&self, other: &Log, when: &str) {
        let (left, right) = (self.0.lock().unwrap(), other.0.lock().unwrap());
        let same = left.iter().zip(&*right).take_while(|(left, right)| left == right).count();
        let around = |lines: &[String]| lines[same.saturating_sub(5)..(same + 5).min(lines.len())].to_vec();
        assert_eq!(around(&left), around(&right), "{when}");
    }
}

/// Connects listeners, some of which change the world, in an order that is not that of anything else.
pub(crate) fn listen(world: &mut World, log: &Log) {
    macro_rules! connect {
        ($($component:ident)*) => {$(
            let name = stringify!($component);
            let to = log.clone();
            world.on_remove::<$component>(move |event, world, _| {
                to.push(format!("{name} left {} {:?}, {} alive", event.entity, event.value, world.len()));
            });
            let to = log.clone();
            world.on_add::<$component>(move |event, _, _| to.push(format!("{name} came to {}", event.entity)));
            let to = log.clone();
            world.on_set::<$component>(move |event, _, _| to.push(format!("{name} of {} was set", event.entity)));
        )*};
    }
    each_component!(connect);
    let to = log.clone();
    world.on_spawn(move |event, _, _| to.push(format!("{} was spawned", event.entity)));
    let to = log.clone();
    world.on_despawn(move |event, _, _| to.push(format!("{} was despawned", event.entity)));
    world.on_add::<Ice>(|event, _, commands| commands.insert(event.entity, Water(7)));
    world.on_remove::<Place>(|event, world, commands| {
        if world.contains(event.entity) && world.len() < 200 {
            commands.spawn((Rage(1), Name("ghost".into())));
        }
    });
    world.on_add::<Fire>(|event, _, commands| commands.remove::<Ice>(event.entity));
}

/// All that can be seen of a world, in its order.
pub(crate) fn seen(world: &World) -> String {
    let mut out = String::new();
    let w = &mut out;
    writeln!(w, "{world:?}").unwrap();
    let name = |key: Key| (key.entity, key.component.map(|id| world.components().info(id).name()), key.role);
    macro_rules! list {
        ($($component:ident)*) => {$(
            let all = world.query::<(Key, &$component)>().iter().map(|(key, value)| (name(key), value.clone()));
            writeln!(w, "{:?}", all.collect::<Vec<_>>()).unwrap();
        )*};
    }
    each_component!(list);
    macro_rules! news {
        ($($filter:ty),*) => {$(
            let all = world.query_filtered::<Key, $filter>().iter().map(name).collect::<Vec<_>>();
            writeln!(w, "{} {all:?}", stringify!($filter)).unwrap();
        )*};
    }
    news!(
        Added<Armor>,
        Changed<Armor>,
        Changed<Mana>,
        Added<Rage>,
        Changed<Rage>,
        Changed<Aim>,
        Changed<Wound>,
        Changed<Breath>
    );
    news!(With<Place>, (With<Fire>, With<Mass>), (With<Fire>, Without<Marked>), Without<Enemy>);
    macro_rules! plans {
        ($($query:ty),*) => {$(writeln!(w, "{}", world.query::<$query>().explain()).unwrap();)*};
    }
    plans!(
        &'static Place,
        (&'static Fire, &'static Mass),
        (&'static Fire, &'static Rage),
        (&'static Mass, &'static Wound)
    );
    for e in world.iter() {
        let rows = world.rows(e).unwrap().map(|(key, _)| name(key)).collect::<Vec<_>>();
        writeln!(w, "{e} {:?} {rows:?}", world.entity(e).unwrap().component_names().collect::<Vec<_>>()).unwrap();
    }
    let ice = world.pool::<Ice>();
    writeln!(w, "{:?} {} {}", ice.removal(), ice.holes(), world.row_count()).unwrap();
    out
}

/// Asserts that two worlds cannot be told apart.
pub(crate) fn assert_same(registry: &Registry, a: &World, b: &World, when: &str) {
    a.validate().unwrap();
    b.validate().unwrap();
    let (left, right) = (seen(a), seen(b));
    for (left, right) in left.lines().zip(right.lines()) {
        assert_eq!(left, right, "{when}");
    }
    assert_eq!(left, right, "{when}");
    let save = |world: &World| {
        let mut bytes = Vec::new();
        let report = registry.save(world, &mut bytes).unwrap();
        (report, bytes)
    };
    let json = |world: &World| {
        let mut json = Vec::new();
        registry.serialize(world, &mut serde_json::Serializer::new(&mut json)).unwrap();
        String::from_utf8(json).unwrap()
    };
    assert_eq!(json(a), json(b), "{when}");
    assert_eq!(registry.checksum(a), registry.checksum(b), "{when}");
    assert!(save(a) == save(b), "{when}: other bytes");
    assert_eq!(diff(registry, a, b), Ok(None), "{when}");
}

/// Builds the same state in two worlds, one of which is disturbed all the time, and compares what they are and become.
pub(crate) fn compare(steps: usize, future: usize, has_listeners: bool, pick: Pick<'_>) {
    let registry = registry();
    let (mut plain, mut disturbed) = (World::new(), World::new());
    let logs = [Log::default(), Log::default()];
    // The last entity that was reserved, until it is alive.
    let mut reserved = None;
    // Runs one operation in both worlds. Returns `true` if an entity is still reserved.
    let mut both = |worlds: [&mut World; 2], pick: Pick<'_>, chosen: &mut Vec<usize>| -> bool {
        let [plain, disturbed] = worlds;
        chosen.clear();
        let made = act(plain, &mut |bound| {
            let n = pick(bound);
            chosen.push(n);
            n
        });
        let mut again = chosen.iter();
        act(disturbed, &mut |_| *again.next().expect("the same operation asks the same"));
        reserved = made.or(reserved).filter(|e| !plain.contains(*e));
        reserved.is_some()
    };
    let mut chosen = Vec::new();
    for step in 0..steps {
        let reserved = both([&mut plain, &mut disturbed], pick, &mut chosen);
        (0..pick(4)).for_each(|_| disturb(&mut disturbed, pick, &logs[1], reserved));
        match pick(24) {
            0 => {
                let resources = Resources::of(&disturbed);
                disturbed = disturbed.try_clone().unwrap();
                resources.put_back(&mut disturbed);
            }
            1 => {
                // Reserved entities come alive in a world that is loaded.
                for world in [&mut plain, &mut disturbed] {
                    drop(world.despawn_batch([]));
                }
                let mut bytes = Vec::new();
                registry.save(&disturbed, &mut bytes).unwrap();
                disturbed = registry.load(&*bytes).unwrap();
            }
            _ => {}
        }
        if step % 16 == 0 {
            assert_same(&registry, &plain, &disturbed, "before");
        }
    }
    assert_same(&registry, &plain, &disturbed, "in the end");
    if has_listeners {
        listen(&mut plain, &logs[0]);
        listen(&mut disturbed, &logs[1]);
    }
    for step in 0..future {
        let reserved = both([&mut plain, &mut disturbed], pick, &mut chosen);
        logs[0].assert_same(&logs[1], &format!("in step {step}, {chosen:?}"));
        if pick(4) == 0 {
            disturb(&mut disturbed, pick, &logs[1], reserved);
        }
        if step % 20 == 0 {
            assert_same(&registry, &plain, &disturbed, "afterwards");
        }
    }
    assert_same(&registry, &plain, &disturbed, "in the future");
}
