//! Change tracking: what counts as new, to whom, in every layout and through every door.
#![allow(unsafe_code)]

use phalanx::query::Filtered;
use phalanx::{
    Added, BundleBuilder, Changed, Component, ComponentError, Entity, Has, Key, Or, QueryData, QueryState, Ref, Role,
    With, Without, World,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(track = "row", clone)]
struct InTable(String);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool", track = "row", clone)]
struct InPool(String);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "linear", track = "row", clone)]
struct InLinear(String);

#[derive(Component, Clone, Debug, PartialEq)]
#[component(track = "column", clone)]
struct TableWide(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool", track = "column", clone)]
struct PoolWide(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "linear", track = "column", clone)]
struct LinearWide(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column")]
struct SoaWide {
    x: u32,
    y: u32,
}

#[derive(Component, Clone, Debug)]
#[component(clone)]
struct Other(u32);
#[derive(Component, Clone)]
#[component(clone)]
struct Another;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Who has the component, when it was added, and when it was changed, in steps of the test.
type Model = BTreeMap<Entity, Option<(u64, u64)>>;

fn new_since(model: &Model, since: u64, added: bool) -> BTreeSet<Entity> {
    let mark = |marks: (u64, u64)| if added { marks.0 } else { marks.1 };
    model.iter().filter(|(_, marks)| marks.is_some_and(|m| mark(m) > since)).map(|(e, _)| *e).collect()
}

fn wrote(model: &mut Model, e: Entity, step: u64) {
    let marks = model.get_mut(&e).unwrap();
    *marks = Some(marks.map_or((step, step), |(added, _)| (added, step)));
}

macro_rules! model_test {
    ($($test:ident $c:ident)*) => {$(
        #[test]
        fn $test() {
            let rounds = if cfg!(miri) { (2, 60) } else { (40, 300) };
            for seed in 1..=rounds.0 {
                let (mut dice, mut world, mut model) = (Dice(seed * 7919), World::new(), Model::new());
                // Near the end of the numbers: it makes no difference.
                if seed % 2 == 0 {
                    phalanx::testing::set_change_tick(&mut world, u32::MAX - 20);
                }
                let mut first = QueryState::<Entity, Changed<$c>>::new();
                let mut second = QueryState::<(Entity, &mut $c), Added<$c>>::new();
                let mut writer = QueryState::<&mut $c, (Changed<$c>, With<Other>)>::new();
                let mut flags = QueryState::<(Entity, Ref<$c>)>::new();
                let (mut looked, mut settled) = ([0; 4], 0);
                for step in 1..=rounds.1 as u64 {
                    let all: Vec<Entity> = model.keys().copied().collect();
                    let e = all.get(dice.roll(all.len().max(1))).copied();
                    let value = || $c(step.to_string());
                    match (dice.roll(33), e) {
                        (0, _) => {
                            model.insert(world.spawn(value()), Some((step, step)));
                        }
                        (1, _) => {
                            model.insert(world.spawn((value(), Other(1))), Some((step, step)));
                        }
                        (2, _) => {
                            model.insert(world.spawn(Other(1)), None);
                        }
                        (3, _) => {
                            let made = world.spawn_columns(vec![value(), value(), value()]).unwrap().to_vec();
                            model.extend(made.into_iter().map(|e| (e, Some((step, step)))));
                        }
                        (4 | 5, Some(e)) => {
                            world.insert(e, value()).unwrap();
                            wrote(&mut model, e, step);
                        }
                        (6, Some(e)) => {
                            world.insert(e, (Other(2), value())).unwrap();
                            wrote(&mut model, e, step);
                        }
                        (7, Some(e)) => {
                            world.remove::<$c>(e).unwrap();
                            model.insert(e, None);
                        }
                        (8, Some(e)) => assert!(world.remove::<Other>(e).is_ok()),
                        (9, Some(e)) => world.insert(e, Other(3)).unwrap(),
                        (10 | 11, Some(e)) => {
                            if let Ok(mut item) = world.get_mut::<$c>(e) {
                                item.0.push('x');
                                wrote(&mut model, e, step);
                            }
                        }
                        (12, Some(e)) => {
                            if let Ok(mut item) = world.get_mut::<$c>(e) {
                                assert!(!item.0.is_empty());
                                item.bypass_change_detection().0.push('y');
                            }
                        }
                        (13, Some(e)) => {
                            if world.replace(e, value()).is_ok() {
                                wrote(&mut model, e, step);
                            }
                        }
                        (14, Some(e)) => {
                            world.exchange::<(Other, $c), _>(e, value()).unwrap();
                            wrote(&mut model, e, step);
                        }
                        (15, Some(e)) => {
                            world.despawn(e).unwrap();
                            model.remove(&e);
                        }
                        (16, _) => {
                            for e in all.iter().filter(|e| world.has::<Other>(**e)) {
                                wrote(&mut model, *e, step);
                            }
                            world.insert_where::<With<Other>, _>(value());
                        }
                        (17, _) => {
                            let mut odd = false;
                            for (e, mut item) in world.query_mut::<(Entity, &mut $c)>() {
                                odd = !odd;
                                if odd {
                                    item.0.push('z');
                                    wrote(&mut model, e, step);
                                }
                            }
                        }
                        (18, Some(e)) => {
                            let mut commands = phalanx::CommandBuffer::new();
                            commands.insert(e, value());
                            commands.insert(e, (value(), Another));
                            commands.try_apply(&mut world).unwrap();
                            wrote(&mut model, e, step);
                        }
                        (19, Some(e)) => {
                            let marks = model[&e].map(|_| (step, step));
                            model.insert(world.entity_mut(e).unwrap().clone_entity().unwrap(), marks);
                        }
                        (20, Some(e)) => {
                            if world.take::<$c>(e).is_ok() {
                                model.insert(e, None);
                            }
                        }
                        (21, Some(e)) => {
                            let mut bundle = BundleBuilder::new();
                            bundle.add(Other(1)).add(value());
                            bundle.insert(&mut world, e).unwrap();
                            wrote(&mut model, e, step);
                        }
                        (22, _) => while world.compact(usize::MAX) > 0 {},
                        (23, _) => {
                            world.clear_trackers();
                            settled = step;
                        }
                        (24 | 25, _) => {
                            let expected = new_since(&model, looked[0], false);
                            assert_eq!(first.len(&world), expected.len(), "seed {seed} step {step}");
                            for e in &all {
                                assert_eq!(first.get(&world, *e).is_ok(), expected.contains(e), "seed {seed} step {step}");
                            }
                            let found: Vec<Entity> = first.iter(&world).collect();
                            assert_eq!(found.len(), expected.len());
                            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "seed {seed} step {step}");
                            looked[0] = step;
                        }
                        (26 | 27, _) => {
                            let expected = new_since(&model, looked[1], true);
                            let changed = new_since(&model, looked[1], false);
                            let mut found = BTreeSet::new();
                            for (e, mut item) in second.iter_mut(&mut world) {
                                assert!(item.is_added() && item.is_changed() == changed.contains(&e));
                                if dice.roll(2) == 0 {
                                    item.set_changed();
                                    wrote(&mut model, e, step);
                                }
                                assert!(found.insert(e));
                            }
                            assert_eq!(found, expected, "seed {seed} step {step}");
                            looked[1] = step;
                        }
                        (29, Some(e)) => {
                            if let Ok(mut item) = world.get_mut::<$c>(e) {
                                let same = $c(item.0.clone());
                                assert!(!item.set_if_neq(same));
                                if dice.roll(2) == 0 {
                                    let was = item.0.clone();
                                    assert_eq!(item.replace_if_neq($c(was.clone() + "!")), Some($c(was)));
                                    wrote(&mut model, e, step);
                                }
                            }
                        }
                        (30, Some(e)) => {
                            if let Ok(item) = world.get_mut::<$c>(e) {
                                let mut text = item.map_unchanged(|item| &mut item.0);
                                assert!(!text.is_empty());
                                if dice.roll(2) == 0 {
                                    text.push('m');
                                    wrote(&mut model, e, step);
                                }
                            }
                        }
                        (31, _) => {
                            let (added, changed) =
                                (new_since(&model, looked[3], true), new_since(&model, looked[3], false));
                            let mut found = 0;
                            for (e, item) in flags.iter(&world) {
                                assert_eq!(item.is_added(), added.contains(&e), "seed {seed} step {step}");
                                assert_eq!(item.is_changed(), changed.contains(&e), "seed {seed} step {step}");
                                let since_settled = world.get_ref::<$c>(e).unwrap();
                                assert_eq!(since_settled.is_changed(), model[&e].unwrap().1 > settled);
                                assert_eq!(since_settled.last_changed(), item.last_changed());
                                assert_eq!((since_settled.added(), &*since_settled), (item.added(), &*item));
                                found += 1;
                            }
                            assert_eq!(found, model.values().flatten().count());
                            looked[3] = step;
                        }
                        (28, _) => {
                            let mut expected = new_since(&model, looked[2], false);
                            expected.retain(|e| world.has::<Other>(*e));
                            assert_eq!(writer.len(&world), expected.len());
                            writer.query_mut(&mut world).for_each(|mut item| item.0.push('w'));
                            expected.into_iter().for_each(|e| wrote(&mut model, e, step));
                            looked[2] = step;
                        }
                        _ => {
                            let both = |added| -> BTreeSet<Entity> {
                                match added {
                                    true => world.query_filtered::<Entity, (With<$c>, Added<$c>)>().iter().collect(),
                                    false => world.query_filtered::<Entity, (With<$c>, Changed<$c>)>().iter().collect(),
                                }
                            };
                            assert_eq!(both(true), new_since(&model, settled, true), "seed {seed} step {step}");
                            assert_eq!(both(false), new_since(&model, settled, false), "seed {seed} step {step}");
                        }
                    }
                    world.validate().unwrap();
                }
            }
        }
    )*};
}
model_test! {
    marks_of_rows_in_tables_are_those_of_a_model InTable
    marks_of_rows_in_pools_are_those_of_a_model InPool
    marks_of_rows_in_linear_stores_are_those_of_a_model InLinear
}

macro_rules! column_test {
    ($($test:ident $c:ty, $make:expr, |$item:ident| $write:expr;)*) => {$(
        #[test]
        #[allow(unused_mut)]
        fn $test() {
            let mut world = World::new();
            let mut state = QueryState::<Entity, Changed<$c>>::new();
            let mut flags = QueryState::<Ref<$c>>::new();
            assert!(state.is_empty(&world));
            let [a, b] = [world.spawn($make), world.spawn($make)];
            let mut sees = |world: &mut World, count: usize, why: &str| {
                assert_eq!(flags.iter(world).filter(|item| item.is_changed()).count(), count, "{why}");
                assert!(!flags.iter(world).any(|item| item.is_changed()), "twice: {why}");
                assert_eq!(flags.iter(world).count(), world.query::<&$c>().len(), "{why}");
                assert_eq!(state.len(world), count, "{why}");
                assert_eq!(state.get(world, b).is_ok(), count > 0, "{why}");
                assert_eq!(state.iter(world).count(), count, "{why}");
                assert_eq!(state.iter(world).count(), 0, "twice: {why}");
                assert!(matches!(state.get(world, b), Err(ComponentError::UnchangedComponent { .. })), "{why}");
            };
            sees(&mut world, 2, "spawned");
            let _ = world.get::<$c>(a).unwrap();
            let _ = world.query::<&$c>().iter().count();
            let _ = world.query_mut::<&$c>().into_iter().count();
            sees(&mut world, 0, "only read");
            { let mut $item = world.get_mut::<$c>(a).unwrap(); $write; }
            sees(&mut world, 2, "written");
            world.query_mut::<&mut $c>().for_each(|mut $item| $write);
            sees(&mut world, 2, "a query that writes");
            let _ = world.query_mut::<Option<&mut $c>>().into_iter().count();
            sees(&mut world, 2, "an optional term that writes");
            world.query_mut::<&mut $c>().get_mut(a).unwrap();
            sees(&mut world, 2, "an item for writing");
            world.insert(a, $make).unwrap();
            sees(&mut world, 2, "replaced");
            world.replace(a, $make).unwrap();
            sees(&mut world, 2, "replaced in place");
            world.component_mut::<$c>().get_mut(a).unwrap();
            sees(&mut world, 2, "a view that writes");
            let c = world.spawn($make);
            sees(&mut world, 3, "one more");
            world.despawn(c).unwrap();
            sees(&mut world, 2, "one less");
            let c = world.entity_mut(a).unwrap().clone_entity().unwrap();
            sees(&mut world, 3, "a clone");
            world.remove::<$c>(c).unwrap();
            sees(&mut world, 2, "taken away");
            let copy = world.try_clone().unwrap();
            assert_eq!((copy.change_tick(), copy.query_filtered::<&$c, Changed<$c>>().len()), (world.change_tick(), 2));
            let mut own = QueryState::<&mut $c, Changed<$c>>::new();
            assert_eq!(own.iter_mut(&mut world).count(), 2);
            assert_eq!(own.iter_mut(&mut world).count(), 0, "its own writes are no news");
            sees(&mut world, 2, "and are to others");
            world.clear();
            sees_nothing(&mut world);
        }
    )*};
}
fn sees_nothing(world: &mut World) {
    assert!(world.is_empty());
    world.validate().unwrap();
}
column_test! {
    a_column_of_a_table_is_marked_by_whatever_may_change_it TableWide, TableWide(1), |item| item.0 += 1;
    a_pool_is_marked_by_whatever_may_change_it PoolWide, PoolWide(1), |item| item.0 += 1;
    a_linear_store_is_marked_by_whatever_may_change_it LinearWide, LinearWide(1), |item| item.0 += 1;
    a_column_of_a_soa_is_marked_by_whatever_may_change_it SoaWide, SoaWide { x: 1, y: 2 }, |item| *item.x += 1;
}

#[test]
fn tables_whose_column_did_not_change_are_passed_over_as_wholes() {
    let mut world = World::new();
    world.spawn_batch((0..10).map(TableWide));
    let e = world.spawn((TableWide(1), Other(1)));
    let mut state = QueryState::<&TableWide, Changed<TableWide>>::new();
    assert_eq!(state.query(&world).chunks().map(<[_]>::len).collect::<Vec<_>>(), [10, 1]);
    world.get_mut::<TableWide>(e).unwrap().0 += 1;
    assert_eq!(state.query(&world).chunks().map(<[_]>::len).collect::<Vec<_>>(), [1]);
    // What writes marks the tables that it visits, and no others.
    let mut writes = QueryState::<&mut TableWide, With<Other>>::new();
    assert_eq!(writes.iter_mut(&mut world).count(), 1);
    assert_eq!(state.query(&world).chunks().count(), 1);
    // An entity that moves comes here and goes there.
    world.remove::<Other>(e).unwrap();
    world.spawn((TableWide(1), Other(1)));
    assert_eq!(state.iter(&world).count(), 12);
    world.clear_trackers();
    assert_eq!(world.query_filtered::<&TableWide, Changed<TableWide>>().chunks().count(), 0);
    assert_eq!(world.query_filtered_mut::<&mut TableWide, Changed<TableWide>>().len(), 0);
    assert!(state.is_empty(&world), "a query that found nothing has marked nothing");
}

#[derive(QueryData)]
struct Fresh<'a> {
    who: Entity,
    value: Filtered<&'a mut InTable, Changed<InTable>>,
}

#[test]
fn filters_work_in_every_combination() {
    let mut world = World::new();
    let text = String::from("a");
    let a = world.spawn((InTable(text.clone()), InPool(text.clone()), Other(1)));
    let b = world.spawn((InTable(text.clone()), InLinear(text.clone())));
    let c = world.spawn((InPool(text.clone()), TableWide(1), Another));
    world.clear_trackers();
    world.get_mut::<InTable>(b).unwrap().0.push('!');
    world.get_mut::<InPool>(a).unwrap().0.push('!');
    let who = |found: Vec<Entity>| found.into_iter().collect::<BTreeSet<_>>();

    type Any = Or<(Changed<InTable>, Changed<InPool>, Changed<TableWide>)>;
    assert_eq!(who(world.query_filtered::<Entity, Any>().iter().collect()), who(vec![a, b]));
    world.get_mut::<TableWide>(c).unwrap().0 += 1;
    assert_eq!(who(world.query_filtered::<Entity, Any>().iter().collect()), who(vec![a, b, c]));
    assert_eq!(who(world.query_filtered::<Entity, (Any, Without<Other>)>().iter().collect()), who(vec![b, c]));
    assert_eq!(world.query_filtered::<Entity, (Changed<InTable>, Changed<InPool>)>().len(), 0);
    type Wide = Or<(Changed<TableWide>, With<Other>)>;
    assert_eq!(who(world.query_filtered::<Entity, Wide>().iter().collect()), who(vec![a, c]));

    let optional = world.query::<(Entity, Option<Filtered<&InTable, Changed<InTable>>>)>();
    assert_eq!(optional.iter().filter_map(|(e, item)| item.map(|_| e)).collect::<Vec<_>>(), [b]);
    let optional = world.query::<(Entity, Option<Filtered<&TableWide, Changed<TableWide>>>)>();
    assert_eq!(optional.iter().filter_map(|(e, item)| item.map(|_| e)).collect::<Vec<_>>(), [c]);
    let either = world.query::<(Entity, Or<(Filtered<&InTable, Changed<InTable>>, &Another)>)>();
    assert_eq!(who(either.iter().map(|(e, _)| e).collect()), who(vec![b, c]));

    let (tables, pools) = world.queries_mut::<(Filtered<(Entity, &mut InTable), Changed<InTable>>, &mut InPool)>();
    assert_eq!((tables.len(), pools.len()), (1, 2));
    for FreshItem { who, mut value } in world.query_mut::<Fresh>() {
        assert!(who == b && value.is_changed());
        value.0.clear();
    }
    assert!(world.query_mut::<Fresh>().get_mut(b).is_ok());
    let error = world.query_mut::<Fresh>().get_mut(a).map(drop).unwrap_err();
    assert!(matches!(error, ComponentError::UnchangedComponent { entity, .. } if entity == a));
    assert!(error.to_string().contains("InTable"));
    assert!(matches!(world.query_mut::<Fresh>().get_mut(c).map(drop), Err(ComponentError::MissingComponent { .. })));
    assert!(world.query_filtered_mut::<&InTable, Changed<InTable>>().contains(b));
    assert!(!world.query_filtered_mut::<&InTable, Changed<InTable>>().contains(a));
    assert_eq!(world.query_filtered_mut::<(Entity, Has<Other>), Changed<InPool>>().single(), Ok((a, true)));
    let mut pairs = 0;
    world.query_filtered_mut::<&mut InTable, Any>().for_each_combination_mut(|[mut one, two]| {
        one.0.push_str(&two.0);
        pairs += 1;
    });
    assert_eq!(pairs, 1);
    assert_eq!(world.insert_where::<Added<InTable>, _>(Another), 0);
    assert_eq!(world.insert_where::<Changed<InTable>, _>(Another), 2);
    assert_eq!(world.remove_where::<Changed<TableWide>, Another>(), 1);
}

#[test]
fn a_filter_does_not_look_at_marks_that_another_query_writes() {
    let mut world = World::new();
    world.spawn((InTable(String::new()), Other(1)));
    let aliasing = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.queries_mut::<(&mut InTable, Filtered<&Other, Changed<InTable>>)>();
    }));
    assert!(aliasing.unwrap_err().downcast_ref::<String>().unwrap().contains("InTable"));
    assert!(QueryState::<(&mut InTable, Filtered<&Other, Changed<InTable>>)>::try_new().is_err());
    assert!(QueryState::<Filtered<&mut InTable, Changed<InTable>>>::try_new().is_ok());
}

#[test]
fn extra_rows_have_marks_of_their_own() {
    let mut world = World::new();
    let e = world.spawn((InTable("main".into()), InPool("main".into())));
    let component = world.register_component::<InTable>();
    let key = Key::main(e).with_component(component).with_role(Role(1));
    world.add_row(key, (InTable("extra".into()), InPool("extra".into()))).unwrap();
    let mut tables = QueryState::<(Key, &InTable), Changed<InTable>>::new();
    let mut pools = QueryState::<Key, Changed<InPool>>::new();
    assert_eq!((tables.iter(&world).count(), pools.iter(&world).count()), (2, 2));
    let row = world.row(key).unwrap().id();
    world.row_mut(row).unwrap().get_mut::<InTable>().unwrap().0.push('!');
    world.row_mut(row).unwrap().get_mut::<InPool>().unwrap().0.push('!');
    assert!(tables.iter(&world).map(|(key, _)| key).eq([key]));
    assert!(pools.iter(&world).eq([key]));
    world.clear_trackers();
    let unchanged = world.query_filtered::<&InPool, Changed<InPool>>().get_row(key).unwrap_err();
    assert!(matches!(unchanged, phalanx::RowError::UnchangedComponent { .. }), "{unchanged}");
}

#[test]
fn what_comes_from_another_world_is_new() {
    let (mut here, mut there) = (World::new(), World::new());
    phalanx::testing::set_change_tick(&mut there, 1000);
    let mut state = QueryState::<Entity, Or<(Added<InTable>, Added<InPool>, Changed<PoolWide>)>>::new();
    assert!(state.is_empty(&there));
    for _ in 0..5 {
        assert_eq!(state.iter(&there).count(), 0);
    }
    let text = String::new();
    let [a, b, c] = [here.spawn(InTable(text.clone())), here.spawn(InPool(text.clone())), here.spawn(PoolWide(1))];
    let moved = here.entity_mut(a).unwrap().transfer(&mut there).unwrap();
    assert!(state.iter(&there).eq([moved]));
    here.entity_mut(b).unwrap().transfer(&mut there).unwrap();
    assert_eq!(state.iter(&there).count(), 1);
    here.spawn(InTable(text));
    here.transfer_all(&mut there).unwrap();
    assert!(!here.contains(c));
    assert_eq!(state.iter(&there).count(), 2);
    there.validate().unwrap();
}

#[test]
fn a_copy_of_a_world_has_the_marks_and_a_time_of_its_own() {
    let mut world = World::new();
    let [a, b] = [world.spawn(InTable("a".into())), world.spawn((InTable("b".into()), InPool("b".into())))];
    world.clear_trackers();
    world.get_mut::<InTable>(b).unwrap().0.push('!');
    let mut copy = world.try_clone().unwrap();
    assert_eq!(copy.change_tick(), world.change_tick());
    assert!(copy.query_filtered::<Entity, Changed<InTable>>().iter().eq([b]));
    assert_eq!(copy.query_filtered::<Entity, Added<InTable>>().len(), 0);
    assert_eq!(copy.query_filtered::<Entity, Changed<InPool>>().len(), 0);
    // A state that has seen one world has not seen the other.
    let mut state = QueryState::<Entity, Changed<InTable>>::new();
    assert_eq!(state.iter(&world).count(), 2);
    assert_eq!(state.iter(&copy).count(), 2);
    copy.get_mut::<InTable>(a).unwrap().0.push('!');
    assert!(state.iter(&copy).eq([a]));
    // Compaction changes nothing about what was seen.
    assert!(copy.compact(usize::MAX) > 0 || copy.len() == 2);
    assert_eq!(state.iter(&copy).count(), 0);
}

#[test]
fn the_number_of_a_tick_wraps_without_being_noticed() {
    let mut world = World::new();
    phalanx::testing::set_change_tick(&mut world, u32::MAX - 3);
    let e = world.spawn(InTable(String::new()));
    let mut state = QueryState::<Entity, Changed<InTable>>::new();
    let mut other = QueryState::<Entity, Changed<InTable>>::new();
    for round in 0..8 {
        assert!(state.iter(&world).eq([e]), "round {round}");
        assert!(state.is_empty(&world), "round {round}");
        world.get_mut::<InTable>(e).unwrap().0.push('!');
        assert_eq!(other.iter(&world).count(), 1, "round {round}");
    }
    assert!(world.change_tick().number() < 100);
    // More than half of the numbers later.
    assert!(state.iter(&world).eq([e]));
    let later = world.change_tick().number().wrapping_add(3 << 30);
    phalanx::testing::set_change_tick(&mut world, later);
    assert!(state.is_empty(&world));
    world.get_mut::<InTable>(e).unwrap().0.push('!');
    assert!(state.iter(&world).eq([e]));
}

#[test]
fn slices_mark_what_is_written() {
    let mut world = World::new();
    world.spawn_batch((0..4).map(|n| InTable(n.to_string())));
    let mut state = QueryState::<&InTable, Changed<InTable>>::new();
    assert_eq!(state.iter(&world).count(), 4);
    let mut writes = QueryState::<&mut InTable>::new();
    for mut chunk in writes.query_mut(&mut world).chunks() {
        assert_eq!((chunk.len(), chunk[1].0.as_str()), (4, "1"));
        chunk.bypass_change_detection()[0].0.push('!');
        chunk.get_mut(1).unwrap().0.push('!');
        chunk.iter_mut().skip(3).for_each(|mut value| value.0.push('!'));
    }
    assert!(state.iter(&world).map(|value| value.0.as_str()).eq(["1!", "3!"]));
    for mut chunk in writes.query_mut(&mut world).chunks() {
        chunk.all()[0].0.push('!');
    }
    assert_eq!(state.iter(&world).count(), 4);
}

#[test]
fn values_by_id_are_marked_too() {
    let mut world = World::new();
    let [a, b] = [world.spawn((InTable("a".into()), TableWide(1))), world.spawn((InTable("b".into()), TableWide(2)))];
    world.clear_trackers();
    let (text, wide) = (world.component_id::<InTable>().unwrap(), world.component_id::<TableWide>().unwrap());
    assert_eq!(world.components().info(text).track(), phalanx::layout::Track::Row);
    let found = world.entity(a).unwrap().get_by_id(text).unwrap();
    // SAFETY: the value is there while the world is not changed.
    assert_eq!(unsafe { &found.cast::<InTable>().as_ref().0 }, "a");
    assert_eq!(world.query_filtered::<Entity, Or<(Changed<InTable>, Changed<TableWide>)>>().len(), 0);
    world.entity_mut(b).unwrap().get_mut_by_id(text).unwrap();
    assert!(world.query_filtered::<Entity, Changed<InTable>>().iter().eq([b]));
    world.entity_mut(b).unwrap().get_mut_by_id(wide).unwrap();
    assert_eq!(world.query_filtered::<Entity, Changed<TableWide>>().len(), 2);
    let mut value = core::mem::ManuallyDrop::new(InTable("c".into()));
    // SAFETY: a value of the component, which is given up.
    unsafe {
        world
            .entity_mut(a)
            .map(|mut entity| _ = entity.insert_by_id(text, core::ptr::NonNull::from(&mut *value).cast()))
    }
    .unwrap();
    assert_eq!(world.query_filtered::<Entity, Changed<InTable>>().len(), 2);
    assert_eq!(world.query_filtered::<Entity, Added<InTable>>().len(), 0);
}

#[derive(Component, Clone)]
#[component(track = "row", clone)]
struct Tag;
#[derive(Component, Clone)]
#[component(track = "column", layout = "pool", clone)]
#[repr(align(64))]
struct WideTag;

#[test]
fn components_without_data_are_tracked_too() {
    let mut world = World::new();
    let [a, b] = [world.spawn((Tag, WideTag)), world.spawn(Other(1))];
    let mut tags = QueryState::<Entity, Added<Tag>>::new();
    let mut wide = QueryState::<Entity, Changed<WideTag>>::new();
    assert!(tags.iter(&world).eq([a]) && wide.iter(&world).eq([a]));
    world.insert(b, (Tag, WideTag)).unwrap();
    assert!(tags.iter(&world).eq([b]));
    assert_eq!(wide.iter(&world).count(), 2);
    world.insert(b, Tag).unwrap();
    assert!(tags.is_empty(&world) && wide.is_empty(&world));
    let c = world.entity_mut(b).unwrap().clone_entity().unwrap();
    assert!(tags.iter(&world).eq([c]));
    world.validate().unwrap();
}

#[test]
fn what_is_not_tracked_takes_no_memory() {
    #[derive(Component)]
    struct Plain(#[allow(dead_code)] u64);
    #[derive(Component)]
    #[component(track = "column")]
    struct Column(#[allow(dead_code)] u64);
    #[derive(Component)]
    #[component(track = "row")]
    struct Row(#[allow(dead_code)] u64);
    fn bytes_of_a_row<C: Component>(make: impl Fn(u64) -> C) -> usize {
        let mut world = World::new();
        world.spawn_batch((0..64).map(make));
        let id = world.component_id::<C>().unwrap();
        world.components().info(id).lanes().iter().map(|lane| lane.size()).sum()
    }
    assert_eq!(bytes_of_a_row(Plain), 8);
    assert_eq!(bytes_of_a_row(Column), 8);
    assert_eq!(bytes_of_a_row(Row), 16);
    let mut world = World::new();
    world.spawn(Plain(1));
    let id = world.component_id::<Plain>().unwrap();
    assert_eq!(world.components().info(id).lanes().len(), 1);
}

#[test]
fn queries_over_what_is_not_tracked_take_no_ticks() {
    let mut world = World::new();
    world.spawn((Other(1), InTable(String::new())));
    let before = world.change_tick();
    let mut state = QueryState::<(&mut Other, &InTable)>::new();
    state.iter_mut(&mut world).for_each(|(other, _)| other.0 += 1);
    assert_eq!(world.change_tick(), before);
}

#[cfg(feature = "parallel")]
#[test]
fn items_on_several_threads_are_marked() {
    let mut world = World::new();
    world.spawn_batch((0..1000).map(|n| InTable(n.to_string())));
    let mut state = QueryState::<&mut InTable, Changed<InTable>>::new();
    let mut other = QueryState::<&InTable, Changed<InTable>>::new();
    assert_eq!(other.iter(&world).count(), 1000);
    state.query_mut(&mut world).par_for_each(|mut value| {
        if value.0.ends_with('7') {
            value.0.push('!');
        }
    });
    assert_eq!((other.iter(&world).count(), state.len(&world)), (100, 0));
}

#[test]
fn a_tracked_component_without_data_takes_memory_for_its_bits_only() {
    #[derive(Component)]
    #[component(layout = "linear", track = "column")]
    struct Known;
    let mut world = World::new();
    world.spawn(Known);
    world.spawn(Known);
    assert!(world.memory().total() < 100_000, "{} bytes", world.memory().total());
    world.validate().unwrap();
}
