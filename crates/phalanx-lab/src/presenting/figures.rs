//! Numbers as people read them.

/// Digits in groups of three: `250,000`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Nanoseconds as microseconds with two decimals, the unit of the removal table: `1,059.04`.
pub(crate) fn micros(nanos: f64) -> String {
    let hundredths = (nanos / 10.0).round() as u64;
    format!("{}.{:02}", thousands(hundredths / 100), hundredths % 100)
}

/// Three significant digits, without a unit; large numbers in full.
pub(crate) fn significant(value: f64) -> String {
    // The thresholds are where rounding would add a digit.
    match value.abs() {
        v if v >= 999.5 => thousands(value.round() as u64),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A span of time in the unit that suits it: `41.7 µs`.
pub(crate) fn span(nanos: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if nanos >= size * 0.9995 {
            return format!("{} {unit}", significant(nanos / size));
        }
    }
    format!("{} ns", significant(nanos))
}

/// Bytes in the unit that suits them: `1.20 MB`.
pub(crate) fn bytes(count: u64) -> String {
    for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if count as f64 >= size * 0.9995 {
            return format!("{} {unit}", significant(count as f64 / size));
        }
    }
    format!("{count} B")
}

/// How often: `1.64×`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", significant(ratio))
}

/// A share in percent: `25 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (percent - percent.round()).abs() < 0.05 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// Things in a sentence: `a, b and c`.
pub(crate) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => "none".to_string(),
        [one] => one.as_ref().to_string(),
        [head @ .., last] => {
            let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", head.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(250_000), "250,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(micros(36_972_363_970.0), "36,972,363.97");
        assert_eq!(micros(41_680.0), "41.68");
    }

    #[test]
    fn units_suit_their_size() {
        assert_eq!(span(41_680.0), "41.7 µs");
        assert_eq!(span(999_700.0), "1.00 ms");
        assert_eq!(span(0.435), "0.43 ns");
        assert_eq!(span(36.97e9), "37.0 s");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_600_000), "1.60 MB");
        assert_eq!(times(1.64), "1.64×");
        assert_eq!(times(17_234.4), "17,234×");
    }

    #[test]
    fn shares_and_lists() {
        assert_eq!((percent(0.25), percent(0.125)), ("25 %".to_string(), "12.5 %".to_string()));
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
