//! The items of several entities at once.
#![allow(unsafe_code)]

use super::lookup::item_of;
use super::{Query, QueryData, QueryFilter, ReadOnlyQueryData};
use crate::alloc::{try_reserve, try_vec};
use crate::error::ComponentError;
use phalanx_store::{AllocError, Entity};

/// Returns what `item` returns for each entity, or the first error. The entity at `repeated` occurs before, which is an error.
pub(super) fn try_array<T, E: From<ComponentError>, const N: usize>(
    entities: [Entity; N],
    repeated: Option<usize>,
    mut item: impl FnMut(Entity) -> Result<T, E>,
) -> Result<[T; N], E> {
    let mut error = None;
    let items: [Option<T>; N] = core::array::from_fn(|at| {
        if error.is_some() {
            return None;
        }
        let found = match repeated == Some(at) {
            true => Err(ComponentError::DuplicateEntity { entity: entities[at] }.into()),
            false => item(entities[at]),
        };
        found.map_err(|found| error = Some(found)).ok()
    });
    match error {
        Some(error) => Err(error),
        None => Ok(items.map(|item| match item {
            Some(item) => item,
            None => unreachable!("without an error there are all items"),
        })),
    }
}

/// Returns the position of the first entity that occurs before, of a few entities.
pub(super) fn find_repeated(entities: &[Entity]) -> Option<usize> {
    (1..entities.len()).find(|at| entities[..*at].contains(&entities[*at]))
}

/// Returns the position of the first entity that occurs before.
fn try_find_repeated(entities: &[Entity]) -> Result<Option<usize>, AllocError> {
    let mut sorted = try_vec(entities.len())?;
    sorted.extend(entities.iter().copied().zip(0_usize..));
    sorted.sort_unstable();
    let repeated = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
    Ok(repeated.min())
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, '_, D, F> {
    /// Returns the items of several entities, which may repeat.
    ///
    /// For data that write there is [`get_many_mut`](Query::get_many_mut). For a list of entities there is
    /// [`iter_many`](Query::iter_many).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Height(u32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn(Height(170)), world.spawn(Height(180))];
    /// let [a, b] = world.query::<&Height>().get_many([ann, bob])?;
    /// assert!(a.0 < b.0);
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of [`get`](Query::get) for the first entity that is not alive or does not match.
    #[doc(alias = "many")]
    pub fn get_many<const N: usize>(&self, entities: [Entity; N]) -> Result<[D::Item<'w>; N], ComponentError>
    where
        D: ReadOnlyQueryData,
    {
        let state = self.state();
        // SAFETY: the state is the world's; the contract of `new`; and read-only items do not conflict.
        try_array(entities, None, |entity| unsafe { item_of::<D, F, false>(self.world, state.get(), entity) })
    }

    /// Returns the items of several different entities, for using all of them at once.
    ///
    /// For a list of entities there is [`collect_many_mut`](Query::collect_many_mut).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Component)]
    /// struct Attack(i32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn((Health(10), Attack(3))), world.spawn((Health(8), Attack(2)))];
    /// let mut fighters = world.query_mut::<(&mut Health, &Attack)>();
    /// let [(health, attack), (other_health, other_attack)] = fighters.get_many_mut([ann, bob])?;
    /// health.0 -= other_attack.0;
    /// other_health.0 -= attack.0;
    /// assert!(fighters.get_many_mut([ann, ann]).is_err());
    /// assert!(world.query::<&Health>().iter().map(|health| health.0).eq([8, 5]));
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first error in the order of the entities:
    ///
    /// - the error of [`get`](Query::get) if an entity is not alive or does not match;
    /// - [`ComponentError::DuplicateEntity`] if an entity occurs twice.
    #[doc(alias = "many_mut")]
    #[doc(alias = "get_disjoint_mut")]
    #[doc(alias = "query_many_mut")]
    pub fn get_many_mut<const N: usize>(&mut self, entities: [Entity; N]) -> Result<[D::Item<'_>; N], ComponentError> {
        let state = self.state();
        // SAFETY: the state is the world's; the contract of `new`; and the items borrow the query. They are of different
        // entities, and items of two rows do not overlap.
        try_array(entities, find_repeated(&entities), |entity| unsafe {
            item_of::<D, F, true>(self.world, state.get(), entity)
        })
    }

    /// Collects the items of different entities into a list, in the order of the entities.
    ///
    /// Data that only read have [`iter_many`](Query::iter_many). To visit entities that may repeat, one after another, there is
    /// [`for_each_many`](Query::for_each_many).
    ///
    /// ```
    /// use phalanx::{Component, ComponentError, World};
    ///
    /// #[derive(Component)]
    /// struct Seat(u32);
    ///
    /// let mut world = World::new();
    /// let row: Vec<_> = (0..4).map(|n| world.spawn(Seat(n))).collect();
    /// let mut query = world.query_mut::<&mut Seat>();
    /// let mut seats = query.collect_many_mut(row.iter().copied())?;
    /// let (left, right) = seats.split_at_mut(2);
    /// left.iter_mut().zip(right).for_each(|(a, b)| std::mem::swap(*a, *b));
    /// assert!(world.query::<&Seat>().iter().map(|seat| seat.0).eq([2, 3, 0, 1]));
    ///
    /// let twice = [row[1], row[0], row[1]];
    /// let error = world.query_mut::<&mut Seat>().collect_many_mut(twice).map(drop).unwrap_err();
    /// assert_eq!(error, ComponentError::DuplicateEntity { entity: row[1] });
    /// # Ok::<(), ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`get_many_mut`](Query::get_many_mut), and [`ComponentError::Alloc`] if allocation fails.
    #[doc(alias = "iter_many_mut")]
    #[doc(alias = "iter_many_unique_mut")]
    #[doc(alias = "get_many_unique_mut")]
    #[doc(alias = "get_disjoint_mut")]
    pub fn collect_many_mut(
        &mut self,
        entities: impl IntoIterator<Item = Entity>,
    ) -> Result<Vec<D::Item<'_>>, ComponentError> {
        let mut list = Vec::new();
        for entity in entities {
            try_reserve(&mut list, 1)?;
            list.push(entity);
        }
        let repeated = try_find_repeated(&list)?;
        let (state, mut items) = (self.state(), try_vec(list.len())?);
        for (at, entity) in list.into_iter().enumerate() {
            if repeated == Some(at) {
                return Err(ComponentError::DuplicateEntity { entity });
            }
            // SAFETY: as in `get_many_mut`.
            items.push(unsafe { item_of::<D, F, true>(self.world, state.get(), entity)? });
        }
        Ok(items)
    }
}
