//! [`RowId`]: the name of a row.

use super::World;
use crate::error::RowError;
use crate::rows::{Key, Row};

/// The name of a row: a [`Key`], which is looked up, or a [`Row`] handle, which is not. Sealed.
pub trait RowId: Copy + sealed::Sealed {}
impl RowId for Key {}
impl RowId for Row {}

mod sealed {
    use super::{Key, Row, RowError, World};

    pub trait Sealed {
        /// Returns the handle of the row, if the row exists.
        fn find(self, world: &World) -> Result<Row, RowError>;
    }
    impl Sealed for Key {
        fn find(self, world: &World) -> Result<Row, RowError> {
            world.storage.find_row(self)
        }
    }
    impl Sealed for Row {
        #[inline]
        fn find(self, world: &World) -> Result<Row, RowError> {
            if world.storage.contains(self.0) { Ok(self) } else { Err(RowError::Stale { row: self }) }
        }
    }
}
