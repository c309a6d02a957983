//! [`PlainEvents`]: writes and reads events as bytes, for deltas.
//!
//! # Format
//!
//! Little-endian: the number of the first event, the number of events, the bytes of each (at least one), the number of readers of
//! systems, and for each its cursor, the number of events that it has missed, the length of its path, and its path.

use super::Event;
use super::events::{Events, SavedReader};
use crate::alloc::{try_box, try_reserve, try_vec};
use crate::plain::{Plain, bytes_of, from_bytes};
#[cfg(feature = "timeline")]
use crate::resources::fingerprint;
use crate::resources::{PlainResource, ResourceCell, Stored};
use core::fmt;
use phalanx_store::AllocError;

/// Writes and reads events of a plain type as bytes.
pub struct PlainEvents<E> {
    write: fn(&[E], &mut Vec<u8>) -> Result<(), AllocError>,
    read: fn(&[u8]) -> Option<E>,
    size: usize,
}

impl<E> Clone for PlainEvents<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for PlainEvents<E> {}

impl<E: Plain> PlainEvents<E> {
    /// Returns the functions of a plain type.
    pub const fn new() -> PlainEvents<E> {
        PlainEvents {
            write: |events, bytes| {
                let events = bytes_of(events);
                try_reserve(bytes, events.len())?;
                bytes.extend_from_slice(events);
                Ok(())
            },
            read: from_bytes,
            size: size_of::<E>(),
        }
    }
}

impl<E: Plain> Default for PlainEvents<E> {
    fn default() -> Self {
        PlainEvents::new()
    }
}

impl<E: Event> PlainEvents<E> {
    /// Returns the functions for the channel, which is a resource.
    pub(super) fn of_resource(self) -> PlainResource {
        PlainResource {
            #[cfg(feature = "timeline")]
            fingerprint: fingerprint::<Events<E>>(),
            write: |value, bytes| match (value.downcast_ref::<ResourceCell<Events<E>>>(), E::PLAIN) {
                (Some(cell), Some(plain)) => plain.write_all(cell.get(), bytes),
                _ => unreachable!("a slot has its type, and only plain events are written"),
            },
            read: |bytes| match E::PLAIN.map(|plain| plain.read_all(bytes)).transpose()?.flatten() {
                Some(events) => Ok(Some(try_box(ResourceCell::new(events))? as Stored)),
                None => Ok(None),
            },
        }
    }

    fn write_all(&self, events: &Events<E>, bytes: &mut Vec<u8>) -> Result<(), AllocError> {
        let number = |bytes: &mut Vec<u8>, number: u64| {
            try_reserve(bytes, 8)?;
            bytes.extend_from_slice(&number.to_le_bytes());
            Ok::<(), AllocError>(())
        };
        let list = events.as_slice();
        number(bytes, events.first_number())?;
        number(bytes, list.len() as u64)?;
        (self.write)(list, bytes)?;
        if self.size == 0 {
            // So that a count cannot be larger than there are bytes.
            try_reserve(bytes, list.len())?;
            bytes.resize(bytes.len() + list.len(), 0);
        }
        number(bytes, events.saved_readers().count() as u64)?;
        for SavedReader { path, cursor, missed } in events.saved_readers() {
            [cursor, missed, path.len() as u64].into_iter().try_for_each(|value| number(bytes, value))?;
            try_reserve(bytes, path.len())?;
            bytes.extend_from_slice(path.as_bytes());
        }
        Ok(())
    }

    /// Reads events. Returns `None` if the bytes are not what [`write_all`](PlainEvents::write_all) writes.
    fn read_all(&self, mut bytes: &[u8]) -> Result<Option<Events<E>>, AllocError> {
        fn number(bytes: &mut &[u8]) -> Option<u64> {
            let (number, rest) = bytes.split_first_chunk::<8>()?;
            *bytes = rest;
            Some(u64::from_le_bytes(*number))
        }
        /// Reads the bytes of as many items, each of at least one byte.
        fn items<'a>(bytes: &mut &'a [u8], count: u64, size: usize) -> Option<&'a [u8]> {
            let len = usize::try_from(count).ok()?.checked_mul(size)?;
            let (items, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            Some(items)
        }
        let Some((first, count)) = number(&mut bytes).zip(number(&mut bytes)) else { return Ok(None) };
        let Some(all) = items(&mut bytes, count, self.size.max(1)) else { return Ok(None) };
        let mut log = try_vec(count as usize)?;
        for event in all.chunks_exact(self.size.max(1)) {
            let Some(event) = (self.read)(&event[..self.size]) else { return Ok(None) };
            log.push(event);
        }
        let mut events = Events::with_log(first, log);
        let Some(readers) = number(&mut bytes) else { return Ok(None) };
        for _ in 0..readers {
            let head = number(&mut bytes).zip(number(&mut bytes)).zip(number(&mut bytes));
            let Some(((cursor, missed), len)) = head else { return Ok(None) };
            let path = items(&mut bytes, len, 1).and_then(|path| core::str::from_utf8(path).ok());
            let Some(path) = path else { return Ok(None) };
            events.try_add_reader(SavedReader { path, cursor, missed })?;
        }
        Ok((bytes.is_empty() && events.has_valid_numbers()).then_some(events))
    }
}

impl<E> fmt::Debug for PlainEvents<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlainEvents({} bytes)", self.size)
    }
}
