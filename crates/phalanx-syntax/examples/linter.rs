//! A language in one table, its parser, and a linter: `cargo run -p phalanx-syntax --example linter [file]`.
//!
//! A program is lines such as `area = width * 2`. The linter finds names that are not defined or not used, divisions by zero,
//! and terms without effect.

use phalanx_syntax::{Full, Lines, List, Name, Names, NodeId, Pile, Span, SyntaxError, Tree, kinds};

kinds! {
    /// The nodes of the language. Everything that a tree can do follows from this table.
    pub enum Kind in node as View {
        /// A node without content yet.
        Hole {},
        /// What could not be read.
        Error {},
        /// `123`
        Number { value: u64 },
        /// `width`
        Use { name: Name },
        /// `a + b`
        Add { left: NodeId, right: NodeId },
        /// `a - b`
        Sub { left: NodeId, right: NodeId },
        /// `a * b`
        Mul { left: NodeId, right: NodeId },
        /// `a / b`
        Div { left: NodeId, right: NodeId },
        /// `name = value`
        Let { name: Name, value: NodeId },
        /// All lines.
        Program<'t> { lines: List<'t> },
    }
}

struct Parser<'s> {
    source: &'s [u8],
    at: usize,
    tree: Tree<Kind>,
    names: Names,
    errors: Vec<SyntaxError>,
}

impl Parser<'_> {
    fn span(&self, from: usize) -> Span {
        Span::new(from as u32, self.at as u32)
    }

    /// Skips spaces, and returns the next byte. A line ends like the source does.
    fn peek(&mut self) -> u8 {
        while self.source.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.source.get(self.at).copied().filter(|byte| *byte != b'\n').unwrap_or(0)
    }

    /// Reads what consists of such bytes.
    fn take(&mut self, is_part: impl Fn(u8) -> bool) -> &str {
        let from = self.at;
        while self.source.get(self.at).is_some_and(|byte| is_part(*byte)) {
            self.at += 1;
        }
        std::str::from_utf8(&self.source[from..self.at]).unwrap_or_default()
    }

    fn name(&mut self) -> Result<Name, Full> {
        let text = self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_').to_string();
        self.names.intern(&text)
    }

    fn term(&mut self) -> Result<NodeId, Full> {
        let (next, from) = (self.peek(), self.at);
        if next.is_ascii_digit() {
            let value = self.take(|byte| byte.is_ascii_digit()).parse().unwrap_or(u64::MAX);
            return self.tree.alloc(self.span(from), node::Number { value });
        }
        if next.is_ascii_alphabetic() {
            let name = self.name()?;
            return self.tree.alloc(self.span(from), node::Use { name });
        }
        self.errors.push(SyntaxError::plain(Span::new(from as u32, from as u32 + 1), "a number or a name is expected"));
        self.take(|byte| byte != b'\n');
        self.tree.alloc(self.span(from), node::Error {})
    }

    /// Reads terms with operators that bind at least as strongly as `level`.
    fn expression(&mut self, level: u8) -> Result<NodeId, Full> {
        let mut left = self.term()?;
        loop {
            let operator = self.peek();
            let binds = match operator {
                b'+' | b'-' => 1,
                b'*' | b'/' => 2,
                _ => return Ok(left),
            };
            if binds < level {
                return Ok(left);
            }
            self.at += 1;
            let right = self.expression(binds + 1)?;
            let span = Span::new(self.tree.span(left).start, self.tree.span(right).end);
            left = match operator {
                b'+' => self.tree.alloc(span, node::Add { left, right })?,
                b'-' => self.tree.alloc(span, node::Sub { left, right })?,
                b'*' => self.tree.alloc(span, node::Mul { left, right })?,
                _ => self.tree.alloc(span, node::Div { left, right })?,
            };
        }
    }

    fn program(&mut self) -> Result<NodeId, Full> {
        let mut lines = Pile::new();
        while self.at < self.source.len() {
            if self.peek() != 0 {
                let from = self.at;
                let name = self.name()?;
                if self.peek() != b'=' {
                    self.errors.push(SyntaxError::plain(self.span(from), "a line is `name = value`"));
                }
                self.at += 1;
                let value = self.expression(1)?;
                lines.push(self.tree.alloc(self.span(from), node::Let { name, value })?)?;
            }
            self.take(|byte| byte != b'\n');
            self.at += 1;
        }
        self.tree.alloc(Span::new(0, self.source.len() as u32), node::Program { lines: lines.list() })
    }
}

/// The linter: one pass over the nodes, in the order of the source.
fn lint(tree: &Tree<Kind>, root: NodeId) -> Vec<SyntaxError> {
    let is_number = |id, number| matches!(View::of(tree, id), Ok(View::Number(n)) if n.value == number);
    let (mut findings, mut defined, mut unused) = (Vec::new(), Vec::new(), Vec::new());
    for id in tree.postorder(root) {
        let mut find = |message| findings.push(SyntaxError::plain(tree.span(id), message));
        match View::of(tree, id) {
            Ok(View::Use(used)) => {
                unused.retain(|(name, _)| *name != used.name);
                if !defined.contains(&used.name) {
                    find("this name is not defined before");
                }
            }
            Ok(View::Let(line)) => {
                defined.push(line.name);
                unused.push((line.name, tree.span(id)));
            }
            Ok(View::Div(div)) if is_number(div.right, 0) => find("a division by zero"),
            Ok(View::Mul(mul)) if is_number(mul.left, 0) || is_number(mul.right, 0) => find("this is always zero"),
            Ok(View::Add(add)) if is_number(add.left, 0) || is_number(add.right, 0) => find("zero adds nothing"),
            Ok(View::Sub(sub)) if is_number(sub.right, 0) => find("zero takes nothing away"),
            _ => {}
        }
    }
    // The last line is the result of the program.
    unused.pop();
    findings.extend(unused.into_iter().map(|(_, span)| SyntaxError::plain(span, "this name is never used")));
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

const PROGRAM: &str =
    "width = 12\nheight = width + 0\ndepth = 7\narea = width * heigth\nprice = area / 0 * 2\ntotal = price - \n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (file, source) = match std::env::args().nth(1) {
        Some(path) => (path.clone(), std::fs::read(path)?),
        None => ("example".to_string(), PROGRAM.into()),
    };
    let mut parser = Parser { source: &source, at: 0, tree: Tree::new(), names: Names::new(), errors: Vec::new() };
    let root = parser.program()?;
    parser.tree.validate()?;
    let findings = lint(&parser.tree, root);
    let lines = Lines::new(&source);
    for finding in parser.errors.iter().chain(&findings) {
        println!("{}", finding.show(&file, &source, &lines));
    }
    println!("{} nodes in {} bytes, {} findings", parser.tree.len(), parser.tree.bytes(), findings.len());
    Ok(())
}
