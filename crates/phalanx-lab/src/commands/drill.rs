//! `phalanx advise --demo`: a small world with components in right and in wrong places, and what its report says.

use crate::Failure;
use crate::measuring::random::Random;
use phalanx::report::LayoutReport;
use phalanx::{Component, Entity, World};
use serde_json::{Value, json};

const UNITS: usize = 5_000;
const FRAMES: usize = 60;

/// In a table and walked over in every frame: right.
#[derive(Component, Clone, Copy)]
struct Position([f32; 2]);
/// Walked over together with the position, and in a pool: wrong.
#[derive(Component, Clone, Copy)]
#[component(layout = "pool")]
struct Velocity([f32; 2]);
/// Comes and goes, and moves its entity to another table each time: wrong.
#[derive(Component)]
struct Burning(f32);
/// Comes and goes, in a pool: right.
#[derive(Component)]
#[component(layout = "pool")]
struct Stunned(f32);
/// Every entity has it, and it is looked up by entity, through the index of a pool: wrong.
#[derive(Component)]
#[component(layout = "pool")]
struct Armour(f32);
/// The same, at the index of the entity: right.
#[derive(Component)]
#[component(layout = "linear")]
struct Health(f32);
/// Few entities have it, and iteration visits all the gaps: wrong.
#[derive(Component)]
#[component(layout = "linear")]
struct Beacon(f32);

/// Runs the frames, counting, and reports.
fn run() -> LayoutReport {
    let mut world = World::new();
    let mut random = Random::new(11);
    let units: Vec<Entity> = (0..UNITS)
        .map(|n| {
            let unit = (Position([n as f32, 0.0]), Velocity([1.0, 0.5]), Health(10.0), Armour(0.5));
            if n % 100 == 0 { world.spawn((unit, Beacon(1.0))) } else { world.spawn(unit) }
        })
        .collect();
    world.set_access_counting(true);
    for _ in 0..FRAMES {
        world.query_mut::<(&mut Position, &Velocity)>().for_each(|(position, velocity)| {
            position.0[0] += velocity.0[0];
            position.0[1] += velocity.0[1];
        });
        world.query_mut::<&mut Beacon>().for_each(|beacon| beacon.0 = 1.0 - beacon.0);
        hit(&mut world, &units, &mut random);
        recover(&mut world);
    }
    world.layout_report()
}

/// Some strike others: look-ups by entity, and what they leave behind.
fn hit(world: &mut World, units: &[Entity], random: &mut Random) {
    for _ in 0..UNITS / 2 {
        let target = units[random.below(UNITS)];
        let Ok(armour) = world.get::<Armour>(target).map(|armour| armour.0) else { continue };
        if let Ok(health) = world.get_mut::<Health>(target) {
            health.0 -= 0.1 * armour;
        }
    }
    for _ in 0..UNITS / 20 {
        // Units are never despawned here.
        let _ = world.insert(units[random.below(UNITS)], Burning(3.0));
        let _ = world.insert(units[random.below(UNITS)], Stunned(2.0));
    }
}

/// Fires go out, and the stunned get up.
fn recover(world: &mut World) {
    let mut over = Vec::new();
    world.query_mut::<(Entity, &mut Burning)>().for_each(|(entity, burning)| {
        burning.0 -= 1.0;
        over.extend((burning.0 <= 0.0).then_some(entity));
    });
    for entity in over.drain(..) {
        let _ = world.remove::<Burning>(entity);
    }
    world.query_mut::<(Entity, &mut Stunned)>().for_each(|(entity, stunned)| {
        stunned.0 -= 1.0;
        over.extend((stunned.0 <= 0.0).then_some(entity));
    });
    for entity in over {
        let _ = world.remove::<Stunned>(entity);
    }
}

pub(crate) fn show(json: bool) -> Result<String, Failure> {
    let report = run();
    if !json {
        let text = report.to_string();
        return Ok(format!(
            "{FRAMES} frames of a small world, some of it in the wrong places on purpose\n\n{}",
            text.trim_end()
        ));
    }
    let components: Vec<Value> = report
        .components
        .iter()
        .map(|c| {
            let bytes_as = json!({
                "table": c.bytes_as.table, "soa": c.bytes_as.soa, "pool": c.bytes_as.pool, "linear": c.bytes_as.linear
            });
            json!({
                "name": c.name, "placement": c.placement.name(), "size": c.size, "values": c.values,
                "utilisation": c.utilisation, "adds": c.adds, "removes": c.removes, "taken": c.taken,
                "visited": c.visited, "together": c.together, "by_entity": c.by_entity, "bytes": c.bytes,
                "bytes_as": bytes_as, "advice": c.advice.placement.name(), "reason": c.advice.reason
            })
        })
        .collect();
    let whole = json!({ "entities": report.entities, "slots": report.slots, "components": components });
    serde_json::to_string_pretty(&whole).map_err(|error| Failure { sentence: error.to_string(), code: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::report::Placement::{self, Linear, Pool, Table};

    #[test]
    fn what_is_in_the_wrong_place_is_found_and_the_rest_stays() {
        let report = run();
        let advice = |name: &str| -> Option<(Placement, Placement)> {
            let component = report.components.iter().find(|c| c.name.ends_with(name))?;
            Some((component.placement, component.advice.placement))
        };
        for (name, kept, advised) in [
            ("Position", Table, Table),
            ("Velocity", Pool, Table),
            ("Burning", Table, Pool),
            ("Stunned", Pool, Pool),
            ("Armour", Pool, Linear),
            ("Health", Linear, Linear),
            ("Beacon", Linear, Table),
        ] {
            assert_eq!(advice(name), Some((kept, advised)), "{name}\n{report}");
        }
    }
}
