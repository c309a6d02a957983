//! Trees as text: an outline for readers, and the columns as they are.

use super::kind::Kind;
use super::walk::{Event, Value};
use super::{NodeId, Texts, Tree};
use core::fmt;

/// An outline: a node a line, indented by depth; see [`Tree::outline`].
#[derive(Clone, Copy, Debug)]
pub struct Outline<'t, K: Kind, T: Texts> {
    tree: &'t Tree<K>,
    texts: &'t T,
}

/// The columns: a node a line in order of creation; see [`Tree::dump`].
#[derive(Clone, Copy, Debug)]
pub struct Dump<'t, K: Kind>(&'t Tree<K>);

impl<K: Kind> Tree<K> {
    /// Returns the tree under the root as text. Each line is a node: the field it fills, its kind, its span, and its
    /// fields other than children. The children of pairs fill `field.0` and `field.1`.
    ///
    /// ```
    /// use phalanx_syntax::ori::parse;
    ///
    /// let ast = parse(b"$limit = 2 * size")?;
    /// assert_eq!(ast.tree.outline(&ast).to_string(), "\
    /// Module 0..17
    ///   items: ConfigDef 0..17 name=`limit`
    ///     value: BinMul 9..17
    ///       left: IntLit 9..10 value=2
    ///       right: Ident 13..17 name=`size`
    /// ");
    /// # Ok::<(), phalanx_syntax::Full>(())
    /// ```
    pub fn outline<'t, T: Texts>(&'t self, texts: &'t T) -> Outline<'t, K, T> {
        Outline { tree: self, texts }
    }

    /// Returns the columns as text. Each line is a node: number, kind, span, and the fields as words.
    pub fn dump(&self) -> Dump<'_, K> {
        Dump(self)
    }
}

impl<K: Kind, T: Texts> Outline<'_, K, T> {
    /// One line, without the end of it.
    fn line(&self, f: &mut fmt::Formatter<'_>, id: NodeId) -> fmt::Result {
        let span = self.tree.span(id);
        write!(f, "{} {}..{}", self.tree.kind(id).name(), span.start, span.end)?;
        for (info, value) in self.tree.fields(id) {
            let name = info.name;
            match value {
                Ok(Value::Node(_) | Value::List(_) | Value::Pairs(_) | Value::Name(None)) => {}
                Ok(Value::Token(token)) => {
                    write!(f, " {name}=`{}`", self.texts.token(token).escape_ascii())?;
                }
                Ok(Value::Name(Some(text))) => write!(f, " {name}=`{}`", self.texts.name(text).escape_debug())?,
                Ok(Value::Word(word)) => write!(f, " {name}={word}")?,
                Ok(Value::Char(char)) => write!(f, " {name}={char:?}")?,
                Ok(Value::Wide(wide)) => write!(f, " {name}={wide}")?,
                Ok(Value::Real(real)) => write!(f, " {name}={real:?}")?,
                Err(malformed) => write!(f, " {name}: {malformed}")?,
            }
        }
        Ok(())
    }
}

impl<K: Kind, T: Texts> fmt::Display for Outline<'_, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        // The names of the fields that the children of each open node fill, last first.
        // A child of a pair also has its place in it.
        let mut names: Vec<(&'static str, &'static str)> = Vec::new();
        for event in self.tree.walk(NodeId::ROOT) {
            let Event::Enter(id) = event else {
                depth -= 1;
                continue;
            };
            // Deeper than this, spaces would outgrow the tree.
            write!(f, "{:1$}", "", 2 * depth.min(100))?;
            if depth > 0 {
                let (name, place) = names.pop().unwrap_or(("?", ""));
                write!(f, "{name}{place}: ")?;
            }
            self.line(f, id)?;
            f.write_str("\n")?;
            depth += 1;
            let mark = names.len();
            for (info, value) in self.tree.fields(id) {
                match value {
                    Ok(Value::Node(Some(_))) => names.push((info.name, "")),
                    Ok(Value::List(list)) => names.extend(list.iter().map(|_| (info.name, ""))),
                    Ok(Value::Pairs(pairs)) => {
                        for (_, second) in pairs.iter() {
                            names.push((info.name, ".0"));
                            names.extend(second.map(|_| (info.name, ".1")));
                        }
                    }
                    _ => {}
                }
            }
            names[mark..].reverse();
        }
        Ok(())
    }
}

impl<K: Kind> fmt::Display for Dump<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.0.ids() {
            let span = self.0.span(id);
            write!(f, "{:>6} {:<18} {:>6}..{:<6}", id.index(), self.0.kind(id).name(), span.start, span.end)?;
            for (info, value) in self.0.fields(id) {
                write!(f, " {}=", info.name)?;
                match value {
                    Ok(Value::Node(Some(node))) => write!(f, "#{}", node.index())?,
                    Ok(Value::Node(None) | Value::Name(None)) => f.write_str("none")?,
                    Ok(Value::List(list)) => {
                        f.write_str("[")?;
                        for (place, node) in list.iter().enumerate() {
                            write!(f, "{}#{}", if place > 0 { " " } else { "" }, node.index())?;
                        }
                        f.write_str("]")?;
                    }
                    Ok(Value::Pairs(pairs)) => {
                        f.write_str("[")?;
                        for (place, (first, second)) in pairs.iter().enumerate() {
                            write!(f, "{}#{}:", if place > 0 { " " } else { "" }, first.index())?;
                            match second {
                                Some(second) => write!(f, "#{}", second.index())?,
                                None => f.write_str("none")?,
                            }
                        }
                        f.write_str("]")?;
                    }
                    Ok(Value::Token(token)) => write!(f, "token {}", token.index())?,
                    Ok(Value::Name(Some(name))) => write!(f, "name {}", name.index())?,
                    Ok(Value::Word(word)) => write!(f, "{word}")?,
                    Ok(Value::Char(char)) => write!(f, "{char:?}")?,
                    Ok(Value::Wide(wide)) => write!(f, "{wide}")?,
                    Ok(Value::Real(real)) => write!(f, "{real:?}")?,
                    Err(malformed) => write!(f, "({malformed})")?,
                }
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}
