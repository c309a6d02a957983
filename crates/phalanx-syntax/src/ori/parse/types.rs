//! Types.

use super::expr::binary_kind;
use super::*;

impl Parser<'_> {
    /// A type, or several bounds with plus signs between them.
    pub(super) fn full_type(&mut self) -> Made {
        let start = self.start();
        let first = self.simple_type()?;
        if self.kind != T::Plus {
            return Ok(first);
        }
        let mark = self.pile.len();
        self.pile.push(first)?;
        while self.eat(T::Plus) {
            let next = self.simple_type()?;
            self.pile.push(next)?;
        }
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::TypeBounds { bounds: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    /// A type without plus signs, as after `as`, where they add.
    pub(super) fn simple_type(&mut self) -> Made {
        self.nested(Self::one_type)
    }

    fn one_type(&mut self) -> Made {
        let start = self.start();
        match self.kind {
            T::LBracket => self.list_type(),
            T::LBrace => {
                self.bump();
                let key = self.full_type()?;
                self.expect(T::Colon)?;
                let value = self.full_type()?;
                self.close(T::RBrace)?;
                self.make(start, node::TypeMap { key, value })
            }
            T::LParen => self.paren_type(),
            T::Impl => self.impl_type(),
            T::Dyn => {
                self.bump();
                let bound = self.full_type()?;
                self.make(start, node::TypeDyn { bound })
            }
            T::Void => {
                let name = self.intern(self.at)?;
                self.leaf(node::TypePrimitive { name })
            }
            T::SelfType => {
                let base = self.leaf(node::TypeSelf {})?;
                self.type_path(start, base)
            }
            kind if kind.is_name() => self.named_type(),
            _ => self.missing("a type"),
        }
    }

    /// The bracket that closes a type.
    fn close(&mut self, close: TokenKind) -> Result<(), Full> {
        if self.kind != close {
            self.blame(close.describe())?;
            self.skip();
        }
        self.eat(close);
        Ok(())
    }

    fn named_type(&mut self) -> Made {
        let start = self.start();
        let text = self.bytes_of(self.at);
        let name = self.intern(self.at)?;
        let base = match text {
            b"int" | b"float" | b"bool" | b"str" | b"char" | b"byte" => self.leaf(node::TypePrimitive { name })?,
            b"Never" => self.leaf(node::TypeNever {})?,
            _ => self.leaf(node::TypeNamed { name })?,
        };
        self.type_path(start, base)
    }

    /// The rest of a path, and the arguments after it.
    fn type_path(&mut self, start: u32, base: NodeId) -> Made {
        let mut base = base;
        while self.kind == T::Dot && self.peek(1).is_name() {
            self.bump();
            let name = self.name()?;
            base = self.make(start, node::TypePath { qualifier: base, name })?;
        }
        if self.kind != T::Less {
            return Ok(base);
        }
        self.bump();
        let mark = self.list(T::Greater, Self::type_argument)?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::TypeGeneric { base, arguments: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    /// A type, or a constant expression.
    pub(super) fn type_argument(&mut self) -> Made {
        let start = self.start();
        match self.kind {
            T::Int | T::Dollar | T::Minus | T::True | T::False => {
                let value = self.constant()?;
                self.make(start, node::TypeConst { value })
            }
            _ => self.full_type(),
        }
    }

    /// A constant in a type: numbers and names with `+ - * / % div` between them. No other expression stands in a type,
    /// so that types can be tried without trying anything else.
    pub(super) fn constant(&mut self) -> Made {
        let start = self.start();
        let mut sum = self.constant_product()?;
        while matches!(self.kind, T::Plus | T::Minus) {
            let kind = binary_kind(self.kind);
            self.bump();
            let right = self.constant_product()?;
            let span = self.span_from(start);
            sum = self.tree.alloc_as(kind, span, node::BinAdd { left: sum, right })?;
        }
        Ok(sum)
    }

    fn constant_product(&mut self) -> Made {
        let start = self.start();
        let mut product = self.constant_operand()?;
        while matches!(self.kind, T::Star | T::Slash | T::Percent | T::Div) {
            let kind = binary_kind(self.kind);
            self.bump();
            let right = self.constant_operand()?;
            let span = self.span_from(start);
            product = self.tree.alloc_as(kind, span, node::BinMul { left: product, right })?;
        }
        Ok(product)
    }

    fn constant_operand(&mut self) -> Made {
        let start = self.start();
        match self.kind {
            T::Minus if self.peek(1) == T::Int => {
                self.bump();
                let operand = self.int()?;
                self.make(start, node::UnaryNeg { operand })
            }
            T::Int => self.int(),
            T::True => self.leaf(node::BoolTrue {}),
            T::False => self.leaf(node::BoolFalse {}),
            T::Dollar if self.peek(1).is_name() => {
                self.bump();
                let name = self.name()?;
                self.make(start, node::ConstName { name })
            }
            kind if kind.is_name() => self.ident(),
            _ => self.missing("a constant"),
        }
    }

    fn list_type(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let element = self.full_type()?;
        if self.kind == T::Comma && self.peek(1) == T::Max {
            self.bump();
            self.bump();
            let bound = self.constant()?;
            self.close(T::RBracket)?;
            return self.make(start, node::TypeListMax { element, bound });
        }
        self.close(T::RBracket)?;
        self.make(start, node::TypeList { element })
    }

    /// `()`, `(A)`, `(A, B)` or `(A, B) -> R`.
    fn paren_type(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mark = self.list(T::RParen, Self::full_type)?;
        let comma = self.at >= 2 && self.kinds[self.at - 2] == T::Comma;
        if self.eat(T::Arrow) {
            let result = self.simple_type()?;
            let span = self.span_from(start);
            let made = self.tree.alloc(span, node::TypeFunction { parameters: self.pile.above(mark), result });
            return self.drop_pile(mark, made);
        }
        let span = self.span_from(start);
        let elements = self.pile.above(mark);
        let made = match (elements.len(), elements.get(0)) {
            (0, _) => self.tree.alloc(span, node::TypeUnit {}),
            (1, Some(inner)) if !comma => self.tree.alloc(span, node::TypeParen { inner }),
            _ => self.tree.alloc(span, node::TypeTuple { elements }),
        };
        self.drop_pile(mark, made)
    }

    /// `impl A + B where Item == T`.
    fn impl_type(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        self.bounds()?;
        let second = self.pile.len();
        // What follows may be the `where` of the function: only `name ==` belongs to the type.
        if self.kind == T::Where && self.peek(1).is_name() && self.peek(2) == T::EqEq {
            self.bump();
            loop {
                let from = self.start();
                let name = self.name()?;
                self.expect(T::EqEq)?;
                let target = self.full_type()?;
                let made = self.make(from, node::TypeEqual { name, target })?;
                self.pile.push(made)?;
                if !(self.kind == T::Comma && self.peek(1).is_name() && self.peek(2) == T::EqEq) {
                    break;
                }
                self.bump();
            }
        }
        let span = self.span_from(start);
        let (bounds, constraints) = self.pile.split(mark, second);
        let made = self.tree.alloc(span, node::TypeImpl { bounds, constraints });
        self.drop_pile(mark, made)
    }

    /// `A + B`, each put on the pile.
    pub(super) fn bounds(&mut self) -> Result<(), Full> {
        loop {
            let bound = self.simple_type()?;
            self.pile.push(bound)?;
            if !self.eat(T::Plus) {
                return Ok(());
            }
        }
    }
}
