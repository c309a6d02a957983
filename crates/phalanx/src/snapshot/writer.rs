//! [`Writer`]: writes the sections of a snapshot. It buffers one frame at most.

use super::error::SaveError;
use super::format::{FRAME, MAGIC, PIECE, VERSION, mix_section};
use crate::alloc::try_vec;
use crate::checksum::{Sum, checksum};
use std::io::Write;

/// Writes sections.
pub(super) struct Writer<'w> {
    writer: &'w mut dyn Write,
    buffer: Vec<u8>,
    chain: u64,
    written: u64,
    section: u64,
}

impl<'w> Writer<'w> {
    /// Creates a writer, and writes the head of the file.
    pub(super) fn new(writer: &'w mut dyn Write) -> Result<Writer<'w>, SaveError> {
        let mut head = [0; 16];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        writer.write_all(&head)?;
        Ok(Writer { writer, buffer: try_vec(FRAME)?, chain: checksum(0, &head), written: 16, section: 0 })
    }

    /// Returns the number of bytes that were written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the checksum of everything that was written.
    pub(super) fn chain(&self) -> u64 {
        self.chain
    }

    pub(super) fn begin(&mut self, kind: [u8; 4], flags: u32) -> Result<(), SaveError> {
        self.writer.write_all(&kind)?;
        self.writer.write_all(&flags.to_le_bytes())?;
        self.chain = mix_section(self.chain, kind, flags);
        (self.written, self.section) = (self.written + 8, 0);
        Ok(())
    }

    /// Writes a frame of the buffered bytes and `bytes`.
    fn frame(&mut self, bytes: &[u8]) -> Result<(), SaveError> {
        let len = self.buffer.len() + bytes.len();
        self.writer.write_all(&(len as u32).to_le_bytes())?;
        let mut sum = Sum::new(self.chain);
        for piece in self.buffer.chunks(PIECE).chain(bytes.chunks(PIECE)) {
            sum.update(piece);
            self.writer.write_all(piece)?;
        }
        self.chain = sum.finish();
        self.writer.write_all(&self.chain.to_le_bytes())?;
        self.written += len as u64 + 12;
        self.section += len as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes bytes to the section. The result does not depend on how they are split into calls.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), SaveError> {
        while bytes.len() >= FRAME - self.buffer.len() {
            let (now, rest) = bytes.split_at(FRAME - self.buffer.len());
            self.frame(now)?;
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn put_u8(&mut self, n: u8) -> Result<(), SaveError> {
        self.put(&[n])
    }
    pub(super) fn put_u32(&mut self, n: u32) -> Result<(), SaveError> {
        self.put(&n.to_le_bytes())
    }
    pub(super) fn put_u64(&mut self, n: u64) -> Result<(), SaveError> {
        self.put(&n.to_le_bytes())
    }
    /// Writes a string of at most 255 bytes.
    pub(super) fn put_name(&mut self, name: &str) -> Result<(), SaveError> {
        self.put_u8(name.len() as u8)?;
        self.put(name.as_bytes())
    }
    /// Writes the numbers of an iterator.
    pub(super) fn put_u32s(&mut self, mut numbers: impl Iterator<Item = u32>) -> Result<(), SaveError> {
        let mut block = [[0; 4]; 1024];
        loop {
            let mut len = 0;
            // The block comes first in the zip: when it is full, no number is lost.
            for (bytes, n) in block.iter_mut().zip(numbers.by_ref()) {
                *bytes = n.to_le_bytes();
                len += 1;
            }
            self.put(block[..len].as_flattened())?;
            if len < block.len() {
                return Ok(());
            }
        }
    }

    /// Writes a number for each item of a list.
    pub(super) fn put_each<T>(&mut self, list: &[T], number: impl Fn(&T) -> u32) -> Result<(), SaveError> {
        let mut block = [[0; 4]; 1024];
        for list in list.chunks(block.len()) {
            for (n, item) in block.iter_mut().zip(list) {
                *n = number(item).to_le_bytes();
            }
            self.put(block[..list.len()].as_flattened())?;
        }
        Ok(())
    }

    /// Writes a slice of numbers.
    pub(super) fn put_u32_slice(&mut self, numbers: &[u32]) -> Result<(), SaveError> {
        match cfg!(target_endian = "little") {
            true => self.put(crate::plain::bytes_of(numbers)),
            false => self.put_each(numbers, |n| *n),
        }
    }

    pub(super) fn end(&mut self) -> Result<(), SaveError> {
        if !self.buffer.is_empty() {
            self.frame(&[])?;
        }
        self.writer.write_all(&0_u32.to_le_bytes())?;
        let section = self.section.to_le_bytes();
        self.chain = checksum(self.chain, &section);
        self.writer.write_all(&section)?;
        self.writer.write_all(&self.chain.to_le_bytes())?;
        self.written += 20;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), SaveError> {
        Ok(self.writer.flush()?)
    }
}
