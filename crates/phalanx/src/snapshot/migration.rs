//! [`Migration`]: reads columns of older versions.
#![allow(unsafe_code)]

use super::codec::Codec;
use super::coded::read_values;
use super::column::{Column, Plain};
use super::column_builder::ColumnBuilder;
use super::error::LoadError;
use super::reader::Reader;
use crate::alloc::try_vec;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::layout::{Layout, PlainLayout};
use core::marker::PhantomData;
use phalanx_store::raw::Lane;

/// Reads a column of another type and converts each value.
pub(super) trait Migration: Send + Sync {
    /// Returns the name of the codec that the column was written by.
    fn codec(&self) -> &'static str;

    /// Reads all values of `builder`.
    ///
    /// # Safety
    ///
    /// `builder` is of the component that values are converted to.
    unsafe fn read(
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

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut lanes = input.check(try_vec(Old::Layout::LANES))?;
        Old::Layout::lanes(&mut |lane| lanes.push(Lane::new(lane)));
        let mut old = ColumnBuilder::of_plain(&mut lanes, builder.len());
        // SAFETY: the lanes are those of `Old`.
        unsafe { Plain::<Old>(PhantomData).read(name, &mut old, input)? };
        let lanes = old.lane();
        for row in 0..builder.len() {
            // SAFETY: the lanes are those of `Old`, and the row was read just now. Plain values are `Copy`: reading one moves
            // nothing out. `builder` is of `C`, by the caller's contract.
            input.check(unsafe {
                let value = Old::Layout::read(Old::Layout::ptr(lanes, RunTicks::READ), row as usize);
                builder.push((self.0)(value))
            })?;
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

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        read_values(&self.0, name, builder.len(), input, |old: Old| {
            // SAFETY: `builder` is of `C`, by the caller's contract.
            unsafe { builder.push((self.1)(old)) }
        })
    }
}
