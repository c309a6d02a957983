//! Commands about components and relations that are known by their ids.
#![allow(unsafe_code)]

use super::CommandBuffer;
use super::apply_report::CommandKind;
use super::vtable::{CommandVtable, DELETE_ROW, ErasedBundle, ErasedVtables, LinkPayload, RowPayload, without_payload};
use crate::error::StructuralError;
use crate::mutation::Position;
use crate::rows::Key;
use crate::world::World;
use core::alloc::Layout;
use phalanx_store::{AllocError, Entity};

impl<P: ErasedBundle> ErasedVtables<P> {
    /// The spawn of an entity whose handle is known.
    const SPAWN_PREDICTED: &'static CommandVtable =
        &CommandVtable { is_predicted: true, ..Self::of(CommandKind::Spawn) };
    const REMOVE: &'static CommandVtable = &Self::of(CommandKind::Remove);
    const ADD_ROW: &'static CommandVtable = &Self::of_row(CommandKind::AddRow);
    const INSERT_INTO_ROW: &'static CommandVtable = &Self::of_row(CommandKind::InsertIntoRow);
    const REMOVE_FROM_ROW: &'static CommandVtable = &Self::of_row(CommandKind::RemoveFromRow);
}

/// The payload of a command about a relation that is known by its storage id. The other payload comes first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct ErasedLink<P> {
    payload: P,
    relation: u32,
}

/// # Safety
///
/// The payload is an `ErasedLink<P>`.
unsafe fn erased_relation<P>(payload: *mut u8, _: &mut World) -> Result<usize, StructuralError> {
    // SAFETY: the payload is an `ErasedLink<P>`, by the caller's contract.
    Ok(unsafe { (*payload.cast::<ErasedLink<P>>()).relation } as usize)
}

const LINK: &CommandVtable = &CommandVtable {
    layout: Layout::new::<ErasedLink<LinkPayload>>(),
    id: erased_relation::<LinkPayload>,
    ..without_payload(CommandKind::Link)
};
const UNLINK: &CommandVtable = &CommandVtable {
    layout: Layout::new::<ErasedLink<()>>(),
    id: erased_relation::<()>,
    ..without_payload(CommandKind::Unlink)
};
const DESPAWN_IF_ALIVE: &CommandVtable = &CommandVtable { is_lenient: true, ..without_payload(CommandKind::Despawn) };

/// Functions that return an error if allocation fails. Nothing is recorded then.
impl CommandBuffer {
    /// Records the spawn of an entity that is the next one to be allocated when the command is executed. Later commands can name
    /// it. Applying the commands fails if it is another one.
    pub(crate) fn try_spawn_predicted<P: ErasedBundle>(&mut self, entity: Entity, bundle: P) -> Result<(), AllocError> {
        self.try_record(ErasedVtables::<P>::SPAWN_PREDICTED, Some(entity), bundle)
    }

    /// Records that a bundle is inserted into a row.
    pub(crate) fn try_insert_erased<P: ErasedBundle>(&mut self, key: Key, bundle: P) -> Result<(), AllocError> {
        match key.is_main() {
            true => self.try_record(ErasedVtables::<P>::INSERT, Some(key.entity), bundle),
            false => self.try_record(ErasedVtables::<P>::INSERT_INTO_ROW, Some(key.entity), RowPayload { key, bundle }),
        }
    }

    /// Records that the components of a bundle are removed from a row.
    pub(crate) fn try_remove_erased<P: ErasedBundle>(&mut self, key: Key, bundle: P) -> Result<(), AllocError> {
        match key.is_main() {
            true => self.try_record(ErasedVtables::<P>::REMOVE, Some(key.entity), bundle),
            false => self.try_record(ErasedVtables::<P>::REMOVE_FROM_ROW, Some(key.entity), RowPayload { key, bundle }),
        }
    }

    /// Records that an extra row is added with a bundle.
    pub(crate) fn try_add_row_erased<P: ErasedBundle>(&mut self, key: Key, bundle: P) -> Result<(), AllocError> {
        self.try_record(ErasedVtables::<P>::ADD_ROW, Some(key.entity), RowPayload { key, bundle })
    }

    /// Records that an extra row is removed.
    pub(crate) fn try_remove_row(&mut self, key: Key) -> Result<(), AllocError> {
        self.try_record(DELETE_ROW, Some(key.entity), key)
    }

    /// Records that an entity is despawned, if it is alive.
    pub(crate) fn try_despawn_if_alive(&mut self, entity: Entity) -> Result<(), AllocError> {
        self.try_record(DESPAWN_IF_ALIVE, Some(entity), ())
    }

    /// Records that an entity is linked to a target, as its last source, by the relation with a storage id.
    pub(crate) fn try_link_erased(&mut self, relation: u32, source: Entity, target: Entity) -> Result<(), AllocError> {
        let payload = LinkPayload { target, position: Position::Last };
        self.try_record(LINK, Some(source), ErasedLink { payload, relation })
    }

    /// Records that an entity is unlinked from its target by the relation with a storage id.
    pub(crate) fn try_unlink_erased(&mut self, relation: u32, source: Entity) -> Result<(), AllocError> {
        self.try_record(UNLINK, Some(source), ErasedLink { payload: (), relation })
    }
}
