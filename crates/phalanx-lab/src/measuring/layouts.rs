//! The four containers under one small interface, so that each measurement is written once.

use phalanx_store::memory::{Model, Usage};
use phalanx_store::{Entity, EntityPool, Handle, LinearStore, PackedStore, SlotStore, SparseSet};

/// A value of `4 * WORDS` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<const WORDS: usize>(pub(crate) [u32; WORDS]);

impl<const WORDS: usize> Value<WORDS> {
    pub(crate) fn new(number: usize) -> Self {
        Value([number as u32; WORDS])
    }

    /// What a system does with a component: read all of it, write some of it.
    pub(crate) fn step(&mut self) {
        let sum = self.0.iter().fold(1, |sum: u32, word| sum.wrapping_add(*word));
        if let Some(first) = self.0.first_mut() {
            *first = sum;
        }
    }

    pub(crate) fn first(&self) -> u32 {
        self.0.first().copied().unwrap_or(1)
    }
}

/// The sizes that are compiled in. A container of values is a type, so a measurement needs one of these.
pub(crate) const SIZES: [u64; 12] = [0, 4, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024];

/// The size to measure in place of `size`: the least that is not smaller, or the largest there is.
pub(crate) fn compiled_size(size: u64) -> u64 {
    SIZES.into_iter().find(|&s| s >= size).unwrap_or(SIZES[SIZES.len() - 1])
}

/// Something to do with values of any compiled size.
pub(crate) trait Task {
    type Output;
    fn run<const WORDS: usize>(self) -> Self::Output;
}

/// Does `task` with values of [`compiled_size`]`(size)` bytes.
pub(crate) fn with_size<T: Task>(size: u64, task: T) -> T::Output {
    match compiled_size(size) {
        0 => task.run::<0>(),
        4 => task.run::<1>(),
        8 => task.run::<2>(),
        12 => task.run::<3>(),
        16 => task.run::<4>(),
        24 => task.run::<6>(),
        32 => task.run::<8>(),
        64 => task.run::<16>(),
        128 => task.run::<32>(),
        256 => task.run::<64>(),
        512 => task.run::<128>(),
        _ => task.run::<256>(),
    }
}

/// What the measurements ask of a container.
pub(crate) trait Container<T>: Sized {
    /// What finds a value again: a handle of its own, or the entity.
    type Id: Copy;
    /// Creates an empty container with capacity for `values`, where the type supports that.
    fn with_room(values: usize) -> Self;
    /// Adds a value; a container that makes its own handles has no use for `entity`.
    fn put(&mut self, entity: Entity, value: T) -> Self::Id;
    fn at(&mut self, id: Self::Id) -> Option<&mut T>;
    fn take(&mut self, id: Self::Id) -> Option<T>;
    fn for_each(&mut self, f: impl FnMut(&mut T));
    /// Shrinks the capacity to the values.
    fn fit(&mut self);
    fn usage(&self) -> Usage;
}

macro_rules! container {
    ($type:ty, $id:ty, $remove:ident, $with_room:expr, |$this:ident, $entity:ident, $value:ident| $put:expr) => {
        impl<T> Container<T> for $type {
            type Id = $id;
            fn with_room(values: usize) -> Self {
                $with_room(values)
            }
            fn put(&mut self, $entity: Entity, $value: T) -> Self::Id {
                let $this = self;
                $put
            }
            fn at(&mut self, id: Self::Id) -> Option<&mut T> {
                self.get_mut(id)
            }
            fn take(&mut self, id: Self::Id) -> Option<T> {
                self.$remove(id)
            }
            fn for_each(&mut self, f: impl FnMut(&mut T)) {
                self.values_mut().for_each(f);
            }
            fn fit(&mut self) {
                self.shrink_to_fit();
            }
            fn usage(&self) -> Usage {
                self.memory()
            }
        }
    };
}

container!(PackedStore<T>, Handle<T>, remove, Self::with_capacity, |this, _entity, value| this.insert(value));
container!(SlotStore<T>, Handle<T>, remove, Self::with_capacity, |this, _entity, value| this.insert(value));
container!(SparseSet<Entity, T>, Entity, swap_remove, Self::with_capacity, |this, entity, value| {
    this.insert(entity, value);
    entity
});
container!(LinearStore<Entity, T>, Entity, remove, |_| Self::new(), |this, entity, value| {
    this.insert(entity, value);
    entity
});

/// The entities of a model: those that have a value, spread evenly over the indices, and the others.
pub(crate) fn population(model: &Model) -> (Vec<Entity>, Vec<Entity>) {
    let mut pool = EntityPool::new();
    let (count, live) = (model.entities(), model.live());
    // Entity i has a value where the running total of values steps up.
    (0..count).map(|i| (i, pool.alloc())).fold((Vec::new(), Vec::new()), |(mut with, mut without), (i, entity)| {
        if (i + 1) * live / count > i * live / count {
            with.push(entity)
        } else {
            without.push(entity)
        }
        (with, without)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SizeOf;
    impl Task for SizeOf {
        type Output = u64;
        fn run<const WORDS: usize>(self) -> u64 {
            size_of::<Value<WORDS>>() as u64
        }
    }

    #[test]
    fn sizes_are_what_they_say() {
        for size in SIZES {
            assert_eq!(with_size(size, SizeOf), size);
        }
        assert_eq!([1, 20, 33, 9999].map(compiled_size), [4, 24, 64, 1024]);
    }

    #[test]
    fn populations_are_exact_and_even() {
        for (entities, utilisation) in [(1000, 0.3), (1000, 1.0), (7, 0.5), (10, 0.0), (4097, 0.01)] {
            let model = Model::new(8, entities, utilisation).unwrap();
            let (with, without) = population(&model);
            assert_eq!(with.len() as u64, model.live());
            assert_eq!((with.len() + without.len()) as u64, entities);
            let gaps = with.windows(2).map(|pair| pair[1].index() - pair[0].index());
            if let (Some(least), Some(most)) = (gaps.clone().min(), gaps.max()) {
                assert!(most - least <= 1, "{entities} {utilisation}");
            }
        }
    }
}
