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

/// Three significant digits, without a unit.
pub(crate) fn significant(value: f64) -> String {
    rounded(value, 3)
}

/// As many significant digits as given, without a unit.
fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Rounding may add a digit, so that the exponent is taken after it.
    let exponent = |value: f64| value.abs().log10().floor() as i32;
    let unit = 10_f64.powi(exponent(value) - digits + 1);
    let value = (value / unit).round() * unit;
    match digits - 1 - exponent(value) {
        decimals @ 1.. => format!("{value:.*}", decimals as usize),
        _ if value < 0.0 => format!("-{}", thousands(-value.round() as u64)),
        _ => thousands(value.round() as u64),
    }
}

/// The unit that suits a span of time, and its nanoseconds.
fn unit(nanos: f64) -> (&'static str, f64) {
    let units = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)];
    units.into_iter().find(|(_, size)| nanos >= size * 0.9995).unwrap_or(("ns", 1.0))
}

/// A span of time in the unit that suits it: `41.7 µs`.
pub(crate) fn span(nanos: f64) -> String {
    let (unit, size) = unit(nanos);
    format!("{} {unit}", significant(nanos / size))
}

/// A span of time that is not known well: `≈ 42 µs`.
pub(crate) fn rough_span(nanos: f64) -> String {
    let (unit, size) = unit(nanos);
    format!("≈ {} {unit}", rounded(nanos / size, 2))
}

/// A power of ten as a span of time, without more digits than it needs: `0.1 ns`.
pub(crate) fn tick_span(nanos: f64) -> String {
    let (unit, size) = unit(nanos);
    format!("{} {unit}", rounded(nanos / size, 1))
}

/// Two spans of time in one unit: `41.7–43.2 µs`.
pub(crate) fn range(low: f64, high: f64) -> String {
    let (unit, size) = unit(high);
    let [from, to] = [low, high].map(|nanos| significant(nanos / size));
    if from == to { format!("{to} {unit}") } else { format!("{from}–{to} {unit}") }
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

/// How often, if that is not known well: `≈ 1.6×`.
pub(crate) fn rough_times(ratio: f64) -> String {
    format!("≈ {}×", rounded(ratio, 2))
}

/// A share in percent: `25 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 100.0 || (percent - percent.round()).abs() < 0.05 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
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
    }

    #[test]
    fn units_suit_their_size() {
        assert_eq!(span(41_680.0), "41.7 µs");
        assert_eq!(span(999_700.0), "1.00 ms");
        assert_eq!(span(0.4351), "0.435 ns");
        assert_eq!([0.1, 1.0, 1e4, 1e9].map(tick_span), ["0.1 ns", "1 ns", "10 µs", "1 s"]);
        assert_eq!(rough_span(40_517_418_750.0), "≈ 41 s");
        assert_eq!(
            [range(41.68, 43.2), range(1.0, 1.0), range(900.0, 1100.0)],
            ["41.7–43.2 ns", "1.00 ns", "0.900–1.10 µs"]
        );
        assert_eq!(span(36.97e9), "37.0 s");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_600_000), "1.60 MB");
        assert_eq!(times(1.64), "1.64×");
        assert_eq!((times(17_234.4), rough_times(17_234.4)), ("17,200×".into(), "≈ 17,000×".into()));
    }

    #[test]
    fn digits_are_significant() {
        let shown = [0.0, 0.043_21, 9.999, 99.96, 999.4, 1338.6, -2.5].map(significant);
        assert_eq!(shown, ["0", "0.0432", "10.0", "100", "999", "1,340", "-2.50"]);
    }

    #[test]
    fn shares_and_lists() {
        assert_eq!((percent(0.25), percent(0.125)), ("25 %".to_string(), "12.5 %".to_string()));
        assert_eq!(percent(5.134), "513 %");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
