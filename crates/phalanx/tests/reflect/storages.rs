//! Tables and sparse stores, to look at.

use phalanx::layout::Kind;
use phalanx::reflect::FieldPath;
use phalanx::{Component, Key, Removal, Role, World};

#[derive(Component)]
struct A(u32);
#[derive(Component)]
struct B(#[allow(dead_code)] u64);
#[derive(Component)]
#[component(layout = "pool")]
struct P(u16);
#[derive(Component)]
#[component(layout = "linear")]
struct L(u8);

#[test]
fn tables_and_stores_tell_what_they_hold() {
    let mut world = World::new();
    let only_a: Vec<_> = (0..10).map(|n| world.spawn(A(n))).collect();
    let both: Vec<_> = (0..5).map(|n| world.spawn((A(n), B(1), P(n as u16), L(2)))).collect();
    world.add_row(Key::main(both[0]).with_role(Role(7)), (A(77), P(9))).unwrap();
    world.spawn_named("sun", ()).unwrap();
    let [a, b, p, l] =
        [world.component_id::<A>(), world.component_id::<B>(), world.component_id::<P>(), world.component_id::<L>()]
            .map(Option::unwrap);
    let tables: Vec<_> = world.tables().collect();
    assert_eq!(tables.len(), 4);
    assert_eq!((tables[0].entities(), tables[1].entities()), (&only_a[..], &both[..]));
    assert!(tables[1].components().eq([a, b]) && tables[1].signature().has(b) && !tables[0].signature().has(b));
    assert!(tables[2].is_extra() && tables[2].components().eq([a]) && tables[2].entities() == [both[0]]);
    assert_eq!(tables[2].value(a, 0).unwrap().to_string(), "77");
    for table in &tables {
        let memory = table.memory();
        assert_eq!((memory.rows, memory.capacity), (table.len(), table.capacity()));
        assert!(table.capacity() >= table.len() && !table.is_empty());
        assert!(world.memory().tables.contains(&memory));
    }
    assert_eq!(tables[1].column_memory(b).unwrap().lanes[0].row, 8);
    assert_eq!(tables[1].column_bytes(b), tables[1].column_memory(b).map(|column| column.total()));
    assert!(
        tables[0].column_memory(b).is_none() && tables[0].value(b, 0).is_none() && tables[0].value(a, 10).is_none()
    );

    let stores: Vec<_> = world.sparse_stores().collect();
    assert_eq!(
        stores.iter().map(|store| (store.component(), store.kind())).collect::<Vec<_>>(),
        [(l, Kind::Linear), (p, Kind::Pool)]
    );
    assert_eq!((stores[1].len(), stores[1].entities().collect::<Vec<_>>()), (6, both.clone()));
    assert_eq!(stores[1].value(both[3]).unwrap().to_string(), "3");
    assert!(stores[1].value(only_a[0]).is_none());
    assert!(stores.iter().all(|store| world.memory().sparse.contains(&store.memory())));
    let _ = (A(1).0, P(1).0, L(1).0);
}

/// All values of a sparse component by the runs of its column equal those by entity, whatever gaps there are.
#[test]
fn columns_of_stores_have_the_values_of_entities_in_order() {
    let mut world = World::new();
    let entities: Vec<_> = (0..100).map(|n| world.spawn((A(n), P(n as u16), L(n as u8)))).collect();
    let check = |world: &World, runs: [usize; 2]| {
        for (store, runs) in world.sparse_stores().zip(runs) {
            let path = FieldPath::new(world.components(), store.component(), "").unwrap();
            let columns: Vec<_> = path.store_columns(&store).collect();
            let values = columns.iter().flat_map(|column| (0..column.len()).map(|row| column.get(row)));
            let expected = store.entities().map(|entity| store.value(entity).and_then(|value| value.scalar()));
            assert!(values.eq(expected) && columns.len() == runs, "{} runs", columns.len());
            for (entity, value) in store.entities().map(|entity| (entity, store.value(entity).unwrap())) {
                let column = value.column().unwrap();
                assert_eq!(
                    (column.len(), column.get(0)),
                    (1, world.entity(entity).unwrap().value(store.component()).unwrap().scalar())
                );
            }
            assert_eq!(store.entity_count(), store.entities().count());
            let other = FieldPath::new(world.components(), world.component_id::<A>().unwrap(), "").unwrap();
            assert_eq!(other.store_columns(&store).count(), 0);
        }
    };
    check(&world, [1, 1]);
    for entity in entities.iter().skip(10).step_by(30) {
        world.despawn(*entity).unwrap();
    }
    check(&world, [4, 1]);
    // The values of extra rows are not among those of entities.
    world.add_row(Key::main(entities[0]).with_role(Role(7)), (P(900), L(90))).unwrap();
    let later = world.spawn((P(901), L(91)));
    check(&world, [3, 2]);
    world.despawn(later).unwrap();
    // A set whose removals are deferred has holes.
    world.pool_mut::<P>().set_removal(Removal::Deferred).unwrap();
    for entity in [entities[1], entities[50], entities[51]] {
        world.remove::<P>(entity).unwrap();
    }
    check(&world, [4, 3]);
}
