//! What stands in brackets: lists, maps, tuples; and lambdas, whose parameters look like tuples at first.

use super::*;

impl Parser<'_> {
    pub(super) fn list_literal(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mark = self.list(T::RBracket, Self::element)?;
        let span = self.span_from(start);
        let elements = self.pile.above(mark);
        let made = match (elements.len(), elements.get(0), elements.get(1)) {
            (0, ..) => self.tree.alloc(span, node::ListEmpty {}),
            (1, Some(element), _) => self.tree.alloc(span, node::ListOne { element }),
            (2, Some(first), Some(second)) => self.tree.alloc(span, node::ListTwo { first, second }),
            _ => self.tree.alloc(span, node::ListMany { elements }),
        };
        self.drop_pile(mark, made)
    }

    pub(super) fn map_literal(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mark = self.list(T::RBrace, Self::map_entry)?;
        let span = self.span_from(start);
        let entries = self.pile.above(mark);
        let made = match (entries.len(), entries.get(0), entries.get(1)) {
            (0, ..) => self.tree.alloc(span, node::MapEmpty {}),
            (1, Some(entry), _) => self.tree.alloc(span, node::MapOne { entry }),
            (2, Some(first), Some(second)) => self.tree.alloc(span, node::MapTwo { first, second }),
            _ => self.tree.alloc(span, node::MapMany { entries }),
        };
        self.drop_pile(mark, made)
    }

    /// `key: value` or `...map`.
    fn map_entry(&mut self) -> Made {
        let start = self.start();
        if self.kind == T::Ellipsis {
            return self.element();
        }
        let key = if self.kind.is_member() && self.peek(1) == T::Colon {
            let name = self.member_name()?;
            self.make(start, node::Ident { name })?
        } else if self.kind == T::LBracket {
            self.bump();
            let key = self.bracketed(T::RBracket, Self::expr)?;
            self.make(start, node::ComputedKey { key })?
        } else {
            self.expr()?
        };
        self.expect(T::Colon)?;
        let value = self.expr()?;
        self.make(start, node::MapEntry { key, value })
    }

    /// What stands in parentheses: nothing, an expression, a tuple, or the parameters of a lambda.
    pub(super) fn paren(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let mark = self.list(T::RParen, Self::paren_element)?;
        let comma = self.at >= 2 && self.kinds[self.at - 2] == T::Comma;
        let elements = self.pile.above(mark);
        let typed = elements.iter().any(|id| self.tree.kind(id) == Kind::Param);
        if self.kind == T::Arrow {
            return self.lambda_after_paren(start, mark, typed);
        }
        let parameter = |id: &NodeId| matches!(self.tree.kind(*id), Kind::Param | Kind::PatWildcard);
        if elements.iter().any(|id| parameter(&id)) {
            self.blame("`->`")?;
        }
        let span = self.span_from(start);
        let elements = self.pile.above(mark);
        let made = match (elements.len(), elements.get(0), elements.get(1)) {
            (0, ..) => self.tree.alloc(span, node::Unit {}),
            (1, Some(inner), _) if !comma => self.tree.alloc(span, node::Paren { inner }),
            (2, Some(first), Some(second)) => self.tree.alloc(span, node::TupleTwo { first, second }),
            _ => self.tree.alloc(span, node::TupleMany { elements }),
        };
        self.drop_pile(mark, made)
    }

    /// An expression, or `name: Type` in the parameters of a lambda.
    fn paren_element(&mut self) -> Made {
        if self.kind.is_name() && self.peek(1) == T::Colon {
            let start = self.start();
            let name = self.name()?;
            self.bump();
            let annotation = self.full_type()?;
            return self.make(start, node::Param { name, annotation });
        }
        if self.kind == T::Underscore && self.peek(1) != T::Arrow {
            return self.leaf(node::PatWildcard {});
        }
        self.expr()
    }

    fn lambda_after_paren(&mut self, start: u32, mark: usize, typed: bool) -> Made {
        let mut place = 0;
        while let Some(id) = self.pile.above(mark).get(place) {
            place += 1;
            self.become_parameter(id)?;
        }
        self.bump();
        let empty = self.pile.len() == mark;
        if typed || empty {
            let before = self.checkpoint();
            self.trying = true;
            let result = self.full_type()?;
            self.trying = false;
            if self.faults == before.faults && self.kind == T::Eq {
                self.bump();
                let body = self.body()?;
                let span = self.span_from(start);
                let parameters = self.pile.above(mark);
                let made = self.tree.alloc(span, node::LambdaTyped { parameters, result, body });
                return self.drop_pile(mark, made);
            }
            self.rollback(before);
        }
        let body = self.body()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Lambda { parameters: self.pile.above(mark), body });
        self.drop_pile(mark, made)
    }

    /// What was read as an expression turns out to be a parameter.
    fn become_parameter(&mut self, id: NodeId) -> Result<(), Full> {
        match self.tree.kind(id) {
            Kind::Param | Kind::PatWildcard | Kind::Error => {}
            Kind::Ident => {
                self.tree.retag(id, Kind::PatIdent);
            }
            _ => self.complain(self.tree.span(id), "a parameter of a lambda is a name")?,
        }
        Ok(())
    }

    /// `name -> body`.
    pub(super) fn lambda(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        let parameter = if self.kind == T::Underscore {
            self.leaf(node::PatWildcard {})?
        } else {
            let name = self.name()?;
            self.make(start, node::PatIdent { name })?
        };
        self.pile.push(parameter)?;
        self.bump();
        let body = self.body()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Lambda { parameters: self.pile.above(mark), body });
        self.drop_pile(mark, made)
    }
}
