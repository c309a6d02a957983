//! What derives say about types.

use phalanx::reflect::{Kind, Reflect, Scalar, Shape};
use phalanx::store::Soa;
use phalanx::{Component, Entity, World};
use std::marker::PhantomData;

fn kinds(shape: &Shape) -> Vec<(&'static str, usize)> {
    shape.fields().iter().map(|field| (field.name, field.offset)).collect()
}

/// All fields of a component are private to this module.
mod inner {
    use super::*;

    #[derive(Component, Debug)]
    #[repr(C)]
    pub(super) struct Private {
        a: u8,
        b: f64,
        pub r#type: char,
        rest: Vec<u8>,
    }

    impl Private {
        pub(super) fn new() -> Private {
            Private { a: 7, b: 2.5, r#type: 'x', rest: vec![1, 2] }
        }
    }
}

#[test]
fn fields_have_names_offsets_and_scalars() {
    let shape = inner::Private::SHAPE;
    assert_eq!(kinds(shape), [("a", 0), ("b", 8), ("type", 16), ("rest", 24)]);
    let scalars: Vec<_> = shape.fields().iter().map(|field| field.shape.kind).collect();
    assert!(matches!(scalars[0], Kind::Scalar(Scalar::U8)) && matches!(scalars[1], Kind::Scalar(Scalar::F64)));
    assert!(matches!(scalars[2], Kind::Scalar(Scalar::Char)) && matches!(scalars[3], Kind::Opaque));
    assert!(shape.fields()[3].shape.show.is_some(), "a vector is Debug");
    assert_eq!((shape.size, shape.align), (size_of::<inner::Private>(), 8));
    let mut world = World::new();
    let e = world.spawn(inner::Private::new());
    let id = world.component_id::<inner::Private>().unwrap();
    let value = world.entity(e).unwrap().value(id).unwrap();
    assert_eq!(value.to_string(), "{ a: 7, b: 2.5, type: 'x', rest: _ }");
}

/// Derives have unsafe code, but do not ask the user for any.
mod forbidden {
    #![forbid(unsafe_code)]

    #[derive(phalanx::Component)]
    pub(super) struct Safe {
        pub(super) number: u32,
        pub(super) kind: Kind,
    }

    #[derive(phalanx::reflect::Reflect)]
    pub(super) enum Kind {
        Only,
    }
}

#[test]
fn derives_compile_where_unsafe_code_is_forbidden() {
    let mut world = World::new();
    let e = world.spawn(forbidden::Safe { number: 3, kind: forbidden::Kind::Only });
    let id = world.component_id::<forbidden::Safe>().unwrap();
    assert_eq!(world.entity(e).unwrap().value(id).unwrap().to_string(), "{ number: 3, kind: Only }");
}

#[derive(Component, Debug)]
struct Wrapped<T>(T);

#[derive(Component)]
struct Bounded<T: Reflect + std::fmt::Debug + Send + Sync> {
    value: T,
    many: [T; 2],
}

#[derive(Reflect)]
enum Never {}

#[derive(Reflect, Debug)]
enum WithFields {
    A(#[allow(dead_code)] u8),
    #[allow(dead_code)]
    B,
}

#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
enum Level {
    Low = -3,
    High = 900,
    Next,
}

#[derive(Component)]
struct Leveled(Level);

#[derive(Reflect)]
#[repr(C, packed)]
struct Packed(u8, u32);

#[derive(Reflect)]
union Bits {
    a: u32,
    b: f32,
}

struct NotDebug;

#[derive(Reflect)]
struct Holder<T: 'static> {
    hidden: NotDebug,
    kind: PhantomData<T>,
    pair: (u16, bool),
}

#[test]
fn generic_impls_follow_the_bounds_that_are_written() {
    // Nothing is known of `T` in the impl for `Wrapped<T>`, and `Wrapped<T>` is `Debug` only if `T` is.
    let wrapped = <Wrapped<u32> as Reflect>::SHAPE;
    assert!(matches!(wrapped.fields()[0].shape.kind, Kind::Opaque) && wrapped.show.is_none());
    assert_eq!(wrapped.fields()[0].shape.size, 4);
    let bounded = <Bounded<u32> as Reflect>::SHAPE;
    assert!(matches!(bounded.fields()[0].shape.kind, Kind::Scalar(Scalar::U32)));
    assert!(matches!(bounded.fields()[1].shape.kind, Kind::Array(_, 2)));
    let mut world = World::new();
    let e = world.spawn((Wrapped(5_u32), Bounded { value: 3_u32, many: [1, 2] }));
    let ids = [world.component_id::<Wrapped<u32>>().unwrap(), world.component_id::<Bounded<u32>>().unwrap()];
    let [a, b] = ids.map(|id| world.entity(e).unwrap().value(id).unwrap().to_string());
    assert_eq!((a.as_str(), b.as_str()), ("_", "{ value: 3, many: [1, 2] }"));
}

#[test]
fn enums_unions_and_packed_structs() {
    assert!(matches!(Never::SHAPE.kind, Kind::Opaque));
    assert!(matches!(WithFields::SHAPE.kind, Kind::Opaque) && WithFields::SHAPE.show.is_some());
    let _ = WithFields::A(1);
    assert!(matches!(Packed::SHAPE.kind, Kind::Opaque) && Packed::SHAPE.size == 5);
    let _ = Packed(1, 2);
    assert!(matches!(Bits::SHAPE.kind, Kind::Opaque));
    let _ = (Bits { a: 1 }, Bits { b: 1.0 });
    let Kind::Choice(choice) = Level::SHAPE.kind else { panic!("an enum without fields") };
    assert_eq!(choice.variants, [("Low", -3), ("High", 900), ("Next", 901)]);
    assert_eq!((choice.name(900), choice.number("Next")), (Some("High"), Some(901)));
    let mut world = World::new();
    for level in [Level::Low, Level::High, Level::Next] {
        let e = world.spawn(Leveled(level));
        let value = world.entity(e).unwrap().value(world.component_id::<Leveled>().unwrap()).unwrap();
        assert_eq!(value.scalar().unwrap().as_i128(), Some(level as i128));
        assert_eq!(value.to_string(), format!("{level:?}"));
    }
    let holder = Holder::<String>::SHAPE;
    assert!(matches!(holder.fields()[0].shape.kind, Kind::Opaque) && holder.fields()[0].shape.show.is_none());
    assert!(matches!(holder.fields()[1].shape.kind, Kind::Struct([])));
    assert_eq!(holder.fields()[2].shape.fields().len(), 2);
    let _ = Holder::<u8> { hidden: NotDebug, kind: PhantomData, pair: (1, true) };
    assert!(holder.show.is_none());
}

#[derive(Soa, Reflect, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column")]
struct Body {
    mass: f64,
    #[soa(nested)]
    at: Point,
    tail: [u16; 3],
    alive: bool,
}

#[test]
fn soa_fields_are_read_from_their_lanes() {
    let mut world = World::new();
    for n in 0..70_u16 {
        let at = Point { x: f32::from(n), y: -1.5 };
        world.spawn(Body { mass: f64::from(n) / 2.0, at, tail: [n, n + 1, n + 2], alive: n % 2 == 0 });
    }
    let id = world.component_id::<Body>().unwrap();
    let e = world.query::<Entity>().iter().nth(67).unwrap();
    let value = world.entity(e).unwrap().value(id).unwrap();
    assert_eq!(value.to_string(), "{ mass: 33.5, at: { x: 67.0, y: -1.5 }, tail: [67, 68, 69], alive: false }");
    assert_eq!(value.get("at.x").unwrap().scalar().unwrap().as_f64(), Some(67.0));
    assert_eq!(value.get("tail.2").unwrap().scalar().unwrap().as_i128(), Some(69));
    assert!(value.debug().unwrap().text.starts_with("Body { mass: 33.5, at: Point { x: 67.0"));
    let table = world.tables().next().unwrap();
    for (path, row_67) in [("mass", 33.5), ("at.x", 67.0), ("at.y", -1.5), ("tail.1", 68.0)] {
        let path = phalanx::reflect::FieldPath::new(world.components(), id, path).unwrap();
        let column = path.column(&table).unwrap();
        assert_eq!((column.len(), column.get(67).unwrap().as_f64()), (70, Some(row_67)));
        assert_eq!(column.get(70), None);
        assert_eq!(value.at(&path).unwrap().scalar().unwrap().as_f64(), Some(row_67));
    }
    // The nested row has no column of its own, but can be read.
    let at = phalanx::reflect::FieldPath::new(world.components(), id, "at").unwrap();
    assert!(at.column(&table).is_none());
    assert_eq!(value.at(&at).unwrap().to_string(), "{ x: 67.0, y: -1.5 }");
}

/// A row type that is split by hand, into other lanes than its fields.
mod by_hand {
    use phalanx::reflect::Reflect;
    use phalanx::store::Soa;
    use phalanx::store::soa::{Leaf, SoaRow, Views};

    macro_rules! by_hand {
        ($name:ident) => {
            impl<'a> Views<'a> for $name {
                type Ref = (&'a u8, &'a bool);
                type Mut = (&'a mut u8, &'a mut bool);
                type Lanes = (&'a [u8], &'a [bool]);
                type LanesMut = (&'a mut [u8], &'a mut [bool]);
            }
            impl SoaRow for $name {
                type Shape = (Leaf<u8>, Leaf<bool>);
                type Columns = (Vec<u8>, Vec<bool>);
                const NAME: &'static str = "by hand";
                const FIELDS: &'static [&'static str] = &["number", "flag"];

                fn split(self) -> (u8, bool) {
                    (self.number, self.flag)
                }
                fn join((number, flag): (u8, bool)) -> Self {
                    $name { flag, number }
                }
                fn as_row(&self) -> (&u8, &bool) {
                    (&self.number, &self.flag)
                }
                fn as_row_mut(&mut self) -> (&mut u8, &mut bool) {
                    (&mut self.number, &mut self.flag)
                }
                fn row<'a>(row: (&'a u8, &'a bool)) -> (&'a u8, &'a bool)
                where
                    Self: 'a,
                {
                    row
                }
                fn row_mut<'a>(row: (&'a mut u8, &'a mut bool)) -> (&'a mut u8, &'a mut bool)
                where
                    Self: 'a,
                {
                    row
                }
                fn lanes<'a>(lanes: (&'a [u8], &'a [bool])) -> (&'a [u8], &'a [bool])
                where
                    Self: 'a,
                {
                    lanes
                }
                fn lanes_mut<'a>(lanes: (&'a mut [u8], &'a mut [bool])) -> (&'a mut [u8], &'a mut [bool])
                where
                    Self: 'a,
                {
                    lanes
                }
                fn split_row<'a>(row: (&'a u8, &'a bool)) -> (&'a u8, &'a bool)
                where
                    Self: 'a,
                {
                    row
                }
                fn split_lanes<'a>(lanes: (&'a [u8], &'a [bool])) -> (&'a [u8], &'a [bool])
                where
                    Self: 'a,
                {
                    lanes
                }
                fn split_columns(columns: (Vec<u8>, Vec<bool>)) -> (Vec<u8>, Vec<bool>) {
                    columns
                }
                fn join_columns(columns: (Vec<u8>, Vec<bool>)) -> (Vec<u8>, Vec<bool>) {
                    columns
                }
            }
        };
    }

    /// Its lanes are its fields, exchanged: a `bool` would be read from a lane of numbers.
    #[derive(Clone, Copy, Debug, phalanx::Component)]
    #[component(layout = "soa")]
    pub(super) struct Odd {
        pub flag: bool,
        pub number: u8,
    }
    by_hand!(Odd);

    #[derive(Clone, Copy, Debug, Reflect)]
    pub(super) struct OddPart {
        pub flag: bool,
        pub number: u8,
    }
    by_hand!(OddPart);

    #[derive(Clone, Copy, Debug, Soa, phalanx::Component)]
    #[soa(crate = "phalanx::store")]
    #[component(layout = "soa")]
    pub(super) struct Outer {
        pub first: u32,
        #[soa(nested)]
        pub part: OddPart,
    }
}

#[test]
fn rows_that_are_split_by_hand_are_opaque() {
    let mut world = World::new();
    let part = by_hand::OddPart { flag: true, number: 9 };
    let e = world.spawn((by_hand::Odd { flag: true, number: 9 }, by_hand::Outer { first: 1, part }));
    let ids = [world.component_id::<by_hand::Odd>().unwrap(), world.component_id::<by_hand::Outer>().unwrap()];
    for (id, path, text) in [(ids[0], "flag", "Odd { flag: true, number: 9 }"), (ids[1], "part.flag", "Outer {")] {
        let value = world.entity(e).unwrap().value(id).unwrap();
        assert!(value.get(path).is_none() && value.to_string() == "_");
        assert!(value.debug().unwrap().text.starts_with(text));
        assert!(phalanx::reflect::FieldPath::new(world.components(), id, path).is_err());
    }
}

#[derive(Reflect, Clone, Copy)]
#[repr(align(64))]
enum Lone {
    Only,
}

#[derive(Component)]
#[component(track = "row")]
struct RowMarked {
    lone: Lone,
    others: [Lone; 3],
}

#[derive(Component)]
#[component(track = "column")]
struct ColumnMarked {
    lone: Lone,
    others: [Lone; 3],
}

#[test]
fn fields_without_data_are_not_in_the_lane_of_ticks() {
    let (lone, others) = (Lone::Only, [Lone::Only; 3]);
    let mut world = World::new();
    world.spawn((RowMarked { lone, others }, ColumnMarked { lone, others }));
    let e = world.spawn((RowMarked { lone, others }, ColumnMarked { lone, others }));
    let table = world.tables().next().unwrap();
    for id in [world.component_id::<RowMarked>().unwrap(), world.component_id::<ColumnMarked>().unwrap()] {
        for name in ["lone", "others.2"] {
            let path = phalanx::reflect::FieldPath::new(world.components(), id, name).unwrap();
            let column = path.column(&table).unwrap();
            assert_eq!((column.len(), column.stride(), column.ptr().addr().get() % 64), (2, 0, 0), "{name}");
            assert_eq!(column.get(1).unwrap().to_string(), "Only");
            assert_eq!(world.entity(e).unwrap().value(id).unwrap().get(name).unwrap().to_string(), "Only");
        }
    }
    let (rows, columns) = (world.get::<RowMarked>(e).unwrap(), world.get::<ColumnMarked>(e).unwrap());
    let _ = (rows.lone, rows.others, columns.lone, columns.others);
}

#[derive(Component, Debug)]
enum Ends {
    Well = 3,
    #[allow(dead_code)]
    Badly,
}

impl Drop for Ends {
    fn drop(&mut self) {}
}

#[derive(Component, Debug, Clone, Copy)]
#[repr(i128)]
enum Vast {
    Near = 1,
    Far = 1 << 64 | 1,
}

#[test]
fn enums_with_a_destructor_or_wide_numbers_are_shown() {
    let mut world = World::new();
    let e = world.spawn((Ends::Well, Vast::Far));
    world.spawn(Vast::Near);
    let shown = |id| world.entity(e).unwrap().value(id).unwrap().debug().unwrap().text;
    let [ends, vast] = [world.component_id::<Ends>().unwrap(), world.component_id::<Vast>().unwrap()];
    assert_eq!((shown(ends), shown(vast)), ("Well".into(), "Far".into()));
    // A number of another variant is worse than none.
    assert_ne!(world.entity(e).unwrap().value(vast).unwrap().to_string(), "Near");
    assert_ne!(world.entity(e).unwrap().value(ends).unwrap().to_string(), "Badly");
}
