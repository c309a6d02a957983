//! What a handful of timings says: the median, the middle half of the runs, and whether two of them can be told apart.
//!
//! A run that was interrupted takes many times as long as the others. It moves a mean, and hardly a median. So medians are compared. A
//! difference counts only if the middle halves of the runs do not overlap, and if the quickest runs say the same: a busy machine can
//! interrupt most runs of one contender, and few of another. Otherwise it is within the noise.

use serde::Serialize;

/// Medians closer than this are level, however quiet the runs were.
const BAND: f64 = 1.05;
/// With fewer runs than this there is no middle half. A run is taken to be off by the factor.
const FEW_RUNS: usize = 3;
const FEW_RUNS_FACTOR: f64 = 1.25;
/// A middle half that is wider than this share of the median makes ratios doubtful.
const NOISY: f64 = 0.5;
/// An estimate is taken to be off by this factor.
const ESTIMATE_FACTOR: f64 = 2.0;

/// Timings in nanoseconds, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// None, if the figures are an estimate.
    pub(crate) runs: usize,
    pub(crate) min: f64,
    /// The first and the last of the middle half of the runs.
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Summary {
    /// Sums up samples. `None` if there are none.
    pub(crate) fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, runs) = (sorted.first()?, sorted.len());
        let at = |share: f64| {
            let place = share * (runs - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        let median = at(0.5);
        let (low, high) = match runs < FEW_RUNS {
            true => (median / FEW_RUNS_FACTOR, median * FEW_RUNS_FACTOR),
            false => (at(0.25), at(0.75)),
        };
        Some(Summary { runs, min, low, median, high })
    }

    /// Returns what is known of a time that was not measured.
    pub(crate) fn estimate(median: f64) -> Summary {
        let (low, high) = (median / ESTIMATE_FACTOR, median * ESTIMATE_FACTOR);
        Summary { runs: 0, min: low, low, median, high }
    }

    pub(crate) fn is_estimate(&self) -> bool {
        self.runs == 0
    }

    /// Returns the time of one of `count` parts.
    pub(crate) fn per(self, count: f64) -> Summary {
        let Summary { runs, min, low, median, high } = self;
        Summary { runs, min: min / count, low: low / count, median: median / count, high: high / count }
    }

    /// Returns the width of the middle half, as a share of the median. `None` if there are too few runs.
    pub(crate) fn noise(&self) -> Option<f64> {
        (self.runs >= FEW_RUNS && self.median > 0.0).then(|| (self.high - self.low) / self.median)
    }

    /// Compares with another: how many times as fast this is, and whether that is beyond the noise.
    pub(crate) fn against(&self, other: &Summary) -> Comparison {
        let ratio = other.median / self.median;
        let is_apart = self.low > other.high || other.low > self.high;
        let is_confirmed = Verdict::of(other.min / self.min) == Verdict::of(ratio);
        let verdict = if is_apart && is_confirmed { Verdict::of(ratio) } else { Verdict::Level };
        let is_noisy = [self, other].iter().any(|time| time.noise().is_some_and(|noise| noise > NOISY));
        Comparison { ratio, verdict, is_estimate: self.is_estimate() || other.is_estimate(), is_noisy }
    }
}

/// Who is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Faster,
    Level,
    Slower,
}

impl Verdict {
    pub(crate) const ALL: [Verdict; 3] = [Verdict::Faster, Verdict::Level, Verdict::Slower];

    /// Returns the verdict on figures without noise, such as those of a model.
    pub(crate) fn of(ratio: f64) -> Verdict {
        if ratio > BAND {
            Verdict::Faster
        } else if ratio < 1.0 / BAND {
            Verdict::Slower
        } else {
            Verdict::Level
        }
    }
}

/// One contender beside another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// How many times as fast the first is, by the medians.
    pub(crate) ratio: f64,
    pub(crate) verdict: Verdict,
    /// Whether it rests on an estimate.
    pub(crate) is_estimate: bool,
    /// Whether the runs lie so far apart that the ratio is doubtful, even if the verdict is not.
    pub(crate) is_noisy: bool,
}

impl Comparison {
    /// Returns how many times the quicker is as fast as the other.
    pub(crate) fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        let summary = Summary::of(&[9.0, 2.0, 4.0, 4.0, 5.0, 4.0, 7.0, 5.0, 6.0]).unwrap();
        assert_eq!((summary.runs, summary.min, summary.median), (9, 2.0, 5.0));
        assert_eq!((summary.low, summary.high, summary.noise()), (4.0, 6.0, Some(0.4)));
        assert_eq!(Summary::of(&[1.0, 2.0, 3.0, 4.0]).map(|s| (s.low, s.median, s.high)), Some((1.75, 2.5, 3.25)));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn an_interrupted_run_moves_nothing() {
        let quiet = Summary::of(&[10.0, 10.1, 10.2, 10.3, 10.4]).unwrap();
        let disturbed = Summary::of(&[10.0, 10.1, 10.2, 10.3, 9000.0]).unwrap();
        assert_eq!((quiet.low, quiet.median, quiet.high), (disturbed.low, disturbed.median, disturbed.high));
    }

    #[test]
    fn one_run_and_estimates_say_little() {
        let one = Summary::of(&[100.0]).unwrap();
        assert_eq!((one.low, one.high, one.noise(), one.is_estimate()), (80.0, 125.0, None, false));
        let estimate = Summary::estimate(100.0);
        assert_eq!((estimate.low, estimate.high, estimate.is_estimate()), (50.0, 200.0, true));
        let steady = |nanos: f64| Summary::of(&[nanos; 5]).unwrap();
        assert_eq!(one.against(&steady(120.0)).verdict, Verdict::Level);
        assert_eq!(one.against(&steady(130.0)).verdict, Verdict::Faster);
        assert_eq!(estimate.against(&steady(60.0)).verdict, Verdict::Level);
        assert_eq!(
            steady(20.0).against(&estimate),
            Comparison { ratio: 5.0, verdict: Verdict::Faster, is_estimate: true, is_noisy: false }
        );
    }

    #[test]
    fn level_is_what_overlaps_or_hardly_differs() {
        let around = |middle: f64, width: f64| Summary::of(&[middle - width, middle, middle + width]).unwrap();
        // The middle halves of wide runs overlap, those of narrow ones do not.
        assert_eq!(around(10.0, 8.0).against(&around(15.0, 8.0)).verdict, Verdict::Level);
        assert_eq!(around(10.0, 1.0).against(&around(15.0, 1.0)).verdict, Verdict::Faster);
        assert_eq!(around(15.0, 1.0).against(&around(10.0, 1.0)).verdict, Verdict::Slower);
        let doubtful = around(10.0, 1.0).against(&around(50.0, 30.0));
        assert!(doubtful.verdict == Verdict::Faster && doubtful.is_noisy, "{doubtful:?}");
        // Four percent is too little to speak of.
        assert_eq!(around(10.0, 0.0).against(&around(10.4, 0.0)).verdict, Verdict::Level);
        assert_eq!(around(10.0, 0.0).against(&around(10.6, 0.0)).verdict, Verdict::Faster);
        assert_eq!(around(15.0, 1.0).against(&around(10.0, 1.0)).factor(), 1.5);
        // Most runs of the second were interrupted. Its quickest one was not, and is as quick as the first.
        let interrupted = Summary::of(&[10.0, 80.0, 90.0, 95.0, 99.0]).unwrap();
        assert_eq!(around(10.0, 0.3).against(&interrupted).verdict, Verdict::Level);
        assert_eq!(interrupted.against(&around(10.0, 0.3)).verdict, Verdict::Level);
    }

    #[test]
    fn parts_are_of_the_same_shape() {
        let whole = Summary::of(&[10.0, 20.0, 30.0, 40.0, 50.0]).unwrap();
        let part = whole.per(10.0);
        assert_eq!((part.runs, part.min, part.low, part.median, part.high), (5, 1.0, 2.0, 3.0, 4.0));
        assert_eq!(part.noise(), whole.noise());
    }
}
