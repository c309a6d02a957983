//! [`Lines`]: from offsets to lines and columns.

use crate::tree::Span;

/// Where the lines of a source start.
///
/// ```
/// use phalanx_syntax::{Lines, Place};
///
/// let source = "let ä = 1\nlet b = 2".as_bytes();
/// let lines = Lines::new(source);
/// assert_eq!(lines.place(source, 7), Place { line: 1, column: 7 });
/// assert_eq!(lines.place(source, 15), Place { line: 2, column: 5 });
/// ```
#[derive(Clone, Debug)]
pub struct Lines {
    /// The offset of the first byte of each line.
    starts: Vec<u32>,
    end: u32,
}

/// A line and a column, both counted from 1; columns are characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Lines {
    /// Finds the lines of a source.
    pub fn new(source: &[u8]) -> Lines {
        let ends = source.iter().zip(1u32..).filter(|&(&byte, _)| byte == b'\n').map(|(_, next)| next);
        Lines { starts: core::iter::once(0).chain(ends).collect(), end: source.len() as u32 }
    }

    /// How many lines there are; after a line end at the very end there is one more, an empty one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The line, counted from 1, that a byte is in.
    pub fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// The bytes of a line, without its end; empty if there is no such line.
    pub fn span_of(&self, line: u32) -> Span {
        let at = (line as usize).wrapping_sub(1);
        let Some(&start) = self.starts.get(at) else { return Span::new(self.end, self.end) };
        let end = self.starts.get(at + 1).map_or(self.end, |next| next - 1);
        Span::new(start, end)
    }

    /// The line and column of a byte. An offset past the end is the end.
    pub fn place(&self, source: &[u8], offset: u32) -> Place {
        let offset = offset.min(self.end);
        let line = self.line_of(offset);
        let before = Span::new(self.span_of(line).start, offset).of(source);
        // Every character has one byte that does not continue another.
        let column = 1 + before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32;
        Place { line, column }
    }
}
