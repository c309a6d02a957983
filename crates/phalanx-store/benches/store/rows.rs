//! Structure of arrays against vectors written by hand: eight `f32` fields.

use phalanx_store::Soa;
use phalanx_testkit::bench::{Build, Case, Workload, mix, time};
use std::hint::black_box;

#[derive(Clone, Copy, Debug, Default, Soa)]
pub struct Particle {
    x: f32,
    y: f32,
    z: f32,
    vx: f32,
    vy: f32,
    vz: f32,
    mass: f32,
    life: f32,
}

impl Particle {
    #[inline(always)]
    fn new(i: usize) -> Particle {
        let f = i as f32;
        // A scrambled permutation of 20-bit numbers: with distinct masses, all sorts agree.
        let mut m = i as u32;
        m = (m ^ (m >> 10)).wrapping_mul(0x9e37_79b1) & 0xf_ffff;
        m = (m ^ (m >> 7)).wrapping_mul(0x85eb_ca6b) & 0xf_ffff;
        let mass = (m ^ (m >> 11)) as f32;
        Particle { x: f, y: 1.0, z: 2.0, vx: 0.5, vy: 0.25, vz: 0.125, mass, life: f }
    }
}

type Columns = [Vec<f32>; 8];

fn columns(n: usize) -> Columns {
    let column = |f: fn(Particle) -> f32| (0..n).map(|i| f(Particle::new(i))).collect();
    [
        column(|p| p.x),
        column(|p| p.y),
        column(|p| p.z),
        column(|p| p.vx),
        column(|p| p.vy),
        column(|p| p.vz),
        column(|p| p.mass),
        column(|p| p.life),
    ]
}

fn digest<'a>(rows: impl Iterator<Item = (&'a f32, &'a f32)>) -> u64 {
    rows.fold(0, |d, (m, x)| mix(d ^ u64::from(m.to_bits()) << 32 ^ u64::from(x.to_bits())))
}

fn digest_soa(soa: &Soa<Particle>) -> u64 {
    let lanes = soa.lanes();
    digest(lanes.mass.iter().zip(lanes.x))
}

/// Eight partial sums: the form that the compiler can vectorise without reordering.
#[inline(always)]
fn sum(values: &[f32]) -> f32 {
    let mut acc = [0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (a, v) in acc.iter_mut().zip(chunk) {
            *a += v;
        }
    }
    acc.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

fn soa(n: usize) -> Soa<Particle> {
    (0..n).map(Particle::new).collect()
}

const N: usize = 1_000_000;

pub fn all() -> Vec<Workload> {
    let w = |name, build| Workload { name, ops: N as f64, build };
    vec![
        w(
            "soa: one field 1M",
            vec![
                Box::new(|| {
                    let values = columns(N);
                    Case::new("by hand", move |_| {
                        let (ns, s) = time(|| sum(black_box(&values[6])));
                        (ns, u64::from(s.to_bits()))
                    })
                }) as Build,
                Box::new(|| {
                    let values = soa(N);
                    Case::new("Soa", move |_| {
                        let (ns, s) = time(|| sum(black_box(&values).lanes().mass));
                        (ns, u64::from(s.to_bits()))
                    })
                }),
            ],
        ),
        w(
            "soa: push with room 1M",
            vec![
                push("Vec<struct>", Vec::with_capacity, Vec::push, |v: &Vec<Particle>| {
                    digest(v.iter().map(|p| (&p.mass, &p.x)))
                }),
                push("Soa", Soa::with_capacity, Soa::push, digest_soa),
            ],
        ),
        w(
            "soa: push growing 1M",
            vec![
                push(
                    "Vec<struct>",
                    |_| Vec::<Particle>::new(),
                    Vec::push,
                    |v: &Vec<Particle>| digest(v.iter().map(|p| (&p.mass, &p.x))),
                ),
                push("Soa", |_| Soa::<Particle>::new(), Soa::push, digest_soa),
            ],
        ),
        w(
            "soa: extend by columns 1M",
            vec![
                Box::new(|| {
                    let source = columns(N);
                    Case::new("by hand", move |check| {
                        let mut target: Columns = Default::default();
                        target.iter_mut().for_each(|c| c.reserve(N));
                        let (ns, ()) = time(|| {
                            target.iter_mut().zip(&source).for_each(|(to, from)| to.extend_from_slice(from));
                        });
                        (ns, if check { digest(target[6].iter().zip(&target[0])) } else { 0 })
                    })
                }),
                Box::new(|| {
                    let source = soa(N);
                    Case::new("Soa", move |check| {
                        let mut target: Soa<Particle> = Soa::with_capacity(N);
                        let (ns, ()) = time(|| target.extend_lanes(source.lanes()).expect("lanes of one length"));
                        (ns, if check { digest_soa(&target) } else { 0 })
                    })
                }),
            ],
        ),
        w(
            "soa: sort by one field 1M",
            vec![
                Box::new(|| {
                    Case::new("by hand", move |check| {
                        let mut c = columns(N);
                        let (ns, ()) = time(|| {
                            // Masses are not negative: their bits order as they do.
                            let key = |(i, m): (usize, &f32)| u64::from(m.to_bits()) << 32 | i as u64;
                            let mut order: Vec<u64> = c[6].iter().enumerate().map(key).collect();
                            order.sort_unstable();
                            for column in &mut c {
                                *column = order.iter().map(|o| column[*o as u32 as usize]).collect();
                            }
                        });
                        (ns, if check { digest(c[6].iter().zip(&c[0])) } else { 0 })
                    })
                }),
                Box::new(|| {
                    Case::new("Soa", move |check| {
                        let mut values = soa(N);
                        let (ns, ()) = time(|| values.sort_by_scalar(|p| *p.mass));
                        (ns, if check { digest_soa(&values) } else { 0 })
                    })
                }),
            ],
        ),
    ]
}

fn push<S: 'static>(
    label: &'static str,
    new: impl Fn(usize) -> S + Copy + 'static,
    push: impl Fn(&mut S, Particle) + Copy + 'static,
    digest: impl Fn(&S) -> u64 + Copy + 'static,
) -> Build {
    Box::new(move || {
        Case::new(label, move |check| {
            let (ns, all) = time(|| {
                let mut all = new(N);
                for i in 0..N {
                    push(&mut all, Particle::new(i));
                }
                all
            });
            (ns, if check { digest(&all) } else { 0 })
        })
    })
}
