//! Terms that read more than they name: `EntityRef` and `WithTable`. What they conflict with, and what they see.

use phalanx::query::{Access, AllRows, ExtraRows, Filtered, Or, WithTable};
use phalanx::relation::{ChildOf, Related};
use phalanx::system::{IntoSystem, ParamSet, ResMut, System, WorldAccess};
use phalanx::{Component, Entity, EntityRef, Key, Query, QueryData, QueryState, Role, With, Without, World};
use phalanx_testkit::catch;

#[derive(Component, Debug, PartialEq, Clone, Copy)]
struct A(u32);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
struct B(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct Pool(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "linear")]
struct Line(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f32,
}
#[derive(Component)]
#[component(track = "row")]
struct Tracked(u32);
#[derive(Component)]
struct Tag;

fn world() -> World {
    let mut world = World::new();
    for n in 0..10 {
        let e = world.spawn((A(n), Pool(n)));
        if n % 2 == 0 {
            world.insert(e, (B(n), Spin { axis: n as f32, speed: 1.0 }, Tracked(n))).unwrap();
        }
        if n % 5 == 0 {
            world.insert(e, (Line(n), Tag)).unwrap();
        }
        world.add_row(Key::main(e).with_role(Role(1)), (A(100 + n), Pool(100 + n))).unwrap();
    }
    world
}

#[test]
fn an_entity_is_seen_with_all_its_components() {
    let mut world = world();
    let mut state = QueryState::<EntityRef>::new();
    let check = |entity: EntityRef<'_>| {
        let n = entity.get::<A>().unwrap().0;
        assert_eq!(entity.get::<Pool>(), Ok(&Pool(n)));
        assert_eq!((entity.has::<B>(), entity.has::<Line>()), (n.is_multiple_of(2), n.is_multiple_of(5)));
        assert_eq!(entity.world().get::<A>(entity.id()), Ok(&A(n)));
        entity.id()
    };
    let all: Vec<Entity> = world.iter().collect();
    let mut found: Vec<Entity> = world.query::<EntityRef>().iter().map(check).collect();
    assert!(state.iter(&world).map(check).eq(found.iter().copied()));
    assert!(world.query_mut::<EntityRef>().into_iter().map(check).eq(found.iter().copied()));
    found.sort();
    assert_eq!(found, all);
    // Driven by a pool, by a linear store, and beside other terms.
    assert!(world.query::<(EntityRef, &Pool)>().iter().all(|(entity, pool)| entity.get::<Pool>() == Ok(pool)));
    assert!(world.query::<(EntityRef, &Line)>().iter().map(|(entity, _)| check(entity)).eq([all[0], all[5]]));
    assert!(world.query_filtered::<EntityRef, With<Line>>().iter().map(check).eq([all[0], all[5]]));
    let one = world.query_one_mut::<(EntityRef, Option<&B>)>(all[3]).unwrap().0;
    assert_eq!(check(one), all[3]);
}

#[test]
fn the_entity_of_an_extra_row_is_its_owner() {
    let world = world();
    let owners: Vec<Entity> = world.query_filtered::<EntityRef, ExtraRows>().iter().map(|owner| owner.id()).collect();
    assert!(owners.len() == 10 && owners.iter().all(|owner| world.contains(*owner)));
    let pairs = world.query_filtered::<(EntityRef, &A), AllRows>();
    assert!(pairs.iter().all(|(owner, a)| owner.get::<A>().unwrap().0 == a.0 % 100));
    assert_eq!(pairs.len(), 20);
    assert!(
        world
            .query_filtered::<(EntityRef, &Pool), AllRows>()
            .iter()
            .all(|(owner, p)| { owner.get::<Pool>().unwrap().0 == p.0 % 100 })
    );
}

#[test]
fn an_entity_is_read_beside_what_only_reads() {
    let mut world = world();
    let (entities, values) = world.queries_mut::<(EntityRef, (&A, &Pool))>();
    assert_eq!(entities.len(), values.len());
    let world = &world;
    std::thread::scope(|scope| {
        let sums: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| world.query::<EntityRef>().iter().map(|e| e.get::<A>().unwrap().0).sum::<u32>()))
            .collect();
        assert!(sums.into_iter().all(|sum| sum.join().unwrap() == 45));
    });
}

/// Whether a query would alias itself.
fn aliases<D: QueryData>() -> bool {
    let refused = Access::try_of::<D>().is_err();
    assert_eq!(catch(|| _ = world().query_mut::<D>()).is_err(), refused);
    assert_eq!(QueryState::<D>::try_new().is_err(), refused);
    refused
}

#[test]
fn what_reads_an_entity_conflicts_with_any_write() {
    assert!(aliases::<(EntityRef, &mut A)>() && aliases::<(&mut Pool, EntityRef)>());
    assert!(aliases::<(Option<&mut A>, Option<EntityRef>)>() && aliases::<Or<(EntityRef, &mut A)>>());
    assert!(aliases::<(Related<ChildOf, EntityRef>, &mut A)>());
    assert!(!aliases::<(EntityRef, EntityRef, &A)>());
    assert!(!aliases::<(Related<ChildOf, EntityRef>, &A)>());

    let reads = Access::of::<EntityRef>();
    assert!(reads.reads_all() && !Access::of::<&A>().reads_all());
    assert!(reads.is_disjoint(&Access::of::<(&A, EntityRef)>()));
    // Filters do not help: by its world, an entity leads to all others.
    let with = Access::try_of_filtered::<EntityRef, With<Tag>>().unwrap();
    let without = Access::try_of_filtered::<&mut A, Without<Tag>>().unwrap();
    assert!(!with.is_disjoint(&without) && !without.is_disjoint(&with));
    assert!(!Access::of::<Related<ChildOf, EntityRef>>().is_disjoint(&Access::of::<&mut A>()));
    assert!(catch(|| _ = world().queries_mut::<(EntityRef, &mut A)>()).is_err());
    assert!(catch(|| _ = world().queries_mut::<(&mut Pool, EntityRef)>()).is_err());
}

struct Score(u32);

#[test]
fn a_system_that_reads_entities_reads_the_world() {
    fn reads(entities: Query<EntityRef>) -> usize {
        entities.iter().filter(|entity| entity.world().has::<A>(entity.id())).count()
    }
    let mut world = world();
    world.insert_resource(Score(1));
    let mut system = reads.into_system();
    assert_eq!(world.run_system(&mut system), 10);
    assert_eq!(system.access().world(), Some(WorldAccess::Shared));
    let mut writes = (|score: ResMut<Score>| assert_eq!(score.0, 1)).into_system();
    world.run_system(&mut writes);
    assert!(system.access().conflict_with(writes.access()).is_some());
    assert!(writes.access().conflict_with(system.access()).is_some());

    // One system: whichever parameter is first. A set uses one at a time.
    fn refused<M, S: IntoSystem<M>>(system: S) -> bool {
        let mut world = crate::world();
        world.insert_resource(Score(1));
        system.into_system().initialize(&mut world, None).is_err()
    }
    assert!(refused(|_: Query<EntityRef>, _: ResMut<Score>| ()));
    assert!(refused(|_: ResMut<Score>, _: Query<EntityRef>| ()));
    assert!(refused(|_: Query<&mut A>, _: Query<EntityRef>| ()));
    assert!(refused(|_: Query<EntityRef>, _: Query<&mut A, With<Tag>>| ()));
    assert!(!refused(|_: Query<EntityRef>, _: Query<&A>, _: &World| ()));
    assert!(!refused(|_: ParamSet<(Query<EntityRef>, ResMut<Score>, Query<&mut A>)>| ()));
    assert!(!refused(|_: ParamSet<(Query<&mut A>, ResMut<Score>, Query<EntityRef>)>| ()));
}

#[test]
fn a_chunk_comes_with_the_other_columns_of_its_table() {
    let mut world = world();
    let mut rows = 0;
    for ((entities, values), table) in world.query_mut::<WithTable<(Entity, &mut A)>>().chunks() {
        assert_eq!((entities.len(), table.len(), table.is_empty()), (values.len(), values.len(), false));
        assert!(table.has::<A>());
        let (b, spin, tracked) = (table.column::<B>(), table.column::<Spin>(), table.column::<Tracked>());
        assert_eq!((b.is_some(), spin.is_some()), (table.has::<B>(), tracked.is_some()));
        if let (Some(b), Some(spin), Some(tracked)) = (b, spin, tracked) {
            for (row, a) in values.iter_mut().enumerate() {
                assert_eq!((b[row].0, spin.axis[row], tracked[row].0), (a.0, a.0 as f32, a.0));
                a.0 += b[row].0;
            }
        }
        assert!(table.column::<Tag>().is_none_or(|tags| tags.len() == values.len()));
        rows += values.len();
    }
    assert_eq!(rows, 10);
    assert!(
        world.query::<(&A, &Pool)>().iter().all(|(a, pool)| a.0 == if pool.0 % 2 == 0 { pool.0 * 2 } else { pool.0 })
    );
    // Columns live as long as the borrow of the world; rows are as without it.
    let columns: Vec<&[B]> = world.query::<WithTable<Entity>>().chunks().filter_map(|(_, t)| t.column::<B>()).collect();
    assert_eq!(columns.concat().len(), 5);
    assert!(world.query::<WithTable<&A>>().iter().eq(world.query::<&A>().iter()));
    assert_eq!(world.query_filtered::<WithTable<&A>, ExtraRows>().chunks().map(|(a, _)| a.len()).sum::<usize>(), 10);
    assert_eq!(world.query::<(WithTable<&A>, &Pool)>().iter().count(), 10);
    assert_eq!(world.query::<(WithTable<&Pool>, Entity)>().iter().count(), 10);
    let values = world.query::<Filtered<WithTable<&A>, With<Tag>>>();
    assert_eq!(values.chunks().map(|(a, _)| a.len()).sum::<usize>(), 2);
}

#[test]
fn a_column_that_the_query_writes_is_refused() {
    let mut world = world();
    for (_, table) in world.query_mut::<WithTable<(&mut A, Option<&mut B>)>>().chunks() {
        let message = catch(|| table.column::<A>().is_some()).err().map(|panic| panic.message().to_string());
        assert!(message.is_some_and(|message| message.contains("writes") && message.contains("::A")));
        // Also where the table does not have it.
        assert!(catch(|| table.column::<B>().is_some()).is_err());
        assert!(table.column::<Tracked>().is_some() || !table.has::<Tracked>());
    }
}

#[test]
fn what_reads_other_columns_conflicts_with_writes_of_them() {
    assert!(!aliases::<WithTable<&mut A>>() && !aliases::<WithTable<(&mut A, &B)>>());
    assert!(!aliases::<(WithTable<&A>, WithTable<&B>)>());
    assert!(aliases::<(WithTable<&A>, &mut B)>() && aliases::<(&mut B, WithTable<&A>)>());
    assert!(aliases::<(WithTable<&mut A>, WithTable<&B>)>() && aliases::<(WithTable<&mut A>, &A)>());
    assert!(aliases::<WithTable<(&mut A, &A)>>() && aliases::<WithTable<(WithTable<&B>, &mut A)>>());
    assert!(aliases::<(WithTable<&mut A>, EntityRef)>());

    let disjoint = |a: &Access, b: &Access| {
        assert_eq!(a.is_disjoint(b), b.is_disjoint(a));
        a.is_disjoint(b)
    };
    let writer = Access::of::<WithTable<&mut A>>();
    assert!(disjoint(&Access::of::<WithTable<&A>>(), &Access::of::<(&B, &Pool)>()));
    assert!(!disjoint(&Access::of::<WithTable<&A>>(), &Access::of::<&mut Pool>()));
    assert!(!disjoint(&writer, &Access::of::<&A>()) && !disjoint(&writer, &Access::of::<&mut B>()));
    assert!(disjoint(&writer, &Access::of::<&B>()));
    let (with, without) = (
        Access::try_of_filtered::<WithTable<&mut A>, With<Tag>>().unwrap(),
        Access::try_of_filtered::<&mut A, Without<Tag>>().unwrap(),
    );
    assert!(disjoint(&with, &without), "neither reads what the other writes");
    let other = Access::try_of_filtered::<(&mut A, &mut B), Without<Tag>>().unwrap();
    assert!(!disjoint(&with, &other));
}
