//! soa-rs: all fields in one allocation. It has no sort.
#![allow(dead_code)] // The derive makes accessors of all fields.

use super::{Rows, digest, particle, sum};
use soa_rs::{Soa, Soars};

particle!(
    #[derive(Soars)]
    Particle
);

#[derive(Default)]
pub struct SoaRs(Soa<Particle>);

impl Rows for SoaRs {
    const NAME: &'static str = "soa-rs";

    fn fill(&mut self, n: usize) {
        (0..n).for_each(|i| self.0.push(Particle::new(i)));
    }

    fn sum_mass(&self) -> f32 {
        sum(self.0.mass())
    }

    fn update(&mut self) {
        let slices = self.0.slices_mut();
        slices.x.iter_mut().zip(&*slices.vx).for_each(|(x, v)| *x += v * 0.5);
    }

    fn digest(&self) -> u64 {
        digest(self.0.mass().iter().zip(self.0.x()))
    }
}
