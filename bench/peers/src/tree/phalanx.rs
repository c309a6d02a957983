//! Phalanx, once for each layout: the components in tables, and in pools, where a group sorts the nodes of transforms by
//! depth.

use super::Tree;
use crate::data::{self, Digest, Matrix};
use crate::harness::Ways;
use ::phalanx::relation::{Cascade, ChildOf};
use ::phalanx::{Component, Entity, World};

macro_rules! tree {
    ($tree:ident, $module:ident, $layout:literal, $name:literal, propagate $way:literal, ready $ready:expr) => {
        mod $module {
            use super::*;

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout)]
            pub struct Body {
                pub v: [f32; 4],
            }

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout)]
            pub struct Local {
                pub m: Matrix,
            }

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout)]
            pub struct Global {
                pub m: Matrix,
            }

            #[inline(always)]
            pub fn body(i: usize) -> Body {
                Body { v: data::body(i).v }
            }
        }

        pub struct $tree {
            world: World,
            cascade: Cascade<ChildOf, $module::Local, $module::Global>,
        }

        impl Tree for $tree {
            const NAME: &'static str = $name;
            type Entity = Entity;

            fn new() -> Self {
                $tree { world: World::new(), cascade: Cascade::new() }
            }

            fn spawn_root(&mut self, i: usize) -> Entity {
                self.world.spawn($module::body(i))
            }

            #[inline]
            fn spawn_child(&mut self, parent: Entity, i: usize) -> Entity {
                self.world.relations_mut::<ChildOf>().spawn(parent, $module::body(i)).unwrap()
            }

            fn spawn_children(&mut self, parents: &[Entity], first: usize, count: usize) -> Vec<Entity> {
                let mut children = self.world.relations_mut::<ChildOf>();
                let spawn = |k| children.spawn(parents[k % parents.len()], $module::body(first + k)).unwrap();
                (0..count).map(spawn).collect()
            }

            fn reparent(&mut self, moves: &[(Entity, Entity)]) {
                let mut children = self.world.relations_mut::<ChildOf>();
                for &(child, parent) in moves {
                    children.link(child, parent).unwrap();
                }
            }

            #[inline]
            fn despawn(&mut self, e: Entity) {
                self.world.despawn(e).unwrap();
            }

            fn spawn_node(&mut self, parent: Option<Entity>, i: usize) -> Entity {
                let node = ($module::Local { m: data::local(i) }, $module::Global { m: Matrix::default() });
                match parent {
                    None => self.world.spawn(node),
                    Some(parent) => self.world.relations_mut::<ChildOf>().spawn(parent, node).unwrap(),
                }
            }

            fn ready(&mut self) {
                $ready(&mut self.world);
            }

            fn propagate(ways: &mut Ways<Self>) {
                ways.add($way, |w| {
                    w.cascade.propagate(&mut w.world, |parent, local, global| {
                        global.m = parent.map_or(local.m, |parent| data::multiply(&parent.m, &local.m));
                    });
                });
            }

            fn digest(&mut self) -> u64 {
                let mut d = Digest::default();
                let (tree, bodies) = (self.world.relations::<ChildOf>(), self.world.query::<&$module::Body>());
                for (e, body) in self.world.query::<(Entity, &$module::Body)>().iter() {
                    let parent = tree.parent(e).map(|parent| bodies.get(parent).unwrap());
                    d.link(&body.v, parent.map(|parent| &parent.v));
                }
                d.0
            }

            fn digest_nodes(&mut self) -> u64 {
                let mut d = Digest::default();
                self.world.query_mut::<&$module::Global>().for_each(|global| d.matrix(&global.m));
                d.0
            }
        }
    };
}

tree!(Table, table, "table", "phalanx table", propagate "", ready |_: &mut World| ());
tree!(Pool, pool, "pool", "phalanx pool", propagate "grouped", ready |world: &mut World| {
    Cascade::<ChildOf, pool::Local, pool::Global>::group(world).unwrap();
});
