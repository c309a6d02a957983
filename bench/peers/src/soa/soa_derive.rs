//! soa_derive: a vector for each field.

use super::{Rows, digest, particle, sum};
use crate::harness::Ways;

particle!(
    #[derive(soa_derive::StructOfArray)]
    Particle
);

#[derive(Default)]
pub struct SoaDerive(ParticleVec);

impl Rows for SoaDerive {
    const NAME: &'static str = "soa_derive";

    fn fill(&mut self, n: usize) {
        (0..n).for_each(|i| self.0.push(Particle::new(i)));
    }

    fn sum_mass(&self) -> f32 {
        sum(&self.0.mass)
    }

    fn update(&mut self) {
        self.0.x.iter_mut().zip(&self.0.vx).for_each(|(x, v)| *x += v * 0.5);
    }

    fn sort(ways: &mut Ways<Self>) {
        ways.add("", |rows| rows.0.as_mut_slice().sort_by(|a, b| a.mass.total_cmp(b.mass)));
    }

    fn digest(&self) -> u64 {
        digest(self.0.mass.iter().zip(&self.0.x))
    }
}
