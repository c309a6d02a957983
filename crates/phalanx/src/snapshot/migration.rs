//! [`Migration`]: reads columns of older versions.

use super::codec::Codec;
use super::coded::read_values;
use super::column_builder::ColumnBuilder;
use super::error::LoadError;
use super::reader::Reader;
use crate::component::Component;
use crate::layout::PlainLayout;
use core::marker::PhantomData;

/// Reads a column of another type and converts each value.
pub(super) trait Migration: Send + Sync {
    /// Returns the name of the codec that the column was written by.
    fn codec(&self) -> &'static str;

    /// Reads all values of `builder`. Panics if it is not of the component that values are converted to.
    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError>;
}

/// Converts plain values of the component `Old`.
pub(super) struct FromPlain<Old, C, M>(pub(super) M, pub(super) PhantomData<fn(Old) -> C>);

impl<Old: Component, C: Component, M: Fn(Old) -> C + Send + Sync> Migration for FromPlain<Old, C, M>
where
    Old::Layout: PlainLayout<Old>,
{
    fn codec(&self) -> &'static str {
        "plain"
    }

    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut builder = builder.of_type::<C>();
        let mut lanes = Vec::new();
        let mut old = input.check(ColumnBuilder::try_of_type::<Old>(&mut lanes, builder.len()))?;
        old.of_type::<Old>().read_plain(name, input)?;
        for value in old.rows().of_type::<Old>().values() {
            input.check(builder.push((self.0)(value.copied())))?;
        }
        Ok(())
    }
}

/// Converts values of the type `Old` that were written by a codec.
pub(super) struct FromCoded<Old, C, K, M>(pub(super) K, pub(super) M, pub(super) PhantomData<fn(Old) -> C>);

impl<Old: 'static, C: Component, K: Codec<Old>, M: Fn(Old) -> C + Send + Sync> Migration for FromCoded<Old, C, K, M> {
    fn codec(&self) -> &'static str {
        self.0.name()
    }

    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut builder = builder.of_type::<C>();
        read_values(&self.0, name, builder.len(), input, |old: Old| builder.push((self.1)(old)))
    }
}
