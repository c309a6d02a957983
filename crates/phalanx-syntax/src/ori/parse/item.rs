//! Items: what a file consists of.

use super::*;

impl Parser<'_> {
    /// A whole file.
    pub(super) fn module(&mut self) -> Result<(), Full> {
        let root = self.tree.reserve()?;
        let mark = self.pile.len();
        if self.kind == T::HashBang {
            let made = self.file_attribute()?;
            self.pile.push(made)?;
        }
        let mut started = false;
        while self.kind != T::Eof {
            let before = self.at;
            if matches!(self.kind, T::Use | T::Extension) || self.kind == T::Pub && self.peek(1) == T::Use {
                if started {
                    let span = Span::new(self.start(), self.ends[self.at]);
                    self.complain(span, "imports come before everything else")?;
                }
            } else {
                started = true;
            }
            let item = self.item()?;
            self.pile.push(item)?;
            if self.at == before || !self.at_item() {
                self.skip_to_item(before)?;
            }
        }
        let end = self.source.len() as u32;
        self.tree.set(root, Span::new(0, end), node::Module { items: self.pile.above(mark) })?;
        self.pile.truncate(mark);
        if !self.errors.is_empty() {
            self.settle()?;
        }
        Ok(())
    }

    /// Whether an item or the end comes next.
    fn at_item(&self) -> bool {
        let early = matches!(self.kind, T::At | T::Hash | T::Dollar | T::Let | T::Type | T::Trait | T::Impl | T::Def);
        early || matches!(self.kind, T::Extend | T::Extension | T::Use | T::Pub | T::Extern | T::Capset | T::Eof)
    }

    /// Passes over everything up to the next item, as an error node.
    #[cold]
    fn skip_to_item(&mut self, before: usize) -> Result<(), Full> {
        self.blame("an item")?;
        let start = self.start();
        if self.at == before {
            self.bump();
        }
        while !self.at_item() || self.kind != T::Eof && !self.first_of_line() {
            self.bump();
        }
        let made = self.make(start, node::Error {})?;
        self.pile.push(made)
    }

    /// Whether nothing but space stands before the next token in its line.
    fn first_of_line(&self) -> bool {
        let before = &self.source[..self.start() as usize];
        let last = before.iter().rfind(|&&byte| byte != b' ' && byte != b'\t');
        last.is_none_or(|&byte| byte == b'\n')
    }

    /// Moves error nodes of no length, and what consists of nothing else, to where their parents are.
    fn settle(&mut self) -> Result<(), Full> {
        // The root was made first; every other node after its children. So each parent is met before its children.
        let root = core::iter::once(NodeId::ROOT);
        for id in root.chain(self.tree.ids().skip(1).rev()) {
            let span = self.tree.span(id);
            let mut from = span.start;
            self.marks.clear();
            for child in self.tree.children(id) {
                self.marks.try_reserve(1).map_err(|_| Full::Memory)?;
                self.marks.push(child.word());
            }
            for child in self.marks.iter().copied().filter_map(NodeId::from_word) {
                let inner = self.tree.span(child);
                let start = inner.start.clamp(from, span.end.max(from));
                let end = inner.end.clamp(start, span.end.max(start));
                self.tree.set_span(child, Span::new(start, end));
                from = end;
            }
        }
        Ok(())
    }

    /// An item with its attributes.
    pub(super) fn item(&mut self) -> Made {
        let start = self.start();
        if self.kind != T::Hash {
            return self.visible_item();
        }
        let mark = self.pile.len();
        while self.kind == T::Hash {
            self.attribute()?;
        }
        let item = self.visible_item()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Attributed { attributes: self.pile.above(mark), item });
        self.drop_pile(mark, made)
    }

    fn visible_item(&mut self) -> Made {
        let start = self.start();
        if self.eat(T::Pub) {
            let item = self.bare_item()?;
            return self.make(start, node::Public { item });
        }
        self.bare_item()
    }

    fn bare_item(&mut self) -> Made {
        match self.kind {
            T::At => self.bodied(Self::function),
            T::Type => self.type_def(),
            T::Trait => self.trait_def(),
            T::Impl => self.impl_def(),
            T::Def => self.impl_default(),
            T::Extend => self.extend_def(),
            T::Use => self.import(),
            T::Extension => self.extension_import(),
            T::Extern => self.extern_block(),
            T::Capset => self.capset(),
            T::Dollar | T::Let => self.config(),
            _ => self.missing("an item"),
        }
    }

    /// A function that must have a body.
    fn bodied(&mut self, function: fn(&mut Self) -> Made) -> Made {
        let made = function(self)?;
        let bare = match self.tree.kind(made) {
            Kind::Function => self.tree.payload::<node::Function>(made).is_ok_and(|it| it.body.is_none()),
            Kind::FunctionFull => self.tree.payload::<node::FunctionFull>(made).is_ok_and(|it| it.body.is_none()),
            _ => false,
        };
        if bare {
            self.blame("`=` and a body")?;
        }
        Ok(made)
    }

    // Attributes.

    /// `#name(…)`, `#[name(…), …]`: each put on the pile.
    fn attribute(&mut self) -> Result<(), Full> {
        let start = self.start();
        self.bump();
        if self.kind != T::LBracket {
            let made = self.attribute_body(start, false)?;
            return self.pile.push(made);
        }
        self.bump();
        let mark = self.pile.len();
        self.list(T::RBracket, |parser| {
            let start = parser.start();
            parser.attribute_body(start, false)
        })?;
        // A single one has the brackets for its own.
        let only = self.pile.above(mark);
        if let (1, Some(id)) = (only.len(), only.get(0)) {
            let span = self.span_from(start);
            self.tree.set_span(id, span);
        }
        Ok(())
    }

    fn attribute_body(&mut self, start: u32, file: bool) -> Made {
        let name = self.member_name()?;
        let mark = self.pile.len();
        if self.eat(T::LParen) {
            self.list(T::RParen, Self::argument)?;
        }
        let span = self.span_from(start);
        let arguments = self.pile.above(mark);
        let made = match file {
            true => self.tree.alloc(span, node::FileAttribute { name, arguments }),
            false => self.tree.alloc(span, node::Attribute { name, arguments }),
        };
        self.drop_pile(mark, made)
    }

    fn file_attribute(&mut self) -> Made {
        let start = self.start();
        self.bump();
        self.attribute_body(start, true)
    }

    // Imports.

    fn import_path(&mut self) -> Made {
        if self.kind == T::String { self.string() } else { self.path() }
    }

    fn import(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let path = self.import_path()?;
        if self.eat(T::LBrace) {
            let mark = self.list(T::RBrace, Self::import_item)?;
            let span = self.span_from(start);
            let made = self.tree.alloc(span, node::ImportItems { path, items: self.pile.above(mark) });
            return self.drop_pile(mark, made);
        }
        let alias = self.alias()?;
        self.make(start, node::Import { path, alias })
    }

    fn alias(&mut self) -> Result<Option<Name>, Full> {
        if self.eat(T::As) { self.name().map(Some) } else { Ok(None) }
    }

    fn import_item(&mut self) -> Made {
        let start = self.start();
        if self.eat(T::Dollar) {
            let name = self.name()?;
            return self.make(start, node::ImportConst { name });
        }
        let private = self.eat(T::ColonColon);
        let name = self.name()?;
        if self.kind == T::Without {
            self.bump();
            self.expect(T::Def)?;
            let alias = self.alias()?;
            return self.make(start, node::ImportWithout { name, alias });
        }
        let alias = self.alias()?;
        match private {
            true => self.make(start, node::ImportPrivate { name, alias }),
            false => self.make(start, node::ImportItem { name, alias }),
        }
    }

    fn extension_import(&mut self) -> Made {
        let start = self.start();
        self.bump();
        let path = self.import_path()?;
        self.expect(T::LBrace)?;
        let mark = self.list(T::RBrace, |parser| {
            let start = parser.start();
            let target = parser.name()?;
            parser.expect(T::Dot)?;
            let method = parser.member_name()?;
            parser.make(start, node::ExtensionItem { target, method })
        })?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::ExtensionImport { path, items: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    // Constants.

    /// `$name = value`, `let $name: Type = value`, `$name (parameters) -> Type = body`.
    fn config(&mut self) -> Made {
        let start = self.start();
        self.eat(T::Let);
        self.expect(T::Dollar)?;
        let name = self.name()?;
        if self.kind == T::LParen {
            let mark = self.pile.len();
            self.parameters()?;
            let result = if self.eat(T::Arrow) { Some(self.full_type()?) } else { None };
            self.expect(T::Eq)?;
            let body = self.body()?;
            let span = self.span_from(start);
            let parameters = self.pile.above(mark);
            let made = self.tree.alloc(span, node::ConfigFunction { name, parameters, result, body });
            return self.drop_pile(mark, made);
        }
        let annotation = if self.eat(T::Colon) { Some(self.full_type()?) } else { None };
        self.expect(T::Eq)?;
        let value = self.expr()?;
        match annotation {
            Some(annotation) => self.make(start, node::ConfigTyped { name, annotation, value }),
            None => self.make(start, node::ConfigDef { name, value }),
        }
    }

    // Types.

    fn type_def(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let name = self.name()?;
        self.generics()?;
        let second = self.pile.len();
        self.constraints()?;
        self.expect(T::Eq)?;
        let body = self.type_body()?;
        let span = self.span_from(start);
        let (generics, constraints) = self.pile.split(mark, second);
        let made = match generics.is_empty() && constraints.is_empty() {
            true => self.tree.alloc(span, node::TypeDef { name, body }),
            false => self.tree.alloc(span, node::TypeDefFull { name, generics, constraints, body }),
        };
        self.drop_pile(mark, made)
    }

    fn type_body(&mut self) -> Made {
        let start = self.start();
        match self.kind {
            T::LBrace => {
                self.bump();
                let mark = self.list(T::RBrace, Self::field_def)?;
                let span = self.span_from(start);
                let made = self.tree.alloc(span, node::StructBody { fields: self.pile.above(mark) });
                self.drop_pile(mark, made)
            }
            T::Or => self.sum_body(),
            kind if kind.is_name() && matches!(self.peek(1), T::Or | T::LParen) => self.sum_body(),
            _ => self.full_type(),
        }
    }

    fn sum_body(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.eat(T::Or);
        loop {
            let (from, fields) = (self.start(), self.pile.len());
            let name = self.name()?;
            if self.eat(T::LParen) {
                self.list(T::RParen, Self::field_def)?;
            }
            let span = self.span_from(from);
            let made = self.tree.alloc(span, node::VariantDef { name, fields: self.pile.above(fields) });
            let made = self.drop_pile(fields, made)?;
            self.pile.push(made)?;
            if !self.eat(T::Or) {
                break;
            }
        }
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::SumBody { variants: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn field_def(&mut self) -> Made {
        let start = self.start();
        if !self.kind.is_name() {
            return self.missing("a field");
        }
        let name = self.name()?;
        self.expect(T::Colon)?;
        let annotation = self.full_type()?;
        self.make(start, node::FieldDef { name, annotation })
    }

    // Traits and implementations.

    /// `{ … }` with functions and types in it, each put on the pile.
    fn members(&mut self, bodies: bool) -> Result<(), Full> {
        if !self.expect(T::LBrace)? {
            return Ok(());
        }
        while !matches!(self.kind, T::RBrace | T::Eof) {
            let before = self.at;
            let start = self.start();
            let mark = self.pile.len();
            while self.kind == T::Hash {
                self.attribute()?;
            }
            let from = self.start();
            let public = self.eat(T::Pub);
            let mut made = match self.kind {
                T::At if bodies => self.bodied(Self::function)?,
                T::At => self.function()?,
                T::Type => self.assoc_type()?,
                _ => self.missing("a function, a type or `}`")?,
            };
            if public {
                made = self.make(from, node::Public { item: made })?;
            }
            if self.pile.len() > mark {
                let span = self.span_from(start);
                let wrapped = node::Attributed { attributes: self.pile.above(mark), item: made };
                let wrapped = self.tree.alloc(span, wrapped);
                made = self.drop_pile(mark, wrapped)?;
            }
            self.pile.push(made)?;
            if !matches!(self.kind, T::At | T::Type | T::Hash | T::Pub | T::RBrace | T::Eof) || self.at == before {
                self.blame("a function, a type or `}`")?;
                if self.starts_item() && self.kind != T::At {
                    break;
                }
                let from = self.start();
                self.bump();
                while !matches!(self.kind, T::At | T::Type | T::RBrace | T::Eof) && !self.starts_item() {
                    self.bump();
                }
                let made = self.make(from, node::Error {})?;
                self.pile.push(made)?;
            }
        }
        self.expect(T::RBrace)?;
        Ok(())
    }

    fn assoc_type(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let name = self.name()?;
        if self.eat(T::Colon) {
            self.bounds()?;
        }
        let default = if self.eat(T::Eq) { Some(self.full_type()?) } else { None };
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::AssocType { name, bounds: self.pile.above(mark), default });
        self.drop_pile(mark, made)
    }

    fn trait_def(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let name = self.name()?;
        self.generics()?;
        let bounds_at = self.pile.len();
        if self.eat(T::Colon) {
            self.bounds()?;
        }
        let items_at = self.pile.len();
        self.members(false)?;
        let span = self.span_from(start);
        let (generics, _) = self.pile.split(mark, bounds_at);
        let (bounds, items) = self.pile.split(bounds_at, items_at);
        let made = self.tree.alloc(span, node::TraitDef { name, generics, bounds, items });
        self.drop_pile(mark, made)
    }

    fn impl_def(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        self.generics()?;
        let where_at = self.pile.len();
        let first = self.full_type()?;
        let second = if self.eat(T::For) { Some(self.full_type()?) } else { None };
        self.constraints()?;
        let items_at = self.pile.len();
        self.members(true)?;
        let span = self.span_from(start);
        let (generics, _) = self.pile.split(mark, where_at);
        let (constraints, items) = self.pile.split(where_at, items_at);
        let made = match second {
            Some(target) => {
                self.tree.alloc(span, node::ImplTrait { generics, interface: first, target, constraints, items })
            }
            None => self.tree.alloc(span, node::ImplDef { generics, target: first, constraints, items }),
        };
        self.drop_pile(mark, made)
    }

    fn impl_default(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        self.expect(T::Impl)?;
        let interface = self.full_type()?;
        self.members(true)?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::ImplDefault { interface, items: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn extend_def(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        self.generics()?;
        let where_at = self.pile.len();
        let target = self.full_type()?;
        self.constraints()?;
        let items_at = self.pile.len();
        self.members(true)?;
        let span = self.span_from(start);
        let (generics, _) = self.pile.split(mark, where_at);
        let (constraints, items) = self.pile.split(where_at, items_at);
        let made = self.tree.alloc(span, node::ExtendDef { generics, target, constraints, items });
        self.drop_pile(mark, made)
    }

    // The foreign and the late.

    fn extern_block(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let abi = self.string_name()?;
        let library = if self.eat(T::From) { Some(self.string_name()?) } else { None };
        if self.expect(T::LBrace)? {
            while self.kind == T::At {
                let made = self.extern_function()?;
                self.pile.push(made)?;
            }
            if self.kind != T::RBrace {
                self.blame("a function or `}`")?;
                while !matches!(self.kind, T::RBrace | T::Eof) && !self.starts_item() {
                    self.bump();
                }
            }
            self.eat(T::RBrace);
        }
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Extern { abi, library, items: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn extern_function(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let name = self.name()?;
        self.parameters()?;
        let result = if self.eat(T::Arrow) { Some(self.full_type()?) } else { None };
        let symbol = if self.eat(T::As) { Some(self.string_name()?) } else { None };
        let span = self.span_from(start);
        let parameters = self.pile.above(mark);
        let made = self.tree.alloc(span, node::ExternFunction { name, parameters, result, symbol });
        self.drop_pile(mark, made)
    }

    fn capset(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        self.bump();
        let name = self.name()?;
        self.expect(T::Eq)?;
        self.paths()?;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Capset { name, capabilities: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }
}
