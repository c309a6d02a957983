//! A key of one's own could answer differently each time.

use phalanx_store::Key;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Mine;

impl Key for Mine {
    fn index(self) -> u32 {
        0
    }
    fn generation(self) -> u32 {
        1 << 31
    }
}

fn main() {}
