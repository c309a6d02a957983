//! sparsey: sparse sets. `Sparsey<true>` declares the owning groups that a workload profits from.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use sparsey::World;
use sparsey::entity::Entity;

pub struct Sparsey<const GROUPED: bool> {
    world: World,
}

impl<const GROUPED: bool> Ecs for Sparsey<GROUPED> {
    const NAME: &'static str = if GROUPED { "sparsey group" } else { "sparsey" };
    type Entity = Entity;

    fn new(program: Program) -> Self {
        let mut builder = World::builder();
        macro_rules! register {
            ($($t:ident)*) => {{ $( builder.register::<$t>(); )* }};
        }
        macro_rules! group {
            ($($t:ty),*) => {{ $( builder.add_group::<$t>(); )* }};
        }
        match program {
            Program::Four => register!(Transform Position Rotation Velocity),
            Program::Moving => register!(Position Velocity),
            Program::Join => register!(Position Velocity Extra),
            Program::AddRemove => register!(A B),
            Program::Fragments => register!(Data),
            Program::Schedule => (),
        }
        match program {
            _ if !GROUPED => (),
            Program::Four | Program::Moving => group!((Position, Velocity)),
            Program::Join => group!((Position, Velocity), (Position, Velocity, Extra)),
            Program::AddRemove => group!((A, B)),
            Program::Fragments | Program::Schedule => (),
        }
        Sparsey { world: builder.build() }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        self.world.create(row(i))
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.create((position(i),));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.create((position(i), VELOCITY))
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.create((position(i), VELOCITY, EXTRA));
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.create((A { v },))
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $(
                self.world.register::<$t>();
                for _ in 0..20 { self.world.create(($t { v: 0.0 }, Data { v: 1.0 })); }
            )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.destroy(e);
    }

    fn add_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.insert(e, (B { v: 2.0 },));
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        for &e in order {
            self.world.delete::<(B,)>(e);
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| _ = w.world.extend((0..10_000).map(row)));
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.for_each::<(&mut Position, &Velocity)>(|(p, v)| integrate(p, v)));
        if GROUPED {
            ways.add("slices", |w| {
                let mut query = w.world.query_all::<(&mut Position, &Velocity)>();
                let (p, v) = query.slice().unwrap();
                p.iter_mut().zip(v).for_each(|(p, v)| integrate(p, v));
            });
        }
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (p, v) in w.world.query_all::<(&mut Position, &Velocity)>().iter() {
                integrate(p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.for_each::<(&mut Position, &Velocity, &Extra)>(|(p, v, e)| join(p, v, e)));
        if GROUPED {
            ways.add("slices", |w| {
                let mut query = w.world.query_all::<(&mut Position, &Velocity, &Extra)>();
                let (p, v, e) = query.slice().unwrap();
                p.iter_mut().zip(v).zip(e).for_each(|((p, v), e)| join(p, v, e));
            });
        }
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.for_each::<&mut Data>(|d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.for_each::<(&mut Transform, &mut Position)>(|(t, p)| heavy(t, p)));
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.par_for_each::<(&mut Transform, &mut Position)>(|(t, p)| heavy(t, p)));
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let view = r.world.world.borrow::<Position>();
            r.sum += r.order.iter().map(|&e| f64::from(view.get(e).unwrap().x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let mut sum = f.sum;
            f.world.world.for_each::<&Position>(|p| sum = sum.wrapping_add(p.x.to_bits()));
            f.sum = sum;
        });
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.world.query_all::<&Position>().iter())
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.for_each::<&Data>(|x| d.scalar(x.v));
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        self.world.query_all::<(&A, &B)>().iter().count() as u64
    }
}
