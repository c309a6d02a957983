//! [`Json`]: text in JSON, written piece by piece.

use core::fmt::{self, Write};

/// Text in JSON, written piece by piece. If allocation fails, or the text is too long, all further pieces are ignored.
#[derive(Debug)]
pub(crate) struct Json {
    text: Vec<u8>,
    limit: usize,
    fault: Option<Fault>,
}

/// Why a text was not written to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Allocation failed.
    Alloc,
    /// The text is longer than its limit.
    TooLong,
}

impl Json {
    /// Creates an empty text.
    pub(crate) fn new(limit: usize) -> Json {
        Json { text: Vec::new(), limit, fault: None }
    }

    /// Returns the text.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Fault> {
        match self.fault {
            None => Ok(self.text),
            Some(fault) => Err(fault),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        if self.text.len() + bytes.len() > self.limit {
            self.fault = Some(Fault::TooLong);
        } else if self.text.try_reserve(bytes.len()).is_err() {
            self.fault = Some(Fault::Alloc);
        } else {
            self.text.extend_from_slice(bytes);
        }
    }

    /// Writes a comma, unless the next value is the first of its list or follows its name.
    fn separate(&mut self) {
        if !matches!(self.text.last(), None | Some(b'[' | b'{' | b':')) {
            self.push(b",");
        }
    }

    /// Writes a list: `write` writes its items.
    pub(crate) fn list(&mut self, write: impl FnOnce(&mut Json)) {
        self.separate();
        self.push(b"[");
        write(self);
        self.push(b"]");
    }

    /// Writes an object: `write` writes its members.
    pub(crate) fn object(&mut self, write: impl FnOnce(&mut Json)) {
        self.separate();
        self.push(b"{");
        write(self);
        self.push(b"}");
    }

    /// Writes the name of a member. Its value comes next.
    pub(crate) fn key(&mut self, name: &str) -> &mut Json {
        self.text(name);
        self.push(b":");
        self
    }

    /// Writes a string.
    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        self.push(b"\"");
        self.escape(text);
        self.push(b"\"");
    }

    /// Writes a string or null.
    pub(crate) fn maybe_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// Writes a value as a string.
    pub(crate) fn display(&mut self, value: impl fmt::Display) {
        self.separate();
        self.push(b"\"");
        // The only error is that of a fault, which is kept.
        let _ = write!(Escaped(self), "{value}");
        self.push(b"\"");
    }

    /// Writes a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.separate();
        let _ = write!(Plain(self), "{number}");
    }

    /// Writes a number with a fraction. What is not finite is null.
    pub(crate) fn float(&mut self, number: f64) {
        self.separate();
        match number.is_finite() {
            true => drop(write!(Plain(self), "{number}")),
            false => self.push(b"null"),
        }
    }

    /// Writes `true` or `false`.
    pub(crate) fn bool(&mut self, value: bool) {
        self.separate();
        self.push(if value { b"true" } else { b"false" });
    }

    /// Writes `null`.
    pub(crate) fn null(&mut self) {
        self.separate();
        self.push(b"null");
    }

    /// Opens a list that [`raw_list`](Json::raw_list) closes.
    pub(crate) fn open_list(&mut self) {
        self.push(b"[");
    }

    /// Writes a list that was written before, but for its end.
    pub(crate) fn raw_list(&mut self, list: Json) {
        self.separate();
        self.fault = self.fault.or(list.fault);
        self.push(&list.text);
        self.push(b"]");
    }

    /// Gives up: allocation failed elsewhere.
    pub(crate) fn fail(&mut self) {
        self.fault = self.fault.or(Some(Fault::Alloc));
    }

    /// Returns `true` if the text will not be finished.
    pub(crate) fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    fn escape(&mut self, text: &str) {
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                b'\t' => b"\\t",
                // So that the text stays harmless within a page or a script, whatever is done with it.
                b'<' => b"\\u003c",
                b'>' => b"\\u003e",
                b'&' => b"\\u0026",
                0..0x20 => {
                    self.push(&text.as_bytes()[start..at]);
                    let _ = write!(Plain(self), "\\u{byte:04x}");
                    start = at + 1;
                    continue;
                }
                _ => continue,
            };
            self.push(&text.as_bytes()[start..at]);
            self.push(escape);
            start = at + 1;
        }
        self.push(&text.as_bytes()[start..]);
    }
}

/// Writes into a string of a text.
struct Escaped<'a>(&'a mut Json);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.escape(text);
        if self.0.is_faulty() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Writes into a text as it is.
struct Plain<'a>(&'a mut Json);

impl Write for Plain<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(text.as_bytes());
        if self.0.is_faulty() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Json};

    #[test]
    fn a_text_is_json_whatever_it_holds() {
        let hostile = "</script>\u{202e}\u{0}\"\\\n\r\t\u{1f}&";
        let mut json = Json::new(1000);
        json.object(|json| {
            json.key(hostile).text(hostile);
            json.key("list").list(|json| {
                json.number(u64::MAX);
                json.float(f64::NAN);
                json.float(-0.5);
                json.bool(true);
                json.list(|_| {});
                json.display(format_args!("{hostile}"));
            });
        });
        let text = String::from_utf8(json.finish().unwrap()).unwrap();
        assert!(!text.contains('<') && !text.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value[hostile], hostile);
        assert_eq!(value["list"][5], hostile);
        assert_eq!(value["list"][0], u64::MAX);
    }

    #[test]
    fn a_text_that_is_too_long_is_a_fault() {
        let mut json = Json::new(10);
        json.text("0123456789");
        assert_eq!(json.finish(), Err(Fault::TooLong));
    }
}
