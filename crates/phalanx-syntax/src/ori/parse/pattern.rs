//! Patterns: of matches, bindings and parameters.

use super::*;

impl Parser<'_> {
    /// A pattern with its alternatives, and the guard after it.
    pub(super) fn pattern(&mut self) -> Made {
        self.nested(Self::guarded_pattern)
    }

    fn guarded_pattern(&mut self) -> Made {
        let start = self.start();
        let mut pattern = self.single_pattern()?;
        if self.kind == T::Or {
            let mark = self.pile.len();
            self.pile.push(pattern)?;
            while self.eat(T::Or) {
                let next = self.single_pattern()?;
                self.pile.push(next)?;
            }
            let span = self.span_from(start);
            let made = self.tree.alloc(span, node::PatOr { alternatives: self.pile.above(mark) });
            pattern = self.drop_pile(mark, made)?;
        }
        if self.kind == T::Dot && self.peek(1) == T::Match && self.peek(2) == T::LParen {
            self.bump();
            self.bump();
            self.bump();
            let condition = self.bracketed(T::RParen, Self::expr)?;
            pattern = self.make(start, node::PatGuard { pattern, condition })?;
        }
        Ok(pattern)
    }

    fn single_pattern(&mut self) -> Made {
        let start = self.start();
        match self.kind {
            T::Underscore => self.leaf(node::PatWildcard {}),
            T::Minus | T::Int | T::Float | T::String | T::Char | T::True | T::False | T::Duration | T::Size => {
                self.literal_pattern()
            }
            T::Dollar => {
                self.bump();
                let name = self.name()?;
                self.make(start, node::PatConst { name })
            }
            T::LParen => self.tuple_pattern(),
            T::LBracket => {
                self.bump();
                let mark = self.list(T::RBracket, Self::pattern_or_rest)?;
                let span = self.span_from(start);
                let made = self.tree.alloc(span, node::PatList { elements: self.pile.above(mark) });
                self.drop_pile(mark, made)
            }
            T::LBrace => self.struct_pattern(start, None),
            T::DotDot => self.pattern_or_rest(),
            kind if kind.is_name() => self.named_pattern(),
            _ => self.missing("a pattern"),
        }
    }

    fn literal(&mut self) -> Made {
        let start = self.start();
        if self.eat(T::Minus) {
            let operand = match self.kind {
                T::Int => self.int()?,
                T::Float => self.float()?,
                T::Duration | T::Size => self.quantity()?,
                _ => self.missing("a number")?,
            };
            return self.make(start, node::UnaryNeg { operand });
        }
        match self.kind {
            T::Int => self.int(),
            T::Float => self.float(),
            T::String => self.string(),
            T::Char => self.character(),
            T::True => self.leaf(node::BoolTrue {}),
            T::False => self.leaf(node::BoolFalse {}),
            T::Duration | T::Size => self.quantity(),
            _ => self.missing("a literal"),
        }
    }

    fn literal_pattern(&mut self) -> Made {
        let start = self.start();
        let low = self.literal()?;
        match self.kind {
            T::DotDotEq => {
                self.bump();
                let high = self.literal()?;
                self.make(start, node::PatRangeInc { low, high })
            }
            T::DotDot => {
                self.bump();
                let ends = matches!(self.kind, T::Minus | T::Int | T::Float | T::Char | T::Duration | T::Size);
                let high = if ends { Some(self.literal()?) } else { None };
                self.make(start, node::PatRange { low, high })
            }
            _ => self.make(start, node::PatLiteral { value: low }),
        }
    }

    /// `(p, q)`; `(p)` is just `p`.
    fn tuple_pattern(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mark = self.list(T::RParen, Self::pattern)?;
        let comma = self.at >= 2 && self.kinds[self.at - 2] == T::Comma;
        let elements = self.pile.above(mark);
        let made = match (elements.len(), elements.get(0)) {
            (1, Some(only)) if !comma => Ok(only),
            _ => {
                let span = self.span_from(start);
                self.tree.alloc(span, node::PatTuple { elements })
            }
        };
        self.drop_pile(mark, made)
    }

    /// A pattern, or `..` or `..rest` in a list or struct.
    fn pattern_or_rest(&mut self) -> Made {
        let start = self.start();
        if !self.eat(T::DotDot) {
            return self.pattern();
        }
        let name = if self.kind.is_name() { Some(self.name()?) } else { None };
        self.make(start, node::PatRest { name })
    }

    /// A name that is bound, a variant, or a struct.
    fn named_pattern(&mut self) -> Made {
        let start = self.start();
        let bound = self.kind != T::Upper && !(self.peek(1) == T::Dot && self.peek(2) == T::Upper);
        if bound && self.peek(1) != T::LBrace {
            let name = self.name()?;
            if self.eat(T::At) {
                let pattern = self.nested(Self::single_pattern)?;
                return self.make(start, node::PatAt { name, pattern });
            }
            return self.make(start, node::PatIdent { name });
        }
        let path = self.path()?;
        if self.kind == T::LBrace {
            return self.struct_pattern(start, Some(path));
        }
        let mark = self.pile.len();
        if self.eat(T::LParen) {
            self.list(T::RParen, Self::pattern_field)?;
        }
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::PatVariant { path, arguments: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn struct_pattern(&mut self, start: u32, path: Option<NodeId>) -> Made {
        self.bump();
        let mark = self.list(T::RBrace, Self::pattern_field)?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::PatStruct { path, fields: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    /// `name: pattern`, or a pattern.
    fn pattern_field(&mut self) -> Made {
        let start = self.start();
        if self.kind.is_member() && self.peek(1) == T::Colon {
            let name = self.member_name()?;
            self.bump();
            let pattern = self.pattern()?;
            return self.make(start, node::PatField { name, pattern });
        }
        self.pattern_or_rest()
    }
}
