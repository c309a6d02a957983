//! Components whose items are references: in tables, each in one lane, in pools and in linear stores.

macro_rules! flat {
    ($module:ident, $layout:literal) => {
        // Tables have chunks, pools in groups have slices, linear stores have neither.
        #[allow(dead_code)]
        pub mod $module {
            use crate::data;

            crate::ecs::phalanx::components!($layout derive(::phalanx::store::Flat));

            #[inline(always)]
            pub fn step(p: &mut Position, v: &Velocity) {
                p.x += v.x;
                p.y += v.y;
                p.z += v.z;
            }

            #[inline(always)]
            pub fn join(p: &mut Position, v: &Velocity, e: &Extra) {
                p.x += v.x * e.v;
                p.y += v.y * e.v;
                p.z += v.z * e.v;
            }

            #[inline(always)]
            pub fn heavy(t: &mut Transform, p: &mut Position) {
                let [x, y, z] = data::heavy_work(&mut t.m, [p.x, p.y, p.z]);
                *p = Position { x, y, z };
            }

            #[inline(always)]
            pub fn double(d: &mut Data) {
                d.v *= 2.0;
            }

            #[inline(always)]
            pub fn step_chunk((p, v): (&mut [Position], &[Velocity])) {
                p.iter_mut().zip(v).for_each(|(p, v)| step(p, v));
            }

            #[inline(always)]
            pub fn join_chunk((p, v, e): (&mut [Position], &[Velocity], &[Extra])) {
                p.iter_mut().zip(v).zip(e).for_each(|((p, v), e)| join(p, v, e));
            }

            #[inline(always)]
            pub fn field_chunk(sum: u32, p: &[Position]) -> u32 {
                p.iter().fold(sum, |sum, p| sum.wrapping_add(p.x.to_bits()))
            }
        }
    };
}

flat!(table, "table");
flat!(pool, "pool");
flat!(linear, "linear");
