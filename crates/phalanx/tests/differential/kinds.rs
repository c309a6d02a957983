//! The components of the differential test: every layout, with destructors and without.

use phalanx::query::ReadItem;
use phalanx::store::Entity;
use phalanx::{Bundle, BundleBuilder, CommandBuffer, Component, Entry, Key, RowError, StructuralError, World};
use phalanx_testkit::{Counted, Tally};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// What a component of the test can do.
pub(crate) trait Kind: Component {
    const NUMBER: usize;
    fn make(tally: &Tally, key: u32) -> Self;
    /// What is left of the key: tags keep nothing of it, small numbers a part.
    fn keep(key: u32) -> u32;
    fn read(world: &World, entity: Entity) -> Option<u32>;
    fn read_row(world: &World, key: Key) -> Option<u32>;
    fn key(self) -> u32;
    /// What is left of the key of a value that is there.
    fn see(value: ReadItem<'_, Self>) -> u32;
    /// The key of a value that stays where it is.
    fn of(&self) -> u32;
}

macro_rules! kinds {
    ($($number:literal $name:ident ($layout:literal, $($rest:tt)*))*) => {
        $(kinds!(@one $number $name $layout $($rest)*);)*
        /// How many kinds there are.
        pub(crate) const KINDS: usize = 0 $(+ { let _ = $number; 1 })*;
        pub(crate) const NAMES: [&str; KINDS] = [$(stringify!($name)),*];

        /// The component of a kind, by its number.
        pub(crate) fn read(world: &World, entity: Entity, number: usize) -> Option<u32> {
            match number { $($number => <$name as Kind>::read(world, entity),)* _ => unreachable!() }
        }

        pub(crate) fn read_row(world: &World, key: Key, number: usize) -> Option<u32> {
            match number { $($number => <$name as Kind>::read_row(world, key),)* _ => unreachable!() }
        }

        pub(crate) fn keep(number: usize, key: u32) -> u32 {
            match number { $($number => $name::keep(key),)* _ => unreachable!() }
        }

        pub(crate) fn add(builder: &mut BundleBuilder, tally: &Tally, number: usize, key: u32) {
            match number { $($number => { builder.add($name::make(tally, key)); })* _ => unreachable!() }
        }

        /// Registers all of them, in order.
        pub(crate) fn register(world: &mut World) {
            $(world.register_component::<$name>();)*
        }

        /// Listens to every kind, and counts what comes and goes.
        pub(crate) fn listen(world: &mut World, heard: &Arc<Heard>) {
            $({
                let (added, removed) = (heard.clone(), heard.clone());
                world.on_add::<$name>(move |_, _, _| added.note($number, 1));
                world.on_remove::<$name>(move |_, _, _| removed.note($number, -1));
            })*
        }

        /// Finds what the operations below need in advance, because it cannot fail.
        pub(crate) fn prepare(world: &mut World, number: usize) {
            match number { $($number => drop(world.component_mut::<$name>()),)* _ => unreachable!() }
        }

        /// Keeps the components of a kind whose keys have this parity.
        pub(crate) fn retain(world: &mut World, tally: &Tally, number: usize, parity: u32) -> Result<usize, StructuralError> {
            match number {
                $($number => world.component_mut::<$name>().try_retain(|_, value| {
                    tally.callback();
                    $name::see(value) % 2 == parity
                }),)*
                _ => unreachable!(),
            }
        }

        /// Removes the component of a kind by its entry, or inserts one. Returns what was removed.
        pub(crate) fn enter(
            world: &mut World,
            entity: Entity,
            tally: &Tally,
            number: usize,
            key: u32,
        ) -> Result<Option<u32>, StructuralError> {
            let mut entity = world.entity_mut(entity)?;
            match number {
                $($number => match entity.entry::<$name>() {
                    Entry::Occupied(entry) => entry.try_remove().map(|old| Some(Kind::key(old))),
                    Entry::Vacant(entry) => entry.try_insert($name::make(tally, key)).map(|_| None),
                },)*
                _ => unreachable!(),
            }
        }

        pub(crate) fn replace(world: &mut World, entity: Entity, tally: &Tally, number: usize, key: u32) -> Option<u32> {
            match number {
                $($number => world.replace(entity, $name::make(tally, key)).ok().map(|old| Kind::key(old)),)*
                _ => unreachable!(),
            }
        }
    };
    (@one $number:literal $name:ident $layout:literal counted $($option:meta)?) => {
        #[derive(Component, Debug)]
        #[component(layout = $layout $(, $option)?)]
        pub(crate) struct $name(pub(crate) Counted);
        impl Kind for $name {
            const NUMBER: usize = $number;
            fn make(tally: &Tally, key: u32) -> Self { $name(tally.value(key)) }
            fn keep(key: u32) -> u32 { key }
            fn read(world: &World, entity: Entity) -> Option<u32> { world.get::<$name>(entity).ok().map(|v| v.0.key()) }
            fn read_row(world: &World, key: Key) -> Option<u32> { world.row(key).and_then(|row| row.get::<$name>()).ok().map(|v| v.0.key()) }
            fn key(self) -> u32 { self.0.key() }
            fn see(value: ReadItem<'_, Self>) -> u32 { value.0.key() }
            fn of(&self) -> u32 { self.0.key() }
        }
    };
    (@one $number:literal $name:ident $layout:literal plain $int:ty $(, $option:meta)?) => {
        #[derive(Component, Debug, Clone, Copy)]
        #[component(layout = $layout $(, $option)?)]
        pub(crate) struct $name(pub(crate) $int);
        impl Kind for $name {
            const NUMBER: usize = $number;
            fn make(_: &Tally, key: u32) -> Self { $name(key as $int) }
            fn keep(key: u32) -> u32 { key as $int as u32 }
            fn read(world: &World, entity: Entity) -> Option<u32> { world.get::<$name>(entity).ok().map(|v| v.0 as u32) }
            fn read_row(world: &World, key: Key) -> Option<u32> { world.row(key).and_then(|row| row.get::<$name>()).ok().map(|v| v.0 as u32) }
            fn key(self) -> u32 { self.0 as u32 }
            fn see(value: ReadItem<'_, Self>) -> u32 { value.0 as u32 }
            fn of(&self) -> u32 { self.0 as u32 }
        }
    };
    (@one $number:literal $name:ident $layout:literal tag $($option:meta)?) => {
        #[derive(Component, Debug, Clone, Copy)]
        #[component(layout = $layout $(, $option)?)]
        pub(crate) struct $name;
        impl Kind for $name {
            const NUMBER: usize = $number;
            fn make(_: &Tally, _: u32) -> Self { $name }
            fn keep(_: u32) -> u32 { 0 }
            fn read(world: &World, entity: Entity) -> Option<u32> { world.get::<$name>(entity).ok().map(|_| 0) }
            fn read_row(world: &World, key: Key) -> Option<u32> { world.row(key).and_then(|row| row.get::<$name>()).ok().map(|_| 0) }
            fn key(self) -> u32 { 0 }
            fn see(_: ReadItem<'_, Self>) -> u32 { 0 }
            fn of(&self) -> u32 { 0 }
        }
    };
    (@one $number:literal $name:ident $layout:literal lanes $($option:meta)?) => {
        #[derive(phalanx::store::Soa, Component, Debug, Clone, Copy)]
        #[soa(crate = "phalanx::store")]
        #[component(layout = $layout $(, $option)?)]
        pub(crate) struct $name { pub(crate) low: u8, pub(crate) high: u64 }
        impl Kind for $name {
            const NUMBER: usize = $number;
            fn make(_: &Tally, key: u32) -> Self { $name { low: key as u8, high: u64::from(key >> 8) } }
            fn keep(key: u32) -> u32 { key }
            fn read(world: &World, entity: Entity) -> Option<u32> { world.get::<$name>(entity).ok().map(Kind::key) }
            fn read_row(world: &World, key: Key) -> Option<u32> { world.row(key).and_then(|row| row.get::<$name>()).ok().map(Kind::key) }
            fn key(self) -> u32 { u32::from(self.low) | (self.high as u32) << 8 }
            fn see(value: ReadItem<'_, Self>) -> u32 { value.key() }
            fn of(&self) -> u32 { Kind::key(*self) }
        }
    };
}

kinds! {
    0 Table ("table", counted)
    1 Small ("table", plain u32)
    2 Tag ("table", tag)
    3 Lanes ("soa", lanes)
    4 Pool ("pool", counted)
    5 Quick ("pool", plain u64)
    6 Mark ("pool", tag)
    7 Extra ("pool", counted)
    8 Late ("pool", counted)
    9 Line ("linear", counted)
    10 Mini ("linear", plain u16)
    11 Seen ("linear", tag)
    12 Needy ("table", counted requires(Quick(required::<Quick>), Small(required::<Small>), Mini(required::<Mini>)))
    13 Chain ("pool", plain u32, requires(Glue(required::<Glue>), Quick(required::<Quick>)))
    14 Glue ("table", tag requires(Mark(required::<Mark>), Lanes(required::<Lanes>)))
}

/// The kinds that a kind requires, directly or not.
pub(crate) fn requires(kind: usize) -> &'static [usize] {
    match kind {
        12 => &[5, 1, 10],
        13 => &[14, 5, 6, 3],
        14 => &[6, 3],
        _ => &[],
    }
}

/// The key of values that are made because another component requires them.
pub(crate) const REQUIRED: u32 = 0x0040_0407;

/// The payload of the panic of a function that makes a required value.
pub(crate) struct ConstructorPanicked;

std::thread_local! {
    /// The call that panics; none, if it is zero.
    static CONSTRUCTOR_FUSE: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Orders a panic at the n-th required value.
pub(crate) fn arm_constructors(n: u64) {
    CONSTRUCTOR_FUSE.set(n);
}

/// Makes a required value. Its kind is made without a tally.
fn required<K: Kind + Untallied>() -> K {
    let left = CONSTRUCTOR_FUSE.get();
    CONSTRUCTOR_FUSE.set(left.saturating_sub(1));
    if left == 1 {
        std::panic::panic_any(ConstructorPanicked);
    }
    K::untallied(REQUIRED)
}

/// A kind that is made without a tally.
trait Untallied {
    fn untallied(key: u32) -> Self;
}

macro_rules! untallied {
    ($($name:ident $make:expr)*) => {
        $(impl Untallied for $name {
            fn untallied(key: u32) -> Self { let make: fn(u32) -> Self = $make; make(key) }
        })*
    };
}
untallied! {
    Small |key| Small(key)
    Quick |key| Quick(key.into())
    Mark |_| Mark
    Mini |key| Mini(key as u16)
    Glue |_| Glue
    Lanes |key| Lanes { low: key as u8, high: u64::from(key >> 8) }
}

/// What listeners have heard: how many components of each kind came, less those that went.
pub(crate) struct Heard {
    counts: [AtomicI64; KINDS],
    /// The call that panics; none, if it is zero.
    fuse: AtomicI64,
    /// The rows that have entered and left queries, by the number of the query.
    matches: Mutex<Vec<(usize, bool, Key)>>,
}

/// How many rows may enter and leave queries between two checks.
const MATCHES: usize = 1 << 14;

impl Heard {
    pub(crate) fn new() -> Arc<Heard> {
        let (counts, matches) = ([const { AtomicI64::new(0) }; KINDS], Vec::with_capacity(MATCHES).into());
        Arc::new(Heard { counts, fuse: AtomicI64::new(0), matches })
    }

    fn note(&self, kind: usize, change: i64) {
        self.counts[kind].fetch_add(change, Ordering::Relaxed);
        self.burn();
    }

    fn burn(&self) {
        if self.fuse.fetch_sub(1, Ordering::Relaxed) == 1 {
            std::panic::panic_any(ListenerPanicked);
        }
    }

    /// Notes that a row enters or leaves a query. (The list has capacity: memory may be failing.)
    pub(crate) fn note_match(&self, query: usize, enters: bool, key: Key) {
        self.matches.lock().unwrap().push((query, enters, key));
        self.burn();
    }

    /// Takes what was noted of queries.
    pub(crate) fn take_matches(&self) -> Vec<(usize, bool, Key)> {
        self.matches.lock().unwrap().drain(..).collect()
    }

    /// Orders a panic at the n-th call.
    pub(crate) fn arm(&self, n: i64) {
        self.fuse.store(n, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, kind: usize) -> i64 {
        self.counts[kind].load(Ordering::Relaxed)
    }

    /// Sets the count of a kind. Used after a panic, because listeners did not run for all events.
    pub(crate) fn set(&self, kind: usize, count: i64) {
        self.counts[kind].store(count, Ordering::Relaxed);
    }
}

/// The payload of a listener's panic.
pub(crate) struct ListenerPanicked;

/// What is left of the keys of a bundle, by kind.
pub(crate) type Keys = [Option<u32>; KINDS];

/// Inserts a bundle into each of several entities.
type InsertBatch = fn(&mut World, &Tally, &[(Entity, u32)]) -> Result<(), StructuralError>;

/// What a bundle type of the test can do.
pub(crate) struct Pile {
    pub(crate) kinds: &'static [usize],
    /// Those of the kinds that are optional: the n-th is there if the n-th bit of the key is set.
    pub(crate) optional: &'static [usize],
    pub(crate) spawn: fn(&mut World, &Tally, u32) -> Result<Entity, StructuralError>,
    pub(crate) spawner: fn(&mut World, &Tally, u32, u32) -> Vec<Entity>,
    pub(crate) spawn_at: fn(&mut World, &Tally, Entity, u32) -> Result<(), StructuralError>,
    pub(crate) insert: fn(&mut World, &Tally, Entity, u32) -> Result<(), StructuralError>,
    pub(crate) insert_with: fn(&mut World, &Tally, Entity, u32) -> Result<(), StructuralError>,
    pub(crate) insert_new: fn(&mut World, &Tally, Entity, u32) -> Result<(), StructuralError>,
    pub(crate) insert_batch: InsertBatch,
    pub(crate) move_to: fn(&mut World, Entity, Entity) -> Result<(), StructuralError>,
    pub(crate) remove: fn(&mut World, Entity) -> Result<bool, StructuralError>,
    pub(crate) take: fn(&mut World, Entity) -> Result<Keys, StructuralError>,
    pub(crate) extend: fn(&mut World, &Tally, Key, u32) -> Result<(), RowError>,
    pub(crate) update: fn(&mut World, &Tally, Key, u32) -> Result<(), RowError>,
    pub(crate) remove_row: fn(&mut World, Key) -> Result<bool, RowError>,
    pub(crate) record_insert: fn(&mut CommandBuffer, &Tally, Entity, u32),
    pub(crate) record_remove: fn(&mut CommandBuffer, Entity),
    pub(crate) record_spawn: fn(&mut CommandBuffer, &World, &Tally, u32) -> Entity,
    pub(crate) record_make: fn(&mut CommandBuffer, &Tally, u32),
}

impl Pile {
    /// The kinds of the bundle that is made with a key.
    pub(crate) fn given(&self, key: u32) -> impl Iterator<Item = usize> {
        self.kinds.iter().copied().filter(move |kind| {
            self.optional.iter().position(|other| other == kind).is_none_or(|bit| key & 1 << bit != 0)
        })
    }
}

trait Made: Bundle {
    const NUMBERS: &'static [usize];
    const OPTIONS: &'static [usize] = &[];
    fn made(tally: &Tally, key: u32) -> Self;
    /// By kind. (Not a list: memory may be failing.)
    fn keys(self) -> Keys;
}

macro_rules! made {
    ($($name:ident)*) => {
        impl<$($name: Kind),*> Made for ($($name,)*) {
            const NUMBERS: &'static [usize] = &[$($name::NUMBER),*];
            fn made(tally: &Tally, key: u32) -> Self { ($($name::make(tally, key),)*) }
            #[allow(non_snake_case)]
            fn keys(self) -> Keys {
                let ($($name,)*) = self;
                let mut keys = [None; KINDS];
                $(keys[<$name as Kind>::NUMBER] = Some(Kind::key($name));)*
                keys
            }
        }
    };
}
made!(A);
made!(A B);
made!(A B C);
made!(A B C D E F G H I J K L);

impl<A: Kind, B: Kind, C: Kind> Made for (Option<A>, B, Option<C>) {
    const NUMBERS: &'static [usize] = &[A::NUMBER, B::NUMBER, C::NUMBER];
    const OPTIONS: &'static [usize] = &[A::NUMBER, C::NUMBER];
    fn made(tally: &Tally, key: u32) -> Self {
        let [a, c] = [key & 1 != 0, key & 2 != 0];
        (a.then(|| A::make(tally, key)), B::make(tally, key), c.then(|| C::make(tally, key)))
    }
    fn keys(self) -> Keys {
        let mut keys = [None; KINDS];
        keys[A::NUMBER] = self.0.map(Kind::key);
        keys[B::NUMBER] = Some(self.1.key());
        keys[C::NUMBER] = self.2.map(Kind::key);
        keys
    }
}

const fn pile<B: Made>() -> Pile {
    Pile {
        kinds: B::NUMBERS,
        optional: B::OPTIONS,
        spawn: |world, tally, key| world.try_spawn(B::made(tally, key)),
        spawner: |world, tally, key, count| {
            let mut spawner = world.spawner::<B>();
            (0..count).map(|n| spawner.spawn(B::made(tally, key + n))).collect()
        },
        spawn_at: |world, tally, entity, key| world.spawn_at(entity, B::made(tally, key)),
        insert: |world, tally, entity, key| world.try_insert(entity, B::made(tally, key)),
        insert_with: |world, tally, entity, key| {
            world.entity_mut(entity).map_err(StructuralError::from).and_then(|mut entity| {
                entity.try_insert({
                    let bundle = B::made(tally, key);
                    tally.callback();
                    bundle
                })
            })
        },
        insert_new: |world, tally, entity, key| {
            world
                .entity_mut(entity)
                .map_err(StructuralError::from)
                .and_then(|mut entity| entity.try_insert_if_new(B::made(tally, key)))
        },
        insert_batch: |world, tally, pairs| {
            world.try_insert_batch(pairs.iter().map(|(entity, key)| {
                tally.callback();
                (*entity, B::made(tally, *key))
            }))
        },
        move_to: |world, from, to| {
            world.entity_mut(from).map_err(StructuralError::from).and_then(|mut from| from.move_components::<B>(to))
        },
        remove: |world, entity| world.try_remove::<B>(entity),
        take: |world, entity| world.take::<B>(entity).map(Made::keys),
        extend: |world, tally, key, value| world.try_add_row(key, B::made(tally, value)).map(drop),
        update: |world, tally, key, value| world.row_mut(key).and_then(|mut row| row.try_insert(B::made(tally, value))),
        remove_row: |world, key| world.row_mut(key).and_then(|mut row| row.try_remove::<B>()),
        record_insert: |commands, tally, entity, key| commands.insert(entity, B::made(tally, key)),
        record_remove: |commands, entity| commands.remove::<B>(entity),
        record_spawn: |commands, world, tally, key| commands.spawn_with(world, B::made(tally, key)),
        record_make: |commands, tally, key| commands.spawn(B::made(tally, key)),
    }
}

pub(crate) const PILES: &[Pile] = &[
    pile::<(Table,)>(),
    pile::<(Small, Pool)>(),
    pile::<(Pool, Quick)>(),
    pile::<(Quick,)>(),
    pile::<(Table, Line)>(),
    pile::<(Tag, Mark)>(),
    pile::<(Lanes, Mini)>(),
    pile::<(Pool, Quick, Extra)>(),
    pile::<(Extra,)>(),
    pile::<(Late,)>(),
    pile::<(Late, Seen)>(),
    pile::<(Mark,)>(),
    pile::<(Line,)>(),
    pile::<(Mini, Mark, Small)>(),
    pile::<(Seen, Table, Late)>(),
    pile::<(Needy,)>(),
    pile::<(Chain,)>(),
    pile::<(Table, Chain, Needy)>(),
    pile::<(Glue, Quick)>(),
    pile::<(Option<Pool>, Table, Option<Small>)>(),
    pile::<(Option<Needy>, Extra, Option<Quick>)>(),
    pile::<(Option<Line>, Glue, Option<Chain>)>(),
    pile::<(Mini, Seen, Line, Late, Extra, Mark, Quick, Pool, Lanes, Tag, Small, Table)>(),
];
