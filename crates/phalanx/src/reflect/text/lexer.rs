//! [`Lexer`]: the tokens of a text query.

use super::error::{TextQueryError, TextQueryProblem};
use crate::alloc::{try_format, try_reserve_text, try_text};
use phalanx_store::{AllocError, Entity};

/// A token, without its position.
#[derive(Debug, PartialEq)]
pub(super) enum Token {
    /// A name, or several with `::` between them.
    Word(String),
    /// A name in backquotes.
    Quoted(String),
    /// A text in double quotes.
    Text(String),
    /// A number, as it is written but without `_`.
    Number(String),
    Entity(Entity),
    /// One of `, | ! ? ( ) . # = != < <= > >= ~`.
    Symbol(&'static str),
    End,
}

const SYMBOLS: [&str; 15] = ["!=", "<=", ">=", ",", "|", "!", "?", "(", ")", ".", "#", "=", "<", ">", "~"];

/// Reads tokens from a text. All positions are those of whole characters.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Takes the characters for which a function returns `true`.
    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Returns what is at a position, to be shown in an error.
    pub(super) fn found(&self, at: usize) -> Result<String, AllocError> {
        let rest = &self.text[at..];
        let len = match rest.find(|c: char| !continues_word(c)) {
            Some(0) => rest.chars().next().map_or(0, char::len_utf8),
            Some(len) => len,
            None => rest.len(),
        };
        if len == 0 { Ok(String::new()) } else { try_format(format_args!("`{}`", rest[..len].escape_debug())) }
    }

    /// Returns the error that something else was expected at a position.
    pub(super) fn unexpected(&self, at: usize, expected: &'static str) -> TextQueryError {
        match self.found(at) {
            Ok(found) => TextQueryError::new(at, TextQueryProblem::Unexpected { expected, found }),
            Err(error) => error.into(),
        }
    }

    /// Returns the next token and its position.
    pub(super) fn next(&mut self) -> Result<(usize, Token), TextQueryError> {
        self.take_while(char::is_whitespace);
        let (at, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else { return Ok((at, Token::End)) };
        let signed = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let token = match first {
            '`' => Token::Quoted(self.quoted('`')?),
            '"' => Token::Text(self.quoted('"')?),
            _ if signed.starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
            // Infinity.
            '-' | '+' if signed.starts_with("inf") => {
                self.at += 4;
                Token::Number(try_text(&rest[..4])?)
            }
            _ if starts_word(first) => self.word()?,
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    Token::Symbol(symbol)
                }
                None => return Err(self.unexpected(at, "a condition")),
            },
        };
        Ok((at, token))
    }

    /// Returns the name or number of a field, and its position.
    pub(super) fn field(&mut self) -> Result<(usize, String), TextQueryError> {
        self.take_while(char::is_whitespace);
        let at = self.at;
        if self.rest().starts_with('`') {
            return Ok((at, self.quoted('`')?));
        }
        match self.take_while(continues_word) {
            "" => Err(self.unexpected(at, "the name of a field")),
            name => Ok((at, try_text(name)?)),
        }
    }

    fn word(&mut self) -> Result<Token, AllocError> {
        let start = self.at;
        loop {
            self.take_while(continues_word);
            match self.rest().strip_prefix("::") {
                Some(rest) if rest.starts_with(starts_word) => self.at += 2,
                _ => return Ok(Token::Word(try_text(&self.text[start..self.at])?)),
            }
        }
    }

    fn number(&mut self) -> Result<Token, TextQueryError> {
        let start = self.at;
        let digits = |lexer: &mut Self| lexer.take_while(|c| c.is_ascii_digit() || c == '_').len();
        self.at += usize::from(self.rest().starts_with(['-', '+']));
        let has_sign = self.at > start;
        digits(self);
        if !has_sign && self.rest().starts_with('v') {
            return self.entity(start);
        }
        // A dot belongs to the number if a digit follows.
        let fraction = self.rest().strip_prefix('.');
        if fraction.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            self.at += 1;
            digits(self);
        }
        if let Some(exponent) = self.rest().strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
                self.at += 1 + exponent.len() - unsigned.len();
                digits(self);
            }
        }
        if self.rest().starts_with(continues_word) {
            return Err(self.unexpected(start, "a number"));
        }
        let mut number = try_text(&self.text[start..self.at])?;
        number.retain(|c| c != '_');
        Ok(Token::Number(number))
    }

    /// Returns an entity, such as `42v7`, after its index was taken.
    fn entity(&mut self, start: usize) -> Result<Token, TextQueryError> {
        let index = &self.text[start..self.at];
        self.at += 1;
        let generation = self.take_while(continues_word);
        match parse_entity(index, generation) {
            Some(entity) => Ok(Token::Entity(entity)),
            None => Err(self.unexpected(start, "an entity")),
        }
    }

    /// Returns a text in quotes.
    fn quoted(&mut self, quote: char) -> Result<String, TextQueryError> {
        let start = self.at;
        self.at += quote.len_utf8();
        let mut text = String::new();
        loop {
            let at = self.at;
            let Some(c) = self.rest().chars().next() else {
                return Err(TextQueryError::new(start, TextQueryProblem::Unterminated { quote }));
            };
            self.at += c.len_utf8();
            let c = match c {
                _ if c == quote => return Ok(text),
                '\\' if quote == '"' => self.escaped(at)?,
                c => c,
            };
            try_reserve_text(&mut text, c.len_utf8())?;
            text.push(c);
        }
    }

    /// Returns the character after a backslash.
    fn escaped(&mut self, at: usize) -> Result<char, TextQueryError> {
        let c = self.rest().chars().next();
        self.at += c.map_or(0, char::len_utf8);
        match c {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\\')) => Ok(c),
            _ => {
                let found = try_format(format_args!("`{}`", self.text[at..self.at].escape_debug()))?;
                let expected = "one of \\n, \\t, \\\" and \\\\";
                Err(TextQueryError::new(at, TextQueryProblem::Unexpected { expected, found }))
            }
        }
    }
}

/// Returns the entity with an index and a generation, if there can be one.
fn parse_entity(index: &str, generation: &str) -> Option<Entity> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(index) || !is_number(generation) {
        return None;
    }
    let (index, generation): (u32, u32) = (index.parse().ok()?, generation.parse().ok()?);
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index))
}
