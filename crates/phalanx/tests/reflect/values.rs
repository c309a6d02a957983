//! Single values, and hostile ones.

use phalanx::reflect::{SHOWN_LIMIT, ScalarValue, ShowError};
use phalanx::{Component, ComponentError, Entity, Key, Role, World};
use phalanx_testkit::{for_every_failing_allocation, quiet_panics};
use std::fmt;
use std::num::{NonZero, Wrapping};

#[derive(Component, Debug)]
struct Numbers {
    a: u8,
    b: i16,
    c: u32,
    d: i64,
    e: u128,
    f: i128,
    g: f32,
    h: f64,
    i: bool,
    j: char,
    k: Entity,
    l: NonZero<u16>,
    m: Wrapping<i8>,
    n: usize,
    text: String,
    word: &'static str,
    boxed: Box<str>,
}

#[derive(Component, Debug)]
#[component(layout = "pool")]
struct Newtype(Inner);

#[derive(phalanx::reflect::Reflect, Debug)]
struct Inner {
    only: (i32,),
}

#[derive(Component, Debug)]
#[component(layout = "linear", track = "row")]
struct Slot(u64, u64);

#[derive(Component, Debug, Clone, Copy)]
#[component(plain)]
struct Bytes(u32, u32);

#[derive(Component)]
struct Silent(#[allow(dead_code)] Vec<u8>);

#[derive(Component, Debug)]
struct Tag;

#[test]
fn scalars_are_read_by_name() {
    let mut world = World::new();
    let other = world.spawn_empty();
    let e = world.spawn(Numbers {
        a: 255,
        b: -3,
        c: 7,
        d: i64::MIN,
        e: u128::MAX,
        f: i128::MIN,
        g: 0.1,
        h: -0.0,
        i: true,
        j: 'ß',
        k: other,
        l: NonZero::new(9).unwrap(),
        m: Wrapping(-1),
        n: 5,
        text: "a \"b\"".into(),
        word: "c",
        boxed: "d".into(),
    });
    let id = world.component_id::<Numbers>().unwrap();
    let value = world.entity(e).unwrap().value(id).unwrap();
    let expected = [
        ("a", ScalarValue::Unsigned(255)),
        ("b", ScalarValue::Signed(-3)),
        ("c", ScalarValue::Unsigned(7)),
        ("d", ScalarValue::Signed(i64::MIN.into())),
        ("e", ScalarValue::Unsigned(u128::MAX)),
        ("f", ScalarValue::Signed(i128::MIN)),
        ("g", ScalarValue::F32(0.1)),
        ("h", ScalarValue::F64(-0.0)),
        ("i", ScalarValue::Bool(true)),
        ("j", ScalarValue::Char('ß')),
        ("k", ScalarValue::Entity(other)),
        ("l", ScalarValue::Unsigned(9)),
        ("m", ScalarValue::Signed(-1)),
        ("n", ScalarValue::Unsigned(5)),
    ];
    for (name, scalar) in expected {
        assert!(value.get(name).unwrap().scalar().unwrap().is_same(&scalar), "{name}");
    }
    let texts = ["text", "word", "boxed"].map(|name| value.get(name).unwrap().text().unwrap());
    assert_eq!(texts, ["a \"b\"", "c", "d"]);
    assert_eq!(value.fields().count(), 17);
    assert!(value.get("x").is_none() && value.get("a.b").is_none() && value.get("").is_some());
    assert!(value.scalar().is_none() && value.text().is_none() && value.bytes().is_none());
}

#[test]
fn values_are_found_in_all_storages_and_rows() {
    let mut world = World::new();
    let e = world.spawn((Newtype(Inner { only: (-5,) }), Slot(1, 2), Bytes(3, 4), Tag, Silent(vec![])));
    let row = world.add_row(Key::main(e).with_role(Role(1)), (Slot(8, 9), Newtype(Inner { only: (6,) }))).unwrap();
    let [newtype, slot, bytes, tag, silent] = [
        world.component_id::<Newtype>(),
        world.component_id::<Slot>(),
        world.component_id::<Bytes>(),
        world.component_id::<Tag>(),
        world.component_id::<Silent>(),
    ]
    .map(Option::unwrap);
    let entity = world.entity(e).unwrap();
    assert!(entity.component_ids().eq([bytes, newtype, silent, slot, tag]));
    assert_eq!(entity.value(newtype).unwrap().scalar(), Some(ScalarValue::Signed(-5)));
    assert_eq!(entity.value(slot).unwrap().to_string(), "(1, 2)");
    assert_eq!(entity.value(bytes).unwrap().bytes(), Some(&[3_u32.to_ne_bytes(), 4_u32.to_ne_bytes()].concat()[..]));
    assert_eq!(entity.value(tag).unwrap().debug().unwrap().text, "Tag");
    assert_eq!(entity.value(tag).unwrap().to_string(), "()");
    assert_eq!(entity.value(silent).unwrap().debug(), Err(ShowError::NotDebug));
    assert!(world.components().info(tag).is_debug() && !world.components().info(silent).is_debug());
    assert!(world.components().info(bytes).is_plain() && !world.components().info(slot).is_plain());
    let row = world.row(row).unwrap();
    assert!(row.component_ids().eq([newtype, slot]));
    assert_eq!(row.value(slot).unwrap().to_string(), "(8, 9)");
    assert!(row.value(bytes).is_none());
    let unknown = phalanx::ComponentId::from_index(999);
    assert!(matches!(entity.value(unknown), Err(ComponentError::MissingComponent { .. })));
    assert!(entity.value(phalanx::ComponentId::from_index(0)).is_err());
}

#[derive(Component)]
struct Hostile(Manner);

#[derive(Clone, Copy)]
enum Manner {
    Panics,
    PanicsLate,
    Fails,
    Megabyte,
    Endless,
    Stubborn,
    Guarded,
    Multibyte,
}

/// Closes a bracket, whatever happens.
struct Bracket<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Drop for Bracket<'_, '_> {
    fn drop(&mut self) {
        for _ in 0..100 {
            let _ = self.0.write_str("]");
        }
    }
}

impl fmt::Debug for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Manner::Panics => panic!("hostile"),
            Manner::PanicsLate => {
                f.write_str("some text")?;
                std::panic::panic_any(PanicsAgain)
            }
            Manner::Fails => Err(fmt::Error),
            Manner::Megabyte => f.write_str(&"x".repeat(1 << 20)),
            Manner::Endless => loop {
                f.write_str("again and ")?;
            },
            Manner::Stubborn => loop {
                let _ = f.write_str("again and ");
            },
            Manner::Guarded => {
                let bracket = Bracket(f);
                loop {
                    let _ = bracket.0.write_str("again and ");
                }
            }
            Manner::Multibyte => (0..1000).try_for_each(|_| f.write_str("äöü…")),
        }
    }
}

/// A payload whose destructor panics, too.
struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the payload");
        }
    }
}

#[test]
fn hostile_debug_is_bounded_and_caught() {
    let mut world = World::new();
    let show = |world: &mut World, manner, limit| {
        let e = world.spawn(Hostile(manner));
        let id = world.component_id::<Hostile>().unwrap();
        quiet_panics(|| world.entity(e).unwrap().value(id).unwrap().debug_within(limit))
    };
    assert_eq!(show(&mut world, Manner::Panics, 100), Err(ShowError::Panicked));
    assert_eq!(show(&mut world, Manner::PanicsLate, 100), Err(ShowError::Panicked));
    assert_eq!(show(&mut world, Manner::Fails, 100), Err(ShowError::Failed));
    for manner in [Manner::Megabyte, Manner::Endless, Manner::Stubborn, Manner::Guarded, Manner::Multibyte] {
        for limit in [0, 1, 2, 63, SHOWN_LIMIT] {
            let shown = show(&mut world, manner, limit).unwrap();
            assert!(shown.is_truncated && shown.text.len() <= limit && shown.text.len() + 3 >= limit);
            assert!(shown.to_string().ends_with('…'));
        }
    }
    world.validate().unwrap();
}

#[test]
fn a_text_that_finds_no_memory_is_an_error() {
    let mut world = World::new();
    let e = world.spawn(Hostile(Manner::Multibyte));
    let id = world.component_id::<Hostile>().unwrap();
    let points = for_every_failing_allocation(
        || (),
        |()| world.entity(e).unwrap().value(id).unwrap().debug().map(drop),
        |(), result| assert!(matches!(result, Ok(()) | Err(ShowError::Alloc(_)))),
    );
    assert!(points > 0);
    world.validate().unwrap();
}
