//! Day and night, hunger, homes, births, wolves and deaths.

use crate::map::{CENTRE, HEIGHT, Map, WIDTH};
use crate::things::*;
use crate::work::HUNGRY;
use phalanx::event::{EventReader, EventWriter};
use phalanx::relation::{IsRoot, Relations};
use phalanx::system::{Commands, Local, Res, ResMut};
use phalanx::{Entity, Query, With, Without};
use phalanx_schedule::State;

const HOURS: u32 = 100;
const NIGHTFALL: u32 = 70;
/// From this hunger on colonists starve.
const STARVING: u32 = 260;
/// How far a tower reaches.
pub(crate) const RANGE: i16 = 6;

pub(crate) fn pass_time(mut clock: ResMut<Clock>, mut phase: ResMut<State<Phase>>) {
    clock.hour += 1;
    match clock.hour {
        NIGHTFALL => phase.set(Phase::Night),
        HOURS => {
            clock.hour = 0;
            clock.day += 1;
            phase.set(Phase::Day);
        }
        _ => {}
    }
}

pub(crate) fn get_hungry(mut hungers: Query<(Entity, &mut Hunger)>, mut deaths: EventWriter<Death>) {
    for (entity, hunger) in hungers.iter_mut() {
        hunger.0 += 1;
        if hunger.0 > STARVING {
            deaths.send(Death { entity, cause: "hunger" });
        }
    }
}

/// Those without a home move into a hut that has a free bed.
pub(crate) fn move_in(
    homeless: Query<Entity, (With<Colonist>, IsRoot<LivesIn>)>,
    huts: Query<(Entity, &Beds)>,
    lives_in: Relations<LivesIn>,
    mut commands: Commands,
) {
    let mut homeless = homeless.iter();
    for (hut, beds) in huts.iter() {
        for colonist in homeless.by_ref().take(beds.0.saturating_sub(lives_in.sources(hut).count())) {
            commands.link::<LivesIn>(colonist, hut);
        }
    }
}

/// In the morning, a couple has a child if there is enough food.
pub(crate) fn be_born(
    huts: Query<(Entity, &At, &Beds)>,
    dwellers: Query<&Hunger>,
    map: Res<Map>,
    mut stock: ResMut<Stock>,
    mut births: Local<usize>,
    mut news: EventWriter<News>,
    mut commands: Commands,
) {
    for (hut, &at, beds) in huts.iter() {
        let couple = dwellers.iter_sources::<LivesIn>(hut).filter(|hunger| hunger.0 < HUNGRY).count();
        let door = [(0, 1), (1, 0), (-1, 0), (0, -1)].map(|(x, y)| At { x: at.x + x, y: at.y + y });
        let Some(door) = door.into_iter().find(|tile| map.is_free(*tile)) else { continue };
        if couple == beds.0 && stock.food >= 16 {
            stock.food -= 10;
            let name = NAMES[(6 + *births) % NAMES.len()];
            *births += 1;
            commands.spawn((door, Colonist { name }, Hunger(0)));
            news.send(News::Born(name));
        }
    }
}

/// At nightfall wolves appear at the edge of the map: more each night.
pub(crate) fn howl(clock: Res<Clock>, map: Res<Map>, mut dice: ResMut<Dice>, mut commands: Commands) {
    for _ in 0..1 + clock.day / 3 {
        let along = dice.below(2 * (WIDTH + HEIGHT) as usize) as i16;
        let at = match along {
            0..WIDTH => At { x: along, y: 0 },
            _ if along < 2 * WIDTH => At { x: along - WIDTH, y: HEIGHT - 1 },
            _ if along < 2 * WIDTH + HEIGHT => At { x: 0, y: along - 2 * WIDTH },
            _ => At { x: WIDTH - 1, y: along - 2 * WIDTH - HEIGHT },
        };
        if map.is_free(at) {
            commands.spawn((at, Wolf));
        }
    }
}

/// Wolves run to the nearest colonist outdoors, or towards the village.
pub(crate) fn hunt(
    mut wolves: Query<&mut At, With<Wolf>>,
    prey: Query<(Entity, &At), (With<Colonist>, Without<Wolf>, Without<Indoors>)>,
    map: Res<Map>,
    mut deaths: EventWriter<Death>,
) {
    for wolf in wolves.iter_mut() {
        let nearest = prey.iter().min_by_key(|(_, at)| at.distance(*wolf));
        if let Some((entity, _)) = nearest.filter(|(_, at)| at.distance(*wolf) <= 1) {
            deaths.send(Death { entity, cause: "a wolf" });
        }
        let goal = nearest.filter(|(_, at)| at.distance(*wolf) < 12).map_or(CENTRE, |(_, at)| *at);
        if let Some(next) = map.step_towards(*wolf, goal) {
            *wolf = next;
        }
    }
}

/// Each tower shoots the nearest wolf, now and then.
pub(crate) fn shoot(
    towers: Query<(&At, &Building)>,
    wolves: Query<(Entity, &At), With<Wolf>>,
    clock: Res<Clock>,
    mut news: EventWriter<News>,
    mut commands: Commands,
) {
    let mut shot = Vec::new();
    let is_ready = |building: &Building| building.kind == Kind::Tower && building.work_left == 0;
    for (&at, _) in towers.iter().filter(|(_, building)| is_ready(building) && clock.hour.is_multiple_of(5)) {
        let alive = wolves.iter().filter(|(wolf, place)| place.distance(at) <= RANGE && !shot.contains(wolf));
        if let Some((wolf, _)) = alive.min_by_key(|(_, place)| place.distance(at)) {
            shot.push(wolf);
            commands.despawn(wolf);
            news.send(News::WolfShot);
        }
    }
}

/// In the morning wolves go away.
pub(crate) fn dawn(wolves: Query<Entity, With<Wolf>>, mut commands: Commands) {
    wolves.iter().for_each(|wolf| commands.despawn(wolf));
}

/// Buries the dead: each once, although hunger and several wolves may have got the same colonist.
pub(crate) fn bury(
    deaths: EventReader<Death>,
    colonists: Query<&Colonist>,
    mut news: EventWriter<News>,
    mut commands: Commands,
) {
    let mut buried = Vec::new();
    for death in deaths {
        if let Ok(colonist) = colonists.get(death.entity)
            && !buried.contains(&death.entity)
        {
            buried.push(death.entity);
            commands.despawn(death.entity);
            news.send(News::Died { name: colonist.name, cause: death.cause });
        }
    }
}

pub(crate) fn write_chronicle(news: EventReader<News>, clock: Res<Clock>, mut chronicle: ResMut<Chronicle>) {
    for news in news {
        let line = match news {
            News::Founded(count) => format!("{count} settlers found a village."),
            News::Built(kind) => format!("A {} is finished.", format!("{kind:?}").to_lowercase()),
            News::Born(name) => format!("{name} is born."),
            News::Died { name, cause } => format!("{name} is killed by {cause}."),
            News::WolfShot => "A tower shoots a wolf.".to_string(),
        };
        let line = format!("day {:>2}: {line}", clock.day);
        match chronicle.lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => chronicle.lines.push((line, 1)),
        }
    }
}

pub(crate) fn count(colonists: Query<&Colonist>, wolves: Query<&Wolf>, mut chronicle: ResMut<Chronicle>) {
    chronicle.census.push((colonists.len(), wolves.len()));
}
