//! The printer: formats a program with all its tokens and comments.
//!
//! The tokens are written in order, so nothing can be lost; the tree tells what they are where their kinds do not (a
//! minus with one operand or two, a bracket or a comparison), and where lines begin. Only tokens, comments and blank
//! lines decide about the layout, never the layout there was, so that printing twice changes nothing.

mod gap;
mod role;

use super::ast::Ast;
use super::token::TokenKind;
use crate::tree::Span;
use TokenKind as T;
use role::{FLOW, LINE, MEMBERS, OPERATOR, Roles};

/// The width that lines should not pass.
const WIDTH: usize = 100;
const INDENT: usize = 4;

/// Formats a program, with all its comments. The result parses to an equal program, and formatting it again changes nothing.
///
/// A program with errors is returned unchanged.
///
/// ```
/// use phalanx_syntax::ori::{parse, print};
///
/// let ast = parse(b"@f(x:int)->int=run( // why\nlet y=x*-2,y)")?;
/// assert_eq!(print(&ast), "\
/// @f (x: int) -> int = run( // why
///     let y = x * -2,
///     y
/// )
/// ");
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
pub fn print(ast: &Ast<'_>) -> String {
    if !ast.errors.is_empty() {
        return String::from_utf8_lossy(ast.source).into_owned();
    }
    let Ok(source) = core::str::from_utf8(ast.source) else {
        return String::from_utf8_lossy(ast.source).into_owned();
    };
    let units = units(ast, source);
    Printer { source, units: &units, out: String::with_capacity(source.len() + source.len() / 8), column: 0 }.run(ast)
}

/// A token, or a whole template.
#[derive(Clone, Copy, Debug)]
struct Unit {
    kind: TokenKind,
    role: u8,
    span: Span,
    /// Whether a space stands before it where a line does not begin.
    gap: bool,
    /// How many characters it has.
    width: usize,
    /// The unit that closes it, if it is a bracket; itself otherwise.
    close: usize,
    /// The end of the width of all units up to this one, if they stood in one line.
    total: usize,
    /// How many comments lie before it in the file.
    comments: usize,
}

fn units(ast: &Ast<'_>, source: &str) -> Vec<Unit> {
    let roles = Roles::of(ast);
    let mut units: Vec<Unit> = Vec::with_capacity(ast.tokens.len());
    let mut templates = 0usize;
    let mut comments = 0;
    for (index, (kind, span)) in ast.tokens.iter().enumerate() {
        let inside = templates > 0;
        match kind {
            T::TemplateHead => templates += 1,
            T::TemplateTail => templates = templates.saturating_sub(1),
            _ => {}
        }
        if inside {
            // A template is one unit, as it stands: line ends in it mean something.
            if let Some(template) = units.last_mut() {
                template.span.end = span.end;
            }
            continue;
        }
        let all = ast.tokens.comments();
        while all.get(comments).is_some_and(|comment| comment.start < span.start) {
            comments += 1;
        }
        let role = roles.of_token(index);
        units.push(Unit { kind, role, span, gap: false, width: 0, close: 0, total: 0, comments });
    }
    let mut open = Vec::new();
    let mut total = 0;
    for index in 0..units.len() {
        let span = units[index].span;
        let text = source.get(span.start as usize..span.end as usize).unwrap_or_default();
        units[index].width = text.chars().count();
        units[index].gap = index > 0 && gap::between(&units, index);
        total += units[index].width + usize::from(units[index].gap);
        units[index].total = total;
        units[index].close = index;
        match units[index].kind {
            T::LParen | T::LBracket | T::LBrace => open.push(index),
            T::RParen | T::RBracket | T::RBrace => {
                if let Some(opening) = open.pop() {
                    let opening: usize = opening;
                    units[opening].close = index;
                }
            }
            _ => {}
        }
    }
    units
}

struct Printer<'a> {
    source: &'a str,
    units: &'a [Unit],
    out: String,
    column: usize,
}

/// A bracket whose elements stand in lines of their own.
struct Broken {
    close: usize,
    /// Whether lines end at commas; otherwise where members begin.
    commas: bool,
    /// How many type arguments were open around it.
    angles: usize,
}

impl Printer<'_> {
    fn run(mut self, ast: &Ast<'_>) -> String {
        let comments = ast.tokens.comments();
        let mut broken: Vec<Broken> = Vec::new();
        let mut flat_until = 0;
        let mut line_due = false;
        // How many type arguments are open in the innermost group: their commas end no lines.
        let mut angles = 0usize;
        // The place in the source up to which everything is written.
        let mut done = 0;
        let mut written = 0;
        for index in 0..self.units.len() {
            let unit = self.units[index];
            if broken.last().is_some_and(|group| group.close == index) {
                line_due = true;
            }
            line_due |= unit.role & LINE != 0 || unit.kind == T::Eof;
            let closes = broken.last().is_some_and(|group| group.close == index);
            // Comments before the bracket that closes a group are still inside it.
            let inner = broken.len();
            let continued = !(line_due || self.out.is_empty());
            for comment in &comments[written..unit.comments] {
                self.comment(*comment, done, inner + usize::from(continued));
                done = comment.end;
                line_due = true;
            }
            written = unit.comments;
            if unit.kind == T::Eof {
                break;
            }
            if closes {
                angles = broken.pop().map_or(0, |group| group.angles);
            }
            match unit.kind {
                T::Less if unit.role & OPERATOR == 0 => angles += 1,
                T::Greater if unit.role & OPERATOR == 0 => angles = angles.saturating_sub(1),
                _ => {}
            }
            if line_due && !self.out.is_empty() {
                let blank = !closes && !self.after_opening(index) && self.blank_between(done, unit.span.start);
                self.line(blank, broken.len() + usize::from(continued));
            } else if unit.gap && !self.out.is_empty() {
                self.write(" ");
            }
            line_due = false;
            self.write_span(unit.span);
            done = unit.span.end;
            if unit.close > index && index >= flat_until {
                if self.breaks(index) {
                    broken.push(Broken { close: unit.close, commas: unit.role & MEMBERS == 0, angles });
                    angles = 0;
                    line_due = true;
                } else {
                    flat_until = unit.close;
                }
            }
            let in_group = broken.last().is_some_and(|group| group.commas && index < group.close);
            let ends = unit.kind == T::Comma && unit.role & FLOW == 0 && angles == 0;
            line_due |= ends && index >= flat_until && in_group;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }

    /// Whether what is in a bracket must stand in lines of its own.
    fn breaks(&self, open: usize) -> bool {
        let close = self.units[open].close;
        if close == open + 1 && self.units[close].comments == self.units[open].comments {
            return false;
        }
        let follows = self.units.get(close + 1).is_some_and(|unit| unit.kind == T::Comma);
        let inside = self.units[close].total - self.units[open].total;
        self.units[open].role & MEMBERS != 0
            || self.units[close].comments > self.units[open].comments
            || self.column + inside + usize::from(follows) > WIDTH
    }

    fn after_opening(&self, index: usize) -> bool {
        index > 0 && matches!(self.units[index - 1].kind, T::LParen | T::LBracket | T::LBrace)
    }

    /// Whether an empty line lies between two places, where there is nothing but space and commas.
    fn blank_between(&self, from: u32, to: u32) -> bool {
        let space = self.source.get(from as usize..to as usize).unwrap_or_default();
        space.bytes().filter(|&byte| byte == b'\n').count() > 1
    }

    fn comment(&mut self, span: Span, done: u32, indent: usize) {
        let between = self.source.get(done as usize..span.start as usize).unwrap_or_default();
        if !self.out.is_empty() {
            if between.contains('\n') {
                let opened = self.out.ends_with(['(', '[', '{']);
                self.line(self.blank_between(done, span.start) && !opened, indent);
            } else {
                self.write(" ");
            }
        }
        let text = self.source.get(span.start as usize..span.end as usize).unwrap_or_default();
        self.write(text.trim_end());
    }

    fn line(&mut self, blank: bool, indent: usize) {
        self.out.push_str(if blank { "\n\n" } else { "\n" });
        self.column = 0;
        for _ in 0..indent * INDENT {
            self.out.push(' ');
        }
        self.column = indent * INDENT;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => self.column + text.chars().count(),
        };
    }

    fn write_span(&mut self, span: Span) {
        let source = self.source;
        self.write(source.get(span.start as usize..span.end as usize).unwrap_or_default());
    }
}
