//! Values of the program as text that is safe to print, and numbers for people.

/// Returns `true` if a character would change how others are shown.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a text without characters that move the cursor, end the line or turn the direction of writing.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push('⏎'),
            '\t' => shown.push(' '),
            c if is_hostile(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Escapes the same characters in JSON. They can only be within its strings.
pub(crate) fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Between values of indented JSON. Within strings it is escaped already.
            '\n' => shown.push(c),
            c if is_hostile(c) => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Writes a number with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Writes a number of bytes.
pub(crate) fn bytes(size: u64) -> String {
    let (mut size, mut unit) = (size as f64, 0);
    while size >= 1024.0 && unit < 4 {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let name = ["B", "KiB", "MiB", "GiB", "TiB"][unit];
    if unit == 0 || size >= 100.0 { format!("{size:.0} {name}") } else { format!("{size:.1} {name}") }
}

/// Writes a number with about four digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".into(),
        _ if size >= 1e9 || (size > 0.0 && size < 1e-3) => format!("{value:.2e}"),
        _ if size >= 1000.0 => format!("{}{}", if value < 0.0 { "-" } else { "" }, count(size.round() as u64)),
        _ => {
            let digits = if size >= 100.0 {
                1
            } else if size >= 10.0 {
                2
            } else {
                3
            };
            let text = format!("{value:.digits$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
    }
}

/// Writes a time in microseconds.
pub(crate) fn micros(time: f64) -> String {
    if time < 1000.0 { format!("{} µs", short(time)) } else { format!("{} ms", short(time / 1000.0)) }
}

/// Encodes a text for the query string of an address.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_control_a_terminal_is_escaped() {
        let hostile = "a\u{1b}[2J\u{7}\u{9b}31m\u{202e}txt.exe\u{2066}\nb\tc\u{7f}";
        let shown = printable(hostile);
        assert!(!shown.chars().any(is_hostile), "{shown:?}");
        assert!(shown.contains("\\u{202e}txt.exe") && shown.contains("⏎b c"));
        let json = printable_json(&serde_json::to_string(hostile).unwrap());
        assert!(!json.chars().any(is_hostile), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 1023, 1536, 200 << 10, u64::MAX].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "200 KiB", "16777216 TiB"]
        );
        assert_eq!(
            [0.0, 0.5, -2.25, 123.46, 1234.5, -9999.9].map(short),
            ["0", "0.5", "-2.25", "123.5", "1,235", "-10,000"]
        );
        assert_eq!([f64::NAN, 1e12].map(short), ["–", "1.00e12"]);
        assert_eq!([3.5, 2500.0].map(micros), ["3.5 µs", "2.5 ms"]);
        assert_eq!(encode("A < 1, ä"), "A%20%3C%201%2C%20%C3%A4");
    }
}
