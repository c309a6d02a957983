//! [`FixedStep`]: how many steps of equal length fit into the time that has passed.

/// Divides the time that has passed into steps of equal length.
///
/// It has no clock, and counts in whole nanoseconds. So the same times give the same steps. It is plain data, and can be a
/// resource that is [kept](phalanx::ResourcesMut::keep) in checkpoints.
///
/// ```
/// use phalanx_schedule::FixedStep;
///
/// let mut step = FixedStep::from_hz(50);
/// assert_eq!(step.advance(45_000_000).count, 2); // 20 ms each
/// assert_eq!(step.advance(15_000_000).count, 1); // 5 ms were left
/// assert_eq!(step.alpha(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "FixedUpdate")]
#[doc(alias = "FixedTimestep")]
pub struct FixedStep {
    /// The length of a step, in nanoseconds. It is at least one.
    step_ns: u64,
    /// The time that has passed since the last step.
    carry_ns: u64,
    /// The largest number of steps at once.
    max: u32,
}

/// The steps that [`FixedStep::advance`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The number of steps to run now.
    pub count: u32,
    /// The number of steps that were skipped, because too much time has passed.
    pub skipped: u64,
}

impl FixedStep {
    /// Creates steps of this length, at most eight at once.
    ///
    /// # Panics
    ///
    /// Panics if the length is zero.
    #[track_caller]
    pub const fn from_nanos(step_ns: u64) -> FixedStep {
        assert!(step_ns > 0, "a step has a length");
        FixedStep { step_ns, carry_ns: 0, max: 8 }
    }

    /// Creates as many steps a second, at most eight at once.
    ///
    /// # Panics
    ///
    /// Panics if the number is zero, or more than a thousand million.
    #[track_caller]
    pub const fn from_hz(hz: u32) -> FixedStep {
        assert!(hz > 0, "a step has a length");
        FixedStep::from_nanos(1_000_000_000 / hz as u64)
    }

    /// Sets the largest number of steps at once. Further steps are skipped, so that a slow program does not fall behind more
    /// and more.
    #[must_use]
    pub const fn with_max(mut self, max: u32) -> FixedStep {
        self.max = max;
        self
    }

    /// Adds the time that has passed, and returns the steps that fit into it.
    pub fn advance(&mut self, elapsed_ns: u64) -> Steps {
        // As a wide number: a sum of two long times must not wrap.
        let time = u128::from(self.carry_ns) + u128::from(elapsed_ns);
        let steps = time / u128::from(self.step_ns);
        self.carry_ns = (time % u128::from(self.step_ns)) as u64;
        let count = steps.min(u128::from(self.max)) as u32;
        Steps { count, skipped: u64::try_from(steps - u128::from(count)).unwrap_or(u64::MAX) }
    }

    /// Returns the length of a step, in nanoseconds.
    pub const fn step_nanos(&self) -> u64 {
        self.step_ns
    }

    /// Returns the part of a step that has passed since the last one, from 0 to 1, for interpolation.
    pub fn alpha(&self) -> f64 {
        self.carry_ns as f64 / self.step_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost() {
        let mut step = FixedStep::from_nanos(7).with_max(u32::MAX);
        let (mut steps, mut time) = (0, 0);
        for elapsed in (0..1000).map(|n| n * 37 % 101) {
            time += elapsed;
            steps += u64::from(step.advance(elapsed).count);
            assert_eq!(steps, time / 7);
        }
    }

    #[test]
    fn too_much_time_is_skipped_and_counted() {
        let mut step = FixedStep::from_nanos(10).with_max(3);
        assert_eq!(step.advance(100), Steps { count: 3, skipped: 7 });
        assert_eq!(step.advance(10), Steps { count: 1, skipped: 0 });
        assert_eq!(step.advance(u64::MAX).count, 3);
        assert_eq!(step.advance(u64::MAX).count, 3);
    }
}
