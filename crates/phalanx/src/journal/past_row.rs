//! [`PastRow`]: a row as it was before an operation.
#![allow(unsafe_code)]

use super::{Event, JournalEntry, RowChange, ValuePtr};
use crate::component::{Component, ComponentId};
use crate::layout::Layout;
use crate::rows::{Key, Row};
use crate::storage::Storage;
use core::fmt;
use phalanx_store::Entity;

/// A row that an operation has changed, as it was before.
///
/// The journal has the changes of components that observers watch. The first entry of a component says whether the row had
/// it, and where that value is now. A component without an entry was not changed.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct PastRow<'a> {
    storage: &'a Storage,
    entries: &'a [JournalEntry],
    /// The first entry of the last change of the row.
    last: usize,
}

impl<'a> PastRow<'a> {
    /// Returns the row whose last change begins at an entry. The changes of rows are linked, and the storage is the one that
    /// has recorded them.
    pub(crate) fn new(storage: &'a Storage, entries: &'a [JournalEntry], last: usize) -> PastRow<'a> {
        PastRow { storage, entries, last }
    }

    /// Iterates over the entries of the row: the changes from the last to the first, and the entries of each in order.
    pub(crate) fn entries(self) -> impl Iterator<Item = &'a JournalEntry> {
        let changes =
            core::iter::successors(Some(self.last), move |at| self.entries[*at].previous.map(|at| at as usize));
        changes.flat_map(move |at| {
            let rest = self.entries[at + 1..].iter().take_while(|entry| !entry.starts);
            core::iter::once(&self.entries[at]).chain(rest)
        })
    }

    /// Returns the first entry of the last change.
    fn entry(self) -> &'a JournalEntry {
        &self.entries[self.last]
    }

    /// Returns `true` if the row existed before the operation.
    pub(crate) fn existed(self) -> bool {
        self.entries().last().is_some_and(|entry| entry.change != RowChange::Spawned)
    }

    /// Returns `true` if the row exists after the operation.
    pub(crate) fn exists(self) -> bool {
        self.entry().change != RowChange::Removed
    }

    /// Returns the entity that owns the row.
    pub(crate) fn entity(self) -> Entity {
        self.entry().entity
    }

    /// Returns the key of the row.
    pub(crate) fn key(self) -> Key {
        self.entry().key()
    }

    /// Returns the handle of the row.
    pub(crate) fn row(self) -> Row {
        Row(self.entry().slot)
    }

    /// Returns `true` if it is an extra row.
    pub(crate) fn is_extra(self) -> bool {
        self.entry().label.is_some()
    }

    /// Returns the address of a watched component that the row had. The row existed before the operation.
    fn value_ptr(self, id: ComponentId) -> Option<ValuePtr> {
        let present = |entry: &JournalEntry| self.storage.value_ptr(entry.slot, id).filter(|_| self.exists());
        let is_of = |entry: &&JournalEntry| entry.id == id && id != ComponentId::ROW;
        // The last of the iteration is the first of the operation: a change has at most one entry of a component.
        match self.entries().filter(is_of).last() {
            None => present(self.entry()),
            Some(JournalEntry { event: Event::Added, .. }) => None,
            // Changed in place: the value is where it was, or where a later change has moved it to.
            Some(entry @ JournalEntry { old: ValuePtr::None, new: ValuePtr::None, .. }) => present(entry),
            Some(JournalEntry { old: ValuePtr::None, new, .. }) => Some(*new),
            Some(JournalEntry { old, .. }) => Some(*old),
        }
    }

    /// Returns `true` if the row had a watched component. The row existed before the operation.
    pub(crate) fn has(self, id: ComponentId) -> bool {
        self.value_ptr(id).is_some()
    }

    /// Returns a watched component that the row had. The row existed before the operation.
    ///
    /// # Safety
    ///
    /// The id is that of `C` in the row's storage. The displaced values of the operation are not dropped during `'a`.
    pub(crate) unsafe fn get<C: Component>(self, id: ComponentId) -> Option<<C::Layout as Layout<C>>::Ref<'a>> {
        // SAFETY: the entry is of this component, or the address is that of its present value. Neither is written or dropped
        // during `'a`: the storage is borrowed, and by the caller's contract.
        unsafe { self.value_ptr(id)?.get::<C>() }
    }
}

impl fmt::Debug for PastRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PastRow({})", self.key())
    }
}
