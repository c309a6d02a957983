//! [`Watched`] and [`ObservedQuery`]: queries whose matches are observed.
#![allow(unsafe_code)]

use super::lookup::{contains, find_item};
use super::{Filtered, QueryData, QueryFilter, ReadOnlyQueryData};
use crate::component::{Component, ComponentId};
use crate::journal::PastRow;
use crate::sort::sort_short;
use crate::world::World;
use core::any::type_name;
use phalanx_store::Entity;

/// The components that an observed query names.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Watched {
    register: Vec<fn(&mut World) -> ComponentId>,
    refused: Option<&'static str>,
}

impl Watched {
    /// Adds a component.
    pub(super) fn component<C: Component>(&mut self) {
        self.register.push(World::register_component::<C>);
    }

    /// States that a member of the query depends on more than the presence of components.
    pub(super) fn refuse<T: ?Sized>(&mut self) {
        self.refused.get_or_insert(type_name::<T>());
    }
}

/// A query of one world whose matches are observed: which rows match now, and which have matched before an operation.
pub(crate) struct ObservedQuery<D: ReadOnlyQueryData, F: QueryFilter> {
    state: (D::State, F::State),
}

impl<D: ReadOnlyQueryData, F: QueryFilter> ObservedQuery<D, F> {
    /// Returns the query and the components that it names, which are registered.
    ///
    /// # Panics
    ///
    /// Panics if the query depends on more than the presence of components.
    #[track_caller]
    pub(crate) fn new(world: &mut World) -> (Self, Vec<ComponentId>) {
        let mut watched = Watched::default();
        Filtered::<D, F>::watch(&mut watched);
        if let Some(member) = watched.refused {
            let query = type_name::<(D, F)>();
            panic!("the query {query} cannot be observed: {member} depends on more than the components that a row has");
        }
        let mut ids: Vec<ComponentId> = watched.register.iter().map(|register| register(world)).collect();
        sort_short(&mut ids);
        ids.dedup();
        (ObservedQuery { state: Filtered::<D, F>::state(&world.storage.components) }, ids)
    }

    /// Returns `true` if it is known of some component that every matching row has it.
    pub(crate) fn requires_component(&self) -> bool {
        let mut requires = false;
        Filtered::<D, F>::required(&self.state, &mut |_, _| requires = true);
        requires
    }

    /// Returns `true` if the query visits extra rows.
    pub(crate) fn visits_extra_rows(&self) -> bool {
        Filtered::<D, F>::visits_extra_rows(&self.state)
    }

    /// Returns `true` if the query visits a row of this kind.
    fn visits(&self, row: PastRow<'_>) -> bool {
        !row.is_extra() || self.visits_extra_rows()
    }

    /// Returns the item of a row before the operation, if it matched.
    ///
    /// # Safety
    ///
    /// The row is one of the query's world. The displaced values of the operation are not dropped during `'w`.
    pub(crate) unsafe fn item_before<'w>(&self, row: PastRow<'w>) -> Option<D::Item<'w>> {
        // SAFETY: the state is that of the row's world, and displaced values are not dropped, by the caller's contract.
        if row.existed() && self.visits(row) { unsafe { Filtered::<D, F>::past(&self.state, row) } } else { None }
    }

    /// Returns the item of a row after the operation, if it matches.
    ///
    /// # Safety
    ///
    /// The world is the query's, and the row is one of it.
    pub(crate) unsafe fn item_after<'w>(&self, world: &'w World, row: PastRow<'_>) -> Option<D::Item<'w>> {
        let slot = self.slot(row)?;
        // SAFETY: the state is the world's, by the caller's contract. It is borrowed for `'w`, and the query only reads.
        unsafe { find_item::<Filtered<D, F>>(world, &self.state, slot) }
    }

    /// Returns `true` if a row matches after the operation.
    ///
    /// # Safety
    ///
    /// The world is the query's, and the row is one of it.
    pub(crate) unsafe fn matches_after(&self, world: &World, row: PastRow<'_>) -> bool {
        // SAFETY: the state is the world's, by the caller's contract.
        self.slot(row).is_some_and(|slot| unsafe { contains::<Filtered<D, F>>(world, &self.state, slot) })
    }

    /// Returns the slot of a row that exists after the operation, and that the query visits.
    fn slot(&self, row: PastRow<'_>) -> Option<Entity> {
        (row.exists() && self.visits(row)).then_some(row.row().0)
    }
}
