//! [`Lines`]: from offsets to lines and columns.

use crate::tree::Span;

/// The line starts of a source, for converting byte offsets to lines and columns.
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

    /// Returns the number of lines. A line end at the end of the source starts one more, empty line.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the line, counted from 1, of the byte at `offset`.
    pub fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// Returns the bytes of a line without its line end, or an empty span if there is no such line.
    pub fn span_of(&self, line: u32) -> Span {
        let at = (line as usize).wrapping_sub(1);
        let Some(&start) = self.starts.get(at) else { return Span::new(self.end, self.end) };
        let end = self.starts.get(at + 1).map_or(self.end, |next| next - 1);
        Span::new(start, end)
    }

    /// Returns the line and column of the byte at `offset`. An offset past the end counts as the end.
    pub fn place(&self, source: &[u8], offset: u32) -> Place {
        let offset = offset.min(self.end);
        let line = self.line_of(offset);
        let before = Span::new(self.span_of(line).start, offset).of(source);
        // Every character has one byte that does not continue another.
        let column = 1 + before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32;
        Place { line, column }
    }
}
