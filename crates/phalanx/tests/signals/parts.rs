//! Components of every layout, and a recorder of all signals about them.

use phalanx::signal::{Change, ComponentEvent, DespawnedRow, ValueCollector};
use phalanx::store::Soa;
use phalanx::{Bundle, BundleBuilder, Component, ComponentId, Entity, Key, World};
use std::sync::{Arc, Mutex};

/// An event that a listener was called with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Spawned(Entity),
    Added(Key, usize, u32),
    Set(Key, usize, Option<u32>, u32),
    Removed(Key, usize, u32),
    Despawned(Entity, Vec<(usize, u32)>),
}

pub(crate) type Log = Arc<Mutex<Vec<Event>>>;

/// A component made of a number, which it gives back.
pub(crate) trait Part: Component {
    const NUMBER: usize;
    fn of(n: u32) -> Self;
    fn number(&self) -> u32;
    /// The number of what a reader sees.
    fn seen(seen: &<Self::Layout as phalanx::layout::Layout<Self>>::Ref<'_>) -> u32;
}

macro_rules! parts {
    ($($number:tt $name:ident $of:expr, $get:expr;)*) => {
        $(
            impl Part for $name {
                const NUMBER: usize = $number;
                fn of(n: u32) -> Self {
                    ($of)(n)
                }
                fn number(&self) -> u32 {
                    ($get)(self)
                }
                fn seen(seen: &<Self::Layout as phalanx::layout::Layout<Self>>::Ref<'_>) -> u32 {
                    ($get)(seen)
                }
            }
        )*

        pub(crate) const PARTS: usize = [$($number),*].len();

        /// Makes all of them known, so that their ids ascend as their numbers.
        pub(crate) fn register(world: &mut World) -> Vec<ComponentId> {
            vec![$(world.register_component::<$name>()),*]
        }

        /// Records everything.
        pub(crate) fn record(world: &mut World, log: &Log) {
            register(world);
            $(
                let sink = log.clone();
                world.on_add::<$name>(move |event, world, _| {
                    world.validate().unwrap();
                    assert_eq!(event.key().entity, event.entity);
                    sink.lock().unwrap().push(Event::Added(event.key(), $number, $name::seen(&event.value)));
                });
                let sink = log.clone();
                world.on_set::<$name>(move |event, world, _| {
                    world.validate().unwrap();
                    let old = event.old.as_ref().map(|old| $name::seen(old));
                    sink.lock().unwrap().push(Event::Set(event.key(), $number, old, $name::seen(&event.new)));
                });
                let sink = log.clone();
                world.on_remove::<$name>(move |event, world, _| {
                    world.validate().unwrap();
                    sink.lock().unwrap().push(Event::Removed(event.key(), $number, $name::seen(&event.value)));
                });
            )*
            let sink = log.clone();
            world.on_spawn(move |event, _, _| sink.lock().unwrap().push(Event::Spawned(event.entity)));
            let sink = log.clone();
            world.on_despawn(move |event, world, _| {
                assert!(!world.contains(event.entity));
                sink.lock().unwrap().push(Event::Despawned(event.entity, components_of(&event.row)));
            });
        }

        /// Connects one listener of all components, which are known by id or by type, that adds its events to a log.
        pub(crate) fn record_by_id(world: &mut World, log: &Log) {
            let ids = register(world);
            let (sink, parts) = (log.clone(), ids.clone());
            world.listen().component_ids(&ids[..5]).components::<($($name,)*)>().call(move |event, _, _| {
                let part = parts.iter().position(|id| *id == event.component).unwrap();
                assert_eq!((event.old_ptr().is_some(), event.new_ptr().is_some()), match part {
                    Split::NUMBER => (false, false),
                    _ => (value_in(&event, part, true).is_some(), value_in(&event, part, false).is_some()),
                });
                let (key, new) = (event.key(), value_in(&event, part, false));
                let old = value_in(&event, part, true);
                sink.lock().unwrap().push(match event.change {
                    Change::Added => Event::Added(key, part, new.unwrap()),
                    Change::Set => Event::Set(key, part, old, new.unwrap()),
                    Change::Removed => Event::Removed(key, part, old.unwrap()),
                });
            });
        }

        fn value_in(event: &ComponentEvent<'_>, part: usize, is_old: bool) -> Option<u32> {
            match part {
                $($number => {
                    let value = if is_old { event.old_value::<$name>() } else { event.new_value::<$name>() };
                    value.map(|value| $name::seen(&value))
                })*
                _ => unreachable!(),
            }
        }

        /// Collectors of the past values of all components.
        pub(crate) struct PastValues(($(ValueCollector<$name>,)*));

        impl PastValues {
            pub(crate) fn new(world: &mut World) -> PastValues {
                PastValues(($(world.collector().set::<$name>().removed::<$name>().keep_values::<$name>(),)*))
            }

            /// Drains them: the values of each component, in order.
            pub(crate) fn drain(&self, world: &mut World) -> Vec<Vec<(Key, Change, u32)>> {
                vec![$(self.0.$number.drain(world).into_iter().map(|past| {
                    assert_eq!(past.entity, past.key().entity);
                    (past.key(), past.change, past.value.number())
                }).collect(),)*]
            }
        }

        /// Returns the components of a despawned entity.
        pub(crate) fn components_of(row: &DespawnedRow<'_>) -> Vec<(usize, u32)> {
            let mut had = Vec::new();
            $(if let Some(value) = row.get::<$name>() {
                assert!(row.has::<$name>());
                had.push(($number, $name::seen(&value)));
            })*
            assert_eq!(row.components().count(), had.len());
            had
        }

        /// Adds the component of a number to a builder.
        pub(crate) fn add(builder: &mut BundleBuilder, part: usize, n: u32) {
            match part {
                $($number => { builder.add($name::of(n)); })*
                _ => unreachable!(),
            }
        }

        /// The component of a number, as a row has it.
        pub(crate) fn value_of(world: &World, key: Key, part: usize) -> Option<u32> {
            match part {
                $($number => world.row(key).and_then(|row| row.get::<$name>()).ok().map(|seen| $name::seen(&seen)),)*
                _ => unreachable!(),
            }
        }

        /// Calls `$call` with the type of a part.
        pub(crate) fn replace(world: &mut World, entity: Entity, part: usize, n: u32) -> Option<u32> {
            match part {
                $($number => world.replace(entity, $name::of(n)).ok().map(|old| old.number()),)*
                _ => unreachable!(),
            }
        }
    };
}

#[derive(Component, Clone, Copy, Debug)]
#[component(clone)]
pub(crate) struct Plain(pub(crate) u32);
#[derive(Component, Clone, Debug)]
#[component(clone)]
pub(crate) struct Owned(pub(crate) Box<u32>);
#[derive(Component, Soa, Clone, Copy, Debug)]
#[component(layout = "soa")]
pub(crate) struct Split {
    pub(crate) a: u8,
    pub(crate) b: u32,
    pub(crate) c: u64,
}
#[derive(Component, Clone, Debug)]
#[component(clone)]
pub(crate) struct Void;
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(crate) struct Pooled(pub(crate) u64);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(crate) struct PooledBox(pub(crate) Box<u32>);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(crate) struct PooledVoid;
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(crate) struct Lined(pub(crate) u16);
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(crate) struct LinedBox(pub(crate) Vec<u32>);
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(crate) struct LinedVoid;

parts! {
    0 Plain Plain, |p: &Plain| p.0;
    1 Owned |n| Owned(Box::new(n)), |p: &Owned| *p.0;
    2 Split |n| Split { a: n as u8, b: n, c: u64::from(n) }, |p: &Split| {
        assert!(p.a == p.b as u8 && p.c == u64::from(p.b));
        p.b
    };
    3 Void |_| Void, |_: &Void| 0;
    4 Pooled |n| Pooled(u64::from(n)), |p: &Pooled| p.0 as u32;
    5 PooledBox |n| PooledBox(Box::new(n)), |p: &PooledBox| *p.0;
    6 PooledVoid |_| PooledVoid, |_: &PooledVoid| 0;
    7 Lined |n| Lined(n as u16), |p: &Lined| u32::from(p.0);
    8 LinedBox |n| LinedBox(vec![n]), |p: &LinedBox| p.0[0];
    9 LinedVoid |_| LinedVoid, |_: &LinedVoid| 0;
}

/// The number that a part keeps.
pub(crate) fn kept(part: usize, n: u32) -> u32 {
    match part {
        3 | 6 | 9 => 0,
        7 => n & 0xffff,
        _ => n,
    }
}

/// A bundle type made of a number.
pub(crate) trait Parts: Bundle + Clone {
    const LIST: &'static [usize];
    fn of(n: u32) -> Self;
}

macro_rules! bundles {
    ($($name:ident [$($part:ident)*])*) => {$(
        pub(crate) type $name = ($($part,)*);
        impl Parts for $name {
            const LIST: &'static [usize] = &[$($part::NUMBER),*];
            #[allow(unused_variables, clippy::unused_unit)]
            fn of(n: u32) -> Self {
                ($(<$part as Part>::of(n),)*)
            }
        }
    )*};
}
bundles! {
    A [Plain]
    B [Pooled Plain Lined]
    C [Split PooledBox]
    D [Void PooledVoid LinedBox LinedVoid]
    E [Owned Split Pooled Void]
    F [LinedBox Owned]
}
