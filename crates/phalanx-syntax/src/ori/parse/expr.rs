//! Expressions: operators, calls, brackets, lambdas.

use super::*;

/// The left binding power of each operator; 0 for a token that is not an operator.
static POWER: [u8; TokenKind::COUNT] = {
    let mut power = [0; TokenKind::COUNT];
    let levels: &[&[TokenKind]] = &[
        &[T::QuestionQuestion],
        &[T::OrOr],
        &[T::AndAnd],
        &[T::Or],
        &[T::Caret],
        &[T::And],
        &[T::EqEq, T::BangEq],
        &[T::Less, T::LessEq, T::Greater],
        &[T::DotDot, T::DotDotEq],
        &[T::Shl],
        &[T::Plus, T::Minus],
        &[T::Star, T::Slash, T::Percent, T::Div],
    ];
    let mut level = 0;
    while level < levels.len() {
        let mut at = 0;
        while at < levels[level].len() {
            power[levels[level][at] as usize] = level as u8 + 1;
            at += 1;
        }
        level += 1;
    }
    power
};

const COALESCE: u8 = 1;
const RANGE: u8 = 9;
const SHIFT: u8 = 10;

pub(super) fn binary_kind(token: TokenKind) -> Kind {
    match token {
        T::Plus => Kind::BinAdd,
        T::Minus => Kind::BinSub,
        T::Star => Kind::BinMul,
        T::Slash => Kind::BinDiv,
        T::Percent => Kind::BinMod,
        T::Div => Kind::BinFloorDiv,
        T::Shl => Kind::BinShl,
        T::And => Kind::BinBitAnd,
        T::Or => Kind::BinBitOr,
        T::Caret => Kind::BinBitXor,
        T::AndAnd => Kind::BinAnd,
        T::OrOr => Kind::BinOr,
        T::EqEq => Kind::BinEq,
        T::BangEq => Kind::BinNe,
        T::Less => Kind::BinLt,
        T::LessEq => Kind::BinLe,
        T::QuestionQuestion => Kind::BinCoalesce,
        _ => Kind::BinGt,
    }
}

impl Parser<'_> {
    /// Whether an expression can start with a token.
    pub(super) fn starts_expr(&self) -> bool {
        match self.kind {
            T::Ident | T::Upper | T::Int | T::Float | T::Duration | T::Size | T::String | T::Char => true,
            T::TemplateWhole | T::TemplateHead | T::LParen | T::LBracket | T::LBrace | T::Dollar | T::Bang => true,
            T::Minus | T::Tilde | T::Underscore | T::True | T::False | T::SelfValue | T::SelfType | T::Void => true,
            T::If | T::For | T::Loop | T::Match | T::With | T::Unsafe | T::Break | T::Continue | T::Let => true,
            kind => kind >= T::Run,
        }
    }

    #[inline]
    pub(super) fn expr(&mut self) -> Made {
        self.binary(1)
    }

    /// An expression, or an assignment where one may stand.
    #[inline]
    pub(super) fn body(&mut self) -> Made {
        let start = self.start();
        let target = self.expr()?;
        if self.kind != T::Eq {
            return Ok(target);
        }
        self.assign(start, target)
    }

    fn assign(&mut self, start: u32, target: NodeId) -> Made {
        let mut root = target;
        loop {
            root = match self.tree.kind(root) {
                Kind::Ident | Kind::SelfValue | Kind::Error => break,
                Kind::FieldAccess | Kind::TupleIndex | Kind::Index => match self.tree.children(root).next() {
                    Some(object) => object,
                    None => break,
                },
                _ => {
                    let span = self.tree.span(target);
                    self.complain(span, "nothing can be assigned to this")?;
                    break;
                }
            };
        }
        self.bump();
        let value = self.body()?;
        self.make(start, node::Assign { target, value })
    }

    /// An expression of operators that bind at least as tightly as `least`.
    pub(super) fn binary(&mut self, least: u8) -> Made {
        if self.depth >= DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let start = self.start();
        let mut left = self.unary()?;
        // A token that is not an operand is not an operator either, so one mistake is one error.
        while self.blamed <= self.at {
            let token = self.kind;
            let mut power = POWER[token as usize];
            // A `>` may turn out to be half of a shift, which binds more tightly.
            if (power < least || power == 0) && token != T::Greater {
                break;
            }
            let mut kind = None;
            if token == T::Greater && self.touches_next() {
                match self.peek(1) {
                    T::Greater => (power, kind) = (SHIFT, Some(Kind::BinShr)),
                    T::Eq => kind = Some(Kind::BinGe),
                    _ => {}
                }
            }
            if power < least || token == T::Or && self.no_bar && self.peek(1) == T::String {
                break;
            }
            self.bump();
            if kind.is_some() {
                self.bump();
            }
            if power == RANGE {
                if matches!(self.tree.kind(left), Kind::BinRange | Kind::BinRangeInc | Kind::RangeBy) {
                    self.complain(self.span_from(start), "a range has two ends")?;
                }
                left = self.range(start, left, token)?;
                continue;
            }
            let right = self.binary(if power == COALESCE { power } else { power + 1 })?;
            let kind = kind.unwrap_or_else(|| binary_kind(token));
            let span = self.span_from(start);
            left = self.tree.alloc_as(kind, span, node::BinAdd { left, right })?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn range(&mut self, start: u32, left: NodeId, token: TokenKind) -> Made {
        let range = if token == T::DotDotEq {
            let right = self.binary(SHIFT)?;
            self.make(start, node::BinRangeInc { left, right })?
        } else {
            let ends = self.starts_expr() && self.kind != T::By;
            let right = if ends { Some(self.binary(SHIFT)?) } else { None };
            self.make(start, node::BinRange { left, right })?
        };
        if self.eat(T::By) {
            let step = self.binary(SHIFT)?;
            return self.make(start, node::RangeBy { range, step });
        }
        Ok(range)
    }

    /// Signs in front, and what follows them. Signs wait in `marks`, so that a million of them need no stack.
    fn unary(&mut self) -> Made {
        if !matches!(self.kind, T::Minus | T::Bang | T::Tilde) {
            return self.postfix();
        }
        let mark = self.marks.len();
        while matches!(self.kind, T::Minus | T::Bang | T::Tilde) {
            self.marks.try_reserve(1).map_err(|_| Full::Memory)?;
            self.marks.push(self.at as u32);
            self.bump();
        }
        let mut operand = self.postfix()?;
        while self.marks.len() > mark {
            let Some(token) = self.marks.pop() else { break };
            let kind = match self.kinds[token as usize] {
                T::Minus => Kind::UnaryNeg,
                T::Bang => Kind::UnaryNot,
                _ => Kind::UnaryBitNot,
            };
            let span = self.span_from(self.starts[token as usize]);
            operand = self.tree.alloc_as(kind, span, node::UnaryNeg { operand })?;
        }
        Ok(operand)
    }

    fn postfix(&mut self) -> Made {
        let start = self.start();
        let mut made = self.primary()?;
        loop {
            made = match self.kind {
                T::Dot => self.member(start, made)?,
                T::LParen => {
                    self.bump();
                    let mark = self.list(T::RParen, Self::argument)?;
                    self.call(start, made, mark)?
                }
                T::LBracket => {
                    self.bump();
                    self.indices += 1;
                    let index = self.bracketed(T::RBracket, Self::expr)?;
                    self.indices -= 1;
                    self.make(start, node::Index { object: made, index })?
                }
                T::Question => {
                    self.bump();
                    self.make(start, node::TryPropagate { operand: made })?
                }
                T::As => {
                    self.bump();
                    let fallible = self.kind == T::Question;
                    if fallible {
                        self.bump();
                    }
                    let target = self.simple_type()?;
                    match fallible {
                        true => self.make(start, node::TryCast { operand: made, target })?,
                        false => self.make(start, node::Cast { operand: made, target })?,
                    }
                }
                T::LBrace if !self.no_struct && self.is_type_path(made) => {
                    self.bump();
                    let mark = self.list(T::RBrace, Self::field_init)?;
                    let span = self.span_from(start);
                    let made = self.tree.alloc(span, node::StructLit { base: made, fields: self.pile.above(mark) });
                    self.drop_pile(mark, made)?
                }
                T::Less if self.touches_last() && self.is_type_path(made) && self.opens_types() => {
                    self.generic_path(start, made)?
                }
                _ => return Ok(made),
            }
        }
    }

    /// One expression and the bracket that closes it.
    pub(super) fn bracketed(&mut self, close: TokenKind, inside: fn(&mut Self) -> Made) -> Made {
        let outside = (self.no_struct, self.no_bar);
        (self.no_struct, self.no_bar) = (false, false);
        let inner = inside(self)?;
        (self.no_struct, self.no_bar) = outside;
        if self.kind != close {
            self.blame(close.describe())?;
            self.skip();
            while self.kind == T::Comma {
                self.bump();
                self.skip();
            }
        }
        self.eat(close);
        Ok(inner)
    }

    /// Whether a struct literal can start with this.
    fn is_type_path(&self, id: NodeId) -> bool {
        match self.tree.kind(id) {
            Kind::Variant | Kind::SelfType | Kind::GenericPath => true,
            Kind::FieldAccess => {
                // The last token is the name after the dot.
                self.kinds[self.at - 1] == T::Upper
            }
            _ => false,
        }
    }

    /// Returns `true` if `<` opens type arguments before a call, a member or a struct literal, and is not an operator.
    ///
    /// Looks ahead over what types are made of, and not far: nothing is tried and taken back, so that no source makes
    /// the parser read it over and over.
    fn opens_types(&self) -> bool {
        const FAR: usize = 128;
        let mut open = 0;
        for ahead in 0..FAR {
            match self.peek(ahead) {
                T::Less => open += 1,
                T::Greater if open == 1 => {
                    return matches!(self.peek(ahead + 1), T::Dot | T::LParen | T::LBrace);
                }
                T::Greater => open -= 1,
                T::Comma | T::Dot | T::Colon | T::Arrow | T::Plus | T::Minus | T::Star | T::Int | T::Dollar => {}
                T::LParen | T::RParen | T::LBracket | T::RBracket | T::LBrace | T::RBrace => {}
                T::Void | T::SelfType | T::True | T::False | T::Impl => {}
                kind if kind.is_name() => {}
                _ => return false,
            }
        }
        false
    }

    /// `Name<types>`.
    fn generic_path(&mut self, start: u32, base: NodeId) -> Made {
        self.bump();
        let mark = self.list(T::Greater, Self::type_argument)?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::GenericPath { base, types: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn member(&mut self, start: u32, object: NodeId) -> Made {
        self.bump();
        if self.kind == T::Int {
            let token = self.at;
            let value = super::super::value::int(self.bytes_of(token)).and_then(|value| u32::try_from(value).ok());
            if value.is_none() {
                self.complain(Span::new(self.start(), self.ends[token]), "no tuple is that long")?;
            }
            self.bump();
            return self.make(start, node::TupleIndex { object, index: value.unwrap_or(u32::MAX) });
        }
        if self.kind == T::Match && self.peek(1) == T::LParen {
            self.bump();
            self.bump();
            let mark = self.pairs(T::RParen, Self::arm)?;
            let span = self.span_from(start);
            let made = self.tree.alloc(span, node::MethodMatch { subject: object, arms: self.pile.pairs_above(mark) });
            return self.drop_pile(mark, made);
        }
        let name = self.member_name()?;
        if self.kind == T::Less && self.touches_last() && self.opens_types() {
            return self.generic_method(start, object, name);
        }
        if self.kind != T::LParen {
            return self.make(start, node::FieldAccess { object, name });
        }
        self.bump();
        let mark = self.list(T::RParen, Self::argument)?;
        let span = self.span_from(start);
        let arguments = self.pile.above(mark);
        let made = match (arguments.len(), arguments.get(0)) {
            (0, _) => self.tree.alloc(span, node::MethodCallZero { object, name }),
            (1, Some(argument)) => self.tree.alloc(span, node::MethodCallOne { object, name, argument }),
            _ => self.tree.alloc(span, node::MethodCall { object, name, arguments }),
        };
        self.drop_pile(mark, made)
    }

    /// `.name<types>(…)`.
    fn generic_method(&mut self, start: u32, object: NodeId, name: Name) -> Made {
        self.bump();
        let mark = self.list(T::Greater, Self::type_argument)?;
        let second = self.pile.len();
        if self.expect(T::LParen)? {
            self.list(T::RParen, Self::argument)?;
        }
        let span = self.span_from(start);
        let (types, arguments) = self.pile.split(mark, second);
        let made = self.tree.alloc(span, node::MethodCallGeneric { object, name, types, arguments });
        self.drop_pile(mark, made)
    }

    fn call(&mut self, start: u32, callee: NodeId, mark: usize) -> Made {
        let span = self.span_from(start);
        let arguments = self.pile.above(mark);
        let made = match (arguments.len(), arguments.get(0)) {
            (0, _) => self.tree.alloc(span, node::FunctionCallZero { callee }),
            (1, Some(argument)) => self.tree.alloc(span, node::FunctionCallOne { callee, argument }),
            _ => self.tree.alloc(span, node::FunctionCall { callee, arguments }),
        };
        self.drop_pile(mark, made)
    }

    /// `name: value`, `...value` or `value`.
    pub(super) fn argument(&mut self) -> Made {
        let start = self.start();
        if self.kind.is_member() && self.peek(1) == T::Colon {
            let name = self.member_name()?;
            self.bump();
            let value = self.expr()?;
            return self.make(start, node::NamedArg { name, value });
        }
        self.element()
    }

    /// `...value` or `value`.
    pub(super) fn element(&mut self) -> Made {
        let start = self.start();
        if self.eat(T::Ellipsis) {
            let operand = self.expr()?;
            return self.make(start, node::Spread { operand });
        }
        self.expr()
    }

    /// `name: value`, `name` or `...base`.
    fn field_init(&mut self) -> Made {
        let start = self.start();
        if self.kind == T::Ellipsis {
            return self.element();
        }
        if !self.kind.is_name() {
            return self.missing("a field");
        }
        if self.peek(1) != T::Colon {
            return self.ident();
        }
        let name = self.name()?;
        self.bump();
        let value = self.expr()?;
        self.make(start, node::FieldInit { name, value })
    }

    fn primary(&mut self) -> Made {
        match self.kind {
            T::Ident | T::Underscore if self.peek(1) == T::Arrow => self.lambda(),
            T::Ident | T::Upper => self.ident(),
            T::Int => self.int(),
            T::Float => self.float(),
            T::Duration | T::Size => self.quantity(),
            T::String => self.string(),
            T::Char => self.character(),
            T::True => self.leaf(node::BoolTrue {}),
            T::False => self.leaf(node::BoolFalse {}),
            T::Void => self.leaf(node::Void {}),
            T::SelfValue => self.leaf(node::SelfValue {}),
            T::SelfType => self.leaf(node::SelfType {}),
            T::TemplateWhole | T::TemplateHead => self.template(),
            T::LParen => self.paren(),
            T::LBracket => self.list_literal(),
            T::LBrace => self.map_literal(),
            T::Dollar if self.peek(1).is_name() => {
                let start = self.start();
                self.bump();
                let name = self.name()?;
                self.make(start, node::ConstName { name })
            }
            T::Hash if self.indices > 0 => self.leaf(node::Length {}),
            _ => self.form(),
        }
    }
}
