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
use crate::bundle::{Bundle, BundlePtr};
use crate::component::DropFn;
use crate::error::StructuralError;
use crate::rows::Key;
use crate::world::World;
use core::alloc::Layout;
use core::marker::PhantomData;

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
    pub(super) bundle_id: fn(&mut World) -> Result<usize, StructuralError>,
    /// Moves the payload, a bundle, to its place.
    pub(super) write: unsafe fn(*mut u8, BundlePtr),
    /// Moves the payload, a closure, out, and calls it.
    pub(super) call: unsafe fn(*mut u8, &mut World),
    /// Ends the payload.
    pub(super) drop: DropFn,
}

/// Verbs without a bundle.
fn no_plan(_: &mut World) -> Result<usize, StructuralError> {
    unreachable!("a command without a bundle has no plan")
}
unsafe fn no_write(_: *mut u8, _: BundlePtr) {
    unreachable!("a command without a bundle writes nothing")
}
unsafe fn no_call(_: *mut u8, _: &mut World) {
    unreachable!("a command that is no closure is not called")
}

unsafe fn write<B: Bundle>(payload: *mut u8, place: BundlePtr) {
    // SAFETY: the caller has a bundle there, which moves out; the rest is its promise to `Bundle::write`.
    unsafe { payload.cast::<B>().read().write(place) };
}

unsafe fn write_to_row<B: Bundle>(payload: *mut u8, place: BundlePtr) {
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
    pub(super) const REMOVE: &'static Verb = &Verb { bundle_id: World::bundle_id::<B>, ..bare(CommandKind::Remove) };
    pub(super) const EXTEND: &'static Verb = &Verb { kind: CommandKind::Extend, ..Self::UPDATE_VERB };
    pub(super) const UPDATE: &'static Verb = &Self::UPDATE_VERB;
    pub(super) const REMOVE_FROM_ROW: &'static Verb = &Verb {
        bundle_id: World::bundle_id::<B>,
        layout: Layout::new::<Key>(),
        ..bare(CommandKind::RemoveRowComponents)
    };
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
        bundle_id: World::bundle_id::<B>,
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
    Verb { kind, layout: Layout::new::<()>(), bundle_id: no_plan, write: no_write, call: no_call, drop: end::<()> }
}
