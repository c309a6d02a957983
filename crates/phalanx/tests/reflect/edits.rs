//! Fields of plain components, set by their paths.

use phalanx::query::QueryState;
use phalanx::reflect::{EditError, FieldPath, ScalarValue};
use phalanx::store::Soa;
use phalanx::{Changed, Component, Entity, Plain, World};
use phalanx_testkit::for_every_failing_allocation;
use std::num::NonZero;

#[derive(phalanx::reflect::Reflect, Plain, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Gait {
    Walk = 1,
    Run = 7,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain, track = "row")]
struct Walker {
    leader: Entity,
    id: NonZero<u32>,
    letter: char,
    at: [f32; 2],
    gait: Gait,
    is_lost: bool,
    steps: i16,
    spare: [u8; 4],
}

#[derive(Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", plain)]
struct Spin {
    axis: bool,
    speed: f64,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Heat(u128);

#[derive(Component, Debug, PartialEq)]
struct Sorted {
    low: u32,
    high: u32,
}

fn walker(leader: Entity) -> Walker {
    let id = NonZero::new(3).unwrap();
    Walker { leader, id, letter: 'x', at: [1.0, 2.0], gait: Gait::Walk, is_lost: false, steps: -4, spare: [0; 4] }
}

fn set<C: Component>(world: &mut World, entity: Entity, field: &str, text: &str) -> Result<ScalarValue, EditError> {
    let id = world.component_id::<C>().unwrap();
    let path = FieldPath::new(world.components(), id, field).unwrap();
    let value = ScalarValue::parse(path.shape(), text).ok_or(EditError::NotAValue)?;
    world.entity_mut(entity).unwrap().set_field(&path, value)
}

#[test]
fn a_field_of_any_type_and_layout_is_set() {
    let mut world = World::new();
    let leader = world.spawn(());
    let e = world.spawn((walker(leader), Spin { axis: false, speed: 1.0 }, Heat(5)));
    let mut query = QueryState::<&Walker, Changed<Walker>>::new();
    assert_eq!(query.query(&world).iter().count(), 1);
    assert_eq!(query.query(&world).iter().count(), 0);
    assert_eq!(set::<Walker>(&mut world, e, "at.1", "-2.5"), Ok(ScalarValue::F32(2.0)));
    assert_eq!(query.query(&world).iter().count(), 1, "a change is seen");
    assert_eq!(set::<Walker>(&mut world, e, "gait", "run"), Ok(ScalarValue::Choice(1, "Walk")));
    assert_eq!(set::<Walker>(&mut world, e, "is_lost", "true"), Ok(ScalarValue::Bool(false)));
    assert_eq!(set::<Walker>(&mut world, e, "letter", "ß"), Ok(ScalarValue::Char('x')));
    assert_eq!(set::<Walker>(&mut world, e, "steps", "-32768"), Ok(ScalarValue::Signed(-4)));
    assert_eq!(set::<Walker>(&mut world, e, "id", "9"), Ok(ScalarValue::Unsigned(3)));
    let text = e.to_string();
    assert_eq!(set::<Walker>(&mut world, e, "leader", &text), Ok(ScalarValue::Entity(leader)));
    let (id, gait) = (NonZero::new(9).unwrap(), Gait::Run);
    let expected =
        Walker { leader: e, id, letter: 'ß', at: [1.0, -2.5], gait, is_lost: true, steps: i16::MIN, spare: [0; 4] };
    assert_eq!(*world.get::<Walker>(e).unwrap(), expected);
    assert_eq!(set::<Spin>(&mut world, e, "speed", "4"), Ok(ScalarValue::F64(1.0)));
    assert_eq!(set::<Spin>(&mut world, e, "axis", "true"), Ok(ScalarValue::Bool(false)));
    assert_eq!(world.get::<Spin>(e).unwrap().to_owned(), Spin { axis: true, speed: 4.0 });
    assert_eq!(set::<Heat>(&mut world, e, "", &u128::MAX.to_string()), Ok(ScalarValue::Unsigned(5)));
    assert_eq!(*world.get::<Heat>(e).unwrap(), Heat(u128::MAX));
    world.validate().unwrap();
}

#[test]
fn what_is_not_a_value_changes_nothing() {
    let mut world = World::new();
    let leader = world.spawn(());
    let e = world.spawn((walker(leader), Sorted { low: 1, high: 2 }));
    let wrong = [
        ("id", "0"),
        ("id", "4294967296"),
        ("steps", "32768"),
        ("gait", "fly"),
        ("is_lost", "2"),
        ("letter", "ab"),
        ("at.0", "much"),
        ("leader", "7"),
        ("leader", "4294967295v0"),
        ("leader", "0v3000000000"),
    ];
    for (field, text) in wrong {
        assert_eq!(set::<Walker>(&mut world, e, field, text), Err(EditError::NotAValue), "{field} {text}");
    }
    assert_eq!(set::<Walker>(&mut world, leader, "id", "1"), Err(EditError::Missing));
    assert_eq!(set::<Sorted>(&mut world, e, "low", "3"), Err(EditError::NotPlain));
    assert_eq!(*world.get::<Walker>(e).unwrap(), walker(leader));
    assert_eq!(*world.get::<Sorted>(e).unwrap(), Sorted { low: 1, high: 2 });
    // A value of another type than that of the field.
    let id = world.component_id::<Walker>().unwrap();
    let path = FieldPath::new(world.components(), id, "steps").unwrap();
    for value in [ScalarValue::Unsigned(1), ScalarValue::F32(1.0), ScalarValue::Choice(1, "Walk")] {
        assert_eq!(world.entity_mut(e).unwrap().set_field(&path, value), Err(EditError::NotAValue));
    }
}

#[test]
fn zeros_are_inserted_where_they_are_a_value() {
    let mut world = World::new();
    let leader = world.spawn((walker(Entity::from_bits(0).unwrap()), Spin { axis: true, speed: 1.0 }, Heat(1)));
    world.register_component::<Sorted>();
    let e = world.spawn(());
    let [walker, spin, heat, sorted] = [
        world.component_id::<Walker>().unwrap(),
        world.component_id::<Spin>().unwrap(),
        world.component_id::<Heat>().unwrap(),
        world.component_id::<Sorted>().unwrap(),
    ];
    assert_eq!(world.entity_mut(e).unwrap().insert_zeroed(walker), Err(EditError::NotAValue));
    assert_eq!(world.entity_mut(e).unwrap().insert_zeroed(sorted), Err(EditError::NotPlain));
    assert_eq!(world.entity_mut(e).unwrap().insert_zeroed(spin), Ok(()));
    assert_eq!(world.entity_mut(e).unwrap().insert_zeroed(heat), Ok(()));
    assert_eq!(world.get::<Spin>(e).unwrap().to_owned(), Spin { axis: false, speed: 0.0 });
    assert_eq!(*world.get::<Heat>(e).unwrap(), Heat(0));
    assert!(world.contains(leader) && !world.has::<Walker>(e));
    world.validate().unwrap();
}

#[test]
fn an_edit_that_fails_changes_nothing() {
    let setup = || {
        let mut world = World::new();
        let e = world.spawn((Heat(1), Spin { axis: false, speed: 1.0 }));
        let id = world.component_id::<Spin>().unwrap();
        let path = FieldPath::new(world.components(), id, "speed").unwrap();
        (world, e, path)
    };
    let operation = |(world, e, path): &mut (World, Entity, FieldPath)| {
        world.entity_mut(*e).unwrap().set_field(path, ScalarValue::F64(2.0))
    };
    for_every_failing_allocation(setup, operation, |(world, e, _), result| {
        let speed = if result.is_ok() { 2.0 } else { 1.0 };
        assert_eq!(world.get::<Spin>(*e).unwrap().to_owned(), Spin { axis: false, speed });
        world.validate().unwrap();
    });
}

/// A row that is split by hand: its lane holds any byte, but not every byte is a row.
mod by_hand {
    use phalanx::store::soa::{Leaf, SoaRow, Views};
    use std::num::NonZero;

    #[derive(Clone, Copy, Debug, PartialEq, phalanx::Component)]
    #[component(layout = "soa", plain)]
    pub(super) struct Counted {
        pub count: NonZero<u8>,
    }

    impl<'a> Views<'a> for Counted {
        type Ref = &'a u8;
        type Mut = &'a mut u8;
        type Lanes = &'a [u8];
        type LanesMut = &'a mut [u8];
    }
    impl SoaRow for Counted {
        type Shape = Leaf<u8>;
        type Columns = Vec<u8>;
        const NAME: &'static str = "Counted";
        const FIELDS: &'static [&'static str] = &["count"];

        fn split(self) -> u8 {
            self.count.get()
        }
        fn join(count: u8) -> Self {
            Counted { count: NonZero::new(count).unwrap() }
        }
        fn as_row(&self) -> &u8 {
            &7
        }
        fn as_row_mut(&mut self) -> &mut u8 {
            Box::leak(Box::new(7))
        }
        fn row<'a>(row: &'a u8) -> &'a u8
        where
            Self: 'a,
        {
            row
        }
        fn row_mut<'a>(row: &'a mut u8) -> &'a mut u8
        where
            Self: 'a,
        {
            row
        }
        fn lanes<'a>(lanes: &'a [u8]) -> &'a [u8]
        where
            Self: 'a,
        {
            lanes
        }
        fn lanes_mut<'a>(lanes: &'a mut [u8]) -> &'a mut [u8]
        where
            Self: 'a,
        {
            lanes
        }
        fn split_row<'a>(row: &'a u8) -> &'a u8
        where
            Self: 'a,
        {
            row
        }
        fn split_lanes<'a>(lanes: &'a [u8]) -> &'a [u8]
        where
            Self: 'a,
        {
            lanes
        }
        fn split_columns(columns: Vec<u8>) -> Vec<u8> {
            columns
        }
        fn join_columns(columns: Vec<u8>) -> Vec<u8> {
            columns
        }
    }
}

#[test]
fn zeros_in_lanes_do_not_make_a_row_that_is_split_by_hand() {
    let mut world = World::new();
    let count = NonZero::new(3).unwrap();
    let full = world.spawn(by_hand::Counted { count });
    let e = world.spawn(());
    let id = world.component_id::<by_hand::Counted>().unwrap();
    assert!(world.components().info(id).is_plain());
    assert_eq!(world.entity_mut(e).unwrap().insert_zeroed(id), Err(EditError::NotPlain));
    assert!(!world.has::<by_hand::Counted>(e));
    assert_eq!(world.get::<by_hand::Counted>(full).unwrap(), by_hand::Counted { count });
}

/// Entities that are spawned from bytes have the values that typed code would give them, in all layouts.
#[test]
fn bytes_become_values_if_they_are_some() {
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(plain)]
    #[repr(C)]
    struct Whole(u32, NonZero<u32>);
    #[derive(Component, Soa, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "soa", plain)]
    struct Split {
        on: bool,
        at: u64,
    }
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(layout = "pool", plain)]
    struct Sparse(char);
    #[derive(Component, Clone, Debug, PartialEq)]
    struct Text(String);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(plain)]
    struct Tag;

    let mut world = World::new();
    let whole = world.register_component::<Whole>();
    let split = world.register_component::<Split>();
    let sparse = world.register_component::<Sparse>();
    let (text, tag) = (world.register_component::<Text>(), world.register_component::<Tag>());
    let whole_bytes: Vec<u8> = [3_u32, 4].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let shape = world.components().info(split).shape().unwrap();
    let mut split_bytes = vec![0xEE; shape.size];
    split_bytes[shape.fields()[0].offset] = 1;
    split_bytes[shape.fields()[1].offset..][..8].copy_from_slice(&9_u64.to_ne_bytes());
    let char_bytes = u32::from('x').to_ne_bytes();
    let values: [(_, &[u8]); 4] = [(split, &split_bytes), (whole, &whole_bytes), (sparse, &char_bytes), (tag, &[])];
    let e = world.spawn_bytes(&values).unwrap();
    assert_eq!(*world.get::<Whole>(e).unwrap(), Whole(3, NonZero::new(4).unwrap()));
    assert_eq!(world.get::<Split>(e).unwrap(), Split { on: true, at: 9 });
    assert_eq!((*world.get::<Sparse>(e).unwrap(), *world.get::<Tag>(e).unwrap()), (Sparse('x'), Tag));

    split_bytes[shape.fields()[0].offset] = 2;
    for (wrong, error) in [
        ((whole, &[1, 0, 0, 0, 0, 0, 0, 0][..]), EditError::NotAValue),
        ((whole, &whole_bytes[..7]), EditError::NotAValue),
        ((split, &split_bytes), EditError::NotAValue),
        ((sparse, &[0, 0xD8, 0, 0]), EditError::NotAValue),
        ((text, &[0; 24]), EditError::NotPlain),
        ((tag, &[0]), EditError::NotAValue),
    ] {
        assert_eq!(world.components().info(wrong.0).check_bytes(wrong.1), Err(error.clone()));
        assert_eq!(world.spawn_bytes(&[wrong]), Err(error));
    }
    assert!(matches!(world.spawn_bytes(&[(tag, &[]), (tag, &[])]), Err(EditError::Refused(_))));
    assert_eq!(world.len(), 1);
}
