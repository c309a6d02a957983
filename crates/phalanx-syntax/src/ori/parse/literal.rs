//! Literals, templates and plain names.

use super::super::value;
use super::*;

impl Parser<'_> {
    pub(super) fn int(&mut self) -> Made {
        let token = self.at;
        let value = match value::int(self.bytes_of(token)) {
            Some(value) => value,
            None => {
                self.complain(Span::new(self.start(), self.ends[token]), "this integer has more than 64 bits")?;
                u64::MAX
            }
        };
        self.leaf(node::IntLit { value })
    }

    pub(super) fn float(&mut self) -> Made {
        let value = value::float(self.bytes_of(self.at));
        self.leaf(node::FloatLit { value })
    }

    /// A duration or a size, in its smallest unit.
    pub(super) fn quantity(&mut self) -> Made {
        let duration = self.kind == T::Duration;
        let value = match value::quantity(self.bytes_of(self.at)) {
            Some(value) => value,
            None => {
                let span = Span::new(self.start(), self.ends[self.at]);
                self.complain(span, "this is not a whole number of the smallest unit, or too large")?;
                0
            }
        };
        match duration {
            true => self.leaf(node::DurationLit { nanoseconds: value }),
            false => self.leaf(node::SizeLit { bytes: value }),
        }
    }

    pub(super) fn character(&mut self) -> Made {
        let text = core::str::from_utf8(self.bytes_of(self.at)).unwrap_or_default();
        match value::character(text) {
            Some(value) => self.leaf(node::CharLit { value }),
            None => {
                self.complain(Span::new(self.start(), self.ends[self.at]), "this escape is not known")?;
                self.leaf(node::Error {})
            }
        }
    }

    /// The text of the next token without its first and last byte, escapes resolved.
    fn cooked(&mut self, template: bool) -> Result<Name, Full> {
        let bytes = self.bytes_of(self.at);
        let start = self.start();
        // A literal that was not closed has no last quote.
        let open = bytes.len() < 2 || !matches!(bytes[bytes.len() - 1], b'"' | b'`' | b'{');
        let inner = bytes.get(1..bytes.len() - usize::from(!open)).unwrap_or_default();
        let Ok(raw) = core::str::from_utf8(inner) else {
            self.complain(Span::new(start, self.ends[self.at]), "this is not UTF-8")?;
            let place = inner.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            return self.names.intern(place);
        };
        let special = |byte: &u8| *byte == b'\\' || template && matches!(byte, b'{' | b'}');
        if !inner.iter().any(special) {
            return self.names.intern(raw);
        }
        self.text.clear();
        self.text.try_reserve(raw.len()).map_err(|_| Full::Memory)?;
        if let Some(at) = value::unescape(raw, template, &mut self.text) {
            let at = start + 1 + at as u32;
            self.complain(Span::new(at, at + 2), "this escape is not known")?;
        }
        self.names.intern(&self.text)
    }

    pub(super) fn string(&mut self) -> Made {
        let value = self.cooked(false)?;
        self.leaf(node::StringLit { value })
    }

    /// The text of a string where only its text matters; says so if there is none.
    pub(super) fn string_name(&mut self) -> Result<Name, Full> {
        if self.kind == T::String {
            let text = self.cooked(false)?;
            self.bump();
            return Ok(text);
        }
        self.blame("a string")?;
        self.names.intern("")
    }

    /// A piece of text in a template; none if it is empty.
    fn template_text(&mut self) -> Result<(), Full> {
        let start = self.start();
        let text = self.cooked(true)?;
        self.bump();
        if self.end() - start > 2 {
            // Only the text: the quote and the braces belong to the template.
            let span = Span::new(start + 1, self.end() - 1);
            let made = self.tree.alloc(span, node::TemplateText { text })?;
            self.pile.push(made)?;
        }
        Ok(())
    }

    pub(super) fn template(&mut self) -> Made {
        let (start, mark) = (self.start(), self.pile.len());
        let outside = (self.no_struct, self.no_bar);
        (self.no_struct, self.no_bar) = (false, false);
        let mut open = self.kind == T::TemplateHead;
        self.template_text()?;
        while open {
            let from = self.start();
            let value = self.expr()?;
            let part = if self.kind == T::TemplateFormat { self.format(from, value)? } else { value };
            self.pile.push(part)?;
            if !matches!(self.kind, T::TemplateMiddle | T::TemplateTail) {
                self.blame("`}`")?;
                self.skip_in_template();
            }
            open = self.kind == T::TemplateMiddle;
            if self.kind != T::Eof {
                self.template_text()?;
            }
        }
        (self.no_struct, self.no_bar) = outside;
        let span = self.span_from(start);
        let made = self.tree.alloc(span, node::Template { parts: self.pile.above(mark) });
        self.drop_pile(mark, made)
    }

    fn format(&mut self, from: u32, value: NodeId) -> Made {
        let bytes = self.bytes_of(self.at);
        let text = core::str::from_utf8(&bytes[1..]).unwrap_or("?");
        if !value::is_format(text) {
            self.complain(Span::new(self.start(), self.ends[self.at]), "this format is not known")?;
        }
        let format = self.names.intern(text)?;
        self.bump();
        self.make(from, node::TemplateFormat { value, format })
    }

    /// Passes over everything up to where the template goes on.
    fn skip_in_template(&mut self) {
        let mut open = 0u32;
        loop {
            match self.kind {
                T::Eof => return,
                T::TemplateHead => open += 1,
                T::TemplateMiddle if open == 0 => return,
                T::TemplateTail => match open.checked_sub(1) {
                    Some(less) => open = less,
                    None => return,
                },
                _ => {}
            }
            self.bump();
        }
    }

    /// A name in an expression.
    #[inline]
    pub(super) fn ident(&mut self) -> Made {
        let name = self.intern(self.at)?;
        match self.kind {
            T::Upper => self.leaf(node::Variant { name }),
            _ => self.leaf(node::Ident { name }),
        }
    }

    /// `a.b.c` where it can only be a path.
    pub(super) fn path(&mut self) -> Made {
        let start = self.start();
        if !self.kind.is_name() {
            return self.missing("a name");
        }
        let mut made = self.ident()?;
        while self.kind == T::Dot
            && self.peek(1).is_member()
            && !(self.peek(1) == T::Match && self.peek(2) == T::LParen)
        {
            self.bump();
            let name = self.member_name()?;
            made = self.make(start, node::QualifiedIdent { qualifier: made, name })?;
        }
        Ok(made)
    }
}
