//! [`Reader`]: reads the sections of a snapshot.
//!
//! It returns only bytes whose checksum was verified, and buffers one frame at most. Of bytes in memory it buffers none.

use super::budget::Budget;
use super::error::{LoadError, Problem};
use super::format::{FRAME, MAGIC, PIECE, VERSION, mix_section};
use crate::alloc::try_reserve;
use crate::checksum::{Sum, checksum};
use core::mem::MaybeUninit;
use phalanx_store::raw::as_uninit;
use std::io::{self, Read};

/// What a snapshot is read from.
pub(super) enum Source<'r> {
    Reader(&'r mut dyn Read),
    /// The bytes that were not read yet. They are not buffered.
    Bytes(&'r [u8]),
}

/// Reads sections.
pub(super) struct Reader<'r> {
    source: Source<'r>,
    /// The last frame that was buffered, followed by remains of earlier ones.
    buffer: Vec<u8>,
    /// The last frame that was kept, of [bytes](Source::Bytes).
    frame: &'r [u8],
    /// The length of the buffered frame.
    filled: usize,
    /// The number of buffered bytes that were consumed.
    taken: usize,
    /// Whether the section was read to its end.
    ended: bool,
    /// Whether the last frame was not full, so that no other may follow.
    is_short: bool,
    chain: u64,
    read: u64,
    section: u64,
    pub(super) kind: [u8; 4],
    pub(super) flags: u32,
    /// The budget of the values of this load.
    pub(super) budget: Budget,
}

impl<'r> Reader<'r> {
    pub(super) fn new(source: Source<'r>) -> Result<Reader<'r>, LoadError> {
        let mut this = Reader {
            source,
            buffer: Vec::new(),
            frame: &[],
            filled: 0,
            taken: 0,
            ended: true,
            is_short: false,
            chain: 0,
            read: 0,
            section: 0,
            kind: *b"head",
            flags: 0,
            budget: Budget::of_load(),
        };
        let mut head = [0; 16];
        match this.raw(&mut head) {
            Err(error) if error.problem == Problem::Truncated => return Err(this.error(Problem::NotASnapshot)),
            other => other?,
        }
        let (magic, version) = (&head[..8], u32::from_le_bytes([head[8], head[9], head[10], head[11]]));
        if magic != MAGIC {
            return Err(this.error(Problem::NotASnapshot));
        }
        if version != VERSION {
            return Err(this.error(Problem::Version { found: version, supported: VERSION }));
        }
        if head[12..] != [0; 4] {
            return Err(this.error(Problem::Invalid("reserved bytes of the head are in use")));
        }
        this.chain = checksum(0, &head);
        Ok(this)
    }

    /// Returns an error for a problem at the present position.
    pub(super) fn error(&self, problem: impl Into<Problem>) -> LoadError {
        LoadError { section: self.kind, offset: self.read, problem: problem.into() }
    }

    pub(super) fn invalid<T>(&self, what: &'static str) -> Result<T, LoadError> {
        Err(self.error(Problem::Invalid(what)))
    }

    /// Returns the number of bytes that were read.
    pub(super) fn offset(&self) -> u64 {
        self.read
    }

    /// Returns the number of content bytes of the section that were read.
    pub(super) fn section_bytes(&self) -> u64 {
        self.section
    }

    /// Returns the checksum of everything that was read.
    pub(super) fn chain(&self) -> u64 {
        self.chain
    }

    fn raw(&mut self, bytes: &mut [u8]) -> Result<(), LoadError> {
        let read = match &mut self.source {
            Source::Reader(reader) => reader.read_exact(bytes),
            Source::Bytes(source) => source.read_exact(bytes),
        };
        match read {
            Ok(()) => {
                self.read += bytes.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.error(Problem::Truncated)),
            Err(error) => Err(self.error(Problem::Io(error.kind()))),
        }
    }

    fn raw_u32(&mut self) -> Result<u32, LoadError> {
        let mut bytes = [0; 4];
        self.raw(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn raw_u64(&mut self) -> Result<u64, LoadError> {
        let mut bytes = [0; 8];
        self.raw(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads the head of the next section. The present one was read to its end.
    pub(super) fn next_section(&mut self) -> Result<(), LoadError> {
        let (mut kind, mut flags) = ([0; 4], [0; 4]);
        self.raw(&mut kind)?;
        self.raw(&mut flags)?;
        (self.kind, self.flags) = (kind, u32::from_le_bytes(flags));
        self.chain = mix_section(self.chain, kind, self.flags);
        (self.ended, self.is_short, self.section, self.filled, self.taken) = (false, false, 0, 0, 0);
        Ok(())
    }

    /// Returns the length of the next frame, or `None` at the end of the section.
    fn frame_len(&mut self) -> Result<Option<usize>, LoadError> {
        if self.ended {
            return Ok(None);
        }
        let len = self.raw_u32()?;
        if len == 0 {
            let declared = self.raw_u64()?;
            self.chain = checksum(self.chain, &declared.to_le_bytes());
            if self.raw_u64()? != self.chain {
                return Err(self.error(Problem::Checksum));
            }
            self.ended = true;
            return match declared == self.section {
                true => Ok(None),
                false => Err(self.error(Problem::SectionLength)),
            };
        }
        if self.is_short {
            return self.invalid("a frame after one that is not full");
        }
        match len as usize > FRAME {
            true => Err(self.error(Problem::FrameTooLong { len })),
            false => Ok(Some(len as usize)),
        }
    }

    /// Begins to read a frame in pieces.
    pub(super) fn open(&self) -> Sum {
        Sum::new(self.chain)
    }

    /// Reads the next piece of a frame.
    pub(super) fn piece(&mut self, sum: &mut Sum, bytes: &mut [u8]) -> Result<(), LoadError> {
        self.raw(bytes)?;
        sum.update(bytes);
        Ok(())
    }

    /// Reads the next piece of a frame into uninitialised memory, if the source is bytes. Otherwise returns `false`.
    pub(super) fn copy_piece(&mut self, sum: &mut Sum, bytes: &mut [MaybeUninit<u8>]) -> Result<bool, LoadError> {
        let Source::Bytes(source) = &mut self.source else { return Ok(false) };
        let Some((now, rest)) = source.split_at_checked(bytes.len()) else {
            return Err(self.error(Problem::Truncated));
        };
        *source = rest;
        self.read += now.len() as u64;
        // In this order: copying a long piece may leave it out of the nearest cache.
        sum.update(now);
        bytes.copy_from_slice(as_uninit(now));
        Ok(true)
    }

    /// Verifies the checksum of a frame that was just read.
    pub(super) fn close(&mut self, sum: Sum) -> Result<(), LoadError> {
        self.section += sum.len();
        self.is_short = sum.len() < FRAME as u64;
        self.chain = sum.finish();
        match self.raw_u64()? == self.chain {
            true => Ok(()),
            false => Err(self.error(Problem::Checksum)),
        }
    }

    /// Returns the buffered bytes that were not consumed.
    pub(super) fn buffered(&self) -> &[u8] {
        let frame = if let Source::Bytes(_) = self.source { self.frame } else { &self.buffer };
        &frame[self.taken..self.filled]
    }

    /// Consumes buffered bytes.
    pub(super) fn consume(&mut self, len: usize) {
        self.taken += len;
    }

    /// Returns the length of the next frame, while nothing is buffered.
    ///
    /// The caller reads as much of it as it needs in [pieces](Reader::piece), [keeps](Reader::keep) the rest in the buffer,
    /// and [closes](Reader::close) the frame.
    pub(super) fn next_frame(&mut self) -> Result<usize, LoadError> {
        self.frame_len()?.ok_or_else(|| self.error(Problem::SectionLength))
    }

    /// Reads the rest of a frame into the buffer, which was consumed.
    pub(super) fn keep(&mut self, sum: &mut Sum, len: usize) -> Result<(), LoadError> {
        if let Source::Bytes(source) = &mut self.source {
            (self.filled, self.taken) = (0, 0);
            let Some((frame, rest)) = source.split_at_checked(len) else {
                // The position is the same as that of a reader, which reads in pieces.
                self.read += (source.len() / PIECE * PIECE) as u64;
                return Err(self.error(Problem::Truncated));
            };
            *source = rest;
            self.read += len as u64;
            sum.update(frame);
            (self.frame, self.filled) = (frame, len);
            return Ok(());
        }
        let mut buffer = core::mem::take(&mut self.buffer);
        (self.filled, self.taken) = (0, 0);
        if buffer.len() < len {
            let more = len - buffer.len();
            try_reserve(&mut buffer, more).map_err(|error| self.error(error))?;
            buffer.resize(len, 0);
        }
        buffer[..len].chunks_mut(PIECE).try_for_each(|piece| self.piece(sum, piece))?;
        (self.buffer, self.filled) = (buffer, len);
        Ok(())
    }

    /// Reads the next frame into the buffer, which was consumed. Returns `false` at the end of the section.
    fn refill(&mut self) -> Result<bool, LoadError> {
        let Some(len) = self.frame_len()? else { return Ok(false) };
        let mut sum = self.open();
        self.keep(&mut sum, len)?;
        self.close(sum).map(|()| true)
    }

    /// Fills `bytes` from the section.
    pub(super) fn take(&mut self, mut bytes: &mut [u8]) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            let left = self.buffered();
            if !left.is_empty() {
                let (now, rest) = bytes.split_at_mut(left.len().min(bytes.len()));
                now.copy_from_slice(&left[..now.len()]);
                self.taken += now.len();
                bytes = rest;
            } else {
                let len = self.next_frame()?;
                let (now, rest) = bytes.split_at_mut(len.min(bytes.len()));
                let mut sum = self.open();
                now.chunks_mut(PIECE).try_for_each(|piece| self.piece(&mut sum, piece))?;
                self.keep(&mut sum, len - now.len())?;
                self.close(sum)?;
                bytes = rest;
            }
        }
        Ok(())
    }

    pub(super) fn u8(&mut self) -> Result<u8, LoadError> {
        let mut bytes = [0; 1];
        self.take(&mut bytes)?;
        Ok(bytes[0])
    }
    pub(super) fn u32(&mut self) -> Result<u32, LoadError> {
        let mut bytes = [0; 4];
        self.take(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
    pub(super) fn u64(&mut self) -> Result<u64, LoadError> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads a string of at most 255 bytes into a buffer.
    pub(super) fn name<'a>(&mut self, buffer: &'a mut [u8; 255]) -> Result<&'a str, LoadError> {
        let len = usize::from(self.u8()?);
        self.take(&mut buffer[..len])?;
        core::str::from_utf8(&buffer[..len]).or_else(|_| self.invalid("a name that is not UTF-8"))
    }

    /// Fills `numbers` from the section.
    pub(super) fn numbers(&mut self, numbers: &mut [u32]) -> Result<(), LoadError> {
        self.take(crate::plain::bytes_of_mut(numbers))?;
        if cfg!(target_endian = "big") {
            numbers.iter_mut().for_each(|n| *n = u32::from_le(*n));
        }
        Ok(())
    }

    /// Reads `count` numbers, and calls a function with blocks of them.
    pub(super) fn u32s(
        &mut self,
        count: u32,
        mut each: impl FnMut(&Reader<'_>, &[u32]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut numbers = [0_u32; 2048];
        let mut left = count as usize;
        while left > 0 {
            let now = left.min(numbers.len());
            self.numbers(&mut numbers[..now])?;
            each(self, &numbers[..now])?;
            left -= now;
        }
        Ok(())
    }

    /// Appends the rest of the section to a list.
    pub(super) fn rest(&mut self, list: &mut Vec<u8>) -> Result<(), LoadError> {
        loop {
            try_reserve(list, self.filled - self.taken).map_err(|error| self.error(error))?;
            list.extend_from_slice(self.buffered());
            self.taken = self.filled;
            if !self.refill()? {
                return Ok(());
            }
        }
    }

    /// Skips the rest of the section.
    pub(super) fn skip(&mut self) -> Result<(), LoadError> {
        loop {
            self.taken = self.filled;
            if !self.refill()? {
                return Ok(());
            }
        }
    }

    /// Checks that the section was read to its end.
    pub(super) fn end_section(&mut self) -> Result<(), LoadError> {
        match self.taken < self.filled || self.frame_len()?.is_some() {
            true => Err(self.error(Problem::SectionLength)),
            false => Ok(()),
        }
    }

    /// Checks that the input has ended.
    pub(super) fn end(&mut self) -> Result<(), LoadError> {
        let mut byte = [0];
        loop {
            let read = match &mut self.source {
                Source::Reader(reader) => reader.read(&mut byte),
                Source::Bytes(source) => source.read(&mut byte),
            };
            return match read {
                Ok(0) => Ok(()),
                Ok(_) => Err(self.error(Problem::Trailing)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(self.error(Problem::Io(error.kind()))),
            };
        }
    }

    /// Adds the present position to an error.
    pub(super) fn check<T, E: Into<Problem>>(&self, result: Result<T, E>) -> Result<T, LoadError> {
        result.map_err(|error| self.error(error))
    }
}
