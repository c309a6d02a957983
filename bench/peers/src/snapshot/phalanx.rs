//! Phalanx, its components as their bytes.

use super::Snapshot;
use crate::data::{self, Digest};
use ::phalanx::snapshot::Registry;
use ::phalanx::{Component, World};
use std::sync::LazyLock;

/// The components in one layout, and a world of them.
macro_rules! world {
    ($module:ident, $world:ident, $layout:literal, $name:literal) => {
        mod $module {
            use super::*;

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            struct Transform {
                m: [f32; 16],
            }
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            struct Position {
                x: f32,
                y: f32,
                z: f32,
            }
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            struct Rotation {
                x: f32,
                y: f32,
                z: f32,
            }
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            struct Velocity {
                x: f32,
                y: f32,
                z: f32,
            }

            static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
                let mut registry = Registry::new();
                registry.plain::<Transform>("transform").unwrap();
                registry.plain::<Position>("position").unwrap();
                registry.plain::<Rotation>("rotation").unwrap();
                registry.plain::<Velocity>("velocity").unwrap();
                registry
            });

            pub struct $world(World);

            impl Snapshot for $world {
                const NAME: &'static str = $name;

                fn filled(n: usize) -> Self {
                    let mut world = World::new();
                    world.spawn_batch((0..n).map(|i| {
                        let (t, p, r, v) = data::row(i);
                        (
                            Transform { m: t.m },
                            Position { x: p.x, y: p.y, z: p.z },
                            Rotation { x: r.x, y: r.y, z: r.z },
                            Velocity { x: v.x, y: v.y, z: v.z },
                        )
                    }));
                    $world(world)
                }

                fn save(&self, out: &mut Vec<u8>) {
                    REGISTRY.save(&self.0, out).unwrap();
                }

                fn load(bytes: &[u8]) -> Self {
                    $world(REGISTRY.load_bytes(bytes).unwrap())
                }

                fn digest(&mut self) -> u64 {
                    let mut digest = Digest::default();
                    self.0.query::<&Position>().for_each(|p| digest.position(p.x, p.y, p.z));
                    digest.0
                }
            }
        }
        pub use $module::$world;
    };
}

world!(table, Table, "table", "phalanx table plain");
world!(pool, Pool, "pool", "phalanx pool plain");
world!(linear, Linear, "linear", "phalanx linear plain");
