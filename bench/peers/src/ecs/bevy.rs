//! bevy_ecs: archetype tables with change ticks. `Bevy<true>` has the component that comes and goes (`B`, `Extra`) in
//! its sparse-set storage.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::schedule::Schedule;
use bevy_tasks::{ComputeTaskPool, TaskPool};

/// The storage is chosen by type, so that the sparse rows need types of their own.
#[derive(Clone, Copy, Component)]
#[component(storage = "SparseSet")]
struct SparseB(#[allow(dead_code)] f32);

#[derive(Clone, Copy, Component)]
#[component(storage = "SparseSet")]
struct SparseExtra(f32);

pub struct Bevy<const SPARSE: bool> {
    world: World,
    moving: QueryState<(&'static mut Position, &'static Velocity)>,
    positions: QueryState<&'static Position>,
    data: QueryState<&'static mut Data>,
    heavy: QueryState<(&'static mut Transform, &'static mut Position)>,
    extra: QueryState<(&'static mut Position, &'static Velocity, &'static Extra)>,
    sparse_extra: QueryState<(&'static mut Position, &'static Velocity, &'static SparseExtra)>,
    schedule: Schedule,
}

impl<const SPARSE: bool> Ecs for Bevy<SPARSE> {
    const NAME: &'static str = if SPARSE { "bevy_ecs sparse" } else { "bevy_ecs" };
    type Entity = Entity;

    fn new(_: Program) -> Self {
        ComputeTaskPool::get_or_init(TaskPool::default);
        let mut world = World::new();
        Bevy {
            moving: world.query(),
            positions: world.query(),
            data: world.query(),
            heavy: world.query(),
            extra: world.query(),
            sparse_extra: world.query(),
            schedule: Schedule::default(),
            world,
        }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        self.world.spawn(row(i)).id()
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.spawn(position(i));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.spawn((position(i), VELOCITY)).id()
    }

    fn spawn_extra(&mut self, i: usize) {
        if SPARSE {
            self.world.spawn((position(i), VELOCITY, SparseExtra(EXTRA.v)));
        } else {
            self.world.spawn((position(i), VELOCITY, EXTRA));
        }
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.spawn(A { v }).id()
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $( for _ in 0..20 { self.world.spawn(($t { v: 0.0 }, Data { v: 1.0 })); } )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.despawn(e);
    }

    fn add_b(&mut self, order: &[Entity]) {
        for &e in order {
            if SPARSE {
                self.world.entity_mut(e).insert(SparseB(2.0));
            } else {
                self.world.entity_mut(e).insert(B { v: 2.0 });
            }
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        for &e in order {
            if SPARSE {
                self.world.entity_mut(e).remove::<SparseB>();
            } else {
                self.world.entity_mut(e).remove::<B>();
            }
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| _ = w.world.spawn_batch((0..10_000).map(row)));
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.moving.iter_mut(&mut w.world).for_each(|(mut p, v)| integrate(&mut p, v)));
        ways.add("slices", |w| {
            let mut query = w.moving.query_mut(&mut w.world);
            for (mut p, v) in query.contiguous_iter_mut().unwrap() {
                p.iter_mut().zip(v).for_each(|(p, v)| integrate(p, v));
            }
        });
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (mut p, v) in w.moving.iter_mut(&mut w.world) {
                integrate(&mut p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        if SPARSE {
            ways.add("", |w| {
                let query = w.sparse_extra.iter_mut(&mut w.world);
                query.for_each(|(mut p, v, e)| join(&mut p, v, &Extra { v: e.0 }));
            });
            return;
        }
        ways.add("", |w| w.extra.iter_mut(&mut w.world).for_each(|(mut p, v, e)| join(&mut p, v, e)));
        ways.add("slices", |w| {
            let mut query = w.extra.query_mut(&mut w.world);
            for (mut p, v, e) in query.contiguous_iter_mut().unwrap() {
                p.iter_mut().zip(v).zip(e).for_each(|((p, v), e)| join(p, v, e));
            }
        });
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.data.iter_mut(&mut w.world).for_each(|mut d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| w.heavy.iter_mut(&mut w.world).for_each(|(mut t, mut p)| heavy(&mut t, &mut p)));
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| w.heavy.par_iter_mut(&mut w.world).for_each(|(mut t, mut p)| heavy(&mut t, &mut p)));
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let query = r.world.positions.query(&r.world.world);
            r.sum += r.order.iter().map(|&e| f64::from(query.get(e).unwrap().x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let positions = f.world.positions.iter(&f.world.world);
            f.sum = positions.fold(f.sum, |sum, p| sum.wrapping_add(p.x.to_bits()));
        });
    }

    fn spawn_schedule(&mut self) {
        let (a, b, c, d, e) = (A { v: 0.0 }, B { v: 1.0 }, C { v: 2.0 }, D { v: 3.0 }, E { v: 4.0 });
        for _ in 0..10_000 {
            self.world.spawn((a, b));
            self.world.spawn((a, b, c));
            self.world.spawn((a, b, c, d));
            self.world.spawn((a, b, c, e));
        }
        macro_rules! swap {
            ($x:ident $y:ident) => {
                |mut q: Query<(&mut $x, &mut $y)>| {
                    q.iter_mut().for_each(|(mut x, mut y)| std::mem::swap(&mut x.v, &mut y.v))
                }
            };
        }
        self.schedule.add_systems((swap!(A B), swap!(C D), swap!(C E)));
    }

    fn schedule(ways: &mut Ways<Self>) {
        ways.add("", |w| w.schedule.run(&mut w.world));
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.positions.iter(&self.world))
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.data.iter(&self.world).for_each(|x| d.scalar(x.v));
        d.0
    }

    fn digest_schedule(&mut self) -> u64 {
        let mut d = Digest::default();
        macro_rules! add {
            ($($t:ident)*) => { $( self.world.query::<&$t>().iter(&self.world).for_each(|x| d.scalar(x.v)); )* };
        }
        add!(A C D E);
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        if SPARSE {
            self.world.query::<(&A, &SparseB)>().iter(&self.world).count() as u64
        } else {
            self.world.query::<(&A, &B)>().iter(&self.world).count() as u64
        }
    }
}
