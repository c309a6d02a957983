//! flecs_ecs: a pair of `ChildOf` and the parent, hence a table for the children of each parent. This version has no other
//! hierarchies.

use super::Tree;
use crate::data::*;
use crate::harness::Ways;
use flecs_ecs::prelude::*;

pub struct Flecs {
    // Queries end before their world.
    transforms: Option<Query<(&'static Local, Option<&'static Global>, &'static mut Global)>>,
    world: World,
}

impl Tree for Flecs {
    const NAME: &'static str = "flecs";
    type Entity = Entity;

    fn new() -> Self {
        Flecs { transforms: None, world: World::new() }
    }

    fn spawn_root(&mut self, i: usize) -> Entity {
        self.world.entity().set(body(i)).id()
    }

    #[inline]
    fn spawn_child(&mut self, parent: Entity, i: usize) -> Entity {
        self.world.entity().child_of(parent).set(body(i)).id()
    }

    fn reparent(&mut self, moves: &[(Entity, Entity)]) {
        for &(child, parent) in moves {
            self.world.entity_from_id(child).child_of(parent);
        }
    }

    #[inline]
    fn despawn(&mut self, e: Entity) {
        self.world.entity_from_id(e).destruct();
    }

    fn spawn_node(&mut self, parent: Option<Entity>, i: usize) -> Entity {
        let mut node = self.world.entity();
        if let Some(parent) = parent {
            node = node.child_of(parent);
        }
        node.set(Local { m: local(i) }).set(Global::default()).id()
    }

    fn ready(&mut self) {
        let mut query = self.world.query();
        self.transforms = Some(query.term_at(1).parent().cascade().set_cached().build());
    }

    fn propagate(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.transforms.as_ref().unwrap().each(|(local, parent, global)| {
                global.m = parent.map_or(local.m, |parent| multiply(&parent.m, &local.m));
            });
        });
    }

    fn digest(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.new_query::<&Body>().each_entity(|e, body| {
            let parent = e.parent().map(|parent| parent.get::<&Body>(|parent| parent.v));
            d.link(&body.v, parent.as_ref());
        });
        d.0
    }

    fn digest_nodes(&mut self) -> u64 {
        let mut d = Digest::default();
        self.world.new_query::<&Global>().each(|global| d.matrix(&global.m));
        d.0
    }
}
