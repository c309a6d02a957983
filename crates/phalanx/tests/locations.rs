//! Panics name the line of the caller, not one of this crate.
// Values are only carried along; those of components by their ids are given by address.
#![allow(dead_code, unsafe_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx::group::Owned;
use phalanx::layout::Kind;
use phalanx::query::Access;
use phalanx::{
    CommandBuffer, Component, ComponentDescriptor, ComponentId, Key, QueryState, Role, Signature, With, World,
};
use phalanx_testkit::panics_here;

#[derive(Component, Clone, Debug)]
struct A(u32);

#[derive(Component, Clone, Debug)]
struct B(u32);

#[derive(Component, Clone, Debug)]
#[component(layout = "pool")]
struct Fire(u32);

const TWICE: (A, A) = (A(1), A(2));

#[test]
fn queries_that_alias_are_reported_in_the_line_that_runs_them() {
    type Q = (&'static mut A, &'static A);
    let mut world = World::new();
    let e = world.spawn((A(1), B(1)));
    let w = &mut world;
    panics_here(|| for _ in w.query_mut::<Q>() {});
    panics_here(|| w.query_mut::<Q>().iter_mut().count());
    panics_here(|| w.query_mut::<Q>().for_each(|_| ()));
    panics_here(|| w.query_filtered_mut::<Q, With<B>>().for_each(|_| ()));
    panics_here(|| w.query_mut::<Q>().chunks().len());
    panics_here(|| w.query_mut::<Q>().reborrow().len());
    panics_here(|| w.query_mut::<Q>().len());
    panics_here(|| w.query_mut::<Q>().is_empty());
    panics_here(|| w.query_mut::<Q>().contains(e));
    panics_here(|| w.query_mut::<Q>().get_mut(e).is_ok());
    panics_here(|| w.query_mut::<Q>().get_row_mut(Key::main(e)).is_ok());
    panics_here(|| w.query_mut::<Q>().single_mut().is_ok());
    panics_here(|| w.query_mut::<Q>().for_each_many([e], |_| ()));
    panics_here(|| w.query_mut::<Q>().for_each_combination_mut(|[_, _]| ()));
    panics_here(|| w.query_mut::<Q>().explain());
    #[cfg(feature = "parallel")]
    panics_here(|| w.query_mut::<Q>().par_for_each(|_| ()));
    #[cfg(feature = "parallel")]
    panics_here(|| w.query_mut::<Q>().par_for_each_by(1, |_| ()));
    panics_here(|| w.queries_mut::<(Q, &B)>().0.len());
    panics_here(|| w.queries_mut::<(&B, Q, &B)>().0.len());
    panics_here(|| w.queries_mut::<(&mut B, &A, &A, &B)>().0.len());
    panics_here(|| QueryState::<Q>::new());
    panics_here(|| QueryState::<Q, With<B>>::new().len(w));
    panics_here(|| QueryState::<Q>::default().len(w));
    panics_here(|| Access::of::<Q>());
    w.validate().unwrap();
    assert_eq!(w.query_mut::<&mut A>().len(), 1);
}

#[test]
fn bundles_that_name_a_component_twice_are_reported_in_the_line_that_uses_them() {
    let mut world = World::new();
    let e = world.spawn(B(1));
    let row = world.add_row(Key::main(e).with_role(Role(1)), B(2)).unwrap();
    let w = &mut world;
    panics_here(|| w.spawn(TWICE));
    panics_here(|| w.spawn_batch([TWICE]));
    panics_here(|| w.spawn_batch([(Fire(1), Fire(2))]));
    panics_here(|| w.spawner::<(A, A)>().spawn(TWICE));
    panics_here(|| w.insert(e, TWICE));
    panics_here(|| w.insert(e, (Fire(1), Fire(2))));
    panics_here(|| w.remove::<(A, A)>(e));
    panics_here(|| w.insert_where::<With<B>, _>(TWICE));
    panics_here(|| w.remove_where::<With<B>, (A, A)>());
    panics_here(|| w.entity_mut(e).unwrap().insert(TWICE).has::<A>());
    panics_here(|| w.entity_mut(e).unwrap().remove::<(A, A)>());
    panics_here(|| w.add_row(Key::main(e).with_role(Role(2)), TWICE));
    panics_here(|| w.row_mut(row).unwrap().insert(TWICE).has::<A>());
    panics_here(|| w.row_mut(row).unwrap().remove::<(A, A)>());
    w.on_spawn(|_, _, _| ());
    panics_here(|| w.spawn_batch([TWICE]));
    w.validate().unwrap();
    assert_eq!(w.len(), 1);
}

#[test]
fn things_of_another_world_are_reported_in_the_line_that_brings_them() {
    let (mut here, mut there) = (World::new(), World::new());
    let group = there.create_group::<Owned<Fire>>().unwrap();
    let e = here.spawn(Fire(1));
    panics_here(|| group.len(&here));
    panics_here(|| group.is_empty(&here));
    panics_here(|| group.contains(&here, e));
    panics_here(|| group.entities(&here).len());
    panics_here(|| group.slices(&here).len());
    panics_here(|| group.slices_mut(&mut here).len());
    panics_here(|| group.iter(&here).len());
    panics_here(|| group.iter_mut(&mut here).len());
    panics_here(|| group.for_each(&mut here, |_| ()));
    panics_here(|| group.sort_by(&mut here, |a, b| a.0.cmp(&b.0)));
    panics_here(|| group.try_sort_by(&mut here, |a, b| a.0.cmp(&b.0)));
    panics_here(|| group.sort_by_key(&mut here, |a| a.0));

    let mut commands = CommandBuffer::new();
    commands.spawn_with(&there, A(1));
    panics_here(|| commands.spawn_with(&here, A(1)));
    panics_here(|| commands.reserve_entities(&here, 1));
    let mut others = CommandBuffer::new();
    others.spawn_with(&here, A(1));
    panics_here(|| others.append(&mut commands));

    let unknown = ComponentId::from_index(77);
    panics_here(|| here.components().info(unknown).name());
    panics_here(|| Signature::default().index(unknown, &Signature::default()));
    let value = NonNull::from(&mut 1_u32).cast();
    // SAFETY: nothing is moved: the calls panic before.
    panics_here(|| unsafe { here.entity_mut(e).unwrap().insert_by_id(unknown, value).id() });
    // SAFETY: as above.
    panics_here(|| unsafe { here.entity_mut(e).unwrap().insert_by_ids(&[(unknown, value)]) });
    // SAFETY: as above.
    panics_here(|| unsafe { here.spawn_by_ids(&[(unknown, value)]) });
    here.validate().unwrap();
}

#[test]
fn what_cannot_be_is_reported_in_the_line_that_asks_for_it() {
    #[derive(Component)]
    struct Unique;
    struct Score;

    let mut world = World::new();
    world.spawn(Unique);
    panics_here(|| world.try_clone().unwrap());
    panics_here(|| world.spawner::<A>().reserve(usize::MAX));
    panics_here(|| world.collector().with::<A>().build());
    panics_here(|| world.collector().without::<A>().build());
    world.insert_resource(Score);
    world
        .resource_scope(|world, _: &mut Score| {
            panics_here(|| {
                world.resources_mut().init(|_| Score);
            });
        })
        .unwrap();
    let descriptor = || ComponentDescriptor {
        name: "large".into(),
        layout: Layout::from_size_align(1 << 33, 8).unwrap(),
        kind: Kind::Table,
        drop: None,
        clone: None,
    };
    // SAFETY: no value of the component is ever made.
    panics_here(|| unsafe { world.register_component_with_descriptor(descriptor()) });
    world.validate().unwrap();
}
