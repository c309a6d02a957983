//! [`TicksRef`] and [`TicksMut`]: the ticks of a value, where they are stored.
//!
//! Those of components are in two lanes, so that loops over either are loops over contiguous numbers.
#![allow(unsafe_code)]

use super::Tick;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::raw::Lane;

/// The ticks at which a value was added and changed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentTicks {
    pub(crate) added: Tick,
    pub(crate) changed: Tick,
}

impl ComponentTicks {
    /// Returns the ticks of a value that is added now.
    #[inline(always)]
    pub(crate) fn new(now: Tick) -> ComponentTicks {
        ComponentTicks { added: now, changed: now }
    }
}

/// The ticks of a value outside of lanes: that of a resource.
#[derive(Debug)]
pub(crate) struct AtomicTicks {
    added: AtomicU32,
    changed: AtomicU32,
}

impl AtomicTicks {
    /// Creates the ticks of a value that is added now.
    pub(crate) fn new(now: Tick) -> AtomicTicks {
        ComponentTicks::new(now).into()
    }

    /// Returns a reference to both.
    #[inline(always)]
    pub(crate) fn by_ref(&self) -> TicksRef<'_> {
        TicksRef { added: &self.added, changed: &self.changed }
    }

    /// Returns a reference to both, for writing.
    #[inline(always)]
    pub(crate) fn by_mut(&mut self) -> TicksMut<'_> {
        // SAFETY: the ticks are borrowed exclusively.
        unsafe { TicksMut::new(self.by_ref()) }
    }
}

impl From<ComponentTicks> for AtomicTicks {
    fn from(ticks: ComponentTicks) -> AtomicTicks {
        AtomicTicks { added: AtomicU32::new(ticks.added.0), changed: AtomicU32::new(ticks.changed.0) }
    }
}

/// A reference to the ticks of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TicksRef<'a> {
    pub(super) added: &'a AtomicU32,
    pub(super) changed: &'a AtomicU32,
}

impl TicksRef<'_> {
    /// Returns the tick at which the value was added.
    #[inline(always)]
    pub(crate) fn added(self) -> Tick {
        Tick(self.added.load(Ordering::Relaxed))
    }

    /// Returns the change tick.
    #[inline(always)]
    pub(crate) fn changed(self) -> Tick {
        Tick(self.changed.load(Ordering::Relaxed))
    }

    /// Sets the tick at which the value was added.
    #[inline(always)]
    pub(crate) fn set_added(self, added: Tick) {
        self.added.store(added.0, Ordering::Relaxed);
    }

    /// Sets the change tick.
    #[inline(always)]
    pub(crate) fn set_changed(self, now: Tick) {
        self.changed.store(now.0, Ordering::Relaxed);
    }

    /// Returns both ticks.
    #[inline(always)]
    pub(crate) fn get(self) -> ComponentTicks {
        ComponentTicks { added: self.added(), changed: self.changed() }
    }

    /// Sets the ticks of a value that is inserted now, in place of another one or not.
    pub(crate) fn set_inserted(self, replaces: bool, now: Tick) {
        if !replaces {
            self.set_added(now);
        }
        self.set_changed(now);
    }

    /// Sets both ticks.
    #[inline(always)]
    pub(crate) fn set(self, ticks: ComponentTicks) {
        self.set_added(ticks.added);
        self.set_changed(ticks.changed);
    }
}

/// A reference to the ticks of a value whose user may set the change tick. It is set by a plain store, so loops that set ticks
/// are vectorised.
#[derive(Debug)]
pub(crate) struct TicksMut<'a>(TicksRef<'a>);

impl<'a> TicksMut<'a> {
    /// Creates a reference.
    ///
    /// # Safety
    ///
    /// No code accesses the change tick on another thread for `'a`, unless through the new reference.
    #[inline(always)]
    pub(crate) unsafe fn new(ticks: TicksRef<'a>) -> TicksMut<'a> {
        TicksMut(ticks)
    }

    /// Returns a reference that lives shorter.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> TicksMut<'_> {
        TicksMut(self.0)
    }

    /// Returns the tick at which the value was added.
    #[inline(always)]
    pub(crate) fn added(&self) -> Tick {
        self.0.added()
    }

    /// Returns the change tick.
    #[inline(always)]
    pub(crate) fn changed(&self) -> Tick {
        self.0.changed()
    }

    /// Sets the change tick.
    #[inline(always)]
    pub(crate) fn set_changed(&mut self, now: Tick) {
        // SAFETY: the tick is borrowed, and may be written through shared references. No other thread accesses it, by the
        // contract of `new`, since this reference is used exclusively.
        unsafe { self.0.changed.as_ptr().write(now.0) };
    }
}

/// Returns the lanes of ticks of a component that is tracked by row, given all of its lanes: of *added* and of *changed*.
///
/// # Panics
///
/// Panics if there are fewer than two.
#[inline(always)]
pub(crate) fn tick_lanes(lanes: &[Lane]) -> [&Lane; 2] {
    match lanes {
        [.., added, changed] => [added, changed],
        _ => unreachable!("a component that is tracked by row has two lanes of ticks"),
    }
}

/// Returns the ticks of the first `len` rows in a lane of ticks.
///
/// # Safety
///
/// It is a lane of ticks. The rows are initialised, and no code writes them in another way while the slice lives.
#[inline(always)]
pub(crate) unsafe fn ticks_of(lane: &Lane, len: usize) -> &[AtomicU32] {
    // SAFETY: the lane has rows of ticks, and these are initialised, by the caller's contract.
    unsafe { core::slice::from_raw_parts(lane.ptr().cast().as_ptr(), len) }
}

/// Returns the ticks of some rows in a lane of ticks, for reading.
///
/// # Safety
///
/// It is a lane of ticks. The rows are initialised, and no code sets their ticks while the slice lives.
#[inline(always)]
pub(crate) unsafe fn read_ticks(lane: &Lane, first: usize, len: usize) -> &[Tick] {
    // SAFETY: the lane has rows of ticks, and these are initialised, by the caller's contract. `Tick` is a transparent `u32`.
    unsafe { core::slice::from_raw_parts(lane.ptr().cast::<Tick>().as_ptr().add(first), len) }
}

/// Sets ticks of several rows.
pub(crate) fn set_all_ticks(ticks: &[AtomicU32], now: Tick) {
    ticks.iter().for_each(|tick| tick.store(now.0, Ordering::Relaxed));
}

/// Returns the ticks of a row, given the lanes of its component.
///
/// # Safety
///
/// They are the lanes of a component that is tracked by row. The row is initialised, and no code writes its ticks in another
/// way while the reference lives.
#[inline(always)]
pub(crate) unsafe fn ticks_at(lanes: &[Lane], row: usize) -> TicksRef<'_> {
    let [added, changed] = tick_lanes(lanes);
    // SAFETY: the lanes have rows of ticks, and this one is initialised, by the caller's contract.
    unsafe {
        let tick = |lane: &'_ Lane| lane.ptr().cast::<AtomicU32>().add(row);
        TicksRef { added: tick(added).as_ref(), changed: tick(changed).as_ref() }
    }
}

/// Writes the ticks of a value that is added now, given the lanes of its component.
///
/// # Safety
///
/// They are the lanes of a component that is tracked by row. The row is within their capacity, and not used otherwise.
#[inline(always)]
pub(crate) unsafe fn write_ticks(lanes: &[Lane], row: usize, now: Tick) {
    for lane in tick_lanes(lanes) {
        // SAFETY: the lane has rows of ticks, and this one is within the capacity, by the caller's contract.
        unsafe { lane.ptr().cast::<AtomicU32>().add(row).write(AtomicU32::new(now.0)) };
    }
}
