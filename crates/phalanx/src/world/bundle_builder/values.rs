//! [`Values`]: components of different types in one block of memory.
//!
//! # Representation
//!
//! Each of `entries` owns a value of its type at its offset in the arena. No two entries are of the same type. Offsets ascend.
#![allow(unsafe_code)]

use crate::alloc::try_reserve;
use crate::bundle::BundlePtr;
use crate::component::{Cloning, Component, ComponentId, Components, DropFn, Requirement, WriteFn};
use crate::error::StructuralError;
use crate::layout::{Kind, Layout as _};
use crate::mutation::arena::Arena;
use core::alloc::Layout;
use core::any::TypeId;
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, copy_row, drop_all, swap_row};

/// The functions of a component.
pub(super) struct ValueVtable {
    layout: Layout,
    kind: Kind,
    drop: DropFn,
    write: WriteFn,
    /// Drops a value that was written.
    drop_written: unsafe fn(*mut Lane, usize),
    pub(super) name: fn() -> &'static str,
    pub(super) register: fn(&mut Components) -> Result<ComponentId, AllocError>,
    cloning: fn() -> Option<Cloning>,
}

impl ValueVtable {
    /// Returns the functions of a component.
    #[inline(always)]
    pub(super) const fn of<C: Component>() -> &'static ValueVtable {
        &const {
            ValueVtable {
                layout: Layout::new::<C>(),
                kind: C::Layout::KIND,
                drop: drop_value::<C>,
                write: crate::layout::write_value::<C>,
                drop_written: Requirement::drop_value::<C>,
                name: core::any::type_name::<C>,
                register: Components::register::<C>,
                cloning: crate::layout::cloning::<C>,
            }
        }
    }
}

/// # Safety
///
/// The address is that of a `C`, which is given up.
unsafe fn drop_value<C>(value: *mut u8) {
    // SAFETY: the address is that of a `C` that the caller gives up.
    unsafe { value.cast::<C>().drop_in_place() };
}

/// A component.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) type_id: TypeId,
    pub(super) vtable: &'static ValueVtable,
    offset: usize,
}

/// Components of different types.
#[derive(Default)]
pub(super) struct Values {
    pub(super) entries: Vec<Value>,
    arena: Arena,
}

impl Values {
    /// Reserves capacity for more components, and for their bytes, including padding. They are aligned to at most `align`.
    pub(super) fn try_reserve(&mut self, components: usize, bytes: usize, align: usize) -> Result<(), AllocError> {
        try_reserve(&mut self.entries, components)?;
        let bytes = self.arena.len().checked_add(bytes).ok_or(AllocError::CapacityOverflow)?;
        self.arena.try_reserve(bytes, align)
    }

    /// Reserves capacity for all components of `other`.
    pub(super) fn try_reserve_for(&mut self, other: &Values) -> Result<(), AllocError> {
        // With the largest possible padding before each.
        let bytes = other.entries.iter().try_fold(0_usize, |bytes, value| {
            let layout = value.vtable.layout;
            bytes.checked_add(layout.size())?.checked_add(layout.align() - 1)
        });
        let align = other.entries.iter().map(|value| value.vtable.layout.align()).max().unwrap_or(1);
        self.try_reserve(other.entries.len(), bytes.ok_or(AllocError::CapacityOverflow)?, align)
    }

    /// Returns the number of a component.
    pub(super) fn find(&self, type_id: TypeId) -> Option<usize> {
        self.entries.iter().position(|value| value.type_id == type_id)
    }

    /// Returns the address of a value.
    #[inline(always)]
    fn at(&self, value: &Value) -> *mut u8 {
        // SAFETY: the arena placed the value at this offset, and is cleared with the list.
        unsafe { self.arena.at(value.offset, value.vtable.layout) }
    }

    /// Returns a component by its type.
    pub(super) fn get<C: Component>(&self) -> Option<*mut C> {
        self.find(TypeId::of::<C>()).map(|at| self.at(&self.entries[at]).cast())
    }

    /// Adds a component that there is not.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails. The component is dropped.
    #[inline(always)]
    pub(super) fn try_push<C: Component>(&mut self, component: C) -> Result<(), AllocError> {
        debug_assert!(self.find(TypeId::of::<C>()).is_none());
        let value = self.try_place(TypeId::of::<C>(), ValueVtable::of::<C>())?;
        // SAFETY: the arena has just given out this block, with the layout of the type.
        unsafe { self.at(&value).cast::<C>().write(component) };
        self.entries.push(value);
        Ok(())
    }

    /// Allocates memory for a value, and for its entry.
    #[inline(always)]
    fn try_place(&mut self, type_id: TypeId, vtable: &'static ValueVtable) -> Result<Value, AllocError> {
        try_reserve(&mut self.entries, 1)?;
        Ok(Value { type_id, vtable, offset: self.arena.try_place(vtable.layout)? })
    }

    /// Moves a component out, and closes the gap in the arena.
    pub(super) fn remove<C: Component>(&mut self) -> Option<C> {
        let at = self.find(TypeId::of::<C>())?;
        let value = self.entries.remove(at);
        // SAFETY: the entry owned a value of this type, which is moved out once.
        let removed = unsafe { self.at(&value).cast::<C>().read() };
        // Entries are in the order of their offsets.
        self.arena.truncate(value.offset);
        for at in at..self.entries.len() {
            let (value, from) = (self.entries[at], self.at(&self.entries[at]));
            let Ok(offset) = self.arena.try_place(value.vtable.layout) else { unreachable!("there was more before") };
            self.entries[at].offset = offset;
            // SAFETY: the value is moved within the arena, towards its beginning. Those before it were moved already.
            unsafe { core::ptr::copy(from, self.at(&self.entries[at]), value.vtable.layout.size()) };
        }
        Some(removed)
    }

    /// Moves all components of `other` to the end, in their order. One of a type that there is already takes its place, and
    /// the old one is dropped at the end. Capacity [is reserved](Values::try_reserve_for).
    pub(super) fn append(&mut self, other: &mut Values) {
        let mut kept = 0;
        for at in 0..other.entries.len() {
            let value = other.entries[at];
            let (from, size) = (other.at(&value), value.vtable.layout.size());
            match self.find(value.type_id) {
                Some(known) => {
                    // SAFETY: both are values of the same type, at different addresses. The other list keeps the old one.
                    unsafe { swap_row(from, self.at(&self.entries[known]), size) };
                    other.entries[kept] = value;
                    kept += 1;
                }
                None => {
                    let Ok(place) = self.try_place(value.type_id, value.vtable) else { unreachable!("reserved") };
                    // SAFETY: the arena has just given out this block, with the layout of the type. The value is moved: its
                    // entry is overwritten, or cut off below.
                    unsafe { copy_row(from, self.at(&place), size) };
                    self.entries.push(place);
                }
            }
        }
        other.entries.truncate(kept);
        other.clear();
    }

    /// Adds clones of all components to an empty list, in their order.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NotClone`] if a component cannot be cloned.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// The list has clones of some components then.
    pub(super) fn try_clone_to(&self, clones: &mut Values) -> Result<(), StructuralError> {
        for value in &self.entries {
            if (value.vtable.cloning)().is_none() {
                return Err(StructuralError::NotClone { component: (value.vtable.name)() });
            }
        }
        try_reserve(&mut clones.entries, self.entries.len())?;
        clones.arena.try_reserve(self.arena.len(), self.arena.align())?;
        for value in &self.entries {
            let place = clones.try_place(value.type_id, value.vtable)?;
            let (from, to) = (self.at(value), clones.at(&place));
            // SAFETY: the entry owns a value of this type, and the other arena has just given out a block for one.
            unsafe {
                match (value.vtable.cloning)() {
                    Some(Cloning::Value(clone)) => clone(from, to),
                    Some(Cloning::Bytes) => copy_row(from, to, value.vtable.layout.size()),
                    None => unreachable!("checked before"),
                }
            }
            clones.entries.push(place);
        }
        Ok(())
    }

    /// Drops all components, also if one of them panics, and keeps the memory.
    pub(super) fn clear(&mut self) {
        let Values { entries, arena } = self;
        // SAFETY: each entry owned a value at its offset, which is dropped once.
        drop_all(entries.drain(..), |value| unsafe {
            (value.vtable.drop)(arena.at(value.offset, value.vtable.layout));
        });
        arena.clear();
    }

    /// Moves all components to `to`, each to the position that the list says. If splitting a value panics, all are dropped.
    ///
    /// # Safety
    ///
    /// There is a position for each component. The pointer is valid for the components by position, and no values are there.
    #[inline]
    pub(super) unsafe fn write(&mut self, positions: &[u16], to: BundlePtr) {
        let mut writing = Writing { values: self, positions, written: 0, to };
        while let Some(value) = writing.values.entries.get(writing.written) {
            let from = writing.values.at(value);
            let position = positions[writing.written] as usize;
            // Counted first: a value that cannot be split counts as moved out.
            writing.written += 1;
            // SAFETY: the pointer is valid for this position, and no value is there, by the caller's contract. The entry owned
            // the value.
            unsafe {
                let (lane, row) = to.lane(position, value.vtable.kind);
                (value.vtable.write)(lane, row, from, to.clock);
            }
        }
        core::mem::forget(writing);
        self.entries.clear();
        self.arena.clear();
    }
}

/// Components that are being moved out. They are dropped with this, whether they were written or not.
struct Writing<'a> {
    values: &'a mut Values,
    positions: &'a [u16],
    /// The number of values that were moved out. The last of them was not written.
    written: usize,
    to: BundlePtr,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let done = self.written.saturating_sub(1);
        let entries = core::mem::take(&mut self.values.entries);
        drop_all(entries.iter().enumerate(), |(at, value)| {
            // SAFETY: the values before `done` were written, and those after it are still owned. Each is dropped once.
            unsafe {
                if at < done {
                    let (lane, row) = self.to.lane(self.positions[at] as usize, value.vtable.kind);
                    (value.vtable.drop_written)(lane, row);
                } else if at > done {
                    (value.vtable.drop)(self.values.at(value));
                }
            }
        });
        self.values.arena.clear();
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.clear();
    }
}
