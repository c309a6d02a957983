//! A place does not outlive a change of its container.

use phalanx_store::SlotStore;
use phalanx_store::iter::Emptying;

fn main() {
    let mut store = SlotStore::new();
    let keys = [1, 2].map(|value| store.insert(Box::new(value)));
    let mut place = store.start();
    let first = store.take_first(&mut place);
    let second = store.remove(keys[1]);
    let again = store.take_first(&mut place);
    drop((first, second, again));
}
