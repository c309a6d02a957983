//! Two lanes of different rows cannot be exchanged by safe code: the bytes of the one would be read as the other's.

use phalanx_store::raw::LaneOf;

fn main() {
    let (mut bytes, mut words) = (LaneOf::<u8>::new(), LaneOf::<u64>::new());
    bytes.try_grow(8).unwrap();
    std::mem::swap(bytes.erased(), words.erased());
}
