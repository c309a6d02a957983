//! What a world keeps of the queries it was asked for.
#![allow(unsafe_code)]

use super::query_matches::{MatchesOf, QueryMatches};
use super::{Access, QueryData, QueryFilter};
use crate::component::{TypeIdHasher, cache_slot};
use crate::world::World;
use core::any::{Any, TypeId};
use core::fmt;
use std::collections::HashMap;

/// The matches of queries, by type. Taken out of the world while they are used.
pub(crate) struct QueryCache {
    /// The matches, each with the type of its query.
    list: Vec<(TypeId, Box<dyn Any>)>,
    /// By bits of the type id: the number of the matches that were used last, or `u32::MAX`.
    direct: [u32; 64],
    /// The types that share a slot of `direct` with others.
    shared: HashMap<TypeId, u32, TypeIdHasher>,
}

impl Default for QueryCache {
    fn default() -> QueryCache {
        QueryCache { list: Vec::new(), direct: [u32::MAX; 64], shared: HashMap::default() }
    }
}

impl QueryCache {
    /// Returns the matches of a query, made if there are none.
    ///
    /// # Panics
    ///
    /// Panics if the query would alias.
    #[inline(always)]
    #[track_caller]
    pub(super) fn matches<D: QueryData, F: QueryFilter>(&mut self) -> &mut MatchesOf<D, F> {
        let key = TypeId::of::<(D::Static, F)>();
        let at = match self.find_direct(key) {
            Some(at) => at,
            None => self.find_slow::<D, F>(key),
        };
        self.list[at].1.downcast_mut().expect("matches are kept under their own type")
    }

    /// Returns the matches of a query, if there are any.
    pub(super) fn peek<D: QueryData, F: QueryFilter>(&self) -> Option<&MatchesOf<D, F>> {
        let key = TypeId::of::<(D::Static, F)>();
        let at = self.find_direct(key).or_else(|| self.shared.get(&key).map(|at| *at as usize))?;
        self.list[at].1.downcast_ref()
    }

    /// Returns the number of the matches that were used last under the bits of a type id, if they are of this type.
    #[inline(always)]
    fn find_direct(&self, key: TypeId) -> Option<usize> {
        let at = self.direct[cache_slot(&key)] as usize;
        self.list.get(at).is_some_and(|(found, _)| *found == key).then_some(at)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn find_slow<D: QueryData, F: QueryFilter>(&mut self, key: TypeId) -> usize {
        let slot = &mut self.direct[cache_slot(&key)];
        let at = match self.shared.get(&key) {
            Some(at) => *at,
            None => {
                // Not in a closure: the panic of a query that aliases names the line of the caller.
                Access::of_data::<D>();
                let matches: MatchesOf<D, F> = QueryMatches::new();
                let at = self.list.len() as u32;
                if let Some((neighbour, _)) = self.list.get(*slot as usize) {
                    self.shared.extend([(*neighbour, *slot), (key, at)]);
                }
                self.list.push((key, Box::new(matches)));
                at
            }
        };
        *slot = at;
        at as usize
    }
}

/// Updates the matches that a world keeps for a query, and returns them.
///
/// # Panics
///
/// Panics if the query would alias.
#[inline(always)]
#[track_caller]
pub(super) fn update_matches<D: QueryData, F: QueryFilter>(
    world: &mut World,
    update: impl FnOnce(&mut MatchesOf<D, F>, &World),
) -> (&World, &MatchesOf<D, F>) {
    // The cache is taken out of the world while it is used. A panic (of an aliasing query) leaves the world without one, and
    // the next query makes another.
    let mut cache = world.queries.take().unwrap_or_default();
    let matches = cache.matches::<D, F>();
    update(matches, world);
    let matches = &raw const *matches;
    world.queries = Some(cache);
    // SAFETY: the matches are in an allocation of their own, which the world keeps and does not change while it is borrowed.
    (world, unsafe { &*matches })
}

/// Returns the matches that a world keeps for a query for which [`update_matches`] was called.
pub(super) fn kept_matches<D: QueryData, F: QueryFilter>(world: &World) -> &MatchesOf<D, F> {
    let matches = world.queries.as_ref().and_then(|cache| cache.peek::<D, F>());
    matches.expect("matches that were updated are kept")
}

impl fmt::Debug for QueryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryCache({} queries)", self.list.len())
    }
}
