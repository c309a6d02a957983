//! Values as text.

use crate::json::Json;
use crate::user_code::{Defect, UserCode};
use core::fmt;
use phalanx::ComponentInfo;
use phalanx::reflect::{Kind, Shape, ShowError, Shown, Value};

/// The number of fields that are listed for a value.
const FIELD_LIMIT: usize = 512;

/// How values of a type are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// There is nothing to show: the value has no data.
    Tag,
    /// By the fields, without code of the user.
    Fields,
    /// By `Debug`.
    Debug,
    /// By the size.
    Unknown,
}

impl Style {
    /// Returns the style of a component.
    pub(crate) fn of(info: &ComponentInfo) -> Style {
        match info.shape() {
            _ if info.is_zero_sized() => Style::Tag,
            Some(shape) => Style::of_shape(shape),
            None => Style::Unknown,
        }
    }

    /// Returns the style of a type.
    pub(crate) fn of_shape(shape: &'static Shape) -> Style {
        match (is_known(shape), shape.show) {
            (true, _) => Style::Fields,
            (false, Some(_)) => Style::Debug,
            (false, None) if matches!(shape.inner().kind, Kind::Opaque) => Style::Unknown,
            (false, None) => Style::Fields,
        }
    }
}

/// Returns `true` if all parts of a type are known.
fn is_known(shape: &Shape) -> bool {
    match shape.kind {
        Kind::Struct(fields) => fields.iter().all(|field| is_known(field.shape)),
        Kind::Array(element, _) => is_known(element),
        Kind::Opaque => false,
        _ => true,
    }
}

/// Returns what kind of value a shape is, for the page.
pub(crate) fn kind_of(shape: Option<&'static Shape>) -> &'static str {
    use phalanx::reflect::Scalar;
    match shape.map(|shape| shape.inner().kind) {
        Some(Kind::Scalar(Scalar::Bool)) => "bool",
        Some(Kind::Scalar(Scalar::Entity)) => "entity",
        Some(Kind::Scalar(Scalar::Char)) => "text",
        Some(Kind::Scalar(_)) => "number",
        Some(Kind::Choice(_)) => "choice",
        Some(Kind::Text(_)) => "text",
        _ => "other",
    }
}

/// Returns the last part of the name of a type, with its parameters.
pub(crate) fn short_name(name: &str) -> &str {
    let end = name.find('<').unwrap_or(name.len());
    let start = name[..end].rfind("::").map_or(0, |at| at + 2);
    &name[start..]
}

/// A text that may have been cut.
struct Cut(Shown);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)?;
        if self.0.is_truncated { f.write_str("…") } else { Ok(()) }
    }
}

/// Writes a value as a string, of about `limit` bytes. `name` is that of its component.
pub(crate) fn write_value(
    value: Value<'_>,
    name: &'static str,
    style: Style,
    limit: usize,
    code: &mut UserCode,
    json: &mut Json,
) {
    let size = value.shape().map_or(0, |shape| shape.size);
    let shown = match style {
        Style::Tag => return json.text("✓"),
        Style::Debug => match code.defect_of(name) {
            Some(defect) => return json.text(defect.text()),
            None if code.is_spent() => return json.text("(not shown: Debug took too long in all)"),
            None => code.call(name, || value.debug_within(limit)),
        },
        // A scalar or text is quickly written, and needs no limit but that of texts.
        Style::Fields if value.scalar().is_some() => return json.display(value),
        Style::Fields => match value.text() {
            Some(text) => return write_text(text, limit, json),
            None => value.fields_within(limit),
        },
        Style::Unknown if size == 0 => return json.text("(its fields are not known)"),
        Style::Unknown => return json.display(format_args!("({size} bytes)")),
    };
    match shown {
        Ok(shown) => json.display(Cut(shown)),
        Err(ShowError::Panicked) => {
            code.add(name, Defect::Panicked);
            json.text(Defect::Panicked.text());
        }
        Err(ShowError::Alloc(_)) => json.fail(),
        Err(_) => json.text("(its Debug failed)"),
    }
}

/// Returns the largest position of a character's start, or of the end, that is at most `limit`.
pub(crate) fn floor_char_boundary(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Writes a text, cut after about `limit` bytes.
fn write_text(text: &str, limit: usize, json: &mut Json) {
    match floor_char_boundary(text, limit) {
        end if end < text.len() => json.display(format_args!("{}…", &text[..end])),
        _ => json.text(text),
    }
}

/// Writes the fields of a value that have no fields themselves, as a list.
pub(crate) fn write_fields(value: Value<'_>, name: &'static str, limit: usize, code: &mut UserCode, json: &mut Json) {
    let mut left = FIELD_LIMIT;
    json.list(|json| walk(value, name, &mut PathText::default(), limit, code, &mut left, json));
}

/// The path of a field, of limited length.
#[derive(Default)]
struct PathText {
    parts: [&'static str; 8],
    numbers: [usize; 8],
    len: usize,
}

impl PathText {
    fn with<R>(&mut self, name: &'static str, number: usize, run: impl FnOnce(&mut PathText) -> R) -> Option<R> {
        if self.len == self.parts.len() {
            return None;
        }
        (self.parts[self.len], self.numbers[self.len]) = (name, number);
        self.len += 1;
        let result = run(self);
        self.len -= 1;
        Some(result)
    }
}

impl fmt::Display for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for at in 0..self.len {
            f.write_str(if at == 0 { "" } else { "." })?;
            match self.parts[at] {
                "" => write!(f, "{}", self.numbers[at])?,
                name => f.write_str(name)?,
            }
        }
        Ok(())
    }
}

fn walk(
    value: Value<'_>,
    name: &'static str,
    path: &mut PathText,
    limit: usize,
    code: &mut UserCode,
    left: &mut usize,
    json: &mut Json,
) {
    if *left == 0 {
        return;
    }
    let Some(shape) = value.shape() else { return };
    let is_leaf = match shape.kind {
        Kind::Struct([]) => return,
        Kind::Struct(_) => value
            .fields()
            .try_for_each(|(field, part)| path.with(field, 0, |path| walk(part, name, path, limit, code, left, json)))
            .is_none(),
        // Long arrays are shown as one value.
        Kind::Array(_, len) if len <= 64 => value
            .elements()
            .enumerate()
            .try_for_each(|(at, part)| path.with("", at, |path| walk(part, name, path, limit, code, left, json)))
            .is_none(),
        _ => true,
    };
    if !is_leaf {
        return;
    }
    *left -= 1;
    json.object(|json| {
        json.key("path").display(&*path);
        json.key("kind").text(kind_of(Some(shape)));
        json.key("type").display(TypeText(shape));
        if let Kind::Choice(choice) = shape.inner().kind {
            json.key("choices").list(|json| choice.variants.iter().for_each(|(name, _)| json.text(name)));
        }
        json.key("value");
        write_value(value, name, Style::of_shape(shape), limit, code, json);
    });
}

/// The type of a field, as far as it is known.
pub(crate) struct TypeText(pub(crate) &'static Shape);

impl fmt::Display for TypeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            Kind::Scalar(scalar) => scalar.fmt(f),
            Kind::Struct([field]) => TypeText(field.shape).fmt(f),
            Kind::Struct(_) => f.write_str("struct"),
            Kind::Array(element, len) => write!(f, "[{}; {len}]", TypeText(element)),
            Kind::Choice(_) => f.write_str("enum"),
            Kind::Text(_) => f.write_str("text"),
            _ => write!(f, "{} bytes", self.0.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn a_short_name_keeps_its_parameters() {
        assert_eq!(short_name("a::b::Health"), "Health");
        assert_eq!(short_name("Health"), "Health");
        assert_eq!(short_name("a::Held<b::Item>"), "Held<b::Item>");
    }
}
