//! A world keeps the state of a filter, and goes to other threads with it.
use phalanx::query::QueryFilter;
use phalanx::{Components, Signature};
use std::rc::Rc;

struct Sticky;

impl QueryFilter for Sticky {
    type State = Rc<u32>;
    fn state(_: &Components) -> Rc<u32> {
        Rc::new(1)
    }
    fn passes(_: &Rc<u32>, _: &Signature) -> bool {
        true
    }
}

fn main() {}
