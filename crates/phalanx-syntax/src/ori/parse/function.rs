//! Functions, tests, and what stands in their signatures.

use super::*;

impl Parser<'_> {
    /// `@name …`: a function or a test.
    pub(super) fn function(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let name = self.name()?;
        if self.kind == T::Tests {
            return self.test(start, name);
        }
        let mark = self.pile.len();
        self.generics()?;
        let parameters_at = self.pile.len();
        self.parameters()?;
        let uses_at = self.pile.len();
        let result = if self.eat(T::Arrow) { Some(self.full_type()?) } else { None };
        self.uses()?;
        let where_at = self.pile.len();
        self.constraints()?;
        if self.kind == T::Uses {
            self.blame("`uses` before `where`")?;
            self.uses()?;
        }
        let end = self.pile.len();
        let guard = if self.eat(T::If) { Some(self.expr()?) } else { None };
        let body = if self.eat(T::Eq) { Some(self.body()?) } else { None };
        let span = self.span_from(start);
        let plain = parameters_at == mark && end == uses_at && guard.is_none();
        let made = if plain {
            let parameters = self.pile.above(mark);
            self.tree.alloc(span, node::Function { name, parameters, result, body })
        } else {
            let (generics, _) = self.pile.split(mark, parameters_at);
            let (parameters, _) = self.pile.split(parameters_at, uses_at);
            let (capabilities, _) = self.pile.split(uses_at, where_at);
            let constraints = self.pile.above(where_at);
            let full =
                node::FunctionFull { name, generics, parameters, result, capabilities, constraints, guard, body };
            self.tree.alloc(span, full)
        };
        self.drop_pile(mark, made)
    }

    /// `tests @target … () -> void = body`, after the name.
    fn test(&mut self, start: u32, name: Name) -> Made {
        let mark = self.pile.len();
        while self.eat(T::Tests) {
            let from = self.start();
            let target = if self.kind == T::Underscore {
                self.leaf(node::TestFree {})?
            } else {
                self.expect(T::At)?;
                let name = self.name()?;
                self.make(from, node::TestTarget { name })?
            };
            self.pile.push(target)?;
        }
        let second = self.pile.len();
        self.parameters()?;
        let result = if self.eat(T::Arrow) { Some(self.full_type()?) } else { None };
        self.expect(T::Eq)?;
        let body = self.body()?;
        let span = self.span_from(start);
        let (targets, parameters) = self.pile.split(mark, second);
        let made = self.tree.alloc(span, node::Test { name, targets, parameters, result, body });
        self.drop_pile(mark, made)
    }

    /// `(…)` after the name of a function, each parameter put on the pile.
    pub(super) fn parameters(&mut self) -> Result<(), Full> {
        if self.expect(T::LParen)? {
            self.list(T::RParen, Self::parameter)?;
        }
        Ok(())
    }

    fn parameter(&mut self) -> Made {
        let start = self.start();
        if self.kind == T::SelfValue {
            return self.leaf(node::ParamSelf {});
        }
        if self.kind == T::Ellipsis {
            return self.leaf(node::ParamRest {});
        }
        if self.kind.is_name() && self.peek(1) == T::Colon {
            let token = self.at;
            let name = self.name()?;
            self.bump();
            let annotation = self.parameter_type()?;
            if self.kind != T::Eq {
                return self.make(start, node::Param { name, annotation });
            }
            self.bump();
            let default = Some(self.expr()?);
            let place = Span::new(self.starts[token], self.ends[token]);
            let pattern = self.tree.alloc(place, node::PatIdent { name })?;
            return self.make(start, node::ParamFull { pattern, annotation: Some(annotation), default });
        }
        let pattern = self.pattern()?;
        let annotation = if self.eat(T::Colon) { Some(self.parameter_type()?) } else { None };
        let default = if self.eat(T::Eq) { Some(self.expr()?) } else { None };
        if annotation.is_none() && default.is_none() {
            return Ok(pattern);
        }
        self.make(start, node::ParamFull { pattern, annotation, default })
    }

    fn parameter_type(&mut self) -> Made {
        let start = self.start();
        if self.eat(T::Ellipsis) {
            let element = self.full_type()?;
            return self.make(start, node::TypeVariadic { element });
        }
        self.full_type()
    }

    /// `<T: A, $N: int>`, each put on the pile; nothing if there is no `<`.
    pub(super) fn generics(&mut self) -> Result<(), Full> {
        if self.eat(T::Less) {
            self.list(T::Greater, Self::generic)?;
        }
        Ok(())
    }

    fn generic(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        if self.eat(T::Dollar) {
            let name = self.name()?;
            let annotation = if self.eat(T::Colon) { Some(self.simple_type()?) } else { None };
            let default = if self.eat(T::Eq) { Some(self.constant()?) } else { None };
            return self.make(start, node::GenericConst { name, annotation, default });
        }
        if !self.kind.is_name() {
            return self.missing("a type parameter");
        }
        let name = self.name()?;
        if self.eat(T::Colon) {
            self.bounds()?;
        }
        let default = if self.eat(T::Eq) { Some(self.full_type()?) } else { None };
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Generic { name, bounds: self.pile.above(mark), default });
        self.drop_pile(mark, made)
    }

    /// `uses A, B`, each put on the pile.
    fn uses(&mut self) -> Result<(), Full> {
        if self.eat(T::Uses) {
            self.paths()?;
        }
        Ok(())
    }

    /// `A, B`, each put on the pile.
    pub(super) fn paths(&mut self) -> Result<(), Full> {
        loop {
            let path = self.path()?;
            self.pile.push(path)?;
            if !(self.kind == T::Comma && self.peek(1).is_name()) {
                return Ok(());
            }
            self.bump();
        }
    }

    /// `where T: A + B, N > 0`, each put on the pile.
    pub(super) fn constraints(&mut self) -> Result<(), Full> {
        while self.eat(T::Where) {
            loop {
                let made = self.constraint()?;
                self.pile.push(made)?;
                if !self.eat(T::Comma) {
                    break;
                }
            }
        }
        Ok(())
    }

    fn constraint(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        let mut ahead = 1;
        while self.peek(ahead) == T::Dot {
            ahead += 2;
        }
        if (self.kind.is_name() || self.kind == T::SelfType) && self.peek(ahead) == T::Colon {
            let target = self.simple_type()?;
            self.bump();
            self.bounds()?;
            let span = self.span_from(start);
            let made = self.tree.alloc(span, node::WhereBound { target, bounds: self.pile.above(mark) });
            return self.drop_pile(mark, made);
        }
        let outside = core::mem::replace(&mut self.no_struct, true);
        let condition = self.expr()?;
        self.no_struct = outside;
        self.make(start, node::WhereConst { condition })
    }
}
