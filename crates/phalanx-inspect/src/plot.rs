//! [`Plot`]: a value over the last frames.

use core::fmt;
use phalanx::World;
use std::collections::VecDeque;

/// The number of samples that are kept.
pub(crate) const SAMPLES: usize = 1200;

type Sample = dyn FnMut(&World) -> f64 + Send;

/// A value that the program names, over the last frames.
pub(crate) struct Plot {
    pub(crate) name: String,
    sample: Box<Sample>,
    /// The values of the last frames, the newest at the end.
    pub(crate) values: VecDeque<f64>,
}

impl Plot {
    pub(crate) fn new(name: String, sample: Box<Sample>) -> Plot {
        Plot { name, sample, values: VecDeque::new() }
    }

    /// Adds a value. The oldest one is dropped if there are too many.
    pub(crate) fn sample(&mut self, world: &World) {
        let value = (self.sample)(world);
        if self.values.len() == SAMPLES {
            self.values.pop_front();
        }
        if self.values.try_reserve(1).is_ok() {
            self.values.push_back(value);
        }
    }
}

impl fmt::Debug for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plot({:?}, {} values)", self.name, self.values.len())
    }
}
