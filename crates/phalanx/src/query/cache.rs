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
#[derive(Default)]
pub(crate) struct QueryCache {
    indices: HashMap<TypeId, u32, TypeIdHasher>,
    /// The matches, each with the type of its query.
    list: Vec<(TypeId, Box<dyn Any>)>,
    /// The number of the matches that were used last under these bits of their type id.
    direct: Option<Box<[u32; 64]>>,
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
        let guess = self.direct.as_ref().map_or(u32::MAX, |direct| direct[cache_slot(&key)]) as usize;
        let at = match self.list.get(guess) {
            Some((found, _)) if *found == key => guess,
            _ => self.find_slow::<D, F>(key),
        };
        self.list[at].1.downcast_mut().expect("matches are kept under their own type")
    }

    /// Returns the matches of a query, if there are any.
    pub(super) fn peek<D: QueryData, F: QueryFilter>(&self) -> Option<&MatchesOf<D, F>> {
        self.list[*self.indices.get(&TypeId::of::<(D::Static, F)>())? as usize].1.downcast_ref()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn find_slow<D: QueryData, F: QueryFilter>(&mut self, key: TypeId) -> usize {
        let at = match self.indices.get(&key) {
            Some(at) => *at,
            None => {
                // Not in a closure: the panic of a query that aliases names the line of the caller.
                Access::of_data::<D>();
                let matches: MatchesOf<D, F> = QueryMatches::new();
                let at = self.list.len() as u32;
                self.list.push((key, Box::new(matches)));
                self.indices.insert(key, at);
                at
            }
        };
        self.direct.get_or_insert_with(|| Box::new([u32::MAX; 64]))[cache_slot(&key)] = at;
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
