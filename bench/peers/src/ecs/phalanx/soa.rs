//! Components in tables, each field in a lane of its own: items for writing are structs of references, chunks structs
//! of slices.

use super::components;
use crate::data;

components!("soa" derive(::phalanx::store::Soa));

#[inline(always)]
pub fn step(p: PositionMut<'_>, v: Velocity) {
    *p.x += v.x;
    *p.y += v.y;
    *p.z += v.z;
}

#[inline(always)]
pub fn join(p: PositionMut<'_>, v: Velocity, e: Extra) {
    *p.x += v.x * e.v;
    *p.y += v.y * e.v;
    *p.z += v.z * e.v;
}

#[inline(always)]
pub fn heavy(t: TransformMut<'_>, p: PositionMut<'_>) {
    [*p.x, *p.y, *p.z] = data::heavy_work(t.m, [*p.x, *p.y, *p.z]);
}

#[inline(always)]
pub fn double(d: DataMut<'_>) {
    *d.v *= 2.0;
}

#[inline(always)]
pub fn step_chunk((p, v): (PositionLanesMut<'_>, VelocityLanes<'_>)) {
    for (p, v) in [(p.x, v.x), (p.y, v.y), (p.z, v.z)] {
        p.iter_mut().zip(v).for_each(|(p, v)| *p += v);
    }
}

#[inline(always)]
pub fn join_chunk((p, v, e): (PositionLanesMut<'_>, VelocityLanes<'_>, ExtraLanes<'_>)) {
    for (p, v) in [(p.x, v.x), (p.y, v.y), (p.z, v.z)] {
        p.iter_mut().zip(v).zip(e.v).for_each(|((p, v), e)| *p += v * e);
    }
}

#[inline(always)]
pub fn field_chunk(sum: u32, p: PositionLanes<'_>) -> u32 {
    p.x.iter().fold(sum, |sum, x| sum.wrapping_add(x.to_bits()))
}
