//! Cases of hecs and sparsey.

use phalanx::{
    BundleBuilder, CommandBuffer, Component, ComponentError, Entity, Has, Or, QueryData, QueryState, StructuralError,
    With, Without, World,
};

#[derive(Component, Clone, Debug, PartialEq)]
struct Named(&'static str);

over_layouts! {
    fn an_entity_is_reused_under_another_generation(world) {
        let old = world.spawn((A(1), B(2)));
        world.despawn(old).unwrap();
        let new = world.spawn(A(3));
        assert_eq!((old.index(), old == new), (new.index(), false));
        assert!(!world.contains(old) && world.get::<A>(old).is_err() && world.get::<A>(new).unwrap().0 == 3);
        assert!(world.despawn(old).is_err() && world.insert(old, C(1)).is_err() && world.remove::<A>(old).is_err());
        assert_eq!(Entity::from_bits(new.to_bits()), Some(new));
    }

    fn a_bundle_is_taken_as_a_whole_or_not_at_all(world) {
        let e = world.spawn((A(1), B(2)));
        assert!(matches!(world.take::<(A, C)>(e), Err(StructuralError::Missing { .. })));
        assert!(world.has::<A>(e) && world.has::<B>(e));
        assert_eq!(world.take::<(B, A)>(e), Ok((B(2), A(1))));
        assert!(world.contains(e) && !world.has::<A>(e));
        assert_eq!(world.remove::<(A, C)>(e), Ok(false));
    }

    fn clearing_leaves_no_handle_alive_and_does_not_repeat_one(world) {
        let before: Vec<Entity> = (0..4).map(|n| world.spawn((A(n), B(n)))).collect();
        world.clear();
        assert!(world.is_empty() && world.query::<&A>().is_empty());
        let after: Vec<Entity> = (0..4).map(|n| world.spawn(A(n))).collect();
        assert!(before.iter().all(|e| !world.contains(*e) && !after.contains(e)));
        assert_eq!(world.query::<&A>().len(), 4);
    }

    fn a_handle_of_another_world_is_spawned_unless_its_slot_is_in_use(world) {
        let mut server = World::new();
        let handles: Vec<Entity> = (0..3).map(|n| server.spawn(A(n))).collect();
        world.spawn_at(handles[2], A(2)).unwrap();
        world.spawn_at(handles[0], (A(0), B(7))).unwrap();
        assert_eq!(world.get::<A>(handles[2]).unwrap().0, 2);
        assert!(matches!(world.spawn_at(handles[0], A(9)), Err(StructuralError::SlotOccupied { .. })));
        assert_eq!((world.get::<A>(handles[0]).unwrap().0, world.len()), (0, 2));
        let next = world.spawn(A(5));
        assert_eq!((next.index(), world.contains(handles[1])), (1, next == handles[1]));
    }

    fn reserved_entities_are_alive_with_the_next_change(world) {
        let reserved = [world.reserve_entity(), world.reserve_entity()];
        let spawned = world.spawn(A(1));
        assert!(reserved.iter().all(|e| world.contains(*e) && *e != spawned));
        world.insert(reserved[0], (A(2), B(3))).unwrap();
        assert_eq!(world.query::<(&A, Option<&B>)>().iter().map(|(a, b)| (a.0, b.map(|b| b.0))).collect::<Vec<_>>().len(), 2);
        world.despawn(reserved[1]).unwrap();
        assert_eq!(world.len(), 2);
    }

    fn exchanging_components_is_one_move(world) {
        let e = world.spawn((A(1), B(2)));
        world.exchange::<A, _>(e, C(3)).unwrap();
        assert!(!world.has::<A>(e) && world.get::<B>(e).unwrap().0 == 2 && world.get::<C>(e).unwrap().0 == 3);
        world.exchange::<(B, C), _>(e, (C(4), Mark)).unwrap();
        assert_eq!((world.has::<B>(e), world.get::<C>(e).unwrap().0, world.has::<Mark>(e)), (false, 4, true));
        // What is not there is not missed.
        world.exchange::<(A, B), _>(e, A(5)).unwrap();
        assert_eq!(world.get::<A>(e).unwrap().0, 5);
    }

    fn terms_that_may_be_absent_and_alternatives(world) {
        let [a, ab, b, none] = [world.spawn(A(1)), world.spawn((A(2), B(20))), world.spawn(B(30)), world.spawn(Named("x"))];
        let mut optional: Vec<_> = world.query::<(&A, Option<&B>)>().iter().map(|(a, b)| (a.0, b.map(|b| b.0))).collect();
        optional.sort_unstable();
        assert_eq!(optional, [(1, None), (2, Some(20))]);
        let mut either: Vec<_> =
            world.query::<(Entity, Or<(&A, &B)>)>().iter().map(|(e, (a, b))| (e, a.map(|a| a.0), b.map(|b| b.0))).collect();
        either.sort_unstable();
        assert_eq!(either, [(a, Some(1), None), (ab, Some(2), Some(20)), (b, None, Some(30))]);
        let has: Vec<_> = world.query::<(Entity, Has<A>, Has<B>)>().iter().filter(|(_, a, b)| !a && !b).map(|(e, ..)| e).collect();
        assert_eq!(has, [none]);
        assert_eq!(world.query_filtered::<Entity, (With<A>, Without<B>)>().single().ok(), Some(a));
    }

    fn a_held_query_follows_changes_and_other_worlds(world) {
        let mut state = QueryState::<(&A, &B)>::new();
        assert_eq!(state.iter(&world).count(), 0);
        let e = world.spawn((A(1), B(1)));
        assert_eq!(state.iter(&world).count(), 1);
        world.insert(e, C(1)).unwrap();
        world.spawn((B(2), A(2), Named("y")));
        assert_eq!(state.iter(&world).map(|(a, b)| a.0 * b.0).sum::<u32>(), 5);
        let mut other = World::new();
        other.spawn((B(3), A(3)));
        assert_eq!(state.iter(&other).map(|(a, _)| a.0).collect::<Vec<_>>(), [3]);
        world.remove::<B>(e).unwrap();
        assert_eq!(state.iter(&world).map(|(a, _)| a.0).collect::<Vec<_>>(), [2]);
    }

    fn items_of_several_entities_at_once(world) {
        let [x, y, z] = [world.spawn((A(1), B(10))), world.spawn((A(2), C(0))), world.spawn(C(3))];
        {
            let mut query = world.query_mut::<&mut A>();
            let [mut a, mut b] = query.get_many_mut([x, y]).unwrap();
            core::mem::swap(&mut a.0, &mut b.0);
        }
        assert_eq!((world.get::<A>(x).unwrap().0, world.get::<A>(y).unwrap().0), (2, 1));
        assert!(matches!(world.query_mut::<&mut A>().get_many_mut([x, y, x]), Err(ComponentError::DuplicateEntity { entity }) if entity == x));
        assert!(world.query_mut::<&mut A>().get_many_mut([x, z]).is_err());
        assert!(world.query::<&A>().get_many([x, x]).is_ok());
    }

    fn batches_visit_each_row_once(world) {
        for n in 0..100 {
            match n % 3 {
                0 => _ = world.spawn(A(n)),
                1 => _ = world.spawn((A(n), B(n))),
                _ => _ = world.spawn((A(n), C(n), Mark)),
            }
        }
        let mut seen = Vec::new();
        for batch in world.query_mut::<&mut A>().batches(7) {
            let rows: Vec<u32> = batch.map(|a| a.0).collect();
            assert!((1..=64).contains(&rows.len()));
            seen.extend(rows);
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..100));
    }

    fn a_builder_is_used_again_and_for_clones(world) {
        let mut builder = BundleBuilder::new();
        let first = builder.add(A(1)).add(Named("Ann")).spawn(&mut world);
        let second = builder.add(A(2)).add(B(3)).spawn(&mut world);
        assert!(builder.is_empty() && world.has::<Named>(first) && !world.has::<Named>(second) && world.has::<B>(second));
        builder.add_bundle((A(4), B(5), Mark));
        let clones = [builder.spawn_clone(&mut world).unwrap(), builder.spawn_clone(&mut world).unwrap()];
        assert!(clones.iter().all(|e| world.get::<B>(*e).unwrap().0 == 5 && world.has::<Mark>(*e)));
        builder.insert(&mut world, first).unwrap();
        assert_eq!((world.get::<A>(first).unwrap().0, world.get::<Named>(first).unwrap().0), (4, "Ann"));
    }

    fn recorded_commands_see_those_before_them(world) {
        let [e, gone] = [world.spawn(A(1)), world.spawn((A(2), B(2)))];
        let mut commands = CommandBuffer::new();
        commands.insert(e, (B(5), C(6)));
        commands.remove::<(A, B)>(e);
        commands.insert(e, B(7));
        let made = commands.spawn_with(&world, (A(8), Mark));
        commands.insert(made, B(9));
        commands.remove::<A>(made);
        commands.despawn(gone);
        commands.insert(gone, C(1));
        let report = commands.apply(&mut world);
        assert_eq!(report.skipped().len(), 1, "a dead entity gets nothing");
        assert_eq!((world.has::<A>(e), world.get::<B>(e).unwrap().0, world.get::<C>(e).unwrap().0), (false, 7, 6));
        assert_eq!((world.has::<A>(made), world.get::<B>(made).unwrap().0, world.has::<Mark>(made)), (false, 9, true));
        assert!(commands.is_empty() && !world.contains(gone));
    }

    fn a_whole_entity_moves_to_another_world(world) {
        let mut other = World::new();
        other.spawn(A(100));
        let e = world.spawn((A(1), B(2), Named("Ann")));
        let stays = world.spawn(A(3));
        let there = world.entity_mut(e).unwrap().transfer(&mut other).unwrap();
        assert!(!world.contains(e) && world.contains(stays));
        assert_eq!((other.get::<B>(there).unwrap().0, other.get::<Named>(there).unwrap().0, other.len()), (2, "Ann", 2));
        other.validate().unwrap();
    }

    fn free_handles_are_read_and_set(world) {
        let all: Vec<Entity> = (0..5).map(|n| world.spawn(A(n))).collect();
        for at in [3, 0, 2] {
            world.despawn(all[at]).unwrap();
        }
        let mut free: Vec<Entity> = world.free_entities().collect();
        assert_eq!(free.len(), 3);
        free.reverse();
        world.set_free_entities(&free).unwrap();
        let made: Vec<Entity> = (0..3).map(|n| world.spawn(B(n))).collect();
        assert_eq!(made, free);
        assert!(world.set_free_entities(&[all[1]]).is_err());
    }

    fn columns_become_entities(world) {
        let positions: Vec<A> = (0..50).map(A).collect();
        let made = world.spawn_columns((positions, (0..50).map(B).collect::<Vec<_>>())).unwrap().to_vec();
        assert!(made.iter().zip(0..).all(|(e, n)| world.get::<A>(*e).unwrap().0 == n && world.get::<B>(*e).unwrap().0 == n));
        assert!(matches!(world.spawn_columns((vec![A(1)], vec![B(1), B(2)])), Err(StructuralError::UnequalColumns(_))));
        assert_eq!(world.len(), 50);
    }

    fn the_first_variant_that_matches_makes_the_item(world) {
        #[derive(QueryData)]
        enum Kinds<'a> {
            Both(&'a A, &'a B),
            One { a: &'a A },
            Nothing,
        }
        world.spawn((A(1), B(1)));
        world.spawn(A(10));
        world.spawn(Named("z"));
        let (mut both, mut one, mut nothing) = (0, 0, 0);
        for item in world.query::<Kinds<'_>>().iter() {
            match item {
                KindsItem::Both(a, b) => both += a.0 + b.0,
                KindsItem::One { a } => one += a.0,
                KindsItem::Nothing => nothing += 1,
            }
        }
        assert_eq!((both, one, nothing), (2, 10, 1));
    }

    fn components_come_and_go_one_by_one(world) {
        let e = world.spawn(());
        world.insert(e, A(1)).unwrap();
        world.insert(e, B(1)).unwrap();
        assert_eq!((world.get::<A>(e).unwrap().0, world.get::<B>(e).unwrap().0), (1, 1));
        assert_eq!(world.take::<Option<A>>(e), Ok(Some(A(1))));
        assert_eq!(world.take::<(Option<A>, Option<B>)>(e), Ok((None, Some(B(1)))));
        assert!(world.entity(e).unwrap().component_names().next().is_none());
        assert_eq!(world.orphans().count(), 1);
    }
}
