//! Errors in a source, and how they are shown.

use crate::lines::Lines;
use crate::tree::Span;
use core::fmt;

/// An error in a source. Its words are static, so reporting it does not allocate.
///
/// ```
/// use phalanx_syntax::Lines;
/// use phalanx_syntax::ori::parse;
///
/// let source = b"$size = 4\n$total = size *\n";
/// let ast = parse(source)?;
/// let lines = Lines::new(source);
/// assert_eq!(ast.errors[0].show("sizes.ori", source, &lines).to_string(), "\
/// sizes.ori:2:16: expected an expression, found the end of the file
///   |
/// 2 | $total = size *
///   |                ^
/// ");
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The bytes that the error is about.
    pub span: Span,
    /// What is wrong, or what was expected if `found` says what was found instead.
    pub message: &'static str,
    /// What was found instead.
    pub found: Option<&'static str>,
}

impl SyntaxError {
    /// Creates an error that says what is wrong.
    pub const fn plain(span: Span, message: &'static str) -> SyntaxError {
        SyntaxError { span, message, found: None }
    }

    /// Creates an error that says what was expected and what was found.
    pub const fn expected(span: Span, expected: &'static str, found: &'static str) -> SyntaxError {
        SyntaxError { span, message: expected, found: Some(found) }
    }

    /// Returns the error with its source line, underlined, for display.
    pub fn show<'a>(&'a self, file: &'a str, source: &'a [u8], lines: &'a Lines) -> Shown<'a> {
        Shown { error: self, file, source, lines }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(found) => write!(f, "expected {}, found {found}", self.message),
            None => f.write_str(self.message),
        }
    }
}

impl core::error::Error for SyntaxError {}

/// An error with its source line; see [`SyntaxError::show`].
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    error: &'a SyntaxError,
    file: &'a str,
    source: &'a [u8],
    lines: &'a Lines,
}

/// The most characters of a line that are shown before and after the place.
const AROUND: usize = 100;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown { error, file, source, lines } = self;
        let place = lines.place(source, error.span.start);
        writeln!(f, "{file}:{}:{}: {}", place.line, place.column, error)?;

        let line = lines.span_of(place.line);
        let at = error.span.start.clamp(line.start, line.end);
        // A line may be a whole file; more of it than can be shown is not looked at.
        let near = 4 * AROUND as u32;
        let mut from = line.start.max(at.saturating_sub(near));
        while from < at && source[from as usize] & 0xc0 == 0x80 {
            from += 1;
        }
        let text = |start: u32, end: u32| {
            String::from_utf8_lossy(Span::new(start, end.min(at.saturating_add(near))).of(source)).into_owned()
        };
        let (before, after, under) = (text(from, at), text(at, line.end), text(at, error.span.end.min(line.end)));
        let clean = |text: &str| -> String {
            text.chars().filter(|char| *char != '\r').map(|char| if char.is_control() { ' ' } else { char }).collect()
        };
        let (before, after, under) = (clean(&before), clean(&after), clean(&under));
        let cut = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
        let shown: String = after.chars().take(AROUND).collect();
        let marks = under.chars().count().clamp(1, shown.chars().count().max(1));

        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}{}", &before[cut..], shown.trim_end())?;
        writeln!(f, "{margin} | {}{}", " ".repeat(before[cut..].chars().count()), "^".repeat(marks))
    }
}
