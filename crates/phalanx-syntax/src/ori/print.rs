//! The printer.

use super::Ast;

/// Writes a program back.
pub fn print(ast: &Ast<'_>) -> String {
    String::from_utf8_lossy(ast.source).into_owned()
}
