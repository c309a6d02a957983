//! Eight kinds of components, and the bundles that are made of them.

use phalanx::{Bundle, Component, ComponentError, Entity, NoSuchEntity, StructuralError, World};
use phalanx_testkit::{Align64, Align4096, Aligned, Counted, Tally, Zst};

pub const KINDS: usize = 8;

/// A component whose value is a number, or nothing to tell apart.
pub trait Kind: Component {
    const NUMBER: usize;
    /// The value of a key; components without size have only one.
    fn of(tally: &Tally, key: u32) -> Self;
    fn read(item: <Self::Layout as phalanx::layout::Layout<Self>>::Ref<'_>) -> u32;
    fn key(&self) -> u32;
    /// What of a key is kept.
    fn kept(key: u32) -> u32 {
        key
    }
}

macro_rules! kind {
    ($name:ident, $number:literal, |$tally:ident, $key:ident| $make:expr, |$value:ident| $read:expr) => {
        impl Kind for $name {
            const NUMBER: usize = $number;
            #[allow(unused_variables)]
            fn of($tally: &Tally, $key: u32) -> Self {
                $make
            }
            fn read(item: &Self) -> u32 {
                item.key()
            }
            fn key(&self) -> u32 {
                let $value = self;
                $read
            }
            fn kept(key: u32) -> u32 {
                if size_of::<Self>() == 0 { 0 } else { key }
            }
        }
    };
}

#[derive(Component, Debug)]
pub struct Plain(pub u32);
#[derive(Component, Debug)]
pub struct Text(pub String);
#[derive(Component, Debug)]
pub struct Tag;
#[derive(Component, Debug)]
pub struct Mark(Zst<Align4096>);
#[derive(Component, Debug)]
pub struct Value(pub Counted);
#[derive(Component, Debug)]
pub struct Large([u64; 40]);
#[derive(Component, Debug)]
pub struct Wide(Aligned<Align64>);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub struct Spin {
    pub axis: u8,
    pub speed: f64,
    pub on: bool,
}

kind!(Plain, 0, |tally, key| Plain(key), |value| value.0);
kind!(Text, 1, |tally, key| Text(key.to_string()), |value| value.0.parse().unwrap());
kind!(Tag, 2, |tally, key| Tag, |value| {
    let _: &Tag = value;
    0
});
kind!(Mark, 3, |tally, key| Mark(Zst::new()), |value| {
    value.0.touch();
    0
});
kind!(Value, 4, |tally, key| Value(tally.value(key)), |value| value.0.key());
kind!(Large, 5, |tally, key| Large([key.into(); 40]), |value| {
    assert!(value.0.iter().all(|word| *word == value.0[0]));
    value.0[0] as u32
});
kind!(Wide, 6, |tally, key| Wide(Aligned::new(tally, key)), |value| value.0.key());

impl Kind for Spin {
    const NUMBER: usize = 7;
    fn of(_: &Tally, key: u32) -> Self {
        Spin { axis: key as u8, speed: key.into(), on: key % 2 == 1 }
    }
    fn read(item: Spin) -> u32 {
        item.key()
    }
    fn key(&self) -> u32 {
        let key = self.speed as u32;
        assert_eq!((self.axis, self.on), (key as u8, key % 2 == 1), "lanes of different rows");
        key
    }
}

/// A bundle of such components.
pub trait Pack: Bundle {
    fn numbers() -> Vec<usize>;
    fn of(tally: &Tally, key: u32) -> Self;
    fn keys(&self) -> Vec<u32>;
}

/// What one component of a bundle is given, when the bundle is given `key`: something of its own.
pub fn part(key: u32, number: usize) -> u32 {
    key.wrapping_mul(8).wrapping_add(number as u32)
}

impl<K: Kind> Pack for K {
    fn numbers() -> Vec<usize> {
        vec![K::NUMBER]
    }
    fn of(tally: &Tally, key: u32) -> Self {
        K::of(tally, part(key, K::NUMBER))
    }
    fn keys(&self) -> Vec<u32> {
        vec![self.key()]
    }
}

macro_rules! pack {
    ($($kind:ident)*) => {
        impl<$($kind: Kind),*> Pack for ($($kind,)*) {
            fn numbers() -> Vec<usize> {
                vec![$($kind::NUMBER),*]
            }
            #[allow(unused_variables, clippy::unused_unit)]
            fn of(tally: &Tally, key: u32) -> Self {
                ($(<$kind as Pack>::of(tally, key),)*)
            }
            #[allow(non_snake_case)]
            fn keys(&self) -> Vec<u32> {
                let ($($kind,)*) = self;
                vec![$($kind.key()),*]
            }
        }
    };
}
pack!();
pack!(A B);
pack!(A B C);
pack!(A B C D);
pack!(A B C D E F G H);

/// A bundle's operations.
pub struct Pile {
    pub numbers: Vec<usize>,
    pub spawn: fn(&mut World, &Tally, u32) -> Entity,
    pub try_spawn: fn(&mut World, &Tally, u32) -> Result<Entity, StructuralError>,
    pub batch: fn(&mut World, &Tally, u32, u32) -> Vec<Entity>,
    pub spawner: fn(&mut World, &Tally, u32, u32) -> Vec<Entity>,
    pub insert: fn(&mut World, Entity, &Tally, u32) -> Result<(), NoSuchEntity>,
    pub remove: fn(&mut World, Entity) -> Result<bool, NoSuchEntity>,
    pub take: fn(&mut World, Entity) -> Result<Vec<u32>, StructuralError>,
}

fn pile<P: Pack>() -> Pile {
    Pile {
        numbers: P::numbers(),
        spawn: |world, tally, key| world.spawn(P::of(tally, key)),
        try_spawn: |world, tally, key| world.try_spawn(P::of(tally, key)),
        batch: |world, tally, key, n| world.spawn_batch((0..n).map(|at| P::of(tally, key + at))),
        spawner: |world, tally, key, n| {
            let mut spawner = world.spawner::<P>();
            (0..n).map(|at| spawner.spawn(P::of(tally, key + at))).collect()
        },
        insert: |world, e, tally, key| world.insert(e, P::of(tally, key)),
        remove: |world, e| world.remove::<P>(e),
        take: |world, e| world.take::<P>(e).map(|pack| pack.keys()),
    }
}

macro_rules! piles {
    ($($bundle:tt)*) => {
        /// All bundles.
        pub fn piles() -> Vec<Pile> {
            vec![$(pile::<$bundle>()),*]
        }
    };
}

piles! {
    Plain Text Tag Mark Value Large Wide Spin ()
    (Plain, Value) (Value, Plain) (Tag, Mark) (Spin, Tag) (Plain, Spin, Value) (Wide, Text) (Large, Plain)
    (Mark, Value, Tag) (Text, Large, Spin, Wide) (Plain, Text, Tag, Mark, Value, Large, Wide, Spin)
}

/// One component's operations.
pub struct Single {
    pub get: fn(&World, Entity) -> Result<u32, ComponentError>,
    pub view: fn(&World, Entity) -> Result<u32, ComponentError>,
    pub has: fn(&World, Entity) -> bool,
    pub replace: fn(&mut World, Entity, &Tally, u32) -> Result<u32, ComponentError>,
    pub kept: fn(u32) -> u32,
    pub name: &'static str,
}

fn single<K: Kind>() -> Single {
    Single {
        get: |world, e| world.get::<K>(e).map(K::read),
        view: |world, e| world.component::<K>().get(e).map(K::read),
        has: |world, e| world.has::<K>(e),
        replace: |world, e, tally, key| world.replace(e, K::of(tally, key)).map(|old| old.key()),
        kept: K::kept,
        name: core::any::type_name::<K>(),
    }
}

/// All components, by number.
pub fn singles() -> [Single; KINDS] {
    [
        single::<Plain>(),
        single::<Text>(),
        single::<Tag>(),
        single::<Mark>(),
        single::<Value>(),
        single::<Large>(),
        single::<Wide>(),
        single::<Spin>(),
    ]
}
