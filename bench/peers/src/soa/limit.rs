//! A vector for each field, by hand.

use super::{Rows, digest, particle, sum};
use crate::harness::{LIMIT, Ways};

particle!(Particle);

#[derive(Default)]
pub struct Columns {
    c: [Vec<f32>; 8],
}

impl Rows for Columns {
    const NAME: &'static str = LIMIT;

    /// Column by column, with known lengths.
    fn fill(&mut self, n: usize) {
        macro_rules! fill {
            ($($k:tt $f:ident)*) => { $( self.c[$k].extend((0..n).map(|i| Particle::new(i).$f)); )* };
        }
        fill!(0 x 1 y 2 z 3 vx 4 vy 5 vz 6 mass 7 life);
    }

    fn sum_mass(&self) -> f32 {
        sum(&self.c[6])
    }

    fn update(&mut self) {
        let [x, _, _, vx, ..] = &mut self.c;
        x.iter_mut().zip(&*vx).for_each(|(x, v)| *x += v * 0.5);
    }

    /// Sorts pairs of mass and row, then gathers each column.
    fn sort(ways: &mut Ways<Self>) {
        ways.add("", |rows| {
            // Masses are not negative: they are ordered as their bits are.
            let pair = |(i, m): (usize, &f32)| (u64::from(m.to_bits()) << 32) | i as u64;
            let mut order: Vec<u64> = rows.c[6].iter().enumerate().map(pair).collect();
            order.sort_unstable();
            for c in &mut rows.c {
                *c = order.iter().map(|o| c[*o as u32 as usize]).collect();
            }
        });
    }

    fn digest(&self) -> u64 {
        digest(self.c[6].iter().zip(&self.c[0]))
    }
}
