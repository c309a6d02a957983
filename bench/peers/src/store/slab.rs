//! slab: an arena without generations. A stale key finds a stranger.

use super::{Body, store};

store!(Slab(slab::Slab<Body>), "slab (no generations)", usize, try_remove, |s, f| s
    .iter_mut()
    .for_each(|(_, body)| f(body)));
