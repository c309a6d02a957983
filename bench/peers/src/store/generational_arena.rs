//! generational-arena: an arena with generations.

use super::{Body, store};
use generational_arena::{Arena, Index};

store!(GenerationalArena(Arena<Body>), "generational-arena", Index, remove, |s, f| s
    .iter_mut()
    .for_each(|(_, body)| f(body)));
