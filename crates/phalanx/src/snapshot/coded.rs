//! Values that are written and read one by one, in blocks; and those without data, which are builder anew.
#![allow(unsafe_code)]

use super::budget::Budget;
use super::codec::Codec;
use super::column::{Column, ColumnBuilder, ColumnRows, put_next, with_value};
use super::error::{CodecError, LoadError, NotDecoded, Problem, SaveError};
use super::reader::Reader;
use super::writer::Writer;
use crate::component::Component;
use core::marker::PhantomData;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// Values one by one, in blocks of bytes.
pub(super) struct Coded<C, K>(pub(super) K, pub(super) PhantomData<fn() -> C>);

/// A block of a column is closed when it has so many bytes.
const BLOCK: usize = 1 << 14;

/// Reads values in blocks.
pub(super) fn read_blocks<C, K: Codec<C>>(
    codec: &K,
    name: &'static str,
    count: u32,
    input: &mut Reader<'_>,
    mut each: impl FnMut(C) -> Result<(), AllocError>,
) -> Result<(), LoadError> {
    read_each(name, count, input, |bytes, budget| Ok(each(codec.decode_within(bytes, budget)?)?))
}

/// Reads values in blocks, each from the front of the bytes that are left.
pub(super) fn read_each(
    name: &'static str,
    count: u32,
    input: &mut Reader<'_>,
    mut each: impl FnMut(&mut &[u8], &Budget) -> Result<(), NotDecoded>,
) -> Result<(), LoadError> {
    let (mut bytes, mut done) = (Vec::new(), 0);
    while done < count {
        let (values, len) = (input.u32()?, input.u32()?);
        if values == 0 || values > count - done {
            let expected = u64::from(count - done);
            return Err(input.error(Problem::Count { what: "values in a block", found: values.into(), expected }));
        }
        bytes.clear();
        input.bytes(&mut bytes, len as usize)?;
        let mut rest = &*bytes;
        for row in done..done + values {
            each(&mut rest, &input.budget).map_err(|error| match error {
                NotDecoded::Codec(error) => input.error(Problem::Value { name, row, error }),
                NotDecoded::Alloc(error) => input.error(error),
            })?;
        }
        if !rest.is_empty() {
            let error = CodecError("bytes are left over after it");
            return Err(input.error(Problem::Value { name, row: done + values - 1, error }));
        }
        done += values;
    }
    Ok(())
}

/// Writes values in blocks, as a function appends each.
pub(super) fn write_each(
    name: &'static str,
    sources: &[ColumnRows<'_>],
    out: &mut Writer<'_>,
    encode: impl Fn(*const Lane, u32, &mut Vec<u8>) -> Result<(), CodecError>,
) -> Result<(), SaveError> {
    let (mut bytes, mut values) = (Vec::new(), 0_u32);
    let close = |bytes: &mut Vec<u8>, values: &mut u32, out: &mut Writer<'_>| {
        let len = u32::try_from(bytes.len());
        let len = len.map_err(|_| SaveError::Codec { name, error: CodecError("it is larger than 4 GiB") })?;
        out.put_u32(core::mem::take(values))?;
        out.put_u32(len)?;
        out.put(bytes)?;
        bytes.clear();
        Ok::<_, SaveError>(())
    };
    for (lanes, row) in sources.iter().flat_map(|source| source.runs.rows().map(|row| (source.lanes, row))) {
        encode(lanes, row, &mut bytes).map_err(|error| SaveError::Codec { name, error })?;
        values += 1;
        if bytes.len() >= BLOCK {
            close(&mut bytes, &mut values, out)?;
        }
    }
    if values > 0 { close(&mut bytes, &mut values, out) } else { Ok(()) }
}

impl<C: Component, K: Codec<C>> Column for Coded<C, K> {
    fn codec(&self) -> &'static str {
        self.0.name()
    }
    fn is_canonical(&self) -> bool {
        self.0.is_canonical()
    }
    fn is_plain(&self) -> bool {
        false
    }

    unsafe fn write(
        &self,
        name: &'static str,
        sources: &[ColumnRows<'_>],
        out: &mut Writer<'_>,
    ) -> Result<(), SaveError> {
        write_each(name, sources, out, |lanes, row, bytes| {
            // SAFETY: the caller's promise.
            unsafe { with_value(lanes, row, |value: &C| self.0.encode(value, bytes)) }
        })
    }

    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: the caller's promise.
        unsafe { with_value(lanes, row, |value: &C| self.0.encode(value, bytes)) }
    }

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut rows = builder.places();
        read_blocks(&self.0, name, builder.wanted(), input, |value: C| match rows.next() {
            // SAFETY: the next row of this component.
            Some(row) => unsafe { put_next(builder, row, value) },
            None => unreachable!("no more values are read than there are rows"),
        })
    }
}

/// Values without data, which are builder anew.
pub(super) struct Tag<C, F>(pub(super) F, pub(super) PhantomData<fn() -> C>);

impl<C: Component, F: Fn() -> C + Send + Sync> Column for Tag<C, F> {
    fn codec(&self) -> &'static str {
        "tag"
    }
    fn is_canonical(&self) -> bool {
        true
    }
    fn is_plain(&self) -> bool {
        false
    }
    unsafe fn write(&self, _: &'static str, _: &[ColumnRows<'_>], _: &mut Writer<'_>) -> Result<(), SaveError> {
        Ok(())
    }
    unsafe fn encode(&self, _: *const Lane, _: u32, _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }
    unsafe fn read(
        &self,
        _: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        for row in builder.places() {
            // SAFETY: the next row of this component.
            input.alloc(unsafe { put_next(builder, row, (self.0)()) })?;
        }
        Ok(())
    }
}
