//! A plain vector of structs.

use super::{Rows, digest, particle};
use crate::harness::Ways;

particle!(Particle);

#[derive(Default)]
pub struct Structs(Vec<Particle>);

impl Rows for Structs {
    const NAME: &'static str = "Vec<struct>";

    fn fill(&mut self, n: usize) {
        (0..n).for_each(|i| self.0.push(Particle::new(i)));
    }

    fn sum_mass(&self) -> f32 {
        let mut sums = [0f32; 8];
        for rows in self.0.chunks(8) {
            sums.iter_mut().zip(rows).for_each(|(sum, p)| *sum += p.mass);
        }
        sums.iter().sum()
    }

    fn update(&mut self) {
        self.0.iter_mut().for_each(|p| p.x += p.vx * 0.5);
    }

    fn sort(ways: &mut Ways<Self>) {
        ways.add("", |rows| rows.0.sort_unstable_by(|a, b| a.mass.total_cmp(&b.mass)));
    }

    fn digest(&self) -> u64 {
        digest(self.0.iter().map(|p| (&p.mass, &p.x)))
    }
}
