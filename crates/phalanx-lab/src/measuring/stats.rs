//! What a handful of timings says: mean, error, standard deviation, median, minimum.

use serde::Serialize;

/// The level of the confidence interval whose half width is a row's error.
const CONFIDENCE: f64 = 0.999;

/// A row of timings in nanoseconds, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) runs: usize,
    pub(crate) min: f64,
    pub(crate) mean: f64,
    /// Half of the 99.9 % confidence interval of the mean; a single run has none.
    pub(crate) error: Option<f64>,
    /// Of the sample, with `runs - 1` below the line; a single run has none.
    pub(crate) std_dev: Option<f64>,
    pub(crate) median: f64,
}

impl Summary {
    /// `None` if there are no samples.
    pub(crate) fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, runs) = (sorted.first()?, sorted.len());
        let mean = sorted.iter().sum::<f64>() / runs as f64;
        let median = (sorted[(runs - 1) / 2] + sorted[runs / 2]) / 2.0;
        let std_dev = (runs > 1).then(|| {
            let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
            (squares / (runs - 1) as f64).sqrt()
        });
        let error = std_dev.map(|s| s / (runs as f64).sqrt() * student_t(CONFIDENCE, runs - 1));
        Some(Summary { runs, min, mean, error, std_dev, median })
    }
}

/// The `t` for which a variable of Student's distribution lies within ±`t` with probability `confidence`.
pub(crate) fn student_t(confidence: f64, degrees: usize) -> f64 {
    let degrees = degrees as f64;
    // P(|T| > t) is the regularised incomplete beta function at ν / (ν + t²), which falls as t grows.
    let outside = |t: f64| incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high) > 1.0 - confidence {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if outside(middle) > 1.0 - confidence { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast only on this side of the mean; the other side follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for coefficient in [even, odd] {
            d = 1.0 / nonzero(1.0 + coefficient * d);
            c = nonzero(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function for positive arguments (Lanczos, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (i, coefficient) in COEFFICIENTS.iter().enumerate() {
        sum += coefficient / (x + i as f64 + 1.0);
    }
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 2e-4, "{found} is not {expected}");
    }

    #[test]
    fn student_t_agrees_with_printed_tables() {
        // Two-sided 99.9 %, then 95 %.
        for (degrees, t) in [(1, 636.619), (2, 31.599), (5, 6.869), (10, 4.587), (14, 4.140), (30, 3.646), (120, 3.373)]
        {
            close(student_t(0.999, degrees), t);
        }
        for (degrees, t) in [(1, 12.706), (4, 2.7764), (29, 2.0452)] {
            close(student_t(0.95, degrees), t);
        }
    }

    #[test]
    fn student_t_nears_the_normal_distribution() {
        close(student_t(0.999, 1_000_000), 3.2905);
    }

    #[test]
    fn a_known_sample() {
        let summary = Summary::of(&[9.0, 2.0, 4.0, 4.0, 5.0, 4.0, 7.0, 5.0]).unwrap();
        assert_eq!((summary.runs, summary.min, summary.mean, summary.median), (8, 2.0, 5.0, 4.5));
        close(summary.std_dev.unwrap(), (32.0_f64 / 7.0).sqrt());
        // t for seven degrees of freedom is 5.408.
        close(summary.error.unwrap(), 5.408 * (32.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt());
    }

    #[test]
    fn the_error_is_half_of_the_confidence_interval() {
        // A row of the reference figures: 15 runs with a standard deviation of 642.328 have an error of 686.687.
        close(student_t(0.999, 14) * 642.328 / 15.0_f64.sqrt(), 686.687);
    }

    #[test]
    fn one_run_has_no_error() {
        let summary = Summary::of(&[3.0]).unwrap();
        assert_eq!((summary.mean, summary.median, summary.error, summary.std_dev), (3.0, 3.0, None, None));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn equal_runs_have_no_spread() {
        let summary = Summary::of(&[2.0; 5]).unwrap();
        assert_eq!((summary.error, summary.std_dev), (Some(0.0), Some(0.0)));
    }
}
