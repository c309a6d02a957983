//! legion: archetypes, cached queries, a parallel schedule. No longer maintained.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use legion::query::{DefaultFilter, IntoQuery, Query, Read, Write};
use legion::storage::IntoSoa;
use legion::systems::{Schedule, SystemBuilder};
use legion::{Entity, EntityStore, Resources, World};

type Held<V> = Query<V, <V as DefaultFilter>::Filter>;
type Moving = (Write<Position>, Read<Velocity>);
type Joined = (Write<Position>, Read<Velocity>, Read<Extra>);
type Heavy = (Write<Transform>, Write<Position>);

pub struct Legion {
    world: World,
    moving: Held<Moving>,
    data: Held<Write<Data>>,
    extra: Held<Joined>,
    positions: Held<Read<Position>>,
    schedule: Option<Schedule>,
    resources: Resources,
}

impl Ecs for Legion {
    const NAME: &'static str = "legion";
    type Entity = Entity;

    fn new(_: Program) -> Self {
        Legion {
            world: World::default(),
            moving: Moving::query(),
            data: <Write<Data>>::query(),
            extra: Joined::query(),
            positions: <Read<Position>>::query(),
            schedule: None,
            resources: Resources::default(),
        }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        self.world.push(row(i))
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.push((position(i),));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.push((position(i), VELOCITY))
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.push((position(i), VELOCITY, EXTRA));
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.push((A { v },))
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $( for _ in 0..20 { self.world.push(($t { v: 0.0 }, Data { v: 1.0 })); } )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.remove(e);
    }

    fn add_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.entry(e).unwrap().add_component(B { v: 2.0 });
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.entry(e).unwrap().remove_component::<B>();
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| _ = w.world.extend((0..10_000).map(row)));
        ways.add("columns", |w| {
            let rows = 0..10_000;
            let columns = (
                rows.clone().map(|i| row(i).0).collect::<Vec<_>>(),
                rows.clone().map(|i| row(i).1).collect::<Vec<_>>(),
                rows.clone().map(|i| row(i).2).collect::<Vec<_>>(),
                rows.map(|i| row(i).3).collect::<Vec<_>>(),
            );
            w.world.extend(columns.into_soa());
        });
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.moving.for_each_mut(&mut w.world, |(p, v)| integrate(p, v)));
        ways.add("slices", |w| {
            w.moving.for_each_chunk_mut(&mut w.world, |chunk| {
                let (p, v) = chunk.into_components();
                p.iter_mut().zip(v).for_each(|(p, v)| integrate(p, v));
            });
        });
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (p, v) in w.moving.iter_mut(&mut w.world) {
                integrate(p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| w.extra.for_each_mut(&mut w.world, |(p, v, e)| join(p, v, e)));
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.data.for_each_mut(&mut w.world, |d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| Heavy::query().for_each_mut(&mut w.world, |(t, p)| heavy(t, p)));
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| Heavy::query().par_for_each_mut(&mut w.world, |(t, p)| heavy(t, p)));
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let x = |&e: &Entity| r.world.world.entry_ref(e).unwrap().into_component::<Position>().unwrap().x;
            r.sum += r.order.iter().map(|e| f64::from(x(e))).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let sum = &mut f.sum;
            f.world.positions.for_each(&f.world.world, |p| *sum = sum.wrapping_add(p.x.to_bits()));
        });
    }

    fn spawn_schedule(&mut self) {
        let (a, b, c, d, e) = (A { v: 0.0 }, B { v: 1.0 }, C { v: 2.0 }, D { v: 3.0 }, E { v: 4.0 });
        for _ in 0..10_000 {
            self.world.push((a, b));
            self.world.push((a, b, c));
            self.world.push((a, b, c, d));
            self.world.push((a, b, c, e));
        }
        macro_rules! swap {
            ($x:ident $y:ident) => {
                SystemBuilder::new(stringify!($x $y))
                    .with_query(<(Write<$x>, Write<$y>)>::query())
                    .build(|_, world, _, query| {
                        query.for_each_mut(world, |(x, y)| std::mem::swap(&mut x.v, &mut y.v));
                    })
            };
        }
        self.schedule =
            Some(Schedule::builder().add_system(swap!(A B)).add_system(swap!(C D)).add_system(swap!(C E)).build());
    }

    fn schedule(ways: &mut Ways<Self>) {
        ways.add("", |w| w.schedule.as_mut().unwrap().execute(&mut w.world, &mut w.resources));
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.positions.iter(&self.world))
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        <Read<Data>>::query().for_each(&self.world, |x| d.scalar(x.v));
        d.0
    }

    fn digest_schedule(&mut self) -> u64 {
        let mut d = Digest::default();
        macro_rules! add {
            ($($t:ident)*) => { $( <Read<$t>>::query().for_each(&self.world, |x| d.scalar(x.v)); )* };
        }
        add!(A C D E);
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        <(Read<A>, Read<B>)>::query().iter(&self.world).count() as u64
    }
}
