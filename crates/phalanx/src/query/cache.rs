//! What a world keeps of the queries it was asked for.
#![allow(unsafe_code)]

use super::query_matches::{MatchesOf, QueryMatches};
use super::{Access, QueryData, QueryFilter};
use crate::alloc::unwrap_alloc;
use crate::type_map::TypeMap;
use crate::world::World;
use core::any::{Any, TypeId};
use core::fmt;

/// The matches of queries, by type. Taken out of the world while they are used.
pub(crate) struct QueryCache {
    /// The matches, each with the type of its query.
    list: Vec<(TypeId, Box<dyn Any>)>,
    types: TypeMap,
}

impl Default for QueryCache {
    fn default() -> QueryCache {
        QueryCache { list: Vec::new(), types: TypeMap::new() }
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
        let is_of = |at| is_of(&self.list, at, key);
        let at = match self.types.find_mut(key, is_of) {
            Some(at) => at,
            None => self.add::<D, F>(key),
        };
        self.list[at as usize].1.downcast_mut().expect("matches are kept under their own type")
    }

    /// Returns the matches of a query, if there are any.
    pub(super) fn peek<D: QueryData, F: QueryFilter>(&self) -> Option<&MatchesOf<D, F>> {
        let key = TypeId::of::<(D::Static, F)>();
        let at = self.types.find(key, |at| is_of(&self.list, at, key))?;
        self.list[at as usize].1.downcast_ref()
    }

    /// Adds the matches of a query, and returns their number.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn add<D: QueryData, F: QueryFilter>(&mut self, key: TypeId) -> u32 {
        Access::of_data::<D>();
        let matches: MatchesOf<D, F> = QueryMatches::new();
        let (at, list) = (self.list.len() as u32, &mut self.list);
        list.push((key, Box::new(matches)));
        unwrap_alloc(self.types.try_add(key, at, |other| list[other as usize].0));
        at
    }
}

/// Returns `true` if the matches with this number are those of the query with this type.
#[inline(always)]
fn is_of(list: &[(TypeId, Box<dyn Any>)], at: u32, key: TypeId) -> bool {
    list.get(at as usize).is_some_and(|(found, _)| *found == key)
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
