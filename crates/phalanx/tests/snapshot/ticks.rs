//! When values came and were changed: what is loaded tells the same as what was saved.

use crate::forge::Forged;
use crate::hostile::{BOUND, attempt};
use crate::kit::*;
use phalanx::group::Owned;
use phalanx::snapshot::{Part, Problem, Registry, diff, inspect};
use phalanx::store::Soa;
use phalanx::{Added, Changed, Component, Entity, Key, QueryState, Role, With, World};
use serde::{Deserialize, Serialize};

macro_rules! components {
    ($($layout:literal $row:ident $column:ident)*) => {$(
        #[derive(Component, Debug, PartialEq, Clone, Copy)]
        #[component(layout = $layout, track = "row", plain)]
        #[repr(transparent)]
        struct $row(u32);
        #[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
        #[component(layout = $layout, track = "column")]
        struct $column(String);
    )*};
}
components! { "table" TableRow TableColumn "pool" PoolRow PoolColumn "linear" LinearRow LinearColumn }

#[derive(Component, Soa, Debug, PartialEq, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column")]
struct SoaColumn {
    x: u32,
    y: u8,
}
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool", track = "row")]
struct TagRow;
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(track = "column")]
struct TagColumn;

fn all() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<TableRow>("table row").unwrap();
    registry.serde::<TableColumn>("table column").unwrap();
    registry.plain::<PoolRow>("pool row").unwrap();
    registry.serde::<PoolColumn>("pool column").unwrap();
    registry.plain::<LinearRow>("linear row").unwrap();
    registry.serde::<LinearColumn>("linear column").unwrap();
    registry.plain::<SoaColumn>("soa column").unwrap();
    registry.tag("tag row", || TagRow).unwrap();
    registry.tag("tag column", || TagColumn).unwrap();
    registry
}

fn saved(registry: &Registry, world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry.save(world, &mut file).unwrap();
    file
}

#[track_caller]
fn loaded(registry: &Registry, file: &[u8]) -> World {
    let world = registry.load(file).unwrap();
    world.validate().unwrap();
    world
}

/// All keys that each filter lets through.
fn told(world: &World) -> Vec<(&'static str, Vec<Key>)> {
    macro_rules! told {
        ($($filter:ident<$c:ident>)*) => {
            vec![$((stringify!($filter<$c>), world.query_filtered::<Key, $filter<$c>>().iter().collect()),)*]
        };
    }
    told! {
        Added<TableRow> Changed<TableRow> Added<PoolRow> Changed<PoolRow> Added<LinearRow> Changed<LinearRow>
        Added<TagRow> Changed<TagRow>
        Changed<TableColumn> Changed<PoolColumn> Changed<LinearColumn> Changed<SoaColumn> Changed<TagColumn>
    }
}

/// Some of everything: some seen, some new, some changed.
fn history(start: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    phalanx::testing::set_change_tick(&mut world, start);
    let mut list = Vec::new();
    for i in 0..6 {
        let text = || i.to_string();
        list.push(world.spawn((TableRow(i), PoolRow(i), LinearRow(i), TagRow, TagColumn)));
        list.push(world.spawn((
            TableColumn(text()),
            PoolColumn(text()),
            LinearColumn(text()),
            SoaColumn { x: i, y: 1 },
        )));
    }
    world.add_row(Key::main(list[1]).with_role(Role(1)), (TableRow(90), PoolRow(91), TagRow)).unwrap();
    world.clear_trackers();
    world.get_mut::<TableRow>(list[2]).unwrap().0 += 1;
    world.get_mut::<LinearRow>(list[4]).unwrap().0 += 1;
    world.get_mut::<PoolRow>(list[6]).unwrap().0 += 1;
    world.insert(list[3], (TableRow(7), PoolRow(7), TagRow)).unwrap();
    world.remove::<PoolRow>(list[0]).unwrap();
    world.despawn(list[8]).unwrap();
    world.add_row(Key::main(list[2]).with_role(Role(2)), (LinearRow(1), PoolRow(92))).unwrap();
    (world, list)
}

#[test]
fn filters_let_through_after_a_load_what_they_did_before() {
    let registry = all();
    // Near the end of the numbers too.
    for start in [1, 1000, u32::MAX - 1, u32::MAX, i32::MAX as u32] {
        let (mut world, list) = history(start);
        let file = saved(&registry, &world);
        let mut copy = loaded(&registry, &file);
        assert!(saved(&registry, &copy) == file);
        assert_eq!(told(&copy), told(&world));
        // Some are new and some are not, so that the test can fail.
        let counts = |world: &World| {
            let rows = (world.query::<&TableRow>().len(), world.query_filtered::<(), Changed<TableRow>>().len());
            (rows, world.query_filtered::<(), Changed<LinearColumn>>().len())
        };
        assert_eq!(counts(&copy), ((6, 2), 0), "from {start}");
        for world in [&mut world, &mut copy] {
            world.query_mut::<&mut TableColumn>().for_each(drop);
            world.get_mut::<PoolRow>(list[4]).unwrap().0 += 1;
            world.insert(list[0], (PoolRow(5), SoaColumn { x: 1, y: 2 })).unwrap();
        }
        assert_eq!(told(&copy), told(&world));
        world.clear_trackers();
        copy.clear_trackers();
        assert!(told(&copy).iter().all(|(_, keys)| keys.is_empty()));
        assert!(saved(&registry, &copy) == saved(&registry, &world));
    }
}

/// A run marks columns before it asks whether others have changed them: the mark before its own comes back too.
#[test]
fn what_a_state_wrote_itself_is_no_news_after_a_load() {
    let registry = all();
    let news =
        |world: &mut World| world.query_filtered_mut::<&mut TableColumn, Changed<TableColumn>>().iter_mut().count();
    let (mut world, _) = history(1);
    let mut copy = loaded(&registry, &saved(&registry, &world));
    for _ in 0..3 {
        assert_eq!(news(&mut copy), news(&mut world));
        world = loaded(&registry, &saved(&registry, &world));
    }
}

#[test]
fn a_state_that_looked_elsewhere_begins_anew() {
    let registry = all();
    let (world, _) = history(1);
    let mut state = QueryState::<Entity, Changed<TableRow>>::new();
    let count = state.iter(&world).count();
    assert!(count > 0 && state.is_empty(&world));
    let copy = loaded(&registry, &saved(&registry, &world));
    assert_eq!(state.iter(&copy).count(), count);
    assert!(state.is_empty(&copy));
}

#[test]
fn pools_of_a_group_keep_their_marks() {
    let registry = all();
    let mut world = World::new();
    world.create_group::<Owned<(PoolRow, PoolColumn)>>().unwrap();
    let list: Vec<_> = (0..8).map(|i| world.spawn((PoolRow(i), TagRow))).collect();
    world.clear_trackers();
    for at in [6, 1, 3] {
        world.insert(list[at], PoolColumn(at.to_string())).unwrap();
        world.get_mut::<PoolRow>(list[at + 1]).unwrap().0 += 1;
    }
    let copy = loaded(&registry, &saved(&registry, &world));
    assert_eq!(told(&copy), told(&world));
}

#[test]
fn worlds_that_track_nothing_pay_nothing() {
    let mut world = World::new();
    world.spawn(Position { x: 1.0, y: 2.0 });
    let size = bytes(&world).len();
    assert!(!inspect(&*bytes(&world)).unwrap().has_times);
    world.clear_trackers();
    assert_eq!(bytes(&world).len(), size);
}

/// The number of query runs is not saved: two change ticks are equal if both are new, or both are not.
#[test]
fn looking_leaves_no_trace() {
    let registry = all();
    let [(mut quiet, _), (mut loud, list)] = [history(1), history(1000)];
    let mut state = QueryState::<Entity, Changed<TableRow>>::new();
    for _ in 0..5 {
        state.iter(&loud).for_each(drop);
        loud.query_mut::<(Entity, &mut TableRow)>().for_each(drop);
        loud.query_filtered::<Entity, Added<PoolRow>>().for_each(drop);
    }
    assert!(saved(&registry, &loud) == saved(&registry, &quiet));
    for world in [&mut quiet, &mut loud] {
        world.get_mut::<TableRow>(list[2]).unwrap().0 += 1;
        world.spawn(TableRow(8));
    }
    state.iter(&loud).for_each(drop);
    assert!(saved(&registry, &loud) == saved(&registry, &quiet));
}

#[test]
fn equal_values_are_equal_whenever_they_came() {
    let registry = all();
    let (mut a, mut b) = (World::new(), World::new());
    let values = || (TableRow(1), LinearColumn("x".into()));
    a.spawn(values());
    b.clear_trackers();
    let e = b.spawn(values());
    b.get_mut::<TableRow>(e).unwrap().0 = 1;
    // All is new in both.
    assert!(saved(&registry, &a) == saved(&registry, &b));
    a.clear_trackers();
    assert!(saved(&registry, &a) != saved(&registry, &b));
    assert_eq!(registry.checksum(&a), registry.checksum(&b));
    assert_eq!(diff(&registry, &a, &b), Ok(None));
    let report = registry.save(&b, std::io::sink()).unwrap();
    assert_eq!(registry.checksum(&b), Ok(report.checksum));
    assert_eq!(inspect(&*saved(&registry, &b)).unwrap().checksum, report.checksum);
}

#[test]
fn what_is_merged_or_read_from_text_is_new() {
    let mut scene = world(2, 150);
    scene.clear_trackers();
    let (armed, file) = (scene.query::<&Armor>().len(), bytes(&scene));
    assert!(armed > 0 && load(&file).query_filtered::<(), Changed<Armor>>().is_empty());
    let mut target = World::new();
    target.spawn((Armor(1), Breath(2)));
    target.clear_trackers();
    let tick = target.change_tick();
    registry().merge(&mut target, &*file).unwrap();
    assert_eq!(target.change_tick(), tick);
    assert_eq!(target.query_filtered::<(), Added<Armor>>().len(), armed);
    let mut json = Vec::new();
    registry().serialize(&scene, &mut serde_json::Serializer::new(&mut json)).unwrap();
    let copy = registry().deserialize(&mut serde_json::Deserializer::from_slice(&json)).unwrap();
    assert_eq!(copy.query_filtered::<(), Added<Armor>>().len(), armed);
}

#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(plain)]
#[repr(transparent)]
struct Untracked(u32);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(track = "column", plain)]
#[repr(transparent)]
struct ByColumn(u32);

/// The tracking of a component is not part of its schema: it may change from one build to the next.
#[test]
fn ticks_of_another_way_of_tracking_are_passed_over() {
    fn of<C: Component<Layout: phalanx::snapshot::PlainLayout<C>>>() -> Registry {
        let mut registry = Registry::new();
        registry.plain::<C>("c").unwrap();
        registry
    }
    let (none, row, column) = (of::<Untracked>(), of::<TableRow>(), of::<ByColumn>());
    let settled = |mut world: World| {
        world.clear_trackers();
        world
    };
    let mut worlds = [World::new(), World::new(), World::new()];
    let e = worlds.each_mut().map(|world| world.spawn_empty())[0];
    worlds[0].insert(e, Untracked(5)).unwrap();
    worlds[1].insert(e, TableRow(5)).unwrap();
    worlds[2].insert(e, ByColumn(5)).unwrap();
    let [a, b, c] = worlds.map(settled);
    let files = [saved(&none, &a), saved(&row, &b), saved(&column, &c)];
    for (at, file) in files.iter().enumerate() {
        assert_eq!(loaded(&none, file).get::<Untracked>(e), Ok(&Untracked(5)));
        let copy = loaded(&row, file);
        assert_eq!(copy.get::<TableRow>(e), Ok(&TableRow(5)));
        assert_eq!(copy.query_filtered::<(), Added<TableRow>>().len(), usize::from(at != 1));
        let copy = loaded(&column, file);
        assert_eq!(copy.get::<ByColumn>(e), Ok(&ByColumn(5)));
        assert_eq!(copy.query_filtered::<(), Changed<ByColumn>>().len(), usize::from(at != 2));
    }
}

/// Without data and plain: of whatever it has lanes, none is for a value.
#[test]
fn plain_components_without_data_may_be_tracked_another_day() {
    macro_rules! nothing {
        ($($name:ident $($track:literal)?)*) => {$(
            #[derive(Component, Debug, PartialEq, Clone, Copy)]
            #[component(plain)]
            $(#[component(track = $track)])?
            #[repr(C)]
            struct $name;
        )*};
    }
    nothing! { No Row "row" Column "column" }
    fn of<C: Component<Layout: phalanx::snapshot::PlainLayout<C>>>() -> Registry {
        let mut registry = Registry::new();
        registry.plain::<C>("c").unwrap();
        registry
    }
    let registries = [of::<No>(), of::<Row>(), of::<Column>()];
    let mut worlds = [World::new(), World::new(), World::new()];
    let e = worlds.each_mut().map(|world| world.spawn_empty())[0];
    worlds[0].insert(e, No).unwrap();
    worlds[1].insert(e, Row).unwrap();
    worlds[2].insert(e, Column).unwrap();
    for (world, registry) in worlds.iter().zip(&registries) {
        let file = saved(registry, world);
        assert!(loaded(&registries[0], &file).has::<No>(e));
        assert!(loaded(&registries[1], &file).has::<Row>(e));
        assert!(loaded(&registries[2], &file).has::<Column>(e));
    }
}

#[test]
fn values_of_an_older_version_keep_their_marks() {
    let (mut old, mut new) = (Registry::new(), Registry::new());
    old.plain::<TableRow>("c").unwrap();
    new.plain::<LinearRow>("l").unwrap();
    let entry = new.plain::<Armor>("c").unwrap();
    entry.version(1).migrate_plain(0, |TableRow(n)| Armor(n + 1));
    let mut world = World::new();
    let [a, b] = [world.spawn(TableRow(1)), world.spawn(TableRow(2))];
    world.clear_trackers();
    world.get_mut::<TableRow>(b).unwrap().0 = 3;
    let copy = loaded(&new, &saved(&old, &world));
    assert_eq!(copy.get::<Armor>(a), Ok(&Armor(2)));
    assert!(copy.query_filtered::<Entity, Changed<Armor>>().iter().eq([b]));
    assert!(copy.query_filtered::<Entity, Added<Armor>>().is_empty());
}

#[test]
fn parts_and_tables_that_become_one_keep_their_marks() {
    let registry = all();
    let (world, list) = history(1);
    let part = Part::matching::<With<TableRow>>(&world);
    let mut file = Vec::new();
    registry.save_part(&world, &part, &mut file).unwrap();
    let copy = loaded(&registry, &file);
    let changed = |world: &World| world.query_filtered::<Key, Changed<TableRow>>().iter().collect::<Vec<_>>();
    assert!(changed(&copy) == changed(&world) && !changed(&copy).is_empty());
    assert!(copy.contains(list[2]));

    // Two tables that differ only in what is left out: a change of one is a change of both.
    let mut partial = Registry::new();
    partial.serde::<TableColumn>("t").unwrap();
    partial.skip_unregistered();
    let mut world = World::new();
    let a = world.spawn(TableColumn("a".into()));
    let b = world.spawn((TableColumn("b".into()), Untracked(1)));
    world.clear_trackers();
    assert!(loaded(&partial, &saved(&partial, &world)).query_filtered::<(), Changed<TableColumn>>().is_empty());
    world.get_mut::<TableColumn>(b).unwrap().0.push('!');
    let copy = loaded(&partial, &saved(&partial, &world));
    assert!(copy.query_filtered::<Entity, Changed<TableColumn>>().iter().eq([a, b]));
}

fn forged() -> Forged {
    let mut world = World::new();
    world.spawn((Armor(1), Breath(2)));
    world.clear_trackers();
    world.spawn((Armor(3), Mana("m".into()), Rage(vec![1])));
    Forged::of(&bytes(&world))
}

#[test]
fn h63_forged_ticks_are_refused_by_name() {
    let problem = |change: &dyn Fn(&mut Forged)| {
        let mut forged = forged();
        change(&mut forged);
        attempt(&forged.file(), BOUND).unwrap_err().problem
    };
    // The count; armor, by rows, two; then its marks.
    let first = 4;
    let marks = first + 4 + 1 + 4;
    // The store of the breath, whose column has a mark, comes next.
    let breath = marks + 2;
    let count = |what, found, expected| Problem::Count { what, found, expected };
    assert_eq!(problem(&|f| drop(f.put(b"tick", 0, first + 5, 1))), count("values with ticks", 1, 2));
    assert_eq!(problem(&|f| drop(f.put(b"tick", 0, first + 5, u32::MAX))), count("values with ticks", 0xffff_ffff, 2));
    assert_eq!(problem(&|f| drop(f.put(b"tick", 0, breath + 5, 2))), count("columns with ticks", 2, 1));
    let invalid = |change: &dyn Fn(&mut Forged)| match problem(change) {
        Problem::Invalid(what) => what,
        other => panic!("{other}"),
    };
    let mark = "a value that was added and not changed, or neither added nor not";
    assert_eq!(invalid(&|f| f.section(b"tick", 0).bytes[marks] = 1), mark);
    assert_eq!(invalid(&|f| f.section(b"tick", 0).bytes[marks + 1] = 4), mark);
    let column = "a column that is neither changed nor not";
    assert_eq!(invalid(&|f| f.section(b"tick", 0).bytes[breath + 9] = 1), column);
    let none = "ticks of a component that there is not";
    assert_eq!(invalid(&|f| drop(f.put(b"tick", 0, first, 99))), none);
    assert_eq!(problem(&|f| drop(f.put(b"tick", 0, 0, u32::MAX))), Problem::SectionLength);
    let order = "ticks of components that are not in their order";
    assert_eq!(invalid(&|f| drop(f.put(b"tick", 0, breath, 0))), order);
    let ways = "ticks that are neither of columns nor of rows";
    assert_eq!(invalid(&|f| f.section(b"tick", 0).bytes[first + 4] = 3), ways);
    assert_eq!(problem(&|f| drop(f.section(b"tick", 0).bytes.pop())), Problem::SectionLength);
    assert_eq!(problem(&|f| f.section(b"tick", 0).bytes.push(0)), Problem::SectionLength);
    let twice = problem(&|f| {
        let copy = f.section(b"tick", 0).clone();
        f.sections.insert(0, copy);
    });
    assert_eq!(twice, Problem::Section { found: *b"tick" });
}

#[test]
fn h62_forged_ticks_are_refused_or_a_world() {
    let forged = forged();
    let at = forged.sections.iter().position(|section| section.kind == *b"tick").unwrap();
    for byte in 0..forged.sections[at].bytes.len() {
        for change in [1, 2, 0x40, 0x80, 0xff] {
            let mut other = forged.clone();
            other.sections[at].bytes[byte] ^= change;
            let _ = inspect(&*other.file());
            if let Ok(world) = attempt(&other.file(), BOUND) {
                assert!(bytes(&load(&bytes(&world))) == bytes(&world));
            }
        }
    }
    // Without them everything is new.
    let mut other = forged.clone();
    other.sections.remove(at);
    let world = attempt(&other.file(), BOUND).unwrap();
    assert_eq!(world.query_filtered::<(), Added<Armor>>().len(), 2);
}

#[test]
fn a_resource_that_is_loaded_or_merged_is_new() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Score(u32);
    let mut registry = all();
    registry.serde_resource::<Score>("score").unwrap();
    // With and without a section of ticks.
    for settled in [true, false] {
        let mut world = World::new();
        world.insert_resource(Score(1));
        world.spawn(TableRow(1));
        if settled {
            world.clear_trackers();
        }
        assert_eq!(world.resource_ref::<Score>().unwrap().is_changed(), !settled);
        let file = saved(&registry, &world);
        let there = loaded(&registry, &file);
        let score = there.resource_ref::<Score>().unwrap();
        assert!(score.is_added() && score.is_changed() && score.0 == 1);
        let mut other = World::new();
        other.clear_trackers();
        registry.merge(&mut other, &file[..]).unwrap();
        assert!(other.resource_ref::<Score>().unwrap().is_added());
    }
}
