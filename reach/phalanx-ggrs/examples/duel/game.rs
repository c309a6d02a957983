//! The game: two players in a hall with loose stones. Bullets set on fire, and open boxes that have an item in them.

use phalanx::snapshot::{LoadError, Registry, RegistryError};
use phalanx::{Component, Entity, World};
use serde::{Deserialize, Serialize};

/// Half of the side of the hall.
const HALL: f32 = 100.0;
const STONES: usize = 400;
const BOXES: usize = 12;

/// The buttons of a player in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Buttons(pub(crate) u8);

impl Buttons {
    pub(crate) const LEFT: u8 = 1;
    pub(crate) const RIGHT: u8 = 2;
    pub(crate) const UP: u8 = 4;
    pub(crate) const DOWN: u8 = 8;
    pub(crate) const FIRE: u8 = 16;
    pub(crate) const USE: u8 = 32;

    /// Returns what a player does in a frame, if it is played by a machine: something else every seven frames.
    pub(crate) fn of(seed: u64, player: usize, frame: u64) -> Buttons {
        let mut dice = Dice { state: seed ^ (frame / 7) << 8 ^ player as u64 };
        dice.roll();
        Buttons((dice.roll() & dice.roll() & 63) as u8)
    }

    fn has(self, button: u8) -> bool {
        self.0 & button != 0
    }
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Velocity {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Player {
    pub(crate) number: u32,
    pub(crate) health: i32,
    pub(crate) deaths: u32,
}

/// How many items of each kind a player has.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Inventory {
    pub(crate) medicine: u16,
    pub(crate) water: u16,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Bullet {
    pub(crate) owner: u32,
    pub(crate) frames_left: u32,
}

/// A status effect: the player loses health until the fire is out.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
pub(crate) struct Burning {
    pub(crate) frames_left: u32,
}

/// A box with an item in it: medicine, or water.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct ItemBox {
    pub(crate) has_water: u32,
}

/// Random numbers that are part of the world.
#[derive(Clone, Copy, Debug, PartialEq, Component)]
#[component(plain)]
pub(crate) struct Dice {
    pub(crate) state: u64,
}

impl Dice {
    pub(crate) fn roll(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) as u32
    }

    /// Returns a number from -1 to 1.
    fn unit(&mut self) -> f32 {
        (self.roll() % 2001) as f32 / 1000.0 - 1.0
    }
}

/// The number of the frame, and the number of hits so far.
#[derive(Clone, Copy, Debug, PartialEq, Component)]
#[component(plain)]
pub(crate) struct Score {
    pub(crate) frame: u64,
    pub(crate) hits: u64,
}

/// What is heard: it is delivered once, however often the frame is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sound {
    Shot,
    Hit,
    Opened,
}

/// Returns what is saved of a world.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    registry.plain::<Velocity>("velocity")?;
    registry.plain::<Player>("player")?;
    registry.plain::<Inventory>("inventory")?;
    registry.plain::<Bullet>("bullet")?;
    registry.plain::<Burning>("burning")?;
    registry.plain::<ItemBox>("box")?;
    registry.plain_resource::<Dice>("dice")?;
    registry.plain_resource::<Score>("score")?;
    Ok(registry)
}

/// Prepares a world that was created or loaded.
fn prepare(world: &mut World) {
    world.resources_mut().keep_plain::<Dice>();
    world.resources_mut().keep_plain::<Score>();
}

/// Makes a world of the bytes of a snapshot.
pub(crate) fn load(registry: &Registry, bytes: &[u8]) -> Result<World, LoadError> {
    let mut world = registry.load_bytes(bytes)?;
    prepare(&mut world);
    Ok(world)
}

/// Creates the world that all players begin with.
pub(crate) fn new_world(seed: u64) -> World {
    let mut world = World::new();
    let mut dice = Dice { state: seed };
    for number in 0..2 {
        spawn_player(&mut world, number);
    }
    for _ in 0..STONES {
        let position = Position { x: dice.unit() * HALL, y: dice.unit() * HALL };
        world.spawn((position, Velocity { x: dice.unit(), y: dice.unit() }));
    }
    for _ in 0..BOXES {
        spawn_box(&mut world, &mut dice);
    }
    world.insert_resource(dice);
    world.insert_resource(Score { frame: 0, hits: 0 });
    prepare(&mut world);
    world
}

fn spawn_player(world: &mut World, number: u32) {
    let position = Position { x: -50.0 + 100.0 * number as f32, y: 10.0 * number as f32 };
    let player = Player { number, health: 100, deaths: 0 };
    world.spawn((position, Velocity { x: 0.0, y: 0.0 }, player, Inventory { medicine: 1, water: 1 }));
}

fn spawn_box(world: &mut World, dice: &mut Dice) {
    let position = Position { x: dice.unit() * HALL, y: dice.unit() * HALL };
    world.spawn((position, ItemBox { has_water: dice.roll() % 2 }));
}

/// Simulates a frame. Sounds are passed to `play`.
pub(crate) fn simulate(world: &mut World, inputs: &[Option<Buttons>], mut play: impl FnMut(&mut World, Sound)) {
    // A player who joins later gets a body in the first frame that has its input.
    let players = world.query::<&Player>().iter().count();
    (players..inputs.len()).for_each(|number| spawn_player(world, number as u32));
    steer(world, inputs, &mut play);
    travel(world);
    burn(world);
    hit(world, &mut play);
    use_items(world, inputs);
    if let Ok(mut score) = world.resource_mut::<Score>() {
        score.frame += 1;
    }
}

fn input_of(inputs: &[Option<Buttons>], player: &Player) -> Buttons {
    inputs.get(player.number as usize).copied().flatten().unwrap_or_default()
}

fn steer(world: &mut World, inputs: &[Option<Buttons>], play: &mut impl FnMut(&mut World, Sound)) {
    let frame = world.resource::<Score>().map_or(0, |score| score.frame);
    let mut shots = Vec::new();
    world.query_mut::<(&Player, &Position, &mut Velocity)>().for_each(|(player, position, velocity)| {
        let buttons = input_of(inputs, player);
        let push = |less: u8, more: u8| f32::from(i8::from(buttons.has(more)) - i8::from(buttons.has(less)));
        velocity.x = velocity.x * 0.9 + 0.3 * push(Buttons::LEFT, Buttons::RIGHT);
        velocity.y = velocity.y * 0.9 + 0.3 * push(Buttons::UP, Buttons::DOWN);
        if buttons.has(Buttons::FIRE) && frame.is_multiple_of(6) {
            let side = if player.number == 0 { 1.0 } else { -1.0 };
            let start = Position { x: position.x + 4.0 * side, y: position.y };
            shots.push((start, Velocity { x: 3.0 * side, y: velocity.y }, player.number));
        }
    });
    for (position, velocity, owner) in shots {
        world.spawn((position, velocity, Bullet { owner, frames_left: 90 }));
        play(world, Sound::Shot);
    }
}

fn travel(world: &mut World) {
    world.query_mut::<(&mut Position, &mut Velocity)>().for_each(|(position, velocity)| {
        position.x += velocity.x;
        position.y += velocity.y;
        if position.x.abs() > HALL {
            velocity.x = -velocity.x;
        }
        if position.y.abs() > HALL {
            velocity.y = -velocity.y;
        }
    });
}

fn burn(world: &mut World) {
    let mut out = Vec::new();
    world.query_mut::<(Entity, &mut Player, &mut Burning)>().for_each(|(entity, player, burning)| {
        player.health -= i32::from(burning.frames_left % 10 == 0);
        burning.frames_left -= 1;
        if burning.frames_left == 0 {
            out.push(entity);
        }
    });
    for entity in out {
        let _ = world.remove::<Burning>(entity);
    }
}

fn hit(world: &mut World, play: &mut impl FnMut(&mut World, Sound)) {
    let near = |a: &Position, b: &Position| (a.x - b.x).abs() < 3.0 && (a.y - b.y).abs() < 3.0;
    let players: Vec<_> = world.query::<(Entity, &Player, &Position)>().iter().map(|(e, p, at)| (e, *p, *at)).collect();
    let boxes: Vec<_> = world.query::<(Entity, &ItemBox, &Position)>().iter().map(|(e, b, at)| (e, *b, *at)).collect();
    let (mut gone, mut burnt, mut opened) = (Vec::new(), Vec::new(), Vec::new());
    world.query_mut::<(Entity, &Position, &mut Bullet)>().for_each(|(entity, position, bullet)| {
        bullet.frames_left -= 1;
        let target = players.iter().find(|(_, player, at)| player.number != bullet.owner && near(at, position));
        let found = boxes.iter().find(|(_, _, at)| near(at, position));
        burnt.extend(target.map(|(entity, ..)| *entity));
        opened.extend(found.map(|(entity, item, _)| (*entity, *item, bullet.owner)));
        if bullet.frames_left == 0 || target.is_some() || found.is_some() {
            gone.push(entity);
        }
    });
    for entity in gone {
        let _ = world.despawn(entity);
    }
    for entity in burnt {
        let _ = world.insert(entity, Burning { frames_left: 120 });
        if let Ok(mut score) = world.resource_mut::<Score>() {
            score.hits += 1;
        }
        if let Ok(player) = world.get_mut::<Player>(entity) {
            player.health -= 5;
            if player.health <= 0 {
                (player.health, player.deaths) = (100, player.deaths + 1);
            }
        }
        play(world, Sound::Hit);
    }
    for (entity, item, owner) in opened {
        // Two bullets may have hit the same box.
        if world.despawn(entity).is_err() {
            continue;
        }
        world.query_mut::<(&Player, &mut Inventory)>().for_each(|(player, inventory)| {
            if player.number == owner {
                let count = if item.has_water == 1 { &mut inventory.water } else { &mut inventory.medicine };
                *count = count.saturating_add(1);
            }
        });
        let Ok(mut dice) = world.resource::<Dice>().copied() else { continue };
        spawn_box(world, &mut dice);
        world.insert_resource(dice);
        play(world, Sound::Opened);
    }
}

fn use_items(world: &mut World, inputs: &[Option<Buttons>]) {
    let mut doused = Vec::new();
    world.query_mut::<(Entity, &mut Player, &mut Inventory, Option<&Burning>)>().for_each(
        |(entity, player, inventory, burning)| {
            if !input_of(inputs, player).has(Buttons::USE) {
                return;
            }
            if burning.is_some() && inventory.water > 0 {
                inventory.water -= 1;
                doused.push(entity);
            } else if player.health < 50 && inventory.medicine > 0 {
                inventory.medicine -= 1;
                player.health += 40;
            }
        },
    );
    for entity in doused {
        let _ = world.remove::<Burning>(entity);
    }
}
