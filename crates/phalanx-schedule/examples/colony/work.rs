//! What colonists do all day: they choose a task, walk there, and work.

use crate::map::{CENTRE, Map, tiles};
use crate::things::*;
use phalanx::event::EventWriter;
use phalanx::relation::Relations;
use phalanx::system::{Commands, Res, ResMut};
use phalanx::{Entity, Query, SystemParam, With, Without};
use phalanx_schedule::State;
use std::collections::BTreeSet;

/// From this hunger on colonists think of food only.
pub(crate) const HUNGRY: u32 = 60;
/// Goods that a bush has again after a while.
const BERRIES: u32 = 6;

/// Plans buildings as soon as the colony can pay for them: huts if there are not enough beds, then towers.
pub(crate) fn plan(
    buildings: Query<&Building>,
    beds: Query<&Beds>,
    colonists: Query<&Colonist>,
    map: Res<Map>,
    mut stock: ResMut<Stock>,
    mut commands: Commands,
) {
    if buildings.iter().any(|building| building.work_left > 0) {
        return;
    }
    let towers = buildings.iter().filter(|building| building.kind == Kind::Tower).count();
    let free_beds = beds.iter().map(|beds| beds.0).sum::<usize>() as isize - colonists.len() as isize;
    let kind = match () {
        () if free_beds < 2 => Kind::Hut,
        () if towers < 1 + colonists.len() / 5 => Kind::Tower,
        () => return,
    };
    let (wood, stone) = kind.price();
    if stock.wood < wood || stock.stone < stone {
        return;
    }
    // Huts are near the store, with a free tile around them; towers are further away from each other.
    let distance = if kind == Kind::Hut { 3 } else { 7 + towers as i16 };
    let has_space = |at: At| (0..9).all(|n| map.is_free(At { x: at.x + n % 3 - 1, y: at.y + n / 3 - 1 }));
    let corner = |at: At| (at.x * 7 + at.y * 13 + towers as i16 * 31) % 17;
    let place = tiles()
        .filter(|at| at.distance(CENTRE) >= distance && has_space(*at))
        .min_by_key(|at| (at.distance(CENTRE), corner(*at)));
    if let Some(at) = place {
        stock.wood -= wood;
        stock.stone -= stone;
        commands.spawn((at, Building { kind, work_left: 6 }));
    }
}

/// What colonists look at when they choose.
#[derive(SystemParam)]
pub(crate) struct Surroundings<'w, 's> {
    map: Res<'w, Map>,
    stock: Res<'w, Stock>,
    phase: Res<'w, State<Phase>>,
    sources: Query<'w, 's, &'static Source>,
    buildings: Query<'w, 's, &'static Building>,
    works_on: Relations<'w, WorksOn>,
    lives_in: Relations<'w, LivesIn>,
}

impl Surroundings<'_, '_> {
    /// The good of which the colony has too little.
    fn scarce(&self) -> Good {
        let Stock { wood, stone, food } = *self.stock;
        match () {
            () if food < 15 => Good::Food,
            () if stone < 10 && stone < wood => Good::Stone,
            () if wood < 20 => Good::Wood,
            () => Good::Food,
        }
    }

    fn is_store(&self, thing: Entity) -> bool {
        self.buildings.get(thing).is_ok_and(|building| building.kind == Kind::Store)
    }

    fn is_site(&self, thing: Entity) -> bool {
        self.buildings.get(thing).is_ok_and(|building| building.work_left > 0)
    }

    fn has(&self, thing: Entity, good: Good) -> bool {
        self.sources.get(thing).is_ok_and(|source| source.good == good && source.amount > 0)
    }
}

pub(crate) fn choose(
    idle: Query<(Entity, &At, &Hunger, Option<&Carries>), (With<Colonist>, Without<Task>)>,
    here: Surroundings,
    mut commands: Commands,
) {
    let mut taken: BTreeSet<Entity> = here.works_on.iter().map(|(_, thing)| thing).collect();
    for (colonist, &at, hunger, carries) in idle.iter() {
        let is_free = |thing: &Entity| !taken.contains(thing);
        let to_store = |task| here.map.nearest(at, |thing| here.is_store(thing)).map(|(thing, way)| (task, thing, way));
        let home = here.lives_in.target(colonist);
        let chosen = if carries.is_some() {
            to_store(Task::Deliver)
        } else if hunger.0 > HUNGRY && here.stock.food > 0 {
            to_store(Task::Eat)
        } else if *here.phase.get() == Phase::Night && home.is_some() {
            here.map.nearest(at, |thing| Some(thing) == home).map(|(thing, way)| (Task::Sleep, thing, way))
        } else {
            let site = here.map.nearest(at, |thing| is_free(&thing) && here.is_site(thing));
            let site = site.map(|(thing, way)| (Task::Build, thing, way));
            site.or_else(|| {
                [here.scarce(), Good::Food, Good::Wood].into_iter().find_map(|good| {
                    let source = here.map.nearest(at, |thing| is_free(&thing) && here.has(thing, good));
                    source.map(|(thing, way)| (Task::Gather, thing, way))
                })
            })
        };
        if let Some((task, thing, way)) = chosen {
            commands.insert(colonist, (task, Walk(way)));
            if matches!(task, Task::Gather | Task::Build) {
                taken.insert(thing);
                commands.link::<WorksOn>(colonist, thing);
            }
        }
    }
}

pub(crate) fn walk(mut walkers: Query<(Entity, &mut At, &mut Walk)>, mut map: ResMut<Map>, mut commands: Commands) {
    for (colonist, at, walk) in walkers.iter_mut() {
        match walk.0.pop_front() {
            Some(next) if map.is_free(next) => {
                *at = next;
                map.step_on(next);
            }
            // Something was built on the way: choose again.
            Some(_) => commands.remove::<(Walk, Task)>(colonist),
            None => commands.remove::<Walk>(colonist),
        }
    }
}

/// Colonists that have arrived do their task.
#[allow(clippy::too_many_arguments)]
pub(crate) fn work(
    mut workers: Query<(Entity, &Task, &mut Hunger, Option<&Carries>), Without<Walk>>,
    mut sources: Query<&mut Source>,
    mut buildings: Query<&mut Building>,
    works_on: Relations<WorksOn>,
    phase: Res<State<Phase>>,
    mut stock: ResMut<Stock>,
    mut news: EventWriter<News>,
    mut commands: Commands,
) {
    for (colonist, task, hunger, carries) in workers.iter_mut() {
        let is_done = match *task {
            Task::Gather => match works_on.target(colonist).map(|thing| (thing, sources.get_mut(thing))) {
                Some((thing, Ok(source))) if source.amount > 0 => {
                    source.amount -= 1;
                    commands.insert(colonist, Carries(source.good));
                    if source.amount == 0 && source.good != Good::Food {
                        commands.despawn(thing);
                    }
                    true
                }
                _ => true,
            },
            Task::Build => match works_on.target(colonist).map(|thing| (thing, buildings.get_mut(thing))) {
                Some((thing, Ok(building))) if building.work_left > 0 => {
                    building.work_left -= 1;
                    if building.work_left == 0 {
                        news.send(News::Built(building.kind));
                        if building.kind == Kind::Hut {
                            commands.insert(thing, Beds(2));
                        }
                    }
                    building.work_left == 0
                }
                _ => true,
            },
            Task::Deliver => {
                if let Some(carries) = carries {
                    *stock.of(carries.0) += 1;
                }
                commands.remove::<Carries>(colonist);
                true
            }
            Task::Eat => {
                if stock.food > 0 {
                    stock.food -= 1;
                    hunger.0 = hunger.0.saturating_sub(80);
                }
                true
            }
            Task::Sleep => {
                commands.insert(colonist, Indoors);
                *phase.get() == Phase::Day
            }
        };
        if is_done {
            commands.unlink::<WorksOn>(colonist);
            commands.remove::<(Task, Indoors)>(colonist);
        }
    }
}

/// Bushes have berries again in the morning.
pub(crate) fn regrow(mut sources: Query<&mut Source>) {
    for source in sources.iter_mut().filter(|source| source.good == Good::Food) {
        source.amount = (source.amount + 2).min(BERRIES);
    }
}
