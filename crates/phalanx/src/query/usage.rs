//! Counts what queries visit, for the layout report.

use super::{Access, QueryData};
use crate::component::ComponentId;
#[cfg(feature = "counters")]
use crate::storage::Storage;
use crate::world::World;

impl World {
    /// Notes that a query sets out to visit so many rows.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_visits<D: QueryData>(&self, rows: u64) {
        let Ok(access) = Access::try_of::<D>() else { return };
        let with_others = access.types().nth(1).is_some();
        for key in access.types() {
            self.count_visit(self.storage.components.id_of_type(key), rows, with_others);
        }
    }

    /// Notes that so many values of a component are about to be visited.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_visit(&self, id: ComponentId, rows: u64, with_others: bool) {
        if id != ComponentId::UNKNOWN {
            self.storage.components.info(id).usage.visit(rows, with_others);
        }
    }

    /// Notes that a query is asked for one entity.
    #[cfg(feature = "counters")]
    #[cold]
    #[inline(never)]
    pub(crate) fn count_lookups<D: QueryData>(&self) {
        let Ok(access) = Access::try_of::<D>() else { return };
        for key in access.types() {
            self.storage.count_lookup(self.storage.components.id_of_type(key));
        }
    }
}

#[cfg(feature = "counters")]
impl Storage {
    /// Notes that a value is looked up by entity.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_lookup(&self, id: ComponentId) {
        if id != ComponentId::UNKNOWN {
            self.components.info(id).usage.find();
        }
    }
}
