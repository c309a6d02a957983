//! The lexer: bytes to tokens.

use super::parse::ERRORS;
use super::token::{TokenKind, Tokens, kind_of_word};
use crate::report::SyntaxError;
use crate::tree::{Full, Span};
use TokenKind as T;

/// Splits a source, which may be any bytes, into tokens.
///
/// Returns the tokens and the errors. Invalid bytes become [`TokenKind::Unknown`]. An unclosed literal ends at the end of its
/// line or of the file.
///
/// ```
/// use phalanx_syntax::ori::{TokenKind, lex};
///
/// let (tokens, errors) = lex(b"x + 1 // one more")?;
/// assert_eq!(tokens.kinds(), [TokenKind::Ident, TokenKind::Plus, TokenKind::Int, TokenKind::Eof]);
/// assert_eq!(tokens.comments().len(), 1);
/// assert!(errors.is_empty());
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
///
/// # Errors
///
/// Returns [`Full::Source`] if the source has 4 GiB or more, and [`Full::Memory`] if allocation fails.
pub fn lex(source: &[u8]) -> Result<(Tokens, Vec<SyntaxError>), Full> {
    lex_within(source, u32::MAX)
}

/// Like [`lex`], but with a smaller limit than 4 GiB, for tests of that limit.
///
/// # Errors
///
/// Returns [`Full::Source`] if the source has `limit` bytes or more, and [`Full::Memory`] if allocation fails.
pub fn lex_within(source: &[u8], limit: u32) -> Result<(Tokens, Vec<SyntaxError>), Full> {
    if source.len() >= limit as usize {
        return Err(Full::Source);
    }
    let mut lexer = Lexer { source, at: 0, tokens: Tokens::default(), errors: Vec::new(), depth: 0, open: Vec::new() };
    // Measured: a token for every 5.2 bytes of real programs.
    lexer.tokens.columns.try_reserve_exact(source.len() / 5 + 8).map_err(|_| Full::Memory)?;
    lexer.run()?;
    Ok((lexer.tokens, lexer.errors))
}

struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    tokens: Tokens,
    errors: Vec<SyntaxError>,
    /// How many brackets are open.
    depth: u32,
    /// For each template whose expression is being lexed, how many brackets were open around that.
    open: Vec<u32>,
}

/// What a byte can begin.
const OTHER: u8 = 0;
const SPACE: u8 = 1;
const NAME: u8 = 2;
const DIGIT: u8 = 3;
const PUNCT: u8 = 4;
const QUOTE: u8 = 5;

static CLASS: [u8; 256] = {
    let mut class = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' | b'\n' => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => NAME,
            b'0'..=b'9' => DIGIT,
            b'"' | b'\'' | b'`' => QUOTE,
            0x21..=0x7e => PUNCT,
            _ => OTHER,
        };
        byte += 1;
    }
    class
};

/// How far a quote is looked for that closes a character of more than one.
const NEAR: usize = 32;

/// The offset of the first line end, or the end.
#[inline]
fn line_end(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = from;
    // Eight bytes at a time: a byte of the word is zero where the line ends.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk) ^ (ONES * b'\n' as u64);
        let zero = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zero != 0 {
            return at + (zero.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |found| at + found)
}

impl Lexer<'_> {
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.source.get(at).copied().unwrap_or(0)
    }

    #[cold]
    fn error(&mut self, start: usize, end: usize, message: &'static str) -> Result<(), Full> {
        if self.errors.len() >= ERRORS {
            return Ok(());
        }
        self.errors.try_reserve(1).map_err(|_| Full::Memory)?;
        self.errors.push(SyntaxError::plain(Span::new(start as u32, end as u32), message));
        Ok(())
    }

    fn run(&mut self) -> Result<(), Full> {
        while let Some(&byte) = self.source.get(self.at) {
            let start = self.at;
            match CLASS[usize::from(byte)] {
                SPACE => {
                    self.at += 1;
                    while CLASS[usize::from(self.byte(self.at))] == SPACE {
                        self.at += 1;
                    }
                }
                NAME => {
                    let mut end = start + 1;
                    while matches!(CLASS[usize::from(self.byte(end))], NAME | DIGIT) {
                        end += 1;
                    }
                    self.at = end;
                    self.tokens.push(kind_of_word(&self.source[start..end]), start, end)?;
                }
                DIGIT => self.number()?,
                QUOTE => match byte {
                    b'"' => self.string()?,
                    b'\'' => self.character()?,
                    _ => self.template(T::TemplateWhole, T::TemplateHead)?,
                },
                PUNCT => self.punctuation(byte)?,
                _ => self.unknown()?,
            }
        }
        let end = self.source.len();
        if !self.open.is_empty() {
            self.error(end, end, "a template is not closed")?;
        }
        self.tokens.push(T::Eof, end, end)
    }

    /// Bytes that mean nothing: as many as there are in a row, so that a binary file gives one error and not millions.
    fn unknown(&mut self) -> Result<(), Full> {
        let start = self.at;
        while self.at < self.source.len() && CLASS[usize::from(self.byte(self.at))] == OTHER {
            self.at += 1;
        }
        let message = match core::str::from_utf8(&self.source[start..self.at]) {
            Ok(_) => "these characters mean nothing here",
            Err(_) => "this is not UTF-8",
        };
        self.error(start, self.at, message)?;
        self.tokens.push(T::Unknown, start, self.at)
    }

    #[inline]
    fn punctuation(&mut self, byte: u8) -> Result<(), Full> {
        let start = self.at;
        let (next, third) = (self.byte(start + 1), self.byte(start + 2));
        let (kind, len) = match (byte, next) {
            (b'/', b'/') => {
                self.at = line_end(self.source, start + 2);
                let end = if self.byte(self.at - 1) == b'\r' { self.at - 1 } else { self.at };
                if self.tokens.comments.len() == self.tokens.comments.capacity() {
                    self.tokens.comments.try_reserve(64).map_err(|_| Full::Memory)?;
                }
                self.tokens.comments.push(Span::new(start as u32, end as u32));
                return Ok(());
            }
            (b'(', _) => {
                self.depth += 1;
                (T::LParen, 1)
            }
            (b')', _) => {
                self.depth = self.depth.saturating_sub(1);
                (T::RParen, 1)
            }
            (b'[', _) => {
                self.depth += 1;
                (T::LBracket, 1)
            }
            (b']', _) => {
                self.depth = self.depth.saturating_sub(1);
                (T::RBracket, 1)
            }
            (b'{', _) => {
                self.depth += 1;
                (T::LBrace, 1)
            }
            (b'}', _) => {
                if self.open.last().is_some_and(|&depth| self.depth <= depth) {
                    return self.template(T::TemplateTail, T::TemplateMiddle);
                }
                self.depth = self.depth.saturating_sub(1);
                (T::RBrace, 1)
            }
            (b',', _) => (T::Comma, 1),
            (b':', _) if self.open.last() == Some(&self.depth) => return self.format(),
            (b':', b':') => (T::ColonColon, 2),
            (b':', _) => (T::Colon, 1),
            (b';', _) => (T::Semicolon, 1),
            (b'.', b'.') => match third {
                b'.' => (T::Ellipsis, 3),
                b'=' => (T::DotDotEq, 3),
                _ => (T::DotDot, 2),
            },
            (b'.', _) => (T::Dot, 1),
            (b'@', _) => (T::At, 1),
            (b'$', _) => (T::Dollar, 1),
            (b'#', b'!') => (T::HashBang, 2),
            (b'#', _) => (T::Hash, 1),
            (b'=', b'=') => (T::EqEq, 2),
            (b'=', b'>') => (T::FatArrow, 2),
            (b'=', _) => (T::Eq, 1),
            (b'-', b'>') => (T::Arrow, 2),
            (b'-', _) => (T::Minus, 1),
            (b'?', b'?') => (T::QuestionQuestion, 2),
            (b'?', _) => (T::Question, 1),
            (b'!', b'=') => (T::BangEq, 2),
            (b'!', _) => (T::Bang, 1),
            (b'~', _) => (T::Tilde, 1),
            (b'+', _) => (T::Plus, 1),
            (b'*', _) => (T::Star, 1),
            (b'/', _) => (T::Slash, 1),
            (b'%', _) => (T::Percent, 1),
            (b'&', b'&') => (T::AndAnd, 2),
            (b'&', _) => (T::And, 1),
            (b'|', b'|') => (T::OrOr, 2),
            (b'|', _) => (T::Or, 1),
            (b'^', _) => (T::Caret, 1),
            (b'<', b'=') => (T::LessEq, 2),
            (b'<', b'<') => (T::Shl, 2),
            (b'<', _) => (T::Less, 1),
            (b'>', _) => (T::Greater, 1),
            _ => {
                self.at += 1;
                self.error(start, start + 1, "this character means nothing here")?;
                return self.tokens.push(T::Unknown, start, start + 1);
            }
        };
        self.at += len;
        self.tokens.push(kind, start, self.at)
    }

    fn digits(&mut self, base: u32) {
        while self.byte(self.at) == b'_' || char::from(self.byte(self.at)).is_digit(base) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<(), Full> {
        let start = self.at;
        // After a dot a number is the place in a tuple: `t.0.1` has two of them, and no fraction.
        if self.tokens.kinds().last() == Some(&T::Dot)
            && self.tokens.columns.lanes().end.last() == Some(&(start as u32))
        {
            self.digits(10);
            return self.tokens.push(T::Int, start, self.at);
        }
        let base = match (self.byte(start), self.byte(start + 1)) {
            (b'0', b'x' | b'X') => 16,
            (b'0', b'b' | b'B') if matches!(self.byte(start + 2), b'0' | b'1' | b'_') => 2,
            _ => 10,
        };
        if base != 10 {
            self.at += 2;
            self.digits(base);
            let end = self.at;
            self.word();
            if self.at > end || end == start + 2 {
                self.error(start, self.at, "this is not a number")?;
            }
            return self.tokens.push(T::Int, start, self.at);
        }
        self.digits(10);
        let mut kind = T::Int;
        if self.byte(self.at) == b'.' && self.byte(self.at + 1).is_ascii_digit() {
            kind = T::Float;
            self.at += 1;
            self.digits(10);
        }
        if let b'e' | b'E' = self.byte(self.at) {
            let sign = usize::from(matches!(self.byte(self.at + 1), b'+' | b'-'));
            if self.byte(self.at + 1 + sign).is_ascii_digit() {
                kind = T::Float;
                self.at += 1 + sign;
                self.digits(10);
            }
        }
        let end = self.at;
        self.word();
        kind = match &self.source[end..self.at] {
            b"" => kind,
            b"ns" | b"us" | b"ms" | b"s" | b"m" | b"h" => T::Duration,
            b"b" | b"kb" | b"mb" | b"gb" | b"tb" => T::Size,
            _ => {
                self.error(end, self.at, "no number has this suffix")?;
                kind
            }
        };
        self.tokens.push(kind, start, self.at)
    }

    /// Passes over a name.
    fn word(&mut self) {
        while matches!(CLASS[usize::from(self.byte(self.at))], NAME | DIGIT) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), Full> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.source.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') if !matches!(self.source.get(self.at + 1), None | Some(b'\n')) => self.at += 2,
                None | Some(b'\n') => {
                    self.error(start, self.at, "this string is not closed")?;
                    break;
                }
                Some(_) => self.at += 1,
            }
        }
        self.tokens.push(T::String, start, self.at)
    }

    fn character(&mut self) -> Result<(), Full> {
        let start = self.at;
        let mut end = start + 1;
        match self.byte(end) {
            b'\\' => end += 2,
            0 | b'\n' | b'\'' => {}
            _ => {
                end += 1;
                while self.byte(end) & 0xc0 == 0x80 {
                    end += 1;
                }
            }
        }
        let end = end.min(self.source.len());
        if self.byte(end) == b'\'' && end > start + 1 {
            self.at = end + 1;
            return self.tokens.push(T::Char, start, self.at);
        }
        // What looks like a short word between quotes is one mistake, not two.
        let near = &self.source[start + 1..self.source.len().min(start + 1 + NEAR)];
        let line = near.iter().position(|byte| matches!(byte, b'\'' | b'\n' | b' ' | b',' | b')'));
        self.at = match line {
            Some(at) if near[at] == b'\'' => start + 2 + at,
            _ => start + 1,
        };
        self.error(start, self.at, "a character is one between two quotes")?;
        self.tokens.push(T::Unknown, start, self.at)
    }

    /// A template, or the rest of one after an expression: up to its end, or to the next expression.
    fn template(&mut self, closed: TokenKind, opened: TokenKind) -> Result<(), Full> {
        let start = self.at;
        if closed == T::TemplateTail {
            self.open.pop();
        }
        self.at += 1;
        loop {
            match self.source.get(self.at) {
                Some(b'`') => {
                    self.at += 1;
                    return self.tokens.push(closed, start, self.at);
                }
                Some(b'\\') => self.at = (self.at + 2).min(self.source.len()),
                Some(b'{') if self.byte(self.at + 1) == b'{' => self.at += 2,
                Some(b'{') => {
                    self.at += 1;
                    self.open.try_reserve(1).map_err(|_| Full::Memory)?;
                    self.open.push(self.depth);
                    return self.tokens.push(opened, start, self.at);
                }
                Some(_) => self.at += 1,
                None => {
                    self.error(start, self.at, "this template is not closed")?;
                    return self.tokens.push(closed, start, self.at);
                }
            }
        }
    }

    /// The format after an expression in a template: everything up to the brace.
    fn format(&mut self) -> Result<(), Full> {
        let start = self.at;
        self.at += 1;
        while !matches!(self.source.get(self.at), None | Some(b'}' | b'`' | b'\n')) {
            self.at += 1;
        }
        self.tokens.push(T::TemplateFormat, start, self.at)
    }
}
