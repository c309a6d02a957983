//! Rows by role: a character carries things in hands, belt and pack, and each thing is a row of its own.
//!
//! Run it: `cargo run -p phalanx --example inventory`

use phalanx::query::ExtraRows;
use phalanx::{Component, Entity, Key, Role, RowError, With, World};

#[derive(Component)]
struct Name(&'static str);
#[derive(Component, Clone, Copy)]
struct Weight(f32);
#[derive(Component)]
struct Burning;

const LEFT_HAND: Role = Role(1);
const RIGHT_HAND: Role = Role(2);
const BELT: Role = Role(3);
/// The first place in the pack; the others follow.
const PACK: u32 = 100;

fn place(role: Role) -> String {
    match role {
        LEFT_HAND => "left hand".into(),
        RIGHT_HAND => "right hand".into(),
        BELT => "belt".into(),
        Role(n) => format!("pack, place {}", n - PACK + 1),
    }
}

/// What an entity carries: its extra rows, in the order in which it got them.
fn show(world: &World, who: Entity) -> Result<(), RowError> {
    println!("{}:", world.row(Key::main(who))?.get::<Name>()?.0);
    for (key, row) in world.rows(who)?.skip(1) {
        let fire = if world.row(row).and_then(|row| row.get::<Burning>()).is_ok() { ", burning" } else { "" };
        let (name, weight) = (world.row(row)?.get::<Name>()?, world.row(row)?.get::<Weight>()?);
        println!("  {:<14} {} ({} kg{fire})", place(key.role), name.0, weight.0);
    }
    Ok(())
}

fn main() -> Result<(), RowError> {
    let mut world = World::new();
    let ranger = world.spawn(Name("Ranger"));
    let scout = world.spawn(Name("Scout"));
    let at = |who: Entity, role: Role| Key::main(who).with_role(role);

    world.add_row(at(ranger, LEFT_HAND), (Name("bow"), Weight(1.5)))?;
    world.add_row(at(ranger, BELT), (Name("knife"), Weight(0.5)))?;
    for (n, thing) in (0..).zip([("rope", 3.0), ("bread", 1.0), ("tent", 6.0)]) {
        world.add_row(at(ranger, Role(PACK + n)), (Name(thing.0), Weight(thing.1)))?;
    }
    // A handle names the row wherever it goes, without a search.
    let torch = world.add_row(at(scout, RIGHT_HAND), (Name("torch"), Weight(1.0)))?;
    world.row_mut(torch)?.insert(Burning);

    // A hand holds one thing.
    let refused = world.add_row(at(ranger, LEFT_HAND), (Name("shield"), Weight(4.0)));
    println!("a second thing in the left hand: {}\n", refused.unwrap_err());

    show(&world, ranger)?;
    show(&world, scout)?;

    // A query is about entities; one that asks for extra rows visits them too, and says whose each is.
    assert_eq!((world.query::<&Name>().len(), world.query::<(Key, &Name)>().len()), (2, 8));
    let mut load = std::collections::BTreeMap::new();
    for (who, weight) in world.query_filtered::<(Entity, &Weight), ExtraRows>().iter() {
        *load.entry(who).or_insert(0.0) += weight.0;
    }
    for (who, kilograms) in load {
        println!("{} carries {kilograms} kg", world.row(Key::main(who))?.get::<Name>()?.0);
    }
    for (key, name) in world.query_filtered::<(Key, &Name), (ExtraRows, With<Burning>)>().iter() {
        println!("the {} in the {} burns", name.0, place(key.role));
    }

    // The bread is eaten, the torch burns out, and with the ranger all that is carried ends.
    world.remove_row(at(ranger, Role(PACK + 1)))?;
    world.row_mut(torch)?.remove::<Burning>();
    assert_eq!((world.len(), world.row_count()), (2, 2 + 5));
    world.despawn(ranger)?;
    assert_eq!((world.len(), world.row_count()), (1, 2));
    assert!(world.row(torch).is_ok());
    Ok(())
}
