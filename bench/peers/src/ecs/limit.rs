//! What a program written for each workload alone does with plain vectors. Where a workload needs no handles there are
//! none; where entities end, slots with a stack of free ones and swap removal stand in for them.

use super::{Ecs, Field, Program, Reading};
use crate::data::*;
use crate::harness::{LIMIT, Ways};

#[derive(Default)]
pub struct Limit {
    transform: Vec<Transform>,
    position: Vec<Position>,
    rotation: Vec<Rotation>,
    velocity: Vec<Velocity>,
    /// The slot of each row, and the row of each slot.
    slot: Vec<u32>,
    row: Vec<u32>,
    free: Vec<u32>,
    /// Whether rows have all four.
    four: bool,
    /// Positions of entities without a velocity.
    still: Vec<Position>,
    /// Rows that also have an extra, apart.
    rare: (Vec<Position>, Vec<Velocity>, Vec<Extra>),
    /// One field of all positions, by itself.
    x: Vec<f32>,
    data: Vec<Data>,
    a: Vec<A>,
    b: Vec<B>,
    has_b: Vec<bool>,
    /// A and B of all, C and D, C and E of those that have them, C of the rest.
    swapped: [Vec<f32>; 7],
}

impl Limit {
    #[inline]
    fn new_slot(&mut self) -> u32 {
        let row = self.slot.len() as u32;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.row[slot as usize] = row;
                slot
            }
            None => {
                self.row.push(row);
                self.row.len() as u32 - 1
            }
        };
        self.slot.push(slot);
        slot
    }
}

impl Ecs for Limit {
    const NAME: &'static str = LIMIT;
    type Entity = u32;

    fn new(program: Program) -> Self {
        Limit { four: program == Program::Four, ..Self::default() }
    }

    #[inline]
    fn spawn_four(&mut self, i: usize) -> u32 {
        let (t, p, r, v) = row(i);
        self.transform.push(t);
        self.position.push(p);
        self.rotation.push(r);
        self.velocity.push(v);
        self.new_slot()
    }

    fn spawn_still(&mut self, i: usize) {
        self.still.push(position(i));
    }

    #[inline]
    fn spawn_moving(&mut self, i: usize) -> u32 {
        self.position.push(position(i));
        self.velocity.push(VELOCITY);
        self.new_slot()
    }

    fn spawn_extra(&mut self, i: usize) {
        self.rare.0.push(position(i));
        self.rare.1.push(VELOCITY);
        self.rare.2.push(EXTRA);
    }

    fn spawn_a(&mut self, v: f32) -> u32 {
        self.a.push(A { v });
        self.b.push(B::default());
        self.has_b.push(false);
        self.a.len() as u32 - 1
    }

    fn spawn_fragments(&mut self) {
        self.data = vec![Data { v: 1.0 }; 520];
    }

    #[inline]
    fn despawn(&mut self, e: u32) {
        let r = self.row[e as usize] as usize;
        self.position.swap_remove(r);
        self.velocity.swap_remove(r);
        if self.four {
            self.transform.swap_remove(r);
            self.rotation.swap_remove(r);
        }
        self.slot.swap_remove(r);
        if let Some(&moved) = self.slot.get(r) {
            self.row[moved as usize] = r as u32;
        }
        self.free.push(e);
    }

    fn add_b(&mut self, order: &[u32]) {
        for &e in order {
            self.b[e as usize] = B { v: 2.0 };
            self.has_b[e as usize] = true;
        }
    }

    fn remove_b(&mut self, order: &[u32]) {
        for &e in order {
            self.has_b[e as usize] = false;
        }
    }

    fn insert_bulk(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            w.transform.extend((0..10_000).map(|i| row(i).0));
            w.position.extend((0..10_000).map(|i| row(i).1));
            w.rotation.extend((0..10_000).map(|i| row(i).2));
            w.velocity.extend((0..10_000).map(|i| row(i).3));
            w.slot.extend(0..10_000);
            w.row.extend(0..10_000);
        });
    }

    fn integrate(ways: &mut Ways<Self>) {
        ways.add("", |w| w.position.iter_mut().zip(&w.velocity).for_each(|(p, v)| integrate(p, v)));
    }

    fn integrate_for(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (p, v) in w.position.iter_mut().zip(&w.velocity) {
                integrate(p, v);
            }
        });
    }

    fn join(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let (p, v, e) = &mut w.rare;
            p.iter_mut().zip(&*v).zip(&*e).for_each(|((p, v), e)| join(p, v, e));
        });
    }

    fn double(ways: &mut Ways<Self>) {
        ways.add("", |w| w.data.iter_mut().for_each(|d| d.v *= 2.0));
    }

    fn heavy(ways: &mut Ways<Self>) {
        ways.add("", |w| w.transform.iter_mut().zip(&mut w.position).for_each(|(t, p)| heavy(t, p)));
    }

    fn heavy_parallel(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let half = w.transform.len() / 2;
            let (ta, tb) = w.transform.split_at_mut(half);
            let (pa, pb) = w.position.split_at_mut(half);
            let work = |t: &mut [Transform], p: &mut [Position]| t.iter_mut().zip(p).for_each(|(t, p)| heavy(t, p));
            rayon::join(|| work(ta, pa), || work(tb, pb));
        });
    }

    fn get(ways: &mut Ways<Reading<Self>>) {
        ways.add("", |r| {
            let position = &r.world.position;
            r.sum += r.order.iter().map(|&e| f64::from(position[e as usize].x)).sum::<f64>();
        });
    }

    fn field(ways: &mut Ways<Field<Self>>) {
        ways.add("", |f| {
            let Limit { position, x, .. } = &mut f.world;
            if x.is_empty() {
                x.extend(position.iter().map(|p| p.x));
            }
            f.sum = x.iter().fold(f.sum, |sum, x| sum.wrapping_add(x.to_bits()));
        });
    }

    fn spawn_schedule(&mut self) {
        let column = |v: f32, n: usize| vec![v; n * 10_000];
        self.swapped = [
            column(0.0, 4),
            column(1.0, 4),
            column(2.0, 1),
            column(3.0, 1),
            column(2.0, 1),
            column(4.0, 1),
            column(2.0, 1),
        ];
    }

    fn schedule(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            let [a, b, c1, d, c2, e, _] = &mut w.swapped;
            a.swap_with_slice(b);
            c1.swap_with_slice(d);
            c2.swap_with_slice(e);
        });
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.position.iter().chain(&self.rare.0).chain(&self.still))
    }

    fn digest_data(&mut self) -> u64 {
        let mut d = Digest::default();
        self.data.iter().for_each(|x| d.scalar(x.v));
        d.0
    }

    fn digest_schedule(&mut self) -> u64 {
        let mut digest = Digest::default();
        let [a, _, c1, d, c2, e, c3] = &self.swapped;
        [a, c1, d, c2, e, c3].into_iter().flatten().for_each(|v| digest.scalar(*v));
        digest.0
    }

    fn count_ab(&mut self) -> u64 {
        self.has_b.iter().filter(|b| **b).count() as u64
    }
}
