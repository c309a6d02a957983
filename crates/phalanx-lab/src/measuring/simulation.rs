//! A world at work: a million entities of six kinds, frame by frame.
//!
//! The same simulation runs in two worlds that differ in one line a component: position, velocity and acceleration as
//! structs in a table's columns, and with a lane for each field. Frames of the two are interleaved.

use crate::measuring::stats::Summary;
use crate::measuring::timing::{Effort, Run, interleave, time};
use phalanx::snapshot::{Registry, RegistryError};
use phalanx::{Bundle, Component, Entity, With, Without, World};
use phalanx_store::Soa;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::VecDeque;

/// How the components that move are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layout {
    Table,
    Soa,
}

impl Layout {
    pub(crate) const ALL: [Layout; 2] = [Layout::Table, Layout::Soa];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Table => "table",
            Layout::Soa => "soa",
        }
    }
}

/// What a system took, in one of the layouts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SystemTime {
    pub(crate) layout: Layout,
    pub(crate) system: &'static str,
    /// The components that it touches, or what it does.
    pub(crate) about: &'static str,
    /// Entities that it visits in a frame.
    pub(crate) entities: usize,
    /// Nanoseconds a frame.
    pub(crate) time: Summary,
}

impl SystemTime {
    /// Millions of entities a second.
    pub(crate) fn throughput(&self) -> f64 {
        self.entities as f64 / self.time.median * 1e3
    }
}

/// A kind of entity: a fixed set of components.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) entities: usize,
    /// Bytes of its components.
    pub(crate) bytes: usize,
}

/// What a world holds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) layout: Layout,
    /// From the allocator, for entities and components.
    pub(crate) held: usize,
    /// Of these, the components of those that are alive.
    pub(crate) components: usize,
}

/// Everything about the simulation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Simulation {
    pub(crate) entities: usize,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) rows: Vec<SystemTime>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) findings: Vec<String>,
}

impl Simulation {
    pub(crate) fn row(&self, layout: Layout, system: &str) -> Option<&SystemTime> {
        self.rows.iter().find(|row| row.layout == layout && row.system == system)
    }
}

/// The row that is the sum of all others.
pub(crate) const FRAME: &str = "whole frame";

/// An unoptimised build takes a tenth, or tests would take minutes.
pub(crate) const ENTITIES: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Velocity {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Acceleration {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa")]
struct PositionLanes {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa")]
struct VelocityLanes {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa")]
struct AccelerationLanes {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Orientation([f32; 4]);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Mass(f32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Health(f32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Mana(f32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Joystick(f32, f32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Planner {
    goal: [f32; 3],
    patience: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Intensity(f32);
/// Comes and goes: no data, but another table.
#[derive(Component, Clone, Copy)]
struct Stunned;

const STEP: f32 = 1.0 / 60.0;

/// The three components that move, in one layout.
trait Moving: 'static {
    const LAYOUT: Layout;
    type Position: Component;
    type Velocity: Component;
    type Acceleration: Component;
    fn position(at: f32) -> Self::Position;
    fn velocity(at: f32) -> Self::Velocity;
    fn acceleration() -> Self::Acceleration;
    fn motion(world: &mut World);
    fn plan(world: &mut World);
    fn extent(world: &mut World) -> f32;
}

struct Structs;
struct Lanes;

impl Moving for Structs {
    const LAYOUT: Layout = Layout::Table;
    type Position = Position;
    type Velocity = Velocity;
    type Acceleration = Acceleration;
    fn position(at: f32) -> Position {
        Position { x: at, y: 1.0, z: 0.0 }
    }
    fn velocity(at: f32) -> Velocity {
        Velocity { x: 1.0, y: at.fract(), z: 0.0 }
    }
    fn acceleration() -> Acceleration {
        Acceleration { x: 0.0, y: -0.01, z: 0.0 }
    }
    fn motion(world: &mut World) {
        world.query_mut::<(&mut Position, &mut Velocity, &Acceleration)>().for_each(|(p, v, a)| {
            v.x += a.x * STEP;
            v.y += a.y * STEP;
            v.z += a.z * STEP;
            p.x += v.x * STEP;
            p.y += v.y * STEP;
            p.z += v.z * STEP;
        });
    }
    fn plan(world: &mut World) {
        world.query_mut::<(&mut Acceleration, &Position, &mut Planner, &Mass)>().for_each(|(a, p, planner, mass)| {
            planner.patience *= 0.999;
            let push = planner.patience / mass.0;
            a.x = (planner.goal[0] - p.x) * push;
            a.y = (planner.goal[1] - p.y) * push;
            a.z = (planner.goal[2] - p.z) * push;
        });
    }
    fn extent(world: &mut World) -> f32 {
        world.query::<&Position>().chunks().flatten().fold(f32::MIN, |most, p| most.max(p.x))
    }
}

impl Moving for Lanes {
    const LAYOUT: Layout = Layout::Soa;
    type Position = PositionLanes;
    type Velocity = VelocityLanes;
    type Acceleration = AccelerationLanes;
    fn position(at: f32) -> PositionLanes {
        PositionLanes { x: at, y: 1.0, z: 0.0 }
    }
    fn velocity(at: f32) -> VelocityLanes {
        VelocityLanes { x: 1.0, y: at.fract(), z: 0.0 }
    }
    fn acceleration() -> AccelerationLanes {
        AccelerationLanes { x: 0.0, y: -0.01, z: 0.0 }
    }
    fn motion(world: &mut World) {
        /// One field of all.
        fn lane(p: &mut [f32], v: &mut [f32], a: &[f32]) {
            for ((p, v), a) in p.iter_mut().zip(v).zip(a) {
                *v += a * STEP;
                *p += *v * STEP;
            }
        }
        for (p, v, a) in world.query_mut::<(&mut PositionLanes, &mut VelocityLanes, &AccelerationLanes)>().chunks() {
            lane(p.x, v.x, a.x);
            lane(p.y, v.y, a.y);
            lane(p.z, v.z, a.z);
        }
    }
    fn plan(world: &mut World) {
        let query = world.query_mut::<(&mut AccelerationLanes, &PositionLanes, &mut Planner, &Mass)>();
        query.for_each(|(a, p, planner, mass)| {
            planner.patience *= 0.999;
            let push = planner.patience / mass.0;
            *a.x = (planner.goal[0] - p.x) * push;
            *a.y = (planner.goal[1] - p.y) * push;
            *a.z = (planner.goal[2] - p.z) * push;
        });
    }
    fn extent(world: &mut World) -> f32 {
        world.query::<&PositionLanes>().chunks().flat_map(|p| p.x).fold(f32::MIN, |most, x| most.max(*x))
    }
}

/// A world, with the entities that are spawned and despawned during a run.
struct Stage {
    world: World,
    bullets: VecDeque<Entity>,
    npcs: Vec<Entity>,
    frame: usize,
}

/// Returns the name, the number of entities and the component sizes of each kind.
fn shares(entities: usize) -> [(&'static str, usize, &'static [usize]); 6] {
    const MOVING: usize = 36;
    const BODY: usize = MOVING + 16 + 4;
    let of = |share: usize| entities * share / 1000;
    let players = of(1).max(1);
    let others = [(99, BODY), (200, 12), (300, BODY + 8 + 16), (100, 12 + 16 + 4)].map(|(share, _)| of(share));
    let bullets = entities - players - others.iter().sum::<usize>();
    [
        ("player", players, &[BODY, 8, 8]),
        ("cart", others[0], &[BODY]),
        ("waypoint", others[1], &[12]),
        ("npc", others[2], &[BODY, 8, 16]),
        ("bullet", bullets, &[MOVING]),
        ("light", others[3], &[12, 16, 4]),
    ]
}

pub(crate) fn kinds(entities: usize) -> Vec<Kind> {
    shares(entities).map(|(name, entities, parts)| Kind { name, entities, bytes: parts.iter().sum() }).into()
}

fn stage<M: Moving>(entities: usize) -> Stage {
    let mut world = World::new();
    let [players, carts, waypoints, npcs, bullets, lights] = shares(entities).map(|kind| kind.1);
    let at = |n: usize| n as f32 * 0.01;
    let moving = |n| (M::position(at(n)), M::velocity(at(n)), M::acceleration());
    let body = |n| (moving(n), Orientation([0.0, 0.0, 0.0, 1.0]), Mass(1.0 + at(n % 100)));
    fn fill<B: Bundle>(world: &mut World, count: usize, bundle: impl Fn(usize) -> B) -> Vec<Entity> {
        let mut spawner = world.spawner::<B>();
        spawner.reserve(count);
        (0..count).map(|n| spawner.spawn(bundle(n))).collect()
    }
    let planner = Planner { goal: [5.0, 5.0, 0.0], patience: 1.0 };
    fill(&mut world, players, |n| (body(n), Health(1.0), Mana(0.5), Joystick(0.1, 0.0)));
    fill(&mut world, carts, body);
    fill(&mut world, waypoints, |n| M::position(at(n)));
    let npcs = fill(&mut world, npcs, |n| (body(n), Health(0.7), Mana(0.2), planner));
    let bullets = fill(&mut world, bullets, moving).into();
    fill(&mut world, lights, |n| (M::position(at(n)), Orientation([0.0; 4]), Intensity(1.0)));
    Stage { world, bullets, npcs, frame: 0 }
}

/// Returns what the measured worlds are saved as.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    registry.plain::<Velocity>("velocity")?;
    registry.plain::<Acceleration>("acceleration")?;
    registry.plain::<Orientation>("orientation")?;
    registry.plain::<Mass>("mass")?;
    registry.plain::<Health>("health")?;
    registry.plain::<Mana>("mana")?;
    registry.plain::<Joystick>("joystick")?;
    registry.plain::<Planner>("planner")?;
    registry.plain::<Intensity>("intensity")?;
    registry.tag("stunned", || Stunned)?;
    Ok(registry)
}

/// A world of structs that was saved, ready to go on.
fn resumed(mut world: World) -> Stage {
    let stunned: Vec<Entity> = world.query_filtered::<Entity, With<Stunned>>().iter().collect();
    for entity in stunned {
        // It was found there.
        let _ = world.remove::<Stunned>(entity);
    }
    let bullets = world.query_filtered::<Entity, (With<Velocity>, Without<Orientation>)>().iter().collect();
    let npcs = world.query_filtered::<Entity, With<Planner>>().iter().collect();
    Stage { world, bullets, npcs, frame: 0 }
}

/// A system: its name, what it touches, and itself; it says how many entities it visited.
type System = (&'static str, &'static str, fn(&mut Stage) -> usize);

fn systems<M: Moving>() -> Vec<System> {
    vec![
        ("motion", "position, velocity, acceleration", |stage| {
            M::motion(&mut stage.world);
            stage.world.query_mut::<&M::Velocity>().len()
        }),
        ("planning", "acceleration, position, planner, mass", |stage| {
            M::plan(&mut stage.world);
            stage.world.query_mut::<&Planner>().len()
        }),
        ("turning", "orientation", |stage| {
            stage.world.query_mut::<&mut Orientation>().for_each(|o| {
                o.0[2] += STEP * o.0[3];
                o.0[3] -= STEP * o.0[2];
            });
            stage.world.query_mut::<&Orientation>().len()
        }),
        ("regeneration", "health, mana", |stage| {
            stage.world.query_mut::<(&mut Health, &mut Mana)>().for_each(|(health, mana)| {
                let healed = (mana.0 * 0.01).min(1.0 - health.0);
                health.0 += healed;
                mana.0 = (mana.0 - healed + 0.001).min(1.0);
            });
            stage.world.query_mut::<&Health>().len()
        }),
        ("steering", "orientation, joystick", |stage| {
            stage.world.query_mut::<(&mut Orientation, &Joystick)>().for_each(|(o, j)| {
                o.0[0] += j.0 * STEP;
                o.0[1] += j.1 * STEP;
            });
            stage.world.query_mut::<&Joystick>().len()
        }),
        ("flicker", "intensity, orientation", |stage| {
            stage.world.query_mut::<(&mut Intensity, &Orientation)>().for_each(|(i, o)| i.0 = 0.5 + 0.5 * o.0[3]);
            stage.world.query_mut::<&Intensity>().len()
        }),
        ("extent", "position.x alone", |stage| {
            std::hint::black_box(M::extent(&mut stage.world));
            stage.world.query_mut::<&M::Position>().len()
        }),
        ("bullets", "1 % despawned and spawned", |stage| {
            let count = stage.bullets.len() / 100;
            for _ in 0..count {
                if let Some(bullet) = stage.bullets.pop_front() {
                    // Only this system despawns bullets.
                    let _ = stage.world.despawn(bullet);
                }
            }
            let mut spawner = stage.world.spawner::<(M::Position, M::Velocity, M::Acceleration)>();
            for n in 0..count {
                let at = n as f32 * 0.01;
                stage.bullets.push_back(spawner.spawn((M::position(at), M::velocity(at), M::acceleration())));
            }
            count
        }),
        ("stunning", "1 % of npcs change tables", |stage| {
            let count = stage.npcs.len() / 100;
            let from = stage.frame / 2 % 100 * count;
            for npc in &stage.npcs[from..from + count] {
                // An npc is stunned for one frame.
                let _ = match stage.frame % 2 {
                    0 => stage.world.insert(*npc, Stunned).is_ok(),
                    _ => stage.world.remove::<Stunned>(*npc).is_ok(),
                };
            }
            debug_assert!(
                stage.frame % 2 == 1 || stage.world.query_filtered_mut::<Entity, With<Stunned>>().len() == count
            );
            stage.frame += 1;
            count
        }),
    ]
}

/// The samples of a world: by system, and how many entities it visited.
struct Lab {
    stage: Stage,
    systems: Vec<System>,
    samples: Vec<Vec<f64>>,
    visited: Vec<usize>,
    layout: Layout,
}

impl Lab {
    fn new<M: Moving>(entities: usize) -> Lab {
        Lab::with::<M>(stage::<M>(entities))
    }

    fn with<M: Moving>(stage: Stage) -> Lab {
        let systems = systems::<M>();
        let (samples, visited) = (vec![Vec::new(); systems.len() + 1], vec![0; systems.len()]);
        Lab { stage, systems, samples, visited, layout: M::LAYOUT }
    }

    /// One frame; the nanoseconds of all of it.
    fn frame(&mut self) -> f64 {
        let mut whole = 0.0;
        for (at, (_, _, system)) in self.systems.iter().enumerate() {
            let took = time(|| self.visited[at] = system(&mut self.stage));
            self.samples[at].push(took);
            whole += took;
        }
        self.samples[self.systems.len()].push(whole);
        whole
    }

    fn rows(&self) -> Vec<SystemTime> {
        let whole = (FRAME, "all systems, one after another");
        let each = self.systems.iter().map(|(name, about, _)| (*name, *about)).chain([whole]);
        let visited = self.visited.iter().copied().chain([self.stage.world.len()]);
        let mut rows = Vec::new();
        for (((system, about), entities), samples) in each.zip(visited).zip(&self.samples) {
            // The first frames find out what the later ones know.
            let settled = if samples.len() > 4 { &samples[2..] } else { samples };
            if let Some(time) = Summary::of(settled) {
                rows.push(SystemTime { layout: self.layout, system, about, entities, time });
            }
        }
        rows
    }
}

/// Runs frames of both worlds in turns. That of structs may be one that was saved, and is returned.
pub(crate) fn measure(entities: usize, start: Option<World>, effort: Effort, step: impl Fn()) -> (Simulation, World) {
    let structs = match start {
        Some(world) => Lab::with::<Structs>(resumed(world)),
        None => Lab::new::<Structs>(entities),
    };
    let labs = [structs, Lab::new::<Lanes>(entities)].map(RefCell::new);
    let mut frames: Vec<Run<'_>> = Vec::new();
    for lab in &labs {
        let step = &step;
        frames.push(Box::new(move || {
            step();
            lab.borrow_mut().frame()
        }));
    }
    interleave(effort, &mut frames);
    drop(frames);
    let kinds = kinds(entities);
    let components = kinds.iter().map(|kind| kind.entities * kind.bytes).sum();
    let labs = labs.map(RefCell::into_inner);
    let memory =
        labs.iter().map(|lab| Memory { layout: lab.layout, held: lab.stage.world.memory().total(), components });
    let simulation = Simulation {
        entities,
        memory: memory.collect(),
        rows: labs.iter().flat_map(Lab::rows).collect(),
        kinds,
        findings: Vec::new(),
    };
    let [structs, _] = labs;
    (simulation, structs.stage.world)
}

#[cfg(test)]
mod tests;
