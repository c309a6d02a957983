//! The states that a world keeps for the queries it was asked for.

use super::{Filter, Query, QueryState};
use crate::component::{TypeIdHasher, direct_place};
use core::any::{Any, TypeId};
use core::fmt;
use std::collections::HashMap;

/// Query states by type. Taken out while they are used.
#[derive(Default)]
pub(crate) struct QueryCache {
    states: HashMap<TypeId, usize, TypeIdHasher>,
    list: Vec<Box<dyn Any>>,
    /// The state that was used last under these bits of its type id.
    direct: Option<Box<Direct>>,
}

type Direct = [(Option<TypeId>, usize); 64];

impl QueryCache {
    /// The state of a query, made if there is none.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn state<Q: Query, F: Filter>(&mut self) -> &mut QueryState<Q, F> {
        let key = TypeId::of::<(Q, F)>();
        let place = direct_place(&key);
        let at = match &self.direct {
            Some(direct) if direct[place].0 == Some(key) => direct[place].1,
            _ => self.find_slow::<Q, F>(key),
        };
        self.list[at].downcast_mut().expect("a state is kept under its own type")
    }

    /// The state of a query, if there is one.
    pub(super) fn peek<Q: Query, F: Filter>(&self) -> Option<&QueryState<Q, F>> {
        self.list[*self.states.get(&TypeId::of::<(Q, F)>())?].downcast_ref()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn find_slow<Q: Query, F: Filter>(&mut self, key: TypeId) -> usize {
        let at = match self.states.get(&key) {
            Some(at) => *at,
            None => {
                // Not in a closure: the panic of a query that aliases names the line of the caller.
                self.list.push(Box::new(QueryState::<Q, F>::new()));
                let at = self.list.len() - 1;
                self.states.insert(key, at);
                at
            }
        };
        self.direct.get_or_insert_with(|| Box::new([(None, 0); 64]))[direct_place(&key)] = (Some(key), at);
        at
    }
}

impl fmt::Debug for QueryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryCache({} states)", self.list.len())
    }
}
