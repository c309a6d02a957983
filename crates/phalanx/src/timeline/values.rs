//! Whether the bytes of values that were read are values.

use super::array::Array;
use super::column::Column;
use super::error::DeltaError;
use super::image::{Image, SideState};
use crate::component::{ComponentId, ComponentInfo, Components};

/// Set in the mark of a hole.
const DEAD: u32 = 1 << 31;

/// Checks each value in a state whose other parts were checked.
///
/// # Errors
///
/// `DeltaError::InvalidValue`, with the component's name.
pub(super) fn check_values(image: &Image, components: &Components) -> Result<(), DeltaError> {
    for table in &image.tables {
        for image in &table.columns {
            check_column(components, image.id, &image.column, None)?;
        }
    }
    for side in &image.sparse {
        let keys = side.keys.bytes();
        let in_pool = |row: u32| {
            // The generation follows the position.
            word(keys, row as usize * 2 + 1).is_some_and(|generation| generation & DEAD == 0)
        };
        let in_linear = |slot: u32| long(keys, slot as usize / 64).is_some_and(|bits| bits & 1 << (slot % 64) != 0);
        let has: &dyn Fn(u32) -> bool = match side.state {
            SideState::Pool(_) => &in_pool,
            SideState::Linear { .. } => &in_linear,
        };
        check_column(components, side.id, &side.column, Some(has))?;
    }
    Ok(())
}

/// The number of 32 bits at a position.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.as_chunks::<4>().0.get(at).map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The number of 64 bits at a position.
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.as_chunks::<8>().0.get(at).map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Checks the rows of a column: all, or those that have a value.
fn check_column(
    components: &Components,
    id: ComponentId,
    column: &Column,
    has: Option<&dyn Fn(u32) -> bool>,
) -> Result<(), DeltaError> {
    let info: &ComponentInfo = components.info(id);
    let (Some(valid), Column::Plain(arrays)) = (info.bytes.valid, column) else { return Ok(()) };
    let is_valid = |(lane, array): (usize, &Array)| match has.filter(|_| array.row_size() > 0) {
        None => valid(lane, array.bytes()),
        Some(has) => {
            let mut rows = (0..).zip(array.bytes().chunks_exact(array.row_size()));
            rows.all(|(row, bytes)| !has(row) || valid(lane, bytes))
        }
    };
    match arrays.iter().enumerate().take(info.value_lanes()).all(is_valid) {
        true => Ok(()),
        false => Err(DeltaError::InvalidValue { component: info.name() }),
    }
}
