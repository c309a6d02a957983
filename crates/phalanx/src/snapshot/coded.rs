//! [`Coded`] and [`Tag`]: columns whose values are encoded one by one, or have no data.

use super::budget::Budget;
use super::codec::Codec;
use super::column::Column;
use super::column_builder::ColumnBuilder;
use super::column_rows::{ColumnRows, ValueRef};
use super::error::{CodecError, LoadError, NotDecoded, Problem, SaveError};
use super::reader::Reader;
use super::writer::Writer;
use crate::component::Component;
use core::marker::PhantomData;
use phalanx_store::AllocError;

/// Values that a codec encodes one by one, in blocks of bytes.
pub(super) struct Coded<C, K>(pub(super) K, pub(super) PhantomData<fn() -> C>);

/// The size at which a block is closed.
const BLOCK: usize = 1 << 14;

/// Reads values in blocks, and calls `each` with each.
pub(super) fn read_values<C, K: Codec<C>>(
    codec: &K,
    name: &'static str,
    count: u32,
    input: &mut Reader<'_>,
    mut each: impl FnMut(C) -> Result<(), AllocError>,
) -> Result<(), LoadError> {
    read_each(name, count, input, |bytes, budget| Ok(each(codec.decode_within(bytes, budget)?)?))
}

/// Reads values in blocks. `each` reads a value from the front of the remaining bytes.
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
        input.read_bytes(&mut bytes, len as usize)?;
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

/// Writes values in blocks. `encode` appends each.
pub(super) fn write_each<'a, C: 'a>(
    name: &'static str,
    sources: impl Iterator<Item = ColumnRows<'a, C>>,
    out: &mut Writer<'_>,
    encode: impl Fn(ValueRef<'a, C>, &mut Vec<u8>) -> Result<(), CodecError>,
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
    for value in sources.flat_map(|source| source.values()) {
        encode(value, &mut bytes).map_err(|error| SaveError::Codec { name, error })?;
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

    fn write(&self, name: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError> {
        let sources = sources.iter().map(|source| source.of_type::<C>());
        write_each(name, sources, out, |value, bytes| value.with(|value| self.0.encode(value, bytes)))
    }

    fn encode(&self, source: ColumnRows<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        source.of_type::<C>().values().try_for_each(|value| value.with(|value| self.0.encode(value, bytes)))
    }

    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut builder = builder.of_type::<C>();
        read_values(&self.0, name, builder.len(), input, |value| builder.push(value))
    }
}

/// Values without data, which a function creates.
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
    fn write(&self, _: &'static str, _: &[ColumnRows<'_>], _: &mut Writer<'_>) -> Result<(), SaveError> {
        Ok(())
    }
    fn encode(&self, _: ColumnRows<'_>, _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }
    fn read(&self, _: &'static str, builder: &mut ColumnBuilder<'_>, input: &mut Reader<'_>) -> Result<(), LoadError> {
        let mut builder = builder.of_type::<C>();
        for _ in 0..builder.len() {
            input.check(builder.push((self.0)()))?;
        }
        Ok(())
    }
}
