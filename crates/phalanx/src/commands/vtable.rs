//! [`CommandVtable`]: the functions of a command, by kind and type of the payload.
#![allow(unsafe_code)]

use super::apply_report::CommandKind;
use crate::bundle::{Bundle, BundlePtr};
use crate::component::DropFn;
use crate::error::StructuralError;
use crate::mutation::Position;
use crate::names::NameOf;
use crate::rows::Key;
use crate::world::{BundleBuilder, World};
use core::alloc::Layout;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// The payload of a command that inserts a bundle into a row named by a key. The key comes first.
#[repr(C)]
pub(super) struct RowPayload<B> {
    pub(super) key: Key,
    pub(super) bundle: B,
}

/// The payload of a command that links two entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPayload {
    pub(crate) target: Entity,
    pub(crate) position: Position,
}

/// Returns the id of the bundle in a payload, or of the relation that a command is about. The payload is initialised.
pub(crate) type IdFn = unsafe fn(*mut u8, &mut World) -> Result<usize, StructuralError>;

/// What a command is without its payload: one for each kind and payload type.
#[derive(Debug)]
pub(crate) struct CommandVtable {
    pub(super) kind: CommandKind,
    /// The layout of the payload.
    pub(super) layout: Layout,
    /// Returns the id of the bundle, or the storage id of the relation.
    pub(super) id: IdFn,
    /// Moves the bundle out of the payload, to its destination.
    pub(super) write: unsafe fn(*mut u8, BundlePtr),
    /// Moves the closure out of the payload, and calls it.
    pub(super) call: unsafe fn(*mut u8, &mut World),
    /// Drops the payload.
    pub(super) drop: DropFn,
    /// Whether the entity of a spawn is the one that is allocated when the command is executed.
    pub(super) is_predicted: bool,
    /// Whether a despawn of an entity that is not alive does nothing.
    pub(super) is_lenient: bool,
}

unsafe fn no_id(_: *mut u8, _: &mut World) -> Result<usize, StructuralError> {
    unreachable!("a command without a bundle or a relation has no id")
}

/// # Safety
///
/// The payload is a `B`.
unsafe fn bundle_id<B: Bundle>(payload: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    // SAFETY: the payload is a `B`, by the caller's contract.
    world.bundle_id_of(unsafe { &*payload.cast::<B>() })
}

/// # Safety
///
/// The payload is a `RowPayload<B>`.
unsafe fn row_bundle_id<B: Bundle>(payload: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    // SAFETY: the payload is a `RowPayload<B>`, by the caller's contract.
    world.bundle_id_of(unsafe { &(*payload.cast::<RowPayload<B>>()).bundle })
}

/// # Safety
///
/// There is no condition: the payload is not read.
unsafe fn removed_bundle_id<B: Bundle>(_: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    world.full_bundle_id::<B>()
}
unsafe fn no_write(_: *mut u8, _: BundlePtr) {
    unreachable!("a command without a bundle writes nothing")
}
unsafe fn no_call(_: *mut u8, _: &mut World) {
    unreachable!("only closures are called")
}

/// # Safety
///
/// The payload is a `B`, which is given up. The rest is as for [`Bundle::write`].
unsafe fn write<B: Bundle>(payload: *mut u8, to: BundlePtr) {
    // SAFETY: the payload is a `B`, and `to` is where it goes, by the caller's contract.
    unsafe { payload.cast::<B>().read().write(to) };
}

/// # Safety
///
/// The payload is a `RowPayload<B>`, which is given up. The rest is as for [`Bundle::write`].
unsafe fn write_to_row<B: Bundle>(payload: *mut u8, to: BundlePtr) {
    // SAFETY: the payload is a `RowPayload<B>`, and `to` is where the bundle goes, by the caller's contract.
    unsafe { payload.cast::<RowPayload<B>>().read().bundle.write(to) };
}

/// # Safety
///
/// The payload is an `F`, which is given up.
unsafe fn call<F: FnOnce(&mut World)>(payload: *mut u8, world: &mut World) {
    // SAFETY: the payload is an `F`, which moves out, by the caller's contract.
    unsafe { payload.cast::<F>().read()(world) };
}

/// # Safety
///
/// The payload is a `P`, which is given up.
unsafe fn drop_payload<P>(payload: *mut u8) {
    // SAFETY: the payload is a `P` that the caller gives up.
    unsafe { payload.cast::<P>().drop_in_place() };
}

/// A payload whose components are known only at run time.
///
/// # Safety
///
/// `write` moves the values of the components of the bundle, or panics.
pub(crate) unsafe trait ErasedBundle: 'static {
    /// Returns the id of the bundle, which is resolved if it is not known.
    fn bundle_id(&mut self, world: &mut World) -> Result<usize, StructuralError>;

    /// Moves the values to `to`.
    ///
    /// # Safety
    ///
    /// The bundle was resolved since it was changed. The rest is as for [`Bundle::write`].
    unsafe fn write(self, to: BundlePtr);
}

// SAFETY: the components are those of the bundle.
unsafe impl ErasedBundle for BundleBuilder {
    fn bundle_id(&mut self, world: &mut World) -> Result<usize, StructuralError> {
        BundleBuilder::bundle_id(self, world)
    }

    unsafe fn write(mut self, to: BundlePtr) {
        // SAFETY: the contract is the same.
        unsafe { self.write_to(to) };
    }
}

/// # Safety
///
/// The payload is a `P`.
unsafe fn erased_id<P: ErasedBundle>(payload: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    // SAFETY: the payload is a `P`, by the caller's contract.
    unsafe { &mut *payload.cast::<P>() }.bundle_id(world)
}

/// # Safety
///
/// The payload is a `RowPayload<P>`.
#[cfg(feature = "snapshot")]
unsafe fn erased_row_id<P: ErasedBundle>(payload: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    // SAFETY: the payload is a `RowPayload<P>`, by the caller's contract.
    unsafe { &mut (*payload.cast::<RowPayload<P>>()).bundle }.bundle_id(world)
}

/// # Safety
///
/// The payload is a `P` that was resolved, and is given up. The rest is as for [`Bundle::write`].
unsafe fn write_erased<P: ErasedBundle>(payload: *mut u8, to: BundlePtr) {
    // SAFETY: the payload is a `P` that was resolved, and `to` is where it goes, by the caller's contract.
    unsafe { payload.cast::<P>().read().write(to) };
}

/// # Safety
///
/// The payload is a `RowPayload<P>` that was resolved, and is given up. The rest is as for [`Bundle::write`].
#[cfg(feature = "snapshot")]
unsafe fn write_erased_to_row<P: ErasedBundle>(payload: *mut u8, to: BundlePtr) {
    // SAFETY: the payload is a `RowPayload<P>` that was resolved, and `to` is where it goes, by the caller's contract.
    unsafe { payload.cast::<RowPayload<P>>().read().bundle.write(to) };
}

/// The vtables of a payload whose components are known only at run time.
pub(super) struct ErasedVtables<P>(PhantomData<P>);

impl<P: ErasedBundle> ErasedVtables<P> {
    pub(super) const SPAWN: &'static CommandVtable = &Self::of(CommandKind::Spawn);
    pub(super) const INSERT: &'static CommandVtable = &Self::of(CommandKind::Insert);

    pub(super) const fn of(kind: CommandKind) -> CommandVtable {
        CommandVtable {
            layout: Layout::new::<P>(),
            id: erased_id::<P>,
            write: write_erased::<P>,
            drop: drop_payload::<P>,
            ..without_payload(kind)
        }
    }

    #[cfg(feature = "snapshot")]
    pub(super) const fn of_row(kind: CommandKind) -> CommandVtable {
        CommandVtable {
            layout: Layout::new::<RowPayload<P>>(),
            id: erased_row_id::<P>,
            write: write_erased_to_row::<P>,
            drop: drop_payload::<RowPayload<P>>,
            ..without_payload(kind)
        }
    }
}

/// The vtables of a bundle or closure type.
pub(super) struct Vtables<P>(PhantomData<P>);

impl<B: Bundle> Vtables<B> {
    pub(super) const SPAWN: &'static CommandVtable = &CommandVtable { kind: CommandKind::Spawn, ..Self::INSERT_VTABLE };
    pub(super) const INSERT: &'static CommandVtable = &Self::INSERT_VTABLE;
    pub(super) const REMOVE: &'static CommandVtable =
        &CommandVtable { id: removed_bundle_id::<B>, ..without_payload(CommandKind::Remove) };
    pub(super) const EXTEND: &'static CommandVtable =
        &CommandVtable { kind: CommandKind::AddRow, ..Self::UPDATE_VTABLE };
    pub(super) const UPDATE: &'static CommandVtable = &Self::UPDATE_VTABLE;
    pub(super) const REMOVE_FROM_ROW: &'static CommandVtable = &CommandVtable {
        id: removed_bundle_id::<B>,
        layout: Layout::new::<Key>(),
        ..without_payload(CommandKind::RemoveFromRow)
    };
    const UPDATE_VTABLE: CommandVtable = CommandVtable {
        kind: CommandKind::InsertIntoRow,
        layout: Layout::new::<RowPayload<B>>(),
        id: row_bundle_id::<B>,
        write: write_to_row::<B>,
        drop: drop_payload::<RowPayload<B>>,
        ..Self::INSERT_VTABLE
    };
    const INSERT_VTABLE: CommandVtable = CommandVtable {
        kind: CommandKind::Insert,
        layout: Layout::new::<B>(),
        id: bundle_id::<B>,
        write: write::<B>,
        drop: drop_payload::<B>,
        ..without_payload(CommandKind::Insert)
    };
}

impl<F: FnOnce(&mut World) + Send + 'static> Vtables<F> {
    pub(super) const CALL: &'static CommandVtable = &CommandVtable {
        layout: Layout::new::<F>(),
        call: call::<F>,
        drop: drop_payload::<F>,
        ..without_payload(CommandKind::Closure)
    };
}

impl CommandVtable {
    /// Returns the vtable of commands that link entities, or unlink them. The function returns the storage id of the relation.
    pub(crate) const fn of_relation(kind: CommandKind, id: IdFn) -> CommandVtable {
        let layout = match kind {
            CommandKind::Link => Layout::new::<LinkPayload>(),
            _ => Layout::new::<()>(),
        };
        CommandVtable { id, layout, ..without_payload(kind) }
    }
}

pub(super) const SET_NAME: &CommandVtable =
    &CommandVtable { kind: CommandKind::SetName, ..Vtables::<NameOf>::INSERT_VTABLE };
pub(super) const REMOVE_NAME: &CommandVtable =
    &CommandVtable { id: removed_bundle_id::<NameOf>, ..without_payload(CommandKind::RemoveName) };
pub(super) const DESPAWN: &CommandVtable = &without_payload(CommandKind::Despawn);
pub(super) const DELETE_ROW: &CommandVtable =
    &CommandVtable { layout: Layout::new::<Key>(), ..without_payload(CommandKind::RemoveRow) };

/// Returns the vtable of a command without a payload, or with one that needs no drop.
pub(super) const fn without_payload(kind: CommandKind) -> CommandVtable {
    CommandVtable {
        kind,
        layout: Layout::new::<()>(),
        id: no_id,
        write: no_write,
        call: no_call,
        drop: drop_payload::<()>,
        is_predicted: false,
        is_lenient: false,
    }
}
