//! Queries: what terms match and yield, through every door.

use phalanx::query::{Filtered, QueryState, SingleError};
use phalanx::{Component, ComponentError, Entity, Has, NoSuchEntity, Or, Query, With, Without, World};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct A(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct B(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct C(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Tag;

#[derive(Query)]
struct Named {
    entity: Entity,
    a: &'static mut A,
    b: Option<&'static B>,
}

#[derive(Query)]
struct Reads<'a, T: Component> {
    value: &'a T,
    nested: (Entity, Has<Tag>),
}

#[derive(Query)]
struct Outer {
    inner: Reads<'static, A>,
    either: Or<(&'static B, &'static C)>,
}

#[test]
fn derived_queries_yield_structs_with_the_same_names() {
    let mut world = World::new();
    let first = world.spawn((A(1), B(10)));
    let second = world.spawn((A(2), Tag));
    world.spawn(B(3));
    for NamedItem { entity, a, b } in world.query_mut::<Named>() {
        a.0 += b.map_or(entity.index(), |b| b.0);
    }
    let values: Vec<_> = world.query::<Reads<A>>().iter().map(|item| (item.value.0, item.nested)).collect();
    assert_eq!(values, [(11, (first, false)), (3, (second, true))]);
    let outer: Vec<_> = world.query::<Outer>().iter().collect();
    assert_eq!((outer.len(), outer[0].inner.value, outer[0].either), (1, &A(11), (Some(&B(10)), None)));
    for chunk in world.query_mut::<Named>().chunks() {
        assert_eq!((chunk.entity.len(), chunk.a.len()), (1, 1));
        assert_eq!(chunk.b.is_some(), chunk.entity[0] == first);
    }
    let copied = world.query::<Reads<A>>().get(second).unwrap();
    let again = copied;
    assert_eq!(format!("{again:?}"), format!("{copied:?}"));
    assert!(format!("{again:?}").contains("value: A(3)"));
    let error = world.query::<Outer>().get(second).err().unwrap();
    assert!(error.to_string().contains("Or<"), "{error}");
}
