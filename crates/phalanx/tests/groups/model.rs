//! Random operations against a model that looks at every row.

use crate::kit::{A, B, C, D, L, M, Table};
use phalanx::group::{GroupError, GroupSpec, Observed, Owned};
use phalanx::query::{AllRows, With};
use phalanx::{CommandBuffer, Entity, Group, Key, Role, Without, World};
use phalanx_testkit::Rng;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What a row has.
#[derive(Clone, Debug, Default, PartialEq)]
struct Has {
    a: Option<A>,
    b: Option<B>,
    c: Option<C>,
    d: Option<D>,
    l: Option<L>,
    m: Option<M>,
    t: Option<Table>,
}

impl Has {
    fn bits(&self) -> u32 {
        let has = [
            self.a.is_some(),
            self.b.is_some(),
            self.c.is_some(),
            self.d.is_some(),
            self.l.is_some(),
            self.m.is_some(),
        ];
        has.iter().enumerate().map(|(at, has)| u32::from(*has) << at).sum()
    }
}

/// A row: its entity, and its role, which is 0 for the main row.
type Id = (Entity, u32);

trait Held {
    fn seen(&self, world: &World) -> Vec<(Entity, String)>;
    fn contains(&self, world: &World, entity: Entity) -> bool;
    /// The item of an entity, read and written, if it is a member.
    fn item(&self, world: &World, entity: Entity) -> Option<String>;
    fn item_mut(&self, world: &mut World, entity: Entity) -> Option<String>;
    fn sort(&self, world: &mut World, reverse: bool);
    /// Sorts in another way: like a pool, by entity, as a list says, or only some members.
    fn arrange(&self, world: &mut World, how: usize, list: &[Entity]);
    fn end(&self, world: &mut World) -> bool;
}

impl<S: GroupSpec> Held for Group<S>
where
    for<'a> S::Item<'a>: Debug,
    for<'a> S::ItemMut<'a>: Debug,
{
    fn seen(&self, world: &World) -> Vec<(Entity, String)> {
        assert_eq!(self.iter(world).len(), self.len(world));
        let mut reverse: Vec<_> = self.iter(world).rev().map(|item| format!("{item:?}")).collect();
        reverse.reverse();
        assert!(self.iter(world).map(|item| format!("{item:?}")).eq(reverse));
        self.entities(world).zip(self.iter(world).map(|item| format!("{item:?}"))).collect()
    }
    fn contains(&self, world: &World, entity: Entity) -> bool {
        Group::contains(self, world, entity)
    }
    fn item(&self, world: &World, entity: Entity) -> Option<String> {
        self.get(world, entity).ok().map(|item| format!("{item:?}"))
    }
    fn item_mut(&self, world: &mut World, entity: Entity) -> Option<String> {
        self.get_mut(world, entity).ok().map(|item| format!("{item:?}"))
    }
    fn arrange(&self, world: &mut World, how: usize, list: &[Entity]) {
        let before: Vec<Entity> = self.entities(world).collect();
        match how {
            0 => self.sort_like::<A>(world),
            1 => self.sort_by_entity(world, |a, b| b.cmp(&a)),
            2 => self.sort_as(world, list.iter().copied()),
            _ => self.sort_first_by(world, how, |_, _| std::cmp::Ordering::Equal),
        }
        let after: Vec<Entity> = self.entities(world).collect();
        if how > 2 {
            assert_eq!(after, before, "equal members stay where they are");
        }
        // What is a member of the same groups keeps to this order. Without groups within, that is all.
        if how == 2 && after.len() == before.len() {
            let named = |e: &&Entity| list.contains(e);
            let rest = |all: &[Entity]| all.iter().filter(|e| !named(e)).copied().collect::<Vec<_>>();
            let mut rests = [rest(&before), rest(&after)];
            rests.iter_mut().for_each(|rest| rest.sort());
            assert_eq!(rests[0], rests[1]);
        }
    }
    fn sort(&self, world: &mut World, reverse: bool) {
        self.sort_by(world, |a, b| {
            let (a, b) = (format!("{a:?}"), format!("{b:?}"));
            if reverse { b.cmp(&a) } else { a.cmp(&b) }
        });
        let before: Vec<_> = self.seen(world).into_iter().map(|(_, item)| item).collect();
        let mut written = Vec::new();
        self.for_each(world, |item| written.push(format!("{item:?}")));
        assert_eq!(before, written, "what a writer sees is what a reader sees");
    }
    fn end(&self, world: &mut World) -> bool {
        world.remove_group(*self)
    }
}

struct Spec {
    owned: u32,
    required: u32,
    excluded: u32,
    make: fn(&mut World) -> Result<Box<dyn Held>, GroupError>,
    item: fn(&Has) -> Option<String>,
}

macro_rules! specs {
    ($($group:ty, $owned:literal $required:literal $excluded:literal, |$has:ident| $item:expr;)*) => {[$(
        Spec {
            owned: $owned,
            required: $required,
            excluded: $excluded,
            make: |world| Ok(Box::new(world.create_group::<$group>()?)),
            item: |$has| Some(format!("{:?}", $item)),
        },
    )*]};
}

/// Bits: A 1, B 2, C 4, D 8, L 16, M 32.
fn specs() -> Vec<Spec> {
    specs! {
        Owned<(A, B)>, 3 3 0, |x| (x.a?, x.b.clone()?);
        Owned<(A, C, B)>, 7 7 0, |x| (x.a?, x.c?, x.b.clone()?);
        (Owned<(A, B)>, Without<D>), 3 3 8, |x| (x.a?, x.b.clone()?);
        (Owned<A>, Observed<B>), 1 3 0, |x| (x.a?, x.b.clone()?);
        (Owned<A>, Observed<(B, L)>, Without<D>), 1 19 8, |x| (x.a?, (x.b.clone()?, x.l?));
        Observed<(A, D)>, 0 9 0, |x| (x.a?, x.d?);
        (Observed<(B, L)>, Without<C>), 0 18 4, |x| (x.b.clone()?, x.l?);
        Owned<D>, 8 8 0, |x| x.d?;
        (Owned<(C, D)>, Without<M>), 12 12 32, |x| (x.c?, x.d?);
        Observed<L>, 0 16 0, |x| x.l?;
        (Owned<(A, B, C)>, Observed<L>, Without<D>), 7 23 8, |x| ((x.a?, x.b.clone()?, x.c?), x.l?);
        Owned<A>, 1 1 0, |x| x.a?;
        Owned<B>, 2 2 0, |x| x.b.clone()?;
        (Observed<M>, Without<(A, L)>), 0 32 17, |x| x.m?;
        (Owned<C>, Without<(D, M)>), 4 4 40, |x| x.c?;
    }
    .into()
}

fn nested(outer: &Spec, inner: &Spec) -> bool {
    outer.owned & !inner.owned == 0 && outer.required & !inner.required == 0 && outer.excluded & !inner.excluded == 0
}

/// Whether a group can be beside these: each two owning ones of its family are one within the other.
fn fits(specs: &[Spec], there: &[usize], new: usize) -> bool {
    let mut family = vec![new];
    loop {
        let joins =
            |at: &&usize| !family.contains(at) && family.iter().any(|f| specs[*f].owned & specs[**at].owned != 0);
        let Some(&next) = there.iter().find(joins) else { break };
        family.push(next);
    }
    let pair = |a: usize, b: usize| nested(&specs[a], &specs[b]) || nested(&specs[b], &specs[a]);
    family.iter().all(|a| family.iter().all(|b| pair(*a, *b)))
}

struct Scene {
    world: World,
    rows: BTreeMap<Id, Has>,
    groups: Vec<(usize, Box<dyn Held>)>,
    specs: Vec<Spec>,
}

impl Scene {
    fn check(&self, what: &str) {
        self.world.validate().unwrap_or_else(|error| panic!("{what}: {error}"));
        let bare = |((_, role), has): &(&Id, &Has)| *role == 0 && **has == Has::default();
        let mut orphans: Vec<Entity> = self.world.orphans().collect();
        orphans.sort();
        assert!(orphans.into_iter().eq(self.rows.iter().filter(bare).map(|((e, _), _)| *e)), "orphans after {what}");
        for (number, group) in &self.groups {
            let spec = &self.specs[*number];
            let belongs = |has: &Has| has.bits() & spec.required == spec.required && has.bits() & spec.excluded == 0;
            // Extra rows are members of no group.
            let members = self.rows.iter().filter(|((_, role), has)| *role == 0 && belongs(has));
            let mut expected: Vec<_> = members.map(|((e, _), has)| (*e, (spec.item)(has).unwrap())).collect();
            let mut seen = group.seen(&self.world);
            expected.sort();
            seen.sort();
            assert_eq!(seen, expected, "group {number} after {what}");
            for ((e, _), has) in self.rows.iter().filter(|((_, role), _)| *role == 0) {
                let item = (spec.item)(has).filter(|_| belongs(has));
                assert_eq!(group.contains(&self.world, *e), belongs(has), "{e} in group {number} after {what}");
                assert_eq!(group.item(&self.world, *e), item, "{e} in group {number} after {what}");
            }
        }
    }

    /// What the entities themselves have.
    fn main_rows(&mut self) -> impl Iterator<Item = &mut Has> {
        self.rows.iter_mut().filter(|((_, role), _)| *role == 0).map(|(_, has)| has)
    }

    fn key((entity, role): Id) -> Key {
        Key::main(entity).with_role(Role(role))
    }

    fn insert<P: phalanx::Bundle>(&mut self, id: Id, bundle: P, change: impl FnOnce(&mut Has)) {
        match id.1 {
            0 => self.world.insert(id.0, bundle).unwrap(),
            _ => _ = self.world.row_mut(Scene::key(id)).unwrap().insert(bundle),
        }
        change(self.rows.get_mut(&id).unwrap());
    }

    fn remove<P: phalanx::Bundle>(&mut self, id: Id, change: impl FnOnce(&mut Has)) {
        match id.1 {
            0 => self.world.remove::<P>(id.0).unwrap(),
            _ => self.world.row_mut(Scene::key(id)).unwrap().remove::<P>(),
        };
        change(self.rows.get_mut(&id).unwrap());
    }

    fn step(&mut self, rng: &mut Rng, n: u64) -> &'static str {
        let (a, b, c, l) = (A(n), B(format!("b{n}")), C(n as u8), L(n as u16));
        let id = self.rows.keys().nth(rng.below(self.rows.len().max(1))).copied();
        match (rng.below(43), id) {
            (0, _) => {
                let e = self.world.spawn((a, b.clone(), l));
                self.rows.insert((e, 0), Has { a: Some(a), b: Some(b), l: Some(l), ..Has::default() });
                "spawn"
            }
            (1, _) => {
                let e = self.world.spawn((Table(1), c, D, b.clone(), a));
                let t = Some(Table(1));
                self.rows.insert((e, 0), Has { a: Some(a), b: Some(b), c: Some(c), d: Some(D), t, ..Has::default() });
                "spawn"
            }
            (2, _) => {
                let made = self.world.spawn_batch((0..3).map(|k| (A(n * 3 + k), M)));
                for (k, e) in (0..).zip(made) {
                    self.rows.insert((e, 0), Has { a: Some(A(n * 3 + k)), m: Some(M), ..Has::default() });
                }
                "spawn_batch"
            }
            (3, _) => {
                let columns = ((0..3).map(|k| A(n * 5 + k)).collect::<Vec<_>>(), vec![c; 3]);
                let made = self.world.spawn_columns(columns).unwrap().to_vec();
                for (k, e) in (0..).zip(made) {
                    self.rows.insert((e, 0), Has { a: Some(A(n * 5 + k)), c: Some(c), ..Has::default() });
                }
                "spawn_columns"
            }
            (4, _) => {
                let e = self.world.spawn_empty();
                self.rows.insert((e, 0), Has::default());
                "spawn_empty"
            }
            (5 | 6, _) => {
                let (new, live) =
                    (rng.below(self.specs.len()), self.groups.iter().map(|(at, _)| *at).collect::<Vec<_>>());
                if !live.contains(&new) {
                    match (self.specs[new].make)(&mut self.world) {
                        Ok(group) => {
                            assert!(fits(&self.specs, &live, new), "{new} beside {live:?}");
                            self.groups.push((new, group));
                        }
                        Err(error) => {
                            assert!(matches!(error, GroupError::Conflict { .. }), "{error}");
                            assert!(!fits(&self.specs, &live, new), "{new} beside {live:?}: {error}");
                        }
                    }
                }
                "create_group"
            }
            (7, _) if !self.groups.is_empty() && rng.chance(1, 2) => {
                let (_, group) = self.groups.swap_remove(rng.below(self.groups.len()));
                assert!(group.end(&mut self.world) && !group.end(&mut self.world));
                "remove_group"
            }
            (8, _) if !self.groups.is_empty() => {
                let (_, group) = &self.groups[rng.below(self.groups.len())];
                group.sort(&mut self.world, n.is_multiple_of(2));
                "sort"
            }
            (9, _) => {
                let owned = self.groups.iter().any(|(at, _)| self.specs[*at].owned & 2 != 0);
                assert_eq!(self.world.pool_mut::<B>().sort_by(|x, y| x.0.cmp(&y.0)).is_err(), owned);
                "sort of a pool"
            }
            (10, _) if rng.chance(1, 20) => {
                self.world.clear();
                self.rows.clear();
                "clear"
            }
            (11, _) => {
                self.world.remove_where::<With<Table>, (D, B)>();
                for has in self.main_rows().filter(|has| has.t.is_some()) {
                    (has.d, has.b) = (None, None);
                }
                "remove_where"
            }
            (12, _) => {
                self.world.insert_where::<With<Table>, _>((l, D));
                for has in self.main_rows().filter(|has| has.t.is_some()) {
                    (has.l, has.d) = (Some(l), Some(D));
                }
                "insert_where"
            }
            (37, _) => {
                self.world.insert_where::<(AllRows, With<Table>), _>((a, c));
                for has in self.rows.values_mut().filter(|has| has.t.is_some()) {
                    (has.a, has.c) = (Some(a), Some(c));
                }
                "insert_where of all rows"
            }
            (38, _) if !self.groups.is_empty() => {
                let list: Vec<Entity> = self.rows.keys().rev().step_by(2).map(|(e, _)| *e).collect();
                let (_, group) = &self.groups[rng.below(self.groups.len())];
                group.arrange(&mut self.world, rng.below(6), &list);
                "sort in another way"
            }
            (39, _) => {
                // Odd ones go, and all are written.
                let removed = self.world.pool_mut::<A>().retain(|_, a| {
                    a.0 += 2;
                    !a.0.is_multiple_of(3)
                });
                let mut count = 0;
                for has in self.rows.values_mut() {
                    has.a = has.a.map(|a| A(a.0 + 2));
                    count += usize::from(has.a.take_if(|a| a.0.is_multiple_of(3)).is_some());
                }
                assert_eq!(removed, Ok(count));
                "retain"
            }
            (40, _) => {
                let list: Vec<Entity> = self.rows.keys().step_by(2).map(|(e, _)| *e).collect();
                let owned = self.groups.iter().any(|(at, _)| self.specs[*at].owned & 8 != 0);
                let mut pool = self.world.pool_mut::<D>();
                let before: Vec<Entity> = pool.entities().collect();
                assert_eq!(pool.sort_as(list.iter().copied()).is_err(), owned);
                assert_eq!(pool.sort_first_by(3, |_, _| std::cmp::Ordering::Equal).is_err(), owned);
                assert_eq!(pool.sort_by_entity(|a, b| a.cmp(&b)).is_err(), owned);
                assert!(owned || pool.entities().is_sorted());
                assert!(!owned || pool.entities().eq(before), "an error changes nothing");
                "sort of a pool in another way"
            }
            (_, None) => "nothing",
            (41, Some((e, 0))) => {
                for (at, group) in &self.groups {
                    let (spec, has) = (&self.specs[*at], &self.rows[&(e, 0)]);
                    let belongs = has.bits() & spec.required == spec.required && has.bits() & spec.excluded == 0;
                    assert_eq!(group.item_mut(&mut self.world, e), (spec.item)(has).filter(|_| belongs));
                }
                "get_mut"
            }
            (42, Some((e, 0))) => {
                let others: Vec<Entity> =
                    self.rows.iter().filter(|(_, has)| has.c.is_some()).map(|((e, _), _)| *e).collect();
                let other = others.get(rng.below(others.len().max(1))).copied().unwrap_or(e);
                let owned = self.groups.iter().any(|(at, _)| self.specs[*at].owned & 4 != 0);
                let valid = [e, other].iter().all(|e| self.rows[&(*e, 0)].c.is_some());
                let mut pool = self.world.pool_mut::<C>();
                let mut order: Vec<Entity> = pool.entities().collect();
                let swapped = pool.swap(e, other);
                assert_eq!(swapped.is_ok(), valid && !owned, "{swapped:?}");
                let at = |e: Entity| self.world.pool::<C>().iter().position(|(other, _)| other == e);
                if swapped.is_ok() && self.rows.keys().all(|(_, role)| *role == 0) {
                    let positions = [e, other].map(|e| order.iter().position(|other| *other == e).unwrap());
                    order.swap(positions[0], positions[1]);
                    assert_eq!([at(other), at(e)], positions.map(Some));
                    assert!(self.world.pool::<C>().iter().map(|(e, _)| e).eq(order));
                }
                "swap"
            }
            (13 | 14, Some(id)) => {
                self.insert(id, a, |has| has.a = Some(a));
                "insert A"
            }
            (15 | 16, Some(id)) => {
                self.insert(id, (b.clone(), c), |has| (has.b, has.c) = (Some(b), Some(c)));
                "insert B, C"
            }
            (17, Some(id)) => {
                self.insert(id, (D, Table(3)), |has| (has.d, has.t) = (Some(D), Some(Table(3))));
                "insert D, Table"
            }
            (18, Some(id)) => {
                self.insert(id, (M, c, a), |has| (has.m, has.c, has.a) = (Some(M), Some(c), Some(a)));
                "insert M, C, A"
            }
            (19, Some(id)) => {
                self.insert(id, l, |has| has.l = Some(l));
                "insert L"
            }
            (20, Some(id)) => {
                self.remove::<A>(id, |has| has.a = None);
                "remove A"
            }
            (21, Some(id)) => {
                self.remove::<(C, B)>(id, |has| (has.c, has.b) = (None, None));
                "remove C, B"
            }
            (22, Some(id)) => {
                self.remove::<(Table, D)>(id, |has| (has.t, has.d) = (None, None));
                "remove Table, D"
            }
            (23, Some(id)) => {
                self.remove::<(L, M, A)>(id, |has| (has.l, has.m, has.a) = (None, None, None));
                "remove L, M, A"
            }
            (24, Some(id @ (e, 0))) => {
                let has = self.rows.get_mut(&id).unwrap();
                match self.world.take::<(B, D)>(e) {
                    Ok(taken) => assert_eq!(taken, (has.b.take().unwrap(), has.d.take().unwrap())),
                    Err(_) => assert!(has.b.is_none() || has.d.is_none()),
                }
                "take B, D"
            }
            (25 | 26, Some(id @ (e, 0))) => {
                self.world.exchange::<(D, A), _>(e, (c, A(n))).unwrap();
                let has = self.rows.get_mut(&id).unwrap();
                (has.d, has.a, has.c) = (None, Some(a), Some(c));
                "exchange"
            }
            (27, Some(id @ (e, 0))) => {
                let ids = [self.world.component_id::<M>(), self.world.component_id::<C>()];
                self.world.entity_mut(e).unwrap().remove_by_ids(&ids.into_iter().flatten().collect::<Vec<_>>());
                let has = self.rows.get_mut(&id).unwrap();
                (has.m, has.c) = (None, None);
                "remove_by_ids"
            }
            (28, Some((e, 0))) => {
                self.world.despawn(e).unwrap();
                self.rows.retain(|(other, _), _| *other != e);
                "despawn"
            }
            (29, Some((e, _))) => {
                let id = (e, 1 + rng.below(3) as u32);
                if self.world.add_row(Scene::key(id), (a, b.clone(), Table(9))).is_ok() {
                    self.rows.insert(id, Has { a: Some(a), b: Some(b), t: Some(Table(9)), ..Has::default() });
                }
                "add_row"
            }
            (30, Some(id @ (_, 1..))) => {
                self.world.remove_row(Scene::key(id)).unwrap();
                self.rows.remove(&id);
                "remove_row"
            }
            (31 | 32, Some(id @ (e, 0))) => {
                let mut commands = CommandBuffer::new();
                let made = commands.spawn_with(&self.world, (a, l, b.clone()));
                commands.insert(made, M);
                commands.remove::<(D, L)>(e);
                commands.insert(e, (b.clone(), c));
                let has = self.rows.get_mut(&id).unwrap();
                (has.d, has.l, has.b, has.c) = (None, None, Some(b.clone()), Some(c));
                let ends =
                    self.rows.keys().nth_back(rng.below(self.rows.len())).copied().filter(|(other, _)| *other != e);
                if let Some((other, _)) = ends {
                    commands.despawn(other);
                    self.rows.retain(|(e, _), _| *e != other);
                }
                commands.try_apply(&mut self.world).unwrap();
                let has = Has { a: Some(a), l: Some(l), b: Some(b), m: Some(M), ..Has::default() };
                self.rows.insert((made, 0), has);
                "commands"
            }
            (33, Some(id @ (e, 0))) => {
                let copy = self.world.entity_mut(e).unwrap().clone_entity().unwrap();
                let rows: Vec<_> =
                    self.rows.range(id..=(e, u32::MAX)).map(|((_, role), has)| (*role, has.clone())).collect();
                let extra = self.world.rows(copy).unwrap().count() > 1;
                self.rows.extend(
                    rows.into_iter().filter(|(role, _)| extra || *role == 0).map(|(role, has)| ((copy, role), has)),
                );
                "clone_entity"
            }
            (34, Some(_)) if n.is_multiple_of(5) => {
                // Groups are the same in a copy, and found by making them.
                self.world = self.world.try_clone().unwrap();
                for (at, group) in &mut self.groups {
                    *group = (self.specs[*at].make)(&mut self.world).unwrap();
                }
                "try_clone"
            }
            (35, Some(_)) if n.is_multiple_of(5) => {
                // The groups there get all members, and those here lose them.
                let mut there = World::new();
                let groups =
                    self.groups.iter().map(|(at, _)| (*at, (self.specs[*at].make)(&mut there).unwrap())).collect();
                let map = self.world.transfer_all(&mut there).unwrap();
                self.check_empty();
                (self.world, self.groups) = (there, groups);
                self.rows = std::mem::take(&mut self.rows)
                    .into_iter()
                    .map(|((e, role), has)| ((map.get(e).unwrap(), role), has))
                    .collect();
                "transfer_all"
            }
            (36, Some(_)) => {
                self.world.compact(usize::MAX);
                "compact"
            }
            _ => "nothing",
        }
    }

    fn check_empty(&self) {
        self.world.validate().unwrap();
        assert!(self.groups.iter().all(|(_, group)| group.seen(&self.world).is_empty()));
    }
}

#[test]
fn h57_a_group_has_exactly_the_members_that_belong_to_it_in_one_order() {
    let (seeds, steps) = if cfg!(miri) { (2, 60) } else { (16, 250) };
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        let mut scene = Scene { world: World::new(), rows: BTreeMap::new(), groups: Vec::new(), specs: specs() };
        for step in 0..steps {
            let what = scene.step(&mut rng, step);
            scene.check(&format!("seed {seed}, step {step}: {what}"));
        }
    }
}

/// The order of everything that can be seen of groups and pools.
fn order(world: &mut World, groups: &[Box<dyn Held>]) -> String {
    let seen: Vec<_> = groups.iter().map(|group| group.seen(world)).collect();
    let (a, b) = (world.pool_mut::<A>().values().to_vec(), world.pool_mut::<B>().values().to_vec());
    let d: Vec<_> = world.pool_mut::<D>().entities().collect();
    format!("{seen:?} {a:?} {b:?} {d:?}")
}

#[test]
fn batches_and_commands_have_the_result_of_one_by_one() {
    for at in 0..specs().len() {
        let [mut single, mut batch, mut later] = [(); 3].map(|()| World::new());
        let mut groups = Vec::new();
        for world in [&mut single, &mut batch, &mut later] {
            // Some have all of it already, so that members come and go among others.
            world.spawn_batch((0..5).map(|n| (A(n), Table(0), D)));
            world.spawn_batch((0..5).map(|n| (B(n.to_string()), L(1), C(1))));
            groups.push([(specs()[at].make)(world).unwrap()]);
        }
        let bundle = || (B("new".into()), C(2), L(3));
        let all: Vec<Entity> = single.query_filtered::<Entity, With<Table>>().iter().collect();
        let mut commands = CommandBuffer::new();
        for e in &all {
            single.insert(*e, bundle()).unwrap();
            commands.insert(*e, bundle());
        }
        batch.insert_where::<With<Table>, _>(bundle());
        commands.try_apply(&mut later).unwrap();
        for e in &all {
            single.remove::<(D, L)>(*e).unwrap();
            commands.remove::<(D, L)>(*e);
        }
        batch.remove_where::<With<Table>, (D, L)>();
        commands.try_apply(&mut later).unwrap();
        for n in 0..4 {
            single.spawn((A(n), B("spawned".into()), D));
        }
        batch.spawn_batch((0..4).map(|n| (A(n), B("spawned".into()), D)));
        let columns = ((0..4).map(A).collect::<Vec<_>>(), vec![B("spawned".into()); 4], vec![D; 4]);
        later.spawn_columns(columns).unwrap();
        let expected = order(&mut single, &groups[0]);
        assert_eq!(order(&mut batch, &groups[1]), expected, "group {at}");
        assert_eq!(order(&mut later, &groups[2]), expected, "group {at}");
        assert_eq!((batch.validate(), later.validate()), (Ok(()), Ok(())));
    }
}

#[test]
fn extra_rows_are_members_of_no_group() {
    let mut world = World::new();
    let group = world.create_group::<Owned<(A, C)>>().unwrap();
    let listed = world.create_group::<Observed<A>>().unwrap();
    let linear = world.create_group::<Observed<L>>().unwrap();
    let e = world.spawn((A(1), L(1)));
    let key = Key::main(e).with_role(Role(7));
    // An extra row comes before a member, gets what a member has bit by bit, and ends with its entity.
    world.add_row(key, (A(2), L(2))).unwrap();
    world.row_mut(key).unwrap().insert(C(2));
    assert!(group.is_empty(&world) && !group.contains(&world, e));
    assert!(listed.entities(&world).eq([e]) && linear.entities(&world).eq([e]));
    assert!(world.pool_mut::<C>().entities().eq([e]), "the pool has the value of the row");
    assert_eq!(world.validate(), Ok(()));
    world.insert(e, C(1)).unwrap();
    assert_eq!((group.slices(&world), listed.len(&world)), ((&[A(1)][..], &[C(1)][..]), 1));
    world.query_mut::<(&mut A, &C)>().for_each(|(a, _)| a.0 += 10);
    assert_eq!((world.get::<A>(e), world.row(key).and_then(|row| row.get::<A>())), (Ok(&A(11)), Ok(&A(2))));
    // Groups that are made later find the same.
    assert!(world.remove_group(group) && world.remove_group(listed) && world.remove_group(linear));
    let group = world.create_group::<Owned<(A, C)>>().unwrap();
    let listed = world.create_group::<(Observed<A>, Without<B>)>().unwrap();
    let linear = world.create_group::<Observed<(L, C)>>().unwrap();
    assert_eq!((group.len(&world), listed.len(&world), linear.len(&world)), (1, 1, 1));
    // A row that loses what a group excludes enters none.
    world.row_mut(key).unwrap().insert(B("b".into()));
    world.row_mut(key).unwrap().remove::<B>();
    assert_eq!(world.validate(), Ok(()));
    world.remove::<C>(e).unwrap();
    assert_eq!((group.len(&world), listed.len(&world), linear.len(&world)), (0, 1, 0));
    assert_eq!(world.row(key).and_then(|row| row.get::<A>()), Ok(&A(2)));
    world.despawn(e).unwrap();
    assert!(group.is_empty(&world) && listed.is_empty(&world));
    assert_eq!(world.validate(), Ok(()));
}
