//! Changes that are recorded while a query runs, and applied later: `cargo run -p phalanx --example commands`.

use phalanx::executor::ThreadPool;
use phalanx::{CommandBuffer, CommandInbox, Component, Entity, World};

#[derive(Component)]
struct Age(u32);

/// What bacteria eat: only a few have some at any time, so it is in a pool.
#[derive(Component)]
#[component(layout = "pool")]
struct Food(u32);

#[derive(Component)]
#[component(entities)]
struct Mother(Entity);

/// One generation: those with food divide, the others age, and the old die.
fn generation(world: &mut World, commands: &mut CommandBuffer) {
    for (cell, age, food) in world.query_mut::<(Entity, &mut Age, Option<&mut Food>)>() {
        match food {
            Some(food) => {
                food.0 -= 1;
                if food.0 == 0 {
                    commands.remove::<Food>(cell);
                }
                commands.spawn((Age(0), Mother(cell)));
            }
            None => age.0 += 1,
        }
        if age.0 > 2 {
            commands.despawn(cell);
        }
    }
    let report = commands.apply(world);
    assert!(report.is_complete());
    println!("{:>3} cells after {:>2} commands", world.len(), report.executed());
}

fn main() {
    let mut world = World::new();
    world.spawn_batch((0..6).map(|n| (Age(0), (n % 2 == 0).then_some(Food(1 + n)))));
    // One buffer for all generations: it keeps its memory.
    let mut commands = CommandBuffer::new();
    for _ in 0..8 {
        generation(&mut world, &mut commands);
    }

    // An entity that does not exist yet can be named by later commands.
    let queen = commands.spawn_with(&world, Age(0));
    for _ in 0..3 {
        commands.spawn((Age(0), Mother(queen)));
    }
    commands.apply(&mut world);
    let daughters = world.query::<&Mother>().iter().filter(|mother| mother.0 == queen).count();
    println!("The queen has {daughters} daughters.");

    // What cannot be done is skipped and reported, ...
    commands.despawn(queen);
    commands.insert(queen, Food(9));
    println!("{}", commands.apply(&mut world));
    // ... or refused as a whole.
    let before = world.len();
    commands.spawn(Age(0));
    commands.despawn(queen);
    println!("{}", commands.try_apply(&mut world).unwrap_err());
    assert_eq!(world.len(), before);

    // A parallel loop: each batch records, and the order is that of the batches, whatever the threads do.
    let pool = ThreadPool::new(4);
    world.query::<(Entity, &Age)>().par_for_each_with_on(&pool, &mut commands, |commands, (cell, age)| {
        if age.0 == 0 {
            commands.insert(cell, Food(1));
        }
    });
    println!("{} cells are fed.", commands.apply(&mut world).executed());

    // Threads of your own: an inbox merges their buffers by key.
    let mut inbox = CommandInbox::new();
    std::thread::scope(|scope| {
        for key in (0..3).rev() {
            let inbox = &inbox;
            scope.spawn(move || {
                let mut commands = CommandBuffer::new();
                commands.spawn(Age(100 + key));
                inbox.submit(key, 0, commands).expect("each thread has a key of its own");
            });
        }
    });
    assert!(inbox.apply(&mut world).is_complete());
    let ages: Vec<u32> = world.query::<&Age>().iter().map(|age| age.0).filter(|age| *age >= 100).collect();
    println!("Of the inbox: {ages:?}");
    assert_eq!(ages, [100, 101, 102]);
}
