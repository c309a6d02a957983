use super::*;
use phalanx::timeline::Timeline;

fn battle(entities: usize, frames: usize) -> Battle {
    let mut battle = Battle::new(entities).expect("a world with free names");
    for _ in 0..frames {
        battle.step().expect("systems that do not fail");
    }
    battle
}

fn checksum(world: &World) -> u64 {
    registry().expect("names and types once").checksum(world).expect("all of it is registered")
}

#[test]
fn the_battle_has_what_the_inspector_shows() {
    let mut battle = battle(1000, 600);
    let world = &mut battle.world;
    world.validate().expect("a valid world");
    assert_eq!(
        world.find("red/flagship").and_then(|ship| world.relations::<ChildOf>().parent(ship)),
        world.find("red")
    );
    assert!(world.relations::<Targets>().iter().count() > 100);
    assert!(!world.query::<&Shell>().is_empty() && !world.query::<&Burning>().is_empty());
    let score = *world.resource::<Score>().expect("it was inserted");
    assert!(score.shells > 1000 && score.lost.iter().sum::<u32>() > 0, "{score:?}");
    assert!(world.query::<&Log>().iter().all(|log| log.lines.len() == 2));
    let (memory, text) = (world.memory(), battle.describe());
    assert!(memory.tables.len() >= 4 && memory.sparse.len() >= 4, "{memory:?}");
    assert!(text.contains(" red, ") && text.ends_with(" fires"), "{text}");
}

#[test]
fn sizes_are_about_what_was_asked_for() {
    for entities in [FEWEST_ENTITIES as usize, 100, 5000] {
        let battle = battle(entities, 0);
        assert!(battle.world.len().abs_diff(entities) <= 3, "{entities}: {}", battle.world.len());
        assert_eq!(Side::ALL.map(|side| afloat(&battle.world, side) > 0), [true; 3]);
    }
}

#[test]
fn fleets_shrink_and_are_reinforced() {
    let mut battle = battle(600, 0);
    let full = afloat(&battle.world, Side::Red);
    let mut at_sea = Vec::new();
    for _ in 0..3000 {
        battle.step().expect("systems that do not fail");
        at_sea.push(afloat(&battle.world, Side::Red));
    }
    let (least, most) = (at_sea.iter().min().copied(), at_sea.iter().skip(1200).max().copied());
    assert!(least.is_some_and(|least| least * 10 < full * 9 && least > 0), "{least:?} of {full}");
    assert_eq!(most, Some(full));
}

#[test]
fn frames_that_run_again_end_the_same() {
    let mut battle = battle(600, 200);
    let mut timeline = Timeline::new(60);
    for _ in 0..50 {
        timeline.capture(&mut battle.world).expect("all of it can be copied");
        battle.step().expect("systems that do not fail");
    }
    let first = checksum(&battle.world);
    timeline.capture(&mut battle.world).expect("all of it can be copied");
    timeline.rewind(&mut battle.world, 50).expect("it was captured");
    for _ in 0..50 {
        battle.step().expect("systems that do not fail");
    }
    assert_eq!(checksum(&battle.world), first);
}

#[test]
fn worlds_without_fleets_or_ships_go_on() {
    let mut battle = battle(200, 100);
    let fleet = battle.world.find("blue").expect("it has that name");
    battle.world.despawn(fleet).expect("it is alive");
    battle.step().expect("systems that do not fail");
    battle.world.clear();
    battle.step().expect("systems that do not fail");
    assert!(battle.world.is_empty());
}

#[test]
fn edited_values_do_no_harm() {
    let mut battle = battle(200, 100);
    let world = &mut battle.world;
    world.query_mut::<&mut Hull>().for_each(|hull| *hull = Hull { hp: u32::MAX, max: u32::MAX });
    world.query_mut::<&mut Position>().for_each(|at| *at.x = f32::NAN);
    world.query_mut::<&mut Gun>().for_each(|gun| *gun = Gun { reload: 0, fired: u32::MAX });
    world.query_mut::<&mut Shell>().for_each(|shell| shell.fuse = 0);
    world.query_mut::<&mut Burning>().for_each(|fire| fire.left = 0);
    for _ in 0..70 {
        battle.step().expect("systems that do not fail");
    }
    battle.world.validate().expect("a valid world");
}
