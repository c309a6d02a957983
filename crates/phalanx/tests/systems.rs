//! Systems that run one at a time: parameters, conflicts, commands, panics.

use phalanx::event::{EventReader, EventWriter, Events};
use phalanx::system::{Commands, IntoSystem, Local, ParamSet, Res, ResMut, System};
use phalanx::{Changed, Component, Entity, Event, Query, SystemParam, With, Without, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct A(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct B(u32);
#[derive(Component)]
#[component(track = "row")]
struct Tracked(u32);
struct Score(u32);
struct Limit(u32);

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(Score(0));
    world.insert_resource(Limit(10));
    world.spawn_batch((0..4).map(A));
    world
}

#[test]
fn parameters_give_what_they_name() {
    fn system(
        mut a: Query<&mut A>,
        mut score: ResMut<Score>,
        limit: Res<Limit>,
        missing: Option<Res<String>>,
        mut runs: Local<u32>,
    ) {
        assert!(missing.is_none());
        *runs += 1;
        score.0 += *runs * limit.0;
        a.iter_mut().for_each(|a| a.0 += 1);
    }
    let mut world = world();
    let mut system = system.into_system();
    world.run_system(&mut system);
    world.run_system(&mut system);
    assert_eq!(world.resource::<Score>().unwrap().0, 30);
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 6 + 8);
}

#[test]
fn closures_are_systems_and_return_values() {
    let mut world = world();
    let factor = 3;
    let mut sum = (move |a: Query<&A>| a.iter().map(|a| a.0).sum::<u32>() * factor).into_system();
    assert_eq!(world.run_system(&mut sum), 18);
    let mut failing = (|limit: Res<Limit>| if limit.0 > 5 { Err("too high") } else { Ok(()) }).into_system();
    assert_eq!(world.run_system(&mut failing), Err("too high"));
}

#[test]
fn a_system_that_is_run_in_another_world_finds_its_parameters_there() {
    fn system(mut score: ResMut<Score>, a: Query<&A>, limit: Option<Res<Limit>>) -> (u32, bool) {
        score.0 += 1;
        (a.iter().map(|a| a.0).sum(), limit.is_some())
    }
    let mut system = system.into_system();
    assert_eq!(world().run_system(&mut system), (6, true));
    let mut other = World::new();
    other.insert_resource(3u8);
    other.insert_resource(Score(5));
    other.spawn((B(1), A(40)));
    assert_eq!(other.run_system(&mut system), (40, false));
    assert_eq!(other.resource::<Score>().unwrap().0, 6);
}

#[test]
fn commands_are_applied_after_the_system_and_name_new_entities() {
    fn system(a: Query<(Entity, &A)>, mut commands: Commands) -> Entity {
        let child = commands.spawn(A(100));
        commands.insert(child, B(1));
        commands.spawn_later(B(2));
        for (entity, _) in a.iter().filter(|(_, a)| a.0 % 2 == 0) {
            commands.despawn(entity);
        }
        child
    }
    let mut world = world();
    let child = world.run_system(&mut system.into_system());
    assert_eq!((world.get::<A>(child), world.get::<B>(child)), (Ok(&A(100)), Ok(&B(1))));
    assert_eq!(world.len(), 4);
    world.validate().unwrap();
}

#[test]
fn exclusive_systems_may_do_everything() {
    let mut world = world();
    let mut system = (|world: &mut World| world.spawn(A(9))).into_system();
    let entity = world.run_system(&mut system);
    assert_eq!(world.get::<A>(entity), Ok(&A(9)));
    let mut count = (|world: &World| world.len()).into_system();
    assert_eq!(world.run_system(&mut count), 5);
}

#[test]
fn a_panic_drops_commands_and_events() {
    #[derive(Event)]
    struct Ping;
    fn system(mut commands: Commands, mut pings: EventWriter<Ping>) {
        commands.spawn(A(1));
        pings.send(Ping);
        panic!("stop");
    }
    let mut world = world();
    let mut reader = world.event_reader::<Ping>();
    let mut system = system.into_system();
    assert!(catch_unwind(AssertUnwindSafe(|| world.run_system(&mut system))).is_err());
    world.validate().unwrap();
    assert_eq!((world.len(), world.query::<&A>().len()), (4, 4));
    assert!(reader.read(&world).is_empty());
}

#[test]
fn conflicting_parameters_are_named() {
    fn message<M>(system: impl IntoSystem<M>) -> String {
        let mut world = World::new();
        let mut system = system.into_system();
        match system.initialize(&mut world, None) {
            Ok(()) => String::new(),
            Err(conflict) => conflict.to_string(),
        }
    }
    let two = message(|_: Query<&mut A>, _: Query<&A>| {});
    assert!(two.contains("Query<&mut A> and Query<&A> conflict: one writes A"), "{two}");
    assert!(message(|_: ResMut<Score>, _: Option<Res<Score>>| {}).contains("Score"));
    assert!(message(|_: Query<(&mut A, &A)>| {}).contains("A"));
    assert!(message(|_: &World, _: Query<&mut A>| {}).contains("&World"));
    assert!(message(|_: Query<&mut A>, _: &World| {}).contains("&World"));
    assert!(message(|_: ResMut<Score>, _: &World| {}).contains("Score"));
    assert_eq!(message(|_: Query<&mut A, With<B>>, _: Query<&mut A, Without<B>>| {}), "");
    assert_eq!(message(|_: Query<&A>, _: Query<&A>, _: &World| {}), "");
    assert_eq!(message(|_: ParamSet<(Query<&mut A>, Query<&A>)>| {}), "");
    assert!(message(|_: ParamSet<(Query<&mut A>, Query<&A>)>, _: Query<&A>| {}).contains("A"));
    assert!(message(|_: Query<&A>, _: ParamSet<(Query<&mut A>, Query<&B>)>| {}).contains("A"));
    #[derive(Event)]
    struct Ping;
    assert_eq!(message(|_: EventReader<Ping>, _: EventWriter<Ping>| {}), "");
    assert!(message(|_: EventReader<Ping>, _: ResMut<Events<Ping>>| {}).contains("Events"));
}

#[test]
fn conflicting_parameters_panic_at_the_caller() {
    let mut world = World::new();
    let mut system = (|_: Query<&mut A>, _: Query<&mut A>| {}).into_system();
    let panic = catch_unwind(AssertUnwindSafe(|| world.run_system(&mut system))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("conflict"), "{message}");
    world.validate().unwrap();
}

#[test]
fn a_missing_resource_is_named() {
    let mut world = World::new();
    let mut system = (|_: Res<Score>| {}).into_system();
    let panic = catch_unwind(AssertUnwindSafe(|| world.run_system(&mut system))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("systems::Score"));
}

#[test]
fn derived_parameters_have_named_fields() {
    #[derive(SystemParam)]
    struct Board<'w, 's> {
        score: ResMut<'w, Score>,
        pieces: Query<'w, 's, &'static A>,
        runs: Local<'s, u32>,
        commands: Commands<'w, 's>,
    }
    #[derive(SystemParam)]
    struct Generic<'w, R: Send + Sync + 'static> {
        resource: Res<'w, R>,
    }
    fn system(mut board: Board, limit: Generic<Limit>) {
        *board.runs += 1;
        board.score.0 += board.pieces.len() as u32 + *board.runs + limit.resource.0;
        board.commands.spawn(A(0));
    }
    let mut world = world();
    let mut system = system.into_system();
    world.run_system(&mut system);
    world.run_system(&mut system);
    assert_eq!(world.resource::<Score>().unwrap().0, 4 + 1 + 10 + 5 + 2 + 10);
}

#[test]
fn a_system_sees_changes_since_its_last_run_but_not_its_own() {
    type Changes<'w, 's> = Query<'w, 's, &'static Tracked, Changed<Tracked>>;
    fn changed(mut values: ParamSet<(Changes, Query<&mut Tracked>)>) -> usize {
        values.p0().iter().count()
    }
    fn touch(mut values: Query<&mut Tracked, Changed<Tracked>>) -> usize {
        values.iter_mut().map(|mut value| value.0 += 1).count()
    }
    let mut world = World::new();
    let entities = [1, 2, 3].map(|n| world.spawn(Tracked(n)));
    let (mut changed, mut touch) = (changed.into_system(), touch.into_system());
    assert_eq!((world.run_system(&mut changed), world.run_system(&mut changed)), (3, 0));
    world.get_mut::<Tracked>(entities[1]).unwrap().0 = 9;
    assert_eq!((world.run_system(&mut touch), world.run_system(&mut touch)), (3, 0));
    assert_eq!((world.run_system(&mut changed), world.run_system(&mut changed)), (3, 0));
}

#[test]
fn param_sets_with_commands_give_each_entity_once() {
    fn system(mut set: ParamSet<(Commands, Query<&mut A>)>) -> [Entity; 3] {
        let first = set.p0().spawn(A(50));
        set.p1().iter_mut().for_each(|a| a.0 += 1);
        [first, set.p0().spawn(A(51)), set.p0().spawn(A(52))]
    }
    let mut world = world();
    let entities = world.run_system(&mut system.into_system());
    assert_eq!(entities.map(|entity| world.get::<A>(entity).unwrap().0), [50, 51, 52]);
}
