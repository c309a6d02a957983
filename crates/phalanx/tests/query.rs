//! Queries: what terms match and yield, through every door.

use phalanx::query::{Access, ChunkQueryData, DynamicError, DynamicQuery, Filtered, SingleError};
use phalanx::{
    Component, ComponentError, ComponentId, Entity, Has, NoSuchEntity, Or, QueryData, QueryState, With, Without, World,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct A(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct B(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct C(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Tag;

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f32,
}

#[derive(QueryData)]
struct Named {
    entity: Entity,
    a: &'static mut A,
    b: Option<&'static B>,
}

#[derive(QueryData)]
struct Reads<'a, T: Component> {
    value: &'a T,
    nested: (Entity, Has<Tag>),
}

#[derive(QueryData)]
struct Outer {
    inner: Reads<'static, A>,
    either: Or<(&'static B, &'static C)>,
}

#[derive(QueryData)]
struct Twice {
    a: &'static A,
    named: Named,
}

/// Where clauses, without a comma at the end, with one, and without bounds.
#[rustfmt::skip]
mod clauses {
    use super::{A, B};
    use phalanx::{Component, Entity, QueryData};

    #[derive(QueryData)]
    pub(super) struct Bare<'a, T> where T: Component {
        pub(super) value: &'a T,
    }

    #[derive(QueryData)]
    pub(super) struct Comma<'a, T> where T: Component, {
        pub(super) value: &'a mut T,
    }

    #[derive(QueryData)]
    pub(super) struct Several<T, U, const N: usize> where T: QueryData, U: Component, [u8; N]: Sized {
        pub(super) inner: T,
        pub(super) value: &'static U,
    }

    #[derive(QueryData)]
    pub(super) struct Empty where {
        pub(super) entity: Entity,
        pub(super) a: &'static A,
        pub(super) b: &'static B,
    }
}

#[test]
fn derived_queries_have_where_clauses_of_any_form() {
    let mut world = World::new();
    let entity = world.spawn((A(1), B(2)));
    world.query_mut::<clauses::Comma<A>>().for_each(|item| item.value.0 += 10);
    assert_eq!(world.query::<clauses::Bare<A>>().iter().map(|item| item.value.0).sum::<u32>(), 11);
    let item = world.query::<clauses::Several<clauses::Bare<A>, B, 3>>().single().unwrap();
    assert_eq!((item.inner.value.0, item.value.0), (11, 2));
    // Items of queries that write nothing can be copied, and are made of a shared world, also by table.
    let (copy, chunks) = (item, world.query::<clauses::Empty>().chunks().count());
    assert_eq!((copy.value.0, item.value.0, chunks), (2, 2, 1));
    let item = world.query::<clauses::Empty>().single().unwrap();
    assert_eq!((item.entity, item.a.0, item.b.0), (entity, 11, 2));
}

/// A few tables: A; A B; A B Tag; B; C; nothing.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(world.spawn(A(n)));
        all.push(world.spawn((A(10 + n), B(n))));
    }
    all.push(world.spawn((A(20), B(20), Tag)));
    all.push(world.spawn(B(30)));
    all.push(world.spawn(C(40)));
    all.push(world.spawn(()));
    (world, all)
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
}

/// Components that differ by a number.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Nth<const N: usize>(usize);

/// More terms than a tuple has.
#[derive(QueryData)]
#[query(crate = "phalanx")]
#[allow(missing_debug_implementations)]
pub struct Many<'a, 'b, T, const N: usize>
where
    T: QueryData,
{
    /// A name that is a keyword.
    r#type: &'a Nth<N>,
    /// What is public may be a parameter; other terms may be private types.
    pub inner: T,
    t0: Option<&'b Nth<0>>,
    t1: Option<&'a mut Nth<1>>,
    t2: Option<&'a Nth<2>>,
    t3: (Option<&'a Nth<3>>, Entity),
    t4: Or<(&'a Nth<4>, Entity)>,
    t5: Has<Nth<5>>,
    t6: Option<&'a Nth<6>>,
    t7: Option<&'a Nth<7>>,
    t8: Option<&'a Nth<8>>,
    t9: Option<&'a Nth<9>>,
    t10: Option<&'a Nth<10>>,
    t11: Option<&'a Nth<11>>,
    t12: Option<&'a Nth<12>>,
    t13: Option<&'a Nth<13>>,
    t14: Option<Filtered<&'a Nth<14>, With<A>>>,
    t15: Reads<'b, A>,
}

#[test]
fn derived_queries_have_generics_and_any_number_of_fields() {
    let mut world = World::new();
    world.spawn((A(1), B(2), Nth::<16>(16), Nth::<1>(1), Nth::<14>(14)));
    world.spawn((A(1), Nth::<16>(16)));
    let mut many = world.query_mut::<Many<(&mut B, Has<Tag>), 16>>();
    let item = many.single_mut().unwrap();
    item.inner.0.0 += item.r#type.0 as u32;
    item.t1.unwrap().0 += item.t14.unwrap().0;
    assert!(item.t0.is_none() && item.t4.1.is_some() && !item.t5 && item.t15.value == &A(1));
    assert_eq!(world.query::<(&B, &Nth<1>)>().single(), Ok((&B(18), &Nth(15))));
    assert_eq!(world.query_mut::<Many<Entity, 16>>().len(), 2);
    assert_eq!(world.query_mut::<Many<Entity, 3>>().len(), 0);
    assert!(Access::try_of::<Many<&Nth<1>, 2>>().unwrap_err().component.ends_with("Nth<1>"));
    assert!(Access::try_of::<Many<Entity, 1>>().is_err());
}

fn message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it is refused");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// What is to be refused before there is anything to drop.
fn asked<T>(_: T) {}

/// Every way to run a query of type `Q`. Each must refuse one that aliases, whatever is in the world, naming `A`.
fn refused_everywhere<Q: QueryData + ChunkQueryData>() {
    let (mut world, all) = world();
    let mut empty = World::new();
    let mut check = |door: &str, f: &mut dyn FnMut(&mut World)| {
        for world in [&mut world, &mut empty] {
            let message = message(|| f(world));
            let query = std::any::type_name::<Q>();
            assert!(message.contains("would alias: it writes query::A "), "{door} of {query}: {message:?}");
        }
    };
    let e = all[1];
    check("for", &mut |w| for _ in w.query_mut::<Q>() {});
    check("filter", &mut |w| w.query_filtered_mut::<Q, With<B>>().for_each(drop));
    check("iter", &mut |w| w.query_mut::<Q>().iter_mut().for_each(drop));
    check("for_each", &mut |w| w.query_mut::<Q>().for_each(drop));
    check("chunks", &mut |w| w.query_mut::<Q>().chunks().for_each(drop));
    check("query_mut", &mut |w| asked(w.query_mut::<Q>()));
    check("query_one_mut", &mut |w| asked(w.query_one_mut::<Q>(e)));
    check("get", &mut |w| asked(w.query_mut::<Q>().get_mut(e)));
    check("single", &mut |w| asked(w.query_mut::<Q>().single_mut()));
    check("for_each_many", &mut |w| w.query_mut::<Q>().for_each_many([e], |_| ()).unwrap_or_default());
    check("combinations", &mut |w| w.query_mut::<Q>().for_each_combination_mut(|[_, _]| ()));
    check("len", &mut |w| assert_ne!(w.query_mut::<Q>().len(), 0));
    check("is_empty", &mut |w| assert!(!w.query_mut::<Q>().is_empty()));
    check("contains", &mut |w| assert!(w.query_mut::<Q>().contains(e)));
    check("plan", &mut |w| asked(w.query_mut::<Q>().explain()));
    check("state", &mut |_| drop(QueryState::<Q>::new()));
    check("default state", &mut |_| drop(QueryState::<Q, With<B>>::default()));
    check("first of several", &mut |w| asked(w.queries_mut::<(Q, &B)>()));
    check("second of several", &mut |w| asked(w.queries_mut::<(&C, Q)>()));
    check("inside", &mut |w| w.query_mut::<(Entity, Option<Filtered<Q, With<B>>>)>().for_each(drop));
    #[cfg(feature = "parallel")]
    check("par_for_each", &mut |w| w.query_mut::<Q>().par_for_each(drop));
    assert!(QueryState::<Q>::try_new().is_err());
    let error = Access::try_of::<Q>().unwrap_err();
    assert!(error.component.ends_with("::A"), "{error}");
    world.validate().unwrap();
    assert_eq!(world.query_mut::<&mut A>().len(), 7);
}

#[test]
fn h27_queries_that_alias_are_refused_on_every_entry_point() {
    refused_everywhere::<(&mut A, &A)>();
    refused_everywhere::<(&A, &mut A)>();
    refused_everywhere::<(&mut A, &mut A)>();
    refused_everywhere::<(&mut A, Option<&A>)>();
    refused_everywhere::<(Option<&mut A>, Option<&mut A>)>();
    refused_everywhere::<Or<(&A, &mut A)>>();
    refused_everywhere::<(Or<(&B, &mut A)>, &A)>();
    refused_everywhere::<Or<(&B, Or<(&C, &mut A)>, Option<&A>)>>();
    refused_everywhere::<(&B, (&mut A, (&C, (&A,))))>();
    refused_everywhere::<((&mut A,), (&mut A,))>();
    refused_everywhere::<Option<(&A, &mut A)>>();
    refused_everywhere::<(Filtered<&mut A, With<B>>, Filtered<&A, Without<B>>)>();
    refused_everywhere::<Twice>();
    refused_everywhere::<(Named, Reads<A>)>();
    refused_everywhere::<(Named, Option<Named>)>();
}

#[test]
fn h27_run_time_queries_that_alias_are_refused() {
    let (world, _) = world();
    let a = world.component_id::<A>().unwrap();
    let new = DynamicQuery::builder;
    for bad in [
        new().read(a).write(a),
        new().write(a).read(a),
        new().write(a).write(a),
        new().write(a).optional(a),
        new().optional_mut(a).optional_mut(a),
        new().read(a).optional_mut(a),
    ] {
        let error = bad.build(&world).unwrap_err();
        assert!(matches!(error, DynamicError::Alias { component } if component.ends_with("::A")), "{error}");
    }
    assert!(new().read(a).optional(a).with(a).build(&world).is_ok());
}

#[test]
fn h30_queries_at_once_are_disjoint_whichever_comes_first() {
    let (mut world, _) = world();
    for message in [
        message(|| asked(world.queries_mut::<(&mut A, &A)>())),
        message(|| asked(world.queries_mut::<(&A, &mut A)>())),
        message(|| asked(world.queries_mut::<(&B, &A, &mut A)>())),
        message(|| asked(world.queries_mut::<(&mut A, &B, &C, Option<&A>)>())),
        message(|| asked(world.queries_mut::<(Named, Reads<A>)>())),
    ] {
        assert!(message.contains("would alias: it writes query::A "), "{message}");
    }
    // No table is visited by both.
    asked(world.queries_mut::<(Filtered<&mut A, With<B>>, Filtered<&mut A, Without<B>>)>());
    let (first, second, third) = world.queries_mut::<(&mut A, &B, Filtered<&B, With<Tag>>)>();
    let tagged = third.single().unwrap().0;
    for a in first {
        a.0 += second.iter().map(|b| b.0).sum::<u32>() + tagged;
    }
    // The sum of all B, and the one with the tag.
    let added = 1 + 2 + 20 + 30 + 20;
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).min(), Some(added));
    let (one, other) = world.queries_mut::<(&A, &A)>();
    assert!(one.into_iter().eq(other));
}

#[test]
fn or_yields_what_is_there() {
    let (mut world, all) = world();
    let items: Vec<_> = world
        .query_mut::<(Entity, Or<(&B, &mut C)>)>()
        .into_iter()
        .map(|(e, (b, c))| (e, b.copied(), c.map(|c| c.0)))
        .collect();
    let b = |at: usize, n| (all[at], Some(B(n)), None);
    assert_eq!(items, [b(1, 0), b(3, 1), b(5, 2), b(6, 20), b(7, 30), (all[8], None, Some(40))]);
    for (bs, cs) in world.query::<Or<(&B, &C)>>().chunks() {
        assert!(bs.is_some() != cs.is_some());
    }
    assert_eq!(world.query::<Or<()>>().len(), 0);
    let nested = world.query::<Or<((&A, &B), Or<(&C,)>)>>().iter().filter(|(ab, _)| ab.is_some()).count();
    assert_eq!((nested, world.query::<Or<((&A, &B), Or<(&C,)>)>>().len()), (4, 5));
}

#[test]
fn errors_name_the_component_that_is_missing() {
    let (mut world, all) = world();
    let missing = |error: ComponentError| match error {
        ComponentError::MissingComponent { component, .. } => component.to_string(),
        other => format!("{other}"),
    };
    assert_eq!(missing(world.query::<(&A, (Entity, &B))>().get(all[0]).unwrap_err()), "query::B");
    assert_eq!(missing(world.query_mut::<(&A, &mut B)>().get_mut(all[7]).unwrap_err()), "query::A");
    assert_eq!(missing(world.query_filtered::<&A, With<Tag>>().get(all[0]).unwrap_err()), "query::Tag");
    assert_eq!(missing(world.query_mut::<Named>().get_mut(all[7]).unwrap_err()), "query::A");
    let excluded = world.query_filtered::<&A, Without<B>>().get(all[1]).unwrap_err();
    assert!(matches!(excluded, ComponentError::ExcludedComponent { component: "query::B", .. }));
    assert!(excluded.to_string().contains("has query::B"), "{excluded}");
    world.despawn(all[0]).unwrap();
    assert_eq!(world.query_mut::<&A>().get(all[0]), Err(NoSuchEntity { entity: all[0] }.into()));
    assert!(!world.query::<&A>().contains(all[0]) && !world.query_mut::<&A>().contains(all[7]));
    assert!(world.query::<&A>().contains(all[1]) && world.query_mut::<Named>().contains(all[1]));
}

#[test]
fn a_single_item_is_the_only_one() {
    let (mut world, _) = world();
    assert_eq!(world.query_mut::<&C>().single(), Ok(&C(40)));
    assert_eq!(world.query::<&C>().single(), Ok(&C(40)));
    assert!(matches!(world.query_mut::<&A>().single(), Err(SingleError::Several { count: 7, .. })));
    assert!(matches!(world.query::<&A>().single(), Err(SingleError::Several { count: 7, .. })));
    assert!(matches!(world.query_mut::<(&A, &C)>().single(), Err(SingleError::None { .. })));
    // Two tables with a row each are several.
    assert!(matches!(world.query_mut::<Or<(&C, &Tag)>>().single(), Err(SingleError::Several { count: 2, .. })));
    let mut state = QueryState::<&mut A, With<Tag>>::new();
    state.query_mut(&mut world).single_mut().unwrap().0 = 99;
    assert_eq!(world.query_filtered::<&A, With<Tag>>().single(), Ok(&A(99)));
}

#[test]
fn h28_many_entities_one_after_another() {
    let (mut world, all) = world();
    let wanted = [all[3], all[8], all[0], all[3]];
    let values: Vec<_> = world.query::<&A>().iter_many(wanted).collect();
    assert_eq!(values.len(), 4);
    assert!(matches!(values[1], Err(ComponentError::MissingComponent { entity, .. }) if entity == all[8]));
    assert_eq!(world.query_mut::<&A>().iter_many(wanted).flatten().map(|a| a.0).collect::<Vec<_>>(), [11, 0, 11]);
    world.query_mut::<&mut A>().for_each_many([all[3], all[3]], |a| a.0 += 1).unwrap();
    assert_eq!(world.get::<A>(all[3]), Ok(&A(13)));
    let error = world.query_mut::<&mut A>().for_each_many(wanted, |a| a.0 += 1).unwrap_err();
    assert!(error.to_string().contains("query::A"));
    assert_eq!(world.get::<A>(all[0]), Ok(&A(0)));
    assert!(matches!(world.query::<&A>().iter_many(all.iter().copied()).nth(9), Some(Err(_))));
}

#[test]
fn combinations_come_once_each_and_in_order() {
    let (mut world, _) = world();
    let order: Vec<u32> = world.query::<&A>().iter().map(|a| a.0).collect();
    let mut pairs = Vec::new();
    let mut triples = Vec::new();
    for i in 0..order.len() {
        for j in i + 1..order.len() {
            pairs.push([order[i], order[j]]);
            (j + 1..order.len()).for_each(|k| triples.push([order[i], order[j], order[k]]));
        }
    }
    assert!(world.query::<&A>().combinations().map(|[a, b]| [a.0, b.0]).eq(pairs.clone()));
    assert!(world.query_mut::<&A>().combinations::<3>().map(|set| set.map(|a| a.0)).eq(triples));
    assert_eq!(world.query::<&A>().combinations::<1>().count(), 7);
    assert_eq!(world.query::<&A>().combinations::<7>().count(), 1);
    assert_eq!(world.query::<&A>().combinations::<8>().count(), 0);
    assert_eq!(world.query::<&A>().combinations::<0>().count(), 1);
    assert_eq!(world.query::<(&A, &C)>().combinations::<2>().count(), 0);
    let mut seen = Vec::new();
    world.query_mut::<&mut A>().for_each_combination_mut(|[a, b]| {
        std::mem::swap(a, b);
        std::mem::swap(a, b);
        seen.push([a.0, b.0]);
    });
    assert_eq!(seen, pairs);
    let (mut a, _) = world.queries_mut::<(&mut A, &B)>();
    let mut count = 0;
    a.for_each_combination_mut::<4>(|_| count += 1);
    assert_eq!(count, 35);
}

#[test]
fn held_states_follow_the_world() {
    let (mut world, all) = world();
    let mut state = QueryState::<(&mut A, Has<Tag>), Without<C>>::new();
    assert_eq!((state.len(&world), state.is_empty(&world)), (7, false));
    world.insert(all[0], C(1)).unwrap();
    assert_eq!(state.query_mut(&mut world).len(), 6);
    assert!(matches!(state.get_mut(&mut world, all[0]), Err(ComponentError::ExcludedComponent { .. })));
    assert!(state.get_mut(&mut world, all[6]).unwrap().1);
    world.despawn(all[6]).unwrap();
    assert!(state.get_mut(&mut world, all[6]).is_err());
    assert_eq!(
        state.query_mut(&mut world).chunks().map(|(a, tag)| (a.len(), tag)).collect::<Vec<_>>(),
        [(2, false), (3, false)]
    );
    // A component that had no id when the state was made, found by `get` before the tables are looked at again.
    let mut late = QueryState::<&Spin>::new();
    assert!(late.is_empty(&world) && late.get(&world, all[0]).is_err());
    let spin = Spin { axis: 1.0, speed: 2.0 };
    world.insert(all[0], spin).unwrap();
    assert_eq!(late.get(&world, all[0]), Ok(spin));
    assert_eq!((late.len(&world), late.iter(&world).next()), (1, Some(spin)));
    // Another world, entered by `get`.
    let other = self::world();
    assert!(late.get(&other.0, all[0]).is_err() && late.is_empty(&other.0));
    assert_eq!(late.query(&world).single(), Ok(spin));
}

#[test]
fn h35_a_run_time_query_is_for_one_world() {
    let (mut world, all) = world();
    let [a, b, c] =
        [world.component_id::<A>(), world.component_id::<B>(), world.component_id::<C>()].map(Option::unwrap);
    let query = DynamicQuery::builder().write(a).optional(b).without(c).build(&world).unwrap();
    let mut other = self::world().0;
    assert_eq!(query.tables_mut(&mut other).err(), Some(DynamicError::AnotherWorld));
    assert_eq!(query.len(&other), Err(DynamicError::AnotherWorld));
    assert!(matches!(query.tables(&world).err(), Some(DynamicError::Writes { .. })));
    assert_eq!(query.len(&world), Ok(7));
    for mut table in query.tables_mut(&mut world).unwrap() {
        let values = table.take_mut::<A>().unwrap();
        assert_eq!(values.len(), table.entities().len());
        assert!(matches!(table.take_mut::<A>(), Err(DynamicError::Taken { .. })));
        assert!(matches!(table.take_lanes_mut(a), Err(DynamicError::Taken { .. })));
        assert!(matches!(table.get::<A>(), Err(DynamicError::Writes { .. })));
        assert!(matches!(table.get::<C>(), Err(DynamicError::NotNamed { .. })));
        assert!(matches!(table.get::<Spin>(), Err(DynamicError::NotNamed { .. })));
        assert_eq!(table.get::<B>().is_ok(), table.has(b));
        if let Ok(bs) = table.get::<B>() {
            values.iter_mut().zip(bs).for_each(|(a, b)| a.0 += 100 * b.0);
            assert!(matches!(table.take_mut::<B>(), Err(DynamicError::OnlyRead { .. })));
            let lane = table.lanes(b).unwrap().next().unwrap();
            assert_eq!((lane.ptr.cast(), lane.len), (std::ptr::NonNull::from(&bs[0]), bs.len()));
            assert_eq!(lane.layout, std::alloc::Layout::new::<B>());
        }
    }
    assert_eq!(world.get::<A>(all[3]), Ok(&A(111)));
    let far = ComponentId::from_index(u32::MAX);
    for bad in
        [DynamicQuery::builder().with(far), DynamicQuery::builder().without(far), DynamicQuery::builder().read(far)]
    {
        assert_eq!(bad.build(&world).err(), Some(DynamicError::NoSuchComponent { id: far }));
    }
    let tag = world.component_id::<Tag>().unwrap();
    let tagged = DynamicQuery::builder().read(tag).build(&world).unwrap();
    for table in tagged.tables(&world).unwrap() {
        assert_eq!((table.lanes(tag).unwrap().len(), table.get::<Tag>().unwrap()), (0, [Tag].as_slice()));
    }
}

#[test]
fn a_plan_says_what_is_walked() {
    let (mut world, all) = world();
    let plan = world.query_filtered_mut::<&A, With<B>>().explain();
    assert_eq!((plan.rows(), plan.tables.len()), (4, 2));
    assert_eq!(plan.tables[1].components, ["query::A", "query::B", "query::Tag"]);
    assert_eq!(plan, world.query_filtered::<&A, With<B>>().explain());
    world.despawn(all[6]).unwrap();
    let text = world.query_filtered::<&A, With<B>>().explain().to_string();
    assert!(text.contains("1 of ") && text.contains("3 rows") && !text.contains("query::Tag"), "{text}");
}

/// What all doors say about `&A` of a world.
fn everywhere(world: &mut World) -> Vec<u32> {
    let order: Vec<u32> = world.query::<&A>().iter().map(|a| a.0).collect();
    assert!(world.query_mut::<&A>().iter().map(|a| a.0).eq(order.clone()));
    assert!(world.query_mut::<&mut A>().into_iter().map(|a| a.0).eq(order.clone()));
    assert!(world.query_mut::<&A>().chunks().flatten().map(|a| a.0).eq(order.clone()));
    assert!(world.query::<&A>().chunks().flatten().map(|a| a.0).eq(order.clone()));
    assert!(world.query::<&A>().into_iter().map(|a| a.0).eq(order.clone()));
    let mut items = world.query::<&A>().iter();
    for left in (0..order.len()).rev() {
        items.next();
        assert_eq!((items.size_hint(), items.by_ref().size_hint().0), ((left, Some(left)), left));
    }
    assert!(QueryState::<&A>::new().iter(world).map(|a| a.0).eq(order.clone()));
    let mut folded = Vec::new();
    world.query_mut::<&A>().for_each(|a| folded.push(a.0));
    assert_eq!(folded, order);
    let query = DynamicQuery::builder().read(world.component_id::<A>().unwrap()).build(world).unwrap();
    assert!(query.tables(world).unwrap().flat_map(|table| table.get::<A>().unwrap()).map(|a| a.0).eq(order.clone()));
    order
}

#[test]
fn order_is_that_of_tables_and_rows() {
    let mut world = World::new();
    let first = world.spawn(A(0));
    world.spawn((A(1), B(0)));
    let third = world.spawn(A(2));
    world.spawn((A(3), B(0)));
    world.spawn(A(4));
    // Tables by creation, rows by arrival.
    assert_eq!(everywhere(&mut world), [0, 2, 4, 1, 3]);
    // The last row takes the place of one that goes.
    world.despawn(first).unwrap();
    assert_eq!(everywhere(&mut world), [4, 2, 1, 3]);
    // A row that moves comes last in its new table.
    world.insert(third, B(0)).unwrap();
    assert_eq!(everywhere(&mut world), [4, 1, 3, 2]);
    // Writing moves nothing, and neither does asking for other components.
    world.query_mut::<&mut A>().for_each(|a| a.0 += 10);
    world.query_mut::<&C>().len();
    assert_eq!(everywhere(&mut world), [14, 11, 13, 12]);
    // The same operations, the same order, whatever was in between.
    let orders = [false, true].map(|noise| {
        let mut world = World::new();
        for n in 0..50 {
            if noise {
                world.query_mut::<(&A, &C)>().len();
                World::new().spawn((C(0), B(0), A(0)));
            }
            let e = world.spawn(A(n));
            if n % 3 == 0 {
                world.insert(e, B(n)).unwrap();
            }
            if n % 7 == 0 {
                let e = world.query::<Entity>().iter().nth(n as usize / 3).unwrap();
                world.despawn(e).unwrap();
            }
        }
        everywhere(&mut world)
    });
    assert_eq!(orders[0], orders[1]);
}

#[test]
fn chunks_of_plain_numbers_are_flat() {
    #[derive(Component, phalanx::store::Flat, Clone, Copy, Debug, PartialEq)]
    #[soa(crate = "phalanx::store")]
    #[repr(C)]
    struct V3([f32; 2], f32);
    let mut world = World::new();
    world.spawn_batch((0..5).map(|n| V3([n as f32; 2], 1.0)));
    world.spawn((V3([7.0; 2], 1.0), Tag));
    let lens: Vec<_> = world
        .query_mut::<(&mut V3, Has<Tag>, Option<&V3Copy>)>()
        .chunks()
        .flat()
        .map(|(v, tag, none)| {
            v.iter_mut().for_each(|x| *x *= 2.0);
            (v.len(), tag, none.is_none())
        })
        .collect();
    assert_eq!(lens, [(15, false, true), (3, true, true)]);
    assert_eq!(world.query::<&V3>().chunks().flat().map(<[f32]>::len).collect::<Vec<_>>(), [15, 3]);
    assert_eq!(world.query::<&V3>().iter().last(), Some(&V3([14.0; 2], 2.0)));

    #[derive(Component, phalanx::store::Flat, Clone, Copy)]
    #[soa(crate = "phalanx::store")]
    #[repr(transparent)]
    struct V3Copy(f32);
}

/// Panics when it is asked for the `FUSE`th time, by whichever of its functions.
struct Fused;

thread_local! {
    static FUSE: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
}

fn burn() {
    FUSE.set(FUSE.get().wrapping_sub(1));
    assert_ne!(FUSE.get(), 0, "the fuse has burnt down");
}

impl phalanx::query::QueryFilter for Fused {
    type State = ();
    fn state(_: &phalanx::Components) {
        burn();
    }
    fn passes((): &(), _: &phalanx::Signature) -> bool {
        burn();
        true
    }
}

#[test]
fn h26_a_filter_that_panics_leaves_each_row_once() {
    let mut refused = 0;
    for fuse in 1..40 {
        let ((mut world, all), mut other) = (self::world(), World::new());
        // The same ids, for other components.
        other.spawn((C(1), Tag, B(1)));
        other.spawn(A(5));
        let mut state = QueryState::<(Entity, &mut A), Fused>::new();
        let mut left = fuse;
        for step in 0..6 {
            let run = || match step {
                // Everything is new; then another world, and back.
                0 | 2 => drop(state.iter_mut(&mut world).collect::<Vec<_>>()),
                1 => drop(state.get_mut(&mut other, all[0])),
                // A world that keeps its own state of the query.
                3 => drop(world.query_filtered_mut::<(Entity, &mut A), Fused>().into_iter().collect::<Vec<_>>()),
                // New tables only.
                4 => {
                    world.spawn((A(1), C(1)));
                    world.spawn((A(1), C(1), B(1)));
                    world.spawn((A(1), C(1), Tag));
                    drop(state.iter_mut(&mut world).collect::<Vec<_>>());
                }
                _ => drop(state.get_mut(&mut world, all[0])),
            };
            FUSE.set(left);
            let panicked = catch_unwind(AssertUnwindSafe(run)).is_err();
            left = FUSE.replace(usize::MAX);
            refused += usize::from(panicked);
            if !panicked && step < 5 {
                continue;
            }
            let expected: Vec<Entity> = world.query::<(Entity, &A)>().iter().map(|(entity, _)| entity).collect();
            assert!(state.iter_mut(&mut world).map(|(entity, _)| entity).eq(expected.clone()), "{fuse}, step {step}");
            let kept = world.query_filtered_mut::<(Entity, &mut A), Fused>();
            assert!(kept.into_iter().map(|(entity, _)| entity).eq(expected), "{fuse}, step {step}");
            break;
        }
    }
    assert!(refused > 15, "{refused}");
}

#[cfg(feature = "parallel")]
mod parallel {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn h36_each_row_goes_to_one_task() {
        for rows in [0, 1, 2, 3, 63, 64, 65, 1000] {
            let mut world = World::new();
            world.spawn_batch((0..rows).map(A));
            world.spawn_batch((0..rows / 2).map(|n| (A(rows + n), B(0))));
            world.spawn((B(0), C(0)));
            let total = rows + rows / 2;
            let mut state = QueryState::<(&mut A, Option<&B>)>::new();
            for batch in [0, 1, 3, 64, 1 << 20, usize::MAX] {
                let visits: Vec<AtomicU32> = (0..total).map(|_| AtomicU32::new(0)).collect();
                let visit = |(a, _): (&mut A, Option<&B>)| {
                    visits[a.0 as usize].fetch_add(1, Ordering::Relaxed);
                };
                world.query_mut::<(&mut A, Option<&B>)>().par_for_each_by(batch, visit);
                state.query_mut(&mut world).par_for_each_by(batch, visit);
                world.query_mut::<(&mut A, Option<&B>)>().par_for_each(visit);
                state.query_mut(&mut world).par_for_each(visit);
                assert!(visits.iter().all(|n| n.load(Ordering::Relaxed) == 4), "{rows} rows by {batch}");
            }
        }
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_caller() {
        let mut world = World::new();
        world.spawn_batch((0..500).map(A));
        let run = |world: &mut World| world.query_mut::<&mut A>().par_for_each_by(3, |a| assert_ne!(a.0, 250));
        assert!(catch_unwind(AssertUnwindSafe(|| run(&mut world))).is_err());
        world.validate().unwrap();
    }
}
