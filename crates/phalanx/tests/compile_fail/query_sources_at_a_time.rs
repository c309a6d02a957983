//! Items of sources borrow the query, and do not outlive it.

use phalanx::relation::ChildOf;
use phalanx::{Component, Entity, Query, World};

#[derive(Component)]
struct A(u32);

fn twice(mut query: Query<&mut A>, target: Entity) {
    let first = query.iter_sources_mut::<ChildOf>(target);
    let second = query.iter_sources_mut::<ChildOf>(target);
    drop((first, second));
}

fn while_it_is_iterated(mut query: Query<&mut A>, target: Entity) {
    let first = query.iter_mut().next();
    let children = query.iter_sources_mut::<ChildOf>(target);
    drop((first, children));
}

fn after_a_despawn(mut world: World, target: Entity) {
    let children = world.query::<&A>().iter_sources::<ChildOf>(target);
    world.despawn(target).unwrap();
    drop(children);
}

fn main() {}
