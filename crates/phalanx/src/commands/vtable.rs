//! [`CommandVtable`]: the functions of a command, by kind and type of the payload.
#![allow(unsafe_code)]

use super::apply_report::CommandKind;
use crate::bundle::{Bundle, BundlePtr};
use crate::component::DropFn;
use crate::error::StructuralError;
use crate::mutation::Position;
use crate::names::{Name, NameOf};
use crate::rows::Key;
use crate::world::World;
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

/// What resolving a command needs of its payload.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    None,
    /// The row that the command is about.
    Row(Key),
    Link(LinkPayload),
    Name(&'a Name),
}

/// What a command is without its payload: one for each kind and payload type.
#[derive(Debug)]
pub(crate) struct CommandVtable {
    pub(super) kind: CommandKind,
    /// The layout of the payload.
    pub(super) layout: Layout,
    /// Returns the id of the bundle, or the storage id of the relation.
    pub(super) id: fn(&mut World) -> Result<usize, StructuralError>,
    /// Moves the bundle out of the payload, to its destination.
    pub(super) write: unsafe fn(*mut u8, BundlePtr),
    /// Moves the closure out of the payload, and calls it.
    pub(super) call: unsafe fn(*mut u8, &mut World),
    /// Drops the payload.
    pub(super) drop: DropFn,
}

fn no_id(_: &mut World) -> Result<usize, StructuralError> {
    unreachable!("a command without a bundle or a relation has no id")
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

/// The vtables of a bundle or closure type.
pub(super) struct Vtables<P>(PhantomData<P>);

impl<B: Bundle> Vtables<B> {
    pub(super) const SPAWN: &'static CommandVtable = &CommandVtable { kind: CommandKind::Spawn, ..Self::INSERT_VTABLE };
    pub(super) const INSERT: &'static CommandVtable = &Self::INSERT_VTABLE;
    pub(super) const REMOVE: &'static CommandVtable =
        &CommandVtable { id: World::bundle_id::<B>, ..without_payload(CommandKind::Remove) };
    pub(super) const EXTEND: &'static CommandVtable =
        &CommandVtable { kind: CommandKind::AddRow, ..Self::UPDATE_VTABLE };
    pub(super) const UPDATE: &'static CommandVtable = &Self::UPDATE_VTABLE;
    pub(super) const REMOVE_FROM_ROW: &'static CommandVtable = &CommandVtable {
        id: World::bundle_id::<B>,
        layout: Layout::new::<Key>(),
        ..without_payload(CommandKind::RemoveFromRow)
    };
    const UPDATE_VTABLE: CommandVtable = CommandVtable {
        kind: CommandKind::InsertIntoRow,
        layout: Layout::new::<RowPayload<B>>(),
        write: write_to_row::<B>,
        drop: drop_payload::<RowPayload<B>>,
        ..Self::INSERT_VTABLE
    };
    const INSERT_VTABLE: CommandVtable = CommandVtable {
        kind: CommandKind::Insert,
        layout: Layout::new::<B>(),
        id: World::bundle_id::<B>,
        write: write::<B>,
        call: no_call,
        drop: drop_payload::<B>,
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
    pub(crate) const fn of_relation(
        kind: CommandKind,
        id: fn(&mut World) -> Result<usize, StructuralError>,
    ) -> CommandVtable {
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
    &CommandVtable { id: World::bundle_id::<NameOf>, ..without_payload(CommandKind::RemoveName) };
pub(super) const DESPAWN: &CommandVtable = &without_payload(CommandKind::Despawn);
pub(super) const DELETE_ROW: &CommandVtable =
    &CommandVtable { layout: Layout::new::<Key>(), ..without_payload(CommandKind::RemoveRow) };

/// Returns the vtable of a command without a payload, or with one that needs no drop.
const fn without_payload(kind: CommandKind) -> CommandVtable {
    CommandVtable {
        kind,
        layout: Layout::new::<()>(),
        id: no_id,
        write: no_write,
        call: no_call,
        drop: drop_payload::<()>,
    }
}
