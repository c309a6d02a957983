//! The layout report: exact counts of a scripted history, bytes, and advice where it is clear.

use phalanx::group::Owned;
use phalanx::query::DynamicQuery;
use phalanx::report::{ComponentReport, LayoutReport, Placement};
use phalanx::store::Soa;
use phalanx::{CommandBuffer, Component, Entity, Key, QueryState, Role, World};

#[derive(Component, Clone, Copy)]
#[component(clone)]
struct Place(u64);
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa", clone)]
struct Fields {
    a: u32,
    b: u16,
}
#[derive(Component, Clone)]
#[component(layout = "pool", clone)]
struct Hot(u64);
#[derive(Component, Clone)]
#[component(layout = "pool")]
struct Cold(u16);
#[derive(Component, Clone)]
#[component(layout = "linear", clone)]
struct Level(u32);
/// In a table, without data.
#[derive(Component, Clone, Copy)]
struct Mark;

type All = (Place, Fields, Hot, Level);

fn all(n: u64) -> All {
    (Place(n), Fields { a: n as u32, b: 1 }, Hot(n), Level(n as u32))
}

fn of<'r, C: Component>(report: &'r LayoutReport, world: &World) -> &'r ComponentReport {
    report.of::<C>(world).expect("a component of the report")
}

/// Adds, removes, and those of the removes that entities have survived.
fn flow<C: Component>(report: &LayoutReport, world: &World) -> (u64, u64, u64) {
    let component = of::<C>(report, world);
    (component.adds, component.removes, component.taken)
}

/// Rows visited, and those of them together with other components.
fn visits<C: Component>(report: &LayoutReport, world: &World) -> (u64, u64) {
    let component = of::<C>(report, world);
    (component.visited, component.together)
}

fn counting() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..10).map(all));
    world.set_access_counting(true);
    (world, entities)
}

#[test]
fn what_comes_and_goes_is_counted_in_every_layout() {
    let (mut world, e) = counting();
    let check = |world: &mut World, step: &str, expected: (u64, u64, u64)| {
        let report = world.layout_report();
        let flows = [
            flow::<Place>(&report, world),
            flow::<Fields>(&report, world),
            flow::<Hot>(&report, world),
            flow::<Level>(&report, world),
        ];
        assert_eq!(flows, [expected; 4], "{step}");
        assert_eq!(world.validate(), Ok(()), "{step}");
    };
    check(&mut world, "nothing", (0, 0, 0));
    world.spawn(all(10));
    world.spawn_batch((0..4).map(all));
    check(&mut world, "spawning", (5, 0, 0));
    world.remove::<All>(e[0]).unwrap();
    world.remove::<All>(e[0]).unwrap();
    let taken: All = world.take(e[1]).unwrap();
    check(&mut world, "taking", (0, 2, 2));
    world.insert(e[1], taken).unwrap();
    world.insert(e[1], all(7)).unwrap();
    check(&mut world, "inserting, and replacing, which is neither", (1, 0, 0));
    world.despawn(e[2]).unwrap();
    assert_eq!(world.despawn_batch([e[3], e[3], e[4]]), 2);
    check(&mut world, "despawning", (0, 3, 0));
    let mut commands = CommandBuffer::new();
    let made = commands.spawn_with(&world, all(1));
    commands.despawn(e[5]);
    commands.remove::<All>(e[6]);
    commands.insert(e[0], all(0));
    commands.try_apply(&mut world).unwrap();
    check(&mut world, "commands", (2, 2, 1));
    world.exchange::<All, Mark>(made, Mark).unwrap();
    check(&mut world, "exchanging", (0, 1, 1));
    let key = Key::main(e[7]).with_role(Role(1));
    world.add_row(key, all(3)).unwrap();
    check(&mut world, "an extra row", (1, 0, 0));
    world.despawn(e[7]).unwrap();
    check(&mut world, "an entity with an extra row", (0, 2, 0));
    let mut other = World::new();
    other.set_access_counting(true);
    world.entity_mut(e[8]).unwrap().transfer(&mut other).unwrap();
    check(&mut world, "one that leaves", (0, 1, 0));
    check(&mut other, "one that arrives", (1, 0, 0));
    other.transfer_all(&mut world).unwrap();
    check(&mut other, "all that leave", (0, 1, 0));
    check(&mut world, "all that arrive", (1, 0, 0));
    let left = world.query::<&Place>().len() as u64;
    world.clear();
    check(&mut world, "clearing", (0, left, 0));
}

#[test]
fn batches_are_counted_as_their_rows_are() {
    let (mut world, _) = counting();
    world.insert_where::<phalanx::Without<Mark>, _>(Mark);
    assert_eq!(flow::<Mark>(&world.layout_report(), &world), (10, 0, 0));
    world.remove_where::<(), All>();
    let report = world.layout_report();
    assert_eq!([flow::<Place>(&report, &world), flow::<Hot>(&report, &world)], [(0, 10, 10); 2]);
    assert_eq!([flow::<Fields>(&report, &world), flow::<Level>(&report, &world)], [(0, 10, 10); 2]);
}

#[test]
fn rows_are_counted_where_a_walk_begins() {
    let (mut world, e) = counting();
    world.insert(e[0], Cold(0)).unwrap();
    world.insert(e[1], Cold(1)).unwrap();
    world.layout_report();
    world.query_mut::<&mut Place>().for_each(|place| place.0 += 1);
    world.query::<(&Place, &Fields)>().for_each(drop);
    assert_eq!(world.query::<&Place>().chunks().count(), 1);
    let mut held = QueryState::<&Place>::new();
    assert_eq!(held.iter(&world).count(), 10);
    let mut report = world.layout_report();
    assert_eq!(visits::<Place>(&report, &world), (40, 10));
    assert_eq!(visits::<Fields>(&report, &world), (10, 10));
    // Asking for lengths, or for one, visits nothing.
    assert_eq!((world.query_mut::<&Hot>().len(), world.query::<&Place>().len()), (10, 10));
    assert!(!world.query::<&Place>().is_empty());
    assert_eq!(world.query_mut::<&Level>().explain().rows(), 10);
    report = world.layout_report();
    assert_eq!([visits::<Hot>(&report, &world), visits::<Place>(&report, &world)], [(0, 0); 2]);
    // The shortest store is followed.
    world.query_mut::<(&mut Place, &Cold)>().for_each(|(place, cold)| place.0 += u64::from(cold.0));
    world.query_mut::<&mut Level>().for_each(|level| level.0 += 1);
    world.query::<&Hot>().iter().for_each(drop);
    world.pool_mut::<Hot>().values()[0].0 = 5;
    report = world.layout_report();
    assert_eq!([visits::<Place>(&report, &world), visits::<Cold>(&report, &world)], [(2, 2); 2]);
    assert_eq!([visits::<Level>(&report, &world), visits::<Hot>(&report, &world)], [(10, 0), (20, 0)]);
    // The members of a group lie side by side, as if each component were alone.
    let group = world.create_group::<Owned<(Hot, Cold)>>().unwrap();
    group.for_each(&mut world, |(hot, cold)| hot.0 += u64::from(cold.0));
    assert_eq!(group.iter(&world).count(), 2);
    report = world.layout_report();
    assert_eq!([visits::<Hot>(&report, &world), visits::<Cold>(&report, &world)], [(4, 0); 2]);
    // Queries by id.
    let (place, cold) = (world.component_id::<Place>().unwrap(), world.component_id::<Cold>().unwrap());
    let both = DynamicQuery::builder().read(place).read(cold).build(&world).unwrap();
    assert_eq!(both.rows(&world).unwrap().count(), 2);
    assert_eq!(DynamicQuery::builder().write(place).build(&world).unwrap().tables_mut(&mut world).unwrap().count(), 1);
    assert_eq!(visits::<Place>(&world.layout_report(), &world), (12, 2));
}

#[test]
fn look_ups_are_counted_with_the_feature_alone() {
    let (mut world, e) = counting();
    for entity in &e {
        assert!(world.get::<Place>(*entity).is_ok() && world.get_mut::<Hot>(*entity).is_ok());
    }
    let levels = world.component::<Level>();
    assert_eq!(e.iter().filter(|entity| levels.get(**entity).is_ok()).count(), 10);
    assert!(world.query_mut::<(&Place, &Level)>().get(e[0]).is_ok());
    assert!(world.get::<Cold>(e[0]).is_err());
    let report = world.layout_report();
    let counted = |count| cfg!(feature = "counters").then_some(count);
    assert_eq!(of::<Place>(&report, &world).by_entity, counted(11));
    assert_eq!(of::<Hot>(&report, &world).by_entity, counted(10));
    assert_eq!(of::<Level>(&report, &world).by_entity, counted(11));
    assert!(report.of::<Cold>(&world).is_none(), "nobody ever had it");
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let mut world = World::new();
    let e = world.spawn_batch((0..10).map(all));
    let work = |world: &mut World| {
        world.remove::<Hot>(e[0]).unwrap();
        world.insert(e[0], Hot(1)).unwrap();
        world.query_mut::<(&Place, &Level)>().for_each(drop);
        assert!(world.get::<Place>(e[1]).is_ok());
    };
    let is_silent = |report: &LayoutReport| {
        let zero = |c: &ComponentReport| c.adds + c.removes + c.taken + c.visited + c.by_entity.unwrap_or(0) == 0;
        let stays = |c: &ComponentReport| c.advice.placement == c.placement;
        report.components.len() == 4 && report.components.iter().all(|c| zero(c) && stays(c))
    };
    work(&mut world);
    let report = world.layout_report();
    assert!(!report.counted && is_silent(&report) && report.to_string().contains("not counted"));
    // What happened before does not count.
    world.set_access_counting(true);
    assert!(is_silent(&world.layout_report()));
    work(&mut world);
    let peeked = world.peek_layout_report();
    assert!(!is_silent(&peeked) && peeked == world.peek_layout_report(), "looking changes nothing");
    assert_eq!(world.layout_report(), peeked);
    assert!(is_silent(&world.layout_report()), "each report begins anew");
    work(&mut world);
    assert!(!world.try_clone().unwrap().layout_report().counted, "a copy counts for itself");
    world.set_access_counting(false);
    work(&mut world);
    assert!(is_silent(&world.layout_report()));
}

#[test]
fn bytes_are_those_of_the_memory_report() {
    let (mut world, e) = counting();
    world.spawn_batch((0..1000).map(|n| (Place(n), Mark)));
    world.insert(e[3], Cold(1)).unwrap();
    let (report, memory) = (world.layout_report(), world.memory());
    let columns = memory.tables.iter().flat_map(|table| &table.columns);
    let held = |name: &str| {
        let columns: usize = columns.clone().filter(|c| c.component == name).map(|c| c.total()).sum();
        columns + memory.sparse.iter().filter(|s| s.component == name).map(|s| s.total()).sum::<usize>()
    };
    assert_eq!(report.components.len(), 6);
    for component in &report.components {
        assert_eq!(component.bytes, held(component.name), "{}", component.name);
    }
    assert_eq!((report.entities, report.slots), (1010, 1010));
    let place = of::<Place>(&report, &world);
    assert_eq!((place.values, place.size, place.utilisation), (1010, 8, 1.0));
    assert_eq!((of::<Mark>(&report, &world).bytes, of::<Mark>(&report, &world).values), (0, 1000));
    let fields = of::<Fields>(&report, &world);
    assert_eq!((fields.placement, fields.bytes_as.table, fields.bytes_as.soa), (Placement::Soa, 80, 60));
}

#[test]
fn what_a_component_would_take_is_what_it_takes_there() {
    #[derive(Component)]
    struct InTable([u32; 6]);
    #[derive(Component)]
    #[component(layout = "pool")]
    struct InPool([u32; 6]);
    #[derive(Component)]
    #[component(layout = "linear")]
    struct InLinear([u32; 6]);
    let mut world = World::new();
    for n in 0..3000_u32 {
        match n % 3 {
            2 => world.spawn((InTable([n; 6]), InPool([n; 6]), InLinear([n; 6]))),
            _ => world.spawn_empty(),
        };
    }
    let same = |(a, b, c): &(&InTable, &InPool, &InLinear)| a.0 == b.0 && b.0 == c.0;
    assert_eq!(world.query::<(&InTable, &InPool, &InLinear)>().iter().filter(same).count(), 1000);
    world.compact(usize::MAX);
    let report = world.layout_report();
    let all = [of::<InTable>(&report, &world), of::<InPool>(&report, &world), of::<InLinear>(&report, &world)];
    assert!(all.iter().all(|component| component.bytes_as == all[0].bytes_as));
    for component in all {
        assert_eq!(component.bytes as u64, component.bytes_as.of(component.placement), "{}", component.placement);
    }
}

#[test]
fn clear_cases_get_clear_advice() {
    #[derive(Component)]
    struct Burning;
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool")]
    struct Velocity(f32);
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Target(u32);
    let mut world = World::new();
    let e = world.spawn_batch((0..1000).map(|n| (Place(n), Velocity(1.0), Target(n as u32))));
    world.set_access_counting(true);
    for frame in 0..20 {
        world.query_mut::<(&mut Place, &Velocity)>().for_each(|(place, velocity)| place.0 += velocity.0 as u64);
        for entity in &e[frame * 10..][..100] {
            world.insert(*entity, Burning).unwrap();
        }
        for entity in &e[frame * 10..][..100] {
            world.remove::<Burning>(*entity).unwrap();
        }
        let targets = world.component::<Target>();
        assert!((0..1000).zip(&e).all(|(n, entity)| targets.get(*entity).unwrap().0 == n));
    }
    let report = world.layout_report();
    let advice = |component: &ComponentReport| (component.placement, component.advice.placement);
    assert_eq!(advice(of::<Burning>(&report, &world)), (Placement::Table, Placement::Pool));
    assert_eq!(advice(of::<Velocity>(&report, &world)), (Placement::Pool, Placement::Table));
    assert_eq!(advice(of::<Place>(&report, &world)), (Placement::Table, Placement::Table));
    let target = of::<Target>(&report, &world);
    let expected = if cfg!(feature = "counters") { Placement::Linear } else { Placement::Pool };
    assert_eq!(advice(target), (Placement::Pool, expected), "{}", target.advice.reason);
    assert!(of::<Burning>(&report, &world).advice.reason.contains("2000 times"));
    let text = report.to_string();
    for line in ["Burning should be pool: ", "Velocity should be table: ", "Place stays table: ", "as linear"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
