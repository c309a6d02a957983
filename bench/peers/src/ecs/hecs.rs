//! hecs: archetypes, without change tracking or scheduler.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use hecs::{Entity, PreparedQuery, World};
use rayon::iter::{ParallelBridge, ParallelIterator};

pub struct Hecs {
    world: World,
    moving: PreparedQuery<(&'static mut Position, &'static Velocity)>,
    data: PreparedQuery<&'static mut Data>,
    extra: PreparedQuery<(&'static mut Position, &'static Velocity, &'static Extra)>,
}

impl Ecs for Hecs {
    const NAME: &'static str = "hecs";
    type Entity = Entity;

    fn new(_: Program) -> Self {
        Hecs {
            world: World::new(),
            moving: PreparedQuery::new(),
            data: PreparedQuery::new(),
            extra: PreparedQuery::new(),
        }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        self.world.spawn(row(i))
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.spawn((position(i),));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.spawn((position(i), VELOCITY))
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.spawn((position(i), VELOCITY, EXTRA));
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.spawn((A { v },))
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $( for _ in 0..20 { self.world.spawn(($t { v: 0.0 }, Data { v: 1.0 })); } )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.despawn(e).unwrap();
    }

    fn add_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.insert_one(e, B { v: 2.0 }).unwrap();
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.remove_one::<B>(e).unwrap();
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| _ = w.world.spawn_batch((0..10_000).map(row)));
        ways.add("columns", |w| {
            let mut types = hecs::ColumnBatchType::new();
            types.add::<Transform>().add::<Position>().add::<Rotation>().add::<Velocity>();
            let batch = types.into_batch(10_000);
            macro_rules! fill {
                ($($t:ident $k:tt)*) => { $( {
                    let mut column = batch.writer::<$t>().unwrap();
                    (0..10_000).for_each(|i| column.push(row(i).$k).unwrap());
                } )* };
            }
            fill!(Transform 0 Position 1 Rotation 2 Velocity 3);
            w.world.spawn_column_batch(batch.build().unwrap());
        });
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.moving.query_mut(&mut w.world).for_each(|(p, v)| integrate(p, v)));
        ways.add("slices", |w| {
            for a in w.world.archetypes() {
                if let (Some(mut p), Some(v)) = (a.get::<&mut Position>(), a.get::<&Velocity>()) {
                    p.iter_mut().zip(v.iter()).for_each(|(p, v)| integrate(p, v));
                }
            }
        });
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (p, v) in w.moving.query_mut(&mut w.world) {
                integrate(p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| w.extra.query_mut(&mut w.world).for_each(|(p, v, e)| join(p, v, e)));
        ways.add("slices", |w| {
            for a in w.world.archetypes() {
                let columns = (a.get::<&mut Position>(), a.get::<&Velocity>(), a.get::<&Extra>());
                if let (Some(mut p), Some(v), Some(e)) = columns {
                    p.iter_mut().zip(v.iter()).zip(e.iter()).for_each(|((p, v), e)| join(p, v, e));
                }
            }
        });
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.data.query_mut(&mut w.world).for_each(|d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.query_mut::<(&mut Transform, &mut Position)>().into_iter().for_each(|(t, p)| heavy(t, p));
        });
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let mut query = w.world.query::<(&mut Transform, &mut Position)>();
            query.iter_batched(64).par_bridge().for_each(|batch| batch.for_each(|(t, p)| heavy(t, p)));
        });
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let view = r.world.world.view_mut::<&Position>();
            r.sum += r.order.iter().map(|&e| f64::from(view.get(e).unwrap().x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let positions = f.world.world.query_mut::<&Position>().into_iter();
            f.sum = positions.fold(f.sum, |sum, p| sum.wrapping_add(p.x.to_bits()));
        });
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.world.query_mut::<&Position>().into_iter())
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.query_mut::<&Data>().into_iter().for_each(|x| d.scalar(x.v));
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        self.world.query_mut::<(&A, &B)>().into_iter().count() as u64
    }
}
