//! Cases of bevy_ecs.

use phalanx::query::{DynamicQuery, QueryBuilder, SingleError};
use phalanx::relation::{ChildOf, Position};
use phalanx::{
    Component, ComponentError, Entity, EntityRef, Or, Query, QueryState, RelationError, StructuralError, With, Without,
    World,
};
use phalanx_testkit::catch;
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct Other(u32);

over_layouts! {
    fn only_new_components_are_inserted(world) {
        let e = world.spawn((A(1), Other(1)));
        world.entity_mut(e).unwrap().insert_if_new((A(2), B(2), Other(2)));
        assert_eq!((world.get::<A>(e).unwrap().0, world.get::<B>(e).unwrap().0, world.get::<Other>(e).unwrap().0), (1, 2, 1));
    }

    fn a_batch_of_insertions_is_all_or_nothing(world) {
        let all = [world.spawn(A(0)), world.spawn((A(1), B(1))), world.spawn(Other(2))];
        world.insert_batch(all.iter().zip(10..).map(|(e, n)| (*e, (A(n), C(n))))).unwrap();
        assert_eq!(all.map(|e| world.get::<A>(e).unwrap().0), [10, 11, 12]);
        world.despawn(all[1]).unwrap();
        assert!(world.insert_batch(all.map(|e| (e, A(99)))).is_err());
        assert_eq!([all[0], all[2]].map(|e| world.get::<A>(e).unwrap().0), [10, 12]);
        // The last bundle of an entity counts.
        world.insert_batch([(all[0], A(1)), (all[2], A(2)), (all[0], A(3))]).unwrap();
        assert_eq!(world.get::<A>(all[0]).unwrap().0, 3);
    }

    fn an_entity_is_found_after_the_removal_of_others(world) {
        let all: Vec<Entity> = (0..6).map(|n| world.spawn((A(n), B(n)))).collect();
        world.despawn(all[0]).unwrap();
        world.remove::<A>(all[3]).unwrap();
        for e in [1, 2, 4, 5] {
            assert_eq!(world.query::<&A>().get(all[e]).unwrap().0, e as u32);
        }
        assert!(matches!(world.query::<&A>().get(all[3]), Err(ComponentError::MissingComponent { .. })));
        assert!(matches!(world.query::<&A>().get(all[0]), Err(ComponentError::NoSuchEntity(_))));
    }

    fn combinations_have_no_pair_twice(world) {
        (0..5).for_each(|n| _ = world.spawn((A(n), Other(n))));
        (5..8).for_each(|n| _ = world.spawn((A(n), Mark)));
        let mut pairs: Vec<[u32; 2]> = world.query::<&A>().combinations::<2>().map(|pair| pair.map(|a| a.0)).collect();
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 8 * 7 / 2);
        assert_eq!(world.query_filtered::<&A, With<Mark>>().combinations::<3>().count(), 1);
        assert_eq!(world.query_filtered::<&A, With<Mark>>().combinations::<4>().count(), 0);
        let mut sum = 0;
        world.query_mut::<&mut A>().for_each_combination_mut::<2>(|[mut a, b]| {
            a.0 = a.0.max(b.0).min(a.0);
            sum += 1;
        });
        assert_eq!(sum, 28);
    }

    fn items_are_sorted_by_what_the_query_reads(world) {
        for n in [3, 1, 2, 5, 4] {
            world.spawn((A(n), B(10 - n)));
            world.spawn((A(n + 10), Other(n)));
        }
        let sorted: Vec<u32> = world.query::<&A>().iter().sort_by_key(|a| a.0).map(|a| a.0).collect();
        assert_eq!(sorted, [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]);
        let reverse: Vec<u32> = world.query::<(&A, &B)>().iter().sort_by(|a, b| a.1.0.cmp(&b.1.0)).map(|(a, _)| a.0).collect();
        assert_eq!(reverse, [5, 4, 3, 2, 1]);
        let mut rest = world.query::<&A>().iter();
        rest.next();
        assert_eq!(rest.sort().count(), 9, "what was visited before is not sorted");
    }

    fn the_only_item_is_asked_for(world) {
        assert!(matches!(world.query::<&A>().single(), Err(SingleError::None { .. })));
        let e = world.spawn(A(1));
        assert_eq!(world.query::<(Entity, &A)>().single().unwrap().0, e);
        world.spawn((A(2), B(2)));
        assert!(matches!(world.query::<&A>().single(), Err(SingleError::Several { .. })));
        assert_eq!(world.query_filtered::<&A, Without<B>>().single().unwrap().0, 1);
        world.query_filtered_mut::<&mut A, With<B>>().single_mut().unwrap().0 = 5;
        assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 6);
    }

    fn two_queries_may_write_disjoint_rows_of_one_component(world) {
        let [x, y] = [world.spawn((A(1), Mark)), world.spawn(A(2))];
        {
            let (mut marked, mut others) = world.queries_mut::<(Query<&mut A, With<Mark>>, Query<&mut A, Without<Mark>>)>();
            let (mut a, mut b) = (marked.single_mut().unwrap(), others.single_mut().unwrap());
            core::mem::swap(&mut a.0, &mut b.0);
        }
        assert_eq!([x, y].map(|e| world.get::<A>(e).unwrap().0), [2, 1]);
        assert!(catch(|| _ = world.queries_mut::<(Query<&mut A, With<Mark>>, Query<&A>)>()).is_err());
        assert!(catch(|| _ = world.queries_mut::<(Query<EntityRef<'_>>, Query<&mut B>)>()).is_err());
        assert!(QueryState::<(&mut A, &A)>::try_new().is_err());
    }

    fn whole_entities_are_read_in_a_query(world) {
        world.spawn((A(1), B(2)));
        world.spawn((B(3), Other(4)));
        let mut seen = Vec::new();
        for (e, b) in world.query::<(EntityRef<'_>, &B)>().iter() {
            seen.push((b.0, e.get::<A>().ok().map(|a| a.0), e.has::<Other>()));
        }
        seen.sort_unstable();
        assert_eq!(seen, [(2, Some(1), false), (3, None, true)]);
    }

    fn components_move_and_are_cloned_between_entities(world) {
        let [x, y] = [world.spawn((A(1), B(1), Other(1))), world.spawn(A(9))];
        world.entity_mut(x).unwrap().clone_components::<(A, Other)>(y).unwrap();
        assert_eq!((world.get::<A>(y).unwrap().0, world.get::<Other>(y).unwrap().0, world.has::<B>(y)), (1, 1, false));
        world.entity_mut(x).unwrap().move_components::<(B, A)>(y).unwrap();
        assert!(!world.has::<A>(x) && !world.has::<B>(x) && world.has::<Other>(x) && world.get::<B>(y).unwrap().0 == 1);
        assert!(matches!(world.entity_mut(x).unwrap().move_components::<B>(y), Err(StructuralError::Missing { .. })));
        let z = world.entity_mut(y).unwrap().clone_entity().unwrap();
        assert_eq!((world.get::<B>(z).unwrap().0, world.get::<Other>(z).unwrap().0), (1, 1));
    }

    fn listeners_of_one_entity_once_and_for_what_exists(world) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let push = |word: &'static str| {
            let log = log.clone();
            move |e: Entity| log.lock().unwrap().push((word, e))
        };
        let [x, y] = [world.spawn(A(1)), world.spawn(A(2))];
        let (one, once, existing) = (push("one"), push("once"), push("existing"));
        world.listen().entity(x).on_set::<A>(move |event, _, _| one(event.entity));
        world.listen().once().on_set::<A>(move |event, _, _| once(event.entity));
        world.listen().existing().on_add::<A>(move |event, _, _| existing(event.entity));
        world.insert(y, A(3)).unwrap();
        world.insert(x, A(4)).unwrap();
        world.insert(x, A(5)).unwrap();
        let z = world.spawn((A(6), B(6)));
        assert_eq!(
            *log.lock().unwrap(),
            [("existing", x), ("existing", y), ("once", y), ("one", x), ("one", x), ("existing", z)]
        );
    }

    fn listeners_see_both_values_and_record_commands(world) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        world.listen().on_replace::<A>(move |event, world, commands| {
            sink.lock().unwrap().push((event.old.0, event.new.0));
            // All of an operation is done when a listener is called, and its commands come after that.
            assert!(!world.has::<Other>(event.entity));
            commands.insert(event.entity, Other(event.old.0));
        });
        let e = world.spawn((A(1), B(1)));
        world.insert(e, (A(2), C(2))).unwrap();
        assert_eq!(*seen.lock().unwrap(), [(1, 2)]);
        assert_eq!(world.get::<Other>(e).unwrap().0, 1);
    }

    fn queries_of_components_by_id(world) {
        let ids = (world.register_component::<A>(), world.register_component::<B>(), world.register_component::<C>());
        let [ab, ac, a] = [world.spawn((A(1), B(1))), world.spawn((A(2), C(2))), world.spawn(A(3))];
        let find = |world: &World, builder: QueryBuilder| {
            let query = builder.build(world).unwrap();
            let mut found: Vec<Entity> = query.rows(world).unwrap().map(|row| row.entity()).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(find(&world, DynamicQuery::builder().read(ids.0)), [ab, ac, a]);
        assert_eq!(find(&world, DynamicQuery::builder().read(ids.0).without(ids.1)), [ac, a]);
        assert_eq!(find(&world, DynamicQuery::builder().with(ids.0).optional(ids.2).with(ids.1)), [ab]);
        let either = [DynamicQuery::builder().with(ids.1), DynamicQuery::builder().with(ids.2)];
        assert_eq!(find(&world, DynamicQuery::builder().read(ids.0).or(either)), [ab, ac]);
    }

    fn filters_that_share_alternatives(world) {
        let all = [world.spawn(A(1)), world.spawn(B(2)), world.spawn((A(3), B(3), C(3))), world.spawn(C(4))];
        let mut found: Vec<Entity> =
            world.query_filtered::<Entity, Or<(With<A>, (With<B>, Without<C>))>>().iter().collect();
        found.sort_unstable();
        assert_eq!(found, all[..3]);
    }

    fn a_component_is_entered_or_inserted(world) {
        let e = world.spawn(Other(1));
        world.entity_mut(e).unwrap().entry::<A>().or_insert(A(5)).0 += 1;
        world.entity_mut(e).unwrap().entry::<A>().and_modify(|mut a| a.0 *= 2).or_default();
        assert_eq!(world.get::<A>(e).unwrap().0, 12);
    }
}

#[test]
fn required_components_come_with_those_that_are_given_first() {
    fn far() -> Speed {
        Speed(1)
    }
    #[derive(Component, Debug, PartialEq, Default)]
    #[component(layout = "pool")]
    struct Speed(u32);
    #[derive(Component, Default)]
    #[component(requires(Speed(far)))]
    struct Engine;
    #[derive(Component)]
    #[component(requires(Engine, Speed = Speed(7)))]
    struct Ship;
    let mut world = World::new();
    let given = world.spawn((Ship, Speed(9)));
    let near = world.spawn(Ship);
    let engine = world.spawn(Engine);
    // What a component requires itself counts before what its requirements require.
    assert_eq!([given, near, engine].map(|e| world.get::<Speed>(e).unwrap().0), [9, 7, 1]);
    world.remove::<Ship>(near).unwrap();
    assert!(world.has::<Engine>(near) && world.has::<Speed>(near), "what was required stays");
    world.insert(near, Ship).unwrap();
    assert_eq!(world.get::<Speed>(near).unwrap().0, 7);
}

#[test]
fn children_keep_their_order_and_make_no_cycle() {
    let mut world = World::new();
    let [parent, a, b, c] = [(); 4].map(|()| world.spawn(Other(0)));
    let mut tree = world.relations_mut::<ChildOf>();
    tree.link(a, parent).unwrap();
    tree.link(c, parent).unwrap();
    tree.link_at(b, parent, Position::Before(c)).unwrap();
    assert!(tree.as_ref().children(parent).eq([a, b, c]));
    assert!(matches!(tree.link(parent, parent), Err(RelationError::Cycle { .. })));
    assert!(matches!(tree.link(parent, c), Err(RelationError::Cycle { .. })));
    assert_eq!(tree.unlink(b).unwrap(), Some(parent));
    tree.link_at(b, parent, Position::First).unwrap();
    assert!(tree.as_ref().children(parent).eq([b, a, c]));
    world.despawn(parent).unwrap();
    assert!(world.is_empty(), "children are despawned with their parent");
}

#[test]
fn changes_are_those_since_the_last_run_of_the_query() {
    use phalanx::{Added, Changed};
    #[derive(Component)]
    #[component(track = "row")]
    struct Seen(u32);
    let mut world = World::new();
    let [x, y] = [world.spawn(Seen(1)), world.spawn(Seen(2))];
    let (mut added, mut changed) =
        (QueryState::<Entity, Added<Seen>>::new(), QueryState::<Entity, Changed<Seen>>::new());
    assert_eq!((added.iter(&world).count(), changed.iter(&world).count()), (2, 2));
    world.get_mut::<Seen>(y).unwrap().0 += 1;
    assert!(changed.iter(&world).eq([y]) && added.iter(&world).next().is_none());
    // Reading does not count as a change.
    let _ = world.get_mut::<Seen>(x).unwrap().0;
    world.insert(x, Other(1)).unwrap();
    assert_eq!(changed.iter(&world).count(), 0, "a move to another archetype changes no value");
    world.insert(x, Seen(5)).unwrap();
    assert!(changed.iter(&world).eq([x]) && added.iter(&world).next().is_none());
    world.remove::<Seen>(x).unwrap();
    world.insert(x, Seen(6)).unwrap();
    assert!(added.iter(&world).eq([x]));
}
