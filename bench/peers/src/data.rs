//! What all libraries store and compute: components, rows, digests.

use phalanx_testkit::bench::mix;
use serde::{Deserialize, Serialize};

/// A component of every library but Phalanx, where each layout has types of its own.
macro_rules! component {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty),* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[derive(bevy_ecs::component::Component, shipyard::Component, flecs_ecs::prelude::Component)]
        #[repr(C)]
        pub struct $name { $(pub $field: $type),* }

        impl specs::Component for $name {
            type Storage = specs::VecStorage<Self>;
        }
    };
}

component!(Transform { m: [f32; 16] });
component!(Position { x: f32, y: f32, z: f32 });
component!(Rotation { x: f32, y: f32, z: f32 });
component!(Velocity { x: f32, y: f32, z: f32 });
component!(
    /// The rare one of a join.
    Extra { v: f32 }
);
component!(
    /// What all fragments have.
    Data { v: f32 }
);

component!(
    /// What the nodes of a tree carry along; the first value is the node's number.
    Body { v: [f32; 4] }
);
component!(
    /// The transform of a node relative to its parent.
    Local { m: Matrix }
);
component!(
    /// The transform of a node in the world.
    Global { m: Matrix }
);

/// A 3 × 4 matrix, by columns.
pub type Matrix = [[f32; 3]; 4];

macro_rules! letters {
    ($($name:ident)*) => { $( component!($name { v: f32 }); )* };
}
letters!(A B C D E F G H I J K L M N O P Q R S T U V W X Y Z);

/// Calls a macro with the names of the 26 components that fragment a world, after whatever else it is given.
macro_rules! with_letters {
    ($macro:ident $(, $($head:tt)*)?) => {
        $macro!($($($head)*)? A B C D E F G H I J K L M N O P Q R S T U V W X Y Z)
    };
}
pub(crate) use with_letters;

/// The four components of entity `i`, 100 bytes.
#[inline(always)]
pub fn row(i: usize) -> (Transform, Position, Rotation, Velocity) {
    (TRANSFORM, position(i), ROTATION, VELOCITY)
}

#[inline(always)]
pub fn position(i: usize) -> Position {
    Position { x: i as f32, y: 1.0, z: 2.0 }
}

pub const VELOCITY: Velocity = Velocity { x: 1.0, y: 0.5, z: 0.25 };
pub const ROTATION: Rotation = Rotation { x: 1.0, y: 0.0, z: 0.0 };
pub const EXTRA: Extra = Extra { v: 0.5 };

const COS: f32 = 0.362_357_76;
const SIN: f32 = 0.932_039_1;
/// A rotation about x by 1.2 rad.
pub const TRANSFORM: Transform =
    Transform { m: [1.0, 0.0, 0.0, 0.0, 0.0, COS, SIN, 0.0, 0.0, -SIN, COS, 0.0, 0.0, 0.0, 0.0, 1.0] };

#[inline(always)]
pub fn integrate(p: &mut Position, v: &Velocity) {
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
pub fn body(i: usize) -> Body {
    Body { v: [i as f32; 4] }
}

/// The transform of node `i` relative to its parent.
pub fn local(i: usize) -> Matrix {
    let x = (i % 17) as f32 * 0.01;
    [[1.0, x, 0.0], [-x, 1.0, 0.0], [0.0, 0.0, 1.0], [x, 1.0, -x]]
}

#[inline(always)]
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut product = [[0.0; 3]; 4];
    for (column, of) in product.iter_mut().zip(b) {
        for (row, value) in column.iter_mut().enumerate() {
            *value = a[0][row] * of[0] + a[1][row] * of[1] + a[2][row] * of[2];
        }
    }
    for row in 0..3 {
        product[3][row] += a[3][row];
    }
    product
}

/// The parents of 48 trees with a fan-out of 4, 4, 3, 3, 2 and 2, by depth.
pub fn shape() -> Vec<Option<usize>> {
    let mut parents = vec![None; 48];
    let mut level = 0..48;
    for fan_out in [4, 4, 3, 3, 2, 2] {
        let start = parents.len();
        for parent in level {
            parents.extend((0..fan_out).map(|_| Some(parent)));
        }
        level = start..parents.len();
    }
    parents
}

/// Whether entity `i` is among the `percent` of all that are chosen, scattered evenly.
#[inline]
pub fn chosen(i: usize, percent: usize) -> bool {
    mix(i as u64 + 1) % 100 < percent as u64
}

/// A hundred inversions, then the transform of the position.
#[inline]
pub fn heavy(t: &mut Transform, p: &mut Position) {
    let [x, y, z] = heavy_work(&mut t.m, [p.x, p.y, p.z]);
    *p = Position { x, y, z };
}

#[inline(never)]
pub fn heavy_work(m: &mut [f32; 16], [x, y, z]: [f32; 3]) -> [f32; 3] {
    for _ in 0..100 {
        *m = inverse(m);
    }
    [m[0] * x + m[4] * y + m[8] * z, m[1] * x + m[5] * y + m[9] * z, m[2] * x + m[6] * y + m[10] * z]
}

#[rustfmt::skip]
fn inverse(m: &[f32; 16]) -> [f32; 16] {
    let s0 = m[0] * m[5] - m[4] * m[1];
    let s1 = m[0] * m[6] - m[4] * m[2];
    let s2 = m[0] * m[7] - m[4] * m[3];
    let s3 = m[1] * m[6] - m[5] * m[2];
    let s4 = m[1] * m[7] - m[5] * m[3];
    let s5 = m[2] * m[7] - m[6] * m[3];
    let c5 = m[10] * m[15] - m[14] * m[11];
    let c4 = m[9] * m[15] - m[13] * m[11];
    let c3 = m[9] * m[14] - m[13] * m[10];
    let c2 = m[8] * m[15] - m[12] * m[11];
    let c1 = m[8] * m[14] - m[12] * m[10];
    let c0 = m[8] * m[13] - m[12] * m[9];
    let d = 1.0 / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
    [
        ( m[5] * c5 - m[6] * c4 + m[7] * c3) * d,
        (-m[1] * c5 + m[2] * c4 - m[3] * c3) * d,
        ( m[13] * s5 - m[14] * s4 + m[15] * s3) * d,
        (-m[9] * s5 + m[10] * s4 - m[11] * s3) * d,
        (-m[4] * c5 + m[6] * c2 - m[7] * c1) * d,
        ( m[0] * c5 - m[2] * c2 + m[3] * c1) * d,
        (-m[12] * s5 + m[14] * s2 - m[15] * s1) * d,
        ( m[8] * s5 - m[10] * s2 + m[11] * s1) * d,
        ( m[4] * c4 - m[5] * c2 + m[7] * c0) * d,
        (-m[0] * c4 + m[1] * c2 - m[3] * c0) * d,
        ( m[12] * s4 - m[13] * s2 + m[15] * s0) * d,
        (-m[8] * s4 + m[9] * s2 - m[11] * s0) * d,
        (-m[4] * c3 + m[5] * c1 - m[6] * c0) * d,
        ( m[0] * c3 - m[1] * c1 + m[2] * c0) * d,
        (-m[12] * s3 + m[13] * s1 - m[14] * s0) * d,
        ( m[8] * s3 - m[9] * s1 + m[10] * s0) * d,
    ]
}

/// A digest that does not depend on order.
#[derive(Default)]
pub struct Digest(pub u64);

impl Digest {
    #[inline]
    pub fn position(&mut self, x: f32, y: f32, z: f32) {
        self.word(u64::from(x.to_bits()) ^ (u64::from(y.to_bits()) << 32) ^ mix(u64::from(z.to_bits())));
    }

    #[inline]
    pub fn scalar(&mut self, v: f32) {
        self.word(u64::from(v.to_bits()));
    }

    /// A node of a tree and its parent, if it has one.
    #[inline]
    pub fn link(&mut self, child: &[f32; 4], parent: Option<&[f32; 4]>) {
        let parent = parent.map_or(u32::MAX, |parent| parent[0].to_bits());
        self.word(u64::from(child[0].to_bits()) ^ (u64::from(parent) << 32));
    }

    /// Each value with its place, so that the same values elsewhere are another matrix.
    #[inline]
    pub fn matrix(&mut self, m: &Matrix) {
        let values = m.as_flattened().iter().zip(0u64..);
        self.word(values.fold(0, |sum, (value, at)| sum ^ mix(u64::from(value.to_bits()) ^ (at << 32))));
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = self.0.wrapping_add(mix(word.wrapping_add(1)));
    }
}

/// The digest of all positions.
pub fn digest_positions<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    let mut digest = Digest::default();
    positions.for_each(|p| digest.position(p.x, p.y, p.z));
    digest.0
}
