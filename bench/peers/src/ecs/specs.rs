//! specs: a storage for each component, presence in hierarchical bit sets, joins over bit sets.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::Ways;
use rayon::iter::ParallelIterator;
use specs::prelude::*;

pub struct Specs {
    world: World,
    dispatcher: Option<Dispatcher<'static, 'static>>,
}

macro_rules! swap_system {
    ($name:ident $x:ident $y:ident) => {
        struct $name;

        impl<'a> System<'a> for $name {
            type SystemData = (WriteStorage<'a, $x>, WriteStorage<'a, $y>);
            fn run(&mut self, (mut x, mut y): Self::SystemData) {
                (&mut x, &mut y).join().for_each(|(x, y)| std::mem::swap(&mut x.v, &mut y.v));
            }
        }
    };
}
swap_system!(Ab A B);
swap_system!(Cd C D);
swap_system!(Ce C E);

impl Ecs for Specs {
    const NAME: &'static str = "specs";
    type Entity = Entity;

    fn new(program: Program) -> Self {
        let mut world = World::new();
        macro_rules! register {
            ($($t:ident)*) => {{ $( world.register::<$t>(); )* }};
        }
        match program {
            Program::Four => register!(Transform Position Rotation Velocity),
            Program::Moving => register!(Position Velocity),
            Program::Join => register!(Position Velocity Extra),
            Program::AddRemove => register!(A B),
            Program::Fragments => register!(Data),
            Program::Schedule => register!(A B C D E),
        }
        Specs { world, dispatcher: None }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> Entity {
        let (t, p, r, v) = row(i);
        self.world.create_entity().with(t).with(p).with(r).with(v).build()
    }

    fn spawn_still(&mut self, i: usize) {
        self.world.create_entity().with(position(i)).build();
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> Entity {
        self.world.create_entity().with(position(i)).with(VELOCITY).build()
    }

    fn spawn_extra(&mut self, i: usize) {
        self.world.create_entity().with(position(i)).with(VELOCITY).with(EXTRA).build();
    }

    fn spawn_a(&mut self, v: f32) -> Entity {
        self.world.create_entity().with(A { v }).build()
    }

    fn spawn_fragments(&mut self) {
        macro_rules! spawn {
            ($($t:ident)*) => { $(
                self.world.register::<$t>();
                for _ in 0..20 { self.world.create_entity().with($t { v: 0.0 }).with(Data { v: 1.0 }).build(); }
            )* };
        }
        with_letters!(spawn);
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.delete_entity(e).unwrap();
    }

    fn add_b(&mut self, order: &[Entity]) {
        let mut b = self.world.write_storage::<B>();
        for &e in order {
            b.insert(e, B { v: 2.0 }).unwrap();
        }
    }

    fn remove_b(&mut self, order: &[Entity]) {
        let mut b = self.world.write_storage::<B>();
        for &e in order {
            b.remove(e);
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        // As its book has it: the storages are borrowed once.
        ways.add("", |w| {
            let entities = w.world.entities();
            let mut t = w.world.write_storage::<Transform>();
            let mut p = w.world.write_storage::<Position>();
            let mut r = w.world.write_storage::<Rotation>();
            let mut v = w.world.write_storage::<Velocity>();
            for i in 0..10_000 {
                let row = row(i);
                let e = entities.create();
                t.insert(e, row.0).unwrap();
                p.insert(e, row.1).unwrap();
                r.insert(e, row.2).unwrap();
                v.insert(e, row.3).unwrap();
            }
        });
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (mut p, v) = (w.world.write_storage::<Position>(), w.world.read_storage::<Velocity>());
            (&mut p, &v).join().for_each(|(p, v)| integrate(p, v));
        });
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (mut p, v) = (w.world.write_storage::<Position>(), w.world.read_storage::<Velocity>());
            for (p, v) in (&mut p, &v).join() {
                integrate(p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let mut p = w.world.write_storage::<Position>();
            let v = w.world.read_storage::<Velocity>();
            let e = w.world.read_storage::<Extra>();
            (&mut p, &v, &e).join().for_each(|(p, v, e)| join(p, v, e));
        });
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| (&mut w.world.write_storage::<Data>()).join().for_each(|d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (mut t, mut p) = (w.world.write_storage::<Transform>(), w.world.write_storage::<Position>());
            (&mut t, &mut p).join().for_each(|(t, p)| heavy(t, p));
        });
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (mut t, mut p) = (w.world.write_storage::<Transform>(), w.world.write_storage::<Position>());
            (&mut t, &mut p).par_join().for_each(|(t, p)| heavy(t, p));
        });
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let view = r.world.world.read_storage::<Position>();
            r.sum += r.order.iter().map(|&e| f64::from(view.get(e).unwrap().x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let positions = f.world.world.read_storage::<Position>();
            f.sum = positions.join().fold(f.sum, |sum, p| sum.wrapping_add(p.x.to_bits()));
        });
    }

    fn spawn_schedule(&mut self) {
        let (a, b, c, d, e) = (A { v: 0.0 }, B { v: 1.0 }, C { v: 2.0 }, D { v: 3.0 }, E { v: 4.0 });
        for _ in 0..10_000 {
            self.world.create_entity().with(a).with(b).build();
            self.world.create_entity().with(a).with(b).with(c).build();
            self.world.create_entity().with(a).with(b).with(c).with(d).build();
            self.world.create_entity().with(a).with(b).with(c).with(e).build();
        }
        let builder = DispatcherBuilder::new().with(Ab, "ab", &[]).with(Cd, "cd", &[]).with(Ce, "ce", &[]);
        self.dispatcher = Some(builder.build());
    }

    fn schedule(ways: &mut Ways<Self>) {
        ways.add("", |w| w.dispatcher.as_mut().unwrap().dispatch(&w.world));
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.world.read_storage::<Position>().join())
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.read_storage::<Data>().join().for_each(|x| d.scalar(x.v));
        d.0
    }

    fn digest_schedule(&mut self) -> u64 {
        let mut d = Digest::default();
        macro_rules! add {
            ($($t:ident)*) => { $( self.world.read_storage::<$t>().join().for_each(|x| d.scalar(x.v)); )* };
        }
        add!(A C D E);
        d.0
    }

    fn count_ab(&mut self) -> u64 {
        (&self.world.read_storage::<A>(), &self.world.read_storage::<B>()).join().count() as u64
    }
}
