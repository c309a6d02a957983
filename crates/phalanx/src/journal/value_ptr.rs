//! [`ValuePtr`]: where a component value is.
#![allow(unsafe_code)]

use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentInfo};
use crate::layout::Layout;
use crate::storage::table::ALIGNED_FOR_ALL;
use core::ptr::NonNull;
use phalanx_store::raw::{Lane, row_ptr};

/// The address of a component value, in one of the forms in which a storage or an operation holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValuePtr {
    /// The address is not known, or there is no value.
    None,
    /// A row of the component's lanes, of which this is the first.
    Lanes(*const Lane, u32),
    /// A block with a row of each lane, one after another.
    Block(*const u8),
    /// A value of the component's type.
    Value(*const u8),
}

// SAFETY: a pointer is followed only by the operation that recorded it, which has exclusive access to its world.
unsafe impl Send for ValuePtr {}
// SAFETY: a shared reference to a pointer gives no access to the value.
unsafe impl Sync for ValuePtr {}

impl ValuePtr {
    /// Returns the value.
    ///
    /// # Safety
    ///
    /// Unless this is `None`, there is a value of `C`, which is neither written nor dropped while the item is in use.
    pub(crate) unsafe fn get<'a, C: Component>(self) -> Option<<C::Layout as Layout<C>>::Ref<'a>> {
        // SAFETY: there is a value of `C` in the form that the variant says, by the caller's contract.
        unsafe {
            match self {
                ValuePtr::None => None,
                ValuePtr::Lanes(lane, row) => Some(C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row as usize)),
                ValuePtr::Block(block) => Some(C::Layout::get_in(block)),
                ValuePtr::Value(value) => Some(C::Layout::show(&*value.cast::<C>())),
            }
        }
    }

    /// Returns the address of the value, if there is a value of the component and it is in one piece.
    ///
    /// # Safety
    ///
    /// Unless this is `None`, there is a value of the component.
    pub(crate) unsafe fn address(self, info: &ComponentInfo) -> Option<NonNull<u8>> {
        match self {
            ValuePtr::None => None,
            _ if !info.has_address => None,
            _ if info.is_zero_sized() => Some(NonNull::without_provenance(ALIGNED_FOR_ALL)),
            // SAFETY: the lane is the first of the component, and has a value at the row, by the caller's contract.
            ValuePtr::Lanes(lane, row) => NonNull::new(unsafe { row_ptr(&*lane, row) }),
            ValuePtr::Block(value) | ValuePtr::Value(value) => NonNull::new(value.cast_mut()),
        }
    }
}
