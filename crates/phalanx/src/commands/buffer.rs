//! The memory of recorded commands: payloads of any type, one after another in one block.
//!
//! # Representation
//!
//! `base` is a block of `cap` bytes aligned to `align`, or dangles while `cap` is zero. Bytes `0..len` are handed out, each
//! payload at an offset that its own alignment divides; `align` is not less than that of any payload in it. The block may
//! move when it grows: payloads are known by offset, and a move of their bytes is a move of the values.
//!
//! # What must never leak
//!
//! An arena does not know what lives in it and drops nothing. Who places a payload ends it, or moves it out, once.
#![allow(unsafe_code)]

use super::report::CommandKind;
use crate::bundle::{Bundle, Place};
use crate::component::DropFn;
use crate::error::ChangeError;
use crate::rows::Key;
use crate::world::World;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::AllocError;
use std::alloc::{alloc, dealloc, realloc};

/// A block that grows, for values of any type.
#[derive(Debug)]
pub(super) struct Arena {
    base: NonNull<u8>,
    cap: usize,
    align: usize,
    len: usize,
}

// SAFETY: an arena is a block of bytes. The values in it are those of a command buffer, which sees to it that they may
// change threads.
unsafe impl Send for Arena {}
// SAFETY: behind a shared reference nothing is reached.
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) const fn new() -> Arena {
        Arena { base: NonNull::dangling(), cap: 0, align: 1, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn align(&self) -> usize {
        self.align
    }

    pub(super) fn bytes(&self) -> usize {
        self.cap
    }

    /// Forgets what was placed.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// The payload at an offset; for one without a size, whatever is aligned.
    ///
    /// # Safety
    ///
    /// [`place`](Arena::place) gave out the offset for this layout, and the arena was not cleared since.
    #[inline(always)]
    pub(super) unsafe fn at(&self, offset: usize, layout: Layout) -> *mut u8 {
        match layout.size() {
            0 => core::ptr::without_provenance_mut(layout.align()),
            // SAFETY: within the block.
            _ => unsafe { self.base.as_ptr().add(offset) },
        }
    }

    /// Makes room for a payload and returns its offset.
    #[inline]
    pub(super) fn try_place(&mut self, layout: Layout) -> Result<usize, AllocError> {
        if layout.size() == 0 {
            return Ok(self.len);
        }
        let (offset, end) = place_after(self.len, layout)?;
        self.try_reserve(end, layout.align())?;
        self.len = end;
        Ok(offset)
    }

    /// Makes the block at least `len` bytes long in all, and aligned to at least `align`. Nothing changes on failure.
    #[inline]
    pub(super) fn try_reserve(&mut self, len: usize, align: usize) -> Result<(), AllocError> {
        if len <= self.cap && (align <= self.align || len == 0) { Ok(()) } else { self.try_grow(len, align) }
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, len: usize, align: usize) -> Result<(), AllocError> {
        let align = self.align.max(align);
        let cap = if len > self.cap { len.max(self.cap.saturating_mul(2)).max(256) } else { self.cap };
        let layout = Layout::from_size_align(cap, align).map_err(|_| AllocError::CapacityOverflow)?;
        // SAFETY: the size is not zero. The old block has the layout that was asked for when it was made, and its bytes
        // are copied as far as they are handed out; it is freed once.
        let base = unsafe {
            if self.cap > 0 && align == self.align {
                realloc(self.base.as_ptr(), self.layout(), cap)
            } else {
                let new = alloc(layout);
                if self.cap > 0 && !new.is_null() {
                    core::ptr::copy_nonoverlapping(self.base.as_ptr(), new, self.len);
                    dealloc(self.base.as_ptr(), self.layout());
                }
                new
            }
        };
        self.base = NonNull::new(base).ok_or(AllocError::OutOfMemory { bytes: cap, align })?;
        (self.cap, self.align) = (cap, align);
        Ok(())
    }

    /// Moves everything that was placed in `other` to this arena's end and empties `other`. Returns what is to be added to
    /// the offsets.
    pub(super) fn try_append(&mut self, other: &mut Arena) -> Result<usize, AllocError> {
        let layout = Layout::from_size_align(other.len, other.align).map_err(|_| AllocError::CapacityOverflow)?;
        if other.len == 0 {
            return Ok(0);
        }
        let start = self.try_place(layout)?;
        // SAFETY: room was made for so many bytes, and the two blocks are different ones. The new place is aligned to all
        // that the other arena's offsets are multiples of.
        unsafe { core::ptr::copy_nonoverlapping(other.base.as_ptr(), self.base.as_ptr().add(start), other.len) };
        other.clear();
        Ok(start)
    }

    fn layout(&self) -> Layout {
        // SAFETY: checked when the block was made.
        unsafe { Layout::from_size_align_unchecked(self.cap, self.align) }
    }
}

/// Where a payload comes to lie after so many bytes, and where it ends.
pub(super) fn place_after(len: usize, layout: Layout) -> Result<(usize, usize), AllocError> {
    let offset = len.checked_next_multiple_of(layout.align()).ok_or(AllocError::CapacityOverflow)?;
    let end = offset.checked_add(layout.size()).ok_or(AllocError::CapacityOverflow)?;
    Ok((offset, end))
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.cap > 0 {
            // SAFETY: made with this layout, and freed once.
            unsafe { dealloc(self.base.as_ptr(), self.layout()) };
        }
    }
}

/// The payload of a command that gives a bundle to a row: the key comes first.
#[repr(C)]
pub(super) struct OfRow<B> {
    pub(super) key: Key,
    pub(super) bundle: B,
}

/// A command without its payload: one for each kind and type.
#[derive(Debug)]
pub(super) struct Verb {
    pub(super) kind: CommandKind,
    /// Of the payload.
    pub(super) layout: Layout,
    /// The number of the bundle's plan.
    pub(super) plan: fn(&mut World) -> Result<usize, ChangeError>,
    /// Moves the payload, a bundle, to its place.
    pub(super) write: unsafe fn(*mut u8, Place),
    /// Moves the payload, a closure, out, and calls it.
    pub(super) call: unsafe fn(*mut u8, &mut World),
    /// Ends the payload.
    pub(super) drop: DropFn,
}

/// Verbs without a bundle.
fn no_plan(_: &mut World) -> Result<usize, ChangeError> {
    unreachable!("a command without a bundle has no plan")
}
unsafe fn no_write(_: *mut u8, _: Place) {
    unreachable!("a command without a bundle writes nothing")
}
unsafe fn no_call(_: *mut u8, _: &mut World) {
    unreachable!("a command that is no closure is not called")
}

unsafe fn write<B: Bundle>(payload: *mut u8, place: Place) {
    // SAFETY: the caller has a bundle there, which moves out; the rest is its promise to `Bundle::write`.
    unsafe { payload.cast::<B>().read().write(place) };
}

unsafe fn write_to_row<B: Bundle>(payload: *mut u8, place: Place) {
    // SAFETY: as above, behind the key.
    unsafe { payload.cast::<OfRow<B>>().read().bundle.write(place) };
}

unsafe fn call<F: FnOnce(&mut World)>(payload: *mut u8, world: &mut World) {
    // SAFETY: the caller has a closure there, which moves out.
    unsafe { payload.cast::<F>().read()(world) };
}

unsafe fn end<P>(payload: *mut u8) {
    // SAFETY: the caller has a payload there, which it gives up.
    unsafe { payload.cast::<P>().drop_in_place() };
}

/// The verbs of a payload type.
pub(super) struct Of<P>(PhantomData<P>);

impl<B: Bundle> Of<B> {
    pub(super) const SPAWN: &'static Verb = &Verb { kind: CommandKind::Spawn, ..Self::INSERT_VERB };
    pub(super) const INSERT: &'static Verb = &Self::INSERT_VERB;
    pub(super) const REMOVE: &'static Verb = &Verb { plan: World::plan::<B>, ..bare(CommandKind::Remove) };
    pub(super) const EXTEND: &'static Verb = &Verb { kind: CommandKind::Extend, ..Self::UPDATE_VERB };
    pub(super) const UPDATE: &'static Verb = &Self::UPDATE_VERB;
    pub(super) const REMOVE_FROM_ROW: &'static Verb =
        &Verb { plan: World::plan::<B>, layout: Layout::new::<Key>(), ..bare(CommandKind::RemoveRowComponents) };
    const UPDATE_VERB: Verb = Verb {
        kind: CommandKind::Update,
        layout: Layout::new::<OfRow<B>>(),
        write: write_to_row::<B>,
        drop: end::<OfRow<B>>,
        ..Self::INSERT_VERB
    };
    const INSERT_VERB: Verb = Verb {
        kind: CommandKind::Insert,
        layout: Layout::new::<B>(),
        plan: World::plan::<B>,
        write: write::<B>,
        call: no_call,
        drop: end::<B>,
    };
}

impl<F: FnOnce(&mut World) + Send + 'static> Of<F> {
    pub(super) const CALL: &'static Verb =
        &Verb { layout: Layout::new::<F>(), call: call::<F>, drop: end::<F>, ..bare(CommandKind::Closure) };
}

pub(super) const DESPAWN: &Verb = &bare(CommandKind::Despawn);
pub(super) const DELETE_ROW: &Verb = &Verb { layout: Layout::new::<Key>(), ..bare(CommandKind::DeleteRow) };

/// A verb without a payload, or with one that needs no end.
const fn bare(kind: CommandKind) -> Verb {
    Verb { kind, layout: Layout::new::<()>(), plan: no_plan, write: no_write, call: no_call, drop: end::<()> }
}
