//! A front end of the language Ori, formerly Sigil, in its dialect of parentheses: lexer, parser and printer.
//!
//! [`parse`] takes any bytes and returns an [`Ast`]: a tree, and the errors. Source that could not be parsed is in the tree as
//! [`Kind::Error`], and parsing continues at the next element of a list or the next item. [`print()`] formats a program, with
//! every token and comment.

mod ast;
mod kinds;
mod lex;
mod parse;
mod print;
mod token;
mod value;

pub use ast::{Ast, parse};
pub use kinds::{Kind, View, node};
pub use lex::{lex, lex_within};
pub use parse::{Checkpoint, DEPTH, ERRORS, Parsed, Parser};
pub use print::print;
pub use token::{TokenKind, Tokens};
