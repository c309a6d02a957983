//! [`Parser`]: from tokens to the syntax tree.

use super::TEXT_QUERY_LEVELS;
use super::error::{TextQueryError, TextQueryProblem};
use super::lexer::{Lexer, Token};
use super::syntax::{Literal, Operator, Path, Syntax, Target, Term};
use crate::alloc::{try_box, try_push};

type Result<T> = core::result::Result<T, TextQueryError>;

pub(super) struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next token.
    token: Token,
    /// Its position.
    at: usize,
    /// The number of conditions that the next one is within.
    level: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Syntax> {
        let mut lexer = Lexer::new(text);
        let (at, token) = lexer.next()?;
        Parser { lexer, token, at, level: 0 }.query()
    }

    /// Returns the present token and takes the next.
    fn take(&mut self) -> Result<Token> {
        let (at, token) = self.lexer.next()?;
        self.at = at;
        Ok(core::mem::replace(&mut self.token, token))
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(&self.token, Token::Symbol(found) if *found == symbol)
    }

    /// Takes a symbol, if it is the present token.
    fn accept(&mut self, symbol: &str) -> Result<bool> {
        let is = self.is(symbol);
        if is {
            self.take()?;
        }
        Ok(is)
    }

    fn expect(&mut self, symbol: &str, expected: &'static str) -> Result<()> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    fn unexpected(&self, expected: &'static str) -> TextQueryError {
        self.lexer.unexpected(self.at, expected)
    }

    fn query(mut self) -> Result<Syntax> {
        let mut query = Syntax::default();
        let is_clause = |parser: &Self| parser.is_word("sort") || parser.is_word("limit") || parser.token == Token::End;
        if !is_clause(&self) {
            query.terms = self.terms()?;
        }
        if self.is_word("sort") {
            self.take()?;
            let path = self.path("a field to sort by")?;
            let descends = self.is_word("desc");
            if descends || self.is_word("asc") {
                self.take()?;
            }
            query.sort = Some((path, descends));
        }
        if self.is_word("limit") {
            self.take()?;
            let limit = match &self.token {
                Token::Number(number) => number.parse().ok(),
                _ => None,
            };
            query.limit = Some(limit.ok_or_else(|| self.unexpected("a number of rows"))?);
            self.take()?;
        }
        match self.token {
            Token::End => Ok(query),
            _ => Err(self.unexpected("`,`, `sort`, `limit` or the end")),
        }
    }

    /// Parses a list of conditions, all of which must hold.
    fn terms(&mut self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        loop {
            try_push(&mut terms, self.term()?)?;
            if !self.accept(",")? {
                return Ok(terms);
            }
        }
    }

    /// Parses a condition, and counts the levels of nested ones.
    fn term(&mut self) -> Result<Term> {
        if self.level == TEXT_QUERY_LEVELS {
            return Err(TextQueryError::new(self.at, TextQueryProblem::TooDeep));
        }
        self.level += 1;
        let term = self.nested_term();
        self.level -= 1;
        term
    }

    fn nested_term(&mut self) -> Result<Term> {
        if self.is("?") {
            // What is shown says nothing about which rows match, so it is not part of another condition.
            if self.level > 1 {
                return Err(self.unexpected("a condition"));
            }
            self.take()?;
            return Ok(Term::Show(self.path("a component")?));
        }
        if self.accept("!")? {
            return Ok(Term::Not(try_box(self.term()?)?));
        }
        if self.accept("(")? {
            let mut any = Vec::new();
            loop {
                try_push(&mut any, self.terms()?)?;
                if !self.accept("|")? {
                    break;
                }
            }
            self.expect(")", "`,`, `|` or `)`")?;
            return Ok(Term::Any(any));
        }
        if self.accept("#")? {
            let Token::Entity(entity) = self.token else { return Err(self.unexpected("an entity")) };
            self.take()?;
            return Ok(Term::Is(entity));
        }
        let path = self.path("a condition")?;
        let is_plain = path.fields.is_empty() && !path.is_quoted;
        match path.name.as_str() {
            "changed" | "added" if is_plain && self.is("(") => {
                self.take()?;
                let of = self.path("a component")?;
                if let Some((at, _)) = of.fields.first() {
                    return Err(self.lexer.unexpected(*at, "a whole component"));
                }
                self.expect(")", "`)`")?;
                return Ok(if path.name == "added" { Term::Added(of) } else { Term::Changed(of) });
            }
            "in" if is_plain && self.is("(") => {
                self.take()?;
                let target = self.target(false)?;
                self.expect(")", "`)`")?;
                return Ok(Term::Below(target));
            }
            "parent" if is_plain && (self.is("=") || self.is("!=")) => {
                let is_equal = self.is("=");
                self.take()?;
                return Ok(Term::Parent(is_equal, self.target(true)?));
            }
            _ => {}
        }
        let Token::Symbol(symbol) = self.token else { return Ok(Term::Present(path)) };
        let Some(operator) = Operator::of(symbol) else {
            // A field without a comparison says what is shown.
            return Ok(Term::Present(path));
        };
        self.take()?;
        let at = self.at;
        if matches!(self.token, Token::Symbol(_) | Token::End) {
            return Err(self.unexpected("a value"));
        }
        let literal = match self.take()? {
            Token::Number(number) => Literal::Number(number),
            Token::Text(text) => Literal::Text(text),
            Token::Word(word) | Token::Quoted(word) => Literal::Word(word),
            Token::Entity(entity) => Literal::Entity(entity),
            Token::Symbol(_) | Token::End => unreachable!("it was looked at before"),
        };
        Ok(Term::Compare(path, operator, at, literal))
    }

    /// Parses the name of a component, and fields after it.
    fn path(&mut self, expected: &'static str) -> Result<Path> {
        let at = self.at;
        if !matches!(self.token, Token::Word(_) | Token::Quoted(_)) {
            return Err(self.unexpected(expected));
        }
        let (name, is_quoted) = match self.take()? {
            Token::Word(name) => (name, false),
            Token::Quoted(name) => (name, true),
            _ => unreachable!("it was looked at before"),
        };
        let mut path = Path { at, name, is_quoted, fields: Vec::new() };
        while self.is(".") {
            // The present token is the dot: the lexer stands after it.
            try_push(&mut path.fields, self.lexer.field()?)?;
            self.take()?;
        }
        Ok(path)
    }

    /// Parses an entity, or a name or path of one.
    fn target(&mut self, may_be_none: bool) -> Result<Target> {
        let at = self.at;
        if matches!(self.token, Token::Number(_) | Token::Symbol(_) | Token::End) {
            return Err(self.unexpected("an entity or its name"));
        }
        Ok(match self.take()? {
            Token::Entity(entity) => Target::Entity(entity),
            Token::Word(word) if may_be_none && word == "none" => Target::Nothing,
            Token::Word(name) | Token::Quoted(name) | Token::Text(name) => Target::Path(at, name),
            Token::Number(_) | Token::Symbol(_) | Token::End => unreachable!("it was looked at before"),
        })
    }
}
