//! The same operations have the same effect on every path: with spare capacity, without it, with slots in pages of the
//! pools' indices, with many other pools, and with a listener.

use crate::kit::{A, B, C, D, L, M, Table};
use phalanx::group::{Observed, Owned};
use phalanx::{Bundle, Component, Entity, Group, Removal, Without, World};
use phalanx_testkit::Rng;

/// A pool whose holes stay.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct E(u32);

/// Pools that are only there: the others lie in two words of the masks then.
struct Filler<const I: usize, const J: usize>;
impl<const I: usize, const J: usize> Component for Filler<I, J> {
    type Layout = phalanx::layout::Pool;
}

fn fill(world: &mut World) {
    macro_rules! columns {
        ($($i:literal)*) => {$(
            world.spawn((Filler::<$i, 0>, Filler::<$i, 1>, Filler::<$i, 2>));
            world.spawn((Filler::<$i, 3>, Filler::<$i, 4>, Filler::<$i, 5>));
            world.spawn((Filler::<$i, 6>, Filler::<$i, 7>, Filler::<$i, 8>));
        )*};
    }
    columns!(0 1 2 3 4 5 6);
}

struct Scene {
    world: World,
    entities: Vec<Entity>,
    family: (Group<Owned<(A, B)>>, Group<Inner>),
    d: Group<(Owned<D>, Without<M>)>,
    lists: (Group<WithoutC>, Group<WithoutTwo>, Group<Plain>),
    /// Whether spare capacity is freed after each step.
    tight: bool,
}

type Inner = (Owned<(A, B, C)>, Without<D>);
type WithoutC = (Observed<(B, L)>, Without<C>);
type Plain = Observed<(A, E)>;
type WithoutTwo = (Observed<M>, Without<(A, L)>);

#[derive(Debug, PartialEq)]
struct Seen {
    pools: [Vec<usize>; 5],
    values: (Vec<A>, Vec<B>, Vec<C>),
    groups: [Vec<usize>; 6],
    rest: Vec<(Option<L>, bool, Option<E>)>,
}

impl Scene {
    fn new(prepare: impl FnOnce(&mut World), tight: bool) -> Scene {
        let mut world = World::new();
        prepare(&mut world);
        world.pool_mut::<E>().set_removal(Removal::Deferred).unwrap();
        let family = (world.create_group().unwrap(), world.create_group().unwrap());
        let d = world.create_group().unwrap();
        let lists = (world.create_group().unwrap(), world.create_group().unwrap(), world.create_group().unwrap());
        Scene { world, entities: Vec::new(), family, d, lists, tight }
    }

    fn give<P: Bundle>(&mut self, at: usize, bundle: P) -> bool {
        self.world.insert(self.entities[at], bundle).is_ok()
    }

    fn put<P: Component>(&mut self, at: usize, held: bool, value: P) -> bool {
        match held {
            true => self.world.component_mut().insert(self.entities[at], value).is_ok(),
            false => self.give(at, value),
        }
    }

    fn drop<P: Component>(&mut self, at: usize, held: bool) -> Option<bool> {
        match held {
            true => self.world.component_mut::<P>().remove(self.entities[at]).ok().map(|old| old.is_some()),
            false => self.world.remove::<P>(self.entities[at]).ok(),
        }
    }

    /// Runs one operation, and returns the part of its result that is compared.
    fn step(&mut self, [what, at, held]: [usize; 3], n: u64) -> Option<bool> {
        let (a, b, c, l, held) = (A(n), B(n.to_string()), C(n as u8), L(n as u16), held == 0);
        if what < 8 || self.entities.is_empty() {
            self.entities.push(match what {
                0 => self.world.spawn((a, b, c)),
                1 => self.world.spawn((D, b, l, a)),
                2 => self.world.spawn((Table(1), M, E(n as u32))),
                3 => self.world.spawn((a, b, c, D, E(0))),
                4 => self.world.spawn_columns((vec![b], vec![a], vec![c])).unwrap()[0],
                5 => self.world.spawn_batch([(D, l)])[0],
                6 => self.world.spawn(a),
                _ => self.world.spawn_empty(),
            });
            return None;
        }
        let at = at % self.entities.len();
        match what {
            8..=10 => Some(self.put(at, held, a)),
            11..=13 => Some(self.put(at, held, b)),
            14..=15 => Some(self.put(at, held, c)),
            16..=17 => Some(self.put(at, held, D)),
            18..=19 => Some(self.put(at, held, l)),
            20..=21 => Some(self.put(at, held, M)),
            22 => Some(self.put(at, held, E(n as u32))),
            23 => Some(self.give(at, (c, b, M))),
            24 => self.drop::<A>(at, held),
            25 => self.drop::<B>(at, held),
            26 => self.drop::<C>(at, held),
            27..=28 => self.drop::<D>(at, held),
            29 => self.drop::<L>(at, held),
            30 => self.drop::<M>(at, held),
            31 => self.drop::<E>(at, held),
            32 => self.world.remove::<(D, B, L)>(self.entities[at]).ok(),
            _ => Some(self.world.despawn(self.entities[at]).is_ok()),
        }
    }

    fn seen(&mut self) -> Seen {
        self.world.validate().unwrap();
        let number = |entity: Entity| self.entities.iter().position(|e| *e == entity).expect("one of these");
        macro_rules! pool {
            ($of:ty) => {
                self.world.pool_mut::<$of>().entities().map(number).collect()
            };
        }
        let pools = [pool!(A), pool!(B), pool!(C), pool!(D), pool!(E)];
        let world = &self.world;
        let groups = [
            self.family.0.entities(world).map(number).collect(),
            self.family.1.entities(world).map(number).collect(),
            self.d.entities(world).map(number).collect(),
            self.lists.0.entities(world).map(number).collect(),
            self.lists.1.entities(world).map(number).collect(),
            self.lists.2.entities(world).map(number).collect(),
        ];
        let row = |e: &Entity| (world.get::<L>(*e).ok().copied(), world.has::<M>(*e), world.get::<E>(*e).ok().copied());
        let rest = self.entities.iter().map(row).collect();
        let a = self.world.pool_mut::<A>().values().to_vec();
        let b = self.world.pool_mut::<B>().values().to_vec();
        Seen { pools, values: (a, b, self.world.pool_mut::<C>().values().to_vec()), groups, rest }
    }
}

#[test]
fn every_way_of_a_change_comes_to_the_same() {
    for seed in 0..3 {
        let roomy = |world: &mut World| {
            let all = (0..200).map(|n| (A(0), B(String::new()), C(0), D, (L(0), M, E(n))));
            world.spawn_batch(all);
            world.clear();
        };
        let far = |world: &mut World| drop(world.spawn_batch((0..5000).map(|_| ())));
        let told = |world: &mut World| {
            world.on_spawn(|_, _, _| {});
        };
        let mut scenes = [
            Scene::new(|_| {}, false),
            Scene::new(roomy, false),
            Scene::new(|_| {}, true),
            Scene::new(far, false),
            Scene::new(told, false),
            Scene::new(fill, false),
        ];
        let mut rng = Rng::new(seed);
        for n in 0..600 {
            let step = [rng.below(35), rng.below(1 << 20), rng.below(2)];
            let mut first = None;
            for (way, scene) in scenes.iter_mut().enumerate() {
                let outcome = scene.step(step, n);
                if scene.tight {
                    scene.world.compact(usize::MAX);
                }
                let both = (outcome, n.is_multiple_of(10).then(|| scene.seen()));
                match &first {
                    None => first = Some(both),
                    Some(first) => assert_eq!(*first, both, "way {way}, step {step:?}, seed {seed}, {n}"),
                }
            }
        }
    }
}
