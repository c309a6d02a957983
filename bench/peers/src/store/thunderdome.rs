//! thunderdome: an arena with generations.

use super::{Body, store};
use thunderdome::{Arena, Index};

store!(Thunderdome(Arena<Body>), "thunderdome", Index, remove, |s, f| s.iter_mut().for_each(|(_, body)| f(body)));
