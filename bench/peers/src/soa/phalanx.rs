//! `Soa` of `phalanx-store`: all fields in one allocation.

use super::{Rows, digest, particle, sum};
use crate::harness::Ways;
use phalanx::store::Soa;

particle!(
    #[derive(Soa)]
    #[soa(crate = "phalanx::store")]
    Particle
);

#[derive(Default)]
pub struct Lanes(Soa<Particle>);

impl Rows for Lanes {
    const NAME: &'static str = "phalanx Soa";

    fn fill(&mut self, n: usize) {
        (0..n).for_each(|i| self.0.push(Particle::new(i)));
    }

    fn sum_mass(&self) -> f32 {
        sum(self.0.lanes().mass)
    }

    fn update(&mut self) {
        let lanes = self.0.lanes_mut();
        lanes.x.iter_mut().zip(lanes.vx).for_each(|(x, v)| *x += *v * 0.5);
    }

    fn sort(ways: &mut Ways<Self>) {
        ways.add("sort_by_scalar", |rows| rows.0.sort_by_scalar(|row| *row.mass));
        ways.add("sort_unstable_by", |rows| rows.0.sort_unstable_by(|a, b| a.mass.total_cmp(b.mass)));
    }

    fn digest(&self) -> u64 {
        digest(self.0.lanes().mass.iter().zip(self.0.lanes().x))
    }
}
