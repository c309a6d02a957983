//! Text queries and reports without memory: each failing allocation is an error.

use phalanx::reflect::{FieldPath, Reflect, TextQuery, TextQueryError, TextQueryProblem};
use phalanx::{Component, World};
use phalanx_testkit::for_every_failing_allocation;

#[derive(Reflect, Clone, Copy)]
#[repr(u8)]
enum Colour {
    Red,
    Green,
}

#[derive(Component)]
struct Health {
    hp: u32,
    parts: [f32; 2],
}

#[derive(Component)]
#[component(layout = "pool")]
struct Title(String);

#[derive(Component)]
struct Team {
    colour: Colour,
}

fn world() -> World {
    let mut world = World::new();
    for hp in 0..20 {
        let colour = if hp < 15 { Colour::Red } else { Colour::Green };
        let e = world.spawn((Health { hp, parts: [0.5, 1.5] }, Team { colour }));
        if hp % 2 == 0 {
            world.insert(e, Title(format!("number {hp}"))).unwrap();
        }
    }
    world.spawn_named("camp", ()).unwrap();
    world
}

/// Runs a query to its end. An error in the text is a result, too.
fn run(world: &World, text: &str) -> Result<(bool, usize), TextQueryError> {
    let found = TextQuery::parse(text).and_then(|query| query.bind(world)).and_then(|query| {
        let page = query.page(world, 1, 5)?;
        query.columns().iter().try_for_each(|column| column.try_clone().map(drop))?;
        Ok(page.len() + query.count(world)?)
    });
    match found {
        Ok(count) => Ok((true, count)),
        Err(error) if matches!(error.problem(), TextQueryProblem::Alloc(_)) => Err(error),
        Err(error) => Ok((false, error.position())),
    }
}

#[test]
fn a_query_without_memory_is_an_error() {
    let world = world();
    for text in [
        "",
        "Health.hp < 10, ?Title, !Title sort Health.hp desc limit 7",
        "Title ~ \"Num\\\"ber\" sort Title",
        "(Health.parts.1 >= 1_0.5e-3, Team | !(Title, Team.colour = red) | Name ~ camp), ?`Health`.`hp`",
        "parent = none, in(camp), #3v0",
        "Health sort Name",
        // Errors have texts of their own.
        "Helth",
        "Health.hq = 1",
        "Team.colour = gren",
        "Health.hp = \"x\"",
        "Health.hp < 1e99",
        "Health sort Health",
        "in(nowhere)",
        "changed(Health)",
        "changed(Health.hp)",
        "Health <> 1",
        "Title ~ \"\\x\"",
        "12 v",
    ] {
        let expected = run(&world, text).unwrap();
        let failed = for_every_failing_allocation(
            || (),
            |()| run(&world, text),
            |(), result| assert!(result.as_ref().map_or(true, |found| *found == expected), "{text}"),
        );
        assert!(failed > 0 || text.is_empty(), "{text}");
    }
}

#[test]
fn figures_without_memory_are_errors() {
    let mut world = world();
    world.set_access_counting(true);
    world.query::<(&Health, &Team)>().iter().for_each(drop);
    let (memory, report) = (world.memory(), world.peek_layout_report());
    for_every_failing_allocation(
        || (),
        |()| world.try_memory(),
        |(), found| assert!(found.as_ref().map_or(true, |found| *found == memory)),
    );
    for_every_failing_allocation(
        || (),
        |()| world.try_peek_layout_report(),
        |(), found| assert!(found.as_ref().map_or(true, |found| *found == report)),
    );
    for table in world.tables() {
        let memory = table.memory();
        for_every_failing_allocation(
            || (),
            |()| table.try_memory(),
            |(), found| assert!(found.as_ref().map_or(true, |found| *found == memory)),
        );
    }
    let id = world.component_id::<Health>().unwrap();
    for path in ["", "parts.1", "none"] {
        for_every_failing_allocation(
            || (),
            |()| match FieldPath::new(world.components(), id, path) {
                Ok(path) => path.try_clone().map(|path| path.as_str().len()),
                Err(phalanx::reflect::FieldError::Alloc(error)) => Err(error),
                Err(_) => Ok(0),
            },
            |(), _| {},
        );
    }
}
