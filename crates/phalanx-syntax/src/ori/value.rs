//! What literals mean.

/// The value of an integer; none if it has more than 64 bits.
pub(super) fn int(text: &[u8]) -> Option<u64> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        _ => (10, text),
    };
    let digits = digits.iter().filter(|&&byte| byte != b'_');
    digits
        .map_while(|&byte| char::from(byte).to_digit(base))
        .try_fold(0u64, |value, digit| value.checked_mul(u64::from(base))?.checked_add(u64::from(digit)))
}

/// Returns the value of a number with a fraction or an exponent. Digits beyond the buffer are dropped; they are below the
/// precision of the result.
pub(super) fn float(text: &[u8]) -> f64 {
    let mut buffer = [0; 64];
    let mut len = 0;
    for &byte in text.iter().filter(|&&byte| byte != b'_') {
        if len == buffer.len() {
            return text_value(text);
        }
        buffer[len] = byte;
        len += 1;
    }
    core::str::from_utf8(&buffer[..len]).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// The value of a number that is very long: without underscores it can be read where it stands.
fn text_value(text: &[u8]) -> f64 {
    core::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// The value of a duration or a size in its smallest unit, by whole numbers alone; none if it is too large or no
/// whole number of them.
pub(super) fn quantity(text: &[u8]) -> Option<u64> {
    let unit_at = text.iter().position(|byte| byte.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let scale: u64 = match unit {
        b"ns" | b"b" => 1,
        b"us" | b"kb" => 1_000,
        b"ms" | b"mb" => 1_000_000,
        b"s" | b"gb" => 1_000_000_000,
        b"tb" => 1_000_000_000_000,
        b"m" => 60_000_000_000,
        b"h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = match number.iter().position(|&byte| byte == b'.') {
        Some(dot) => (&number[..dot], &number[dot + 1..]),
        None => (number, &[][..]),
    };
    let mut value = u128::from(int(whole)?) * u128::from(scale);
    let mut part = u128::from(scale);
    for &byte in fraction.iter().filter(|&&byte| byte != b'_') {
        let digit = u128::from(byte - b'0');
        if part % 10 != 0 && digit * part % 10 != 0 {
            return None;
        }
        value += digit * part / 10;
        part /= 10;
    }
    u64::try_from(value).ok()
}

/// What an escape after a backslash stands for.
fn escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'0' => '\0',
        b'\\' | b'"' | b'\'' | b'`' | b'{' | b'}' => char::from(byte),
        _ => return None,
    })
}

/// The text between the quotes of a string, or of a piece of a template, appended to `into`; where the first unknown
/// escape is, if there is one. The caller reserves capacity for it.
pub(super) fn unescape(raw: &str, template: bool, into: &mut String) -> Option<usize> {
    let mut wrong = None;
    let mut rest = raw;
    let special: &[char] = if template { &['\\', '{', '}'] } else { &['\\'] };
    while let Some(at) = rest.find(special) {
        into.push_str(&rest[..at]);
        let first = rest.as_bytes()[at];
        let second = rest.as_bytes().get(at + 1).copied();
        let taken = match (first, second) {
            (b'\\', Some(byte)) => match escape(byte) {
                Some(char) => {
                    into.push(char);
                    2
                }
                None => {
                    wrong = wrong.or(Some(raw.len() - rest.len() + at));
                    into.push('\\');
                    1
                }
            },
            // Doubled braces stand for one.
            (brace @ (b'{' | b'}'), Some(next)) if brace == next => {
                into.push(char::from(brace));
                2
            }
            (byte, _) => {
                into.push(char::from(byte));
                1
            }
        };
        rest = &rest[at + taken..];
    }
    into.push_str(rest);
    wrong
}

/// The character between two quotes; none if the escape is unknown.
pub(super) fn character(text: &str) -> Option<char> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    match inner.as_bytes() {
        [b'\\', byte] => escape(*byte).filter(|_| !matches!(byte, b'`' | b'{' | b'}')),
        _ => inner.chars().next(),
    }
}

/// Whether a format reads `[[fill]align][sign][#][0][width][.precision][kind]`.
pub(super) fn is_format(text: &str) -> bool {
    let mut rest = text;
    let mut chars = text.char_indices();
    let (first, second) = (chars.next(), chars.next());
    let is_align = |char| matches!(char, '<' | '>' | '^');
    match (first, second) {
        (Some(_), Some((at, align))) if is_align(align) => rest = &text[at + 1..],
        (Some((_, align)), _) if is_align(align) => rest = &text[1..],
        _ => {}
    }
    rest = rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest);
    rest = rest.strip_prefix('#').unwrap_or(rest);
    rest = rest.trim_start_matches(|char: char| char.is_ascii_digit());
    if let Some(precision) = rest.strip_prefix('.') {
        rest = precision.trim_start_matches(|char: char| char.is_ascii_digit());
        if rest.len() == precision.len() {
            return false;
        }
    }
    rest = rest.strip_prefix(['b', 'o', 'x', 'X', 'e', 'E', 'f', '%']).unwrap_or(rest);
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_values() {
        assert_eq!(int(b"1_000_000"), Some(1_000_000));
        assert_eq!(int(b"0xFF"), Some(255));
        assert_eq!(int(b"0b10_10"), Some(10));
        assert_eq!(int(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(int(b"18446744073709551616"), None);
        assert_eq!(float(b"2.5e-8"), 2.5e-8);
        assert_eq!(float(b"1_0.5"), 10.5);
        assert_eq!(float(&[b'1'; 100]), "1".repeat(100).parse::<f64>().unwrap());
    }

    #[test]
    fn quantities_are_whole_numbers_of_the_smallest_unit() {
        assert_eq!(quantity(b"100ms"), Some(100_000_000));
        assert_eq!(quantity(b"1.5s"), Some(1_500_000_000));
        assert_eq!(quantity(b"0.5h"), Some(1_800_000_000_000));
        assert_eq!(quantity(b"1.5kb"), Some(1_500));
        assert_eq!(quantity(b"1.5ns"), None);
        assert_eq!(quantity(b"0.0001us"), None);
        assert_eq!(quantity(b"99999999999999h"), None);
    }

    #[test]
    fn escapes_are_resolved() {
        let read = |raw, template| {
            let mut text = String::new();
            let wrong = unescape(raw, template, &mut text);
            (text, wrong)
        };
        assert_eq!(read(r#"a\n\"b\\"#, false), ("a\n\"b\\".to_string(), None));
        assert_eq!(read(r"ab\qc", false), (r"ab\qc".to_string(), Some(2)));
        assert_eq!(read("{{x}} {y", true), ("{x} {y".to_string(), None));
        assert_eq!(character("'\\n'"), Some('\n'));
        assert_eq!(character("'ä'"), Some('ä'));
        assert_eq!(character("'\\q'"), None);
    }

    #[test]
    fn formats_are_checked() {
        for good in ["", ">10", "*^8", "+", "#x", "08.2f", ".3", "%", ".1%", "e"] {
            assert!(is_format(good), "{good}");
        }
        for bad in ["zz", ".", "10q", ">>>", "5.f"] {
            assert!(!is_format(bad), "{bad}");
        }
    }
}
