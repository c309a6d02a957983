//! Tanks with turrets and guns, each placed relative to what it is mounted on:
//! `cargo run --release -p phalanx --example tanks [picture.svg]`.
//!
//! A part has a local transform of its own, and a global one that a cascade computes from that of its parent. Only parts that
//! moved, and what is mounted on them, are computed again. Both transforms are in grouped sparse sets, so the cascade is a loop
//! over two slices.

use phalanx::relation::{Cascade, ChildOf};
use phalanx::{Component, Entity, World};
use std::fmt::Write;

const SIZE: (f32, f32) = (400.0, 240.0);

/// The transform relative to the parent: an offset, and an angle.
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", track = "row", clone)]
struct Local {
    x: f32,
    y: f32,
    angle: f32,
}

/// The transform in the world.
#[derive(Component, Clone, Copy, Default)]
#[component(layout = "pool", clone)]
struct Global {
    x: f32,
    y: f32,
    angle: f32,
}

/// What moves: how far it goes and how much it turns in a step.
#[derive(Component, Clone)]
#[component(clone)]
struct Motion {
    speed: f32,
    turn: f32,
}

#[derive(Component, Clone)]
#[component(clone)]
struct Part {
    name: &'static str,
    /// How it is drawn.
    shape: &'static str,
}

const HULL: &str = "<path d=\"M-14 -9 H14 V9 H-14 Z M-16 -12 H16 V-8 H-16 Z M-16 8 H16 V12 H-16 Z\" fill=\"#5d7345\"/>";
const TURRET: &str = "<circle r=\"5.5\" fill=\"#8ba663\"/>";
const GUN: &str = "<rect y=\"-1.5\" width=\"16\" height=\"3\" fill=\"#c9d8a4\"/>";

/// Where a tank has been.
#[derive(Component, Clone, Default)]
#[component(clone)]
struct Track(Vec<(f32, f32)>);

/// Computes the transform of a part in the world from that of its parent.
fn place(parent: Option<&Global>, local: &Local, global: &mut Global) {
    let parent = parent.copied().unwrap_or_default();
    let (sin, cos) = parent.angle.sin_cos();
    global.x = parent.x + cos * local.x - sin * local.y;
    global.y = parent.y + sin * local.x + cos * local.y;
    global.angle = parent.angle + local.angle;
}

/// Spawns a tank whose turret has a gun. Returns the tank and the turret.
fn spawn_tank(world: &mut World, name: &'static str, at: Local, drive: Motion, scan: f32) -> (Entity, Entity) {
    let tank = world.spawn((at, Global::default(), Part { name, shape: HULL }, drive, Track::default()));
    let mut mount = |on: Entity, x: f32, name: &'static str, shape: &'static str| {
        let part = (Local { x, y: 0.0, angle: 0.0 }, Global::default(), Part { name, shape });
        world.entity_mut(on).expect("it was spawned just now").spawn_child(part)
    };
    let turret = mount(tank, 3.0, "turret", TURRET);
    mount(turret, 5.0, "gun", GUN);
    world.insert(turret, Motion { speed: 0.0, turn: scan }).expect("it was spawned just now");
    (tank, turret)
}

/// Moves what moves. A part that stands still is not written, so that it does not count as changed.
fn step(world: &mut World) {
    for (mut local, motion) in world.query_mut::<(&mut Local, &Motion)>() {
        if motion.speed != 0.0 || motion.turn != 0.0 {
            local.angle += motion.turn;
            let (sin, cos) = local.angle.sin_cos();
            local.x += cos * motion.speed;
            local.y += sin * motion.speed;
        }
    }
    world.query_mut::<(&mut Track, &Global)>().for_each(|(track, global)| track.0.push((global.x, global.y)));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    Cascade::<ChildOf, Local, Global>::group(&mut world)?;
    let mut cascade = Cascade::<ChildOf, Local, Global>::new();

    let at = |x, y, angle| Local { x, y, angle };
    let drive = |speed, turn| Motion { speed, turn };
    let (alpha, alphas_turret) = spawn_tank(&mut world, "Alpha", at(40.0, 60.0, 0.0), drive(1.5, 0.008), 0.01);
    let (bravo, _) = spawn_tank(&mut world, "Bravo", at(40.0, 190.0, 0.0), drive(2.0, -0.006), -0.02);
    let (charlie, _) = spawn_tank(&mut world, "Charlie", at(330.0, 50.0, 2.5), drive(0.0, 0.0), 0.03);

    assert_eq!(cascade.propagate_changed(&mut world, place), 9);
    for _ in 0..80 {
        step(&mut world);
        // Charlie stands still: only its turret and its gun are computed.
        assert_eq!(cascade.propagate_changed(&mut world, place), 3 + 3 + 2);
    }

    // Alpha breaks down. Its turret goes to Bravo, behind the one that is there; the gun stays on the turret.
    *world.get_mut::<Motion>(alpha)? = drive(0.0, 0.0);
    world.get_mut::<Local>(alphas_turret)?.x = -9.0;
    world.relations_mut::<ChildOf>().link(alphas_turret, bravo)?;
    assert!(
        world.relations_mut::<ChildOf>().link(bravo, alphas_turret).is_err(),
        "a tank is not mounted on its own turret"
    );
    let tree = world.relations::<ChildOf>();
    assert_eq!((tree.children(alpha).len(), tree.descendants(bravo).count()), (0, 4));
    assert_eq!(cascade.propagate_changed(&mut world, place), 2);

    // Charlie is hit, and destroyed with all that is mounted on it.
    let hit = *world.get::<Global>(charlie)?;
    world.despawn(charlie)?;
    assert_eq!(world.len(), 9 - 3);

    // A second tank like Bravo, with both turrets.
    let delta = world.relations_mut::<ChildOf>().clone_tree(bravo)?;
    world.get_mut::<Part>(delta)?.name = "Delta";
    *world.get_mut::<Local>(delta)? = at(60.0, 215.0, 0.0);
    *world.get_mut::<Motion>(delta)? = drive(1.2, -0.004);
    world.get_mut::<Track>(delta)?.0.clear();
    assert_eq!(cascade.propagate_changed(&mut world, place), 5);
    for _ in 0..70 {
        step(&mut world);
        assert_eq!(cascade.propagate_changed(&mut world, place), 5 + 5);
    }

    // All of it at once gives the same as step by step.
    let turret = *world.get::<Global>(alphas_turret)?;
    cascade.propagate(&mut world, place);
    let again = world.get::<Global>(alphas_turret)?;
    assert_eq!((turret.x, turret.y, turret.angle), (again.x, again.y, again.angle));
    let tank = world.get::<Global>(bravo)?;
    assert!(((turret.x - tank.x).hypot(turret.y - tank.y) - 9.0).abs() < 1e-3, "the turret is mounted on Bravo");

    [alpha, bravo, delta].into_iter().for_each(|tank| print_tree(&world, tank));
    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-tanks.svg"),
    };
    std::fs::write(&path, picture(&world, &[alpha, bravo, delta], hit))?;
    println!("picture: {}", path.display());
    Ok(())
}

/// Prints a part and those mounted on it, with their positions.
fn print_tree(world: &World, root: Entity) {
    let tree = world.relations::<ChildOf>();
    for part in std::iter::once(root).chain(tree.descendants(root)) {
        let (Part { name, .. }, global) = world.query::<(&Part, &Global)>().get(part).expect("it is a part");
        println!("{:<16} x {:5.1}, y {:5.1}", "  ".repeat(tree.depth(part) as usize) + name, global.x, global.y);
    }
}

/// The field as an SVG picture. Each part is drawn at its transform in the world, after what it is mounted on.
fn picture(world: &World, tanks: &[Entity], hit: Global) -> String {
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#1b2016\"/>\n\
         <path transform=\"translate({:.1} {:.1})\" d=\"M-8 -8 L8 8 M-8 8 L8 -8\" stroke=\"#e2571e\" stroke-width=\"4\"/>\n",
        hit.x, hit.y
    );
    for track in world.query::<&Track>().iter() {
        let points: Vec<String> = track.0.iter().step_by(4).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let line = "fill=\"none\" stroke=\"#3a4330\" stroke-width=\"18\" stroke-dasharray=\"2 3\"";
        let _ = writeln!(svg, "<polyline points=\"{}\" {line}/>", points.join(" "));
    }
    let tree = world.relations::<ChildOf>();
    for part in tanks.iter().flat_map(|&tank| std::iter::once(tank).chain(tree.descendants(tank))) {
        let (Part { shape, .. }, g) = world.query::<(&Part, &Global)>().get(part).expect("it is a part");
        let (x, y, angle) = (g.x, g.y, g.angle.to_degrees());
        let _ = writeln!(svg, "<g transform=\"translate({x:.1} {y:.1}) rotate({angle:.1})\">{shape}</g>");
    }
    svg + "</svg>\n"
}
