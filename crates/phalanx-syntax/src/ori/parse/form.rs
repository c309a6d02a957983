//! The forms that begin with a word: control flow, bindings, sequences and the like.

use super::*;

impl Parser<'_> {
    /// An expression that begins with a keyword, hard or soft; a soft one that is none is a name.
    pub(super) fn form(&mut self) -> Made {
        match self.kind {
            T::If => self.conditional(),
            T::Let => self.binding(),
            T::For => self.iteration(),
            T::Loop => self.endless(),
            T::Break | T::Continue => self.jump(),
            T::Unsafe => {
                let start = self.start();
                self.bump();
                self.expect(T::LParen)?;
                let body = self.bracketed(T::RParen, Self::body)?;
                self.make(start, node::Unsafe { body })
            }
            T::With if self.peek(1) == T::LParen => self.named_form(Kind::With),
            T::With => self.with_in(),
            T::Match => self.matching(),
            T::Run if self.peek(1) == T::LParen => self.sequence(Kind::Run),
            T::Try if self.peek(1) == T::LParen => self.sequence(Kind::Try),
            T::Recurse if self.peek(1) == T::LParen => self.named_form(Kind::Recurse),
            T::Parallel if self.peek(1) == T::LParen => self.named_form(Kind::Parallel),
            T::Spawn if self.peek(1) == T::LParen => self.named_form(Kind::Spawn),
            T::Timeout if self.peek(1) == T::LParen => self.named_form(Kind::Timeout),
            T::Cache if self.peek(1) == T::LParen => self.named_form(Kind::Cache),
            T::Catch if self.peek(1) == T::LParen => self.named_form(Kind::Catch),
            T::Nursery if self.peek(1) == T::LParen => self.named_form(Kind::Nursery),
            T::Channel | T::ChannelIn | T::ChannelOut | T::ChannelAll
                if matches!(self.peek(1), T::LParen | T::Less) =>
            {
                self.channel()
            }
            kind if kind.is_name() => {
                if self.peek(1) == T::Arrow {
                    return self.soft_lambda();
                }
                self.ident()
            }
            _ => self.missing("an expression"),
        }
    }

    /// `name -> body` where the name is a soft keyword.
    fn soft_lambda(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        let name = self.name()?;
        let parameter = self.make(start, node::PatIdent { name })?;
        self.pile.push(parameter)?;
        self.bump();
        let body = self.body()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Lambda { parameters: self.pile.above(mark), body });
        self.drop_pile(mark, made)
    }

    /// An `if` with all its `else if`s, which wait on the pile, so that a long chain of them is not deep.
    fn conditional(&mut self) -> Made {
        let (pile, marks) = (self.pile.len(), self.marks.len());
        let mut last = None;
        while self.kind == T::If {
            self.marks.try_reserve(1).map_err(|_| Full::Memory)?;
            self.marks.push(self.start());
            self.bump();
            let outside = core::mem::replace(&mut self.no_struct, true);
            let condition = self.expr()?;
            self.no_struct = outside;
            self.pile.push(condition)?;
            self.expect(T::Then)?;
            let yes = self.body()?;
            self.pile.push(yes)?;
            if !self.eat(T::Else) {
                break;
            }
            if self.kind != T::If {
                last = Some(self.body()?);
            }
        }
        while self.marks.len() > marks {
            let from = self.pile.len().saturating_sub(2);
            let pair = self.pile.above(from);
            let (Some(start), Some(condition), Some(yes)) = (self.marks.pop(), pair.get(0), pair.get(1)) else { break };
            self.pile.truncate(from);
            last = Some(match last {
                None => self.make(start, node::If { condition, yes })?,
                Some(no) => self.make(start, node::IfElse { condition, yes, no })?,
            });
        }
        self.pile.truncate(pile);
        last.map_or_else(|| self.missing("an expression"), Ok)
    }

    fn binding(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mutable = self.kind == T::Mut && !matches!(self.peek(1), T::Eq | T::Colon);
        if mutable {
            self.bump();
        }
        let pattern = self.pattern()?;
        let annotation = if self.eat(T::Colon) { Some(self.full_type()?) } else { None };
        self.expect(T::Eq)?;
        let value = self.expr()?;
        match (mutable, annotation) {
            (false, None) => self.make(start, node::Let { pattern, value }),
            (true, None) => self.make(start, node::LetMut { pattern, value }),
            (false, Some(annotation)) => self.make(start, node::LetTyped { pattern, annotation, value }),
            (true, Some(annotation)) => self.make(start, node::LetMutTyped { pattern, annotation, value }),
        }
    }

    /// `:label`, which touches the keyword before it.
    fn label(&mut self) -> Result<Option<Name>, Full> {
        if self.kind == T::Colon && self.touches_last() && self.touches_next() && self.peek(1).is_name() {
            self.bump();
            return self.name().map(Some);
        }
        Ok(None)
    }

    fn labeled(&mut self, start: u32, label: Option<Name>, body: NodeId) -> Made {
        match label {
            Some(label) => self.make(start, node::Labeled { label, body }),
            None => Ok(body),
        }
    }

    /// A `for` loop, or the form `for(over: …)`.
    fn iteration(&mut self) -> Made {
        let start = self.start();
        if self.peek(1) == T::LParen && self.peek(2).is_member() && self.peek(3) == T::Colon {
            return self.first_match();
        }
        self.bump();
        let label = self.label()?;
        let inner = if label.is_some() { self.start() } else { start };
        let pattern = self.pattern()?;
        self.expect(T::In)?;
        let iterable = self.expr()?;
        let guard = if self.eat(T::If) { Some(self.expr()?) } else { None };
        let yields = self.kind == T::Yield;
        if !yields && self.kind != T::Do {
            self.blame("`do` or `yield`")?;
        } else {
            self.bump();
        }
        let body = self.body()?;
        let made = match (yields, guard) {
            (false, None) => self.make(inner, node::ForDo { pattern, iterable, body })?,
            (true, None) => self.make(inner, node::ForYield { pattern, iterable, body })?,
            (false, Some(guard)) => self.make(inner, node::ForIf { pattern, iterable, guard, body })?,
            (true, Some(guard)) => self.make(inner, node::ForYieldIf { pattern, iterable, guard, body })?,
        };
        self.labeled(start, label, made)
    }

    fn endless(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let label = self.label()?;
        let inner = if label.is_some() { self.start() } else { start };
        self.expect(T::LParen)?;
        let body = self.bracketed(T::RParen, Self::body)?;
        let made = self.make(inner, node::Loop { body })?;
        self.labeled(start, label, made)
    }

    fn jump(&mut self) -> Made {
        let start = self.start();
        let breaks = self.kind == T::Break;
        self.bump();
        let label = self.label()?;
        if !self.starts_expr() {
            return match breaks {
                true => self.make(start, node::Break { label }),
                false => self.make(start, node::Continue { label }),
            };
        }
        let value = self.expr()?;
        match breaks {
            true => self.make(start, node::BreakValue { label, value }),
            false => self.make(start, node::ContinueValue { label, value }),
        }
    }

    /// `run(…)` and `try(…)`.
    fn sequence(&mut self, kind: Kind) -> Made {
        let start = self.start();
        self.bump();
        self.bump();
        let mark = self.list(T::RParen, Self::step)?;
        if self.pile.len() == mark {
            self.complain(self.span_from(start), "a sequence has at least one step")?;
        }
        let span = self.span_from(start);
        let made = self.tree.alloc_as(kind, span, node::Run { steps: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn step(&mut self) -> Made {
        let start = self.start();
        if !matches!(self.kind, T::PreCheck | T::PostCheck) || self.peek(1) != T::Colon {
            return self.body();
        }
        let pre = self.kind == T::PreCheck;
        self.bump();
        self.bump();
        self.no_bar = true;
        let condition = self.expr()?;
        self.no_bar = false;
        let message = if self.eat(T::Or) { Some(self.string()?) } else { None };
        match pre {
            true => self.make(start, node::PreCheck { condition, message }),
            false => self.make(start, node::PostCheck { condition, message }),
        }
    }

    fn matching(&mut self) -> Made {
        let start = self.start();
        self.bump();
        if self.kind != T::LParen {
            return self.missing("`(`");
        }
        self.bump();
        let subject = self.expr()?;
        if self.kind != T::RParen {
            self.expect(T::Comma)?;
        }
        let mark = self.pairs(T::RParen, Self::arm)?;
        if self.pile.len() == mark {
            self.complain(self.span_from(start), "a match has at least one arm")?;
        }
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Match { subject, arms: self.pile.pairs_above(mark) });
        self.drop_pile(mark, made)
    }

    /// `pattern -> body`.
    pub(super) fn arm(&mut self) -> Result<(NodeId, NodeId), Full> {
        let pattern = self.pattern()?;
        self.expect(T::Arrow)?;
        Ok((pattern, self.body()?))
    }

    fn match_arm(&mut self) -> Made {
        let start = self.start();
        let (pattern, body) = self.arm()?;
        self.make(start, node::MatchArm { pattern, body })
    }

    /// A form whose arguments all have names.
    fn named_form(&mut self, kind: Kind) -> Made {
        let start = self.start();
        self.bump();
        self.bump();
        let mark = self.list(T::RParen, Self::named_argument)?;
        let span = self.span_from(start);
        let made = self.tree.alloc_as(kind, span, node::Recurse { arguments: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn named_argument(&mut self) -> Made {
        if self.kind.is_member() && self.peek(1) == T::Colon {
            return self.argument();
        }
        self.blame("a named argument")?;
        self.argument()
    }

    /// `for(over: …, match: pattern -> value, default: …)`.
    fn first_match(&mut self) -> Made {
        let start = self.start();
        self.bump();
        self.bump();
        let mark = self.list(T::RParen, |parser| {
            let start = parser.start();
            if parser.kind == T::Match && parser.peek(1) == T::Colon {
                let name = parser.member_name()?;
                parser.bump();
                let value = parser.match_arm()?;
                return parser.make(start, node::NamedArg { name, value });
            }
            parser.named_argument()
        })?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::For { arguments: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn channel(&mut self) -> Made {
        let start = self.start();
        let name = self.name()?;
        let mark = self.pile.len();
        if self.eat(T::Less) {
            self.list(T::Greater, Self::type_argument)?;
        }
        let second = self.pile.len();
        self.expect(T::LParen)?;
        self.list(T::RParen, Self::named_argument)?;
        let span = self.span_from(start);
        let (types, arguments) = self.pile.split(mark, second);
        let made = self.tree.alloc(span, node::Channel { name, types, arguments });
        self.drop_pile(mark, made)
    }

    /// `with Capability = value, … in body`.
    fn with_in(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        loop {
            let from = self.start();
            let name = self.name()?;
            self.expect(T::Eq)?;
            let value =
                if self.kind == T::Handler && self.peek(1) == T::LParen { self.handler()? } else { self.expr()? };
            let made = self.make(from, node::Capability { name, value })?;
            self.pile.push(made)?;
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.expect(T::In)?;
        let body = self.body()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::WithIn { bindings: self.pile.above(mark), body });
        self.drop_pile(mark, made)
    }

    /// `handler(state: state) { operation: value, … }`.
    fn handler(&mut self) -> Made {
        let start = self.start();
        self.bump();
        self.bump();
        if self.at_word("state") && self.peek(1) == T::Colon {
            self.bump();
            self.bump();
        } else {
            self.blame("`state:`")?;
        }
        let state = self.bracketed(T::RParen, Self::expr)?;
        self.expect(T::LBrace)?;
        let mark = self.list(T::RBrace, Self::named_argument)?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Handler { state, operations: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }
}
