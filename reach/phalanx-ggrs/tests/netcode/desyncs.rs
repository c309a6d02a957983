//! Worlds that differ, and the reports of it.

use crate::game::{Burning, Dice, Inventory, Player, Position, Score, Velocity};
use crate::kit::{Net, Peer, bad, run};
use phalanx::reflect::ScalarValue;
use phalanx::{Entity, World};
use phalanx_ggrs::DesyncReport;

/// Lets the world of the second of two players differ from a frame on. Returns the report, which both have.
fn find(seed: u64, mut bug: impl FnMut(&mut World) + 'static, folder: Option<&std::path::Path>) -> DesyncReport {
    let net = Net::new(bad(seed));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, seed));
    if let Some(folder) = folder {
        peers = peers.map(|peer| Peer { driver: peer.driver.with_reports(folder), ..peer });
    }
    peers[1].bug = Box::new(move |world| {
        if world.resource::<Score>().is_ok_and(|score| score.frame >= 50) {
            bug(world);
        }
    });
    run(&net, &mut peers, |peers| peers.iter().all(|peer| !peer.reports.is_empty()));
    // There is one report, however long the game goes on.
    let end = peers[0].game.frame() + 60;
    run(&net, &mut peers, |peers| peers[0].game.frame() >= end);
    let [mut first, second] = peers.map(|mut peer| {
        assert_eq!(peer.reports.len(), 1);
        peer.reports.remove(0)
    });
    let file = first.file.clone();
    first.file.clone_from(&second.file);
    assert_eq!(first, second);
    assert_eq!((first.frame, first.last_equal, first.players), (50, Some(49), [0, 1]), "{first}");
    assert!(first.is_complete, "{first}");
    first.file = file;
    println!("{first}");
    first
}

fn stone(world: &World) -> Entity {
    world.query::<(Entity, &Position, &Velocity)>().iter().nth(200).unwrap().0
}

fn is_at(world: &World, frame: u64) -> bool {
    world.resource::<Score>().unwrap().frame == frame
}

#[test]
fn a_flipped_bit_is_named() {
    let report = find(
        1,
        |world| {
            if is_at(world, 50) {
                let stone = stone(world);
                let position = world.get_mut::<Position>(stone).unwrap();
                position.y = f32::from_bits(position.y.to_bits() ^ 1 << 7);
            }
        },
        None,
    );
    let first = report.first.as_ref().unwrap();
    assert!(first.name.ends_with("Position") && first.field.as_deref() == Some("y"), "{report}");
    assert!(first.entity.is_some() && first.row > 100 && first.chunks == 1, "{report}");
    let Some([ScalarValue::F32(ours), ScalarValue::F32(theirs)]) = first.values else { panic!("{report}") };
    assert_eq!(ours.to_bits() ^ theirs.to_bits(), 1 << 7);
    assert!(report.differing.len() == 1 && report.compared >= 8, "{report}");
    assert!(report.to_string().contains(&format!("Position.y  {ours} / {theirs}")), "{report}");
}

#[test]
fn an_entity_of_one_player_is_named() {
    let report = find(
        2,
        |world| {
            if is_at(world, 50) {
                world.spawn((Position { x: 0.0, y: 0.0 }, Velocity { x: 0.0, y: 0.0 }));
            }
        },
        None,
    );
    let first = report.first.as_ref().unwrap();
    assert_eq!(first.name, "live entities", "{report}");
    assert_eq!(first.entity.unwrap().index(), first.row, "{report}");
    assert!(report.differing.contains(&"entities".to_string()), "{report}");
}

#[test]
fn a_component_of_one_player_is_named() {
    let report = find(
        3,
        |world| {
            let player = world.query::<(Entity, &Player)>().iter().next().unwrap().0;
            world.insert(player, Burning { frames_left: 77 }).unwrap();
        },
        None,
    );
    let first = report.first.as_ref().unwrap();
    assert!(first.name.ends_with("Burning") && first.entity.is_some(), "{report}");
    assert!(report.differing.iter().any(|name| name.ends_with("Burning")), "{report}");
}

#[test]
fn another_table_is_named() {
    let report = find(
        4,
        |world| {
            let stone = stone(world);
            let _ = world.insert(stone, Inventory { medicine: 0, water: 0 });
        },
        None,
    );
    let first = report.first.as_ref().unwrap();
    assert_eq!(first.name, "rows of a table", "{report}");
    assert!(!first.table.is_empty(), "{report}");
}

#[test]
fn a_kept_resource_is_named() {
    let report = find(5, |world| world.resource_mut::<Dice>().unwrap().state ^= 1, None);
    let first = report.first.as_ref().unwrap();
    assert!(first.name.ends_with("Dice") && first.entity.is_none(), "{report}");
    assert!(first.bytes[0] != first.bytes[1], "{report}");
}

#[test]
fn both_players_save_their_worlds() {
    let folder = std::env::temp_dir().join(format!("phalanx-ggrs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let wrong = |world: &mut World| {
        let stone = stone(world);
        world.get_mut::<Velocity>(stone).unwrap().x = 9.0;
    };
    let report = find(6, wrong, Some(&folder));
    let registry = crate::game::registry().unwrap();
    let paths = [0, 1].map(|player| folder.join(format!("desync-50-player-{player}.phx")));
    assert_eq!(report.file.as_deref(), Some(paths[0].as_path()));
    let worlds = paths.each_ref().map(|path| registry.load_from(path).unwrap());
    let all = phalanx::snapshot::diff_all(&registry, &worlds[0], &worlds[1], 10).unwrap();
    let text = std::fs::read_to_string(paths[1].with_extension("txt")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(format!("{all:?}").contains("velocity"), "{all:?}");
    assert!(text.contains("Velocity.x"), "{text}");
    assert!(worlds[1].query::<&Velocity>().iter().any(|velocity| velocity.x == 9.0));
}

#[test]
fn what_is_not_compared_is_listed() {
    #[derive(phalanx::Component, Clone)]
    #[component(clone)]
    struct Title(String);

    let net = Net::new(bad(7));
    let mut peers = [0, 1].map(|player| Peer::new(&net, player, 2, 7));
    for (at, peer) in peers.iter_mut().enumerate() {
        struct Window;
        peer.bug = Box::new(move |world| {
            if world.resource::<Score>().unwrap().frame == 50 {
                let stone = stone(world);
                let _ = world.insert(stone, Title(format!("player {at}")));
                world.get_mut::<Velocity>(stone).unwrap().x += at as f32;
            }
        });
        peer.game.world_mut().insert_resource(Window);
    }
    run(&net, &mut peers, |peers| peers.iter().all(|peer| !peer.reports.is_empty()));
    let report = &peers[0].reports[0];
    assert!(report.uncovered.iter().any(|name| name.ends_with("Title")), "{report}");
    assert!(report.unrestored.iter().any(|name| name.ends_with("Window")), "{report}");
    assert!(report.to_string().contains("not compared: ") && report.to_string().contains("Title"));
    assert_eq!(peers[0].reports, peers[1].reports);
}
