//! shipyard: sparse sets and views.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use rayon::iter::ParallelIterator;
use shipyard::{EntitiesView, EntityId, IntoIter, Remove, View, ViewMut, Workload, World};

pub struct Shipyard {
    world: World,
}

impl Ecs for Shipyard {
    const NAME: &'static str = "shipyard";
    type Entity = EntityId;

    fn new(_: Program) -> Self {
        Shipyard { world: World::new() }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> EntityId {
        self.world.add_entity(row(i))
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.add_entity((position(i),));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> EntityId {
        self.world.add_entity((position(i), VELOCITY))
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.add_entity((position(i), VELOCITY, EXTRA));
    }

    fn spawn_a(&mut self, v: f32) -> EntityId {
        self.world.add_entity((A { v },))
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $( for _ in 0..20 { self.world.add_entity(($t { v: 0.0 }, Data { v: 1.0 })); } )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: EntityId) {
        self.world.delete_entity(e);
    }

    fn add_b(&mut self, order: &[EntityId]) {
        self.world.run(|entities: EntitiesView, mut b: ViewMut<B>| {
            order.iter().for_each(|&e| entities.add_component(e, &mut b, B { v: 2.0 }));
        });
    }

    fn remove_b(&mut self, order: &[EntityId]) {
        self.world.run(|mut b: ViewMut<B>| order.iter().for_each(|&e| _ = b.remove(e)));
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| _ = w.world.bulk_add_entity((0..10_000).map(row)));
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.run(|mut p: ViewMut<Position>, v: View<Velocity>| {
                (&mut p, &v).iter().for_each(|(p, v)| integrate(p, v));
            });
        });
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.run(|mut p: ViewMut<Position>, v: View<Velocity>| {
                for (p, v) in (&mut p, &v).iter() {
                    integrate(p, v);
                }
            });
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.run(|mut p: ViewMut<Position>, v: View<Velocity>, e: View<Extra>| {
                (&mut p, &v, &e).iter().for_each(|(p, v, e)| join(p, v, e));
            });
        });
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.run(|mut d: ViewMut<Data>| (&mut d).iter().for_each(|d| d.v *= 2.0)));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.run(|mut t: ViewMut<Transform>, mut p: ViewMut<Position>| {
                (&mut t, &mut p).iter().for_each(|(t, p)| heavy(t, p));
            });
        });
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.world.run(|mut t: ViewMut<Transform>, mut p: ViewMut<Position>| {
                (&mut t, &mut p).par_iter().for_each(|(t, p)| heavy(t, p));
            });
        });
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let view = r.world.world.borrow::<View<Position>>().unwrap();
            r.sum += r.order.iter().map(|&e| f64::from(view[e].x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let sum = f.sum;
            let sum = |p: View<Position>| p.iter().fold(sum, |sum, p| sum.wrapping_add(p.x.to_bits()));
            f.sum = f.world.world.run(sum);
        });
    }

    fn spawn_schedule(&mut self) {
        let (a, b, c, d, e) = (A { v: 0.0 }, B { v: 1.0 }, C { v: 2.0 }, D { v: 3.0 }, E { v: 4.0 });
        for _ in 0..10_000 {
            self.world.add_entity((a, b));
            self.world.add_entity((a, b, c));
            self.world.add_entity((a, b, c, d));
            self.world.add_entity((a, b, c, e));
        }
        macro_rules! swap {
            ($x:ident $y:ident) => {
                |mut x: ViewMut<$x>, mut y: ViewMut<$y>| {
                    (&mut x, &mut y).iter().for_each(|(x, y)| std::mem::swap(&mut x.v, &mut y.v))
                }
            };
        }
        let swaps = Workload::new("swaps").with_system(swap!(A B)).with_system(swap!(C D)).with_system(swap!(C E));
        swaps.add_to_world(&self.world).unwrap();
    }

    fn schedule(ways: &mut Ways<Self>) {
        ways.add("", |w| w.world.run_default_workload().unwrap());
    }

    fn digest(&mut self) -> u64 {
        self.world.run(|p: View<Position>| digest_positions(p.iter()))
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.run(|x: View<Data>| x.iter().for_each(|x| d.scalar(x.v)));
        d.0
    }

    fn digest_schedule(&mut self) -> u64 {
        let mut d = Digest::default();
        macro_rules! add {
            ($($t:ident)*) => { $( self.world.run(|x: View<$t>| x.iter().for_each(|x| d.scalar(x.v))); )* };
        }
        add!(A C D E);
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        self.world.run(|a: View<A>, b: View<B>| (&a, &b).iter().count() as u64)
    }
}
