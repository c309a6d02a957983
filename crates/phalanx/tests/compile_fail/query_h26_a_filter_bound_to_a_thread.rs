//! What a filter keeps goes with the world from thread to thread.

use phalanx::query::QueryFilter;
use phalanx::{Components, Signature};
use std::rc::Rc;

struct Bound;

impl QueryFilter for Bound {
    type State = Rc<u32>;

    fn state(_: &Components) -> Rc<u32> {
        Rc::new(1)
    }

    fn passes(_: &Rc<u32>, _: &Signature) -> bool {
        true
    }
}

fn main() {}
