//! `Ref` and `Mut`: handles of values with change flags.

use phalanx::query::Access;
use phalanx::relation::{ChildOf, Related};
use phalanx::system::{IntoSystem, ParamSet, SystemAccess};
use phalanx::{
    Changed, Component, Entity, Key, Mut, Or, Query, QueryData, QueryState, Ref, Role, With, Without, World,
};
use phalanx_testkit::{Counted, PanicSweep, Site, catch};

#[derive(Component, Debug, PartialEq)]
#[component(track = "row")]
struct Health(i32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool", track = "row")]
struct Burning(u32);
#[derive(Component, Debug, PartialEq)]
#[component(track = "column")]
struct Wide(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column")]
struct Split {
    x: u32,
    y: u64,
}
#[derive(Component)]
struct Marker;

#[test]
fn handles_yield_the_values_of_all_tracked_layouts() {
    let mut world = World::new();
    let e = world.spawn((Health(1), Burning(2), Wide(3), Split { x: 4, y: 5 }));
    world.clear_trackers();
    world.get_mut::<Burning>(e).unwrap().0 += 1;
    *world.get_mut::<Split>(e).unwrap().x += 1;
    let (health, burning, wide, split) =
        world.query::<(Ref<Health>, Ref<Burning>, Ref<Wide>, Ref<Split>)>().single().unwrap();
    assert_eq!((health.0, burning.0, wide.0, split.x, split.y), (1, 3, 3, 5, 5));
    let changed = [health.is_changed(), burning.is_changed(), wide.is_changed(), split.is_changed()];
    assert_eq!(changed, [false, true, false, true]);
    assert!(!health.is_added() && !burning.is_added());
    assert!(health.added() == health.last_changed() && burning.added() != burning.last_changed());
    assert_eq!((health.into_inner(), split.into_inner()), (&Health(1), Split { x: 5, y: 5 }));
}

#[derive(QueryData)]
struct Flags<'a> {
    health: Ref<'a, Health>,
    burning: Option<Ref<'a, Burning>>,
}

#[test]
fn handles_are_terms_wherever_terms_are() {
    let mut world = World::new();
    let a = world.spawn(Health(1));
    let b = world.spawn((Health(2), Burning(1)));
    let mut state = QueryState::<Flags>::new();
    assert!(state.iter(&world).all(|item| item.health.is_added()));
    world.get_mut::<Burning>(b).unwrap().0 = 2;
    let burning = |item: &FlagsItem<'_>| item.burning.as_ref().is_some_and(|burning| burning.is_changed());
    assert!(state.iter(&world).map(|item| burning(&item)).eq([false, true]));
    assert!(!state.iter(&world).any(|item| burning(&item)));
    assert_eq!(world.query::<Or<(Ref<Health>, Ref<Burning>)>>().len(), 2);
    assert_eq!(world.query_filtered::<Ref<Health>, Changed<Health>>().len(), 2);
    assert_eq!(world.query_mut::<(Ref<Health>, Option<&mut Burning>)>().into_iter().count(), 2);
    // The target of a link.
    let child = world.entity_mut(a).unwrap().spawn_child(Marker);
    world.clear_trackers();
    world.get_mut::<Health>(a).unwrap().0 = 9;
    let (entity, health) = world.query::<(Entity, Related<ChildOf, Ref<Health>>)>().single().unwrap();
    assert!(entity == child && health.is_changed() && health.0 == 9);
    // An extra row, an entity, and what is not there.
    let key = Key::main(a).with_role(Role(1));
    world.add_row(key, Burning(7)).unwrap();
    assert!(world.row(key).unwrap().get_ref::<Burning>().unwrap().is_added());
    assert!(world.row_mut(key).unwrap().get_ref::<Burning>().unwrap().is_added());
    assert!(world.row(key).unwrap().get_ref::<Health>().is_err());
    assert_eq!(world.entity(b).unwrap().get_ref::<Burning>().unwrap().0, 2);
    assert_eq!(world.entity_mut(b).unwrap().get_ref::<Burning>().unwrap().0, 2);
    assert!(world.get_ref::<Burning>(child).is_err());
}

#[test]
fn a_handle_of_a_column_excludes_those_who_write_other_rows_of_it() {
    // The tick of a column is shared by all of its rows; those of rows are not.
    let reads = Access::try_of_filtered::<Ref<Wide>, With<Marker>>().unwrap();
    assert!(!reads.is_disjoint(&Access::try_of_filtered::<&mut Wide, Without<Marker>>().unwrap()));
    let reads = Access::try_of_filtered::<Ref<Health>, With<Marker>>().unwrap();
    assert!(reads.is_disjoint(&Access::try_of_filtered::<&mut Health, Without<Marker>>().unwrap()));
    assert!(Access::try_of::<(Ref<Health>, &mut Health)>().is_err());
    assert!(Access::try_of::<(Ref<Health>, &Health)>().is_ok());
    fn refused(_: Query<Ref<Wide>, With<Marker>>, _: Query<&mut Wide, Without<Marker>>) {}
    assert!(catch(|| World::new().run_system(&mut refused.into_system())).is_err());
    fn tracks(access: &SystemAccess) -> bool {
        access.tracks_changes()
    }
    let mut system = (|_: Query<Ref<Health>>| ()).into_system();
    World::new().run_system(&mut system);
    assert!(tracks(phalanx::system::System::access(&system)));
}

#[test]
fn a_query_of_a_set_sees_the_same_changes_each_time_in_a_run() {
    type Changes<'w, 's> = Query<'w, 's, Entity, Changed<Health>>;
    fn count(mut set: ParamSet<(Changes, Query<&mut Burning>)>) -> [usize; 3] {
        let first = set.p0().iter().count();
        set.p1().iter_mut().for_each(|mut burning| burning.0 += 1);
        [first, set.p0().iter().count(), set.p0().iter().count()]
    }
    let mut world = World::new();
    let e = world.spawn((Health(1), Burning(0)));
    let mut system = count.into_system();
    assert_eq!(world.run_system(&mut system), [1, 1, 1]);
    assert_eq!(world.run_system(&mut system), [0, 0, 0]);
    world.get_mut::<Health>(e).unwrap().0 = 2;
    assert_eq!(world.run_system(&mut system), [1, 1, 1]);
}

#[test]
fn a_part_of_a_value_records_changes_of_the_whole() {
    #[derive(Component)]
    #[component(track = "row")]
    struct Pair(String, Option<u32>);
    let mut world = World::new();
    let e = world.spawn(Pair("a".into(), None));
    world.clear_trackers();
    let mut pair = world.get_mut::<Pair>(e).unwrap();
    assert!(pair.reborrow().filter_map_unchanged(|pair| pair.1.as_mut()).is_none());
    let text: Mut<str> = pair.reborrow().map_unchanged(|pair| pair.0.as_mut_str());
    assert!(&*text == "a" && !text.is_changed());
    assert!(!pair.is_changed());
    pair.reborrow().map_unchanged(|pair| &mut pair.0).push('b');
    assert!(pair.is_changed() && !pair.is_added());
    world.clear_trackers();
    assert_eq!(world.get_mut::<Pair>(e).unwrap().into_inner().0, "ab");
    assert!(world.get_ref::<Pair>(e).unwrap().is_changed());
}

/// A value whose comparison and destructor panic on order.
#[derive(Component)]
#[component(track = "row")]
struct Fragile(Counted, u32);

impl PartialEq for Fragile {
    fn eq(&self, other: &Fragile) -> bool {
        self.0 == other.0 && self.1 == other.1
    }
}

#[test]
fn a_value_whose_comparison_or_drop_panics_is_old_or_new_and_the_tick_says_which() {
    for (site, points) in [(Site::Compare, 1), (Site::Drop, 1)] {
        let found = PanicSweep::new(site).run(
            |tally| {
                let mut world = World::new();
                let e = world.spawn(Fragile(tally.value(0), 1));
                world.clear_trackers();
                (world, e)
            },
            |(world, e), tally| {
                let value = Fragile(tally.value(1), 2);
                world.get_mut::<Fragile>(*e).unwrap().set_if_neq(value);
            },
            |(world, e), _, panicked| {
                let fragile = world.get_ref::<Fragile>(*e).unwrap();
                assert_eq!(fragile.is_changed(), fragile.1 == 2);
                assert_eq!(fragile.1 == 2, site == Site::Drop || !panicked);
                world.validate().unwrap();
            },
        );
        assert_eq!(found, points);
    }
}
