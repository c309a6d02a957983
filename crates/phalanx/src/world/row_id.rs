//! [`RowId`]: what names a row.

use super::World;
use crate::error::RowError;
use crate::rows::{Key, Row};

/// What names a row: a [`Key`], which is looked up, or a [`Row`], which is not. Sealed.
pub trait RowId: Copy + sealed::Sealed {}
impl RowId for Key {}
impl RowId for Row {}

mod sealed {
    use super::{Key, Row, RowError, World};

    pub trait Sealed {
        /// The row, if it is there.
        fn find(self, world: &World) -> Result<Row, RowError>;
    }
    impl Sealed for Key {
        fn find(self, world: &World) -> Result<Row, RowError> {
            world.row(self)
        }
    }
    impl Sealed for Row {
        fn find(self, world: &World) -> Result<Row, RowError> {
            if world.contains_row(self) { Ok(self) } else { Err(RowError::Stale { row: self }) }
        }
    }
}
