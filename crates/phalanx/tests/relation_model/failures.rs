//! Operations on links with memory that fails, and with destructors and clones that panic.

use crate::kit::{DockedAt, Fire, Follows, Id, Mass, PartOf, RELATIONS, ReportsTo, fresh, registry};
use phalanx::relation::{ChildOf, Position};
use phalanx::snapshot::{Part, Registry};
use phalanx::timeline::{Timeline, delta};
use phalanx::{CommandBuffer, Component, Entity, Key, Role, World};
use phalanx_testkit::{AllocationSweep, Counted, PanicSweep, Site, Tally, quiet_panics};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two worlds, and the entities of the first.
struct State {
    here: World,
    there: World,
    all: Vec<Entity>,
    registry: Registry,
    part: Part,
    commands: CommandBuffer,
    /// Captures the first world, if it is to.
    timeline: Option<Timeline>,
}

/// What watches the first world.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Watch {
    Nothing,
    Listeners,
    Timeline,
}

/// Records a segment about links.
fn record(all: &[Entity]) -> CommandBuffer {
    let mut commands = CommandBuffer::new();
    commands.link::<ChildOf>(all[100], all[3]);
    commands.link_at::<PartOf>(all[101], all[140], Position::First);
    commands.unlink::<ReportsTo>(all[4]);
    commands.despawn(all[1]);
    commands.link::<Follows>(all[6], all[102]);
    commands.insert(all[103], (Fire(1), Id(2)));
    commands.despawn(all[102]);
    commands.set_name(all[104], "name").unwrap();
    commands.link::<ChildOf>(all[104], all[105]);
    commands.set_name(all[106], "name").unwrap();
    commands.remove_name(all[106]);
    commands.set_name(all[107], "name").unwrap();
    commands
}

impl State {
    /// Links between the first entities, in all relations. The others have slots that no relation covers yet.
    fn new(watch: Watch) -> State {
        let (mut here, there) = (fresh(0, None), fresh(2, None));
        if watch == Watch::Listeners {
            let count = Arc::new(AtomicUsize::new(0));
            macro_rules! listen {
                ($($relation:ty),*) => {$(
                    let [linked, unlinked] = [count.clone(), count.clone()];
                    here.relations_mut::<$relation>().on_link(move |_, _, _| linked.store(1, Ordering::Relaxed));
                    here.relations_mut::<$relation>().on_unlink(move |_, _, _| unlinked.store(1, Ordering::Relaxed));
                )*};
            }
            listen!(ChildOf, DockedAt, Follows, PartOf, ReportsTo);
        }
        let all: Vec<Entity> = (0..150).map(|n| here.spawn((Id(n), Fire(n % 5), Mass(n)))).collect();
        for at in 1..16 {
            for (relation, methods) in RELATIONS.iter().enumerate().filter(|(relation, _)| *relation != 3) {
                let target = if relation == 1 { at - 1 } else { (at - 1) / 2 };
                (methods.link)(&mut here, all[at], all[target], Position::First).unwrap();
            }
        }
        for (at, entity) in all.iter().enumerate().take(16).skip(1) {
            here.entity_mut(*entity).unwrap().set_name(&format!("entity {at}")).unwrap();
        }
        here.add_row(Key::main(all[5]).with_role(Role(1)), Fire(9)).unwrap();
        let part = Part::of(all.iter().copied().step_by(2));
        let mut timeline = (watch == Watch::Timeline).then(|| Timeline::new(2));
        timeline.iter_mut().for_each(|timeline| timeline.capture(&mut here).unwrap());
        State { here, there, registry: registry(), part, commands: record(&all), all, timeline }
    }

    fn sums(&self) -> [u64; 2] {
        [&self.here, &self.there].map(|world| self.registry.checksum(world).unwrap())
    }
}

/// Tries an operation with each of its allocations failing: nothing has changed then, and it succeeds afterwards.
#[track_caller]
fn sweep<T, E: Debug>(operation: impl Fn(&mut State) -> Result<T, E>) {
    for watch in [Watch::Nothing, Watch::Listeners, Watch::Timeline] {
        let before = State::new(watch).sums();
        let mut after = None;
        let count = AllocationSweep::new().run(
            || State::new(watch),
            &operation,
            |state, outcome| {
                state.here.validate().unwrap();
                state.there.validate().unwrap();
                if outcome.is_err() {
                    assert_eq!(state.sums(), before);
                    state.commands = record(&state.all);
                    drop(operation(state).unwrap());
                    state.here.validate().unwrap();
                    state.there.validate().unwrap();
                }
                if let Some(timeline) = &mut state.timeline {
                    timeline.capture(&mut state.here).unwrap();
                    timeline.validate(&state.here).unwrap();
                }
                let sums = state.sums();
                assert_eq!(*after.get_or_insert(sums), sums, "the second attempt does something else");
            },
        );
        assert!(count > 0 || watch != Watch::Nothing, "the operation allocates nothing");
    }
}

#[test]
fn links_without_memory_are_not_made() {
    sweep(|state| state.here.relations_mut::<PartOf>().link(state.all[100], state.all[149]));
    sweep(|state| state.here.relations_mut::<ChildOf>().link_at(state.all[120], state.all[0], Position::First));
    sweep(|state| state.here.relations_mut::<ChildOf>().try_spawn(state.all[100], Id(7)));
    sweep(|state| state.here.relations_mut::<ReportsTo>().sort_by::<&Fire>(state.all[0], |a, b| a.0.cmp(&b.0)));
}

#[test]
fn despawns_without_memory_change_nothing() {
    sweep(|state| state.here.try_despawn(state.all[0]));
    sweep(|state| state.here.try_despawn(state.all[5]));
    sweep(|state| {
        let [first, tree, other] = [state.all[5], state.all[0], state.all[100]];
        state.here.try_despawn_batch(&[first, tree, first, other])
    });
    sweep(|state| state.here.try_clear());
}

#[test]
fn a_batch_that_may_fail_despawns_what_another_batch_does() {
    for watch in [Watch::Nothing, Watch::Listeners] {
        let (mut a, mut b) = (State::new(watch), State::new(watch));
        let dead = a.all[7];
        let batch = [a.all[5], dead, a.all[0], a.all[5], a.all[100], a.all[1]];
        for state in [&mut a, &mut b] {
            state.here.despawn(dead).unwrap();
        }
        assert_eq!(a.here.try_despawn_batch(&batch).unwrap(), b.here.despawn_batch(batch));
        assert_eq!(a.sums(), b.sums());
    }
}

#[test]
fn clones_and_transfers_without_memory_change_nothing() {
    sweep(|state| state.here.entity_mut(state.all[5]).unwrap().clone_entity());
    sweep(|state| state.here.relations_mut::<ChildOf>().clone_tree(state.all[1]));
    sweep(|state| state.here.entity_mut(state.all[5]).unwrap().transfer(&mut state.there));
    sweep(|state| {
        let mut tree = state.here.relations_mut::<ReportsTo>();
        tree.transfer_tree(state.all[1], &mut state.there).map(|moved| moved.root)
    });
    sweep(|state| state.here.transfer_all(&mut state.there));
    sweep(|state| state.here.try_clone());
}

#[test]
fn names_without_memory_are_not_given() {
    sweep(|state| state.here.entity_mut(state.all[100])?.set_name("new").map(drop));
    sweep(|state| state.here.spawn_named("new", (Id(1), Fire(2))));
    sweep(|state| state.here.entity_mut(state.all[140])?.spawn_child_named("new", Id(1)));
    // The first name of a world.
    sweep(|state| state.there.spawn_named("new", Id(1)));
    let mut world = World::new();
    let fleet = world.spawn_named("flotte ä", ()).unwrap();
    let ship = world.entity_mut(fleet).unwrap().spawn_child_named("schiff ö", ()).unwrap();
    let expected = Some("flotte ä/schiff ö".to_owned());
    AllocationSweep::new().run(
        || (),
        |()| world.try_path(ship),
        |(), path| assert!(path.as_ref().map_or(true, |path| *path == expected)),
    );
}

#[test]
fn segments_without_memory_change_nothing() {
    sweep(|state| core::mem::take(&mut state.commands).try_apply(&mut state.here));
}

#[test]
fn states_without_memory_change_nothing() {
    sweep(|state| state.here.checkpoint());
    sweep(|state| {
        let mut timeline = Timeline::new(2);
        timeline.capture(&mut state.here)
    });
    sweep(|state| {
        let before = state.here.checkpoint()?;
        delta(&before, &before).map_err(|_| phalanx::timeline::TimelineError::Foreign)
    });
    sweep(|state| state.registry.save_part(&state.here, &state.part, std::io::sink()));
    let (state, mut file) = (State::new(Watch::Nothing), Vec::new());
    state.registry.save(&state.here, &mut file).unwrap();
    sweep(|state| state.registry.load(&*file));
    sweep(|state| {
        let checkpoint = state.here.checkpoint()?;
        state.here.rollback(&checkpoint)
    });
}

#[derive(Component, Clone, Debug)]
#[component(clone)]
struct Value(#[allow(dead_code, reason = "it counts its drops")] Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
struct Pooled(#[allow(dead_code, reason = "it counts its drops")] Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
struct Lined(#[allow(dead_code, reason = "it counts its drops")] Counted);

/// A tree of entities with values that count, the links of another one, and a stranger.
fn family(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let bundle = |n| (Value(tally.value(n)), Pooled(tally.value(n)), Lined(tally.value(n)));
    let mut all = vec![world.spawn(bundle(0))];
    for n in 1..6 {
        let parent = all[(n - 1) / 2];
        let child = world.entity_mut(parent).unwrap().spawn_child(bundle(n as u32));
        world.relations_mut::<ReportsTo>().link(parent, child).unwrap();
        world.add_row(Key::main(child).with_role(Role(1)), Pooled(tally.value(9))).unwrap();
        world.entity_mut(child).unwrap().set_name(&format!("child {n}")).unwrap();
        all.push(child);
    }
    all.push(world.spawn(bundle(6)));
    world.relations_mut::<ReportsTo>().link(all[6], all[1]).unwrap();
    (world, all)
}

/// What can be seen of the links of a world.
fn links(world: &World) -> [Vec<(Entity, Entity)>; 2] {
    [world.relations::<ChildOf>().iter().collect(), world.relations::<ReportsTo>().iter().collect()]
}

#[test]
fn destructors_that_panic_let_a_despawn_of_a_tree_stand() {
    quiet_panics(|| ());
    let ways: [fn(&mut World, &[Entity]); 4] = [
        |world, all| world.despawn(all[0]).unwrap(),
        |world, all| drop(world.despawn_batch([all[3], all[0], all[3]])),
        |world, all| {
            let mut commands = CommandBuffer::new();
            commands.unlink::<ReportsTo>(all[6]);
            commands.despawn(all[0]);
            drop(commands.apply(world));
        },
        |world, _| world.clear(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for listens in [false, true] {
            let panics = PanicSweep::new(Site::Drop).run(
                |tally| {
                    let (mut world, all) = family(tally);
                    if listens {
                        world.relations_mut::<ChildOf>().on_unlink(|_, _, _| {});
                    }
                    (world, all)
                },
                |(world, all), _| way(world, all),
                |(world, all), _, fired| {
                    world.validate().unwrap();
                    // Without listeners a batch ends with the panic.
                    if !(number == 1 && fired && !listens) {
                        assert_eq!(world.len(), usize::from(number < 3), "way {number}");
                        assert_eq!(links(world), [vec![], vec![]]);
                    }
                    assert!(number == 3 || world.contains(all[6]));
                },
            );
            assert!(panics >= 18, "{panics} values are dropped");
        }
    }
}

#[test]
fn a_child_without_memory_for_its_link_is_dropped() {
    let tally = Tally::new();
    let count = AllocationSweep::new().run(
        || {
            let mut world = World::new();
            let parent = world.spawn_empty();
            world.relations_mut::<ChildOf>().spawn(parent, ()).unwrap();
            // There is capacity for another row and slot, but the slot is beyond all that have links.
            let others: Vec<_> = (0..3000).map(|n| world.spawn(Value(tally.value(n)))).collect();
            world.despawn(others[2999]).unwrap();
            (world, parent)
        },
        |(world, parent)| world.relations_mut::<ChildOf>().try_spawn(*parent, Value(tally.value(7))),
        |(world, parent), outcome| {
            world.validate().unwrap();
            let children = world.relations::<ChildOf>().children(*parent).len();
            assert_eq!((world.len(), children), if outcome.is_ok() { (3002, 2) } else { (3001, 1) });
        },
    );
    assert!(count > 0, "the records grow");
    tally.assert_sound();
    tally.assert_no_leaks();
}

#[test]
fn clones_that_panic_leave_a_tree_as_it_was() {
    quiet_panics(|| ());
    let ways: [fn(&mut World, &[Entity]); 3] = [
        |world, all| drop(world.relations_mut::<ChildOf>().clone_tree(all[0]).unwrap()),
        |world, all| drop(world.entity_mut(all[1]).unwrap().clone_entity().unwrap()),
        |world, _| drop(world.try_clone().unwrap()),
    ];
    for way in ways {
        let panics = PanicSweep::new(Site::Clone).run(
            family,
            |(world, all), _| way(world, all),
            |(world, all), _, fired| {
                world.validate().unwrap();
                if fired {
                    assert_eq!(world.len(), all.len());
                    assert_eq!(links(world).map(|pairs| pairs.len()), [5, 4]);
                    // It can be cloned afterwards.
                    let twin = world.relations_mut::<ChildOf>().clone_tree(all[0]).unwrap();
                    assert!(world.entity(twin).unwrap().find("child 1/child 3").is_some());
                    assert_eq!(world.entity(all[0]).unwrap().find("child 1/child 3"), Some(all[3]));
                    assert_eq!(world.len(), all.len() + 6);
                    world.validate().unwrap();
                }
            },
        );
        assert!(panics > 0);
    }
}
