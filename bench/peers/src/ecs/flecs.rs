//! flecs_ecs: the C library flecs behind a Rust interface, with its safety locks. Archetype tables with relationships.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use flecs_ecs::prelude::*;

pub struct Flecs {
    // Queries end before their world.
    moving: Option<Query<(&'static mut Position, &'static Velocity)>>,
    data: Option<Query<&'static mut Data>>,
    extra: Option<Query<(&'static mut Position, &'static Velocity, &'static Extra)>>,
    positions: Option<Query<&'static Position>>,
    world: World,
}

impl Ecs for Flecs {
    const NAME: &'static str = "flecs";
    type Entity = Entity;

    fn new(_: Program) -> Self {
        Flecs { moving: None, data: None, extra: None, positions: None, world: World::new() }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        let (t, p, r, v) = row(i);
        self.world.entity().set(t).set(p).set(r).set(v).id()
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.entity().set(position(i));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.entity().set(position(i)).set(VELOCITY).id()
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.entity().set(position(i)).set(VELOCITY).set(EXTRA);
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.entity().set(A { v }).id()
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $( for _ in 0..20 { self.world.entity().set($t { v: 0.0 }).set(Data { v: 1.0 }); } )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.entity_from_id(e).destruct();
    }

    fn add_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.entity_from_id(e).set(B { v: 2.0 });
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.entity_from_id(e).remove(B::id());
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("columns", |w| {
            let t: Vec<_> = (0..10_000).map(|i| row(i).0).collect();
            let p: Vec<_> = (0..10_000).map(|i| row(i).1).collect();
            let r: Vec<_> = (0..10_000).map(|i| row(i).2).collect();
            let v: Vec<_> = (0..10_000).map(|i| row(i).3).collect();
            w.world.entity_bulk(10_000).set(&t).set(&p).set(&r).set(&v).build();
        });
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.moving.get_or_insert_with(|| w.world.new_query()).each(|(p, v)| integrate(p, v)));
        ways.add("slices", |w| {
            w.moving.get_or_insert_with(|| w.world.new_query()).run(|mut it| {
                while it.next() {
                    let mut p = it.field_mut::<Position>(0);
                    let v = it.field::<Velocity>(1);
                    p.as_mut_slice().iter_mut().zip(v.as_slice()).for_each(|(p, v)| integrate(p, v));
                }
            });
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| w.extra.get_or_insert_with(|| w.world.new_query()).each(|(p, v, e)| join(p, v, e)));
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.data.get_or_insert_with(|| w.world.new_query()).each(|d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.new_query::<(&mut Transform, &mut Position)>().each(|(t, p)| heavy(t, p)));
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let x = |&e: &Entity| r.world.world.entity_from_id(e).get::<&Position>(|p| f64::from(p.x));
            r.sum += r.order.iter().map(x).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let mut sum = f.sum;
            let query = f.world.positions.get_or_insert_with(|| f.world.world.new_query());
            query.each(|p| sum = sum.wrapping_add(p.x.to_bits()));
            f.sum = sum;
        });
    }

    fn digest(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.new_query::<&Position>().each(|p| d.position(p.x, p.y, p.z));
        d.0
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.new_query::<&Data>().each(|x| d.scalar(x.v));
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        let mut n = 0;
        self.world.new_query::<(&A, &B)>().each(|_| n += 1);
        n
    }
}
