//! An index that listeners keep, a list that observers keep, and work that a collector gathers:
//! `cargo run -p phalanx --example signals`.

use phalanx::{Component, Entity, NoSuchEntity, With, Without, World};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cell(i32, i32);

#[derive(Component, Clone, Debug)]
struct Health(i32);

#[derive(Component)]
#[component(layout = "pool")]
struct Hidden;

/// Which entities are in each cell of the map.
type Grid = Arc<Mutex<BTreeMap<Cell, Vec<Entity>>>>;

/// Keeps the grid true, whatever code moves, spawns or despawns an entity.
fn connect_grid(world: &mut World) -> Grid {
    let grid = Grid::default();
    let leave = |grid: &Grid, cell: Cell, entity: Entity| {
        let mut grid = grid.lock().unwrap();
        if let Some(there) = grid.get_mut(&cell) {
            there.retain(|other| *other != entity);
        }
        grid.retain(|_, there| !there.is_empty());
    };
    let enter = |grid: &Grid, cell: Cell, entity: Entity| grid.lock().unwrap().entry(cell).or_default().push(entity);

    let added = grid.clone();
    world.on_add::<Cell>(move |event, _, _| enter(&added, *event.value, event.entity));
    let replaced = grid.clone();
    world.listen().on_replace::<Cell>(move |event, _, _| {
        leave(&replaced, *event.old, event.entity);
        enter(&replaced, *event.new, event.entity);
    });
    let removed = grid.clone();
    world.on_remove::<Cell>(move |event, _, _| leave(&removed, *event.value, event.entity));
    grid
}

fn main() -> Result<(), NoSuchEntity> {
    let mut world = World::new();
    let grid = connect_grid(&mut world);

    // A rule of the game: what has no health left is despawned. Listeners change the world by commands.
    world.on_set::<Health>(|set, _, commands| {
        if set.new.0 <= 0 {
            commands.despawn(set.entity);
        }
    });
    // An observer of a query: who can be seen.
    let visible = Arc::new(Mutex::new(Vec::new()));
    let list = visible.clone();
    world
        .observe::<Entity, (With<Cell>, Without<Hidden>)>()
        .on_enter(move |entered, _, _| list.lock().unwrap().push(entered.item));
    let list = visible.clone();
    world
        .observe::<Entity, (With<Cell>, Without<Hidden>)>()
        .on_leave(move |left, _, _| list.lock().unwrap().retain(|entity| *entity != left.item));
    // A collector: the dead, with their last health, for the end of the frame.
    let dead = world.collector().removed::<Health>().keep_values::<Health>();

    let [ann, bob, eve] = [(0, 0), (0, 0), (2, 1)].map(|(x, y)| world.spawn((Cell(x, y), Health(10))));
    println!("grid: {:?}", grid.lock().unwrap());
    world.insert(bob, Cell(2, 1))?;
    world.insert(eve, Hidden)?;
    println!("Bob moved:  {:?}", grid.lock().unwrap());
    println!("visible: {:?}", visible.lock().unwrap());
    assert_eq!(*visible.lock().unwrap(), [ann, bob]);

    // One operation on many entities: listeners are called when all of it is done.
    world.insert_batch([(ann, Health(0)), (bob, Health(7)), (eve, Health(-3))])?;
    println!("After the blast: {:?}", grid.lock().unwrap());
    for past in dead.drain(&mut world) {
        println!("{} died with {:?}", past.entity, past.value);
    }
    assert!(world.iter().eq([bob]));
    assert_eq!(*visible.lock().unwrap(), [bob]);
    assert_eq!(*grid.lock().unwrap(), BTreeMap::from([(Cell(2, 1), vec![bob])]));
    Ok(())
}
