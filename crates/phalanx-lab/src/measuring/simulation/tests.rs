use super::*;
use std::time::Duration;

#[test]
fn all_six_kinds_are_there_and_stay() {
    let entities = 5000;
    assert_eq!(kinds(entities).iter().map(|kind| kind.entities).sum::<usize>(), entities);
    let mut lab = Lab::new::<Lanes>(entities);
    for _ in 0..6 {
        assert!(lab.frame() > 0.0);
        lab.stage.world.validate().expect("a valid world");
        assert_eq!(lab.stage.world.len(), entities);
    }
    let rows = lab.rows();
    assert_eq!(rows.len(), systems::<Lanes>().len() + 1);
    assert!(rows.iter().all(|row| row.entities > 0 && row.throughput() > 0.0));
}

#[test]
fn kinds_have_the_bytes_of_their_components() {
    let size = |parts: &[usize]| parts.iter().sum::<usize>();
    let moving = size_of::<Position>() + size_of::<Velocity>() + size_of::<Acceleration>();
    let body = moving + size_of::<Orientation>() + size_of::<Mass>();
    let vital = size_of::<Health>() + size_of::<Mana>();
    let bytes: Vec<usize> = kinds(1000).iter().map(|kind| kind.bytes).collect();
    assert_eq!(bytes[0], size(&[body, vital, size_of::<Joystick>()]));
    assert_eq!(bytes[1..3], [body, size_of::<Position>()]);
    assert_eq!(bytes[3], size(&[body, vital, size_of::<Planner>()]));
    assert_eq!(bytes[4], moving);
    assert_eq!(bytes[5], size(&[size_of::<Position>(), size_of::<Orientation>(), size_of::<Intensity>()]));
}

#[test]
fn both_layouts_compute_the_same() {
    let (mut structs, mut lanes) = (Lab::new::<Structs>(2000), Lab::new::<Lanes>(2000));
    for _ in 0..20 {
        structs.frame();
        lanes.frame();
    }
    assert_eq!(Structs::extent(&mut structs.stage.world), Lanes::extent(&mut lanes.stage.world));
    let sum = |stage: &mut Stage| stage.world.query::<&Health>().iter().map(|h| h.0).sum::<f32>();
    assert_eq!(sum(&mut structs.stage), sum(&mut lanes.stage));
}

#[test]
fn a_measurement_has_every_row() {
    let effort = Effort { least: 6, most: 6, share: Duration::ZERO };
    let (simulation, world) = measure(3000, None, effort, || {});
    assert_eq!(simulation.rows.len(), 2 * (systems::<Lanes>().len() + 1));
    assert!(Layout::ALL.into_iter().all(|layout| simulation.row(layout, FRAME).is_some()));
    assert!(simulation.memory.iter().all(|memory| memory.held >= memory.components));
    let (registry, mut file) = (registry().expect("names and types once"), Vec::new());
    registry.save(&world, &mut file).expect("all of it is registered");
    let world = registry.load(&*file).expect("what was just saved");
    let (_, world) = measure(3000, Some(world), effort, || {});
    world.validate().expect("a valid world");
    assert_eq!(world.len(), 3000);
}
