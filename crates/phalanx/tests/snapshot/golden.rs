//! A file of each version of the format: the present one is what is saved today, older ones are refused by name.

use crate::hostile::small;
use crate::kit::*;
use phalanx::World;
use phalanx::group::Observed;
use phalanx::snapshot::{Problem, diff, inspect};

fn world() -> phalanx::World {
    let mut world = small();
    world.create_group::<Observed<(Burning, Title)>>().unwrap();
    let a = world.spawn((Armor(1), Rage(vec![1]), Alert));
    world.spawn((Mana("full".into()), Breath(3)));
    world.clear_trackers();
    world.spawn((Armor(2), Breath(4)));
    world.get_mut::<Rage>(a).unwrap().0.push(2);
    world
}

/// To write it again, for a new version of the format: `PHALANX_GOLDEN=write cargo test -p phalanx --features snapshot golden`.
#[test]
fn version_2_is_what_it_was() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshot/golden/version-2.phalanx");
    let world = world();
    if std::env::var_os("PHALANX_GOLDEN").is_some() {
        registry().save_to(&world, path).unwrap();
    }
    let golden = std::fs::read(path).unwrap();
    assert_eq!(diff(registry(), &load(&golden), &world), Ok(None));
    assert!(bytes(&world) == golden);
    assert_eq!(news(&load(&golden)), news(&world));
    assert_eq!(&golden[..16], b"PHALANX\x1a\x02\0\0\0\0\0\0\0");
}

/// Its checksums were others.
#[test]
fn version_1_is_refused_by_an_error_that_names_both_versions() {
    let old = include_bytes!("golden/version-1.phalanx");
    let errors = [
        registry().load(&old[..]).map(drop).unwrap_err(),
        registry().merge(&mut World::new(), &old[..]).map(drop).unwrap_err(),
        inspect(&old[..]).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.section, error.problem), (*b"head", Problem::Version { found: 1, supported: 2 }));
        let text = error.to_string();
        assert!(text.contains("format version 1") && text.contains("reads version 2"), "{text}");
    }
}
