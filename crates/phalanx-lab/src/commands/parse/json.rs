//! Programs as JSON, written as they are walked.
//!
//! The nodes of a program are a flat list, in the order in which they were made. Children are numbers of nodes: trees may be
//! deeper than readers of JSON allow. Keys are sorted. Nothing is kept of a program that was written but its figures.

use super::{Figures, name_of, parse_one};
use phalanx_syntax::ori::Ast;
use phalanx_syntax::{Kind as _, Lines, NodeId, SyntaxError, Texts as _, Value};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// All programs. They are read while the document is written, and can be written once.
pub(super) struct Document<'a, F> {
    files: &'a [PathBuf],
    only_figures: bool,
    /// Receives the errors of a program.
    report: F,
    total: RefCell<Figures>,
    failed: Cell<usize>,
}

impl<'a, F: Fn(&str)> Document<'a, F> {
    pub(super) fn new(files: &'a [PathBuf], only_figures: bool, report: F) -> Self {
        Document { files, only_figures, report, total: RefCell::default(), failed: Cell::new(0) }
    }

    /// Returns how many programs had errors.
    pub(super) fn failed(&self) -> usize {
        self.failed.get()
    }
}

/// Writes a document, indented, and the end of a line.
pub(super) fn write<F: Fn(&str)>(document: &Document<'_, F>, writer: impl Write) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    serde_json::to_writer_pretty(&mut writer, document)?;
    writer.write_all(b"\n")?;
    writer.flush()
}

impl<F: Fn(&str)> Serialize for Document<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("programs", &Programs(self))?;
        map.serialize_entry("total", &*self.total.borrow())?;
        map.end()
    }
}

struct Programs<'a, F>(&'a Document<'a, F>);

impl<F: Fn(&str)> Serialize for Programs<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Document { files, only_figures, report, total, failed } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        for file in *files {
            let name = name_of(file);
            let (errors, written) = parse_one(file, |ast, lines, figures| {
                total.borrow_mut().add(figures);
                let nodes = (!only_figures).then_some(Nodes(ast));
                list.serialize_element(&Program { errors: Errors(ast, lines), figures, file: &name, nodes })
            });
            report(&errors);
            failed.set(failed.get() + usize::from(!errors.is_empty()));
            written.transpose()?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Program<'a> {
    errors: Errors<'a>,
    figures: &'a Figures,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Nodes<'a>>,
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(8))?;
        map.serialize_entry("bytes", &self.bytes)?;
        map.serialize_entry("bytes_per_node", &self.per_node())?;
        map.serialize_entry("extra_words", &self.extra)?;
        map.serialize_entry("nodes", &self.nodes)?;
        map.serialize_entry("seconds", &self.seconds)?;
        map.serialize_entry("tokens", &self.tokens)?;
        map.serialize_entry("tree_bytes", &self.tree)?;
        map.serialize_entry("tree_bytes_per_source_byte", &self.per_byte())?;
        map.end()
    }
}

struct Errors<'a>(&'a Ast<'a>, &'a Lines);

impl Serialize for Errors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One {
            column: u32,
            end: u32,
            line: u32,
            message: String,
            start: u32,
        }
        let Errors(ast, lines) = self;
        serializer.collect_seq(ast.errors.iter().map(|error: &SyntaxError| {
            let place = lines.place(ast.source, error.span.start);
            let (start, end) = (error.span.start, error.span.end);
            One { column: place.column, end, line: place.line, message: error.to_string(), start }
        }))
    }
}

struct Nodes<'a>(&'a Ast<'a>);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.tree.ids().map(|id| Node(self.0, id)))
    }
}

struct Node<'a>(&'a Ast<'a>, NodeId);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Node(ast, id) = *self;
        let span = ast.tree.span(id);
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("end", &span.end)?;
        map.serialize_entry("fields", &Fields(ast, id))?;
        map.serialize_entry("kind", ast.tree.kind(id).name())?;
        map.serialize_entry("start", &span.start)?;
        map.end()
    }
}

struct Fields<'a>(&'a Ast<'a>, NodeId);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Fields(ast, id) = *self;
        let mut fields: Vec<_> = ast.tree.fields(id).map(|(info, value)| (info.name, value.ok())).collect();
        fields.sort_by_key(|(name, _)| *name);
        serializer.collect_map(fields.iter().map(|(name, value)| (name, FieldValue(ast, value.as_ref()))))
    }
}

/// A value, or null if the tree is malformed or the value is of a kind that is not known.
struct FieldValue<'a>(&'a Ast<'a>, Option<&'a Value<'a>>);

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FieldValue(ast, value) = self;
        let Some(value) = value else { return serializer.serialize_none() };
        match value {
            Value::Node(node) => node.map(|node| node.index()).serialize(serializer),
            Value::List(list) => serializer.collect_seq(list.iter().map(|node| node.index())),
            Value::Pairs(pairs) => {
                serializer.collect_seq(pairs.iter().map(|(first, second)| (first.index(), second.map(|it| it.index()))))
            }
            Value::Name(text) => text.map(|text| ast.name(text)).serialize(serializer),
            Value::Token(token) => token.index().serialize(serializer),
            Value::Word(word) => word.serialize(serializer),
            Value::Char(char) => char.serialize(serializer),
            Value::Wide(wide) => wide.serialize(serializer),
            Value::Real(real) => real.serialize(serializer),
            _ => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests;
