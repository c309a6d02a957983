//! A village as a graph: who knows whom and since when, and who owns how many of what. Each link has data.
//!
//! Run it: `cargo run -p phalanx --example social_graph`

use phalanx::{CommandBuffer, Component, Entity, Relation, RelationError, StructuralError, World};

#[derive(Component)]
struct Name(&'static str);

/// A link between two people, which leads both ways.
#[derive(Component, Relation)]
#[relation(symmetric)]
struct Knows {
    since: u32,
}

/// A link from a person to a kind of goods, which cannot be despawned while it is owned.
#[derive(Component, Relation)]
#[relation(many_to_many, on_despawn = "refuse")]
struct Owns {
    count: u32,
}

fn name(world: &World, entity: Entity) -> &'static str {
    world.get::<Name>(entity).map_or("a link", |name| name.0)
}

/// Prints what a person owns.
fn show(world: &World, owner: Entity) {
    let goods = world.links::<Owns>().targets(owner).map(|(goods, link)| {
        let count = world.get::<Owns>(link).map_or(0, |owns| owns.count);
        format!("{count} {}", name(world, goods))
    });
    println!("{} owns {}", name(world, owner), goods.collect::<Vec<_>>().join(" and "));
}

/// Returns how many of some goods there are.
fn total(world: &World, goods: Entity) -> u32 {
    world.links::<Owns>().sources(goods).filter_map(|(_, link)| Some(world.get::<Owns>(link).ok()?.count)).sum()
}

/// Returns the people that a person knows, directly or by others, each with the number of steps.
fn circle(world: &World, person: Entity) -> Vec<(Entity, u32)> {
    let (mut found, mut at) = (vec![(person, 0)], 0);
    while let Some(&(next, steps)) = found.get(at) {
        for other in world.links::<Knows>().neighbours(next) {
            if !found.iter().any(|(known, _)| *known == other) {
                found.push((other, steps + 1));
            }
        }
        at += 1;
    }
    found
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let [ann, bob, cat, dan, eve] = ["Ann", "Bob", "Cat", "Dan", "Eve"].map(|name| world.spawn(Name(name)));
    let [sheep, boats] = ["sheep", "boats"].map(|name| world.spawn(Name(name)));

    let mut knows = world.links_mut::<Knows>();
    for (one, other, since) in
        [(ann, bob, 1999), (bob, cat, 2004), (dan, cat, 2010), (eve, dan, 1987), (ann, cat, 2015)]
    {
        knows.link(one, other, Knows { since })?;
    }
    let mut owns = world.links_mut::<Owns>();
    for (owner, goods, count) in [(ann, sheep, 12), (ann, boats, 1), (bob, sheep, 30), (cat, boats, 2)] {
        owns.link(owner, goods, Owns { count })?;
    }

    // A link is found from either end. Linking the same two again replaces the data.
    world.links_mut::<Knows>().link(cat, ann, Knows { since: 2013 })?;
    let link = world.links::<Knows>().find(ann, cat).expect("they know each other");
    assert_eq!(world.get::<Knows>(link)?.since, 2013);

    let circle_of_ann = circle(&world, ann);
    let steps = circle_of_ann.iter().map(|(other, steps)| format!("{} {steps}", name(&world, *other)));
    println!("steps from Ann: {}", steps.collect::<Vec<_>>().join(", "));
    assert_eq!(circle_of_ann, [(ann, 0), (bob, 1), (cat, 1), (dan, 2), (eve, 3)]);

    // The data of links is a component like any other: queries visit all links at once.
    let oldest = world.query::<(Entity, &Knows)>().iter().min_by_key(|(_, knows)| knows.since).expect("there are some");
    let (one, other) = world.links::<Knows>().ends(oldest.0).expect("a link has two ends");
    println!("{} and {} know each other since {}", name(&world, one), name(&world, other), oldest.1.since);
    assert_eq!((one, other), (eve, dan));
    world.query_mut::<&mut Owns>().for_each(|owns| owns.count *= 2);
    assert_eq!((total(&world, sheep), total(&world, boats)), (84, 6));

    // Dan buys four sheep of Ann, recorded as commands.
    let mut commands = CommandBuffer::new();
    let of_ann = world.links::<Owns>().find(ann, sheep).expect("Ann owns sheep");
    commands.insert(of_ann, Owns { count: 20 });
    commands.link_with(&world, dan, sheep, Owns { count: 4 });
    commands.apply(&mut world);
    [ann, bob, cat, dan].into_iter().for_each(|owner| show(&world, owner));
    assert_eq!(total(&world, sheep), 84);

    // What is owned cannot be despawned.
    match world.try_despawn(boats) {
        Err(StructuralError::Relation(error @ RelationError::Refused { count: 2, .. })) => println!("{error}"),
        other => panic!("Ann and Cat own boats: {other:?}"),
    }
    world.links_mut::<Owns>().unlink(ann, boats)?;
    // Cat moves away. All links of Cat are despawned too, and no chain leads from Ann to Dan any more.
    world.despawn(cat)?;
    assert!(world.links::<Owns>().sources(boats).next().is_none());
    world.despawn(boats)?;
    assert_eq!(circle(&world, ann), [(ann, 0), (bob, 1)]);

    // Four people, sheep, two links of `Knows` and three of `Owns`.
    assert_eq!((world.query::<&Knows>().len(), world.query::<&Owns>().len(), world.len()), (2, 3, 5 + 2 + 3));
    world.validate()?;
    Ok(())
}
