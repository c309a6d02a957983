use phalanx_store::Soa;
use std::cell::Cell;
use std::rc::Rc;

#[derive(Soa)]
struct Counted {
    count: Rc<u32>,
}

#[derive(Soa)]
struct Shared {
    cell: Cell<u32>,
}

fn send<T: Send>(_: T) {}
fn sync<T: Sync>(_: T) {}

fn main() {
    send(Soa::<Counted>::new());
    send(Soa::<Shared>::new());
    sync(Soa::<Shared>::new());
    send(Soa::<Shared>::new().iter());
    send(Soa::<Counted>::new().iter_mut());
}
