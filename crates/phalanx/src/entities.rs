//! [`MapEntities`]: access to the entities in a value, so that they can be updated when entities get other handles.

use phalanx_store::Entity;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};

/// A type that passes each entity in its values to a function, which may change it.
///
/// It is implemented for [`Entity`], for types without entities (numbers, text), and for the containers of the standard library.
/// Use `#[derive(MapEntities)]` for structs and enums. A component with `#[component(entities)]` uses it: each of its fields must
/// implement it, or have the attribute `#[entities(skip)]`.
///
/// ```
/// use phalanx::store::EntityPool;
/// use phalanx::{Entity, MapEntities};
///
/// #[derive(MapEntities)]
/// enum Order {
///     Wait,
///     Follow { leader: Entity, distance: f32 },
///     Guard(Vec<Option<Entity>>),
/// }
///
/// let mut pool = EntityPool::new();
/// let [ann, bob] = [pool.alloc(), pool.alloc()];
/// let mut order = Order::Guard(vec![None, Some(ann)]);
/// order.map_entities(&mut |entity| *entity = bob);
/// assert!(matches!(&order, Order::Guard(list) if *list == [None, Some(bob)]));
/// # let (_, _) = (Order::Wait, Order::Follow { leader: ann, distance: 1.0 });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where its entities are",
    note = "add `#[derive(MapEntities)]` to the type, or `#[entities(skip)]` to a field without any"
)]
pub trait MapEntities {
    /// Calls `each` with every entity in the value, in the order of fields and elements.
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity));
}

impl MapEntities for Entity {
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        each(self);
    }
}

macro_rules! none {
    ($($type:ty)*) => {$(
        impl MapEntities for $type {
            fn map_entities(&mut self, _: &mut dyn FnMut(&mut Entity)) {}
        }
    )*};
}
none! {
    () bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 String str
    std::time::Duration std::time::Instant std::time::SystemTime std::path::PathBuf
}

impl<T: ?Sized> MapEntities for &'static T {
    fn map_entities(&mut self, _: &mut dyn FnMut(&mut Entity)) {}
}

impl<T: ?Sized> MapEntities for core::marker::PhantomData<T> {
    fn map_entities(&mut self, _: &mut dyn FnMut(&mut Entity)) {}
}

impl<T: ToOwned<Owned: MapEntities> + ?Sized + 'static> MapEntities for Cow<'static, T> {
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        if let Cow::Owned(value) = self {
            value.map_entities(each);
        }
    }
}

impl<T: MapEntities + ?Sized> MapEntities for Box<T> {
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        (**self).map_entities(each);
    }
}

impl<T: MapEntities, E: MapEntities> MapEntities for Result<T, E> {
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        match self {
            Ok(value) => value.map_entities(each),
            Err(error) => error.map_entities(each),
        }
    }
}

impl<T: MapEntities> MapEntities for [T] {
    fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        self.iter_mut().for_each(|value| value.map_entities(each));
    }
}

macro_rules! lists {
    ($(($($bounds:tt)*) $type:ty;)*) => {$(
        impl<$($bounds)*> MapEntities for $type {
            fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
                self.iter_mut().for_each(|value| value.map_entities(each));
            }
        }
    )*};
}
lists! {
    (T: MapEntities) Option<T>;
    (T: MapEntities) Vec<T>;
    (T: MapEntities) VecDeque<T>;
    (T: MapEntities) LinkedList<T>;
    (T: MapEntities, const N: usize) [T; N];
}

/// Sets are rebuilt. If two values become equal, one is dropped.
macro_rules! sets {
    ($(($($bounds:tt)*) $type:ty;)*) => {$(
        impl<$($bounds)*> MapEntities for $type {
            fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
                let mapped = |mut value: T| {
                    value.map_entities(each);
                    value
                };
                *self = core::mem::take(self).into_iter().map(mapped).collect();
            }
        }
    )*};
}
sets! {
    (T: MapEntities + Ord) BTreeSet<T>;
    (T: MapEntities + Ord) BinaryHeap<T>;
    (T: MapEntities + Eq + Hash, S: BuildHasher + Default) HashSet<T, S>;
}

/// Maps are rebuilt. If two keys become equal, one entry is dropped.
macro_rules! maps {
    ($(($($bounds:tt)*) $type:ty;)*) => {$(
        impl<$($bounds)*> MapEntities for $type {
            fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
                let mapped = |(mut key, mut value): (K, V)| {
                    key.map_entities(each);
                    value.map_entities(each);
                    (key, value)
                };
                *self = core::mem::take(self).into_iter().map(mapped).collect();
            }
        }
    )*};
}
maps! {
    (K: MapEntities + Ord, V: MapEntities) BTreeMap<K, V>;
    (K: MapEntities + Eq + Hash, V: MapEntities, S: BuildHasher + Default) HashMap<K, V, S>;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: MapEntities),*> MapEntities for ($($name,)*) {
            #[allow(non_snake_case)]
            fn map_entities(&mut self, each: &mut dyn FnMut(&mut Entity)) {
                let ($($name,)*) = self;
                $($name.map_entities(each);)*
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
