//! Phalanx, once for each layout.
//!
//! A layout is a module with the components in it, made by [`components!`], and with what is done to its items and
//! chunks; [`world!`] makes the rest of it. Queries over tables have chunks ([`tables!`]), groups have slices.

mod flat;
mod schedule;
mod soa;

use super::{Change, Ecs, Field, Program, Reading};
use crate::data::{Digest, with_letters};
use crate::harness::Ways;
use ::phalanx::group::{Group, Owned};
use ::phalanx::{Entity, QueryState, World};
use flat::{linear, pool, table};
pub use schedule::swaps;

/// The components of all workloads in one layout, and the values that entities begin with.
macro_rules! components {
    ($layout:literal derive($derive:path)) => {
        crate::ecs::phalanx::components! {
            @ $layout $derive;
            Transform { m: [f32; 16] } Position { x: f32, y: f32, z: f32 } Rotation { x: f32, y: f32, z: f32 }
            Velocity { x: f32, y: f32, z: f32 } Extra { v: f32 } Data { v: f32 }
            A { v: f32 } B { v: f32 } C { v: f32 } D { v: f32 } E { v: f32 } F { v: f32 } G { v: f32 } H { v: f32 }
            I { v: f32 } J { v: f32 } K { v: f32 } L { v: f32 } M { v: f32 } N { v: f32 } O { v: f32 } P { v: f32 }
            Q { v: f32 } R { v: f32 } S { v: f32 } T { v: f32 } U { v: f32 } V { v: f32 } W { v: f32 } X { v: f32 }
            Y { v: f32 } Z { v: f32 }
        }

        pub const VELOCITY: Velocity = Velocity { x: data::VELOCITY.x, y: data::VELOCITY.y, z: data::VELOCITY.z };
        pub const EXTRA: Extra = Extra { v: data::EXTRA.v };

        #[inline(always)]
        pub fn position(i: usize) -> Position {
            let data::Position { x, y, z } = data::position(i);
            Position { x, y, z }
        }

        #[inline(always)]
        pub fn row(i: usize) -> (Transform, Position, Rotation, Velocity) {
            let data::Rotation { x, y, z } = data::ROTATION;
            (Transform { m: data::TRANSFORM.m }, position(i), Rotation { x, y, z }, VELOCITY)
        }
    };
    (@ $layout:literal $derive:path; $($name:ident { $($field:ident: $type:ty),* })*) => { $(
        #[derive(Clone, Copy, ::phalanx::Component, $derive)]
        #[soa(crate = "::phalanx::store")]
        #[component(layout = $layout)]
        #[repr(C)]
        pub struct $name { $(pub $field: $type),* }
    )* };
}
use components;

macro_rules! fragments {
    ($world:expr, $layout:ident; $($t:ident)*) => { $(
        for _ in 0..20 {
            $world.spawn(($layout::$t { v: 0.0 }, $layout::Data { v: 1.0 }));
        }
    )* };
}

/// A world whose components are those of a module, with groups if it has any. The closures add the rows that only this
/// layout has.
macro_rules! world {
    (
        $world:ident, $layout:ident, $name:literal, $groups:ty = $make:expr,
        integrate $integrate:expr, join $join:expr, field $field:expr
    ) => {
        pub struct $world {
            world: World,
            // Nothing, where there are none.
            #[allow(dead_code)]
            groups: $groups,
            moving: QueryState<(&'static mut $layout::Position, &'static $layout::Velocity)>,
            data: QueryState<&'static mut $layout::Data>,
        }

        impl Ecs for $world {
            const NAME: &'static str = $name;
            type Entity = Entity;

            fn new(program: Program) -> Self {
                let mut world = World::new();
                let groups = $make(&mut world, program);
                $world { world, groups, moving: QueryState::new(), data: QueryState::new() }
            }

            #[inline]
            fn spawn_four(&mut self, i: usize) -> Entity {
                self.world.spawn($layout::row(i))
            }

            fn spawn_still(&mut self, i: usize) {
                self.world.spawn($layout::position(i));
            }

            #[inline]
            fn spawn_moving(&mut self, i: usize) -> Entity {
                self.world.spawn(($layout::position(i), $layout::VELOCITY))
            }

            fn spawn_extra(&mut self, i: usize) {
                self.world.spawn(($layout::position(i), $layout::VELOCITY, $layout::EXTRA));
            }

            fn spawn_a(&mut self, v: f32) -> Entity {
                self.world.spawn($layout::A { v })
            }

            fn spawn_fragments(&mut self) {
                with_letters!(fragments, self.world, $layout;);
            }

            #[inline]
            fn despawn(&mut self, e: Entity) {
                self.world.despawn(e).unwrap();
            }

            fn add_b(&mut self, order: &[Entity]) {
                for &e in order {
                    self.world.insert(e, $layout::B { v: 2.0 }).unwrap();
                }
            }

            fn remove_b(&mut self, order: &[Entity]) {
                for &e in order {
                    self.world.remove::<$layout::B>(e).unwrap();
                }
            }

            fn changes() -> Vec<(&'static str, Change<Self>, Change<Self>)> {
                fn add(w: &mut $world, order: &[Entity]) {
                    let mut b = w.world.component_mut::<$layout::B>();
                    for &e in order {
                        b.insert(e, $layout::B { v: 2.0 }).unwrap();
                    }
                }
                fn remove(w: &mut $world, order: &[Entity]) {
                    let mut b = w.world.component_mut::<$layout::B>();
                    for &e in order {
                        b.remove(e).unwrap();
                    }
                }
                vec![("insert", Self::add_b, Self::remove_b), ("component_mut", add, remove)]
            }

            fn insert_each(ways: &mut Ways<Self>) {
                ways.add("spawn", |w| (0..10_000).for_each(|i| _ = w.spawn_four(i)));
                ways.add("Spawner", |w| {
                    let mut spawner = w.world.spawner();
                    (0..10_000).for_each(|i| _ = spawner.spawn($layout::row(i)));
                });
            }

            fn insert_bulk(ways: &mut Ways<Self>) {
                ways.add("spawn_batch", |w| _ = w.world.spawn_batch((0..10_000).map($layout::row)));
                ways.add("spawn_columns", |w| {
                    let t: Vec<_> = (0..10_000).map(|i| $layout::row(i).0).collect();
                    let p: Vec<_> = (0..10_000).map(|i| $layout::row(i).1).collect();
                    let r: Vec<_> = (0..10_000).map(|i| $layout::row(i).2).collect();
                    let v: Vec<_> = (0..10_000).map(|i| $layout::row(i).3).collect();
                    w.world.spawn_columns((t, p, r, v)).unwrap();
                });
            }

            fn integrate(ways: &mut Ways<Self>) {
                ways.add("for_each", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Position, &$layout::Velocity)>()
                        .for_each(|(p, v)| $layout::step(p, v));
                });
                ways.add("QueryState", |w| {
                    w.moving.query_mut(&mut w.world).for_each(|(p, v)| $layout::step(p, v));
                });
                $integrate(ways);
            }

            fn integrate_for(ways: &mut Ways<Self>) {
                ways.add("for", |w| {
                    for (p, v) in w.world.query_mut::<(&mut $layout::Position, &$layout::Velocity)>() {
                        $layout::step(p, v);
                    }
                });
                ways.add("QueryState for", |w| {
                    for (p, v) in w.moving.query_mut(&mut w.world) {
                        $layout::step(p, v);
                    }
                });
            }

            fn join(ways: &mut Ways<Self>) {
                ways.add("for_each", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Position, &$layout::Velocity, &$layout::Extra)>()
                        .for_each(|(p, v, e)| $layout::join(p, v, e));
                });
                $join(ways);
            }

            fn double(ways: &mut Ways<Self>) {
                ways.add("for_each", |w| w.world.query_mut::<&mut $layout::Data>().for_each(|d| $layout::double(d)));
                ways.add("QueryState", |w| w.data.query_mut(&mut w.world).for_each(|d| $layout::double(d)));
            }

            fn heavy(ways: &mut Ways<Self>) {
                ways.add("", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Transform, &mut $layout::Position)>()
                        .for_each(|(t, p)| $layout::heavy(t, p));
                });
            }

            fn heavy_parallel(ways: &mut Ways<Self>) {
                ways.add("", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Transform, &mut $layout::Position)>()
                        .par_for_each(|(t, p)| $layout::heavy(t, p));
                });
            }

            fn get(ways: &mut Ways<Reading<Self>>) {
                ways.add("component", |r| {
                    let view = r.world.world.component::<$layout::Position>();
                    r.sum += r.order.iter().map(|&e| f64::from(view.get(e).unwrap().x)).sum::<f64>();
                });
                ways.add("get", |r| {
                    let world = &r.world.world;
                    let x = |&e: &Entity| f64::from(world.get::<$layout::Position>(e).unwrap().x);
                    r.sum += r.order.iter().map(x).sum::<f64>();
                });
            }

            fn field(ways: &mut Ways<Field<Self>>) {
                ways.add("for_each", |f| {
                    let mut sum = f.sum;
                    f.world
                        .world
                        .query::<&$layout::Position>()
                        .for_each(|p| sum = sum.wrapping_add(p.x.to_bits()));
                    f.sum = sum;
                });
                $field(ways);
            }

            fn digest(&mut self) -> u64 {
                let mut digest = Digest::default();
                self.world.query::<&$layout::Position>().for_each(|p| digest.position(p.x, p.y, p.z));
                digest.0
            }

            fn digest_data(&mut self) -> u64 {
                let mut digest = Digest::default();
                self.world.query::<&$layout::Data>().for_each(|d| digest.scalar(d.v));
                digest.0
            }

            fn count_ab(&mut self) -> u64 {
                self.world.query::<(&$layout::A, &$layout::B)>().len() as u64
            }
        }
    };
}

/// A world whose components are in tables. `with` adds rows that only this layout has.
macro_rules! tables {
    ($world:ident, $layout:ident, $name:literal, with $integrate:expr) => {
        world!(
            $world, $layout, $name, () = |_: &mut World, _| (),
            integrate |ways: &mut Ways<Self>| {
                ways.add("chunks", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Position, &$layout::Velocity)>()
                        .chunks()
                        .for_each($layout::step_chunk);
                });
                $integrate(ways);
            },
            join |ways: &mut Ways<Self>| {
                ways.add("chunks", |w| {
                    w.world
                        .query_mut::<(&mut $layout::Position, &$layout::Velocity, &$layout::Extra)>()
                        .chunks()
                        .for_each($layout::join_chunk);
                });
            },
            field |ways: &mut Ways<Field<Self>>| {
                ways.add("chunks", |f| {
                    f.sum = f.world.world.query::<&$layout::Position>().chunks().fold(f.sum, $layout::field_chunk);
                });
            }
        );
    };
}

/// A world whose components are not in tables, without groups.
macro_rules! sides {
    ($world:ident, $layout:ident, $name:literal) => {
        world!(
            $world, $layout, $name, () = |_: &mut World, _| (),
            integrate |_: &mut Ways<Self>| (), join |_: &mut Ways<Self>| (), field |_: &mut Ways<Field<Self>>| ()
        );
    };
}

tables!(Table, table, "phalanx table", with |ways: &mut Ways<Self>| {
    ways.add("flat", |w| {
        for (p, v) in w.world.query_mut::<(&mut table::Position, &table::Velocity)>().chunks().flat() {
            p.iter_mut().zip(v).for_each(|(p, v)| *p += v);
        }
    });
});
tables!(Soa, soa, "phalanx soa", with |_: &mut Ways<Self>| ());
sides!(Pool, pool, "phalanx pool");
sides!(Linear, linear, "phalanx linear");

/// The owning group that a program profits from.
#[derive(Clone, Copy)]
enum Groups {
    None,
    Moving(Group<Owned<(pool::Position, pool::Velocity)>>),
    Join(Group<Owned<(pool::Position, pool::Velocity, pool::Extra)>>),
}

impl Groups {
    fn new(world: &mut World, program: Program) -> Groups {
        match program {
            Program::Four | Program::Moving => Groups::Moving(world.create_group().unwrap()),
            Program::Join => Groups::Join(world.create_group().unwrap()),
            Program::AddRemove => {
                world.create_group::<Owned<(pool::A, pool::B)>>().unwrap();
                Groups::None
            }
            Program::Fragments | Program::Schedule => Groups::None,
        }
    }
}

world!(
    Grouped, pool, "phalanx group", Groups = Groups::new,
    integrate |ways: &mut Ways<Self>| {
        ways.add("Group::for_each", |w| {
            if let Groups::Moving(group) = w.groups {
                group.for_each(&mut w.world, |(p, v)| pool::step(p, v));
            }
        });
        ways.add("slices", |w| {
            if let Groups::Moving(group) = w.groups {
                let (p, v) = group.slices_mut(&mut w.world);
                pool::step_chunk((p, v));
            }
        });
    },
    join |ways: &mut Ways<Self>| {
        ways.add("Group::for_each", |w| {
            if let Groups::Join(group) = w.groups {
                group.for_each(&mut w.world, |(p, v, e)| pool::join(p, v, e));
            }
        });
        ways.add("slices", |w| {
            if let Groups::Join(group) = w.groups {
                let (p, v, e) = group.slices_mut(&mut w.world);
                pool::join_chunk((p, v, e));
            }
        });
    },
    field |_: &mut Ways<Field<Self>>| ()
);
