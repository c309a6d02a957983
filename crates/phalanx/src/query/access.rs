//! What a query touches, and whether it would alias.

use super::Query;
use crate::component::{Component, ComponentId, Components};
use core::any::TypeId;
use core::fmt;

/// The components that a query reads and writes.
#[derive(Debug, Default)]
pub struct Access {
    touched: Vec<(TypeId, &'static str, bool)>,
    conflict: Option<&'static str>,
}

/// A query that would alias: it writes a component and names it another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AliasError {
    /// The query.
    pub query: &'static str,
    /// The component.
    pub component: &'static str,
}

impl fmt::Display for AliasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the query {} would alias: it writes {} and names it twice", self.query, self.component)
    }
}

impl core::error::Error for AliasError {}

impl Access {
    /// What a query touches.
    ///
    /// # Panics
    ///
    /// If it would alias: if it writes a component that it names another time.
    #[track_caller]
    pub fn of<Q: Query>() -> Access {
        match Access::try_of::<Q>() {
            Ok(access) => access,
            Err(error) => panic!("{error}"),
        }
    }

    /// What a query touches, unless it would alias.
    ///
    /// # Errors
    ///
    /// If it writes a component that it names another time. The error names both.
    pub fn try_of<Q: Query>() -> Result<Access, AliasError> {
        let mut access = Access::default();
        Q::access(&mut access);
        match access.conflict {
            None => Ok(access),
            Some(component) => Err(AliasError { query: core::any::type_name::<Q>(), component }),
        }
    }

    pub(crate) fn touch<C: Component>(&mut self, writes: bool) {
        self.touch_as(TypeId::of::<C>(), core::any::type_name::<C>(), writes);
    }

    fn touch_as(&mut self, key: TypeId, name: &'static str, writes: bool) {
        if self.touched.iter().any(|(other, _, written)| *other == key && (*written || writes)) {
            self.conflict.get_or_insert(name);
        }
        self.touched.push((key, name, writes));
    }

    /// The ids of the components that are written.
    pub(crate) fn written<'a>(&'a self, components: &'a Components) -> impl Iterator<Item = ComponentId> + 'a {
        self.touched.iter().filter(|t| t.2).map(|t| components.id_of_type(t.0)).filter(|id| *id != ComponentId::UNKNOWN)
    }

    /// Adds what a filter looks at that stands beside these terms.
    pub(crate) fn filter<Q: Query, F: super::Filter>(&mut self) {
        let mut own = Access::default();
        Q::access(&mut own);
        let terms = own.touched.len();
        // What the terms touch is theirs: the filter looks at a row before they do.
        F::access(&mut own);
        for &(key, name, _) in &own.touched[terms..] {
            if own.touched[..terms].iter().all(|(other, ..)| *other != key) {
                self.touch_as(key, name, false);
            }
        }
    }

    /// The types of the components, each once.
    pub(crate) fn types(&self) -> impl Iterator<Item = TypeId> + '_ {
        let first = |at: usize, key: TypeId| self.touched[..at].iter().all(|(other, ..)| *other != key);
        self.touched.iter().enumerate().filter(move |(at, (key, ..))| first(*at, *key)).map(|(_, (key, ..))| *key)
    }

    /// The components that are written.
    pub fn writes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|t| t.2).map(|t| t.1)
    }

    /// The components that are only read.
    pub fn reads(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|t| !t.2).map(|t| t.1)
    }

    /// Whether two queries can run at once: neither writes what the other touches.
    ///
    /// ```
    /// use phalanx::Component;
    /// use phalanx::query::Access;
    ///
    /// #[derive(Component)]
    /// struct A;
    /// #[derive(Component)]
    /// struct B;
    ///
    /// assert!(Access::of::<(&mut A, &B)>().is_disjoint(&Access::of::<&B>()));
    /// assert!(!Access::of::<(&mut A, &B)>().is_disjoint(&Access::of::<&A>()));
    /// ```
    pub fn is_disjoint(&self, other: &Access) -> bool {
        let clash = |a: &(TypeId, &str, bool), b: &(TypeId, &str, bool)| a.0 == b.0 && (a.2 || b.2);
        !self.touched.iter().any(|a| other.touched.iter().any(|b| clash(a, b)))
    }
}
