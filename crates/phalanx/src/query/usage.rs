//! Counts what queries visit, for the layout report.

use super::{Access, QueryData};
use crate::component::{ComponentId, Components};

impl Components {
    /// Counts that a query is about to visit rows.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_visits<D: QueryData>(&self, rows: u64) {
        let Ok(access) = Access::try_of::<D>() else { return };
        let with_others = access.types().nth(1).is_some();
        access.types().for_each(|key| self.count_visit(self.id_of_type(key), rows, with_others));
    }

    /// Counts that values of a component are about to be visited.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_visit(&self, id: ComponentId, rows: u64, with_others: bool) {
        if id != ComponentId::UNKNOWN {
            self.info(id).usage.visit(rows, with_others);
        }
    }

    /// Counts that a query is asked for one entity.
    #[cfg(feature = "counters")]
    #[cold]
    #[inline(never)]
    pub(crate) fn count_lookups<D: QueryData>(&self) {
        let Ok(access) = Access::try_of::<D>() else { return };
        access.types().for_each(|key| self.count_lookup(self.id_of_type(key)));
    }

    /// Counts that a value is looked up by entity.
    #[cfg(feature = "counters")]
    #[cold]
    #[inline(never)]
    pub(crate) fn count_lookup(&self, id: ComponentId) {
        if id != ComponentId::UNKNOWN {
            self.info(id).usage.find();
        }
    }
}
