//! Columns copied as they are, with one for the ids.
#![allow(unsafe_code)]

use super::Snapshot;
use crate::data::*;
use crate::harness::LIMIT;

pub struct Columns {
    id: Vec<u64>,
    t: Vec<Transform>,
    p: Vec<Position>,
    r: Vec<Rotation>,
    v: Vec<Velocity>,
}

/// Numbers without padding, valid whatever their bytes are.
///
/// # Safety
///
/// The type is of that kind.
unsafe trait Plain: Copy {}
// SAFETY: an integer.
unsafe impl Plain for u64 {}
// SAFETY: `repr(C)`, floats only, all of one size.
unsafe impl Plain for Transform {}
// SAFETY: as above.
unsafe impl Plain for Position {}
// SAFETY: as above.
unsafe impl Plain for Rotation {}
// SAFETY: as above.
unsafe impl Plain for Velocity {}

fn put<T: Plain>(out: &mut Vec<u8>, column: &[T]) {
    // SAFETY: the bytes of the column, all of which are initialised since there is no padding.
    out.extend_from_slice(unsafe { std::slice::from_raw_parts(column.as_ptr().cast(), size_of_val(column)) });
}

fn take<T: Plain>(bytes: &mut &[u8], n: usize) -> Vec<T> {
    let (head, tail) = bytes.split_at(n * size_of::<T>());
    *bytes = tail;
    let mut column = Vec::<T>::with_capacity(n);
    // SAFETY: there is room for `n` rows, the head is as long as they are, and any bytes are a row.
    unsafe {
        std::ptr::copy_nonoverlapping(head.as_ptr(), column.as_mut_ptr().cast(), head.len());
        column.set_len(n);
    }
    column
}

impl Snapshot for Columns {
    const NAME: &'static str = LIMIT;

    fn filled(n: usize) -> Self {
        Columns {
            id: (0..n as u64).collect(),
            t: (0..n).map(|i| row(i).0).collect(),
            p: (0..n).map(|i| row(i).1).collect(),
            r: (0..n).map(|i| row(i).2).collect(),
            v: (0..n).map(|i| row(i).3).collect(),
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.id.len() as u64).to_le_bytes());
        put(out, &self.id);
        put(out, &self.t);
        put(out, &self.p);
        put(out, &self.r);
        put(out, &self.v);
    }

    fn load(bytes: &[u8]) -> Self {
        let (head, mut rest) = bytes.split_at(8);
        let n = u64::from_le_bytes(head.try_into().unwrap()) as usize;
        Columns {
            id: take(&mut rest, n),
            t: take(&mut rest, n),
            p: take(&mut rest, n),
            r: take(&mut rest, n),
            v: take(&mut rest, n),
        }
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.p.iter())
    }
}
