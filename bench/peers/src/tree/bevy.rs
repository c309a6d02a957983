//! bevy_ecs: `ChildOf` in a child, and `Children`, a vector that removal searches, in its parent.
#![allow(unsafe_code)]

use super::Tree;
use crate::data::{Body, Digest, Global, Local, Matrix, body, local, multiply};
use crate::harness::Ways;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::system::SystemState;

type Roots<'w, 's> = Query<'w, 's, (&'static Local, &'static mut Global, &'static Children), Without<ChildOf>>;
type Nodes<'w, 's> = Query<'w, 's, (&'static Local, &'static mut Global, Option<&'static Children>), With<ChildOf>>;

pub struct Bevy {
    world: World,
    bodies: QueryState<(&'static Body, Option<&'static ChildOf>)>,
    transforms: SystemState<(Roots<'static, 'static>, Nodes<'static, 'static>)>,
}

/// What `propagate_parent_transforms` of bevy_transform does, which goes down from each root and fetches each child by its
/// entity. That crate itself has other transforms, so that its results would differ in their bits. It skips nodes that have
/// not changed; here all are computed. It looks each child up twice on one thread, and once on several: here once.
fn propagate(parent: Matrix, children: &Children, nodes: &Nodes) {
    for child in children.iter() {
        // SAFETY: of what was fetched before, only `Children` are still borrowed, and nobody writes these: the global transform
        // of the parent was copied.
        let (local, mut global, children) = unsafe { nodes.get_unchecked(child) }.unwrap();
        let own = multiply(&parent, &local.m);
        global.m = own;
        if let Some(children) = children {
            propagate(own, children, nodes);
        }
    }
}

impl Tree for Bevy {
    const NAME: &'static str = "bevy_ecs";
    type Entity = Entity;

    fn new() -> Self {
        let mut world = World::new();
        Bevy { bodies: world.query(), transforms: SystemState::new(&mut world), world }
    }

    fn spawn_root(&mut self, i: usize) -> Entity {
        self.world.spawn(body(i)).id()
    }

    #[inline]
    fn spawn_child(&mut self, parent: Entity, i: usize) -> Entity {
        self.world.spawn((body(i), ChildOf(parent))).id()
    }

    fn reparent(&mut self, moves: &[(Entity, Entity)]) {
        for &(child, parent) in moves {
            self.world.entity_mut(child).insert(ChildOf(parent));
        }
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.despawn(e);
    }

    fn spawn_node(&mut self, parent: Option<Entity>, i: usize) -> Entity {
        let node = (Local { m: local(i) }, Global::default());
        match parent {
            None => self.world.spawn(node).id(),
            Some(parent) => self.world.spawn((node, ChildOf(parent))).id(),
        }
    }

    fn propagate(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (mut roots, nodes) = w.transforms.get_mut(&mut w.world).unwrap();
            for (local, mut global, children) in &mut roots {
                global.m = local.m;
                propagate(local.m, children, &nodes);
            }
        });
    }

    fn digest(&mut self) -> u64 {
        let mut d = Digest::default();
        let bodies = self.bodies.query(&self.world);
        for (body, child_of) in &bodies {
            let parent = child_of.map(|child_of| bodies.get(child_of.parent()).unwrap().0);
            d.link(&body.v, parent.map(|parent| &parent.v));
        }
        d.0
    }

    fn digest_nodes(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.query::<&Global>().iter(&self.world).for_each(|global| d.matrix(&global.m));
        d.0
    }
}
