//! [`Column`]: how the values of one component are written and read.

use super::codec::try_extend;
use super::column_builder::ColumnBuilder;
use super::column_rows::ColumnRows;
use super::error::{CodecError, LoadError, SaveError};
use super::reader::Reader;
use super::writer::Writer;
use crate::component::Component;
use crate::layout::{Layout, PlainLayout};
use core::marker::PhantomData;

/// Writes and reads the columns of one component.
///
/// Each function panics if it is given rows, a value or a builder of another component.
pub(super) trait Column: Send + Sync {
    /// Returns the name of the codec.
    fn codec(&self) -> &'static str;

    /// Returns `true` if equal values have equal bytes.
    fn is_canonical(&self) -> bool;

    /// Returns `true` if values are written as they are in memory, so that their layout must be the same when they are read.
    fn is_plain(&self) -> bool;

    /// Writes the values of some rows.
    fn write(&self, name: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError>;

    /// Appends the values of some rows to a list of bytes.
    fn encode(&self, source: ColumnRows<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads all values of `builder`.
    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError>;
}

/// Returns the number of lanes of a component, without those of change ticks.
pub(super) const fn value_lanes<C: Component>() -> usize {
    C::Layout::LANES - C::Layout::TRACK.lanes()
}

/// Values that are written as they are in memory, lane by lane.
pub(super) struct Plain<C>(pub(super) PhantomData<fn() -> C>);

impl<C: Component> Column for Plain<C>
where
    C::Layout: PlainLayout<C>,
{
    fn codec(&self) -> &'static str {
        "plain"
    }
    fn is_canonical(&self) -> bool {
        true
    }
    fn is_plain(&self) -> bool {
        true
    }

    fn write(&self, _: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError> {
        for lane in 0..value_lanes::<C>() {
            for source in sources {
                source.of_type::<C>().bytes(lane).try_for_each(|bytes| out.put(bytes))?;
            }
        }
        Ok(())
    }

    fn encode(&self, source: ColumnRows<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        let source = source.of_type::<C>();
        let mut lanes = (0..value_lanes::<C>()).flat_map(|lane| source.bytes(lane));
        lanes.try_for_each(|lane| try_extend(bytes, lane))
    }

    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        builder.of_type::<C>().read_plain(name, input)
    }
}
