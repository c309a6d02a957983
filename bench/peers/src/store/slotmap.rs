//! slotmap: three maps with generations.
#![allow(deprecated)] // HopSlotMap is, and still is measured.

use super::{Body, store};
use slotmap::{DefaultKey, DenseSlotMap, HopSlotMap, SlotMap};

store!(Slot(SlotMap<DefaultKey, Body>), "slotmap::SlotMap", DefaultKey, remove, |s, f| s.values_mut().for_each(f));
store!(Hop(HopSlotMap<DefaultKey, Body>), "slotmap::HopSlotMap", DefaultKey, remove, |s, f| s.values_mut().for_each(f));
// Its slice of values is quicker to walk over than its `values_mut`, which visits the keys as well.
store!(Dense(DenseSlotMap<DefaultKey, Body>), "slotmap::DenseSlotMap", DefaultKey, remove, |s, f| s
    .values_as_mut_slice()
    .iter_mut()
    .for_each(f));
