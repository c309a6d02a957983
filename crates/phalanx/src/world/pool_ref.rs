//! [`PoolRef`]: the pool of a component, in a shared world.
#![allow(unsafe_code)]

use super::World;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout::{self, Layout};
use crate::sparse::{Removal, SparseSet, Store};
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// The pool of a component, for reading: [`World::pool`].
pub struct PoolRef<'w, C> {
    world: &'w World,
    /// `None` if there is none yet.
    pool: Option<&'w SparseSet>,
    component: PhantomData<fn() -> C>,
}

impl<C> Clone for PoolRef<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for PoolRef<'_, C> {}

impl<C> fmt::Debug for PoolRef<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PoolRef({})", core::any::type_name::<C>())
    }
}

impl World {
    /// Returns the pool of a component, to read its values in their order.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    ///
    /// let mut world = World::new();
    /// let all = [3, 1, 2].map(|depth| world.spawn(Depth(depth)));
    /// let depths = world.pool::<Depth>();
    /// assert_eq!(depths.values(), Some([Depth(3), Depth(1), Depth(2)].as_slice()));
    /// assert!(depths.iter().map(|(entity, _)| entity).eq(all));
    /// ```
    pub fn pool<C: Component<Layout = layout::Pool>>(&self) -> PoolRef<'_, C> {
        let pool = match self.storage.sparse.of(self.storage.components.id::<C>()).map(|sparse| &sparse.store) {
            Some(Store::Pool(pool)) => Some(pool),
            _ => None,
        };
        PoolRef { world: self, pool, component: PhantomData }
    }
}

impl<'w, C: Component<Layout = layout::Pool>> PoolRef<'w, C> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.pool.map_or(0, |pool| pool.len() as usize)
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of holes: positions whose values were removed.
    pub fn holes(&self) -> usize {
        self.pool.map_or(0, |pool| pool.dense.holes() as usize)
    }

    /// Returns what becomes of the positions of values that are removed.
    pub fn removal(&self) -> Removal {
        self.pool.map_or(Removal::Swap, |pool| pool.removal)
    }

    /// Returns the values as one slice, or `None` if there are holes between them.
    pub fn values(&self) -> Option<&'w [C]> {
        let Some(pool) = self.pool else { return Some(&[]) };
        // SAFETY: the pool has that many values and no hole, in lanes of the component, and the world is borrowed.
        (pool.dense.holes() == 0).then(|| unsafe {
            let values = <layout::Pool as Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
            <layout::Pool as Layout<C>>::slice(values, pool.len() as usize)
        })
    }

    /// Returns the entities that have the component and their values, in the order of the pool, or with `rev` in the reverse
    /// order. For an extra row, the entity is its owner.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Entity, &'w C)> + use<'w, C> {
        let world = self.world;
        let positions = self.pool.into_iter().flat_map(|pool| (0..pool.dense.positions()).map(move |at| (pool, at)));
        positions.filter_map(move |(pool, at)| {
            let slot = pool.dense.key_at(at)?;
            // SAFETY: the slots in a pool are alive and have a value there, in lanes of the component; the world is borrowed.
            unsafe {
                let values = <layout::Pool as Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
                Some((world.storage.owner_of(slot), <layout::Pool as Layout<C>>::get(values, at as usize)))
            }
        })
    }

    /// Returns the slots, if there are no holes.
    pub(super) fn slots(&self) -> &'w [Entity] {
        self.pool.and_then(|pool| pool.dense.keys()).unwrap_or_default()
    }

    /// Returns the position of an entity's value, if it has one.
    pub(super) fn position(&self, entity: Entity) -> Option<u32> {
        let pool = self.pool?;
        // A key has the generation of its slot.
        pool.position(entity.index()).filter(|at| pool.dense.key_at(*at) == Some(entity))
    }

    /// Returns the world.
    pub(super) fn world(&self) -> &'w World {
        self.world
    }

    /// Returns the value of an entity.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    pub fn get(&self, entity: Entity) -> Result<&'w C, ComponentError> {
        self.world.get::<C>(entity)
    }
}
